// Lanes of a mask that meet, and a CTA barrier whose number and count are in a register.
typedef unsigned u32;

extern "C" __global__ void sync(u32* out, const u32* in) {
    __shared__ u32 shared[64];
    u32 i = threadIdx.x, t = blockIdx.x * blockDim.x + i;
    u32 a = in[t], v = a;
    u32 odd = __ballot_sync(~0u, i & 1);
    if (i & 1) {
        for (u32 j = 0; j < (i & 31); j++) v = v * 3 + j;
        __syncwarp(odd);
        v += __shfl_sync(odd, v, 1);
    }
    out[t] = v;
    shared[i] = a;
    asm volatile("barrier.sync %0, %1;" ::"r"(3 + (in[1024] & 1)), "r"(64));
    out[t + 128] = shared[63 - i];
}
