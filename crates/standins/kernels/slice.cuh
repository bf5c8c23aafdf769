// How slices of A and B reach shared memory.
//
// A tile of op(A) is rows by depth, of op(B) columns by depth. Either its rows (columns) are neighbours in memory
// (`ALONG`), or the numbers of its depth are. Global memory is read in chunks of 16 bytes of neighbours, and a chunk stays
// one in shared memory.
#pragma once

#include "gemm.h"

// The chunks of a slice of `ROWS` by `DEPTH` that a thread loads.
template <typename T, int ROWS, int DEPTH, bool ALONG, bool WIDE, int THREADS> struct Slice {
    static constexpr int EACH = 16 / sizeof(T);  // numbers of a chunk
    static constexpr int PER_LINE = (ALONG ? ROWS : DEPTH) / EACH;
    static constexpr int COUNT = ROWS * DEPTH / EACH / THREADS;
    static constexpr int LINES = THREADS / PER_LINE;  // from one chunk of a thread to its next
    static_assert(ROWS * DEPTH / EACH % THREADS == 0 && THREADS % PER_LINE == 0, "whole chunks");

    const T* at;
    long long ld;
    int inner, line;  // of the first chunk: place in the line of memory, and line
    int rows, depth;  // what is left of the matrix from the tile's corner

    __device__ __forceinline__ Slice(const T* matrix, long long ld, int first, int rows, int depth)
        : ld(ld), rows(rows - first), depth(depth) {
        inner = threadIdx.x % PER_LINE * EACH;
        line = threadIdx.x / PER_LINE;
        at = matrix + (ALONG ? first : first * ld) + inner + line * ld;
    }

    // How many numbers of a chunk are in the matrix.
    __device__ __forceinline__ int valid(int i) const {
        int lines = ALONG ? depth : rows, left = (ALONG ? rows : depth) - inner;
        return line + i * LINES < lines ? max(0, min(left, EACH)) : 0;
    }

    __device__ __forceinline__ const T* chunk(int i) const { return at + i * LINES * ld; }

    __device__ __forceinline__ uint4 load(int i) const {
        union {
            uint4 chunk;
            T at[EACH];
        } out;
        out.chunk = make_uint4(0, 0, 0, 0);
        int count = valid(i);
        const T* from = chunk(i);
        if (WIDE && count == EACH) {
            out.chunk = *reinterpret_cast<const uint4*>(from);
        } else {
#pragma unroll
            for (int e = 0; e < EACH; e++) {
                if (e < count) out.at[e] = from[e];
            }
        }
        return out.chunk;
    }

    // To the next slice.
    __device__ __forceinline__ void advance() {
        at += ALONG ? DEPTH * ld : DEPTH;
        depth -= DEPTH;
    }

    // Row and depth of a chunk's first number, in the slice.
    __device__ __forceinline__ int row_of(int i) const { return ALONG ? inner : line + i * LINES; }
    __device__ __forceinline__ int depth_of(int i) const { return ALONG ? line + i * LINES : inner; }
};

// The tile of a CTA: CTAs of neighbouring numbers work on a square of tiles, so that they share what is in L2.
__device__ __forceinline__ int2 tile_of(int m, int n, int rows, int cols) {
    const int GROUP = 8;
    int down = (m + rows - 1) / rows, across = (n + cols - 1) / cols;
    int group = blockIdx.x / (GROUP * across);
    int height = min(GROUP, down - group * GROUP);
    int within = blockIdx.x - group * GROUP * across;
    return make_int2((group * GROUP + within % height) * rows, within / height * cols);
}
