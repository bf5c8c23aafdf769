// A kernel with more than 4 KiB of parameters, which CUDA has had since 12.1.
//   large.ptx: NVRTC, --gpu-architecture=compute_70
//   ptxas -arch=sm_XX large.ptx -o large.cuda129.sm_XX.cubin
// CUDA 12.9 (V12.9.86).
struct Table { unsigned words[1500]; };
extern "C" __global__ void pick(const Table table, unsigned *out, unsigned last)
{
    out[threadIdx.x] = table.words[threadIdx.x * 40] + table.words[1499] + last;
}
