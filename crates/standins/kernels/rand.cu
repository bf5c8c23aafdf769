// Kernels in place of cuRAND's: generators and distributions. compile: sm_70
//
// A call draws items: an element, or the pair of normal numbers that Box and Muller's method makes at once. XORWOW and
// MRG32k3a have parallel sequences ("lanes"); item i is of lane (first + i) mod lanes. Philox and Sobol compute a number
// from its place, and MT19937 is one sequence in one CTA.

using u32 = unsigned;
using u64 = unsigned long long;

// How a call draws; `Draw` of crates/curand/src/generator.rs.
struct Draw {
    void* out;
    u32* states;  // by word, then by lane; or MT19937's; or direction numbers by dimension
    u64 items;
    u64 count;     // elements
    u64 position;  // Philox: the first word; Sobol: the first point
    u64 seed;
    double mean, deviation;
    double at_mode, to_mode;  // Poisson: the probability of the mode, and of at most the mode
    u32 first, lanes;
    u32 dimensions;
    u32 exponent;  // the results are exponentials of normal numbers
};

// ------------------------------------------------------------------------------------------------ numbers from bits

__device__ float unit(u32 x) { return fmaf((float)x, 0x1p-32f, 0x1p-33f); }
__device__ double unit_double(u32 x) { return fma((double)x, 0x1p-32, 0x1p-33); }
__device__ double unit_double(u64 x) { return fma((double)(x >> 11), 0x1p-53, 0x1p-54); }

// ------------------------------------------------------------------------------------------------ generators

// Words of a generator with how they become numbers. `pairs`: whether normal numbers are made in pairs.
struct Words {
    static constexpr bool pairs = true;
};

// Marsaglia, "Xorshift RNGs", 2003: five words of shifts, and a counter.
struct Xorwow : Words {
    u32 v[5], d;
    __device__ void load(const Draw& draw, u32 lane) {
        for (int i = 0; i < 5; i++) v[i] = draw.states[i * draw.lanes + lane];
        d = draw.states[5 * draw.lanes + lane];
    }
    __device__ void store(const Draw& draw, u32 lane) const {
        for (int i = 0; i < 5; i++) draw.states[i * draw.lanes + lane] = v[i];
        draw.states[5 * draw.lanes + lane] = d;
    }
    __device__ u32 bits() {
        u32 t = v[0] ^ (v[0] >> 2);
        v[0] = v[1], v[1] = v[2], v[2] = v[3], v[3] = v[4];
        v[4] = v[4] ^ (v[4] << 4) ^ t ^ (t << 1);
        d += 362437;
        return v[4] + d;
    }
    __device__ float uniform() { return unit(bits()); }
    __device__ double fraction() { return unit_double(bits()); }
    __device__ double uniform_double() {
        u64 low = bits(), high = bits();
        return fma((double)(low ^ (high << 21)), 0x1p-53, 0x1p-54);
    }
};

// L'Ecuyer, "Good parameters and implementations for combined multiple recursive random number generators", 1999.
struct Mrg32k3a : Words {
    static constexpr u64 m1 = 4294967087, m2 = 4294944443;
    u32 a[3], b[3];
    __device__ void load(const Draw& draw, u32 lane) {
        for (int i = 0; i < 3; i++) {
            a[i] = draw.states[i * draw.lanes + lane];
            b[i] = draw.states[(3 + i) * draw.lanes + lane];
        }
    }
    __device__ void store(const Draw& draw, u32 lane) const {
        for (int i = 0; i < 3; i++) {
            draw.states[i * draw.lanes + lane] = a[i];
            draw.states[(3 + i) * draw.lanes + lane] = b[i];
        }
    }
    // 1 to m1.
    __device__ u32 next() {
        u64 x = (1403580 * (u64)a[1] + 810728 * (m1 - a[0])) % m1;
        u64 y = (527612 * (u64)b[2] + 1370589 * (m2 - b[0])) % m2;
        a[0] = a[1], a[1] = a[2], a[2] = (u32)x;
        b[0] = b[1], b[1] = b[2], b[2] = (u32)y;
        return (u32)(x > y ? x - y : x + m1 - y);
    }
    __device__ u32 bits() { return (u32)((double)next() * 1.000000048662); }
    __device__ double fraction() { return (double)next() * (1.0 / m1); }
    __device__ float uniform() { return (float)fraction(); }
    __device__ double uniform_double() { return fraction(); }
};

// Salmon and others, "Parallel random numbers: as easy as 1, 2, 3", 2011: the four words of a counter.
__device__ uint4 philox(uint4 c, uint2 key) {
    #pragma unroll 1
    for (int round = 0; round < 10; round++) {
        u64 p = (u64)0xd2511f53 * c.x, q = (u64)0xcd9e8d57 * c.z;
        c = make_uint4((u32)(q >> 32) ^ c.y ^ key.x, (u32)q, (u32)(p >> 32) ^ c.w ^ key.y, (u32)p);
        key.x += 0x9e3779b9, key.y += 0xbb67ae85;
    }
    return c;
}

struct Philox : Words {
    u32 words[4];
    int next;
    // Blocks of four words are dealt to 65,536 sequences in turn.
    __device__ Philox(u64 seed, u64 block) : next(0) {
        u64 at = block >> 16;
        uint4 w = philox(make_uint4((u32)at, (u32)(at >> 32), (u32)block & 0xffff, 0),
                         make_uint2((u32)seed, (u32)(seed >> 32)));
        words[0] = w.x, words[1] = w.y, words[2] = w.z, words[3] = w.w;
    }
    __device__ u32 bits() { return words[next++]; }
    __device__ float uniform() { return unit(bits()); }
    __device__ double fraction() { return unit_double(bits()); }
    __device__ double uniform_double() {
        u64 low = bits(), high = bits();
        return fma((double)(low ^ (high << 21)), 0x1p-53, 0x1p-54);
    }
};

// A number that is there: of MT19937 or of a Sobol sequence.
template <class T> struct One {
    static constexpr bool pairs = false;
    T value;
    __device__ T bits() const { return value; }
    __device__ float uniform() const { return unit((u32)(value >> (8 * sizeof(T) - 32))); }
    __device__ double fraction() const { return unit_double(value); }
    __device__ double uniform_double() const { return unit_double(value); }
    __device__ double upper() const { return unit_double((u32)(value >> (8 * sizeof(T) - 32))); }
};

// A Sobol number of 32 bits: doubles are a whole unit above it, as cuRAND has them.
struct Sobol32 : One<u32> {
    __device__ double uniform_double() const { return fma((double)value, 0x1p-32, 0x1p-32); }
};
struct Sobol64 : One<u64> {};

// ------------------------------------------------------------------------------------------------ distributions

struct Bits {
    static constexpr int elements = 1, words = 1;
    template <class G> static __device__ void draw(G& g, const Draw& draw, u64 item) {
        auto x = g.bits();
        static_cast<decltype(x)*>(draw.out)[item] = x;
    }
};

struct Uniform {
    static constexpr int elements = 1, words = 1;
    template <class G> static __device__ void draw(G& g, const Draw& draw, u64 item) {
        static_cast<float*>(draw.out)[item] = g.uniform();
    }
};

struct UniformDouble {
    static constexpr int elements = 1, words = 2;
    template <class G> static __device__ void draw(G& g, const Draw& draw, u64 item) {
        static_cast<double*>(draw.out)[item] = g.uniform_double();
    }
};

// Once in the program, not in each kernel.
__device__ __noinline__ double inverse_normal(double x) { return normcdfinv(x); }
__device__ __noinline__ double exponential(double x) { return exp(x); }
__device__ float exponential(float x) { return expf(x); }

// Polar coordinates of a pair of normal numbers.
__device__ __noinline__ double2 polar(double a, double b) {
    double radius = sqrt(-2 * log(a)), sine, cosine;
    sincospi(2 * b, &sine, &cosine);
    return make_double2(radius * sine, radius * cosine);
}

template <class T> __device__ void put_normal(const Draw& draw, u64 at, T x) {
    T y = (T)draw.mean + (T)draw.deviation * x;
    if (at < draw.count) static_cast<T*>(draw.out)[at] = draw.exponent ? exponential(y) : y;
}

// Two numbers by the method of Box and Muller, or one by the inverse of the distribution.
struct Normal {
    static constexpr int elements = 2, words = 2;
    template <class G> static __device__ void draw(G& g, const Draw& draw, u64 item) {
        if constexpr (G::pairs) {
            float radius = sqrtf(-2 * logf(g.uniform())), sine, cosine;
            sincospif(2 * g.uniform(), &sine, &cosine);
            put_normal(draw, 2 * item, radius * sine);
            put_normal(draw, 2 * item + 1, radius * cosine);
        } else {
            put_normal(draw, item, (float)inverse_normal(g.upper()));
        }
    }
};

struct NormalDouble {
    static constexpr int elements = 2, words = 4;
    template <class G> static __device__ void draw(G& g, const Draw& draw, u64 item) {
        if constexpr (G::pairs) {
            double first = g.uniform_double();
            double2 pair = polar(first, g.uniform_double());
            put_normal(draw, 2 * item, pair.x);
            put_normal(draw, 2 * item + 1, pair.y);
        } else {
            put_normal(draw, item, inverse_normal(g.fraction()));
        }
    }
};

// By the inverse of the distribution, from the mode on; a normal number where the mean is large.
struct Poisson {
    static constexpr int elements = 1, words = 1;
    template <class G> static __device__ void draw(G& g, const Draw& draw, u64 item) {
        double u = g.fraction(), mean = draw.mean;
        u32 k;
        if (mean > 4000) {
            k = (u32)fmin(fmax(mean + sqrt(mean) * inverse_normal(u) + 0.5, 0.0), 4294967295.0);
        } else {
            double mode = floor(mean), p = draw.at_mode, sum = draw.to_mode;
            if (u > sum) {
                // Far in the tail sums do not change any more.
                #pragma unroll 1
                while (u > sum && p > 1e-17) mode += 1, p *= mean / mode, sum += p;
            } else {
                #pragma unroll 1
                while (mode > 0 && u <= sum - p) sum -= p, p *= mode / mean, mode -= 1;
            }
            k = (u32)mode;
        }
        static_cast<u32*>(draw.out)[item] = k;
    }
};

// ------------------------------------------------------------------------------------------------ kernels

__device__ u64 thread() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ u64 threads() { return (u64)gridDim.x * blockDim.x; }

template <class G, class D> __device__ void by_lanes(const Draw& draw) {
    u64 used = min(draw.items, (u64)draw.lanes);
    #pragma unroll 1
    for (u64 t = thread(); t < used; t += threads()) {
        u32 lane = (u32)((draw.first + t) % draw.lanes);
        G g;
        g.load(draw, lane);
        #pragma unroll 1
        for (u64 item = t; item < draw.items; item += draw.lanes) D::draw(g, draw, item);
        g.store(draw, lane);
    }
}

// An item does not cross blocks of four words: `position` is a multiple of its words.
template <class D> __device__ void by_blocks(const Draw& draw) {
    u64 end = draw.position + draw.items * D::words;
    #pragma unroll 1
    for (u64 block = draw.position / 4 + thread(); 4 * block < end; block += threads()) {
        Philox g(draw.seed, block);
        #pragma unroll 1
        for (int word = 0; word < 4; word += D::words) {
            u64 at = 4 * block + word;
            g.next = word;
            if (at >= draw.position && at < end) D::draw(g, draw, (at - draw.position) / D::words);
        }
    }
}

// All points of a dimension, then those of the next one.
template <class T, class G, class D> __device__ void by_points(const Draw& draw) {
    u64 points = draw.items / draw.dimensions;
    #pragma unroll 1
    for (u64 item = thread(); item < draw.items; item += threads()) {
        u64 at = draw.position + item % points;
        const T* directions = reinterpret_cast<const T*>(draw.states) + item / points * (8 * sizeof(T));
        G g{0};
        u64 gray = at ^ (at >> 1);
        #pragma unroll 1
        for (int bit = 0; bit < (int)(8 * sizeof(T)) && gray >> bit; bit++)
            if (gray >> bit & 1) g.value ^= directions[bit];
        D::draw(g, draw, item);
    }
}

// Matsumoto and Nishimura, "Mersenne twister", 1998. `states` has 624 words and the number of those that were used.
constexpr int N = 624, M = 397;

__device__ u32 twisted(u32 high, u32 low, u32 far) {
    u32 x = (high & 0x80000000) | (low & 0x7fffffff);
    return far ^ (x >> 1) ^ (x & 1 ? 0x9908b0df : 0);
}

template <class D> __device__ void by_twister(const Draw& draw) {
    __shared__ u32 state[N];
    #pragma unroll 1
    for (int i = threadIdx.x; i < N; i += blockDim.x) state[i] = draw.states[i];
    u32 used = draw.states[N];
    __syncthreads();
    for (u64 done = 0; done < draw.items;) {
        if (used == N) {
            // A word needs the next one and the one M later: N - M words at a time do not depend on each other.
            #pragma unroll 1
            for (int from = 0; from < N; from += N - M) {
                int i = from + threadIdx.x;
                bool mine = threadIdx.x < N - M && i < N;
                u32 next = mine ? twisted(state[i], state[(i + 1) % N], state[(i + M) % N]) : 0;
                __syncthreads();
                if (mine) state[i] = next;
                __syncthreads();
            }
            used = 0;
        }
        u32 now = (u32)min((u64)(N - used), draw.items - done);
        #pragma unroll 1
        for (u32 i = threadIdx.x; i < now; i += blockDim.x) {
            u32 x = state[used + i];
            x ^= x >> 11;
            x ^= x << 7 & 0x9d2c5680;
            x ^= x << 15 & 0xefc60000;
            One<u32> g{x ^ x >> 18};
            D::draw(g, draw, done + i);
        }
        used += now, done += now;
        __syncthreads();
    }
    #pragma unroll 1
    for (int i = threadIdx.x; i < N; i += blockDim.x) draw.states[i] = state[i];
    if (threadIdx.x == 0) draw.states[N] = used;
}

#define KERNEL(generator, distribution, body) \
    extern "C" __global__ void standin_curand_##generator##_##distribution(Draw draw) { body(draw); }
#define GENERATOR(distribution, D)                                          \
    KERNEL(xorwow, distribution, (by_lanes<Xorwow, D>))                     \
    KERNEL(mrg32k3a, distribution, (by_lanes<Mrg32k3a, D>))                 \
    KERNEL(philox, distribution, by_blocks<D>)                              \
    KERNEL(mt19937, distribution, by_twister<D>)                            \
    KERNEL(sobol32, distribution, (by_points<u32, Sobol32, D>))                      \
    KERNEL(sobol64, distribution, (by_points<u64, Sobol64, D>))
GENERATOR(bits, Bits)
GENERATOR(uniform, Uniform)
GENERATOR(uniform_double, UniformDouble)
GENERATOR(normal, Normal)
GENERATOR(normal_double, NormalDouble)
GENERATOR(poisson, Poisson)
