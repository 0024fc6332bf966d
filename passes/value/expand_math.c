/* Expand math: an operation `math` becomes the body of the library's own function for it (src/std/math.tile), for
 * targets that have no better way.  Both targets then compute the same bits.
 *
 *     %y = math function(exp) %x : f32[64]     ->     %a = constant value(1.44…) : f32[64]
 *                                                     %b = mul %x, %a : f32[64] …
 *
 * A body of plain elementwise operations is written out on whole tiles; one with control flow is applied element by
 * element, in a `map` (on scalars: in place); so is a long one on a large tile of a GPU kernel.  Narrower floats
 * without a function of their own go through f32 and are rounded once, as the language says.  What the library does
 * not have is left to the target. */
#include "passes/base/pass.h"
#include "passes/base/rewrite.h"
#include "targets/target.h"

enum { DEPTH_LIMIT = 8, LONG_BODY = 24, LARGE_TILE = 16384 };

pass_function pass_inline;

static bool is_straight(const struct ir_function *body)
{
    for (const struct ir_operation *op = body->body->first; op; op = op->next) {
        bool plain = op->opcode == OP_CONSTANT || ir_has_trait(op, IR_TRAIT_ELEMENTWISE);
        if (op->opcode != OP_RETURN && (!plain || op->region_count || op->result_count != 1))
            return false;
    }
    return true;
}

/* On a GPU each thread holds tens of elements of a large tile: a long body is kept once, in a map, not written out for
 * each. */
static bool is_better_mapped(const struct ir_function *body, const struct ir_type *type,
                             const struct target_row *target)
{
    int count = 0;
    for (const struct ir_operation *op = body->body->first; op; op = op->next)
        count++;
    return target && target->kind == TARGET_NVPTX && count >= LONG_BODY && ir_type_elements(type) >= LARGE_TILE;
}

/* The scalar operation on tiles of the wanted shape, who holds which element (where that is chosen) included. */
static struct ir_value *write_out(struct ir_builder *builder, const struct ir_function *body,
                                  struct ir_value *const *operands, const struct ir_type *shape, struct arena *arena)
{
    struct ir_context *context = builder->module->context;
    struct ir_value **map = ARENA_ARRAY(arena, struct ir_value *, body->next_value_id + 1);
    for (int i = 0; i < body->body->arguments.count; i++)
        map[body->body->arguments.data[i]->id] = operands[i];
    for (const struct ir_operation *op = body->body->first; op->opcode != OP_RETURN; op = op->next) {
        const struct ir_type *type = ir_type_with_shape(context, op->results[0]->type, shape->rank, shape->extent);
        if (shape->layout)
            type = ir_type_with_layout(context, type, shape->layout);
        struct ir_value **inputs = ARENA_ARRAY(arena, struct ir_value *, op->operand_count);
        for (int i = 0; i < op->operand_count; i++)
            inputs[i] = map[op->operands[i]->id];
        struct ir_operation *made = ir_build(builder, op->opcode, op->operand_count, inputs, 1, &type);
        for (const struct ir_attribute *a = op->attributes; a; a = a->next) {
            if (a->key == IR_ATTRIBUTE_VALUE)
                ir_set_bits(made, a->key, a->bits);
            else
                ir_set_number(made, a->key, a->number);
        }
        map[op->results[0]->id] = made->results[0];
    }
    return map[ir_terminator(body->body)->operands[0]->id];
}

/* What is expanded has the place of the operation: the library's lines are in no file that a reader has. */
static void set_place(struct ir_operation *op, void *data) { op->at = *(const struct location *)data; }

/* The body's operations at the builder's point; what the function returns. */
static struct ir_value *copy_body(struct ir_builder *builder, const struct ir_function *body,
                                  struct ir_value *const *operands, struct arena *arena)
{
    struct ir_value **map = ARENA_ARRAY(arena, struct ir_value *, body->next_value_id + 1);
    for (int i = 0; i < body->body->arguments.count; i++)
        map[body->body->arguments.data[i]->id] = operands[i];
    const struct ir_operation *end = ir_terminator(body->body);
    for (const struct ir_operation *op = body->body->first; op != end; op = op->next) {
        struct ir_operation *made = ir_clone(builder, op, map);
        set_place(made, &builder->at);
        for (int r = 0; r < made->region_count; r++)
            ir_walk(made->regions[r], set_place, &builder->at);
    }
    return map[end->operands[0]->id];
}

static struct ir_value *apply_each(struct ir_builder *builder, const struct ir_function *body, int count,
                                   struct ir_value *const *operands, const struct ir_type *type, struct arena *arena)
{
    struct ir_operation *map = ir_build(builder, OP_MAP, count, operands, 1, &type);
    struct ir_value *arguments[2];
    for (int i = 0; i < count; i++)
        arguments[i] = ir_block_argument(map->regions[0], body->body->arguments.data[i]->type, NULL);
    struct ir_builder inside = {.module = builder->module, .block = map->regions[0], .at = builder->at};
    struct ir_value *result = copy_body(&inside, body, arguments, arena);
    ir_build(&inside, OP_YIELD, 1, &result, 0, NULL);
    return map->results[0];
}

static bool has_calls(const struct ir_block *block)
{
    for (const struct ir_operation *op = block->first; op; op = op->next) {
        if (op->opcode == OP_CALL)
            return true;
        for (int r = 0; r < op->region_count; r++)
            if (has_calls(op->regions[r]))
                return true;
    }
    return false;
}

/* The library splits numbers into sums whose parts make up for each other's rounding: a target that fuses a product
 * with a sum would break them, and give other bits than the next. */
static void keep_rounded(struct ir_operation *op, void *data)
{
    (void)data;
    bool fuses = op->opcode == OP_ADD || op->opcode == OP_SUB || op->opcode == OP_MUL;
    if (fuses && ir_is_float(op->results[0]->type->element))
        ir_set_number(op, IR_ATTRIBUTE_ROUNDED, 1);
}

/* The library's function for the element, its own calls inlined; NULL: none that fits. */
static struct ir_function *find_body(struct pass_context *context, struct ir_module *module,
                                     const struct ir_operation *op, enum ir_element element)
{
    enum ir_math function = (enum ir_math)ir_number(op, IR_ATTRIBUTE_FUNCTION, 0);
    struct ir_function *body = context->math_function(context->math_context, module, function, element);
    if (!body || body->body->arguments.count != op->operand_count || body->results.count != 1)
        return NULL;
    if (has_calls(body->body)) {
        struct pass_context unlimited = *context;
        unlimited.fuel = NULL;
        pass_inline(body, &unlimited);
    }
    ir_walk(body->body, keep_rounded, NULL);
    return has_calls(body->body) ? NULL : body;
}

/* The target's own operation, on each element: a function that takes many instructions is kept once, like a long body. */
static void map_each(struct ir_operation *op)
{
    struct ir_builder builder = rewrite_before(op);
    const struct ir_type *type = op->results[0]->type, *of = op->operands[0]->type;
    struct ir_operation *map = ir_build(&builder, OP_MAP, 1, op->operands, 1, &type);
    struct ir_context *context = builder.module->context;
    struct ir_value *argument = ir_block_argument(map->regions[0], ir_type_scalar(context, of->element), NULL);
    struct ir_builder inside = {.module = builder.module, .block = map->regions[0], .at = builder.at};
    const struct ir_type *single = ir_type_scalar(context, type->element);
    struct ir_operation *made = ir_build(&inside, OP_MATH, 1, &argument, 1, &single);
    ir_set_number(made, IR_ATTRIBUTE_FUNCTION, ir_number(op, IR_ATTRIBUTE_FUNCTION, 0));
    ir_set_number(made, IR_ATTRIBUTE_NEAR, ir_number(op, IR_ATTRIBUTE_NEAR, 0));
    ir_build(&inside, OP_YIELD, 1, &made->results[0], 0, NULL);
    map->results[0]->name = op->results[0]->name;
    ir_replace_uses(op->results[0], map->results[0]);
    ir_remove(op);
}

/* An error function with few digits takes fifteen instructions. */
static bool is_better_kept(const struct ir_operation *op)
{
    return ir_number(op, IR_ATTRIBUTE_FUNCTION, 0) == IR_MATH_ERF && op->results[0]->type->rank > 0 &&
           ir_type_elements(op->results[0]->type) >= LARGE_TILE;
}

struct expansion {
    struct pass_context *context;
    const struct ir_function *function;
    bool changed;
};

static void visit(struct ir_operation *op, void *data)
{
    struct expansion *expansion = data;
    struct pass_context *context = expansion->context;
    if (op->opcode != OP_MATH || op->operand_count > 2)
        return;
    enum ir_element e = op->operands[0]->type->element;
    if (target_has_math(context->target, (enum ir_math)ir_number(op, IR_ATTRIBUTE_FUNCTION, 0), e,
                        ir_number(op, IR_ATTRIBUTE_NEAR, 0))) {
        if (is_better_kept(op) && pass_fuel(context)) {
            map_each(op);
            expansion->changed = true;
        }
        return;
    }
    struct ir_module *module = op->block->function->module;
    struct ir_function *body = find_body(context, module, op, e);
    bool through_f32 = !body && ir_is_float(e) && ir_element_info[e].bits < 32 && op->results[0]->type->element == e;
    if (through_f32)
        body = find_body(context, module, op, IR_F32);
    if (!body || body == expansion->function || !pass_fuel(context))
        return;
    struct ir_builder builder = rewrite_before(op);
    struct ir_value *operands[2], *result;
    for (int i = 0; i < op->operand_count; i++)
        operands[i] = through_f32 ? ir_cast(&builder, op->operands[i], IR_F32) : op->operands[i];
    const struct ir_type *type = op->results[0]->type;
    if (is_straight(body) && !is_better_mapped(body, type, context->target))
        result = write_out(&builder, body, operands, type, context->arena);
    else if (type->rank == 0)
        result = copy_body(&builder, body, operands, context->arena);
    else
        result = apply_each(&builder, body, op->operand_count, operands, through_f32 ? operands[0]->type : type,
                            context->arena);
    result = through_f32 ? ir_cast(&builder, result, e) : result;
    if (!result->name)
        result->name = op->results[0]->name;
    ir_replace_uses(op->results[0], result);
    ir_remove(op);
    expansion->changed = true;
}

bool pass_expand_math(struct ir_function *function, struct pass_context *context)
{
    struct expansion expansion = {.context = context, .function = function};
    if (!context->math_function)
        return false;
    bool changed = false;
    for (int round = 0; round < DEPTH_LIMIT; round++) { /* what is written out may use other functions of the library */
        expansion.changed = false;
        ir_walk(function->body, visit, &expansion);
        if (!expansion.changed)
            break;
        changed = true;
    }
    return changed;
}
