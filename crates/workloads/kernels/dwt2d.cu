// Wavelet transform of a picture's components by whole numbers: the 5/3 filter of JPEG 2000, by lifting. A level makes
// of each component one of half its width and height and three bands of details.

#define SPLIT_THREADS 256
#define ROWS 8
#define WIDEST 192

// A picture's bytes as three components around zero. Bytes are read as words.
extern "C" __global__ void split_components(const unsigned *bytes, int *red, int *green, int *blue, int count, int words)
{
    __shared__ unsigned own[SPLIT_THREADS * 3 / 4];
    int word = blockIdx.x * (SPLIT_THREADS * 3 / 4) + threadIdx.x;
    if (threadIdx.x < SPLIT_THREADS * 3 / 4 && word < words) {
        own[threadIdx.x] = bytes[word];
    }
    __syncthreads();
    int pixel = blockIdx.x * SPLIT_THREADS + threadIdx.x;
    if (pixel < count) {
        const unsigned char *colours = (const unsigned char *)own + 3 * threadIdx.x;
        red[pixel] = colours[0] - 128;
        green[pixel] = colours[1] - 128;
        blue[pixel] = colours[2] - 128;
    }
}

// The place that a place beyond an end mirrors.
__device__ int mirrored(int place, int count)
{
    int inside = abs(place);
    return inside < count ? inside : max(2 * (count - 1) - inside, 0);
}

// Loads lines with their neighbours, two on the left and one on the right, and makes of them differences and averages in
// place: a half of the threads for each line.
__device__ void transform_lines(int (*rows)[WIDEST + 3], const int *in, int in_stride, int left, int first, int lines,
                                int width, int height)
{
    int window = blockDim.x;
    __syncthreads();
#pragma unroll 1
    for (int line = 0; line < lines; line++) {
        const int *row = in + mirrored(first + line, height) * in_stride;
        rows[line][threadIdx.x] = row[mirrored(left - 2 + (int)threadIdx.x, width)];
        if (threadIdx.x < 3) {
            rows[line][window + threadIdx.x] = row[mirrored(left - 2 + window + (int)threadIdx.x, width)];
        }
    }
    __syncthreads();
    int half = threadIdx.x / (window / 2);
    int at = threadIdx.x % (window / 2) * 2;
#pragma unroll 1
    for (int line = half; line < lines; line += 2) {
        rows[line][at + 3] -= (rows[line][at + 2] + rows[line][at + 4]) >> 1;
    }
    // The difference on the left of the window.
    if (threadIdx.x < lines) {
        int *line = rows[threadIdx.x];
        line[1] -= (line[0] + line[2]) >> 1;
    }
    __syncthreads();
#pragma unroll 1
    for (int line = half; line < lines; line += 2) {
        rows[line][at + 2] += (rows[line][at + 1] + rows[line][at + 3] + 2) >> 2;
    }
    __syncthreads();
}

// A column by each thread, `steps` times ROWS rows. Each thread goes down its column and keeps what the next row
// needs.
extern "C" __global__ void fdwt53(const int *in, int in_stride, int *low, int low_stride, int *details, int stride,
                                  int width, int height, int steps)
{
    __shared__ int rows[ROWS][WIDEST + 3];
    int left = blockIdx.x * blockDim.x;
    int top = blockIdx.y * ROWS * steps;
    int column = left + threadIdx.x;
    int half = column % 2 * ((width + 1) / 2) + column / 2;
    transform_lines(rows, in, in_stride, left, top - 2, 3, width, height);
    int even = rows[2][threadIdx.x + 2];
    int above = rows[1][threadIdx.x + 2] - ((rows[0][threadIdx.x + 2] + even) >> 1);
    int end = min(top + steps * ROWS, height);
#pragma unroll 1
    for (int first = top; first < end; first += ROWS) {
        transform_lines(rows, in, in_stride, left, first + 1, ROWS, width, height);
        for (int line = 0; line < ROWS; line += 2) {
            int next = rows[line + 1][threadIdx.x + 2];
            int difference = rows[line][threadIdx.x + 2] - ((even + next) >> 1);
            int average = even + ((above + difference + 2) >> 2);
            int row = first + line;
            if (column < width && row < height) {
                if (column % 2 == 0) {
                    low[row / 2 * low_stride + column / 2] = average;
                } else {
                    details[row / 2 * stride + half] = average;
                }
                if (row + 1 < height) {
                    details[((height + 1) / 2 + row / 2) * stride + half] = difference;
                }
            }
            even = next;
            above = difference;
        }
    }
}
