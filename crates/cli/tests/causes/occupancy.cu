// Follows links through memory: latency, which only other warps hide. SHARED bytes of shared memory that nothing needs
// leave room for one CTA only.
#ifndef SHARED
#define SHARED 9000
#endif
extern "C" __global__ void follow(const int* next, int* out, int steps)
{
    __shared__ int unused[SHARED];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int at = i;
    for (int k = 0; k < steps; k++) {
        at = next[at];
    }
    if (at < 0) {
        unused[threadIdx.x] = at;
        __syncthreads();
        at = unused[at & 63];
    }
    out[i] = at;
}
