/* Numbers that were rounded to f32 on their way to f64.  Alone a number of the source is f32: `where(c, 0.1, 0.2)`, `var s = 0.1`
 * and `2.0*PI*f32(i)` are, and f64(…) of them has half the digits that it seems to have.  Told is a cast to f64 of what is
 * computed in f32 of numbers and of integers alone, of which one number is none of f32's; what was loaded or passed as f32 has
 * no more digits than that, and whoever computes with it in f32 may mean it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/query.h"
#include "passes/lint/lint.h"

enum { MOST_STEPS = 32 };

/* Whether the shortest decimal that names this f32 is another number: 0.1 and 3.1415927, not 0.5. */
static bool is_rounded(float number)
{
    char text[32];
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)number);
        if (strtof(text, NULL) == number)
            return strtod(text, NULL) != (double)number;
    }
    return false;
}

/* Computed of numbers and integers alone; *found: a number among them that was rounded. */
static bool is_made_of_numbers(const struct ir_value *value, int *steps, const struct ir_operation **found)
{
    const struct ir_operation *op = value->definition;
    if (op && op->opcode == OP_IF && value->type->element == IR_F32 && --*steps >= 0)
        return is_made_of_numbers(ir_terminator(op->regions[0])->operands[value->index], steps, found) &&
               is_made_of_numbers(ir_terminator(op->regions[1])->operands[value->index], steps, found);
    if (!op || --*steps < 0 || value->type->element != IR_F32)
        return value->type->element != IR_F32 && value->type->kind == IR_TILE;
    if (op->opcode == OP_CONSTANT) {
        uint64_t bits;
        uint32_t low;
        float number;
        if (*found || !ir_constant_of(value, &bits))
            return true;
        low = (uint32_t)bits;
        memcpy(&number, &low, sizeof number);
        if (isfinite(number) && is_rounded(number))
            *found = op;
        return true;
    }
    bool all = ir_has_trait(op, IR_TRAIT_ELEMENTWISE) || op->opcode == OP_SPLAT || op->opcode == OP_BROADCAST ||
               op->opcode == OP_RESHAPE;
    if (op->opcode == OP_CAST)
        return all && !ir_is_float(op->operands[0]->type->element);
    for (int i = 0; i < op->operand_count && all; i++)
        all = is_made_of_numbers(op->operands[i], steps, found);
    return all;
}

static void look(struct ir_operation *op, void *context)
{
    const struct lint *lint = context;
    const struct ir_operation *number = NULL;
    int steps = MOST_STEPS;
    if (op->opcode != OP_CAST || op->results[0]->type->element != IR_F64 || op->operands[0]->type->element != IR_F32 ||
        !is_made_of_numbers(op->operands[0], &steps, &number) || !number)
        return;
    struct diagnostic *d = diag_report(lint->diagnostics, DIAGNOSTIC_W1015, op->at,
                                       "this was computed in f32, and has no more of its digits as f64");
    diag_note(lint->diagnostics, d, number->at, "a number alone is f32: give it the type here, `f64(...)`");
    diag_instance(lint->diagnostics, d, lint->instance);
}

void lint_digits(const struct lint *lint, const struct ir_function *function)
{
    ir_walk(function->body, look, (void *)lint);
}
