/* A host expression as its source would write it, for those that the compiler made itself and messages have to name. */
#include "targets/host/host.h"

/* How an operation of two operands is written between them; NULL: as a call. */
static const char *infix(enum kernel_host_op op)
{
    switch (op) {
    case KERNEL_HOST_ADD: return " + ";
    case KERNEL_HOST_SUB: return " - ";
    case KERNEL_HOST_MUL: return "*";
    case KERNEL_HOST_DIV: return " / ";
    case KERNEL_HOST_REM: return " % ";
    case KERNEL_HOST_SHL: return " << ";
    case KERNEL_HOST_SHR: return " >> ";
    case KERNEL_HOST_BIT_AND: return " & ";
    case KERNEL_HOST_BIT_OR: return " | ";
    case KERNEL_HOST_BIT_XOR: return " ^ ";
    case KERNEL_HOST_EQ:
    case KERNEL_HOST_FLOAT_EQ: return " == ";
    case KERNEL_HOST_NE:
    case KERNEL_HOST_FLOAT_NE: return " != ";
    case KERNEL_HOST_LT:
    case KERNEL_HOST_FLOAT_LT: return " < ";
    case KERNEL_HOST_LE:
    case KERNEL_HOST_FLOAT_LE: return " <= ";
    case KERNEL_HOST_GT:
    case KERNEL_HOST_FLOAT_GT: return " > ";
    case KERNEL_HOST_GE:
    case KERNEL_HOST_FLOAT_GE: return " >= ";
    case KERNEL_HOST_AND: return " and ";
    case KERNEL_HOST_OR: return " or ";
    default: return NULL;
    }
}

static const char *function_name(enum kernel_host_op op)
{
    switch (op) {
    case KERNEL_HOST_MIN: return "min";
    case KERNEL_HOST_MAX: return "max";
    case KERNEL_HOST_CDIV: return "cdiv";
    case KERNEL_HOST_ABS: return "abs";
    case KERNEL_HOST_ILOG2: return "ilog2";
    case KERNEL_HOST_NEG: return "-";
    case KERNEL_HOST_BIT_NOT: return "~";
    case KERNEL_HOST_NOT: return "not ";
    default: die("host operation %d has no name", (int)op);
    }
}

const char *host_expression_text(struct arena *arena, const struct kernel_entry *entry,
                                 const struct kernel_expression *e)
{
    const char *a, *b;
    double real;
    if (e->text)
        return e->text;
    switch (e->op) {
    case KERNEL_HOST_CONSTANT: return arena_printf(arena, "%lld", (long long)e->number);
    case KERNEL_HOST_FLOAT_CONSTANT:
        __builtin_memcpy(&real, &e->number, sizeof real);
        return arena_printf(arena, "%g", real);
    case KERNEL_HOST_NAME: return entry->names.data[e->number].name;
    case KERNEL_HOST_KEY: return entry->keys.data[e->number].name;
    case KERNEL_HOST_SM_COUNT: return "sm_count()";
    case KERNEL_HOST_CELL: return e->cells->name[e->number];
    case KERNEL_HOST_SCALAR:
    case KERNEL_HOST_FLOAT_SCALAR:
    case KERNEL_HOST_PRESENT: return entry->parameters.data[e->number].name;
    case KERNEL_HOST_EXTENT:
    case KERNEL_HOST_STRIDE:
        return arena_printf(arena, "%s.%s[%d]", entry->parameters.data[e->number].name,
                            e->op == KERNEL_HOST_EXTENT ? "extent" : "stride", e->dimension);
    case KERNEL_HOST_ALIGNED:
        return arena_printf(arena, "%s at a multiple of %d bytes", entry->parameters.data[e->number].name,
                            e->dimension);
    default: break;
    }
    a = host_expression_text(arena, entry, e->operand[0]);
    b = e->operand[1] ? host_expression_text(arena, entry, e->operand[1]) : NULL;
    if (e->op == KERNEL_HOST_SELECT)
        return arena_printf(arena, "(%s ? %s : %s)", a, b, host_expression_text(arena, entry, e->operand[2]));
    if (infix(e->op))
        return arena_printf(arena, "(%s%s%s)", a, infix(e->op), b);
    return b ? arena_printf(arena, "%s(%s, %s)", function_name(e->op), a, b)
             : arena_printf(arena, "%s(%s)", function_name(e->op), a);
}
