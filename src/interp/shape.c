/* Operations that move elements about: shapes, elements along an axis, reductions, products. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interp/frame.h"

/* Row-major coordinates of element `linear`, and back. */
static void coordinates_of(const struct ir_type *type, int64_t linear, int64_t *at)
{
    for (int d = type->rank - 1; d >= 0; d--) {
        at[d] = linear % type->extent[d];
        linear /= type->extent[d];
    }
}

static int64_t linear_of(const struct ir_type *type, const int64_t *at)
{
    int64_t linear = 0;
    for (int d = 0; d < type->rank; d++)
        linear = linear * type->extent[d] + at[d];
    return linear;
}

static void gather_elements(struct frame *frame, const struct ir_operation *operation)
{
    const struct ir_type *from = operation->operands[0]->type, *to = operation->results[0]->type;
    const struct cell *source = frame_cell(frame, operation->operands[0]);
    struct cell *result = frame_cell(frame, operation->results[0]);
    const struct ir_attribute *permutation = ir_attribute(operation, IR_ATTRIBUTE_PERMUTATION);
    const struct ir_attribute *start = ir_attribute(operation, IR_ATTRIBUTE_START);
    int64_t at[IR_MAX_RANK], origin[IR_MAX_RANK];
    for (int64_t i = 0; i < result->count; i++) {
        coordinates_of(to, i, at);
        for (int d = 0; d < to->rank; d++) {
            if (operation->opcode == OP_PERMUTE)
                origin[permutation->list[d]] = at[d];
            else if (operation->opcode == OP_EXTRACT)
                origin[d] = at[d] + start->list[d];
            else /* broadcast */
                origin[d] = from->extent[d] == 1 ? 0 : at[d];
        }
        result->bits[i] = source->bits[linear_of(from, origin)];
    }
}

/* Each element along the axis from where the operation says: out of the operand that holds it, from the other end, or
 * from where an index tells. */
static void move_along(struct frame *frame, const struct ir_operation *operation)
{
    const struct ir_type *to = operation->results[0]->type;
    struct cell *result = frame_cell(frame, operation->results[0]);
    int axis = (int)ir_number(operation, IR_ATTRIBUTE_AXIS, 0), source = 0;
    int64_t at[IR_MAX_RANK];
    for (int64_t i = 0; i < result->count; i++) {
        coordinates_of(to, i, at);
        if (operation->opcode == OP_CONCATENATE)
            for (source = 0; at[axis] >= operation->operands[source]->type->extent[axis]; source++)
                at[axis] -= operation->operands[source]->type->extent[axis];
        const struct ir_type *from = operation->operands[source]->type;
        bool inside = true;
        if (operation->opcode == OP_FLIP)
            at[axis] = from->extent[axis] - 1 - at[axis];
        if (operation->opcode == OP_GATHER) {
            enum ir_element element = operation->operands[1]->type->element;
            at[axis] = ir_bits_to_int(element, frame_cell(frame, operation->operands[1])->bits[i]);
            inside = at[axis] >= 0 && at[axis] < from->extent[axis];
        }
        result->bits[i] = inside ? frame_cell(frame, operation->operands[source])->bits[linear_of(from, at)] : 0;
    }
}

void execute_shape(struct frame *frame, const struct ir_operation *operation)
{
    struct cell *result = frame_cell(frame, operation->results[0]);
    enum ir_element element = operation->results[0]->type->element;
    switch (operation->opcode) {
    case OP_CONSTANT:
        for (int64_t i = 0; i < result->count; i++)
            result->bits[i] = ir_attribute(operation, IR_ATTRIBUTE_VALUE)->bits;
        return;
    case OP_IOTA:
        for (int64_t i = 0; i < result->count; i++)
            result->bits[i] = ir_int_to_bits(element, i);
        return;
    case OP_SPLAT:
    case OP_RESHAPE:
    case OP_CONVERT_LAYOUT: {
        const struct cell *source = frame_cell(frame, operation->operands[0]);
        for (int64_t i = 0; i < result->count; i++)
            result->bits[i] = cell_at(source, i);
        return;
    }
    case OP_CONCATENATE:
    case OP_FLIP:
    case OP_GATHER: move_along(frame, operation); return;
    default: gather_elements(frame, operation);
    }
}

/* ---- reductions ---- */

void execute_combining(struct frame *frame, const struct ir_operation *operation, const uint64_t *both, uint64_t *out)
{
    enum ir_reduce_kind kind = (enum ir_reduce_kind)ir_number(operation, IR_ATTRIBUTE_KIND, IR_REDUCE_ADD);
    bool propagate = ir_number(operation, IR_ATTRIBUTE_NAN, IR_NAN_SKIP) == IR_NAN_PROPAGATE;
    int n = operation->result_count;
    if (kind != IR_REDUCE_REGION) {
        for (int i = 0; i < n; i++)
            out[i] = scalar_combine(kind, operation->operands[i]->type->element, propagate, both[i], both[n + i]);
        return;
    }
    const struct ir_block *region = operation->regions[0];
    for (int i = 0; i < 2 * n; i++)
        frame_cell(frame, region->arguments.data[i])->bits[0] = both[i];
    const struct ir_operation *yield = execute_block(frame, region);
    for (int i = 0; i < n; i++)
        out[i] = frame_cell(frame, yield->operands[i])->bits[0];
}

/* Along the axis by the tree of neighbours, each step rounded: what `fixed` promises to the bit.  line has room for
 * element k of operand i at k * n + i. */
static void combine_tree(struct frame *frame, const struct ir_operation *operation, int64_t first, int64_t step,
                         int64_t count, int64_t target, uint64_t *line)
{
    int n = operation->operand_count;
    for (int64_t k = 0; k < count * n; k++)
        line[k] = frame_cell(frame, operation->operands[k % n])->bits[first + k / n * step];
    for (int64_t left = count; left > 1; left = (left + 1) / 2) {
        for (int64_t k = 0; k < left / 2; k++)
            execute_combining(frame, operation, line + 2 * k * n, line + k * n);
        if (left % 2)
            memmove(line + left / 2 * n, line + (left - 1) * n, (size_t)n * sizeof *line);
    }
    for (int i = 0; i < n; i++)
        frame_cell(frame, operation->results[i])->bits[target] = line[i];
}

/* The accumulator of a float sum or product is a double, so the result is the best that any order of rounding could
 * give; integer and exact cases are the same in every order. */
static uint64_t combine_line(const struct ir_operation *operation, enum ir_element element, const struct cell *source,
                             int64_t first, int64_t step, int64_t count)
{
    enum ir_reduce_kind kind = (enum ir_reduce_kind)ir_number(operation, IR_ATTRIBUTE_KIND, IR_REDUCE_ADD);
    bool propagate = ir_number(operation, IR_ATTRIBUTE_NAN, IR_NAN_SKIP) == IR_NAN_PROPAGATE;
    if (ir_is_float(element) && (kind == IR_REDUCE_ADD || kind == IR_REDUCE_MUL)) {
        double total = ir_bits_to_double(element, source->bits[first]);
        for (int64_t k = 1; k < count; k++) {
            double next = ir_bits_to_double(element, source->bits[first + k * step]);
            total = kind == IR_REDUCE_ADD ? total + next : total * next;
        }
        return ir_double_to_bits(element, total);
    }
    uint64_t total = source->bits[first];
    for (int64_t k = 1; k < count; k++)
        total = scalar_combine(kind, element, propagate, total, source->bits[first + k * step]);
    return total;
}

static void combine_region(struct frame *frame, const struct ir_operation *operation, int64_t first, int64_t step,
                           int64_t count, int64_t target)
{
    const struct ir_block *region = operation->regions[0];
    int n = operation->operand_count;
    for (int i = 0; i < n; i++)
        frame_cell(frame, operation->results[i])->bits[target] = frame_cell(frame, operation->operands[i])->bits[first];
    for (int64_t k = 1; k < count; k++) {
        for (int i = 0; i < n; i++) {
            frame_cell(frame, region->arguments.data[i])->bits[0] =
                frame_cell(frame, operation->results[i])->bits[target];
            frame_cell(frame, region->arguments.data[n + i])->bits[0] =
                frame_cell(frame, operation->operands[i])->bits[first + k * step];
        }
        const struct ir_operation *yield = execute_block(frame, region);
        for (int i = 0; i < n; i++)
            frame_cell(frame, operation->results[i])->bits[target] = frame_cell(frame, yield->operands[i])->bits[0];
    }
}

void execute_reduce(struct frame *frame, const struct ir_operation *operation)
{
    const struct ir_type *from = operation->operands[0]->type;
    int axis = (int)ir_number(operation, IR_ATTRIBUTE_AXIS, 0);
    int64_t inner = 1, outer = 1, count = from->extent[axis];
    for (int d = 0; d < from->rank; d++) {
        if (d < axis)
            outer *= from->extent[d];
        else if (d > axis)
            inner *= from->extent[d];
    }
    bool fixed = ir_number(operation, IR_ATTRIBUTE_FIXED, 0) != 0;
    uint64_t *line = NULL;
    if (fixed) {
        frame->run->scratch = arena_create();
        line = ARENA_ARRAY(frame->run->scratch, uint64_t, count * operation->operand_count);
    }
    for (int64_t target = 0; target < outer * inner; target++) {
        int64_t first = target / inner * count * inner + target % inner;
        if (fixed) {
            combine_tree(frame, operation, first, inner, count, target, line);
            continue;
        }
        if (ir_number(operation, IR_ATTRIBUTE_KIND, IR_REDUCE_ADD) == IR_REDUCE_REGION) {
            combine_region(frame, operation, first, inner, count, target);
            continue;
        }
        for (int i = 0; i < operation->operand_count; i++)
            frame_cell(frame, operation->results[i])->bits[target] = combine_line(
                operation, operation->operands[i]->type->element, frame_cell(frame, operation->operands[i]), first,
                inner, count);
    }
    if (fixed) {
        arena_destroy(frame->run->scratch);
        frame->run->scratch = NULL;
    }
}

/* tf32 keeps 10 bits of the mantissa, to nearest even. */
uint64_t scalar_round_tf32(uint64_t bits)
{
    return isfinite(ir_bits_to_double(IR_F32, bits)) ? (bits + 0xfff + (bits >> 13 & 1)) & ~UINT64_C(0x1fff) : bits;
}

uint64_t scalar_keep_tf32(uint64_t bits)
{
    bool finite = isfinite(ir_bits_to_double(IR_F32, bits));
    return (finite ? bits : (bits & UINT64_C(0x80000000)) | 0x7f7fffff) & ~UINT64_C(0x1fff);
}

/* The other precisions keep all. */
static double dot_operand(const struct ir_operation *operation, enum ir_element element, uint64_t bits)
{
    bool rounds = element == IR_F32 &&
                  ir_number(operation, IR_ATTRIBUTE_PRECISION, IR_PRECISION_IEEE) == IR_PRECISION_TF32;
    return ir_bits_to_double(element, rounds ? scalar_round_tf32(bits) : bits);
}

/* Both factors once as numbers, b by columns. */
static void dot_factors(const struct ir_operation *operation, const uint64_t *a, int64_t a_count, const uint64_t *b,
                        int64_t b_count, double *real, int64_t *whole)
{
    const struct ir_type *at = operation->operands[0]->type, *bt = operation->operands[1]->type;
    int64_t k = bt->extent[bt->rank - 2], n = bt->extent[bt->rank - 1];
    bool reals = ir_is_float(operation->results[0]->type->element);
    for (int64_t i = 0; i < a_count + b_count; i++) {
        const struct ir_type *type = i < a_count ? at : bt;
        int64_t to = i, from = i - a_count;
        if (i >= a_count)
            to = a_count + from / (k * n) * (k * n) + from % n * k + from / n % k;
        uint64_t bits = i < a_count ? a[i] : b[from];
        if (reals)
            real[to] = dot_operand(operation, type->element, bits);
        else
            whole[to] = ir_bits_to_int(type->element, bits);
    }
}

void dot_compute(const struct ir_operation *operation, const uint64_t *a, const uint64_t *b, const uint64_t *c,
                 struct cell *result)
{
    const struct ir_type *at = operation->operands[0]->type, *bt = operation->operands[1]->type;
    enum ir_element to = operation->results[0]->type->element;
    int rank = at->rank;
    int64_t m = at->extent[rank - 2], k = at->extent[rank - 1], n = bt->extent[rank - 1];
    int64_t a_count = ir_type_elements(at), b_count = ir_type_elements(bt);
    void *factors = malloc((size_t)(a_count + b_count) * sizeof(double));
    if (!factors)
        memory_exhausted();
    double *real = factors;
    int64_t *whole = factors;
    dot_factors(operation, a, a_count, b, b_count, real, whole);
    for (int64_t i = 0; i < result->count; i++) {
        int64_t batch = i / (m * n), left = (batch * m + i / n % m) * k, right = a_count + (batch * n + i % n) * k;
        if (ir_is_float(to)) {
            double sum = c ? ir_bits_to_double(to, c[i]) : 0;
            for (int64_t j = 0; j < k; j++)
                sum += real[left + j] * real[right + j];
            result->bits[i] = ir_double_to_bits(to, sum);
        } else {
            uint64_t sum = c ? c[i] : 0;
            for (int64_t j = 0; j < k; j++)
                sum += (uint64_t)whole[left + j] * (uint64_t)whole[right + j];
            result->bits[i] = ir_int_to_bits(to, (int64_t)sum);
        }
    }
    free(factors);
}

void execute_dot(struct frame *frame, const struct ir_operation *operation)
{
    dot_compute(operation, frame_cell(frame, operation->operands[0])->bits,
                frame_cell(frame, operation->operands[1])->bits, frame_cell(frame, operation->operands[2])->bits,
                frame_cell(frame, operation->results[0]));
}
