/* buffer_operands: the factors of products that matrix instructions compute move to buffers in shared memory.
 *
 *     %a = load %x[%i +: 128, %k +: 64], %zero             %b likewise
 *     %c = dot instruction(wgmma) %a, %b, %acc
 * becomes
 *     %A = buffer : buffer<bf16, [128, 64], slots(1), #…>       in front of everything, %B likewise
 *     %s = copy_async %x[%i +: 128, %k +: 64], %A               where the load stood
 *     wait %s, %t
 *     %d = dot_async instruction(wgmma) %A, %B, %acc
 *     %c = dot_wait pending(0) %d
 *
 * On targets with TMA the copies are those that TMA can do, by a producer.  All threads copy by cp.async instead where
 * TMA can do none of the kernel's copies (as of parts of views whose ends are read from memory), or where a factor is
 * gathered.
 *
 * A transposed factor is a buffer_permute of the buffer that the untransposed tile was copied to.  A factor that is
 * computed, or that no copy can bring, is stored from registers; a first one that is computed stays there, in the
 * instruction's own layout, unless it is turned, and another product reads it from there as it is: threads would hold it
 * twice.  Loads with other uses are read back from the buffer.
 *
 * An accumulator that is zero is not added (a fourth operand says so).  An accumulator that a loop carries enters the
 * loop as zeros.  It could be left undefined, since the first iteration overwrites it.  But then its registers would be
 * taken from the previous program on, all through that program's stores; and behind a loop that may not run at all each
 * would need a select.
 *
 * Right as the program is still sequential: what is written to a buffer is complete before it is read (wait, barrier)
 * and read before it is written again (dot_wait; insert_barriers).  Loops side by side use one buffer in turn. */
#include "base/plant.h"
#include "ir/facts/alias.h"
#include "passes/loops/loop_model.h"
#include "passes/layout/memory_access.h"
#include "ir/facts/layout_rules.h"
#include "passes/base/budget.h"
#include "passes/base/pass.h"
#include "passes/base/planning.h"
#include "passes/layout/product_layout.h"
#include "passes/base/rewrite.h"
#include "passes/loops/buffer_copy.h"
#include "passes/loops/factor_way.h"
#include "targets/product_choice.h"

enum { NARROW_ROW = 16 /* bytes */ };

struct factor_buffer {
    struct ir_value *buffer;
    struct ir_block *block;
    int filling;                 /* by copies, which others may bring than those who store, or how it is stored */
    bool alone;                  /* filled in the block of the one product that reads it, */
    struct ir_operation *reader; /* which is this; NULL: not built yet */
};
struct stored {
    struct ir_value *value, *buffer;
    bool rounded; /* to tf32 */
};
struct copied {
    struct ir_operation *load;
    struct ir_value *buffer, *token;
};
/* Rows that come together; `user` is the first operation that uses one. */
struct row {
    struct ir_operation *load;
    const struct ir_type *type;
    struct ir_value *buffer;
};
struct rows {
    const struct ir_block *block;
    struct ir_operation *user;
    VECTOR(struct row) loads;
};
struct factor_staging {
    struct pass_context *context;
    struct ir_function *function;
    struct layout_adapter adapter;
    int64_t scratch; /* bytes that one of its operations needs, at the most */
    VECTOR(struct ir_operation *) dots;
    VECTOR(struct factor_buffer) buffers;
    VECTOR(struct copied) copies;
    VECTOR(struct ir_operation *) loads; /* of rows, */
    VECTOR(struct rows) rows;            /* and these by who comes together */
    VECTOR(struct stored) stored;        /* outside of loops, for more than one product perhaps */
    bool changed;
    bool by_threads; /* cp.async brings what it can instead of TMA and a producer */
};

/* How a factor will be brought to the instruction. */
struct plan {
    enum { KEEP_IN_REGISTERS, COPY, STORE } how;
    struct factor_source source;
    const struct ir_type *buffer;   /* of the origin */
    const struct layout *registers; /* of a first factor that the product reads from there; or NULL */
    const struct ir_type *part;     /* of a second factor that threads make again, the buffer of each part; or NULL */
    int parts;                      /* 1: the whole, 2: what tf32 keeps of it, and the rest */
};

static void collect(struct ir_operation *op, void *data)
{
    struct factor_staging *s = data;
    if (op->opcode == OP_DOT && ir_number(op, IR_ATTRIBUTE_INSTRUCTION, IR_INSTRUCTION_FMA) != IR_INSTRUCTION_FMA)
        vector_push(s->context->arena, &s->dots, op);
}

/* ---- plans ---- */

/* Rows of 16 bytes, for mma.sync: where neither dimension is a multiple of 32 bytes. */
static const struct ir_type *narrow_buffer_type(const struct factor_staging *s, const struct ir_type *tile,
                                                int contiguous)
{
    static const int swap[2] = {1, 0};
    int extent[2] = {(int)tile->extent[1 - contiguous], (int)tile->extent[contiguous]};
    int bytes = ir_element_info[tile->element].bits / 8;
    const struct layout *layout = layout_swizzled(s->adapter.table, 2, extent, bytes, NARROW_ROW);
    if (layout && contiguous == 0)
        layout = layout_rename(s->adapter.table, layout, swap);
    return layout ? ir_type_buffer(s->function->module->context, tile->element, 2, tile->extent, layout, 1) : NULL;
}

/* Whether a copy brings the factor, as the loop's plan has it; where no loop has one, as it would be planned. */
static bool plan_copy(const struct factor_staging *s, const struct ir_operation *dot, int factor, struct plan *plan)
{
    const struct ir_operation *load = plan->source.origin->definition;
    if (!load || load->opcode != OP_LOAD)
        return false;
    const struct ir_plan_input *input = planning_input(load);
    const char *why = input ? input->why : NULL;
    enum ir_way way = input ? input->way : IR_WAY_OPEN;
    if (way == IR_WAY_OPEN)
        way = factor_way(s->context->target, dot, factor, s->by_threads, &why);
    if (way != IR_WAY_REGISTERS) {
        plan->buffer = factor_copy_buffer(dot, factor);
        plan->how = COPY;
        return true;
    }
    planning_tell_input(load, IR_WAY_REGISTERS, why);
    pass_remark(s->context, load->at, "this factor is read through registers: %s", why ? why : "the plan asks for it");
    return false;
}

/* The dimension along which a thread holds neighbours: it is stored in the widest pieces. */
static int widest_dimension(const struct ir_type *tile)
{
    int bytes = ir_element_info[tile->element].bits / 8;
    if (!tile->layout)
        return 1;
    return layout_vector(tile->layout, 0, 16 / bytes).size <= layout_vector(tile->layout, 1, 16 / bytes).size;
}

/* The block in which the factor's buffer is filled. */
static struct ir_block *filled_in(const struct plan *plan, const struct ir_operation *dot)
{
    const struct ir_value *value = plan->source.origin;
    return value->definition ? value->block : dot->block;
}

static bool keep_factor(const struct factor_staging *s, const struct ir_operation *dot, int factor, struct plan *plan)
{
    plan->registers = product_factor(s->adapter.table, dot, factor, dot->results[0]->type->layout);
    plan->how = KEEP_IN_REGISTERS;
    return plan->registers != NULL;
}

static bool keeps_both(const struct ir_operation *dot)
{
    struct product product = product_of(dot);
    return ir_number(dot, IR_ATTRIBUTE_INSTRUCTION, 0) == IR_INSTRUCTION_MMA && product_keeps_factors(&product);
}

/* Another product of its kind reads the tile from registers. */
static bool is_kept_elsewhere(const struct ir_value *value, const struct ir_operation *dot)
{
    bool kept = false;
    for (const struct ir_use *use = value->uses; use; use = use->next) {
        bool product = use->user->opcode == OP_DOT || use->user->opcode == OP_DOT_ASYNC;
        kept |= product && use->user != dot && use->index == 0;
    }
    return kept && ir_number(dot, IR_ATTRIBUTE_INSTRUCTION, 0) == IR_INSTRUCTION_WGMMA;
}

static bool plan_way(const struct factor_staging *s, const struct ir_operation *dot, int factor, struct plan *plan)
{
    plan->source = factor_source_of(dot->operands[factor]);
    if (plan_copy(s, dot, factor, plan))
        return true;
    const struct ir_operation *origin = plan->source.origin->definition;
    bool loaded = origin && origin->opcode == OP_LOAD; /* such a one goes through shared memory anyway */
    bool twice = plan->source.transposed && is_kept_elsewhere(plan->source.origin, dot);
    if ((factor == 0 || keeps_both(dot)) && !loaded && !twice && keep_factor(s, dot, factor, plan))
        return true;
    int wanted = factor_contiguous(dot, factor); /* of the origin's dimensions */
    if (!loaded) {
        wanted = wanted < 0 ? wanted : wanted ^ (int)plan->source.transposed;
        plan->source = (struct factor_source){dot->operands[factor], false};
    }
    const struct ir_type *tile = plan->source.origin->type;
    int first = wanted < 0 ? widest_dimension(tile) : wanted;
    plan->how = STORE;
    plan->buffer = factor_buffer_type(s->function->module->context, tile, first);
    if (!plan->buffer && wanted < 0)
        plan->buffer = factor_buffer_type(s->function->module->context, tile, 1 - first);
    if (!plan->buffer && ir_number(dot, IR_ATTRIBUTE_INSTRUCTION, 0) == IR_INSTRUCTION_MMA)
        plan->buffer = narrow_buffer_type(s, tile, first);
    if (!plan->buffer && ir_number(dot, IR_ATTRIBUTE_INSTRUCTION, 0) == IR_INSTRUCTION_MMA)
        plan->buffer = narrow_buffer_type(s, tile, 1 - first);
    return plan->buffer != NULL;
}

/* The layout or the buffers of what threads make of a factor as it lies. */
static bool plan_remaking(const struct factor_staging *s, const struct ir_operation *dot, int factor, struct plan *plan)
{
    if (plan->how == COPY ? !factor_is_remade(dot, factor) : !factor_splits(dot))
        return true;
    if (factor == 0) {
        plan->registers = product_factor(s->adapter.table, dot, 0, dot->results[0]->type->layout);
        return plan->registers != NULL;
    }
    const struct ir_value *origin = plan->source.origin;
    plan->part = factor_buffer_type(s->function->module->context, origin->type, plan->source.transposed ? 1 : 0);
    plan->parts = factor_splits(dot) ? 2 : 1;
    return plan->part != NULL;
}

static bool plan_factor(const struct factor_staging *s, const struct ir_operation *dot, int factor, struct plan *plan)
{
    return plan_way(s, dot, factor, plan) && plan_remaking(s, dot, factor, plan);
}

/* ---- buffers ---- */

static int64_t bytes_taken(const struct factor_staging *s)
{
    int64_t bytes = 0;
    for (int i = 0; i < s->buffers.count; i++)
        bytes += ir_type_bytes(s->buffers.data[i].buffer->type);
    return bytes;
}

static bool has_room(const struct factor_staging *s, const struct ir_type *type)
{
    return bytes_taken(s) + ir_type_bytes(type) <= s->context->target->shared_bytes - budget_shared_beside(s->scratch);
}

/* 0: by copies; 1: stored, and a fence_async comes behind; 2: stored without. */
static int filling_of(const struct plan *plan, const struct ir_operation *dot)
{
    return plan->how != STORE ? 0 : ir_number(dot, IR_ATTRIBUTE_INSTRUCTION, 0) == IR_INSTRUCTION_WGMMA ? 1 : 2;
}

/* Nothing but this product looks at the loaded tile. */
static bool feeds_only(const struct ir_value *value, const struct ir_operation *dot)
{
    for (const struct ir_use *use = value->uses; use; use = use->next) {
        const struct ir_operation *user = use->user;
        bool passes_on = user->opcode == OP_CONVERT_LAYOUT || user->opcode == OP_PERMUTE;
        if (user != dot && !(passes_on && feeds_only(user->results[0], dot)))
            return false;
    }
    return true;
}

/* Filled in the product's block, and read by no other. */
static bool is_alone(const struct plan *plan, const struct ir_operation *dot, const struct ir_block *block)
{
    return block == dot->block && (plan->how == STORE || feeds_only(plan->source.origin, dot));
}

/* Whether the factor is brought behind the last product that reads the buffer, which nobody needs any more. */
static bool is_free(const struct factor_buffer *old, const struct plan *plan, const struct ir_operation *dot,
                    const struct ir_block *block)
{
    const struct ir_operation *brought = plan->how == STORE ? dot : plan->source.origin->definition;
    return old->block == block && old->reader && old->alone && is_alone(plan, dot, block) &&
           ir_comes_before(old->reader, brought);
}

/* Whether the buffer may hold one more factor, filled in the same way: it is one of another loop, side by side with this; where
 * room is scarce also one that is filled and read in the same block, one factor after the other. */
static bool is_reusable(const struct factor_buffer *old, const struct plan *plan, const struct ir_operation *dot,
                        const struct ir_block *block, bool scarce)
{
    bool beside = !ir_block_holds(old->block, block) && !ir_block_holds(block, old->block);
    return old->buffer->type == plan->buffer && old->filling == filling_of(plan, dot) &&
           (beside || (scarce && is_free(old, plan, dot, block)));
}

static struct factor_buffer *reusable(const struct factor_staging *s, const struct plan *plan,
                                      const struct ir_operation *dot, const struct ir_block *block, bool scarce)
{
    for (int i = 0; i < s->buffers.count; i++)
        if (is_reusable(&s->buffers.data[i], plan, dot, block, scarce))
            return &s->buffers.data[i];
    return NULL;
}

static struct ir_value *make_buffer(struct factor_staging *s, const struct plan *plan, const struct ir_operation *dot,
                                    struct ir_block *block, struct location at)
{
    struct factor_buffer *old = reusable(s, plan, dot, block, !has_room(s, plan->buffer));
    struct factor_buffer made = {.block = block, .filling = filling_of(plan, dot), .alone = is_alone(plan, dot, block)};
    if (old) {
        made.buffer = old->buffer;
        *old = made;
        return old->buffer;
    }
    struct ir_builder front = {
        .module = s->function->module, .block = s->function->body, .before = s->function->body->first, .at = at};
    made.buffer = ir_build_value(&front, OP_BUFFER, plan->buffer, 0, NULL);
    vector_push(s->context->arena, &s->buffers, made);
    return made.buffer;
}

/* How a part of a factor that threads make again comes to its buffer. */
static struct plan plan_of_part(const struct plan *plan)
{
    return (struct plan){.how = STORE, .source = plan->source, .buffer = plan->part};
}

static void note_reader(struct factor_staging *s, struct ir_operation *product, const struct ir_value *buffer)
{
    if (buffer->definition && buffer->definition->opcode == OP_BUFFER_PERMUTE)
        buffer = buffer->definition->operands[0];
    for (int i = 0; i < s->buffers.count; i++)
        if (s->buffers.data[i].buffer == buffer)
            s->buffers.data[i].reader = product;
}

static void build_wait(struct ir_builder *builder, int count, struct ir_value *const *tokens)
{
    ir_build(builder, OP_WAIT, count, tokens, 0, NULL);
}

static bool is_factor_only(const struct ir_value *value)
{
    for (const struct ir_use *use = value->uses; use; use = use->next) {
        const struct ir_operation *user = use->user;
        bool factor = user->opcode == OP_DOT && use->index < 2 && ir_attribute(user, IR_ATTRIBUTE_INSTRUCTION);
        bool passes_on = user->opcode == OP_CONVERT_LAYOUT || user->opcode == OP_PERMUTE;
        if (!factor && !(passes_on && is_factor_only(user->results[0])))
            return false;
    }
    return true;
}

/* The buffer that holds the factor already, for another product. */
static struct ir_value *find_stored(const struct factor_staging *s, const struct plan *plan,
                                    const struct ir_operation *dot)
{
    for (int i = 0; plan->how == COPY && i < s->copies.count; i++)
        if (s->copies.data[i].load == plan->source.origin->definition)
            return s->copies.data[i].buffer;
    for (int i = 0; plan->how == STORE && i < s->stored.count; i++)
        if (s->stored.data[i].value == plan->source.origin && s->stored.data[i].buffer->type == plan->buffer &&
            s->stored.data[i].rounded == factor_rounds(dot))
            return s->stored.data[i].buffer;
    return NULL;
}

/* The copy that takes the place of a load; its token when nobody has waited for it yet. */
static struct ir_value *copy_load(struct factor_staging *s, const struct plan *plan, const struct ir_operation *dot,
                                  struct ir_value **token)
{
    struct ir_operation *load = plan->source.origin->definition;
    *token = NULL;
    if (find_stored(s, plan, dot))
        return find_stored(s, plan, dot);
    struct ir_access access;
    ir_access_of(load, &access);
    struct ir_value *buffer = make_buffer(s, plan, dot, load->block, load->at);
    struct ir_value **operands = ARENA_ARRAY(s->context->arena, struct ir_value *, access.rank + 2);
    struct ir_builder builder = rewrite_before(load);
    const struct layout *moved = layout_rule_copy(s->adapter.table, &access, buffer->type, s->adapter.warps);
    operands[0] = access.view;
    for (int d = 0; d < access.rank; d++)
        operands[1 + d] = access.index[d]->type->rank
                              ? layout_adapt(&s->adapter, &builder, access.index[d],
                                             layout_rule_copy_index(s->adapter.table, &access, moved))
                              : access.index[d];
    operands[1 + access.rank] = buffer;
    const struct ir_type *type = ir_type_token(s->function->module->context);
    struct ir_operation *copy = ir_build(&builder, OP_COPY_ASYNC, access.rank + 2, operands, 1, &type);
    rewrite_copy_access(copy, load);
    if (factor_rounds(dot))
        ir_set_number(copy, IR_ATTRIBUTE_PRECISION, IR_PRECISION_TF32);
    struct copied copied = {load, buffer, copy->results[0]};
    vector_push(s->context->arena, &s->copies, copied);
    if (load->block == dot->block && feeds_only(load->results[0], dot)) {
        *token = copied.token;
        return buffer;
    }
    build_wait(&builder, 1, &copied.token);
    if (!is_factor_only(load->results[0])) { /* others read the tile back */
        struct ir_value *tile = ir_build_value(&builder, OP_BUFFER_LOAD, load->results[0]->type, 1, &buffer);
        ir_replace_uses(load->results[0], tile);
    }
    return buffer;
}

/* wgmma reads what threads stored as copies do. */
static void fence_factors(struct ir_builder *builder)
{
    if (!PLANTED(factor_without_fence))
        ir_build(builder, OP_FENCE_ASYNC, 0, NULL, 0, NULL);
}

/* One that comes from in front of the loop is stored there. */
static struct ir_value *store_factor(struct factor_staging *s, const struct plan *plan, struct ir_operation *dot)
{
    struct ir_value *value = plan->source.origin;
    if (find_stored(s, plan, dot))
        return find_stored(s, plan, dot);
    struct ir_block *block = filled_in(plan, dot);
    struct ir_value *buffer = make_buffer(s, plan, dot, block, dot->at);
    struct ir_builder builder = rewrite_before(dot);
    if (block != dot->block) {
        builder.block = block;
        builder.before = value->definition->next;
        vector_push(s->context->arena, &s->stored, ((struct stored){value, buffer, factor_rounds(dot)}));
    }
    ir_build(&builder, OP_BARRIER, 0, NULL, 0, NULL);
    struct ir_operation *store = ir_build(&builder, OP_BUFFER_STORE, 2, (struct ir_value *[]){value, buffer}, 0, NULL);
    if (factor_rounds(dot))
        ir_set_number(store, IR_ATTRIBUTE_PRECISION, IR_PRECISION_TF32);
    if (ir_number(dot, IR_ATTRIBUTE_INSTRUCTION, 0) == IR_INSTRUCTION_WGMMA)
        fence_factors(&builder);
    ir_build(&builder, OP_BARRIER, 0, NULL, 0, NULL);
    return buffer;
}

static struct ir_value *transpose(struct factor_staging *s, struct ir_operation *before, struct ir_value *buffer)
{
    static const int64_t swapped[2] = {1, 0};
    static const int order[2] = {1, 0};
    const struct ir_type *type = buffer->type;
    int64_t extent[2] = {type->extent[1], type->extent[0]};
    const struct layout *layout = layout_rename(s->adapter.table, type->layout, order);
    struct ir_builder builder = rewrite_before(before);
    const struct ir_type *result = ir_type_buffer(s->function->module->context, type->element, 2, extent, layout, 1);
    struct ir_value *value = ir_build_value(&builder, OP_BUFFER_PERMUTE, result, 1, &buffer);
    ir_set_list(value->definition, IR_ATTRIBUTE_PERMUTATION, 2, swapped);
    return value;
}

/* Stores tiles where wgmma reads them. */
static void store_fenced(struct ir_builder *builder, int count, struct ir_value *const *tiles,
                         struct ir_value *const *buffers)
{
    ir_build(builder, OP_BARRIER, 0, NULL, 0, NULL);
    for (int i = 0; i < count; i++) {
        struct ir_operation *store = ir_build(builder, OP_BUFFER_STORE, 2, (struct ir_value *[]){tiles[i], buffers[i]},
                                              0, NULL);
        if (i > 0)
            ir_set_number(store, IR_ATTRIBUTE_PRECISION, IR_PRECISION_TF32);
    }
    fence_factors(builder);
    ir_build(builder, OP_BARRIER, 0, NULL, 0, NULL);
}

/* What tf32 keeps of a factor, without rounding, and the rest: an infinity or NaN is one in the rest, where it meets the
 * largest number or what the other factor keeps of its own, and both parts have the sign of the whole. */
static void split_factor(struct ir_builder *builder, struct ir_value *tile, struct ir_value *parts[2])
{
    parts[0] = ir_unary(builder, OP_KEEP_TF32, tile);
    parts[1] = ir_binary(builder, OP_SUB, tile, parts[0]);
}

/* The second factor, from its copy or from registers, in one part or in two:
 *     %y = buffer_load %B     %h = keep_tf32 %y     %l = sub %y, %h
 *     barrier     buffer_store %h, %H     buffer_store precision(tf32) %l, %L     fence_async     barrier */
static void remake_second(struct factor_staging *s, struct ir_operation *dot, const struct plan *plan,
                          struct ir_value *copy, struct ir_value *buffers[2])
{
    struct ir_builder builder = rewrite_before(dot);
    struct ir_value *tile = plan->source.origin, *parts[2];
    const struct plan part = plan_of_part(plan);
    if (copy) {
        const struct ir_type *type = ir_type_with_layout(
            s->function->module->context, tile->type,
            factor_remaking_layout(s->adapter.table, copy->type, plan->part, s->adapter.warps));
        tile = ir_build_value(&builder, OP_BUFFER_LOAD, type, 1, &copy);
    }
    parts[0] = tile;
    if (plan->parts == 2)
        split_factor(&builder, tile, parts);
    for (int i = 0; i < plan->parts; i++)
        buffers[i] = make_buffer(s, &part, dot, dot->block, dot->at);
    store_fenced(&builder, plan->parts, parts, buffers);
    for (int i = 0; i < plan->parts && plan->source.transposed; i++)
        buffers[i] = transpose(s, dot, buffers[i]);
}

static struct ir_value *bring_factor(struct factor_staging *s, struct ir_operation *dot, int factor,
                                     const struct plan *plan, struct ir_value **token)
{
    struct ir_builder builder = rewrite_before(dot);
    struct ir_value *buffer;
    *token = NULL;
    switch (plan->how) {
    case KEEP_IN_REGISTERS: return layout_adapt(&s->adapter, &builder, dot->operands[factor], plan->registers);
    case COPY: buffer = copy_load(s, plan, dot, token); break;
    default: buffer = plan->part ? NULL : store_factor(s, plan, dot); break;
    }
    return plan->source.transposed && !plan->part ? transpose(s, dot, buffer) : buffer;
}

/* A factor that wgmma would not turn, from its buffer. */
static struct ir_value *read_factor(const struct factor_staging *s, const struct ir_operation *dot,
                                    struct ir_builder *builder, const struct layout *layout, struct ir_value *buffer)
{
    const struct ir_type *type = ir_type_with_layout(s->function->module->context, dot->operands[0]->type, layout);
    struct ir_value *tile = ir_build_value(builder, OP_BUFFER_LOAD, type, 1, &buffer);
    if (factor_rounds(dot))
        ir_set_number(tile->definition, IR_ATTRIBUTE_PRECISION, IR_PRECISION_TF32);
    return tile;
}

/* ---- accumulators that are zero ---- */

static bool is_zero(const struct ir_value *value)
{
    uint64_t bits;
    return ir_constant_of(value, &bits) && bits == 0;
}

/* Returns the fourth operand, or NULL: the accumulator is added always. */
static struct ir_value *start_from_nothing(struct factor_staging *s, struct ir_operation *dot,
                                           struct ir_value **accumulator)
{
    struct ir_builder builder = rewrite_before(dot);
    *accumulator = dot->operands[2];
    if (!is_zero(*accumulator))
        return NULL;
    *accumulator = ir_build_value(&builder, OP_UNDEFINED, (*accumulator)->type, 0, NULL);
    return ir_constant_int(&builder, ir_type_scalar(s->function->module->context, IR_BOOL), 0);
}

/* ---- factors that wait in registers ---- */

static bool is_clobbered_before(const struct ir_operation *load, const struct ir_operation *dot)
{
    bool written = alias_is_written(load->block->function, load->operands[0]);
    for (const struct ir_operation *op = load->next; op && op != dot; op = op->next)
        if (written ? alias_clobbers(op, load) : alias_tells(op))
            return true;
    return false;
}

/* One use, by the product or by what turns or converts for it alone. */
static bool is_for_product_alone(const struct ir_operation *op, const struct ir_operation *dot)
{
    const struct ir_use *use = op->results[0]->uses;
    if (!use || use->next)
        return false;
    bool passes_on = use->user->opcode == OP_CONVERT_LAYOUT || use->user->opcode == OP_PERMUTE;
    return use->user == dot || (passes_on && use->user->block == dot->block && is_for_product_alone(use->user, dot));
}

static void move_to_product(struct ir_operation *op, struct ir_operation *dot)
{
    for (struct ir_operation *next; op != dot; op = next) {
        next = op->results[0]->uses->user;
        ir_move_before(op, dot);
    }
}

/* Loads of factors that go through registers come after the product in front, where all that the block loads at its top
 * does not fit into registers beside its sums:
 *
 *     load a, b, c, d    store a, b    dot    store c, d    dot
 * becomes
 *     load a, b    store a, b    dot    load c, d    store c, d    dot */
static void load_later(struct factor_staging *s, struct ir_operation *dot, const struct plan *plan)
{
    if (loop_model_pressure(s->context->arena, dot->block) <= TARGET_THREAD_REGISTERS)
        return;
    for (int i = 0; i < 2; i++) {
        struct ir_operation *load = plan[i].source.origin->definition;
        if (plan[i].how == STORE && load && load->opcode == OP_LOAD && load->block == dot->block &&
            is_for_product_alone(load, dot) && !is_clobbered_before(load, dot))
            move_to_product(load, dot);
    }
}

/* ---- products ---- */

static void give_up(struct factor_staging *s, struct ir_operation *dot, const char *reason)
{
    pass_warn(s->context, DIAGNOSTIC_W1203, dot->at, "this product is computed by multiply-adds after all: %s", reason);
    for (int i = 0; i < 2; i++) {
        const struct ir_operation *load = factor_source_of(dot->operands[i]).origin->definition;
        if (load && load->opcode == OP_LOAD)
            planning_tell_input(load, IR_WAY_REGISTERS, reason);
    }
    ir_remove_attribute(dot, IR_ATTRIBUTE_INSTRUCTION);
    s->changed = true;
}

/* Buffers for parts of the factor that are there already. */
static int64_t count_reusable(const struct factor_staging *s, const struct plan *plan, const struct ir_operation *dot)
{
    const struct plan part = plan_of_part(plan);
    int count = 0;
    for (int i = 0; i < s->buffers.count; i++)
        count += is_reusable(&s->buffers.data[i], &part, dot, dot->block, true);
    return count < plan->parts ? count : plan->parts;
}

static bool fits(const struct factor_staging *s, const struct ir_operation *dot, const struct plan *plan)
{
    bool needed = plan[0].how != KEEP_IN_REGISTERS && !find_stored(s, &plan[0], dot);
    bool same = needed && plan[0].buffer == plan[1].buffer; /* both are filled for this product */
    int64_t more = 0;
    for (int i = 0; i < 2; i++) {
        bool there = !(i && same) && reusable(s, &plan[i], dot, filled_in(&plan[i], dot), true);
        bool remade = plan[i].part && plan[i].how == STORE; /* it has the parts' buffers alone */
        if (plan[i].how != KEEP_IN_REGISTERS && !there && !find_stored(s, &plan[i], dot) && !remade)
            more += ir_type_bytes(plan[i].buffer);
        if (plan[i].part)
            more += (plan[i].parts - count_reusable(s, &plan[i], dot)) * ir_type_bytes(plan[i].part);
    }
    return bytes_taken(s) + more <= s->context->target->shared_bytes - budget_shared_beside(s->scratch);
}

/* The first factor stays in registers where its buffer does not fit. */
static bool keeps_first(const struct factor_staging *s, const struct ir_operation *dot, struct plan *plan)
{
    const struct ir_operation *load = plan[0].source.origin->definition;
    bool copied = plan[0].how == COPY;
    if (plan[0].how == KEEP_IN_REGISTERS || find_stored(s, &plan[0], dot) || !keep_factor(s, dot, 0, &plan[0]) ||
        !fits(s, dot, plan))
        return false;
    if (copied)
        planning_tell_input(load, IR_WAY_REGISTERS, "its buffer does not fit into shared memory beside the others");
    return true;
}

/* operands[3] may be NULL. */
static struct ir_operation *build_product(struct factor_staging *s, struct ir_builder *builder,
                                          const struct ir_operation *dot, struct ir_value *const operands[4])
{
    static const enum ir_attribute_key kept[] = {IR_ATTRIBUTE_PRECISION, IR_ATTRIBUTE_PROMOTE};
    const struct ir_type *type = dot->results[0]->type;
    struct ir_operation *async = ir_build(builder, OP_DOT_ASYNC, operands[3] ? 4 : 3, operands, 1, &type);
    note_reader(s, async, operands[1]);
    ir_set_number(async, IR_ATTRIBUTE_INSTRUCTION, ir_number(dot, IR_ATTRIBUTE_INSTRUCTION, 0));
    for (int i = 0; i < 2; i++)
        if (ir_attribute(dot, kept[i]))
            ir_set_number(async, kept[i], ir_number(dot, kept[i], 0));
    return async;
}

static struct ir_value *wait_for_product(struct ir_builder *builder, struct ir_operation *async)
{
    const struct ir_type *type = async->results[0]->type;
    struct ir_operation *wait = ir_build(builder, OP_DOT_WAIT, 1, &async->results[0], 1, &type);
    ir_set_number(wait, IR_ATTRIBUTE_PENDING, 0);
    return wait->results[0];
}

static void finish_product(struct factor_staging *s, struct ir_operation *dot, struct ir_value *sum)
{
    sum->name = dot->results[0]->name;
    ir_replace_uses(dot->results[0], sum);
    ir_remove(dot);
    s->changed = true;
}

/* tf32x3: small sums first, and all of them leave the tensor core, which rounds worse than an addition.
 *     %p = dot_async precision(tf32) %xl, %H, %undefined, false
 *     %q = dot_async precision(tf32) %xh, %L, %p
 *     %r = dot_async precision(tf32) %xh, %H, %q
 *     %s = dot_wait %r     %c = add %acc, %s */
static void multiply_parts(struct factor_staging *s, struct ir_operation *dot, struct ir_value *tile,
                           struct ir_value *const second[2])
{
    static const int order[3][2] = {{1, 0}, {0, 1}, {0, 0}};
    struct ir_builder builder = rewrite_before(dot);
    struct ir_value *first[2], *sum = ir_build_value(&builder, OP_UNDEFINED, dot->operands[2]->type, 0, NULL);
    struct ir_value *never = ir_constant_int(&builder, ir_type_scalar(s->function->module->context, IR_BOOL), 0);
    struct ir_operation *product = NULL;
    split_factor(&builder, tile, first);
    for (int i = 0; i < 3; i++) {
        struct ir_value *operands[4] = {first[order[i][0]], second[order[i][1]], sum, i ? NULL : never};
        product = build_product(s, &builder, dot, operands);
        ir_set_number(product, IR_ATTRIBUTE_PRECISION, IR_PRECISION_TF32);
        sum = product->results[0];
    }
    sum = wait_for_product(&builder, product);
    if (!is_zero(dot->operands[2]))
        sum = ir_binary(&builder, OP_ADD, dot->operands[2], sum);
    finish_product(s, dot, sum);
}

static void stage(struct factor_staging *s, struct ir_operation *dot)
{
    bool wgmma = ir_number(dot, IR_ATTRIBUTE_INSTRUCTION, 0) == IR_INSTRUCTION_WGMMA;
    struct plan plan[2] = {0};
    if (!product_takes(s->adapter.table, dot, dot->results[0]->type->layout, s->adapter.warps)) {
        give_up(s, dot, "its accumulator has another layout");
        return;
    }
    if (!plan_factor(s, dot, 0, &plan[0]) || !plan_factor(s, dot, 1, &plan[1])) {
        give_up(s, dot, "a factor is too small for shared memory's rows");
        return;
    }
    if (!fits(s, dot, plan) && !keeps_first(s, dot, plan)) {
        give_up(s, dot, "its factors do not fit into shared memory beside the others");
        return;
    }
    if (!pass_fuel(s->context))
        return;
    struct ir_value *operands[4], *tokens[2];
    load_later(s, dot, plan);
    for (int i = 0; i < 2; i++)
        operands[i] = bring_factor(s, dot, i, &plan[i], &tokens[i]);
    struct ir_builder builder = rewrite_before(dot);
    struct ir_value *waited[2];
    int waits = 0;
    for (int i = 0; i < 2; i++)
        if (tokens[i])
            waited[waits++] = tokens[i];
    if (waits)
        build_wait(&builder, waits, waited);
    struct ir_value *first = operands[0], *second[2] = {operands[1], NULL};
    if (plan[0].registers && plan[0].how != KEEP_IN_REGISTERS)
        operands[0] = read_factor(s, dot, &builder, plan[0].registers, operands[0]);
    if (plan[1].part)
        remake_second(s, dot, &plan[1], operands[1], second);
    if (factor_splits(dot)) {
        multiply_parts(s, dot, operands[0], second);
        return;
    }
    operands[1] = second[0];
    operands[3] = NULL;
    operands[2] = dot->operands[2];
    if (wgmma)
        operands[3] = start_from_nothing(s, dot, &operands[2]);
    struct ir_operation *async = build_product(s, &builder, dot, operands);
    note_reader(s, async, first);
    finish_product(s, dot, wait_for_product(&builder, async));
}

/* ---- rows ---- */

/* The first operation of the block that uses what `op` makes, or holds one that does.  Conversions move to their own. */
static struct ir_operation *first_user(const struct ir_operation *op)
{
    struct ir_operation *first = NULL;
    for (const struct ir_use *use = op->results[0]->uses; use; use = use->next) {
        struct ir_operation *user = ir_ancestor_in(op->block, use->user);
        if (user->opcode == OP_CONVERT_LAYOUT && user->results[0]->uses)
            ir_move_before(user, first_user(user));
        if (!first || ir_comes_before(user, first))
            first = user;
    }
    return first;
}

static void collect_row(struct ir_operation *op, void *data)
{
    struct factor_staging *s = data;
    bool row = op->opcode == OP_LOAD && op->results[0]->type->rank == 1 && op->results[0]->uses;
    const struct ir_plan_input *input = row ? planning_input(op) : NULL;
    if (input && input->way == IR_WAY_TMA)
        vector_push(s->context->arena, &s->loads, op);
}

/* Rows of a block come together, but for one that is not asked for until another has been used. */
static void add_row(struct factor_staging *s, struct ir_operation *load)
{
    struct rows *last = s->rows.count ? &s->rows.data[s->rows.count - 1] : NULL;
    struct ir_operation *user = first_user(load);
    const char *why;
    if (!last || last->block != load->block || ir_comes_before(last->user, load)) {
        vector_push(s->context->arena, &s->rows, ((struct rows){.block = load->block, .user = user}));
        last = &s->rows.data[s->rows.count - 1];
    }
    if (ir_comes_before(user, last->user))
        last->user = user;
    vector_push(s->context->arena, &last->loads, ((struct row){load, factor_row_buffer(load, &why), NULL}));
}

/* Rows that a loop beside this one brings to such buffers: it is over, or comes later. */
static const struct rows *find_like(const struct factor_staging *s, const struct rows *rows)
{
    for (const struct rows *old = s->rows.data; old < rows; old++) {
        bool like = old->loads.count == rows->loads.count && !ir_block_holds(old->block, rows->block) &&
                    !ir_block_holds(rows->block, old->block);
        for (int i = 0; i < rows->loads.count && like; i++)
            like = old->loads.data[i].type == rows->loads.data[i].type;
        if (like)
            return old;
    }
    return NULL;
}

/* They come where the last was loaded, and each is read where it is used:
 *
 *     %a = load %x[%i +: 128]     %b = load %y[%i +: 128]     …     use of %a     …     use of %b
 * becomes
 *     %s = copy_async %x[%i +: 128], %X     %t = copy_async %y[%i +: 128], %Y     wait %s, %t     …
 *     %a = buffer_load %X     use of %a     …     %b = buffer_load %Y     use of %b */
static void bring_rows(struct factor_staging *s, const struct rows *rows)
{
    const struct rows *like = find_like(s, rows);
    struct ir_value **tokens = ARENA_ARRAY(s->context->arena, struct ir_value *, rows->loads.count);
    struct ir_operation *last = rows->loads.data[rows->loads.count - 1].load;
    for (int i = 0; i < rows->loads.count; i++) {
        struct row *row = &rows->loads.data[i];
        struct ir_builder front = rewrite_before(s->function->body->first), builder = rewrite_before(last);
        front.at = builder.at = row->load->at;
        row->buffer = like ? like->loads.data[i].buffer : ir_build_value(&front, OP_BUFFER, row->type, 0, NULL);
        tokens[i] = buffer_copy_build(s->context->arena, &builder, row->load, row->buffer);
    }
    struct ir_builder waits = rewrite_before(last);
    build_wait(&waits, rows->loads.count, tokens);
    for (int i = 0; i < rows->loads.count; i++) {
        struct row *row = &rows->loads.data[i];
        struct ir_builder builder = rewrite_before(first_user(row->load));
        struct ir_value *tile = ir_build_value(&builder, OP_BUFFER_LOAD, row->load->results[0]->type, 1, &row->buffer);
        tile->name = row->load->results[0]->name;
        ir_replace_uses(row->load->results[0], tile);
        ir_remove(row->load);
    }
}

static void bring_all_rows(struct factor_staging *s)
{
    for (int i = 0; i < s->loads.count; i++)
        add_row(s, s->loads.data[i]);
    for (int i = 0; i < s->rows.count; i++)
        bring_rows(s, &s->rows.data[i]);
    s->changed = true;
}

bool pass_buffer_operands(struct ir_function *function, struct pass_context *context)
{
    struct factor_staging s = {
        .context = context, .function = function, .scratch = budget_scratch(function, context->arena)};
    s.adapter = (struct layout_adapter){function->module, ir_context_layouts(function->module->context), context->arena,
                                        function->warps};
    ir_walk(function->body, collect, &s);
    s.by_threads = factor_all_by_threads(context->target, function);
    for (int i = 0; i < s.dots.count; i++)
        stage(&s, s.dots.data[i]);
    ir_walk(function->body, collect_row, &s);
    if (s.loads.count && pass_fuel(context))
        bring_all_rows(&s);
    return s.changed;
}
