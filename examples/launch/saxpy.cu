// y = a x + y, and the sum of y by one warp.

extern "C" __global__ void saxpy(float a, const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a * x[i] + y[i];
    }
}

extern "C" __global__ void sum(const float *values, float *total, int n)
{
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += 32) {
        sum += values[i];
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    }
    if (threadIdx.x == 0) {
        *total = sum;
    }
}
