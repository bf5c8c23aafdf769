// Digits of numbers in a base that is known only at run time: integer divisions. With POWER the base is a power of two
// and its logarithm is given.
extern "C" __global__ void digits(const unsigned* in, unsigned* out, unsigned base)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned left = in[i], sum = 0;
    for (int k = 0; k < 16; k++) {
#ifdef POWER
        sum += left & ((1u << base) - 1);
        left >>= base;
#else
        sum += left % base;
        left /= base;
#endif
    }
    out[i] = sum;
}
