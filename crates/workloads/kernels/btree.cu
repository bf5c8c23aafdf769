// Queries of a B+ tree in flat arrays, one CTA per query, one thread per slot of a node. Slot s of
// node n is at n * blockDim.x + s: a key, and what belongs to it and to all up to the next slot's
// key. That is a node of the next level, and in the leaves a record's number. Node 0 is the root,
// slots that are not used have the largest key, records are numbered in the order of their keys.

// Whether the query belongs to this thread's slot of a node.
static __device__ bool is_mine(const int *keys, int node, int query)
{
    const int *slot = keys + node * blockDim.x + threadIdx.x;
    bool last = threadIdx.x + 1 == blockDim.x;
    return slot[0] <= query && (last || query < slot[1]);
}

// The value of the record that has the key; the answer stays as it is where there is none.
extern "C" __global__ void btree_find(const int *keys, const int *children, const int *values, const int *queries,
                                      int *answers, int inner_levels)
{
    __shared__ int next;

    int query = queries[blockIdx.x];
    int node = 0;
    for (int level = 0; level < inner_levels; ++level) {
        if (is_mine(keys, node, query)) {
            next = children[node * blockDim.x + threadIdx.x];
        }
        __syncthreads();
        node = next;
        __syncthreads();
    }
    int slot = node * blockDim.x + threadIdx.x;
    if (keys[slot] == query) {
        answers[blockIdx.x] = values[children[slot]];
    }
}

// The first record with a key above `low`, and how many have keys above `low` and up to `high`.
extern "C" __global__ void btree_range(const int *keys, const int *children, const int *low, const int *high,
                                       int *first, int *count, int inner_levels)
{
    __shared__ int next_low;
    __shared__ int next_high;

    int from = low[blockIdx.x];
    int to = high[blockIdx.x];
    int node_low = 0;
    int node_high = 0;
    for (int level = 0; level < inner_levels; ++level) {
        if (is_mine(keys, node_low, from)) {
            next_low = children[node_low * blockDim.x + threadIdx.x];
        }
        if (is_mine(keys, node_high, to)) {
            next_high = children[node_high * blockDim.x + threadIdx.x];
        }
        __syncthreads();
        node_low = next_low;
        node_high = next_high;
        __syncthreads();
    }
    // Records up to each end. A key below the first of all belongs to no slot.
    if (threadIdx.x == 0) {
        next_low = 0;
        next_high = 0;
    }
    __syncthreads();
    if (is_mine(keys, node_low, from)) {
        next_low = children[node_low * blockDim.x + threadIdx.x] + 1;
    }
    if (is_mine(keys, node_high, to)) {
        next_high = children[node_high * blockDim.x + threadIdx.x] + 1;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        first[blockIdx.x] = next_low;
        count[blockIdx.x] = next_high - next_low;
    }
}
