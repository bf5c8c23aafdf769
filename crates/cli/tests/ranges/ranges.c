/* Kernels in ranges of every kind. Prints whether a tool watches and the levels of ranges. */
#include "nvtx.h"
#include <pthread.h>
#include <stdio.h>
static const char *source = ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry one(.param .u64 to)\n{\n.reg .b32 %r<2>;\n.reg .b64 %d<2>;\n"
    "ld.param.u64 %d1, [to];\nmov.u32 %r1, 1;\nst.global.u32 [%d1], %r1;\nret;\n}\n";
static void *driver, *function, *context;
static unsigned long to;
#define CU(name, ...) do { int (*call)() = (int (*)())dlsym(driver, #name); int code = call(__VA_ARGS__); \
    if (code) { printf("%s: %d\n", #name, code); exit(1); } } while (0)
static void launch(int times) {
    void *args[] = { &to };
    while (times--) CU(cuLaunchKernel, function, 1, 1, 1, 1, 1, 1, 0, (void *)0, args, (void *)0);
}
static uint64_t range;
static void *worker(void *unused) {
    CU(cuCtxSetCurrent, context);
    launch(1);
    push("of the worker");
    launch(1);
    end(range);
    return 0;
}
int main(void) {
    void *module;
    int watched = nvtx_load();
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) { puts(dlerror()); return 2; }
    CU(cuInit, 0);
    CU(cuCtxCreate_v2, &context, 0, 0);
    CU(cuModuleLoadData, &module, source);
    CU(cuModuleGetFunction, &function, module, "one");
    CU(cuMemAlloc_v2, &to, 4ul);
    void *own = domain("own"), *text = registered(own, "backward");
    attributes_t registered_text = { 3, sizeof(attributes_t), .message_type = 3, .message = text };
    attributes_t wide = { 3, sizeof(attributes_t), .message_type = 2, .message = L"gr\u00f6\u00dfe" };
    int levels[6];
    launch(1);
    for (int step = 0; step < 2; step++) {
        levels[0] = push("step");
        levels[1] = push("forward");
        levels[2] = push_ex(&wide);
        mark("no range");
        launch(2);
        pop(), pop();
        levels[3] = domain_push(own, &registered_text);
        launch(1);
        levels[4] = domain_pop(own);
        levels[5] = pop();
    }
    range = start("started");
    push_wide(L"within");
    launch(1);
    pthread_t thread;
    pthread_create(&thread, 0, worker, 0);
    pthread_join(thread, 0);
    launch(1);
    /* A graph: launched in one range, captured in another. */
    void *stream, *graph, *executable, *args[] = { &to };
    CU(cuStreamCreate, &stream, 0);
    CU(cuStreamBeginCapture_v2, stream, 0);
    push("captured");
    CU(cuLaunchKernel, function, 1, 1, 1, 1, 1, 1, 0, stream, args, (void *)0);
    pop();
    CU(cuStreamEndCapture, stream, &graph);
    CU(cuGraphInstantiateWithFlags, &executable, graph, 0ul);
    pop();
    push("replay");
    CU(cuGraphLaunch, executable, stream);
    pop();
    CU(cuCtxSynchronize);
    printf("%s %d %d %d %d %d %d %d\n", watched ? "watched" : "alone", levels[0], levels[1], levels[2], levels[3], levels[4], levels[5], pop());
    return 0;
}
