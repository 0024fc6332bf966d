/* One element of a value in the checker, computed from what its operation was and what its operands were, back to
 * memory.  What is asked for twice is computed once. */
#include <string.h>

#include "ir/query.h"
#include "passes/check/check_value.h"

enum {
    FIRST_ROOM = 1 << 12,
    MOST_DEPTH = 3000,
    FEW_OPERANDS = 16,
    SKIPS = 8, /* of what is added up or compared one place in eight is looked at, */
    LOOKS = 3, /* this one: parts have the same places as the whole */
    INDEXES = 512
};

const struct check_value *check_value_operand(const struct ir_operation *op, const struct check_value *operands,
                                              const struct ir_value *value)
{
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] == value)
            return &operands[i];
    return NULL;
}

static bool is_number(const struct ir_type *type)
{
    return type->kind == IR_TILE && type->rank == 0 && (ir_is_integer(type->element) || type->element == IR_BOOL);
}

static int64_t flat_of(const struct ir_type *type, const int64_t *at)
{
    int64_t flat = 0;
    for (int d = 0; d < type->rank; d++)
        flat = flat * type->extent[d] + at[d];
    return flat;
}

static void place_flat(const struct ir_type *type, int64_t flat, int64_t *at)
{
    for (int d = type->rank - 1; d >= 0; d--) {
        at[d] = flat % type->extent[d];
        flat /= type->extent[d];
    }
}

/* ---- what is known ---- */

static struct check_known *find_known(struct check_values *values, uint64_t key)
{
    uint64_t slot = check_mix(key, 0) & (values->room - 1);
    while (values->known[slot].key && values->known[slot].key != key)
        slot = (slot + 1) & (values->room - 1);
    return &values->known[slot];
}

static void keep(struct check_values *values, uint64_t key, int64_t number)
{
    if (2 * values->count >= values->room) {
        struct check_known *old = values->known;
        uint64_t room = values->room;
        values->room = room ? 4 * room : FIRST_ROOM;
        values->known = ARENA_ARRAY(values->arena, struct check_known, values->room);
        for (uint64_t i = 0; i < room; i++)
            if (old[i].key)
                *find_known(values, old[i].key) = old[i];
    }
    struct check_known *known = find_known(values, key);
    values->count += !known->key;
    *known = (struct check_known){key, number};
}

/* ---- memory ---- */

static bool index_of(struct check *check, const struct ir_operation *op, const struct check_value *operands,
                     int operand, const int64_t *at, int64_t *index)
{
    return check_value_element(check, op->operands[operand], &operands[operand], at, index);
}

/* The element that `at` of the place is; *inside also asks the mask. */
static bool address_in_view(struct check *check, const struct ir_operation *op, const struct check_value *operands,
                            const struct ir_access *access, const int64_t *at, uint64_t *address, bool *inside)
{
    const struct check_value *held = check_value_operand(op, operands, access->view);
    const struct check_view *view = check->values->nodes.data[held->node].view;
    int next = 0, gathered = -1;
    if (!view)
        return false;
    *address = view->base;
    *inside = view->present;
    for (int d = 0; d < access->rank; d++) {
        int operand = (int)(access->index - op->operands) + d;
        int64_t index, place = access->place[d];
        if (place == IR_GATHER && gathered < 0) {
            gathered = next;
            next += op->operands[operand]->type->rank;
        }
        if (!index_of(check, op, operands, operand, at + (place == IR_GATHER ? gathered : 0), &index))
            return false;
        index += place > 0 ? at[next++] : 0;
        *inside &= index >= 0 && index < view->extent[d];
        *address += (uint64_t)index * (uint64_t)view->stride[d];
    }
    return true;
}

bool check_value_address(struct check *check, const struct ir_operation *op, const struct check_value *operands,
                         const int64_t *at, uint64_t *address, bool *inside)
{
    struct ir_access access;
    int64_t number = 1;
    ir_access_of(op, &access);
    *inside = true;
    if (access.rank || access.view->type->kind == IR_VIEW) {
        if (!address_in_view(check, op, operands, &access, at, address, inside))
            return false;
    } else {
        if (!check_value_element(check, access.view, check_value_operand(op, operands, access.view), at, &number))
            return false;
        *address = (uint64_t)number;
    }
    if (access.mask && *inside) {
        if (!check_value_element(check, access.mask, check_value_operand(op, operands, access.mask), at, &number))
            return false;
        *inside = number;
    }
    return true;
}

/* What memory holds.  Integers are small, as many are indexes; those that bound loops are what check_machine takes. */
static int64_t in_memory(struct check *check, const struct ir_operation *op, const struct ir_type *type,
                         uint64_t address)
{
    uint64_t hash = check_mix(address, 7);
    bool wide = ir_is_integer(type->element) && ir_element_info[type->element].bits >= 32;
    if (check->values->tracing) {
        struct check_leaf leaf = {address, op};
        vector_push(check->values->arena, &check->values->leaves, leaf);
    }
    if (wide && type->rank == 0 && check_loads_bound_loops(check))
        return hash & 1 ? check_loaded_extent(check) : 0;
    return wide ? (int64_t)(hash % INDEXES) : check_made(type->element, hash);
}

static bool load(struct check *check, const struct check_node *node, const struct ir_type *type, const int64_t *at,
                 int64_t *number)
{
    const struct ir_operation *op = node->op;
    struct ir_access access;
    uint64_t address;
    bool inside;
    if (!check_value_address(check, op, node->operands, at, &address, &inside))
        return false;
    ir_access_of(op, &access);
    *number = 0;
    if (inside)
        *number = in_memory(check, op, type, address);
    else if (access.other)
        return check_value_element(check, access.other, check_value_operand(op, node->operands, access.other), at,
                                   number);
    return true;
}

static bool is_inside(struct check *check, const struct check_node *node, const int64_t *at, int64_t *number)
{
    uint64_t address;
    bool inside;
    if (!check_value_address(check, node->op, node->operands, at, &address, &inside))
        return false;
    *number = inside;
    return true;
}

/* ---- buffers ---- */

/* `at` in the slot's own dimensions: the last that wrote there is asked. */
static bool held_element(struct check *check, int content, const int64_t *at, int64_t *number)
{
    struct check_values *values = check->values;
    for (; content; content = values->nodes.data[content].content) {
        const struct check_node *node = &values->nodes.data[content];
        const struct check_place *place = node->place;
        int64_t own[IR_MAX_RANK] = {0};
        bool here = true;
        for (int d = 0; d < place->rank; d++)
            here &= at[d] >= place->start[d] && at[d] < place->start[d] + place->extent[d];
        if (!here)
            continue;
        for (int d = 0; d < place->rank; d++)
            own[d] = at[node->dimension[d]] - place->start[node->dimension[d]];
        if (node->op->opcode == OP_BUFFER_STORE)
            return check_value_element(check, node->op->operands[0], &node->operands[0], own, number);
        struct ir_access access;
        ir_access_of(node->op, &access);
        return load(check, node, access.buffer->type, own, number);
    }
    return false;
}

static bool look_into_buffer(struct check *check, const struct check_node *node, const int64_t *at, int64_t *number)
{
    int64_t whole[IR_MAX_RANK] = {0};
    for (int d = 0; d < node->place->rank; d++)
        whole[node->dimension[d]] = at[d] + node->place->start[node->dimension[d]];
    return held_element(check, node->content, whole, number);
}

/* ---- operations on tiles ---- */

static bool operand(struct check *check, const struct check_node *node, int index, const int64_t *at, int64_t *number)
{
    return check_value_element(check, node->op->operands[index], &node->operands[index], at, number);
}

static int64_t first_of(int64_t extent) { return extent % SKIPS ? 0 : LOOKS; }
static int64_t step_of(int64_t extent) { return extent % SKIPS ? 1 : SKIPS; }

/* A factor counts its dimensions from the last: rows and columns of a product behind those of the batch. */
static bool multiply(struct check *check, const struct check_node *node, const int64_t *at, int64_t *number)
{
    const struct ir_operation *op = node->op;
    const struct ir_type *type = op->results[0]->type, *left = op->operands[0]->type;
    int row = type->rank - 2, column = type->rank - 1;
    int64_t x[IR_MAX_RANK], y[IR_MAX_RANK], a, b, adds = 1;
    memcpy(x, at, sizeof *x * (size_t)type->rank);
    memcpy(y, at, sizeof *y * (size_t)type->rank);
    *number = 0;
    if (op->operand_count > 3 && !operand(check, node, 3, at, &adds))
        return false;
    if (adds && !operand(check, node, 2, at, number))
        return false;
    for (int64_t k = first_of(left->extent[column]); k < left->extent[column]; k += step_of(left->extent[column])) {
        x[column] = y[row] = k;
        if (!operand(check, node, 0, x, &a) || !operand(check, node, 1, y, &b))
            return false;
        *number = check_product(type->element, a, b, *number);
    }
    return true;
}

static bool reduce(struct check *check, const struct check_node *node, const int64_t *at, int64_t *number)
{
    const struct ir_operation *op = node->op;
    const struct ir_type *type = op->operands[node->result]->type;
    enum ir_reduce_kind kind = (enum ir_reduce_kind)ir_number(op, IR_ATTRIBUTE_KIND, IR_REDUCE_ADD);
    int axis = (int)ir_number(op, IR_ATTRIBUTE_AXIS, 0);
    int64_t from[IR_MAX_RANK], next, first = first_of(type->extent[axis]);
    if (kind == IR_REDUCE_REGION)
        return false;
    for (int d = 0; d < type->rank; d++)
        from[d] = d == axis ? 0 : at[d - (d > axis)];
    for (int64_t i = first; i < type->extent[axis]; i += step_of(type->extent[axis])) {
        from[axis] = i;
        if (!operand(check, node, node->result, from, &next))
            return false;
        *number = i == first ? next : check_combine(kind, type->element, *number, next);
    }
    return true;
}

/* The sum of those in front, and the one here. */
static bool scan(struct check *check, const struct check_node *node, const int64_t *at, int64_t *number)
{
    const struct ir_operation *op = node->op;
    const struct ir_type *type = op->operands[node->result]->type;
    enum ir_reduce_kind kind = (enum ir_reduce_kind)ir_number(op, IR_ATTRIBUTE_KIND, IR_REDUCE_ADD);
    int axis = (int)ir_number(op, IR_ATTRIBUTE_AXIS, 0);
    bool reverse = ir_number(op, IR_ATTRIBUTE_REVERSE, 0), exclusive = ir_number(op, IR_ATTRIBUTE_EXCLUSIVE, 0);
    int64_t from[IR_MAX_RANK], next, last = type->extent[axis] - 1;
    int64_t count = reverse ? last - at[axis] + !exclusive : at[axis] + !exclusive;
    bool any = exclusive;
    if (kind == IR_REDUCE_REGION)
        return false;
    if (exclusive && !operand(check, node, node->result + op->result_count, at, number))
        return false;
    memcpy(from, at, sizeof from);
    for (int64_t i = 0; i < count; i++, any = true) {
        from[axis] = reverse ? last - i : i;
        if (!operand(check, node, node->result, from, &next))
            return false;
        *number = any ? check_combine(kind, type->element, *number, next) : next;
    }
    return true;
}

/* Straight code and branches; false where it loops. */
static bool run_region(const struct ir_block *block, struct check_value *own, int64_t *results)
{
    for (const struct ir_operation *op = block->first; op; op = op->next) {
        int64_t in[FEW_OPERANDS], out[FEW_OPERANDS];
        if (op->operand_count > FEW_OPERANDS || op->result_count > FEW_OPERANDS)
            return false;
        for (int i = 0; i < op->operand_count; i++)
            in[i] = own[op->operands[i]->id].number;
        if (ir_has_trait(op, IR_TRAIT_TERMINATOR)) {
            memcpy(results, in, sizeof *in * (size_t)op->operand_count);
            return true;
        }
        if (op->opcode == OP_IF && !run_region(op->regions[in[0] ? 0 : 1], own, out))
            return false;
        if (op->opcode != OP_IF && (op->region_count || !ir_has_trait(op, IR_TRAIT_PURE)))
            return false;
        for (int i = 0; i < op->result_count; i++)
            own[op->results[i]->id].number = op->opcode == OP_IF ? out[i] : check_compute(op, i, in);
    }
    return false;
}

static bool map(struct check *check, const struct check_node *node, const int64_t *in, int64_t *number)
{
    const struct ir_block *body = node->op->regions[0];
    struct check_values *values = check->values;
    int64_t results[FEW_OPERANDS];
    int count = body->function->next_value_id;
    if (values->map_room < count) { /* regions see only their own values */
        values->map_room = count;
        values->map_values = ARENA_ARRAY(values->arena, struct check_value, count);
    }
    for (int i = 0; i < body->arguments.count; i++)
        values->map_values[body->arguments.data[i]->id].number = in[i];
    if (!run_region(body, values->map_values, results))
        return false;
    *number = results[node->result];
    return true;
}

static bool elementwise(struct check *check, const struct check_node *node, const int64_t *at, int64_t *number)
{
    const struct ir_operation *op = node->op;
    int64_t in[FEW_OPERANDS];
    if (op->operand_count > FEW_OPERANDS || op->result_count > FEW_OPERANDS)
        return false;
    for (int i = 0; i < op->operand_count; i++)
        if (!operand(check, node, i, at, &in[i]))
            return false;
    if (op->opcode == OP_MAP)
        return map(check, node, in, number);
    *number = check_compute(op, node->result, in);
    return true;
}

/* Along one dimension another element, of another operand. */
static bool along(struct check *check, const struct check_node *node, const int64_t *at, int64_t *number)
{
    const struct ir_operation *op = node->op;
    int axis = (int)ir_number(op, IR_ATTRIBUTE_AXIS, 0), source = 0;
    int64_t from[IR_MAX_RANK], extent = op->operands[0]->type->extent[axis];
    memcpy(from, at, sizeof from);
    if (op->opcode == OP_FLIP) {
        from[axis] = extent - 1 - at[axis];
    } else if (op->opcode == OP_CONCATENATE) {
        for (; from[axis] >= op->operands[source]->type->extent[axis]; source++)
            from[axis] -= op->operands[source]->type->extent[axis];
    } else if (!operand(check, node, 1, at, &from[axis])) {
        return false;
    } else if (from[axis] < 0 || from[axis] >= extent) {
        *number = 0;
        return true;
    }
    return operand(check, node, source, from, number);
}

/* Another place of the only operand. */
static bool elsewhere(struct check *check, const struct check_node *node, const int64_t *at, int64_t *number)
{
    const struct ir_operation *op = node->op;
    const struct ir_type *from = op->operands[0]->type, *to = op->results[0]->type;
    const struct ir_attribute *order = ir_attribute(op, IR_ATTRIBUTE_PERMUTATION);
    const struct ir_attribute *start = ir_attribute(op, IR_ATTRIBUTE_START);
    int64_t place[IR_MAX_RANK] = {0};
    if (op->opcode == OP_RESHAPE)
        place_flat(from, flat_of(to, at), place);
    for (int d = 0; d < to->rank && op->opcode != OP_RESHAPE; d++) {
        if (op->opcode == OP_PERMUTE)
            place[order->list[d]] = at[d];
        else if (op->opcode == OP_BROADCAST)
            place[d] = from->extent[d] == 1 ? 0 : at[d];
        else
            place[d] = at[d] + (start ? start->list[d] : 0);
    }
    return operand(check, node, 0, place, number);
}

bool check_value_compute(struct check *check, const struct check_node *node, const struct ir_type *type,
                         const int64_t *at, int64_t *number)
{
    const struct ir_operation *op = node->op;
    if (node->kind == CHECK_ARGUMENT) {
        *number = check_made(type->element, check_mix((uint64_t)node->result, 11));
        return true;
    }
    if (node->kind == CHECK_HELD)
        return look_into_buffer(check, node, at, number);
    switch (op->opcode) {
    case OP_CONSTANT: *number = check_constant(op); return true;
    case OP_UNDEFINED: *number = check_made(type->element, check_mix((uint64_t)node->result, 13)); return true;
    case OP_IOTA: *number = at[0]; return true;
    case OP_VIEW_POINTER: *number = (int64_t)check->values->nodes.data[node->operands[0].node].view->base; return true;
    case OP_SPLAT: return operand(check, node, 0, at, number);
    case OP_BROADCAST:
    case OP_RESHAPE:
    case OP_PERMUTE:
    case OP_EXTRACT:
    case OP_CONVERT_LAYOUT:
    case OP_BUFFER_LOAD: return elsewhere(check, node, at, number);
    case OP_CONCATENATE:
    case OP_FLIP:
    case OP_GATHER: return along(check, node, at, number);
    case OP_REDUCE: return reduce(check, node, at, number);
    case OP_SCAN: return scan(check, node, at, number);
    case OP_DOT:
    case OP_DOT_ASYNC: return multiply(check, node, at, number);
    case OP_INSIDE: return is_inside(check, node, at, number);
    case OP_LOAD:
    case OP_POINTER_LOAD:
    case OP_ATOMIC:
    case OP_ATOMIC_CAS:
    case OP_POINTER_ATOMIC:
    case OP_POINTER_CAS: return load(check, node, type, at, number);
    case OP_PHILOX: return elementwise(check, node, at, number);
    default: return ir_has_trait(op, IR_TRAIT_ELEMENTWISE) && elementwise(check, node, at, number);
    }
}

/* Whether a number is looked up when it is asked for again: not where that takes as long as making it from one other. */
static bool is_kept(const struct check_node *node)
{
    if (node->kind == CHECK_ARGUMENT)
        return false;
    switch (node->kind == CHECK_RESULT ? node->op->opcode : OP_ADD) {
    case OP_CONSTANT:
    case OP_UNDEFINED:
    case OP_IOTA:
    case OP_LOAD:
    case OP_SPLAT:
    case OP_BROADCAST:
    case OP_RESHAPE:
    case OP_PERMUTE:
    case OP_EXTRACT:
    case OP_CONVERT_LAYOUT:
    case OP_BUFFER_LOAD:
    case OP_FLIP: return false;
    default: return true;
    }
}

bool check_value_element(struct check *check, const struct ir_value *value, const struct check_value *held,
                         const int64_t *at, int64_t *number)
{
    struct check_values *values = check->values;
    if (is_number(value->type)) {
        *number = held->number;
        return true;
    }
    if (!held->node || values->left <= 0 || values->depth >= MOST_DEPTH)
        return false;
    const struct check_node *node = &values->nodes.data[held->node]; /* none is added here */
    bool kept = is_kept(node);
    uint64_t key = kept ? ((uint64_t)held->node << 32) + (uint64_t)flat_of(value->type, at) + 1 : 0;
    if (kept && values->room) {
        const struct check_known *known = find_known(values, key);
        *number = known->number;
        if (known->key)
            return true;
    }
    values->left--;
    values->depth++;
    bool good = check_value_compute(check, node, value->type, at, number);
    values->depth--;
    if (good && kept)
        keep(values, key, *number);
    return good;
}

bool check_value_written(struct check *check, const struct check_event *event, const int64_t *at, int64_t *number)
{
    struct ir_access access;
    ir_access_of(event->op, &access);
    const struct ir_value *value = access.buffer ? access.buffer : access.value;
    int64_t none[IR_MAX_RANK] = {0};
    const struct check_value *held = value ? check_value_operand(event->op, event->operands, value) : NULL;
    return held && check_value_element(check, value, held, value->type->rank ? at : none, number);
}
