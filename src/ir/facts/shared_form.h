/* The form of shared memory that TMA fills and that matrix instructions read, recognised in a layout; and the tensor
 * maps that TMA operations need from the run time.
 *
 * A buffer of this form is a row of *boxes*.  A box has `box[row]` rows of `swizzle` bytes.  Within a row, the number
 * of a 16-byte chunk is XORed with the low bits of the row's number (3 bits for rows of 128 bytes, 2 for 64, 1 for
 * 32). Neighbours in a row are neighbours of the tile along `contiguous`.  A buffer without swizzle (0) has rows of 16
 * bytes.  A buffer of one dimension has no swizzle; its elements follow each other, and `row` is `contiguous`, too. */
#ifndef TILECC_IR_SHARED_FORM_H
#define TILECC_IR_SHARED_FORM_H
#include "ir/ir.h"
#include "ir/layout/layout.h"

struct shared_form {
    int swizzle;          /* bytes: 128, 64, 32 */
    int contiguous, row;  /* dimensions of the tile */
    int box[LAYOUT_RANK]; /* extents of one box: 1 along other dimensions */
    int64_t box_bytes;
};
/* False: the layout is not of this form.  bytes: of an element. */
bool shared_form_of(struct layout_table *table, const struct layout *layout, int bytes, struct shared_form *form);
/* The layout with this form, neighbours along `contiguous`, the widest swizzle that the extents allow.  NULL: none. */
const struct layout *shared_form_layout(struct layout_table *table, int rank, const int *extent, int bytes,
                                        int contiguous);
/* Byte offset of an element in the buffer. */
int64_t shared_form_offset(const struct layout *layout, int bytes, const int *coordinates);

enum { TENSOR_MAP_RANK = 5 };
/* What cuTensorMapEncodeTiled is told, but for what only the launch knows: address, extents, strides.
 *
 * Of a part of an argument one dimension may begin and end where the program says.  TMA then still fills with zeros and
 * leaves out what lies behind the end, by two dimensions more at the map's end, both of that dimension: along it all
 * elements up to TENSOR_MAP_PART are inside, and element i of a part that ends at `stop` and has `extent` is at
 * coordinates (PART - extent + i, stop, PART), in dimensions with the strides s, s, 2^34 - s.  Their sum, in 64 bits,
 * is (stop - extent + i) * s. */
#define TENSOR_MAP_PART (INT64_C(1) << 30)
struct tensor_map {
    int argument; /* of the function: a view */
    enum ir_element element;
    int rank;
    int part;                       /* the view's dimension that is a part, or -1 */
    int dimension[TENSOR_MAP_RANK]; /* of the view; the first is the contiguous one */
    int box[TENSOR_MAP_RANK];       /* elements */
    int swizzle;                    /* bytes */
    bool rounds;                    /* f32 to what tf32 keeps */
    bool asked; /* a launch has it where base, strides and rows of the view are multiples of 16 bytes */
};
/* The maps of a function, each once, in the order of its operations.  Returns their number. */
int tensor_map_collect(struct arena *arena, const struct ir_function *function, struct tensor_map **maps);
bool tensor_map_is_same(const struct tensor_map *a, const struct tensor_map *b);
/* Why a view is no argument of a kernel, nor a part of one along one dimension, of which a map could be made; NULL: it
 * is one. */
const char *tensor_map_view_problem(const struct ir_value *view);
/* The map of one tma_load or tma_store.  False: the operation is not what TMA can do (*reason says why). */
bool tensor_map_of(const struct ir_operation *operation, struct tensor_map *map, const char **reason);
/* The same question for a place and a buffer type that are not an operation yet. */
bool tensor_map_for(const struct ir_value *view, int rank, const int64_t *place, const struct ir_type *buffer,
                    struct tensor_map *map, const char **reason);
/* The boxes of a tma operation: for each, the tile coordinates of its first element.  Returns the number; starts has
 * LAYOUT_RANK coordinates a box.  */
int tensor_map_boxes(struct arena *arena, const struct ir_type *buffer, int (**starts)[LAYOUT_RANK]);
/* Rows of a box where `blocks` blocks bring as many boxes of a buffer each: those of the form, or an even part of them.
 * 0: the buffer cannot be divided so. */
int tensor_map_shared_rows(const struct ir_type *buffer, int blocks);
/* The boxes of a buffer as tensor_map_boxes lists them, of which each has so many rows: block b of `blocks` brings
 * those from b * count / blocks on. */
int tensor_map_shared_boxes(struct arena *arena, const struct ir_type *buffer, int blocks, int (**starts)[LAYOUT_RANK]);
/* The same where warpgroups store their own rows: IR_GROUP_ROWS, or 0, where the buffer does not divide so; and the boxes,
 * those of warpgroup g from g * count / groups on. */
int tensor_map_apart_rows(const struct ir_type *buffer, int groups);
int tensor_map_apart_boxes(struct arena *arena, const struct ir_type *buffer, int groups, int (**starts)[LAYOUT_RANK]);
#endif
