// Particle filter in single precision that follows a disk through a noisy video. Per frame `likelihood`
// moves the particles and weighs them by what the video shows there, `sum` adds up the weights,
// `normalize_weights` makes probabilities and running sums of them, and `find_index` chooses particles
// anew: those with large weights several times. `video` is indexed by x, y and frame.

#define THREADS 512
// Brightness of the background and of the disk, and twice the noise's variance.
#define BACKGROUND 100.0f
#define FOREGROUND 228.0f
#define NOISE 400.0f

// Linear congruential generator; the upper bits make a number above 0, at most 1.
__device__ __forceinline__ unsigned int advance(unsigned int seed)
{
    return seed * 1664525u + 1013904223u;
}

__device__ __forceinline__ float uniform(unsigned int seed)
{
    return (float)((seed >> 8) + 1) * (1.0f / (1 << 24));
}

// A number from the standard normal distribution (Box and Muller).
__device__ __forceinline__ float normal(unsigned int *seed)
{
    unsigned int first = advance(*seed);
    unsigned int second = advance(first);
    *seed = second;
    return sqrtf(-2.0f * logf(uniform(first))) * cospif(2.0f * uniform(second));
}

__device__ __forceinline__ int clamp(int value, int end)
{
    return min(max(value, 0), end - 1);
}

extern "C" __global__ void likelihood(const float *chosen_x, const float *chosen_y, float *x, float *y,
                                      unsigned int *seeds, const int2 *disk, const unsigned char *video, int *pixels,
                                      float *raw, float *partial, int particles, int points, int width, int height,
                                      int frames, int frame)
{
    __shared__ float tree[THREADS];
    int i = blockIdx.x * THREADS + threadIdx.x;

    tree[threadIdx.x] = 0.0f;
    if (i < particles) {
        x[i] = chosen_x[i] + 1.0f + 5.0f * normal(&seeds[i]);
        y[i] = chosen_y[i] - 2.0f + 2.0f * normal(&seeds[i]);

        int *mine = pixels + i * points;
        for (int p = 0; p < points; ++p) {
            int px = clamp(__float2int_rn(x[i]) + disk[p].x, width);
            int py = clamp(__float2int_rn(y[i]) + disk[p].y, height);
            mine[p] = (px * height + py) * frames + frame;
        }
        float sum = 0.0f;
        for (int p = 0; p < points; ++p) {
            float from_background = (float)video[mine[p]] - BACKGROUND;
            float from_foreground = (float)video[mine[p]] - FOREGROUND;
            sum += from_background * from_background - from_foreground * from_foreground;
        }
        raw[i] = 1.0f / (float)particles * expf(sum / (NOISE * (float)points));
        tree[threadIdx.x] = raw[i];
    }
    __syncthreads();

    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            tree[threadIdx.x] += tree[threadIdx.x + half];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = tree[0];
    }
}

// One thread adds the CTAs' sums, and draws for all of `normalize_weights`.
extern "C" __global__ void sum(float *partial, unsigned int *seeds, int particles)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i == 0) {
        int count = (particles + THREADS - 1) / THREADS;
        float total = 0.0f;
        for (int c = 0; c < count; ++c) {
            total += partial[c];
        }
        partial[0] = total;
        seeds[particles] = advance(seeds[particles]);
    }
}

// One thread makes the running sums. They are of the weights before the division: CTAs do not wait for
// each other, so the thread could meet weights that are not divided yet.
extern "C" __global__ void normalize_weights(const float *raw, float *weights, const float *partial,
                                             float *cumulative, float *thresholds, const unsigned int *seeds,
                                             int particles)
{
    __shared__ float total;
    __shared__ float first;
    int i = blockIdx.x * THREADS + threadIdx.x;

    if (threadIdx.x == 0) {
        total = partial[0];
    }
    __syncthreads();
    if (i < particles) {
        weights[i] = raw[i] / total;
    }
    __syncthreads();
    if (i == 0) {
        cumulative[0] = raw[0];
        for (int k = 1; k < particles; ++k) {
            cumulative[k] = raw[k] + cumulative[k - 1];
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        first = uniform(seeds[particles]) / (float)particles;
    }
    __syncthreads();
    if (i < particles) {
        thresholds[i] = (first + (float)i / (float)particles) * total;
    }
}

// The first particle whose running sum reaches the threshold.
extern "C" __global__ void find_index(const float *x, const float *y, const float *cumulative, const float *thresholds,
                                      float *chosen_x, float *chosen_y, int particles)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < particles) {
        int index = particles - 1;
        for (int k = 0; k < particles; ++k) {
            if (cumulative[k] >= thresholds[i]) {
                index = k;
                break;
            }
        }
        chosen_x[i] = x[index];
        chosen_y[i] = y[index];
    }
}
