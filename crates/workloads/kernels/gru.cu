// A step of a recurrent network that predicts the next price of a series: gated units whose input is the last price. One
// CTA, a thread per unit.
//
// Gates are update, reset and candidate. Weights of the states are by gate, then by the unit that they come from.

#define UNITS 100

// The straight line that stands for the sigmoid, in double precision.
__device__ __forceinline__ float hard_sigmoid(float x)
{
    return (float)fmin(fmax(0.2 * x + 0.5, 0.0), 1.0);
}

extern "C" __global__ void gru_step(const float *price, const float *weights, const float *recurrent, const float *bias,
                                    const float *before, float *states)
{
    __shared__ float resets[UNITS];
    const float *by_reset = recurrent + UNITS * UNITS;
    const float *by_candidate = by_reset + UNITS * UNITS;
    int unit = threadIdx.x * blockDim.y + threadIdx.y;

    float update = 0.0f;
    float reset = 0.0f;
    for (int from = 0; from < UNITS; from++) {
        update += before[from] * recurrent[from * UNITS + unit];
        reset += before[from] * by_reset[from * UNITS + unit];
    }
    update = hard_sigmoid(*price * weights[unit] + update + bias[unit]);
    resets[unit] = hard_sigmoid(*price * weights[UNITS + unit] + reset + bias[UNITS + unit]);
    __syncthreads();

    float sum = 0.0f;
    for (int from = 0; from < UNITS; from++) {
        sum += resets[from] * before[from] * by_candidate[from * UNITS + unit];
    }
    float candidate = tanhf(*price * weights[2 * UNITS + unit] + sum + bias[2 * UNITS + unit]);
    states[unit] = (1.0f - update) * before[unit] + update * candidate;
}
