/* read_ahead: fragments of the next product are read from shared memory while this one multiplies.
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
 * so that products stand on both sides of the barrier and the tensor cores do not wait for it, nor for the first
 * fragments behind it.  As many groups of copies have been made in front of the moved wait as before it: it waits for
 * those of the next iteration, which are one older by then.  The last iteration reads its own slot once more, for
 * nobody.
 *
 * Done where the loop is nothing but such a product with its copies, and two steps of fragments and the accumulator fit
 * into registers. */
#include "base/plant.h"
#include "passes/pass.h"
#include "passes/product_layout.h"
#include "passes/rewrite.h"

enum { STEP = 16, MOST_REGISTERS = 200 };

struct ahead {
    struct pass_context *context;
    struct ir_function *function;
    struct ir_operation *loop, *wait, *barrier, *dot, *done; /* done: dot_wait, or NULL */
    VECTOR(struct ir_operation *) copies;
    int moved;                                               /* copies that have their place */
    int read;                                                /* argument of the body: the slot that is read */
    const struct ir_type *type[2];                           /* of a step's factors */
    int steps;
    const char *problem;                                     /* why not, of a loop that waits for copies for a product */
};
struct search { struct arena *arena; VECTOR(struct ir_operation *) loops; };

static struct ir_operation *slot_behind(const struct ir_value *buffer)
{
    struct ir_operation *op = buffer->definition;
    while (op && op->opcode == OP_BUFFER_PERMUTE)
        op = op->operands[0]->definition;
    return op && op->opcode == OP_SLOT ? op : NULL;
}

/* Nobody but the product reads what the name names. */
static bool is_read_by_product_alone(const struct ir_value *buffer, const struct ir_operation *dot)
{
    for (const struct ir_use *use = buffer->uses; use; use = use->next)
        if (use->user != dot && (use->user->opcode != OP_BUFFER_PERMUTE ||
                                 !is_read_by_product_alone(use->user->results[0], dot)))
            return false;
    return true;
}

static bool fails(struct ahead *a, const char *problem)
{
    a->problem = problem;
    return false;
}

/* The loop's operations: a wait and a barrier in front, one product, copies, and what is pure. */
static bool find_operations(struct ahead *a)
{
    struct ir_block *body = a->loop->regions[0];
    a->wait = body->first;
    a->barrier = a->wait ? a->wait->next : NULL;
    if (!a->barrier || a->wait->opcode != OP_CP_WAIT || a->barrier->opcode != OP_BARRIER)
        return false;
    for (struct ir_operation *op = a->barrier->next; op != ir_terminator(body); op = op->next) {
        switch (op->opcode) {
        case OP_DOT_ASYNC:
            if (a->dot)
                return fails(a, "the loop holds more than one product");
            a->dot = op;
            break;
        case OP_DOT_WAIT:
            if (a->done || op->result_count != 1)
                return fails(a, "the loop holds more than one product");
            a->done = op;
            break;
        case OP_CP_ASYNC: case OP_CP_COMMIT: vector_push(a->context->arena, &a->copies, op); break;
        default:
            if (!rewrite_has_trait(op, IR_TRAIT_PURE) || op->region_count)
                return false;
        }
    }
    return a->dot && (!a->done || a->done->operands[0] == a->dot->results[0]);
}

/* The value goes round: argument `index` of the body becomes `next` for the next iteration, and nothing else is done
 * with either but by `user`. */
static bool goes_round(const struct ahead *a, const struct ir_value *argument, const struct ir_value *next,
                       const struct ir_operation *user)
{
    const struct ir_operation *yield = ir_terminator(a->loop->regions[0]);
    return argument->block == a->loop->regions[0] && !argument->definition && argument->index > 0 && argument->uses &&
           !argument->uses->next && argument->uses->user == user && next->uses && !next->uses->next &&
           next->uses->user == yield && next->uses->index == argument->index - 1;
}

static bool reads_ring(struct ahead *a)
{
    const struct ir_operation *slot[2] = { slot_behind(a->dot->operands[0]), slot_behind(a->dot->operands[1]) };
    if (!slot[0] || !slot[1])
        return false;
    const struct ir_value *read = slot[0]->operands[1];
    if (read != slot[1]->operands[1] || read->block != a->loop->regions[0] || read->definition || read->index == 0)
        return false;
    a->read = read->index;
    for (const struct ir_use *use = read->uses; use; use = use->next)
        if (use->user->opcode == OP_SLOT && !is_read_by_product_alone(use->user->results[0], a->dot))
            return false;
    return true;
}

/* Types of the factors of one step; false: the product cannot be done in steps, or registers would not do. */
static bool plan_steps(struct ahead *a)
{
    struct ir_context *types = a->function->module->context;
    struct layout_table *table = ir_context_layouts(types);
    const struct ir_type *sum = a->dot->results[0]->type;
    int registers = layout_registers(sum->layout);
    for (int factor = 0; factor < 2; factor++) {
        const struct ir_type *whole = a->dot->operands[factor]->type;
        int64_t extent[2] = { whole->extent[0], whole->extent[1] }, all = extent[1 - factor];
        if (whole->kind != IR_BUFFER || whole->rank != 2 || ir_element_info[whole->element].bits != 16 ||
            all % STEP || all < 2 * STEP)
            return false;
        a->steps = (int)(all / STEP);
        extent[1 - factor] = STEP;
        const struct ir_type *step = ir_type_tile(types, whole->element, 2, extent);
        const struct layout *layout = product_factor_of(table, step, sum, factor);
        int beyond[2] = { (int)whole->extent[0], (int)whole->extent[1] };
        if (!layout || !layout_extend(table, layout, beyond))
            return false;
        a->type[factor] = ir_type_with_layout(types, step, layout);
        registers += layout_registers(layout); /* two steps, two elements a register */
    }
    return registers <= MOST_REGISTERS ||
           fails(a, "the accumulator and two steps of fragments take more registers than there are");
}

static bool can_read_ahead(struct ahead *a)
{
    if (!find_operations(a) || a->dot->operand_count != 3 ||
        ir_number(a->dot, IR_ATTRIBUTE_INSTRUCTION, IR_INSTRUCTION_FMA) != IR_INSTRUCTION_MMA)
        return false;
    const struct ir_operation *last = a->done ? a->done : a->dot;
    return goes_round(a, a->dot->operands[2], last->results[0], a->dot) && reads_ring(a) && plan_steps(a);
}

/* ---- building ---- */

/* The factor as the product names it, of the slot `index`. */
static struct ir_value *name_factor(struct ir_builder *builder, const struct ir_value *buffer, struct ir_value *index)
{
    const struct ir_operation *op = buffer->definition;
    bool direct = op->opcode == OP_SLOT;
    struct ir_value *operands[2] = { direct ? op->operands[0] : name_factor(builder, op->operands[0], index), index };
    struct ir_value *named = ir_build_value(builder, op->opcode, buffer->type, op->operand_count, operands);
    const struct ir_attribute *order = ir_attribute(op, IR_ATTRIBUTE_PERMUTATION);
    if (order)
        ir_set_list(named->definition, IR_ATTRIBUTE_PERMUTATION, order->count, order->list);
    return named;
}

static void read_step(const struct ahead *a, struct ir_builder *builder, struct ir_value *const *factors, int step,
                      struct ir_value **fragments)
{
    for (int factor = 0; factor < 2; factor++) {
        int64_t start[2] = { 0, 0 };
        start[1 - factor] = (int64_t)step * STEP;
        fragments[factor] =
            ir_build_value(builder, OP_BUFFER_LOAD, a->type[factor], 1, (struct ir_value *[]){ factors[factor] });
        ir_set_list(fragments[factor]->definition, IR_ATTRIBUTE_START, 2, start);
    }
}

static struct ir_value *multiply(const struct ahead *a, struct ir_builder *builder, struct ir_value *const *fragments,
                                 struct ir_value *sum)
{
    struct ir_value *operands[3] = { fragments[0], fragments[1], sum };
    struct ir_value *result = ir_build_value(builder, OP_DOT, sum->type, 3, operands);
    const struct ir_attribute *precision = ir_attribute(a->dot, IR_ATTRIBUTE_PRECISION);
    if (precision)
        ir_set_number(result->definition, IR_ATTRIBUTE_PRECISION, precision->number);
    ir_set_number(result->definition, IR_ATTRIBUTE_INSTRUCTION, IR_INSTRUCTION_MMA);
    return result;
}

static void name_factors(const struct ahead *a, struct ir_builder *builder, struct ir_value *index,
                         struct ir_value **factors)
{
    for (int factor = 0; factor < 2; factor++)
        factors[factor] = name_factor(builder, a->dot->operands[factor], index);
}

static struct ir_value *still_runs(const struct ahead *a, struct ir_builder *builder, struct ir_value *variable,
                                   struct ir_value *upper)
{
    int64_t step;
    bool down = ir_constant_integer(a->loop->operands[2], &step) && step < 0;
    return ir_compare(builder, down ? IR_PREDICATE_GT : IR_PREDICATE_LT, variable, upper);
}

/* The first iteration's, when there is one: else nobody has written the slot. */
static void read_first(const struct ahead *a, struct ir_builder *before, struct ir_value **fragments)
{
    struct ir_value *factors[2], *some = still_runs(a, before, a->loop->operands[0], a->loop->operands[1]);
    struct ir_operation *branch = ir_build(before, OP_IF, 1, &some, 2, a->type);
    struct ir_builder inner = { .module = before->module, .block = branch->regions[0], .at = a->loop->at };
    ir_set_number(ir_build(&inner, OP_CP_WAIT, 0, NULL, 0, NULL), IR_ATTRIBUTE_PENDING,
                  ir_number(a->wait, IR_ATTRIBUTE_PENDING, 0));
    ir_build(&inner, OP_BARRIER, 0, NULL, 0, NULL);
    name_factors(a, &inner, a->loop->operands[a->read + 2], factors);
    read_step(a, &inner, factors, 0, fragments);
    ir_build(&inner, OP_YIELD, 2, fragments, 0, NULL);
    struct ir_builder other = { .module = before->module, .block = branch->regions[1], .at = a->loop->at };
    for (int i = 0; i < 2; i++)
        fragments[i] = ir_build_value(&other, OP_UNDEFINED, a->type[i], 0, NULL);
    ir_build(&other, OP_YIELD, 2, fragments, 0, NULL);
    for (int i = 0; i < 2; i++)
        fragments[i] = branch->results[i];
}

/* Copies stand between the steps, so that their addresses are computed beside products. */
static void move_copies(struct ahead *a, struct ir_operation *before, int count)
{
    for (; a->moved < count && a->moved < a->copies.count; a->moved++)
        ir_move_before(a->copies.data[a->moved], before);
}

static void read_ahead(struct ahead *a)
{
    struct ir_value *factors[2], *next[2], *fragments[2], *coming[2];
    struct ir_builder before = rewrite_before(a->loop);
    struct ir_value *last = ir_binary(&before, OP_SUB, a->loop->operands[1], a->loop->operands[2]);
    read_first(a, &before, fragments);
    static const char *const names[] = { "a", "b" };
    a->loop = rewrite_carry(a->context->arena, a->loop, 2, fragments, names);
    struct ir_block *body = a->loop->regions[0];
    struct ir_operation *yield = ir_terminator(body);
    struct ir_builder builder = rewrite_before(yield);
    builder.at = a->dot->at;
    struct ir_value *sum = a->dot->operands[2];
    for (int i = 0; i < 2; i++)
        fragments[i] = body->arguments.data[body->arguments.count - 2 + i];
    name_factors(a, &builder, body->arguments.data[a->read], factors);
    struct ir_value *more = still_runs(a, &builder, body->arguments.data[0], last);
    name_factors(a, &builder, ir_select(&builder, more, yield->operands[a->read - 1], body->arguments.data[a->read]),
                 next);
    for (int step = 1; step <= a->steps; step++) {
        if (step == a->steps) {
            move_copies(a, yield, a->copies.count);
            ir_move_before(a->wait, yield);
            if (!PLANTED(fragments_before_barrier))
                ir_move_before(a->barrier, yield);
        }
        read_step(a, &builder, step < a->steps ? factors : next, step % a->steps, coming);
        move_copies(a, yield, a->copies.count * step / (a->steps - 1));
        sum = multiply(a, &builder, fragments, sum);
        for (int i = 0; i < 2; i++)
            fragments[i] = coming[i];
    }
    ir_replace_uses(a->done ? a->done->results[0] : a->dot->results[0], sum);
    for (int i = 0; i < 2; i++)
        ir_add_operand(yield, fragments[i]);
    if (a->done)
        ir_remove(a->done);
    ir_remove(a->dot);
}

static void collect(struct ir_operation *op, void *data)
{
    struct search *search = data;
    if (op->opcode == OP_FOR)
        vector_push(search->arena, &search->loops, op);
}

bool pass_read_ahead(struct ir_function *function, struct pass_context *context)
{
    struct search search = { .arena = context->arena };
    bool changed = false;
    ir_walk(function->body, collect, &search);
    for (int i = 0; i < search.loops.count; i++) {
        struct ahead a = { .context = context, .function = function, .loop = search.loops.data[i] };
        bool can = can_read_ahead(&a);
        if (!can && a.problem)
            pass_remark(context, a.dot->at, "fragments of this product are not read an iteration ahead: %s", a.problem);
        if (!can || !pass_fuel(context))
            continue;
        pass_remark(context, a.loop->at, "fragments of the next iteration are read before this one ends");
        read_ahead(&a);
        changed = true;
    }
    return changed;
}
