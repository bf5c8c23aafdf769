// Cheapest path down a grid, where each step goes straight or diagonally down: dynamic programming
// row by row. A launch advances `steps` rows; CTAs overlap by a halo of `steps` columns on each side.

#define WIDTH 256

extern "C" __global__ void pathfinder(const int *wall, const int *src, int *dst, int cols, int steps, int first_row)
{
    __shared__ int now[WIDTH];
    __shared__ int next[WIDTH];

    int t = threadIdx.x;
    int inner = WIDTH - 2 * steps;
    int x = blockIdx.x * inner - steps + t;
    bool in_grid = x >= 0 && x < cols;

    // Neighbours in the tile; at the rim of the grid a column is its own neighbour.
    int west = x > 0 ? t - 1 : t;
    int east = x < cols - 1 ? t + 1 : t;

    if (in_grid) {
        now[t] = src[x];
    }
    __syncthreads();

    bool computed = false;
    for (int i = 0; i < steps; ++i) {
        computed = false;
        if (in_grid && t >= i + 1 && t <= WIDTH - i - 2) {
            computed = true;
            int least = min(min(now[west], now[t]), now[east]);
            next[t] = least + wall[(first_row + i) * cols + x];
        }
        __syncthreads();
        if (i == steps - 1) {
            break;
        }
        if (computed) {
            now[t] = next[t];
        }
        __syncthreads();
    }
    if (computed) {
        dst[x] = next[t];
    }
}
