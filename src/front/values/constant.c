/* Arithmetic on values known while compiling.  Integers are exact in 128 bits until they meet a type; then they must
 * fit it. Typed constants (`const N: i32 = 4`, `i32(4)`) wrap and round as their type does when running. */
#include "base/plant.h"
#include "front/values/elaborate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The bits of an integer or real constant in an element's encoding. */
static struct value from_bits(enum ir_element element, uint64_t bits, struct location at)
{
    if (element == IR_BOOL)
        return value_bool(bits != 0, at);
    struct value v;
    if (ir_is_float(element))
        v = value_real(ir_bits_to_double(element, bits), at);
    else if (element == IR_U64)
        v = value_integer((wide_integer)bits, at);
    else
        v = value_integer(ir_bits_to_int(element, bits), at);
    v.element = element;
    return v;
}

static double wide_to_double(wide_integer number) { return (double)number; }

__extension__ typedef unsigned __int128 wide_magnitude;

/* As a double that rounds to the element as the integer itself does: what does not fit 53 bits is cut off and folded
 * into the lowest bit, so that nothing rounds twice. */
static double integer_to_double(wide_integer number, enum ir_element element)
{
    wide_magnitude magnitude = number < 0 ? -(wide_magnitude)number : (wide_magnitude)number;
    int drop = 0;
    while (element != IR_F64 && magnitude >> drop >> 53)
        drop++;
    if (!drop)
        return wide_to_double(number);
    wide_magnitude kept = magnitude >> drop;
    kept |= kept << drop != magnitude;
    return number < 0 ? -(double)(kept << drop) : (double)(kept << drop);
}

/* Whether a finite number is beyond what rounds to the largest of the element.  8-bit floats have no infinity to tell
 * it by: conversions give their largest number. */
static bool is_too_large(double number, double rounded, enum ir_element element)
{
    if (element == IR_F8E4M3)
        return fabs(number) > 464; /* 448 and half the distance to what would be next */
    if (element == IR_F8E5M2)
        return fabs(number) >= 61440; /* 57344 and half; a tie goes to what would be next */
    return isinf(rounded);
}

static struct value integer_to_element(struct elaborator *e, struct value v, enum ir_element element, bool convert)
{
    if (ir_is_float(element)) {
        double number = integer_to_double(v.integer, element);
        struct value result = from_bits(element, ir_double_to_bits(element, number), v.at);
        if (convert || !is_too_large(number, result.real.number, element))
            return result;
        struct buffer text = {0};
        value_print_wide(&text, v.integer);
        front_report(e, DIAGNOSTIC_E0502, v.at, "%s is too large for %s", text.data, ir_element_info[element].text);
        buffer_free(&text);
        return value_error(v.at);
    }
    if (element == IR_BOOL && convert)
        return value_bool(v.integer != 0, v.at);
    if (!convert && !arithmetic_fits(v.integer, element)) {
        struct buffer text = {0};
        value_print_wide(&text, v.integer);
        front_report(e, DIAGNOSTIC_E0502, v.at, "%s does not fit %s", text.data,
                     element == IR_INDEX ? "i64" : ir_element_info[element].text);
        buffer_free(&text);
        return value_error(v.at);
    }
    return from_bits(element, ir_int_to_bits(element, (int64_t)(uint64_t)v.integer), v.at);
}

static struct value real_to_element(struct elaborator *e, struct value v, enum ir_element element, bool convert)
{
    if (!ir_is_float(element)) {
        if (convert) {
            if (element == IR_BOOL)
                return value_bool(v.real.number != 0, v.at);
            return from_bits(element, ir_double_to_bits(element, v.real.number), v.at);
        }
        front_report(e, DIAGNOSTIC_E0304, v.at, "%s does not become %s by itself", front_describe(e, v),
                     element == IR_INDEX ? "i64" : ir_element_info[element].text);
        return value_error(v.at);
    }
    double number = v.real.number;
    if (element == IR_F64 && v.alone) {
        struct diagnostic *d = front_report(e, DIAGNOSTIC_W1015, v.at,
                                            "this was rounded to f32, and has no more of its digits as f64");
        front_note(e, d, v.at, "a number alone is f32: where it is named, write `f64(...)`");
    }
    if (element == IR_F32 && v.real.text && v.element == IR_ELEMENT_COUNT) {
        float rounded = strtof(v.real.text, NULL); /* from the digits: no double rounding */
        number = number < 0 ? -fabs((double)rounded) : fabs((double)rounded);
    }
    struct value result = from_bits(element, ir_double_to_bits(element, number), v.at);
    if (!convert && isfinite(v.real.number) && is_too_large(number, result.real.number, element)) {
        front_report(e, DIAGNOSTIC_E0502, v.at, "%g is too large for %s", v.real.number, ir_element_info[element].text);
        return value_error(v.at);
    }
    return result;
}

void constant_warn_tuned(struct elaborator *e, struct value v)
{
    if (v.tuned)
        front_report(e, DIAGNOSTIC_W1006, v.at,
                     "a `tune` value becomes part of the data: another schedule would give other results");
}

struct value constant_to_element(struct elaborator *e, struct value v, enum ir_element element, bool convert)
{
    if (ir_is_float(element)) {
        constant_warn_tuned(e, v);
        v.tuned = false;
    }
    if (v.kind == VALUE_INTEGER || v.kind == VALUE_REAL) {
        bool adapts = v.element == IR_ELEMENT_COUNT || convert || element_same_language(v.element, element);
        bool widens = !adapts && v.kind == VALUE_INTEGER && ir_is_integer(element) &&
                      ir_is_signed(element) == ir_is_signed(v.element) &&
                      ir_element_info[element].bits > ir_element_info[v.element].bits;
        if (v.element == element)
            return v;
        if (!adapts && !widens && v.element != element) {
            front_report(e, DIAGNOSTIC_E0304, v.at,
                         "a constant of type %s does not become %s by itself; write `%s(...)`",
                         ir_element_info[v.element].text, ir_element_info[element].text, ir_element_info[element].text);
            return value_error(v.at);
        }
        return v.kind == VALUE_INTEGER ? integer_to_element(e, v, element, convert)
                                       : real_to_element(e, v, element, convert);
    }
    if (v.kind == VALUE_BOOL) {
        if (element == IR_BOOL)
            return v;
        if (convert)
            return from_bits(element, ir_int_to_bits(element, v.truth), v.at);
    }
    if (v.kind == VALUE_ENUMERATOR && (convert || element == IR_I32))
        return from_bits(element, ir_int_to_bits(element, (int64_t)v.integer), v.at);
    if (v.kind != VALUE_ERROR)
        front_report(e, DIAGNOSTIC_E0304, v.at, "%s does not become %s", front_describe(e, v),
                     ir_element_info[element].text);
    return value_error(v.at);
}

/* ---- integers ---- */

/* Untyped constants are shifted by as much as a reader can mean. */
static bool check_distance(struct elaborator *e, enum ast_operator operation, wide_integer distance, struct location at)
{
    if (distance >= 0 && (operation == OPERATOR_SHIFT_RIGHT || distance <= 100))
        return true;
    struct buffer text = {0};
    value_print_wide(&text, distance);
    front_report(e, DIAGNOSTIC_E0505, at,
                 "constants are shifted to the left by 0 to 100, to the right by 0 or "
                 "more bits; this is %s",
                 text.data);
    buffer_free(&text);
    return false;
}

/* Of a type: as when running. */
static struct value typed_operation(enum ir_opcode opcode, enum ir_element element, wide_integer a, wide_integer b,
                                    struct location at)
{
    uint64_t left = ir_int_to_bits(element, (int64_t)(uint64_t)a), bits = 0;
    uint64_t right = ir_int_to_bits(element, (int64_t)(uint64_t)b);
    arithmetic_integer(opcode, element, left, right, &bits);
    return from_bits(element, bits, at);
}

static struct value exact_operation(struct elaborator *e, enum ir_opcode opcode, wide_integer a, wide_integer b,
                                    struct location at)
{
    wide_integer result;
    if (!arithmetic_exact(opcode, a, b, &result)) {
        front_report(e, DIAGNOSTIC_E0505, at, "the value of a constant is too large");
        return value_error(at);
    }
    result -= PLANTED(front_constant_floors) && opcode == OP_DIV && b > 0 && a < 0 && a % b != 0;
    return value_integer(result, at);
}

static struct value unsupported(struct elaborator *e, enum ast_operator operation, struct value a, struct value b,
                                struct location at)
{
    front_report(e, DIAGNOSTIC_E0306, at, "`%s` does not take %s and %s", ast_operator_spelling(operation),
                 front_describe(e, a), front_describe(e, b));
    return value_error(at);
}

static struct value binary_integer(struct elaborator *e, enum ast_operator operation, struct value a, struct value b,
                                   struct location at)
{
    int predicate = operator_predicate(operation);
    if (predicate >= 0)
        return value_bool(arithmetic_compare((enum ir_predicate)predicate, a.integer < b.integer,
                                             a.integer == b.integer, a.integer > b.integer),
                          at);
    enum ir_opcode opcode = operator_opcode(operation);
    if (opcode == OP_COUNT || operation == OPERATOR_AND || operation == OPERATOR_OR)
        return unsupported(e, operation, a, b, at);
    if (e->in_set && b.integer == 0 && (opcode == OP_DIV || opcode == OP_REM)) {
        front_report(e, DIAGNOSTIC_E0407, at, "a member of a set divides by 0 here");
        return value_error(at);
    }
    if (a.element != IR_ELEMENT_COUNT)
        return typed_operation(opcode, a.element, a.integer, b.integer, at);
    bool shift = opcode == OP_SHL || opcode == OP_SHR;
    if (shift && !check_distance(e, operation, b.integer, at))
        return value_error(at);
    return exact_operation(e, opcode, a.integer, b.integer, at);
}

static struct value binary_real(struct elaborator *e, enum ast_operator operation, struct value a, struct value b,
                                struct location at)
{
    double x = a.real.number, y = b.real.number;
    int predicate = operator_predicate(operation);
    if (predicate >= 0) {
        bool equal = x == y || (PLANTED(front_constant_nan_equals) && (isnan(x) || isnan(y)));
        return value_bool(arithmetic_compare((enum ir_predicate)predicate, x<y, equal, x> y), at);
    }
    double result;
    switch (operation) {
    case OPERATOR_ADD: result = x + y; break;
    case OPERATOR_SUBTRACT: result = x - y; break;
    case OPERATOR_MULTIPLY: result = x * y; break;
    case OPERATOR_DIVIDE: result = x / y; break;
    case OPERATOR_REMAINDER: result = fmod(x, y); break;
    default: return unsupported(e, operation, a, b, at);
    }
    struct value v = value_real(result, at);
    return a.element == IR_ELEMENT_COUNT ? v : from_bits(a.element, ir_double_to_bits(a.element, result), at);
}

bool constant_meet(struct elaborator *e, struct value *a, struct value *b)
{
    enum ir_element element = a->element != IR_ELEMENT_COUNT ? a->element : b->element;
    if (a->element != IR_ELEMENT_COUNT && b->element != IR_ELEMENT_COUNT && ir_is_integer(a->element) &&
        ir_is_integer(b->element) && ir_element_info[b->element].bits > ir_element_info[a->element].bits)
        element = b->element;
    if (element != IR_ELEMENT_COUNT) {
        *a = constant_to_element(e, *a, element, false);
        *b = constant_to_element(e, *b, element, false);
        return !value_is_error(*a) && !value_is_error(*b);
    }
    if (a->kind == VALUE_INTEGER && b->kind == VALUE_REAL)
        *a = value_real(wide_to_double(a->integer), a->at);
    if (b->kind == VALUE_INTEGER && a->kind == VALUE_REAL)
        *b = value_real(wide_to_double(b->integer), b->at);
    return true;
}

/* A shift keeps the type of its left side, as when running (operator.c). */
static bool meet_shift(struct elaborator *e, const struct value *a, struct value *b, struct location at)
{
    if (a->element == IR_ELEMENT_COUNT || b->element == a->element)
        return true;
    bool typed = b->element != IR_ELEMENT_COUNT;
    if (typed && ir_element_info[b->element].bits > ir_element_info[a->element].bits) {
        front_report(e, DIAGNOSTIC_E0304, at, "the distance of a shift is wider than the value; convert it");
        return false;
    }
    *b = constant_to_element(e, *b, a->element, typed);
    return !value_is_error(*b);
}

static struct value binary_tuple(struct elaborator *e, enum ast_operator operation, struct value a, struct value b,
                                 struct location at)
{
    if (a.list.count != b.list.count)
        return unsupported(e, operation, a, b, at);
    bool equal = true;
    for (int i = 0; i < a.list.count; i++) {
        struct value same = constant_binary(e, OPERATOR_EQUAL, a.list.data[i], b.list.data[i], at);
        if (value_is_error(same))
            return same;
        equal = equal && same.truth;
    }
    return value_bool(equal == (operation == OPERATOR_EQUAL), at);
}

struct value constant_binary(struct elaborator *e, enum ast_operator operation, struct value a, struct value b,
                             struct location at)
{
    bool equality = operation == OPERATOR_EQUAL || operation == OPERATOR_NOT_EQUAL;
    bool numbers = (a.kind == VALUE_INTEGER || a.kind == VALUE_REAL) &&
                   (b.kind == VALUE_INTEGER || b.kind == VALUE_REAL);
    if (numbers) {
        bool tuned = a.tuned || b.tuned, alone = a.alone || b.alone;
        bool shift = (operation == OPERATOR_SHIFT_LEFT || operation == OPERATOR_SHIFT_RIGHT) &&
                     a.kind == VALUE_INTEGER && b.kind == VALUE_INTEGER;
        shift = shift && !PLANTED(front_shift_in_type_of_distance);
        if (!(shift ? meet_shift(e, &a, &b, at) : constant_meet(e, &a, &b)))
            return value_error(at);
        struct value result = a.kind == VALUE_INTEGER ? binary_integer(e, operation, a, b, at)
                                                      : binary_real(e, operation, a, b, at);
        result.tuned = tuned;
        result.alone = alone && result.kind == VALUE_REAL;
        return result;
    }
    if (equality && a.kind == b.kind) {
        if (a.kind == VALUE_TUPLE)
            return binary_tuple(e, operation, a, b, at);
        if (a.kind == VALUE_TYPE || a.kind == VALUE_BOOL ||
            (a.kind == VALUE_ENUMERATOR && a.enumeration == b.enumeration))
            return value_bool(value_same(a, b) == (operation == OPERATOR_EQUAL), at);
    }
    if (a.kind == VALUE_BOOL && b.kind == VALUE_BOOL)
        switch (operation) {
        case OPERATOR_AND:
        case OPERATOR_BIT_AND: return value_bool(a.truth && b.truth, at);
        case OPERATOR_OR:
        case OPERATOR_BIT_OR: return value_bool(a.truth || b.truth, at);
        case OPERATOR_BIT_XOR: return value_bool(a.truth != b.truth, at);
        default: break;
        }
    return unsupported(e, operation, a, b, at);
}

struct value constant_unary(struct elaborator *e, enum ast_operator operation, struct value a, struct location at)
{
    if (operation == OPERATOR_NOT && a.kind == VALUE_BOOL)
        return value_bool(!a.truth, at);
    if (operation == OPERATOR_BIT_NOT && a.kind == VALUE_BOOL)
        return value_bool(!a.truth, at);
    if (operation == OPERATOR_NEGATE && a.kind == VALUE_REAL) {
        struct value v = a;
        v.at = at;
        v.real.number = -a.real.number;
        return v;
    }
    if (a.kind == VALUE_INTEGER && (operation == OPERATOR_NEGATE || operation == OPERATOR_BIT_NOT)) {
        enum ir_opcode opcode = operation == OPERATOR_NEGATE ? OP_NEG : OP_NOT;
        struct value result = a.element != IR_ELEMENT_COUNT ? typed_operation(opcode, a.element, a.integer, 0, at)
                                                            : exact_operation(e, opcode, a.integer, 0, at);
        result.tuned = a.tuned;
        return result;
    }
    front_report(e, DIAGNOSTIC_E0306, at, "`%s` does not take %s", ast_operator_spelling(operation),
                 front_describe(e, a));
    return value_error(at);
}

bool constant_read(const char *text, struct location at, struct value *value)
{
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) {
        *value = value_bool(text[0] == 't', at);
        return true;
    }
    char *end;
    errno = 0;
    long long integer = strtoll(text, &end, 0);
    if (*text && !*end && !errno) {
        *value = value_integer(integer, at);
        return true;
    }
    if (*text && !*end) { /* an integer that i64 does not hold: u64 may */
        errno = 0;
        unsigned long long large = strtoull(text, &end, 0);
        *value = value_integer((wide_integer)large, at);
        return !errno && !strchr(text, '-');
    }
    double real = strtod(text, &end);
    if (!*text || *end)
        return false;
    *value = value_real(real, at);
    return true;
}
