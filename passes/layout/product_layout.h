/* Layouts of the tiles of products that matrix instructions compute. */
#ifndef TILECC_PRODUCT_LAYOUT_H
#define TILECC_PRODUCT_LAYOUT_H
#include "ir/ir.h"
#include "ir/layout/layout.h"

/* Of the accumulator of a dot with an `instruction` (mma or wgmma), over `warps` warps.  NULL: the extents do not
 * allow it, or the product is computed by multiply-adds. */
const struct layout *product_accumulator(struct layout_table *table, const struct ir_operation *dot, int warps);
/* Can the accumulator have this layout: the best one depends on what stands around the product. */
bool product_takes(struct layout_table *table, const struct ir_operation *dot, const struct layout *layout, int warps);
/* Of factor 0 or 1 in registers, for an accumulator of this layout. */
const struct layout *product_factor(struct layout_table *table, const struct ir_operation *dot, int factor,
                                    const struct layout *accumulator);
/* The same for a factor of this type (its layout does not matter) and a result whose layout is the accumulator's. */
const struct layout *product_factor_of(struct layout_table *table, const struct ir_type *type,
                                       const struct ir_type *result, int factor);
/* Warps that suit all products of a function, taking `given` if it can (0: free); 0: there are none that use matrix
 * instructions.  producer: the target would let another warpgroup bring factors. */
int product_warps(struct ir_function *function, int given, bool producer);
#endif
