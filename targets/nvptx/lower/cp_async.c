/* Copies from global to shared memory that run on their own (cp.async): each thread moves 16, 8 or 4 bytes at a time.
 *
 * A register layout says which thread moves what, as for a load (layout_rule_copy).  The plan of reach.c gives addresses,
 * limits, and the widest move that stride and alignment allow.  What lies outside the view is not read and becomes 0: a
 * move that straddles the end of its row reads the bytes that are inside.  None straddles the beginning, because places
 * are multiples of the moves.  Where not even 4 bytes can go together, or the target has no cp.async, the elements go
 * through registers.
 *
 * A buffer goes to a view by the same plan where TMA cannot bring it there: element by element, lanes side by side. */
#include "ir/facts/layout_rules.h"
#include "targets/nvptx/lower/lower.h"
#include "targets/nvptx/thread/memory.h"

struct copy {
    struct reach reach;
    const struct ir_value *buffer;
    const struct layout *layout, *shared; /* of the registers that stand for what a thread moves; of the buffer */
    int vector, bytes;                    /* elements of one move; bytes of an element */
    struct layout_formula formula;
    LLVMValueRef thread, start; /* elements: the thread's part of a place; bytes: of element 0 */
};

static void access_of_copy(const struct ir_operation *operation, struct ir_access *access)
{
    if (!ir_access_of(operation, access) || !access->buffer)
        die("a copy without a place");
}

static void plan_copy(struct lowering *l, const struct ir_operation *operation, const struct ir_access *access,
                      const struct layout *layout, struct copy *copy)
{
    const struct ir_type *type = access->buffer->type;
    *copy = (struct copy){
        .buffer = access->buffer, .layout = layout, .shared = type->layout, .bytes = value_bytes(type->element)};
    const struct ir_type *tile = ir_type_tile(l->function->module->context, type->element, type->rank, type->extent);
    reach_plan_as(l, operation, ir_type_with_layout(l->function->module->context, tile, copy->layout), &copy->reach);
    int size = copy->reach.vector.size;
    struct layout_vector memory = layout_memory_vector(copy->layout, copy->shared, size);
    copy->vector = memory.register_mask == copy->reach.vector.register_mask ? memory.size : 1;
    copy->start = buffer_start(l, access->buffer);
    layout_memory_formula(copy->layout, copy->shared, &copy->formula);
    copy->thread = coordinate_formula(l, &copy->formula);
}

/* Address in shared memory of a register's element: *constant is to be added. */
static LLVMValueRef shared_place(struct lowering *l, const struct copy *copy, int reg, int64_t *constant)
{
    LLVMBuilderRef b = l->builder;
    int atom_part, repeat_part;
    layout_memory_parts(copy->layout, copy->shared, reg, &atom_part, &repeat_part);
    uint32_t seen = 0;
    for (int i = 0; i < copy->formula.fields; i++)
        seen |= copy->formula.field[i].multiplier * ((UINT32_C(1) << copy->formula.field[i].count) - 1);
    uint32_t swizzle = (uint32_t)atom_part & seen;
    *constant = ((int64_t)((uint32_t)atom_part & ~seen) + repeat_part) * copy->bytes;
    LLVMValueRef place = copy->thread;
    if (swizzle)
        place = LLVMBuildXor(b, place, value_i32(l, swizzle), "");
    if (copy->formula.group_multiplier) {
        LLVMValueRef group = LLVMBuildUDiv(b, l->warp, value_i32(l, copy->formula.group_warps), "");
        place = LLVMBuildAdd(b, place, LLVMBuildMul(b, group, value_i32(l, copy->formula.group_multiplier), ""), "");
    }
    return LLVMBuildAdd(b, LLVMBuildMul(b, place, value_i32(l, copy->bytes), ""), copy->start, "");
}

static bool may_straddle(const struct copy *copy)
{
    const struct reach *reach = &copy->reach;
    return reach->contiguous >= 0 && copy->vector > 1 && reach->whole && reach->limit[reach->contiguous];
}

/* How many bytes are inside of a move that may straddle the end of its row. */
static LLVMValueRef bytes_inside(struct lowering *l, const struct copy *copy, int reg, LLVMValueRef inside)
{
    LLVMBuilderRef b = l->builder;
    const struct reach *reach = &copy->reach;
    int d = reach->contiguous;
    LLVMValueRef coordinate = coordinate_register(l, copy->layout, reach->tile_dimension[d], reg);
    LLVMValueRef left = LLVMBuildSub(b, reach->limit[d], coordinate, "");
    LLVMValueRef few[2] = {LLVMBuildMul(b, left, value_i32(l, copy->bytes), ""),
                           value_i32(l, copy->vector * copy->bytes)};
    LLVMValueRef all = value_intrinsic(l, "llvm.smin", l->i32, few, 2);
    return LLVMBuildSelect(b, inside, all, value_i32(l, 0), "");
}

static void move(struct lowering *l, const struct copy *copy, int reg, const char *cache)
{
    int64_t to_constant, from_constant;
    LLVMValueRef to = shared_place(l, copy, reg, &to_constant);
    LLVMValueRef from = reach_address(l, &copy->reach, reg, &from_constant);
    LLVMValueRef inside = reach_inside(l, &copy->reach, reg);
    const char *words[4] = {cache, arena_printf(l->arena, "%lld", (long long)to_constant),
                            arena_printf(l->arena, "%lld", (long long)from_constant),
                            arena_printf(l->arena, "%d", copy->vector * copy->bytes)};
    LLVMValueRef arguments[3] = {to, from, NULL};
    enum ptx_row row = PTX_CP_ASYNC_WHOLE;
    if (inside && may_straddle(copy)) {
        arguments[2] = bytes_inside(l, copy, reg, inside);
        row = PTX_CP_ASYNC;
    } else if (inside) {
        arguments[2] = LLVMBuildNot(l->builder, inside, "");
        row = PTX_CP_ASYNC_IGNORE;
    }
    ptx_emit(l, row, l->nothing, arguments, inside ? 3 : 2, words);
}

static LLVMValueRef shared_pointer(struct lowering *l, const struct copy *copy, int reg)
{
    int64_t constant;
    LLVMValueRef place = shared_place(l, copy, reg, &constant);
    place = LLVMBuildAdd(l->builder, place, value_i32(l, constant), "");
    return LLVMBuildIntToPtr(l->builder, place, l->shared_pointer, "");
}

/* Loads, then stores: neighbours together where both sides allow it. */
static void through_registers(struct lowering *l, const struct copy *copy)
{
    const struct reach *reach = &copy->reach;
    enum ir_element element = reach->element;
    int count = layout_registers(copy->layout), vector = reach->whole ? 1 : copy->vector;
    struct memory_shape shape = memory_shape(element, vector);
    LLVMValueRef *words = value_array(l, count), zero[16];
    for (int i = 0; i < 16; i++)
        zero[i] = value_constant(l, element, 0);
    for (int reg = 0; reg < count; reg += vector) {
        int64_t offset;
        LLVMValueRef address = reach_address(l, reach, reg, &offset);
        memory_load(l, element, "", address, offset, vector, reach_inside(l, reach, reg), zero, words + reg);
    }
    for (int reg = 0; reg < count; reg += vector) {
        LLVMValueRef values[16];
        memory_unpack(l, element, shape, words + reg, values);
        shared_store_vector(l, element, values, vector, shared_pointer(l, copy, reg));
    }
}

void copy_to_view(struct lowering *l, const struct ir_operation *operation)
{
    enum { TOGETHER = 16 /* elements that a thread reads before it stores them */ };
    static const int fastest_last[2] = {1, 0}, warps_first[2] = {0, 1};
    struct copy copy;
    struct ir_access access;
    access_of_copy(operation, &access);
    const struct ir_type *type = access.buffer->type;
    int extent[LAYOUT_RANK] = {(int)type->extent[0], type->rank > 1 ? (int)type->extent[1] : 1};
    bool apart = ir_attribute(operation, IR_ATTRIBUTE_APART); /* a warpgroup has what it has written alone */
    const struct layout *layout = apart ? layout_wgmma_rows(l->layouts, extent, l->warps)
                                        : layout_blocked_by(l->layouts, type->rank, extent,
                                                            type->rank > 1 ? fastest_last : warps_first, 1, NULL,
                                                            warps_first, l->warps);
    if (!layout)
        die("a buffer of %s that %d warps cannot share", l->function->name, l->warps);
    plan_copy(l, operation, &access, layout, &copy);
    LLVMValueRef leader = coordinate_leader(l, layout), value[TOGETHER];
    for (int first = 0, count = layout_registers(layout); first < count; first += TOGETHER) {
        int many = count - first < TOGETHER ? count - first : TOGETHER;
        for (int i = 0; i < many; i++)
            value[i] = shared_load(l, type->element, shared_pointer(l, &copy, first + i), copy.bytes);
        for (int i = 0; i < many; i++) {
            int64_t offset;
            LLVMValueRef address = reach_address(l, &copy.reach, first + i, &offset);
            LLVMValueRef inside = reach_both(l, leader, reach_inside(l, &copy.reach, first + i));
            memory_store(l, type->element, "", address, offset, 1, inside, &value[i]);
        }
    }
}

static bool gathers(const struct ir_access *access)
{
    for (int d = 0; d < access->rank; d++)
        if (access->place[d] == IR_GATHER)
            return true;
    return false;
}

/* Where moves are narrower than 16 bytes, lanes side by side move what lies side by side.  What indexes gather has the layout
 * of the widest. */
static void plan_moves(struct lowering *l, const struct ir_operation *operation, const struct ir_access *access,
                       struct copy *copy)
{
    const struct ir_type *type = access->buffer->type;
    plan_copy(l, operation, access, layout_rule_copy(l->layouts, access, type, l->warps), copy);
    int bytes = copy->vector * copy->bytes;
    if (bytes < 4 || bytes == 16 || gathers(access))
        return;
    const struct layout *narrow = layout_rule_copy_by(l->layouts, access, type, copy->vector, l->warps);
    if (narrow)
        plan_copy(l, operation, access, narrow, copy);
}

static void lower_cp_async(struct lowering *l, const struct ir_operation *operation)
{
    struct copy copy;
    struct ir_access access;
    access_of_copy(operation, &access);
    plan_moves(l, operation, &access, &copy);
    int bytes = copy.vector * copy.bytes, count = layout_registers(copy.layout);
    if (bytes < 4 || !(l->row->flags & TARGET_CP_ASYNC)) {
        through_registers(l, &copy);
        return;
    }
    LLVMBasicBlockRef kept = value_enter_if(l, coordinate_leader(l, copy.layout)); /* others would move the same */
    for (int reg = 0; reg < count; reg += copy.vector)
        move(l, &copy, reg, bytes == 16 ? "cg" : "ca");
    value_leave(l, kept);
}

void lower_copy(struct lowering *l, struct ir_operation *operation)
{
    bool has = (l->row->flags & TARGET_CP_ASYNC) != 0;
    int64_t pending = ir_number(operation, IR_ATTRIBUTE_PENDING, 0);
    const char *words[1] = {arena_printf(l->arena, "%lld", (long long)pending)};
    switch (operation->opcode) {
    case OP_CP_ASYNC:
    case OP_COPY_ASYNC: lower_cp_async(l, operation); return;
    case OP_CP_COMMIT:
        if (has)
            ptx_emit(l, PTX_CP_COMMIT, l->nothing, NULL, 0, NULL);
        return;
    case OP_WAIT:
        if (has)
            ptx_emit(l, PTX_CP_COMMIT, l->nothing, NULL, 0, NULL);
        /* fall through */
    default:
        if (has)
            ptx_emit(l, PTX_CP_WAIT, l->nothing, NULL, 0, words);
    }
}
