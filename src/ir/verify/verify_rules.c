/* The rules of each operation of the Value level: element classes, shapes, attributes against operands.  man/tile-ir.7
 * tells them to people. Every function gives NULL or a sentence. */
#include "ir/layout/layout.h"
#include "ir/verify/verify_internal.h"

#define BIT(key) (UINT64_C(1) << IR_ATTRIBUTE_##key)

uint64_t ir_required_attributes(enum ir_opcode opcode)
{
    switch (opcode) {
    case OP_CONSTANT: return BIT(VALUE);
    case OP_PERMUTE:
    case OP_VIEW_PERMUTE: return BIT(PERMUTATION);
    case OP_EXTRACT: return BIT(START);
    case OP_COMPARE: return BIT(PREDICATE);
    case OP_MATH: return BIT(FUNCTION);
    case OP_REDUCE:
    case OP_SCAN: return BIT(AXIS) | BIT(KIND);
    case OP_CONCATENATE:
    case OP_FLIP:
    case OP_GATHER:
    case OP_SORT: return BIT(AXIS);
    case OP_EXTENT:
    case OP_STRIDE:
    case OP_GRID_INDEX:
    case OP_GRID_SIZE: return BIT(DIMENSION);
    case OP_LOAD:
    case OP_STORE:
    case OP_INSIDE:
    case OP_ATOMIC_CAS: return BIT(PLACE);
    case OP_ATOMIC: return BIT(PLACE) | BIT(ACTION);
    case OP_POINTER_ATOMIC: return BIT(ACTION);
    case OP_CALL: return BIT(CALLEE);
    case OP_ASM:
    case OP_ASM_EFFECT: return BIT(TEXT);
    case OP_BUFFER_PERMUTE: return BIT(PERMUTATION);
    case OP_BUFFER_PART: return BIT(START);
    case OP_COPY_ASYNC:
    case OP_STORE_ASYNC:
    case OP_TMA_LOAD:
    case OP_TMA_STORE:
    case OP_CP_ASYNC: return BIT(PLACE);
    case OP_DOT_ASYNC: return BIT(INSTRUCTION);
    case OP_DOT_WAIT:
    case OP_TMA_WAIT:
    case OP_CP_WAIT: return BIT(PENDING);
    case OP_ROLES: return BIT(ROLE_WARPS);
    case OP_MBARRIER: return BIT(ARRIVALS);
    case OP_MBARRIER_EXPECT: return BIT(BYTES);
    default: return 0;
    }
}

static bool is_tile(const struct ir_value *value) { return verify_is_tile(value); }
static bool is_scalar(const struct ir_value *value) { return verify_is_scalar(value); }
static enum ir_element element_of(const struct ir_value *value) { return value->type->element; }
static bool is_scalar_of(const struct ir_value *value, enum ir_element element)
{
    return verify_is_scalar_of(value, element);
}
static bool is_integer_scalar(const struct ir_value *value) { return verify_is_integer_scalar(value); }
static bool same_element(const struct ir_type *a, const struct ir_type *b) { return verify_same_element(a, b); }

/* Same extents and, where there are layouts, the same one: scalars have none. */
static bool same_form(const struct ir_type *a, const struct ir_type *b)
{
    return a->kind == IR_TILE && b->kind == IR_TILE && ir_type_same_shape(a, b) && a->layout == b->layout;
}

/* Of a tile of pointers or a view, what one element in memory is. */
static bool is_pointee(const struct ir_type *type, const struct ir_type *pointer)
{
    return type->element == pointer->pointee && type->element != IR_POINTER;
}

/* ---- arithmetic ---- */

static const char *same_problem(const struct ir_operation *op)
{
    for (int i = 0; i < op->operand_count; i++)
        if (!is_tile(op->operands[i]) || op->operands[i]->type != op->results[0]->type)
            return "operands and result must have one tile type";
    return ir_takes(op->opcode, element_of(op->results[0])) ? NULL : ir_takes_problem(op->opcode);
}

static const char *math_problem(const struct ir_operation *op)
{
    int64_t function = ir_number(op, IR_ATTRIBUTE_FUNCTION, 0);
    bool two = function == IR_MATH_POW || function == IR_MATH_ATAN2 || function == IR_MATH_COPYSIGN;
    const char *problem = NULL;
    if (op->operand_count != (two ? 2 : 1))
        return "wrong number of operands for this function";
    if (function != IR_MATH_ISNAN)
        problem = same_problem(op);
    else if (!same_form(op->operands[0]->type, op->results[0]->type) || element_of(op->results[0]) != IR_BOOL)
        problem = "isnan gives a bool tile of the operand's shape";
    return problem || ir_is_float(element_of(op->operands[0])) ? problem : "the elements must be floats";
}

static const char *compare_problem(const struct ir_operation *op)
{
    const struct ir_type *a = op->operands[0]->type;
    if (a->kind != IR_TILE || a != op->operands[1]->type)
        return "operands must have one tile type";
    return same_form(a, op->results[0]->type) && element_of(op->results[0]) == IR_BOOL
               ? NULL
               : "the result is a bool tile of the operands' shape";
}

static const char *select_problem(const struct ir_operation *op)
{
    const struct ir_type *type = op->results[0]->type;
    if (!is_tile(op->results[0]) || op->operands[1]->type != type || op->operands[2]->type != type)
        return "both values and the result must have one tile type";
    if (element_of(op->operands[0]) != IR_BOOL ||
        (!is_scalar(op->operands[0]) && !same_form(op->operands[0]->type, type)))
        return "the condition must be a bool scalar or a bool tile of the result's shape";
    return NULL;
}

static const char *cast_problem(const struct ir_operation *op)
{
    const struct ir_type *from = op->operands[0]->type, *to = op->results[0]->type;
    if (!same_form(from, to))
        return "operand and result must have one shape";
    if (op->opcode == OP_BITCAST)
        return ir_element_info[from->element].bits == ir_element_info[to->element].bits &&
                       (from->element == IR_BOOL) == (to->element == IR_BOOL)
                   ? NULL
                   : "the elements must have the same width";
    return from->element != IR_POINTER && to->element != IR_POINTER ? NULL : "pointers are not cast";
}

static const char *constant_problem(const struct ir_operation *op)
{
    const struct ir_type *type = op->results[0]->type;
    const struct ir_attribute *value = ir_attribute(op, IR_ATTRIBUTE_VALUE);
    if (type->kind != IR_TILE)
        return "a constant is a tile";
    enum ir_element e = type->element;
    bool canonical = e == IR_POINTER ||
                     (ir_is_float(e) ? ir_element_info[e].bits == 64 || !(value->bits >> ir_element_info[e].bits)
                                     : ir_int_to_bits(e, ir_bits_to_int(e, value->bits)) == value->bits);
    return canonical ? NULL : "the constant's bits are not those of its element";
}

static const char *philox_problem(const struct ir_operation *op)
{
    if (!is_scalar_of(op->operands[0], IR_U64) || !is_tile(op->operands[1]) || element_of(op->operands[1]) != IR_U64)
        return "operands are a u64 scalar and a u64 tile";
    for (int i = 0; i < 4; i++)
        if (!same_form(op->results[i]->type, op->operands[1]->type) || element_of(op->results[i]) != IR_U32)
            return "results are u32 tiles of the counter's shape";
    return NULL;
}

/* ---- shapes ---- */

static const char *splat_problem(const struct ir_type *from, const struct ir_type *to)
{
    return from->kind == IR_TILE && from->rank == 0 && to->kind == IR_TILE && same_element(from, to)
               ? NULL
               : "splat makes a tile from a scalar of the same element";
}

static const char *broadcast_problem(const struct ir_type *from, const struct ir_type *to)
{
    if (from->kind != IR_TILE || to->kind != IR_TILE || !same_element(from, to) || from->rank != to->rank)
        return "operand and result must have one element and rank";
    for (int i = 0; i < from->rank; i++)
        if (from->extent[i] != to->extent[i] && from->extent[i] != 1)
            return "only extents of 1 stretch";
    return NULL;
}

static const char *reshape_problem(const struct ir_type *from, const struct ir_type *to)
{
    return from->kind == IR_TILE && to->kind == IR_TILE && same_element(from, to) &&
                   ir_type_elements(from) == ir_type_elements(to)
               ? NULL
               : "operand and result must have one element and as many of them";
}

bool verify_is_permutation(const struct ir_attribute *list, int rank)
{
    unsigned seen = 0;
    if (list->count != rank)
        return false;
    for (int i = 0; i < rank; i++) {
        if (list->list[i] < 0 || list->list[i] >= rank || (seen >> list->list[i] & 1))
            return false;
        seen |= 1u << list->list[i];
    }
    return true;
}

static const char *permute_problem(const struct ir_operation *op)
{
    const struct ir_type *from = op->operands[0]->type, *to = op->results[0]->type;
    const struct ir_attribute *order = ir_attribute(op, IR_ATTRIBUTE_PERMUTATION);
    enum ir_type_kind kind = op->opcode == OP_PERMUTE ? IR_TILE : IR_VIEW;
    if (from->kind != kind || to->kind != kind || !same_element(from, to) || from->rank != to->rank)
        return "operand and result must have one element and rank";
    if (!verify_is_permutation(order, from->rank))
        return "the permutation does not name each dimension once";
    for (int i = 0; i < from->rank; i++)
        if (to->extent[i] != from->extent[order->list[i]] || to->stride[i] != from->stride[order->list[i]])
            return "the result's extents are not the permuted ones";
    return kind == IR_TILE ||
                   (to->optional == from->optional && to->readable == from->readable && to->writable == from->writable)
               ? NULL
               : "the result has other rights than the view";
}

static const char *extract_problem(const struct ir_operation *op)
{
    const struct ir_type *from = op->operands[0]->type, *to = op->results[0]->type;
    const struct ir_attribute *start = ir_attribute(op, IR_ATTRIBUTE_START);
    if (from->kind != IR_TILE || to->kind != IR_TILE || !same_element(from, to) || from->rank != to->rank ||
        start->count != from->rank)
        return "operand, result and start must have one element and rank";
    for (int i = 0; i < from->rank; i++)
        if (start->list[i] < 0 || start->list[i] % to->extent[i] || start->list[i] > from->extent[i] - to->extent[i])
            return "the part must lie inside, at a multiple of its extent";
    return NULL;
}

/* Tiles of one rank whose extents agree but along `axis`. */
static bool agree_but_along(const struct ir_type *a, const struct ir_type *b, int64_t axis)
{
    if (a->kind != IR_TILE || b->kind != IR_TILE || a->rank != b->rank || axis < 0 || axis >= a->rank)
        return false;
    for (int d = 0; d < a->rank; d++)
        if (d != axis && a->extent[d] != b->extent[d])
            return false;
    return true;
}

static const char *concatenate_problem(const struct ir_operation *op)
{
    int64_t axis = ir_number(op, IR_ATTRIBUTE_AXIS, -1), sum = 0;
    const struct ir_type *to = op->results[0]->type;
    for (int i = 0; i < op->operand_count; i++) {
        const struct ir_type *from = op->operands[i]->type;
        if (!agree_but_along(from, to, axis) || !same_element(from, to))
            return "operands and result have one element, and extents that agree but along the axis";
        sum += from->extent[axis];
    }
    return sum == to->extent[axis] ? NULL : "the result's extent along the axis is the sum of the operands'";
}

static const char *flip_problem(const struct ir_operation *op)
{
    int64_t axis = ir_number(op, IR_ATTRIBUTE_AXIS, -1);
    const struct ir_type *from = op->operands[0]->type;
    return from->kind == IR_TILE && axis >= 0 && axis < from->rank && from == op->results[0]->type
               ? NULL
               : "operand and result are tiles of one type, and the axis is one of theirs";
}

static const char *gather_problem(const struct ir_operation *op)
{
    int64_t axis = ir_number(op, IR_ATTRIBUTE_AXIS, -1);
    const struct ir_type *from = op->operands[0]->type, *index = op->operands[1]->type, *to = op->results[0]->type;
    if (!agree_but_along(from, index, axis) || !ir_is_integer(index->element))
        return "the index is an integer tile whose extents agree with the tile's but along the axis";
    return same_form(index, to) && same_element(from, to) ? NULL
                                                          : "the result has the tile's element and the index's shape";
}

/* ---- across elements ---- */

/* Each place of a thread stands for one bit of one coordinate, or for none: steps of a reduction fold such bits. */
static bool has_mixed_columns(const struct layout *layout)
{
    for (int input = 0; input < LAYOUT_INPUTS; input++)
        for (int bit = 0; bit < layout->bits[input]; bit++)
            if (layout->column[input][bit] & (layout->column[input][bit] - 1))
                return true;
    return false;
}

/* How reduce and scan combine `count` tiles: the kind and the first's element, or the region. */
static const char *combining_problem(const struct ir_operation *op, int count)
{
    int64_t kind = ir_number(op, IR_ATTRIBUTE_KIND, 0);
    const struct ir_block *region = op->regions[0];
    enum ir_element e = element_of(op->operands[0]);
    bool bits = kind == IR_REDUCE_AND || kind == IR_REDUCE_OR || kind == IR_REDUCE_XOR;
    if (kind != IR_REDUCE_REGION)
        return ir_is_integer(e) || (bits ? e == IR_BOOL : ir_is_float(e)) ? NULL : "the kind does not fit the element";
    if (region->arguments.count != 2 * count)
        return "the region takes two scalars for each operand";
    for (int i = 0; i < region->arguments.count; i++) {
        const struct ir_value *argument = region->arguments.data[i];
        if (!is_scalar(argument) || !same_element(argument->type, op->operands[i % count]->type))
            return "the region takes scalars of the operands' elements, left ones first";
    }
    return NULL;
}

static const char *reduce_problem(const struct ir_operation *op)
{
    int64_t axis = ir_number(op, IR_ATTRIBUTE_AXIS, -1), kind = ir_number(op, IR_ATTRIBUTE_KIND, 0);
    const struct ir_type *first = op->operands[0]->type;
    if (first->kind != IR_TILE || axis < 0 || axis >= first->rank)
        return "the axis is none of the operand's";
    if (op->result_count != op->operand_count || (kind != IR_REDUCE_REGION && op->operand_count != 1))
        return "there is one result for each operand, and one operand unless kind is region";
    for (int i = 0; i < op->operand_count; i++) {
        const struct ir_type *from = op->operands[i]->type, *to = op->results[i]->type;
        if (!same_form(from, first) || to->kind != IR_TILE || !same_element(from, to) || to->rank != from->rank - 1)
            return "operands have one shape, results the operands' elements and that shape without the axis";
        for (int d = 0; d < to->rank; d++)
            if (to->extent[d] != from->extent[d < axis ? d : d + 1])
                return "results have the operands' shape without the axis";
    }
    if (first->layout && has_mixed_columns(first->layout))
        return "the operand's layout mixes bits of coordinates: a reduction takes one where each column is a single "
               "bit";
    if (ir_number(op, IR_ATTRIBUTE_POSITIONS, 0) &&
        (kind != IR_REDUCE_REGION || op->operand_count < 2 ||
         !ir_is_integer(op->operands[op->operand_count - 1]->type->element)))
        return "positions are the last of several operands, integers, and kind is region";
    return combining_problem(op, op->operand_count);
}

static const char *scan_problem(const struct ir_operation *op)
{
    int64_t axis = ir_number(op, IR_ATTRIBUTE_AXIS, -1), kind = ir_number(op, IR_ATTRIBUTE_KIND, 0);
    const struct ir_type *first = op->operands[0]->type;
    int count = op->result_count;
    bool exclusive = ir_number(op, IR_ATTRIBUTE_EXCLUSIVE, 0) != 0;
    if (first->kind != IR_TILE || axis < 0 || axis >= first->rank)
        return "the axis is none of the operand's";
    if (op->operand_count != (exclusive ? 2 * count : count) || count < 1 || (kind != IR_REDUCE_REGION && count != 1))
        return "there is one result for each tile, one tile unless kind is region, and with exclusive a scalar for "
               "each tile behind them";
    for (int i = 0; i < count; i++) {
        const struct ir_type *from = op->operands[i]->type, *to = op->results[i]->type;
        if (!same_form(from, first) || !same_form(to, first) || !same_element(from, to))
            return "operands and results have one shape, and each result the element of its operand";
        if (exclusive && (!is_scalar(op->operands[count + i]) || !same_element(op->operands[count + i]->type, from)))
            return "the scalars behind the tiles are of their elements";
    }
    if (first->layout && has_mixed_columns(first->layout))
        return "the operand's layout mixes bits of coordinates: a scan takes one where each column is a single bit";
    return combining_problem(op, count);
}

static const char *sort_problem(const struct ir_operation *op)
{
    int64_t axis = ir_number(op, IR_ATTRIBUTE_AXIS, -1);
    const struct ir_type *first = op->operands[0]->type, *sorted = op->results[0]->type;
    if (first->kind != IR_TILE || axis < 0 || axis >= first->rank)
        return "the axis is none of the operand's";
    if (first->extent[axis] > IR_MOST_SORTED)
        return "the axis is longer than what can be sorted";
    if (op->result_count != op->operand_count + 1)
        return "there is one result for each operand, and the positions";
    if (first->element == IR_POINTER)
        return "what is sorted are numbers or bool";
    for (int i = 0; i < op->result_count; i++) {
        const struct ir_type *to = op->results[i]->type;
        const struct ir_type *from = op->operands[i < op->operand_count ? i : 0]->type;
        if (from->kind != IR_TILE || !ir_type_same_shape(from, first) || to->kind != IR_TILE ||
            !ir_type_same_shape(to, sorted))
            return "operands have one shape, and results have one";
        bool is_position = i == op->operand_count;
        if (is_position ? to->element != IR_INDEX : !same_element(from, to))
            return "results have the operands' elements, and positions are index";
    }
    if (sorted->rank != first->rank)
        return "results have the operands' rank";
    for (int d = 0; d < first->rank; d++)
        if (d == axis ? sorted->extent[d] > first->extent[d] : sorted->extent[d] != first->extent[d])
            return "results have the operands' shape, but for the axis, where they may be shorter";
    return NULL;
}

const char *verify_product(const struct ir_type *a, const struct ir_type *b, const struct ir_type *c)
{
    if (a->rank < 2 || a->rank != b->rank || a->rank != c->rank)
        return "operands have one rank, at least 2, and the result the accumulator's type";
    int last = a->rank - 1;
    for (int i = 0; i < last - 1; i++)
        if (a->extent[i] != b->extent[i] || a->extent[i] != c->extent[i])
            return "the batch extents differ";
    if (a->extent[last] != b->extent[last - 1] || a->extent[last - 1] != c->extent[last - 1] ||
        b->extent[last] != c->extent[last])
        return "the extents are not [m, k] x [k, n] + [m, n]";
    bool mixed = ir_is_float(a->element) && ir_element_info[a->element].bits == 8 && ir_is_float(b->element) &&
                 ir_element_info[b->element].bits == 8;
    if (a->element != b->element && !mixed)
        return "both factors must have one element";
    enum ir_element wanted = a->element == IR_F64 ? IR_F64 : ir_is_float(a->element) ? IR_F32 : IR_I32;
    return c->element == wanted && (ir_is_float(a->element) || ir_is_integer(a->element))
               ? NULL
               : "the accumulator is f32, for f64 factors f64, for integers i32";
}

static const char *dot_problem(const struct ir_operation *op)
{
    const struct ir_type *a = op->operands[0]->type, *b = op->operands[1]->type, *c = op->operands[2]->type;
    if (a->kind != IR_TILE || b->kind != IR_TILE || c->kind != IR_TILE || c != op->results[0]->type)
        return "operands have one rank, at least 2, and the result the accumulator's type";
    return verify_product(a, b, c);
}

static const char *map_problem(const struct ir_operation *op)
{
    const struct ir_block *region = op->regions[0];
    if (!op->result_count || region->arguments.count != op->operand_count)
        return "there is a result, and a region argument for each operand";
    for (int i = 0; i < op->result_count; i++)
        if (!same_form(op->results[i]->type, op->results[0]->type))
            return "results must be tiles of one shape";
    for (int i = 0; i < op->operand_count; i++) {
        const struct ir_value *operand = op->operands[i];
        if (!is_scalar(operand) && !same_form(operand->type, op->results[0]->type))
            return "operands must be scalars or tiles of the results' shape";
        if (!is_scalar(region->arguments.data[i]) || !same_element(region->arguments.data[i]->type, operand->type))
            return "the region takes a scalar of each operand's element";
    }
    return NULL;
}

static const char *asm_problem(const struct ir_operation *op)
{
    enum { MOST_PACK = 16 };
    int64_t pack = ir_number(op, IR_ATTRIBUTE_PACK, 1);
    const struct ir_value *first = op->result_count ? op->results[0] : op->operand_count ? op->operands[0] : NULL;
    if (op->opcode == OP_ASM ? !op->result_count : op->result_count > 1)
        return op->opcode == OP_ASM ? "there is a result" : "there is one result at most";
    if (pack < 1 || pack > MOST_PACK || (pack & (pack - 1)))
        return "pack is a power of two up to 16";
    for (int i = 0; i < op->result_count + op->operand_count; i++) {
        const struct ir_value *value = i < op->result_count ? op->results[i] : op->operands[i - op->result_count];
        if (value->type->kind != IR_TILE || !same_form(value->type, first->type))
            return "operands and results are scalars, or tiles of one shape";
        if (element_of(value) == IR_BOOL && pack > 1)
            return "a bool is not packed";
    }
    return NULL;
}

/* ---- views and memory ---- */

static const char *view_query_problem(const struct ir_operation *op)
{
    const struct ir_type *view = op->operands[0]->type;
    int64_t dimension = ir_number(op, IR_ATTRIBUTE_DIMENSION, 0);
    if (view->kind != IR_VIEW)
        return "the operand must be a view";
    if (op->opcode == OP_PRESENT)
        return is_scalar_of(op->results[0], IR_BOOL) ? NULL : "the result is a bool scalar";
    if (op->opcode == OP_VIEW_POINTER)
        return is_scalar_of(op->results[0], IR_POINTER) && is_pointee(view, op->results[0]->type) &&
                       (view->writable || op->results[0]->type->pointee_const)
                   ? NULL
                   : "the result is a pointer to the view's element, const unless the view is written";
    return dimension >= 0 && dimension < view->rank && is_integer_scalar(op->results[0])
               ? NULL
               : "the dimension is none of the view's, or the result is no index";
}

static const char *subview_problem(const struct ir_operation *op)
{
    const struct ir_type *from = op->operands[0]->type, *to = op->results[0]->type;
    int64_t drop = ir_number(op, IR_ATTRIBUTE_DROP, 0);
    if (from->kind != IR_VIEW || to->kind != IR_VIEW || !same_element(from, to))
        return "operand and result are views of one element";
    if (op->operand_count != 1 + 2 * from->rank)
        return "there are start and stop for each dimension";
    for (int i = 1; i < op->operand_count; i++)
        if (!is_integer_scalar(op->operands[i]))
            return "start and stop are integer scalars";
    if (drop < 0 || drop >> from->rank)
        return "drop names a dimension that is not there";
    int rank = 0;
    for (int d = 0; d < from->rank; d++) {
        if (drop >> d & 1)
            continue;
        if (rank >= to->rank || (to->stride[rank] != from->stride[d] && to->stride[rank] != IR_DYNAMIC))
            return "the result's strides are not those of the kept dimensions";
        rank++;
    }
    if (rank != to->rank)
        return "the result's rank is not that of the kept dimensions";
    return (to->readable && !from->readable) || (to->writable && !from->writable)
               ? "the result has more rights than the view"
               : NULL;
}

static const char *make_view_problem(const struct ir_operation *op)
{
    const struct ir_type *from = op->operands[0]->type, *to = op->results[0]->type;
    bool view = from->kind == IR_VIEW, pointer = is_scalar_of(op->operands[0], IR_POINTER);
    if (to->kind != IR_VIEW || !(view ? same_element(from, to) : pointer && is_pointee(to, from)))
        return "the operand is a view of the result's element, or a pointer to it";
    if (op->operand_count != 1 + 2 * to->rank)
        return "there is an extent and a stride for each dimension of the result";
    for (int i = 1; i < op->operand_count; i++) {
        bool stride = i > to->rank;
        int64_t number, known = stride ? to->stride[i - 1 - to->rank] : to->extent[i - 1];
        if (!is_integer_scalar(op->operands[i]))
            return "extents and strides are integer scalars";
        if (known != IR_DYNAMIC && ir_constant_integer(op->operands[i], &number) && number != known)
            return "the result's type tells another extent or stride";
    }
    if ((view ? from->optional : true) && !to->optional)
        return "the result may be absent";
    return (to->readable && view && !from->readable) || (to->writable && (view ? !from->writable : from->pointee_const))
               ? "the result has more rights than what it is made from"
               : NULL;
}

const char *verify_place(const struct ir_operation *op)
{
    const struct ir_attribute *place = ir_attribute(op, IR_ATTRIBUTE_PLACE);
    const struct ir_type *view = op->operands[0]->type, *gather = NULL;
    if (view->kind != IR_VIEW)
        return "the first operand must be a view";
    if (place->count != view->rank || op->operand_count < 1 + view->rank)
        return "a place has one index for each dimension of the view";
    bool ended = false;
    for (int d = 0; d < place->count; d++) {
        const struct ir_value *index = op->operands[d + 1];
        if (!is_tile(index) || !ir_is_integer(element_of(index)))
            return "indexes are integers";
        if (place->list[d] != IR_GATHER) {
            if (place->list[d] < 0 || index->type->rank)
                return "an index that does not gather is a scalar, its length positive";
            ended = gather != NULL;
            continue;
        }
        if (ended)
            return "index tiles must stand side by side";
        if (gather && !same_form(gather, index->type))
            return "index tiles must have one shape";
        gather = index->type;
    }
    if (ir_number(op, IR_ATTRIBUTE_INSIDE, 0) >> view->rank)
        return "inside names a dimension that is not there";
    return NULL;
}

/* A tile of the place's shape with the memory's element; or, where allowed, a scalar of it. */
static bool fits_place(const struct ir_value *value, const struct ir_type *element, int rank, const int64_t *extent,
                       bool scalar)
{
    struct ir_type shape = {.kind = IR_TILE, .rank = rank};
    for (int i = 0; i < rank; i++)
        shape.extent[i] = extent[i];
    return value && is_tile(value) && same_element(value->type, element) &&
           ((scalar && value->type->rank == 0) || ir_type_same_shape(value->type, &shape));
}

static bool takes_expected(enum ir_opcode opcode) { return opcode == OP_ATOMIC_CAS || opcode == OP_POINTER_CAS; }
static bool takes_other(enum ir_opcode opcode) { return opcode == OP_LOAD || opcode == OP_POINTER_LOAD; }

/* What stands behind the address: `from` is the first such operand; `element` has the memory's element. */
static const char *access_problem(const struct ir_operation *op, int from, const struct ir_type *element, int rank,
                                  const int64_t *extent)
{
    struct ir_access access;
    int wanted = takes_expected(op->opcode) ? 2 : 1;
    if (!ir_access_of(op, &access) || op->operand_count < from + wanted || op->operand_count > from + wanted + 1)
        return "wrong number of operands behind the address";
    if (takes_other(op->opcode) && !fits_place(access.other, element, rank, extent, true))
        return "other must be an element of the memory or a tile of them of the place's shape";
    if (!takes_other(op->opcode) && !fits_place(access.value, element, rank, extent, false))
        return "the value must have the place's shape and the memory's element";
    if (takes_expected(op->opcode) && !fits_place(access.expected, element, rank, extent, false))
        return "the expected value must have the place's shape and the memory's element";
    struct ir_type boolean = {.element = IR_BOOL};
    if (access.mask && !fits_place(access.mask, &boolean, rank, extent, true))
        return "the mask must be bool, a scalar or of the place's shape";
    if (op->result_count && !fits_place(op->results[0], element, rank, extent, false))
        return "the result must have the place's shape and the memory's element";
    return NULL;
}

static const char *atomic_problem(const struct ir_operation *op, enum ir_element element)
{
    int64_t action = ir_number(op, IR_ATTRIBUTE_ACTION, IR_ACTION_EXCHANGE);
    bool bits = action == IR_ACTION_AND || action == IR_ACTION_OR || action == IR_ACTION_XOR;
    if (element == IR_POINTER || element == IR_BOOL)
        return "atomics work on integers and floats";
    return bits && ir_is_float(element) ? "the action does not fit the element" : NULL;
}

static const char *memory_problem(const struct ir_operation *op)
{
    const char *problem = verify_place(op);
    if (problem)
        return problem;
    const struct ir_type *view = op->operands[0]->type;
    struct ir_access access = {
        .rank = view->rank, .index = op->operands + 1, .place = ir_attribute(op, IR_ATTRIBUTE_PLACE)->list};
    int64_t extent[IR_MAX_RANK];
    int rank = ir_place_shape(&access, extent);
    if (op->opcode == OP_INSIDE) {
        struct ir_type boolean = {.element = IR_BOOL};
        return op->operand_count == 1 + view->rank && fits_place(op->results[0], &boolean, rank, extent, false)
                   ? NULL
                   : "the result is a bool tile of the place's shape, from the view and its indexes alone";
    }
    if (op->opcode == OP_LOAD ? !view->readable : !view->writable)
        return "the view does not allow it";
    if ((ir_op_info[op->opcode].traits & IR_TRAIT_ATOMIC) && (problem = atomic_problem(op, view->element)))
        return problem;
    return access_problem(op, 1 + view->rank, view, rank, extent);
}

static const char *pointer_problem(const struct ir_operation *op)
{
    const struct ir_type *pointer = op->operands[0]->type;
    if (pointer->kind != IR_TILE || pointer->element != IR_POINTER)
        return "the first operand must be a tile of pointers";
    if (op->opcode == OP_POINTER_ADD)
        return op->results[0]->type == pointer && same_form(op->operands[1]->type, pointer) &&
                       ir_is_integer(element_of(op->operands[1]))
                   ? NULL
                   : "the offset is an integer tile of the pointers' shape, the result has the pointers' type";
    if (op->opcode != OP_POINTER_LOAD && pointer->pointee_const)
        return "the pointer is const";
    const char *problem = ir_op_info[op->opcode].traits & IR_TRAIT_ATOMIC ? atomic_problem(op, pointer->pointee) : NULL;
    struct ir_type element = {.element = pointer->pointee};
    return problem ? problem : access_problem(op, 1, &element, pointer->rank, pointer->extent);
}

/* ---- control flow ---- */

static const char *for_problem(const struct ir_operation *op)
{
    const struct ir_block *body = op->regions[0];
    const struct ir_type *type = op->operands[0]->type;
    if (!is_integer_scalar(op->operands[0]) || op->operands[1]->type != type || op->operands[2]->type != type)
        return "lower, upper and step are integer scalars of one type";
    if (body->arguments.count != op->operand_count - 2 || body->arguments.data[0]->type != type)
        return "the region takes the variable and the carried values";
    if (op->result_count != op->operand_count - 3)
        return "there is a result for each carried value";
    for (int i = 0; i < op->result_count; i++)
        if (op->operands[i + 3]->type != op->results[i]->type ||
            body->arguments.data[i + 1]->type != op->results[i]->type)
            return "initial value, region argument and result must have one type";
    return NULL;
}

static const char *while_problem(const struct ir_operation *op)
{
    if (op->result_count != op->operand_count)
        return "there is a result for each carried value";
    for (int r = 0; r < 2; r++) {
        if (op->regions[r]->arguments.count != op->operand_count)
            return "the regions take the carried values";
        for (int i = 0; i < op->operand_count; i++)
            if (op->regions[r]->arguments.data[i]->type != op->operands[i]->type ||
                op->results[i]->type != op->operands[i]->type)
                return "initial value, region argument and result must have one type";
    }
    return NULL;
}

static const char *call_problem(const struct ir_operation *op)
{
    const struct ir_function *callee = ir_function_find(op->block->function->module,
                                                        ir_attribute(op, IR_ATTRIBUTE_CALLEE)->name);
    if (!callee)
        return "the function is not in the module";
    if (callee->is_kernel)
        return "a kernel is not called";
    if (callee->body->arguments.count != op->operand_count || callee->results.count != op->result_count)
        return "the function has another number of parameters or results";
    for (int i = 0; i < op->operand_count; i++)
        if (callee->body->arguments.data[i]->type != op->operands[i]->type)
            return "an operand has another type than the function's parameter";
    for (int i = 0; i < op->result_count; i++)
        if (callee->results.data[i] != op->results[i]->type)
            return "a result has another type than the function's";
    return NULL;
}

static const char *grid_problem(const struct ir_operation *op)
{
    const struct ir_function *function = op->block->function;
    int64_t dimension = ir_number(op, IR_ATTRIBUTE_DIMENSION, -1);
    if (!is_integer_scalar(op->results[0]))
        return "the result is an index";
    return dimension >= 0 && dimension < (function->is_kernel ? function->grid_rank : IR_MAX_RANK)
               ? NULL
               : "the grid has no such dimension";
}

const char *ir_verify_rules(const struct ir_operation *op)
{
    const struct ir_type *first = op->operand_count ? op->operands[0]->type : NULL;
    const struct ir_type *result = op->result_count ? op->results[0]->type : NULL;
    switch (op->opcode) {
    case OP_CONSTANT: return constant_problem(op);
    case OP_IOTA:
        return result->kind == IR_TILE && result->rank == 1 && ir_is_integer(result->element)
                   ? NULL
                   : "the result is an integer tile of rank 1";
    case OP_SPLAT: return splat_problem(first, result);
    case OP_BROADCAST: return broadcast_problem(first, result);
    case OP_RESHAPE: return reshape_problem(first, result);
    case OP_PERMUTE:
    case OP_VIEW_PERMUTE: return permute_problem(op);
    case OP_EXTRACT: return extract_problem(op);
    case OP_CONCATENATE: return concatenate_problem(op);
    case OP_FLIP: return flip_problem(op);
    case OP_GATHER: return gather_problem(op);
#define OP(...)
#define PER_ELEMENT(...)
#define ARITHMETIC(id, ...) case OP_##id:
#include "ir/ops.def"
        return same_problem(op);
    case OP_COMPARE: return compare_problem(op);
    case OP_SELECT: return select_problem(op);
    case OP_CAST:
    case OP_BITCAST: return cast_problem(op);
    case OP_MATH: return math_problem(op);
    case OP_PHILOX: return philox_problem(op);
    case OP_MAP: return map_problem(op);
    case OP_ASM:
    case OP_ASM_EFFECT: return asm_problem(op);
    case OP_REDUCE: return reduce_problem(op);
    case OP_SCAN: return scan_problem(op);
    case OP_SORT: return sort_problem(op);
    case OP_HISTOGRAM:
        if (first->kind != IR_TILE || first->rank == 0 || !ir_is_integer(first->element))
            return "the operand is a tile of integers";
        return result->kind == IR_TILE && result->rank == 1 && result->element == IR_I32
                   ? NULL
                   : "the result is a tile of i32 of rank 1";
    case OP_DOT: return dot_problem(op);
    case OP_EXTENT:
    case OP_STRIDE:
    case OP_PRESENT:
    case OP_VIEW_POINTER: return view_query_problem(op);
    case OP_SUBVIEW: return subview_problem(op);
    case OP_MAKE_VIEW: return make_view_problem(op);
    case OP_LOAD:
    case OP_STORE:
    case OP_INSIDE:
    case OP_ATOMIC:
    case OP_ATOMIC_CAS: return memory_problem(op);
    case OP_POINTER_ADD:
    case OP_POINTER_LOAD:
    case OP_POINTER_STORE:
    case OP_POINTER_ATOMIC:
    case OP_POINTER_CAS: return pointer_problem(op);
    case OP_GRID_INDEX:
    case OP_GRID_SIZE: return grid_problem(op);
    case OP_MEET:
        if (!op->block->function->is_kernel || op->block->function->parts < 2 || op->block->function->grid_rank < 1)
            return "only instances of a kernel with parts(n) and a grid meet";
        return is_scalar_of(op->results[0], IR_U32) ? NULL : "the result is a scalar of u32";
    case OP_ASSUME: return is_scalar_of(op->operands[0], IR_BOOL) ? NULL : "the operand is a bool scalar";
    case OP_FOR: return for_problem(op);
    case OP_WHILE: return while_problem(op);
    case OP_IF:
        if (!is_scalar_of(op->operands[0], IR_BOOL))
            return "the condition is a bool scalar";
        return op->regions[0]->arguments.count || op->regions[1]->arguments.count ? "regions of if take nothing" : NULL;
    case OP_CALL: return call_problem(op);
    case OP_YIELD:
    case OP_CONDITION:
    case OP_RETURN: return NULL;
#define VALUE_LEVEL(id)
#define SCHEDULE_LEVEL(id) case OP_##id:
#define MACHINE_LEVEL(id) case OP_##id:
#define OP(id, text, level, ...) level##_LEVEL(id)
#include "ir/ops.def"
        return ir_op_info[op->opcode].level == IR_LEVEL_MACHINE ? verify_machine(op) : verify_schedule(op);
    case OP_COUNT: break;
    }
    die("no such operation: %d", (int)op->opcode);
}
