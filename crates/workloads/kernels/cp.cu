// Electrostatic potential of point charges on a plane of grid points: each point sums charge by distance over all
// charges.

#define COLUMNS 16
#define UNROLL 8
#define MOST_ATOMS 4000

// x, y, the square of the distance from the plane, charge.
__constant__ float4 atoms[MOST_ATOMS];

// Adds the potential of `count` atoms. A thread has eight points of a row, a CTA's width apart.
extern "C" __global__ void potential(int count, float spacing, float *grid)
{
    unsigned int column = blockIdx.x * (COLUMNS * UNROLL) + threadIdx.x;
    unsigned int row = blockIdx.y * blockDim.y + threadIdx.y;
    float x = spacing * (float)column;
    float y = spacing * (float)row;
    float step = spacing * (float)COLUMNS;
    float sums[UNROLL] = {};
    for (int atom = 0; atom < count; atom++) {
        float dy = y - atoms[atom].y;
        float beside = dy * dy + atoms[atom].z;
        float dx = x - atoms[atom].x;
#pragma unroll
        for (int i = 0; i < UNROLL; i++) {
            sums[i] += atoms[atom].w * rsqrtf(dx * dx + beside);
            dx += step;
        }
    }
    float *out = grid + (size_t)row * gridDim.x * (COLUMNS * UNROLL) + column;
#pragma unroll
    for (int i = 0; i < UNROLL; i++) {
        out[i * COLUMNS] += sums[i];
    }
}
