/* prefetch_copies: copies of later iterations run while this one computes (cp.async, multi-stage).
 *
 *     for %k = %lo to %hi step %s iter(%acc …) {
 *         %t = copy_async %a[%i +: 128, %k +: 64], %A
 *         wait %t
 *         … reads %A …
 *     }
 * becomes, with four slots,
 *     %ring = buffer … slots(4)
 *     copies of the iterations %lo, %lo + %s, %lo + 2 %s to slots 0, 1, 2, a group each
 *     for %k = … iter(%acc …, %read = 0, %write = 3) {
 *         cp_wait pending(2)   barrier            the group of this iteration is there, and nobody reads %write
 *         cp_async %a[%i +: 128, %k + 3 %s +: 64], slot %ring, %write      cp_commit
 *         … reads slot %ring, %read …
 *         yield …, %read + 1 == 4 ? 0 : %read + 1, %read
 *     }
 *     cp_wait pending(0)   barrier
 *
 * Copies beyond the last iteration fetch nothing where the view ends there, else what the first iteration read: no
 * branch stands in the loop, and every iteration has its group.  Right because a copy reads memory that the loop does
 * not write, its indexes depend on the loop's variable alone, and a slot is written again only behind the barrier
 * that follows its last reader.
 *
 * Copies in front of such a loop that are first read in it are waited for with the loop's own first ones.
 *
 * Without cp.async the tile of the next iteration is loaded into registers at the top and stored to the other slot
 * at the end.  Copies that stand in no such loop are waited for where they are. */
#include "base/plant.h"
#include "passes/loops/prefetch_copies.h"
#include "passes/loops/iteration.h"

#include "ir/facts/alias.h"
#include "ir/facts/scratch.h"
#include "passes/layout/memory_access.h"
#include "passes/base/planning.h"
#include "passes/base/rewrite.h"

enum { LEAST_SHARED = 48 * 1024, MOST_WITH_PRODUCTS = 2 };

struct pipelining {
    struct pass_context *context;
    struct ir_function *function;
    VECTOR(struct pipelined_loop) loops;
    VECTOR(struct ir_operation *) names; /* buffer_permute and buffer_part, in text order */
    VECTOR(struct ir_operation *) found; /* loops, copies and waits in text order; removed ones have no block */
    bool asynchronous, changed;
};

/* ---- what can be copied ahead ---- */

/* Other names of a buffer's bytes go to where they are used: a loop's iterations will use slots of their own. */
static void sink_names(struct pipelining *p)
{
    for (int i = p->names.count - 1; i >= 0; i--) {
        struct ir_operation *name = p->names.data[i];
        while (name->results[0]->uses) {
            const struct ir_use *use = name->results[0]->uses;
            struct ir_builder builder = rewrite_before(use->user);
            struct ir_value **map = ARENA_ARRAY(p->context->arena, struct ir_value *, p->function->next_value_id);
            builder.at = name->at;
            ir_set_operand(use->user, use->index, ir_clone(&builder, name, map)->results[0]);
        }
        ir_remove(name);
    }
}

/* Does the buffer belong to the copy while the loop runs: nobody else fills it, and its readers come behind the wait.
 * Outside the loop it must be filled again before it is read. */
static bool owns_buffer(const struct ir_operation *copy, const struct ir_value *buffer)
{
    const struct ir_operation *wait = copy->results[0]->uses->user;
    for (const struct ir_use *use = buffer->uses; use; use = use->next) {
        const struct ir_operation *user = use->user, *inside = ir_ancestor_in(copy->block, user);
        if (user == copy)
            continue;
        if (inside) {
            if (user->opcode == OP_COPY_ASYNC || user->opcode == OP_BUFFER_STORE || user->opcode == OP_CP_ASYNC ||
                !ir_comes_before(wait, inside))
                return false;
            continue;
        }
        bool filled = user->opcode == OP_COPY_ASYNC;
        for (const struct ir_use *other = buffer->uses; other && !filled; other = other->next)
            filled = other->user->opcode == OP_COPY_ASYNC && ir_ancestor_in(other->user->block, user) &&
                     ir_comes_before(other->user, ir_ancestor_in(other->user->block, user)) && other->user != copy;
        if (!filled)
            return false;
    }
    return true;
}

/* NULL: the copy can run ahead. */
static const char *problem_of_copy(const struct ir_operation *loop, const struct ir_operation *copy)
{
    struct ir_access access;
    const struct ir_use *use = copy->results[0]->uses;
    if (!ir_access_of(copy, &access) || !access.buffer->definition || access.buffer->definition->opcode != OP_BUFFER)
        return "it does not fill a buffer of its own";
    if (!use || use->next || use->user->opcode != OP_WAIT || use->user->block != copy->block)
        return "it is not waited for in the loop's body";
    const char *problem = iteration_read_problem(loop, copy);
    if (problem)
        return problem;
    return owns_buffer(copy, access.buffer) ? NULL : "its buffer is used for other things too";
}

static bool has_copies(const struct ir_operation *loop)
{
    for (const struct ir_operation *op = loop->regions[0]->first; op; op = op->next)
        if (op->opcode == OP_COPY_ASYNC)
            return true;
    return false;
}

static enum ir_way way_of(const struct pipelining *p) { return p->asynchronous ? IR_WAY_CP_ASYNC : IR_WAY_REGISTERS; }

static void tell_loop(const struct pipelining *p, const struct ir_operation *loop, const char *why)
{
    for (const struct ir_operation *op = loop->regions[0]->first; op; op = op->next)
        if (op->opcode == OP_COPY_ASYNC)
            planning_tell_input(op, way_of(p), why);
}

/* What became of the loop's copies, which are still there. */
static void tell_copies(const struct pipelining *p, const struct pipelined_loop *loop, const char *why)
{
    int slots = loop->slots > 1 ? loop->slots : 1; /* the buffer is there, also where a ring has no room for a slot */
    for (int c = 0; c < loop->copies.count; c++) {
        const struct pipelined_copy *copy = &loop->copies.data[c];
        struct ir_plan_input *input = planning_input(copy->copy);
        planning_tell_input(copy->copy, way_of(p), why);
        if (!input)
            continue;
        input->slots = slots;
        input->ahead = slots - 1;
        input->bytes = (int)ir_type_bytes(copy->buffer->type);
    }
}

static void plan_loop(struct pipelining *p, struct ir_operation *loop)
{
    struct pipelined_loop plan = {.loop = loop, .parts = 1, .asynchronous = p->asynchronous};
    const char *refusal = iteration_loop_problem(loop);
    if (refusal) {
        tell_loop(p, loop, refusal);
        pass_remark(p->context, loop->at, "copies wait in this loop: %s", refusal);
        return;
    }
    for (struct ir_operation *op = loop->regions[0]->first; op; op = op->next) {
        if (op->opcode != OP_COPY_ASYNC)
            continue;
        const char *problem = problem_of_copy(loop, op);
        if (problem) {
            planning_tell_input(op, way_of(p), problem);
            pass_remark(p->context, op->at, "this copy is waited for where it stands: %s", problem);
            continue;
        }
        struct ir_access access;
        ir_access_of(op, &access);
        struct pipelined_copy copy = {.copy = op, .buffer = access.buffer};
        vector_push(p->context->arena, &plan.copies, copy);
    }
    if (plan.copies.count)
        vector_push(p->context->arena, &p->loops, plan);
}

/* ---- shared memory ---- */

struct counting {
    struct pipelining *p;
    int64_t buffers, scratch;
};

static bool is_ring(const struct pipelining *p, const struct ir_value *buffer)
{
    for (int i = 0; i < p->loops.count; i++)
        for (int c = 0; c < p->loops.data[i].copies.count; c++)
            if (p->loops.data[i].copies.data[c].buffer == buffer)
                return true;
    return false;
}

/* The outermost loop around a ring's loop, itself perhaps: the ring lives as long as that runs. */
static const struct ir_operation *lifetime_of(const struct ir_operation *loop)
{
    const struct ir_operation *outermost = loop;
    for (const struct ir_operation *op = loop->block->parent; op; op = op->block->parent)
        if (ir_has_trait(op, IR_TRAIT_LOOP))
            outermost = op;
    return outermost;
}

static bool lives_beside_rings(const struct pipelining *p, const struct ir_operation *op)
{
    for (int i = 0; i < p->loops.count; i++) {
        const struct ir_operation *outer = lifetime_of(p->loops.data[i].loop);
        for (int r = 0; r < outer->region_count; r++)
            if (ir_block_holds(outer->regions[r], op->block))
                return true;
    }
    return false;
}

/* Buffers besides the rings, and scratch that is needed while rings live. */
static void count_shared(struct ir_operation *op, void *data)
{
    struct counting *c = data;
    if (op->opcode == OP_BUFFER && !is_ring(c->p, op->results[0]))
        c->buffers += scratch_ring_bytes(op->results[0]->type) * op->results[0]->type->slots;
    struct layout_table *table = ir_context_layouts(c->p->function->module->context);
    if (lives_beside_rings(c->p, op))
        c->scratch = int64_max(c->scratch, scratch_bytes(table, c->p->context->arena, op));
}

/* The loop's copies as the filling of one ring.  Where threads copy by themselves, a slot is written again behind the
 * barrier at the top of the iteration that follows its last reader. */
static void plan_ring(struct pipelining *p, struct pipelined_loop *loop)
{
    struct loop_model model = loop_model_make(p->context->arena, p->context->target, loop->loop->regions[0],
                                              loop_model_copies_ahead, NULL);
    int64_t bytes = 0;
    for (int c = 0; c < loop->copies.count; c++)
        bytes += scratch_ring_bytes(loop->copies.data[c].buffer->type);
    model.iteration /= loop->parts;
    loop->ring = ring_plan_make(&model, bytes / loop->parts, model.iteration, false, p->function);
    loop->ring.parts = loop->parts;
    for (int c = 0; c < loop->copies.count; c++)
        if (planning_asked_slots(loop->copies.data[c].copy) > 0)
            loop->ring.most = planning_asked_slots(loop->copies.data[c].copy);
    if (!loop->asynchronous && loop->ring.most > 2)
        loop->ring.most = 2;
}

static bool share_buffer(const struct pipelined_loop *one, const struct pipelined_loop *other)
{
    for (int c = 0; c < one->copies.count; c++)
        for (int d = 0; d < other->copies.count; d++)
            if (one->copies.data[c].buffer == other->copies.data[d].buffer)
                return true;
    return false;
}

/* Loops that fill one buffer have one ring, which serves the one that needs the most slots. */
static void agree(struct pipelining *p)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < p->loops.count; i++)
            for (int j = 0; j < p->loops.count; j++) {
                struct ring_plan *one = &p->loops.data[i].ring, *other = &p->loops.data[j].ring;
                if (one->most >= other->most || !share_buffer(&p->loops.data[i], &p->loops.data[j]))
                    continue;
                one->most = other->most;
                changed = true;
            }
    }
}

/* Bytes of a slot of the loop's buffers that no loop before it fills. */
static int64_t own_bytes(const struct pipelining *p, int number)
{
    int64_t bytes = 0;
    for (int c = 0; c < p->loops.data[number].copies.count; c++) {
        const struct ir_value *buffer = p->loops.data[number].copies.data[c].buffer;
        bool again = false;
        for (int i = 0; i <= number; i++)
            for (int d = 0; d < p->loops.data[i].copies.count && (i < number || d < c); d++)
                again |= p->loops.data[i].copies.data[d].buffer == buffer;
        bytes += again ? 0 : scratch_ring_bytes(buffer->type);
    }
    return bytes / p->loops.data[number].parts;
}

static void find_product(struct ir_operation *op, void *data) { *(bool *)data |= op->opcode == OP_DOT_ASYNC; }

static bool holds_products(const struct pipelining *p)
{
    bool found = false;
    for (int i = 0; i < p->loops.count; i++)
        ir_walk(p->loops.data[i].loop->regions[0], find_product, &found);
    return found;
}

/* Blocks that share a multiprocessor.  Of those with products two: while one waits at its barrier or stores, the other
 * multiplies (128 x 128 by 4 warps on an H200, text for sm_80: 426 TFLOP/s in 4 slots, 438 in 2 with two blocks, 477 in
 * 3).  A number of slots that the program asks for is what it gets. */
static int residents(const struct pipelining *p)
{
    int taken = 0;
    if (holds_products(p) && p->function->stages > 0)
        return 1;
    for (int i = 0; i < p->loops.count; i++)
        taken = (int)int64_max(taken, loop_model_pressure(p->context->arena, p->loops.data[i].loop->regions[0]));
    int blocks = loop_model_residents(p->function, p->context->target, taken + LOOP_MODEL_SPARE);
    return holds_products(p) && blocks > MOST_WITH_PRODUCTS ? MOST_WITH_PRODUCTS : blocks;
}

/* Slots for each loop, by latency and by the room there is. */
static void choose_slots(struct pipelining *p)
{
    const struct target_row *target = p->context->target;
    struct counting counting = {.p = p};
    ir_walk(p->function->body, count_shared, &counting);
    int64_t room = (target ? target->shared_bytes : LEAST_SHARED) - counting.buffers - counting.scratch;
    struct ring_plan **rings = ARENA_ARRAY(p->context->arena, struct ring_plan *, p->loops.count);
    for (int i = 0; i < p->loops.count; i++)
        plan_ring(p, &p->loops.data[i]);
    agree(p);
    for (int i = 0; i < p->loops.count; i++) {
        rings[i] = &p->loops.data[i].ring;
        rings[i]->bytes = own_bytes(p, i);
    }
    int blocks = target ? residents(p) : 1;
    while (!ring_plan_share(rings, p->loops.count, room / blocks) || (blocks > 1 && rings[0]->slots < 2))
        if (--blocks < 1)
            break;
    for (int i = 0; i < p->loops.count; i++) {
        p->loops.data[i].slots = rings[i]->slots;
        rings[i]->blocks = blocks;
    }
}

/* Loops whose rings have too few slots for whole iterations: part by part, if that can be. */
static void choose_parts(struct pipelining *p)
{
    bool changed = false;
    for (int i = 0; i < p->loops.count; i++) {
        struct pipelined_loop *loop = &p->loops.data[i];
        bool few = loop->slots < (p->function->stages > 0 ? 2 : loop->ring.wanted);
        if (!few || loop->ring.most < 2)
            continue;
        loop->parts = copies_find_parts(loop);
        changed |= loop->parts > 1;
    }
    if (changed)
        choose_slots(p);
}

/* ---- the pass ---- */

static void collect(struct ir_operation *op, void *data)
{
    struct pipelining *p = data;
    if (op->opcode == OP_BUFFER_PERMUTE || op->opcode == OP_BUFFER_PART)
        vector_push(p->context->arena, &p->names, op);
    if ((op->opcode == OP_FOR && has_copies(op)) || op->opcode == OP_COPY_ASYNC || op->opcode == OP_WAIT)
        vector_push(p->context->arena, &p->found, op);
}

/* Loops that share a buffer share its ring. */
static void make_rings(struct pipelining *p)
{
    for (int i = 0; i < p->loops.count; i++)
        for (int c = 0; c < p->loops.data[i].copies.count; c++) {
            struct pipelined_copy *copy = &p->loops.data[i].copies.data[c];
            const struct pipelined_loop *own = &p->loops.data[i];
            for (int d = 0; d < c && own->parts > 1; d++)
                if (own->copies.data[d].place == copy->place)
                    copy->ring = own->copies.data[d].ring;
            for (int j = 0; j < i && !copy->ring; j++)
                for (int d = 0; d < p->loops.data[j].copies.count; d++)
                    if (p->loops.data[j].copies.data[d].buffer == copy->buffer)
                        copy->ring = p->loops.data[j].copies.data[d].ring;
            if (copy->ring)
                continue;
            struct ir_builder builder = rewrite_before(copy->buffer->definition);
            struct ir_type type = *copy->buffer->type;
            type.slots = p->loops.data[i].slots;
            const struct ir_type *ring = ir_type_intern(p->function->module->context, &type);
            copy->ring = ir_build_value(&builder, OP_BUFFER, ring, 0, NULL);
            copy->ring->name = copy->buffer->name;
        }
}

static void pipeline_loops(struct pipelining *p)
{
    choose_slots(p);
    choose_parts(p);
    for (int i = 0; i < p->loops.count; i++) {
        const char *why = p->loops.data[i].slots >= 2      ? NULL
                          : p->loops.data[i].ring.most < 2 ? "the schedule says one stage"
                                                           : "two slots of its buffers do not fit into shared memory";
        tell_copies(p, &p->loops.data[i], why);
        if (why)
            pass_remark(p->context, p->loops.data[i].loop->at, "copies wait in this loop: %s", why);
    }
    if (p->loops.data[0].slots < 2 || !pass_fuel(p->context)) { /* then no loop has two */
        p->loops.count = 0;
        return;
    }
    make_rings(p);
    for (int i = 0; i < p->loops.count; i++) {
        struct pipelined_loop *loop = &p->loops.data[i];
        int slots = loop->slots;
        const char *reason = ring_plan_reason(p->context->arena, &loop->ring, p->function->stages);
        if (loop->parts > 1)
            pass_remark(p->context, loop->loop->at,
                        "%d copies of this loop run %d parts ahead, of which an iteration has %d, in %d slots: %s",
                        loop->copies.count, slots - 1, loop->parts, slots, reason);
        else
            pass_remark(p->context, loop->loop->at,
                        "%d cop%s of this loop run%s %d iteration%s ahead%s, in %d slots: %s", loop->copies.count,
                        loop->copies.count == 1 ? "y" : "ies", loop->copies.count == 1 ? "s" : "", slots - 1,
                        slots == 2 ? "" : "s", p->asynchronous ? "" : " through registers", slots, reason);
        copies_emit_loop(p->context, loop);
    }
    p->changed = true;
}

/* Copies right in a counted loop were told about when it was planned. */
static void remark_place(struct pass_context *context, const struct ir_operation *copy)
{
    const struct ir_operation *parent = copy->block->parent;
    if (parent && parent->opcode == OP_WHILE)
        pass_remark(context, copy->at,
                    "this copy is waited for where it stands: its loop does not count (write for … in … step …)");
    else if (parent && parent->opcode == OP_IF)
        pass_remark(context, copy->at, "this copy is waited for where it stands: it stands under a condition");
}

/* Whether a loop whose copies run ahead follows, and nothing in front of it looks at what is waited for.  Groups end in
 * the order in which they were committed: the wait of the loop's first iteration, or that behind the loop, is for the
 * copies in front of it, too. */
static bool is_waited_for_by_loop(const struct pipelining *p, const struct ir_operation *wait)
{
    for (const struct ir_operation *op = wait->next; op && p->asynchronous; op = op->next) {
        for (int i = 0; i < p->loops.count; i++)
            if (p->loops.data[i].emitted == op)
                return true;
        if (ir_has_trait(op, IR_TRAIT_LOOP))
            return false;
        for (int i = 0; i < wait->operand_count; i++) {
            struct ir_operation *copy = wait->operands[i]->definition;
            struct ir_access access;
            if (!copy || copy->opcode != OP_COPY_ASYNC || copy->block != wait->block || !ir_access_of(copy, &access) ||
                ir_uses(op, access.buffer))
                return false;
        }
    }
    return false;
}

/* cp.async brings bits as they are, and what is to be rounded on its way goes through registers. */
static bool has_rounding(const struct pipelining *p)
{
    for (int i = 0; i < p->found.count; i++)
        if (ir_attribute(p->found.data[i], IR_ATTRIBUTE_PRECISION))
            return true;
    return false;
}

bool pass_prefetch_copies(struct ir_function *function, struct pass_context *context)
{
    struct pipelining p = {.context = context, .function = function};
    ir_walk(function->body, collect, &p);
    p.asynchronous = (!context->target || (context->target->flags & TARGET_CP_ASYNC)) && !has_rounding(&p);
    if (p.found.count)
        sink_names(&p);
    for (int i = 0; i < p.found.count; i++)
        if (p.found.data[i]->opcode == OP_FOR)
            plan_loop(&p, p.found.data[i]);
    if (p.loops.count)
        pipeline_loops(&p);
    for (int i = 0; i < p.found.count; i++)
        if (p.found.data[i]->opcode == OP_WAIT && p.found.data[i]->block) {
            if (is_waited_for_by_loop(&p, p.found.data[i]))
                ir_remove(p.found.data[i]);
            else
                copies_emit_wait(context, p.found.data[i], p.asynchronous);
            p.changed = true;
        }
    for (int i = 0; i < p.found.count; i++)
        if (p.found.data[i]->opcode == OP_COPY_ASYNC && p.found.data[i]->block) {
            remark_place(context, p.found.data[i]);
            copies_emit_alone(context, p.found.data[i], p.asynchronous);
            p.changed = true;
        }
    return p.changed;
}
