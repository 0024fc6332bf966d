/* The plan of an access to a view: a thread's address, which registers go together as one vector, and what is outside.
 *
 *     address = data + bytes * sum of start[d] * stride[d]        the same for all threads
 *             + (the thread's part of the coordinates) * stride   one for each thread
 *             + (the register's part) * stride                    an immediate where the stride is known
 *
 * A coordinate c of dimension d is inside when start + c lies in [0, extent).  That is low <= c < limit, with low =
 * clamp(-start) and limit = clamp(extent - start).  Both are made once and are 32 bits wide, so that a register costs
 * one comparison. */
#include "base/plant.h"
#include "ir/query.h"
#include "targets/nvptx/thread/memory.h"

LLVMValueRef reach_both(struct lowering *l, LLVMValueRef a, LLVMValueRef b)
{
    if (!a || !b)
        return a ? a : b;
    return LLVMBuildAnd(l->builder, a, b, "");
}

static LLVMValueRef clamp_i32(struct lowering *l, LLVMValueRef value, int64_t most)
{
    LLVMValueRef low[2] = {value, value_i64(l, 0)};
    LLVMValueRef high[2] = {value_intrinsic(l, "llvm.smax", l->i64, low, 2), value_i64(l, most)};
    return LLVMBuildTrunc(l->builder, value_intrinsic(l, "llvm.smin", l->i64, high, 2), l->i32, "");
}

static LLVMValueRef index_scalar(struct lowering *l, const struct reach *reach, int d)
{
    const struct ir_value *index = reach->access.index[d];
    return value_wide(l, index->type->element, value_register(l, index, 0));
}

static bool proven(const struct ir_operation *operation, int d)
{
    return ir_number(operation, IR_ATTRIBUTE_INSIDE, 0) >> d & 1;
}

static void plan_bounds(struct lowering *l, const struct ir_operation *operation, struct reach *reach)
{
    LLVMBuilderRef b = l->builder;
    const struct view *view = reach->view;
    if (reach->access.view->type->optional || !LLVMIsAConstantInt(view->present))
        reach->usable = view->present;
    for (int d = 0; d < reach->access.rank; d++) {
        int64_t place = reach->access.place[d];
        if (place == IR_GATHER || proven(operation, d))
            continue;
        LLVMValueRef start = index_scalar(l, reach, d);
        if (place == IR_POINT) {
            reach->usable = reach_both(l, reach->usable, LLVMBuildICmp(b, LLVMIntULT, start, view->extent[d], ""));
            continue;
        }
        reach->limit[d] = clamp_i32(l, LLVMBuildSub(b, view->extent[d], start, ""), place);
        if (!fact_not_negative(l, reach->access.index[d]) && !PLANTED(nvptx_negative_start_unmasked))
            reach->low[d] = clamp_i32(l, LLVMBuildNeg(b, start, ""), place);
    }
    /* A limit of 0 says "nothing" as well as a predicate of its own would. */
    for (int d = 0; d < reach->access.rank && reach->usable; d++)
        if (reach->limit[d]) {
            reach->limit[d] = LLVMBuildSelect(b, reach->usable, reach->limit[d], value_i32(l, 0), "");
            reach->usable = NULL;
        }
}

/* Whether the thread's part of a dimension can be in the address, and registers add theirs. */
static bool separable(const struct reach *reach, int d)
{
    struct layout_formula formula;
    layout_thread_formula(reach->type->layout, reach->tile_dimension[d], &formula);
    return formula.register_disjoint;
}

static void plan_address(struct lowering *l, struct reach *reach)
{
    LLVMBuilderRef b = l->builder;
    const struct view *view = reach->view;
    LLVMValueRef offset = value_i64(l, 0), thread = NULL;
    LLVMValueRef bytes = value_i64(l, value_bytes(reach->element));
    for (int d = 0; d < reach->access.rank; d++) {
        if (reach->access.place[d] == IR_GATHER)
            continue;
        offset = value_sum(l, offset, value_product(l, index_scalar(l, reach, d), view->stride[d]));
        if (reach->access.place[d] == IR_POINT || !separable(reach, d))
            continue;
        LLVMValueRef part = coordinate_thread(l, reach->type->layout, reach->tile_dimension[d]);
        part = value_product(l, LLVMBuildZExt(b, part, l->i64, ""), view->stride[d]);
        if (PLANTED(nvptx_offset_of_32_bits))
            part = LLVMBuildAnd(b, part, value_i64(l, UINT32_MAX), "");
        thread = thread ? LLVMBuildAdd(b, thread, part, "") : part;
    }
    offset = LLVMBuildMul(b, offset, bytes, "");
    reach->address = LLVMBuildGEP2(b, l->i8, view->data, &offset, 1, "");
    if (!thread)
        return;
    thread = LLVMBuildMul(b, thread, bytes, "");
    reach->address = LLVMBuildGEP2(b, l->i8, reach->address, &thread, 1, "");
}

/* The widest vector that layout, stride and alignment allow.  Where the extent is not known to be a multiple of it, or a
 * store asks for the alignment, `whole` tells when running. */
static void plan_vector(struct lowering *l, const struct ir_operation *operation, struct reach *reach)
{
    LLVMBuilderRef b = l->builder;
    const struct view *view = reach->view;
    int bytes = value_bytes(reach->element);
    reach->contiguous = -1;
    reach->vector = (struct layout_vector){.size = 1};
    bool asks = view->asked && operation->opcode == OP_STORE;
    int64_t alignment = view->asked && !asks ? bytes : int64_min(view->alignment, 16);
    for (int d = 0; d < reach->access.rank; d++) {
        if (reach->access.place[d] > 0 && reach->access.view->type->stride[d] == 1)
            reach->contiguous = d;
        int64_t multiple = view->stride_multiple[d];
        if (reach->access.place[d] != IR_GATHER)
            multiple *= fact_divisor(l, reach->access.index[d]);
        /* The tile's own coordinates along other dimensions add multiples of the stride alone. */
        if (reach->access.place[d] > 0 && reach->access.view->type->stride[d] != 1)
            multiple = view->stride_multiple[d];
        while (alignment > 1 && (multiple * bytes) % alignment)
            alignment /= 2;
    }
    int d = reach->contiguous;
    if (d < 0 || !reach->type->layout || alignment <= bytes)
        return;
    struct layout_vector vector = layout_vector(reach->type->layout, reach->tile_dimension[d],
                                                (int)(alignment / bytes));
    reach->vector = vector;
    if (asks && vector.size > 1)
        reach->whole = view_ask(l, view->asked, false);
    if (proven(operation, d) || view->extent_multiple[d] % vector.size == 0 || PLANTED(nvptx_last_vector_unmasked))
        return;
    LLVMValueRef start = index_scalar(l, reach, d);
    LLVMValueRef end = LLVMBuildAdd(b, start, value_i64(l, reach->access.place[d]), "");
    LLVMValueRef inside = LLVMBuildICmp(b, LLVMIntSLE, end, view->extent[d], "");
    LLVMValueRef rest = LLVMBuildAnd(b, view->extent[d], value_i64(l, vector.size - 1), "");
    LLVMValueRef even = LLVMBuildICmp(b, LLVMIntEQ, rest, value_i64(l, 0), "");
    reach->whole = reach_both(l, reach->whole, LLVMBuildOr(b, inside, even, ""));
}

/* A copy that LLVM does not compute in front of a loop. */
static LLVMValueRef stay(struct lowering *l, LLVMValueRef value)
{
    if (!value || LLVMIsConstant(value))
        return value;
    return ptx_text(l, "mov.b32 $0, $1;", "=r,r", l->i32, &value, 1, true);
}

enum { FEW_ACCESSES = 2, MANY_ACCESSES = 16, MANY_MASKS = 8 };

/* Accesses in a loop: what each adds to the address does not change from one iteration to the next; LLVM and ptxas
 * would keep all of it, in more registers than there are.  So from a few accesses on each address is made from the one
 * before, which changes.  Of many, limits change, too, as far as LLVM can see: it would keep whether each row is
 * inside.  Masks of many elements are not kept from one operation to the next, either: a comparison costs less than
 * bits of predicates in registers. */
static void plan_many(struct lowering *l, const struct ir_operation *operation, struct reach *reach)
{
    int accesses = ir_is_in_loop(operation) ? value_registers(reach->type) / reach->vector.size : 0;
    bool masks = operation->opcode == OP_INSIDE && value_registers(reach->type) >= MANY_MASKS;
    if (accesses > FEW_ACCESSES) {
        reach->chain = ARENA_NEW(l->arena, struct reach_chain);
        *reach->chain = (struct reach_chain){0};
    }
    if (accesses <= MANY_ACCESSES && !masks)
        return;
    for (int d = 0; d < reach->access.rank; d++) {
        reach->limit[d] = stay(l, reach->limit[d]);
        reach->low[d] = stay(l, reach->low[d]);
    }
}

void reach_plan(struct lowering *l, const struct ir_operation *operation, struct reach *reach)
{
    struct ir_access access;
    if (!ir_access_of(operation, &access))
        die("%s without a place", ir_op_info[operation->opcode].text);
    reach_plan_as(l, operation, operation->opcode == OP_STORE ? access.value->type : operation->results[0]->type,
                  reach);
}

void reach_plan_as(struct lowering *l, const struct ir_operation *operation, const struct ir_type *type,
                   struct reach *reach)
{
    *reach = (struct reach){.gather_first = -1};
    if (!ir_access_of(operation, &reach->access))
        die("%s without a place", ir_op_info[operation->opcode].text);
    reach->view = value_of(l, reach->access.view)->view;
    reach->element = reach->access.view->type->element;
    reach->type = type;
    int next = 0;
    for (int d = 0; d < reach->access.rank; d++) {
        int64_t place = reach->access.place[d];
        reach->tile_dimension[d] = -1;
        if (place > 0) {
            reach->tile_dimension[d] = next++;
        } else if (place == IR_GATHER && reach->gather_first < 0) {
            reach->gather_first = next;
            next += reach->access.index[d]->type->rank;
        }
    }
    plan_bounds(l, operation, reach);
    plan_address(l, reach);
    plan_vector(l, operation, reach);
    plan_many(l, operation, reach);
}

/* The index that the gathered dimension d takes for a register. */
static LLVMValueRef gathered_index(struct lowering *l, const struct reach *reach, int d, int reg)
{
    const struct ir_value *tile = reach->access.index[d];
    int found = 0;
    if (tile->type->rank > 0) {
        int coordinates[LAYOUT_RANK];
        struct layout_position position = {.part = {[LAYOUT_REGISTER] = reg}};
        layout_coordinates(reach->type->layout, &position, coordinates);
        found = coordinate_find_register(tile->type->layout, coordinates + reach->gather_first);
        if (found < 0)
            die("a gather index lies in another thread than the element it picks");
    }
    return value_wide(l, tile->type->element, value_register(l, tile, found));
}

/* Adds what `number` elements along dimension d are to the offset, where it is known and small enough. */
static bool add_known(const struct reach *reach, int d, int number, int64_t *offset)
{
    int64_t stride = reach->access.view->type->stride[d];
    if (stride == IR_DYNAMIC || stride <= -(1 << 20) || stride >= 1 << 20)
        return false;
    int64_t sum = *offset + number * stride * value_bytes(reach->element);
    if (sum >= 1 << 23 || sum <= -(1 << 23))
        return false;
    *offset = sum;
    return true;
}

bool reach_parts_of(const struct reach *reach, int reg, struct reach_parts *parts)
{
    *parts = (struct reach_parts){0};
    for (int d = 0; d < reach->access.rank; d++) {
        if (reach->access.place[d] == IR_POINT)
            continue;
        if (reach->access.place[d] == IR_GATHER || !separable(reach, d))
            return false;
        coordinate_adds(reach->type->layout, reach->tile_dimension[d], reg, &parts->coordinate[d]);
        if (!add_known(reach, d, parts->coordinate[d], &parts->offset))
            parts->step[d] = parts->coordinate[d];
    }
    return true;
}

LLVMValueRef reach_address(struct lowering *l, const struct reach *reach, int reg, int64_t *offset)
{
    LLVMBuilderRef b = l->builder;
    int bytes = value_bytes(reach->element), number[IR_MAX_RANK] = {0};
    struct reach_chain *chain = reach->chain;
    bool follows = chain && chain->block == LLVMGetInsertBlock(b);
    LLVMValueRef address = follows ? chain->address : reach->address, moved = NULL;
    *offset = 0;
    for (int d = 0; d < reach->access.rank; d++) {
        LLVMValueRef part;
        if (reach->access.place[d] == IR_GATHER) {
            part = gathered_index(l, reach, d, reg);
            chain = NULL;
        } else if (reach->access.place[d] == IR_POINT) {
            continue;
        } else if (separable(reach, d)) {
            coordinate_adds(reach->type->layout, reach->tile_dimension[d], reg, &number[d]);
            if (add_known(reach, d, number[d], offset)) {
                number[d] = 0;
                continue;
            }
            int step = number[d] - (follows ? chain->number[d] : 0);
            if (step == 0)
                continue;
            part = value_i64(l, step);
        } else {
            part = LLVMBuildZExt(b, coordinate_register(l, reach->type->layout, reach->tile_dimension[d], reg), l->i64,
                                 "");
            chain = NULL;
        }
        part = LLVMBuildMul(b, part, reach->view->stride[d], "");
        moved = moved ? LLVMBuildAdd(b, moved, part, "") : part;
    }
    if (moved) {
        moved = LLVMBuildMul(b, moved, value_i64(l, bytes), "");
        address = LLVMBuildGEP2(b, l->i8, address, &moved, 1, "");
    }
    if (chain) {
        *chain = (struct reach_chain){.block = LLVMGetInsertBlock(b), .address = address};
        for (int d = 0; d < reach->access.rank; d++)
            chain->number[d] = number[d];
    }
    return address;
}

LLVMValueRef reach_inside(struct lowering *l, const struct reach *reach, int reg)
{
    LLVMBuilderRef b = l->builder;
    LLVMValueRef inside = reach->usable;
    for (int d = 0; d < reach->access.rank; d++) {
        if (reach->access.place[d] == IR_GATHER) {
            if (proven(l->operation, d))
                continue;
            LLVMValueRef index = gathered_index(l, reach, d, reg);
            inside = reach_both(l, inside, LLVMBuildICmp(b, LLVMIntULT, index, reach->view->extent[d], ""));
            continue;
        }
        if (!reach->limit[d])
            continue;
        int number;
        int dimension = reach->tile_dimension[d];
        LLVMValueRef test;
        if (separable(reach, d)) {
            coordinate_adds(reach->type->layout, dimension, reg, &number);
            LLVMValueRef thread = coordinate_thread(l, reach->type->layout, dimension);
            if (l->operation->opcode == OP_INSIDE) { /* an element each: against constants */
                LLVMValueRef left = LLVMBuildSub(b, reach->limit[d], thread, "");
                test = LLVMBuildICmp(b, LLVMIntSGT, left, value_i32(l, number), "");
            } else { /* a vector each: the uniform datapath subtracts */
                LLVMValueRef left = value_without(l, reach->limit[d], number);
                test = LLVMBuildICmp(b, LLVMIntSLT, thread, left, "");
            }
        } else {
            LLVMValueRef coordinate = coordinate_register(l, reach->type->layout, dimension, reg);
            test = LLVMBuildICmp(b, LLVMIntSLT, coordinate, reach->limit[d], "");
        }
        inside = reach_both(l, inside, test);
        if (!reach->low[d])
            continue;
        LLVMValueRef coordinate = coordinate_register(l, reach->type->layout, dimension, reg);
        inside = LLVMBuildAnd(b, inside, LLVMBuildICmp(b, LLVMIntSGE, coordinate, reach->low[d], ""), "");
    }
    return inside;
}
