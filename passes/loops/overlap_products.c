/* overlap_products: a product that waits for vector work moves into the next iteration.  There it runs beside that
 * iteration's first product, so that tensor cores have work while softmax and the like are computed.
 *
 *     for %j = %lo to %hi iter(%acc = %zero, %m = …) {
 *         wait K     %s = dot_async %q, K        %s1 = dot_wait %s
 *         … %p, %f, %m2 from %s1 …
 *         wait V     %o = dot_async %p, V, %acc * %f     %acc2 = dot_wait %o
 *         yield %acc2, %m2
 *     }
 * becomes
 *     if %lo < %hi {
 *         wait K     … first half with %j = %lo: %p0, %y0 = %zero * %f …
 *         for %j = %lo + step to %hi iter(%p1 = %p0, %y1 = %y0, %m = …) {
 *             wait K     %s = dot_async %q, K
 *             wait V     %o = dot_async %p1, V, %y1         the iteration before
 *             %s1 = dot_wait pending(1) %s
 *             … %p, %f, %m2 from %s1 …
 *             %acc = dot_wait pending(0) %o
 *             … %p as a factor, %acc * %f …                 not before: registers of the product on its way
 *             yield …
 *         }
 *         wait V     %o = dot_async …, V, …                  the last iteration
 *         yield …
 *     } else { yield %zero, … }
 *
 * This is software pipelining with two stages.  The second stage is the second product and what only it needs (its
 * copies); the first stage is everything else.  Right because every operation of an iteration still sees the values of
 * that iteration: what the second stage needs of the first is carried round the loop.  Copies move behind later copies
 * to other buffers, and nothing writes what they read.
 *
 * A loop behind it that goes on with what it carries, and whose second stage is the same, goes on with its overlap, too
 * (peel splits loops so: the last iterations have masks, here of each program, as in causal attention).  The product that
 * the first loop leaves runs beside the first one of the second loop, and the last one stands behind both:
 *
 *     if %lo < %hi or %next < %end {
 *         %p0, … = if %lo < %hi { first half of the first loop } else { of the second }
 *         %p1, … = for %j = %lo + step to %hi …
 *         %p2, … = for %j = %next (+ step where the first loop has no iteration) to %end …
 *         wait V     %o = dot_async %p2, V, …
 *
 * Where several warpgroups work, they take turns at issuing the two products: one multiplies while the other does its
 * vector work (ping-pong).
 *
 * When it is not done:
 *   - No producer can copy.  The copies of the second stage would be those of the iteration before; prefetch_copies has no
 *     place for them, and threads that all meet at copies cannot take turns.
 *   - loop_model says that an iteration would not get shorter.  The less of the second product there is, or the less work
 *     beside the two products, the less is gained.
 *   - Another loop of the block is overlapped, and this one does not go on with what that one carries. */
#include <string.h>

#include "base/plant.h"
#include "ir/facts/analysis.h"
#include "passes/loops/stage_plan.h"
#include "passes/base/budget.h"
#include "passes/base/pass.h"
#include "passes/base/planning.h"
#include "passes/base/remake.h"
#include "passes/base/rewrite.h"
#include "passes/loops/iteration.h"
#include "passes/loops/buffer_copy.h"

/* Of its cycles in order an iteration must take less than this part. */
static const double WORTH_IT = 0.98;
enum {
    MASK_REGISTERS = 16, /* that masks take beside fragments */
    FEW_ITERATIONS = 8   /* which the code of a second loop's overlap would not pay for */
};

struct rotation {
    struct pass_context *context;
    struct ir_function *function;
    struct ir_operation *loop;
    struct ir_operation *first, *first_wait;   /* the product that stays, and its dot_wait */
    struct ir_operation *second, *second_wait; /* the product that moves */
    bool more;                                 /* products than these */
    int accumulator;                           /* the carried value that it makes */
    bool *later;                               /* by position in the body: in the second stage */
    bool *tail;                                /* in the first stage, but behind the wait for the second product */
    VECTOR(struct ir_operation *) body;        /* in order, without the terminator */
    VECTOR(struct ir_value *) crossing;        /* of the first stage, used by the second */
    struct rotation *rest;                     /* of the loop that goes on with this one's products; or NULL */
    /* Of such a loop: what stands between the two, and what stands for it.  It is made again where it is needed, since
     * registers would hold it all through the first loop otherwise. */
    VECTOR(struct ir_operation *) between;
    struct remake around;
};

static int position(const struct rotation *r, const struct ir_operation *op)
{
    for (int i = 0; i < r->body.count; i++)
        if (r->body.data[i] == op)
            return i;
    return -1;
}

static bool uses_result(const struct ir_operation *op, const struct ir_operation *of)
{
    for (int i = 0; i < of->result_count; i++)
        if (ir_uses(op, of->results[i]))
            return true;
    return false;
}

/* Marks operations of the body that need, directly or not, an operation marked or `value`. */
static void mark_needing(const struct rotation *r, bool *marked, const struct ir_value *value)
{
    for (int i = 0; i < r->body.count; i++) {
        bool needs = value && ir_uses(r->body.data[i], value);
        for (int k = 0; k < i && !needs; k++)
            needs = marked[k] && uses_result(r->body.data[i], r->body.data[k]);
        marked[i] |= needs;
    }
}

static struct ir_operation *wait_of(const struct ir_operation *dot)
{
    const struct ir_use *use = dot->results[0]->uses;
    struct ir_operation *wait = use && !use->next ? use->user : NULL;
    return wait && wait->opcode == OP_DOT_WAIT && wait->operand_count == 1 && wait->block == dot->block ? wait : NULL;
}

static bool is_asynchronous(const struct ir_operation *op)
{
    return op->opcode == OP_DOT_ASYNC &&
           ir_number(op, IR_ATTRIBUTE_INSTRUCTION, IR_INSTRUCTION_FMA) == IR_INSTRUCTION_WGMMA;
}

static bool find_products(struct rotation *r)
{
    for (struct ir_operation *op = r->loop->regions[0]->first; op && op->next; op = op->next) {
        vector_push(r->context->arena, &r->body, op);
        if (!is_asynchronous(op))
            continue;
        if (r->second) { /* more than two */
            r->more = true;
            return false;
        }
        if (r->first)
            r->second = op;
        else
            r->first = op;
    }
    if (!r->second)
        return false;
    r->first_wait = wait_of(r->first);
    r->second_wait = wait_of(r->second);
    return r->first_wait && r->second_wait;
}

/* The second product's result is carried and used for nothing else; the first one does not need it, and the second
 * needs the first. */
static bool is_chain(struct rotation *r)
{
    const struct ir_value *result = r->second_wait->results[0];
    const struct ir_operation *yield = ir_terminator(r->loop->regions[0]);
    if (!result->uses || result->uses->next || result->uses->user != yield)
        return false;
    r->accumulator = result->uses->index;
    const struct ir_value *carried = r->loop->regions[0]->arguments.data[1 + r->accumulator];
    bool *marked = ARENA_ARRAY(r->context->arena, bool, r->body.count);
    mark_needing(r, marked, carried);
    if (marked[position(r, r->first)])
        return false;
    for (int i = 0; i < yield->operand_count; i++) /* nothing else that is carried comes from it */
        if (i != r->accumulator && yield->operands[i]->definition && position(r, yield->operands[i]->definition) >= 0 &&
            marked[position(r, yield->operands[i]->definition)])
            return false;
    bool *after = ARENA_ARRAY(r->context->arena, bool, r->body.count);
    after[position(r, r->first_wait)] = true;
    mark_needing(r, after, NULL);
    return after[position(r, r->second)];
}

/* ---- stages ---- */

static struct ir_value *buffer_behind(struct ir_value *value)
{
    while (value->definition &&
           (value->definition->opcode == OP_BUFFER_PERMUTE || value->definition->opcode == OP_BUFFER_PART))
        value = value->definition->operands[0];
    return value;
}

/* The copy into a buffer, and the wait for it, when they serve the second product alone. */
static bool move_copy(struct rotation *r, struct ir_value *buffer)
{
    for (int i = 0; i < r->body.count; i++) {
        struct ir_operation *op = r->body.data[i];
        if (op->opcode != OP_COPY_ASYNC || op->operands[op->operand_count - 1] != buffer)
            continue;
        const struct ir_use *use = op->results[0]->uses;
        if (!use || use->next || use->user->opcode != OP_WAIT || use->user->operand_count != 1)
            return false;
        r->later[i] = true;
        r->later[position(r, use->user)] = true;
    }
    return true;
}

/* In the loop, by any of its names: these may stand in front of it. */
static bool used_by_others(const struct rotation *r, const struct ir_value *buffer, const struct ir_operation *than)
{
    for (const struct ir_use *use = buffer->uses; use; use = use->next) {
        const struct ir_operation *user = use->user;
        bool form = user->opcode == OP_BUFFER_PERMUTE || user->opcode == OP_BUFFER_PART;
        bool other = user != than && user->opcode != OP_COPY_ASYNC;
        if (form ? used_by_others(r, user->results[0], than) : other && ir_ancestor_in(r->loop->regions[0], user))
            return true;
    }
    return false;
}

static bool serves_second_stage(const struct rotation *r, const struct ir_operation *op)
{
    for (const struct ir_use *use = op->results[0]->uses; use; use = use->next) {
        const struct ir_operation *user = ir_ancestor_in(r->loop->regions[0], use->user);
        int at = user ? position(r, user) : -1;
        if (at < 0 || !r->later[at])
            return false;
    }
    return op->results[0]->uses;
}

/* A view that the second stage alone reads is made there: one that goes round the loop is another each time, of which no
 * producer knows what it is a part of. */
static void move_views(struct rotation *r)
{
    for (int i = r->body.count - 1; i >= 0; i--) {
        const struct ir_operation *op = r->body.data[i];
        bool view = op->result_count == 1 && op->results[0]->type->kind == IR_VIEW && ir_has_trait(op, IR_TRAIT_PURE);
        r->later[i] |= view && serves_second_stage(r, op);
    }
}

static bool split_stages(struct rotation *r)
{
    int count = r->body.count;
    r->later = ARENA_ARRAY(r->context->arena, bool, count);
    r->tail = ARENA_ARRAY(r->context->arena, bool, count);
    r->later[position(r, r->second)] = r->later[position(r, r->second_wait)] = true;
    for (int i = 0; i < 2; i++) {
        struct ir_value *factor = r->second->operands[i];
        if (factor->type->kind != IR_BUFFER)
            continue;
        struct ir_value *buffer = buffer_behind(factor);
        if (used_by_others(r, buffer, r->second) || !move_copy(r, buffer))
            return false;
        for (const struct ir_value *value = factor; value != buffer; value = value->definition->operands[0])
            if (position(r, value->definition) >= 0)
                r->later[position(r, value->definition)] = true;
    }
    move_views(r);
    for (int i = 0; i < count; i++) { /* stores and barriers keep their places, which are not ours to change */
        const struct ir_operation *op = r->body.data[i];
        bool ours = r->later[i] || op == r->first || op == r->first_wait || op->opcode == OP_COPY_ASYNC ||
                    op->opcode == OP_WAIT;
        if (!ours && ir_has_effect(op))
            return false;
    }
    /* Behind the wait: what needs the accumulator, and the conversions that end in the product's own factor. */
    mark_needing(r, r->tail, r->loop->regions[0]->arguments.data[1 + r->accumulator]);
    for (struct ir_value *value = r->second->operands[0]; value->type->kind == IR_TILE && value->definition;
         value = value->definition->operands[0]) {
        int at = position(r, value->definition);
        bool conversion = value->definition->opcode == OP_CAST || value->definition->opcode == OP_CONVERT_LAYOUT;
        if (at < 0 || !conversion || !value->uses || value->uses->next)
            break;
        r->tail[at] = true;
    }
    for (int i = 0; i < count; i++)
        if (r->later[i])
            r->tail[i] = false;
    return true;
}

/* The first product's accumulator, the second's and its factor in registers live at one time. */
static int64_t fragment_registers(const struct rotation *r)
{
    const struct ir_type *factor = r->second->operands[0]->type;
    int64_t threads = 32 * (int64_t)r->function->warps;
    int64_t words = ir_type_elements(r->first->results[0]->type) + ir_type_elements(r->second->results[0]->type);
    if (factor->kind == IR_TILE)
        words += ir_type_elements(factor) * ir_element_info[factor->element].bits / 32;
    return words / threads;
}

/* Cycles of an iteration, in order and overlapped: tensor cores work on the second product while warps do what stands
 * between the two. */
static void predict(const struct rotation *r, double *in_order, double *overlapped)
{
    struct loop_model model = loop_model_make(r->context->arena, r->context->target, r->loop->regions[0],
                                              loop_model_copies_ahead, NULL);
    struct stage_plan plan = stage_plan_make(r->context->arena, &model);
    unsigned second = 0;
    for (int p = 0; p < plan.count; p++)
        second |= (unsigned)(model.operations[plan.position[p]].operation == r->second) << p;
    *in_order = plan.in_order;
    *overlapped = stage_plan_iteration(&model, &plan, second);
}

static void find_crossing(struct rotation *r)
{
    const struct ir_block *block = r->loop->regions[0];
    for (int i = 0; i < r->body.count; i++) {
        const struct ir_operation *op = r->body.data[i];
        for (int k = 0; r->later[i] && k < op->operand_count; k++) {
            struct ir_value *value = op->operands[k];
            bool inside = value->block == block && !(value->definition && r->later[position(r, value->definition)]);
            for (int c = 0; c < r->crossing.count; c++)
                inside &= r->crossing.data[c] != value;
            if (inside)
                vector_push(r->context->arena, &r->crossing, value);
        }
    }
}

/* ---- building ---- */

enum part { HEAD, TAIL, LATER };

static bool in_part(const struct rotation *r, int i, enum part part)
{
    return part == LATER ? r->later[i] : !r->later[i] && r->tail[i] == (part == TAIL);
}

/* Operations of the first stage that the first product needs, up to its issue. */
static void mark_lead(const struct rotation *r, bool *lead)
{
    lead[position(r, r->first)] = true;
    for (int i = position(r, r->first); i >= 0; i--)
        for (int k = 0; lead[i] && k < i; k++) {
            bool copies = r->body.data[i]->opcode == OP_DOT_ASYNC &&
                          (r->body.data[k]->opcode == OP_WAIT || r->body.data[k]->opcode == OP_COPY_ASYNC);
            if (!r->later[k] && (copies || uses_result(r->body.data[i], r->body.data[k])))
                lead[k] = true;
        }
}

static void clone_part(const struct rotation *r, struct ir_builder *builder, const struct remake *again, enum part part)
{
    for (int i = 0; i < r->body.count; i++)
        if (in_part(r, i, part))
            remake_operation(again, builder, r->body.data[i]);
}

/* The values that the second stage of the next iteration needs, then the carried ones but the accumulator. */
static int collect_carried(const struct rotation *r, const struct remake *again, struct ir_value **values)
{
    const struct ir_operation *yield = ir_terminator(r->loop->regions[0]);
    int count = 0;
    for (int c = 0; c < r->crossing.count; c++)
        values[count++] = remake_find(again, r->crossing.data[c]);
    for (int i = 0; i < yield->operand_count; i++)
        if (i != r->accumulator)
            values[count++] = remake_find(again, yield->operands[i]);
    return count;
}

/* Lets `values` stand for what the body carries, as collect_carried orders them. */
static void map_carried(const struct rotation *r, const struct remake *again, struct ir_value *const *values)
{
    const struct ir_block *block = r->loop->regions[0];
    int count = r->crossing.count;
    for (int i = 1; i < block->arguments.count; i++)
        if (i - 1 != r->accumulator)
            remake_set(again, block->arguments.data[i], values[count++]);
}

static void map_crossing(const struct rotation *r, const struct remake *again, struct ir_value *const *values)
{
    for (int c = 0; c < r->crossing.count; c++)
        remake_set(again, r->crossing.data[c], values[c]);
}

/* For an iteration, in which nothing has been made yet. */
static struct remake open_iteration(const struct rotation *r)
{
    struct remake again = remake_open(r->context->arena, r->function, r->loop);
    for (int i = 0; i < r->between.count; i++)
        for (int k = 0; k < r->between.data[i]->result_count; k++) {
            struct ir_value *value = r->between.data[i]->results[k];
            remake_set(&again, value, remake_find(&r->around, value));
        }
    return again;
}

/* What stands in front of the loop, at the builder, too. */
static void make_around(struct rotation *r, struct ir_builder *builder)
{
    r->around = remake_open(r->context->arena, r->function, r->loop);
    for (int i = 0; i < r->between.count; i++)
        remake_operation(&r->around, builder, r->between.data[i]);
}

/* The steady loop's body at the builder: the first product, then the second one of the iteration before, then the rest
 * of the first stage. */
static void build_steady(const struct rotation *r, struct ir_builder *builder, struct ir_block *made)
{
    const struct ir_block *block = r->loop->regions[0];
    int carried = r->crossing.count + block->arguments.count - 2;
    struct remake again = open_iteration(r);  /* this iteration */
    struct remake before = open_iteration(r); /* the one before */
    struct ir_value **arguments = made->arguments.data + 1;
    struct ir_value **values = ARENA_ARRAY(r->context->arena, struct ir_value *, carried + 1);
    bool *lead = ARENA_ARRAY(r->context->arena, bool, r->body.count);
    remake_set(&again, block->arguments.data[0], made->arguments.data[0]);
    map_carried(r, &again, arguments);
    map_crossing(r, &before, arguments);
    mark_lead(r, lead);
    const struct ir_plan *asked = ir_plan_asked(made->parent);
    bool turns = r->function->warps >= 8 && r->function->warps % 4 == 0 && !(asked && asked->turns == 0);
    if (ir_plan_of(made->parent))
        ir_plan_of(made->parent)->turns = turns;
    for (int i = 0; i < r->body.count; i++)
        if (in_part(r, i, HEAD) && lead[i]) {
            if (turns && r->body.data[i] == r->first)
                ir_build(builder, OP_TURN_TAKE, 0, NULL, 0, NULL);
            remake_operation(&again, builder, r->body.data[i]);
        }
    for (int i = 0; i < r->body.count; i++)
        if (r->later[i] && r->body.data[i] != r->second_wait)
            remake_operation(&before, builder, r->body.data[i]);
    if (turns)
        ir_build(builder, OP_TURN_PASS, 0, NULL, 0, NULL);
    struct ir_operation *wait = NULL;
    for (int i = 0; i < r->body.count; i++)
        if (in_part(r, i, HEAD) && !lead[i]) {
            if (r->body.data[i]->region_count && !wait) /* where ways part, no product may be on its way */
                wait = remake_operation(&before, builder, r->second_wait);
            struct ir_operation *copy = remake_operation(&again, builder, r->body.data[i]);
            if (r->body.data[i] == r->first_wait)
                ir_set_number(copy, IR_ATTRIBUTE_PENDING, 1);
        }
    wait = wait ? wait : remake_operation(&before, builder, r->second_wait);
    remake_set(&again, block->arguments.data[1 + r->accumulator], wait->results[0]);
    clone_part(r, builder, &again, TAIL);
    int count = collect_carried(r, &again, values);
    ir_build(builder, OP_YIELD, count, values, 0, NULL);
}

/* Whether the loop has an iteration. */
static struct ir_value *build_entered(struct ir_builder *builder, const struct ir_operation *loop)
{
    bool down = iteration_goes_down(loop) && !PLANTED(overlap_none_where_step_is_down);
    return ir_compare(builder, down ? IR_PREDICATE_GT : IR_PREDICATE_LT, loop->operands[0], loop->operands[1]);
}

/* The first stage of the loop's first iteration, to which it hands `initial`: what the second iteration carries. */
static int build_first(const struct rotation *r, struct ir_builder *builder, struct ir_value *const *initial,
                       struct ir_value **values)
{
    const struct ir_block *block = r->loop->regions[0];
    struct remake again = open_iteration(r);
    remake_set(&again, block->arguments.data[0], r->loop->operands[0]);
    for (int i = 0; i < r->loop->result_count; i++)
        remake_set(&again, block->arguments.data[1 + i], initial[i]);
    clone_part(r, builder, &again, HEAD);
    clone_part(r, builder, &again, TAIL);
    builder->at = r->loop->at;
    return collect_carried(r, &again, values);
}

/* The same of the loop that is entered first. */
static int build_first_of_two(struct rotation *r, struct ir_builder *builder, struct ir_value *entered,
                              struct ir_value **values)
{
    int count = r->crossing.count + r->loop->result_count - 1;
    const struct ir_type **types = ARENA_ARRAY(r->context->arena, const struct ir_type *, count + 1);
    for (int i = 0; i < r->crossing.count; i++)
        types[i] = r->crossing.data[i]->type;
    for (int i = 0, k = r->crossing.count; i < r->loop->result_count; i++)
        if (i != r->accumulator)
            types[k++] = r->loop->results[i]->type;
    struct ir_operation *either = ir_build(builder, OP_IF, 1, &entered, count, types);
    struct rotation *of[] = {r, r->rest};
    for (int i = 0; i < 2; i++) {
        struct ir_builder inner = {.module = builder->module, .block = either->regions[i], .at = r->loop->at};
        make_around(of[i], &inner);
        build_first(of[i], &inner, r->loop->operands + 3, values);
        ir_build(&inner, OP_YIELD, count, values, 0, NULL);
    }
    for (int i = 0; i < count; i++)
        values[i] = either->results[i];
    return count;
}

/* The loop from `lower` on with what it carries; these become what it leaves. */
static void build_loop(const struct rotation *r, struct ir_builder *builder, struct ir_value *lower,
                       struct ir_value **carried, int count)
{
    struct ir_value **values = ARENA_ARRAY(r->context->arena, struct ir_value *, count + 3);
    const struct ir_type **types = ARENA_ARRAY(r->context->arena, const struct ir_type *, count + 1);
    values[0] = lower;
    values[1] = r->loop->operands[1];
    values[2] = r->loop->operands[2];
    for (int i = 0; i < count; i++) {
        values[3 + i] = carried[i];
        types[i] = carried[i]->type;
    }
    const struct ir_value *variable = r->loop->regions[0]->arguments.data[0];
    struct ir_operation *steady = ir_build(builder, OP_FOR, 3 + count, values, count, types);
    ir_plan_keep(steady, r->loop);
    ir_block_argument(steady->regions[0], variable->type, variable->name);
    for (int i = 0; i < count; i++)
        ir_block_argument(steady->regions[0], types[i], NULL);
    struct ir_builder body = {.module = builder->module, .block = steady->regions[0], .at = r->loop->at};
    build_steady(r, &body, steady->regions[0]);
    for (int i = 0; i < count; i++)
        carried[i] = steady->results[i];
}

/* The second stage of the last iteration, and what the loop then gives. */
static void build_last(const struct rotation *r, struct ir_builder *builder, struct ir_value *const *carried)
{
    int count = r->loop->result_count, next = r->crossing.count;
    struct ir_value **values = ARENA_ARRAY(r->context->arena, struct ir_value *, count + 1);
    struct remake again = open_iteration(r);
    map_crossing(r, &again, carried);
    clone_part(r, builder, &again, LATER);
    for (int i = 0; i < count; i++)
        values[i] = i == r->accumulator ? remake_find(&again, r->second_wait->results[0]) : carried[next++];
    builder->at = r->loop->at;
    ir_build(builder, OP_YIELD, count, values, 0, NULL);
}

static bool is_needed_by(const struct ir_operation *op, const struct rotation *r, struct ir_operation *const *moved,
                         int count)
{
    for (int i = 0; i < 3; i++)
        if (r->loop->operands[i]->definition == op)
            return true;
    for (int i = 0; i < count; i++)
        if (uses_result(moved[i], op))
            return true;
    return false;
}

/* Moves what the loop's bounds need to the front of the first loop, and notes the rest of what stands between them. */
static void part_between(struct rotation *r, struct ir_operation *first)
{
    VECTOR(struct ir_operation *) moved = {0};
    struct ir_operation *place = first;
    for (struct ir_operation *op = r->loop->previous, *previous; op != first; op = previous) {
        previous = op->previous;
        if (!is_needed_by(op, r, moved.data, moved.count))
            continue;
        ir_move_before(op, place);
        vector_push(r->context->arena, &moved, op);
        place = op;
    }
    for (struct ir_operation *op = first->next; op != r->loop; op = op->next)
        vector_push(r->context->arena, &r->between, op);
}

static void rotate(struct rotation *r)
{
    struct ir_operation *loop = r->loop;
    struct rotation *rest = r->rest, *last = rest ? rest : r;
    struct ir_builder builder = rewrite_before(loop);
    if (rest)
        part_between(rest, loop);
    int most = r->crossing.count + loop->result_count, count;
    struct ir_value **values = ARENA_ARRAY(r->context->arena, struct ir_value *, most + 1);
    const struct ir_type **types = ARENA_ARRAY(r->context->arena, const struct ir_type *, most + 1);
    struct ir_value *entered = build_entered(&builder, loop), *some = entered;
    if (rest)
        some = ir_binary(&builder, OP_OR, entered, build_entered(&builder, rest->loop));
    for (int i = 0; i < loop->result_count; i++)
        types[i] = loop->results[i]->type;
    struct ir_operation *guard = ir_build(&builder, OP_IF, 1, &some, loop->result_count, types);
    struct ir_builder none = {.module = builder.module, .block = guard->regions[1], .at = loop->at};
    ir_build(&none, OP_YIELD, loop->result_count, loop->operands + 3, 0, NULL);
    struct ir_builder inner = {.module = builder.module, .block = guard->regions[0], .at = loop->at};
    count = rest ? build_first_of_two(r, &inner, entered, values) : build_first(r, &inner, loop->operands + 3, values);
    build_loop(r, &inner, ir_binary(&inner, OP_ADD, loop->operands[0], loop->operands[2]), values, count);
    if (rest) {
        struct ir_value *const *bounds = rest->loop->operands;
        make_around(rest, &inner);
        struct ir_value *second = ir_binary(&inner, OP_ADD, bounds[0], bounds[2]);
        build_loop(rest, &inner, ir_select(&inner, entered, bounds[0], second), values, count);
    }
    build_last(last, &inner, values);
    for (int i = 0; i < loop->result_count; i++)
        ir_replace_uses(last->loop->results[i], guard->results[i]);
    if (rest)
        ir_remove(rest->loop);
    ir_remove(loop);
}

/* ---- the loop that goes on ---- */

static bool same_attributes(const struct ir_operation *a, const struct ir_operation *b)
{
    int extra = 0;
    for (const struct ir_attribute *other = b->attributes; other; other = other->next)
        extra += other->key != IR_ATTRIBUTE_INSIDE;
    for (const struct ir_attribute *one = a->attributes; one; one = one->next) {
        const struct ir_attribute *other = ir_attribute(b, one->key);
        if (one->key == IR_ATTRIBUTE_INSIDE)
            continue;
        extra--;
        if (!other || one->number != other->number || one->bits != other->bits || one->count != other->count ||
            one->name != other->name ||
            (one->count && memcmp(one->list, other->list, sizeof *one->list * (size_t)one->count)))
            return false;
    }
    return extra == 0;
}

/* Values from outside of both loops: one, or two that are made alike. */
static bool same_outside(const struct ir_value *x, const struct ir_value *y)
{
    const struct ir_operation *a = x->definition, *b = y->definition;
    if (x == y)
        return true;
    if (x->type != y->type || x->index != y->index || !a || !b || a->opcode != b->opcode ||
        a->operand_count != b->operand_count || a->region_count || !ir_has_trait(a, IR_TRAIT_PURE) ||
        !same_attributes(a, b))
        return false;
    for (int i = 0; i < a->operand_count; i++)
        if (!same_outside(a->operands[i], b->operands[i]))
            return false;
    return true;
}

static int find_crossing_value(const struct rotation *r, const struct ir_value *value)
{
    for (int c = 0; c < r->crossing.count; c++)
        if (r->crossing.data[c] == value)
            return c;
    return -1;
}

/* The next operation of the second stage, from `at` on; the count of the body where there is none. */
static int find_later(const struct rotation *r, int at)
{
    while (at < r->body.count && !r->later[at])
        at++;
    return at;
}

/* Whether the second stages make the same of what the first ones hand them: then that of the rest can end the last
 * iteration of this loop.  `twin` says which operations of the two are the same. */
static bool same_second_stage(const struct rotation *r, const struct rotation *rest)
{
    int *twin = ARENA_ARRAY(r->context->arena, int, r->body.count + 1), i = 0, k = 0;
    for (;; i++, k++) {
        i = find_later(r, i);
        k = find_later(rest, k);
        if (i == r->body.count || k == rest->body.count)
            return i == r->body.count && k == rest->body.count;
        const struct ir_operation *a = r->body.data[i], *b = rest->body.data[k];
        twin[i] = k;
        if (a->opcode != b->opcode || a->operand_count != b->operand_count || a->region_count || b->region_count ||
            !same_attributes(a, b))
            return false;
        for (int o = 0; o < a->operand_count; o++) {
            const struct ir_value *x = a->operands[o], *y = b->operands[o];
            int made = x->block == r->loop->regions[0] && x->definition ? position(r, x->definition) : -1;
            int crossing = find_crossing_value(r, x);
            bool same = crossing >= 0                 ? find_crossing_value(rest, y) == crossing
                        : made >= 0 && r->later[made] ? y->definition == rest->body.data[twin[made]]
                                                      : same_outside(x, y);
            if (!same)
                return false;
        }
    }
}

/* What each knows to lie inside of its views, both know from here on. */
static void share_proofs(const struct rotation *r, struct rotation *rest)
{
    for (int i = find_later(r, 0), k = find_later(rest, 0); i < r->body.count;
         i = find_later(r, i + 1), k = find_later(rest, k + 1)) {
        struct ir_operation *copy = rest->body.data[k];
        int64_t proven = ir_number(copy, IR_ATTRIBUTE_INSIDE, 0);
        if (proven)
            ir_set_number(copy, IR_ATTRIBUTE_INSIDE, proven & ir_number(r->body.data[i], IR_ATTRIBUTE_INSIDE, 0));
    }
}

/* The next loop of the block, if it begins with what this one leaves, and nobody else asks for that. */
static struct ir_operation *find_follower(const struct rotation *r)
{
    struct ir_operation *loop = r->loop, *next = loop->next;
    while (next && ir_has_trait(next, IR_TRAIT_PURE) && next->region_count == 0)
        next = next->next;
    if (!next || next->opcode != OP_FOR || ir_number(next, IR_ATTRIBUTE_MULTIPLY, 0) ||
        next->result_count != loop->result_count)
        return NULL;
    for (int i = 0; i < loop->result_count; i++) {
        const struct ir_use *use = loop->results[i]->uses;
        if (!use || use->next || use->user != next || use->index != 3 + i)
            return NULL;
    }
    return next;
}

/* ---- loops ---- */

struct visiting {
    struct pass_context *context;
    struct ir_function *function;
    const struct ir_block *rotated;
    const char *obstacle;                /* why no producer can copy; NULL: one can */
    VECTOR(struct ir_operation *) loops; /* of the function */
    bool changed, turns;
};

static void refuse(const struct visiting *v, const struct rotation *r, const char *why)
{
    planning_tell_product(r->second, 0, why);
    pass_remark(v->context, r->loop->at, "products of two iterations are not overlapped: %s", why);
}

/* Why the loop stays as it is, or NULL; the cycles of an iteration as it is and overlapped. */
static const char *find_problem(const struct visiting *v, struct rotation *r, double *in_order, double *overlapped)
{
    struct arena *arena = v->context->arena;
    const struct ir_plan_product *asked = planning_asked_product(r->second);
    if (asked && asked->stage == 0)
        return "the plan asks for it";
    if (v->obstacle)
        return arena_printf(arena, "no producer can bring what they read, %s", v->obstacle);
    if (!split_stages(r))
        return "the second one's factors are used or written elsewhere in the loop";
    const struct role_budget *budget = budget_of_roles(v->function->warps);
    int64_t fragments = fragment_registers(r);
    if (fragments > budget->fragments)
        return arena_printf(arena, "a thread has no registers for both, they take %lld of %d and the rest needs %d",
                            (long long)fragments, budget->consumer, budget->consumer - budget->fragments);
    predict(r, in_order, overlapped);
    bool worth = *overlapped <= WORTH_IT * *in_order || (asked && asked->stage == 1);
    return worth ? NULL
                 : arena_printf(arena, "an iteration would take %.0f cycles instead of %.0f", *overlapped, *in_order);
}

/* Of a loop with more products than can be moved: what stages would bring. */
static void explain_more(const struct visiting *v, const struct ir_operation *loop)
{
    struct arena *arena = v->context->arena;
    struct loop_model model = loop_model_make(arena, v->context->target, loop->regions[0], loop_model_copies_ahead,
                                              NULL);
    struct stage_plan plan = stage_plan_make(arena, &model);
    if (plan.iteration > WORTH_IT * plan.in_order)
        return;
    const char *why = arena_printf(arena,
                                   "beside products of the next iteration it would make an iteration take %.0f cycles "
                                   "instead of %.0f, but where there are more than two none is moved",
                                   plan.iteration, plan.in_order);
    for (int p = 0; p < plan.count; p++)
        if (plan.later >> p & 1) {
            const struct ir_operation *product = model.operations[plan.position[p]].operation;
            planning_tell_product(product, 0, why);
            pass_remark(v->context, product->at, "this product stays in its iteration: %s", why);
        }
}

/* Whether the value differs from program to program. */
static bool is_of_program(const struct ir_value *value, int *steps)
{
    const struct ir_operation *op = value->definition;
    if (!op || --*steps < 0)
        return false;
    bool found = op->opcode == OP_GRID_INDEX || op->opcode == OP_PROGRAM;
    for (int i = 0; i < op->operand_count; i++)
        found = found || is_of_program(op->operands[i], steps);
    return found;
}

/* Whether the two loops are known to have few iterations together. */
static bool are_few(const struct visiting *v, const struct rotation *r, const struct rotation *rest)
{
    int64_t step;
    const struct ranges *ranges = ranges_analyse(v->function, v->context->arena);
    struct range from = range_of(ranges, r->loop->operands[0]), to = range_of(ranges, rest->loop->operands[1]);
    return ir_constant_integer(rest->loop->operands[2], &step) && step > 0 && to.high <= INT32_MAX &&
           from.low >= INT32_MIN && to.high - from.low <= step * FEW_ITERATIONS;
}

/* Puts what stands in branches that are always taken in their place. */
static void open_branches(struct ir_block *body)
{
    for (struct ir_operation *op = body->first, *next; op; op = next) {
        next = op->next;
        if (op->opcode != OP_IF || !ir_number(op, IR_ATTRIBUTE_HOLDS, 0))
            continue;
        struct ir_operation *end = ir_terminator(op->regions[0]);
        while (op->regions[0]->first != end)
            ir_move_before(op->regions[0]->first, op);
        for (int i = 0; i < op->result_count; i++)
            ir_replace_uses(op->results[i], end->operands[i]);
        ir_remove(op);
    }
}

/* Whether the loop's overlap is that of the one in front of it. */
static bool goes_on(const struct visiting *v, const struct rotation *r, struct rotation *rest)
{
    double in_order, overlapped;
    struct ir_operation *loop = rest->loop;
    *rest = (struct rotation){.context = v->context, .function = v->function, .loop = loop};
    if (!find_products(rest) || !is_chain(rest) || rest->accumulator != r->accumulator ||
        find_problem(v, rest, &in_order, &overlapped))
        return false;
    find_crossing(rest);
    bool same = rest->crossing.count == r->crossing.count;
    for (int c = 0; same && c < r->crossing.count; c++)
        same = r->crossing.data[c]->type == rest->crossing.data[c]->type;
    return same && same_second_stage(r, rest);
}

/* The loop behind this one, to be overlapped with it; NULL: there is none, or it has the rest of an extent, which is
 * seldom any, or masks would have no registers (causal attention by 192 rows and heads of 64 became 5 % slower on an H100,
 * 2026-11-27-h100-masked-loops.json). */
static struct rotation *find_rest(const struct visiting *v, const struct rotation *r)
{
    struct rotation *rest = ARENA_NEW(v->context->arena, struct rotation);
    int steps = 1000;
    int64_t step = 0;
    *rest = (struct rotation){.loop = find_follower(r)};
    if (fragment_registers(r) + MASK_REGISTERS > budget_of_roles(v->function->warps)->fragments)
        return NULL;
    if (!rest->loop || !goes_on(v, r, rest) || are_few(v, r, rest))
        return NULL;
    bool up = ir_constant_integer(rest->loop->operands[2], &step) && step > 0; /* else that rest comes first */
    if (up && !is_of_program(rest->loop->operands[0], &steps))
        return NULL;
    open_branches(rest->loop->regions[0]);
    if (!goes_on(v, r, rest))
        return NULL;
    share_proofs(r, rest);
    return rest;
}

/* The loop's plan and remarks say what becomes of it. */
static void tell(const struct visiting *v, const struct rotation *r, double in_order, double overlapped)
{
    pass_remark(v->context, r->loop->at,
                "the second product of each iteration runs beside the first one of the next%s: an "
                "iteration takes %.0f cycles instead of %.0f",
                r->rest ? ", also where the loop goes on behind its split" : "", overlapped, in_order);
    for (; r; r = r->rest) {
        planning_tell_product(r->first, 0, NULL);
        planning_tell_product(r->second, 1, NULL);
    }
}

static void visit(struct visiting *v, struct ir_operation *op)
{
    struct rotation r = {.context = v->context, .function = v->function, .loop = op};
    double in_order = 0, overlapped = 0;
    if (ir_number(op, IR_ATTRIBUTE_MULTIPLY, 0) || v->rotated == op->block)
        return;
    bool found = find_products(&r);
    if (r.more)
        explain_more(v, op);
    if (!found || !is_chain(&r))
        return;
    const char *problem = find_problem(v, &r, &in_order, &overlapped);
    if (problem)
        refuse(v, &r, problem);
    if (problem || !pass_fuel(v->context))
        return;
    find_crossing(&r);
    r.rest = find_rest(v, &r);
    tell(v, &r, in_order, overlapped);
    v->rotated = op->block;
    v->changed = true;
    if (!v->turns) {
        struct ir_builder front = {.module = v->function->module,
                                   .block = v->function->body,
                                   .before = v->function->body->first,
                                   .at = op->at};
        ir_build(&front, OP_TURN_START, 0, NULL, 0, NULL);
        v->turns = true;
    }
    rotate(&r);
}

static void collect(struct ir_operation *op, void *data)
{
    struct visiting *v = data;
    if (op->opcode == OP_FOR)
        vector_push(v->context->arena, &v->loops, op);
}

bool pass_overlap_products(struct ir_function *function, struct pass_context *context)
{
    struct visiting v = {.context = context, .function = function};
    if (buffer_has_roles(context->target)) {
        v.obstacle = planning_why_no_producer(function);
        ir_walk(function->body, collect, &v);
        for (int i = 0; i < v.loops.count; i++)
            if (v.loops.data[i]->block) /* not gone together with the one before */
                visit(&v, v.loops.data[i]);
    }
    return v.changed;
}
