// Sort of numbers by buckets, then within buckets by merging groups of four (E. Sintorn and U. Assarsson, "Fast Parallel
// GPU-Sorting Using a Hybrid Algorithm", 2008). The host chooses the buckets by a histogram and places them.

#define THREADS 256
#define BINS 1024
#define BUCKETS 1024
#define EACH 16

// How many numbers are in each of the equal parts of their range.
extern "C" __global__ void histogram1024(const float *in, int *counts, int count, float low, float scale)
{
    __shared__ int own[BINS];
    for (int bin = threadIdx.x; bin < BINS; bin += THREADS) {
        own[bin] = 0;
    }
    __syncthreads();
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < count; i += gridDim.x * THREADS) {
        atomicAdd(&own[min((int)((in[i] - low) * scale), BINS - 1)], 1);
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < BINS; bin += THREADS) {
        atomicAdd(&counts[bin], own[bin]);
    }
}

// Of each number its bucket, by a search among the bounds, and its rank among the CTA's numbers in the bucket; of the CTA
// how many are in each.
extern "C" __global__ void bucket_count(const float *in, const float *bounds, int *bucket_of, int *rank_of, int *counts,
                                        int count, int buckets)
{
    __shared__ int own[BUCKETS];
    for (int bucket = threadIdx.x; bucket < buckets; bucket += THREADS) {
        own[bucket] = 0;
    }
    __syncthreads();
    int first = blockIdx.x * (THREADS * EACH);
    int end = min(first + THREADS * EACH, count);
    for (int i = first + threadIdx.x; i < end; i += THREADS) {
        float value = in[i];
        int bucket = 0;
        for (int step = buckets / 2; step > 0; step /= 2) {
            bucket += value < bounds[bucket + step - 1] ? 0 : step;
        }
        bucket_of[i] = bucket;
        rank_of[i] = atomicAdd(&own[bucket], 1);
    }
    __syncthreads();
    for (int bucket = threadIdx.x; bucket < buckets; bucket += THREADS) {
        counts[blockIdx.x * buckets + bucket] = own[bucket];
    }
}

// Where in its bucket each CTA begins, and the size of the bucket: a thread per bucket.
extern "C" __global__ void bucket_prefix(int *counts, int *sizes, int ctas, int buckets)
{
    int bucket = blockIdx.x * THREADS + threadIdx.x;
    if (bucket < buckets) {
        int sum = 0;
        for (int cta = 0; cta < ctas; cta++) {
            int own = counts[cta * buckets + bucket];
            counts[cta * buckets + bucket] = sum;
            sum += own;
        }
        sizes[bucket] = sum;
    }
}

// Each number to its place in its bucket.
extern "C" __global__ void bucket_scatter(const float *in, const int *bucket_of, const int *rank_of, const int *counts,
                                          const int *starts, float *out, int count, int buckets)
{
    __shared__ int own[BUCKETS];
    for (int bucket = threadIdx.x; bucket < buckets; bucket += THREADS) {
        own[bucket] = starts[bucket] + counts[blockIdx.x * buckets + bucket];
    }
    __syncthreads();
    int first = blockIdx.x * (THREADS * EACH);
    int end = min(first + THREADS * EACH, count);
    for (int i = first + threadIdx.x; i < end; i += THREADS) {
        out[own[bucket_of[i]] + rank_of[i]] = in[i];
    }
}

__device__ void order(float &a, float &b)
{
    float least = fminf(a, b);
    b = fmaxf(a, b);
    a = least;
}

// Sorts groups of four.
extern "C" __global__ void merge_first(float4 *groups, int count)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < count) {
        float4 group = groups[i];
        order(group.x, group.y);
        order(group.z, group.w);
        order(group.x, group.z);
        order(group.y, group.w);
        order(group.y, group.z);
        groups[i] = group;
    }
}

// Four that ascend from a bitonic sequence.
__device__ void settle(float4 &group)
{
    order(group.x, group.z);
    order(group.y, group.w);
    order(group.x, group.y);
    order(group.z, group.w);
}

// Merges pairs of sorted runs of `length` groups within buckets, a thread per pair. Bucket i has the groups from
// starts[i] / 4 up to starts[i + 1] / 4.
extern "C" __global__ void merge_pass(const float4 *in, float4 *out, const int *starts, int length, int pairs,
                                      int buckets)
{
    int thread = blockIdx.x * THREADS + threadIdx.x;
    int bucket = thread / pairs;
    if (bucket >= buckets) {
        return;
    }
    int end = starts[bucket + 1] / 4;
    int a = starts[bucket] / 4 + thread % pairs * 2 * length;
    if (a >= end) {
        return;
    }
    int a_end = min(a + length, end);
    int b = a_end;
    int b_end = min(b + length, end);
    int to = a;
    float4 held = in[a++];
    while (a < a_end || b < b_end) {
        // The run whose next group begins with the smaller number.
        bool from_a = a < a_end && (b >= b_end || in[a].x < in[b].x);
        float4 next = from_a ? in[a++] : in[b++];
        float4 low = make_float4(fminf(held.x, next.w), fminf(held.y, next.z), fminf(held.z, next.y),
                                 fminf(held.w, next.x));
        held = make_float4(fmaxf(held.x, next.w), fmaxf(held.y, next.z), fmaxf(held.z, next.y), fmaxf(held.w, next.x));
        settle(low);
        settle(held);
        out[to++] = low;
    }
    out[to] = held;
}

// Leaves out what fills the buckets up: a CTA per bucket.
extern "C" __global__ void merge_pack(const float *in, const int *starts, const int *sizes, const int *places, float *out)
{
    for (int i = threadIdx.x; i < sizes[blockIdx.x]; i += THREADS) {
        out[places[blockIdx.x] + i] = in[starts[blockIdx.x] + i];
    }
}
