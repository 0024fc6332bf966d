/* Builds the loops that prefetch_loads.c decides on.
 *
 * Beside what the loop carries already it carries, for a greatest distance D:
 *     states   of each steady argument that loads ahead need: its values at the iterations i + 1 … i + D
 *     exists   (while) whether the iterations i + 1 … i + D come
 *     loads    of each load at distance d: its results for the iterations i … i + d - 1
 * Each yields what the next place holds, the last one something new. */
#include "base/plant.h"
#include "passes/base/remake.h"
#include "passes/base/rewrite.h"
#include "passes/loops/iteration.h"
#include "passes/loops/prefetch_loads.h"

struct state {
    int argument;
    struct ir_value **at;
}; /* [k]: at iteration i + k, k = 0 … D */
struct emission {
    struct prefetch *s;
    struct ir_context *types;
    struct ir_operation *loop;
    struct ir_block *body;
    VECTOR(struct state) states;
    struct ir_value **exists; /* [k] of while loops */
    struct ir_value ***ahead; /* [load][k] */
    bool *met;                /* by value id: its needs are among the states */
};

/* ---- values of other iterations ---- */

static bool is_for(const struct emission *e) { return e->loop->opcode == OP_FOR; }

/* The variable `count` iterations after `variable`. */
static struct ir_value *variable_after(const struct emission *e, struct ir_builder *builder, struct ir_value *variable,
                                       int count)
{
    return count ? ir_binary(builder, OP_ADD, variable, iteration_steps(builder, e->loop->operands[2], count))
                 : variable;
}

/* Whether the iteration `count` after `variable`, which is one itself, comes: the distance to the end is positive, so
 * that it is exact as an unsigned number. */
static struct ir_value *comes_after(const struct emission *e, struct ir_builder *builder, struct ir_value *variable,
                                    int count)
{
    struct ir_value *upper = e->loop->operands[1], *step = e->loop->operands[2];
    enum ir_element element = ir_element_info[variable->type->element].bits == 64 ? IR_U64 : IR_U32;
    bool down = iteration_goes_down(e->loop);
    struct ir_value *left = down ? ir_binary(builder, OP_SUB, variable, upper)
                                 : ir_binary(builder, OP_SUB, upper, variable);
    bool turned = down && !PLANTED(schedule_counts_down_as_up);
    struct ir_value *distance = iteration_steps(builder, step, turned ? -count : count);
    enum ir_predicate predicate = PLANTED(schedule_loads_beyond_end) ? IR_PREDICATE_GE : IR_PREDICATE_GT;
    return ir_compare(builder, predicate, ir_cast(builder, left, element), ir_cast(builder, distance, element));
}

static void map_states(const struct emission *e, const struct remake *again, int k)
{
    for (int i = 0; i < e->states.count; i++)
        remake_set(again, e->body->arguments.data[e->states.data[i].argument], e->states.data[i].at[k]);
}

/* For the iteration i + k of the new loop. */
static struct remake map_of(const struct emission *e, struct ir_builder *builder, int k)
{
    struct remake again = remake_open(e->s->context->arena, e->s->function, e->loop);
    struct ir_value *variable = e->body->arguments.data[0];
    map_states(e, &again, k);
    if (is_for(e) && k)
        remake_set(&again, variable, variable_after(e, builder, variable, k));
    return again;
}

/* ---- states ---- */

static void need(struct emission *e, const struct ir_value *value, const struct ir_block *block)
{
    const struct ir_operation *op = value->definition;
    if (e->met[value->id] || !ir_block_holds(block, value->block))
        return;
    e->met[value->id] = true;
    for (int i = 0; op && i < op->operand_count; i++)
        need(e, op->operands[i], block);
    if (op || (is_for(e) && value->index == 0))
        return;
    for (int i = 0; i < e->states.count; i++)
        if (e->states.data[i].argument == value->index)
            return;
    struct state state = {.argument = value->index};
    state.at = ARENA_ARRAY(e->s->context->arena, struct ir_value *, e->s->distance + 2);
    vector_push(e->s->context->arena, &e->states, state);
}

/* Steady arguments that loads ahead, the condition, and those arguments need. */
static void find_states(struct emission *e)
{
    const struct ir_operation *yield = ir_terminator(e->body);
    e->met = ARENA_ARRAY(e->s->context->arena, bool, e->s->function->next_value_id);
    for (int i = 0; i < e->s->loads.count; i++)
        for (int k = 0; e->s->loads.data[i].distance && k < e->s->loads.data[i].load->operand_count; k++)
            need(e, e->s->loads.data[i].load->operands[k], e->body);
    if (!is_for(e))
        need(e, ir_terminator(e->loop->regions[0])->operands[0], e->loop->regions[0]);
    for (int i = 0; i < e->states.count; i++)
        need(e, yield->operands[e->states.data[i].argument - is_for(e)], e->body);
}

/* The states of the iteration after the one that the map is of. */
static void next_states(const struct emission *e, struct ir_builder *builder, const struct remake *again, int k)
{
    const struct ir_operation *yield = ir_terminator(e->body);
    for (int i = 0; i < e->states.count; i++)
        e->states.data[i].at[k] = remake_value(again, builder, yield->operands[e->states.data[i].argument - is_for(e)]);
}

/* A while's condition for the states [k]. */
static struct ir_value *test_again(const struct emission *e, struct ir_builder *builder, int k)
{
    const struct ir_block *test = e->loop->regions[0];
    struct remake again = remake_open(e->s->context->arena, e->s->function, e->loop);
    for (int i = 0; i < e->states.count; i++)
        remake_set(&again, test->arguments.data[e->states.data[i].argument], e->states.data[i].at[k]);
    return remake_value(&again, builder, ir_terminator(test)->operands[0]);
}

/* ---- loads ---- */

/* Under `condition` the loads of the list, else nothing; results in its order. */
struct load_list {
    VECTOR(int) loads;
};

static void build_guarded(const struct emission *e, struct ir_builder *builder, struct ir_value *condition,
                          const struct load_list *list, const struct remake *again, struct ir_value **results)
{
    int count = list->loads.count;
    const struct ir_type **types = ARENA_ARRAY(e->s->context->arena, const struct ir_type *, count + 1);
    struct ir_value **values = ARENA_ARRAY(e->s->context->arena, struct ir_value *, count + 1);
    for (int i = 0; i < count; i++)
        types[i] = e->s->loads.data[list->loads.data[i]].load->results[0]->type;
    struct ir_operation *branch = ir_build(builder, OP_IF, 1, &condition, count, types);
    struct ir_builder inner = {.module = builder->module, .block = branch->regions[0], .at = builder->at};
    for (int i = 0; i < count; i++) {
        struct ir_operation *load = e->s->loads.data[list->loads.data[i]].load;
        values[i] = remake_value(again, &inner, load->results[0]);
    }
    ir_build(&inner, OP_YIELD, count, values, 0, NULL);
    struct ir_builder other = {.module = builder->module, .block = branch->regions[1], .at = builder->at};
    for (int i = 0; i < count; i++)
        values[i] = ir_build_value(&other, OP_UNDEFINED, types[i], 0, NULL);
    ir_build(&other, OP_YIELD, count, values, 0, NULL);
    for (int i = 0; i < count; i++)
        results[i] = branch->results[i];
}

static void take_all(const struct emission *e, struct load_list *list, int least, int most, bool late)
{
    list->loads.count = 0;
    for (int i = 0; i < e->s->loads.count; i++) {
        const struct scheduled_load *load = &e->s->loads.data[i];
        if (load->distance >= least && load->distance <= most && (!load->late || late))
            vector_push(e->s->context->arena, &list->loads, i);
    }
}

/* ---- in front of the loop ---- */

static struct ir_value *first_comes(const struct emission *e, struct ir_builder *builder)
{
    return is_for(e) ? iteration_comes(builder, e->loop, e->loop->operands[0], e->loop->operands[1])
                     : test_again(e, builder, 0);
}

/* Loads of the iterations 0 … D - 1, states of 0 … D, and which of these come. */
static void build_prologue(struct emission *e)
{
    struct ir_builder builder = rewrite_before(e->loop);
    struct prefetch *s = e->s;
    struct ir_value **results = ARENA_ARRAY(s->context->arena, struct ir_value *, s->loads.count + 1);
    struct load_list list = {0};
    for (int i = 0; i < e->states.count; i++)
        e->states.data[i].at[0] = e->loop->operands[e->states.data[i].argument + (is_for(e) ? 2 : 0)];
    for (int n = 0; n < s->distance; n++) {
        struct ir_value *comes = n ? NULL : first_comes(e, &builder);
        struct remake again = remake_open(e->s->context->arena, e->s->function, e->loop);
        map_states(e, &again, n);
        if (is_for(e)) {
            struct ir_value *lower = e->loop->operands[0];
            remake_set(&again, e->body->arguments.data[0], variable_after(e, &builder, lower, n));
            if (n)
                comes = ir_binary(&builder, OP_AND, e->exists[0], comes_after(e, &builder, lower, n));
        } else if (n) {
            comes = e->exists[n];
        }
        e->exists[n] = comes;
        take_all(e, &list, n + 1, s->distance, true);
        build_guarded(e, &builder, comes, &list, &again, results);
        for (int i = 0; i < list.loads.count; i++)
            e->ahead[list.loads.data[i]][n] = results[i];
        /* what is made under the condition is not seen here */
        again = remake_open(e->s->context->arena, e->s->function, e->loop);
        map_states(e, &again, n);
        if (is_for(e))
            remake_set(&again, e->body->arguments.data[0], variable_after(e, &builder, e->loop->operands[0], n));
        next_states(e, &builder, &again, n + 1);
        if (!is_for(e))
            e->exists[n + 1] = ir_binary(&builder, OP_AND, comes, test_again(e, &builder, n + 1));
    }
}

/* ---- the loop ---- */

/* Carries everything that is ahead; afterwards states, exists and ahead are the body's. */
static void carry(struct emission *e)
{
    struct prefetch *s = e->s;
    struct arena *arena = s->context->arena;
    VECTOR(struct ir_value *) initial = {0};
    VECTOR(const char *) names = {0};
    VECTOR(struct ir_value **) places = {0};
#define CARRY(place, name) \
    (vector_push(arena, &places, &(place)), vector_push(arena, &initial, (place)), vector_push(arena, &names, (name)))
    for (int i = 0; i < e->states.count; i++)
        for (int k = 1; k <= s->distance; k++)
            CARRY(e->states.data[i].at[k], e->body->arguments.data[e->states.data[i].argument]->name);
    for (int k = 1; !is_for(e) && k <= s->distance; k++)
        CARRY(e->exists[k], "comes");
    for (int i = 0; i < s->loads.count; i++)
        for (int k = 0; k < s->loads.data[i].distance; k++)
            CARRY(e->ahead[i][k], s->loads.data[i].load->results[0]->name);
#undef CARRY
    bool counted = is_for(e);
    e->loop = rewrite_carry(arena, e->loop, initial.count, initial.data, names.data);
    e->body = e->loop->regions[counted ? 0 : 1];
    const struct ir_block *body = e->body;
    for (int i = 0; i < places.count; i++)
        *places.data[i] = body->arguments.data[body->arguments.count - places.count + i];
    for (int i = 0; i < e->states.count; i++)
        e->states.data[i].at[0] = body->arguments.data[e->states.data[i].argument];
}

static struct ir_value *comes(const struct emission *e, struct ir_builder *builder, int k)
{
    return is_for(e) ? comes_after(e, builder, e->body->arguments.data[0], k) : e->exists[k];
}

/* Maps the loads of iteration i + k that earlier rounds, or an earlier list of this one, have made. */
static void map_loads(const struct emission *e, const struct remake *again, int k)
{
    for (int i = 0; i < e->s->loads.count; i++)
        if (e->s->loads.data[i].distance >= k && e->ahead[i][k])
            remake_set(again, e->s->loads.data[i].load->results[0], e->ahead[i][k]);
}

static void build_stage(struct emission *e, struct ir_builder *builder, const struct load_list *list, int k)
{
    struct ir_value **results = ARENA_ARRAY(e->s->context->arena, struct ir_value *, list->loads.count + 1);
    if (!list->loads.count)
        return;
    builder->at = e->s->loads.data[list->loads.data[0]].load->at;
    struct ir_value *condition = comes(e, builder, k);
    struct remake again = map_of(e, builder, k);
    map_loads(e, &again, k);
    build_guarded(e, builder, condition, list, &again, results);
    for (int i = 0; i < list->loads.count; i++)
        e->ahead[list->loads.data[i]][k] = results[i];
}

/* Loads that only move to the top of their iteration. */
static void build_early(struct emission *e, struct ir_operation *top)
{
    struct ir_builder builder = rewrite_before(top);
    struct remake again = remake_open(e->s->context->arena, e->s->function, e->loop);
    for (int i = 0; i < e->body->arguments.count; i++)
        remake_set(&again, e->body->arguments.data[i], e->body->arguments.data[i]);
    for (int i = 0; i < e->s->loads.count; i++)
        if (e->s->loads.data[i].distance)
            remake_set(&again, e->s->loads.data[i].load->results[0], e->ahead[i][0]);
    for (int i = 0; i < e->s->loads.count; i++) {
        const struct scheduled_load *load = &e->s->loads.data[i];
        if (load->early)
            e->ahead[i][0] = remake_value(&again, &builder, load->load->results[0]);
    }
}

/* The furthest ahead first. */
static void build_ahead(struct emission *e, struct ir_operation *place)
{
    struct ir_builder builder = rewrite_before(place);
    struct load_list list = {0};
    for (int k = e->s->distance; k > 0; k--) {
        take_all(e, &list, k, k, false);
        build_stage(e, &builder, &list, k);
    }
}

static void yield_next(struct emission *e)
{
    struct ir_operation *yield = ir_terminator(e->body);
    struct ir_builder builder = rewrite_before(yield);
    int last = e->s->distance;
    struct remake again = map_of(e, &builder, last);
    next_states(e, &builder, &again, last + 1);
    for (int i = 0; i < e->states.count; i++)
        for (int k = 1; k <= last; k++)
            ir_add_operand(yield, e->states.data[i].at[k + !PLANTED(schedule_state_stands_still)]);
    for (int k = 1; !is_for(e) && k <= last; k++)
        ir_add_operand(yield, k < last ? e->exists[k + 1]
                                       : ir_binary(&builder, OP_AND, e->exists[k], test_again(e, &builder, k + 1)));
    for (int i = 0; i < e->s->loads.count; i++)
        for (int k = 0; k < e->s->loads.data[i].distance; k++)
            ir_add_operand(yield, e->ahead[i][k + 1]);
}

void prefetch_emit(struct prefetch *s)
{
    struct arena *arena = s->context->arena;
    struct emission e = {.s = s, .types = s->function->module->context, .loop = s->loop, .body = s->body};
    struct load_list list = {0};
    e.exists = ARENA_ARRAY(arena, struct ir_value *, s->distance + 2);
    e.ahead = ARENA_ARRAY(arena, struct ir_value **, s->loads.count);
    for (int i = 0; i < s->loads.count; i++)
        e.ahead[i] = ARENA_ARRAY(arena, struct ir_value *, s->distance + 2);
    if (s->distance) {
        find_states(&e);
        build_prologue(&e);
        carry(&e);
    }
    build_early(&e, e.body->first);
    build_ahead(&e, s->fenced ? s->fenced->next : e.body->first);
    for (int i = 0; i < s->loads.count; i++)
        if (s->loads.data[i].late) {
            struct ir_builder builder = rewrite_before(s->loads.data[i].behind->next);
            list.loads.count = 0;
            vector_push(arena, &list.loads, i);
            build_stage(&e, &builder, &list, 1);
        }
    if (s->distance)
        yield_next(&e);
    for (int i = s->loads.count - 1; i >= 0; i--)
        if (e.ahead[i][0]) {
            ir_replace_uses(s->loads.data[i].load->results[0], e.ahead[i][0]);
            ir_remove(s->loads.data[i].load);
        }
}
