/* Cooperative launches: all CTAs are resident and meet, or there are too many of them. */
#include "api.h"

int main(int argc, char **argv) {
    H context, module, f;
    P sum, seen;
    unsigned h[34];
    int ctas;
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuModuleLoad(&module, argv[1]));
    OK(cuModuleGetFunction(&f, module, "meet"));
    OK(cuMemAlloc_v2(&sum, 4));
    OK(cuMemAlloc_v2(&seen, sizeof h));
    for (int round = 0; round < 3; round++) {
        OK(cuMemsetD32_v2(sum, 0, 1));
        OK(cuLaunchCooperativeKernel(f, 34, 1, 1, 64, 1, 1, 0, 0, (void *[]){&sum, &seen}));
        OK(cuMemcpyDtoH_v2(h, seen, sizeof h));
        for (int i = 0; i < 34; i++) EXPECT(34 * 35 / 2, h[i]);
    }
    /* Two launches at the same time: each counts the arrivals of its own CTAs. */
    H stream[2];
    P sums[2], all[2];
    for (int i = 0; i < 2; i++) {
        OK(cuStreamCreate(&stream[i], 1));
        OK(cuMemAlloc_v2(&sums[i], 4));
        OK(cuMemAlloc_v2(&all[i], sizeof h));
        OK(cuMemsetD32_v2(sums[i], 0, 1));
    }
    OK(cuCtxSynchronize());
    for (int i = 0; i < 2; i++)
        OK(cuLaunchCooperativeKernel(f, 34 - 17 * i, 1, 1, 64, 1, 1, 0, stream[i], (void *[]){&sums[i], &all[i]}));
    OK(cuCtxSynchronize());
    for (int i = 0; i < 2; i++) {
        int n = 34 - 17 * i;
        OK(cuMemcpyDtoH_v2(h, all[i], n * sizeof *h));
        for (int k = 0; k < n; k++) EXPECT(n * (n + 1) / 2, h[k]);
    }
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&ctas, f, 64, 0));
    EXPECT(16, ctas);
    EXPECT(720, cuLaunchCooperativeKernel(f, 34 * ctas + 1, 1, 1, 64, 1, 1, 0, 0, (void *[]){&sum, &seen}));
    printf("done\n");
    return 0;
}
