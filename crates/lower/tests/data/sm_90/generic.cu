// Generic addresses of shared, local and global memory. Thread t writes row r to out[128 * r + t];
// tests/hopper.rs has the same rows.
typedef unsigned u32;
typedef unsigned long long u64;

__device__ __noinline__ u32 hash(const u32* p, int n) {
    u32 sum = 0;
    for (int i = 0; i < n; i++) sum = sum * 31 + p[i];
    return sum;
}

__device__ __noinline__ void put(u32* p, u32 value) {
    for (u32 i = 0; i < 4; i++) p[i] = value + i * i;
}

extern "C" __global__ void generic(u32* out, u32* in) {
    __shared__ u32 shared[64];
    __shared__ u64 counts[2];
    u32 i = threadIdx.x, t = blockIdx.x * blockDim.x + i;
    u32 a = in[t], b = in[t + 128];
    u32 local[12];
    for (u32 j = 0; j < 12; j++) local[j] = a * j + b;
    shared[i] = a;
    if (i < 2) counts[i] = 0;
    __syncthreads();
    u32* p = a % 3 == 0 ? &shared[b % 64] : a % 3 == 1 ? &local[b % 12] : &in[256 + b % 128];
    out[t + 128 * 0] = *p;
    out[t + 128 * 1] = hash(local, 12);
    out[t + 128 * 2] = hash(shared, 64);
    out[t + 128 * 3] = (__isShared(p) ? 1 : 0) + (__isLocal(p) ? 2 : 0) + (__isGlobal(p) ? 4 : 0);
    __syncthreads();
    put(a % 2 ? local : shared + i / 4 * 4, i / 4);
    __syncthreads();
    out[t + 128 * 4] = local[b % 4] + shared[i];
    // Atomics on generic addresses: all CTAs add to counts in global memory, each to its own in shared memory.
    u64* count = a % 2 ? counts : (u64*)(in + 1024);
    atomicAdd(count, (u64)b << 4);
    for (;;) {
        u64 old = *(volatile u64*)(count + 1);
        if (atomicCAS(count + 1, old, old + a) == old) break;
    }
    __syncthreads();
    out[t + 128 * 5] = (u32)counts[i % 2] ^ (u32)(counts[i % 2] >> 32);
}
