/* What the test programs need of CUDA's API: declarations of our own, so that no CUDA is needed. */
#ifndef API_H
#define API_H
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The driver API. Handles are pointers. */
typedef void *H;
typedef uint64_t P;
/* CUDA_MEMCPY3D and its sides. */
typedef struct {
    size_t x, y, z, level;
    int kind;
    const void *host;
    P device;
    H array;
    void *context;
    size_t pitch, height;
} Side3;
typedef struct { Side3 from, to; size_t width, height, depth; } Copy3;
int cuInit(unsigned), cuDriverGetVersion(int *), cuDeviceGet(int *, int), cuDeviceGetCount(int *);
int cuDeviceGetName(char *, int, int), cuDeviceTotalMem_v2(size_t *, int), cuDeviceGetAttribute(int *, int, int);
int cuGetErrorName(int, const char **), cuGetErrorString(int, const char **);
int cuCtxCreate_v2(H *, unsigned, int), cuCtxDestroy_v2(H), cuCtxGetCurrent(H *), cuCtxSetCurrent(H);
int cuCtxPushCurrent_v2(H), cuCtxPopCurrent_v2(H *), cuCtxGetDevice(int *), cuCtxSynchronize(void);
int cuCtxGetLimit(size_t *, int), cuCtxSetLimit(int, size_t);
int cuDevicePrimaryCtxRetain(H *, int), cuDevicePrimaryCtxRelease_v2(int);
int cuModuleLoad(H *, const char *), cuModuleLoadData(H *, const void *), cuModuleUnload(H);
int cuModuleGetFunction(H *, H, const char *), cuModuleGetGlobal_v2(P *, size_t *, H, const char *);
int cuFuncGetAttribute(int *, int, H), cuFuncSetAttribute(H, int, int);
int cuMemAlloc_v2(P *, size_t), cuMemFree_v2(P), cuMemGetInfo_v2(size_t *, size_t *);
int cuMemAllocHost_v2(void **, size_t), cuMemFreeHost(void *), cuMemAllocManaged(P *, size_t, unsigned);
int cuMemcpyHtoD_v2(P, const void *, size_t), cuMemcpyDtoH_v2(void *, P, size_t), cuMemcpyDtoD_v2(P, P, size_t);
int cuMemcpyHtoDAsync_v2(P, const void *, size_t, H), cuMemcpyDtoHAsync_v2(void *, P, size_t, H);
int cuMemsetD8_v2(P, unsigned char, size_t), cuMemsetD32_v2(P, unsigned, size_t);
int cuLaunchKernel(H, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, H, void **, void **);
int cuLaunchCooperativeKernel(H, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, H, void **);
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *, H, int, size_t);
int cuStreamCreate(H *, unsigned), cuStreamDestroy_v2(H), cuStreamSynchronize(H), cuStreamQuery(H);
int cuStreamWaitEvent(H, H, unsigned), cuLaunchHostFunc(H, void (*)(void *), void *);
int cuEventCreate(H *, unsigned), cuEventDestroy_v2(H), cuEventRecord(H, H), cuEventSynchronize(H);
int cuEventQuery(H), cuEventElapsedTime(float *, H, H);
int cuGetProcAddress_v2(const char *, void **, int, uint64_t, int *);

/* The runtime API. */
typedef struct { unsigned x, y, z; } dim3;
int cudaGetDeviceCount(int *), cudaSetDevice(int), cudaGetDevice(int *), cudaDeviceSynchronize(void);
int cudaDeviceReset(void), cudaGetLastError(void), cudaPeekAtLastError(void);
const char *cudaGetErrorName(int), *cudaGetErrorString(int);
int cudaMalloc(void **, size_t), cudaFree(void *), cudaMallocHost(void **, size_t), cudaFreeHost(void *);
int cudaMallocManaged(void **, size_t, unsigned), cudaMemcpy(void *, const void *, size_t, int);
int cudaMemcpyAsync(void *, const void *, size_t, int, H), cudaMemset(void *, int, size_t);
int cudaMallocPitch(void **, size_t *, size_t, size_t);
int cudaMemcpy2D(void *, size_t, const void *, size_t, size_t, size_t, int);
int cudaMemcpyToSymbol(const void *, const void *, size_t, size_t, int);
int cudaMemcpyFromSymbol(void *, const void *, size_t, size_t, int);
int cudaStreamCreate(H *), cudaStreamDestroy(H), cudaStreamSynchronize(H), cudaStreamQuery(H);
int cudaEventCreate(H *), cudaEventDestroy(H), cudaEventRecord(H, H), cudaEventSynchronize(H);
int cudaEventElapsedTime(float *, H, H), cudaStreamWaitEvent(H, H, unsigned);
int cudaStreamBeginCapture(H, int), cudaStreamEndCapture(H, H *), cudaGraphLaunch(H, H);
int cudaGraphInstantiateWithFlags(H *, H, unsigned long long), cudaGraphDestroy(H), cudaGraphExecDestroy(H);
int cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, H);
int cudaFuncSetAttribute(const void *, int, int), cudaRuntimeGetVersion(int *), cudaDriverGetVersion(int *);
enum { HostToDevice = 1, DeviceToHost = 2, DeviceToDevice = 3, Default = 4 };

/* What compilers put into programs that use the runtime: registration of a fat binary and its contents. */
void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFatBinaryEnd(void **), __cudaUnregisterFatBinary(void **);
void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, void *, void *, int *);
void __cudaRegisterVar(void **, char *, char *, const char *, int, size_t, int, int);
void __cudaRegisterManagedVar(void **, void **, char *, const char *, int, size_t, int, int);

/* Ends the program if a call does not return `want`. */
#define EXPECT(want, call)                                                                                             \
    do {                                                                                                               \
        long got_ = (long)(call), want_ = (long)(want);                                                                \
        if (got_ != want_) {                                                                                           \
            printf("%s:%d: %s gives %ld, not %ld\n", __FILE__, __LINE__, #call, got_, want_);                          \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)
#define OK(call) EXPECT(0, call)
#define TRUE(condition) EXPECT(1, !!(condition))

/* Kernels of kernels.fatbin, for programs that use the runtime. */
#ifdef KERNELS
__asm__(".section .nv_fatbin,\"a\"\n.align 8\nkernels_fatbin:\n.incbin \"" KERNELS "\"\n.align 8\n.previous\n");
extern const char kernels_fatbin[];
static struct { int magic, version; const void *data; void *unused; } wrapper = {0x466243b1, 1, kernels_fatbin, 0};
static float factor;
static unsigned counter;
static int *shared_total;
#define KERNEL(name) static void name(void) {}
KERNEL(saxpy) KERNEL(jobs) KERNEL(scale) KERNEL(reverse) KERNEL(add_shared) KERNEL(spin) KERNEL(greet)
KERNEL(check_less) KERNEL(wild) KERNEL(crooked) KERNEL(stop) KERNEL(meet)
static void **fat_binary;
static void unregister(void) { __cudaUnregisterFatBinary(fat_binary); }
__attribute__((constructor)) static void register_kernels(void) {
    fat_binary = __cudaRegisterFatBinary(&wrapper);
#define REGISTER(name) __cudaRegisterFunction(fat_binary, (char *)name, #name, #name, -1, 0, 0, 0, 0, 0);
    REGISTER(saxpy) REGISTER(jobs) REGISTER(scale) REGISTER(reverse) REGISTER(add_shared) REGISTER(spin)
    REGISTER(greet) REGISTER(check_less) REGISTER(wild) REGISTER(crooked) REGISTER(stop) REGISTER(meet)
    __cudaRegisterVar(fat_binary, (char *)&factor, "factor", "factor", 0, 4, 1, 0);
    __cudaRegisterVar(fat_binary, (char *)&counter, "counter", "counter", 0, 4, 0, 0);
    __cudaRegisterManagedVar(fat_binary, (void **)&shared_total, "shared_total", "shared_total", 0, 4, 0, 0);
    __cudaRegisterFatBinaryEnd(fat_binary);
    atexit(unregister);
}
static int launch(void (*kernel)(void), unsigned grid, unsigned block, size_t shared, H stream, void **args) {
    dim3 g = {grid, 1, 1}, b = {block, 1, 1};
    return cudaLaunchKernel((void *)kernel, g, b, args, shared, stream);
}
#define ARGS(...) ((void *[]){__VA_ARGS__})
#endif
#endif
