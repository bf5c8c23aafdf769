// Two chains of multiply-adds. The loop is unrolled to 64 KiB of code; with ROLLED to half a KiB.
extern "C" __global__ void chains(const float* in, float* out, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i], a = x, b = x + 1.0f;
    for (int round = 0; round < rounds; round++) {
#ifdef ROLLED
#pragma unroll 16
#else
#pragma unroll
#endif
        for (int k = 0; k < 2048; k++) {
            a = a * x + 0.5f;
            b = b * x + 0.25f;
        }
    }
    out[i] = a + b;
}
