// Product of two square matrices by one CTA: threads take the elements in turn and read both matrices from
// global memory.
//
// Products are added by fmaf() only, so that results are the same to the bit.

extern "C" __global__ void matrix_product(const float *a, const float *b, float *c, int n)
{
    for (int i = threadIdx.x; i < n * n; i += blockDim.x) {
        int row = i / n;
        int column = i % n;
        float sum = 0.0f;
        for (int k = 0; k < n; k++) {
            sum = fmaf(a[row * n + k], b[k * n + column], sum);
        }
        c[i] = sum;
    }
}
