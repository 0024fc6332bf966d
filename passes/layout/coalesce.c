/* coalesce: memory operations whose layout is bad for them get their own, with conversions around, where that costs
 * less.
 *
 *     store %y[%i +: 64, %j +: 64], %v                       %v: lanes along the strided dimension
 * becomes
 *     %c = convert_layout %v : f32[64, 64] #(…lanes along the contiguous dimension…)
 *     store %y[%i +: 64, %j +: 64], %c
 *
 * Right because a layout says only who holds which element.  The cost of an access counts instructions and 32-byte
 * sectors; that of a conversion its shuffles or its trip through shared memory. */
#include "ir/facts/layout_rules.h"
#include "passes/layout/memory_access.h"
#include "passes/base/pass.h"
#include "passes/base/rewrite.h"

/* What a conversion in front of a store weighs: nobody waits for what it writes, while a sector that is written in two
 * parts is two requests to the cache.  (mma.sync's accumulators of 128 x 128, two bf16 a store: 16-byte stores through
 * shared memory were about 1 % of the whole product faster on an H200.) */
#define STORE_SHARE 0.5

struct coalescing {
    struct layout_adapter adapter;
    struct pass_context *context;
    bool changed;
};

static double conversion_cost(const struct coalescing *c, const struct layout *from, const struct layout *to, int bytes)
{
    return from == to ? 0 : layout_conversion_plan(c->adapter.table, c->context->arena, from, to, bytes, 0)->cost;
}

/* Cost of bringing an operation's tiles to `layout`: values that are cheap cost nothing. */
static double adapting_cost(const struct coalescing *c, const struct ir_operation *op, const struct layout *layout)
{
    double cost = 0;
    for (int i = 0; i < op->operand_count; i++) {
        const struct ir_value *value = op->operands[i];
        bool possible;
        if (!layout_rule_has(value) || layout_rule_cheap(value))
            continue;
        const struct layout *wanted = layout_rule_operand(c->adapter.table, op, i, layout, &possible);
        if (wanted)
            cost += conversion_cost(c, value->type->layout, wanted, ir_element_info[value->type->element].bits / 8);
    }
    for (int i = 0; i < op->result_count; i++) {
        const struct ir_value *value = op->results[i];
        if (layout_rule_has(value) && value->uses)
            cost += conversion_cost(c, layout, value->type->layout, ir_element_info[value->type->element].bits / 8);
    }
    return cost;
}

static void move_access(struct coalescing *c, struct ir_operation *op, const struct layout *layout)
{
    struct ir_builder builder = rewrite_before(op);
    bool possible;
    for (int i = 0; i < op->operand_count; i++)
        if (layout_rule_has(op->operands[i])) {
            const struct layout *wanted = layout_rule_operand(c->adapter.table, op, i, layout, &possible);
            struct ir_value *value = layout_adapt(&c->adapter, &builder, op->operands[i], wanted);
            if (value != op->operands[i])
                ir_set_operand(op, i, value);
        }
    for (int i = 0; i < op->result_count; i++) {
        struct ir_value *result = op->results[i];
        if (!layout_rule_has(result))
            continue;
        const struct ir_type *old = result->type;
        result->type = ir_type_with_layout(c->adapter.module->context, old, layout);
        if (!result->uses)
            continue;
        struct ir_builder behind = {.module = builder.module, .block = op->block, .before = op->next, .at = op->at};
        struct ir_value *converted = ir_build_value(&behind, OP_CONVERT_LAYOUT, old, 1, &result);
        converted->name = result->name;
        ir_replace_uses(result, converted);
        ir_set_operand(converted->definition, 0, result);
    }
}

static void visit(struct ir_operation *op, void *context)
{
    struct coalescing *c = context;
    struct memory_access access;
    const struct layout *suits[2], *best = NULL;
    const struct ir_value *tile = layout_rule_tile(op);
    if (!tile || !tile->type->layout || !memory_access_of(op, &access))
        return;
    double now = memory_access_cost(&access, tile->type->layout), least = now;
    int count = memory_access_layouts(c->adapter.table, &access, c->adapter.warps, suits);
    for (int i = 0; i < count; i++) {
        double convert = adapting_cost(c, op, suits[i]);
        double cost = memory_access_cost(&access, suits[i]) + (op->opcode == OP_STORE ? STORE_SHARE : 1) * convert;
        if (suits[i] != tile->type->layout && cost < least) {
            least = cost;
            best = suits[i];
        }
    }
    if (!best) {
        if (now > 2 * memory_access_cost(&access, suits[0]))
            pass_remark(c->context, op->at, "this access is not coalesced; converting would cost more");
        return;
    }
    if (!pass_fuel(c->context))
        return;
    move_access(c, op, best);
    c->changed = true;
}

bool pass_coalesce(struct ir_function *function, struct pass_context *context)
{
    struct coalescing c = {.context = context};
    c.adapter = (struct layout_adapter){function->module, ir_context_layouts(function->module->context), context->arena,
                                        function->warps};
    ir_walk(function->body, visit, &c);
    return c.changed;
}
