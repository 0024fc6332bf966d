/* What several passes do to loops.  See rewrite.h. */
#include "passes/base/rewrite.h"

#include "ir/plan.h"
#include "passes/base/pass.h"

static void move_body(struct ir_block *from, struct ir_block *to, int count, const struct ir_type *const *types,
                      const char *const *names)
{
    for (int i = 0; i < from->arguments.count; i++) {
        struct ir_value *argument = from->arguments.data[i];
        ir_replace_uses(argument, ir_block_argument(to, argument->type, argument->name));
    }
    for (int i = 0; i < count; i++)
        ir_block_argument(to, types[i], names ? names[i] : NULL);
    while (from->first)
        ir_move_to_end(from->first, to);
}

struct ir_operation *rewrite_carry(struct arena *arena, struct ir_operation *loop, int count,
                                   struct ir_value *const *initial, const char *const *names)
{
    struct ir_builder builder = rewrite_before(loop);
    int operands = loop->operand_count, results = loop->result_count;
    struct ir_value **values = ARENA_ARRAY(arena, struct ir_value *, operands + count);
    const struct ir_type **types = ARENA_ARRAY(arena, const struct ir_type *, results + count);
    for (int i = 0; i < operands + count; i++)
        values[i] = i < operands ? loop->operands[i] : initial[i - operands];
    for (int i = 0; i < results + count; i++)
        types[i] = i < results ? loop->results[i]->type : initial[i - results]->type;
    struct ir_operation *made = ir_build(&builder, loop->opcode, operands + count, values, results + count, types);
    if (ir_attribute(loop, IR_ATTRIBUTE_UNROLL))
        ir_set_number(made, IR_ATTRIBUTE_UNROLL, ir_number(loop, IR_ATTRIBUTE_UNROLL, 0));
    ir_plan_keep(made, loop);
    if (ir_attribute(loop, IR_ATTRIBUTE_MULTIPLY))
        ir_set_number(made, IR_ATTRIBUTE_MULTIPLY, ir_number(loop, IR_ATTRIBUTE_MULTIPLY, 0));
    for (int r = 0; r < loop->region_count; r++)
        move_body(loop->regions[r], made->regions[r], count, types + results, names);
    if (loop->opcode == OP_WHILE) { /* its first region hands them on */
        const struct ir_block *test = made->regions[0];
        for (int i = 0; i < count; i++)
            ir_add_operand(ir_terminator(test), test->arguments.data[operands + i]);
    }
    for (int i = 0; i < results; i++) {
        made->results[i]->name = loop->results[i]->name;
        ir_replace_uses(loop->results[i], made->results[i]);
    }
    ir_remove(loop);
    return made;
}

void rewrite_copy_access(struct ir_operation *to, const struct ir_operation *from)
{
    const struct ir_attribute *place = ir_attribute(from, IR_ATTRIBUTE_PLACE);
    ir_set_list(to, IR_ATTRIBUTE_PLACE, place->count, place->list);
    if (ir_attribute(from, IR_ATTRIBUTE_INSIDE))
        ir_set_number(to, IR_ATTRIBUTE_INSIDE, ir_number(from, IR_ATTRIBUTE_INSIDE, 0));
    if (ir_attribute(from, IR_ATTRIBUTE_CACHE))
        ir_set_number(to, IR_ATTRIBUTE_CACHE, ir_number(from, IR_ATTRIBUTE_CACHE, 0));
}

bool rewrite_holds(const struct ir_operation *op, enum ir_opcode opcode)
{
    if (op->opcode == opcode)
        return true;
    for (int i = 0; i < op->region_count; i++)
        for (const struct ir_operation *inner = op->regions[i]->first; inner; inner = inner->next)
            if (rewrite_holds(inner, opcode))
                return true;
    return false;
}

struct ir_value *rewrite_slot(struct ir_builder *builder, struct ir_value *ring, struct ir_value *number)
{
    struct ir_type one = *ring->type;
    one.slots = 1;
    struct ir_value *slot = ir_build_value(builder, OP_SLOT, ir_type_intern(builder->module->context, &one), 2,
                                           (struct ir_value *[]){ring, number});
    slot->name = ring->name;
    return slot;
}

struct ir_value *rewrite_next_slot(struct ir_builder *builder, struct ir_value *number, int slots)
{
    const struct ir_type *type = number->type;
    struct ir_value *next = ir_binary(builder, OP_ADD, number, ir_constant_int(builder, type, 1));
    struct ir_value *round = ir_compare(builder, IR_PREDICATE_EQ, next, ir_constant_int(builder, type, slots));
    return ir_select(builder, round, ir_constant_int(builder, type, 0), next);
}

static bool is_dead(const struct ir_operation *op)
{
    uint64_t known;
    if (op->opcode == OP_ASSUME) /* of what is known says nothing */
        return ir_constant_of(op->operands[0], &known) && known;
    return !ir_has_trait(op, IR_TRAIT_TERMINATOR) && !ir_is_used(op) && !ir_has_effect(op) &&
           !rewrite_holds(op, OP_WHILE);
}

static bool gives_unused(const struct ir_operation *op)
{
    for (int i = 0; i < op->result_count && op->opcode == OP_IF; i++)
        if (!op->results[i]->uses)
            return true;
    return false;
}

/* The branch anew without the results that nobody uses, and without what its arms yield for them. */
static struct ir_operation *drop_results(struct arena *arena, struct ir_operation *branch)
{
    struct ir_builder builder = rewrite_before(branch);
    const struct ir_type **types = ARENA_ARRAY(arena, const struct ir_type *, branch->result_count);
    int count = 0, next = 0;
    for (int i = 0; i < branch->result_count; i++)
        if (branch->results[i]->uses)
            types[count++] = branch->results[i]->type;
    struct ir_operation *made = ir_build(&builder, OP_IF, 1, branch->operands, count, types);
    made->attributes = branch->attributes;
    for (int r = 0; r < branch->region_count; r++) {
        for (int i = branch->result_count - 1; i >= 0; i--)
            if (!branch->results[i]->uses)
                ir_remove_operand(ir_terminator(branch->regions[r]), i);
        move_body(branch->regions[r], made->regions[r], 0, NULL, NULL);
    }
    for (int i = 0; i < branch->result_count; i++)
        if (branch->results[i]->uses) {
            made->results[next]->name = branch->results[i]->name;
            ir_replace_uses(branch->results[i], made->results[next++]);
        }
    ir_remove(branch);
    return made;
}

bool rewrite_remove_dead(struct ir_block *block, struct pass_context *context)
{
    bool changed = false;
    for (struct ir_operation *op = block->last, *previous; op; op = previous) {
        previous = op->previous;
        if (is_dead(op)) {
            if (!pass_fuel(context))
                continue;
            ir_remove(op);
            changed = true;
            continue;
        }
        if (gives_unused(op) && pass_fuel(context)) {
            op = drop_results(context->arena, op);
            changed = true;
        }
        for (int r = 0; r < op->region_count; r++)
            changed = rewrite_remove_dead(op->regions[r], context) || changed;
    }
    return changed;
}
