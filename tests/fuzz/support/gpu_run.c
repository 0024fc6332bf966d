/* A program as PTX of a target, run by the reader of PTX in ptx.h. */
#include <stdlib.h>
#include <string.h>

#include "ir/facts/shared_form.h"
#include "ir/query.h"
#include "judge.h"
#include "passes/run.h"
#include "ptx.h"
#include "targets/nvptx/assemble/assemble.h"
#include "targets/target.h"

static const char no_map[] = "code for these arguments is not there yet: no tensor map fits them";

/* What the run time leaves out, as code asks for it: a use of such a map is a fault. */
static bool is_left_out(const struct tensor_map *map, const struct interp_argument *argument)
{
    int bytes = ir_element_info[map->element].bits / 8, own = map->part < 0 ? map->rank : map->rank - 2;
    int64_t all = (int64_t)(uintptr_t)argument->data | argument->extent[map->dimension[0]] * bytes;
    for (int d = 1; d < own; d++)
        all |= argument->stride[map->dimension[d]] * bytes;
    return map->asked && all % 16 != 0;
}

/* What the run time tells of a view to whom makes the map; false: it would look for code without one. */
static bool make_map(const struct tensor_map *map, const struct interp_argument *argument, bool output,
                     struct ptx_map *out)
{
    int bytes = ir_element_info[map->element].bits / 8;
    bool empty = false;
    *out = (struct ptx_map){.address = (uint64_t)(uintptr_t)argument->data,
                            .rank = map->rank,
                            .bytes = bytes,
                            .swizzle = map->swizzle,
                            .rounds = map->rounds};
    int own = map->part < 0 ? map->rank : map->rank - 2;
    if (is_left_out(map, argument)) {
        *out = (struct ptx_map){0};
        return true;
    }
    for (int d = 0; d < own; d++) {
        int64_t extent = argument->extent[map->dimension[d]], stride = argument->stride[map->dimension[d]];
        out->extent[d] = extent;
        out->stride[d] = stride * bytes;
        out->box[d] = map->box[d];
        empty |= extent == 0;
        if (extent > 1 && (d ? stride <= 0 || stride * bytes % 16 : stride != 1))
            return false;
    }
    for (int d = own; d < map->rank; d++) { /* see TENSOR_MAP_PART */
        int64_t stride = argument->stride[map->part];
        out->extent[d] = INT32_MAX;
        out->stride[d] = (d == own ? stride : (INT64_C(1) << 34) - stride) * bytes;
        out->box[d] = 1;
        if (stride <= 0 || stride * bytes % 16)
            return false;
    }
    for (int d = 0; d < own; d++)
        if (map->dimension[d] == map->part) {
            out->extent[d] = TENSOR_MAP_PART;
            out->stride[d] = argument->stride[map->part] * bytes;
        }
    return empty || (out->address % 16 == 0 && (!output || out->extent[0] * bytes % 16 == 0));
}

static bool make_maps(struct arena *arena, const struct fuzz_program *program, const struct fuzz_memory *memory,
                      struct ptx_launch *launch)
{
    struct tensor_map *maps = NULL;
    launch->map_count = tensor_map_collect(arena, program->function, &maps);
    struct ptx_map *made = ARENA_ARRAY(arena, struct ptx_map, launch->map_count + 1);
    for (int i = 0; i < launch->map_count; i++)
        if (!make_map(&maps[i], &memory->arguments[maps[i].argument], program->arguments[maps[i].argument].output,
                      &made[i]))
            return false;
    launch->maps = made;
    return true;
}

/* What the text does not say of atomics that are loops: whether those on words of a size may be of bytes, or of a kind
 * that commutes and whose results nobody looks at. */
static void look_at_atomic(struct ir_operation *op, void *context)
{
    struct ptx_launch *launch = context;
    if (!(ir_op_info[op->opcode].traits & IR_TRAIT_ATOMIC))
        return;
    enum ir_element element = op->results[0]->type->element;
    int64_t action = ir_number(op, IR_ATTRIBUTE_ACTION, -1);
    int bytes = ir_element_info[element].bits / 8;
    launch->byte_atomics |= bytes == 1;
    if (!op->results[0]->uses && action >= 0 && action < IR_ACTION_EXCHANGE &&
        (bytes < 4 || (ir_is_float(element) && action != IR_ACTION_ADD)))
        launch->commuting_loops |= bytes == 1 ? 4 : bytes;
}

/* Arguments that all programs share take atomics that commute; others, and views of them, what they want. */
static void list_memories(struct arena *arena, const struct fuzz_program *program, const struct fuzz_memory *memory,
                          struct ptx_launch *launch)
{
    struct ptx_memory *made = ARENA_ARRAY(arena, struct ptx_memory, memory->count + 1);
    for (int i = 0; i < memory->count; i++) {
        made[i] = (struct ptx_memory){memory->memories[i].data, memory->memories[i].size, memory->memories[i].read_only,
                                      false};
        for (int k = 0; k < program->argument_count; k++)
            made[i].commutes |= program->arguments[k].atomic && memory->arguments[k].data == made[i].data;
    }
    launch->memories = made;
    launch->memory_count = memory->count;
    ir_walk(program->function->body, look_at_atomic, launch);
}

bool fuzz_gpu_run(struct fuzz_program *program, const struct fuzz_gpu_code *code, const struct fuzz_memory *reference,
                  int64_t most_steps, struct buffer *problem, struct buffer *difference)
{
    enum { MULTIPROCESSORS = 2 };
    struct arena *arena = arena_create();
    struct fuzz_memory *got = fuzz_memory_create(program);
    uint64_t *slots = ARENA_ARRAY(arena, uint64_t, FUZZ_MOST_SLOTS);
    int64_t programs, most = MULTIPROCESSORS;
    struct ptx_launch launch = {.slots = slots,
                                .shared_bytes = code->shared_bytes,
                                .seed = program->seed,
                                .most_steps = most_steps,
                                .ran = code->ran,
                                .cluster = ir_cluster_blocks(program->function)};
    launch.slot_count = fuzz_fill_slots(program, got, slots, &programs);
    launch.blocks = (int)(program->function->persistent && programs > most ? most : programs);
    if (program->function->together)
        launch.blocks = (launch.blocks + program->function->together - 1) / program->function->together;
    if (launch.cluster > 1)
        launch.blocks = (launch.blocks + launch.cluster - 1) / launch.cluster * launch.cluster;
    list_memories(arena, program, got, &launch);
    char text[200];
    if (!make_maps(arena, program, got, &launch)) {
        buffer_puts(problem, no_map);
    } else {
        const struct ptx_module *module = ptx_read(arena, code->text.data, problem);
        if (module && ptx_run(arena, module, &launch, problem) &&
            !fuzz_near(program, reference, got, code->tolerance, text, sizeof text)) {
            buffer_puts(problem, "the result differs");
            if (difference)
                buffer_puts(difference, text);
        }
    }
    fuzz_memory_free(got);
    arena_destroy(arena);
    return !problem->size;
}

/* The pipeline, or what is left of it for a program that is at a later level already. */
static void choose_passes(const struct judge *judge, const struct target_row *row, const struct fuzz_program *program,
                          struct arena *arena, struct pass_run *run)
{
    int count;
    const struct pass_info *const *all = pass_pipeline(arena, row, judge->raw ? 0 : 2, &count),
                                  **kept = ARENA_ARRAY(arena, const struct pass_info *, count);
    enum ir_level level = program->function->level;
    for (int i = 0; i < count; i++) {
        if (all[i]->in != all[i]->out && level > all[i]->in)
            continue;
        level = level > all[i]->out ? level : all[i]->out;
        kept[run->count++] = all[i];
    }
    run->passes = kept;
}

bool fuzz_gpu_make(const struct judge *judge, struct fuzz_program *program, struct arena *arena,
                   struct fuzz_gpu_code *code, struct buffer *reason)
{
    struct diagnostics *diagnostics = diagnostics_create(arena);
    const struct target_row *row = &target_rows[target_find(judge->target ? judge->target : "sm_80")];
    struct target_options options = {.arena = arena,
                                     .context = program->module->context,
                                     .diagnostics = diagnostics,
                                     .optimization = judge->raw ? 0 : 2,
                                     .jobs = 1,
                                     .strict_fp = true};
    struct pass_context context = {
        .arena = arena,
        .diagnostics = diagnostics,
        .target = row,
        .name = "pipeline",
        .math_function = fuzz_math_function,
        .math_context = judge->math ? judge->math : fuzz_math_context(arena, program->module->context, diagnostics)};
    struct pass_run passes = {0};
    choose_passes(judge, row, program, arena, &passes);
    if (pass_run_all(&passes, program->function, &context) &&
        nvptx_make_ptx(&options, row, program->function, false, &code->text, &code->shared_bytes))
        return true;
    buffer_printf(reason, "%s: ", row->name);
    fuzz_put_kind(reason, diagnostics->first ? diagnostics->first->text : "no text");
    return false;
}

/* What a call runs whose arguments lack what the facts say of addresses and strides: the program without them. */
static struct fuzz_program *general(struct fuzz_program *program, struct arena *arena, const struct buffer *text)
{
    struct source *source = ARENA_NEW(arena, struct source);
    *source = (struct source){.name = "general", .text = text->data, .size = text->size};
    struct fuzz_program *made = fuzz_read_program(program->module->context, arena, diagnostics_create(arena), source);
    if (!made)
        die("a program that was printed cannot be read");
    for (int i = 0; i < made->function->facts.count; i++) {
        struct ir_argument_fact *fact = &made->function->facts.data[i];
        fact->base_alignment = 0;
        memset(fact->stride_multiple, 0, sizeof fact->stride_multiple);
        memset(fact->extent_multiple, 0, sizeof fact->extent_multiple);
    }
    return made;
}

static bool judge_variant(const struct judge *judge, struct fuzz_program *program, const struct fuzz_memory *reference,
                          struct buffer *reason)
{
    struct arena *arena = arena_create();
    struct fuzz_gpu_code code = {0};
    struct buffer problem = {0}, difference = {0};
    bool fits = true;
    if (fuzz_gpu_make(judge, program, arena, &code, reason) &&
        !fuzz_gpu_run(program, &code, reference, 0, &problem, &difference)) {
        fits = strcmp(problem.data, no_map) != 0;
        if (fits) {
            buffer_printf(reason, "%s: ", judge->target ? judge->target : "sm_80");
            fuzz_put_kind(reason, problem.data);
            if (judge->announce)
                fprintf(stderr, "%s %s\n%s", problem.data, difference.size ? difference.data : "", code.text.data);
        }
    }
    buffer_free(&code.text);
    buffer_free(&problem);
    buffer_free(&difference);
    arena_destroy(arena);
    return fits;
}

void fuzz_judge_gpu(const struct judge *judge, struct fuzz_program *program, const struct fuzz_memory *reference,
                    int64_t *runs, struct buffer *reason)
{
    struct arena *arena = arena_create();
    struct buffer text = {0};
    fuzz_print_program(&text, program);
    ++*runs;
    if (!judge_variant(judge, program, reference, reason) &&
        !judge_variant(judge, general(program, arena, &text), reference, reason))
        buffer_puts(reason, no_map);
    buffer_free(&text);
    arena_destroy(arena);
}
