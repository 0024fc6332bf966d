/* Domains: the values that a compile-time name may take, in the order written, each once. */
#include "front/walk/walk.h"

#include <string.h>

enum { LARGEST_DOMAIN = 4096 };

bool domain_has(const struct domain *domain, struct value v)
{
    for (int i = 0; i < domain->count; i++)
        if (value_same(domain->data[i], v))
            return true;
    return false;
}

static bool add(struct elaborator *e, struct domain *out, struct value v)
{
    if (domain_has(out, v))
        return true;
    if (out->count == LARGEST_DOMAIN) {
        front_report(e, DIAGNOSTIC_E0407, v.at, "a domain has at most %d values", LARGEST_DOMAIN);
        return false;
    }
    vector_push(e->arena, out, v);
    return true;
}

static bool add_range(struct elaborator *e, const struct ast_range *range, struct domain *out)
{
    wide_integer from, to, step = 1;
    if (!elaborate_integer(e, range->from, "the start of a range", &from) ||
        !elaborate_integer(e, range->to, "the end of a range", &to))
        return false;
    if (range->step && !elaborate_integer(e, range->step, "the step of a range", &step))
        return false;
    if (step <= 0 || (range->step_multiplies && (step < 2 || from <= 0))) {
        front_report(
            e, DIAGNOSTIC_E0507, range->at,
            "a range in a domain goes up: its step is 1 or more, a factor 2 or more from a start of 1 or more");
        return false;
    }
    for (wide_integer n = from; n <= to; n = range->step_multiplies ? n * step : n + step)
        if (!add(e, out, value_integer(n, range->at)))
            return false;
    return true;
}

/* A name that stands for several values: bool, an enum, or a class of types. */
bool domain_evaluate_class(struct elaborator *e, const struct ast_domain *domain, struct domain *out)
{
    static const struct {
        const char *name;
        enum ir_element least, most;
    } classes[] = {{"integer", IR_I8, IR_U64},
                   {"signed", IR_I8, IR_I64},
                   {"unsigned", IR_U8, IR_U64},
                   {"float", IR_F16, IR_F64},
                   {"number", IR_I8, IR_F64}};
    const struct ast_expression *x = domain->expression;
    if (x->kind == EXPRESSION_NAME && !scope_find(e, x->name)) {
        struct global *other = NULL;
        for (int i = 0; i < (int)(sizeof classes / sizeof *classes); i++) {
            if (strcmp(classes[i].name, x->name) != 0 || declare_find(e->front, e->file, x->name, &other))
                continue;
            for (int element = (int)classes[i].least; element <= (int)classes[i].most; element++) {
                struct type *type = ARENA_NEW(e->arena, struct type);
                type->plain = ir_type_scalar(e->context, (enum ir_element)element);
                if (!add(e, out, value_type(type, x->at)))
                    return false;
            }
            return true;
        }
    }
    struct value v = elaborate_value(e, x);
    if (value_is_error(v))
        return false;
    if (v.kind == VALUE_TYPE && v.type->kind == TYPE_ENUM) {
        for (int i = 0; i < v.type->enumeration->count; i++) {
            struct value member = {.kind = VALUE_ENUMERATOR,
                                   .at = x->at,
                                   .integer = v.type->enumeration->values[i],
                                   .element = IR_I32,
                                   .enumeration = v.type->enumeration};
            if (!add(e, out, member))
                return false;
        }
        return true;
    }
    if (v.kind == VALUE_TYPE && v.type->kind == TYPE_PLAIN && v.type->plain->rank == 0 &&
        v.type->plain->element == IR_BOOL)
        return add(e, out, value_bool(false, x->at)) && add(e, out, value_bool(true, x->at));
    if (v.kind == VALUE_TYPE && v.type->kind == TYPE_PLAIN && v.type->plain->rank == 0 &&
        ir_is_integer(v.type->plain->element))
        return true; /* any integer: of a const parameter */
    front_report(e, DIAGNOSTIC_E0407, x->at,
                 "this does not name a set of values: write a set such as `{64, 128}`, a range such as `2..=7`, "
                 "`bool`, or an enum");
    return false;
}

/* A member that says itself what it is: another such one of the same value is a slip.  `{B, 64}` may come out so. */
static bool is_plain(const struct ast_domain *member)
{
    return member->kind == DOMAIN_EXPRESSION &&
           (member->expression->kind == EXPRESSION_INTEGER || member->expression->kind == EXPRESSION_SCALAR_TYPE);
}

/* Whether the member `last` stands before as well; reported. */
static bool is_repeated(struct elaborator *e, const struct ast_domain *domain, int last)
{
    const struct ast_domain *member = domain->members.data[last];
    for (int i = 0; i < last && is_plain(member); i++) {
        const struct ast_domain *other = domain->members.data[i];
        if (!is_plain(other) || other->expression->kind != member->expression->kind)
            continue;
        bool same = member->expression->kind == EXPRESSION_INTEGER
                        ? other->expression->integer.value == member->expression->integer.value
                        : other->expression->scalar == member->expression->scalar;
        if (!same)
            continue;
        front_note(e,
                   front_report(e, DIAGNOSTIC_E0407, member->at, "`%s` stands in this set twice",
                                front_source(e, member->expression)),
                   other->at, "it is here already");
        return true;
    }
    return false;
}

static bool evaluate(struct elaborator *e, const struct ast_domain *domain, const char *what, struct domain *out)
{
    switch (domain->kind) {
    case DOMAIN_RANGE: {
        if (!add_range(e, domain->range, out))
            return false;
        if (out->count == 0)
            front_report(e, DIAGNOSTIC_E0407, domain->at, "the domain of `%s` is empty", what);
        return out->count > 0;
    }
    case DOMAIN_EXPRESSION: return domain_evaluate_class(e, domain, out);
    case DOMAIN_SET: break;
    }
    for (int i = 0; i < domain->members.count; i++) {
        const struct ast_domain *member = domain->members.data[i];
        if (member->kind != DOMAIN_EXPRESSION) {
            if (!evaluate(e, member, what, out))
                return false;
            continue;
        }
        if (is_repeated(e, domain, i))
            return false;
        struct value v = nibbles_elaborate(e, member->expression);
        if (value_is_error(v))
            return false;
        if (!value_is_constant(v)) {
            front_report(e, DIAGNOSTIC_E0501, member->at, "a member of a set is known when compiling");
            return false;
        }
        if (!add(e, out, v))
            return false;
    }
    return out->count > 0;
}

bool domain_evaluate(struct elaborator *e, const struct ast_domain *domain, const char *what, struct domain *out)
{
    bool outer = e->in_set;
    e->in_set = true;
    bool good = evaluate(e, domain, what, out);
    e->in_set = outer;
    return good;
}
