/* The workers that make the host object.  LLVM stops the process on what it cannot do, and one process runs on one
 * processor: so code for the processor is made in parts, a worker each, and a last worker makes the module with
 * everything else, which names their functions.  How the variants are divided depends on how many they are and on
 * nothing else, so the object is the same at every -j.  Few variants are not divided: a worker takes some
 * milliseconds, too.
 *
 * A worker's output is
 *   diagnostics…, -1, scratch of each level of its variants, bytes
 * where a place is given as in memory: the parent has the same sources at the same addresses. */
#include "base/child.h"
#include "targets/cpu/cpu.h"
#include "targets/host/host.h"
#include "targets/host/merge.h"
#include <string.h>

enum { WORKER_SECONDS = 900, LEAST_VARIANTS = 2, MOST_PARTS = 16 };

struct host_task {
    const struct target_options *options;
    const struct kernel_module *kernels;
    bool text;
    struct host_cpu_variant *cpu;
    int cpu_count, part_size; /* of variants; part_size 0: all are in the one module */
};

static void write_number(struct buffer *out, int64_t number) { buffer_append(out, &number, sizeof number); }

static void write_message(struct buffer *out, int64_t code, const struct location *at, const char *text)
{
    write_number(out, code);
    buffer_append(out, at, sizeof *at);
    write_number(out, (int64_t)strlen(text));
    buffer_puts(out, text);
}

enum { END = -1, NOTE = -2 };

/* What was reported after `last`. */
static void write_diagnostics(struct buffer *out, const struct diagnostics *diagnostics, const struct diagnostic *last)
{
    const struct diagnostic *d = last ? last->next : diagnostics->first;
    for (; d; d = d->next) {
        write_message(out, (int64_t)d->code, &d->at, d->text);
        for (const struct note *note = d->notes; note; note = note->next)
            write_message(out, NOTE, &note->at, note->text);
    }
    write_number(out, END);
}

static void write_scratch(struct buffer *out, const struct host_cpu_variant *cpu, int count)
{
    for (int i = 0; i < count; i++)
        for (int level = 0; level < HOST_CPU_LEVELS; level++)
            write_number(out, cpu[i].code[level].scratch_bytes);
}

static int finish(const struct host_task *task, struct host_builder *b, LLVMTargetMachineRef machine, bool text,
                  const struct diagnostic *last, struct host_cpu_variant *cpu, int cpu_count, struct buffer *out)
{
    struct buffer bytes = {0};
    int code = 0;
    int64_t from = times_clock();
    host_harden_functions(b);
    if (!b->failed)
        code = host_emit_module(b, machine, text, &bytes);
    times_add_since(task->options->times, TIMES_LLVM_HOST, from);
    write_diagnostics(out, task->options->diagnostics, last);
    write_scratch(out, cpu, cpu_count);
    buffer_append(out, bytes.data, bytes.size);
    return code;
}

static int part_end(const struct host_task *task, int number)
{
    int end = (number + 1) * task->part_size;
    return end < task->cpu_count ? end : task->cpu_count;
}

/* Code of the part's variants. */
static int work_part(void *context, int number, struct buffer *out)
{
    const struct host_task *task = context;
    struct host_builder b = {
        .options = task->options, .kernels = task->kernels, .arena = arena_create(), .has_cpu_code = true};
    const struct diagnostic *last = task->options->diagnostics->last;
    int64_t from = times_clock();
    LLVMTargetMachineRef machine = host_create_machine(&b);
    int first = number * task->part_size, end = part_end(task, number);
    host_begin_module(&b, machine);
    for (int i = first; i < end && !b.failed; i++)
        host_add_cpu_code(&b, &task->cpu[i], true);
    int code = finish(task, &b, machine, false, last, task->cpu + first, end - first, out);
    times_add_worker(task->options->times, from);
    return code;
}

/* Everything else, or everything. */
static int work(void *context, int number, struct buffer *out)
{
    const struct host_task *task = context;
    struct host_builder b = {.options = task->options,
                             .kernels = task->kernels,
                             .arena = arena_create(),
                             .has_cpu_code = task->cpu_count && !task->part_size};
    const struct diagnostic *last = task->options->diagnostics->last;
    int64_t from = times_clock();
    LLVMTargetMachineRef machine = host_create_machine(&b);
    (void)number;
    host_begin_module(&b, machine);
    for (int i = 0; i < task->cpu_count && !b.failed; i++) {
        if (task->part_size)
            host_name_cpu_code(&b, &task->cpu[i]);
        else
            host_add_cpu_code(&b, &task->cpu[i], false);
    }
    if (!b.failed)
        host_build_module(&b, task->cpu, task->cpu_count);
    int code = finish(task, &b, machine, task->text, last, task->cpu, task->part_size ? 0 : task->cpu_count, out);
    times_add_worker(task->options->times, from);
    return code;
}

/* ---- parent ---- */

struct reader {
    const char *at, *end;
};

static bool read_bytes(struct reader *reader, void *data, size_t size)
{
    if ((size_t)(reader->end - reader->at) < size)
        return false;
    memcpy(data, reader->at, size);
    reader->at += size;
    return true;
}

/* Takes the diagnostics off the front; false: they are cut short. */
static bool read_diagnostics(struct reader *reader, struct diagnostics *diagnostics)
{
    struct diagnostic *latest = NULL;
    for (;;) {
        int64_t code, size;
        struct location at;
        if (!read_bytes(reader, &code, sizeof code))
            return false;
        if (code == END)
            return true;
        if (!read_bytes(reader, &at, sizeof at) || !read_bytes(reader, &size, sizeof size) || size < 0 ||
            size > reader->end - reader->at)
            return false;
        if (code == NOTE && latest)
            diag_note(diagnostics, latest, at, "%.*s", (int)size, reader->at);
        else
            latest = diag_report(diagnostics, (enum diagnostic_code)code, at, "%.*s", (int)size, reader->at);
        reader->at += size;
    }
}

static bool read_scratch(struct reader *reader, struct host_cpu_variant *cpu, int count)
{
    for (int i = 0; i < count; i++)
        for (int level = 0; level < HOST_CPU_LEVELS; level++)
            if (!read_bytes(reader, &cpu[i].code[level].scratch_bytes, sizeof(int64_t)))
                return false;
    return true;
}

/* What one worker gave; its bytes are the arena's. */
static bool take_result(const struct host_task *task, struct child_result *result, struct host_cpu_variant *cpu,
                        int count, struct host_part *part)
{
    const struct target_options *options = task->options;
    struct reader reader = {.at = result->output.data ? result->output.data : ""};
    struct location nowhere = {0};
    int errors = options->diagnostics->errors;
    bool whole;
    worker_check_machine(result);
    reader.end = reader.at + result->output.size;
    whole = read_diagnostics(&reader, options->diagnostics) && read_scratch(&reader, cpu, count);
    if (result->exit_code != 0 || !whole || (reader.at == reader.end && options->diagnostics->errors == errors))
        diag_report(options->diagnostics, DIAGNOSTIC_E1102, nowhere, "code for %s could not be made%s%s: %.*s",
                    options->host_triple, result->timed_out ? " in time" : "",
                    result->signal ? " (the worker died)" : "",
                    (int)(result->errors.size < 2000 ? result->errors.size : 2000),
                    result->errors.data ? result->errors.data : "");
    part->size = (size_t)(reader.end - reader.at);
    part->data = arena_copy(options->arena, reader.at, part->size);
    buffer_free(&result->output);
    buffer_free(&result->errors);
    return options->diagnostics->errors == errors;
}

static void add_variant(struct host_task *task, const struct kernel_entry *entry, int variant)
{
    struct host_cpu_variant *cpu = &task->cpu[task->cpu_count++];
    *cpu = (struct host_cpu_variant){.entry = entry, .variant = variant};
    for (int level = 0; level < HOST_CPU_LEVELS; level++)
        if (cpu_has_isa(task->options->host_triple, (enum cpu_isa)level))
            cpu->code[level].symbol = arena_printf(task->options->arena, "%s.%d.%s", entry->symbol, variant,
                                                   cpu_isa_name(task->options->host_triple, (enum cpu_isa)level));
}

static void list_variants(struct host_task *task)
{
    const struct kernel_module *kernels = task->kernels;
    int count = 0;
    for (int i = 0; i < kernels->entries.count; i++)
        count += kernels->entries.data[i].variants.count;
    task->cpu = ARENA_ARRAY(task->options->arena, struct host_cpu_variant, count + 1);
    for (int i = 0; i < kernels->entries.count; i++) {
        const struct kernel_entry *entry = &kernels->entries.data[i];
        for (int v = 0; v < entry->variants.count; v++)
            if (target_rows[entry->variants.data[v].target].kind == TARGET_CPU)
                add_variant(task, entry, v);
    }
}

/* parts[0] is left for the rest of the object. */
static bool run_parts(struct host_task *task, int count, struct host_part *parts)
{
    const struct target_options *options = task->options;
    struct child_result *results = ARENA_ARRAY(options->arena, struct child_result, count);
    bool good = true;
    workers_run(work_part, task, count, options->jobs, (struct child_limits){.seconds = WORKER_SECONDS}, results);
    for (int i = 0; i < count; i++) {
        int first = i * task->part_size;
        good = take_result(task, &results[i], task->cpu + first, part_end(task, i) - first, &parts[1 + i]) && good;
    }
    return good;
}

/* To the variants, for reports: what the level asks for that asks for most. */
static void tell_scratch(const struct host_task *task)
{
    for (int i = 0; i < task->cpu_count; i++) {
        const struct host_cpu_variant *cpu = &task->cpu[i];
        int64_t *most = &cpu->entry->variants.data[cpu->variant].cpu.scratch_bytes;
        for (int level = 0; level < HOST_CPU_LEVELS; level++)
            if (*most < cpu->code[level].scratch_bytes)
                *most = cpu->code[level].scratch_bytes;
    }
}

/* The merger numbers sections in 16 bits; a kernel has up to eight, relocations included, an image up to two. */
static bool may_merge(const struct kernel_module *kernels)
{
    return (int64_t)kernels->entries.count * 8 + (int64_t)kernels->images.count * 2 < 0xf000;
}

static bool run_workers(const struct target_options *options, const struct kernel_module *kernels, bool text,
                        struct buffer *out)
{
    struct host_task task = {.options = options, .kernels = kernels, .text = text};
    struct child_result result = {0};
    int parts = 0;
    list_variants(&task);
    if (!text && task.cpu_count > LEAST_VARIANTS && may_merge(kernels)) {
        task.part_size = (task.cpu_count + MOST_PARTS - 1) / MOST_PARTS;
        if (task.part_size < LEAST_VARIANTS)
            task.part_size = LEAST_VARIANTS;
        parts = (task.cpu_count + task.part_size - 1) / task.part_size;
    }
    struct host_part *objects = ARENA_ARRAY(options->arena, struct host_part, parts + 1);
    if (parts && !run_parts(&task, parts, objects))
        return false;
    workers_run(work, &task, 1, 1, (struct child_limits){.seconds = WORKER_SECONDS}, &result);
    if (!take_result(&task, &result, task.cpu, parts ? 0 : task.cpu_count, &objects[0]))
        return false;
    tell_scratch(&task);
    if (parts)
        host_merge(options->arena, parts + 1, objects, out);
    else
        buffer_append(out, objects[0].data, objects[0].size);
    return true;
}

bool host_object(const struct target_options *options, struct kernel_module *module, struct buffer *object)
{
    return run_workers(options, module, false, object);
}

bool host_emit_llvm(const struct target_options *options, struct kernel_module *module, struct buffer *out)
{
    return run_workers(options, module, true, out);
}
