// Shortest paths between all nodes. A launch lets paths pass one node more; one thread per pair of nodes.

#define SIDE 16

// The row and the column of `through` do not change in its launch: no path becomes shorter by a detour to its own end.
extern "C" __global__ void floyd_warshall(int *distance, int *next, int count, int through)
{
    int to = blockIdx.x * SIDE + threadIdx.x;
    int from = blockIdx.y * SIDE + threadIdx.y;
    if (to < count && from < count) {
        int detour = distance[from * count + through] + distance[through * count + to];
        if (detour < distance[from * count + to]) {
            distance[from * count + to] = detour;
            next[from * count + to] = through;
        }
    }
}
