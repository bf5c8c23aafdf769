// Sums of the columns of a matrix that is stored by columns: lanes read words a column apart. With BY_ROWS it is stored
// by rows, and lanes read neighbours.
extern "C" __global__ void columns(const float* m, float* sums, int rows, int n)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int row = 0; row < rows; row++) {
#ifdef BY_ROWS
        sum += m[row * n + column];
#else
        sum += m[column * rows + row];
#endif
    }
    sums[column] = sum;
}
