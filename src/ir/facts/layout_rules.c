/* The rules between layouts of operands and results, and how to bring a value into another layout.  See
 * layout_rules.h. */
#include "ir/facts/layout_rules.h"

#include "ir/facts/scratch.h"
#include "ir/query.h"

enum { CHEAP_OPERATIONS = 12, WIDEST_MOVE = 16, LEAST_MOVE = 4 /* bytes of a thread's copy, at once */ };

static void int_extents(const struct ir_type *type, int *extent)
{
    for (int d = 0; d < type->rank; d++)
        extent[d] = (int)type->extent[d];
}

static bool is_replicated(const struct layout *layout)
{
    for (int input = LAYOUT_LANE; input <= LAYOUT_BLOCK; input++)
        for (int bit = 0; bit < layout->bits[input]; bit++)
            if (layout->column[input][bit])
                return false;
    return layout->warp_dimension < 0;
}

struct ir_value *layout_rule_tile(const struct ir_operation *op)
{
    struct ir_access access;
    if (op->region_count && !ir_is_isolated(op)) /* loops and branches pass on tiles of any shapes */
        return NULL;
    for (int i = 0; i < op->result_count; i++)
        if (layout_rule_has(op->results[i]))
            return op->results[i];
    if (op->result_count == 0 && ir_access_of(op, &access) && access.value && layout_rule_has(access.value))
        return access.value;
    if (op->opcode == OP_ASM_EFFECT && op->operand_count && layout_rule_has(op->operands[0]))
        return op->operands[0];
    return NULL;
}

/* First dimension of the tile that an index tile stands for. */
static int gather_dimension(const struct ir_operation *op)
{
    const struct ir_attribute *place = ir_attribute(op, IR_ATTRIBUTE_PLACE);
    int tile = 0;
    for (int d = 0; d < place->count && place->list[d] != IR_GATHER; d++)
        tile += place->list[d] > 0;
    return tile;
}

static bool is_index_tile(const struct ir_operation *op, int index)
{
    const struct ir_attribute *place = ir_attribute(op, IR_ATTRIBUTE_PLACE);
    return place && index >= 1 && index <= place->count;
}

/* The layout of parts along a dimension that lie in registers of their own; NULL: there is none. */
static const struct layout *part_of(struct layout_table *table, const struct layout *layout, int dimension,
                                    int64_t extent)
{
    int64_t factor = layout->extent[dimension] / extent;
    if (factor * extent != layout->extent[dimension])
        return NULL;
    return factor == 1 ? layout : layout_shrink(table, layout, dimension, (int)factor);
}

const struct layout *layout_rule_operand(struct layout_table *table, const struct ir_operation *op, int index,
                                         const struct layout *layout, bool *possible)
{
    const struct ir_type *type = op->operands[index]->type;
    const struct layout *result = NULL;
    int extent[LAYOUT_RANK], order[LAYOUT_RANK];
    *possible = true;
    int_extents(type, extent);
    switch (op->opcode) {
    case OP_BROADCAST: result = layout_broadcast_source(table, layout, extent); break;
    case OP_PERMUTE: {
        const struct ir_attribute *permutation = ir_attribute(op, IR_ATTRIBUTE_PERMUTATION);
        for (int d = 0; d < type->rank; d++)
            order[permutation->list[d]] = d;
        result = layout_permute(table, layout, order);
        break;
    }
    case OP_RESHAPE:
        result = is_replicated(layout) ? layout_replicated(table, type->rank, extent, layout_warps(layout))
                                       : layout_reshape(table, layout, type->rank, extent);
        break;
    case OP_EXTRACT: result = layout_extend(table, layout, extent); break;
    case OP_CONCATENATE: {
        int axis = (int)ir_number(op, IR_ATTRIBUTE_AXIS, 0);
        return part_of(table, layout, axis, type->extent[axis]);
    }
    case OP_GATHER: return index ? layout : NULL;
    case OP_REDUCE:
    case OP_SORT:
    case OP_HISTOGRAM: return NULL;
    case OP_DOT: return index == 2 ? layout : NULL;
    default:
        if (!is_index_tile(op, index))
            return layout;
        result = layout;
        for (int d = layout->rank - 1; d >= 0; d--) {
            int first = gather_dimension(op);
            if (d < first || d >= first + type->rank)
                result = layout_remove_dimension(table, result, d);
        }
        return result;
    }
    *possible = result != NULL;
    return result;
}

const struct layout *layout_rule_result(struct layout_table *table, const struct ir_operation *op,
                                        const struct layout *layout)
{
    const struct ir_type *type = op->results[0]->type;
    int extent[LAYOUT_RANK], order[LAYOUT_RANK];
    int_extents(type, extent);
    switch (op->opcode) {
    case OP_REDUCE: return layout_remove_dimension(table, layout, (int)ir_number(op, IR_ATTRIBUTE_AXIS, 0));
    case OP_PERMUTE:
        for (int d = 0; d < type->rank; d++)
            order[d] = (int)ir_attribute(op, IR_ATTRIBUTE_PERMUTATION)->list[d];
        return layout_permute(table, layout, order);
    case OP_RESHAPE:
        return is_replicated(layout) ? layout_replicated(table, type->rank, extent, layout_warps(layout))
                                     : layout_reshape(table, layout, type->rank, extent);
    case OP_EXTRACT:
        for (int d = 0; d < type->rank && layout; d++)
            layout = part_of(table, layout, d, extent[d]);
        return layout;
    case OP_CONCATENATE:
        for (int i = 1; i < op->operand_count; i++)
            if (!ir_type_same_shape(op->operands[i]->type, op->operands[0]->type))
                return NULL;
        return layout_extend(table, layout, extent);
    default: return NULL;
    }
}

/* Bit of the axis that a step folds; 0: it folds several. */
static int step_weight(const struct layout *layout, int axis, const struct layout_step *step)
{
    int coordinates[LAYOUT_RANK];
    struct layout_position position = {{0}};
    for (int input = 0; input < LAYOUT_INPUTS; input++)
        position.part[input] = step->part[input];
    layout_coordinates(layout, &position, coordinates);
    return is_power_of_two(coordinates[axis]) ? coordinates[axis] : 0;
}

/* A region's operator is associative alone: warps are folded at once, so nothing else may lie between their bits, nor
 * between them and the groups of warps, which are folded with them. */
static bool keeps_order(const struct layout *layout, int axis, const struct layout_reduction *reduction)
{
    int least = INT32_MAX, most = 0;
    for (int i = 0; i < reduction->warp_steps; i++) {
        int weight = step_weight(layout, axis, &reduction->warp_step[i]);
        least = weight < least ? weight : least;
        most = weight > most ? weight : most;
    }
    bool right = reduction->warp_steps == 0 || least > 0;
    for (int i = 0; i < reduction->lane_steps + reduction->register_steps; i++) {
        int lanes = reduction->lane_steps;
        const struct layout_step *step = i < lanes ? &reduction->lane_step[i] : &reduction->register_step[i - lanes];
        int weight = step_weight(layout, axis, step);
        right &= weight > 0 && !(weight > least && (weight < most || reduction->group_repeats > 1));
    }
    return right;
}

bool layout_rule_reduces(const struct ir_operation *op, const struct layout *layout)
{
    struct layout_reduction reduction;
    int axis = (int)ir_number(op, IR_ATTRIBUTE_AXIS, 0);
    layout_reduction(layout, axis, &reduction);
    bool ordered = ir_reduce_is_ordered(op);
    return reduction.plain && (!ordered || keeps_order(layout, axis, &reduction));
}

double layout_rule_reduce_cost(const struct ir_operation *op, const struct layout *layout)
{
    struct layout_reduction reduction;
    int axis = (int)ir_number(op, IR_ATTRIBUTE_AXIS, 0), lowest_lane = INT32_MAX, live;
    if (!layout_rule_reduces(op, layout))
        return 1e9;
    layout_reduction(layout, axis, &reduction);
    bool ordered = ir_reduce_is_ordered(op);
    int registers = layout_registers(layout);
    int results = (registers >> reduction.register_steps) / reduction.register_repeats;
    for (int i = 0; i < reduction.lane_steps; i++) {
        int weight = step_weight(layout, axis, &reduction.lane_step[i]);
        lowest_lane = weight < lowest_lane ? weight : lowest_lane;
    }
    live = ordered ? registers : results; /* in order, registers above a lane's bit are folded after it */
    for (int i = 0; ordered && i < reduction.register_steps; i++)
        if (step_weight(layout, axis, &reduction.register_step[i]) < lowest_lane)
            live /= 2;
    if (op->opcode == OP_SCAN) { /* up and down again; of little weight beside memory, which waits meanwhile */
        struct scratch_crossing crossing;
        scratch_reduction(layout, axis, true, &crossing);
        double work = 3.0 * registers + 5.0 * reduction.lane_steps * live;
        if (reduction.partials > 1)
            work += 3.0 * reduction.partials * crossing.live;
        return 0.4 * op->result_count * work + (reduction.partials > 1 ? 30.0 : 0.0);
    }
    double cost = registers + 4.0 * op->result_count * reduction.lane_steps * live;
    if (reduction.partials > 1)
        cost += 60.0 + (4.0 + reduction.partials) * live * op->result_count;
    return cost;
}

bool layout_rule_same(const struct ir_operation *op, int index)
{
    struct ir_access access;
    if (ir_has_trait(op, IR_TRAIT_ELEMENTWISE) || op->opcode == OP_PHILOX)
        return true;
    if (op->opcode == OP_FLIP || op->opcode == OP_ASM_EFFECT)
        return true;
    if (op->opcode == OP_GATHER)
        return index >= 1;
    if (op->opcode == OP_DOT)
        return index >= 2;
    if (op->opcode == OP_REDUCE)
        return index < op->operand_count;
    if (op->opcode == OP_SCAN) /* the scalars behind the tiles have no layout */
        return true;
    if (ir_access_of(op, &access) && op->result_count && (ir_op_info[op->opcode].traits & IR_TRAIT_ATOMIC))
        return !is_index_tile(op, index) && index > 0;
    return false;
}

/* ---- making again ---- */

static bool is_light(const struct ir_operation *op)
{
    enum ir_element element = op->results[0]->type->element;
    switch (op->opcode) {
    case OP_CONSTANT:
    case OP_IOTA:
    case OP_SPLAT:
    case OP_BROADCAST:
    case OP_RESHAPE:
    case OP_PERMUTE:
    case OP_CAST:
    case OP_BITCAST:
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_NEG:
    case OP_MIN:
    case OP_MAX:
    case OP_AND:
    case OP_OR:
    case OP_XOR:
    case OP_NOT:
    case OP_SHL:
    case OP_SHR:
    case OP_COMPARE:
    case OP_SELECT:
    case OP_POINTER_ADD: return true;
    case OP_REM:
    case OP_DIV: return !ir_is_float(element) && op->operands[1]->definition && ir_is_constant(op->operands[1]);
    case OP_INSIDE: return true;
    default: return false;
    }
}

/* Operations to make it again; more than the limit when it is not cheap. */
static int operations_of(const struct ir_value *value, int limit)
{
    int count = 1;
    if (!value->definition || !is_light(value->definition))
        return limit + 1;
    for (int i = 0; i < value->definition->operand_count && count <= limit; i++)
        if (layout_rule_has(value->definition->operands[i]))
            count += operations_of(value->definition->operands[i], limit - count);
    return count;
}

bool layout_rule_cheap(const struct ir_value *value)
{
    return operations_of(value, CHEAP_OPERATIONS) <= CHEAP_OPERATIONS;
}

static bool can_make(struct layout_table *table, const struct ir_value *value, const struct layout *layout)
{
    const struct ir_operation *op = value->definition;
    for (int i = 0; i < op->operand_count; i++)
        if (layout_rule_has(op->operands[i])) {
            bool possible;
            const struct layout *wanted = layout_rule_operand(table, op, i, layout, &possible);
            if (!wanted || !can_make(table, op->operands[i], wanted))
                return false;
        }
    return true;
}

static const struct ir_type *with_layout(const struct layout_adapter *adapter, const struct ir_type *type,
                                         const struct layout *layout)
{
    return ir_type_with_layout(adapter->module->context, type, layout);
}

static struct ir_value *make_again(const struct layout_adapter *adapter, struct ir_builder *builder,
                                   struct ir_value *value, const struct layout *layout)
{
    const struct ir_operation *op = value->definition;
    const struct ir_type *type = with_layout(adapter, value->type, layout);
    struct ir_value **operands = ARENA_ARRAY(adapter->arena, struct ir_value *, op->operand_count + 1);
    bool possible;
    for (int i = 0; i < op->operand_count; i++) {
        operands[i] = op->operands[i];
        if (layout_rule_has(operands[i]))
            operands[i] = make_again(adapter, builder, operands[i],
                                     layout_rule_operand(adapter->table, op, i, layout, &possible));
    }
    struct location at = builder->at;
    builder->at = op->at;
    struct ir_operation *copy = ir_build(builder, op->opcode, op->operand_count, operands, 1, &type);
    builder->at = at;
    copy->results[0]->name = value->name;
    struct ir_attribute **link = &copy->attributes;
    for (const struct ir_attribute *attribute = op->attributes; attribute; attribute = attribute->next) {
        *link = arena_copy(adapter->module->arena, attribute, sizeof *attribute);
        link = &(*link)->next;
    }
    *link = NULL;
    return copy->results[0];
}

static struct ir_value *convert_behind(const struct layout_adapter *adapter, struct ir_value *value,
                                       const struct layout *layout)
{
    const struct ir_type *type = with_layout(adapter, value->type, layout);
    struct ir_operation *behind = value->definition ? value->definition->next : value->block->first;
    for (struct ir_operation *old = behind; old && old->opcode == OP_CONVERT_LAYOUT; old = old->next)
        if (old->operands[0] == value && old->results[0]->type == type)
            return old->results[0];
    struct ir_builder builder = {.module = adapter->module, .block = value->block};
    builder.before = behind;
    builder.at = value->definition ? value->definition->at : (struct location){0};
    struct ir_value *converted = ir_build_value(&builder, OP_CONVERT_LAYOUT, type, 1, &value);
    converted->name = value->name;
    return converted;
}

struct ir_value *layout_adapt(const struct layout_adapter *adapter, struct ir_builder *builder, struct ir_value *value,
                              const struct layout *layout)
{
    if (!layout_rule_has(value) || !layout || value->type->layout == layout)
        return value;
    if (layout_rule_cheap(value)) {
        if (can_make(adapter->table, value, layout))
            return make_again(adapter, builder, value, layout);
        if (!value->type->layout) { /* an odd reshape: made in every thread, then spread */
            int extent[LAYOUT_RANK];
            int_extents(value->type, extent);
            value = make_again(adapter, builder, value,
                               layout_replicated(adapter->table, value->type->rank, extent, adapter->warps));
        }
    }
    return convert_behind(adapter, value, layout);
}

/* ---- copies ---- */

/* The tile dimension along which neighbours of the view lie together; the last one where there is none. */
static int copied_rows(const struct ir_access *access, const struct ir_type *buffer)
{
    int tile = 0, found = buffer->rank - 1;
    bool gathered = false;
    for (int d = 0; d < access->rank; d++) {
        if (access->place[d] == IR_GATHER) {
            tile += gathered ? 0 : access->index[d]->type->rank;
            gathered = true;
        } else if (access->place[d] > 0) {
            if (access->view->type->stride[d] == 1)
                found = tile;
            tile++;
        }
    }
    return found;
}

/* The dimension of what lies side by side, then the others from the last. */
static void order_of_copy(const struct ir_access *access, const struct ir_type *buffer, int *extent, int *order)
{
    int next = 0;
    int_extents(buffer, extent);
    order[next++] = copied_rows(access, buffer);
    for (int d = buffer->rank - 1; d >= 0; d--)
        if (d != order[0])
            order[next++] = d;
}

const struct layout *layout_rule_copy_by(struct layout_table *table, const struct ir_access *access,
                                         const struct ir_type *buffer, int vector, int warps)
{
    int extent[LAYOUT_RANK], order[LAYOUT_RANK];
    order_of_copy(access, buffer, extent, order);
    return layout_blocked_by(table, buffer->rank, extent, order, vector, NULL, order, warps);
}

const struct layout *layout_rule_copy(struct layout_table *table, const struct ir_access *access,
                                      const struct ir_type *buffer, int warps)
{
    int extent[LAYOUT_RANK], order[LAYOUT_RANK];
    order_of_copy(access, buffer, extent, order);
    int bytes = ir_element_info[buffer->element].bits / 8, vector = bytes < WIDEST_MOVE ? WIDEST_MOVE / bytes : 1;
    if (ir_type_elements(buffer) * bytes < (int64_t)LEAST_MOVE * 32 * warps && extent[order[0]] % vector == 0)
        return layout_blocked(table, buffer->rank, extent, order, vector, warps); /* by some of the threads */
    return layout_blocked_default(table, buffer->rank, extent, order, bytes, warps);
}

const struct layout *layout_rule_copy_index(struct layout_table *table, const struct ir_access *access,
                                            const struct layout *copy)
{
    int first = 0, rank = 0;
    for (int d = 0; d < access->rank && !rank; d++)
        if (access->place[d] == IR_GATHER)
            rank = access->index[d]->type->rank;
        else
            first += access->place[d] > 0;
    for (int d = copy->rank - 1; d >= 0; d--)
        if (d < first || d >= first + rank)
            copy = layout_remove_dimension(table, copy, d);
    return copy;
}
