__constant__ float scale[4];
__device__ int counter = 7;
extern "C" __global__ void __launch_bounds__(128) axpy(const float *x, float *y, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] * scale[i & 3] + y[i];
    if (i == 0) counter++;
}
