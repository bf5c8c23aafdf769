/* A client of NVTX 3 as its interface is documented: functions that do nothing until a tool has put its own into the
   tables, which it gets from the library that NVTX_INJECTION64_PATH names. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

typedef struct {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const void *message;
} attributes_t;

typedef void (*function_t)(void);
static function_t core[16], core2[16];
static function_t *core_table[17], *core2_table[17];

static int module_table(int module, function_t ***table, unsigned *size) {
    if (module != 1 && module != 5) return 0;
    *table = module == 1 ? core_table : core2_table;
    *size = 16;
    return 1;
}

static struct { size_t size; int (*get)(int, function_t ***, unsigned *); } callbacks = { sizeof callbacks, module_table };

static const void *export_table(uint32_t id) { return id == 1 ? &callbacks : 0; }

/* Whether a tool watches. */
static int nvtx_load(void) {
    for (int i = 1; i < 16; i++) core_table[i] = &core[i], core2_table[i] = &core2[i];
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *tool = path ? dlopen(path, RTLD_LAZY) : 0;
    int (*begin)(const void *(*)(uint32_t)) = tool ? dlsym(tool, "InitializeInjectionNvtx2") : 0;
    return begin && begin(export_table);
}

#define CALL(type, slot, ...) (slot ? ((type)slot)(__VA_ARGS__) : 0)
static int push(const char *name) { return CALL(int (*)(const char *), core[9], name); }
static int push_wide(const wchar_t *name) { return CALL(int (*)(const wchar_t *), core[10], name); }
static int push_ex(const attributes_t *a) { return CALL(int (*)(const attributes_t *), core[8], a); }
static int pop(void) { return CALL(int (*)(void), core[11]); }
static uint64_t start(const char *name) { return CALL(uint64_t (*)(const char *), core[5], name); }
static void mark(const char *name) { if (core[2]) ((void (*)(const char *))core[2])(name); }
static void end(uint64_t range) { if (core[7]) ((void (*)(uint64_t))core[7])(range); }
static void *domain(const char *name) { return CALL(void *(*)(const char *), core2[12], name); }
static void *registered(void *domain, const char *name) { return CALL(void *(*)(void *, const char *), core2[10], domain, name); }
static int domain_push(void *domain, const attributes_t *a) { return CALL(int (*)(void *, const attributes_t *), core2[4], domain, a); }
static int domain_pop(void *domain) { return CALL(int (*)(void *), core2[5], domain); }
