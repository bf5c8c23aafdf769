// Two source files of a host library, with kernels and variables of the same names.
//   nvcc -gencode arch=compute_75,code=sm_75 -gencode arch=compute_86,code=sm_86 -Xcompiler -fPIC -c host_second.cu
// host_first.cu also with -gencode arch=compute_75,code=compute_75, then
//   ld -shared --unresolved-symbols=ignore-all -s -o host.elf host_first.o host_second.o
// CUDA 11.8 (V11.8.89).
__device__ unsigned counter = 7;
static __device__ unsigned own = 100;
extern "C" __global__ void first(unsigned *out) { out[threadIdx.x] = threadIdx.x + counter + own; }
