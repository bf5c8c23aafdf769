// Sum of all elements: each thread adds to one word. With BY_WARP one lane adds for its warp.
extern "C" __global__ void total(const float* in, float* sum)
{
    float x = in[blockIdx.x * blockDim.x + threadIdx.x];
#ifdef BY_WARP
    for (int d = 16; d > 0; d /= 2) {
        x += __shfl_down_sync(0xffffffffu, x, d);
    }
    if (threadIdx.x % 32 == 0) {
        atomicAdd(sum, x);
    }
#else
    atomicAdd(sum, x);
#endif
}
