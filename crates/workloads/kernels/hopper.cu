// compile: sm_90a
// Matrix products and attention by warp groups. The first warp group of a CTA only fills a ring of stages by the copy
// engine; the other two multiply, each half of the rows. A stage has a barrier that completes when its tiles are there
// (full) and one that completes when both groups have multiplied them (empty). Tiles have rows of 128 bytes, swizzled
// over 128 bytes; beyond a matrix they are zero.

#include <cuda_fp16.h>

typedef unsigned int u32;
typedef unsigned long long u64;

#define GROUP 128  // threads of a warp group
#define CONSUMERS 2
#define THREADS (GROUP * (1 + CONSUMERS))
#define ROWS 128       // of a CTA's result
#define ROW_BYTES 128  // of a tile: 64 values of f16, 128 of e4m3
#define STEP_BYTES 32  // of a row, for one multiplication
#define STEPS (ROW_BYTES / STEP_BYTES)

// As cuTensorMapEncodeTiled makes it.
struct __align__(64) TensorMap {
    u64 words[16];
};

// Tiles, then barriers.
extern __shared__ __align__(1024) unsigned char stages[];

__device__ __forceinline__ u32 shared_address(const void *pointer)
{
    return static_cast<u32>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ void barrier_init(u32 barrier, u32 arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(barrier), "r"(arrivals) : "memory");
}

__device__ __forceinline__ void barrier_expect(u32 barrier, u32 bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(barrier), "r"(bytes) : "memory");
}

__device__ __forceinline__ void barrier_arrive(u32 barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(barrier) : "memory");
}

// Waits for the end of the phase with this parity.
__device__ __forceinline__ void barrier_wait(u32 barrier, u32 parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "}" :: "r"(barrier), "r"(parity) : "memory");
}

// Copies the box at (x, y) of a tensor to shared memory; its bytes count at `barrier`.
__device__ __forceinline__ void copy_box(u32 to, const TensorMap *map, int x, int y, u32 barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 :: "r"(to), "l"(map), "r"(x), "r"(y), "r"(barrier) : "memory");
}

// The descriptor of a tile in shared memory: rows of 128 bytes, eight of which are a pattern of the swizzle.
__device__ __forceinline__ u64 descriptor(u32 address)
{
    u64 swizzle_128_bytes = 1ull << 62;
    u64 stride = 8 * ROW_BYTES >> 4;
    u64 leading = 1;  // not used with a swizzle
    return swizzle_128_bytes | stride << 32 | leading << 16 | (address & 0x3ffff) >> 4;
}

// Operands of the multiplications: accumulators %0 to %(n - 1), and `d` as these.
#define T10(i) "%" #i "0, %" #i "1, %" #i "2, %" #i "3, %" #i "4, %" #i "5, %" #i "6, %" #i "7, %" #i "8, %" #i "9"
#define T30 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, " T10(1) ", " T10(2)
#define T60 T30 ", " T10(3) ", " T10(4) ", " T10(5)
#define T120 T60 ", " T10(6) ", " T10(7) ", " T10(8) ", " T10(9) ", " T10(10) ", " T10(11)
#define PLACES_32 "{" T30 ", %30, %31}"
#define PLACES_64 "{" T60 ", %60, %61, %62, %63}"
#define PLACES_128 "{" T120 ", %120, %121, %122, %123, %124, %125, %126, %127}"
#define D4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define D16(i) D4(i), D4(i + 4), D4(i + 8), D4(i + 12)
#define D32(i) D16(i), D16(i + 16)
#define D64(i) D32(i), D32(i + 32)

__device__ __forceinline__ void multiply_fence()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void multiply_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Waits until at most N groups of multiplications are under way.
template <int N>
__device__ __forceinline__ void multiply_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(N) : "memory");
}

struct F16 {
    enum { BYTES = 2 };

    // d = a * b, plus d if `adds`.
    static __device__ __forceinline__ void multiply(float (&d)[128], u64 a, u64 b, int adds)
    {
        asm volatile("{\n"
                     ".reg .pred adds;\n"
                     "setp.ne.b32 adds, %130, 0;\n"
                     "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 " PLACES_128 ", %128, %129, adds, 1, 1, 0, 0;\n"
                     "}" : D64(0), D64(64) : "l"(a), "l"(b), "r"(adds));
    }
};

struct E4M3 {
    enum { BYTES = 1 };

    static __device__ __forceinline__ void multiply(float (&d)[128], u64 a, u64 b, int adds)
    {
        asm volatile("{\n"
                     ".reg .pred adds;\n"
                     "setp.ne.b32 adds, %130, 0;\n"
                     "wgmma.mma_async.sync.aligned.m64n256k32.f32.e4m3.e4m3 " PLACES_128 ", %128, %129, adds, 1, 1;\n"
                     "}" : D64(0), D64(64) : "l"(a), "l"(b), "r"(adds));
    }
};

// Where a group is in a ring.
template <int N>
struct Turn {
    int stage = 0;
    u32 parity = 0;

    __device__ __forceinline__ void next()
    {
        if (++stage == N) {
            stage = 0;
            parity ^= 1;
        }
    }
};

// Registers move from the group that copies to those that multiply.
__device__ __forceinline__ void give_registers()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
}

__device__ __forceinline__ void take_registers()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
}

__device__ __forceinline__ bool elect()
{
    u32 elected;
    asm volatile("{\n"
                 ".reg .pred is_elected;\n"
                 "elect.sync _|is_elected, 0xffffffff;\n"
                 "selp.u32 %0, 1, 0, is_elected;\n"
                 "}" : "=r"(elected));
    return elected;
}

// The product: C (f32, m x n, row-major) = A (m x k, row-major) * B (k x n, column-major), of f16 or of e4m3, of any
// size. A CTA computes ROWS x COLUMNS of C.

#define COLUMNS 256
#define SUMS (COLUMNS / 2)  // of a thread: 64 x COLUMNS by a group
#define STAGES 4
#define A_BYTES (ROWS * ROW_BYTES)
#define B_BYTES (COLUMNS * ROW_BYTES)
#define STAGE_BYTES (A_BYTES + B_BYTES)

struct Ring {
    u32 tiles;
    u32 barriers;

    __device__ u32 a(int stage) const { return tiles + stage * STAGE_BYTES; }
    __device__ u32 b(int stage) const { return a(stage) + A_BYTES; }
    __device__ u32 full(int stage) const { return barriers + 8 * stage; }
    __device__ u32 empty(int stage) const { return barriers + 8 * (STAGES + stage); }
};


// One thread fills the ring.
__device__ __forceinline__ void produce(const Ring &ring, const TensorMap *a, const TensorMap *b, int row, int col,
                                        int slices, int values)
{
    Turn<STAGES> turn;
    for (int slice = 0; slice < slices; ++slice, turn.next()) {
        // The first wait for a stage is for the phase before the first, which counts as over.
        barrier_wait(ring.empty(turn.stage), turn.parity ^ 1);
        barrier_expect(ring.full(turn.stage), STAGE_BYTES);
        copy_box(ring.a(turn.stage), a, slice * values, row, ring.full(turn.stage));
        copy_box(ring.b(turn.stage), b, slice * values, col, ring.full(turn.stage));
    }
}

// A warp group multiplies 64 rows: while the products of a stage are under way, it frees the stage before.
template <class T>
__device__ __forceinline__ void consume(const Ring &ring, float (&sums)[SUMS], int group, int slices)
{
    Turn<STAGES> turn;
    int before = 0;
    for (int slice = 0; slice < slices; ++slice, turn.next()) {
        barrier_wait(ring.full(turn.stage), turn.parity);
        u64 a = descriptor(ring.a(turn.stage) + group * (A_BYTES / CONSUMERS));
        u64 b = descriptor(ring.b(turn.stage));
        multiply_fence();
#pragma unroll
        for (int step = 0; step < STEPS; ++step) {
            T::multiply(sums, a + (step * STEP_BYTES >> 4), b + (step * STEP_BYTES >> 4), slice + step > 0);
        }
        multiply_commit();
        multiply_wait<1>();
        if (slice > 0 && threadIdx.x % GROUP == 0) {
            barrier_arrive(ring.empty(before));
        }
        before = turn.stage;
    }
    multiply_wait<0>();
}

template <class T>
__device__ __forceinline__ void product(const TensorMap *a, const TensorMap *b, float *c, int m, int n, int k)
{
    Ring ring = {shared_address(stages), shared_address(stages) + STAGES * STAGE_BYTES};
    int row = blockIdx.y * ROWS;
    int col = blockIdx.x * COLUMNS;
    int values = ROW_BYTES / T::BYTES;
    int slices = (k + values - 1) / values;
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            barrier_init(ring.full(stage), 1);
            barrier_init(ring.empty(stage), CONSUMERS);
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x < GROUP) {
        give_registers();
        if (threadIdx.x < 32 && elect()) {
            produce(ring, a, b, row, col, slices, values);
        }
        return;
    }
    take_registers();
    int group = threadIdx.x / GROUP - 1;
    float sums[SUMS];
    consume<T>(ring, sums, group, slices);

    int thread = threadIdx.x % GROUP;
    int out_row = row + 64 * group + thread / 32 * 16 + thread % 32 / 4;
    int out_col = col + thread % 4 * 2;
#pragma unroll
    for (int i = 0; i < SUMS; i += 4) {
        // n is a multiple of 8: both columns are in the matrix or none is.
        float *out = c + static_cast<u64>(out_row) * n + out_col + 2 * i;
        if (out_col + 2 * i < n && out_row < m) {
            *reinterpret_cast<float2 *>(out) = make_float2(sums[i], sums[i + 1]);
        }
        if (out_col + 2 * i < n && out_row + 8 < m) {
            *reinterpret_cast<float2 *>(out + 8ull * n) = make_float2(sums[i + 2], sums[i + 3]);
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
wgmma_f16(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float *c, int m, int n, int k)
{
    product<F16>(&a, &b, c, m, n, k);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
wgmma_e4m3(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float *c, int m, int n, int k)
{
    product<E4M3>(&a, &b, c, m, n, k);
}

// Attention of ROWS queries of a head in one pass over the keys, with softmax online. Queries, keys and values are parts
// of rows of three matrices, HEAD values a head. A group multiplies a query tile by the next keys while it has the weights
// of those before, and both groups take turns: one multiplies while the other has exponentials to compute.

#define HEAD 64
#define KEYS 128  // of a step
#define BLOCKS (KEYS / 8)  // of eight columns, in a warp's scores
#define KV_STAGES 2
#define INFINITY __int_as_float(0x7f800000)
#define TILE_BYTES (ROWS * ROW_BYTES)  // of queries, keys or values

// d = a * b^T, of KEYS rows of b; plus d if `adds`.
__device__ __forceinline__ void multiply_rows(float (&d)[KEYS / 2], u64 a, u64 b, int adds)
{
    asm volatile("{\n"
                 ".reg .pred adds;\n"
                 "setp.ne.b32 adds, %66, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 " PLACES_64 ", %64, %65, adds, 1, 1, 0, 0;\n"
                 "}" : D64(0) : "l"(a), "l"(b), "r"(adds));
}

// d += a * b, of 16 rows of b with HEAD columns; A is in registers.
__device__ __forceinline__ void multiply_columns(float (&d)[HEAD / 2], const u32 *a, u64 b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " PLACES_32
                 ", {%32, %33, %34, %35}, %36, 1, 1, 1, 1;\n"
                 : D32(0) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

__device__ __forceinline__ float power_of_two(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ __forceinline__ u32 halves(float low, float high)
{
    __half2 both = __floats2half2_rn(low, high);
    return *reinterpret_cast<u32 *>(&both);
}

// The running maximum and sum of a row, of which a lane has two; the sum is of this lane's columns.
struct Softmax {
    float greatest[2] = {-INFINITY, -INFINITY};
    float sum[2] = {};
    // What the results so far are to be multiplied by.
    float correction[2];

    // Turns scores into weights relative to the greatest score so far.
    __device__ __forceinline__ void update(float (&scores)[KEYS / 2], float scale)
    {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float most = greatest[half];
#pragma unroll
            for (int block = 0; block < BLOCKS; ++block) {
                most = fmaxf(most, fmaxf(scores[4 * block + 2 * half], scores[4 * block + 2 * half + 1]));
            }
            most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, 1));
            most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, 2));
            correction[half] = power_of_two((greatest[half] - most) * scale);
            greatest[half] = most;
            sum[half] *= correction[half];
#pragma unroll
            for (int block = 0; block < BLOCKS; ++block) {
#pragma unroll
                for (int i = 4 * block + 2 * half; i < 4 * block + 2 * half + 2; ++i) {
                    scores[i] = power_of_two(scores[i] * scale - most * scale);
                    sum[half] += scores[i];
                }
            }
        }
    }
};

struct Attention {
    u32 queries;
    u32 barriers;

    __device__ u32 keys(int stage) const { return queries + (1 + 2 * stage) * TILE_BYTES; }
    __device__ u32 values(int stage) const { return keys(stage) + TILE_BYTES; }
    __device__ u32 queries_full() const { return barriers; }
    __device__ u32 keys_full(int stage) const { return barriers + 8 + 8 * stage; }
    __device__ u32 values_full(int stage) const { return keys_full(KV_STAGES + stage); }
    __device__ u32 keys_empty(int stage) const { return keys_full(2 * KV_STAGES + stage); }
    __device__ u32 values_empty(int stage) const { return keys_full(3 * KV_STAGES + stage); }

    __device__ __forceinline__ void init() const
    {
        barrier_init(queries_full(), 1);
        for (int stage = 0; stage < KV_STAGES; ++stage) {
            barrier_init(keys_full(stage), 1);
            barrier_init(values_full(stage), 1);
            barrier_init(keys_empty(stage), CONSUMERS);
            barrier_init(values_empty(stage), CONSUMERS);
        }
    }

    __device__ __forceinline__ void copy(u32 to, const TensorMap *map, int column, int row, u32 full) const
    {
        barrier_expect(full, TILE_BYTES);
        copy_box(to, map, column, row, full);
    }

    // Starts the products of the group's queries and the keys of a stage.
    __device__ __forceinline__ void start_scores(float (&scores)[KEYS / 2], int group, const Turn<KV_STAGES> &turn) const
    {
        barrier_wait(keys_full(turn.stage), turn.parity);
        u64 a = descriptor(queries + group * (TILE_BYTES / CONSUMERS));
        u64 b = descriptor(keys(turn.stage));
        multiply_fence();
#pragma unroll
        for (int step = 0; step < STEPS; ++step) {
            multiply_rows(scores, a + (step * STEP_BYTES >> 4), b + (step * STEP_BYTES >> 4), step > 0);
        }
        multiply_commit();
    }

    // Starts the products of weights and the values of a stage.
    __device__ __forceinline__ void start_sums(float (&sums)[HEAD / 2], const u32 (&weights)[KEYS / 4],
                                               const Turn<KV_STAGES> &turn) const
    {
        barrier_wait(values_full(turn.stage), turn.parity);
        u64 b = descriptor(values(turn.stage));
        multiply_fence();
#pragma unroll
        for (int step = 0; step < KEYS / 16; ++step) {
            multiply_columns(sums, weights + 4 * step, b + (step * 16 * ROW_BYTES >> 4));
        }
        multiply_commit();
    }
};

// Scores of keys that a row does not see are minus infinity.
__device__ __forceinline__ void mask(float (&scores)[KEYS / 2], int row, int key, int length, bool causal)
{
#pragma unroll
    for (int i = 0; i < KEYS / 2; ++i) {
        int column = key + i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2;
        bool is_seen = column < length && (!causal || column <= row + i / 2 % 2 * 8);
        scores[i] = is_seen ? scores[i] : -INFINITY;
    }
}

// The groups' turns: a barrier for each. With numbers in registers all 16 barriers would be in use.
__device__ __forceinline__ void wait_for_turn(int group)
{
    if (group == 0) {
        asm volatile("bar.sync 1, %0;" :: "n"(2 * GROUP) : "memory");
    } else {
        asm volatile("bar.sync 2, %0;" :: "n"(2 * GROUP) : "memory");
    }
}

__device__ __forceinline__ void pass_turn(int group)
{
    if (group == 0) {
        asm volatile("bar.arrive 2, %0;" :: "n"(2 * GROUP) : "memory");
    } else {
        asm volatile("bar.arrive 1, %0;" :: "n"(2 * GROUP) : "memory");
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
flash_attention_3(const __grid_constant__ TensorMap queries, const __grid_constant__ TensorMap keys,
                  const __grid_constant__ TensorMap values, __half *out, int length, int stride, float scale, int causal)
{
    Attention tiles = {shared_address(stages), shared_address(stages) + (1 + 2 * KV_STAGES) * TILE_BYTES};
    // The last queries see the most keys: they start first.
    int first = (gridDim.x - 1 - blockIdx.x) * ROWS;
    int sequence = blockIdx.z * length;
    int column = blockIdx.y * HEAD;
    int end = causal ? min(length, first + ROWS) : length;
    int steps = (end + KEYS - 1) / KEYS;
    if (threadIdx.x == 0) {
        tiles.init();
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x < GROUP) {
        give_registers();
        if (threadIdx.x < 32 && elect()) {
            tiles.copy(tiles.queries, &queries, column, sequence + first, tiles.queries_full());
            Turn<KV_STAGES> turn;
            for (int step = 0; step < steps; ++step, turn.next()) {
                int row = sequence + step * KEYS, stage = turn.stage;
                barrier_wait(tiles.keys_empty(stage), turn.parity ^ 1);
                tiles.copy(tiles.keys(stage), &keys, column, row, tiles.keys_full(stage));
                barrier_wait(tiles.values_empty(stage), turn.parity ^ 1);
                tiles.copy(tiles.values(stage), &values, column, row, tiles.values_full(stage));
            }
        }
        return;
    }
    take_registers();
    int group = threadIdx.x / GROUP - 1;
    int thread = threadIdx.x % GROUP;
    int row = first + 64 * group + thread / 32 * 16 + thread % 32 / 4;
    bool leads = thread == 0;

    float scores[KEYS / 2];
    float sums[HEAD / 2] = {};
    u32 weights[KEYS / 4];
    Softmax softmax;
    auto weigh = [&](int step) {
        int key = step * KEYS;
        if (key + KEYS > length || causal && key + KEYS > first) {
            mask(scores, row, key, length, causal);
        }
        softmax.update(scores, scale);
    };
    auto round = [&] {
#pragma unroll
        for (int i = 0; i < KEYS / 4; ++i) {
            weights[i] = halves(scores[2 * i], scores[2 * i + 1]);
        }
    };
    Turn<KV_STAGES> turn, before;
    barrier_wait(tiles.queries_full(), 0);
    if (group == 1) {
        pass_turn(group);
    }
    wait_for_turn(group);
    tiles.start_scores(scores, group, turn);
    pass_turn(group);
    multiply_wait<0>();
    if (leads) {
        barrier_arrive(tiles.keys_empty(0));
    }
    weigh(0);
    round();
    for (int step = 1; step < steps; ++step) {
        before = turn;
        turn.next();
        wait_for_turn(group);
        tiles.start_scores(scores, group, turn);
        tiles.start_sums(sums, weights, before);
        pass_turn(group);
        multiply_wait<1>();
        if (leads) {
            barrier_arrive(tiles.keys_empty(turn.stage));
        }
        weigh(step);
        multiply_wait<0>();
        if (leads) {
            barrier_arrive(tiles.values_empty(before.stage));
        }
#pragma unroll
        for (int i = 0; i < HEAD / 2; ++i) {
            sums[i] *= softmax.correction[i / 2 % 2];
        }
        round();
    }
    wait_for_turn(group);
    tiles.start_sums(sums, weights, turn);
    if (group == 0) {
        pass_turn(group);
    }
    multiply_wait<0>();
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        float sum = softmax.sum[half];
        sum += __shfl_xor_sync(0xffffffff, sum, 1);
        sum += __shfl_xor_sync(0xffffffff, sum, 2);
        float share = 1.0f / sum;
        if (row + 8 * half >= length) {
            continue;
        }
        __half *to = out + static_cast<size_t>(sequence + row + 8 * half) * stride + column + thread % 4 * 2;
#pragma unroll
        for (int block = 0; block < HEAD / 8; ++block) {
            int i = 4 * block + 2 * half;
            *reinterpret_cast<u32 *>(to + block * 8) = halves(sums[i] * share, sums[i + 1] * share);
        }
    }
}
