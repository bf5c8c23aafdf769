// Products by tensor cores.
#pragma once

#include "blocks.cuh"
#include "epilogue.cuh"
#include "slice.cuh"

// `DOWN` and `ACROSS` are the warps of a CTA; a warp has 16 `R` rows and 8 `C` columns.
template <typename Type, int DOWN, int ACROSS, int R, int C, bool A_ALONG, bool B_ALONG, bool WIDE>
__device__ __forceinline__ void tensor(const Gemm& g) {
    typedef typename Type::Stored T;
    typedef typename Type::Sum Sum;
    constexpr int THREADS = 32 * DOWN * ACROSS, ROWS = 16 * R * DOWN, COLS = 8 * C * ACROSS;
    constexpr bool ASYNC = WIDE && __CUDA_ARCH__ >= 800;
    constexpr int BUFFERS = ASYNC ? 3 : 2;
    typedef Stored<T, ROWS, A_ALONG> A;
    typedef Stored<T, COLS, B_ALONG> B;
    typedef Blocks<Type, ROWS, COLS, R, C, A_ALONG, B_ALONG> Part;
    constexpr int BYTES = A::BYTES + B::BYTES, DEPTH = A::DEPTH;
    constexpr int STAGED = 8 * ACROSS, PITCH = ROWS + 4;
    static_assert(STAGED * PITCH * 4 <= BUFFERS * BYTES, "sums fit");
    __shared__ alignas(128) char shared[BUFFERS * BYTES];

    const int2 tile = tile_of(g.m, g.n, ROWS, COLS);
    const int k = factor<Sum>(g, g.alpha, g.alpha_value[0]) == Sum(0) ? 0 : g.k;
    const int warp = threadIdx.x / 32;
    const int my_row = warp % DOWN * 16 * R, my_col = warp / DOWN * 8 * C;
    const unsigned base = static_cast<unsigned>(__cvta_generic_to_shared(shared));

    Part part;
    if (k > 0) {
        Slice<T, ROWS, DEPTH, A_ALONG, WIDE, THREADS> a(matrix_of<const T>(g, g.a, g.stride_a, sizeof(T)), g.lda, tile.x,
                                                        g.m, k);
        Slice<T, COLS, DEPTH, B_ALONG, WIDE, THREADS> b(matrix_of<const T>(g, g.b, g.stride_b, sizeof(T)), g.ldb, tile.y,
                                                        g.n, k);
        auto a_place = [&](int i) { return A::place(a.row_of(i), a.depth_of(i)); };
        auto b_place = [&](int i) { return A::BYTES + B::place(b.row_of(i), b.depth_of(i)); };
        auto load = [&](typename Part::Operands& to, int i, int buffer, int step) {
            unsigned from = base + buffer * BYTES;
            Part::load(to, i, from, from + A::BYTES, my_row, my_col, step);
        };
        const int slices = (k + DEPTH - 1) / DEPTH;
#if __CUDA_ARCH__ >= 800
        if (ASYNC) {
            // Copies a slice in the background; what is not in the matrix becomes zero.
            auto copy = [&](int buffer) {
                const unsigned to = base + buffer * BYTES;
                a.copy([&](int i) { return to + a_place(i); });
                b.copy([&](int i) { return to + b_place(i); });
                a.advance();
                b.advance();
            };
#pragma unroll
            for (int i = 0; i < BUFFERS - 1; i++) {
                if (i < slices) copy(i);
                asm volatile("cp.async.commit_group;" ::: "memory");
            }
            asm volatile("cp.async.wait_group %0;" ::"n"(BUFFERS - 2) : "memory");
            __syncthreads();
            // While a step is multiplied, the operands of the next are loaded.
            typename Part::Operands operands[2];
#pragma unroll
            for (int i = 0; i < Part::LOADS; i++) load(operands[0], i, 0, 0);
            int buffer = 0, next = BUFFERS - 1;
            for (int slice = 0; slice < slices; slice++) {
                if (slice + BUFFERS - 1 < slices) copy(next);
                asm volatile("cp.async.commit_group;" ::: "memory");
                next = next + 1 == BUFFERS ? 0 : next + 1;
#pragma unroll
                for (int step = 0; step < Part::STEPS; step++) {
                    const bool last = step == Part::STEPS - 1;
                    if (last) {
                        // All warps have the operands of this slice: its buffer is free.
                        asm volatile("cp.async.wait_group %0;" ::"n"(BUFFERS - 2) : "memory");
                        __syncthreads();
                        buffer = buffer + 1 == BUFFERS ? 0 : buffer + 1;
                    }
#pragma unroll
                    for (int i = 0; i < Part::PRODUCTS; i++) {
                        constexpr int EACH = Part::PRODUCTS / Part::LOADS;
                        if (i % EACH == 0 && i / EACH < Part::LOADS) {
                            load(operands[(step + 1) % 2], i / EACH, buffer, (step + 1) % Part::STEPS);
                        }
                        part.multiply(operands[step % 2], i);
                    }
                }
            }
            asm volatile("cp.async.wait_all;" ::: "memory");
            __syncthreads();
        } else
#endif
        {
            uint4 a_next[a.COUNT], b_next[b.COUNT];
            auto fetch = [&]() {
                a.load(a_next);
                b.load(b_next);
                a.advance();
                b.advance();
            };
            auto store = [&](int buffer) {
#pragma unroll
                for (int i = 0; i < a.COUNT; i++) *reinterpret_cast<uint4*>(shared + buffer * BYTES + a_place(i)) = a_next[i];
#pragma unroll
                for (int i = 0; i < b.COUNT; i++) *reinterpret_cast<uint4*>(shared + buffer * BYTES + b_place(i)) = b_next[i];
            };
            fetch();
            store(0);
            __syncthreads();
            for (int slice = 0; slice < slices; slice++) {
                bool more = slice + 1 < slices;
                if (more) fetch();
#pragma unroll
                for (int step = 0; step < Part::STEPS; step++) {
                    typename Part::Operands operands;
#pragma unroll
                    for (int i = 0; i < Part::LOADS; i++) load(operands, i, slice % 2, step);
#pragma unroll
                    for (int i = 0; i < Part::PRODUCTS; i++) part.multiply(operands, i);
                }
                if (more) store((slice + 1) % 2);
                __syncthreads();
            }
        }
    }

    // A group of 8 columns of each warp at a time.
    Sum* const staged = reinterpret_cast<Sum*>(shared);
    Finish<Sum, ROWS, THREADS> finish(g, tile.x, tile.y);
#pragma unroll 1
    for (int step = 0; step < Part::GROUPS; step++) {
        if (step) __syncthreads();
#pragma unroll
        for (int group = 0; group < Part::GROUPS; group++) {
            if (group == step) part.template stage<PITCH>(staged + warp / DOWN * 8 * PITCH + my_row, group);
        }
        __syncthreads();
        finish.template store<STAGED, PITCH>(staged, [=](int i) { return i / 8 * 8 * C + Part::column(step, i % 8); });
    }
}
