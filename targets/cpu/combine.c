/* Two elements put together, for reduce and scan.  See combine.h. */
#include "targets/cpu/combine.h"

#include "targets/common/combine.h"

#include <string.h>

#define B e->builder

bool cpu_combining_init(struct cpu_emitter *e, struct cpu_combining *by, struct ir_operation *operation)
{
    *by = (struct cpu_combining){.operation = operation,
                                 .kind = (enum ir_reduce_kind)ir_number(operation, IR_ATTRIBUTE_KIND, IR_REDUCE_ADD),
                                 .nan = (enum ir_nan)ir_number(operation, IR_ATTRIBUTE_NAN, IR_NAN_SKIP),
                                 .count = operation->result_count};
    if (by->count > CPU_COMBINED)
        return cpu_report(e, operation->at, "a reduction or scan of more than 16 tiles at once");
    for (int i = 0; i < by->count; i++) {
        enum ir_element element = operation->operands[i]->type->element;
        bool narrow = ir_is_float(element) && cpu_bytes(element) < 4 && by->kind != IR_REDUCE_REGION;
        by->element[i] = narrow ? IR_F32 : element;
    }
    return true;
}

void cpu_combining_apply(struct cpu_emitter *e, const struct cpu_combining *by, LLVMValueRef *left, LLVMValueRef *right,
                         LLVMValueRef *out)
{
    if (by->kind != IR_REDUCE_REGION) {
        for (int i = 0; i < by->count; i++)
            out[i] = cpu_combine(e, by->kind, by->element[i], left[i], right[i], by->nan);
        return;
    }
    LLVMValueRef arguments[2 * CPU_COMBINED];
    memcpy(arguments, left, sizeof *left * (size_t)by->count);
    memcpy(arguments + by->count, right, sizeof *right * (size_t)by->count);
    if (!cpu_region(e, by->operation->regions[0], arguments, out))
        memcpy(out, left, sizeof *left * (size_t)by->count);
}

LLVMValueRef cpu_combining_widen(struct cpu_emitter *e, const struct cpu_combining *by, int i, LLVMValueRef value)
{
    enum ir_element from = by->operation->operands[i]->type->element;
    return by->element[i] == from ? value : cpu_widen(e, from, value);
}

LLVMValueRef cpu_combining_narrow(struct cpu_emitter *e, const struct cpu_combining *by, int i, LLVMValueRef value)
{
    enum ir_element to = by->operation->results[i]->type->element;
    bool picks = by->kind == IR_REDUCE_MIN || by->kind == IR_REDUCE_MAX;
    if (by->element[i] == to)
        return value;
    return picks ? cpu_narrow_chosen(e, value, to) : cpu_narrow(e, value, to, IR_ROUND_RTNE, false);
}

LLVMValueRef cpu_combining_identity(struct cpu_emitter *e, const struct cpu_combining *by, int i, int lanes)
{
    if (by->kind == IR_REDUCE_REGION)
        return LLVMConstNull(cpu_vector_of(cpu_register_type(e, by->element[i]), lanes));
    return cpu_splat(e, cpu_constant(e, by->element[i], combine_identity(by->kind, by->element[i], by->nan)), lanes);
}

LLVMTypeRef cpu_slot_type(struct cpu_emitter *e, enum ir_element element, int lanes)
{
    return cpu_vector_of(element == IR_BOOL ? e->i8 : cpu_register_type(e, element), lanes);
}
