// The functions of the driver about grids whose CTAs wait for each other. CUDA's device library (`libcudadevrt`) calls
// them. `tools/rebuild-device-runtime` compiles them.

// Address of the launch's workspace, 0 if it is not cooperative.
static __device__ __forceinline__ unsigned long long workspace() {
    unsigned high, low;
    asm("mov.u32 %0, %%envreg1;" : "=r"(high));
    asm("mov.u32 %0, %%envreg2;" : "=r"(low));
    return (unsigned long long)high << 32 | low;
}

static __device__ __forceinline__ bool first_of(uint3 index) { return (index.x | index.y | index.z) == 0; }

static __device__ __forceinline__ unsigned ctas() { return gridDim.x * gridDim.y * gridDim.z; }

// Called by one thread of each CTA. The highest bit of the count changes when all CTAs have arrived: CTA 0 adds what
// the others leave to it. Code that nvcc has inlined in the same kernel counts in the same way.
static __device__ __forceinline__ void meet(unsigned *count) {
    __threadfence();
    unsigned amount = first_of(blockIdx) ? 0x80000000u - (ctas() - 1) : 1;
    unsigned before = atomicAdd(count, amount);
    while (((before ^ *(volatile unsigned *)count) & 0x80000000u) == 0) {}
    __threadfence();
}

extern "C" __device__ __noinline__ unsigned long long __cuda_syscall_CGS_get_intrinsic_handle(unsigned scope) {
    const unsigned GRID = 1;
    return scope == GRID ? workspace() : 0;
}

// With flag 1 one thread of each CTA calls, else all of them. Returns 0, or 1 if the group does not exist.
extern "C" __device__ __noinline__ int __cuda_syscall_CGS_sync(unsigned long long handle, unsigned flags) {
    if (handle != workspace() || handle == 0) return 1;
    unsigned *count = (unsigned *)handle + 1;
    if (flags & 1) {
        meet(count);
        return 0;
    }
    __syncthreads();
    if (first_of(threadIdx)) meet(count);
    __syncthreads();
    return 0;
}

static __device__ __forceinline__ int give(unsigned *threads, unsigned thread, unsigned *grids, unsigned grid, unsigned long long handle) {
    if (handle != workspace() || handle == 0) return 1;
    if (threads) *threads = thread;
    if (grids) *grids = grid;
    return 0;
}

extern "C" __device__ __noinline__ int __cuda_syscall_CGS_get_size(unsigned *threads, unsigned *grids, unsigned long long handle) {
    return give(threads, ctas() * (blockDim.x * blockDim.y * blockDim.z), grids, 1, handle);
}

extern "C" __device__ __noinline__ int __cuda_syscall_CGS_get_rank(unsigned *thread, unsigned *grid, unsigned long long handle) {
    unsigned cta = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    unsigned lane = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    return give(thread, cta * (blockDim.x * blockDim.y * blockDim.z) + lane, grid, 0, handle);
}
