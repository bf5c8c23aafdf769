// Speckle-reducing anisotropic diffusion of an image: noise is smoothed where its statistics are those of speckle, and
// edges are kept. The image is stored by columns; one thread per pixel in all kernels.

#define THREADS 512

// From grey values to what diffuses.
extern "C" __global__ void extract(float *image, int count)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < count) {
        image[i] = expf(image[i] / 255.0f);
    }
}

// What the sums start from: each pixel and its square.
extern "C" __global__ void prepare(const float *image, float *sums, float *squares, int count)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < count) {
        float pixel = image[i];
        sums[i] = pixel;
        squares[i] = pixel * pixel;
    }
}

// Sums up `count` values that are `stride` apart: a CTA's values to its first one.
extern "C" __global__ void reduce(float *sums, float *squares, int count, int stride)
{
    __shared__ float sum[THREADS];
    __shared__ float square[THREADS];
    int i = blockIdx.x * THREADS + threadIdx.x;
    sum[threadIdx.x] = i < count ? sums[i * stride] : 0.0f;
    square[threadIdx.x] = i < count ? squares[i * stride] : 0.0f;
    for (int distance = 1; distance < THREADS; distance *= 2) {
        __syncthreads();
        if (threadIdx.x % (2 * distance) == 0) {
            sum[threadIdx.x] += sum[threadIdx.x + distance];
            square[threadIdx.x] += square[threadIdx.x + distance];
        }
    }
    if (threadIdx.x == 0) {
        sums[i * stride] = sum[0];
        squares[i * stride] = square[0];
    }
}

// Differences from the four neighbours, whose rows and columns are in tables, and the coefficient of diffusion.
extern "C" __global__ void srad1(const float *image, const int *north, const int *south, const int *west,
                                 const int *east, float *to_north, float *to_south, float *to_west, float *to_east,
                                 float *coefficients, int rows, int count, float speckle)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= count) {
        return;
    }
    int row = i % rows;
    int column = i / rows;
    float here = image[i];
    float n = image[north[row] + rows * column] - here;
    float s = image[south[row] + rows * column] - here;
    float w = image[row + rows * west[column]] - here;
    float e = image[row + rows * east[column]] - here;
    float gradient = (n * n + s * s + w * w + e * e) / (here * here);
    float laplace = (n + s + w + e) / here;
    float above = 0.5f * gradient - 0.0625f * (laplace * laplace);
    float below = 1.0f + 0.25f * laplace;
    float variation = above / (below * below);
    float excess = (variation - speckle) / (speckle * (1.0f + speckle));
    to_north[i] = n;
    to_south[i] = s;
    to_west[i] = w;
    to_east[i] = e;
    coefficients[i] = fminf(fmaxf(1.0f / (1.0f + excess), 0.0f), 1.0f);
}

// A step of diffusion.
extern "C" __global__ void srad2(float *image, const int *south, const int *east, const float *to_north,
                                 const float *to_south, const float *to_west, const float *to_east,
                                 const float *coefficients, int rows, int count, float rate)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= count) {
        return;
    }
    int row = i % rows;
    int column = i / rows;
    float here = coefficients[i];
    float below = coefficients[south[row] + rows * column];
    float right = coefficients[row + rows * east[column]];
    float divergence = here * to_north[i] + below * to_south[i] + here * to_west[i] + right * to_east[i];
    image[i] += 0.25f * rate * divergence;
}

// Back to grey values.
extern "C" __global__ void compress(float *image, int count)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < count) {
        image[i] = logf(image[i]) * 255.0f;
    }
}
