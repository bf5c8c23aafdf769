// Products by tensor cores.
#pragma once

#include "blocks.cuh"
#include "epilogue.cuh"
#include "slice.cuh"

// Shared memory of the CTA: dynamic if it is more than the compiler allots.
template <int BYTES> __device__ __forceinline__ char* shared_memory() {
    if constexpr (BYTES <= 48 << 10) {
        __shared__ __align__(128) char shared[BYTES];
        return shared;
    } else {
        extern __shared__ __align__(128) char dynamic[];
        return dynamic;
    }
}

__device__ __forceinline__ void commit_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits until only the last `PENDING` groups of copies are on their way.
template <int PENDING> __device__ __forceinline__ void await_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
#endif
}

// Which of `count` accesses, spread over `products`, comes with product `i`; -1 if none does.
__device__ __forceinline__ int number_of(int i, int products, int count) {
    const int each = products / count;
    return i >= 0 && i % each == 0 && i / each < count ? i / each : -1;
}

// The largest divisor of `groups` that is at most `most`.
__host__ __device__ constexpr int most_groups(int groups, int most) {
    return most <= 0 || groups % most == 0 ? most : most_groups(groups, most - 1);
}

// `DOWN` and `ACROSS` are the warps of a CTA; a warp has 16 `R` rows and 8 `C` columns. Slices are `DEEP` bytes deep.
template <typename Type, int DOWN, int ACROSS, int R, int C, bool A_ALONG, bool B_ALONG, bool WIDE, int DEEP = 64>
__device__ __forceinline__ void tensor(const Gemm& g) {
    typedef typename Type::Stored T;
    typedef typename Type::Sum Sum;
    constexpr int THREADS = 32 * DOWN * ACROSS, ROWS = 16 * R * DOWN, COLS = 8 * C * ACROSS;
    constexpr bool ASYNC = WIDE && __CUDA_ARCH__ >= 800;
    constexpr int BUFFERS = ASYNC ? 3 : 2;
    typedef Stored<T, ROWS, DEEP, A_ALONG> A;
    typedef Stored<T, COLS, DEEP, B_ALONG> B;
    typedef Blocks<Type, ROWS, COLS, DEEP, R, C, A_ALONG, B_ALONG> Part;
    constexpr int BYTES = A::BYTES + B::BYTES, DEPTH = A::DEPTH;
    constexpr int PITCH = ROWS + 4, AT_ONCE = most_groups(Part::GROUPS, BUFFERS * BYTES / (8 * ACROSS * PITCH * 4));
    constexpr int STAGED = 8 * ACROSS * AT_ONCE;
    static_assert(AT_ONCE > 0, "sums fit");
    char* const shared = shared_memory<BUFFERS * BYTES>();

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
        unsigned a_first = A::place(a.row_of(0), a.depth_of(0)), b_first = A::BYTES + B::place(b.row_of(0), b.depth_of(0));
        asm volatile("" : "+r"(a_first), "+r"(b_first));  // not computed again
        constexpr int CHUNKS = a.COUNT + b.COUNT;
        auto place = [&](int i) { return i < a.COUNT ? a_first + i * a.STORED : b_first + (i - a.COUNT) * b.STORED; };
        uint4 a_next[a.COUNT] = {}, b_next[b.COUNT] = {};  // chunks on their way, unless they are copied in the background

        // Slices are fetched in order: `look`, `fetch` for each chunk, `end`. Copies are two slices ahead of the products,
        // as are loads, which are stored in between. A slice that is not whole is brought to its buffer at once.
        const int slices = (k + DEPTH - 1) / DEPTH, first = first_slice(tile, ROWS, COLS, slices);
        a.advance(first), b.advance(first);
        int left = slices;
        bool whole = false;
        auto look = [&]() {
            if (left == first) a.advance(-slices), b.advance(-slices);
            whole = left > 0 && a.whole() && b.whole();
            if (WIDE || left <= 0) return;
            if (whole) {
#pragma unroll
                for (int i = 0; i < a.COUNT; i++) a.load(a_next[i], i, true);
#pragma unroll
                for (int i = 0; i < b.COUNT; i++) b.load(b_next[i], i, true);
            } else {
                a.load_any(a_next);
                b.load_any(b_next);
            }
        };
        auto bring_part = [&](unsigned to, int fetched) {
            if (!WIDE || whole || left + fetched <= 0) return;
            a.advance(-fetched), b.advance(-fetched);
            a.copy_part(to + a_first), b.copy_part(to + b_first);
            a.advance(fetched), b.advance(fetched);
        };
        auto fetch = [&](int i, unsigned to) {
            if (!WIDE) return;
            if (i < a.COUNT) a.fetch(a_next[i], to + place(i), i, whole);
            else b.fetch(b_next[i - a.COUNT], to + place(i), i - a.COUNT, whole);
        };
        auto end = [&]() {
            if (ASYNC) commit_copies();
            left--;
        };
        // Stores a chunk that was loaded.
        auto put = [&](int i, unsigned to) {
            if (ASYNC || WIDE && !whole) return;
            store_shared(to + place(i), i < a.COUNT ? a_next[i] : b_next[i - a.COUNT]);
        };
        auto put_all = [&](unsigned to) {
#pragma unroll
            for (int i = 0; i < CHUNKS; i++) put(i, to);
        };
        // Waits until the next slice is in shared memory and all threads have read the present one.
        auto arrive = [&]() {
            if (ASYNC) await_copies<BUFFERS - 3>();
            __syncthreads();
        };
        auto after = [&](unsigned buffer) { return buffer + BYTES == base + BUFFERS * BYTES ? base : buffer + BYTES; };

        if (ASYNC && (a.rows < ROWS || b.rows < COLS)) {
            // Nothing is copied of rows outside of the matrix.
#pragma unroll 1
            for (int i = threadIdx.x * 16; i < BUFFERS * BYTES; i += THREADS * 16) store_shared(base + i, make_uint4(0, 0, 0, 0));
            __syncthreads();
        }
        unsigned buffer = base, next = base;
#pragma unroll 1
        for (int i = 0; i < 2; i++) {
            look();
            if (ASYNC || i == 0) bring_part(next, 0);
#pragma unroll
            for (int chunk = 0; chunk < CHUNKS; chunk++) fetch(chunk, next);
            end();
            if (!ASYNC && i) break;
            put_all(next);
            next = after(next);
        }
        arrive();

        // Operands of the next step are loaded while a step is multiplied: A's into the registers of those that are used
        // up, B's, which are used until the end, into others.
        const typename Part::Rows rows(my_row);
        const typename Part::Columns columns(my_col);
        unsigned x[R][4], y[2][Part::ACROSS][4];
#pragma unroll
        for (int i = 0; i < R; i++) rows.load(x, i, buffer, 0);
#pragma unroll
        for (int i = 0; i < Part::ACROSS; i++) columns.load(y[0], i, buffer + A::BYTES, 0);
#pragma unroll 1
        for (int turns = left + 2; turns > 0; turns--) {
            unsigned from = buffer;  // of the operands that are loaded
#pragma unroll
            for (int step = 0; step < Part::STEPS; step++) {
                // Accesses are spread over the products, so that they do not wait for each other. Chunks that were loaded
                // are stored in the first step, and the next are loaded in those that follow; chunks of single numbers,
                // which are few, at once.
                constexpr int FIRST = WIDE && !ASYNC ? 1 : 0, LAST = ASYNC || Part::STEPS == 2 ? Part::STEPS : Part::STEPS - 1;
                constexpr int PAIRS = (CHUNKS + 1) / 2, USED = Part::PRODUCTS / R * Part::TOGETHER;
                if (step == 0 && !WIDE) put_all(next);
                if (step == FIRST) look();
                if (step == 0) bring_part(next, FIRST);
                if (step == Part::STEPS - 1) {
                    arrive();
                    from = after(buffer);
                }
                const int following = (step + 1) % Part::STEPS;
#pragma unroll
                for (int i = 0; i < Part::PRODUCTS; i++) {
                    const int stored = WIDE && step == 0 ? number_of(i, Part::PRODUCTS, CHUNKS) : -1;
                    if (stored >= 0) put(stored, next);
                    const int pair = number_of((step - FIRST) * Part::PRODUCTS + i - 3, (LAST - FIRST) * Part::PRODUCTS, PAIRS);
                    if (pair >= 0) {
                        fetch(2 * pair, next);
                        if (2 * pair + 1 < CHUNKS) fetch(2 * pair + 1, next);
                    }
                    const int of_b = number_of(i, 2 * Part::ACROSS, Part::ACROSS);
                    if (of_b >= 0) columns.load(y[(step + 1) % 2], of_b, from + A::BYTES, following);
                    part.multiply(x, y[step % 2], i);
                    if (i % USED == USED - 1) {
#pragma unroll
                        for (int e = 0; e < Part::TOGETHER; e++) {
                            rows.load(x, i / USED * Part::TOGETHER + e, from, following);
                        }
                    }
                }
            }
            end();
            buffer = after(buffer);
            next = after(next);
        }
        if (ASYNC) await_copies<0>();
        __syncthreads();
    }

    // Groups of 8 columns of each warp, as many at a time as fit.
    Sum* const staged = reinterpret_cast<Sum*>(shared);
    Finish<Sum, ROWS, THREADS, Type::NARROW> finish(g, tile.x, tile.y);
#pragma unroll 1
    for (int first = 0; first < Part::GROUPS; first += AT_ONCE) {
        if (first) __syncthreads();
#pragma unroll
        for (int group = 0; group < Part::GROUPS; group++) {
            if (group / AT_ONCE * AT_ONCE != first) continue;
            part.template stage<PITCH>(staged + (warp / DOWN * AT_ONCE + group % AT_ONCE) * 8 * PITCH + my_row, group);
        }
        __syncthreads();
        finish.template store<STAGED, PITCH>(staged, [=](int i) {
            return i / (8 * AT_ONCE) * 8 * C + Part::column(first + i / 8 % AT_ONCE, i % 8);
        });
    }
}
