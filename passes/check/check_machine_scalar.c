/* Scalars in the checker.  Integers are computed as programs compute them.  Values that the checker does not compute
 * (floats, loads) get a number that depends only on what the value is made of; two roles that compute the same value
 * therefore get the same number. */
#include "ir/query.h"
#include "passes/check/check_machine.h"

enum { MOST_NUMBER = 1 << 30, LEAST_TILE = 16 };

int64_t check_cut(enum ir_element element, int64_t value)
{
    bool number = ir_is_integer(element) || element == IR_BOOL;
    return number ? ir_bits_to_int(element, ir_int_to_bits(element, value)) : value;
}

/* A small number, 0 to 7. */
static int64_t made_up(const struct check_agent *agent, const struct ir_operation *op, int result)
{
    uint64_t hash = (uint64_t)op->opcode * 31 + (uint64_t)result;
    for (int i = 0; i < op->operand_count; i++)
        hash = (hash ^ (uint64_t)check_number(agent, op->operands[i])) * UINT64_C(0x9E3779B97F4A7C15) + 1;
    hash >>= 61;
    return (int64_t)(op->results[result]->type->element == IR_BOOL ? hash & 1 : hash);
}

/* A number read from memory may bound a loop: 0, or as much as an extent, so that rings go round. */
static int64_t loaded(const struct check *check, const struct check_agent *agent, const struct ir_operation *op,
                      int result)
{
    enum ir_element element = op->results[result]->type->element;
    int64_t number = made_up(agent, op, result);
    if (!ir_is_integer(element) || ir_element_info[element].bits < 32)
        return number;
    return (number ^ check->scenario.scalar) & 1 ? check_loaded_extent(check) : 0;
}

/* ---- what the launch knows ---- */

/* Of extents of a class that the grid is made of; 0: it is of none.  Where values are compared the grid has a few
 * programs in each dimension, the last of which is not whole; where blocks walk over an ordered grid, one takes them all. */
static int64_t grid_extent(const struct check *check, int class)
{
    const struct ir_function *function = check->function;
    int64_t step = 0;
    for (int d = 0; d < function->grid_rank && class; d++)
        if (function->grid_class[d] == class && function->grid_step[d] > step)
            step = function->grid_step[d];
    if (step && step <= MOST_NUMBER && !check->values && ir_walks_in_order(function))
        return step * check->scenario.programs;
    if (!step || !check->values || step > MOST_NUMBER)
        return step ? check->scenario.grid_extent : 0;
    return step < LEAST_TILE ? 2 * step : step * check->scenario.grid_extent + step / 4;
}

/* Extents of one class are equal, and multiples of what is known to divide them. */
static int64_t extent_of_argument(const struct check *check, const struct ir_value *view, int64_t dimension)
{
    const struct ir_function *function = check->function;
    if (view->type->extent[dimension] != IR_DYNAMIC)
        return view->type->extent[dimension];
    if (view->index >= function->facts.count)
        return check_extent(check, view->index, dimension);
    const struct ir_argument_fact *fact = &function->facts.data[view->index];
    int64_t extent = grid_extent(check, fact->extent_class[dimension]);
    if (!extent)
        extent = check_extent(check, view->index, dimension);
    int64_t multiple = fact->extent_multiple[dimension];
    return multiple > 1 && multiple < MOST_NUMBER ? (extent + multiple - 1) / multiple * multiple : extent;
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

int64_t check_extent_of(const struct check *check, const struct check_agent *agent, const struct ir_value *view,
                        int64_t dimension)
{
    const struct ir_operation *op = view->definition;
    if (view->type->extent[dimension] != IR_DYNAMIC)
        return view->type->extent[dimension];
    if (!op)
        return view->block->parent ? check->scenario.other_extent : extent_of_argument(check, view, dimension);
    if (op->opcode == OP_VIEW_PERMUTE)
        return check_extent_of(check, agent, op->operands[0],
                               ir_attribute(op, IR_ATTRIBUTE_PERMUTATION)->list[dimension]);
    if (op->opcode != OP_SUBVIEW)
        return check->scenario.other_extent;
    int64_t drop = ir_number(op, IR_ATTRIBUTE_DROP, 0), kept = 0;
    for (int d = 0; d < op->operands[0]->type->rank; d++) {
        if (drop >> d & 1 || kept++ != dimension)
            continue;
        int64_t whole = check_extent_of(check, agent, op->operands[0], d);
        int64_t start = clamp(check_number(agent, op->operands[1 + 2 * d]), 0, whole);
        return clamp(check_number(agent, op->operands[2 + 2 * d]), start, whole) - start;
    }
    return check->scenario.other_extent;
}

void check_choose_grid(struct check *check)
{
    const struct ir_function *function = check->function;
    check->program_count = 1;
    for (int d = 0; d < function->grid_rank; d++) {
        int64_t step = function->grid_step[d], count = check->values ? 2 : 3;
        if (function->grid_class[d] && step > 0 && step < MOST_NUMBER)
            count = ceiling_divide(grid_extent(check, function->grid_class[d]), step);
        if (function->grid_limit[d] > 0 && count > function->grid_limit[d])
            count = function->grid_limit[d];
        check->grid[d] = count < 1 ? 1 : count;
        check->program_count = int64_min(check->program_count * check->grid[d], MOST_NUMBER);
    }
    check->block_count = check->program_count / check->scenario.programs;
    if (check->block_count < 1)
        check->block_count = 1;
    if (function->cluster > 1)
        check->block_count = ceiling_divide(check->block_count, function->cluster) * function->cluster;
    check->block = check->block_count - 1;
    for (int d = 0; d < function->grid_rank; d++)
        check->place[d] = (check->grid[d] - 1) * check->scenario.quarter / 4;
}

void check_choose_block(struct check *check, int64_t block)
{
    check->block = block;
    for (int d = 0; d < check->function->grid_rank; d++) {
        check->place[d] = block % check->grid[d];
        block /= check->grid[d];
    }
}

/* ---- arithmetic ---- */

static int64_t divide(enum ir_element element, int64_t a, int64_t b, bool rest)
{
    if (b == 0)
        return rest ? a : 0;
    if (element == IR_U64)
        return (int64_t)(rest ? (uint64_t)a % (uint64_t)b : (uint64_t)a / (uint64_t)b);
    if (b == -1)
        return rest ? 0 : (int64_t)(0 - (uint64_t)a);
    return rest ? a % b : a / b;
}

static bool compare(enum ir_element element, int64_t predicate, int64_t a, int64_t b)
{
    bool less = element == IR_U64 ? (uint64_t)a < (uint64_t)b : a < b;
    switch (predicate) {
    case IR_PREDICATE_EQ: return a == b;
    case IR_PREDICATE_NE: return a != b;
    case IR_PREDICATE_LT: return less;
    case IR_PREDICATE_LE: return less || a == b;
    case IR_PREDICATE_GT: return !less && a != b;
    default: return !less;
    }
}

static int64_t shift(const struct ir_operation *op, int64_t a, int64_t by)
{
    enum ir_element element = op->results[0]->type->element;
    bool out = by < 0 || by >= ir_element_info[element].bits;
    if (op->opcode == OP_SHL)
        return out ? 0 : (int64_t)((uint64_t)a << by);
    if (!ir_is_signed(element))
        return out ? 0 : (int64_t)((uint64_t)a >> by);
    return a >> (out ? 63 : by);
}

bool check_arithmetic(const struct ir_operation *op, const int64_t *operands, int64_t *number)
{
    enum ir_element element = op->operands[0]->type->element;
    int64_t a = operands[0], b = op->operand_count > 1 ? operands[1] : 0;
    switch (op->opcode) {
    case OP_ADD: *number = (int64_t)((uint64_t)a + (uint64_t)b); return true;
    case OP_SUB: *number = (int64_t)((uint64_t)a - (uint64_t)b); return true;
    case OP_MUL: *number = (int64_t)((uint64_t)a * (uint64_t)b); return true;
    case OP_DIV: *number = divide(element, a, b, false); return true;
    case OP_REM: *number = divide(element, a, b, true); return true;
    case OP_NEG: *number = (int64_t)(0 - (uint64_t)a); return true;
    case OP_ABS: *number = a < 0 ? (int64_t)(0 - (uint64_t)a) : a; return true;
    case OP_MIN: *number = compare(element, IR_PREDICATE_LT, a, b) ? a : b; return true;
    case OP_MAX: *number = compare(element, IR_PREDICATE_LT, a, b) ? b : a; return true;
    case OP_AND: *number = a & b; return true;
    case OP_OR: *number = a | b; return true;
    case OP_XOR: *number = a ^ b; return true;
    case OP_NOT: *number = element == IR_BOOL ? !a : ~a; return true;
    case OP_SHL:
    case OP_SHR: *number = shift(op, a, b); return true;
    case OP_COMPARE: *number = compare(element, ir_number(op, IR_ATTRIBUTE_PREDICATE, 0), a, b); return true;
    case OP_SELECT: *number = a ? b : operands[2]; return true;
    case OP_CAST: *number = op->results[0]->type->element == IR_BOOL ? a != 0 : a; return true;
    case OP_BITCAST: *number = a; return true;
    default: return false;
    }
}

/* Adds to the counter, under no mask or one that holds; so the number that comes back is the next. */
bool check_takes_number(const struct check *check, const struct check_agent *agent, const struct ir_operation *op)
{
    const struct ir_function *function = check->function;
    struct ir_access access;
    return op->opcode == OP_ATOMIC && !check->values && ir_walks_in_order(function) && ir_access_of(op, &access) &&
           access.view == function->body->arguments.data[function->ordered - 1] &&
           (!access.mask || check_number(agent, access.mask));
}

static int64_t dimension_of(const struct ir_operation *op) { return ir_number(op, IR_ATTRIBUTE_DIMENSION, 0); }

/* Of a tile: what all of its elements have, so far as numbers of an ordered grid go through tiles. */
static int64_t number_of_tile(const struct check_agent *agent, const struct ir_operation *op)
{
    return op->opcode == OP_SPLAT ? check_number(agent, op->operands[0]) : 0;
}

int64_t check_evaluate(const struct check *check, const struct check_agent *agent, const struct ir_operation *op,
                       int result)
{
    const struct ir_type *type = op->results[result]->type;
    int64_t number;
    if (check_takes_number(check, agent, op))
        return check->taken;
    if (type->kind != IR_TILE || type->rank)
        return type->kind == IR_TILE ? number_of_tile(agent, op) : 0;
    if (op->opcode == OP_REDUCE && ir_walks_in_order(check->function) && ir_type_elements(op->operands[0]->type) == 1)
        return check_number(agent, op->operands[0]);
    switch (op->opcode) {
    case OP_CONSTANT: return ir_constant_integer(op->results[0], &number) ? number : made_up(agent, op, result);
    case OP_EXTENT: return check_extent_of(check, agent, op->operands[0], dimension_of(op));
    case OP_STRIDE:
        number = op->operands[0]->type->stride[dimension_of(op)];
        return number == IR_DYNAMIC ? 4096 : number;
    case OP_GRID_SIZE: return check->grid[dimension_of(op)];
    case OP_GRID_INDEX: return check->place[dimension_of(op)];
    case OP_PROGRAM: return check->block;
    case OP_PROGRAM_COUNT: return check->program_count;
    case OP_BLOCK_COUNT: return check->block_count;
    case OP_PRESENT: return check->scenario.scalar & 1;
    case OP_LOAD:
    case OP_POINTER_LOAD: return loaded(check, agent, op, result);
    default: break;
    }
    bool whole = op->operand_count > 0 && op->operand_count < 4 && op->region_count == 0;
    for (int i = 0; i < op->operand_count && whole; i++) {
        const struct ir_type *operand = op->operands[i]->type;
        whole = operand->kind == IR_TILE && operand->rank == 0 &&
                (ir_is_integer(operand->element) || operand->element == IR_BOOL);
    }
    if (!whole && op->opcode != OP_SELECT)
        return made_up(agent, op, result);
    int64_t operands[3];
    for (int i = 0; i < op->operand_count && i < 3; i++)
        operands[i] = check_number(agent, op->operands[i]);
    return check_cut(type->element, check_arithmetic(op, operands, &number) ? number : made_up(agent, op, result));
}
