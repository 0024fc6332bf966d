/* remove_conversions: fewer and smaller convert_layout.  With L1, L2 layouts and convert(x: L1 → L2):
 *
 *     convert(x: L → L)                        = x
 *     convert(convert(x: L1 → L2): L2 → L3)    = convert(x: L1 → L3)
 *     convert(x) with x cheap                  = x made again in L2
 *     convert(load: L1 → L2)                   = load in L2, where reading in L2 costs less than the conversion; of rows
 *                                                from a buffer, too; also where reshapes and the like stand between
 *     convert(op(a, convert(b: L2 → L1)))      = op(convert(a), b) for elementwise op, where fewer bytes are converted
 *     convert(widen(x))                        = widen(convert(x))
 *     convert(f(g(broadcast(x))))              = f(g(broadcast(convert(x)))), where only the whole way pays
 * and a conversion that nobody uses goes.  Right because each operation computes every element from elements alone,
 * wherever they are held; loads move only where they stand, so that no effect is crossed. */
#include "ir/facts/layout_rules.h"
#include "passes/layout/memory_access.h"
#include "passes/base/pass.h"
#include "passes/base/rewrite.h"

enum {
    ROW_VECTOR = 16 /* bytes */,
    FAR = 8 /* operations that a conversion is moved in front of at once, where only all together pay */
};
static const double IMPOSSIBLE = 1e9;

struct removal {
    struct layout_adapter adapter;
    struct pass_context *context;
    bool changed;
};

static int element_bytes(const struct ir_value *value) { return ir_element_info[value->type->element].bits / 8; }

static double conversion_cost(const struct removal *r, const struct layout *from, const struct layout *to, int bytes)
{
    return from == to ? 0 : layout_conversion_plan(r->adapter.table, r->context->arena, from, to, bytes, 0)->cost;
}

static bool is_used_once(const struct ir_value *value) { return value->uses && !value->uses->next; }

static bool is_conversion(const struct ir_value *value)
{
    return value->definition && value->definition->opcode == OP_CONVERT_LAYOUT;
}

static void set_layout(const struct removal *r, struct ir_value *value, const struct layout *layout)
{
    value->type = ir_type_with_layout(r->adapter.module->context, value->type, layout);
}

/* Instructions of a warp, and what conflicts of banks add, to read a row from its buffer. */
static double row_cost(const struct ir_operation *op, const struct layout *layout)
{
    const struct ir_type *buffer = op->operands[0]->type;
    int bytes = ir_element_info[buffer->element].bits / 8, ideal;
    int vector = layout_memory_vector(layout, buffer->layout, ROW_VECTOR / bytes).size;
    return layout_bank_wavefronts(layout, buffer->layout, bytes, vector, &ideal);
}

/* What computing `op` in another layout costs beside bringing its tiles there; IMPOSSIBLE: it is not moved. */
static double moved_cost(const struct ir_operation *op, const struct layout *wanted)
{
    const struct ir_value *result = op->results[0];
    struct memory_access access;
    switch (op->opcode) {
    case OP_BROADCAST:
    case OP_RESHAPE:
    case OP_PERMUTE: return 0;
    case OP_LOAD:
    case OP_POINTER_LOAD:
        return memory_access_of(op, &access)
                   ? memory_access_cost(&access, wanted) - memory_access_cost(&access, result->type->layout)
                   : IMPOSSIBLE;
    case OP_BUFFER_LOAD: /* tiles of more dimensions are swizzled for the layout that they have */
        return result->type->rank == 1 ? row_cost(op, wanted) - row_cost(op, result->type->layout) : IMPOSSIBLE;
    default: break;
    }
    if (!ir_has_trait(op, IR_TRAIT_ELEMENTWISE))
        return IMPOSSIBLE;
    bool dear = op->opcode == OP_MATH || op->opcode == OP_DIV || op->opcode == OP_MAP;
    return (dear ? 8 : 1) * (layout_registers(wanted) - layout_registers(result->type->layout));
}

static double operands_cost(const struct removal *r, const struct ir_operation *op, const struct layout *layout,
                            int depth);

/* What a value costs in another layout: converted, or computed there from operands that are converted, perhaps far in
 * front of it where the tile was smaller. */
static double value_cost(const struct removal *r, const struct ir_value *value, const struct layout *wanted, int depth)
{
    const struct ir_operation *op = value->definition;
    double converted = conversion_cost(r, value->type->layout, wanted, element_bytes(value));
    if (is_conversion(value)) { /* one in place of two */
        const struct layout *from = op->operands[0]->type->layout;
        double own = is_used_once(value) ? conversion_cost(r, from, value->type->layout, element_bytes(value)) : 0;
        return conversion_cost(r, from, wanted, element_bytes(value)) - own;
    }
    /* rows are for many, and stay as they are read */
    bool is_row = op && (op->opcode == OP_LOAD || op->opcode == OP_POINTER_LOAD) && value->type->rank < 2;
    if (depth == 0 || converted == 0 || !op || op->result_count != 1 || is_row || !is_used_once(value))
        return converted;
    double moved = moved_cost(op, wanted);
    if (moved < converted)
        moved += operands_cost(r, op, wanted, depth - 1);
    return moved < converted ? moved : converted;
}

/* What bringing the tiles of `op` to `layout` costs. */
static double operands_cost(const struct removal *r, const struct ir_operation *op, const struct layout *layout,
                            int depth)
{
    double cost = 0;
    for (int i = 0; i < op->operand_count; i++) {
        const struct ir_value *value = op->operands[i];
        bool possible;
        if (!layout_rule_has(value) || layout_rule_cheap(value))
            continue;
        const struct layout *wanted = layout_rule_operand(r->adapter.table, op, i, layout, &possible);
        if (!wanted)
            return IMPOSSIBLE;
        cost += value_cost(r, value, wanted, depth);
    }
    return cost;
}

static void rebuild_in(struct removal *r, struct ir_operation *op, const struct layout *layout)
{
    struct ir_builder builder = rewrite_before(op);
    bool possible;
    for (int i = 0; i < op->operand_count; i++) {
        struct ir_value *value = op->operands[i];
        if (!layout_rule_has(value))
            continue;
        const struct layout *wanted = layout_rule_operand(r->adapter.table, op, i, layout, &possible);
        if (is_conversion(value) && value->definition->operands[0]->type->layout == wanted)
            value = value->definition->operands[0];
        else
            value = layout_adapt(&r->adapter, &builder, value, wanted);
        ir_set_operand(op, i, value);
    }
    set_layout(r, op->results[0], layout);
}

/* convert(op(…)) with op used by the conversion alone: op can be computed where its result is wanted. */
static bool pull_through(struct removal *r, struct ir_operation *conversion)
{
    struct ir_value *source = conversion->operands[0];
    struct ir_operation *op = source->definition;
    const struct layout *wanted = conversion->results[0]->type->layout;
    double gain = conversion_cost(r, source->type->layout, wanted, element_bytes(source));
    if (!op || op->result_count != 1 || !is_used_once(source))
        return false;
    double cost = moved_cost(op, wanted);
    if (cost < IMPOSSIBLE)
        cost += operands_cost(r, op, wanted, FAR);
    if (cost >= gain || !pass_fuel(r->context))
        return false;
    rebuild_in(r, op, wanted);
    ir_replace_uses(conversion->results[0], source);
    ir_remove(conversion);
    return true;
}

static bool simplify_conversion(struct removal *r, struct ir_operation *op)
{
    struct ir_value *source = op->operands[0], *result = op->results[0];
    if (!result->uses) {
        if (!pass_fuel(r->context))
            return false;
        ir_remove(op);
        return true;
    }
    if (source->type == result->type || is_conversion(source)) {
        struct ir_value *origin = is_conversion(source) ? source->definition->operands[0] : source;
        if (!pass_fuel(r->context))
            return false;
        if (origin->type == result->type) {
            ir_replace_uses(result, origin);
            ir_remove(op);
        } else {
            ir_set_operand(op, 0, origin);
        }
        return true;
    }
    if (layout_rule_cheap(source)) {
        struct ir_builder builder = rewrite_before(op);
        if (!pass_fuel(r->context))
            return false;
        struct ir_value *again = layout_adapt(&r->adapter, &builder, source, result->type->layout);
        if (is_conversion(again)) /* cannot be made so */
            return false;
        ir_replace_uses(result, again);
        ir_remove(op);
        return true;
    }
    return pull_through(r, op);
}

/* Values that only conversions and each other used, and tiles left over by making values again. */
static bool remove_unused(struct ir_operation *op)
{
    bool cheap = op->result_count == 1 && layout_rule_has(op->results[0]) && ir_has_trait(op, IR_TRAIT_PURE);
    if (!cheap || op->results[0]->uses)
        return false;
    ir_remove(op);
    return true;
}

static void walk(struct removal *r, struct ir_block *block, bool *again)
{
    for (struct ir_operation *op = block->last, *previous; op; op = previous) {
        previous = op->previous;
        for (int i = 0; i < op->region_count && !ir_is_isolated(op); i++)
            walk(r, op->regions[i], again);
        struct ir_operation *before = op->previous;
        if (op->opcode == OP_CONVERT_LAYOUT ? simplify_conversion(r, op) : *again && remove_unused(op))
            *again = r->changed = true;
        previous = before;
    }
}

bool pass_remove_conversions(struct ir_function *function, struct pass_context *context)
{
    struct removal r = {.context = context};
    r.adapter = (struct layout_adapter){function->module, ir_context_layouts(function->module->context), context->arena,
                                        function->warps};
    for (int round = 0; round < 8; round++) {
        bool again = false;
        walk(&r, function->body, &again);
        if (!again)
            break;
    }
    return r.changed;
}
