/* From a kernel's head to a C entry: parameters, the names that extents bind, dispatch keys, requirements. */
#include "front/builtins/builtins.h"
#include "front/kernels/kernel_plan.h"

#include <ctype.h>
#include <string.h>

/* ---- clauses ---- */

static void clause_error(struct kernel_plan *plan, enum diagnostic_code code, struct location at, const char *text)
{
    diag_report(plan->front->diagnostics, code, at, "%s", text);
}

static int find_parameter(const struct kernel_plan *plan, const struct ast_expression *x)
{
    for (int i = 0; x->kind == EXPRESSION_NAME && i < plan->declaration->parameters.count; i++)
        if (plan->declaration->parameters.data[i]->name.text == x->name)
            return i;
    return -1;
}

static void read_alias(struct kernel_plan *plan, const struct ast_clause *clause)
{
    int parameters[IR_MAX_RANK * 4], count = 0;
    for (int i = 0; i < clause->items.count && count < IR_MAX_RANK * 4; i++) {
        const struct ast_item *item = clause->items.data[i];
        int p = item->kind == ITEM_EXPRESSION ? find_parameter(plan, item->value) : -1;
        if (p < 0 || plan->declaration->parameters.data[p]->direction == DIRECTION_NONE)
            clause_error(plan, DIAGNOSTIC_E0411, item->at, "`alias` takes names of view parameters");
        else
            parameters[count++] = p;
        for (int k = 0; p >= 0 && k < count - 1; k++)
            if (parameters[k] == p)
                clause_error(plan, DIAGNOSTIC_E0411, item->at, "this view stands in the clause twice");
    }
    if (count < 2) {
        if (clause->items.count < 2)
            clause_error(plan, DIAGNOSTIC_E0411, clause->at, "`alias` takes two views or more");
        return;
    }
    for (int i = 0; i < count; i++)
        for (int j = i + 1; j < count; j++)
            vector_push(plan->front->arena, &plan->aliases, ((struct kernel_alias){parameters[i], parameters[j]}));
}

static void read_grid(struct kernel_plan *plan, const struct ast_clause *clause)
{
    for (int i = 0; i < clause->items.count; i++) {
        const struct ast_item *item = clause->items.data[i];
        bool ordered = item->qualifier.text && strcmp(item->qualifier.text, "ordered") == 0;
        if ((item->qualifier.text && !ordered) || item->kind != ITEM_DOMAIN ||
            item->domain->kind != DOMAIN_EXPRESSION) {
            clause_error(plan, DIAGNOSTIC_E0401, item->at,
                         "an item of `grid` is `name: count`, as in `grid(b: cdiv(N, B))`, or `ordered name: count`");
            continue;
        }
        vector_push(plan->front->arena, &plan->grid, item);
        if (ordered)
            plan->ordered = item;
    }
    if (plan->grid.count > IR_MAX_RANK) {
        clause_error(plan, DIAGNOSTIC_E0401, clause->at, "a grid has at most 8 dimensions");
        plan->grid.count = IR_MAX_RANK;
    }
}

static void read_conditions(struct kernel_plan *plan, const struct ast_clause *clause)
{
    struct special special = {0};
    for (int i = 0; i < clause->items.count; i++) {
        const struct ast_item *item = clause->items.data[i];
        if (item->kind != ITEM_EXPRESSION) {
            clause_error(plan, DIAGNOSTIC_E0303, item->at, "this clause takes conditions");
            continue;
        }
        struct condition condition = {item->value};
        if (clause->kind == CLAUSE_REQUIRES)
            vector_push(plan->front->arena, &plan->requirements, condition);
        else
            vector_push(plan->front->arena, &special, condition);
    }
    if (clause->kind == CLAUSE_SPECIALIZE)
        vector_push(plan->front->arena, &plan->specials, special);
}

static void read_const(struct kernel_plan *plan, struct elaborator *e, const struct ast_clause *clause)
{
    for (int i = 0; i < clause->items.count; i++) {
        const struct ast_item *item = clause->items.data[i];
        if (item->kind != ITEM_DOMAIN || !item->least) {
            clause_error(
                plan, DIAGNOSTIC_E0408, item->at,
                "an item of `const` is `name: set >= least`; to fix a value use `< >` or a file-scope `const`");
            continue;
        }
        row_add(plan, e,
                (struct row){.name = item->name, .at = item->at, .written = item->domain, .least = item->least});
    }
}

static void read_clauses(struct kernel_plan *plan, struct elaborator *e)
{
    bool grid = false;
    for (int i = 0; i < plan->declaration->clauses.count; i++) {
        const struct ast_clause *clause = plan->declaration->clauses.data[i];
        switch (clause->kind) {
        case CLAUSE_GRID:
            if (grid)
                clause_error(plan, DIAGNOSTIC_E0401, clause->at, "a kernel has one `grid`");
            grid = true;
            read_grid(plan, clause);
            break;
        case CLAUSE_CONST: read_const(plan, e, clause); break;
        case CLAUSE_REQUIRES:
        case CLAUSE_SPECIALIZE: read_conditions(plan, clause); break;
        case CLAUSE_ALIAS: read_alias(plan, clause); break;
        case CLAUSE_SCRATCH: scratch_read(plan, clause); break;
        case CLAUSE_TUNE:
        case CLAUSE_ON: break; /* knobs.c */
        }
    }
    if (!grid)
        clause_error(plan, DIAGNOSTIC_E0401, plan->declaration->at,
                     "a kernel says how many instances run: `grid(b: cdiv(N, B))`");
}

static void read_generics(struct kernel_plan *plan, struct elaborator *e)
{
    for (int i = 0; i < plan->declaration->generics.count; i++) {
        const struct ast_generic *generic = plan->declaration->generics.data[i];
        const char *name = generic->name.text;
        if (generic->domain) {
            row_add(plan, e, (struct row){.name = generic->name, .at = generic->at, .written = generic->domain});
            continue;
        }
        struct diagnostic *d = diag_report(plan->front->diagnostics, DIAGNOSTIC_E0407, generic->at,
                                           "the values of `%s` must be listed: a kernel is compiled ahead of time",
                                           name);
        diag_note(plan->front->diagnostics, d, generic->at, "write `%s: {f16, bf16}`, `%s: {64, 128}` or `%s: bool`",
                  name, name, name);
    }
}

/* Knobs that would let programs run in another order, or several of them in one block. */
static void check_order(struct kernel_plan *plan)
{
    static const char *const against[] = {"persistent", "raster", "cluster", "split_k"};
    for (int i = 0; plan->ordered && i < plan->tuning.count; i++)
        for (size_t k = 0; k < sizeof against / sizeof *against; k++) {
            if (strcmp(plan->tuning.data[i].name, against[k]) != 0)
                continue;
            struct diagnostic *d = diag_report(
                plan->front->diagnostics, DIAGNOSTIC_E0419, plan->tuning.data[i].at,
                "instances of an `ordered` grid start one by one, in their order: there is no `%s`", against[k]);
            diag_note(plan->front->diagnostics, d, plan->ordered->at, "the grid is `ordered` here");
        }
}

bool plan_has_choices(const struct kernel_plan *plan) { return plan->rows.count || plan->specials.count; }

bool plan_read(struct kernel_plan *plan)
{
    struct elaborator e;
    int errors = plan->front->diagnostics->errors;
    elaborator_init(&e, plan->front, plan->file);
    read_generics(plan, &e);
    read_clauses(plan, &e);
    knobs_declare(&e, plan->declaration, &plan->tuning);
    check_order(plan);
    for (int i = 0; i < plan->tuning.count && !plan->declaration->broken; i++)
        if (strcmp(plan->tuning.data[i].name, "split_k") == 0)
            split_check(&e, plan, plan->tuning.data[i].at);
    return errors == plan->front->diagnostics->errors;
}

/* ---- parameters ---- */

static bool describe_view(struct elaborator *e, const struct ast_parameter *p, const struct type *type,
                          struct kernel_parameter *out)
{
    (void)type;
    out->kind = KERNEL_VIEW;
    out->direction = p->direction == DIRECTION_IN    ? KERNEL_IN
                     : p->direction == DIRECTION_OUT ? KERNEL_OUT
                                                     : KERNEL_INOUT;
    out->optional = p->is_optional;
    out->packed = p->is_packed;
    out->strided = p->is_strided;
    out->huge = p->is_huge;
    if (p->type->kind != TYPE_NODE_TILE) {
        front_report(e, DIAGNOSTIC_E0412, p->at, "a view has extents: `%s: in f32[N]`; a scalar in memory is `f32[1]`",
                     p->name.text);
        return false;
    }
    if (p->is_packed && p->is_strided) {
        front_report(e, DIAGNOSTIC_E0412, p->at, "a view is `packed` or `strided`, not both");
        return false;
    }
    if (p->is_strided && out->nibbles) {
        front_report(e, DIAGNOSTIC_E0412, p->at, "a view of 4-bit elements has the last stride 1: it is not `strided`");
        return false;
    }
    out->rank = p->type->extents.count;
    if (out->rank > IR_MAX_RANK) {
        front_report(e, DIAGNOSTIC_E0412, p->at, "a view has at most %d dimensions", IR_MAX_RANK);
        return false;
    }
    return true;
}

/* The library's enums are the same in every module, and an empty prefix must leave room for the words of C. */
static const char *type_c_name(struct front *front, const struct ast_declaration *declaration)
{
    const char *prefix = front->options->prefix;
    bool own = declaration->at.source != front->standard->file->source;
    return arena_printf(front->arena, "%s%s", own && prefix && *prefix ? prefix : "tile_", declaration->name.text);
}

const struct kernel_enum *describe_enumeration(struct front *front, const struct enumeration *enumeration)
{
    struct enumeration *own = (struct enumeration *)(uintptr_t)enumeration;
    if (own->described)
        return own->described;
    own->described = ARENA_NEW(front->arena, struct kernel_enum);
    *own->described = (struct kernel_enum){enumeration->name,           type_c_name(front, enumeration->declaration),
                                           enumeration->count,          enumeration->members,
                                           enumeration->values,         enumeration->declaration->doc,
                                           enumeration->declaration->at};
    vector_push(front->arena, &front->module->enums, *own->described);
    vector_push(front->arena, &front->enumerations, enumeration);
    return own->described;
}

/* A scalar, a member of an enum or a pointer; of a view, its elements. */
static void describe_value(struct front *front, const struct type *type, struct kernel_parameter *out)
{
    out->element = type->plain->element == IR_POINTER ? type->plain->pointee : type->plain->element;
    out->pointee_const = type->plain->pointee_const;
    if (type->kind == TYPE_ENUM) {
        out->kind = KERNEL_ENUM;
        out->element = IR_I32;
        out->enumeration = describe_enumeration(front, type->enumeration);
    } else if (type->plain->element == IR_POINTER) {
        out->kind = KERNEL_POINTER;
        out->direction = type->plain->pointee_const ? KERNEL_IN : KERNEL_INOUT;
    } else
        out->kind = KERNEL_SCALAR;
}

static const struct kernel_struct *describe_structure(struct front *front, const struct structure *structure)
{
    struct structure *own = (struct structure *)(uintptr_t)structure;
    if (own->described)
        return own->described;
    struct kernel_parameter *members = ARENA_ARRAY(front->arena, struct kernel_parameter, structure->type->count);
    for (int i = 0; i < structure->type->count; i++) {
        members[i] = (struct kernel_parameter){.name = structure->members[i],
                                               .at = structure->declaration->fields.data[i]->name.at,
                                               .key = -1,
                                               .slot = -1};
        describe_value(front, structure->type->members[i], &members[i]);
    }
    own->described = ARENA_NEW(front->arena, struct kernel_struct);
    *own->described = (struct kernel_struct){structure->name,
                                             type_c_name(front, structure->declaration),
                                             structure->type->count,
                                             members,
                                             structure->declaration->doc,
                                             structure->declaration->at};
    vector_push(front->arena, &front->module->structs, *own->described);
    return own->described;
}

/* The members of the struct parameters, as parameters behind those of the source. */
static void add_members(struct front *front, struct kernel_entry *entry)
{
    int declared = entry->parameters.count;
    for (int i = 0; i < declared; i++) {
        const struct kernel_parameter *p = &entry->parameters.data[i];
        const struct kernel_struct *structure = p->structure;
        for (int k = 0; structure && k < structure->count; k++) {
            struct kernel_parameter member = structure->members[k];
            member.name = arena_printf(front->arena, "%s.%s", entry->parameters.data[i].name, member.name);
            member.at = entry->parameters.data[i].at;
            member.member_of = i + 1;
            member.member = k;
            vector_push(front->arena, &entry->parameters, member);
        }
    }
}

struct view_uses {
    const char *name;
    bool read, written;
};

static bool note_use(const char *name, enum ast_use use, void *context)
{
    struct view_uses *uses = context;
    if (name == uses->name && use != AST_USE_ASKED) {
        uses->read = uses->read || use != AST_USE_STORED;
        uses->written = uses->written || use == AST_USE_STORED || use == AST_USE_CHANGED;
    }
    return false;
}

/* A view without its direction: the body shows which one it is. */
static void refuse_undirected(struct elaborator *e, const struct ast_declaration *kernel, const struct ast_parameter *p)
{
    struct view_uses uses = {.name = p->name.text};
    ast_find_name_in_body(kernel, note_use, &uses);
    struct diagnostic *d = front_report(
        e, DIAGNOSTIC_E0412, p->at,
        "a kernel takes views, scalars and pointers; say how `%s` is used: `in`, `out` or `inout`", p->name.text);
    struct location before = p->type->at;
    before.end_column = before.column;
    front_fixit(e, d, before, FIXIT_PROBABLE, !uses.written ? "in " : uses.read ? "inout " : "out ");
}

static bool describe_parameter(struct elaborator *e, struct front *front, const struct ast_declaration *kernel,
                               const struct ast_parameter *p, struct kernel_parameter *out)
{
    *out = (struct kernel_parameter){.name = p->name.text, .at = p->at, .key = -1, .slot = -1};
    if (p->is_const) {
        front_report(e, DIAGNOSTIC_E0412, p->at, "a kernel's compile-time values stand in `< >`: `<%s: {...}>`",
                     p->name.text);
        return false;
    }
    const struct ast_type *node = p->direction != DIRECTION_NONE && p->type->kind == TYPE_NODE_TILE ? p->type->target
                                                                                                    : p->type;
    if (p->direction == DIRECTION_NONE && node->kind == TYPE_NODE_TILE) {
        refuse_undirected(e, kernel, p);
        return false;
    }
    if (p->direction != DIRECTION_NONE && nibbles_type(e, node, &out->element)) {
        out->nibbles = true;
        return describe_view(e, p, NULL, out);
    }
    const struct type *type = elaborate_type(e, node);
    if (!type)
        return false;
    if (type->kind == TYPE_TUPLE || (p->direction != DIRECTION_NONE && type->kind != TYPE_PLAIN)) {
        front_report(e, DIAGNOSTIC_E0412, p->at,
                     "a kernel takes views, scalars, members of enums, pointers and structs");
        return false;
    }
    if (type->kind == TYPE_STRUCT) {
        if (p->is_restrict) {
            front_report(e, DIAGNOSTIC_E0412, p->at,
                         "`restrict` is of a pointer; those in a struct may point anywhere");
            return false;
        }
        out->kind = KERNEL_STRUCT;
        out->structure = describe_structure(front, type->structure);
        return true;
    }
    describe_value(front, type, out);
    out->restricted = p->is_restrict;
    if (p->direction == DIRECTION_NONE)
        return true;
    out->pointer_elements = type->plain->element == IR_POINTER;
    return describe_view(e, p, type, out);
}

/* ---- names that extents bind ---- */

static int find_name(const struct kernel_entry *entry, const char *name)
{
    for (int i = 0; i < entry->names.count; i++)
        if (entry->names.data[i].name == name)
            return i;
    return -1;
}

static bool is_generic(const struct kernel_plan *plan, const char *name, bool *is_type)
{
    for (int i = 0; i < plan->rows.count; i++)
        if (!plan->rows.data[i].least && plan->rows.data[i].name.text == name) {
            *is_type = plan->rows.data[i].is_type;
            return true;
        }
    return false;
}

/* Whether a name in an extent is one that an extent binds. */
static bool is_extent_name(const struct kernel_plan *plan, const char *name)
{
    bool is_type;
    if (is_generic(plan, name, &is_type))
        return !is_type;
    for (int i = 0; i < plan->declaration->parameters.count; i++)
        if (plan->declaration->parameters.data[i]->name.text == name)
            return false;
    if (builtin_find(name))
        return false;
    return !declare_by_author(plan->file, name);
}

static void bind_name(struct entry_plan *plan, const char *name, int parameter, int dimension, int64_t multiply,
                      int64_t add)
{
    struct kernel_entry *entry = plan->entry;
    int at = find_name(entry, name);
    if (at < 0) {
        at = entry->names.count;
        vector_push(plan->kernel->front->arena, &entry->names, ((struct kernel_name){name, -1, -1, 1, 0}));
    }
    struct kernel_name *n = &entry->names.data[at];
    if (n->parameter >= 0) { /* a view that must be there tells better than an optional one */
        bool better = entry->parameters.data[n->parameter].optional && !entry->parameters.data[parameter].optional;
        bool bare = n->multiply == 1 && n->add == 0;
        if (!better || (bare && (multiply != 1 || add != 0)))
            return;
        entry->parameters.data[n->parameter].binds[n->dimension] = -1;
    }
    *n = (struct kernel_name){name, parameter, dimension, multiply, add};
    entry->parameters.data[parameter].binds[dimension] = at;
}

static void bind_names(struct entry_plan *plan)
{
    const struct ast_declaration *d = plan->kernel->declaration;
    struct kernel_entry *entry = plan->entry;
    for (int pass = 0; pass < 2; pass++)
        for (int p = 0; p < d->parameters.count; p++) {
            if (entry->parameters.data[p].kind != KERNEL_VIEW)
                continue;
            for (int k = 0; k < entry->parameters.data[p].rank; k++) {
                const struct ast_expression *x = d->parameters.data[p]->type->extents.data[k];
                int64_t multiply = 1, add = 0;
                const char *name = pass == 0 ? (x->kind == EXPRESSION_NAME ? x->name : NULL)
                                             : ast_split_sum(x, &multiply, &add);
                if (!name || !is_extent_name(plan->kernel, name) || (pass == 1 && find_name(entry, name) >= 0))
                    continue;
                bind_name(plan, name, p, k, multiply, add);
            }
        }
}

/* ---- keys ---- */

static struct value host_key(struct elaborator *e, const struct entry_plan *plan, int row)
{
    int number = plan->key_of_row[row];
    const struct kernel_key *key = &plan->entry->keys.data[number];
    struct value v = host_make(e, KERNEL_HOST_KEY, number, 0, key->element == IR_BOOL ? IR_BOOL : IR_I64,
                               plan->entry->at);
    v.enumeration = plan->kernel->rows.data[row].domain.data[0].enumeration;
    return v;
}

int64_t key_number(struct value v) { return v.kind == VALUE_BOOL ? v.truth : (int64_t)v.integer; }

/* "{16, 128} where D is 2" */
static const char *describe_members(struct entry_plan *plan, int row, const struct row_set *set)
{
    enum { MOST_SHOWN = 10 };
    const struct domain *domain = &set->domain;
    struct buffer text = {0};
    buffer_puts(&text, "{");
    for (int i = 0; i < domain->count; i++) {
        if (i == MOST_SHOWN - 2 && domain->count > MOST_SHOWN) {
            buffer_puts(&text, ", ...");
            i = domain->count - 1;
        }
        buffer_puts(&text, i ? ", " : "");
        if (domain->data[i].enumeration)
            buffer_printf(&text, "%s.", domain->data[i].enumeration->name);
        value_print_constant(&text, domain->data[i]);
    }
    const char *above = row_describe_above(plan->kernel, row, set->above, false);
    buffer_printf(&text, "}%s%s", *above ? " where " : "", above);
    const char *kept = arena_substring(plan->kernel->front->arena, text.data, text.size);
    buffer_free(&text);
    return kept;
}

static struct kernel_set describe_set(struct elaborator *e, struct entry_plan *plan, int row, const struct row_set *set)
{
    const bool *uses = plan->kernel->rows.data[row].uses;
    struct value when = value_bool(true, plan->entry->at);
    int64_t *values = ARENA_ARRAY(e->arena, int64_t, set->domain.count);
    for (int i = 0; i < set->domain.count; i++)
        values[i] = key_number(set->domain.data[i]);
    for (int i = 0; uses && i < row; i++) {
        if (!uses[i] || plan->key_of_row[i] < 0)
            continue;
        struct value is = host_binary(e, OPERATOR_EQUAL, host_key(e, plan, i), set->above[i], plan->entry->at);
        when = operate_binary(e, OPERATOR_AND, when, is, plan->entry->at);
    }
    return (struct kernel_set){.when = when.kind == VALUE_HOST ? when.host.tree : NULL,
                               .count = set->domain.count,
                               .values = values,
                               .text = describe_members(plan, row, set)};
}

static struct kernel_key describe_key(struct elaborator *e, struct entry_plan *plan, int row)
{
    const struct row *written = &plan->kernel->rows.data[row];
    const struct row_sets *sets = &plan->sets[row];
    struct kernel_key key = {
        .name = written->name.text, .element = IR_I64, .set_count = sets->count, .parameter = -1, .name_index = -1};
    struct kernel_set *described = ARENA_ARRAY(e->arena, struct kernel_set, sets->count);
    for (int i = 0; i < sets->count; i++)
        described[i] = describe_set(e, plan, row, &sets->data[i]);
    key.sets = described;
    if (written->domain.data[0].kind == VALUE_BOOL)
        key.element = IR_BOOL;
    if (written->domain.data[0].kind == VALUE_ENUMERATOR) {
        key.element = IR_I32;
        key.enumeration = describe_enumeration(plan->kernel->front, written->domain.data[0].enumeration);
    }
    return key;
}

/* What tells the key: an extent, or an argument of its own behind the others. */
static void add_argument(struct entry_plan *plan, const struct row *row, struct kernel_key *key)
{
    struct kernel_entry *entry = plan->entry;
    struct arena *arena = plan->kernel->front->arena;
    const char *name = row->name.text;
    key->name_index = find_name(entry, name);
    if (key->name_index >= 0)
        return;
    key->parameter = entry->parameters.count;
    struct kernel_parameter parameter = {.name = name,
                                         .kind = KERNEL_KEY,
                                         .element = key->element == IR_BOOL ? IR_BOOL : IR_I32,
                                         .enumeration = key->enumeration,
                                         .key = entry->keys.count,
                                         .slot = -1,
                                         .at = row->at};
    vector_push(arena, &entry->parameters, parameter);
}

static void add_keys(struct elaborator *e, struct entry_plan *plan)
{
    struct kernel_plan *kernel = plan->kernel;
    struct arena *arena = kernel->front->arena;
    plan->sets = ARENA_ARRAY(arena, struct row_sets, kernel->rows.count);
    for (int i = 0; i < kernel->rows.count; i++) {
        const struct row *row = &kernel->rows.data[i];
        plan->key_of_row[i] = -1;
        if (row->is_type || !row_list_sets(kernel, e, i, plan->types, &plan->sets[i]))
            continue;
        struct kernel_key key = describe_key(e, plan, i);
        if (!row->least)
            add_argument(plan, row, &key);
        plan->key_of_row[i] = plan->entry->keys.count;
        vector_push(arena, &plan->entry->keys, key);
    }
}

/* ---- host scope ---- */

static struct value host_parameter(struct elaborator *e, const struct entry_plan *plan, int number);

static struct value host_structure(struct elaborator *e, const struct entry_plan *plan, int number)
{
    const struct kernel_parameter *p = &plan->entry->parameters.data[number];
    const struct type *type = elaborate_type(e, plan->kernel->declaration->parameters.data[number]->type);
    if (!type)
        return value_error(p->at);
    struct value v = {.kind = VALUE_TUPLE, .at = p->at, .structure = type->structure};
    v.list.count = p->structure->count;
    v.list.data = ARENA_ARRAY(e->arena, struct value, v.list.count);
    for (int i = 0; i < plan->entry->parameters.count; i++)
        if (plan->entry->parameters.data[i].member_of == number + 1)
            v.list.data[plan->entry->parameters.data[i].member] = host_parameter(e, plan, i);
    return v;
}

static struct value host_parameter(struct elaborator *e, const struct entry_plan *plan, int number)
{
    const struct kernel_parameter *p = &plan->entry->parameters.data[number];
    struct value v;
    switch (p->kind) {
    case KERNEL_VIEW: {
        const struct ast_parameter *written = plan->kernel->declaration->parameters.data[number];
        struct view_value *view = ARENA_NEW(e->arena, struct view_value);
        *view = (struct view_value){.number = number,
                                    .rank = p->rank,
                                    .name = written->name.text,
                                    .parameter = written,
                                    .declared_optional = p->optional,
                                    .nibbles = p->nibbles};
        return (struct value){.kind = VALUE_VIEW, .at = p->at, .view = view};
    }
    case KERNEL_SCALAR:
        if (ir_is_float(p->element)) {
            v = host_make(e, KERNEL_HOST_FLOAT_SCALAR, number, 0, IR_F64, p->at);
            v.element = p->element; /* compared as f64, but with constants of its own type */
            return v;
        }
        return host_make(e, KERNEL_HOST_SCALAR, number, 0, p->element == IR_BOOL ? IR_BOOL : IR_I64, p->at);
    case KERNEL_ENUM:
        v = host_make(e, KERNEL_HOST_SCALAR, number, 0, IR_I64, p->at);
        for (int i = 0; i < plan->kernel->front->enumerations.count; i++)
            if (plan->kernel->front->enumerations.data[i]->described == p->enumeration)
                v.enumeration = plan->kernel->front->enumerations.data[i];
        return v;
    case KERNEL_STRUCT: return host_structure(e, plan, number);
    default: return (struct value){.kind = VALUE_VOID, .at = p->at};
    }
}

void entry_bind_rows(struct elaborator *e, const struct entry_plan *plan, const struct value *keys)
{
    for (int i = 0; i < plan->kernel->rows.count; i++) {
        int key = plan->key_of_row[i];
        scope_bind(e, BINDING_GENERIC, plan->kernel->rows.data[i].name,
                   key < 0 ? plan->types[i]
                   : keys  ? keys[key]
                           : host_key(e, plan, i));
    }
}

void entry_host_scope(struct elaborator *e, const struct entry_plan *plan, const struct value *keys,
                      const struct value *tuned)
{
    struct kernel_plan *kernel = plan->kernel;
    e->allow_sm_count = true;
    scope_push(e, false);
    for (int i = 0; i < kernel->declaration->parameters.count; i++)
        scope_bind(e, BINDING_PARAMETER, kernel->declaration->parameters.data[i]->name, host_parameter(e, plan, i));
    for (int i = 0; i < plan->entry->names.count; i++)
        scope_bind(e, BINDING_EXTENT, (struct ast_name){plan->entry->names.data[i].name, plan->entry->at},
                   host_make(e, KERNEL_HOST_NAME, i, 0, IR_I64, plan->entry->at));
    entry_bind_rows(e, plan, keys);
    for (int i = 0; tuned && i < kernel->tuning.count; i++)
        scope_bind(e, BINDING_TUNE, (struct ast_name){kernel->tuning.data[i].name, kernel->tuning.data[i].at},
                   tuned[i]);
}

/* ---- extents and requirements ---- */

static bool is_knob(const char *name, enum ast_use use, void *context)
{
    const struct kernel_plan *kernel = ((const struct entry_plan *)context)->kernel;
    for (int i = 0; i < kernel->tuning.count; i++)
        if (kernel->tuning.data[i].name == name)
            return use != AST_USE_CALLED;
    return false;
}

/* A name of an extent that nothing binds. */
static bool is_unbound(const char *name, enum ast_use use, void *context)
{
    const struct entry_plan *plan = context;
    return use != AST_USE_CALLED && is_extent_name(plan->kernel, name) && find_name(plan->entry, name) < 0 &&
           !is_generic(plan->kernel, name, &(bool){false});
}

static bool evaluate_extent(struct elaborator *e, struct entry_plan *plan, int p, int k)
{
    struct kernel_parameter *parameter = &plan->entry->parameters.data[p];
    const struct ast_expression *x = plan->kernel->declaration->parameters.data[p]->type->extents.data[k];
    const struct ast_expression *knob = ast_find_name(x, is_knob, plan);
    parameter->static_extent[k] = IR_DYNAMIC;
    if (knob) {
        front_report(e, DIAGNOSTIC_E0404, knob->at,
                     "the `tune` name `%s` may not stand in an extent: the caller could not allocate the view",
                     knob->name);
        return false;
    }
    const struct ast_expression *untold = ast_find_name(x, is_unbound, plan);
    if (untold)
        return front_report_untold(e, untold);
    struct value v = elaborate_value(e, x);
    if (value_is_error(v))
        return false;
    if (v.kind == VALUE_INTEGER) {
        if (v.integer < 0 || v.integer > (parameter->huge ? INT64_MAX : INT32_MAX)) {
            front_report(e, DIAGNOSTIC_E0502, x->at,
                         parameter->huge ? "an extent is between 0 and 2^63 - 1"
                                         : "an extent is between 0 and 2^31 - 1; that of a `huge` view may be more");
            return false;
        }
        if (parameter->nibbles && k == parameter->rank - 1 && v.integer % 2 != 0) {
            front_report(e, DIAGNOSTIC_E0611, x->at, "`%s` holds two elements a byte: its last extent is even",
                         parameter->name);
            return false;
        }
        parameter->static_extent[k] = (int64_t)v.integer;
    }
    parameter->extent[k] = host_tree(e, v, IR_I64, x);
    return parameter->extent[k] != NULL;
}

static bool is_key_from(const struct kernel_expression *part, void *from)
{
    return part->op == KERNEL_HOST_KEY && part->number >= *(const int *)from;
}

/* The first key from `from` on that the tree asks for; NULL: none. */
static const struct kernel_key *find_later_key(struct arena *arena, const struct kernel_entry *entry,
                                               const struct kernel_expression *tree, int from)
{
    const struct kernel_expression *found = kernel_expression_find(arena, tree, is_key_from, &from);
    return found ? &entry->keys.data[found->number] : NULL;
}

static bool evaluate_least(struct elaborator *e, struct entry_plan *plan, int row)
{
    const struct ast_expression *least = plan->kernel->rows.data[row].least;
    if (!least)
        return true;
    struct value v = elaborate_value(e, least);
    const struct kernel_expression *tree = value_is_error(v) ? NULL : host_tree(e, v, IR_I64, least);
    int number = plan->key_of_row[row];
    plan->entry->keys.data[number].at_least = tree;
    const struct kernel_key *later = find_later_key(e->arena, plan->entry, tree, number);
    if (!later)
        return tree != NULL;
    front_report(e, DIAGNOSTIC_E0408, least->at,
                 "`%s` is not known when `%s` is chosen, as it does not stand before it", later->name,
                 plan->entry->keys.data[number].name);
    return false;
}

static bool evaluate_requirements(struct elaborator *e, struct entry_plan *plan, bool *dropped)
{
    bool good = true;
    for (int i = 0; i < plan->kernel->requirements.count; i++) {
        const struct ast_expression *x = plan->kernel->requirements.data[i].expression;
        struct value v = elaborate_condition(e, x, "a requirement");
        if (value_is_error(v))
            good = false;
        else if (v.kind == VALUE_BOOL && !v.truth)
            *dropped = true;
        else if (v.kind == VALUE_HOST) {
            const struct kernel_expression *tree = host_tree(e, v, IR_BOOL, x);
            if (tree)
                vector_push(e->arena, &plan->entry->requirements, tree);
        }
    }
    return good;
}

void entry_assign_slots(struct entry_plan *plan)
{
    int slot = 0;
    for (int i = 0; i < plan->entry->parameters.count; i++) {
        struct kernel_parameter *p = &plan->entry->parameters.data[i];
        if (p->kind == KERNEL_KEY || p->kind == KERNEL_STRUCT)
            continue;
        p->slot = slot;
        slot += p->kind == KERNEL_VIEW ? 1 + 2 * p->rank : 1;
    }
    for (int i = 0; i < plan->entry->scratch.count; i++) {
        plan->entry->scratch.data[i].slot = slot;
        slot += 1 + 2 * plan->entry->scratch.data[i].rank;
    }
    const struct front_options *options = plan->kernel->front->options;
    plan->entry->reports = options->check_asserts || options->check_assumes || kernel_prints(plan->kernel);
    plan->entry->slots = slot + plan->entry->reports + plan->kernel->grid.count + plan->entry->splits + 1;
}

bool entry_build(struct entry_plan *plan, bool *dropped)
{
    struct kernel_plan *kernel = plan->kernel;
    struct front *front = kernel->front;
    struct elaborator e;
    bool good = true;
    elaborator_init(&e, front, kernel->file);
    if (plan_has_choices(kernel))
        e.instance = arena_printf(front->arena, "%s%s", kernel->declaration->name.text, plan->suffix);
    plan->key_of_row = ARENA_ARRAY(front->arena, int, kernel->rows.count);
    scope_push(&e, false);
    for (int i = 0; i < kernel->rows.count; i++)
        if (kernel->rows.data[i].is_type)
            scope_bind(&e, BINDING_GENERIC, kernel->rows.data[i].name, plan->types[i]);
    for (int i = 0; i < kernel->declaration->parameters.count; i++) {
        struct kernel_parameter parameter;
        good = describe_parameter(&e, front, kernel->declaration, kernel->declaration->parameters.data[i],
                                  &parameter) &&
               good;
        for (int k = 0; k < IR_MAX_RANK; k++)
            parameter.binds[k] = -1;
        vector_push(front->arena, &plan->entry->parameters, parameter);
    }
    scope_pop(&e);
    if (!good)
        return false;
    add_members(front, plan->entry);
    bind_names(plan);
    add_keys(&e, plan);
    entry_host_scope(&e, plan, NULL, NULL);
    for (int p = 0; p < kernel->declaration->parameters.count; p++)
        for (int k = 0; k < plan->entry->parameters.data[p].rank; k++)
            good = evaluate_extent(&e, plan, p, k) && good;
    for (int i = 0; i < kernel->rows.count && good; i++)
        good = evaluate_least(&e, plan, i);
    good = good && evaluate_requirements(&e, plan, dropped);
    good = scratch_describe(&e, plan) && good;
    for (int i = 0; i < kernel->aliases.count; i++)
        vector_push(front->arena, &plan->entry->aliases, kernel->aliases.data[i]);
    for (int i = 0; i < kernel->grid.count; i++)
        vector_push(front->arena, &plan->entry->grid_names, kernel->grid.data[i]->name.text);
    entry_assign_slots(plan);
    return good && e.errors == 0;
}
