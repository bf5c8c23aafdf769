/* Texture and surface objects, texture and surface references. */
#include "api.h"

typedef struct { size_t width, height; int format, channels; } Array2;
typedef struct { size_t width, height, depth; int format, channels; unsigned flags; } Array3;
typedef struct {
    int kind;
    union {
        struct { H array; } array;
        struct { P address; int format, channels; size_t bytes; } linear;
        struct { P address; int format, channels; size_t width, height, pitch; } pitched;
        int reserved[32];
    } of;
    unsigned flags;
} Resource;
typedef struct {
    int address[3], filter;
    unsigned flags, anisotropy;
    int mipmap;
    float bias, least, most, border[4];
    int reserved[12];
} Texture;
typedef struct { int format; size_t width, height, depth; unsigned levels[2], layers[2], reserved[16]; } View;
typedef struct { size_t x, y; int kind; const void *host; P device; H array; size_t pitch; } Side2;
typedef struct { Side2 from, to; size_t width, height; } Copy2;
typedef unsigned long long O;
enum { U8 = 1, S32 = 10, F32 = 32, WRAP = 0, CLAMP = 1, BORDER = 3, INTEGER = 1, NORMALISED = 2 };

int cuArrayCreate_v2(H *, const Array2 *), cuArray3DCreate_v2(H *, const Array3 *), cuArrayDestroy(H);
int cuMemcpyHtoA_v2(H, size_t, const void *, size_t), cuMemcpyAtoH_v2(void *, H, size_t, size_t);
int cuTexObjectCreate(O *, const Resource *, const Texture *, const View *), cuTexObjectDestroy(O);
int cuTexObjectGetResourceDesc(Resource *, O), cuTexObjectGetTextureDesc(Texture *, O);
int cuTexObjectGetResourceViewDesc(View *, O), cuSurfObjectCreate(O *, const Resource *), cuSurfObjectDestroy(O);
int cuSurfObjectGetResourceDesc(Resource *, O), cuMemcpy2D_v2(const Copy2 *);
int cuModuleGetTexRef(H *, H, const char *), cuModuleGetSurfRef(H *, H, const char *);
int cuTexRefSetArray(H, H, unsigned), cuTexRefSetAddress_v2(size_t *, H, P, size_t), cuTexRefGetArray(H *, H);
int cuTexRefSetFormat(H, int, int), cuTexRefSetFlags(H, unsigned), cuTexRefGetAddress_v2(P *, H);
int cuTexRefSetAddress2D_v3(H, const Array2 *, P, size_t), cuTexRefSetFilterMode(H, int);
int cuTexRefSetAddressMode(H, int, int), cuTexRefGetAddressMode(int *, H, int), cuTexRefGetFlags(unsigned *, H);
int cuSurfRefSetArray(H, H, unsigned), cuSurfRefGetArray(H *, H);
int cuMemAllocPitch_v2(P *, size_t *, size_t, size_t, unsigned);

static H module;
static float seen[64];
static P out;

static void run(const char *name, unsigned x, unsigned y, void **args) {
    H f;
    OK(cuModuleGetFunction(&f, module, name));
    OK(cuLaunchKernel(f, 1, 1, 1, x, y, 1, 256, 0, args, 0));
}

static void look(const char *name, unsigned x, unsigned y, void **args) {
    run(name, x, y, args);
    OK(cuMemcpyDtoH_v2(seen, out, sizeof seen));
}

/* 8 x 4 texels of value 10 * row + column, in an array. */
static H picture(void) {
    float texels[4][8];
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 8; x++) texels[y][x] = 10 * y + x;
    Array2 shape = {8, 4, F32, 1};
    H array;
    OK(cuArrayCreate_v2(&array, &shape));
    Copy2 copy = {{0, 0, 1, texels, 0, 0, 32}, {0, 0, 3, 0, 0, array, 0}, 32, 4};
    OK(cuMemcpy2D_v2(&copy));
    return array;
}

static void objects(void) {
    H array = picture();
    Resource resource = {0, {.array = {array}}}, got;
    Texture texture = {{CLAMP, CLAMP, CLAMP}, 0}, asked;
    O first, object;
    int width = 8;
    float none = 0, half = 0.5f;
    OK(cuTexObjectCreate(&first, &resource, &texture, 0));
    look("sample", 8, 4, (void *[]){&out, &first, &width, &none});
    for (int i = 0; i < 32; i++) EXPECT(10 * (i / 8) + i % 8, seen[i]);
    /* Between two texels, and beyond the last. */
    texture.filter = 1;
    OK(cuTexObjectCreate(&object, &resource, &texture, 0));
    TRUE(object != first);
    look("sample", 8, 4, (void *[]){&out, &object, &width, &half});
    TRUE(seen[0] == 0.5f && seen[14] == 16.5f && seen[15] == 17);
    OK(cuTexObjectGetResourceDesc(&got, object));
    OK(cuTexObjectGetTextureDesc(&asked, object));
    TRUE(got.of.array.array == array && asked.filter == 1);
    EXPECT(1, cuTexObjectGetResourceViewDesc((View *)&got, object));
    OK(cuTexObjectDestroy(object));
    EXPECT(1, cuTexObjectDestroy(object));
    EXPECT(1, cuTexObjectGetTextureDesc(&asked, object));
    EXPECT(1, cuSurfObjectDestroy(first));
    /* Views have the image's size. */
    texture.filter = 0;
    View view = {22, 8, 4, 0};
    OK(cuTexObjectCreate(&object, &resource, &texture, &view));
    OK(cuTexObjectDestroy(object));
    view.width = 4;
    EXPECT(1, cuTexObjectCreate(&object, &resource, &texture, &view));
    /* A border has a colour. */
    float one = 1;
    texture.address[0] = BORDER, texture.border[0] = 77;
    OK(cuTexObjectCreate(&object, &resource, &texture, 0));
    look("sample", 8, 4, (void *[]){&out, &object, &width, &one});
    TRUE(seen[0] == 1 && seen[6] == 7 && seen[7] == 77 && seen[15] == 77);
    OK(cuTexObjectDestroy(object));
    texture.border[0] = 0;
    /* What cannot be. */
    texture.address[0] = 9;
    EXPECT(1, cuTexObjectCreate(&object, &resource, &texture, 0));
    texture.address[0] = CLAMP, texture.filter = 2;
    EXPECT(1, cuTexObjectCreate(&object, &resource, &texture, 0));
    texture.filter = 0, resource.kind = 5;
    EXPECT(1, cuTexObjectCreate(&object, &resource, &texture, 0));
    resource.kind = 0;
    EXPECT(1, cuTexObjectCreate(&object, 0, &texture, 0));
    EXPECT(1, cuTexObjectCreate(&object, &resource, (void *)8, 0));
    EXPECT(1, cuTexObjectCreate(0, &resource, &texture, 0));
    /* A surface of the same array, and the texture again. */
    OK(cuSurfObjectCreate(&object, &resource));
    run("paint", 4, 2, (void *[]){&object});
    OK(cuSurfObjectGetResourceDesc(&got, object));
    TRUE(got.of.array.array == array);
    OK(cuSurfObjectDestroy(object));
    look("sample", 8, 4, (void *[]){&out, &first, &width, &none});
    TRUE(seen[3] == 3 && seen[8] == 10 && seen[11] == 13 && seen[12] == 14 && seen[16] == 20);
    resource.of.array.array = (H)12345;
    EXPECT(400, cuSurfObjectCreate(&object, &resource));
    OK(cuTexObjectDestroy(first));
    OK(cuArrayDestroy(array));
}

static void memory(void) {
    int values[32];
    for (int i = 0; i < 32; i++) values[i] = 7 * i;
    P at;
    OK(cuMemAlloc_v2(&at, sizeof values));
    OK(cuMemcpyHtoD_v2(at, values, sizeof values));
    Resource resource = {2, {.linear = {at, S32, 1, sizeof values}}};
    Texture texture = {{CLAMP, CLAMP, CLAMP}, 0, INTEGER};
    O object;
    OK(cuTexObjectCreate(&object, &resource, &texture, 0));
    look("fetch", 32, 1, (void *[]){&out, &object});
    TRUE(!memcmp(seen, values, sizeof values));
    resource.of.linear.address = at + 4;
    EXPECT(1, cuTexObjectCreate(&object, &resource, &texture, 0));
    EXPECT(1, cuSurfObjectCreate(&object, &resource));
    /* Bytes that are read as numbers from 0 to 1, in rows with a pitch. */
    unsigned char bytes[8] = {0, 51, 102, 153, 204, 255, 0, 0};
    size_t pitch;
    P pitched;
    OK(cuMemAllocPitch_v2(&pitched, &pitch, 8, 2, 4));
    OK(cuMemcpyHtoD_v2(pitched, bytes, 8));
    Resource rows = {3, {.pitched = {pitched, U8, 1, 8, 2, pitch}}};
    texture.flags = 0;
    OK(cuTexObjectCreate(&object, &rows, &texture, 0));
    look("shade", 6, 1, (void *[]){&out, &object});
    TRUE(seen[0] == 0 && seen[1] == 0.2f && seen[5] == 1);
    rows.of.pitched.pitch = 4;
    EXPECT(1, cuTexObjectCreate(&object, &rows, &texture, 0));
}

static void layers(void) {
    float texels[2][2][4];
    for (int i = 0; i < 16; i++) (&texels[0][0][0])[i] = i;
    Array3 layered = {4, 2, 2, F32, 1, 1}, box = {4, 2, 2, F32, 1, 0};
    H array;
    O object;
    Texture texture = {{CLAMP, CLAMP, CLAMP}, 0};
    for (int kind = 0; kind < 2; kind++) {
        OK(cuArray3DCreate_v2(&array, kind ? &box : &layered));
        OK(cuMemcpyHtoA_v2(array, 0, texels, sizeof texels));
        Resource resource = {0, {.array = {array}}};
        OK(cuTexObjectCreate(&object, &resource, &texture, 0));
        int one = 1;
        look(kind ? "volume" : "layer", 4, 1, (void *[]){&out, &object, &one});
        for (int i = 0; i < 4; i++) EXPECT((kind ? 12 : 8) + i, seen[i]);
    }
}

static void references(void) {
    H reference, same, surface, array = picture(), other;
    EXPECT(500, cuModuleGetTexRef(&reference, module, "nothing"));
    EXPECT(500, cuModuleGetTexRef(&reference, module, "canvas"));
    OK(cuModuleGetTexRef(&reference, module, "picture"));
    OK(cuModuleGetTexRef(&same, module, "picture"));
    TRUE(same == reference);
    int width = 8, mode;
    unsigned flags;
    EXPECT(1, cuTexRefGetArray(&other, reference));
    OK(cuTexRefSetArray(reference, array, 1));
    OK(cuTexRefGetArray(&other, reference));
    TRUE(other == array);
    look("look", 8, 4, (void *[]){&out, &width});
    for (int i = 0; i < 32; i++) EXPECT(10 * (i / 8) + i % 8, seen[i]);
    /* Normalised coordinates that wrap: whole numbers are the first texel. */
    OK(cuTexRefSetFlags(reference, NORMALISED));
    OK(cuTexRefSetAddressMode(reference, 0, WRAP));
    OK(cuTexRefSetAddressMode(reference, 1, WRAP));
    EXPECT(1, cuTexRefSetAddressMode(reference, 3, WRAP));
    OK(cuTexRefGetAddressMode(&mode, reference, 0));
    OK(cuTexRefGetFlags(&flags, reference));
    TRUE(mode == WRAP && flags == NORMALISED);
    look("look", 8, 4, (void *[]){&out, &width});
    for (int i = 0; i < 32; i++) EXPECT(0, seen[i]);
    /* A launch keeps the binding that it was requested with. */
    OK(cuTexRefSetFlags(reference, 0));
    H f;
    P more;
    OK(cuMemAlloc_v2(&more, sizeof seen));
    OK(cuModuleGetFunction(&f, module, "look"));
    OK(cuLaunchKernel(f, 1, 1, 1, 8, 4, 1, 0, 0, (void *[]){&more, &width}, 0));
    float ones[32];
    P rows;
    for (int i = 0; i < 32; i++) ones[i] = 1;
    OK(cuMemAlloc_v2(&rows, sizeof ones));
    OK(cuMemcpyHtoDAsync_v2(rows, ones, sizeof ones, 0));
    Array2 shape = {8, 4, F32, 1};
    OK(cuTexRefSetAddress2D_v3(reference, &shape, rows, 32));
    look("look", 8, 4, (void *[]){&out, &width});
    for (int i = 0; i < 32; i++) EXPECT(1, seen[i]);
    OK(cuMemcpyDtoH_v2(seen, more, sizeof seen));
    for (int i = 0; i < 32; i++) EXPECT(10 * (i / 8) + i % 8, seen[i]);
    /* Linear memory from the middle of an allocation. */
    int values[96];
    for (int i = 0; i < 96; i++) values[i] = i;
    P at;
    size_t offset;
    OK(cuMemAlloc_v2(&at, sizeof values));
    OK(cuMemcpyHtoD_v2(at, values, sizeof values));
    OK(cuModuleGetTexRef(&reference, module, "line"));
    OK(cuTexRefSetFormat(reference, S32, 1));
    EXPECT(1, cuTexRefSetFormat(reference, S32, 3));
    OK(cuTexRefSetAddress_v2(&offset, reference, at + 256 + 8, 64));
    EXPECT(8, offset);
    look("look_along", 4, 1, (void *[]){&out});
    EXPECT(64, *(int *)&seen[0]);
    EXPECT(67, *(int *)&seen[3]);
    /* A surface. */
    OK(cuModuleGetSurfRef(&surface, module, "canvas"));
    OK(cuSurfRefSetArray(surface, array, 0));
    OK(cuSurfRefGetArray(&other, surface));
    TRUE(other == array);
    run("draw", 8, 4, 0);
    OK(cuMemcpyAtoH_v2(seen, array, 0, 128));
    for (int i = 0; i < 32; i++) EXPECT(1 + i % 8, seen[i]);
    /* What is bound to nothing, or to what is gone, is no matter of other kernels. */
    OK(cuTexRefSetAddress_v2(&offset, reference, 0, 0));
    OK(cuArrayDestroy(array));
    OK(cuMemFree_v2(rows));
    run("share", 16, 1, (void *[]){&out});
    OK(cuCtxSynchronize());
    array = picture();
    EXPECT(400, cuTexRefSetArray((H)3, array, 0));
    EXPECT(400, cuTexRefSetArray(surface, array, 0));
    EXPECT(400, cuTexRefSetArray(reference, (H)3, 0));
}

int main(int argc, char **argv) {
    H context;
    EXPECT(144, sizeof(Resource));
    EXPECT(104, sizeof(Texture));
    EXPECT(112, sizeof(View));
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuModuleLoad(&module, argv[1]));
    OK(cuMemAlloc_v2(&out, sizeof seen));
    objects();
    memory();
    layers();
    references();
    /* A reference that was never bound. */
    H f;
    OK(cuModuleUnload(module));
    OK(cuModuleLoad(&module, argv[1]));
    OK(cuModuleGetFunction(&f, module, "look_along"));
    OK(cuLaunchKernel(f, 1, 1, 1, 4, 1, 1, 0, 0, (void *[]){&out}, 0));
    EXPECT(719, cuCtxSynchronize());
    printf("done\n");
    return 0;
}
