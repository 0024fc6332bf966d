/* See trial.h.  Extents are a few steps of the grid that counts them, others and scalars are chosen by the trial's number:
 * powers of two, small ones, and large odd ones. */
#include "passes/lint/trial.h"

#include "ir/arithmetic.h"
#include "ir/kernel_facts.h"
#include "ir/query.h"

enum { MOST_EXTENT = 1 << 20, MOST_NUMBERS = 1 << 19 };

/* ---- elements that move ---- */

static int64_t permuted(const struct ir_operation *op, int64_t element)
{
    const struct ir_type *to = op->results[0]->type, *from = op->operands[0]->type;
    const struct ir_attribute *order = ir_attribute(op, IR_ATTRIBUTE_PERMUTATION);
    int64_t at[IR_MAX_RANK] = {0}, source = 0;
    for (int d = to->rank - 1; d >= 0; d--) {
        at[order->list[d]] = element % to->extent[d];
        element /= to->extent[d];
    }
    for (int d = 0; d < from->rank; d++)
        source = source * from->extent[d] + at[d];
    return source;
}

static int64_t stretched(const struct ir_operation *op, int64_t element)
{
    const struct ir_type *to = op->results[0]->type, *from = op->operands[0]->type;
    int64_t source = 0, row = 1;
    for (int d = to->rank - 1; d >= 0; d--) {
        int64_t at = element % to->extent[d];
        element /= to->extent[d];
        source += from->extent[d] == 1 ? 0 : at * row;
        row *= from->extent[d];
    }
    return source;
}

int64_t trial_source(const struct ir_operation *op, int64_t element)
{
    switch (op->opcode) {
    case OP_SPLAT: return 0;
    case OP_RESHAPE: return element;
    case OP_BROADCAST: return stretched(op, element);
    case OP_PERMUTE: return permuted(op, element);
    default: return -1;
    }
}

/* ---- numbers ---- */

/* A number for what may be any: other values have others. */
static int64_t chosen(const struct trial *trial, const struct ir_value *value)
{
    if (value->type->element == IR_BOOL)
        return (trial->number + value->id) & 1;
    switch (trial->number) {
    case 0: return 32 * (1 + value->id % 3);
    case 1: return 1 + value->id % 3;
    default: return 1009 + 2 * (int64_t)value->id;
    }
}

/* A scalar of which nothing is known.  Instances that are compared must have it in common. */
static bool choose(const struct trial *trial, const struct ir_value *value, int64_t *number)
{
    if (value->type->kind != IR_TILE || value->type->rank > 0 || ir_is_float(value->type->element) ||
        value->type->element == IR_POINTER || (!trial->alone && forms_vary(trial->forms, value, -1)))
        return false;
    *number = chosen(trial, value);
    return true;
}

int64_t trial_extent(const struct trial *trial, const struct ir_value *view, int dimension)
{
    bool is_argument = !view->definition && !view->block->parent && view->index < trial->function->facts.count;
    int class = is_argument ? trial->function->facts.data[view->index].extent_class[dimension] : 0;
    if (view->type->extent[dimension] >= 0)
        return view->type->extent[dimension];
    if (class)
        return trial->extents[class];
    return is_argument && trial->apart[view->index * IR_MAX_RANK + dimension]
               ? trial->apart[view->index * IR_MAX_RANK + dimension]
               : INT64_MAX;
}

static bool compare(const struct ir_operation *op, int64_t a, int64_t b)
{
    return arithmetic_compare((enum ir_predicate)ir_number(op, IR_ATTRIBUTE_PREDICATE, 0), a < b, a == b, a > b);
}

static bool select_number(struct trial *trial, const struct ir_operation *op, int64_t element, int64_t *number)
{
    int64_t condition;
    return trial_number(trial, op->operands[0], element, &condition) &&
           trial_number(trial, op->operands[condition ? 1 : 2], element, number);
}

/* Sums, quotients, comparisons and the like of integers that wrap nowhere. */
static bool compute(struct trial *trial, const struct ir_operation *op, int64_t element, int64_t *number)
{
    enum ir_element kind = op->results[0]->type->element;
    int64_t given[2] = {0};
    wide_integer result;
    if (op->operand_count > 2 || op->operand_count < 1)
        return false;
    for (int i = 0; i < op->operand_count; i++)
        if (ir_is_float(op->operands[i]->type->element) || !trial_number(trial, op->operands[i], element, &given[i]))
            return false;
    if (op->opcode == OP_COMPARE)
        *number = compare(op, given[0], given[1]);
    else if (op->opcode == OP_CAST && (ir_is_integer(kind) || kind == IR_BOOL))
        *number = kind == IR_BOOL ? given[0] != 0 : given[0];
    else if (op->opcode == OP_NOT && kind == IR_BOOL)
        *number = !given[0];
    else if (op->opcode == OP_POINTER_ADD)
        return !__builtin_add_overflow(given[0], given[1], number);
    else if (arithmetic_knows(op->opcode) && !ir_is_float(kind) &&
             arithmetic_exact(op->opcode, given[0], given[1], &result) && arithmetic_fits(result, kind))
        *number = (int64_t)result;
    else
        return false;
    return kind == IR_BOOL || arithmetic_fits(*number, kind);
}

/* An argument of the function or of a block. */
static bool argument_number(const struct trial *trial, const struct ir_value *value, int64_t *number)
{
    *number = 0;
    if (trial->has_turn[value->id])
        *number = trial->turn[value->id];
    else if (value->block->parent || value->type->element != IR_POINTER)
        return choose(trial, value, number);
    return true;
}

bool trial_number(struct trial *trial, const struct ir_value *value, int64_t element, int64_t *number)
{
    const struct ir_operation *op = value->definition;
    if (--trial->steps < 0)
        return false;
    if (!op)
        return argument_number(trial, value, number);
    element = value->type->rank ? element : 0;
    int dimension = (int)ir_number(op, IR_ATTRIBUTE_DIMENSION, 0);
    int64_t source = trial_source(op, element);
    if (source >= 0)
        return trial_number(trial, op->operands[0], source, number);
    switch (op->opcode) {
    case OP_CONSTANT: return ir_constant_integer(value, number);
    case OP_IOTA: *number = element; return true;
    case OP_GRID_INDEX: *number = trial->index[dimension]; return true;
    case OP_GRID_SIZE: *number = trial->count[dimension]; return *number > 0 || choose(trial, value, number);
    case OP_EXTENT:
        *number = trial_extent(trial, op->operands[0], dimension);
        return *number < INT64_MAX || ((trial->alone || !op->operands[0]->definition) && choose(trial, value, number));
    case OP_VIEW_POINTER: *number = 0; return !op->operands[0]->definition;
    case OP_SELECT: return select_number(trial, op, element, number) || choose(trial, value, number);
    default: break;
    }
    return (ir_has_trait(op, IR_TRAIT_ELEMENTWISE) && compute(trial, op, element, number)) ||
           choose(trial, value, number);
}

/* ---- the call ---- */

static void take_step(int64_t *extent, int64_t step)
{
    if (step > 0 && step <= MOST_EXTENT && *extent % step && *extent <= MOST_EXTENT / step)
        *extent *= step;
}

/* Extents are 3 to 5 times that many steps of a grid that counts them, or else that many elements. */
struct size {
    int64_t steps, elements;
};

static void choose_extents(struct trial *trial, struct size size)
{
    const struct kernel_entry *entry = trial->lint->entry;
    for (int class = 0; class <= entry->names.count; class ++) {
        int64_t extent = 1, by;
        bool counted = false;
        for (int g = 0; g < trial->function->grid_rank; g++) {
            bool covers = trial->function->grid_class[g] == class;
            if (covers)
                take_step(&extent, trial->function->grid_step[g]);
            else if (class && kernel_rounded_down(entry, trial->lint->variant, g, &by) == class)
                take_step(&extent, by), covers = true;
            counted = counted || covers;
        }
        trial->extents[class] = extent * (counted ? size.steps : size.elements) * (3 + (trial->number + class) % 3);
    }
}

/* As many instances as there may be, up to TRIAL_INSTANCES. */
static void choose_grid(struct trial *trial)
{
    const struct lint *lint = trial->lint;
    static const struct size sizes[] = {{16, 12}, {3, 12}, {1, 3}};
    trial->extents = ARENA_ARRAY(lint->arena, int64_t, lint->entry->names.count + 1);
    for (int i = 0; i < 3; i++) {
        int64_t instances = 1;
        choose_extents(trial, sizes[i]);
        for (int g = 0; g < trial->function->grid_rank; g++) {
            trial->count[g] = kernel_grid_count(lint->entry, lint->variant, g, trial->extents);
            instances = instances <= TRIAL_INSTANCES ? instances * trial->count[g] : instances;
        }
        trial->instances = instances <= TRIAL_INSTANCES ? instances : 0;
        if (trial->instances)
            return;
    }
}

/* An extent of no class is what a condition says: y: out f32[M + N]. */
static void take_equation(struct trial *trial, const struct ir_value *condition)
{
    const struct ir_operation *op = condition->definition;
    if (!op || op->opcode != OP_COMPARE || ir_number(op, IR_ATTRIBUTE_PREDICATE, 0) != IR_PREDICATE_EQ)
        return;
    const struct ir_operation *extent = op->operands[0]->definition;
    int64_t number;
    if (!extent || extent->opcode != OP_EXTENT || extent->operands[0]->definition ||
        extent->operands[0]->block->parent || !trial_number(trial, op->operands[1], 0, &number) || number < 1)
        return;
    int64_t dimension = ir_number(extent, IR_ATTRIBUTE_DIMENSION, 0);
    trial->apart[extent->operands[0]->index * IR_MAX_RANK + dimension] = number;
}

/* Of instances that are compared all conditions must hold; of one by itself none must be broken. */
static bool is_allowed(struct trial *trial)
{
    for (const struct ir_operation *op = trial->function->body->first; op; op = op->next) {
        int64_t holds;
        if (op->opcode != OP_ASSUME)
            continue;
        take_equation(trial, op->operands[0]);
        if (!trial_number(trial, op->operands[0], 0, &holds))
            holds = trial->alone;
        if (!holds)
            return false;
    }
    return true;
}

bool trial_begin(struct trial *trial, const struct lint *lint, const struct ir_function *function, struct forms *forms,
                 int number, bool alone)
{
    int values = function->next_value_id;
    *trial = (struct trial){.lint = lint,
                            .function = function,
                            .forms = forms,
                            .number = number,
                            .turn = ARENA_ARRAY(lint->arena, int64_t, values),
                            .has_turn = ARENA_ARRAY(lint->arena, bool, values),
                            .alone = alone,
                            .steps = MOST_NUMBERS};
    trial->apart = ARENA_ARRAY(lint->arena, int64_t, function->body->arguments.count *IR_MAX_RANK + 1);
    choose_grid(trial);
    for (int g = 0; g < function->grid_rank; g++)
        trial->index[g] = trial->count[g] > 1 ? (number + g) % trial->count[g] : alone ? number : 0;
    return is_allowed(trial);
}
