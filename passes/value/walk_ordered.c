/* walk_ordered: an instance of an ordered grid says what it brings before its block waits for those in front of it.
 *
 *     %b = grid_index dimension(0)              while %waiting = -1, %speaking, %coming = first numbers, %v = nothing {
 *     FIRST(%b): reads %v, says what it            condition %waiting < programs
 *         brings by an atomic that stores   ->  } do {
 *     REST(%b, %v): waits for smaller              %w, %n = if %speaking < programs {
 *         numbers                                      FIRST(%speaking)      yield %w, next number
 *                                                  }
 *                                                  if %waiting >= 0 { REST(%waiting, %v) }
 *                                                  yield %speaking, %coming, %n, %w
 *                                              }
 *
 * An instance that has a block to itself says what it brings, and asks at once what all in front of it bring.  Those came
 * when it did, so the slowest of the hundreds on their way keeps all behind it waiting; while they wait they keep the
 * place of others that could read.  Here a block says what its next instance brings, and then goes on with the one in
 * front: what that asks for was said a turn ago.  Of 2^28 f32 on an H200 (a copy 510 us) the same sum took 692 us with a
 * block an instance; with blocks that walk and copies ahead, but say and ask at once, 1,020; saying first, 550.  More
 * blocks, more words asked for at once, waits between questions and hints to the caches changed little
 * (tests/bench/results/2026-11-27-h200-look-back-2.json).
 *
 * Right because FIRST waits for nobody: it holds pure operations, reads, and stores.  These may come at any time after
 * the instance has started, and no program knows when that is.
 *
 * Nothing waits for ever.  Blocks take numbers in their order, and only blocks that run take any.  Of the instances that
 * are not done look at the one with the smallest number: those in front of it in its block are done, so it is this
 * block's turn; FIRST ends by itself, and REST waits only for smaller numbers (tile(7) says so), which are done.  It
 * does not matter how many blocks there are, nor whether all run at once. */
#include "base/plant.h"
#include "ir/query.h"
#include "passes/base/pass.h"
#include "passes/base/remake.h"
#include "passes/base/rewrite.h"

enum {
    MOST_CARRIED = 80, /* registers of a thread: two instances and what is computed with one must fit */
    NUMBERS = 3        /* that a block has taken: of the instances that wait, speak and come next */
};

/* An operation of the function's body, and where it stands behind the pass: in front of the loop because it is the same
 * in all instances, in FIRST, in REST; in both where REST makes a value again that costs less than a register. */
struct item {
    struct ir_operation *op;
    bool front, first, rest;
};
struct walk {
    struct ir_function *function;
    struct pass_context *context;
    VECTOR(struct item) items; /* as the body has them, without its return */
    int wait;                  /* the item that begins REST */
    int *item_of;              /* by id of a value: 1 + the item that makes it; 0: none does */
    bool *wanted;              /* by id: REST reads what FIRST has made */
    VECTOR(struct ir_value *) carried;
    struct ir_value *size[IR_MAX_RANK], *programs; /* of the grid */
    struct ir_builder builder;
};

/* ---- what may run early ---- */

static bool is_atomic(const struct ir_operation *op)
{
    return op->opcode == OP_ATOMIC || op->opcode == OP_POINTER_ATOMIC || op->opcode == OP_ATOMIC_CAS ||
           op->opcode == OP_POINTER_CAS;
}

static bool stores_atomically(const struct ir_operation *op)
{
    return op->opcode == OP_ATOMIC && ir_number(op, IR_ATTRIBUTE_ACTION, 0) == IR_ACTION_STORE;
}

static bool is_waiting(const struct ir_operation *op, bool in_loop)
{
    if (in_loop && is_atomic(op) && !stores_atomically(op))
        return true;
    in_loop |= ir_has_trait(op, IR_TRAIT_LOOP);
    for (int r = 0; r < op->region_count; r++)
        for (const struct ir_operation *inner = op->regions[r]->first; inner; inner = inner->next)
            if (is_waiting(inner, in_loop))
                return true;
    return false;
}

/* May stand in FIRST.  *says: it tells other instances something. */
static bool is_free(const struct ir_operation *op, bool *says)
{
    const unsigned traits = IR_TRAIT_PURE | IR_TRAIT_READ | IR_TRAIT_LOOP | IR_TRAIT_TERMINATOR;
    bool stores = stores_atomically(op);
    if (!stores && !ir_has_trait(op, traits) && op->opcode != OP_STORE && op->opcode != OP_ASSUME &&
        op->opcode != OP_IF)
        return false;
    *says |= stores;
    for (int r = 0; r < op->region_count; r++)
        for (const struct ir_operation *inner = op->regions[r]->first; inner; inner = inner->next)
            if (inner->opcode == OP_RETURN || !is_free(inner, says))
                return false;
    return true;
}

/* ---- what stands where ---- */

typedef void see_value(struct walk *walk, struct ir_value *value, bool *answer);

/* Shows values of the body that the operation, or one inside it, reads. */
static void see_operands(struct walk *walk, const struct ir_operation *op, see_value *see, bool *answer)
{
    for (int i = 0; i < op->operand_count; i++)
        if (walk->item_of[op->operands[i]->id])
            see(walk, op->operands[i], answer);
    for (int r = 0; r < op->region_count; r++)
        for (const struct ir_operation *inner = op->regions[r]->first; inner; inner = inner->next)
            see_operands(walk, inner, see, answer);
}

static struct item *item_of(struct walk *walk, const struct ir_value *value)
{
    return &walk->items.data[walk->item_of[value->id] - 1];
}

static void see_varying(struct walk *walk, struct ir_value *value, bool *varies)
{
    *varies |= !item_of(walk, value)->front;
}

static void see_needed(struct walk *walk, struct ir_value *value, bool *unused)
{
    (void)unused;
    struct item *item = item_of(walk, value);
    item->first |= !item->front;
}

/* REST makes it again: it takes numbers alone, or a narrower tile. */
static bool is_cheap(const struct ir_operation *op)
{
    if (!ir_has_trait(op, IR_TRAIT_PURE) || op->region_count)
        return false;
    if (op->opcode == OP_CAST &&
        ir_element_info[op->operands[0]->type->element].bits < ir_element_info[op->results[0]->type->element].bits)
        return true;
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i]->type->kind == IR_TILE && op->operands[i]->type->rank > 0)
            return false;
    return true;
}

static void see_rest(struct walk *walk, struct ir_value *value, bool *unused)
{
    (void)unused;
    struct item *item = item_of(walk, value);
    if (item->front || (item->rest && !item->first))
        return;
    if (is_cheap(item->op))
        item->rest = true;
    else
        walk->wanted[value->id] = true;
}

static void list_items(struct walk *walk)
{
    struct arena *arena = walk->context->arena;
    walk->item_of = ARENA_ARRAY(arena, int, walk->function->next_value_id);
    walk->wanted = ARENA_ARRAY(arena, bool, walk->function->next_value_id);
    walk->wait = -1;
    for (struct ir_operation *op = walk->function->body->first; op->opcode != OP_RETURN; op = op->next) {
        bool early = walk->wait < 0 && !is_waiting(op, false), varies = rewrite_holds(op, OP_GRID_INDEX);
        if (walk->wait < 0 && !early)
            walk->wait = walk->items.count;
        see_operands(walk, op, see_varying, &varies);
        bool same = !ir_has_effect(op) && !ir_may_read(op) && !ir_has_trait(op, IR_TRAIT_LOOP);
        struct item item = {op, early && !varies && (same || op->opcode == OP_ASSUME), false, !early};
        vector_push(arena, &walk->items, item);
        for (int i = 0; i < op->result_count; i++)
            walk->item_of[op->results[i]->id] = walk->items.count;
    }
}

/* Reads and effects keep their order, with what they need, in FIRST; what is computed beside them is left to REST. */
static void place_items(struct walk *walk)
{
    for (int i = walk->wait - 1; i >= 0; i--) {
        struct item *item = &walk->items.data[i];
        item->first |= !item->front && (ir_has_effect(item->op) || ir_may_read(item->op));
        if (item->first)
            see_operands(walk, item->op, see_needed, NULL);
        else
            item->rest = !item->front;
    }
    for (int i = walk->items.count - 1; i >= 0; i--)
        if (walk->items.data[i].rest)
            see_operands(walk, walk->items.data[i].op, see_rest, NULL);
    for (int i = 0; i < walk->wait; i++)
        for (int k = 0; k < walk->items.data[i].op->result_count; k++)
            if (walk->wanted[walk->items.data[i].op->results[k]->id])
                vector_push(walk->context->arena, &walk->carried, walk->items.data[i].op->results[k]);
}

/* Why the instances keep a block each, or NULL. */
static const char *obstacle(struct walk *walk)
{
    bool says = false;
    if (walk->wait < 0)
        return "no instance waits for another";
    for (int i = 0; i < walk->wait; i++)
        if (!is_free(walk->items.data[i].op, &says))
            return "what stands in front of the first wait does more than read and store";
    if (!says)
        return "an instance says nothing to others before it waits";
    for (int i = 0; i < walk->items.count; i++)
        if (rewrite_holds(walk->items.data[i].op, OP_DOT))
            return "loops with products have blocks of another form";
    place_items(walk);
    int64_t bits = 0, threads = 32 * (int64_t)walk->function->warps;
    for (int i = 0; i < walk->carried.count; i++) {
        const struct ir_type *type = walk->carried.data[i]->type;
        if (type->kind != IR_TILE || type->element == IR_POINTER)
            return "a pointer would be carried to the next turn";
        bits += ir_type_elements(type) * ir_element_info[type->element].bits;
    }
    return threads && bits / 32 / threads > MOST_CARRIED ? "two instances do not fit in registers" : NULL;
}

/* ---- building ---- */

static struct ir_value *index_number(struct walk *walk, int64_t number)
{
    return ir_constant_int(&walk->builder, ir_type_scalar(walk->function->module->context, IR_INDEX), number);
}

static struct ir_value *take_number(struct walk *walk)
{
    struct ir_builder *b = &walk->builder;
    const struct ir_type *type = ir_type_scalar(walk->function->module->context, IR_U64);
    struct ir_value *started = walk->function->body->arguments.data[walk->function->ordered - 1];
    struct ir_value *operands[] = {started, index_number(walk, 0), ir_constant_int(b, type, 1)};
    struct ir_operation *atomic = ir_build(b, OP_ATOMIC, 3, operands, 1, &type);
    const int64_t place[1] = {IR_POINT};
    ir_set_list(atomic, IR_ATTRIBUTE_PLACE, 1, place);
    ir_set_number(atomic, IR_ATTRIBUTE_INSIDE, 1);
    ir_set_number(atomic, IR_ATTRIBUTE_ACTION, IR_ACTION_ADD);
    ir_set_number(atomic, IR_ATTRIBUTE_ORDER, IR_ORDER_RELAXED);
    ir_set_number(atomic, IR_ATTRIBUTE_SCOPE, IR_SCOPE_GPU);
    return ir_cast(b, atomic->results[0], IR_INDEX);
}

static void measure_grid(struct walk *walk)
{
    struct ir_builder *b = &walk->builder;
    walk->programs = NULL;
    for (int d = 0; d < walk->function->grid_rank; d++) {
        walk->size[d] = ir_build_value(b, OP_GRID_SIZE, ir_type_scalar(walk->function->module->context, IR_INDEX), 0,
                                       NULL);
        ir_set_number(walk->size[d]->definition, IR_ATTRIBUTE_DIMENSION, d);
        walk->programs = d ? ir_binary(b, OP_MUL, walk->programs, walk->size[d]) : walk->size[d];
    }
}

/* Where the instance of a number stands in the grid.  What bounds it changes nothing, and tells what is known of
 * grid_index. */
static struct ir_value *coordinate_of(struct walk *walk, struct ir_value *number, int dimension)
{
    struct ir_builder *b = &walk->builder;
    int64_t limit = walk->function->grid_limit[dimension];
    for (int d = 0; d < dimension; d++)
        number = ir_binary(b, OP_DIV, number, walk->size[d]);
    if (dimension + 1 < walk->function->grid_rank)
        number = ir_binary(b, OP_REM, number, walk->size[dimension]);
    if (limit < 1 || limit > INT32_MAX)
        return number;
    struct ir_value *last = ir_constant_int(b, ir_type_scalar(walk->function->module->context, IR_U32), limit - 1);
    return ir_cast(b, ir_binary(b, OP_MIN, ir_cast(b, number, IR_U32), last), IR_INDEX);
}

struct placing {
    struct walk *walk;
    struct ir_value *number;
};

static void place_index(struct ir_operation *op, void *data)
{
    struct placing *placing = data;
    if (op->opcode != OP_GRID_INDEX)
        return;
    struct ir_builder outer = placing->walk->builder;
    placing->walk->builder = rewrite_before(op);
    struct ir_value *at = coordinate_of(placing->walk, placing->number, (int)ir_number(op, IR_ATTRIBUTE_DIMENSION, 0));
    ir_replace_uses(op->results[0], ir_cast(&placing->walk->builder, at, op->results[0]->type->element));
    ir_remove(op);
    placing->walk->builder = outer;
}

static void make_item(struct walk *walk, const struct remake *again, const struct ir_operation *op,
                      struct ir_value *number)
{
    if (op->opcode == OP_GRID_INDEX) {
        struct ir_value *at = coordinate_of(walk, number, (int)ir_number(op, IR_ATTRIBUTE_DIMENSION, 0));
        remake_set(again, op->results[0], ir_cast(&walk->builder, at, op->results[0]->type->element));
        return;
    }
    struct placing placing = {walk, number};
    const struct ir_operation *made = remake_operation(again, &walk->builder, op);
    for (int r = 0; r < made->region_count; r++)
        ir_walk(made->regions[r], place_index, &placing);
}

/* FIRST of the instance; the values it makes go to carried, the number behind it to *next.  That is asked for when what
 * FIRST reads is on its way, and needed only a turn later. */
static void make_first(struct walk *walk, struct ir_value *number, struct ir_value **next, struct ir_value **carried)
{
    struct remake again = remake_open(walk->context->arena, walk->function, NULL);
    int behind = -1;
    for (int i = 0; i < walk->wait; i++)
        if (walk->items.data[i].first && ir_has_trait(walk->items.data[i].op, IR_TRAIT_READ))
            behind = i;
    *next = behind < 0 ? take_number(walk) : NULL;
    for (int i = 0; i < walk->wait; i++) {
        if (walk->items.data[i].first)
            make_item(walk, &again, walk->items.data[i].op, number);
        if (i == behind)
            *next = take_number(walk);
    }
    for (int i = 0; i < walk->carried.count; i++)
        carried[i] = remake_find(&again, walk->carried.data[i]);
}

static void make_rest(struct walk *walk, struct ir_value *number, struct ir_value *const *carried)
{
    struct remake again = remake_open(walk->context->arena, walk->function, NULL);
    for (int i = 0; i < walk->carried.count; i++)
        remake_set(&again, walk->carried.data[i], carried[i]);
    for (int i = 0; i < walk->items.count; i++)
        if (walk->items.data[i].rest)
            make_item(walk, &again, walk->items.data[i].op, number);
}

static void yield(struct walk *walk, int count, struct ir_value *const *values)
{
    ir_build(&walk->builder, OP_YIELD, count, values, 0, NULL);
}

/* The loop's body.  State: the instances that wait, that speak, and that come behind, and what the first has carried. */
static void make_turn(struct walk *walk, struct ir_block *body, const struct ir_type *const *types)
{
    struct ir_builder *b = &walk->builder;
    int carried = walk->carried.count;
    struct ir_value **state = body->arguments.data;
    struct ir_value **made = ARENA_ARRAY(walk->context->arena, struct ir_value *, carried + NUMBERS);
    b->block = body;
    b->before = NULL;
    struct ir_value *speaks = ir_compare(b, IR_PREDICATE_LT, state[1], walk->programs);
    struct ir_operation *first = ir_build(b, OP_IF, 1, &speaks, carried + 1, types + 2);
    struct ir_value *waits = ir_compare(b, IR_PREDICATE_GE, state[0], index_number(walk, 0));
    struct ir_operation *rest = ir_build(b, OP_IF, 1, &waits, 0, NULL);
    made[0] = state[1];
    made[1] = state[2];
    for (int i = 0; i <= carried; i++)
        made[2 + i] = first->results[i];
    yield(walk, carried + NUMBERS, made);
    b->block = first->regions[0];
    make_first(walk, state[1], &made[0], made + 1);
    yield(walk, carried + 1, made);
    b->block = first->regions[1];
    yield(walk, carried + 1, state + 2);
    b->block = rest->regions[0];
    make_rest(walk, state[PLANTED(walk_ordered_goes_on_with_next)], state + NUMBERS);
    yield(walk, 0, NULL);
    b->block = rest->regions[1];
    yield(walk, 0, NULL);
}

static void make_loop(struct walk *walk)
{
    static const char *const names[NUMBERS] = {"waiting", "speaking", "coming"};
    struct arena *arena = walk->context->arena;
    struct ir_builder *b = &walk->builder;
    int count = walk->carried.count + NUMBERS;
    struct ir_value **state = ARENA_ARRAY(arena, struct ir_value *, count + 1);
    const struct ir_type **types = ARENA_ARRAY(arena, const struct ir_type *, count);
    *b = rewrite_before(walk->items.data[walk->wait].op);
    b->at = walk->function->at;
    measure_grid(walk);
    state[0] = index_number(walk, -1);
    state[1] = take_number(walk);
    state[2] = take_number(walk);
    for (int i = 0; i < count; i++) {
        types[i] = i < NUMBERS ? state[0]->type : walk->carried.data[i - NUMBERS]->type;
        state[i] = i < NUMBERS ? state[i] : ir_constant_bits(b, types[i], 0);
    }
    struct ir_operation *loop = ir_build(b, OP_WHILE, count, state, count, types);
    for (int i = 0; i < count; i++) {
        const char *name = i < NUMBERS ? names[i] : walk->carried.data[i - NUMBERS]->name;
        state[1 + i] = ir_block_argument(loop->regions[0], types[i], name);
        ir_block_argument(loop->regions[1], types[i], name);
    }
    b->block = loop->regions[0];
    b->before = NULL;
    state[0] = ir_compare(b, IR_PREDICATE_LT, state[1], walk->programs);
    ir_build(b, OP_CONDITION, count + 1, state, 0, NULL);
    make_turn(walk, loop->regions[1], types);
    for (int i = walk->items.count - 1; i >= 0; i--)
        if (!walk->items.data[i].front)
            ir_remove(walk->items.data[i].op);
}

bool pass_walk_ordered(struct ir_function *function, struct pass_context *context)
{
    struct walk walk = {.function = function, .context = context};
    if (!function->ordered || ir_walks_in_order(function))
        return false;
    list_items(&walk);
    const char *problem = obstacle(&walk);
    if (problem) {
        pass_remark(context, function->at, "each instance of the ordered grid has a block: %s", problem);
        return false;
    }
    if (!pass_fuel(context))
        return false;
    make_loop(&walk);
    function->persistent = 1; /* as many as fit, which is known behind ptxas */
    pass_remark(context, function->at,
                "a block takes instances of the ordered grid one after the other, and says what the next one brings "
                "before it waits");
    return true;
}
