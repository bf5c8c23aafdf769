// What a matrix product of the stand-ins for cuBLAS gets, the same for each of its kernels.
//
// D = activation(alpha * op(A) * op(B) + beta * C + bias), matrices in columns as in Fortran: element (i, j) of a matrix
// with leading dimension ld is at [i + j * ld]. op(A) is m x k, op(B) is k x n, C and D are m x n.
#pragma once

// Types of elements, by the numbers of `cudaDataType_t`.
enum Type : int {
    F32 = 0, F64 = 1, F16 = 2, I8 = 3, C32 = 4, C64 = 5, U8 = 8, I32 = 10, BF16 = 14, E4M3 = 28, E5M2 = 29,
};

// What is done with each element before it is stored, in this order: bits of `epilogue`.
enum Epilogue : int {
    BIAS = 1,       // adds bias[row]
    RELU = 2,       // max(x, 0)
    GELU = 4,       // the tanh form
    KEEP_INPUT = 8, // stores what goes into the activation: to aux (GELU), or whether it is positive, a bit each (RELU)
};

struct Gemm {
    const void* a;
    const void* b;
    const void* c;  // not read where beta is zero
    void* d;        // may be c
    long long lda, ldb, ldc, ldd;
    // Elements from one matrix of a batch to the next. The z index of a CTA is the number in the batch.
    long long stride_a, stride_b, stride_c, stride_d;
    // On the device, of the type `scale`; or null, and the value is the one below.
    const void* alpha;
    const void* beta;
    double alpha_value[2];  // real and imaginary part
    double beta_value[2];
    const void* bias;  // of type `bias_type`
    void* aux;         // of type `d_type`, or bits
    long long ldaux, stride_bias, stride_aux;
    int m, n, k;
    int pointers;  // a, b, c, d are arrays of a pointer for each matrix of the batch, in place of strides
    int a_type, b_type, d_type;  // C has D's: the type of sums; for half precision and bfloat16 also A's
    int scale;                   // F32, F64, F16, I32, C32 or C64: of alpha and beta
    int bias_type;
    int epilogue;
};
