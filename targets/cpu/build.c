/* Small builders of LLVM values that the rest of the CPU target speaks in: types of elements, splats, selects over
 * scalars and vectors alike, loops with their hints.  Scalars stay scalars as long as they can: a value that does not
 * depend on the lane is computed once and spread where it meets a vector. */
#include "targets/cpu/emit.h"
#include <llvm-c/DebugInfo.h>
#include <string.h>

int cpu_bytes(enum ir_element element) { return ir_element_info[element].bits / 8; }

LLVMTypeRef cpu_memory_type(struct cpu_emitter *e, enum ir_element element)
{
    if (element == IR_F32)
        return e->f32;
    if (element == IR_F64)
        return e->f64;
    return LLVMIntTypeInContext(e->llvm, (unsigned)ir_element_info[element].bits);
}

LLVMTypeRef cpu_register_type(struct cpu_emitter *e, enum ir_element element)
{
    return element == IR_BOOL ? e->i1 : cpu_memory_type(e, element);
}

LLVMTypeRef cpu_vector_of(LLVMTypeRef scalar, int lanes)
{
    return lanes == 1 ? scalar : LLVMVectorType(scalar, (unsigned)lanes);
}

int cpu_lanes(LLVMValueRef value)
{
    LLVMTypeRef type = LLVMTypeOf(value);
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? (int)LLVMGetVectorSize(type) : 1;
}

LLVMTypeRef cpu_like(LLVMTypeRef scalar, LLVMValueRef model) { return cpu_vector_of(scalar, cpu_lanes(model)); }

LLVMValueRef cpu_int(struct cpu_emitter *e, int64_t value)
{
    return LLVMConstInt(e->i64, (unsigned long long)value, 1);
}

static LLVMValueRef constant_splat(LLVMValueRef scalar, int lanes)
{
    LLVMValueRef all[64];
    for (int i = 0; i < lanes; i++)
        all[i] = scalar;
    return lanes == 1 ? scalar : LLVMConstVector(all, (unsigned)lanes);
}

static LLVMTypeRef scalar_of(LLVMTypeRef type)
{
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
}

static int lanes_of(LLVMTypeRef type)
{
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? (int)LLVMGetVectorSize(type) : 1;
}

LLVMValueRef cpu_float_like(LLVMTypeRef type, double value)
{
    return constant_splat(LLVMConstReal(scalar_of(type), value), lanes_of(type));
}

LLVMValueRef cpu_constant(struct cpu_emitter *e, enum ir_element element, uint64_t bits)
{
    if (element == IR_BOOL)
        return LLVMConstInt(e->i1, bits & 1, 0);
    if (!ir_is_float(element) || cpu_bytes(element) < 4)
        return LLVMConstInt(cpu_memory_type(e, element), bits, 0);
    LLVMTypeRef as_int = element == IR_F32 ? e->i32 : e->i64; /* by its bits: a NaN keeps its payload */
    return LLVMConstBitCast(LLVMConstInt(as_int, bits, 0), cpu_memory_type(e, element));
}

LLVMValueRef cpu_splat(struct cpu_emitter *e, LLVMValueRef scalar, int lanes)
{
    if (lanes == 1 || cpu_lanes(scalar) == lanes)
        return scalar;
    if (LLVMIsConstant(scalar))
        return constant_splat(scalar, lanes);
    LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(scalar), (unsigned)lanes);
    LLVMValueRef one = LLVMBuildInsertElement(e->builder, LLVMGetPoison(type), scalar, LLVMConstInt(e->i32, 0, 0), "");
    return LLVMBuildShuffleVector(e->builder, one, LLVMGetPoison(type),
                                  LLVMConstNull(LLVMVectorType(e->i32, (unsigned)lanes)), "");
}

LLVMValueRef cpu_iota(struct cpu_emitter *e, LLVMTypeRef scalar, int lanes)
{
    LLVMValueRef all[64];
    (void)e;
    for (int i = 0; i < lanes; i++)
        all[i] = LLVMConstInt(scalar, (unsigned long long)i, 0);
    return lanes == 1 ? all[0] : LLVMConstVector(all, (unsigned)lanes);
}

LLVMValueRef cpu_intrinsic(struct cpu_emitter *e, const char *name, int type_count, LLVMTypeRef *types, int count,
                           LLVMValueRef *arguments)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    if (!id)
        die("LLVM knows no %s", name);
    LLVMValueRef function = LLVMGetIntrinsicDeclaration(e->module, id, types, (size_t)type_count);
    LLVMTypeRef type = LLVMIntrinsicGetType(e->llvm, id, types, (size_t)type_count);
    return LLVMBuildCall2(e->builder, type, function, arguments, (unsigned)count, "");
}

LLVMValueRef cpu_unary_intrinsic(struct cpu_emitter *e, const char *name, LLVMValueRef a)
{
    LLVMTypeRef type = LLVMTypeOf(a);
    return cpu_intrinsic(e, name, 1, &type, 1, &a);
}

LLVMValueRef cpu_binary_intrinsic(struct cpu_emitter *e, const char *name, LLVMValueRef a, LLVMValueRef b)
{
    LLVMTypeRef type = LLVMTypeOf(a);
    return cpu_intrinsic(e, name, 1, &type, 2, (LLVMValueRef[]){a, b});
}

LLVMValueRef cpu_address(struct cpu_emitter *e, enum ir_element element, LLVMValueRef base, LLVMValueRef index)
{
    return LLVMBuildGEP2(e->builder, cpu_memory_type(e, element), base, &index, 1, "");
}

LLVMValueRef cpu_alloca(struct cpu_emitter *e, LLVMTypeRef type)
{
    LLVMBasicBlockRef here = LLVMGetInsertBlock(e->builder);
    LLVMMetadataRef place = LLVMGetCurrentDebugLocation2(e->builder); /* positioning in front of something takes its */
    LLVMValueRef first = LLVMGetFirstInstruction(e->allocas);
    if (first)
        LLVMPositionBuilderBefore(e->builder, first);
    else
        LLVMPositionBuilderAtEnd(e->builder, e->allocas);
    LLVMValueRef slot = LLVMBuildAlloca(e->builder, type, "");
    LLVMPositionBuilderAtEnd(e->builder, here);
    LLVMSetCurrentDebugLocation2(e->builder, place);
    return slot;
}

LLVMBasicBlockRef cpu_block(struct cpu_emitter *e, const char *name)
{
    return LLVMAppendBasicBlockInContext(e->llvm, e->function, name);
}

static void agree(struct cpu_emitter *e, LLVMValueRef *a, LLVMValueRef *b)
{
    int lanes = cpu_lanes(*a) > cpu_lanes(*b) ? cpu_lanes(*a) : cpu_lanes(*b);
    *a = cpu_splat(e, *a, lanes);
    *b = cpu_splat(e, *b, lanes);
}

LLVMValueRef cpu_both(struct cpu_emitter *e, LLVMValueRef a, LLVMValueRef b)
{
    if (!a || !b)
        return a ? a : b;
    agree(e, &a, &b);
    return LLVMBuildAnd(e->builder, a, b, "");
}

LLVMValueRef cpu_select(struct cpu_emitter *e, LLVMValueRef condition, LLVMValueRef a, LLVMValueRef b)
{
    agree(e, &a, &b);
    if (cpu_lanes(condition) > cpu_lanes(a)) {
        a = cpu_splat(e, a, cpu_lanes(condition));
        b = cpu_splat(e, b, cpu_lanes(condition));
    }
    return LLVMBuildSelect(e->builder, condition, a, b, ""); /* a scalar condition chooses whole vectors */
}

LLVMValueRef cpu_minimum(struct cpu_emitter *e, LLVMValueRef a, LLVMValueRef b)
{
    return cpu_select(e, LLVMBuildICmp(e->builder, LLVMIntSLT, a, b, ""), a, b);
}

LLVMValueRef cpu_maximum(struct cpu_emitter *e, LLVMValueRef a, LLVMValueRef b)
{
    return cpu_select(e, LLVMBuildICmp(e->builder, LLVMIntSGT, a, b, ""), a, b);
}

/* Nests are in vectors and unrolled already: LLVM's own vectorizer and unroller would only multiply them. */
void cpu_loop_hint(struct cpu_emitter *e, LLVMValueRef branch, int unroll)
{
    LLVMMetadataRef self = LLVMTemporaryMDNode(e->llvm, NULL, 0);
    LLVMMetadataRef off = LLVMValueAsMetadata(LLVMConstInt(e->i1, 0, 0));
    LLVMMetadataRef vectorize[2] = {LLVMMDStringInContext2(e->llvm, "llvm.loop.vectorize.enable", 26), off};
    LLVMMetadataRef unrolled[2];
    size_t count = 1;
    if (unroll > 1) {
        unrolled[0] = LLVMMDStringInContext2(e->llvm, "llvm.loop.unroll.count", 22);
        unrolled[1] = LLVMValueAsMetadata(LLVMConstInt(e->i32, (unsigned)unroll, 0));
        count = 2;
    } else {
        unrolled[0] = LLVMMDStringInContext2(e->llvm, "llvm.loop.unroll.disable", 24);
    }
    LLVMMetadataRef parts[3] = {self, LLVMMDNodeInContext2(e->llvm, vectorize, 2),
                                LLVMMDNodeInContext2(e->llvm, unrolled, count)};
    LLVMMetadataRef node = LLVMMDNodeInContext2(e->llvm, parts, 3);
    LLVMMetadataReplaceAllUsesWith(self, node);
    LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(e->llvm, "llvm.loop", 9), LLVMMetadataAsValue(e->llvm, node));
}

/* while (index < stop) { …; index += step; }; loop->index may be used after the loop: the first index not run. */
void cpu_loop_begin(struct cpu_emitter *e, struct cpu_loop *loop, LLVMValueRef start, LLVMValueRef stop, int64_t step)
{
    LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder), body = cpu_block(e, "body");
    loop->head = cpu_block(e, "head");
    loop->exit = cpu_block(e, "exit");
    loop->step = cpu_int(e, step);
    loop->unroll = 1;
    LLVMBuildBr(e->builder, loop->head);
    LLVMPositionBuilderAtEnd(e->builder, loop->head);
    loop->index = LLVMBuildPhi(e->builder, e->i64, "i");
    LLVMAddIncoming(loop->index, &start, &before, 1);
    LLVMBuildCondBr(e->builder, LLVMBuildICmp(e->builder, LLVMIntSLT, loop->index, stop, ""), body, loop->exit);
    LLVMPositionBuilderAtEnd(e->builder, body);
}

void cpu_loop_end(struct cpu_emitter *e, struct cpu_loop *loop)
{
    LLVMValueRef next = LLVMBuildNSWAdd(e->builder, loop->index, loop->step, "");
    LLVMBasicBlockRef here = LLVMGetInsertBlock(e->builder);
    LLVMAddIncoming(loop->index, &next, &here, 1);
    cpu_loop_hint(e, LLVMBuildBr(e->builder, loop->head), loop->unroll);
    LLVMPositionBuilderAtEnd(e->builder, loop->exit);
}

LLVMMetadataRef cpu_enter_place(struct cpu_emitter *e, struct location at)
{
    LLVMMetadataRef before = e->lines ? LLVMGetCurrentDebugLocation2(e->builder) : NULL;
    if (e->lines)
        lines_set(e->lines, e->builder, at);
    return before;
}

void cpu_leave_place(struct cpu_emitter *e, LLVMMetadataRef before)
{
    if (e->lines)
        LLVMSetCurrentDebugLocation2(e->builder, before);
}

bool cpu_report(struct cpu_emitter *e, struct location at, const char *what)
{
    e->failed = true;
    diag_report(e->options->diagnostics, DIAGNOSTIC_E1208, at, "%s is not there yet on the CPU", what);
    return false;
}
