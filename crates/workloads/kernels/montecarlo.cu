// Prices of European call options by Monte Carlo, one option per CTA, all with the same random samples, which another
// kernel makes from even ones.

#define THREADS 256
#define MOST_OPTIONS 1024

struct Option {
    float price, strike;
    // Of the logarithm of the price at the end: mean, and standard deviation.
    float drift, spread;
};

__constant__ Option options[MOST_OPTIONS];

// Quantiles of the normal distribution at `count` even places, by the approximation of B. Moro (Risk, February 1995).
extern "C" __global__ void normal_quantiles(float *samples, int count)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        float share = (float)(i + 1) / (float)(count + 1);
        float y = share - 0.5f;
        float z;
        if (fabsf(y) < 0.42f) {
            z = y * y;
            z = y * (((-25.44106049637f * z + 41.39119773534f) * z - 18.61500062529f) * z + 2.50662823884f) /
                ((((3.13082909833f * z - 21.06224101826f) * z + 23.08336743743f) * z - 8.47351093090f) * z + 1.0f);
        } else {
            z = y > 0.0f ? logf(-logf(1.0f - share)) : logf(-logf(share));
            z = 0.3374754822726147f + z * (0.9761690190917186f + z * (0.1607979714918209f + z * (0.0276438810333863f +
                z * (0.0038405729373609f + z * (0.0003951896511919f + z * (0.0000321767881768f +
                z * (0.0000002888167364f + z * 0.0000003960315187f)))))));
            z = y > 0.0f ? z : -z;
        }
        samples[i] = z;
    }
}

// Sums of an option's gains and of their squares over all samples.
extern "C" __global__ void price_options(const float *samples, float2 *results, int count)
{
    __shared__ float sums[THREADS];
    __shared__ float squares[THREADS];
    float price = options[blockIdx.x].price;
    float strike = options[blockIdx.x].strike;
    float drift = options[blockIdx.x].drift;
    float spread = options[blockIdx.x].spread;
    float sum = 0.0f;
    float square = 0.0f;
    for (int i = threadIdx.x; i < count; i += THREADS) {
        float gain = fmaxf(price * __expf(drift + spread * samples[i]) - strike, 0.0f);
        sum += gain;
        square += gain * gain;
    }
    sums[threadIdx.x] = sum;
    squares[threadIdx.x] = square;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            sums[threadIdx.x] += sums[threadIdx.x + half];
            squares[threadIdx.x] += squares[threadIdx.x + half];
        }
    }
    if (threadIdx.x == 0) {
        results[blockIdx.x] = make_float2(sums[0], squares[0]);
    }
}
