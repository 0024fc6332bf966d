/* Aliasing of views and pointers.  A view or pointer that is derived from an argument touches that argument's elements
 * only, and a restricted argument shares none with any other (the wrapper checks it, or the author says it).  What
 * comes through a region argument, a load or a choice has no known root and may be anything. */
#include "base/plant.h"
#include "ir/facts/alias.h"

#include "ir/query.h"

const struct ir_value *alias_root(const struct ir_value *value)
{
    while (value->definition) {
        const struct ir_operation *op = value->definition;
        switch (op->opcode) {
        case OP_SUBVIEW:
        case OP_VIEW_PERMUTE:
        case OP_MAKE_VIEW:
        case OP_VIEW_POINTER:
        case OP_POINTER_ADD:
        case OP_SPLAT:
        case OP_BROADCAST:
        case OP_RESHAPE:
        case OP_PERMUTE:
        case OP_EXTRACT:
        case OP_FLIP:
        case OP_CONVERT_LAYOUT: value = op->operands[0]; break;
        default: return NULL;
        }
    }
    return value->block->parent ? NULL : value;
}

bool alias_is_one_to_one(const struct ir_value *view)
{
    while (view->definition && (view->definition->opcode == OP_SUBVIEW || view->definition->opcode == OP_VIEW_PERMUTE))
        view = view->definition->operands[0];
    return !view->definition && !view->block->parent;
}

static const struct ir_argument_fact *fact_of(const struct ir_value *argument)
{
    static const struct ir_argument_fact none;
    const struct ir_function *function = argument->block->function;
    return argument->index < function->facts.count ? &function->facts.data[argument->index] : &none;
}

static bool arguments_may(const struct ir_value *a, const struct ir_value *b)
{
    const struct ir_argument_fact *fact = fact_of(a), *other = fact_of(b);
    bool are_views = a->type->kind == IR_VIEW && b->type->kind == IR_VIEW;
    return !fact->restricted && !other->restricted && !(are_views && (fact->apart || other->apart));
}

const struct ir_value *alias_memory(const struct ir_operation *op)
{
    bool is_known = op->opcode != OP_ASM_EFFECT && op->opcode != OP_CALL && op->operand_count > 0;
    return is_known ? op->operands[0] : NULL;
}

bool alias_may(const struct ir_value *a, const struct ir_value *b)
{
    if (!a || !b)
        return true;
    const struct ir_value *root = alias_root(a), *other = alias_root(b);
    if (root == other || !root || !other)
        /* a value of unknown root may come from a restricted argument too */
        return root == other ||
               !(PLANTED(unknown_views_are_apart) || (PLANTED(alias_pointers_apart) && a->type->kind == IR_TILE));
    return !PLANTED(arguments_never_overlap) && arguments_may(root, other);
}

bool alias_orders(const struct ir_operation *op)
{
    if (op->opcode == OP_ASM_EFFECT)
        return true;
    if (ir_op_info[op->opcode].traits & IR_TRAIT_ATOMIC)
        return ir_number(op, IR_ATTRIBUTE_ORDER, IR_ORDER_RELAXED) != IR_ORDER_RELAXED &&
               !PLANTED(acquire_orders_nothing);
    return op->opcode == OP_CALL || (ir_op_info[op->opcode].traits & IR_TRAIT_SYNC);
}

bool alias_clobbers(const struct ir_operation *write, const struct ir_operation *load)
{
    if (alias_orders(write))
        return true;
    unsigned writing = IR_TRAIT_WRITE | (PLANTED(atomic_is_no_write) ? 0 : IR_TRAIT_ATOMIC);
    bool writes = ir_op_info[write->opcode].traits & writing;
    if (writes && write->opcode != OP_ASSUME && alias_may(alias_memory(write), load->operands[0]))
        return true;
    for (int i = 0; i < write->region_count; i++)
        for (const struct ir_operation *inner = write->regions[i]->first; inner; inner = inner->next)
            if (alias_clobbers(inner, load))
                return true;
    return false;
}

static bool any_writes(const struct ir_block *block, const struct ir_value *memory)
{
    for (const struct ir_operation *op = block->first; op; op = op->next) {
        bool writes = ir_op_info[op->opcode].traits & (IR_TRAIT_WRITE | IR_TRAIT_ATOMIC);
        if (writes && op->opcode != OP_ASSUME && alias_may(alias_memory(op), memory))
            return true;
        for (int i = 0; i < op->region_count; i++)
            if (any_writes(op->regions[i], memory))
                return true;
    }
    return false;
}

/* ---- who comes first ---- */

enum side { LEARNS, TELLS };

static bool orders_so(const struct ir_operation *op, enum side side)
{
    bool atomic = ir_op_info[op->opcode].traits & IR_TRAIT_ATOMIC;
    int64_t order = ir_number(op, IR_ATTRIBUTE_ORDER, IR_ORDER_RELAXED);
    if (op->opcode == OP_CALL || op->opcode == OP_MEET ||
        (atomic && alias_orders(op) && order != (side == LEARNS ? IR_ORDER_RELEASE : IR_ORDER_ACQUIRE)))
        return true;
    for (int r = 0; r < op->region_count; r++)
        for (const struct ir_operation *inner = op->regions[r]->first; inner; inner = inner->next)
            if (orders_so(inner, side) && !PLANTED(settled_ignores_regions))
                return true;
    return false;
}

bool alias_tells(const struct ir_operation *op) { return orders_so(op, TELLS); }

/* Around the operation, in front of it or behind it: all of a loop is both. */
static bool comes(const struct ir_operation *op, enum side side, bool in_front)
{
    for (; op; op = op->block->parent) {
        const struct ir_operation *other = in_front ? op->previous : op->next;
        for (; other; other = in_front ? other->previous : other->next)
            if (orders_so(other, side))
                return true;
        const struct ir_operation *outer = op->block->parent;
        if (outer && (outer->opcode == OP_FOR || outer->opcode == OP_WHILE) && orders_so(outer, side))
            return true;
    }
    return false;
}

bool alias_follows_acquire(const struct ir_operation *op) { return comes(op, LEARNS, true); }

bool alias_precedes_release(const struct ir_operation *op) { return comes(op, TELLS, false); }

/* Nothing but atomics, of which one is asked for what it finds: *asks. */
static bool only_asks(const struct ir_operation *op, bool *asks)
{
    for (int r = 0; r < op->region_count; r++)
        for (const struct ir_operation *inner = op->regions[r]->first; inner; inner = inner->next) {
            bool atomic = ir_has_trait(inner, IR_TRAIT_ATOMIC);
            *asks |= atomic && inner->result_count && inner->results[0]->uses;
            if (inner->region_count ? !only_asks(inner, asks)
                                    : !atomic && !ir_has_trait(inner, IR_TRAIT_PURE | IR_TRAIT_TERMINATOR))
                return false;
        }
    return true;
}

/* A loop that learns what others have done, or turns until they have done something, in whatever order that is seen. */
static bool waits(const struct ir_operation *op)
{
    bool asks = false;
    return op->opcode == OP_WHILE && (orders_so(op, LEARNS) || (only_asks(op, &asks) && asks));
}

static bool any_waits(const struct ir_block *block)
{
    for (const struct ir_operation *op = block->first; op; op = op->next) {
        if (waits(op))
            return true;
        for (int r = 0; r < op->region_count; r++)
            if (any_waits(op->regions[r]))
                return true;
    }
    return false;
}

bool alias_function_waits(const struct ir_function *function) { return any_waits(function->body); }

bool alias_is_written(const struct ir_function *function, const struct ir_value *memory)
{
    return any_writes(function->body, memory);
}

bool alias_is_settled(const struct ir_operation *reader)
{
    return !alias_follows_acquire(reader) && !any_writes(reader->block->function->body, reader->operands[0]);
}

/* ---- what to say of it ---- */

struct obstacle {
    const struct ir_value *memory, *written; /* written: the nearest to `memory` that is found */
    bool orders;
};

static void find_obstacle(struct obstacle *found, const struct ir_block *block)
{
    for (const struct ir_operation *op = block->first; op; op = op->next) {
        bool writes = ir_op_info[op->opcode].traits & (IR_TRAIT_WRITE | IR_TRAIT_ATOMIC);
        found->orders |= alias_orders(op);
        const struct ir_value *written = writes && op->opcode != OP_ASSUME ? alias_memory(op) : NULL;
        if (written && alias_may(written, found->memory) &&
            (!found->written || alias_root(written) == alias_root(found->memory)))
            found->written = written;
        for (int i = 0; i < op->region_count; i++)
            find_obstacle(found, op->regions[i]);
    }
}

const char *alias_describe_write(const char *who, const struct ir_block *block, const struct ir_value *memory)
{
    struct arena *arena = block->function->module->arena;
    struct obstacle found = {.memory = memory};
    find_obstacle(&found, block);
    if (!found.written)
        return found.orders ? arena_printf(arena, "%s orders memory", who) : NULL;
    const struct ir_value *root = alias_root(memory), *other = alias_root(found.written);
    const char *text = arena_printf(arena, "%s may write what it reads", who);
    if (root == other && root)
        return text;
    if (!root || !other)
        return arena_printf(arena, "%s, through a pointer or a view that is chosen when running", text);
    const char *name = other->name ? other->name : "another argument";
    return root->type->kind == IR_VIEW && other->type->kind == IR_VIEW
               ? arena_printf(arena, "%s: by `alias` it may be the memory of `%s`", text, name)
               : arena_printf(arena, "%s: `%s` may point there, as nothing says `restrict`", text, name);
}
