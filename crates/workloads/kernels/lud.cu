// LU decomposition in place, without pivoting, by blocks of SIDE x SIDE. For each block step:
// `lud_diagonal` factors the diagonal block with one row of threads, `lud_perimeter` solves the
// blocks right of it (first half of the threads) and below it (second half), `lud_internal`
// subtracts their product from the rest.

#define SIDE 16

extern "C" __global__ void lud_diagonal(float *m, int n, int offset)
{
    __shared__ float block[SIDE][SIDE];

    int t = threadIdx.x;
    float *origin = m + offset * n + offset;
    for (int i = 0; i < SIDE; ++i) {
        block[i][t] = origin[i * n + t];
    }
    __syncthreads();

    for (int i = 0; i < SIDE - 1; ++i) {
        if (t > i) {
            for (int j = 0; j < i; ++j) {
                block[t][i] -= block[t][j] * block[j][i];
            }
            block[t][i] /= block[i][i];
        }
        __syncthreads();
        if (t > i) {
            for (int j = 0; j < i + 1; ++j) {
                block[i + 1][t] -= block[i + 1][j] * block[j][t];
            }
        }
        __syncthreads();
    }
    for (int i = 1; i < SIDE; ++i) {
        origin[i * n + t] = block[i][t];
    }
}

extern "C" __global__ void lud_perimeter(float *m, int n, int offset)
{
    __shared__ float diagonal[SIDE][SIDE];
    __shared__ float right[SIDE][SIDE];
    __shared__ float below[SIDE][SIDE];

    bool solves_right = threadIdx.x < SIDE;
    int t = threadIdx.x % SIDE;
    int away = (blockIdx.x + 1) * SIDE;
    float *diagonal_origin = m + offset * n + offset;
    float *right_origin = diagonal_origin + away;
    float *below_origin = diagonal_origin + away * n;

    if (solves_right) {
        for (int i = 0; i < SIDE / 2; ++i) {
            diagonal[i][t] = diagonal_origin[i * n + t];
        }
        for (int i = 0; i < SIDE; ++i) {
            right[i][t] = right_origin[i * n + t];
        }
    } else {
        for (int i = SIDE / 2; i < SIDE; ++i) {
            diagonal[i][t] = diagonal_origin[i * n + t];
        }
        for (int i = 0; i < SIDE; ++i) {
            below[i][t] = below_origin[i * n + t];
        }
    }
    __syncthreads();

    if (solves_right) {
        for (int i = 1; i < SIDE; ++i) {
            for (int j = 0; j < i; ++j) {
                right[i][t] -= diagonal[i][j] * right[j][t];
            }
        }
    } else {
        for (int i = 0; i < SIDE; ++i) {
            for (int j = 0; j < i; ++j) {
                below[t][i] -= below[t][j] * diagonal[j][i];
            }
            below[t][i] /= diagonal[i][i];
        }
    }
    __syncthreads();

    if (solves_right) {
        for (int i = 1; i < SIDE; ++i) {
            right_origin[i * n + t] = right[i][t];
        }
    } else {
        for (int i = 0; i < SIDE; ++i) {
            below_origin[i * n + t] = below[i][t];
        }
    }
}

extern "C" __global__ void lud_internal(float *m, int n, int offset)
{
    __shared__ float right[SIDE][SIDE];
    __shared__ float below[SIDE][SIDE];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = offset + (blockIdx.y + 1) * SIDE;
    int col = offset + (blockIdx.x + 1) * SIDE;

    right[ty][tx] = m[(offset + ty) * n + col + tx];
    below[ty][tx] = m[(row + ty) * n + offset + tx];
    __syncthreads();

    float sum = 0.0f;
    for (int i = 0; i < SIDE; ++i) {
        sum += below[ty][i] * right[i][tx];
    }
    m[(row + ty) * n + col + tx] -= sum;
}
