/* Making, comparing and printing the values of the elaborator (value.h). */
#include "front/values/value.h"

#include <math.h>
#include <string.h>

struct value value_integer(wide_integer integer, struct location at)
{
    return (struct value){.kind = VALUE_INTEGER, .at = at, .integer = integer, .element = IR_ELEMENT_COUNT};
}

struct value value_real(double number, struct location at)
{
    return (struct value){.kind = VALUE_REAL, .at = at, .real = {number, NULL}, .element = IR_ELEMENT_COUNT};
}

struct value value_bool(bool truth, struct location at)
{
    return (struct value){.kind = VALUE_BOOL, .at = at, .truth = truth, .element = IR_BOOL};
}

struct value value_run(struct ir_value *run, struct location at)
{
    return (struct value){.kind = VALUE_RUN, .at = at, .run = run, .element = run->type->element};
}

struct value value_type(const struct type *type, struct location at)
{
    return (struct value){.kind = VALUE_TYPE, .at = at, .type = type, .element = IR_ELEMENT_COUNT};
}

bool value_is_constant(struct value v)
{
    switch (v.kind) {
    case VALUE_TYPE:
    case VALUE_INTEGER:
    case VALUE_REAL:
    case VALUE_BOOL:
    case VALUE_ENUMERATOR:
    case VALUE_STRING: return true;
    case VALUE_TUPLE:
        for (int i = 0; i < v.list.count; i++)
            if (!value_is_constant(v.list.data[i]))
                return false;
        return true;
    default: return false;
    }
}

bool type_same(const struct type *a, const struct type *b)
{
    if (a->kind != b->kind)
        return false;
    if (a->kind == TYPE_ENUM)
        return a->enumeration == b->enumeration;
    if (a->kind == TYPE_STRUCT)
        return a->structure == b->structure;
    if (a->kind == TYPE_PLAIN)
        return a->plain == b->plain && a->nibbles == b->nibbles;
    if (a->count != b->count)
        return false;
    for (int i = 0; i < a->count; i++)
        if (!type_same(a->members[i], b->members[i]))
            return false;
    return true;
}

bool value_same(struct value a, struct value b)
{
    if (a.kind != b.kind)
        return false;
    switch (a.kind) {
    case VALUE_INTEGER: return a.integer == b.integer && a.element == b.element;
    case VALUE_ENUMERATOR: return a.integer == b.integer && a.enumeration == b.enumeration;
    case VALUE_REAL: return memcmp(&a.real.number, &b.real.number, sizeof a.real.number) == 0 && a.element == b.element;
    case VALUE_BOOL: return a.truth == b.truth;
    case VALUE_RUN: return a.run == b.run;
    case VALUE_TYPE: return type_same(a.type, b.type);
    case VALUE_VOID:
    case VALUE_ERROR:
    case VALUE_NULL: return true;
    case VALUE_HOST: return a.host.tree == b.host.tree;
    case VALUE_VIEW: return a.view == b.view;
    case VALUE_TUPLE:
        if (a.list.count != b.list.count || a.structure != b.structure)
            return false;
        for (int i = 0; i < a.list.count; i++)
            if (!value_same(a.list.data[i], b.list.data[i]))
                return false;
        return true;
    default: return false;
    }
}

void value_print_wide(struct buffer *out, wide_integer number)
{
    char digits[48];
    int at = (int)sizeof digits;
    bool negative = number < 0;
    do {
        int digit = (int)(number % 10);
        digits[--at] = (char)('0' + (digit < 0 ? -digit : digit));
        number /= 10;
    } while (number != 0);
    if (negative)
        digits[--at] = '-';
    buffer_append(out, digits + at, sizeof digits - (size_t)at);
}

void value_print_element(struct buffer *out, const struct ir_type *type)
{
    if (type->element == IR_INDEX)
        buffer_puts(out, "i64");
    else if (type->element == IR_POINTER)
        buffer_printf(out, "*%s%s", type->pointee_const ? "const " : "", ir_element_info[type->pointee].text);
    else
        buffer_puts(out, ir_element_info[type->element].text);
}

void value_print_ir_type(struct buffer *out, const struct ir_type *type)
{
    value_print_element(out, type);
    if (type->rank == 0)
        return;
    for (int d = 0; d < type->rank; d++) {
        buffer_puts(out, d ? ", " : "[");
        if (type->extent[d] == IR_DYNAMIC)
            buffer_putc(out, '?');
        else
            buffer_printf(out, "%lld", (long long)type->extent[d]);
    }
    buffer_putc(out, ']');
}

void value_print_type(struct buffer *out, const struct type *type)
{
    if (type->kind == TYPE_ENUM)
        buffer_puts(out, type->enumeration->name);
    else if (type->kind == TYPE_STRUCT)
        buffer_puts(out, type->structure->name);
    else if (type->nibbles)
        buffer_puts(out, type->plain->element == IR_I8 ? "i4" : "u4");
    else if (type->kind == TYPE_PLAIN)
        value_print_ir_type(out, type->plain);
    else {
        for (int i = 0; i < type->count; i++) {
            buffer_puts(out, i ? ", " : "(");
            value_print_type(out, type->members[i]);
        }
        buffer_putc(out, ')');
    }
}

static const char *member_name(const struct enumeration *enumeration, wide_integer number)
{
    for (int i = 0; i < enumeration->count; i++)
        if (enumeration->values[i] == number)
            return enumeration->members[i];
    return NULL;
}

void value_print_constant(struct buffer *out, struct value v)
{
    switch (v.kind) {
    case VALUE_TYPE: value_print_type(out, v.type); break;
    case VALUE_BOOL: buffer_puts(out, v.truth ? "true" : "false"); break;
    case VALUE_REAL: buffer_printf(out, "%.17g", v.real.number); break;
    case VALUE_ENUMERATOR: {
        const char *name = member_name(v.enumeration, v.integer);
        if (name) {
            buffer_puts(out, name);
            break;
        }
        value_print_wide(out, v.integer);
        break;
    }
    case VALUE_INTEGER: value_print_wide(out, v.integer); break;
    default: buffer_putc(out, '?');
    }
}
