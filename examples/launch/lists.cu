// Linked lists: structures with pointers, which the kernel follows.

struct Node {
    float value;
    const Node *next;
};

struct Lists {
    const Node *const *heads;
    float *sums;
    int count;
};

__device__ int *longest;

extern "C" __global__ void sum_lists(Lists lists)
{
    int list = blockIdx.x * blockDim.x + threadIdx.x;
    if (list >= lists.count)
        return;
    float sum = 0.0f;
    int length = 0;
    for (const Node *node = lists.heads[list]; node; node = node->next) {
        sum += node->value;
        length++;
    }
    lists.sums[list] = sum;
    atomicMax(longest, length);
}
