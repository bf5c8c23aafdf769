/* Addresses, images and files that are wrong give errors, and the context stays usable. Children have no driver. */
#define _GNU_SOURCE
#include "api.h"
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096 };

/* Three pages: one that may be written, one with other rights, one that may be written. */
static char *pages(int rights) {
    char *start = mmap(0, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (rights < 0) munmap(start + PAGE, PAGE);
    else mprotect(start + PAGE, PAGE, rights);
    return start;
}

static void is_usable(P device) {
    P more;
    int x = 5, y = 0;
    OK(cuCtxSynchronize());
    OK(cuMemAlloc_v2(&more, PAGE));
    OK(cuMemFree_v2(more));
    OK(cuMemcpyHtoD_v2(device, &x, 4));
    OK(cuMemcpyDtoH_v2(&y, device, 4));
    EXPECT(5, y);
}

static void addresses(void) {
    P device;
    H stream;
    OK(cuMemAlloc_v2(&device, 3 * PAGE));
    OK(cuStreamCreate(&stream, 0));
    char *only_read = pages(PROT_READ), *no_access = pages(PROT_NONE), *hole = pages(-1);
    char *wild[] = {0, (char *)8, (char *)0x10000, (char *)-16, (char *)(1l << 47) - 16};
    for (int i = 0; i < 5; i++) {
        EXPECT(1, cuMemcpyDtoH_v2(wild[i], device, PAGE));
        EXPECT(1, cuMemcpyHtoD_v2(device, wild[i], PAGE));
        is_usable(device);
    }
    char *bad[] = {only_read, no_access, hole};
    for (int i = 0; i < 3; i++) {
        EXPECT(1, cuMemcpyDtoH_v2(bad[i] + PAGE, device, PAGE));
        EXPECT(1, cuMemcpyDtoH_v2(bad[i], device, 3 * PAGE));
        EXPECT(1, cuMemcpyDtoH_v2(bad[i], device, 2 * PAGE));
        EXPECT(1, cuMemcpyDtoHAsync_v2(bad[i], device, 3 * PAGE, stream));
        OK(cuStreamSynchronize(stream));
        EXPECT(1, cuMemAlloc_v2((P *)(bad[i] + PAGE), 16));
        EXPECT(i > 0, cuMemcpyHtoD_v2(device, bad[i], 3 * PAGE));
        EXPECT(i > 0, cuMemcpyHtoDAsync_v2(device, bad[i], 3 * PAGE, stream));
        is_usable(device);
    }
}

static void images(void) {
    H module;
    struct { int magic, version; const void *data; void *unused; } itself = {0x466243b1, 1, &itself, 0}, other = itself;
    EXPECT(200, cuModuleLoadData(&module, &itself));
    other.data = (void *)8;
    EXPECT(1, cuModuleLoadData(&module, &other));
    struct { unsigned magic; unsigned short version, header; uint64_t bytes; } fat = {0xba55ed50, 1, 16, -16};
    EXPECT(200, cuModuleLoadData(&module, &fat));
    fat.bytes = 1 << 29;
    EXPECT(1, cuModuleLoadData(&module, &fat));
    EXPECT(200, cuModuleLoad(&module, "/dev/zero"));
    EXPECT(200, cuModuleLoad(&module, "/"));
    EXPECT(301, cuModuleLoad(&module, "/nowhere"));
    char fifo[64];
    sprintf(fifo, "/tmp/warpwright-fifo-%d", getpid());
    mkfifo(fifo, 0600);
    EXPECT(200, cuModuleLoad(&module, fifo));
    unlink(fifo);
}

/* What a call in a stream's function returns. */
static int in_stream = -1;

static void call(void *unused) {
    P x;
    in_stream = cuMemAlloc_v2(&x, 4) == 800 ? cuCtxSynchronize() : -2;
}

static void stream_functions(void) {
    OK(cuLaunchHostFunc(0, call, 0));
    OK(cuCtxSynchronize());
    EXPECT(800, in_stream);
}

/* A child made without the C library. Its calls must not write to the parent's memory. */
static void children(void) {
    static int version = 7;
    static char name[16] = "parent";
    int status, child = syscall(SYS_fork);
    if (child == 0) {
        int got = cuDriverGetVersion(&version) == 3 && cuDeviceGetName(name, sizeof name, 0) == 3;
        /* The driver's handler of signals is not in the child's way. */
        if (got) kill(syscall(SYS_getpid), SIGTERM);
        _exit(1);
    }
    waitpid(child, &status, 0);
    TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    EXPECT(7, version);
    TRUE(!strcmp(name, "parent"));
}

int main(void) {
    H context;
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    addresses();
    images();
    stream_functions();
    children();
    printf("done\n");
    return 0;
}
