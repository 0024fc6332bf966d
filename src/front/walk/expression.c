/* Expressions: names, literals, members, and the dispatch over node kinds.  Types of the source are resolved here, too.
 */
#include "front/walk/control.h"

#include <math.h>
#include <string.h>
#include <strings.h>

/* ---- names ---- */

/* An error of a declaration that was reported at its head. */
static struct value lost_value(struct elaborator *e, struct location at)
{
    e->errors++;
    return value_error(at);
}

/* Names do not pass through an import: whether a file imported by one that `file` imports declares it. */
static const struct global *declared_behind_import(const struct file_scope *file, const char *name)
{
    for (int i = 0; i < file->opened.count; i++)
        for (int k = 0; k < file->opened.data[i]->opened.count; k++) {
            const struct global *g = name_table_find(&file->opened.data[i]->opened.data[k]->names, name);
            if (g && g->declaration->kind != DECLARATION_KERNEL)
                return g;
        }
    return NULL;
}

static void note_import(struct elaborator *e, struct diagnostic *d, const struct global *global)
{
    front_note(e, d, global->declaration->at,
               "it is declared here, in a file that an imported file imports: import this file, too");
}

static const struct ast_declaration *enclosing(const struct file_scope *file, struct location at)
{
    const struct ast_declaration *found = NULL;
    for (int i = 0; file && i < file->file->declarations.count; i++)
        if (file->file->declarations.data[i]->at.line <= at.line)
            found = file->file->declarations.data[i];
    return found;
}

/* A name is reported once in a declaration, at the first of its uses that is met.  Looks through few, so that any file
 * ends in time. */
static bool is_said(struct elaborator *e, const char *name, struct location at)
{
    enum { MOST_UNKNOWN = 1000 };
    if (e->front->unknown.count >= MOST_UNKNOWN)
        return false;
    const struct unknown own = {name, enclosing(e->file, at), at.line, at.column, NULL};
    for (int i = 0; i < e->front->unknown.count; i++) {
        const struct unknown *said = &e->front->unknown.data[i];
        if (said->name != name || said->within != own.within || !own.within)
            continue;
        const struct fixit *fixit = said->told ? said->told->fixits : NULL;
        if (fixit && fixit->grade != FIXIT_HINT && !e->muted)
            front_fixit(e, said->told, at, fixit->grade, fixit->replacement);
        return said->line != at.line || said->column != at.column; /* another instance: front_report knows */
    }
    if (!e->muted)
        vector_push(e->front->arena, &e->front->unknown, own);
    return false;
}

static const char *scalar_nearest(const char *name, int *best)
{
    const char *near = NULL;
    for (int i = 0; i < AST_SCALAR_COUNT; i++) {
        int distance = spelling_distance(name, ast_scalar_word((enum ast_scalar)i), *best);
        if (distance >= *best)
            continue;
        *best = distance;
        near = ast_scalar_word((enum ast_scalar)i);
    }
    return near;
}

/* B, BM, TILE_N: what the author means to be a number. */
static bool looks_like_extent(const char *name)
{
    return name[0] >= 'A' && name[0] <= 'Z' && strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == strlen(name);
}

static struct value global_value(struct elaborator *e, struct global *global, struct location at);

static bool is_target(const struct ast_statement *assigned, const char *name)
{
    for (int i = 0; assigned && i < assigned->targets.count; i++)
        if (assigned->targets.data[i]->kind == EXPRESSION_NAME && assigned->targets.data[i]->name == name)
            return true;
    return false;
}

static const char *scope_nearest(struct elaborator *e, const char *name, bool is_type, int *best)
{
    const char *near = NULL;
    for (struct scope *s = e->scope; s; s = s->is_function ? NULL : s->parent)
        for (struct binding *b = s->first; b; b = b->next) {
            if (is_type && b->value.kind != VALUE_TYPE)
                continue;
            int distance = spelling_distance(name, b->name, *best);
            if (distance < *best) {
                *best = distance;
                near = b->name;
            }
        }
    return near;
}

static struct value report_new_unknown(struct elaborator *e, const char *name, struct location at, bool is_type)
{
    struct global *kernel = declare_find_kernel(e->file, name);
    if (kernel)
        return global_value(e, kernel, at);
    const struct global *behind = e->file ? declared_behind_import(e->file, name) : NULL;
    if (behind) {
        note_import(e, front_report(e, DIAGNOSTIC_E0201, at, "`%s` is not known in this file", name), behind);
        return value_error(at);
    }
    int best = (int)strlen(name) / 3 + 1;
    const char *near = scope_nearest(e, name, is_type, &best);
    if (foreign_name(e, name, at, near != NULL))
        return value_error(at);
    int distance = best;
    const char *builtin = is_type ? scalar_nearest(name, &distance)
                                  : e->front->builtins->nearest(name, NULL, &distance);
    if (!near)
        near = declare_nearest(e->front, e->file, name, is_type);
    if (builtin && (distance < best || !near))
        near = builtin;
    int tie = spelling_distance(name, near ? near : name, best) + 1;
    const char *also = near && near == builtin && tie > 1 ? e->front->builtins->nearest(name, near, &tie) : NULL;
    struct diagnostic *d = front_report(e, DIAGNOSTIC_E0201, at,
                                        also   ? "`%s` is not known; did you mean `%s` or `%s`?"
                                        : near ? "`%s` is not known; did you mean `%s`?"
                                               : "`%s` is not known",
                                        name, near, also);
    if (also) {
        front_fixit(e, d, at, FIXIT_HINT, near);
        front_fixit(e, d, at, FIXIT_HINT, also);
    } else if (near) {
        /* of the library's words, not of what the author named: there `n` and `N` are two things, as `e` and `E` are */
        bool same = near == builtin && strlen(name) > 2 && strcasecmp(name, near) == 0;
        front_fixit(e, d, at, same ? FIXIT_CERTAIN : FIXIT_PROBABLE, near);
    } else if (is_type)
        front_note(e, d, at,
                   "a type that arguments tell is named in `< >`: `fn f<%s>(...)`, `kernel k<%s: {f16, f32}>(...)`",
                   name, name);
    else if (is_target(e->assigned, name))
        front_note(e, d, at, "a new variable is declared: `var %s = ...;`", name);
    else if (e->in_set)
        front_note(e, d, at,
                   "a set and its default are made of constants and of the names of `< >` and `const` before them");
    else if (looks_like_extent(name))
        front_note(e, d, at,
                   "extents are named by the parameters' views; a number that the compiler chooses is declared by "
                   "`tune(%s: {64, 128})`, others by `const` and `< >`",
                   name);
    for (const struct ended *ended = e->ended; ended && !near; ended = ended->before)
        for (const struct binding *b = ended->scope->first; b; b = b->next)
            if (b->name == name && b->at.source == at.source) {
                front_note(e, d, b->at, "this `%s` ends with its block; declare it before the block with `var`", name);
                return value_error(at);
            }
    return value_error(at);
}

static struct value report_unknown(struct elaborator *e, const char *name, struct location at, bool is_type)
{
    struct diagnostics *diagnostics = e->front->diagnostics;
    if (is_said(e, name, at))
        return lost_value(e, at);
    const struct diagnostic *before = diagnostics->last;
    int count = e->front->unknown.count;
    struct value lost = report_new_unknown(e, name, at, is_type);
    if (count && diagnostics->last != before && e->front->unknown.data[count - 1].name == name)
        e->front->unknown.data[count - 1].told = diagnostics->last;
    return lost;
}

static bool special_name(const char *name, struct location at, struct value *result)
{
    if (strcmp(name, "true") == 0)
        *result = value_bool(true, at);
    else if (strcmp(name, "false") == 0)
        *result = value_bool(false, at);
    else if (strcmp(name, "inf") == 0)
        *result = value_real(INFINITY, at);
    else if (strcmp(name, "nan") == 0)
        *result = value_real((double)NAN, at);
    else if (strcmp(name, "null") == 0)
        *result = (struct value){.kind = VALUE_NULL, .at = at};
    else
        return false;
    return true;
}

static struct value global_value(struct elaborator *e, struct global *global, struct location at)
{
    switch (global->declaration->kind) {
    case DECLARATION_CONST:
    case DECLARATION_STRUCT:
    case DECLARATION_ENUM: {
        struct value v = declare_value(e->front, global, at);
        v.at = at;
        if (value_is_error(v))
            e->errors++;
        return v;
    }
    case DECLARATION_FN:
        if (global->broken_head)
            return lost_value(e, at);
        return (struct value){.kind = VALUE_FUNCTION, .at = at, .function = global};
    default:
        front_report(e, DIAGNOSTIC_E0207, at,
                     "`%s` is a kernel; kernels are launched from C and do not call each other", global->name);
        return value_error(at);
    }
}

/* The wrapper computes `n - 5` in i64, also of an n that is u32. */
static struct value widen_scalar(struct elaborator *e, struct value v)
{
    if (!e->as_wrapper || v.kind != VALUE_RUN || v.run->type->rank || !ir_is_integer(v.run->type->element) ||
        v.enumeration)
        return v;
    v.run = ir_cast(&e->builder, v.run, IR_INDEX);
    return v;
}

static struct value find_name(struct elaborator *e, const char *name, struct location at, bool is_type)
{
    struct binding *binding = scope_find(e, name);
    if (binding) {
        struct value v = binding->refused ? value_error(at) : widen_scalar(e, binding->value);
        v.at = at;
        return v;
    }
    if (e->file && declare_is_lost(e->file, name) && !declare_by_author(e->file, name))
        return lost_value(e, at);
    struct global *other = NULL, *global = declare_find(e->front, e->file, name, &other);
    if (global && other) {
        struct diagnostic *d = front_report(
            e, DIAGNOSTIC_E0206, at, "`%s` is declared by two imported files; import one of them `as` a name", name);
        front_note(e, d, global->declaration->at, "one is here");
        front_note(e, d, other->declaration->at, "the other is here");
        return value_error(at);
    }
    if (global)
        return global_value(e, global, at);
    for (int i = 0; e->file && i < e->file->modules.count; i++)
        if (e->file->modules.data[i].name == name)
            return (struct value){.kind = VALUE_MODULE, .at = at, .module = e->file->modules.data[i].scope};
    const struct builtin *builtin = e->front->builtins->find(name);
    if (builtin)
        return (struct value){.kind = VALUE_BUILTIN, .at = at, .builtin = builtin};
    struct value special;
    if (special_name(name, at, &special))
        return special;
    return report_unknown(e, name, at, is_type);
}

struct value elaborate_name(struct elaborator *e, const char *name, struct location at)
{
    return find_name(e, name, at, false);
}

/* ---- members ---- */

static struct value enum_member(struct elaborator *e, const struct enumeration *enumeration, const char *name,
                                struct location at, struct location name_at)
{
    const int64_t *number = name_table_find(&enumeration->places, name);
    if (number)
        return (struct value){
            .kind = VALUE_ENUMERATOR, .at = at, .integer = *number, .element = IR_I32, .enumeration = enumeration};
    const char *near = spelling_nearest(name, enumeration->members, enumeration->count);
    struct diagnostic *d = front_report(e, DIAGNOSTIC_E0205, name_at,
                                        near ? "the enum `%s` has no member `%s`; did you mean `%s`?"
                                             : "the enum `%s` has no member `%s`",
                                        enumeration->name, name, near);
    if (near)
        front_fixit(e, d, name_at, strcasecmp(name, near) == 0 ? FIXIT_CERTAIN : FIXIT_PROBABLE, near);
    return value_error(at);
}

static struct value view_pointer(struct elaborator *e, const struct view_value *view, struct location at)
{
    if (!view->run) {
        front_report(e, DIAGNOSTIC_E0409, at, "the wrapper does not compute with pointers");
        return value_error(at);
    }
    const struct ir_type *type = view->run->type;
    if (type->element == IR_POINTER) {
        front_report(e, DIAGNOSTIC_E0204, at, "there are no pointers to pointers");
        return value_error(at);
    }
    const struct ir_type *pointer = ir_type_pointer(e->context, type->element, !type->writable);
    return value_run(ir_build_value(&e->builder, OP_VIEW_POINTER, pointer, 1, (struct ir_value *[]){view->run}), at);
}

static void note_behind_module(struct elaborator *e, struct diagnostic *d, const struct file_scope *module,
                               const char *name)
{
    for (int i = 0; i < module->opened.count; i++) {
        const struct global *g = name_table_find(&module->opened.data[i]->names, name);
        if (g)
            note_import(e, d, g);
    }
}

/* tl.load, where nothing here is called `tl`: what stands for it. */
static bool is_of_foreign_module(struct elaborator *e, const struct ast_expression *member)
{
    const struct ast_expression *base = member->base;
    struct global *other = NULL;
    if (base->kind != EXPRESSION_NAME || !foreign_is_module(base->name) || scope_find(e, base->name) ||
        declare_find(e->front, e->file, base->name, &other))
        return false;
    for (int i = 0; e->file && i < e->file->modules.count; i++)
        if (e->file->modules.data[i].name == base->name)
            return false;
    bool is_own = e->front->builtins->find(member->name) || declare_find(e->front, e->file, member->name, &other);
    return foreign_of_module(e, base->name, member->name, member->at, is_own);
}

static struct value elaborate_member(struct elaborator *e, const struct ast_expression *expression)
{
    if (is_of_foreign_module(e, expression))
        return value_error(expression->at);
    struct value base = elaborate(e, expression->base);
    const char *name = expression->name;
    if (value_is_error(base))
        return base;
    if (base.kind == VALUE_TYPE && base.type->kind == TYPE_ENUM)
        return enum_member(e, base.type->enumeration, name, expression->at, expression->operator_at);
    if (base.kind == VALUE_MODULE) {
        struct global *global = name_table_find(&base.module->names, name);
        if (global)
            return global_value(e, global, expression->at);
        if (declare_is_lost(base.module, name))
            return lost_value(e, expression->at);
        struct diagnostic *d = front_report(e, DIAGNOSTIC_E0205, expression->operator_at,
                                            "the imported file does not declare `%s`", name);
        note_behind_module(e, d, base.module, name);
        return value_error(expression->at);
    }
    if (base.kind == VALUE_VIEW) {
        bool stride = strcmp(name, "stride") == 0;
        if (stride || strcmp(name, "extent") == 0) {
            struct value v = {.kind = VALUE_VIEW_MEMBER, .at = expression->at};
            v.member.view = base.view;
            v.member.stride = stride;
            return v;
        }
        if (strcmp(name, "ptr") == 0)
            return view_pointer(e, base.view, expression->at);
        struct diagnostic *d = front_report(e, DIAGNOSTIC_E0205, expression->operator_at,
                                            "a view has `extent`, `stride` and `ptr`, but no `%s`", name);
        const struct binding *own = scope_find(e, name);
        if (own && own->kind == BINDING_EXTENT)
            front_note(e, d, own->at, "the extent `%s` is known by its name alone", name);
        else
            foreign_member(e, d, name, expression->operator_at);
        return value_error(expression->at);
    }
    if (base.structure)
        return structure_member(e, base, expression);
    struct diagnostic *d = front_report(e, DIAGNOSTIC_E0205, expression->operator_at, "%s has no member `%s`",
                                        front_describe(e, base), name);
    if (base.kind != VALUE_TUPLE)
        foreign_member(e, d, name, (struct location){0});
    if (d && !d->notes && e->front->builtins->find(name))
        front_note(e, d, expression->operator_at, "functions stand before their argument: `%s(...)`", name);
    return value_error(expression->at);
}

/* ---- types ---- */

static struct value scalar_type(struct elaborator *e, enum ast_scalar scalar, struct location at)
{
    struct type *type = ARENA_NEW(e->arena, struct type);
    type->plain = ir_type_scalar(e->context,
                                 (enum ir_element)scalar); /* both lists have one order; checked in elaborator_init */
    return value_type(type, at);
}

static const struct type *pointer_type(struct elaborator *e, const struct ast_type *node, const struct type *target)
{
    if (target->kind != TYPE_PLAIN || target->plain->rank > 0 || target->plain->element == IR_POINTER) {
        front_report(e, DIAGNOSTIC_E0204, node->at,
                     "a pointer points to scalars; there are no pointers to pointers or tiles");
        return NULL;
    }
    struct type *type = ARENA_NEW(e->arena, struct type);
    type->plain = ir_type_pointer(e->context, target->plain->element, node->is_const);
    return type;
}

static const struct type *tile_type(struct elaborator *e, const struct ast_type *node, const struct type *target)
{
    int64_t extent[IR_MAX_RANK];
    struct origin *origin = NULL;
    if (target->kind != TYPE_PLAIN || target->plain->rank > 0 || node->extents.count > IR_MAX_RANK) {
        front_report(e, DIAGNOSTIC_E0204, node->at,
                     "a tile is made of scalars or pointers and has at most %d dimensions", IR_MAX_RANK);
        return NULL;
    }
    for (int d = 0; d < node->extents.count; d++) {
        if (!elaborate_extent(e, node->extents.data[d], &extent[d]))
            return NULL;
        origin_add(e, &origin, d, node->extents.data[d]);
    }
    struct type *type = ARENA_NEW(e->arena, struct type);
    type->origin = origin;
    type->plain = ir_type_with_shape(e->context, target->plain, node->extents.count, extent);
    return type;
}

static const struct type *tuple_type(struct elaborator *e, const struct ast_type *node)
{
    struct type *type = ARENA_NEW(e->arena, struct type);
    type->kind = TYPE_TUPLE;
    type->count = node->members.count;
    type->members = ARENA_ARRAY(e->arena, const struct type *, type->count);
    for (int i = 0; i < type->count; i++)
        if (!(type->members[i] = elaborate_type(e, node->members.data[i])))
            return NULL;
    return type;
}

static struct value named_type(struct elaborator *e, const struct ast_type *node)
{
    if (!node->module.text)
        return find_name(e, node->name.text, node->at, true);
    struct value module = elaborate_name(e, node->module.text, node->module.at);
    if (value_is_error(module))
        return module;
    struct global *global = module.kind == VALUE_MODULE ? name_table_find(&module.module->names, node->name.text)
                                                        : NULL;
    if (global)
        return global_value(e, global, node->at);
    struct diagnostic *d = front_report(e, DIAGNOSTIC_E0205, node->name.at, "`%s` has no type `%s`", node->module.text,
                                        node->name.text);
    if (module.kind == VALUE_MODULE)
        note_behind_module(e, d, module.module, node->name.text);
    return value_error(node->at);
}

const struct type *elaborate_type(struct elaborator *e, const struct ast_type *node)
{
    switch (node->kind) {
    case TYPE_NODE_SCALAR: return scalar_type(e, node->scalar, node->at).type;
    case TYPE_NODE_NAME: {
        struct value v = named_type(e, node);
        if (v.kind == VALUE_TYPE)
            return v.type;
        if (!value_is_error(v))
            front_report(e, DIAGNOSTIC_E0204, node->at, "`%s` is not a type", node->name.text);
        return NULL;
    }
    case TYPE_NODE_POINTER: {
        const struct type *target = elaborate_type(e, node->target);
        return target ? pointer_type(e, node, target) : NULL;
    }
    case TYPE_NODE_TILE: {
        const struct type *target = elaborate_type(e, node->target);
        return target ? tile_type(e, node, target) : NULL;
    }
    case TYPE_NODE_TUPLE: return tuple_type(e, node);
    }
    return NULL;
}

/* ---- values ---- */

struct value value_read(struct elaborator *e, struct value v)
{
    switch (v.kind) {
    case VALUE_PLACE: return access_load(e, v.place, NULL, NULL, -1, v.at);
    case VALUE_VIEW:
        front_report(e, DIAGNOSTIC_E0310, v.at,
                     "`%s` is a view, not a value; index it to read a tile, as in `%s[i +: B]`", v.view->name,
                     v.view->name);
        return value_error(v.at);
    case VALUE_FUNCTION:
    case VALUE_BUILTIN:
    case VALUE_MODULE:
    case VALUE_VIEW_MEMBER:
    case VALUE_VOID:
        front_report(e, DIAGNOSTIC_E0310, v.at, "a value is needed here, not %s", front_describe(e, v));
        return value_error(v.at);
    default: return v;
    }
}

struct value elaborate_value(struct elaborator *e, const struct ast_expression *expression)
{
    return value_read(e, elaborate(e, expression));
}

/* What was reported, to hang notes on, or NULL. */
static struct diagnostic *report_no_integer(struct elaborator *e, const struct ast_expression *expression,
                                            struct value v, const char *what)
{
    if (value_is_error(v))
        return NULL;
    return front_report(e, DIAGNOSTIC_E0501, expression->at, "%s must be an integer known when compiling; `%s` is %s",
                        what, front_source(e, expression),
                        v.kind == VALUE_RUN || v.kind == VALUE_HOST ? "known only when running" : front_describe(e, v));
}

bool elaborate_tile_index(struct elaborator *e, struct value base, const struct ast_expression *expression,
                          const struct ast_expression *index, wide_integer *result)
{
    struct value v = elaborate_value(e, index);
    if (v.kind == VALUE_INTEGER) {
        *result = v.integer;
        return true;
    }
    struct diagnostic *d = report_no_integer(e, index, v, "an index into a tile");
    if (v.kind == VALUE_RUN)
        note_tile_element(e, d, base, expression, index);
    return false;
}

bool elaborate_integer(struct elaborator *e, const struct ast_expression *expression, const char *what,
                       wide_integer *result)
{
    struct value v = elaborate_value(e, expression);
    if (v.kind != VALUE_INTEGER)
        report_no_integer(e, expression, v, what);
    else
        *result = v.integer;
    return v.kind == VALUE_INTEGER;
}

bool elaborate_extent(struct elaborator *e, const struct ast_expression *expression, int64_t *extent)
{
    struct value v = elaborate_value(e, expression);
    if (v.kind != VALUE_INTEGER) {
        struct diagnostic *d = report_no_integer(e, expression, v, "the extent of a tile");
        if (v.kind == VALUE_RUN || v.kind == VALUE_HOST)
            front_note(e, d, expression->at,
                       "take a fixed extent: what a tile has outside of its view reads as 0 and is not written");
        return false;
    }
    wide_integer number = v.integer;
    if (number < 1 || number > (1 << 24)) {
        front_report(e, DIAGNOSTIC_E0502, expression->at, "the extent of a tile is between 1 and 2^24; `%s` is not",
                     front_source(e, expression));
        return false;
    }
    *extent = (int64_t)number;
    return true;
}

void origin_add_extent(struct elaborator *e, struct origin **origin, int dimension, const struct ast_expression *source)
{
    origin_add(e, origin, dimension, source);
    (*origin)->extent[dimension].tuned = elaborate_value(e, source).tuned;
}

struct value condition_not(struct elaborator *e, struct value v) { return operate_unary(e, OPERATOR_NOT, v, v.at); }

/* A view as a condition: whether it is present. */
static struct value presence(struct elaborator *e, const struct view_value *view, struct location at)
{
    if (!view->declared_optional) {
        front_report(e, DIAGNOSTIC_E0610, at, "`%s` is not optional: only a view declared with `?` is a condition",
                     view->name);
        return value_error(at);
    }
    if (!view->run)
        return host_make(e, KERNEL_HOST_PRESENT, view->number, 0, IR_BOOL, at);
    if (view->absent)
        return value_bool(false, at);
    if (!view->run->type->optional)
        return value_bool(true, at);
    return value_run(ir_build_value(&e->builder, OP_PRESENT, ir_type_scalar(e->context, IR_BOOL), 1,
                                    (struct ir_value *[]){view->run}),
                     at);
}

static struct value as_condition(struct elaborator *e, struct value v)
{
    return v.kind == VALUE_VIEW ? presence(e, v.view, v.at) : value_read(e, v);
}

struct value condition_value(struct elaborator *e, const struct ast_expression *expression)
{
    return as_condition(e, elaborate(e, expression));
}

/* choice: the `?:` whose condition it is, or NULL. */
static struct value check_condition(struct elaborator *e, const struct ast_expression *expression, const char *what,
                                    const struct ast_expression *choice)
{
    struct value v = as_condition(e, elaborate(e, expression));
    if (value_is_error(v) || v.kind == VALUE_BOOL)
        return v;
    if (v.kind == VALUE_HOST && v.host.element == IR_BOOL)
        return v;
    if (v.kind == VALUE_RUN && v.run->type->element == IR_BOOL) {
        if (v.run->type->rank == 0)
            return v;
        for (struct frame *f = e->frame; f; f = f->parent)
            if (f->lifted) {
                e->errors++;
                return value_error(v.at);
            }
        struct diagnostic *d = front_report(
            e, DIAGNOSTIC_E0311, expression->at,
            "%s is one bool, and this is the tile %s; choose element by element with `where(c, a, b)`, "
            "or make one bool of it with `all(c)` or `any(c)`",
            what, front_describe(e, v));
        front_note_shape(e, d, v, "the condition");
        if (choice && choice->right->at.line == choice->at.line)
            front_fixit(e, d, choice->at, FIXIT_CERTAIN,
                        arena_printf(e->arena, "where(%s, %s, %s)", front_source(e, choice->condition),
                                     front_source(e, choice->left), front_source(e, choice->right)));
        return value_error(v.at);
    }
    struct diagnostic *d = front_report(e, DIAGNOSTIC_E0303, expression->at, "%s is a bool, not %s", what,
                                        front_describe(e, v));
    bool real = v.kind == VALUE_RUN && ir_is_float(v.run->type->element);
    bool number = real || v.kind == VALUE_INTEGER || (v.kind == VALUE_RUN && ir_is_integer(v.run->type->element)) ||
                  (v.kind == VALUE_HOST && v.host.element == IR_I64);
    const char *format = expression->kind == EXPRESSION_CONDITIONAL ? "(%s) != %s" : "%s != %s",
               *zero = real ? "0.0" : "0";
    const char *compared = number && d ? arena_printf(e->arena, format, front_source(e, expression), zero) : NULL;
    if (compared && value_is_tile(v)) {
        front_note(e, d, expression->at, "choose element by element with `where(%s, a, b)`", compared);
        if (choice && choice->right->at.line == choice->at.line)
            front_fixit(e, d, choice->at, FIXIT_CERTAIN,
                        arena_printf(e->arena, "where(%s, %s, %s)", compared, front_source(e, choice->left),
                                     front_source(e, choice->right)));
    } else if (compared) {
        front_note(e, d, expression->at, "%s is compared: `%s`", real ? "a number" : "an integer", compared);
        front_fixit(e, d, expression->at, FIXIT_CERTAIN, compared);
    }
    return value_error(expression->at);
}

struct value elaborate_condition(struct elaborator *e, const struct ast_expression *expression, const char *what)
{
    return check_condition(e, expression, what, NULL);
}

struct value elaborate_choice_condition(struct elaborator *e, const struct ast_expression *choice)
{
    return check_condition(e, choice->condition, "the condition of `?:`", choice);
}

static struct value elaborate_list(struct elaborator *e, const struct ast_expression *expression, enum value_kind kind)
{
    struct value v = {.kind = kind, .at = expression->at};
    v.list.count = expression->elements.count;
    v.list.data = ARENA_ARRAY(e->arena, struct value, v.list.count);
    bool good = true;
    for (int i = 0; i < v.list.count; i++) {
        v.list.data[i] = elaborate_value(e, expression->elements.data[i]);
        if (value_is_error(v.list.data[i]))
            good = false;
    }
    return good ? v : value_error(expression->at);
}

static struct value elaborate_literal(struct elaborator *e, const struct ast_expression *expression)
{
    if (expression->kind == EXPRESSION_INTEGER) {
        if (expression->integer.too_big) {
            front_report(e, DIAGNOSTIC_E0502, expression->at, "this integer does not fit 64 bits");
            return value_error(expression->at);
        }
        return value_integer((wide_integer)expression->integer.value, expression->at);
    }
    if (expression->kind == EXPRESSION_REAL) {
        struct value v = value_real(expression->real.value, expression->at);
        v.real.text = expression->real.text;
        if (isinf(expression->real.value)) {
            front_report(e, DIAGNOSTIC_E0502, expression->at, "this number is too large, also for f64");
            return value_error(expression->at);
        }
        return v;
    }
    struct value v = {.kind = VALUE_STRING, .at = expression->at};
    v.string = expression->string.data;
    return v;
}

static struct value elaborate_unary(struct elaborator *e, const struct ast_expression *expression)
{
    struct value a = elaborate(e, expression->left);
    a = expression->operation == OPERATOR_NOT ? as_condition(e, a) : value_read(e, a);
    struct value v = operate_unary(e, expression->operation, a, expression->at);
    return v;
}

static struct value elaborate_binary(struct elaborator *e, const struct ast_expression *expression)
{
    if (expression->operation == OPERATOR_AND || expression->operation == OPERATOR_OR)
        return control_logical(e, expression);
    const struct ast_expression *left = expression->left, *right = expression->right;
    bool equality = expression->operation == OPERATOR_EQUAL || expression->operation == OPERATOR_NOT_EQUAL;
    struct value a = equality ? nibbles_elaborate(e, left) : elaborate_value(e, left);
    struct value b = equality ? nibbles_elaborate(e, right) : elaborate_value(e, right);
    if (expression->operation == OPERATOR_DIVIDE && left->kind == EXPRESSION_INTEGER &&
        right->kind == EXPRESSION_INTEGER && right->integer.value && left->integer.value % right->integer.value)
        front_report(e, DIAGNOSTIC_W1009, expression->at, "this is %llu: the quotient of two integers is cut off",
                     (unsigned long long)(left->integer.value / right->integer.value));
    return operate_binary(e, expression->operation, a, b, expression->at);
}

static void report_not_called(struct elaborator *e, const struct ast_expression *base, struct value callee)
{
    struct diagnostic *d = front_report(e, DIAGNOSTIC_E0207, base->at, "%s is not called", front_describe(e, callee));
    const char *name = base->kind == EXPRESSION_NAME ? base->name : NULL;
    const struct binding *binding = name ? scope_find(e, name) : NULL;
    struct global *other = NULL;
    if (binding && (declare_find(e->front, e->file, name, &other) || e->front->builtins->find(name)))
        front_note(e, d, binding->at, "here `%s` hides the function of that name", name);
}

static struct value elaborate_call(struct elaborator *e, const struct ast_expression *expression)
{
    struct value callee = elaborate(e, expression->base);
    switch (callee.kind) {
    case VALUE_ERROR: /* its arguments may have errors of their own */
        for (int i = 0; i < expression->arguments.count; i++)
            if (!expression->arguments.data[i]->name.text)
                elaborate(e, expression->arguments.data[i]->value);
        return callee;
    case VALUE_FUNCTION: return call_function(e, callee.function, expression);
    case VALUE_BUILTIN: return e->front->builtins->call(e, callee.builtin, expression);
    case VALUE_TYPE: break;
    default: report_not_called(e, expression->base, callee); return value_error(expression->at);
    }
    if (callee.type->kind == TYPE_STRUCT)
        return structure_construct(e, callee.type->structure, expression);
    if (expression->arguments.count == 0 || expression->arguments.data[0]->name.text) {
        front_report(e, DIAGNOSTIC_E0307, expression->at, "a conversion takes one value, as in `f32(x)`");
        return value_error(expression->at);
    }
    if (expression->arguments.count > 1 && callee.type->kind == TYPE_PLAIN && callee.type->plain->rank == 0)
        return e->front->builtins->call(e, e->front->builtins->find("cast"), expression);
    if (expression->arguments.count > 1) {
        front_report(e, DIAGNOSTIC_E0307, expression->at, "a conversion takes one value, as in `f32(x)`");
        return value_error(expression->at);
    }
    return convert_construct(e, callee.type, elaborate_value(e, expression->arguments.data[0]->value), expression->at);
}

struct value elaborate(struct elaborator *e, const struct ast_expression *expression)
{
    struct location outer = e->builder.at;
    elaborate_at(e, expression->at);
    struct value v;
    switch (expression->kind) {
    case EXPRESSION_NAME: v = elaborate_name(e, expression->name, expression->at); break;
    case EXPRESSION_SCALAR_TYPE: v = scalar_type(e, expression->scalar, expression->at); break;
    case EXPRESSION_INTEGER:
    case EXPRESSION_REAL:
    case EXPRESSION_STRING: v = elaborate_literal(e, expression); break;
    case EXPRESSION_TUPLE: v = elaborate_list(e, expression, VALUE_TUPLE); break;
    case EXPRESSION_LIST: v = elaborate_list(e, expression, VALUE_LIST); break;
    case EXPRESSION_UNARY: v = elaborate_unary(e, expression); break;
    case EXPRESSION_BINARY: v = elaborate_binary(e, expression); break;
    case EXPRESSION_CONDITIONAL: v = control_conditional(e, expression); break;
    case EXPRESSION_INDEX: v = access_index(e, elaborate(e, expression->base), expression); break;
    case EXPRESSION_CALL: v = elaborate_call(e, expression); break;
    case EXPRESSION_MEMBER: v = elaborate_member(e, expression); break;
    default: v = value_error(expression->at);
    }
    e->builder.at = outer;
    return v;
}
