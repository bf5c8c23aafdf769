// Constant banks of more than 32 KiB: a kernel with parameters that CUDA has had since 12.1, and a large constant.
//   large.ptx: NVRTC, --gpu-architecture=compute_70
//   ptxas -arch=sm_XX large.ptx -o large.cuda129.sm_XX.cubin
// CUDA 12.9 (V12.9.86).
struct Table {
    unsigned low[6600];
    unsigned high[1500];
};

extern "C" __global__ void parameters(const Table table, unsigned *out, unsigned last)
{
    unsigned i = threadIdx.x;
    out[i] = table.low[i * 200] + table.high[i * 40] * 3 + table.high[1499] + last;
}

__constant__ unsigned squares[16384];

extern "C" __global__ void constants(unsigned *out, unsigned last)
{
    unsigned i = threadIdx.x;
    out[i] = squares[i] + squares[i + 12000] * 3 + squares[16383] + last;
}
