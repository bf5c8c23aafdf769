// Gravity between all pairs of bodies in double precision: accelerations only. A CTA stages the
// bodies through shared memory, blockDim.x at a time. `body` is (x, y, z, mass).

extern "C" __global__ void accelerations(const double4 *body, double *ax, double *ay, double *az, int n, double softening)
{
    extern __shared__ double4 tile[];

    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double4 me = i < n ? body[i] : make_double4(0.0, 0.0, 0.0, 0.0);
    double x = 0.0;
    double y = 0.0;
    double z = 0.0;

    for (int base = 0; base < n; base += blockDim.x) {
        int j = base + threadIdx.x;
        tile[threadIdx.x] = j < n ? body[j] : make_double4(0.0, 0.0, 0.0, 0.0);
        __syncthreads();
        for (int t = 0; t < blockDim.x; ++t) {
            double dx = tile[t].x - me.x;
            double dy = tile[t].y - me.y;
            double dz = tile[t].z - me.z;
            double squared = dx * dx + dy * dy + dz * dz + softening;
            double pull = tile[t].w / (squared * sqrt(squared));
            x += dx * pull;
            y += dy * pull;
            z += dz * pull;
        }
        __syncthreads();
    }
    if (i < n) {
        ax[i] = x;
        ay[i] = y;
        az[i] = z;
    }
}
