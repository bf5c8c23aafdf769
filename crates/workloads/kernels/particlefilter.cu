// Particle filter that follows a disk through a noisy video. Per frame `likelihood` moves the particles
// and weighs them by what the video shows there, `sum` adds up the weights, `normalize_weights` makes
// probabilities and running sums of them, and `find_index` chooses particles anew: those with large weights
// several times. `video` is indexed by x, y and frame. The kernels are there in single precision and, as
// Rodinia's program has computed since 2012, in double precision; those have names that end in `_double`.
// Random numbers have the 24 bits of the generator in both.

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

__device__ __forceinline__ int nearest(float value)
{
    return __float2int_rn(value);
}

__device__ __forceinline__ int nearest(double value)
{
    return __double2int_rn(value);
}

__device__ __forceinline__ int clamp(int value, int end)
{
    return min(max(value, 0), end - 1);
}

// The weights go to `raw` and, if it is there, to `weights`.
template <typename Real>
__device__ __forceinline__ void weigh(const Real *chosen_x, const Real *chosen_y, Real *x, Real *y, unsigned int *seeds,
                                      const int2 *disk, const unsigned char *video, int *pixels, Real *raw,
                                      Real *weights, Real *partial, int particles, int points, int width, int height,
                                      int frames, int frame)
{
    __shared__ Real tree[THREADS];
    int i = blockIdx.x * THREADS + threadIdx.x;

    tree[threadIdx.x] = Real(0);
    if (i < particles) {
        x[i] = chosen_x[i] + Real(1) + Real(5) * normal(&seeds[i]);
        y[i] = chosen_y[i] - Real(2) + Real(2) * normal(&seeds[i]);

        int *mine = pixels + i * points;
        for (int p = 0; p < points; ++p) {
            int px = clamp(nearest(x[i]) + disk[p].x, width);
            int py = clamp(nearest(y[i]) + disk[p].y, height);
            mine[p] = (px * height + py) * frames + frame;
        }
        Real sum = Real(0);
        for (int p = 0; p < points; ++p) {
            Real from_background = (Real)video[mine[p]] - Real(BACKGROUND);
            Real from_foreground = (Real)video[mine[p]] - Real(FOREGROUND);
            sum += from_background * from_background - from_foreground * from_foreground;
        }
        raw[i] = Real(1) / (Real)particles * exp(sum / (Real(NOISE) * (Real)points));
        tree[threadIdx.x] = raw[i];
        if (weights) {
            weights[i] = raw[i];
        }
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
template <typename Real>
__device__ __forceinline__ void add(Real *partial, unsigned int *seeds, int particles)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i == 0) {
        int count = (particles + THREADS - 1) / THREADS;
        Real total = Real(0);
        for (int c = 0; c < count; ++c) {
            total += partial[c];
        }
        partial[0] = total;
        seeds[particles] = advance(seeds[particles]);
    }
}

// The first particle whose running sum reaches the threshold.
template <typename Real>
__device__ __forceinline__ void choose(const Real *x, const Real *y, const Real *cumulative, const Real *thresholds,
                                       Real *chosen_x, Real *chosen_y, int particles)
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

extern "C" __global__ void likelihood(const float *chosen_x, const float *chosen_y, float *x, float *y,
                                      unsigned int *seeds, const int2 *disk, const unsigned char *video, int *pixels,
                                      float *raw, float *partial, int particles, int points, int width, int height,
                                      int frames, int frame)
{
    weigh<float>(chosen_x, chosen_y, x, y, seeds, disk, video, pixels, raw, nullptr, partial, particles, points, width,
                 height, frames, frame);
}

extern "C" __global__ void sum(float *partial, unsigned int *seeds, int particles)
{
    add<float>(partial, seeds, particles);
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

extern "C" __global__ void find_index(const float *x, const float *y, const float *cumulative, const float *thresholds,
                                      float *chosen_x, float *chosen_y, int particles)
{
    choose<float>(x, y, cumulative, thresholds, chosen_x, chosen_y, particles);
}

extern "C" __global__ void likelihood_double(const double *chosen_x, const double *chosen_y, double *x, double *y,
                                             unsigned int *seeds, const int2 *disk, const unsigned char *video,
                                             int *pixels, double *raw, double *weights, double *partial, int particles,
                                             int points, int width, int height, int frames, int frame)
{
    weigh<double>(chosen_x, chosen_y, x, y, seeds, disk, video, pixels, raw, weights, partial, particles, points, width,
                  height, frames, frame);
}

extern "C" __global__ void sum_double(double *partial, unsigned int *seeds, int particles)
{
    add<double>(partial, seeds, particles);
}

// The weights are divided in place, and one thread makes the running sums of the divided ones: it stores each and
// loads it again for the next one. The compiler would keep the sum in a register and unroll the loop; the empty
// statement, after which it takes memory for changed, prevents both. Weights of other CTAs may not be divided yet, so
// the thread divides those itself.
extern "C" __global__ void normalize_weights_double(const double *raw, double *weights, const double *partial,
                                                    double *cumulative, double *thresholds, const unsigned int *seeds,
                                                    int particles)
{
    __shared__ double total;
    __shared__ double first;
    int i = blockIdx.x * THREADS + threadIdx.x;

    if (threadIdx.x == 0) {
        total = partial[0];
    }
    __syncthreads();
    if (i < particles) {
        weights[i] = weights[i] / total;
    }
    __syncthreads();
    if (i == 0) {
        int own = min(particles, THREADS);
        cumulative[0] = weights[0];
#pragma unroll 1
        for (int k = 1; k < own; ++k) {
            cumulative[k] = weights[k] + cumulative[k - 1];
            asm volatile("" ::: "memory");
        }
#pragma unroll 1
        for (int k = own; k < particles; ++k) {
            cumulative[k] = raw[k] / total + cumulative[k - 1];
            asm volatile("" ::: "memory");
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        first = 1 / (double)particles * uniform(seeds[particles]);
    }
    __syncthreads();
    if (i < particles) {
        thresholds[i] = first + (double)i / (double)particles;
    }
}

extern "C" __global__ void find_index_double(const double *x, const double *y, const double *cumulative,
                                             const double *thresholds, double *chosen_x, double *chosen_y,
                                             int particles)
{
    choose<double>(x, y, cumulative, thresholds, chosen_x, chosen_y, particles);
}
