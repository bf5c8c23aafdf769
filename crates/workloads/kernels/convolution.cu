// Separable convolution of a picture by one CTA: a filter along rows, then the same along columns.
//
// Products are added by fmaf() only, so that results are the same to the bit.

#define RADIUS 8
#define THREADS 128

__constant__ float taps[2 * RADIUS + 1];

// Each row by pieces of a CTA's width, which are in shared memory with their rims.
extern "C" __global__ void convolve_rows(const float *in, float *out, int width, int height)
{
    __shared__ float piece[THREADS + 2 * RADIUS];
    for (int row = 0; row < height; row++) {
        for (int left = 0; left < width; left += THREADS) {
            __syncthreads();
            for (int i = threadIdx.x; i < THREADS + 2 * RADIUS; i += THREADS) {
                int column = left + i - RADIUS;
                piece[i] = column >= 0 && column < width ? in[row * width + column] : 0.0f;
            }
            __syncthreads();
            float sum = 0.0f;
#pragma unroll
            for (int tap = 0; tap <= 2 * RADIUS; tap++) {
                sum = fmaf(taps[2 * RADIUS - tap], piece[threadIdx.x + tap], sum);
            }
            if (left + threadIdx.x < width) {
                out[row * width + left + threadIdx.x] = sum;
            }
        }
    }
}

// One thread per column; neighbours come from the cache.
extern "C" __global__ void convolve_columns(const float *in, float *out, int width, int height)
{
    for (int column = threadIdx.x; column < width; column += THREADS) {
        for (int row = 0; row < height; row++) {
            float sum = 0.0f;
#pragma unroll
            for (int tap = 0; tap <= 2 * RADIUS; tap++) {
                int from = row + tap - RADIUS;
                float value = from >= 0 && from < height ? in[from * width + column] : 0.0f;
                sum = fmaf(taps[2 * RADIUS - tap], value, sum);
            }
            out[row * width + column] = sum;
        }
    }
}
