// Kernels in place of cuFFT's. compile: sm_70
//
// A CTA transforms lines in shared memory, radix after radix, by Stockham's method: each pass reads one half of the memory
// and writes the other, in an order that leaves the result sorted. Longer lines are transformed in several launches
// (Bailey's four steps), lengths with large primes as products of polynomials (Bluestein's method).
//
// All transforms are forward ones: an inverse one is forward between two conjugations.

template <class R> struct Complex {
    R re, im;
};
template <class R> __device__ Complex<R> operator+(Complex<R> x, Complex<R> y) { return {x.re + y.re, x.im + y.im}; }
template <class R> __device__ Complex<R> operator-(Complex<R> x, Complex<R> y) { return {x.re - y.re, x.im - y.im}; }
template <class R> __device__ Complex<R> operator*(Complex<R> x, Complex<R> y) {
    return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}
template <class R> __device__ Complex<R> conjugate(Complex<R> x) { return {x.re, -x.im}; }

// How elements of a line are stored.
enum Kind : int {
    FULL = 0,  // complex numbers
    REAL = 1,
    HALF = 2,  // complex numbers, of which the second half follows from the first
};

constexpr int AXES = 5, FACTORS = 24;

// Lines have several indices, the first one fastest.
struct Axis {
    long long size;
    long long in, out;                // elements in memory from one line to the next
    long long in_index, out_index;  // the same, in the index of the whole transform
};

// `Lines` of crates/cufft/src/pass.rs.
struct Lines {
    const void* in;
    void* out;
    const void* roots;  // exp(-2 pi i k / n)
    const void* after;  // factors of the results; see below
    long long in_stride, out_stride;  // elements in memory from one index of the whole transform to the next
    long long in_step, out_step;      // indices of the whole transform from one element to the next
    long long in_length, out_length;  // of the whole transform
    Axis axes[AXES];
    long long lines;
    long long after_length;  // of `after`: element k of a line is multiplied by number k * (index of the line's `after_axis`)
    long long padded;        // elements of a line of Bluestein's method
    int n, lines_of_cta, factors, in_kind, out_kind;
    int in_conjugate, out_conjugate;
    int after_axis;
    int in_across, out_across;  // whether neighbours in memory are of neighbouring lines
    int radix[FACTORS];
};

struct Place {
    long long memory, index;
};

__device__ Place place(const Lines& all, long long line, bool out) {
    Place at = {0, 0};
    for (int axis = 0; axis < AXES; axis++) {
        const Axis& a = all.axes[axis];
        if (a.size == 1) continue;
        long long i = line % a.size;
        line /= a.size;
        at.memory += i * (out ? a.out : a.in);
        at.index += i * (out ? a.out_index : a.in_index);
    }
    return at;
}

__device__ long long index_of(const Lines& all, long long line, int which) {
    for (int axis = 0; axis < which; axis++) line /= all.axes[axis].size;
    return line % all.axes[which].size;
}

template <class R> __device__ Complex<R> load(const Lines& all, long long line, long long element) {
    Place at = place(all, line, false);
    long long index = at.index + element * all.in_step;
    bool mirrored = all.in_kind == HALF && 2 * index > all.in_length;
    if (mirrored) index = all.in_length - index;
    long long from = at.memory + index * all.in_stride;
    Complex<R> x;
    if (all.in_kind == REAL) {
        x = {static_cast<const R*>(all.in)[from], 0};
    } else {
        x = static_cast<const Complex<R>*>(all.in)[from];
        // The numbers that are their own mirror images are real, whatever is stored.
        if (all.in_kind == HALF && (index == 0 || 2 * index == all.in_length)) x.im = 0;
    }
    return mirrored != (bool)all.in_conjugate ? conjugate(x) : x;
}

template <class R> __device__ void store(const Lines& all, long long line, long long element, Complex<R> x) {
    Place at = place(all, line, true);
    long long index = at.index + element * all.out_step;
    if (all.out_kind == HALF && 2 * index > all.out_length) return;
    long long to = at.memory + index * all.out_stride;
    if (all.out_conjugate) x.im = -x.im;
    if (all.out_kind == REAL) {
        static_cast<R*>(all.out)[to] = x.re;
    } else {
        static_cast<Complex<R>*>(all.out)[to] = x;
    }
}

// ------------------------------------------------------------------------------------------------ passes

// The transform of R numbers; `roots` has n of them.
template <int R, class T> __device__ void transform(Complex<T> (&x)[R], const Complex<T>* roots, int n) {
    if constexpr (R == 2) {
        Complex<T> a = x[0], b = x[1];
        x[0] = a + b, x[1] = a - b;
    } else if constexpr (R == 4) {
        Complex<T> a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3], d = x[1] - x[3];
        Complex<T> e = {d.im, -d.re};
        x[0] = a + c, x[1] = b + e, x[2] = a - c, x[3] = b - e;
    } else {
        // Numbers k and R - k are combined: their sum has real factors, their difference imaginary ones.
        constexpr int H = R / 2;
        Complex<T> sum[H], difference[H], first = x[0];
        for (int k = 0; k < H; k++) {
            sum[k] = x[k + 1] + x[R - 1 - k];
            difference[k] = x[k + 1] - x[R - 1 - k];
            x[0] = x[0] + sum[k];
        }
        for (int j = 1; j <= H; j++) {
            Complex<T> even = first, odd = {0, 0};
            for (int k = 0; k < H; k++) {
                Complex<T> root = roots[j * (k + 1) % R * (n / R)];
                even.re += root.re * sum[k].re, even.im += root.re * sum[k].im;
                odd.re -= root.im * difference[k].im, odd.im += root.im * difference[k].re;
            }
            x[j] = even + odd, x[R - j] = even - odd;
        }
    }
}

// `done`: the product of the radices before.
template <int R, class T>
__device__ void pass(const Complex<T>* from, Complex<T>* to, const Complex<T>* roots, int n, int done, int lines) {
    int each = n / R;
    for (int i = threadIdx.x; i < each * lines; i += blockDim.x) {
        int line = i / each, j = i % each, k = j % done;
        const Complex<T>* source = from + line * n + j;
        Complex<T> x[R];
        for (int q = 0; q < R; q++) x[q] = source[q * each];
        for (int q = 1; q < R; q++) x[q] = x[q] * roots[q * k * (each / done)];
        transform<R>(x, roots, n);
        Complex<T>* target = to + line * n + (j - k) * R + k;
        for (int q = 0; q < R; q++) target[q * done] = x[q];
    }
}

// Any radix: a thread sums one result.
template <class T>
__device__ void any_pass(const Complex<T>* from, Complex<T>* to, const Complex<T>* roots, int n, int done, int lines,
                         int radix) {
    int each = n / radix;
    for (int i = threadIdx.x; i < n * lines; i += blockDim.x) {
        int line = i / n, p = i % n / each, j = i % each, k = j % done;
        int step = k * (each / done) + p * each, root = 0;
        Complex<T> sum = {0, 0};
        for (int q = 0; q < radix; q++) {
            sum = sum + from[line * n + j + q * each] * roots[root];
            root += step;
            if (root >= n) root -= n;
        }
        to[line * n + (j - k) * radix + k + p * done] = sum;
    }
}

template <class T> __device__ void transform_lines(const Lines& all) {
    extern __shared__ __align__(16) unsigned char memory[];
    const Complex<T>* roots = static_cast<const Complex<T>*>(all.roots);
    const Complex<T>* after = static_cast<const Complex<T>*>(all.after);
    int n = all.n, most = all.lines_of_cta;
    Complex<T>* from = reinterpret_cast<Complex<T>*>(memory);
    Complex<T>* to = from + most * n;
    long long first = (long long)blockIdx.x * most;
    int lines = (int)min((long long)most, all.lines - first);
    for (int i = threadIdx.x; i < lines * n; i += blockDim.x) {
        int line = all.in_across ? i % lines : i / n, element = all.in_across ? i / lines : i % n;
        from[line * n + element] = load<T>(all, first + line, element);
    }
    __syncthreads();
    int done = 1;
    for (int factor = 0; factor < all.factors; factor++) {
        int radix = all.radix[factor];
        switch (radix) {
            case 2: pass<2>(from, to, roots, n, done, lines); break;
            case 3: pass<3>(from, to, roots, n, done, lines); break;
            case 4: pass<4>(from, to, roots, n, done, lines); break;
            case 5: pass<5>(from, to, roots, n, done, lines); break;
            case 7: pass<7>(from, to, roots, n, done, lines); break;
            default: any_pass(from, to, roots, n, done, lines, radix);
        }
        done *= radix;
        Complex<T>* other = from;
        from = to, to = other;
        __syncthreads();
    }
    for (int i = threadIdx.x; i < lines * n; i += blockDim.x) {
        int line = all.out_across ? i % lines : i / n, element = all.out_across ? i / lines : i % n;
        Complex<T> x = from[line * n + element];
        if (after) x = x * after[element * index_of(all, first + line, all.after_axis) % all.after_length];
        store(all, first + line, element, x);
    }
}

// ------------------------------------------------------------------------------------------------ Bluestein's method

__device__ long long thread() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ long long threads() { return (long long)gridDim.x * blockDim.x; }

// Lines times the chirp (`after`), with zeros up to `padded`.
template <class T> __device__ void chirp_in(const Lines& all) {
    const Complex<T>* chirp = static_cast<const Complex<T>*>(all.after);
    for (long long i = thread(); i < all.lines * all.padded; i += threads()) {
        long long line = i / all.padded, element = i % all.padded;
        Complex<T> x = {0, 0};
        if (element < all.n) x = load<T>(all, line, element) * chirp[element];
        static_cast<Complex<T>*>(all.out)[i] = x;
    }
}

// Spectra times the chirp's spectrum, conjugated for the way back.
template <class T> __device__ void chirp_times(const Lines& all) {
    const Complex<T>* spectrum = static_cast<const Complex<T>*>(all.after);
    Complex<T>* data = static_cast<Complex<T>*>(all.out);
    for (long long i = thread(); i < all.lines * all.padded; i += threads())
        data[i] = conjugate(data[i] * spectrum[i % all.padded]);
}

template <class T> __device__ void chirp_out(const Lines& all) {
    const Complex<T>* chirp = static_cast<const Complex<T>*>(all.after);
    const Complex<T>* data = static_cast<const Complex<T>*>(all.in);
    for (long long i = thread(); i < all.lines * all.n; i += threads()) {
        long long line = i / all.n, element = i % all.n;
        store(all, line, element, conjugate(data[line * all.padded + element]) * chirp[element]);
    }
}

#define KERNEL(name, body)                                                                        \
    extern "C" __global__ void standin_cufft_##name##_c(Lines all) { body<float>(all); } \
    extern "C" __global__ void standin_cufft_##name##_z(Lines all) { body<double>(all); }
KERNEL(lines, transform_lines)
KERNEL(chirp_in, chirp_in)
KERNEL(chirp_times, chirp_times)
KERNEL(chirp_out, chirp_out)
