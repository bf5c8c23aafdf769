/* Two host threads with streams of their own; a child of fork; calls at the end of the program. */
#include "api.h"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static void *work(void *number) {
    int *x, h[64], rounds = 50, i;
    H stream;
    OK(cudaSetDevice(0));
    OK(cudaStreamCreate(&stream));
    OK(cudaMalloc((void **)&x, sizeof h));
    for (i = 0; i < 64; i++) h[i] = i + (int)(intptr_t)number;
    OK(cudaMemcpyAsync(x, h, sizeof h, HostToDevice, stream));
    for (i = 0; i < rounds + 1; i++) OK(launch(reverse, 1, 64, 256, stream, ARGS(&x)));
    OK(cudaMemcpyAsync(h, x, sizeof h, DeviceToHost, stream));
    OK(cudaStreamSynchronize(stream));
    for (i = 0; i < 64; i++) EXPECT(63 - i + (int)(intptr_t)number, h[i]);
    OK(cudaFree(x));
    return 0;
}

static void late(void) {
    void *x;
    printf("late %d\n", cudaMalloc(&x, 4) != 0);
}

int main(void) {
    atexit(late);
    pthread_t threads[2];
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, (void *)(i * 1000));
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    fflush(stdout);
    int child = fork();
    if (child == 0) {
        void *x;
        _exit(cudaMalloc(&x, 4));
    }
    int status;
    waitpid(child, &status, 0);
    printf("child %d\n", WEXITSTATUS(status));
    printf("done\n");
    return 0;
}
