// Product of two square matrices by tiles. A tile of b is stored transposed, so that the lanes of a warp read words a
// row of 32 apart: all of one bank. With ROW = 33 they are of 32 banks.
#ifndef ROW
#define ROW 32
#endif

extern "C" __global__ void product(const float* a, const float* b, float* c, int n)
{
    __shared__ float as[32][ROW], bs[32][ROW];
    int tx = threadIdx.x, ty = threadIdx.y;
    int column = blockIdx.x * 32 + tx, row = blockIdx.y * 32 + ty;
    float sum = 0.0f;
    for (int first = 0; first < n; first += 32) {
        as[ty][tx] = a[row * n + first + tx];
        bs[tx][ty] = b[(first + ty) * n + column];
        __syncthreads();
        for (int k = 0; k < 32; k++) {
            sum += as[ty][k] * bs[tx][k];
        }
        __syncthreads();
    }
    c[row * n + column] = sum;
}
