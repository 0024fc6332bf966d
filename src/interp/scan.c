/* Scans: each element of a line combined with those before it, straight from the definition. */
#include <string.h>

#include "interp/frame.h"

/* One line along the axis: its element t, counted in the direction of the scan, stands at first + t * step. */
struct line {
    struct frame *frame;
    const struct ir_operation *operation;
    int64_t first, step, count;
    int values; /* tiles, and so values an element */
    bool exclusive;
    uint64_t *work; /* fixed: the levels of the tree, the elements of the line first */
};

static uint64_t *operand_bits(const struct line *l, int i)
{
    return frame_cell(l->frame, l->operation->operands[i])->bits;
}

static void take(const struct line *l, int64_t t, uint64_t *values)
{
    for (int i = 0; i < l->values; i++)
        values[i] = operand_bits(l, i)[l->first + t * l->step];
}

static void give(const struct line *l, int64_t t, const uint64_t *values)
{
    for (int i = 0; i < l->values; i++)
        frame_cell(l->frame, l->operation->results[i])->bits[l->first + t * l->step] = values[i];
}

/* What stands before the first element, if anything does. */
static bool start(const struct line *l, uint64_t *values)
{
    for (int i = 0; l->exclusive && i < l->values; i++)
        values[i] = operand_bits(l, l->values + i)[0];
    return l->exclusive;
}

/* both: room for two elements; the left one becomes left combined with `right`, or `right` where nothing is there. */
static void append(const struct line *l, bool *any, uint64_t *both, const uint64_t *right)
{
    size_t bytes = (size_t)l->values * sizeof *right;
    memcpy(*any ? both + l->values : both, right, bytes);
    if (*any)
        execute_combining(l->frame, l->operation, both, both);
    *any = true;
}

/* One element after the other. */
static void scan_in_order(const struct line *l, uint64_t *both, uint64_t *next)
{
    bool any = start(l, both);
    for (int64_t t = 0; t < l->count; t++) {
        take(l, t, next);
        if (l->exclusive)
            give(l, t, both);
        append(l, &any, both, next);
        if (!l->exclusive)
            give(l, t, both);
    }
}

/* A float sum or product keeps a double on the way, so that each element is the best that any order of rounding could
 * give. */
static void scan_doubles(const struct line *l, bool product)
{
    enum ir_element element = l->operation->operands[0]->type->element;
    uint64_t bits = 0;
    bool any = start(l, &bits);
    double total = any ? ir_bits_to_double(element, bits) : 0;
    for (int64_t t = 0; t < l->count; t++) {
        take(l, t, &bits);
        double next = ir_bits_to_double(element, bits), before = total;
        total = !any ? next : product ? total * next : total + next;
        any = true;
        bits = ir_double_to_bits(element, l->exclusive ? before : total);
        give(l, t, &bits);
    }
}

/* By the tree of neighbours, an odd last one waiting: before element t stand, from the left, the nodes whose right
 * neighbours are above t. */
static void scan_tree(const struct line *l, uint64_t *both, uint64_t *next)
{
    int n = l->values, levels = 0;
    uint64_t *level[64] = {l->work};
    for (int64_t t = 0; t < l->count; t++)
        take(l, t, l->work + t * n);
    for (int64_t left = l->count; left > 1; left = (left + 1) / 2) {
        uint64_t *from = level[levels], *to = level[++levels] = from + left * n;
        for (int64_t k = 0; k < left / 2; k++)
            execute_combining(l->frame, l->operation, from + 2 * k * n, to + k * n);
        if (left % 2)
            memcpy(to + left / 2 * n, from + (left - 1) * n, (size_t)n * sizeof *to);
    }
    for (int64_t t = 0; t < l->count; t++) {
        bool any = start(l, both);
        for (int j = levels; j >= 0; j--)
            if (t >> j & 1)
                append(l, &any, both, level[j] + ((t >> j) - 1) * n);
        take(l, t, next);
        if (!l->exclusive)
            append(l, &any, both, next);
        give(l, t, both);
    }
}

void execute_scan(struct frame *frame, const struct ir_operation *operation)
{
    const struct ir_type *type = operation->operands[0]->type;
    enum ir_reduce_kind kind = (enum ir_reduce_kind)ir_number(operation, IR_ATTRIBUTE_KIND, IR_REDUCE_ADD);
    int axis = (int)ir_number(operation, IR_ATTRIBUTE_AXIS, 0);
    bool fixed = ir_number(operation, IR_ATTRIBUTE_FIXED, 0) != 0;
    bool doubles = ir_is_float(type->element) && (kind == IR_REDUCE_ADD || kind == IR_REDUCE_MUL);
    struct line l = {.frame = frame,
                     .operation = operation,
                     .step = 1,
                     .count = type->extent[axis],
                     .values = operation->result_count,
                     .exclusive = ir_number(operation, IR_ATTRIBUTE_EXCLUSIVE, 0) != 0};
    for (int d = axis + 1; d < type->rank; d++)
        l.step *= type->extent[d];
    int64_t inner = l.step, lines = ir_type_elements(type) / l.count;
    bool reverse = ir_number(operation, IR_ATTRIBUTE_REVERSE, 0) != 0;
    if (reverse)
        l.step = -l.step;
    frame->run->scratch = arena_create();
    l.work = ARENA_ARRAY(frame->run->scratch, uint64_t, (2 * l.count + 64) * l.values);
    uint64_t *both = ARENA_ARRAY(frame->run->scratch, uint64_t, 2 * l.values),
             *next = ARENA_ARRAY(frame->run->scratch, uint64_t, l.values);
    for (int64_t line = 0; line < lines; line++) {
        l.first = line / inner * l.count * inner + line % inner + (reverse ? (l.count - 1) * inner : 0);
        if (fixed)
            scan_tree(&l, both, next);
        else if (doubles)
            scan_doubles(&l, kind == IR_REDUCE_MUL);
        else
            scan_in_order(&l, both, next);
    }
    arena_destroy(frame->run->scratch);
    frame->run->scratch = NULL;
}
