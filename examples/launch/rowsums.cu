// The sum of each row of a matrix of floats, stored row by row: the kernels of docs/slow-kernel.md.

// A thread to a row: neighbouring lanes read addresses that lie a whole row apart.
extern "C" __global__ void row_sums(const float *matrix, float *sums, int rows, int columns)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) {
        return;
    }
    float sum = 0.0f;
    for (int column = 0; column < columns; column++) {
        sum += matrix[row * columns + column];
    }
    sums[row] = sum;
}

// A warp to a row: neighbouring lanes read neighbouring words, and their sums are added at the end.
extern "C" __global__ void row_sums_by_warp(const float *matrix, float *sums, int rows, int columns)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows) {
        return;
    }
    float sum = 0.0f;
    for (int column = lane; column < columns; column += 32) {
        sum += matrix[row * columns + column];
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    }
    if (lane == 0) {
        sums[row] = sum;
    }
}
