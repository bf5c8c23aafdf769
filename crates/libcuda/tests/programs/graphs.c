/* Graphs, capture, pools, linking and values in streams, by the structures of the driver API. */
#include "api.h"

typedef struct {
    H function;
    unsigned grid[3], block[3], shared;
    void **params, **extra;
    H kernel, context;
} KernelNode;
typedef struct {
    P to;
    size_t pitch;
    unsigned value, unit;
    size_t width, height;
    H context;
} Fill;
typedef struct {
    void (*function)(void *);
    void *argument;
} Call;
typedef struct {
    int kind, handles;
    struct { int kind, id; } place;
    void *security;
    size_t most;
    unsigned short usage;
    unsigned char reserved[54];
} PoolProperties;
typedef struct {
    PoolProperties properties;
    const void *list;
    size_t count, bytes;
    P address;
} AllocNode;
typedef struct {
    int kind, reserved0[3];
    union {
        long long reserved1[29];
        KernelNode kernel;
        struct { int flags, reserved; H context; Copy3 copy; } copy;
        Fill fill;
        Call call;
        AllocNode alloc;
        P free;
    };
    long long reserved2;
} AnyNode;
typedef struct {
    int kind;
    P address;
    uint64_t value;
    unsigned flags;
    P alias;
    uint64_t padding;
} Operation;

int cuGraphCreate(H *, unsigned), cuGraphDestroy(H), cuGraphInstantiateWithFlags(H *, H, unsigned long long);
int cuGraphAddKernelNode_v2(H *, H, const H *, size_t, const KernelNode *), cuGraphLaunch(H, H);
int cuGraphAddMemcpyNode(H *, H, const H *, size_t, const Copy3 *, H);
int cuGraphAddMemsetNode(H *, H, const H *, size_t, const Fill *, H);
int cuGraphAddHostNode(H *, H, const H *, size_t, const Call *);
int cuGraphAddNode(H *, H, const H *, size_t, AnyNode *), cuGraphGetNodes(H, H *, size_t *);
int cuGraphKernelNodeGetParams_v2(H, KernelNode *), cuGraphMemcpyNodeGetParams(H, Copy3 *);
int cuGraphMemsetNodeGetParams(H, Fill *), cuGraphNodeGetType(H, int *);
int cuGraphExecKernelNodeSetParams_v2(H, H, const KernelNode *), cuGraphExecDestroy(H);
int cuGraphExecUpdate_v2(H, H, void *), cuGraphGetEdges_v2(H, H *, H *, void *, size_t *);
int cuGraphConditionalHandleCreate(void *, H, H, unsigned, unsigned);
int cuStreamBeginCapture_v2(H, int), cuStreamEndCapture(H, H *);
int cuStreamGetCaptureInfo_v2(H, int *, uint64_t *, H *, const H **, size_t *);
int cuStreamGetCaptureInfo_v3(H, int *, uint64_t *, H *, const H **, const void **, size_t *);
int cuThreadExchangeStreamCaptureMode(int *);
int cuMemAllocAsync(P *, size_t, H), cuMemFreeAsync(P, H), cuMemPoolCreate(H *, const PoolProperties *);
int cuMemAllocFromPoolAsync(P *, size_t, H, H), cuMemPoolGetAttribute(H, int, void *), cuMemPoolDestroy(H);
int cuMemPoolSetAttribute(H, int, void *), cuDeviceGetDefaultMemPool(H *, int);
int cuStreamWaitValue32_v2(H, P, unsigned, unsigned), cuStreamWriteValue32_v2(H, P, unsigned, unsigned);
int cuStreamBatchMemOp_v2(H, unsigned, Operation *, unsigned);
int cuStreamSetAttribute(H, int, const void *), cuStreamGetAttribute(H, int, void *);
int cuStreamGetPriority(H, int *);
int cuMemGetAllocationGranularity(size_t *, const void *, int), cuMemCreate(H *, size_t, const void *, uint64_t);
int cuMemAddressReserve(P *, size_t, size_t, P, uint64_t), cuMemAddressFree(P, size_t), cuMemRelease(H);
int cuMemMap(P, size_t, size_t, H, uint64_t), cuMemUnmap(P, size_t);
int cuMemSetAccess(P, size_t, const void *, size_t), cuMemGetAccess(uint64_t *, const void *, P);
int cuUserObjectCreate(H *, void *, void (*)(void *), unsigned, unsigned), cuGraphRetainUserObject(H, H, unsigned, unsigned);
int cuLinkCreate_v2(unsigned, int *, void **, H *), cuLinkDestroy(H), cuLinkComplete(H, void **, size_t *);
int cuLinkAddData_v2(H, int, void *, size_t, const char *, unsigned, int *, void **);

static int calls;
static void count(void *by) { calls += (int)(intptr_t)by; }

static void graphs(H saxpy, H stream) {
    enum { N = 64 };
    float x[N], y[N], a = 2;
    int n = N, type;
    P dx, dy;
    for (int i = 0; i < N; i++) x[i] = i;
    OK(cuMemAlloc_v2(&dx, sizeof x));
    OK(cuMemAlloc_v2(&dy, sizeof y));
    H graph, exec, up, clear, run, down, call;
    OK(cuGraphCreate(&graph, 0));
    Copy3 in = {.from.kind = 1, .from.host = x, .to.kind = 2, .to.device = dx, .width = sizeof x, .height = 1, .depth = 1};
    OK(cuGraphAddMemcpyNode(&up, graph, 0, 0, &in, 0));
    Fill zero = {dy, 0, 0x3f800000, 4, N, 1, 0};
    OK(cuGraphAddMemsetNode(&clear, graph, 0, 0, &zero, 0));
    KernelNode kernel = {saxpy, {1, 1, 1}, {N, 1, 1}, 0, (void *[]){&n, &a, &dx, &dy}, 0, 0, 0};
    H before[] = {up, clear};
    OK(cuGraphAddKernelNode_v2(&run, graph, before, 2, &kernel));
    AnyNode out = {1};
    out.copy.copy = (Copy3){.from.kind = 2, .from.device = dy, .to.kind = 1, .to.host = y, .width = sizeof y};
    EXPECT(1, cuGraphAddNode(&down, graph, &run, 1, &out));
    out.copy.copy.height = out.copy.copy.depth = 1;
    OK(cuGraphAddNode(&down, graph, &run, 1, &out));
    OK(cuGraphAddHostNode(&call, graph, &down, 1, &(Call){count, (void *)5}));
    a = -1; /* The node has its own copy. */
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    for (int i = 0; i < N; i++) TRUE(y[i] == 2 * i + 1);
    EXPECT(5, calls);

    /* What the nodes say of themselves. */
    KernelNode got;
    OK(cuGraphKernelNodeGetParams_v2(run, &got));
    TRUE(got.function == saxpy && got.block[0] == N && got.shared == 0 && !got.extra && !got.context);
    TRUE(*(int *)got.params[0] == N && *(float *)got.params[1] == 2 && *(P *)got.params[2] == dx);
    Copy3 copied;
    OK(cuGraphMemcpyNodeGetParams(up, &copied));
    TRUE(copied.from.host == x && copied.to.device == dx && copied.width == sizeof x && copied.depth == 1);
    Fill filled;
    OK(cuGraphMemsetNodeGetParams(clear, &filled));
    TRUE(filled.to == dy && filled.unit == 4 && filled.width == N && filled.value == 0x3f800000);
    EXPECT(1, cuGraphMemsetNodeGetParams(up, &filled));
    OK(cuGraphNodeGetType(call, &type));
    EXPECT(3, type);
    size_t nodes = 0, edges = 8;
    OK(cuGraphGetNodes(graph, 0, &nodes));
    EXPECT(5, nodes);
    H list[8], from[8], to[8];
    uint64_t data[8];
    nodes = 8;
    OK(cuGraphGetNodes(graph, list, &nodes));
    TRUE(nodes == 5 && list[0] == up && list[4] == call && list[5] == 0 && list[7] == 0);
    OK(cuGraphGetEdges_v2(graph, from, to, data, &edges));
    TRUE(edges == 4 && from[3] == down && to[3] == call && data[3] == 0);

    /* Another argument, another graph. */
    a = 10;
    kernel.params = (void *[]){&n, &a, &dx, &dy};
    OK(cuGraphExecKernelNodeSetParams_v2(exec, run, &kernel));
    EXPECT(1, cuGraphExecKernelNodeSetParams_v2(exec, up, &kernel));
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    TRUE(y[3] == 31);
    H other;
    struct { int result; H node, before; } info = {99};
    OK(cuGraphCreate(&other, 0));
    EXPECT(910, cuGraphExecUpdate_v2(exec, other, &info));
    EXPECT(2, info.result);
    EXPECT(801, cuGraphConditionalHandleCreate(&info, other, 0, 0, 0));

    /* Memory of nodes. */
    AnyNode alloc = {10};
    alloc.alloc = (AllocNode){{1, 0, {1, 0}}, 0, 0, 4096};
    H allocated, set, freed;
    OK(cuGraphAddNode(&allocated, other, 0, 0, &alloc));
    TRUE(alloc.alloc.address != 0);
    AnyNode fill = {2};
    fill.fill = (Fill){alloc.alloc.address, 0, 7, 1, 4096, 1, 0};
    OK(cuGraphAddNode(&set, other, &allocated, 1, &fill));
    AnyNode release = {11};
    release.free = alloc.alloc.address;
    OK(cuGraphAddNode(&freed, other, &set, 1, &release));
    H second;
    OK(cuGraphInstantiateWithFlags(&second, other, 0));
    OK(cuGraphLaunch(second, stream));
    OK(cuGraphLaunch(second, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuGraphExecDestroy(second));
    OK(cuGraphDestroy(other));
    OK(cuGraphExecDestroy(exec));
    H object;
    EXPECT(1, cuUserObjectCreate(&object, (void *)100, count, 1, 0));
    OK(cuUserObjectCreate(&object, (void *)100, count, 1, 1));
    OK(cuGraphRetainUserObject(graph, object, 1, 1));
    OK(cuGraphDestroy(graph));
    OK(cuCtxSynchronize());
    EXPECT(110, calls);
    EXPECT(1, cuGraphDestroy(graph));
    EXPECT(1, cuGraphDestroy((H)0x1234));
    EXPECT(1, cuGraphAddKernelNode_v2(&run, (H)-1, 0, 0, &kernel));
    EXPECT(1, cuGraphCreate(0, 0));
}

static void capture(H stream) {
    H graph = (H)1, seen;
    int status = 9, mode = 2;
    uint64_t id = 0;
    const H *after = 0;
    const void *edges = (void *)1;
    size_t number = 9;
    P x;
    OK(cuMemAlloc_v2(&x, 64));
    OK(cuStreamBeginCapture_v2(stream, 0));
    OK(cuStreamGetCaptureInfo_v2(stream, &status, &id, &seen, &after, &number));
    TRUE(status == 1 && id != 0 && number == 0);
    OK(cuStreamWriteValue32_v2(stream, x, 5, 0));
    OK(cuStreamGetCaptureInfo_v3(stream, &status, &id, &seen, &after, &edges, &number));
    TRUE(number == 1 && after[0] != 0 && edges == 0);
    EXPECT(900, cuMemFree_v2(x));
    EXPECT(901, cuStreamEndCapture(stream, &graph));
    TRUE(graph == 0);
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    EXPECT(0, mode);
    OK(cuStreamBeginCapture_v2(stream, 0));
    OK(cuMemFree_v2(x));
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphDestroy(graph));
    mode = 0;
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    EXPECT(1, cuStreamBeginCapture_v2(stream, 3));
    EXPECT(401, cuStreamEndCapture(stream, &graph));
}

static void pools(H stream) {
    H pool, usual;
    uint64_t used = 9, threshold = 1 << 20;
    int reuse = 0;
    P x, y;
    PoolProperties properties = {1, 0, {1, 0}};
    OK(cuMemPoolCreate(&pool, &properties));
    OK(cuDeviceGetDefaultMemPool(&usual, 0));
    OK(cuMemAllocFromPoolAsync(&x, 1000, pool, stream));
    OK(cuMemAllocAsync(&y, 500, stream));
    OK(cuMemPoolGetAttribute(pool, 7, &used));
    EXPECT(1000, used);
    OK(cuMemPoolGetAttribute(usual, 7, &used));
    EXPECT(500, used);
    OK(cuMemPoolSetAttribute(pool, 4, &threshold));
    OK(cuMemPoolGetAttribute(pool, 1, &reuse));
    EXPECT(1, reuse);
    OK(cuMemFreeAsync(x, stream));
    EXPECT(1, cuMemFreeAsync(x, stream));
    OK(cuMemFree_v2(y));
    OK(cuMemPoolDestroy(pool));
    EXPECT(1, cuMemPoolDestroy(usual));
    EXPECT(1, cuMemAllocAsync(0, 500, stream));
}

static void values(H stream) {
    P x;
    unsigned got[4];
    H other;
    OK(cuStreamCreate(&other, 1));
    OK(cuMemAlloc_v2(&x, sizeof got));
    OK(cuMemsetD32_v2(x, 0, 4));
    OK(cuCtxSynchronize());
    OK(cuStreamWaitValue32_v2(stream, x, 3, 1));
    OK(cuStreamWriteValue32_v2(stream, x + 4, 8, 0));
    Operation list[] = {{2, x + 8, 6}, {5, x, 3}};
    EXPECT(600, cuStreamQuery(stream));
    OK(cuStreamBatchMemOp_v2(other, 2, list, 0));
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH_v2(got, x, sizeof got));
    TRUE(got[0] == 3 && got[1] == 8 && got[2] == 6);
    EXPECT(1, cuStreamWaitValue32_v2(stream, 0, 3, 1));
    EXPECT(1, cuStreamWaitValue32_v2(stream, x, 3, 17));
    int priority = 0;
    char attribute[64] = {0};
    *(int *)attribute = -4;
    OK(cuStreamSetAttribute(stream, 8, attribute));
    OK(cuStreamGetPriority(stream, &priority));
    EXPECT(-4, priority);
    OK(cuStreamGetAttribute(stream, 8, attribute));
    EXPECT(-4, *(int *)attribute);
    EXPECT(1, cuStreamGetAttribute(stream, 77, attribute));
}

static void mappings(H stream) {
    PoolProperties properties = {1, 0, {1, 0}};
    struct { int kind, id, flags; } access = {1, 0, 3};
    size_t unit;
    P range;
    H memory;
    unsigned got[2];
    uint64_t flags = 0;
    OK(cuMemGetAllocationGranularity(&unit, &properties, 0));
    OK(cuMemAddressReserve(&range, 2 * unit, 0, 0, 0));
    OK(cuMemCreate(&memory, unit, &properties, 0));
    EXPECT(1, cuMemCreate(&memory, unit + 1, &properties, 0));
    EXPECT(1, cuMemMap(range + 2 * unit, unit, 0, memory, 0));
    OK(cuMemMap(range, unit, 0, memory, 0));
    OK(cuMemSetAccess(range, unit, &access, 1));
    OK(cuMemGetAccess(&flags, &access, range + 5));
    EXPECT(3, flags);
    OK(cuMemsetD32_v2(range, 77, unit / 4));
    OK(cuMemcpyDtoH_v2(got, range + unit - 8, 8));
    TRUE(got[0] == 77 && got[1] == 77);
    EXPECT(1, cuMemFree_v2(range));
    OK(cuMemRelease(memory));
    EXPECT(1, cuMemAddressFree(range, 2 * unit));
    OK(cuMemUnmap(range, unit));
    EXPECT(1, cuMemUnmap(range, unit));
    OK(cuMemAddressFree(range, 2 * unit));
}

static const char *user = ".version 7.5\n.target sm_75\n.address_size 64\n.extern .global .u32 x;\n"
                          ".visible .entry k(.param .u64 to) { .reg .b32 %r<2>; .reg .b64 %rd<2>;\n"
                          "ld.param.u64 %rd1, [to]; ld.global.u32 %r1, [x]; st.global.u32 [%rd1], %r1; ret; }";
static const char *owner = ".version 7.5\n.target sm_75\n.address_size 64\n.visible .global .u32 x = 42;";

static void links(void) {
    H link, module, k;
    void *image;
    size_t bytes;
    char log[256] = "?";
    P x;
    unsigned got = 0;
    int options[] = {5, 6};
    void *settings[] = {log, (void *)sizeof log};
    OK(cuLinkCreate_v2(2, options, settings, &link));
    OK(cuLinkAddData_v2(link, 1, (void *)user, strlen(user) + 1, "user", 0, 0, 0));
    EXPECT(200, cuLinkComplete(link, &image, &bytes));
    TRUE(strstr(log, "`x`") && (size_t)settings[1] == strlen(log));
    OK(cuLinkDestroy(link));
    OK(cuLinkCreate_v2(0, 0, 0, &link));
    OK(cuLinkAddData_v2(link, 1, (void *)user, strlen(user) + 1, "user", 0, 0, 0));
    OK(cuLinkAddData_v2(link, 1, (void *)owner, strlen(owner) + 1, "owner", 0, 0, 0));
    OK(cuLinkComplete(link, &image, &bytes));
    OK(cuModuleLoadData(&module, image));
    OK(cuLinkDestroy(link));
    EXPECT(400, cuLinkDestroy(link));
    OK(cuModuleGetFunction(&k, module, "k"));
    OK(cuMemAlloc_v2(&x, 4));
    void *args[] = {&x};
    OK(cuLaunchKernel(k, 1, 1, 1, 1, 1, 1, 0, 0, args, 0));
    OK(cuMemcpyDtoH_v2(&got, x, 4));
    EXPECT(42, got);
    EXPECT(1, cuLinkAddData_v2(0, 1, 0, 5, 0, 0, 0, 0));
}

int main(int argc, char **argv) {
    H context, module, saxpy, stream;
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuModuleLoad(&module, argv[1]));
    OK(cuModuleGetFunction(&saxpy, module, "saxpy"));
    OK(cuStreamCreate(&stream, 0));
    graphs(saxpy, stream);
    capture(stream);
    pools(stream);
    values(stream);
    mappings(stream);
    links();
    /* The end of a context waits for what is left to do in it. */
    P x;
    float a = 1;
    int n = 64;
    OK(cuMemAlloc_v2(&x, 256));
    OK(cuLaunchKernel(saxpy, 1, 1, 1, 64, 1, 1, 0, stream, (void *[]){&n, &a, &x, &x}, 0));
    OK(cuCtxDestroy_v2(context));
    EXPECT(201, cuCtxDestroy_v2(context));
    printf("done\n");
    return 0;
}
