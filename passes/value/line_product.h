/* Products with one column or one row: multiplications of elements and a sum. */
#ifndef TILECC_PASSES_LINE_PRODUCT_H
#define TILECC_PASSES_LINE_PRODUCT_H
#include "passes/base/pass.h"

/* Whether the product has one row or one column, so that no instruction for products fits it and a sum does better. */
bool line_product_is(const struct ir_operation *dot);
/* Makes it so; the product is gone. */
void line_product_expand(struct ir_operation *dot);
#endif
