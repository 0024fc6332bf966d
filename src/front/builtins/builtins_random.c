/* Random numbers from counters: Philox4x32-10, counter (lo, hi, 0, 0), key the seed.  The four words are the
 * algorithm's own; a float in [0, 1) is (x < 0 ? ~x : x) * 4.6566127342e-10 of the word as a signed integer. */
#include "front/builtins/builtins.h"

/* An unsigned 64-bit value of a seed or counter: any integer, signed ones by their two's complement. */
static struct ir_value *as_word(struct elaborator *e, struct call *call, struct value v)
{
    if (v.kind == VALUE_INTEGER)
        v = constant_to_element(e, v, v.integer < 0 ? IR_I64 : IR_U64, false);
    if (value_is_constant(v))
        v = value_materialize(e, v);
    if (v.kind != VALUE_RUN || !ir_is_integer(v.run->type->element) || v.enumeration) {
        call_wrong(e, call, v, "integers");
        return NULL;
    }
    return ir_cast(&e->builder, v.run, IR_U64);
}

/* f32(x < 0 ? ~x : x) is |f32(x + (x >> 31 & 1))|: ~x is -(x + 1), and both signs round alike. */
static struct ir_value *uniform(struct elaborator *e, struct ir_value *word)
{
    struct ir_builder *b = &e->builder;
    struct ir_value *sign = ir_binary(b, OP_SHR, word, ir_constant_int(b, word->type, 31));
    struct ir_value *sum = ir_binary(b, OP_ADD, word, sign);
    struct ir_value *x = ir_build_value(b, OP_BITCAST, shape_like(e, word->type, IR_I32), 1, &sum);
    struct ir_value *folded = ir_unary(b, OP_ABS, ir_cast(b, x, IR_F32));
    return ir_binary(b, OP_MUL, folded, ir_constant_float(b, folded->type, 4.6566127342e-10));
}

/* Box-Muller on the first two words, the first kept away from zero. */
static struct ir_value *normal(struct elaborator *e, struct ir_value *first, struct ir_value *second)
{
    struct ir_builder *b = &e->builder;
    struct ir_value *u = uniform(e, first), *angle = uniform(e, second);
    u = ir_binary(b, OP_MAX, u, ir_constant_float(b, u->type, 1.0e-7));
    struct ir_value *logarithm = ir_math(b, IR_MATH_LOG, u, NULL);
    struct ir_value *radius = ir_math(b, IR_MATH_SQRT,
                                      ir_binary(b, OP_MUL, logarithm, ir_constant_float(b, u->type, -2.0)), NULL);
    struct ir_value *turn = ir_binary(b, OP_MUL, angle, ir_constant_float(b, u->type, 6.283185307179586));
    return ir_binary(b, OP_MUL, radius, ir_math(b, IR_MATH_COS, turn, NULL));
}

struct value build_random(struct elaborator *e, struct call *call, int kind)
{
    if (!e->function) {
        front_report(e, DIAGNOSTIC_E0409, call->at, "`%s` cannot be evaluated here", call->builtin->name);
        return value_error(call->at);
    }
    struct ir_value *operands[2] = {as_word(e, call, call->argument[0]), as_word(e, call, call->argument[1])};
    if (!operands[0] || !operands[1])
        return value_error(call->at);
    if (operands[0]->type->rank)
        return call_wrong(e, call, call->argument[0], "one scalar as its seed");
    const struct ir_type *word = shape_like(e, operands[1]->type, IR_U32);
    const struct ir_type *types[4] = {word, word, word, word};
    struct ir_operation *philox = ir_build(&e->builder, OP_PHILOX, 2, operands, 4, types);
    const struct origin *origin = call->argument[1].kind == VALUE_RUN ? call->argument[1].origin : NULL;
    struct value four[4];
    bool all = kind == 1 || kind == 3;
    for (int i = 0; i < (all ? 4 : 1); i++) {
        struct ir_value *run = philox->results[i];
        if (kind < 2)
            run = uniform(e, run);
        if (kind == 4)
            run = normal(e, philox->results[0], philox->results[1]);
        four[i] = value_run(run, call->at);
        four[i].origin = origin;
    }
    if (!all)
        return four[0];
    struct value tuple = {.kind = VALUE_TUPLE, .at = call->at};
    tuple.list.count = 4;
    tuple.list.data = arena_copy(e->arena, four, sizeof four);
    return tuple;
}
