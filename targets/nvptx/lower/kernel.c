/* A kernel as an LLVM function: its parameter, who a thread is, the walk over operations, annotations and debug
 * information.
 *
 *   void kernel({ [slots x i64] } byval, [128 x i8] byval …)   the flat array of ir/kernel.h, then tensor maps
 *   entry:    thread, lane, warp, slots, coordinates of layouts  (everything that dominates the rest)
 *   body:     the function's block */
#include "base/plant.h"
#include "ir/query.h"
#include "targets/nvptx/lower/lower.h"
#include "targets/nvptx/lower/mma_form.h"

#include <string.h>

static void lower_constant(struct lowering *l, struct ir_operation *operation)
{
    struct ir_value *result = operation->results[0];
    const struct ir_attribute *value = ir_attribute(operation, IR_ATTRIBUTE_VALUE);
    LLVMValueRef constant = value_constant(l, result->type->element, value ? value->bits : 0);
    LLVMValueRef *out = value_define(l, result);
    for (int i = 0; i < value_registers(result->type); i++)
        out[i] = constant;
}

/* The linear number of this instance counts the first grid name fastest, but for parts that meet: blocks of a cluster are
 * neighbours. */
static LLVMValueRef grid_index(struct lowering *l, int dimension)
{
    LLVMBuilderRef b = l->builder;
    LLVMValueRef value = l->program;
    int rank = l->function->grid_rank;
    if (l->function->parts > 1) {
        LLVMValueRef parts = value_i64(l, l->function->parts);
        if (dimension == --rank)
            return LLVMBuildURem(b, value, parts, "");
        value = LLVMBuildUDiv(b, value, parts, "");
    }
    for (int d = 0; d < dimension; d++)
        value = LLVMBuildUDiv(b, value, l->grid_size[d], "");
    return dimension + 1 < rank ? LLVMBuildURem(b, value, l->grid_size[dimension], "") : value;
}

static void lower_grid(struct lowering *l, struct ir_operation *operation)
{
    LLVMBuilderRef b = l->builder;
    struct ir_value *result = operation->results[0];
    int dimension = (int)ir_number(operation, IR_ATTRIBUTE_DIMENSION, 0);
    LLVMValueRef value;
    if (operation->opcode == OP_GRID_SIZE) {
        value = l->grid_size[dimension];
    } else {
        value = grid_index(l, dimension);
    }
    int64_t limit = l->function->grid_limit[dimension];
    if (l->wgmma && limit > 0 && limit <= INT32_MAX) /* one register beside accumulators */
        value = LLVMBuildZExt(b, LLVMBuildTrunc(b, value, l->i32, ""), l->i64, "");
    value_define(l, result)[0] = LLVMBuildIntCast2(b, value, lower_value_type(l, result->type->element), false, "");
}

/* Blocks of the cluster: each thread says that it is there, and what it wrote is seen by all that waited.  Threads that
 * have ended, such as a producer's, are not waited for.  Ranks are the numbers. */
static void lower_meet(struct lowering *l, struct ir_operation *operation)
{
    if (!(l->row->flags & TARGET_CLUSTER))
        die("%s has no clusters", l->row->name);
    ptx_emit(l, PTX_CLUSTER_MEET, l->nothing, NULL, 0, NULL);
    value_define(l, operation->results[0])[0] = l->cluster_rank;
}

static void lower_assume(struct lowering *l, struct ir_operation *operation)
{
    LLVMValueRef truth = value_register(l, operation->operands[0], 0);
    value_intrinsic(l, "llvm.assume", NULL, &truth, 1);
}

static void lower_program(struct lowering *l, struct ir_operation *operation)
{
    LLVMBuilderRef b = l->builder;
    LLVMValueRef value = l->program;
    if (operation->opcode == OP_BLOCK_COUNT)
        value = l->block_count;
    if (operation->opcode == OP_PROGRAM_COUNT) {
        value = value_i64(l, 1);
        for (int d = 0; d < l->function->grid_rank; d++)
            value = LLVMBuildMul(b, value, l->grid_size[d], "");
    }
    struct ir_value *result = operation->results[0];
    value_define(l, result)[0] = LLVMBuildIntCast2(b, value, lower_value_type(l, result->type->element), false, "");
}

static void lower_undefined(struct lowering *l, struct ir_operation *operation)
{
    struct ir_value *result = operation->results[0];
    LLVMValueRef *out = value_define(l, result);
    for (int i = 0; i < value_registers(result->type); i++)
        out[i] = LLVMGetPoison(lower_value_type(l, result->type->element));
}

static void lower_keep_tf32(struct lowering *l, struct ir_operation *operation)
{
    LLVMValueRef *out = value_define(l, operation->results[0]);
    for (int i = 0; i < value_registers(operation->results[0]->type); i++) {
        LLVMValueRef word = LLVMBuildBitCast(l->builder, value_register(l, operation->operands[0], i), l->i32, "");
        out[i] = LLVMBuildBitCast(l->builder, mma_form_make(l, IR_F32, word, MMA_FINITE), l->f32, "");
    }
}

static void lower_product(struct lowering *l, struct ir_operation *operation)
{
    switch (ir_number(operation, IR_ATTRIBUTE_INSTRUCTION, IR_INSTRUCTION_FMA)) {
    case IR_INSTRUCTION_MMA: lower_mma(l, operation); return;
    case IR_INSTRUCTION_WGMMA: lower_wgmma(l, operation); return;
    default: lower_dot(l, operation); return;
    }
}

static void lower_operation(struct lowering *l, struct ir_operation *operation)
{
    switch (operation->opcode) {
    case OP_CONSTANT: lower_constant(l, operation); return;
    case OP_IOTA:
    case OP_SPLAT:
    case OP_BROADCAST:
    case OP_RESHAPE:
    case OP_PERMUTE:
    case OP_EXTRACT: lower_shape(l, operation); return;
    case OP_CONCATENATE:
    case OP_FLIP:
    case OP_GATHER: lower_move(l, operation); return;
    case OP_COMPARE: lower_compare(l, operation); return;
    case OP_CAST:
    case OP_BITCAST: lower_cast(l, operation); return;
    case OP_MATH: lower_math(l, operation); return;
    case OP_PHILOX: lower_philox(l, operation); return;
    case OP_REDUCE: lower_reduce(l, operation); return;
    case OP_SORT: lower_sort(l, operation); return;
    case OP_SCAN: lower_scan(l, operation); return;
    case OP_HISTOGRAM: lower_histogram(l, operation); return;
    case OP_DOT:
    case OP_DOT_ASYNC: lower_product(l, operation); return;
    case OP_DOT_WAIT: lower_wgmma_wait(l, operation); return;
    case OP_KEEP_TF32: lower_keep_tf32(l, operation); return;
    case OP_BUFFER:
    case OP_SLOT:
    case OP_BUFFER_PERMUTE:
    case OP_BUFFER_PART:
    case OP_BUFFER_LOAD:
    case OP_BUFFER_STORE: lower_buffer(l, operation); return;
    case OP_ROLES: lower_roles(l, operation); return;
    case OP_MBARRIER:
    case OP_MBARRIER_READY:
    case OP_MBARRIER_WAIT:
    case OP_MBARRIER_ARRIVE:
    case OP_MBARRIER_EXPECT:
    case OP_CLUSTER_BARRIER:
    case OP_FENCE_ASYNC: lower_mbarrier(l, operation); return;
    case OP_TURN_START:
    case OP_TURN_TAKE:
    case OP_TURN_PASS: lower_turn(l, operation); return;
    case OP_TMA_LOAD:
    case OP_TMA_STORE:
    case OP_TMA_COMMIT:
    case OP_TMA_WAIT: lower_tma(l, operation); return;
    case OP_PROGRAM:
    case OP_PROGRAM_COUNT:
    case OP_BLOCK_COUNT: lower_program(l, operation); return;
    case OP_UNDEFINED: lower_undefined(l, operation); return;
    case OP_CP_ASYNC:
    case OP_CP_COMMIT:
    case OP_CP_WAIT:
    case OP_COPY_ASYNC:
    case OP_WAIT: lower_copy(l, operation); return;
    case OP_EXTENT:
    case OP_STRIDE:
    case OP_PRESENT:
    case OP_VIEW_POINTER:
    case OP_SUBVIEW:
    case OP_VIEW_PERMUTE:
    case OP_MAKE_VIEW: lower_view_operation(l, operation); return;
    case OP_LOAD:
    case OP_STORE:
    case OP_INSIDE: lower_access(l, operation); return;
    case OP_ATOMIC:
    case OP_ATOMIC_CAS:
    case OP_POINTER_ATOMIC:
    case OP_POINTER_CAS: lower_atomic(l, operation); return;
    case OP_POINTER_ADD:
    case OP_POINTER_LOAD:
    case OP_POINTER_STORE: lower_pointer(l, operation); return;
    case OP_MEET: lower_meet(l, operation); return;
    case OP_GRID_INDEX:
    case OP_GRID_SIZE: lower_grid(l, operation); return;
    case OP_ASSUME: lower_assume(l, operation); return;
    case OP_FOR:
    case OP_WHILE:
    case OP_IF:
    case OP_MAP: lower_control(l, operation); return;
    case OP_ASM: lower_asm(l, operation); return;
    case OP_ASM_EFFECT: lower_asm_effect(l, operation); return;
    case OP_CONVERT_LAYOUT: lower_convert(l, operation); return;
    case OP_BARRIER: lower_barrier(l, operation); return;
    case OP_RETURN: return;
    case OP_SELECT:
#define OP(...)
#define PER_ELEMENT(...)
#define ARITHMETIC(id, ...) case OP_##id:
#include "ir/ops.def"
        lower_arithmetic(l, operation);
        return;
    case OP_CALL:
    case OP_YIELD:
    case OP_CONDITION:
    case OP_STORE_ASYNC:
    case OP_COUNT: break;
    }
    die("%s reaches the target", ir_op_info[operation->opcode].text);
}

void lower_block(struct lowering *l, struct ir_block *block)
{
    struct ir_operation *outer = l->operation;
    struct lowering before = *l;
    l->numbered_here = false;
    for (struct ir_operation *operation = block->first; operation; operation = operation->next) {
        if (ir_op_info[operation->opcode].traits & IR_TRAIT_TERMINATOR)
            break;
        l->operation = operation;
        if (l->lines)
            lines_set(l->lines, l->builder, operation->at);
        if (!role_is_single(l, operation))
            role_single_end(l);
        lower_operation(l, operation);
    }
    role_single_end(l);
    role_restore(l, &before);
    l->numbered_here = before.numbered_here;
    l->operation = outer;
}

/* ---- set-up ---- */

static void make_types(struct lowering *l)
{
    l->i1 = LLVMInt1TypeInContext(l->context);
    l->i8 = LLVMInt8TypeInContext(l->context);
    l->i16 = LLVMInt16TypeInContext(l->context);
    l->i32 = LLVMInt32TypeInContext(l->context);
    l->i64 = LLVMInt64TypeInContext(l->context);
    l->f16 = LLVMHalfTypeInContext(l->context);
    l->f32 = LLVMFloatTypeInContext(l->context);
    l->f64 = LLVMDoubleTypeInContext(l->context);
    l->pointer = LLVMPointerTypeInContext(l->context, 1);
    l->shared_pointer = LLVMPointerTypeInContext(l->context, 3);
    l->nothing = LLVMVoidTypeInContext(l->context);
}

static int slots_of(const struct ir_type *type) { return type->kind == IR_VIEW ? 1 + 2 * type->rank : 1; }

static int count_slots(const struct ir_function *function)
{
    int count = function->grid_rank + 1;
    for (int i = 0; i < function->body->arguments.count; i++)
        count += slots_of(function->body->arguments.data[i]->type);
    return count;
}

void kernel_annotate(struct lowering *l, const char *name, int64_t number)
{
    LLVMMetadataRef parts[3] = {LLVMValueAsMetadata(l->kernel), LLVMMDStringInContext2(l->context, name, strlen(name)),
                                LLVMValueAsMetadata(value_i32(l, number))};
    LLVMMetadataRef node = LLVMMDNodeInContext2(l->context, parts, 3);
    LLVMAddNamedMetadataOperand(l->module, "nvvm.annotations", LLVMMetadataAsValue(l->context, node));
}

static void add_attribute(struct lowering *l, LLVMAttributeIndex index, const char *name, LLVMTypeRef type,
                          uint64_t number)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAttributeRef attribute = type ? LLVMCreateTypeAttribute(l->context, kind, type)
                                      : LLVMCreateEnumAttribute(l->context, kind, number);
    LLVMAddAttributeAtIndex(l->kernel, index, attribute);
}

static void declare_kernel(struct lowering *l)
{
    LLVMTypeRef slots = LLVMArrayType2(l->i64, (uint64_t)count_slots(l->function));
    LLVMTypeRef record = LLVMStructTypeInContext(l->context, &slots, 1, false);
    struct tensor_map *maps = NULL;
    l->map_count = tensor_map_collect(l->arena, l->function, &maps);
    l->maps = maps;
    LLVMTypeRef *parameters = ARENA_ARRAY(l->arena, LLVMTypeRef, 1 + l->map_count);
    for (int i = 0; i <= l->map_count; i++)
        parameters[i] = LLVMPointerTypeInContext(l->context, 0);
    LLVMTypeRef type = LLVMFunctionType(l->nothing, parameters, (unsigned)(1 + l->map_count), false);
    l->kernel = LLVMAddFunction(l->module, l->function->name, type);
    add_attribute(l, 1, "byval", record, 0);
    add_attribute(l, 1, "align", NULL, 8);
    add_attribute(l, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, "nounwind", NULL, 0);
    add_attribute(l, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, "convergent", NULL, 0);
    l->slots = LLVMGetParam(l->kernel, 0);
    kernel_annotate(l, "kernel", 1);
    kernel_annotate(l, "maxntidx", 32 * ir_block_warps(l->function));
    if (ir_walks_in_order(l->function) && l->function->persistent > 1)
        kernel_annotate(l, "minctasm", l->function->persistent);
    tma_declare(l);
    /* more than the threads may have together: ptxas would give it to them all the same */
    int most = l->function->max_registers;
    if (most && most <= roles_registers_at_start(l))
        kernel_annotate(l, "maxnreg", most);
    LLVMTypeRef bytes = LLVMArrayType2(l->i8, 0);
    l->shared = LLVMAddGlobalInAddressSpace(l->module, bytes, "tile_shared", 3);
    LLVMSetLinkage(l->shared, LLVMExternalLinkage);
    LLVMSetAlignment(l->shared, 1024);
    l->shared_start = LLVMConstPtrToInt(l->shared, l->i32);
}

static void open_lines(struct lowering *l)
{
    const struct ir_function *function = l->function;
    if (!l->options->line_info || !function->at.source)
        return;
    l->lines = lines_open(l->options, l->module, function->at.source, true);
    lines_function(l->lines, l->kernel, function, function->name);
}

static LLVMValueRef read_register(struct lowering *l, const char *name)
{
    LLVMBuilderRef keep = l->builder;
    l->builder = l->entry;
    LLVMValueRef value = value_intrinsic(l, name, NULL, NULL, 0);
    l->builder = keep;
    return value;
}

/* Each warp of a block has a program of its own, and is all the threads of it. */
static void part_block(struct lowering *l, LLVMValueRef block, LLVMValueRef base)
{
    LLVMBuilderRef e = l->entry, keep = l->builder;
    l->builder = e;
    LLVMValueRef warp = ptx_emit(l, PTX_WARP_UNIFORM, l->i32, &l->warp, 1, NULL);
    l->builder = keep;
    int together = PLANTED(nvptx_blocks_overlap) ? 1 : l->function->together;
    LLVMValueRef first = LLVMBuildMul(e, block, value_i64(l, together), "");
    l->program = LLVMBuildAdd(e, LLVMBuildAdd(e, first, LLVMBuildZExt(e, warp, l->i64, ""), ""), base, "");
    l->thread = l->lane;
    l->warp = value_i32(l, 0);
}

static void prologue(struct lowering *l)
{
    LLVMBuilderRef e = l->entry;
    l->thread = read_register(l, "llvm.nvvm.read.ptx.sreg.tid.x");
    l->lane = LLVMBuildAnd(e, l->thread, value_i32(l, 31), "");
    l->warp = LLVMBuildLShr(e, l->thread, value_i32(l, 5), "");
    roles_open(l);
    int slot = 0;
    for (int i = 0; i < l->function->body->arguments.count; i++) {
        const struct ir_value *argument = l->function->body->arguments.data[i];
        const struct ir_argument_fact *fact = i < l->function->facts.count ? &l->function->facts.data[i] : NULL;
        if (argument->type->kind == IR_VIEW) {
            view_of_argument(l, argument, fact, slot);
        } else {
            enum ir_element element = argument->type->element;
            LLVMValueRef bits = view_slot(l, slot);
            LLVMTypeRef narrow = LLVMIntTypeInContext(l->context, (unsigned)ir_element_info[element].bits);
            LLVMBuilderRef keep = l->builder;
            l->builder = e;
            value_define(l, argument)[0] = value_from_bits(l, element, LLVMBuildTrunc(e, bits, narrow, ""));
            l->builder = keep;
        }
        slot += slots_of(argument->type);
    }
    for (int d = 0; d < l->function->grid_rank; d++)
        l->grid_size[d] = view_slot(l, slot++);
    if (ir_cluster_blocks(l->function) > 1)
        l->cluster_rank = read_register(l, "llvm.nvvm.read.ptx.sreg.cluster.ctarank");
    LLVMValueRef block = read_register(l, "llvm.nvvm.read.ptx.sreg.ctaid.x");
    LLVMValueRef first = LLVMBuildZExt(e, block, l->i64, ""), base = view_slot(l, slot);
    l->program = LLVMBuildAdd(e, first, base, "");
    if (l->function->together)
        part_block(l, first, base);
    LLVMValueRef blocks = read_register(l, "llvm.nvvm.read.ptx.sreg.nctaid.x");
    l->block_count = LLVMBuildZExt(e, blocks, l->i64, "");
}

/* A launch may let the kernel begin while the one in front of it in the stream ends (TILE_LAUNCH_OVERLAP): it waits
 * before it touches memory.  No kernel says when the next may begin (griddepcontrol.launch_dependents): that one
 * begins as the blocks end.  On an H200 saying it won nothing beyond that, and took 1.2 ns a block in all launches:
 * sums of 16384 rows of 1024 bf16 23.6 us instead of 15.0.  The wait is free there. */
static void wait_for_neighbour(struct lowering *l)
{
    if (l->row->major >= 9)
        ptx_emit(l, PTX_GRID_WAIT, l->nothing, NULL, 0, NULL);
}

/* Warps behind the last program end at once. */
static void end_behind_last(struct lowering *l)
{
    LLVMBuilderRef b = l->builder;
    LLVMBasicBlockRef is_there = value_block(l, "program"), none = value_block(l, "none");
    LLVMValueRef count = l->grid_size[0];
    for (int d = 1; d < l->function->grid_rank; d++)
        count = LLVMBuildMul(b, count, l->grid_size[d], "");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, l->program, count, ""), is_there, none);
    LLVMPositionBuilderAtEnd(b, none);
    LLVMBuildRetVoid(b);
    LLVMPositionBuilderAtEnd(b, is_there);
}

/* Blocks start in any order, but what they count in the order in which they do: so the count is the number of the
 * program, and all with smaller numbers have started.  One thread counts, and tells the others through a word of shared
 * memory behind what has its place there; when all have read it, operations without a place may use it. */
static void count_program(struct lowering *l)
{
    LLVMBuilderRef b = l->builder;
    int64_t start = (l->shared_need + 127) / 128 * 128;
    const struct ir_value *started = l->function->body->arguments.data[l->function->ordered - 1];
    LLVMBasicBlockRef count = value_block(l, "count"), counted = value_block(l, "counted");
    LLVMBuildCondBr(b, coordinate_first_thread(l), count, counted);
    LLVMPositionBuilderAtEnd(b, count);
    const char *words[4] = {"gpu", "add.u64", "l", "l"};
    LLVMValueRef arguments[4] = {value_i1(l, true), value_of(l, started)->view->data, value_i64(l, 1), value_i64(l, 0)};
    LLVMValueRef before = ptx_emit(l, PTX_ATOM, l->i64, arguments, 4, words);
    shared_store(l, IR_U64, before, shared_address(l, start, NULL), 8);
    LLVMBuildBr(b, counted);
    LLVMPositionBuilderAtEnd(b, counted);
    ptx_barrier(l);
    l->program = shared_load(l, IR_U64, shared_address(l, start, NULL), 8);
    if (PLANTED(nvptx_ordered_skips_first))
        l->program = LLVMBuildAdd(b, l->program, value_i64(l, 1), "");
    l->shared_need = start + 8;
    ptx_barrier(l);
}

bool nvptx_lower(struct lowering *l)
{
    int errors = l->options->diagnostics->errors;
    if (l->function->warps < 1 || l->function->warps > 32)
        die("%s has %d warps", l->function->name, l->function->warps);
    make_types(l);
    l->value_count = l->function->next_value_id;
    l->values = ARENA_ARRAY(l->arena, struct lowered, l->value_count);
    l->shared_need = l->function->shared_bytes;
    declare_kernel(l);
    l->builder = LLVMCreateBuilderInContext(l->context);
    l->top = l->entry = LLVMCreateBuilderInContext(l->context);
    LLVMBasicBlockRef entry = value_block(l, "entry"), body = value_block(l, "body");
    LLVMPositionBuilderAtEnd(l->entry, entry);
    LLVMPositionBuilderAtEnd(l->builder, body);
    open_lines(l);
    facts_open(l);
    prologue(l);
    wait_for_neighbour(l);
    if (l->function->ordered && !ir_walks_in_order(l->function))
        count_program(l);
    if (l->function->together)
        end_behind_last(l);
    lower_block(l, l->function->body);
    if (l->function->together && l->shared_need)
        die("%s shares its block, and needs %lld bytes of it", l->function->name, (long long)l->shared_need);
    LLVMBuildRetVoid(l->builder);
    LLVMBuildBr(l->entry, body);
    if (l->lines)
        lines_close(l->lines);
    LLVMDisposeBuilder(l->builder);
    LLVMDisposeBuilder(l->entry);
    return l->options->diagnostics->errors == errors;
}
