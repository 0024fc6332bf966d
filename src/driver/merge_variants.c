/* Variants of a kernel with the same code become one.  That happens when a condition of `specialize` says what is an
 * automatic fact anyway, or when it makes no difference to the code.
 *
 * Two variants are the same if the text of their IR behind all passes is the same, the facts of their arguments
 * included, but for what is assumed of scalars that nothing else asks for.  The later one stays, because more special variants stand in front of more general ones.  Calls that would
 * have taken the earlier variant come to the later one, or to one between the two that is right for them as well.  The
 * predicate of an automatic variant says no more than its arguments' facts, which are equal, so that nothing changes;
 * a variant of a `specialize` clause gets the other's predicate besides its own. */
#include <string.h>

#include "driver/driver.h"
#include "ir/query.h"
#include "ir/text.h"

static bool is_same_tree(const struct kernel_expression *a, const struct kernel_expression *b)
{
    if (a == b)
        return true;
    if (!a || !b || a->op != b->op || a->number != b->number || a->dimension != b->dimension || a->cells != b->cells)
        return false;
    for (int i = 0; i < 3; i++)
        if (!is_same_tree(a->operand[i], b->operand[i]))
            return false;
    return true;
}

/* ---- assumptions of which nothing makes use ---- */

static bool is_computed(const struct ir_operation *op)
{
    return op->region_count == 0 && ir_has_trait(op, IR_TRAIT_PURE);
}

/* Everything that is made of the value are conditions of assumptions. */
static bool is_only_assumed(const struct ir_value *value)
{
    for (const struct ir_use *use = value->uses; use; use = use->next) {
        if (use->user->opcode == OP_ASSUME)
            continue;
        if (!is_computed(use->user))
            return false;
        for (int i = 0; i < use->user->result_count; i++)
            if (!is_only_assumed(use->user->results[i]))
                return false;
    }
    return true;
}

/* The value is made of constants, and of scalar arguments that are for assumptions alone. */
static bool says_nothing(const struct ir_value *value)
{
    const struct ir_operation *op = value->definition;
    if (!op)
        return value->type->kind == IR_TILE && !value->block->parent && is_only_assumed(value);
    bool nothing = is_computed(op) && (op->operand_count || op->opcode == OP_CONSTANT);
    for (int i = 0; i < op->operand_count && nothing; i++)
        nothing = says_nothing(op->operands[i]);
    return nothing;
}

static void drop_idle_assumptions(struct ir_function *function)
{
    bool dropped = false;
    for (struct ir_operation *op = function->body->last, *previous; op; op = previous) {
        previous = op->previous;
        bool idle = op->opcode == OP_ASSUME ? says_nothing(op->operands[0])
                                            : dropped && is_computed(op) && !ir_is_used(op);
        if (idle)
            ir_remove(op);
        dropped = dropped || idle;
    }
}

/* ---- the same code ---- */

/* The text of the variant's module, in which its function has no name of its own. */
static void print_code(struct buffer *out, const struct kernel_variant *variant)
{
    const char *name = variant->function->name;
    variant->function->name = "code";
    ir_print_module(out, variant->module, false);
    variant->function->name = name;
}

static bool is_alike(const struct kernel_entry *entry, const struct kernel_variant *a, const struct kernel_variant *b)
{
    if (a->target != b->target || a->grid_rank != b->grid_rank)
        return false;
    for (int i = 0; i < entry->keys.count; i++)
        if (a->key_values[i] != b->key_values[i])
            return false;
    for (int d = 0; d < a->grid_rank; d++)
        if (!is_same_tree(a->grid[d], b->grid[d]))
            return false;
    return true;
}

static void take_calls(struct arena *arena, struct kernel_variant *variant, const struct kernel_variant *gone)
{
    if (!variant->special || is_same_tree(variant->predicate, gone->predicate) || !variant->predicate)
        return;
    struct kernel_expression *either = ARENA_NEW(arena, struct kernel_expression);
    *either = (struct kernel_expression){
        .op = KERNEL_HOST_OR, .operand = {variant->predicate, gone->predicate}, .at = variant->predicate->at};
    variant->predicate = gone->predicate ? either : NULL;
}

static bool is_same_text(const struct buffer *a, const struct buffer *b)
{
    return a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

void merge_variants(struct arena *arena, struct kernel_entry *entry)
{
    int count = entry->variants.count, kept = 0;
    struct kernel_variant *variants = entry->variants.data;
    struct buffer *code = ARENA_ARRAY(arena, struct buffer, count + 1);
    bool any = false;
    for (int i = 0; i < count; i++)
        any = any || variants[i].special;
    if (!any)
        return; /* automatic facts all differ */
    for (int i = 0; i < count; i++) {
        drop_idle_assumptions(variants[i].function);
        print_code(&code[i], &variants[i]);
    }
    for (int i = 0; i < count; i++) {
        bool served = false;
        for (int k = i + 1; k < count && variants[i].special && !served; k++) {
            served = is_same_text(&code[i], &code[k]) && is_alike(entry, &variants[i], &variants[k]);
            if (served)
                take_calls(arena, &variants[k], &variants[i]);
        }
        if (!served)
            variants[kept++] = variants[i];
    }
    entry->variants.count = kept;
    for (int i = 0; i < count; i++)
        buffer_free(&code[i]);
}
