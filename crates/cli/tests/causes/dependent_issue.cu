// A sum of products as one chain, each of which waits for the one before. With SUMS=4 there are four chains of a quarter.
#ifndef SUMS
#define SUMS 1
#endif
extern "C" __global__ void chain(float* out, float x, int steps)
{
    float sums[SUMS];
    for (int s = 0; s < SUMS; s++) {
        sums[s] = threadIdx.x + s;
    }
    for (int k = 0; k < steps / SUMS; k += 8) {
#pragma unroll
        for (int u = 0; u < 8; u++) {
#pragma unroll
            for (int s = 0; s < SUMS; s++) {
                sums[s] = sums[s] * x + 1.0f;
            }
        }
    }
    float sum = 0.0f;
    for (int s = 0; s < SUMS; s++) {
        sum += sums[s];
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
