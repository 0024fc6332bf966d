/* Checks when running.  A check that the options ask for becomes
 *     if (not condition) report = program << 16 | number + 1
 * where `report` is a hidden argument of the kernel and the number one of the entry's checks.  The instance goes on:
 * its accesses to views cannot do harm, and one that stopped would leave others waiting.  Whoever launched reads the
 * report. */
#include "front/walk/control.h"

#include <string.h>

enum { MOST_CHECKS = 0xffff - 1 };

/* Variants share the checks of their source; -1: too many. */
static int check_number(struct elaborator *e, const char *text, struct location at)
{
    struct kernel_entry *entry = e->entry;
    for (int i = 0; i < entry->checks.count; i++) {
        const struct kernel_check *check = &entry->checks.data[i];
        if (check->at.source == at.source && check->at.line == at.line && check->at.column == at.column &&
            strcmp(check->text, text) == 0)
            return i;
    }
    if (entry->checks.count == MOST_CHECKS)
        return -1;
    struct kernel_check check = {text, at};
    vector_push(e->front->arena, &entry->checks, check);
    return entry->checks.count - 1;
}

/* The linear number of this instance, the first grid name counted fastest. */
static struct ir_value *program_number(struct elaborator *e)
{
    const struct ir_type *index = ir_type_scalar(e->context, IR_INDEX);
    struct ir_value *number = NULL;
    for (int d = e->function->grid_rank - 1; d >= 0; d--) {
        struct ir_value *at = ir_build_value(&e->builder, OP_GRID_INDEX, index, 0, NULL);
        ir_set_number(at->definition, IR_ATTRIBUTE_DIMENSION, d);
        if (!number) {
            number = at;
            continue;
        }
        struct ir_value *size = ir_build_value(&e->builder, OP_GRID_SIZE, index, 0, NULL);
        ir_set_number(size->definition, IR_ATTRIBUTE_DIMENSION, d);
        number = ir_binary(&e->builder, OP_ADD, ir_binary(&e->builder, OP_MUL, number, size), at);
    }
    return number ? number : ir_constant_int(&e->builder, index, 0);
}

void check_demand(struct elaborator *e, struct ir_value *condition, const char *text, struct location at)
{
    int number = check_number(e, text, at);
    struct ir_block *saved, *failed, *fine;
    if (number < 0) {
        front_report(e, DIAGNOSTIC_E1101, at, "a kernel can have %d checks", MOST_CHECKS);
        return;
    }
    condition = ir_unary(&e->builder, OP_NOT, condition);
    failed = region_begin(e, &saved);
    const struct ir_type *word = ir_type_scalar(e->context, IR_U64);
    struct ir_value *program = ir_cast(&e->builder, program_number(e), IR_U64);
    program = ir_binary(&e->builder, OP_SHL, program, ir_constant_int(&e->builder, word, 16));
    struct ir_value *operands[2] = {
        e->report, ir_binary(&e->builder, OP_OR, program, ir_constant_int(&e->builder, word, number + 1))};
    ir_build(&e->builder, OP_POINTER_STORE, 2, operands, 0, NULL);
    ir_build(&e->builder, OP_YIELD, 0, NULL, 0, NULL);
    region_end(e, saved);
    fine = region_begin(e, &saved);
    ir_build(&e->builder, OP_YIELD, 0, NULL, 0, NULL);
    region_end(e, saved);
    struct ir_operation *branch = ir_build(&e->builder, OP_IF, 1, &condition, 0, NULL);
    region_attach(branch, 0, failed);
    region_attach(branch, 1, fine);
}

bool check_is_possible(const struct elaborator *e) { return e->report && e->entry && !e->in_map; }

void check_build(struct elaborator *e, struct value condition, const char *text, struct location at)
{
    bool wanted = e->front->options->check_asserts && check_is_possible(e) && condition.kind == VALUE_RUN;
    if (wanted && condition.run->type->rank == 0)
        check_demand(e, condition.run, text, at);
}
