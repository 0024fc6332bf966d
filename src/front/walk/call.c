/* Calls of functions: the body is elaborated in place with the arguments' values ("inlined").  Element types and
 * extents of the parameters are inferred.  A function over scalars applies to tiles element by element: first its body
 * is tried on the tiles themselves; when it has control flow that depends on elements it becomes the operation `map`.
 */
#include "front/walk/control.h"

#include <string.h>

enum { DEEPEST_CALL = 200 };

struct matching {
    struct elaborator *e;
    const struct ast_declaration *declaration;
    struct scope *scope;
    struct value *arguments;
    bool lifts;                                                   /* a tile met a scalar parameter */
    bool nibbles;                                                 /* the argument at hand is a view of 4-bit elements */
    enum { EXTENTS_ALONE, EXTENTS_SPLIT, EXTENTS_CHECKED } stage; /* of the extents that `infer` looks at */
};

static const struct ast_generic *find_generic(const struct ast_declaration *d, const char *name)
{
    for (int i = 0; i < d->generics.count; i++)
        if (d->generics.data[i]->name.text == name)
            return d->generics.data[i];
    return NULL;
}

/* ---- inference ---- */

static bool check_domain(struct matching *m, const struct ast_generic *generic, struct value v)
{
    if (!generic->domain)
        return true;
    struct domain domain = {0};
    if (!domain_evaluate(m->e, generic->domain, generic->name.text, &domain))
        return false;
    if (domain_has(&domain, v))
        return true;
    struct buffer text = {0};
    for (int i = 0; i < domain.count; i++) {
        buffer_puts(&text, i ? ", " : "");
        value_print_constant(&text, domain.data[i]);
    }
    front_report(m->e, DIAGNOSTIC_E0301, v.at, "`%s` takes %s as its `%s`, and this is %s", m->declaration->name.text,
                 text.data, generic->name.text, front_describe(m->e, v));
    buffer_free(&text);
    return false;
}

static bool bind_type(struct matching *m, const struct ast_generic *generic, const struct ir_type *plain,
                      struct location at)
{
    struct type *type = ARENA_NEW(m->e->arena, struct type);
    if (plain->element == IR_POINTER)
        type->plain = ir_type_pointer(m->e->context, plain->pointee, plain->pointee_const);
    else
        type->plain = ir_type_scalar(m->e->context, plain->element == IR_INDEX ? IR_I64 : plain->element);
    type->nibbles = m->nibbles;
    struct binding *bound = scope_find(m->e, generic->name.text);
    if (!bound) {
        struct value v = value_type(type, at);
        if (!check_domain(m, generic, v))
            return false;
        scope_bind(m->e, BINDING_GENERIC, generic->name, v);
        return true;
    }
    return true; /* conversion to the bound type is checked with the others */
}

static bool is_same_place(struct location a, struct location b)
{
    return a.source == b.source && a.line == b.line && a.column == b.column;
}

/* The argument whose extent this is, and the one before it that told the name. */
static void note_arguments(struct matching *m, struct diagnostic *d, struct value given,
                           const struct ast_expression *written)
{
    const struct binding *told = written->kind == EXPRESSION_NAME ? scope_find(m->e, written->name) : NULL;
    for (int i = 0; i < m->declaration->parameters.count; i++) {
        const struct value *v = &m->arguments[i];
        if (v->kind != VALUE_RUN || v->run->type->rank == 0)
            continue;
        if (is_same_place(v->at, given.at))
            front_note_shape(m->e, d, *v, "this argument");
        else if (told && is_same_place(v->at, told->value.at))
            front_note_shape(m->e, d, *v, arena_printf(m->e->arena, "the argument that tells `%s`", written->name));
    }
}

static bool is_free(const struct matching *m, const char *name)
{
    return !scope_find(m->e, name) && (find_generic(m->declaration, name) || !declare_by_author(m->e->file, name));
}

static bool is_parameter(const struct matching *m, const char *name)
{
    for (int i = 0; i < m->declaration->parameters.count; i++)
        if (m->declaration->parameters.data[i]->name.text == name)
            return true;
    return false;
}

/* R + 1, 2*R: tells R where no extent that is a name alone does. */
static bool bind_split(struct matching *m, const struct ast_expression *written, struct value given,
                       const char *parameter)
{
    struct elaborator *e = m->e;
    int64_t multiply, add;
    const char *name = ast_split_sum(written, &multiply, &add);
    if (!name || !is_free(m, name) || is_parameter(m, name))
        return true;
    if (given.kind == VALUE_INTEGER && (given.integer < add || (given.integer - add) % multiply != 0)) {
        struct diagnostic *d = front_report(
            e, DIAGNOSTIC_E0302, given.at, "parameter `%s` of `%s` has the extent `%s`, which is never %lld", parameter,
            m->declaration->name.text, front_source(e, written), (long long)given.integer);
        front_note(e, d, written->at, "it is declared here");
        return false;
    }
    struct value v = operate_binary(e, OPERATOR_SUBTRACT, given, value_integer(add, given.at), given.at);
    if (multiply != 1)
        v = operate_binary(e, OPERATOR_DIVIDE, v, value_integer(multiply, given.at), given.at);
    if (value_is_error(v))
        return false;
    scope_bind(e, BINDING_GENERIC, (struct ast_name){name, written->at}, v);
    return true;
}

/* A name of an extent that nothing told. */
static bool is_untold(const char *name, enum ast_use use, void *matching)
{
    const struct matching *m = matching;
    return use != AST_USE_CALLED && is_free(m, name) && !is_parameter(m, name) && !m->e->front->builtins->find(name);
}

/* An extent of a parameter: a new name binds, anything else must agree. */
static bool match_extent(struct matching *m, const struct ast_expression *written, struct value given,
                         const char *parameter)
{
    struct elaborator *e = m->e;
    if (written->kind == EXPRESSION_NAME && is_free(m, written->name)) {
        scope_bind(e, BINDING_GENERIC, (struct ast_name){written->name, written->at}, given);
        return true;
    }
    const struct ast_expression *untold = ast_find_name(written, is_untold, m);
    if (untold)
        return front_report_untold(e, untold);
    struct value wanted = elaborate_value(e, written);
    if (value_is_error(wanted))
        return false;
    if (wanted.kind != VALUE_INTEGER || given.kind != VALUE_INTEGER) { /* of a view: known when running */
        if ((wanted.kind == VALUE_RUN || wanted.kind == VALUE_INTEGER) && e->report)
            check_build(e, operate_binary(e, OPERATOR_EQUAL, given, wanted, given.at),
                        arena_printf(e->arena, "extent `%s` of parameter `%s` of `%s`", front_source(e, written),
                                     parameter, m->declaration->name.text),
                        given.at);
        return true;
    }
    if (wanted.integer == given.integer)
        return true;
    struct diagnostic *d = front_report(e, DIAGNOSTIC_E0302, given.at,
                                        "parameter `%s` of `%s` has the extent `%s`, which is %lld here, not %lld",
                                        parameter, m->declaration->name.text, front_source(e, written),
                                        (long long)wanted.integer, (long long)given.integer);
    front_note(e, d, written->at, "it is declared here");
    note_arguments(m, d, given, written);
    return false;
}

static bool wrong_argument(struct matching *m, const struct ast_parameter *p, struct value v)
{
    struct buffer type = {0};
    ast_print_type(p->type, &type);
    struct diagnostic *d = front_report(m->e, DIAGNOSTIC_E0301, v.at, "parameter `%s` of `%s` is %s, and this is %s",
                                        p->name.text, m->declaration->name.text, type.data, front_describe(m->e, v));
    front_note(m->e, d, p->at, "it is declared here");
    front_note_shape(m->e, d, v, "the argument");
    buffer_free(&type);
    return false;
}

static bool match_element(struct matching *m, const struct ast_type *node, const struct ir_type *given,
                          struct location at)
{
    if (node->kind == TYPE_NODE_NAME && !node->module.text) {
        const struct ast_generic *generic = find_generic(m->declaration, node->name.text);
        if (generic)
            return bind_type(m, generic, given, at);
    }
    if (node->kind == TYPE_NODE_POINTER && given->element == IR_POINTER)
        return match_element(m, node->target, ir_type_scalar(m->e->context, given->pointee), at);
    return true;
}

/* A generic stands for the enum of a member, too, and for a struct. */
static bool infer_named(struct matching *m, const struct ast_type *node, struct value v)
{
    const struct ast_generic *generic = node->kind == TYPE_NODE_NAME && !node->module.text
                                            ? find_generic(m->declaration, node->name.text)
                                            : NULL;
    if (!generic || scope_find(m->e, generic->name.text))
        return true;
    struct type *type = ARENA_NEW(m->e->arena, struct type);
    *type = (struct type){
        .kind = TYPE_ENUM, .plain = ir_type_scalar(m->e->context, IR_I32), .enumeration = v.enumeration};
    struct value bound = value_type(v.structure ? v.structure->type : type, v.at);
    if (!check_domain(m, generic, bound))
        return false;
    scope_bind(m->e, BINDING_GENERIC, generic->name, bound);
    return true;
}

/* First passes: names of types and extents are bound from what is known. */
static bool infer(struct matching *m, const struct ast_parameter *p, const struct ast_type *node, struct value v)
{
    if (value_is_error(v))
        return false;
    if (v.kind == VALUE_VIEW && !v.view->run) {
        front_report(m->e, DIAGNOSTIC_E0409, v.at,
                     "the wrapper calls functions of numbers, not of views; pass what is needed of `%s`, such as "
                     "`%s.extent[0]`",
                     v.view->name, v.view->name);
        return false;
    }
    const struct ir_type *given = v.kind == VALUE_RUN ? v.run->type : v.kind == VALUE_VIEW ? v.view->run->type : NULL;
    m->nibbles = v.kind == VALUE_VIEW && v.view->nibbles;
    if (node->kind == TYPE_NODE_TUPLE) {
        if (v.kind != VALUE_TUPLE || v.structure || v.list.count != node->members.count)
            return wrong_argument(m, p, v);
        for (int i = 0; i < v.list.count; i++)
            if (!infer(m, p, node->members.data[i], v.list.data[i]))
                return false;
        return true;
    }
    if (node->kind != TYPE_NODE_TILE) {
        if (given && given->rank > 0)
            m->lifts = true;
        if (v.enumeration || v.structure)
            return infer_named(m, node, v);
        if (!given)
            return true;
        return match_element(m, node, given, v.at);
    }
    if (!given)
        return value_is_constant(v) ? true : wrong_argument(m, p, v);
    if (!match_element(m, node->target, given, v.at))
        return false;
    if (given->rank != node->extents.count)
        return given->rank == 0 && v.kind == VALUE_RUN ? true : wrong_argument(m, p, v);
    for (int d = 0; d < given->rank; d++) {
        const struct ast_expression *written = node->extents.data[d];
        struct value extent;
        if ((m->stage == EXTENTS_ALONE) != (written->kind == EXPRESSION_NAME))
            continue;
        if (v.kind == VALUE_VIEW)
            extent = access_view_member(m->e, v.view, false, value_integer(d, v.at), v.at);
        else
            extent = value_integer(given->extent[d], v.at);
        bool good = m->stage == EXTENTS_SPLIT ? bind_split(m, written, extent, p->name.text)
                                              : match_extent(m, written, extent, p->name.text);
        if (!good)
            return false;
    }
    return true;
}

/* Generics that only constants could tell: reals are f32, integers i64. */
static bool infer_rest(struct matching *m)
{
    struct elaborator *e = m->e;
    for (int i = 0; i < m->declaration->parameters.count; i++) {
        const struct ast_parameter *p = m->declaration->parameters.data[i];
        if (p->is_const || p->type->kind != TYPE_NODE_NAME)
            continue;
        const struct ast_generic *generic = find_generic(m->declaration, p->type->name.text);
        struct value v = m->arguments[i];
        if (!generic || scope_find(e, generic->name.text) || !value_is_constant(v))
            continue;
        enum ir_element element = v.kind == VALUE_REAL ? IR_F32 : v.kind == VALUE_BOOL ? IR_BOOL : IR_I64;
        if (v.element != IR_ELEMENT_COUNT && v.kind != VALUE_ENUMERATOR)
            element = v.element;
        if (!bind_type(m, generic, ir_type_scalar(e->context, element), v.at))
            return false;
    }
    for (int i = 0; i < m->declaration->generics.count; i++) {
        const struct ast_generic *generic = m->declaration->generics.data[i];
        if (scope_find(e, generic->name.text))
            continue;
        front_report(e, DIAGNOSTIC_E0317, e->frame->call_at,
                     "the arguments do not tell what `%s` of `%s` is; pass it as a `const` parameter",
                     generic->name.text, m->declaration->name.text);
        return false;
    }
    return true;
}

/* ---- binding the parameters ---- */

static bool bind_view(struct matching *m, const struct ast_parameter *p, struct value v)
{
    struct elaborator *e = m->e;
    if (v.kind != VALUE_VIEW || !v.view->run) {
        front_report(e, DIAGNOSTIC_E0301, v.at, "parameter `%s` of `%s` takes a view, not %s", p->name.text,
                     m->declaration->name.text, front_describe(e, v));
        return false;
    }
    const struct ir_type *type = v.view->run->type;
    bool element_ok = true;
    const struct type *declared = NULL;
    const struct ast_type *node = p->type->kind == TYPE_NODE_TILE ? p->type->target : p->type;
    enum ir_element element;
    bool nibbles = nibbles_type(e, node, &element);
    if (!nibbles && (declared = elaborate_type(e, node)) == NULL)
        return false;
    if (declared && declared->plain)
        element = declared->plain->element;
    if ((nibbles || (declared && declared->plain)) && (element != type->element || nibbles != v.view->nibbles))
        element_ok = false;
    if (!element_ok || p->type->kind != TYPE_NODE_TILE)
        return wrong_argument(m, p, v);
    if ((p->direction != DIRECTION_IN && !type->writable) || (p->direction != DIRECTION_OUT && !type->readable)) {
        front_report(e, p->direction == DIRECTION_IN ? DIAGNOSTIC_E0602 : DIAGNOSTIC_E0603, v.at,
                     "`%s` cannot be passed as `%s`: it may not be %s", v.view->name,
                     p->direction == DIRECTION_IN    ? "in"
                     : p->direction == DIRECTION_OUT ? "out"
                                                     : "inout",
                     type->writable ? "read" : "written");
        return false;
    }
    struct view_value *view = ARENA_NEW(e->arena, struct view_value);
    *view = *v.view;
    view->parameter = p;
    view->name = p->name.text;
    view->declared_optional = p->is_optional;
    v.view = view;
    scope_bind(e, BINDING_PARAMETER, p->name, v);
    return true;
}

static struct value to_parameter_type(struct matching *m, const struct ast_parameter *p, const struct type *type,
                                      struct value v)
{
    struct elaborator *e = m->e;
    if (type->kind == TYPE_TUPLE) {
        struct value all = v;
        all.list.data = ARENA_ARRAY(e->arena, struct value, v.list.count);
        for (int i = 0; i < v.list.count; i++) {
            all.list.data[i] = to_parameter_type(m, p, type->members[i], v.list.data[i]);
            if (value_is_error(all.list.data[i]))
                return all.list.data[i];
        }
        return all;
    }
    if (type->kind == TYPE_ENUM || type->kind == TYPE_STRUCT) {
        if (type->kind == TYPE_ENUM ? v.enumeration == type->enumeration : v.structure == type->structure)
            return v;
        wrong_argument(m, p, v);
        return value_error(v.at);
    }
    if (value_is_constant(v) && type->plain->rank == 0)
        return constant_to_element(e, v, type->plain->element, false);
    if (v.kind == VALUE_HOST) {
        if ((v.host.element == IR_I64) == ir_is_integer(type->plain->element))
            return host_keep(e, v);
        wrong_argument(m, p, v);
        return value_error(v.at);
    }
    if (v.kind != VALUE_RUN && !value_is_constant(v) && v.kind != VALUE_NULL) {
        wrong_argument(m, p, v);
        return value_error(v.at);
    }
    const struct ir_type *wanted = type->plain;
    if (wanted->rank == 0 && value_is_tile(v))
        wanted = ir_type_with_shape(e->context, wanted, v.run->type->rank, v.run->type->extent);
    if (v.kind == VALUE_RUN && v.run->type->element == IR_INDEX && wanted->element == IR_I64)
        wanted = v.run->type; /* may stay narrow */
    struct ir_value *run = convert_to_type_from(e, v, wanted, type->origin, false, p->name.text);
    if (!run)
        return value_error(v.at);
    struct value result = value_run(run, v.at);
    result.origin = v.kind == VALUE_RUN && v.origin ? v.origin : type->origin;
    return result;
}

static bool bind_parameter(struct matching *m, const struct ast_parameter *p, struct value v)
{
    if (p->direction != DIRECTION_NONE)
        return bind_view(m, p, v);
    const struct type *type = elaborate_type(m->e, p->type);
    if (!type)
        return false;
    struct value converted = to_parameter_type(m, p, type, v);
    scope_bind(m->e, BINDING_PARAMETER, p->name, converted);
    return !value_is_error(converted);
}

static bool bind_constant(struct matching *m, const struct ast_parameter *p, struct value v)
{
    struct elaborator *e = m->e;
    if (value_is_error(v))
        return false;
    if (!value_is_constant(v) && (v.kind != VALUE_FUNCTION || p->domain)) {
        front_report(e, DIAGNOSTIC_E0501, v.at,
                     "parameter `%s` of `%s` is `const`: its value must be known when compiling", p->name.text,
                     m->declaration->name.text);
        return false;
    }
    if (p->domain) {
        struct domain domain = {0};
        if (!domain_evaluate(e, p->domain, p->name.text, &domain))
            return false;
        bool found = domain.count == 0;
        for (int i = 0; i < domain.count && !found; i++) {
            struct value same = constant_binary(e, OPERATOR_EQUAL, domain.data[i], v, v.at);
            found = same.kind == VALUE_BOOL && same.truth;
        }
        if (!found) {
            front_report(e, DIAGNOSTIC_E0301, v.at, "%s is not one of the values of `%s`", front_describe(e, v),
                         p->name.text);
            return false;
        }
    }
    scope_bind(e, BINDING_GENERIC, p->name, v);
    return true;
}

static bool bind_all(struct matching *m)
{
    const struct ast_declaration *d = m->declaration;
    for (int i = 0; i < d->parameters.count; i++)
        if (d->parameters.data[i]->is_const && !bind_constant(m, d->parameters.data[i], m->arguments[i]))
            return false;
    for (m->stage = EXTENTS_ALONE; m->stage <= EXTENTS_CHECKED; m->stage++)
        for (int i = 0; i < d->parameters.count; i++)
            if (!d->parameters.data[i]->is_const &&
                !infer(m, d->parameters.data[i], d->parameters.data[i]->type, m->arguments[i]))
                return false;
    if (!infer_rest(m))
        return false;
    for (int i = 0; i < d->parameters.count; i++)
        if (!d->parameters.data[i]->is_const && !bind_parameter(m, d->parameters.data[i], m->arguments[i]))
            return false;
    return true;
}

/* ---- the body ---- */

static struct value check_one(struct elaborator *e, const struct type *type, struct value v, struct location at);

static struct value check_members(struct elaborator *e, const struct type *type, struct value v, struct location at)
{
    if (v.kind != VALUE_TUPLE || v.structure || v.list.count != type->count) {
        bool whole = type == e->frame->result_type;
        front_report(e, DIAGNOSTIC_E0313, whole ? at : v.at, "`%s` returns %d values%s",
                     e->frame->declaration->name.text, type->count, whole ? "" : " here");
        return value_error(at);
    }
    struct value all = v;
    all.list.data = ARENA_ARRAY(e->arena, struct value, v.list.count);
    for (int i = 0; i < v.list.count; i++) {
        all.list.data[i] = check_one(e, type->members[i], v.list.data[i], at);
        if (value_is_error(all.list.data[i]))
            return value_error(at);
    }
    return all;
}

static struct value check_one(struct elaborator *e, const struct type *type, struct value v, struct location at)
{
    if (value_is_error(v))
        return v;
    if (type->kind == TYPE_TUPLE)
        return check_members(e, type, v, at);
    if (type->kind == TYPE_STRUCT)
        return convert_construct(e, type, v, at);
    if (v.kind == VALUE_TUPLE) {
        bool whole = type == e->frame->result_type;
        front_report(e, DIAGNOSTIC_E0313, whole ? at : v.at, "`%s` returns one value%s",
                     e->frame->declaration->name.text, whole ? "" : " here");
        return value_error(at);
    }
    if (type->kind == TYPE_ENUM)
        return convert_construct(e, type, v, at);
    if (v.kind == VALUE_HOST)
        return v;
    if (value_is_constant(v) && type->plain->rank == 0)
        return constant_to_element(e, v, type->plain->element, false);
    const struct ir_type *wanted = type->plain;
    if (v.kind == VALUE_RUN && wanted->rank == 0 && e->frame->lifted)
        wanted = ir_type_with_shape(e->context, wanted, v.run->type->rank, v.run->type->extent);
    if (v.kind == VALUE_RUN && element_same_language(v.run->type->element, wanted->element) &&
        v.run->type->element == IR_INDEX)
        wanted = ir_type_with_element(e->context, wanted, IR_INDEX);
    struct ir_value *run = convert_to_type_from(e, v, wanted, type->origin, false, "the result of the function");
    if (!run)
        return value_error(at);
    struct value result = value_run(run, at);
    result.origin = v.kind == VALUE_RUN && v.origin ? v.origin : type->origin;
    return result;
}

struct value call_check_result(struct elaborator *e, struct value v, struct location at)
{
    const struct type *type = e->frame->result_type;
    const struct ast_declaration *d = e->frame->declaration;
    if (value_is_error(v))
        return v;
    if (!d->result && v.kind == VALUE_VOID)
        return v;
    if (!d->result && d->value)
        return v;
    if (!d->result || v.kind == VALUE_VOID) {
        struct diagnostic *r = front_report(
            e, DIAGNOSTIC_E0313, at, d->result ? "`%s` returns a value" : "`%s` declares no result; add `-> type`",
            d->name.text);
        front_note(e, r, d->at, "it is declared here");
        return value_error(at);
    }
    return type ? check_one(e, type, v, at) : value_error(at);
}

/* Finds the errors in front of the statement that could not be read; says nothing of what the caller does with it. */
static struct value run_broken_body(struct elaborator *e, const struct ast_declaration *d, struct location at)
{
    int muted = e->muted;
    scope_push(e, false);
    if (d->body)
        elaborate_block(e, &d->body->body, 0);
    scope_pop(e);
    e->muted = muted;
    return value_error(at);
}

static struct value run_body(struct elaborator *e, const struct ast_declaration *d, struct location at)
{
    if (d->result && !(e->frame->result_type = elaborate_type(e, d->result)))
        return value_error(at);
    if (d->broken)
        return run_broken_body(e, d, at);
    if (d->value)
        return call_check_result(e, elaborate_value(e, d->value), d->value->at);
    scope_push(e, false);
    elaborate_block(e, &d->body->body, 0);
    scope_pop(e);
    struct value returned = e->frame->returned.value;
    if (d->result && !(returned.kind == VALUE_BOOL && returned.truth)) {
        front_report(e, DIAGNOSTIC_E0313, d->body->closing_at, "`%s` can end without `return`", d->name.text);
        return value_error(at);
    }
    return e->frame->result.value;
}

static bool any_host(int count, const struct value *arguments)
{
    for (int i = 0; i < count; i++)
        if (arguments[i].kind == VALUE_HOST)
            return true;
    return false;
}

static bool check_recursion(struct elaborator *e, struct global *function, const struct value *arguments,
                            struct location at)
{
    if (++e->depth > DEEPEST_CALL || ++e->steps > 1000000) {
        front_report(e, DIAGNOSTIC_E0504, at, "calls of `%s` go too deep", function->name);
        return false;
    }
    bool constant = function->declaration->is_const && !e->function;
    for (struct frame *f = e->frame; f; f = f->parent)
        if (f->declaration == function->declaration && any_host(function->declaration->parameters.count, arguments)) {
            front_report(e, DIAGNOSTIC_E0409, at,
                         "the wrapper cannot evaluate this: how deep `%s` calls itself is known only when running",
                         function->name);
            return false;
        }
    for (struct frame *f = e->frame; f && !constant; f = f->parent)
        if (f->declaration == function->declaration) {
            struct diagnostic *d = front_report(
                e, DIAGNOSTIC_E0208, at, "`%s` calls itself; only a `const fn` may, while compiling", function->name);
            front_note(e, d, function->declaration->at, "it is declared here, without `const`");
            return false;
        }
    return true;
}

static const struct inlined_call *inlined_call(struct elaborator *e, const struct global *function, struct location at)
{
    if (!e->function)
        return NULL; /* nothing is built */
    struct inlined_call *call = ARENA_NEW(e->arena, struct inlined_call);
    *call = (struct inlined_call){.function = function->name, .declared = function->declaration->at, .at = at};
    call->at.inlined = e->frame->call;
    return call;
}

/* Runs the body with values for all parameters in the current block. */
static struct value enter_function(struct elaborator *e, struct global *function, struct value *arguments, bool lifted,
                                   bool *lifts, struct location at)
{
    struct scope *scope = e->scope;
    struct frame frame = {.parent = e->frame,
                          .declaration = function->declaration,
                          .file = function->file,
                          .lifted = lifted,
                          .call_at = at};
    struct file_scope *file = e->file;
    const struct ended *ended = e->ended; /* blocks of another function are none that a name could be declared before */
    struct value result = value_error(at);
    frame.call = inlined_call(e, function, at);
    frame.returned.value = value_bool(false, at);
    frame.returned.name = frame.result.name = "";
    frame.result.value = (struct value){.kind = VALUE_VOID, .at = at};
    if (check_recursion(e, function, arguments, at)) {
        e->frame = &frame;
        e->file = function->file;
        e->ended = NULL;
        scope_push(e, true);
        struct matching m = {.e = e, .declaration = function->declaration, .scope = e->scope, .arguments = arguments};
        bool bound = bind_all(&m);
        if (lifts)
            *lifts = m.lifts;
        if (bound && (!m.lifts || lifted))
            result = run_body(e, function->declaration, at);
    }
    e->depth--;
    e->scope = scope;
    e->frame = frame.parent;
    e->file = file;
    e->ended = ended;
    elaborate_at(e, at);
    result.at = at;
    return result;
}

/* ---- element by element ---- */

static bool over_scalars(const struct ast_declaration *d)
{
    for (int i = 0; i < d->parameters.count; i++) {
        const struct ast_parameter *p = d->parameters.data[i];
        if (!p->is_const &&
            (p->direction != DIRECTION_NONE || p->type->kind == TYPE_NODE_TILE || p->type->kind == TYPE_NODE_TUPLE))
            return false;
    }
    return true;
}

struct leaves {
    struct value **data;
    int count, capacity;
};

/* What a value consists of, each by itself; its lists become its own. */
static void list_leaves(struct elaborator *e, struct value *value, struct leaves *leaves)
{
    if (value->kind != VALUE_TUPLE) {
        vector_push(e->arena, leaves, value);
        return;
    }
    value->list.data = arena_copy(e->arena, value->list.data, sizeof(struct value) * (size_t)value->list.count);
    for (int i = 0; i < value->list.count; i++)
        list_leaves(e, &value->list.data[i], leaves);
}

static struct value build_map(struct elaborator *e, struct global *function, int count, struct value *arguments,
                              const struct ir_type *shape, struct location at)
{
    struct leaves given = {0};
    struct value *inner = arena_copy(e->arena, arguments, sizeof *inner * (size_t)count);
    struct ir_block *saved, *body = region_begin(e, &saved);
    const struct origin *origin = NULL;
    for (int i = 0; i < count; i++)
        list_leaves(e, &inner[i], &given);
    struct ir_value **operands = ARENA_ARRAY(e->arena, struct ir_value *, given.count);
    int used = 0;
    for (int i = 0; i < given.count; i++) {
        struct value *v = given.data[i];
        if (v->kind != VALUE_RUN)
            continue;
        if (value_is_tile(*v))
            origin = v->origin; /* one shape, one origin */
        operands[used++] = v->run;
        v->run = ir_block_argument(body, ir_type_with_shape(e->context, v->run->type, 0, NULL), NULL);
        v->origin = NULL;
    }
    bool outer_map = e->in_map;
    e->in_map = true;
    struct value result = enter_function(e, function, inner, false, NULL, at);
    e->in_map = outer_map;
    struct leaves leaves = {0};
    list_leaves(e, &result, &leaves);
    int results = leaves.count;
    struct ir_value **yields = ARENA_ARRAY(e->arena, struct ir_value *, results);
    const struct ir_type **types = ARENA_ARRAY(e->arena, const struct ir_type *, results);
    bool good = !value_is_error(result) && result.kind != VALUE_VOID;
    for (int i = 0; i < results && good; i++) {
        struct value *leaf = leaves.data[i];
        *leaf = value_materialize(e, *leaf);
        good = leaf->kind == VALUE_RUN && leaf->run->type->rank == 0;
        if (!good)
            break;
        yields[i] = leaf->run;
        types[i] = ir_type_with_shape(e->context, leaf->run->type, shape->rank, shape->extent);
    }
    if (good)
        ir_build(&e->builder, OP_YIELD, results, yields, 0, NULL);
    region_end(e, saved);
    if (!good)
        return value_error(at);
    struct ir_operation *map = ir_build(&e->builder, OP_MAP, used, operands, results, types);
    region_attach(map, 0, body);
    for (int i = 0; i < results; i++) {
        leaves.data[i]->run = map->results[i];
        leaves.data[i]->origin = origin;
    }
    return result;
}

/* Tiles of the arguments get one shape. */
static bool shape_arguments(struct elaborator *e, int count, struct value *arguments, const struct ir_type **shape,
                            struct location at)
{
    struct value *tiles = ARENA_ARRAY(e->arena, struct value, count);
    int used = 0;
    for (int i = 0; i < count; i++)
        if (value_is_tile(arguments[i]))
            tiles[used++] = arguments[i];
    if (!convert_broadcast(e, used, tiles, "a function applied element by element", at))
        return false;
    *shape = tiles[0].run->type;
    for (int i = 0, k = 0; i < count; i++)
        if (value_is_tile(arguments[i]))
            arguments[i] = tiles[k++];
    return true;
}

static struct value stretch_result(struct elaborator *e, struct value v, const struct ir_type *shape)
{
    if (v.kind == VALUE_TUPLE) {
        for (int i = 0; i < v.list.count; i++)
            v.list.data[i] = stretch_result(e, v.list.data[i], shape);
        return v;
    }
    v = value_materialize(e, v);
    if (v.kind == VALUE_RUN)
        v.run = ir_broadcast(&e->builder, v.run, shape->rank, shape->extent);
    return v;
}

static struct value apply_to_tiles(struct elaborator *e, struct global *function, int count, struct value *arguments,
                                   struct location at)
{
    const struct ir_type *shape;
    if (!shape_arguments(e, count, arguments, &shape, at))
        return value_error(at);
    int errors = e->errors;
    e->muted++;
    struct ir_block *saved, *trial = region_begin(e, &saved);
    struct value result = enter_function(e, function, arguments, true, NULL, at);
    region_end(e, saved);
    e->muted--;
    bool good = e->errors == errors && !value_is_error(result);
    e->errors = errors;
    if (good) {
        region_splice(e, trial);
        return result.kind == VALUE_VOID ? result : stretch_result(e, result, shape);
    }
    return build_map(e, function, count, arguments, shape, at);
}

/* A const fn of values known when compiling is computed while compiling; then it may call itself. */
static bool is_computed_now(const struct ast_declaration *d, int count, const struct value *arguments)
{
    for (int i = 0; i < count; i++)
        if (!value_is_constant(arguments[i]))
            return false;
    return d->is_const;
}

struct value call_with_values(struct elaborator *e, struct global *function, int count, struct value *arguments,
                              struct location at)
{
    bool tiles = false;
    if (e->asks_shape) {
        e->errors++;
        return value_error(at);
    }
    for (int i = 0; i < count; i++) {
        if (value_is_error(arguments[i]))
            return value_error(at);
        tiles = tiles || value_is_tile(arguments[i]);
    }
    if (tiles && over_scalars(function->declaration))
        return apply_to_tiles(e, function, count, arguments, at);
    bool lifts = false;
    struct ir_function *built = e->function;
    if (is_computed_now(function->declaration, count, arguments))
        e->function = NULL;
    struct value result = enter_function(e, function, arguments, false, &lifts, at);
    e->function = built;
    if (lifts && function->declaration) {
        int errors = e->errors;
        struct diagnostic *d = front_report(
            e, DIAGNOSTIC_E0301, at,
            "`%s` takes a scalar where a tile is given, and it is not a function over scalars alone", function->name);
        front_note(e, d, function->declaration->at, "it is declared here");
        if (errors != e->errors)
            return value_error(at);
    }
    if (function->declaration->is_noinline)
        front_report(e, DIAGNOSTIC_R2002, at, "the call of `%s` is inlined although it is `noinline`", function->name);
    return result;
}

static int find_parameter(const struct ast_declaration *d, const char *name)
{
    for (int i = 0; i < d->parameters.count; i++)
        if (d->parameters.data[i]->name.text == name)
            return i;
    return -1;
}

/* A view where a value is taken: the parameter most likely lacks its `in`. */
static struct value refuse_view(struct elaborator *e, const struct ast_parameter *p, struct value v)
{
    struct diagnostic *d = front_report(e, DIAGNOSTIC_E0310, v.at,
                                        "`%s` is a view, and `%s` takes a value; a parameter for views is written "
                                        "`%s: in ...`, and `%s[i +: B]` reads a tile",
                                        v.view->name, p->name.text, p->name.text, v.view->name);
    front_note(e, d, p->at, "the parameter is declared here");
    if (p->type && p->type->kind == TYPE_NODE_TILE) {
        struct location before = p->type->at;
        before.end_column = before.column;
        front_fixit(e, d, before, FIXIT_PROBABLE, "in ");
    }
    return value_error(v.at);
}

struct value call_function(struct elaborator *e, struct global *function, const struct ast_expression *call)
{
    const struct ast_declaration *d = function->declaration;
    int count = d->parameters.count;
    struct value *arguments = ARENA_ARRAY(e->arena, struct value, count);
    bool *given = ARENA_ARRAY(e->arena, bool, count);
    bool good = true;
    for (int i = 0; i < call->arguments.count; i++) {
        const struct ast_argument *a = call->arguments.data[i];
        int at = a->name.text ? find_parameter(d, a->name.text) : i;
        if (at < 0 || at >= count || given[at]) {
            struct diagnostic *r = at >= 0 && at < count
                                       ? front_report(e, DIAGNOSTIC_E0307, a->at, "`%s` is given twice",
                                                      d->parameters.data[at]->name.text)
                                   : a->name.text
                                       ? front_report(e, DIAGNOSTIC_E0307, a->at, "`%s` has no parameter `%s`",
                                                      function->name, a->name.text)
                                       : front_report(e, DIAGNOSTIC_E0307, a->at, "`%s` takes %d argument%s",
                                                      function->name, count, count == 1 ? "" : "s");
            front_note(e, r, d->at, "it is declared here");
            good = false;
            continue;
        }
        given[at] = true;
        arguments[at] = elaborate(e, a->value);
        bool function_itself = d->parameters.data[at]->is_const && arguments[at].kind == VALUE_FUNCTION;
        if (d->parameters.data[at]->direction == DIRECTION_NONE && arguments[at].kind != VALUE_TYPE && !function_itself)
            arguments[at] = arguments[at].kind == VALUE_VIEW ? refuse_view(e, d->parameters.data[at], arguments[at])
                                                             : value_read(e, arguments[at]);
        if (value_is_error(arguments[at]))
            good = false;
    }
    for (int i = 0; i < count && good; i++)
        if (!given[i]) {
            struct diagnostic *r = front_report(e, DIAGNOSTIC_E0307, call->at, "`%s` needs a value for `%s`",
                                                function->name, d->parameters.data[i]->name.text);
            front_note(e, r, d->parameters.data[i]->at, "it is declared here");
            good = false;
        }
    return good ? call_with_values(e, function, count, arguments, call->at) : value_error(call->at);
}
