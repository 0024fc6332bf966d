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
 * A thread then holds no wide value across a reduction.  Where the row itself fits into shared memory it is put there
 * when it is read, and the pieces come from there:
 *
 *     %x = load %x[%row, 0 +: 65536]      buffer_store %x, %held
 *     …
 *     %p = buffer_load start(16384) %held : bf16[16384]
 *
 * else it is read again: it lies in the second-level cache by then.  Reductions of such rows go piece by piece, too:
 *
 *     %t = reduce axis(0) kind(add) %e : f32      becomes the reduction of a piece: ((%e0 + %e1) + %e2) + %e3
 *
 * Rows half as wide keep what they have, but read what only the store needs (weights, biases) piece by piece.  Without
 * it such rows spill.
 *
 * Right because elementwise operations compute each element alone; pieces are parts that lie in registers of their
 * own, so extract moves nothing; a load goes down only past operations that do not write what it reads, the
 * pieces stored before its own holding other elements; nobody else writes a held tile's buffer; and the order in which
 * a reduction of the seven kinds combines is the target's unless it is fixed. */
#include "passes/layout_rules.h"
#include "passes/pass.h"
#include "passes/rewrite.h"
#include "passes/stream.h"

enum { WIDE = 32, PIECE = 16, PIECES = 4 }; /* elements a thread */

/* ---- what is kept ---- */

static void look(struct stream *s, struct ir_value *value, int depth, bool alone)
{
    if (!layout_rule_has(value))
        return;
    if (!stream_is_computed(s, value, depth, alone)) {
        for (int i = 0; i < s->kept.count; i++)
            if (s->kept.data[i] == value)
                return;
        vector_push(s->context->arena, &s->kept, value);
        return;
    }
    if (value->definition->opcode == OP_LOAD) {
        s->sunk_loads++;
        s->waits |= stream_waits(s, value->definition);
    }
    for (int i = 0; i < value->definition->operand_count; i++)
        look(s, value->definition->operands[i], depth + 1, alone && stream_used_once(value));
}

/* Bytes a thread keeps for the operation's sake. */
static int64_t kept_bytes(struct stream *s, struct ir_value *value, struct ir_value *mask, bool again)
{
    int64_t bytes = 0;
    s->again = again;
    s->kept.count = s->sunk_loads = 0;
    s->waits = false;
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

/* ---- pieces ---- */

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

static void stream_store(struct stream *s, struct ir_operation *op)
{
    struct ir_access access;
    if (!ir_access_of(op, &access) || !layout_rule_has(access.value))
        return;
    s->at = op;
    s->last = op->previous;
    s->layout = access.value->type->layout;
    int registers = layout_registers(s->layout);
    if (registers < WIDE || !choose_pieces(s, access.value->type) || stream_view_dimension(s, &access) < 0)
        return;
    s->reload = false;
    int64_t kept = kept_bytes(s, access.value, access.mask, false);
    bool sinks = s->sunk_loads > 0;
    s->reload = stream_too_much(s, kept);
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
        stream_piece_of_access(s, &builder, op, number, 0, true);
    }
    pass_remark(s->context, op->at, "written in %d pieces%s", s->pieces, s->again ? ", computed again for each" : "");
    ir_remove(op);
    s->changed = true;
}

/* ---- reductions ---- */

/* The elementwise operation of a kind of reduction. */
static enum ir_opcode combining(enum ir_reduce_kind kind)
{
    switch (kind) {
    case IR_REDUCE_ADD: return OP_ADD;
    case IR_REDUCE_MUL: return OP_MUL;
    case IR_REDUCE_MIN: return OP_MIN;
    case IR_REDUCE_MAX: return OP_MAX;
    case IR_REDUCE_AND: return OP_AND;
    case IR_REDUCE_OR: return OP_OR;
    case IR_REDUCE_XOR: return OP_XOR;
    default: die("a reduction by a region is in order");
    }
}

static struct ir_value *combine(struct ir_builder *builder, const struct ir_operation *reduce, struct ir_value *left,
                                struct ir_value *right)
{
    struct ir_value *both =
        ir_binary(builder, combining((enum ir_reduce_kind)ir_number(reduce, IR_ATTRIBUTE_KIND, 0)), left, right);
    bool picks = both->definition->opcode == OP_MIN || both->definition->opcode == OP_MAX;
    if (picks && ir_attribute(reduce, IR_ATTRIBUTE_NAN))
        ir_set_number(both->definition, IR_ATTRIBUTE_NAN, ir_number(reduce, IR_ATTRIBUTE_NAN, 0));
    return both;
}

/* Pieces along the axis are combined element by element, each made when it is added: only one piece and the sum live
 * in registers at a time. */
static bool choose_reduced(struct stream *s, const struct ir_operation *op)
{
    const struct ir_type *type = op->operands[0]->type;
    s->layout = type->layout;
    return layout_registers(s->layout) >= WIDE && !ir_reduce_is_ordered(op) && choose_pieces(s, type) &&
           s->dimension == ir_number(op, IR_ATTRIBUTE_AXIS, 0);
}

static void stream_reduce(struct stream *s, struct ir_operation *op)
{
    struct ir_value *value = op->operands[0], *sum = NULL;
    s->at = op;
    s->last = op->previous;
    if (!choose_reduced(s, op))
        return;
    s->reload = false;
    int64_t kept = kept_bytes(s, value, NULL, false);
    s->reload = stream_too_much(s, kept);
    if (!s->reload || kept_bytes(s, value, NULL, true) >= kept || !pass_fuel(s->context))
        return;
    struct ir_builder builder = rewrite_before(op);
    for (int number = 0; number < s->pieces; number++) {
        s->made.count = 0;
        struct ir_value *piece = stream_make_piece(s, &builder, value, number, 1, true);
        sum = sum ? combine(&builder, op, sum, piece) : piece;
    }
    ir_set_operand(op, 0, sum);
    pass_remark(s->context, op->at, "reduced in %d pieces, computed again for it", s->pieces);
    s->changed = true;
}

static void collect(struct ir_operation *op, void *context)
{
    struct stream *s = context;
    if (op->opcode == OP_STORE)
        vector_push(s->context->arena, &s->stores, op);
    else if (op->opcode == OP_REDUCE && op->operand_count == 1 && layout_rule_has(op->operands[0]))
        vector_push(s->context->arena, &s->reductions, op);
}

bool pass_stream(struct ir_function *function, struct pass_context *context)
{
    struct stream s = { .context = context, .function = function };
    s.adapter = (struct layout_adapter){ function->module, ir_context_layouts(function->module->context),
                                         context->arena, function->warps };
    ir_walk(function->body, collect, &s);
    /* From the end up: who else needs a value shows what would be kept, and what comes before is not rewritten yet. */
    for (int i = s.stores.count - 1; i >= 0; i--)
        stream_store(&s, s.stores.data[i]);
    for (int i = s.reductions.count - 1; i >= 0; i--)
        stream_reduce(&s, s.reductions.data[i]);
    return s.changed;
}
