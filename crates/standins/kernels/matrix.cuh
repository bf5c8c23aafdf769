// Products by tensor cores.
//
// From sm_75 on a warp multiplies blocks of 16 rows and 8 columns, 32 bytes deep. `ldmatrix` brings their operands from
// shared memory, in which chunks of 16 bytes are exchanged within a line so that each access meets all banks.
#pragma once

#include "epilogue.cuh"
#include "slice.cuh"
#include <mma.h>

// Types of elements: the type in memory, the type of sums, the product of a block.
struct Half {
    typedef unsigned short Stored;
    typedef float Sum;
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

__device__ __forceinline__ unsigned shared_address(const void* at) {
    return static_cast<unsigned>(__cvta_generic_to_shared(at));
}

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

// A slice in shared memory: 64 bytes deep, lines of chunks as in global memory.
template <typename T, int ROWS, bool ALONG> struct Stored {
    static constexpr int EACH = 16 / sizeof(T), DEPTH = 64 / sizeof(T), BYTES = ROWS * 64;

    // Byte at which the chunk with this row and depth is.
    static __device__ __forceinline__ int place(int row, int depth) {
        if (!ALONG) return row * 64 + (depth / EACH ^ row / 2 % 4) * 16;
        int other = sizeof(T) == 4 ? depth % 4 * 2 : depth % 8;
        return depth * ROWS * (int)sizeof(T) + (row / EACH ^ other) * 16;
    }

    // Operands of 16 rows from `row` on, 32 bytes deep: as those of a row operand (`OF_A`) they are four registers of a
    // block of 16 rows, else twice two of blocks of 8 columns.
    template <bool OF_A> static __device__ __forceinline__ void operands(unsigned (&to)[4], unsigned base, int row, int step) {
        const int lane = threadIdx.x % 32, half = lane / 8 % 2, other = lane / 16;
        const int second_rows = OF_A ? half : other, second_depth = OF_A ? other : half;
        if (!ALONG) {
            int at = place(row + second_rows * 8 + lane % 8, (step * 2 + second_depth) * EACH);
            load_matrices<false>(to, base + at);
        } else if (sizeof(T) == 2) {
            int at = place(row + second_rows * 8, (step * 2 + second_depth) * EACH + lane % 8);
            load_matrices<true>(to, base + at);
        } else {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                int r = row + (OF_A ? i % 2 : i / 2) * 8 + lane / 4;
                int d = step * 8 + (OF_A ? i / 2 : i % 2) * 4 + lane % 4;
                asm volatile("ld.shared.b32 %0, [%1];" : "=r"(to[i]) : "r"(base + place(r, d) + r % 4 * 4) : "memory");
            }
        }
    }
};

// `DOWN` and `ACROSS` are the warps of a CTA; a warp has `R` blocks of 16 rows and `C` blocks of 8 columns.
template <typename Type, int DOWN, int ACROSS, int R, int C, bool A_ALONG, bool B_ALONG, bool WIDE>
__device__ __forceinline__ void tensor(const Gemm& g) {
    typedef typename Type::Stored T;
    typedef typename Type::Sum Sum;
    constexpr int THREADS = 32 * DOWN * ACROSS, ROWS = 16 * R * DOWN, COLS = 8 * C * ACROSS;
    constexpr bool ASYNC = WIDE && __CUDA_ARCH__ >= 800;
    constexpr int BUFFERS = ASYNC ? 3 : 2;
    typedef Stored<T, ROWS, A_ALONG> A;
    typedef Stored<T, COLS, B_ALONG> B;
    constexpr int BYTES = A::BYTES + B::BYTES, DEPTH = A::DEPTH;
    constexpr int STAGED = 8 * ACROSS, PITCH = ROWS + 4;
    static_assert(STAGED * PITCH * 4 <= BUFFERS * BYTES, "sums fit");
    __shared__ alignas(128) char shared[BUFFERS * BYTES];

    const int2 tile = tile_of(g.m, g.n, ROWS, COLS);
    const int k = factor<Sum>(g, g.alpha, g.alpha_value[0]) == Sum(0) ? 0 : g.k;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int my_row = warp % DOWN * 16 * R, my_col = warp / DOWN * 8 * C;
    const unsigned base = shared_address(shared);

    Sum sums[R][C][4] = {};
    if (k > 0) {
        Slice<T, ROWS, DEPTH, A_ALONG, WIDE, THREADS> a(matrix_of<const T>(g, g.a, g.stride_a, sizeof(T)), g.lda, tile.x,
                                                        g.m, k);
        Slice<T, COLS, DEPTH, B_ALONG, WIDE, THREADS> b(matrix_of<const T>(g, g.b, g.stride_b, sizeof(T)), g.ldb, tile.y,
                                                        g.n, k);
        uint4 a_next[a.COUNT], b_next[b.COUNT];
        auto a_place = [&](int i) { return A::place(a.row_of(i), a.depth_of(i)); };
        auto b_place = [&](int i) { return A::BYTES + B::place(b.row_of(i), b.depth_of(i)); };
        auto load = [&]() {
#pragma unroll
            for (int i = 0; i < a.COUNT; i++) a_next[i] = a.load(i);
#pragma unroll
            for (int i = 0; i < b.COUNT; i++) b_next[i] = b.load(i);
            a.advance();
            b.advance();
        };
        auto store = [&](int buffer) {
#pragma unroll
            for (int i = 0; i < a.COUNT; i++) *reinterpret_cast<uint4*>(shared + buffer * BYTES + a_place(i)) = a_next[i];
#pragma unroll
            for (int i = 0; i < b.COUNT; i++) *reinterpret_cast<uint4*>(shared + buffer * BYTES + b_place(i)) = b_next[i];
        };
        // Copies a slice in the background; what is not in the matrix becomes zero.
        auto copy = [&](int buffer) {
#if __CUDA_ARCH__ >= 800
            auto one = [&](const T* from, int valid, int place) {
                asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                    :: "r"(base + buffer * BYTES + place), "l"(from), "r"(valid * (int)sizeof(T)) : "memory");
            };
#pragma unroll
            for (int i = 0; i < a.COUNT; i++) one(a.chunk(i), a.valid(i), a_place(i));
#pragma unroll
            for (int i = 0; i < b.COUNT; i++) one(b.chunk(i), b.valid(i), b_place(i));
            a.advance();
            b.advance();
#endif
        };
        auto multiply = [&](int buffer) {
            const unsigned from = base + buffer * BYTES;
#pragma unroll
            for (int step = 0; step < 2; step++) {
                unsigned x[R][4], y[C / 2][4];
#pragma unroll
                for (int r = 0; r < R; r++) A::template operands<true>(x[r], from, my_row + 16 * r, step);
#pragma unroll
                for (int c = 0; c < C / 2; c++) {
                    B::template operands<false>(y[c], from + A::BYTES, my_col + 16 * c, step);
                }
                if (sizeof(T) == 4) {
#pragma unroll
                    for (int i = 0; i < 4; i++) {
#pragma unroll
                        for (int r = 0; r < R; r++) x[r][i] = Tensor32::rounded(x[r][i]);
#pragma unroll
                        for (int c = 0; c < C / 2; c++) y[c][i] = Tensor32::rounded(y[c][i]);
                    }
                }
#pragma unroll
                for (int r = 0; r < R; r++) {
#pragma unroll
                    for (int c = 0; c < C; c++) {
                        unsigned pair[2] = {y[c / 2][c % 2 * 2], y[c / 2][c % 2 * 2 + 1]};
                        Type::multiply(sums[r][c], x[r], pair);
                    }
                }
            }
        };
        const int slices = (k + DEPTH - 1) / DEPTH;
        if (ASYNC) {
#if __CUDA_ARCH__ >= 800
#pragma unroll
            for (int i = 0; i < BUFFERS - 1; i++) {
                if (i < slices) copy(i);
                asm volatile("cp.async.commit_group;" ::: "memory");
            }
            int buffer = 0, next = BUFFERS - 1;
            for (int i = 0; i < slices; i++) {
                asm volatile("cp.async.wait_group %0;" :: "n"(BUFFERS - 2) : "memory");
                __syncthreads();
                if (i + BUFFERS - 1 < slices) copy(next);
                asm volatile("cp.async.commit_group;" ::: "memory");
                multiply(buffer);
                buffer = buffer + 1 == BUFFERS ? 0 : buffer + 1;
                next = next + 1 == BUFFERS ? 0 : next + 1;
            }
            asm volatile("cp.async.wait_all;" ::: "memory");
            __syncthreads();
#endif
        } else {
            load();
            store(0);
            __syncthreads();
            for (int i = 0; i < slices; i++) {
                bool more = i + 1 < slices;
                if (more) load();
                multiply(i % 2);
                if (more) store((i + 1) % 2);
                __syncthreads();
            }
        }
    }

    // A block of 8 columns of each warp at a time.
    Sum* const staged = reinterpret_cast<Sum*>(shared);
    Finish<Sum, ROWS, THREADS> finish(g, tile.x, tile.y);
#pragma unroll 1
    for (int step = 0; step < C; step++) {
        if (step) __syncthreads();
#pragma unroll
        for (int c = 0; c < C; c++) {
            if (c != step) continue;
#pragma unroll
            for (int r = 0; r < R; r++) {
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    int col = warp / DOWN * 8 + lane % 4 * 2 + e % 2;
                    staged[col * PITCH + my_row + 16 * r + lane / 4 + e / 2 * 8] = sums[r][c][e];
                }
            }
        }
        __syncthreads();
        finish.template store<STAGED, PITCH>(staged, [=](int i) { return i / 8 * 8 * C + step * 8 + i % 8; });
    }
}

#else

// On sm_70 blocks are of 16 rows, columns and depth, and lines of shared memory are padded.
template <typename Type, int DOWN, int ACROSS, int R, int C, bool A_ALONG, bool B_ALONG, bool WIDE>
__device__ __forceinline__ void tensor(const Gemm& g) {
    using namespace nvcuda;
    typedef unsigned short T;
    constexpr int THREADS = 32 * DOWN * ACROSS, ROWS = 16 * R * DOWN, COLS = 8 * C * ACROSS, DEPTH = 32, PAD = 8;
    constexpr int A_PITCH = (A_ALONG ? ROWS : DEPTH) + PAD, B_PITCH = (B_ALONG ? COLS : DEPTH) + PAD;
    constexpr int A_SIZE = A_PITCH * (A_ALONG ? DEPTH : ROWS), B_SIZE = B_PITCH * (B_ALONG ? DEPTH : COLS);
    constexpr int SIZE = A_SIZE + B_SIZE;
    constexpr int STAGED = 16 * ACROSS, PITCH = ROWS + 4;
    constexpr int BYTES = 2 * SIZE * 2 > STAGED * PITCH * 4 ? 2 * SIZE * 2 : STAGED * PITCH * 4;
    __shared__ alignas(128) char shared[BYTES];
    T* const slices = reinterpret_cast<T*>(shared);

    const int2 tile = tile_of(g.m, g.n, ROWS, COLS);
    const int k = factor<float>(g, g.alpha, g.alpha_value[0]) == float(0) ? 0 : g.k;
    const int warp = threadIdx.x / 32;
    const int my_row = warp % DOWN * 16 * R, my_col = warp / DOWN * 8 * C;

    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[R][C / 2];
#pragma unroll
    for (int r = 0; r < R; r++) {
#pragma unroll
        for (int c = 0; c < C / 2; c++) wmma::fill_fragment(sums[r][c], 0.0f);
    }
    if (k > 0) {
        Slice<T, ROWS, DEPTH, A_ALONG, WIDE, THREADS> a(matrix_of<const T>(g, g.a, g.stride_a, 2), g.lda, tile.x, g.m, k);
        Slice<T, COLS, DEPTH, B_ALONG, WIDE, THREADS> b(matrix_of<const T>(g, g.b, g.stride_b, 2), g.ldb, tile.y, g.n, k);
        uint4 a_next[a.COUNT], b_next[b.COUNT];
        auto load = [&]() {
#pragma unroll
            for (int i = 0; i < a.COUNT; i++) a_next[i] = a.load(i);
#pragma unroll
            for (int i = 0; i < b.COUNT; i++) b_next[i] = b.load(i);
            a.advance();
            b.advance();
        };
        auto store = [&](int buffer) {
            T* to = slices + buffer * SIZE;
#pragma unroll
            for (int i = 0; i < a.COUNT; i++) {
                int line = A_ALONG ? a.depth_of(i) : a.row_of(i);
                *reinterpret_cast<uint4*>(to + line * A_PITCH + a.inner) = a_next[i];
            }
#pragma unroll
            for (int i = 0; i < b.COUNT; i++) {
                int line = B_ALONG ? b.depth_of(i) : b.row_of(i);
                *reinterpret_cast<uint4*>(to + A_SIZE + line * B_PITCH + b.inner) = b_next[i];
            }
        };
        typedef typename std::conditional<A_ALONG, wmma::col_major, wmma::row_major>::type A_Layout;
        typedef typename std::conditional<B_ALONG, wmma::row_major, wmma::col_major>::type B_Layout;
        load();
        store(0);
        __syncthreads();
        for (int left = k, buffer = 0; left > 0; left -= DEPTH, buffer ^= 1) {
            if (left > DEPTH) load();
            const half* a_from = reinterpret_cast<const half*>(slices + buffer * SIZE);
            const half* b_from = a_from + A_SIZE;
#pragma unroll
            for (int d = 0; d < DEPTH; d += 16) {
                wmma::fragment<wmma::matrix_a, 16, 16, 16, half, A_Layout> x[R];
                wmma::fragment<wmma::matrix_b, 16, 16, 16, half, B_Layout> y[C / 2];
#pragma unroll
                for (int r = 0; r < R; r++) {
                    int row = my_row + 16 * r;
                    wmma::load_matrix_sync(x[r], a_from + (A_ALONG ? d * A_PITCH + row : row * A_PITCH + d), A_PITCH);
                }
#pragma unroll
                for (int c = 0; c < C / 2; c++) {
                    int col = my_col + 16 * c;
                    wmma::load_matrix_sync(y[c], b_from + (B_ALONG ? d * B_PITCH + col : col * B_PITCH + d), B_PITCH);
                }
#pragma unroll
                for (int r = 0; r < R; r++) {
#pragma unroll
                    for (int c = 0; c < C / 2; c++) wmma::mma_sync(sums[r][c], x[r], y[c], sums[r][c]);
                }
            }
            if (left > DEPTH) store(buffer ^ 1);
            __syncthreads();
        }
    }

    float* const staged = reinterpret_cast<float*>(shared);
    Finish<float, ROWS, THREADS> finish(g, tile.x, tile.y);
#pragma unroll 1
    for (int step = 0; step < C / 2; step++) {
        if (step) __syncthreads();
#pragma unroll
        for (int c = 0; c < C / 2; c++) {
            if (c != step) continue;
#pragma unroll
            for (int r = 0; r < R; r++) {
                wmma::store_matrix_sync(staged + warp / DOWN * 16 * PITCH + my_row + 16 * r, sums[r][c], PITCH,
                                        wmma::mem_col_major);
            }
        }
        __syncthreads();
        finish.template store<STAGED, PITCH>(staged, [=](int i) { return i / 16 * 8 * C + step * 16 + i % 16; });
    }
}

#endif
