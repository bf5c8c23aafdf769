// k-means: `to_columns` changes points from rows to columns once, so that a warp reads one feature
// of 32 points side by side; `assign` finds each point's nearest centre, the centres lying in
// constant memory. The host computes the new centres between launches.

#include <float.h>

#define MAX_CENTRE_VALUES 2048

__constant__ float centres[MAX_CENTRE_VALUES];

extern "C" __global__ void to_columns(const float *rows, float *columns, int points, int features)
{
    int point = blockIdx.x * blockDim.x + threadIdx.x;
    if (point < points) {
        for (int f = 0; f < features; ++f) {
            columns[f * points + point] = rows[point * features + f];
        }
    }
}

extern "C" __global__ void assign(const float *__restrict__ columns, int *membership, int points, int features, int clusters)
{
    int point = blockIdx.x * blockDim.x + threadIdx.x;
    if (point < points) {
        int nearest = -1;
        float least = FLT_MAX;
        for (int c = 0; c < clusters; ++c) {
            float distance = 0.0f;
            for (int f = 0; f < features; ++f) {
                float difference = columns[f * points + point] - centres[c * features + f];
                distance += difference * difference;
            }
            if (distance < least) {
                least = distance;
                nearest = c;
            }
        }
        membership[point] = nearest;
    }
}
