/* Instances: for each entry and target, the combinations of keys and facts with a schedule, the predicate and the grid
 * that the wrapper evaluates.  Most special first, the general one last. */
#include "front/kernels/kernel_plan.h"
#include "ir/kernel_facts.h"

#include <string.h>

/* ---- facts ---- */

struct facts_list {
    struct facts *data;
    int count, capacity;
};

static int layout_choices(const struct kernel_parameter *p)
{
    return p->kind == KERNEL_VIEW && p->strided && p->rank > 0 ? (p->rank > 1 ? 2 : 1) : 0;
}

/* What a specialisation says in so many words: `x.stride[d] == 1`, `bias`, `not bias`. */
static void read_special(const struct entry_plan *plan, const struct kernel_expression *tree, struct facts *facts)
{
    if (!tree)
        return;
    if (tree->op == KERNEL_HOST_AND) {
        read_special(plan, tree->operand[0], facts);
        read_special(plan, tree->operand[1], facts);
    }
    if (tree->op == KERNEL_HOST_PRESENT)
        facts->presence[tree->number] = 1;
    if (tree->op == KERNEL_HOST_NOT && tree->operand[0]->op == KERNEL_HOST_PRESENT)
        facts->presence[tree->operand[0]->number] = -1;
    if (tree->op != KERNEL_HOST_EQ)
        return;
    for (int side = 0; side < 2; side++) {
        const struct kernel_expression *stride = tree->operand[side], *one = tree->operand[1 - side];
        if (stride->op == KERNEL_HOST_STRIDE && one->op == KERNEL_HOST_CONSTANT && one->number == 1 &&
            plan->entry->parameters.data[stride->number].strided)
            facts->unit[stride->number] = stride->dimension;
    }
}

static struct facts make_facts(const struct entry_plan *plan, int special, int aligned)
{
    struct arena *arena = plan->kernel->front->arena;
    int count = plan->entry->parameters.count;
    struct facts facts = {special, aligned, ARENA_ARRAY(arena, int, count), ARENA_ARRAY(arena, int, count)};
    for (int i = 0; i < plan->entry->parameters.count; i++)
        facts.unit[i] = -1;
    return facts;
}

/* The product of the layouts of strided views, the last stride first; `rows_only`: each has its last stride 1. */
static void add_layouts(const struct entry_plan *plan, struct facts_list *list, struct facts facts, int parameter,
                        bool rows_only)
{
    struct arena *arena = plan->kernel->front->arena;
    int count = plan->entry->parameters.count;
    while (parameter < count &&
           (layout_choices(&plan->entry->parameters.data[parameter]) == 0 || facts.unit[parameter] >= 0))
        parameter++;
    if (parameter == count) {
        vector_push(arena, list, facts);
        return;
    }
    const struct kernel_parameter *p = &plan->entry->parameters.data[parameter];
    for (int choice = 0; choice < (rows_only ? 1 : layout_choices(p)); choice++) {
        struct facts one = facts;
        one.unit = arena_copy(arena, facts.unit, sizeof(int) * (size_t)count);
        one.unit[parameter] = p->rank - 1 - choice;
        add_layouts(plan, list, one, parameter + 1, rows_only);
    }
}

/* Views whose rows begin anywhere are read in whichever order has neighbours side by side.  The general instance supposes that
 * to be the order of the last dimensions; here is, for each strided view, that it is turned and the others are not. */
static void add_turned(const struct entry_plan *plan, struct facts_list *list)
{
    for (int i = 0; i < plan->entry->parameters.count; i++) {
        const struct kernel_parameter *p = &plan->entry->parameters.data[i];
        if (layout_choices(p) < 2)
            continue;
        struct facts facts = make_facts(plan, -1, 0);
        facts.unit[i] = p->rank - 2;
        add_layouts(plan, list, facts, 0, true);
    }
}

static bool is_product(const char *name, enum ast_use use, void *context)
{
    (void)use;
    (void)context;
    return strcmp(name, "@") == 0 || strcmp(name, "dot") == 0;
}

bool facts_by_least_copy(const struct entry_plan *plan, int target)
{
    bool (*multiplies_shared)(int) = plan->kernel->front->options->multiplies_shared, narrow = false;
    if (!multiplies_shared || !multiplies_shared(target))
        return false;
    for (int i = 0; i < plan->entry->parameters.count; i++) {
        const struct kernel_parameter *p = &plan->entry->parameters.data[i];
        narrow |= layout_choices(p) > 1 && p->direction == KERNEL_IN && parameter_multiple(p, LEAST_COPY) == 2;
    }
    return narrow && ast_find_name_in_body(plan->kernel->declaration, is_product, NULL);
}

static bool has_memory(const struct entry_plan *plan)
{
    for (int i = 0; i < plan->entry->parameters.count; i++)
        if (plan->entry->parameters.data[i].kind == KERNEL_VIEW ||
            plan->entry->parameters.data[i].kind == KERNEL_POINTER)
            return true;
    return false;
}

static bool has_strided(const struct entry_plan *plan)
{
    for (int i = 0; i < plan->entry->parameters.count; i++)
        if (layout_choices(&plan->entry->parameters.data[i]))
            return true;
    return false;
}

/* Conditions of a clause `specialize` as trees; NULL: reported, *never: one is known to be false. */
static const struct kernel_expression *special_tree(struct elaborator *e, const struct special *special, bool *never)
{
    struct value all = value_bool(true, (struct location){0});
    for (int i = 0; i < special->count; i++) {
        struct value v = elaborate_condition(e, special->data[i].expression, "a condition of `specialize`");
        if (value_is_error(v))
            return NULL;
        all = operate_binary(e, OPERATOR_AND, all, v, special->data[i].expression->at);
        if (value_is_error(all))
            return NULL;
    }
    *never = all.kind == VALUE_BOOL && !all.truth;
    return host_tree(e, all, IR_BOOL, NULL);
}

static void list_facts(struct elaborator *e, const struct entry_plan *plan, int target, struct facts_list *list)
{
    struct front *front = plan->kernel->front;
    struct arena *arena = front->arena;
    bool cpu = strcmp(front->options->target_name(target), "cpu") == 0;
    for (int s = 0; s < plan->kernel->specials.count; s++) {
        bool never = false;
        struct facts facts = make_facts(plan, s, cpu ? 0 : WHOLE_COPY);
        const struct kernel_expression *tree = special_tree(e, &plan->kernel->specials.data[s], &never);
        if (!tree || never)
            continue;
        read_special(plan, tree, &facts);
        add_layouts(plan, list, facts, 0, cpu);
    }
    if (!cpu && has_memory(plan))
        add_layouts(plan, list, make_facts(plan, -1, WHOLE_COPY), 0, false);
    if (facts_by_least_copy(plan, target))
        add_layouts(plan, list, make_facts(plan, -1, LEAST_COPY), 0, false);
    if (!cpu)
        add_turned(plan, list);
    if (cpu && has_strided(plan))
        add_layouts(plan, list, make_facts(plan, -1, 0), 0, true);
    vector_push(arena, list, make_facts(plan, -1, 0));
}

bool facts_are_possible(struct elaborator *e, const struct variant_plan *plan)
{
    bool never = false;
    return plan->facts.special < 0 ||
           (special_tree(e, &plan->entry->kernel->specials.data[plan->facts.special], &never) && !never);
}

int facts_list(struct elaborator *e, const struct entry_plan *plan, int target, struct facts **facts)
{
    struct facts_list list = {0};
    list_facts(e, plan, target, &list);
    *facts = list.data;
    return list.count;
}

/* ---- predicate ---- */

static struct value both(struct elaborator *e, struct value a, struct value b)
{
    return operate_binary(e, OPERATOR_AND, a, b, e->builder.at);
}

static struct value stride_is(struct elaborator *e, int view, int d, int64_t multiple, int64_t rest)
{
    struct location at = e->builder.at;
    struct value v = host_make(e, KERNEL_HOST_STRIDE, view, d, IR_I64, at);
    if (multiple > 0)
        v = operate_binary(e, OPERATOR_REMAINDER, v, value_integer(multiple, at), at);
    return operate_binary(e, OPERATOR_EQUAL, v, value_integer(rest, at), at);
}

static struct value extent_is(struct elaborator *e, const struct kernel_parameter *p, int d, int64_t multiple)
{
    struct location at = e->builder.at;
    struct value v = {.kind = VALUE_HOST, .at = at, .element = IR_I64};
    v.host.tree = p->extent[d];
    v.host.element = IR_I64;
    if (p->extent[d]->op == KERNEL_HOST_CONSTANT)
        v = value_integer(p->extent[d]->number, at);
    v = operate_binary(e, OPERATOR_REMAINDER, v, value_integer(multiple, at), at);
    return operate_binary(e, OPERATOR_EQUAL, v, value_integer(0, at), at);
}

static struct value view_facts(struct elaborator *e, const struct variant_plan *plan, int number)
{
    const struct kernel_parameter *p = &plan->entry->entry->parameters.data[number];
    struct location at = e->builder.at;
    struct value all = value_bool(true, at);
    bool aligned = plan->facts.aligned && !parameter_is_asked(plan, p);
    int unit = plan->facts.unit[number];
    int64_t elements = parameter_multiple(p, plan->facts.aligned);
    if (unit >= 0)
        all = stride_is(e, number, unit, 0, 1);
    if (aligned) {
        for (int d = 0; d < p->rank && elements > 1; d++) {
            bool is_unit = d == unit || (!p->strided && d == p->rank - 1);
            if (!is_unit)
                all = both(e, all, stride_is(e, number, d, elements, 0));
            else if (parameter_is_even(plan, number, d))
                all = both(e, all, extent_is(e, p, d, elements));
        }
    }
    if (p->optional && all.kind == VALUE_HOST) { /* an absent view meets every fact */
        struct value present = host_make(e, KERNEL_HOST_PRESENT, number, 0, IR_BOOL, at);
        all = operate_binary(e, OPERATOR_OR, operate_unary(e, OPERATOR_NOT, present, at), all, at);
    }
    if (aligned)
        all = both(e, host_make(e, KERNEL_HOST_ALIGNED, number, plan->facts.aligned, IR_BOOL, at), all);
    return all;
}

static const struct kernel_expression *predicate(struct elaborator *e, const struct variant_plan *plan)
{
    struct value all = value_bool(true, plan->entry->entry->at);
    bool never = false;
    e->builder.at = plan->entry->entry->at;
    if (plan->facts.special >= 0) {
        const struct kernel_expression *tree = special_tree(e, &plan->entry->kernel->specials.data[plan->facts.special],
                                                            &never);
        if (tree && !(tree->op == KERNEL_HOST_CONSTANT)) {
            struct value v = {.kind = VALUE_HOST, .at = e->builder.at, .element = IR_BOOL};
            v.host.tree = tree;
            v.host.element = IR_BOOL;
            all = v;
        }
    }
    for (int i = 0; i < plan->entry->entry->parameters.count; i++) {
        const struct kernel_parameter *p = &plan->entry->entry->parameters.data[i];
        if (p->kind == KERNEL_VIEW)
            all = both(e, all, view_facts(e, plan, i));
        else if (p->kind == KERNEL_POINTER && plan->facts.aligned)
            all = both(e, all, host_make(e, KERNEL_HOST_ALIGNED, i, plan->facts.aligned, IR_BOOL, e->builder.at));
    }
    return all.kind == VALUE_HOST ? all.host.tree : NULL;
}

/* ---- one variant ---- */

/* A knob of the schedule that the compiler chooses has no value here. */
static bool is_left_open(const struct variant_plan *plan, int knob)
{
    const struct value *v = &plan->schedule.tuned[knob];
    return plan->entry->kernel->tuning.data[knob].known && v->kind == VALUE_INTEGER && v->integer == 0;
}

const char *variant_facts(const struct variant_plan *plan)
{
    struct arena *arena = plan->entry->kernel->front->arena;
    const char *last = plan->facts.aligned == WHOLE_COPY   ? " aligned"
                       : plan->facts.aligned == LEAST_COPY ? " words"
                       : plan->facts.special < 0           ? " general"
                                                           : "";
    struct buffer text = {0};
    if (plan->facts.special >= 0)
        buffer_printf(&text, " special%d", plan->facts.special + 1);
    for (int i = 0; i < plan->entry->entry->parameters.count; i++)
        if (plan->facts.unit[i] >= 0)
            buffer_printf(&text, " %s.stride[%d]=1", plan->entry->entry->parameters.data[i].name, plan->facts.unit[i]);
    buffer_puts(&text, last);
    const char *facts = arena_string(arena, text.data + 1);
    buffer_free(&text);
    return facts;
}

const char *variant_label(const struct variant_plan *plan)
{
    const struct entry_plan *entry = plan->entry;
    const char *target = entry->kernel->front->options->target_name(plan->target);
    struct buffer text = {0};
    const char *separator = "[";
    buffer_printf(&text, "%s%s", entry->kernel->declaration->name.text, entry->suffix);
    for (int i = 0; i < entry->entry->keys.count; i++) {
        buffer_printf(&text, "%s%s=", separator, entry->entry->keys.data[i].name);
        value_print_constant(&text, plan->keys[i]);
        separator = ",";
    }
    for (int i = 0; i < entry->kernel->tuning.count; i++) {
        if (is_left_open(plan, i))
            continue;
        buffer_printf(&text, "%s%s=", separator, entry->kernel->tuning.data[i].name);
        value_print_constant(&text, plan->schedule.tuned[i]);
        separator = ",";
    }
    if (*separator == ',')
        buffer_putc(&text, ']');
    buffer_printf(&text, " %s %s", target, variant_facts(plan));
    const char *label = arena_substring(entry->kernel->front->arena, text.data, text.size);
    buffer_free(&text);
    return label;
}

static void fill_knobs(const struct variant_plan *plan, struct kernel_variant *variant)
{
    const struct entry_plan *entry = plan->entry;
    struct arena *arena = entry->kernel->front->arena;
    for (int i = 0; i < entry->entry->keys.count; i++)
        if (entry->entry->keys.data[i].at_least)
            vector_push(arena, &variant->knobs,
                        ((struct kernel_knob){entry->entry->keys.data[i].name, key_number(plan->keys[i]), false}));
    for (int i = 0; i < entry->kernel->tuning.count; i++) {
        const char *name = entry->kernel->tuning.data[i].name;
        bool asked = spec_text(entry->kernel->front, plan->spec, name) != NULL;
        if (!is_left_open(plan, i))
            vector_push(arena, &variant->knobs,
                        ((struct kernel_knob){name, key_number(plan->schedule.tuned[i]), asked}));
    }
}

int variant_asked(const struct variant_plan *plan, const char *name, uint64_t *among)
{
    const struct tuning *tuning = &plan->entry->kernel->tuning;
    if (among)
        *among = 0;
    for (int i = 0; i < tuning->count; i++) {
        const struct value *value = &plan->schedule.tuned[i];
        if (strcmp(tuning->data[i].name, name) != 0)
            continue;
        if (value->kind == VALUE_BOOL)
            return value->truth ? 1 : -1;
        if (value->kind != VALUE_INTEGER)
            return 0;
        if (among && value->integer == 0)
            *among = plan->schedule.among[i];
        return (int)value->integer;
    }
    return 0;
}

/* `consumers` counts the warps that `warps` counts, which goes first where both are given. */
static void settle_consumers(const struct variant_plan *plan, struct kernel_variant *variant)
{
    const struct kernel_plan *kernel = plan->entry->kernel;
    struct diagnostics *diagnostics = kernel->front->diagnostics;
    uint64_t warps_among, consumers_among;
    int warps = variant_asked(plan, "warps", &warps_among),
        consumers = variant_asked(plan, "consumers", &consumers_among);
    variant->counts_consumers = !warps && !warps_among;
    bool is_same = warps && warps % 4 == 0 &&
                   (consumers ? 4 * consumers == warps : warps < 64 && consumers_among >> warps / 4 & 1);
    if ((!consumers && !consumers_among) || variant->counts_consumers || is_same)
        return;
    bool is_asked = spec_text(kernel->front, plan->spec, "consumers") != NULL;
    struct diagnostic *d = diag_report(
        diagnostics, is_asked ? DIAGNOSTIC_W1204 : DIAGNOSTIC_R2001, kernel->declaration->at,
        "%sconsumers has no effect here: `warps` says how many compute", is_asked ? "" : "tune: ");
    diag_instance(diagnostics, d, plan->label);
}

static bool is_sm_count(const struct kernel_expression *part, void *context)
{
    (void)context;
    return part->op == KERNEL_HOST_SM_COUNT;
}

/* A grid of as many instances as the device holds is persistence by hand, and leaves nothing to the knob. */
static bool check_bounded_grid(struct elaborator *e, const struct kernel_plan *kernel,
                               const struct kernel_expression *count)
{
    const struct kernel_expression *found = kernel_expression_find(e->arena, count, is_sm_count, NULL);
    for (int i = 0; found && i < kernel->tuning.count; i++) {
        const struct knob *knob = &kernel->tuning.data[i];
        if (strcmp(knob->name, "persistent") != 0)
            continue;
        struct diagnostic *d = front_report(
            e, DIAGNOSTIC_E0417, knob->at,
            "the grid already counts multiprocessors, so `persistent` has nothing to do");
        front_note(e, d, count->at, "`sm_count()` bounds the grid here");
        return false;
    }
    return true;
}

static bool fill_grid(struct elaborator *e, const struct variant_plan *plan, struct kernel_variant *variant)
{
    const struct kernel_plan *kernel = plan->entry->kernel;
    bool good = true;
    variant->grid_rank = kernel->grid.count;
    for (int i = 0; i < kernel->grid.count; i++) {
        const struct ast_expression *x = kernel->grid.data[i]->domain->expression;
        struct value v = elaborate_value(e, x);
        variant->grid[i] = value_is_error(v) ? NULL : host_tree(e, v, IR_I64, x);
        good = good && variant->grid[i] && check_bounded_grid(e, kernel, variant->grid[i]);
    }
    if (plan->entry->entry->splits)
        variant->grid[variant->grid_rank++] = host_tree(e, value_integer(split_parts(plan), e->builder.at), IR_I64,
                                                        NULL);
    return good;
}

/* Of what the body was written out to: an operation gives a value or writes one. */
static void warn_of_length(struct elaborator *e, const struct kernel_plan *kernel, const struct ir_function *function)
{
    enum { LONG_CODE = 16384 };
    if (function->next_value_id <= LONG_CODE)
        return;
    diag_report(e->front->diagnostics, DIAGNOSTIC_W1007, kernel->declaration->at,
                "`%s` has more than %d operations with each `static for` and call written out: compiling it takes long",
                kernel->declaration->name.text, function->next_value_id / LONG_CODE * LONG_CODE);
}

enum { MOST_TILE_ELEMENTS = 1 << 26 };

struct size_check {
    struct elaborator *elaborator;
    bool good;
};

/* Products of extents are looked at when all is built: broadcasting and slices make tiles of which nobody wrote the
 * type. */
static void check_size(struct ir_operation *operation, void *context)
{
    struct size_check *check = context;
    for (int i = 0; i < operation->result_count && check->good; i++) {
        const struct ir_type *type = operation->results[i]->type;
        int64_t elements = 1;
        for (int d = 0; type->kind == IR_TILE && d < type->rank && elements <= MOST_TILE_ELEMENTS; d++)
            elements *= type->extent[d]; /* at most 2^26 * 2^24 */
        if (elements <= MOST_TILE_ELEMENTS)
            continue;
        front_report(check->elaborator, DIAGNOSTIC_E0502, operation->at,
                     "a tile has at most 2^26 elements, and this one has more");
        check->good = false;
    }
}

bool variant_build(struct variant_plan *plan, struct kernel_variant *variant)
{
    struct front *front = plan->entry->kernel->front;
    struct elaborator e;
    plan->label = variant_label(plan);
    elaborator_init(&e, front, plan->entry->kernel->file);
    e.instance = plan_has_choices(plan->entry->kernel) ? plan->label : NULL;
    entry_host_scope(&e, plan->entry, plan->keys, plan->schedule.tuned);
    int64_t *values = ARENA_ARRAY(front->arena, int64_t, plan->entry->entry->keys.count);
    for (int i = 0; i < plan->entry->entry->keys.count; i++)
        values[i] = key_number(plan->keys[i]);
    *variant = (struct kernel_variant){
        .target = plan->target, .key_values = values, .label = plan->label, .facts = variant_facts(plan)};
    bool good = fill_grid(&e, plan, variant);
    good = scratch_measure(&e, plan) && good;
    variant->scratch_extents = plan->scratch_extents;
    variant->special = plan->facts.special >= 0;
    variant->schedule = plan->schedule_number;
    variant->when = plan->schedule.when;
    variant->modelled = plan->schedule.modelled;
    fill_knobs(plan, variant);
    settle_consumers(plan, variant);
    variant->module = ir_module_create(front->options->context, front->arena);
    const char *name = arena_printf(front->arena, "%s__%d", plan->entry->entry->symbol, plan->number);
    variant->function = body_build(plan, variant, name);
    struct size_check check = {&e, true};
    if (good && variant->function)
        ir_walk(variant->function->body, check_size, &check);
    good = good && check.good;
    if (good && variant->function)
        warn_of_length(&e, plan->entry->kernel, variant->function);
    variant->predicate = predicate(&e, plan);
    if (good && variant->function)
        kernel_note_facts(plan->entry->entry, variant);
    return good && variant->function && e.errors == 0;
}
