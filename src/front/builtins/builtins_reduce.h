/* What reductions and scans share. */
#ifndef TILECC_FRONT_BUILTINS_REDUCE_H
#define TILECC_FRONT_BUILTINS_REDUCE_H
#include "front/builtins/builtins.h"

/* The axis, which only a tile of one dimension may leave out.  False: reported. */
bool reduce_read_one_axis(struct elaborator *e, const struct call *call, int rank, int64_t *axis);
/* An enum ir_nan; -2: reported. */
int reduce_read_nan(struct elaborator *e, const struct call *call);
/* The tiles of the first argument, the axis, and whether the second is a function over as many.  False: reported. */
bool reduce_read(struct elaborator *e, struct call *call, struct value *tiles, int *count, int64_t *axis);
/* The region that the call's function is: left n scalars, right n scalars, yields n of the same types.  NULL: reported. */
struct ir_block *reduce_build_region(struct elaborator *e, struct call *call, int count, struct value *tiles);
/* Sums of narrow types are wider. */
struct ir_value *reduce_widen_sum(struct elaborator *e, struct ir_value *v);
bool reduce_kind_takes(int kind, enum ir_element element);
/* Under --reproducible: whether another order could give other bits. */
bool reduce_depends_on_order(const struct elaborator *e, int kind, enum ir_element element);
#endif
