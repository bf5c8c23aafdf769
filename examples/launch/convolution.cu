// A convolution whose filter is in constant memory, with a count of the samples that it reads outside.
// cubins: sm_75

constexpr int most_radius = 8;
__constant__ float filter[2 * most_radius + 1];
__constant__ int radius;
__device__ unsigned int outside;

extern "C" __global__ void convolve(const float *in, float *out, int n)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= n)
        return;
    float sum = 0.0f;
    for (int tap = -radius; tap <= radius; tap++) {
        int from = at + tap;
        if (from < 0 || from >= n)
            atomicAdd(&outside, 1u);
        else
            sum += filter[tap + radius] * in[from];
    }
    out[at] = sum;
}
