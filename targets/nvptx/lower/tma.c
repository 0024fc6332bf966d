/* Tiles by TMA: one thread names a tensor map, where the box starts and where it lies in shared memory.
 *
 * A tensor map is a parameter of the kernel of 128 bytes (grid_constant: its address is that of the parameter, without
 * it LLVM would copy it to local memory, where TMA does not look).  A buffer is a row of boxes, each an instruction.
 * A store asks for the alignment of its view where that is not a fact: without it all threads store what one would send.
 * Starts are numbers of 64 bits and coordinates of 32.  Those that 32 bits do not hold become the least of these, which
 * is outside and a multiple of 16 bytes, as a start along the contiguous dimension has to be. */
#include "base/plant.h"
#include "targets/nvptx/lower/lower.h"

#include <string.h>

enum { MAP_BYTES = 128, MAP_ALIGNMENT = 64 };

LLVMValueRef tma_map(struct lowering *l, int number) { return LLVMGetParam(l->kernel, (unsigned)(1 + number)); }

static void add_attribute(struct lowering *l, unsigned parameter, const char *name, LLVMTypeRef type, uint64_t number)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(l->kernel, parameter,
                            type ? LLVMCreateTypeAttribute(l->context, kind, type)
                                 : LLVMCreateEnumAttribute(l->context, kind, number));
}

/* !{ptr @kernel, !"grid_constant", !{i32 2, i32 3, …}}: parameters count from 1. */
void tma_declare(struct lowering *l)
{
    if (!l->map_count)
        return;
    LLVMMetadataRef *numbers = ARENA_ARRAY(l->arena, LLVMMetadataRef, l->map_count);
    for (int i = 0; i < l->map_count; i++) {
        unsigned parameter = (unsigned)(2 + i);
        add_attribute(l, parameter, "byval", LLVMArrayType2(l->i8, MAP_BYTES), 0);
        add_attribute(l, parameter, "align", NULL, MAP_ALIGNMENT);
        numbers[i] = LLVMValueAsMetadata(value_i32(l, 2 + i));
    }
    LLVMMetadataRef parts[3] = {LLVMValueAsMetadata(l->kernel), LLVMMDStringInContext2(l->context, "grid_constant", 13),
                                LLVMMDNodeInContext2(l->context, numbers, (size_t)l->map_count)};
    LLVMMetadataRef node = LLVMMDNodeInContext2(l->context, parts, 3);
    LLVMAddNamedMetadataOperand(l->module, "nvvm.annotations", LLVMMetadataAsValue(l->context, node));
}

static LLVMValueRef map_of(struct lowering *l, const struct ir_operation *operation, struct tensor_map *map)
{
    const char *reason = NULL;
    if (!tensor_map_of(operation, map, &reason))
        die("%s: %s", ir_op_info[operation->opcode].text, reason);
    for (int i = 0; i < l->map_count; i++)
        if (tensor_map_is_same(&l->maps[i], map))
            return tma_map(l, i);
    die("a tensor map of %s was not collected", l->function->name);
}

/* The number that belongs to this block of the cluster, or to this warpgroup: numbers[rank]. */
static LLVMValueRef of_rank(struct lowering *l, LLVMValueRef rank, const int64_t *numbers, int blocks)
{
    LLVMBuilderRef b = l->builder;
    LLVMValueRef value = value_i32(l, numbers[0]);
    for (int i = 1; i < blocks; i++) {
        if (numbers[i] == numbers[0])
            continue;
        LLVMValueRef here = LLVMBuildICmp(b, LLVMIntEQ, rank, value_i32(l, i), "");
        value = LLVMBuildSelect(b, here, value_i32(l, numbers[i]), value, "");
    }
    return value;
}

struct boxes {
    struct ir_access access;
    struct tensor_map map;
    int tile_dimension[IR_MAX_RANK];
    int blocks, count; /* blocks of the cluster, or warpgroups, that move boxes of their own; boxes of each */
    LLVMValueRef rank; /* which of them this is; NULL: there is one */
    int (*starts)[LAYOUT_RANK];
};

/* Start of a box along a dimension of the view as i32; parts: from the start of the tile on, by rank.  origin: where
 * element 0 is, up to TENSOR_MAP_PART, or NULL for 0. */
static LLVMValueRef coordinate(struct lowering *l, const struct boxes *x, const struct ir_value *index,
                               const int64_t *parts, LLVMValueRef origin)
{
    LLVMBuilderRef b = l->builder;
    LLVMValueRef start = value_wide(l, index->type->element, value_register(l, index, 0));
    LLVMValueRef part = of_rank(l, x->rank, parts, x->blocks);
    LLVMValueRef sum = LLVMBuildAdd(b, start, LLVMBuildZExt(b, part, l->i64, ""), "");
    int64_t most = parts[0];
    for (int i = 1; i < x->blocks; i++)
        most = int64_max(most, parts[i]);
    if (origin) {
        sum = LLVMBuildAdd(b, sum, origin, "");
        most += TENSOR_MAP_PART;
    }
    struct range range = range_of(l->ranges, index);
    bool fits = range.low >= INT32_MIN && range.high <= INT32_MAX - most;
    if (fits || PLANTED(nvptx_tma_start_cut))
        return LLVMBuildTrunc(b, sum, l->i32, "");
    LLVMValueRef least = value_i64(l, INT32_MIN), low[2] = {sum, least};
    LLVMValueRef far = LLVMBuildICmp(b, LLVMIntSGT, sum, value_i64(l, INT32_MAX), "");
    LLVMValueRef near = LLVMBuildSelect(b, far, least, value_intrinsic(l, "llvm.smax", l->i64, low, 2), "");
    return LLVMBuildTrunc(b, near, l->i32, "");
}

/* Behind all elements of a part begins what is outside. */
static LLVMValueRef part_origin(struct lowering *l, const struct ir_access *access, int dimension)
{
    LLVMValueRef extent = value_of(l, access->view)->view->extent[dimension];
    return LLVMBuildSub(l->builder, value_i64(l, TENSOR_MAP_PART), extent, "");
}

/* What one instruction says: shared address, map, [mbarrier, [mask of blocks,]] coordinates. */
static void move_box(struct lowering *l, const struct boxes *x, int box, LLVMValueRef *arguments, int first,
                     enum ptx_row row, const char *const *words)
{
    const struct ir_type *type = x->access.buffer->type;
    int64_t *numbers = ARENA_ARRAY(l->arena, int64_t, x->blocks);
    for (int i = 0; i < x->blocks; i++)
        numbers[i] = shared_form_offset(type->layout, value_bytes(type->element), x->starts[box + i * x->count]);
    LLVMValueRef place = buffer_start(l, x->access.buffer);
    arguments[0] = LLVMBuildAdd(l->builder, place, of_rank(l, x->rank, numbers, x->blocks), "");
    for (int m = 0; m < x->access.rank; m++) {
        int d = x->map.dimension[m], t = x->tile_dimension[d];
        for (int i = 0; i < x->blocks; i++)
            numbers[i] = t < 0 ? 0 : x->starts[box + i * x->count][t];
        arguments[first + m] = coordinate(l, x, x->access.index[d], numbers,
                                          d == x->map.part ? part_origin(l, &x->access, d) : NULL);
    }
    if (x->map.part >= 0) {
        LLVMValueRef stop = value_of(l, x->access.view)->view->stop[x->map.part];
        arguments[first + x->access.rank] = LLVMBuildTrunc(l->builder, stop, l->i32, "");
        arguments[first + x->access.rank + 1] = value_i32(l, TENSOR_MAP_PART);
    }
    ptx_emit(l, row, l->nothing, arguments, first + x->map.rank, words);
}

/* With multicast each block of the cluster moves its part of the boxes, to all of them; apart each warpgroup its own. */
static void share_boxes(struct lowering *l, const struct ir_operation *operation, struct boxes *x)
{
    const struct ir_type *type = x->access.buffer->type;
    int groups = (int)ir_number(operation, IR_ATTRIBUTE_APART, 0);
    x->rank = groups ? LLVMBuildLShr(l->builder, l->warp, value_i32(l, 2), "") : l->cluster_rank;
    int count = groups ? tensor_map_apart_boxes(l->arena, type, groups, &x->starts)
                       : tensor_map_shared_boxes(l->arena, type, x->blocks, &x->starts);
    x->blocks = groups ? groups : x->blocks;
    x->count = count / x->blocks;
    if (groups && PLANTED(nvptx_apart_rows_of_the_next))
        x->rank = LLVMBuildXor(l->builder, x->rank, value_i32(l, 1), "");
}

/* One instruction a box. */
static void transfer(struct lowering *l, struct ir_operation *operation)
{
    struct boxes x = {.blocks = (int)ir_number(operation, IR_ATTRIBUTE_MULTICAST, 1)};
    bool load = operation->opcode == OP_TMA_LOAD, multicast = x.blocks > 1;
    if (!ir_access_of(operation, &x.access))
        die("%s without a place", ir_op_info[operation->opcode].text);
    if (multicast && !l->cluster_rank)
        die("a multicast in a kernel without clusters");
    int next = 0, first = 2;
    for (int d = 0; d < x.access.rank; d++)
        x.tile_dimension[d] = x.access.place[d] > 0 ? next++ : -1;
    LLVMValueRef arguments[4 + TENSOR_MAP_RANK];
    arguments[1] = map_of(l, operation, &x.map);
    if (load) {
        int last = operation->operand_count - 1;
        LLVMValueRef index = buffer_index(l, operation->operands[last]);
        LLVMValueRef distance = LLVMBuildMul(l->builder, index, value_i32(l, 8), "");
        arguments[first++] = LLVMBuildAdd(l->builder, buffer_start(l, operation->operands[last - 1]), distance, "");
    }
    if (multicast)
        arguments[first++] = LLVMConstInt(l->i16, (1u << x.blocks) - 1, false);
    struct buffer names = {0}, constraints = {0};
    for (int i = 0; i < x.map.rank; i++) {
        buffer_printf(&names, "%s$%d", i ? ", " : "", first + i);
        buffer_puts(&constraints, ",r");
    }
    const char *words[3] = {arena_printf(l->arena, "%d", x.map.rank), names.data, constraints.data};
    bool adds = ir_attribute(operation, IR_ATTRIBUTE_ACTION);
    enum ptx_row row = multicast ? PTX_TMA_LOAD_MULTICAST : load ? PTX_TMA_LOAD : adds ? PTX_TMA_ADD : PTX_TMA_STORE;
    share_boxes(l, operation, &x);
    for (int i = 0; i < x.count; i++)
        move_box(l, &x, i, arguments, first, row, words);
    buffer_free(&names);
    buffer_free(&constraints);
}

/* Whether the launch has a map of what is written is asked here as tile_rt.h says. */
static void lower_store(struct lowering *l, struct ir_operation *operation)
{
    struct tensor_map map;
    map_of(l, operation, &map);
    if (!map.asked) {
        role_single_begin(l);
        transfer(l, operation);
        return;
    }
    const struct ir_value *argument = l->function->body->arguments.data[map.argument];
    role_single_end(l);
    LLVMBasicBlockRef sent = value_block(l, "sent"), stored = value_block(l, "stored"), join = value_block(l, "join");
    LLVMBuildCondBr(l->builder, view_ask(l, argument, true), sent, stored);
    LLVMPositionBuilderAtEnd(l->builder, sent);
    role_single_begin(l);
    transfer(l, operation);
    role_single_end(l);
    LLVMBuildBr(l->builder, join);
    LLVMPositionBuilderAtEnd(l->builder, stored);
    copy_to_view(l, operation);
    ptx_end_arm(l);
    LLVMBuildBr(l->builder, join);
    LLVMPositionBuilderAtEnd(l->builder, join);
}

void lower_tma(struct lowering *l, struct ir_operation *operation)
{
    const char *pending;
    if (operation->opcode == OP_TMA_STORE) {
        lower_store(l, operation);
        return;
    }
    role_single_begin(l);
    switch (operation->opcode) {
    case OP_TMA_LOAD: transfer(l, operation); return;
    case OP_TMA_COMMIT: ptx_emit(l, PTX_TMA_COMMIT, l->nothing, NULL, 0, NULL); return;
    case OP_TMA_WAIT:
        pending = arena_printf(l->arena, "%lld", (long long)ir_number(operation, IR_ATTRIBUTE_PENDING, 0));
        ptx_emit(l, PTX_TMA_WAIT, l->nothing, NULL, 0, &pending);
        return;
    default: die("%s is no transfer by TMA", ir_op_info[operation->opcode].text);
    }
}
