// Heat on a chip: an explicit five-point stencil over temperature and power. Each launch advances
// `steps` time steps: a CTA loads a tile with a halo as wide as the steps it takes, and the valid
// part of the tile shrinks by one cell on every side per step (a "pyramid").

#define SIDE 16

__device__ __forceinline__ bool within(int value, int low, int high)
{
    return value >= low && value <= high;
}

extern "C" __global__ void hotspot(const float *power, const float *src, float *dst, int cols, int rows, int steps,
                                   float step_over_cap, float inv_rx, float inv_ry, float inv_rz, float ambient)
{
    __shared__ float now[SIDE][SIDE];
    __shared__ float heat[SIDE][SIDE];
    __shared__ float next[SIDE][SIDE];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int inner = SIDE - 2 * steps;
    int x = blockIdx.x * inner - steps + tx;
    int y = blockIdx.y * inner - steps + ty;
    bool in_grid = within(x, 0, cols - 1) && within(y, 0, rows - 1);
    int index = y * cols + x;

    if (in_grid) {
        now[ty][tx] = src[index];
        heat[ty][tx] = power[index];
    }
    __syncthreads();

    // Neighbours in the tile; at the edge of the chip a cell is its own neighbour.
    int north = y > 0 ? ty - 1 : ty;
    int south = y < rows - 1 ? ty + 1 : ty;
    int west = x > 0 ? tx - 1 : tx;
    int east = x < cols - 1 ? tx + 1 : tx;

    bool computed = false;
    for (int i = 0; i < steps; ++i) {
        computed = false;
        if (in_grid && within(tx, i + 1, SIDE - i - 2) && within(ty, i + 1, SIDE - i - 2)) {
            computed = true;
            float centre = now[ty][tx];
            next[ty][tx] = centre + step_over_cap * (heat[ty][tx]
                + (now[south][tx] + now[north][tx] - 2.0f * centre) * inv_ry
                + (now[ty][east] + now[ty][west] - 2.0f * centre) * inv_rx
                + (ambient - centre) * inv_rz);
        }
        __syncthreads();
        if (i == steps - 1) {
            break;
        }
        if (computed) {
            now[ty][tx] = next[ty][tx];
        }
        __syncthreads();
    }
    if (computed) {
        dst[index] = next[ty][tx];
    }
}
