/* Memory of a launch: the clause `scratch`, and the counter by which an `ordered` grid hands out its numbers.
 *
 *     scratch(state: u64[cdiv(N, B)] = 0)    an item: name, an index expression over a type, the value that fills it
 */
#include "base/plant.h"
#include "front/kernels/kernel_plan.h"

/* The type and its extents; NULL: the item has another form. */
static const struct ast_expression *written_type(const struct ast_item *item)
{
    const struct ast_expression *x = item->kind == ITEM_DOMAIN && !item->qualifier.text && !item->least &&
                                             item->domain->kind == DOMAIN_EXPRESSION
                                         ? item->domain->expression
                                         : NULL;
    if (!x || x->kind != EXPRESSION_INDEX || x->indexes.count > IR_MAX_RANK)
        return NULL;
    for (int d = 0; d < x->indexes.count; d++)
        if (x->indexes.data[d]->kind != INDEX_EXPRESSION)
            return NULL;
    return x;
}

static bool is_taken(const struct kernel_plan *plan, const char *name)
{
    for (int i = 0; i < plan->declaration->parameters.count; i++)
        if (plan->declaration->parameters.data[i]->name.text == name)
            return true;
    for (int i = 0; i < plan->scratch.count; i++)
        if (plan->scratch.data[i]->name.text == name)
            return true;
    return false;
}

void scratch_read(struct kernel_plan *plan, const struct ast_clause *clause)
{
    for (int i = 0; i < clause->items.count; i++) {
        const struct ast_item *item = clause->items.data[i];
        if (!written_type(item))
            diag_report(plan->front->diagnostics, DIAGNOSTIC_E0420, item->at,
                        "an item of `scratch` is `name: type[extents] = value`, as in `scratch(state: u64[N] = 0)`");
        else if (is_taken(plan, item->name.text))
            diag_report(plan->front->diagnostics, DIAGNOSTIC_E0420, item->at,
                        "`%s` is already the name of a parameter or of other scratch", item->name.text);
        else if (plan->scratch.count == KERNEL_MOST_SCRATCH - 2)
            diag_report(plan->front->diagnostics, DIAGNOSTIC_E0420, item->at,
                        "a kernel has at most %d views of scratch", KERNEL_MOST_SCRATCH - 2);
        else
            vector_push(plan->front->arena, &plan->scratch, item);
    }
}

static bool read_fill(struct elaborator *e, const struct ast_item *item, struct kernel_scratch *scratch)
{
    struct value v = elaborate_value(e, item->value);
    if (value_is_error(v))
        return false;
    if (!value_is_constant(v)) {
        front_report(e, DIAGNOSTIC_E0420, item->value->at, "what fills `%s` must be known when compiling",
                     scratch->name);
        return false;
    }
    v = constant_to_element(e, v, scratch->element, false);
    if (value_is_error(v))
        return false;
    scratch->filled = !PLANTED(front_scratch_keeps_last);
    scratch->fill = v.kind == VALUE_BOOL   ? (uint64_t)v.truth
                    : v.kind == VALUE_REAL ? ir_double_to_bits(scratch->element, v.real.number)
                                           : ir_int_to_bits(scratch->element, (int64_t)(uint64_t)v.integer);
    return true;
}

static bool describe_one(struct elaborator *e, const struct ast_item *item, struct kernel_scratch *scratch)
{
    const struct ast_expression *written = written_type(item);
    struct value type = elaborate(e, written->base);
    if (value_is_error(type))
        return false;
    if (type.kind != VALUE_TYPE || type.type->kind != TYPE_PLAIN || type.type->plain->kind != IR_TILE ||
        type.type->plain->rank || type.type->plain->element == IR_POINTER) {
        front_report(e, DIAGNOSTIC_E0420, written->base->at, "`scratch` is made of scalars, such as `u64[N]`");
        return false;
    }
    *scratch = (struct kernel_scratch){
        .name = item->name.text, .element = type.type->plain->element, .rank = written->indexes.count, .at = item->at};
    return !item->value || read_fill(e, item, scratch);
}

bool scratch_describe(struct elaborator *e, struct entry_plan *plan)
{
    const struct kernel_plan *kernel = plan->kernel;
    struct kernel_scratch scratch;
    bool good = true;
    for (int i = 0; i < kernel->scratch.count; i++) {
        good = describe_one(e, kernel->scratch.data[i], &scratch) && good;
        vector_push(e->arena, &plan->entry->scratch, scratch);
    }
    plan->entry->ordered = kernel->ordered != NULL;
    if (!kernel->ordered)
        return good;
    scratch = (struct kernel_scratch){
        .name = "started", .element = IR_U64, .rank = 1, .filled = true, .at = kernel->ordered->at};
    vector_push(e->arena, &plan->entry->scratch, scratch);
    return good;
}

static const struct kernel_expression *measure(struct elaborator *e, const struct ast_expression *x)
{
    struct value v = elaborate_value(e, x);
    if (value_is_error(v))
        return NULL;
    if (v.kind == VALUE_INTEGER && (v.integer < 0 || v.integer > INT32_MAX)) {
        front_report(e, DIAGNOSTIC_E0502, x->at, "an extent is between 0 and 2^31 - 1");
        return NULL;
    }
    return host_tree(e, v, IR_I64, x);
}

bool scratch_measure(struct elaborator *e, struct variant_plan *plan)
{
    const struct kernel_plan *kernel = plan->entry->kernel;
    const struct kernel_entry *entry = plan->entry->entry;
    const struct kernel_expression **extent;
    int count = 0;
    bool good = true;
    for (int i = 0; i < entry->scratch.count; i++)
        count += entry->scratch.data[i].rank;
    plan->scratch_extents = extent = ARENA_ARRAY(e->arena, const struct kernel_expression *, count + 1);
    for (int i = 0; i < kernel->scratch.count; i++) {
        const struct ast_expression *written = written_type(kernel->scratch.data[i]);
        for (int d = 0; d < written->indexes.count; d++) {
            *extent = measure(e, written->indexes.data[d]->value);
            good = *extent++ && good;
        }
    }
    if (kernel->ordered)
        *extent = host_tree(e, value_integer(1, entry->at), IR_I64, NULL);
    if (plan->entry->entry->splits)
        split_measure(e, plan, extent);
    return good;
}
