/* Classes of values that share a layout, and the choice of each class's layout by cost.
 *
 * A class is what elementwise operations and control flow tie together.  Cheap values (constants, iota, splat and a
 * few operations on them) belong to no class: they are made again where they are used.  The heaviest class is decided
 * first; of equally heavy ones, those come last that stretch what a load reads.
 *
 * A class's candidates are the layouts that its memory operations like best, that of a dot, an ordered one when a
 * reduction by a region needs it, and those that decided neighbours (across reduce, broadcast, permute, reshape, gather)
 * would get for free.  The cost of a candidate is what memory operations, reductions, moves along an axis and conversions
 * to neighbours would cost under it, weighted by loop depth. */
#include "passes/layout/layout_choice.h"

#include <string.h>

#include "ir/facts/layout_rules.h"
#include "ir/facts/move_plan.h"
#include "passes/layout/memory_access.h"
#include "passes/layout/product_layout.h"
#include "passes/layout/scan_layout.h"
#include "passes/base/rewrite.h"

enum { LOOP_WEIGHT = 8, CANDIDATES = 24, SHORT_ROW = 2048, LONG_ROW = 8192 };

struct touch {
    struct ir_operation *op;
    struct ir_value *value;
    int operand;
    double weight;
    struct touch *next;
};
struct class
{
    struct ir_value *first; /* in program order */
    struct touch *touches;
    double rank;             /* importance: decided first when high */
    bool has_dot, stretches; /* stretches: what a load reads */
    bool joins;              /* tiles to one that is on its way to another shape */
    const struct layout *layout;
};
struct candidates {
    int count;
    const struct layout *layout[CANDIDATES];
};

struct layout_choice {
    struct ir_function *function;
    struct arena *arena, *plans;
    struct layout_table *table;
    int warps, count;
    int *parent; /* by value id */
    bool *cheap;
    struct class **classes; /* by id of the root */
    VECTOR(struct class *) order;
};

static int find(const struct layout_choice *choice, int id)
{
    while (choice->parent[id] != id) {
        choice->parent[id] = choice->parent[choice->parent[id]];
        id = choice->parent[id];
    }
    return id;
}

static bool has_class(const struct layout_choice *choice, const struct ir_value *value)
{
    return layout_rule_has(value) && !choice->cheap[value->id];
}

static void unite(struct layout_choice *choice, const struct ir_value *a, const struct ir_value *b)
{
    if (!has_class(choice, a) || !has_class(choice, b))
        return;
    int x = find(choice, a->id), y = find(choice, b->id);
    if (x < y)
        choice->parent[y] = x;
    else
        choice->parent[x] = y;
}

/* ---- classes ---- */

static void mark_cheap(struct layout_choice *choice, struct ir_block *block)
{
    for (struct ir_operation *op = block->first; op; op = op->next) {
        for (int i = 0; i < op->result_count; i++)
            choice->cheap[op->results[i]->id] = layout_rule_has(op->results[i]) && layout_rule_cheap(op->results[i]);
        for (int i = 0; i < op->region_count; i++)
            mark_cheap(choice, op->regions[i]);
    }
}

/* Values that a loop or a branch passes on. */
static void unite_control(struct layout_choice *choice, struct ir_operation *op)
{
    for (int r = 0; r < op->region_count && !ir_is_isolated(op); r++) {
        struct ir_operation *last = ir_terminator(op->regions[r]);
        int skipped = last->opcode == OP_CONDITION ? 1 : 0, first = op->opcode == OP_FOR ? 1 : 0;
        for (int i = 0; i + skipped < last->operand_count && i < op->result_count; i++)
            unite(choice, op->results[i], last->operands[i + skipped]);
        for (int i = 0; op->opcode != OP_IF && i < op->result_count; i++) {
            unite(choice, op->results[i], op->regions[r]->arguments.data[i + first]);
            unite(choice, op->results[i], op->operands[i + 3 * first]);
        }
    }
}

static void unite_all(struct layout_choice *choice, struct ir_block *block)
{
    for (struct ir_operation *op = block->first; op; op = op->next) {
        struct ir_value *same = NULL;
        for (int i = 0; i < op->operand_count + op->result_count; i++) {
            struct ir_value *value = i < op->operand_count ? op->operands[i] : op->results[i - op->operand_count];
            if (!layout_rule_same(op, i) || !has_class(choice, value))
                continue;
            if (same)
                unite(choice, same, value);
            same = value;
        }
        unite_control(choice, op);
        for (int i = 0; i < op->region_count; i++)
            unite_all(choice, op->regions[i]);
    }
}

/* A load whose elements are repeated along a new last dimension, as bytes are of which each half is an element.  (Along
 * another one, words of eight numbers of which each is a row, it made int4_gemm 20 % slower on an H200.) */
static bool stretched_load(const struct ir_operation *op, struct memory_access *access)
{
    const struct ir_type *type = op->opcode == OP_BROADCAST ? op->operands[0]->type : NULL;
    if (!type || type->extent[type->rank - 1] == op->results[0]->type->extent[type->rank - 1])
        return false;
    const struct ir_operation *reshape = op->operands[0]->definition;
    const struct ir_value *read = reshape && reshape->opcode == OP_RESHAPE ? reshape->operands[0] : NULL;
    return read && read->definition && memory_access_of(read->definition, access);
}

static struct class *class_of(const struct layout_choice *choice, const struct ir_value *value)
{
    return has_class(choice, value) ? choice->classes[find(choice, value->id)] : NULL;
}

static bool only_turns(const struct ir_operation *op) { return op->opcode == OP_RESHAPE || op->opcode == OP_PERMUTE; }

/* Whether a tile becomes a part of a larger one, at most reshaped before. */
static bool is_joined_again(const struct ir_value *value)
{
    for (const struct ir_use *use = value->uses; use; use = use->next)
        if (use->user->opcode == OP_CONCATENATE || (only_turns(use->user) && is_joined_again(use->user->results[0])))
            return true;
    return false;
}

/* A tile that was put together and is not used in that shape yet: what it becomes tells more. */
static bool is_on_its_way(const struct ir_value *value)
{
    const struct ir_operation *op = value->definition;
    while (op && only_turns(op))
        op = op->operands[0]->definition;
    if (!op || op->opcode != OP_CONCATENATE || is_joined_again(value))
        return false;
    for (const struct ir_use *use = value->uses; use; use = use->next)
        if (only_turns(use->user))
            return true;
    return false;
}

static void touch(struct layout_choice *choice, struct ir_operation *op, struct ir_value *value, int operand,
                  double weight)
{
    if (!has_class(choice, value))
        return;
    int root = find(choice, value->id);
    struct class *class = choice->classes[root];
    if (!class) {
        class = choice->classes[root] = ARENA_NEW(choice->arena, struct class);
        class->first = value;
        vector_push(choice->arena, &choice->order, class);
    }
    struct touch *new_touch = ARENA_NEW(choice->arena, struct touch);
    *new_touch = (struct touch){op, value, operand, weight, class->touches};
    class->touches = new_touch;
    class->joins |= operand < 0 && is_on_its_way(value);
    class->has_dot |= op->opcode == OP_DOT && operand < 0;
    class->stretches |= operand < 0 && stretched_load(op, &(struct memory_access){0});
    double rank = (double)ir_type_elements(value->type) * weight;
    class->rank = rank > class->rank ? rank : class->rank;
}

static void touch_all(struct layout_choice *choice, struct ir_block *block, double weight)
{
    for (int i = 0; block->parent && i < block->arguments.count; i++) /* a function's are touched where they are used */
        touch(choice, block->parent, block->arguments.data[i], -1, weight);
    for (struct ir_operation *op = block->first; op; op = op->next) {
        for (int i = 0; i < op->operand_count; i++)
            touch(choice, op, op->operands[i], i, weight);
        for (int i = 0; i < op->result_count; i++)
            touch(choice, op, op->results[i], -1, weight);
        bool loop = ir_has_trait(op, IR_TRAIT_LOOP);
        for (int i = 0; i < op->region_count && !ir_is_isolated(op); i++)
            touch_all(choice, op->regions[i], loop ? weight * (double)LOOP_WEIGHT : weight);
    }
}

/* ---- costs ---- */

static double conversion_cost(const struct layout_choice *choice, const struct layout *from, const struct layout *to,
                              const struct ir_type *type)
{
    if (from == to || !from || !to)
        return 0;
    return layout_conversion_plan(choice->table, choice->plans, from, to, ir_element_info[type->element].bits / 8, 0)
        ->cost;
}

static double access_cost(const struct layout_choice *choice, const struct memory_access *access,
                          const struct layout *layout)
{
    const struct layout *better[2];
    double cost = memory_access_cost(access, layout);
    int count = memory_access_layouts(choice->table, access, choice->warps, better);
    for (int i = 0; i < count; i++) {
        double other = memory_access_cost(access, better[i]) + conversion_cost(choice, better[i], layout, access->tile);
        cost = other < cost ? other : cost;
    }
    return cost;
}

static const struct layout *dot_layout(const struct layout_choice *choice, const struct ir_operation *dot);

/* ---- what moves along an axis ---- */

/* The layout of the whole under which parts in their own default layout stay where they are. */
static const struct layout *layout_of_parts(const struct layout_choice *choice, const struct ir_type *part,
                                            const struct ir_type *whole)
{
    int extent[LAYOUT_RANK];
    for (int d = 0; d < whole->rank; d++)
        extent[d] = (int)whole->extent[d];
    return layout_extend(choice->table, memory_default_layout(choice->table, part, choice->warps), extent);
}

/* From the whole to parts that have no layout yet, or back: free where they lie in registers of their own. */
static double parts_cost(const struct layout_choice *choice, const struct ir_type *part, const struct ir_type *whole,
                         const struct layout *layout)
{
    for (int d = 0; d < whole->rank; d++)
        if (whole->extent[d] != part->extent[d] &&
            (whole->extent[d] % part->extent[d] ||
             !layout_shrink(choice->table, layout, d, (int)(whole->extent[d] / part->extent[d]))))
            return conversion_cost(choice, layout, layout_of_parts(choice, part, whole), whole);
    return 0;
}

static double concatenate_cost(const struct layout_choice *choice, const struct ir_operation *op,
                               const struct layout *layout)
{
    double cost = 0;
    for (int i = 0; i < op->operand_count; i++) {
        const struct class *operand = class_of(choice, op->operands[i]);
        bool possible;
        const struct layout *wanted = layout_rule_operand(choice->table, op, i, layout, &possible);
        if (wanted && operand && operand->layout)
            cost += conversion_cost(choice, operand->layout, wanted, op->operands[i]->type);
        else if (!wanted)
            return parts_cost(choice, op->operands[0]->type, op->results[0]->type, layout);
    }
    return cost;
}

/* The operation behind a reshape or permute whose operand has no layout yet; NULL: there is none. */
static const struct ir_operation *undecided_behind(const struct layout_choice *choice, const struct ir_operation *op)
{
    const struct class *class = only_turns(op) ? class_of(choice, op->operands[0]) : NULL;
    return class && !class->layout ? op->operands[0]->definition : NULL;
}

/* What a concatenate behind reshapes and permutes would cost if their result had the layout. */
static double cost_behind(const struct layout_choice *choice, const struct ir_operation *op,
                          const struct layout *layout)
{
    const struct ir_operation *behind = undecided_behind(choice, op);
    bool possible;
    if (op->opcode == OP_CONCATENATE)
        return concatenate_cost(choice, op, layout);
    const struct layout *wanted = behind ? layout_rule_operand(choice->table, op, 0, layout, &possible) : NULL;
    return wanted ? cost_behind(choice, behind, wanted) : 0;
}

/* The layout with what a concatenate behind puts together in registers; NULL: there is no such, or no registers. */
static const struct layout *with_parts_behind(const struct layout_choice *choice, const struct ir_operation *op,
                                              const struct layout *layout)
{
    const struct ir_operation *behind = undecided_behind(choice, op);
    bool possible;
    if (op->opcode == OP_CONCATENATE) {
        int axis = (int)ir_number(op, IR_ATTRIBUTE_AXIS, 0);
        bool even = layout->extent[axis] == op->operand_count * op->operands[0]->type->extent[axis];
        return even ? layout_with_parts(choice->table, layout, axis, op->operand_count) : NULL;
    }
    const struct layout *wanted = behind ? layout_rule_operand(choice->table, op, 0, layout, &possible) : NULL;
    const struct layout *parts = wanted ? with_parts_behind(choice, behind, wanted) : NULL;
    return parts ? layout_rule_result(choice->table, op, parts) : NULL;
}

static const struct layout *with_parts(const struct layout_choice *choice, const struct touch *touch,
                                       const struct layout *layout)
{
    const struct ir_operation *op = touch->op;
    if (touch->operand < 0)
        return with_parts_behind(choice, op, layout);
    if (op->opcode != OP_EXTRACT)
        return NULL;
    for (int d = 0; d < layout->rank && layout; d++) {
        int64_t factor = layout->extent[d] / op->results[0]->type->extent[d];
        if (factor > 1)
            layout = layout_with_parts(choice->table, layout, d, (int)factor);
        if (!layout)
            return NULL;
    }
    return layout;
}

static double gather_cost(const struct layout_choice *choice, const struct ir_operation *op, const struct layout *tile,
                          const struct layout *index)
{
    const struct layout *layouts[3] = {tile, index, index};
    return move_plan_with(choice->plans, op, layouts)->cost;
}

/* Of the operation when `value`, its operand of that number or its result (-1), has `layout`. */
static double move_cost(const struct layout_choice *choice, const struct ir_operation *op, int operand,
                        const struct layout *layout)
{
    if (op->opcode == OP_FLIP)
        return operand < 0 ? move_plan_with(choice->plans, op, (const struct layout *[]){layout, layout})->cost : 0;
    if (op->opcode == OP_CONCATENATE && operand < 0)
        return concatenate_cost(choice, op, layout);
    bool whole = op->opcode == OP_GATHER && operand == 0;
    const struct class *other = class_of(choice, whole || operand >= 0 ? op->results[0] : op->operands[0]);
    if (op->opcode == OP_GATHER) {
        if (operand == 1 || !other || !other->layout)
            return 0;
        return whole ? gather_cost(choice, op, layout, other->layout) : gather_cost(choice, op, other->layout, layout);
    }
    bool possible;
    const struct layout *wanted = other && other->layout
                                      ? layout_rule_operand(choice->table, op, operand, other->layout, &possible)
                                      : NULL;
    return wanted ? conversion_cost(choice, layout, wanted, op->operands[operand]->type) : 0;
}

/* A reshape or permute, or several, in front of a concatenate that has its layout: what its operand would have to be for
 * nothing to move; NULL: there is no such. */
static const struct layout *wanted_as_part(const struct layout_choice *choice, const struct ir_operation *op)
{
    const struct class *class = only_turns(op) ? class_of(choice, op->results[0]) : NULL;
    bool possible;
    if (!class || class->layout)
        return NULL;
    for (const struct ir_use *use = op->results[0]->uses; use; use = use->next) {
        const struct class *whole = use->user->opcode == OP_CONCATENATE ? class_of(choice, use->user->results[0])
                                                                        : NULL;
        const struct layout *part = whole && whole->layout  ? layout_rule_operand(choice->table, use->user, use->index,
                                                                                  whole->layout, &possible)
                                    : only_turns(use->user) ? wanted_as_part(choice, use->user)
                                                            : NULL;
        if (part)
            return layout_rule_operand(choice->table, op, 0, part, &possible);
    }
    return NULL;
}

static void propose(struct candidates *candidates, const struct layout *layout);
static const struct layout *ordered_layout(const struct layout_choice *choice, const struct ir_type *type, int axis);

/* Parts in registers of their own; the axis in as few threads as it takes; for both tiles of a gather one layout. */
static void propose_moves(const struct layout_choice *choice, const struct ir_operation *op, int operand,
                          const struct ir_type *type, struct candidates *candidates)
{
    if (operand == 0)
        propose(candidates, wanted_as_part(choice, op));
    if (op->opcode == OP_EXTRACT && operand == 0)
        propose(candidates, layout_of_parts(choice, op->results[0]->type, type));
    if (op->opcode == OP_CONCATENATE && operand < 0)
        propose(candidates, layout_of_parts(choice, op->operands[0]->type, type));
    if (op->opcode == OP_FLIP || op->opcode == OP_GATHER)
        propose(candidates, ordered_layout(choice, type, (int)ir_number(op, IR_ATTRIBUTE_AXIS, 0)));
    if (op->opcode != OP_GATHER || !ir_type_same_shape(op->operands[0]->type, op->operands[1]->type))
        return;
    const struct class *other = class_of(choice, operand == 0 ? op->results[0] : op->operands[0]);
    if (other)
        propose(candidates, other->layout);
}

/* What an operation that touches the class costs when the class has `layout`. */
static double touch_cost(const struct layout_choice *choice, const struct touch *touch, const struct layout *layout)
{
    struct ir_operation *op = touch->op;
    struct ir_value *tile = layout_rule_tile(op);
    struct memory_access access;
    bool possible;
    if (tile == touch->value && memory_access_of(op, &access))
        return access_cost(choice, &access, layout);
    if (op->opcode == OP_REDUCE && touch->operand >= 0) {
        double cost = layout_rule_reduce_cost(op, layout);
        const struct class *result = class_of(choice, op->results[0]);
        if (cost < 1e8 && result && result->layout)
            cost += conversion_cost(choice, layout_rule_result(choice->table, op, layout), result->layout,
                                    op->results[0]->type);
        return cost;
    }
    if (op->opcode == OP_REDUCE) {
        const struct class *operand = class_of(choice, op->operands[0]);
        return operand && operand->layout
                   ? conversion_cost(choice, layout_rule_result(choice->table, op, operand->layout), layout,
                                     touch->value->type)
                   : 0;
    }
    if (move_is_planned(op))
        return move_cost(choice, op, touch->operand, layout);
    if (op->opcode == OP_SCAN) /* once for all its tiles, which have one layout */
        return touch->operand == 0 ? layout_rule_reduce_cost(op, layout) : 0;
    if (op->opcode == OP_DOT)
        return touch->operand < 0 && layout != dot_layout(choice, op)
                   ? (ir_attribute(op, IR_ATTRIBUTE_INSTRUCTION) ? 1e7 : 20.0) * layout_registers(layout)
                   : 0;
    if (touch->operand < 0) { /* the result: neighbours behind it convert */
        double cost = layout_rule_same(op, op->operand_count) ? layout_registers(layout) : 0;
        cost += cost_behind(choice, op, layout);
        for (int i = 0; i < op->operand_count && tile; i++) {
            const struct class *operand = class_of(choice, op->operands[i]);
            if (!operand || !operand->layout || operand->layout->rank == 0 || layout_rule_same(op, i))
                continue;
            if (op->opcode != OP_BROADCAST && op->opcode != OP_PERMUTE && op->opcode != OP_RESHAPE &&
                op->opcode != OP_EXTRACT)
                continue;
            const struct layout *wanted = layout_rule_operand(choice->table, op, i, layout, &possible);
            cost += possible ? conversion_cost(choice, operand->layout, wanted, op->operands[i]->type)
                             : 8.0 * (double)ir_type_elements(op->operands[i]->type);
        }
        return cost;
    }
    /* An operand: the operation's own tile may be decided. */
    const struct class *owner = tile && tile != touch->value ? class_of(choice, tile) : NULL;
    if (op->opcode == OP_EXTRACT && (!owner || !owner->layout))
        return parts_cost(choice, op->results[0]->type, touch->value->type, layout);
    const struct layout *part = wanted_as_part(choice, op);
    if (part)
        return conversion_cost(choice, layout, part, touch->value->type);
    if (!owner || !owner->layout || layout_rule_same(op, touch->operand))
        return 0;
    const struct layout *wanted = layout_rule_operand(choice->table, op, touch->operand, owner->layout, &possible);
    return possible ? conversion_cost(choice, layout, wanted, touch->value->type)
                    : 8.0 * (double)ir_type_elements(touch->value->type);
}

static double class_cost(const struct layout_choice *choice, const struct class *class, const struct layout *layout,
                         double limit)
{
    double cost = 0;
    for (const struct touch *touch = class->touches; touch && cost < limit; touch = touch->next)
        cost += touch->weight * touch_cost(choice, touch, layout);
    return cost;
}

/* ---- candidates ---- */

static void propose(struct candidates *candidates, const struct layout *layout)
{
    if (!layout || candidates->count == CANDIDATES)
        return;
    for (int i = 0; i < candidates->count; i++)
        if (candidates->layout[i] == layout)
            return;
    candidates->layout[candidates->count++] = layout;
}

static void int_extents(const struct ir_type *type, int *extent)
{
    for (int d = 0; d < type->rank; d++)
        extent[d] = (int)type->extent[d];
}

/* The instruction's own where there is one.  Else factors come from shared memory: lanes in a rectangle read few
 * different rows and columns; warps along the rows keep row reductions inside a warp. */
static const struct layout *dot_layout(const struct layout_choice *choice, const struct ir_operation *dot)
{
    const struct ir_type *type = dot->results[0]->type;
    const struct layout *product = product_accumulator(choice->table, dot, choice->warps);
    int extent[LAYOUT_RANK], order[LAYOUT_RANK], warp_order[LAYOUT_RANK], lanes[LAYOUT_RANK];
    if (product)
        return product;
    int row = type->rank - 2, column = type->rank - 1;
    int_extents(type, extent);
    for (int i = 0; i < type->rank; i++) {
        order[i] = type->rank - 1 - i;
        warp_order[i] = i == 0 ? row : i == 1 ? column : type->rank - 1 - i;
        lanes[i] = 32;
    }
    lanes[column] = 8;
    lanes[row] = 4;
    return layout_blocked_by(choice->table, type->rank, extent, order, 4, lanes, warp_order, choice->warps);
}

/* The axis from its lowest bits: registers, lanes, warps. */
static const struct layout *ordered_layout(const struct layout_choice *choice, const struct ir_type *type, int axis)
{
    int extent[LAYOUT_RANK], order[LAYOUT_RANK], next = 0;
    int_extents(type, extent);
    order[next++] = axis;
    for (int d = type->rank - 1; d >= 0; d--)
        if (d != axis)
            order[next++] = d;
    int even = extent[axis] & -extent[axis], vector = even / (32 * choice->warps);
    return layout_blocked(choice->table, type->rank, extent, order, vector > 1 ? vector : 1, choice->warps);
}

/* What is read and stretched: as its load likes it, the new elements in the same thread. */
static void propose_stretched(const struct layout_choice *choice, const struct ir_operation *op,
                              struct candidates *candidates)
{
    struct memory_access access;
    const struct layout *suits[2];
    int extent[LAYOUT_RANK];
    if (!stretched_load(op, &access))
        return;
    int count = memory_access_layouts(choice->table, &access, choice->warps, suits);
    for (int i = 0; i < count; i++) {
        int_extents(op->operands[0]->type, extent);
        const struct layout *read = layout_reshape(choice->table, suits[i], op->operands[0]->type->rank, extent);
        int_extents(op->results[0]->type, extent);
        propose(candidates, read ? layout_extend(choice->table, read, extent) : NULL);
    }
}

static void propose_for(const struct layout_choice *choice, const struct touch *touch, struct candidates *candidates)
{
    struct ir_operation *op = touch->op;
    struct ir_value *tile = layout_rule_tile(op);
    struct memory_access access;
    const struct layout *suits[2];
    bool possible;
    if (tile == touch->value && memory_access_of(op, &access)) {
        int count = memory_access_layouts(choice->table, &access, choice->warps, suits);
        for (int i = 0; i < count; i++)
            propose(candidates, suits[i]);
    }
    if (op->opcode == OP_DOT && touch->operand < 0)
        propose(candidates, dot_layout(choice, op));
    if ((op->opcode == OP_REDUCE || op->opcode == OP_SCAN) && touch->operand >= 0)
        propose(candidates, ordered_layout(choice, touch->value->type, (int)ir_number(op, IR_ATTRIBUTE_AXIS, 0)));
    if (op->opcode == OP_SCAN && touch->operand >= 0) {
        int axis = (int)ir_number(op, IR_ATTRIBUTE_AXIS, 0), last = touch->value->type->rank - 1;
        propose(candidates, scan_layout(choice->table, touch->value->type, axis, last, choice->warps));
        propose(candidates, scan_layout(choice->table, touch->value->type, axis, axis, choice->warps));
    }
    if (touch->operand < 0 && op->result_count == 1 && op->operand_count > 0) {
        const struct class *operand = class_of(choice, op->operands[0]);
        if (operand && operand->layout &&
            (op->opcode == OP_REDUCE || op->opcode == OP_PERMUTE || op->opcode == OP_RESHAPE ||
             op->opcode == OP_EXTRACT || op->opcode == OP_CONCATENATE))
            propose(candidates, layout_rule_result(choice->table, op, operand->layout));
    }
    propose_moves(choice, op, touch->operand, touch->value->type, candidates);
    if (touch->operand < 0)
        propose_stretched(choice, op, candidates);
    const struct class *owner = touch->operand >= 0 && tile && tile != touch->value ? class_of(choice, tile) : NULL;
    if (owner && owner->layout && !layout_rule_same(op, touch->operand) && op->opcode != OP_REDUCE)
        propose(candidates, layout_rule_operand(choice->table, op, touch->operand, owner->layout, &possible));
}

static void decide(struct layout_choice *choice, struct class *class)
{
    struct candidates candidates = {0};
    for (const struct touch *touch = class->touches; touch; touch = touch->next)
        propose_for(choice, touch, &candidates);
    propose(&candidates, memory_default_layout(choice->table, class->first->type, choice->warps));
    for (const struct touch *touch = class->touches; touch; touch = touch->next)
        for (int i = 0, count = candidates.count; i < count; i++)
            propose(&candidates, with_parts(choice, touch, candidates.layout[i]));
    double best = 1e300;
    choice->plans = arena_create();
    for (int i = 0; i < candidates.count; i++) {
        double cost = class_cost(choice, class, candidates.layout[i], best);
        if (cost < best) {
            best = cost;
            class->layout = candidates.layout[i];
        }
    }
    arena_destroy(choice->plans);
    choice->plans = NULL;
}

/* Whether it is read from places that are no neighbours: no layout makes one access of several. */
static bool is_scattered(const struct class *class)
{
    struct memory_access access;
    for (const struct touch *touch = class->touches; touch; touch = touch->next)
        if (layout_rule_tile(touch->op) == touch->value && memory_access_of(touch->op, &access) && access.dimension < 0)
            return true;
    return false;
}

/* Products first, then the larger; of equal ones those last that are scattered in memory, which may as well lie as their
 * users want them: a column of scales, say, as the rows of the product that they scale.  (Products of 8-bit floats with
 * a scale for each row and 128 of k: 953 TFLOP/s instead of 785 on an H200, without two barriers an iteration that all
 * consumers meet at.  The same for what is contiguous, which is then read many times, made attention's backward pass
 * 20 % slower.) */
static bool comes_before(const struct class *a, const struct class *b)
{
    if (a->has_dot != b->has_dot)
        return a->has_dot;
    if (a->rank != b->rank)
        return a->rank > b->rank;
    if (a->stretches != b->stretches || a->joins != b->joins)
        return a->stretches != b->stretches ? b->stretches : b->joins;
    if (a->joins)
        return a->first->id > b->first->id;
    bool a_scattered = is_scattered(a), b_scattered = is_scattered(b);
    return a_scattered != b_scattered ? b_scattered : a->first->id < b->first->id;
}

struct layout_choice *layout_choose(struct ir_function *function, int warps, struct arena *arena)
{
    struct layout_choice *choice = ARENA_NEW(arena, struct layout_choice);
    choice->function = function;
    choice->arena = arena;
    choice->table = ir_context_layouts(function->module->context);
    choice->warps = warps;
    choice->count = function->next_value_id;
    choice->parent = ARENA_ARRAY(arena, int, choice->count);
    choice->cheap = ARENA_ARRAY(arena, bool, choice->count);
    choice->classes = ARENA_ARRAY(arena, struct class *, choice->count);
    for (int i = 0; i < choice->count; i++)
        choice->parent[i] = i;
    mark_cheap(choice, function->body);
    unite_all(choice, function->body);
    touch_all(choice, function->body, 1);
    struct class **order = choice->order.data;
    for (int i = 1; i < choice->order.count; i++) /* few classes: insertion keeps it stable */
        for (int k = i; k > 0 && comes_before(order[k], order[k - 1]); k--) {
            struct class *swap = order[k];
            order[k] = order[k - 1];
            order[k - 1] = swap;
        }
    for (int i = 0; i < choice->order.count; i++)
        decide(choice, order[i]);
    return choice;
}

const struct layout *layout_chosen(const struct layout_choice *choice, const struct ir_value *value)
{
    if (value->id >= choice->count)
        return value->type->layout;
    const struct class *class = class_of(choice, value);
    return class ? class->layout : NULL;
}

const struct layout *layout_chosen_access(const struct layout_choice *choice, const struct ir_operation *op)
{
    struct memory_access access;
    const struct layout *suits[2];
    if (!memory_access_of(op, &access) || !memory_access_layouts(choice->table, &access, choice->warps, suits))
        return NULL;
    return suits[0];
}

/* ---- warps ---- */

/* dot: of the largest product, dots: of a block's products together; reduced_tiles: operands of all reductions; loaded:
 * bytes of an element of the last load; sorted: the longest line; carried: the largest tile that goes round a loop;
 * sums: how many do */
struct sizes {
    int64_t elements, reduced, dot, dots, sorted, carried;
    int loads, stores, reductions, reduced_tiles, loaded, sums;
    bool looped;
};

/* Elements of the products of one block: their accumulators live at the same time. */
static int64_t products_of(const struct ir_block *block)
{
    int64_t elements = 0;
    for (const struct ir_operation *op = block->first; op; op = op->next)
        if (op->opcode == OP_DOT)
            elements += ir_type_elements(op->results[0]->type);
    return elements;
}

static void measure(struct ir_operation *op, void *context)
{
    struct sizes *sizes = context;
    const struct ir_value *tile = layout_rule_tile(op);
    if (op->opcode == OP_REDUCE) {
        sizes->reduced = int64_max(sizes->reduced, ir_type_elements(op->operands[0]->type));
        sizes->reductions++;
        sizes->reduced_tiles += op->operand_count;
        sizes->looped |= op->block->parent != NULL;
    }
    for (int i = 0; op->opcode == OP_FOR && i < op->result_count; i++)
        if (layout_rule_has(op->results[i])) {
            sizes->carried = int64_max(sizes->carried, ir_type_elements(op->results[i]->type));
            sizes->sums++;
        }
    if (op->opcode == OP_SORT)
        sizes->sorted = int64_max(sizes->sorted, op->operands[0]->type->extent[ir_number(op, IR_ATTRIBUTE_AXIS, 0)]);
    if (!tile)
        return;
    int64_t elements = ir_type_elements(tile->type);
    sizes->stores += elements > 1 && ir_has_trait(op, IR_TRAIT_WRITE | IR_TRAIT_ATOMIC);
    if (elements > 1 && ir_has_trait(op, IR_TRAIT_READ)) {
        sizes->loads++;
        sizes->loaded = ir_element_info[tile->type->element].bits / 8;
    }
    sizes->elements = int64_max(sizes->elements, elements);
    if (op->opcode == OP_DOT) {
        sizes->dot = int64_max(sizes->dot, elements);
        sizes->dots = int64_max(sizes->dots, products_of(op->block));
    }
}

/* A tile is read, brought to numbers, and that is all. */
static bool only_reduces(const struct sizes *sizes)
{
    return sizes->loads == 1 && sizes->loaded > 0 && !sizes->stores && !sizes->looped;
}

/* No more than 32 elements of a line that is sorted for each thread: the network between registers is written out. */
static int64_t sorting_warps(const struct sizes *sizes)
{
    int64_t warps = 1;
    while (warps < 32 && sizes->sorted > warps * 32 * 32)
        warps *= 2;
    return warps;
}

/* Elementwise work wants some 16 elements a thread, so that several 16-byte loads are in flight.  Rows that are
 * reduced want 32, so that fewer threads have to meet, and no more than 16 warps.  (Measured on an H200: softmax,
 * layernorm and rmsnorm of 1024 to 65536 bf16.)  Rows that are read for one sum and no more are best read by two loads
 * of 16 bytes a thread (sums of 4096 bf16: 36.5 us on 8 warps, 38.4 on 4; of 4096 f32: 66.7 on 16, 70.5 on 4), on
 * 32 warps where that is enough (of 16384 bf16: 67.3, 70.3 on 16); those with another reduction, which write no tile,
 * by eight, so that more rows are under way (log-sum-exp of 4096 bf16: 41.7 us on 2 warps, 45.4 on 4; of 16384: 83 on
 * 8, 107 on 16).  Rows of 8192 elements and more of 16 bits, read by one load and no other, want 64: more bytes are on
 * their way, and what lies behind a row's end costs less (softmax of 5120 bf16 in 8192: 28.5 us on 8 warps, 26.9 on 4; of
 * 16384: 139 on 16, 135 on 8).  Rows of more than 4096 whose length is no power of two want up to 64 (of 6144 and 12288
 * bf16: softmax 0.98 and 0.97 of a copy with 48, 0.91 and 0.87 with 24).  Those in a loop that carries sums of columns
 * beside them want 16 where they are short and up to 40 of one sum where they are long: registers are for the sums, and
 * what lies behind a row's end is for nothing (gradients of RMS norm of 5120 bf16: 45 us on 8 warps for 8192, 40 on 4 for
 * 5120).
 *
 * Products take 64 accumulators a thread, on up to 8 warps, on up to 16 where 8 would hold more than 96 together: ptxas
 * spills then and takes minutes.  A number that the author gave is taken, as a power of two, unless a product's
 * accumulators would not fit into a thread's registers (more than 128). */
int layout_choose_warps(struct ir_function *function, bool producer)
{
    struct sizes sizes = {0};
    ir_walk(function->body, measure, &sizes);
    int products = product_warps(function, function->warps, producer);
    if (products)
        return products;
    if (function->warps > 0) {
        int given = 1;
        while (2 * given <= function->warps && given < 32)
            given *= 2;
        while (given < 16 && sizes.dot > (int64_t)given * 32 * 128)
            given *= 2;
        return (int)int64_max(given, sorting_warps(&sizes));
    }
    bool reduces = sizes.reduced > 0 && sizes.reduced >= sizes.elements;
    int64_t each = sizes.dot ? 64 : reduces ? 32 : 16, elements = sizes.dot ? sizes.dots : sizes.elements;
    int64_t most = sizes.dot ? sizes.dots > 8 * 32 * 96 ? 16 : 8 : 16;
    if (reduces && !sizes.dot) {
        elements = sizes.reduced;
        bool only = only_reduces(&sizes), once = only && sizes.reduced_tiles == 1;
        each = once ? 32 / sizes.loaded : only && sizes.reductions > 1 ? 128 / sizes.loaded : each;
        most = once && elements <= 32 * 32 * each ? 32 : most;
        if (sizes.looped && sizes.carried >= sizes.reduced) {
            each = elements <= SHORT_ROW ? 16 : sizes.sums == 1 ? 40 : 32;
        } else if (!sizes.looped && !only && elements >= LONG_ROW && elements <= 2 * LONG_ROW && sizes.loads == 1 &&
                   sizes.loaded == 2) {
            each = 64;
        }
    }
    int64_t warps = 1;
    if (reduces && !sizes.dot && !sizes.looped && each == 32 && elements > LONG_ROW / 2 && elements & (elements - 1))
        each = 64;
    while (warps < most && warps * 32 * each < elements)
        warps *= 2;
    while (!reduces && warps < 4 && warps * 32 * 4 < elements)
        warps *= 2;
    return (int)int64_max(warps, sorting_warps(&sizes));
}
