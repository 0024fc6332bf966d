/* Pieces of tiles, for split_wide_tiles.c.  A piece is computed again from its sources, read again from memory, or
 * taken out of a tile that is kept. */
#include "base/plant.h"
#include "ir/facts/alias.h"
#include "ir/facts/scratch.h"
#include "passes/base/rewrite.h"
#include "passes/memory/split_wide_tiles.h"
#include "passes/base/budget.h"

enum { DEPTH = 24 }; /* operations on a path */

/* ---- loads that may go down to the store ---- */

bool wide_tile_is_written(const struct ir_operation *op)
{
    return op->opcode == OP_STORE || (op->opcode == OP_ATOMIC && !ir_is_used(op) && !alias_orders(op));
}

/* Of an index tile's elements a piece would need its own part, in dimensions of its own: such places stay whole. */
int wide_tile_view_dimension(const struct wide_tile *s, const struct ir_access *access)
{
    int tile = 0, found = -1;
    for (int d = 0; d < access->rank; d++) {
        if (access->place[d] == IR_GATHER)
            return -1;
        if (access->place[d] > 0 && tile++ == s->dimension)
            found = d;
    }
    return found;
}

/* Piece by piece the store overwrites what the load reads only where it has been read. */
static bool same_elements(const struct ir_access *a, const struct ir_access *b)
{
    bool arguments = !a->view->definition && !b->view->definition && !a->view->block->parent && !b->view->block->parent;
    if (a->rank != b->rank || (a->view != b->view && !arguments))
        return false;
    for (int d = 0; d < a->rank; d++)
        if (a->place[d] != b->place[d] || (a->index[d] != b->index[d] && !PLANTED(stream_sinks_past_other_rows)))
            return false;
    return true;
}

/* Up from the operation to the block, which holds it, there are branches alone. */
static bool is_in_branches(const struct ir_operation *op, const struct ir_block *block)
{
    while (op->block != block && op->block->parent->opcode == OP_IF)
        op = op->block->parent;
    return op->block == block;
}

/* Whether one run of the function comes from the load to the operation at hand without a loop.  Out of branches and
 * into them only where registers are short. */
static bool leads_here(const struct wide_tile *s, const struct ir_operation *load)
{
    const struct ir_block *common = load->block;
    while (!ir_block_holds(common, s->at->block))
        common = common->parent->block;
    return load->block == s->at->block || (s->pressed && is_in_branches(load, common) && is_in_branches(s->at, common));
}

/* Where registers are short a load of what the function does not write goes past an acquire, too: what it has read there
 * is the same behind it.  Behind a release somebody may write that. */
static bool is_in_the_way(const struct wide_tile *s, const struct ir_operation *op, const struct ir_operation *load,
                          bool is_written)
{
    return s->pressed && !is_written ? alias_tells(op) : alias_clobbers(op, load);
}

/* Whether nothing on the way from the load to the operation at hand writes what the load reads. */
static bool stays_unwritten(const struct wide_tile *s, const struct ir_operation *load)
{
    bool is_written = alias_is_written(s->function, load->operands[0]);
    const struct ir_operation *at = load;
    while (at != s->last) {
        if (!at->next) { /* the end of a branch */
            at = at->block->parent;
            continue;
        }
        at = at->next;
        while (at != s->at && ir_ancestor_in(at->block, s->at) == at) /* into a branch */
            at = at->regions[ir_block_holds(at->regions[0], s->at->block) ? 0 : 1]->first;
        if (at == s->at || (!s->last && at->block == s->at->block))
            return true;
        if (is_in_the_way(s, at, load, is_written) && !PLANTED(stream_reads_after_store))
            return false;
    }
    return true;
}

static bool can_sink(const struct wide_tile *s, const struct ir_operation *op)
{
    struct ir_access load, store;
    if (!ir_access_of(op, &load) || wide_tile_view_dimension(s, &load) < 0)
        return false;
    if (op->opcode == OP_INSIDE)
        return true;
    if (op->opcode != OP_LOAD || !leads_here(s, op) || !stays_unwritten(s, op))
        return false;
    if (s->at->opcode == OP_REDUCE)
        return true;
    return ir_access_of(s->at, &store) && (!alias_may(store.view, load.view) || same_elements(&store, &load));
}

int wide_tile_waits(const struct wide_tile *s, const struct ir_operation *load)
{
    const struct ir_operation *end = ir_ancestor_in(load->block, s->at);
    int reductions = 0;
    for (const struct ir_operation *op = load->next; op && op != end; op = op->next)
        reductions += op->opcode == OP_REDUCE;
    return reductions;
}

/* ---- tiles that stay in shared memory ---- */

static const struct wide_held *find_held(const struct wide_tile *s, const struct ir_operation *load)
{
    for (int i = 0; i < s->held.count; i++)
        if (s->held.data[i].load == load)
            return &s->held.data[i];
    return NULL;
}

bool wide_tile_is_quartered(const struct wide_tile *s, const struct ir_operation *load)
{
    const struct wide_held *held = find_held(s, load);
    return held && !held->buffer;
}

static int64_t bytes_taken(const struct wide_tile *s)
{
    int64_t bytes = budget_shared_beside(s->scratch);
    for (const struct ir_operation *op = s->function->body->first; op; op = op->next)
        if (op->opcode == OP_BUFFER)
            bytes += scratch_slot_bytes(op->results[0]->type) * op->results[0]->type->slots;
    return bytes;
}

static const struct ir_type *held_type(const struct wide_tile *s, const struct ir_type *tile)
{
    int extent[LAYOUT_RANK], order[LAYOUT_RANK];
    for (int d = 0; d < tile->rank; d++) {
        extent[d] = (int)tile->extent[d];
        order[d] = tile->rank - 1 - d;
    }
    return ir_type_buffer(s->adapter.module->context, tile->element, tile->rank, tile->extent,
                          layout_linear(s->adapter.table, tile->rank, extent, order), 1);
}

/* Behind a reduction the tile is wanted again, and shared memory has room for it.  Pieces come back to the threads that
 * hold them, or others: barriers are somebody else's care. */
bool wide_tile_can_hold(const struct wide_tile *s, const struct ir_operation *load)
{
    const struct ir_type *tile = load->results[0]->type;
    int extent[LAYOUT_RANK];
    if (find_held(s, load))
        return true;
    if (!s->context->target || load->block != s->at->block || !wide_tile_waits(s, load) || !tile->layout)
        return false;
    for (const struct ir_operation *around = load->block->parent; around; around = around->block->parent)
        if (around->opcode == OP_ROLES)
            return false;
    for (int d = 0; d < tile->rank; d++)
        extent[d] = (int)tile->extent[d];
    return layout_extend(s->adapter.table, s->piece, extent) &&
           (bytes_taken(s) + ir_type_bytes(tile)) * s->blocks <= s->context->target->shared_bytes;
}

static struct ir_value *buffer_in_front(const struct wide_tile *s, const struct ir_type *tile, struct location at)
{
    struct ir_builder front = {
        .module = s->adapter.module, .block = s->function->body, .before = s->function->body->first, .at = at};
    return ir_build_value(&front, OP_BUFFER, held_type(s, tile), 0, NULL);
}

/* The buffer of a tile, which is put there where it is loaded. */
static struct ir_value *hold(struct wide_tile *s, struct ir_operation *load)
{
    const struct wide_held *held = find_held(s, load);
    struct ir_value *tile = load->results[0];
    if (held)
        return held->buffer;
    struct ir_value *buffer = buffer_in_front(s, tile->type, load->at);
    struct ir_builder behind = {
        .module = s->adapter.module, .block = load->block, .before = load->next, .at = load->at};
    ir_build(&behind, OP_BUFFER_STORE, 2, (struct ir_value *[]){tile, buffer}, 0, NULL);
    vector_push(s->context->arena, &s->held, ((struct wide_held){.load = load, .buffer = buffer}));
    pass_remark(s->context, load->at, "the tile stays in shared memory, %lld bytes",
                (long long)ir_type_bytes(tile->type));
    return buffer;
}

/* ---- what a piece is made from ---- */

int64_t wide_tile_registers(const struct wide_tile *s)
{
    return target_thread_registers(s->context->target, s->adapter.warps * s->blocks);
}

bool wide_tile_too_much(const struct wide_tile *s, int64_t bytes) { return 2 * bytes > 4 * wide_tile_registers(s); }

static int64_t bytes_in_thread(const struct ir_value *tile)
{
    return layout_registers(tile->type->layout) * (ir_element_info[tile->type->element].bits / 8);
}

/* Loads on the way to a value that no reduction has stood behind yet, each once. */
static void find_in_flight(struct wide_tile *s, const struct ir_value *value, int depth)
{
    const struct ir_operation *op = value->definition;
    if (!layout_rule_has(value) || !op || op->result_count != 1 || depth > DEPTH)
        return;
    if (op->opcode == OP_LOAD && !wide_tile_waits(s, op) && !wide_tile_is_quartered(s, op)) {
        for (int i = 0; i < s->kept.count; i++)
            if (s->kept.data[i] == value)
                return;
        vector_push(s->context->arena, &s->kept, op->results[0]);
    }
    for (int i = 0; i < op->operand_count && ir_has_trait(op, IR_TRAIT_ELEMENTWISE); i++)
        find_in_flight(s, op->operands[i], depth + 1);
}

int64_t wide_tile_in_flight(struct wide_tile *s, const struct ir_value *value)
{
    int64_t bytes = 0;
    s->kept.count = 0;
    find_in_flight(s, value, 1);
    for (int i = 0; i < s->kept.count; i++)
        bytes += bytes_in_thread(s->kept.data[i]);
    return s->kept.count > 1 ? bytes + bytes_in_thread(value) / s->pieces : bytes;
}

/* A load of which each piece is read alone, from the view or from what is held of it.  In front of a reduction that
 * nothing waits for, all loads had better be in flight at once, if they fit together. */
static bool is_read_again(const struct wide_tile *s, const struct ir_operation *load, bool alone)
{
    bool once = alone && stream_used_once(load->results[0]);
    if (wide_tile_is_quartered(s, load))
        return true;
    if (s->at->opcode == OP_REDUCE && !wide_tile_waits(s, load))
        return s->again && can_sink(s, load) && (s->pressed || wide_tile_too_much(s, s->in_flight));
    if (find_held(s, load))
        return true;
    return (once && can_sink(s, load)) || (s->again && s->reload && (wide_tile_can_hold(s, load) || can_sink(s, load)));
}

static bool is_source(const struct ir_operation *op)
{
    return op && (op->opcode == OP_CONSTANT || op->opcode == OP_SPLAT || op->opcode == OP_IOTA);
}

/* The value that a branch gives for its result. */
static struct ir_value *given_by(const struct ir_operation *branch, int region, const struct ir_value *result)
{
    return branch->regions[region]->last->operands[result->index];
}

static bool is_made_again(const struct ir_value *scalar)
{
    const struct ir_operation *op = scalar->definition;
    return op && op->result_count == 1 && !op->region_count && ir_has_trait(op, IR_TRAIT_PURE);
}

/* A value that is there where the operation at hand stands, or one of a branch that can be made there, of a tile its
 * pieces. */
static bool is_there(const struct wide_tile *s, const struct ir_value *value, int depth, bool alone)
{
    if (ir_block_holds(value->block, s->at->block))
        return true;
    bool is_scalar = !layout_rule_has(value);
    if (is_scalar ? !is_made_again(value) : !wide_tile_is_computed(s, value, depth, alone))
        return false;
    bool once = alone && stream_used_once(value), is = true;
    for (int i = 0; i < value->definition->operand_count && is; i++)
        is = is_there(s, value->definition->operands[i], depth + 1, once);
    return is;
}

/*     %p = if %c { … yield %a } else { yield %b }      a piece is   if %c { yield piece of %a } else { … }  */
static bool is_branched(const struct wide_tile *s, const struct ir_value *value, int depth, bool alone)
{
    const struct ir_operation *branch = value->definition;
    bool once = alone && stream_used_once(value);
    if (!s->pressed || depth > DEPTH || !(once || s->again) || !is_there(s, branch->operands[0], depth + 1, once))
        return false;
    for (int r = 0; r < branch->region_count; r++)
        if (!is_there(s, given_by(branch, r, value), depth + 1, once))
            return false;
    return true;
}

/* The layout in which a piece comes to a conversion; NULL: it does not lie in registers of its own there. */
static const struct layout *piece_before(const struct wide_tile *s, const struct ir_operation *conversion)
{
    return layout_shrink(s->adapter.table, conversion->operands[0]->type->layout, s->dimension, s->pieces);
}

bool wide_tile_is_computed(const struct wide_tile *s, const struct ir_value *value, int depth, bool alone)
{
    const struct ir_operation *op = value->definition;
    if (op && op->opcode == OP_CONVERT_LAYOUT)
        return s->pressed && depth <= DEPTH && alone && stream_used_once(value) && piece_before(s, op);
    if (op && op->opcode == OP_IF)
        return is_branched(s, value, depth, alone);
    if (!op || op->result_count != 1 || op->region_count || depth > DEPTH)
        return false;
    if (is_source(op))
        return true;
    if (op->opcode == OP_LOAD)
        return is_read_again(s, op, alone);
    if (op->opcode == OP_INSIDE)
        return can_sink(s, op);
    return ir_has_trait(op, IR_TRAIT_ELEMENTWISE) && op->opcode != OP_POINTER_ADD &&
           ((alone && stream_used_once(value)) || s->again || layout_rule_cheap(value));
}

/* ---- making a piece ---- */

const struct ir_type *wide_tile_piece_type(const struct wide_tile *s, const struct ir_type *type)
{
    int64_t extent[IR_MAX_RANK];
    for (int d = 0; d < type->rank; d++)
        extent[d] = d == s->dimension ? s->length : type->extent[d];
    struct ir_context *context = s->adapter.module->context;
    return ir_type_with_layout(context, ir_type_with_shape(context, type, type->rank, extent), s->piece);
}

static struct ir_value *moved_index(struct ir_builder *builder, struct ir_value *index, int64_t by)
{
    int64_t start;
    if (by == 0)
        return index;
    if (ir_constant_integer(index, &start))
        return ir_constant_int(builder, index->type, start + by);
    return ir_binary(builder, OP_ADD, index, ir_constant_int(builder, index->type, by));
}

static void copy_attributes(const struct wide_tile *s, struct ir_operation *to, const struct ir_operation *from)
{
    struct ir_attribute **link = &to->attributes;
    for (const struct ir_attribute *attribute = from->attributes; attribute; attribute = attribute->next) {
        *link = arena_copy(s->adapter.module->arena, attribute, sizeof *attribute);
        link = &(*link)->next;
    }
    *link = NULL;
}

/* A scalar of a branch is made again. */
static struct ir_value *make_scalar(struct wide_tile *s, struct ir_builder *builder, struct ir_value *scalar)
{
    const struct ir_operation *op = scalar->definition;
    if (ir_block_holds(scalar->block, s->at->block))
        return scalar;
    struct ir_value **operands = ARENA_ARRAY(s->context->arena, struct ir_value *, op->operand_count + 1);
    for (int i = 0; i < op->operand_count; i++)
        operands[i] = make_scalar(s, builder, op->operands[i]);
    struct ir_operation *made = ir_build(builder, op->opcode, op->operand_count, operands, 1, &scalar->type);
    copy_attributes(s, made, op);
    return made->results[0];
}

/* What an operation's piece is made from: pieces of tiles, and scalars. */
static void make_operands(struct wide_tile *s, struct ir_builder *builder, const struct ir_operation *op,
                          struct ir_value **operands, int number, int depth, bool alone)
{
    for (int i = 0; i < op->operand_count; i++) {
        struct ir_value *operand = op->operands[i];
        operands[i] = layout_rule_has(operand) ? wide_tile_make_piece(s, builder, operand, number, depth + 1, alone)
                                               : make_scalar(s, builder, operand);
    }
}

struct ir_operation *wide_tile_piece_of_access(struct wide_tile *s, struct ir_builder *builder, struct ir_operation *op,
                                               int number, int depth, bool alone)
{
    struct ir_access access;
    ir_access_of(op, &access);
    int dimension = wide_tile_view_dimension(s, &access);
    struct ir_value **operands = ARENA_ARRAY(s->context->arena, struct ir_value *, op->operand_count);
    int64_t place[IR_MAX_RANK];
    make_operands(s, builder, op, operands, number, depth, alone);
    operands[1 + dimension] = moved_index(builder, operands[1 + dimension], number * s->length);
    const struct ir_type *type = op->result_count ? wide_tile_piece_type(s, op->results[0]->type) : NULL;
    struct ir_operation *piece = ir_build(builder, op->opcode, op->operand_count, operands, op->result_count, &type);
    copy_attributes(s, piece, op);
    for (int d = 0; d < access.rank; d++)
        place[d] = d == dimension ? s->length : access.place[d];
    ir_set_list(piece, IR_ATTRIBUTE_PLACE, access.rank, place);
    return piece;
}

/* Extents that are equal whenever the kernel runs. */
static bool same_extent(const struct wide_tile *s, const struct ir_value *a, const struct ir_value *b, int dimension)
{
    const struct ir_argument_fact *facts = s->function->facts.data;
    int64_t known = a->type->extent[dimension];
    if (known != IR_DYNAMIC || b->type->extent[dimension] != IR_DYNAMIC)
        return PLANTED(stream_piece_same_view_name) || known == b->type->extent[dimension];
    return a->index < s->function->facts.count && b->index < s->function->facts.count &&
           facts[a->index].extent_class[dimension] &&
           facts[a->index].extent_class[dimension] == facts[b->index].extent_class[dimension];
}

/* select (inside %x[%i +: n]), a, b   on its way to   store %y[%i +: n]   where x and y are as long: what is not a is
 * not stored. */
static bool is_masked_by_store(const struct wide_tile *s, const struct ir_operation *op)
{
    struct ir_access inside, store;
    const struct ir_operation *mask = op->opcode == OP_SELECT ? op->operands[0]->definition : NULL;
    if (!mask || mask->opcode != OP_INSIDE || s->at->opcode != OP_STORE || !ir_access_of(mask, &inside) ||
        !ir_access_of(s->at, &store) || inside.view->type->optional || !same_elements(&inside, &store))
        return false;
    for (int d = 0; d < inside.rank; d++)
        if (inside.view->definition || store.view->definition || !same_extent(s, inside.view, store.view, d))
            return false;
    return true;
}

static void set_start(const struct wide_tile *s, struct ir_operation *op, const struct ir_type *whole, int number)
{
    int64_t start[IR_MAX_RANK] = {0};
    start[s->dimension] = number * s->length;
    ir_set_list(op, IR_ATTRIBUTE_START, whole->rank, start);
}

/* Whether a piece of a loaded tile comes from shared memory. */
static bool is_from_held(const struct wide_tile *s, const struct ir_operation *load, bool alone)
{
    if (wide_tile_is_quartered(s, load))
        return true;
    return !(alone && stream_used_once(load->results[0]) && can_sink(s, load)) && wide_tile_can_hold(s, load);
}

/* A piece is a quarter or a part of one. */
static struct ir_value *quartered_piece(struct wide_tile *s, struct ir_builder *builder, const struct wide_held *held,
                                        int number)
{
    const struct ir_type *whole = held->load->results[0]->type, *type = wide_tile_piece_type(s, whole);
    int64_t start[IR_MAX_RANK] = {0}, quarter = whole->extent[s->dimension] / WIDE_QUARTERS;
    struct ir_value *from = held->quarter[number * s->length / quarter];
    if (from->type == type)
        return from;
    start[s->dimension] = number * s->length % quarter;
    struct ir_value *piece = ir_build_value(builder, from->type->kind == IR_BUFFER ? OP_BUFFER_LOAD : OP_EXTRACT, type,
                                            1, &from);
    ir_set_list(piece->definition, IR_ATTRIBUTE_START, whole->rank, start);
    return piece;
}

static struct ir_value *held_piece(struct wide_tile *s, struct ir_builder *builder, struct ir_operation *load,
                                   int number)
{
    if (wide_tile_is_quartered(s, load))
        return quartered_piece(s, builder, find_held(s, load), number);
    struct ir_value *buffer = hold(s, load), *whole = load->results[0];
    struct ir_value *piece = ir_build_value(builder, OP_BUFFER_LOAD, wide_tile_piece_type(s, whole->type), 1, &buffer);
    set_start(s, piece->definition, whole->type, number);
    return piece;
}

/*     %x = load %x[%r, 0 +: 65536]
 * becomes
 *     %x0 = load %x[%r, 0 +: 16384]          %x1 = load %x[%r, 16384 +: 16384]     buffer_store %x0, %0
 *     %x2 = load %x[%r, 32768 +: 16384]      buffer_store %x1, %1
 *     %x3 = load %x[%r, 49152 +: 16384]      buffer_store %x2, %2
 * so that two quarters are on their way at once. */
bool wide_tile_hold_quarters(struct wide_tile *s, struct ir_operation *load, int blocks)
{
    const struct ir_type *tile = load->results[0]->type;
    int64_t bytes = ir_type_bytes(tile), room = s->context->target->shared_bytes / blocks - bytes_taken(s);
    struct ir_access access;
    struct wide_held held = {.load = load};
    struct ir_value *last = NULL;
    if (bytes <= room || bytes / WIDE_QUARTERS * (WIDE_QUARTERS - 1) > room || !ir_access_of(load, &access))
        return false;
    s->at = load;
    s->layout = tile->layout;
    s->pieces = WIDE_QUARTERS;
    for (s->dimension = 0, s->piece = NULL; !s->piece && s->dimension < tile->rank;)
        if (!(s->piece = layout_shrink(s->adapter.table, s->layout, s->dimension, WIDE_QUARTERS)))
            s->dimension++;
    if (!s->piece || wide_tile_view_dimension(s, &access) < 0)
        return false;
    s->length = tile->extent[s->dimension] / WIDE_QUARTERS;
    struct ir_builder builder = rewrite_before(load);
    for (int q = 0; q < WIDE_QUARTERS; q++) {
        struct ir_value *quarter = wide_tile_piece_of_access(s, &builder, load, q, 0, true)->results[0];
        if (last) {
            held.quarter[q - 1] = buffer_in_front(s, last->type, load->at);
            ir_build(&builder, OP_BUFFER_STORE, 2, (struct ir_value *[]){last, held.quarter[q - 1]}, 0, NULL);
        }
        last = held.quarter[q] = quarter;
    }
    vector_push(s->context->arena, &s->held, held);
    s->bytes_kept += blocks == 1 ? bytes_in_thread(last) : 0;
    pass_remark(s->context, load->at,
                "three quarters of the tile stay in shared memory, %lld bytes, the last in registers",
                (long long)(bytes / WIDE_QUARTERS * (WIDE_QUARTERS - 1)));
    return true;
}

/* What is made in a branch stays there. */
static struct ir_value *branched_piece(struct wide_tile *s, struct ir_builder *builder, struct ir_value *value,
                                       int number, int depth, bool alone)
{
    struct ir_operation *op = value->definition;
    const struct ir_type *type = wide_tile_piece_type(s, value->type);
    struct ir_value *condition = make_scalar(s, builder, op->operands[0]);
    struct ir_operation *branch = ir_build(builder, OP_IF, 1, &condition, 1, &type);
    int made = s->made.count;
    for (int r = 0; r < op->region_count; r++) {
        struct ir_builder inner = {.module = builder->module, .block = branch->regions[r], .at = builder->at};
        struct ir_value *piece = wide_tile_make_piece(s, &inner, given_by(op, r, value), number, depth + 1, alone);
        ir_build(&inner, OP_YIELD, 1, &piece, 0, NULL);
        s->made.count = made;
    }
    return branch->results[0];
}

/*     %p = convert_layout %t      a piece is   convert_layout (piece of %t) , which lies as %t does */
static struct ir_value *converted_piece(struct wide_tile *s, struct ir_builder *builder, struct ir_operation *op,
                                        int number, int depth, bool alone)
{
    const struct layout *behind = s->piece;
    s->piece = piece_before(s, op);
    struct ir_value *piece = wide_tile_make_piece(s, builder, op->operands[0], number, depth + 1, alone);
    s->piece = behind;
    return ir_build_value(builder, OP_CONVERT_LAYOUT, wide_tile_piece_type(s, op->results[0]->type), 1, &piece);
}

static struct ir_value *compute_piece(struct wide_tile *s, struct ir_builder *builder, struct ir_value *value,
                                      int number, int depth, bool alone)
{
    struct ir_operation *op = value->definition;
    const struct ir_type *type = wide_tile_piece_type(s, value->type);
    if (op->opcode == OP_IF)
        return branched_piece(s, builder, value, number, depth, alone);
    if (op->opcode == OP_CONVERT_LAYOUT)
        return converted_piece(s, builder, op, number, depth, alone);
    if (op->opcode == OP_LOAD && is_from_held(s, op, alone))
        return held_piece(s, builder, op, number);
    if (op->opcode == OP_LOAD && !alone) /* others read it, too: it had better stay in the caches */
        ir_remove_attribute(op, IR_ATTRIBUTE_CACHE);
    if (op->opcode == OP_LOAD || op->opcode == OP_INSIDE)
        return wide_tile_piece_of_access(s, builder, op, number, depth, alone)->results[0];
    if (op->opcode == OP_IOTA) {
        int64_t first = PLANTED(stream_counts_from_zero) ? 0 : number * s->length;
        struct ir_value *start = ir_constant_int(builder, type, first);
        return ir_binary(builder, OP_ADD, ir_build_value(builder, OP_IOTA, type, 0, NULL), start);
    }
    bool whole = s->whole && op->opcode == OP_SELECT && op->operands[0]->definition == s->whole;
    if ((whole || is_masked_by_store(s, op)) && layout_rule_has(op->operands[1]))
        return wide_tile_make_piece(s, builder, op->operands[1], number, depth + 1, alone);
    struct ir_value **operands = ARENA_ARRAY(s->context->arena, struct ir_value *, op->operand_count + 1);
    make_operands(s, builder, op, operands, number, depth, alone);
    struct ir_operation *piece = ir_build(builder, op->opcode, op->operand_count, operands, 1, &type);
    copy_attributes(s, piece, op);
    return piece->results[0];
}

static struct ir_value *find_piece(const struct wide_tile *s, const struct wide_piece *pieces, int count,
                                   const struct ir_value *value, int number)
{
    for (int i = 0; i < count; i++)
        if (pieces[i].whole == value && pieces[i].number == number && pieces[i].piece->block == s->at->block &&
            pieces[i].piece->type == wide_tile_piece_type(s, value->type))
            return pieces[i].piece;
    return NULL;
}

/* Whether all that the load needs is there in front of the reduction that it would be read ahead of. */
static bool stands_in_front(const struct wide_tile *s, const struct ir_operation *load)
{
    for (const struct ir_operation *op = s->front; op; op = op->next)
        for (int i = 0; i < load->operand_count; i++)
            if (load->operands[i]->definition == op)
                return false;
    return true;
}

/* Loads in front of the operation at hand alone are read ahead: those that other operations read would be read before
 * what they wait for. */
void wide_tile_read_piece(struct wide_tile *s, struct ir_builder *builder, struct ir_value *value, int number,
                          int depth, bool alone)
{
    struct ir_operation *op = value->definition;
    if (!layout_rule_has(value) || find_piece(s, s->pieces_kept.data, s->pieces_kept.count, value, number) ||
        !wide_tile_is_computed(s, value, depth, alone))
        return;
    if (op->opcode != OP_LOAD) {
        for (int i = 0; i < op->operand_count; i++)
            wide_tile_read_piece(s, builder, op->operands[i], number, depth + 1, alone && stream_used_once(value));
    } else if (!is_from_held(s, op, alone) && stands_in_front(s, op) &&
               !find_piece(s, s->pieces_read.data, s->pieces_read.count, value, number)) {
        struct ir_value *piece = wide_tile_piece_of_access(s, builder, op, number, depth, alone)->results[0];
        vector_push(s->context->arena, &s->pieces_read, ((struct wide_piece){value, piece, number}));
    }
}

/* What a reduction computes dearly and others want, too, stays as long as there are registers: half of them. */
static void keep_piece(struct wide_tile *s, struct ir_value *value, struct ir_value *piece, int number, bool alone)
{
    int64_t bytes = bytes_in_thread(piece);
    bool shared = !alone || !stream_used_once(value);
    bool dear = shared && value->definition->opcode == OP_MATH && !s->pressed;
    if (s->at->opcode != OP_REDUCE || piece->block != s->at->block || !dear || !s->roomy ||
        wide_tile_too_much(s, s->bytes_kept + bytes))
        return;
    s->bytes_kept += bytes;
    vector_push(s->context->arena, &s->pieces_kept, ((struct wide_piece){value, piece, number}));
}

struct ir_value *wide_tile_make_piece(struct wide_tile *s, struct ir_builder *builder, struct ir_value *value,
                                      int number, int depth, bool alone)
{
    for (int i = 0; i < s->made.count; i++)
        if (s->made.data[i].whole == value && s->made.data[i].number == number &&
            s->made.data[i].piece->type == wide_tile_piece_type(s, value->type))
            return s->made.data[i].piece;
    struct ir_value *piece = find_piece(s, s->pieces_kept.data, s->pieces_kept.count, value, number);
    if (!piece && s->at->opcode != OP_REDUCE)
        piece = find_piece(s, s->pieces_read.data, s->pieces_read.count, value, number);
    if (piece)
        return piece;
    if (wide_tile_is_computed(s, value, depth, alone)) {
        piece = compute_piece(s, builder, value, number, depth, alone && stream_used_once(value));
        keep_piece(s, value, piece, number, alone);
    } else {
        piece = ir_build_value(builder, OP_EXTRACT, wide_tile_piece_type(s, value->type), 1, &value);
        set_start(s, piece->definition, value->type, number);
    }
    vector_push(s->context->arena, &s->made, ((struct wide_piece){value, piece, number}));
    return piece;
}
