// Inserts keys into a hash table of linked lists; each bucket has a spin lock. A thread that does
// not get its lock goes round the loop again, so that the threads of a warp that hold locks finish
// and release them.

extern "C" __global__ void insert(const unsigned int *keys, unsigned int *locks, volatile int *heads, int *links, int n,
                                  int buckets)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    // Multiplicative hashing, then scaling to the number of buckets.
    unsigned int bucket = __umulhi(keys[i] * 2654435769u, buckets);
    bool inserted = false;
    while (!inserted) {
        if (atomicCAS(&locks[bucket], 0u, 1u) == 0u) {
            links[i] = heads[bucket];
            heads[bucket] = i;
            inserted = true;
            __threadfence();
            atomicExch(&locks[bucket], 0u);
        }
    }
}
