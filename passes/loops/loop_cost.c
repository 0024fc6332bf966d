/* What operations cost, for loop_model: how long each keeps parts of a multiprocessor busy, and when its result is there.
 * Here stands how many instructions an operation is; what one takes is in targets/costs.def. */
#include "ir/facts/living.h"
#include "ir/facts/registers.h"
#include "ir/layout/layout.h"
#include "passes/base/rewrite.h"
#include "passes/loops/prefetch_loads.h"

enum {
    FRAGMENT_REGISTERS = 48, /* of a product, on their way from shared memory */
    CYCLES_OF_MMA = 8        /* of tensor cores, for an instruction of each scheduler: 16 x 8 x 16 */
};

static int words(const struct ir_type *type)
{
    int bits = ir_element_info[type->element].bits;
    int64_t elements = type->rank && type->layout ? layout_registers(type->layout) : ir_type_elements(type);
    return (int)((elements * (bits < 16 ? 16 : bits) + 31) / 32);
}

/* A name of what is there, or a tile whose elements are others' registers or numbers in the code. */
static bool is_free(const struct ir_operation *op)
{
    return registers_are_shared(op) || op->opcode == OP_SLOT || op->opcode == OP_BUFFER ||
           op->opcode == OP_BUFFER_PERMUTE || op->opcode == OP_BUFFER_PART;
}

/* What elements of a tile become, one by one: the value behind all that looks at each by itself, for nobody else. */
static const struct ir_value *end_of_chain(const struct ir_value *value)
{
    for (;;) {
        const struct ir_use *use = value->uses;
        const struct ir_operation *user = use && !use->next ? use->user : NULL;
        bool alone = user && user->block == value->block && user->result_count == 1 &&
                     (ir_has_trait(user, IR_TRAIT_ELEMENTWISE) || user->opcode == OP_RESHAPE ||
                      user->opcode == OP_PERMUTE);
        if (!alone)
            return value;
        value = user->results[0];
    }
}

/* Of a product that reads both from registers. */
static bool is_kept_factor(const struct ir_value *value)
{
    const struct ir_use *use = value->uses;
    return use && !use->next && use->user->opcode == OP_DOT_ASYNC && use->index < 2 &&
           use->user->operands[1]->type->kind == IR_TILE;
}

/* Elements of fewer than 32 bits take a register each: they are seldom packed where they are carried round a loop.  But
 * instructions of products take words, and so what becomes a factor is read and made in words. */
int prefetch_registers(const struct ir_value *value)
{
    bool is_shared = value->definition && registers_are_shared(value->definition);
    bool words = value->type->kind == IR_TILE && is_kept_factor(end_of_chain(value));
    return is_shared ? 0 : registers_of_tile(value->type, words ? REGISTERS_PAIRS : REGISTERS_ELEMENTS);
}

/* The tile whose work it is: a result, or what is written. */
static const struct ir_type *worked_on(const struct ir_operation *op)
{
    const struct ir_type *widest = NULL;
    for (int i = 0; i < op->result_count + op->operand_count; i++) {
        const struct ir_type *type = i < op->result_count ? op->results[i]->type
                                                          : op->operands[i - op->result_count]->type;
        if (type->kind == IR_TILE && type->rank > 0 && (!widest || words(type) > words(widest)))
            widest = type;
    }
    return widest;
}

static bool is_matrix(const struct ir_operation *op)
{
    return ir_number(op, IR_ATTRIBUTE_INSTRUCTION, IR_INSTRUCTION_FMA) != IR_INSTRUCTION_FMA;
}

static double product_cycles(const struct ir_operation *op, const struct target_costs *costs)
{
    const struct ir_type *a = op->operands[0]->type, *sum = op->results[0]->type;
    double work = 2.0 * (double)ir_type_elements(sum) * (double)a->extent[a->rank - 1];
    bool narrow = ir_number(op, IR_ATTRIBUTE_INSTRUCTION, 0) == IR_INSTRUCTION_WGMMA &&
                  ir_element_info[a->element].bits == 8;
    return work / (!is_matrix(op) ? costs->multiply_add : narrow ? costs->tensor_8bit : costs->tensor_f16);
}

static double bytes_of(const struct ir_type *type)
{
    return (double)ir_type_elements(type) * ir_element_info[type->element].bits / 8;
}

double loop_cost_warps(const struct ir_operation *op)
{
    const struct ir_block *block = op->block;
    while (block->parent && block->parent->opcode != OP_ROLES)
        block = block->parent->block;
    const struct ir_attribute *list = block->parent ? ir_attribute(block->parent, IR_ATTRIBUTE_ROLE_WARPS) : NULL;
    for (int i = 0; list && i < list->count; i++)
        if (block->parent->regions[i] == block)
            return (double)list->list[i];
    return block->function->warps > 0 ? block->function->warps : 1;
}

/* Bytes of factors that a product's instructions read from shared memory: those of wgmma once a warpgroup, all of b and
 * its own rows of a. */
static double factor_bytes(const struct ir_operation *op)
{
    double groups = loop_cost_warps(op) > 4 ? loop_cost_warps(op) / 4 : 1, bytes = 0;
    for (int i = 0; i < 2; i++)
        if (op->operands[i]->type->kind == IR_BUFFER)
            bytes += bytes_of(op->operands[i]->type) * (i == 1 ? groups : 1);
    return bytes;
}

/* The cycles that it takes of what is not issued: traffic, and special functions. */
static void add_traffic(struct loop_cost *cost, const struct ir_operation *op, const struct ir_type *tile, double work,
                        const struct target_costs *costs)
{
    double through = 0, memory = 0; /* bytes */
    switch (op->opcode) {
    case OP_DOT_ASYNC: through = factor_bytes(op); break;
    case OP_LOAD: memory = tile ? bytes_of(tile) : 0; break;
    case OP_CP_ASYNC:
    case OP_COPY_ASYNC:
        memory = (double)ir_type_bytes(op->operands[op->operand_count - 1]->type);
        through = memory;
        break;
    case OP_BUFFER_LOAD:
    case OP_BUFFER_STORE: through = tile ? bytes_of(tile) : 0; break;
    case OP_CONVERT_LAYOUT: through = tile ? 2 * bytes_of(tile) : 0; break;
    case OP_MATH:
        cost->special = costs->special * work;
        cost->slots = costs->math_slots * work;
        break;
    default: break;
    }
    cost->shared += through / costs->shared_bytes;
    cost->l2 += memory / costs->l2_bytes;
}

static struct loop_cost takes(double issue, double latency)
{
    return (struct loop_cost){.issue = issue, .slots = issue, .latency = latency};
}

static struct loop_cost product_cost(const struct ir_operation *op, const struct target_costs *costs)
{
    double cycles = product_cycles(op, costs);
    bool asynchronous = ir_number(op, IR_ATTRIBUTE_INSTRUCTION, IR_INSTRUCTION_FMA) == IR_INSTRUCTION_WGMMA;
    struct loop_cost cost = takes(asynchronous ? costs->product_issue : cycles, costs->product_latency);
    cost.asynchronous = asynchronous;
    cost.tensor = is_matrix(op) ? cycles : 0;
    cost.slots = is_matrix(op) && !asynchronous ? cycles / CYCLES_OF_MMA : cost.issue;
    return cost;
}

/* Of all regions of an operation, once. */
static struct loop_cost cost_of_regions(const struct ir_operation *op, const struct target_row *target)
{
    struct loop_cost sum = {0};
    for (int r = 0; r < op->region_count; r++)
        for (const struct ir_operation *inner = op->regions[r]->first; inner; inner = inner->next) {
            struct loop_cost cost = loop_cost_of(inner, target);
            sum.issue += cost.issue + (cost.asynchronous ? cost.tensor : 0);
            sum.slots += cost.slots;
            sum.tensor += cost.tensor;
            sum.special += cost.special;
            sum.shared += cost.shared;
            sum.l2 += cost.l2;
        }
    return sum;
}

static struct loop_cost times(struct loop_cost cost, double count)
{
    cost.issue *= count;
#define X(name, text) cost.name *= count;
    LOOP_RESOURCES(X)
#undef X
    return cost;
}

/* Issue and latency, by the operation. */
static struct loop_cost cost_by_kind(const struct ir_operation *op, const struct ir_type *tile, double work,
                                     const struct target_row *target)
{
    const struct target_costs *costs = target_costs(target);
    switch (op->opcode) {
    case OP_DOT:
    case OP_DOT_ASYNC: return product_cost(op, costs);
    case OP_DOT_WAIT: return takes(1, costs->product_latency);
    case OP_LOAD:
    case OP_POINTER_LOAD: return takes(work / 2 + 4, costs->global_latency);
    case OP_ATOMIC:
    case OP_ATOMIC_CAS:
    case OP_POINTER_ATOMIC:
    case OP_POINTER_CAS: return takes(4 * work, costs->atomic_latency);
    case OP_STORE:
    case OP_POINTER_STORE: return takes(work + 4, 0);
    case OP_CP_ASYNC:
    case OP_COPY_ASYNC: { /* 16 bytes of each lane at a time */
        int64_t bytes = ir_type_bytes(op->operands[op->operand_count - 1]->type);
        return takes((double)bytes / 512 + 4, 0);
    }
    case OP_BUFFER_LOAD:
    case OP_BUFFER_STORE: return takes(work, costs->shared_latency);
    case OP_CONVERT_LAYOUT: return takes(2 * work, 2 * costs->shared_latency);
    case OP_REDUCE: return takes(2 * work + 10, 5 * costs->shuffle_latency);
    case OP_HISTOGRAM: return takes(4 * work, costs->atomic_latency);
    case OP_SORT: { /* half of all exchanges are between threads */
        int64_t extent = op->operands[0]->type->extent[ir_number(op, IR_ATTRIBUTE_AXIS, 0)];
        int bits = log2_floor((uint64_t)extent) + 1, stages = bits * (bits + 1) / 2;
        return takes(4 * work * stages, (double)stages * costs->shuffle_latency);
    }
    case OP_SCAN: return takes(4 * work + 20, 10 * costs->shuffle_latency);
    case OP_MATH: return takes(costs->math_issue * work, costs->math_latency);
    case OP_DIV:
    case OP_REM: return takes(10 * work, 10 * costs->alu_latency);
    case OP_PHILOX: return takes(60 * work, 10 * costs->alu_latency);
    case OP_MAP: {
        struct loop_cost each = times(cost_of_regions(op, target), work);
        each.latency = costs->math_latency;
        return each;
    }
    case OP_BARRIER:
    case OP_CP_WAIT:
    case OP_MBARRIER_WAIT: return takes(2, costs->barrier_latency);
    default: break;
    }
    struct loop_cost cost = times(cost_of_regions(op, target), ir_has_trait(op, IR_TRAIT_LOOP) ? costs->trips : 1);
    double own = (tile ? work : 2) * (ir_has_trait(op, IR_TRAIT_LOOP) ? costs->trips : 1);
    cost.issue += own;
    cost.slots += own;
    cost.latency = costs->alu_latency;
    return cost;
}

struct loop_cost loop_cost_of(const struct ir_operation *op, const struct target_row *target)
{
    const struct ir_type *tile = worked_on(op);
    /* instructions of each scheduler's warps */
    double warps = op->block->function->warps > 4 ? op->block->function->warps / 4.0 : 1;
    double work = tile ? words(tile) * warps : 1;
    if (is_free(op))
        return takes(0, 0);
    struct loop_cost cost = cost_by_kind(op, tile, work, target);
    add_traffic(&cost, op, tile, work, target_costs(target));
    double share = op->block->function->warps > 4 ? loop_cost_warps(op) / op->block->function->warps : 1;
    cost.slots *= share; /* issue counts warps of all roles */
    cost.special *= share;
    return cost;
}

/* ---- registers ---- */

struct counting {
    struct arena *arena;
    const struct ir_block *block;
    int *taken; /* by position in the block */
    int position;
};

/* A factor is made word by word: at most what it is made of and its words are in registers, whatever stands between. */
static int64_t weight_of(const struct ir_value *value)
{
    int64_t own = prefetch_registers(value);
    const struct ir_value *end = end_of_chain(value);
    bool between = value->definition && ir_has_trait(value->definition, IR_TRAIT_ELEMENTWISE) && is_kept_factor(end);
    return between ? int64_min(own, prefetch_registers(end)) : own;
}

/* What an operation needs beside its operands and results while it works. */
static int registers_within(struct arena *arena, const struct ir_operation *op);

static void look(const struct living *living, const struct ir_operation *op, enum living_place place, void *data)
{
    struct counting *c = data;
    if (op->block != c->block)
        return;
    if (place == LIVING_BEHIND)
        c->position--;
    int *taken = &c->taken[c->position];
    *taken = (int)int64_max(*taken, living->weight);
    if (place == LIVING_FRONT)
        *taken += registers_within(c->arena, op);
}

/* Registers that are taken while each of the block's operations works, in text order. */
static int *pressure_of(struct arena *arena, const struct ir_block *block, int *count)
{
    struct counting c = {.arena = arena, .block = block};
    struct living_question question = {.weight = weight_of, .origin = registers_origin, .look = look, .data = &c};
    for (const struct ir_operation *op = block->first; op; op = op->next)
        c.position++;
    *count = c.position;
    c.taken = ARENA_ARRAY(arena, int, c.position + 1);
    living_walk_block(arena, block, &question);
    return c.taken;
}

static int registers_within(struct arena *arena, const struct ir_operation *op)
{
    int most = 0, count;
    bool matrix = ir_number(op, IR_ATTRIBUTE_INSTRUCTION, IR_INSTRUCTION_FMA) == IR_INSTRUCTION_MMA;
    bool plain = op->opcode == OP_DOT && !ir_attribute(op, IR_ATTRIBUTE_INSTRUCTION);
    if (matrix || plain)
        return FRAGMENT_REGISTERS;
    for (int r = 0; r < op->region_count; r++) {
        const int *inner = pressure_of(arena, op->regions[r], &count);
        for (int i = 0; i < count; i++)
            most = (int)int64_max(most, inner[i]);
    }
    return most;
}

int *prefetch_pressure(struct arena *arena, const struct ir_block *body)
{
    int count;
    return pressure_of(arena, body, &count);
}
