/* Parts of tiles.
 *
 *     %u = if %c { %b = load %bias[%n +: 256]   %w = add %acc, broadcast %b   yield %w } else { yield %acc }
 *     %v = cast %u : bf16[128, 256]
 * its part [0, 64 +: 64] is
 *     %u1 = if %c { %b1 = load %bias[%n + 64 +: 64]
 *                     %w1 = add (extract start(0, 64) %acc), broadcast %b1   yield %w1 }
 *           else { %e = extract start(0, 64) %acc   yield %e }
 *     %v1 = cast %u1 : bf16[128, 64]
 * so that a thread holds the accumulator and one part of what is made of it, not every value on the way in full.  What
 * branches take from in front of them is made there, once.
 *
 * Right because these operations compute each element alone, from elements at the same place or along a dimension of
 * extent 1; a load is done later only when nothing in the function may write what it reads, or only the store of the
 * parts, each where it was read. */
#include "passes/layout/tile_part.h"
#include "base/plant.h"

#include "ir/facts/alias.h"
#include "passes/base/rewrite.h"

/* Where parts are made: a branch that is being made, in the one around it. */
struct place {
    struct ir_builder builder;
    struct place *outer;
    const struct ir_block *original; /* the block from before whose parts stand here */
    int depth;
};

/* The outermost place that the value is known at: what several branches use is made once, in front of them. */
static struct place *place_of(struct place *place, const struct ir_value *value)
{
    while (place->outer && ir_block_holds(value->block, place->outer->original))
        place = place->outer;
    return place;
}

static void remember(struct tile_part *p, const struct place *place, struct ir_value **map,
                     const struct ir_value *value, struct ir_value *made)
{
    if (value->id >= p->map_count)
        die("a part of a value made by itself");
    map[value->id] = made;
    vector_push(p->adapter.arena, &p->scoped, ((struct tile_part_scoped){value->id, place->depth}));
}

/* Forgets what was made deeper than `depth`. */
static void forget(struct tile_part *p, int depth)
{
    int kept = 0;
    for (int i = 0; i < p->scoped.count; i++) {
        struct tile_part_scoped *scoped = &p->scoped.data[i];
        if (scoped->depth > depth)
            p->map[scoped->id] = p->whole[scoped->id] = NULL;
        else
            p->scoped.data[kept++] = *scoped;
    }
    p->scoped.count = kept;
}

/* A scalar, view or whole tile at a place; one that stands in a branch is made again. */
static struct ir_value *scalar(struct tile_part *p, struct place *place, struct ir_value *value)
{
    if (ir_block_holds(value->block, place->builder.block))
        return value;
    if (value->id < p->map_count && p->whole[value->id])
        return p->whole[value->id];
    place = place_of(place, value);
    struct ir_operation *op = value->definition;
    for (int i = 0; i < op->operand_count; i++) {
        struct ir_value *operand = scalar(p, place, op->operands[i]);
        if (operand != op->operands[i] && !p->whole[op->operands[i]->id])
            remember(p, place, p->whole, op->operands[i], operand);
    }
    struct ir_operation *copy = ir_clone(&place->builder, op, p->whole);
    remember(p, place, p->whole, value, copy->results[value->index]);
    return copy->results[value->index];
}

/* The view's dimension behind dimension `axis` of a load's tile, or -1. */
static int view_dimension(const struct ir_operation *op, int axis)
{
    struct ir_access access;
    int tile = 0;
    if (!ir_access_of(op, &access))
        return -1;
    for (int d = 0; d < access.rank; d++) {
        if (access.place[d] == IR_GATHER)
            return -1;
        if (access.place[d] > 0 && tile++ == axis)
            return d;
    }
    return -1;
}

/* A reshape that only adds or removes extents of 1: the operand's dimension that `axis` is. */
static int reshaped_axis(const struct ir_operation *op, int axis)
{
    const struct ir_type *to = op->results[0]->type, *from = op->operands[0]->type;
    int found = -1, i = 0;
    for (int d = 0; d < to->rank; d++) {
        if (to->extent[d] == 1)
            continue;
        while (i < from->rank && from->extent[i] == 1)
            i++;
        if (i == from->rank || from->extent[i] != to->extent[d])
            return -1;
        if (d == axis)
            found = i;
        i++;
    }
    return found;
}

static bool is_pure_region(const struct ir_operation *op) { return !ir_has_effect(op); }

static bool is_computed(const struct tile_part *p, const struct ir_value *value, int axis);

/* What others need as well is there anyway: made again only from scalars and what is small, lest its operands stay. */
static bool is_made_of_little(const struct tile_part *p, const struct ir_value *value, int axis)
{
    const struct ir_operation *op = value->definition;
    bool little = layout_rule_cheap(value);
    for (int i = 0; i < op->operand_count && little; i++)
        little = !layout_rule_has(op->operands[i]) || is_computed(p, op->operands[i], axis);
    return little;
}

static bool may_load_later(const struct tile_part *p, const struct ir_operation *load)
{
    return !alias_precedes_release(load) &&
           (!alias_is_written(load->block->function, load->operands[0]) || p->overwritten[load->results[0]->id]);
}

/* A tile that is loaded and then brought into another layout lies in memory's own until then, its parts too. */
static const struct layout *loaded_layout(const struct tile_part *p, const struct ir_operation *convert, int axis)
{
    const struct ir_type *type = convert->operands[0]->type;
    const struct ir_operation *load = convert->operands[0]->definition;
    return load && load->opcode == OP_LOAD && p->length
               ? layout_shrink(p->adapter.table, type->layout, axis, (int)(type->extent[axis] / p->length))
               : NULL;
}

static bool is_computed(const struct tile_part *p, const struct ir_value *value, int axis)
{
    const struct ir_operation *op = value->definition;
    if (!op)
        return false;
    switch (op->opcode) {
    case OP_CONSTANT:
    case OP_SPLAT: return true;
    case OP_IF: return is_pure_region(op);
    case OP_LOAD: return view_dimension(op, axis) >= 0 && may_load_later(p, op);
    case OP_CONVERT_LAYOUT:
        return p->own[value->id] && op->operands[0]->definition && op->operands[0]->definition->opcode == OP_LOAD &&
               is_computed(p, op->operands[0], axis);
    case OP_RESHAPE: return reshaped_axis(op, axis) >= 0;
    case OP_BROADCAST: return true;
    case OP_PHILOX: return p->own[value->id];
    default:
        return ir_has_trait(op, IR_TRAIT_ELEMENTWISE) && op->result_count == 1 &&
               (p->own[value->id] || is_made_of_little(p, value, axis));
    }
}

static struct ir_value *part(struct tile_part *p, struct place *place, struct ir_value *value, int axis,
                             const struct layout *layout);

static const struct ir_type *part_type(const struct tile_part *p, const struct ir_type *type, int axis,
                                       const struct layout *layout)
{
    int64_t extent[IR_MAX_RANK];
    for (int d = 0; d < type->rank; d++)
        extent[d] = d == axis ? p->length : type->extent[d];
    struct ir_context *context = p->adapter.module->context;
    return ir_type_with_layout(context, ir_type_with_shape(context, type, type->rank, extent), layout);
}

static struct ir_value *cut(struct tile_part *p, struct ir_builder *builder, struct ir_value *value, int axis,
                            const struct layout *layout)
{
    int64_t start[IR_MAX_RANK] = {0};
    int factor = (int)(value->type->extent[axis] / p->length);
    const struct layout *own = layout_shrink(p->adapter.table, value->type->layout, axis, factor);
    if (!own && layout) { /* where its parts lie across threads it is brought to one where they are as wanted */
        int extent[LAYOUT_RANK];
        for (int d = 0; d < value->type->rank; d++)
            extent[d] = (int)value->type->extent[d];
        const struct layout *wide = layout_extend(p->adapter.table, layout, extent);
        own = wide ? layout_shrink(p->adapter.table, wide, axis, factor) : NULL;
        if (own)
            value = layout_adapt(&p->adapter, builder, value, wide);
    }
    if (!own)
        die("a part of a tile does not lie in registers of its own");
    start[axis] = p->start;
    struct ir_value *made = ir_build_value(builder, OP_EXTRACT, part_type(p, value->type, axis, own), 1, &value);
    ir_set_list(made->definition, IR_ATTRIBUTE_START, value->type->rank, start);
    return layout_adapt(&p->adapter, builder, made, layout);
}

/* A copy of an operation with other operands and result. */
static struct ir_value *copy_with(struct tile_part *p, struct ir_builder *builder, struct ir_operation *op,
                                  struct ir_value *const *operands, const struct ir_type *type)
{
    struct ir_value *before = p->whole[op->results[0]->id];
    struct ir_operation *copy = ir_clone(builder, op, p->whole);
    for (int i = 0; i < op->operand_count; i++)
        if (copy->operands[i] != operands[i])
            ir_set_operand(copy, i, operands[i]);
    p->whole[op->results[0]->id] = before;
    copy->results[0]->type = type;
    return copy->results[0];
}

/* All of its results at once: most programs want one. */
static struct ir_value *part_of_random(struct tile_part *p, struct place *place, const struct ir_value *value,
                                       struct ir_value *const *operands, const struct ir_type *type)
{
    struct ir_operation *op = value->definition;
    const struct ir_type *types[4] = {type, type, type, type};
    struct ir_operation *made = ir_build(&place->builder, op->opcode, op->operand_count, operands, 4, types);
    for (int i = 0; i < 4; i++)
        if (i != value->index)
            remember(p, place, p->map, op->results[i], made->results[i]);
    return made->results[value->index];
}

static struct ir_value *part_of_load(struct tile_part *p, struct ir_builder *builder, struct ir_operation *op, int axis,
                                     const struct ir_type *type, struct ir_value **operands)
{
    struct ir_access access;
    int dimension = view_dimension(op, axis);
    int64_t place[IR_MAX_RANK];
    ir_access_of(op, &access);
    if (p->start && !PLANTED(panel_starts_at_zero)) {
        struct ir_value *index = operands[1 + dimension];
        operands[1 + dimension] = ir_binary(builder, OP_ADD, index, ir_constant_int(builder, index->type, p->start));
    }
    for (int d = 0; d < access.rank; d++)
        place[d] = d == dimension ? p->length : access.place[d];
    struct ir_value *made = copy_with(p, builder, op, operands, type);
    ir_set_list(made->definition, IR_ATTRIBUTE_PLACE, access.rank, place);
    return made;
}

static struct ir_value *part_of_branch(struct tile_part *p, struct place *place, struct ir_value *value, int axis,
                                       const struct layout *layout)
{
    struct ir_operation *op = value->definition;
    const struct ir_type *type = part_type(p, value->type, axis, layout);
    struct ir_value *condition = scalar(p, place, op->operands[0]);
    place->builder.at = op->at;
    struct ir_operation *made = ir_build(&place->builder, OP_IF, 1, &condition, 1, &type);
    struct ir_operation *next = place->builder.before;
    place->builder.before = made;
    for (int r = 0; r < 2; r++) {
        struct place inner = {.builder = {.module = place->builder.module, .block = made->regions[r], .at = op->at},
                              .outer = place,
                              .original = op->regions[r],
                              .depth = place->depth + 1};
        struct ir_value *result = part(p, &inner, ir_terminator(op->regions[r])->operands[value->index], axis, layout);
        ir_build(&inner.builder, OP_YIELD, 1, &result, 0, NULL);
        forget(p, place->depth);
    }
    place->builder.before = next;
    return made->results[0];
}

static struct ir_value *compute(struct tile_part *p, struct place *place, struct ir_value *value, int axis,
                                const struct layout *layout)
{
    struct ir_operation *op = value->definition;
    struct ir_builder *builder = &place->builder;
    const struct ir_type *type = part_type(p, value->type, axis, layout);
    struct ir_value **operands = ARENA_ARRAY(p->adapter.arena, struct ir_value *, op->operand_count + 1);
    if (op->opcode == OP_IF)
        return part_of_branch(p, place, value, axis, layout);
    if (op->opcode == OP_CONVERT_LAYOUT) {
        const struct layout *own = loaded_layout(p, op, axis);
        return layout_adapt(&p->adapter, builder, part(p, place, op->operands[0], axis, own ? own : layout), layout);
    }
    for (int i = 0; i < op->operand_count; i++) {
        struct ir_value *operand = op->operands[i];
        if (!layout_rule_has(operand)) {
            operands[i] = scalar(p, place, operand);
            continue;
        }
        const struct ir_type *from = operand->type;
        int inner = op->opcode == OP_RESHAPE ? reshaped_axis(op, axis) : axis;
        if (op->opcode == OP_BROADCAST && from->extent[axis] == 1)
            inner = -1;
        const struct ir_type *small = inner < 0 ? from : part_type(p, from, inner, NULL);
        int extent[LAYOUT_RANK];
        for (int d = 0; d < small->rank; d++)
            extent[d] = (int)small->extent[d];
        const struct layout *wanted = layout;
        if (op->opcode == OP_BROADCAST)
            wanted = layout_broadcast_source(p->adapter.table, layout, extent);
        else if (op->opcode == OP_RESHAPE)
            wanted = layout_reshape(p->adapter.table, layout, small->rank, extent);
        operands[i] = inner < 0 ? operand : part(p, place, operand, inner, wanted);
        if (inner < 0 && !ir_block_holds(operand->block, builder->block))
            operands[i] = scalar(p, place, operand);
        if (operands[i]->type->layout != wanted)
            operands[i] = layout_adapt(&p->adapter, builder, operands[i], wanted);
    }
    builder->at = op->at;
    if (op->opcode == OP_PHILOX)
        return part_of_random(p, place, value, operands, type);
    return op->opcode == OP_LOAD ? part_of_load(p, builder, op, axis, type, operands)
                                 : copy_with(p, builder, op, operands, type);
}

static struct ir_value *part(struct tile_part *p, struct place *place, struct ir_value *value, int axis,
                             const struct layout *layout)
{
    if (value->id < p->map_count && p->map[value->id])
        return p->map[value->id];
    place = place_of(place, value);
    struct ir_value *made;
    if (is_computed(p, value, axis)) {
        made = compute(p, place, value, axis, layout);
    } else {
        made = cut(p, &place->builder, scalar(p, place, value), axis, layout);
    }
    remember(p, place, p->map, value, made);
    return made;
}

/* ---- what only the value needs ---- */

static void gather(struct tile_part *p, const struct ir_value *value)
{
    const struct ir_operation *op = value->definition;
    if (!op || p->own[value->id] || ir_has_effect(op) || ir_has_trait(op, IR_TRAIT_LOOP | IR_TRAIT_SHARED_READ))
        return;
    p->own[value->id] = true;
    for (int i = 0; i < op->operand_count; i++)
        gather(p, op->operands[i]);
    for (int r = 0; r < op->region_count && op->opcode == OP_IF; r++)
        gather(p, ir_terminator(op->regions[r])->operands[value->index]);
}

static bool is_own_user(const struct tile_part *p, const struct ir_operation *user, const struct ir_use *use)
{
    if (user->opcode == OP_YIELD && user->block->parent && user->block->parent->opcode == OP_IF)
        return p->own[user->block->parent->results[use->index]->id];
    for (int i = 0; i < user->result_count; i++)
        if (p->own[user->results[i]->id])
            return true;
    return false;
}

struct checking {
    struct tile_part *panel;
    const struct ir_value *value;
    bool changed;
};

static void check_uses(struct ir_operation *op, void *data)
{
    struct checking *c = data;
    for (int i = 0; i < op->result_count; i++) {
        const struct ir_value *value = op->results[i];
        if (value->id >= c->panel->map_count || !c->panel->own[value->id] || value == c->value)
            continue;
        for (const struct ir_use *use = value->uses; use; use = use->next)
            if (use->user->opcode != OP_STORE && !is_own_user(c->panel, use->user, use)) {
                c->panel->own[value->id] = false;
                c->changed = true;
                break;
            }
    }
}

/* Each part of the store overwrites what the same part of the load has read, and nothing else does before it:
 *     %old = load %c[%i +: 128, %j +: 256]   …   store %c[%i +: 128, %j +: 256], %v */
static bool is_read_where_stored(const struct tile_part *p, const struct ir_operation *load)
{
    struct ir_access from, to;
    if (!p->store || load->block != p->store->block || !ir_access_of(load, &from) || !ir_access_of(p->store, &to) ||
        from.view != to.view || from.rank != to.rank)
        return false;
    for (int d = 0; d < from.rank; d++)
        if (from.index[d] != to.index[d] || from.place[d] != to.place[d])
            return false;
    const struct ir_operation *op = load->next;
    while (op && op != p->store && !alias_clobbers(op, load))
        op = op->next;
    return op == p->store;
}

void tile_part_open(struct tile_part *p, struct ir_function *function, const struct ir_value *value,
                    struct ir_value *const *copies, int count)
{
    struct checking checking = {.panel = p, .value = value, .changed = true};
    p->map_count = function->next_value_id;
    p->map = ARENA_ARRAY(p->adapter.arena, struct ir_value *, p->map_count);
    p->whole = ARENA_ARRAY(p->adapter.arena, struct ir_value *, p->map_count);
    p->own = ARENA_ARRAY(p->adapter.arena, bool, p->map_count);
    p->overwritten = ARENA_ARRAY(p->adapter.arena, bool, p->map_count);
    for (const struct ir_operation *op = p->store ? p->store->block->first : NULL; op && op != p->store; op = op->next)
        if (op->opcode == OP_LOAD)
            p->overwritten[op->results[0]->id] = is_read_where_stored(p, op);
    gather(p, value);
    while (checking.changed) {
        checking.changed = false;
        ir_walk(function->body, check_uses, &checking);
    }
    for (int id = 0; id < count && copies; id++)
        if (p->own[id] && copies[id])
            p->own[copies[id]->id] = true;
}

struct ir_value *tile_part_of(struct tile_part *p, struct ir_builder *builder, struct ir_value *value)
{
    struct place place = {.builder = *builder, .original = builder->block};
    forget(p, -1);
    return part(p, &place, value, p->axis, p->layout);
}

bool tile_part_computes(const struct tile_part *p, const struct ir_value *value)
{
    return is_computed(p, value, p->axis);
}
