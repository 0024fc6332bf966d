/* Short iterations together, for prefetch_loads: as many as cover the latency make their loads first and then work, in order.
 *
 *     for %j = %lo to %hi step 512 iter(%acc …) { %v = load %x[%m, %j +: 512]   %sum = add %acc, %v   yield %sum }
 * becomes, for two,
 *     %end = min(%hi - 512, extent of %x - 1023)
 *     %part, %next = for %j = %lo to %end step 1024 iter(%acc …, %from = %lo) {
 *         %v = load inside %x[%m, %j +: 512]   %w = load inside %x[%m, %j + 512 +: 512]
 *         %one = add %acc, %v   %two = add %one, %w
 *         yield %two, %j + 1024
 *     }
 *     for %j = %next to %hi step 512 iter(%acc = %part) { … as it was … }
 *
 * In the first loop every iteration that is written exists, so that nothing asks; where a load follows a variable that
 * counts up it also ends before the view does, and the load need not ask either.  Ranges show that the sums do not
 * wrap. */
#include "ir/plan.h"
#include "base/plant.h"
#include "ir/facts/analysis.h"
#include "passes/base/remake.h"
#include "passes/base/rewrite.h"
#include "passes/loops/prefetch_loads.h"

enum { MOST_REACH = 1 << 24 };

struct together {
    struct prefetch *s;
    int count; /* iterations */
    int64_t step;
    int64_t inside[64];   /* by load: dimensions that the first loop's end keeps inside */
    struct remake *again; /* by iteration */
};

bool prefetch_can_be_together(const struct prefetch *s, int count)
{
    int64_t step;
    const struct ir_operation *loop = s->loop;
    if (loop->opcode != OP_FOR || s->loads.count > 64 || !ir_constant_integer(loop->operands[2], &step) || step == 0 ||
        step > MOST_REACH || step < -MOST_REACH)
        return false;
    enum ir_element element = loop->operands[0]->type->element;
    struct range whole = range_of_element(element);
    struct range bound = range_of(s->context->ranges, loop->operands[1]);
    if (!ir_is_signed(element))
        return false;
    /* the first loop's end, and where the second one starts: less than a step behind the bound */
    if (step < 0)
        return bound.high <= whole.high + (count - 1) * step && bound.low >= whole.low - step - 1;
    return bound.low >= whole.low + (count - 1) * step && bound.high <= whole.high - step + 1;
}

/* ---- the first loop's end ---- */

static const struct ir_value *without_casts(const struct ir_value *value)
{
    while (value->definition && value->definition->opcode == OP_CAST)
        value = value->definition->operands[0];
    return value;
}

/* index = variable + *ahead */
static bool follows(const struct ir_value *index, const struct ir_value *variable, int64_t *ahead)
{
    const struct ir_operation *op = without_casts(index)->definition;
    *ahead = 0;
    if (without_casts(index) == variable)
        return true;
    return op && op->opcode == OP_ADD && without_casts(op->operands[0]) == variable &&
           ir_constant_integer(op->operands[1], ahead) && *ahead >= 0 && *ahead < MOST_REACH;
}

/* A view of the kernel's that is there whatever is asked. */
static bool is_there(const struct ir_value *view)
{
    while (view->definition && view->definition->opcode == OP_VIEW_PERMUTE)
        view = view->definition->operands[0];
    return !view->definition && !view->block->parent && !view->type->optional && view->block->function->is_kernel;
}

/* The variable is never below 0: then what follows it starts inside. */
static bool starts_inside(const struct prefetch *s)
{
    return PLANTED(together_starts_below) || range_of(s->context->ranges, s->loop->operands[0]).low >= 0;
}

/* Takes from `end`, an index, what the load needs in each dimension along which it follows the variable. */
static struct ir_value *end_of_load(struct together *t, struct ir_builder *builder, int number, struct ir_value *end)
{
    const struct ir_operation *load = t->s->loads.data[number].load;
    const struct ir_value *variable = t->s->body->arguments.data[0];
    struct ir_access access;
    int64_t proven = ir_number(load, IR_ATTRIBUTE_INSIDE, 0), ahead;
    if (load->opcode != OP_LOAD || !ir_access_of(load, &access) || !is_there(access.view))
        return end;
    for (int d = 0; d < access.rank; d++) {
        if (access.place[d] == IR_GATHER || proven >> d & 1 || !follows(access.index[d], variable, &ahead))
            continue;
        int64_t reach = ahead + (access.place[d] > 0 ? access.place[d] : 1) + (t->count - 1) * t->step;
        struct ir_value *extent = ir_build_value(builder, OP_EXTENT, end->type, 1, &access.view);
        ir_set_number(extent->definition, IR_ATTRIBUTE_DIMENSION, d);
        struct ir_value *most = ir_binary(
            builder, OP_SUB, extent, ir_constant_int(builder, end->type, reach - 1 - PLANTED(together_ends_one_late)));
        end = ir_binary(builder, OP_MIN, end, most);
        t->inside[number] |= (int64_t)1 << d;
    }
    return end;
}

static struct ir_value *end_of_first(struct together *t, struct ir_builder *builder)
{
    struct ir_value *upper = t->s->loop->operands[1];
    struct ir_value *last = ir_binary(builder, OP_SUB, upper,
                                      ir_constant_int(builder, upper->type, (t->count - 1) * t->step));
    if (t->step < 0 || !starts_inside(t->s)) /* counting down: where the last one ends says nothing of the first */
        return last;
    struct ir_value *end = ir_cast(builder, last, IR_INDEX), *all = end;
    for (int i = 0; i < t->s->loads.count; i++)
        end = end_of_load(t, builder, i, end);
    if (end == all)
        return last;
    /* never below -2^30, as extents are not negative: so it stays in 32 bits */
    return ir_cast(builder, end, upper->type->element);
}

/* ---- the first loop's body ---- */

/* Variable, and steady arguments, of each iteration. */
static void start_maps(struct together *t, struct ir_builder *builder, const struct ir_block *to)
{
    const struct ir_block *from = t->s->body;
    const struct ir_operation *yield = ir_terminator(from);
    struct ir_value *variable = to->arguments.data[0];
    for (int u = 0; u < t->count; u++) {
        t->again[u] = remake_open(t->s->context->arena, t->s->function, t->s->loop);
        struct ir_value *then = variable;
        if (u)
            then = ir_binary(builder, OP_ADD, variable, ir_constant_int(builder, variable->type, u * t->step));
        remake_set(&t->again[u], from->arguments.data[0], then);
        for (int i = 1; i < from->arguments.count; i++) {
            if (u == 0)
                remake_set(&t->again[u], from->arguments.data[i], to->arguments.data[i]);
            else if (t->s->steady[i])
                remake_set(&t->again[u], from->arguments.data[i],
                           remake_value(&t->again[u - 1], builder, yield->operands[i - 1]));
        }
    }
}

static void build_loads(struct together *t, struct ir_builder *builder)
{
    for (int i = 0; i < t->s->loads.count; i++)
        for (int u = 0; u < t->count; u++) {
            struct ir_operation *load = t->s->loads.data[i].load;
            struct ir_value *made = remake_value(&t->again[u], builder, load->results[0]);
            int64_t inside = ir_number(load, IR_ATTRIBUTE_INSIDE, 0) | t->inside[i];
            if (inside)
                ir_set_number(made->definition, IR_ATTRIBUTE_INSIDE, inside);
        }
}

static bool is_made(const struct remake *again, const struct ir_operation *op)
{
    return op->result_count && again->map[op->results[0]->id];
}

static void build_work(struct together *t, struct ir_builder *builder)
{
    const struct ir_block *from = t->s->body;
    const struct ir_operation *yield = ir_terminator(from);
    for (int u = 0; u < t->count; u++) {
        for (int i = 1; u && i < from->arguments.count; i++)
            if (!t->s->steady[i])
                remake_set(&t->again[u], from->arguments.data[i],
                           remake_find(&t->again[u - 1], yield->operands[i - 1]));
        for (const struct ir_operation *op = from->first; op != yield; op = op->next)
            if (!is_made(&t->again[u], op))
                remake_operation(&t->again[u], builder, op);
    }
}

void prefetch_emit_together(struct prefetch *s)
{
    struct ir_operation *rest = s->loop;
    struct arena *arena = s->context->arena;
    struct together t = {.s = s, .count = s->together};
    struct ir_builder builder = rewrite_before(rest);
    int carried = rest->result_count;
    struct ir_value **values = ARENA_ARRAY(arena, struct ir_value *, carried + 4);
    const struct ir_type **types = ARENA_ARRAY(arena, const struct ir_type *, carried + 1);
    ir_constant_integer(rest->operands[2], &t.step);
    t.again = ARENA_ARRAY(arena, struct remake, t.count);
    for (int i = 0; i < carried + 3; i++)
        values[i] = rest->operands[i];
    for (int i = 0; i < carried; i++)
        types[i] = rest->results[i]->type;
    values[1] = end_of_first(&t, &builder);
    values[2] = ir_constant_int(&builder, rest->operands[2]->type, t.count * t.step);
    values[carried + 3] = rest->operands[0];
    types[carried] = rest->operands[0]->type;
    struct ir_operation *first = ir_build(&builder, OP_FOR, carried + 4, values, carried + 1, types);
    ir_plan_keep(first, rest);
    if (ir_plan_of(first))
        ir_plan_of(first)->together = t.count;
    struct ir_block *to = first->regions[0];
    for (int i = 0; i <= carried; i++)
        ir_block_argument(to, s->body->arguments.data[i]->type, s->body->arguments.data[i]->name);
    ir_block_argument(to, types[carried], "from");
    struct ir_builder inner = {.module = builder.module, .block = to, .at = rest->at};
    start_maps(&t, &inner, to);
    build_loads(&t, &inner);
    build_work(&t, &inner);
    inner.at = rest->at;
    const struct ir_operation *yield = ir_terminator(s->body);
    for (int i = 0; i < carried; i++)
        values[i] = remake_find(&t.again[t.count - 1], yield->operands[i]);
    values[carried] = ir_binary(&inner, OP_ADD, to->arguments.data[0],
                                ir_constant_int(&inner, types[carried], t.count * t.step));
    ir_build(&inner, OP_YIELD, carried + 1, values, 0, NULL);
    ir_set_operand(rest, 0, first->results[carried]);
    for (int i = 0; i < carried; i++)
        ir_set_operand(rest, 3 + i, first->results[i]);
}
