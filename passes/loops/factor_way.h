/* On which way a factor of a product that matrix instructions compute can come from memory.  plan_loops asks, and writes the
 * answer into the loop's plan; buffer_operands builds what is planned. */
#ifndef TILECC_PASSES_FACTOR_WAY_H
#define TILECC_PASSES_FACTOR_WAY_H
#include "ir/plan.h"
#include "targets/target.h"

/* wgmma cuts off what tf32 does not keep: factors of f32 are rounded on their way, by TMA or in registers. */
bool factor_rounds(const struct ir_operation *dot);
/* Those of tf32x3 are split into two parts instead, which wgmma multiplies as tf32. */
bool factor_splits(const struct ir_operation *dot);
/* A factor that is split, or that wgmma does not turn, comes to its buffer as it lies.  Threads read it from there: the
 * first one stays in registers, the second one goes to other buffers, as wgmma reads it. */
bool factor_is_remade(const struct ir_operation *dot, int factor);

/* Where a factor comes from: itself or its transpose. */
struct factor_source {
    struct ir_value *origin;
    bool transposed;
};
struct factor_source factor_source_of(struct ir_value *value);

/* Whether all threads copy by cp.async where a producer could: TMA can bring no factor of the function, or one is gathered,
 * which they can bring and a producer cannot, or so it is asked for. */
bool factor_all_by_threads(const struct target_row *target, struct ir_function *function);
/* The way of a factor that is loaded: by TMA, by cp.async, or through registers, and then *why. */
enum ir_way factor_way(const struct target_row *target, const struct ir_operation *dot, int factor, bool by_threads,
                       const char **why);

/* The buffer that holds a tile as instructions read it, with neighbours along one dimension; NULL: there is none. */
const struct ir_type *factor_buffer_type(struct ir_context *context, const struct ir_type *tile, int contiguous);
/* The buffer for the copy of a factor that comes by one. */
const struct ir_type *factor_copy_buffer(const struct ir_operation *dot, int factor);
/* The layout in which so many warps make one buffer of f32 of another. */
const struct layout *factor_remaking_layout(struct layout_table *table, const struct ir_type *from,
                                            const struct ir_type *to, int warps);
/* The dimension of the origin that has to be contiguous in its buffer: k, for factors that wgmma does not turn; -1: any. */
int factor_contiguous(const struct ir_operation *dot, int factor);

/* ---- rows: loads of one dimension, for other work than products ---- */

/* The buffer to which TMA brings what the load reads, for a producer that brings factors in the same loop; NULL: it comes to
 * registers, and *why. */
const struct ir_type *factor_row_buffer(const struct ir_operation *load, const char **why);
#endif
