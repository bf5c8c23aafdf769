// Prices of European call options by binomial trees, one option per CTA. From the values at the leaves the steps go
// back in time; a tile of values goes back many steps in shared memory at a time.

#define THREADS 256
// Steps that a tile goes back at a time; so many of its values are then without successors.
#define DEPTH 32
#define MOST_OPTIONS 1024

struct Option {
    float price, strike;
    // Logarithm of a move of the price.
    float move;
    // Discounted probabilities of a move up and down.
    float up, down;
};

__constant__ Option options[MOST_OPTIONS];

// `values` has a row of steps + 1 values for each option. The number of steps is a multiple of DEPTH.
extern "C" __global__ void binomial(float *values, float *results, int steps)
{
    __shared__ float later[THREADS];
    __shared__ float earlier[THREADS];
    int thread = threadIdx.x;
    float up = options[blockIdx.x].up;
    float down = options[blockIdx.x].down;
    float *row = values + blockIdx.x * (steps + 1);
    for (int i = thread; i <= steps; i += THREADS) {
        float price = options[blockIdx.x].price * expf(options[blockIdx.x].move * (float)(2 * i - steps));
        row[i] = fmaxf(price - options[blockIdx.x].strike, 0.0f);
    }
    for (int last = steps; last > 0; last -= DEPTH) {
        for (int base = 0; base < last; base += THREADS - DEPTH) {
            int top = min(THREADS - 1, last - base);
            __syncthreads();
            if (thread <= top) {
                later[thread] = row[base + thread];
            }
            for (int end = top - 1; end > top - DEPTH; end -= 2) {
                __syncthreads();
                if (thread <= end) {
                    earlier[thread] = up * later[thread + 1] + down * later[thread];
                }
                __syncthreads();
                if (thread < end) {
                    later[thread] = up * earlier[thread + 1] + down * earlier[thread];
                }
            }
            if (thread <= top - DEPTH) {
                row[base + thread] = later[thread];
            }
        }
    }
    if (thread == 0) {
        results[blockIdx.x] = row[0];
    }
}
