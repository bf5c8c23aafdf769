// Kernels of the test programs. tools/rebuild-test-programs makes kernels.fatbin (machine code of sm_75 and PTX)
// and kernels.ptx of them.
#include <cassert>
#include <cooperative_groups.h>
#include <cstdio>

__constant__ float factor = 2.0f;
__device__ unsigned counter = 5;
__managed__ int shared_total = 100;

extern "C" __global__ void saxpy(int n, float a, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

// One of several parameter kinds: a structure with a pointer, and small types.
struct Job {
    const int *from;
    int *to;
    short step;
    char add;
};
extern "C" __global__ void jobs(Job job, unsigned char mask, double scale, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) job.to[i] = (int)((job.from[i * job.step] + job.add) * scale) & mask;
}

extern "C" __global__ void scale(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= factor;
    if (i == 0) atomicAdd(&counter, 1u);
}

extern "C" __global__ void reverse(int *x) {
    extern __shared__ int part[];
    part[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = part[blockDim.x - 1 - threadIdx.x];
}

extern "C" __global__ void add_shared(int *x, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] += 1;
    if (threadIdx.x == 0) shared_total += n;
}

// Takes a while, in proportion to `rounds`.
extern "C" __global__ void spin(unsigned *out, int rounds) {
    unsigned x = threadIdx.x;
    for (int i = 0; i < rounds; i++) x = x * 1664525u + 1013904223u;
    out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

extern "C" __global__ void greet(int who) {
    if (threadIdx.x < 2) printf("thread %d of %d says %s %.2f\n", threadIdx.x, blockDim.x, "hello", who * 0.5);
}

extern "C" __global__ void check_less(const int *x, int limit) { assert(x[threadIdx.x] < limit); }

extern "C" __global__ void wild(int *x, long long offset) { x[offset] = 1; }

extern "C" __global__ void crooked(char *x) { *(int *)(x + 1) = 1; }

extern "C" __global__ void stop() { __trap(); }

extern "C" __global__ void meet(unsigned *sum, unsigned *seen) {
    auto grid = cooperative_groups::this_grid();
    if (threadIdx.x == 0) atomicAdd(sum, blockIdx.x + 1);
    grid.sync();
    if (threadIdx.x == 0) seen[blockIdx.x] = *(volatile unsigned *)sum;
}
