/* Kernels to cubins: a forked worker for each few functions makes PTX, and another one for each feeds ptxas by pipes,
 * once for all kernels whose text is the same; what comes back is read by our own cubin_read before it is believed.  No
 * temporary file, no shell.  What a worker sends home is what the cache keeps, so that one that was here before does not
 * run at all.
 *
 * With line information ptxas puts the directory and the time of the source into the cubin.  So the worker stands in a
 * directory that no longer exists and the .file names are relative: nothing is found, and the bytes are the same
 * everywhere. */
#include "targets/nvptx/assemble/assemble.h"
#include "ir/query.h"

#include "base/digest.h"
#include "ir/facts/shared_form.h"
#include "targets/common/attempt.h"
#include "targets/common/code_key.h"
#include "targets/common/same_code.h"
#include "targets/nvptx/assemble/ptxas.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How a worker ends.  Codes that nothing else takes: 1 is that of a sanitizer, 127 of a loader. */
enum { DONE = 0, USER_ERROR = 91, TOOL_FAILED = 92, TOOL_HANGS = 93 };
enum { PTXAS_SECONDS = 540, OWN_SECONDS = 60, MOST_LOCAL_BYTES = 512 << 10 };
static const size_t cubin_limit = 256u << 20;
enum { MOST_TEXTS = 16 }; /* of a worker */

static int tool_seconds(const struct target_options *options)
{
    return options->tool_seconds ? options->tool_seconds : PTXAS_SECONDS;
}

/* A worker waits for ptxas and has some time of its own. */
static int worker_seconds(const struct target_options *options)
{
    int seconds = tool_seconds(options);
    return seconds < INT32_MAX - OWN_SECONDS ? seconds + OWN_SECONDS : INT32_MAX;
}

/* Of the text of a kernel: the digest of what is the same for the same code, under whatever name, and that of all. */
struct text_head {
    int64_t shared_bytes;
    unsigned char code[DIGEST_SIZE], text[DIGEST_SIZE];
};

/* The text of a task's kernel.  A worker sends home the head, then the PTX; the cache keeps the head alone, for the cubin
 * of a text is found by its digest. */
struct text {
    struct text_head head;
    const char *ptx; /* NULL: not made in this process */
    size_t size;
};

enum text_kind { FOR_PTXAS, PTX_ALONE, LLVM_ALONE };

struct job {
    const struct target_options *options;
    enum text_kind kind;
    int count; /* of numbers */
    const struct nvptx_task *tasks;
    const int *numbers; /* of tasks: those that are done */
    const int *parts;   /* of texts: where in numbers each worker's begin, and behind the last part their count */
    int *first;         /* of each task: itself, or the one whose code it has */
    struct text *texts;
};

/* What the worker that ran ptxas sends home: this, then the PTX that it took where that is wanted, the cubin, and messages
 * of ptxas. */
struct reply {
    int64_t ptx_size, cubin_size;
};

/* False: no folder can be made. */
static bool leave_for_nowhere(void)
{
    static const char *const places[] = {"/tmp", "/var/tmp", "/dev/shm", "."};
    bool left = false;
    for (size_t i = 0; i < sizeof places / sizeof *places && !left; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s/tilecc-XXXXXX", places[i]);
        if (!mkdtemp(name))
            continue;
        int folder = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        rmdir(name);
        left = folder >= 0 && fchdir(folder) == 0;
        if (folder >= 0)
            close(folder);
    }
    return left;
}

/* A message that the parent reports: `code source line column text`.  It has the same sources at the same addresses. */
static void send_message(const struct diagnostic *diagnostic)
{
    fprintf(stderr, "%d %" PRIuPTR " %d %d %d %s\n", (int)diagnostic->code, (uintptr_t)diagnostic->at.source,
            diagnostic->at.line, diagnostic->at.column, diagnostic->at.end_column, diagnostic->text);
}

static int send_messages(const struct diagnostics *diagnostics)
{
    for (const struct diagnostic *d = diagnostics->first; d; d = d->next)
        send_message(d);
    return USER_ERROR;
}

static void digest_text(struct text_head *head, const struct buffer *ptx, const char *name)
{
    struct digest code, text;
    const char *at = ptx->data;
    digest_begin(&text);
    digest_add(&text, ptx->data, ptx->size);
    digest_end(&text, head->text);
    digest_begin(&code);
    for (const char *next; (next = strstr(at, name)) != NULL; at = next + strlen(name)) {
        digest_add(&code, at, (size_t)(next - at));
        digest_add(&code, "", 1);
    }
    digest_add(&code, at, strlen(at));
    digest_end(&code, head->code);
}

static int make_text(const struct target_options *given, const struct kernel_variant *variant, enum text_kind kind,
                     struct buffer *out)
{
    const struct target_row *row = &target_rows[variant->target];
    struct target_options options = *given;
    options.diagnostics = diagnostics_create(options.arena);
    struct buffer ptx = {0};
    int64_t shared_bytes = 0;
    bool made = nvptx_make_ptx(&options, row, variant->function, kind == LLVM_ALONE, &ptx, &shared_bytes);
    bool fits = shared_bytes <= row->shared_bytes || kind != FOR_PTXAS;
    if (made && !fits)
        diag_report(options.diagnostics, DIAGNOSTIC_E1201, variant->function->at,
                    "%s needs %lld bytes of shared memory, %s has %d", variant->label ? variant->label : "a kernel",
                    (long long)shared_bytes, row->name, row->shared_bytes);
    if (!made || !fits)
        return send_messages(options.diagnostics);
    struct text_head head = {.shared_bytes = shared_bytes};
    digest_text(&head, &ptx, variant->function->name);
    buffer_append(out, &head, sizeof head);
    buffer_append(out, ptx.data, ptx.size);
    return DONE;
}

static const char *label_of(const struct kernel_variant *variant)
{
    return variant->label ? variant->label : variant->function->name;
}

/* The user's own `maxnreg`, or roles, which share out what the limit gives. */
static bool asks_for_registers(const struct kernel_variant *variant)
{
    for (int i = 0; i < variant->knobs.count; i++)
        if (strcmp(variant->knobs.data[i].name, "maxnreg") == 0)
            return true;
    for (const struct ir_operation *op = variant->function->body->first; op; op = op->next)
        if (op->opcode == OP_ROLES && ir_attribute(op, IR_ATTRIBUTE_ROLE_REGISTERS))
            return true;
    return false;
}

static int assemble(const struct target_options *options, const struct kernel_variant *variant, const struct text *text,
                    struct buffer *out)
{
    struct child_result result = {0};
    struct buffer ptx = {0};
    buffer_append(&ptx, text->ptx, text->size);
    if (options->line_info && !leave_for_nowhere()) {
        fprintf(stderr, "it would put the time of the source into its output: no temporary folder can be made");
        return TOOL_FAILED;
    }
    struct child_limits limits = {.seconds = tool_seconds(options), .output_bytes = cubin_limit};
    bool good = options->without_ptxas ||
                ptxas_run(options, &target_rows[variant->target], 32 * ir_block_warps(variant->function),
                          !asks_for_registers(variant), limits, &ptx, &result);
    int reason = errno;
    if (!good && result.errors.size) {
        struct diagnostics *diagnostics = diagnostics_create(options->arena);
        if (ptxas_report_asm(diagnostics, variant->function, ptx.data, result.errors.data))
            return send_messages(diagnostics);
    }
    if (!good) {
        if (result.not_started)
            fprintf(stderr, "%s cannot be run: %s", options->ptxas, strerror(reason));
        else if (result.timed_out)
            return fprintf(stderr, "it took longer than %d second%s", tool_seconds(options),
                           tool_seconds(options) == 1 ? "" : "s"),
                   TOOL_HANGS;
        else if (result.output_too_large)
            fprintf(stderr, "it wrote more than %zu MiB", cubin_limit >> 20);
        else if (result.signal)
            fprintf(stderr, "it was ended by signal %d (%s)", result.signal, strsignal(result.signal));
        else if (result.errors.size)
            fwrite(result.errors.data, 1, result.errors.size, stderr);
        else
            fprintf(stderr, "it ended with code %d and no message", result.exit_code);
        return TOOL_FAILED;
    }
    struct reply reply = {options->want_ptx ? (int64_t)ptx.size : 0, (int64_t)result.output.size};
    buffer_append(out, &reply, sizeof reply);
    buffer_append(out, ptx.data, (size_t)reply.ptx_size);
    if (result.output.size)
        buffer_append(out, result.output.data, result.output.size);
    if (result.errors.size)
        buffer_append(out, result.errors.data, result.errors.size);
    return DONE;
}

static void begin_llvm(const struct target_options *options, const struct ir_function *function)
{
    int64_t from = times_clock();
    nvptx_begin(function);
    times_add_since(options->times, TIMES_LLVM_GPU, from);
}

static void register_llvm(const struct target_options *options)
{
    int64_t from = times_clock();
    nvptx_register();
    times_add_since(options->times, TIMES_LLVM_GPU, from);
}

/* ---- what was made before ---- */

static void put_text_key(const struct job *job, int task, struct buffer *key)
{
    code_key_begin(job->options, job->tasks[task].variant, "text of a GPU", key);
}

/* False: it is not kept. */
static bool put_cubin_key(const struct job *job, int task, struct buffer *key)
{
    const struct target_options *options = job->options;
    const struct kernel_variant *variant = job->tasks[task].variant;
    if (!options->cache || options->without_ptxas)
        return false;
    cache_put_kind(options->cache, key, "cubin");
    digest_print(key, job->texts[task].head.text);
    buffer_printf(key, "\nwith text %d\n", options->want_ptx);
    return ptxas_put_key(options, &target_rows[variant->target], 32 * ir_block_warps(variant->function),
                         !asks_for_registers(variant), key);
}

static bool find_text(const struct job *job, int task)
{
    struct buffer key = {0}, value = {0};
    struct text_head *head = &job->texts[task].head;
    bool found = false;
    if (job->options->cache) {
        put_text_key(job, task, &key);
        found = cache_find(job->options->cache, &key, &value) && value.size == sizeof *head;
    }
    if (found)
        memcpy(head, value.data, sizeof *head);
    buffer_free(&key);
    buffer_free(&value);
    return found;
}

static void keep_text(const struct job *job, int task, const struct buffer *made)
{
    struct buffer key = {0};
    if (job->options->cache) {
        put_text_key(job, task, &key);
        cache_keep(job->options->cache, &key, made->data, sizeof(struct text_head));
    }
    buffer_free(&key);
}

/* A full disk may have cut short what ptxas wrote, though it ended well. */
static bool is_whole(const struct target_options *options, const struct buffer *made)
{
    struct reply reply;
    struct cubin_kernel *kernels;
    const char *problem;
    int architecture, count;
    memcpy(&reply, made->data, sizeof reply);
    return cubin_read(options->arena, made->data + sizeof reply + reply.ptx_size, (size_t)reply.cubin_size,
                      &architecture, &count, &kernels, &problem);
}

static bool find_cubin(const struct job *job, int task, struct child_result *done)
{
    struct buffer key = {0};
    bool found = put_cubin_key(job, task, &key) && cache_find(job->options->cache, &key, &done->output);
    buffer_free(&key);
    return found;
}

static void keep_cubin(const struct job *job, int task, const struct buffer *made)
{
    struct buffer key = {0};
    if (put_cubin_key(job, task, &key) && is_whole(job->options, made))
        cache_keep(job->options->cache, &key, made->data, made->size);
    buffer_free(&key);
}

/* ---- workers ---- */

/* The texts of a part, each behind its size.  One that fails ends the worker. */
static int work_on_text(void *context, int part, struct buffer *out)
{
    const struct job *job = context;
    int64_t from = times_clock();
    int code = DONE;
    begin_llvm(job->options, job->tasks[job->numbers[job->parts[part]]].variant->function);
    for (int i = job->parts[part]; i < job->parts[part + 1] && code == DONE; i++) {
        struct buffer made = {0};
        code = make_text(job->options, job->tasks[job->numbers[i]].variant, job->kind, &made);
        if (code == DONE) {
            if (job->kind == FOR_PTXAS)
                keep_text(job, job->numbers[i], &made);
            int64_t size = (int64_t)made.size;
            buffer_append(out, &size, sizeof size);
            buffer_append(out, made.data, made.size);
        }
        buffer_free(&made);
    }
    times_add_worker(job->options->times, from);
    return code;
}

static int work_on_cubin(void *context, int number, struct buffer *out)
{
    const struct job *job = context;
    int task = job->numbers[number];
    int64_t from = times_clock();
    int code = assemble(job->options, job->tasks[task].variant, &job->texts[task], out);
    if (code == DONE)
        keep_cubin(job, task, out);
    times_add_worker(job->options->times, from);
    return code;
}

/* Instances of one kernel have the same text in them. */
static bool is_relayed(const struct diagnostics *diagnostics, enum diagnostic_code code, struct location at,
                       const char *message)
{
    for (const struct diagnostic *d = diagnostics->first; d; d = d->next)
        if (d->code == code && d->at.source == at.source && d->at.line == at.line && d->at.column == at.column &&
            strcmp(d->text, message) == 0)
            return true;
    return false;
}

/* Replays what the worker reported under the right code and place. */
static void relay_messages(const struct target_options *options, const struct nvptx_task *task, const char *text)
{
    struct location at = task->variant->function->at;
    bool reported = false;
    while (text && *text) {
        int code, line, column, end, used = 0;
        uintptr_t source;
        const char *next = strchr(text, '\n');
        size_t size = next ? (size_t)(next - text) : strlen(text);
        if (sscanf(text, "%d %" SCNuPTR " %d %d %d %n", &code, &source, &line, &column, &end, &used) == 5 &&
            code >= 0 && code < DIAGNOSTIC_COUNT && (size_t)used <= size) {
            struct location place = {(const struct source *)source, line, column, end, NULL};
            char *message = arena_substring(options->arena, text + used, size - (size_t)used);
            if (!is_relayed(options->diagnostics, (enum diagnostic_code)code, line ? place : at, message))
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
static char *short_complaint(const struct target_options *options, const struct buffer *errors)
{
    if (!errors->size)
        return arena_string(options->arena, "no message");
    size_t size = errors->size;
    while (size && (errors->data[size - 1] == '\n' || errors->data[size - 1] == ' '))
        size--;
    if (size > 600)
        size = 600;
    char *text = arena_substring(options->arena, errors->data, size);
    for (char *p = text; *p; p++)
        if (*p == '\n' || *p == '\r')
            *p = ';';
    return text;
}

static bool report_failure(const struct target_options *options, const struct nvptx_task *task,
                           const struct child_result *result)
{
    struct location at = task->variant->function->at;
    const char *name = label_of(task->variant);
    worker_check_machine(result);
    if (result->not_started) {
        /* behind one that hung */
    } else if (result->exit_code == USER_ERROR) {
        relay_messages(options, task, result->errors.data);
    } else if (result->exit_code == TOOL_FAILED || result->exit_code == TOOL_HANGS) {
        const char *complaint = short_complaint(options, &result->errors);
        if (target_tool_failed(options, complaint))
            diag_report(options->diagnostics, DIAGNOSTIC_E1203, at, "ptxas failed on %s: %s", name, complaint);
    } else if (result->timed_out) {
        diag_report(options->diagnostics, DIAGNOSTIC_E1205, at, "code generation for %s took longer than %d seconds",
                    name, worker_seconds(options));
    } else {
        diag_report(options->diagnostics, DIAGNOSTIC_E1205, at, "code generation for %s died (%s %d): %s", name,
                    result->signal ? "signal" : "code", result->signal ? result->signal : result->exit_code,
                    short_complaint(options, &result->errors));
    }
    return false;
}

/* What fails of a task's code: of a schedule that the compiler has chosen, which no other task has, a warning. */
static bool fail_code(const struct job *job, int number, const struct child_result *result)
{
    const struct attempt attempt = attempt_begin(job->options);
    bool is_asked = result->exit_code == TOOL_HANGS || result->not_started;
    for (int i = 0; i < job->count; i++)
        is_asked |= job->first[i] == number && !kernel_is_extra(job->tasks[i].variant);
    report_failure(job->options, &job->tasks[number], result);
    if (is_asked || !attempt_is_left_out(job->options, &attempt, job->tasks[number].variant))
        return false;
    for (int i = 0; i < job->count; i++)
        job->tasks[i].variant->fails |= job->first[i] == number;
    return true;
}

/* Why the device could not run the kernel as the cubin describes it; NULL: it can.  ptxas itself takes shared memory
 * beyond all bounds, and a damaged file may say anything. */
static const char *find_excess(const struct target_options *options, const struct nvptx_task *task,
                               const struct cubin_kernel *kernel, int64_t dynamic_bytes)
{
    const struct target_row *row = &target_rows[task->variant->target];
    int threads = 32 * ir_block_warps(task->variant->function);
    if (kernel->threads && kernel->threads != threads)
        return arena_printf(options->arena, "it is for %d threads instead of %d", kernel->threads, threads);
    if (kernel->registers * threads > row->registers)
        return arena_printf(options->arena, "it takes %d registers for each of %d threads", kernel->registers, threads);
    if (dynamic_bytes < 0 || dynamic_bytes > row->shared_bytes ||
        kernel->shared_bytes > row->shared_bytes - dynamic_bytes)
        return arena_printf(options->arena, "it takes %lld bytes of shared memory",
                            (long long)(kernel->shared_bytes + dynamic_bytes));
    if (kernel->local_bytes > MOST_LOCAL_BYTES)
        return arena_printf(options->arena, "it takes %lld bytes of local memory", (long long)kernel->local_bytes);
    return NULL;
}

/* What ptxas says beside its output is for --resource-usage, but for warnings, which it also hides among the
 * information: "Potential Performance Loss: wgmma.mma_async instructions are serialized". */
static void relay_warnings(const struct target_options *options, const struct nvptx_task *task, const char *notes,
                           size_t size)
{
    const char *name = label_of(task->variant);
    if (kernel_is_extra(task->variant))
        return;
    for (const char *line = notes, *end = notes + size, *next; line < end; line = next) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        next = newline ? newline + 1 : end;
        size_t length = (size_t)((newline ? newline : end) - line);
        char *text = arena_substring(options->arena, line, length < 600 ? length : 600);
        if (strncmp(text, "ptxas", 5) != 0 || !(strstr(text, "warning") || strstr(text, "Performance Loss")))
            continue;
        const char *words = strchr(text, ':');
        struct diagnostic *d = diag_report(options->diagnostics, DIAGNOSTIC_W1201, task->variant->function->at,
                                           "ptxas warns about this kernel:%s", words ? words + 1 : text + 5);
        diag_instance(options->diagnostics, d, name);
        if (strstr(text, "register resources"))
            nvptx_explain_registers(options, d, task->variant);
    }
}

/* A frame without spills holds arrays that the text asks for: tiles that a loop indexes. */
static void read_spills(const struct target_options *options, const struct nvptx_task *task, const char *notes,
                        size_t size)
{
    struct kernel_variant *variant = task->variant;
    const char *name = label_of(variant);
    struct ptxas_usage usage = ptxas_read_usage(arena_substring(options->arena, notes, size));
    if (usage.frame < 0)
        return;
    variant->gpu.spill_stores = usage.stores;
    variant->gpu.spill_loads = usage.loads;
    struct diagnostic *d;
    if (kernel_is_extra(variant))
        return;
    if (ptxas_spills(&usage)) {
        d = diag_report(options->diagnostics, DIAGNOSTIC_W1202, variant->function->at,
                        "this kernel keeps registers in local memory");
        diag_instance(options->diagnostics, d,
                      arena_printf(options->arena, "%s: %lld bytes of spill stores, %lld of spill loads", name,
                                   usage.stores, usage.loads));
        nvptx_explain_registers(options, d, variant);
    } else if (usage.frame && !usage.stores && !usage.loads) {
        d = diag_report(options->diagnostics, DIAGNOSTIC_W1205, variant->function->at,
                        "this kernel passes tiles through local memory");
        diag_instance(options->diagnostics, d,
                      arena_printf(options->arena, "%s: %lld bytes a thread", name, usage.frame));
    }
}

/* Blocks a multiprocessor that walk over programs, 0: none do, -n: n programs share a block.  Those of an ordered grid are
 * as many as run at once; with another number they are slower, not wrong. */
static int count_blocks(const struct target_row *row, const struct ir_function *function, int registers,
                        int64_t shared_bytes)
{
    enum { MOST = 16, SHARED_OF_BLOCK = 1024 /* that the driver takes */ };
    if (function->together)
        return -function->together;
    if (!ir_walks_in_order(function))
        return function->persistent > 0 ? function->persistent : 0;
    int step = TARGET_REGISTER_STEP, each = (registers + step - 1) / step * step;
    int64_t blocks = row->warps / function->warps;
    int64_t by_registers = target_registers(row) / (32 * (int64_t)function->warps * (each > step ? each : step));
    int64_t by_shared = (row->shared_bytes + SHARED_OF_BLOCK) / (shared_bytes + SHARED_OF_BLOCK);
    blocks = by_registers < blocks ? by_registers : blocks;
    blocks = by_shared < blocks ? by_shared : blocks;
    return blocks < 1 ? 1 : blocks < MOST ? (int)blocks : MOST;
}

/* Checks a reply and files it; the variant gets an image of its own, or that of `first`, which is another one where the
 * code is the same. */
static bool take_reply(const struct target_options *options, struct kernel_module *module,
                       const struct nvptx_task *task, int64_t shared_bytes, const struct child_result *result,
                       const struct kernel_variant *first)
{
    struct kernel_variant *variant = task->variant;
    const struct target_row *row = &target_rows[variant->target];
    struct reply reply;
    if (result->output.size < sizeof reply)
        return report_failure(options, task, result);
    memcpy(&reply, result->output.data, sizeof reply);
    int64_t left = (int64_t)(result->output.size - sizeof reply);
    if (reply.ptx_size < 0 || reply.ptx_size > left || reply.cubin_size < 0 || reply.cubin_size > left - reply.ptx_size)
        return report_failure(options, task, result);
    const char *ptx = result->output.data + sizeof reply, *cubin = ptx + reply.ptx_size;
    const char *notes = cubin + reply.cubin_size, *problem = NULL;
    int architecture = 0, count = 0;
    struct cubin_kernel *kernels = NULL;
    bool good = options->without_ptxas ||
                cubin_read(options->arena, cubin, (size_t)reply.cubin_size, &architecture, &count, &kernels, &problem);
    if (options->without_ptxas) {
        kernels = ARENA_NEW(options->arena, struct cubin_kernel);
        kernels->symbol = first->function->name;
        architecture = row->major * 10 + row->minor;
        count = 1;
    }
    if (good && architecture != row->major * 10 + row->minor) {
        good = false;
        problem = arena_printf(options->arena, "it is for sm_%d", architecture);
    }
    if (good && (count != 1 || strcmp(kernels[0].symbol, first->function->name) != 0)) {
        good = false;
        problem = "the kernel is not in it";
    }
    if (good)
        problem = find_excess(options, task, &kernels[0], shared_bytes);
    if (problem) {
        if (target_tool_failed(options, problem))
            diag_report(options->diagnostics, DIAGNOSTIC_E1204, variant->function->at,
                        "ptxas wrote no usable cubin for %s, %s: %s", variant->function->name, row->name, problem);
        return false;
    }
    variant->gpu = (struct kernel_gpu_code){
        .image = first != variant ? first->gpu.image : module->images.count,
        .symbol = first->function->name,
        .threads = 32 * ir_block_warps(variant->function),
        .registers = kernels[0].registers,
        .cluster = ir_cluster_blocks(variant->function),
        .shared_bytes = shared_bytes,
        .local_bytes = kernels[0].local_bytes,
        .persistent = count_blocks(row, variant->function, kernels[0].registers, shared_bytes)};
    struct tensor_map *maps = NULL;
    variant->gpu.map_count = tensor_map_collect(options->arena, variant->function, &maps);
    variant->gpu.maps = maps;
    void *code = arena_copy(options->arena, cubin, (size_t)reply.cubin_size);
    nvptx_take_orders(options, module, row, &kernels[0], code);
    struct kernel_image image = {.target = variant->target,
                                 .name = arena_printf(options->arena, "%s.%s", variant->function->name, row->name),
                                 .data = code,
                                 .size = (size_t)reply.cubin_size};
    size_t rest = result->output.size - (size_t)(notes - result->output.data);
    relay_warnings(options, task, notes, rest);
    if (options->want_ptx)
        image.ptx = arena_substring(options->arena, ptx, (size_t)reply.ptx_size);
    if (first == variant)
        vector_push(options->arena, &module->images, image);
    read_spills(options, task, notes, rest);
    const char *name = label_of(variant);
    variant->gpu.summary = nvptx_summary(options->arena, variant->function, &variant->gpu);
    diag_report(options->diagnostics, DIAGNOSTIC_R2003, variant->function->at, "instance: %s: %s%s%s", name,
                variant->gpu.summary, variant->when ? "; when " : "", variant->when ? variant->when->text : "");
    if (options->log && (options->verbose || options->resource_usage)) {
        fprintf(options->log, "%s: %d threads, %s\n", name, variant->gpu.threads, variant->gpu.summary);
        if (options->resource_usage && rest)
            fwrite(notes, 1, rest, options->log);
    }
    return true;
}

static bool is_sent(const struct child_result *done)
{
    return done->exit_code == DONE && !done->signal && !done->timed_out && !done->output_too_large;
}

static void show_task(const struct job *job, int number)
{
    progress_show(job->options->progress, label_of(job->tasks[job->numbers[number]].variant));
}

static void show_text(void *context, int part)
{
    const struct job *job = context;
    for (int i = job->parts[part]; i < job->parts[part + 1]; i++)
        show_task(job, i);
}

static void show_cubin(void *context, int number)
{
    const struct job *job = context;
    show_task(job, number);
    progress_pass(job->options->progress, 1);
}

static struct child_limits limits_of(const struct target_options *options)
{
    return (struct child_limits){
        .seconds = worker_seconds(options), .output_bytes = 2 * cubin_limit, .last_code = TOOL_HANGS};
}

/* The tasks that are marked, to job->numbers.  Returns how many. */
static int list_marked(struct job *job, const bool *marked)
{
    int count = 0, *numbers = ARENA_ARRAY(job->options->arena, int, job->count);
    for (int i = 0; i < job->count; i++)
        if (marked[i])
            numbers[count++] = i;
    job->numbers = numbers;
    return count;
}

/* Runs ptxas for each task that needs it; done[] is by task. */
static void run_cubin_workers(struct job *job, const bool *needs, struct child_result *done)
{
    const struct target_options *options = job->options;
    int count = list_marked(job, needs);
    struct child_result *results = ARENA_ARRAY(options->arena, struct child_result, count);
    workers_run_noticed(work_on_cubin, show_cubin, job, count, options->jobs, limits_of(options), results);
    for (int i = 0; i < count; i++)
        done[job->numbers[i]] = results[i];
}

/* Shares numbers[0..count) out among workers.  To begin one and LLVM in it takes as long as the text of a small kernel,
 * so that each makes some, of kernels that want the same options of LLVM; but all processors have enough to do. */
static int share_texts(struct job *job, int count, bool alone)
{
    int most = alone ? 1 : (count - 1) / (2 * job->options->jobs) + 1, parts = 0;
    int *begin = ARENA_ARRAY(job->options->arena, int, count + 1);
    bool wgmma = false;
    most = most < MOST_TEXTS ? most : MOST_TEXTS;
    for (int i = 0; i < count; i++) {
        bool now = nvptx_has_wgmma(job->tasks[job->numbers[i]].variant->function);
        if (parts == 0 || now != wgmma || i - begin[parts - 1] == most)
            begin[parts++] = i;
        wgmma = now;
    }
    begin[parts] = count;
    job->parts = begin;
    return parts;
}

static bool take_text(const struct job *job, int task, const struct buffer *output, size_t *at)
{
    struct text *text = &job->texts[task];
    int64_t size;
    if (output->size - *at < sizeof size)
        return false;
    memcpy(&size, output->data + *at, sizeof size);
    if (size < (int64_t)sizeof text->head || output->size - *at - sizeof size < (size_t)size)
        return false;
    const char *from = output->data + *at + sizeof size;
    memcpy(&text->head, from, sizeof text->head);
    text->size = (size_t)size - sizeof text->head;
    text->ptx = arena_substring(job->options->arena, from + sizeof text->head, text->size);
    *at += sizeof size + (size_t)size;
    return true;
}

/* Makes the texts of the tasks that are marked, and unmarks those that are made.  With `alone` each has a worker of its
 * own, and what is not made is reported.  False: reported. */
static bool run_text_workers_once(struct job *job, bool *needs, bool alone)
{
    const struct target_options *options = job->options;
    int count = list_marked(job, needs), parts = share_texts(job, count, alone);
    struct child_result *results = ARENA_ARRAY(options->arena, struct child_result, parts);
    bool good = true;
    workers_run_noticed(work_on_text, show_text, job, parts, options->jobs, limits_of(options), results);
    for (int part = 0; part < parts; part++) {
        struct child_result *result = &results[part];
        size_t at = 0;
        worker_check_machine(result);
        for (int i = job->parts[part]; i < job->parts[part + 1]; i++)
            needs[job->numbers[i]] = !take_text(job, job->numbers[i], &result->output, &at);
        int only = job->numbers[job->parts[part]];
        if (alone && needs[only])
            good = fail_code(job, only, result) && good;
        buffer_free(&result->output);
        buffer_free(&result->errors);
    }
    return good;
}

/* False: reported.  A worker that fails may have had too much to do in its time: what it has not made is begun again, and
 * judged, alone. */
static bool run_text_workers(struct job *job, bool *needs)
{
    bool any = false, rest = false;
    for (int i = 0; i < job->count; i++)
        any = any || needs[i];
    if (!any)
        return true;
    register_llvm(job->options);
    run_text_workers_once(job, needs, false);
    for (int i = 0; i < job->count; i++)
        rest = rest || needs[i];
    return !rest || run_text_workers_once(job, needs, true);
}

/* The head of the text of each task that is its own first, and the text where it was not here before.  False:
 * reported. */
static bool make_texts(struct job *job)
{
    bool *needs = ARENA_ARRAY(job->options->arena, bool, job->count);
    for (int i = 0; i < job->count; i++)
        needs[i] = job->first[i] == i && !find_text(job, i);
    return run_text_workers(job, needs);
}

static void show_command(const struct target_options *options, const struct nvptx_task *task)
{
    if (options->log && !options->without_ptxas)
        ptxas_print_command(options, &target_rows[task->variant->target], task->variant->function->name);
}

/* What ptxas made of each task that is its own first, to done[].  False: there is no text for one, which is reported. */
static bool make_cubins(struct job *job, struct child_result *done)
{
    bool *needs = ARENA_ARRAY(job->options->arena, bool, job->count);
    bool *lacks_text = ARENA_ARRAY(job->options->arena, bool, job->count);
    for (int i = 0; i < job->count; i++) {
        needs[i] = job->first[i] == i && !job->tasks[i].variant->fails && !find_cubin(job, i, &done[i]);
        lacks_text[i] = needs[i] && !job->texts[i].ptx;
    }
    if (!run_text_workers(job, lacks_text))
        return false;
    for (int i = 0; i < job->count; i++) {
        needs[i] = needs[i] && !job->tasks[i].variant->fails;
        progress_pass(job->options->progress, !needs[i]);
        if (needs[i] && job->options->verbose)
            show_command(job->options, &job->tasks[i]);
    }
    run_cubin_workers(job, needs, done);
    return true;
}

/* Of the same IR; first[i] is i, or the task whose code this one has. */
static void find_same_ir(struct job *job)
{
    int *first = job->first;
    for (int i = 0; i < job->count; i++) {
        int code = job->tasks[i].variant->code;
        first[i] = i;
        for (int k = 0; k < i && code && job->options->share_code && first[i] == i; k++)
            if (job->tasks[k].variant->code == code)
                first[i] = k;
    }
}

/* Of the same text but for the kernel's name. */
static void find_same_text(struct job *job)
{
    struct arena *arena = job->options->arena;
    int *first = job->first;
    struct same_code_text *keys = ARENA_ARRAY(arena, struct same_code_text, job->count);
    int *found = ARENA_ARRAY(arena, int, job->count);
    for (int i = 0; i < job->count; i++)
        if (first[i] == i && !job->tasks[i].variant->fails)
            keys[i] = (struct same_code_text){job->tasks[i].entry, &job->texts[i].head,
                                              offsetof(struct text_head, text), 0};
    same_code_find(job->count, keys, found);
    for (int i = 0; i < job->count; i++) {
        first[i] = first[i] == i && keys[i].data ? found[i] : first[first[i]];
        job->tasks[i].variant->code = job->tasks[first[i]].variant->code;
    }
}

/* Each task's reply, or what became of its first. */
static bool take_replies(const struct job *job, struct kernel_module *module, const struct child_result *done)
{
    const struct target_options *options = job->options;
    const int *first = job->first;
    bool good = true;
    for (int i = 0; i < job->count; i++) {
        struct kernel_variant *variant = job->tasks[i].variant;
        const struct child_result *result = &done[first[i]];
        const struct attempt attempt = attempt_begin(options);
        if (variant->fails)
            continue;
        if (is_sent(result))
            good = (take_reply(options, module, &job->tasks[i], job->texts[first[i]].head.shared_bytes, result,
                               job->tasks[first[i]].variant) ||
                    attempt_is_left_out(options, &attempt, variant)) &&
                   good;
        else
            good = first[i] == i && fail_code(job, i, result) && good;
        options->failures->hangs |= result->exit_code == TOOL_HANGS;
    }
    return good;
}

/* False: there is no ptxas, or none that ends. */
static bool has_ptxas(const struct target_options *options, const struct nvptx_task *task)
{
    if (options->without_ptxas)
        return true;
    if (!options->ptxas && target_tool_failed(options, "none was found")) {
        const struct location none = {0};
        struct diagnostic *d = diag_report(options->diagnostics, DIAGNOSTIC_E1202, task->variant->function->at,
                                           "%s needs ptxas, which was not found",
                                           target_rows[task->variant->target].name);
        diag_note(
            options->diagnostics, d, none,
            "a CUDA toolkit has it, and so has `pip install nvidia-cuda-nvcc`: --cuda-path=DIR, CUDA_HOME or PATH "
            "leads to its bin; -arch=cpu needs none");
    }
    return options->ptxas && !options->failures->hangs;
}

bool nvptx_compile(const struct target_options *given, struct kernel_module *module, int count,
                   const struct nvptx_task *tasks)
{
    struct tool_failures failures = {0};
    struct target_options own = *given;
    const struct target_options *options = &own;
    if (!own.failures)
        own.failures = &failures;
    if (count == 0)
        return true;
    if (!has_ptxas(options, &tasks[0]))
        return false;
    for (int i = 0; i < count && options->dry_run; i++)
        show_command(options, &tasks[i]);
    if (options->dry_run)
        return true;
    struct job job = {.options = options, .count = count, .tasks = tasks};
    struct child_result *done = ARENA_ARRAY(options->arena, struct child_result, count);
    job.first = ARENA_ARRAY(options->arena, int, count);
    job.texts = ARENA_ARRAY(options->arena, struct text, count);
    find_same_ir(&job);
    if (!make_texts(&job))
        return false;
    if (options->share_code)
        find_same_text(&job);
    if (!make_cubins(&job, done))
        return false;
    bool good = take_replies(&job, module, done);
    if (good && !options->without_ptxas)
        nvptx_report_orders(options, module, &target_rows[tasks[0].variant->target]);
    for (int i = 0; i < count; i++) {
        buffer_free(&done[i].output);
        buffer_free(&done[i].errors);
    }
    return good;
}

void nvptx_emit_texts(const struct target_options *options, int count, const struct nvptx_task *tasks, bool llvm,
                      struct buffer *out, bool *made)
{
    struct job job = {.options = options, .kind = llvm ? LLVM_ALONE : PTX_ALONE, .count = count, .tasks = tasks};
    bool *needs = ARENA_ARRAY(options->arena, bool, count);
    job.first = ARENA_ARRAY(options->arena, int, count);
    job.texts = ARENA_ARRAY(options->arena, struct text, count);
    for (int i = 0; i < count; i++) {
        job.first[i] = i;
        needs[i] = true;
    }
    run_text_workers(&job, needs);
    for (int i = 0; i < count; i++) {
        made[i] = job.texts[i].ptx || tasks[i].variant->fails;
        if (job.texts[i].ptx)
            buffer_append(&out[i], job.texts[i].ptx, job.texts[i].size);
    }
}
