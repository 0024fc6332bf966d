/* Random control flow with carried values. */
#include "generate.h"

/* Carried values keep a promise through every iteration: integers none, floats |v| <= an eighth of the limit, kept
 * by clamping. */
struct carried {
    const struct ir_type *type;
    struct ir_value *initial;
    double bound;
    bool exact;
};
enum { MAX_CARRIED = 3 };

struct ir_value *fuzz_clamp(struct generator *g, struct ir_value *value, double bound)
{
    struct ir_value *high = ir_constant_float(&g->builder, value->type, bound),
                    *low = ir_constant_float(&g->builder, value->type, -bound);
    return ir_binary(&g->builder, OP_MAX, ir_binary(&g->builder, OP_MIN, value, high), low);
}

static int choose_carried(struct generator *g, struct carried *carried)
{
    int count = random_below(&g->random, MAX_CARRIED + 1);
    for (int i = 0; i < count; i++) {
        struct known initial;
        if (!fuzz_any(g, NULL, &initial))
            initial = fuzz_of_type(g, fuzz_type(g, IR_I32), false);
        const struct ir_type *type = initial.value->type;
        carried[i] = (struct carried){type, initial.value, 0, true};
        if (ir_is_float(type->element)) {
            carried[i].exact = initial.exact;
            carried[i].bound = fuzz_limit(type->element) / 8 < 1 ? 1 : fuzz_limit(type->element) / 8;
            if (initial.exact)
                carried[i].initial = fuzz_clamp(g, initial.value, carried[i].bound);
        }
    }
    return count;
}

/* The value that a region yields for a carried one. */
static struct ir_value *next_value(struct generator *g, const struct carried *carried)
{
    struct known next = fuzz_of_type(g, carried->type, carried->exact);
    return ir_is_float(carried->type->element) && carried->exact ? fuzz_clamp(g, next.value, carried->bound)
                                                                 : next.value;
}

/* Enters a region: what is known outside stays known inside, what is made inside is forgotten behind. */
struct scope {
    struct ir_builder builder;
    int known, views;
};
static struct scope enter(struct generator *g, struct ir_block *block)
{
    struct scope scope = {g->builder, g->pool.count, g->views.count};
    g->builder = (struct ir_builder){.module = g->builder.module, .block = block};
    g->depth++;
    return scope;
}

static void leave(struct generator *g, struct scope scope)
{
    g->builder = scope.builder;
    g->pool.count = scope.known;
    g->views.count = scope.views;
    g->depth--;
}

static void yield(struct generator *g, enum ir_opcode opcode, struct ir_value *first, int count,
                  const struct carried *carried)
{
    struct ir_value *values[MAX_CARRIED + 1];
    int n = 0;
    if (first)
        values[n++] = first;
    for (int i = 0; i < count; i++)
        values[n++] = next_value(g, &carried[i]);
    ir_build(&g->builder, opcode, n, values, 0, NULL);
}

static void know_results(struct generator *g, const struct ir_operation *made, int count, const struct carried *carried)
{
    for (int i = 0; i < count; i++)
        fuzz_know(g, made->results[i], carried[i].bound, carried[i].exact);
}

static int body_size(struct generator *g) { return random_between(&g->random, 1, g->depth ? 3 : 7); }

static void make_if(struct generator *g)
{
    struct carried carried[MAX_CARRIED];
    const struct ir_type *types[MAX_CARRIED];
    int count = choose_carried(g, carried);
    for (int i = 0; i < count; i++)
        types[i] = carried[i].type;
    struct ir_value *condition = fuzz_of_type(g, ir_type_scalar(g->context, IR_BOOL), false).value;
    struct ir_operation *made = ir_build(&g->builder, OP_IF, 1, &condition, count, types);
    for (int r = 0; r < 2; r++) {
        struct scope scope = enter(g, made->regions[r]);
        if (r == 0 || count || random_chance(&g->random, 50))
            fuzz_statements(g, body_size(g));
        yield(g, OP_YIELD, NULL, count, carried);
        leave(g, scope);
    }
    know_results(g, made, count, carried);
}

static void make_for(struct generator *g)
{
    struct carried carried[MAX_CARRIED];
    struct ir_value *operands[3 + MAX_CARRIED];
    static const enum ir_element counters[] = {IR_INDEX, IR_INDEX, IR_INDEX, IR_I32, IR_I64, IR_U32,
                                               IR_U64,   IR_I16,   IR_U16,   IR_I8,  IR_U8};
    enum ir_element counter = counters[random_below(&g->random, 11)];
    const struct ir_type *types[MAX_CARRIED], *index = ir_type_scalar(g->context, counter);
    int count = choose_carried(g, carried), trips = random_below(&g->random, 4);
    bool multiply = random_chance(&g->random, 15),
         down = !multiply && ir_is_signed(counter) && random_chance(&g->random, 25);
    int step = multiply ? random_between(&g->random, 2, 4) : (down ? -1 : 1) * random_between(&g->random, 1, 9);
    int lower = multiply ? 1 : random_between(&g->random, ir_is_signed(counter) ? -5 : 0, 30);
    /* an upper bound of an unsigned counter is never below 0 */
    int upper = multiply ? random_between(&g->random, 0, 30)
                         : lower + step * trips -
                               (down ? -1 : 1) * (trips ? random_below(&g->random, step < 0 ? -step : step) : 0);
    operands[0] = ir_constant_int(&g->builder, index, lower);
    operands[1] = ir_constant_int(&g->builder, index, upper);
    if (!multiply &&
        random_chance(&g->random, 40)) { /* a bound that is not a constant: add something that is 0 or less */
        struct ir_value *any = fuzz_of_type(g, index, false).value;
        struct ir_value *two = ir_constant_int(&g->builder, index, 2);
        if (ir_is_signed(counter) || upper > 1) /* an unsigned bound stays above 0 */
            operands[1] = ir_binary(&g->builder, ir_is_signed(counter) ? OP_ADD : OP_SUB, operands[1],
                                    ir_binary(&g->builder, OP_REM, any, two));
    }
    operands[2] = ir_constant_int(&g->builder, index, step);
    for (int i = 0; i < count; i++) {
        operands[3 + i] = carried[i].initial;
        types[i] = carried[i].type;
    }
    struct ir_operation *made = ir_build(&g->builder, OP_FOR, 3 + count, operands, count, types);
    if (multiply)
        ir_set_number(made, IR_ATTRIBUTE_MULTIPLY, 1);
    if (random_chance(&g->random, 25))
        ir_set_number(made, IR_ATTRIBUTE_UNROLL, random_between(&g->random, 1, 4));
    struct scope scope = enter(g, made->regions[0]);
    fuzz_know(g, ir_block_argument(made->regions[0], index, NULL), 0, true);
    for (int i = 0; i < count; i++)
        fuzz_know(g, ir_block_argument(made->regions[0], types[i], NULL), carried[i].bound, carried[i].exact);
    fuzz_statements(g, body_size(g));
    yield(g, OP_YIELD, NULL, count, carried);
    leave(g, scope);
    know_results(g, made, count, carried);
}

/* while (n > 0 and something) { …; n = n - 1 }: the counter is the first carried value */
static void make_while(struct generator *g)
{
    struct carried carried[MAX_CARRIED];
    struct ir_value *operands[1 + MAX_CARRIED];
    const struct ir_type *types[1 + MAX_CARRIED] = {ir_type_scalar(g->context, IR_INDEX)};
    int count = choose_carried(g, carried);
    operands[0] = ir_constant_int(&g->builder, types[0], random_below(&g->random, 4));
    for (int i = 0; i < count; i++) {
        operands[1 + i] = carried[i].initial;
        types[1 + i] = carried[i].type;
    }
    struct ir_operation *made = ir_build(&g->builder, OP_WHILE, 1 + count, operands, 1 + count, types);
    struct ir_value *counter[2];
    for (int r = 0; r < 2; r++)
        for (int i = 0; i <= count; i++) {
            struct ir_value *argument = ir_block_argument(made->regions[r], types[i], NULL);
            if (i == 0)
                counter[r] = argument;
        }
    for (int r = 0; r < 2; r++) {
        struct scope scope = enter(g, made->regions[r]);
        for (int i = 0; i < count; i++)
            fuzz_know(g, made->regions[r]->arguments.data[1 + i], carried[i].bound, carried[i].exact);
        struct ir_value *values[2 + MAX_CARRIED];
        int n = 0;
        fuzz_statements(g, r ? body_size(g) : random_below(&g->random, 2));
        if (r == 0) {
            struct ir_value *more = ir_compare(&g->builder, IR_PREDICATE_GT, counter[0],
                                               ir_constant_int(&g->builder, types[0], 0));
            if (random_chance(&g->random, 50))
                more = ir_binary(&g->builder, OP_AND, more,
                                 fuzz_of_type(g, ir_type_scalar(g->context, IR_BOOL), false).value);
            values[n++] = more;
        }
        values[n++] = r ? ir_binary(&g->builder, OP_SUB, counter[1], ir_constant_int(&g->builder, types[0], 1))
                        : counter[0];
        for (int i = 0; i < count; i++)
            values[n++] = next_value(g, &carried[i]);
        ir_build(&g->builder, r ? OP_YIELD : OP_CONDITION, n, values, 0, NULL);
        leave(g, scope);
    }
    fuzz_know(g, made->results[0], 0, true);
    for (int i = 0; i < count; i++)
        fuzz_know(g, made->results[1 + i], carried[i].bound, carried[i].exact);
}

void fuzz_flow_statement(struct generator *g)
{
    switch (random_below(&g->random, 5)) {
    case 0:
    case 1: make_if(g); return;
    case 2:
    case 3: make_for(g); return;
    default: make_while(g); return;
    }
}
