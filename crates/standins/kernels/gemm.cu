// Matrix products of the stand-in for cuBLAS (gemm.h says of what). A CTA computes a tile of D; slices of op(A) and op(B)
// pass through buffers in shared memory, of which one is multiplied while the next is loaded. Sums pass through shared
// memory again, so that D is stored by whole columns.
//
// gemm_TYPE_TILE_LAYOUT: LAYOUT is how A and B are stored, n by columns as they are multiplied, t transposed. Kernels of
// the large tile take only matrices aligned to 16 bytes, those of the small tile all.

#include "matrix.cuh"
#include "simt.cuh"

#define LAYOUTS(KERNEL)     \
    KERNEL(nn, true, false) \
    KERNEL(nt, true, true)  \
    KERNEL(tn, false, false) \
    KERNEL(tt, false, true)

#define KERNEL(NAME, THREADS, CTAS, ...) \
    extern "C" __global__ void __launch_bounds__(THREADS, CTAS) standin_cublas_##NAME(const __grid_constant__ Gemm g) { __VA_ARGS__; }

#define SINGLE(layout, a, b)                                                                    \
    KERNEL(gemm_s_128x128_##layout, 256, 2, simt<float, 2, 4, 2, 2, a, b, true>(g))             \
    KERNEL(gemm_s_64x64_##layout, 128, 3, simt<float, 2, 2, 1, 2, a, b, false>(g))
LAYOUTS(SINGLE)

#define DOUBLE(layout, a, b)                                                                    \
    KERNEL(gemm_d_64x64_##layout, 128, 2, simt<double, 2, 2, 1, 2, a, b, false>(g))
LAYOUTS(DOUBLE)

#define HALF(layout, a, b)                                                                      \
    KERNEL(gemm_h_128x128_##layout, 256, 2, tensor<Half, 2, 4, 4, 4, a, b, true>(g))            \
    KERNEL(gemm_h_64x64_##layout, 128, 3, tensor<Half, 2, 2, 2, 4, a, b, false>(g))
LAYOUTS(HALF)

#if __CUDA_ARCH__ >= 750
KERNEL(gemm_i_128x128_tn, 256, 2, tensor<Byte, 2, 4, 4, 4, false, false, true>(g))
KERNEL(gemm_i_64x64_tn, 128, 3, tensor<Byte, 2, 2, 2, 4, false, false, false>(g))
#endif

#if __CUDA_ARCH__ >= 800
#define BRAIN(layout, a, b)                                                                     \
    KERNEL(gemm_b_128x128_##layout, 256, 2, tensor<Brain, 2, 4, 4, 4, a, b, true>(g))           \
    KERNEL(gemm_b_64x64_##layout, 128, 3, tensor<Brain, 2, 2, 2, 4, a, b, false>(g))
LAYOUTS(BRAIN)

#define TENSOR32(layout, a, b)                                                                  \
    KERNEL(gemm_t_128x128_##layout, 256, 2, tensor<Tensor32, 2, 4, 4, 4, a, b, true>(g))        \
    KERNEL(gemm_t_64x64_##layout, 128, 3, tensor<Tensor32, 2, 2, 2, 4, a, b, false>(g))
LAYOUTS(TENSOR32)
#endif
