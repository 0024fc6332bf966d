/* Statements.  Each recovers by itself: after an error its names hold VALUE_ERROR, which stays silent. */
#include "front/walk/control.h"

#include <string.h>

/* A value of `let`: places are read, numbers that adapt become f32 when real; integers known while compiling stay so.
 */
static struct value settle(struct elaborator *e, struct value v)
{
    if (v.kind == VALUE_VIEW)
        return v;
    if (v.kind == VALUE_TYPE || v.kind == VALUE_STRING) {
        struct diagnostic *d = front_report(e, DIAGNOSTIC_E0310, v.at, "a name stands for a value, and this is %s",
                                            front_describe(e, v));
        struct location behind = v.at;
        behind.column = behind.end_column;
        if (v.kind == VALUE_TYPE && v.type->kind == TYPE_PLAIN)
            front_fixit(e, d, behind, FIXIT_PROBABLE, "(0)");
        return value_error(v.at);
    }
    v = value_read(e, v);
    if (v.kind == VALUE_REAL && v.element == IR_ELEMENT_COUNT) {
        struct value settled = constant_to_element(e, v, IR_F32, false);
        settled.alone = settled.kind == VALUE_REAL && settled.real.number != v.real.number;
        return settled;
    }
    return v;
}

static void name_value(struct value v, const char *name)
{
    if (v.kind == VALUE_RUN && !v.run->name && v.run->definition)
        v.run->name = name;
}

static struct value annotate(struct elaborator *e, struct value v, const struct ast_type *node)
{
    const struct type *type = elaborate_type(e, node);
    if (!type || value_is_error(v))
        return value_error(node->at);
    if (type->kind == TYPE_TUPLE) {
        front_report(e, DIAGNOSTIC_E0204, node->at, "a tuple is taken apart by names: `let a, b = f(x);`");
        return value_error(node->at);
    }
    if (type->kind == TYPE_ENUM || type->kind == TYPE_STRUCT)
        return convert_construct(e, type, v, node->at);
    if (value_is_constant(v) && type->plain->rank == 0)
        return constant_to_element(e, v, type->plain->element, false);
    if (v.kind == VALUE_HOST && type->plain->rank == 0 && type->plain->element == host_element(v))
        return v;
    struct ir_value *run = convert_to_type_from(e, v, type->plain, type->origin, false, "the declared type");
    if (!run)
        return value_error(v.at);
    struct value result = value_run(run, v.at);
    result.origin = type->origin;
    return result;
}

static struct value settle_variable(struct elaborator *e, struct value v)
{
    if (v.structure)
        return structure_settle(e, v);
    if (v.kind == VALUE_VIEW || v.kind == VALUE_TYPE || v.kind == VALUE_STRING || v.kind == VALUE_TUPLE ||
        v.kind == VALUE_LIST || v.kind == VALUE_NULL) {
        front_report(e, DIAGNOSTIC_E0310, v.at,
                     "a variable holds a scalar, a tile, a pointer or a struct, not %s; use `let`",
                     front_describe(e, v));
        return value_error(v.at);
    }
    return e->function ? value_materialize(e, v) : v;
}

static bool is_number(const struct ast_expression *x)
{
    if (x->kind == EXPRESSION_UNARY && x->operation == OPERATOR_NEGATE)
        x = x->left;
    return x->kind == EXPRESSION_INTEGER || x->kind == EXPRESSION_REAL;
}

static void declare_names(struct elaborator *e, const struct ast_statement *s)
{
    int count = s->names.count;
    struct value *values = ARENA_ARRAY(e->arena, struct value, count);
    if (s->values.count == count)
        for (int i = 0; i < count; i++)
            values[i] = elaborate(e, s->values.data[i]);
    else {
        struct value all = s->values.count == 1 ? elaborate_value(e, s->values.data[0]) : value_error(s->at);
        bool fits = all.kind == VALUE_TUPLE && !all.structure && all.list.count == count;
        if (!fits && (!value_is_error(all) || s->values.count != 1))
            front_report(e, DIAGNOSTIC_E0307, s->at,
                         count == 1 ? "%d name needs %d value, and the right side gives %d"
                                    : "%d names need %d values, and the right side gives %d",
                         count, count, all.kind == VALUE_TUPLE && !all.structure ? all.list.count : s->values.count);
        for (int i = 0; i < count; i++)
            values[i] = fits ? all.list.data[i] : value_error(s->at);
    }
    for (int i = 0; i < count; i++) {
        struct value v = values[i];
        if (v.kind != VALUE_ERROR)
            v = settle(e, v);
        if (s->type)
            v = annotate(e, v, s->type);
        if (s->kind == STATEMENT_VAR)
            v = settle_variable(e, v);
        v = host_keep(e, v);
        name_value(v, s->names.data[i].text);
        struct binding *binding = scope_bind(e, s->kind == STATEMENT_VAR ? BINDING_VAR : BINDING_LET, s->names.data[i],
                                             v);
        if (binding && s->kind == STATEMENT_VAR && !s->type && s->values.count == count && is_number(s->values.data[i]))
            binding->number = s->values.data[i];
    }
}

/* ---- assignment ---- */

static bool in_lifted(const struct elaborator *e)
{
    for (const struct frame *f = e->frame; f; f = f->parent)
        if (f->lifted)
            return true;
    return false;
}

static struct value keep_type(struct elaborator *e, struct value before, struct value v, const char *name,
                              struct location at)
{
    if (before.structure && before.structure == v.structure)
        return v;
    if (before.structure || v.structure) {
        front_report(e, DIAGNOSTIC_E0314, at, "`%s` keeps its type, and %s is another", name, front_describe(e, v));
        return value_error(at);
    }
    if (before.kind != VALUE_RUN) { /* a const fn: the kind stays */
        bool known = v.kind == before.kind || v.kind == VALUE_HOST || before.kind == VALUE_HOST;
        if (known && host_element(v) == host_element(before) && v.enumeration == before.enumeration)
            return host_keep(e, v);
        front_report(e, DIAGNOSTIC_E0314, at, "`%s` keeps its type, and %s is another", name, front_describe(e, v));
        return value_error(at);
    }
    if (before.enumeration != v.enumeration) {
        front_report(e, DIAGNOSTIC_E0314, at, "`%s` keeps its type %s, and %s is another", name,
                     front_describe(e, before), front_describe(e, v));
        return value_error(at);
    }
    const struct ir_type *type = before.run->type;
    if (type->rank == 0 && value_is_tile(v) && in_lifted(e))
        type = ir_type_with_shape(e->context, type, v.run->type->rank, v.run->type->extent);
    int errors = e->errors;
    struct buffer what = {0};
    buffer_printf(&what, "`%s` keeps its type", name);
    struct ir_value *run = convert_to_type_from(e, v, type, before.origin, false, what.data);
    buffer_free(&what);
    if (!run)
        return errors == e->errors ? before : value_error(at);
    struct value result = value_run(run, at);
    result.enumeration = before.enumeration;
    result.origin = v.kind == VALUE_RUN && v.origin ? v.origin : before.origin;
    return result;
}

/* `member`: of a struct, that one alone; -1: the whole. */
static void assign_to_part(struct elaborator *e, struct binding *binding, int member, struct value v,
                           struct location at)
{
    if (binding->kind != BINDING_VAR) {
        const char *what = binding->kind == BINDING_LET     ? "is fixed: declare it with `var` to change it"
                           : binding->kind == BINDING_RANGE ? "is the variable of a `for`, which nothing else changes"
                           : binding->kind == BINDING_PARAMETER ? "is a parameter: copy it to a `var` to change it"
                                                                : "is not a variable";
        struct diagnostic *d = front_report(e, DIAGNOSTIC_E0209, at, "`%s` %s", binding->name, what);
        front_note(e, d, binding->at, "`%s` is declared here", binding->name);
        return;
    }
    if (value_is_error(v) || value_is_error(binding->value))
        return; /* it keeps its type for what follows */
    struct value *part = &binding->value;
    if (member >= 0) {
        binding->value = structure_copy(e, binding->value);
        part = &binding->value.list.data[member];
    }
    struct value kept = keep_type(e, *part, v, binding->name, at);
    if (!value_is_error(kept))
        *part = kept;
}

void assign_to_binding(struct elaborator *e, struct binding *binding, struct value v, struct location at)
{
    assign_to_part(e, binding, -1, v, at);
}

struct target {
    struct binding *binding;
    int member; /* of the struct that the variable holds, or -1 */
    struct value place;
};

/* p.eps = e: false where no variable that holds a struct stands in front of the dot. */
static bool find_member_target(struct elaborator *e, const struct ast_expression *expression, struct target *target)
{
    struct binding *binding = expression->kind == EXPRESSION_MEMBER && expression->base->kind == EXPRESSION_NAME
                                  ? scope_find(e, expression->base->name)
                                  : NULL;
    if (!binding || !binding->value.structure)
        return false;
    target->member = structure_find(e, binding->value.structure, expression);
    target->binding = target->member >= 0 ? binding : NULL;
    return true;
}

static struct target find_target(struct elaborator *e, const struct ast_statement *s,
                                 const struct ast_expression *expression)
{
    struct target target = {.place = value_error(expression->at), .member = -1};
    if (find_member_target(e, expression, &target))
        return target;
    if (expression->kind == EXPRESSION_NAME) {
        target.binding = scope_find(e, expression->name);
        if (!target.binding) {
            e->assigned = s;
            struct value v = elaborate_name(e, expression->name, expression->at);
            e->assigned = NULL;
            if (!value_is_error(v))
                front_report(e, DIAGNOSTIC_E0209, expression->at, "`%s` is not a variable", expression->name);
        } else if (target.binding->value.kind == VALUE_VIEW) {
            front_report(e, DIAGNOSTIC_E0209, expression->at,
                         "`%s` is a view; write into its places, as in `%s[i +: B] = v`", expression->name,
                         expression->name);
            target.binding = NULL;
        }
        return target;
    }
    e->assigned = s;
    struct value v = elaborate(e, expression);
    e->assigned = NULL;
    if (v.kind == VALUE_PLACE)
        target.place = v;
    else if (!value_is_error(v)) {
        struct diagnostic *d = front_report(e, DIAGNOSTIC_E0606, expression->at,
                                            "only variables and places of views are assigned, and this is %s",
                                            front_describe(e, v));
        if (v.kind == VALUE_RUN && expression->kind == EXPRESSION_INDEX)
            note_tile_assignment(e, d, expression->base->kind == EXPRESSION_NAME ? elaborate(e, expression->base) : v,
                                 s, expression);
    }
    return target;
}

/* var s = 0;  s += sum(x);  The number alone is i64 or f32: what it should have been belongs where it stands. */
static bool refuse_number(struct elaborator *e, struct binding *binding, struct value v, struct location at)
{
    if (binding && binding->refused)
        return true;
    if (!binding || !binding->number || v.kind != VALUE_RUN || v.enumeration || v.structure ||
        binding->value.kind != VALUE_RUN || binding->value.run->type->rank)
        return false;
    const struct ir_type *is = binding->value.run->type, *wanted = v.run->type;
    bool both = ir_is_integer(is->element) && ir_is_integer(wanted->element);
    bool same = is->element == wanted->element || (both && ir_is_signed(wanted->element));
    if ((same && !wanted->rank) || wanted->element == IR_POINTER || wanted->element == IR_BOOL || in_lifted(e) ||
        (ir_is_float(is->element) && ir_is_integer(wanted->element)))
        return false;
    const char *type = front_type_text(e, wanted), *number = front_source(e, binding->number);
    struct diagnostic *d = front_report(e, DIAGNOSTIC_E0314, binding->number->at,
                                        "`%s` is %s, as `%s` by itself is, and %s is assigned to it later: write "
                                        "`%s(%s)`",
                                        binding->name, front_describe(e, binding->value), number, type, type, number);
    front_note(e, d, at, "this is %s", type);
    front_fixit(e, d, binding->number->at, FIXIT_PROBABLE, arena_printf(e->arena, "%s(%s)", type, number));
    binding->refused = true;
    return true;
}

static void assign(struct elaborator *e, const struct ast_statement *s)
{
    int count = s->targets.count;
    struct value *values = ARENA_ARRAY(e->arena, struct value, count);
    if (s->values.count == count)
        for (int i = 0; i < count; i++)
            values[i] = elaborate_value(e, s->values.data[i]);
    else {
        struct value all = s->values.count == 1 ? elaborate_value(e, s->values.data[0]) : value_error(s->at);
        bool fits = all.kind == VALUE_TUPLE && !all.structure && all.list.count == count;
        if (!fits && (!value_is_error(all) || s->values.count != 1))
            front_report(e, DIAGNOSTIC_E0307, s->at, "%d targets need %d values", count, count);
        for (int i = 0; i < count; i++)
            values[i] = fits ? all.list.data[i] : value_error(s->at);
    }
    for (int i = 0; i < count; i++) {
        struct target target = find_target(e, s, s->targets.data[i]);
        struct value v = values[i];
        if (target.member < 0 && refuse_number(e, target.binding, v, v.at))
            continue;
        if (s->operation != OPERATOR_NONE) {
            struct value old = !target.binding      ? value_read(e, target.place)
                               : target.member >= 0 ? target.binding->value.list.data[target.member]
                                                    : target.binding->value;
            struct location at = s->at;
            v = operate_binary(e, s->operation, old, v, at);
        }
        if (target.binding) {
            name_value(v, target.binding->name);
            assign_to_part(e, target.binding, target.member, v, s->targets.data[i]->at);
        } else
            access_store(e, target.place, v, NULL, -1, s->at);
    }
}

/* ---- dispatch ---- */

/* What the language brings and gives a value has no effect but that of atomics. */
static void check_effect(struct elaborator *e, const struct ast_expression *call, struct value v)
{
    const char *name = call->base->kind == EXPRESSION_NAME ? call->base->name : NULL;
    struct global *other = NULL;
    bool brought = name && e->front->builtins->find(name) && !scope_find(e, name) &&
                   !declare_find(e->front, e->file, name, &other);
    if (!brought || v.kind == VALUE_VOID || value_is_error(v) || strncmp(name, "atomic_", 7) == 0)
        return;
    front_report(e, DIAGNOSTIC_E0110, call->at, "this statement computes a value and drops it");
}

void elaborate_statement(struct elaborator *e, const struct ast_statement *s)
{
    elaborate_at(e, s->at);
    switch (s->kind) {
    case STATEMENT_BLOCK:
        scope_push(e, false);
        elaborate_block(e, &s->body, 0);
        scope_pop(e);
        break;
    case STATEMENT_LET:
    case STATEMENT_VAR: declare_names(e, s); break;
    case STATEMENT_ASSIGN: assign(e, s); break;
    case STATEMENT_EXPRESSION: check_effect(e, s->value, elaborate(e, s->value)); break;
    case STATEMENT_IF: control_if(e, s, NULL, 0); break;
    case STATEMENT_FOR: control_for(e, s); break;
    case STATEMENT_WHILE: control_while(e, s); break;
    case STATEMENT_BREAK:
    case STATEMENT_CONTINUE:
    case STATEMENT_RETURN: control_jump(e, s); break;
    case STATEMENT_MISSING:
        e->errors++;
        if (s->is_unbalanced)
            e->muted++; /* from here on errors may be its echo */
        for (int i = 0; i < s->names.count; i++)
            if (!scope_find(e, s->names.data[i].text))
                scope_bind(e, BINDING_VAR, s->names.data[i], value_error(s->at));
        break;
    }
}

/* So many errors are no program: looking on would take long and tell nothing.  Under -ferror-limit=0 it does. */
enum { MOST_ERRORS = 1000 };

void elaborate_block(struct elaborator *e, const struct ast_statement_list *list, int from)
{
    for (int i = from; i < list->count; i++) {
        if (e->front->diagnostics->limit && e->front->diagnostics->errors > MOST_ERRORS)
            return;
        const struct ast_statement *s = list->data[i];
        bool last = i + 1 == list->count;
        if (s->kind == STATEMENT_IF && !last && statement_always_jumps(s->then)) {
            elaborate_at(e, s->at);
            control_if(e, s, list, i + 1);
            return;
        }
        elaborate_statement(e, s);
        struct value flag = control_guard_flag(e)->value;
        if (flag.kind == VALUE_BOOL && flag.truth)
            return; /* what follows is never reached */
        if (flag.kind != VALUE_BOOL && !last) {
            control_guard(e, condition_not(e, flag), list, i + 1);
            return;
        }
    }
}
