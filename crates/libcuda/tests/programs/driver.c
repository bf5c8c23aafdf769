/* The driver API: modules of PTX and fat binaries, memory, launches, symbols, errors. */
#include "api.h"

static void vectors(H module) {
    H f;
    OK(cuModuleGetFunction(&f, module, "saxpy"));
    EXPECT(500, cuModuleGetFunction(&f, module, "sapxy"));
    OK(cuModuleGetFunction(&f, module, "saxpy"));
    enum { N = 1000 };
    float x[N], y[N], a = 3;
    int n = N;
    for (int i = 0; i < N; i++) x[i] = i, y[i] = 1;
    P dx, dy;
    OK(cuMemAlloc_v2(&dx, sizeof x));
    OK(cuMemAlloc_v2(&dy, sizeof y));
    OK(cuMemcpyHtoD_v2(dx, x, sizeof x));
    OK(cuMemcpyHtoD_v2(dy, y, sizeof y));
    void *args[] = {&n, &a, &dx, &dy};
    OK(cuLaunchKernel(f, 4, 1, 1, 256, 1, 1, 0, 0, args, 0));
    OK(cuMemcpyDtoH_v2(y, dy, sizeof y));
    for (int i = 0; i < N; i++) TRUE(y[i] == 3.0f * i + 1);
    /* The same arguments packed. */
    struct { int n; float a; P x, y; } packed = {n, a, dx, dy};
    size_t bytes = sizeof packed;
    void *extra[] = {(void *)1, &packed, (void *)2, &bytes, (void *)0};
    OK(cuLaunchKernel(f, 4, 1, 1, 256, 1, 1, 0, 0, 0, extra));
    OK(cuMemcpyDtoH_v2(y, dy, sizeof y));
    for (int i = 0; i < N; i++) TRUE(y[i] == 6.0f * i + 1);
    /* Impossible launches. */
    EXPECT(1, cuLaunchKernel(f, 0, 1, 1, 256, 1, 1, 0, 0, args, 0));
    EXPECT(1, cuLaunchKernel(f, 1, 1, 1, 2048, 1, 1, 0, 0, args, 0));
    EXPECT(1, cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 1 << 20, 0, args, 0));
    EXPECT(1, cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, 0, 0, 0));
    EXPECT(400, cuLaunchKernel((H)1234, 1, 1, 1, 32, 1, 1, 0, 0, args, 0));
    EXPECT(400, cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, (H)0x1234560, args, 0));
    OK(cuMemFree_v2(dx));
    EXPECT(1, cuMemFree_v2(dx));
    OK(cuMemFree_v2(dy));
}

static void symbols(H module) {
    P factor, counter, x;
    size_t bytes;
    H f;
    OK(cuModuleGetGlobal_v2(&factor, &bytes, module, "factor"));
    EXPECT(4, bytes);
    OK(cuModuleGetGlobal_v2(&counter, 0, module, "counter"));
    EXPECT(500, cuModuleGetGlobal_v2(&counter, 0, module, "nothing"));
    OK(cuModuleGetFunction(&f, module, "scale"));
    /* CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: `factor`. */
    int constant;
    OK(cuFuncGetAttribute(&constant, 2, f));
    EXPECT(4, constant);
    float v[32], five = 5;
    for (int i = 0; i < 32; i++) v[i] = i;
    OK(cuMemAlloc_v2(&x, sizeof v));
    OK(cuMemcpyHtoD_v2(x, v, sizeof v));
    int n = 32;
    OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, 0, (void *[]){&x, &n}, 0));
    OK(cuMemcpyHtoD_v2(factor, &five, 4));
    OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, 0, (void *[]){&x, &n}, 0));
    OK(cuMemcpyDtoH_v2(v, x, sizeof v));
    for (int i = 0; i < 32; i++) TRUE(v[i] == 10.0f * i);
    unsigned count;
    OK(cuMemcpyDtoH_v2(&count, counter, 4));
    EXPECT(7, count);
}

static void parameters(H module) {
    H f;
    OK(cuModuleGetFunction(&f, module, "jobs"));
    int from[64], to[32], n = 32;
    for (int i = 0; i < 64; i++) from[i] = i;
    struct { P from, to; short step; char add; } job = {0, 0, 2, -1};
    OK(cuMemAlloc_v2(&job.from, sizeof from));
    OK(cuMemAlloc_v2(&job.to, sizeof to));
    OK(cuMemcpyHtoD_v2(job.from, from, sizeof from));
    unsigned char mask = 0xfe;
    double scale = 1.5;
    OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, 0, (void *[]){&job, &mask, &scale, &n}, 0));
    OK(cuMemcpyDtoH_v2(to, job.to, sizeof to));
    for (int i = 0; i < 32; i++) EXPECT((int)((2 * i - 1) * 1.5) & 0xfe, to[i]);
}

int main(int argc, char **argv) {
    int device, count, value;
    H context, module, again;
    char name[64];
    EXPECT(3, cuDeviceGetCount(&count));
    EXPECT(1, cuInit(1));
    OK(cuInit(0));
    OK(cuDeviceGetCount(&count));
    EXPECT(1, count);
    EXPECT(101, cuDeviceGet(&device, 1));
    OK(cuDeviceGet(&device, 0));
    OK(cuDeviceGetName(name, sizeof name, device));
    OK(cuDeviceGetAttribute(&value, 75, device));
    EXPECT(7, value);
    OK(cuDeviceGetAttribute(&value, 16, device));
    EXPECT(34, value);
    P memory;
    EXPECT(201, cuMemAlloc_v2(&memory, 4));
    OK(cuCtxCreate_v2(&context, 0, device));
    EXPECT(1, cuMemAlloc_v2(0, 4));
    EXPECT(1, cuMemAlloc_v2((P *)8, 4));
    EXPECT(1, cuMemAlloc_v2(&memory, 0));
    EXPECT(2, cuMemAlloc_v2(&memory, (size_t)1 << 50));
    for (int i = 1; i < argc; i++) {
        printf("%s\n", strrchr(argv[i], '/') + 1);
        OK(cuModuleLoad(&module, argv[i]));
        vectors(module);
        symbols(module);
        parameters(module);
        OK(cuModuleUnload(module));
        EXPECT(400, cuModuleUnload(module));
        /* A module that is loaded again has its first values. */
        OK(cuModuleLoad(&again, argv[i]));
        symbols(again);
        /* Kernels that have not run yet still have the module's variables. */
        H f;
        OK(cuModuleGetFunction(&f, again, "scale"));
        OK(cuMemAlloc_v2(&memory, 128));
        OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, 0, (void *[]){&memory, &(int){32}}, 0));
        OK(cuModuleUnload(again));
        OK(cuCtxSynchronize());
    }
    EXPECT(301, cuModuleLoad(&module, "nowhere.ptx"));
    EXPECT(218, cuModuleLoadData(&module, ".version 7.0\n.target sm_70\nnonsense"));
    EXPECT(1, cuModuleLoadData(&module, 0));
    EXPECT(1, cuModuleLoadData(&module, (void *)16));
    const char *text;
    OK(cuGetErrorName(700, &text));
    TRUE(!strcmp(text, "CUDA_ERROR_ILLEGAL_ADDRESS"));
    EXPECT(1, cuGetErrorName(12345, &text));
    H other;
    OK(cuCtxGetCurrent(&other));
    TRUE(other == context);
    OK(cuCtxDestroy_v2(context));
    EXPECT(201, cuCtxSynchronize());
    EXPECT(201, cuCtxSetCurrent(context));
    printf("done\n");
    return 0;
}
