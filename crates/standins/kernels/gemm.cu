// Matrix products of the stand-in for cuBLAS (gemm.h says of what). A CTA computes a tile of D; slices of op(A) and op(B)
// pass through buffers in shared memory, of which one is multiplied while the next is loaded. Sums pass through shared
// memory again, so that D is stored by whole columns.
//
// gemm_TYPE_TILE_LAYOUT: LAYOUT is how A and B are stored, n by columns as they are multiplied, t transposed. Kernels of
// the large tiles take only matrices aligned to 16 bytes, those of the small tile all.

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

// Warps have tiles of 64 x 64, of which there are two for each scheduler: shared memory is not fast enough to feed the
// tensor cores with smaller ones. An SM has two CTAs of the large tile or one of the largest, which reads less of A and B.
#define LARGE(NAME, TYPE, A, B) KERNEL(NAME, 128, 2, tensor<TYPE, 2, 2, 4, 8, A, B, true>(g))
#define SMALL(NAME, TYPE, A, B) KERNEL(NAME, 128, 3, tensor<TYPE, 2, 2, 2, 4, A, B, false>(g))

#define HALF(layout, a, b)                       \
    LARGE(gemm_h_128x128_##layout, Half, a, b)   \
    SMALL(gemm_h_64x64_##layout, Half, a, b)
LAYOUTS(HALF)

#if __CUDA_ARCH__ == 800
// 13 of these tiles are as wide as 16 of the large ones: 2,048 x 2,048 fills the 108 SMs of an A100 once. 1,024 x 1,024 does
// with the narrower tile, which has eight warps too.
#define LARGEST(layout, a, b) KERNEL(gemm_h_256x160_##layout, 256, 1, tensor<Half, 4, 2, 4, 10, a, b, true, 128>(g))
LAYOUTS(LARGEST)
KERNEL(gemm_h_128x96_nn, 256, 2, tensor<Half, 4, 2, 2, 6, true, false, true, 128>(g))
KERNEL(gemm_h_128x96_tn, 256, 2, tensor<Half, 4, 2, 2, 6, false, false, true, 128>(g))
#endif

#if __CUDA_ARCH__ >= 750
LARGE(gemm_i_128x128_tn, Byte, false, false)
SMALL(gemm_i_64x64_tn, Byte, false, false)
#endif

#if __CUDA_ARCH__ >= 800
#define BRAIN(layout, a, b)                      \
    LARGE(gemm_b_128x128_##layout, Brain, a, b)  \
    SMALL(gemm_b_64x64_##layout, Brain, a, b)
LAYOUTS(BRAIN)

#define TENSOR32(layout, a, b)                      \
    LARGE(gemm_t_128x128_##layout, Tensor32, a, b)  \
    SMALL(gemm_t_64x64_##layout, Tensor32, a, b)
LAYOUTS(TENSOR32)
#endif
