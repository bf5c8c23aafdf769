/* Faults of kernels are CUDA's errors, and stay until the device is reset. */
#include "api.h"

int main(int argc, char **argv) {
    int *x;
    OK(cudaMalloc((void **)&x, 4096));
    long long far = (long long)1 << 35;
    int limit = 0, which = atoi(argv[1]);
    static const int codes[] = {700, 716, 710, 719};
    switch (which) {
    case 0: OK(launch(wild, 1, 1, 0, 0, ARGS(&x, &far))); break;
    case 1: OK(launch(crooked, 1, 1, 0, 0, ARGS(&x))); break;
    case 2: OK(launch(check_less, 1, 32, 0, 0, ARGS(&x, &limit))); break;
    case 3: OK(launch(stop, 1, 32, 0, 0, ARGS(0))); break;
    }
    EXPECT(codes[which], cudaDeviceSynchronize());
    EXPECT(codes[which], cudaGetLastError());
    EXPECT(codes[which], cudaFree(x));
    EXPECT(codes[which], cudaMalloc((void **)&x, 4096));
    EXPECT(codes[which], cudaDeviceSynchronize());
    OK(cudaDeviceReset());
    cudaGetLastError();
    OK(cudaMalloc((void **)&x, 4096));
    OK(cudaMemset(x, 0, 4096));
    OK(launch(reverse, 1, 64, 256, 0, ARGS(&x)));
    OK(cudaDeviceSynchronize());
    printf("done\n");
    return 0;
}
