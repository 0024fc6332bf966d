/* Evaluates host expressions and binds the names of a call, as the wrapper of a launch does. */
#include "driver/run/host_value.h"

#include <limits.h>
#include <string.h>

#include "base/plant.h"
#include "ir/arithmetic.h"

/* False: a u64 that no i64 is. */
static bool scalar_value(const struct host_call *call, int64_t parameter, int64_t *value)
{
    const struct kernel_parameter *p = &call->entry->parameters.data[parameter];
    enum ir_element element = p->kind == KERNEL_ENUM ? IR_I32 : p->element;
    *value = ir_bits_to_int(element, call->arguments[parameter].bits);
    return element != IR_U64 || *value >= 0;
}

static double float_value(const struct host_call *call, const struct kernel_expression *e)
{
    if (e->op == KERNEL_HOST_FLOAT_CONSTANT)
        return ir_bits_to_double(IR_F64, (uint64_t)e->number);
    if (e->op == KERNEL_HOST_FLOAT_SCALAR)
        return ir_bits_to_double(call->entry->parameters.data[e->number].element, call->arguments[e->number].bits);
    die("host expression %d is no float", (int)e->op);
}

static bool leaf(const struct host_call *call, const struct kernel_expression *e, int64_t *value)
{
    const struct host_argument *argument = call->arguments +
                                           (e->number < call->entry->parameters.count ? e->number : 0);
    switch (e->op) {
    case KERNEL_HOST_CONSTANT: *value = e->number; return true;
    case KERNEL_HOST_NAME: *value = call->names[e->number]; return true;
    case KERNEL_HOST_KEY: *value = call->keys[e->number]; return true;
    case KERNEL_HOST_EXTENT: *value = argument->extent[e->dimension]; return true;
    case KERNEL_HOST_STRIDE: *value = argument->stride[e->dimension]; return true;
    case KERNEL_HOST_PRESENT: *value = argument->present; return true;
    case KERNEL_HOST_ALIGNED:
        *value = !argument->present || (uintptr_t)argument->data % (uintptr_t)e->dimension == 0;
        return true;
    case KERNEL_HOST_SM_COUNT: *value = 1; return true;
    default: return false;
    }
}

/* The predicate of a comparison, of integers or floats; -1: the operation is none. */
static int predicate_of(enum kernel_host_op op)
{
    switch (op) {
    case KERNEL_HOST_EQ:
    case KERNEL_HOST_FLOAT_EQ: return IR_PREDICATE_EQ;
    case KERNEL_HOST_NE:
    case KERNEL_HOST_FLOAT_NE: return IR_PREDICATE_NE;
    case KERNEL_HOST_LT:
    case KERNEL_HOST_FLOAT_LT: return IR_PREDICATE_LT;
    case KERNEL_HOST_LE:
    case KERNEL_HOST_FLOAT_LE: return IR_PREDICATE_LE;
    case KERNEL_HOST_GT:
    case KERNEL_HOST_FLOAT_GT: return IR_PREDICATE_GT;
    case KERNEL_HOST_GE:
    case KERNEL_HOST_FLOAT_GE: return IR_PREDICATE_GE;
    default: return -1;
    }
}

static bool compare_floats(enum kernel_host_op op, double a, double b)
{
    bool equal = a == b || (PLANTED(host_le_of_nan) && op == KERNEL_HOST_FLOAT_LE && !(a > b));
    return arithmetic_compare((enum ir_predicate)predicate_of(op), a<b, equal, a> b);
}

static enum ir_opcode opcode_of(enum kernel_host_op op)
{
    switch (op) {
    case KERNEL_HOST_ADD: return OP_ADD;
    case KERNEL_HOST_SUB: return OP_SUB;
    case KERNEL_HOST_MUL: return OP_MUL;
    case KERNEL_HOST_DIV: return OP_DIV;
    case KERNEL_HOST_REM: return OP_REM;
    case KERNEL_HOST_MIN: return OP_MIN;
    case KERNEL_HOST_MAX: return OP_MAX;
    case KERNEL_HOST_NEG: return OP_NEG;
    case KERNEL_HOST_ABS: return OP_ABS;
    case KERNEL_HOST_SHL: return OP_SHL;
    case KERNEL_HOST_SHR: return OP_SHR;
    case KERNEL_HOST_BIT_AND: return OP_AND;
    case KERNEL_HOST_BIT_OR: return OP_OR;
    case KERNEL_HOST_BIT_XOR: return OP_XOR;
    case KERNEL_HOST_BIT_NOT: return OP_NOT;
    default: die("host expression %d", op);
    }
}

/* False: i64 does not hold the result. */
static bool arithmetic(enum kernel_host_op op, int64_t a, int64_t b, int64_t *value)
{
    int predicate = predicate_of(op);
    wide_integer exact;
    if (predicate >= 0)
        exact = arithmetic_compare((enum ir_predicate)predicate, a < b, a == b, a > b);
    else if (op == KERNEL_HOST_CDIV)
        exact = arithmetic_divide_up(a, b);
    else if (op == KERNEL_HOST_ILOG2)
        exact = arithmetic_log2(a);
    else if (op == KERNEL_HOST_NOT)
        exact = !a;
    else if (!arithmetic_exact(opcode_of(op), a, b, &exact))
        return false;
    *value = (int64_t)exact;
    return arithmetic_fits(exact, IR_I64);
}

/* One evaluation: the cells that are kept, and the turns that loops have taken. */
struct evaluation {
    const struct host_call *call;
    struct kernel_cells_plan plan;
    int64_t *cells;
    int turns;
};

static bool evaluate(struct evaluation *run, const struct kernel_expression *e, int64_t *value)
{
    int64_t a = 0, b = 0;
    if (e->op == KERNEL_HOST_CELL) {
        *value = run->cells[kernel_cells_first(&run->plan, e->cells) + e->number];
        return true;
    }
    if (e->op == KERNEL_HOST_SCALAR)
        return scalar_value(run->call, e->number, value);
    if (leaf(run->call, e, value))
        return true;
    if (e->op >= KERNEL_HOST_FLOAT_EQ && e->op <= KERNEL_HOST_FLOAT_GE) {
        *value = compare_floats(e->op, float_value(run->call, e->operand[0]), float_value(run->call, e->operand[1]));
        return true;
    }
    if (!evaluate(run, e->operand[0], &a))
        return false;
    if (e->op == KERNEL_HOST_SELECT)
        return evaluate(run, e->operand[a ? 1 : 2], value);
    if (e->op == KERNEL_HOST_AND || e->op == KERNEL_HOST_OR) {
        *value = a != 0;
        return (e->op == KERNEL_HOST_AND) != (a != 0) || evaluate(run, e->operand[1], value);
    }
    if (e->operand[1] && !evaluate(run, e->operand[1], &b))
        return false;
    return arithmetic(e->op, a, b, value);
}

static bool fill_cells(struct evaluation *run, const struct kernel_cells *loop, int from, int to);

static bool take_turns(struct evaluation *run, const struct kernel_cells *loop, int64_t *cells)
{
    int64_t *next = ARENA_ARRAY(run->call->arena, int64_t, loop->count), more = 0;
    for (;;) {
        if (!fill_cells(run, loop, 0, loop->body_from) || !evaluate(run, loop->condition, &more))
            return false;
        if (!more)
            return true;
        if (!fill_cells(run, loop, loop->body_from, INT_MAX))
            return false;
        for (int i = 0; i < loop->count; i++)
            if (!evaluate(run, loop->next[i], &next[i]))
                return false;
        for (int i = 0; i < loop->count; i++)
            cells[i] = next[i];
        if (++run->turns > KERNEL_HOST_MOST_TURNS)
            return false;
    }
}

/* The cells within a loop, or outside all, with numbers from `from` to below `to`. */
static bool fill_cells(struct evaluation *run, const struct kernel_cells *loop, int from, int to)
{
    for (int i = 0; i < run->plan.count; i++) {
        const struct kernel_cells *cells = run->plan.data[i].cells;
        int64_t *values = run->cells + run->plan.data[i].first, wanted = 1;
        if (cells->within != loop || cells->number < from || cells->number >= to)
            continue;
        if (cells->guard && !evaluate(run, cells->guard, &wanted))
            return false;
        for (int k = 0; k < cells->count; k++)
            values[k] = 0;
        for (int k = 0; k < cells->count && wanted; k++)
            if (!evaluate(run, cells->start[k], &values[k]))
                return false;
        if (wanted && cells->condition && !take_turns(run, cells, values))
            return false;
    }
    return true;
}

static bool run_evaluation(struct evaluation *run, const struct kernel_expression *expression, int64_t *value)
{
    kernel_cells_collect(run->call->arena, expression, &run->plan);
    run->cells = ARENA_ARRAY(run->call->arena, int64_t, run->plan.cells);
    return fill_cells(run, NULL, 0, INT_MAX) && evaluate(run, expression, value);
}

bool host_evaluate(const struct host_call *call, const struct kernel_expression *expression, int64_t *value)
{
    struct evaluation run = {.call = call};
    return run_evaluation(&run, expression, value);
}

const char *host_failure(const struct host_call *call, const struct kernel_expression *expression, const char *text)
{
    struct evaluation run = {.call = call};
    int64_t value = 0;
    run_evaluation(&run, expression, &value);
    if (!text)
        text = expression->text ? expression->text : "an expression";
    if (run.turns > KERNEL_HOST_MOST_TURNS)
        return arena_printf(call->arena, "%s takes more than %d turns of its loops for these arguments", text,
                            KERNEL_HOST_MOST_TURNS);
    return arena_printf(call->arena, "%s does not fit 64 bits for these arguments", text);
}

static const struct kernel_set *find_set(const struct host_call *call, const struct kernel_key *key)
{
    int64_t holds = 0;
    for (int i = 0; i < key->set_count - 1; i++)
        if (!key->sets[i].when || (host_evaluate(call, key->sets[i].when, &holds) && holds))
            return &key->sets[i];
    return &key->sets[key->set_count - 1];
}

static bool is_member(const struct kernel_set *set, int64_t value)
{
    for (int i = 0; i < set->count; i++)
        if (set->values[i] == value)
            return true;
    return false;
}

/* Whether the source writes a number there, perhaps in brackets, whose value would say the same again. */
static bool is_number(const char *text)
{
    text += strspn(text, "(-");
    size_t digits = strspn(text, "0123456789");
    return digits && text[digits + strspn(text + digits, ")")] == 0;
}

static const char *set_problem(struct arena *arena, const char *key, const char *set, const char *text, int64_t bound)
{
    if (text && is_number(text))
        return arena_printf(arena, "no member of %s: %s is at least %s", key, set, text);
    return arena_printf(arena, "no member of %s: %s is at least %s, which is %lld", key, set, text ? text : "the bound",
                        (long long)bound);
}

static const char *bind_keys(struct arena *arena, struct host_call *call)
{
    for (int i = 0; i < call->entry->keys.count; i++) {
        const struct kernel_key *key = &call->entry->keys.data[i];
        const struct kernel_set *set = find_set(call, key);
        int64_t *value = &call->keys[i], bound = 0;
        if (key->at_least) {
            if (!host_evaluate(call, key->at_least, &bound))
                return host_failure(call, key->at_least, NULL);
            int k = 0;
            while (k < set->count && set->values[k] < bound)
                k++;
            if (k == set->count)
                return set_problem(arena, key->name, set->text, key->at_least->text, bound);
            *value = set->values[k];
            continue;
        }
        *value = key->parameter >= 0    ? ir_bits_to_int(IR_I32, call->arguments[key->parameter].bits)
                 : key->name_index >= 0 ? call->names[key->name_index]
                                        : set->values[0];
        if (!is_member(set, *value))
            return arena_printf(arena, "%s is %lld, which is not in %s", key->name, (long long)*value, set->text);
    }
    return NULL;
}

/* extent = multiply * name + add */
static const char *bind_from(struct arena *arena, const struct host_call *call, int parameter, int dimension,
                             const struct kernel_name *name, int64_t multiply, int64_t add, int64_t *value)
{
    const char *view = call->entry->parameters.data[parameter].name;
    long long extent = kernel_elements(&call->entry->parameters.data[parameter], dimension,
                                       call->arguments[parameter].extent[dimension]);
    *value = extent - add;
    if (multiply != 1 && *value % multiply != 0 && add == 0)
        return arena_printf(arena, "extent %d of %s is %lld, but it must be a multiple of %lld", dimension, view,
                            extent, (long long)multiply);
    if (multiply != 1 && *value % multiply != 0)
        return arena_printf(arena, "extent %d of %s is %lld, but it must be %lld*%s%+lld", dimension, view, extent,
                            (long long)multiply, name->name, (long long)add);
    *value /= multiply;
    if (*value >= 0)
        return NULL;
    return arena_printf(arena, "extent %d of %s is %lld, which makes %s negative (%lld)", dimension, view, extent,
                        name->name, (long long)*value);
}

/* By the place that the front end chose, else by the first view that is there and has it alone as an extent. */
static const char *bind_name(struct arena *arena, const struct host_call *call, int number, int64_t *value)
{
    const struct kernel_name *name = &call->entry->names.data[number];
    *value = 0;
    if (name->parameter >= 0 && call->arguments[name->parameter].present)
        return bind_from(arena, call, name->parameter, name->dimension, name, name->multiply, name->add, value);
    for (int i = 0; i < call->entry->parameters.count; i++) {
        const struct kernel_parameter *p = &call->entry->parameters.data[i];
        for (int d = 0; p->kind == KERNEL_VIEW && call->arguments[i].present && d < p->rank; d++)
            if (p->extent[d] && p->extent[d]->op == KERNEL_HOST_NAME && p->extent[d]->number == number)
                return bind_from(arena, call, i, d, name, 1, 0, value);
    }
    return NULL;
}

/* `text`: how the source writes the extent, or NULL; a number says all by itself. */
static const char *extent_problem(struct arena *arena, const struct kernel_parameter *p, int dimension, int64_t given,
                                  int64_t expected)
{
    const char *unit = kernel_elements(p, dimension, 1) == 2 ? " bytes of two elements" : "",
               *text = p->extent[dimension]->text;
    if (!text || is_number(text))
        return arena_printf(arena, "extent %d of %s is %lld%s, but it must be %lld", dimension, p->name,
                            (long long)given, unit, (long long)expected);
    return arena_printf(arena, "extent %d of %s is %lld%s, but %s is %lld", dimension, p->name, (long long)given, unit,
                        text, (long long)expected);
}

static const char *check_extents(struct arena *arena, const struct host_call *call)
{
    for (int i = 0; i < call->entry->parameters.count; i++) {
        const struct kernel_parameter *p = &call->entry->parameters.data[i];
        for (int d = 0; p->kind == KERNEL_VIEW && call->arguments[i].present && d < p->rank; d++) {
            int64_t expected = 0;
            if (!p->extent[d])
                continue;
            if (!host_evaluate(call, p->extent[d], &expected))
                return host_failure(call, p->extent[d], NULL);
            int64_t given = call->arguments[i].extent[d];
            if (expected != kernel_elements(p, d, given))
                return extent_problem(arena, p, d, given, expected);
        }
    }
    return NULL;
}

const char *host_bind(struct arena *arena, struct host_call *call)
{
    const char *problem = NULL;
    for (int i = 0; i < call->entry->names.count && !problem; i++)
        problem = bind_name(arena, call, i, &call->names[i]);
    if (!problem)
        problem = bind_keys(arena, call);
    if (!problem)
        problem = check_extents(arena, call);
    for (int i = 0; i < call->entry->requirements.count && !problem; i++) {
        const struct kernel_expression *requirement = call->entry->requirements.data[i];
        int64_t holds = 0;
        if (!host_evaluate(call, requirement, &holds))
            problem = host_failure(call, requirement, NULL);
        else if (!holds)
            problem = arena_printf(arena, "requires(%s) does not hold", requirement->text ? requirement->text : "...");
    }
    return problem;
}

struct host_call host_call_begin(struct arena *arena, const struct kernel_entry *entry,
                                 const struct host_argument *arguments)
{
    return (struct host_call){arena, entry, arguments, ARENA_ARRAY(arena, int64_t, entry->names.count),
                              ARENA_ARRAY(arena, int64_t, entry->keys.count)};
}

const char *host_deduce_extents(const struct host_call *call, int parameter, int64_t *extent)
{
    const struct kernel_parameter *p = &call->entry->parameters.data[parameter];
    for (int d = 0; d < p->rank; d++) {
        int name = p->binds[d];
        if (name >= 0 && call->entry->names.data[name].parameter == parameter)
            return arena_printf(call->arena, "`%s` alone tells its extent `%s`", p->name,
                                call->entry->names.data[name].name);
        if (!p->extent[d] || !host_evaluate(call, p->extent[d], &extent[d]) || extent[d] < 0)
            return arena_printf(call->arena, "extent %d of `%s` cannot be computed", d, p->name);
    }
    return NULL;
}

/* A condition that cannot be computed does not hold. */
static bool is_met(const struct host_call *call, const struct kernel_expression *condition)
{
    int64_t holds;
    return !condition || (host_evaluate(call, condition, &holds) && holds);
}

struct kernel_variant *host_pick_variant(const struct host_call *call)
{
    for (int i = 0; i < call->entry->variants.count; i++) {
        struct kernel_variant *variant = &call->entry->variants.data[i];
        bool fits = true;
        for (int k = 0; k < call->entry->keys.count; k++)
            fits = fits && variant->key_values[k] == call->keys[k];
        if (fits && is_met(call, variant->predicate) && is_met(call, variant->when))
            return variant;
    }
    return NULL;
}

/* ---- scratch ---- */

enum { MOST_SCRATCH = 1 << 26 }; /* elements */

const char *host_make_scratch(const struct host_call *call, const struct kernel_variant *variant,
                              struct interp_memory *memories, struct interp_argument *arguments)
{
    const struct kernel_expression **extent = variant->scratch_extents;
    for (int i = 0; i < call->entry->scratch.count; i++) {
        const struct kernel_scratch *scratch = &call->entry->scratch.data[i];
        struct interp_argument *argument = &arguments[i];
        size_t width = (size_t)ir_element_info[scratch->element].bits / 8;
        int64_t elements = 1;
        *argument = (struct interp_argument){0};
        for (int d = 0; d < scratch->rank; d++, extent++) {
            if (!host_evaluate(call, *extent, &argument->extent[d]))
                return host_failure(call, *extent, "an extent of `scratch`");
            if (argument->extent[d] < 0 || __builtin_mul_overflow(elements, argument->extent[d], &elements) ||
                elements > MOST_SCRATCH)
                return arena_printf(call->arena, "extent %d of scratch %s would be %lld", d, scratch->name,
                                    (long long)argument->extent[d]);
        }
        int64_t stride = 1;
        for (int d = scratch->rank - 1; d >= 0; stride *= argument->extent[d--])
            argument->stride[d] = stride;
        unsigned char *data = arena_alloc(call->arena, width * (size_t)elements + 64);
        data += -(uintptr_t)data % 64;
        for (int64_t k = 0; scratch->filled && k < elements; k++)
            memcpy(data + (size_t)k * width, &scratch->fill, width);
        argument->data = data;
        memories[i] = (struct interp_memory){.data = data, .size = width * (size_t)elements, .name = scratch->name};
        if (!scratch->filled)
            memories[i].written = arena_alloc(call->arena, memories[i].size + 1);
    }
    return NULL;
}
