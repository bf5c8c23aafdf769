/* A program that uses the driver in a thread, and closes the library. */
#include "api.h"
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

static void *use(void *library) {
    int (*init)(unsigned) = (int (*)(unsigned))dlsym(library, "cuInit");
    OK(init(0));
    return 0;
}

int main(void) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    pthread_t thread;
    pthread_create(&thread, 0, use, library);
    pthread_join(thread, 0);
    dlclose(library);
    /* A thread of the library looks for something to do meanwhile. */
    usleep(200000);
    printf("done\n");
    return 0;
}
