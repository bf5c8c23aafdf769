// Triple DES (FIPS 46-3) of a packet by one CTA: encrypt, decrypt and encrypt with three keys. One thread per block of
// 64 bits at a time.

#define THREADS 128
#define ROUNDS 48

// The substitutions, each with the permutation that follows it.
__constant__ unsigned substitutions[8 * 64];

// Exchanges the bits of `mask` in `right` with those `by` places higher in `left`.
__device__ void exchange(unsigned &left, unsigned &right, int by, unsigned mask)
{
    unsigned differing = ((left >> by) ^ right) & mask;
    right ^= differing;
    left ^= differing << by;
}

// A round key is eight groups of six bits, the even ones in its first word, the odd ones in its second, a byte each.
__device__ unsigned mix(const unsigned *boxes, unsigned half, uint2 key)
{
    unsigned even = __funnelshift_r(half, half, 3) ^ key.x;
    unsigned odd = __funnelshift_l(half, half, 1) ^ key.y;
    return boxes[even >> 24 & 63] ^ boxes[64 + (odd >> 24 & 63)] ^ boxes[128 + (even >> 16 & 63)] ^
           boxes[192 + (odd >> 16 & 63)] ^ boxes[256 + (even >> 8 & 63)] ^ boxes[320 + (odd >> 8 & 63)] ^
           boxes[384 + (even & 63)] ^ boxes[448 + (odd & 63)];
}

extern "C" __global__ void triple_des(const uint2 *plain, uint2 *cipher, const uint2 *keys, int blocks)
{
    __shared__ unsigned boxes[8 * 64];
    __shared__ uint2 round_keys[ROUNDS];
    for (int i = threadIdx.x; i < 8 * 64; i += THREADS) {
        boxes[i] = substitutions[i];
    }
    if (threadIdx.x < ROUNDS) {
        round_keys[threadIdx.x] = keys[threadIdx.x];
    }
    __syncthreads();
    for (int block = threadIdx.x; block < blocks; block += THREADS) {
        uint2 bytes = plain[block];
        unsigned left = __byte_perm(bytes.x, 0, 0x0123);
        unsigned right = __byte_perm(bytes.y, 0, 0x0123);
        // The first permutation by exchanges; those at the end are the same ones backwards.
        exchange(left, right, 4, 0x0f0f0f0f);
        exchange(left, right, 16, 0x0000ffff);
        exchange(right, left, 2, 0x33333333);
        exchange(right, left, 8, 0x00ff00ff);
        exchange(left, right, 1, 0x55555555);
#pragma unroll 1
        for (int pass = 0; pass < 3; pass++) {
#pragma unroll 4
            for (int round = 16 * pass; round < 16 * pass + 16; round += 2) {
                left ^= mix(boxes, right, round_keys[round]);
                right ^= mix(boxes, left, round_keys[round + 1]);
            }
            // The halves change places at the end of a pass.
            unsigned half = left;
            left = right;
            right = half;
        }
        exchange(left, right, 1, 0x55555555);
        exchange(right, left, 8, 0x00ff00ff);
        exchange(right, left, 2, 0x33333333);
        exchange(left, right, 16, 0x0000ffff);
        exchange(left, right, 4, 0x0f0f0f0f);
        cipher[block] = make_uint2(__byte_perm(left, 0, 0x0123), __byte_perm(right, 0, 0x0123));
    }
}
