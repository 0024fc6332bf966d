/* Kinds of reductions.  See combine.h. */
#include "targets/common/combine.h"

#include "base/plant.h"

enum ir_opcode combine_opcode(enum ir_reduce_kind kind)
{
    static const enum ir_opcode opcode[] = {
        [IR_REDUCE_ADD] = OP_ADD, [IR_REDUCE_MUL] = OP_MUL, [IR_REDUCE_MIN] = OP_MIN, [IR_REDUCE_MAX] = OP_MAX,
        [IR_REDUCE_AND] = OP_AND, [IR_REDUCE_OR] = OP_OR,   [IR_REDUCE_XOR] = OP_XOR};
    if (kind >= IR_REDUCE_REGION)
        die("a region is no single operation");
    return opcode[kind];
}

uint64_t combine_identity(enum ir_reduce_kind kind, enum ir_element element, enum ir_nan nan)
{
    bool real = ir_is_float(element);
    int bits = ir_element_info[element].bits;
    uint64_t ones = element == IR_BOOL ? 1 : bits == 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1;
    uint64_t top = UINT64_C(1) << (bits - 1);
    switch (kind) {
    case IR_REDUCE_ADD: return real ? ir_double_to_bits(element, PLANTED(cpu_sum_starts_at_plus_zero) ? 0.0 : -0.0) : 0;
    case IR_REDUCE_OR:
    case IR_REDUCE_XOR: return 0;
    case IR_REDUCE_MUL: return real ? ir_double_to_bits(element, 1.0) : 1;
    case IR_REDUCE_AND: return PLANTED(cpu_and_lacks_sign) && bits == 64 ? ones >> 1 : ones;
    case IR_REDUCE_MIN:
    case IR_REDUCE_MAX:
        if (real) /* a NaN loses against every number; where it wins, the far infinity is neutral */
            return nan == IR_NAN_SKIP ? ir_double_to_bits(element, __builtin_nan(""))
                                      : ir_infinity_bits(element, kind == IR_REDUCE_MAX);
        if (kind == IR_REDUCE_MIN)
            return ir_is_signed(element) ? top - 1 : ones;
        return ir_is_signed(element) && !PLANTED(cpu_identity_of_max_zero) ? top : 0;
    case IR_REDUCE_REGION:
    case IR_REDUCE_COUNT: break;
    }
    die("no identity for this way to combine");
}
