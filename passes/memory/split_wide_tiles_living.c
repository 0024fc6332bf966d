/* How many registers a thread needs for tiles at the places of a function where whole tiles must exist: reductions,
 * loads and operations with regions.  Between these places the machine works element by element.
 *
 *     %c = reduce %v          %d, loaded above and stored below, is alive here: all of its registers count
 *
 * split_wide_tiles limits a kernel's registers by this number.  The limit must hold everywhere, also behind the parts
 * of the function that were split into pieces. */
#include <string.h>

#include "ir/facts/alias.h"
#include "ir/facts/living.h"
#include "ir/facts/registers.h"
#include "ir/query.h"
#include "passes/memory/split_wide_tiles.h"

struct search {
    struct arena *arena;
    const struct ir_block *body;
    bool *needed; /* by value id: whole tiles of which pieces were made are not, and still stand there */
    int64_t (*weight)(const struct ir_value *value);
    bool by_element; /* what is reduced is made where it is reduced */
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

/* A load from where alignment is not known reads elements one by one. */
static bool comes_apart(const struct ir_value *value)
{
    const struct ir_operation *op = value->definition;
    const struct ir_value *argument = op && op->opcode == OP_LOAD ? alias_root(op->operands[0]) : NULL;
    const struct ir_function *function = op ? op->block->function : NULL;
    return argument && argument->index < function->facts.count &&
           function->facts.data[argument->index].base_alignment < 4;
}

/* How many operations work on an element of the value, or on what it is widened to, but for stores, which take it as it
 * is.  Pieces are alike: those of one are counted. */
static int count_workers(const struct ir_value *value)
{
    const struct ir_attribute *piece = NULL;
    int workers = 0;
    for (const struct ir_use *use = value->uses; use; use = use->next) {
        const struct ir_operation *user = use->user;
        const struct ir_attribute *start = user->opcode == OP_EXTRACT ? ir_attribute(user, IR_ATTRIBUTE_START) : NULL;
        piece = piece ? piece : start;
        bool counted = use->next && use->next->user == user; /* a square is one operation */
        if (counted || user->opcode == OP_BUFFER_STORE || user->opcode == OP_STORE ||
            (start && memcmp(start->list, piece->list, (size_t)start->count * sizeof *start->list) != 0))
            continue;
        workers += start || is_free(user) ? count_workers(user->results[0]) : 1;
    }
    return workers;
}

/* What several operations work on is made wide once, as LLVM sees to it. */
static int64_t registers_of_elements(const struct ir_value *value)
{
    bool is_wide = count_workers(value) > 1 || comes_apart(value);
    return is_wide && registers_of(value) ? registers_of_tile(value->type, REGISTERS_ELEMENTS) : registers_of(value);
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
    bool computes = op->opcode == OP_IF
                        ? !ir_has_effect(op)
                        : !op->region_count && (ir_has_trait(op, IR_TRAIT_PURE) || op->opcode == OP_LOAD);
    bool needed = !computes;
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
            if (op->opcode == OP_IF)
                find_needed(s, op->regions[r]);
            else
                ir_walk(op->regions[r], need_operands, s);
    }
}

struct widest {
    const struct search *search;
    int64_t registers;
};

static void find_widest_load(struct ir_operation *op, void *data)
{
    struct widest *widest = data;
    if (op->opcode == OP_LOAD && is_needed(widest->search, op))
        widest->registers = int64_max(widest->registers, widest->search->weight(op->results[0]));
}

static bool counts(const struct ir_operation *op, void *data) { return is_needed(data, op); }

/* Registers of what the value is computed from, element by element, but for what is alive or was counted. */
static int64_t weigh_sources(const struct search *s, const struct living *living, const struct ir_value *value,
                             bool *counted)
{
    const struct ir_value *origin = origin_of(value);
    const struct ir_operation *op = origin->definition;
    int64_t weight = 0;
    if (counted[origin->id] || living->alive[origin->id])
        return 0;
    counted[origin->id] = true;
    if (!op || !ir_has_trait(op, IR_TRAIT_ELEMENTWISE))
        return s->weight(origin);
    for (int i = 0; i < op->operand_count; i++)
        weight += weigh_sources(s, living, op->operands[i], counted);
    return weight;
}

/* One use of the value, and of all that its registers are. */
static bool is_alone(const struct ir_value *value)
{
    while (stream_used_once(value) && value->definition && is_free(value->definition))
        value = value->definition->operands[0];
    return stream_used_once(value);
}

/* A value that is reduced, and that nobody else wants, takes no more than what it is computed from and the sums of
 * pairs, or as much as in memory where it is loaded. */
static int64_t weigh_reduced(struct search *s, const struct living *living, const struct ir_operation *reduce)
{
    bool *counted = ARENA_ARRAY(s->arena, bool, living->count);
    int64_t more = 0;
    for (int i = 0; i < reduce->operand_count; i++) {
        const struct ir_value *origin = origin_of(reduce->operands[i]);
        const struct ir_operation *op = origin->definition;
        if (!op || !is_alone(reduce->operands[i]))
            continue;
        if (op->opcode == OP_LOAD)
            more += registers_of(origin) - s->weight(origin);
        if (!ir_has_trait(op, IR_TRAIT_ELEMENTWISE))
            continue;
        int64_t sources = 0;
        counted[origin->id] = true;
        for (int k = 0; k < op->operand_count; k++)
            sources += weigh_sources(s, living, op->operands[k], counted);
        more += int64_min(0, sources - s->weight(origin) + s->weight(origin) / 2);
    }
    return more;
}

static bool is_only_reduced(const struct ir_value *value)
{
    while (stream_used_once(value)) {
        const struct ir_operation *user = value->uses->user;
        if (user->opcode == OP_REDUCE || !ir_has_trait(user, IR_TRAIT_ELEMENTWISE))
            return user->opcode == OP_REDUCE;
        value = user->results[0];
    }
    return false;
}

/* What lives across the operation, and what it gives, or what it works on: loads give all of a tile at once, reductions
 * take it element by element, and branches do either. */
static void look(const struct living *living, const struct ir_operation *op, enum living_place place, void *data)
{
    struct search *s = data;
    struct widest within = {s, 0};
    int64_t given = 0, reduced = 0;
    bool is_whole = op->opcode == OP_REDUCE || op->opcode == OP_LOAD || op->region_count;
    if (op->block != s->body || !is_whole || place != (op->opcode == OP_LOAD ? LIVING_BETWEEN : LIVING_FRONT))
        return;
    for (int i = 0; i < op->result_count && op->opcode != OP_REDUCE && is_needed(s, op); i++)
        given += is_only_reduced(op->results[i]) ? registers_of(op->results[i]) : s->weight(op->results[i]);
    for (int r = 0; r < op->region_count; r++)
        ir_walk(op->regions[r], find_widest_load, &within);
    if (op->opcode == OP_REDUCE && s->by_element)
        reduced = weigh_reduced(s, living, op);
    s->most = (int)int64_max(s->most, living->weight + reduced + int64_max(within.registers, given));
}

static int most_alive(struct arena *arena, const struct ir_function *function,
                      int64_t (*weight)(const struct ir_value *value), bool by_element)
{
    struct search s = {.arena = arena,
                       .body = function->body,
                       .needed = ARENA_ARRAY(arena, bool, function->next_value_id + 1),
                       .weight = weight,
                       .by_element = by_element};
    struct living_question question = {weight, origin_of, look, counts, NULL, &s};
    find_needed(&s, function->body);
    living_walk(arena, function, &question);
    return s.most;
}

int wide_tile_living(struct arena *arena, const struct ir_function *function)
{
    return most_alive(arena, function, registers_of, false);
}

int wide_tile_packed(struct arena *arena, const struct ir_function *function)
{
    return most_alive(arena, function, registers_of, true);
}

int wide_tile_elements(struct arena *arena, const struct ir_function *function)
{
    return most_alive(arena, function, registers_of_elements, true);
}
