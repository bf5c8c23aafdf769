// Rotates an image with bilinear sampling, then sharpens it: a texture is read with filtering and through
// a surface written; what was written is read as a texture by the second kernel.
#include <cuda_runtime.h>

// One channel from 0 to 1 as a byte.
__device__ unsigned char to_byte(float part)
{
    return (unsigned char)__float2int_rn(__fmul_rn(part, 255.0f));
}

// Each pixel of `out` is sampled where rotation about the centre takes it from.
extern "C" __global__ void rotate(cudaTextureObject_t image, cudaSurfaceObject_t out, int width, int height,
                                  float cosine, float sine)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= width || row >= height) {
        return;
    }
    float half_width = 0.5f * (float)width;
    float half_height = 0.5f * (float)height;
    float u = (float)column + 0.5f - half_width;
    float v = (float)row + 0.5f - half_height;
    float x = fmaf(u, cosine, fmaf(v, sine, half_width));
    float y = fmaf(v, cosine, fmaf(u, -sine, half_height));
    float4 sample = tex2D<float4>(image, x, y);
    uchar4 pixel = make_uchar4(to_byte(sample.x), to_byte(sample.y), to_byte(sample.z), to_byte(sample.w));
    surf2Dwrite(pixel, out, column * (int)sizeof(uchar4), row);
}

// One channel of a pixel and of its four neighbours.
__device__ unsigned char sharper(int centre, int left, int right, int up, int down)
{
    return (unsigned char)min(max(5 * centre - left - right - up - down, 0), 255);
}

// Sharpens by the difference from the four neighbours; those outside are the edge.
extern "C" __global__ void sharpen(cudaTextureObject_t image, cudaSurfaceObject_t out, int width, int height)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= width || row >= height) {
        return;
    }
    float x = (float)column + 0.5f;
    float y = (float)row + 0.5f;
    uchar4 centre = tex2D<uchar4>(image, x, y);
    uchar4 left = tex2D<uchar4>(image, x - 1.0f, y);
    uchar4 right = tex2D<uchar4>(image, x + 1.0f, y);
    uchar4 up = tex2D<uchar4>(image, x, y - 1.0f);
    uchar4 down = tex2D<uchar4>(image, x, y + 1.0f);
    uchar4 pixel = make_uchar4(sharper(centre.x, left.x, right.x, up.x, down.x),
                               sharper(centre.y, left.y, right.y, up.y, down.y),
                               sharper(centre.z, left.z, right.z, up.z, down.z), centre.w);
    surf2Dwrite(pixel, out, column * (int)sizeof(uchar4), row);
}
