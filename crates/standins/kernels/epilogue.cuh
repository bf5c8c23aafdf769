// From sums of products to stored elements: D = activation(alpha * sums + beta * C + bias).
#pragma once

#include "gemm.h"
#include "global.cuh"
#include <cuda_bf16.h>
#include <cuda_fp16.h>

// A number of the type `Acc` at `index`, stored as `type`. The types of an epilogue depend on the type of sums: double
// has only F64, int only I32, float the three others.
template <typename Acc> __device__ __forceinline__ Acc load_as(int, const void* from, long long index) {
    Acc x;
    load(x, static_cast<const Acc*>(from) + index);
    return x;
}

template <> __device__ __forceinline__ float load_as(int type, const void* from, long long index) {
    if (type == F32) {
        float x;
        load(x, static_cast<const float*>(from) + index);
        return x;
    }
    unsigned short bits;
    load(bits, static_cast<const unsigned short*>(from) + index);
    return type == F16 ? __half2float(__ushort_as_half(bits)) : __uint_as_float(bits << 16);
}

template <typename Acc> __device__ __forceinline__ void store_as(int, void* to, long long index, Acc value) {
    store(static_cast<Acc*>(to) + index, value);
}

template <> __device__ __forceinline__ void store_as(int type, void* to, long long index, float value) {
    if (type == F32) {
        store(static_cast<float*>(to) + index, value);
    } else {
        unsigned short bits = type == F16 ? __half_as_ushort(__float2half(value))
                                          : static_cast<__nv_bfloat16_raw>(__float2bfloat16(value)).x;
        store(static_cast<unsigned short*>(to) + index, bits);
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
    // (1 + tanh(z)) / 2 is 1 / (1 + exp(-2 z)).
    float f = static_cast<float>(x), z = 0.7978845608f * (f + 0.044715f * f * f * f);
    return static_cast<Acc>(__fdividef(f, 1.0f + __expf(-2.0f * z)));
}

// Four rows of a column.
template <typename Acc> struct alignas(16) Quad {
    Acc at[4];
};

__device__ __forceinline__ float2 pair_of(int type, unsigned bits) {
    if (type == F16) return __half22float2(reinterpret_cast<const __half2&>(bits));
    return make_float2(__uint_as_float(bits << 16), __uint_as_float(bits & 0xffff0000));
}

__device__ __forceinline__ unsigned bits_of(int type, float x, float y) {
    if (type == F16) {
        __half2 pair = __floats2half2_rn(x, y);
        return reinterpret_cast<const unsigned&>(pair);
    }
    __nv_bfloat162 pair = __floats2bfloat162_rn(x, y);
    return reinterpret_cast<const unsigned&>(pair);
}

// Loads and stores of aligned quads.
template <typename Acc> __device__ __forceinline__ Quad<Acc> load_quad(int, const void* from, long long index) {
    Quad<Acc> x;
#pragma unroll
    for (int i = 0; i < (int)sizeof(x) / 16; i++) {
        load(reinterpret_cast<uint4*>(&x)[i], reinterpret_cast<const uint4*>(static_cast<const Acc*>(from) + index) + i);
    }
    return x;
}

template <> __device__ __forceinline__ Quad<float> load_quad(int type, const void* from, long long index) {
    if (type == F32) {
        uint4 x;
        load(x, static_cast<const float*>(from) + index);
        return {__uint_as_float(x.x), __uint_as_float(x.y), __uint_as_float(x.z), __uint_as_float(x.w)};
    }
    uint2 bits;
    load(bits, static_cast<const unsigned short*>(from) + index);
    float2 low = pair_of(type, bits.x), high = pair_of(type, bits.y);
    return {low.x, low.y, high.x, high.y};
}

template <typename Acc> __device__ __forceinline__ void store_quad(int, void* to, long long index, const Quad<Acc>& x) {
#pragma unroll
    for (int i = 0; i < (int)sizeof(x) / 16; i++) {
        store(reinterpret_cast<uint4*>(static_cast<Acc*>(to) + index) + i, reinterpret_cast<const uint4*>(&x)[i]);
    }
}

template <> __device__ __forceinline__ void store_quad(int type, void* to, long long index, const Quad<float>& x) {
    if (type == F32) {
        store(static_cast<float*>(to) + index, reinterpret_cast<const uint4&>(x));
    } else {
        store(static_cast<unsigned short*>(to) + index, make_uint2(bits_of(type, x.at[0], x.at[1]), bits_of(type, x.at[2], x.at[3])));
    }
}

// A matrix of the batch.
template <typename T>
__device__ __forceinline__ T* matrix_of(const Gemm& g, const void* at, long long stride, int bytes) {
    if (g.pointers) return static_cast<T* const*>(at)[blockIdx.z];
    return reinterpret_cast<T*>(reinterpret_cast<size_t>(at) + blockIdx.z * stride * bytes);
}

// What all elements of a CTA's tile have in common.
// D is of the type of sums or, if that is float, of `NARROW`.
template <typename Acc, int ROWS, int THREADS, int NARROW> struct Finish {
    const Gemm& g;
    Acc alpha, beta;
    const void* c;
    void* d;
    int row, col;  // of the tile
    bool quads;    // whether C and D are read and written by aligned quads

    __device__ __forceinline__ Finish(const Gemm& g, int row, int col) : g(g), row(row), col(col) {
        alpha = factor<Acc>(g, g.alpha, g.alpha_value[0]);
        beta = factor<Acc>(g, g.beta, g.beta_value[0]);
        int bytes = type() == F32 ? sizeof(Acc) : 2;
        c = beta == Acc(0) ? nullptr : matrix_of<const void>(g, g.c, g.stride_c, bytes);
        d = matrix_of<void>(g, g.d, g.stride_d, bytes);
        size_t places = reinterpret_cast<size_t>(d) | g.ldd * bytes;
        if (c) places |= reinterpret_cast<size_t>(c) | g.ldc * bytes;
        quads = places % min(4 * bytes, 16) == 0 && row + ROWS <= g.m && !(g.epilogue & KEEP_INPUT);
    }

    // Of D; only float has others than F32, which stands for the type of sums.
    __device__ __forceinline__ int type() const { return NARROW == F32 || g.d_type == F32 ? F32 : NARROW; }

    // The `COLS` columns of sums in `staged`, of which `column(i)` is the place of column i in the tile.
    template <int COLS, int PITCH, typename Column>
    __device__ __forceinline__ void store(const Acc* staged, Column column) {
        constexpr int EACH = ROWS / 4;
        const int r = threadIdx.x % EACH * 4;
        if (quads && !c && !g.epilogue) {
            if (type() == F32) scale<COLS, PITCH, F32>(staged, column);
            else scale<COLS, PITCH, NARROW>(staged, column);
        } else if (quads) {
#pragma unroll 1
            for (int i = threadIdx.x / EACH; i < COLS; i += THREADS / EACH) {
                long long to = col + column(i);
                if (to < g.n) store_rows(*reinterpret_cast<const Quad<Acc>*>(staged + i * PITCH + r), row + r, to);
            }
        } else {
            // A warp takes 32 rows of a column, so that accesses are of neighbours.
#pragma unroll 1
            for (int i = threadIdx.x / 32; i < COLS; i += THREADS / 32) {
                long long to = col + column(i);
#pragma unroll 1
                for (int r = threadIdx.x % 32; r < ROWS; r += 32) {
                    store_one(staged[i * PITCH + r], row + r, to, row + r < g.m && to < g.n);
                }
            }
        }
    }

    // The same where there are only factors, several columns at once.
    template <int COLS, int PITCH, int TYPE, typename Column>
    __device__ __forceinline__ void scale(const Acc* staged, Column column) {
        constexpr int EACH = ROWS / 4, STEP = THREADS / EACH, EVERY = COLS / STEP, BATCH = EVERY % 4 ? EVERY % 2 ? 1 : 2 : 4;
        const int r = threadIdx.x % EACH * 4;
#pragma unroll 1
        for (int i = threadIdx.x / EACH; i < COLS; i += BATCH * STEP) {
            Quad<Acc> value[BATCH];
#pragma unroll
            for (int n = 0; n < BATCH; n++) {
                value[n] = *reinterpret_cast<const Quad<Acc>*>(staged + (i + n * STEP) * PITCH + r);
#pragma unroll
                for (int e = 0; e < 4; e++) value[n].at[e] *= alpha;
            }
#pragma unroll
            for (int n = 0; n < BATCH; n++) {
                long long to = col + column(i + n * STEP);
                if (to < g.n) store_quad<Acc>(TYPE, d, row + r + to * g.ldd, value[n]);
            }
        }
    }

    __device__ __forceinline__ void store_rows(Quad<Acc> value, int from, long long to) {
#pragma unroll
        for (int e = 0; e < 4; e++) value.at[e] *= alpha;
        if (c) {
            Quad<Acc> old = load_quad<Acc>(type(), c, from + to * g.ldc);
#pragma unroll
            for (int e = 0; e < 4; e++) value.at[e] += beta * old.at[e];
        }
        if (g.epilogue) {
#pragma unroll
            for (int e = 0; e < 4; e++) value.at[e] = activated(biased(value.at[e], from + e));
        }
        store_quad<Acc>(type(), d, from + to * g.ldd, value);
    }

    // Executed by whole warps.
    __device__ __forceinline__ void store_one(Acc sum, int from, long long to, bool inside) {
        Acc value = 0;
        if (inside) {
            value = alpha * sum;
            if (c) value += beta * load_as<Acc>(type(), c, from + to * g.ldc);
            value = biased(value, from);
        }
        if (g.epilogue & KEEP_INPUT) {
            long long kept = from + to * g.ldaux + blockIdx.z * g.stride_aux;
            if (g.epilogue & RELU) {
                unsigned positive = __ballot_sync(0xffffffff, value > Acc(0));
                if (inside && from % 32 == 0) ::store(static_cast<unsigned*>(g.aux) + kept / 32, positive);
            } else if (inside) {
                store_as(type(), g.aux, kept, value);
            }
        }
        if (inside) store_as(type(), d, from + to * g.ldd, activated(value));
    }

    __device__ __forceinline__ Acc biased(Acc value, int from) const {
        if (g.epilogue & BIAS) value += load_as<Acc>(g.bias_type, g.bias, from + blockIdx.z * g.stride_bias);
        return value;
    }

    __device__ __forceinline__ Acc activated(Acc value) const {
        // A NaN stays one.
        if (g.epilogue & RELU) value = value < Acc(0) ? Acc(0) : value;
        if (g.epilogue & GELU) value = gelu(value);
        return value;
    }
};
