/* Conditions that choose a schedule as functions of the object: they are asked for at each launch, and hold many
 * operations.  Their byte code is there as well, for run times that know no functions, and gives the same: what overflows
 * does not hold.
 *
 * What is computed are names, strides, constants and multiprocessors. */
#include "targets/host/host.h"

#include <string.h>

struct computed {
    const struct kernel_expression *expression;
    LLVMValueRef value;
};
struct choice {
    struct host_builder *builder;
    const struct kernel_entry *entry;
    LLVMBuilderRef code;
    LLVMValueRef names, processors, slots;
    LLVMValueRef overflows;           /* i1; NULL: nothing can */
    VECTOR(struct computed) computed; /* as nobody else finds what is the same in two times */
};

/* Above 0, so that a quotient is there. */
static bool is_divisor(const struct kernel_expression *e)
{
    if (e->op == KERNEL_HOST_MUL)
        return is_divisor(e->operand[0]) && is_divisor(e->operand[1]);
    return e->op == KERNEL_HOST_SM_COUNT || (e->op == KERNEL_HOST_CONSTANT && e->number > 0);
}

static bool can_compute(const struct kernel_expression *e)
{
    switch (e->op) {
    case KERNEL_HOST_CONSTANT:
    case KERNEL_HOST_NAME:
    case KERNEL_HOST_KEY:
    case KERNEL_HOST_STRIDE:
    case KERNEL_HOST_SM_COUNT: return true;
    case KERNEL_HOST_DIV:
    case KERNEL_HOST_CDIV: return can_compute(e->operand[0]) && is_divisor(e->operand[1]);
    case KERNEL_HOST_ADD:
    case KERNEL_HOST_SUB:
    case KERNEL_HOST_MUL:
    case KERNEL_HOST_MIN:
    case KERNEL_HOST_MAX:
    case KERNEL_HOST_BIT_AND:
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

static LLVMValueRef load(const struct choice *c, LLVMValueRef array, int64_t index)
{
    LLVMValueRef place = number(c, index);
    LLVMValueRef at = LLVMBuildGEP2(c->code, c->builder->i64, array, &place, 1, "");
    return LLVMBuildLoad2(c->code, c->builder->i64, at, "");
}

static LLVMValueRef load_stride(const struct choice *c, const struct kernel_expression *e)
{
    const struct kernel_parameter *p = &c->entry->parameters.data[e->number];
    return load(c, c->slots, p->slot + 1 + p->rank + e->dimension);
}

static LLVMValueRef compare(const struct choice *c, LLVMIntPredicate predicate, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildZExt(c->code, LLVMBuildICmp(c->code, predicate, a, b, ""), c->builder->i64, "");
}

static LLVMValueRef select_by(const struct choice *c, LLVMIntPredicate predicate, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildSelect(c->code, LLVMBuildICmp(c->code, predicate, a, b, ""), a, b, "");
}

/* name: of the intrinsic that tells of an overflow, too. */
static LLVMValueRef checked(struct choice *c, const char *name, LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef operands[] = {a, b};
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMValueRef function = LLVMGetIntrinsicDeclaration(c->builder->module, id, &c->builder->i64, 1);
    LLVMTypeRef signature = LLVMIntrinsicGetType(c->builder->llvm, id, &c->builder->i64, 1);
    LLVMValueRef both = LLVMBuildCall2(c->code, signature, function, operands, 2, "");
    LLVMValueRef overflows = LLVMBuildExtractValue(c->code, both, 1, "");
    c->overflows = c->overflows ? LLVMBuildOr(c->code, c->overflows, overflows, "") : overflows;
    return LLVMBuildExtractValue(c->code, both, 0, "");
}

/* Cut off, or rounded up.  The code of this module is not optimized, so that powers of two are shifts here. */
static LLVMValueRef quotient(const struct choice *c, const struct kernel_expression *e, LLVMValueRef a, LLVMValueRef b)
{
    const struct kernel_expression *divisor = e->operand[1];
    const bool up = e->op == KERNEL_HOST_CDIV;
    if (divisor->op == KERNEL_HOST_CONSTANT && (divisor->number & (divisor->number - 1)) == 0) {
        LLVMValueRef mask = number(c, divisor->number - 1), bits = number(c, log2_floor((uint64_t)divisor->number));
        LLVMValueRef below = LLVMBuildAnd(c->code, a, mask, ""), floor = LLVMBuildAShr(c->code, a, bits, "");
        LLVMValueRef more = compare(c, LLVMIntNE, below, number(c, 0));
        if (!up)
            more = LLVMBuildAnd(c->code, more, compare(c, LLVMIntSLT, a, number(c, 0)), "");
        return LLVMBuildAdd(c->code, floor, more, "");
    }
    LLVMValueRef cut = LLVMBuildSDiv(c->code, a, b, "");
    if (!up)
        return cut;
    LLVMValueRef rest = LLVMBuildSub(c->code, a, LLVMBuildMul(c->code, cut, b, ""), "");
    return LLVMBuildAdd(c->code, cut, compare(c, LLVMIntSGT, rest, number(c, 0)), "");
}

static LLVMValueRef compute_anew(struct choice *c, const struct kernel_expression *e, LLVMValueRef a, LLVMValueRef b)
{
    switch (e->op) {
    case KERNEL_HOST_CONSTANT: return number(c, e->number);
    case KERNEL_HOST_NAME: return load(c, c->names, e->number);
    case KERNEL_HOST_KEY: return load(c, c->names, c->entry->names.count + e->number);
    case KERNEL_HOST_STRIDE: return load_stride(c, e);
    case KERNEL_HOST_SM_COUNT: return c->processors;
    case KERNEL_HOST_BIT_AND: return LLVMBuildAnd(c->code, a, b, "");
    case KERNEL_HOST_ADD: return checked(c, "llvm.sadd.with.overflow", a, b);
    case KERNEL_HOST_SUB: return checked(c, "llvm.ssub.with.overflow", a, b);
    case KERNEL_HOST_MUL: return checked(c, "llvm.smul.with.overflow", a, b);
    case KERNEL_HOST_DIV:
    case KERNEL_HOST_CDIV: return quotient(c, e, a, b);
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

static LLVMValueRef compute(struct choice *c, const struct kernel_expression *e)
{
    for (int i = 0; i < c->computed.count; i++)
        if (kernel_expression_same(c->computed.data[i].expression, e))
            return c->computed.data[i].value;
    LLVMValueRef a = e->operand[0] ? compute(c, e->operand[0]) : NULL;
    LLVMValueRef b = e->operand[1] ? compute(c, e->operand[1]) : NULL;
    LLVMValueRef value = compute_anew(c, e, a, b);
    vector_push(c->builder->arena, &c->computed, ((struct computed){e, value}));
    return value;
}

LLVMValueRef host_choice(struct host_builder *b, const struct kernel_entry *entry,
                         const struct kernel_expression *condition)
{
    LLVMTypeRef parameters[] = {b->pointer, b->i64, b->pointer};
    struct choice choice = {.builder = b, .entry = entry};
    if (!can_compute(condition))
        return NULL;
    LLVMValueRef function = LLVMAddFunction(b->module, "choice", LLVMFunctionType(b->i32, parameters, 3, false));
    LLVMSetLinkage(function, LLVMPrivateLinkage);
    LLVMSetSection(function, arena_printf(b->arena, ".text.tile.%s", entry->symbol));
    choice.code = LLVMCreateBuilderInContext(b->llvm);
    choice.names = LLVMGetParam(function, 0);
    choice.processors = LLVMGetParam(function, 1);
    choice.slots = LLVMGetParam(function, 2);
    LLVMPositionBuilderAtEnd(choice.code, LLVMAppendBasicBlockInContext(b->llvm, function, ""));
    LLVMValueRef holds = LLVMBuildTrunc(choice.code, compute(&choice, condition), b->i32, "");
    if (choice.overflows)
        holds = LLVMBuildSelect(choice.code, choice.overflows, LLVMConstInt(b->i32, 0, false), holds, "");
    LLVMBuildRet(choice.code, holds);
    LLVMDisposeBuilder(choice.code);
    return function;
}
