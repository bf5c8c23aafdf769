// Small kernels whose machine code came out wrong or was refused. Every kernel takes (out, in), 64 threads.
//   nvcc -ptx -O3 -std=c++17 -arch=sm_70 cases.cu
//   nvcc -cubin -O3 -std=c++17 -arch=sm_XX cases.cu -o cases.sm_XX.cubin
//   nvcc -cubin -O3 -std=c++17 -Xptxas -O0 -arch=sm_XX cases.cu -o cases_O0.sm_XX.cubin
// CUDA 11.8 (V11.8.89).
//   ptxas -arch=sm_90 cases.ptx -o cases.cuda129.sm_90.cubin
// CUDA 12.9 (V12.9.86); its disassembly as sm_90/README.md has it.
#include <cuda_fp16.h>

#define KERNEL(name) extern "C" __global__ void name(unsigned *out, const unsigned *in)

// HFMA2 with swapped halves, one of them negated, on sm_86.
KERNEL(swapped_halves) {
    unsigned t = threadIdx.x, aw = in[3 * t], bw = in[3 * t + 1], cw = in[3 * t + 2];
    __half2 a = *(__half2 *)&aw, b = *(__half2 *)&bw, c = *(__half2 *)&cw;
    __half2 small = __halves2half2(__ushort_as_half(1), __ushort_as_half(0x8000));
    __half2 m = __highs2half2(__hneg2(__hadd2_rn(b, b)), __hmul2_sat(__lowhigh2highlow(small), a));
    __half2 r = __hfma2(c, m, a);
    out[t] = *(unsigned *)&r;
}

// A loop of ATOMS.CAST.SPIN.64.
KERNEL(shared_or) {
    __shared__ unsigned long long s[4];
    unsigned t = threadIdx.x;
    if (t < 4) s[t] = in[t];
    __syncthreads();
    atomicOr(&s[t & 3], 1ull << (t & 63));
    __syncthreads();
    if (t < 4) ((unsigned long long *)out)[t] = s[t];
}

// Recursion: the stack is not bounded.
__device__ __noinline__ unsigned ladder(unsigned n, unsigned x) {
    if (n == 0) return x;
    unsigned a = ladder(n - 1, x * 3u + n);
    return a + ladder(n - 1, a ^ x);
}
KERNEL(recursion) { out[threadIdx.x] = ladder(threadIdx.x & 3, in[threadIdx.x]); }

struct Base {
    unsigned z = 3;
    __device__ virtual unsigned f(unsigned a) { return a + z; }
};
struct Derived : Base {
    __device__ unsigned f(unsigned a) override {
        unsigned l[4] = {a, z, a * z, 1};
        return l[a & 3] + l[z & 3];
    }
};
KERNEL(virtual_call) {
    unsigned t = threadIdx.x;
    Base b;
    Derived d;
    Base *o = (in[t] & 1) ? &b : (Base *)&d;
    out[t] = o->f(in[t]);
}

// Constants of 16 bits, which sm_70 and sm_75 make by HADD2 with a single-precision constant.
KERNEL(half_constant) {
    unsigned t = threadIdx.x;
    const unsigned short *shorts = (const unsigned short *)in;
    unsigned short v = 0x56f9;
    for (unsigned i = 0; i < shorts[t] % 5; i++) v = (unsigned short)(v * 3 + i);
    ((unsigned short *)out)[t] = v;
}

// Tables of pointers to variables and functions.
typedef unsigned (*Function)(unsigned, unsigned);
__device__ unsigned numbers[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__device__ unsigned zeros[8];
__constant__ unsigned constants[4] = {9, 8, 7, 6};
__device__ unsigned *pointers[4] = {numbers, numbers + 3, zeros + 1, numbers + 7};
__constant__ unsigned *constant_pointers[3] = {numbers + 2, zeros, numbers + 5};
__device__ const unsigned *to_constants[2] = {constants, constants + 2};
__device__ const char *names[3] = {"alpha", "beta", "gamma"};
KERNEL(pointer_tables) {
    unsigned t = threadIdx.x;
    out[t] = *pointers[t & 3] + 10 * *constant_pointers[t % 3] + 100 * to_constants[t & 1][1] + 10000 * names[t % 3][t & 3];
}
__device__ unsigned sum(unsigned x, unsigned y) { return x + y; }
__device__ unsigned product(unsigned x, unsigned y) { return x * y + 1; }
__device__ __noinline__ unsigned spread(unsigned x, unsigned y) {
    unsigned l[8];
    for (unsigned i = 0; i < 8; i++) l[(i + x) & 7] = y + i;
    return l[y & 7] ^ l[0];
}
__device__ Function functions[3] = {sum, product, spread};
__constant__ Function constant_functions[3] = {spread, sum, product};
KERNEL(function_tables) {
    unsigned t = threadIdx.x, x = in[t];
    out[t] = functions[x % 3](x, t) + constant_functions[t % 3](t, x);
}

// BREAK and RET under two predicates, and what divisions by loops need.
KERNEL(divisions) {
    unsigned t = threadIdx.x;
    float q;
    asm("div.rn.ftz.f32 %0, %1, %2;" : "=f"(q) : "f"((float)in[t]), "f"((float)(in[t + 64] % 1000 + 1)));
    out[t] = __float_as_uint(q);
}
