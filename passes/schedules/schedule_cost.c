/* Accounts are kept loop by loop: what one turn keeps busy, times the turns of the loops that it stands in.
 *
 *   busy  = turns1*max(tensor cores, copies, memory, special functions, instructions) + turns2*max(…) + … + once*max(…)
 *   waits = turns1*(what the shortest turn takes beyond that) + …
 *   lines = turns1*(lines of 128 bytes that L2 gives) + …
 *
 * With n = cdiv(programs, multiprocessors), the programs that one multiprocessor has to do, R at a time:
 *
 *   modelled = max(n*busy + cdiv(n, R)*waits, programs*lines/multiprocessors, …) + the start of a program
 *
 * Where whole warpgroups multiply, all that they read goes through shared memory, which is as busy as tensor cores, and copies
 * are bound by L2, which all multiprocessors share.  A row whose pitch is no multiple of 128 bytes begins in the middle of a
 * line, so that each piece of 128 bytes takes two, and one that is no multiple of 16 leaves copies to the threads; strides
 * tell that in each call.  Two blocks of a cluster ask once for what both read.
 *
 * Answers of atomics are waited for, too.  A program of one warpgroup that has its multiprocessor for itself does
 * little else while it multiplies, so that a part of the lesser of the two is added.  The start of later programs is
 * hidden by others and by the stores before them, but for the parts of a split loop: each of them has to end, its sums
 * written, before the next begins.
 *
 * The memory of the device counts where nothing is multiplied, for the bytes that a program has for itself.  Products read
 * again and again, and what memory has to give is the same in all their schedules.
 *
 * What each thing takes is in targets/costs.def; turns come from the bounds of loops, which are arithmetic on extents.
 * Where the bounds hang on which program it is, the one in the middle of the grid is asked. */
#include "passes/schedules/schedule_cost.h"

#include <math.h>
#include <string.h>

#include "ir/query.h"
#include "passes/schedules/expressions.h"
#include "targets/product_choice.h"

typedef const struct kernel_expression *expression;

enum {
    MOST_STEPS = 256,
    MOST_RESIDENT = 8,
    MOST_STRADDLE = 4, /* views that strides are asked of in each call */
    LANES = 128,
    MOST_CYCLES = 1 << 22,
    WARPGROUP_ROWS = 64,
    LEAST_COLUMNS = 32, /* of wgmma: fewer take no less time, in which the rows are read from shared memory */
    LINE_BYTES = 128,
    COPY_BYTES = 16 /* of which pitches of tensor maps are multiples */
};

/* Cycles of a multiprocessor, of what works at the same time; for how long answers are waited for; and the bytes that are
 * copied, those that no other program reads or writes (from memory) among them. */
struct effort {
    double tensor, copies, special, slots, answers, bytes, memory;
    double shared, lines;             /* beside whole warpgroups: of shared memory, of L2, ... */
    double straddling[MOST_STRADDLE]; /* ... and what L2 takes beyond that where rows of these views straddle lines */
};
struct term {
    expression turns;
    double busy, waits;
    double lines, straddling[MOST_STRADDLE];
};
struct account {
    struct effort effort; /* outside of the loops within */
    VECTOR(struct term) terms;
};
struct walk {
    struct arena *arena;
    const struct kernel_entry *entry;
    const struct kernel_variant *variant;
    const struct target_row *row;
    const struct target_costs *costs;
    int steps;    /* that a question about a value may still take: values may be made of each other over and over */
    bool unknown; /* turns that hang on data */
    bool products;
    int64_t least_rows;                   /* of wgmma's sums, 0: there is none */
    int straddling[MOST_STRADDLE], views; /* parameters */
    int64_t cluster;                      /* blocks, along ... */
    int cluster_dimension;
    double ring_bytes, carried_bytes, tile_bytes; /* the most of a turn; of a loop's variables; of a tile */
};

/* ---- turns of loops ---- */

static expression number(const struct walk *walk, int64_t value)
{
    return expression_leaf(walk->arena, KERNEL_HOST_CONSTANT, value);
}

/* The number of the argument's parameter; -1: it has none, as scratch. */
static int parameter_of(const struct walk *walk, const struct ir_value *value)
{
    const struct ir_block *body = walk->variant->function->body;
    for (int i = 0, argument = 0; i < walk->entry->parameters.count; i++) {
        if (walk->entry->parameters.data[i].slot < 0)
            continue;
        if (argument < body->arguments.count && body->arguments.data[argument] == value)
            return i;
        argument++;
    }
    return -1;
}

static expression stride_of(const struct walk *walk, int parameter, int dimension)
{
    struct kernel_expression *e = ARENA_NEW(walk->arena, struct kernel_expression);
    *e = (struct kernel_expression){.op = KERNEL_HOST_STRIDE, .number = parameter, .dimension = dimension};
    return e;
}

static expression extent_of(const struct walk *walk, const struct ir_operation *op)
{
    int parameter = parameter_of(walk, op->operands[0]), d = (int)ir_number(op, IR_ATTRIBUTE_DIMENSION, 0);
    if (parameter < 0)
        return NULL;
    const struct kernel_parameter *p = &walk->entry->parameters.data[parameter];
    expression extent = p->extent[d];
    return extent && extent->op == KERNEL_HOST_CONSTANT ? number(walk, extent->number) : extent;
}

/* Of a split loop, 1: there is none. */
static int64_t parts_of(const struct walk *walk)
{
    const struct kernel_variant *variant = walk->variant;
    expression parts = variant->grid_rank ? variant->grid[variant->grid_rank - 1] : NULL;
    return walk->entry->splits && parts && parts->op == KERNEL_HOST_CONSTANT ? parts->number : 1;
}

/* Parts of a split loop are alike but for the last, and the first is never shorter. */
static expression middle_of(const struct walk *walk, int dimension)
{
    const struct kernel_variant *variant = walk->variant;
    if (walk->entry->splits && dimension == variant->grid_rank - 1)
        return number(walk, 0);
    expression last = expression_make(walk->arena, KERNEL_HOST_SUB, variant->grid[dimension], number(walk, 1));
    return expression_make(walk->arena, KERNEL_HOST_DIV, last, number(walk, 2));
}

static expression host_of(struct walk *walk, const struct ir_value *value);

static expression host_of_operands(struct walk *walk, enum kernel_host_op op, const struct ir_operation *from)
{
    expression a = host_of(walk, from->operands[0]);
    return a ? expression_make(walk->arena, op, a, host_of(walk, from->operands[1])) : NULL;
}

/* The integer scalar as the host would compute it; NULL: it cannot. */
static expression host_of(struct walk *walk, const struct ir_value *value)
{
    const struct ir_operation *op = value->definition;
    int64_t constant;
    if (walk->steps-- <= 0 || value->type->kind != IR_TILE || value->type->rank)
        return NULL;
    if (ir_constant_integer(value, &constant))
        return number(walk, constant);
    if (!op) {
        int parameter = parameter_of(walk, value);
        bool whole = parameter >= 0 && ir_is_integer(value->type->element);
        return whole ? expression_leaf(walk->arena, KERNEL_HOST_SCALAR, parameter) : NULL;
    }
    switch (op->opcode) {
    case OP_EXTENT: return extent_of(walk, op);
    case OP_GRID_INDEX: return middle_of(walk, (int)ir_number(op, IR_ATTRIBUTE_DIMENSION, 0));
    case OP_GRID_SIZE: return walk->variant->grid[ir_number(op, IR_ATTRIBUTE_DIMENSION, 0)];
    case OP_CAST: return host_of(walk, op->operands[0]);
    case OP_ADD: return host_of_operands(walk, KERNEL_HOST_ADD, op);
    case OP_SUB: return host_of_operands(walk, KERNEL_HOST_SUB, op);
    case OP_MUL: return host_of_operands(walk, KERNEL_HOST_MUL, op);
    case OP_DIV: return host_of_operands(walk, KERNEL_HOST_DIV, op);
    case OP_REM: return host_of_operands(walk, KERNEL_HOST_REM, op);
    case OP_MIN: return host_of_operands(walk, KERNEL_HOST_MIN, op);
    case OP_MAX: return host_of_operands(walk, KERNEL_HOST_MAX, op);
    default: return NULL;
    }
}

/* Of a range that nobody knows before: steps of several elements go through as many elements in fewer turns. */
static expression unknown_turns(struct walk *walk, int64_t step)
{
    double turns = walk->costs->trips;
    walk->unknown = true;
    if (step > 1)
        turns = turns * LANES > (double)step ? turns * LANES / (double)step : 1;
    return number(walk, (int64_t)turns);
}

static expression turns_of(struct walk *walk, const struct ir_operation *loop)
{
    int64_t step;
    if (loop->opcode != OP_FOR || ir_number(loop, IR_ATTRIBUTE_MULTIPLY, 0) ||
        !ir_constant_integer(loop->operands[2], &step) || step == 0)
        return unknown_turns(walk, 1);
    bool down = step < 0;
    step = down ? -step : step;
    walk->steps = MOST_STEPS;
    expression lower = host_of(walk, loop->operands[down]), upper = host_of(walk, loop->operands[!down]);
    expression span = expression_make(walk->arena, KERNEL_HOST_SUB, upper, lower);
    span = expression_make(walk->arena, KERNEL_HOST_MAX, span, number(walk, 0));
    expression turns = expression_make(walk->arena, KERNEL_HOST_CDIV, span, number(walk, step));
    return turns ? turns : unknown_turns(walk, step);
}

/* ---- what operations take ---- */

static const struct ir_type *worked_on(const struct ir_operation *op)
{
    const struct ir_type *widest = NULL;
    for (int i = 0; i < op->result_count + op->operand_count; i++) {
        const struct ir_type *type = i < op->result_count ? op->results[i]->type
                                                          : op->operands[i - op->result_count]->type;
        if (type->kind == IR_TILE && type->rank && (!widest || ir_type_elements(type) > ir_type_elements(widest)))
            widest = type;
    }
    return widest;
}

/* Whether the value is another one for the next program of this dimension. */
static bool is_own(struct walk *walk, const struct ir_value *value, int dimension)
{
    const struct ir_operation *op = value->definition;
    if (!op || walk->steps-- <= 0 || op->region_count)
        return false;
    if (op->opcode == OP_GRID_INDEX)
        return ir_number(op, IR_ATTRIBUTE_DIMENSION, 0) == dimension;
    for (int i = 0; i < op->operand_count; i++)
        if (is_own(walk, op->operands[i], dimension))
            return true;
    return false;
}

static bool reads_own(struct walk *walk, const struct ir_operation *op, int dimension)
{
    walk->steps = MOST_STEPS;
    for (int i = 0; i < op->operand_count; i++)
        if (is_own(walk, op->operands[i], dimension))
            return true;
    return false;
}

/* The place of the view among those that strides are asked of; -1: it has no rows, or there are too many. */
static int straddling_of(struct walk *walk, const struct ir_value *view)
{
    int parameter = parameter_of(walk, view);
    if (parameter < 0 || walk->entry->parameters.data[parameter].rank < 2)
        return -1;
    for (int i = 0; i < walk->views; i++)
        if (walk->straddling[i] == parameter)
            return i;
    if (walk->views == MOST_STRADDLE)
        return -1;
    walk->straddling[walk->views] = parameter;
    return walk->views++;
}

/* Beside whole warpgroups; both blocks of a cluster read what is the same along its dimension. */
static void add_lines(struct walk *walk, const struct ir_operation *op, double bytes, struct effort *effort)
{
    bool together = walk->cluster > 1 && !reads_own(walk, op, walk->cluster_dimension);
    const struct target_costs *costs = walk->costs;
    double lines = bytes / (reads_own(walk, op, 0) ? costs->line_bytes : costs->same_line_bytes);
    double share = (walk->cluster > 1 ? costs->cluster_lines : 1) / (together ? (double)walk->cluster : 1);
    int view = straddling_of(walk, op->operands[0]);
    effort->lines += share * lines;
    effort->shared += bytes / walk->costs->wgmma_bytes;
    if (view >= 0)
        effort->straddling[view] += share * (bytes / costs->straddling_bytes - lines);
}

/* What neighbours read at the same time comes to all of them at the price of one. */
static void add_copy(struct walk *walk, const struct ir_operation *op, double bytes, bool in_loop,
                     struct effort *effort)
{
    bool reads = ir_op_info[op->opcode].traits & IR_TRAIT_READ, own = !reads || reads_own(walk, op, 0), alone = true;
    if (reads && walk->least_rows && in_loop) {
        effort->bytes += bytes;
        add_lines(walk, op, bytes, effort);
        return;
    }
    for (int d = 0; d < walk->variant->grid_rank && alone; d++)
        alone = reads_own(walk, op, d);
    effort->bytes += bytes;
    effort->memory += alone && !walk->products ? bytes / walk->costs->memory_bytes : 0;
    effort->copies += bytes / (own ? walk->costs->ring_bytes : walk->costs->neighbour_bytes);
}

/* Beside products of whole warpgroups, the others are shared by sixteen warps; those of fewer blocks get no tensor core. */
static bool lacks_blocks(const struct walk *walk, const struct product *product)
{
    return walk->least_rows && product->m / 16 * (product->n / 8) < 16;
}

/* Shared memory's for a product of f32 by wgmma: what comes, the second factor for each 64 rows, and the first, which
 * threads read with two in a bank where it lies across.  (tf32 4096^3 on an H200, b by rows: 294 TFLOP/s by 128 x 256, 406
 * by 256 x 128.) */
static double shared_cycles(const struct walk *walk, const struct product *product)
{
    double rows = (double)product->m, columns = (double)product->n, k = (double)product->k;
    double words = rows + columns + columns * rows / 64 + rows * (product->lies_across[0] ? 2 : 1);
    return 4 * words * k / walk->costs->shared_bytes;
}

static double product_cycles(const struct walk *walk, const struct ir_operation *op)
{
    struct product product = product_of(op);
    product = product_as_computed(walk->row, &product);
    enum ir_instruction instruction = product_choice_of(walk->row, &product).instruction;
    double work = 2.0 * (double)ir_type_elements(op->results[0]->type) * (double)product.k;
    if (instruction == IR_INSTRUCTION_WGMMA && product.n < LEAST_COLUMNS)
        work *= (double)LEAST_COLUMNS / (double)product.n;
    if (instruction == IR_INSTRUCTION_FMA || (instruction == IR_INSTRUCTION_MMA && lacks_blocks(walk, &product)))
        return work / walk->costs->multiply_add;
    if (product.a == IR_F64)
        return work / walk->costs->tensor_f64;
    double times = product.a != IR_F32 ? 1 : product.precision == IR_PRECISION_TF32X3 ? 6 : 2;
    if (instruction == IR_INSTRUCTION_MMA)
        return times * work / walk->costs->tensor_mma;
    bool narrow = ir_element_info[product.a].bits == 8;
    if (product.a == IR_F32) {
        double shared = shared_cycles(walk, &product), tensor = times * work / walk->costs->tensor_f16;
        return shared > tensor ? shared : tensor;
    }
    return times * work / (narrow ? walk->costs->tensor_8bit : walk->costs->tensor_f16);
}

/* What wgmma reads of shared memory: for each 64 rows these, where they are not computed, and all columns. */
static double factor_bytes(const struct walk *walk, const struct ir_operation *op)
{
    struct product product = product_of(op);
    const struct ir_operation *rows = op->operands[0]->definition;
    if (product_choice_of(walk->row, &product).instruction != IR_INSTRUCTION_WGMMA)
        return 0;
    double row_bytes = (double)product.k * ir_element_info[product.a].bits / 8;
    bool computed = !rows || !ir_has_trait(rows, IR_TRAIT_READ);
    return (double)product.m / WARPGROUP_ROWS * row_bytes * ((computed ? 0 : WARPGROUP_ROWS) + (double)product.n);
}

/* The front end adds to a sum by itself what becomes one with the product. */
static bool is_sum_of_product(const struct ir_operation *op)
{
    for (int i = 0; op->opcode == OP_ADD && i < 2; i++)
        if (op->operands[i]->definition && op->operands[i]->definition->opcode == OP_DOT)
            return true;
    return false;
}

static void add_operation(struct walk *walk, const struct ir_operation *op, bool in_loop, struct effort *effort)
{
    const struct ir_type *tile = worked_on(op);
    const struct target_costs *costs = walk->costs;
    if (!tile || is_sum_of_product(op))
        return;
    double work = (double)ir_type_elements(tile) / LANES, bytes = (double)ir_type_bytes(tile);
    walk->tile_bytes = walk->tile_bytes > bytes ? walk->tile_bytes : bytes;
    switch (op->opcode) {
    case OP_CONSTANT:
    case OP_SPLAT:
    case OP_BROADCAST:
    case OP_RESHAPE:
    case OP_PERMUTE:
    case OP_IOTA:
    case OP_BITCAST: break;
    case OP_DOT:
        effort->tensor += product_cycles(walk, op);
        effort->shared += factor_bytes(walk, op) / costs->wgmma_bytes;
        break;
    case OP_LOAD:
    case OP_POINTER_LOAD:
    case OP_STORE:
    case OP_POINTER_STORE: add_copy(walk, op, bytes, in_loop, effort); break;
    case OP_ATOMIC:
    case OP_ATOMIC_CAS:
    case OP_POINTER_ATOMIC:
    case OP_POINTER_CAS:
        add_copy(walk, op, bytes, in_loop, effort);
        effort->slots += 4 * work;
        effort->answers += op->result_count && op->results[0]->uses ? costs->atomic_latency : 0;
        break;
    case OP_MATH:
        effort->special += costs->special * work;
        effort->slots += costs->math_slots * work;
        break;
    case OP_DIV:
    case OP_REM: effort->slots += 10 * work; break;
    case OP_REDUCE: effort->slots += 2 * work; break;
    case OP_SCAN:
    case OP_HISTOGRAM: effort->slots += 4 * work; break;
    case OP_SORT: {
        int bits = log2_floor((uint64_t)tile->extent[ir_number(op, IR_ATTRIBUTE_AXIS, 0)]) + 1;
        effort->slots += 2.0 * bits * (bits + 1) * work;
        break;
    }
    case OP_PHILOX: effort->slots += 60 * work; break;
    case OP_MAP:
        for (const struct ir_operation *inner = op->regions[0]->first; inner; inner = inner->next)
            effort->slots += work;
        break;
    default: effort->slots += work; break;
    }
}

static double greater(double a, double b) { return a > b ? a : b; }

static double busy_of(const struct walk *walk, const struct effort *effort)
{
    double beside = greater(effort->special, effort->slots), computes = greater(effort->tensor, beside);
    if (walk->least_rows == WARPGROUP_ROWS)
        computes += walk->costs->alone * (effort->tensor + beside - computes);
    return greater(greater(computes, effort->shared), greater(effort->copies, effort->memory));
}

/* ---- accounts of blocks ---- */

static struct account account_of(struct walk *walk, const struct ir_block *block, bool in_loop);

/* Loops of as many turns are one, so that a call has fewer to count. */
static void add_term(struct walk *walk, struct account *sum, struct term term)
{
    for (int i = 0; i < sum->terms.count; i++) {
        struct term *other = &sum->terms.data[i];
        if (kernel_expression_same(other->turns, term.turns)) {
            other->busy += term.busy;
            other->waits += term.waits;
            other->lines += term.lines;
            for (int v = 0; v < MOST_STRADDLE; v++)
                other->straddling[v] += term.straddling[v];
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
    sum->effort.lines += share * part->effort.lines;
    for (int v = 0; v < MOST_STRADDLE; v++)
        sum->effort.straddling[v] += share * part->effort.straddling[v];
    for (int i = 0; i < part->terms.count; i++) {
        struct term term = part->terms.data[i];
        term.busy *= share;
        term.waits *= share;
        term.lines *= share;
        for (int v = 0; v < MOST_STRADDLE; v++)
            term.straddling[v] *= share;
        add_term(walk, sum, term);
    }
}

static double weight_of(const struct walk *walk, const struct account *account)
{
    double weight = busy_of(walk, &account->effort);
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

/* A slot of a ring is filled anew when its copy has come and has been read.  The sums lie beside the ring when they are
 * stored, as 16 bits. */
static double shortest_turn(const struct walk *walk, double busy, double bytes)
{
    double slots = floor((walk->row->shared_bytes - walk->carried_bytes / 2) / bytes);
    if (!walk->least_rows)
        return walk->products ? walk->costs->turn_latency : walk->costs->global_latency;
    slots = slots < walk->costs->most_slots ? slots : walk->costs->most_slots;
    return (walk->costs->ring_latency + busy) / greater(slots, 1);
}

static void add_loop(struct walk *walk, struct account *sum, const struct ir_operation *op)
{
    expression turns = turns_of(walk, op);
    double carried = 0;
    for (int i = 0; i < op->result_count; i++)
        carried += 4 * (double)ir_type_elements(op->results[i]->type);
    walk->carried_bytes = walk->carried_bytes > carried ? walk->carried_bytes : carried;
    for (int r = 0; r < op->region_count; r++) {
        struct account turn = account_of(walk, op->regions[r], true);
        double issue = walk->costs->turn_issue + (walk->cluster > 1 ? walk->costs->cluster_issue : 0);
        double busy = busy_of(walk, &turn.effort) + issue, bytes = turn.effort.bytes;
        double waits = greater(bytes > 0 ? shortest_turn(walk, busy, bytes) - busy : 0, 0) + turn.effort.answers;
        struct term own = {.turns = turns, .busy = busy, .waits = waits, .lines = turn.effort.lines};
        memcpy(own.straddling, turn.effort.straddling, sizeof own.straddling);
        walk->ring_bytes = greater(walk->ring_bytes, bytes);
        add_term(walk, sum, own);
        for (int i = 0; i < turn.terms.count; i++) {
            struct term term = turn.terms.data[i];
            term.turns = expression_make(walk->arena, KERNEL_HOST_MUL, turns, term.turns);
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
            add_operation(walk, op, in_loop, &sum.effort);
    return sum;
}

/* ---- the whole ---- */

/* As many as have room for their rings and for the registers of their tiles, half as much again for what else lives.  A
 * producer beside warpgroups that multiply shares all registers with them. */
static int resident_of(const struct walk *walk)
{
    if (walk->least_rows)
        return 1;
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
    return number(walk, value > MOST_CYCLES ? MOST_CYCLES : (int64_t)(value + 0.5));
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
    expression pitch = stride_of(walk, parameter, p->rank - 2);
    if (p->strided)
        pitch = expression_make(walk->arena, KERNEL_HOST_MAX, pitch, stride_of(walk, parameter, p->rank - 1));
    return expression_make(walk->arena, KERNEL_HOST_NE,
                           expression_make(walk->arena, KERNEL_HOST_BIT_AND, pitch, number(walk, elements - 1)),
                           number(walk, 0));
}

/* Of all turns of a program: so many times the lines of all views, and so many of those of views whose rows begin beside
 * multiples of so many bytes. */
static expression lines_of(const struct walk *walk, const struct account *account, double all, double beside, int bytes)
{
    struct arena *arena = walk->arena;
    expression sum = number(walk, 0), begins[MOST_STRADDLE];
    for (int v = 0; v < walk->views; v++)
        begins[v] = begins_beside(walk, walk->straddling[v], bytes);
    for (int i = 0; i < account->terms.count; i++) {
        const struct term *term = &account->terms.data[i];
        expression lines = cycles(walk, all * term->lines);
        for (int v = 0; v < walk->views; v++)
            lines = expression_make(
                arena, KERNEL_HOST_ADD, lines,
                expression_make(arena, KERNEL_HOST_MUL, begins[v], cycles(walk, beside * term->straddling[v])));
        sum = expression_make(arena, KERNEL_HOST_ADD, sum, expression_make(arena, KERNEL_HOST_MUL, term->turns, lines));
    }
    return sum;
}

/* All multiprocessors share what L2 gives, and few of them have a little more each. */
static expression lines_of_all(const struct walk *walk, const struct schedule_cost *cost, expression here)
{
    struct arena *arena = walk->arena;
    expression processors = expression_leaf(arena, KERNEL_HOST_SM_COUNT, 0), parts = number(walk, 16);
    int64_t alone = (int64_t)(16 * walk->costs->line_alone + 0.5);
    expression share = expression_make(arena, KERNEL_HOST_MUL, cost->programs, parts);
    expression each = expression_make(arena, KERNEL_HOST_MUL, here,
                                      expression_make(arena, KERNEL_HOST_MUL, processors, number(walk, alone)));
    expression lines = expression_make(arena, KERNEL_HOST_MUL, expression_make(arena, KERNEL_HOST_MAX, share, each),
                                       cost->lines);
    return expression_make(arena, KERNEL_HOST_DIV, expression_make(arena, KERNEL_HOST_DIV, lines, processors), parts);
}

/* Clusters leave out what does not fill one where multiprocessors are grouped: an eighth of them is not counted. */
static expression modelled(const struct walk *walk, const struct schedule_cost *cost)
{
    struct arena *arena = walk->arena;
    expression all = expression_leaf(arena, KERNEL_HOST_SM_COUNT, 0), programs = cost->programs;
    if (walk->variant->function->parts > 1) {
        all = expression_make(arena, KERNEL_HOST_MUL, all, number(walk, 7));
        programs = expression_make(arena, KERNEL_HOST_MUL, programs, number(walk, 8));
    }
    expression here = expression_make(arena, KERNEL_HOST_CDIV, programs, all);
    expression rounds = expression_make(arena, KERNEL_HOST_CDIV, here, number(walk, cost->resident));
    expression time = expression_make(arena, KERNEL_HOST_MUL, here, cost->busy);
    time = expression_make(arena, KERNEL_HOST_ADD, time, expression_make(arena, KERNEL_HOST_MUL, rounds, cost->waits));
    if (walk->least_rows)
        time = expression_make(arena, KERNEL_HOST_MAX, time, lines_of_all(walk, cost, here));
    return expression_make(arena, KERNEL_HOST_ADD, time, cycles(walk, walk->costs->program_latency));
}

struct saving {
    struct walk *walk;
    int dimension;
    double bytes;
};

static void find_saving(struct ir_operation *op, void *context)
{
    struct saving *saving = context;
    if (op->opcode == OP_LOAD && op->results[0]->type->rank && !reads_own(saving->walk, op, saving->dimension))
        saving->bytes += (double)ir_type_bytes(op->results[0]->type);
}

/* The dimension along which two blocks save most, as passes/loops/specialise_cluster.c chooses it. */
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
    walk->cluster = most > 0 && walk->least_rows && parts_of(walk) == 1 && function->cluster > 1 ? function->cluster
                                                                                                 : 1;
}

/* Before anything is counted: what multiplies. */
static void find_products(struct ir_operation *op, void *context)
{
    struct walk *walk = context;
    if (op->opcode != OP_DOT)
        return;
    struct product product = product_of(op);
    product = product_as_computed(walk->row, &product);
    walk->products = true;
    if (product_choice_of(walk->row, &product).instruction == IR_INSTRUCTION_WGMMA &&
        (!walk->least_rows || product.m < walk->least_rows))
        walk->least_rows = product.m;
}

/* Of each part of a split loop: it starts, its sums have to be in memory before the others are told, and the last, which is
 * waited for, loads one after the other.  Parts that do not meet count in memory, which another launch clears. */
static double split_waits(const struct walk *walk)
{
    const struct kernel_variant *variant = walk->variant;
    const struct target_costs *costs = walk->costs;
    double parts = (double)parts_of(walk);
    if (parts == 1)
        return 0;
    double clearing = variant->function->parts ? 0 : costs->clearing;
    if (!walk->least_rows)
        return costs->program_latency + clearing + (1 + parts) * costs->global_latency;
    return costs->split_latency + clearing +
           walk->carried_bytes * (1 / costs->split_store_bytes + parts / costs->split_load_bytes);
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
    cost.programs = number(&walk, 1);
    for (int d = 0; d < variant->grid_rank; d++)
        cost.programs = expression_make(arena, KERNEL_HOST_MUL, cost.programs, variant->grid[d]);
    double start = walk.least_rows ? walk.costs->wgmma_start : walk.costs->program_start;
    cost.busy = sum_of(&walk, &account, false, busy_of(&walk, &account.effort) + start);
    cost.waits = sum_of(&walk, &account, true, account.effort.answers + split_waits(&walk));
    cost.lines = lines_of(&walk, &account, 1, 1, LINE_BYTES);
    if (walk.least_rows)
        cost.busy = expression_make(arena, KERNEL_HOST_ADD, cost.busy,
                                    lines_of(&walk, &account, 0, walk.costs->line_pieces, COPY_BYTES));
    cost.resident = resident_of(&walk);
    cost.unknown = walk.unknown;
    cost.modelled = modelled(&walk, &cost);
    return cost;
}
