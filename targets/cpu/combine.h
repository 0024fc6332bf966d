/* How reduce and scan put two elements together. */
#ifndef TILECC_CPU_COMBINE_H
#define TILECC_CPU_COMBINE_H
#include "targets/cpu/emit.h"

enum { CPU_COMBINED = 16 }; /* tiles at once */

struct cpu_combining {
    const struct ir_operation *operation;
    enum ir_reduce_kind kind;
    enum ir_nan nan;
    int count;                             /* of tiles */
    enum ir_element element[CPU_COMBINED]; /* on the way: a kind combines narrow floats in f32 */
};
bool cpu_combining_init(struct cpu_emitter *e, struct cpu_combining *by, struct ir_operation *operation);
void cpu_combining_apply(struct cpu_emitter *e, const struct cpu_combining *by, LLVMValueRef *left, LLVMValueRef *right,
                         LLVMValueRef *out);
LLVMValueRef cpu_combining_widen(struct cpu_emitter *e, const struct cpu_combining *by, int i, LLVMValueRef value);
LLVMValueRef cpu_combining_narrow(struct cpu_emitter *e, const struct cpu_combining *by, int i, LLVMValueRef value);
/* What changes nothing; with a region some value. */
LLVMValueRef cpu_combining_identity(struct cpu_emitter *e, const struct cpu_combining *by, int i, int lanes);
/* In memory a bool takes a byte: bits would lie packed, and the first lane alone could not be stored without its
 * neighbours. */
LLVMTypeRef cpu_slot_type(struct cpu_emitter *e, enum ir_element element, int lanes);
/* Where the element of a tile without the axis stands. */
void cpu_point_without(const struct cpu_nest *nest, int axis, const struct cpu_point *point, struct cpu_point *out);
#endif
