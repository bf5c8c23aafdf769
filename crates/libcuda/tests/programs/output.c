/* What kernels print is in order with what the program prints. */
#include "api.h"

int main(void) {
    int who = 5;
    printf("before\n");
    OK(launch(greet, 1, 32, 0, 0, ARGS(&who)));
    OK(cudaDeviceSynchronize());
    printf("after\n");
    OK(launch(greet, 1, 32, 0, 0, ARGS(&who)));
    return 7;
}
