/* Accounts are kept loop by loop: what one turn keeps busy, times the turns of the loops that it stands in.
 *
 *   busy   = turns1*max(tensor cores, copies, memory, special functions, instructions) + turns2*max(…) + … + once*max(…)
 *   waits  = turns1*(what the shortest turn takes beyond that) + …
 *   behind = what a program stores in the end
 *   lines  = turns1*(lines of 128 bytes that L2 gives) + … + those that are stored
 *
 * With n = cdiv(programs, multiprocessors), the programs that one multiprocessor has to do, R at a time:
 *
 *   in order = n*(busy + behind) + cdiv(n, R)*waits
 *   in turn  = max(n*(busy + waits) + behind, cdiv(n, 2)*(busy + waits + behind))
 *   modelled = max(in order or in turn, programs*lines/multiprocessors) + an eighth of the lesser + the start of a program
 *
 * Where whole warpgroups multiply, all that they read goes through shared memory, which is as busy as tensor cores, and copies
 * are bound by L2, which all multiprocessors share.  A row whose pitch is no multiple of 128 bytes begins in the middle of a
 * line, so that each piece of 128 bytes takes two, and one that is no multiple of 32 takes a sector more; strides tell that in
 * each call.  The blocks of a cluster ask once for what all read.
 *
 * Where no tensor map can be made of what is multiplied, threads copy it, and wait for it in each turn, while other programs
 * of the multiprocessor work.
 *
 * Answers of atomics are waited for, too.  What a warpgroup computes between two products is waited for by itself alone.  The
 * start of later programs is hidden by others and by the stores before them, but for the parts of a split loop: each of them
 * has to end, its sums written, before the next begins.
 *
 * The memory of the device counts where nothing is multiplied, for the bytes that a program has for itself.  Products read
 * again and again, and what memory has to give is the same in all their schedules.
 *
 * What each thing takes is in targets/costs.def; turns come from the bounds of loops, which are arithmetic on extents
 * (schedule_turns.c), and what operations take from their tiles (schedule_effort.c). */
#include "passes/schedules/schedule_cost.h"

#include <math.h>
#include <string.h>

#include "passes/schedules/schedule_walk.h"
#include "targets/product_choice.h"

/* ---- accounts of blocks ---- */

static struct account account_of(struct walk *walk, const struct ir_block *block, bool in_loop);

static void sum_lines(struct lines *sum, const struct lines *part, double share)
{
    sum->all += share * part->all;
    for (int v = 0; v < MOST_STRADDLE; v++) {
        sum->straddling[v] += share * part->straddling[v];
        sum->beside[v] += share * part->beside[v];
    }
}

/* Loops of as many turns are one, so that a call has fewer to count. */
static void add_term(struct walk *walk, struct account *sum, struct term term)
{
    for (int i = 0; i < sum->terms.count; i++) {
        struct term *other = &sum->terms.data[i];
        if (kernel_expression_same(other->turns, term.turns)) {
            other->busy += term.busy;
            other->waits += term.waits;
            sum_lines(&other->lines, &term.lines, 1);
            return;
        }
    }
    vector_push(walk->arena, &sum->terms, term);
}

static void add_account(struct walk *walk, struct account *sum, const struct account *part, double share)
{
    sum->effort.tensor += share * part->effort.tensor;
    sum->effort.copies += share * part->effort.copies;
    sum->effort.bytes += share * part->effort.bytes;
    sum->effort.special += share * part->effort.special;
    sum->effort.slots += share * part->effort.slots;
    sum->effort.answers += share * part->effort.answers;
    sum->effort.memory += share * part->effort.memory;
    sum->effort.shared += share * part->effort.shared;
    sum->effort.stores += share * part->effort.stores;
    for (int v = 0; v < MOST_STRADDLE; v++)
        sum->effort.pieces[v] += share * part->effort.pieces[v];
    sum_lines(&sum->effort.lines, &part->effort.lines, share);
    for (int i = 0; i < part->terms.count; i++) {
        struct term term = part->terms.data[i],
                    own = {.turns = term.turns, .busy = share * term.busy, .waits = share * term.waits};
        sum_lines(&own.lines, &term.lines, share);
        add_term(walk, sum, own);
    }
}

static double weight_of(const struct walk *walk, const struct account *account)
{
    double weight = effort_busy(&account->effort);
    for (int i = 0; i < account->terms.count; i++)
        weight += account->terms.data[i].busy * walk->costs->trips;
    return weight;
}

/* Whether all programs of a launch have the same value. */
static bool is_of_launch(struct walk *walk, const struct ir_value *value)
{
    const struct ir_operation *op = value->definition;
    if (!op)
        return !value->block->parent;
    if (walk->steps-- <= 0 || !ir_has_trait(op, IR_TRAIT_PURE) || op->opcode == OP_GRID_INDEX || op->region_count)
        return false;
    for (int i = 0; i < op->operand_count; i++)
        if (!is_of_launch(walk, op->operands[i]))
            return false;
    return true;
}

/* An option of the call is mostly off.  Turns of a loop, and programs, take either way, and outside of loops the slowest
 * program is waited for. */
static void add_branches(struct walk *walk, struct account *sum, const struct ir_operation *op, bool in_loop)
{
    struct account way[2] = {account_of(walk, op->regions[0], in_loop), account_of(walk, op->regions[1], in_loop)};
    bool first_is_more = weight_of(walk, &way[0]) > weight_of(walk, &way[1]);
    walk->steps = MOST_STEPS;
    if (is_of_launch(walk, op->operands[0])) {
        add_account(walk, sum, &way[first_is_more], 1);
        return;
    }
    if (!in_loop) {
        add_account(walk, sum, &way[!first_is_more], 1);
        return;
    }
    add_account(walk, sum, &way[0], 0.5);
    add_account(walk, sum, &way[1], 0.5);
}

/* As passes/loops/ring_plan.c has it: what hides a copy, twice, as far as shared memory has room.  Sums lie beside the ring when
 * they are stored, by two panels of a line's columns, or by one where that leaves room for more slots. */
static double slots_of(const struct walk *walk, double busy, double bytes)
{
    const struct target_costs *costs = walk->costs;
    const struct ir_function *function = walk->variant->function;
    double copy = bytes / costs->copy_bytes, wanted = ceil((costs->copy_latency + copy + busy) / greater(busy, copy));
    int most = ir_choose_among(function->stages_among, (int)greater(costs->most_slots, 2 * wanted));
    double room = walk->row->shared_bytes - walk->kept_bytes;
    double panel = (double)walk->most_rows * LINE_BYTES, whole = walk->carried_bytes / 4;
    double slots = floor((room - (panel < whole ? panel : whole) * (walk_takes_turns(walk) ? 2 : 1)) / bytes);
    if (slots < LEAST_SLOTS)
        slots = floor(room / bytes);
    if (function->stages)
        most = function->stages;
    return slots < 1 ? 1 : slots < most ? slots : most;
}

/* A slot is filled anew when its copy has come and has been read.  Of two slots one is read for most of the time, and the other
 * cannot hide what a copy takes longer than others. */
static double shortest_turn(const struct walk *walk, double busy, double bytes)
{
    if (!walk->least_rows)
        return walk->products ? walk->costs->turn_latency : walk->costs->global_latency;
    double slots = slots_of(walk, busy, bytes);
    return (walk->costs->ring_latency + busy) / (slots > LEAST_SLOTS ? slots : greater(slots - 0.5, 0.5));
}

/* What a product of a turn computes for another, as scores are: beside the loop's sums. */
static double product_beside(const struct ir_operation *loop, const struct ir_block *turn)
{
    double most = 0;
    int products = 0;
    for (int i = 0; i < loop->result_count; i++)
        products -= loop->results[i]->type->rank > 1;
    for (const struct ir_operation *op = turn->first; op; op = op->next)
        if (op->opcode == OP_DOT) {
            products++;
            most = greater(most, (double)ir_type_bytes(op->results[0]->type));
        }
    return products > 0 ? most : 0;
}

/* Threads that copy what they multiply wait for all of it in each turn; of two programs the second takes a part.  Copies without
 * registers run ahead. */
static struct term turn_by_threads(const struct walk *walk, const struct effort *effort, double busy, double beside)
{
    const struct target_costs *costs = walk->costs;
    bool many = !walk->anywhere && effort->bytes > costs->move_most * LANES * walk_warpgroups(walk);
    double uneven = is_power_of_two((int64_t)walk_warpgroups(walk)) && !many ? 1 : costs->uneven_tiles;
    if (!walk->anywhere)
        return (struct term){.busy = uneven * greater(busy, effort->bytes / costs->move_bytes),
                             .waits = costs->move_latency};
    double groups = walk_warpgroups(walk), sums = walk->carried_bytes, all = sums + effort->bytes + beside;
    double turn = costs->piece_latency + effort->bytes / costs->piece_bytes * (groups > 1 ? costs->piece_groups : 1);
    double registers = target_registers(walk->row) / (LANES * groups);
    registers = registers < TARGET_THREAD_REGISTERS ? registers : TARGET_THREAD_REGISTERS;
    if (all > 4 * (registers - costs->piece_registers) * LANES * groups)
        turn *= costs->piece_spills;
    turn *= uneven;
    if (walk->swapped)
        turn *= costs->piece_swapped;
    return (struct term){.busy = greater(busy, costs->piece_share * turn), .waits = (1 - costs->piece_share) * turn};
}

static bool is_carried(const struct ir_operation *loop, const struct ir_type *type)
{
    for (int i = 0; i < loop->result_count; i++) {
        const struct ir_type *carried = loop->results[i]->type;
        if (carried->rank == type->rank &&
            memcmp(carried->extent, type->extent, sizeof *type->extent * (size_t)type->rank) == 0)
            return true;
    }
    return false;
}

/* Of a product by three of tf32: both parts of its first factor, and a sum of its own. */
static double parts_bytes(const struct walk *walk, const struct ir_operation *dot)
{
    struct product product = product_computed(walk->row, dot);
    if (product.a != IR_F32 || product.precision != IR_PRECISION_TF32X3)
        return 0;
    return 4 * (double)product.m * (2 * (double)product.k + (double)product.n);
}

/* Of what a turn computes beside the loop's own variables, the widest tile, and half as much for what is made of it. */
static double computed_bytes(const struct walk *walk, const struct ir_operation *loop, const struct ir_block *turn)
{
    double most = 0;
    for (const struct ir_operation *op = turn->first; op; op = op->next) {
        if (op->opcode == OP_DOT)
            most = greater(most, parts_bytes(walk, op));
        for (int i = 0; i < op->result_count && op->opcode != OP_LOAD; i++) {
            const struct ir_type *type = op->results[i]->type;
            if (type->kind == IR_TILE && type->rank > 1 && !is_carried(loop, type))
                most = greater(most, 1.5 * (double)ir_type_bytes(type));
        }
    }
    return most;
}

/* Whether warpgroups beside a producer have too few registers for the tiles of a loop, which go to local memory then. */
static bool spills(const struct walk *walk, double bytes)
{
    double groups = walk_warpgroups(walk), most = target_registers(walk->row) / (LANES * (groups + 1));
    double each = groups > 2 ? most + walk->costs->producer_registers / groups : walk->costs->role_registers;
    if (walk->makes && groups > 2)
        each -= walk->costs->piece_registers; /* they make factors, too, for want of room for a maker */
    return walk->least_rows && bytes / 4 / LANES / groups > each;
}

/* What one product of a turn computes for another is beside the loop's sums.  Where both are more than the registers of a
 * warpgroup, turns do not overlap. */
static bool is_tight(const struct walk *walk, const struct ir_operation *loop, const struct ir_block *turn, double sums)
{
    double computed = 1.5 * product_beside(loop, turn);
    return computed > 0 && spills(walk, sums + computed);
}

static void share_term(struct term *term, double share)
{
    const struct lines lines = term->lines;
    term->busy *= share;
    term->waits *= share;
    term->lines = (struct lines){0};
    sum_lines(&term->lines, &lines, share);
}

static void add_loop(struct walk *walk, struct account *sum, const struct ir_operation *op)
{
    double carried = 0, sums = 0, share;
    expression turns = walk_turns(walk, op, &share);
    for (int i = 0; i < op->result_count; i++) {
        const struct ir_type *type = op->results[i]->type;
        carried += 4 * (double)ir_type_elements(type);
        sums += type->rank > 1 ? 4 * (double)ir_type_elements(type) : 0;
    }
    walk->carried_bytes = greater(walk->carried_bytes, carried);
    walk->sums_bytes = greater(walk->sums_bytes, sums);
    for (int r = 0; r < op->region_count; r++) {
        struct account turn = account_of(walk, op->regions[r], true);
        double issue = walk->costs->turn_issue + (walk->cluster > 1 ? walk->costs->cluster_issue : 0);
        double bytes = turn.effort.bytes, busy = effort_busy(&turn.effort);
        for (int64_t blocks = walk->cluster; blocks > 1; blocks /= 2) {
            busy *= walk_takes_turns(walk) ? walk->costs->cluster_turns : 1;
            busy *= blocks > 2 ? walk->costs->cluster_four : 1;
        }
        busy += bytes > 0 ? issue : 0;
        double beside = computed_bytes(walk, op, op->regions[r]), least = walk->costs->role_beside * 4 * LANES;
        if (spills(walk, carried + greater(beside, least * walk_warpgroups(walk))))
            busy *= walk->costs->piece_spills;
        if (walk->uneven && turn.effort.tensor > 0)
            busy *= walk->costs->uneven_tiles;
        double tight = is_tight(walk, op, op->regions[r], sums) ? walk->costs->tight : 1;
        busy *= tight;
        double waits = greater(bytes > 0 ? shortest_turn(walk, busy, bytes) - busy : 0,
                               tight * effort_chain(walk, &turn.effort));
        struct term own = {.busy = busy, .waits = waits + turn.effort.answers, .lines = turn.effort.lines};
        if (walk->by_threads && bytes > 0)
            own = turn_by_threads(walk, &turn.effort, busy, product_beside(op, op->regions[r]));
        own.turns = turns;
        share_term(&own, share);
        walk->ring_bytes = greater(walk->ring_bytes, bytes);
        walk->waiting |= turn.effort.tensor < effort_chain(walk, &turn.effort);
        add_term(walk, sum, own);
        for (int i = 0; i < turn.terms.count; i++) {
            struct term term = turn.terms.data[i];
            term.turns = expression_make(walk->arena, KERNEL_HOST_MUL, turns, term.turns);
            share_term(&term, share);
            add_term(walk, sum, term);
        }
    }
}

static struct account account_of(struct walk *walk, const struct ir_block *block, bool in_loop)
{
    struct account sum = {0};
    for (const struct ir_operation *op = block->first; op; op = op->next)
        if (op->opcode == OP_IF)
            add_branches(walk, &sum, op, in_loop);
        else if (ir_has_trait(op, IR_TRAIT_LOOP))
            add_loop(walk, &sum, op);
        else
            effort_add(walk, op, in_loop, &sum.effort);
    return sum;
}

/* ---- the whole ---- */

/* Of programs whose factors threads copy: those whose sums and copies have registers, and their rings room. */
static double resident_by_threads(const struct walk *walk)
{
    const struct target_costs *costs = walk->costs;
    double threads = LANES * walk_warpgroups(walk), slots = walk->anywhere ? 2 : costs->move_slots;
    double each = (walk->carried_bytes + (walk->anywhere ? walk->ring_bytes : 0)) / 4 / threads;
    double most = floor(target_registers(walk->row) / (threads * (each + costs->piece_spare)));
    double room = floor(walk->row->shared_bytes / greater(slots * walk->ring_bytes, 1));
    most = most < room ? most : room;
    return most < costs->piece_most ? greater(most, 1) : costs->piece_most;
}

/* As many as have room for their rings and for the registers of their tiles, half as much again for what else lives.  A
 * producer beside warpgroups that multiply shares all registers with them; two blocks of one warpgroup do where most of a
 * turn is waiting, as passes/roles/specialise.c has it. */
static int resident_of(const struct walk *walk)
{
    if (walk->by_threads)
        return (int)resident_by_threads(walk);
    if (walk->least_rows) {
        double registers = (walk->sums_bytes + walk->tile_bytes) / 4;
        bool small = walk->waiting && walk_warpgroups(walk) == 1 && 4 * registers <= target_registers(walk->row) / 2.0;
        return small ? 2 : 1;
    }
    double ring = walk->ring_bytes * walk->costs->ring_slots;
    double registers = 1.5 * (walk->carried_bytes > walk->tile_bytes ? walk->carried_bytes : walk->tile_bytes);
    double most = MOST_RESIDENT;
    if (ring * most > walk->row->shared_bytes)
        most = walk->row->shared_bytes / ring;
    if (registers * most > 4.0 * target_registers(walk->row))
        most = 4.0 * target_registers(walk->row) / registers;
    return most < 1 ? 1 : (int)most;
}

static expression cycles(const struct walk *walk, double value)
{
    return walk_number(walk, value > MOST_CYCLES ? MOST_CYCLES : (int64_t)(value + 0.5));
}

/* Of all loops, and what is done once. */
static expression sum_of(const struct walk *walk, const struct account *account, bool waits, double once)
{
    expression sum = NULL;
    for (int i = 0; i < account->terms.count; i++) {
        const struct term *term = &account->terms.data[i];
        expression turn = cycles(walk, waits ? term->waits : term->busy);
        if (turn->number == 0)
            continue;
        expression product = expression_make(walk->arena, KERNEL_HOST_MUL, term->turns, turn);
        if (product->op == KERNEL_HOST_CONSTANT)
            once += (double)product->number;
        else
            sum = sum ? expression_make(walk->arena, KERNEL_HOST_ADD, sum, product) : product;
    }
    expression rest = cycles(walk, once);
    return sum ? expression_make(walk->arena, KERNEL_HOST_ADD, sum, rest) : rest;
}

/* Whether rows of the view begin beside multiples of so many bytes: of the strides one is 1, and the greater is the pitch. */
static expression begins_beside(const struct walk *walk, int parameter, int bytes)
{
    const struct kernel_parameter *p = &walk->entry->parameters.data[parameter];
    int64_t elements = 8 * bytes / ir_element_info[p->element].bits;
    expression pitch = walk_stride(walk, parameter, p->rank - 2);
    if (p->strided)
        pitch = expression_make(walk->arena, KERNEL_HOST_MAX, pitch, walk_stride(walk, parameter, p->rank - 1));
    return expression_make(walk->arena, KERNEL_HOST_NE,
                           expression_make(walk->arena, KERNEL_HOST_BIT_AND, pitch, walk_number(walk, elements - 1)),
                           walk_number(walk, 0));
}

/* The lines of so many turns. */
static expression lines_of_turns(const struct walk *walk, const struct lines *lines, expression turns)
{
    struct arena *arena = walk->arena;
    expression sum = cycles(walk, LINE_PARTS * lines->all);
    for (int v = 0; v < walk->views; v++) {
        double more[2] = {lines->straddling[v], lines->beside[v]};
        int bytes[2] = {LINE_BYTES, SECTOR_BYTES};
        for (int i = 0; i < 2; i++) {
            expression beside = begins_beside(walk, walk->straddling[v], bytes[i]);
            beside = expression_make(arena, KERNEL_HOST_MUL, beside, cycles(walk, LINE_PARTS * more[i]));
            sum = expression_make(arena, KERNEL_HOST_ADD, sum, beside);
        }
    }
    return expression_make(arena, KERNEL_HOST_MUL, turns, sum);
}

/* Of all turns of a program, and of what it stores behind them. */
static expression lines_of(const struct walk *walk, const struct account *account)
{
    expression sum = lines_of_turns(walk, &account->effort.lines, walk_number(walk, 1));
    for (int i = 0; i < account->terms.count; i++) {
        const struct term *term = &account->terms.data[i];
        sum = expression_make(walk->arena, KERNEL_HOST_ADD, sum, lines_of_turns(walk, &term->lines, term->turns));
    }
    return sum;
}

/* All multiprocessors share what L2 gives, and few of them have more each. */
static expression lines_of_all(const struct walk *walk, const struct schedule_cost *cost, expression here)
{
    struct arena *arena = walk->arena;
    expression processors = expression_leaf(arena, KERNEL_HOST_SM_COUNT, 0), parts = walk_number(walk, 16);
    int64_t alone = (int64_t)(16 * walk->costs->line_alone + 0.5);
    expression share = expression_make(arena, KERNEL_HOST_MUL, cost->programs, parts);
    expression each = expression_make(arena, KERNEL_HOST_MUL, here,
                                      expression_make(arena, KERNEL_HOST_MUL, processors, walk_number(walk, alone)));
    expression lines = expression_make(arena, KERNEL_HOST_MUL, expression_make(arena, KERNEL_HOST_MAX, share, each),
                                       cost->lines);
    return expression_make(arena, KERNEL_HOST_DIV, expression_make(arena, KERNEL_HOST_DIV, lines, processors),
                           walk_number(walk, 16 * LINE_PARTS));
}

/* One warpgroup stores while the other multiplies: all products of a multiprocessor, or all that one of the two does. */
static expression time_in_turn(const struct walk *walk, const struct schedule_cost *cost, expression here)
{
    struct arena *arena = walk->arena;
    expression one = expression_make(arena, KERNEL_HOST_ADD, cost->busy, cost->waits);
    expression products = expression_make(arena, KERNEL_HOST_MUL, here, one);
    expression half = expression_make(arena, KERNEL_HOST_CDIV, here, walk_number(walk, 2));
    expression whole = expression_make(arena, KERNEL_HOST_ADD, one, cost->behind);
    return expression_make(arena, KERNEL_HOST_MAX, expression_make(arena, KERNEL_HOST_ADD, products, cost->behind),
                           expression_make(arena, KERNEL_HOST_MUL, half, whole));
}

static expression time_in_order(const struct walk *walk, const struct schedule_cost *cost, expression here)
{
    struct arena *arena = walk->arena;
    expression rounds = expression_make(arena, KERNEL_HOST_CDIV, here, walk_number(walk, cost->resident));
    expression busy = expression_make(arena, KERNEL_HOST_ADD, cost->busy, cost->behind);
    return expression_make(arena, KERNEL_HOST_ADD, expression_make(arena, KERNEL_HOST_MUL, here, busy),
                           expression_make(arena, KERNEL_HOST_MUL, rounds, cost->waits));
}

/* Multiprocessors are grouped, and clusters of more than two blocks leave out what does not fill one: an eighth of them for the
 * parts of a loop, an eleventh for four blocks (30 such clusters run on the 132 of an H200).  What L2 gives comes at the same time
 * as all else, but for an eighth of the lesser. */
static expression modelled(const struct walk *walk, const struct schedule_cost *cost)
{
    struct arena *arena = walk->arena;
    expression all = expression_leaf(arena, KERNEL_HOST_SM_COUNT, 0), programs = cost->programs;
    int64_t there = walk->variant->function->parts > 2 ? 8 : walk->cluster > 2 ? 11 : 1;
    if (there > 1) {
        all = expression_make(arena, KERNEL_HOST_MUL, all, walk_number(walk, there - 1));
        programs = expression_make(arena, KERNEL_HOST_MUL, programs, walk_number(walk, there));
    }
    expression here = expression_make(arena, KERNEL_HOST_CDIV, programs, all);
    expression time = walk_takes_turns(walk) ? time_in_turn(walk, cost, here) : time_in_order(walk, cost, here);
    if (walk->least_rows && !walk->by_threads) {
        expression lines = lines_of_all(walk, cost, here);
        expression lesser = expression_make(arena, KERNEL_HOST_MIN, time, lines);
        time = expression_make(arena, KERNEL_HOST_ADD, expression_make(arena, KERNEL_HOST_MAX, time, lines),
                               expression_make(arena, KERNEL_HOST_DIV, lesser, walk_number(walk, 8)));
    }
    double start = walk->costs->program_latency + (walk->cluster > 1 ? walk->costs->cluster_start : 0);
    return expression_make(arena, KERNEL_HOST_ADD, time, cycles(walk, start));
}

struct saving {
    struct walk *walk;
    int dimension;
    double bytes;
};

static void find_saving(struct ir_operation *op, void *context)
{
    struct saving *saving = context;
    if (op->opcode == OP_LOAD && op->results[0]->type->rank && !walk_reads_own(saving->walk, op, saving->dimension))
        saving->bytes += (double)ir_type_bytes(op->results[0]->type);
}

/* The dimension along which the blocks save most, as passes/roles/specialise_cluster.c chooses it. */
static void find_cluster(struct walk *walk)
{
    const struct ir_function *function = walk->variant->function;
    double most = 0;
    for (int d = 0; d < walk->variant->grid_rank - walk->entry->splits; d++) {
        struct saving saving = {walk, d, 0};
        ir_walk(function->body, find_saving, &saving);
        if (saving.bytes > most) {
            most = saving.bytes;
            walk->cluster_dimension = d;
        }
    }
    walk->cluster = most > 0 && walk->least_rows && walk_parts(walk) == 1 && function->cluster > 1 ? function->cluster
                                                                                                   : 1;
}

/* How many bytes of an argument lie together at least, of the 16 that a tensor map asks for (ir/facts/tensor_map.c); 0: its rows
 * may lie anywhere. */
static int64_t lies_together(const struct walk *walk, const struct ir_value *view)
{
    const struct ir_function *function = walk->variant->function;
    if (walk_parameter_of(walk, view) < 0 || view->index >= function->facts.count)
        return COPY_BYTES;
    const struct ir_argument_fact *fact = &function->facts.data[view->index];
    int64_t bytes = ir_element_info[view->type->element].bits / 8, ones = 0;
    int64_t least = fact->asked_alignment > bytes ? fact->asked_alignment : bytes;
    int64_t together = fact->base_alignment > least ? fact->base_alignment : least;
    together = together < COPY_BYTES ? together : COPY_BYTES;
    for (int d = 0; d < view->type->rank; d++) {
        int64_t stride = view->type->stride[d], multiple = fact->stride_multiple[d] * bytes;
        ones += stride == 1;
        while (stride == IR_DYNAMIC && together > least && (multiple == 0 || multiple % together))
            together /= 2;
    }
    return ones ? together : 0;
}

/* Before anything is counted: what multiplies. */
static void find_products(struct ir_operation *op, void *context)
{
    struct walk *walk = context;
    if (op->opcode != OP_DOT)
        return;
    struct product product = product_computed(walk->row, op);
    walk->products = true;
    if (product_choice_of(walk->row, &product).instruction != IR_INSTRUCTION_WGMMA)
        return;
    if (product.a == IR_F32 && product.precision == IR_PRECISION_TF32X3) {
        walk->makes = true;
        walk->kept_bytes += MADE_SLOTS * 2 * 4 * (double)product.n * (double)product.k;
    }
    walk->swapped |= product.m != product_of(op).m;
    int64_t columns = product.lies_across[1] ? LINE_COLUMNS : LEAST_COLUMNS;
    walk->uneven |= product.n % columns && product.n > columns;
    if (!walk->least_rows || product.m < walk->least_rows)
        walk->least_rows = product.m;
    if (product.m > walk->most_rows)
        walk->most_rows = product.m;
    for (int i = 0; i < 2; i++) {
        const struct ir_operation *load = op->operands[i]->definition;
        bool brought = load && load->opcode == OP_LOAD;
        int64_t together = brought ? lies_together(walk, load->operands[0]) : COPY_BYTES;
        walk->by_threads |= together < COPY_BYTES;
        walk->anywhere |= together < MOVE_BYTES;
        if (brought && !load->block->parent)
            walk->kept_bytes += (double)ir_type_bytes(load->results[0]->type);
    }
}

/* Of each part of a split loop: it starts, its sums have to be in memory before the others are told, and the last, which is
 * waited for, loads one after the other.  Parts that do not meet count in memory, which another launch clears. */
static double split_waits(const struct walk *walk)
{
    const struct kernel_variant *variant = walk->variant;
    const struct target_costs *costs = walk->costs;
    double parts = (double)walk_parts(walk);
    if (parts == 1)
        return 0;
    double clearing = variant->function->parts ? 0 : costs->clearing;
    if (!walk->least_rows)
        return costs->program_latency + clearing + (1 + parts) * costs->global_latency;
    return costs->split_latency + clearing +
           walk->carried_bytes * (1 / costs->split_store_bytes + parts / costs->split_load_bytes);
}

/* What a program takes beside its loops, by how much of it others can work. */
static void add_once(const struct walk *walk, const struct account *account, struct schedule_cost *cost)
{
    const struct target_costs *costs = walk->costs;
    const struct ir_function *function = walk->variant->function;
    struct effort once = account->effort;
    double stores = once.stores > 0 ? once.stores + costs->store_latency : 0;
    double split = split_waits(walk), start = costs->program_start;
    once.stores = 0;
    if (walk->least_rows)
        start = costs->wgmma_start + (function->persistent < 0 ? costs->block_start : 0);
    double busy = effort_busy(&once), share = 1;
    if (walk->least_rows && !walk->by_threads && cost->resident > 1) { /* another block works meanwhile */
        split += start + stores;
        start = stores = 0;
    }
    busy += start;
    if (walk->by_threads) {
        share = costs->piece_share;
        split += (1 - share) * (busy + stores + split) - split;
        busy *= share;
        stores = share * (stores + split_waits(walk));
    }
    cost->busy = sum_of(walk, account, false, busy);
    cost->behind = cycles(walk, stores);
    for (int v = 0; v < walk->views; v++)
        if (once.pieces[v] > 0) {
            expression beside = begins_beside(walk, walk->straddling[v], COPY_BYTES);
            beside = expression_make(walk->arena, KERNEL_HOST_MUL, beside, cycles(walk, once.pieces[v]));
            cost->behind = expression_make(walk->arena, KERNEL_HOST_ADD, cost->behind, beside);
        }
    cost->waits = sum_of(walk, account, true, once.answers + split);
}

/* All blocks of a cluster are there, those that have nothing to do, too. */
static expression count_programs(const struct walk *walk)
{
    const struct kernel_variant *variant = walk->variant;
    expression programs = walk_number(walk, 1);
    for (int d = 0; d < variant->grid_rank; d++) {
        expression along = variant->grid[d], cluster = walk_number(walk, walk->cluster);
        if (walk->cluster > 1 && d == walk->cluster_dimension)
            along = expression_make(walk->arena, KERNEL_HOST_MUL, cluster,
                                    expression_make(walk->arena, KERNEL_HOST_CDIV, along, cluster));
        programs = expression_make(walk->arena, KERNEL_HOST_MUL, programs, along);
    }
    return programs;
}

struct reading {
    struct walk *walk;
    expression bytes;
    unsigned long read; /* a bit a parameter */
};

static void find_reading(struct ir_operation *op, void *context)
{
    struct reading *reading = context;
    struct walk *walk = reading->walk;
    int number_of = op->opcode == OP_LOAD ? walk_parameter_of(walk, op->operands[0]) : -1;
    if (number_of < 0 || number_of >= 32 || reading->read >> number_of & 1)
        return;
    const struct kernel_parameter *p = &walk->entry->parameters.data[number_of];
    expression bytes = walk_number(walk, ir_element_info[p->element].bits);
    for (int d = 0; d < p->rank; d++)
        bytes = expression_make(walk->arena, KERNEL_HOST_MUL, bytes, p->extent[d]);
    reading->read |= 1UL << number_of;
    if (bytes && p->rank > 1)
        reading->bytes = expression_make(walk->arena, KERNEL_HOST_ADD, reading->bytes, bytes);
}

/* Products read again and again, and what comes from memory is read once, by all multiprocessors. */
static expression memory_of(struct walk *walk)
{
    struct reading reading = {walk, walk_number(walk, 0), 0};
    double bits = 8 * walk->costs->memory_bytes * walk->costs->multiprocessors;
    if (walk->products)
        ir_walk(walk->variant->function->body, find_reading, &reading);
    return expression_make(walk->arena, KERNEL_HOST_DIV, reading.bytes, walk_number(walk, (int64_t)bits));
}

struct schedule_cost schedule_cost_of(struct arena *arena, const struct kernel_entry *entry,
                                      const struct kernel_variant *variant)
{
    struct walk walk = {.arena = arena, .entry = entry, .variant = variant, .row = &target_rows[variant->target]};
    struct schedule_cost cost = {0};
    walk.costs = target_costs(walk.row);
    ir_walk(variant->function->body, find_products, &walk);
    find_cluster(&walk);
    struct account account = account_of(&walk, variant->function->body, false);
    cost.programs = count_programs(&walk);
    cost.resident = resident_of(&walk);
    add_once(&walk, &account, &cost);
    cost.lines = lines_of(&walk, &account);
    cost.memory = memory_of(&walk);
    cost.unknown = walk.unknown;
    cost.modelled = modelled(&walk, &cost);
    return cost;
}
