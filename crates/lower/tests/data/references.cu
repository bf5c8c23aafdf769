// Texture and surface references, and a kernel that uses none.
//   nvcc -w -ptx -O3 -arch=sm_70 references.cu
//   nvcc -w -cubin -O3 -arch=sm_XX references.cu -o references.sm_XX.cubin
//   nvcc -w -cubin -O3 -Xptxas -O0 -arch=sm_XX references.cu -o references_O0.sm_XX.cubin
// CUDA 11.8 (V11.8.89), the last one with references.
texture<float, 1, cudaReadModeElementType> line;
texture<float, 2, cudaReadModeElementType> plane;
texture<uchar4, 2, cudaReadModeNormalizedFloat> colours;
surface<void, cudaSurfaceType2D> canvas;

extern "C" __global__ void lookup(float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2.0f * tex1Dfetch(line, n - 1 - i);
}
extern "C" __global__ void blend(float *out, int n) {
    int x = threadIdx.x;
    float4 c = tex2D(colours, x + 0.5f, 1.5f);
    out[x] = tex1Dfetch(line, x) + tex2D(plane, x + 0.5f, 0.5f) - tex2D(plane, x + 0.5f, 1.5f) + c.x + c.w;
}
extern "C" __global__ void paint(float *out, int n) {
    int x = threadIdx.x;
    float above;
    surf2Dread(&above, canvas, x * 4, 0);
    surf2Dwrite(above + out[x], canvas, x * 4, 1);
}
extern "C" __global__ void plain(float *out, int n) { out[threadIdx.x] = n; }
