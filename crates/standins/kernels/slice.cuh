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

// The chunks of a slice of `ROWS` by `DEPTH` that a thread loads: at one place of several lines, or at several places of
// one where lines do not divide the threads, or where eight threads or more have a line, whose chunks are then constants
// away.
template <typename T, int ROWS, int DEPTH, bool ALONG, bool WIDE, int THREADS> struct Slice {
    static constexpr int EACH = 16 / sizeof(T);  // numbers of a chunk
    static constexpr int LINES = ALONG ? DEPTH : ROWS, CHUNKS = (ALONG ? ROWS : DEPTH) / EACH;  // of a line
    static constexpr int COUNT = (LINES * CHUNKS + THREADS - 1) / THREADS;
    static constexpr bool SHARED_LINES = THREADS % CHUNKS || ALONG && THREADS / LINES % 8 == 0;
    static constexpr int PER_LINE = SHARED_LINES ? THREADS / LINES : CHUNKS;  // threads
    // From one chunk of a thread to its next: lines, numbers within a line, bytes in shared memory.
    static constexpr int DOWN = SHARED_LINES ? 0 : THREADS / CHUNKS, ALONG_LINE = SHARED_LINES ? PER_LINE * EACH : 0;
    static constexpr int STORED = DOWN * CHUNKS * 16 + ALONG_LINE * sizeof(T);
    static_assert(WIDE || LINES * CHUNKS % THREADS == 0, "no chunk is outside of the slice");

    const T* at;
    long long ld;
    bool aligned;     // whether chunks are, of any tile
    int inner, line;  // of the first chunk: place in the line of memory, and line
    int rows, depth;  // what is left of the matrix from the tile's corner

    __device__ __forceinline__ Slice(const T* matrix, long long ld, int first, int rows, int depth)
        : ld(ld), rows(min(rows - first, ROWS)), depth(depth) {
        aligned = WIDE || (reinterpret_cast<size_t>(matrix) | ld * sizeof(T)) % 16 == 0;
        inner = threadIdx.x % PER_LINE * EACH;
        line = threadIdx.x / PER_LINE;
        at = matrix + (ALONG ? first : first * ld) + inner + line * ld;
    }

    __device__ __forceinline__ const T* from(int i) const { return at + i * DOWN * ld + i * ALONG_LINE; }

    // By a number of slices.
    __device__ __forceinline__ void advance(int slices) {
        at += slices * (ALONG ? DEPTH * ld : DEPTH);
        depth -= slices * DEPTH;
    }

    // After chunk `i`, the address of the next.
    __device__ __forceinline__ void step(int i) {
        if (i < COUNT - 1) at += DOWN * ld + ALONG_LINE;
        else at += (ALONG ? (DEPTH - (COUNT - 1) * DOWN) * ld : DEPTH - (COUNT - 1) * DOWN * ld) - (COUNT - 1) * ALONG_LINE;
        if (i == COUNT - 1) depth -= DEPTH;
    }

    // How many numbers of a chunk are in the matrix.
    __device__ __forceinline__ int valid(int i) const {
        int lines = ALONG ? depth : rows, left = (ALONG ? rows : depth) - inner - i * ALONG_LINE;
        return line + i * DOWN < lines ? max(0, min(left, EACH)) : 0;
    }

    // Whether each chunk is in the matrix or, for its rows, outside: nothing is in part.
    __device__ __forceinline__ bool whole() const {
        return aligned && depth >= DEPTH && (!ALONG || rows >= ROWS || rows % EACH == 0);
    }

    // Whether the rows of a chunk are in the matrix. What is computed of others is not stored.
    __device__ __forceinline__ bool inside(int i) const { return row_of(i) < rows; }

    // Loads chunk `i` of a slice, in order, if the slice is whole. One outside stays as it is.
    __device__ __forceinline__ void load(uint4& to, int i, bool whole) {
        if (whole && inside(i)) ::load(to, at);
        step(i);
    }

    // The same, in the background to shared memory where that is possible.
    __device__ __forceinline__ void fetch(uint4& to, unsigned shared, int i, bool whole) {
#if __CUDA_ARCH__ >= 800
        asm volatile("{ .reg .pred p; setp.ne.b32 p, %2, 0; @p cp.async.ca.shared.global [%0], [%1], 16; }"
            ::"r"(shared), "l"(at), "r"(static_cast<int>(whole && inside(i))) : "memory");
        step(i);
#else
        load(to, i, whole);
#endif
    }

    // Loads the chunks of any slice.
    __device__ __forceinline__ void load_any(uint4 (&to)[COUNT]) {
#pragma unroll
        for (int i = 0; i < COUNT; i++) to[i] = one_by_one(from(i), valid(i));
        if (!WIDE) advance(1);
    }

    // A chunk of which `count` numbers are in the matrix; the others become zero.
    static __device__ __forceinline__ uint4 one_by_one(const T* from, int count) {
        asm volatile("" : "+l"(from));  // one address for all
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

    // Brings a slice that is not whole to shared memory. Chunks are aligned.
    __device__ __forceinline__ void copy_part(unsigned to) const {
#pragma unroll 1
        for (int i = 0; i < COUNT; i++, to += STORED) {
            if (LINES * CHUNKS % THREADS && row_of(i) >= ROWS) return;
#if __CUDA_ARCH__ >= 800
            int bytes = valid(i) * (int)sizeof(T);
            asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from(i)), "r"(bytes) : "memory");
#else
            store_shared(to, part(from(i), valid(i)));
#endif
        }
    }

    // Row and depth of a chunk's first number, in the slice.
    __device__ __forceinline__ int row_of(int i) const { return ALONG ? inner + i * ALONG_LINE : line + i * DOWN; }
    __device__ __forceinline__ int depth_of(int i) const { return ALONG ? line + i * DOWN : inner + i * ALONG_LINE; }
};

// The slice that a CTA begins with. CTAs of the same rows or columns would else read the same sectors at the same time,
// and while they come from DRAM, L2 merges few requests. Now one CTA is ahead, and the others find its slices in L2.
__device__ __forceinline__ int first_slice(int2 tile, int rows, int cols, int slices) {
    return (tile.x / rows + tile.y / cols) % 8 % slices;
}

// The tile of a CTA: CTAs of neighbouring numbers work on a square of tiles, so that they share what is in L2.
__device__ __forceinline__ int2 tile_of(int m, int n, int rows, int cols) {
    const int GROUP = 8;
    int down = (m + rows - 1) / rows, across = (n + cols - 1) / cols;
    int group = blockIdx.x / (GROUP * across);
    int height = min(GROUP, down - group * GROUP);
    int within = blockIdx.x - group * GROUP * across;
    return make_int2((group * GROUP + within % height) * rows, within / height * cols);
}
