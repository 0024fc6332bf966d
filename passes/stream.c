/* stream: wide tiles are written piece by piece, each computed just before it is written.
 *
 *     %e = math function(exp) %d : f32[65536]                    64 elements a thread
 *     %t = reduce axis(0) kind(add) %e : f32
 *     %q = div %e, splat %t : f32[65536]
 *     store %y[%row, 0 +: 65536], cast %q
 * becomes
 *     %t = reduce axis(0) kind(add) %e : f32
 *     store %y[%row, 0 +: 16384], cast (div (math function(exp) …(load %x[%row, 0 +: 16384])), splat %t)
 *     store %y[%row, 16384 +: 16384], cast (div (math function(exp) …(load %x[%row, 16384 +: 16384])), splat %t)
 *     …
 * A thread then holds no wide value across a reduction: it reads the row again, which lies in the second-level cache
 * by then.  A second reduction reads it again, too.  Rows half as wide keep what they have, but read what only the
 * store needs (weights, biases) piece by piece.  Without it such rows spill.
 *
 * Right because elementwise operations compute each element alone; pieces are parts that lie in registers of their
 * own, so extract moves nothing; and a load goes down only past operations that do not write what it reads, the
 * pieces stored before its own holding other elements. */
#include "base/plant.h"
#include "ir/alias.h"
#include "passes/layout_rules.h"
#include "passes/pass.h"
#include "passes/rewrite.h"

enum { WIDE = 32, PIECE = 16, PIECES = 4, DEPTH = 24 }; /* elements a thread; operations on a path */

struct stream {
    struct layout_adapter adapter;
    struct pass_context *context;
    struct ir_operation *at;             /* the store, or the reduce */
    const struct layout *layout, *piece; /* of the stored tile, of one piece */
    int dimension, pieces;
    int64_t length;                      /* of a piece along the dimension */
    bool again;                          /* compute again what has other users */
    bool reload;                         /* and read again */
    VECTOR(struct ir_value *) kept;      /* values that pieces are extracted from */
    VECTOR(struct ir_value *) made;      /* of the piece at hand: original and piece, in turn */
    int sunk_loads;
    bool waits;                          /* a sunk load stood before a reduction */
    bool dear;                           /* what is computed has a function like exp in it */
    bool changed;
};

/* ---- loads that may go down to the store ---- */

static int view_dimension(const struct stream *s, const struct ir_access *access)
{
    int tile = 0;
    for (int d = 0; d < access->rank; d++) {
        if (access->place[d] == IR_GATHER)
            return -1;
        if (access->place[d] > 0 && tile++ == s->dimension)
            return d;
    }
    return -1;
}

/* Piece by piece the store overwrites what the load reads only where it has been read. */
static bool same_elements(const struct ir_access *a, const struct ir_access *b)
{
    bool arguments = !a->view->definition && !b->view->definition && !a->view->block->parent && !b->view->block->parent;
    if (a->rank != b->rank || (a->view != b->view && !arguments))
        return false;
    for (int d = 0; d < a->rank; d++)
        if (a->place[d] != b->place[d] || a->index[d] != b->index[d])
            return false;
    return true;
}

static bool can_sink(const struct stream *s, const struct ir_operation *op)
{
    struct ir_access load, store;
    if (!ir_access_of(op, &load) || view_dimension(s, &load) < 0)
        return false;
    if (op->opcode == OP_INSIDE)
        return true;
    if (op->opcode != OP_LOAD || op->block != s->at->block)
        return false;
    for (const struct ir_operation *between = op->next; between && between != s->at; between = between->next)
        if (alias_clobbers(between, op) && !PLANTED(stream_reads_after_store))
            return false;
    if (s->at->opcode == OP_REDUCE)
        return true;
    return ir_access_of(s->at, &store) && (!alias_may(store.view, load.view) || same_elements(&store, &load));
}

/* ---- what a piece is made from ---- */

static bool is_used_once(const struct ir_value *value) { return value->uses && !value->uses->next; }

static bool is_source(const struct ir_operation *op)
{
    return op && (op->opcode == OP_CONSTANT || op->opcode == OP_SPLAT || op->opcode == OP_IOTA);
}

/* Whether a value's piece is computed (else it is extracted).  alone: nobody but the store needs what needs it. */
static bool is_computed(const struct stream *s, const struct ir_value *value, int depth, bool alone)
{
    const struct ir_operation *op = value->definition;
    if (!op || op->result_count != 1 || op->region_count || depth > DEPTH)
        return false;
    if (is_source(op))
        return true;
    if (op->opcode == OP_LOAD)
        return ((alone && is_used_once(value)) || (s->again && s->reload)) && can_sink(s, op);
    if (op->opcode == OP_INSIDE)
        return can_sink(s, op);
    return rewrite_has_trait(op, IR_TRAIT_ELEMENTWISE) && op->opcode != OP_POINTER_ADD &&
           ((alone && is_used_once(value)) || s->again || layout_rule_cheap(value));
}

static void look(struct stream *s, struct ir_value *value, int depth, bool alone)
{
    if (!layout_rule_has(value))
        return;
    if (!is_computed(s, value, depth, alone)) {
        for (int i = 0; i < s->kept.count; i++)
            if (s->kept.data[i] == value)
                return;
        vector_push(s->context->arena, &s->kept, value);
        return;
    }
    s->dear |= value->definition->opcode == OP_MATH;
    if (value->definition->opcode == OP_LOAD) {
        s->sunk_loads++;
        for (const struct ir_operation *op = value->definition->next; op && op != s->at; op = op->next)
            s->waits |= op->opcode == OP_REDUCE;
    }
    for (int i = 0; i < value->definition->operand_count; i++)
        look(s, value->definition->operands[i], depth + 1, alone && is_used_once(value));
}

/* Bytes a thread keeps for the operation's sake. */
static int64_t kept_bytes(struct stream *s, struct ir_value *value, struct ir_value *mask, bool again)
{
    int64_t bytes = 0;
    s->again = again;
    s->kept.count = s->sunk_loads = 0;
    s->waits = s->dear = false;
    look(s, value, 1, true);
    if (mask)
        look(s, mask, 1, true);
    for (int i = 0; i < s->kept.count; i++) {
        const struct ir_value *kept = s->kept.data[i];
        bool free = kept->definition && kept->definition->opcode == OP_BROADCAST; /* its registers are shared */
        int64_t size = ir_element_info[kept->type->element].bits / 8;
        bytes += free ? 0 : layout_registers(kept->type->layout) * size;
    }
    return bytes;
}

/* ---- making a piece ---- */

static const struct ir_type *piece_type(const struct stream *s, const struct ir_type *type)
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

static void copy_attributes(const struct stream *s, struct ir_operation *to, const struct ir_operation *from)
{
    struct ir_attribute **link = &to->attributes;
    for (const struct ir_attribute *attribute = from->attributes; attribute; attribute = attribute->next) {
        *link = arena_copy(s->adapter.module->arena, attribute, sizeof *attribute);
        link = &(*link)->next;
    }
    *link = NULL;
}

static struct ir_value *make_piece(struct stream *s, struct ir_builder *builder, struct ir_value *value, int number,
                                   int depth,
                                   bool alone);

/* A memory operation on one piece of its place. */
static struct ir_operation *piece_of_access(struct stream *s, struct ir_builder *builder, struct ir_operation *op,
                                            int number,
                                            int depth, bool alone)
{
    struct ir_access access;
    ir_access_of(op, &access);
    int dimension = view_dimension(s, &access);
    struct ir_value **operands = ARENA_ARRAY(s->context->arena, struct ir_value *, op->operand_count);
    int64_t place[IR_MAX_RANK];
    for (int i = 0; i < op->operand_count; i++)
        operands[i] = layout_rule_has(op->operands[i]) ? make_piece(s, builder, op->operands[i], number, depth + 1,
                                                                    alone)
                                                       : op->operands[i];
    operands[1 + dimension] = moved_index(builder, operands[1 + dimension], number * s->length);
    const struct ir_type *type = op->result_count ? piece_type(s, op->results[0]->type) : NULL;
    struct ir_operation *piece = ir_build(builder, op->opcode, op->operand_count, operands, op->result_count, &type);
    copy_attributes(s, piece, op);
    for (int d = 0; d < access.rank; d++)
        place[d] = d == dimension ? s->length : access.place[d];
    ir_set_list(piece, IR_ATTRIBUTE_PLACE, access.rank, place);
    return piece;
}

static struct ir_value *compute_piece(struct stream *s, struct ir_builder *builder, struct ir_value *value,
                                      int number, int depth,
                                      bool alone)
{
    struct ir_operation *op = value->definition;
    const struct ir_type *type = piece_type(s, value->type);
    if (op->opcode == OP_LOAD || op->opcode == OP_INSIDE)
        return piece_of_access(s, builder, op, number, depth, alone)->results[0];
    if (op->opcode == OP_IOTA) {
        int64_t first = PLANTED(stream_counts_from_zero) ? 0 : number * s->length;
        struct ir_value *start = ir_constant_int(builder, type, first);
        return ir_binary(builder, OP_ADD, ir_build_value(builder, OP_IOTA, type, 0, NULL), start);
    }
    struct ir_value **operands = ARENA_ARRAY(s->context->arena, struct ir_value *, op->operand_count + 1);
    for (int i = 0; i < op->operand_count; i++)
        operands[i] = layout_rule_has(op->operands[i]) ? make_piece(s, builder, op->operands[i], number, depth + 1,
                                                                    alone)
                                                       : op->operands[i];
    struct ir_operation *piece = ir_build(builder, op->opcode, op->operand_count, operands, 1, &type);
    copy_attributes(s, piece, op);
    return piece->results[0];
}

static struct ir_value *make_piece(struct stream *s, struct ir_builder *builder, struct ir_value *value, int number,
                                   int depth,
                                   bool alone)
{
    for (int i = 0; i < s->made.count; i += 2)
        if (s->made.data[i] == value)
            return s->made.data[i + 1];
    struct ir_value *piece;
    if (is_computed(s, value, depth, alone)) {
        piece = compute_piece(s, builder, value, number, depth, alone && is_used_once(value));
    } else {
        int64_t start[IR_MAX_RANK] = { 0 };
        start[s->dimension] = number * s->length;
        piece = ir_build_value(builder, OP_EXTRACT, piece_type(s, value->type), 1, &value);
        ir_set_list(piece->definition, IR_ATTRIBUTE_START, value->type->rank, start);
    }
    vector_push(s->context->arena, &s->made, value);
    vector_push(s->context->arena, &s->made, piece);
    return piece;
}

/* The dimension whose parts lie in registers, and its parts. */
static bool choose_pieces(struct stream *s, const struct ir_type *type)
{
    int registers = layout_registers(s->layout), size = registers / PIECES > PIECE ? registers / PIECES : PIECE;
    for (int factor = registers / size; factor >= 2; factor /= 2)
        for (s->dimension = 0; s->dimension < type->rank; s->dimension++) {
            s->piece = layout_shrink(s->adapter.table, s->layout, s->dimension, factor);
            s->pieces = factor;
            s->length = type->extent[s->dimension] / factor;
            if (s->piece)
                return true;
        }
    return false;
}

/* Whether these bytes take more than half of a thread's share of the registers. */
static bool too_much(const struct stream *s, int64_t bytes)
{
    int64_t share = 65536 / (32 * (int64_t)s->adapter.warps);
    return 2 * bytes > 4 * int64_min(share, 255);
}

static void stream_store(struct stream *s, struct ir_operation *op)
{
    struct ir_access access;
    if (!ir_access_of(op, &access) || !layout_rule_has(access.value))
        return;
    s->at = op;
    s->layout = access.value->type->layout;
    int registers = layout_registers(s->layout);
    if (registers < WIDE || !choose_pieces(s, access.value->type) || view_dimension(s, &access) < 0)
        return;
    s->reload = false;
    int64_t kept = kept_bytes(s, access.value, access.mask, false);
    bool sinks = s->sunk_loads > 0;
    s->reload = too_much(s, kept);
    int64_t kept_again = kept_bytes(s, access.value, access.mask, true);
    s->again = kept_again < kept && (s->reload || !sinks);
    if (!s->again)
        kept_bytes(s, access.value, access.mask, false);
    if (!s->again && (s->sunk_loads == 0 || (s->kept.count == 0 && !s->waits)))
        return; /* nothing to gain; loads that nothing waits for are better all in flight at once */
    if (!pass_fuel(s->context))
        return;
    struct ir_builder builder = rewrite_before(op);
    for (int number = 0; number < s->pieces; number++) {
        s->made.count = 0;
        piece_of_access(s, &builder, op, number, 0, true);
    }
    pass_remark(s->context, op->at, "written in %d pieces%s", s->pieces, s->again ? ", computed again for each" : "");
    ir_remove(op);
    s->changed = true;
}

/* A reduction behind another one reads its row again, whole: all its loads are in flight at once, and nothing is held
 * across the reduction before. */
static void stream_reduce(struct stream *s, struct ir_operation *op)
{
    struct ir_value *value = op->operands[0];
    s->at = op;
    s->layout = s->piece = value->type->layout;
    s->dimension = 0;
    s->pieces = 1;
    s->length = value->type->extent[0];
    if (layout_registers(s->layout) < WIDE)
        return;
    s->reload = false;
    int64_t kept = kept_bytes(s, value, NULL, false);
    s->reload = too_much(s, kept);
    int64_t kept_again = kept_bytes(s, value, NULL, true);
    if (!s->reload || kept_again >= kept || !s->waits || s->dear || !pass_fuel(s->context))
        return;
    struct ir_builder builder = rewrite_before(op);
    s->made.count = 0;
    ir_set_operand(op, 0, make_piece(s, &builder, value, 0, 1, true));
    pass_remark(s->context, op->at, "the tile is computed again for this reduction");
    s->changed = true;
}

static void visit(struct ir_operation *op, void *context)
{
    if (op->opcode == OP_STORE)
        stream_store(context, op);
    else if (op->opcode == OP_REDUCE && op->operand_count == 1 && layout_rule_has(op->operands[0]))
        stream_reduce(context, op);
}

bool pass_stream(struct ir_function *function, struct pass_context *context)
{
    struct stream s = { .context = context };
    s.adapter = (struct layout_adapter){ function->module, ir_context_layouts(function->module->context),
                                         context->arena, function->warps };
    ir_walk(function->body, visit, &s);
    return s.changed;
}
