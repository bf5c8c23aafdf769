// A polynomial of many terms that are all alive at once. With a limit of registers they are in local memory.


extern "C" __global__ void terms(const float* in, float* out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float t[48];
#pragma unroll
    for (int k = 0; k < 48; k++) {
        t[k] = in[i + 4096 * k];
    }
    for (int round = 0; round < 8; round++) {
#pragma unroll
        for (int k = 0; k < 48; k++) {
            t[k] = t[k] * t[(k + 17) % 48] + 0.5f;
        }
    }
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 48; k++) {
        sum += t[k];
    }
    out[i] = sum;
}
