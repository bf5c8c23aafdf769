// Kernels of levels 1 and 2, and of level 3 for what the fast products (gemm.cu) leave: complex numbers, symmetric,
// Hermitian and triangular matrices, mixed types. compile: sm_70
//
// A vector's pointer is that of its first element, also where its increment is negative.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "gemm.h"

// ------------------------------------------------------------------------------------------------ numbers

template <class R> struct Complex {
    R re, im;
};

using C = Complex<float>;
using Z = Complex<double>;
using H = __half;
using B = __nv_bfloat16;

// Kinds of elements: what is stored, what is computed with, its real numbers.
template <class T> struct Kind {
    using Value = T;
    using Real = T;
};
template <> struct Kind<H> {
    using Value = float;
    using Real = float;
};
template <> struct Kind<B> {
    using Value = float;
    using Real = float;
};
template <class R> struct Kind<Complex<R>> {
    using Value = Complex<R>;
    using Real = R;
};
template <class T> using Value = typename Kind<T>::Value;
template <class T> using Real = typename Kind<T>::Real;

template <class T> __device__ Value<T> value(T x) { return x; }
template <> __device__ float value(H x) { return __half2float(x); }
template <> __device__ float value(B x) { return __bfloat162float(x); }

template <class T> __device__ T stored(Value<T> x) { return x; }
template <> __device__ H stored<H>(float x) { return __float2half_rn(x); }
template <> __device__ B stored<B>(float x) { return __float2bfloat16_rn(x); }

template <class V> struct Make {
    static __device__ V of(double re, double) { return V(re); }
};
template <class R> struct Make<Complex<R>> {
    static __device__ Complex<R> of(double re, double im) { return {R(re), R(im)}; }
};
template <class V> __device__ V make(double re, double im = 0) { return Make<V>::of(re, im); }

template <class R> __device__ Complex<R> operator+(Complex<R> x, Complex<R> y) { return {x.re + y.re, x.im + y.im}; }
template <class R> __device__ Complex<R> operator-(Complex<R> x, Complex<R> y) { return {x.re - y.re, x.im - y.im}; }
template <class R> __device__ Complex<R> operator*(Complex<R> x, Complex<R> y) {
    return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}
template <class R> __device__ Complex<R> operator/(Complex<R> x, Complex<R> y) {
    // By the larger part, so that squares neither overflow nor vanish.
    if (fabs(y.re) >= fabs(y.im)) {
        R ratio = y.im / y.re, by = y.re + y.im * ratio;
        return {(x.re + x.im * ratio) / by, (x.im - x.re * ratio) / by};
    }
    R ratio = y.re / y.im, by = y.re * ratio + y.im;
    return {(x.re * ratio + x.im) / by, (x.im * ratio - x.re) / by};
}

__device__ float conjugate(float x) { return x; }
__device__ double conjugate(double x) { return x; }
__device__ int conjugate(int x) { return x; }
template <class R> __device__ Complex<R> conjugate(Complex<R> x) { return {x.re, -x.im}; }
template <class V> __device__ V conjugate_if(bool is, V x) { return is ? conjugate(x) : x; }

__device__ float real_part(float x) { return x; }
__device__ double real_part(double x) { return x; }
template <class R> __device__ R real_part(Complex<R> x) { return x.re; }

__device__ float only_real(float x) { return x; }
__device__ double only_real(double x) { return x; }
__device__ int only_real(int x) { return x; }
template <class R> __device__ Complex<R> only_real(Complex<R> x) { return {x.re, 0}; }

// |re| + |im|, by which BLAS compares and adds.
__device__ float magnitude(float x) { return fabsf(x); }
__device__ double magnitude(double x) { return fabs(x); }
template <class R> __device__ R magnitude(Complex<R> x) { return fabs(x.re) + fabs(x.im); }

__device__ bool is_zero(float x) { return x == 0; }
__device__ bool is_zero(double x) { return x == 0; }
__device__ bool is_zero(int x) { return x == 0; }
template <class R> __device__ bool is_zero(Complex<R> x) { return x.re == 0 && x.im == 0; }

__device__ float fma_(float a, float b, float c) { return fmaf(a, b, c); }
__device__ double fma_(double a, double b, double c) { return fma(a, b, c); }
__device__ int fma_(int a, int b, int c) { return a * b + c; }
template <class R> __device__ Complex<R> fma_(Complex<R> a, Complex<R> b, Complex<R> c) {
    return {fma(-a.im, b.im, fma(a.re, b.re, c.re)), fma(a.im, b.re, fma(a.re, b.im, c.im))};
}

template <class V> __device__ V shuffled(V x, int by) { return __shfl_down_sync(~0u, x, by); }
template <class R> __device__ Complex<R> shuffled_(Complex<R> x, int by) {
    return {__shfl_down_sync(~0u, x.re, by), __shfl_down_sync(~0u, x.im, by)};
}
template <> __device__ C shuffled(C x, int by) { return shuffled_(x, by); }
template <> __device__ Z shuffled(Z x, int by) { return shuffled_(x, by); }

// A number of the program's: on the device, or a value.
struct Scalar {
    const void* pointer;
    double re, im;
    int type;  // where there is a pointer
};

template <class V> __device__ V loaded(const void* from, int type, long long index) {
    switch (type) {
        case F32: return make<V>(static_cast<const float*>(from)[index]);
        case F64: return make<V>(static_cast<const double*>(from)[index]);
        case F16: return make<V>(__half2float(static_cast<const H*>(from)[index]));
        case BF16: return make<V>(__bfloat162float(static_cast<const B*>(from)[index]));
        case I8: return make<V>(static_cast<const signed char*>(from)[index]);
        case U8: return make<V>(static_cast<const unsigned char*>(from)[index]);
        case I32: return make<V>(static_cast<const int*>(from)[index]);
        case E4M3: return make<V>(float(static_cast<const __nv_fp8_e4m3*>(from)[index]));
        case E5M2: return make<V>(float(static_cast<const __nv_fp8_e5m2*>(from)[index]));
        case C32: {
            C x = static_cast<const C*>(from)[index];
            return make<V>(x.re, x.im);
        }
        default: {
            Z x = static_cast<const Z*>(from)[index];
            return make<V>(x.re, x.im);
        }
    }
}

__device__ double imaginary(double) { return 0; }
__device__ double imaginary(C x) { return x.im; }
__device__ double imaginary(Z x) { return x.im; }
__device__ double real_of(double x) { return x; }
__device__ double real_of(C x) { return x.re; }
__device__ double real_of(Z x) { return x.re; }

template <class V> __device__ void put(void* to, int type, long long index, V x) {
    switch (type) {
        case F32: static_cast<float*>(to)[index] = float(real_of(x)); break;
        case F64: static_cast<double*>(to)[index] = real_of(x); break;
        case F16: static_cast<H*>(to)[index] = __float2half_rn(float(real_of(x))); break;
        case BF16: static_cast<B*>(to)[index] = __float2bfloat16_rn(float(real_of(x))); break;
        case I8: static_cast<signed char*>(to)[index] = max(-128, min(127, __double2int_rn(real_of(x)))); break;
        case I32: static_cast<int*>(to)[index] = int(real_of(x)); break;
        case E4M3: static_cast<__nv_fp8_e4m3*>(to)[index] = __nv_fp8_e4m3(float(real_of(x))); break;
        case E5M2: static_cast<__nv_fp8_e5m2*>(to)[index] = __nv_fp8_e5m2(float(real_of(x))); break;
        case C32: static_cast<C*>(to)[index] = {float(real_of(x)), float(imaginary(x))}; break;
        case C64: static_cast<Z*>(to)[index] = {real_of(x), imaginary(x)}; break;
    }
}

template <class V> __device__ V scalar(const Scalar& s) {
    return s.pointer ? loaded<V>(s.pointer, s.type, 0) : make<V>(s.re, s.im);
}

__device__ long long first() { return blockIdx.x * (long long)blockDim.x + threadIdx.x; }
__device__ long long step() { return gridDim.x * (long long)blockDim.x; }

// ------------------------------------------------------------------------------------------------ level 1

template <class T> __device__ void copy(long long n, const T* x, long long incx, T* y, long long incy) {
    for (long long i = first(); i < n; i += step()) y[i * incy] = x[i * incx];
}

template <class T> __device__ void swap(long long n, T* x, long long incx, T* y, long long incy) {
    for (long long i = first(); i < n; i += step()) {
        T kept = x[i * incx];
        x[i * incx] = y[i * incy];
        y[i * incy] = kept;
    }
}

template <class T> __device__ void scal(long long n, const Scalar& alpha, T* x, long long incx) {
    auto by = scalar<Value<T>>(alpha);
    for (long long i = first(); i < n; i += step()) x[i * incx] = stored<T>(by * value<T>(x[i * incx]));
}

template <class T>
__device__ void axpy(long long n, const Scalar& alpha, const T* x, long long incx, T* y, long long incy) {
    auto by = scalar<Value<T>>(alpha);
    if (is_zero(by)) return;
    for (long long i = first(); i < n; i += step()) {
        y[i * incy] = stored<T>(fma_(by, value<T>(x[i * incx]), value<T>(y[i * incy])));
    }
}

template <class T>
__device__ void rot(long long n, T* x, long long incx, T* y, long long incy, const Scalar& c, const Scalar& s) {
    auto cosine = make<T>(real_of(scalar<T>(c)));
    auto sine = scalar<T>(s);
#pragma unroll 1
    for (long long i = first(); i < n; i += step()) {
        T a = x[i * incx], b = y[i * incy];
        x[i * incx] = cosine * a + sine * b;
        y[i * incy] = cosine * b - conjugate(sine) * a;
    }
}

// `p`: flag, h11, h21, h12, h22, on the device if `pointer`.
template <class T> struct Modified {
    const T* pointer;
    T p[5];
};
template <class T>
__device__ void rotm(long long n, T* x, long long incx, T* y, long long incy, const Modified<T>& m) {
    const T* p = m.pointer ? m.pointer : m.p;
    T flag = p[0];
    if (flag == -2) return;
    T h11 = flag == 0 ? 1 : p[1], h21 = flag == 1 ? -1 : p[2], h12 = flag == 1 ? 1 : p[3], h22 = flag == 0 ? 1 : p[4];
#pragma unroll 1
    for (long long i = first(); i < n; i += step()) {
        T a = x[i * incx], b = y[i * incy];
        x[i * incx] = h11 * a + h12 * b;
        y[i * incy] = h21 * a + h22 * b;
    }
}

// What CTAs of a reduction share: a counter that is zero before and after, then a part for each CTA.
struct Parts {
    unsigned* ticket;
    void* parts;
    void* result;
    int type;  // of the result
};

// Whether this CTA is the last one: it sees the parts of all.
__device__ bool is_last(const Parts& parts) {
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        last = atomicAdd(parts.ticket, 1) == gridDim.x - 1;
        if (last) *parts.ticket = 0;
    }
    __syncthreads();
    __threadfence();
    return last;
}

// The sum over a CTA's threads, in the first one.
template <class V> __device__ V sum_of_cta(V x) {
    __shared__ V warps[32];
    for (int by = 16; by > 0; by /= 2) x = x + shuffled(x, by);
    __syncthreads();
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = x;
    __syncthreads();
    if (threadIdx.x < 32) {
        x = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : make<V>(0);
        for (int by = 16; by > 0; by /= 2) x = x + shuffled(x, by);
    }
    return x;
}

// Adds what the CTAs have, in their order, and lets `finish` store the sum.
template <class V, class F> __device__ void sum_of_grid(V x, const Parts& parts, F finish) {
    x = sum_of_cta(x);
    V* of = static_cast<V*>(parts.parts);
    if (threadIdx.x == 0) of[blockIdx.x] = x;
    if (!is_last(parts)) return;
    V sum = make<V>(0);
    for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x) sum = sum + of[i];
    sum = sum_of_cta(sum);
    if (threadIdx.x == 0) finish(sum);
}

template <class T>
__device__ void dot(long long n, const T* x, long long incx, const T* y, long long incy, int conj, const Parts& parts) {
    auto sum = make<Value<T>>(0);
    for (long long i = first(); i < n; i += step()) {
        sum = fma_(conjugate_if(conj, value<T>(x[i * incx])), value<T>(y[i * incy]), sum);
    }
    sum_of_grid(sum, parts, [&](Value<T> all) { put(parts.result, parts.type, 0, all); });
}

template <class T> __device__ void asum(long long n, const T* x, long long incx, const Parts& parts) {
    Real<T> sum = 0;
    for (long long i = first(); i < n; i += step()) sum += magnitude(value<T>(x[i * incx]));
    sum_of_grid(sum, parts, [&](Real<T> all) { put(parts.result, parts.type, 0, all); });
}

__device__ float square(float x) { return x * x; }
__device__ double square(double x) { return x * x; }
template <class R> __device__ R square(Complex<R> x) { return x.re * x.re + x.im * x.im; }
__device__ float largest_part(float x) { return fabsf(x); }
__device__ double largest_part(double x) { return fabs(x); }
template <class R> __device__ R largest_part(Complex<R> x) { return fmax(fabs(x.re), fabs(x.im)); }

// The root of the sum of squares. Where that sum leaves the range of numbers, the last CTA scales the elements by the
// largest one and adds again.
template <class T> __device__ void nrm2(long long n, const T* x, long long incx, const Parts& parts) {
    using R = Real<T>;
    R sum = 0;
#pragma unroll 1
    for (long long i = first(); i < n; i += step()) sum += square(value<T>(x[i * incx]));
    __shared__ R all, largest;
    if (threadIdx.x == 0) all = -1;
    sum_of_grid(sum, parts, [&](R total) { all = total; });
    __syncthreads();
    R tiny = sizeof(R) == 4 ? R(1e-30) : R(1e-290), huge = sizeof(R) == 4 ? R(3e38) : R(1e308);
    if (all < 0) return;
    if (all > tiny && all < huge) {
        if (threadIdx.x == 0) put(parts.result, parts.type, 0, R(sqrt(all)));
        return;
    }
    R most = 0;
    bool wrong = false;
#pragma unroll 1
    for (long long i = threadIdx.x; i < n; i += blockDim.x) {
        R part = largest_part(value<T>(x[i * incx]));
        wrong |= part != part;
        most = fmax(most, part);
    }
    wrong = __syncthreads_or(wrong);
#pragma unroll 1
    for (int by = 16; by > 0; by /= 2) most = fmax(most, __shfl_down_sync(~0u, most, by));
    __shared__ R warps[32];
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = most;
    __syncthreads();
    if (threadIdx.x == 0) {
#pragma unroll 1
        for (unsigned i = 1; i < blockDim.x / 32; ++i) most = fmax(most, warps[i]);
        largest = most;
    }
    __syncthreads();
    R scaled = 0;
    bool usable = largest > 0 && largest <= huge;
#pragma unroll 1
    for (long long i = threadIdx.x; usable && i < n; i += blockDim.x) {
        auto at = value<T>(x[i * incx]);
        R re = real_of(at) / largest, im = imaginary(at) / largest;
        scaled += re * re + im * im;
    }
    scaled = sum_of_cta(scaled);
    if (threadIdx.x == 0) {
        R result = wrong ? R(nan("")) : usable ? largest * R(sqrt(scaled)) : largest;
        put(parts.result, parts.type, 0, result);
    }
}

template <class R> struct Place {
    R value;
    long long index;  // from 1; 0: none
};
template <class R> __device__ Place<R> better(Place<R> x, Place<R> y, int least) {
    if (y.index == 0) return x;
    if (x.index == 0) return y;
    bool second = least ? y.value < x.value : y.value > x.value;
    return second || (y.value == x.value && y.index < x.index) ? y : x;
}
template <class R> __device__ Place<R> best_of_cta(Place<R> x, int least) {
    __shared__ Place<R> warps[32];
#pragma unroll 1
    for (int by = 16; by > 0; by /= 2) {
        Place<R> other = {__shfl_down_sync(~0u, x.value, by), __shfl_down_sync(~0u, x.index, by)};
        x = better(x, other, least);
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = x;
    __syncthreads();
    if (threadIdx.x == 0) {
#pragma unroll 1
        for (unsigned i = 1; i < blockDim.x / 32; ++i) x = better(x, warps[i], least);
    }
    return x;
}

// The first element of largest or least magnitude, from 1. The result has `parts.type` I32, or is of 64 bits.
template <class T> __device__ void extreme(long long n, const T* x, long long incx, int least, const Parts& parts) {
    using R = Real<T>;
    Place<R> best = {0, 0};
#pragma unroll 1
    for (long long i = first(); i < n; i += step()) {
        best = better(best, Place<R>{magnitude(value<T>(x[i * incx])), i + 1}, least);
    }
    best = best_of_cta(best, least);
    auto* of = static_cast<Place<R>*>(parts.parts);
    if (threadIdx.x == 0) of[blockIdx.x] = best;
    if (!is_last(parts)) return;
    best = {0, 0};
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x) best = better(best, of[i], least);
    best = best_of_cta(best, least);
    if (threadIdx.x == 0) {
        if (parts.type == I32) {
            *static_cast<int*>(parts.result) = int(best.index);
        } else {
            *static_cast<long long*>(parts.result) = best.index;
        }
    }
}

// ------------------------------------------------------------------------------------------------ matrices

enum Shape : int { GENERAL, SYMMETRIC, HERMITIAN, TRIANGULAR };
enum Storage : int { FULL, BAND, PACKED };

// How a matrix is stored, and how it is used.
struct Operand {
    int shape, storage;
    int upper, unit;  // of those that have a triangle
    int transposed, conjugated;
    int below, above;  // diagonals of a band
    int rows;          // before transposition; of packed ones their order
};

// Whether element (i, j) is stored, and its index.
__device__ bool place(const Operand& m, long long ld, int i, int j, long long& at) {
    switch (m.storage) {
        case FULL: at = i + j * ld; return true;
        case BAND: {
            if (i - j > m.below || j - i > m.above) return false;
            at = m.above + i - j + j * ld;
            return true;
        }
        default: {
            long long c = j, n = m.rows;
            at = m.upper ? i + c * (c + 1) / 2 : i - c + c * (2 * n - c + 1) / 2;
            return true;
        }
    }
}

// Element (i, j) of op(matrix), by `get(index)`.
template <class V, class G> __device__ V element(const Operand& m, long long ld, int i, int j, G get) {
    if (m.transposed) {
        int kept = i;
        i = j;
        j = kept;
    }
    bool mirrored = m.upper ? i > j : i < j, conj = m.conjugated;
    if (m.shape == TRIANGULAR) {
        if (mirrored) return make<V>(0);
        if (m.unit && i == j) return make<V>(1);
    } else if (m.shape != GENERAL && mirrored) {
        int kept = i;
        i = j;
        j = kept;
        conj ^= m.shape == HERMITIAN;
    }
    long long at;
    if (!place(m, ld, i, j, at)) return make<V>(0);
    V x = conjugate_if(conj, V(get(at)));
    return m.shape == HERMITIAN && i == j ? only_real(x) : x;
}

// ------------------------------------------------------------------------------------------------ level 2

// y = alpha * op(A) * x + beta * y for matrices of any shape: a warp for each element.
template <class T>
__device__ void matvec(int rows, int columns, const Scalar& alpha, const T* a, long long ld, const Operand& how,
                       const T* x, long long incx, const Scalar& beta, T* y, long long incy) {
    auto by = scalar<T>(alpha), old = scalar<T>(beta);
    int lane = threadIdx.x % 32;
#pragma unroll 1
    for (long long i = first() / 32; i < rows; i += step() / 32) {
        auto sum = make<T>(0);
        if (!is_zero(by)) {
#pragma unroll 1
            for (int j = lane; j < columns; j += 32) {
                sum = fma_(element<T>(how, ld, int(i), j, [&](long long at) { return a[at]; }), x[j * incx], sum);
            }
        }
#pragma unroll 1
        for (int d = 16; d > 0; d /= 2) sum = sum + shuffled(sum, d);
        if (lane == 0) y[i * incy] = is_zero(old) ? by * sum : by * sum + old * y[i * incy];
    }
}

struct Gemv {
    const void *a, *x;
    void* y;
    long long lda, incx, incy, stride_a, stride_x, stride_y;
    Scalar alpha, beta;
    int m, n, y_type, conj, pointers;
};

template <class T> struct Batch {
    const T *a, *x;
    void* y;
};
template <class T> __device__ Batch<T> of_batch(const Gemv& g, int y_bytes) {
    long long b = blockIdx.z;
    if (g.pointers) {
        return {static_cast<const T* const*>(g.a)[b], static_cast<const T* const*>(g.x)[b],
                static_cast<void* const*>(g.y)[b]};
    }
    return {static_cast<const T*>(g.a) + b * g.stride_a, static_cast<const T*>(g.x) + b * g.stride_x,
            static_cast<char*>(g.y) + b * g.stride_y * y_bytes};
}

template <class V> __device__ void put_sum(const Gemv& g, void* y, long long at, V by, V sum) {
    auto old = scalar<V>(g.beta);
    V all = by * sum;
    if (!is_zero(old)) all = all + old * loaded<V>(y, g.y_type, at);
    put(y, g.y_type, at, all);
}
__device__ int bytes_of(int type) {
    return type == F16 || type == BF16 ? 2 : type == F32 ? 4 : type == F64 || type == C32 ? 8 : 16;
}

// y = alpha * A * x + beta * y: 32 rows for each CTA of 32 x 8 threads, whose columns are dealt to the eight.
template <class T> __device__ void gemv_n(const Gemv& g) {
    using V = Value<T>;
    __shared__ V parts[8][32];
    auto of = of_batch<T>(g, bytes_of(g.y_type));
    int row = blockIdx.x * 32 + threadIdx.x;
    V sum = make<V>(0), by = scalar<V>(g.alpha);
    if (row < g.m && !is_zero(by)) {
#pragma unroll 4
        for (int j = threadIdx.y; j < g.n; j += 8) {
            sum = fma_(conjugate_if(g.conj, value<T>(of.a[row + j * g.lda])), value<T>(of.x[j * g.incx]), sum);
        }
    }
    parts[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && row < g.m) {
        for (int i = 1; i < 8; ++i) sum = sum + parts[i][threadIdx.x];
        put_sum(g, of.y, row * g.incy, by, sum);
    }
}

// y = alpha * A^T * x + beta * y: a warp for each column.
template <class T> __device__ void gemv_t(const Gemv& g) {
    using V = Value<T>;
    auto of = of_batch<T>(g, bytes_of(g.y_type));
    int column = blockIdx.x * 8 + threadIdx.y;
    if (column >= g.n) return;
    V sum = make<V>(0), alpha = scalar<V>(g.alpha);
#pragma unroll 4
    for (int i = threadIdx.x; i < (is_zero(alpha) ? 0 : g.m); i += 32) {
        sum = fma_(conjugate_if(g.conj, value<T>(of.a[i + column * g.lda])), value<T>(of.x[i * g.incx]), sum);
    }
    for (int by = 16; by > 0; by /= 2) sum = sum + shuffled(sum, by);
    if (threadIdx.x == 0) put_sum(g, of.y, column * g.incy, alpha, sum);
}

// A += alpha * x * y^T (y conjugated if `how.conjugated`), and for `two` the mirror image of that as well; of matrices
// with a triangle, that triangle.
template <class T>
__device__ void rank(int m, int n, const Scalar& alpha, const T* x, long long incx, const T* y, long long incy, int two,
                     T* a, long long ld, const Operand& how) {
    auto by = scalar<T>(alpha);
    if (is_zero(by)) return;
#pragma unroll 1
    for (long long at = first(); at < (long long)m * n; at += step()) {
        int i = int(at % m), j = int(at / m);
        if (how.shape != GENERAL && (how.upper ? i > j : i < j)) continue;
        long long index;
        place(how, ld, i, j, index);
        T sum = fma_(by * x[i * incx], conjugate_if(how.conjugated, y[j * incy]), a[index]);
        if (two) {
            sum = fma_(conjugate_if(how.conjugated, by) * y[i * incy], conjugate_if(how.conjugated, x[j * incx]), sum);
        }
        a[index] = how.shape == HERMITIAN && i == j ? only_real(sum) : sum;
    }
}

// Solves op(A) * x = b in place, in one CTA.
template <class T>
__device__ void solve(int n, const T* a, long long ld, const Operand& how, T* x, long long incx) {
    bool downwards = how.upper == how.transposed;
    auto get = [&](long long at) { return a[at]; };
#pragma unroll 1
    for (int done = 0; done < n; ++done) {
        int j = downwards ? done : n - 1 - done;
        if (threadIdx.x == 0 && !how.unit) x[j * incx] = x[j * incx] / element<T>(how, ld, j, j, get);
        __syncthreads();
        T known = x[j * incx];
#pragma unroll 1
        for (int left = threadIdx.x; left < n - 1 - done; left += blockDim.x) {
            int i = downwards ? j + 1 + left : j - 1 - left;
            x[i * incx] = x[i * incx] - element<T>(how, ld, i, j, get) * known;
        }
        __syncthreads();
    }
}

// ------------------------------------------------------------------------------------------------ level 3

enum Triangle : int { ALL, LOWER, UPPER };

struct Product {
    Gemm g;
    const float* factors[2];  // of A and of B; may be null
    Operand a, b;
    int triangle;   // of D that is written
    int hermitian;  // whether the diagonals of C and D are real
    int mirrored;   // whether alpha is conjugated
    int alpha_type, beta_type;  // on the device: they may be real where the matrices are complex
};

__device__ float activated(float x, int epilogue) {
    if (epilogue & RELU) x = fmaxf(x, 0);
    if (epilogue & GELU) x = 0.5f * x * (1 + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
    return x;
}
__device__ double activated(double x, int epilogue) { return epilogue & RELU ? fmax(x, 0.0) : x; }
__device__ int activated(int x, int epilogue) { return epilogue & RELU ? max(x, 0) : x; }
template <class R> __device__ Complex<R> activated(Complex<R> x, int) { return x; }

// Tiles of 64 x 64, four times four elements for each of 256 threads.
template <class V> __device__ void product(const Product& p) {
    constexpr int TILE = 64, DEPTH = 16;
    __shared__ V as[DEPTH][TILE + 1], bs[DEPTH][TILE + 1];
    const Gemm& g = p.g;
    long long batch = blockIdx.z;
    auto pointer = [&](const void* all) { return static_cast<const void* const*>(all)[batch]; };
    const void *a = g.pointers ? pointer(g.a) : g.a, *b = g.pointers ? pointer(g.b) : g.b;
    const void* c = g.pointers ? (g.c ? pointer(g.c) : nullptr) : g.c;
    void* d = const_cast<void*>(g.pointers ? pointer(g.d) : g.d);
    long long in_a = g.pointers ? 0 : batch * g.stride_a, in_b = g.pointers ? 0 : batch * g.stride_b;
    long long in_c = g.pointers ? 0 : batch * g.stride_c, in_d = g.pointers ? 0 : batch * g.stride_d;
    int row = blockIdx.x * TILE, column = blockIdx.y * TILE;
    if (p.triangle == LOWER && row + TILE <= column) return;
    if (p.triangle == UPPER && row >= column + TILE) return;
    Scalar alpha = {g.alpha, g.alpha_value[0], g.alpha_value[1], p.alpha_type};
    Scalar beta = {g.beta, g.beta_value[0], g.beta_value[1], p.beta_type};
    auto by = conjugate_if(p.mirrored, scalar<V>(alpha)), old = scalar<V>(beta);
    for (const float* factor : p.factors) {
        if (factor) by = by * make<V>(*factor);
    }
    bool real = p.hermitian;
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    V sum[4][4];
    for (auto& line : sum)
        for (auto& s : line) s = make<V>(0);
    for (int k = 0; k < (is_zero(by) ? 0 : g.k); k += DEPTH) {
        for (int at = threadIdx.x; at < TILE * DEPTH; at += 256) {
            // Neighbouring threads read neighbouring elements where these are rows.
            int i = at % TILE, l = at / TILE;
            bool in = row + i < g.m && k + l < g.k;
            as[l][i] = in ? element<V>(p.a, g.lda, row + i, k + l,
                                       [&](long long index) { return loaded<V>(a, g.a_type, in_a + index); })
                          : make<V>(0);
            in = column + i < g.n && k + l < g.k;
            bs[l][i] = in ? element<V>(p.b, g.ldb, k + l, column + i,
                                       [&](long long index) { return loaded<V>(b, g.b_type, in_b + index); })
                          : make<V>(0);
        }
        __syncthreads();
        for (int l = 0; l < DEPTH; ++l) {
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j) sum[i][j] = fma_(as[l][tx + 16 * i], bs[l][ty + 16 * j], sum[i][j]);
        }
        __syncthreads();
    }
    for (int y = 0; y < 4; ++y) {
        for (int x = 0; x < 4; ++x) {
            int i = row + tx + 16 * x, j = column + ty + 16 * y;
            if (i >= g.m || j >= g.n) continue;
            if (p.triangle == LOWER && i < j || p.triangle == UPPER && i > j) continue;
            V all = by * sum[x][y];
            if (!is_zero(old)) {
                V kept = loaded<V>(c, g.d_type, in_c + i + j * g.ldc);
                all = all + old * (real && i == j ? only_real(kept) : kept);
            }
            if (g.epilogue & BIAS) all = all + loaded<V>(g.bias, g.bias_type, batch * g.stride_bias + i);
            if (g.epilogue & KEEP_INPUT && g.epilogue & GELU) {
                put(g.aux, g.d_type, batch * g.stride_aux + i + j * g.ldaux, all);
            }
            if (g.epilogue & KEEP_INPUT && g.epilogue & RELU) {
                long long bit = batch * g.stride_aux + i + j * g.ldaux;
                unsigned mask = 1u << bit % 32, *word = static_cast<unsigned*>(g.aux) + bit / 32;
                if (real_of(all) > 0) {
                    atomicOr(word, mask);
                } else {
                    atomicAnd(word, ~mask);
                }
            }
            all = activated(all, g.epilogue);
            put(d, g.d_type, in_d + i + j * g.ldd, real && i == j ? only_real(all) : all);
        }
    }
}

// A matrix of right-hand sides: element (i, j) is at [i * row + j * column].
struct Sides {
    void* x;
    long long row, column;
    int count;
};

// Solves op(A) * X = alpha * B in place: a thread for each right-hand side, a matrix for each y index of CTAs.
template <class T>
__device__ void trsm(int n, const Scalar& alpha, const void* as, long long ld, const Operand& how, const Sides& sides,
                     int pointers) {
    const T* a = pointers ? static_cast<const T* const*>(as)[blockIdx.y] : static_cast<const T*>(as);
    T* x = pointers ? static_cast<T* const*>(sides.x)[blockIdx.y] : static_cast<T*>(sides.x);
    auto by = scalar<T>(alpha);
    bool downwards = how.upper == how.transposed;
    auto get = [&](long long at) { return a[at]; };
    long long side = first();
    if (side >= sides.count) return;
    x += side * sides.column;
#pragma unroll 1
    for (int done = 0; done < n; ++done) {
        int i = downwards ? done : n - 1 - done;
        T sum = is_zero(by) ? by : by * x[i * sides.row];
#pragma unroll 1
        for (int k = 0; k < (is_zero(by) ? 0 : done); ++k) {
            int j = downwards ? k : n - 1 - k;
            sum = sum - element<T>(how, ld, i, j, get) * x[j * sides.row];
        }
        x[i * sides.row] = how.unit || is_zero(by) ? sum : sum / element<T>(how, ld, i, i, get);
    }
}

// C = alpha * op(A) + beta * op(B).
template <class T>
__device__ void geam(int m, int n, const Scalar& alpha, const T* a, long long lda, const Operand& how_a,
                     const Scalar& beta, const T* b, long long ldb, const Operand& how_b, T* c, long long ldc) {
    auto of_a = scalar<T>(alpha), of_b = scalar<T>(beta);
#pragma unroll 1
    for (long long at = first(); at < (long long)m * n; at += step()) {
        int i = int(at % m), j = int(at / m);
        T sum = make<T>(0);
        if (!is_zero(of_a)) {
            sum = of_a * element<T>(how_a, lda, i, j, [&](long long index) { return a[index]; });
        }
        if (!is_zero(of_b)) {
            sum = fma_(of_b, element<T>(how_b, ldb, i, j, [&](long long index) { return b[index]; }), sum);
        }
        c[i + j * ldc] = sum;
    }
}

// C = diag(x) * A, or A * diag(x).
template <class T>
__device__ void dgmm(int m, int n, int right, const T* a, long long lda, const T* x, long long incx, T* c,
                     long long ldc) {
#pragma unroll 1
    for (long long at = first(); at < (long long)m * n; at += step()) {
        int i = int(at % m), j = int(at / m);
        c[i + j * ldc] = a[i + j * lda] * x[(right ? j : i) * incx];
    }
}

// A triangle of n rows from a full matrix to a packed one, or back.
template <class T> __device__ void pack(int n, int upper, int unpacks, T* full, long long ld, T* packed) {
    Operand how = {TRIANGULAR, PACKED, upper, 0, 0, 0, 0, 0, n};
#pragma unroll 1
    for (long long at = first(); at < (long long)n * n; at += step()) {
        int i = int(at % n), j = int(at / n);
        if (upper ? i > j : i < j) continue;
        long long index;
        place(how, 0, i, j, index);
        if (unpacks) {
            full[i + j * ld] = packed[index];
        } else {
            packed[index] = full[i + j * ld];
        }
    }
}

// LU with row exchanges (`pivots` from 1; null: none), a CTA for each matrix. `info`: the first pivot that is zero.
template <class T> __device__ void getrf(int n, T* const* matrices, long long ld, int* pivots, int* info) {
    using R = Real<T>;
    T* a = matrices[blockIdx.x];
    __shared__ Place<R> chosen;
    int singular = 0;
#pragma unroll 1
    for (int j = 0; j < n; ++j) {
        int other = j;
        if (pivots) {
            Place<R> best = {0, 0};
#pragma unroll 1
            for (int i = j + threadIdx.x; i < n; i += blockDim.x) {
                best = better(best, Place<R>{magnitude(a[i + j * ld]), i + 1}, 0);
            }
            best = best_of_cta(best, 0);
            if (threadIdx.x == 0) chosen = best;
            __syncthreads();
            other = chosen.index > 0 ? int(chosen.index) - 1 : j;
            if (threadIdx.x == 0) pivots[(long long)blockIdx.x * n + j] = other + 1;
            if (other != j) {
#pragma unroll 1
                for (int k = threadIdx.x; k < n; k += blockDim.x) {
                    T kept = a[j + k * ld];
                    a[j + k * ld] = a[other + k * ld];
                    a[other + k * ld] = kept;
                }
            }
            __syncthreads();
        }
        T pivot = a[j + j * ld];
        if (is_zero(pivot)) {
            if (singular == 0) singular = j + 1;
            __syncthreads();
            continue;
        }
        __syncthreads();
#pragma unroll 1
        for (int i = j + 1 + threadIdx.x; i < n; i += blockDim.x) a[i + j * ld] = a[i + j * ld] / pivot;
        __syncthreads();
        int left = n - j - 1;
#pragma unroll 1
        for (long long at = threadIdx.x; at < (long long)left * left; at += blockDim.x) {
            int i = j + 1 + int(at % left), k = j + 1 + int(at / left);
            a[i + k * ld] = a[i + k * ld] - a[i + j * ld] * a[j + k * ld];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) info[blockIdx.x] = singular;
}

// Exchanges rows of right-hand sides as LU did, or back; a thread for each side, a matrix for each y index.
template <class T>
__device__ void laswp(int n, int sides, T* const* matrices, long long ld, const int* pivots, int backwards) {
    T* b = matrices[blockIdx.y] + first() * ld;
    if (first() >= sides) return;
    const int* by = pivots + (long long)blockIdx.y * n;
#pragma unroll 1
    for (int done = 0; done < n; ++done) {
        int i = backwards ? n - 1 - done : done, other = by[i] - 1;
        T kept = b[i];
        b[i] = b[other];
        b[other] = kept;
    }
}

// Identities, and with `from` copies of matrices.
template <class T> __device__ void fill(int n, T* const* to, long long ld, const T* const* from, long long ld_from) {
#pragma unroll 1
    for (long long at = first(); at < (long long)n * n; at += step()) {
        int i = int(at % n), j = int(at / n);
        to[blockIdx.y][i + j * ld] = from ? from[blockIdx.y][i + j * ld_from] : make<T>(i == j);
    }
}

// ------------------------------------------------------------------------------------------------ kernels

// Names say in every report that a kernel is not NVIDIA's.
#define KERNEL(name) extern "C" __global__ void standin_cublas_##name

#define OF_SIZE(bytes, T) \
    KERNEL(copy_##bytes)(long long n, const T* x, long long incx, T* y, long long incy) { copy(n, x, incx, y, incy); } \
    KERNEL(swap_##bytes)(long long n, T* x, long long incx, T* y, long long incy) { swap(n, x, incx, y, incy); }
OF_SIZE(2, unsigned short)
OF_SIZE(4, unsigned)
OF_SIZE(8, unsigned long long)
OF_SIZE(16, uint4)

#define OF_ANY(t, T) \
    KERNEL(scal_##t)(long long n, Scalar alpha, T* x, long long incx) { scal(n, alpha, x, incx); } \
    KERNEL(axpy_##t)(long long n, Scalar alpha, const T* x, long long incx, T* y, long long incy) { \
        axpy(n, alpha, x, incx, y, incy); \
    } \
    KERNEL(dot_##t)(long long n, const T* x, long long incx, const T* y, long long incy, int conj, Parts parts) { \
        dot(n, x, incx, y, incy, conj, parts); \
    } \
    KERNEL(asum_##t)(long long n, const T* x, long long incx, Parts parts) { asum(n, x, incx, parts); } \
    KERNEL(nrm2_##t)(long long n, const T* x, long long incx, Parts parts) { nrm2(n, x, incx, parts); } \
    KERNEL(extreme_##t)(long long n, const T* x, long long incx, int least, Parts parts) { \
        extreme(n, x, incx, least, parts); \
    } \
    KERNEL(gemv_n_##t)(Gemv g) { gemv_n<T>(g); } \
    KERNEL(gemv_t_##t)(Gemv g) { gemv_t<T>(g); }
OF_ANY(s, float)
OF_ANY(d, double)
OF_ANY(c, C)
OF_ANY(z, Z)
OF_ANY(h, H)
OF_ANY(b, B)

#define OF_BLAS(t, T) \
    KERNEL(rot_##t)(long long n, T* x, long long incx, T* y, long long incy, Scalar c, Scalar s) { \
        rot(n, x, incx, y, incy, c, s); \
    } \
    KERNEL(matvec_##t)(int rows, int columns, Scalar alpha, const T* a, long long ld, Operand how, const T* x, \
                      long long incx, Scalar beta, T* y, long long incy) { \
        matvec(rows, columns, alpha, a, ld, how, x, incx, beta, y, incy); \
    } \
    KERNEL(rank_##t)(int m, int n, Scalar alpha, const T* x, long long incx, const T* y, long long incy, int two, \
                    T* a, long long ld, Operand how) { \
        rank(m, n, alpha, x, incx, y, incy, two, a, ld, how); \
    } \
    KERNEL(solve_##t)(int n, const T* a, long long ld, Operand how, T* x, long long incx) { \
        solve(n, a, ld, how, x, incx); \
    } \
    KERNEL(product_##t)(Product p) { product<T>(p); } \
    KERNEL(trsm_##t)(int n, Scalar alpha, const void* a, long long ld, Operand how, Sides sides, int pointers) { \
        trsm<T>(n, alpha, a, ld, how, sides, pointers); \
    } \
    KERNEL(geam_##t)(int m, int n, Scalar alpha, const T* a, long long lda, Operand how_a, Scalar beta, const T* b,\
                    long long ldb, Operand how_b, T* c, long long ldc) { \
        geam(m, n, alpha, a, lda, how_a, beta, b, ldb, how_b, c, ldc); \
    } \
    KERNEL(dgmm_##t)(int m, int n, int right, const T* a, long long lda, const T* x, long long incx, T* c, \
                    long long ldc) { \
        dgmm(m, n, right, a, lda, x, incx, c, ldc); \
    } \
    KERNEL(pack_##t)(int n, int upper, int unpacks, T* full, long long ld, T* packed) { \
        pack(n, upper, unpacks, full, ld, packed); \
    } \
    KERNEL(getrf_##t)(int n, T* const* matrices, long long ld, int* pivots, int* info) { \
        getrf(n, matrices, ld, pivots, info); \
    } \
    KERNEL(laswp_##t)(int n, int sides, T* const* matrices, long long ld, const int* pivots, int backwards) { \
        laswp(n, sides, matrices, ld, pivots, backwards); \
    } \
    KERNEL(fill_##t)(int n, T* const* to, long long ld, const T* const* from, long long ld_from) { \
        fill(n, to, ld, from, ld_from); \
    }
OF_BLAS(s, float)
OF_BLAS(d, double)
OF_BLAS(c, C)
OF_BLAS(z, Z)

KERNEL(product_i)(Product p) { product<int>(p); }
KERNEL(rotm_s)(long long n, float* x, long long incx, float* y, long long incy, Modified<float> m) {
    rotm(n, x, incx, y, incy, m);
}
KERNEL(rotm_d)(long long n, double* x, long long incx, double* y, long long incy, Modified<double> m) {
    rotm(n, x, incx, y, incy, m);
}
