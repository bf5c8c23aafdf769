// Matrix product C (m x n) = A (m x k) * B (k x n), all by columns, as a BLAS library of the years of Volta
// computes it: a CTA computes a tile of C, of which each thread holds an 8 x 8 part in registers. Slices of A and
// B pass through two buffers in shared memory: the next slice is loaded from global memory while one is multiplied.
// Sizes are any: the rim is filled with zeros.

#include <cuda_fp16.h>
#include <mma.h>

#define ROWS 128
#define COLS 64
#define DEPTH 8
#define THREADS 128
#define PART 8  // rows and columns of a thread
#define ROW_THREADS (ROWS / PART)
#define PAD 4   // B is loaded by columns and stored by rows: without it all lanes would store to few banks

// Numbers that one instruction multiplies and adds: one, or a pair of halves.
template <typename T> struct Lanes;

template <> struct Lanes<float> {
    typedef float Vector;
    static __device__ float broadcast(float x) { return x; }
    static __device__ float fma(float x, float y, float z) { return fmaf(x, y, z); }
    static __device__ float zero() { return 0.0f; }
};

template <> struct Lanes<half> {
    typedef half2 Vector;
    static __device__ half2 broadcast(half x) { return __half2half2(x); }
    static __device__ half2 fma(half2 x, half2 y, half2 z) { return __hfma2(x, y, z); }
    static __device__ half zero() { return __ushort_as_half(0); }
};

// Four neighbours, which are loaded at once.
template <typename T> struct alignas(4 * sizeof(T)) Four {
    T at[4];
};

template <typename T>
__device__ __forceinline__ void product(const T *a, const T *b, T *c, int m, int n, int k)
{
    typedef typename Lanes<T>::Vector Vector;
    const int lanes = sizeof(Vector) / sizeof(T);
    __shared__ alignas(16) T a_slice[2][DEPTH][ROWS];
    __shared__ alignas(16) T b_slice[2][DEPTH][COLS + PAD];

    int thread = threadIdx.x;
    int row = blockIdx.x * ROWS + thread;
    int b_depth = thread % DEPTH;
    int col = blockIdx.y * COLS + thread / DEPTH;
    T a_next[DEPTH], b_next[COLS * DEPTH / THREADS];

    auto load = [&](int base) {
#pragma unroll
        for (int i = 0; i < DEPTH; i++) {
            a_next[i] = row < m && base + i < k ? a[row + (size_t)(base + i) * m] : Lanes<T>::zero();
        }
#pragma unroll
        for (int i = 0; i < COLS * DEPTH / THREADS; i++) {
            int at = col + i * (THREADS / DEPTH);
            b_next[i] = at < n && base + b_depth < k ? b[base + b_depth + (size_t)at * k] : Lanes<T>::zero();
        }
    };
    auto store = [&](int buffer) {
#pragma unroll
        for (int i = 0; i < DEPTH; i++) {
            a_slice[buffer][i][thread] = a_next[i];
        }
#pragma unroll
        for (int i = 0; i < COLS * DEPTH / THREADS; i++) {
            b_slice[buffer][b_depth][thread / DEPTH + i * (THREADS / DEPTH)] = b_next[i];
        }
    };

    // A thread's rows and columns are two runs of four each, half a tile apart.
    int my_row = thread % ROW_THREADS * 4;
    int my_col = thread / ROW_THREADS * 4;
    Vector sums[PART][PART / lanes];
#pragma unroll
    for (int i = 0; i < PART; i++) {
#pragma unroll
        for (int j = 0; j < PART / lanes; j++) {
            sums[i][j] = Lanes<T>::broadcast(Lanes<T>::zero());
        }
    }

    load(0);
    store(0);
    __syncthreads();
    for (int base = 0, buffer = 0; base < k; base += DEPTH, buffer ^= 1) {
        bool more = base + DEPTH < k;
        if (more) {
            load(base + DEPTH);
        }
#pragma unroll
        for (int i = 0; i < DEPTH; i++) {
            T x[PART];
            Vector y[PART / lanes];
            const T *from = a_slice[buffer][i];
            *(Four<T> *)&x[0] = *(const Four<T> *)&from[my_row];
            *(Four<T> *)&x[4] = *(const Four<T> *)&from[ROWS / 2 + my_row];
            from = b_slice[buffer][i];
            *(Four<T> *)&y[0] = *(const Four<T> *)&from[my_col];
            *(Four<T> *)&y[4 / lanes] = *(const Four<T> *)&from[COLS / 2 + my_col];
#pragma unroll
            for (int p = 0; p < PART; p++) {
#pragma unroll
                for (int q = 0; q < PART / lanes; q++) {
                    sums[p][q] = Lanes<T>::fma(Lanes<T>::broadcast(x[p]), y[q], sums[p][q]);
                }
            }
        }
        if (more) {
            store(buffer ^ 1);
        }
        __syncthreads();
    }

#pragma unroll
    for (int q = 0; q < PART; q++) {
        int to_col = blockIdx.y * COLS + q / 4 * (COLS / 2) + my_col + q % 4;
#pragma unroll
        for (int p = 0; p < PART; p++) {
            int to_row = blockIdx.x * ROWS + p / 4 * (ROWS / 2) + my_row + p % 4;
            if (to_row < m && to_col < n) {
                c[to_row + (size_t)to_col * m] = ((const T *)&sums[p][q / lanes])[q % lanes];
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
sgemm(const float *a, const float *b, float *c, int m, int n, int k)
{
    product(a, b, c, m, n, k);
}

// Sums are halves, too.
extern "C" __global__ void __launch_bounds__(THREADS)
hgemm(const half *a, const half *b, half *c, int m, int n, int k)
{
    product(a, b, c, m, n, k);
}

// Halves on tensor cores: four warps, each of which holds a quarter of a tile of 64 x 64.

using namespace nvcuda;

#define SIDE 64
#define STEP 16
#define WARP_SIDE (SIDE / 2)
#define HALVES_PAD 8

extern "C" __global__ void __launch_bounds__(THREADS)
wgemm(const half *a, const half *b, float *c, int m, int n, int k)
{
    __shared__ alignas(32) half a_slice[2][STEP][SIDE + HALVES_PAD];
    __shared__ alignas(32) half b_slice[2][SIDE][STEP + HALVES_PAD];
    __shared__ alignas(32) float c_tile[SIDE][SIDE + PAD];

    int thread = threadIdx.x;
    int row = blockIdx.x * SIDE;
    int col = blockIdx.y * SIDE;
    half a_next[SIDE * STEP / THREADS], b_next[SIDE * STEP / THREADS];

    auto load = [&](int base) {
#pragma unroll
        for (int i = 0; i < SIDE * STEP / THREADS; i++) {
            int r = row + thread % SIDE, d = base + thread / SIDE + i * (THREADS / SIDE);
            a_next[i] = r < m && d < k ? a[r + (size_t)d * m] : __ushort_as_half(0);
            d = base + thread % STEP;
            int s = col + thread / STEP + i * (THREADS / STEP);
            b_next[i] = s < n && d < k ? b[d + (size_t)s * k] : __ushort_as_half(0);
        }
    };
    auto store = [&](int buffer) {
#pragma unroll
        for (int i = 0; i < SIDE * STEP / THREADS; i++) {
            a_slice[buffer][thread / SIDE + i * (THREADS / SIDE)][thread % SIDE] = a_next[i];
            b_slice[buffer][thread / STEP + i * (THREADS / STEP)][thread % STEP] = b_next[i];
        }
    };

    int my_row = thread / warpSize % 2 * WARP_SIDE;
    int my_col = thread / warpSize / 2 * WARP_SIDE;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[2][2];
    for (int p = 0; p < 2; p++) {
        for (int q = 0; q < 2; q++) {
            wmma::fill_fragment(sums[p][q], 0.0f);
        }
    }

    load(0);
    store(0);
    __syncthreads();
    for (int base = 0, buffer = 0; base < k; base += STEP, buffer ^= 1) {
        bool more = base + STEP < k;
        if (more) {
            load(base + STEP);
        }
        wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::col_major> x[2];
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> y[2];
        for (int p = 0; p < 2; p++) {
            wmma::load_matrix_sync(x[p], &a_slice[buffer][0][my_row + 16 * p], SIDE + HALVES_PAD);
            wmma::load_matrix_sync(y[p], &b_slice[buffer][my_col + 16 * p][0], STEP + HALVES_PAD);
        }
        for (int p = 0; p < 2; p++) {
            for (int q = 0; q < 2; q++) {
                wmma::mma_sync(sums[p][q], x[p], y[q], sums[p][q]);
            }
        }
        if (more) {
            store(buffer ^ 1);
        }
        __syncthreads();
    }

    for (int p = 0; p < 2; p++) {
        for (int q = 0; q < 2; q++) {
            wmma::store_matrix_sync(&c_tile[my_col + 16 * q][my_row + 16 * p], sums[p][q], SIDE + PAD,
                                    wmma::mem_col_major);
        }
    }
    __syncthreads();
    for (int i = thread; i < SIDE * SIDE; i += THREADS) {
        int r = row + i % SIDE, s = col + i / SIDE;
        if (r < m && s < n) {
            c[r + (size_t)s * m] = c_tile[i / SIDE][i % SIDE];
        }
    }
}
