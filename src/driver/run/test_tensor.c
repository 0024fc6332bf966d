/* Tensors of the host (test_tensor.h). */
#include "driver/run/test_tensor.h"

#include <math.h>
#include <string.h>

struct tensor *tensor_make(struct arena *arena, enum ir_element element, int rank, const int64_t *extent)
{
    struct tensor *x = ARENA_NEW(arena, struct tensor);
    *x = (struct tensor){.element = element, .rank = rank, .count = 1};
    for (int d = 0; d < rank; d++) {
        x->extent[d] = extent[d];
        x->count *= extent[d];
    }
    x->data = ARENA_ARRAY(arena, double, x->count ? x->count : 1);
    return x;
}

struct tensor *tensor_scalar(struct arena *arena, enum ir_element element, double value)
{
    struct tensor *x = tensor_make(arena, element, 0, NULL);
    x->data[0] = value;
    return x;
}

double tensor_round(enum ir_element element, double value)
{
    if (element == IR_BOOL)
        return value != 0;
    if (ir_is_float(element))
        return ir_bits_to_double(element, ir_double_to_bits(element, value));
    if (isnan(value))
        return 0;
    bool is_signed = ir_is_signed(element) || element == IR_INDEX; /* cuts and stays in range, as a conversion does */
    int bits = ir_element_info[element].bits;
    double most = ldexp(1, is_signed ? bits - 1 : bits), least = is_signed ? -most : 0;
    return value >= most ? most - 1 : value < least ? least : trunc(value);
}

struct tensor *tensor_convert(struct arena *arena, enum ir_element element, const struct tensor *x)
{
    struct tensor *y = tensor_make(arena, element, x->rank, x->extent);
    y->typed = true;
    y->unwritten = x->unwritten;
    for (int64_t i = 0; i < x->count; i++)
        y->data[i] = tensor_round(element, x->data[i]);
    return y;
}

void tensor_place(const struct tensor *x, int64_t number, int64_t *index)
{
    for (int d = x->rank - 1; d >= 0; number /= x->extent[d--])
        index[d] = number % x->extent[d];
}

int64_t tensor_number(const struct tensor *x, const int64_t *index)
{
    int64_t number = 0;
    for (int d = 0; d < x->rank; d++)
        number = number * x->extent[d] + (x->extent[d] == 1 ? 0 : index[d]);
    return number;
}

struct tensor *tensor_stretch(struct arena *arena, const struct tensor *x, int rank, const int64_t *extent)
{
    struct tensor *y = tensor_make(arena, x->element, rank, extent);
    int64_t index[IR_MAX_RANK];
    y->typed = x->typed;
    for (int d = 0; x->rank && d < rank; d++)
        if (x->rank != rank || (x->extent[d] != extent[d] && x->extent[d] != 1))
            return NULL;
    for (int64_t i = 0; i < y->count; i++) {
        tensor_place(y, i, index);
        y->data[i] = x->data[x->rank ? tensor_number(x, index) : 0];
    }
    return y;
}

bool tensor_meet(const struct tensor *a, const struct tensor *b, int *rank, int64_t *extent)
{
    *rank = a->rank ? a->rank : b->rank;
    if (a->rank && b->rank && a->rank != b->rank)
        return false;
    for (int d = 0; d < *rank; d++) {
        int64_t x = a->rank ? a->extent[d] : 1, y = b->rank ? b->extent[d] : 1;
        if (x != y && x != 1 && y != 1)
            return false;
        extent[d] = x == 1 ? y : x;
    }
    return true;
}

void tensor_put_list(struct buffer *out, int rank, const int64_t *numbers)
{
    buffer_putc(out, '[');
    for (int d = 0; d < rank; d++)
        buffer_printf(out, d ? ", %lld" : "%lld", (long long)numbers[d]);
    buffer_putc(out, ']');
}

struct tensor *tensor_product(struct arena *arena, const struct tensor *a, const struct tensor *b)
{
    int rank = a->rank;
    if (rank < 2 || b->rank != rank || a->extent[rank - 1] != b->extent[rank - 2])
        return NULL;
    int64_t extent[IR_MAX_RANK], batches = 1, m = a->extent[rank - 2], k = a->extent[rank - 1], n = b->extent[rank - 1];
    for (int d = 0; d < rank - 2; d++) {
        if (a->extent[d] != b->extent[d])
            return NULL;
        batches *= extent[d] = a->extent[d];
    }
    extent[rank - 2] = m;
    extent[rank - 1] = n;
    struct tensor *c = tensor_make(arena, ir_is_float(a->element) ? IR_F64 : IR_I64, rank, extent);
    for (int64_t row = 0; row < batches * m; row++)
        for (int64_t i = 0; i < k; i++) {
            const double *from = b->data + (row / m * k + i) * n;
            for (int64_t j = 0; j < n; j++)
                c->data[row * n + j] += a->data[row * k + i] * from[j];
        }
    return c;
}

struct tensor *tensor_transpose(struct arena *arena, const struct tensor *x)
{
    int64_t extent[IR_MAX_RANK];
    if (x->rank < 2)
        return NULL;
    memcpy(extent, x->extent, sizeof extent);
    int64_t rows = extent[x->rank - 1] = x->extent[x->rank - 2], columns = extent[x->rank - 2] = x->extent[x->rank - 1];
    struct tensor *y = tensor_make(arena, x->element, x->rank, extent);
    y->typed = x->typed;
    for (int64_t i = 0; i < x->count; i++) {
        int64_t batch = i / (rows * columns) * rows * columns, row = i % (rows * columns) / columns,
                column = i % columns;
        y->data[batch + column * rows + row] = x->data[i];
    }
    return y;
}
