/* SPDX-License-Identifier: MIT
 *
 * The entry points of the run time, its texts, and what the environment asks for.
 *
 *   TILE_CPU_THREADS=n      threads of the pool             TILE_FORCE_ARCH=sm_80          take only this code
 *   TILE_CPU_ISA=avx2       take this instruction set       TILE_FORCE_VARIANT=kernel:2    take only this variant
 *   TILE_AUTO_INIT=1        no context: device 0's primary  TILE_DEVICE_SYNC=1        wait for and check each launch
 *   TILE_DISABLE_PTX=1      take no PTX                     TILE_VERBOSE=1            say what is loaded and why
 *   TILE_PROFILE=file.json  write down each launch
 *   TILE_PRINT_BYTES=n      room for what the instances of a launch print, 1 MiB where it is not said
 *
 * Nothing here exits, aborts, changes errno or, but for TILE_VERBOSE, prints.  All state is in one table a file,
 * guarded by a lock and read without one. */
#include "tile_rt_internal.h"
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- texts ------------------------------------------------------------------------------------------------------ */

static __thread struct {
    int cuda;
    char text[512];
} last_error;

TILE_RT_COLD int tile_rt_fail(int status, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    tile_rt_append_list(last_error.text, sizeof last_error.text, 0, format, list);
    va_end(list);
    last_error.cuda = 0;
    return status;
}

void tile_rt_set_cuda_error(int code) { last_error.cuda = code; }

TILE_RT_PUBLIC const char *tile_last_error(void) { return last_error.text; }

TILE_RT_PUBLIC int tile_last_cuda_error(void) { return last_error.cuda; }

TILE_RT_PUBLIC const char *tile_strerror(int status)
{
    switch (status) {
    case TILE_OK: return "success";
    case TILE_ERR_ARG: return "an argument breaks a rule of the kernel";
    case TILE_ERR_ALIAS: return "views share elements where the kernel does not allow it";
    case TILE_ERR_NO_DRIVER: return "no usable NVIDIA driver";
    case TILE_ERR_NO_CONTEXT: return "no CUDA context is current";
    case TILE_ERR_NO_IMAGE: return "the object holds no code for this processor or these keys";
    case TILE_ERR_BAD_IMAGE: return "the driver refuses the code in the object";
    case TILE_ERR_DRIVER: return "the CUDA driver reports an error";
    case TILE_ERR_CAPTURE: return "first use inside a stream capture";
    case TILE_ERR_ABI: return "object and run time do not fit together";
    case TILE_ERR_OOM: return "out of memory";
    case TILE_ERR_CONTEXT_LOST: return "the CUDA context is lost after an earlier failure";
    case TILE_ERR_FORKED: return "CUDA was used before fork()";
    case TILE_ERR_CHECK: return "a check that the kernel was compiled with did not hold";
    case TILE_ERR_ENVIRONMENT: return "a TILE_* environment variable asks for what is not there";
    default: return "not a status of tile_rt";
    }
}

void tile_rt_say(const char *format, ...)
{
    char line[600];
    va_list list;
    size_t used;
    if (!tile_rt_settings()->verbose)
        return;
    used = tile_rt_append(line, sizeof line - 1, 0, "tile_rt: ");
    va_start(list, format);
    used = tile_rt_append_list(line, sizeof line - 1, used, format, list);
    va_end(list);
    line[used++] = '\n';
    fwrite(line, 1, used, stderr);
}

void tile_rt_list_targets(const struct tile_rt_kernel *kernel, char *text, size_t size)
{
    size_t used = 0;
    uint32_t i;
    text[0] = 0;
    for (i = 0; i < kernel->target_count; i++)
        used = tile_rt_append(text, size, used, "%s%s", i ? ", " : "", kernel->targets[i].name);
    if (kernel->target_count == 0)
        tile_rt_append(text, size, 0, "nothing");
}

/* ---- the environment -------------------------------------------------------------------------------------------- */

static struct {
    pthread_once_t once;
    struct tile_rt_settings settings;
    int ready;
} process = {PTHREAD_ONCE_INIT, {0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0}, 0};

/* In the child, which has one thread. */
static void after_fork(void)
{
    tile_rt_pool_after_fork();
    tile_rt_cuda_after_fork();
    tile_rt_workspace_after_fork();
    tile_rt_mailbox_after_fork();
    tile_rt_allocation_after_fork();
    tile_rt_profile_after_fork();
    tile_rt_trace_after_fork();
}

static int is_set(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != 0 && strcmp(value, "0") != 0;
}

static const char *text_of(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != 0 ? strdup(value)
                                          : NULL; /* kept for good: the program may change its environment */
}

static void read_environment(void)
{
    struct tile_rt_settings *settings = &process.settings;
    settings->verbose = is_set("TILE_VERBOSE");
    settings->device_sync = is_set("TILE_DEVICE_SYNC");
    settings->auto_init = is_set("TILE_AUTO_INIT");
    settings->disable_ptx = is_set("TILE_DISABLE_PTX");
    settings->architecture = text_of("TILE_FORCE_ARCH");
    settings->variant = text_of("TILE_FORCE_VARIANT");
    settings->isa = text_of("TILE_CPU_ISA");
    settings->threads = text_of("TILE_CPU_THREADS");
    settings->profile = text_of("TILE_PROFILE");
    settings->trace = text_of("TILE_TRACE");
    settings->records = settings->profile != NULL || settings->trace != NULL;
    settings->print_bytes = text_of("TILE_PRINT_BYTES");
    pthread_atfork(NULL, NULL, after_fork);
    __atomic_store_n(&process.ready, 1, __ATOMIC_RELEASE);
}

const struct tile_rt_settings *tile_rt_settings(void)
{
    if (!__atomic_load_n(&process.ready, __ATOMIC_ACQUIRE))
        pthread_once(&process.once, read_environment);
    return &process.settings;
}
void tile_rt_keep_loaded(const void *address)
{
    Dl_info info;
    if (dladdr(address, &info) != 0 && info.dli_fname != NULL)
        dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

TILE_RT_COLD static int fail_version(unsigned made)
{
    const char *advice = made < TILE_RT_ABI
                             ? "compile the .tile file again, or link the libtilert of the tilecc that made it"
                             : "link the libtilert of the tilecc that made it, or a later one";
    return tile_rt_fail(TILE_ERR_ABI, "an object made for version %u of the run time meets version %u; %s", made,
                        (unsigned)TILE_RT_ABI, advice);
}

TILE_RT_COLD static int fail_needs(unsigned needs)
{
    return tile_rt_fail(
        TILE_ERR_ABI,
        "an object asks for what this run time, of its version %u, does not know yet (bits %x); link the "
        "libtilert of the tilecc that made it, or a later one",
        (unsigned)TILE_RT_ABI, needs);
}

int tile_rt_check_version(const struct tile_rt_kernel *kernel)
{
    if (__builtin_expect(kernel->abi != TILE_RT_ABI, 0))
        return fail_version((unsigned)kernel->abi);
    unsigned unknown = (unsigned)kernel->needs & ~(TILE_RT_NEEDS_ROUNDING | TILE_RT_NEEDS_ASKED | TILE_RT_NEEDS_SLOTS);
    return __builtin_expect(unknown == 0, 1) ? TILE_OK : fail_needs(unknown);
}

/* With memory for the kernel's scratch. */
static int launch_programs(struct tile_rt_call *call)
{
    struct tile_rt_workspace workspace;
    int status;
    if (call->kernel->scratch_count == 0)
        return tile_rt_cpu_launch(call);
    status = tile_rt_workspace_begin(call, TILE_CPU, &workspace);
    if (status != TILE_OK)
        return status;
    return tile_rt_workspace_end(call, TILE_CPU, &workspace, tile_rt_cpu_launch(call));
}

static int launch_and_report(struct tile_rt_call *call)
{
    size_t words = tile_rt_report_words(call->kernel);
    uint64_t *report = calloc(words, sizeof *report);
    int status;
    if (report == NULL)
        return tile_rt_fail(TILE_ERR_OOM, "%s: no memory for what it reports", call->kernel->name);
    tile_rt_report_begin(report, words);
    call->slots[call->kernel->slot_count - 1] = (uint64_t)(uintptr_t)report;
    tile_rt_note_allocations(call, report, NULL);
    status = launch_programs(call);
    if (status == TILE_OK)
        status = tile_rt_report_end(call->kernel, report);
    free(report);
    return status;
}

static int launch_on_processor(struct tile_rt_call *call)
{
    return call->kernel->reports ? launch_and_report(call) : launch_programs(call);
}

/* ---- the way of a call ------------------------------------------------------------------------------------------ */

/* Not an initialiser: what is large is filled before it is read. */
static void begin_call(struct tile_rt_call *call, const struct tile_rt_kernel *kernel, const void *const *arguments)
{
    call->settings = tile_rt_settings();
    call->kernel = kernel;
    call->arguments = arguments;
    call->target = NULL;
    call->variant = NULL;
    call->variant_index = 0;
    call->sm_count = 0;
    call->facts_known = call->facts_true = 0;
    call->choices = NULL;
    call->programs = 0;
    call->workspace_bytes = 0;
    call->device = -1;
    call->options = NULL;
    call->take_empty = call->met_empty = call->this_thread = call->any_choice = 0;
    call->refused = NULL;
    call->refusal = NULL;
    call->slots = NULL;
    call->maps = call->few_maps;
    call->large = NULL;
    call->large_maps = NULL;
}

static int end_call(struct tile_rt_call *call, int saved, int status)
{
    if (__builtin_expect(call->large != NULL, 0))
        free(call->large);
    if (__builtin_expect(call->large_maps != NULL, 0))
        free(call->large_maps);
    errno = saved;
    return status;
}

/* Where: the processor (device -1) or the stream's device, and the code for it. */
static int find_target(struct tile_rt_call *call, struct CUstream_st *stream)
{
    int status;
    if (stream == TILE_CPU) {
        status = tile_rt_cpu_threads(&call->sm_count);
        return status != TILE_OK ? status : tile_rt_cpu_target(call);
    }
    status = tile_rt_cuda_place(stream, &call->device);
    return status != TILE_OK ? status : tile_rt_cuda_target(call);
}

/* A wrong argument is told first; else what is wrong with the place, in its words. */
TILE_RT_COLD static int fail_place(struct tile_rt_call *call, int place)
{
    char text[sizeof last_error.text];
    int cuda = last_error.cuda, status;
    memcpy(text, last_error.text, sizeof text);
    status = tile_rt_check_arguments(call);
    if (status != TILE_OK)
        return status;
    memcpy(last_error.text, text, sizeof text);
    last_error.cuda = cuda;
    return place;
}

/* All but the choice of the variant.  sm_count() may stand in a kernel's `const` and `requires`, so the place is found
 * before the arguments are checked; but when there is no place, a wrong argument is still told first where nothing
 * depends on the place. */
static int check(struct tile_rt_call *call, struct CUstream_st *stream)
{
    int place, status = tile_rt_check_version(call->kernel); /* of another version nothing but this field is known */
    if (status != TILE_OK)
        return status;
    place = find_target(call, stream);
    if (place != TILE_OK)
        return fail_place(call, place);
    return tile_rt_check_arguments(call);
}

static int prepare(struct tile_rt_call *call, struct CUstream_st *stream)
{
    int status = check(call, stream);
    return status != TILE_OK ? status : tile_rt_choose_variant(call);
}

TILE_RT_COLD static int run_and_record(struct tile_rt_call *call, struct CUstream_st *stream)
{
    const int profiles = call->settings->profile != NULL;
    struct timespec begin;
    int status = call->settings->trace != NULL ? tile_rt_trace_note(call) : TILE_OK;
    if (status == TILE_OK && profiles)
        status = tile_rt_profile_begin(call, &begin);
    if (status != TILE_OK)
        return status;
    status = stream == TILE_CPU ? launch_on_processor(call) : tile_rt_cuda_launch(call, stream);
    if (profiles)
        tile_rt_profile_end(call, status, &begin);
    return status;
}

static int run(struct tile_rt_call *call, struct CUstream_st *stream)
{
    if (call->programs == 0)
        return TILE_OK;
    if (__builtin_expect(call->settings->records, 0))
        return run_and_record(call, stream);
    return stream == TILE_CPU ? launch_on_processor(call) : tile_rt_cuda_launch(call, stream);
}

TILE_RT_ENTRY int tile_rt_launch(const struct tile_rt_kernel *kernel, struct CUstream_st *stream,
                                 const void *const *arguments)
{
    struct tile_rt_call call;
    int saved = errno, status;
    begin_call(&call, kernel, arguments);
    status = prepare(&call, stream);
    if (status == TILE_OK)
        status = run(&call, stream);
    return end_call(&call, saved, status);
}

TILE_RT_ENTRY int tile_rt_launch_variant(const struct tile_rt_kernel *kernel, struct CUstream_st *stream,
                                         const void *const *arguments, int variant)
{
    struct tile_rt_call call;
    int saved = errno, status;
    begin_call(&call, kernel, arguments);
    status = check(&call, stream);
    if (status == TILE_OK)
        status = tile_rt_take_variant(&call, variant);
    if (status == TILE_OK)
        status = run(&call, stream);
    return end_call(&call, saved, status);
}

/* Options of a caller that may know more or fewer members than this run time: what is not known here must be 0. */
static int check_options(const struct tile_rt_kernel *kernel, const struct tile_launch_options *options)
{
    const uint32_t known = TILE_LAUNCH_OVERLAP | TILE_LAUNCH_VARIANT | TILE_LAUNCH_THIS_THREAD;
    const unsigned char *bytes = (const unsigned char *)options;
    size_t i;
    if (options->size == 0 && (options->flags != 0 || options->priority != 0 || options->variant != 0))
        return tile_rt_fail(TILE_ERR_ARG, "%s: the launch options do not say their size: options.size = sizeof options",
                            kernel->name);
    if (options->size != 0 && options->size < sizeof *options)
        return tile_rt_fail(TILE_ERR_ARG, "%s: the size of the launch options is %u, less than the least, %u",
                            kernel->name, (unsigned)options->size, (unsigned)sizeof *options);
    if ((options->flags & ~known) != 0)
        return tile_rt_fail(TILE_ERR_ARG, "%s: the launch options have flags 0x%x; this run time knows 0x%x",
                            kernel->name, (unsigned)options->flags, (unsigned)known);
    if (options->variant != 0 && (options->flags & TILE_LAUNCH_VARIANT) == 0)
        return tile_rt_fail(TILE_ERR_ARG, "%s: the launch options have variant %d without TILE_LAUNCH_VARIANT",
                            kernel->name, (int)options->variant);
    for (i = sizeof *options; i < options->size; i++)
        if (bytes[i] != 0)
            return tile_rt_fail(TILE_ERR_ARG, "%s: byte %u of the launch options is set, and this run time knows %u",
                                kernel->name, (unsigned)i, (unsigned)sizeof *options);
    return TILE_OK;
}

TILE_RT_ENTRY int tile_rt_launch_ex(const struct tile_rt_kernel *kernel, struct CUstream_st *stream,
                                    const void *const *arguments, const struct tile_launch_options *options)
{
    struct tile_rt_call call;
    int saved = errno, status = tile_rt_check_version(kernel);
    uint32_t flags = options != NULL ? options->flags : 0;
    if (status == TILE_OK && options != NULL)
        status = check_options(kernel, options);
    if (status != TILE_OK)
        return status;
    begin_call(&call, kernel, arguments);
    if (options != NULL && ((flags & TILE_LAUNCH_OVERLAP) != 0 || options->priority != 0))
        call.options = options;
    call.this_thread = (flags & TILE_LAUNCH_THIS_THREAD) != 0;
    if ((flags & TILE_LAUNCH_VARIANT) == 0)
        status = prepare(&call, stream);
    else if ((status = check(&call, stream)) == TILE_OK)
        status = tile_rt_take_variant(&call, options->variant);
    if (status == TILE_OK)
        status = run(&call, stream);
    return end_call(&call, saved, status);
}

TILE_RT_ENTRY int tile_rt_query(const struct tile_rt_kernel *kernel, struct CUstream_st *stream,
                                const void *const *arguments, struct tile_kernel_info *info)
{
    struct tile_rt_call call;
    int saved = errno, status;
    begin_call(&call, kernel, arguments);
    status = tile_rt_check_version(kernel);
    if (status != TILE_OK)
        return status;
    if (info == NULL)
        return tile_rt_fail(TILE_ERR_ARG, "%s: the struct tile_kernel_info to fill is NULL", kernel->name);
    status = end_call(&call, saved, prepare(&call, stream));
    if (status != TILE_OK)
        return status;
    info->target = call.target->name;
    info->variant_text = call.variant->text;
    info->variant = (int)call.variant_index;
    info->threads = call.variant->threads;
    info->registers = call.variant->registers;
    info->shared_bytes = call.variant->static_shared + call.variant->dynamic_shared;
    if (call.target->kind == TILE_RT_TARGET_cpu) {
        info->threads = call.sm_count;
        info->registers = 0;
        info->shared_bytes = (int)call.variant->scratch_bytes;
    }
    info->cluster = call.variant->cluster > 1 ? call.variant->cluster : 1;
    info->persistent = call.variant->persistent > 0 ? call.variant->persistent : 0;
    info->maps = call.variant->map_count;
    info->value_count = call.variant->value_count;
    info->value_names = call.variant->value_names;
    info->values = call.variant->values;
    info->programs = call.programs;
    return TILE_OK;
}

TILE_RT_ENTRY int tile_rt_load(const struct tile_rt_kernel *kernel)
{
    struct tile_rt_call call;
    int saved = errno, status;
    uint32_t i;
    begin_call(&call, kernel, NULL);
    status = tile_rt_check_version(kernel);
    if (status == TILE_OK)
        status = find_target(&call, NULL);
    for (i = 0; status == TILE_OK && i < call.target->variant_count; i++) {
        call.variant = &call.target->variants[i];
        status = tile_rt_cuda_load(&call);
    }
    return end_call(&call, saved, status);
}

TILE_RT_ENTRY int tile_rt_unload(const struct tile_rt_kernel *kernel)
{
    int saved = errno, status = tile_rt_check_version(kernel);
    if (status == TILE_OK)
        status = tile_rt_cuda_unload(kernel);
    errno = saved;
    return status;
}

TILE_RT_ENTRY size_t tile_rt_workspace(const struct tile_rt_kernel *kernel, struct CUstream_st *stream,
                                       const void *const *arguments)
{
    struct tile_rt_call call;
    int saved = errno, status;
    begin_call(&call, kernel, arguments);
    status = end_call(&call, saved, prepare(&call, stream));
    return status != TILE_OK ? (size_t)-1 : call.programs == 0 ? 0 : call.workspace_bytes;
}
