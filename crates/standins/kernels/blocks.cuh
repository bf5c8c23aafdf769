// What a warp does with slices in shared memory on tensor cores: operands from there to registers, products of blocks,
// and sums back.
//
// Chunks of 16 bytes are exchanged within a line of shared memory, so that each access meets all banks.
#pragma once

#include "gemm.h"
#include <cuda_fp16.h>

// Types of elements: the type in memory, of sums, of narrow results (Finish), the product of a block.
struct Half {
    typedef unsigned short Stored;
    typedef float Sum;
    static constexpr int NARROW = F16;
    static __device__ __forceinline__ void multiply(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
#if __CUDA_ARCH__ >= 800
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#elif __CUDA_ARCH__ >= 750
#pragma unroll
        for (int i = 0; i < 2; i++) {
            asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                : "r"(a[2 * i]), "r"(a[2 * i + 1]), "r"(b[i]));
        }
#endif
    }
};

struct Brain {
    typedef unsigned short Stored;
    typedef float Sum;
    static constexpr int NARROW = BF16;
    static __device__ __forceinline__ void multiply(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
#if __CUDA_ARCH__ >= 800
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
    }
};

// Single precision whose numbers are rounded to 10 bits of fraction.
struct Tensor32 {
    typedef float Stored;
    typedef float Sum;
    static constexpr int NARROW = F32;
    static __device__ __forceinline__ unsigned rounded(unsigned x) {
        unsigned y = x;
#if __CUDA_ARCH__ >= 800
        asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y) : "f"(__uint_as_float(x)));
#endif
        return y;
    }
    static __device__ __forceinline__ void multiply(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
#if __CUDA_ARCH__ >= 800
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
    }
};

struct Byte {
    typedef signed char Stored;
    typedef int Sum;
    static constexpr int NARROW = F32;
    static __device__ __forceinline__ void multiply(int (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
#if __CUDA_ARCH__ >= 800
        asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#elif __CUDA_ARCH__ >= 750
#pragma unroll
        for (int i = 0; i < 4; i++) {
            asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};"
                : "+r"(d[i % 2 * 2]), "+r"(d[i % 2 * 2 + 1])
                : "r"(a[i]), "r"(b[i / 2]));
        }
#endif
    }
};

// A slice in shared memory: `DEEP` bytes deep, lines of chunks as in global memory.
template <typename T, int ROWS, int DEEP, bool ALONG> struct Stored {
    static constexpr int EACH = 16 / sizeof(T), DEPTH = DEEP / sizeof(T), BYTES = ROWS * DEEP;

    // Chunks of a line among which they are exchanged: lines are multiples of 128 bytes, or of 64.
    static constexpr int SPAN = ROWS / EACH % 8 ? 4 : 8;
    // Lines after which chunks are exchanged as at first.
    static constexpr int PERIOD = 8;

    // Byte at which the chunk with this row and depth is.
    static __device__ __forceinline__ int place(unsigned row, unsigned depth) {
        if (!ALONG) return row * DEEP + (depth / EACH ^ row * DEEP / 128 % (DEEP / 16)) * 16;
        unsigned other = sizeof(T) == 4 ? depth % 4 * 2 : SPAN == 4 ? depth / 2 % 4 : depth % 8;
        return depth * ROWS * sizeof(T) + (row / EACH ^ other) * 16;
    }
};

#if __CUDA_ARCH__ >= 750

template <bool TRANSPOSED> __device__ __forceinline__ void load_matrices(unsigned (&to)[4], unsigned from) {
    if (TRANSPOSED) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
            : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(from) : "memory");
    } else {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
            : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(from) : "memory");
    }
}

// `COUNT` times 16 rows of a slice, 32 bytes deep: as operands of A four registers of a block of 16 rows, else twice two
// of blocks of 8 columns. A lane's places are the same in all slices; those that are not kept are constants away.
template <typename T, int ROWS, int DEEP, bool ALONG, bool OF_A, int COUNT> struct Side {
    typedef Stored<T, ROWS, DEEP, ALONG> S;
    static constexpr bool PAIRS = ALONG && sizeof(T) == 2, WORDS = ALONG && sizeof(T) == 4;
    // After this many times 16 rows the chunks of a line are exchanged as at first.
    static constexpr int SPAN = S::SPAN * S::EACH / 16;
    static constexpr int PLACES = WORDS ? 2 * SPAN : PAIRS ? SPAN : DEEP / 32;
    unsigned at[PLACES];

    __device__ __forceinline__ explicit Side(int row) {
        const int lane = threadIdx.x % 32, half = lane / 8 % 2, other = lane / 16;
        const int second_rows = OF_A ? half : other, second_depth = OF_A ? other : half;
#pragma unroll
        for (int n = 0; n < PLACES; n++) {
            if (WORDS) at[n] = S::place(row + n * 8 + lane / 4, lane % 4) + lane / 4 % 4 * 4;
            else if (PAIRS) at[n] = S::place(row + n * 16 + second_rows * 8, second_depth * S::EACH + lane % 8);
            else at[n] = S::place(row + second_rows * 8 + lane % 8, (n * 2 + second_depth) * S::EACH);
            asm volatile("" : "+r"(at[n]));  // not computed again
        }
    }

    __device__ __forceinline__ void load(unsigned (&all)[COUNT][4], int i, unsigned from, int step) const {
        unsigned(&to)[4] = all[i];
        const int across = i / SPAN * SPAN * 16 * (int)sizeof(T);
        if (WORDS) {
#pragma unroll
            for (int e = 0; e < 4; e++) {
                int half = OF_A ? e % 2 : e / 2, depth = step * 8 + (OF_A ? e / 2 : e % 2) * 4;
                asm volatile("ld.shared.b32 %0, [%1];" : "=r"(to[e])
                    : "r"(from + at[i % SPAN * 2 + half] + depth * ROWS * 4 + across) : "memory");
            }
        } else if (PAIRS) {
            load_matrices<true>(to, from + at[i % SPAN] + step * 16 * ROWS * 2 + across);
        } else {
            load_matrices<false>(to, from + at[step] + i * 16 * DEEP);
        }
        if (sizeof(T) == 4) {
#pragma unroll
            for (int e = 0; e < 4; e++) to[e] = Tensor32::rounded(to[e]);
        }
    }
};

// Blocks of 16 rows and 8 columns, `R` by `C` of them.
template <typename Type, int ROWS, int COLS, int DEEP, int R, int C, bool A_ALONG, bool B_ALONG> struct Blocks {
    typedef typename Type::Stored T;
    static constexpr int STEPS = DEEP / 32, GROUPS = C, PRODUCTS = R * C;
    // Operands of A that products use together, and operands of B.
    static constexpr int TOGETHER = 1, ACROSS = C / 2;

    typedef Side<T, ROWS, DEEP, A_ALONG, true, R> Rows;
    typedef Side<T, COLS, DEEP, B_ALONG, false, ACROSS> Columns;
    typename Type::Sum sums[R][C][4] = {};

    __device__ __forceinline__ void multiply(const unsigned (&x)[R][4], const unsigned (&y)[ACROSS][4], int i) {
        int r = i / C, c = i % C;
        unsigned pair[2] = {y[c / 2][c % 2 * 2], y[c / 2][c % 2 * 2 + 1]};
        Type::multiply(sums[r][c], x[r], pair);
    }

    // Stores 8 columns of sums.
    template <int PITCH> __device__ __forceinline__ void stage(typename Type::Sum* to, int group) const {
        const int lane = threadIdx.x % 32;
#pragma unroll
        for (int r = 0; r < R; r++) {
#pragma unroll
            for (int e = 0; e < 4; e++) {
                to[(lane % 4 * 2 + e % 2) * PITCH + 16 * r + lane / 4 + e / 2 * 8] = sums[r][group][e];
            }
        }
    }

    // Which column of the warp's part is column `i` of a group.
    static __device__ __forceinline__ int column(int group, int i) { return group * 8 + i; }
};

#else

// On sm_70 four quads of lanes (lanes 0 to 3 with 16 to 19, and so on) each multiply blocks of 8 rows and columns, 4 deep:
// two down and two across. A lane loads a chunk at once. Where that is of neighbouring rows, four belong to one block and
// four to the next; the blocks' rows are chosen so that they do.
template <typename Type, int ROWS, int COLS, int DEEP, int R, int C, bool A_ALONG, bool B_ALONG> struct Blocks {
    static constexpr int STEPS = DEEP / 16, GROUPS = C, ACROSS = C / 2, PRODUCTS = 2 * R * ACROSS, TOGETHER = 2;

    // Operands have two registers for each 4 of depth.
    float sums[R][ACROSS][8] = {};

    // Row of a side's `COUNT` blocks, of which `quad` is 0 or 1.
    template <int COUNT, bool ALONG> static __device__ __forceinline__ int row_of(int block, int quad, int row) {
        if (ALONG) return quad * 8 * COUNT + block / 2 * 16 + row / 4 * 8 + block % 2 * 4 + row % 4;
        return block * 16 + row / 4 * 8 + quad * 4 + row % 4;
    }

    // The chunks of a lane: of a block's rows, or, `ALONG`, of one 4 of depth of two blocks.
    template <int COUNT, int SIDE, bool ALONG, int QUAD> struct Side {
        typedef Stored<unsigned short, SIDE, DEEP, ALONG> S;
        static constexpr int PLACES = ALONG ? COUNT : STEPS;
        unsigned at[PLACES];

        __device__ __forceinline__ explicit Side(int row) {
            const int lane = threadIdx.x % 32, quad = lane / QUAD % 2;
#pragma unroll
            for (int n = 0; n < PLACES; n++) {
                at[n] = ALONG ? S::place(row + row_of<COUNT, ALONG>(n / 2 * 2, quad, lane / 16 * 4), n % 2 * 4 + lane % 4)
                              : S::place(row + row_of<COUNT, ALONG>(0, quad, lane / 16 * 4 + lane % 4), n * 8);
                asm volatile("" : "+r"(at[n]));  // not computed again
            }
        }

        __device__ __forceinline__ void load(unsigned (&to)[COUNT][4], int i, unsigned from, int step) const {
            unsigned x[4];
            asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                : "r"(from + (ALONG ? at[i] + step * 8 * SIDE * 2 : at[step] + i * 16 * DEEP)) : "memory");
#pragma unroll
            for (int e = 0; e < 4; e++) {
                if (ALONG) to[i / 2 * 2 + e / 2][i % 2 * 2 + e % 2] = x[e];
                else to[i][e] = x[e];
            }
        }
    };
    typedef Side<R, ROWS, A_ALONG, 4> Rows;
    typedef Side<ACROSS, COLS, B_ALONG, 8> Columns;

#define PRODUCT(A_LAYOUT, B_LAYOUT)                                                                                     \
    asm volatile("mma.sync.aligned.m8n8k4." A_LAYOUT "." B_LAYOUT ".f32.f16.f16.f32 "                                   \
                 "{%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9}, {%10,%11}, {%0,%1,%2,%3,%4,%5,%6,%7};"                            \
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])                \
        : "r"(x[0]), "r"(x[1]), "r"(y[0]), "r"(y[1]))

    __device__ __forceinline__ void multiply(const unsigned (&a)[R][4], const unsigned (&b)[ACROSS][4], int i) {
        int half = i / (2 * ACROSS) % 2, r = i / (4 * ACROSS) * 2 + i / ACROSS % 2, c = i % ACROSS;
        const unsigned *x = a[r] + 2 * half, *y = b[c] + 2 * half;
        float(&d)[8] = sums[r][c];
        if (A_ALONG && B_ALONG) PRODUCT("col", "row");
        else if (A_ALONG) PRODUCT("col", "col");
        else if (B_ALONG) PRODUCT("row", "row");
        else PRODUCT("row", "col");
    }
#undef PRODUCT

    template <int PITCH> __device__ __forceinline__ void stage(float* to, int group) const {
        const int lane = threadIdx.x % 32, down = lane / 4 % 2, across = lane / 8 % 2;
#pragma unroll
        for (int r = 0; r < R; r++) {
#pragma unroll
            for (int e = 0; e < 4; e++) {
                int row = row_of<R, A_ALONG>(r, down, lane % 2 + e / 2 * 2 + lane / 16 * 4);
                to[(across * 4 + lane / 2 % 2 * 2 + e % 2) * PITCH + row] = sums[r][group / 2][group % 2 * 4 + e];
            }
        }
    }

    static __device__ __forceinline__ int column(int group, int i) {
        return row_of<ACROSS, B_ALONG>(group / 2, i / 4, group % 2 * 4 + i % 4);
    }
};

#endif
