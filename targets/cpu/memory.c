/* Reads and writes of views and through pointers, for the lanes of a nest.
 *
 * A place whose lanes are neighbours along one dimension of the view is registered before the lane loop: its range of
 * lanes that are inside, everything else about it being checked there once (a dropped or absent index empties the
 * range).  In an INSIDE body such an access is a plain vector load; in an OUTSIDE body it is `other`; a MIXED body
 * masks.  Gathers check each lane everywhere. A single element that may not be touched reads the dummy instead: no
 * branch is needed. */
#include "base/plant.h"
#include "targets/cpu/emit.h"

#define B e->builder

LLVMValueRef cpu_read(struct cpu_emitter *e, enum ir_element element, LLVMValueRef address, int lanes)
{
    LLVMValueRef value = LLVMBuildLoad2(B, cpu_vector_of(cpu_memory_type(e, element), lanes), address, "");
    LLVMSetAlignment(value, (unsigned)cpu_bytes(element));
    if (element == IR_BOOL)
        value = LLVMBuildICmp(B, LLVMIntNE, value, LLVMConstNull(LLVMTypeOf(value)), "");
    return value;
}

void cpu_write(struct cpu_emitter *e, enum ir_element element, LLVMValueRef address, LLVMValueRef value)
{
    if (element == IR_BOOL)
        value = LLVMBuildZExt(B, value, cpu_like(e->i8, value), "");
    LLVMSetAlignment(LLVMBuildStore(B, value, address), (unsigned)cpu_bytes(element));
}

static LLVMValueRef to_i64(struct cpu_emitter *e, LLVMValueRef value, enum ir_element element)
{
    LLVMTypeRef type = cpu_like(e->i64, value);
    if (ir_element_info[element].bits == 64)
        return value;
    return ir_is_signed(element) ? LLVMBuildSExt(B, value, type, "") : LLVMBuildZExt(B, value, type, "");
}

/* ---- spots: where a place's element is and whether it exists ---- */
struct spot {
    LLVMValueRef condition;         /* scalar or per lane; NULL: true */
    LLVMValueRef offset;            /* in elements, scalar or per lane; of nest lane 0 where a range follows */
    LLVMValueRef low, high, stride; /* a range of lanes: stride not NULL; low NULL: always inside */
    bool scattered;                 /* condition and offset are per lane */
};

static void add_offset(struct cpu_emitter *e, struct spot *spot, LLVMValueRef index, LLVMValueRef stride)
{
    int lanes = cpu_lanes(index);
    bool one = LLVMIsAConstantInt(stride) && LLVMConstIntGetSExtValue(stride) == 1;
    LLVMValueRef term = one ? index : LLVMBuildMul(B, index, cpu_splat(e, stride, lanes), "");
    if (PLANTED(cpu_offset_of_32_bits))
        term = LLVMBuildSExt(B, LLVMBuildTrunc(B, term, cpu_like(e->i32, term), ""), LLVMTypeOf(term), "");
    if (!spot->offset) {
        spot->offset = term;
        return;
    }
    if (cpu_lanes(spot->offset) > lanes)
        lanes = cpu_lanes(spot->offset);
    spot->offset = LLVMBuildAdd(B, cpu_splat(e, spot->offset, lanes), cpu_splat(e, term, lanes), "");
}

static void check_index(struct cpu_emitter *e, struct spot *spot, LLVMValueRef index, LLVMValueRef extent, bool proven)
{
    LLVMIntPredicate below = PLANTED(cpu_index_one_past) ? LLVMIntULE : LLVMIntULT;
    if (!proven)
        spot->condition = cpu_both(e, spot->condition,
                                   LLVMBuildICmp(B, below, index, cpu_splat(e, extent, cpu_lanes(index)), ""));
}

/* The dimension that the lanes run along: [low, high) of nest lanes, from a start far enough from overflow. */
static void range_of_lanes(struct cpu_emitter *e, struct spot *spot, LLVMValueRef start, int64_t offset,
                           LLVMValueRef extent, bool proven)
{
    if (proven)
        return;
    const int64_t far = INT64_C(1) << 62;
    LLVMValueRef clamped = cpu_minimum(e, cpu_maximum(e, start, cpu_int(e, -far)),
                                       cpu_int(e, far - (INT64_C(1) << 48)));
    if (PLANTED(cpu_lanes_bound_forgets_offset))
        offset = 0;
    LLVMValueRef first = LLVMBuildAdd(B, clamped, cpu_int(e, offset), "");
    spot->low = LLVMBuildNeg(B, first, "");
    spot->high = LLVMBuildSub(B, extent, first, "");
}

void cpu_gather_point(const struct ir_value *tile, const struct cpu_point *point, int from, struct cpu_point *at)
{
    *at = (struct cpu_point){.rank = tile->type->rank, .lanes_dim = -1};
    for (int d = 0; d < tile->type->rank; d++) {
        at->index[d] = point->index[from + d];
        at->offset[d] = point->offset[from + d];
        if (from + d == point->lanes_dim)
            at->lanes_dim = d;
    }
}

static LLVMValueRef gather_index(struct cpu_nest *nest, struct ir_value *tile, const struct cpu_point *point, int from)
{
    struct cpu_point at;
    cpu_gather_point(tile, point, from, &at);
    return to_i64(nest->e, cpu_element(nest, tile, &at), tile->type->element);
}

static struct spot find_spot(struct cpu_nest *nest, const struct ir_operation *operation, const struct cpu_point *point)
{
    struct cpu_emitter *e = nest->e;
    struct ir_access access;
    struct spot spot = {0};
    ir_access_of(operation, &access);
    const struct cpu_view *view = cpu_state_of(e, access.view)->view;
    int64_t proven = ir_number(operation, IR_ATTRIBUTE_INSIDE, 0);
    int dimension = 0, gather = -1;
    spot.condition = view->present;
    for (int d = 0; d < access.rank; d++) {
        struct ir_value *given = access.index[d];
        bool inside = (proven >> d & 1) != 0;
        if (access.place[d] == IR_GATHER) {
            if (gather < 0) {
                gather = dimension;
                dimension += given->type->rank;
            }
            LLVMValueRef index = gather_index(nest, given, point, gather);
            if (cpu_lanes(index) > 1)
                spot.scattered = true;
            check_index(e, &spot, index, view->extent[d], inside);
            add_offset(e, &spot, index, view->stride[d]);
            continue;
        }
        LLVMValueRef start = to_i64(e, cpu_scalar(e, given), given->type->element);
        if (access.place[d] == IR_POINT) {
            check_index(e, &spot, start, view->extent[d], inside);
            add_offset(e, &spot, start, view->stride[d]);
            continue;
        }
        if (dimension == point->lanes_dim) {
            range_of_lanes(e, &spot, start, point->offset[dimension], view->extent[d], inside);
            spot.stride = view->stride[d];
            if (point->offset[dimension])
                start = LLVMBuildAdd(B, start, cpu_int(e, point->offset[dimension]), "");
        } else {
            start = LLVMBuildAdd(B, start, cpu_point_index(nest, point, dimension), "");
            check_index(e, &spot, start, view->extent[d], inside);
        }
        add_offset(e, &spot, start, view->stride[d]);
        dimension++;
    }
    if (!spot.offset)
        spot.offset = cpu_int(e, 0);
    return spot;
}

/* Do lanes run through an index tile of the place?  Then nothing can be said before the loop. */
static bool lanes_in_gather(const struct ir_operation *operation, const struct cpu_point *point)
{
    struct ir_access access;
    ir_access_of(operation, &access);
    int dimension = 0;
    for (int d = 0; d < access.rank; d++)
        if (access.place[d] == IR_GATHER) {
            int rank = access.index[d]->type->rank;
            return point->lanes_dim >= dimension && point->lanes_dim < dimension + rank;
        } else if (access.place[d] != IR_POINT) {
            dimension++;
        }
    return false;
}

/* Where the index tiles of a place stand among the dimensions of its tile, and how many dimensions they have; 0: none does. */
static int gathered_rank(const struct ir_access *access, int *first)
{
    *first = 0;
    for (int d = 0; d < access->rank; d++)
        if (access->place[d] == IR_GATHER)
            return access->index[d]->type->rank;
        else
            *first += access->place[d] != IR_POINT;
    return 0;
}

static bool is_cheap(struct cpu_emitter *e, const struct ir_access *access)
{
    bool cheap = true;
    for (int d = 0; d < access->rank && cheap; d++) {
        const struct cpu_state *state = access->place[d] == IR_GATHER ? cpu_state_of(e, access->index[d]) : NULL;
        cheap = !state || state->kind == CPU_BUFFER || state->cost < CPU_DEAR;
    }
    return cheap;
}

/* Rows that a table names lie anywhere: no processor guesses where the next one is, and who waits for each in turn waits for most
 * of the time.  So a row some places behind this one is asked for.  Pages of keys, 67 MB of them in rows of 256 bytes
 * (2026-11-28-epyc-cpu-paged-decode.json): 29 ms with it, 43 without. */
static void ask_ahead(struct cpu_nest *nest, const struct ir_operation *operation, const struct cpu_point *point)
{
    enum { AHEAD = 8 /* rows */, LINE = 64 /* bytes */, MOST = 16 /* lines of a row */ };
    struct cpu_emitter *e = nest->e;
    struct ir_access access;
    int first, last;
    ir_access_of(operation, &access);
    last = gathered_rank(&access, &first) + first - 1; /* the dimension whose neighbours come next */
    if (last < first || point->lanes_dim <= last || operation->opcode != OP_LOAD || !is_cheap(e, &access))
        return;
    const struct ir_type *type = operation->results[0]->type;
    int64_t bytes = type->extent[point->lanes_dim] * cpu_bytes(type->element);
    if (bytes < LINE || type->extent[last] <= AHEAD)
        return;
    struct cpu_point ahead = *point;
    LLVMValueRef next = LLVMBuildAdd(B, cpu_point_index(nest, point, last), cpu_int(e, AHEAD), "");
    ahead.index[last] = cpu_intrinsic(e, "llvm.smin", 1, &e->i64, 2,
                                      (LLVMValueRef[]){next, cpu_int(e, type->extent[last] - 1)});
    ahead.offset[last] = 0;
    struct spot spot = find_spot(nest, operation, &ahead);
    LLVMValueRef row = cpu_address(e, type->element, cpu_state_of(e, access.view)->view->data, spot.offset);
    for (int64_t at = 0; at < bytes && at < MOST * LINE; at += LINE) {
        LLVMValueRef line = LLVMBuildGEP2(B, e->i8, row, (LLVMValueRef[]){cpu_int(e, at)}, 1, "");
        cpu_intrinsic(
            e, "llvm.prefetch", 1, &e->pointer, 4,
            (LLVMValueRef[]){line, LLVMConstInt(e->i32, 0, 0), LLVMConstInt(e->i32, 3, 0), LLVMConstInt(e->i32, 1, 0)});
    }
}

const struct cpu_access *cpu_access_register(struct cpu_nest *nest, const struct ir_operation *operation,
                                             const struct cpu_point *point)
{
    struct cpu_emitter *e = nest->e;
    for (int i = 0; i < nest->accesses.count; i++)
        if (nest->accesses.data[i].operation == operation && cpu_point_same(&nest->accesses.data[i].point, point))
            return &nest->accesses.data[i];
    if (lanes_in_gather(operation, point))
        return NULL;
    struct spot spot = find_spot(nest, operation, point);
    struct cpu_access access = {.operation = operation, .point = *point, .first = spot.offset, .stride = spot.stride};
    access.low = spot.low;
    access.high = spot.high;
    if (spot.condition) {
        const int64_t far = INT64_C(1) << 62;
        LLVMValueRef low = access.low ? access.low : cpu_int(e, -far),
                     high = access.high ? access.high : cpu_int(e, far);
        access.low = LLVMBuildSelect(B, spot.condition, low, cpu_int(e, far), "");
        access.high = LLVMBuildSelect(B, spot.condition, high, cpu_int(e, -far), "");
    }
    vector_push(e->arena, &nest->accesses, access);
    ask_ahead(nest, operation, point);
    return &nest->accesses.data[nest->accesses.count - 1];
}

/* Lanes of the body that a registered access may touch; NULL: all. */
static LLVMValueRef lanes_inside(struct cpu_nest *nest, const struct cpu_access *access)
{
    struct cpu_emitter *e = nest->e;
    if (nest->mode == CPU_INSIDE || (!access->low && !nest->active))
        return NULL;
    if (!access->low)
        return nest->active;
    LLVMValueRef lane = nest->lane_base;
    if (nest->lanes > 1)
        lane = LLVMBuildAdd(B, cpu_splat(e, lane, nest->lanes), cpu_iota(e, e->i64, nest->lanes), "");
    LLVMValueRef above = LLVMBuildICmp(B, LLVMIntSGE, lane, cpu_splat(e, access->low, nest->lanes), "");
    LLVMIntPredicate less = PLANTED(cpu_mask_one_past_end) ? LLVMIntSLE : LLVMIntSLT;
    LLVMValueRef below = LLVMBuildICmp(B, less, lane, cpu_splat(e, access->high, nest->lanes), "");
    return cpu_both(e, nest->active, LLVMBuildAnd(B, above, below, ""));
}

/* ---- transfers ---- */
struct transfer {
    enum ir_element element;
    LLVMValueRef address; /* of lane 0, or per lane */
    LLVMValueRef mask;    /* NULL: all */
    bool spread;          /* address is per lane */
    bool same;            /* all lanes of the nest have this one address */
};

static LLVMValueRef dummy_or(struct cpu_emitter *e, LLVMValueRef condition, LLVMValueRef address)
{
    return condition ? LLVMBuildSelect(B, condition, address, e->dummy, "") : address;
}

static LLVMValueRef all_lanes(struct cpu_emitter *e, int lanes)
{
    return LLVMConstAllOnes(LLVMVectorType(e->i1, (unsigned)lanes));
}

static LLVMValueRef lanes_from(struct cpu_emitter *e, LLVMValueRef a, LLVMValueRef b, int first, int count)
{
    LLVMValueRef lane[64];
    for (int i = 0; i < count; i++)
        lane[i] = LLVMConstInt(e->i32, (unsigned)(first + i), 0);
    return LLVMBuildShuffleVector(B, a, b ? b : LLVMGetPoison(LLVMTypeOf(a)), LLVMConstVector(lane, (unsigned)count),
                                  "");
}

/* The mask, of which LLVM knows nothing from here on; as wide lanes, which AVX2 takes masks from anyway. */
static LLVMValueRef opaque_mask(struct cpu_emitter *e, LLVMValueRef mask, int bytes)
{
    unsigned lanes = LLVMGetVectorSize(LLVMTypeOf(mask));
    LLVMTypeRef wide = LLVMVectorType(LLVMIntTypeInContext(e->llvm, 8u * (unsigned)bytes), lanes);
    LLVMTypeRef type = LLVMFunctionType(wide, &wide, 1, 0);
    char constraint[] = "=x,0";
    LLVMValueRef nothing = LLVMGetInlineAsm(type, NULL, 0, constraint, sizeof constraint - 1, 0, 0,
                                            LLVMInlineAsmDialectATT, 0);
    LLVMValueRef spread = LLVMBuildSExt(B, mask, wide, "");
    return LLVMBuildICmp(B, LLVMIntSLT, LLVMBuildCall2(B, type, nothing, &spread, 1, ""), LLVMConstNull(wide), "");
}

/* With AVX2 in parts that it has registers for.  LLVM 19 cuts a load in two by itself, too, but where half of the
 * lanes is masked off for certain and the others by one condition, it takes that condition for undefined in the half
 * and loads it (its issue 134602). */
static LLVMValueRef masked_load(struct cpu_emitter *e, const struct transfer *t, LLVMValueRef address,
                                LLVMValueRef mask, LLVMValueRef instead, bool part)
{
    LLVMTypeRef type = LLVMTypeOf(instead), types[2] = {type, LLVMTypeOf(address)};
    int lanes = (int)LLVMGetVectorSize(type), half = lanes / 2, bytes = cpu_bytes(t->element);
    bool wide = lanes * bytes > e->vector_bytes && lanes % 2 == 0 && lanes <= 64;
    if (!wide || e->vector_bytes != 32 || bytes < 4)
        return cpu_intrinsic(e, "llvm.masked.load", 2, types, 4,
                             (LLVMValueRef[]){address, LLVMConstInt(e->i32, (unsigned)bytes, 0),
                                              part ? opaque_mask(e, mask, bytes) : mask, instead});
    LLVMValueRef low = lanes_from(e, mask, NULL, 0, half), high = lanes_from(e, mask, NULL, half, half);
    low = masked_load(e, t, address, low, lanes_from(e, instead, NULL, 0, half), true);
    address = cpu_address(e, t->element, address, cpu_int(e, half));
    high = masked_load(e, t, address, high, lanes_from(e, instead, NULL, half, half), true);
    return lanes_from(e, low, high, 0, lanes);
}

static LLVMValueRef move_in(struct cpu_nest *nest, const struct transfer *t, LLVMValueRef other, int lanes)
{
    struct cpu_emitter *e = nest->e;
    if (lanes == 1) {
        LLVMValueRef value = cpu_read(e, t->element, dummy_or(e, t->mask, t->address), 1);
        return t->mask ? LLVMBuildSelect(B, t->mask, value, other, "") : value;
    }
    if (!t->mask && !t->spread)
        return cpu_read(e, t->element, t->address, lanes);
    LLVMTypeRef vector = LLVMVectorType(cpu_memory_type(e, t->element), (unsigned)lanes);
    LLVMValueRef mask = t->mask ? cpu_splat(e, t->mask, lanes) : all_lanes(e, lanes);
    LLVMValueRef instead = other ? cpu_splat(e, other, lanes)
                                 : LLVMConstNull(cpu_vector_of(cpu_register_type(e, t->element), lanes));
    if (t->element == IR_BOOL)
        instead = LLVMBuildZExt(B, instead, vector, "");
    LLVMValueRef alignment = LLVMConstInt(e->i32, (unsigned)cpu_bytes(t->element), 0);
    LLVMTypeRef types[2] = {vector, LLVMTypeOf(t->address)};
    LLVMValueRef value = t->spread ? cpu_intrinsic(e, "llvm.masked.gather", 2, types, 4,
                                                   (LLVMValueRef[]){t->address, alignment, mask, instead})
                                   : masked_load(e, t, t->address, mask, instead, false);
    return t->element == IR_BOOL ? LLVMBuildICmp(B, LLVMIntNE, value, LLVMConstNull(vector), "") : value;
}

static void move_out(struct cpu_nest *nest, const struct transfer *t, LLVMValueRef value, int lanes)
{
    struct cpu_emitter *e = nest->e;
    if (lanes == 1) {
        LLVMBasicBlockRef done = NULL;
        if (t->mask) {
            LLVMBasicBlockRef store = cpu_block(e, "store");
            done = cpu_block(e, "stored");
            LLVMBuildCondBr(B, t->mask, store, done);
            LLVMPositionBuilderAtEnd(B, store);
        }
        cpu_write(e, t->element, t->address, value);
        if (done) {
            LLVMBuildBr(B, done);
            LLVMPositionBuilderAtEnd(B, done);
        }
        return;
    }
    value = cpu_splat(e, value, lanes);
    if (!t->mask && !t->spread) {
        cpu_write(e, t->element, t->address, value);
        return;
    }
    if (t->element == IR_BOOL)
        value = LLVMBuildZExt(B, value, cpu_like(e->i8, value), "");
    LLVMValueRef mask = t->mask ? cpu_splat(e, t->mask, lanes) : all_lanes(e, lanes);
    LLVMValueRef alignment = LLVMConstInt(e->i32, (unsigned)cpu_bytes(t->element), 0);
    LLVMTypeRef types[2] = {LLVMTypeOf(value), LLVMTypeOf(t->address)};
    cpu_intrinsic(e, t->spread ? "llvm.masked.scatter" : "llvm.masked.store", 2, types, 4,
                  (LLVMValueRef[]){value, t->address, alignment, mask});
}

/* A tile operand at the point, a scalar operand as it is. */
static LLVMValueRef operand_at(struct cpu_nest *nest, struct ir_value *value, const struct cpu_point *point)
{
    return value->type->rank ? cpu_element(nest, value, point) : cpu_scalar(nest->e, value);
}

static bool unit(LLVMValueRef stride) { return LLVMIsAConstantInt(stride) && LLVMConstIntGetSExtValue(stride) == 1; }

/* Where the lanes of a place are, with all that may be touched in the mask. */
static struct transfer transfer_of(struct cpu_nest *nest, const struct ir_operation *operation,
                                   const struct cpu_point *point)
{
    struct cpu_emitter *e = nest->e;
    struct ir_access access;
    ir_access_of(operation, &access);
    const struct cpu_view *view = cpu_state_of(e, access.view)->view;
    struct transfer t = {.element = access.view->type->element};
    const struct cpu_access *range = point->lanes_dim < 0 ? NULL : cpu_access_register(nest, operation, point);
    if (!range) {
        struct spot spot = find_spot(nest, operation, point);
        t.mask = spot.scattered ? cpu_both(e, spot.condition, nest->active) : spot.condition;
        t.spread = spot.scattered;
        t.same = !spot.scattered && point->lanes_dim >= 0 && nest->lanes > 1;
        t.address = cpu_address(e, t.element, view->data, spot.offset);
        return t;
    }
    t.mask = lanes_inside(nest, range);
    LLVMValueRef lane = nest->lane_base;
    if (!unit(range->stride) && nest->lanes > 1) {
        t.spread = true;
        lane = LLVMBuildAdd(B, cpu_splat(e, lane, nest->lanes), cpu_iota(e, e->i64, nest->lanes), "");
    }
    int lanes = cpu_lanes(lane);
    LLVMValueRef offset = unit(range->stride) ? lane : LLVMBuildMul(B, lane, cpu_splat(e, range->stride, lanes), "");
    offset = LLVMBuildAdd(B, offset, cpu_splat(e, range->first, lanes), "");
    t.address = cpu_address(e, t.element, view->data, offset);
    return t;
}

/* By how much a 64-bit value grows from lane to lane, where that is a number known now; false: nobody knows. */
static bool lane_step(struct cpu_nest *nest, const struct ir_value *value, const struct cpu_point *point, int64_t *step)
{
    struct cpu_emitter *e = nest->e;
    const struct ir_operation *definition = value->definition;
    int64_t a, b;
    *step = 0;
    if (value->type->rank == 0 || point->lanes_dim < 0)
        return true;
    if (cpu_state_of(e, value)->kind != CPU_VIRTUAL || ir_is_float(value->type->element) ||
        ir_element_info[value->type->element].bits != 64)
        return false;
    struct cpu_point at[2];
    for (int i = 0; i < definition->operand_count && i < 2; i++)
        cpu_point_operand(e, definition, i, point, &at[i]);
    switch (definition->opcode) {
    case OP_CONSTANT: return true;
    case OP_IOTA: *step = 1; return true;
    case OP_CAST: { /* between integers of 64 bits, or of counted numbers, which fit into any */
        const struct ir_value *from = definition->operands[0];
        if (from->definition && from->definition->opcode == OP_IOTA && cpu_state_of(e, from)->kind == CPU_VIRTUAL) {
            *step = 1;
            return true;
        }
        if (ir_element_info[from->type->element].bits != 64 || ir_is_float(from->type->element))
            return false;
        return lane_step(nest, from, &at[0], step);
    }
    case OP_SPLAT:
    case OP_BROADCAST:
    case OP_RESHAPE:
    case OP_PERMUTE:
    case OP_EXTRACT: return lane_step(nest, definition->operands[0], &at[0], step);
    case OP_ADD:
    case OP_SUB:
    case OP_POINTER_ADD:
        if (!lane_step(nest, definition->operands[0], &at[0], &a) ||
            !lane_step(nest, definition->operands[1], &at[1], &b))
            return false;
        if (a < -64 || a > 64 || b < -64 || b > 64)
            return false;
        *step = definition->opcode == OP_ADD   ? a + b
                : definition->opcode == OP_SUB ? a - (PLANTED(cpu_run_ignores_minus) ? -b : b)
                                               : a + b * cpu_bytes(value->type->pointee);
        return true;
    default: return false;
    }
}

static struct transfer pointer_transfer(struct cpu_nest *nest, const struct ir_operation *operation,
                                        const struct cpu_point *point)
{
    struct cpu_emitter *e = nest->e;
    struct ir_value *pointer = operation->operands[0];
    LLVMValueRef bits = operand_at(nest, pointer, point);
    struct transfer t = {.element = pointer->type->pointee, .spread = cpu_lanes(bits) > 1};
    int64_t step;
    if (t.spread && lane_step(nest, pointer, point, &step) && step == cpu_bytes(t.element)) { /* neighbours in memory */
        t.spread = false;
        t.mask = nest->active;
        bits = LLVMBuildExtractElement(B, bits, LLVMConstInt(e->i32, 0, 0), "");
        t.address = LLVMBuildIntToPtr(B, bits, e->pointer, "");
        return t;
    }
    t.address = LLVMBuildIntToPtr(B, bits, cpu_like(e->pointer, bits), "");
    t.same = !t.spread && point->lanes_dim >= 0 && nest->lanes > 1;
    t.mask = t.spread ? nest->active : NULL;
    return t;
}

LLVMValueRef cpu_load_element(struct cpu_nest *nest, const struct ir_operation *operation,
                              const struct cpu_point *point)
{
    struct cpu_emitter *e = nest->e;
    struct ir_access access;
    ir_access_of(operation, &access);
    bool by_pointer = operation->opcode == OP_POINTER_LOAD;
    if (!by_pointer && nest->mode == CPU_OUTSIDE && point->lanes_dim >= 0) {
        const struct cpu_access *range = cpu_access_register(nest, operation, point);
        if (range && range->low)
            return operand_at(nest, access.other, point);
    }
    int lanes = point->lanes_dim < 0 ? 1 : nest->lanes;
    struct transfer t = by_pointer ? pointer_transfer(nest, operation, point) : transfer_of(nest, operation, point);
    if (t.same)
        lanes = 1;
    if (access.mask)
        t.mask = cpu_both(e, t.mask, operand_at(nest, access.mask, point));
    LLVMValueRef other = access.other && t.mask ? operand_at(nest, access.other, point) : NULL;
    if (!other)
        other = LLVMConstNull(cpu_register_type(e, t.element));
    int wanted = t.mask && cpu_lanes(t.mask) > 1 ? cpu_lanes(t.mask) : cpu_lanes(other);
    if (lanes == 1 && wanted > 1) { /* one pointer for lanes that differ in the mask or in what they get without it */
        lanes = wanted;
        t.address = cpu_splat(e, t.address, lanes);
        if (cpu_lanes(t.mask) == 1)
            t.mask = cpu_splat(e, t.mask, lanes);
        t.spread = true;
    }
    return move_in(nest, &t, other, lanes);
}

LLVMValueRef cpu_inside_element(struct cpu_nest *nest, const struct ir_operation *operation,
                                const struct cpu_point *point)
{
    struct cpu_emitter *e = nest->e;
    LLVMValueRef yes = LLVMConstInt(e->i1, 1, 0);
    const struct cpu_access *range = point->lanes_dim < 0 ? NULL : cpu_access_register(nest, operation, point);
    if (!range) {
        struct spot spot = find_spot(nest, operation, point);
        return spot.condition ? spot.condition : yes;
    }
    if (nest->mode == CPU_OUTSIDE && range->low)
        return LLVMConstInt(e->i1, 0, 0);
    LLVMValueRef active = nest->active;
    nest->active = NULL;
    LLVMValueRef mask = lanes_inside(nest, range);
    nest->active = active;
    return mask ? mask : yes;
}

void cpu_store_element(struct cpu_nest *nest, const struct ir_operation *operation, const struct cpu_point *point)
{
    struct cpu_emitter *e = nest->e;
    struct ir_access access;
    ir_access_of(operation, &access);
    int lanes = point->lanes_dim < 0 ? 1 : nest->lanes;
    struct transfer t = operation->opcode == OP_POINTER_STORE ? pointer_transfer(nest, operation, point)
                                                              : transfer_of(nest, operation, point);
    if (access.mask)
        t.mask = cpu_both(e, t.mask, operand_at(nest, access.mask, point));
    LLVMValueRef value = operand_at(nest, access.value, point);
    if (t.same) {
        t.address = cpu_splat(e, t.address, lanes);
        t.mask = cpu_both(e, t.mask, nest->active);
        t.spread = true;
    }
    move_out(nest, &t, value, lanes);
}

/* ---- atomics: one element at a time ---- */

static LLVMAtomicOrdering ordering_of(const struct ir_operation *operation, enum ir_action action)
{
    switch ((enum ir_order)ir_number(operation, IR_ATTRIBUTE_ORDER, IR_ORDER_RELAXED)) {
    case IR_ORDER_ACQUIRE: return action == IR_ACTION_STORE ? LLVMAtomicOrderingMonotonic : LLVMAtomicOrderingAcquire;
    case IR_ORDER_RELEASE: return action == IR_ACTION_LOAD ? LLVMAtomicOrderingMonotonic : LLVMAtomicOrderingRelease;
    case IR_ORDER_ACQ_REL:
        return action == IR_ACTION_LOAD    ? LLVMAtomicOrderingAcquire
               : action == IR_ACTION_STORE ? LLVMAtomicOrderingRelease
                                           : LLVMAtomicOrderingAcquireRelease;
    default: return LLVMAtomicOrderingMonotonic;
    }
}

static LLVMAtomicOrdering failure_ordering(LLVMAtomicOrdering success)
{
    bool acquires = success == LLVMAtomicOrderingAcquire || success == LLVMAtomicOrderingAcquireRelease;
    return acquires ? LLVMAtomicOrderingAcquire : LLVMAtomicOrderingMonotonic;
}

/* Registers to the integer in memory and back. */
static LLVMValueRef to_bits(struct cpu_emitter *e, LLVMValueRef value, enum ir_element element)
{
    LLVMTypeRef type = LLVMIntTypeInContext(e->llvm, (unsigned)ir_element_info[element].bits);
    return element == IR_BOOL ? LLVMBuildZExt(B, value, type, "") : LLVMBuildBitCast(B, value, type, "");
}

static LLVMValueRef from_bits(struct cpu_emitter *e, LLVMValueRef bits, enum ir_element element)
{
    if (element == IR_BOOL)
        return LLVMBuildICmp(B, LLVMIntNE, bits, LLVMConstNull(LLVMTypeOf(bits)), "");
    return LLVMBuildBitCast(B, bits, cpu_register_type(e, element), "");
}

static LLVMValueRef atomic_load_bits(struct cpu_emitter *e, enum ir_element element, LLVMValueRef address,
                                     LLVMAtomicOrdering order)
{
    LLVMValueRef old = LLVMBuildLoad2(B, LLVMIntTypeInContext(e->llvm, (unsigned)ir_element_info[element].bits),
                                      address, "");
    LLVMSetAlignment(old, (unsigned)cpu_bytes(element));
    LLVMSetOrdering(old, order);
    return old;
}

/* What an action makes of the old bits. */
static LLVMValueRef combined_bits(struct cpu_emitter *e, enum ir_opcode opcode, enum ir_element element,
                                  LLVMValueRef old, LLVMValueRef value)
{
    return to_bits(e, cpu_binary(e, opcode, element, from_bits(e, old, element), value, IR_NAN_SKIP), element);
}

/* Anything that no instruction does: try with compare and exchange until nobody came between. */
static LLVMValueRef exchange_loop(struct cpu_emitter *e, enum ir_opcode opcode, enum ir_element element,
                                  LLVMValueRef address, LLVMValueRef value, LLVMAtomicOrdering order)
{
    LLVMBasicBlockRef head = cpu_block(e, "try"), done = cpu_block(e, "exchanged");
    LLVMValueRef first = atomic_load_bits(e, element, address, LLVMAtomicOrderingMonotonic);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(B);
    LLVMBuildBr(B, head);
    LLVMPositionBuilderAtEnd(B, head);
    LLVMValueRef old = LLVMBuildPhi(B, LLVMTypeOf(first), "");
    LLVMAddIncoming(old, &first, &before, 1);
    LLVMValueRef wanted = combined_bits(e, opcode, element, old, value);
    LLVMValueRef pair = LLVMBuildAtomicCmpXchg(B, address, old, wanted, order, failure_ordering(order), 0);
    LLVMValueRef seen = LLVMBuildExtractValue(B, pair, 0, ""), won = LLVMBuildExtractValue(B, pair, 1, "");
    LLVMBasicBlockRef here = LLVMGetInsertBlock(B);
    LLVMAddIncoming(old, &seen, &here, 1);
    LLVMBuildCondBr(B, won, done, head);
    LLVMPositionBuilderAtEnd(B, done);
    return old;
}

static LLVMValueRef atomic_action(struct cpu_emitter *e, const struct ir_operation *operation, enum ir_element element,
                                  LLVMValueRef address, LLVMValueRef value)
{
    enum ir_action action = (enum ir_action)ir_number(operation, IR_ATTRIBUTE_ACTION, IR_ACTION_ADD);
    LLVMAtomicOrdering order = ordering_of(operation, action);
    bool real = ir_is_float(element), is_signed = ir_is_signed(element);
    LLVMAtomicRMWBinOp code = LLVMAtomicRMWBinOpXchg;
    switch (action) {
    case IR_ACTION_LOAD: return from_bits(e, atomic_load_bits(e, element, address, order), element);
    case IR_ACTION_STORE: {
        if (operation->results[0]->uses) /* an exchange when somebody asks for what was there */
            break;
        LLVMValueRef store = LLVMBuildStore(B, to_bits(e, value, element), address);
        LLVMSetAlignment(store, (unsigned)cpu_bytes(element));
        LLVMSetOrdering(store, order);
        return LLVMConstNull(cpu_register_type(e, element));
    }
    case IR_ACTION_ADD:
        if (real || element == IR_BOOL)
            return from_bits(e, exchange_loop(e, OP_ADD, element, address, value, order), element);
        code = LLVMAtomicRMWBinOpAdd;
        break;
    case IR_ACTION_MIN:
        if (real)
            return from_bits(e, exchange_loop(e, OP_MIN, element, address, value, order), element);
        code = is_signed || PLANTED(cpu_atomic_min_signed) ? LLVMAtomicRMWBinOpMin : LLVMAtomicRMWBinOpUMin;
        break;
    case IR_ACTION_MAX:
        if (real)
            return from_bits(e, exchange_loop(e, OP_MAX, element, address, value, order), element);
        code = is_signed ? LLVMAtomicRMWBinOpMax : LLVMAtomicRMWBinOpUMax;
        break;
    case IR_ACTION_AND: code = LLVMAtomicRMWBinOpAnd; break;
    case IR_ACTION_OR: code = LLVMAtomicRMWBinOpOr; break;
    case IR_ACTION_XOR: code = LLVMAtomicRMWBinOpXor; break;
    case IR_ACTION_EXCHANGE:
    case IR_ACTION_COUNT: break;
    }
    return from_bits(e, LLVMBuildAtomicRMW(B, code, address, to_bits(e, value, element), order, 0), element);
}

LLVMValueRef cpu_atomic_element(struct cpu_nest *nest, const struct ir_operation *operation,
                                const struct cpu_point *point)
{
    struct cpu_emitter *e = nest->e;
    struct ir_access access;
    ir_access_of(operation, &access);
    bool by_pointer = operation->opcode == OP_POINTER_ATOMIC || operation->opcode == OP_POINTER_CAS;
    bool compares = operation->opcode == OP_ATOMIC_CAS || operation->opcode == OP_POINTER_CAS;
    struct transfer t = by_pointer ? pointer_transfer(nest, operation, point) : transfer_of(nest, operation, point);
    if (access.mask && !PLANTED(cpu_atomic_ignores_mask))
        t.mask = cpu_both(e, t.mask, operand_at(nest, access.mask, point));
    LLVMValueRef value = access.value ? operand_at(nest, access.value, point) : NULL;
    LLVMValueRef expected = access.expected ? operand_at(nest, access.expected, point) : NULL;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(B), done = NULL;
    if (t.mask) {
        LLVMBasicBlockRef act = cpu_block(e, "act");
        done = cpu_block(e, "acted");
        LLVMBuildCondBr(B, t.mask, act, done);
        LLVMPositionBuilderAtEnd(B, act);
    }
    LLVMValueRef old;
    if (PLANTED(cpu_cas_compares_wrong_value))
        expected = value;
    if (compares) {
        LLVMAtomicOrdering order = ordering_of(operation, IR_ACTION_EXCHANGE);
        LLVMValueRef pair = LLVMBuildAtomicCmpXchg(B, t.address, to_bits(e, expected, t.element),
                                                   to_bits(e, value, t.element), order, failure_ordering(order), 0);
        old = from_bits(e, LLVMBuildExtractValue(B, pair, 0, ""), t.element);
    } else {
        old = atomic_action(e, operation, t.element, t.address, value);
    }
    if (!done)
        return old;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(B);
    LLVMBuildBr(B, done);
    LLVMPositionBuilderAtEnd(B, done);
    LLVMValueRef result = LLVMBuildPhi(B, LLVMTypeOf(old), ""), zero = LLVMConstNull(LLVMTypeOf(old));
    LLVMAddIncoming(result, (LLVMValueRef[]){zero, old}, (LLVMBasicBlockRef[]){before, here}, 2);
    return result;
}
