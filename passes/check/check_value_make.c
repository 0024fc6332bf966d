/* Notes what each operation gave while the checker runs: a node for each tile and view, a number for each integer, what
 * each slot of a buffer holds, and what is written to memory. */
#include <string.h>

#include "ir/query.h"
#include "passes/check/check_value.h"

enum { MOST_NODES = 400000, FAR_APART = 44, STRIDE_BITS = 12, NARROW_STRIDE_BITS = 8 };

static int add_node(struct check_values *values, struct check_node node)
{
    if (values->nodes.count >= MOST_NODES) {
        values->lost = true;
        return 0;
    }
    vector_push(values->arena, &values->nodes, node);
    return values->nodes.count - 1;
}

/* ---- buffers ---- */

static struct check_content *content_of(struct check_values *values, const struct check_place *place)
{
    for (int i = 0; i < values->contents.count; i++)
        if (values->contents.data[i].object == place->object && values->contents.data[i].slot == place->slot)
            return &values->contents.data[i];
    struct check_content content = {.object = place->object, .slot = place->slot};
    vector_push(values->arena, &values->contents, content);
    return &values->contents.data[values->contents.count - 1];
}

static struct check_node buffer_node(struct check *check, const struct check_agent *agent, enum check_node_kind kind,
                                     const struct ir_operation *op, const struct ir_value *buffer)
{
    struct check_values *values = check->values;
    struct check_place *place = ARENA_NEW(values->arena, struct check_place);
    int *dimension = ARENA_ARRAY(values->arena, int, LAYOUT_RANK);
    memset(dimension, 0, sizeof *dimension * LAYOUT_RANK);
    check_place_of(agent, buffer, place, dimension);
    return (struct check_node){
        .kind = kind, .op = op, .place = place, .dimension = dimension, .content = content_of(values, place)->node};
}

/* Operands as they are now; a buffer that is read is what it holds. */
static struct check_value *hold(struct check *check, const struct check_agent *agent, const struct ir_operation *op)
{
    struct check_value *operands = ARENA_ARRAY(check->values->arena, struct check_value, op->operand_count + 1);
    bool reads = op->opcode == OP_BUFFER_LOAD || op->opcode == OP_DOT_ASYNC || op->opcode == OP_TMA_STORE ||
                 op->opcode == OP_STORE_ASYNC;
    for (int i = 0; i < op->operand_count; i++) {
        operands[i] = agent->values[op->operands[i]->id];
        if (reads && op->operands[i]->type->kind == IR_BUFFER)
            operands[i].node = add_node(check->values, buffer_node(check, agent, CHECK_HELD, op, op->operands[i]));
    }
    return operands;
}

/* What a write covers is forgotten. */
static void write_buffer(struct check *check, struct check_agent *agent, const struct ir_operation *op,
                         const struct ir_value *buffer)
{
    struct check_node node = buffer_node(check, agent, CHECK_WRITTEN, op, buffer);
    const struct ir_type *type = node.place->object->results[0]->type;
    bool whole = true;
    for (int d = 0; d < type->rank; d++)
        whole &= node.place->extent[d] == type->extent[d];
    node.operands = hold(check, agent, op);
    if (whole)
        node.content = 0;
    int made = add_node(check->values, node);
    content_of(check->values, node.place)->node = made;
}

/* ---- views ---- */

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

static void take_part(const struct ir_operation *op, const struct check_value *operands, const struct check_view *from,
                      struct check_view *to)
{
    int64_t drop = ir_number(op, IR_ATTRIBUTE_DROP, 0);
    int kept = 0;
    for (int d = 0; d < op->operands[0]->type->rank; d++) {
        int64_t start = operands[1 + 2 * d].number, stop = operands[2 + 2 * d].number;
        if (drop >> d & 1) {
            to->present &= start >= 0 && start < from->extent[d];
        } else {
            start = clamp(start, 0, from->extent[d]);
            to->extent[kept] = clamp(stop, start, from->extent[d]) - start;
            to->stride[kept++] = from->stride[d];
        }
        to->base += (uint64_t)start * (uint64_t)from->stride[d];
    }
}

static const struct check_view *make_view(struct check *check, const struct ir_operation *op,
                                          const struct check_value *operands)
{
    static const int64_t none[IR_MAX_RANK];
    const struct check_view *from = check->values->nodes.data[operands[0].node].view;
    struct check_view *to = ARENA_NEW(check->values->arena, struct check_view);
    int64_t base;
    int rank = op->results[0]->type->rank;
    *to = (struct check_view){.present = true};
    if (from)
        *to = (struct check_view){.present = from->present, .base = from->base};
    if (op->opcode == OP_MAKE_VIEW) {
        if (!from && !check_value_element(check, op->operands[0], &operands[0], none, &base))
            return NULL;
        to->base = from ? from->base : (uint64_t)base;
        for (int d = 0; d < rank; d++) {
            to->extent[d] = operands[1 + d].number;
            to->stride[d] = operands[1 + rank + d].number;
        }
        return to;
    }
    if (!from)
        return NULL;
    if (op->opcode == OP_SUBVIEW) {
        take_part(op, operands, from, to);
        return to;
    }
    const struct ir_attribute *order = ir_attribute(op, IR_ATTRIBUTE_PERMUTATION);
    for (int d = 0; d < rank; d++) {
        to->extent[d] = from->extent[order->list[d]];
        to->stride[d] = from->stride[order->list[d]];
    }
    return to;
}

/* Strides that only the launch knows keep rows apart. */
static const struct check_view *view_of_argument(struct check *check, const struct check_agent *body,
                                                 const struct ir_value *argument)
{
    struct check_view *view = ARENA_NEW(check->values->arena, struct check_view);
    const struct ir_type *type = argument->type;
    int bits = type->rank > 4 ? NARROW_STRIDE_BITS : STRIDE_BITS, last = type->rank - 1;
    last += type->rank && type->stride[last] == IR_DYNAMIC;
    *view = (struct check_view){.base = (uint64_t)(argument->index + 1) << FAR_APART,
                                .present = !type->optional || check->scenario.scalar & 1};
    for (int d = 0; d < type->rank; d++) {
        view->extent[d] = check_extent_of(check, body, argument, d);
        view->stride[d] = type->stride[d] == IR_DYNAMIC ? INT64_C(1) << bits * (last - d) : type->stride[d];
    }
    return view;
}

void check_value_arguments(struct check *check, struct check_agent *body)
{
    for (int i = 0; i < check->function->body->arguments.count; i++) {
        const struct ir_value *argument = check->function->body->arguments.data[i];
        struct check_node node = {.kind = CHECK_ARGUMENT, .result = i};
        if (argument->type->kind == IR_VIEW)
            node.view = view_of_argument(check, body, argument);
        body->values[argument->id].node = add_node(check->values, node);
    }
}

/* ---- results ---- */

static bool is_number(const struct ir_type *type)
{
    return type->kind == IR_TILE && type->rank == 0 && (ir_is_integer(type->element) || type->element == IR_BOOL);
}

static bool needs_numbers_alone(const struct ir_operation *op)
{
    for (int i = 0; i < op->operand_count; i++)
        if (!is_number(op->operands[i]->type))
            return false;
    return !op->region_count && !ir_has_trait(op, IR_TRAIT_READ | IR_TRAIT_ATOMIC);
}

/* An integer steers what follows: it is computed at once, also where it comes from a tile. */
static int64_t number_now(struct check *check, struct check_agent *agent, const struct ir_operation *op, int result,
                          const struct check_value *operands)
{
    static const int64_t none[IR_MAX_RANK];
    struct check_values *values = check->values;
    int64_t dimension = ir_number(op, IR_ATTRIBUTE_DIMENSION, 0), number = 0;
    const struct check_view *view = op->operand_count ? values->nodes.data[operands[0].node].view : NULL;
    if (op->opcode == OP_EXTENT && view)
        return view->extent[dimension];
    if (op->opcode == OP_STRIDE && view)
        return view->stride[dimension];
    if (op->opcode == OP_PRESENT && view)
        return view->present;
    if (needs_numbers_alone(op))
        return check_evaluate(check, agent, op, result);
    struct check_node node = {.kind = CHECK_RESULT, .op = op, .result = result, .operands = operands};
    values->lost |= !check_value_compute(check, &node, op->results[result]->type, none, &number);
    return number;
}

static void give(struct check *check, struct check_agent *agent, const struct ir_operation *op)
{
    struct check_value *operands = hold(check, agent, op);
    const struct check_view *view = NULL;
    for (int i = 0; i < op->result_count; i++) {
        const struct ir_type *type = op->results[i]->type;
        struct check_value *value = &agent->values[op->results[i]->id];
        if (is_number(type)) {
            *value = (struct check_value){.number = number_now(check, agent, op, i, operands)};
            continue;
        }
        if (type->kind == IR_VIEW)
            view = make_view(check, op, operands);
        struct check_node node = {.kind = CHECK_RESULT, .op = op, .result = i, .operands = operands, .view = view};
        if (op->opcode == OP_UNDEFINED) /* each another value */
            node.result = check->values->nodes.count;
        int product = op->opcode == OP_DOT_ASYNC ? value->product : 0;
        *value = (struct check_value){.product = product, .node = add_node(check->values, node)};
    }
}

void check_value_step(struct check *check, struct check_agent *agent, const struct ir_operation *op)
{
    struct ir_access access;
    switch (op->opcode) {
    case OP_BUFFER:
    case OP_MBARRIER:
    case OP_SLOT:
    case OP_BUFFER_PERMUTE:
    case OP_BUFFER_PART:
    case OP_DOT_WAIT: return; /* performed */
    case OP_BUFFER_STORE: write_buffer(check, agent, op, op->operands[1]); return;
    case OP_COPY_ASYNC:
    case OP_CP_ASYNC:
    case OP_TMA_LOAD:
        ir_access_of(op, &access);
        write_buffer(check, agent, op, access.buffer);
        return;
    default: break;
    }
    bool writes = ir_has_trait(op, IR_TRAIT_WRITE | IR_TRAIT_ATOMIC) && op->opcode != OP_ASSUME;
    if (writes && ir_access_of(op, &access)) {
        struct check_event event = {.op = op, .operands = hold(check, agent, op), .run = check->values->run};
        vector_push(check->values->arena, check->values->events, event);
    }
    if (op->opcode != OP_STORE_ASYNC)
        give(check, agent, op);
}
