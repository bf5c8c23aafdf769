// Breadth-first search by levels, one launch a level and one thread per node: a node of the current level gives the next
// one to its neighbours that have none. Several threads may write the same neighbour, all the same level.

struct Node {
    int first_edge;
    int edge_count;
};

extern "C" __global__ void bfs_level(const Node *nodes, const int *edges, int *level, bool *again, int current,
                                     int node_count)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= node_count || level[id] != current) {
        return;
    }
    Node node = nodes[id];
    for (int e = node.first_edge; e < node.first_edge + node.edge_count; ++e) {
        int neighbour = edges[e];
        if (level[neighbour] < 0) {
            level[neighbour] = current + 1;
            *again = true;
        }
    }
}
