// Tasks of three programs, each by one CTA: a bank of filters, a part of the Mandelbrot set, a product of matrices.
//
// Products are added by fmaf() only, so that results are the same on every machine.

#define TAPS 32
#define DECIMATION 8
#define MOST_SAMPLES 4096

// Of each branch: a filter, of whose samples every DECIMATION-th is kept, then a second filter over these with zeros
// between them. The branches are added up.
extern "C" __global__ void filter_bank(const float *signal, const float *analysis, const float *synthesis, float *out,
                                       int samples, int branches)
{
    __shared__ float kept[MOST_SAMPLES / DECIMATION];
    for (int branch = 0; branch < branches; branch++) {
        const float *taps = analysis + branch * TAPS;
        for (int i = threadIdx.x; i < samples / DECIMATION; i += blockDim.x) {
            int at = i * DECIMATION;
            float sum = 0.0f;
            for (int tap = 0; tap < TAPS && tap <= at; tap++) {
                sum = fmaf(taps[tap], signal[at - tap], sum);
            }
            kept[i] = sum;
        }
        __syncthreads();
        taps = synthesis + branch * TAPS;
        for (int at = threadIdx.x; at < samples; at += blockDim.x) {
            float sum = branch == 0 ? 0.0f : out[at];
            for (int tap = at % DECIMATION; tap < TAPS && tap <= at; tap += DECIMATION) {
                sum = fmaf(taps[tap], kept[(at - tap) / DECIMATION], sum);
            }
            out[at] = sum;
        }
        __syncthreads();
    }
}

// For each point the number of steps after which it leaves. `corner` is the lower left one.
extern "C" __global__ void mandelbrot_steps(int *steps, float corner_real, float corner_imaginary, float distance,
                                            int side, int most)
{
    for (int i = threadIdx.x; i < side * side; i += blockDim.x) {
        float real = fmaf((float)(i % side), distance, corner_real);
        float imaginary = fmaf((float)(i / side), distance, corner_imaginary);
        float x = 0.0f;
        float y = 0.0f;
        int step = 0;
        for (; step < most && fmaf(x, x, y * y) <= 4.0f; step++) {
            float next = fmaf(x, x, fmaf(-y, y, real));
            y = fmaf(2.0f * x, y, imaginary);
            x = next;
        }
        steps[i] = step;
    }
}

// Columns of a pair of square matrices' product by turns of the threads; a row of the first matrix is read by all.
extern "C" __global__ void product_of_pair(const float *a, const float *b, float *c, int n)
{
    for (int i = threadIdx.x; i < n * n; i += blockDim.x) {
        float sum = 0.0f;
        for (int k = 0; k < n; k++) {
            sum = fmaf(a[i / n * n + k], b[k * n + i % n], sum);
        }
        c[i] = sum;
    }
}
