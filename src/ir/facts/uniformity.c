/* Uniformity: which tiles hold one value, and which values are the same in every instance of the grid.  An instance is
 * one thread of control at this level, so scalars are uniform within it by construction. */
#include "base/plant.h"
#include "ir/facts/analysis.h"

static struct uniformity both(struct uniformity a, struct uniformity b)
{
    return (struct uniformity){a.one_value && b.one_value, a.same_grid && b.same_grid};
}

struct uniformity uniformity_of(const struct uniformities *table, const struct ir_value *value)
{
    if (value->id < table->count)
        return table->of[value->id];
    return (struct uniformity){.one_value = value->type->rank == 0};
}

static bool is_scalar(const struct ir_value *value) { return value->type->kind != IR_TILE || value->type->rank == 0; }

static void set(struct uniformities *table, const struct ir_value *value, struct uniformity known)
{
    known.one_value = known.one_value || is_scalar(value);
    table->of[value->id] = known;
}

static struct uniformity of_operands(const struct uniformities *table, const struct ir_operation *op)
{
    struct uniformity out = {true, true};
    for (int i = 0; i < op->operand_count; i++)
        out = both(out, uniformity_of(table, op->operands[i]));
    return out;
}

static void walk_block(struct uniformities *table, const struct ir_block *block);

static bool feed_back(struct uniformities *table, int count, struct ir_value *const *arguments,
                      struct ir_value *const *next, bool same_trips)
{
    bool fell = false;
    for (int i = 0; i < count; i++) {
        struct uniformity old = uniformity_of(table, arguments[i]), now = both(old, uniformity_of(table, next[i]));
        now.same_grid = now.same_grid && (same_trips || PLANTED(uniformity_ignores_trips) || arguments[i] == next[i]);
        set(table, arguments[i], now);
        fell = fell || old.one_value != table->of[arguments[i]->id].one_value || old.same_grid != now.same_grid;
    }
    return fell;
}

/* A value that goes round is the same in every instance only when the number of rounds is. */
static void walk_loop(struct uniformities *table, const struct ir_operation *op)
{
    bool is_for = op->opcode == OP_FOR, same_trips = true;
    const struct ir_block *first = op->regions[0], *body = op->regions[is_for ? 0 : 1];
    int skip = is_for ? 3 : 0, count = op->result_count;
    struct ir_value *const *arguments = first->arguments.data + (is_for ? 1 : 0);
    for (int i = 0; i < skip; i++)
        same_trips = same_trips && uniformity_of(table, op->operands[i]).same_grid;
    if (is_for) /* what an iteration sees: as lower and step are; how many there are does not matter inside */
        set(table, first->arguments.data[0],
            both(uniformity_of(table, op->operands[0]), uniformity_of(table, op->operands[2])));
    for (int i = 0; i < count; i++)
        set(table, arguments[i], uniformity_of(table, op->operands[i + skip]));
    do {
        walk_block(table, first);
        if (!is_for) {
            same_trips = same_trips && uniformity_of(table, ir_terminator(first)->operands[0]).same_grid;
            for (int i = 0; i < count; i++)
                set(table, body->arguments.data[i], uniformity_of(table, ir_terminator(first)->operands[i + 1]));
            walk_block(table, body);
        }
    } while (feed_back(table, count, arguments, ir_terminator(body)->operands, same_trips));
    for (int i = 0; i < count; i++) {
        struct uniformity known = uniformity_of(table, is_for ? arguments[i] : ir_terminator(first)->operands[i + 1]);
        known.same_grid = known.same_grid && same_trips;
        set(table, op->results[i], known);
    }
}

static struct uniformity of_result(const struct uniformities *table, const struct ir_operation *op, int result)
{
    struct uniformity in = of_operands(table, op);
    switch (op->opcode) {
    case OP_IF: {
        struct uniformity sides = both(uniformity_of(table, ir_terminator(op->regions[0])->operands[result]),
                                       uniformity_of(table, ir_terminator(op->regions[1])->operands[result]));
        sides.same_grid = sides.same_grid && in.same_grid;
        return sides; /* the condition is a scalar: the whole tile comes from one side */
    }
    case OP_IOTA: return (struct uniformity){op->results[0]->type->extent[0] == 1, true};
    case OP_GRID_INDEX:
    case OP_PROGRAM: return (struct uniformity){true, false};
    case OP_INSIDE: return (struct uniformity){false, in.same_grid};
    case OP_REDUCE:
    case OP_DOT: return in;
    case OP_LOAD:
    case OP_POINTER_LOAD:
    case OP_ATOMIC:
    case OP_ATOMIC_CAS:
    case OP_POINTER_ATOMIC:
    case OP_POINTER_CAS:
    case OP_CALL:
    case OP_BUFFER_LOAD:
    case OP_DOT_ASYNC:
    case OP_DOT_WAIT:
    case OP_UNDEFINED: return (struct uniformity){false, false};
    default: return in;
    }
}

static void walk_block(struct uniformities *table, const struct ir_block *block)
{
    for (const struct ir_operation *op = block->first; op; op = op->next) {
        if (op->opcode == OP_FOR || op->opcode == OP_WHILE) {
            walk_loop(table, op);
            continue;
        }
        for (int r = 0; r < op->region_count; r++) {
            for (int i = 0; i < op->regions[r]->arguments.count; i++)
                set(table, op->regions[r]->arguments.data[i],
                    (struct uniformity){true, of_operands(table, op).same_grid});
            walk_block(table, op->regions[r]);
        }
        for (int i = 0; i < op->result_count; i++)
            set(table, op->results[i], of_result(table, op, i));
    }
}

const struct uniformities *uniformity_analyse(const struct ir_function *function, struct arena *arena)
{
    struct uniformities *table = ARENA_NEW(arena, struct uniformities);
    table->count = function->next_value_id;
    table->of = ARENA_ARRAY(arena, struct uniformity, table->count);
    for (int i = 0; i < function->body->arguments.count; i++)
        set(table, function->body->arguments.data[i],
            (struct uniformity){is_scalar(function->body->arguments.data[i]), function->is_kernel});
    walk_block(table, function->body);
    return table;
}
