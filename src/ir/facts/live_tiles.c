/* Live tiles by one walk from the end of the function to its start: a use makes a value live, its definition ends that.
 *
 *     %p = dot %a, %b, %zero : f32[128, 128]      ends the life of %p; %s and %p are there: 32768 words
 *     %q = mul %p, %factor
 *     %t = add %s, %q                             %t ends, %s and %q live; then %s and %p
 *
 * A sum that a product adds to is live in front of it and its result behind it, and so it is counted once.  What a loop
 * takes from outside lives all through it. */
#include "ir/facts/live_tiles.h"

#include "ir/facts/layout_rules.h"
#include "ir/query.h"

struct living {
    bool *live;
    int64_t words, most;
    const struct ir_operation *loop;
};

/* Does nothing read it but products, which read what is loaded from shared memory. */
static bool is_loaded_factor(const struct ir_value *value)
{
    if (!value->definition || (value->definition->opcode != OP_LOAD && value->definition->opcode != OP_PERMUTE))
        return false;
    for (const struct ir_use *use = value->uses; use; use = use->next) {
        bool factor = use->user->opcode == OP_DOT && use->index < 2;
        if (!factor && (use->user->opcode != OP_PERMUTE || !is_loaded_factor(use->user->results[0])))
            return false;
    }
    return true;
}

/* A broadcast reads the registers of what it is made of. */
static int64_t words_of(const struct ir_value *value)
{
    if (value->type->kind != IR_TILE || value->type->rank != 2 || layout_rule_cheap(value) || is_loaded_factor(value) ||
        (value->definition && value->definition->opcode == OP_BROADCAST))
        return 0;
    return ir_type_bytes(value->type) / 4;
}

static void begin(struct living *l, const struct ir_value *value)
{
    if (!l->live[value->id])
        l->words += words_of(value);
    l->live[value->id] = true;
}

static void end(struct living *l, const struct ir_value *value)
{
    if (l->live[value->id])
        l->words -= words_of(value);
    l->live[value->id] = false;
}

static void begin_outside(struct ir_operation *op, void *data)
{
    struct living *l = data;
    for (int i = 0; i < op->operand_count; i++)
        if (!ir_is_inside(op->operands[i], l->loop))
            begin(l, op->operands[i]);
}

static void walk(struct living *l, const struct ir_block *block)
{
    for (struct ir_operation *op = block->last; op; op = op->previous) {
        for (int i = 0; i < op->result_count; i++)
            end(l, op->results[i]);
        if (op->opcode == OP_DOT || op->opcode == OP_REDUCE)
            l->most = int64_max(l->most, l->words + words_of(op->results[0]));
        l->loop = op;
        for (int r = 0; ir_has_trait(op, IR_TRAIT_LOOP) && r < op->region_count; r++)
            ir_walk(op->regions[r], begin_outside, l);
        for (int r = op->region_count - 1; r >= 0 && !ir_is_isolated(op); r--)
            walk(l, op->regions[r]);
        for (int i = 0; i < op->operand_count; i++)
            begin(l, op->operands[i]);
    }
    for (int i = 0; i < block->arguments.count; i++)
        end(l, block->arguments.data[i]);
}

int64_t live_tiles_most(const struct ir_function *function)
{
    struct arena *arena = arena_create();
    struct living l = {.live = ARENA_ARRAY(arena, bool, function->next_value_id)};
    walk(&l, function->body);
    arena_destroy(arena);
    return l.most;
}
