/* What the operations of a program take: of tensor cores, shared memory, L2, memory and instructions. */
#include <math.h>
#include <string.h>

#include "passes/schedules/schedule_walk.h"
#include "targets/product_choice.h"

double walk_warpgroups(const struct walk *walk)
{
    int warps = walk->variant->function->warps;
    double groups = warps >= IR_WARPGROUP ? warps / IR_WARPGROUP : (double)walk->most_rows / WARPGROUP_ROWS;
    return greater(groups, 1);
}

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

bool walk_reads_own(struct walk *walk, const struct ir_operation *op, int dimension)
{
    walk->steps = MOST_STEPS;
    for (int i = 0; i < op->operand_count; i++)
        if (is_own(walk, op->operands[i], dimension))
            return true;
    return false;
}

/* Whether two warpgroups take programs in turn, as passes/roles/specialise_programs.c has it: tensor cores work for one while
 * the other stores. */
bool walk_takes_turns(const struct walk *walk)
{
    const struct ir_function *function = walk->variant->function;
    return walk->least_rows && walk_warpgroups(walk) == 1 && !walk->by_threads && walk->kept_bytes == 0 &&
           !walk->makes && function->persistent >= 0 && walk_parts(walk) == 1;
}

/* The place of the view among those that strides are asked of; -1: it has no rows, or there are too many. */
static int straddling_of(struct walk *walk, const struct ir_value *view)
{
    int parameter = walk_parameter_of(walk, view);
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

static void put_lines(struct lines *lines, int view, double all, double straddling, double beside)
{
    lines->all += all;
    if (view < 0)
        return;
    lines->straddling[view] += straddling - all;
    lines->beside[view] += beside - straddling;
}

/* How much more of L2 than bytes: a row of a tile that is shorter than a line takes one. */
static double line_share(const struct ir_operation *op)
{
    struct ir_access access;
    if (!ir_access_of(op, &access))
        return 1;
    for (int d = 0; d < access.rank; d++)
        if (access.view->type->stride[d] == 1 && access.place[d] > 0) {
            int64_t bits = access.place[d] * ir_element_info[access.view->type->element].bits;
            return greater(8.0 * LINE_BYTES / (double)bits, 1);
        }
    return 1;
}

/* Beside whole warpgroups; all blocks of a cluster read what is the same along its dimension. */
static void add_lines(struct walk *walk, const struct ir_operation *op, double bytes, struct effort *effort)
{
    bool together = walk->cluster > 1 && !walk_reads_own(walk, op, walk->cluster_dimension);
    const struct target_costs *costs = walk->costs;
    double read = line_share(op) * (together ? bytes / (double)walk->cluster : bytes);
    read *= walk->cluster > 1 ? costs->cluster_lines : 1;
    put_lines(&effort->lines, straddling_of(walk, op->operands[0]),
              read / (walk_reads_own(walk, op, 0) ? costs->line_bytes : costs->same_line_bytes),
              read / costs->straddling_bytes, read / costs->beside_bytes);
    effort->shared += bytes / costs->wgmma_bytes;
}

/* Behind the loops of whole warpgroups. */
static void add_stores(struct walk *walk, const struct ir_operation *op, double bytes, struct effort *effort)
{
    const struct target_costs *costs = walk->costs;
    if (walk->by_threads) {
        effort->stores += bytes / costs->piece_store_bytes / walk_warpgroups(walk);
        return;
    }
    effort->stores += bytes / costs->store_bytes;
    int view = straddling_of(walk, op->operands[0]);
    double straddling = bytes / costs->store_straddling_bytes;
    put_lines(&effort->lines, view, bytes / costs->store_line_bytes, straddling, straddling);
    double blocks = (double)walk->most_rows / WARPGROUP_ROWS / walk_warpgroups(walk);
    double pieces = bytes / costs->store_piece_bytes * (1 + costs->store_piece_blocks * (blocks - 1));
    if (view >= 0)
        effort->pieces[view] += pieces * (walk_takes_turns(walk) ? 2 : 1);
}

/* What neighbours read at the same time comes to all of them at the price of one. */
static void add_copy(struct walk *walk, const struct ir_operation *op, double bytes, bool in_loop,
                     struct effort *effort)
{
    bool reads = ir_op_info[op->opcode].traits & IR_TRAIT_READ, own = !reads || walk_reads_own(walk, op, 0),
         alone = true;
    if (walk->least_rows && walk_parts(walk) > 1 && walk_parameter_of(walk, op->operands[0]) < 0)
        return; /* split_waits has it */
    if (reads && walk->least_rows && in_loop) {
        effort->bytes += bytes;
        if (!walk->by_threads)
            add_lines(walk, op, bytes, effort);
        return;
    }
    if (op->opcode == OP_STORE && walk->least_rows && !in_loop) {
        add_stores(walk, op, bytes, effort);
        return;
    }
    for (int d = 0; d < walk->variant->grid_rank && alone; d++)
        alone = walk_reads_own(walk, op, d);
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
    struct product product = product_computed(walk->row, op);
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

/* Instructions of threads beside a product by three of tf32: the first factor is split in registers, the second in shared
 * memory, which between two warpgroups and the producer others do (passes/roles/specialise_make.c); and a sum of its own is
 * added in each turn. */
static double split_slots(const struct walk *walk, const struct ir_operation *op)
{
    struct product product = product_computed(walk->row, op);
    enum ir_instruction instruction = product_choice_of(walk->row, &product).instruction;
    if (instruction != IR_INSTRUCTION_WGMMA || product.a != IR_F32 || product.precision != IR_PRECISION_TF32X3)
        return 0;
    double m = (double)product.m, n = (double)product.n, k = (double)product.k;
    double made = walk_warpgroups(walk) == 2 ? 0 : walk->costs->made_slots * n * k;
    return (m * n + walk->costs->split_slots * m * k + made) / LANES;
}

/* What wgmma reads of shared memory: for each 64 rows these, where they are not computed, and all columns. */
static double factor_bytes(const struct walk *walk, const struct ir_operation *op)
{
    struct product written = product_of(op), product = product_as_computed(walk->row, &written);
    const struct ir_operation *rows = op->operands[product.m != written.m]->definition;
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

void effort_add(struct walk *walk, const struct ir_operation *op, bool in_loop, struct effort *effort)
{
    const struct ir_type *tile = worked_on(op);
    const struct target_costs *costs = walk->costs;
    if (!tile || is_sum_of_product(op))
        return;
    double work = (double)ir_type_elements(tile) / LANES, bytes = (double)ir_type_bytes(tile);
    if (tile->element == IR_INDEX) /* which `narrow` makes 32 bits */
        bytes /= 2;
    walk->tile_bytes = walk->tile_bytes > bytes ? walk->tile_bytes : bytes;
    switch (op->opcode) {
    case OP_CONSTANT:
    case OP_SPLAT:
    case OP_BROADCAST:
    case OP_RESHAPE:
    case OP_PERMUTE:
    case OP_IOTA:
    case OP_BITCAST:
    case OP_YIELD: break;
    case OP_DOT:
        effort->tensor += product_cycles(walk, op);
        effort->slots += split_slots(walk, op);
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

double effort_busy(const struct effort *effort)
{
    double computes = greater(effort->tensor, greater(effort->special, effort->slots));
    return greater(greater(computes, effort->shared), greater(effort->copies, effort->memory)) + effort->stores;
}

/* What a warpgroup does between a product and the next one that needs it, while no tensor core works for it: how many
 * others there are makes it no shorter. */
double effort_chain(const struct walk *walk, const struct effort *effort)
{
    double beside = effort->special + effort->slots;
    if (!walk->least_rows || effort->tensor == 0 || beside == 0)
        return 0;
    return walk->costs->chain_part * beside / walk_warpgroups(walk) + walk->costs->chain_latency;
}
