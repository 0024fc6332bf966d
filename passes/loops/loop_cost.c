/* What operations cost, for loop_plan: a table of latencies and of the time that a multiprocessor's issue or tensor
 * cores are busy.  The numbers are of Ampere and Hopper, rounded; what matters is which of two is the greater. */
#include "ir/facts/living.h"
#include "ir/facts/registers.h"
#include "ir/layout/layout.h"
#include "passes/base/rewrite.h"
#include "passes/loops/prefetch_loads.h"
#include "targets/target.h"

enum {
    GLOBAL_LATENCY = 600,
    SHARED_LATENCY = 30,
    BARRIER_LATENCY = 40,
    ALU_LATENCY = 4,
    MATH_LATENCY = 20,
    ATOMIC_LATENCY = 700,
    PRODUCT_LATENCY = 30,
    PRODUCT_ISSUE = 16,
    SHUFFLE_LATENCY = 25,
    UNKNOWN_TRIPS = 8,
    PRODUCT_REGISTERS = 48 /* fragments on their way from shared memory */
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

/* Elements of fewer than 32 bits take a register each: they are seldom packed where they are carried round a loop. */
int prefetch_registers(const struct ir_value *value)
{
    bool is_shared = value->definition && registers_are_shared(value->definition);
    return is_shared ? 0 : registers_of_tile(value->type, REGISTERS_ELEMENTS);
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

static double product_cycles(const struct ir_operation *op, const struct target_row *target)
{
    const struct ir_type *a = op->operands[0]->type, *sum = op->results[0]->type;
    double work = 2.0 * (double)ir_type_elements(sum) * (double)a->extent[a->rank - 1];
    double each = 256; /* floating-point operations a cycle */
    enum ir_instruction by = (enum ir_instruction)ir_number(op, IR_ATTRIBUTE_INSTRUCTION, IR_INSTRUCTION_FMA);
    if (by != IR_INSTRUCTION_FMA)
        each = target && (target->flags & TARGET_WGMMA) ? 4096 : 2048;
    if (by == IR_INSTRUCTION_WGMMA && ir_element_info[a->element].bits == 8)
        each *= 2;
    return work / each;
}

static struct loop_cost takes(double issue, double latency) { return (struct loop_cost){issue, latency, 0}; }

static double cost_of_block(const struct ir_block *block, const struct target_row *target)
{
    double sum = 0;
    for (const struct ir_operation *op = block->first; op; op = op->next) {
        struct loop_cost cost = loop_cost_of(op, target);
        sum += cost.issue + cost.tensor;
    }
    return sum;
}

struct loop_cost loop_cost_of(const struct ir_operation *op, const struct target_row *target)
{
    const struct ir_type *tile = worked_on(op);
    /* instructions of each scheduler's warps */
    double warps = op->block->function->warps > 4 ? op->block->function->warps / 4.0 : 1;
    double work = tile ? words(tile) * warps : 1;
    if (is_free(op))
        return takes(0, 0);
    switch (op->opcode) {
    case OP_DOT:
    case OP_DOT_ASYNC: {
        double cycles = product_cycles(op, target);
        bool asynchronous = ir_number(op, IR_ATTRIBUTE_INSTRUCTION, IR_INSTRUCTION_FMA) == IR_INSTRUCTION_WGMMA;
        return asynchronous ? (struct loop_cost){PRODUCT_ISSUE, PRODUCT_LATENCY, cycles}
                            : takes(cycles, PRODUCT_LATENCY);
    }
    case OP_DOT_WAIT: return takes(1, PRODUCT_LATENCY);
    case OP_LOAD:
    case OP_POINTER_LOAD: return takes(work / 2 + 4, GLOBAL_LATENCY);
    case OP_ATOMIC:
    case OP_ATOMIC_CAS:
    case OP_POINTER_ATOMIC:
    case OP_POINTER_CAS: return takes(4 * work, ATOMIC_LATENCY);
    case OP_STORE:
    case OP_POINTER_STORE: return takes(work + 4, 0);
    case OP_CP_ASYNC:
    case OP_COPY_ASYNC: { /* 16 bytes of each lane at a time */
        int64_t bytes = ir_type_bytes(op->operands[op->operand_count - 1]->type);
        return takes((double)bytes / 512 + 4, 0);
    }
    case OP_BUFFER_LOAD:
    case OP_BUFFER_STORE: return takes(work, SHARED_LATENCY);
    case OP_CONVERT_LAYOUT: return takes(2 * work, 2 * SHARED_LATENCY);
    case OP_REDUCE: return takes(2 * work + 10, 5 * SHUFFLE_LATENCY);
    case OP_HISTOGRAM: return takes(4 * work, ATOMIC_LATENCY);
    case OP_SORT: { /* half of all exchanges are between threads */
        int64_t extent = op->operands[0]->type->extent[ir_number(op, IR_ATTRIBUTE_AXIS, 0)];
        int bits = log2_floor((uint64_t)extent) + 1, stages = bits * (bits + 1) / 2;
        return takes(4 * work * stages, (double)stages * SHUFFLE_LATENCY);
    }
    case OP_SCAN: return takes(4 * work + 20, 10 * SHUFFLE_LATENCY);
    case OP_MATH: return takes(6 * work, MATH_LATENCY);
    case OP_DIV:
    case OP_REM: return takes(10 * work, 10 * ALU_LATENCY);
    case OP_PHILOX: return takes(60 * work, 10 * ALU_LATENCY);
    case OP_MAP: return takes(cost_of_block(op->regions[0], target) * work, MATH_LATENCY);
    case OP_BARRIER:
    case OP_CP_WAIT:
    case OP_MBARRIER_WAIT: return takes(2, BARRIER_LATENCY);
    default: break;
    }
    struct loop_cost cost = takes(tile ? work : 2, ALU_LATENCY);
    for (int r = 0; r < op->region_count; r++)
        cost.issue += cost_of_block(op->regions[r], target);
    if (ir_has_trait(op, IR_TRAIT_LOOP))
        cost.issue *= UNKNOWN_TRIPS;
    return cost;
}

/* ---- registers ---- */

struct counting {
    struct arena *arena;
    const struct ir_block *block;
    int *taken; /* by position in the block */
    int position;
};

static int64_t weight_of(const struct ir_value *value) { return prefetch_registers(value); }

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
        return PRODUCT_REGISTERS;
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
