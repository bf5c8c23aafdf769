// Grids that synchronise through the driver's functions, which CUDA's device library (`libcudadevrt`) calls in
// programs of compilers other than nvcc. `tools/rebuild-device-runtime` compiles them (CUDA 11.8).

#define DRIVER extern "C" __device__
DRIVER unsigned long long __cuda_syscall_CGS_get_intrinsic_handle(unsigned scope);
DRIVER int __cuda_syscall_CGS_sync(unsigned long long handle, unsigned flags);
DRIVER int __cuda_syscall_CGS_get_size(unsigned *threads, unsigned *grids, unsigned long long handle);
DRIVER int __cuda_syscall_CGS_get_rank(unsigned *thread, unsigned *grid, unsigned long long handle);
DRIVER int __cuda_syscall_cnpv2GetDeviceCount(int *count);
DRIVER int __cuda_syscall_cnpv2LaunchDevice(void *parameters, void *stream);

// As `rounds` of cooperative.cu, once with a call of all threads, once with a call of one thread of each CTA.
extern "C" __global__ void rounds(unsigned *a, unsigned *b, unsigned n, unsigned rounds) {
    unsigned long long grid = __cuda_syscall_CGS_get_intrinsic_handle(1);
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned round = 0; round < rounds; round++) {
        b[i] = a[i] + a[(i + n / 2 + round) % n];
        if (__cuda_syscall_CGS_sync(grid, 0)) __trap();
        a[i] = b[i];
        __syncthreads();
        if (threadIdx.x == 0 && __cuda_syscall_CGS_sync(grid, 1)) __trap();
        __syncthreads();
    }
}

// Whether each answer is right: 0 if all are. Without a group all calls fail.
extern "C" __global__ void groups(unsigned *a, unsigned *b, unsigned n, unsigned) {
    unsigned long long grid = __cuda_syscall_CGS_get_intrinsic_handle(1);
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned threads = 7, grids = 7, thread = 7, at = 7;
    unsigned wrong = __cuda_syscall_CGS_get_size(&threads, &grids, grid) != 0;
    wrong |= (__cuda_syscall_CGS_get_rank(&thread, &at, grid) != 0) << 1;
    wrong |= (threads != n || grids != 1) << 2 | (thread != i || at != 0) << 3;
    wrong |= (__cuda_syscall_CGS_get_size(nullptr, &grids, grid) != 0) << 4;
    wrong |= (__cuda_syscall_CGS_get_intrinsic_handle(2) != 0) << 5;
    wrong |= (__cuda_syscall_CGS_sync(0, 0) == 0 || __cuda_syscall_CGS_get_rank(&thread, &at, 0) == 0) << 6;
    a[i] = wrong;
}

extern "C" __global__ void counts_devices(int *a) { *a = __cuda_syscall_cnpv2GetDeviceCount(a); }
extern "C" __global__ void launches(void *a) { __cuda_syscall_cnpv2LaunchDevice(a, nullptr); }
