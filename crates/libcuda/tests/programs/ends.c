/* Ends in a way (the first argument) while threads are in calls of CUDA. The second one makes it end at a random moment:
   then the threads make calls at random. */
#define _GNU_SOURCE
#include "api.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

/* Waits for a kernel that runs for long. */
static void *wait_for_kernel(void *unused) {
    unsigned *out;
    int rounds = 1 << 30;
    OK(cudaMalloc((void **)&out, 1024));
    OK(launch(spin, 1, 64, 0, 0, ARGS(&out, &rounds)));
    cudaDeviceSynchronize();
    return 0;
}

static void sleep_in_stream(void *unused) { usleep(500); }

/* Makes calls at random. Errors do not matter. */
static void *call_at_random(void *seed) {
    unsigned state = (unsigned)(uintptr_t)seed, *out;
    H stream, event;
    char host[1024];
    int rounds;
    if (cudaMalloc((void **)&out, 1024) || cudaStreamCreate(&stream) || cudaEventCreate(&event)) return 0;
    for (;;) {
        void *more = 0;
        switch (rand_r(&state) % 10) {
        case 0: cudaMemcpy(host, out, sizeof host, DeviceToHost); break;
        case 1: cudaMemcpyAsync(out, host, sizeof host, HostToDevice, stream); break;
        case 2: cudaMalloc(&more, 4096), cudaFree(more); break;
        case 3: rounds = 1 << rand_r(&state) % 16, launch(spin, 1, 64, 0, stream, ARGS(&out, &rounds)); break;
        case 4: cudaStreamSynchronize(stream); break;
        case 5: cudaEventRecord(event, stream), cudaEventSynchronize(event); break;
        case 6: cuLaunchHostFunc(stream, sleep_in_stream, 0); break;
        case 7: cudaStreamQuery(stream); break;
        case 8: cudaDeviceSynchronize(); break;
        case 9: cudaMemcpy((void *)0x10000, out, 16, DeviceToHost); break;
        }
    }
}

static void end_by_handler(int signal) { exit(21); }

static int end_at_once(void *unused) { return 0; }

static void end_in_stream(void *unused) { exit(22); }

int main(int argc, char **argv) {
    const char *way = argv[1];
    unsigned seed = argc > 2 ? atoi(argv[2]) : 0;
    pthread_t threads[3];
    int count = 1, i;
    /* A call waits until another thread has simulated. */
    if (!strcmp(way, "none") || !strcmp(way, "stream")) count = 0;
    /* The library listens to signals from the first call. */
    if (!strcmp(way, "TERM") || !strcmp(way, "INT")) cudaFree(0);
    if (argc > 2) count = 1 + rand_r(&seed) % 3;
    for (i = 0; i < count; i++)
        pthread_create(&threads[i], 0, argc > 2 ? call_at_random : wait_for_kernel, (void *)(uintptr_t)rand_r(&seed));
    if (!strcmp(way, "handler")) signal(SIGTERM, end_by_handler);
    usleep(argc > 2 ? rand_r(&seed) % 300000 : 400000);
    if (!strcmp(way, "exit")) exit(11);
    if (!strcmp(way, "_exit")) _exit(12);
    if (!strcmp(way, "quick_exit")) quick_exit(13);
    if (!strcmp(way, "abort")) abort();
    if (!strcmp(way, "kill")) raise(SIGKILL);
    if (!strcmp(way, "TERM") || !strcmp(way, "handler")) kill(getpid(), SIGTERM), pause();
    if (!strcmp(way, "INT")) kill(getpid(), SIGINT), pause();
    if (!strcmp(way, "cancel")) {
        for (i = 0; i < count; i++) pthread_cancel(threads[i]);
        exit(15);
    }
    if (!strcmp(way, "fork")) {
        if (fork() == 0) exit(0);
        exit(16);
    }
    if (!strcmp(way, "vfork")) {
        if (vfork() == 0) _exit(0);
        exit(17);
    }
    if (!strcmp(way, "clone")) {
        char stack[8192];
        if (clone(end_at_once, stack + sizeof stack, SIGCHLD, 0) < 0) return 1;
        exit(18);
    }
    if (!strcmp(way, "posix_spawn")) {
        char *arguments[] = {"true", 0};
        if (posix_spawnp(&(pid_t){0}, "true", 0, 0, arguments, environ)) return 1;
        exit(19);
    }
    /* The process becomes another program. */
    if (!strcmp(way, "exec")) execlp("sh", "sh", "-c", "exit 20", (char *)0);
    if (!strcmp(way, "stream")) {
        H stream;
        OK(cudaStreamCreate(&stream));
        OK(cuLaunchHostFunc(stream, end_in_stream, 0));
        cudaStreamSynchronize(stream);
        pause();
    }
    if (!strcmp(way, "none")) {
        void *x;
        OK(cudaMalloc(&x, 4));
        pthread_exit(0);
    }
    return 14;
}
