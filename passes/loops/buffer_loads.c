/* buffer_loads: wide loads of a loop go through shared memory, where copies can run ahead.  (Loads that are factors of
 * a product have been taken by buffer_operands.)
 *
 *     for %j = %lo to %hi step %s iter(%acc …) {
 *         %v = load %x[%m, %j +: 16384], %zero
 *         %sum = add %acc, %v
 *         yield %sum
 *     }
 * becomes
 *     %X = buffer : buffer<f32, [16384], slots(1), #…>            in front of everything
 *     for %j = … {
 *         %t = copy_async %x[%m, %j +: 16384], %X                  wait %t
 *         %v = buffer_load %X
 *         %sum = add %acc, %v
 *         yield %sum
 *     }
 * and prefetch_copies makes a ring of the buffer.
 *
 * When it is done.  Registers must be too few for prefetch_loads to carry the loads of coming iterations, and
 * loop_model must say that it pays.  Without a buffer, other blocks of the multiprocessor hide the latency, as many as
 * registers allow.  With a buffer, a block hides its own latency, but takes shared memory from other blocks, and from
 * the cache through which other loads go.  Loops of few iterations lose by it (up to a quarter, measured); so the
 * number of iterations must be known, or the step be one that is known only when running, or the program must ask by
 * `stages`.  (Gradients of a norm over 16384 rows of 4096 bf16 by blocks that walk over them, on an H200: 0.65 of a copy's
 * rate with loads in registers, 0.97 with rings.)
 *
 * Loops with products.  A load that some product does not wait for is hidden by that product already.  A load that all
 * products wait for, such as weights that are computed from fewer bits, goes through a buffer as a factor would,
 * whatever the number of iterations, if the products are wgmma.  (H200, time before by time behind: 4-bit weights
 * 1.14, with 256 rows 1.10, factors that are parts of a row 1.05.  With mma.sync, where other warps compute meanwhile,
 * 0.72 to 1.06.)  So do all loads of a product that reads both factors from registers: each warp reads the same few rows
 * of the second, a piece of each at a time, which from shared memory takes a quarter of the time.  (H200, 16 rows by
 * 8192 x 8192 4-bit weights: 27 us, with loads ahead in registers 37.)
 *
 * Right because the program is still sequential: a buffer is complete before it is read (wait), and read before it is
 * written again (insert_barriers).  Loops side by side use one buffer in turn. */
#include "ir/facts/analysis.h"
#include "passes/loops/ring_plan.h"

#include "passes/layout/memory_access.h"
#include "passes/loops/iteration.h"
#include "passes/base/budget.h"
#include "passes/base/planning.h"
#include "passes/base/rewrite.h"
#include "passes/loops/buffer_copy.h"

enum {
    LEAST_BYTES = 8, /* of a thread's copy, at once */
    LEAST_SLOTS = 2,
    ASKED_STAGES = 3,
    MOST_BLOCKS = 2,     /* more on a multiprocessor hide each other's latency */
    LEAST_ITERATIONS = 8 /* fewer do not pay for the trips through shared memory */
};
static const double LEAST_GAIN = 1.1;

struct staged_load {
    struct ir_operation *load;
    const struct ir_type *buffer;
    int registers;
    int64_t bytes;
    bool chosen;
};
struct used_buffer {
    struct ir_value *buffer;
    const struct ir_operation *loop;
};
struct load_staging {
    struct pass_context *context;
    struct ir_function *function;
    VECTOR(struct ir_operation *) loops;
    VECTOR(struct used_buffer) buffers;
    bool copies; /* of factors, by buffer_operands */
};
struct candidates {
    const struct ir_operation *loop;
    VECTOR(struct staged_load) loads;
    int all_registers; /* of loads of one iteration, these and others */
    int64_t all_bytes;
};

/* ---- what can go through shared memory ---- */

static bool is_load(const struct ir_operation *op) { return op->opcode == OP_LOAD && op->results[0]->type->rank > 0; }

/* Whether the tile's registers read the buffer without conflicts of banks. */
static bool reads_freely(const struct ir_type *tile, const struct layout *buffer)
{
    int bytes = ir_element_info[tile->element].bits / 8, ideal;
    int vector = layout_memory_vector(tile->layout, buffer, 16 / bytes).size;
    int taken = layout_bank_wavefronts(tile->layout, buffer, bytes, vector, &ideal);
    return taken <= ideal;
}

/* One whose rows are turned against each other, for fragments: lanes of one access read a piece of each of several rows. */
static const struct layout *turned_for(const struct load_staging *s, const struct ir_type *tile, int contiguous)
{
    struct layout_table *table = ir_context_layouts(s->function->module->context);
    int bytes = ir_element_info[tile->element].bits / 8;
    if (tile->rank != 2 || contiguous != 1)
        return NULL;
    for (int step = 0; step < 3; step++) {
        const struct layout *turned = layout_turned(table, (int[]){(int)tile->extent[0], (int)tile->extent[1]}, bytes,
                                                    step);
        if (turned && reads_freely(tile, turned))
            return turned;
    }
    return NULL;
}

/* The buffer that the load's registers read without conflicts of banks; NULL: *reason says why there is none. */
static const struct ir_type *buffer_for(const struct load_staging *s, const struct ir_operation *load,
                                        const char **reason)
{
    const struct ir_type *tile = load->results[0]->type;
    struct layout_table *table = ir_context_layouts(s->function->module->context);
    struct memory_access access;
    int extent[LAYOUT_RANK], order[LAYOUT_RANK], next = 0;
    memory_access_of(load, &access);
    order[next++] = access.dimension;
    for (int d = tile->rank - 1; d >= 0; d--) {
        extent[d] = (int)tile->extent[d];
        if (d != access.dimension)
            order[next++] = d;
    }
    const struct layout *linear = layout_linear(table, tile->rank, extent, order);
    if (!linear || !reads_freely(tile, linear)) {
        linear = turned_for(s, tile, access.dimension);
        if (!linear) {
            *reason = "threads would meet in banks of shared memory when they read it";
            return NULL;
        }
    }
    return ir_type_buffer(s->function->module->context, tile->element, tile->rank, tile->extent, linear, 1);
}

/* Few turns in one block of many, behind the loops whose rings want the memory: parts that `split_k` adds. */
static bool is_own_memory(const struct load_staging *s, const struct ir_value *view)
{
    return !view->definition && view->block == s->function->body && view->index < s->function->facts.count &&
           s->function->facts.data[view->index].own;
}

/* NULL: the load can be an asynchronous copy. */
static const char *problem_of_load(const struct load_staging *s, const struct ir_operation *loop,
                                   const struct ir_operation *load)
{
    struct ir_access access;
    uint64_t other;
    if (!ir_access_of(load, &access) || access.mask)
        return "it is masked";
    if (is_own_memory(s, access.view))
        return "memory of the launch is read by few instances, and would take shared memory from all";
    for (int d = 0; d < access.rank; d++)
        if (access.place[d] == IR_GATHER)
            return "it gathers";
    if (!access.other || !ir_constant_of(access.other, &other) || other != 0)
        return "what lies outside the view is not zero";
    if (memory_copy_bytes(load) < LEAST_BYTES)
        return "strides and starts are not known to be multiples of 8 bytes";
    return iteration_read_problem(loop, load);
}

static bool is_product(const struct ir_operation *op) { return op->opcode == OP_DOT || op->opcode == OP_DOT_ASYNC; }

static bool is_wgmma(const struct ir_operation *op)
{
    return ir_number(op, IR_ATTRIBUTE_INSTRUCTION, IR_INSTRUCTION_FMA) == IR_INSTRUCTION_WGMMA;
}

/* Both factors are made in registers, for one instruction after the other. */
static bool keeps_factors(const struct ir_operation *op)
{
    return op->opcode == OP_DOT_ASYNC && op->operands[1]->type->kind == IR_TILE;
}

static bool has_kept_factors(const struct ir_operation *loop)
{
    for (const struct ir_operation *op = loop->regions[0]->first; op; op = op->next)
        if (keeps_factors(op))
            return true;
    return false;
}

static bool has_product(const struct ir_operation *loop)
{
    for (const struct ir_operation *op = loop->regions[0]->first; op; op = op->next)
        if (is_product(op))
            return true;
    return false;
}

static bool uses_marked(const struct ir_operation *op, const bool *marked)
{
    for (int i = 0; i < op->operand_count; i++)
        if (marked[op->operands[i]->id])
            return true;
    for (int r = 0; r < op->region_count; r++)
        for (const struct ir_operation *inner = op->regions[r]->first; inner; inner = inner->next)
            if (uses_marked(inner, marked))
                return true;
    return false;
}

/* A product runs while the load is on its way: one of this iteration that takes nothing from it, or another warp's.  Of few
 * columns and factors in registers it is too short for that. */
static bool is_hidden(const struct load_staging *s, const struct ir_operation *loop, const struct ir_operation *load)
{
    bool *marked = ARENA_ARRAY(s->context->arena, bool, s->function->next_value_id);
    marked[load->results[0]->id] = true;
    for (const struct ir_operation *op = loop->regions[0]->first; op; op = op->next) {
        bool used = uses_marked(op, marked);
        if (is_product(op) && !keeps_factors(op) && (!used || !is_wgmma(op)))
            return true;
        if (!used)
            continue;
        if (op->opcode == OP_BUFFER_STORE)
            marked[op->operands[1]->id] = true;
        for (int i = 0; i < op->result_count; i++)
            marked[op->results[i]->id] = true;
    }
    return false;
}

static const char *problem_of_loop(const struct ir_operation *loop)
{
    int64_t step;
    if (ir_constant_integer(loop->operands[2], &step) && (step == 0 || step > INT32_MAX / 8 || step < -INT32_MAX / 8))
        return "its step is too wide";
    return iteration_loop_problem(loop);
}

/* At least so many iterations.  A step that is known only when running is the number of those who share the turns, such as
 * blocks that walk over rows: each has many. */
static int64_t least_iterations(const struct load_staging *s, const struct ir_operation *loop)
{
    const struct ranges *ranges = s->context->ranges;
    struct range lower = range_of(ranges, loop->operands[0]), upper = range_of(ranges, loop->operands[1]);
    int64_t step, distance;
    if (!ir_constant_integer(loop->operands[2], &step))
        return LEAST_ITERATIONS;
    bool wraps = step > 0 ? __builtin_sub_overflow(upper.low, lower.high, &distance)
                          : __builtin_sub_overflow(lower.low, upper.high, &distance);
    return wraps || distance <= 0 ? 0 : distance / (step > 0 ? step : -step);
}

/* Programs that walk over rows, as many as there are programs, and reduce each. */
static bool walks_over_rows(const struct ir_operation *loop)
{
    int64_t step;
    if (ir_constant_integer(loop->operands[2], &step))
        return false;
    for (const struct ir_operation *op = loop->regions[0]->first; op; op = op->next)
        if (op->opcode == OP_REDUCE)
            return true;
    return false;
}

static struct candidates find_candidates(const struct load_staging *s, struct ir_operation *loop, const char **reason)
{
    struct candidates c = {.loop = loop};
    for (struct ir_operation *op = loop->regions[0]->first; op; op = op->next) {
        if (!is_load(op))
            continue;
        struct staged_load load = {.load = op, .registers = prefetch_registers(op->results[0])};
        c.all_registers += load.registers;
        load.bytes = ir_type_elements(op->results[0]->type) * ir_element_info[op->results[0]->type->element].bits / 8;
        c.all_bytes += load.bytes;
        const char *problem = problem_of_load(s, loop, op);
        if (!problem && is_hidden(s, loop, op))
            problem = "a product hides their latency";
        if (!problem)
            load.buffer = buffer_for(s, op, &problem);
        if (load.buffer)
            vector_push(s->context->arena, &c.loads, load);
        else
            *reason = problem;
    }
    return c;
}

/* ---- whether it pays ---- */

static bool is_any_load(const struct ir_operation *op, const void *context)
{
    (void)context;
    return is_load(op);
}

/* The widest first, until registers hold what is left.  Returns the bytes of the chosen ones. */
static int64_t choose_widest(struct candidates *c, int room)
{
    int left = c->all_registers;
    int64_t bytes = 0;
    while (left > room) {
        struct staged_load *widest = NULL;
        for (int i = 0; i < c->loads.count; i++)
            if (!c->loads.data[i].chosen && (!widest || c->loads.data[i].registers > widest->registers))
                widest = &c->loads.data[i];
        if (!widest)
            break;
        widest->chosen = true;
        left -= widest->registers;
        bytes += widest->bytes;
    }
    return bytes;
}

/* Cycles that a block spends on an iteration's trips through shared memory. */
static double cost_of_trips(const struct load_staging *s, const struct candidates *c)
{
    double cycles = 50; /* the wait and the barrier */
    for (int i = 0; i < c->loads.count; i++)
        if (c->loads.data[i].chosen) {
            double pieces = (double)c->loads.data[i].bytes / 512; /* instructions of a warp, 16 bytes a lane */
            cycles += 2 * pieces;                                 /* written by copies and read: 128 bytes a cycle */
            cycles += s->function->warps;
        }
    return cycles;
}

/* Cycles from one iteration to the next, of so many blocks together that share issue and memory. */
static double cycles_beside(const struct loop_model *model, double more, double transfer, bool waits, int blocks)
{
    double issue = more, chain = model->chain + more + (waits ? transfer : 0);
    for (int i = 0; i < model->count; i++)
        issue += model->operations[i].cost.issue;
    double cycles = chain / blocks > issue ? chain / blocks : issue;
    return cycles > transfer ? cycles : transfer;
}

/* Why the ring does not pay, or NULL; *before and *behind: cycles of an iteration, without and with it. */
static const char *problem_of_gain(const struct load_staging *s, const struct candidates *c, int taken,
                                   int64_t ring_bytes, double *before, double *behind)
{
    const struct ir_block *body = c->loop->regions[0];
    struct arena *arena = s->context->arena;
    const struct target_row *target = s->context->target;
    struct loop_model waiting = loop_model_make(arena, target, body, NULL, NULL);
    struct loop_model running = loop_model_make(arena, target, body, is_any_load, NULL);
    double transfer = ring_plan_latency(target, c->all_bytes) - ring_plan_latency(target, 0);
    int blocks = loop_model_residents(s->function, target, taken + LOOP_MODEL_SPARE);
    int64_t beside = budget_shared_beside(budget_scratch(s->function, arena));
    bool walks = walks_over_rows(c->loop) || has_kept_factors(c->loop);
    int staged = loop_model_residents_beside(target, blocks, LEAST_SLOTS * ring_bytes + beside);
    if (!staged)
        return "two slots of its buffers do not fit into shared memory";
    if (blocks > MOST_BLOCKS && !s->function->stages && !walks)
        return arena_printf(arena, "%d blocks on a multiprocessor hide each other's latency", blocks);
    double trips = cost_of_trips(s, c);
    *before = cycles_beside(&waiting, 0, transfer, true, blocks);
    *behind = cycles_beside(&running, trips, transfer, false, staged);
    if (*before < *behind && !walks) /* programs enough to fill the multiprocessor */
        return arena_printf(arena,
                            "an iteration would take %.0f cycles instead of %.0f, with %d block%s on a "
                            "multiprocessor instead of %d",
                            *behind, *before, staged, staged == 1 ? "" : "s", blocks);
    *before = cycles_beside(&waiting, 0, transfer, true, 1); /* and few */
    *behind = cycles_beside(&running, trips, transfer, false, 1);
    return walks || *before > LEAST_GAIN * *behind
               ? NULL
               : arena_printf(arena, "an iteration would take %.0f cycles instead of %.0f", *behind, *before);
}

/* ---- building ---- */

static bool is_around(const struct ir_operation *outer, const struct ir_operation *inner)
{
    return ir_ancestor_in(outer->block, inner) == outer;
}

/* A buffer that only loops beside this one use, or a new one. */
static struct ir_value *take_buffer(struct load_staging *s, const struct ir_type *type, const struct ir_operation *loop,
                                    struct location at)
{
    for (int i = 0; i < s->buffers.count; i++) {
        struct used_buffer *old = &s->buffers.data[i];
        if (old->buffer->type != type || is_around(old->loop, loop) || is_around(loop, old->loop))
            continue;
        old->loop = loop;
        return old->buffer;
    }
    struct ir_builder front = {
        .module = s->function->module, .block = s->function->body, .before = s->function->body->first, .at = at};
    struct used_buffer made = {ir_build_value(&front, OP_BUFFER, type, 0, NULL), loop};
    vector_push(s->context->arena, &s->buffers, made);
    return made.buffer;
}

static void stage(struct load_staging *s, const struct ir_operation *loop, const struct staged_load *staged)
{
    struct ir_operation *load = staged->load;
    struct ir_value *buffer = take_buffer(s, staged->buffer, loop, load->at);
    struct ir_builder builder = rewrite_before(load);
    struct ir_value *token = buffer_copy_build(s->context->arena, &builder, load, buffer);
    ir_build(&builder, OP_WAIT, 1, &token, 0, NULL);
    struct ir_value *tile = ir_build_value(&builder, OP_BUFFER_LOAD, load->results[0]->type, 1, &buffer);
    tile->name = load->results[0]->name;
    ir_replace_uses(load->results[0], tile);
    ir_remove(load);
}

/* ---- the pass ---- */

static bool stage_loop(struct load_staging *s, struct ir_operation *loop)
{
    const char *reason = NULL;
    double before = 0, behind = 0;
    struct candidates c = find_candidates(s, loop, &reason);
    int taken = c.all_registers ? loop_model_pressure(s->context->arena, loop->regions[0]) : 0;
    int room = loop_model_registers(s->function, s->context->target, loop, loop->regions[0]) - LOOP_MODEL_SPARE - taken;
    if (walks_over_rows(loop) || has_kept_factors(loop))
        room = 0;
    if (c.all_registers <= room || !c.all_registers)
        return false;
    int64_t bytes = choose_widest(&c, room);
    const char *refusal = c.loads.count ? problem_of_loop(loop) : reason;
    if (!refusal && s->copies && buffer_has_roles(s->context->target))
        refusal = "a producer brings factors of products, and would have to bring this";
    if (!refusal)
        refusal = problem_of_gain(s, &c, taken, bytes, &before, &behind);
    if (!refusal && !s->function->stages && !has_product(loop) && least_iterations(s, loop) < LEAST_ITERATIONS)
        refusal = arena_printf(s->context->arena,
                               "its iterations may be few; with stages = %d (tune) they would, and "
                               "an iteration would take %.0f cycles instead of %.0f",
                               ASKED_STAGES, behind, before);
    if (refusal || !pass_fuel(s->context)) {
        for (int i = 0; i < c.loads.count; i++)
            planning_tell_input(c.loads.data[i].load, IR_WAY_REGISTERS, refusal);
        pass_remark(s->context, loop->at, "loads of this loop do not go through shared memory: %s",
                    refusal ? refusal : "out of fuel");
        return false;
    }
    for (int i = 0; i < c.loads.count; i++) {
        if (!c.loads.data[i].chosen)
            continue;
        pass_remark(s->context, c.loads.data[i].load->at,
                    "this load goes through shared memory, to run ahead: loads of another iteration would take %d "
                    "registers and there are %d; an iteration takes %.0f cycles instead of %.0f",
                    c.all_registers, room > 0 ? room : 0, behind, before);
        stage(s, loop, &c.loads.data[i]);
    }
    return true;
}

static void collect(struct ir_operation *op, void *data)
{
    struct load_staging *s = data;
    s->copies |= op->opcode == OP_COPY_ASYNC;
    if (op->opcode == OP_FOR)
        vector_push(s->context->arena, &s->loops, op);
}

bool pass_buffer_loads(struct ir_function *function, struct pass_context *context)
{
    struct load_staging s = {.context = context, .function = function};
    bool changed = false;
    if (!context->target || !(context->target->flags & TARGET_CP_ASYNC) || function->stages == 1)
        return false;
    ir_walk(function->body, collect, &s);
    for (int i = 0; i < s.loops.count; i++)
        changed = stage_loop(&s, s.loops.data[i]) || changed;
    return changed;
}
