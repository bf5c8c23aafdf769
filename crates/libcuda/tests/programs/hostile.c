/* Addresses, images and files that are wrong give errors, and the context stays usable. Children have no driver. */
#define _GNU_SOURCE
#include "api.h"
#include <sched.h>
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

/* Whether the driver answers in this process as in a child, which has none. Its answers must not be in memory of the
   parent. */
static int has_no_driver(void) {
    static int version = 7;
    static char name[16] = "parent";
    int got = cuDriverGetVersion(&version) == 3 && cuDeviceGetName(name, sizeof name, 0) == 3;
    return got && version == 7 && !strcmp(name, "parent");
}

/* The driver's handler of signals is not in the child's way. */
static int child(void *unused) {
    if (has_no_driver()) kill(syscall(SYS_getpid), SIGTERM);
    _exit(1);
}

/* Children by each call that makes some; the last two run in the parent's memory, which has a driver after them too. */
static void children(void) {
    static char stack[1 << 20];
    int i, status, id;
    for (i = 0; i < 5; i++) {
        if (i == 0 && (id = syscall(SYS_fork)) == 0) child(0);
        if (i == 1 && (id = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)) == 0) child(0);
        if (i == 2) id = clone(child, stack + sizeof stack, SIGCHLD, 0);
        if (i == 3 && (id = vfork()) == 0) child(0);
        if (i == 4) id = clone(child, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, 0);
        TRUE(id > 0 && waitpid(id, &status, 0) == id);
        TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    }
    P memory;
    OK(cuMemAlloc_v2(&memory, 64));
    OK(cuMemFree_v2(memory));
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
