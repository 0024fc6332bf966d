/* Unroll: a loop whose iterations are counted when compiling becomes its iterations one behind the other.
 *
 *     %r = for %k: index = %c0 to %c2 step %c1 iter(%a: f32 = %x) {        %k0 = constant value(0) : index
 *         %n = use %k, %a                                             ->   %n0 = use %k0, %x
 *         yield %n                                                         %k1 = constant value(1) : index
 *     }                                                                    %n1 = use %k1, %n0
 *
 * Which: loops marked by `unroll` (static for), as far as the result stays below a limit; loops of one iteration; loops
 * so short and small that the counting costs more than the copy.  Right because the iterations run in the same order on
 * the same values. Trip counts are computed in 128 bits; a variable that would wrap leaves the loop alone. */
#include "base/plant.h"
#include "passes/base/pass.h"
#include "passes/base/remake.h"
#include "passes/base/rewrite.h"

enum { MARKED_LIMIT = 20000, SMALL_LIMIT = 32, TRIP_LIMIT = 65536 };

__extension__ typedef __int128 wide;

/* Iterations of a loop with constant bounds, or -1: not known, endless, or too many. */
static int trip_count(const struct ir_operation *loop, int64_t *lower, int64_t *step)
{
    int64_t upper;
    enum ir_element e = loop->operands[0]->type->element;
    if (e == IR_U64 || !ir_constant_integer(loop->operands[0], lower) ||
        !ir_constant_integer(loop->operands[1], &upper) || !ir_constant_integer(loop->operands[2], step))
        return -1;
    bool multiplies = ir_number(loop, IR_ATTRIBUTE_MULTIPLY, 0);
    wide value = *lower;
    int count = 0;
    while (*step < 0 && !multiplies ? value > upper - PLANTED(unroll_down_one_too_many) : value < upper) {
        if (count++ == TRIP_LIMIT)
            return -1;
        value = multiplies ? value * *step : value + *step;
        if (value > INT64_MAX || value < INT64_MIN ||
            ir_bits_to_int(e, ir_int_to_bits(e, (int64_t)value)) != (int64_t)value)
            return -1; /* wraps */
    }
    return count;
}

static void copy_iteration(struct ir_operation *loop, int64_t variable, struct ir_value **carried, struct arena *arena)
{
    const struct ir_block *body = loop->regions[0];
    const struct ir_operation *end = ir_terminator(body);
    struct ir_builder builder = rewrite_before(loop);
    struct remake again = remake_open(arena, body->function, loop);
    remake_set(&again, body->arguments.data[0], ir_constant_int(&builder, loop->operands[0]->type, variable));
    for (int i = 0; i < loop->result_count; i++)
        remake_set(&again, body->arguments.data[i + 1], carried[i]);
    for (const struct ir_operation *op = body->first; op != end; op = op->next)
        remake_operation(&again, &builder, op);
    for (int i = 0; i < loop->result_count; i++)
        carried[i] = remake_find(&again, end->operands[i]);
}

static bool unroll(struct ir_operation *loop, struct pass_context *context)
{
    int64_t lower, step;
    int trips = trip_count(loop, &lower, &step);
    bool marked = ir_number(loop, IR_ATTRIBUTE_UNROLL, 0) != 0;
    int64_t size = trips < 0 ? 0 : (int64_t)ir_count_operations(loop->regions[0]) * trips;
    if (trips < 0 || size > (marked ? MARKED_LIMIT : trips == 1 ? INT64_MAX : SMALL_LIMIT)) {
        if (marked && trips < 0)
            pass_remark(context, loop->at, "the loop is not unrolled: its iterations are not counted when compiling");
        else if (marked)
            pass_remark(context, loop->at, "the loop is not unrolled: %lld operations are too many", (long long)size);
        return false;
    }
    if (!pass_fuel(context))
        return false;
    struct ir_value **carried = ARENA_ARRAY(context->arena, struct ir_value *, loop->result_count);
    for (int i = 0; i < loop->result_count; i++)
        carried[i] = loop->operands[i + 3];
    bool multiplies = ir_number(loop, IR_ATTRIBUTE_MULTIPLY, 0);
    int64_t variable = lower;
    for (int i = 0; i < trips - PLANTED(unroll_one_too_few); i++) {
        copy_iteration(loop, variable, carried, context->arena);
        variable = multiplies ? variable * step : variable + step;
    }
    for (int i = 0; i < loop->result_count; i++)
        ir_replace_uses(loop->results[i], carried[i]);
    pass_remark(context, loop->at, "unrolled %d iteration%s", trips, trips == 1 ? "" : "s");
    ir_remove(loop);
    return true;
}

/* Inner loops first: their copies then need no second look. */
static bool walk(struct ir_block *block, struct pass_context *context)
{
    bool changed = false;
    for (struct ir_operation *op = block->first, *next; op; op = next) {
        next = op->next;
        for (int r = 0; r < op->region_count; r++)
            changed = walk(op->regions[r], context) || changed;
        if (op->opcode == OP_FOR)
            changed = unroll(op, context) || changed;
    }
    return changed;
}

bool pass_unroll(struct ir_function *function, struct pass_context *context) { return walk(function->body, context); }
