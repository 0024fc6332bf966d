/* Trees that the wrapper evaluates before a launch: bool and i64 arithmetic over extents, strides, presence, scalars
 * and keys, and comparisons of float scalars. */
#include "front/values/elaborate.h"

#include <string.h>

static struct value host_value(struct elaborator *e, struct kernel_expression tree, enum ir_element element,
                               struct location at)
{
    tree.at = at;
    struct kernel_expression *kept = arena_copy(e->arena, &tree, sizeof tree);
    struct value v = {.kind = VALUE_HOST, .at = at, .element = element};
    v.host.tree = kept;
    v.host.element = element;
    return v;
}

struct value host_make(struct elaborator *e, enum kernel_host_op op, int64_t number, int dimension,
                       enum ir_element element, struct location at)
{
    return host_value(e, (struct kernel_expression){.op = op, .number = number, .dimension = dimension}, element, at);
}

/* A constant as a host value; others as they are.  `real`: the float type that a number without one takes, or
 * IR_ELEMENT_COUNT. */
static struct value host_lift(struct elaborator *e, struct value v, enum ir_element real)
{
    if (v.kind == VALUE_HOST || value_is_error(v))
        return v;
    if (real != IR_ELEMENT_COUNT && (v.kind == VALUE_REAL || v.kind == VALUE_INTEGER)) {
        if (v.element == IR_ELEMENT_COUNT)
            v = constant_to_element(e, v, real, false);
        if (value_is_error(v))
            return v;
        double number = v.kind == VALUE_REAL ? v.real.number : (double)v.integer;
        int64_t bits;
        memcpy(&bits, &number, sizeof bits);
        return host_make(e, KERNEL_HOST_FLOAT_CONSTANT, bits, 0, IR_F64, v.at);
    }
    if (v.kind == VALUE_INTEGER || v.kind == VALUE_ENUMERATOR) {
        if (!arithmetic_fits(v.integer, IR_I64)) {
            front_report(e, DIAGNOSTIC_E0502, v.at, "the wrapper computes in i64, and this integer does not fit");
            return value_error(v.at);
        }
        struct value lifted = host_make(e, KERNEL_HOST_CONSTANT, (int64_t)v.integer, 0, IR_I64, v.at);
        lifted.enumeration = v.enumeration;
        return lifted;
    }
    if (v.kind == VALUE_BOOL)
        return host_make(e, KERNEL_HOST_CONSTANT, v.truth, 0, IR_BOOL, v.at);
    front_report(e, DIAGNOSTIC_E0409, v.at,
                 "the wrapper cannot evaluate this: it knows integers, bools and comparisons of floats, not %s",
                 front_describe(e, v));
    return value_error(v.at);
}

struct value host_operate(struct elaborator *e, enum kernel_host_op op, enum ir_element element, int count,
                          struct value *operands, struct location at)
{
    struct kernel_expression tree = {.op = op};
    for (int i = 0; i < count; i++) {
        struct value lifted = host_lift(e, operands[i], IR_ELEMENT_COUNT);
        if (value_is_error(lifted))
            return value_error(at);
        tree.operand[i] = lifted.host.tree;
    }
    return host_value(e, tree, element, at);
}

static int host_op_of(enum ast_operator operation, bool real)
{
    switch (operation) {
    case OPERATOR_EQUAL: return real ? KERNEL_HOST_FLOAT_EQ : KERNEL_HOST_EQ;
    case OPERATOR_NOT_EQUAL: return real ? KERNEL_HOST_FLOAT_NE : KERNEL_HOST_NE;
    case OPERATOR_LESS: return real ? KERNEL_HOST_FLOAT_LT : KERNEL_HOST_LT;
    case OPERATOR_GREATER: return real ? KERNEL_HOST_FLOAT_GT : KERNEL_HOST_GT;
    case OPERATOR_LESS_EQUAL: return real ? KERNEL_HOST_FLOAT_LE : KERNEL_HOST_LE;
    case OPERATOR_GREATER_EQUAL: return real ? KERNEL_HOST_FLOAT_GE : KERNEL_HOST_GE;
    case OPERATOR_ADD: return KERNEL_HOST_ADD;
    case OPERATOR_SUBTRACT: return KERNEL_HOST_SUB;
    case OPERATOR_MULTIPLY: return KERNEL_HOST_MUL;
    case OPERATOR_DIVIDE: return KERNEL_HOST_DIV;
    case OPERATOR_REMAINDER: return KERNEL_HOST_REM;
    case OPERATOR_SHIFT_LEFT: return KERNEL_HOST_SHL;
    case OPERATOR_SHIFT_RIGHT: return KERNEL_HOST_SHR;
    case OPERATOR_BIT_AND: return KERNEL_HOST_BIT_AND;
    case OPERATOR_BIT_OR: return KERNEL_HOST_BIT_OR;
    case OPERATOR_BIT_XOR: return KERNEL_HOST_BIT_XOR;
    case OPERATOR_AND: return KERNEL_HOST_AND;
    case OPERATOR_OR: return KERNEL_HOST_OR;
    default: return -1;
    }
}

struct value host_binary(struct elaborator *e, enum ast_operator operation, struct value a, struct value b,
                         struct location at)
{
    bool comparison = operation >= OPERATOR_EQUAL && operation <= OPERATOR_GREATER_EQUAL;
    enum ir_element type = a.kind == VALUE_HOST && a.host.element == IR_F64   ? a.element
                           : b.kind == VALUE_HOST && b.host.element == IR_F64 ? b.element
                                                                              : IR_ELEMENT_COUNT;
    bool real = type != IR_ELEMENT_COUNT;
    struct value pair[2] = {host_lift(e, a, type), host_lift(e, b, type)};
    if (value_is_error(pair[0]) || value_is_error(pair[1]))
        return value_error(at);
    enum ir_element x = pair[0].host.element, y = pair[1].host.element;
    int op = host_op_of(operation, real);
    bool logical = operation == OPERATOR_AND || operation == OPERATOR_OR;
    bool bitwise = operation == OPERATOR_BIT_AND || operation == OPERATOR_BIT_OR || operation == OPERATOR_BIT_XOR;
    bool fits = op >= 0 && x == y;
    if (real)
        fits = fits && comparison;
    else if (x == IR_BOOL)
        fits = fits && (logical || bitwise || operation == OPERATOR_EQUAL || operation == OPERATOR_NOT_EQUAL);
    else
        fits = fits && !logical;
    if (a.enumeration != b.enumeration ||
        (a.enumeration && operation != OPERATOR_EQUAL && operation != OPERATOR_NOT_EQUAL))
        fits = false;
    if (!fits) {
        front_report(e, DIAGNOSTIC_E0409, at, "the wrapper cannot evaluate `%s` of %s and %s%s",
                     ast_operator_spelling(operation), front_describe(e, a), front_describe(e, b),
                     real ? "; float scalars can only be compared" : "");
        return value_error(at);
    }
    return host_operate(e, (enum kernel_host_op)op, comparison || x == IR_BOOL ? IR_BOOL : IR_I64, 2, pair, at);
}

const struct kernel_expression *host_tree(struct elaborator *e, struct value v, enum ir_element element,
                                          const struct ast_expression *source)
{
    struct value lifted = host_lift(e, v, IR_ELEMENT_COUNT);
    if (value_is_error(lifted))
        return NULL;
    if (lifted.host.element != element) {
        front_report(e, DIAGNOSTIC_E0409, v.at, "%s is needed here, not %s",
                     element == IR_BOOL ? "a condition" : "an integer", front_describe(e, v));
        return NULL;
    }
    struct kernel_expression *tree = arena_copy(e->arena, lifted.host.tree, sizeof *tree);
    if (source) {
        tree->text = front_source(e, source);
        tree->at = source->at;
    }
    return tree;
}

enum ir_element host_element(struct value v)
{
    if (v.kind == VALUE_HOST)
        return v.host.element;
    if (v.kind == VALUE_BOOL)
        return IR_BOOL;
    return v.kind == VALUE_INTEGER || v.kind == VALUE_ENUMERATOR ? IR_I64 : IR_ELEMENT_COUNT;
}

/* ---- cells ---- */

enum { SMALL_TREE = 8 };

static int count_nodes(const struct kernel_expression *tree, int limit)
{
    int count = tree ? 1 : 0;
    for (int i = 0; tree && i < 3 && count <= limit; i++)
        count += count_nodes(tree->operand[i], limit - count);
    return count;
}

struct kernel_cells *host_cells(struct elaborator *e, int count)
{
    struct kernel_cells *cells = ARENA_NEW(e->arena, struct kernel_cells);
    *cells = (struct kernel_cells){
        .number = e->front->host_cells++, .within = e->host_within, .guard = e->host_guard, .count = count};
    cells->name = ARENA_ARRAY(e->arena, const char *, count);
    for (int i = 0; i < count; i++)
        cells->name[i] = "...";
    cells->start = ARENA_ARRAY(e->arena, const struct kernel_expression *, count);
    return cells;
}

struct value host_keep(struct elaborator *e, struct value v)
{
    bool in_function = e->frame && e->frame->declaration && e->frame->declaration->kind == DECLARATION_FN;
    if (v.kind != VALUE_HOST || e->function || !in_function || count_nodes(v.host.tree, SMALL_TREE) <= SMALL_TREE)
        return v;
    struct kernel_cells *cells = host_cells(e, 1);
    cells->start[0] = v.host.tree;
    struct value kept = host_value(e, (struct kernel_expression){.op = KERNEL_HOST_CELL, .cells = cells},
                                   v.host.element, v.at);
    kept.enumeration = v.enumeration;
    return kept;
}

/* A guard is known wherever its level is: its own `and` leaves out what an outer one forbids. */
const struct kernel_expression *host_guard_enter(struct elaborator *e, struct value condition, bool holds)
{
    const struct kernel_expression *before = e->host_guard;
    if (e->function || condition.kind != VALUE_HOST || condition.host.element != IR_BOOL)
        return before;
    struct value guard = holds ? condition : host_operate(e, KERNEL_HOST_NOT, IR_BOOL, 1, &condition, condition.at);
    if (before) {
        struct value pair[2] = {guard, guard};
        pair[0].host.tree = before;
        guard = host_operate(e, KERNEL_HOST_AND, IR_BOOL, 2, pair, condition.at);
    }
    e->host_guard = NULL;
    e->host_guard = host_keep(e, guard).host.tree;
    return before;
}
