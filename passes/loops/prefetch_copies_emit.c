/* Builds the loops that prefetch_copies.c decides on: copies in front of the loop, copies for later iterations inside
 * it, and the waits for both. */
#include "base/plant.h"
#include "ir/facts/layout_rules.h"
#include "passes/base/remake.h"
#include "passes/loops/iteration.h"
#include "passes/loops/prefetch_copies.h"
#include "passes/base/rewrite.h"

/* Indexes of an iteration to come: the loop's variable then, and the same kept inside the loop's range for places that
 * are known to lie inside the view; 64-bit copies of both for indexes that are the variable itself, as the sum may pass
 * what the variable's element holds. */
enum bound { FREE, INSIDE };
struct indexes_ahead {
    struct ir_value *variable; /* as the body calls it */
    struct remake again[2];    /* by bound */
    struct ir_value *wide[2];
};
struct emitter {
    struct pass_context *context;
    struct pipelined_loop *plan;
    struct ir_function *function;
    struct ir_context *types;
    struct ir_operation *loop;     /* the new one */
    struct ir_value *last[2];      /* of the variable, for iterations so many ahead, even and odd */
    struct ir_value *read, *write; /* slots, of the part that is built */
};

static struct ir_value *constant_i32(struct ir_builder *builder, int64_t number)
{
    return ir_constant_int(builder, ir_type_scalar(builder->module->context, IR_I32), number);
}

/* ---- values of other iterations ---- */

static bool depends(const struct indexes_ahead *ahead, const struct ir_value *value)
{
    if (value == ahead->variable)
        return true;
    if (!ir_is_inside(value, ahead->again[0].loop) || !value->definition)
        return false;
    for (int i = 0; i < value->definition->operand_count; i++)
        if (depends(ahead, value->definition->operands[i]))
            return true;
    return false;
}

static struct ir_value *index_ahead(const struct indexes_ahead *ahead, struct ir_builder *builder,
                                    struct ir_value *index, enum bound bound)
{
    return index == ahead->variable ? ahead->wide[bound] : remake_value(&ahead->again[bound], builder, index);
}

/* A load keeps its proofs: it reads for an iteration of the loop, whatever its result is for. */
static void open_ahead(const struct emitter *e, const struct ir_operation *loop, struct indexes_ahead *ahead)
{
    ahead->variable = loop->regions[0]->arguments.data[0];
    for (int i = 0; i < 2; i++)
        ahead->again[i] = remake_open(e->context->arena, e->function, loop);
    if (!PLANTED(copies_read_tables_past_the_loop))
        ahead->again[FREE].loads = &ahead->again[INSIDE];
}

static void set_variable(struct indexes_ahead *ahead, enum bound bound, struct ir_value *narrow, struct ir_value *wide)
{
    remake_set(&ahead->again[bound], ahead->variable, narrow);
    ahead->wide[bound] = wide;
}

/* ---- copies ---- */

/* The tile that a copy brings, where it goes through registers: lanes along what is contiguous in memory. */
static const struct ir_type *tile_type(const struct ir_access *access, const struct ir_operation *copy)
{
    const struct ir_type *buffer = access->buffer->type;
    struct ir_context *types = rewrite_context(copy);
    const struct layout *layout = layout_rule_copy(ir_context_layouts(types), access, buffer,
                                                   copy->block->function->warps);
    return ir_type_with_layout(types, ir_type_tile(types, buffer->element, buffer->rank, buffer->extent), layout);
}

/* The operands of a copy for another iteration, all but the buffer; returns their number. */
static int source_operands(struct indexes_ahead *ahead, struct ir_builder *builder, const struct ir_operation *copy,
                           const struct ir_access *access, struct ir_value **operands)
{
    int64_t proven = ir_number(copy, IR_ATTRIBUTE_INSIDE, 0);
    operands[0] = remake_value(&ahead->again[depends(ahead, access->view) ? INSIDE : FREE], builder, access->view);
    for (int d = 0; d < access->rank; d++) {
        bool inside = (proven >> d & 1) || operands[0] != access->view || access->index[d]->type->rank;
        operands[1 + d] = index_ahead(ahead, builder, access->index[d], inside ? INSIDE : FREE);
    }
    return 1 + access->rank;
}

static struct ir_value *load_tile(struct ir_builder *builder, const struct ir_operation *copy,
                                  const struct ir_access *access, struct ir_value **operands, int count)
{
    const struct ir_type *type = tile_type(access, copy);
    operands[count] = ir_constant_bits(builder, ir_type_scalar(builder->module->context, type->element), 0);
    struct ir_value *tile = ir_build_value(builder, OP_LOAD, type, count + 1, operands);
    rewrite_copy_access(tile->definition, copy);
    return tile;
}

static void store_tile(struct ir_builder *builder, const struct ir_operation *copy, struct ir_value *tile,
                       struct ir_value *buffer)
{
    struct ir_operation *store = ir_build(builder, OP_BUFFER_STORE, 2, (struct ir_value *[]){tile, buffer}, 0, NULL);
    if (ir_attribute(copy, IR_ATTRIBUTE_PRECISION))
        ir_set_number(store, IR_ATTRIBUTE_PRECISION, ir_number(copy, IR_ATTRIBUTE_PRECISION, 0));
}

/* Starts a copy to the slot; without cp.async it is in registers until store_tile. */
static struct ir_value *start_copy(const struct emitter *e, struct indexes_ahead *ahead, struct ir_builder *builder,
                                   const struct pipelined_copy *copy, struct ir_value *index)
{
    struct ir_access access;
    struct ir_value *operands[IR_MAX_RANK + 3];
    ir_access_of(copy->copy, &access);
    builder->at = copy->copy->at;
    int count = source_operands(ahead, builder, copy->copy, &access, operands);
    if (!e->plan->asynchronous)
        return load_tile(builder, copy->copy, &access, operands, count);
    operands[count] = rewrite_slot(builder, copy->ring, index);
    rewrite_copy_access(ir_build(builder, OP_CP_ASYNC, count + 1, operands, 0, NULL), copy->copy);
    return NULL;
}

static void find_wgmma(struct ir_operation *op, void *data)
{
    *(bool *)data |= op->opcode == OP_DOT_ASYNC && ir_number(op, IR_ATTRIBUTE_INSTRUCTION, 0) == IR_INSTRUCTION_WGMMA;
}

/* wgmma reads shared memory as TMA does: what threads brought there is shown to it. */
static void build_wait(struct ir_builder *builder, bool asynchronous, int64_t pending)
{
    bool wgmma = false;
    ir_walk(builder->block->function->body, find_wgmma, &wgmma);
    if (asynchronous)
        ir_set_number(ir_build(builder, OP_CP_WAIT, 0, NULL, 0, NULL), IR_ATTRIBUTE_PENDING,
                      pending + PLANTED(copy_waited_for_too_late));
    if (wgmma)
        ir_build(builder, OP_FENCE_ASYNC, 0, NULL, 0, NULL);
    ir_build(builder, OP_BARRIER, 0, NULL, 0, NULL);
}

static void build_commit(struct ir_builder *builder, bool asynchronous)
{
    if (asynchronous)
        ir_build(builder, OP_CP_COMMIT, 0, NULL, 0, NULL);
}

/* ---- the loop ---- */

/* variable + count * step is still an iteration where variable comes before upper - count * step, which does not wrap. */
static struct ir_value *last_of(struct ir_builder *builder, const struct ir_operation *loop, int64_t count)
{
    return count ? ir_binary(builder, OP_SUB, loop->operands[1], iteration_steps(builder, loop->operands[2], count))
                 : loop->operands[1];
}

/* The first slots - 1 parts of iterations, each when there is one, each a group. */
static void build_prologue(struct emitter *e, struct ir_operation *loop)
{
    for (int filled = 0; filled < e->plan->slots - 1; filled++) {
        int d = filled / e->plan->parts, part = filled % e->plan->parts;
        struct ir_builder builder = rewrite_before(loop);
        struct ir_value *lower = loop->operands[0];
        struct ir_value *some = iteration_comes(&builder, loop, lower, last_of(&builder, loop, d));
        struct ir_operation *branch = ir_build(&builder, OP_IF, 1, &some, 0, NULL);
        struct ir_builder inner = {.module = builder.module, .block = branch->regions[0], .at = loop->at};
        struct indexes_ahead ahead;
        open_ahead(e, loop, &ahead);
        struct ir_value *variable = lower;
        if (d)
            variable = ir_binary(&inner, OP_ADD, lower, iteration_steps(&inner, loop->operands[2], d));
        set_variable(&ahead, FREE, variable, variable);
        set_variable(&ahead, INSIDE, variable, variable);
        struct ir_value *slot = constant_i32(&inner, filled);
        for (int c = 0; c < e->plan->copies.count; c++) {
            struct pipelined_copy *copy = &e->plan->copies.data[c];
            if (e->plan->parts > 1 && copy->part != part)
                continue;
            struct ir_value *tile = start_copy(e, &ahead, &inner, copy, slot);
            if (tile)
                store_tile(&inner, copy->copy, tile, rewrite_slot(&inner, copy->ring, slot));
        }
        inner.at = loop->at;
        ir_build(&inner, OP_YIELD, 0, NULL, 0, NULL);
        struct ir_builder other = {.module = builder.module, .block = branch->regions[1], .at = loop->at};
        ir_build(&other, OP_YIELD, 0, NULL, 0, NULL);
        build_commit(&builder, e->plan->asynchronous);
    }
}

/* Two more carried numbers. */
static void carry_slots(struct emitter *e)
{
    static const char *const names[] = {"slot", "filled"};
    struct ir_builder builder = rewrite_before(e->plan->loop);
    struct ir_value *initial[2] = {constant_i32(&builder, 0), constant_i32(&builder, e->plan->slots - 1)};
    e->loop = rewrite_carry(e->context->arena, e->plan->loop, 2, initial, names);
    const struct ir_block *body = e->loop->regions[0];
    e->read = body->arguments.data[body->arguments.count - 2];
    e->write = body->arguments.data[body->arguments.count - 1];
}

static void forget_token(struct ir_operation *copy)
{
    struct ir_use *use = copy->results[0]->uses;
    struct ir_operation *wait = use->user;
    ir_remove_operand(wait, use->index);
    if (wait->operand_count == 0)
        ir_remove(wait);
}

static void read_from(struct ir_value *buffer, struct ir_value *slot, const struct ir_block *body)
{
    for (struct ir_use *use = buffer->uses, *next; use; use = next) {
        next = use->next;
        if (ir_block_holds(body, use->user->block))
            ir_set_operand(use->user, use->index, slot);
    }
}

/* Indexes of the iteration that comes `count` after this one. */
static void plan_ahead(struct emitter *e, struct ir_builder *builder, int count, struct indexes_ahead *ahead)
{
    struct ir_operation *loop = e->loop;
    const struct ir_type *wide = ir_type_scalar(e->types, IR_INDEX);
    struct ir_value *variable = ahead->variable, *free = variable, *inside = variable;
    struct ir_value *by = NULL, *runs = NULL, *lower = loop->operands[0];
    if (count) {
        by = iteration_steps(builder, loop->operands[2], count);
        runs = iteration_comes(builder, loop, variable, e->last[count % 2]);
        free = ir_binary(builder, OP_ADD, variable, by);
        inside = ir_select(builder, runs, free, lower);
    }
    struct ir_value *wide_free = free, *wide_inside = inside;
    if (variable->type != wide) {
        wide_free = wide_inside = ir_cast(builder, variable, IR_INDEX);
        if (count) {
            wide_free = ir_binary(builder, OP_ADD, wide_free, ir_cast(builder, by, IR_INDEX));
            wide_inside = ir_select(builder, runs, wide_free, ir_cast(builder, lower, IR_INDEX));
        }
    }
    set_variable(ahead, FREE, free, wide_free);
    set_variable(ahead, INSIDE, inside, wide_inside);
}

/* Where copies start: behind the first product, whose fragments are then on their way before addresses are computed;
 * where there is none, behind the wait at the top, with which nobody reads the slot any more (`first`).  Copies that go
 * through registers write it at the end, and should have all the time there is: at the very top. */
static struct ir_operation *start_of_copies(const struct emitter *e, struct ir_block *body, struct ir_operation *first,
                                            const struct ir_operation *end)
{
    for (struct ir_operation *op = first; op && op != end && e->plan->asynchronous; op = op->next)
        if (op->opcode == OP_DOT_ASYNC)
            return op->next;
    return e->plan->asynchronous ? first : body->first;
}

static bool is_of_part(const struct emitter *e, const struct pipelined_copy *copy, int part)
{
    return e->plan->parts == 1 || copy->part == part;
}

/* One part of the body, from `first` to `end`: waits for what it reads, and starts the copies of a later part to the
 * slot that the part before it has read. */
static void build_part(struct emitter *e, int part, struct ir_operation *first, const struct ir_operation *end)
{
    struct ir_block *body = e->loop->regions[0];
    struct ir_builder top = {.module = e->function->module, .block = body, .before = first, .at = e->loop->at};
    struct indexes_ahead ahead;
    open_ahead(e, e->loop, &ahead);
    build_wait(&top, e->plan->asynchronous, e->plan->slots - 2);
    if (part > 0) {
        struct ir_value *read = e->read;
        e->read = rewrite_next_slot(&top, read, e->plan->slots);
        e->write = read;
    }
    for (int c = 0; c < e->plan->copies.count; c++) {
        struct pipelined_copy *copy = &e->plan->copies.data[c];
        if (is_of_part(e, copy, part))
            read_from(copy->buffer, rewrite_slot(&top, copy->ring, e->read), body);
    }
    struct ir_builder start = top;
    int ahead_by = part + e->plan->slots - 1;
    start.before = start_of_copies(e, body, first, end);
    plan_ahead(e, &start, ahead_by / e->plan->parts, &ahead);
    for (int c = 0; c < e->plan->copies.count; c++) {
        struct pipelined_copy *copy = &e->plan->copies.data[c];
        if (is_of_part(e, copy, ahead_by % e->plan->parts))
            copy->tile = start_copy(e, &ahead, &start, copy, e->write);
    }
    start.at = e->loop->at;
    build_commit(&start, e->plan->asynchronous);
}

static void build_body(struct emitter *e)
{
    struct ir_block *body = e->loop->regions[0];
    struct ir_operation *yield = ir_terminator(body);
    for (int part = 0; part < e->plan->parts; part++)
        build_part(e, part, part ? copies_wait_of(e->plan, part) : body->first,
                   part + 1 < e->plan->parts ? copies_wait_of(e->plan, part + 1) : NULL);
    struct ir_builder bottom = rewrite_before(yield);
    bottom.at = e->loop->at;
    for (int c = 0; c < e->plan->copies.count; c++) { /* the other places may stand before one of these */
        struct pipelined_copy *copy = &e->plan->copies.data[c];
        forget_token(copy->copy);
        if (copy->tile)
            store_tile(&bottom, copy->copy, copy->tile, rewrite_slot(&bottom, copy->ring, e->write));
        ir_remove(copy->copy);
    }
    ir_add_operand(yield, rewrite_next_slot(&bottom, e->read, e->plan->slots));
    ir_add_operand(yield, e->read);
}

void copies_emit_loop(struct pass_context *context, struct pipelined_loop *plan)
{
    struct ir_function *function = plan->loop->block->function;
    struct emitter e = {.context = context, .plan = plan, .function = function, .types = function->module->context};
    build_prologue(&e, plan->loop);
    struct ir_builder before = rewrite_before(plan->loop);
    for (int part = 0; part < plan->parts; part++) {
        int count = (part + plan->slots - 1) / plan->parts;
        if (part == 0 || count != (part + plan->slots - 2) / plan->parts)
            e.last[count % 2] = last_of(&before, plan->loop, count);
    }
    carry_slots(&e);
    build_body(&e);
    plan->emitted = e.loop;
    struct ir_builder behind = {
        .module = function->module, .block = e.loop->block, .before = e.loop->next, .at = e.loop->at};
    build_wait(&behind, plan->asynchronous, 0);
    for (int c = 0; c < plan->copies.count; c++) {
        struct ir_value *buffer = plan->copies.data[c].buffer;
        if (!buffer->uses && buffer->definition->block)
            ir_remove(buffer->definition);
    }
}

/* ---- copies by themselves ---- */

void copies_emit_alone(struct pass_context *context, struct ir_operation *copy, bool asynchronous)
{
    struct ir_access access;
    struct ir_builder builder = rewrite_before(copy);
    (void)context;
    ir_access_of(copy, &access);
    if (ir_is_in_loop(copy)) /* the readers of the time before */
        ir_build(&builder, OP_BARRIER, 0, NULL, 0, NULL);
    if (asynchronous) {
        struct ir_operation *started = ir_build(&builder, OP_CP_ASYNC, copy->operand_count, copy->operands, 0, NULL);
        rewrite_copy_access(started, copy);
        build_commit(&builder, true);
    } else {
        struct ir_value *operands[IR_MAX_RANK + 3];
        for (int i = 0; i < 1 + access.rank; i++)
            operands[i] = copy->operands[i];
        store_tile(&builder, copy, load_tile(&builder, copy, &access, operands, 1 + access.rank), access.buffer);
    }
    ir_remove(copy);
}

void copies_emit_wait(struct pass_context *context, struct ir_operation *wait, bool asynchronous)
{
    struct ir_builder builder = rewrite_before(wait);
    (void)context;
    build_wait(&builder, asynchronous, 0);
    ir_remove(wait);
}
