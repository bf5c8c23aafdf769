// Kernels that read and write textures and surfaces. tools/rebuild-test-programs makes images.fatbin (machine code of
// sm_75 and PTX) of them.

texture<float, cudaTextureType2D, cudaReadModeElementType> picture;
texture<int, cudaTextureType1D, cudaReadModeElementType> line;
surface<void, cudaSurfaceType2D> canvas;

// The filtered texture at the middle of each texel, moved by `shift`.
extern "C" __global__ void sample(float *out, cudaTextureObject_t image, int width, float shift) {
    out[threadIdx.y * width + threadIdx.x] = tex2D<float>(image, threadIdx.x + 0.5f + shift, threadIdx.y + 0.5f);
}

extern "C" __global__ void fetch(int *out, cudaTextureObject_t values) {
    out[threadIdx.x] = tex1Dfetch<int>(values, threadIdx.x);
}

extern "C" __global__ void shade(float *out, cudaTextureObject_t bytes) {
    out[threadIdx.x] = tex2D<float>(bytes, threadIdx.x, 0);
}

extern "C" __global__ void layer(float *out, cudaTextureObject_t layers, int which) {
    out[threadIdx.x] = tex2DLayered<float>(layers, threadIdx.x, 0, which);
}

extern "C" __global__ void volume(float *out, cudaTextureObject_t box, int z) {
    out[threadIdx.x] = tex3D<float>(box, threadIdx.x, 1, z);
}

extern "C" __global__ void paint(cudaSurfaceObject_t image) {
    surf2Dwrite(10.0f * threadIdx.y + threadIdx.x, image, threadIdx.x * 4, threadIdx.y);
}

extern "C" __global__ void look(float *out, int width) {
    out[threadIdx.y * width + threadIdx.x] = tex2D(picture, threadIdx.x, threadIdx.y);
}

extern "C" __global__ void look_along(int *out) { out[threadIdx.x] = tex1Dfetch(line, threadIdx.x); }

extern "C" __global__ void draw() { surf2Dwrite(1.0f + threadIdx.x, canvas, threadIdx.x * 4, threadIdx.y); }

// Dynamic shared memory in proportion to the block.
extern "C" __global__ void share(int *out) {
    extern __shared__ int part[];
    part[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = part[blockDim.x - 1 - threadIdx.x];
}
