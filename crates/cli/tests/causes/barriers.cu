// Rounds in which one warp of a CTA works and the others wait for it at a barrier. With SHARED_OUT the same work is divided
// among all warps.
#ifndef WARPS
#define WARPS 1
#endif
extern "C" __global__ void rounds(const float* in, float* out, int rounds, int work)
{
    __shared__ float sums[8];
    int warp = threadIdx.x / 32;
    float a = in[blockIdx.x * blockDim.x + threadIdx.x];
    for (int round = 0; round < rounds; round++) {
        if (warp < WARPS) {
            for (int k = 0; k < work / WARPS; k++) {
                a = a * 0.5f + 1.0f;
            }
            if (threadIdx.x % 32 == 0) {
                sums[warp] = a;
            }
        }
        __syncthreads();
        a += sums[round % WARPS];
        __syncthreads();
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = a;
}
