// Transpose. Lanes of a warp read neighbours and write words a row apart, each in a sector of its own; with TILED they
// write neighbours, too, by way of shared memory.
extern "C" __global__ void transpose(const float* in, float* out, int n)
{
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32;
#ifdef TILED
    __shared__ float tile[32][33];
    for (int i = threadIdx.y; i < 32; i += 8) {
        tile[i][threadIdx.x] = in[(y + i) * n + x];
    }
    __syncthreads();
    for (int i = threadIdx.y; i < 32; i += 8) {
        out[(blockIdx.x * 32 + i) * n + y + threadIdx.x] = tile[threadIdx.x][i];
    }
#else
    for (int i = threadIdx.y; i < 32; i += 8) {
        out[x * n + y + i] = in[(y + i) * n + x];
    }
#endif
}
