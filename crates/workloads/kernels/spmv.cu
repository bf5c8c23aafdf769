// Sparse matrix times vector: the matrix in compressed rows, the vector behind a texture or in plain memory.
#include <cuda_runtime.h>

// One thread per row.
extern "C" __global__ void spmv_thread(const int *first, const int *columns, const float *values,
                                       cudaTextureObject_t x, float *y, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) {
        return;
    }
    float sum = 0.0f;
    for (int k = first[row]; k < first[row + 1]; k++) {
        sum += values[k] * tex1Dfetch<float>(x, columns[k]);
    }
    y[row] = sum;
}

// One warp per row; its lanes add up at the end.
extern "C" __global__ void spmv_warp(const int *first, const int *columns, const float *values,
                                     cudaTextureObject_t x, float *y, int rows)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / warpSize;
    int lane = threadIdx.x % warpSize;
    if (row >= rows) {
        return;
    }
    float sum = 0.0f;
    for (int k = first[row] + lane; k < first[row + 1]; k += warpSize) {
        sum += values[k] * tex1Dfetch<float>(x, columns[k]);
    }
    for (int distance = warpSize / 2; distance > 0; distance /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, distance);
    }
    if (lane == 0) {
        y[row] = sum;
    }
}

// One thread per row, the vector in plain memory.
extern "C" __global__ void spmv_plain(const int *first, const int *columns, const float *values, const float *x,
                                      float *y, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) {
        return;
    }
    float sum = 0.0f;
    for (int k = first[row]; k < first[row + 1]; k++) {
        sum += values[k] * x[columns[k]];
    }
    y[row] = sum;
}
