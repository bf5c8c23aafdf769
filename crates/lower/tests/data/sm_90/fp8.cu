// 8-bit floating-point numbers. Thread t writes row r to out[128 * r + t]; tests/hopper.rs has the same rows.
typedef unsigned u32;

extern "C" __global__ void fp8(u32* out, const u32* in) {
    u32 t = blockIdx.x * blockDim.x + threadIdx.x;
    u32 a = in[t], b = in[t + 128], r;
    float x = __uint_as_float(a), y = __uint_as_float(b);
    unsigned short h, k;
    asm volatile("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(h) : "f"(x), "f"(y));
    out[t + 128 * 0] = h;
    asm volatile("cvt.rn.satfinite.relu.e5m2x2.f32 %0, %1, %2;" : "=h"(h) : "f"(x), "f"(y));
    out[t + 128 * 1] = h;
    asm volatile("cvt.rn.satfinite.e5m2x2.f16x2 %0, %1;" : "=h"(h) : "r"(a));
    out[t + 128 * 2] = h;
    asm volatile("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(r) : "h"((unsigned short)a));
    out[t + 128 * 3] = r;
    asm volatile("cvt.rn.relu.f16x2.e5m2x2 %0, %1;" : "=r"(r) : "h"((unsigned short)(a >> 16)));
    out[t + 128 * 4] = r;
    asm volatile("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(h) : "f"(x), "f"(y));
    asm volatile("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(k) : "f"(y), "f"(x));
    out[t + 128 * 5] = (u32)h << 16 | k;
}
