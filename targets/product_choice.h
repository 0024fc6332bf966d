/* Which instruction computes a product on a target: one rule, asked by the pass that marks products, by what lowers
 * them and by the table of the manual.
 *
 * A product of tiles [m, k] x [k, n] + [m, n] is split into instructions of a fixed shape; the rule says which of them
 * the target has for the elements and divides the extents.  Where a stronger instruction does not fit, the choice says
 * all that was in the way.  Facts of targets, like target.h: no room of code generation, so that passes may ask. */
#ifndef TILECC_TARGETS_PRODUCT_CHOICE_H
#define TILECC_TARGETS_PRODUCT_CHOICE_H
#include "base/base.h"
#include "ir/ir.h"
#include "targets/target.h"

/* What the rule asks of a product, apart from the operation that it stands in. */
struct product {
    enum ir_element a, b, accumulator;
    enum ir_precision precision;
    int64_t promote; /* so many products of 8-bit floats are added up before f32 takes the sum; 0: no limit */
    int rank;
    int64_t m, n, k;
    int warps;           /* that work together; 0: not chosen yet */
    bool open;           /* another number of warps may be chosen */
    bool lies_across[2]; /* a factor that memory holds with m or n contiguous, and not k */
    bool computed[2];    /* a factor that is not loaded as it is, at most transposed */
};
/* One instruction.  n is the most that one takes: wgmma comes in all multiples of 8 up to it.  by: the elements that it
 * multiplies; others than the factors' are made of them in registers. */
struct product_shape {
    int m, n, k;
    enum ir_element by;
};

struct product product_of(const struct ir_operation *dot); /* dot or dot_async */

/* What keeps an instruction from computing a product. */
enum product_obstacle {
    PRODUCT_BATCH = 1,
    PRODUCT_ROWS = 2,
    PRODUCT_COLUMNS = 4,
    PRODUCT_K = 8,
    PRODUCT_WARPS = 16,
    PRODUCT_IEEE = 32,          /* f32 factors with all their bits */
    PRODUCT_ELEMENTS = 64,      /* no target has one for these elements, or not this strong a one */
    PRODUCT_ARCHITECTURE = 128, /* this target has none, others do */
    PRODUCT_ACROSS = 256,       /* a factor lies with m or n contiguous: only 16-bit ones are turned on their way */
    PRODUCT_KEPT = 512          /* few columns, and both factors are computed: mma.sync reads both from registers */
};
/* `missed` is the stronger instruction that is nearest to fitting, and `obstacles` all that keeps it out; FMA and 0:
 * the target has no stronger one.  `step`: of what the extents have to be multiples for it. */
struct product_choice {
    enum ir_instruction instruction, missed;
    unsigned obstacles;
    struct product_shape step;
};
struct product_choice product_choice_of(const struct target_row *row, const struct product *product);
/* What is computed of a product: where it has too few rows for wgmma alone, its columns are wgmma's rows, and the product is the
 * transposed one (passes/value/turn_product.c), also where that one keeps its factors; else itself. */
struct product product_as_computed(const struct target_row *target, const struct product *product);
/* The same of an operation. */
struct product product_computed(const struct target_row *target, const struct ir_operation *dot);
/* Whether both factors stay in registers: wgmma would have the second one stored, fenced and met for at each product, and a
 * fence waits for all loads that are on their way. */
bool product_keeps_factors(const struct product *product);
/* Whether another tile, schedule or architecture would have used the missed instruction. */
bool product_choice_could_be_better(const struct product_choice *choice);
/* "k is 8, no multiple of 16, and ...": the obstacles in words. */
void product_explain(struct buffer *out, const struct product *product, const struct product_choice *choice);
/* The shape of the instruction that was chosen; for multiply-adds 1 x 1 x 1. */
struct product_shape product_shape(const struct target_row *row, const struct product *product,
                                   enum ir_instruction instruction);
/* How the factors may lie in shared memory: `contiguous` are their contiguous dimensions (0 or 1 of a rank-2 tile).
 * False: the instruction's own reads do not fit, and elements are read one by one. */
bool product_reads_matrices(const struct product *product, enum ir_instruction instruction, int operand,
                            int contiguous);
/* The table of types, architectures and layouts, for --print-products and the manual: of the rows of target_rows that
 * are wanted, of all when there are none. */
void product_print_table(struct buffer *out, int count, const int *wanted);
#endif
