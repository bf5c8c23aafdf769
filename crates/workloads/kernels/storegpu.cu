// Hashes of chunks of a file, as content-addressed storage needs them: MD5 or SHA-1 of each chunk, or MD5 of the
// window that begins at each offset. One thread per hash.

#define THREADS 128
// Words of a message block, which is what a hash takes in at a time.
#define BLOCK 16
// A thread's words of a block are this far apart, so that threads side by side use banks side by side.
#define STRIDE (THREADS + 1)

__device__ __forceinline__ unsigned int rotated(unsigned int x, int by)
{
    return __funnelshift_l(x, x, by);
}

// Sines of whole numbers, times 2^32 (RFC 1321).
__device__ constexpr unsigned int MD5_SINES[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};
__device__ constexpr int MD5_TURNS[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

// Takes a block into an MD5 state of four words.
__device__ __forceinline__ void md5_block(unsigned int *state, const unsigned int *words)
{
    unsigned int a = state[0], b = state[1], c = state[2], d = state[3];
#pragma unroll
    for (int i = 0; i < 64; i++) {
        unsigned int mixed;
        int word;
        switch (i / 16) {
        case 0: mixed = (b & c) | (~b & d); word = i; break;
        case 1: mixed = (b & d) | (c & ~d); word = 5 * i + 1; break;
        case 2: mixed = b ^ c ^ d; word = 3 * i + 5; break;
        default: mixed = c ^ (b | ~d); word = 7 * i; break;
        }
        unsigned int turned = rotated(a + mixed + words[word % BLOCK * STRIDE] + MD5_SINES[i], MD5_TURNS[i / 16][i % 4]);
        a = d;
        d = c;
        c = b;
        b += turned;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

// Takes a block into a SHA-1 state of five words. Its words are big-endian.
__device__ __forceinline__ void sha1_block(unsigned int *state, const unsigned int *words)
{
    unsigned int w[BLOCK];
#pragma unroll
    for (int i = 0; i < BLOCK; i++) {
        w[i] = __byte_perm(words[i * STRIDE], 0, 0x0123);
    }
    unsigned int a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
#pragma unroll
    for (int i = 0; i < 80; i++) {
        if (i >= BLOCK) {
            w[i % BLOCK] = rotated(w[(i + 13) % BLOCK] ^ w[(i + 8) % BLOCK] ^ w[(i + 2) % BLOCK] ^ w[i % BLOCK], 1);
        }
        unsigned int mixed;
        switch (i / 20) {
        case 0: mixed = ((b & c) | (~b & d)) + 0x5a827999; break;
        case 1: mixed = (b ^ c ^ d) + 0x6ed9eba1; break;
        case 2: mixed = ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc; break;
        default: mixed = (b ^ c ^ d) + 0xca62c1d6; break;
        }
        unsigned int next = rotated(a, 5) + mixed + e + w[i % BLOCK];
        e = d;
        d = c;
        c = rotated(b, 30);
        b = a;
        a = next;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
}

// The block that ends a message of whole blocks: a bit that is set, zeros, and the message's length in bits.
__device__ __forceinline__ void pad(unsigned int *words, unsigned int bytes, bool big_endian)
{
    words[0] = 0x80;
    for (int i = 1; i < BLOCK; i++) {
        words[i * STRIDE] = 0;
    }
    if (big_endian) {
        words[15 * STRIDE] = __byte_perm(8 * bytes, 0, 0x0123);
    } else {
        words[14 * STRIDE] = 8 * bytes;
    }
}

// Hashes chunks of `blocks` blocks each. The threads of a CTA bring a block of each of its chunks to shared memory.
template <int WORDS>
__device__ __forceinline__ void hash_chunks(const unsigned int *data, unsigned int *digests, int chunks, int blocks,
                                            const unsigned int *start)
{
    __shared__ unsigned int stage[BLOCK * STRIDE];
    int first = blockIdx.x * THREADS;
    int mine = first + threadIdx.x;
    unsigned int *words = stage + threadIdx.x;
    unsigned int state[WORDS];
#pragma unroll
    for (int i = 0; i < WORDS; i++) {
        state[i] = start[i];
    }
    // One place takes in all blocks: the code of a hash is long.
#pragma unroll 1
    for (int block = 0; block <= blocks; block++) {
        if (block < blocks) {
            __syncthreads();
            for (int i = threadIdx.x; i < BLOCK * THREADS; i += THREADS) {
                int chunk = first + i / BLOCK;
                if (chunk < chunks) {
                    stage[i % BLOCK * STRIDE + i / BLOCK] = data[(chunk * blocks + block) * BLOCK + i % BLOCK];
                }
            }
            __syncthreads();
        } else {
            // From here on only the thread itself reads its words.
            pad(words, 4 * BLOCK * blocks, WORDS == 5);
        }
        if (mine < chunks) {
            if (WORDS == 4) {
                md5_block(state, words);
            } else {
                sha1_block(state, words);
            }
        }
    }
    if (mine >= chunks) {
        return;
    }
#pragma unroll
    for (int i = 0; i < WORDS; i++) {
        digests[mine * WORDS + i] = state[i];
    }
}

extern "C" __global__ void md5_chunks(const unsigned int *data, unsigned int *digests, int chunks, int blocks)
{
    constexpr unsigned int start[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    hash_chunks<4>(data, digests, chunks, blocks, start);
}

extern "C" __global__ void sha1_chunks(const unsigned int *data, unsigned int *digests, int chunks, int blocks)
{
    constexpr unsigned int start[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    hash_chunks<5>(data, digests, chunks, blocks, start);
}

// MD5 of the block that begins at each byte; `data` has a block more than there are windows.
extern "C" __global__ void md5_windows(const unsigned int *data, unsigned int *digests, int windows)
{
    __shared__ unsigned int bytes[THREADS / 4 + BLOCK];
    __shared__ unsigned int stage[BLOCK * STRIDE];
    int first = blockIdx.x * THREADS;
    int mine = first + threadIdx.x;
    for (int i = threadIdx.x; i < THREADS / 4 + BLOCK; i += THREADS) {
        if (first + 4 * i < windows + 4 * BLOCK) {
            bytes[i] = data[first / 4 + i];
        }
    }
    __syncthreads();
    if (mine >= windows) {
        return;
    }
    unsigned int *words = stage + threadIdx.x;
    int at = threadIdx.x / 4;
    int shift = threadIdx.x % 4 * 8;
    for (int i = 0; i < BLOCK; i++) {
        words[i * STRIDE] = shift == 0 ? bytes[at + i] : __funnelshift_r(bytes[at + i], bytes[at + i + 1], shift);
    }
    unsigned int state[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
#pragma unroll 1
    for (int block = 0; block < 2; block++) {
        if (block == 1) {
            pad(words, 4 * BLOCK, false);
        }
        md5_block(state, words);
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        digests[4 * mine + i] = state[i];
    }
}
