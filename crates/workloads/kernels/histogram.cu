// Histogram of bytes: each CTA counts into its own bins in shared memory with atomics, then adds
// them to the result in global memory, also with atomics. Input is read four bytes at a time.

#define BINS 256

extern "C" __global__ void histogram(const unsigned int *words, unsigned int *bins, int word_count)
{
    __shared__ unsigned int local_bins[BINS];

    for (int i = threadIdx.x; i < BINS; i += blockDim.x) {
        local_bins[i] = 0;
    }
    __syncthreads();

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < word_count; i += gridDim.x * blockDim.x) {
        unsigned int word = words[i];
#pragma unroll
        for (int shift = 0; shift < 32; shift += 8) {
            atomicAdd(&local_bins[(word >> shift) & 0xff], 1u);
        }
    }
    __syncthreads();

    for (int i = threadIdx.x; i < BINS; i += blockDim.x) {
        if (local_bins[i] != 0) {
            atomicAdd(&bins[i], local_bins[i]);
        }
    }
}
