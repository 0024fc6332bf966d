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
 * Where several warpgroups work, they take turns at issuing the two products: one multiplies while the other does its
 * vector work (ping-pong).
 *
 * When it is not done:
 *   - No producer can copy.  The copies of the second stage would be those of the iteration before; prefetch_copies has no
 *     place for them, and threads that all meet at copies cannot take turns.
 *   - loop_model says that an iteration would not get shorter.  The less of the second product there is, or the less work
 *     beside the two products, the less is gained.
 *   - The loop is the one that peel has split off for the last iterations: it is short. */
#include "base/plant.h"
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

/* The steady loop's body at the builder: the first product, then the second one of the iteration before, then the rest
 * of the first stage. */
static void build_steady(const struct rotation *r, struct ir_builder *builder, struct ir_block *made)
{
    const struct ir_block *block = r->loop->regions[0];
    int carried = r->crossing.count + block->arguments.count - 2;
    struct remake again = remake_open(r->context->arena, r->function, r->loop);  /* this iteration */
    struct remake before = remake_open(r->context->arena, r->function, r->loop); /* the one before */
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
    for (int i = 0; i < r->body.count; i++)
        if (in_part(r, i, HEAD) && !lead[i]) {
            struct ir_operation *copy = remake_operation(&again, builder, r->body.data[i]);
            if (r->body.data[i] == r->first_wait)
                ir_set_number(copy, IR_ATTRIBUTE_PENDING, 1);
        }
    struct ir_operation *wait = remake_operation(&before, builder, r->second_wait);
    remake_set(&again, block->arguments.data[1 + r->accumulator], wait->results[0]);
    clone_part(r, builder, &again, TAIL);
    int count = collect_carried(r, &again, values);
    ir_build(builder, OP_YIELD, count, values, 0, NULL);
}

static void rotate(struct rotation *r)
{
    struct ir_operation *loop = r->loop;
    const struct ir_block *block = loop->regions[0];
    struct ir_builder builder = rewrite_before(loop);
    int carried = r->crossing.count + loop->result_count - 1, count;
    struct ir_value **values = ARENA_ARRAY(r->context->arena, struct ir_value *, carried + 4);
    const struct ir_type **types = ARENA_ARRAY(r->context->arena, const struct ir_type *,
                                               carried + loop->result_count + 1);
    bool down = iteration_goes_down(loop);
    struct ir_value *some = ir_compare(
        &builder, down && !PLANTED(overlap_none_where_step_is_down) ? IR_PREDICATE_GT : IR_PREDICATE_LT,
        loop->operands[0], loop->operands[1]);
    for (int i = 0; i < loop->result_count; i++)
        types[i] = loop->results[i]->type;
    struct ir_operation *guard = ir_build(&builder, OP_IF, 1, &some, loop->result_count, types);
    /* none */
    struct ir_builder none = {.module = builder.module, .block = guard->regions[1], .at = loop->at};
    ir_build(&none, OP_YIELD, loop->result_count, loop->operands + 3, 0, NULL);
    /* the first iteration's first stage */
    struct ir_builder inner = {.module = builder.module, .block = guard->regions[0], .at = loop->at};
    struct remake again = remake_open(r->context->arena, r->function, r->loop);
    remake_set(&again, block->arguments.data[0], loop->operands[0]);
    for (int i = 0; i < loop->result_count; i++)
        remake_set(&again, block->arguments.data[1 + i], loop->operands[3 + i]);
    clone_part(r, &inner, &again, HEAD);
    clone_part(r, &inner, &again, TAIL);
    inner.at = loop->at;
    values[0] = ir_binary(&inner, OP_ADD, loop->operands[0], loop->operands[2]);
    values[1] = loop->operands[1];
    values[2] = loop->operands[2];
    count = collect_carried(r, &again, values + 3);
    for (int i = 0; i < count; i++)
        types[i] = values[3 + i]->type;
    struct ir_operation *steady = ir_build(&inner, OP_FOR, 3 + count, values, count, types);
    ir_plan_keep(steady, loop);
    ir_block_argument(steady->regions[0], block->arguments.data[0]->type, block->arguments.data[0]->name);
    for (int i = 0; i < count; i++)
        ir_block_argument(steady->regions[0], types[i], NULL);
    struct ir_builder body = {.module = builder.module, .block = steady->regions[0], .at = loop->at};
    build_steady(r, &body, steady->regions[0]);
    /* the last iteration's second stage */
    again = remake_open(r->context->arena, r->function, r->loop);
    map_crossing(r, &again, steady->results);
    clone_part(r, &inner, &again, LATER);
    int next = r->crossing.count;
    for (int i = 0; i < loop->result_count; i++)
        values[i] = i == r->accumulator ? remake_find(&again, r->second_wait->results[0]) : steady->results[next++];
    inner.at = loop->at;
    ir_build(&inner, OP_YIELD, loop->result_count, values, 0, NULL);
    for (int i = 0; i < loop->result_count; i++)
        ir_replace_uses(loop->results[i], guard->results[i]);
    ir_remove(loop);
}

/* ---- loops ---- */

struct visiting {
    struct pass_context *context;
    struct ir_function *function;
    const struct ir_block *rotated;
    const char *obstacle; /* why no producer can copy; NULL: one can */
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

static void visit(struct ir_operation *op, void *data)
{
    struct visiting *v = data;
    struct rotation r = {.context = v->context, .function = v->function, .loop = op};
    double in_order = 0, overlapped = 0;
    if (op->opcode != OP_FOR || ir_number(op, IR_ATTRIBUTE_MULTIPLY, 0) || v->rotated == op->block)
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
    pass_remark(v->context, op->at,
                "the second product of each iteration runs beside the first one of the next: an "
                "iteration takes %.0f cycles instead of %.0f",
                overlapped, in_order);
    planning_tell_product(r.first, 0, NULL);
    planning_tell_product(r.second, 1, NULL);
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

bool pass_overlap_products(struct ir_function *function, struct pass_context *context)
{
    struct visiting v = {.context = context, .function = function};
    if (buffer_has_roles(context->target)) {
        v.obstacle = planning_why_no_producer(function);
        ir_walk(function->body, visit, &v);
    }
    return v.changed;
}
