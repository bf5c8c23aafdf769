// From sums of products to stored elements: D = activation(alpha * sums + beta * C + bias).
#pragma once

#include "gemm.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>

// A number of the type `Acc` at `index`, stored as `type`. The types of an epilogue depend on the type of sums: double
// has only F64, int only I32, float the three others.
template <typename Acc> __device__ __forceinline__ Acc load_as(int type, const void* from, long long index);

template <> __device__ __forceinline__ double load_as(int, const void* from, long long index) {
    return static_cast<const double*>(from)[index];
}

template <> __device__ __forceinline__ int load_as(int, const void* from, long long index) {
    return static_cast<const int*>(from)[index];
}

template <> __device__ __forceinline__ float load_as(int type, const void* from, long long index) {
    switch (type) {
        case F16: return __half2float(static_cast<const half*>(from)[index]);
        case BF16: return __bfloat162float(static_cast<const __nv_bfloat16*>(from)[index]);
        default: return static_cast<const float*>(from)[index];
    }
}

__device__ __forceinline__ void store_as(int, void* to, long long index, double value) {
    static_cast<double*>(to)[index] = value;
}

__device__ __forceinline__ void store_as(int, void* to, long long index, int value) {
    static_cast<int*>(to)[index] = value;
}

__device__ __forceinline__ void store_as(int type, void* to, long long index, float value) {
    switch (type) {
        case F16: static_cast<half*>(to)[index] = __float2half(value); break;
        case BF16: static_cast<__nv_bfloat16*>(to)[index] = __float2bfloat16(value); break;
        default: static_cast<float*>(to)[index] = value;
    }
}

// Alpha or beta.
template <typename Acc> __device__ __forceinline__ Acc factor(const Gemm& g, const void* from, double value) {
    if (!from) return static_cast<Acc>(value);
    switch (g.scale) {
        case F64: return static_cast<Acc>(*static_cast<const double*>(from));
        case I32: return static_cast<Acc>(*static_cast<const int*>(from));
        case F16: return static_cast<Acc>(__half2float(*static_cast<const half*>(from)));
        default: return static_cast<Acc>(*static_cast<const float*>(from));
    }
}

template <typename Acc> __device__ __forceinline__ Acc gelu(Acc x) {
    float f = static_cast<float>(x);
    return static_cast<Acc>(0.5f * f * (1.0f + tanhf(0.7978845608f * (f + 0.044715f * f * f * f))));
}

// A matrix of the batch.
template <typename T>
__device__ __forceinline__ T* matrix_of(const Gemm& g, const void* at, long long stride, int bytes) {
    if (g.pointers) return static_cast<T* const*>(at)[blockIdx.z];
    return reinterpret_cast<T*>(reinterpret_cast<size_t>(at) + blockIdx.z * stride * bytes);
}

__device__ __forceinline__ int bytes_of(int type) {
    return type == F64 ? 8 : type == F32 || type == I32 ? 4 : 2;
}

// What all elements of a CTA's tile have in common.
template <typename Acc, int ROWS, int THREADS> struct Finish {
    const Gemm& g;
    Acc alpha, beta;
    void* c;
    void* d;
    int row, col;  // of the tile

    __device__ __forceinline__ Finish(const Gemm& g, int row, int col) : g(g), row(row), col(col) {
        alpha = factor<Acc>(g, g.alpha, g.alpha_value[0]);
        beta = factor<Acc>(g, g.beta, g.beta_value[0]);
        int bytes = bytes_of(g.d_type);
        c = beta == Acc(0) ? nullptr : matrix_of<void>(g, g.c, g.stride_c, bytes);
        d = matrix_of<void>(g, g.d, g.stride_d, bytes);
    }

    // The `COLS` columns of sums in `staged`, of which `column(i)` is the place of column i in the tile. A warp takes 32
    // rows of a column, so that accesses to C and D are of neighbours.
    template <int COLS, int PITCH, typename Column>
    __device__ __forceinline__ void store(const Acc* staged, Column column) {
        const int lane = threadIdx.x % 32;
#pragma unroll 1
        for (int i = threadIdx.x / 32; i < COLS; i += THREADS / 32) {
            long long to = col + column(i);
            if (to >= g.n) continue;
            if (!g.epilogue) {
#pragma unroll
                for (int r = lane; r < ROWS; r += 32) {
                    if (row + r < g.m) {
                        Acc value = scaled(staged[i * PITCH + r], row + r, to);
                        store_as(g.d_type, d, row + r + to * g.ldd, value);
                    }
                }
            } else {
#pragma unroll 1
                for (int r = lane; r < ROWS; r += 32) {
                    bool inside = row + r < g.m;
                    Acc value = inside ? scaled(staged[i * PITCH + r], row + r, to) : Acc(0);
                    value = activated(value, row + r, to, inside);
                    if (inside) store_as(g.d_type, d, row + r + to * g.ldd, value);
                }
            }
        }
    }

    __device__ __forceinline__ Acc scaled(Acc sum, int from, long long to) {
        return c ? alpha * sum + beta * load_as<Acc>(g.d_type, c, from + to * g.ldc) : alpha * sum;
    }

    // Executed by whole warps.
    __device__ __forceinline__ Acc activated(Acc value, int from, long long to, bool inside) {
        if (inside && g.epilogue & BIAS) value += load_as<Acc>(g.bias_type, g.bias, from + blockIdx.z * g.stride_bias);
        long long kept = from + to * g.ldaux + blockIdx.z * g.stride_aux;
        if (g.epilogue & RELU) {
            if (g.epilogue & KEEP_INPUT) {
                unsigned positive = __ballot_sync(0xffffffff, inside && value > Acc(0));
                if (inside && from % 32 == 0) static_cast<unsigned*>(g.aux)[kept / 32] = positive;
            }
            value = value > Acc(0) ? value : value == value ? Acc(0) : value;
        }
        if (g.epilogue & GELU) {
            if (inside && g.epilogue & KEEP_INPUT) store_as(g.d_type, g.aux, kept, value);
            value = gelu(value);
        }
        return value;
    }
};
