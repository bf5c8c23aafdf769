// Breadth-first search, one level of the graph with each launch.

// Nodes of `level` give their neighbours the next one. `again` is set if there was such a neighbour.
extern "C" __global__ void bfs_level(const int *first_edge, const int *targets, int *levels, int nodes, int level,
                                     int *again)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= nodes || levels[node] != level)
        return;
    for (int edge = first_edge[node]; edge < first_edge[node + 1]; edge++) {
        int target = targets[edge];
        if (levels[target] < 0) {
            levels[target] = level + 1;
            *again = 1;
        }
    }
}
