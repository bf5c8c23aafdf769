// Needleman-Wunsch alignment: the score matrix is filled by blocks of SIDE x SIDE along block
// anti-diagonals, one launch each; within a block, one warp-half walks the cell anti-diagonals in
// shared memory. `nw_grow` runs while the anti-diagonals get longer, `nw_shrink` after that.
// The matrix has one row and column more than there are blocks' cells: the gap penalties.

#define SIDE 16

__device__ __forceinline__ int best(int diagonal, int left, int up)
{
    int most = diagonal > left ? diagonal : left;
    return most > up ? most : up;
}

__device__ __forceinline__ void fill_block(const int *similarity, int *score, int cols, int penalty, int bx, int by)
{
    __shared__ int tile[SIDE + 1][SIDE + 1];
    __shared__ int like[SIDE][SIDE];

    int t = threadIdx.x;
    // Top left cell of the block's frame: its own cells begin one row and one column further.
    int frame = cols * SIDE * by + SIDE * bx;
    int cell = frame + cols + t + 1;

    if (t == 0) {
        tile[0][0] = score[frame];
    }
    for (int i = 0; i < SIDE; ++i) {
        like[i][t] = similarity[cell + cols * i];
    }
    __syncthreads();
    tile[t + 1][0] = score[frame + cols * (t + 1)];
    __syncthreads();
    tile[0][t + 1] = score[frame + t + 1];
    __syncthreads();

    for (int m = 0; m < SIDE; ++m) {
        if (t <= m) {
            int x = t + 1;
            int y = m - t + 1;
            tile[y][x] = best(tile[y - 1][x - 1] + like[y - 1][x - 1], tile[y][x - 1] - penalty, tile[y - 1][x] - penalty);
        }
        __syncthreads();
    }
    for (int m = SIDE - 2; m >= 0; --m) {
        if (t <= m) {
            int x = t + SIDE - m;
            int y = SIDE - t;
            tile[y][x] = best(tile[y - 1][x - 1] + like[y - 1][x - 1], tile[y][x - 1] - penalty, tile[y - 1][x] - penalty);
        }
        __syncthreads();
    }
    for (int i = 0; i < SIDE; ++i) {
        score[cell + cols * i] = tile[i + 1][t + 1];
    }
}

// Anti-diagonal number `diagonal` (from 1) of the upper left triangle of blocks.
extern "C" __global__ void nw_grow(const int *similarity, int *score, int cols, int penalty, int diagonal)
{
    int bx = blockIdx.x;
    fill_block(similarity, score, cols, penalty, bx, diagonal - 1 - bx);
}

// The anti-diagonal with `diagonal` blocks of the lower right triangle.
extern "C" __global__ void nw_shrink(const int *similarity, int *score, int cols, int penalty, int diagonal, int blocks)
{
    int bx = blockIdx.x + blocks - diagonal;
    fill_block(similarity, score, cols, penalty, bx, blocks - 1 - blockIdx.x);
}
