// Kernels in place of cuSPARSE's: products, triangular systems, conversions. compile: sm_70
//
// A sparse matrix has lines (rows of CSR, columns of CSC) with offsets, or a line's number for each entry (COO). A dense
// matrix has distances of rows and of columns, which say how it is stored and whether it is transposed. The y index of
// CTAs is of columns. Loops are not unrolled: the file has each kernel for four types and as many architectures.

#include <cstdint>

using u64 = unsigned long long;
using i64 = long long;

template <class R> struct Complex {
    R re, im;
};
using C = Complex<float>;
using Z = Complex<double>;

template <class R> __device__ Complex<R> operator+(Complex<R> x, Complex<R> y) { return {x.re + y.re, x.im + y.im}; }
template <class R> __device__ Complex<R> operator*(Complex<R> x, Complex<R> y) {
    return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}
template <class R> __device__ Complex<R> operator-(Complex<R> x, Complex<R> y) { return {x.re - y.re, x.im - y.im}; }
template <class R> __device__ Complex<R> operator/(Complex<R> x, Complex<R> y) {
    R size = y.re * y.re + y.im * y.im;
    return {(x.re * y.re + x.im * y.im) / size, (x.im * y.re - x.re * y.im) / size};
}
__device__ float conjugate(float x) { return x; }
__device__ double conjugate(double x) { return x; }
template <class R> __device__ Complex<R> conjugate(Complex<R> x) { return {x.re, -x.im}; }
__device__ bool is_zero(float x) { return x == 0; }
__device__ bool is_zero(double x) { return x == 0; }
template <class R> __device__ bool is_zero(Complex<R> x) { return x.re == 0 && x.im == 0; }
__device__ void add(float* to, float x) { atomicAdd(to, x); }
__device__ void add(double* to, double x) { atomicAdd(to, x); }
template <class R> __device__ void add(Complex<R>* to, Complex<R> x) {
    atomicAdd(&to->re, x.re);
    atomicAdd(&to->im, x.im);
}
template <class R> __device__ R shuffled(R x, int by) { return __shfl_down_sync(~0u, x, by); }
template <class R> __device__ Complex<R> shuffled(Complex<R> x, int by) {
    return {__shfl_down_sync(~0u, x.re, by), __shfl_down_sync(~0u, x.im, by)};
}

// A number of the program's: on the device, or a value.
struct Scalar {
    const void* pointer;
    double re, im;
};

template <class T> struct Make {
    static __device__ T of(double re, double) { return (T)re; }
};
template <class R> struct Make<Complex<R>> {
    static __device__ Complex<R> of(double re, double im) { return {(R)re, (R)im}; }
};
template <class T> __device__ T value(const Scalar& x) {
    return x.pointer ? *static_cast<const T*>(x.pointer) : Make<T>::of(x.re, x.im);
}

struct Sparse {
    const void* offsets;  // of lines; of COO: the line of each entry
    const void* indices;  // within the line
    const void* values;
    i64 lines, entries;
    int wide_offsets, wide_indices;
    int base;  // of all numbers
    int coordinates;
};

struct Dense {
    void* values;
    i64 by_row, by_column;
};

// C = alpha op(A) op(B) + beta C; C is m x n.
struct Product {
    Sparse a;
    Dense b, c;
    Scalar alpha, beta;
    i64 m, n;
    int conjugate_a, conjugate_b;
};

__device__ i64 number(const void* from, int wide, i64 at) {
    return wide ? static_cast<const i64*>(from)[at] : static_cast<const int*>(from)[at];
}
__device__ void put(void* to, int wide, i64 at, i64 x) {
    if (wide) {
        static_cast<i64*>(to)[at] = x;
    } else {
        static_cast<int*>(to)[at] = (int)x;
    }
}
__device__ i64 offset(const Sparse& a, i64 line) { return number(a.offsets, a.wide_offsets, line) - a.base; }
__device__ i64 index(const Sparse& a, i64 entry) { return number(a.indices, a.wide_indices, entry) - a.base; }
template <class T> __device__ T& at(const Dense& x, i64 row, i64 column) {
    return static_cast<T*>(x.values)[row * x.by_row + column * x.by_column];
}
template <class T> __device__ T entry(const Product& p, i64 at) {
    T x = static_cast<const T*>(p.a.values)[at];
    return p.conjugate_a ? conjugate(x) : x;
}
template <class T> __device__ T of_b(const Product& p, i64 row, i64 column) {
    T x = at<T>(p.b, row, column);
    return p.conjugate_b ? conjugate(x) : x;
}
__device__ i64 thread() { return (i64)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ i64 threads() { return (i64)gridDim.x * blockDim.x; }

template <class T> __device__ void finish(const Product& p, i64 row, i64 column, T sum) {
    T beta = value<T>(p.beta), &c = at<T>(p.c, row, column);
    sum = value<T>(p.alpha) * sum;
    c = is_zero(beta) ? sum : sum + beta * c;
}

// ------------------------------------------------------------------------------------------------ products

// Lines are rows of C, which has one column: a warp has a row.
template <class T> __device__ void warp_of_row(const Product& p) {
    int lane = threadIdx.x % 32;
    #pragma unroll 1
    for (i64 row = thread() / 32; row < p.m; row += threads() / 32) {
        T sum = Make<T>::of(0, 0);
        i64 end = offset(p.a, row + 1);
        #pragma unroll 1
        for (i64 i = offset(p.a, row) + lane; i < end; i += 32) sum = sum + entry<T>(p, i) * of_b<T>(p, index(p.a, i), 0);
        #pragma unroll 1
        for (int by = 16; by > 0; by /= 2) sum = sum + shuffled(sum, by);
        if (lane == 0) finish(p, row, 0, sum);
    }
}

// The same with several columns: a thread has an element of C.
template <class T> __device__ void thread_of_element(const Product& p) {
    #pragma unroll 1
    for (i64 row = thread(); row < p.m; row += threads())
    #pragma unroll 1
    for (i64 column = blockIdx.y; column < p.n; column += gridDim.y) {
        T sum = Make<T>::of(0, 0);
        i64 end = offset(p.a, row + 1);
        #pragma unroll 1
        for (i64 i = offset(p.a, row); i < end; i++) sum = sum + entry<T>(p, i) * of_b<T>(p, index(p.a, i), column);
        finish(p, row, column, sum);
    }
}

// C is scaled; then each entry adds its product.
template <class T> __device__ void scale(const Product& p) {
    T beta = value<T>(p.beta);
    #pragma unroll 1
    for (i64 row = thread(); row < p.m; row += threads())
    #pragma unroll 1
    for (i64 column = blockIdx.y; column < p.n; column += gridDim.y) {
        T& c = at<T>(p.c, row, column);
        c = is_zero(beta) ? Make<T>::of(0, 0) : beta * c;
    }
}

// Lines are columns of op(A), or entries have coordinates: row `offsets`, column `indices`.
template <class T> __device__ void add_products(const Product& p) {
    T alpha = value<T>(p.alpha);
    i64 items = p.a.coordinates ? p.a.entries : p.a.lines;
    #pragma unroll 1
    for (i64 line = thread(); line < items; line += threads())
    #pragma unroll 1
    for (i64 column = blockIdx.y; column < p.n; column += gridDim.y) {
        if (p.a.coordinates) {
            T x = alpha * entry<T>(p, line) * of_b<T>(p, index(p.a, line), column);
            add(&at<T>(p.c, offset(p.a, line), column), x);
        } else {
            T b = alpha * of_b<T>(p, line, column);
            i64 end = offset(p.a, line + 1);
            #pragma unroll 1
            for (i64 i = offset(p.a, line); i < end; i++) add(&at<T>(p.c, index(p.a, i), column), entry<T>(p, i) * b);
        }
    }
}

// ------------------------------------------------------------------------------------------------ conversions

// Entries to their places in C, where rows are lines.
template <class T> __device__ void to_dense(const Product& p) {
    i64 items = p.a.coordinates ? p.a.entries : p.a.lines;
    #pragma unroll 1
    for (i64 item = thread(); item < items; item += threads()) {
        if (p.a.coordinates) {
            at<T>(p.c, offset(p.a, item), index(p.a, item)) = entry<T>(p, item);
        } else {
            i64 end = offset(p.a, item + 1);
            #pragma unroll 1
            for (i64 i = offset(p.a, item); i < end; i++) at<T>(p.c, item, index(p.a, i)) = entry<T>(p, i);
        }
    }
}

// Numbers other than zero of each line of C.
template <class T> __device__ void count(const Product& p, i64* counts) {
    #pragma unroll 1
    for (i64 line = thread(); line < p.m; line += threads()) {
        i64 found = 0;
        #pragma unroll 1
        for (i64 i = 0; i < p.n; i++) found += !is_zero(at<T>(p.c, line, i));
        counts[line] = found;
    }
}

// Entries of C's numbers, from the places in `first` on.
template <class T> __device__ void to_sparse(const Product& p, const i64* first) {
    void* offsets = const_cast<void*>(p.a.offsets);
    #pragma unroll 1
    for (i64 line = thread(); line < p.m; line += threads()) {
        i64 to = first[line];
        if (!p.a.coordinates) put(offsets, p.a.wide_offsets, line, to + p.a.base);
        #pragma unroll 1
        for (i64 i = 0; i < p.n; i++) {
            T x = at<T>(p.c, line, i);
            if (is_zero(x)) continue;
            if (p.a.coordinates) put(offsets, p.a.wide_offsets, to, line + p.a.base);
            put(const_cast<void*>(p.a.indices), p.a.wide_indices, to, i + p.a.base);
            static_cast<T*>(const_cast<void*>(p.a.values))[to] = x;
            to++;
        }
        if (!p.a.coordinates && line == p.m - 1) put(offsets, p.a.wide_offsets, p.m, to + p.a.base);
    }
}

// Entries of `a` by their index within lines: `next` has the place of the next one of each index.
template <class T> __device__ void place(const Product& p, i64* next, int* lines, T* values) {
    #pragma unroll 1
    for (i64 line = thread(); line < p.a.lines; line += threads()) {
        i64 end = offset(p.a, line + 1);
        #pragma unroll 1
        for (i64 i = offset(p.a, line); i < end; i++) {
            i64 to = (i64)atomicAdd(reinterpret_cast<u64*>(&next[index(p.a, i)]), 1ull);
            lines[to] = (int)line + p.a.base;
            if (values) values[to] = entry<T>(p, i);
        }
    }
}

// Brings the entries of each of `p.m` new lines into order; `next` has their ends.
template <class T> __device__ void sort(const Product& p, const i64* next, int* lines, T* values) {
    #pragma unroll 1
    for (i64 line = thread(); line < p.m; line += threads()) {
        i64 begin = line ? next[line - 1] : 0, end = next[line];
        #pragma unroll 1
        for (i64 i = begin + 1; i < end; i++) {
            int key = lines[i];
            T x = values ? values[i] : Make<T>::of(0, 0);
            i64 to = i;
            #pragma unroll 1
            for (; to > begin && lines[to - 1] > key; to--) {
                lines[to] = lines[to - 1];
                if (values) values[to] = values[to - 1];
            }
            lines[to] = key;
            if (values) values[to] = x;
        }
    }
}

#define KERNEL(name, letter, T) \
    extern "C" __global__ void standin_cusparse_##name##_##letter(Product p) { name<T>(p); }
#define KERNELS(letter, T)                                                                                  \
    KERNEL(warp_of_row, letter, T)                                                                          \
    KERNEL(thread_of_element, letter, T)                                                                    \
    KERNEL(scale, letter, T)                                                                                \
    KERNEL(add_products, letter, T)                                                                         \
    KERNEL(to_dense, letter, T)                                                                             \
    extern "C" __global__ void standin_cusparse_count_##letter(Product p, i64* counts) { count<T>(p, counts); } \
    extern "C" __global__ void standin_cusparse_to_sparse_##letter(Product p, const i64* first) {           \
        to_sparse<T>(p, first);                                                                             \
    }                                                                                                       \
    extern "C" __global__ void standin_cusparse_place_##letter(Product p, i64* next, int* lines, T* values) { \
        place(p, next, lines, values);                                                                      \
    }                                                                                                       \
    extern "C" __global__ void standin_cusparse_sort_##letter(Product p, const i64* next, int* lines, T* values) { \
        sort(p, next, lines, values);                                                                       \
    }
KERNELS(s, float)
KERNELS(d, double)
KERNELS(c, C)
KERNELS(z, Z)

// Replaces `n` numbers by the sums of those before each; the sum of all follows them. One CTA.
extern "C" __global__ void standin_cusparse_sums(i64* x, i64 n) {
    __shared__ i64 part[256];
    i64 before = 0;
    #pragma unroll 1
    for (i64 from = 0; from < n; from += blockDim.x) {
        i64 i = from + threadIdx.x, own = i < n ? x[i] : 0;
        part[threadIdx.x] = own;
        __syncthreads();
        #pragma unroll 1
        for (int by = 1; by < blockDim.x; by *= 2) {
            i64 other = threadIdx.x >= by ? part[threadIdx.x - by] : 0;
            __syncthreads();
            part[threadIdx.x] += other;
            __syncthreads();
        }
        if (i < n) x[i] = before + part[threadIdx.x] - own;
        before += part[blockDim.x - 1];
        __syncthreads();
    }
    if (threadIdx.x == 0) x[n] = before;
}

// How many of `n` numbers are each index.
extern "C" __global__ void standin_cusparse_histogram(const int* indices, i64 n, int base, i64* counts) {
    #pragma unroll 1
    for (i64 i = thread(); i < n; i += threads())
        atomicAdd(reinterpret_cast<u64*>(&counts[indices[i] - base]), 1ull);
}

// Sums as numbers of 32 bits.
extern "C" __global__ void standin_cusparse_narrow(const i64* x, i64 n, int base, int* to) {
    #pragma unroll 1
    for (i64 i = thread(); i < n; i += threads()) to[i] = (int)x[i] + base;
}

// Offsets of `m` rows from the sorted rows of `n` entries, and back.
extern "C" __global__ void standin_cusparse_to_offsets(const int* rows, i64 n, i64 m, int base, int* offsets) {
    #pragma unroll 1
    for (i64 row = thread(); row <= m; row += threads()) {
        i64 low = 0, high = n;
        while (low < high) {
            i64 middle = (low + high) / 2;
            if (rows[middle] - base < row) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        offsets[row] = (int)low + base;
    }
}

extern "C" __global__ void standin_cusparse_to_rows(const int* offsets, i64 m, int base, int* rows) {
    #pragma unroll 1
    for (i64 row = thread(); row < m; row += threads())
        #pragma unroll 1
        for (int i = offsets[row] - base; i < offsets[row + 1] - base; i++) rows[i] = (int)row + base;
}

// ------------------------------------------------------------------------------------------------ sums

// Calls `each` for the indices of a line of two sorted matrices, with the entry of each or -1.
template <class F> __device__ void merge(const Sparse& a, const Sparse& b, i64 line, F each) {
    i64 i = offset(a, line), j = offset(b, line), end_i = offset(a, line + 1), end_j = offset(b, line + 1);
    #pragma unroll 1
    while (i < end_i || j < end_j) {
        i64 x = i < end_i ? index(a, i) : INT64_MAX, y = j < end_j ? index(b, j) : INT64_MAX;
        each(min(x, y), x <= y ? i : -1, y <= x ? j : -1);
        i += x <= y, j += y <= x;
    }
}

extern "C" __global__ void standin_cusparse_merge_count(Sparse a, Sparse b, i64* counts) {
    #pragma unroll 1
    for (i64 line = thread(); line < a.lines; line += threads()) {
        i64 count = 0;
        merge(a, b, line, [&](i64, i64, i64) { count++; });
        counts[line] = count;
    }
}

// Entries of alpha A + beta B from the places in `offsets` on.
template <class T>
__device__ void merge_values(const Product& p, const Sparse& b, const int* offsets, int base, int* indices, T* values) {
    T alpha = value<T>(p.alpha), beta = value<T>(p.beta);
    #pragma unroll 1
    for (i64 line = thread(); line < p.a.lines; line += threads()) {
        i64 to = offsets[line] - base;
        merge(p.a, b, line, [&](i64 index, i64 i, i64 j) {
            T sum = Make<T>::of(0, 0);
            if (i >= 0) sum = alpha * static_cast<const T*>(p.a.values)[i];
            if (j >= 0) sum = sum + beta * static_cast<const T*>(b.values)[j];
            indices[to] = (int)index + base;
            values[to++] = sum;
        });
    }
}
#define MERGE(letter, T)                                                                                          \
    extern "C" __global__ void standin_cusparse_merge_##letter(Product p, Sparse b, const int* offsets, int base, \
                                                               int* indices, T* values) {                         \
        merge_values(p, b, offsets, base, indices, values);                                                       \
    }
MERGE(s, float)
MERGE(d, double)
MERGE(c, C)
MERGE(z, Z)

// ------------------------------------------------------------------------------------------------ sparse vectors

// x[i] = y[index i], and back: values of the size of T.
template <class T> __device__ void take(const Sparse& x, T* y, bool back) {
    #pragma unroll 1
    for (i64 i = thread(); i < x.entries; i += threads()) {
        T& value = static_cast<T*>(const_cast<void*>(x.values))[i];
        T& other = y[index(x, i)];
        if (back) {
            other = value;
        } else {
            value = other;
        }
    }
}
extern "C" __global__ void standin_cusparse_take_4(Sparse x, float* y, int back) { take(x, y, back); }
extern "C" __global__ void standin_cusparse_take_8(Sparse x, double* y, int back) { take(x, y, back); }
extern "C" __global__ void standin_cusparse_take_16(Sparse x, double2* y, int back) { take(x, y, back); }

// y = y + alpha x. Indices of x are distinct; y is C.
template <class T> __device__ void add_entries(const Product& p) {
    T alpha = value<T>(p.alpha);
    #pragma unroll 1
    for (i64 i = thread(); i < p.a.entries; i += threads()) {
        T& y = at<T>(p.c, index(p.a, i), 0);
        y = y + alpha * entry<T>(p, i);
    }
}

// x and y are rotated: alpha is the cosine, beta the sine.
template <class T> __device__ void rotate(const Product& p) {
    T c = value<T>(p.alpha), s = value<T>(p.beta);
    #pragma unroll 1
    for (i64 i = thread(); i < p.a.entries; i += threads()) {
        T& x = static_cast<T*>(const_cast<void*>(p.a.values))[i];
        T& y = at<T>(p.c, index(p.a, i), 0);
        T old = x;
        x = c * old + s * y;
        y = c * y - s * old;
    }
}

// The product of x and y. One CTA.
template <class T> __device__ void dot(const Product& p, T* result) {
    __shared__ char memory[256 * sizeof(T)];
    T* part = reinterpret_cast<T*>(memory);
    T sum = Make<T>::of(0, 0);
    #pragma unroll 1
    for (i64 i = threadIdx.x; i < p.a.entries; i += blockDim.x) sum = sum + entry<T>(p, i) * at<T>(p.c, index(p.a, i), 0);
    part[threadIdx.x] = sum;
    #pragma unroll 1
    for (int by = blockDim.x / 2; by > 0; by /= 2) {
        __syncthreads();
        if (threadIdx.x < by) part[threadIdx.x] = part[threadIdx.x] + part[threadIdx.x + by];
    }
    if (threadIdx.x == 0) *result = part[0];
}

// ------------------------------------------------------------------------------------------------ sampled products

// A = alpha B C + beta A where A has entries. B and C have `n` terms; a warp has a row of A.
template <class T> __device__ void sampled(const Product& p) {
    T alpha = value<T>(p.alpha), beta = value<T>(p.beta);
    T* values = static_cast<T*>(const_cast<void*>(p.a.values));
    #pragma unroll 1
    for (i64 row = thread() / 32; row < p.a.lines; row += threads() / 32) {
        i64 end = offset(p.a, row + 1);
        #pragma unroll 1
        for (i64 i = offset(p.a, row) + threadIdx.x % 32; i < end; i += 32) {
            i64 column = index(p.a, i);
            T sum = Make<T>::of(0, 0);
            #pragma unroll 1
            for (i64 k = 0; k < p.n; k++) {
                T c = at<T>(p.c, k, column);
                sum = sum + of_b<T>(p, row, k) * (p.conjugate_a ? conjugate(c) : c);
            }
            sum = alpha * sum;
            values[i] = is_zero(beta) ? sum : sum + beta * values[i];
        }
    }
}

// ------------------------------------------------------------------------------------------------ triangular systems

__device__ float fresh(const float* x) { return *static_cast<const volatile float*>(x); }
__device__ double fresh(const double* x) { return *static_cast<const volatile double*>(x); }
template <class R> __device__ Complex<R> fresh(const Complex<R>* x) { return {fresh(&x->re), fresh(&x->im)}; }

// Solves A C = alpha B, where A is the triangle of `p.a` above or below its diagonal, which is 1 if `unit`. Warps take
// elements of C in an order in which each needs only earlier ones, and wait for those. `state`: the next element, then
// for each element whether it is there.
template <class T> __device__ void solve(const Product& p, int upper, int unit, u64* state) {
    const int lane = threadIdx.x % 32;
    int* ready = reinterpret_cast<int*>(state + 1);
    #pragma unroll 1
    for (;;) {
        u64 next = lane == 0 ? atomicAdd(state, 1ull) : 0;
        next = __shfl_sync(~0u, next, 0);
        if (next >= (u64)(p.m * p.n)) return;
        i64 step = (i64)next / p.n, column = (i64)next % p.n, row = upper ? p.m - 1 - step : step;
        T sum = Make<T>::of(0, 0), diagonal = sum;
        i64 end = offset(p.a, row + 1);
        #pragma unroll 1
        for (i64 i = offset(p.a, row) + lane; i < end; i += 32) {
            i64 k = index(p.a, i);
            if (k == row) {
                diagonal = entry<T>(p, i);
            } else if (upper ? k > row : k < row) {
                #pragma unroll 1
                while (*static_cast<volatile int*>(&ready[k * p.n + column]) == 0) {}
                __threadfence();
                sum = sum + entry<T>(p, i) * fresh(&at<T>(p.c, k, column));
            }
        }
        #pragma unroll 1
        for (int by = 16; by > 0; by /= 2) {
            sum = sum + shuffled(sum, by);
            diagonal = diagonal + shuffled(diagonal, by);
        }
        if (lane == 0) {
            T x = value<T>(p.alpha) * of_b<T>(p, row, column) - sum;
            at<T>(p.c, row, column) = unit ? x : x / diagonal;
            __threadfence();
            *static_cast<volatile int*>(&ready[row * p.n + column]) = 1;
        }
    }
}

// ------------------------------------------------------------------------------------------------ sparse by sparse

// How many terms each row of A B has.
extern "C" __global__ void standin_cusparse_terms(Sparse a, Sparse b, i64* counts) {
    #pragma unroll 1
    for (i64 row = thread(); row < a.lines; row += threads()) {
        i64 count = 0, end = offset(a, row + 1);
        #pragma unroll 1
        for (i64 i = offset(a, row); i < end; i++) count += offset(b, index(a, i) + 1) - offset(b, index(a, i));
        counts[row] = count;
    }
}

// Terms of each row, from the place in `first` on: columns and, if there are `values`, these. A warp has a row, and
// leaves the end of its terms in `first`.
template <class T>
__device__ void expand(const Product& p, const Sparse& b, i64* first, int* columns, int* numbers, T* values) {
    const int lane = threadIdx.x % 32;
    #pragma unroll 1
    for (i64 row = thread() / 32; row < p.a.lines; row += threads() / 32) {
        i64 to = first[row], end = offset(p.a, row + 1);
        #pragma unroll 1
        for (i64 i = offset(p.a, row); i < end; i++) {
            i64 line = index(p.a, i), begin = offset(b, line), count = offset(b, line + 1) - begin;
            #pragma unroll 1
            for (i64 j = lane; j < count; j += 32) {
                columns[to + j] = (int)index(b, begin + j);
                numbers[to + j] = (int)(to + j);
                if (values) values[to + j] = entry<T>(p, i) * static_cast<const T*>(b.values)[begin + j];
            }
            to += count;
        }
        __syncwarp();
        if (lane == 0) first[row] = to;
    }
}

// How many columns each of `m` rows has, whose sorted terms end at `ends`.
extern "C" __global__ void standin_cusparse_distinct(i64 m, const i64* ends, const int* columns, i64* counts) {
    #pragma unroll 1
    for (i64 row = thread(); row < m; row += threads()) {
        i64 begin = row ? ends[row - 1] : 0, count = 0;
        #pragma unroll 1
        for (i64 i = begin; i < ends[row]; i++) count += i == begin || columns[i] != columns[i - 1];
        counts[row] = count;
    }
}

// Sums the terms of each column in the order of A's entries. `p.a` is the result, whose rows begin at `first`. Without
// `values` offsets and indices are written, with them the result's values.
template <class T>
__device__ void collect(const Product& p, const i64* first, const i64* ends, const int* columns, const int* numbers,
                        const T* values) {
    T alpha = value<T>(p.alpha), beta = value<T>(p.beta);
    T* results = static_cast<T*>(const_cast<void*>(p.a.values));
    void* offsets = const_cast<void*>(p.a.offsets);
    #pragma unroll 1
    for (i64 row = thread(); row < p.a.lines; row += threads()) {
        i64 to = first[row], i = row ? ends[row - 1] : 0;
        if (!values) {
            put(offsets, p.a.wide_offsets, row, to + p.a.base);
            if (row == p.a.lines - 1) put(offsets, p.a.wide_offsets, row + 1, first[row + 1] + p.a.base);
        }
        #pragma unroll 1
        for (; i < ends[row]; to++) {
            int column = columns[i];
            T sum = Make<T>::of(0, 0);
            #pragma unroll 1
            for (; i < ends[row] && columns[i] == column; i++) {
                if (values) sum = sum + values[numbers[i]];
            }
            if (values) {
                sum = alpha * sum;
                results[to] = is_zero(beta) ? sum : sum + beta * results[to];
            } else {
                put(const_cast<void*>(p.a.indices), p.a.wide_indices, to, column + p.a.base);
            }
        }
    }
}

#define SPARSE(letter, T)                                                                                         \
    KERNEL(add_entries, letter, T)                                                                                \
    KERNEL(rotate, letter, T)                                                                                     \
    KERNEL(sampled, letter, T)                                                                                    \
    extern "C" __global__ void standin_cusparse_dot_##letter(Product p, T* result) { dot(p, result); }            \
    extern "C" __global__ void standin_cusparse_solve_##letter(Product p, int upper, int unit, u64* state) {      \
        solve<T>(p, upper, unit, state);                                                                          \
    }                                                                                                             \
    extern "C" __global__ void standin_cusparse_expand_##letter(Product p, Sparse b, i64* first, int* columns,    \
                                                                int* numbers, T* values) {                        \
        expand(p, b, first, columns, numbers, values);                                                            \
    }                                                                                                             \
    extern "C" __global__ void standin_cusparse_collect_##letter(Product p, const i64* first, const i64* ends,    \
                                                                 const int* columns, const int* numbers,          \
                                                                 const T* values) {                               \
        collect(p, first, ends, columns, numbers, values);                                                        \
    }
SPARSE(s, float)
SPARSE(d, double)
SPARSE(c, C)
SPARSE(z, Z)

// ------------------------------------------------------------------------------------------------ sorting

// Entries to the places of their lines, of which `next` has the next one: the index within the line, and the number of
// the entry.
extern "C" __global__ void standin_cusparse_scatter(const int* lines, const int* indices, i64 n, i64* next, int* keys,
                                                    int* numbers) {
    #pragma unroll 1
    for (i64 i = thread(); i < n; i += threads()) {
        i64 to = (i64)atomicAdd(reinterpret_cast<u64*>(&next[lines[i]]), 1ull);
        keys[to] = indices[i];
        numbers[to] = (int)i;
    }
}

// Ends of `m` lines.
extern "C" __global__ void standin_cusparse_ends(const int* offsets, i64 m, int base, i64* ends) {
    #pragma unroll 1
    for (i64 line = thread(); line < m; line += threads()) ends[line] = offsets[line + 1] - base;
}

// Sorts each of `m` lines by index, then by number.
extern "C" __global__ void standin_cusparse_sort_pairs(i64 m, const i64* ends, int* keys, int* numbers) {
    #pragma unroll 1
    for (i64 line = thread(); line < m; line += threads()) {
        i64 begin = line ? ends[line - 1] : 0, end = ends[line];
        #pragma unroll 1
        for (i64 i = begin + 1; i < end; i++) {
            int key = keys[i], number = numbers[i];
            i64 to = i;
            #pragma unroll 1
            for (; to > begin && (keys[to - 1] > key || keys[to - 1] == key && numbers[to - 1] > number); to--) {
                keys[to] = keys[to - 1];
                numbers[to] = numbers[to - 1];
            }
            keys[to] = key;
            numbers[to] = number;
        }
    }
}

// Sorted entries back: `lines` if there are any, indices, and the numbers that `order` had at the entries' places.
extern "C" __global__ void standin_cusparse_gather(i64 m, const i64* ends, const int* keys, const int* numbers,
                                                   const int* old_order, int* lines, int* indices, int* order) {
    #pragma unroll 1
    for (i64 line = thread(); line < m; line += threads()) {
        #pragma unroll 1
        for (i64 i = line ? ends[line - 1] : 0; i < ends[line]; i++) {
            if (lines) lines[i] = (int)line;
            indices[i] = keys[i];
            if (order) order[i] = old_order[numbers[i]];
        }
    }
}

extern "C" __global__ void standin_cusparse_identity(int n, int* to) {
    #pragma unroll 1
    for (i64 i = thread(); i < n; i += threads()) to[i] = (int)i;
}
