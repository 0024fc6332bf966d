/* Which instruction computes a product on a target: one rule, asked by the pass that marks products, by what lowers
 * them and by the table of the manual.
 *
 * A product of tiles [m, k] x [k, n] + [m, n] is split into instructions of a fixed shape; the rule says which of them
 * the target has for the elements and divides the extents.  Where a stronger instruction does not fit, the reason says
 * what was in the way. */
#ifndef TILECC_PASSES_PRODUCT_CHOICE_H
#define TILECC_PASSES_PRODUCT_CHOICE_H
#include "base/base.h"
#include "ir/ir.h"
#include "targets/target.h"

/* What the rule asks of a product, apart from the operation that it stands in. */
struct product {
    enum ir_element a, b, accumulator;
    enum ir_precision precision;
    bool promoted;           /* sums of 8-bit floats leave the tensor core early */
    int rank;
    int64_t m, n, k;
    int warps;               /* that work together; 0: not chosen yet */
};
/* One instruction.  n is the most that one takes: wgmma comes in all multiples of 8 up to it. */
struct product_shape { int m, n, k; };

struct product product_of(const struct ir_operation *dot); /* dot or dot_async */
/* *reason: why it is not the strongest instruction that the target has for anything; NULL when it is. */
enum ir_instruction product_choice_of(const struct target_row *row, const struct product *product,
                                      const char **reason);
enum ir_instruction product_choice(const struct target_row *row, const struct ir_operation *dot, const char **reason);
/* The shape of the instruction that was chosen; for multiply-adds 1 x 1 x 1. */
struct product_shape product_shape(const struct target_row *row, const struct product *product,
                                   enum ir_instruction instruction);
/* How the factors may lie in shared memory: `contiguous` are their contiguous dimensions (0 or 1 of a rank-2 tile).
 * False: the instruction's own reads do not fit, and elements are read one by one. */
bool product_reads_matrices(const struct product *product, enum ir_instruction instruction, int operand,
                            int contiguous);
/* The table of types, architectures and layouts, for --print-products and the manual. */
void product_print_table(struct buffer *out);
#endif
