/* Divisibility, contiguity and constancy of integers and pointers by one forward walk over a function.  Loops start from
 * what the initial values have and fall until nothing changes: each entry only gets smaller, so that ends. */
#include "base/plant.h"
#include "ir/facts/divisibility_rules.h"

struct walker {
    struct divisibility_source source;
    struct divisibilities *table;
};

struct divisibility divisibility_of(const struct divisibilities *table, const struct ir_value *value)
{
    return divisibility_is_tracked(value) && value->id < table->count && table->of[value->id].multiple[0]
               ? table->of[value->id]
               : divisibility_unknown(value->type);
}

static struct divisibility in_table(const struct divisibility_source *source, const struct ir_value *value)
{
    return divisibility_of(((const struct walker *)source)->table, value);
}

static void set(struct walker *walker, const struct ir_value *value, struct divisibility known)
{
    if (divisibility_is_tracked(value))
        walker->table->of[value->id] = known;
}

static void walk_block(struct walker *walker, const struct ir_block *block);

static bool feed_back(struct walker *walker, int count, struct ir_value *const *arguments, struct ir_value *const *next)
{
    bool fell = false;
    for (int i = 0; i < count; i++) {
        if (!divisibility_is_tracked(arguments[i]))
            continue;
        struct divisibility old = divisibility_of(walker->table, arguments[i]);
        struct divisibility now = divisibility_meet(old, divisibility_of(walker->table, next[i]));
        fell = fell || !divisibility_same(&old, &now);
        set(walker, arguments[i], now);
    }
    return fell;
}

/* What the body of a while sees of what goes round. */
static void enter_body(struct walker *walker, const struct ir_operation *op, bool first_time)
{
    const struct ir_block *body = op->regions[1];
    for (int i = 0; i < op->result_count; i++) {
        const struct ir_value *argument = body->arguments.data[i];
        if (!divisibility_next(op, i))
            set(walker, argument, divisibility_of(walker->table, ir_terminator(op->regions[0])->operands[i + 1]));
        else if (first_time)
            set(walker, argument, divisibility_of(walker->table, op->operands[i]));
    }
}

static bool leave_body(struct walker *walker, const struct ir_operation *op)
{
    bool fell = false;
    for (int i = 0; i < op->result_count; i++) {
        const struct ir_value *next = divisibility_next(op, i);
        if (next)
            fell |= feed_back(walker, 1, &op->regions[1]->arguments.data[i], (struct ir_value *const *)&next);
    }
    return fell;
}

static void walk_loop(struct walker *walker, const struct ir_operation *op)
{
    bool is_for = op->opcode == OP_FOR;
    const struct ir_block *first = op->regions[0], *body = op->regions[is_for ? 0 : 1];
    int skip = is_for ? 3 : 0, count = op->result_count;
    struct ir_value *const *arguments = first->arguments.data + (is_for ? 1 : 0);
    if (is_for) {
        struct divisibility variable = divisibility_of(walker->table, op->operands[0]);
        struct divisibility step = divisibility_of(walker->table, op->operands[2]);
        if (PLANTED(divisibility_of_loop_step_alone))
            variable = step;
        /* lower + n * step; lower * step^n: a multiple of what lower is */
        set(walker, first->arguments.data[0],
            ir_number(op, IR_ATTRIBUTE_MULTIPLY, 0) ? variable : divisibility_meet(variable, step));
    }
    for (int i = 0; i < count; i++)
        set(walker, arguments[i], divisibility_of(walker->table, op->operands[i + skip]));
    bool fell = true;
    for (int round = 0; fell; round++) {
        walk_block(walker, first);
        if (!is_for) {
            enter_body(walker, op, round == 0);
            walk_block(walker, body);
        }
        fell = !is_for && leave_body(walker, op);
        fell |= feed_back(walker, count, arguments, ir_terminator(body)->operands);
    }
    for (int i = 0; i < count; i++)
        set(walker, op->results[i],
            divisibility_of(walker->table, is_for ? arguments[i] : ir_terminator(first)->operands[i + 1]));
}

static void walk_operation(struct walker *walker, const struct ir_operation *op)
{
    if (op->opcode == OP_FOR || op->opcode == OP_WHILE) {
        walk_loop(walker, op);
        return;
    }
    for (int i = 0; i < op->region_count; i++) {
        for (int k = 0; k < op->regions[i]->arguments.count; k++)
            set(walker, op->regions[i]->arguments.data[k],
                divisibility_unknown(op->regions[i]->arguments.data[k]->type));
        walk_block(walker, op->regions[i]);
    }
    for (int i = 0; i < op->result_count; i++) {
        if (!divisibility_is_tracked(op->results[i]))
            continue;
        if (op->opcode == OP_IF)
            set(walker, op->results[i],
                divisibility_meet(divisibility_of(walker->table, ir_terminator(op->regions[0])->operands[i]),
                                  divisibility_of(walker->table, ir_terminator(op->regions[1])->operands[i])));
        else
            set(walker, op->results[i],
                op->result_count == 1 ? divisibility_evaluate(&walker->source, op)
                                      : divisibility_unknown(op->results[i]->type));
    }
}

static void walk_block(struct walker *walker, const struct ir_block *block)
{
    for (const struct ir_operation *op = block->first; op; op = op->next)
        walk_operation(walker, op);
}

/* A scalar is alike in all dimensions, as where it is spread over a tile. */
static void set_multiple(struct walker *walker, const struct ir_value *scalar, int64_t multiple)
{
    struct divisibility known = divisibility_of(walker->table, scalar);
    for (int d = 0; d < IR_MAX_RANK; d++)
        known.multiple[d] = int64_max(known.multiple[d], multiple);
    set(walker, scalar, known);
}

/* assume(x % 2^k == 0) at the top of the function: x is a multiple, and the rest, computed before, is 0.  Casts of
 * them, and what they are casts of, are as well. */
static void apply_assumption(struct walker *walker, const struct ir_value *condition)
{
    const struct ir_operation *op = condition->definition;
    const struct ir_value *zero = divisibility_told_zero(condition);
    int64_t by;
    if (op && op->opcode == OP_AND) {
        apply_assumption(walker, op->operands[0]);
        apply_assumption(walker, op->operands[1]);
    }
    if (zero)
        set_multiple(walker, zero, divisibility_power(0));
    const struct ir_value *multiple = divisibility_told(condition, &by);
    if (!multiple)
        return;
    set_multiple(walker, multiple, divisibility_power(by));
    set_multiple(walker, divisibility_uncast(multiple), divisibility_power(by));
}

const struct divisibilities *divisibility_analyse(const struct ir_function *function, struct arena *arena)
{
    struct divisibilities *table = ARENA_NEW(arena, struct divisibilities);
    table->count = function->next_value_id;
    table->of = ARENA_ARRAY(arena, struct divisibility, table->count);
    struct walker walker = {{in_table, ranges_analyse(function, arena), false}, table};
    for (int i = 0; i < function->body->arguments.count; i++)
        set(&walker, function->body->arguments.data[i], divisibility_of_argument(function->body->arguments.data[i]));
    for (const struct ir_operation *op = function->body->first; op; op = op->next) {
        walk_operation(&walker, op);
        if (op->opcode == OP_ASSUME) /* holds for what comes after; what came before was computed without */
            apply_assumption(&walker, op->operands[0]);
    }
    return table;
}
