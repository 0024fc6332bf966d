/* How many registers a thread needs for tiles at the places of a function where whole tiles must exist: reductions,
 * loads and operations with regions.  Between these places the machine works element by element.
 *
 *     %c = reduce %v          %d, loaded above and stored below, is alive here: all of its registers count
 *
 * split_wide_tiles limits a kernel's registers by this number.  The limit must hold everywhere, also behind the parts
 * of the function that were split into pieces. */
#include "ir/facts/living.h"
#include "ir/facts/registers.h"
#include "ir/query.h"
#include "passes/memory/split_wide_tiles.h"

struct search {
    const struct ir_block *body;
    bool *needed; /* by value id: whole tiles of which pieces were made are not, and still stand there */
    int most;
};

/* Its elements are registers of what it is made of, or made of these by one instruction where they are needed. */
static bool is_free(const struct ir_operation *op)
{
    bool widens = op->opcode == OP_CAST && ir_element_info[op->operands[0]->type->element].bits <
                                               ir_element_info[op->results[0]->type->element].bits;
    return op->operand_count == 1 && (widens || registers_are_shared(op));
}

static int64_t registers_of(const struct ir_value *value)
{
    bool has_none = !value->definition || (layout_rule_has(value) && layout_rule_cheap(value));
    return has_none ? 0 : registers_of_tile(value->type, REGISTERS_PACKED);
}

static const struct ir_value *origin_of(const struct ir_value *value)
{
    while (value->definition && is_free(value->definition))
        value = value->definition->operands[0];
    return value;
}

static void need_operands(struct ir_operation *op, void *data)
{
    struct search *s = data;
    for (int i = 0; i < op->operand_count; i++)
        s->needed[op->operands[i]->id] = true;
}

static bool is_needed(const struct search *s, const struct ir_operation *op)
{
    bool needed = op->region_count || !(ir_has_trait(op, IR_TRAIT_PURE) || op->opcode == OP_LOAD);
    for (int i = 0; i < op->result_count; i++)
        needed = needed || s->needed[op->results[i]->id];
    return needed;
}

static void find_needed(struct search *s, const struct ir_block *block)
{
    for (struct ir_operation *op = block->last; op; op = op->previous) {
        if (!is_needed(s, op))
            continue;
        need_operands(op, s);
        for (int r = 0; r < op->region_count; r++)
            ir_walk(op->regions[r], need_operands, s);
    }
}

static void find_widest_load(struct ir_operation *op, void *data)
{
    int64_t *widest = data;
    *widest = int64_max(*widest, op->opcode == OP_LOAD ? registers_of(op->results[0]) : 0);
}

static bool counts(const struct ir_operation *op, void *data)
{
    const struct search *s = data;
    return op->block != s->body || is_needed(s, op);
}

/* What lives across the operation, and what it gives, or what it works on: loads give all of a tile at once, reductions
 * take it element by element, and branches do either. */
static void look(const struct living *living, const struct ir_operation *op, enum living_place place, void *data)
{
    struct search *s = data;
    int64_t within = 0, given = 0;
    bool is_whole = op->opcode == OP_REDUCE || op->opcode == OP_LOAD || op->region_count;
    if (op->block != s->body || !is_whole || place != (op->opcode == OP_LOAD ? LIVING_BETWEEN : LIVING_FRONT))
        return;
    for (int i = 0; i < op->result_count && op->opcode != OP_REDUCE && is_needed(s, op); i++)
        given += registers_of(op->results[i]);
    for (int r = 0; r < op->region_count; r++)
        ir_walk(op->regions[r], find_widest_load, &within);
    s->most = (int)int64_max(s->most, living->weight + int64_max(within, given));
}

int wide_tile_living(struct arena *arena, const struct ir_function *function)
{
    struct search s = {function->body, ARENA_ARRAY(arena, bool, function->next_value_id + 1), 0};
    struct living_question question = {registers_of, origin_of, look, counts, NULL, &s};
    find_needed(&s, function->body);
    living_walk(arena, function, &question);
    return s.most;
}
