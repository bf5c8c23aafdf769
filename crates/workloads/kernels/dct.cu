// Discrete cosine transform of a picture by one CTA, a square of 8 x 8 after the other: the square times the matrix of
// cosines from both sides. One thread per pixel of a square.
//
// Products are added by fmaf() only, so that results are the same to the bit.

#define SIDE 8

__constant__ float cosines[SIDE][SIDE];

extern "C" __global__ void dct8x8(const float *in, float *out, int width, int height)
{
    __shared__ float matrix[SIDE][SIDE];
    __shared__ float square[SIDE][SIDE];
    __shared__ float half[SIDE][SIDE];
    int x = threadIdx.x;
    int y = threadIdx.y;
    matrix[y][x] = cosines[y][x];
    for (int top = 0; top < height; top += SIDE) {
        for (int left = 0; left < width; left += SIDE) {
            int at = (top + y) * width + left + x;
            square[y][x] = in[at];
            __syncthreads();
            float sum = 0.0f;
#pragma unroll
            for (int i = 0; i < SIDE; i++) {
                sum = fmaf(matrix[y][i], square[i][x], sum);
            }
            half[y][x] = sum;
            __syncthreads();
            sum = 0.0f;
#pragma unroll
            for (int i = 0; i < SIDE; i++) {
                sum = fmaf(half[y][i], matrix[x][i], sum);
            }
            out[at] = sum;
        }
    }
}
