/* prefetch_fragments: fragments of the next product are read from shared memory while this one multiplies.
 *
 *     for %k … iter(%acc …, %read, %write) {
 *         cp_wait pending(2)   barrier
 *         … slot %ring, %write gets a copy …
 *         %sum = dot_async instruction(mma) slot %a, %read; slot %b, %read; %acc
 *         yield %sum …, %next, %read
 *     }
 * becomes, for a product of 64 in steps of 16,
 *     if %lo < %hi { cp_wait pending(2)   barrier   %a0, %b0 = buffer_load start(…) of slot 0 }
 *     for %k … iter(%acc …, %read, %write, %x = %a0, %y = %b0) {
 *         … slot %ring, %write gets a copy …
 *         %a1, %b1 = buffer_load of slot %read      %s0 = dot %x, %y, %acc
 *         %a2, %b2 = buffer_load of slot %read      %s1 = dot %a1, %b1, %s0
 *         %a3, %b3 = buffer_load of slot %read      %s2 = dot %a2, %b2, %s1
 *         cp_wait pending(2)   barrier
 *         %a0, %b0 = buffer_load of slot %next      %sum = dot %a3, %b3, %s2
 *         yield %sum …, %next, %read, %a0, %b0
 *     }
 *
 * Products now stand on both sides of the barrier, so that the tensor cores wait neither for it nor for the first
 * fragments behind it.  The wait keeps its number: it has moved by one iteration, and so has what it waits for, the
 * copies of the next iteration instead of this one's.  The last iteration reads a slot once more, and nobody uses it.
 *
 * An iteration may have several parts, each with a wait, a barrier and products of its own slots: each part's first
 * fragments are read in front of the last products of the part before.  Products of one part that do not depend on each
 * other go step by step together, so that a factor of several is read once for all.
 *
 * Done where the loop is nothing but such products with their copies, and two steps of fragments and the accumulators
 * fit into registers. */
#include "base/plant.h"

#include <string.h>

#include "passes/base/pass.h"
#include "passes/layout/product_layout.h"
#include "passes/base/remake.h"
#include "passes/base/rewrite.h"
#include "passes/loops/iteration.h"

enum { STEP = 16, MOST_REGISTERS = 200, PRODUCTS = 4, FRAGMENTS = 2 * PRODUCTS };

struct product {
    struct ir_operation *dot, *done; /* done: dot_wait, or NULL */
    int part, steps;
    int fragment[2]; /* which of its group's fragments its factors are */
};
/* What is read for one step of a group. */
struct fragment {
    struct ir_value *factor;
    const struct ir_type *type;
    int dimension;
};
/* Products that take their steps together. */
struct product_group {
    int part, steps, first, count; /* products */
    int fragments;
    struct fragment fragment[FRAGMENTS];
};
/* From a wait and its barrier to the next. */
struct part {
    struct ir_operation *wait, *barrier;
    VECTOR(struct ir_operation *) copies;
    int moved;             /* copies that have their place */
    int steps, done;       /* of its groups together; already built */
    struct ir_value *slot; /* that its products read */
};
struct fragments_ahead {
    struct pass_context *context;
    struct ir_function *function;
    struct ir_operation *loop;
    VECTOR(struct part) parts;
    VECTOR(struct product) products;
    VECTOR(struct product_group) groups;
    int read;            /* argument of the body: the slot that the first part reads */
    const char *problem; /* why not, of a loop that waits for copies for a product */
};
struct search {
    struct arena *arena;
    VECTOR(struct ir_operation *) loops;
};

static struct ir_operation *slot_behind(const struct ir_value *buffer)
{
    struct ir_operation *op = buffer->definition;
    while (op && op->opcode == OP_BUFFER_PERMUTE)
        op = op->operands[0]->definition;
    return op && op->opcode == OP_SLOT ? op : NULL;
}

static bool is_product(const struct fragments_ahead *a, const struct ir_operation *op)
{
    for (int i = 0; i < a->products.count; i++)
        if (a->products.data[i].dot == op)
            return true;
    return false;
}

/* Nobody but products reads what the name names; where there are parts, copies of a later one write it. */
static bool is_read_by_products_alone(const struct fragments_ahead *a, const struct ir_value *buffer)
{
    for (const struct ir_use *use = buffer->uses; use; use = use->next) {
        const struct ir_operation *user = use->user;
        bool written = a->parts.count > 1 && user->opcode == OP_CP_ASYNC;
        bool named = user->opcode == OP_BUFFER_PERMUTE && is_read_by_products_alone(a, user->results[0]);
        if (!written && !named && !is_product(a, user))
            return false;
    }
    return true;
}

static bool fails(struct fragments_ahead *a, const char *problem)
{
    a->problem = problem;
    return false;
}

static struct ir_operation *first_product(const struct fragments_ahead *a)
{
    return a->products.count ? a->products.data[0].dot : NULL;
}

/* ---- what the loop holds ---- */

static bool add_wait(struct fragments_ahead *a, struct ir_operation *wait)
{
    struct part part = {.wait = wait, .barrier = wait->next};
    if (!part.barrier || part.barrier->opcode != OP_BARRIER)
        return false;
    vector_push(a->context->arena, &a->parts, part);
    return true;
}

static bool add_done(struct fragments_ahead *a, struct ir_operation *wait)
{
    for (int i = 0; i < a->products.count; i++)
        if (wait->result_count == 1 && a->products.data[i].dot->results[0] == wait->operands[0] &&
            !a->products.data[i].done) {
            a->products.data[i].done = wait;
            return true;
        }
    return fails(a, "the loop waits for several products together");
}

/* The loop's operations: parts that begin with a wait and a barrier, products, copies, and what is pure. */
static bool find_operations(struct fragments_ahead *a)
{
    struct ir_block *body = a->loop->regions[0];
    if (!body->first || body->first->opcode != OP_CP_WAIT)
        return false;
    for (struct ir_operation *op = body->first; op != ir_terminator(body); op = op->next) {
        struct part *part = a->parts.count ? &a->parts.data[a->parts.count - 1] : NULL;
        switch (op->opcode) {
        case OP_CP_WAIT:
            if (!add_wait(a, op))
                return false;
            break;
        case OP_BARRIER:
            if (part->barrier != op)
                return false;
            break;
        case OP_DOT_ASYNC:
            if (a->products.count == PRODUCTS)
                return fails(a, "the loop holds too many products");
            vector_push(a->context->arena, &a->products, ((struct product){.dot = op, .part = a->parts.count - 1}));
            break;
        case OP_DOT_WAIT:
            if (!add_done(a, op))
                return false;
            break;
        case OP_CP_ASYNC:
        case OP_CP_COMMIT: vector_push(a->context->arena, &part->copies, op); break;
        default:
            if (!ir_has_trait(op, IR_TRAIT_PURE) || op->region_count)
                return false;
        }
    }
    return a->products.count > 0;
}

static struct ir_value *result_of(const struct product *product)
{
    return product->done ? product->done->results[0] : product->dot->results[0];
}

static bool is_used_once(const struct ir_value *value) { return value->uses && !value->uses->next; }

/* The sum comes round the loop or from a product, and goes to one or round the loop; nothing else is done with it. */
static bool goes_round(const struct fragments_ahead *a, const struct product *product)
{
    const struct ir_block *body = a->loop->regions[0];
    const struct ir_value *sum = product->dot->operands[2], *result = result_of(product);
    if (!is_used_once(sum) || !is_used_once(result) || (product->done && !is_used_once(product->dot->results[0])))
        return false;
    bool from = sum->block == body && !sum->definition && sum->index > 0;
    for (int i = 0; i < a->products.count; i++)
        from |= result_of(&a->products.data[i]) == sum;
    const struct ir_operation *user = result->uses->user;
    return from && (user == ir_terminator(body) || (is_product(a, user) && result->uses->index == 2));
}

static bool reads_rings(struct fragments_ahead *a)
{
    const struct ir_block *body = a->loop->regions[0];
    for (int i = 0; i < a->products.count; i++) {
        struct part *part = &a->parts.data[a->products.data[i].part];
        for (int factor = 0; factor < 2; factor++) {
            const struct ir_operation *slot = slot_behind(a->products.data[i].dot->operands[factor]);
            if (!slot || (part->slot && part->slot != slot->operands[1]))
                return false;
            part->slot = slot->operands[1];
        }
    }
    for (int p = 0; p < a->parts.count; p++)
        if (!a->parts.data[p].slot)
            return false;
    const struct ir_value *read = a->parts.data[0].slot;
    if (read->block != body || read->definition || read->index == 0)
        return false;
    a->read = read->index;
    for (const struct ir_operation *op = body->first; op; op = op->next)
        for (int p = 0; p < a->parts.count && op->opcode == OP_SLOT; p++)
            if (op->operands[1] == a->parts.data[p].slot && !is_read_by_products_alone(a, op->results[0]))
                return false;
    return true;
}

/* ---- groups ---- */

/* The fragment of one step that the product's factor is; NULL type: the product cannot be done in steps. */
static struct fragment fragment_of(struct fragments_ahead *a, struct product *product, int factor)
{
    struct ir_context *types = a->function->module->context;
    struct layout_table *table = ir_context_layouts(types);
    const struct ir_type *sum = product->dot->results[0]->type, *whole = product->dot->operands[factor]->type;
    struct fragment fragment = {.factor = product->dot->operands[factor], .dimension = 1 - factor};
    int64_t extent[2] = {whole->extent[0], whole->extent[1]}, all = extent[1 - factor];
    if (whole->kind != IR_BUFFER || whole->rank != 2 || ir_element_info[whole->element].bits != 16 || all % STEP ||
        all < 2 * STEP)
        return fragment;
    product->steps = (int)(all / STEP);
    extent[1 - factor] = STEP;
    const struct ir_type *step = ir_type_tile(types, whole->element, 2, extent);
    const struct layout *layout = product_factor_of(table, step, sum, factor);
    int beyond[2] = {(int)whole->extent[0], (int)whole->extent[1]};
    if (layout && layout_extend(table, layout, beyond))
        fragment.type = ir_type_with_layout(types, step, layout);
    return fragment;
}

/* The sum of one is not the other's, directly or by way of others. */
static bool is_behind(const struct fragments_ahead *a, const struct product *product, const struct product *other)
{
    for (int i = a->products.count - 1; i >= 0 && product != other; i--)
        if (product->dot->operands[2] == result_of(&a->products.data[i]))
            product = &a->products.data[i];
    return product == other;
}

static bool can_join(const struct fragments_ahead *a, const struct product_group *group, const struct product *product)
{
    if (group->part != product->part || group->steps != product->steps)
        return false;
    for (int i = 0; i < group->count; i++)
        if (is_behind(a, product, &a->products.data[group->first + i]))
            return false;
    return true;
}

static int add_fragment(struct product_group *group, struct fragment fragment)
{
    for (int i = 0; i < group->fragments; i++)
        if (group->fragment[i].factor == fragment.factor && group->fragment[i].type == fragment.type)
            return i;
    group->fragment[group->fragments] = fragment;
    return group->fragments++;
}

static int group_registers(const struct product_group *group)
{
    int registers = 0;
    for (int i = 0; i < group->fragments; i++)
        registers += layout_registers(group->fragment[i].type->layout); /* two steps, two elements a register */
    return registers;
}

static bool make_groups(struct fragments_ahead *a)
{
    int sums = 0, most = 0;
    for (int i = 0; i < a->products.count; i++) {
        struct product *product = &a->products.data[i];
        struct fragment fragment[2];
        for (int factor = 0; factor < 2; factor++) {
            fragment[factor] = fragment_of(a, product, factor);
            if (!fragment[factor].type)
                return false;
        }
        struct product_group *group = a->groups.count ? &a->groups.data[a->groups.count - 1] : NULL;
        if (!group || !can_join(a, group, product)) {
            struct product_group made = {.part = product->part, .steps = product->steps, .first = i};
            vector_push(a->context->arena, &a->groups, made);
            group = &a->groups.data[a->groups.count - 1];
            a->parts.data[group->part].steps += group->steps;
        }
        group->count++;
        for (int factor = 0; factor < 2; factor++)
            product->fragment[factor] = add_fragment(group, fragment[factor]);
        if (!product->dot->operands[2]->definition) /* else another's */
            sums += layout_registers(product->dot->results[0]->type->layout);
        most = (int)int64_max(most, group_registers(group));
    }
    return sums + most <= MOST_REGISTERS ||
           fails(a, "accumulators and two steps of fragments take more registers than there are");
}

static bool can_read_ahead(struct fragments_ahead *a)
{
    if (!find_operations(a))
        return false;
    for (int i = 0; i < a->products.count; i++) {
        const struct ir_operation *dot = a->products.data[i].dot;
        if (dot->operand_count != 3 ||
            ir_number(dot, IR_ATTRIBUTE_INSTRUCTION, IR_INSTRUCTION_FMA) != IR_INSTRUCTION_MMA)
            return false;
        if (!goes_round(a, &a->products.data[i]))
            return false;
    }
    return reads_rings(a) && make_groups(a);
}

/* ---- building ---- */

/* The factor as the product names it, of the slot `index`. */
static struct ir_value *name_factor(const struct fragments_ahead *a, struct ir_builder *builder,
                                    struct ir_value *factor, struct ir_value *index)
{
    struct remake again = remake_open(a->context->arena, a->function, a->loop);
    remake_set(&again, slot_behind(factor)->operands[1], index);
    return remake_value(&again, builder, factor);
}

static void name_factors(const struct fragments_ahead *a, const struct product_group *group, struct ir_builder *builder,
                         struct ir_value *index, struct ir_value **factors)
{
    for (int i = 0; i < group->fragments; i++)
        factors[i] = name_factor(a, builder, group->fragment[i].factor, index);
}

static void read_step(const struct product_group *group, struct ir_builder *builder, struct ir_value *const *factors,
                      int step, struct ir_value **fragments)
{
    for (int i = 0; i < group->fragments; i++) {
        int64_t start[2] = {0, 0};
        start[group->fragment[i].dimension] = (int64_t)step * STEP;
        fragments[i] = ir_build_value(builder, OP_BUFFER_LOAD, group->fragment[i].type, 1,
                                      (struct ir_value *[]){factors[i]});
        ir_set_list(fragments[i]->definition, IR_ATTRIBUTE_START, 2, start);
    }
}

static struct ir_value *multiply(const struct product *product, struct ir_builder *builder,
                                 struct ir_value *const *fragments, struct ir_value *sum)
{
    struct ir_value *operands[3] = {fragments[product->fragment[0]], fragments[product->fragment[1]], sum};
    struct ir_value *result = ir_build_value(builder, OP_DOT, sum->type, 3, operands);
    const struct ir_attribute *precision = ir_attribute(product->dot, IR_ATTRIBUTE_PRECISION);
    if (precision)
        ir_set_number(result->definition, IR_ATTRIBUTE_PRECISION, precision->number);
    ir_set_number(result->definition, IR_ATTRIBUTE_INSTRUCTION, IR_INSTRUCTION_MMA);
    return result;
}

/* The first iteration's, when there is one: else nobody has written the slot. */
static void read_first(const struct fragments_ahead *a, struct ir_builder *before, struct ir_value **fragments)
{
    const struct product_group *group = &a->groups.data[0];
    const struct ir_type *types[FRAGMENTS];
    struct ir_value *factors[FRAGMENTS],
        *some = iteration_comes(before, a->loop, a->loop->operands[0], a->loop->operands[1]);
    for (int i = 0; i < group->fragments; i++)
        types[i] = group->fragment[i].type;
    struct ir_operation *branch = ir_build(before, OP_IF, 1, &some, group->fragments, types);
    struct ir_builder inner = {.module = before->module, .block = branch->regions[0], .at = a->loop->at};
    ir_set_number(ir_build(&inner, OP_CP_WAIT, 0, NULL, 0, NULL), IR_ATTRIBUTE_PENDING,
                  ir_number(a->parts.data[0].wait, IR_ATTRIBUTE_PENDING, 0));
    ir_build(&inner, OP_BARRIER, 0, NULL, 0, NULL);
    name_factors(a, group, &inner, a->loop->operands[a->read + 2], factors);
    read_step(group, &inner, factors, 0, fragments);
    ir_build(&inner, OP_YIELD, group->fragments, fragments, 0, NULL);
    struct ir_builder other = {.module = before->module, .block = branch->regions[1], .at = a->loop->at};
    for (int i = 0; i < group->fragments; i++)
        fragments[i] = ir_build_value(&other, OP_UNDEFINED, types[i], 0, NULL);
    ir_build(&other, OP_YIELD, group->fragments, fragments, 0, NULL);
    for (int i = 0; i < group->fragments; i++)
        fragments[i] = branch->results[i];
}

/* Copies stand between the steps, so that their addresses are computed beside products. */
static void move_copies(struct part *part, struct ir_operation *before, int count)
{
    for (; part->moved < count && part->moved < part->copies.count; part->moved++)
        ir_move_before(part->copies.data[part->moved], before);
}

struct building {
    struct ir_builder builder;                                  /* in front of the yield */
    struct ir_value *last;                                      /* of the variable, that an iteration follows */
    struct ir_value *factors[FRAGMENTS], *following[FRAGMENTS]; /* of the group that is built, of the one behind it */
    struct ir_value *fragments[FRAGMENTS];                      /* of the step that is built */
};

/* The part is over but for its last products: what follows waits for its own copies. */
static void enter_part(const struct fragments_ahead *a, struct part *from, const struct part *to)
{
    struct ir_operation *yield = ir_terminator(a->loop->regions[0]);
    move_copies(from, yield, from->copies.count);
    ir_move_before(to->wait, yield);
    if (!PLANTED(fragments_before_barrier))
        ir_move_before(to->barrier, yield);
}

/* Factors of the group behind this one; behind the last, those of the next iteration. */
static void name_following(const struct fragments_ahead *a, struct building *b, int number)
{
    const struct ir_block *body = a->loop->regions[0];
    const struct product_group *group = &a->groups.data[(number + 1) % a->groups.count];
    struct ir_value *slot = a->parts.data[group->part].slot;
    if (number + 1 == a->groups.count) {
        struct ir_value *more = iteration_comes(&b->builder, a->loop, body->arguments.data[0], b->last);
        slot = ir_select(&b->builder, more, ir_terminator(body)->operands[a->read - 1],
                         a->parts.data[a->parts.count - 1].slot);
    }
    name_factors(a, group, &b->builder, slot, b->following);
}

static void build_group(struct fragments_ahead *a, struct building *b, int number)
{
    struct product_group *group = &a->groups.data[number];
    struct ir_operation *yield = ir_terminator(a->loop->regions[0]);
    struct part *part = &a->parts.data[group->part];
    int following = (number + 1) % a->groups.count;
    bool leaves = number + 1 == a->groups.count || a->groups.data[following].part != group->part;
    struct ir_value *coming[FRAGMENTS] = {0}, *sums[PRODUCTS];
    name_following(a, b, number);
    for (int i = 0; i < group->count; i++)
        sums[i] = a->products.data[group->first + i].dot->operands[2];
    for (int step = 1; step <= group->steps; step++) {
        bool last = step == group->steps;
        if (last && leaves)
            enter_part(a, part, &a->parts.data[a->groups.data[following].part]);
        read_step(last ? &a->groups.data[following] : group, &b->builder, last ? b->following : b->factors,
                  last ? 0 : step, coming);
        part->done++;
        move_copies(part, yield, part->copies.count * part->done / (part->steps - 1));
        for (int i = 0; i < group->count; i++) {
            b->builder.at = a->products.data[group->first + i].dot->at;
            sums[i] = multiply(&a->products.data[group->first + i], &b->builder, b->fragments, sums[i]);
        }
        memcpy(b->fragments, coming, sizeof coming);
    }
    memcpy(b->factors, b->following, sizeof b->factors);
    for (int i = 0; i < group->count; i++)
        ir_replace_uses(result_of(&a->products.data[group->first + i]), sums[i]);
}

static void prefetch_fragments(struct fragments_ahead *a)
{
    struct building b = {0};
    struct ir_builder before = rewrite_before(a->loop);
    int carried = a->groups.data[0].fragments;
    b.last = ir_binary(&before, OP_SUB, a->loop->operands[1], a->loop->operands[2]);
    read_first(a, &before, b.fragments);
    static const char *const names[FRAGMENTS] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    a->loop = rewrite_carry(a->context->arena, a->loop, carried, b.fragments, names);
    struct ir_block *body = a->loop->regions[0];
    struct ir_operation *yield = ir_terminator(body);
    a->parts.data[0].slot = body->arguments.data[a->read];
    b.builder = rewrite_before(yield);
    b.builder.at = first_product(a)->at;
    for (int i = 0; i < carried; i++)
        b.fragments[i] = body->arguments.data[body->arguments.count - carried + i];
    name_factors(a, &a->groups.data[0], &b.builder, a->parts.data[0].slot, b.factors);
    for (int i = 0; i < a->groups.count; i++)
        build_group(a, &b, i);
    for (int i = 0; i < carried; i++)
        ir_add_operand(yield, b.fragments[i]);
    for (int i = a->products.count - 1; i >= 0; i--) {
        if (a->products.data[i].done)
            ir_remove(a->products.data[i].done);
        ir_remove(a->products.data[i].dot);
    }
}

static void collect(struct ir_operation *op, void *data)
{
    struct search *search = data;
    if (op->opcode == OP_FOR)
        vector_push(search->arena, &search->loops, op);
}

bool pass_prefetch_fragments(struct ir_function *function, struct pass_context *context)
{
    struct search search = {.arena = context->arena};
    bool changed = false;
    ir_walk(function->body, collect, &search);
    for (int i = 0; i < search.loops.count; i++) {
        struct fragments_ahead a = {.context = context, .function = function, .loop = search.loops.data[i]};
        bool can = can_read_ahead(&a);
        if (!can && a.problem)
            pass_remark(context, first_product(&a)->at, "fragments of this product are not read an iteration ahead: %s",
                        a.problem);
        if (!can || !pass_fuel(context))
            continue;
        pass_remark(context, a.loop->at, "fragments of the next %s are read before this one ends",
                    a.parts.count > 1 ? "part" : "iteration");
        prefetch_fragments(&a);
        changed = true;
    }
    return changed;
}
