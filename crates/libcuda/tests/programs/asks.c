/* Questions while another thread waits for a kernel that does not end. */
#include "api.h"
#include <pthread.h>
#include <time.h>
#include <unistd.h>

int cuDeviceGetUuid(void *, int), cuDeviceComputeCapability(int *, int *, int), cuDeviceGetProperties(int *, int);
int cuDeviceGetPCIBusId(char *, int, int), cuDeviceGetByPCIBusId(int *, const char *), cuDeviceTotalMem(unsigned *, int);
int cuDeviceCanAccessPeer(int *, int, int), cuDeviceGetP2PAttribute(int *, int, int, int);

static volatile int asked;

/* The end of the program stops the kernel. */
static void *wait_for_kernel(void *context) {
    OK(cuCtxSetCurrent(context));
    cuCtxSynchronize();
    if (!asked) _exit(3);
    return 0;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
    H context, current, module, f;
    P out;
    int rounds = 1 << 30, value, minor, values[14];
    unsigned small;
    char text[64];
    const char *name;
    size_t bytes;
    void *function;
    pthread_t thread;
    /* A question that waits ends the program. */
    alarm(60);
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuModuleLoad(&module, argv[1]));
    OK(cuModuleGetFunction(&f, module, "spin"));
    OK(cuMemAlloc_v2(&out, 1024));
    OK(cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, 0, (void *[]){&out, &rounds}, 0));
    pthread_create(&thread, 0, wait_for_kernel, context);
    /* Long enough for the other thread to begin. */
    for (double end = seconds() + 0.5; seconds() < end; usleep(1000)) {
        OK(cuInit(0));
        OK(cuDriverGetVersion(&value));
        OK(cuDeviceGet(&value, 0));
        OK(cuDeviceGetCount(&value));
        EXPECT(1, value);
        OK(cuDeviceGetName(text, sizeof text, 0));
        OK(cuDeviceGetUuid(text, 0));
        OK(cuDeviceTotalMem_v2(&bytes, 0));
        OK(cuDeviceTotalMem(&small, 0));
        OK(cuDeviceGetAttribute(&value, 75, 0));
        OK(cuDeviceComputeCapability(&value, &minor, 0));
        OK(cuDeviceGetProperties(values, 0));
        OK(cuDeviceGetPCIBusId(text, sizeof text, 0));
        OK(cuDeviceGetByPCIBusId(&value, text));
        OK(cuDeviceCanAccessPeer(&value, 0, 0));
        EXPECT(101, cuDeviceGetP2PAttribute(&value, 1, 0, 0));
        OK(cuGetErrorName(700, &name));
        OK(cuGetErrorString(700, &name));
        OK(cuGetProcAddress_v2("cuMemAlloc", &function, 12000, 0, 0));
        OK(cuCtxGetCurrent(&current));
        TRUE(current == context);
    }
    OK(cuCtxPopCurrent_v2(&current));
    TRUE(current == context);
    EXPECT(201, cuCtxPopCurrent_v2(&current));
    asked = 1;
    printf("done\n");
    return 0;
}
