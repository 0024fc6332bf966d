/* Code for the processor: a function for each variant and level of instructions, and one for all that are the same.
 *
 *   IR of variants  ->  bitcode behind LLVM's passes  ->  an ELF object each
 *
 * What is the same at one of these steps is one at the next, and no object is there twice.  Both arrows are workers,
 * since LLVM stops the process on what it cannot do, and one process runs on one processor.  A worker makes several
 * functions, for it takes some milliseconds by itself; which ones changes nothing, because each is a module of its own,
 * under the same name in all of them.  So the cache may keep each by itself. */
#include "targets/common/code_key.h"
#include "targets/common/same_code.h"
#include "targets/cpu/cpu.h"
#include "targets/host/host.h"

#include <llvm-c/BitReader.h>
#include <llvm-c/BitWriter.h>

enum { WORKER_SECONDS = 900, LEAST_FUNCTIONS = 6, MOST_PARTS = 16 };

/* Functions to make, by number, in parts for workers. */
struct making {
    struct host_functions *functions;
    const int *numbers;
    int count, part_size;
};

static void add_function(struct host_functions *functions, const struct kernel_entry *entry,
                         struct kernel_variant *variant, int number, int level)
{
    const char *triple = functions->options->host_triple;
    struct host_function *function = &functions->data[functions->count];
    *function = (struct host_function){.entry = entry, .variant = variant, .level = level, .first = functions->count++};
    function->symbol = arena_printf(functions->options->arena, "%s.%d.%s", entry->symbol, number,
                                    cpu_isa_name(triple, (enum cpu_isa)level));
}

static bool is_wanted(const struct target_options *options, int level)
{
    return cpu_has_isa(options->host_triple, (enum cpu_isa)level) &&
           (!options->cpu_isas || options->cpu_isas >> level & 1);
}

/* Those of the same IR have the code of the first. */
static void find_same_ir(struct host_functions *functions)
{
    for (int i = 0; i < functions->count; i++) {
        struct host_function *function = &functions->data[i];
        int code = function->variant->code;
        for (int k = 0; k < i && code && functions->options->share_code && function->first == i; k++)
            if (functions->data[k].variant->code == code && functions->data[k].level == function->level)
                function->first = k;
    }
}

void host_list_functions(struct host_functions *functions)
{
    const struct kernel_module *kernels = functions->kernels;
    int most = 0;
    for (int i = 0; i < kernels->entries.count; i++)
        most += KERNEL_CPU_LEVELS * kernels->entries.data[i].variants.count;
    functions->data = ARENA_ARRAY(functions->options->arena, struct host_function, most + 1);
    for (int i = 0; i < kernels->entries.count; i++) {
        const struct kernel_entry *entry = &kernels->entries.data[i];
        for (int v = 0; v < entry->variants.count; v++)
            for (int level = 0; level < KERNEL_CPU_LEVELS; level++)
                if (target_rows[entry->variants.data[v].target].kind == TARGET_CPU &&
                    is_wanted(functions->options, level))
                    add_function(functions, entry, &entry->variants.data[v], v, level);
    }
    find_same_ir(functions);
}

void host_tell_functions(const struct host_functions *functions)
{
    for (int i = 0; i < functions->count; i++) {
        const struct host_function *function = &functions->data[i], *first = &functions->data[function->first];
        struct kernel_cpu_code *cpu = &function->variant->cpu;
        cpu->level[function->level] = (struct kernel_cpu_level){first->symbol, first->scratch_bytes};
        if (cpu->scratch_bytes < first->scratch_bytes)
            cpu->scratch_bytes = first->scratch_bytes;
    }
}

/* ---- what was made before ---- */

static bool has_code(const struct host_function *function) { return function->code.data != NULL; }

/* Of an object where bitcode is there already. */
static void put_key(const struct target_options *options, const struct kernel_module *kernels,
                    const struct host_function *function, struct buffer *key)
{
    const struct kernel_entry *entry = function->entry;
    if (has_code(function)) {
        cache_put_kind(options->cache, key, "object of a processor");
        cache_put_digest(key, "bitcode", function->code.data, function->code.size);
    } else {
        code_key_begin(options, function->variant, "bitcode of a processor", key);
        for (int i = 0; i < entry->aliases.count; i++)
            buffer_printf(key, "alias %d %d\n", entry->aliases.data[i].a, entry->aliases.data[i].b);
        for (int i = 0; i < entry->parameters.count; i++)
            buffer_printf(key, "slot %d\n", entry->parameters.data[i].slot);
        buffer_printf(key, "%s\n%s\n", kernels->stem, entry->kernel);
    }
    buffer_printf(key, "%s\nlevel %d\noptimization %d\n", options->host_triple, function->level, options->optimization);
}

/* Scratch, size and bytes. */
static bool take_code(struct host_reader *reader, struct arena *arena, struct host_function *function)
{
    int64_t size;
    return host_read_number(reader, &function->scratch_bytes) && host_read_number(reader, &size) &&
           host_read_part(reader, arena, size, &function->code);
}

static bool find_code(const struct host_functions *functions, struct host_function *function)
{
    const struct target_options *options = functions->options;
    struct buffer key = {0}, value = {0};
    bool found = false;
    if (options->cache) {
        put_key(options, functions->kernels, function, &key);
        found = cache_find(options->cache, &key, &value);
    }
    struct host_reader reader = {value.data, value.data + value.size};
    found = found && take_code(&reader, options->arena, function);
    buffer_free(&key);
    buffer_free(&value);
    return found;
}

static void keep_code(const struct host_functions *functions, const struct host_function *function, const char *made,
                      size_t size)
{
    const struct target_options *options = functions->options;
    struct buffer key = {0};
    if (options->cache) {
        put_key(options, functions->kernels, function, &key);
        cache_keep(options->cache, &key, made, size);
    }
    buffer_free(&key);
}

/* ---- workers ---- */

/* Of one that is made. */
static void write_code(struct buffer *out, const struct host_function *function, const void *data, size_t size)
{
    host_write_number(out, function->scratch_bytes);
    host_write_number(out, (int64_t)size);
    buffer_append(out, data, size);
}

static int make_bitcode(struct host_builder *b, LLVMTargetMachineRef machine, struct host_function *function,
                        struct buffer *out)
{
    host_begin_module(b, machine);
    LLVMContextSetDiscardValueNames(b->llvm, true);
    host_add_function(b, function, true);
    host_harden_functions(b);
    int code = b->failed ? 0 : host_optimize_module(b, machine);
    if (!b->failed && code == 0) {
        LLVMMemoryBufferRef bits = LLVMWriteBitcodeToMemoryBuffer(b->module);
        write_code(out, function, LLVMGetBufferStart(bits), LLVMGetBufferSize(bits));
        LLVMDisposeMemoryBuffer(bits);
    }
    host_end_module(b);
    return code;
}

static int make_object(struct host_builder *b, LLVMTargetMachineRef machine, struct host_function *function,
                       struct buffer *out)
{
    struct buffer object = {0};
    LLVMMemoryBufferRef bits = LLVMCreateMemoryBufferWithMemoryRangeCopy(function->code.data, function->code.size, "");
    b->llvm = LLVMContextCreate();
    if (LLVMParseBitcodeInContext2(b->llvm, bits, &b->module))
        die("LLVM cannot read what it wrote");
    LLVMDisposeMemoryBuffer(bits);
    int code = host_emit_module(b, machine, false, &object);
    write_code(out, function, object.data, object.size);
    buffer_free(&object);
    host_end_module(b);
    return code;
}

typedef int make_function(struct host_builder *b, LLVMTargetMachineRef machine, struct host_function *function,
                          struct buffer *out);

static int part_end(const struct making *making, int part)
{
    int end = (part + 1) * making->part_size;
    return end < making->count ? end : making->count;
}

static int make_part(const struct making *making, int part, make_function *make, struct buffer *out)
{
    const struct target_options *options = making->functions->options;
    struct host_builder b = {
        .options = options, .kernels = making->functions->kernels, .arena = arena_create(), .has_cpu_code = true};
    const struct diagnostic *last = options->diagnostics->last;
    struct buffer made = {0};
    int64_t begin = times_clock();
    LLVMTargetMachineRef machine = host_create_machine(&b);
    int64_t from = times_clock();
    int code = 0;
    for (int i = part * making->part_size; i < part_end(making, part) && !b.failed && code == 0; i++) {
        struct host_function *function = &making->functions->data[making->numbers[i]];
        size_t before = made.size;
        code = make(&b, machine, function, &made);
        if (!b.failed && code == 0 && options->diagnostics->last == last)
            keep_code(making->functions, function, made.data + before, made.size - before);
    }
    times_add_since(options->times, TIMES_LLVM_HOST, from);
    host_write_diagnostics(out, options->diagnostics, last);
    buffer_append(out, made.data, made.size);
    times_add_worker(options->times, begin);
    return code;
}

static int work_on_bitcode(void *context, int part, struct buffer *out)
{
    return make_part(context, part, make_bitcode, out);
}

static int work_on_object(void *context, int part, struct buffer *out)
{
    return make_part(context, part, make_object, out);
}

/* ---- parent ---- */

static void show_part(const struct making *making, int part, bool counts)
{
    struct progress *progress = making->functions->options->progress;
    for (int i = part * making->part_size; i < part_end(making, part); i++) {
        const struct host_function *function = &making->functions->data[making->numbers[i]];
        progress_show(progress, function->variant->label ? function->variant->label : function->entry->symbol);
        if (counts && function->level == 0)
            progress_pass(progress, 1);
    }
}

static void show_bitcode(void *context, int part) { show_part(context, part, true); }
static void show_object(void *context, int part) { show_part(context, part, false); }

static bool take_part(const struct making *making, int part, struct child_result *result)
{
    const struct target_options *options = making->functions->options;
    struct host_reader reader;
    bool good = host_read_result(options, result, &reader), whole = true;
    for (int i = part * making->part_size; i < part_end(making, part) && good && whole; i++)
        whole = take_code(&reader, options->arena, &making->functions->data[making->numbers[i]]);
    if (!whole)
        good = host_report_broken(options, result);
    buffer_free(&result->output);
    buffer_free(&result->errors);
    return good;
}

/* Of each function that is its own first and was not made before. */
static bool run_workers(struct host_functions *functions, worker_function *work, worker_notice *show)
{
    const struct target_options *options = functions->options;
    int count = 0, *numbers = ARENA_ARRAY(options->arena, int, functions->count + 1);
    for (int i = 0; i < functions->count; i++)
        if (functions->data[i].first == i && !find_code(functions, &functions->data[i]))
            numbers[count++] = i;
        else if (show == show_bitcode && functions->data[i].level == 0)
            progress_pass(options->progress, 1);
    struct making making = {functions, numbers, count, (count + MOST_PARTS - 1) / MOST_PARTS};
    if (making.part_size < LEAST_FUNCTIONS)
        making.part_size = LEAST_FUNCTIONS;
    int parts = (count + making.part_size - 1) / making.part_size;
    struct child_result *results = ARENA_ARRAY(options->arena, struct child_result, parts + 1);
    bool good = true;
    workers_run_noticed(work, show, &making, parts, options->jobs, (struct child_limits){.seconds = WORKER_SECONDS},
                        results);
    for (int i = 0; i < parts; i++)
        good = take_part(&making, i, &results[i]) && good;
    return good;
}

/* Those whose bitcode, or ELF, is the same. */
static void find_same_code(struct host_functions *functions)
{
    struct arena *arena = functions->options->arena;
    struct same_code_text *texts = ARENA_ARRAY(arena, struct same_code_text, functions->count + 1);
    int *found = ARENA_ARRAY(arena, int, functions->count + 1);
    for (int i = 0; i < functions->count; i++) {
        const struct host_function *function = &functions->data[i];
        if (function->first == i)
            texts[i] = (struct same_code_text){function->entry, function->code.data, function->code.size, 0};
    }
    same_code_find(functions->count, texts, found);
    for (int i = 0; i < functions->count; i++) {
        struct host_function *function = &functions->data[i];
        function->first = function->first == i ? found[i] : functions->data[function->first].first;
    }
}

/* A variant whose functions all are another's has its code. */
static void number_variants(const struct host_functions *functions)
{
    for (int i = 0, next; i < functions->count; i = next) {
        const struct kernel_variant *other = functions->data[functions->data[i].first].variant;
        bool same = true;
        for (next = i; next < functions->count && functions->data[next].variant == functions->data[i].variant; next++)
            same = same && functions->data[functions->data[next].first].variant == other;
        if (same)
            functions->data[i].variant->code = other->code;
    }
}

/* Code that other entries have, too, is in a section of its own: the linker keeps it without the entry. */
static void name_objects(struct host_functions *functions)
{
    for (int i = 0; i < functions->count; i++) {
        struct host_function *first = &functions->data[functions->data[i].first];
        bool is_shared = functions->data[i].entry != first->entry;
        if (functions->data[i].first != i && !is_shared)
            continue;
        first->code.symbol = first->symbol;
        first->code.section = arena_printf(functions->options->arena, ".text.%s.%s", is_shared ? "tile_shared" : "tile",
                                           first->entry->symbol);
    }
}

bool host_make_functions(struct host_functions *functions)
{
    bool shares = functions->options->share_code;
    if (!run_workers(functions, work_on_bitcode, show_bitcode))
        return false;
    if (shares)
        find_same_code(functions);
    if (!run_workers(functions, work_on_object, show_object))
        return false;
    if (shares) {
        find_same_code(functions);
        number_variants(functions);
    }
    name_objects(functions);
    return true;
}
