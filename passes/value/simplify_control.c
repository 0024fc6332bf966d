/* Control flow whose way is known, for simplify.
 *
 *     if true { A yield x } else { B yield y }     =  A; x
 *     if c { yield x } else { yield y }            =  select c, x, y       (tiles and scalars, nothing else inside)
 *     if c { A yield x } else { B yield x }        =  its result is x where x is from outside
 *     for k = lo to hi … with hi <= lo             =  the initial values
 *     for … iter(a = x) { … yield a }              =  x for that result and inside */
#include "base/plant.h"
#include "passes/value/simplify.h"

/* Puts a region's operations in front of its operation, which then goes; its results become what the region yields. */
static void unwrap(struct ir_operation *op, struct ir_block *region)
{
    struct ir_operation *end = ir_terminator(region);
    while (region->first != end)
        ir_move_before(region->first, op);
    for (int i = 0; i < op->result_count; i++)
        ir_replace_uses(op->results[i], end->operands[i]);
    ir_remove(op);
}

/* Operations before the terminator that may run whether the condition holds or not: none. */
static bool only_yields(const struct ir_block *region) { return region->first && region->first == region->last; }

static bool simplify_if(struct ir_operation *op)
{
    uint64_t bits;
    if (ir_constant_of(op->operands[0], &bits)) {
        unwrap(op, op->regions[bits ? 0 : 1]);
        return true;
    }
    bool changed = false;
    const struct ir_operation *then_end = ir_terminator(op->regions[0]), *else_end = ir_terminator(op->regions[1]);
    for (int i = 0; i < op->result_count; i++) {
        struct ir_value *value = then_end->operands[i];
        if (value == else_end->operands[i] && op->results[i]->uses && !ir_is_inside(value, op)) {
            ir_replace_uses(op->results[i], value);
            changed = true;
        }
    }
    if (!only_yields(op->regions[0]) || !only_yields(op->regions[1]))
        return changed;
    struct ir_builder builder = rewrite_before(op);
    for (int i = 0; i < op->result_count; i++) {
        if (op->results[i]->type->kind != IR_TILE)
            return changed;
    }
    for (int i = 0; i < op->result_count; i++)
        if (op->results[i]->uses)
            ir_replace_uses(op->results[i],
                            ir_select(&builder, op->operands[0], then_end->operands[i], else_end->operands[i]));
    ir_remove(op);
    return true;
}

/* Known to run no iteration. */
static bool is_empty(const struct ir_operation *op)
{
    int64_t lower, upper, step;
    if (!ir_constant_integer(op->operands[2], &step) || ir_number(op, IR_ATTRIBUTE_MULTIPLY, 0))
        step = 1;
    else if (step == 0)
        return false;
    if (op->operands[0] == op->operands[1])
        return true;
    enum ir_element e = op->operands[0]->type->element;
    if (e == IR_U64 || !ir_constant_integer(op->operands[0], &lower) || !ir_constant_integer(op->operands[1], &upper))
        return false;
    bool known = ir_is_constant(op->operands[2]) || ir_number(op, IR_ATTRIBUTE_MULTIPLY, 0);
    return step < 0 ? lower <= upper : known ? lower + PLANTED(simplify_drops_single_turn) >= upper : lower == upper;
}

static bool simplify_for(struct ir_operation *op)
{
    if (is_empty(op)) {
        for (int i = 0; i < op->result_count; i++)
            ir_replace_uses(op->results[i], op->operands[i + 3]);
        ir_remove(op);
        return true;
    }
    bool changed = false;
    const struct ir_operation *end = ir_terminator(op->regions[0]);
    for (int i = 0; i < op->result_count; i++) {
        struct ir_value *argument = op->regions[0]->arguments.data[i + 1];
        struct ir_value *initial = op->operands[i + 3], *next = end->operands[i];
        if ((next != argument && next != initial) || !(argument->uses || op->results[i]->uses))
            continue;
        if (next == argument && argument->uses->user == end && !argument->uses->next && !op->results[i]->uses)
            continue; /* only carries itself: dce drops it */
        ir_replace_uses(argument, initial);
        ir_replace_uses(op->results[i], initial);
        changed = true;
    }
    return changed;
}

/* Lines of one element: each stands for itself, and before it stands the first value. */
static bool simplify_scan(struct ir_operation *op)
{
    if (op->operands[0]->type->extent[ir_number(op, IR_ATTRIBUTE_AXIS, 0)] != 1)
        return false;
    bool exclusive = ir_number(op, IR_ATTRIBUTE_EXCLUSIVE, 0) != 0;
    struct ir_builder builder = rewrite_before(op);
    for (int i = 0; i < op->result_count; i++)
        ir_replace_uses(op->results[i], exclusive ? ir_build_value(&builder, OP_SPLAT, op->results[i]->type, 1,
                                                                   &op->operands[op->result_count + i])
                                                  : op->operands[i]);
    ir_remove(op);
    return true;
}

bool simplify_control(struct ir_operation *op)
{
    switch (op->opcode) {
    case OP_IF: return simplify_if(op);
    case OP_FOR: return simplify_for(op);
    case OP_SCAN: return simplify_scan(op);
    default: return false;
    }
}
