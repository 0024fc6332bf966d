/* The rules of the operations of the Schedule and Machine levels: buffers, what is on its way, roles, barriers in
 * shared memory.  Every function gives NULL or a sentence. */
#include "ir/layout/layout.h"
#include "ir/facts/shared_form.h"
#include "ir/verify/verify_internal.h"

enum {
    LEAST_BARRIER_ID = 1,
    MOST_BARRIER_ID = 15,
    MOST_WARPS = 32,
    MOST_GROUPS = IR_BARRIER_OF_TURNS - IR_BARRIER_OF_GROUPS, /* each has a barrier of its own */
    MOST_ROLE_REGISTERS = 256,
    MOST_PENDING = 63,
    MOST_COUNT = (1 << 20) - 1 /* arrivals and bytes of an mbarrier */
};

static struct layout_table *layouts_of(const struct ir_operation *op)
{
    return ir_context_layouts(op->block->function->module->context);
}

/* A buffer of which one slot is meant. */
static bool is_slot(const struct ir_type *type) { return type->kind == IR_BUFFER && type->slots == 1; }

static bool same_content(const struct ir_type *a, const struct ir_type *b)
{
    return verify_same_element(a, b) && ir_type_same_shape(a, b);
}

static const char *buffer_type_problem(const struct ir_type *type)
{
    if (type->element == IR_POINTER)
        return "a buffer does not hold pointers";
    if (!type->layout || !layout_is_shared(type->layout) || type->layout->rank != type->rank)
        return "a buffer has a layout of shared memory";
    for (int d = 0; d < type->rank; d++)
        if (type->layout->extent[d] != type->extent[d])
            return "a buffer's layout has the buffer's extents";
    return NULL;
}

/* ---- buffers ---- */

static const char *buffer_problem(const struct ir_operation *op)
{
    if (op->results[0]->type->kind != IR_BUFFER)
        return "the result is a buffer";
    return op->block->parent ? "a buffer is defined in the function's body" : buffer_type_problem(op->results[0]->type);
}

static const char *slot_problem(const struct ir_operation *op)
{
    const struct ir_type *ring = op->operands[0]->type, *slot = op->results[0]->type;
    int64_t index;
    if (ring->kind != IR_BUFFER || !is_slot(slot) || !same_content(ring, slot) || ring->layout != slot->layout)
        return "slot makes a buffer of one slot from a ring of the same type";
    if (!verify_is_integer_scalar(op->operands[1]))
        return "the index of a slot is an integer scalar";
    return ir_constant_integer(op->operands[1], &index) && (index < 0 || index >= ring->slots)
               ? "the ring has no such slot"
               : NULL;
}

static const char *buffer_permute_problem(const struct ir_operation *op)
{
    const struct ir_type *from = op->operands[0]->type, *to = op->results[0]->type;
    const struct ir_attribute *order = ir_attribute(op, IR_ATTRIBUTE_PERMUTATION);
    int permutation[LAYOUT_RANK];
    if (!is_slot(from) || !is_slot(to) || !verify_same_element(from, to) || from->rank != to->rank)
        return "operand and result are buffers of one slot, one element and one rank";
    if (!verify_is_permutation(order, from->rank))
        return "the permutation does not name each dimension once";
    for (int d = 0; d < to->rank; d++) {
        permutation[d] = (int)order->list[d];
        if (to->extent[d] != from->extent[order->list[d]])
            return "the result's extents are not the permuted ones";
    }
    return to->layout == layout_rename(layouts_of(op), from->layout, permutation)
               ? NULL
               : "the result's layout is not the permuted one";
}

/* Offset of the element `at` along one dimension, 0 along the others. */
static int offset_along(const struct layout *layout, int dimension, int at)
{
    struct layout_position position;
    int coordinates[LAYOUT_RANK] = {0};
    coordinates[dimension] = at;
    layout_find(layout, coordinates, &position);
    return position.part[LAYOUT_OFFSET];
}

/* offset(start + c) = offset(start) + part(c) for every c of the part.  Offsets are an XOR of one number for each bit
 * of a coordinate inside an atom, plus a sum over repeats; so it is enough to compare these numbers, where the start
 * sets no bit that the part may change. */
static bool part_lies_so(const struct layout *whole, const struct layout *part, const int64_t *start)
{
    int moving = 0, coordinates[LAYOUT_RANK];
    struct layout_position first;
    for (int d = 0; d < part->rank; d++) {
        int extent = part->extent[d], atom = 1 << part->atom_bits[d];
        coordinates[d] = (int)start[d];
        if (extent != whole->extent[d] && (part->repeat[d] > 1 || atom > 1 << whole->atom_bits[d]))
            return false;
        for (int bit = 1; bit < atom; bit *= 2) {
            if (offset_along(whole, d, bit) != offset_along(part, d, bit))
                return false;
            moving |= offset_along(part, d, bit);
        }
        if (part->repeat[d] > 1 && offset_along(whole, d, atom) != offset_along(part, d, atom))
            return false;
    }
    layout_find(whole, coordinates, &first);
    int atom_size = 1;
    for (int d = 0; d < whole->rank; d++)
        atom_size <<= whole->atom_bits[d];
    return !(first.part[LAYOUT_OFFSET] % atom_size & moving);
}

static const char *buffer_part_problem(const struct ir_operation *op)
{
    const struct ir_type *from = op->operands[0]->type, *to = op->results[0]->type;
    const struct ir_attribute *start = ir_attribute(op, IR_ATTRIBUTE_START);
    if (!is_slot(from) || !is_slot(to) || !verify_same_element(from, to) || from->rank != to->rank ||
        start->count != from->rank)
        return "operand, result and start have one element and rank, the buffers one slot";
    for (int d = 0; d < from->rank; d++)
        if (start->list[d] < 0 || start->list[d] % to->extent[d] || start->list[d] > from->extent[d] - to->extent[d])
            return "the part must lie inside, at a multiple of its extent";
    const char *problem = buffer_type_problem(to);
    if (problem)
        return problem;
    return part_lies_so(from->layout, to->layout, start->list) ? NULL : "the layout is not where the part lies";
}

static const char *buffer_tile_problem(const struct ir_type *tile, const struct ir_type *buffer,
                                       const struct ir_attribute *start)
{
    if (!is_slot(buffer) || tile->kind != IR_TILE || !verify_same_element(tile, buffer) || tile->rank != buffer->rank ||
        start->count != tile->rank)
        return "tile, start and buffer of one slot have one element and rank";
    for (int d = 0; d < tile->rank; d++)
        if (start->list[d] < 0 || start->list[d] % tile->extent[d] ||
            start->list[d] > buffer->extent[d] - tile->extent[d])
            return "the tile must lie inside the buffer, at a multiple of its extent";
    return NULL;
}

/* Of what rounds on its way to a buffer. */
static const char *rounding_problem(const struct ir_operation *op, const struct ir_type *buffer)
{
    bool rounds = ir_attribute(op, IR_ATTRIBUTE_PRECISION);
    return rounds && (buffer->element != IR_F32 || ir_number(op, IR_ATTRIBUTE_PRECISION, 0) != IR_PRECISION_TF32)
               ? "what is rounded on its way is f32, to tf32"
               : NULL;
}

static const char *buffer_access_problem(const struct ir_operation *op)
{
    bool load = op->opcode == OP_BUFFER_LOAD;
    const struct ir_type *tile = load ? op->results[0]->type : op->operands[0]->type;
    const struct ir_type *buffer = op->operands[load ? 0 : 1]->type;
    const struct ir_attribute *start = load ? ir_attribute(op, IR_ATTRIBUTE_START) : NULL;
    if (start)
        return buffer_tile_problem(tile, buffer, start);
    return is_slot(buffer) && tile->kind == IR_TILE && same_content(tile, buffer)
               ? rounding_problem(op, buffer)
               : "tile and buffer of one slot have one element and the same extents";
}

/* ---- copies ---- */

static const char *copy_problem(const struct ir_operation *op, int behind)
{
    const char *problem = verify_place(op);
    if (problem)
        return problem;
    const struct ir_type *view = op->operands[0]->type;
    if (op->operand_count != 2 + view->rank + behind)
        return "wrong number of operands behind the place";
    const struct ir_type *buffer = op->operands[1 + view->rank]->type;
    struct ir_access access = {
        .rank = view->rank, .index = op->operands + 1, .place = ir_attribute(op, IR_ATTRIBUTE_PLACE)->list};
    struct ir_type place = {.kind = IR_TILE};
    place.rank = ir_place_shape(&access, place.extent);
    if (!is_slot(buffer) || !verify_same_element(view, buffer) || !ir_type_same_shape(&place, buffer))
        return "the buffer has one slot, the view's element and the place's extents";
    bool reads = ir_op_info[op->opcode].traits & IR_TRAIT_READ;
    return (reads ? view->readable : view->writable) ? rounding_problem(op, buffer) : "the view does not allow it";
}

static const char *token_problem(const struct ir_operation *op)
{
    return op->results[0]->type->kind == IR_TOKEN ? copy_problem(op, 0) : "the result is a token";
}

static const char *wait_problem(const struct ir_operation *op)
{
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i]->type->kind != IR_TOKEN)
            return "wait takes tokens";
    return NULL;
}

static const char *mbarrier_index_problem(const struct ir_value *barrier, const struct ir_value *index)
{
    int64_t number;
    if (barrier->type->kind != IR_MBARRIER)
        return "an mbarrier is expected here";
    if (!verify_is_integer_scalar(index))
        return "the index of an mbarrier is an integer scalar";
    return ir_constant_integer(index, &number) && (number < 0 || number >= barrier->type->slots)
               ? "there is no mbarrier of this index"
               : NULL;
}

/* Of an attribute that says with how many blocks an operation is done together. */
static const char *cluster_problem(const struct ir_operation *op, enum ir_attribute_key key)
{
    int blocks = op->block->function->cluster;
    if (ir_attribute(op, key) && (blocks < 2 || ir_number(op, key, 0) != blocks))
        return "the number of blocks is that of the function's cluster, 2 or more";
    return NULL;
}

/* Warps of the role that the operation stands in, or of the function. */
static int64_t warps_around(const struct ir_operation *op)
{
    const struct ir_block *block = op->block;
    while (block->parent && block->parent->opcode != OP_ROLES)
        block = block->parent->block;
    const struct ir_attribute *warps = block->parent ? ir_attribute(block->parent, IR_ATTRIBUTE_ROLE_WARPS) : NULL;
    for (int i = 0; warps && i < block->parent->region_count && i < warps->count; i++)
        if (block->parent->regions[i] == block)
            return warps->list[i];
    return op->block->function->warps;
}

static const char *apart_problem(const struct ir_operation *op)
{
    int64_t groups = ir_number(op, IR_ATTRIBUTE_APART, 0);
    if (!ir_attribute(op, IR_ATTRIBUTE_APART))
        return NULL;
    return groups >= 2 && groups <= MOST_GROUPS && warps_around(op) == groups * IR_WARPGROUP
               ? NULL
               : "apart says how many warpgroups there are, 2 to 4";
}

static const char *tma_problem(const struct ir_operation *op)
{
    struct tensor_map map;
    const char *problem = copy_problem(op, op->opcode == OP_TMA_LOAD ? 2 : 0);
    if (!problem && op->opcode == OP_TMA_LOAD)
        problem = mbarrier_index_problem(op->operands[op->operand_count - 2], op->operands[op->operand_count - 1]);
    if (!problem)
        problem = cluster_problem(op, IR_ATTRIBUTE_MULTICAST);
    if (!problem && ir_attribute(op, IR_ATTRIBUTE_ACTION) &&
        (ir_number(op, IR_ATTRIBUTE_ACTION, 0) != IR_ACTION_ADD || op->operands[0]->type->element != IR_F32))
        problem = "what tma_store does to elements that are there is add f32";
    if (!problem)
        problem = apart_problem(op);
    if (!problem)
        tensor_map_of(op, &map, &problem);
    return problem;
}

/* ---- products on their way ---- */

/* Values that a product in flight may be called: visited ones, so that loops end. */
struct flight {
    int count;
    const struct ir_value *value[64];
};

static const char *flight_problem(struct flight *flight, const struct ir_value *value);

/* A product on its way writes to registers that its sum keeps: one operation alone goes on with them, as the sum of
 * another product, round a loop at the same place, or waiting for them to look at. */
static bool has_one_heir(const struct ir_value *value)
{
    int heirs = 0;
    for (const struct ir_use *use = value->uses; use; use = use->next)
        heirs += use->user->opcode != OP_DOT_WAIT || use->user->results[use->index]->uses;
    return heirs <= 1;
}

static bool adds_to(const struct ir_value *value, const struct ir_value *sum)
{
    while (value != sum && value->definition && value->definition->opcode == OP_DOT_ASYNC)
        value = value->definition->operands[2];
    return value == sum;
}

/* Where a yield, condition or loop hands a value on to: result `index` of the parent and what its regions call it. */
static const char *handed_on(struct flight *flight, const struct ir_operation *parent, int index)
{
    const char *problem = NULL;
    if (index < 0 || index >= parent->result_count)
        return "a product in flight is handed on to nobody";
    problem = flight_problem(flight, parent->results[index]);
    int skip = parent->opcode == OP_FOR ? 1 : 0;
    for (int r = 0; r < parent->region_count && !problem && parent->opcode != OP_IF; r++)
        problem = flight_problem(flight, parent->regions[r]->arguments.data[index + skip]);
    return problem;
}

static const char *flight_problem(struct flight *flight, const struct ir_value *value)
{
    const char *problem = NULL;
    for (int i = 0; i < flight->count; i++)
        if (flight->value[i] == value)
            return NULL;
    if (flight->count == (int)(sizeof flight->value / sizeof *flight->value))
        return "a product in flight goes through too many hands";
    flight->value[flight->count++] = value;
    for (const struct ir_use *use = value->uses; use && !problem; use = use->next) {
        const struct ir_operation *user = use->user, *parent = user->block->parent;
        bool goes_round = user->opcode == OP_YIELD && parent && parent->opcode == OP_FOR;
        bool loop = user->opcode == OP_FOR || user->opcode == OP_WHILE;
        if (user->opcode == OP_DOT_WAIT || (user->opcode == OP_DOT_ASYNC && use->index == 2))
            continue;
        if ((user->opcode == OP_YIELD || (user->opcode == OP_CONDITION && use->index)) && user->block->parent)
            problem = handed_on(flight, user->block->parent, use->index - (user->opcode == OP_CONDITION));
        else if (loop)
            problem = handed_on(flight, user, use->index - (user->opcode == OP_FOR ? 3 : 0));
        else
            problem = "the result is used before a dot_wait for it";
        if (!problem && goes_round && !adds_to(value, parent->regions[0]->arguments.data[use->index + 1]))
            problem = "a product on its way would move to other registers";
    }
    if (!problem && !has_one_heir(value))
        problem = "two operations go on with the registers of a product on its way";
    return problem;
}

static const char *dot_async_problem(const struct ir_operation *op)
{
    const struct ir_type *a = op->operands[0]->type, *b = op->operands[1]->type, *c = op->operands[2]->type;
    bool mma = ir_number(op, IR_ATTRIBUTE_INSTRUCTION, 0) == IR_INSTRUCTION_MMA;
    if ((a->kind != IR_TILE && !is_slot(a)) || (!(mma && b->kind == IR_TILE) && !is_slot(b)) || c->kind != IR_TILE)
        return "a factor is a tile or a buffer of one slot, the second of wgmma such a buffer, the accumulator a tile";
    if (c != op->results[0]->type)
        return "the result has the accumulator's type";
    const char *problem = verify_product(a, b, c);
    if (problem)
        return problem;
    if (op->operand_count == 4 && !verify_is_scalar_of(op->operands[3], IR_BOOL))
        return "the fourth operand is a bool scalar";
    if (ir_number(op, IR_ATTRIBUTE_INSTRUCTION, 0) == IR_INSTRUCTION_FMA)
        return "a product that runs on is mma or wgmma";
    struct flight flight = {0}; /* mma.sync is done at once */
    return ir_number(op, IR_ATTRIBUTE_INSTRUCTION, 0) == IR_INSTRUCTION_WGMMA ? flight_problem(&flight, op->results[0])
                                                                              : NULL;
}

static const char *dot_wait_problem(const struct ir_operation *op)
{
    if (op->operand_count != op->result_count)
        return "there is a result for each operand";
    for (int i = 0; i < op->operand_count; i++)
        if (!verify_is_tile(op->operands[i]) || op->operands[i]->type != op->results[i]->type)
            return "the results have the operands' types";
    return NULL;
}

static const char *pending_problem(const struct ir_operation *op)
{
    int64_t pending = ir_number(op, IR_ATTRIBUTE_PENDING, 0);
    return pending >= 0 && pending <= MOST_PENDING ? NULL : "pending is 0 to 63";
}

/* ---- barriers and roles ---- */

static const char *barrier_problem(const struct ir_operation *op)
{
    bool named = ir_attribute(op, IR_ATTRIBUTE_BARRIER_ID), counted = ir_attribute(op, IR_ATTRIBUTE_BARRIER_WARPS);
    int64_t id = ir_number(op, IR_ATTRIBUTE_BARRIER_ID, 1), warps = ir_number(op, IR_ATTRIBUTE_BARRIER_WARPS, 1);
    if (named != counted)
        return "a barrier of some warps has an id and a count of warps";
    if (ir_attribute(op, IR_ATTRIBUTE_APART))
        return named ? "a barrier of each warpgroup has no id" : apart_problem(op);
    return id >= LEAST_BARRIER_ID && id <= MOST_BARRIER_ID && warps >= 1 && warps <= MOST_WARPS
               ? NULL
               : "the id of a barrier is 1 to 15, its warps 1 to 32";
}

static const char *mbarrier_problem(const struct ir_operation *op)
{
    if (op->results[0]->type->kind != IR_MBARRIER)
        return "the result is an mbarrier";
    if (op->block->parent)
        return "an mbarrier is defined in the function's body";
    int64_t arrivals = ir_number(op, IR_ATTRIBUTE_ARRIVALS, 0);
    return arrivals >= 1 && arrivals <= MOST_COUNT ? NULL : "an mbarrier expects 1 to 1048575 arrivals";
}

static const char *mbarrier_use_problem(const struct ir_operation *op)
{
    const char *problem = mbarrier_index_problem(op->operands[0], op->operands[1]);
    if (problem)
        return problem;
    if (op->opcode == OP_MBARRIER_WAIT && !verify_is_scalar_of(op->operands[2], IR_I32))
        return "the phase is an i32 scalar";
    if (op->opcode == OP_MBARRIER_ARRIVE && op->operand_count == 3 && !verify_is_scalar_of(op->operands[2], IR_BOOL))
        return "the condition is a bool scalar";
    problem = cluster_problem(op, IR_ATTRIBUTE_CLUSTER);
    if (problem)
        return problem;
    int64_t bytes = ir_number(op, IR_ATTRIBUTE_BYTES, 1);
    return bytes >= 1 && bytes <= MOST_COUNT ? NULL : "1 to 1048575 bytes are announced";
}

static const char *roles_problem(const struct ir_operation *op)
{
    const struct ir_attribute *warps = ir_attribute(op, IR_ATTRIBUTE_ROLE_WARPS);
    const struct ir_attribute *registers = ir_attribute(op, IR_ATTRIBUTE_ROLE_REGISTERS);
    int64_t sum = 0;
    if (op->block->parent)
        return "roles stand in the function's body alone";
    if (warps->count != op->region_count || op->region_count < 1)
        return "there is a number of warps for each region";
    for (int i = 0; i < warps->count; i++) {
        if (warps->list[i] < 1 || warps->list[i] > MOST_WARPS)
            return "a role has 1 to 32 warps";
        sum += warps->list[i];
    }
    if (sum != op->block->function->warps)
        return "the warps of all roles are those of the function";
    if (registers && registers->count != op->region_count)
        return "there is a number of registers for each region";
    for (int i = 0; registers && i < registers->count; i++)
        if (registers->list[i] < 0 || registers->list[i] > MOST_ROLE_REGISTERS)
            return "a role's registers are 0 to 256";
    for (int i = 0; i < op->region_count; i++)
        if (op->regions[i]->arguments.count)
            return "the regions of roles take nothing";
    return NULL;
}

static const char *program_problem(const struct ir_operation *op)
{
    return verify_is_integer_scalar(op->results[0]) ? NULL : "the result is an index";
}

static const char *convert_layout_problem(const struct ir_type *from, const struct ir_type *to)
{
    return from->kind == IR_TILE && ir_type_same_shape(from, to) && verify_same_element(from, to)
               ? NULL
               : "operand and result differ in more than the layout";
}

const char *verify_schedule(const struct ir_operation *op)
{
    switch (op->opcode) {
    case OP_CONVERT_LAYOUT: return convert_layout_problem(op->operands[0]->type, op->results[0]->type);
    case OP_UNDEFINED: return verify_is_tile(op->results[0]) ? NULL : "the result is a tile";
    case OP_KEEP_TF32:
        return op->operands[0]->type == op->results[0]->type && op->results[0]->type->element == IR_F32
                   ? NULL
                   : "operand and result are f32, in one layout";
    case OP_BARRIER: return barrier_problem(op);
    case OP_BUFFER: return buffer_problem(op);
    case OP_SLOT: return slot_problem(op);
    case OP_BUFFER_PERMUTE: return buffer_permute_problem(op);
    case OP_BUFFER_PART: return buffer_part_problem(op);
    case OP_BUFFER_LOAD:
    case OP_BUFFER_STORE: return buffer_access_problem(op);
    case OP_COPY_ASYNC:
    case OP_STORE_ASYNC: return token_problem(op);
    case OP_WAIT: return wait_problem(op);
    case OP_DOT_ASYNC: return dot_async_problem(op);
    case OP_DOT_WAIT: {
        const char *problem = dot_wait_problem(op);
        return problem ? problem : pending_problem(op);
    }
    case OP_TURN_START:
    case OP_TURN_TAKE:
    case OP_TURN_PASS:
    case OP_FENCE_ASYNC: return NULL;
#define VALUE_LEVEL(id) case OP_##id:
#define SCHEDULE_LEVEL(id)
#define MACHINE_LEVEL(id) case OP_##id:
#define OP(id, text, level, ...) level##_LEVEL(id)
#include "ir/ops.def"
#undef SCHEDULE_LEVEL
#undef MACHINE_LEVEL
    case OP_COUNT: break;
    }
    die("%s is no operation of the schedule level", ir_op_info[op->opcode].text);
}

const char *verify_machine(const struct ir_operation *op)
{
    switch (op->opcode) {
    case OP_ROLES: return roles_problem(op);
    case OP_CLUSTER_BARRIER:
        if (op->block->parent)
            return "cluster_barrier stands in the function's body alone";
        return op->block->function->cluster < 2 ? "the function has no cluster of 2 or more blocks" : NULL;
    case OP_MBARRIER: return mbarrier_problem(op);
    case OP_MBARRIER_WAIT:
    case OP_MBARRIER_ARRIVE:
    case OP_MBARRIER_EXPECT: return mbarrier_use_problem(op);
    case OP_TMA_LOAD:
    case OP_TMA_STORE: return tma_problem(op);
    case OP_CP_ASYNC: return copy_problem(op, 0);
    case OP_TMA_COMMIT: return apart_problem(op);
    case OP_TMA_WAIT: {
        const char *problem = apart_problem(op);
        return problem ? problem : pending_problem(op);
    }
    case OP_CP_WAIT: return pending_problem(op);
    case OP_PROGRAM:
    case OP_PROGRAM_COUNT:
    case OP_BLOCK_COUNT: return program_problem(op);
    case OP_MBARRIER_READY:
    case OP_CP_COMMIT: return NULL;
#define SCHEDULE_LEVEL(id) case OP_##id:
#define MACHINE_LEVEL(id)
#define OP(id, text, level, ...) level##_LEVEL(id)
#include "ir/ops.def"
    case OP_COUNT: break;
    }
    die("%s is no operation of the machine level", ir_op_info[op->opcode].text);
}
