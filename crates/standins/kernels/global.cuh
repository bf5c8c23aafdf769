// Accesses of global memory. The compiler cannot know that pointers from an array of pointers are global.
#pragma once

__device__ __forceinline__ void load(unsigned short& to, const void* from) {
    asm volatile("ld.global.u16 %0, [%1];" : "=h"(to) : "l"(from) : "memory");
}

__device__ __forceinline__ void load(signed char& to, const void* from) {
    short wide;
    asm volatile("ld.global.s8 %0, [%1];" : "=h"(wide) : "l"(from) : "memory");
    to = static_cast<signed char>(wide);
}

__device__ __forceinline__ void load(int& to, const void* from) {
    asm volatile("ld.global.s32 %0, [%1];" : "=r"(to) : "l"(from) : "memory");
}

__device__ __forceinline__ void load(float& to, const void* from) {
    asm volatile("ld.global.f32 %0, [%1];" : "=f"(to) : "l"(from) : "memory");
}

__device__ __forceinline__ void load(double& to, const void* from) {
    asm volatile("ld.global.f64 %0, [%1];" : "=d"(to) : "l"(from) : "memory");
}

__device__ __forceinline__ void load(uint2& to, const void* from) {
    asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(to.x), "=r"(to.y) : "l"(from) : "memory");
}

__device__ __forceinline__ void load(uint4& to, const void* from) {
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(to.x), "=r"(to.y), "=r"(to.z), "=r"(to.w) : "l"(from) : "memory");
}

__device__ __forceinline__ void store(void* to, unsigned short x) {
    asm volatile("st.global.u16 [%0], %1;" ::"l"(to), "h"(x) : "memory");
}

__device__ __forceinline__ void store(void* to, unsigned x) {
    asm volatile("st.global.u32 [%0], %1;" ::"l"(to), "r"(x) : "memory");
}

__device__ __forceinline__ void store(void* to, int x) { store(to, static_cast<unsigned>(x)); }

__device__ __forceinline__ void store(void* to, float x) { store(to, __float_as_uint(x)); }

__device__ __forceinline__ void store(void* to, double x) {
    asm volatile("st.global.f64 [%0], %1;" ::"l"(to), "d"(x) : "memory");
}

__device__ __forceinline__ void store(void* to, uint2 x) {
    asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(to), "r"(x.x), "r"(x.y) : "memory");
}

__device__ __forceinline__ void store(void* to, uint4 x) {
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w) : "memory");
}

__device__ __forceinline__ void store_shared(unsigned to, uint4 x) {
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w) : "memory");
}
