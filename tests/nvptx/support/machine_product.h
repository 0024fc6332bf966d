/* A matrix product at the Machine level as text, for tests: a producer by TMA, consumers by wgmma, persistent blocks. */
#ifndef TILECC_TEST_MACHINE_PRODUCT_H
#define TILECC_TEST_MACHINE_PRODUCT_H
#include "base/base.h"
#include "ir/layout/layout.h"

struct machine_product {
    const char *element, *sum, *out; /* of the factors, the accumulator and the result */
    int bytes, out_bytes;
    int m, n, k, stages, warps; /* warps: of the consumers */
    bool a_across, b_across;    /* a lies as [k, m], b as [k, n]; else [m, k], [n, k] */
    int panel, staged;          /* columns stored at once; buffers for them, 0: stored from registers */
    bool by_registers;          /* a is loaded to registers first, and no product is left on its way */
    int registers[2];           /* of consumer and producer; 0: as they come */
};
void machine_product_text(struct arena *arena, struct layout_table *table, const struct machine_product *product,
                          struct buffer *out);
#endif
