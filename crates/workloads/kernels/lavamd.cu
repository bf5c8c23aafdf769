// Potential and force at each particle in a cubic grid of boxes, in double precision. A CTA takes
// a box: it stages the particles of one neighbour after the other (the box itself is among them)
// through shared memory, and each thread adds up what they do to one particle of the box. What is
// further away than the neighbours does not count. `particle` is (x, y, z, charge), `result` is
// (force x, y, z, potential).

#define MOST_NEIGHBOURS 27

extern "C" __global__ void box_forces(const double4 *particle, const int *neighbours, const int *neighbour_count,
                                      double4 *result, int per_box, double decay)
{
    extern __shared__ double4 other[];

    const int *list = neighbours + blockIdx.x * MOST_NEIGHBOURS;
    int count = neighbour_count[blockIdx.x];
    for (int base = 0; base < per_box; base += blockDim.x) {
        int i = base + threadIdx.x;
        int me_at = blockIdx.x * per_box + i;
        double4 me = i < per_box ? particle[me_at] : make_double4(0.0, 0.0, 0.0, 0.0);
        double4 sum = make_double4(0.0, 0.0, 0.0, 0.0);
        for (int k = 0; k < count; ++k) {
            const double4 *box = particle + list[k] * per_box;
            for (int j = threadIdx.x; j < per_box; j += blockDim.x) {
                other[j] = box[j];
            }
            __syncthreads();
            if (i < per_box) {
                for (int j = 0; j < per_box; ++j) {
                    double dx = me.x - other[j].x;
                    double dy = me.y - other[j].y;
                    double dz = me.z - other[j].z;
                    double squared = dx * dx + dy * dy + dz * dz;
                    double potential = other[j].w * exp(-decay * squared);
                    double push = 2.0 * decay * potential;
                    sum.x += dx * push;
                    sum.y += dy * push;
                    sum.z += dz * push;
                    sum.w += potential;
                }
            }
            __syncthreads();
        }
        if (i < per_box) {
            result[me_at] = sum;
        }
    }
}
