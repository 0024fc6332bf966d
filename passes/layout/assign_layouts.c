/* assign_layouts: from the Value to the Schedule level.  Every tile gets a layout, and values that are wanted in
 * another one are made again when that is cheap, else converted.
 *
 *     %v = load %x[%row, 0 +: 1024], %zero : f32[1024]
 *     %m = reduce %v axis(0) kind(max) : f32
 *     %s = splat %m : f32[1024]
 *     %d = sub %v, %s : f32[1024]
 * becomes, with 4 warps,
 *     %v = load %x[%row, 0 +: 1024], %zero : f32[1024] #(1024; register a0:1 a9; lane a2:6; warp a7:8)
 *     …
 * Right because a layout says only who holds which element; layout_rules.h lists what operations demand of their
 * operands' layouts, and each demand is met here by layout_adapt.  Values carried round a loop have one layout inside
 * and outside it. */
#include "passes/layout/layout_choice.h"
#include "ir/facts/layout_rules.h"
#include "passes/base/pass.h"
#include "passes/base/rewrite.h"
#include "passes/loops/buffer_copy.h"

struct assignment {
    struct layout_adapter adapter;
    struct layout_choice *choice;
    struct pass_context *context;
    VECTOR(struct ir_operation *) cheap; /* made again at their uses, so not needed where they stand */
};

static void set_layout(const struct assignment *a, struct ir_value *value, const struct layout *layout)
{
    value->type = ir_type_with_layout(a->adapter.module->context, value->type, layout);
}

static void give_chosen(const struct assignment *a, struct ir_value *value)
{
    const struct layout *layout = layout_rule_has(value) ? layout_chosen(a->choice, value) : NULL;
    if (layout)
        set_layout(a, value, layout);
}

static void adapt_operand(const struct assignment *a, struct ir_operation *op, int index, const struct layout *layout)
{
    struct ir_builder builder = rewrite_before(op);
    struct ir_value *value = layout_adapt(&a->adapter, &builder, op->operands[index], layout);
    if (value != op->operands[index])
        ir_set_operand(op, index, value);
}

/* Layout of a cheap value that nobody else gives one. */
static const struct layout *free_layout(const struct assignment *a, const struct ir_operation *op, int index)
{
    const struct ir_value *value = op->operands[index];
    int extent[LAYOUT_RANK], order[LAYOUT_RANK], next = 0;
    bool along = op->opcode == OP_REDUCE || op->opcode == OP_SCAN;
    int axis = along ? (int)ir_number(op, IR_ATTRIBUTE_AXIS, 0) : value->type->rank - 1;
    for (int d = 0; d < value->type->rank; d++)
        extent[d] = (int)value->type->extent[d];
    order[next++] = axis;
    for (int d = value->type->rank - 1; d >= 0; d--)
        if (d != axis)
            order[next++] = d;
    int vector = (extent[axis] & -extent[axis]) / (32 * a->adapter.warps);
    return layout_blocked(a->adapter.table, value->type->rank, extent, order, vector > 1 ? vector : 1,
                          a->adapter.warps);
}

/* What comes out of an operation is not what its class has: convert behind it. */
static void convert_result(const struct assignment *a, struct ir_operation *op, struct ir_value *result,
                           const struct layout *natural)
{
    const struct layout *wanted = layout_chosen(a->choice, result);
    set_layout(a, result, natural);
    if (!wanted || wanted == natural)
        return;
    struct ir_builder builder = {.module = a->adapter.module, .block = op->block, .before = op->next, .at = op->at};
    const struct ir_type *type = ir_type_with_layout(a->adapter.module->context, result->type, wanted);
    struct ir_value *converted = ir_build_value(&builder, OP_CONVERT_LAYOUT, type, 1, &result);
    converted->name = result->name;
    ir_replace_uses(result, converted);
    ir_set_operand(converted->definition, 0, result);
}

static void assign_reduce(const struct assignment *a, struct ir_operation *op)
{
    const struct layout *layout = NULL;
    for (int i = 0; i < op->operand_count && !layout; i++)
        layout = op->operands[i]->type->layout;
    if (!layout)
        layout = free_layout(a, op, 0);
    if (!layout_rule_reduces(op, layout))
        layout = free_layout(a, op, 0);
    for (int i = 0; i < op->operand_count; i++)
        adapt_operand(a, op, i, layout);
    for (int i = 0; i < op->result_count; i++)
        if (layout_rule_has(op->results[i]))
            convert_result(a, op, op->results[i], layout_rule_result(a->adapter.table, op, layout));
}

/* Operands that lie side by side in registers of the result, in the layout that was chosen for that or in one that is
 * converted to it; where there is none the operation takes them as they are. */
static void assign_concatenate(const struct assignment *a, struct ir_operation *op)
{
    struct ir_value *result = op->results[0];
    const struct layout *chosen = layout_chosen(a->choice, result), *first = op->operands[0]->type->layout, *natural;
    bool possible, parts = true;
    for (int i = 0; i < op->operand_count; i++)
        parts = parts && layout_rule_operand(a->adapter.table, op, i, chosen, &possible);
    if (!first)
        first = free_layout(a, op, 0);
    natural = parts ? chosen : layout_rule_result(a->adapter.table, op, first);
    for (int i = 0; i < op->operand_count; i++) {
        const struct layout *wanted = natural ? layout_rule_operand(a->adapter.table, op, i, natural, &possible) : NULL;
        if (!wanted && natural)
            wanted = first;
        if (!wanted && !op->operands[i]->type->layout)
            wanted = free_layout(a, op, i);
        if (wanted)
            adapt_operand(a, op, i, wanted);
    }
    convert_result(a, op, result, natural ? natural : chosen);
}

static void assign_scan(const struct assignment *a, struct ir_operation *op)
{
    const struct layout *layout = layout_chosen(a->choice, op->results[0]);
    if (!layout || !layout_rule_reduces(op, layout))
        layout = free_layout(a, op, 0);
    for (int i = 0; i < op->operand_count; i++)
        adapt_operand(a, op, i, layout);
    for (int i = 0; i < op->result_count; i++)
        if (layout_rule_has(op->results[i]))
            convert_result(a, op, op->results[i], layout);
}

/* No layout of the operand gives the result's: both are made in every thread. */
static void assign_replicated(const struct assignment *a, struct ir_operation *op)
{
    const struct ir_type *from = op->operands[0]->type, *to = op->results[0]->type;
    int extent[LAYOUT_RANK];
    for (int d = 0; d < from->rank; d++)
        extent[d] = (int)from->extent[d];
    adapt_operand(a, op, 0, layout_replicated(a->adapter.table, from->rank, extent, a->adapter.warps));
    for (int d = 0; d < to->rank; d++)
        extent[d] = (int)to->extent[d];
    convert_result(a, op, op->results[0], layout_replicated(a->adapter.table, to->rank, extent, a->adapter.warps));
}

static void assign_operation(struct assignment *a, struct ir_operation *op);

static void assign_block(struct assignment *a, struct ir_block *block)
{
    for (int i = 0; i < block->arguments.count; i++)
        give_chosen(a, block->arguments.data[i]);
    for (struct ir_operation *op = block->first, *next; op; op = next) {
        next = op->next;
        assign_operation(a, op);
    }
}

/* Carried values and results of control flow have the layout of their class everywhere. */
static void assign_control(struct assignment *a, struct ir_operation *op)
{
    int first = op->opcode == OP_FOR ? 3 : 0;
    for (int i = 0; i < op->result_count; i++)
        give_chosen(a, op->results[i]);
    for (int i = first; ir_has_trait(op, IR_TRAIT_LOOP) && i < op->operand_count; i++)
        adapt_operand(a, op, i, op->results[i - first]->type->layout);
    for (int r = 0; r < op->region_count; r++) {
        assign_block(a, op->regions[r]);
        struct ir_operation *last = ir_terminator(op->regions[r]);
        int skipped = last->opcode == OP_CONDITION ? 1 : 0;
        for (int i = 0; i < op->result_count; i++)
            adapt_operand(a, last, i + skipped, op->results[i]->type->layout);
    }
}

static void assign_operation(struct assignment *a, struct ir_operation *op)
{
    if (op->result_count == 1 && layout_rule_has(op->results[0]) && !layout_chosen(a->choice, op->results[0])) {
        vector_push(a->context->arena, &a->cheap, op);
        return;
    }
    if (op->region_count && !ir_is_isolated(op)) {
        assign_control(a, op);
        return;
    }
    if (op->opcode == OP_REDUCE) {
        assign_reduce(a, op);
        return;
    }
    if (op->opcode == OP_CONCATENATE) {
        assign_concatenate(a, op);
        return;
    }
    if (op->opcode == OP_SCAN) {
        assign_scan(a, op);
        return;
    }
    for (int i = 0; i < op->result_count; i++)
        give_chosen(a, op->results[i]);
    struct ir_value *tile = layout_rule_tile(op);
    const struct layout *layout = tile ? tile->type->layout : NULL;
    if (tile && !layout)
        layout = layout_chosen_access(a->choice, op); /* a store of a cheap value */
    for (int i = 0; i < op->operand_count && !ir_has_trait(op, IR_TRAIT_TERMINATOR); i++) {
        bool possible = true;
        if (!layout_rule_has(op->operands[i]))
            continue;
        const struct layout *wanted = layout ? layout_rule_operand(a->adapter.table, op, i, layout, &possible) : NULL;
        if (!possible) {
            assign_replicated(a, op);
            return;
        }
        if (!wanted && !op->operands[i]->type->layout)
            wanted = free_layout(a, op, i);
        if (wanted)
            adapt_operand(a, op, i, wanted);
    }
}

/* The number of warps: what is asked for, or of a set the nearest to what the compiler would choose, in whole groups where
 * it chose so; as many of them as tiles can be given to.  Returns what was wanted. */
static struct asked_knob choose_warps(struct ir_function *function, struct pass_context *context)
{
    bool producer = context->target && buffer_has_roles(context->target);
    struct asked_knob asked = {function->warps, function->warps_among};
    function->warps = layout_choose_warps(function, producer);
    if (!asked.among)
        return asked;
    const uint64_t groups = UINT64_C(0x1111111111111110);
    bool whole = function->warps % 4 == 0 && (asked.among & groups);
    function->warps_among = 0;
    asked.value = ir_choose_among(whole ? asked.among & groups : asked.among, function->warps);
    if (asked.value != function->warps) {
        function->warps = asked.value;
        function->warps = layout_choose_warps(function, producer);
    }
    return asked;
}

/* Says how many warps there are, or that what was asked for is not had. */
static void tell_warps(const struct ir_function *function, struct pass_context *context, struct asked_knob asked)
{
    int warps = function->warps;
    if (asked.value <= 0 || asked.value == warps || asked.among >> warps & 1)
        pass_remark(context, function->at, "a program has %d warp%s", warps, warps == 1 ? "" : "s");
    else if (context->idle && context->idle->counts_consumers)
        pass_idle_knob(context, function->at, "consumers", (struct asked_knob){asked.value / 4, 0},
                       "the tiles go to %d warps", warps);
    else
        pass_idle_knob(context, function->at, "warps", (struct asked_knob){asked.value, 0}, "the tiles go to %d",
                       warps);
}

bool pass_assign_layouts(struct ir_function *function, struct pass_context *context)
{
    struct asked_knob asked = choose_warps(function, context);
    struct assignment a = {.context = context};
    a.choice = layout_choose(function, function->warps, context->arena);
    a.adapter = (struct layout_adapter){function->module, ir_context_layouts(function->module->context), context->arena,
                                        function->warps};
    function->level = IR_LEVEL_SCHEDULE;
    assign_block(&a, function->body);
    for (int i = a.cheap.count - 1; i >= 0; i--)
        if (!ir_is_used(a.cheap.data[i]))
            ir_remove(a.cheap.data[i]);
    tell_warps(function, context, asked);
    return true;
}
