/* Words of tiles that are alive at products and reductions, by the walk of living.h.
 *
 *     %p = dot %a, %b, %zero : f32[128, 128]      %p and %s are alive: 32768 words
 *     %q = mul %p, %factor
 *     %t = add %s, %q                             %t is alive behind it, %s and %q in front
 */
#include "ir/facts/live_tiles.h"

#include "ir/facts/layout_rules.h"
#include "ir/facts/living.h"

bool live_tiles_loaded_factor(const struct ir_value *value)
{
    if (!value->definition || (value->definition->opcode != OP_LOAD && value->definition->opcode != OP_PERMUTE))
        return false;
    for (const struct ir_use *use = value->uses; use; use = use->next) {
        bool factor = use->user->opcode == OP_DOT && use->index < 2;
        if (!factor && (use->user->opcode != OP_PERMUTE || !live_tiles_loaded_factor(use->user->results[0])))
            return false;
    }
    return true;
}

/* A broadcast reads the registers of what it is made of. */
static int64_t words_of(const struct ir_value *value)
{
    if (value->type->kind != IR_TILE || value->type->rank != 2 || layout_rule_cheap(value) ||
        live_tiles_loaded_factor(value) || (value->definition && value->definition->opcode == OP_BROADCAST))
        return 0;
    return ir_type_bytes(value->type) / 4;
}

/* A sum that a product adds to is alive in front of the product, and the product's result behind it.  They share their
 * registers, and so one of the two is counted. */
static void look(const struct living *living, const struct ir_operation *op, enum living_place place, void *data)
{
    int64_t *most = data;
    if (place == LIVING_BETWEEN && (op->opcode == OP_DOT || op->opcode == OP_REDUCE || op->opcode == OP_SCAN))
        *most = int64_max(*most, living->weight + words_of(op->results[0]));
}

int64_t live_tiles_most(const struct ir_function *function)
{
    struct arena *arena = arena_create();
    int64_t most = 0;
    struct living_question question = {.weight = words_of, .look = look, .data = &most};
    living_walk(arena, function, &question);
    arena_destroy(arena);
    return most;
}
