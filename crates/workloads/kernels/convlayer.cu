// Convolution of a layer of a neural network as an implicit matrix product: the matrix of the inputs that each
// output takes is never stored. All three passes of training are such products
//
//     out[point][map] = sum over terms of in[point, term] * weight[term][map]
//
// where in[point, term] is a number of a stack of planes or, outside them, zero. Tables say where: as libraries
// of the years of Volta precompute offsets.
//
//     pass              point         map      term
//     forward           output pixel  filter   channel and tap
//     gradient of data  input pixel   channel  filter and tap (backwards, in steps of the stride)
//     gradient of taps  tap           filter   output pixel
//
// A CTA computes a tile of 128 points and 64 maps, of which each thread holds 8 x 8 in registers. Slices of both
// operands pass through two buffers in shared memory. Products are added by fmaf() in the order of terms, so that
// results are the same to the bit.

#define POINTS 128
#define MAPS 64
#define DEPTH 8
#define THREADS 128
#define PART 8
#define POINT_THREADS (POINTS / PART)
#define PAD 4

// Of a point or term: offset of its plane, its row and column, which are added up; its offset in the other array
// (of a point: the output, of a term: the weights).
struct Place {
    int plane, row, column, other;
};

// Sizes: of the problem, of a plane, distance of two maps in the weights and in the output.
struct Sizes {
    int points, maps, terms;
    int height, width;
    int weight_step, out_step;
    // Planes are read at every place that this divides.
    int stride;
};

template <bool STRIDED>
__device__ __forceinline__ void product(const float *in, const float *weights, float *out, const Place *of_points,
                                        const Place *of_terms, const Sizes &sizes)
{
    __shared__ __align__(16) float in_slice[2][DEPTH][POINTS];
    __shared__ __align__(16) float weight_slice[2][DEPTH][MAPS + PAD];

    int thread = threadIdx.x;
    int my_term = thread % DEPTH;
    int map = blockIdx.y * MAPS + thread / DEPTH;
    int point = blockIdx.x * POINTS + thread;
    Place own = {0, 0, 0, 0};
    if (point < sizes.points) {
        own = of_points[point];
    }
    float in_next[DEPTH], weight_next[MAPS * DEPTH / THREADS];

    auto load = [&](int base) {
#pragma unroll
        for (int i = 0; i < DEPTH; i++) {
            in_next[i] = 0.0f;
            if (base + i < sizes.terms && point < sizes.points) {
                int4 term = __ldg((const int4 *)&of_terms[base + i]);
                int row = own.row + term.y, column = own.column + term.z;
                bool inside = true;
                if (STRIDED) {
                    inside = row % sizes.stride == 0 && column % sizes.stride == 0;
                    row /= sizes.stride;
                    column /= sizes.stride;
                }
                if (inside && (unsigned)row < (unsigned)sizes.height && (unsigned)column < (unsigned)sizes.width) {
                    in_next[i] = in[own.plane + term.x + row * sizes.width + column];
                }
            }
        }
        int offset = base + my_term < sizes.terms ? of_terms[base + my_term].other : 0;
#pragma unroll
        for (int i = 0; i < MAPS * DEPTH / THREADS; i++) {
            int at = map + i * (THREADS / DEPTH);
            bool inside = at < sizes.maps && base + my_term < sizes.terms;
            weight_next[i] = inside ? weights[offset + at * sizes.weight_step] : 0.0f;
        }
    };
    auto store = [&](int buffer) {
#pragma unroll
        for (int i = 0; i < DEPTH; i++) {
            in_slice[buffer][i][thread] = in_next[i];
        }
#pragma unroll
        for (int i = 0; i < MAPS * DEPTH / THREADS; i++) {
            weight_slice[buffer][my_term][thread / DEPTH + i * (THREADS / DEPTH)] = weight_next[i];
        }
    };

    // A thread's points and maps are two runs of four each, half a tile apart.
    int my_point = thread % POINT_THREADS * 4;
    int my_map = thread / POINT_THREADS * 4;
    float sums[PART][PART];
#pragma unroll
    for (int i = 0; i < PART * PART; i++) {
        sums[i / PART][i % PART] = 0.0f;
    }

    load(0);
    store(0);
    __syncthreads();
    for (int base = 0, buffer = 0; base < sizes.terms; base += DEPTH, buffer ^= 1) {
        bool more = base + DEPTH < sizes.terms;
        if (more) {
            load(base + DEPTH);
        }
#pragma unroll
        for (int i = 0; i < DEPTH; i++) {
            float x[PART], y[PART];
            const float *from = in_slice[buffer][i];
            *(float4 *)&x[0] = *(const float4 *)&from[my_point];
            *(float4 *)&x[4] = *(const float4 *)&from[POINTS / 2 + my_point];
            from = weight_slice[buffer][i];
            *(float4 *)&y[0] = *(const float4 *)&from[my_map];
            *(float4 *)&y[4] = *(const float4 *)&from[MAPS / 2 + my_map];
#pragma unroll
            for (int j = 0; j < PART * PART; j++) {
                sums[j / PART][j % PART] = fmaf(x[j / PART], y[j % PART], sums[j / PART][j % PART]);
            }
        }
        if (more) {
            store(buffer ^ 1);
        }
        __syncthreads();
    }

#pragma unroll
    for (int p = 0; p < PART; p++) {
        int to = blockIdx.x * POINTS + p / 4 * (POINTS / 2) + my_point + p % 4;
        if (to < sizes.points) {
            int offset = of_points[to].other;
#pragma unroll
            for (int q = 0; q < PART; q++) {
                int to_map = blockIdx.y * MAPS + q / 4 * (MAPS / 2) + my_map + q % 4;
                if (to_map < sizes.maps) {
                    out[offset + to_map * sizes.out_step] = sums[p][q];
                }
            }
        }
    }
}

// Forward, and the gradient of taps.
extern "C" __global__ void __launch_bounds__(THREADS)
implicit_gemm(const float *in, const float *weights, float *out, const Place *of_points, const Place *of_terms,
              Sizes sizes)
{
    product<false>(in, weights, out, of_points, of_terms, sizes);
}

// The gradient of data.
extern "C" __global__ void __launch_bounds__(THREADS)
implicit_gemm_strided(const float *in, const float *weights, float *out, const Place *of_points,
                      const Place *of_terms, Sizes sizes)
{
    product<true>(in, weights, out, of_points, of_terms, sizes);
}
