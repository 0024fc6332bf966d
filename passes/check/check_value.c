/* The values of the machine level, compared with those of the Value level.  This checker knows neither the model of
 * loops nor their plans: it sees the function as it was in front of all passes that deal with them (the reference), the
 * function as it is behind the last one, and what operations mean.
 *
 *     %A = slot %ring, %slot          one slot too late, behind waits that are right:
 *     %p = dot_async %A, %B, %sum     error: stores another value than the program says
 *
 * What a value is.  Both functions are run by the same machinery as check_machine.c uses, for the same small extents:
 * the reference program by program, the machine block by block with all its roles.  Scalars that steer the run are
 * computed.  Of a tile only what made it is noted (check_value_make.c): an operation, and its operands as they were in
 * that iteration.  A slot of a ring holds what was last written to it; that no other write can come between is for
 * check_machine.c to say, which has passed.
 *
 * When are two values equal?  An element is asked for, and computed back to memory (check_value_element.c) in numbers
 * of which sums may be reordered or taken apart, while any other function is a hash (check_value_number.c).  Copies,
 * layouts, slots, boxes of TMA, phases, stages, parts of products, loads ahead, pieces of tiles and applications that
 * were fused drop out.  A wrong slot, box, iteration or accumulator does not.
 *
 * What is compared.  Of each write to memory a few elements: the value behind the last write of the machine to that
 * address must be that of the reference, the machine writes nowhere else, and what the reference writes the machine
 * writes, too.  Of atomics all that one address gets, in any order.
 *
 * What is not compared: what regions of reductions compute (their order is not known), sorts, histograms, asm with effects; what
 * hangs on numbers that are not computed; memory that the kernel itself has written is what it was at the start. */
#include "passes/check/check_value.h"

#include <stdlib.h>
#include <string.h>

#include "ir/query.h"

enum {
    STEPS = 60000,
    ELEMENTS = 300000, /* that one comparison may compute */
    ENOUGH = 15000,    /* behind which no other begins */
    SAMPLES = 24,
    MOST_PROGRAMS = 64
};

struct comparison {
    struct check check; /* of what runs */
    struct check_values values;
    const struct ir_function *reference, *machine;
    check_events wanted, made;
};

/* ---- running ---- */

static bool run(struct comparison *c, const struct ir_function *function, int64_t block, check_events *events)
{
    struct check *check = &c->check, fresh = *check;
    fresh.function = function;
    fresh.arena = c->values.arena;
    fresh.values = &c->values;
    fresh.steps = STEPS;
    c->values.events = events;
    c->values.run = (int)block;
    c->values.contents.count = 0;
    check_choose_block(&fresh, block);
    check_run(&fresh);
    return !fresh.found && fresh.steps > 0 && !c->values.lost;
}

static void ask_for_blocks(struct ir_operation *op, void *data)
{
    bool *asks = data;
    *asks |= op->opcode == OP_BLOCK_COUNT;
}

/* A function that never asks how many blocks there are runs one program, in a block of its own. */
static bool run_all(struct comparison *c)
{
    bool asks = false;
    int64_t programs = c->check.program_count, blocks = c->check.block_count;
    ir_walk(c->machine->body, ask_for_blocks, &asks);
    if (programs > MOST_PROGRAMS || (!asks && c->machine->cluster > 1))
        return false;
    for (int64_t p = 0; p < programs; p++)
        if (!run(c, c->reference, p, &c->wanted))
            return false;
    if (!asks)
        c->check.block_count = blocks = programs;
    for (int64_t b = 0; b < blocks; b++)
        if (!run(c, c->machine, b, &c->made))
            return false;
    return true;
}

/* ---- which elements a write writes ---- */

static int shape_of(const struct check_event *event, int64_t *extent)
{
    struct ir_access access;
    ir_access_of(event->op, &access);
    if (access.rank || access.view->type->kind == IR_VIEW)
        return ir_place_shape(&access, extent);
    memcpy(extent, access.view->type->extent, sizeof *extent * (size_t)access.view->type->rank);
    return access.view->type->rank;
}

/* Through a view, and no index is a tile: then elements have strides.  False: addresses are told element by element. */
static bool has_strides(struct comparison *c, const struct check_event *event, int64_t *stride)
{
    struct ir_access access;
    ir_access_of(event->op, &access);
    const struct check_value *held = check_value_operand(event->op, event->operands, access.view);
    const struct check_view *view = c->values.nodes.data[held->node].view;
    int next = 0;
    memset(stride, 0, sizeof *stride * IR_MAX_RANK);
    for (int d = 0; d < access.rank; d++) {
        if (access.place[d] == IR_GATHER)
            return false;
        if (view && access.place[d] > 0)
            stride[next++] = view->stride[d];
    }
    return view;
}

/* Goes from the largest stride to the smallest.  False: the distance is not one of the write's. */
static bool walk_strides(int rank, const int64_t *extent, const int64_t *stride, int64_t distance, int64_t *at)
{
    bool done[IR_MAX_RANK] = {false};
    for (int round = 0; round < rank; round++) {
        int next = -1;
        for (int d = 0; d < rank; d++)
            if (!done[d] && stride[d] > 0 && (next < 0 || stride[d] > stride[next]))
                next = d;
        if (next < 0)
            break;
        at[next] = distance / stride[next];
        if (distance < 0 || at[next] >= extent[next])
            return false;
        distance -= at[next] * stride[next];
        done[next] = true;
    }
    return distance == 0;
}

static bool reaches(struct comparison *c, const struct check_event *event, const int64_t *at, uint64_t *address)
{
    bool inside;
    return check_value_address(&c->check, event->op, event->operands, at, address, &inside) && inside;
}

/* The element of a write that lies at the address; where indexes are tiles only the one at `like` is asked. */
static bool find_element(struct comparison *c, const struct check_event *event, uint64_t address, const int64_t *like,
                         int64_t *at)
{
    int64_t extent[IR_MAX_RANK] = {0}, stride[IR_MAX_RANK];
    int rank = shape_of(event, extent);
    uint64_t found;
    bool inside;
    memset(at, 0, sizeof *at * IR_MAX_RANK);
    if (has_strides(c, event, stride)) {
        if (!check_value_address(&c->check, event->op, event->operands, at, &found, &inside) ||
            !walk_strides(rank, extent, stride, (int64_t)(address - found), at))
            return false;
    } else {
        for (int d = 0; d < rank; d++)
            at[d] = like[d] < extent[d] ? like[d] : 0;
    }
    return reaches(c, event, at, &found) && found == address;
}

/* ---- what stands at an address in the end ---- */

struct outcome {
    const struct check_event *event; /* the last; NULL: none */
    int64_t number;
    bool known;
    bool races;     /* several runs write it */
    bool scattered; /* some writes have indexes that are tiles: there may be others */
};
/* An element of a write. */
struct sample {
    uint64_t address;
    int64_t at[IR_MAX_RANK];
    bool atomic;
};

/* Also copies to memory that add. */
static bool is_atomic(const struct ir_operation *op)
{
    return ir_has_trait(op, IR_TRAIT_ATOMIC) || ir_attribute(op, IR_ATTRIBUTE_ACTION);
}

static struct outcome outcome_at(struct comparison *c, const check_events *events, const struct sample *sample)
{
    struct outcome outcome = {.known = true};
    int64_t at[IR_MAX_RANK], stride[IR_MAX_RANK], number;
    for (int i = 0; i < events->count; i++) {
        const struct check_event *event = &events->data[i];
        if (is_atomic(event->op) != sample->atomic)
            continue;
        outcome.scattered |= !has_strides(c, event, stride);
        if (!find_element(c, event, sample->address, sample->at, at))
            continue;
        outcome.races |= outcome.event && outcome.event->run != event->run;
        outcome.event = event;
        if (!check_value_written(&c->check, event, at, &number))
            outcome.known = false;
        else
            outcome.number = sample->atomic ? (int64_t)((uint64_t)outcome.number + check_mix((uint64_t)number, 3))
                                            : number;
    }
    return outcome;
}

/* ---- the report ---- */

static int compare_leaves(const void *x, const void *y)
{
    uint64_t a = ((const struct check_leaf *)x)->address, b = ((const struct check_leaf *)y)->address;
    return (a > b) - (a < b);
}

/* What elements of memory the outcome was made of. */
static void trace(struct comparison *c, const check_events *events, const struct sample *sample,
                  struct check_leaf **leaves, int *count)
{
    struct check_values *values = &c->values;
    values->room = values->count = 0;
    values->left = ELEMENTS;
    memset(&values->leaves, 0, sizeof values->leaves);
    values->tracing = true;
    outcome_at(c, events, sample);
    values->tracing = false;
    *leaves = values->leaves.data;
    *count = values->leaves.count;
    if (*count)
        qsort(*leaves, (size_t)*count, sizeof **leaves, compare_leaves);
}

/* The operation that read what the reference does not, or NULL. */
static const struct ir_operation *read_too_much(struct comparison *c, const struct sample *sample)
{
    struct check_leaf *wanted, *made;
    int wanted_count, made_count;
    trace(c, &c->wanted, sample, &wanted, &wanted_count);
    trace(c, &c->made, sample, &made, &made_count);
    for (int i = 0; i < made_count; i++)
        if (!wanted_count || !bsearch(&made[i], wanted, (size_t)wanted_count, sizeof *wanted, compare_leaves))
            return made[i].op;
    return NULL;
}

static void compare_at(struct comparison *c, const struct sample *sample, const struct ir_operation *op)
{
    struct outcome wanted = outcome_at(c, &c->wanted, sample);
    if (wanted.races && !sample->atomic)
        return;
    struct outcome made = outcome_at(c, &c->made, sample);
    bool spent = c->values.left <= 0;
    if (!wanted.event && !wanted.scattered && !spent) {
        check_report(&c->check, op, NULL, "writes where the program does not write");
    } else if (!made.event && !made.scattered && !spent) {
        check_report(&c->check, ir_terminator(c->machine->body), wanted.event->op,
                     "is reached, and what the program writes was not written everywhere");
    } else if (wanted.event && made.event && wanted.known && made.known && wanted.number != made.number) {
        const struct ir_operation *from = read_too_much(c, sample);
        if (from)
            check_report(&c->check, made.event->op, from,
                         "stores another value than the program says, made of what the program does not read for it");
        else
            check_report(&c->check, made.event->op, NULL, "stores another value than the program says");
    }
}

/* Elements drawn from all writes, as many as there is time for. */
static void compare_samples(struct comparison *c, const check_events *events)
{
    int64_t used = 0;
    for (int i = 0; i < SAMPLES && events->count && used < ENOUGH && !c->check.found; i++) {
        int64_t extent[IR_MAX_RANK] = {0};
        uint64_t chance = check_mix((uint64_t)i, (uint64_t)events->count);
        const struct check_event *event = &events->data[chance % (uint64_t)events->count];
        struct sample sample = {.atomic = is_atomic(event->op)};
        int rank = shape_of(event, extent);
        for (int d = 0; d < rank; d++) {
            chance = check_mix(chance, 5);
            sample.at[d] = (int64_t)(chance % (uint64_t)extent[d]);
        }
        c->values.left = ELEMENTS;
        if (reaches(c, event, sample.at, &sample.address))
            compare_at(c, &sample, event->op);
        used += ELEMENTS - c->values.left;
    }
}

/* ---- scenarios ---- */

static void compare(struct check *outer, const struct ir_function *reference, const struct check_scenario *scenario)
{
    struct comparison c = {.reference = reference, .machine = outer->function};
    c.values = (struct check_values){.arena = arena_create(), .left = ELEMENTS};
    c.check = (struct check){.function = outer->function,
                             .context = outer->context,
                             .arena = c.values.arena,
                             .values = &c.values,
                             .scenario = *scenario,
                             .bounds = outer->bounds,
                             .bound_by_loads = outer->bound_by_loads};
    vector_push(c.values.arena, &c.values.nodes, (struct check_node){0});
    check_choose_grid(&c.check);
    if (run_all(&c)) {
        compare_samples(&c, &c.made);
        compare_samples(&c, &c.wanted);
    }
    outer->found = c.check.found;
    arena_destroy(c.values.arena);
}

/* Whether a loop goes to an extent that the grid is made of. */
static bool loops_over_grid(const struct check *check)
{
    const struct ir_function *function = check->function;
    for (int i = 0; i < function->facts.count * IR_MAX_RANK; i++)
        for (int g = 0; g < function->grid_rank; g++)
            if (check->bounds[i].step && function->grid_class[g] &&
                function->facts.data[i / IR_MAX_RANK].extent_class[i % IR_MAX_RANK] == function->grid_class[g])
                return true;
    return false;
}

/* A few programs in each dimension of the grid, and loops that go round their rings more than once. */
void check_compare_values(struct check *check, const struct ir_function *reference)
{
    static const struct check_scenario scenarios[] = {
        {.grid_extent = 1, .other_extent = 700, .programs = 1, .scalar = 2, .around = {2, 1, 1}},
        {.grid_extent = 2, .other_extent = 1152, .programs = 3, .scalar = 5, .around = {3, 1, 1}},
        {.grid_extent = 6, .other_extent = 300, .programs = 5, .scalar = 3, .around = {2, 2, 1}}, /* loops_over_grid */
    };
    int count = loops_over_grid(check) ? 3 : 2;
    if (reference->body->arguments.count != check->function->body->arguments.count)
        return;
    for (int i = 0; i < count && !check->found; i++)
        compare(check, reference, &scenarios[i]);
}
