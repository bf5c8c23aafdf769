// Seven-point stencil on a three-dimensional grid. Threads tile the x-y plane and march along z,
// keeping the column in registers and the plane in shared memory. The weights lie in constant
// memory: centre, then the x, y and z neighbours. The rim of the grid is copied.

#define WIDE 32
#define HIGH 8

__constant__ float weights[4];

extern "C" __global__ void stencil(const float *in, float *out, int nx, int ny, int nz)
{
    __shared__ float plane[HIGH + 2][WIDE + 2];

    int x = blockIdx.x * WIDE + threadIdx.x;
    int y = blockIdx.y * HIGH + threadIdx.y;
    int sx = threadIdx.x + 1;
    int sy = threadIdx.y + 1;
    bool in_plane = x < nx && y < ny;
    bool inside = x > 0 && x < nx - 1 && y > 0 && y < ny - 1;
    int column = y * nx + x;
    int step = nx * ny;

    float below = 0.0f;
    float centre = in_plane ? in[column] : 0.0f;
    for (int z = 0; z < nz; ++z) {
        float above = in_plane && z + 1 < nz ? in[column + step] : 0.0f;
        plane[sy][sx] = centre;
        if (in_plane) {
            if (threadIdx.x == 0 && x > 0) {
                plane[sy][0] = in[column - 1];
            }
            if (threadIdx.x == WIDE - 1 && x < nx - 1) {
                plane[sy][WIDE + 1] = in[column + 1];
            }
            if (threadIdx.y == 0 && y > 0) {
                plane[0][sx] = in[column - nx];
            }
            if (threadIdx.y == HIGH - 1 && y < ny - 1) {
                plane[HIGH + 1][sx] = in[column + nx];
            }
        }
        __syncthreads();
        if (in_plane) {
            float value = centre;
            if (inside && z > 0 && z < nz - 1) {
                value = weights[0] * centre
                    + weights[1] * (plane[sy][sx - 1] + plane[sy][sx + 1])
                    + weights[2] * (plane[sy - 1][sx] + plane[sy + 1][sx])
                    + weights[3] * (below + above);
            }
            out[column] = value;
        }
        __syncthreads();
        below = centre;
        centre = above;
        column += step;
    }
}
