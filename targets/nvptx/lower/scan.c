/* Scans: up and down the tree of neighbours.
 *
 *     up      as an ordered reduction, which remembers at each step the value on the left
 *     down    from the last step to the first: each range knows what stands before it, p.  Its left half gets p, its
 *             right half gets p combined with the value of the left half
 *
 * The tree goes by the bits of the axis alone, so a `fixed` scan has the same bits in any layout.  Where it is not fixed,
 * the neighbours that one thread holds are scanned one after the other instead. */
#include "targets/common/combine.h"
#include "targets/nvptx/lower/lower.h"

#include <string.h>

/* What stands before each register's element. */
struct before {
    LLVMValueRef **value; /* [register][operand] */
    LLVMValueRef *any;    /* i1: whether anything does; NULL: nothing */
};

static bool is_known(LLVMValueRef condition) { return LLVMIsConstant(condition); }

/* `right` with what stands before it, where `any` says that something does. */
static void behind(struct lowering *l, const struct fold *f, LLVMValueRef any, const LLVMValueRef *before,
                   const LLVMValueRef *right, LLVMValueRef *out)
{
    LLVMValueRef left[16], both[16];
    if (any && is_known(any)) {
        fold_combine(l, f, before, right, out);
        return;
    }
    for (int o = 0; any && o < f->operands; o++) /* where nothing does, a function sees true elements all the same */
        left[o] = LLVMBuildSelect(l->builder, any, before[o], right[o], "");
    if (any)
        fold_combine(l, f, left, right, both);
    for (int o = 0; o < f->operands; o++)
        out[o] = any ? LLVMBuildSelect(l->builder, any, both[o], right[o], "") : right[o];
}

/* Before the first element: the scalars of an exclusive scan, what changes nothing under a kind, or nothing. */
static LLVMValueRef first(struct lowering *l, const struct fold *f, LLVMValueRef *values)
{
    const struct ir_operation *op = f->operation;
    enum ir_reduce_kind kind = (enum ir_reduce_kind)ir_number(op, IR_ATTRIBUTE_KIND, IR_REDUCE_ADD);
    enum ir_nan nan = (enum ir_nan)ir_number(op, IR_ATTRIBUTE_NAN, IR_NAN_SKIP);
    bool exclusive = ir_number(op, IR_ATTRIBUTE_EXCLUSIVE, 0) != 0;
    for (int o = 0; o < f->operands; o++) {
        enum ir_element element = op->operands[o]->type->element;
        if (exclusive)
            values[o] = value_register(l, op->operands[f->operands + o], 0);
        else if (kind != IR_REDUCE_REGION)
            values[o] = value_constant(l, element, combine_identity(kind, element, nan));
        else
            values[o] = LLVMConstNull(LLVMTypeOf(f->value[o][0]));
    }
    return exclusive || kind != IR_REDUCE_REGION ? value_i1(l, true) : NULL;
}

static void hand_down(struct lowering *l, const struct fold *f, struct before *before, const struct fold_event *event)
{
    LLVMBuilderRef b = l->builder;
    LLVMValueRef any = before->any[event->keep], condition = event->condition, next[16];
    behind(l, f, any, before->value[event->keep], event->left, next);
    for (int o = 0; condition && o < f->operands; o++)
        next[o] = LLVMBuildSelect(b, condition, next[o], before->value[event->keep][o], "");
    before->value[event->target] = arena_copy(l->arena, next, sizeof *next * (size_t)f->operands);
    if (!condition || (any && is_known(any)))
        before->any[event->target] = value_i1(l, true);
    else
        before->any[event->target] = any ? LLVMBuildOr(b, any, condition, "") : condition;
}

void lower_scan(struct lowering *l, struct ir_operation *operation)
{
    struct fold f;
    LLVMValueRef start[16], out[16];
    fold_open(l, &f, operation);
    f.remembers = true;
    fold_run(l, &f);
    struct before before = {ARENA_ARRAY(l->arena, LLVMValueRef *, f.registers),
                            ARENA_ARRAY(l->arena, LLVMValueRef, f.registers)};
    LLVMValueRef any = first(l, &f, start);
    for (int r = 0; r < f.registers; r++) {
        before.value[r] = arena_copy(l->arena, start, sizeof *start * (size_t)f.operands);
        before.any[r] = any;
    }
    for (int i = f.events.count - 1; i >= 0; i--)
        hand_down(l, &f, &before, &f.events.data[i]);
    bool exclusive = ir_number(operation, IR_ATTRIBUTE_EXCLUSIVE, 0) != 0;
    LLVMValueRef *results[16];
    for (int o = 0; o < f.operands; o++) {
        if (!layout_equal(operation->results[o]->type->layout, f.layout))
            die("a scan's result has another layout");
        results[o] = value_define(l, operation->results[o]);
    }
    for (int r = 0; r < f.registers; r++) {
        int front = f.in_front[r], head = r;
        while (f.in_front[head] >= 0)
            head = f.in_front[head];
        if (exclusive && front < 0) /* its run's first */
            memcpy(out, before.value[head], sizeof *out * (size_t)f.operands);
        else
            behind(l, &f, before.any[head], before.value[head], f.run[exclusive ? front : r], out);
        for (int o = 0; o < f.operands; o++)
            results[o][r] = out[o];
    }
}
