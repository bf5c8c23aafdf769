/* Launches that repeat themselves: what is executed without time, or on trial, does everything once. */
#include "api.h"

int main(void) {
    H start, end;
    float ms, *x, h[1000];
    unsigned *out, times;
    int rounds = 600, n = 1000, who = 5, i;
    OK(cudaEventCreate(&start));
    OK(cudaEventCreate(&end));
    OK(cudaMalloc((void **)&out, 4 * 8 * 64));
    OK(cudaMalloc((void **)&x, sizeof h));
    for (i = 0; i < n; i++) h[i] = 1;
    OK(cudaMemcpy(x, h, sizeof h, HostToDevice));
    float two = 2;
    OK(cudaMemcpyToSymbol(&factor, &two, 4, 0, HostToDevice));
    OK(cudaEventRecord(start, 0));
    for (i = 0; i < 20; i++) OK(launch(spin, 8, 64, 0, 0, ARGS(&out, &rounds)));
    OK(cudaEventRecord(end, 0));
    OK(cudaEventSynchronize(end));
    OK(cudaEventElapsedTime(&ms, start, end));
    OK(cudaMemcpyFromSymbol(&times, &counter, 4, 0, DeviceToHost));
    unsigned before = times;
    for (i = 0; i < 10; i++) OK(launch(scale, 4, 256, 0, 0, ARGS(&x, &n)));
    OK(cudaMemcpyFromSymbol(&times, &counter, 4, 0, DeviceToHost));
    EXPECT(10, times - before);
    OK(cudaMemcpy(h, x, sizeof h, DeviceToHost));
    for (i = 0; i < n; i++) TRUE(h[i] == 1024);
    for (i = 0; i < 6; i++) OK(launch(greet, 1, 32, 0, 0, ARGS(&who)));
    OK(cudaDeviceSynchronize());
    printf("%.6f\n", ms);
    return 0;
}
