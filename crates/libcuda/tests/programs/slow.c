/* Runs until it is stopped. */
#include "api.h"

int main(void) {
    unsigned *out;
    int rounds = 1 << 30;
    OK(cudaMalloc((void **)&out, 1024));
    OK(launch(spin, 1, 64, 0, 0, ARGS(&out, &rounds)));
    printf("launched\n");
    fflush(stdout);
    return cudaDeviceSynchronize();
}
