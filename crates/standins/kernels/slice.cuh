// How slices of A and B reach shared memory.
//
// A tile of op(A) is rows by depth, of op(B) columns by depth. Either its rows (columns) are neighbours in memory
// (`ALONG`), or the numbers of its depth are. Global memory is read in chunks of 16 bytes of neighbours, and a chunk stays
// one in shared memory.
#pragma once

#include "gemm.h"
#include "global.cuh"

__device__ __forceinline__ unsigned long long bits_of_number(double x) { return __double_as_longlong(x); }
__device__ __forceinline__ unsigned long long bits_of_number(float x) { return __float_as_uint(x); }
__device__ __forceinline__ unsigned long long bits_of_number(unsigned short x) { return x; }
__device__ __forceinline__ unsigned long long bits_of_number(signed char x) { return static_cast<unsigned char>(x); }

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

    // Whether all of the slice is in the matrix.
    __device__ __forceinline__ bool whole() const { return rows >= ROWS && depth >= DEPTH; }

    // Loads the chunks of a slice.
    __device__ __forceinline__ void load(uint4 (&to)[COUNT]) const {
        const T* from = at;
        if (WIDE && __builtin_expect(whole(), 1)) {
#pragma unroll
            for (int i = 0; i < COUNT; i++, from += LINES * ld) ::load(to[i], from);
        } else {
#pragma unroll
            for (int i = 0; i < COUNT; i++, from += LINES * ld) to[i] = WIDE ? part(from, valid(i)) : one_by_one(from, valid(i));
        }
    }

    // A chunk of which `count` numbers are in the matrix; the others become zero.
    static __device__ __forceinline__ uint4 one_by_one(const T* from, int count) {
        union {
            uint4 chunk;
            T at[EACH];
        } out;
        out.chunk = make_uint4(0, 0, 0, 0);
#pragma unroll
        for (int e = 0; e < EACH; e++) {
            if (e < count) ::load(out.at[e], from + e);
        }
        return out.chunk;
    }

    // The same in little code, for chunks that are aligned and mostly whole or empty.
    static __device__ __forceinline__ uint4 part(const T* from, int count) {
        if (count == EACH) {
            uint4 chunk;
            ::load(chunk, from);
            return chunk;
        }
        unsigned long long low = 0, high = 0;
#pragma unroll 1
        for (int e = 0; e < count; e++) {
            T number;
            ::load(number, from + e);
            unsigned long long bits = bits_of_number(number) << e * 8 * sizeof(T) % 64;
            if (e * sizeof(T) < 8) low |= bits;
            else high |= bits;
        }
        return make_uint4(low, low >> 32, high, high >> 32);
    }

#if __CUDA_ARCH__ >= 800
    // Copies the chunks of a slice in the background to where `place(i)` is in shared memory.
    template <typename Place> __device__ __forceinline__ void copy(Place place) const {
        const T* from = at;
        if (whole()) {
#pragma unroll
            for (int i = 0; i < COUNT; i++, from += LINES * ld) {
                asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place(i)), "l"(from) : "memory");
            }
        } else {
            // A loop, so that it stays a branch.
#pragma unroll 1
            for (int i = 0; i < COUNT; i++, from += LINES * ld) {
                int bytes = valid(i) * (int)sizeof(T);
                asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place(i)), "l"(from), "r"(bytes) : "memory");
            }
        }
    }
#endif

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
