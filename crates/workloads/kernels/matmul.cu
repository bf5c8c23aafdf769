// Matrix product C (m x n) = A (m x k) * B (k x n), all row-major. A CTA of TILE x TILE threads
// computes one tile of C; tiles of A and B pass through shared memory. Sizes need not be multiples
// of TILE: the rim is filled with zeros.

#define TILE 16

extern "C" __global__ void matmul(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float a_tile[TILE][TILE];
    __shared__ float b_tile[TILE][TILE];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    float sum = 0.0f;

    for (int base = 0; base < k; base += TILE) {
        a_tile[ty][tx] = row < m && base + tx < k ? a[row * k + base + tx] : 0.0f;
        b_tile[ty][tx] = base + ty < k && col < n ? b[(base + ty) * n + col] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; ++i) {
            sum += a_tile[ty][i] * b_tile[i][tx];
        }
        __syncthreads();
    }
    if (row < m && col < n) {
        c[row * n + col] = sum;
    }
}
