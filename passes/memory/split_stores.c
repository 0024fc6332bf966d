/* split_stores: a store of a tile that needs more registers than a thread has is made in parts.
 *
 *     %w = map %acc (…) : f32[128, 256]                %acc: 128 registers, %w: 128 more, and %acc is used again
 *     %v = mul %acc, %w
 *     store %c[%i +: 128, %j +: 256], %v
 * becomes, for each 64 columns p of it,
 *     %a = extract start(0, 64*p) %acc : f32[128, 64]
 *     %w = map %a (…)   %v = mul %a, %w
 *     store %c[%i +: 128, %j + 64*p +: 64], %v
 *
 * A thread then holds the accumulator and one part of what is made of it.
 *
 * What is counted as needing registers, because all of it waits for its last element:
 *   - tiles that are there anyway;
 *   - results of functions with a body (map), unless a result can take the place of an operand that nobody needs behind
 *     the map;
 *   - what random numbers are made of;
 *   - what is loaded and then brought into another layout.
 *
 * Right because the parts are those of tile_part.h, each element is stored once, and nothing stands between the parts. */
#include "base/plant.h"
#include "ir/facts/layout_rules.h"
#include "ir/facts/registers.h"
#include "passes/base/budget.h"
#include "passes/layout/tile_part.h"
#include "passes/base/pass.h"
#include "passes/base/rewrite.h"

enum {
    WORKING_REGISTERS = 64, /* for addresses and what a body computes with */
    PART_REGISTERS = 32,
    LOADED = 2,   /* of a word that waits for others to be loaded: itself and its address */
    COUNTERS = 4, /* of a random word: what it is made of */
    MOST_PARTS = 64
};

struct splitting {
    struct pass_context *context;
    struct ir_function *function;
    struct layout_table *table;
    bool changed;
};
/* A store and how it is cut. */
struct cut {
    struct ir_operation *store;
    struct ir_access access;
    struct ir_value *source;              /* in front of conversions */
    int axis, dimension, parts;           /* of the tile, of the view */
    int words, registers;                 /* that it takes in full, and that there are */
    const struct layout *layout, *stored; /* of a part: computed, and stored */
};

static struct ir_value *unconverted(struct ir_value *value)
{
    while (value->definition && value->definition->opcode == OP_CONVERT_LAYOUT)
        value = value->definition->operands[0];
    return value;
}

static int words_of(const struct ir_type *type) { return registers_of_tile(type, REGISTERS_ELEMENTS); }

/* Registers that a thread has where the store stands. */
static int registers_of(const struct splitting *s, const struct ir_operation *store)
{
    int given = budget_role_registers(store);
    return given ? given : target_thread_registers(s->context->target, s->function->warps);
}

/* Whether `user` may run behind `op`, which uses the same value. */
static bool runs_behind(const struct ir_operation *op, const struct ir_operation *user)
{
    const struct ir_operation *own = op, *other = NULL;
    while (!(other = ir_ancestor_in(own->block, user)))
        own = own->block->parent;
    if (own == other)
        return own != op && own->opcode != OP_IF; /* of the arms of an `if` one is taken */
    while (other && other != own)
        other = other->next;
    return !other;
}

/* Whether the value has done its work when the map has. */
static bool ends_at(const struct ir_value *value, const struct ir_operation *map)
{
    for (const struct ir_operation *around = map; around && around->block != value->block;
         around = around->block->parent)
        if (around->block->parent && around->block->parent->opcode != OP_IF)
            return false; /* in a loop it is wanted again */
    for (const struct ir_use *use = value->uses; use; use = use->next)
        if (use->user != map && runs_behind(map, use->user))
            return false;
    return true;
}

/* What a map makes can take the place of one of its operands. */
static bool replaces(const struct ir_operation *map)
{
    for (int i = 0; i < map->operand_count; i++)
        if (words_of(map->operands[i]->type) >= words_of(map->results[0]->type) && ends_at(map->operands[i], map))
            return true;
    return false;
}

/* What a value and its operands take in registers: tiles that are there anyway, and what bodies make of them. */
struct weighing {
    const struct tile_part *panel;
    bool *seen;
    int there, made;
};

static void weigh(struct weighing *w, struct ir_value *value)
{
    if (!layout_rule_has(value) || value->id >= w->panel->map_count || w->seen[value->id])
        return;
    w->seen[value->id] = true;
    const struct ir_operation *op = value->definition;
    if (!tile_part_computes(w->panel, value)) {
        w->there += words_of(value->type);
        return;
    }
    bool waits = op->opcode == OP_CONVERT_LAYOUT && op->operands[0]->definition->opcode == OP_LOAD;
    if (waits)
        w->made += LOADED * words_of(value->type);
    else if (op->opcode == OP_PHILOX)
        w->made += COUNTERS * words_of(value->type);
    else if (op->opcode == OP_MAP && !replaces(op))
        w->made += words_of(value->type);
    for (int i = 0; i < op->operand_count; i++)
        weigh(w, op->operands[i]);
    int before = w->made, most = before; /* one of the arms is taken */
    for (int r = 0; r < op->region_count && op->opcode == OP_IF; r++) {
        w->made = before;
        weigh(w, ir_terminator(op->regions[r])->operands[value->index]);
        most = w->made > most ? w->made : most;
    }
    w->made = most;
}

/* The view's dimension behind the tile's, or -1. */
static int view_dimension(const struct ir_access *access, int axis)
{
    int tile = 0;
    for (int d = 0; d < access->rank; d++)
        if (access->place[d] > 0 && tile++ == axis)
            return d;
    return -1;
}

/* The fewest parts along a dimension that fit beside what is there, or the most that there are; false: none. */
static bool cut_along(struct splitting *s, struct cut *cut, int made, int room)
{
    const struct ir_type *type = cut->source->type;
    const struct layout *stored = cut->access.value->type->layout;
    bool fits = false;
    cut->parts = 0;
    cut->dimension = view_dimension(&cut->access, cut->axis);
    for (int parts = 2; !fits && parts <= MOST_PARTS && type->extent[cut->axis] % parts == 0; parts *= 2) {
        const struct layout *part = layout_shrink(s->table, type->layout, cut->axis, parts);
        const struct layout *part_stored = layout_shrink(s->table, stored, cut->axis, parts);
        if (!part || !part_stored || cut->dimension < 0)
            continue;
        cut->parts = parts;
        cut->layout = part;
        cut->stored = part_stored;
        fits = words_of(type) <= parts * PART_REGISTERS && made <= parts * room;
    }
    return fits;
}

/* False: all of it fits, or it cannot be cut. */
static bool find_cut(struct splitting *s, struct cut *cut, struct tile_part *panel)
{
    struct cut most = {.parts = 0};
    cut->registers = registers_of(s, cut->store);
    for (cut->axis = cut->source->type->rank - 1; cut->axis >= 0; cut->axis--) {
        panel->axis = cut->axis;
        struct weighing w = {.panel = panel, .seen = ARENA_ARRAY(s->context->arena, bool, panel->map_count)};
        weigh(&w, cut->source);
        int free = cut->registers - WORKING_REGISTERS, room = free - w.there;
        cut->words = w.there + w.made;
        if (!w.made || cut->words <= free)
            return false;
        if (cut_along(s, cut, w.made, room > PART_REGISTERS ? room : PART_REGISTERS))
            return true;
        if (cut->parts > most.parts)
            most = *cut;
    }
    *cut = most;
    panel->axis = most.axis;
    return most.parts > 0;
}

static void emit_parts(const struct cut *cut, struct tile_part *panel)
{
    struct ir_operation *store = cut->store;
    struct ir_builder builder = rewrite_before(store);
    int64_t place[IR_MAX_RANK];
    int value_at = 1 + cut->access.rank;
    for (int d = 0; d < cut->access.rank; d++)
        place[d] = d == cut->dimension ? panel->length : cut->access.place[d];
    for (int p = 0; p < cut->parts; p++) {
        panel->start = p * panel->length;
        struct ir_value *part = tile_part_of(panel, &builder, cut->source);
        part = layout_adapt(&panel->adapter, &builder, part, cut->stored);
        struct ir_value *index = store->operands[1 + (PLANTED(split_store_axis_of_tile) ? cut->axis : cut->dimension)];
        if (p > 0)
            index = ir_binary(&builder, OP_ADD, index, ir_constant_int(&builder, index->type, panel->start));
        struct ir_operation *copy = ir_clone(&builder, store, panel->whole);
        ir_set_operand(copy, 1 + cut->dimension, index);
        ir_set_operand(copy, value_at, part);
        ir_set_list(copy, IR_ATTRIBUTE_PLACE, cut->access.rank, place);
    }
    ir_remove(store);
}

static void visit(struct ir_operation *op, void *data)
{
    struct splitting *s = data;
    struct cut cut = {.store = op};
    if (op->opcode != OP_STORE || !ir_access_of(op, &cut.access) || cut.access.mask)
        return;
    if (!layout_rule_has(cut.access.value))
        return;
    cut.source = unconverted(cut.access.value);
    for (int d = 0; d < cut.access.rank; d++)
        if (cut.access.place[d] == IR_GATHER)
            return;
    if (!cut.source->type->layout || !cut.access.value->type->layout)
        return;
    struct tile_part panel = {.adapter = {s->function->module, s->table, s->context->arena, s->function->warps},
                              .store = op};
    tile_part_open(&panel, s->function, cut.source, NULL, 0);
    if (!find_cut(s, &cut, &panel) || !pass_fuel(s->context))
        return;
    panel.layout = cut.layout;
    panel.length = cut.source->type->extent[cut.axis] / cut.parts;
    pass_remark(s->context, op->at,
                "this store is made in %d parts: what it stores takes %d of %d registers on its way", cut.parts,
                cut.words, cut.registers);
    emit_parts(&cut, &panel);
    s->changed = true;
}

bool pass_split_stores(struct ir_function *function, struct pass_context *context)
{
    struct splitting s = {context, function, ir_context_layouts(function->module->context), false};
    ir_walk(function->body, visit, &s);
    return s.changed;
}
