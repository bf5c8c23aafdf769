// A recurrent layer, LSTM or GRU, whose input is as wide as its state and enters the gates without weights: what
// DeepBench asks of the library. Of each step: a product of the recurrent weights with the states of the batch,
// then a kernel with a thread for each number of the state. Or all steps in one kernel with the weights in
// registers.
//
// Weights are R (gates * hidden rows of hidden); states of a step are one after the other, gates likewise.

#include <math.h>

#define THREADS 128
#define TILE 32
#define SLICES 4  // warps of a CTA, each of which adds up a quarter of the terms
#define SLICE (TILE / SLICES)
#define PAD 4

// c (n columns of m) = A (m x k) * b (n columns of k). A tile of 32 x 32 for each CTA, of which each thread holds
// 4 x 8, as libraries have for few columns: each warp computes the whole tile of its slice of the terms, and the
// four results are added up at the end.
//
// A is R, by rows, or R transposed, whose columns then are the rows of R.
template <bool TRANSPOSED>
__device__ __forceinline__ void product(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ union {
        struct {
            float a[2][TILE][TILE + PAD];
            float b[2][TILE][TILE + PAD];
        } slices;
        float sums[SLICES][TILE][TILE + 1];
    } shared;

    int thread = threadIdx.x;
    int lane = thread % TILE, warp = thread / TILE;
    int row = blockIdx.x * TILE, col = blockIdx.y * TILE;
    float a_next[TILE / SLICES], b_next[TILE / SLICES];

    auto load = [&](int base) {
#pragma unroll
        for (int i = 0; i < TILE / SLICES; i++) {
            int line = warp + i * SLICES;
            int r = row + (TRANSPOSED ? lane : line), d = base + (TRANSPOSED ? line : lane);
            a_next[i] = r < m && d < k ? a[TRANSPOSED ? d * m + r : r * k + d] : 0.0f;
            b_next[i] = col + line < n && base + lane < k ? b[(col + line) * k + base + lane] : 0.0f;
        }
    };
    auto store = [&](int buffer) {
#pragma unroll
        for (int i = 0; i < TILE / SLICES; i++) {
            int line = warp + i * SLICES;
            shared.slices.a[buffer][TRANSPOSED ? line : lane][TRANSPOSED ? lane : line] = a_next[i];
            shared.slices.b[buffer][lane][line] = b_next[i];
        }
    };

    int my_row = lane % 8 * 4, my_col = lane / 8 * 8;
    float sums[4][8];
#pragma unroll
    for (int i = 0; i < 32; i++) {
        sums[i / 8][i % 8] = 0.0f;
    }

    load(0);
    store(0);
    __syncthreads();
    for (int base = 0, buffer = 0; base < k; base += TILE, buffer ^= 1) {
        bool more = base + TILE < k;
        if (more) {
            load(base + TILE);
        }
#pragma unroll
        for (int i = 0; i < SLICE; i++) {
            float x[4], y[8];
            const float *from = shared.slices.b[buffer][warp * SLICE + i];
            *(float4 *)&x[0] = *(const float4 *)&shared.slices.a[buffer][warp * SLICE + i][my_row];
            *(float4 *)&y[0] = *(const float4 *)&from[my_col];
            *(float4 *)&y[4] = *(const float4 *)&from[my_col + 4];
#pragma unroll
            for (int j = 0; j < 32; j++) {
                sums[j / 8][j % 8] = fmaf(x[j / 8], y[j % 8], sums[j / 8][j % 8]);
            }
        }
        if (more) {
            store(buffer ^ 1);
        }
        __syncthreads();
    }

#pragma unroll
    for (int j = 0; j < 32; j++) {
        shared.sums[warp][my_col + j % 8][my_row + j / 8] = sums[j / 8][j % 8];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TILE / SLICES; i++) {
        int line = warp + i * SLICES;
        float sum = shared.sums[0][line][lane];
#pragma unroll
        for (int slice = 1; slice < SLICES; slice++) {
            sum += shared.sums[slice][line][lane];
        }
        if (row + lane < m && col + line < n) {
            c[(col + line) * m + row + lane] = sum;
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
recurrent(const float *weights, const float *states, float *sums, int m, int n, int k)
{
    product<false>(weights, states, sums, m, n, k);
}

extern "C" __global__ void __launch_bounds__(THREADS)
recurrent_back(const float *weights, const float *gradients, float *sums, int m, int n, int k)
{
    product<true>(weights, gradients, sums, m, n, k);
}

// The forward product of a batch of few: a warp for each row.
extern "C" __global__ void __launch_bounds__(THREADS)
recurrent_of_few(const float *weights, const float *states, float *sums, int m, int n, int k)
{
    int row = (blockIdx.x * THREADS + threadIdx.x) / warpSize;
    if (row >= m) {
        return;
    }
    float sum = 0.0f;
    for (int i = threadIdx.x % warpSize; i < k; i += warpSize) {
        sum = fmaf(weights[row * k + i], states[blockIdx.y * k + i], sum);
    }
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, distance);
    }
    if (threadIdx.x % warpSize == 0) {
        sums[blockIdx.y * m + row] = sum;
    }
}

__device__ __forceinline__ float sigmoid(float x)
{
    return 1.0f / (1.0f + expf(-x));
}

// Gates input, forget, output and candidate. `cells` and `states` are of the step before and of this one.
extern "C" __global__ void lstm(const float *sums, const float *in, const float *bias, float *gates, float *cells,
                                float *states, int hidden, int batch)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, size = hidden * batch;
    if (i >= size) {
        return;
    }
    int at = i / hidden * 4 * hidden + i % hidden;
    float gate[4];
#pragma unroll
    for (int g = 0; g < 4; g++) {
        float sum = sums[at + g * hidden] + in[i] + bias[g * hidden + i % hidden];
        gate[g] = g < 3 ? sigmoid(sum) : tanhf(sum);
        gates[at + g * hidden] = gate[g];
    }
    float cell = gate[1] * cells[i] + gate[0] * gate[3];
    cells[size + i] = cell;
    states[size + i] = gate[2] * tanhf(cell);
}

// Gates reset, update and candidate.
extern "C" __global__ void gru(const float *sums, const float *in, const float *bias, float *gates, float *states,
                               int hidden, int batch)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, size = hidden * batch;
    if (i >= size) {
        return;
    }
    int at = i / hidden * 3 * hidden + i % hidden;
    float reset = sigmoid(sums[at] + in[i] + bias[i % hidden]);
    float update = sigmoid(sums[at + hidden] + in[i] + bias[hidden + i % hidden]);
    float candidate = tanhf(in[i] + bias[2 * hidden + i % hidden] + reset * sums[at + 2 * hidden]);
    gates[at] = reset;
    gates[at + hidden] = update;
    gates[at + 2 * hidden] = candidate;
    states[size + i] = (1.0f - update) * candidate + update * states[i];
}

// Gradients of the sums from those of the step's output, of the product with the next step's, and of what the
// state carries over beside it (of an LSTM: the cell).
extern "C" __global__ void lstm_back(const float *out_gradients, const float *products, const float *gates,
                                     const float *cells, const float *carried, float *gradients, float *in_gradients,
                                     float *carry, int hidden, int batch)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, size = hidden * batch;
    if (i >= size) {
        return;
    }
    int at = i / hidden * 4 * hidden + i % hidden;
    float in = gates[at], forget = gates[at + hidden], out = gates[at + 2 * hidden], candidate = gates[at + 3 * hidden];
    float state = out_gradients[i] + products[i];
    float squashed = tanhf(cells[size + i]);
    float cell = carried[i] + state * out * (1.0f - squashed * squashed);
    float by_in = cell * candidate * in * (1.0f - in);
    float by_forget = cell * cells[i] * forget * (1.0f - forget);
    float by_out = state * squashed * out * (1.0f - out);
    float by_candidate = cell * in * (1.0f - candidate * candidate);
    gradients[at] = by_in;
    gradients[at + hidden] = by_forget;
    gradients[at + 2 * hidden] = by_out;
    gradients[at + 3 * hidden] = by_candidate;
    in_gradients[i] = by_in + by_forget + by_out + by_candidate;
    carry[i] = cell * forget;
}

extern "C" __global__ void gru_back(const float *out_gradients, const float *products, const float *gates,
                                    const float *sums, const float *states, const float *carried, float *gradients,
                                    float *in_gradients, float *carry, int hidden, int batch)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, size = hidden * batch;
    if (i >= size) {
        return;
    }
    int at = i / hidden * 3 * hidden + i % hidden;
    float reset = gates[at], update = gates[at + hidden], candidate = gates[at + 2 * hidden];
    float state = out_gradients[i] + products[i] + carried[i];
    float by_candidate = state * (1.0f - update) * (1.0f - candidate * candidate);
    float by_update = state * (states[i] - candidate) * update * (1.0f - update);
    float by_reset = by_candidate * sums[at + 2 * hidden] * reset * (1.0f - reset);
    gradients[at] = by_reset;
    gradients[at + hidden] = by_update;
    gradients[at + 2 * hidden] = by_candidate * reset;
    in_gradients[i] = by_reset + by_update + by_candidate;
    carry[i] = state * update;
}

// All steps at once: a CTA for each input of the batch, a thread for each row of the weights, which it keeps.
#define WIDEST 64

template <int GATES>
__device__ __forceinline__ void all_steps(const float *weights, const float *in, const float *bias, float *cells,
                                          float *states, int hidden, int batch, int steps)
{
    __shared__ __align__(16) float state[WIDEST];
    __shared__ float rows[GATES][WIDEST];

    int gate = threadIdx.x / WIDEST, at = threadIdx.x % WIDEST;
    bool mine = at < hidden;
    float own[WIDEST];
#pragma unroll
    for (int i = 0; i < WIDEST; i++) {
        own[i] = mine && i < hidden ? weights[(gate * hidden + at) * hidden + i] : 0.0f;
    }
    float own_bias = mine ? bias[gate * hidden + at] : 0.0f;
    int place = blockIdx.x * hidden + at, size = hidden * batch;
    float cell = 0.0f;
    if (gate == 0) {
        state[at] = mine ? states[place] : 0.0f;
        cell = GATES == 4 && mine ? cells[place] : 0.0f;
    }
    __syncthreads();
    for (int step = 0; step < steps; step++) {
        float x = mine ? in[step * size + place] : 0.0f;
        float sum = 0.0f;
#pragma unroll
        for (int i = 0; i < WIDEST; i += 4) {
            float4 four = *(const float4 *)&state[i];
            sum = fmaf(own[i], four.x, sum);
            sum = fmaf(own[i + 1], four.y, sum);
            sum = fmaf(own[i + 2], four.z, sum);
            sum = fmaf(own[i + 3], four.w, sum);
        }
        // The candidate of a GRU needs its reset gate first.
        bool last = gate == GATES - 1;
        if (GATES == 3 && last) {
            rows[gate][at] = sum;
        } else {
            sum = sum + x + own_bias;
            rows[gate][at] = last ? tanhf(sum) : sigmoid(sum);
        }
        __syncthreads();
        if (GATES == 3 ? last : gate == 0) {
            float next;
            if (GATES == 4) {
                cell = rows[1][at] * cell + rows[0][at] * rows[GATES - 1][at];
                next = rows[2][at] * tanhf(cell);
            } else {
                float candidate = tanhf(x + own_bias + rows[0][at] * sum);
                next = (1.0f - rows[1][at]) * candidate + rows[1][at] * state[at];
            }
            state[at] = mine ? next : 0.0f;
            if (mine) {
                states[(step + 1) * size + place] = next;
                if (GATES == 4) {
                    cells[(step + 1) * size + place] = cell;
                }
            }
        }
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(4 * WIDEST)
lstm_persistent(const float *weights, const float *in, const float *bias, float *cells, float *states, int hidden,
                int batch, int steps)
{
    all_steps<4>(weights, in, bias, cells, states, hidden, batch, steps);
}

extern "C" __global__ void __launch_bounds__(3 * WIDEST)
gru_persistent(const float *weights, const float *in, const float *bias, float *states, int hidden, int batch,
               int steps)
{
    all_steps<3>(weights, in, bias, nullptr, states, hidden, batch, steps);
}
