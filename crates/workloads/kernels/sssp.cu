// Shortest paths from one node, as products of a sparse matrix with a vector in which the sum is the minimum and the
// product the sum. One thread per node in all kernels.

#define UNREACHED 99999999

extern "C" __global__ void sssp_init(int *distance, int *relaxed, int source, int count)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < count) {
        int start = node == source ? 0 : UNREACHED;
        distance[node] = start;
        relaxed[node] = start;
    }
}

// What the last round found is what this one starts from.
extern "C" __global__ void sssp_assign(int *distance, const int *relaxed, int count)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < count) {
        distance[node] = relaxed[node];
    }
}

// The shortest path whose last edge is one of the node's. Row `node` of the matrix has the edges that lead to it.
extern "C" __global__ void sssp_relax(const int *first, const int *from, const int *weights, const int *distance,
                                      int *relaxed, int count)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < count) {
        int best = distance[node];
        int end = first[node + 1];
        for (int edge = first[node]; edge < end; edge++) {
            best = min(best, weights[edge] + distance[from[edge]]);
        }
        relaxed[node] = best;
    }
}

// Whether a path became shorter.
extern "C" __global__ void sssp_differs(const int *distance, const int *relaxed, int *again, int count)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < count && distance[node] != relaxed[node]) {
        *again = 1;
    }
}
