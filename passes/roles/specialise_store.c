/* Stores of whole tiles in a function with roles.  Parts of a tile go to shared memory, one after the other through a
 * small ring, and from there to memory by TMA.  Meanwhile the next part is written, and the next program's factors
 * arrive.
 *
 *     store %c[%i, %j], %v : bf16[128, 256]
 * becomes, for each 64 columns p of it, with slot p % 2 of the ring,
 *     tma_wait pending(1)          the store before last has read its slot
 *     barrier
 *     %p = part [0, 64*p +: 64] of %v, computed here (tile_part.h)
 *     buffer_store %p, %slot
 *     fence_async
 *     barrier
 *     tma_store %c[%i, %j + 64*p], %slot
 *     tma_commit
 *
 * The number of slots divides the number of parts, so that the turns go on from one program to the next.  Groups of
 * stores end in order, so that rings of several shapes may take turns as well.
 *
 * Parts are wider where the columns of a tile lie in different warps, as in a transposed accumulator: then a part has
 * as many columns as give every warp its share, in several boxes.  Rings for further shapes have a single slot where
 * that leaves room for another stage of loads.
 *
 * An atomic that adds f32, and whose old values nobody uses, becomes the same with a tma_store that adds: threads go on while
 * the copy engine adds whole rows.  Additions to one place may come in any order, so that iterations may share it.
 *
 * Right only where nothing else in the kernel touches the view, because nothing orders TMA against ordinary accesses;
 * the pass asks that. */
#include "base/plant.h"
#include "ir/facts/alias.h"
#include "ir/facts/scratch.h"
#include "ir/facts/shared_form.h"
#include "passes/layout/tile_part.h"
#include "passes/base/planning.h"
#include "passes/base/rewrite.h"
#include "passes/roles/specialise.h"
#include "passes/loops/buffer_copy.h"

enum { PANEL_BYTES = 128, LEAST_PANEL_BYTES = 32, MOST_PANEL_BYTES = 65536 };

struct ir_value *outline_unconverted(struct ir_value *value)
{
    while (value->definition && value->definition->opcode == OP_CONVERT_LAYOUT)
        value = value->definition->operands[0];
    return value;
}

static int bytes_of(const struct ir_type *type) { return ir_element_info[type->element].bits / 8; }

struct touching {
    const struct ir_operation *store;
    const struct ir_value *view;
    bool found;
};

static void find_touch(struct ir_operation *op, void *data)
{
    struct touching *t = data;
    bool memory = ir_has_trait(op, IR_TRAIT_READ | IR_TRAIT_WRITE | IR_TRAIT_ATOMIC) && op->opcode != OP_ASSUME;
    if (op != t->store && memory && alias_may(alias_memory(op), t->view))
        t->found = true;
}

/* The view's dimension that the tile's last dimension runs along. */
static int last_dimension(const struct ir_access *access)
{
    int d = access->rank - 1;
    while (d >= 0 && access->place[d] <= 0)
        d--;
    return d;
}

/* The layout of so many columns of the tile, or NULL: not every warp has a part of them. */
static const struct layout *part_layout(struct layout_table *table, const struct ir_type *tile, int columns)
{
    int count = (int)tile->extent[1] / columns;
    return count == 1 ? tile->layout : layout_shrink(table, tile->layout, 1, count);
}

/* How far an index goes from one iteration of the loop to the next, at least; 0: that is not known, or nowhere. */
static int64_t distance(const struct ir_value *index, const struct ir_operation *loop)
{
    const struct ir_operation *op = index->definition;
    int64_t number;
    if (loop->opcode != OP_FOR || !ir_is_inside(index, loop))
        return 0;
    if (index == loop->regions[0]->arguments.data[0]) {
        bool grows = ir_number(loop, IR_ATTRIBUTE_MULTIPLY, 0) != 0;
        bool known = !grows && ir_constant_integer(loop->operands[2], &number) && number > INT64_MIN;
        return known ? int64_max(number, -number) : 0;
    }
    if (!op || ir_element_info[index->type->element].bits < 64) /* what wraps comes back to where it was */
        return 0;
    if (op->opcode == OP_MUL && ir_constant_integer(op->operands[1], &number) && number > 0 && number < 1 << 20)
        return int64_min(distance(op->operands[0], loop), 1 << 20) * number;
    if (op->opcode == OP_ADD || op->opcode == OP_SUB)
        for (int i = 0; i < 2; i++)
            if (!ir_is_inside(op->operands[1 - i], loop))
                return distance(op->operands[i], loop);
    return 0;
}

/* Nothing orders two stores by TMA: what waits between them waits for shared memory.  So each iteration of each loop
 * around has to store elsewhere, along a dimension of its own. */
static bool stores_elsewhere(const struct ir_operation *store, const struct ir_access *access)
{
    uint32_t used = 0;
    for (const struct ir_operation *loop = store->block->parent; loop; loop = loop->block->parent) {
        int found = -1;
        if (!ir_has_trait(loop, IR_TRAIT_LOOP))
            continue;
        if (ir_is_inside(access->view, loop))
            return false; /* another part each time, so that equal indexes may be other places, and others equal ones */
        for (int d = 0; d < access->rank && found < 0; d++)
            if (!(used >> d & 1) && distance(access->index[d], loop) >= int64_max(access->place[d], 1))
                found = d;
        if (found < 0)
            return PLANTED(turns_store_by_tma);
        used |= UINT32_C(1) << found;
    }
    return true;
}

/* Whether an atomic can be TMA's addition: nobody looks at what was there, and nothing but each element by itself is
 * ordered. */
static bool is_addition(const struct ir_operation *op)
{
    return op->opcode == OP_ATOMIC && !op->results[0]->uses && op->results[0]->type->element == IR_F32 &&
           ir_number(op, IR_ATTRIBUTE_ACTION, IR_ACTION_ADD) == IR_ACTION_ADD &&
           ir_number(op, IR_ATTRIBUTE_ORDER, IR_ORDER_RELAXED) == IR_ORDER_RELAXED &&
           ir_number(op, IR_ATTRIBUTE_SCOPE, IR_SCOPE_GPU) != IR_SCOPE_SYSTEM;
}

static bool plan_panels(const struct outline *o, const struct ir_operation *store, struct staged_store *panels,
                        const char **reason)
{
    struct ir_access access;
    struct ir_context *types = o->function->module->context;
    struct layout_table *table = ir_context_layouts(types);
    struct tensor_map map;
    *reason = "it is no slice with two dimensions";
    if (!ir_access_of(store, &access) || !access.value || access.value->type->rank != 2)
        return false;
    if (access.mask) {
        *reason = "it is masked";
        return false;
    }
    const struct ir_type *tile = outline_unconverted(access.value)->type;
    int last = last_dimension(&access), bytes = bytes_of(tile), columns = (int)tile->extent[1];
    *reason = tensor_map_view_problem(access.view);
    if (!*reason && access.view->type->stride[last] != 1)
        *reason = "its view's last dimension is not known to be contiguous";
    if (*reason)
        return false;
    for (int d = 0; d < access.rank; d++)
        if (access.place[d] == IR_GATHER) {
            *reason = "it scatters";
            return false;
        }
    panels->width = columns < PANEL_BYTES / bytes ? columns : PANEL_BYTES / bytes;
    while (columns % panels->width && panels->width * bytes > LEAST_PANEL_BYTES)
        panels->width /= 2;
    *reason = "its extents do not divide into panels";
    if (columns % panels->width || !tile->layout)
        return false;
    const struct layout *part = part_layout(table, tile, panels->width);
    while (!part && (panels->width *= 2) * tile->extent[0] * bytes <= MOST_PANEL_BYTES && panels->width <= columns)
        part = columns % panels->width ? NULL : part_layout(table, tile, panels->width);
    if (!part)
        return false;
    panels->count = columns / panels->width;
    int extent[2] = {(int)tile->extent[0], panels->width};
    int64_t wide[2] = {extent[0], extent[1]};
    const struct layout *shared = shared_form_layout(table, 2, extent, bytes, 1);
    if (!shared)
        return false;
    int slots = panels->count % 2 ? 1 : 2;
    panels->buffer = ir_type_buffer(types, tile->element, 2, wide, shared, slots);
    panels->part = ir_type_with_layout(types, ir_type_with_shape(types, tile, 2, wide), part);
    int64_t place[IR_MAX_RANK];
    for (int d = 0; d < access.rank; d++)
        place[d] = d == last ? panels->width : access.place[d];
    if (tensor_map_for(access.view, access.rank, place, panels->buffer, &map, reason))
        *reason = buffer_start_problem(&access, &map);
    if (!*reason && map.asked && is_addition(store))
        *reason = "its view is not known to be aligned to 16 bytes";
    if (*reason)
        return false;
    if (!is_addition(store) && !stores_elsewhere(store, &access)) {
        *reason = "iterations of a loop may store to the same place";
        return false;
    }
    if (alias_precedes_release(store)) {
        *reason = "the kernel tells others that it has written, by an atomic or a call";
        return false;
    }
    struct touching touching = {store, access.view, false};
    ir_walk(o->function->body, find_touch, &touching);
    *reason = "something else in the kernel may touch the same memory";
    return !touching.found;
}

/* A ring that has the shape already. */
static struct ir_value *find_staging(const struct outline *o, struct staged_store *panels)
{
    for (int i = 0; i < o->staged.count; i++) {
        const struct ir_type *old = o->staged.data[i].buffer;
        if (old->layout == panels->buffer->layout && old->element == panels->buffer->element &&
            (panels->count % old->slots == 0 || PLANTED(staged_slots_any_panels))) {
            panels->buffer = old;
            return o->staged.data[i].ring;
        }
    }
    return NULL;
}

/* Of two consumers one stores while the other multiplies, so that it has time to wait for a slot; of one the first ring, which
 * most stores go through, keeps both, unless loads would have a single slot then, and wait for products in each turn. */
static bool keeps_both(const struct outline *o, const struct ir_value *ring)
{
    return o->consumers == 1 && !o->scarce && ring == o->staged.data[0].ring;
}

static bool may_save(const struct outline *o, int index)
{
    const struct ir_value *ring = o->staged.data[index].ring;
    return ring->type->slots > 1 && !keeps_both(o, ring);
}

int64_t outline_spare_staging(const struct outline *o)
{
    int64_t bytes = 0;
    for (int i = 0; i < o->staged.count; i++) {
        const struct ir_value *ring = o->staged.data[i].ring;
        bool first = may_save(o, i);
        for (int k = 0; k < i; k++)
            first &= o->staged.data[k].ring != ring;
        bytes += first ? o->consumers * scratch_ring_bytes(ring->type) * (ring->type->slots - 1) : 0;
    }
    return bytes;
}

void outline_save_staging(struct outline *o)
{
    for (int i = 0; i < o->staged.count; i++) {
        struct staged_store *staged = &o->staged.data[i];
        if (keeps_both(o, staged->ring))
            continue;
        struct ir_type single = *staged->buffer;
        single.slots = 1;
        staged->ring->type = staged->buffer = ir_type_intern(o->function->module->context, &single);
        if (staged->other)
            staged->other->type = staged->buffer;
    }
}

static void consider(struct ir_operation *op, void *data)
{
    struct outline *o = data;
    struct staged_store panels = {.store = op};
    const char *reason;
    if (op->opcode != OP_STORE && !is_addition(op))
        return;
    bool possible = plan_panels(o, op, &panels, &reason);
    if (!possible) {
        struct ir_access access;
        if (ir_access_of(op, &access) && access.value && access.value->type->rank >= 2)
            pass_remark(o->context, op->at, "this store does not go through shared memory: %s", reason);
        return;
    }
    panels.ring = find_staging(o, &panels);
    if (!panels.ring) {
        struct ir_builder front = {.module = o->function->module,
                                   .block = o->function->body,
                                   .before = o->function->body->first,
                                   .at = op->at};
        panels.ring = ir_build_value(&front, OP_BUFFER, panels.buffer, 0, NULL);
    }
    vector_push(o->context->arena, &o->staged, panels);
    pass_remark(o->context, op->at, "this store goes through shared memory in %d panel%s", panels.count,
                panels.count == 1 ? "" : "s");
}

void outline_plan_stores(struct outline *o) { ir_walk(o->function->body, consider, o); }

bool outline_is_staging(const struct outline *o, const struct ir_value *buffer)
{
    for (int i = 0; i < o->staged.count; i++)
        if (o->staged.data[i].ring == buffer || o->staged.data[i].other == buffer)
            return true;
    return false;
}

const struct staged_store *outline_staged(const struct outline *o, const struct ir_operation *store)
{
    for (int i = 0; i < o->staged.count; i++)
        if (o->staged.data[i].store == store)
            return &o->staged.data[i];
    return NULL;
}

/* ---- warpgroups by themselves ---- */

/* Whether warpgroup g of so many holds rows 64 * u to 64 * u + 63 of the tile where u % groups is g, and no others. */
static bool has_rows_of_groups(const struct layout *layout, int groups)
{
    int lanes = 1 << layout->bits[LAYOUT_LANE], at[LAYOUT_RANK];
    for (int warp = 0; warp < groups * IR_WARPGROUP; warp++)
        for (int place = 0; place < lanes * layout_registers(layout); place++) {
            struct layout_position position = {
                .part = {[LAYOUT_WARP] = warp, [LAYOUT_LANE] = place % lanes, [LAYOUT_REGISTER] = place / lanes}};
            layout_coordinates(layout, &position, at);
            if (at[0] / IR_GROUP_ROWS % groups != warp / IR_WARPGROUP)
                return false;
        }
    return true;
}

/* Why warpgroups do not store by themselves; NULL: they do. */
static const char *why_together(const struct outline *o, int groups)
{
    if (groups > IR_BARRIER_OF_TURNS - IR_BARRIER_OF_GROUPS || o->function->warps % IR_WARPGROUP)
        return "warps do not make two to four groups";
    for (int i = 0; i < o->staged.count; i++) {
        const struct staged_store *staged = &o->staged.data[i];
        if (ir_is_in_loop(staged->store))
            return "a loop stores";
        if (!tensor_map_apart_rows(staged->buffer, groups) ||
            layout_warps(staged->part->layout) != o->function->warps ||
            !(has_rows_of_groups(staged->part->layout, groups) || PLANTED(apart_whatever_the_rows)))
            return "a warpgroup has no rows of its own";
    }
    return NULL;
}

void outline_plan_apart(struct outline *o)
{
    int groups = o->function->warps / IR_WARPGROUP;
    if (!o->staged.count || groups < 2)
        return;
    const char *why = planning_asked_apart(o->function) == 0 ? "the plan asks for it" : why_together(o, groups);
    planning_tell_apart(o->function, why);
    o->groups = why ? 0 : groups;
}

struct ir_operation *outline_build_of_groups(const struct outline *o, struct ir_builder *builder, enum ir_opcode opcode)
{
    struct ir_operation *op = ir_build(builder, opcode, 0, NULL, 0, NULL);
    if (o->groups)
        ir_set_number(op, IR_ATTRIBUTE_APART, o->groups);
    return op;
}

static void build_wait(const struct outline *o, struct ir_builder *builder, int64_t pending)
{
    ir_set_number(outline_build_of_groups(o, builder, OP_TMA_WAIT), IR_ATTRIBUTE_PENDING, pending);
}

/* A store that goes out panel by panel. */
struct emission {
    struct outline *o;
    struct ir_builder *builder;
    const struct staged_store *panels;
    struct ir_access access;
    struct tile_part part;
    struct ir_value *value;
    struct ir_value *const *operands; /* view, indexes */
};

static struct ir_value *slot_of_panel(const struct emission *e, int p)
{
    struct ir_value *ring = e->o->consumer > 0 && !PLANTED(turn_shares_staging) ? e->panels->other : e->panels->ring;
    const struct ir_type *type = ir_type_scalar(e->o->function->module->context, IR_I32);
    int slots = e->panels->buffer->slots;
    return slots == 1 ? ring : rewrite_slot(e->builder, ring, ir_constant_int(e->builder, type, p % slots));
}

static struct ir_value *put_panel(struct emission *e, int p)
{
    struct ir_value *part = e->value;
    if (e->panels->count > 1) {
        e->part.start = (int64_t)p * e->panels->width;
        part = tile_part_of(&e->part, e->builder, e->value);
    }
    struct ir_value *slot = slot_of_panel(e, p);
    ir_build(e->builder, OP_BUFFER_STORE, 2, (struct ir_value *[]){part, slot}, 0, NULL);
    return slot;
}

static void send_panel(const struct emission *e, int p, struct ir_value *slot)
{
    int rank = e->access.rank, last = last_dimension(&e->access);
    struct ir_value **arguments = ARENA_ARRAY(e->o->context->arena, struct ir_value *, rank + 2);
    int64_t *place = ARENA_ARRAY(e->o->context->arena, int64_t, rank);
    for (int d = 0; d < rank; d++)
        place[d] = d == last ? e->panels->width : e->access.place[d];
    for (int d = 0; d <= rank; d++)
        arguments[d] = e->operands[d];
    if (p > 0) {
        struct ir_value *start = e->operands[1 + last];
        struct ir_value *moved = ir_constant_int(e->builder, start->type, (int64_t)p * e->panels->width);
        arguments[1 + last] = ir_binary(e->builder, OP_ADD, start, moved);
    }
    arguments[1 + rank] = slot;
    struct ir_operation *tma = ir_build(e->builder, OP_TMA_STORE, rank + 2, arguments, 0, NULL);
    ir_set_list(tma, IR_ATTRIBUTE_PLACE, rank, place);
    if (is_addition(e->panels->store) && !PLANTED(additions_are_stores))
        ir_set_number(tma, IR_ATTRIBUTE_ACTION, IR_ACTION_ADD);
    if (e->o->groups)
        ir_set_number(tma, IR_ATTRIBUTE_APART, e->o->groups);
    outline_build_of_groups(e->o, e->builder, OP_TMA_COMMIT);
}

/* What is added in a loop, where an iteration lies between a panel and the next in its slot, goes out together, and threads
 * meet twice for all of it. */
void outline_emit_store(struct outline *o, struct ir_builder *builder, const struct staged_store *staged,
                        struct ir_value *const *copies, struct ir_value *const *operands)
{
    struct emission e = {.o = o, .builder = builder, .panels = staged, .operands = operands};
    int slots = staged->buffer->slots;
    bool apart = is_addition(staged->store) && ir_is_in_loop(staged->store) && staged->count == slots;
    int together = apart ? slots : 1;
    struct ir_value **filled = ARENA_ARRAY(o->context->arena, struct ir_value *, slots);
    ir_access_of(staged->store, &e.access);
    e.part = (struct tile_part){.axis = 1, .length = staged->width, .layout = staged->part->layout};
    e.part.adapter = (struct layout_adapter){o->function->module, ir_context_layouts(o->function->module->context),
                                             o->context->arena, o->function->warps};
    struct ir_value *source = outline_unconverted(e.access.value);
    e.value = copies[source->id] ? copies[source->id] : source;
    tile_part_open(&e.part, o->function, source, copies, o->value_count);
    for (int p = 0; p < staged->count; p += together) {
        build_wait(o, builder, slots - together + PLANTED(store_waits_for_one_less));
        if (!o->groups || !PLANTED(apart_meets_before_the_wait))
            outline_build_of_groups(o, builder, OP_BARRIER);
        for (int k = 0; k < together && p + k < staged->count; k++)
            filled[k] = put_panel(&e, p + k);
        if (!PLANTED(store_without_fence))
            ir_build(builder, OP_FENCE_ASYNC, 0, NULL, 0, NULL);
        outline_build_of_groups(o, builder, OP_BARRIER);
        for (int k = 0; k < together && p + k < staged->count; k++)
            send_panel(&e, p + k, filled[k]);
    }
}
