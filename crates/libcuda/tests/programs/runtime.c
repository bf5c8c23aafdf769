/* The runtime API with a registered fat binary: launches, symbols, managed variables and memory, pitch, versions. */
#include "api.h"

int main(int argc, char **argv) {
    int version, driver, count, n = 1000, i;
    OK(cudaRuntimeGetVersion(&version));
    OK(cudaDriverGetVersion(&driver));
    TRUE(driver >= version);
    printf("runtime %d\n", version / 1000);
    OK(cudaGetDeviceCount(&count));
    EXPECT(1, count);
    EXPECT(101, cudaSetDevice(3));
    EXPECT(101, cudaGetLastError());
    OK(cudaGetLastError());
    OK(cudaSetDevice(0));

    float *x, *y, h[1000], a = 2;
    OK(cudaMalloc((void **)&x, sizeof h));
    OK(cudaMalloc((void **)&y, sizeof h));
    for (i = 0; i < n; i++) h[i] = i;
    OK(cudaMemcpy(x, h, sizeof h, HostToDevice));
    OK(cudaMemset(y, 0, sizeof h));
    OK(launch(saxpy, 4, 256, 0, 0, ARGS(&n, &a, &x, &y)));
    OK(cudaMemcpy(h, y, sizeof h, Default));
    for (i = 0; i < n; i++) TRUE(h[i] == 2.0f * i);

    float three = 3;
    unsigned times;
    OK(cudaMemcpyToSymbol(&factor, &three, 4, 0, HostToDevice));
    OK(launch(scale, 4, 256, 0, 0, ARGS(&y, &n)));
    OK(cudaMemcpyFromSymbol(&times, &counter, 4, 0, DeviceToHost));
    EXPECT(6, times);
    OK(cudaMemcpy(h, y, sizeof h, DeviceToHost));
    for (i = 0; i < n; i++) TRUE(h[i] == 6.0f * i);
    EXPECT(13, cudaMemcpyToSymbol(&n, &three, 4, 0, HostToDevice));

    int *managed, m = 100;
    OK(cudaMallocManaged((void **)&managed, 4 * m, 1));
    for (i = 0; i < m; i++) managed[i] = i;
    EXPECT(100, *shared_total);
    *shared_total = 7;
    OK(launch(add_shared, 1, 32, 0, 0, ARGS(&managed, &m)));
    OK(cudaDeviceSynchronize());
    for (i = 0; i < m; i++) EXPECT(i + 1, managed[i]);
    EXPECT(107, *shared_total);
    managed[5] = 50;
    OK(launch(add_shared, 1, 32, 0, 0, ARGS(&managed, &m)));
    OK(cudaDeviceSynchronize());
    EXPECT(51, managed[5]);
    /* A copy within the host waits for the kernel. */
    int seen[100];
    OK(launch(add_shared, 1, 32, 0, 0, ARGS(&managed, &m)));
    OK(cudaMemcpy(seen, managed, sizeof seen, 0));
    EXPECT(52, seen[5]);
    EXPECT(1, cudaMemcpy("constant", managed, 4, 0));
    EXPECT(1, cudaGetLastError());
    OK(cudaFree(managed));

    int *pinned;
    OK(cudaMallocHost((void **)&pinned, 256));
    for (i = 0; i < 64; i++) pinned[i] = i;
    OK(launch(reverse, 1, 64, 256, 0, ARGS(&pinned)));
    OK(cudaDeviceSynchronize());
    for (i = 0; i < 64; i++) EXPECT(63 - i, pinned[i]);
    /* A copy from the device to page-locked memory is over when the call returns. */
    int *on_device;
    OK(cudaMalloc((void **)&on_device, 256));
    OK(cudaMemcpy(on_device, pinned, 256, HostToDevice));
    OK(launch(reverse, 1, 64, 256, 0, ARGS(&on_device)));
    OK(cudaMemcpy(pinned, on_device, 256, DeviceToHost));
    for (i = 0; i < 64; i++) EXPECT(i, pinned[i]);
    OK(cudaFree(on_device));
    OK(cudaFreeHost(pinned));

    char *rows, back[3][5];
    size_t pitch;
    OK(cudaMallocPitch((void **)&rows, &pitch, 5, 3));
    TRUE(pitch >= 5 && pitch % 32 == 0);
    OK(cudaMemcpy2D(rows, pitch, "abcdefghijklmno", 5, 5, 3, HostToDevice));
    OK(cudaMemcpy2D(back, 5, rows, pitch, 5, 3, DeviceToHost));
    TRUE(!memcmp(back, "abcdefghijklmno", 15));

    EXPECT(9, launch(saxpy, 1, 4096, 0, 0, ARGS(&n, &a, &x, &y)));
    EXPECT(9, cudaPeekAtLastError());
    EXPECT(9, cudaGetLastError());
    EXPECT(98, launch((void (*)(void))main, 1, 32, 0, 0, ARGS(&n, &a, &x, &y)));
    EXPECT(98, cudaGetLastError());
    EXPECT(1, cudaMalloc(0, 4));
    EXPECT(1, cudaMemcpy(x, (void *)16, 64, HostToDevice));
    EXPECT(1, cudaMemcpy(x, h, sizeof h * 2, HostToDevice));
    EXPECT(2, cudaMalloc((void **)&rows, (size_t)1 << 45));
    TRUE(!strcmp(cudaGetErrorName(700), "cudaErrorIllegalAddress"));
    OK(cudaFree(x));
    EXPECT(1, cudaFree(x));
    OK(cudaFree(0));
    OK(cudaDeviceReset());
    printf("done\n");
    return 0;
}
