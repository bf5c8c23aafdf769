// One sweep of Jacobi's method for Laplace's equation on a grid whose rim is fixed.

extern "C" __global__ void jacobi(const double *now, double *next, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) {
        return;
    }
    int i = y * width + x;
    bool rim = x == 0 || y == 0 || x == width - 1 || y == height - 1;
    next[i] = rim ? now[i] : 0.25 * (now[i - 1] + now[i + 1] + now[i - width] + now[i + width]);
}
