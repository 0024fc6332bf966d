/* Which operand of a memory operation is what, and what operations do to memory. */
#include "base/plant.h"
#include "ir/query.h"

/* Operands behind the address: how many are named, in order other|expected, value; one more is the mask. */
static bool has_place(enum ir_opcode opcode)
{
    switch (opcode) {
    case OP_LOAD:
    case OP_STORE:
    case OP_INSIDE:
    case OP_ATOMIC:
    case OP_ATOMIC_CAS:
    case OP_COPY_ASYNC:
    case OP_STORE_ASYNC:
    case OP_TMA_LOAD:
    case OP_TMA_STORE:
    case OP_CP_ASYNC: return true;
    default: return false;
    }
}

bool ir_access_of(const struct ir_operation *operation, struct ir_access *access)
{
    struct ir_value *const *operand = operation->operands;
    *access = (struct ir_access){.view = operation->operand_count ? operand[0] : NULL};
    int next = 1;
    if (has_place(operation->opcode)) {
        const struct ir_attribute *place = ir_attribute(operation, IR_ATTRIBUTE_PLACE);
        if (!place)
            return false;
        access->rank = place->count;
        access->place = place->list;
        access->index = operand + 1;
        next += place->count;
    }
    if (next > operation->operand_count)
        return false;
    switch (operation->opcode) {
    case OP_INSIDE: return true;
    case OP_LOAD:
    case OP_POINTER_LOAD:
        if (next < operation->operand_count)
            access->other = operand[next++];
        break;
    case OP_ATOMIC_CAS:
    case OP_POINTER_CAS:
        if (next < operation->operand_count)
            access->expected = operand[next++];
        if (next < operation->operand_count)
            access->value = operand[next++];
        break;
    case OP_STORE:
    case OP_ATOMIC:
    case OP_POINTER_STORE:
    case OP_POINTER_ATOMIC:
        if (next < operation->operand_count)
            access->value = operand[next++];
        break;
    case OP_COPY_ASYNC:
    case OP_STORE_ASYNC:
    case OP_TMA_LOAD:
    case OP_TMA_STORE:
    case OP_CP_ASYNC:
        if (next < operation->operand_count)
            access->buffer = operand[next];
        return true;
    default: return false;
    }
    if (next < operation->operand_count)
        access->mask = operand[next];
    return true;
}

int ir_place_shape(const struct ir_access *access, int64_t *extent)
{
    int rank = 0;
    bool gathered = false;
    for (int d = 0; d < access->rank; d++) {
        if (access->place[d] > 0 && rank < IR_MAX_RANK) {
            extent[rank++] = access->place[d];
        } else if (access->place[d] == IR_GATHER && !gathered) {
            gathered = true;
            const struct ir_type *tile = access->index[d]->type;
            for (int i = 0; i < tile->rank && rank < IR_MAX_RANK; i++)
                extent[rank++] = tile->extent[i];
        }
    }
    return rank;
}

bool ir_uses(const struct ir_operation *operation, const struct ir_value *value)
{
    for (int i = 0; i < operation->operand_count; i++)
        if (operation->operands[i] == value)
            return true;
    for (int i = 0; i < operation->region_count; i++)
        for (const struct ir_operation *inner = operation->regions[i]->first; inner; inner = inner->next)
            if (ir_uses(inner, value))
                return true;
    return false;
}

static bool any_trait(const struct ir_operation *operation, unsigned traits)
{
    if (ir_op_info[operation->opcode].traits & traits)
        return true;
    for (int i = 0; i < operation->region_count; i++)
        for (const struct ir_operation *inner = operation->regions[i]->first; inner; inner = inner->next)
            if (any_trait(inner, traits))
                return true;
    return false;
}

bool ir_has_effect(const struct ir_operation *operation)
{
    unsigned atomic = PLANTED(dce_of_unused_atomic) ? 0 : IR_TRAIT_ATOMIC;
    return any_trait(operation, IR_TRAIT_WRITE | atomic | IR_TRAIT_SYNC | IR_TRAIT_SHARED_WRITE);
}

static bool is_made_of(const struct ir_value *value, const struct ir_operation *store, const struct ir_access *stored,
                       int depth)
{
    const struct ir_operation *op = value->definition;
    struct ir_access loaded;
    if (!op || depth == 0)
        return false;
    if ((op->opcode == OP_LOAD || op->opcode == OP_POINTER_LOAD) && ir_access_of(op, &loaded)) {
        bool same = op->block == store->block && loaded.view == stored->view && loaded.rank == stored->rank;
        for (int d = 0; d < loaded.rank && same; d++)
            same = loaded.place[d] == stored->place[d] && loaded.index[d] == stored->index[d];
        return same;
    }
    for (int i = 0; i < op->operand_count && ir_has_trait(op, IR_TRAIT_ELEMENTWISE); i++)
        if (is_made_of(op->operands[i], store, stored, depth - 1))
            return true;
    return false;
}

bool ir_updates_place(const struct ir_operation *store)
{
    enum { MOST_DEPTH = 8 };
    struct ir_access stored;
    return ir_access_of(store, &stored) && stored.value && is_made_of(stored.value, store, &stored, MOST_DEPTH);
}

bool ir_may_read(const struct ir_operation *operation) { return any_trait(operation, IR_TRAIT_READ | IR_TRAIT_ATOMIC); }

bool ir_reduce_is_ordered(const struct ir_operation *operation)
{
    if (ir_number(operation, IR_ATTRIBUTE_POSITIONS, 0))
        return false;
    return operation->opcode == OP_SCAN || ir_number(operation, IR_ATTRIBUTE_KIND, IR_REDUCE_ADD) == IR_REDUCE_REGION ||
           ir_number(operation, IR_ATTRIBUTE_FIXED, 0) != 0;
}
