/* sort: each line along the axis by a merge sort of positions, which keeps the order of equals.  histogram: a count. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interp/frame.h"

/* Whether `a` has to stand before `b`, wherever they were. */
static bool stands_before(enum ir_element element, bool descending, uint64_t a, uint64_t b)
{
    if (ir_is_float(element)) {
        double x = ir_bits_to_double(element, a), y = ir_bits_to_double(element, b);
        if (isnan(x) || isnan(y))
            return !isnan(x);
        if (x == y && signbit(x) != signbit(y))
            return (signbit(x) != 0) != descending;
        return descending ? x > y : x < y;
    }
    if (ir_is_signed(element)) {
        int64_t x = ir_bits_to_int(element, a), y = ir_bits_to_int(element, b);
        return descending ? x > y : x < y;
    }
    return descending ? a > b : a < b;
}

/* position[0, count) in the order of their keys; `spare` has room for as many. */
static void sort_positions(enum ir_element element, bool descending, const uint64_t *key, int64_t *position,
                           int64_t *spare, int64_t count)
{
    int64_t half = count / 2, left = 0, right = half;
    if (count < 2)
        return;
    sort_positions(element, descending, key, position, spare, half);
    sort_positions(element, descending, key, position + half, spare, count - half);
    for (int64_t i = 0; i < count; i++) {
        bool from_right = left == half || (right < count && stands_before(element, descending, key[position[right]],
                                                                          key[position[left]]));
        spare[i] = position[from_right ? right++ : left++];
    }
    memcpy(position, spare, (size_t)count * sizeof *position);
}

void execute_sort(struct frame *frame, const struct ir_operation *operation)
{
    const struct ir_type *from = operation->operands[0]->type;
    int axis = (int)ir_number(operation, IR_ATTRIBUTE_AXIS, 0);
    bool descending = ir_number(operation, IR_ATTRIBUTE_DESCENDING, 0) != 0;
    int64_t inner = 1, lines = 1, count = from->extent[axis], kept = operation->results[0]->type->extent[axis];
    for (int d = 0; d < from->rank; d++) {
        inner *= d > axis ? from->extent[d] : 1;
        lines *= d != axis ? from->extent[d] : 1;
    }
    frame->run->scratch = arena_create();
    uint64_t *key = ARENA_ARRAY(frame->run->scratch, uint64_t, count);
    int64_t *position = ARENA_ARRAY(frame->run->scratch, int64_t, 2 * count);
    for (int64_t line = 0; line < lines; line++) {
        int64_t first = line / inner * count * inner + line % inner, to = line / inner * kept * inner + line % inner;
        for (int64_t i = 0; i < count; i++) {
            key[i] = cell_at(frame_cell(frame, operation->operands[0]), first + i * inner);
            position[i] = i;
        }
        sort_positions(from->element, descending, key, position, position + count, count);
        for (int i = 0; i < operation->result_count; i++) {
            uint64_t *bits = frame_cell(frame, operation->results[i])->bits;
            for (int64_t k = 0; k < kept; k++)
                bits[to + k * inner] = i < operation->operand_count ? cell_at(frame_cell(frame, operation->operands[i]),
                                                                              first + position[k] * inner)
                                                                    : (uint64_t)position[k];
        }
    }
    arena_destroy(frame->run->scratch);
    frame->run->scratch = NULL;
}

void execute_histogram(struct frame *frame, const struct ir_operation *operation)
{
    const struct cell *from = frame_cell(frame, operation->operands[0]);
    struct cell *counts = frame_cell(frame, operation->results[0]);
    enum ir_element element = operation->operands[0]->type->element;
    memset(counts->bits, 0, (size_t)counts->count * sizeof *counts->bits);
    for (int64_t i = 0; i < from->count; i++) {
        int64_t number = ir_bits_to_int(element, from->bits[i]); /* a u64 that is no int64 is negative here */
        if (number >= 0 && number < counts->count)
            counts->bits[number]++;
    }
}
