/* Streams and events with simulated time, calls of host functions, graphs. */
#include "api.h"

static int order[8], calls;
static void call(void *number) { order[calls++] = (int)(intptr_t)number; }

/* Runs `rounds` in each of two streams, or one after the other; returns milliseconds. */
static float time_of(H first, H second, unsigned *out, int rounds) {
    H start, between, end;
    float ms, part;
    OK(cudaEventCreate(&start));
    OK(cudaEventCreate(&between));
    OK(cudaEventCreate(&end));
    OK(cudaDeviceSynchronize());
    OK(cudaEventRecord(start, first));
    OK(cudaStreamWaitEvent(second, start, 0));
    unsigned *other = out + 64;
    OK(launch(spin, 1, 64, 0, first, ARGS(&out, &rounds)));
    OK(launch(spin, 1, 64, 0, second, ARGS(&other, &rounds)));
    OK(cudaEventRecord(between, second));
    OK(cudaStreamWaitEvent(first, between, 0));
    OK(cudaEventRecord(end, first));
    EXPECT(600, cudaEventElapsedTime(&ms, start, end));
    OK(cudaEventSynchronize(end));
    OK(cudaEventElapsedTime(&ms, start, end));
    OK(cudaEventElapsedTime(&part, start, between));
    TRUE(part > 0 && part <= ms);
    OK(cudaEventDestroy(start));
    return ms;
}

int main(void) {
    H a, b;
    unsigned *out;
    int rounds = 3000;
    OK(cudaStreamCreate(&a));
    OK(cudaStreamCreate(&b));
    OK(cudaMalloc((void **)&out, 1024));
    float together = time_of(a, b, out, rounds), apart = time_of(a, a, out, rounds);
    TRUE(apart > 1.8 * together);

    /* A query of work that is not done says so, and polling comes to an end. */
    int longer = 4 * rounds;
    OK(launch(spin, 1, 64, 0, a, ARGS(&out, &longer)));
    int polls = 0;
    while (cudaStreamQuery(a) == 600) polls++;
    TRUE(polls > 3);
    EXPECT(0, cudaGetLastError());

    OK(cuLaunchHostFunc(a, call, (void *)1));
    OK(launch(spin, 1, 64, 0, a, ARGS(&out, &rounds)));
    OK(cuLaunchHostFunc(a, call, (void *)2));
    OK(cuLaunchHostFunc(b, call, (void *)3));
    OK(cudaDeviceSynchronize());
    EXPECT(3, calls);
    TRUE(order[0] == 1 && order[2] == 2);

    /* A captured graph runs as often as it is launched. */
    H graph, exec;
    int *x, h[64], i;
    OK(cudaMalloc((void **)&x, sizeof h));
    for (i = 0; i < 64; i++) h[i] = i;
    OK(cudaMemcpy(x, h, sizeof h, HostToDevice));
    OK(cudaStreamBeginCapture(a, 0));
    OK(launch(reverse, 1, 64, 256, a, ARGS(&x)));
    OK(cudaStreamEndCapture(a, &graph));
    OK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cudaMemcpy(h, x, sizeof h, DeviceToHost));
    EXPECT(0, h[0]);
    for (int round = 0; round < 3; round++) OK(cudaGraphLaunch(exec, b));
    OK(cudaStreamSynchronize(b));
    OK(cudaMemcpy(h, x, sizeof h, DeviceToHost));
    EXPECT(63, h[0]);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(a));
    printf("done\n");
    return 0;
}
