/* See emit.h. */
#include <string.h>

#include "emit.h"
#include "judge.h"
#include "ir/text.h"
#include "passes/run.h"

const struct kernel_expression *fuzz_constant_expression(struct arena *arena, int64_t number)
{
    struct kernel_expression *e = ARENA_NEW(arena, struct kernel_expression);
    e->op = KERNEL_HOST_CONSTANT;
    e->number = number;
    e->text = arena_printf(arena, "%lld", (long long)number);
    return e;
}

static const struct kernel_expression *name_expression(struct arena *arena, int index, const char *text)
{
    struct kernel_expression *e = ARENA_NEW(arena, struct kernel_expression);
    e->op = KERNEL_HOST_NAME;
    e->number = index;
    e->text = text;
    return e;
}

static void describe_view(struct arena *arena, struct kernel_entry *entry, int which,
                          const struct fuzz_argument *argument, struct kernel_parameter *parameter)
{
    const struct ir_type *type = argument->type;
    parameter->kind = KERNEL_VIEW;
    parameter->rank = type->rank;
    parameter->direction = type->writable ? KERNEL_INOUT : KERNEL_IN;
    parameter->optional = type->optional;
    parameter->strided = type->stride[type->rank - 1] != 1;
    parameter->huge = argument->extent[0] > INT32_MAX;
    for (int d = 0; d < type->rank; d++) {
        parameter->static_extent[d] = type->extent[d];
        parameter->binds[d] = -1;
        if (type->extent[d] != IR_DYNAMIC) {
            parameter->extent[d] = fuzz_constant_expression(arena, type->extent[d]);
            continue;
        }
        struct kernel_name name = {arena_printf(arena, "n%d_%d", which, d), which, d, 1, 0};
        parameter->binds[d] = entry->names.count;
        parameter->extent[d] = name_expression(arena, entry->names.count, name.name);
        vector_push(arena, &entry->names, name);
    }
}

void fuzz_describe(struct arena *arena, const struct fuzz_program *program, struct kernel_entry *entry)
{
    int slot = 0;
    entry->kernel = entry->symbol = arena_printf(arena, "fuzz_%llu", (unsigned long long)program->seed);
    for (int i = 0; i < program->argument_count; i++) {
        const struct fuzz_argument *argument = &program->arguments[i];
        struct kernel_parameter parameter = {.name = program->function->body->arguments.data[i]->name,
                                             .kind = KERNEL_SCALAR,
                                             .element = argument->type->element,
                                             .key = -1,
                                             .slot = slot};
        if (argument->type->kind == IR_VIEW)
            describe_view(arena, entry, i, argument, &parameter);
        if (argument->alias)
            vector_push(arena, &entry->aliases, ((struct kernel_alias){argument->alias - 1, i}));
        slot += argument->type->kind == IR_VIEW ? 1 + 2 * parameter.rank : 1;
        vector_push(arena, &entry->parameters, parameter);
    }
    for (int d = 0; d < program->function->grid_rank; d++)
        vector_push(arena, &entry->grid_names, arena_printf(arena, "g%d", d));
    entry->slots = slot + program->function->grid_rank + 1;
}

/* A variant for one target, its function run through that target's pipeline. */
static bool add_variant(const struct fuzz_emit *job, struct arena *arena, const struct fuzz_program *program,
                        struct kernel_entry *entry, int target, struct diagnostics *diagnostics)
{
    struct kernel_variant variant = {
        .target = target, .grid_rank = program->function->grid_rank, .label = entry->symbol};
    struct ir_module *module = ir_module_create(program->module->context, arena);
    for (const struct ir_function *each = program->module->first; each; each = each->next)
        ir_function_clone(module, each, each->name);
    variant.module = module;
    variant.function = ir_function_find(module, "fuzz");
    variant.function->name = entry->symbol;
    variant.key_values = ARENA_ARRAY(arena, int64_t, 1);
    for (int d = 0; d < variant.grid_rank; d++)
        variant.grid[d] = fuzz_constant_expression(arena, program->grid[d]);
    struct pass_run run = {0};
    run.passes = pass_pipeline(arena, &target_rows[target], job->optimization, &run.count);
    struct pass_context context = {.arena = arena,
                                   .diagnostics = diagnostics,
                                   .target = &target_rows[target],
                                   .name = "pipeline",
                                   .math_function = fuzz_math_function,
                                   .math_context = fuzz_math_context(arena, variant.module->context, diagnostics)};
    if (!pass_run_all(&run, variant.function, &context))
        return false;
    vector_push(arena, &entry->variants, variant);
    return true;
}

static void put(struct buffer *out, const void *data, size_t size) { buffer_append(out, data, size); }
static void put32(struct buffer *out, uint32_t number) { put(out, &number, 4); }
static void put_number(struct buffer *out, int64_t number) { put(out, &number, 8); }
enum { PLAN_COUNT_AT = 12 };

void fuzz_plan_begin(struct buffer *plan)
{
    put(plan, "TILEPLAN", 8);
    put32(plan, 2);
    put32(plan, 0);
}

void fuzz_plan_end(struct buffer *plan, int programs) { memcpy(plan->data + PLAN_COUNT_AT, &programs, 4); }

void fuzz_plan_program(struct buffer *plan, const struct fuzz_program *program, const struct kernel_entry *entry,
                       const struct fuzz_memory *first, const struct fuzz_memory *expected)
{
    char symbol[32] = "";
    snprintf(symbol, sizeof symbol, "%s", entry->symbol);
    put(plan, symbol, sizeof symbol);
    put(plan, &program->seed, 8);
    put32(plan, (uint32_t)program->argument_count);
    for (int i = 0; i < program->argument_count; i++) {
        const struct fuzz_argument *argument = &program->arguments[i];
        enum ir_element element = argument->type->element;
        bool view = argument->type->kind == IR_VIEW;
        uint64_t bits = argument->bits;
        uint32_t kind = view ? 0 : element == IR_F64 ? 3 : ir_is_float(element) ? 2 : 1;
        if (kind == 2)
            bits = ir_double_to_bits(IR_F32, ir_bits_to_double(element, bits));
        int64_t width = ir_element_info[element].bits / 8, first_of[FUZZ_MOST_WINDOWS] = {0}, elements = 0;
        int64_t bytes = view && !argument->absent && !argument->alias ? argument->elements * width : 0;
        int windows = bytes ? fuzz_windows(argument, first_of, &elements) : 0;
        put32(plan, kind);
        put32(plan, element);
        put32(plan, view ? (uint32_t)argument->type->rank : 0);
        put32(plan, argument->absent);
        put32(plan, (uint32_t)argument->alias);
        put32(plan, (uint32_t)windows);
        put(plan, &bytes, 8);
        put(plan, &bits, 8);
        put(plan, argument->extent, sizeof argument->extent);
        put(plan, argument->stride, sizeof argument->stride);
        put_number(plan, argument->offset * width);
        put_number(plan, elements * width);
        for (int w = 0; w < FUZZ_MOST_WINDOWS; w++)
            put_number(plan, first_of[w] * width);
        for (int w = 0; w < windows; w++)
            put(plan, (const char *)first->arguments[i].data + first_of[w] * width, (size_t)(elements * width));
        for (int w = 0; w < windows; w++)
            put(plan, (const char *)expected->arguments[i].data + first_of[w] * width, (size_t)(elements * width));
    }
}

struct emitter {
    const struct fuzz_emit *job;
    struct arena *arena;
    struct kernel_module *kernels;
    struct diagnostics *diagnostics;
    struct buffer *plan, *report;
    int programs, *skipped;
};

static bool add_program(struct emitter *e, struct ir_context *context, uint64_t seed)
{
    struct fuzz_program *program = fuzz_generate(context, e->arena, seed, e->job->limits);
    struct kernel_entry entry = {0};
    struct interp_problem problem;
    struct fuzz_memory *reference;
    struct buffer reason = {0};
    bool sound = fuzz_is_sound(program, e->arena, &reference,
                               &reason); /* else its results hang on an order that is free */
    if (reference)
        fuzz_memory_free(reference);
    if (!sound)
        buffer_printf(e->report, "seed %llu is left out: %s\n", (unsigned long long)seed,
                      reason.data ? reason.data : "");
    buffer_free(&reason);
    if (!sound)
        return true;
    fuzz_describe(e->arena, program, &entry);
    for (int t = 0; t < e->job->target_count; t++) {
        int errors = e->diagnostics->errors;
        if (add_variant(e->job, e->arena, program, &entry, target_find(e->job->targets[t]), e->diagnostics))
            continue;
        buffer_printf(e->report, "seed %llu for %s: %s\n", (unsigned long long)seed, e->job->targets[t],
                      e->diagnostics->errors > errors ? e->diagnostics->last->text : "the pipeline failed");
        ++*e->skipped;
        return true;
    }
    struct fuzz_memory *first = fuzz_memory_create(program), *expected = fuzz_memory_create(program);
    bool good = fuzz_interpret(program, program->function, expected, false, &problem);
    if (good)
        fuzz_plan_program(e->plan, program, &entry, first, expected);
    else
        buffer_printf(e->report, "seed %llu: %s\n", (unsigned long long)seed, problem.text);
    fuzz_memory_free(first);
    fuzz_memory_free(expected);
    vector_push(e->arena, &e->kernels->entries, entry);
    e->programs++;
    return good;
}

/* Code for the GPU variants, one call a target. */
static bool compile_gpu(struct emitter *e, const struct target_options *options)
{
    VECTOR(struct nvptx_task) tasks = {0};
    for (int i = 0; i < e->kernels->entries.count; i++) {
        struct kernel_entry *entry = &e->kernels->entries.data[i];
        for (int v = 0; v < entry->variants.count; v++)
            if (target_rows[entry->variants.data[v].target].kind == TARGET_NVPTX) {
                struct nvptx_task task = {entry, &entry->variants.data[v]};
                vector_push(e->arena, &tasks, task);
            }
    }
    return !tasks.count || nvptx_compile(options, e->kernels, tasks.count, tasks.data);
}

bool fuzz_emit(const struct fuzz_emit *job, struct buffer *object, struct buffer *plan, int *skipped,
               struct buffer *report)
{
    struct arena *arena = arena_create();
    struct ir_context *context = ir_context_create(arena);
    struct kernel_module kernels = {.source_name = "fuzz", .stem = "fuzz"};
    struct emitter e = {job, arena, &kernels, diagnostics_create(arena), plan, report, 0, skipped};
    struct target_options options = {.arena = arena,
                                     .context = context,
                                     .diagnostics = e.diagnostics,
                                     .ptxas = job->ptxas,
                                     .optimization = job->optimization,
                                     .host_triple = job->host_triple,
                                     .jobs = 2,
                                     .log = stderr};
    e.diagnostics->limit = 0;
    fuzz_plan_begin(plan);
    bool good = true;
    for (int i = 0; i < job->count && good; i++)
        good = add_program(&e, context, job->first + (uint64_t)i);
    fuzz_plan_end(plan, e.programs);
    good = good && compile_gpu(&e, &options) && host_object(&options, &kernels, object);
    for (const struct diagnostic *d = e.diagnostics->first; d; d = d->next)
        if (!good)
            buffer_printf(report, "%s: %s\n", diagnostic_info[d->code].code, d->text);
    arena_destroy(arena);
    return good;
}
