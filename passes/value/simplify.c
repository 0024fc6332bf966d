/* Simplify: local rewrites by algebra that keeps every bit, until none applies.
 *
 *     %z = constant value(0) : i32
 *     %a = add %x, %z : i32            ->      %b = neg %x : i32
 *     %b = sub %z, %a : i32
 *
 * The rules stand in algebra above their functions in simplify_*.c.  Each makes the program smaller or puts operands in
 * a fixed order (constants right), so that they end; the number of walks is bounded all the same.  Constants are folded
 * on the way (fold.c).  What is left unused goes at once when it is pure. */
#include "passes/value/simplify.h"

enum { WALK_LIMIT = 32 };

struct simplifying {
    struct pass_context *context;
    bool changed;
};

static bool has_fuel(const struct pass_context *context) { return !context->fuel || *context->fuel > 0; }

/* Removes operations that a rewrite left unused, from `op` towards what it was made from. */
static void remove_unused(struct ir_operation *op)
{
    if (!op || ir_is_used(op) || !ir_has_trait(op, IR_TRAIT_PURE) || !op->block)
        return;
    struct ir_operation *inputs[3] = {0};
    for (int i = 0; i < op->operand_count && i < 3; i++)
        inputs[i] = op->operands[i]->definition;
    ir_remove(op);
    op->block = NULL; /* gone: it may be an input twice */
    for (int i = 0; i < 3; i++)
        if (inputs[i] && inputs[i]->block)
            remove_unused(inputs[i]);
}

static struct ir_value *rewrite(struct ir_operation *op)
{
    uint64_t bits;
    if (op->result_count != 1)
        return NULL;
    if (op->opcode != OP_CONSTANT && fold_operation(op, &bits)) {
        struct ir_builder builder = rewrite_before(op);
        return ir_constant_bits(&builder, op->results[0]->type, bits);
    }
    struct ir_value *value = simplify_elementwise(op);
    value = value ? value : simplify_move(op);
    value = value ? value : simplify_shape(op);
    value = value ? value : simplify_view(op);
    value = value ? value : simplify_choice(op);
    value = value ? value : simplify_cast(op);
    if (value || !op->operand_count || op->operands[0]->type->kind != IR_TILE)
        return value;
    enum ir_element e = op->operands[0]->type->element;
    return ir_is_float(e) ? simplify_float(op) : e != IR_POINTER ? simplify_integer(op) : NULL;
}

static void replace(struct ir_operation *op, struct ir_value *value)
{
    if (!value->name && value->definition && value != op->results[0])
        value->name = op->results[0]->name;
    if (value == op->results[0])
        return;
    ir_replace_uses(op->results[0], value);
    remove_unused(op);
}

/* A mask that is true everywhere is no mask; a store under one that is false everywhere is nothing. */
static bool simplify_mask(struct ir_operation *op)
{
    struct ir_access access;
    uint64_t bits;
    if (!ir_has_trait(op, IR_TRAIT_READ | IR_TRAIT_WRITE | IR_TRAIT_ATOMIC) || !ir_access_of(op, &access) ||
        !access.mask || !ir_constant_of(access.mask, &bits))
        return false;
    if (bits) {
        ir_remove_operand(op, op->operand_count - 1);
        return true;
    }
    if (op->opcode != OP_STORE && op->opcode != OP_POINTER_STORE)
        return false;
    ir_remove(op);
    return true;
}

static bool walk(struct ir_block *block, struct pass_context *context)
{
    bool changed = false;
    for (struct ir_operation *op = block->first, *next; op; op = next) {
        next = op->next;
        if (!has_fuel(context))
            return changed;
        if (simplify_mask(op)) {
            pass_fuel(context);
            changed = true;
            continue;
        }
        struct ir_value *value = rewrite(op);
        if (value) {
            pass_fuel(context);
            struct ir_operation *after = op->next;
            replace(op, value);
            next = after;
            changed = true;
            continue;
        }
        if (op->region_count == 0)
            continue;
        for (int i = 0; i < op->region_count; i++)
            changed = walk(op->regions[i], context) || changed;
        next = op->next;
        if (has_fuel(context) && simplify_control(op)) {
            pass_fuel(context);
            changed = true;
        }
    }
    return changed;
}

bool pass_simplify(struct ir_function *function, struct pass_context *context)
{
    bool changed = false;
    for (int i = 0; i < WALK_LIMIT && walk(function->body, context); i++)
        changed = true;
    return changed;
}
