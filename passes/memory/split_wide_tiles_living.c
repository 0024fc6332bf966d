/* How many registers a thread needs for tiles at the places of a function where whole tiles must exist: reductions,
 * loads and operations with regions.  Between these places the machine works element by element.
 *
 *     %c = reduce %v          %d, loaded above and stored below, is alive here: all of its registers count
 *
 * split_wide_tiles limits a kernel's registers by this number.  The limit must hold everywhere, also behind the parts
 * of the function that were split into pieces. */
#include "ir/facts/registers.h"
#include "ir/query.h"
#include "passes/memory/split_wide_tiles.h"

struct life {
    const struct ir_value *value;
    int from, to; /* operations of the body: behind this one, up to that one */
};
struct lives {
    struct arena *arena;
    int *life_of; /* by value id, 1 more than the number */
    bool *needed; /* by value id: whole tiles of which pieces were made are not, and still stand there */
    VECTOR(struct life) all;
    int position;
};

/* Its elements are registers of what it is made of, or made of these by one instruction where they are needed. */
static bool is_free(const struct ir_operation *op)
{
    bool widens = op->opcode == OP_CAST && ir_element_info[op->operands[0]->type->element].bits <
                                               ir_element_info[op->results[0]->type->element].bits;
    return op->operand_count == 1 && (widens || registers_are_shared(op));
}

static int registers_of(const struct ir_value *value)
{
    bool has_none = layout_rule_has(value) && layout_rule_cheap(value);
    return has_none ? 0 : registers_of_tile(value->type, REGISTERS_PACKED);
}

static void use_at(struct lives *l, const struct ir_value *value, int position)
{
    while (value->definition && is_free(value->definition))
        value = value->definition->operands[0];
    if (l->life_of[value->id])
        l->all.data[l->life_of[value->id] - 1].to = position;
}

static void need_operands(struct ir_operation *op, void *data)
{
    struct lives *l = data;
    for (int i = 0; i < op->operand_count; i++)
        l->needed[op->operands[i]->id] = true;
}

static bool is_needed(const struct lives *l, const struct ir_operation *op)
{
    bool needed = op->region_count || !(ir_has_trait(op, IR_TRAIT_PURE) || op->opcode == OP_LOAD);
    for (int i = 0; i < op->result_count; i++)
        needed = needed || l->needed[op->results[i]->id];
    return needed;
}

static void find_needed(struct lives *l, const struct ir_block *block)
{
    for (struct ir_operation *op = block->last; op; op = op->previous) {
        if (!is_needed(l, op))
            continue;
        need_operands(op, l);
        for (int r = 0; r < op->region_count; r++)
            ir_walk(op->regions[r], need_operands, l);
    }
}

static void use_within(struct ir_operation *op, void *data)
{
    struct lives *l = data;
    for (int i = 0; i < op->operand_count; i++)
        use_at(l, op->operands[i], l->position);
}

static void find_widest_load(struct ir_operation *op, void *data)
{
    int *widest = data, own = op->opcode == OP_LOAD ? registers_of(op->results[0]) : 0;
    *widest = own > *widest ? own : *widest;
}

/* What lives across the operation, and what it gives, or what it works on: loads give all of a tile at once, reductions
 * take it element by element, and branches do either. */
static int living_at(const struct lives *l, const struct ir_operation *op, int position)
{
    int taken = 0, within = 0, given = 0;
    for (int i = 0; i < l->all.count; i++) {
        const struct life *life = &l->all.data[i];
        int registers = registers_of(life->value);
        if (life->from < position && position + (op->opcode == OP_LOAD) <= life->to)
            taken += registers;
        else if (life->from == position && op->opcode != OP_REDUCE)
            given += registers;
    }
    for (int r = 0; r < op->region_count; r++)
        ir_walk(op->regions[r], find_widest_load, &within);
    return taken + (within > given ? within : given);
}

int wide_tile_living(struct arena *arena, const struct ir_function *function)
{
    struct lives l = {.arena = arena, .life_of = ARENA_ARRAY(arena, int, function->next_value_id + 1)};
    int most = 0, position = 0;
    l.needed = ARENA_ARRAY(arena, bool, function->next_value_id + 1);
    find_needed(&l, function->body);
    for (const struct ir_operation *op = function->body->first; op; op = op->next, position++) {
        if (!is_needed(&l, op))
            continue;
        l.position = position;
        for (int i = 0; i < op->operand_count; i++)
            use_at(&l, op->operands[i], position);
        for (int r = 0; r < op->region_count; r++)
            ir_walk(op->regions[r], use_within, &l);
        for (int i = 0; i < op->result_count; i++) {
            if (registers_of(op->results[i]) == 0 || is_free(op))
                continue;
            vector_push(arena, &l.all, ((struct life){op->results[i], position, position}));
            l.life_of[op->results[i]->id] = l.all.count;
        }
    }
    position = 0;
    for (const struct ir_operation *op = function->body->first; op; op = op->next, position++)
        if (op->opcode == OP_REDUCE || op->opcode == OP_LOAD || op->region_count) {
            int taken = living_at(&l, op, position);
            most = taken > most ? taken : most;
        }
    return most;
}
