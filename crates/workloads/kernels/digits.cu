// A neural network that reads handwritten digits: two layers of features, each of which sees squares of 5 x 5 at
// every other place, and two layers of neurons that see all of the layer before. Many digits at a time.

#define SIDE 29
#define SIDE1 13
#define SIDE2 5
#define MAPS1 6
#define SEEN 5

// The activation function of all neurons.
__device__ __forceinline__ float activation(float sum)
{
    return 1.7159f * tanhf(0.66666667f * sum);
}

// Adds what a neuron sees of a map.
__device__ __forceinline__ float seen(float sum, const float *weights, const float *map, int pitch)
{
    for (int row = 0; row < SEEN; row++) {
        for (int column = 0; column < SEEN; column++) {
            sum += weights[row * SEEN + column] * map[row * pitch + column];
        }
    }
    return sum;
}

// First layer: a map of a digit per CTA, one thread per neuron. Of a map's weights the first is the bias.
extern "C" __global__ void first_features(const float *digits, const float *weights, float *out)
{
    int map = blockIdx.x;
    int digit = blockIdx.y;
    const float *place = digits + digit * SIDE * SIDE + 2 * threadIdx.y * SIDE + 2 * threadIdx.x;
    const float *mine = weights + map * (1 + SEEN * SEEN);
    float sum = seen(mine[0], mine + 1, place, SIDE);
    out[(digit * MAPS1 + map) * SIDE1 * SIDE1 + threadIdx.y * SIDE1 + threadIdx.x] = activation(sum);
}

// Second layer: likewise, over all maps of the first.
extern "C" __global__ void second_features(const float *in, const float *weights, float *out)
{
    int map = blockIdx.x;
    int digit = blockIdx.y;
    const float *place = in + digit * MAPS1 * SIDE1 * SIDE1 + 2 * threadIdx.y * SIDE1 + 2 * threadIdx.x;
    const float *mine = weights + map * (1 + MAPS1 * SEEN * SEEN);
    float sum = mine[0];
    for (int from = 0; from < MAPS1; from++) {
        sum = seen(sum, mine + 1 + from * SEEN * SEEN, place + from * SIDE1 * SIDE1, SIDE1);
    }
    out[(digit * gridDim.x + map) * SIDE2 * SIDE2 + threadIdx.y * SIDE2 + threadIdx.x] = activation(sum);
}

// Third and fourth layer: a neuron per CTA of one thread.
extern "C" __global__ void neuron(const float *in, const float *weights, float *out, int inputs)
{
    int digit = blockIdx.y;
    const float *mine = weights + blockIdx.x * (1 + inputs);
    const float *values = in + digit * inputs;
    float sum = mine[0];
    for (int i = 0; i < inputs; i++) {
        sum += mine[1 + i] * values[i];
    }
    out[digit * gridDim.x + blockIdx.x] = activation(sum);
}
