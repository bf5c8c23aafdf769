static __device__ unsigned own = 2000;
__constant__ unsigned factors[2] = {3, 5};
extern "C" __global__ void second(unsigned *out) { out[threadIdx.x] = threadIdx.x * factors[threadIdx.x & 1] + own; }
