// What only code without optimisation has: the number and the count of a barrier in one register, and
// `__constant__` variables read through their address in global memory. One CTA of 96 threads.
//   nvcc -ptx -O3 -std=c++17 -arch=sm_70 unoptimised.cu
// and cubins without debug information, which would name folders: the PTX of nvcc -G without its .file, .loc,
// .section lines and `debug` target, then
//   ptxas -g -arch=sm_XX unoptimised.debug.ptx -o unoptimised.sm_XX.cubin
// CUDA 11.8 (V11.8.89).
__constant__ unsigned long long table[4] = {10, 0x100000020ull, 30, 0x200000040ull};
extern "C" __global__ void unoptimised(unsigned *out, unsigned barrier, unsigned threads) {
    __shared__ unsigned from[32];
    unsigned t = threadIdx.x, got = 0;
    if (t < 32) {
        asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
        got = from[31 - t];
    } else if (t < 64) {
        from[t - 32] = t * 7;
        __threadfence_block();
        asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
    }
    out[t] = got + (unsigned)(table[t & 3] >> (t & 31));
}
