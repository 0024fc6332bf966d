/* Sets of a kernel's compile-time names.  A set may use the names of rows above it, and is then evaluated once for each
 * combination of what those can be. */
#include "front/kernels/kernel_plan.h"

#include <string.h>

enum { MOST_SETS = 4096 };

/* ---- which rows a set uses ---- */

static bool is_same_name(const char *name, enum ast_use use, void *wanted)
{
    (void)use;
    return name == wanted;
}

static bool mentions(const struct ast_expression *x, const char *name)
{
    return ast_find_name(x, is_same_name, (void *)name) != NULL;
}

static bool domain_mentions(const struct ast_domain *domain, const char *name)
{
    switch (domain->kind) {
    case DOMAIN_EXPRESSION: return mentions(domain->expression, name);
    case DOMAIN_RANGE:
        return mentions(domain->range->from, name) || mentions(domain->range->to, name) ||
               mentions(domain->range->step, name);
    case DOMAIN_SET: break;
    }
    for (int i = 0; i < domain->members.count; i++)
        if (domain_mentions(domain->members.data[i], name))
            return true;
    return false;
}

/* The rows above the last one that its set uses, with those that they use; NULL: none. */
static bool *find_uses(const struct kernel_plan *plan, const struct ast_domain *written)
{
    bool *uses = ARENA_ARRAY(plan->front->arena, bool, plan->rows.count), any = false;
    for (int r = plan->rows.count - 1; r >= 0; r--) {
        const struct row *row = &plan->rows.data[r];
        uses[r] = uses[r] || domain_mentions(written, row->name.text);
        any = any || uses[r];
        for (int k = 0; uses[r] && row->uses && k < r; k++)
            uses[k] = uses[k] || row->uses[k];
    }
    return any ? uses : NULL;
}

/* ---- one set ---- */

static bool ascending(struct domain *domain)
{
    for (int i = 0; i < domain->count; i++) {
        if (domain->data[i].kind != VALUE_INTEGER || !arithmetic_fits(domain->data[i].integer, IR_I64))
            return false;
        for (int j = i; j > 0 && domain->data[j - 1].integer > domain->data[j].integer; j--) {
            struct value swap = domain->data[j];
            domain->data[j] = domain->data[j - 1];
            domain->data[j - 1] = swap;
        }
    }
    return true;
}

static bool is_key_value(const struct value *v, const struct value *first)
{
    if (v->kind != first->kind || v->enumeration != first->enumeration)
        return false;
    if (v->kind == VALUE_TYPE)
        return v->type->kind == TYPE_PLAIN && v->type->plain->rank == 0;
    if (v->kind == VALUE_INTEGER)
        return arithmetic_fits(v->integer, IR_I64);
    return v->kind == VALUE_BOOL || v->kind == VALUE_ENUMERATOR;
}

static bool report_mixed(struct elaborator *e, const struct row *row, const struct value *v)
{
    if (v->kind == VALUE_INTEGER && !arithmetic_fits(v->integer, IR_I64)) {
        struct buffer text = {0};
        value_print_wide(&text, v->integer);
        front_report(e, DIAGNOSTIC_E0502, v->at, "a member of the set of `%s` is %s, which does not fit i64",
                     row->name.text, text.data);
        buffer_free(&text);
        return false;
    }
    front_report(e, DIAGNOSTIC_E0407, row->written->at,
                 "a domain holds scalar types, or integers, or bools, or members of one enum");
    return false;
}

/* A key is an int in C, or an extent, which only a `huge` view has beyond that. */
static bool can_be_passed(const struct kernel_plan *plan, const struct row *row, const struct value *v)
{
    if (v->kind != VALUE_INTEGER || row->least || arithmetic_fits(v->integer, IR_I32))
        return true;
    const struct ast_declaration *kernel = plan->declaration;
    for (int i = 0; i < kernel->parameters.count; i++) {
        const struct ast_parameter *p = kernel->parameters.data[i];
        for (int k = 0; p->is_huge && p->type->kind == TYPE_NODE_TILE && k < p->type->extents.count; k++)
            if (mentions(p->type->extents.data[k], row->name.text))
                return true;
    }
    return false;
}

/* The values of the row while the rows above are what the scope says.  False: reported. */
static bool evaluate(const struct kernel_plan *plan, struct elaborator *e, const struct row *row, struct domain *domain)
{
    struct location at = row->written->at;
    if (!domain_evaluate(e, row->written, row->name.text, domain))
        return false;
    if (row->least) {
        if (ascending(domain))
            return true;
        for (int i = 0; i < domain->count; i++)
            if (domain->data[i].kind == VALUE_INTEGER && !arithmetic_fits(domain->data[i].integer, IR_I64))
                return report_mixed(e, row, &domain->data[i]);
        front_report(e, DIAGNOSTIC_E0407, at, "the domain of a `const` name holds integers");
        return false;
    }
    if (domain->count == 0) {
        front_report(e, DIAGNOSTIC_E0407, at, "list the values of this name, such as `{64, 128}`");
        return false;
    }
    for (int i = 0; i < domain->count; i++)
        if (!is_key_value(&domain->data[i], &domain->data[0]))
            return report_mixed(e, row, &domain->data[i]);
    for (int i = 0; i < domain->count; i++)
        if (!can_be_passed(plan, row, &domain->data[i])) {
            front_report(e, DIAGNOSTIC_E0502, domain->data[i].at,
                         "no caller can pass %lld as `%s`: in C it is an int, or an extent below 2^31",
                         (long long)domain->data[i].integer, row->name.text);
            return false;
        }
    if (domain->data[0].kind != VALUE_TYPE || !row->uses)
        return true;
    front_report(e, DIAGNOSTIC_E0407, at, "types are listed as they are: no name of the head can choose among them");
    return false;
}

/* ---- all sets ---- */

/* "D is 2 and C is true"; types are left out where the entry tells them. */
const char *row_describe_above(const struct kernel_plan *plan, int row, const struct value *above, bool with_types)
{
    struct arena *arena = plan->front->arena;
    struct buffer text = {0};
    const bool *uses = plan->rows.data[row].uses;
    for (int i = 0; uses && i < row; i++) {
        if (!uses[i] || (plan->rows.data[i].is_type && !with_types))
            continue;
        buffer_printf(&text, "%s%s is ", text.size ? " and " : "", plan->rows.data[i].name.text);
        value_print_constant(&text, above[i]);
    }
    const char *kept = text.size ? arena_substring(arena, text.data, text.size) : "";
    buffer_free(&text);
    return kept;
}

struct walk {
    const struct kernel_plan *plan;
    struct elaborator *e;
    int row;                   /* whose sets are wanted */
    const struct value *types; /* of an entry, or NULL: all */
    struct value *values;      /* of the rows above that it uses */
    struct row_sets *sets;
};

static bool visit_set(struct walk *walk)
{
    struct elaborator *e = walk->e;
    const struct row *row = &walk->plan->rows.data[walk->row];
    struct row_set set = {.above = arena_copy(e->arena, walk->values, sizeof(struct value) * (size_t)walk->row)};
    e->instance = NULL;
    if (walk->sets->count == MOST_SETS) {
        front_report(e, DIAGNOSTIC_E0407, row->written->at,
                     "the names that this set uses have more than %d combinations", MOST_SETS);
        return false;
    }
    if (row->uses)
        e->instance = arena_printf(e->arena, "%s where %s", walk->plan->declaration->name.text,
                                   row_describe_above(walk->plan, walk->row, set.above, true));
    if (!evaluate(walk->plan, e, row, &set.domain))
        return false;
    vector_push(e->arena, walk->sets, set);
    return true;
}

/* Gives each row from `number` on that is used each of its values in turn. */
static bool visit_rows(struct walk *walk, int number)
{
    const bool *uses = walk->plan->rows.data[walk->row].uses;
    while (number < walk->row && !(uses && uses[number]))
        number++;
    if (number == walk->row)
        return visit_set(walk);
    const struct row *row = &walk->plan->rows.data[number];
    struct domain domain = row->domain;
    struct binding *binding = scope_bind(walk->e, BINDING_GENERIC, row->name, value_error(row->at));
    if (row->uses) {
        domain = (struct domain){0};
        if (!evaluate(walk->plan, walk->e, row, &domain))
            return false;
    }
    for (int i = 0; i < domain.count; i++) {
        if (row->is_type && walk->types && !value_same(walk->types[number], domain.data[i]))
            continue;
        binding->value = walk->values[number] = domain.data[i];
        if (!visit_rows(walk, number + 1))
            return false;
    }
    return true;
}

bool row_list_sets(const struct kernel_plan *plan, struct elaborator *e, int row, const struct value *types,
                   struct row_sets *sets)
{
    struct walk walk = {.plan = plan, .e = e, .row = row, .types = types, .sets = sets};
    const char *instance = e->instance;
    walk.values = ARENA_ARRAY(e->arena, struct value, row + 1);
    scope_push(e, false);
    bool good = visit_rows(&walk, 0);
    scope_pop(e);
    e->instance = instance;
    return good;
}

/* What the sets hold together. */
static bool unite(struct elaborator *e, struct row *row, const struct row_sets *sets)
{
    for (int i = 0; i < sets->count; i++)
        for (int k = 0; k < sets->data[i].domain.count; k++) {
            struct value v = sets->data[i].domain.data[k];
            if (row->domain.count && !is_key_value(&v, &row->domain.data[0]))
                return report_mixed(e, row, &v);
            if (!domain_has(&row->domain, v))
                vector_push(e->arena, &row->domain, v);
        }
    if (row->least)
        ascending(&row->domain);
    row->is_type = row->domain.data[0].kind == VALUE_TYPE;
    return true;
}

void row_add(struct kernel_plan *plan, struct elaborator *e, struct row row)
{
    struct row_sets sets = {0};
    int number = plan->rows.count;
    row.uses = find_uses(plan, row.written);
    vector_push(plan->front->arena, &plan->rows, row);
    bool good = row_list_sets(plan, e, number, NULL, &sets) && unite(e, &plan->rows.data[number], &sets);
    if (!good)
        plan->rows.count--; /* the rows below do not know it */
}

static bool holds(const struct kernel_plan *plan, int row, const struct row_set *set, const struct value *values)
{
    const bool *uses = plan->rows.data[row].uses;
    for (int i = 0; uses && i < row; i++)
        if (uses[i] && !value_same(set->above[i], values[i]))
            return false;
    return true;
}

const struct domain *row_domain(const struct kernel_plan *plan, int row, const struct row_sets *sets,
                                const struct value *values)
{
    for (int i = 0; i < sets->count; i++)
        if (holds(plan, row, &sets->data[i], values))
            return &sets->data[i].domain;
    die("a row without a set");
}
