// The host's side of a fuzzed kernel: what CUDA's built-in functions compute, and a CTA whose threads
// are coroutines. A thread runs until it meets a collective, where it waits for the threads of its mask.
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <algorithm>
#include <map>
#include <vector>
#include <ucontext.h>

typedef uint8_t u8; typedef uint16_t u16; typedef uint32_t u32; typedef uint64_t u64; typedef unsigned __int128 u128;
typedef int8_t i8; typedef int16_t i16; typedef int32_t i32; typedef int64_t i64; typedef __int128 i128;
#define DEV static inline
#define FUNC static __attribute__((noinline))
#define VIRTUAL virtual
#define SHARED static __attribute__((aligned(16)))
#define CONSTANT static
#define TABLE static
#define KERNEL static void
#define HOST
#define ALIGN16 __attribute__((aligned(16)))
#define DYNAMIC_SHARED static ALIGN16 u8 dynamic_shared[16 << 10]
#define GRID_CONSTANT
#define BOUNDS(threads, ctas)
#define NOUNROLL
#define TID (now->tid)
#define LANE (now->tid & 31)
#define WARP (now->tid >> 5)
#define CTA (cta_index)
#define NT (cta_threads)

struct Thread { u32 tid; bool done; ucontext_t context; std::vector<char> stack; };
struct Meeting { u32 arrived = 0; u64 generation = 0; u64 arriving[32], met[32]; };
static Thread *now;
static ucontext_t scheduler;
static u32 cta_index, cta_threads, grid_ctas;
static u64 steps;                                    // arrivals and releases: progress
static std::map<u64, Meeting> meetings;              // by warp and mask
struct Barrier { u32 arrived = 0; u64 generation = 0; u32 sum = 0, result = 0; };
static Barrier barriers[16];

static void yield() { swapcontext(&now->context, &scheduler); }

// Waits for the lanes of `mask`, each of which brings a value; returns the values by lane.
static const u64 *meet(u32 mask, u64 value) {
    Meeting &m = meetings[(u64)WARP << 32 | mask];
    u64 generation = m.generation;
    m.arriving[LANE] = value;
    m.arrived |= 1u << LANE;
    steps++;
    if (m.arrived == mask) {
        memcpy(m.met, m.arriving, sizeof m.met);
        m.arrived = 0;
        m.generation++;
    }
    while (m.generation == generation) yield();
    return m.met;
}

static u32 barrier(u32 id, u32 threads, u32 value) {
    Barrier &b = barriers[id];
    u64 generation = b.generation;
    b.sum += value != 0;
    steps++;
    if (++b.arrived == threads) { b.result = b.sum; b.sum = b.arrived = 0; b.generation++; }
    while (b.generation == generation) yield();
    return b.result;
}
static void barrier_arrive(u32 id, u32 threads) {
    Barrier &b = barriers[id];
    steps++;
    if (++b.arrived == threads) { b.sum = b.arrived = 0; b.generation++; }
}
static void __syncthreads() { barrier(0, NT, 0); }
static u32 __syncthreads_count(int p) { return barrier(0, NT, p); }
static int __syncthreads_and(int p) { return barrier(0, NT, p) == NT; }
static int __syncthreads_or(int p) { return barrier(0, NT, p) != 0; }
static void bar_apart() { barrier(0, NT, 0); }
#define PAUSE yield()
static void bar_sync(u32 id, u32 n) { barrier(id, n, 0); }
static void bar_arrive(u32 id, u32 n) { barrier_arrive(id, n); }
static void __syncwarp(u32 mask = ~0u) { meet(mask, 0); }
static void __threadfence() {}
static void __threadfence_block() {}

template <class T> static u64 to_bits(T x) { u64 b = 0; memcpy(&b, &x, sizeof x); return b; }
template <class T> static T from_bits(u64 b) { T x; memcpy(&x, &b, sizeof x); return x; }
static u32 __ballot_sync(u32 mask, int p) {
    const u64 *v = meet(mask, p != 0);
    u32 r = 0;
    for (int i = 0; i < 32; i++) if (mask >> i & 1) r |= (u32)v[i] << i;
    return r;
}
static int __any_sync(u32 mask, int p) { return __ballot_sync(mask, p) != 0; }
static int __all_sync(u32 mask, int p) { return __ballot_sync(mask, p) == mask; }
template <class T> static T __shfl_sync(u32 mask, T x, int source, int width = 32) {
    const u64 *v = meet(mask, to_bits(x));
    return from_bits<T>(v[(LANE & ~(width - 1)) | (source & (width - 1))]);
}
template <class T> static T __shfl_up_sync(u32 mask, T x, u32 delta, int width = 32) {
    const u64 *v = meet(mask, to_bits(x));
    int from = (int)LANE - (int)delta;
    return from < (int)(LANE & ~(width - 1)) ? x : from_bits<T>(v[from]);
}
template <class T> static T __shfl_down_sync(u32 mask, T x, u32 delta, int width = 32) {
    const u64 *v = meet(mask, to_bits(x));
    u32 from = LANE + delta;
    return from > (LANE | (width - 1)) ? x : from_bits<T>(v[from]);
}
template <class T> static T __shfl_xor_sync(u32 mask, T x, int lanes, int width = 32) {
    const u64 *v = meet(mask, to_bits(x));
    u32 from = LANE ^ lanes;
    return from > (LANE | (width - 1)) ? x : from_bits<T>(v[from]);
}
template <class T> static u32 __match_any_sync(u32 mask, T x) {
    const u64 *v = meet(mask, to_bits(x));
    u32 r = 0;
    for (int i = 0; i < 32; i++) if (mask >> i & 1) r |= (u32)(v[i] == to_bits(x)) << i;
    return r;
}
template <class T> static u32 __match_all_sync(u32 mask, T x, int *all) {
    u32 r = __match_any_sync(mask, x);
    // All see the same, since equality is transitive.
    *all = r == mask;
    return *all ? mask : 0;
}
template <class F> static u32 reduce(u32 mask, u32 x, F f) {
    const u64 *v = meet(mask, x);
    bool first = true;
    u32 r = 0;
    for (int i = 0; i < 32; i++) if (mask >> i & 1) { r = first ? (u32)v[i] : f(r, (u32)v[i]); first = false; }
    return r;
}
static u32 __reduce_add_sync(u32 m, u32 x) { return reduce(m, x, [](u32 a, u32 b) { return a + b; }); }
static u32 __reduce_and_sync(u32 m, u32 x) { return reduce(m, x, [](u32 a, u32 b) { return a & b; }); }
static u32 __reduce_or_sync(u32 m, u32 x) { return reduce(m, x, [](u32 a, u32 b) { return a | b; }); }
static u32 __reduce_xor_sync(u32 m, u32 x) { return reduce(m, x, [](u32 a, u32 b) { return a ^ b; }); }
static u32 __reduce_min_sync(u32 m, u32 x) { return reduce(m, x, [](u32 a, u32 b) { return std::min(a, b); }); }
static int __reduce_max_sync(u32 m, int x) {
    return reduce(m, x, [](u32 a, u32 b) { return (u32)std::max((int)a, (int)b); });
}

template <class T, class V> static T atomicAdd(T *p, V v) { T o = *p; *p = o + (T)v; return o; }
template <class T, class V> static T atomicSub(T *p, V v) { T o = *p; *p = o - (T)v; return o; }
template <class T, class V> static T atomicAnd(T *p, V v) { T o = *p; *p = o & (T)v; return o; }
template <class T, class V> static T atomicOr(T *p, V v) { T o = *p; *p = o | (T)v; return o; }
template <class T, class V> static T atomicXor(T *p, V v) { T o = *p; *p = o ^ (T)v; return o; }
template <class T, class V> static T atomicMin(T *p, V v) { T o = *p; *p = std::min(o, (T)v); return o; }
template <class T, class V> static T atomicMax(T *p, V v) { T o = *p; *p = std::max(o, (T)v); return o; }
template <class T, class V> static T atomicExch(T *p, V v) { T o = *p; *p = (T)v; return o; }
template <class T, class V, class W> static T atomicCAS(T *p, V c, W v) { T o = *p; if (o == (T)c) *p = (T)v; return o; }
static u32 atomicInc(u32 *p, u32 v) { u32 o = *p; *p = o >= v ? 0 : o + 1; return o; }
static u32 atomicDec(u32 *p, u32 v) { u32 o = *p; *p = o == 0 || o > v ? v : o - 1; return o; }
#define SCOPED(name) template <class... A> static auto name##_block(A... a) { return name(a...); } template <class... A> static auto name##_system(A... a) { return name(a...); }
SCOPED(atomicAdd) SCOPED(atomicSub) SCOPED(atomicAnd) SCOPED(atomicOr) SCOPED(atomicXor) SCOPED(atomicMin) SCOPED(atomicMax) SCOPED(atomicExch)
SCOPED(atomicCAS) SCOPED(atomicInc) SCOPED(atomicDec)

// ------------------------------------------------------------------ memory
template <class T> static T copied(const void *p) { T x; memcpy(&x, p, sizeof x); return x; }
template <class T> static void copy_out(void *p, T x) { memcpy(p, &x, sizeof x); }
#define LOAD(name) template <class T> static T name(const T *p) { return *p; }
LOAD(__ldg) LOAD(__ldcg) LOAD(__ldca) LOAD(__ldcs) LOAD(__ldlu) LOAD(__ldcv)
#define STORE(name) template <class T> static void name(T *p, T x) { *p = x; }
STORE(__stwb) STORE(__stcg) STORE(__stcs) STORE(__stwt)
#define VECTORS(name, T) \
    struct alignas(2 * sizeof(T)) name##2 { T x, y; }; static name##2 make_##name##2(T x, T y) { return {x, y}; } \
    struct name##3 { T x, y, z; }; static name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; } \
    struct alignas(sizeof(T) == 8 ? 16 : 4 * sizeof(T)) name##4 { T x, y, z, w; }; static name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
VECTORS(char, i8) VECTORS(uchar, u8) VECTORS(short, i16) VECTORS(ushort, u16) VECTORS(int, i32) VECTORS(uint, u32)
VECTORS(longlong, i64) VECTORS(ulonglong, u64) VECTORS(float, float) VECTORS(double, double)

// ------------------------------------------------------------------ rounding
enum { RN = FE_TONEAREST, RZ = FE_TOWARDZERO, RU = FE_UPWARD, RD = FE_DOWNWARD };
template <class F> static auto rounded(int mode, F f) -> decltype(f()) {
    fesetround(mode);
    volatile auto r = f();
    fesetround(RN);
    return r;
}
// Bits of `x` rounded to a format of `p` bits of significand and `w` of exponent.
static u64 narrow(double x, int p, int w, int mode) {
    u64 sign = (u64)std::signbit(x) << (p - 1 + w), top = (((u64)1 << w) - 1) << (p - 1);
    if (x != x) return ((u64)1 << (p - 1 + w)) - 1;
    if (std::isinf(x)) return sign | top;
    if (x == 0) return sign;
    int bias = (1 << (w - 1)) - 1, e;
    double m = std::frexp(std::fabs(x), &e);
    int q = std::max(e - p, 2 - bias - p);
    double scaled = std::ldexp(m, e - q), whole = std::floor(scaled), rest = scaled - whole;
    bool up = mode == RN ? rest > 0.5 || (rest == 0.5 && std::fmod(whole, 2) == 1)
            : mode == RU ? rest > 0 && !sign : mode == RD ? rest > 0 && sign : false;
    u64 n = (u64)whole + up;
    u64 bits = q == 2 - bias - p ? n : ((u64)(q - (2 - bias - p)) << (p - 1)) + n;
    if (bits >= top) bits = mode == RN || (mode == RU && !sign) || (mode == RD && sign) ? top : top - 1;
    return sign | bits;
}
static u16 to_h(double x, int mode = RN) { return narrow(x, 11, 5, mode); }
static u16 to_b(double x, int mode = RN) { return narrow(x, 8, 8, mode); }
static double widen(u16 v, int p, int w) {
    int bias = (1 << (w - 1)) - 1, e = (v >> (p - 1)) & ((1 << w) - 1), m = v & ((1 << (p - 1)) - 1);
    double r = e == (1 << w) - 1 ? (m ? NAN : INFINITY) : std::ldexp(e ? m + (1 << (p - 1)) : m, std::max(e, 1) + 1 - bias - p);
    return v >> 15 ? -r : r;
}
static double of_h(u16 v) { return widen(v, 11, 5); }
static double of_b(u16 v) { return widen(v, 8, 8); }
// a * b + c, to odd: exact enough to be rounded again. The product is exact.
static double fma_odd(double a, double b, double c) {
    double p = a * b, s = p + c;
    if (!std::isfinite(s)) return s;
    double t = s - p, error = (p - (s - t)) + (c - t);
    if (error != 0 && !(to_bits(s) & 1)) s = std::nextafter(s, error > 0 ? INFINITY : -INFINITY);
    return s;
}
static double clamp01(double x) { return x != x ? 0 : x <= 0 ? 0 : x >= 1 ? 1 : x; }
static double relu(double x) { return x <= 0 ? 0 : x; }
// Minimum and maximum of IEEE 754-2008 with -0 < +0.
template <class T> static T min_num(T a, T b) { return a != a ? b : b != b ? a : a == b ? (std::signbit(a) ? a : b) : a < b ? a : b; }
template <class T> static T max_num(T a, T b) { return a != a ? b : b != b ? a : a == b ? (std::signbit(a) ? b : a) : a > b ? a : b; }
static float ftz(float x) { return std::fabs(x) < 1.17549435e-38f ? std::copysign(0.0f, x) : x; }
// Float to integer with saturation.
template <class I, class F> static I to_int(F x, int mode) {
    if (x != x) return 0;
    F r = rounded(mode, [&] { volatile F v = x; return std::nearbyint((F)v); });
    F low = (F)std::numeric_limits<I>::min(), high = std::ldexp((F)1, std::numeric_limits<I>::digits);
    return r < low ? std::numeric_limits<I>::min() : r >= high ? std::numeric_limits<I>::max() : (I)r;
}
static u32 fbits(float x) { return x != x ? 0x7fffffffu : (u32)to_bits(x); }
static u64 dbits(double x) { return x != x ? 0x7fffffffffffffffull : to_bits(x); }
static float bitsf(u32 x) { return from_bits<float>(x); }
static double bitsd(u64 x) { return from_bits<double>(x); }

// ------------------------------------------------------------------ integers
static int clz64(u64 x) { return x ? __builtin_clzll(x) : 64; }
static int clz32(u32 x) { return x ? __builtin_clz(x) : 32; }
static u64 reverse(u64 x, int bits) { u64 r = 0; for (int i = 0; i < bits; i++) r |= (x >> i & 1) << (bits - 1 - i); return r; }
static i64 clampi(i128 x, i64 low, i64 high) { return x < low ? low : x > high ? high : (i64)x; }
static i32 sat32(i128 x) { return (i32)clampi(x, INT32_MIN, INT32_MAX); }
static u8 byte_of(u64 x, int i) { return x >> (8 * i); }
static u32 prmt(u32 a, u32 b, u32 selector) {
    u64 both = (u64)b << 32 | a;
    u32 r = 0;
    for (int i = 0; i < 4; i++) {
        u32 s = selector >> (4 * i) & 15;
        u8 v = byte_of(both, s & 7);
        r |= (u32)(s & 8 ? (v & 0x80 ? 0xff : 0) : v) << (8 * i);
    }
    return r;
}
// Which bytes the named modes of prmt take.
static u32 prmt_mode(u32 a, u32 b, u32 c, char mode) {
    u32 s = 0, n = c & 3;
    for (u32 i = 0; i < 4; i++) {
        u32 k = mode == 'f' ? n + i : mode == 'b' ? (n - i) & 7 : mode == 'r' ? n : mode == 'l' ? std::max(n, i)
              : mode == 'e' ? std::min(n, i) : (n & 1) * 2 + (i & 1);
        s |= (k & 7) << (4 * i);
    }
    return prmt(a, b, s);
}
static u32 funnel(u32 low, u32 high, u32 n, bool left, bool clamp) {
    n = clamp ? std::min(n, 32u) : n & 31;
    u64 both = (u64)high << 32 | low;
    return left ? (u32)(n == 32 ? low : (both << n) >> 32) : (u32)(n == 32 ? high : both >> n);
}
template <class F> static u32 lanes(u32 a, u32 b, int bits, F f) {
    u32 r = 0, m = bits == 8 ? 0xff : 0xffff;
    for (int i = 0; i < 32; i += bits) r |= ((u32)f(a >> i & m, b >> i & m) & m) << i;
    return r;
}
template <class F> static u32 slanes(u32 a, u32 b, int bits, F f) {
    return lanes(a, b, bits, [&](u32 x, u32 y) {
        return bits == 8 ? f((i32)(i8)x, (i32)(i8)y) : f((i32)(i16)x, (i32)(i16)y);
    });
}
static u64 bfe(u64 a, u32 pos, u32 len, int bits, bool is_signed) {
    pos &= 255; len &= 255;
    u32 msb = bits - 1, top = std::min(pos + len - 1, msb);
    bool sign = is_signed && len && (a >> top & 1);
    u64 r = 0;
    for (u32 i = 0; i <= msb; i++) r |= (u64)(i < len && pos + i <= msb ? a >> (pos + i) & 1 : sign) << i;
    return r;
}
static u64 bfi(u64 a, u64 b, u32 pos, u32 len, int bits) {
    pos &= 255; len &= 255;
    for (u32 i = 0; i < len && pos + i < (u32)bits; i++) b = (b & ~((u64)1 << (pos + i))) | (a >> i & 1) << (pos + i);
    return b;
}
static u32 bfind(i128 x, int bits, bool shift) {
    if (x < 0) x = ~x;
    u64 v = (u64)x & (bits == 64 ? ~0ull : 0xffffffffull);
    if (!v) return ~0u;
    u32 at = 63 - clz64(v);
    return shift ? bits - 1 - at : at;
}
// An operand of a video instruction: a byte, half or word of `x`, signed or not.
static i64 part(u32 x, char kind, int index, bool is_signed) {
    if (kind == 'b') return is_signed ? (i64)(i8)byte_of(x, index) : byte_of(x, index);
    if (kind == 'h') return is_signed ? (i64)(i16)(x >> (16 * index)) : (u16)(x >> (16 * index));
    return is_signed ? (i64)(i32)x : x;
}

// ------------------------------------------------------------------ running
static void (*kernel_of_thread)(const u32 *, u32 *, u32 *);
static const u32 *kernel_in;
static u32 *kernel_out, *kernel_own;
static void thread_body() {
    kernel_of_thread(kernel_in, kernel_out, kernel_own);
    now->done = true;
    steps++;
    swapcontext(&now->context, &scheduler);
}
static std::vector<Thread> threads(1024);
// Runs a kernel and appends what it leaves to `file`.
static void run(void (*kernel)(const u32 *, u32 *, u32 *), const char *name, u32 grid, u32 block, u32 words,
                const std::vector<u32> &in, FILE *file) {
    std::vector<u32> out(words), own(64 * grid * block);
    kernel_of_thread = kernel; kernel_in = in.data(); kernel_out = out.data(); kernel_own = own.data();
    grid_ctas = grid; cta_threads = block;
    for (cta_index = 0; cta_index < grid; cta_index++) {
        meetings.clear();
        for (Barrier &b : barriers) b = Barrier();
        for (u32 t = 0; t < block; t++) {
            Thread &thread = threads[t];
            thread.tid = t; thread.done = false; thread.stack.resize(128 << 10);
            getcontext(&thread.context);
            thread.context.uc_stack.ss_sp = thread.stack.data();
            thread.context.uc_stack.ss_size = thread.stack.size();
            thread.context.uc_link = &scheduler;
            makecontext(&thread.context, thread_body, 0);
        }
        for (bool live = true; live;) {
            u64 before = steps;
            live = false;
            for (u32 t = 0; t < block; t++) {
                if (threads[t].done) continue;
                live = true;
                now = &threads[t];
                swapcontext(&scheduler, &now->context);
            }
            if (live && steps == before) { fprintf(stderr, "%s: deadlock on the host\n", name); exit(3); }
        }
    }
    fwrite(out.data(), 4, words, file);
}
static u16 canon_h(u16 x) { return (x & 0x7fff) > 0x7c00 ? 0x7fff : x; }
static u32 canon2_h(u32 x) { return (u32)canon_h(x >> 16) << 16 | canon_h((u16)x); }
static u16 canon_b(u16 x) { return (x & 0x7fff) > 0x7f80 ? 0x7fff : x; }
static u32 canon2_b(u32 x) { return (u32)canon_b(x >> 16) << 16 | canon_b((u16)x); }
static u16 ftz_h(u16 x) { return x & 0x7c00 ? x : x & 0x8000; }
static u32 half2_add(u32 *p, u32 x) {
    u32 old = *p;
    *p = (u32)to_h(of_h(old >> 16) + of_h(x >> 16)) << 16 | to_h(of_h((u16)old) + of_h((u16)x));
    return old;
}
static u32 hidden(u32 x) { return x; }
static u32 count_bits(u32 x) { return __builtin_popcount(x); }
struct alignas(16) uint4_like { u32 x, y, z, w; };
