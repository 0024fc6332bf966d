/* defer_sums: what a loop sums is added up by each thread by itself; threads meet once, behind the loop.
 *
 *     %y = for … iter(%a: f32[64] = %z) {            %v: f32[64, 64] #(…; register a0:2 b4:5; lane a3:5 b0:1; warp b2:3)
 *         %s = reduce axis(1) kind(add) %v : f32[64]
 *         %n = add %a, %s       yield %n
 *     }
 * becomes
 *     %w = for … iter(%p: f32[64, 16] = -0) {        #(…; register a0:2; lane a3:5 b0:1; warp b2:3)
 *         %r = reshape %v : f32[64, 4, 16]
 *         %t = reduce axis(1) kind(add) %r : f32[64, 16]      of what a thread holds
 *         %q = add %p, %t       yield %q
 *     }
 *     %s = reduce axis(1) kind(add) %w : f32[64]
 *     %y = add %z, %s
 *
 * A sum over lanes takes a shuffle for each of five steps, one over warps shared memory and two barriers, at which a warp
 * waits for the loads of all others.  The bits of the axis that registers hold are summed in the loop, so that a thread
 * carries no more than a sum for each of its rows.
 *
 * So are sums of floats that the loop scales, as that of an online softmax, by a factor of each row:
 *
 *     %m = mul %a, %f   %n = add %m, %s         ->         %g = broadcast %f   %h = mul %p, %g   %q = add %h, %t
 *
 * Each part is scaled instead of the sum.  The loop starts with no sum then, or with one that the loop before has left,
 * whose parts it goes on with.
 *
 * Right because a sum's elements, and what a loop only adds them to, may be added in any order (tile(7)); integers wrap.
 * A factor is known to lie between 0 and 1 (order.h): an infinite one would make NaN of a thread's 0.  Floats stay as they
 * are under --strict-fp and where the order is fixed.  Nothing else may ask for the sums meanwhile. */
#include "base/plant.h"
#include "ir/facts/layout_rules.h"
#include "ir/facts/order.h"
#include "passes/base/pass.h"
#include "passes/base/rewrite.h"

enum { MORE_REGISTERS = 16 }; /* that a thread may carry, beside as many as before */

struct deferral {
    struct pass_context *context;
    struct layout_table *table;
    struct ir_operation *loop;
    int index; /* of the carried sum */
    struct ir_operation *sum, *reduce;
    struct ir_operation *scaled; /* the carried value times `factor`, to which the loop adds; NULL: it is not scaled */
    struct ir_value *factor;
    int axis;
    /* The axis as extents of registers and threads in turns, from the outermost; those of threads are carried. */
    int runs, extent[LAYOUT_BITS];
    bool threads[LAYOUT_BITS];
};

static bool is_used_once(const struct ir_value *value) { return value->uses && !value->uses->next; }

/* Changes no number, only where it lies. */
static bool is_moved(const struct ir_operation *op)
{
    return op && (op->opcode == OP_RESHAPE || op->opcode == OP_CONVERT_LAYOUT) && is_used_once(op->results[0]);
}

/* The one use of what is carried, or of that times a factor between 0 and 1. */
static const struct ir_use *find_use(struct deferral *d, const struct ir_value *carried)
{
    if (!is_used_once(carried))
        return NULL;
    const struct ir_use *use = carried->uses;
    struct ir_operation *product = use->user;
    if (product->opcode != OP_MUL || product->block != d->loop->regions[0] || !ir_is_float(carried->type->element) ||
        !is_used_once(product->results[0]) || product->results[0]->uses->user->opcode != OP_ADD)
        return use;
    struct ir_value *factor = product->operands[use->index == 0];
    if (!order_is_fraction(factor))
        return NULL;
    d->scaled = product;
    d->factor = factor;
    return product->results[0]->uses;
}

/* The loop does nothing with the carried value but add a sum to it, or to a part of it. */
static bool find_sum(struct deferral *d)
{
    const struct ir_block *body = d->loop->regions[0];
    struct ir_value *next = ir_terminator(body)->operands[d->index];
    const struct ir_use *use = find_use(d, body->arguments.data[d->index + 1]);
    struct ir_operation *sum = use ? use->user : NULL;
    if (!sum || sum->opcode != OP_ADD || sum->block != body || sum->results[0] != next || !is_used_once(next))
        return false;
    struct ir_operation *op = sum->operands[use->index == 0]->definition;
    if (!is_used_once(sum->operands[use->index == 0]))
        return false;
    while (is_moved(op) && op->block == body && !d->scaled)
        op = op->operands[0]->definition;
    d->sum = sum;
    d->reduce = op;
    bool floats = ir_is_float(next->type->element) && !PLANTED(defer_sums_of_strict_floats);
    return op && op->opcode == OP_REDUCE && op->block == body && op->operand_count == 1 &&
           is_used_once(op->results[0]) && ir_number(op, IR_ATTRIBUTE_KIND, 0) == IR_REDUCE_ADD &&
           !ir_number(op, IR_ATTRIBUTE_FIXED, 0) && !(floats && body->function->strict_fp) &&
           op->operands[0]->type->layout;
}

/* Whether registers alone tell apart the two halves that a bit of the axis makes. */
static bool lies_in_registers(const struct layout *layout, uint32_t bit)
{
    bool found = false;
    for (int input = 0; input < LAYOUT_INPUTS; input++)
        for (int i = 0; i < layout->bits[input]; i++)
            if (layout->column[input][i] & bit) {
                if (input != LAYOUT_REGISTER || layout->column[input][i] != bit)
                    return false;
                found = true;
            }
    return found;
}

/* False: threads have nothing to add up, or the axis does not fall apart into whole bits. */
static bool divide_axis(struct deferral *d)
{
    const struct layout *layout = d->reduce->operands[0]->type->layout;
    d->axis = (int)ir_number(d->reduce, IR_ATTRIBUTE_AXIS, 0);
    bool some = false;
    d->runs = 0;
    for (int bit = layout->atom_bits[d->axis] - 1; bit >= 0; bit--) {
        bool threads = !lies_in_registers(layout, UINT32_C(1) << (layout->shift[d->axis] + bit));
        if (!d->runs || d->threads[d->runs - 1] != threads) {
            d->threads[d->runs] = threads;
            d->extent[d->runs++] = 1;
        }
        d->extent[d->runs - 1] *= 2;
        some |= threads;
    }
    return some && layout->repeat[d->axis] == 1 && layout->rank - 1 + d->runs <= LAYOUT_RANK;
}

/* `value` with `count` extents in the place of `replaced` from the axis on, so that nothing moves. */
static struct ir_value *divide(const struct deferral *d, struct ir_builder *builder, struct ir_value *value, int count,
                               const int *axis, int replaced)
{
    const struct ir_type *type = value->type;
    int64_t extent[LAYOUT_RANK];
    int whole[LAYOUT_RANK], rank = 0;
    for (int i = 0; i < d->axis; i++)
        extent[rank++] = type->extent[i];
    for (int i = 0; i < count; i++)
        extent[rank++] = axis[i];
    for (int i = d->axis + replaced; i < type->rank; i++)
        extent[rank++] = type->extent[i];
    for (int i = 0; i < rank; i++)
        whole[i] = (int)extent[i];
    const struct layout *layout = layout_reshape(d->table, type->layout, rank, whole);
    struct ir_context *types = builder->module->context;
    const struct ir_type *made = ir_type_with_layout(types, ir_type_tile(types, type->element, rank, extent), layout);
    return made == type ? value : ir_build_value(builder, OP_RESHAPE, made, 1, &value);
}

static struct ir_value *reduce_axis(const struct deferral *d, struct ir_builder *builder, struct ir_value *value,
                                    int axis)
{
    const struct ir_type *type = value->type;
    struct ir_context *types = builder->module->context;
    int64_t extent[LAYOUT_RANK];
    for (int i = 0, rank = 0; i < type->rank; i++)
        if (i != axis)
            extent[rank++] = type->extent[i];
    const struct ir_type *made = ir_type_tile(types, type->element, type->rank - 1, extent);
    if (made->rank)
        made = ir_type_with_layout(types, made, layout_remove_dimension(d->table, type->layout, axis));
    struct ir_value *sum = ir_build_value(builder, OP_REDUCE, made, 1, &value);
    ir_set_number(sum->definition, IR_ATTRIBUTE_AXIS, axis);
    ir_set_number(sum->definition, IR_ATTRIBUTE_KIND, IR_REDUCE_ADD);
    return sum;
}

/* A thread carries no more than it can. */
static bool fits(const struct deferral *d)
{
    const struct ir_type *before = d->sum->results[0]->type, *type = d->reduce->operands[0]->type;
    int registers = layout_registers(type->layout), extent[LAYOUT_RANK], rank = 0;
    for (int i = 0; i < d->axis; i++)
        extent[rank++] = (int)type->extent[i];
    for (int run = 0; run < d->runs; run++) {
        extent[rank++] = d->extent[run];
        registers /= d->threads[run] ? 1 : d->extent[run];
    }
    for (int i = d->axis + 1; i < type->rank; i++)
        extent[rank++] = (int)type->extent[i];
    return registers <= (before->rank ? layout_registers(before->layout) : 1) + MORE_REGISTERS &&
           layout_reshape(d->table, type->layout, rank, extent);
}

/* What each thread has of the sum, with the axis of those that others have. */
static struct ir_value *build_own(const struct deferral *d, struct ir_builder *builder)
{
    struct ir_value *value = divide(d, builder, d->reduce->operands[0], d->runs, d->extent, 1);
    int shared = 0, extent = 1;
    for (int run = d->runs - 1; run >= 0; run--)
        if (d->threads[run]) {
            shared++;
            extent *= d->extent[run];
        } else {
            value = reduce_axis(d, builder, value, d->axis + run);
        }
    return divide(d, builder, value, 1, &extent, shared);
}

/* The whole sum of what threads have, in the form and layout of what the loop added. */
static struct ir_value *build_whole(const struct deferral *d, struct ir_builder *builder, struct ir_value *own)
{
    struct ir_value *value = reduce_axis(d, builder, own, d->axis);
    const struct ir_operation *op = d->reduce;
    while (op->results[0]->uses->user != d->sum) {
        op = op->results[0]->uses->user;
        value = ir_build_value(builder, op->opcode, op->results[0]->type, 1, &value);
    }
    return value;
}

/* What threads have in front of the loop.  -0.0 changes no number that it is added to, 0.0 would make 0.0 of a sum of -0.0
 * alone.  Where the sum is scaled nothing is added to it behind the loop, so that what it starts with is that of each. */
static struct ir_value *build_initial(const struct deferral *d, struct ir_builder *builder, const struct ir_type *type)
{
    const struct ir_value *first = d->loop->operands[d->index + 3];
    uint64_t bits;
    if (!d->scaled)
        return ir_is_float(type->element) ? ir_constant_float(builder, type, -0.0) : ir_constant_int(builder, type, 0);
    if (ir_constant_of(first, &bits))
        return ir_constant_bits(builder, type, bits);
    return first->definition->operands[0];
}

/* A sum that is scaled starts as 0, or as parts that the loop before has left. */
static bool can_start(const struct deferral *d)
{
    const struct ir_value *first = d->loop->operands[d->index + 3];
    const struct ir_operation *before = first->definition;
    uint64_t bits;
    if (!d->scaled)
        return true;
    if (ir_constant_of(first, &bits))
        return ir_bits_to_double(first->type->element, bits) == 0;
    if (!before || before->opcode != OP_REDUCE || before->operand_count != 1 ||
        ir_number(before, IR_ATTRIBUTE_KIND, 0) != IR_REDUCE_ADD ||
        ir_number(before, IR_ATTRIBUTE_AXIS, 0) != d->axis || ir_number(before, IR_ATTRIBUTE_FIXED, 0))
        return false;
    struct ir_builder trial = rewrite_before(d->sum);
    struct ir_value *own = build_own(d, &trial);
    bool same = own->type == before->operands[0]->type;
    while (own != d->reduce->operands[0]) {
        struct ir_operation *op = own->definition;
        own = op->operands[0];
        ir_remove(op);
    }
    return same;
}

/* What the loop carries, scaled as its sum was. */
static struct ir_value *build_scaled(const struct deferral *d, struct ir_builder *builder, struct ir_value *carried)
{
    struct ir_value *factor = d->factor;
    if (!d->scaled)
        return carried;
    const struct ir_type *type = carried->type;
    if (type->rank == 1) {
        factor = ir_build_value(builder, OP_SPLAT, type, 1, &factor);
    } else {
        const int one = 1;
        factor = divide(d, builder, factor, 1, &one, 0);
        factor = ir_build_value(builder, OP_BROADCAST, type, 1, &factor);
    }
    return ir_binary(builder, OP_MUL, carried, factor);
}

/* Carries what threads have instead of the sum, which the loop hands on as it was until dce takes it away. */
static void defer(struct deferral *d)
{
    struct ir_builder inside = rewrite_before(d->sum), front = rewrite_before(d->loop);
    struct ir_value *own = build_own(d, &inside), *initial = build_initial(d, &front, own->type);
    d->loop = rewrite_carry(d->context->arena, d->loop, 1, &initial, NULL);
    struct ir_block *body = d->loop->regions[0];
    struct ir_value *carried = body->arguments.data[d->index + 1], *result = d->loop->results[d->index];
    struct ir_operation *end = ir_terminator(body);
    inside.block = body;
    struct ir_value *parts = build_scaled(d, &inside, body->arguments.data[body->arguments.count - 1]);
    ir_add_operand(end, ir_binary(&inside, OP_ADD, parts, own));
    struct ir_builder behind = {front.module, d->loop->block, d->loop->next, d->sum->at};
    struct ir_value *whole = build_whole(d, &behind, d->loop->results[d->loop->result_count - 1]);
    if (!d->scaled)
        whole = ir_binary(&behind, OP_ADD, d->loop->operands[d->index + 3], whole);
    ir_replace_uses(result, whole);
    pass_remark(d->context, d->reduce->at, "threads add up by themselves what this loop sums, and meet behind it");
    ir_set_operand(end, d->index, carried);
    const struct ir_value *added = d->scaled ? d->scaled->results[0] : carried;
    for (struct ir_operation *op = d->sum; op != d->reduce;) { /* from the sum up, each has lost its use */
        struct ir_operation *next = op->operands[op == d->sum && op->operands[0] == added]->definition;
        ir_remove(op);
        op = next;
    }
    ir_remove(d->reduce);
    if (d->scaled)
        ir_remove(d->scaled);
}

static bool defer_in(struct ir_block *block, struct pass_context *context)
{
    bool changed = false;
    for (struct ir_operation *op = block->first, *next; op; op = next) {
        next = op->next;
        for (int r = 0; r < op->region_count && !ir_is_isolated(op); r++)
            changed |= defer_in(op->regions[r], context);
        for (int i = 0, count = op->opcode == OP_FOR ? op->result_count : 0; i < count; i++) {
            struct deferral d = {.context = context, .loop = op, .index = i};
            d.table = ir_context_layouts(rewrite_context(op));
            if (!find_sum(&d) || !divide_axis(&d) || !fits(&d) || !can_start(&d) || !pass_fuel(context))
                continue;
            defer(&d);
            op = d.loop;
            changed = true;
        }
    }
    return changed;
}

bool pass_defer_sums(struct ir_function *function, struct pass_context *context)
{
    return defer_in(function->body, context);
}
