/* Operators on values of every kind: constants fold, host trees grow, IR values become operations. */
#include "base/plant.h"
#include "front/values/elaborate.h"

#include <string.h>

static struct value refuse(struct elaborator *e, enum ast_operator operation, struct value a, struct value b,
                           struct location at)
{
    struct diagnostic *d = front_report(e, DIAGNOSTIC_E0306, at, "`%s` does not take %s and %s",
                                        ast_operator_spelling(operation), front_describe(e, a), front_describe(e, b));
    front_note_shape(e, d, a, "the left side");
    front_note_shape(e, d, b, "the right side");
    return value_error(at);
}

int operator_predicate(enum ast_operator operation)
{
    switch (operation) {
    case OPERATOR_EQUAL: return IR_PREDICATE_EQ;
    case OPERATOR_NOT_EQUAL: return IR_PREDICATE_NE;
    case OPERATOR_LESS: return IR_PREDICATE_LT;
    case OPERATOR_GREATER: return IR_PREDICATE_GT;
    case OPERATOR_LESS_EQUAL: return IR_PREDICATE_LE;
    case OPERATOR_GREATER_EQUAL: return IR_PREDICATE_GE;
    default: return -1;
    }
}

enum ir_opcode operator_opcode(enum ast_operator operation)
{
    switch (operation) {
    case OPERATOR_ADD: return OP_ADD;
    case OPERATOR_SUBTRACT: return OP_SUB;
    case OPERATOR_MULTIPLY: return OP_MUL;
    case OPERATOR_DIVIDE: return OP_DIV;
    case OPERATOR_REMAINDER: return OP_REM;
    case OPERATOR_BIT_AND:
    case OPERATOR_AND: return OP_AND;
    case OPERATOR_BIT_OR:
    case OPERATOR_OR: return OP_OR;
    case OPERATOR_BIT_XOR: return OP_XOR;
    case OPERATOR_SHIFT_LEFT: return OP_SHL;
    case OPERATOR_SHIFT_RIGHT: return OP_SHR;
    default: return OP_COUNT;
    }
}

/* Whether the operator means something on the element. */
static bool takes_element(enum ast_operator operation, enum ir_element element, bool is_enum)
{
    bool equality = operation == OPERATOR_EQUAL || operation == OPERATOR_NOT_EQUAL;
    if (is_enum || element == IR_POINTER)
        return equality;
    switch (operation) {
    case OPERATOR_ADD:
    case OPERATOR_SUBTRACT:
    case OPERATOR_MULTIPLY:
    case OPERATOR_DIVIDE:
    case OPERATOR_REMAINDER:
        return ir_is_integer(element) || (ir_is_float(element) && element != IR_F8E4M3 && element != IR_F8E5M2);
    case OPERATOR_BIT_AND:
    case OPERATOR_BIT_OR:
    case OPERATOR_BIT_XOR: return ir_is_integer(element) || element == IR_BOOL;
    case OPERATOR_SHIFT_LEFT:
    case OPERATOR_SHIFT_RIGHT: return ir_is_integer(element);
    case OPERATOR_AND:
    case OPERATOR_OR: return element == IR_BOOL;
    default: return element != IR_BOOL || equality;
    }
}

static struct value pointer_add(struct elaborator *e, struct value pointer, struct value offset, bool negative,
                                struct location at)
{
    struct value pair[2] = {pointer, value_is_constant(offset) ? value_materialize(e, offset) : offset};
    if (pair[1].kind != VALUE_RUN || !ir_is_integer(pair[1].run->type->element)) {
        front_report(e, DIAGNOSTIC_E0306, at, "a pointer moves by integers, not by %s", front_describe(e, offset));
        return value_error(at);
    }
    if (!ir_is_signed(pair[1].run->type->element))
        pair[1].run = ir_cast(&e->builder, pair[1].run, IR_I64);
    if (!convert_broadcast(e, 2, pair, "pointer arithmetic", at))
        return value_error(at);
    if (negative) {
        pair[1].run = ir_cast(&e->builder, pair[1].run, IR_I64);
        pair[1].run = ir_unary(&e->builder, OP_NEG, pair[1].run);
    }
    struct ir_value *operands[2] = {pair[0].run, pair[1].run};
    struct value result = value_run(ir_build_value(&e->builder, OP_POINTER_ADD, pair[0].run->type, 2, operands), at);
    result.origin = pair[0].origin;
    return result;
}

static bool is_pointer(struct value v) { return v.kind == VALUE_RUN && v.run->type->element == IR_POINTER; }

/* Shifts keep the type of the left side; the distance may be any integer. */
static struct value shift(struct elaborator *e, enum ast_operator operation, struct value a, struct value b,
                          struct location at)
{
    if (value_is_constant(a))
        a = value_materialize(e, a);
    if (a.kind != VALUE_RUN || !ir_is_integer(a.run->type->element))
        return refuse(e, operation, a, b, at);
    enum ir_element element = a.run->type->element;
    if (value_is_constant(b)) {
        if (b.kind != VALUE_INTEGER || b.element == IR_ELEMENT_COUNT)
            b = constant_to_element(e, b, element, false);
        if (value_is_error(b))
            return b;
        b = value_materialize(e, b);
    }
    if (b.kind != VALUE_RUN || !ir_is_integer(b.run->type->element))
        return refuse(e, operation, a, b, at);
    if (b.run->type->element != element) {
        if (ir_element_info[b.run->type->element].bits > ir_element_info[element].bits) {
            front_report(e, DIAGNOSTIC_E0304, at, "the distance of a shift is wider than the value; convert it");
            return value_error(at);
        }
        b.run = ir_cast(&e->builder, b.run, element);
    }
    struct value pair[2] = {a, b};
    if (!convert_broadcast(e, 2, pair, "shift", at))
        return value_error(at);
    struct value result = value_run(ir_binary(&e->builder, operator_opcode(operation), pair[0].run, pair[1].run), at);
    result.origin = pair[0].origin;
    return result;
}

static struct value binary_run(struct elaborator *e, enum ast_operator operation, struct value a, struct value b,
                               struct location at)
{
    if (is_pointer(a) && (operation == OPERATOR_ADD || operation == OPERATOR_SUBTRACT) && !is_pointer(b))
        return pointer_add(e, a, b, operation == OPERATOR_SUBTRACT, at);
    if (is_pointer(b) && operation == OPERATOR_ADD)
        return pointer_add(e, b, a, false, at);
    if (operation == OPERATOR_SHIFT_LEFT || operation == OPERATOR_SHIFT_RIGHT)
        return shift(e, operation, a, b, at);
    struct value pair[2] = {a, b};
    struct buffer what = {0};
    buffer_printf(&what, "`%s`", ast_operator_spelling(operation));
    bool agree = convert_unify(e, 2, pair, what.data, at);
    buffer_free(&what);
    if (!agree)
        return value_error(at);
    if (!takes_element(operation, pair[0].run->type->element, pair[0].enumeration || pair[1].enumeration))
        return refuse(e, operation, a, b, at);
    int predicate = operator_predicate(operation);
    struct ir_value *run = predicate >= 0
                               ? ir_compare(&e->builder, (enum ir_predicate)predicate, pair[0].run, pair[1].run)
                               : ir_binary(&e->builder, operator_opcode(operation), pair[0].run, pair[1].run);
    struct value result = value_run(run, at);
    result.origin = pair[0].origin;
    return result;
}

/* ---- @ ---- */

static bool dot_elements(enum ir_element a, enum ir_element b, enum ir_element *result)
{
    bool fp8 = (a == IR_F8E4M3 || a == IR_F8E5M2) && (b == IR_F8E4M3 || b == IR_F8E5M2);
    if (a != b && !fp8)
        return false;
    switch (a) {
    case IR_F16:
    case IR_BF16:
    case IR_F32:
    case IR_F8E4M3:
    case IR_F8E5M2: *result = IR_F32; return true;
    case IR_F64: *result = IR_F64; return true;
    case IR_I8:
    case IR_U8: *result = IR_I32; return true;
    default: return false;
    }
}

/* `left` and `right`: the dimensions whose extents do not fit; -1: it is not about extents. */
static struct diagnostic *refuse_dot(struct elaborator *e, struct value a, struct value b, int left, int right,
                                     const char *why, struct location at)
{
    struct diagnostic *d = front_report(e, DIAGNOSTIC_E0316, at, "`@` does not take %s and %s: %s",
                                        front_describe(e, a), front_describe(e, b), why);
    front_note_side(e, d, a, "the left side", left);
    front_note_side(e, d, b, "the right side", right);
    if (value_is_tile(a) && value_is_tile(b) && a.run->type->rank == 1 && b.run->type->rank == 1)
        front_note(e, d, at, "the inner product of two rows is `sum(a * b)`");
    return d;
}

static struct value report_dot(struct elaborator *e, struct value a, struct value b, const char *why,
                               struct location at)
{
    refuse_dot(e, a, b, -1, -1, why, at);
    return value_error(at);
}

static void propose_trans(struct elaborator *e, struct diagnostic *d, struct value side, const char *name)
{
    front_note(e, d, side.at, "with `trans(...)` round the %s side they agree", name);
    if (!side.at.source || side.at.end_column <= side.at.column)
        return;
    struct location begin = side.at, end = side.at;
    begin.end_column = begin.column;
    end.column = end.end_column;
    front_fixit(e, d, begin, FIXIT_PROBABLE, "trans(");
    front_fixit(e, d, end, FIXIT_PROBABLE, ")");
}

static const struct origin *dot_origin(struct elaborator *e, struct value a, struct value b, int rank)
{
    struct origin *origin = ARENA_NEW(e->arena, struct origin);
    if (a.origin)
        *origin = *a.origin;
    if (b.origin)
        origin->extent[rank - 1] = b.origin->extent[rank - 1];
    else
        origin->extent[rank - 1].text = NULL;
    return origin;
}

struct value operate_dot(struct elaborator *e, struct value a, struct value b, struct value *accumulator, int precision,
                         int promote, struct location at)
{
    if (value_is_error(a) || value_is_error(b))
        return value_error(at);
    if (!value_is_tile(a) || !value_is_tile(b))
        return report_dot(e, a, b, "both sides are tiles", at);
    const struct ir_type *x = a.run->type, *y = b.run->type;
    enum ir_element element;
    if (!dot_elements(x->element, y->element, &element))
        return report_dot(e, a, b, "the elements are equal and of f16, bf16, f32, f64, i8, u8 or fp8 types", at);
    int rank = x->rank;
    if (rank < 2 || y->rank != rank)
        return report_dot(e, a, b, "ranks are equal and 2 or more", at);
    if (x->extent[rank - 1] != y->extent[rank - 2]) {
        struct diagnostic *wrong = refuse_dot(
            e, a, b, rank - 1, rank - 2, "the last extent on the left is the one before the last on the right", at);
        if (x->extent[rank - 1] == y->extent[rank - 1])
            propose_trans(e, wrong, b, "right");
        else if (x->extent[rank - 2] == y->extent[rank - 2])
            propose_trans(e, wrong, a, "left");
        return value_error(at);
    }
    int64_t extent[IR_MAX_RANK] = {0};
    for (int d = 0; d < rank - 2; d++) {
        if (x->extent[d] != y->extent[d]) {
            refuse_dot(e, a, b, d, d, "the leading extents are a batch and equal", at);
            return value_error(at);
        }
        extent[d] = x->extent[d];
    }
    extent[rank - 2] = x->extent[rank - 2];
    extent[rank - 1] = y->extent[rank - 1];
    const struct ir_type *type = ir_type_tile(e->context, element, rank, extent);
    struct ir_value *start;
    const struct origin *origin = dot_origin(e, a, b, rank);
    if (accumulator)
        start = convert_to_type_from(e, *accumulator, type, origin, false, "the accumulator of a product");
    else
        start = ir_constant_bits(&e->builder, type, 0);
    if (!start)
        return value_error(at);
    struct ir_value *operands[3] = {a.run, b.run, start};
    struct value result = value_run(ir_build_value(&e->builder, OP_DOT, type, 3, operands), at);
    if (precision < 0)
        precision = x->element == IR_F32 ? (int)e->front->options->f32_dot : IR_PRECISION_IEEE;
    if (precision > 0)
        ir_set_number(result.run->definition, IR_ATTRIBUTE_PRECISION, precision);
    if (promote > 0)
        ir_set_number(result.run->definition, IR_ATTRIBUTE_PROMOTE, promote);
    result.origin = origin;
    return result;
}

/* s * a @ b is (s*a) @ b: in 16 bits the product is rounded before the sum, which is seldom meant. */
static void warn_scaled(struct elaborator *e, struct value a, struct location at)
{
    const struct ir_operation *made = a.kind == VALUE_RUN ? a.run->definition : NULL;
    if (!made || made->opcode != OP_MUL || ir_element_info[a.run->type->element].bits > 16)
        return;
    for (int i = 0; i < 2; i++)
        if (made->operands[i]->definition && made->operands[i]->definition->opcode == OP_SPLAT)
            front_report(
                e, DIAGNOSTIC_W1003, at,
                "this is (s * a) @ b: the scaled operand is rounded to %s before the product; write s * (a @ b)",
                ir_element_info[a.run->type->element].text);
}

/* ---- dispatch ---- */

static struct value binary_tuples(struct elaborator *e, enum ast_operator operation, struct value a, struct value b,
                                  struct location at)
{
    if ((operation != OPERATOR_EQUAL && operation != OPERATOR_NOT_EQUAL) || a.list.count != b.list.count)
        return refuse(e, operation, a, b, at);
    struct value all = value_bool(true, at);
    for (int i = 0; i < (PLANTED(front_structs_equal_by_first) ? 1 : a.list.count); i++) {
        struct value same = operate_binary(e, OPERATOR_EQUAL, a.list.data[i], b.list.data[i], at);
        all = operate_binary(e, OPERATOR_AND, all, same, at);
    }
    return operation == OPERATOR_EQUAL ? all : operate_unary(e, OPERATOR_NOT, all, at);
}

/* `and` and `or` with a side known while compiling; one on the right that decides for a tile leaves it a tile. */
static bool decide_logical(enum ast_operator operation, struct value a, struct value b, struct value *result)
{
    if (operation != OPERATOR_AND && operation != OPERATOR_OR)
        return false;
    bool absorbing = operation == OPERATOR_OR;
    if (b.kind == VALUE_BOOL && b.truth == absorbing && value_is_tile(a))
        return false;
    if (a.kind == VALUE_BOOL && (b.kind == VALUE_RUN || b.kind == VALUE_HOST)) {
        *result = a.truth == absorbing ? a : b;
        return true;
    }
    if (b.kind == VALUE_BOOL && (a.kind == VALUE_RUN || a.kind == VALUE_HOST)) {
        *result = b.truth == absorbing ? b : a;
        return true;
    }
    return false;
}

struct value operate_binary(struct elaborator *e, enum ast_operator operation, struct value a, struct value b,
                            struct location at)
{
    if (value_is_error(a) || value_is_error(b))
        return value_error(at);
    if (a.structure != b.structure)
        return refuse(e, operation, a, b, at);
    struct value decided;
    if (decide_logical(operation, a, b, &decided)) {
        struct value other = decided.kind == VALUE_BOOL ? (a.kind == VALUE_BOOL ? b : a) : decided;
        if ((other.kind == VALUE_RUN ? other.run->type->element : other.host.element) != IR_BOOL)
            return refuse(e, operation, a, b, at);
        return decided;
    }
    if (value_is_constant(a) && value_is_constant(b))
        return constant_binary(e, operation, a, b, at);
    if (a.kind == VALUE_HOST || b.kind == VALUE_HOST)
        return host_binary(e, operation, a, b, at);
    if (a.kind == VALUE_TUPLE && b.kind == VALUE_TUPLE)
        return binary_tuples(e, operation, a, b, at);
    bool left = a.kind == VALUE_RUN || value_is_constant(a) || a.kind == VALUE_NULL;
    bool right = b.kind == VALUE_RUN || value_is_constant(b) || b.kind == VALUE_NULL;
    if (!left || !right || a.kind == VALUE_TUPLE || b.kind == VALUE_TUPLE)
        return refuse(e, operation, a, b, at);
    if (operation == OPERATOR_MATRIX_MULTIPLY) {
        warn_scaled(e, a, at);
        return operate_dot(e, a, b, NULL, -1, 0, at);
    }
    return binary_run(e, operation, a, b, at);
}

struct value operate_unary(struct elaborator *e, enum ast_operator operation, struct value a, struct location at)
{
    if (value_is_error(a))
        return a;
    if (value_is_constant(a))
        return constant_unary(e, operation, a, at);
    if (a.kind == VALUE_HOST) {
        if (operation == OPERATOR_NEGATE && a.host.element == IR_I64)
            return host_operate(e, KERNEL_HOST_NEG, IR_I64, 1, &a, at);
        if (operation == OPERATOR_BIT_NOT && a.host.element == IR_I64)
            return host_operate(e, KERNEL_HOST_BIT_NOT, IR_I64, 1, &a, at);
        if (operation != OPERATOR_NEGATE && a.host.element == IR_BOOL)
            return host_operate(e, KERNEL_HOST_NOT, IR_BOOL, 1, &a, at);
    }
    if (a.kind == VALUE_RUN && !a.enumeration) {
        enum ir_element element = a.run->type->element;
        bool fits = operation == OPERATOR_NOT       ? element == IR_BOOL
                    : operation == OPERATOR_BIT_NOT ? ir_is_integer(element) || element == IR_BOOL
                                                    : takes_element(OPERATOR_SUBTRACT, element, false);
        if (fits) {
            struct value result = value_run(
                ir_unary(&e->builder, operation == OPERATOR_NEGATE ? OP_NEG : OP_NOT, a.run), at);
            result.origin = a.origin;
            return result;
        }
    }
    struct diagnostic *d = front_report(e, DIAGNOSTIC_E0306, at, "`%s` does not take %s",
                                        ast_operator_spelling(operation), front_describe(e, a));
    front_note_shape(e, d, a, "this");
    return value_error(at);
}
