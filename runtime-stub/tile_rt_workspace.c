/* SPDX-License-Identifier: MIT
 *
 * The memory that launches have for themselves (`scratch`): who gives it, and what fills it.
 *
 * A program that cares gives it (tile_set_workspace): for one stream of one context, or for TILE_CPU in one thread.  Else
 * a launch on the processor takes it from malloc, and one on a stream from a pool of the device, in the order of the
 * stream: it is there when the kernel begins and free again behind it, the pool keeps what it has, and inside a stream
 * capture the graph owns it.  So no two launches that may run at a time share any, and nothing waits.
 *
 * Then each scratch that has an initial value is filled, on the stream.  Neighbours that are filled with zeros are filled
 * together. */
#include "tile_rt_internal.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    CUDA_SUCCESS = 0,
    CAPTURE_RELAXED = 2,
    POOL_RELEASE_THRESHOLD = 4, /* CU_MEMPOOL_ATTR_RELEASE_THRESHOLD */
    POOL_PINNED = 1,            /* CU_MEM_ALLOCATION_TYPE_PINNED */
    POOL_ON_DEVICE = 1,         /* CU_MEM_LOCATION_TYPE_DEVICE */
    STREAM_PER_THREAD = 2,      /* CU_STREAM_PER_THREAD */
    MAX_DEVICES = 64
};

struct pool_properties { /* CUmemPoolProps */
    int type, handles, place, device;
    void *security;
    char room[64];
};

/* name, its name for dlsym, parameters */
#define DRIVER_FUNCTIONS(X)                                                                                         \
    X(cuMemsetD8Async, cuMemsetD8Async, (uint64_t to, unsigned char value, size_t count, void *stream))             \
    X(cuMemsetD16Async, cuMemsetD16Async, (uint64_t to, unsigned short value, size_t count, void *stream))          \
    X(cuMemsetD32Async, cuMemsetD32Async, (uint64_t to, unsigned value, size_t count, void *stream))                \
    X(cuMemsetD2D32Async, cuMemsetD2D32Async,                                                                       \
      (uint64_t to, size_t pitch, unsigned value, size_t width, size_t height, void *stream))                       \
    X(cuMemPoolCreate, cuMemPoolCreate, (void **pool, const struct pool_properties *properties))                    \
    X(cuMemPoolSetAttribute, cuMemPoolSetAttribute, (void *pool, int attribute, void *value))                       \
    X(cuMemPoolDestroy, cuMemPoolDestroy, (void *pool))                                                             \
    X(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync, (uint64_t *memory, size_t bytes, void *pool, void *stream)) \
    X(cuMemFreeAsync, cuMemFreeAsync, (uint64_t memory, void *stream))

/* What a program gave for a stream; bytes 0: it took it back, and the row may be another stream's. */
struct workspace {
    pthread_mutex_t launch; /* held by a launch that has the memory until all of it is in the stream */
    struct workspace *next;
    uint64_t context;
    struct CUstream_st *stream;
    void *pointer;
    size_t bytes;
};

static struct {
    pthread_mutex_t lock;
    int ready; /* the functions were looked for */
    struct workspace *given;
    void *pools[MAX_DEVICES];
#define X(name, symbol, parameters) int(*name) parameters;
    DRIVER_FUNCTIONS(X)
#undef X
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Of this thread, for TILE_CPU. */
static __thread struct workspace on_processor;

void tile_rt_workspace_after_fork(void)
{
    tile_rt_lock_after_fork(&shared.lock);
    shared.given = NULL; /* whose locks somebody may hold, too */
}

/* ---- what a program gives --------------------------------------------------------------------------------------- */

/* Under the lock. */
static struct workspace *find_given(uint64_t context, const struct CUstream_st *stream)
{
    struct workspace *given = shared.given;
    while (given != NULL && (given->context != context || given->stream != stream))
        given = given->next;
    return given;
}

/* A row that was taken back, or a new one; NULL: there is no memory for it. */
static struct workspace *find_row(void)
{
    struct workspace *row = shared.given;
    while (row != NULL && row->bytes != 0)
        row = row->next;
    if (row != NULL)
        return row;
    row = calloc(1, sizeof *row);
    if (row != NULL) {
        pthread_mutex_init(&row->launch, NULL);
        row->next = shared.given;
        shared.given = row;
    }
    return row;
}

static int set_given(uint64_t context, struct CUstream_st *stream, void *pointer, size_t bytes)
{
    struct workspace *given;
    int status = TILE_OK;
    pthread_mutex_lock(&shared.lock);
    given = find_given(context, stream);
    if (given == NULL && bytes != 0) {
        given = find_row();
        if (given == NULL)
            status = tile_rt_fail(TILE_ERR_OOM, "tile_set_workspace: no memory on the host");
    }
    if (given != NULL && bytes != 0) {
        given->context = context;
        given->stream = stream;
    }
    if (given != NULL) {
        given->pointer = pointer;
        given->bytes = bytes;
    }
    pthread_mutex_unlock(&shared.lock);
    return status;
}

TILE_RT_PUBLIC int tile_set_workspace(struct CUstream_st *stream, void *pointer, size_t bytes)
{
    int device, status;
    if (pointer == NULL && bytes != 0)
        return tile_rt_fail(TILE_ERR_ARG, "tile_set_workspace: %zu bytes at NULL", bytes);
    if ((uintptr_t)pointer % TILE_RT_WORKSPACE_ALIGNMENT != 0)
        return tile_rt_fail(TILE_ERR_ARG, "tile_set_workspace: %p is not a multiple of %d", pointer,
                            (int)TILE_RT_WORKSPACE_ALIGNMENT);
    if ((uintptr_t)stream == STREAM_PER_THREAD && bytes != 0)
        return tile_rt_fail(TILE_ERR_ARG, "tile_set_workspace: CU_STREAM_PER_THREAD is another stream in each thread; "
                                          "give memory for a stream of your own");
    if (stream == TILE_CPU) {
        on_processor.pointer = pointer;
        on_processor.bytes = bytes;
        return TILE_OK;
    }
    status = tile_rt_cuda_place(stream, &device);
    return status != TILE_OK ? status : set_given(tile_rt_cuda_context(), stream, pointer, bytes);
}

/* What was given for the stream, with its lock: what fills the memory and the launch behind it are two things in the
 * stream, and another thread's must not come between them. */
static struct workspace *hold_given(struct CUstream_st *stream)
{
    struct workspace *found;
    pthread_mutex_lock(&shared.lock);
    found = find_given(tile_rt_cuda_context(), stream);
    pthread_mutex_unlock(&shared.lock); /* rows stay; a launch that holds one asks for this lock, too */
    if (found != NULL)
        pthread_mutex_lock(&found->launch);
    return found;
}

static void let_go(struct tile_rt_workspace *workspace)
{
    if (workspace->held != NULL)
        pthread_mutex_unlock(&workspace->held->launch);
    workspace->held = NULL;
}

/* Memory that was given for the stream; NULL: none was. */
static int take_given(const struct tile_rt_call *call, struct CUstream_st *stream, struct tile_rt_workspace *workspace)
{
    struct workspace *found = stream == TILE_CPU ? &on_processor : hold_given(stream);
    void *pointer = NULL;
    size_t bytes = 0;
    workspace->held = stream == TILE_CPU ? NULL : found;
    if (found != NULL) {
        pthread_mutex_lock(&shared.lock);
        if (stream == TILE_CPU || find_given(tile_rt_cuda_context(), stream) == found) { /* not another's by now */
            pointer = found->pointer;
            bytes = found->bytes;
        }
        pthread_mutex_unlock(&shared.lock);
    }
    workspace->memory = bytes != 0 ? pointer : NULL;
    if (bytes == 0)
        let_go(workspace);
    if (bytes == 0 || bytes >= call->workspace_bytes)
        return TILE_OK;
    return tile_rt_fail(TILE_ERR_ARG, "%s: needs %zu bytes of workspace, and tile_set_workspace gave %zu",
                        call->kernel->name, call->workspace_bytes, bytes);
}

/* ---- the driver ------------------------------------------------------------------------------------------------- */

/* Under the lock. */
static void find_functions(void)
{
    if (shared.ready)
        return;
#define X(name, symbol, parameters) tile_rt_cuda_find(&shared.name, #name, #symbol);
    DRIVER_FUNCTIONS(X)
#undef X
    shared.ready = 1;
}

/* Under the lock.  A pool of our own, since the device's gives back to the system what is free when a program waits. */
static int make_pool(int device)
{
    struct pool_properties properties;
    uint64_t keep = UINT64_MAX;
    void *pool = NULL;
    int error, mode;
    if (shared.pools[device] != NULL)
        return CUDA_SUCCESS;
    memset(&properties, 0, sizeof properties);
    properties.type = POOL_PINNED;
    properties.place = POOL_ON_DEVICE;
    properties.device = device;
    mode = tile_rt_cuda_relax(CAPTURE_RELAXED);
    error = shared.cuMemPoolCreate(&pool, &properties);
    if (error == CUDA_SUCCESS) {
        error = shared.cuMemPoolSetAttribute(pool, POOL_RELEASE_THRESHOLD, &keep);
        if (error != CUDA_SUCCESS && shared.cuMemPoolDestroy != NULL)
            shared.cuMemPoolDestroy(pool);
    }
    tile_rt_cuda_relax(mode);
    if (error == CUDA_SUCCESS)
        shared.pools[device] = pool;
    return error;
}

static int prepare_driver(const struct tile_rt_call *call, int pool)
{
    int there, error = CUDA_SUCCESS;
    pthread_mutex_lock(&shared.lock);
    find_functions();
    there = shared.cuMemsetD2D32Async != NULL;
    if (pool && there) {
        there = shared.cuMemPoolCreate != NULL && shared.cuMemFreeAsync != NULL;
        if (there)
            error = make_pool(call->device);
    }
    pthread_mutex_unlock(&shared.lock);
    if (!there)
        return tile_rt_fail(
            TILE_ERR_DRIVER,
            "%s: needs %zu bytes of workspace, and the driver, older than that of CUDA 11.2, has no pools "
            "of memory: call tile_set_workspace()",
            call->kernel->name, call->workspace_bytes);
    return error != CUDA_SUCCESS
               ? tile_rt_cuda_fail(call->kernel->name, "without tile_set_workspace(), cuMemPoolCreate", error)
               : TILE_OK;
}

static int take_from_pool(const struct tile_rt_call *call, struct CUstream_st *stream, void **memory)
{
    uint64_t there = 0;
    int error = shared.cuMemAllocFromPoolAsync(&there, call->workspace_bytes, shared.pools[call->device], stream);
    *memory = (void *)(uintptr_t)there;
    return error != CUDA_SUCCESS ? tile_rt_cuda_fail(call->kernel->name, "cuMemAllocFromPoolAsync", error) : TILE_OK;
}

/* ---- filling ---------------------------------------------------------------------------------------------------- */

static int fill_on_stream(uint64_t to, uint64_t fill, unsigned size, size_t count, struct CUstream_st *stream)
{
    uint32_t low = (uint32_t)fill, high = (uint32_t)(fill >> 32);
    int error;
    if (size == 1)
        return shared.cuMemsetD8Async(to, (unsigned char)fill, count, stream);
    if (size == 2)
        return shared.cuMemsetD16Async(to, (unsigned short)fill, count, stream);
    if (size == 4)
        return shared.cuMemsetD32Async(to, low, count, stream);
    if (low == high)
        return shared.cuMemsetD32Async(to, low, 2 * count, stream);
    error = shared.cuMemsetD2D32Async(to, 8, low, 1, count, stream);
    return error != CUDA_SUCCESS ? error : shared.cuMemsetD2D32Async(to + 4, 8, high, 1, count, stream);
}

static void fill_on_processor(unsigned char *to, uint64_t fill, unsigned size, size_t count)
{
    size_t i;
    if (fill == 0) {
        memset(to, 0, size * count);
        return;
    }
    for (i = 0; i < count; i++)
        memcpy(to + i * size, &fill, size); /* the low bytes first, on both kinds of processors */
}

static int fill_one(uint64_t to, uint64_t fill, unsigned size, size_t count, struct CUstream_st *stream)
{
    if (count == 0)
        return CUDA_SUCCESS;
    if (stream != TILE_CPU)
        return fill_on_stream(to, fill, size, count, stream);
    fill_on_processor((unsigned char *)(uintptr_t)to, fill, size, count);
    return CUDA_SUCCESS;
}

static int is_zeroed(const struct tile_rt_scratch *scratch) { return scratch->filled && scratch->fill == 0; }

static size_t count_elements(const struct tile_rt_call *call, const struct tile_rt_scratch *scratch)
{
    const uint64_t *extent = call->slots + scratch->slot + 1;
    size_t count = 1;
    unsigned d;
    for (d = 0; d < scratch->rank; d++)
        count *= (size_t)extent[d];
    return count;
}

static int fill_all(const struct tile_rt_call *call, struct CUstream_st *stream)
{
    const struct tile_rt_kernel *kernel = call->kernel;
    int error = CUDA_SUCCESS;
    uint32_t i, last;
    for (i = 0; i < kernel->scratch_count && error == CUDA_SUCCESS; i = last + 1) {
        const struct tile_rt_scratch *first = &kernel->scratch[i], *end;
        uint64_t begin = call->slots[first->slot];
        unsigned size = tile_rt_type_size(first->type);
        for (last = i; is_zeroed(first) && last + 1 < kernel->scratch_count && is_zeroed(first + (last + 1 - i));)
            last++;
        end = &kernel->scratch[last];
        if (last > i) {
            size_t bytes = count_elements(call, end) * tile_rt_type_size(end->type);
            error = fill_one(begin, 0, 1, (size_t)(call->slots[end->slot] - begin) + bytes, stream);
        } else if (first->filled) {
            error = fill_one(begin, first->fill, size, count_elements(call, first), stream);
        }
    }
    return error;
}

/* ---- a launch --------------------------------------------------------------------------------------------------- */

static int take_memory(const struct tile_rt_call *call, struct CUstream_st *stream, struct tile_rt_workspace *workspace)
{
    int status = take_given(call, stream, workspace);
    workspace->own = workspace->memory == NULL && call->workspace_bytes != 0;
    if (status == TILE_OK && stream != TILE_CPU) {
        status = prepare_driver(call, workspace->own);
        return status == TILE_OK && workspace->own ? take_from_pool(call, stream, &workspace->memory) : status;
    }
    if (status == TILE_OK && workspace->own &&
        posix_memalign(&workspace->memory, TILE_RT_WORKSPACE_ALIGNMENT, call->workspace_bytes) != 0)
        return tile_rt_fail(TILE_ERR_OOM, "%s: no memory for %zu bytes of workspace", call->kernel->name,
                            call->workspace_bytes);
    return status;
}

int tile_rt_workspace_begin(struct tile_rt_call *call, struct CUstream_st *stream, struct tile_rt_workspace *workspace)
{
    int error, status = take_memory(call, stream, workspace);
    uint32_t i;
    if (status != TILE_OK) {
        let_go(workspace);
        return status;
    }
    for (i = 0; i < call->kernel->scratch_count; i++)
        call->slots[call->kernel->scratch[i].slot] += (uint64_t)(uintptr_t)workspace->memory;
    error = fill_all(call, stream);
    if (error == CUDA_SUCCESS)
        return TILE_OK;
    return tile_rt_workspace_end(call, stream, workspace,
                                 tile_rt_cuda_fail(call->kernel->name, "cuMemsetAsync", error));
}

int tile_rt_workspace_end(const struct tile_rt_call *call, struct CUstream_st *stream,
                          struct tile_rt_workspace *workspace, int status)
{
    int error;
    let_go(workspace);
    if (!workspace->own)
        return status;
    if (stream == TILE_CPU) {
        free(workspace->memory);
        return status;
    }
    error = shared.cuMemFreeAsync((uint64_t)(uintptr_t)workspace->memory, stream);
    return status == TILE_OK && error != CUDA_SUCCESS ? tile_rt_cuda_fail(call->kernel->name, "cuMemFreeAsync", error)
                                                      : status;
}
