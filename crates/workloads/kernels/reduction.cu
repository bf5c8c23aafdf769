// Sum of an array: each thread adds its elements at grid stride, warps reduce by shuffles, the CTA
// combines its warps' sums in shared memory. One launch leaves one partial sum per CTA; a second
// launch with one CTA reduces those.

#define WARP 32
#define ALL_LANES 0xffffffffu

__device__ __forceinline__ float warp_sum(float value)
{
#pragma unroll
    for (int offset = WARP / 2; offset > 0; offset /= 2) {
        value += __shfl_down_sync(ALL_LANES, value, offset);
    }
    return value;
}

extern "C" __global__ void reduce_sum(const float *in, float *partial, int n)
{
    __shared__ float warp_sums[WARP];

    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        sum += in[i];
    }
    sum = warp_sum(sum);

    int lane = threadIdx.x % WARP;
    int warp = threadIdx.x / WARP;
    if (lane == 0) {
        warp_sums[warp] = sum;
    }
    __syncthreads();

    if (warp == 0) {
        sum = lane < blockDim.x / WARP ? warp_sums[lane] : 0.0f;
        sum = warp_sum(sum);
        if (lane == 0) {
            partial[blockIdx.x] = sum;
        }
    }
}
