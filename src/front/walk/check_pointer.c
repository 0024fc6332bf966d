/* Checks of pointers, with --checks.  A pointer that comes from an argument of the kernel, `p + t` or `x.ptr + t`, is the
 * argument and a number of elements; the host has written to the report how many bytes of the argument's allocation lie in
 * front of it and from it on (KERNEL_REPORT_BOUNDS).  So
 *     store(p + t, v, mask = m)
 * is checked by   all(not m or (t >= -(front / size) and t < behind / size))   unless both are 0, and stores only where that
 * is so: the instance goes on.  Pointers that come from memory, or from where several may, are not checked. */
#include "base/plant.h"
#include "front/walk/control.h"

struct reach {
    int argument;
    struct ir_value *offset; /* in elements, of the pointers' shape; NULL: 0 */
};

static bool is_argument(const struct elaborator *e, const struct ir_value *value)
{
    return !value->definition && value->block == e->function->body && value->index < KERNEL_REPORT_MOST_ARGUMENTS;
}

static bool trace(struct elaborator *e, struct ir_value *value, struct reach *reach)
{
    struct ir_operation *op = value->definition;
    if (is_argument(e, value) || (op && op->opcode == OP_VIEW_POINTER && is_argument(e, op->operands[0]))) {
        *reach = (struct reach){is_argument(e, value) ? value->index : op->operands[0]->index, NULL};
        return true;
    }
    if (!op || (op->opcode != OP_POINTER_ADD && op->opcode != OP_SPLAT && op->opcode != OP_BROADCAST) ||
        !trace(e, op->operands[0], reach))
        return false;
    if (reach->offset)
        reach->offset = ir_broadcast(&e->builder, reach->offset, value->type->rank, value->type->extent);
    if (op->opcode != OP_POINTER_ADD)
        return true;
    struct ir_value *more = ir_cast(&e->builder, op->operands[1], IR_INDEX);
    reach->offset = reach->offset ? ir_binary(&e->builder, OP_ADD, reach->offset, more) : more;
    return true;
}

static struct ir_value *index_number(struct elaborator *e, int64_t number)
{
    return ir_constant_int(&e->builder, ir_type_scalar(e->context, IR_INDEX), number);
}

/* A word of the argument's bounds, in bytes. */
static struct ir_value *bound(struct elaborator *e, int argument, int which)
{
    const struct ir_type *word = ir_type_scalar(e->context, IR_U64);
    struct ir_value *place[2] = {e->report, index_number(e, KERNEL_REPORT_BOUNDS + 2 * argument + which)};
    place[0] = ir_build_value(&e->builder, OP_POINTER_ADD, e->report->type, 2, place);
    place[1] = ir_constant_int(&e->builder, word, 0);
    return ir_cast(&e->builder, ir_build_value(&e->builder, OP_POINTER_LOAD, word, 2, place), IR_INDEX);
}

static struct ir_value *all_of(struct elaborator *e, struct ir_value *good)
{
    while (good->type->rank) {
        const struct ir_type *type = ir_type_with_shape(e->context, good->type, good->type->rank - 1,
                                                        good->type->extent);
        struct ir_operation *all = ir_build(&e->builder, OP_REDUCE, 1, &good, 1, &type);
        ir_set_number(all, IR_ATTRIBUTE_AXIS, type->rank);
        ir_set_number(all, IR_ATTRIBUTE_KIND, IR_REDUCE_AND);
        good = all->results[0];
    }
    return good;
}

/* Whether offset and last, which lies `further` behind it, or is it, are inside. */
static struct ir_value *are_inside(struct elaborator *e, const struct reach *reach, struct ir_value *further,
                                   const struct ir_type *pointer)
{
    struct ir_value *size = index_number(e, ir_element_info[pointer->pointee].bits / 8);
    struct ir_value *front = bound(e, reach->argument, 0), *behind = bound(e, reach->argument, 1);
    struct ir_value *known = ir_compare(&e->builder, IR_PREDICATE_NE, ir_binary(&e->builder, OP_ADD, front, behind),
                                        index_number(e, 0));
    front = ir_binary(&e->builder, OP_DIV, front, size);
    behind = ir_binary(&e->builder, OP_DIV, behind, size);
    struct ir_value *first = reach->offset ? reach->offset : index_number(e, 0);
    struct ir_value *last = further ? ir_binary(&e->builder, OP_ADD, first, further) : first;
    const struct ir_type *shape = first->type;
    front = ir_broadcast(&e->builder, ir_unary(&e->builder, OP_NEG, front), shape->rank, shape->extent);
    behind = ir_broadcast(&e->builder, behind, shape->rank, shape->extent);
    struct ir_value *good = ir_binary(&e->builder, OP_AND,
                                      PLANTED(checks_forget_front)
                                          ? ir_compare(&e->builder, IR_PREDICATE_EQ, first, first)
                                          : ir_compare(&e->builder, IR_PREDICATE_GE, first, front),
                                      ir_compare(&e->builder, IR_PREDICATE_LT, last, behind));
    known = ir_broadcast(&e->builder, ir_unary(&e->builder, OP_NOT, known), shape->rank, shape->extent);
    return ir_binary(&e->builder, OP_OR, known, good);
}

static void demand(struct elaborator *e, struct ir_value *good, const char *text, struct location at)
{
    check_demand(e, good, check_text(e, arena_printf(e->arena, "%s within its allocation", text)), NULL, at);
}

static bool is_wanted(const struct elaborator *e) { return e->front->options->check_assumes && check_is_possible(e); }

struct ir_value *check_pointers(struct elaborator *e, struct ir_value *pointers, struct ir_value *mask,
                                const char *text, struct location at)
{
    struct reach reach;
    if (!is_wanted(e) || !trace(e, pointers, &reach))
        return mask;
    const struct ir_type *shape = pointers->type;
    struct ir_value *good = are_inside(e, &reach, NULL, pointers->type);
    if (!mask) {
        demand(e, all_of(e, good), text, at);
        return ir_broadcast(&e->builder, good, shape->rank, shape->extent);
    }
    mask = ir_broadcast(&e->builder, mask, shape->rank, shape->extent);
    good = ir_broadcast(&e->builder, good, shape->rank, shape->extent);
    demand(e, all_of(e, ir_binary(&e->builder, OP_OR, ir_unary(&e->builder, OP_NOT, mask), good)), text, at);
    return ir_binary(&e->builder, OP_AND, mask, good);
}

void check_made_view(struct elaborator *e, struct ir_value *pointer, int rank, struct ir_value **extent,
                     struct ir_value *const *stride, const char *text, struct location at)
{
    struct reach reach;
    if (!is_wanted(e) || !trace(e, pointer, &reach))
        return;
    struct ir_value *further = index_number(e, 0), *empty = NULL;
    for (int d = 0; d < rank; d++) {
        struct ir_value *before = ir_binary(&e->builder, OP_SUB, extent[d], index_number(e, 1));
        struct ir_value *none = ir_compare(&e->builder, IR_PREDICATE_LE, extent[d], index_number(e, 0));
        further = ir_binary(&e->builder, OP_ADD, further, ir_binary(&e->builder, OP_MUL, before, stride[d]));
        empty = empty ? ir_binary(&e->builder, OP_OR, empty, none) : none;
    }
    struct ir_value *good = are_inside(e, &reach, further, pointer->type);
    demand(e, ir_binary(&e->builder, OP_OR, empty, good), text, at);
    for (int d = 0; d < rank; d++)
        extent[d] = ir_select(&e->builder, good, extent[d], index_number(e, 0));
}
