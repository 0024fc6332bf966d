/* fuse_map: elementwise operations in front of a map and behind it, on its own operands, move into the map.
 *
 *     %h = mul %x, 0.5      %s = mul %x, 0.70710677
 *     %e = map %s (%a) { … yield %b }
 *     %u = add %e, 1.0      %y = mul %h, %u
 * becomes
 *     %y = map %x (%a) { %s = mul %a, 0.70710677 …   %u = add %b, 1.0   %h = mul %a, 0.5   %y = mul %h, %u   yield %y }
 *
 * One tile now goes in and one comes out, and an element of the result can take the register of the element that it is
 * made of (targets/nvptx/lower/map.c).  Neither %x nor %h has to stay whole beside what becomes of %s.
 *
 * Right because these operations compute each element alone, from elements at the same place.  An operation that would
 * bring another tile or another type into the map stays outside, as it would need registers of its own. */
#include "ir/facts/layout_rules.h"
#include "passes/base/pass.h"
#include "passes/base/rewrite.h"

enum { MOST_INPUTS = 16, MOST_INSIDE = 64, MOST_DEPTH = 8 };

/* A map and what goes into it: everything from `end` back to the inputs. */
struct fusion {
    struct ir_operation *map, *end;
    struct ir_value *input[MOST_INPUTS]; /* tiles */
    struct ir_operation *inside[MOST_INSIDE];
    int inputs, insides;
};

static bool is_filled(const struct ir_value *value)
{
    const struct ir_operation *op = value->definition;
    return op && (op->opcode == OP_CONSTANT || op->opcode == OP_SPLAT);
}

/* An element of one can lie where one of the other lay. */
static bool has_element(const struct ir_value *value, const struct ir_value *other)
{
    return value->type->element == other->type->element;
}

/* Can be computed for one element inside the map. */
static bool is_single(const struct fusion *f, const struct ir_value *value)
{
    const struct ir_operation *op = value->definition;
    return op && op->block == f->map->block && op->result_count == 1 && !op->region_count && layout_rule_has(value) &&
           ir_has_trait(op, IR_TRAIT_ELEMENTWISE) && ir_number(op, IR_ATTRIBUTE_PACK, 1) == 1;
}

static bool is_input(const struct fusion *f, const struct ir_value *value)
{
    for (int i = 0; i < f->inputs; i++)
        if (f->input[i] == value)
            return true;
    return false;
}

/* A scalar or a tile of one number needs no room. */
static bool add_input(struct fusion *f, struct ir_value *value)
{
    if (!layout_rule_has(value) || is_filled(value) || is_input(f, value))
        return true;
    if (f->inputs == MOST_INPUTS)
        return false;
    f->input[f->inputs++] = value;
    return true;
}

static bool is_inside(const struct fusion *f, const struct ir_operation *op)
{
    for (int i = 0; i < f->insides; i++)
        if (f->inside[i] == op)
            return true;
    return false;
}

/* Whether what is inside is all that needs the value. */
static bool is_own(const struct fusion *f, const struct ir_value *value)
{
    for (const struct ir_use *use = value->uses; use; use = use->next)
        if (!is_inside(f, use->user))
            return false;
    return true;
}

static bool put_inside(struct fusion *f, struct ir_operation *op)
{
    if (is_inside(f, op))
        return true;
    if (f->insides == MOST_INSIDE)
        return false;
    f->inside[f->insides++] = op;
    return true;
}

/* Puts in what a value is made of, back to the inputs; false: it needs something else. */
static bool put_value(struct fusion *f, struct ir_value *value, int depth)
{
    if (!layout_rule_has(value) || is_filled(value) || is_input(f, value) ||
        (value->definition && is_inside(f, value->definition)))
        return true;
    if (depth == MOST_DEPTH || !is_single(f, value))
        return false;
    for (int i = 0; i < value->definition->operand_count; i++)
        if (!put_value(f, value->definition->operands[i], depth + 1))
            return false;
    return put_inside(f, value->definition);
}

/* In front: an input's operands in its place. */
static bool take_producer(struct fusion *f)
{
    for (int i = 0; i < f->inputs; i++) {
        struct ir_operation *op = f->input[i]->definition;
        if (!is_single(f, f->input[i]) || !is_own(f, f->input[i]))
            continue;
        struct fusion next = *f;
        next.input[i] = next.input[--next.inputs];
        bool fits = put_inside(&next, op);
        for (int o = 0; o < op->operand_count && fits; o++) {
            fits = add_input(&next, op->operands[o]);
            fits = fits && (!is_input(&next, op->operands[o]) || has_element(op->operands[o], f->input[i]));
        }
        if (!fits || next.inputs > f->inputs)
            continue;
        *f = next;
        return true;
    }
    return false;
}

/* Behind: the only operation that uses the result. */
static bool take_user(struct fusion *f)
{
    const struct ir_value *result = f->end->results[0];
    struct ir_operation *user = result->uses ? result->uses->user : NULL;
    if (!user || user->result_count != 1 || !is_single(f, user->results[0]) || !has_element(user->results[0], result))
        return false;
    for (const struct ir_use *use = result->uses; use; use = use->next)
        if (use->user != user)
            return false;
    struct fusion next = *f;
    for (int i = 0; i < user->operand_count; i++)
        if (!put_value(&next, user->operands[i], 0))
            return false;
    if (!put_inside(&next, user))
        return false;
    next.end = user;
    *f = next;
    return true;
}

/* ---- the new map ---- */

struct emission {
    const struct fusion *fusion;
    struct ir_operation *made;
    struct ir_builder builder; /* inside it */
    struct ir_value **map;     /* by id: an element of the tile, or a scalar, inside */
    int count;
};

/* A value from outside, as an argument of the region. */
static struct ir_value *argument(struct emission *e, struct ir_value *value)
{
    const struct ir_type *type = ir_type_with_layout(rewrite_context(e->made), value->type, NULL);
    type = ir_type_with_shape(rewrite_context(e->made), type, 0, NULL);
    ir_add_operand(e->made, value);
    return ir_block_argument(e->made->regions[0], type, value->name);
}

static struct ir_value *element(struct emission *e, struct ir_value *value);

/* The old map's body. */
static struct ir_value *body_of(struct emission *e, const struct ir_operation *map)
{
    const struct ir_block *body = map->regions[0];
    for (int i = 0; i < map->operand_count; i++)
        e->map[body->arguments.data[i]->id] = element(e, map->operands[i]);
    const struct ir_operation *end = ir_terminator(body);
    for (const struct ir_operation *op = body->first; op != end; op = op->next)
        ir_clone(&e->builder, op, e->map);
    return e->map[end->operands[0]->id];
}

/* The operation on elements. */
static struct ir_value *computed(struct emission *e, struct ir_operation *op)
{
    struct ir_context *context = rewrite_context(op);
    for (int i = 0; i < op->operand_count; i++)
        element(e, op->operands[i]);
    const struct ir_type *type = ir_type_with_layout(context, op->results[0]->type, NULL);
    e->builder.at = op->at;
    struct ir_operation *made = ir_clone(&e->builder, op, e->map);
    made->results[0]->type = ir_type_with_shape(context, type, 0, NULL);
    return made->results[0];
}

static struct ir_value *element(struct emission *e, struct ir_value *value)
{
    if (e->map[value->id])
        return e->map[value->id];
    struct ir_operation *op = value->definition;
    struct ir_value *made;
    uint64_t bits;
    if (ir_constant_of(value, &bits)) {
        const struct ir_type *type = ir_type_with_layout(rewrite_context(op), value->type, NULL);
        made = ir_constant_bits(&e->builder, ir_type_with_shape(rewrite_context(op), type, 0, NULL), bits);
    } else if (op && op->opcode == OP_SPLAT && is_filled(value)) {
        made = element(e, op->operands[0]);
    } else if (op && op == e->fusion->map) {
        made = body_of(e, op);
    } else if (op && is_inside(e->fusion, op) && !is_input(e->fusion, value)) {
        made = computed(e, op);
    } else {
        made = argument(e, value);
    }
    return e->map[value->id] = made;
}

static void emit(const struct fusion *f, struct arena *arena)
{
    struct ir_function *function = f->map->block->function;
    struct ir_builder builder = rewrite_before(f->end);
    struct ir_value *result = f->end->results[0];
    struct emission e = {.fusion = f, .made = ir_build(&builder, OP_MAP, 0, NULL, 1, &result->type)};
    e.builder = (struct ir_builder){.module = builder.module, .block = e.made->regions[0], .at = f->map->at};
    e.map = ARENA_ARRAY(arena, struct ir_value *, function->next_value_id);
    struct ir_value *inside = element(&e, result);
    ir_build(&e.builder, OP_YIELD, 1, &inside, 0, NULL);
    e.made->results[0]->name = result->name;
    ir_replace_uses(result, e.made->results[0]);
    for (bool removed = true; removed;) { /* what is needed outside as well stays */
        removed = false;
        for (int i = 0; i < f->insides; i++)
            if (f->inside[i]->block && !ir_is_used(f->inside[i])) {
                ir_remove(f->inside[i]);
                removed = true;
            }
    }
}

struct maps {
    struct arena *arena;
    VECTOR(struct ir_operation *) found;
};

static void find(struct ir_operation *op, void *data)
{
    struct maps *maps = data;
    if (op->opcode == OP_MAP && op->result_count == 1 && layout_rule_has(op->results[0]))
        vector_push(maps->arena, &maps->found, op);
}

static bool grow(struct ir_operation *map, struct pass_context *context)
{
    struct fusion f = {.map = map, .end = map, .insides = 1, .inside = {map}};
    for (int i = 0; i < map->operand_count; i++)
        if (!add_input(&f, map->operands[i]))
            return false;
    while (take_producer(&f) || take_user(&f))
        continue;
    if (f.insides == 1 || !pass_fuel(context))
        return false;
    emit(&f, context->arena);
    return true;
}

bool pass_fuse_map(struct ir_function *function, struct pass_context *context)
{
    struct maps maps = {.arena = context->arena};
    bool changed = false;
    ir_walk(function->body, find, &maps);
    for (int i = 0; i < maps.found.count; i++)
        changed = grow(maps.found.data[i], context) || changed;
    return changed;
}
