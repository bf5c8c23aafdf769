// A recurrent network that predicts the next price of a series after each of its prices, in double precision: units of long
// short-term memory whose input is a price, and a sum of their states. One CTA does all prices, a thread per unit; the
// first thread adds up the prediction.
//
// Gates are input, forget, output and candidate. Weights of the states are by gate, then by the unit that they come from.

#define UNITS 100
#define GATES 4

// The straight line that stands for the sigmoid.
__device__ __forceinline__ double hard_sigmoid(double x)
{
    return fmin(fmax(0.2 * x + 0.5, 0.0), 1.0);
}

// The last of `out_weights` is the bias of the sum.
extern "C" __global__ void lstm_prices(const double *prices, const double *weights, const double *recurrent,
                                       const double *bias, const double *out_weights, double *states,
                                       double *predictions, int steps)
{
    __shared__ double state[UNITS];
    int unit = threadIdx.x;
    double cell = 0.0;
    for (int step = 0; step < steps; step++) {
        double sums[GATES] = {0.0, 0.0, 0.0, 0.0};
        if (step > 0) {
            for (int from = 0; from < UNITS; from++) {
#pragma unroll
                for (int gate = 0; gate < GATES; gate++) {
                    sums[gate] += state[from] * recurrent[(gate * UNITS + from) * UNITS + unit];
                }
            }
            __syncthreads();
        }
#pragma unroll
        for (int gate = 0; gate < GATES; gate++) {
            sums[gate] += prices[step] * weights[gate * UNITS + unit] + bias[gate * UNITS + unit];
        }
        cell = hard_sigmoid(sums[1]) * cell + hard_sigmoid(sums[0]) * tanh(sums[3]);
        state[unit] = hard_sigmoid(sums[2]) * tanh(cell);
        states[step * UNITS + unit] = state[unit];
        __syncthreads();
        if (unit == 0) {
            double sum = out_weights[UNITS];
            for (int from = 0; from < UNITS; from++) {
                sum += out_weights[from] * state[from];
            }
            predictions[step] = sum;
        }
    }
}
