/* The launches of saxpy.toml. */
#include "api.h"

int main(int argc, char **argv) {
    int n = 10000, i;
    float *x = malloc(4 * n), *y = malloc(4 * n), *dx, *dy, a = 2.5f;
    for (i = 0; i < n; i++) x[i] = i, y[i] = 1;
    OK(cudaMalloc((void **)&dx, 4 * n));
    OK(cudaMalloc((void **)&dy, 4 * n));
    OK(cudaMemcpy(dx, x, 4 * n, HostToDevice));
    OK(cudaMemcpy(dy, y, 4 * n, HostToDevice));
    for (i = 0; i < 3; i++) OK(launch(saxpy, 40, 256, 0, 0, ARGS(&n, &a, &dx, &dy)));
    OK(launch(scale, 40, 256, 0, 0, ARGS(&dy, &n)));
    OK(cudaMemcpy(y, dy, 4 * n, DeviceToHost));
    FILE *file = fopen(argv[1], "w");
    fwrite(y, 4, n, file);
    return fclose(file);
}
