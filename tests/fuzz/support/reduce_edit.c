/* The reducer's ways to make the operations of a program fewer.  None of them cares what the program means: a
 * candidate is verified and judged behind them. */
#include "reduce.h"

static const struct ir_operation *next_in_text(const struct ir_operation *op, bool inside)
{
    for (int r = 0; inside && r < op->region_count; r++)
        if (op->regions[r]->first)
            return op->regions[r]->first;
    if (op->next || !op->block->parent)
        return op->next;
    const struct ir_operation *parent = op->block->parent;
    bool behind = false;
    for (int r = 0; r < parent->region_count; r++) {
        if (behind && parent->regions[r]->first)
            return parent->regions[r]->first;
        behind |= parent->regions[r] == op->block;
    }
    return next_in_text(parent, false);
}

struct ir_operation *edit_operation(const struct fuzz_program *program, int which)
{
    for (const struct ir_function *f = program->module->first; f; f = f->next)
        for (const struct ir_operation *op = f->body->first; op; op = next_in_text(op, true))
            if (which-- == 0)
                return (struct ir_operation *)op;
    return NULL;
}

static bool is_terminator(const struct ir_operation *op) { return ir_op_info[op->opcode].traits & IR_TRAIT_TERMINATOR; }

/* Something of this type that is known in front of `op`: zero, or a view of the function. */
static struct ir_value *simplest(struct ir_operation *op, const struct ir_type *type)
{
    struct ir_builder builder = {.module = op->block->function->module, .block = op->block, .before = op};
    if (type->kind == IR_TILE && type->element != IR_POINTER)
        return ir_constant_int(&builder, type, 0);
    const struct ir_block *body = op->block->function->body;
    for (int i = 0; i < body->arguments.count; i++)
        if (body->arguments.data[i]->type == type)
            return body->arguments.data[i];
    return NULL;
}

static bool is_unused(const struct ir_operation *op)
{
    for (int i = 0; i < op->result_count; i++)
        if (op->results[i]->uses)
            return false;
    return true;
}

/* Removes `op`; its results become operands of the same type, or zeros. */
static bool drop(struct ir_operation *op, bool operands_first)
{
    if (is_terminator(op))
        return false;
    for (int i = 0; i < op->result_count; i++) {
        struct ir_value *result = op->results[i], *by = NULL;
        if (!result->uses)
            continue;
        for (int k = 0; operands_first && k < op->operand_count && !by; k++)
            by = op->operands[k]->type == result->type ? op->operands[k] : NULL;
        if (!by)
            by = simplest(op, result->type);
        for (int k = 0; k < op->operand_count && !by; k++)
            by = op->operands[k]->type == result->type ? op->operands[k] : NULL;
        if (!by)
            return false;
        ir_replace_uses(result, by);
    }
    ir_remove(op);
    return true;
}

/* Constants do not count: zeros stand where operations stood, and would make no progress. */
static enum edit_result drop_chunk(struct fuzz_program *program, int which, int size, bool operands_first)
{
    bool any = false;
    if (!edit_operation(program, which))
        return EDIT_END;
    for (int i = which + size - 1; i >= which; i--) {
        struct ir_operation *op = edit_operation(program, i);
        if (!op || is_terminator(op) || (op->opcode == OP_CONSTANT && !is_unused(op)))
            continue;
        any |= drop(op, operands_first);
    }
    return any ? EDIT_DONE : EDIT_NONE;
}

static enum edit_result drop_to_zero(struct fuzz_program *program, int which, int size)
{
    return drop_chunk(program, which, size, false);
}

static enum edit_result drop_to_operand(struct fuzz_program *program, int which, int size)
{
    return drop_chunk(program, which, size, true);
}

/* All that nothing uses and that does nothing. */
static enum edit_result sweep(struct fuzz_program *program, int which, int size)
{
    (void)size;
    if (which)
        return EDIT_END;
    bool any = false;
    for (int i = 0; edit_operation(program, i); i++) {
        struct ir_operation *op = edit_operation(program, i);
        if (is_unused(op) && !is_terminator(op) && !ir_has_effect(op) && op->opcode != OP_ASSUME) {
            ir_remove(op);
            any = true;
            i = -1;
        }
    }
    return any ? EDIT_DONE : EDIT_NONE;
}

/* ---- regions ---- */

static void move_out(struct ir_operation *op, struct ir_block *region, struct ir_value **results)
{
    struct ir_operation *last = ir_terminator(region);
    int skip = last->opcode == OP_CONDITION;
    for (int i = 0; i < op->result_count; i++)
        results[i] = last->operands[i + skip];
    ir_remove(last);
    while (region->first)
        ir_move_before(region->first, op);
}

/* The region's code once, in the place of the operation. */
static enum edit_result flatten(struct fuzz_program *program, int which, int region)
{
    struct ir_operation *op = edit_operation(program, which);
    struct ir_value *results[64];
    if (!op)
        return EDIT_END;
    if ((op->opcode != OP_IF && op->opcode != OP_FOR && op->opcode != OP_WHILE) || op->region_count <= region ||
        op->result_count > 64)
        return EDIT_NONE;
    int first = op->opcode == OP_FOR ? 2 : 0;
    for (int i = 0; op->opcode != OP_IF && i < op->regions[region]->arguments.count; i++)
        ir_replace_uses(op->regions[region]->arguments.data[i], op->operands[i ? i + first : 0]);
    move_out(op, op->regions[region], results);
    for (int i = 0; i < op->result_count; i++)
        ir_replace_uses(op->results[i], results[i]);
    ir_remove(op);
    return EDIT_DONE;
}

static enum edit_result flatten_first(struct fuzz_program *program, int which, int size)
{
    (void)size;
    return flatten(program, which, 0);
}

static enum edit_result flatten_second(struct fuzz_program *program, int which, int size)
{
    (void)size;
    return flatten(program, which, 1);
}

/* The callee's code in the place of the call. */
static enum edit_result inline_call(struct fuzz_program *program, int which, int size)
{
    struct ir_operation *op = edit_operation(program, which);
    (void)size;
    if (!op)
        return EDIT_END;
    const struct ir_function *callee =
        op->opcode == OP_CALL ? ir_function_find(program->module, ir_attribute(op, IR_ATTRIBUTE_CALLEE)->name) : NULL;
    if (!callee)
        return EDIT_NONE;
    struct ir_value **map = ARENA_ARRAY(program->module->arena, struct ir_value *, callee->next_value_id + 1);
    struct ir_builder builder = {.module = program->module, .block = op->block, .before = op};
    for (int i = 0; i < op->operand_count; i++)
        map[callee->body->arguments.data[i]->id] = op->operands[i];
    for (const struct ir_operation *each = callee->body->first; each->opcode != OP_RETURN; each = each->next)
        ir_clone(&builder, each, map);
    const struct ir_operation *last = ir_terminator(callee->body);
    for (int i = 0; i < op->result_count; i++)
        ir_replace_uses(op->results[i], map[last->operands[i]->id]);
    ir_remove(op);
    return EDIT_DONE;
}

static bool is_called(const struct ir_module *module, const struct ir_function *function)
{
    for (const struct ir_function *f = module->first; f; f = f->next)
        for (const struct ir_operation *op = f->body->first; op; op = next_in_text(op, true))
            if (op->opcode == OP_CALL && ir_attribute(op, IR_ATTRIBUTE_CALLEE)->name == function->name)
                return true;
    return false;
}

static enum edit_result drop_functions(struct fuzz_program *program, int which, int size)
{
    bool any = false;
    (void)size;
    for (struct ir_function *f = program->module->first, *next; f; f = next) {
        next = f->next;
        if (!f->is_kernel && !is_called(program->module, f)) {
            ir_function_remove(f);
            any = true;
        }
    }
    return which ? EDIT_END : any ? EDIT_DONE : EDIT_NONE;
}

/* ---- results that regions hand on ---- */

static void forget_argument(struct ir_block *block, int index, struct ir_value *by)
{
    ir_replace_uses(block->arguments.data[index], by);
    for (int i = index + 1; i < block->arguments.count; i++) {
        block->arguments.data[i - 1] = block->arguments.data[i];
        block->arguments.data[i - 1]->index = i - 1;
    }
    block->arguments.count--;
}

static void forget_result(struct ir_operation *op, int index)
{
    for (int i = index + 1; i < op->result_count; i++) {
        op->results[i - 1] = op->results[i];
        op->results[i - 1]->index = i - 1;
    }
    op->result_count--;
}

static bool drop_result(struct ir_operation *op, int index)
{
    struct ir_value *initial = op->opcode == OP_FOR     ? op->operands[3 + index]
                               : op->opcode == OP_WHILE ? op->operands[index]
                                                        : simplest(op, op->results[index]->type);
    if (!initial)
        return false;
    ir_replace_uses(op->results[index], initial);
    for (int r = 0; r < op->region_count; r++) {
        struct ir_operation *last = ir_terminator(op->regions[r]);
        ir_remove_operand(last, index + (last->opcode == OP_CONDITION));
        if (op->opcode == OP_FOR || op->opcode == OP_WHILE)
            forget_argument(op->regions[r], index + (op->opcode == OP_FOR), initial);
    }
    if (op->opcode == OP_FOR || op->opcode == OP_WHILE)
        ir_remove_operand(op, index + (op->opcode == OP_FOR ? 3 : 0));
    forget_result(op, index);
    return true;
}

/* `which` counts operations times eight results, and so for operands below. */
static enum edit_result drop_carried(struct fuzz_program *program, int which, int size)
{
    struct ir_operation *op = edit_operation(program, which / 8);
    (void)size;
    if (!op)
        return EDIT_END;
    bool fits = op->opcode == OP_FOR || op->opcode == OP_WHILE || op->opcode == OP_IF ||
                (op->opcode == OP_MAP && op->result_count > 1);
    return fits && which % 8 < op->result_count && drop_result(op, which % 8) ? EDIT_DONE : EDIT_NONE;
}

/* An operand of map that its function does not use. */
static enum edit_result drop_map_operand(struct fuzz_program *program, int which, int size)
{
    struct ir_operation *op = edit_operation(program, which / 8);
    (void)size;
    if (!op)
        return EDIT_END;
    int index = which % 8;
    if (op->opcode != OP_MAP || index >= op->operand_count || op->regions[0]->arguments.data[index]->uses)
        return EDIT_NONE;
    forget_argument(op->regions[0], index, op->regions[0]->arguments.data[index]);
    ir_remove_operand(op, index);
    return EDIT_DONE;
}

/* ---- operands and attributes ---- */

static enum edit_result simplify_operand(struct fuzz_program *program, int which, int size)
{
    struct ir_operation *op = edit_operation(program, which / 8);
    (void)size;
    if (!op)
        return EDIT_END;
    int index = which % 8;
    if (index >= op->operand_count || op->operands[index]->type->kind == IR_VIEW)
        return EDIT_NONE;
    const struct ir_value *old = op->operands[index];
    if (old->definition && old->definition->opcode == OP_CONSTANT)
        return EDIT_NONE;
    struct ir_value *by = simplest(op, old->type);
    if (!by)
        return EDIT_NONE;
    ir_set_operand(op, index, by);
    return EDIT_DONE;
}

/* Ones where zeros would hide it. */
static enum edit_result one_operand(struct fuzz_program *program, int which, int size)
{
    struct ir_operation *op = edit_operation(program, which / 8);
    (void)size;
    if (!op)
        return EDIT_END;
    if (which % 8 >= op->operand_count)
        return EDIT_NONE;
    const struct ir_value *old = op->operands[which % 8];
    if (old->type->kind != IR_TILE || old->type->element == IR_POINTER ||
        (old->definition && old->definition->opcode == OP_CONSTANT))
        return EDIT_NONE;
    struct ir_builder builder = {.module = program->module, .block = op->block, .before = op};
    ir_set_operand(op, which % 8, ir_constant_int(&builder, old->type, 1));
    return EDIT_DONE;
}

/* The operand of a use is what its definition was made from, or an earlier value of the same type. */
static enum edit_result forward_operand(struct fuzz_program *program, int which, int size)
{
    struct ir_operation *op = edit_operation(program, which / 8);
    (void)size;
    if (!op)
        return EDIT_END;
    if (which % 8 >= op->operand_count)
        return EDIT_NONE;
    const struct ir_value *old = op->operands[which % 8];
    const struct ir_block *body = op->block->function->body;
    for (int i = 0; old->definition && i < body->arguments.count; i++)
        if (body->arguments.data[i]->type == old->type) {
            ir_set_operand(op, which % 8, body->arguments.data[i]);
            return EDIT_DONE;
        }
    for (int i = 0; old->definition && i < old->definition->operand_count; i++)
        if (old->definition->operands[i]->type == old->type) {
            ir_set_operand(op, which % 8, old->definition->operands[i]);
            return EDIT_DONE;
        }
    return EDIT_NONE;
}

static enum edit_result drop_mask(struct fuzz_program *program, int which, int size)
{
    struct ir_operation *op = edit_operation(program, which);
    struct ir_access access;
    (void)size;
    if (!op)
        return EDIT_END;
    if (!ir_access_of(op, &access) || !access.mask)
        return EDIT_NONE;
    ir_remove_operand(op, op->operand_count - 1);
    return EDIT_DONE;
}

/* The n-th attribute; the verifier says whether it was one too many. */
static enum edit_result drop_attribute(struct fuzz_program *program, int which, int size)
{
    struct ir_operation *op = edit_operation(program, which / 8);
    (void)size;
    if (!op)
        return EDIT_END;
    int left = which % 8;
    for (const struct ir_attribute *a = op->attributes; a; a = a->next)
        if (left-- == 0) {
            ir_remove_attribute(op, a->key);
            return EDIT_DONE;
        }
    return EDIT_NONE;
}

const struct edit edit_table[] = {
    {"drop operations", drop_to_zero, true},
    {"sweep", sweep, false},
    {"flatten", flatten_first, false},
    {"flatten the other way", flatten_second, false},
    {"inline", inline_call, false},
    {"drop functions", drop_functions, false},
    {"drop carried", drop_carried, false},
    {"drop operands of maps", drop_map_operand, false},
    {"merge constants", edit_merge_constants, false},
    {"use operands", drop_to_operand, true},
    {"sweep", sweep, false},
    {"drop masks", drop_mask, false},
    {"zero operands", simplify_operand, false},
    {"one operands", one_operand, false},
    {"forward operands", forward_operand, false},
    {"drop attributes", drop_attribute, false},
    {"shrink tiles", edit_extents, false},
    {"shrink constants", edit_constants, false},
    {"merge constants", edit_merge_constants, false},
    {"shrink arguments", edit_arguments, false},
    {"sweep", sweep, false},
};
const int edit_count = (int)(sizeof edit_table / sizeof *edit_table);
