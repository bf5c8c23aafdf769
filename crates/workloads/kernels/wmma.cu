// Matrix product on tensor cores: C (f32) = A (f16, row-major) * B (f16, column-major). Each warp
// computes one 16 x 16 tile of C. Sizes are multiples of 16.

#include <mma.h>

#define TILE 16

using namespace nvcuda;

extern "C" __global__ void wmma_matmul(const half *a, const half *b, float *c, int m, int n, int k)
{
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / warpSize;
    int tiles_across = n / TILE;
    int row = warp / tiles_across * TILE;
    int col = warp % tiles_across * TILE;
    if (row >= m) {
        return;
    }

    wmma::fragment<wmma::matrix_a, TILE, TILE, TILE, half, wmma::row_major> a_part;
    wmma::fragment<wmma::matrix_b, TILE, TILE, TILE, half, wmma::col_major> b_part;
    wmma::fragment<wmma::accumulator, TILE, TILE, TILE, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int i = 0; i < k; i += TILE) {
        wmma::load_matrix_sync(a_part, a + row * k + i, k);
        wmma::load_matrix_sync(b_part, b + col * k + i, k);
        wmma::mma_sync(sum, a_part, b_part, sum);
    }
    wmma::store_matrix_sync(c + row * n + col, sum, n, wmma::mem_row_major);
}
