// One training step of a two-layer perceptron, the part between input and hidden layer; the host
// does the small output layer between the two launches. Row 0 and column 0 of the weight matrix
// belong to the bias. A CTA of SIDE x SIDE threads handles SIDE inputs x SIDE hidden units.

#define SIDE 16
// As doubles the update is computed in double precision and rounded once on storing.
#define RATE 0.3
#define MOMENTUM 0.3

// Weighted inputs of each CTA's SIDE rows, added up by a tree over the rows: partial[cta][unit].
extern "C" __global__ void layer_forward(const float *input, const float *weights, float *partial, int hidden)
{
    __shared__ float node[SIDE];
    __shared__ float product[SIDE][SIDE];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * SIDE + ty + 1;
    int stride = hidden + 1;

    if (tx == 0) {
        node[ty] = input[row];
    }
    __syncthreads();
    product[ty][tx] = weights[row * stride + tx + 1];
    __syncthreads();
    product[ty][tx] = product[ty][tx] * node[ty];
    __syncthreads();

    for (int half = 1; half < SIDE; half *= 2) {
        if (ty % (2 * half) == 0) {
            product[ty][tx] = product[ty][tx] + product[ty + half][tx];
        }
        __syncthreads();
    }
    // One thread of each row writes one unit's sum.
    if (tx == 0) {
        partial[blockIdx.y * hidden + ty] = product[0][ty];
    }
}

// weights += RATE * delta * input + MOMENTUM * previous change, the constants and the sum in Real.
template <typename Real>
__device__ __forceinline__ void adjust(const float *delta, const float *input, float *weights, float *change, int hidden)
{
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * SIDE + ty + 1;
    int unit = tx + 1;
    int index = row * (hidden + 1) + unit;

    Real step = Real(RATE) * delta[unit] * input[row] + Real(MOMENTUM) * change[index];
    weights[index] += step;
    change[index] = step;
    __syncthreads();

    if (ty == 0 && blockIdx.y == 0) {
        Real bias_step = Real(RATE) * delta[unit] + Real(MOMENTUM) * change[unit];
        weights[unit] += bias_step;
        change[unit] = bias_step;
    }
}

extern "C" __global__ void adjust_weights(const float *delta, const float *input, float *weights, float *change, int hidden)
{
    adjust<double>(delta, input, weights, change, hidden);
}

extern "C" __global__ void adjust_weights_single(const float *delta, const float *input, float *weights, float *change, int hidden)
{
    adjust<float>(delta, input, weights, change, hidden);
}
