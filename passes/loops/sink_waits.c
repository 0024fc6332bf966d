/* sink_waits: a product is waited for where somebody first looks at its sum, and a product that adds to a sum starts as soon
 * as its factors are there.  Tensor cores then have work while warps do theirs.
 *
 *     %s = dot_async %q, K           %s1 = dot_wait pending(0) %s
 *     %t = dot_async %g, V           %t1 = dot_wait pending(0) %t
 *     %p = … %s1 …
 *     %a = dot_async %p, G, %sum     %a1 = dot_wait pending(0) %a     mbarrier_arrive %empty, %slot
 *     %d = … %p, %t1 …
 *     yield %a1, …
 * becomes
 *     %s = dot_async %q, K
 *     %t = dot_async %g, V
 *     %s1 = dot_wait pending(1) %s
 *     %p = … %s1 …                   while tensor cores work on %t
 *     %a = dot_async %p, G, %sum
 *     %t1 = dot_wait pending(1) %t
 *     %d = … %p, %t1 …               while they work on %a
 *     %a1 = dot_wait pending(0) %a
 *     mbarrier_arrive %empty, %slot
 *     yield %a1, …
 *
 * Right because products of a thread end in the order in which they started, and this order stays: a wait lets those be on
 * their way that started behind its own.  A wait stops in front of what uses the sum or writes what the product reads,
 * of a barrier behind which other threads may write that, and of the wait for a later product, which is one for it, too.
 * Slots that were given back behind a wait are given back behind it still; later than before, so that no wait for copies
 * may come between.  A product moves over no fence, no barrier and no wait for copies.
 *
 * A product that starts a sum of its own stays where it is: its registers would be taken for longer.  What goes round a
 * loop is overlap_products' and keep_in_flight's: where one of their waits stands, nothing is moved. */
#include "base/plant.h"
#include "passes/base/pass.h"
#include "passes/base/planning.h"
#include "passes/base/rewrite.h"

struct sinking {
    struct pass_context *context;
    bool changed;
};

static bool runs_on(const struct ir_operation *op)
{
    return op->opcode == OP_DOT_ASYNC &&
           ir_number(op, IR_ATTRIBUTE_INSTRUCTION, IR_INSTRUCTION_FMA) == IR_INSTRUCTION_WGMMA &&
           ir_number(op, IR_ATTRIBUTE_PROMOTE, 0) == 0;
}

/* The product that the operation waits for, in its own block and at once; NULL: it waits for something else. */
static struct ir_operation *waited_for(const struct ir_operation *wait)
{
    struct ir_operation *product = wait->operands[0]->definition;
    bool own = wait->operand_count == 1 && wait->result_count == 1 && product && product->block == wait->block;
    if (!own || !runs_on(product) || product->results[0]->uses->next)
        return NULL;
    return ir_number(wait, IR_ATTRIBUTE_PENDING, 0) == 0 ? product : NULL;
}

/* Whether the block's products are two or more, each waited for by itself. */
static bool is_plain(const struct ir_block *block)
{
    int products = 0;
    for (const struct ir_operation *op = block->first; op; op = op->next) {
        if ((op->opcode == OP_DOT_ASYNC && !runs_on(op)) || (op->opcode == OP_DOT_WAIT && !waited_for(op)))
            return false;
        products += op->opcode == OP_DOT_ASYNC;
    }
    return products > 1;
}

static bool multiplies(const struct ir_operation *op)
{
    for (int r = 0; r < op->region_count; r++)
        for (const struct ir_operation *inner = op->regions[r]->first; inner; inner = inner->next)
            if (inner->opcode == OP_DOT_ASYNC || inner->opcode == OP_DOT_WAIT || multiplies(inner))
                return true;
    return false;
}

static bool uses(const struct ir_operation *op, const struct ir_value *value)
{
    for (const struct ir_use *use = value->uses; use; use = use->next)
        if (ir_ancestor_in(op->block, use->user) == op)
            return true;
    return false;
}

static const struct ir_value *whole_buffer(const struct ir_value *value)
{
    while (value->definition && value->definition->operand_count && value->definition->opcode != OP_BUFFER)
        value = value->definition->operands[0];
    return value;
}

static bool reads_buffer(const struct ir_operation *product, const struct ir_value *buffer)
{
    for (int i = 0; i < 2; i++)
        if (product->operands[i]->type->kind == IR_BUFFER && whole_buffer(product->operands[i]) == whole_buffer(buffer))
            return true;
    return false;
}

/* Whether nobody but a producer, which waits until slots are given back, writes the buffer. */
static bool is_brought(const struct ir_value *buffer)
{
    for (const struct ir_use *use = buffer->uses; use; use = use->next) {
        const struct ir_operation *user = use->user;
        bool name = user->opcode == OP_SLOT || user->opcode == OP_BUFFER_PERMUTE || user->opcode == OP_BUFFER_PART;
        bool reads = user->opcode == OP_DOT_ASYNC || user->opcode == OP_BUFFER_LOAD || user->opcode == OP_TMA_LOAD;
        if (name ? !is_brought(user->results[0]) : !reads)
            return false;
    }
    return true;
}

/* Whether threads that meet may go on to write what the product reads. */
static bool others_write_factors(const struct ir_operation *product)
{
    for (int i = 0; i < 2; i++)
        if (product->operands[i]->type->kind == IR_BUFFER && !is_brought(whole_buffer(product->operands[i])))
            return !PLANTED(products_read_what_comes);
    return false;
}

/* Neither order of other threads nor a buffer that the product reads depends on where the operation stands beside it. */
static bool passes_by(const struct ir_operation *op, const struct ir_operation *product)
{
    if (op->opcode == OP_BUFFER_STORE)
        return !reads_buffer(product, op->operands[1]);
    if (op->region_count)
        return !ir_has_effect(op) && !multiplies(op);
    return !ir_has_trait(op, IR_TRAIT_SYNC | IR_TRAIT_SHARED_WRITE);
}

/* What takes warps or tensor cores a while. */
static bool is_work(const struct ir_operation *op)
{
    bool tile = op->result_count && op->results[0]->type->kind == IR_TILE && op->results[0]->type->rank > 0;
    return op->opcode == OP_BUFFER_STORE || (tile && op->opcode != OP_CONSTANT && op->opcode != OP_DOT_WAIT);
}

/* ---- products ---- */

/* Moves a product that adds to a sum, and the names of buffers that it reads, up to what it needs. */
static bool start_early(struct arena *arena, struct ir_operation *product)
{
    VECTOR(struct ir_operation *) moved = {0};
    struct ir_operation *to = product;
    bool work = false;
    const struct ir_operation *sum = product->operands[2]->definition;
    if (product->operand_count > 3 || (sum && sum->opcode != OP_DOT_WAIT))
        return false;
    vector_push(arena, &moved, product);
    for (struct ir_operation *op = product->previous, *next; op; op = next) {
        bool needed = false;
        next = op->previous;
        for (int i = 0; i < moved.count; i++)
            for (int r = 0; r < op->result_count; r++)
                needed |= uses(moved.data[i], op->results[r]);
        bool name = op->result_count == 1 && op->results[0]->type->kind == IR_BUFFER && ir_has_trait(op, IR_TRAIT_PURE);
        if (needed && name) {
            vector_push(arena, &moved, op);
            continue;
        }
        if (needed || op->opcode == OP_DOT_ASYNC)
            break;
        if (op->opcode != OP_DOT_WAIT && op->opcode != OP_MBARRIER_ARRIVE && !passes_by(op, product))
            break;
        to = op;
        work |= is_work(op);
    }
    if (!work)
        return false;
    for (int i = moved.count - 1; i >= 0; i--)
        ir_move_before(moved.data[i], to);
    return true;
}

/* ---- waits ---- */

/* What orders other things than products. */
static bool is_of_others(const struct ir_operation *op)
{
    return op->opcode == OP_FENCE_ASYNC || op->opcode == OP_TMA_WAIT || op->opcode == OP_TMA_COMMIT;
}

/* Moves a wait, and what gives slots back behind it, down to what needs it. */
static bool wait_late(struct arena *arena, struct ir_operation *wait)
{
    VECTOR(struct ir_operation *) arrives = {0};
    const struct ir_operation *product = waited_for(wait);
    struct ir_operation *op = wait->next;
    bool work = false;
    for (; op->next && !uses(op, wait->results[0]); op = op->next) {
        bool over = op->opcode == OP_DOT_ASYNC || is_of_others(op) ||
                    (op->opcode == OP_MBARRIER_WAIT && !arrives.count) ||
                    (op->opcode == OP_BARRIER && !others_write_factors(product)) || passes_by(op, product);
        if (op->opcode == OP_MBARRIER_ARRIVE)
            vector_push(arena, &arrives, op);
        else if (!over)
            break;
        work |= is_work(op);
    }
    if (!work)
        return false;
    ir_move_before(wait, op);
    for (int i = 0; i < arrives.count && !PLANTED(sunk_waits_leave_slots); i++)
        ir_move_before(arrives.data[i], op);
    return true;
}

/* ---- rows ---- */

/* The one operation that uses what `op` makes, in its block; NULL: there are several, or it stands elsewhere. */
static struct ir_operation *only_user(const struct ir_operation *op)
{
    const struct ir_use *use = op->result_count == 1 ? op->results[0]->uses : NULL;
    return use && !use->next && use->user->block == op->block ? use->user : NULL;
}

/* A form of one row, or of what is computed from it and constants. */
static bool passes_row_on(const struct ir_operation *op, const struct ir_value *row)
{
    uint64_t bits;
    if (op->opcode == OP_RESHAPE || op->opcode == OP_BROADCAST)
        return true;
    bool alone = ir_has_trait(op, IR_TRAIT_ELEMENTWISE);
    for (int i = 0; i < op->operand_count && alone; i++)
        alone = op->operands[i] == row || ir_constant_of(op->operands[i], &bits);
    return alone;
}

/* Moves the reading of a row, and what gives its slot back, behind the wait in front of the tile that it is needed beside:
 * elements of both are used up together then. */
static bool read_late(struct arena *arena, struct ir_operation *load)
{
    VECTOR(struct ir_operation *) moved = {0};
    struct ir_operation *to = only_user(load);
    vector_push(arena, &moved, load);
    while (to && passes_row_on(to, moved.data[moved.count - 1]->results[0])) {
        vector_push(arena, &moved, to);
        to = only_user(to);
    }
    bool waits = false;
    for (struct ir_operation *op = load->next; to && op != to; op = op->next) {
        waits |= op->opcode == OP_DOT_WAIT;
        if (op->opcode == OP_MBARRIER_ARRIVE)
            vector_push(arena, &moved, op);
        else if (op->region_count ||
                 (op->opcode != OP_DOT_WAIT && ir_has_trait(op, IR_TRAIT_SYNC | IR_TRAIT_SHARED_WRITE)))
            return false;
    }
    for (int i = 0; i < moved.count && waits && to; i++)
        ir_move_before(moved.data[i], to);
    return waits && to;
}

/* Products that have started since the wait's own. */
static int count_behind(const struct ir_operation *wait)
{
    int count = 0;
    for (const struct ir_operation *op = waited_for(wait)->next; op != wait; op = op->next)
        count += op->opcode == OP_DOT_ASYNC;
    return count;
}

static void tell(const struct ir_operation *wait, int behind)
{
    struct ir_plan_product *plan = planning_product(wait->operands[0]->definition);
    if (!plan || !behind)
        return;
    plan->in_flight = 1;
    plan->why = plan->stage == 1 ? plan->why : NULL;
}

/* ---- the pass ---- */

static bool asks_at_once(const struct ir_operation *loop)
{
    const struct ir_plan *asked = loop && loop->opcode == OP_FOR ? ir_plan_asked(loop) : NULL;
    for (int i = 0; asked && i < asked->products.count; i++)
        if (asked->products.data[i].in_flight == 0)
            return true;
    return false;
}

static void move_in_block(struct sinking *s, struct ir_block *block)
{
    VECTOR(struct ir_operation *) waits = {0};
    struct arena *arena = s->context->arena;
    if (!is_plain(block) || asks_at_once(block->parent) || !pass_fuel(s->context))
        return;
    bool changed = false;
    for (struct ir_operation *op = block->first, *next; op; op = next) {
        next = op->next;
        if (op->opcode == OP_DOT_ASYNC)
            changed |= start_early(arena, op);
    }
    for (struct ir_operation *op = block->first; op; op = op->next)
        if (op->opcode == OP_DOT_WAIT)
            vector_push(arena, &waits, op);
    for (int i = waits.count - 1; i >= 0; i--)
        changed |= wait_late(arena, waits.data[i]);
    for (struct ir_operation *op = block->first, *next; op; op = next) {
        next = op->next;
        if (op->opcode == OP_BUFFER_LOAD && op->results[0]->type->rank == 1)
            changed |= read_late(arena, op);
    }
    s->changed |= changed;
    int *behind = ARENA_ARRAY(arena, int, waits.count + 1);
    for (int i = 0; i < waits.count; i++)
        behind[i] = count_behind(waits.data[i]);
    for (int i = 0; i < waits.count && changed; i++) {
        ir_set_number(waits.data[i], IR_ATTRIBUTE_PENDING, behind[i] + PLANTED(sunk_waits_count_one_more));
        tell(waits.data[i], behind[i]);
        if (behind[i])
            pass_remark(s->context, waits.data[i]->at, "this product is waited for behind %d that started later",
                        behind[i]);
    }
}

static void visit(struct ir_operation *op, void *data)
{
    for (int r = 0; r < op->region_count && !ir_is_isolated(op); r++)
        move_in_block(data, op->regions[r]);
}

bool pass_sink_waits(struct ir_function *function, struct pass_context *context)
{
    struct sinking s = {.context = context};
    move_in_block(&s, function->body);
    ir_walk(function->body, visit, &s);
    return s.changed;
}
