// compile: sm_80
// Matrix product with two buffers: while a tile is multiplied, the next is copied to shared memory
// by asynchronous copies that pass no register. Sizes are multiples of TILE.

#include <cuda_pipeline.h>

#define TILE 16
#define CHUNK 4  // floats per copy
#define CHUNKS (TILE * TILE / CHUNK)

extern "C" __global__ void asynccopy_matmul(const float *a, const float *b, float *c, int n, int k)
{
    __shared__ __align__(16) float a_tile[2][TILE][TILE];
    __shared__ __align__(16) float b_tile[2][TILE][TILE];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * TILE;
    int col = blockIdx.x * TILE;
    int thread = ty * TILE + tx;
    int copy_row = thread % CHUNKS / (TILE / CHUNK);
    int copy_col = thread % (TILE / CHUNK) * CHUNK;

    // The first CHUNKS threads copy A's tile, the next as many B's.
    auto fetch = [&](int buffer, int base) {
        if (thread < CHUNKS) {
            __pipeline_memcpy_async(&a_tile[buffer][copy_row][copy_col], &a[(row + copy_row) * k + base + copy_col], 16);
        } else if (thread < 2 * CHUNKS) {
            __pipeline_memcpy_async(&b_tile[buffer][copy_row][copy_col], &b[(base + copy_row) * n + col + copy_col], 16);
        }
        __pipeline_commit();
    };

    float sum = 0.0f;
    fetch(0, 0);
    for (int base = 0, buffer = 0; base < k; base += TILE, buffer ^= 1) {
        if (base + TILE < k) {
            fetch(buffer ^ 1, base + TILE);
            __pipeline_wait_prior(1);
        } else {
            __pipeline_wait_prior(0);
        }
        __syncthreads();
        for (int i = 0; i < TILE; ++i) {
            sum += a_tile[buffer][ty][i] * b_tile[buffer][i][tx];
        }
        __syncthreads();
    }
    c[(row + ty) * n + col + tx] = sum;
}
