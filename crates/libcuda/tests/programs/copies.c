/* Copies in two and three dimensions, arrays, and copies that cannot be. */
#include "api.h"

typedef struct { size_t x, y; int kind; const void *host; P device; H array; size_t pitch; } Side2;
typedef struct { Side2 from, to; size_t width, height; } Copy2;
typedef struct { size_t width, height; int format, channels; } Array2;
typedef struct { size_t width, height, depth; int format, channels; unsigned flags; } Array3;
enum { HOST = 1, DEVICE = 2, ARRAY = 3, UNIFIED = 4, U8 = 1, S32 = 10, F32 = 32 };

int cuMemcpy2D_v2(const Copy2 *), cuMemcpy2DUnaligned_v2(const Copy2 *), cuMemcpy2DAsync_v2(const Copy2 *, H);
int cuMemcpy3D_v2(const Copy3 *), cuMemcpy3DPeer(const Copy3 *), cuMemcpy3D_v2_ptds(const Copy3 *);
int cuMemAllocPitch_v2(P *, size_t *, size_t, size_t, unsigned), cuMemcpyPeer(P, H, P, H, size_t);
int cuArrayCreate_v2(H *, const Array2 *), cuArray3DCreate_v2(H *, const Array3 *), cuArrayDestroy(H);
int cuArrayGetDescriptor_v2(Array2 *, H), cuArray3DGetDescriptor_v2(Array3 *, H);
int cuMemcpyHtoA_v2(H, size_t, const void *, size_t), cuMemcpyAtoH_v2(void *, H, size_t, size_t);
int cuMemcpyDtoA_v2(H, size_t, P, size_t), cuMemcpyAtoD_v2(P, H, size_t, size_t);
int cuMemcpyAtoA_v2(H, size_t, H, size_t, size_t), cuMemcpyHtoAAsync_v2(H, size_t, const void *, size_t, H);
int cuMipmappedArrayCreate(H *, const Array3 *, unsigned), cuMipmappedArrayGetLevel(H *, H, unsigned);
int cuMipmappedArrayDestroy(H);
int cuMemcpyBatchAsync_v2(P *, P *, size_t *, size_t, void *, size_t *, size_t, H);

static void rows(void) {
    unsigned char in[12][40], out[12][40];
    for (int y = 0; y < 12; y++)
        for (int x = 0; x < 40; x++) in[y][x] = y * 40 + x;
    P memory;
    size_t pitch;
    OK(cuMemAllocPitch_v2(&memory, &pitch, 40, 12, 4));
    EXPECT(512, pitch);
    Copy2 copy = {{0, 0, HOST, in, 0, 0, 40}, {0, 0, DEVICE, 0, memory, 0, pitch}, 40, 12};
    OK(cuMemcpy2D_v2(&copy));
    /* A part, from the device: rows 2 to 6, bytes 5 to 25. */
    memset(out, 0, sizeof out);
    Copy2 back = {{5, 2, DEVICE, 0, memory, 0, pitch}, {1, 3, HOST, out, 0, 0, 40}, 20, 5};
    OK(cuMemcpy2DAsync_v2(&back, 0));
    for (int y = 0; y < 12; y++)
        for (int x = 0; x < 40; x++)
            EXPECT(y >= 3 && y < 8 && x >= 1 && x < 21 ? in[y - 1][x + 4] : 0, out[y][x]);
    /* Unified addresses find their side. */
    memset(out, 0, sizeof out);
    Copy2 either = {{0, 0, UNIFIED, 0, memory, 0, pitch}, {0, 0, UNIFIED, 0, (P)(size_t)out, 0, 40}, 40, 12};
    OK(cuMemcpy2DUnaligned_v2(&either));
    TRUE(!memcmp(in, out, sizeof in));
    copy.to.pitch = 39;
    EXPECT(1, cuMemcpy2D_v2(&copy));
    copy.to.pitch = pitch, copy.height = 13;
    EXPECT(1, cuMemcpy2D_v2(&copy));
    copy.height = 12, copy.from.kind = 7;
    EXPECT(1, cuMemcpy2D_v2(&copy));
    copy.from.kind = HOST, copy.from.host = (void *)64;
    EXPECT(1, cuMemcpy2D_v2(&copy));
    EXPECT(1, cuMemcpy2D_v2(0));
    EXPECT(1, cuMemcpy2D_v2((void *)24));
    EXPECT(400, cuMemcpy2DAsync_v2(&back, (H)0x7777));
    OK(cuMemFree_v2(memory));
}

static void boxes(void) {
    enum { W = 6, H_ = 5, D = 4 };
    int in[D][H_][W], out[D][H_][W];
    for (int i = 0; i < W * H_ * D; i++) (&in[0][0][0])[i] = i;
    Array3 shape = {W, H_, D, S32, 1, 0}, seen;
    H array;
    OK(cuArray3DCreate_v2(&array, &shape));
    OK(cuArray3DGetDescriptor_v2(&seen, array));
    TRUE(!memcmp(&seen, &shape, 36));
    Copy3 copy = {{.kind = HOST, .host = in, .pitch = W * 4, .height = H_}, {.kind = ARRAY, .array = array}, W * 4, H_, D};
    OK(cuMemcpy3D_v2(&copy));
    /* A box in the middle, through device memory with rows between its slices. */
    P memory;
    OK(cuMemAlloc_v2(&memory, 64 * 7 * 4));
    OK(cuMemsetD8_v2(memory, 0, 64 * 7 * 4));
    Copy3 middle = {{8, 1, 1, .kind = ARRAY, .array = array},
                    {4, 2, 0, .kind = DEVICE, .device = memory, .pitch = 64, .height = 7}, 12, 3, 2};
    OK(cuMemcpy3D_v2_ptds(&middle));
    memset(out, 0, sizeof out);
    Copy3 back = {{4, 2, 0, .kind = DEVICE, .device = memory, .pitch = 64, .height = 7},
                  {8, 1, 1, .kind = HOST, .host = out, .pitch = W * 4, .height = H_}, 12, 3, 2};
    OK(cuMemcpy3DPeer(&back));
    for (int z = 0; z < D; z++)
        for (int y = 0; y < H_; y++)
            for (int x = 0; x < W; x++)
                EXPECT(z >= 1 && z < 3 && y >= 1 && y < 4 && x >= 2 && x < 5 ? in[z][y][x] : 0, out[z][y][x]);
    copy.depth = 5;
    EXPECT(1, cuMemcpy3D_v2(&copy));
    copy.depth = D, copy.from.height = 4;
    EXPECT(1, cuMemcpy3D_v2(&copy));
    copy.from.height = H_, copy.to.level = 1;
    EXPECT(1, cuMemcpy3D_v2(&copy));
    copy.to.level = 0, copy.to.array = (H)0x5750000000000010;
    EXPECT(400, cuMemcpy3D_v2(&copy));
    OK(cuArrayDestroy(array));
    EXPECT(400, cuArrayDestroy(array));
    OK(cuMemFree_v2(memory));
}

static void lines(void) {
    float in[16], out[16];
    for (int i = 0; i < 16; i++) in[i] = i + 0.5f;
    Array2 shape = {16, 0, F32, 1}, seen, square = {4, 4, F32, 1};
    H line, table;
    OK(cuArrayCreate_v2(&line, &shape));
    OK(cuArrayCreate_v2(&table, &square));
    OK(cuArrayGetDescriptor_v2(&seen, table));
    TRUE(seen.width == 4 && seen.height == 4 && seen.format == F32 && seen.channels == 1);
    OK(cuMemcpyHtoA_v2(line, 0, in, sizeof in));
    OK(cuMemcpyHtoAAsync_v2(line, 8, in, 8, 0));
    P memory;
    OK(cuMemAlloc_v2(&memory, 64));
    OK(cuMemcpyAtoD_v2(memory, line, 4, 32));
    OK(cuMemcpyDtoA_v2(line, 32, memory, 32));
    OK(cuMemcpyAtoH_v2(out, line, 0, sizeof out));
    TRUE(out[1] == 1.5f && out[2] == 0.5f && out[3] == 1.5f && out[4] == 4.5f && out[8] == 1.5f && out[9] == 0.5f);
    EXPECT(1, cuMemcpyHtoA_v2(line, 8, in, sizeof in));
    /* Whole rows of an array with several. */
    OK(cuMemcpyHtoA_v2(table, 0, in, sizeof in));
    OK(cuMemcpyAtoH_v2(out, table, 16, 32));
    TRUE(out[0] == 4.5f && out[7] == 11.5f);
    EXPECT(1, cuMemcpyAtoH_v2(out, table, 8, 32));
    EXPECT(1, cuMemcpyAtoA_v2(table, 0, line, 0, 32));
    /* Arrays that cannot be. */
    Array2 none = {0, 4, F32, 1}, three = {4, 4, F32, 3}, unknown = {4, 4, 0, 1};
    EXPECT(1, cuArrayCreate_v2(&line, &none));
    EXPECT(1, cuArrayCreate_v2(&line, &three));
    EXPECT(1, cuArrayCreate_v2(&line, &unknown));
    EXPECT(1, cuArrayCreate_v2(0, &square));
    Array3 levels = {8, 8, 0, U8, 4, 0};
    H pyramid, level;
    OK(cuMipmappedArrayCreate(&pyramid, &levels, 1));
    OK(cuMipmappedArrayGetLevel(&level, pyramid, 0));
    EXPECT(1, cuMipmappedArrayGetLevel(&level, pyramid, 1));
    EXPECT(400, cuArrayDestroy(level));
    OK(cuMipmappedArrayDestroy(pyramid));
    EXPECT(801, cuMipmappedArrayCreate(&pyramid, &levels, 4));
    OK(cuMemFree_v2(memory));
}

int main(void) {
    H context;
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    rows();
    boxes();
    lines();
    P a, b;
    char text[8] = "";
    OK(cuMemAlloc_v2(&a, 8));
    OK(cuMemAlloc_v2(&b, 8));
    OK(cuMemcpyHtoD_v2(a, "peers", 6));
    OK(cuMemcpyPeer(b, context, a, context, 6));
    OK(cuMemcpyBatchAsync_v2((P[]){(P)(size_t)text}, (P[]){b}, (size_t[]){6}, 1, 0, 0, 0, 0));
    OK(cuCtxSynchronize());
    TRUE(!strcmp(text, "peers"));
    OK(cuCtxDestroy_v2(context));
    printf("done\n");
    return 0;
}
