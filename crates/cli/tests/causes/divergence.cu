// Sum of each block's elements. Threads that add are those whose number is a multiple of a power of two, some in every
// warp; with DENSE they are the first ones. MODULO decides by a remainder, which is an integer division.
extern "C" __global__ void reduce(const float* in, float* out)
{
    __shared__ float part[256];
    unsigned tid = threadIdx.x;
    part[tid] = in[blockIdx.x * blockDim.x + tid];
    __syncthreads();
#ifdef DENSE
    for (unsigned d = blockDim.x / 2; d > 0; d /= 2) {
        if (tid < d) {
            part[tid] += part[tid + d];
        }
        __syncthreads();
    }
#else
    for (unsigned d = 1; d < blockDim.x; d *= 2) {
#ifdef MODULO
        if (tid % (2 * d) == 0) {
            part[tid] += part[tid + d];
        }
#else
        if ((tid & (2 * d - 1)) == 0) {
            part[tid] += part[tid + d];
        }
#endif
        __syncthreads();
    }
#endif
    if (tid == 0) {
        out[blockIdx.x] = part[0];
    }
}
