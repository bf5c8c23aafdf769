// Functions that are called by address, as in code for the debugger. Kernels as in cases.cu.
//   nvcc -ptx -O3 -std=c++17 -arch=sm_70 calls.cu
// and cubins without debug information, which would name folders: the PTX of nvcc -G without its .file, .loc
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
