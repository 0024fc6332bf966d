/* Structs, prints and assertions of random sources whose meaning is known (see meaning.h).  A struct is a variable for
 * each of its members, named `p.m0` and so on, in slots behind each other. */
#include "meaning_make.h"

#include <string.h>

enum { MOST_STRUCTS = 2, MOST_TRIES = 6 };
static const struct meaning_shape scalar;

static int below(struct maker *k, int limit) { return random_below(k->random, limit); }
static bool chance(struct maker *k, int percent) { return random_chance(k->random, percent); }

void meaning_make_structs(struct maker *k)
{
    for (int i = below(k, MOST_STRUCTS + 1); i > 0; i--) {
        struct meaning_struct *structure = ARENA_NEW(k->arena, struct meaning_struct);
        structure->name = meaning_make_name(k, "record");
        structure->count = random_between(k->random, 1, MEANING_MEMBERS);
        for (int m = 0; m < structure->count; m++)
            structure->element[m] = chance(k, 15) ? IR_BOOL : meaning_make_element(k);
        vector_push(k->arena, &k->m->structs, structure);
    }
}

/* Nothing that is known when compiling: that would take its type from what it meets. */
static struct meaning_node *member_value(struct maker *k, enum ir_element element)
{
    for (int tries = 0; tries < MOST_TRIES; tries++) {
        struct meaning_node *node = meaning_make_expression(k, element, scalar, 1);
        if (!node->constant)
            return node;
    }
    return NULL;
}

void meaning_declare_struct(struct maker *k, struct meaning_body *body)
{
    if (!k->m->structs.count || k->host || k->m->slot_count + MEANING_MEMBERS >= MEANING_SLOTS - 8)
        return;
    const struct meaning_struct *structure = k->m->structs.data[below(k, k->m->structs.count)];
    struct meaning_node *values[MEANING_MEMBERS] = {0};
    for (int m = 0; m < structure->count; m++)
        if (!(values[m] = member_value(k, structure->element[m])))
            return;
    struct meaning_statement *s = meaning_add(k, body, MEANING_STRUCT);
    s->structure = structure;
    s->name = meaning_make_name(k, "s");
    s->slot = k->m->slot_count;
    s->step = below(k, 2); /* members by name */
    s->typed = chance(k, 50);
    memcpy(s->value, values, sizeof s->value);
    k->m->slot_count += structure->count;
    for (int m = 0; m < structure->count; m++)
        k->scope.variables[k->scope.variable_count++] = (struct meaning_variable){
            .name = arena_printf(k->arena, "%s.m%d", s->name, m),
            .slot = s->slot + m,
            .element = structure->element[m],
            .assignable = s->typed,
            .structure = structure,
            .member = m,
            .whole = s->name};
}

/* Some struct of this type, or of any; the first of its members. */
static const struct meaning_variable *any_struct(struct maker *k, const struct meaning_struct *structure,
                                                 bool assignable)
{
    for (int tries = 0; k->scope.variable_count && tries < 3 * MOST_TRIES; tries++) {
        const struct meaning_variable *v = &k->scope.variables[below(k, k->scope.variable_count)];
        if (v->structure && v->member == 0 && (!structure || v->structure == structure) &&
            (v->assignable || !assignable))
            return v;
    }
    return NULL;
}

void meaning_copy_struct(struct maker *k, struct meaning_body *body)
{
    const struct meaning_variable *to = any_struct(k, NULL, true);
    const struct meaning_variable *from = to ? any_struct(k, to->structure, false) : NULL;
    const struct meaning_variable *other = from && chance(k, 40) ? any_struct(k, to->structure, false) : NULL;
    if (!from)
        return;
    struct meaning_node *condition = other ? meaning_make_expression(k, IR_BOOL, scalar, 2) : NULL;
    struct meaning_statement *s = meaning_add(k, body, MEANING_STRUCT_COPY);
    s->structure = to->structure;
    s->name = to->whole;
    s->slot = to->slot;
    s->other_name = from->whole;
    s->second = from->slot;
    s->value[0] = condition;
    s->third_name = other ? other->whole : NULL;
    s->third = other ? other->slot : 0;
    s->passed = chance(k, 50);
}

struct meaning_node *meaning_make_same(struct maker *k)
{
    const struct meaning_variable *a = any_struct(k, NULL, false);
    const struct meaning_variable *b = a ? any_struct(k, a->structure, false) : NULL;
    if (!b)
        return NULL;
    struct meaning_node *node = meaning_make_node(k, MEANING_SAME, IR_BOOL, scalar, NULL, NULL, NULL);
    node->constant = false;
    node->structure = a->structure;
    node->name = a->whole;
    node->other_name = b->whole;
    node->slot = a->slot;
    node->second = b->slot;
    strcpy(node->sign, chance(k, 50) ? "==" : "!=");
    return node;
}

/* Neither changes anything. */
void meaning_say(struct maker *k, struct meaning_body *body)
{
    if (k->in_function || k->host || k->for_code)
        return;
    enum ir_element element = meaning_make_element(k);
    struct meaning_node *value = meaning_make_expression(k, element, chance(k, 50) ? scalar : meaning_make_shape(k), 2);
    struct meaning_node *condition = meaning_make_expression(k, IR_BOOL, scalar, 2);
    bool prints = chance(k, 50);
    if (!prints && condition->constant) /* one that is false is an error */
        return;
    struct meaning_statement *s = meaning_add(k, body, prints ? MEANING_PRINT : MEANING_ASSERT);
    s->value[0] = prints ? value : condition;
}
