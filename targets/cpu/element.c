/* One element, or a vector of neighbouring elements, of a tile.
 *
 * A point says where: an index a dimension, one of which may run over the nest's lanes.  Operations that only move
 * elements map the point to their operand's; the rest compute.  A value that does not depend on the lane comes back as
 * a scalar, and is spread where it meets vectors.  What was computed at a point is remembered for the body, what does
 * not depend on the lanes for the row (cpu_nest_setup computes that before the lane loop, where LLVM could not move it
 * for fear of aliasing). */
#include "base/plant.h"
#include "targets/cpu/emit.h"
#include <string.h>

#define B e->builder

bool cpu_point_same(const struct cpu_point *a, const struct cpu_point *b)
{
    if (a->rank != b->rank || a->lanes_dim != b->lanes_dim)
        return false;
    for (int d = 0; d < a->rank; d++)
        if (a->index[d] != b->index[d] || a->offset[d] != b->offset[d])
            return false;
    return true;
}

LLVMValueRef cpu_point_index(struct cpu_nest *nest, const struct cpu_point *point, int dimension)
{
    struct cpu_emitter *e = nest->e;
    LLVMValueRef index = dimension == point->lanes_dim ? nest->lane_base : point->index[dimension];
    int64_t offset = point->offset[dimension];
    return offset ? LLVMBuildAdd(B, index, cpu_int(e, offset), "") : index;
}

static void move_dimension(struct cpu_point *out, int to, const struct cpu_point *point, int from)
{
    out->index[to] = point->index[from];
    out->offset[to] = point->offset[from];
    if (from == point->lanes_dim)
        out->lanes_dim = to;
}

/* The point of a reshape's operand: extents of 1 come and go, the others keep their order. */
static void unreshape(struct cpu_emitter *e, const struct ir_operation *operation, const struct cpu_point *point,
                      struct cpu_point *out)
{
    const struct ir_type *from = operation->operands[0]->type, *to = operation->results[0]->type;
    int j = 0;
    for (int i = 0; i < from->rank; i++) {
        if (from->extent[i] == 1) {
            out->index[i] = cpu_int(e, 0);
            if (!PLANTED(cpu_reshape_counts_ones))
                continue;
        }
        while (to->extent[j] == 1)
            j++;
        move_dimension(out, i, point, j++);
    }
}

void cpu_point_operand(struct cpu_emitter *e, const struct ir_operation *operation, int operand,
                       const struct cpu_point *point, struct cpu_point *out)
{
    const struct ir_type *type = operation->operands[operand]->type;
    *out = (struct cpu_point){.rank = type->rank, .lanes_dim = -1};
    if (type->kind != IR_TILE || type->rank == 0) {
        out->rank = 0;
        return;
    }
    switch (operation->opcode) {
    case OP_BROADCAST:
        for (int d = 0; d < type->rank; d++) {
            if (type->extent[d] == 1 && operation->results[0]->type->extent[d] != 1)
                out->index[d] = cpu_int(e, 0);
            else
                move_dimension(out, d, point, d);
        }
        return;
    case OP_PERMUTE: {
        const int64_t *permutation = ir_attribute(operation, IR_ATTRIBUTE_PERMUTATION)->list;
        for (int d = 0; d < type->rank; d++)
            if (PLANTED(cpu_permutation_inverted))
                move_dimension(out, d, point, (int)permutation[d]);
            else
                move_dimension(out, (int)permutation[d], point, d);
        return;
    }
    case OP_RESHAPE: unreshape(e, operation, point, out); return;
    case OP_EXTRACT: {
        const int64_t *start = ir_attribute(operation, IR_ATTRIBUTE_START)->list;
        *out = *point;
        for (int d = 0; d < type->rank; d++)
            out->offset[d] = start[d] + (PLANTED(cpu_part_of_part_forgets_start) ? 0 : out->offset[d]);
        return;
    }
    default: *out = *point; return;
    }
}

/* ---- buffers ---- */

/* Dimension `flipped` (-1: none) from its other end. */
static LLVMValueRef buffer_index(struct cpu_nest *nest, const struct ir_type *type, const struct cpu_point *point,
                                 int flipped, int64_t *lane_stride)
{
    struct cpu_emitter *e = nest->e;
    LLVMValueRef sum = NULL;
    int64_t stride = 1;
    for (int d = type->rank - 1; d >= 0; d--) {
        LLVMValueRef index = cpu_point_index(nest, point, d);
        if (d == flipped)
            index = LLVMBuildSub(B, cpu_int(e, type->extent[d] - 1), index, "");
        if (d == point->lanes_dim)
            *lane_stride = d == flipped ? -stride : stride;
        LLVMValueRef term = stride == 1 ? index : LLVMBuildMul(B, index, cpu_int(e, stride), "");
        if (type->extent[d] != 1)
            sum = sum ? LLVMBuildAdd(B, sum, term, "") : term;
        stride *= type->extent[d];
    }
    return sum ? sum : cpu_int(e, 0);
}

static LLVMValueRef spread_addresses(struct cpu_nest *nest, enum ir_element element, LLVMValueRef base,
                                     LLVMValueRef index, int64_t stride)
{
    struct cpu_emitter *e = nest->e;
    LLVMValueRef lanes = LLVMBuildMul(B, cpu_iota(e, e->i64, nest->lanes),
                                      cpu_splat(e, cpu_int(e, stride), nest->lanes), "");
    return cpu_address(e, element, base, LLVMBuildAdd(B, cpu_splat(e, index, nest->lanes), lanes, ""));
}

LLVMValueRef cpu_buffer_load(struct cpu_nest *nest, const struct cpu_buffer *buffer, const struct ir_type *type,
                             const struct cpu_point *point)
{
    struct cpu_emitter *e = nest->e;
    int64_t stride = 1;
    LLVMValueRef base = cpu_buffer_address(e, buffer), index = buffer_index(nest, type, point, -1, &stride);
    int lanes = point->lanes_dim < 0 ? 1 : nest->lanes;
    if (lanes == 1 || stride == 1) /* lanes beyond the tile read padding or the next row; nobody uses them */
        return cpu_read(e, type->element, cpu_address(e, type->element, base, index), lanes);
    LLVMValueRef result = LLVMGetPoison(cpu_vector_of(cpu_register_type(e, type->element), lanes));
    for (int lane = 0; lane < lanes; lane++) {
        LLVMValueRef at = LLVMBuildAdd(B, index, cpu_int(e, lane * stride), "");
        if (nest->mode == CPU_MIXED && nest->active) {
            LLVMValueRef on = LLVMBuildExtractElement(B, nest->active, LLVMConstInt(e->i32, (unsigned)lane, 0), "");
            at = LLVMBuildSelect(B, on, at, cpu_int(e, 0), "");
        }
        LLVMValueRef one = cpu_read(e, type->element, cpu_address(e, type->element, base, at), 1);
        result = LLVMBuildInsertElement(B, result, one, LLVMConstInt(e->i32, (unsigned)lane, 0), "");
    }
    return result;
}

static LLVMValueRef reversed(struct cpu_emitter *e, LLVMValueRef vector)
{
    LLVMValueRef order[64];
    unsigned lanes = (unsigned)cpu_lanes(vector);
    for (unsigned i = 0; i < lanes; i++)
        order[i] = LLVMConstInt(e->i32, lanes - 1 - i, 0);
    return LLVMBuildShuffleVector(B, vector, LLVMGetPoison(LLVMTypeOf(vector)), LLVMConstVector(order, lanes), "");
}

void cpu_buffer_store(struct cpu_nest *nest, const struct cpu_buffer *buffer, const struct ir_type *type,
                      const struct cpu_point *point, LLVMValueRef value)
{
    cpu_buffer_store_flipped(nest, buffer, type, point, -1, value);
}

void cpu_buffer_store_flipped(struct cpu_nest *nest, const struct cpu_buffer *buffer, const struct ir_type *type,
                              const struct cpu_point *point, int flipped, LLVMValueRef value)
{
    struct cpu_emitter *e = nest->e;
    int64_t stride = 1;
    LLVMValueRef base = cpu_buffer_address(e, buffer), index = buffer_index(nest, type, point, flipped, &stride);
    LLVMValueRef address = cpu_address(e, type->element, base, index);
    if (cpu_lanes(value) == 1) {
        cpu_write(e, type->element, address, value);
        return;
    }
    if (type->element == IR_BOOL)
        value = LLVMBuildZExt(B, value, cpu_like(e->i8, value), "");
    LLVMTypeRef vector = LLVMTypeOf(value);
    LLVMValueRef alignment = LLVMConstInt(e->i32, (unsigned)cpu_bytes(type->element), 0);
    bool masked = nest->mode == CPU_MIXED && nest->active;
    if (stride == -1 && !masked) {
        index = LLVMBuildSub(B, index, cpu_int(e, cpu_lanes(value) - 1), "");
        address = cpu_address(e, type->element, base, index);
        value = PLANTED(cpu_flip_keeps_lanes) ? value : reversed(e, value);
        stride = 1;
    }
    if (stride == 1 && !masked) {
        LLVMSetAlignment(LLVMBuildStore(B, value, address), (unsigned)cpu_bytes(type->element));
        return;
    }
    if (stride == 1) {
        LLVMTypeRef types[2] = {vector, e->pointer};
        cpu_intrinsic(e, "llvm.masked.store", 2, types, 4, (LLVMValueRef[]){value, address, alignment, nest->active});
        return;
    }
    LLVMValueRef spread = spread_addresses(nest, type->element, base, index, stride);
    LLVMTypeRef types[2] = {vector, LLVMTypeOf(spread)};
    LLVMValueRef mask = masked ? nest->active : LLVMConstAllOnes(LLVMVectorType(e->i1, (unsigned)nest->lanes));
    cpu_intrinsic(e, "llvm.masked.scatter", 2, types, 4, (LLVMValueRef[]){value, spread, alignment, mask});
}

/* ---- map ---- */

static bool has_loops(const struct ir_block *block)
{
    for (const struct ir_operation *o = block->first; o; o = o->next) {
        if (o->opcode == OP_FOR || o->opcode == OP_WHILE || o->opcode == OP_CALL)
            return true;
        for (int r = 0; r < o->region_count; r++)
            if (has_loops(o->regions[r]))
                return true;
    }
    return false;
}

static bool region_vectors(struct cpu_emitter *e, struct ir_block *block, int lanes);

enum { LONG_BRANCH = 12 };

static bool is_long(const struct ir_block *block)
{
    int count = 0;
    for (const struct ir_operation *o = block->first; o; o = o->next)
        count += 1 + (o->region_count ? LONG_BRANCH : 0);
    return count > LONG_BRANCH;
}

/* One branch; a long one is jumped over where no lane takes it.  The values that it yields. */
static bool emit_branch(struct cpu_emitter *e, struct ir_block *block, LLVMValueRef taken, int lanes,
                        LLVMValueRef *values)
{
    LLVMBasicBlockRef before = NULL, done = NULL;
    if (is_long(block)) {
        LLVMValueRef any = cpu_lanes(taken) > 1 ? cpu_unary_intrinsic(e, "llvm.vector.reduce.or", taken) : taken;
        LLVMBasicBlockRef some = cpu_block(e, "some");
        before = LLVMGetInsertBlock(B);
        done = cpu_block(e, "none");
        LLVMBuildCondBr(B, any, some, done);
        LLVMPositionBuilderAtEnd(B, some);
    }
    if (!region_vectors(e, block, lanes))
        return false;
    const struct ir_operation *end = ir_terminator(block);
    for (int i = 0; i < end->operand_count; i++)
        values[i] = cpu_scalar(e, end->operands[i]);
    if (!done)
        return true;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(B);
    LLVMBuildBr(B, done);
    LLVMPositionBuilderAtEnd(B, done);
    for (int i = 0; i < end->operand_count; i++) {
        LLVMValueRef phi = LLVMBuildPhi(B, LLVMTypeOf(values[i]), ""), unused = LLVMConstNull(LLVMTypeOf(values[i]));
        LLVMAddIncoming(phi, (LLVMValueRef[]){unused, values[i]}, (LLVMBasicBlockRef[]){before, here}, 2);
        values[i] = phi;
    }
    return true;
}

/* The condition selects between both branches lane by lane: nothing in a map has effects. */
static bool choose(struct cpu_emitter *e, struct ir_operation *operation, int lanes)
{
    LLVMValueRef condition = cpu_scalar(e, operation->operands[0]);
    LLVMValueRef *yes = ARENA_ARRAY(e->arena, LLVMValueRef, operation->result_count);
    LLVMValueRef *no = ARENA_ARRAY(e->arena, LLVMValueRef, operation->result_count);
    if (!emit_branch(e, operation->regions[0], condition, lanes, yes) ||
        !emit_branch(e, operation->regions[1], LLVMBuildNot(B, condition, ""), lanes, no))
        return false;
    for (int i = 0; i < operation->result_count; i++)
        cpu_set_scalar(e, operation->results[i], cpu_select(e, condition, yes[i], no[i]));
    return true;
}

static bool region_vectors(struct cpu_emitter *e, struct ir_block *block, int lanes)
{
    for (struct ir_operation *o = block->first; o && o->opcode != OP_YIELD; o = o->next) {
        LLVMValueRef operands[16], results[8];
        if (o->opcode == OP_IF) {
            if (!choose(e, o, lanes))
                return false;
            continue;
        }
        if (o->opcode == OP_CONSTANT) {
            cpu_set_scalar(e, o->results[0],
                           cpu_constant(e, o->results[0]->type->element, ir_attribute(o, IR_ATTRIBUTE_VALUE)->bits));
            continue;
        }
        if (o->opcode == OP_GRID_INDEX || o->opcode == OP_GRID_SIZE) {
            cpu_set_scalar(e, o->results[0], cpu_grid(e, o));
            continue;
        }
        if (o->opcode == OP_ASSUME)
            continue;
        if (o->opcode == OP_SPLAT || o->opcode == OP_BROADCAST || o->opcode == OP_RESHAPE) {
            cpu_set_scalar(e, o->results[0], cpu_scalar(e, o->operands[0]));
            continue;
        }
        if (o->operand_count > 16 || o->result_count > 8)
            return cpu_report(e, o->at, "an operation with so many operands in a function on elements");
        int wide = 1;
        for (int i = 0; i < o->operand_count; i++) {
            operands[i] = cpu_scalar(e, o->operands[i]);
            if (cpu_lanes(operands[i]) > wide)
                wide = cpu_lanes(operands[i]);
        }
        for (int i = 0; i < o->operand_count; i++)
            operands[i] = cpu_splat(e, operands[i], wide);
        if (!cpu_arithmetic(e, o, operands, results))
            return false;
        for (int i = 0; i < o->result_count; i++)
            cpu_set_scalar(e, o->results[i], results[i]);
    }
    return true;
}

/* A region with loops runs lane by lane, in a loop over lanes, so that its code stands once. */
static bool region_by_lane(struct cpu_emitter *e, struct ir_block *block, LLVMValueRef *arguments,
                           LLVMValueRef *results, int lanes)
{
    int count = block->arguments.count, result_count = ir_terminator(block)->operand_count;
    LLVMValueRef *slots = ARENA_ARRAY(e->arena, LLVMValueRef, count + result_count);
    for (int i = 0; i < count + result_count; i++) {
        enum ir_element element = i < count ? block->arguments.data[i]->type->element
                                            : ir_terminator(block)->operands[i - count]->type->element;
        slots[i] = cpu_alloca(e, LLVMArrayType2(cpu_memory_type(e, element), (uint64_t)lanes));
        for (int lane = 0; i < count && lane < lanes; lane++) {
            LLVMValueRef one = cpu_lanes(arguments[i]) == 1
                                   ? arguments[i]
                                   : LLVMBuildExtractElement(B, arguments[i], LLVMConstInt(e->i32, (unsigned)lane, 0),
                                                             "");
            cpu_write(e, element, cpu_address(e, element, slots[i], cpu_int(e, lane)), one);
        }
    }
    struct cpu_loop loop;
    cpu_loop_begin(e, &loop, cpu_int(e, 0), cpu_int(e, lanes), 1);
    for (int i = 0; i < count; i++) {
        enum ir_element element = block->arguments.data[i]->type->element;
        cpu_set_scalar(e, block->arguments.data[i],
                       cpu_read(e, element, cpu_address(e, element, slots[i], loop.index), 1));
    }
    struct ir_operation *end = ir_terminator(block);
    cpu_emit_block(e, block);
    for (int i = 0; i < result_count; i++) {
        enum ir_element element = end->operands[i]->type->element;
        cpu_write(e, element, cpu_address(e, element, slots[count + i], loop.index), cpu_scalar(e, end->operands[i]));
    }
    cpu_loop_end(e, &loop);
    for (int i = 0; i < result_count; i++) {
        enum ir_element element = end->operands[i]->type->element;
        results[i] = LLVMGetPoison(cpu_vector_of(cpu_register_type(e, element), lanes));
        for (int lane = 0; lane < lanes; lane++) {
            LLVMValueRef one = cpu_read(e, element, cpu_address(e, element, slots[count + i], cpu_int(e, lane)), 1);
            results[i] = LLVMBuildInsertElement(B, results[i], one, LLVMConstInt(e->i32, (unsigned)lane, 0), "");
        }
    }
    return true;
}

bool cpu_region(struct cpu_emitter *e, struct ir_block *block, LLVMValueRef *arguments, LLVMValueRef *results)
{
    int lanes = 1;
    for (int i = 0; i < block->arguments.count; i++)
        if (cpu_lanes(arguments[i]) > lanes)
            lanes = cpu_lanes(arguments[i]);
    if (has_loops(block) && lanes > 1)
        return region_by_lane(e, block, arguments, results, lanes);
    for (int i = 0; i < block->arguments.count; i++)
        cpu_set_scalar(e, block->arguments.data[i], arguments[i]);
    struct ir_operation *end = ir_terminator(block);
    if (has_loops(block))
        cpu_emit_block(e, block);
    else if (!region_vectors(e, block, lanes))
        return false;
    for (int i = 0; i < end->operand_count; i++)
        results[i] = cpu_scalar(e, end->operands[i]);
    return !e->failed;
}

/* ---- elements ---- */

static void remember(struct cpu_nest *nest, const struct ir_value *value, const struct cpu_point *point,
                     LLVMValueRef result)
{
    struct cpu_memo memo = {value, *point, result};
    vector_push(nest->e->arena, &nest->memo, memo);
}

static LLVMValueRef iota_element(struct cpu_nest *nest, enum ir_element element, const struct cpu_point *point)
{
    struct cpu_emitter *e = nest->e;
    LLVMTypeRef type = cpu_register_type(e, element);
    LLVMValueRef base = cpu_point_index(nest, point, 0);
    if (type != e->i64)
        base = LLVMBuildTrunc(B, base, type, "");
    if (point->lanes_dim < 0 || nest->lanes == 1)
        return base;
    return LLVMBuildAdd(B, cpu_splat(e, base, nest->lanes), cpu_iota(e, type, nest->lanes), "");
}

/* Elementwise: operands at the same point, spread if any is a vector. */
static void compute(struct cpu_nest *nest, struct ir_operation *operation, const struct cpu_point *point,
                    LLVMValueRef *results)
{
    struct cpu_emitter *e = nest->e;
    int count = operation->operand_count, lanes = 1;
    LLVMValueRef *operands = ARENA_ARRAY(e->arena, LLVMValueRef, count + 1);
    for (int i = 0; i < count; i++) {
        struct cpu_point at;
        cpu_point_operand(e, operation, i, point, &at);
        operands[i] = cpu_element(nest, operation->operands[i], &at);
        if (cpu_lanes(operands[i]) > lanes)
            lanes = cpu_lanes(operands[i]);
    }
    for (int i = 0; i < count; i++)
        operands[i] = cpu_splat(e, operands[i], lanes);
    bool good = operation->opcode == OP_MAP ? cpu_region(e, operation->regions[0], operands, results)
                                            : cpu_arithmetic(e, operation, operands, results);
    for (int i = 0; !good && i < operation->result_count; i++)
        results[i] = LLVMGetPoison(cpu_vector_of(cpu_register_type(e, operation->results[i]->type->element), lanes));
}

static LLVMValueRef virtual_element(struct cpu_nest *nest, struct ir_value *value, const struct cpu_point *point)
{
    struct cpu_emitter *e = nest->e;
    struct ir_operation *operation = value->definition;
    struct cpu_point at;
    switch (operation->opcode) {
    case OP_CONSTANT: return cpu_constant(e, value->type->element, ir_attribute(operation, IR_ATTRIBUTE_VALUE)->bits);
    case OP_IOTA: return iota_element(nest, value->type->element, point);
    case OP_SPLAT:
    case OP_BROADCAST:
    case OP_RESHAPE:
    case OP_PERMUTE:
    case OP_EXTRACT:
        cpu_point_operand(e, operation, 0, point, &at);
        return cpu_element(nest, operation->operands[0], &at);
    case OP_LOAD:
    case OP_POINTER_LOAD: return cpu_load_element(nest, operation, point);
    case OP_INSIDE: return cpu_inside_element(nest, operation, point);
    default: break;
    }
    LLVMValueRef *results = ARENA_ARRAY(e->arena, LLVMValueRef, operation->result_count + 8);
    compute(nest, operation, point, results);
    for (int i = 0; i < operation->result_count; i++)
        if (operation->results[i] != value)
            remember(nest, operation->results[i], point, results[i]);
    return results[value->index];
}

static LLVMValueRef element_in_place(struct cpu_nest *nest, struct ir_value *value, const struct cpu_point *point)
{
    LLVMMetadataRef place = cpu_enter_place(nest->e, value->definition->at);
    LLVMValueRef result = virtual_element(nest, value, point);
    cpu_leave_place(nest->e, place);
    return result;
}

LLVMValueRef cpu_element(struct cpu_nest *nest, struct ir_value *value, const struct cpu_point *point)
{
    struct cpu_emitter *e = nest->e;
    struct cpu_state *state = cpu_state_of(e, value);
    if (state->kind == CPU_SCALAR)
        return state->scalar;
    for (int i = nest->memo.count - 1; i >= 0; i--)
        if (nest->memo.data[i].value == value && cpu_point_same(&nest->memo.data[i].point, point))
            return nest->memo.data[i].result;
    LLVMValueRef result;
    if (state->kind == CPU_BUFFER)
        result = cpu_buffer_load(nest, state->buffer, value->type, point);
    else if (state->kind == CPU_VIRTUAL || (value->definition && value->type->rank == 0))
        result = element_in_place(nest, value, point);
    else if (e->failed)
        result = LLVMGetPoison(cpu_register_type(e, value->type->element));
    else
        die("a value is used before it is there");
    remember(nest, value, point, result);
    return result;
}

LLVMValueRef cpu_element_full(struct cpu_nest *nest, struct ir_value *value, const struct cpu_point *point)
{
    return cpu_splat(nest->e, cpu_element(nest, value, point), point->lanes_dim < 0 ? 1 : nest->lanes);
}

/* Before the lane loop: places with lanes get their ranges, whatever does not depend on the lane its value. */
void cpu_nest_setup(struct cpu_nest *nest, struct ir_value *value, const struct cpu_point *point)
{
    struct cpu_emitter *e = nest->e;
    if (value->type->kind != IR_TILE)
        return;
    struct cpu_state *state = cpu_state_of(e, value);
    if (state->kind == CPU_SCALAR || (state->kind == CPU_BUFFER && point->lanes_dim >= 0))
        return;
    for (int i = 0; i < nest->memo.count; i++)
        if (nest->memo.data[i].value == value && cpu_point_same(&nest->memo.data[i].point, point))
            return;
    if (point->lanes_dim < 0) {
        cpu_element(nest, value, point);
        return;
    }
    struct ir_operation *operation = value->definition;
    remember(nest, value, point, NULL); /* been here; forgotten again below */
    if (operation->opcode == OP_LOAD || operation->opcode == OP_INSIDE || operation->opcode == OP_POINTER_LOAD) {
        cpu_nest_setup_memory(nest, operation, point);
        return;
    }
    for (int i = 0; i < operation->operand_count; i++) {
        struct cpu_point at;
        cpu_point_operand(e, operation, i, point, &at);
        cpu_nest_setup(nest, operation->operands[i], &at);
    }
}

/* What a memory operation evaluates at a point: index tiles at theirs, everything else at the point itself. */
void cpu_nest_setup_memory(struct cpu_nest *nest, const struct ir_operation *operation, const struct cpu_point *point)
{
    struct ir_access access;
    ir_access_of(operation, &access);
    if (access.place) {
        int dimension = 0;
        bool gathered = false;
        for (int d = 0, from = 0; d < access.rank; d++) {
            if (access.place[d] == IR_GATHER) {
                if (!gathered)
                    from = dimension;
                gathered = true;
                struct cpu_point at;
                cpu_gather_point(access.index[d], point, from, &at);
                cpu_nest_setup(nest, access.index[d], &at);
            } else if (access.place[d] != IR_POINT) {
                dimension++;
            }
            if (access.place[d] == IR_GATHER && (d + 1 == access.rank || access.place[d + 1] != IR_GATHER))
                dimension += access.index[d]->type->rank;
        }
        cpu_access_register(nest, operation, point);
    } else {
        cpu_nest_setup(nest, access.view, point);
    }
    struct ir_value *rest[4] = {access.other, access.value, access.expected, access.mask};
    for (int i = 0; i < 4; i++)
        if (rest[i] && rest[i]->type->rank)
            cpu_nest_setup(nest, rest[i], point);
}
