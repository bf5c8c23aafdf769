// Laplace's equation on a box of points whose outer points are fixed, by Jacobi's method: in a sweep each inner
// point becomes the mean of its six neighbours.

#define WIDTH 32
#define HEIGHT 4
#define PITCH (WIDTH + 2)
#define PLANE (PITCH * (HEIGHT + 2))
#define RIM (2 * (WIDTH + HEIGHT))

// Where the thread's point of the tile's rim is, as column and row of the tile; the corners are never read.
__device__ __forceinline__ int2 on_rim(int thread)
{
    if (thread < 2 * WIDTH) {
        return make_int2(thread % WIDTH, thread < WIDTH ? -1 : HEIGHT);
    }
    int side = thread - 2 * WIDTH;
    return make_int2(side < HEIGHT ? -1 : WIDTH, side % HEIGHT);
}

__device__ __forceinline__ bool is_in(int x, int y, int nx, int ny)
{
    return x >= 0 && y >= 0 && x < nx && y < ny;
}

// One sweep. A CTA marches through the planes of its column of tiles and holds three of them in shared memory.
extern "C" __global__ void laplace(const float *now, float *next, int nx, int ny, int nz)
{
    __shared__ float planes[3 * PLANE];
    int thread = threadIdx.y * WIDTH + threadIdx.x;
    int x = blockIdx.x * WIDTH + threadIdx.x;
    int y = blockIdx.y * HEIGHT + threadIdx.y;
    int at = PLANE + (threadIdx.y + 1) * PITCH + threadIdx.x + 1;
    bool active = is_in(x, y, nx, ny);
    int index = y * nx + x;

    int2 rim = on_rim(thread);
    int rim_x = blockIdx.x * WIDTH + rim.x;
    int rim_y = blockIdx.y * HEIGHT + rim.y;
    int rim_at = PLANE + (rim.y + 1) * PITCH + rim.x + 1;
    bool has_rim = thread < RIM && is_in(rim_x, rim_y, nx, ny);
    int rim_index = rim_y * nx + rim_x;

    int plane = nx * ny;
    // Nothing is read from below the first plane; what is moved there must be something.
    if (active) {
        planes[at + PLANE] = planes[at] = now[index];
    }
    if (has_rim) {
        planes[rim_at + PLANE] = planes[rim_at] = now[rim_index];
    }
    for (int z = 0; z < nz; z++) {
        // Each thread moves its own points down by a plane and reads those of the next one.
        if (active) {
            planes[at - PLANE] = planes[at];
            planes[at] = planes[at + PLANE];
            if (z + 1 < nz) {
                planes[at + PLANE] = now[index + plane];
            }
        }
        if (has_rim) {
            planes[rim_at - PLANE] = planes[rim_at];
            planes[rim_at] = planes[rim_at + PLANE];
            if (z + 1 < nz) {
                planes[rim_at + PLANE] = now[rim_index + plane];
            }
        }
        __syncthreads();
        if (active) {
            float value = planes[at];
            if (x > 0 && x < nx - 1 && y > 0 && y < ny - 1 && z > 0 && z < nz - 1) {
                value = (planes[at - 1] + planes[at + 1] + planes[at - PITCH] + planes[at + PITCH] +
                         planes[at - PLANE] + planes[at + PLANE]) * (1.0f / 6.0f);
            }
            next[index] = value;
        }
        __syncthreads();
        index += plane;
        rim_index += plane;
    }
}
