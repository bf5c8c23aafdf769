// compile: sm_80
// Matrix product of 8-bit integers on tensor cores, with matrix loads from shared memory:
// C (s32, m x n, row-major) = A (s8, m x k, row-major) * B (s8, k x n, column-major). A CTA of four
// warps computes TILE x TILE of C, each warp a quarter. Sizes are multiples of TILE.

#define TILE 32
#define STRIDE 48  // bytes from row to row: eight rows in a matrix load then lie in different banks

__device__ __forceinline__ unsigned shared_address(const void *pointer)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

extern "C" __global__ void int8_matmul(const signed char *a, const signed char *b, int *c, int n, int k)
{
    __shared__ __align__(16) signed char a_tile[TILE][STRIDE];
    __shared__ __align__(16) signed char b_tile[TILE][STRIDE];

    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;
    int row = blockIdx.y * TILE;
    int col = blockIdx.x * TILE;
    int warp_row = warp / 2 * 16;
    int warp_col = warp % 2 * 16;

    // The first half of the threads copies A's tile, the second half B's: 16 bytes each.
    int copy_row = threadIdx.x % 64 / 2;
    int copy_col = threadIdx.x % 2 * 16;
    bool copies_a = threadIdx.x < 64;
    const signed char *from = copies_a ? a + (row + copy_row) * k + copy_col : b + (col + copy_row) * k + copy_col;
    signed char *to = copies_a ? &a_tile[copy_row][copy_col] : &b_tile[copy_row][copy_col];

    // Where this lane's row lies in the 8 x 16 byte pieces of a matrix load.
    unsigned a_address = shared_address(&a_tile[warp_row + lane % 16][lane / 16 * 16]);
    unsigned b_address = shared_address(&b_tile[warp_col + lane % 8 + lane / 16 * 8][lane / 8 % 2 * 16]);

    int sum[2][4] = {};
    for (int base = 0; base < k; base += TILE) {
        *reinterpret_cast<int4 *>(to) = *reinterpret_cast<const int4 *>(from + base);
        __syncthreads();
        unsigned a_part[4];
        unsigned b_part[2][2];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(a_part[0]), "=r"(a_part[1]), "=r"(a_part[2]), "=r"(a_part[3]) : "r"(a_address));
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(b_part[0][0]), "=r"(b_part[0][1]), "=r"(b_part[1][0]), "=r"(b_part[1][1])
                     : "r"(b_address));
        for (int half = 0; half < 2; ++half) {
            asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                         "{%0, %1, %2, %3};"
                         : "+r"(sum[half][0]), "+r"(sum[half][1]), "+r"(sum[half][2]), "+r"(sum[half][3])
                         : "r"(a_part[0]), "r"(a_part[1]), "r"(a_part[2]), "r"(a_part[3]), "r"(b_part[half][0]),
                           "r"(b_part[half][1]));
        }
        __syncthreads();
    }
    for (int half = 0; half < 2; ++half) {
        int *out = c + (row + warp_row + lane / 4) * n + col + warp_col + half * 8 + lane % 4 * 2;
        *reinterpret_cast<int2 *>(out) = make_int2(sum[half][0], sum[half][1]);
        *reinterpret_cast<int2 *>(out + 8 * n) = make_int2(sum[half][2], sum[half][3]);
    }
}
