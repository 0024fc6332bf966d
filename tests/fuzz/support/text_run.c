/* Kernels of a source as programs: the front end's own instances, with arguments made for their parameters. */
#include <stdlib.h>
#include <string.h>

#include "driver/run/host_value.h"
#include "front/front.h"
#include "targets/target.h"
#include "text.h"

enum { LARGEST = 70, MOST_PRINTED = 1 << 14 };

static const char *target_name(int target) { return target_rows[target].name; }
static bool has_clusters(int target) { return target_rows[target].flags & TARGET_CLUSTER; }
static bool multiplies_shared(int target) { return target_rows[target].flags & TARGET_WGMMA; }

/* What "… name=value …" gives; NULL: nothing. */
static const char *value_of(const char *values, const char *name)
{
    size_t size = strlen(name);
    for (const char *at = values; at && *at; at += strcspn(at, " "), at += *at == ' ')
        if (strncmp(at, name, size) == 0 && at[size] == '=')
            return at + size + 1;
    return NULL;
}

static void turn(struct host_argument *argument, int rank)
{
    int64_t stride = 1;
    for (int d = 0; d < rank; d++) {
        argument->stride[d] = stride;
        stride *= int64_max(1, argument->extent[d]);
    }
}

/* One value for each extent name. */
static void make_arguments(const struct kernel_entry *entry, uint64_t seed, const char *values, struct arena *arena,
                           struct host_argument *arguments)
{
    struct random random = {seed};
    const char *value;
    int64_t *names = ARENA_ARRAY(arena, int64_t, entry->names.count + 1);
    const struct kernel_variant *any = entry->variants.count ? &entry->variants.data[0] : NULL;
    int64_t wide = 0; /* a key that covers an extent: rows may be as long as the instances are */
    for (int k = 0; any && k < entry->keys.count; k++) {
        const struct kernel_set *set = &entry->keys.data[k].sets[0];
        if (entry->keys.data[k].at_least)
            wide = int64_min(4200, set->values[set->count - 1]);
    }
    for (int i = 0; i < entry->names.count; i++)
        names[i] = random_chance(&random, 10) ? random_below(&random, 2) : random_between(&random, 1, i ? 5 : LARGEST);
    for (int i = 0; wide && i < entry->names.count; i++)
        names[i] = i == 0 ? random_between(&random, 1, 3) : random_between(&random, 200, (int)wide);
    for (int i = 0; i < entry->names.count; i++)
        if ((value = value_of(values, entry->names.data[i].name)))
            names[i] = atoll(value);
    for (int i = 0; i < entry->parameters.count; i++) {
        const struct kernel_parameter *p = &entry->parameters.data[i];
        value = value_of(values, p->name);
        arguments[i].present = !p->optional || random_chance(&random, 50);
        if (p->kind != KERNEL_VIEW) {
            enum ir_element element = p->kind == KERNEL_SCALAR ? p->element
                                      : p->kind == KERNEL_KEY  ? p->element
                                                               : IR_I32;
            int number = random_between(&random, 0, element == IR_BOOL || p->kind == KERNEL_KEY ? 1 : 6);
            arguments[i].bits = ir_int_to_bits(element, value ? atoll(value) : number);
            continue;
        }
        int64_t stride = 1;
        for (int d = p->rank - 1; d >= 0; d--) { /* one that is absent has its declared extents */
            const struct kernel_expression *extent = p->extent[d];
            const struct kernel_key *key = extent && extent->op == KERNEL_HOST_KEY ? &entry->keys.data[extent->number]
                                                                                   : NULL;
            arguments[i].extent[d] = p->binds[d] >= 0                 ? names[p->binds[d]]
                                     : extent->op == KERNEL_HOST_NAME ? names[extent->number]
                                     : key && key->name_index >= 0    ? names[key->name_index]
                                                                      : p->static_extent[d];
            if (p->nibbles && d == p->rank - 1)
                arguments[i].extent[d] /= 2; /* bytes */
            arguments[i].stride[d] = stride;
            stride *= int64_max(1, arguments[i].extent[d]);
        }
        if (value && strncmp(value, "turned", 6) == 0)
            turn(&arguments[i], p->rank);
        arguments[i].data = arguments[i].present ? (void *)(uintptr_t)FUZZ_ALIGNMENT
                                                 : NULL; /* only asked how it is aligned */
    }
}

static void set_argument(const struct kernel_parameter *p, const struct host_argument *argument,
                         const struct ir_type *type, uint64_t fill, struct fuzz_argument *out)
{
    *out = (struct fuzz_argument){.type = type,
                                  .bits = argument->bits,
                                  .absent = p->kind == KERNEL_VIEW && !argument->present,
                                  .output = p->direction != KERNEL_IN,
                                  .block = 1,
                                  .fill = fill,
                                  .elements = 1};
    for (int d = 0; p->kind == KERNEL_VIEW && d < p->rank; d++) {
        out->extent[d] = argument->extent[d];
        out->stride[d] = argument->stride[d];
        if (out->absent) /* and no strides but those of its type */
            out->stride[d] = type->stride[d] == IR_DYNAMIC ? 0 : type->stride[d];
        out->elements *= int64_max(1, argument->extent[d]);
    }
}

/* Memory that the run time gives; false: too many arguments. */
static bool add_scratch(const struct host_call *call, const struct kernel_variant *variant,
                        struct fuzz_program *program)
{
    const struct kernel_expression **extent = variant->scratch_extents;
    for (int i = 0; i < call->entry->scratch.count; i++) {
        const struct kernel_scratch *scratch = &call->entry->scratch.data[i];
        if (program->argument_count == FUZZ_MAX_ARGUMENTS)
            return false;
        struct fuzz_argument *argument = &program->arguments[program->argument_count];
        *argument = (struct fuzz_argument){
            .type = program->function->body->arguments.data[program->argument_count++]->type,
            .content = scratch->filled ? FUZZ_SCRATCH : FUZZ_POISON,
            .atomic = true,
            .bits = scratch->fill,
            .block = 1,
            .elements = 1};
        for (int d = 0; d < scratch->rank; d++, extent++)
            if (!host_evaluate(call, *extent, &argument->extent[d]) || argument->extent[d] > 1 << 20)
                return false;
        for (int d = scratch->rank - 1; d >= 0; d--) {
            argument->stride[d] = argument->elements;
            argument->elements *= int64_max(1, argument->extent[d]);
        }
    }
    return true;
}

/* The variant as a program; NULL: its facts do not hold for these arguments. */
static struct fuzz_program *make_program(const struct host_call *call, const struct kernel_variant *variant,
                                         uint64_t seed, struct arena *arena)
{
    const struct kernel_entry *entry = call->entry;
    struct fuzz_program *program = ARENA_NEW(arena, struct fuzz_program);
    int64_t holds = 1;
    for (int k = 0; k < entry->keys.count; k++)
        if (variant->key_values[k] != call->keys[k])
            return NULL;
    if (variant->predicate && (!host_evaluate(call, variant->predicate, &holds) || !holds))
        return NULL;
    program->seed = seed;
    program->module = variant->module;
    program->function = variant->function;
    program->function->name = intern(ir_context_names(variant->module->context), "fuzz");
    for (int d = 0; d < variant->grid_rank; d++)
        if (!host_evaluate(call, variant->grid[d], &program->grid[d]) || program->grid[d] < 0 ||
            program->grid[d] > 1000)
            return NULL;
    for (int i = 0; i < entry->parameters.count; i++) {
        const struct kernel_parameter *p = &entry->parameters.data[i];
        if (p->slot < 0)
            continue;
        if (program->argument_count == FUZZ_MAX_ARGUMENTS)
            return NULL;
        const struct ir_type *type = program->function->body->arguments.data[program->argument_count]->type;
        set_argument(p, &call->arguments[i], type, seed * 31 + (uint64_t)i,
                     &program->arguments[program->argument_count++]);
    }
    if (!add_scratch(call, variant, program))
        return NULL;
    if (entry->reports && program->argument_count < FUZZ_MAX_ARGUMENTS) {
        const struct ir_type *type = program->function->body->arguments.data[program->argument_count]->type;
        program->arguments[program->argument_count++] = (struct fuzz_argument){
            .type = type, .content = FUZZ_REPORT, .elements = KERNEL_REPORT_RECORDS + MOST_PRINTED};
    }
    return program->argument_count == program->function->body->arguments.count ? program : NULL;
}

bool fuzz_text_instances(const struct text_request *request, struct ir_context *context, struct arena *arena,
                         struct text_programs *out, struct buffer *problem)
{
    struct source *source = ARENA_NEW(arena, struct source);
    struct diagnostics *diagnostics = diagnostics_create(arena);
    int target = target_find(request->target ? request->target : "cpu");
    struct front_options options = {.arena = arena,
                                    .context = context,
                                    .diagnostics = diagnostics,
                                    .target_count = 1,
                                    .targets = &target,
                                    .target_name = target_name,
                                    .has_clusters = has_clusters,
                                    .multiplies_shared = multiplies_shared,
                                    .spec_count = request->spec != NULL,
                                    .specs = &request->spec,
                                    .strict_fp = true};
    *source = (struct source){
        .name = "random.tile", .text = arena_copy(arena, request->text, request->size), .size = request->size};
    const struct kernel_module *module = front_compile(&options, source, NULL, NULL);
    if (!module || diagnostics->errors) {
        const struct diagnostic *d = diagnostics->first;
        while (d && d->severity != SEVERITY_error)
            d = d->next;
        buffer_printf(problem, "%d: %s", d ? d->at.line : 0, d ? d->text : "nothing came out");
        return false;
    }
    for (int e = 0; e < module->entries.count; e++) {
        const struct kernel_entry *entry = &module->entries.data[e];
        struct host_argument *arguments = ARENA_ARRAY(arena, struct host_argument, entry->parameters.count + 1);
        struct host_call call = {.arena = arena, .entry = entry, .arguments = arguments};
        make_arguments(entry, request->seed + (uint64_t)e, request->values, arena, arguments);
        call.names = ARENA_ARRAY(arena, int64_t, entry->names.count + 1);
        call.keys = ARENA_ARRAY(arena, int64_t, entry->keys.count + 1);
        const char *wrong = host_bind(arena, &call);
        if (wrong)
            continue;
        for (int v = 0; v < entry->variants.count; v++) {
            struct fuzz_program *program = make_program(&call, &entry->variants.data[v], request->seed, arena);
            if (!program)
                continue;
            vector_push(arena, &out->programs, program);
            vector_push(arena, &out->entries, e);
        }
    }
    return true;
}

bool fuzz_text_programs(const char *text, size_t size, uint64_t seed, struct ir_context *context, struct arena *arena,
                        struct text_programs *out, struct buffer *problem)
{
    struct text_request request = {.text = text, .size = size, .seed = seed};
    return fuzz_text_instances(&request, context, arena, out, problem);
}
