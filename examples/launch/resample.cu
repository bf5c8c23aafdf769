// Enlarges a grey image by bilinear sampling through a texture and writes it through a surface.
#include <cuda_runtime.h>

extern "C" __global__ void resample(cudaTextureObject_t image, cudaSurfaceObject_t out, int width, int height)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column < width && row < height) {
        float x = ((float)column + 0.5f) / (float)width;
        float y = ((float)row + 0.5f) / (float)height;
        surf2Dwrite(tex2D<float>(image, x, y), out, column * (int)sizeof(float), row);
    }
}
