/* What can be said of index scalars without running: a power of two that divides them, and that they are not negative.  Wide
 * accesses and one-sided bounds checks stand on it.  Only facts that hold whatever the inputs are used; index arithmetic does not
 * overflow (ops.def). */
#include "targets/nvptx/lower.h"

enum { DEPTH = 12, MOST = 1 << 20 };

static int64_t low_bit(int64_t number) {
    if (number == 0) return MOST;
    uint64_t magnitude = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    uint64_t bit = magnitude & (0 - magnitude);
    return bit > MOST ? MOST : (int64_t)bit;
}

static int64_t divisor(const struct ir_value *value, int depth) {
    int64_t number;
    if (depth > DEPTH || value->type->rank > 0 || value->type->kind != IR_TILE) return 1;
    if (ir_constant_integer(value, &number)) return low_bit(number);
    const struct ir_operation *operation = value->definition;
    if (!operation) {
        /* The variable of a loop: its start and its step. */
        const struct ir_operation *loop = value->block->parent;
        if (!loop || loop->opcode != OP_FOR || value->index != 0 || ir_number(loop, IR_ATTRIBUTE_MULTIPLY, 0)) return 1;
        return int64_min(divisor(loop->operands[0], depth + 1), divisor(loop->operands[2], depth + 1));
    }
    struct ir_value *const *o = operation->operands;
    switch (operation->opcode) {
    case OP_ADD:
    case OP_SUB:
    case OP_MIN:
    case OP_MAX: return int64_min(divisor(o[0], depth + 1), divisor(o[1], depth + 1));
    case OP_SELECT: return int64_min(divisor(o[1], depth + 1), divisor(o[2], depth + 1));
    case OP_MUL: return int64_min(MOST, divisor(o[0], depth + 1) * divisor(o[1], depth + 1));
    case OP_NEG: return divisor(o[0], depth + 1);
    case OP_SHL:
        if (ir_constant_integer(o[1], &number) && number >= 0 && number < 20)
            return int64_min(MOST, divisor(o[0], depth + 1) << number);
        return divisor(o[0], depth + 1);
    case OP_CAST: /* wrapping keeps powers of two */
        return ir_is_integer(o[0]->type->element) && !ir_number(operation, IR_ATTRIBUTE_SATURATE, 0) ? divisor(o[0], depth + 1) : 1;
    case OP_AND: return int64_max(divisor(o[0], depth + 1), divisor(o[1], depth + 1));
    case OP_EXTENT: {
        const struct ir_value *view = o[0];
        int64_t d = ir_number(operation, IR_ATTRIBUTE_DIMENSION, 0);
        if (view->type->extent[d] != IR_DYNAMIC) return low_bit(view->type->extent[d]);
        const struct ir_function *function = view->block->function;
        if (view->definition || view->block->parent || view->index >= function->facts.count) return 1;
        int64_t multiple = function->facts.data[view->index].extent_multiple[d];
        return multiple > 0 ? low_bit(multiple) : 1;
    }
    default: return 1;
    }
}

int64_t fact_divisor(const struct ir_value *value) { return divisor(value, 0); }

static bool not_negative(const struct ir_value *value, int depth) {
    int64_t number;
    if (depth > DEPTH || value->type->rank > 0 || value->type->kind != IR_TILE) return false;
    enum ir_element element = value->type->element;
    if (ir_element_info[element].kind == IR_CLASS_U) return true;
    if (ir_constant_integer(value, &number)) return number >= 0;
    const struct ir_operation *operation = value->definition;
    if (!operation) {
        const struct ir_operation *loop = value->block->parent;
        if (!loop || loop->opcode != OP_FOR || value->index != 0 || ir_number(loop, IR_ATTRIBUTE_MULTIPLY, 0)) return false;
        return ir_constant_integer(loop->operands[2], &number) && number > 0 && not_negative(loop->operands[0], depth + 1);
    }
    struct ir_value *const *o = operation->operands;
    switch (operation->opcode) {
    case OP_GRID_INDEX:
    case OP_GRID_SIZE:
    case OP_EXTENT: return true;
    case OP_ADD:
    case OP_MUL: /* other integers wrap */
        return element == IR_INDEX && not_negative(o[0], depth + 1) && not_negative(o[1], depth + 1);
    case OP_DIV:
    case OP_REM: return not_negative(o[0], depth + 1) && not_negative(o[1], depth + 1);
    case OP_MIN: return not_negative(o[0], depth + 1) && not_negative(o[1], depth + 1);
    case OP_MAX: return not_negative(o[0], depth + 1) || not_negative(o[1], depth + 1);
    case OP_AND: return not_negative(o[0], depth + 1) || not_negative(o[1], depth + 1);
    case OP_SELECT: return not_negative(o[1], depth + 1) && not_negative(o[2], depth + 1);
    case OP_CAST:
        return ir_is_integer(o[0]->type->element) && ir_element_info[element].bits >= ir_element_info[o[0]->type->element].bits &&
               not_negative(o[0], depth + 1);
    default: return false;
    }
}

bool fact_not_negative(const struct ir_value *value) { return not_negative(value, 0); }
