// Functions of the device runtime: printf, assert, malloc, free.
//   nvcc -ptx -O3 -arch=sm_70 runtime.cu
//   nvcc -cubin -O3 -arch=sm_XX runtime.cu -o runtime.sm_XX.cubin
//   nvcc -cubin -O3 -Xcicc -O0 -Xptxas -O0 -arch=sm_75 runtime.cu -o runtime_O0.sm_75.cubin
// CUDA 11.8 (V11.8.89); runtime.cuda129.sm_XX.cubin is what ptxas of CUDA 12.9 (V12.9.86) makes of the PTX.
#include <cassert>
#include <cstdio>

extern "C" __global__ void say(unsigned *out, int n) {
    if (threadIdx.x % 8 == 3) printf("thread %d of %d: %.2f %s %llx\n", threadIdx.x, n, threadIdx.x / 4.0, "end", 1ull << 40);
    if (threadIdx.x == 30) printf("last\n");
    out[threadIdx.x] = threadIdx.x + n;
}
extern "C" __global__ void check(unsigned *out, int n) {
    assert(threadIdx.x < n);
    out[threadIdx.x] = 1;
}
// A linked list for each thread, on the heap.
struct Node { unsigned value; Node *next; };
extern "C" __global__ void list(unsigned *out, int n) {
    Node *head = nullptr;
    unsigned i = 0;
    for (; i < n + threadIdx.x % 4; i++) {
        Node *node = (Node *)malloc(sizeof(Node));
        if (!node) break;
        node->value = i * i;
        node->next = head;
        head = node;
    }
    unsigned sum = 0;
    while (head) {
        Node *next = head->next;
        sum += head->value;
        free(head);
        head = next;
    }
    out[threadIdx.x] = sum;
}
extern "C" __global__ void exhaust(unsigned *out, int n) {
    out[threadIdx.x] = malloc(n) != nullptr;
}
extern "C" __global__ void twice(unsigned *out, int n) {
    void *block = malloc(n);
    free(block);
    free(block);
}
