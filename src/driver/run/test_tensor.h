/* Tensors of the host, as `test` blocks have them: any extents, elements in f64.  One that was made by a type, a
 * generator or a kernel has its element, to which its values are rounded; what arithmetic makes of tensors has i64, f64
 * or bool and is rounded where it is given to a kernel. */
#ifndef TILECC_DRIVER_TEST_TENSOR_H
#define TILECC_DRIVER_TEST_TENSOR_H
#include "base/base.h"
#include "ir/ir.h"

struct tensor {
    enum ir_element element;
    bool typed; /* made as such; false: computed */
    int rank;
    int64_t extent[IR_MAX_RANK], count;
    double *data;
    const bool *unwritten; /* of what a kernel gives: elements that it never wrote; or NULL */
};

struct tensor *tensor_make(struct arena *arena, enum ir_element element, int rank, const int64_t *extent);
struct tensor *tensor_scalar(struct arena *arena, enum ir_element element, double value);
double tensor_round(enum ir_element element, double value);
/* Converted, then stretched to the extents; NULL: they do not go together. */
struct tensor *tensor_convert(struct arena *arena, enum ir_element element, const struct tensor *x);
struct tensor *tensor_stretch(struct arena *arena, const struct tensor *x, int rank, const int64_t *extent);
/* The extents that both go to; false: none. */
bool tensor_meet(const struct tensor *a, const struct tensor *b, int *rank, int64_t *extent);
/* Row-major number of an element's coordinates, and back. */
void tensor_place(const struct tensor *x, int64_t number, int64_t *index);
int64_t tensor_number(const struct tensor *x, const int64_t *index);
/* [3, 4] of a shape or place. */
void tensor_put_list(struct buffer *out, int rank, const int64_t *numbers);
struct tensor *tensor_product(struct arena *arena, const struct tensor *a, const struct tensor *b); /* a @ b, or NULL */
struct tensor *tensor_transpose(struct arena *arena, const struct tensor *x);
#endif
