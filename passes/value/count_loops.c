/* count_loops: a `while` that counts is a `for`, and values that count with a loop are computed from its variable.
 *
 *     %s, %e = while %s0, %lo (%a, %k) {              %s, %e = for %v = %lo to %n step 64 iter(%a = %s0, %k = %lo) {
 *         %c = compare predicate(lt) %k, %n    ->         … %v …
 *         condition %c, %a, %k                            %next = add %v, 64
 *     } do (%a, %k) {                                     yield …, %next
 *         … %k …                                      }
 *         %next = add %k, 64
 *         yield …, %next
 *     }
 *
 *     for %v = %lo to %hi step 64 iter(%k = %k0) { … %k …   yield add %k, 128 }    %k is %k0 + (%v - %lo) * 2
 *
 *     while (t * 64 + 1 < n) …     ->     for %t = %t0 to ceil((%n - 1) / 64) …     and as in count_loops_scale.c
 *
 * Passes that look for counted loops, above all those that let copies run ahead, then find these loops, too.
 *
 * Right because the bound does not change in the loop, and the ranges show that the last sum does not wrap; so once the
 * condition is false it stays false.  Values that count along wrap as their own sums do.  A carried value stays where
 * something reads it behind the loop; dce removes the others. */
#include "passes/value/count_loops.h"

#include "base/plant.h"
#include "passes/base/remake.h"
#include "passes/base/rewrite.h"

enum { MOST_STEP = 1 << 28, DEPTH = 32 };

struct counting {
    struct pass_context *context;
    const struct ranges *ranges;
    VECTOR(struct ir_operation *) loops;
};
struct counted {
    struct ir_operation *loop;
    int variable;               /* of the carried values */
    const struct ir_type *type; /* the variable's */
    struct ir_value *bound;     /* from outside, or pure in the first region; of a wider element, perhaps */
    bool through;               /* the bound itself is still an iteration */
    int64_t step;
    int64_t scale, offset; /* what is compared: variable * scale + offset, scale > 0 */
};

/* Made of values from outside by operations that may stand in front of the loop. */
static bool is_invariant(const struct ir_value *value, const struct ir_operation *loop, int depth)
{
    const struct ir_operation *op = value->definition;
    if (!ir_is_inside(value, loop))
        return true;
    if (!op || depth > DEPTH || op->region_count || !ir_has_trait(op, IR_TRAIT_PURE))
        return false;
    for (int i = 0; i < op->operand_count; i++)
        if (!is_invariant(op->operands[i], loop, depth + 1))
            return false;
    return true;
}

/* next = value + *step, a number */
static bool counts_up(const struct ir_value *next, const struct ir_value *value, int64_t *step)
{
    const struct ir_operation *op = next->definition;
    bool is_sub = op && op->opcode == OP_SUB;
    if (!op || (op->opcode != OP_ADD && !is_sub && !PLANTED(count_loop_of_other_steps)))
        return false;
    for (int side = 0; side < 2 - is_sub; side++)
        if (op->operands[side] == value && ir_constant_integer(op->operands[1 - side], step) && *step != 0 &&
            *step >= -MOST_STEP && *step <= MOST_STEP) {
            *step = is_sub ? -*step : *step;
            return true;
        }
    return false;
}

/* The first region hands everything on and has no effect. */
static bool only_tests(const struct ir_operation *loop)
{
    const struct ir_block *test = loop->regions[0];
    const struct ir_operation *end = ir_terminator(test);
    for (const struct ir_operation *op = test->first; op != end; op = op->next)
        if (!ir_has_trait(op, IR_TRAIT_PURE))
            return false;
    for (int i = 0; i < test->arguments.count; i++)
        if (end->operands[1 + i] != test->arguments.data[i])
            return false;
    return true;
}

/* The carried value that the operand of the comparison is, as it is or cast to an element that holds all its values, or a
 * multiple of it and a number more. */
static const struct ir_value *compared_variable(const struct ir_value *operand, const struct ir_block *test,
                                                struct counted *counted)
{
    const struct ir_operation *op = operand->definition;
    enum ir_element to = operand->type->element, from = to;
    int64_t number;
    if (op && op->opcode == OP_CAST && op->block == test)
        from = op->operands[0]->type->element;
    if (from != to && ir_is_integer(from) && ir_is_integer(to) && from != IR_U64 && to != IR_U64) {
        struct range few = range_of_element(from), many = range_of_element(to);
        if (few.low >= many.low && few.high <= many.high)
            operand = op->operands[0];
    }
    counted->scale = 1;
    counted->offset = 0;
    op = operand->definition;
    if (op && op->block == test && (op->opcode == OP_ADD || op->opcode == OP_SUB) &&
        ir_constant_integer(op->operands[1], &number) && number >= -MOST_STEP && number <= MOST_STEP) {
        counted->offset = op->opcode == OP_ADD ? number : -number;
        operand = op->operands[0];
        op = operand->definition;
    }
    if (op && op->block == test && op->opcode == OP_MUL && ir_constant_integer(op->operands[1], &number) &&
        number > 0 && number <= MOST_STEP) {
        counted->scale = number;
        operand = op->operands[0];
    }
    return !operand->definition && operand->block == test ? operand : NULL;
}

static bool fits_with(const struct counted *counted, struct range range, int64_t factor, int64_t beyond)
{
    int64_t low, high;
    return !__builtin_mul_overflow(range.low, factor, &low) && !__builtin_mul_overflow(range.high, factor, &high) &&
           !__builtin_sub_overflow(low, beyond, &low) && !__builtin_add_overflow(high, beyond, &high) &&
           range_within((struct range){low, high}, range_of_element(counted->type->element));
}

/* The bound is one of the variable's values, and so is the sum behind the last iteration; so is all that is computed of
 * them to compare them. */
static bool ends_before_wrapping(const struct counting *c, const struct counted *counted)
{
    struct range bound = range_of(c->ranges, counted->bound), whole = range_of_element(counted->type->element);
    if (bound.low < whole.low || bound.high > whole.high)
        return false;
    int64_t last, beyond = counted->step > 0 ? counted->step : -counted->step;
    if (counted->scale != 1 || counted->offset != 0) {
        beyond *= counted->scale;
        beyond += 2 * (counted->offset < 0 ? -counted->offset : counted->offset) + counted->scale;
        return fits_with(counted, bound, 1, beyond) &&
               fits_with(counted, range_of(c->ranges, counted->loop->operands[counted->variable]), counted->scale,
                         beyond);
    }
    beyond -= !counted->through;
    if (counted->step > 0)
        return !__builtin_add_overflow(bound.high, beyond, &last) && last <= whole.high;
    return !__builtin_sub_overflow(bound.low, beyond, &last) && last >= whole.low;
}

/* NULL: it counts, and *counted says how. */
static const char *problem_of(const struct counting *c, struct ir_operation *loop, struct counted *counted)
{
    static const enum ir_predicate mirrored[IR_PREDICATE_COUNT] = {IR_PREDICATE_EQ, IR_PREDICATE_NE, IR_PREDICATE_GT,
                                                                   IR_PREDICATE_GE, IR_PREDICATE_LT, IR_PREDICATE_LE};
    const struct ir_block *test = loop->regions[0], *body = loop->regions[1];
    const struct ir_operation *compare = ir_terminator(test)->operands[0]->definition;
    bool carried = false;
    counted->loop = loop;
    if (!only_tests(loop) || !compare || compare->opcode != OP_COMPARE || compare->block != test)
        return "its condition is not one comparison";
    for (int side = 0; side < 2; side++) {
        const struct ir_value *variable = compared_variable(compare->operands[side], test, counted);
        int64_t predicate = ir_number(compare, IR_ATTRIBUTE_PREDICATE, 0);
        counted->bound = compare->operands[1 - side];
        carried |= variable != NULL;
        if (!variable || !is_invariant(counted->bound, loop, 0))
            continue;
        enum ir_element element = variable->type->element;
        counted->variable = variable->index;
        counted->type = variable->type;
        if (!ir_is_integer(element) || ir_element_info[element].bits < 32)
            return "what it compares is no integer of 32 bits or more";
        if (!counts_up(ir_terminator(body)->operands[counted->variable], body->arguments.data[counted->variable],
                       &counted->step))
            return "what it compares does not grow by a number";
        predicate = side ? (int64_t)mirrored[predicate] : predicate;
        counted->through = predicate == IR_PREDICATE_LE || predicate == IR_PREDICATE_GE;
        bool up = predicate == IR_PREDICATE_LT || predicate == IR_PREDICATE_LE;
        bool down = predicate == IR_PREDICATE_GT || predicate == IR_PREDICATE_GE;
        if (!(counted->step > 0 ? up : down))
            return "its condition does not say where it ends";
        return ends_before_wrapping(c, counted) ? NULL : "its last sum may wrap";
    }
    return carried ? "the bound that it compares with may change" : "it compares nothing that it carries";
}

static void make_for(struct counting *c, const struct counted *counted)
{
    struct ir_operation *loop = counted->loop;
    struct arena *arena = c->context->arena;
    struct ir_builder builder = rewrite_before(loop);
    int carried = loop->operand_count;
    struct remake outside = remake_open(arena, loop->block->function, loop);
    struct ir_value **operands = ARENA_ARRAY(arena, struct ir_value *, carried + 3);
    const struct ir_type **types = ARENA_ARRAY(arena, const struct ir_type *, carried + 1);
    const struct ir_type *type = counted->type;
    operands[0] = loop->operands[counted->variable];
    operands[1] = remake_value(&outside, &builder, counted->bound);
    if (operands[1]->type != type)
        operands[1] = ir_cast(&builder, operands[1], type->element);
    if (counted->through) {
        bool up = counted->step > 0 || PLANTED(count_loop_down_keeps_bound);
        operands[1] = ir_binary(&builder, OP_ADD, operands[1], ir_constant_int(&builder, type, up ? 1 : -1));
    }
    if (counted->offset)
        operands[1] = ir_binary(&builder, OP_SUB, operands[1], ir_constant_int(&builder, type, counted->offset));
    if (counted->scale != 1 && counted->step < 0) /* t * 64 > n is t > floor(n / 64) */
        operands[1] = ir_binary(&builder, OP_SUB, operands[1], ir_constant_int(&builder, type, counted->scale - 1));
    if (counted->scale != 1)
        operands[1] = count_loops_ceiling(&builder, operands[1], counted->scale);
    operands[2] = ir_constant_int(&builder, type, counted->step);
    for (int i = 0; i < carried; i++) {
        operands[3 + i] = loop->operands[i];
        types[i] = loop->operands[i]->type;
    }
    struct ir_operation *made = ir_build(&builder, OP_FOR, carried + 3, operands, carried, types);
    struct ir_block *from = loop->regions[1], *to = made->regions[0];
    const char *name = from->arguments.data[counted->variable]->name;
    struct ir_value *variable = ir_block_argument(to, type, name);
    for (int i = 0; i < carried; i++) {
        struct ir_value *argument = ir_block_argument(to, types[i], from->arguments.data[i]->name);
        ir_replace_uses(from->arguments.data[i], i == counted->variable ? variable : argument);
    }
    while (from->first)
        ir_move_to_end(from->first, to);
    for (int i = 0; i < carried; i++) {
        made->results[i]->name = loop->results[i]->name;
        ir_replace_uses(loop->results[i], made->results[i]);
    }
    ir_remove(loop);
}

/* ---- values that count along ---- */

static bool same_number(const struct ir_value *a, const struct ir_value *b)
{
    int64_t x, y;
    return a == b || (ir_constant_integer(a, &x) && ir_constant_integer(b, &y) && x == y);
}

/* start + (variable - lower) * factor */
static struct ir_value *counted_along(struct ir_operation *loop, struct ir_value *start, int64_t factor)
{
    struct ir_block *body = loop->regions[0];
    struct ir_value *variable = body->arguments.data[0], *lower = loop->operands[0];
    struct ir_builder builder = rewrite_before(body->first);
    int64_t number;
    builder.at = loop->at;
    if (factor == 1 && same_number(start, lower))
        return variable;
    struct ir_value *far = variable;
    if (!ir_constant_integer(lower, &number) || (number != 0 && !PLANTED(counted_along_from_zero)))
        far = ir_binary(&builder, OP_SUB, variable, lower);
    if (factor != 1)
        far = ir_binary(&builder, OP_MUL, far, ir_constant_int(&builder, far->type, factor));
    return ir_constant_integer(start, &number) && number == 0 ? far : ir_binary(&builder, OP_ADD, start, far);
}

static bool replace_counting(struct counting *c, struct ir_operation *loop)
{
    struct ir_block *body = loop->regions[0];
    const struct ir_operation *yield = ir_terminator(body);
    int64_t step, own;
    bool changed = false;
    if (ir_number(loop, IR_ATTRIBUTE_MULTIPLY, 0) || !ir_constant_integer(loop->operands[2], &step) || step == 0)
        return false;
    for (int i = 1; i < body->arguments.count; i++) {
        struct ir_value *argument = body->arguments.data[i];
        struct ir_value *next = yield->operands[i - 1];
        if (argument->type != body->arguments.data[0]->type || !counts_up(next, argument, &own) ||
            (own % step && !PLANTED(counted_along_in_fractions)))
            continue;
        bool others = false;
        for (const struct ir_use *use = argument->uses; use; use = use->next)
            others |= use->user != next->definition;
        if (!others || !pass_fuel(c->context))
            continue;
        struct ir_value *along = counted_along(loop, loop->operands[2 + i], own / step);
        for (struct ir_use *use = argument->uses, *following; use; use = following) {
            following = use->next;
            if (use->user != next->definition)
                ir_set_operand(use->user, use->index, along);
        }
        changed = true;
    }
    return changed;
}

/* ---- the pass ---- */

static void collect(struct ir_operation *op, void *data)
{
    struct counting *c = data;
    if (op->opcode == OP_WHILE || op->opcode == OP_FOR)
        vector_push(c->context->arena, &c->loops, op);
}

bool pass_count_loops(struct ir_function *function, struct pass_context *context)
{
    struct counting c = {.context = context, .ranges = context->ranges};
    bool changed = false;
    ir_walk(function->body, collect, &c);
    for (int i = 0; i < c.loops.count; i++) {
        struct counted counted = {0};
        struct ir_operation *loop = c.loops.data[i];
        if (loop->opcode != OP_WHILE || !loop->block) /* gone with the condition that it stood in */
            continue;
        const char *problem = problem_of(&c, loop, &counted);
        if (problem)
            pass_remark(context, loop->at, "this loop stays a while: %s", problem);
        if (problem || !pass_fuel(context))
            continue;
        make_for(&c, &counted);
        changed = true;
    }
    c.loops.count = 0;
    ir_walk(function->body, collect, &c);
    for (int i = 0; i < c.loops.count; i++)
        if (c.loops.data[i]->opcode == OP_FOR)
            changed = replace_counting(&c, c.loops.data[i]) || changed;
    for (int i = 0; i < c.loops.count; i++)
        if (c.loops.data[i]->opcode == OP_FOR)
            changed = count_loops_scale(context, c.loops.data[i]) || changed;
    return changed;
}
