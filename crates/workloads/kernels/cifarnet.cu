// A network that classifies small pictures in colours: three layers of convolutions, each with a pooling of 3 x 3 that
// halves the side, and two layers that are fully connected. A CTA computes a plane (a picture's, in grid y), a thread one
// of its points.
//
// Products are added by fmaf() only, so that results are the same to the bit.

#define TAPS 5

// Beyond the edges is zero. Filters are by plane of the output, then by plane of the input, row and column.
extern "C" __global__ void convolve(const float *in, const float *filters, const float *bias, float *out, int planes,
                                    int rectify)
{
    int side = blockDim.x;
    int x = threadIdx.x;
    int y = threadIdx.y;
    const float *own = in + blockIdx.y * planes * side * side;
    const float *filter = filters + blockIdx.x * planes * TAPS * TAPS;
    float sum = bias[blockIdx.x];
    for (int plane = 0; plane < planes; plane++) {
#pragma unroll 1
        for (int row = 0; row < TAPS; row++) {
            int from = y + row - TAPS / 2;
            if (from >= 0 && from < side) {
#pragma unroll
                for (int column = 0; column < TAPS; column++) {
                    int at = x + column - TAPS / 2;
                    float value = at >= 0 && at < side ? own[from * side + at] : 0.0f;
                    sum = fmaf(value, filter[row * TAPS + column], sum);
                }
            }
        }
        own += side * side;
        filter += TAPS * TAPS;
    }
    out[(blockIdx.y * gridDim.x + blockIdx.x) * side * side + y * side + x] = rectify ? fmaxf(sum, 0.0f) : sum;
}

// The largest of 3 x 3 points, or zero. Windows end with the plane.
extern "C" __global__ void max_pool(const float *in, float *out)
{
    int side = 2 * blockDim.x;
    const float *own = in + (blockIdx.y * gridDim.x + blockIdx.x) * side * side;
    float largest = 0.0f;
    for (int y = 2 * threadIdx.y; y < min(2 * (int)threadIdx.y + 3, side); y++) {
        for (int x = 2 * threadIdx.x; x < min(2 * (int)threadIdx.x + 3, side); x++) {
            largest = fmaxf(largest, own[y * side + x]);
        }
    }
    out[((blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.y) * blockDim.x + threadIdx.x] = largest;
}

// Their average.
extern "C" __global__ void average_pool(const float *in, float *out)
{
    int side = 2 * blockDim.x;
    const float *own = in + (blockIdx.y * gridDim.x + blockIdx.x) * side * side;
    float sum = 0.0f;
    int count = 0;
    for (int y = 2 * threadIdx.y; y < min(2 * (int)threadIdx.y + 3, side); y++) {
        for (int x = 2 * threadIdx.x; x < min(2 * (int)threadIdx.x + 3, side); x++) {
            sum += own[y * side + x];
            count++;
        }
    }
    out[((blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.y) * blockDim.x + threadIdx.x] = sum / count;
}

// A thread per output; grid x is the picture.
extern "C" __global__ void connect(const float *in, const float *weights, const float *bias, float *out, int inputs)
{
    const float *own = in + blockIdx.x * inputs;
    const float *row = weights + threadIdx.x * inputs;
    float sum = bias[threadIdx.x];
    for (int i = 0; i < inputs; i++) {
        sum = fmaf(own[i], row[i], sum);
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Shares of the classes, at most 32.
extern "C" __global__ void softmax(const float *in, float *out)
{
    __shared__ float powers[32];
    const float *own = in + blockIdx.x * blockDim.x;
    float largest = own[0];
    for (int i = 1; i < blockDim.x; i++) {
        largest = fmaxf(largest, own[i]);
    }
    powers[threadIdx.x] = expf(own[threadIdx.x] - largest);
    __syncthreads();
    float sum = 0.0f;
    for (int i = 0; i < blockDim.x; i++) {
        sum += powers[i];
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = powers[threadIdx.x] / sum;
}
