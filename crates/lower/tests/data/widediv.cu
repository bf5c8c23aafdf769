// Quotient and remainder of 128-bit numbers, whose library code tests borrows with `addc`. The PTX beside
// this is NVRTC 12.9's: --gpu-architecture=compute_75 --device-int128.
extern "C" __global__ void widediv(const unsigned __int128 *a, const unsigned __int128 *b, unsigned __int128 *out) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[2 * i] = a[i] / b[i];
    out[2 * i + 1] = a[i] % b[i];
}
