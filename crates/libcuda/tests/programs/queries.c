/* Questions about devices, addresses, functions and entry points; advice, peers, launches as in CUDA 3. */
#include "api.h"

int cuDeviceGetPCIBusId(char *, int, int), cuDeviceGetByPCIBusId(int *, const char *), cuDeviceGetLuid(char *, void *, int);
int cuDeviceCanAccessPeer(int *, int, int), cuDeviceGetP2PAttribute(int *, int, int, int);
int cuCtxEnablePeerAccess(H, unsigned), cuCtxDisablePeerAccess(H), cuDeviceGetProperties(int *, int);
int cuDeviceTotalMem(unsigned *, int), cuIpcGetMemHandle(void *, P), cuProfilerStart(void), cuProfilerStop(void);
int cuPointerGetAttribute(void *, int, P), cuPointerGetAttributes(unsigned, int *, void **, P);
int cuPointerSetAttribute(const void *, int, P), cuMemHostRegister_v2(void *, size_t, unsigned);
int cuMemHostGetFlags(unsigned *, void *);
int cuMemAdvise(P, size_t, int, int), cuMemPrefetchAsync(P, size_t, int, H), cuMemHostUnregister(void *);
int cuMemRangeGetAttribute(void *, size_t, int, P, size_t), cuMemAdvise_v2(P, size_t, int, uint64_t);
int cuFuncGetName(const char **, H), cuFuncGetParamInfo(H, size_t, size_t *, size_t *);
int cuModuleEnumerateFunctions(H *, unsigned, H), cuModuleGetFunctionCount(unsigned *, H);
int cuFuncSetBlockShape(H, int, int, int), cuFuncSetSharedSize(H, unsigned), cuParamSetSize(H, unsigned);
int cuParamSetv(H, int, void *, unsigned), cuParamSeti(H, int, unsigned), cuParamSetf(H, int, float);
int cuLaunchGrid(H, int, int), cuCtxAttach(H *, unsigned), cuCtxDetach(H), cuMemAlloc(unsigned *, unsigned);
int cuStreamBeginCapture_v2(H, int), cuStreamEndCapture(H, H *), cuCtxSynchronize_v2(H);
int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *, H, int, size_t, unsigned);
int cuOccupancyMaxPotentialBlockSize(int *, int *, H, size_t (*)(int), size_t, int);
int cuGetProcAddress_v2_ptsz(const char *, void **, int, uint64_t, int *), cuGetProcAddress(const char *, void **, int, uint64_t);
int cuStreamGetId(H, unsigned long long *), cuStreamGetId_ptsz(H, unsigned long long *);
int cuLogsRegisterCallback(void *, void *, void **), cuCtxGetDevice_v2(int *, H), cuGetExportTable(const void **, const void *);
int cuMemRangeGetAttributes(void **, size_t *, int *, size_t, P, size_t);

static void devices(H context) {
    int value, values[14];
    char text[32];
    unsigned small;
    size_t bytes;
    OK(cuDeviceGetName(text, sizeof text, 0));
    TRUE(!strcmp(text, "NVIDIA GeForce RTX 2060 SUPER"));
    OK(cuDeviceGetPCIBusId(text, sizeof text, 0));
    TRUE(!strcmp(text, "0000:01:00.0"));
    OK(cuDeviceGetByPCIBusId(&value, "01:00.0"));
    EXPECT(0, value);
    EXPECT(1, cuDeviceGetByPCIBusId(&value, "02:00.0"));
    EXPECT(1, cuDeviceGetByPCIBusId(&value, (char *)3));
    EXPECT(101, cuDeviceGetPCIBusId(text, sizeof text, 1));
    EXPECT(801, cuDeviceGetLuid(text, text, 0));
    OK(cuDeviceTotalMem_v2(&bytes, 0));
    TRUE(bytes == (size_t)8 << 30);
    OK(cuDeviceTotalMem(&small, 0));
    EXPECT(0xffffffffu, small);
    OK(cuDeviceGetProperties(values, 0));
    TRUE(values[0] == 1024 && values[9] == 32 && values[11] == 65536 && values[13] == 512);
    OK(cuDeviceGetAttribute(&value, 161, 0));
    EXPECT(1, cuDeviceGetAttribute(&value, 0, 0));
    EXPECT(1, cuDeviceGetAttribute(&value, 162, 0));
    EXPECT(101, cuDeviceGetAttribute(&value, 1, 3));
    EXPECT(1, cuDeviceGetAttribute(0, 1, 0));
    OK(cuDeviceCanAccessPeer(&value, 0, 0));
    EXPECT(0, value);
    EXPECT(101, cuDeviceCanAccessPeer(&value, 0, 1));
    EXPECT(101, cuDeviceGetP2PAttribute(&value, 1, 0, 0));
    EXPECT(201, cuCtxEnablePeerAccess(context, 0));
    EXPECT(201, cuCtxEnablePeerAccess((H)77, 0));
    EXPECT(1, cuCtxEnablePeerAccess(context, 1));
    EXPECT(705, cuCtxDisablePeerAccess(context));
    OK(cuCtxGetDevice_v2(&value, context));
    EXPECT(201, cuCtxGetDevice_v2(&value, (H)1));
    OK(cuProfilerStart());
    OK(cuProfilerStop());
    char handle[64];
    EXPECT(801, cuIpcGetMemHandle(handle, 0));
    /* Half of the memory of the board, thrice. */
    P first, second, third;
    size_t is_free, all;
    OK(cuMemAlloc_v2(&first, bytes / 2));
    OK(cuMemGetInfo_v2(&is_free, &all));
    TRUE(all == bytes && is_free <= bytes / 2);
    EXPECT(2, cuMemAlloc_v2(&second, bytes / 2 + 1));
    OK(cuMemAlloc_v2(&second, is_free));
    EXPECT(2, cuMemAlloc_v2(&third, 1));
    OK(cuMemFree_v2(first));
    OK(cuMemFree_v2(second));
    EXPECT(801, cuMemAlloc(&small, 4));
}

static void addresses(H context) {
    P device, managed;
    void *host, *found;
    char *plain = malloc(10000);
    int number;
    unsigned flags;
    OK(cuMemAlloc_v2(&device, 1000));
    OK(cuMemAllocManaged(&managed, 1000, 1));
    OK(cuMemAllocHost_v2(&host, 1000));
    EXPECT(1, cuMemHostRegister_v2(plain, 10000, 16));
    OK(cuMemHostRegister_v2(plain, 10000, 0));
    EXPECT(712, cuMemHostRegister_v2(plain, 10000, 0));
    OK(cuMemHostGetFlags(&flags, host));
    EXPECT(3, flags);
    EXPECT(1, cuMemHostGetFlags(&flags, (void *)(size_t)device));
#define WORD(attribute, address, want)                                                                                 \
    number = -5;                                                                                                       \
    OK(cuPointerGetAttribute(&number, attribute, (P)(size_t)(address)));                                               \
    EXPECT(want, number)
#define LONG(attribute, address, want)                                                                                 \
    OK(cuPointerGetAttribute(&found, attribute, (P)(size_t)(address)));                                                \
    TRUE((P)(size_t)found == (P)(size_t)(want))
    WORD(2, device + 10, 2);
    WORD(2, managed, 2);
    WORD(2, host, 1);
    WORD(2, plain, 1);
    WORD(8, managed, 1);
    WORD(8, device, 0);
    WORD(9, device, 0);
    WORD(13, host, 1);
    LONG(1, device, context);
    LONG(3, (char *)host + 5, (char *)host + 5);
    LONG(4, host, host);
    LONG(4, plain + 77, plain + 77);
    LONG(11, device + 999, device);
    LONG(12, device + 999, 1000);
    P at;
    unsigned long long a, b;
    OK(cuPointerGetAttribute(&at, 3, (P)(size_t)(plain + 77)));
    TRUE(at != 0 && at != (P)(size_t)(plain + 77));
    OK(cuPointerGetAttribute(&a, 7, device));
    OK(cuPointerGetAttribute(&b, 7, managed));
    TRUE(a != b);
    EXPECT(1, cuPointerGetAttribute(&found, 4, device));
    EXPECT(1, cuPointerGetAttribute(&number, 2, (P)(size_t)&number));
    EXPECT(1, cuPointerGetAttribute(&number, 99, device));
    EXPECT(1, cuPointerGetAttribute(0, 2, device));
    /* Several at once, of memory that is not known. */
    int asked[] = {2, 9, 3}, kind = 7, ordinal = 7;
    found = &kind;
    OK(cuPointerGetAttributes(3, asked, (void *[]){&kind, &ordinal, &found}, (P)(size_t)&number));
    TRUE(kind == 0 && ordinal == -2 && found == 0);
    OK(cuPointerSetAttribute(&(int){1}, 6, device));
    EXPECT(1, cuPointerSetAttribute(&(int){1}, 2, device));
    /* Advice. */
    OK(cuMemAdvise(managed, 1000, 1, 0));
    OK(cuMemAdvise(managed, 1000, 3, -1));
    OK(cuMemAdvise_v2(managed, 100, 5, 1));
    OK(cuMemPrefetchAsync(managed, 1000, 0, 0));
    int accessed[2], read_mostly, preferred, last;
    OK(cuMemRangeGetAttribute(&read_mostly, 4, 1, managed, 1000));
    OK(cuMemRangeGetAttribute(&preferred, 4, 2, managed, 1000));
    OK(cuMemRangeGetAttribute(accessed, 8, 3, managed, 1000));
    OK(cuMemRangeGetAttributes((void *[]){&last}, (size_t[]){4}, (int[]){4}, 1, managed, 1000));
    TRUE(read_mostly == 1 && preferred == -1 && accessed[0] == 0 && accessed[1] == -2 && last == 0);
    EXPECT(1, cuMemAdvise(device, 1000, 1, 0));
    EXPECT(1, cuMemAdvise(managed, 1001, 1, 0));
    EXPECT(1, cuMemAdvise(managed, 1000, 9, 0));
    EXPECT(101, cuMemAdvise(managed, 1000, 3, 4));
    EXPECT(101, cuMemPrefetchAsync(managed, 1000, 4, 0));
    EXPECT(1, cuMemPrefetchAsync((P)(size_t)plain, 1000, 0, 0));
    EXPECT(1, cuMemRangeGetAttribute(accessed, 7, 3, managed, 1000));
    OK(cuMemHostUnregister(plain));
    EXPECT(713, cuMemHostUnregister(plain));
    EXPECT(713, cuMemHostUnregister((void *)0x1234));
    EXPECT(1, cuPointerGetAttribute(&number, 2, (P)(size_t)plain));
    OK(cuMemFreeHost(host));
    free(plain);
}

static size_t four_bytes(int block) { return 4 * block; }
static size_t much(int block) { return 256 * block; }

static void functions(const char *file) {
    H module, f, all[32];
    unsigned count;
    const char *name;
    size_t offset, bytes;
    int grid, block;
    OK(cuModuleLoad(&module, file));
    OK(cuModuleGetFunction(&f, module, "look"));
    OK(cuFuncGetName(&name, f));
    TRUE(!strcmp(name, "look"));
    OK(cuFuncGetParamInfo(f, 1, &offset, &bytes));
    TRUE(offset == 8 && bytes == 4);
    EXPECT(1, cuFuncGetParamInfo(f, 2, &offset, &bytes));
    OK(cuModuleGetFunctionCount(&count, module));
    EXPECT(10, count);
    OK(cuModuleEnumerateFunctions(all, count, module));
    for (unsigned i = 0; i < count; i++) OK(cuFuncGetName(&name, all[i]));
    EXPECT(400, cuFuncGetName(&name, (H)99));
    OK(cuModuleGetFunction(&f, module, "share"));
    OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, f, four_bytes, 0, 0));
    TRUE(grid == 34 && block == 1024);
    OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, f, much, 0, 0));
    TRUE(block > 0 && block * 256 <= 65536 && grid % 34 == 0);
    OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, f, 0, 0, 100));
    TRUE(block <= 100 && grid >= 34 * 10);
    EXPECT(1, cuOccupancyMaxPotentialBlockSize(0, &block, f, 0, 0, 0));
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&grid, f, 256, 0, 1));
    EXPECT(4, grid);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&grid, f, 256, (size_t)1 << 32));
    EXPECT(0, grid);
    EXPECT(1, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&grid, f, 256, 0, 2));
    /* As in CUDA 3. */
    P out;
    int values[64];
    OK(cuMemAlloc_v2(&out, sizeof values));
    EXPECT(1, cuLaunchGrid(f, 2, 1));
    OK(cuFuncSetBlockShape(f, 32, 1, 1));
    EXPECT(1, cuFuncSetBlockShape(f, 32, 0, 1));
    OK(cuFuncSetSharedSize(f, 128));
    OK(cuParamSetv(f, 0, &out, 8));
    EXPECT(1, cuParamSetv(f, -1, &out, 8));
    EXPECT(1, cuParamSetv(f, 0, (void *)5, 8));
    OK(cuParamSetSize(f, 8));
    OK(cuLaunchGrid(f, 2, 1));
    OK(cuMemcpyDtoH_v2(values, out, sizeof values));
    for (int i = 0; i < 64; i++) EXPECT(31 - i % 32, values[i]);
}

static void entries(void) {
    int (*get_id)(H, unsigned long long *);
    int (*total)(size_t *, int);
    int status;
    unsigned long long legacy, per_thread;
    void *address;
    size_t bytes;
    OK(cuGetProcAddress_v2("cuDeviceTotalMem", (void **)&total, 12000, 0, &status));
    EXPECT(0, status);
    OK(total(&bytes, 0));
    TRUE(bytes == (size_t)8 << 30);
    OK(cuGetProcAddress_v2("cuStreamGetId", (void **)&get_id, 12000, 0, &status));
    OK(get_id(0, &legacy));
    OK(cuGetProcAddress_v2("cuStreamGetId", (void **)&get_id, 12000, 2, &status));
    OK(get_id(0, &per_thread));
    TRUE(legacy != per_thread);
    OK(cuGetProcAddress_v2_ptsz("cuStreamGetId", &address, 12000, 0, &status));
    TRUE(address == (void *)get_id);
    OK(cuGetProcAddress_v2_ptsz("cuStreamGetId", &address, 12000, 1, &status));
    TRUE(address != (void *)get_id);
    OK(cuStreamGetId_ptsz(0, &legacy));
    TRUE(legacy == per_thread);
    EXPECT(500, cuGetProcAddress_v2("cuStreamGetId", &address, 11000, 0, &status));
    TRUE(status == 2 && address == 0);
    EXPECT(500, cuGetProcAddress_v2("cuNothing", &address, 12000, 0, &status));
    TRUE(status == 1 && address == 0);
    EXPECT(1, cuGetProcAddress_v2("cuInit", 0, 12000, 0, &status));
    EXPECT(1, cuGetProcAddress_v2((char *)1, &address, 12000, 0, &status));
    EXPECT(1, cuGetProcAddress_v2("cuInit", &address, 12000, 8, &status));
    OK(cuGetProcAddress("cuCtxCreate", &address, 11040, 0));
    /* What is not supported is found, and says so. */
    OK(cuGetProcAddress_v2("cuGreenCtxCreate", &address, 12090, 0, &status));
    EXPECT(801, ((int (*)(void))address)());
    EXPECT(801, ((int (*)(void))address)());
    const void *table = &table;
    for (int i = 0; i < 2; i++)
        EXPECT(801, cuGetExportTable(&table, "0123456789abcdef"));
    TRUE(table == 0);
    OK(cuLogsRegisterCallback((void *)devices, 0, &address));
    EXPECT(1, cuLogsRegisterCallback(0, 0, &address));
}

int main(int argc, char **argv) {
    H context, same;
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    devices(context);
    addresses(context);
    functions(argv[1]);
    entries();
    /* A stream that captures cannot be waited for. */
    H stream, graph;
    OK(cuStreamCreate(&stream, 0));
    OK(cuStreamBeginCapture_v2(stream, 0));
    EXPECT(900, cuCtxSynchronize_v2(context));
    EXPECT(901, cuStreamEndCapture(stream, &graph));
    OK(cuCtxAttach(&same, 0));
    TRUE(same == context);
    OK(cuCtxDetach(context));
    OK(cuCtxSynchronize());
    OK(cuCtxDetach(context));
    EXPECT(201, cuCtxSynchronize());
    printf("done\n");
    return 0;
}
