// Breadth-first search, level by level, one thread per node. `expand` visits the neighbours of the
// frontier, `commit` makes the newly reached nodes the next frontier and says whether there are any.
// Two threads may write the same neighbour: they write the same value.

struct Node {
    int first_edge;
    int edge_count;
};

extern "C" __global__ void bfs_expand(const Node *nodes, const int *edges, bool *frontier, bool *reached,
                                      const bool *visited, int *cost, int node_count)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id < node_count && frontier[id]) {
        frontier[id] = false;
        int end = nodes[id].first_edge + nodes[id].edge_count;
        for (int e = nodes[id].first_edge; e < end; ++e) {
            int neighbour = edges[e];
            if (!visited[neighbour]) {
                cost[neighbour] = cost[id] + 1;
                reached[neighbour] = true;
            }
        }
    }
}

extern "C" __global__ void bfs_commit(bool *frontier, bool *reached, bool *visited, bool *again, int node_count)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id < node_count && reached[id]) {
        frontier[id] = true;
        visited[id] = true;
        *again = true;
        reached[id] = false;
    }
}
