// Many features of CUDA C++ in one kernel: nvcc_sm80_features_lineinfo.ptx is what nvcc 11.8 makes of it with
// `-ptx -arch=sm_80 -lineinfo`, with the paths of its headers shortened.
#include <cstdio>
#include <cuda_fp16.h>
#include <mma.h>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__device__ __managed__ int counter;
__constant__ float coef[16] = {1,2,3};
texture<float, 2> tx;
struct V { virtual __device__ int f(int x) = 0; };
struct A : V { __device__ int f(int x) override { return x + 1; } };
struct B : V { __device__ int f(int x) override { return x * 2; } };
__device__ int (*fp)(int);
__device__ __noinline__ int fact(int n) { return n < 2 ? 1 : n * fact(n - 1); }
template <int N> __global__ void k(float* a, half2* h, int n, V* v) {
  extern __shared__ double dyn[];
  __shared__ float tile[N][N + 1];
  A aa; B bb; V* p = n & 1 ? (V*)&aa : (V*)&bb; if (v) p = v;
  int x = p->f(n);
  switch (n) { case 0: x += 3; break; case 1: x *= 7; break; case 2: x ^= 9; break; case 3: x -= 4; break; case 4: x <<= 3; break; case 5: x = fact(x); break; case 6: x = fp(x); break; case 7: x/=3; break; }
  tile[threadIdx.x][threadIdx.y] = a[x] * coef[n & 15] + tex2D(tx, n, x);
  __syncthreads();
  cg::grid_group g = cg::this_grid();
  dyn[threadIdx.x] = sin((double)tile[threadIdx.y][threadIdx.x]);
  h[x] = __hfma2(h[x], h[x + 1], h[x + 2]);
  if (x == 5) printf("x %d %f\n", x, dyn[0]);
  atomicAdd(&counter, x); 
  a[x] = __shfl_down_sync(~0u, a[x], 3) + __popc(__ballot_sync(~0u, x > 2)) + expf(a[x]) / a[x+2];
}
template __global__ void k<16>(float*, half2*, int, V*);
