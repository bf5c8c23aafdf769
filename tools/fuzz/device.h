// The device's side of a fuzzed kernel: names that host.h has too.
typedef unsigned char u8; typedef unsigned short u16; typedef unsigned u32; typedef unsigned long long u64; typedef unsigned __int128 u128;
typedef signed char i8; typedef short i16; typedef int i32; typedef long long i64; typedef __int128 i128;
#define DEV static __device__ __forceinline__
#define FUNC static __device__ __noinline__
#define VIRTUAL __device__ virtual
#define SHARED __shared__ __align__(16)
#define CONSTANT static __constant__
#define TABLE static __device__
#define KERNEL extern "C" __global__ void
#define ALIGN16 __align__(16)
#define DYNAMIC_SHARED extern __shared__ ALIGN16 u8 dynamic_shared[]
#define GRID_CONSTANT __grid_constant__
#define BOUNDS(threads, ctas) __launch_bounds__(threads, ctas)
#define NOUNROLL _Pragma("unroll 1")
#define TID threadIdx.x
#define LANE (threadIdx.x & 31)
#define WARP (threadIdx.x >> 5)
#define CTA blockIdx.x
#define NT blockDim.x
DEV void bar_sync(u32 id, u32 n) { asm volatile("bar.sync %0, %1;" :: "r"(id), "r"(n) : "memory"); }
DEV void bar_arrive(u32 id, u32 n) { asm volatile("bar.arrive %0, %1;" :: "r"(id), "r"(n) : "memory"); }
DEV void bar_apart() { asm volatile("barrier.sync 0;" ::: "memory"); }
#define PAUSE ((void)0)
DEV u32 fbits(float x) { return x != x ? 0x7fffffffu : __float_as_uint(x); }
DEV u64 dbits(double x) { return x != x ? 0x7fffffffffffffffull : (u64)__double_as_longlong(x); }
DEV float bitsf(u32 x) { return __uint_as_float(x); }
DEV double bitsd(u64 x) { return __longlong_as_double(x); }
DEV u32 count_bits(u32 x) { return __popc(x); }
DEV u32 hidden(u32 x) { asm("" : "+r"(x)); return x; }
template <class T> DEV T copied(const void *p) { T x; memcpy(&x, p, sizeof x); return x; }
template <class T> DEV void copy_out(void *p, T x) { memcpy(p, &x, sizeof x); }
struct __align__(16) uint4_like { u32 x, y, z, w; };
#ifdef HALVES
#include <cuda_fp16.h>
DEV __half half_of(u16 x) { return __ushort_as_half(x); }
DEV u16 hbits(__half x) { return __half_as_ushort(x); }
DEV u16 canon_h(u16 x) { return (x & 0x7fff) > 0x7c00 ? 0x7fff : x; }
DEV u32 canon2_h(u32 x) { return (u32)canon_h(x >> 16) << 16 | canon_h((u16)x); }
DEV __half2 half2_of(u32 x) { __half2 r; *(u32 *)&r = x; return r; }
DEV u32 h2bits(__half2 x) { return *(u32 *)&x; }
DEV u32 half2_add(u32 *p, u32 x) { return h2bits(atomicAdd((__half2 *)p, half2_of(x))); }
#endif
#ifdef BFLOATS
#include <cuda_bf16.h>
DEV __nv_bfloat16 bf16_of(u16 x) { __nv_bfloat16 r; *(u16 *)&r = x; return r; }
DEV u16 bbits(__nv_bfloat16 x) { return *(u16 *)&x; }
DEV u16 canon_b(u16 x) { return (x & 0x7fff) > 0x7f80 ? 0x7fff : x; }
DEV u32 canon2_b(u32 x) { return (u32)canon_b(x >> 16) << 16 | canon_b((u16)x); }
DEV __nv_bfloat162 bf162_of(u32 x) { __nv_bfloat162 r; *(u32 *)&r = x; return r; }
DEV u32 b2bits(__nv_bfloat162 x) { return *(u32 *)&x; }
#endif
