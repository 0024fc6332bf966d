/* Kernels to cubins: a forked worker for each function and architecture makes PTX and feeds ptxas by pipes; what comes
 * back is read by our own cubin_read before it is believed.  No temporary file, no shell.
 *
 * With line information ptxas puts the directory and the time of the source into the cubin.  So the worker stands in a
 * directory that no longer exists and the .file names are relative: nothing is found, and the bytes are the same
 * everywhere. */
#include "targets/nvptx/assemble.h"

#include "base/child.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DONE = 0, USER_ERROR = 1, TOOL_FAILED = 3, WORKER_SECONDS = 600, PTXAS_SECONDS = 540 };
static const size_t cubin_limit = 256u << 20;

struct job {
    const struct target_options *options;
    int count;
    const struct nvptx_task *tasks;
};

/* What a worker sends home: this, then the PTX, then the cubin, then messages of ptxas. */
struct reply { int64_t shared_bytes, ptx_size, cubin_size; };

static void leave_for_nowhere(void) {
    char name[] = "/tmp/tilecc-XXXXXX";
    if (!mkdtemp(name)) return;
    if (chdir(name) != 0) die("cannot enter a directory of our own");
    rmdir(name);
}

/* A message that the parent reports: `code line column text`. */
static void send_message(const struct diagnostic *diagnostic) {
    fprintf(stderr, "%d %d %d %d %s\n", (int)diagnostic->code, diagnostic->at.line, diagnostic->at.column,
            diagnostic->at.end_column, diagnostic->text);
}

enum { MOST_ARGUMENTS = 64, ARCHITECTURE_SIZE = 64 };

/* The command line, ended by NULL; architecture holds the text of one argument. */
static void ptxas_arguments(const struct target_options *options, const struct target_row *row,
                            const char *arguments[MOST_ARGUMENTS], char architecture[ARCHITECTURE_SIZE]) {
    int n = 0;
    snprintf(architecture, ARCHITECTURE_SIZE, "-arch=%s", row->name);
    arguments[n++] = options->ptxas;
    arguments[n++] = architecture;
    if (options->optimization == 0) arguments[n++] = "-O1";
    if (options->line_info) arguments[n++] = "-lineinfo";
    if (options->resource_usage || options->verbose) arguments[n++] = "-v";
    for (int i = 0; i < options->xptxas_count && n < MOST_ARGUMENTS - 8; i++) arguments[n++] = options->xptxas[i];
    arguments[n++] = "/dev/stdin";
    arguments[n++] = "-o";
    arguments[n++] = "/dev/stdout";
    arguments[n] = NULL;
}

static bool run_ptxas(const struct target_options *options, const struct target_row *row, const struct buffer *ptx,
                      struct child_result *result) {
    const char *arguments[MOST_ARGUMENTS];
    char architecture[ARCHITECTURE_SIZE];
    ptxas_arguments(options, row, arguments, architecture);
    struct child_limits limits = {.seconds = PTXAS_SECONDS, .output_bytes = cubin_limit};
    return child_run(arguments, options->line_info ? "." : "/", ptx->data, ptx->size, limits, result);
}

static int work(void *context, int task, struct buffer *out) {
    const struct job *job = context;
    const struct kernel_variant *variant = job->tasks[task].variant;
    const struct target_row *row = &target_rows[variant->target];
    struct target_options options = *job->options;
    options.diagnostics = diagnostics_create(options.arena);
    struct reply reply = {0};
    struct buffer ptx = {0};
    if (!nvptx_make_ptx(&options, row, variant->function, false, &ptx, &reply.shared_bytes)) {
        for (struct diagnostic *d = options.diagnostics->first; d; d = d->next) send_message(d);
        return USER_ERROR;
    }
    if (reply.shared_bytes > row->shared_bytes) {
        struct diagnostic *d =
            diag_report(options.diagnostics, DIAGNOSTIC_E1201, variant->function->at,
                        "%s needs %lld bytes of shared memory, %s has %d", variant->label ? variant->label : "a kernel",
                        (long long)reply.shared_bytes, row->name, row->shared_bytes);
        send_message(d);
        return USER_ERROR;
    }
    struct child_result result;
    if (options.line_info) leave_for_nowhere();
    bool good = run_ptxas(&options, row, &ptx, &result);
    if (!good) {
        if (result.not_started) fprintf(stderr, "%s cannot be run", options.ptxas);
        else if (result.timed_out) fprintf(stderr, "ptxas took longer than %d seconds", PTXAS_SECONDS);
        else if (result.signal)
            fprintf(stderr, "ptxas was ended by signal %d (%s)", result.signal, strsignal(result.signal));
        else if (result.errors.size) fwrite(result.errors.data, 1, result.errors.size, stderr);
        else fprintf(stderr, "ptxas ended with code %d and no message", result.exit_code);
        return TOOL_FAILED;
    }
    reply.ptx_size = (int64_t)ptx.size;
    reply.cubin_size = (int64_t)result.output.size;
    buffer_append(out, &reply, sizeof reply);
    buffer_append(out, ptx.data, ptx.size);
    if (result.output.size) buffer_append(out, result.output.data, result.output.size);
    if (result.errors.size) buffer_append(out, result.errors.data, result.errors.size);
    return DONE;
}

/* Replays what the worker reported under the right code and place. */
static void relay_messages(const struct target_options *options, const struct nvptx_task *task, const char *text) {
    struct location at = task->variant->function->at;
    bool reported = false;
    while (text && *text) {
        int code, line, column, end, used = 0;
        const char *next = strchr(text, '\n');
        size_t size = next ? (size_t)(next - text) : strlen(text);
        if (sscanf(text, "%d %d %d %d %n", &code, &line, &column, &end, &used) == 4 && code >= 0 &&
            code < DIAGNOSTIC_COUNT && (size_t)used <= size) {
            struct location place = {at.source, line, column, end};
            char *message = arena_substring(options->arena, text + used, size - (size_t)used);
            diag_report(options->diagnostics, (enum diagnostic_code)code, line ? place : at, "%s", message);
            reported = true;
        }
        text = next ? next + 1 : NULL;
    }
    if (!reported)
        diag_report(options->diagnostics, DIAGNOSTIC_E1205, at, "the code generator gave up on %s without saying why",
                    task->variant->function->name);
}

/* The first words of ptxas' complaint, on one line, without its own file names. */
static char *short_complaint(const struct target_options *options, const struct buffer *errors) {
    if (!errors->size) return arena_string(options->arena, "no message");
    size_t size = errors->size;
    while (size && (errors->data[size - 1] == '\n' || errors->data[size - 1] == ' ')) size--;
    if (size > 600) size = 600;
    char *text = arena_substring(options->arena, errors->data, size);
    for (char *p = text; *p; p++)
        if (*p == '\n' || *p == '\r') *p = ';';
    return text;
}

static bool report_failure(const struct target_options *options, const struct nvptx_task *task,
                           const struct child_result *result) {
    struct location at = task->variant->function->at;
    const char *name = task->variant->label ? task->variant->label : task->variant->function->name;
    worker_check_machine(result);
    if (result->exit_code == USER_ERROR) {
        relay_messages(options, task, result->errors.data);
    } else if (result->exit_code == TOOL_FAILED) {
        diag_report(options->diagnostics, DIAGNOSTIC_E1203, at, "ptxas failed on %s: %s", name,
                    short_complaint(options, &result->errors));
    } else if (result->timed_out) {
        diag_report(options->diagnostics, DIAGNOSTIC_E1205, at, "code generation for %s took longer than %d seconds",
                    name, WORKER_SECONDS);
    } else {
        diag_report(options->diagnostics, DIAGNOSTIC_E1205, at, "code generation for %s died (%s %d): %s", name,
                    result->signal ? "signal" : "code", result->signal ? result->signal : result->exit_code,
                    short_complaint(options, &result->errors));
    }
    return false;
}

/* Checks a reply and files it; the variant gets an image of its own. */
static bool take_reply(const struct target_options *options, struct kernel_module *module,
                       const struct nvptx_task *task, const struct child_result *result) {
    struct kernel_variant *variant = task->variant;
    const struct target_row *row = &target_rows[variant->target];
    struct reply reply;
    if (result->output.size < sizeof reply) return report_failure(options, task, result);
    memcpy(&reply, result->output.data, sizeof reply);
    const char *ptx = result->output.data + sizeof reply, *cubin = ptx + reply.ptx_size;
    const char *notes = cubin + reply.cubin_size, *problem = NULL;
    int architecture = 0, count = 0;
    struct cubin_kernel *kernels = NULL;
    bool good = cubin_read(options->arena, cubin, (size_t)reply.cubin_size, &architecture, &count, &kernels, &problem);
    if (good && architecture != row->major * 10 + row->minor) {
        good = false;
        problem = arena_printf(options->arena, "it is for sm_%d", architecture);
    }
    if (good && (count != 1 || strcmp(kernels[0].symbol, variant->function->name) != 0)) {
        good = false;
        problem = "the kernel is not in it";
    }
    if (!good) {
        diag_report(options->diagnostics, DIAGNOSTIC_E1204, variant->function->at,
                    "ptxas wrote no usable cubin for %s, %s: %s", variant->function->name, row->name, problem);
        return false;
    }
    variant->gpu = (struct kernel_gpu_code){.image = module->images.count,
                                            .symbol = variant->function->name,
                                            .threads = 32 * variant->function->warps,
                                            .registers = kernels[0].registers,
                                            .cluster = 1,
                                            .shared_bytes = reply.shared_bytes,
                                            .local_bytes = kernels[0].local_bytes};
    struct kernel_image image = {.target = variant->target,
                                 .name = arena_printf(options->arena, "%s.%s", variant->function->name, row->name),
                                 .data = arena_copy(options->arena, cubin, (size_t)reply.cubin_size),
                                 .size = (size_t)reply.cubin_size};
    if (options->want_ptx) image.ptx = arena_substring(options->arena, ptx, (size_t)reply.ptx_size);
    vector_push(options->arena, &module->images, image);
    if (options->log && (options->verbose || options->resource_usage)) {
        fprintf(options->log, "%s %s: %d registers, %d threads, %lld bytes shared, %lld bytes local\n",
                variant->label ? variant->label : variant->function->name, row->name, variant->gpu.registers,
                variant->gpu.threads, (long long)variant->gpu.shared_bytes, (long long)variant->gpu.local_bytes);
        size_t rest = result->output.size - (size_t)(notes - result->output.data);
        if (options->resource_usage && rest) fwrite(notes, 1, rest, options->log);
    }
    return true;
}

static void print_command(const struct target_options *options, const struct nvptx_task *task) {
    const char *arguments[MOST_ARGUMENTS];
    char architecture[ARCHITECTURE_SIZE];
    ptxas_arguments(options, &target_rows[task->variant->target], arguments, architecture);
    for (int i = 0; arguments[i]; i++) fprintf(options->log, "%s ", arguments[i]);
    fprintf(options->log, " # %s\n", task->variant->function->name);
}

bool nvptx_compile(const struct target_options *options, struct kernel_module *module, int count,
                   const struct nvptx_task *tasks) {
    if (count == 0) return true;
    if (!options->ptxas) {
        diag_report(options->diagnostics, DIAGNOSTIC_E1202, tasks[0].variant->function->at,
                    "%s needs ptxas, which was not found", target_rows[tasks[0].variant->target].name);
        return false;
    }
    for (int i = 0; i < count && options->log && (options->dry_run || options->verbose); i++)
        print_command(options, &tasks[i]);
    if (options->dry_run) return true;
    struct job job = {options, count, tasks};
    struct child_result *done = ARENA_ARRAY(options->arena, struct child_result, count);
    struct child_limits limits = {.seconds = WORKER_SECONDS, .output_bytes = 2 * cubin_limit};
    workers_run(work, &job, count, options->jobs, limits, done);
    bool good = true;
    for (int i = 0; i < count; i++) {
        bool sent = done[i].exit_code == DONE && !done[i].signal && !done[i].timed_out && !done[i].output_too_large;
        good =
            (sent ? take_reply(options, module, &tasks[i], &done[i]) : report_failure(options, &tasks[i], &done[i])) &&
            good;
        buffer_free(&done[i].output);
        buffer_free(&done[i].errors);
    }
    return good;
}

struct text_job { const struct target_options *options; const struct nvptx_task *task; bool llvm; };

static int make_text(void *context, int task, struct buffer *out) {
    const struct text_job *job = context;
    struct target_options options = *job->options;
    int64_t shared_bytes;
    (void)task;
    options.diagnostics = diagnostics_create(options.arena);
    const struct target_row *row = &target_rows[job->task->variant->target];
    if (nvptx_make_ptx(&options, row, job->task->variant->function, job->llvm, out, &shared_bytes)) return DONE;
    for (struct diagnostic *d = options.diagnostics->first; d; d = d->next) send_message(d);
    return USER_ERROR;
}

bool nvptx_emit_text(const struct target_options *options, const struct nvptx_task *task, bool llvm,
                     struct buffer *out) {
    struct text_job job = {options, task, llvm};
    struct child_result done = {0};
    struct child_limits limits = {.seconds = WORKER_SECONDS, .output_bytes = cubin_limit};
    workers_run(make_text, &job, 1, 1, limits, &done);
    bool good = done.exit_code == DONE && !done.signal && !done.timed_out;
    if (good) buffer_append(out, done.output.data, done.output.size);
    else report_failure(options, task, &done);
    buffer_free(&done.output);
    buffer_free(&done.errors);
    return good;
}
