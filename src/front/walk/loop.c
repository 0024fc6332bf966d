/* Loops.  A plain `for` becomes the operation `for`; one that may break or return becomes a `while` that carries the
 * flag; `static for`, and every loop of a const fn, is walked turn by turn.  A variable that the body turns out not to
 * change is not carried. */
#include "base/plant.h"
#include "front/walk/control.h"

#include <string.h>

enum { MOST_TURNS = 65536 };

/* Leaves of the carried values, as block arguments see them. */
struct slot {
    struct value *value;
    struct ir_value *start, *argument, *end;
};
struct slots {
    struct slot *data;
    int count, capacity;
};

static void add_slots(struct elaborator *e, struct slots *slots, struct value *value)
{
    if (value->kind == VALUE_TUPLE) {
        value->list.data = arena_copy(e->arena, value->list.data, sizeof(struct value) * (size_t)value->list.count);
        for (int i = 0; i < value->list.count; i++)
            add_slots(e, slots, &value->list.data[i]);
        return;
    }
    if (value_is_constant(*value))
        *value = value_materialize(e, *value);
    if (value->kind == VALUE_RUN)
        vector_push(e->arena, slots, ((struct slot){value, value->run, NULL, NULL}));
}

/* Something of this type: 0, and null for a pointer. */
static struct value start_of_type(struct elaborator *e, const struct type *type, struct location at)
{
    struct value value = {.kind = VALUE_TUPLE, .at = at, .structure = type->structure};
    if (type->kind == TYPE_TUPLE || type->kind == TYPE_STRUCT) {
        value.list.count = type->count;
        value.list.data = ARENA_ARRAY(e->arena, struct value, type->count);
        for (int i = 0; i < type->count; i++)
            value.list.data[i] = start_of_type(e, type->members[i], at);
        return value;
    }
    struct value null = {.kind = VALUE_NULL, .at = at};
    bool pointer = type->plain->element == IR_POINTER;
    value = value_run(pointer ? convert_to_type(e, null, type->plain, false, "the result of the function")
                              : ir_constant_bits(&e->builder, type->plain, 0),
                      at);
    value.enumeration = type->enumeration;
    return value;
}

/* A result that is not there yet needs a start value of the declared type. */
static void start_result(struct elaborator *e, struct value *value, struct location at)
{
    if (value->kind == VALUE_VOID && e->frame->result_type)
        *value = start_of_type(e, e->frame->result_type, at);
}

static void prepare(struct elaborator *e, const struct carried *carried, struct slots *slots, struct location at)
{
    for (int i = 0; i < carried->count; i++) {
        struct binding *binding = carried->data[i];
        if (binding == &e->frame->result)
            start_result(e, &binding->value, at);
        add_slots(e, slots, &binding->value);
    }
}

/* New block arguments for all slots; the carried variables hold them. */
static void enter(struct elaborator *e, struct slots *slots, struct ir_block *block)
{
    (void)e;
    for (int i = 0; i < slots->count; i++) {
        slots->data[i].argument = ir_block_argument(block, slots->data[i].start->type, slots->data[i].start->name);
        slots->data[i].value->run = slots->data[i].argument;
    }
}

/* What the variables hold at the end of the body, in slot order. */
static void collect_ends(struct elaborator *e, struct slots *slots, struct value *value, int *next, struct location at)
{
    if (value->kind == VALUE_TUPLE) {
        for (int i = 0; i < value->list.count; i++)
            collect_ends(e, slots, &value->list.data[i], next, at);
        return;
    }
    if (value_is_constant(*value))
        *value = value_materialize(e, *value);
    if (value->kind != VALUE_RUN || *next >= slots->count)
        return;
    struct slot *slot = &slots->data[(*next)++];
    slot->end = value->run;
    const struct ir_type *type = slot->argument->type;
    /* the variable of a range, returned: index is the i64 of the language */
    if (value->run->type->element != type->element && element_same_language(value->run->type->element, type->element))
        slot->end = convert_to_element(e, *value, type->element, "a value carried by this loop");
    if (!slot->end || slot->end->type == type)
        return;
    slot->end = slot->argument;
    for (struct frame *f = e->frame; f; f = f->parent)
        if (f->lifted) {
            e->errors++;
            return;
        }
    front_report(e, DIAGNOSTIC_E0314, at, "a value carried by this loop changes its type from %s to %s",
                 front_type_text(e, slot->argument->type), front_type_text(e, value->run->type));
}

static void collect_all_ends(struct elaborator *e, const struct carried *carried, const struct value *after,
                             struct slots *slots, struct location at)
{
    int next = 0;
    for (int i = 0; i < carried->count; i++) {
        struct value end = carried->data[i]->value;
        if (after[i].kind != VALUE_RUN && after[i].kind != VALUE_TUPLE)
            continue;
        if (end.kind == VALUE_VOID || value_is_error(end))
            end = after[i];
        collect_ends(e, slots, &end, &next, at);
    }
    for (int i = 0; i < slots->count; i++)
        if (!slots->data[i].end)
            slots->data[i].end = slots->data[i].argument;
}

static void remove_argument(struct ir_block *block, struct ir_value *argument)
{
    for (int i = argument->index; i + 1 < block->arguments.count; i++) {
        block->arguments.data[i] = block->arguments.data[i + 1];
        block->arguments.data[i]->index = i;
    }
    block->arguments.count--;
}

/* Ends of a loop: the carried variables hold the results. */
static void leave(const struct carried *carried, struct value *after, struct slots *slots,
                  struct ir_operation *operation, int skip)
{
    int next = skip;
    for (int i = 0; i < slots->count; i++)
        slots->data[i].value->run = slots->data[i].argument ? operation->results[next++] : slots->data[i].start;
    for (int i = 0; i < carried->count; i++)
        carried->data[i]->value = after[i];
}

/* ---- the body ---- */

static void push_loop(struct elaborator *e, struct loop *loop, struct location at)
{
    *loop = (struct loop){.parent = e->frame->loop};
    loop->skip.value = loop->broken.value = value_bool(false, at);
    loop->skip.name = loop->broken.name = "";
    e->frame->loop = loop;
}

void loop_take_turn(struct elaborator *e, const struct ast_statement *statement, struct value turn)
{
    struct loop *loop = e->frame->loop;
    loop->skip.value = value_bool(false, statement->at);
    loop->broken.value = value_bool(false, statement->at);
    scope_push(e, false);
    if (statement->kind == STATEMENT_FOR)
        scope_bind(e, BINDING_RANGE, statement->names.data[0], turn);
    elaborate_statement(e, statement->then);
    scope_pop(e);
}

/* What the loop carries, without its own `skip`, which starts anew each turn; tells whether it may break. */
static bool scan_loop(struct elaborator *e, const struct ast_statement *statement, struct carried *carried)
{
    struct carried all = {0};
    bool breaks = false;
    carried_scan(e, &all, statement->then);
    for (int i = 0; i < all.count; i++) {
        if (all.data[i] == &e->frame->loop->skip)
            continue;
        if (all.data[i] == &e->frame->loop->broken) {
            breaks = true;
            continue;
        }
        carried_add(e, carried, all.data[i]);
    }
    return breaks;
}

/* ---- for ---- */

/* The variable of a range is i64, which does not hold each u64. */
static bool is_signed_enough(struct elaborator *e, struct value bound)
{
    if (bound.kind != VALUE_RUN || bound.run->type->rank > 0 || bound.run->type->element != IR_U64)
        return true;
    front_report(e, DIAGNOSTIC_E0305, bound.at,
                 "the variable of a range is i64, and u64 does not become that by itself; write `i64(...)`");
    return false;
}

static bool read_bounds(struct elaborator *e, const struct ast_range *range, struct loop_bounds *bounds)
{
    bounds->from = elaborate_value(e, range->from);
    bounds->to = elaborate_value(e, range->to);
    bounds->step = range->step ? elaborate_value(e, range->step) : value_integer(1, range->at);
    bounds->multiply = range->step_multiplies;
    if (value_is_error(bounds->from) || value_is_error(bounds->to) || value_is_error(bounds->step))
        return false;
    if (!is_signed_enough(e, bounds->from) || !is_signed_enough(e, bounds->to) || !is_signed_enough(e, bounds->step))
        return false;
    if (bounds->step.kind == VALUE_INTEGER &&
        (bounds->step.integer == 0 || (bounds->multiply && bounds->step.integer < 2))) {
        front_report(e, DIAGNOSTIC_E0507, range->at,
                     bounds->multiply ? "a factor of a range is 2 or more" : "the step of a range is not 0");
        return false;
    }
    if (bounds->multiply && bounds->from.kind == VALUE_INTEGER && bounds->from.integer < 1) {
        front_report(e, DIAGNOSTIC_E0507, range->at, "a range whose step multiplies starts at 1 or more");
        return false;
    }
    return true;
}

/* The bounds of a loop that runs.  A step, or a start that is multiplied, that no constant gives could keep the variable
 * where it is for ever, or turn it back:
 *
 *     for %k = %low to %high step %s    ->    for %k = %low to (%s >= 1 ? %high : %low) step %s
 *
 * so that such a range is empty, which every pass sees, and the loop itself is as it was. */
struct run_bounds {
    struct ir_value *low, *high, *step;
};

static struct ir_value *is_at_least(struct elaborator *e, struct ir_value *value, int64_t least)
{
    return ir_compare(&e->builder, IR_PREDICATE_GE, value, ir_constant_int(&e->builder, value->type, least));
}

/* Under --checks a range that would not advance is told; one whose start lies behind its end has no turns anyway. */
static void check_range(struct elaborator *e, const struct ast_range *range, const struct loop_bounds *bounds,
                        const struct run_bounds *run)
{
    struct arena *arena = e->front->arena;
    if (bounds->step.kind != VALUE_INTEGER) {
        int least = bounds->multiply ? 2 : 1;
        check_build(e, value_run(is_at_least(e, run->step, least), range->at),
                    arena_printf(arena, "the %s %s >= %d of a range", bounds->multiply ? "factor" : "step",
                                 front_source(e, range->step), least),
                    range->at);
    }
    if (bounds->multiply && bounds->from.kind != VALUE_INTEGER) {
        struct ir_value *empty = ir_compare(&e->builder, IR_PREDICATE_GE, run->low, run->high);
        check_build(e, value_run(ir_binary(&e->builder, OP_OR, is_at_least(e, run->low, 1), empty), range->at),
                    arena_printf(arena, "the start %s >= 1 of a range that multiplies", front_source(e, range->from)),
                    range->at);
    }
}

static struct ir_value *end_if_advancing(struct elaborator *e, const struct loop_bounds *bounds,
                                         const struct run_bounds *run)
{
    struct ir_value *advances = NULL;
    if (bounds->step.kind != VALUE_INTEGER)
        advances = is_at_least(e, run->step, bounds->multiply ? 2 : 1);
    if (bounds->multiply && bounds->from.kind != VALUE_INTEGER) {
        struct ir_value *starts = is_at_least(e, run->low, 1);
        advances = advances ? ir_binary(&e->builder, OP_AND, advances, starts) : starts;
    }
    return advances ? ir_select(&e->builder, advances, run->high, run->low) : run->high;
}

static bool build_bounds(struct elaborator *e, const struct ast_range *range, const struct loop_bounds *bounds,
                         struct run_bounds *run)
{
    run->low = convert_to_index(e, bounds->from, "the start of a range");
    run->high = convert_to_index(e, bounds->to, "the end of a range");
    run->step = convert_to_index(e, bounds->step, "the step of a range");
    if (!run->low || !run->high || !run->step)
        return false;
    if (e->front->options->check_asserts)
        check_range(e, range, bounds, run);
    run->high = end_if_advancing(e, bounds, run);
    return true;
}

static void build_for(struct elaborator *e, const struct ast_statement *statement, const struct loop_bounds *bounds,
                      struct carried *carried)
{
    struct run_bounds run;
    if (!build_bounds(e, statement->range, bounds, &run))
        return;
    struct slots slots = {0};
    prepare(e, carried, &slots, statement->at);
    struct value *after = carried_values(e, carried);
    for (int i = 0; i < carried->count; i++) /* slots point into `after`, so that results land there */
        for (int s = 0; s < slots.count; s++)
            if (slots.data[s].value == &carried->data[i]->value)
                slots.data[s].value = &after[i];
    struct ir_block *saved, *body = region_begin(e, &saved);
    struct ir_value *turn = ir_block_argument(body, ir_type_scalar(e->context, IR_INDEX),
                                              statement->names.data[0].text);
    if (nibbles_is_even(e, run.low) && (bounds->multiply || nibbles_is_even(e, run.step)))
        vector_push(e->arena, &e->even, turn);
    enter(e, &slots, body);
    carried_restore(carried, after);
    loop_take_turn(e, statement, value_run(turn, statement->at));
    collect_all_ends(e, carried, after, &slots, statement->at);
    struct ir_value **operands = ARENA_ARRAY(e->arena, struct ir_value *, slots.count + 3);
    struct ir_value **ends = ARENA_ARRAY(e->arena, struct ir_value *, slots.count);
    const struct ir_type **types = ARENA_ARRAY(e->arena, const struct ir_type *, slots.count);
    int count = 0;
    operands[0] = run.low;
    operands[1] = run.high;
    operands[2] = run.step;
    for (int i = 0; i < slots.count; i++) {
        struct slot *slot = &slots.data[i];
        if (slot->end == slot->argument) {
            ir_replace_uses(slot->argument, slot->start);
            remove_argument(body, slot->argument);
            for (int j = 0; j < slots.count; j++)
                if (slots.data[j].end == slot->argument && j != i)
                    slots.data[j].end = slot->start;
            slot->argument = NULL;
            slot->end = NULL;
        }
    }
    for (int i = 0; i < slots.count; i++)
        if (slots.data[i].argument) {
            operands[3 + count] = slots.data[i].start;
            ends[count] = slots.data[i].end;
            types[count++] = slots.data[i].start->type;
        }
    ir_build(&e->builder, OP_YIELD, count, ends, 0, NULL);
    region_end(e, saved);
    elaborate_at(e, statement->at);
    struct ir_operation *loop = ir_build(&e->builder, OP_FOR, 3 + count, operands, count, types);
    if (bounds->multiply)
        ir_set_number(loop, IR_ATTRIBUTE_MULTIPLY, 1);
    region_attach(loop, 0, body);
    leave(carried, after, &slots, loop, 0);
}

/* ---- while ---- */

struct while_loop {
    const struct ast_statement *statement;
    struct carried *carried;
    struct loop_bounds bounds; /* of a `for` */
    struct run_bounds run;     /* of a `for` */
    struct ir_value *highest;  /* of a `for` whose step multiplies: what still has a product */
    struct binding turn;       /* of a `for`: the variable */
    bool breaks;
};

/* The variable of a `for` in the next turn: the bound, which ends the loop, where the type does not have it.  The
 * limit of a step that multiplies stands before the loop. */
static struct ir_value *next_turn(struct elaborator *e, const struct while_loop *w, struct ir_value *turn)
{
    struct ir_builder *b = &e->builder;
    struct ir_value *next = ir_binary(b, w->bounds.multiply ? OP_MUL : OP_ADD, turn, w->run.step), *over;
    if (w->bounds.multiply)
        over = ir_compare(b, IR_PREDICATE_GT, turn, w->highest);
    else {
        bool down = w->bounds.step.kind == VALUE_INTEGER && w->bounds.step.integer < 0;
        over = ir_compare(b, down ? IR_PREDICATE_GT : IR_PREDICATE_LT, next, turn);
    }
    return ir_select(b, over, w->run.high, next);
}

/* The condition inside region 0: not broken, and the statement's own. */
static struct value while_condition(struct elaborator *e, struct while_loop *w)
{
    struct value own;
    if (w->statement->kind == STATEMENT_FOR) {
        bool down = w->bounds.step.kind == VALUE_INTEGER && w->bounds.step.integer < 0;
        down &= !PLANTED(front_breaking_loop_counts_up);
        own = value_run(
            ir_compare(&e->builder, down ? IR_PREDICATE_GT : IR_PREDICATE_LT, w->turn.value.run, w->run.high),
            w->statement->at);
        return own;
    }
    own = elaborate_condition(e, w->statement->condition, "the condition of `while`");
    if (own.kind == VALUE_BOOL)
        own = value_materialize(e, own);
    return own;
}

static struct value full_condition(struct elaborator *e, struct while_loop *w)
{
    if (!w->breaks)
        return while_condition(e, w);
    struct value broken = e->frame->loop->broken.value, own, joined;
    struct ir_block *saved, *test = region_begin(e, &saved);
    own = while_condition(e, w);
    region_end(e, saved);
    if (value_is_error(own))
        return own;
    if (region_is_speculable(test)) {
        region_splice(e, test);
        return operate_binary(e, OPERATOR_AND, condition_not(e, broken), own, w->statement->at);
    }
    struct ir_block *stopped = region_begin(e, &saved);
    region_end(e, saved);
    struct value no = value_bool(false, w->statement->at);
    join_branches(e, broken, stopped, test, 1, &no, &own, &joined, "the condition of a loop", false, w->statement->at);
    return joined;
}

static void build_while(struct elaborator *e, struct while_loop *w)
{
    struct loop *loop = e->frame->loop;
    struct slots slots = {0};
    if (w->breaks)
        carried_add(e, w->carried, &loop->broken);
    if (w->statement->kind == STATEMENT_FOR)
        carried_add(e, w->carried, &w->turn);
    prepare(e, w->carried, &slots, w->statement->at);
    struct value *after = carried_values(e, w->carried);
    for (int i = 0; i < w->carried->count; i++)
        for (int s = 0; s < slots.count; s++)
            if (slots.data[s].value == &w->carried->data[i]->value)
                slots.data[s].value = &after[i];
    struct ir_block *saved, *test = region_begin(e, &saved);
    enter(e, &slots, test);
    struct ir_value **tests = ARENA_ARRAY(e->arena, struct ir_value *, slots.count + 1);
    for (int i = 0; i < slots.count; i++)
        tests[i + 1] = slots.data[i].argument;
    carried_restore(w->carried, after);
    struct value condition = full_condition(e, w);
    if (!value_is_error(condition)) {
        tests[0] = condition.run;
        ir_build(&e->builder, OP_CONDITION, slots.count + 1, tests, 0, NULL);
    }
    region_end(e, saved);
    struct ir_block *body = region_begin(e, &saved);
    enter(e, &slots, body);
    carried_restore(w->carried, after);
    struct value turn = w->turn.value;
    loop_take_turn(e, w->statement, turn);
    if (w->statement->kind == STATEMENT_FOR)
        w->turn.value.run = next_turn(e, w, turn.run);
    collect_all_ends(e, w->carried, after, &slots, w->statement->at);
    struct ir_value **ends = ARENA_ARRAY(e->arena, struct ir_value *, slots.count);
    struct ir_value **starts = ARENA_ARRAY(e->arena, struct ir_value *, slots.count);
    const struct ir_type **types = ARENA_ARRAY(e->arena, const struct ir_type *, slots.count);
    for (int i = 0; i < slots.count; i++) {
        starts[i] = slots.data[i].start;
        ends[i] = slots.data[i].end;
        types[i] = slots.data[i].start->type;
    }
    ir_build(&e->builder, OP_YIELD, slots.count, ends, 0, NULL);
    region_end(e, saved);
    if (value_is_error(condition)) {
        carried_restore(w->carried, after);
        return;
    }
    elaborate_at(e, w->statement->at);
    struct ir_operation *operation = ir_build(&e->builder, OP_WHILE, slots.count, starts, slots.count, types);
    region_attach(operation, 0, test);
    region_attach(operation, 1, body);
    leave(w->carried, after, &slots, operation, 0);
}

/* ---- turn by turn ---- */

struct turns {
    const struct ast_statement *statement;
    wide_integer now, to, step;
    bool multiply;
    int count;
};

static bool more_turns(const struct turns *t)
{
    wide_integer to = t->to - (PLANTED(front_static_loop_one_too_few) && t->step > 0);
    return t->step > 0 ? t->now < to : t->now > to;
}

/* More turns than these are not worth being written out for the wrapper. */
enum { WRITTEN_TURNS = 8 };

static bool next_number(struct turns *t)
{
    return !(t->multiply ? __builtin_mul_overflow(t->now, t->step, &t->now)
                         : __builtin_add_overflow(t->now, t->step, &t->now));
}

static bool many_turns(const struct turns *t)
{
    struct turns ahead = *t;
    for (int i = 0; i <= WRITTEN_TURNS; i++)
        if (!more_turns(&ahead) || !next_number(&ahead))
            return false;
    return true;
}

/* The turns from here on, by a loop of the wrapper. */
static void host_turns(struct elaborator *e, void *context)
{
    const struct turns *t = context;
    struct location at = t->statement->at;
    struct loop_bounds bounds = {value_integer(t->now, at), value_integer(t->to, at), value_integer(t->step, at),
                                 t->multiply};
    host_loop(e, t->statement, &bounds);
}

static bool carries_host(struct elaborator *e, const struct ast_statement *body)
{
    struct carried carried = {0};
    carried_scan(e, &carried, body);
    for (int i = 0; i < carried.count; i++)
        if (carried.data[i]->value.kind == VALUE_HOST)
            return true;
    return false;
}

static void take_turns(struct elaborator *e, void *context)
{
    struct turns *t = context;
    struct loop *loop = e->frame->loop;
    while (more_turns(t)) {
        if (++t->count > MOST_TURNS || ++e->steps > 1000000) {
            front_report(e, DIAGNOSTIC_E0504, t->statement->at, "this loop takes more than %d turns while compiling",
                         MOST_TURNS);
            return;
        }
        int errors = e->errors;
        loop_take_turn(e, t->statement, value_integer(t->now, t->statement->at));
        if (!next_number(t) || e->errors != errors)
            return;
        struct value broken = loop->broken.value;
        if (broken.kind == VALUE_BOOL && broken.truth)
            return;
        bool by_wrapper = !e->function && !t->statement->is_static && many_turns(t);
        if (broken.kind == VALUE_BOOL && by_wrapper && carries_host(e, t->statement->then)) {
            host_turns(e, t);
            return;
        }
        if (broken.kind == VALUE_BOOL || !more_turns(t))
            continue;
        struct carried carried = {0};
        carried_scan(e, &carried, t->statement->then);
        control_when(e, condition_not(e, broken), &loop->broken, &carried, by_wrapper ? host_turns : take_turns, t,
                     t->statement->at);
        return;
    }
}

static void unrolled_for(struct elaborator *e, const struct ast_statement *statement, const struct loop_bounds *bounds)
{
    if (bounds->from.kind != VALUE_INTEGER || bounds->to.kind != VALUE_INTEGER || bounds->step.kind != VALUE_INTEGER) {
        if (!statement->is_static)
            host_loop(e, statement, bounds);
        else
            front_report(e, DIAGNOSTIC_E0501, statement->range->at,
                         "the bounds of `static for` must be integers known when compiling");
        return;
    }
    struct turns turns = {statement, bounds->from.integer, bounds->to.integer, bounds->step.integer, bounds->multiply,
                          0};
    take_turns(e, &turns);
}

static void after_loop(struct elaborator *e) { e->frame->loop = e->frame->loop->parent; }

/* When a `return` inside ended the loop, the turn of the outer loop ends, too: its flags were carried with the rest. */
void control_for(struct elaborator *e, const struct ast_statement *statement)
{
    struct loop_bounds bounds;
    struct loop *loop = ARENA_NEW(e->arena, struct loop);
    bool good = read_bounds(e, statement->range, &bounds);
    if (!good) {
        struct value none = value_error(statement->at);
        bounds = (struct loop_bounds){none, none, none, false};
        push_loop(e, loop, statement->at);
        struct carried carried = {0};
        carried_scan(e, &carried, statement->then);
        struct value *before = carried_values(e, &carried);
        struct ir_block *saved;
        region_begin(e, &saved);
        loop_take_turn(e, statement, value_error(statement->at));
        region_end(e, saved);
        carried_restore(&carried, before);
        after_loop(e);
        return;
    }
    push_loop(e, loop, statement->at);
    if (statement->is_static || !e->function) {
        unrolled_for(e, statement, &bounds);
        after_loop(e);
        return;
    }
    struct carried carried = {0};
    bool breaks = scan_loop(e, statement, &carried);
    if (!breaks) {
        build_for(e, statement, &bounds, &carried);
        after_loop(e);
        return;
    }
    struct while_loop w = {.statement = statement, .carried = &carried, .bounds = bounds, .breaks = true};
    if (build_bounds(e, statement->range, &bounds, &w.run)) {
        if (bounds.multiply) {
            struct ir_value *most = ir_constant_int(&e->builder, w.run.step->type, INT64_MAX);
            w.highest = ir_binary(&e->builder, OP_DIV, most, w.run.step);
        }
        w.turn.name = statement->names.data[0].text;
        w.turn.value = value_run(w.run.low, statement->at);
        build_while(e, &w);
    }
    after_loop(e);
}

static void host_while(struct elaborator *e, void *context) { host_loop(e, context, NULL); }

static void constant_while(struct elaborator *e, const struct ast_statement *statement)
{
    for (int turn = 0;; turn++) {
        struct value condition = elaborate_condition(e, statement->condition, "the condition of `while`");
        if (value_is_error(condition) || (condition.kind == VALUE_BOOL && !condition.truth))
            return;
        if (condition.kind != VALUE_BOOL) {
            host_loop(e, statement, NULL);
            return;
        }
        if (turn > MOST_TURNS || ++e->steps > 1000000) {
            front_report(e, DIAGNOSTIC_E0504, statement->at, "this loop takes more than %d turns while compiling",
                         MOST_TURNS);
            return;
        }
        int errors = e->errors;
        loop_take_turn(e, statement, value_error(statement->at));
        struct binding *broken = &e->frame->loop->broken;
        if (e->errors != errors || (broken->value.kind == VALUE_BOOL && broken->value.truth))
            return;
        if (broken->value.kind == VALUE_BOOL)
            continue;
        struct carried carried = {0};
        carried_scan(e, &carried, statement->then);
        control_when(e, condition_not(e, broken->value), broken, &carried, host_while, (void *)statement,
                     statement->at);
        return;
    }
}

void control_while(struct elaborator *e, const struct ast_statement *statement)
{
    struct loop *loop = ARENA_NEW(e->arena, struct loop);
    push_loop(e, loop, statement->at);
    if (!e->function)
        constant_while(e, statement);
    else {
        struct carried carried = {0};
        struct while_loop w = {.statement = statement, .carried = &carried};
        w.breaks = scan_loop(e, statement, &carried);
        build_while(e, &w);
    }
    after_loop(e);
}
