/* SPDX-License-Identifier: MIT
 *
 * Mailboxes: memory of the host that kernels with prints and checks on a device report to.  A call has one of its context
 * for itself and reads it when the stream is done; a captured launch keeps it, since its graph may run at any time, and
 * the next call of the kernel reads what the graph has said. */
#include "tile_rt_internal.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    CUDA_SUCCESS = 0,
    CUDA_OUT_OF_MEMORY = 2,
    CUDA_NOT_FOUND = 500,
    CAPTURE_RELAXED = 2,
    HOST_PORTABLE_AND_MAPPED = 3
};

/* name, its name for dlsym, parameters */
#define DRIVER_FUNCTIONS(X)                                                                                     \
    X(cuMemHostAlloc, cuMemHostAlloc, (void **memory, size_t bytes, unsigned flags))                            \
    X(cuMemHostGetDevicePointer, cuMemHostGetDevicePointer_v2, (uint64_t *there, void *memory, unsigned flags)) \
    X(cuPointerGetAttribute, cuPointerGetAttribute, (void *value, int attribute, uint64_t pointer))             \
    X(cuStreamSynchronize, cuStreamSynchronize, (void *stream))                                                 \
    X(cuStreamIsCapturing, cuStreamIsCapturing, (void *stream, int *capturing))

struct tile_rt_mailbox {
    struct tile_rt_mailbox *next;
    uint64_t context, there; /* there: its address for the device */
    uint64_t *words;
    size_t count;
    const struct tile_rt_kernel *kernel; /* who has it, NULL: nobody */
    int captured;
};

static struct {
    pthread_mutex_t lock;
    int ready; /* the functions were looked for */
    struct tile_rt_mailbox *first;
#define X(name, symbol, parameters) int(*name) parameters;
    DRIVER_FUNCTIONS(X)
#undef X
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER};

void tile_rt_mailbox_after_fork(void) { tile_rt_lock_after_fork(&shared.lock); }

/* Under the lock.  False: the driver lacks one that a report cannot do without. */
static int find_functions(void)
{
    if (!shared.ready) {
#define X(name, symbol, parameters) tile_rt_cuda_find(&shared.name, #name, #symbol);
        DRIVER_FUNCTIONS(X)
#undef X
        shared.ready = 1;
    }
    return shared.cuMemHostAlloc != NULL && shared.cuMemHostGetDevicePointer != NULL &&
           shared.cuStreamSynchronize != NULL && shared.cuStreamIsCapturing != NULL;
}

/* Under the lock.  What graphs of this kernel have reported since the last look: their prints are written, and the
 * status is that of a check that failed. */
static int read_captured(const struct tile_rt_kernel *kernel, uint64_t context)
{
    struct tile_rt_mailbox *mailbox;
    int status = TILE_OK;
    for (mailbox = shared.first; mailbox != NULL && status == TILE_OK; mailbox = mailbox->next)
        if (__atomic_load_n(&mailbox->captured, __ATOMIC_ACQUIRE) && mailbox->kernel == kernel &&
            mailbox->context == context)
            status = tile_rt_report_end(kernel, mailbox->words);
    return status;
}

/* Under the lock, the context being current. */
static int take_mailbox(const struct tile_rt_kernel *kernel, uint64_t context, struct tile_rt_mailbox **result)
{
    struct tile_rt_mailbox *mailbox = shared.first;
    size_t count = tile_rt_report_words(kernel);
    void *memory = NULL;
    int mode, error;
    while (mailbox != NULL && (__atomic_load_n(&mailbox->kernel, __ATOMIC_ACQUIRE) != NULL ||
                               mailbox->context != context || mailbox->count != count))
        mailbox = mailbox->next;
    if (mailbox == NULL) {
        mailbox = calloc(1, sizeof *mailbox);
        if (mailbox == NULL)
            return CUDA_OUT_OF_MEMORY;
        mode = tile_rt_cuda_relax(CAPTURE_RELAXED);
        error = shared.cuMemHostAlloc(&memory, count * sizeof *mailbox->words, HOST_PORTABLE_AND_MAPPED);
        if (error == CUDA_SUCCESS)
            error = shared.cuMemHostGetDevicePointer(&mailbox->there, memory, 0);
        tile_rt_cuda_relax(mode);
        if (error != CUDA_SUCCESS) {
            free(mailbox);
            return error;
        }
        mailbox->words = memset(memory, 0, count * sizeof *mailbox->words);
        mailbox->count = count;
        mailbox->context = context;
        mailbox->next = shared.first;
        shared.first = mailbox;
    }
    tile_rt_report_begin(mailbox->words, count);
    mailbox->kernel = kernel;
    *result = mailbox;
    return CUDA_SUCCESS;
}

int tile_rt_mailbox_begin(struct tile_rt_call *call, struct tile_rt_mailbox **mailbox)
{
    const struct tile_rt_kernel *kernel = call->kernel;
    int error = CUDA_SUCCESS, status;
    pthread_mutex_lock(&shared.lock);
    status = read_captured(kernel, tile_rt_cuda_context());
    if (status == TILE_OK)
        error = find_functions() ? take_mailbox(kernel, tile_rt_cuda_context(), mailbox) : CUDA_NOT_FOUND;
    pthread_mutex_unlock(&shared.lock);
    if (status != TILE_OK)
        return status;
    if (error != CUDA_SUCCESS)
        return tile_rt_cuda_fail(kernel->name, "cuMemHostAlloc", error);
    call->slots[kernel->slot_count - 1] = (*mailbox)->there;
    tile_rt_note_allocations(call, (*mailbox)->words, shared.cuPointerGetAttribute);
    return TILE_OK;
}

int tile_rt_mailbox_end(const struct tile_rt_call *call, struct CUstream_st *stream, struct tile_rt_mailbox *mailbox,
                        int status)
{
    int capturing = 0, error = shared.cuStreamIsCapturing(stream, &capturing);
    if (status == TILE_OK && (error != CUDA_SUCCESS || capturing != 0)) {
        __atomic_store_n(&mailbox->captured, 1, __ATOMIC_RELEASE);
        return TILE_OK;
    }
    if (status == TILE_OK) {
        error = shared.cuStreamSynchronize(stream);
        status = tile_rt_report_end(call->kernel, mailbox->words); /* of a launch that died, too: what it came to */
        if (error != CUDA_SUCCESS)
            status = tile_rt_cuda_fail(call->kernel->name, "cuStreamSynchronize", error);
    }
    __atomic_store_n(&mailbox->kernel, NULL, __ATOMIC_RELEASE);
    return status;
}
