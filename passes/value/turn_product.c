/* Products of few rows, turned (turn_product.h).  A sum and all that goes round a loop as it has one shape, so that a whole
 * group of values is turned at once:
 *
 *     %sum = for … iter(%acc: f32[16, 128] = %zero) {
 *         %more = dot %a, %b, %acc : f32[16, 128]
 *         yield %more
 *     }
 * becomes
 *     %sum = for … iter(%acc: f32[128, 16] = %zero') {
 *         %b' = permute %b, %a' = permute %a
 *         %more = dot %b', %a', %acc : f32[128, 16]
 *         yield %more
 *     }
 *     %sum' = permute %sum
 *
 * Right because (A B)' = B' A', each element a sum of the same products.  A permutation moves nothing in registers, nor between
 * a view and shared memory.  In a loop that hands the sum on, nothing else may look at it: what does so expects rows where a
 * thread or a warp has them whole, and the turned tile has them the other way. */
#include "passes/value/turn_product.h"

#include "base/plant.h"
#include "passes/base/rewrite.h"
#include "targets/product_choice.h"

/* Values that are the sum so far: turned all together or not at all. */
struct group {
    struct pass_context *context;
    VECTOR(struct ir_value *) values;
    bool *has; /* by id */
};

static bool is_product(const struct ir_operation *op) { return op->opcode == OP_DOT; }

/* As it stands it is one of wgmma, or would be if it did not keep its factors. */
static bool is_served(const struct pass_context *context, const struct product *product)
{
    struct product_choice choice = product_choice_of(context->target, product);
    return choice.instruction == IR_INSTRUCTION_WGMMA || choice.obstacles == PRODUCT_KEPT;
}

/* ---- the group ---- */

static void add_value(struct group *g, struct ir_value *value)
{
    if (g->has[value->id])
        return;
    g->has[value->id] = true;
    vector_push(g->context->arena, &g->values, value);
}

/* What the used value becomes, where it is handed on as the sum so far; NULL: something else is done with it. */
static struct ir_value *handed_on(const struct ir_use *use)
{
    struct ir_operation *user = use->user, *parent = user->block->parent;
    if (is_product(user))
        return use->index == 2 ? user->results[0] : NULL;
    if (user->opcode == OP_FOR)
        return use->index >= 3 ? user->results[use->index - 3] : NULL;
    bool yields = user->opcode == OP_YIELD && parent && (parent->opcode == OP_FOR || parent->opcode == OP_IF);
    return yields ? parent->results[use->index] : NULL;
}

static bool stays_in(const struct group *g, const struct ir_use *use)
{
    const struct ir_value *next = handed_on(use);
    return next && g->has[next->id];
}

/* Made by an operation that hands nothing on: where the sum starts. */
static bool is_start(const struct ir_value *value)
{
    const struct ir_operation *made = value->definition;
    if (!made)
        return !value->block->parent || value->block->parent->opcode != OP_FOR;
    return !is_product(made) && made->opcode != OP_FOR && made->opcode != OP_IF;
}

/* What a loop or a branch hands on in one place: the start, the argument, what is yielded and the result. */
static void add_carried(struct group *g, struct ir_operation *op, int index)
{
    add_value(g, op->results[index]);
    for (int r = 0; r < op->region_count; r++)
        add_value(g, ir_terminator(op->regions[r])->operands[index]);
    if (op->opcode != OP_FOR)
        return;
    add_value(g, op->operands[3 + index]);
    add_value(g, op->regions[0]->arguments.data[1 + index]);
}

/* A start is followed to nobody: other sums may begin with the same constant. */
static void follow(struct group *g, const struct ir_value *value)
{
    struct ir_operation *made = value->definition;
    if (is_start(value))
        return;
    if (!made)
        add_carried(g, value->block->parent, value->index - 1);
    else if (is_product(made))
        add_value(g, made->operands[2]);
    else
        add_carried(g, made, value->index);
    for (const struct ir_use *use = value->uses; use; use = use->next) {
        struct ir_value *next = handed_on(use);
        if (next)
            add_value(g, next);
    }
}

/* Whether a loop around the operation hands a value of the group on. */
static bool is_in_its_loop(const struct group *g, const struct ir_operation *op)
{
    for (const struct ir_operation *loop = op->block->parent; loop; loop = loop->block->parent)
        for (int i = 0; ir_has_trait(loop, IR_TRAIT_LOOP) && i < loop->result_count; i++)
            if (g->has[loop->results[i]->id])
                return true;
    return false;
}

/* Whether the product becomes one of wgmma, or one whose factors stay in registers, when it is turned, and the loop around
 * it, if there is one, hands its sum on. */
static bool product_fits(const struct group *g, const struct ir_operation *dot)
{
    struct product product = product_of(dot), other = product_as_computed(g->context->target, &product);
    bool turns = other.m != product.m || other.lies_across[0] != product.lies_across[0];
    return turns && (!ir_is_in_loop(dot) || is_in_its_loop(g, dot));
}

/* Whether all products of the group can be turned, and loops that hand it on do nothing else with it. */
static bool group_fits(const struct group *g)
{
    for (int i = 0; i < g->values.count; i++) {
        const struct ir_value *value = g->values.data[i];
        const struct ir_operation *made = value->definition;
        if (is_start(value)) {
            if (!made || (!ir_is_constant(value) && is_in_its_loop(g, made)))
                return false;
            continue;
        }
        if (made && is_product(made) && !product_fits(g, made))
            return false;
        for (const struct ir_use *use = value->uses; use; use = use->next)
            if (!stays_in(g, use) && is_in_its_loop(g, use->user))
                return false;
    }
    return true;
}

static struct group group_of(struct pass_context *context, struct ir_operation *dot)
{
    struct group g = {context, .has = ARENA_ARRAY(context->arena, bool, dot->block->function->next_value_id)};
    add_value(&g, dot->results[0]);
    for (int i = 0; i < g.values.count; i++)
        follow(&g, g.values.data[i]);
    return g;
}

/* ---- turning it ---- */

static const struct ir_type *turned_type(struct ir_context *context, const struct ir_type *type)
{
    return ir_type_tile(context, type->element, 2, (int64_t[]){type->extent[1], type->extent[0]});
}

static struct ir_value *permute(struct ir_builder *builder, struct ir_value *value)
{
    const struct ir_type *type = turned_type(builder->module->context, value->type);
    struct ir_value *result = ir_build_value(builder, OP_PERMUTE, type, 1, &value);
    ir_set_list(result->definition, IR_ATTRIBUTE_PERMUTATION, 2, (int64_t[]){1, 0});
    return result;
}

/* A constant has the same number everywhere and needs no permutation. */
static void turn_start(const struct group *g, struct ir_value *value)
{
    uint64_t bits;
    for (struct ir_use *use = value->uses, *next; use; use = next) {
        next = use->next;
        if (!stays_in(g, use))
            continue;
        struct ir_builder builder = rewrite_before(use->user);
        const struct ir_type *type = turned_type(builder.module->context, value->type);
        if (ir_constant_of(value, &bits))
            ir_set_operand(use->user, use->index,
                           ir_constant_bits(&builder, type, PLANTED(turned_sum_starts_at_zero) ? 0 : bits));
        else
            ir_set_operand(use->user, use->index, permute(&builder, value));
    }
}

/* Whoever is not of the group reads a value as it was. */
static void turn_back(const struct group *g, struct ir_value *value)
{
    struct ir_value *back = NULL;
    for (struct ir_use *use = value->uses, *next; use; use = next) {
        next = use->next;
        if (stays_in(g, use))
            continue;
        if (!back) {
            struct ir_builder builder = rewrite_before(value->definition ? value->definition->next
                                                                         : value->block->first);
            back = permute(&builder, value);
        }
        ir_set_operand(use->user, use->index, back);
    }
}

static void turn_factors(const struct group *g, struct ir_operation *dot)
{
    struct ir_builder builder = rewrite_before(dot);
    struct ir_value *a = dot->operands[0], *b = dot->operands[1];
    struct product product = product_of(dot);
    ir_set_operand(dot, 0, permute(&builder, b));
    ir_set_operand(dot, 1, permute(&builder, a));
    struct product turned = product_of(dot);
    if (product_keeps_factors(&turned))
        pass_remark(
            g->context, dot->at,
            "the columns of this product are taken for its rows, so that both factors stay in registers: it has %lld rows",
            (long long)a->type->extent[0]);
    else if (product_reads_matrices(&product, IR_INSTRUCTION_WGMMA, 1, product.lies_across[1] ? 1 : 0))
        pass_remark(g->context, dot->at, "wgmma takes the columns of this product for its rows: it has %lld rows",
                    (long long)a->type->extent[0]);
    else
        pass_remark(g->context, dot->at,
                    "wgmma takes the columns of this product for its rows: the second factor has n contiguous");
}

static void turn(const struct group *g, struct ir_context *context)
{
    for (int i = 0; i < g->values.count; i++)
        if (is_start(g->values.data[i]))
            turn_start(g, g->values.data[i]);
        else
            g->values.data[i]->type = turned_type(context, g->values.data[i]->type);
    for (int i = 0; i < g->values.count; i++) {
        struct ir_value *value = g->values.data[i];
        if (is_start(value))
            continue;
        turn_back(g, value);
        if (value->definition && is_product(value->definition))
            turn_factors(g, value->definition);
    }
}

/* ---- a function ---- */

struct products {
    struct pass_context *context;
    VECTOR(struct ir_operation *) few; /* that are not served as they are */
};

static void collect(struct ir_operation *op, void *data)
{
    struct products *p = data;
    if (!is_product(op) || ir_attribute(op, IR_ATTRIBUTE_INSTRUCTION))
        return;
    struct product product = product_of(op);
    if (!is_served(p->context, &product))
        vector_push(p->context->arena, &p->few, op);
}

bool turn_products(struct ir_function *function, struct pass_context *context)
{
    struct products p = {.context = context};
    VECTOR(struct group) groups = {0};
    ir_walk(function->body, collect, &p);
    for (int i = 0; i < p.few.count; i++) {
        bool known = false;
        for (int k = 0; k < groups.count; k++)
            known |= groups.data[k].has[p.few.data[i]->results[0]->id];
        if (known)
            continue;
        struct group group = group_of(context, p.few.data[i]);
        if (!group_fits(&group))
            return false;
        vector_push(context->arena, &groups, group);
    }
    for (int i = 0; i < groups.count; i++) {
        if (!pass_fuel(context))
            return i > 0;
        turn(&groups.data[i], function->module->context);
    }
    return groups.count > 0;
}
