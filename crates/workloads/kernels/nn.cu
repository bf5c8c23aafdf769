// Nearest neighbours: the distance of each place to one point; the host picks the nearest few.

struct Place {
    float latitude;
    float longitude;
};

extern "C" __global__ void distances(const Place *places, float *distance, int count, float latitude, float longitude)
{
    int i = blockDim.x * (gridDim.x * blockIdx.y + blockIdx.x) + threadIdx.x;
    if (i < count) {
        const Place *place = places + i;
        float dy = latitude - place->latitude;
        float dx = longitude - place->longitude;
        distance[i] = sqrtf(dy * dy + dx * dx);
    }
}
