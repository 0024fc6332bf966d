/* Conditions that choose a schedule as functions of the object: they are asked for at each launch, and hold many
 * operations.  Their byte code is there as well, for run times that know no functions.
 *
 * What is computed are names, constants and multiprocessors.  Arithmetic wraps, and quotients are those of numbers that are
 * not negative: nothing but speed hangs on what comes of it. */
#include "targets/host/host.h"

struct choice {
    struct host_builder *builder;
    const struct kernel_entry *entry;
    LLVMBuilderRef code;
    LLVMValueRef names, processors;
};

static bool is_divisor(const struct kernel_expression *e)
{
    return e->op == KERNEL_HOST_SM_COUNT || (e->op == KERNEL_HOST_CONSTANT && e->number > 0);
}

static bool can_compute(const struct kernel_expression *e)
{
    switch (e->op) {
    case KERNEL_HOST_CONSTANT:
    case KERNEL_HOST_NAME:
    case KERNEL_HOST_KEY:
    case KERNEL_HOST_SM_COUNT: return true;
    case KERNEL_HOST_DIV:
    case KERNEL_HOST_CDIV: return can_compute(e->operand[0]) && is_divisor(e->operand[1]);
    case KERNEL_HOST_ADD:
    case KERNEL_HOST_SUB:
    case KERNEL_HOST_MUL:
    case KERNEL_HOST_MIN:
    case KERNEL_HOST_MAX:
    case KERNEL_HOST_EQ:
    case KERNEL_HOST_NE:
    case KERNEL_HOST_LT:
    case KERNEL_HOST_LE:
    case KERNEL_HOST_GT:
    case KERNEL_HOST_GE: return can_compute(e->operand[0]) && can_compute(e->operand[1]);
    default: return false;
    }
}

static LLVMValueRef number(const struct choice *c, int64_t value)
{
    return LLVMConstInt(c->builder->i64, (uint64_t)value, false);
}

static LLVMValueRef load_name(const struct choice *c, int64_t index)
{
    LLVMValueRef place = number(c, index);
    LLVMValueRef at = LLVMBuildGEP2(c->code, c->builder->i64, c->names, &place, 1, "");
    return LLVMBuildLoad2(c->code, c->builder->i64, at, "");
}

static LLVMValueRef compare(const struct choice *c, LLVMIntPredicate predicate, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildZExt(c->code, LLVMBuildICmp(c->code, predicate, a, b, ""), c->builder->i64, "");
}

static LLVMValueRef select_by(const struct choice *c, LLVMIntPredicate predicate, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildSelect(c->code, LLVMBuildICmp(c->code, predicate, a, b, ""), a, b, "");
}

static LLVMValueRef compute(const struct choice *c, const struct kernel_expression *e)
{
    LLVMValueRef a = e->operand[0] ? compute(c, e->operand[0]) : NULL;
    LLVMValueRef b = e->operand[1] ? compute(c, e->operand[1]) : NULL;
    switch (e->op) {
    case KERNEL_HOST_CONSTANT: return number(c, e->number);
    case KERNEL_HOST_NAME: return load_name(c, e->number);
    case KERNEL_HOST_KEY: return load_name(c, c->entry->names.count + e->number);
    case KERNEL_HOST_SM_COUNT: return c->processors;
    case KERNEL_HOST_ADD: return LLVMBuildAdd(c->code, a, b, "");
    case KERNEL_HOST_SUB: return LLVMBuildSub(c->code, a, b, "");
    case KERNEL_HOST_MUL: return LLVMBuildMul(c->code, a, b, "");
    case KERNEL_HOST_DIV: return LLVMBuildUDiv(c->code, a, b, "");
    case KERNEL_HOST_CDIV:
        a = LLVMBuildAdd(c->code, a, LLVMBuildSub(c->code, b, number(c, 1), ""), "");
        return LLVMBuildUDiv(c->code, a, b, "");
    case KERNEL_HOST_MIN: return select_by(c, LLVMIntSLT, a, b);
    case KERNEL_HOST_MAX: return select_by(c, LLVMIntSGT, a, b);
    case KERNEL_HOST_EQ: return compare(c, LLVMIntEQ, a, b);
    case KERNEL_HOST_NE: return compare(c, LLVMIntNE, a, b);
    case KERNEL_HOST_LT: return compare(c, LLVMIntSLT, a, b);
    case KERNEL_HOST_LE: return compare(c, LLVMIntSLE, a, b);
    case KERNEL_HOST_GT: return compare(c, LLVMIntSGT, a, b);
    case KERNEL_HOST_GE: return compare(c, LLVMIntSGE, a, b);
    default: die("host expression %d in a choice", (int)e->op);
    }
}

LLVMValueRef host_choice(struct host_builder *b, const struct kernel_entry *entry,
                         const struct kernel_expression *condition)
{
    LLVMTypeRef parameters[] = {b->pointer, b->i64};
    struct choice choice = {.builder = b, .entry = entry};
    if (!can_compute(condition))
        return NULL;
    LLVMValueRef function = LLVMAddFunction(b->module, "choice", LLVMFunctionType(b->i32, parameters, 2, false));
    LLVMSetLinkage(function, LLVMPrivateLinkage);
    LLVMSetSection(function, arena_printf(b->arena, ".text.tile.%s", entry->symbol));
    choice.code = LLVMCreateBuilderInContext(b->llvm);
    choice.names = LLVMGetParam(function, 0);
    choice.processors = LLVMGetParam(function, 1);
    LLVMPositionBuilderAtEnd(choice.code, LLVMAppendBasicBlockInContext(b->llvm, function, ""));
    LLVMBuildRet(choice.code, LLVMBuildTrunc(choice.code, compute(&choice, condition), b->i32, ""));
    LLVMDisposeBuilder(choice.code);
    return function;
}
