// Sum of integers in one launch: each CTA leaves a partial sum, then takes a ticket; the one with
// the last ticket sees all the others' partial sums, thanks to the fence, and adds them up.

#define WARP 32
#define ALL_LANES 0xffffffffu

__device__ unsigned int tickets = 0;

__device__ __forceinline__ unsigned int cta_sum(unsigned int value)
{
    __shared__ unsigned int warp_sums[WARP];

    int lane = threadIdx.x % WARP;
    int warp = threadIdx.x / WARP;
    for (int offset = WARP / 2; offset > 0; offset /= 2) {
        value += __shfl_xor_sync(ALL_LANES, value, offset);
    }
    __syncthreads();
    if (lane == 0) {
        warp_sums[warp] = value;
    }
    __syncthreads();
    value = lane < blockDim.x / WARP ? warp_sums[lane] : 0;
    for (int offset = WARP / 2; offset > 0; offset /= 2) {
        value += __shfl_xor_sync(ALL_LANES, value, offset);
    }
    return value;
}

extern "C" __global__ void sum_once(const unsigned int *in, volatile unsigned int *partial, unsigned int *total, int n)
{
    __shared__ bool last;

    unsigned int sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        sum += in[i];
    }
    sum = cta_sum(sum);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        // Wraps to 0 after the last ticket, ready for the next launch.
        last = atomicInc(&tickets, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        sum = 0;
        for (int i = threadIdx.x; i < gridDim.x; i += blockDim.x) {
            sum += partial[i];
        }
        sum = cta_sum(sum);
        if (threadIdx.x == 0) {
            *total = sum;
        }
    }
}
