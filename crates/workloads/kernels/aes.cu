// AES-128 (FIPS 197) of many blocks with the same key, by tables that join the byte substitution and the mixing of a
// column. One thread per column of a block; a round's columns meet in shared memory.

#define THREADS 256
#define ROUNDS 10
#define TABLE 256

__constant__ unsigned int round_keys[4 * (ROUNDS + 1)];

// Byte `index` of a column.
__device__ __forceinline__ unsigned int byte_of(unsigned int column, int index)
{
    return (column >> (8 * index)) & 255;
}

// Encrypts blocks of four words. `tables` are the four tables in order: for the bytes of row 0, 1, 2 and 3.
extern "C" __global__ void aes_encrypt(const unsigned int *plain, unsigned int *cipher, const unsigned int *tables,
                                       int words)
{
    __shared__ unsigned int table[4 * TABLE];
    __shared__ unsigned int stages[2][THREADS];
    for (int i = threadIdx.x; i < 4 * TABLE; i += THREADS) {
        table[i] = tables[i];
    }
    int index = blockIdx.x * THREADS + threadIdx.x;
    int column = threadIdx.x % 4;
    // Threads beyond the end go along: they are whole blocks.
    stages[0][threadIdx.x] = index < words ? plain[index] ^ round_keys[column] : 0;
    __syncthreads();
    const unsigned int *block = stages[0] + threadIdx.x - column;
    for (int round = 1; round < ROUNDS; round++) {
        // Row r of the new column was r columns to the right.
        unsigned int mixed = round_keys[4 * round + column];
        mixed ^= table[byte_of(block[column], 0)];
        mixed ^= table[TABLE + byte_of(block[(column + 1) % 4], 1)];
        mixed ^= table[2 * TABLE + byte_of(block[(column + 2) % 4], 2)];
        mixed ^= table[3 * TABLE + byte_of(block[(column + 3) % 4], 3)];
        unsigned int *next = stages[round % 2];
        next[threadIdx.x] = mixed;
        block = next + threadIdx.x - column;
        __syncthreads();
    }
    if (index < words) {
        // The last round mixes no columns. Byte 1 of a row of the first table is the substitution itself.
        unsigned int last = round_keys[4 * ROUNDS + column];
        last ^= byte_of(table[byte_of(block[column], 0)], 1);
        last ^= byte_of(table[byte_of(block[(column + 1) % 4], 1)], 1) << 8;
        last ^= byte_of(table[byte_of(block[(column + 2) % 4], 2)], 1) << 16;
        last ^= byte_of(table[byte_of(block[(column + 3) % 4], 3)], 1) << 24;
        cipher[index] = last;
    }
}
