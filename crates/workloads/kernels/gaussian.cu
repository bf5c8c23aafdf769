// Gaussian elimination without pivoting on a n x n system, one column per pair of launches:
// `multipliers` finds the factors of column t, `eliminate` subtracts row t from the rows below it.
// The host does the back substitution.

extern "C" __global__ void multipliers(const float *a, float *factors, int n, int t)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n - 1 - t) {
        int row = i + t + 1;
        factors[row * n + t] = a[row * n + t] / a[t * n + t];
    }
}

extern "C" __global__ void eliminate(const float *factors, float *a, float *b, int n, int t)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n - 1 - t && j < n - t) {
        int row = i + t + 1;
        int col = j + t;
        a[row * n + col] -= factors[row * n + t] * a[t * n + col];
        if (j == 0) {
            b[row] -= factors[row * n + t] * b[t];
        }
    }
}
