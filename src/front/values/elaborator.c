/* The state of a walk: how one begins, and its scopes of names. */
#include "front/values/elaborate.h"

void elaborator_init(struct elaborator *e, struct front *front, struct file_scope *file)
{
    _Static_assert((int)AST_SCALAR_BOOL == (int)IR_BOOL && (int)AST_SCALAR_U64 == (int)IR_U64 &&
                       (int)AST_SCALAR_F8E5M2 == (int)IR_F8E5M2,
                   "the scalar types of the tree and of the IR have one order");
    *e = (struct elaborator){.front = front, .arena = front->arena, .context = front->options->context, .file = file};
    e->frame = ARENA_NEW(front->arena, struct frame);
    e->frame->file = file;
    e->frame->returned.value = value_bool(false, (struct location){0});
    e->frame->result.value.kind = VALUE_VOID;
    e->frame->returned.name = e->frame->result.name = "";
    scope_push(e, true);
}

void elaborate_at(struct elaborator *e, struct location at)
{
    at.inlined = e->frame->call;
    e->builder.at = at;
}

/* ---- scopes ---- */

struct scope *scope_push(struct elaborator *e, bool is_function)
{
    struct scope *scope = ARENA_NEW(e->arena, struct scope);
    scope->parent = e->scope;
    scope->is_function = is_function;
    return e->scope = scope;
}

void scope_pop(struct elaborator *e)
{
    if (e->scope->first && !e->scope->is_function) {
        struct ended *ended = ARENA_NEW(e->arena, struct ended);
        *ended = (struct ended){e->scope, e->ended};
        e->ended = ended;
    }
    e->scope = e->scope->parent;
}

struct binding *scope_find(struct elaborator *e, const char *name)
{
    for (struct scope *s = e->scope; s; s = s->parent) {
        struct binding *found = name_table_find(&s->names, name);
        if (found || s->is_function)
            return found;
    }
    return NULL;
}

/* Hiding: an error in one scope and for extents and grid names, else a warning. */
static void check_hiding(struct elaborator *e, struct ast_name name)
{
    struct binding *hidden = scope_find(e, name.text);
    if (!hidden)
        return;
    if (hidden == name_table_find(&e->scope->names, name.text)) {
        struct diagnostic *d = front_report(e, DIAGNOSTIC_E0202, name.at, "`%s` is already declared in this block",
                                            name.text);
        front_note(e, d, hidden->at, "it was declared here");
        return;
    }
    if (hidden->kind == BINDING_EXTENT || hidden->kind == BINDING_GRID || hidden->kind == BINDING_TUNE ||
        hidden->kind == BINDING_GENERIC) {
        struct diagnostic *d = front_report(e, DIAGNOSTIC_E0203, name.at, "`%s` may not hide %s", name.text,
                                            hidden->kind == BINDING_EXTENT ? "an extent"
                                            : hidden->kind == BINDING_GRID ? "a grid name"
                                                                           : "a compile-time name");
        front_note(e, d, hidden->at, "`%s` comes from here", name.text);
        return;
    }
    struct diagnostic *d = front_report(e, DIAGNOSTIC_W1001, name.at, "`%s` hides a name of an outer block", name.text);
    front_note(e, d, hidden->at, "the outer one is declared here");
}

struct binding *scope_bind(struct elaborator *e, enum binding_kind kind, struct ast_name name, struct value value)
{
    if (kind == BINDING_LET || kind == BINDING_VAR || kind == BINDING_RANGE)
        check_hiding(e, name);
    struct binding *binding = ARENA_NEW(e->arena, struct binding);
    *binding = (struct binding){
        .name = name.text, .kind = kind, .value = value, .at = name.at, .next = e->scope->first};
    name_table_set(e->arena, &e->scope->names, name.text, binding);
    return e->scope->first = binding;
}
