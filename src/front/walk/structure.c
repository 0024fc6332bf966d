/* Structs: a value of one is the tuple of its members' values with the struct's name on it, so that all that goes for
 * tuples (branches, loops, results of functions) goes for structs.
 *
 *     struct norm { eps: f32; rows: i32; }
 *     let p = norm(eps = 1.0e-5, rows = 4);        p.eps        var q = p;  q.rows = 8; */
#include "front/walk/control.h"

#include <string.h>

static bool member_fits(struct elaborator *e, const struct ast_field *field, const struct type *type)
{
    if (!type)
        return false;
    if (type->kind == TYPE_ENUM || (type->kind == TYPE_PLAIN && type->plain->rank == 0))
        return true;
    front_report(e, DIAGNOSTIC_E0204, field->type->at,
                 "a member of a struct is a scalar, a member of an enum or a pointer; views stay parameters");
    return false;
}

static bool is_new_member(struct elaborator *e, const struct ast_field_list *fields, int number)
{
    for (int i = 0; i < number; i++)
        if (fields->data[i]->name.text == fields->data[number]->name.text) {
            struct diagnostic *d = front_report(e, DIAGNOSTIC_E0202, fields->data[number]->name.at,
                                                "`%s` is already a member of this struct",
                                                fields->data[number]->name.text);
            front_note(e, d, fields->data[i]->name.at, "it was declared here");
            return false;
        }
    return true;
}

struct value structure_declare(struct front *front, struct global *global)
{
    const struct ast_declaration *d = global->declaration;
    struct elaborator e;
    elaborator_init(&e, front, global->file);
    struct structure *structure = ARENA_NEW(front->arena, struct structure);
    struct type *type = ARENA_NEW(front->arena, struct type);
    *structure = (struct structure){.name = d->name.text,
                                    .declaration = d,
                                    .type = type,
                                    .members = ARENA_ARRAY(front->arena, const char *, d->fields.count)};
    *type = (struct type){.kind = TYPE_STRUCT,
                          .structure = structure,
                          .count = d->fields.count,
                          .members = ARENA_ARRAY(front->arena, const struct type *, d->fields.count)};
    bool good = true;
    for (int i = 0; i < type->count; i++) {
        structure->members[i] = d->fields.data[i]->name.text;
        type->members[i] = elaborate_type(&e, d->fields.data[i]->type);
        good = member_fits(&e, d->fields.data[i], type->members[i]) && is_new_member(&e, &d->fields, i) && good;
    }
    return good ? value_type(type, d->at) : value_error(d->at);
}

/* ---- members ---- */

static int find(const struct structure *structure, const char *name)
{
    for (int i = 0; i < structure->type->count; i++)
        if (structure->members[i] == name)
            return i;
    return -1;
}

static void report_no_member(struct elaborator *e, const struct structure *structure, const char *name,
                             struct location at)
{
    const char *near = spelling_nearest(name, structure->members, structure->type->count);
    struct diagnostic *d = front_report(e, DIAGNOSTIC_E0205, at,
                                        near ? "the struct `%s` has no member `%s`; did you mean `%s`?"
                                             : "the struct `%s` has no member `%s`",
                                        structure->name, name, near);
    if (near)
        front_fixit(e, d, at, FIXIT_PROBABLE, near);
    front_note(e, d, structure->declaration->at, "it is declared here");
}

int structure_find(struct elaborator *e, const struct structure *structure, const struct ast_expression *member)
{
    int number = find(structure, member->name);
    if (number < 0)
        report_no_member(e, structure, member->name, member->operator_at);
    return number;
}

struct value structure_member(struct elaborator *e, struct value base, const struct ast_expression *member)
{
    int number = structure_find(e, base.structure, member);
    if (number < 0)
        return value_error(member->at);
    struct value v = base.list.data[number];
    v.at = member->at;
    return v;
}

/* ---- values ---- */

struct value structure_copy(struct elaborator *e, struct value v)
{
    v.list.data = arena_copy(e->arena, v.list.data, sizeof *v.list.data * (size_t)v.list.count);
    return v;
}

struct value structure_settle(struct elaborator *e, struct value v)
{
    v = structure_copy(e, v);
    for (int i = 0; e->function && i < v.list.count; i++)
        v.list.data[i] = value_materialize(e, v.list.data[i]);
    return v;
}

/* A value as the member's type; VALUE_ERROR: reported. */
static struct value to_member(struct elaborator *e, const struct structure *structure, int number, struct value v)
{
    const struct type *type = structure->type->members[number];
    if (value_is_error(v))
        return v;
    if (type->kind == TYPE_ENUM)
        return convert_construct(e, type, v, v.at);
    if (type->plain->element != IR_POINTER && value_is_constant(v))
        return constant_to_element(e, v, type->plain->element, false);
    if (v.kind == VALUE_HOST && (v.host.element == IR_I64) == ir_is_integer(type->plain->element))
        return v;
    const char *what = arena_printf(e->arena, "the member `%s` of `%s`", structure->members[number], structure->name);
    struct ir_value *run = convert_to_type(e, v, type->plain, false, what);
    return run ? value_run(run, v.at) : value_error(v.at);
}

/* Which member an argument is for; -1: reported. */
static int member_of(struct elaborator *e, const struct structure *structure, const struct ast_argument *argument,
                     int position, const bool *given)
{
    int number = argument->name.text ? find(structure, argument->name.text) : position;
    if (number < 0)
        report_no_member(e, structure, argument->name.text, argument->name.at);
    else if (number >= structure->type->count) {
        front_report(e, DIAGNOSTIC_E0307, argument->at, "the struct `%s` has %d member%s", structure->name,
                     structure->type->count, structure->type->count == 1 ? "" : "s");
        number = -1;
    } else if (given[number]) {
        front_report(e, DIAGNOSTIC_E0307, argument->at, "`%s` is given twice", structure->members[number]);
        number = -1;
    }
    return number;
}

struct value structure_construct(struct elaborator *e, const struct structure *structure,
                                 const struct ast_expression *call)
{
    int count = structure->type->count;
    struct value v = {.kind = VALUE_TUPLE, .at = call->at, .structure = structure};
    bool *given = ARENA_ARRAY(e->arena, bool, count), good = true;
    v.list.count = count;
    v.list.data = ARENA_ARRAY(e->arena, struct value, count);
    for (int i = 0; i < call->arguments.count; i++) {
        const struct ast_argument *argument = call->arguments.data[i];
        struct value member = elaborate_value(e, argument->value);
        int number = member_of(e, structure, argument, i, given);
        if (number >= 0) {
            given[number] = true;
            v.list.data[number] = to_member(e, structure, number, member);
        }
        good = good && number >= 0 && !value_is_error(v.list.data[number]);
    }
    for (int i = 0; i < count && good; i++)
        if (!given[i]) {
            struct diagnostic *d = front_report(e, DIAGNOSTIC_E0307, call->at, "`%s` needs a value for its member `%s`",
                                                structure->name, structure->members[i]);
            front_note(e, d, structure->declaration->at, "it is declared here");
            good = false;
        }
    return good ? v : value_error(call->at);
}
