/* See analyses.h. */
#include "analyses.h"

#include <inttypes.h>

#include "ir/facts/alias.h"
#include "ir/facts/analysis.h"
#include "ir/facts/linear.h"

enum { MOST_ACCESSES = 40 };

struct analyses {
    struct buffer *out;
    const struct ir_function *function;
    const struct ranges *ranges;
    const struct divisibilities *divisibilities;
    const struct uniformities *uniformities;
    const struct ir_operation *accesses[MOST_ACCESSES]; /* the first ones of the function */
    int access_count;
};

/* Numbers in hexadecimal: quick, and the same for all. */
static void put_number(struct buffer *out, int64_t number)
{
    char text[20];
    int at = 20;
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do
        text[--at] = "0123456789abcdef"[rest % 16];
    while (rest /= 16);
    if (number < 0)
        text[--at] = '-';
    text[--at] = ' ';
    buffer_append(out, text + at, (size_t)(20 - at));
}

static bool has_numbers(const struct ir_value *value)
{
    return value->type->kind == IR_TILE && (ir_is_integer(value->type->element) || value->type->element == IR_BOOL);
}

/* A value's number; of integers the range, one_value * 2 + same_grid, whether it is a sum; for each dimension multiple,
 * contiguity and constancy:     % 1c -1 7f 0 1 2 4 1 */
static void put_value(struct analyses *a, const struct ir_value *value)
{
    buffer_putc(a->out, '%');
    put_number(a->out, value->id);
    if (value->type->kind == IR_VIEW)
        buffer_puts(a->out, alias_is_settled(a->function, value)   ? " settled"
                            : alias_is_written(a->function, value) ? " written"
                                                                   : "");
    bool pointer = value->type->kind == IR_TILE && value->type->element == IR_POINTER;
    if (has_numbers(value)) {
        struct range range = range_of(a->ranges, value);
        struct uniformity uniformity = uniformity_of(a->uniformities, value);
        put_number(a->out, range.low);
        put_number(a->out, range.high);
        put_number(a->out, uniformity.one_value * 2 + uniformity.same_grid);
        if (value->type->rank == 0 && ir_is_integer(value->type->element))
            put_number(a->out, linear_of(a->ranges, value).term != value);
    }
    struct divisibility divisors = {0};
    if (has_numbers(value) || pointer)
        divisors = divisibility_of(a->divisibilities, value);
    for (int d = 0; (has_numbers(value) || pointer) && d < (value->type->rank ? value->type->rank : 1); d++) {
        put_number(a->out, divisors.multiple[d]);
        put_number(a->out, divisors.contiguity[d]);
        put_number(a->out, divisors.constancy[d]);
    }
    buffer_putc(a->out, '\n');
}

static void put_access(struct analyses *a, const struct ir_operation *op)
{
    buffer_puts(a->out, alias_orders(op) ? " orders" : "");
    buffer_puts(a->out, alias_follows_acquire(op) ? " follows" : "");
    buffer_puts(a->out, alias_precedes_release(op) ? " precedes" : "");
    for (int i = 0; i < a->access_count; i++) {
        if (a->accesses[i]->opcode == OP_LOAD)
            buffer_putc(a->out, alias_clobbers(op, a->accesses[i]) ? '1' : '0');
        if (op->opcode == OP_LOAD && a->accesses[i]->opcode != OP_LOAD)
            buffer_putc(a->out, alias_clobbers(a->accesses[i], op) ? '1' : '0');
    }
    buffer_putc(a->out, '\n');
    if (a->access_count < MOST_ACCESSES)
        a->accesses[a->access_count++] = op;
}

static void put_block(struct analyses *a, const struct ir_block *block)
{
    for (int i = 0; i < block->arguments.count; i++)
        put_value(a, block->arguments.data[i]);
    for (const struct ir_operation *op = block->first; op; op = op->next) {
        buffer_puts(a->out, ir_op_info[op->opcode].text);
        for (int i = 0; i < op->operand_count; i++) { /* what conditions around it say more */
            if (!has_numbers(op->operands[i]))
                continue;
            struct range always = range_of(a->ranges, op->operands[i]);
            struct range here = range_at(a->ranges, op->operands[i], op);
            if (here.low != always.low || here.high != always.high) {
                put_number(a->out, here.low);
                put_number(a->out, here.high);
            }
        }
        if (op->opcode == OP_FOR && range_loop_ends(a->ranges, op))
            buffer_puts(a->out, " ends");
        if (ir_op_info[op->opcode].traits & (IR_TRAIT_READ | IR_TRAIT_WRITE | IR_TRAIT_ATOMIC))
            put_access(a, op);
        buffer_putc(a->out, '\n');
        for (int i = 0; i < op->region_count; i++)
            put_block(a, op->regions[i]);
        for (int i = 0; i < op->result_count; i++)
            put_value(a, op->results[i]);
    }
}

void analyses_print(struct buffer *out, const struct ir_function *function)
{
    struct arena *arena = arena_create();
    struct analyses a = {.out = out,
                         .function = function,
                         .ranges = ranges_analyse(function, arena),
                         .divisibilities = divisibility_analyse(function, arena),
                         .uniformities = uniformity_analyse(function, arena)};
    put_block(&a, function->body);
    arena_destroy(arena);
}
