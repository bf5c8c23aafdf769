// Bitonic sort of 32-bit keys, whose number is a power of two and at least a tile: runs of a length are
// merged to ascending and descending runs of twice the length, in turn, until one ascending run is left.

#define THREADS 256
#define TILE (2 * THREADS)

// The lower index of the pair of keys at `distance` that `thread` compares.
__device__ __forceinline__ unsigned int lower(unsigned int thread, unsigned int distance)
{
    return 2 * thread - (thread & (distance - 1));
}

// Orders a pair of keys; `index` is the lower one's. Runs of `length` ascend and descend in turn.
__device__ __forceinline__ void order(unsigned int *keys, unsigned int at, unsigned int distance,
                                      unsigned int index, unsigned int length)
{
    unsigned int a = keys[at];
    unsigned int b = keys[at + distance];
    bool ascending = (index & length) == 0;
    keys[at] = ascending ? min(a, b) : max(a, b);
    keys[at + distance] = ascending ? max(a, b) : min(a, b);
}

// Merges within a tile of shared memory: distances below the tile's size.
__device__ __forceinline__ void merge_in_tile(unsigned int *tile, unsigned int first, unsigned int length,
                                              unsigned int distance)
{
    for (; distance > 0; distance /= 2) {
        __syncthreads();
        unsigned int at = lower(threadIdx.x, distance);
        order(tile, at, distance, first + at, length);
    }
}

__device__ __forceinline__ void load(unsigned int *tile, const unsigned int *keys)
{
    tile[threadIdx.x] = keys[threadIdx.x];
    tile[threadIdx.x + THREADS] = keys[threadIdx.x + THREADS];
}

__device__ __forceinline__ void store(unsigned int *keys, const unsigned int *tile)
{
    __syncthreads();
    keys[threadIdx.x] = tile[threadIdx.x];
    keys[threadIdx.x + THREADS] = tile[threadIdx.x + THREADS];
}

// Sorts each tile, one per CTA: even ones ascending, odd ones descending.
extern "C" __global__ void sort_tiles(unsigned int *keys)
{
    __shared__ unsigned int tile[TILE];
    unsigned int first = blockIdx.x * TILE;
    load(tile, keys + first);
    for (unsigned int length = 2; length <= TILE; length *= 2) {
        merge_in_tile(tile, first, length, length / 2);
    }
    store(keys + first, tile);
}

// One step of a merge to runs of `length`, at a distance beyond a tile: one thread per pair.
extern "C" __global__ void merge_far(unsigned int *keys, unsigned int length, unsigned int distance)
{
    unsigned int at = lower(blockIdx.x * THREADS + threadIdx.x, distance);
    order(keys, at, distance, at, length);
}

// The last steps of a merge to runs of `length`, within each tile.
extern "C" __global__ void merge_tiles(unsigned int *keys, unsigned int length)
{
    __shared__ unsigned int tile[TILE];
    unsigned int first = blockIdx.x * TILE;
    load(tile, keys + first);
    merge_in_tile(tile, first, length, TILE / 2);
    store(keys + first, tile);
}
