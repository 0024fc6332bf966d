/* Conversions.  Implicit ones are few: constants adapt to what they meet, integers of one signedness widen, scalars go
 * with all tiles, extents of 1 stretch.  Explicit ones are calls of types. */
#include "front/values/elaborate.h"

#include <math.h>
#include <string.h>

bool element_same_language(enum ir_element a, enum ir_element b)
{
    if (a == IR_INDEX)
        a = IR_I64;
    if (b == IR_INDEX)
        b = IR_I64;
    return a == b;
}

static const char *element_word(enum ir_element element)
{
    return element == IR_INDEX ? "i64" : ir_element_info[element].text;
}

const struct ir_type *shape_like(struct elaborator *e, const struct ir_type *like, enum ir_element element)
{
    return ir_type_with_element(e->context, like, element);
}

struct value value_materialize(struct elaborator *e, struct value v)
{
    enum ir_element element = v.element;
    if (v.kind == VALUE_INTEGER && element == IR_ELEMENT_COUNT)
        element = arithmetic_fits(v.integer, IR_INDEX) ? IR_INDEX : IR_U64;
    else if (v.kind == VALUE_REAL && element == IR_ELEMENT_COUNT)
        element = IR_F32;
    else if (v.kind == VALUE_BOOL)
        element = IR_BOOL;
    else if (v.kind == VALUE_ENUMERATOR)
        element = IR_I32;
    else if (v.kind != VALUE_INTEGER && v.kind != VALUE_REAL)
        return v;
    if (!e->function) {
        front_report(e, DIAGNOSTIC_E0409, v.at,
                     "there are no tiles here: only what is known when compiling, or to the wrapper");
        return value_error(v.at);
    }
    struct value typed = constant_to_element(e, v, element, false);
    if (value_is_error(typed))
        return typed;
    const struct ir_type *type = ir_type_scalar(e->context, element);
    struct ir_value *run;
    if (typed.kind == VALUE_REAL && isinf(typed.real.number)) /* of 8 bits, too: it has been converted already */
        run = ir_constant_bits(&e->builder, type, ir_infinity_bits(element, typed.real.number < 0));
    else if (typed.kind == VALUE_REAL)
        run = ir_constant_float(&e->builder, type, typed.real.number);
    else if (typed.kind == VALUE_BOOL)
        run = ir_constant_int(&e->builder, type, typed.truth);
    else
        run = ir_constant_int(&e->builder, type, (int64_t)(uint64_t)typed.integer);
    struct value result = value_run(run, v.at);
    result.enumeration = v.enumeration;
    return result;
}

static bool widens(enum ir_element from, enum ir_element to)
{
    return ir_is_integer(from) && ir_is_integer(to) && ir_is_signed(from) == ir_is_signed(to) &&
           ir_element_info[from].bits < ir_element_info[to].bits;
}

static void report_conversion(struct elaborator *e, struct value v, enum ir_element element, const char *what)
{
    enum ir_element from = v.run->type->element;
    bool mixed = ir_is_integer(from) && ir_is_integer(element) && ir_is_signed(from) != ir_is_signed(element);
    struct diagnostic *d;
    if (from == IR_POINTER)
        d = front_report(e, DIAGNOSTIC_E0304, v.at,
                         "%s: %s does not become %s; `let p = ...; load(p)` reads what the pointer points to", what,
                         front_describe(e, v), element_word(element));
    else
        d = front_report(e, mixed ? DIAGNOSTIC_E0305 : DIAGNOSTIC_E0304, v.at,
                         "%s: %s does not become %s by itself; write `%s(...)`", what, front_describe(e, v),
                         element_word(element), element_word(element));
    front_note_shape(e, d, v, "this");
}

struct ir_value *convert_to_element(struct elaborator *e, struct value v, enum ir_element element, const char *what)
{
    if (value_is_error(v))
        return NULL;
    if (v.kind == VALUE_NULL && element == IR_POINTER)
        return NULL;
    if (value_is_constant(v)) {
        struct value typed = constant_to_element(e, v, element, false);
        if (value_is_error(typed))
            return NULL;
        return value_materialize(e, typed).run;
    }
    if (v.kind != VALUE_RUN) {
        struct diagnostic *d = front_report(e, DIAGNOSTIC_E0310, v.at, "%s: a value is needed here, not %s", what,
                                            front_describe(e, v));
        if (v.kind == VALUE_LIST)
            front_note(
                e, d, v.at,
                "a list is no tile: tiles are put behind each other by `cat(a, b)`, and one of a single value is "
                "`f32[64](v)`");
        return NULL;
    }
    enum ir_element from = v.run->type->element;
    if (from == element)
        return v.run;
    if (element_same_language(from, element) || (widens(from, element) && !v.enumeration))
        return ir_cast(&e->builder, v.run, element);
    report_conversion(e, v, element, what);
    return NULL;
}

static bool stretches(const struct ir_type *from, int rank, const int64_t *extent)
{
    if (from->rank == 0)
        return true;
    if (from->rank != rank)
        return false;
    for (int d = 0; d < rank; d++)
        if (from->extent[d] != extent[d] && from->extent[d] != 1)
            return false;
    return true;
}

struct ir_value *convert_to_type(struct elaborator *e, struct value v, const struct ir_type *type, bool stretch,
                                 const char *what)
{
    return convert_to_type_from(e, v, type, NULL, stretch, what);
}

struct ir_value *convert_to_type_from(struct elaborator *e, struct value v, const struct ir_type *type,
                                      const struct origin *origin, bool stretch, const char *what)
{
    if (type->element == IR_POINTER) {
        if (v.kind == VALUE_NULL) {
            struct ir_value *zero = ir_constant_bits(&e->builder, shape_like(e, type, IR_I64), 0);
            return ir_build_value(&e->builder, OP_BITCAST, type, 1, &zero);
        }
        if (v.kind != VALUE_RUN || v.run->type->element != IR_POINTER || v.run->type->pointee != type->pointee ||
            (v.run->type->pointee_const && !type->pointee_const)) {
            struct diagnostic *d = NULL;
            if (!value_is_error(v))
                d = front_report(e, DIAGNOSTIC_E0301, v.at, "%s: expected %s, got %s", what, front_type_text(e, type),
                                 front_describe(e, v));
            if (v.kind != VALUE_RUN || v.run->type->element != IR_POINTER)
                front_note(e, d, v.at, "what a pointer `p` points to is written by `store(p, value)`");
            return NULL;
        }
    } else {
        struct ir_value *run = convert_to_element(e, v, type->element, what);
        if (!run)
            return NULL;
        v.run = run;
        v.kind = VALUE_RUN;
    }
    if (ir_type_same_shape(v.run->type, type))
        return v.run;
    if ((stretch || v.run->type->rank == 0) && stretches(v.run->type, type->rank, type->extent))
        return ir_broadcast(&e->builder, v.run, type->rank, type->extent);
    struct diagnostic *d = front_report(e, DIAGNOSTIC_E0302, v.at, "%s: expected the shape of %s, got %s", what,
                                        front_type_text(e, type), front_describe(e, v));
    front_note_shape(e, d, v, "this");
    front_note_extents(e, d, type, origin, "the expected");
    return NULL;
}

struct ir_value *convert_to_memory(struct elaborator *e, struct value v, const struct ir_type *type,
                                   const struct origin *origin, const char *what)
{
    enum ir_element from = v.kind == VALUE_RUN ? v.run->type->element : type->element;
    if (!element_same_language(from, type->element) && widens(from, type->element) && !v.enumeration) {
        const char *word = element_word(type->element);
        struct diagnostic *d = front_report(e, DIAGNOSTIC_E0304, v.at,
                                            "%s is %s, the elements are %s: nothing converts on its way to memory",
                                            what, front_describe(e, v), word);
        front_note(e, d, v.at, "convert it: `%s(...)`", word);
        return NULL;
    }
    return convert_to_type_from(e, v, type, origin, true, what);
}

struct ir_value *convert_to_index(struct elaborator *e, struct value v, const char *what)
{
    if (value_is_error(v))
        return NULL;
    if (v.kind == VALUE_INTEGER) {
        struct value typed = constant_to_element(e, v, IR_INDEX, true);
        return value_is_error(typed) ? NULL : value_materialize(e, typed).run;
    }
    if (v.kind == VALUE_RUN && v.run->type->rank == 0 && ir_is_integer(v.run->type->element) && !v.enumeration)
        return ir_cast(&e->builder, v.run, IR_INDEX);
    front_report(e, DIAGNOSTIC_E0301, v.at, "%s: an integer is needed here, not %s", what, front_describe(e, v));
    return NULL;
}

/* ---- several values to one type ---- */

/* The element that all run-time values go to; IR_ELEMENT_COUNT when there is none; false when they do not agree. */
static bool common_element(struct elaborator *e, int count, struct value *values, const char *what, struct location at,
                           enum ir_element *common)
{
    *common = IR_ELEMENT_COUNT;
    for (int i = 0; i < count; i++) {
        if (values[i].kind != VALUE_RUN && !(value_is_constant(values[i]) && values[i].element != IR_ELEMENT_COUNT &&
                                             values[i].kind != VALUE_ENUMERATOR))
            continue;
        enum ir_element element = values[i].kind == VALUE_RUN ? values[i].run->type->element : values[i].element;
        if (*common == IR_ELEMENT_COUNT || widens(*common, element) ||
            (element_same_language(*common, element) && *common == IR_INDEX))
            *common = element;
        else if (*common != element && !widens(element, *common) && !element_same_language(element, *common)) {
            bool mixed = ir_is_integer(element) && ir_is_integer(*common);
            bool wider = ir_element_info[element].bits > ir_element_info[*common].bits || !ir_is_float(*common);
            enum ir_element asked = ir_is_float(element) && wider ? element : *common;
            struct diagnostic *d = front_report(
                e, mixed ? DIAGNOSTIC_E0305 : DIAGNOSTIC_E0304, at,
                "%s: %s and %s do not go together; convert one of them, such as `%s(...)`", what, element_word(*common),
                element_word(element), element_word(asked));
            for (int j = 0; j < count; j++)
                if (values[j].kind == VALUE_RUN) /* extents do not matter here */
                    front_note(e, d, values[j].at, "the %s side is %s", j ? "right" : "left",
                               front_describe(e, values[j]));
            return false;
        }
    }
    return true;
}

static bool same_enumeration(struct elaborator *e, int count, struct value *values, const char *what,
                             struct location at)
{
    const struct enumeration *enumeration = NULL;
    bool plain = false;
    for (int i = 0; i < count; i++) {
        if (!values[i].enumeration)
            plain = true;
        else if (enumeration && enumeration != values[i].enumeration)
            plain = true;
        else
            enumeration = values[i].enumeration;
    }
    if (!enumeration || !plain)
        return true;
    front_report(e, DIAGNOSTIC_E0301, at, "%s: the members of `%s` only go with each other", what, enumeration->name);
    return false;
}

static bool unify_pointers(struct elaborator *e, int count, struct value *values, const char *what)
{
    const struct ir_type *type = NULL;
    for (int i = 0; i < count; i++)
        if (values[i].kind == VALUE_RUN && (!type || !values[i].run->type->pointee_const))
            type = values[i].run->type;
    for (int i = 0; i < count; i++) {
        const struct ir_type *wanted = type;
        if (values[i].kind == VALUE_RUN)
            wanted = ir_type_with_shape(e->context, type, values[i].run->type->rank, values[i].run->type->extent);
        else
            wanted = ir_type_with_shape(e->context, type, 0, NULL);
        struct ir_value *run = convert_to_type(e, values[i], wanted, false, what);
        if (!run)
            return false;
        values[i].run = run;
        values[i].kind = VALUE_RUN;
    }
    return true;
}

/* One element for all, with the defaults for constants alone. */
bool convert_common_element(struct elaborator *e, int count, struct value *values, const char *what, struct location at,
                            enum ir_element *element)
{
    bool real = false;
    for (int i = 0; i < count; i++) {
        if (value_is_error(values[i]))
            return false;
        if (!value_is_run(values[i]) && !value_is_constant(values[i]) && values[i].kind != VALUE_NULL) {
            front_report(e, DIAGNOSTIC_E0310, values[i].at, "%s: a value is needed here, not %s", what,
                         front_describe(e, values[i]));
            return false;
        }
        if (values[i].kind == VALUE_REAL)
            real = true;
    }
    if (!same_enumeration(e, count, values, what, at) || !common_element(e, count, values, what, at, element))
        return false;
    if (*element == IR_ELEMENT_COUNT)
        *element = real                                 ? IR_F32
                   : values[0].kind == VALUE_BOOL       ? IR_BOOL
                   : values[0].kind == VALUE_ENUMERATOR ? IR_I32
                                                        : IR_INDEX;
    return true;
}

bool convert_unify_elements(struct elaborator *e, int count, struct value *values, const char *what, struct location at)
{
    enum ir_element element;
    if (!convert_common_element(e, count, values, what, at, &element))
        return false;
    if (element == IR_POINTER)
        return unify_pointers(e, count, values, what);
    for (int i = 0; i < count; i++) {
        struct ir_value *run = convert_to_element(e, values[i], element, what);
        if (!run)
            return false;
        values[i].kind = VALUE_RUN;
        values[i].run = run;
        values[i].element = element;
    }
    return true;
}

bool convert_unify(struct elaborator *e, int count, struct value *values, const char *what, struct location at)
{
    return convert_unify_elements(e, count, values, what, at) && convert_broadcast(e, count, values, what, at);
}

/* The extents of `dimension` do not agree; -1: the ranks do not. */
static bool report_shapes(struct elaborator *e, int count, struct value *values, const char *what, struct location at,
                          int dimension)
{
    bool ranks = dimension < 0;
    const struct value *first = NULL, *second = NULL;
    for (int i = 0; i < count; i++)
        if (values[i].run->type->rank > 0) {
            if (!first)
                first = &values[i];
            else if (!ir_type_same_shape(first->run->type, values[i].run->type) && !second)
                second = &values[i];
        }
    if (!first || !second)
        return false;
    const struct ir_type *wide = first->run->type, *flat = second->run->type;
    if (flat->rank > wide->rank)
        flat = first->run->type, wide = second->run->type;
    bool column = wide->rank == 2 && flat->rank == 1 && wide->extent[1] != flat->extent[0] &&
                  wide->extent[0] == flat->extent[0];
    struct diagnostic *d = front_report(
        e, DIAGNOSTIC_E0302, at, "%s: the shapes %s and %s do not go together%s%s", what,
        front_type_text(e, first->run->type), front_type_text(e, second->run->type),
        ranks ? "; ranks must be equal, so give the smaller one extents of 1 with `None`, as in "
              : "; extents are equal or 1",
        !ranks   ? ""
        : column ? "`v[:, None]`"
                 : "`v[None, :]`");
    front_note_side(e, d, *first, "the left side", dimension);
    front_note_side(e, d, *second, "the right side", dimension);
    return false;
}

bool convert_broadcast(struct elaborator *e, int count, struct value *values, const char *what, struct location at)
{
    int rank = 0;
    int64_t extent[IR_MAX_RANK] = {0};
    const struct origin *origin = NULL;
    struct origin *merged = NULL;
    for (int i = 0; i < count; i++) {
        const struct ir_type *type = values[i].run->type;
        if (type->rank == 0)
            continue;
        if (rank && type->rank != rank)
            return report_shapes(e, count, values, what, at, -1);
        if (!rank) {
            rank = type->rank;
            memcpy(extent, type->extent, sizeof extent);
            origin = values[i].origin;
            continue;
        }
        for (int d = 0; d < rank; d++) {
            if (type->extent[d] == extent[d] || type->extent[d] == 1)
                continue;
            if (extent[d] != 1)
                return report_shapes(e, count, values, what, at, d);
            extent[d] = type->extent[d];
            if (!merged) {
                merged = ARENA_NEW(e->arena, struct origin);
                if (origin)
                    *merged = *origin;
            }
            if (values[i].origin)
                merged->extent[d] = values[i].origin->extent[d];
            origin = merged;
        }
        if (!origin)
            origin = values[i].origin;
    }
    if (!rank)
        return true;
    for (int i = 0; i < count; i++) {
        values[i].run = ir_broadcast(&e->builder, values[i].run, rank, extent);
        values[i].origin = origin;
    }
    return true;
}

/* ---- explicit conversions ---- */

/* A float to an integer by a rounding other than cutting: the float is made whole by it before. */
static struct ir_value *round_whole(struct elaborator *e, struct ir_value *x, int round)
{
    static const enum ir_math functions[] = {
        [IR_ROUND_RTNE] = IR_MATH_ROUND, [IR_ROUND_RTP] = IR_MATH_CEIL, [IR_ROUND_RTN] = IR_MATH_FLOOR};
    if (round < 0 || round == IR_ROUND_RTZ)
        return x;
    if (x->type->element == IR_F8E4M3 || x->type->element == IR_F8E5M2)
        x = ir_cast(&e->builder, x, IR_F32);
    return ir_math(&e->builder, functions[round], x, NULL);
}

/* What is beyond the largest finite number, infinities too, becomes that; a NaN stays. */
static struct ir_value *saturate_float(struct elaborator *e, struct ir_value *x)
{
    double largest = x->type->element == IR_F8E5M2 ? 57344.0
                     : x->type->element == IR_F16  ? 65504.0
                     : x->type->element == IR_BF16 ? 0x1.fep127
                     : x->type->element == IR_F32  ? 0x1.fffffep127
                                                   : 0x1.fffffffffffffp1023;
    struct ir_value *most = ir_constant_float(&e->builder, x->type, largest);
    struct ir_value *least = ir_constant_float(&e->builder, x->type, -largest);
    x = ir_select(&e->builder, ir_compare(&e->builder, IR_PREDICATE_GT, x, most), most, x);
    return ir_select(&e->builder, ir_compare(&e->builder, IR_PREDICATE_LT, x, least), least, x);
}

struct value convert_explicit(struct elaborator *e, struct value v, enum ir_element element, int round, int saturate,
                              struct location at)
{
    if (value_is_error(v))
        return v;
    if (value_is_constant(v) && v.kind != VALUE_TYPE && v.kind != VALUE_TUPLE && v.kind != VALUE_STRING && round < 0 &&
        saturate <= 0) {
        struct value typed = constant_to_element(e, v, element, true);
        typed.at = at;
        return typed;
    }
    if (v.kind == VALUE_HOST && v.host.element == IR_I64 && element == IR_I64) {
        v.enumeration = NULL;
        return v;
    }
    if (v.kind == VALUE_HOST) {
        front_report(e, DIAGNOSTIC_E0409, at,
                     "the wrapper cannot evaluate this: its integers are i64, and it does not "
                     "convert to %s",
                     element_word(element));
        return value_error(at);
    }
    if (value_is_constant(v))
        v = value_materialize(e, v);
    if (v.kind != VALUE_RUN || v.run->type->element == IR_POINTER || element == IR_POINTER) {
        if (v.kind == VALUE_RUN && v.run->type->element == IR_POINTER && (element == IR_U64 || element == IR_I64)) {
            struct value r = value_run(
                ir_build_value(&e->builder, OP_BITCAST, shape_like(e, v.run->type, element), 1, &v.run), at);
            r.origin = v.origin;
            return r;
        }
        front_report(e, DIAGNOSTIC_E0301, at, "%s cannot be converted to %s", front_describe(e, v),
                     element_word(element));
        return value_error(at);
    }
    /* i64 as a language type: index when it comes from an index, so that it may narrow */
    if (element == IR_I64 && v.run->type->element == IR_INDEX)
        element = IR_INDEX;
    struct value result = v;
    result.at = at;
    result.enumeration = NULL;
    result.element = element;
    bool from_float = ir_is_float(v.run->type->element), to_float = ir_is_float(element);
    if (round >= 0 && (element == IR_BOOL || !(from_float || to_float))) {
        front_report(e, DIAGNOSTIC_E0308, at, "`round` is for conversions of floats or to floats, not of %s to %s",
                     front_describe(e, v), element_word(element));
        return value_error(at);
    }
    if (v.run->type->element != element) {
        struct ir_value *from = from_float && !to_float ? round_whole(e, v.run, round) : v.run;
        result.run = ir_build_value(&e->builder, OP_CAST, shape_like(e, v.run->type, element), 1, &from);
        if (round > 0 && to_float)
            ir_set_number(result.run->definition, IR_ATTRIBUTE_ROUND, round);
        if (saturate > 0 && !to_float)
            ir_set_number(result.run->definition, IR_ATTRIBUTE_SATURATE, 1);
    }
    bool stays = element == IR_F8E4M3 || (element == IR_F8E5M2 && v.run->type->element != element);
    if (saturate > 0 && to_float && !stays) /* a conversion to an 8-bit float does so anyway */
        result.run = saturate_float(e, result.run);
    return result;
}

struct value convert_construct(struct elaborator *e, const struct type *type, struct value v, struct location at)
{
    if (value_is_error(v))
        return v;
    if (type->kind == TYPE_ENUM) {
        if (v.enumeration == type->enumeration)
            return v;
        front_report(e, DIAGNOSTIC_E0301, at, "%s does not become the enum `%s`", front_describe(e, v),
                     type->enumeration->name);
        return value_error(at);
    }
    if (type->kind == TYPE_STRUCT) {
        if (v.structure == type->structure)
            return v;
        front_report(e, DIAGNOSTIC_E0301, at, "%s does not become the struct `%s`", front_describe(e, v),
                     type->structure->name);
        return value_error(at);
    }
    if (type->kind == TYPE_TUPLE) {
        front_report(e, DIAGNOSTIC_E0301, at, "a tuple type is not called");
        return value_error(at);
    }
    if (type->plain->element == IR_POINTER) {
        struct ir_value *run = convert_to_type(e, v, type->plain, true, "conversion to a pointer");
        return run ? value_run(run, at) : value_error(at);
    }
    struct value converted = convert_explicit(e, v, type->plain->element, -1, 0, at);
    if (type->plain->rank == 0 || value_is_error(converted))
        return converted;
    if (!value_is_run(converted))
        converted = value_materialize(e, converted);
    if (converted.kind != VALUE_RUN)
        return value_error(at);
    const struct ir_type *wanted = ir_type_with_element(e->context, type->plain, converted.run->type->element);
    struct ir_value *run;
    uint64_t bits;
    if (converted.run->type->rank == 0 && ir_constant_of(converted.run, &bits) && e->function)
        run = ir_constant_bits(&e->builder, wanted, bits);
    else
        run = convert_to_type_from(e, converted, wanted, type->origin, true, "conversion to a tile");
    if (!run)
        return value_error(at);
    struct value result = value_run(run, at);
    result.origin = type->origin ? type->origin : v.kind == VALUE_RUN ? v.origin : NULL;
    return result;
}
