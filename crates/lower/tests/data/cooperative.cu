// A grid that synchronises all its CTAs, by cooperative groups.
//   nvcc -ptx -O3 -arch=sm_70 cooperative.cu
//   nvcc -cubin -O3 -arch=sm_XX cooperative.cu -o cooperative.sm_XX.cubin
// CUDA 11.8 (V11.8.89).
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

// Each element becomes the sum of the two that are `n / 2` apart, `rounds` times.
extern "C" __global__ void rounds(unsigned *a, unsigned *b, unsigned n, unsigned rounds) {
    auto grid = cg::this_grid();
    unsigned i = grid.thread_rank();
    for (unsigned round = 0; round < rounds; round++) {
        b[i] = a[i] + a[(i + n / 2 + round) % n];
        grid.sync();
        a[i] = b[i];
        grid.sync();
    }
}
