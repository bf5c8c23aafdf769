// Minima and maxima of sums, of three and of halves: what Hopper has instructions for.
// Thread t writes row r to out[128 * r + t]; tests/hopper.rs has the same rows.
typedef unsigned u32;

__device__ u32 flags(u32 value, bool high, bool low) {
    return value ^ (high ? 0x10000001u : 0) ^ (low ? 0x20000002u : 0);
}

extern "C" __global__ void dpx(u32* out, const u32* in) {
    u32 t = blockIdx.x * blockDim.x + threadIdx.x;
    u32 a = in[t], b = in[t + 128], c = in[t + 256];
    bool high, low;
    out[t + 128 * 0] = __viaddmax_s32(a, b, c);
    out[t + 128 * 1] = __viaddmin_u32(a, b, c);
    out[t + 128 * 2] = __viaddmin_s16x2(a, b, c);
    out[t + 128 * 3] = __viaddmax_u16x2(a, b, c);
    out[t + 128 * 4] = __vimax3_s32(a, b, c);
    out[t + 128 * 5] = __vimin3_u16x2(a, b, c);
    out[t + 128 * 6] = __vimax3_s16x2(a, b, c);
    u32 most = __vibmax_s16x2(a, b, &high, &low);
    out[t + 128 * 7] = flags(most, high, low);
    u32 least = __vibmin_u16x2(a, b, &high, &low);
    out[t + 128 * 8] = flags(least, high, low);
    out[t + 128 * 9] = __vadd2(a, b);
    out[t + 128 * 10] = __vadd2(a, 0x00010003);
    out[t + 128 * 11] = __viaddmax_s16x2(a, 0x00050007, c);
    out[t + 128 * 12] = __vmaxu2(a, b);
}

extern "C" __global__ void relu(u32* out, const u32* in) {
    u32 t = blockIdx.x * blockDim.x + threadIdx.x;
    u32 a = in[t], b = in[t + 128], c = in[t + 256];
    out[t + 128 * 0] = __viaddmax_s32_relu(a, b, c);
    out[t + 128 * 1] = __viaddmin_s16x2_relu(a, b, c);
    out[t + 128 * 2] = __vimax3_s16x2_relu(a, b, c);
    out[t + 128 * 3] = __vimin_s32_relu(a, b);
    out[t + 128 * 4] = __vimax_s16x2_relu(a, b);
}
