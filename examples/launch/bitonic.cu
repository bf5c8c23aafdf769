// One step of a bitonic sort: compares and exchanges pairs `distance` apart; `width` is the length
// of the runs that are being merged.

extern "C" __global__ void bitonic_step(unsigned int *keys, int distance, int width)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int partner = i ^ distance;
    if (partner > i) {
        bool ascending = (i & width) == 0;
        unsigned int low = keys[i];
        unsigned int high = keys[partner];
        if ((low > high) == ascending) {
            keys[i] = high;
            keys[partner] = low;
        }
    }
}
