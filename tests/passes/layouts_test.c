/* Layouts that the Schedule passes assign, checked thread by thread on random programs: what an operation takes from
 * its operands must be in the same thread, in a register that is the same in all threads.  Knows nothing of the
 * passes' rules. */
#include <stdlib.h>
#include <string.h>

#include "ir/layout/layout.h"
#include "ir/text.h"
#include "ir/verify/verify.h"
#include "passes/run.h"

static int checks, failures;
static const char *program_text;

static void fail(const struct ir_operation *op, const char *what)
{
    struct buffer text = {0};
    if (failures++ < 10) {
        ir_print_operation(&text, op);
        buffer_putc(&text, '\0');
        printf("FAILED %s: %s\n", what, text.data);
        if (failures == 1)
            printf("%s\n", program_text);
    }
    buffer_free(&text);
}

static void check(bool right, const struct ir_operation *op, const char *what)
{
    checks++;
    if (!right)
        fail(op, what);
}

static uint32_t random_state = 99;
static int random_below(int limit)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (int)((random_state >> 8) % (unsigned)limit);
}

/* ---- thread by thread ---- */

static bool has_layout(const struct ir_value *value) { return value->type->kind == IR_TILE && value->type->rank > 0; }

/* Coordinates of the operand's element behind the result's. */
typedef void element_function(const struct ir_operation *op, int operand, const int *result, int *source);

static void broadcast_element(const struct ir_operation *op, int operand, const int *result, int *source)
{
    const struct ir_type *type = op->operands[operand]->type;
    for (int d = 0; d < type->rank; d++)
        source[d] = type->extent[d] == 1 ? 0 : result[d];
}

static void permute_element(const struct ir_operation *op, int operand, const int *result, int *source)
{
    const struct ir_attribute *order = ir_attribute(op, IR_ATTRIBUTE_PERMUTATION);
    (void)operand;
    for (int d = 0; d < order->count; d++)
        source[order->list[d]] = result[d];
}

static void reshape_element(const struct ir_operation *op, int operand, const int *result, int *source)
{
    const struct ir_type *to = op->results[0]->type, *from = op->operands[operand]->type;
    int64_t linear = 0;
    for (int d = 0; d < to->rank; d++)
        linear = linear * to->extent[d] + result[d];
    for (int d = from->rank - 1; d >= 0; d--) {
        source[d] = (int)(linear % from->extent[d]);
        linear /= from->extent[d];
    }
}

static void extract_element(const struct ir_operation *op, int operand, const int *result, int *source)
{
    const struct ir_attribute *start = ir_attribute(op, IR_ATTRIBUTE_START);
    (void)operand;
    for (int d = 0; d < start->count; d++)
        source[d] = result[d] + (int)start->list[d];
}

static void reduce_element(const struct ir_operation *op, int operand, const int *result, int *source)
{
    int axis = (int)ir_number(op, IR_ATTRIBUTE_AXIS, 0), rank = op->operands[operand]->type->rank;
    for (int d = 0, next = 0; d < rank; d++)
        source[d] = d == axis ? -1 : result[next++];
}

static void index_element(const struct ir_operation *op, int operand, const int *result, int *source)
{
    const struct ir_attribute *place = ir_attribute(op, IR_ATTRIBUTE_PLACE);
    int first = 0;
    for (int d = 0; d < place->count && place->list[d] != IR_GATHER; d++)
        first += place->list[d] > 0;
    for (int d = 0; d < op->operands[operand]->type->rank; d++)
        source[d] = result[first + d];
}

static void check_local(const struct ir_operation *op, int operand, const struct layout *result,
                        element_function *element)
{
    const struct layout *source = op->operands[operand]->type->layout;
    if (!source || layout_warps(source) != layout_warps(result)) {
        fail(op, "warps");
        return;
    }
    for (int reg = 0; reg < layout_registers(result); reg++) {
        int same = -2;
        for (int warp = 0; warp < layout_warps(result); warp++)
            for (int lane = 0; lane < 32; lane += 1 + lane % 3) {
                struct layout_position thread = {{reg, lane, warp, 0, 0}};
                int coordinates[LAYOUT_RANK], wanted[LAYOUT_RANK];
                layout_coordinates(result, &thread, coordinates);
                element(op, operand, coordinates, wanted);
                int found = -1;
                for (int d = 0; d < source->rank; d++)
                    if (wanted[d] < 0) { /* any place along the axis: the thread must hold a row's element */
                        for (int r = 0; r < layout_registers(source) && found < 0; r++) {
                            struct layout_position there = {{r, lane, warp, 0, 0}};
                            int have[LAYOUT_RANK];
                            bool row = true;
                            layout_coordinates(source, &there, have);
                            for (int e = 0; e < source->rank; e++)
                                row &= wanted[e] < 0 || have[e] == wanted[e];
                            found = row ? r : -1;
                        }
                        break;
                    }
                if (element != reduce_element)
                    found = layout_register_at(source, &thread, wanted);
                same = same == -2 ? found : same;
                check(found >= 0 && found == same, op, "an operand's element is in another place");
            }
    }
}

static void check_operation(const struct ir_operation *op)
{
    struct ir_access access;
    const struct ir_value *tile = NULL;
    for (int i = op->result_count - 1; i >= 0; i--)
        if (has_layout(op->results[i]))
            tile = op->results[i];
    if (!tile && ir_access_of(op, &access) && access.value && has_layout(access.value))
        tile = access.value;
    for (int i = 0; i < op->result_count; i++)
        if (has_layout(op->results[i]))
            check(op->results[i]->type->layout, op, "a result without a layout");
    if (op->opcode == OP_REDUCE) {
        struct layout_reduction reduction;
        layout_reduction(op->operands[0]->type->layout, (int)ir_number(op, IR_ATTRIBUTE_AXIS, 0), &reduction);
        check(reduction.plain, op, "a reduction that is not plain");
    }
    if (!tile || !tile->type->layout || op->opcode == OP_DOT || op->opcode == OP_CONVERT_LAYOUT || op->region_count)
        if (op->opcode != OP_REDUCE || !tile)
            return;
    bool memory = ir_access_of(op, &access);
    for (int i = 0; i < op->operand_count; i++) {
        if (!has_layout(op->operands[i]))
            continue;
        switch (op->opcode) {
        case OP_BROADCAST: check_local(op, i, tile->type->layout, broadcast_element); break;
        case OP_PERMUTE: check_local(op, i, tile->type->layout, permute_element); break;
        case OP_RESHAPE: check_local(op, i, tile->type->layout, reshape_element); break;
        case OP_EXTRACT: check_local(op, i, tile->type->layout, extract_element); break;
        case OP_REDUCE: check_local(op, i, tile->type->layout, reduce_element); break;
        default:
            if (memory && access.place && i >= 1 && i <= access.rank)
                check_local(op, i, tile->type->layout, index_element);
            else
                check(op->operands[i]->type->layout == tile->type->layout, op, "operands with different layouts");
        }
    }
}

static void check_block(const struct ir_block *block)
{
    for (const struct ir_operation *op = block->first; op; op = op->next) {
        check_operation(op);
        for (int r = 0; r < op->region_count; r++)
            check_block(op->regions[r]);
    }
}

/* ---- random programs ---- */

struct writer {
    struct ir_builder builder;
    struct ir_context *context;
    struct ir_value *zero, *element, *view, *out;
};

static const int extents[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};

static struct ir_value *tile_load(struct writer *w, int64_t rows, int64_t columns)
{
    int64_t place[2] = {rows, columns}, extent[2] = {rows, columns};
    struct ir_value *operands[4] = {w->view, w->zero, w->zero, w->element};
    const struct ir_type *type = ir_type_tile(w->context, IR_F32, 2, extent);
    struct ir_operation *op = ir_build(&w->builder, OP_LOAD, 4, operands, 1, &type);
    ir_set_list(op, IR_ATTRIBUTE_PLACE, 2, place);
    return op->results[0];
}

static void tile_store(struct writer *w, struct ir_value *value)
{
    int64_t place[2] = {value->type->extent[0], value->type->extent[1]};
    struct ir_value *operands[4] = {w->out, w->zero, w->zero, value};
    struct ir_operation *op = ir_build(&w->builder, OP_STORE, 4, operands, 0, NULL);
    ir_set_list(op, IR_ATTRIBUTE_PLACE, 2, place);
}

static struct ir_value *reduce_row(struct writer *w, struct ir_value *value, int axis)
{
    int64_t extent[1] = {value->type->extent[!axis]};
    const struct ir_type *type = ir_type_tile(w->context, IR_F32, 1, extent);
    struct ir_operation *op = ir_build(&w->builder, OP_REDUCE, 1, &value, 1, &type);
    ir_set_number(op, IR_ATTRIBUTE_AXIS, axis);
    ir_set_number(op, IR_ATTRIBUTE_KIND, random_below(2) ? IR_REDUCE_ADD : IR_REDUCE_MAX);
    return op->results[0];
}

static struct ir_value *reshape_to(struct writer *w, struct ir_value *value, int64_t rows, int64_t columns)
{
    int64_t extent[2] = {rows, columns};
    return ir_build_value(&w->builder, OP_RESHAPE, ir_type_tile(w->context, value->type->element, 2, extent), 1,
                          &value);
}

static struct ir_value *step(struct writer *w, struct ir_value *value)
{
    int64_t rows = value->type->extent[0], columns = value->type->extent[1], total = rows * columns;
    switch (random_below(8)) {
    case 0: { /* subtract the rows' or columns' reduction */
        int axis = random_below(2);
        struct ir_value *row = reduce_row(w, value, axis);
        row = reshape_to(w, row, axis ? rows : 1, axis ? 1 : columns);
        return ir_binary(&w->builder, OP_SUB, value, ir_broadcast(&w->builder, row, 2, value->type->extent));
    }
    case 1: {
        int64_t order[2] = {1, 0}, extent[2] = {columns, rows};
        struct ir_value *turned = ir_build_value(&w->builder, OP_PERMUTE, ir_type_tile(w->context, IR_F32, 2, extent),
                                                 1, &value);
        ir_set_list(turned->definition, IR_ATTRIBUTE_PERMUTATION, 2, order);
        return turned;
    }
    case 2: {
        int64_t factor = 1;
        for (int i = 0; i < 12; i++)
            if (total % extents[i] == 0 && random_below(3) == 0)
                factor = extents[i];
        return reshape_to(w, value, factor, total / factor);
    }
    case 3: return ir_math(&w->builder, IR_MATH_EXP, value, NULL);
    case 4: return ir_binary(&w->builder, OP_ADD, value, tile_load(w, rows, columns));
    case 5: { /* a mask of counters */
        int64_t extent[1] = {columns};
        struct ir_value *i = ir_build_value(&w->builder, OP_IOTA, ir_type_tile(w->context, IR_INDEX, 1, extent), 0,
                                            NULL);
        i = ir_broadcast(&w->builder, reshape_to(w, i, 1, columns), 2, value->type->extent);
        struct ir_value *limit = ir_broadcast(&w->builder, w->zero, 2, value->type->extent);
        struct ir_value *mask = ir_compare(&w->builder, IR_PREDICATE_GT, i, limit);
        return ir_select(&w->builder, mask, value, ir_broadcast(&w->builder, w->element, 2, value->type->extent));
    }
    case 6: {
        int64_t start[2] = {0, 0}, extent[2] = {rows, columns};
        int d = random_below(2), divide = extent[d] % 3 == 0 ? 3 : extent[d] % 2 == 0 ? 2 : 1;
        extent[d] /= divide;
        start[d] = extent[d] * random_below(divide);
        struct ir_value *part = ir_build_value(&w->builder, OP_EXTRACT, ir_type_tile(w->context, IR_F32, 2, extent), 1,
                                               &value);
        ir_set_list(part->definition, IR_ATTRIBUTE_START, 2, start);
        return part;
    }
    default: tile_store(w, value); return value;
    }
}

static void run_program(int seed)
{
    static const char *const names[] = {"assign_layouts",  "coalesce",       "remove_conversions", "cse", "dce",
                                        "allocate_shared", "insert_barriers"};
    struct arena *arena = arena_create();
    struct diagnostics *diagnostics = diagnostics_create(arena);
    struct ir_context *context = ir_context_create(arena);
    struct ir_module *module = ir_module_create(context, arena);
    struct ir_function *function = ir_function_create(module, "program", (struct location){0});
    struct ir_type view = {.kind = IR_VIEW,
                           .element = IR_F32,
                           .rank = 2,
                           .extent = {IR_DYNAMIC, IR_DYNAMIC},
                           .stride = {IR_DYNAMIC, 1},
                           .readable = true};
    static const int warps[] = {0, 1, 2, 4, 8, 12};
    random_state = (uint32_t)seed * 2654435761u + 1;
    function->is_kernel = true;
    function->grid_rank = 1;
    function->warps = warps[random_below(6)];
    if (random_below(3) == 0) {
        view.stride[0] = 1;
        view.stride[1] = IR_DYNAMIC;
    }
    struct ir_value *in = ir_block_argument(function->body, ir_type_intern(context, &view), "x");
    view.readable = false;
    view.writable = true;
    view.stride[0] = IR_DYNAMIC;
    view.stride[1] = 1;
    struct ir_value *out = ir_block_argument(function->body, ir_type_intern(context, &view), "y");
    struct ir_argument_fact fact = {
        .base_alignment = random_below(2) ? 16 : 4, .stride_multiple = {4, 4}, .restricted = true};
    vector_push(arena, &function->facts, fact);
    vector_push(arena, &function->facts, fact);
    struct writer w = {.builder = {module, function->body, NULL, {0}}, .context = context, .view = in, .out = out};
    w.zero = ir_constant_int(&w.builder, ir_type_scalar(context, IR_INDEX), 0);
    w.element = ir_constant_float(&w.builder, ir_type_scalar(context, IR_F32), 0.5);
    struct ir_value *value = tile_load(&w, extents[random_below(12)], extents[random_below(12)]);
    for (int i = 0, steps = 1 + random_below(8); i < steps; i++)
        value = step(&w, value);
    tile_store(&w, value);
    ir_build(&w.builder, OP_RETURN, 0, NULL, 0, NULL);
    struct buffer text = {0};
    struct pass_context pass_context = {.arena = arena, .diagnostics = diagnostics};
    bool good = ir_verify_module(module, diagnostics);
    for (int i = 0; i < (int)(sizeof names / sizeof *names) && good; i++) {
        const struct pass_info *pass = pass_find(names[i]);
        struct pass_run run = {.passes = &pass, .count = 1};
        good = pass_run_all(&run, function, &pass_context);
        text.size = 0;
        ir_print_module(&text, module, false);
        buffer_putc(&text, '\0');
        program_text = text.data;
        if (good)
            check_block(function->body);
    }
    if (!good) {
        failures++;
        printf("FAILED program %d\n%s\n", seed, program_text ? program_text : "");
        diag_print(diagnostics, stdout, false);
    }
    program_text = NULL;
    buffer_free(&text);
    arena_destroy(arena);
}

int main(int argc, char **argv)
{
    int first = argc > 1 ? atoi(argv[1]) : 0, count = argc > 2 ? atoi(argv[2]) : 150;
    for (int seed = first; seed < first + count; seed++)
        run_program(seed);
    printf("layouts of programs: %d checks, %d failures\n", checks, failures);
    return failures != 0;
}
