// Comparisons, conversions and functions of bfloat16 and halves.
// Thread t writes row r to out[128 * r + t]; tests/hopper.rs has the same rows.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
typedef unsigned u32;

#define PAIR(x) (*(const __nv_bfloat162*)&(x))
#define HALVES(x) (*(const __half2*)&(x))

template <class T> __device__ u32 bits(T pair) { return *(u32*)&pair; }
__device__ u32 one(__nv_bfloat16 x) { return __bfloat16_as_ushort(x); }
__device__ u32 one(__half x) { return __half_as_ushort(x); }

extern "C" __global__ void bf16(u32* out, const u32* in) {
    u32 t = blockIdx.x * blockDim.x + threadIdx.x;
    u32 a = in[t], b = in[t + 128], c = in[t + 256];
    __nv_bfloat162 x = PAIR(a), y = PAIR(b), z = PAIR(c);
    out[t + 128 * 0] = __heq(x.x, y.y);
    out[t + 128 * 1] = __hbgt2(x, y);
    out[t + 128 * 2] = x.x > __float2bfloat16(1.5f) ? 3 : 5;
    out[t + 128 * 3] = bits(__hltu2(x, y));
    out[t + 128 * 4] = __hge2_mask(x, y);
    out[t + 128 * 5] = bits(__hmax2(__hmax2(x, y), z));
    out[t + 128 * 6] = bits(__hmin2(__hmin2(HALVES(a), HALVES(b)), HALVES(c)));
    out[t + 128 * 7] = __bfloat162int_rz(x.y);
    out[t + 128 * 8] = __bfloat162uint_rn(x.x);
    out[t + 128 * 9] = (u32)__bfloat162ll_rz(x.y);
    out[t + 128 * 10] = one(__int2bfloat16_rn(a));
    out[t + 128 * 11] = one(__ull2bfloat16_rn((unsigned long long)a << 32 | b));
    out[t + 128 * 12] = bits(h2floor(x));
    out[t + 128 * 13] = one(hceil(HALVES(a).y));
    out[t + 128 * 14] = one(__double2bfloat16((double)(int)a));
    out[t + 128 * 15] = one(__float2bfloat16_rd(__uint_as_float(b)));
}

template <int ROW> __device__ void row(u32* out, u32 t, u32 value) { out[t + 128 * ROW] = value; }

extern "C" __global__ void functions(u32* out, const u32* in) {
    u32 t = blockIdx.x * blockDim.x + threadIdx.x;
    u32 a = in[t], b = in[t + 128], r;
    unsigned short h;
    asm volatile("tanh.approx.f16x2 %0, %1;" : "=r"(r) : "r"(a));
    row<0>(out, t, r);
    asm volatile("ex2.approx.f16x2 %0, %1;" : "=r"(r) : "r"(a));
    row<1>(out, t, r);
    asm volatile("tanh.approx.bf16x2 %0, %1;" : "=r"(r) : "r"(a));
    row<2>(out, t, r);
    asm volatile("ex2.approx.ftz.bf16x2 %0, %1;" : "=r"(r) : "r"(a));
    row<3>(out, t, r);
    asm volatile("ex2.approx.ftz.bf16 %0, %1;" : "=h"(h) : "h"((unsigned short)a));
    row<4>(out, t, h);
    asm volatile("min.xorsign.abs.f32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    row<5>(out, t, r);
    asm volatile("max.xorsign.abs.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    row<6>(out, t, r);
}
