/* Checks when running.  A check that the options ask for becomes
 *     if (not condition) report = program << 16 | number + 1
 * where `report` is a hidden argument of the kernel and the number one of the entry's checks; one whose text has values
 *     if (not condition) if (compare_and_swap(report, 0, program << 16 | number + 1) == 0) store the values
 * The instance goes on: its accesses to views cannot do harm, and one that stopped would leave others waiting.  Whoever
 * launched reads the report. */
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

static void build_branch(struct elaborator *e, struct ir_value *condition, struct ir_block *then)
{
    struct ir_block *saved, *otherwise = region_begin(e, &saved);
    ir_build(&e->builder, OP_YIELD, 0, NULL, 0, NULL);
    region_end(e, saved);
    struct ir_operation *branch = ir_build(&e->builder, OP_IF, 1, &condition, 0, NULL);
    region_attach(branch, 0, then);
    region_attach(branch, 1, otherwise);
}

static void store_first(struct elaborator *e, struct ir_value *word, struct ir_block *values)
{
    struct ir_value *none = ir_constant_int(&e->builder, word->type, 0);
    struct ir_operation *swap = ir_build(&e->builder, OP_POINTER_CAS, 3, (struct ir_value *[]){e->report, none, word},
                                         1, &word->type);
    ir_set_number(swap, IR_ATTRIBUTE_ORDER, IR_ORDER_RELAXED);
    ir_set_number(swap, IR_ATTRIBUTE_SCOPE, IR_SCOPE_GPU);
    struct ir_value *first = ir_compare(&e->builder, IR_PREDICATE_EQ, swap->results[0], none);
    struct ir_block *outer = e->builder.block;
    e->builder.block = values;
    ir_build(&e->builder, OP_YIELD, 0, NULL, 0, NULL);
    e->builder.block = outer;
    build_branch(e, first, values);
}

void check_demand(struct elaborator *e, struct ir_value *condition, const char *text, struct ir_block *values,
                  struct location at)
{
    int number = check_number(e, text, at);
    struct ir_block *saved, *failed;
    if (number < 0) {
        front_report(e, DIAGNOSTIC_E1101, at, "a kernel can have %d checks", MOST_CHECKS);
        return;
    }
    condition = ir_unary(&e->builder, OP_NOT, condition);
    failed = region_begin(e, &saved);
    const struct ir_type *word = ir_type_scalar(e->context, IR_U64);
    struct ir_value *program = ir_cast(&e->builder, program_number(e), IR_U64);
    program = ir_binary(&e->builder, OP_SHL, program, ir_constant_int(&e->builder, word, 16));
    program = ir_binary(&e->builder, OP_OR, program, ir_constant_int(&e->builder, word, number + 1));
    if (values)
        store_first(e, program, values);
    else
        ir_build(&e->builder, OP_POINTER_STORE, 2, (struct ir_value *[]){e->report, program}, 0, NULL);
    ir_build(&e->builder, OP_YIELD, 0, NULL, 0, NULL);
    region_end(e, saved);
    build_branch(e, condition, failed);
}

const char *check_text(struct elaborator *e, const char *text)
{
    struct buffer out = {0};
    for (; *text; text++)
        buffer_printf(&out, *text == '%' ? "%%%%" : "%c", *text);
    const char *kept = arena_substring(e->front->arena, out.data ? out.data : "", out.size);
    buffer_free(&out);
    return kept;
}

bool check_is_possible(const struct elaborator *e) { return e->report && e->entry && !e->in_map; }

void check_build(struct elaborator *e, struct value condition, const char *text, struct location at)
{
    bool wanted = e->front->options->check_asserts && check_is_possible(e) && condition.kind == VALUE_RUN;
    if (wanted && condition.run->type->rank == 0)
        check_demand(e, condition.run, check_text(e, text), NULL, at);
}
