/* The steps to a host object, in workers: LLVM stops the process on what it cannot do.
 *
 *   code for the processor  ->  variants that are the same but for their conditions become one  ->  everything else
 *
 * For --emit=llvm, which shows one module, all of it is made at once. */
#include "targets/common/same_code.h"
#include "targets/host/host.h"

enum { WORKER_SECONDS = 900 };

struct host_task {
    const struct target_options *options;
    const struct kernel_module *kernels;
    struct host_functions functions;
    bool text, has_code; /* code for the processor is made already */
    bool images_apart;
};

/* Sends the bytes home behind the scratch of the functions that are made with them. */
static int finish(const struct host_task *task, struct host_builder *b, LLVMTargetMachineRef machine,
                  const struct diagnostic *last, struct buffer *out)
{
    struct buffer bytes = {0};
    int code = 0;
    int64_t from = times_clock();
    host_harden_functions(b);
    if (!b->failed)
        code = host_optimize_module(b, machine);
    if (!b->failed && code == 0)
        code = host_emit_module(b, machine, task->text, &bytes);
    times_add_since(task->options->times, TIMES_LLVM_HOST, from);
    host_write_diagnostics(out, task->options->diagnostics, last);
    for (int i = 0; i < task->functions.count; i++)
        host_write_number(out, task->functions.data[i].scratch_bytes);
    buffer_append(out, bytes.data, bytes.size);
    buffer_free(&bytes);
    return code;
}

static int work(void *context, int number, struct buffer *out)
{
    const struct host_task *task = context;
    struct host_builder b = {.options = task->options,
                             .kernels = task->kernels,
                             .arena = arena_create(),
                             .images_apart = task->images_apart,
                             .has_cpu_code = task->functions.count && !task->has_code};
    const struct diagnostic *last = task->options->diagnostics->last;
    int64_t from = times_clock();
    LLVMTargetMachineRef machine = host_create_machine(&b);
    (void)number;
    host_begin_module(&b, machine);
    for (int i = 0; i < task->functions.count && !task->has_code && !b.failed; i++) {
        struct host_function *function = &task->functions.data[i];
        if (function->first == i)
            host_add_function(&b, function, false);
    }
    if (task->has_code)
        host_name_functions(&b);
    else
        host_tell_functions(&task->functions);
    if (!b.failed)
        host_build_module(&b);
    int code = finish(task, &b, machine, last, out);
    times_add_worker(task->options->times, from);
    return code;
}

/* ---- parent ---- */

/* The module with everything else, or everything. */
static bool make_module(struct host_task *task, struct host_part *made)
{
    const struct target_options *options = task->options;
    struct child_result result = {0};
    struct host_reader reader;
    workers_run(work, task, 1, 1, (struct child_limits){.seconds = WORKER_SECONDS}, &result);
    bool good = host_read_result(options, &result, &reader), whole = true;
    for (int i = 0; i < task->functions.count && good && whole; i++)
        whole = host_read_number(&reader, &task->functions.data[i].scratch_bytes);
    whole = whole && (!good || host_read_part(&reader, options->arena, reader.end - reader.at, made));
    if (!whole || (good && !made->size))
        good = host_report_broken(options, &result);
    buffer_free(&result.output);
    buffer_free(&result.errors);
    return good;
}

/* The merger numbers sections in 16 bits; a kernel has up to ten, relocations included, an image up to two. */
static bool may_merge(const struct kernel_module *kernels)
{
    return (int64_t)kernels->entries.count * 10 + (int64_t)kernels->images.count * 2 < 0xf000;
}

/* Together with code for the processor and images. */
static void merge(const struct host_task *task, const struct host_part *module, struct buffer *out)
{
    struct arena *arena = task->options->arena;
    int images = task->images_apart ? host_list_images(arena, task->kernels, NULL) : 0, count = 0;
    struct host_part *parts = ARENA_ARRAY(arena, struct host_part, task->functions.count + images + 1);
    parts[count++] = *module;
    for (int i = 0; i < task->functions.count && task->has_code; i++)
        if (task->functions.data[i].first == i)
            parts[count++] = task->functions.data[i].code;
    if (images)
        count += host_list_images(arena, task->kernels, parts + count);
    if (count > 1)
        host_merge(arena, count, parts, out);
    else
        buffer_append(out, module->data, module->size);
}

static void merge_variants(const struct target_options *options, struct kernel_module *kernels)
{
    for (int i = 0; i < kernels->entries.count && options->share_code; i++)
        same_code_merge(options->arena, &kernels->entries.data[i]);
}

static bool make_all(const struct target_options *options, struct kernel_module *kernels, bool text, struct buffer *out)
{
    struct host_task task = {
        .options = options, .kernels = kernels, .functions = {.options = options, .kernels = kernels}, .text = text};
    bool merges = !text && may_merge(kernels);
    struct host_part module = {0};
    merge_variants(options, kernels); /* of GPUs, whose code is there */
    host_list_functions(&task.functions);
    task.has_code = merges && task.functions.count > 0;
    task.images_apart = merges;
    if (task.has_code) {
        if (!host_make_functions(&task.functions))
            return false;
        host_tell_functions(&task.functions);
        merge_variants(options, kernels);
    }
    if (!make_module(&task, &module))
        return false;
    if (!task.has_code)
        host_tell_functions(&task.functions);
    merge(&task, &module, out);
    return true;
}

bool host_object(const struct target_options *options, struct kernel_module *module, struct buffer *object)
{
    return make_all(options, module, false, object);
}

bool host_emit_llvm(const struct target_options *options, struct kernel_module *module, struct buffer *out)
{
    return make_all(options, module, true, out);
}
