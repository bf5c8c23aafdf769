// Products by the multiply-adds of single and double precision. A thread holds runs of four rows and four columns.
#pragma once

#include "epilogue.cuh"
#include "slice.cuh"

template <typename T> struct alignas(16) Run {
    T at[4];
};

// `DOWN` and `ACROSS` are the warps of a CTA, `R` and `C` the runs of a thread.
template <typename T, int DOWN, int ACROSS, int R, int C, bool A_ALONG, bool B_ALONG, bool WIDE>
__device__ __forceinline__ void simt(const Gemm& g) {
    constexpr int THREADS = 32 * DOWN * ACROSS, DEPTH = 8;
    constexpr int ROWS = 32 * R * DOWN, COLS = 16 * C * ACROSS;
    // Chunks along the depth are stored by columns: the pad keeps their numbers in different banks.
    constexpr int PAD = 16 / sizeof(T), A_PITCH = ROWS + PAD, B_PITCH = COLS + PAD;
    constexpr int STAGED = COLS / (4 * C) * 2, PITCH = ROWS + PAD;
    constexpr int SLICES = 2 * DEPTH * (A_PITCH + B_PITCH);
    __shared__ alignas(16) T shared[SLICES > STAGED * PITCH ? SLICES : STAGED * PITCH];
    T* const a_shared = shared;
    T* const b_shared = shared + 2 * DEPTH * A_PITCH;

    const int2 tile = tile_of(g.m, g.n, ROWS, COLS);
    const int k = factor<T>(g, g.alpha, g.alpha_value[0]) == T(0) ? 0 : g.k;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int my_row = warp % DOWN * 32 * R + lane % 8 * 4;
    const int my_col = warp / DOWN * 16 * C + lane / 8 * 4;

    T sums[4 * R][4 * C] = {};
    if (k > 0) {
        Slice<T, ROWS, DEPTH, A_ALONG, WIDE, THREADS> a(matrix_of<const T>(g, g.a, g.stride_a, sizeof(T)), g.lda, tile.x,
                                                        g.m, k);
        Slice<T, COLS, DEPTH, B_ALONG, WIDE, THREADS> b(matrix_of<const T>(g, g.b, g.stride_b, sizeof(T)), g.ldb, tile.y,
                                                        g.n, k);
        uint4 a_next[a.COUNT] = {}, b_next[b.COUNT] = {};
        const int slices = (k + DEPTH - 1) / DEPTH, first = first_slice(tile, ROWS, COLS, slices);
        a.advance(first), b.advance(first);
        int left = slices;  // to load
        auto load = [&]() {
            if (left-- == first) a.advance(-slices), b.advance(-slices);
            const bool whole = a.whole() && b.whole();
            if (!whole) {
                a.load_any(a_next);
                b.load_any(b_next);
            }
            if (WIDE || whole) {
#pragma unroll
                for (int i = 0; i < a.COUNT; i++) a.load(a_next[i], i, whole);
#pragma unroll
                for (int i = 0; i < b.COUNT; i++) b.load(b_next[i], i, whole);
            }
        };
        auto store_one = [&](T* to, int pitch, bool along, uint4 chunk, int row, int depth) {
            if (along) {
                *reinterpret_cast<uint4*>(to + depth * pitch + row) = chunk;
            } else {
#pragma unroll
                for (int e = 0; e < PAD; e++) to[(depth + e) * pitch + row] = reinterpret_cast<const T*>(&chunk)[e];
            }
        };
        auto store = [&](int buffer) {
#pragma unroll
            for (int i = 0; i < a.COUNT; i++) {
                store_one(a_shared + buffer * DEPTH * A_PITCH, A_PITCH, A_ALONG, a_next[i], a.row_of(i), a.depth_of(i));
            }
#pragma unroll
            for (int i = 0; i < b.COUNT; i++) {
                store_one(b_shared + buffer * DEPTH * B_PITCH, B_PITCH, B_ALONG, b_next[i], b.row_of(i), b.depth_of(i));
            }
        };
        load();
        store(0);
        __syncthreads();
        int buffer = 0;
        for (int turns = slices; turns > 0; turns--) {
            if (left > 0) load();
#pragma unroll
            for (int d = 0; d < DEPTH; d++) {
                Run<T> x[R], y[C];
#pragma unroll
                for (int r = 0; r < R; r++) {
                    x[r] = *reinterpret_cast<const Run<T>*>(a_shared + (buffer * DEPTH + d) * A_PITCH + my_row + 32 * r);
                }
#pragma unroll
                for (int c = 0; c < C; c++) {
                    y[c] = *reinterpret_cast<const Run<T>*>(b_shared + (buffer * DEPTH + d) * B_PITCH + my_col + 16 * c);
                }
#pragma unroll
                for (int r = 0; r < 4 * R; r++) {
#pragma unroll
                    for (int c = 0; c < 4 * C; c++) sums[r][c] += x[r / 4].at[r % 4] * y[c / 4].at[c % 4];
                }
            }
            buffer ^= 1;
            if (turns > 1) store(buffer);
            __syncthreads();
        }
    }

    // Two columns of each run at a time.
    Finish<T, ROWS, THREADS, F32> finish(g, tile.x, tile.y);
#pragma unroll 1
    for (int step = 0; step < 2 * C; step++) {
        if (step) __syncthreads();
#pragma unroll
        for (int s = 0; s < 2 * C; s++) {
            if (s != step) continue;
#pragma unroll
            for (int e = 0; e < 2; e++) {
                T* to = shared + ((warp / DOWN * 4 + lane / 8) * 2 + e) * PITCH + my_row;
#pragma unroll
                for (int r = 0; r < R; r++) {
                    Run<T> run;
#pragma unroll
                    for (int i = 0; i < 4; i++) run.at[i] = sums[4 * r + i][2 * s + e];
                    *reinterpret_cast<Run<T>*>(to + 32 * r) = run;
                }
            }
        }
        __syncthreads();
        finish.template store<STAGED, PITCH>(shared, [=](int i) {
            return i / 8 * 16 * C + step / 2 * 16 + i / 2 % 4 * 4 + step % 2 * 2 + i % 2;
        });
    }
}
