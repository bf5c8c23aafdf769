/* Several devices: addresses of their own, copies between them. */
#include "api.h"

int cuMemcpyPeer(P, H, P, H, size_t), cuMemcpy(P, P, size_t), cuPointerGetAttribute(void *, int, P);
int cuDeviceCanAccessPeer(int *, int, int), cuCtxEnablePeerAccess(H, unsigned);

int main(int argc, char **argv) {
    enum { N = 256 };
    H context[2], module[2], f[2];
    P memory[2];
    void *pinned[2];
    int count, value;
    float x[N], factor;
    OK(cuInit(0));
    OK(cuDeviceGetCount(&count));
    EXPECT(2, count);
    for (int i = 0; i < 2; i++) {
        OK(cuCtxCreate_v2(&context[i], 0, i));
        OK(cuModuleLoad(&module[i], argv[1]));
        OK(cuModuleGetFunction(&f[i], module[i], "scale"));
        OK(cuMemAlloc_v2(&memory[i], sizeof x));
        OK(cuMemAllocHost_v2(&pinned[i], 4096));
        memset(pinned[i], i, 4096);
    }
    TRUE(memory[0] != memory[1] && pinned[0] != pinned[1]);
    for (int i = 0; i < 2; i++) {
        OK(cuPointerGetAttribute(&value, 9, memory[i] + 100));
        EXPECT(i, value);
    }
    OK(cuDeviceCanAccessPeer(&value, 0, 1));
    EXPECT(0, value);
    EXPECT(217, cuCtxEnablePeerAccess(context[0], 0));
    for (int i = 0; i < N; i++) x[i] = i;
    int n = N;
    /* Twice on the first device, copied, once on the second. */
    OK(cuCtxSetCurrent(context[0]));
    OK(cuMemcpyHtoD_v2(memory[0], x, sizeof x));
    OK(cuLaunchKernel(f[0], 1, 1, 1, N, 1, 1, 0, 0, (void *[]){&memory[0], &n}, 0));
    EXPECT(201, cuLaunchKernel(f[1], 1, 1, 1, N, 1, 1, 0, 0, (void *[]){&memory[1], &n}, 0));
    OK(cuMemcpyPeer(memory[1], context[1], memory[0], context[0], sizeof x));
    EXPECT(201, cuMemcpyPeer(memory[1], (H)1, memory[0], context[0], sizeof x));
    OK(cuCtxSetCurrent(context[1]));
    OK(cuLaunchKernel(f[1], 1, 1, 1, N, 1, 1, 0, 0, (void *[]){&memory[1], &n}, 0));
    OK(cuMemcpy(memory[0], memory[1], sizeof x));
    /* From a device that is not the current one. */
    memset(x, 0, sizeof x);
    OK(cuMemcpyDtoH_v2(x, memory[0], sizeof x));
    for (int i = 0; i < N; i++) EXPECT(4 * i, x[i]);
    EXPECT(1, cuMemcpy(memory[0], memory[1], sizeof x + 1));
    TRUE(((char *)pinned[0])[9] == 0 && ((char *)pinned[1])[9] == 1);
    printf("done\n");
    return 0;
}
