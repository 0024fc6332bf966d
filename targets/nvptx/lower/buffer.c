/* Buffers in shared memory: where they are, and tiles to and from them.
 *
 * A buffer is an offset in dynamic shared memory; its type's layout says what lies where.  A tile goes there and back
 * by stmatrix and ldmatrix where lanes and registers hold it as those instructions do, else by the widest vectors.
 * Either way the offset of a thread's element is
 *
 *     ((part of lane and warp) XOR (part of the register)) + (repeat of the register)
 *
 * and only those bits of a register's part that lane and warp can set need the XOR; the rest is a constant. */
#include "ir/facts/scratch.h"
#include "targets/nvptx/lower/mma_form.h"
#include "targets/nvptx/thread/memory.h"

/* ---- places ---- */

LLVMValueRef buffer_place(struct lowering *l, const struct ir_value *buffer, int part)
{
    struct lowered *lowered = value_of(l, buffer);
    if (lowered->count != PLACE_PARTS)
        die("a buffer of %s has no place", l->function->name);
    return lowered->registers[part];
}

LLVMValueRef buffer_start(struct lowering *l, const struct ir_value *buffer)
{
    return LLVMBuildAdd(l->builder, l->shared_start, buffer_place(l, buffer, PLACE_BYTES), "");
}

LLVMValueRef buffer_index(struct lowering *l, const struct ir_value *index)
{
    return LLVMBuildIntCast2(l->builder, value_register(l, index, 0), l->i32, ir_is_signed(index->type->element), "");
}

void buffer_define(struct lowering *l, const struct ir_value *value, LLVMValueRef bytes, LLVMValueRef units)
{
    struct lowered *lowered = &l->values[value->id];
    lowered->count = PLACE_PARTS;
    lowered->registers = value_array(l, PLACE_PARTS);
    lowered->registers[PLACE_BYTES] = bytes;
    lowered->registers[PLACE_UNITS] = units;
}

static void moved(struct lowering *l, struct ir_operation *operation, LLVMValueRef index, int64_t bytes)
{
    LLVMBuilderRef b = l->builder;
    LLVMValueRef part[PLACE_PARTS];
    for (int i = 0; i < PLACE_PARTS; i++) {
        LLVMValueRef step = value_i32(l, i == PLACE_BYTES ? bytes : bytes / 16);
        if (index)
            step = LLVMBuildMul(b, index, step, "");
        part[i] = LLVMBuildAdd(b, buffer_place(l, operation->operands[0], i), step, "");
    }
    buffer_define(l, operation->results[0], part[PLACE_BYTES], part[PLACE_UNITS]);
}

static void make(struct lowering *l, struct ir_operation *operation)
{
    const struct ir_type *type = operation->results[0]->type;
    int64_t offset = ir_number(operation, IR_ATTRIBUTE_SHARED_OFFSET, -1);
    if (offset < 0 || offset % 16)
        die("a buffer without a place in shared memory");
    l->shared_need = int64_max(l->shared_need, offset + scratch_slot_bytes(type) * type->slots);
    buffer_define(l, operation->results[0], value_i32(l, offset), value_i32(l, offset / 16));
}

static void take_part(struct lowering *l, struct ir_operation *operation)
{
    const struct ir_attribute *start = ir_attribute(operation, IR_ATTRIBUTE_START);
    const struct ir_type *type = operation->operands[0]->type;
    int coordinates[LAYOUT_RANK];
    for (int d = 0; d < type->rank; d++)
        coordinates[d] = (int)start->list[d];
    int64_t bytes = shared_form_offset(type->layout, value_bytes(type->element), coordinates);
    if (bytes % 16)
        die("a part of a buffer starts at byte %lld of it", (long long)bytes);
    moved(l, operation, NULL, bytes);
}

/* ---- offsets of a thread ---- */

struct route {
    LLVMValueRef thread;                /* i32, bytes from the start of the buffer */
    uint32_t set;                       /* bits of it that differ between threads */
    int bytes;                          /* of an element */
    const struct layout *tile, *buffer; /* of one shape */
    const struct layout *part;          /* of what is moved: the tile's, or a smaller one */
    const int *place;                   /* a part's registers as the tile's; NULL: the same */
};

static uint32_t bits_set(const struct layout_formula *formula)
{
    uint32_t set = 0;
    for (int i = 0; i < formula->fields; i++)
        for (int bit = 0; bit < formula->field[i].count; bit++)
            set |= formula->field[i].multiplier << bit;
    return set;
}

static void plan_route(struct lowering *l, const struct layout_formula *formula, struct route *route)
{
    LLVMBuilderRef keep = l->builder;
    l->builder = l->entry;
    LLVMValueRef thread = coordinate_formula(l, formula);
    if (formula->group_multiplier) {
        LLVMValueRef group = LLVMBuildUDiv(l->builder, l->warp, value_i32(l, formula->group_warps), "");
        group = LLVMBuildMul(l->builder, group, value_i32(l, formula->group_multiplier), "");
        thread = LLVMBuildAdd(l->builder, thread, group, "");
    }
    route->thread = LLVMBuildMul(l->builder, thread, value_i32(l, route->bytes), "");
    route->set = bits_set(formula);
    l->builder = keep;
}

/* The layout of a part is the buffer's own tile with the rest of it in further registers. */
static void plan_part(struct lowering *l, const struct ir_attribute *start, const struct ir_type *buffer,
                      struct route *route)
{
    const struct layout_position first = {.part = {0}};
    int extent[LAYOUT_RANK], coordinates[LAYOUT_RANK], count = layout_registers(route->part);
    for (int d = 0; d < buffer->rank; d++)
        extent[d] = (int)buffer->extent[d];
    route->tile = layout_extend(l->layouts, route->part, extent);
    if (!route->tile)
        die("a tile of a buffer in a layout that does not go on over the buffer");
    int *place = ARENA_ARRAY(l->arena, int, count);
    for (int reg = 0; reg < count; reg++) {
        struct layout_position position = {.part = {[LAYOUT_REGISTER] = reg}};
        layout_coordinates(route->part, &position, coordinates);
        for (int d = 0; d < buffer->rank; d++)
            coordinates[d] += (int)start->list[d];
        place[reg] = layout_register_at(route->tile, &first, coordinates);
        if (place[reg] < 0)
            die("a tile of a buffer lies in other threads than its layout says");
    }
    route->place = place;
}

/* Bytes from the start of the buffer: the returned value and *constant. */
static LLVMValueRef offset_of(struct lowering *l, const struct route *route, int reg, int64_t *constant)
{
    int atom_part, repeat_part;
    if (route->place)
        reg = route->place[reg];
    layout_memory_parts(route->tile, route->buffer, reg, &atom_part, &repeat_part);
    uint32_t crossed = (uint32_t)atom_part & route->set, free = (uint32_t)atom_part & ~route->set;
    *constant = ((int64_t)free + repeat_part) * route->bytes;
    if (!crossed)
        return route->thread;
    return LLVMBuildXor(l->entry, route->thread, value_i32(l, (int64_t)crossed * route->bytes), "");
}

/* ---- by 8x8 matrices of 16-bit elements ----
 * Of a matrix, lane i holds two elements of row i / 4, columns 2 * (i % 4) and the next; transposed, of column i / 4.
 * A row is 16 bytes; the address of row j of matrix m comes from lane 8 * m + j. */
struct matrices {
    int pair;          /* bit of the register number that tells the two elements apart */
    int count, bit[2]; /* 1, 2 or 4 matrices an instruction, told apart by these bits */
    bool transposed;
    int registers; /* bits of the register number within an atom */
    struct layout_formula address;
};

static void add_field(struct layout_formula *formula, enum layout_input input, int bit, uint32_t multiplier)
{
    struct layout_field *last = formula->fields ? &formula->field[formula->fields - 1] : NULL;
    if (!multiplier)
        return;
    if (last && last->input == input && last->bit + last->count == bit && is_power_of_two(last->multiplier) &&
        last->multiplier << last->count == multiplier) {
        last->count++;
        return;
    }
    formula->field[formula->fields++] = (struct layout_field){input, bit, 1, multiplier};
}

static bool plan_matrices(const struct route *route, struct matrices *plan)
{
    const struct layout *tile = route->tile, *buffer = route->buffer;
    struct layout_formula formula;
    uint32_t lane[5] = {0}, reg[LAYOUT_BITS] = {0};
    layout_memory_formula(tile, buffer, &formula);
    *plan = (struct matrices){.pair = -1, .registers = route->part->bits[LAYOUT_REGISTER]};
    for (int i = 0; i < formula.fields; i++) {
        const struct layout_field *field = &formula.field[i];
        for (int bit = 0; bit < field->count; bit++) {
            uint32_t value = field->multiplier << bit;
            if (field->input == LAYOUT_LANE)
                lane[field->bit + bit] = value;
            else if (value & 7)
                return false;
        }
    }
    for (int bit = 0; bit < plan->registers; bit++) {
        int atom_part, repeat_part;
        layout_memory_parts(tile, buffer, 1 << bit, &atom_part, &repeat_part);
        reg[bit] = (uint32_t)atom_part;
    }
    const uint32_t *row, *column;
    plan->transposed = lane[2] == 1;
    column = plan->transposed ? lane + 2 : lane; /* lanes along the 16 bytes: 1, 2, 4 or 2, 4 */
    row = plan->transposed ? lane : lane + 2;
    for (int i = plan->transposed ? 0 : 1; i < 3; i++)
        if (*column++ != UINT32_C(1) << i)
            return false;
    for (int i = 0; i < (plan->transposed ? 2 : 3); i++)
        if (!row[i] || row[i] & 7)
            return false;
    for (int bit = 0; bit < plan->registers; bit++) {
        bool pairs = plan->transposed ? bit == 0 && reg[bit] : reg[bit] == 1;
        if (!pairs && (reg[bit] & 7 || !reg[bit]))
            return false;
        if (pairs && plan->pair < 0)
            plan->pair = bit;
    }
    if (plan->pair < 0 || (plan->transposed && reg[plan->pair] & 7))
        return false;
    plan->count = 1;
    for (int bit = 0; bit < plan->registers && plan->count < 4; bit++)
        if (bit != plan->pair) {
            plan->bit[plan->count == 1 ? 0 : 1] = bit;
            plan->count *= 2;
        }
    struct layout_formula *address = &plan->address;
    const uint32_t source[5] = {plan->transposed ? reg[plan->pair] : row[0], plan->transposed ? row[0] : row[1],
                                plan->transposed ? row[1] : row[2], plan->count > 1 ? reg[plan->bit[0]] : 0,
                                plan->count > 2 ? reg[plan->bit[1]] : 0};
    for (int bit = 0; bit < 5; bit++)
        add_field(address, LAYOUT_LANE, bit, source[bit]);
    for (int i = 0; i < formula.fields; i++)
        if (formula.field[i].input == LAYOUT_WARP)
            address->field[address->fields++] = formula.field[i];
    address->group_warps = formula.group_warps;
    address->group_multiplier = formula.group_multiplier;
    return true;
}

/* The four registers (or fewer) of an instruction that starts at register `reg`, first elements of their pairs. */
static void matrix_registers(const struct matrices *plan, int reg, int each[4])
{
    for (int m = 0; m < plan->count; m++)
        each[m] = reg | (m & 1 ? 1 << plan->bit[0] : 0) | (m & 2 ? 1 << plan->bit[1] : 0);
}

static void store_matrices(struct lowering *l, const struct matrices *plan, const int each[4], enum ir_element element,
                           LLVMValueRef address, int64_t offset, const LLVMValueRef *registers)
{
    static const char *const names[5] = {[1] = "$1", [2] = "$1, $2", [4] = "$1, $2, $3, $4"};
    static const char *const constraints[5] = {[1] = ",r", [2] = ",r,r", [4] = ",r,r,r,r"};
    LLVMValueRef arguments[5] = {address};
    for (int m = 0; m < plan->count; m++) {
        LLVMValueRef values[2] = {registers[each[m]], registers[each[m] | 1 << plan->pair]};
        memory_pack(l, element, memory_shape(element, 2), values, &arguments[1 + m]);
    }
    const char *words[5] = {arena_printf(l->arena, "x%d", plan->count), plan->transposed ? ".trans" : "",
                            arena_printf(l->arena, "%lld", (long long)offset), names[plan->count],
                            constraints[plan->count]};
    ptx_emit(l, PTX_STMATRIX, l->nothing, arguments, 1 + plan->count, words);
}

static void load_matrices(struct lowering *l, const struct matrices *plan, const int each[4], enum ir_element element,
                          LLVMValueRef address, int64_t offset, LLVMValueRef *registers)
{
    static const enum ptx_row rows[5] = {[1] = PTX_LDMATRIX_1, [2] = PTX_LDMATRIX_2, [4] = PTX_LDMATRIX_4};
    LLVMTypeRef members[4] = {l->i32, l->i32, l->i32, l->i32}, type = l->i32;
    if (plan->count > 1)
        type = LLVMStructTypeInContext(l->context, members, (unsigned)plan->count, false);
    const char *words[2] = {plan->transposed ? ".trans" : "", arena_printf(l->arena, "%lld", (long long)offset)};
    LLVMValueRef all = ptx_emit(l, rows[plan->count], type, &address, 1, words);
    for (int m = 0; m < plan->count; m++) {
        LLVMValueRef word = plan->count == 1 ? all : LLVMBuildExtractValue(l->builder, all, (unsigned)m, ""), values[2];
        memory_unpack(l, element, memory_shape(element, 2), &word, values);
        registers[each[m]] = values[0];
        registers[each[m] | 1 << plan->pair] = values[1];
    }
}

static void by_matrices(struct lowering *l, const struct matrices *plan, const struct route *route,
                        enum ir_element element, LLVMValueRef start, LLVMValueRef *registers, bool store)
{
    int mask = 1 << plan->pair, count = layout_registers(route->part), each[4];
    for (int i = 0; i < plan->count / 2; i++)
        mask |= 1 << plan->bit[i];
    for (int reg = 0; reg < count; reg++) {
        if (reg & mask)
            continue;
        int64_t constant;
        LLVMValueRef address = LLVMBuildAdd(l->builder, start, offset_of(l, route, reg, &constant), "");
        matrix_registers(plan, reg, each);
        if (store)
            store_matrices(l, plan, each, element, address, constant, registers);
        else
            load_matrices(l, plan, each, element, address, constant, registers);
    }
}

/* ---- by vectors ---- */

/* Consecutive offsets must come from the vector's registers alone. */
static struct layout_vector vector_of(const struct route *route)
{
    for (int limit = 16 / route->bytes; limit > 1; limit /= 2) {
        struct layout_vector vector = layout_memory_vector(route->tile, route->buffer, limit);
        uint32_t low = (uint32_t)vector.size - 1;
        bool alone = !(route->set & low) && vector.register_mask < 1 << route->part->bits[LAYOUT_REGISTER];
        for (int bit = 0; bit < route->tile->bits[LAYOUT_REGISTER]; bit++) {
            int atom_part, repeat_part;
            layout_memory_parts(route->tile, route->buffer, 1 << bit, &atom_part, &repeat_part);
            alone = alone && (vector.register_mask >> bit & 1 || !((uint32_t)atom_part & low));
        }
        if (alone && vector.size > 1)
            return vector;
    }
    return (struct layout_vector){.size = 1};
}

static void by_vectors(struct lowering *l, const struct route *route, enum ir_element element, LLVMValueRef start,
                       LLVMValueRef *registers, bool store)
{
    struct layout_vector vector = vector_of(route);
    for (int reg = 0; reg < layout_registers(route->part); reg++) {
        if (reg & vector.register_mask)
            continue;
        int64_t constant;
        LLVMValueRef values[16], offset = offset_of(l, route, reg, &constant);
        if (LLVMIsAConstantInt(start))
            constant += LLVMConstIntGetSExtValue(start);
        else
            offset = LLVMBuildAdd(l->builder, start, offset, "");
        LLVMValueRef address = shared_address(l, constant, offset);
        for (int i = 0; i < vector.size; i++)
            values[i] = store ? registers[layout_vector_register(&vector, reg, i)] : NULL;
        if (store) {
            shared_store_vector(l, element, values, vector.size, address);
            continue;
        }
        shared_load_vector(l, element, values, vector.size, address);
        for (int i = 0; i < vector.size; i++)
            registers[layout_vector_register(&vector, reg, i)] = values[i];
    }
}

/* ---- tiles ---- */

static void transfer(struct lowering *l, const struct ir_value *tile, const struct ir_value *buffer,
                     const struct ir_attribute *start, LLVMValueRef *registers, bool store)
{
    const struct layout *layout = tile->type->layout;
    enum ir_element element = tile->type->element;
    struct route route = {
        .tile = layout, .part = layout, .buffer = buffer->type->layout, .bytes = value_bytes(element)};
    struct matrices plan;
    bool copies = layout_redundant_bits(layout, LAYOUT_LANE) != 0;
    bool known = l->row->major > 7 && (!store || l->row->major >= 9);
    if (!layout)
        die("a tile without layout goes to a buffer");
    if (start)
        plan_part(l, start, buffer->type, &route);
    if (route.bytes == 2 && known && !copies && plan_matrices(&route, &plan)) {
        plan_route(l, &plan.address, &route);
        by_matrices(l, &plan, &route, element, buffer_start(l, buffer), registers, store);
        return;
    }
    struct layout_formula formula;
    layout_memory_formula(route.tile, route.buffer, &formula);
    plan_route(l, &formula, &route);
    LLVMValueRef leader = store ? coordinate_leader(l, layout) : NULL;
    LLVMBasicBlockRef put = leader ? value_block(l, "put") : NULL, join = leader ? value_block(l, "kept") : NULL;
    if (leader) {
        LLVMBuildCondBr(l->builder, leader, put, join);
        LLVMPositionBuilderAtEnd(l->builder, put);
    }
    by_vectors(l, &route, element, buffer_place(l, buffer, PLACE_BYTES), registers, store);
    if (leader) {
        LLVMBuildBr(l->builder, join);
        LLVMPositionBuilderAtEnd(l->builder, join);
    }
}

/* The registers of what is stored, as tf32 keeps them where the store asks for it. */
static LLVMValueRef *rounded(struct lowering *l, const struct ir_operation *store)
{
    const struct ir_value *tile = store->operands[0];
    LLVMValueRef *registers = value_of(l, tile)->registers;
    if (ir_number(store, IR_ATTRIBUTE_PRECISION, IR_PRECISION_IEEE) != IR_PRECISION_TF32)
        return registers;
    int count = value_registers(tile->type);
    LLVMValueRef *words = value_array(l, count);
    for (int i = 0; i < count; i++) {
        LLVMValueRef word = LLVMBuildBitCast(l->builder, registers[i], l->i32, "");
        words[i] = LLVMBuildBitCast(l->builder, mma_form_make(l, IR_F32, word, MMA_NEAREST), l->f32, "");
    }
    return words;
}

void lower_buffer(struct lowering *l, struct ir_operation *operation)
{
    struct ir_value *const *operands = operation->operands;
    switch (operation->opcode) {
    case OP_BUFFER: make(l, operation); return;
    case OP_SLOT: moved(l, operation, buffer_index(l, operands[1]), scratch_slot_bytes(operands[0]->type)); return;
    case OP_BUFFER_PERMUTE: moved(l, operation, NULL, 0); return;
    case OP_BUFFER_PART: take_part(l, operation); return;
    case OP_BUFFER_LOAD:
        transfer(l, operation->results[0], operands[0], ir_attribute(operation, IR_ATTRIBUTE_START),
                 value_define(l, operation->results[0]), false);
        return;
    case OP_BUFFER_STORE: transfer(l, operands[0], operands[1], NULL, rounded(l, operation), true); return;
    default: die("%s is no operation on buffers", ir_op_info[operation->opcode].text);
    }
}
