// Functions that are called by address, as in code for the debugger. Kernels as in cases.cu.
//   nvcc -ptx -O3 -std=c++17 -arch=sm_70 calls.cu
// and cubins without debug information, which would name folders: the PTX of nvcc -G without debug, .file, .loc
// and .section lines, then
//   ptxas -g -arch=sm_XX calls.debug.ptx -o calls.sm_XX.cubin
// CUDA 11.8 (V11.8.89).
__device__ __noinline__ unsigned ladder(unsigned n, unsigned x) {
    if (n == 0) return x;
    unsigned a = ladder(n - 1, x * 3u + n);
    return a + ladder(n - 1, a ^ x);
}
__device__ __noinline__ unsigned rest(unsigned a, unsigned b) { return a % (b | 1); }
__device__ __noinline__ unsigned twice(unsigned x) { return 2 * rest(x, 1000); }
extern "C" __global__ void calls(unsigned *out, const unsigned *in) {
    unsigned t = threadIdx.x;
    out[t] = twice(in[t]) + rest(in[t], t) + ladder(t & 3, t);
}

// Tables of functions and of virtual functions in memory; a constant of a called function.
__device__ unsigned short spread(unsigned x) { unsigned short v = 0x4f64; for (unsigned i = 0; i < (x & 3); i++) v = v * 3 + i; return v; }
__device__ unsigned sum(unsigned x, unsigned y) { return x + y; }
__device__ unsigned product(unsigned x, unsigned y) { return x * y + rest(x, y); }
__constant__ unsigned (*table[2])(unsigned, unsigned) = {sum, product};
struct Base {
    unsigned m;
    __device__ Base(unsigned m) : m(m) {}
    __device__ virtual unsigned f(unsigned a) { return m + a; }
};
struct Derived : Base {
    __device__ Derived(unsigned m) : Base(m) {}
    __device__ unsigned f(unsigned a) override { return m * a + spread(a); }
};
extern "C" __global__ void pointers(unsigned *out, const unsigned *in) {
    unsigned t = threadIdx.x, x = in[t];
    Base base(x);
    Derived derived(x);
    Base *chosen = x & 1 ? &base : &derived;
    unsigned (*function)(unsigned, unsigned) = table[x % 3 & 1];
    out[t] = chosen->f(t) + function(x, t) + (function == product ? 1000 : 0);
}
