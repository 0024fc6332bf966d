/* SPDX-License-Identifier: MIT
 *
 * Kernels on NVIDIA GPUs, through the driver alone.  libcuda.so.1 is opened at the first call for a stream; the lowest
 * driver is that of CUDA 11.0 (450.36), and 11.8 for kernels with clusters.
 *
 * No context is made here and none is left changed: the stream tells its context, the null stream the current one.
 * From driver 12.0 on a cubin is a library that belongs to no context, loaded once a process; before, a module a
 * context.
 *
 * The way of a launch after the first one holds no lock, no allocation and two queries of the driver that read memory
 * of this process (the stream's context and that context's id: a pointer alone may be reused for another context). What
 * was found wrong with an image on a device is kept and told again, so that a program that goes on launching does not
 * go on loading; running out of memory is not kept. */
#include "tile_rt_internal.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEVICES 64
#define MAX_BLOCKS INT64_C(0x7fffffff)

/* The driver's interface, as far as it is used: names, types and values as NVIDIA documents them. */
struct launch_attribute {
    int id, padding;
    union {
        unsigned cluster[3];
        int number;
        char room[64];
    } value;
};
struct launch_config {
    unsigned grid[3], block[3], shared_bytes;
    void *stream;
    struct launch_attribute *attributes;
    unsigned attribute_count;
};
enum {
    CUDA_SUCCESS = 0,
    CUDA_OUT_OF_MEMORY = 2,
    CUDA_NOT_INITIALIZED = 3,
    CUDA_DEINITIALIZED = 4,
    CUDA_STUB_LIBRARY = 34,
    CUDA_INVALID_IMAGE = 200,
    CUDA_INVALID_CONTEXT = 201,
    CUDA_NO_BINARY_FOR_GPU = 209,
    CUDA_ECC_UNCORRECTABLE = 214,
    CUDA_INVALID_PTX = 218,
    CUDA_NVLINK_UNCORRECTABLE = 220,
    CUDA_UNSUPPORTED_PTX_VERSION = 222,
    CUDA_INVALID_SOURCE = 300,
    CUDA_NOT_FOUND = 500,
    CUDA_ILLEGAL_ADDRESS = 700,
    CUDA_LAUNCH_OUT_OF_RESOURCES = 701,
    CUDA_LAUNCH_TIMEOUT = 702,
    CUDA_CONTEXT_IS_DESTROYED = 709,
    CUDA_ASSERT = 710,
    CUDA_HARDWARE_STACK_ERROR = 714,
    CUDA_LAUNCH_FAILED = 719,
    CUDA_NOT_SUPPORTED = 801,
    CUDA_FIRST_CAPTURE_ERROR = 900,
    CUDA_LAST_CAPTURE_ERROR = 908,
    ATTRIBUTE_SM_COUNT = 16,
    ATTRIBUTE_MAJOR = 75,
    ATTRIBUTE_MINOR = 76,
    ATTRIBUTE_SHARED_OPTIN = 97,
    FUNCTION_REGISTERS = 4,
    FUNCTION_DYNAMIC_SHARED = 8,
    FUNCTION_NON_PORTABLE_CLUSTER = 14,
    LAUNCH_CLUSTER = 4,
    LAUNCH_CLUSTER_POLICY = 5, /* CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE */
    CLUSTER_POLICY_BALANCE = 2,
    LAUNCH_OVERLAP = 6, /* CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION */
    LAUNCH_PRIORITY = 8,
    MAX_ATTRIBUTES = 4,
    OVERLAP_SINCE = 90, /* architecture of the code */
    LIBRARY_BINARY_IS_PRESERVED = 1,
    CAPTURE_RELAXED = 2,
    MAP_INTERLEAVE_NONE = 0,
    MAP_TF32 = 11,
    MAP_PROMOTION_256_BYTES = 3,
    MAP_ZEROS_BEYOND = 0
};

/* name, its name for dlsym where cuGetProcAddress is not there, may be absent, parameters */
#define DRIVER_FUNCTIONS(X)                                                                                      \
    X(cuInit, cuInit, 0, (unsigned flags))                                                                       \
    X(cuDriverGetVersion, cuDriverGetVersion, 0, (int *version))                                                 \
    X(cuDeviceGetAttribute, cuDeviceGetAttribute, 0, (int *value, int attribute, int device))                    \
    X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, 0, (void **context, int device))                       \
    X(cuCtxGetCurrent, cuCtxGetCurrent, 0, (void **context))                                                     \
    X(cuCtxGetDevice, cuCtxGetDevice, 0, (int *device))                                                          \
    X(cuCtxPushCurrent, cuCtxPushCurrent_v2, 0, (void *context))                                                 \
    X(cuCtxPopCurrent, cuCtxPopCurrent_v2, 0, (void **context))                                                  \
    X(cuCtxGetId, cuCtxGetId, 1, (void *context, unsigned long long *id))                                        \
    X(cuStreamGetCtx, cuStreamGetCtx, 0, (void *stream, void **context))                                         \
    X(cuStreamSynchronize, cuStreamSynchronize, 0, (void *stream))                                               \
    X(cuThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, 0, (int *mode))                      \
    X(cuLibraryLoadData, cuLibraryLoadData, 1,                                                                   \
      (void **library, const void *code, int *options, void **values, unsigned count, int *library_options,      \
       void **library_values, unsigned library_count))                                                           \
    X(cuLibraryUnload, cuLibraryUnload, 1, (void *library))                                                      \
    X(cuLibraryGetKernel, cuLibraryGetKernel, 1, (void **kernel, void *library, const char *name))               \
    X(cuKernelGetFunction, cuKernelGetFunction, 1, (void **function, void *kernel))                              \
    X(cuKernelSetAttribute, cuKernelSetAttribute, 1, (int attribute, int value, void *kernel, int device))       \
    X(cuModuleLoadData, cuModuleLoadData, 0, (void **module, const void *image))                                 \
    X(cuModuleUnload, cuModuleUnload, 0, (void *module))                                                         \
    X(cuModuleGetFunction, cuModuleGetFunction, 0, (void **function, void *module, const char *name))            \
    X(cuFuncGetAttribute, cuFuncGetAttribute, 0, (int *value, int attribute, void *function))                    \
    X(cuFuncSetAttribute, cuFuncSetAttribute, 0, (void *function, int attribute, int value))                     \
    X(cuLaunchKernelEx, cuLaunchKernelEx, 1,                                                                     \
      (const struct launch_config *config, void *function, void **parameters, void **extra))                     \
    X(cuLaunchKernel, cuLaunchKernel, 0,                                                                         \
      (void *function, unsigned x, unsigned y, unsigned z, unsigned block_x, unsigned block_y, unsigned block_z, \
       unsigned shared, void *stream, void **parameters, void **extra))                                          \
    X(cuOccupancyMaxActiveClusters, cuOccupancyMaxActiveClusters, 1,                                             \
      (int *clusters, void *function, const struct launch_config *config))                                       \
    X(cuTensorMapEncodeTiled, cuTensorMapEncodeTiled, 1,                                                         \
      (void *map, int type, unsigned rank, void *address, const uint64_t *extents, const uint64_t *strides,      \
       const uint32_t *box, const uint32_t *steps, int interleave, int swizzle, int promotion, int beyond))      \
    X(cuGetErrorName, cuGetErrorName, 0, (int error, const char **text))                                         \
    X(cuGetErrorString, cuGetErrorString, 0, (int error, const char **text))

struct device_row {
    int ready; /* the others are set */
    int architecture, sm_count, shared_optin;
};

/* The one table of this file. */
static struct {
    pthread_mutex_t lock;
    int state; /* 0: not tried; 1: the functions are there; 2: it failed with `status` */
    int status, cuda;
    char text[200];
    void *library;
    int libraries; /* the driver has context-free kernels */
    struct device_row devices[MAX_DEVICES];
#define X(name, symbol, optional, parameters) int(*name) parameters;
    DRIVER_FUNCTIONS(X)
#undef X
} cuda = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* This thread's last context. */
static __thread struct {
    uint64_t id;
    int device, known;
} last_context;

/* A function of one context, for drivers without libraries. */
struct module_function {
    struct module_function *next;
    uint64_t context;
    void *function, *module, *place; /* place: the context itself */
};

/* What is loaded of one variant; hangs on its tile_rt_state and is never freed. */
struct record {
    void *library, *kernel;         /* CUlibrary and CUkernel, for all contexts */
    uint64_t ready;                 /* bit a device: attributes are set there */
    uint16_t clusters[MAX_DEVICES]; /* of a persistent kernel, that run there at the same time; 0: not known */
    struct module_function *functions;
    uint64_t failed; /* bit a device: loading failed there for good, as said below */
    int status, cuda_error;
    char text[300];
};

/* ---- errors ----------------------------------------------------------------------------------------------------- */

static int status_of(int error)
{
    switch (error) {
    case CUDA_OUT_OF_MEMORY:
    case CUDA_LAUNCH_OUT_OF_RESOURCES: return TILE_ERR_OOM;
    case CUDA_INVALID_IMAGE:
    case CUDA_NO_BINARY_FOR_GPU:
    case CUDA_INVALID_PTX:
    case CUDA_UNSUPPORTED_PTX_VERSION:
    case CUDA_INVALID_SOURCE:
    case CUDA_NOT_FOUND: return TILE_ERR_BAD_IMAGE;
    case CUDA_INVALID_CONTEXT: return TILE_ERR_NO_CONTEXT;
    case CUDA_ECC_UNCORRECTABLE:
    case CUDA_NVLINK_UNCORRECTABLE:
    case CUDA_ILLEGAL_ADDRESS:
    case CUDA_LAUNCH_TIMEOUT:
    case CUDA_CONTEXT_IS_DESTROYED:
    case CUDA_ASSERT: return TILE_ERR_CONTEXT_LOST;
    case CUDA_NOT_INITIALIZED:
    case CUDA_DEINITIALIZED: return TILE_ERR_NO_DRIVER;
    default:
        if (error >= CUDA_HARDWARE_STACK_ERROR && error <= CUDA_LAUNCH_FAILED)
            return TILE_ERR_CONTEXT_LOST;
        if (error >= CUDA_FIRST_CAPTURE_ERROR && error <= CUDA_LAST_CAPTURE_ERROR)
            return TILE_ERR_CAPTURE;
        return TILE_ERR_DRIVER;
    }
}

TILE_RT_COLD int tile_rt_cuda_fail(const char *kernel, const char *call, int error)
{
    const char *name = NULL, *text = NULL;
    int status = status_of(error);
    if (cuda.cuGetErrorName != NULL)
        cuda.cuGetErrorName(error, &name);
    if (cuda.cuGetErrorString != NULL)
        cuda.cuGetErrorString(error, &text);
    tile_rt_fail(status, "%s: %s gives %d (%s: %s)", kernel, call, error, name ? name : "?", text ? text : "no text");
    tile_rt_set_cuda_error(error);
    return status;
}

/* ---- the driver ------------------------------------------------------------------------------------------------- */

static int refuse_driver(int error, const char *what)
{
    cuda.status = TILE_ERR_NO_DRIVER;
    cuda.cuda = error;
    if (error != 0)
        tile_rt_append(cuda.text, sizeof cuda.text, 0, "%s gives %d", what, error);
    else
        tile_rt_append(cuda.text, sizeof cuda.text, 0, "%s", what);
    return 2;
}

/* By cuGetProcAddress, which knows versions, else by its name in the library. */
int tile_rt_cuda_find(void *function, const char *name, const char *symbol)
{
    int (*get_address)(const char *, void **, int, uint64_t, int *) = NULL;
    void *address = dlsym(cuda.library, "cuGetProcAddress_v2");
    memcpy(&get_address, &address, sizeof address);
    address = NULL;
    if (get_address == NULL || get_address(name, &address, 12000, 0, NULL) != 0)
        address = NULL;
    if (address == NULL)
        address = dlsym(cuda.library, symbol);
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

static int find_functions(const char **missing)
{
#define X(name, symbol, optional, parameters)                          \
    if (!tile_rt_cuda_find(&cuda.name, #name, #symbol) && !optional) { \
        *missing = #symbol;                                            \
        return 0;                                                      \
    }
    DRIVER_FUNCTIONS(X)
#undef X
    return 1;
}

/* Under the lock: gives the new state. */
static int open_driver(void)
{
    const char *missing = NULL;
    int error, version = 0;
    char text[100];
    cuda.library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (cuda.library == NULL)
        return refuse_driver(0, "there is no libcuda.so.1: no NVIDIA driver is installed here");
    if (!find_functions(&missing)) {
        tile_rt_append(text, sizeof text, 0, "the NVIDIA driver is too old: it has no %s", missing);
        return refuse_driver(0, text);
    }
    error = cuda.cuInit(0);
    if (error == CUDA_STUB_LIBRARY)
        return refuse_driver(error, "libcuda.so.1 is the toolkit's stub and not a driver: cuInit");
    if (error != CUDA_SUCCESS)
        return refuse_driver(error, "cuInit");
    error = cuda.cuDriverGetVersion(&version);
    if (error != CUDA_SUCCESS)
        return refuse_driver(error, "cuDriverGetVersion");
    cuda.libraries = version >= 12000 && cuda.cuLibraryLoadData != NULL && cuda.cuLibraryGetKernel != NULL &&
                     cuda.cuKernelGetFunction != NULL && cuda.cuKernelSetAttribute != NULL &&
                     cuda.cuLaunchKernelEx != NULL;
    tile_rt_say("driver for CUDA %d.%d", version / 1000, version % 1000 / 10);
    return 1;
}

static int use_driver(void)
{
    int state = __atomic_load_n(&cuda.state, __ATOMIC_ACQUIRE);
    if (__builtin_expect(state == 1, 1))
        return TILE_OK;
    if (state == 0) {
        tile_rt_settings(); /* which also watches for forks */
        pthread_mutex_lock(&cuda.lock);
        state = cuda.state;
        if (state == 0) {
            state = open_driver();
            __atomic_store_n(&cuda.state, state, __ATOMIC_RELEASE);
        }
        pthread_mutex_unlock(&cuda.lock);
    }
    if (state == 1)
        return TILE_OK;
    tile_rt_fail(cuda.status, "%s", cuda.text);
    tile_rt_set_cuda_error(cuda.cuda);
    return cuda.status;
}

void tile_rt_cuda_after_fork(void)
{
    tile_rt_lock_after_fork(&cuda.lock);
    if (cuda.state != 1)
        return;
    cuda.status = TILE_ERR_FORKED;
    cuda.cuda = CUDA_NOT_INITIALIZED;
    tile_rt_append(cuda.text, sizeof cuda.text, 0, "CUDA was used before fork(); use it first in the child, or exec");
    cuda.state = 2;
}

/* ---- where ------------------------------------------------------------------------------------------------------ */

static int fill_device(int device)
{
    struct device_row *row = &cuda.devices[device];
    int major = 0, minor = 0, sm_count = 0, shared = 0;
    int error = cuda.cuDeviceGetAttribute(&major, ATTRIBUTE_MAJOR, device);
    if (error == CUDA_SUCCESS)
        error = cuda.cuDeviceGetAttribute(&minor, ATTRIBUTE_MINOR, device);
    if (error == CUDA_SUCCESS)
        error = cuda.cuDeviceGetAttribute(&sm_count, ATTRIBUTE_SM_COUNT, device);
    if (error == CUDA_SUCCESS)
        error = cuda.cuDeviceGetAttribute(&shared, ATTRIBUTE_SHARED_OPTIN, device);
    if (error != CUDA_SUCCESS)
        return tile_rt_cuda_fail("tile_rt", "cuDeviceGetAttribute", error);
    pthread_mutex_lock(&cuda.lock);
    if (!row->ready) {
        row->architecture = 10 * major + minor;
        row->sm_count = sm_count;
        row->shared_optin = shared;
        __atomic_store_n(&row->ready, 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&cuda.lock);
    return TILE_OK;
}

/* Device of a context, without leaving another one current. */
static int context_device(void *context, int *device)
{
    void *current = NULL, *popped;
    int error = cuda.cuCtxGetCurrent(&current), pop_error;
    if (error != CUDA_SUCCESS)
        return error;
    if (current == context)
        return cuda.cuCtxGetDevice(device);
    error = cuda.cuCtxPushCurrent(context);
    if (error != CUDA_SUCCESS)
        return error;
    error = cuda.cuCtxGetDevice(device);
    pop_error = cuda.cuCtxPopCurrent(&popped);
    return error != CUDA_SUCCESS ? error : pop_error;
}

/* TILE_AUTO_INIT: the primary context of device 0 becomes this thread's current one, as cudart would do. */
static int begin_primary(void **context)
{
    int error = cuda.cuDevicePrimaryCtxRetain(context, 0);
    return error != CUDA_SUCCESS ? error : cuda.cuCtxPushCurrent(*context);
}

static int find_context(struct CUstream_st *stream, void **context)
{
    int error = cuda.cuStreamGetCtx(stream, context);
    if (__builtin_expect(error == CUDA_SUCCESS && *context != NULL, 1))
        return TILE_OK;
    if (error == CUDA_SUCCESS)
        error = CUDA_INVALID_CONTEXT;
    if (error == CUDA_INVALID_CONTEXT && stream == NULL && tile_rt_settings()->auto_init) {
        error = begin_primary(context);
        if (error == CUDA_SUCCESS)
            return TILE_OK;
        return tile_rt_cuda_fail("tile_rt", "the primary context of device 0", error);
    }
    if (error == CUDA_INVALID_CONTEXT) {
        tile_rt_fail(TILE_ERR_NO_CONTEXT,
                     "no CUDA context is current in this thread and the stream has none; make one, or set "
                     "TILE_AUTO_INIT=1");
        tile_rt_set_cuda_error(error);
        return TILE_ERR_NO_CONTEXT;
    }
    return tile_rt_cuda_fail("tile_rt", "cuStreamGetCtx", error);
}

static int context_id(void *context, uint64_t *id)
{
    unsigned long long value = 0;
    int error;
    if (cuda.cuCtxGetId == NULL) {
        *id = (uint64_t)(uintptr_t)context;
        return TILE_OK;
    }
    error = cuda.cuCtxGetId(context, &value);
    *id = value;
    return error == CUDA_SUCCESS ? TILE_OK : tile_rt_cuda_fail("tile_rt", "cuCtxGetId", error);
}

int tile_rt_cuda_place(struct CUstream_st *stream, int *device)
{
    void *context = NULL;
    uint64_t id;
    int status = use_driver(), error;
    if (status == TILE_OK)
        status = find_context(stream, &context);
    if (status == TILE_OK)
        status = context_id(context, &id);
    if (status != TILE_OK)
        return status;
    if (__builtin_expect(!last_context.known || last_context.id != id, 0)) {
        int number = -1;
        error = context_device(context, &number);
        if (error != CUDA_SUCCESS)
            return tile_rt_cuda_fail("tile_rt", "cuCtxGetDevice", error);
        if (number < 0 || number >= MAX_DEVICES)
            return tile_rt_fail(TILE_ERR_DRIVER, "device %d is beyond the %d that tile_rt knows", number, MAX_DEVICES);
        last_context.id = id;
        last_context.device = number;
        last_context.known = 1;
    }
    *device = last_context.device;
    if (!__atomic_load_n(&cuda.devices[*device].ready, __ATOMIC_ACQUIRE))
        return fill_device(*device);
    return TILE_OK;
}

uint64_t tile_rt_cuda_context(void) { return last_context.id; }

int tile_rt_cuda_relax(int mode)
{
    cuda.cuThreadExchangeStreamCaptureMode(&mode);
    return mode;
}

/* ---- which code ------------------------------------------------------------------------------------------------- */

/* How well code for the target suits the device; 0: not at all. */
static int suits(const struct tile_rt_target *target, int architecture)
{
    int own = (int)target->architecture;
    if (target->kind == TILE_RT_TARGET_ptx &&
        target->suffix == 0) /* before any other code only where there is no other */
        return own <= architecture && !tile_rt_settings()->disable_ptx ? own : 0;
    if (target->kind == TILE_RT_TARGET_ptx && tile_rt_settings()->disable_ptx)
        return 0;
    if (target->kind == TILE_RT_TARGET_cpu || own / 10 != architecture / 10 || own > architecture)
        return 0;
    if (target->suffix == 'a')
        return own != architecture ? 0 : target->kind == TILE_RT_TARGET_ptx ? 500 : 3000;
    if (target->kind == TILE_RT_TARGET_ptx)
        return 300 + own;
    return (target->suffix == 'f' ? 2000 : 1000) + own;
}

TILE_RT_COLD static int fail_no_target(const struct tile_rt_call *call, const char *forced)
{
    char targets[200];
    int architecture = cuda.devices[call->device].architecture;
    tile_rt_list_targets(call->kernel, targets, sizeof targets);
    if (forced != NULL)
        return tile_rt_fail(TILE_ERR_ENVIRONMENT, "%s: TILE_FORCE_ARCH=%s: the object holds %s; device %d is sm_%d",
                            call->kernel->name, forced, targets, call->device, architecture);
    return tile_rt_fail(TILE_ERR_NO_IMAGE, "%s: the object holds code for %s; device %d is sm_%d", call->kernel->name,
                        targets, call->device, architecture);
}

int tile_rt_cuda_target(struct tile_rt_call *call)
{
    const struct tile_rt_kernel *kernel = call->kernel;
    const struct device_row *row = &cuda.devices[call->device];
    const char *forced = tile_rt_settings()->architecture;
    int best = 0;
    uint32_t i;
    call->sm_count = row->sm_count;
    for (i = 0; i < kernel->target_count; i++) {
        int score = suits(&kernel->targets[i], row->architecture);
        if (score > best && (forced == NULL || strcmp(forced, kernel->targets[i].name) == 0)) {
            best = score;
            call->target = &kernel->targets[i];
        }
    }
    return call->target != NULL ? TILE_OK : fail_no_target(call, forced);
}

/* ---- loading ---------------------------------------------------------------------------------------------------- */

static uint64_t device_bit(int device) { return (uint64_t)1 << device; }

/* Under the lock.  Attributes are a device's, for a CUkernel, or a function's. */
static int set_attributes(const struct tile_rt_call *call, void *kernel, void *function)
{
    const struct tile_rt_variant *variant = call->variant;
    int error = CUDA_SUCCESS, attribute, value;
    for (attribute = 0; attribute < 2 && error == CUDA_SUCCESS; attribute++) {
        int which = attribute == 0 ? FUNCTION_DYNAMIC_SHARED : FUNCTION_NON_PORTABLE_CLUSTER;
        value = attribute == 0 ? variant->dynamic_shared : 1;
        if (attribute == 0 ? value == 0 : variant->cluster <= 8)
            continue;
        error = kernel != NULL ? cuda.cuKernelSetAttribute(which, value, kernel, call->device)
                               : cuda.cuFuncSetAttribute(function, which, value);
    }
    return error;
}

static struct launch_attribute *add_attribute(struct launch_config *config, int id)
{
    struct launch_attribute *attribute = &config->attributes[config->attribute_count++];
    memset(attribute, 0, sizeof *attribute);
    attribute->id = id;
    return attribute;
}

/* Where several blocks fit on a multiprocessor, the driver's own policy puts those of a cluster side by side and leaves other
 * multiprocessors idle: 16 rows by 8192 x 8192 4-bit weights in clusters of 8 took 30 us on an H200, and 25 by this one. */
static void configure(const struct tile_rt_variant *variant, unsigned blocks, struct launch_config *config,
                      struct launch_attribute *attributes)
{
    config->grid[0] = blocks;
    config->block[0] = (unsigned)variant->threads;
    config->grid[1] = config->grid[2] = config->block[1] = config->block[2] = 1;
    config->shared_bytes = (unsigned)variant->dynamic_shared;
    config->stream = NULL;
    config->attributes = attributes;
    config->attribute_count = 0;
    if (variant->cluster > 1) {
        struct launch_attribute *attribute = add_attribute(config, LAUNCH_CLUSTER);
        attribute->value.cluster[0] = (unsigned)variant->cluster;
        attribute->value.cluster[1] = attribute->value.cluster[2] = 1;
        if (variant->persistent <= 0)
            add_attribute(config, LAUNCH_CLUSTER_POLICY)->value.number = CLUSTER_POLICY_BALANCE;
    }
}

/* Under the lock.  A cluster stays within a group of multiprocessors, which may be no multiple of it: on an H200 there are
 * 132 multiprocessors, and room for 30 clusters of 4.  Blocks that have to wait for others to end would double the time of
 * a persistent kernel. */
static void count_clusters(const struct tile_rt_call *call, struct record *record, void *function)
{
    const struct tile_rt_variant *variant = call->variant;
    struct launch_attribute attributes[MAX_ATTRIBUTES];
    struct launch_config config;
    int clusters = 0;
    if (variant->cluster < 2 || variant->persistent <= 0 || cuda.cuOccupancyMaxActiveClusters == NULL)
        return;
    configure(variant, (unsigned)variant->cluster, &config, attributes);
    if (cuda.cuOccupancyMaxActiveClusters(&clusters, function, &config) == CUDA_SUCCESS && clusters <= UINT16_MAX)
        __atomic_store_n(&record->clusters[call->device], (uint16_t)clusters, __ATOMIC_RELAXED);
}

/* The step and its error; CUDA_SUCCESS when record->kernel is ready on the device. */
static int load_library(const struct tile_rt_call *call, struct record *record, const char **step)
{
    void *library = NULL, *kernel = record->kernel, *function = NULL;
    int option = LIBRARY_BINARY_IS_PRESERVED, value = 1, error = CUDA_SUCCESS;
    unsigned preserved = call->target->kind == TILE_RT_TARGET_cuda; /* PTX is compiled at once */
    void *values[1];
    values[0] = &value;
    if (kernel == NULL) {
        *step = "cuLibraryLoadData";
        error = cuda.cuLibraryLoadData(&library, call->variant->image, NULL, NULL, 0, &option, values, preserved);
        if (error == CUDA_SUCCESS) {
            *step = "cuLibraryGetKernel";
            error = cuda.cuLibraryGetKernel(&kernel, library, call->variant->symbol);
        }
        if (error != CUDA_SUCCESS) {
            if (library != NULL && cuda.cuLibraryUnload != NULL)
                cuda.cuLibraryUnload(library);
            return error;
        }
        record->library = library;
        record->kernel = kernel;
    }
    *step = "cuKernelSetAttribute";
    error = set_attributes(call, kernel, NULL);
    if (error != CUDA_SUCCESS)
        return error;
    /* Libraries load lazily; a capture may not be the first to need the code on the device. */
    *step = "cuKernelGetFunction";
    error = cuda.cuKernelGetFunction(&function, kernel);
    if (error == CUDA_SUCCESS)
        error = cuda.cuFuncGetAttribute(&value, FUNCTION_REGISTERS, function);
    if (error == CUDA_SUCCESS)
        count_clusters(call, record, function);
    if (error == CUDA_SUCCESS)
        __atomic_or_fetch(&record->ready, device_bit(call->device), __ATOMIC_RELEASE);
    return error;
}

static int load_module(const struct tile_rt_call *call, struct record *record, void *place, uint64_t context,
                       const char **step)
{
    struct module_function *entry = calloc(1, sizeof *entry);
    void *module = NULL;
    int error;
    *step = "cuModuleLoadData";
    if (entry == NULL)
        return CUDA_OUT_OF_MEMORY;
    error = cuda.cuModuleLoadData(&module, call->variant->image);
    if (error == CUDA_SUCCESS) {
        *step = "cuModuleGetFunction";
        error = cuda.cuModuleGetFunction(&entry->function, module, call->variant->symbol);
    }
    if (error == CUDA_SUCCESS) {
        *step = "cuFuncSetAttribute";
        error = set_attributes(call, NULL, entry->function);
    }
    if (error != CUDA_SUCCESS) {
        if (module != NULL)
            cuda.cuModuleUnload(module);
        free(entry);
        return error;
    }
    count_clusters(call, record, entry->function);
    entry->module = module;
    entry->place = place;
    entry->context = context;
    entry->next = record->functions;
    __atomic_store_n(&record->functions, entry, __ATOMIC_RELEASE);
    return CUDA_SUCCESS;
}

static void *find_function(struct record *record, uint64_t context)
{
    struct module_function *entry = __atomic_load_n(&record->functions, __ATOMIC_ACQUIRE);
    while (entry != NULL && entry->context != context)
        entry = entry->next;
    return entry != NULL ? entry->function : NULL;
}

TILE_RT_COLD static int fail_load(const struct tile_rt_call *call, struct record *record, const char *step, int error)
{
    char driver_text[300];
    int status = tile_rt_cuda_fail(call->kernel->name, step, error), kept;
    if (status == TILE_ERR_CAPTURE) {
        tile_rt_fail(TILE_ERR_CAPTURE,
                     "%s: its first use is inside a stream capture; call %s() before the capture begins",
                     call->kernel->name, call->kernel->load_name);
        tile_rt_set_cuda_error(error);
        return status;
    }
    tile_rt_append(driver_text, sizeof driver_text, 0, "%s", tile_last_error());
    if (status == TILE_ERR_BAD_IMAGE)
        tile_rt_fail(status, "%s; the code for %s (%llu bytes) on device %d", driver_text, call->target->name,
                     (unsigned long long)call->variant->image_size, call->device);
    tile_rt_set_cuda_error(error);
    kept = status == TILE_ERR_BAD_IMAGE || status == TILE_ERR_DRIVER;
    if (kept) { /* under the lock; read by others only after `failed` */
        record->status = status;
        record->cuda_error = error;
        tile_rt_append(record->text, sizeof record->text, 0, "%s", tile_last_error());
        __atomic_or_fetch(&record->failed, device_bit(call->device), __ATOMIC_RELEASE);
    }
    return status;
}

/* Under the lock. */
static int load_variant(const struct tile_rt_call *call, struct record **result, void **function)
{
    struct record *record = call->variant->state->record;
    const char *step = "";
    uint64_t context = 0;
    void *current = NULL;
    int error, mode = CAPTURE_RELAXED;
    if (record == NULL) {
        record = calloc(1, sizeof *record);
        if (record == NULL)
            return tile_rt_fail(TILE_ERR_OOM, "%s: no memory on the host", call->kernel->name);
        __atomic_store_n(&call->variant->state->record, record, __ATOMIC_RELEASE);
        tile_rt_keep_loaded(call->variant->image); /* the driver reads it again for each new context */
    }
    *result = record;
    if (record->failed & device_bit(call->device)) {
        tile_rt_fail(record->status, "%s", record->text);
        tile_rt_set_cuda_error(record->cuda_error);
        return record->status;
    }
    if (!cuda.libraries) {
        error = cuda.cuCtxGetCurrent(&current);
        if (error != CUDA_SUCCESS)
            return tile_rt_cuda_fail(call->kernel->name, "cuCtxGetCurrent", error);
        if (context_id(current, &context) != TILE_OK)
            return TILE_ERR_DRIVER;
        *function = find_function(record, context);
        if (*function != NULL)
            return TILE_OK;
    } else if (record->ready & device_bit(call->device)) {
        *function = record->kernel;
        return TILE_OK;
    }
    /* A capture in this thread, or a global one in another, forbids loading unless this thread says that it knows. */
    cuda.cuThreadExchangeStreamCaptureMode(&mode);
    error = cuda.libraries ? load_library(call, record, &step) : load_module(call, record, current, context, &step);
    cuda.cuThreadExchangeStreamCaptureMode(&mode);
    if (error != CUDA_SUCCESS)
        return fail_load(call, record, step, error);
    *function = cuda.libraries ? record->kernel : find_function(record, context);
    tile_rt_say("%s: loaded variant %u for %s on device %d (sm_%d)%s", call->kernel->name,
                (unsigned)call->variant_index, call->target->name, call->device,
                cuda.devices[call->device].architecture,
                call->target->kind == TILE_RT_TARGET_ptx ? ", compiled here by the driver" : "");
    return TILE_OK;
}

/* The CUkernel or CUfunction of call->variant, ready on the device; the current context is the stream's where that
 * matters. */
static int ready_function(const struct tile_rt_call *call, void **function)
{
    struct record *record = __atomic_load_n(&call->variant->state->record, __ATOMIC_ACQUIRE);
    int status;
    if (__builtin_expect(record != NULL && cuda.libraries &&
                             (__atomic_load_n(&record->ready, __ATOMIC_ACQUIRE) & device_bit(call->device)),
                         1)) {
        *function = record->kernel;
        return TILE_OK;
    }
    if (call->variant->dynamic_shared + call->variant->static_shared > cuda.devices[call->device].shared_optin)
        return tile_rt_fail(TILE_ERR_NO_IMAGE, "%s: needs %d bytes of shared memory a block; device %d has %d",
                            call->kernel->name, call->variant->dynamic_shared + call->variant->static_shared,
                            call->device, cuda.devices[call->device].shared_optin);
    pthread_mutex_lock(&cuda.lock);
    status = load_variant(call, &record, function);
    pthread_mutex_unlock(&cuda.lock);
    return status;
}

int tile_rt_cuda_load(struct tile_rt_call *call)
{
    void *function;
    return ready_function(call, &function);
}

/* Modules belong to contexts; one whose context is gone went with it. */
static int unload_modules(struct record *record)
{
    struct module_function *entry = record->functions;
    int error = CUDA_SUCCESS;
    __atomic_store_n(&record->functions, NULL, __ATOMIC_RELEASE);
    while (entry != NULL) {
        struct module_function *next = entry->next;
        void *popped;
        if (cuda.cuCtxPushCurrent(entry->place) == CUDA_SUCCESS) {
            int ended = cuda.cuModuleUnload(entry->module);
            error = error == CUDA_SUCCESS ? ended : error;
            cuda.cuCtxPopCurrent(&popped);
        }
        free(entry);
        entry = next;
    }
    return error;
}

/* Under the lock. */
static int unload_variant(struct record *record)
{
    void *library = record->library;
    int error = unload_modules(record), ended = CUDA_SUCCESS;
    __atomic_store_n(&record->ready, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&record->failed, 0, __ATOMIC_RELEASE);
    record->library = record->kernel = NULL;
    if (library != NULL && cuda.cuLibraryUnload != NULL)
        ended = cuda.cuLibraryUnload(library);
    error = error == CUDA_SUCCESS ? ended : error;
    return error == CUDA_DEINITIALIZED ? CUDA_SUCCESS : error;
}

int tile_rt_cuda_unload(const struct tile_rt_kernel *kernel)
{
    int error = CUDA_SUCCESS;
    uint32_t t, v;
    if (__atomic_load_n(&cuda.state, __ATOMIC_ACQUIRE) != 1)
        return TILE_OK; /* nothing was loaded */
    pthread_mutex_lock(&cuda.lock);
    for (t = 0; t < kernel->target_count; t++)
        for (v = 0; v < kernel->targets[t].variant_count; v++) {
            struct tile_rt_state *state = kernel->targets[t].variants[v].state;
            struct record *record = state != NULL ? state->record : NULL;
            int ended = record != NULL ? unload_variant(record) : CUDA_SUCCESS;
            error = error == CUDA_SUCCESS ? ended : error;
        }
    pthread_mutex_unlock(&cuda.lock);
    return error == CUDA_SUCCESS ? TILE_OK : tile_rt_cuda_fail(kernel->name, "unloading", error);
}

/* ---- tensor maps ------------------------------------------------------------------------------------------------ */

int tile_rt_cuda_encode(struct tile_rt_tensor_map *made, const struct tile_rt_map *map, uint64_t address,
                        const uint64_t *extents, const uint64_t *strides)
{
    static const uint32_t steps[TILE_RT_MAP_RANK] = {1, 1, 1, 1, 1};
    static const uint8_t types[TILE_RT_TYPE_COUNT] = {
        [TILE_RT_TYPE_bool] = 0,   [TILE_RT_TYPE_i8] = 0,  [TILE_RT_TYPE_u8] = 0,      [TILE_RT_TYPE_f8e4m3] = 0,
        [TILE_RT_TYPE_f8e5m2] = 0, [TILE_RT_TYPE_u16] = 1, [TILE_RT_TYPE_i16] = 1,     [TILE_RT_TYPE_u32] = 2,
        [TILE_RT_TYPE_i32] = 3,    [TILE_RT_TYPE_u64] = 4, [TILE_RT_TYPE_pointer] = 4, [TILE_RT_TYPE_i64] = 5,
        [TILE_RT_TYPE_f16] = 6,    [TILE_RT_TYPE_f32] = 7, [TILE_RT_TYPE_f64] = 8,     [TILE_RT_TYPE_bf16] = 9,
    };
    int mode = map->swizzle == 128 ? 3 : map->swizzle == 64 ? 2 : map->swizzle == 32 ? 1 : 0;
    int type = map->flags & TILE_RT_MAP_ROUNDS ? MAP_TF32 : types[map->type];
    if (cuda.cuTensorMapEncodeTiled == NULL)
        return -1;
    return cuda.cuTensorMapEncodeTiled(made, type, map->rank, (void *)(uintptr_t)address, extents, strides, map->box,
                                       steps, MAP_INTERLEAVE_NONE, mode, MAP_PROMOTION_256_BYTES, MAP_ZEROS_BEYOND);
}

/* ---- launching -------------------------------------------------------------------------------------------------- */

/* What a device has nothing like is left out: it could only make the launch sooner.  So is overlap for code of earlier
 * architectures (PTX that the driver compiled): that does not wait for what it reads. */
TILE_RT_COLD static void add_options(const struct tile_rt_call *call, struct launch_config *config)
{
    if ((call->options->flags & TILE_LAUNCH_OVERLAP) != 0 && (int)call->target->architecture >= OVERLAP_SINCE)
        add_attribute(config, LAUNCH_OVERLAP)->value.number = 1;
    if (call->options->priority != 0)
        add_attribute(config, LAUNCH_PRIORITY)->value.number = call->options->priority;
}

static int launch_blocks(const struct tile_rt_call *call, void *function, struct CUstream_st *stream, unsigned blocks,
                         void **parameters)
{
    const struct tile_rt_variant *variant = call->variant;
    struct launch_config config;
    struct launch_attribute attributes[MAX_ATTRIBUTES];
    if (cuda.cuLaunchKernelEx == NULL)
        return variant->cluster > 1 || call->options != NULL
                   ? CUDA_NOT_SUPPORTED
                   : cuda.cuLaunchKernel(function, blocks, 1, 1, (unsigned)variant->threads, 1, 1,
                                         (unsigned)variant->dynamic_shared, stream, parameters, NULL);
    configure(variant, blocks, &config, attributes);
    config.stream = stream;
    if (__builtin_expect(call->options != NULL, 0))
        add_options(call, &config);
    return cuda.cuLaunchKernelEx(&config, function, parameters, NULL);
}

/* Blocks of a persistent kernel that run at the same time. */
static int64_t count_persistent(const struct tile_rt_call *call, int64_t cluster)
{
    const struct tile_rt_variant *variant = call->variant;
    const struct record *record = __atomic_load_n(&variant->state->record, __ATOMIC_ACQUIRE);
    int64_t most = (int64_t)variant->persistent * call->sm_count / cluster, there;
    /* another thread may load the same code for another context of the device */
    there = __atomic_load_n(&record->clusters[call->device], __ATOMIC_RELAXED);
    if (cluster > 1 && there > 0 && there < most)
        most = there;
    return most < 1 ? cluster : most * cluster;
}

/* The programs, and those that clusters of neighbours along one dimension leave room for: along which the code knows alone,
 * so that it is the dimension where they are most.  Two rounds of clusters take twice as long as one. */
static int64_t count_in_clusters(const struct tile_rt_call *call, int64_t cluster)
{
    const uint64_t *size = call->slots + call->kernel->slot_count;
    int64_t most = call->programs;
    unsigned d;
    for (d = 0; d < call->kernel->grid_rank && call->programs < MAX_BLOCKS; d++) {
        int64_t along = (int64_t)size[d], all = call->programs / along * ((along + cluster - 1) / cluster * cluster);
        most = all > most ? all : most;
    }
    return most;
}

/* How many blocks the grid gets from program `base` on, and how many programs that leaves behind. */
static int64_t count_blocks(const struct tile_rt_call *call, int64_t base, int64_t *covered)
{
    const struct tile_rt_variant *variant = call->variant;
    int64_t cluster = variant->cluster > 1 ? variant->cluster : 1;
    int64_t together = variant->persistent < 0 ? -(int64_t)variant->persistent : 1;
    int64_t most = MAX_BLOCKS / (cluster * together) * (cluster * together); /* no launch ends within a block */
    int64_t blocks = *covered = call->programs - base;
    if (variant->persistent > 0) {
        most = count_persistent(call, cluster);
        blocks = blocks < most && cluster > 1 ? count_in_clusters(call, cluster) : blocks;
        blocks = blocks < most ? blocks : most;
    } else if (blocks > most) {
        blocks = *covered = most;
    }
    blocks = (blocks + together - 1) / together;
    return (blocks + cluster - 1) / cluster * cluster; /* blocks without a program end at once */
}

/* All the programs, in as many launches as the limit of the grid needs. */
static int launch_all(struct tile_rt_call *call, void *function, struct CUstream_st *stream)
{
    const struct tile_rt_variant *variant = call->variant;
    uint64_t *program_base = &call->slots[call->kernel->slot_count + call->kernel->grid_rank];
    void *parameters[1 + TILE_RT_MAX_MAPS];
    int64_t base, covered;
    int i;
    parameters[0] = call->slots;
    for (i = 0; i < variant->map_count; i++)
        parameters[1 + i] = &call->maps[i];
    for (base = 0; base < call->programs; base += covered) {
        int64_t blocks = count_blocks(call, base, &covered);
        int error;
        *program_base = (uint64_t)base;
        error = launch_blocks(call, function, stream, (unsigned)blocks, parameters);
        if (error != CUDA_SUCCESS)
            return tile_rt_cuda_fail(call->kernel->name, "cuLaunchKernelEx", error);
    }
    if (__builtin_expect(call->settings->device_sync, 0)) {
        int error = cuda.cuStreamSynchronize(stream);
        if (error != CUDA_SUCCESS)
            return tile_rt_cuda_fail(call->kernel->name, "cuStreamSynchronize", error);
    }
    return TILE_OK;
}

/* The same with memory for the kernel's scratch. */
static int launch_programs(struct tile_rt_call *call, void *function, struct CUstream_st *stream)
{
    struct tile_rt_workspace workspace;
    int status;
    if (call->kernel->scratch_count == 0)
        return launch_all(call, function, stream);
    status = tile_rt_workspace_begin(call, stream, &workspace);
    if (status != TILE_OK)
        return status;
    return tile_rt_workspace_end(call, stream, &workspace, launch_all(call, function, stream));
}

/* ---- a call ----------------------------------------------------------------------------------------------------- */

static int launch_and_report(struct tile_rt_call *call, void *function, struct CUstream_st *stream)
{
    struct tile_rt_mailbox *mailbox = NULL;
    int status = tile_rt_mailbox_begin(call, &mailbox);
    if (status != TILE_OK)
        return status;
    return tile_rt_mailbox_end(call, stream, mailbox, launch_programs(call, function, stream));
}

/* A driver without libraries loads into the current context, so the stream's becomes current for the time of the call;
 * so it does where a kernel is first brought to a device, and where it reports or has scratch. */
static int launch_in_context(struct tile_rt_call *call, struct CUstream_st *stream)
{
    void *context = NULL, *current = NULL, *function, *popped;
    int status = find_context(stream, &context), error;
    if (status != TILE_OK)
        return status;
    error = cuda.cuCtxGetCurrent(&current);
    if (error == CUDA_SUCCESS && current != context)
        error = cuda.cuCtxPushCurrent(context);
    if (error != CUDA_SUCCESS)
        return tile_rt_cuda_fail(call->kernel->name, "cuCtxPushCurrent", error);
    status = ready_function(call, &function);
    if (status == TILE_OK)
        status = call->kernel->reports ? launch_and_report(call, function, stream)
                                       : launch_programs(call, function, stream);
    if (current != context)
        cuda.cuCtxPopCurrent(&popped);
    return status;
}

int tile_rt_cuda_launch(struct tile_rt_call *call, struct CUstream_st *stream)
{
    struct record *record = __atomic_load_n(&call->variant->state->record, __ATOMIC_ACQUIRE);
    if (__builtin_expect(cuda.libraries && record != NULL && !call->kernel->reports &&
                             call->kernel->scratch_count == 0 &&
                             (__atomic_load_n(&record->ready, __ATOMIC_ACQUIRE) & device_bit(call->device)),
                         1))
        return launch_all(call, record->kernel, stream);
    return launch_in_context(call, stream);
}
