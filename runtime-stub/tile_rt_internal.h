/* SPDX-License-Identifier: MIT
 *
 * What the files of the run time share and nobody else sees.
 *
 *   tile_rt.c          the entry points and the way of a launch through the others; statuses and texts
 *   tile_rt_check.c    arguments -> names, slots and facts, or a status: the same for every target
 *   tile_rt_overlap.c  do two views share a byte
 *   tile_rt_cuda.c     the driver: libcuda.so.1, contexts, devices, images, launches
 *   tile_rt_maps.c     tensor maps of views, and a thread's last ones
 *   tile_rt_record.c   the file that each of the next two writes
 *   tile_rt_profile.c  TILE_PROFILE: a record of each launch
 *   tile_rt_trace.c    TILE_TRACE: which calls are made, and how often
 *   tile_rt_mailbox.c  the memory that kernels on a device report to
 *   tile_rt_workspace.c  the memory that launches have for themselves
 *   tile_rt_allocation.c  where memory ends, for kernels with checks
 *   tile_rt_text.c     texts, made on little stack
 *   tile_rt_report.c   what kernels print, and which of their checks failed
 *   tile_rt_pool.c     the host's processor: instruction sets and a persistent pool of threads */
#ifndef TILE_RT_INTERNAL_H
#define TILE_RT_INTERNAL_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr, sched_getaffinity; so this header comes first */
#endif
#include "tile_rt.h"

#include <pthread.h>
#include <stdarg.h>
#include <sys/types.h>

#if defined(__GNUC__)
#define TILE_RT_HIDDEN __attribute__((visibility("hidden")))
/* Two libraries of a process may each hold a run time, of two versions even: what kernels call (ENTRY) is not seen outside
 * of the library that holds it, and what programs call (PUBLIC) is never another library's.  libtilert.so shows both. */
#ifdef TILE_RT_SHARED
#define TILE_RT_ENTRY
#define TILE_RT_PUBLIC
#else
#define TILE_RT_ENTRY TILE_RT_HIDDEN
#define TILE_RT_PUBLIC __attribute__((visibility("protected")))
#endif
#define TILE_RT_PRINTF(text, first) __attribute__((format(printf, text, first)))
#define TILE_RT_COLD __attribute__((cold, noinline))
#else
#error "tile_rt needs gcc or clang (atomic builtins, __thread)"
#endif

/* In the child of a fork: a thread that is not here may have held the lock. */
static inline void tile_rt_lock_after_fork(pthread_mutex_t *lock)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    *lock = fresh;
}

/* A CUtensorMap: its insides are the driver's. */
struct tile_rt_tensor_map {
    uint64_t words[16];
} __attribute__((aligned(64)));

/* A view in bytes: `low` to `high` (one past) covers all its elements; empty if low == high. */
struct tile_rt_range {
    uintptr_t low, high;
};

/* What of a call lies on the caller's stack, which may be a small one; what needs more gets it from malloc. */
enum { TILE_RT_FEW_WORDS = 64, TILE_RT_FEW_MAPS = 4 };

/* One call on its way: what is known of its arguments. */
struct tile_rt_call {
    const struct tile_rt_kernel *kernel;
    const void *const *arguments;
    const struct tile_rt_settings *settings;
    const struct tile_rt_target *target; /* chosen; NULL before */
    const struct tile_rt_variant *variant;
    uint32_t variant_index;
    int sm_count;
    int device;                                /* -1: the host's processor, or not known yet */
    const struct tile_launch_options *options; /* NULL: none; checked */
    uint64_t facts_known, facts_true;
    struct tile_rt_kept_choices *choices; /* what is known of them from earlier calls; NULL: none was asked for */
    int64_t programs;                     /* product of the grid */
    size_t workspace_bytes;               /* of the kernel's scratch, whose slots tell each view's place in it */
    int take_empty;                       /* maps of views without elements may be made */
    int any_choice;                    /* the caller has said which variant: what is about speed alone is not asked */
    int met_empty;                     /* a variant was passed over for the sake of such a view */
    int this_thread;                   /* with TILE_CPU: no other thread takes part */
    const struct tile_rt_map *refused; /* the last map that could not be made, and why; NULL: none */
    const char *refusal;
    uint64_t *slots; /* and behind them the grid and the first program; NULL before tile_rt_check_arguments */
    int64_t *names;
    struct tile_rt_range *ranges;    /* of the views, by parameter */
    struct tile_rt_tensor_map *maps; /* of the variant */
    uint64_t *large;                 /* where more than `few` is needed; NULL: nowhere.  Likewise large_maps */
    struct tile_rt_tensor_map *large_maps;
    uint16_t first_slot[TILE_RT_MAX_PARAMETERS];
    uint64_t few[TILE_RT_FEW_WORDS];
    struct tile_rt_tensor_map few_maps[TILE_RT_FEW_MAPS];
};

/* ---- tile_rt_text.c --------------------------------------------------------------------------------------------- */
/* Formats behind the first `used` bytes of text; gives the new length, never beyond the room. */
TILE_RT_HIDDEN size_t tile_rt_append(char *text, size_t room, size_t used, const char *format, ...)
    TILE_RT_PRINTF(4, 5);
TILE_RT_HIDDEN size_t tile_rt_append_list(char *text, size_t room, size_t used, const char *format, va_list list)
    TILE_RT_PRINTF(4, 0);

/* ---- tile_rt.c -------------------------------------------------------------------------------------------------- */
/* Keeps the text for tile_last_error and returns status. */
TILE_RT_HIDDEN int tile_rt_fail(int status, const char *format, ...) TILE_RT_PRINTF(2, 3);
TILE_RT_HIDDEN void tile_rt_set_cuda_error(int code);
/* Line on standard error under TILE_VERBOSE, else nothing. */
TILE_RT_HIDDEN void tile_rt_say(const char *format, ...) TILE_RT_PRINTF(1, 2);

/* What the environment asks for, read once. */
struct tile_rt_settings {
    int verbose, device_sync, auto_init, disable_ptx;
    const char *architecture, *variant, *isa, *threads, *profile, *trace, *print_bytes; /* NULL: not said */
    int records; /* launches are noted: `profile` or `trace` is there */
};
TILE_RT_HIDDEN const struct tile_rt_settings *tile_rt_settings(void);
/* The shared object that holds the address is not unloaded any more: threads run in it, or a driver reads it. */
TILE_RT_HIDDEN void tile_rt_keep_loaded(const void *address);
/* Appends the names of the targets that the kernel has code for: "sm_80, cpu-avx2". */
TILE_RT_HIDDEN void tile_rt_list_targets(const struct tile_rt_kernel *kernel, char *text, size_t size);

/* TILE_OK: the object was made for this run time. */
TILE_RT_HIDDEN int tile_rt_check_version(const struct tile_rt_kernel *kernel);

/* ---- tile_rt_check.c -------------------------------------------------------------------------------------------- */
/* Arguments to slots and names with every check that does not depend on the target. */
TILE_RT_HIDDEN int tile_rt_check_arguments(struct tile_rt_call *call);
/* First variant of call->target that fits; fills variant, grid slots and programs. */
TILE_RT_HIDDEN int tile_rt_choose_variant(struct tile_rt_call *call);
/* The same for the variant that the caller names. */
TILE_RT_HIDDEN int tile_rt_take_variant(struct tile_rt_call *call, int number);

/* Bytes of an element. */
TILE_RT_HIDDEN unsigned tile_rt_type_size(unsigned type);

/* ---- tile_rt_chosen.c ------------------------------------------------------------------------------------------- */
/* Whether the fact, which has a function, holds for the call. */
TILE_RT_HIDDEN int tile_rt_choice_holds(struct tile_rt_call *call, unsigned fact);

/* ---- tile_rt_overlap.c ------------------------------------------------------------------------------------------ */
/* View in slots ({data, extents, strides}) of present, checked extents; false: the addresses overflow. */
TILE_RT_HIDDEN int tile_rt_view_range(const uint64_t *view, unsigned rank, unsigned size, struct tile_rt_range *range);
/* May two elements of the view share a byte?  Says yes where it cannot tell. */
TILE_RT_HIDDEN int tile_rt_view_overlaps_itself(const uint64_t *view, unsigned rank);
/* Do two views whose ranges meet share a byte?  Exact up to a bound of work, beyond it yes. */
TILE_RT_HIDDEN int tile_rt_views_overlap(const uint64_t *a, unsigned rank_a, unsigned size_a, const uint64_t *b,
                                         unsigned rank_b, unsigned size_b);

/* ---- tile_rt_cuda.c --------------------------------------------------------------------------------------------- */
/* The device that the stream belongs to; *device is its number. */
TILE_RT_HIDDEN int tile_rt_cuda_place(struct CUstream_st *stream, int *device);
/* The kernel's code for call->device, and its number of multiprocessors. */
TILE_RT_HIDDEN int tile_rt_cuda_target(struct tile_rt_call *call);
/* Loads call->variant for call->device, in the current context where the driver has no context-free kernels. */
TILE_RT_HIDDEN int tile_rt_cuda_load(struct tile_rt_call *call);
TILE_RT_HIDDEN int tile_rt_cuda_unload(const struct tile_rt_kernel *kernel);
TILE_RT_HIDDEN int tile_rt_cuda_launch(struct tile_rt_call *call, struct CUstream_st *stream);

/* cuTensorMapEncodeTiled, without interleaving, every element, zeros beyond the extents; strides of dimensions 1 and up
 * in bytes.  The driver's error; -1: the driver is older than the function. */
TILE_RT_HIDDEN int tile_rt_cuda_encode(struct tile_rt_tensor_map *made, const struct tile_rt_map *map, uint64_t address,
                                       const uint64_t *extents, const uint64_t *strides);

/* What else of the driver is asked for: into a pointer to a function goes that of libcuda.so.1 by its name, or, where that
 * has no cuGetProcAddress, by its symbol.  False: there is none, and the pointer is NULL.  The id of this thread's last context.  A failure of the driver as status and text. */
TILE_RT_HIDDEN int tile_rt_cuda_find(void *function, const char *name, const char *symbol);
TILE_RT_HIDDEN uint64_t tile_rt_cuda_context(void);
TILE_RT_HIDDEN int tile_rt_cuda_fail(const char *kernel, const char *call, int error);
/* Lets this thread do for a moment what a capture elsewhere forbids; gives what to hand over at the end. */
TILE_RT_HIDDEN int tile_rt_cuda_relax(int mode);

/* In the child of a fork: CUDA, if it was in use, can not be used. */
TILE_RT_HIDDEN void tile_rt_cuda_after_fork(void);

/* ---- tile_rt_maps.c --------------------------------------------------------------------------------------------- */
/* Fills call->maps for the variant; 0: one can not be made (call->refused). */
TILE_RT_HIDDEN int tile_rt_make_maps(struct tile_rt_call *call, const struct tile_rt_variant *variant);

/* ---- tile_rt_mailbox.c ------------------------------------------------------------------------------------------ */

struct tile_rt_mailbox;
/* Gives the call of a kernel that reports a mailbox, in its last slot; the context is current.  A status. */
TILE_RT_HIDDEN int tile_rt_mailbox_begin(struct tile_rt_call *call, struct tile_rt_mailbox **mailbox);
/* Waits for the launch, whose status is given, and reads what it says, unless it is only recorded into a graph. */
TILE_RT_HIDDEN int tile_rt_mailbox_end(const struct tile_rt_call *call, struct CUstream_st *stream,
                                       struct tile_rt_mailbox *mailbox, int status);
TILE_RT_HIDDEN void tile_rt_mailbox_after_fork(void);

/* ---- tile_rt_workspace.c ---------------------------------------------------------------------------------------- */
enum { TILE_RT_WORKSPACE_ALIGNMENT = 256 };
struct workspace;
struct tile_rt_workspace {
    void *memory;
    int own;                /* to be given back */
    struct workspace *held; /* given for the stream: no other launch uses it until ours is in the stream; or NULL */
};
/* Finds the memory, completes the slots and fills what is to be filled, on the stream in whose context we are. */
TILE_RT_HIDDEN int tile_rt_workspace_begin(struct tile_rt_call *call, struct CUstream_st *stream,
                                           struct tile_rt_workspace *workspace);
/* Gives the memory back behind the launch, which has this status, and gives that or what goes wrong then. */
TILE_RT_HIDDEN int tile_rt_workspace_end(const struct tile_rt_call *call, struct CUstream_st *stream,
                                         struct tile_rt_workspace *workspace, int status);
TILE_RT_HIDDEN void tile_rt_workspace_after_fork(void);
TILE_RT_HIDDEN void tile_rt_allocation_after_fork(void);

/* ---- tile_rt_allocation.c --------------------------------------------------------------------------------------- */
/* cuPointerGetAttribute */
typedef int tile_rt_pointer_attribute(void *value, int attribute, uint64_t pointer);
/* Writes the bounds of the call's arguments to its report; `ask` may be NULL. */
TILE_RT_HIDDEN void tile_rt_note_allocations(const struct tile_rt_call *call, uint64_t *report,
                                             tile_rt_pointer_attribute *ask);

/* ---- tile_rt_report.c ------------------------------------------------------------------------------------------- */
/* Words of a report of the kernel. */
TILE_RT_HIDDEN size_t tile_rt_report_words(const struct tile_rt_kernel *kernel);
/* Memory of 0 becomes a report. */
TILE_RT_HIDDEN void tile_rt_report_begin(uint64_t *report, size_t words);
/* Writes what instances print, gives the status for the check that failed, and leaves the report as it began. */
TILE_RT_HIDDEN int tile_rt_report_end(const struct tile_rt_kernel *kernel, uint64_t *report);

/* ---- tile_rt_record.c ------------------------------------------------------------------------------------------- */
enum tile_rt_record_state {
    TILE_RT_RECORD_new,
    TILE_RT_RECORD_open,
    TILE_RT_RECORD_refused, /* with `text` */
    TILE_RT_RECORD_ended    /* the file took no more, or belongs to the process that this one is a child of */
};
struct tile_rt_record {
    const char *variable;  /* of the environment, for messages */
    const char *head;      /* what an empty file has in it */
    int (*prepare)(void);  /* when the file is open, under the lock; 0: there is no memory */
    pthread_mutex_t lock;  /* for what follows, and for who writes */
    int state;             /* enum tile_rt_record_state */
    int file, per_process; /* per_process: the name has %p in it */
    off_t end;
    char text[400];
};
/* Before a launch: makes the file of the setting, where there is none yet.  Fails where it was refused. */
TILE_RT_HIDDEN int tile_rt_record_begin(struct tile_rt_record *record, const char *setting);
/* Under the lock.  Nothing happens where the file is not open; it ends where it does not take the text. */
TILE_RT_HIDDEN void tile_rt_record_write(struct tile_rt_record *record, const char *text, size_t size, off_t at);
TILE_RT_HIDDEN void tile_rt_record_after_fork(struct tile_rt_record *record);

/* ---- tile_rt_profile.c ------------------------------------------------------------------------------------------ */
/* Around a launch, where call->settings->profile is not NULL. */
struct timespec;
TILE_RT_HIDDEN int tile_rt_profile_begin(const struct tile_rt_call *call, struct timespec *begin);
TILE_RT_HIDDEN void tile_rt_profile_end(const struct tile_rt_call *call, int status, const struct timespec *begin);
TILE_RT_HIDDEN void tile_rt_profile_after_fork(void);

/* ---- tile_rt_trace.c -------------------------------------------------------------------------------------------- */
/* Before a launch, where call->settings->trace is not NULL. */
TILE_RT_HIDDEN int tile_rt_trace_note(const struct tile_rt_call *call);
TILE_RT_HIDDEN void tile_rt_trace_after_fork(void);

/* ---- tile_rt_pool.c --------------------------------------------------------------------------------------------- */
/* In the child of a fork: the threads are gone. */
TILE_RT_HIDDEN void tile_rt_pool_after_fork(void);
TILE_RT_HIDDEN int tile_rt_cpu_threads(int *threads);
TILE_RT_HIDDEN int tile_rt_cpu_target(struct tile_rt_call *call);
TILE_RT_HIDDEN int tile_rt_cpu_launch(struct tile_rt_call *call);

#endif
