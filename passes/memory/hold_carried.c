/* hold_carried: tiles of an ordered grid's instances wait for their turn in shared memory, where copies bring them ahead.
 *
 *     while %waiting, %speaking, %coming, %v … {            %V = buffer slots(3)     cp_async of the first instance
 *         %w = if %speaking < programs {                    while %waiting, %speaking, %coming, %s … {
 *             %l = load %x[%speaking …]                         barrier
 *             … %l …      yield %l                              if %coming < programs { cp_async %x[%coming …], slot %V, %s + 1 }
 *         } else {                                              cp_commit      cp_wait pending(1)      barrier
 *             yield %v                               ->         if %speaking < programs {
 *         }                                                         … (buffer_load slot %V, %s) …
 *         if %waiting >= 0 { … %v … }                           }
 *         yield %speaking, …, %w …                              if %waiting >= 0 { … (buffer_load slot %V, %s - 1) … }
 *     }                                                         yield %speaking, …, %s + 1
 *                                                           }
 *
 * walk_ordered makes such loops.  A block has the tiles of two instances and computes with one at a time; in registers
 * both would take them all.  Scans of 64 elements a thread want 254, of which a multiprocessor has enough for two blocks
 * of four warps.  And nothing would be on its way while a block asks what others have said, for half of its time.
 *
 * What no copy can bring is loaded where it was, and stored to the second of two slots.
 *
 * Right because %waiting >= 0 says that a turn with this instance as %speaking was in front of this one.  A copy comes a
 * turn earlier than the load: what is in front of that in its instance does not write what it reads.  A slot is written
 * behind the barrier that follows its last readers, and read behind that which follows the wait; a tile that is stored
 * comes back to the threads that have stored it. */
#include "base/plant.h"
#include "ir/facts/alias.h"
#include "ir/facts/registers.h"
#include "ir/facts/scratch.h"
#include "ir/query.h"
#include "passes/base/budget.h"
#include "passes/base/pass.h"
#include "passes/base/remake.h"
#include "passes/base/rewrite.h"
#include "passes/layout/memory_access.h"
#include "targets/target.h"

enum { LEAST_REGISTERS = 8, LEAST_BYTES = 8 /* of a thread's copy, at once */, OTHER_REGISTERS = 32, MOST_STEPS = 256 };
enum { MOST_BLOCKS = 16 };          /* of a multiprocessor */
enum { WAITING, SPEAKING, COMING }; /* the instances in the loop's state */

struct carried {
    int index;                   /* in the state */
    int result;                  /* of `speaker` */
    struct ir_operation *reader; /* in `rest`: the first that asks for it */
    struct ir_operation *load;   /* that a copy ahead takes the place of; NULL: none */
    struct ir_value *ring;
};
struct holding {
    struct ir_function *function;
    struct pass_context *context;
    struct ir_operation *loop, *speaker, *rest; /* the loop, and the `if`s in it */
    VECTOR(struct carried) tiles;
    int64_t bytes; /* of a slot, for all of them */
    int slots;
    struct ir_value *slot[3]; /* of each instance of the state */
};

/* ---- what is carried ---- */

/* The parts of a loop that walk_ordered has made, or whatever has the same form. */
static bool find_loop(struct holding *h)
{
    for (struct ir_operation *op = h->function->body->first; op && !h->loop; op = op->next)
        h->loop = op->opcode == OP_WHILE && op->result_count > COMING ? op : NULL;
    if (!h->loop)
        return false;
    struct ir_block *body = h->loop->regions[1];
    for (struct ir_operation *op = body->first; op; op = op->next)
        if (op->opcode == OP_IF) {
            h->rest = op;
            h->speaker = h->speaker ? h->speaker : op;
        }
    const struct ir_operation *end = ir_terminator(body);
    const struct ir_operation *test = h->speaker && h->rest != h->speaker ? h->speaker->operands[0]->definition : NULL;
    return test && test->opcode == OP_COMPARE && ir_number(test, IR_ATTRIBUTE_PREDICATE, 0) == IR_PREDICATE_LT &&
           test->operands[0] == body->arguments.data[SPEAKING] &&
           end->operands[WAITING] == body->arguments.data[SPEAKING] &&
           end->operands[SPEAKING] == body->arguments.data[COMING];
}

/* The argument of the body is handed on where nothing new comes, and else read in `rest` alone. */
static bool find_carried(const struct holding *h, int index, struct carried *carried)
{
    struct ir_block *body = h->loop->regions[1];
    struct ir_value *argument = body->arguments.data[index], *next = ir_terminator(body)->operands[index];
    struct ir_operation *none = ir_terminator(h->speaker->regions[1]), *reader = h->rest->regions[0]->first;
    if (h->loop->results[index]->uses || next->definition != h->speaker)
        return false;
    *carried = (struct carried){.index = index};
    while (h->speaker->results[carried->result] != next)
        carried->result++;
    for (const struct ir_use *use = argument->uses; use; use = use->next)
        if (!ir_ancestor_in(h->rest->regions[0], use->user) && (use->user != none || use->index != carried->result))
            return false;
    while (reader && !ir_uses(reader, argument))
        reader = reader->next;
    carried->reader = reader;
    return reader != NULL;
}

/* Made in so many steps of the instance's number and of what is the same in all of them. */
static bool is_numbered(const struct holding *h, const struct ir_value *value, int *steps)
{
    const struct ir_operation *op = value->definition;
    if (!ir_is_inside(value, h->loop))
        return true;
    if (!op)
        return value == h->loop->regions[1]->arguments.data[SPEAKING];
    if (--*steps < 0 || op->region_count || !ir_has_trait(op, IR_TRAIT_PURE))
        return false;
    for (int i = 0; i < op->operand_count; i++)
        if (!is_numbered(h, op->operands[i], steps))
            return false;
    return true;
}

/* Why the tile cannot come by a copy a turn earlier, or NULL. */
static const char *problem_of_load(const struct holding *h, const struct ir_operation *load)
{
    struct ir_access access;
    uint64_t other;
    int steps = MOST_STEPS;
    if (!(h->context->target->flags & TARGET_CP_ASYNC))
        return "the target has no cp.async";
    if (!load || load->opcode != OP_LOAD || load->block != h->speaker->regions[0])
        return "it is computed";
    if (!ir_access_of(load, &access) || access.mask)
        return "it is masked";
    if (!access.other || !ir_constant_of(access.other, &other) || other != 0)
        return "what lies outside the view is not zero";
    for (int i = 0; i < load->operand_count; i++)
        if (!is_numbered(h, load->operands[i], &steps) ||
            (i > 0 && i <= access.rank && access.place[i - 1] == IR_GATHER))
            return "its place is read from memory";
    if (memory_copy_bytes(load) < LEAST_BYTES)
        return "strides and starts are not known to be multiples of 8 bytes";
    for (const struct ir_operation *op = load->block->first; op != load; op = op->next)
        if (alias_clobbers(op, load))
            return "what stands in front of it may write what it reads";
    return NULL;
}

static void find_tiles(struct holding *h)
{
    struct ir_operation *some = ir_terminator(h->speaker->regions[0]);
    for (int i = COMING + 1; i < h->loop->result_count; i++) {
        const struct ir_type *type = h->loop->results[i]->type;
        struct carried carried;
        if (type->kind != IR_TILE || !type->rank || !type->layout || type->element == IR_BOOL ||
            layout_registers(type->layout) < LEAST_REGISTERS || !layout_is_held_once(type->layout) ||
            !find_carried(h, i, &carried))
            continue;
        struct ir_operation *load = some->operands[carried.result]->definition;
        const char *problem = problem_of_load(h, load);
        if (problem)
            pass_remark(h->context, h->speaker->at, "no copy brings this ahead: %s", problem);
        carried.load = problem ? NULL : load;
        h->bytes += ir_type_bytes(type);
        vector_push(h->context->arena, &h->tiles, carried);
    }
}

/* Three slots where something is copied ahead; none where shared memory is too small for two. */
static void choose_slots(struct holding *h)
{
    int64_t most = h->context->target->shared_bytes -
                   budget_shared_beside(budget_scratch(h->function, h->context->arena));
    bool copied = false;
    for (int i = 0; i < h->tiles.count; i++)
        copied |= h->tiles.data[i].load != NULL;
    h->slots = copied && 3 * h->bytes <= most ? 3 : 2 * h->bytes <= most ? 2 : 0;
    for (int i = 0; i < h->tiles.count && h->slots < 3; i++)
        h->tiles.data[i].load = NULL;
}

/* ---- building ---- */

static struct ir_value *number(struct ir_builder *builder, int64_t value)
{
    return ir_constant_int(builder, ir_type_scalar(builder->module->context, IR_I32), value);
}

static void build_rings(struct holding *h)
{
    struct ir_context *types = h->function->module->context;
    struct ir_builder b = rewrite_before(h->function->body->first);
    b.at = h->loop->at;
    for (int i = 0; i < h->tiles.count; i++) {
        const struct ir_type *tile = h->loop->results[h->tiles.data[i].index]->type;
        int extent[LAYOUT_RANK], order[LAYOUT_RANK];
        for (int d = 0; d < tile->rank; d++) {
            extent[d] = (int)tile->extent[d];
            order[d] = tile->rank - 1 - d;
        }
        const struct layout *linear = layout_linear(ir_context_layouts(types), tile->rank, extent, order);
        const struct ir_type *type = ir_type_buffer(types, tile->element, tile->rank, tile->extent, linear, h->slots);
        h->tiles.data[i].ring = ir_build_value(&b, OP_BUFFER, type, 0, NULL);
    }
}

/* Copies of an instance's tiles, if there is such an instance: a group, also where it is empty. */
static void build_copies(const struct holding *h, struct ir_builder *builder, struct ir_value *instance,
                         struct ir_value *slot)
{
    struct ir_value *programs = h->speaker->operands[0]->definition->operands[1];
    struct ir_value *condition = ir_compare(builder, IR_PREDICATE_LT, instance, programs);
    struct ir_operation *choice = ir_build(builder, OP_IF, 1, &condition, 0, NULL);
    struct remake again = remake_open(h->context->arena, h->function, h->loop);
    remake_set(&again, h->loop->regions[1]->arguments.data[SPEAKING], instance);
    struct ir_builder b = *builder;
    b.before = NULL;
    b.block = choice->regions[0];
    for (int i = 0; i < h->tiles.count; i++) {
        const struct ir_operation *load = h->tiles.data[i].load;
        struct ir_value *operands[IR_MAX_RANK + 2];
        struct ir_access access;
        if (!load || !ir_access_of(load, &access))
            continue;
        b.at = load->at;
        for (int k = 0; k <= access.rank; k++)
            operands[k] = remake_value(&again, &b, load->operands[k]);
        operands[access.rank + 1] = rewrite_slot(&b, h->tiles.data[i].ring, slot);
        rewrite_copy_access(ir_build(&b, OP_CP_ASYNC, access.rank + 2, operands, 0, NULL), load);
    }
    ir_build(&b, OP_YIELD, 0, NULL, 0, NULL);
    b.block = choice->regions[1];
    ir_build(&b, OP_YIELD, 0, NULL, 0, NULL);
    ir_build(builder, OP_CP_COMMIT, 0, NULL, 0, NULL);
}

static bool is_used_once(const struct ir_value *value) { return value->uses && !value->uses->next; }

/* The atomic that takes the number of the next instance in `speaker`, for the next turn alone, or NULL. */
static struct ir_operation *find_taking(const struct holding *h)
{
    const struct ir_operation *some = ir_terminator(h->speaker->regions[0]);
    const struct ir_value *counter = h->function->body->arguments.data[h->function->ordered - 1];
    const struct ir_value *next = ir_terminator(h->loop->regions[1])->operands[COMING];
    for (int i = 0; i < h->speaker->result_count; i++) {
        struct ir_operation *cast = some->operands[i]->definition;
        struct ir_operation *atomic = cast && cast->opcode == OP_CAST ? cast->operands[0]->definition : NULL;
        if (h->speaker->results[i] == next && atomic && atomic->opcode == OP_ATOMIC && atomic->operands[0] == counter &&
            is_used_once(cast->results[0]) && is_used_once(atomic->results[0]))
            return atomic;
    }
    return NULL;
}

/* A number goes by shared memory, too: one thread asks for it, nobody waits for the answer before the turn's end, and all
 * read it behind the next turn's barrier.  As an atomic on scalars everybody would wait for it where it stands. */
struct numbers {
    const struct ir_type *tile, *one; /* an element a thread, of which the first counts; that one, in all threads */
    struct ir_value *buffer;
};

static void open_numbers(const struct holding *h, struct numbers *numbers)
{
    struct ir_context *types = h->function->module->context;
    struct layout_table *table = ir_context_layouts(types);
    int order = 0, threads = 32 * h->function->warps, single = 1;
    int64_t extent = threads, one = 1;
    numbers->tile = ir_type_with_layout(types, ir_type_tile(types, IR_U64, 1, &extent),
                                        layout_blocked(table, 1, &threads, &order, 1, h->function->warps));
    numbers->one = ir_type_with_layout(types, ir_type_tile(types, IR_U64, 1, &one),
                                       layout_replicated(table, 1, &single, h->function->warps));
    struct ir_builder b = rewrite_before(h->function->body->first);
    b.at = h->loop->at;
    const struct ir_type *type = ir_type_buffer(types, IR_U64, 1, &extent, layout_linear(table, 1, &threads, &order),
                                                1);
    numbers->buffer = ir_build_value(&b, OP_BUFFER, type, 0, NULL);
}

static void store_numbers(const struct numbers *numbers, struct ir_builder *builder, struct ir_value *tile)
{
    ir_build(builder, OP_BUFFER_STORE, 2, (struct ir_value *[]){tile, numbers->buffer}, 0, NULL);
}

static struct ir_value *read_number(const struct numbers *numbers, struct ir_builder *builder)
{
    const int64_t start = 0;
    struct ir_value *buffer = numbers->buffer;
    struct ir_value *tile = ir_build_value(builder, OP_BUFFER_LOAD, numbers->one, 1, &buffer);
    ir_set_list(tile->definition, IR_ATTRIBUTE_START, 1, &start);
    const struct ir_type *scalar = ir_type_scalar(builder->module->context, IR_U64);
    struct ir_value *number = ir_build_value(builder, OP_REDUCE, scalar, 1, &tile);
    ir_set_number(number->definition, IR_ATTRIBUTE_AXIS, 0);
    ir_set_number(number->definition, IR_ATTRIBUTE_KIND, IR_REDUCE_MAX);
    return ir_cast(builder, number, IR_INDEX);
}

/* The same atomic, in the same turns, by the first of the threads: the view has one element. */
static struct ir_value *ask_number(const struct holding *h, const struct numbers *numbers, struct ir_builder *builder,
                                   const struct ir_operation *taking)
{
    struct ir_context *types = builder->module->context;
    const int64_t threads = numbers->tile->extent[0];
    const struct ir_type *mask = ir_type_with_layout(types, ir_type_tile(types, IR_BOOL, 1, &threads),
                                                     numbers->tile->layout);
    struct ir_value *speaks = h->speaker->operands[0];
    struct ir_value *operands[4] = {taking->operands[0], taking->operands[1],
                                    ir_constant_int(builder, numbers->tile, 1),
                                    ir_build_value(builder, OP_SPLAT, mask, 1, &speaks)};
    struct ir_operation *atomic = ir_build(builder, OP_ATOMIC, 4, operands, 1, &numbers->tile);
    ir_set_list(atomic, IR_ATTRIBUTE_PLACE, 1, &threads);
    ir_set_number(atomic, IR_ATTRIBUTE_ACTION, IR_ACTION_ADD);
    ir_set_number(atomic, IR_ATTRIBUTE_ORDER, IR_ORDER_RELAXED);
    ir_set_number(atomic, IR_ATTRIBUTE_SCOPE, IR_SCOPE_GPU);
    return atomic->results[0];
}

/* Nothing of the state tells the number that comes: it is read. */
static void drop_coming(const struct holding *h, struct ir_operation *taking, struct ir_value *read)
{
    struct ir_block *body = h->loop->regions[1];
    struct ir_operation *some = ir_terminator(h->speaker->regions[0]), *cast = taking->results[0]->uses->user;
    struct ir_value *initial = h->loop->operands[COMING];
    for (int i = 0; i < some->operand_count; i++)
        if (some->operands[i] == cast->results[0])
            ir_set_operand(some, i, initial);
    ir_set_operand(ir_terminator(body), COMING, initial);
    ir_replace_uses(body->arguments.data[COMING], read);
    ir_remove(cast);
    ir_remove(taking);
}

static void build_ahead(const struct holding *h, struct ir_value *first_slot)
{
    struct ir_block *body = h->loop->regions[1];
    struct ir_operation *taking = find_taking(h);
    struct ir_value *coming = body->arguments.data[COMING], *asked = NULL;
    struct numbers numbers = {NULL};
    struct ir_builder b = rewrite_before(h->loop);
    if (taking) {
        open_numbers(h, &numbers);
        struct ir_value *first = ir_cast(&b, h->loop->operands[COMING], IR_U64);
        first = ir_build_value(&b, OP_SPLAT, numbers.tile, 1, &first);
        store_numbers(&numbers, &b, first);
    }
    build_copies(h, &b, h->loop->operands[SPEAKING], first_slot);
    b = rewrite_before(h->speaker);
    ir_build(&b, OP_BARRIER, 0, NULL, 0, NULL);
    if (taking) {
        coming = read_number(&numbers, &b);
        asked = ask_number(h, &numbers, &b, taking);
        struct ir_builder end = rewrite_before(ir_terminator(body));
        store_numbers(&numbers, &end, asked);
        drop_coming(h, taking, coming);
    }
    build_copies(h, &b, coming, h->slot[COMING]);
    ir_set_number(ir_build(&b, OP_CP_WAIT, 0, NULL, 0, NULL), IR_ATTRIBUTE_PENDING, 1);
    ir_build(&b, OP_BARRIER, 0, NULL, 0, NULL);
}

/* The tile comes to the slot of the instance that speaks, and from that of the one that waits; nothing is carried. */
static void hold(const struct holding *h, const struct carried *carried)
{
    struct ir_block *body = h->loop->regions[1];
    struct ir_value *argument = body->arguments.data[carried->index], *initial = h->loop->operands[carried->index];
    struct ir_operation *some = ir_terminator(h->speaker->regions[0]);
    struct ir_builder b = rewrite_before(carried->load ? carried->load : some);
    struct ir_value *slot = rewrite_slot(&b, carried->ring, h->slot[SPEAKING]), *tile;
    if (carried->load) {
        tile = ir_build_value(&b, OP_BUFFER_LOAD, carried->load->results[0]->type, 1, &slot);
        tile->name = carried->load->results[0]->name;
        ir_replace_uses(carried->load->results[0], tile);
        ir_remove(carried->load);
    } else {
        ir_build(&b, OP_BUFFER_STORE, 2, (struct ir_value *[]){some->operands[carried->result], slot}, 0, NULL);
    }
    b = rewrite_before(carried->reader);
    slot = rewrite_slot(&b, carried->ring, h->slot[WAITING]);
    tile = ir_build_value(&b, OP_BUFFER_LOAD, argument->type, 1, &slot);
    tile->name = argument->name;
    ir_set_operand(some, carried->result, initial);
    ir_set_operand(ir_terminator(h->speaker->regions[1]), carried->result, initial);
    ir_set_operand(ir_terminator(body), carried->index, initial);
    ir_replace_uses(argument, tile);
    ir_set_operand(ir_terminator(h->loop->regions[0]), 1 + carried->index,
                   h->loop->regions[0]->arguments.data[carried->index]);
    pass_remark(h->context, h->speaker->at, "%s of the instances %s shared memory: %d slots of %lld bytes",
                argument->name ? argument->name : "a tile", carried->load ? "is copied ahead to" : "waits in", h->slots,
                (long long)ir_type_bytes(argument->type));
}

static void hold_all(struct holding *h)
{
    struct ir_builder b = rewrite_before(h->loop);
    struct ir_value *zero = number(&b, 0);
    const char *name = "slot";
    bool ahead = false;
    h->loop = rewrite_carry(h->context->arena, h->loop, 1, &zero, &name);
    struct ir_block *body = h->loop->regions[1];
    b = rewrite_before(body->first);
    h->slot[SPEAKING] = body->arguments.data[h->loop->result_count - 1];
    h->slot[COMING] = rewrite_next_slot(&b, h->slot[SPEAKING], h->slots);
    bool two = h->slots == 2 || PLANTED(hold_carried_reads_slot_of_next);
    h->slot[WAITING] = two ? h->slot[COMING] : rewrite_next_slot(&b, h->slot[COMING], h->slots);
    build_rings(h);
    for (int i = 0; i < h->tiles.count; i++)
        ahead |= h->tiles.data[i].load != NULL;
    if (ahead)
        build_ahead(h, zero);
    for (int i = 0; i < h->tiles.count; i++)
        hold(h, &h->tiles.data[i]);
    ir_add_operand(ir_terminator(body), h->slot[COMING]);
}

/* Registers of a thread for the largest tile. */
static void find_registers(struct ir_operation *op, void *data)
{
    int64_t *most = data;
    for (int i = 0; i < op->result_count; i++) {
        int64_t registers = registers_of_tile(op->results[i]->type, REGISTERS_PACKED);
        *most = registers > *most ? registers : *most;
    }
}

/* Blocks that a multiprocessor should run at once: their registers are enough for the largest tile, twice as much for a
 * scan of it, and addresses.  No more than each multiprocessor takes: ptxas would warn and forget the number. */
static int count_blocks(const struct holding *h)
{
    const struct target_row *target = h->context->target;
    int64_t beside = budget_shared_beside(budget_scratch(h->function, h->context->arena));
    int64_t by_shared = target->shared_bytes / (h->slots * h->bytes + beside);
    int64_t tile = 0;
    ir_walk(h->function->body, find_registers, &tile);
    int64_t needed = 3 * tile + OTHER_REGISTERS;
    int64_t by_registers = target_registers(target) / (32 * h->function->warps * needed);
    int64_t most = int64_min(MOST_BLOCKS, target->warps / h->function->warps);
    int64_t blocks = int64_min(most, int64_min(by_shared, by_registers));
    return blocks < 1 ? 1 : (int)blocks;
}

bool pass_hold_carried(struct ir_function *function, struct pass_context *context)
{
    struct holding h = {.function = function, .context = context};
    if (!ir_walks_in_order(function) || !context->target || !find_loop(&h))
        return false;
    find_tiles(&h);
    choose_slots(&h);
    if (!h.tiles.count || !h.slots || !pass_fuel(context))
        return false;
    hold_all(&h);
    if (h.slots == 3)
        function->persistent = count_blocks(&h);
    return true;
}
