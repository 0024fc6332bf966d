/* The generator's frame: types, the pool of known values, the body of a kernel. */
#include <string.h>

#include "generate.h"

double fuzz_limit(enum ir_element element)
{
    switch (element) {
    case IR_F64: return 0x1p40;
    case IR_F32: return 0x1p20;
    case IR_F16: return 0x1p9;
    case IR_BF16: return 0x1p6;
    case IR_F8E4M3: return 8;
    case IR_F8E5M2: return 4;
    default: return 0x1p62;
    }
}

enum ir_element fuzz_element(struct generator *g)
{
    if (random_chance(&g->random, 35)) /* the elements most kernels use */
        return (const enum ir_element[]){IR_F32, IR_INDEX, IR_I32, IR_F16}[random_below(&g->random, 4)];
    return (enum ir_element)random_below(&g->random, IR_POINTER);
}

const struct ir_type *fuzz_type(struct generator *g, enum ir_element element)
{
    if (g->scalars_only || random_chance(&g->random, 20))
        return ir_type_scalar(g->context, element);
    int rank = random_between(&g->random, 1, g->limits.max_rank);
    int64_t extent[IR_MAX_RANK], total = 1;
    for (int d = 0; d < rank; d++) {
        extent[d] = INT64_C(1) << random_between(&g->random, 0, 5);
        while (total * extent[d] > g->limits.max_elements)
            extent[d] /= 2;
        total *= extent[d];
    }
    return ir_type_tile(g->context, element, rank, extent);
}

void fuzz_know(struct generator *g, struct ir_value *value, double bound, bool exact)
{
    struct known known = {value, bound, exact || !ir_is_float(value->type->element)};
    vector_push(g->arena, &g->pool, known);
}

struct ir_value *fuzz_constant(struct generator *g, const struct ir_type *type, double *bound)
{
    enum ir_element element = type->element;
    *bound = 0;
    if (element == IR_POINTER)
        return ir_constant_bits(&g->builder, type, 0);
    if (element == IR_BOOL)
        return ir_constant_int(&g->builder, type, random_below(&g->random, 2));
    if (ir_is_float(element)) {
        int largest = (int)(fuzz_limit(element) < 8 ? fuzz_limit(element) : 8),
            value = random_between(&g->random, -largest, largest);
        *bound = value < 0 ? -value : value;
        return ir_constant_float(&g->builder, type, value);
    }
    if (random_chance(&g->random, 25)) /* corners: all bits, least, largest, anything */
        return ir_constant_int(&g->builder, type,
                               (int64_t[]){-1, INT64_MIN, INT64_MAX, 127, 128, 255, INT32_MAX, INT32_MIN,
                                           (int64_t)random_next(&g->random)}[random_below(&g->random, 9)]);
    return ir_constant_int(&g->builder, type, random_between(&g->random, ir_is_signed(element) ? -9 : 0, 33));
}

struct known fuzz_of_type(struct generator *g, const struct ir_type *type, bool exact)
{
    for (int tries = 0; g->pool.count && tries < 24; tries++) { /* prefer what came late: longer chains */
        int back = random_below(&g->random, g->pool.count), other = random_below(&g->random, g->pool.count);
        const struct known *known = &g->pool.data[back > other ? back : other];
        if (known->value->type == type && (known->exact || !exact))
            return *known;
    }
    struct known made = {.exact = true};
    if (type->rank > 0 && random_chance(&g->random, 50)) {
        made = fuzz_of_type(g, ir_type_with_shape(g->context, type, 0, NULL), exact);
        made.value = ir_broadcast(&g->builder, made.value, type->rank, type->extent);
    } else {
        made.value = fuzz_constant(g, type, &made.bound);
    }
    fuzz_know(g, made.value, made.bound, made.exact);
    return made;
}

bool fuzz_any(struct generator *g, bool (*accept)(const struct ir_type *type), struct known *out)
{
    for (int tries = 0; g->pool.count && tries < 24; tries++) {
        const struct known *known = &g->pool.data[random_below(&g->random, g->pool.count)];
        if (g->scalars_only && known->value->type->rank)
            continue;
        if (!accept || accept(known->value->type)) {
            *out = *known;
            return true;
        }
    }
    return false;
}

struct ir_value *fuzz_index_scalar(struct generator *g, int low, int high)
{
    const struct ir_type *index = ir_type_scalar(g->context, IR_INDEX);
    struct ir_value *constant = ir_constant_int(&g->builder, index, random_between(&g->random, low, high));
    if (random_chance(&g->random, 50))
        return constant;
    struct ir_value *any = fuzz_of_type(g, index, false).value;
    struct ir_value *span = ir_constant_int(&g->builder, index, high - low + 1);
    return ir_binary(&g->builder, OP_ADD, ir_binary(&g->builder, OP_REM, any, span), constant);
}

void fuzz_statements(struct generator *g, int count)
{
    int first = g->pool.count;
    for (int i = 0; i < count; i++) {
        int dice = random_below(&g->random, 100);
        if (!g->pure && g->product.a && dice < 5)
            fuzz_product_loop(g);
        else if (!g->pure && dice < 42)
            fuzz_memory_statement(g);
        else if (!g->limits.no_flow && dice < 50 && g->depth < 3)
            fuzz_flow_statement(g);
        else
            fuzz_pure_statement(g);
    }
    fuzz_digest(g, first, g->depth ? 25 : 60);
}

/* ---- the whole ---- */

static void make_grid(struct generator *g)
{
    struct fuzz_program *p = g->program;
    const struct ir_type *index = ir_type_scalar(g->context, IR_INDEX);
    p->function->grid_rank = random_between(&g->random, 1, 3);
    struct ir_value *linear = NULL;
    for (int d = p->function->grid_rank - 1; d >= 0; d--) {
        p->grid[d] = random_between(&g->random, 1, d == 0 ? 5 : 2);
        if (random_chance(&g->random, 20))
            p->function->grid_limit[d] = p->grid[d] + random_below(&g->random, 3);
        struct ir_operation *at = ir_build(&g->builder, OP_GRID_INDEX, 0, NULL, 1, &index);
        ir_set_number(at, IR_ATTRIBUTE_DIMENSION, d);
        fuzz_know(g, at->results[0], 0, true);
        if (!linear) {
            linear = at->results[0];
            continue;
        }
        struct ir_operation *size = ir_build(&g->builder, OP_GRID_SIZE, 0, NULL, 1, &index);
        ir_set_number(size, IR_ATTRIBUTE_DIMENSION, d);
        linear = ir_binary(&g->builder, OP_ADD, ir_binary(&g->builder, OP_MUL, linear, size->results[0]),
                           at->results[0]);
    }
    g->row_block = linear;
    fuzz_know(g, linear, 0, true);
}

struct fuzz_limits fuzz_limits_mixed(uint64_t seed)
{
    struct random random = {~seed};
    struct fuzz_limits limits = {0};
    int dice = random_below(&random, 100);
    if (dice < 86) {
        limits.statements = random_between(&random, 2, 12);
        limits.max_elements = INT64_C(1) << random_between(&random, 2, 6);
        limits.most_extent = 9;
    } else if (dice < 94) {
        limits.statements = random_between(&random, 2, 8);
        limits.max_elements = 2048;
    }
    return limits;
}

struct fuzz_program *fuzz_generate(struct ir_context *context, struct arena *arena, uint64_t seed,
                                   struct fuzz_limits limits)
{
    struct fuzz_program *program = ARENA_NEW(arena, struct fuzz_program);
    struct generator g = {.random = {seed}, .arena = arena, .context = context, .program = program, .limits = limits};
    if (!g.limits.statements)
        g.limits.statements = random_chance(&g.random, 25) ? random_between(&g.random, 2, 8)
                                                           : random_between(&g.random, 14, 50);
    if (!g.limits.max_rank)
        g.limits.max_rank = 3;
    if (!g.limits.max_elements)
        g.limits.max_elements = 256;
    if (!g.limits.most_extent)
        g.limits.most_extent = 37;
    program->seed = seed;
    program->module = ir_module_create(context, arena);
    program->function = ir_function_create(program->module, "fuzz", (struct location){0});
    program->function->is_kernel = true;
    g.builder = (struct ir_builder){.module = program->module, .block = program->function->body};
    fuzz_make_arguments(&g);
    make_grid(&g);
    fuzz_make_facts(&g);
    if (random_chance(&g.random, 40)) {
        program->function->warps = 1 << random_below(&g.random, 4);
        program->function->stages = random_below(&g.random, 5);
    }
    fuzz_statements(&g, g.limits.statements);
    fuzz_final_stores(&g);
    ir_build(&g.builder, OP_RETURN, 0, NULL, 0, NULL);
    return program;
}
