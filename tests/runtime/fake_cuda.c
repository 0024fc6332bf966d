/* See fake_cuda.h.  With FAKE_OLD the functions that came with CUDA 11.8 and 12 do not exist. */
#include "fake_cuda.h"
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

static struct fake_cuda state = {.version = 13000,
                                 .architecture = {90, 80},
                                 .multiprocessors = {132, 132},
                                 .shared_optin = 232448,
                                 .slot_count = 9,
                                 .primary = {{0, 1001, 0}, {1, 1002, 0}}};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    const char *name;
    int calls;
} counters[FAKE_FUNCTIONS];
static __thread struct fake_context *current[8];
static __thread int depth;
static __thread int capture_mode; /* 0 global, 2 relaxed */

struct fake_cuda *fake_cuda(void) { return &state; }
void fake_set_current(struct fake_context *context) { current[depth] = context; }
struct fake_context *fake_current(void) { return current[depth]; }

static __thread uint64_t thread_report;
void fake_report(uint64_t report) { thread_report = report; }

int fake_calls(const char *function)
{
    for (int i = 0; i < FAKE_FUNCTIONS && counters[i].name; i++)
        if (strcmp(counters[i].name, function) == 0)
            return counters[i].calls;
    return 0;
}

/* Counts the call and gives what the script wants; under the lock. */
static int scripted(const char *function)
{
    int i, calls, result = 0;
    for (i = 0; counters[i].name && strcmp(counters[i].name, function) != 0; i++)
        continue;
    counters[i].name = function;
    calls = ++counters[i].calls;
    for (i = 0; i < state.script_count; i++)
        if (strcmp(state.scripts[i].function, function) == 0 && calls >= state.scripts[i].from &&
            calls - state.scripts[i].from < state.scripts[i].count)
            result = state.scripts[i].result;
    return result;
}

#define BEGIN                  \
    int result;                \
    pthread_mutex_lock(&lock); \
    result = scripted(__func__)
#define END                      \
    pthread_mutex_unlock(&lock); \
    return result

int cuInit(unsigned flags)
{
    BEGIN;
    (void)flags;
    END;
}
int cuDriverGetVersion(int *version)
{
    BEGIN;
    *version = state.version;
    END;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    BEGIN;
    if (device < 0 || device >= FAKE_DEVICES)
        result = 101;
    else
        *value = attribute == 75   ? state.architecture[device] / 10
                 : attribute == 76 ? state.architecture[device] % 10
                 : attribute == 16 ? state.multiprocessors[device]
                                   : state.shared_optin;
    END;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    BEGIN;
    state.primaries++;
    *context = &state.primary[device];
    END;
}

int cuCtxGetCurrent(void **context)
{
    BEGIN;
    *context = current[depth];
    END;
}

int cuCtxGetDevice(int *device)
{
    BEGIN;
    if (result == 0 && current[depth] == NULL)
        result = 201;
    if (result == 0)
        *device = current[depth]->device;
    END;
}

int cuCtxPushCurrent_v2(void *context)
{
    BEGIN;
    if (result == 0)
        current[++depth] = context;
    END;
}

int cuCtxPopCurrent_v2(void **context)
{
    BEGIN;
    *context = current[depth];
    current[depth] = NULL;
    if (depth > 0)
        depth--;
    END;
}

int cuStreamGetCtx(void *stream, void **context)
{
    BEGIN;
    struct fake_stream *s = stream;
    *context = s ? s->context : current[depth];
    if (result == 0 && *context == NULL)
        result = 201;
    END;
}

int cuStreamSynchronize(void *stream)
{
    BEGIN;
    (void)stream;
    state.synchronized++;
    END;
}

int cuThreadExchangeStreamCaptureMode(int *mode)
{
    BEGIN;
    int before = capture_mode;
    capture_mode = *mode;
    *mode = before;
    END;
}

/* Under the lock. */
static int forbidden(void)
{
    if (!state.global_capture || capture_mode == 2)
        return 0;
    state.unsafe_in_capture++;
    return 900;
}

static int bad_image(const char *code)
{
    int architecture = current[depth] ? state.architecture[current[depth]->device] : 0;
    if (memcmp(code, "\177ELF", 4) == 0) /* of a compiler */
        return 0;
    if (strncmp(code, "cubin", 5) != 0 && strcmp(code, "aligned") != 0)
        return 200;
    if (strcmp(code, "cubin for sm_80") == 0 && architecture / 10 == 9)
        return 209;
    return 0;
}

int cuStreamIsCapturing(struct fake_stream *stream, int *capturing)
{
    BEGIN;
    *capturing = stream != NULL && stream->capturing;
    END;
}
int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    BEGIN;
    (void)flags;
    if (result == 0)
        result = forbidden();
    if (result == 0 && current[depth] == NULL)
        result = 201;
    *memory = result == 0 ? calloc(1, bytes) : NULL;
    END;
}
int cuMemHostGetDevicePointer_v2(uint64_t *there, void *memory, unsigned flags)
{
    BEGIN;
    (void)flags;
    *there = (uint64_t)(uintptr_t)memory;
    END;
}

/* Memory of the device is the host's, and what is done on a stream is done at once. */
static int in_context(const struct fake_stream *stream)
{
    struct fake_context *context = stream ? stream->context : current[depth];
    return context == NULL || current[depth] != context ? 201 : context->destroyed ? 709 : 0;
}
static pthread_t filler; /* the thread that filled memory last */
#define MEMSET(name, type)                                           \
    int name(uint64_t to, type value, size_t count, void *stream)    \
    {                                                                \
        BEGIN;                                                       \
        if (result == 0)                                             \
            result = in_context(stream);                             \
        for (size_t i = 0; result == 0 && i < count; i++)            \
            memcpy((type *)(uintptr_t)to + i, &value, sizeof value); \
        filler = pthread_self();                                     \
        END;                                                         \
    }
MEMSET(cuMemsetD8Async, unsigned char)
MEMSET(cuMemsetD16Async, unsigned short)
MEMSET(cuMemsetD32Async, unsigned)
int cuMemsetD2D32Async(uint64_t to, size_t pitch, unsigned value, size_t width, size_t height, void *stream)
{
    BEGIN;
    if (result == 0)
        result = in_context(stream);
    for (size_t row = 0; result == 0 && row < height; row++)
        for (size_t i = 0; i < width; i++)
            memcpy((unsigned *)(uintptr_t)(to + row * pitch) + i, &value, sizeof value);
    END;
}
#ifndef FAKE_OLD
int cuMemPoolCreate(void **pool, const int *properties)
{
    BEGIN;
    if (result == 0)
        result = forbidden();
    if (result == 0 && (properties[0] != 1 || properties[2] != 1 || properties[3] >= FAKE_DEVICES))
        result = 1;
    state.pools += result == 0;
    *pool = &state.pools;
    END;
}
int cuMemPoolSetAttribute(void *pool, int attribute, const uint64_t *value)
{
    BEGIN;
    if (pool != &state.pools || attribute != 4 || *value != UINT64_MAX)
        result = 1;
    END;
}
int cuMemPoolDestroy(void *pool)
{
    BEGIN;
    if (pool != &state.pools || state.pools == 0)
        result = 1;
    state.pools -= result == 0;
    END;
}
int cuMemAllocFromPoolAsync(uint64_t *memory, size_t bytes, void *pool, void *stream)
{
    BEGIN;
    void *data = NULL;
    if (result == 0)
        result = pool != &state.pools || bytes == 0 ? 1 : in_context(stream);
    if (result == 0 && posix_memalign(&data, 256, bytes) != 0)
        result = 2;
    if (result == 0)
        memset(data, 0xa5, bytes);
    if (result == 0 && state.memories < 16)
        state.memory[state.memories] = data;
    state.memories += result == 0;
    *memory = (uint64_t)(uintptr_t)data;
    END;
}
int cuMemFreeAsync(uint64_t memory, void *stream)
{
    BEGIN;
    (void)memory;
    if (result == 0)
        result = in_context(stream);
    state.freed += result == 0;
    END;
}
#endif

int cuModuleLoadData(void **module, const void *image)
{
    BEGIN;
    if (result == 0)
        result = forbidden();
    if (result == 0 && current[depth] == NULL)
        result = 201;
    if (result == 0)
        result = bad_image(image);
    state.loads += result == 0;
    *module = (void *)(uintptr_t)image;
    END;
}

/* The context whose module it is must be current. */
int cuModuleUnload(void *module)
{
    BEGIN;
    (void)module;
    if (result == 0 && current[depth] == NULL)
        result = 201;
    state.unloads += result == 0;
    END;
}

int cuModuleGetFunction(void **function, void *module, const char *name)
{
    BEGIN;
    (void)name;
    *function = module;
    END;
}
int cuFuncGetAttribute(int *value, int attribute, void *function)
{
    BEGIN;
    (void)attribute, (void)function;
    *value = 32;
    END;
}
int cuFuncSetAttribute(void *function, int attribute, int value)
{
    BEGIN;
    (void)function, (void)attribute, (void)value;
    state.attributes++;
    END;
}

static int launched(struct fake_launch launch, void **parameters)
{
    struct fake_stream *stream = launch.stream;
    struct fake_context *context = stream ? stream->context : current[depth];
    if (context == NULL)
        return 201;
    if (context->destroyed)
        return 709;
    memcpy(launch.slots, parameters[0], sizeof launch.slots[0] * (size_t)state.slot_count);
    if (state.report_slot > 0 && (state.report | thread_report) != 0)
        *(uint64_t *)(uintptr_t)launch.slots[state.report_slot] = state.report | thread_report;
    for (int i = 0; i < state.map_count; i++)
        memcpy(launch.maps[i], parameters[1 + i], sizeof launch.maps[i]);
    state.last = launch;
    if (state.launches < 16)
        state.bases[state.launches] = launch.slots[state.base_slot];
    state.launches++;
    state.blocks += launch.grid[0];
    return 0;
}

int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned block_x, unsigned block_y,
                   unsigned block_z, unsigned shared, void *stream, void **parameters, void **extra)
{
    BEGIN;
    (void)extra;
    if (result == 0)
        result = launched(
            (struct fake_launch){
                {x, y, z}, {block_x, block_y, block_z}, shared, 1, stream, function, {0}, {{0}}, 0, 0, 0, 0},
            parameters);
    END;
}

int cuGetErrorName(int error, const char **text)
{
    (void)error;
    *text = "CUDA_ERROR_FAKE";
    return 0;
}
int cuGetErrorString(int error, const char **text)
{
    (void)error;
    *text = "made up";
    return 0;
}

#ifndef FAKE_OLD
struct attribute {
    int id, padding;
    unsigned words[16];
};
struct config {
    unsigned grid[3], block[3], shared;
    void *stream;
    struct attribute *attributes;
    unsigned attribute_count;
};

int cuTensorMapEncodeTiled(uint64_t *map, int type, unsigned rank, void *address, const uint64_t *extents,
                           const uint64_t *strides, const uint32_t *box, const uint32_t *steps, int interleave,
                           int swizzle, int promotion, int beyond)
{
    BEGIN;
    struct fake_encode call = {state.encode_count + 1,       type, interleave, swizzle, promotion, beyond, rank,
                               (uint64_t)(uintptr_t)address, {0},  {0},        {0},     {0}};
    state.unaligned_maps += (uintptr_t)map % 64 != 0;
    for (unsigned i = 0; i < rank && i < 5; i++) {
        call.extents[i] = extents[i];
        call.box[i] = box[i];
        call.steps[i] = steps[i];
        if (i + 1 < rank)
            call.strides[i] = strides[i];
    }
    if (state.encode_count < FAKE_ENCODES)
        state.encodes[state.encode_count] = call;
    state.encode_count++;
    memset(map, 0, 128);
    map[0] = (uint64_t)call.number;
    map[1] = call.address;
    END;
}

int cuCtxGetId(void *context, unsigned long long *id)
{
    BEGIN;
    struct fake_context *c = context ? context : current[depth];
    if (result == 0 && c == NULL)
        result = 201;
    if (result == 0)
        *id = c->id;
    END;
}

int cuLibraryLoadData(void **library, const void *code, int *options, void **values, unsigned count,
                      int *library_options, void **library_values, unsigned library_count)
{
    BEGIN;
    (void)options, (void)values, (void)count, (void)library_options, (void)library_values, (void)library_count;
    if (result == 0)
        result = forbidden();
    if (result == 0)
        result = bad_image(code);
    state.loads += result == 0;
    *library = (void *)(uintptr_t)code;
    END;
}
int cuLibraryUnload(void *library)
{
    BEGIN;
    (void)library;
    state.unloads += result == 0;
    END;
}
int cuLibraryGetKernel(void **kernel, void *library, const char *name)
{
    BEGIN;
    (void)name;
    *kernel = library;
    END;
}
int cuKernelGetFunction(void **function, void *kernel)
{
    BEGIN;
    if (result == 0)
        result = forbidden();
    if (result == 0 && current[depth] == NULL)
        result = 201;
    *function = kernel;
    END;
}
int cuKernelSetAttribute(int attribute, int value, void *kernel, int device)
{
    BEGIN;
    (void)attribute, (void)value, (void)kernel, (void)device;
    state.attributes++;
    END;
}

int cuOccupancyMaxActiveClusters(int *clusters, void *function, const struct config *config)
{
    BEGIN;
    (void)function, (void)config;
    *clusters = state.clusters;
    END;
}
int cuLaunchKernelEx(const struct config *config, void *function, void **parameters, void **extra)
{
    sched_yield();
    BEGIN;
    state.mixed += !pthread_equal(filler, pthread_self());
    struct fake_launch launch = {{config->grid[0], config->grid[1], config->grid[2]},
                                 {config->block[0], config->block[1], config->block[2]},
                                 config->shared,
                                 1,
                                 config->stream,
                                 function,
                                 {0},
                                 {{0}},
                                 0,
                                 0,
                                 0,
                                 0};
    (void)extra;
    launch.attributes = (int)config->attribute_count;
    for (unsigned i = 0; i < config->attribute_count; i++) {
        int value = (int)config->attributes[i].words[0];
        switch (config->attributes[i].id) {
        case 4: launch.cluster = (unsigned)value; break;
        case 5: launch.policy = value; break;
        case 6: launch.overlap = value; break;
        case 8: launch.priority = value; break;
        default: result = 1;
        }
    }
    if (result == 0)
        result = launched(launch, parameters);
    END;
}
#endif
