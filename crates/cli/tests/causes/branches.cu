// Two long paths that neighbouring lanes take in turn. With BY_WARP neighbouring warps do.
extern "C" __global__ void paths(const float* in, float* out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
#ifdef BY_WARP
    bool is_first = (i / 32) % 2 == 0;
#else
    bool is_first = i % 2 == 0;
#endif
    if (is_first) {
        for (int k = 0; k < 100; k++) {
            x = x * 0.5f + 1.0f;
        }
    } else {
        for (int k = 0; k < 100; k++) {
            x = x * x - 0.5f;
        }
    }
    out[i] = x;
}
