/* Coalescing facts: which dimension of a tile is contiguous in memory and how wide an aligned vector is, from
 * strides, facts of arguments, divisors of indexes, and for pointer tiles from how their offsets are made. */
#include "passes/layout/memory_access.h"

#include "ir/facts/analysis.h"

#include <string.h>

enum { MOST = MEMORY_MOST_DIVISOR };

int64_t memory_low_bit(int64_t number)
{
    if (number == 0)
        return MOST;
    int shift = __builtin_ctzll((uint64_t)number);
    return shift > 20 ? MOST : INT64_C(1) << shift;
}

int64_t memory_divisor(const struct ir_value *value)
{
    bool is_scalar = value->type->kind == IR_TILE && value->type->rank == 0 && ir_is_integer(value->type->element);
    return is_scalar ? int64_min(MOST, divisibility_ask(value).multiple[0]) : 1;
}

/* ---- views ---- */

struct view_facts {
    int64_t alignment, stride[IR_MAX_RANK];
}; /* bytes; multiples, in elements */

static int element_bytes(const struct ir_type *type) { return ir_element_info[type->element].bits / 8; }

static const struct ir_argument_fact *argument_fact(const struct ir_value *value)
{
    const struct ir_function *function = value->block->function;
    bool argument = !value->definition && value->block == function->body && value->index < function->facts.count;
    return argument ? &function->facts.data[value->index] : NULL;
}

/* `stores`: of an access that asks when running where that is a fact. */
static void view_facts(const struct ir_value *view, bool stores, struct view_facts *facts)
{
    const struct ir_operation *op = view->definition;
    const struct ir_type *type = view->type;
    int bytes = element_bytes(type);
    facts->alignment = bytes;
    for (int d = 0; d < type->rank; d++)
        facts->stride[d] = type->stride[d] == IR_DYNAMIC ? 1 : memory_low_bit(type->stride[d]);
    if (op && op->opcode == OP_SUBVIEW) {
        struct view_facts parent;
        int64_t drop = ir_number(op, IR_ATTRIBUTE_DROP, 0);
        view_facts(op->operands[0], stores, &parent);
        facts->alignment = parent.alignment;
        for (int d = 0, next = 0; d < op->operands[0]->type->rank; d++) {
            int64_t offset = int64_min(MOST, memory_divisor(op->operands[1 + 2 * d]) * parent.stride[d]);
            facts->alignment = int64_min(facts->alignment, offset * bytes);
            if (!(drop >> d & 1)) {
                facts->stride[next] = int64_max(facts->stride[next], parent.stride[d]);
                next++;
            }
        }
    } else if (op && op->opcode == OP_VIEW_PERMUTE) {
        struct view_facts parent;
        const struct ir_attribute *order = ir_attribute(op, IR_ATTRIBUTE_PERMUTATION);
        view_facts(op->operands[0], stores, &parent);
        facts->alignment = parent.alignment;
        for (int d = 0; d < type->rank; d++)
            facts->stride[d] = parent.stride[order->list[d]];
    } else if (op && op->opcode == OP_MAKE_VIEW) {
        if (op->operands[0]->type->kind == IR_VIEW) {
            struct view_facts parent;
            view_facts(op->operands[0], stores, &parent);
            facts->alignment = parent.alignment;
        }
        for (int d = 0; d < type->rank; d++)
            facts->stride[d] = int64_max(facts->stride[d], memory_divisor(op->operands[1 + type->rank + d]));
    } else if (!op) {
        const struct ir_argument_fact *fact = argument_fact(view);
        if (!fact)
            return;
        int64_t asked = stores ? fact->asked_alignment : 0, base = int64_max(fact->base_alignment, asked);
        if (base > bytes)
            facts->alignment = memory_low_bit(base);
        for (int d = 0; d < type->rank; d++) {
            int64_t multiple = int64_max(fact->stride_multiple[d], asked / bytes);
            if (type->stride[d] == IR_DYNAMIC && multiple > 1)
                facts->stride[d] = memory_low_bit(multiple);
        }
    }
}

static int vector_of(int64_t alignment, int bytes)
{
    int64_t most = int64_min(alignment, 16) / bytes;
    return most > 1 ? (int)most : 1;
}

static void place_access(const struct ir_access *place, bool stores, struct memory_access *access)
{
    struct view_facts facts;
    const struct ir_type *view = place->view->type;
    int64_t alignment;
    int tile = 0;
    bool gathered = false;
    view_facts(place->view, stores, &facts);
    alignment = facts.alignment;
    for (int d = 0; d < place->rank; d++) {
        if (place->place[d] == IR_GATHER) {
            alignment = int64_min(alignment, facts.stride[d] * access->bytes);
            tile += gathered ? 0 : place->index[d]->type->rank;
            gathered = true;
            continue;
        }
        int64_t step = int64_min(MOST, memory_divisor(place->index[d]) * facts.stride[d]);
        alignment = int64_min(alignment, step * access->bytes);
        if (place->place[d] == IR_POINT)
            continue;
        if (view->stride[d] == 1)
            access->dimension = tile;
        else
            alignment = int64_min(alignment, facts.stride[d] * access->bytes);
        tile++;
    }
    if (access->dimension >= 0)
        access->vector = vector_of(alignment, access->bytes);
}

/* ---- tiles of pointers ---- */

static void pointer_access(const struct ir_value *pointers, struct memory_access *access)
{
    struct divisibility known = divisibility_guess(pointers);
    int64_t best = 1;
    for (int d = 0; d < pointers->type->rank; d++)
        if (known.contiguity[d] > best) {
            best = known.contiguity[d];
            access->dimension = d;
        }
    if (access->dimension >= 0)
        access->vector = vector_of(int64_min(known.multiple[access->dimension], best * access->bytes), access->bytes);
}

/* ---- the answers ---- */

bool memory_access_of(const struct ir_operation *op, struct memory_access *access)
{
    struct ir_access place;
    bool memory = ir_op_info[op->opcode].traits & (IR_TRAIT_READ | IR_TRAIT_WRITE | IR_TRAIT_ATOMIC);
    *access = (struct memory_access){.dimension = -1, .vector = 1};
    if (!memory || !ir_access_of(op, &place))
        return false;
    const struct ir_value *value = op->result_count ? op->results[0] : place.value;
    if (!value || value->type->rank == 0)
        return false;
    access->tile = value->type;
    access->bytes = element_bytes(value->type);
    if (place.place)
        place_access(&place, op->opcode == OP_STORE, access);
    else
        pointer_access(place.view, access);
    if (ir_op_info[op->opcode].traits & IR_TRAIT_ATOMIC)
        access->vector = 1;
    return true;
}

/* Coordinates that one instruction of a warp covers: lanes times vector; and how long runs along `dimension` are. */
static void warp_run(const struct layout *layout, int dimension, int vector, int *elements, int *run)
{
    int coordinates[LAYOUT_RANK], lanes = 0, seen[32];
    bool there[1024] = {false};
    *run = vector;
    for (int lane = 0; lane < 32; lane++) {
        struct layout_position position = {{0, lane, 0, 0, 0}};
        layout_coordinates(layout, &position, coordinates);
        int linear = 0, i = 0;
        bool in_row = true;
        for (int d = 0; d < layout->rank; d++) {
            linear = linear * layout->extent[d] + coordinates[d];
            in_row &= d == dimension || coordinates[d] == 0;
        }
        while (i < lanes && seen[i] != linear)
            i++;
        if (i == lanes)
            seen[lanes++] = linear;
        if (in_row && dimension >= 0 && coordinates[dimension] / vector < 1024)
            there[coordinates[dimension] / vector] = true;
    }
    for (int i = 1; i < 1024 && there[i]; i++)
        *run += vector;
    *elements = lanes * vector;
}

double memory_access_cost(const struct memory_access *access, const struct layout *layout)
{
    int vector = 1, elements, run;
    if (access->dimension >= 0)
        vector = layout_vector(layout, access->dimension, access->vector).size;
    warp_run(layout, access->dimension, vector, &elements, &run);
    double segments = (double)elements / run, sectors = run * access->bytes / 32.0;
    return layout_registers(layout) / vector * (2.0 + 0.5 * segments * (sectors < 1.0 ? 1.0 : sectors));
}

static void int_extents(const struct ir_type *tile, int *extent)
{
    for (int d = 0; d < tile->rank; d++)
        extent[d] = (int)tile->extent[d];
}

int memory_access_layouts(struct layout_table *table, const struct memory_access *access, int warps,
                          const struct layout **choices)
{
    int extent[LAYOUT_RANK], order[LAYOUT_RANK], warp_order[LAYOUT_RANK], rank = access->tile->rank, next = 0,
                                                                          count = 0;
    int first = access->dimension >= 0 ? access->dimension : rank - 1, bits = 0;
    int_extents(access->tile, extent);
    order[next++] = first;
    for (int d = rank - 1; d >= 0; d--) {
        bits += __builtin_ctz((unsigned)extent[d]);
        if (d != first)
            order[next++] = d;
    }
    for (int i = 0; i < rank; i++)
        warp_order[i] = order[rank - 1 - i];
    int vector = access->vector, each = bits - 5 - __builtin_ctz((unsigned)warps);
    while (vector > 1 && log2_floor((uint64_t)vector) > each)
        vector /= 2;
    const struct layout *along = layout_blocked_by(table, rank, extent, order, vector, NULL, order, warps);
    const struct layout *across = layout_blocked_by(table, rank, extent, order, vector, NULL, warp_order, warps);
    if (along)
        choices[count++] = along;
    if (across && across != along)
        choices[count++] = across;
    return count;
}

const struct layout *memory_default_layout(struct layout_table *table, const struct ir_type *tile, int warps)
{
    const struct layout *choices[2];
    int bytes = element_bytes(tile);
    struct memory_access access = {tile, bytes, tile->rank - 1, bytes < 16 ? 16 / bytes : 1};
    if (!memory_access_layouts(table, &access, warps, choices))
        die("a tile of %d dimensions has no layout", tile->rank);
    return choices[0];
}

int memory_copy_bytes(const struct ir_operation *load)
{
    struct memory_access access;
    if (!memory_access_of(load, &access) || access.dimension < 0)
        return 0;
    int bytes = access.vector * access.bytes;
    return bytes >= 4 ? bytes : 0;
}
