/* The digest: one row of sums for each instance, into which go the values that nothing else uses.  Without it a
 * wrong value that nobody stores would not be seen.  Tiles are weighted by place, so that exchanged elements show;
 * NaN counts as 0, since its bits are free. */
#include "generate.h"

enum { SLOTS = 64 };

void fuzz_make_digest(struct generator *g)
{
    struct fuzz_program *p = g->program;
    struct fuzz_argument *argument = &p->arguments[p->argument_count];
    struct ir_type type = {.kind = IR_VIEW,
                           .element = IR_I64,
                           .rank = 2,
                           .extent = {IR_DYNAMIC, SLOTS},
                           .stride = {IR_DYNAMIC, 1},
                           .readable = true,
                           .writable = true};
    *argument = (struct fuzz_argument){.type = ir_type_intern(g->context, &type),
                                       .output = true,
                                       .block = 1,
                                       .extent = {20, SLOTS},
                                       .stride = {SLOTS, 1},
                                       .elements = 20 * SLOTS,
                                       .content = FUZZ_SMALL_INTEGERS,
                                       .fill = p->seed};
    g->digest = ir_block_argument(p->function->body, argument->type, intern(ir_context_names(g->context), "digest"));
    p->argument_count++;
}

const struct ir_type *fuzz_like(struct generator *g, enum ir_element element, const struct ir_type *like)
{
    return ir_type_tile(g->context, element, like->rank, like->extent);
}

static enum ir_element bits_of(enum ir_element element)
{
    switch (ir_element_info[element].bits) {
    case 8: return IR_I8;
    case 16: return IR_U16;
    case 32: return IR_I32;
    default: return IR_U64;
    }
}

/* One i64 that depends on every element. */
static struct ir_value *sum_up(struct generator *g, const struct known *known)
{
    struct ir_builder *b = &g->builder;
    struct ir_value *value = known->value;
    enum ir_element element = value->type->element;
    if (element == IR_POINTER)
        value = ir_compare(b, IR_PREDICATE_EQ, value, ir_constant_bits(b, value->type, 0));
    if (ir_is_float(element)) {
        if (!known->exact)
            value = ir_select(b, ir_math(b, IR_MATH_ISNAN, value, NULL), ir_constant_int(b, value->type, 0), value);
        value = ir_build_value(b, OP_BITCAST, fuzz_like(g, bits_of(element), value->type), 1, &value);
    }
    value = ir_cast(b, value, IR_I64);
    if (!value->type->rank)
        return value;
    int64_t count = ir_type_elements(value->type);
    const struct ir_type *line = ir_type_tile(g->context, IR_I64, 1, &count),
                         *scalar = ir_type_scalar(g->context, IR_I64);
    if (value->type->rank > 1)
        value = ir_build_value(b, OP_RESHAPE, line, 1, &value);
    struct ir_value *weight = ir_build_value(b, OP_IOTA, line, 0, NULL);
    weight = ir_binary(b, OP_ADD, weight, ir_binary(b, OP_ADD, weight, ir_constant_int(b, line, 1)));
    value = ir_binary(b, OP_MUL, value, weight);
    struct ir_operation *made = ir_build(b, OP_REDUCE, 1, &value, 1, &scalar);
    ir_set_number(made, IR_ATTRIBUTE_AXIS, 0);
    ir_set_number(made, IR_ATTRIBUTE_KIND, random_chance(&g->random, 70) ? IR_REDUCE_ADD : IR_REDUCE_XOR);
    return made->results[0];
}

static void put(struct generator *g, struct ir_value *sum)
{
    struct ir_value *operands[5] = {g->digest, g->row_block, fuzz_index(g, g->digest_slots++ % SLOTS), sum};
    int64_t place[2] = {IR_POINT, IR_POINT};
    if (!g->depth && random_chance(&g->random, 60)) {
        ir_set_list(ir_build(&g->builder, OP_STORE, 4, operands, 0, NULL), IR_ATTRIBUTE_PLACE, 2, place);
        return;
    }
    struct ir_operation *made = ir_build(&g->builder, OP_ATOMIC, 4, operands, 1, &sum->type);
    ir_set_list(made, IR_ATTRIBUTE_PLACE, 2, place);
    ir_set_number(made, IR_ATTRIBUTE_ACTION, IR_ACTION_ADD);
    ir_set_number(made, IR_ATTRIBUTE_ORDER, IR_ORDER_RELAXED);
}

void fuzz_digest(struct generator *g, int first, int percent)
{
    if (g->pure || !g->digest)
        return;
    int end = g->pool.count;
    for (int i = first; i < end; i++) {
        struct known known = g->pool.data[i];
        if (known.value->uses || !random_chance(&g->random, percent))
            continue;
        put(g, sum_up(g, &known));
    }
}
