// compile: sm_80
// A layer of a transformer in half precision, with sums in single precision: layer norm, products with weights on
// tensor cores (with bias, GELU or a residual), and attention in one pass over the keys.
//
// Matrices are row-major; weights have a row for each output. Tiles in shared memory have rows of 64 values, in eight
// units of 16 bytes, which are exchanged so that matrix loads of eight rows meet no bank twice.

#include <cuda_fp16.h>
#include <cuda_pipeline.h>

#define WIDTH 64         // values of a tile's row, and of a head
#define TILE 64          // rows of a tile
#define WARPS 4          // each has 16 rows of the result
#define UNIT 8           // values of 16 bytes
#define UNITS (WIDTH / UNIT)
#define BLOCKS (TILE / 8)  // of eight columns, in a warp's result

typedef __half Tile[TILE][WIDTH];
// A warp's 16 rows of 64 columns: this lane's two columns of each block, in rows lane / 4 and lane / 4 + 8.
typedef float Result[BLOCKS][4];

__device__ __forceinline__ int lane()
{
    return threadIdx.x % 32;
}

__device__ __forceinline__ int warp()
{
    return threadIdx.x / 32;
}

__device__ __forceinline__ __half *unit(Tile &tile, int row, int number)
{
    return &tile[row][(number ^ row % UNITS) * UNIT];
}

// Starts copying rows `row` to `row + TILE` of a matrix, with zeros after its last one.
__device__ __forceinline__ void fetch(Tile &tile, const __half *matrix, int row, int rows, size_t stride)
{
    for (int i = threadIdx.x; i < TILE * UNITS; i += 32 * WARPS) {
        int at = i / UNITS;
        bool is_inside = row + at < rows;
        const __half *from = matrix + (is_inside ? (row + at) * stride : 0) + i % UNITS * UNIT;
        __pipeline_memcpy_async(unit(tile, at, i % UNITS), from, 16, is_inside ? 0 : 16);
    }
    __pipeline_commit();
}

__device__ __forceinline__ unsigned shared_address(const void *pointer)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ void load_matrices(unsigned (&out)[4], const __half *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3]) : "r"(shared_address(row)) : "memory");
}

__device__ __forceinline__ void load_transposed(unsigned (&out)[4], const __half *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3]) : "r"(shared_address(row)) : "memory");
}

// A warp's rows of A, 16 of their columns.
__device__ __forceinline__ void load_a(unsigned (&out)[4], Tile &tile, int step)
{
    load_matrices(out, unit(tile, warp() * 16 + lane() % 16, step * 2 + lane() / 16));
}

__device__ __forceinline__ void multiply(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// d += a * (16 columns of b's rows), for all rows of b.
__device__ __forceinline__ void multiply_rows(Result &d, const unsigned (&a)[4], Tile &b, int step)
{
#pragma unroll
    for (int pair = 0; pair < BLOCKS / 2; ++pair) {
        unsigned part[4];
        load_matrices(part, unit(b, pair * 16 + lane() % 8 + lane() / 16 * 8, step * 2 + lane() / 8 % 2));
        multiply(d[2 * pair], a, part[0], part[1]);
        multiply(d[2 * pair + 1], a, part[2], part[3]);
    }
}

// d += a * (16 rows of b).
__device__ __forceinline__ void multiply_columns(Result &d, const unsigned (&a)[4], Tile &b, int step)
{
#pragma unroll
    for (int pair = 0; pair < BLOCKS / 2; ++pair) {
        unsigned part[4];
        load_transposed(part, unit(b, step * 16 + lane() % 16, pair * 2 + lane() / 16));
        multiply(d[2 * pair], a, part[0], part[1]);
        multiply(d[2 * pair + 1], a, part[2], part[3]);
    }
}

// Sum over the four lanes that share a row.
__device__ __forceinline__ float row_sum(float x)
{
    x += __shfl_xor_sync(0xffffffff, x, 1);
    return x + __shfl_xor_sync(0xffffffff, x, 2);
}

__device__ __forceinline__ float row_max(float x)
{
    x = fmaxf(x, __shfl_xor_sync(0xffffffff, x, 1));
    return fmaxf(x, __shfl_xor_sync(0xffffffff, x, 2));
}

__device__ __forceinline__ float power_of_two(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ __forceinline__ unsigned halves(float low, float high)
{
    __half2 both = __floats2half2_rn(low, high);
    return *reinterpret_cast<unsigned *>(&both);
}

// The running maximum and sum of a row, of which a lane has two.
struct Softmax {
    float greatest[2] = {-INFINITY, -INFINITY};
    float sum[2] = {};

    // Turns scores into weights relative to the greatest score so far, and scales what was relative to an earlier one.
    // The sum is of this lane's columns.
    __device__ __forceinline__ void update(Result &scores, Result &out, float scale)
    {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float most = greatest[half];
#pragma unroll
            for (int block = 0; block < BLOCKS; ++block) {
                most = fmaxf(most, fmaxf(scores[block][2 * half], scores[block][2 * half + 1]));
            }
            most = row_max(most);
            float correction = power_of_two((greatest[half] - most) * scale);
            greatest[half] = most;
            sum[half] *= correction;
#pragma unroll
            for (int block = 0; block < BLOCKS; ++block) {
#pragma unroll
                for (int i = 2 * half; i < 2 * half + 2; ++i) {
                    scores[block][i] = power_of_two(scores[block][i] * scale - most * scale);
                    sum[half] += scores[block][i];
                    out[block][i] *= correction;
                }
            }
        }
    }
};

// Scores of keys that a row does not see are minus infinity.
__device__ __forceinline__ void mask(Result &scores, int row, int key, int length, bool causal)
{
#pragma unroll
    for (int block = 0; block < BLOCKS; ++block) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            int column = key + block * 8 + lane() % 4 * 2 + i % 2;
            bool is_seen = column < length && (!causal || column <= row + i / 2 * 8);
            scores[block][i] = is_seen ? scores[block][i] : -INFINITY;
        }
    }
}

// Attention of TILE queries of a head in one pass over the keys, with softmax online. A query's vector is a row of
// `stride` values, of which a head has WIDTH; the same for keys, values and results. `scale` is that of scores in powers
// of two.
extern "C" __global__ void __launch_bounds__(32 * WARPS)
flash_attention(const __half *queries, const __half *keys, const __half *values, __half *out, int length, int stride,
                int out_stride, float scale, int causal)
{
    __shared__ __align__(128) Tile query_tile, key_tile, value_tile;

    // The last queries see the most keys: they start first.
    int first = (gridDim.x - 1 - blockIdx.x) * TILE;
    size_t head = static_cast<size_t>(blockIdx.z) * length * stride + blockIdx.y * WIDTH;
    int row = first + warp() * 16 + lane() / 4;
    int end = causal ? min(length, first + TILE) : length;

    fetch(query_tile, queries + head, first, length, stride);
    fetch(key_tile, keys + head, 0, length, stride);
    unsigned q[WIDTH / 16][4];
    Result sums = {};
    Softmax softmax;
    for (int key = 0; key < end; key += TILE) {
        __pipeline_wait_prior(0);
        __syncthreads();
        fetch(value_tile, values + head, key, length, stride);
        Result scores = {};
#pragma unroll
        for (int step = 0; step < WIDTH / 16; ++step) {
            if (key == 0) {
                load_a(q[step], query_tile, step);
            }
            multiply_rows(scores, q[step], key_tile, step);
        }
        __pipeline_wait_prior(0);
        __syncthreads();
        if (key + TILE < end) {
            fetch(key_tile, keys + head, key + TILE, length, stride);
        }
        if (key + TILE > length || causal && key + TILE > first) {
            mask(scores, row, key, length, causal);
        }
        softmax.update(scores, sums, scale);
#pragma unroll
        for (int step = 0; step < TILE / 16; ++step) {
            // Two blocks of a result are 16 columns of a factor.
            const float *left = scores[2 * step], *right = scores[2 * step + 1];
            unsigned weights[4] = {halves(left[0], left[1]), halves(left[2], left[3]), halves(right[0], right[1]),
                                   halves(right[2], right[3])};
            multiply_columns(sums, weights, value_tile, step);
        }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        float share = 1.0f / row_sum(softmax.sum[half]);
        if (row + 8 * half >= length) {
            continue;
        }
        __half *to = out + (static_cast<size_t>(blockIdx.z) * length + row + 8 * half) * out_stride + blockIdx.y * WIDTH;
#pragma unroll
        for (int block = 0; block < BLOCKS; ++block) {
            unsigned both = halves(sums[block][2 * half] * share, sums[block][2 * half + 1] * share);
            *reinterpret_cast<unsigned *>(to + block * 8 + lane() % 4 * 2) = both;
        }
    }
}

// By the hyperbolic tangent, as GPT-2 has it.
__device__ __forceinline__ float gelu(float x)
{
    return 0.5f * x * (1.0f + tanhf(x * 0.7978846f * (1.0f + 0.044715f * (x * x))));
}

// out = x * weights^T + bias, then GELU if `activates`, plus `residual` if there is one. `width` is a multiple of WIDTH,
// `columns` of TILE.
extern "C" __global__ void __launch_bounds__(32 * WARPS)
linear(const __half *x, const __half *weights, const __half *bias, const __half *residual, __half *out, int rows,
       int columns, int width, int activates)
{
    __shared__ __align__(128) Tile x_tile[2], weight_tile[2];

    int first = blockIdx.y * TILE;
    int column = blockIdx.x * TILE;
    Result sums = {};
    fetch(x_tile[0], x, first, rows, width);
    fetch(weight_tile[0], weights, column, columns, width);
    for (int slice = 0; slice < width / WIDTH; ++slice) {
        int buffer = slice % 2;
        __pipeline_wait_prior(0);
        __syncthreads();
        if (slice + 1 < width / WIDTH) {
            fetch(x_tile[buffer ^ 1], x + (slice + 1) * WIDTH, first, rows, width);
            fetch(weight_tile[buffer ^ 1], weights + (slice + 1) * WIDTH, column, columns, width);
        }
#pragma unroll
        for (int step = 0; step < WIDTH / 16; ++step) {
            unsigned a[4];
            load_a(a, x_tile[buffer], step);
            multiply_rows(sums, a, weight_tile[buffer], step);
        }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        int row = first + warp() * 16 + lane() / 4 + 8 * half;
        if (row >= rows) {
            continue;
        }
#pragma unroll
        for (int block = 0; block < BLOCKS; ++block) {
            int at = column + block * 8 + lane() % 4 * 2;
            float2 added = __half22float2(*reinterpret_cast<const __half2 *>(bias + at));
            float low = sums[block][2 * half] + added.x;
            float high = sums[block][2 * half + 1] + added.y;
            if (activates) {
                low = gelu(low);
                high = gelu(high);
            }
            size_t to = static_cast<size_t>(row) * columns + at;
            if (residual) {
                float2 before = __half22float2(*reinterpret_cast<const __half2 *>(residual + to));
                low += before.x;
                high += before.y;
            }
            *reinterpret_cast<unsigned *>(out + to) = halves(low, high);
        }
    }
}

__device__ __forceinline__ float warp_sum(float x)
{
    for (int distance = 16; distance > 0; distance /= 2) {
        x += __shfl_xor_sync(0xffffffff, x, distance);
    }
    return x;
}

// Layer norm of each row, a warp a row; `width` is a multiple of 64.
extern "C" __global__ void layer_norm(const __half *x, const __half *gain, const __half *shift, __half *out, int rows,
                                      int width)
{
    int row = blockIdx.x * (blockDim.x / 32) + warp();
    if (row >= rows) {
        return;
    }
    const __half2 *from = reinterpret_cast<const __half2 *>(x + static_cast<size_t>(row) * width);
    __half2 *to = reinterpret_cast<__half2 *>(out + static_cast<size_t>(row) * width);
    const __half2 *gains = reinterpret_cast<const __half2 *>(gain);
    const __half2 *shifts = reinterpret_cast<const __half2 *>(shift);
    float sum = 0.0f;
    for (int i = lane(); i < width / 2; i += 32) {
        float2 both = __half22float2(from[i]);
        sum += both.x + both.y;
    }
    float mean = warp_sum(sum) / width;
    float squares = 0.0f;
    for (int i = lane(); i < width / 2; i += 32) {
        float2 both = __half22float2(from[i]);
        squares += (both.x - mean) * (both.x - mean) + (both.y - mean) * (both.y - mean);
    }
    float factor = rsqrtf(warp_sum(squares) / width + 1e-5f);
    for (int i = lane(); i < width / 2; i += 32) {
        float2 both = __half22float2(from[i]), by = __half22float2(gains[i]), plus = __half22float2(shifts[i]);
        to[i] = __floats2half2_rn((both.x - mean) * factor * by.x + plus.x, (both.y - mean) * factor * by.y + plus.y);
    }
}
