// Clustering around medians: what opening a new centre would save. One thread per point.
//
// Sums are made by fmaf() and products by __fmul_rn(), so that results are the same to the bit.

#define THREADS 512

// Of each point: whether the candidate is closer than its centre, what it saves by moving there, or loses if its centre
// is closed. Coordinates are by dimension, so that a warp reads neighbours. A point has a row of `saved`, a place for
// each centre and one for the candidate.
extern "C" __global__ void pgain(int count, int dimensions, int candidate, int centres, const float *weights,
                                 const float *costs, const int *centre_of, const int *place_of,
                                 const float *coordinates, float *saved, bool *moves)
{
    extern __shared__ float of_candidate[];
    int point = blockIdx.x * THREADS + threadIdx.x;
    for (int d = threadIdx.x; d < dimensions; d += THREADS) {
        of_candidate[d] = coordinates[d * count + candidate];
    }
    __syncthreads();
    if (point >= count) {
        return;
    }
    float distance = 0.0f;
    for (int d = 0; d < dimensions; d++) {
        float apart = coordinates[d * count + point] - of_candidate[d];
        distance = fmaf(apart, apart, distance);
    }
    float saving = costs[point] - __fmul_rn(distance, weights[point]);
    bool closer = saving > 0.0f;
    moves[point] = closer;
    saved[point * (centres + 1) + (closer ? centres : place_of[centre_of[point]])] += saving;
}
