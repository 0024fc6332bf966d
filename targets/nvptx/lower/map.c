/* map: a region on scalars, applied to each register of tiles.
 *
 * A short region is written out for each register.  A long one stands in a loop that handles a group of registers in each
 * turn: as many as hide each other's latency, and no more, because ptxas takes minutes for very long code.  Registers
 * cannot be indexed, so the tile moves through the loop as a queue.  A turn takes a group from the front and puts the
 * results at the end; behind the last turn every result has reached its place.
 *
 *     loop: q = phi(x0 x1 … x31, next)     next = q4 … q31 f(q0) f(q1) f(q2) f(q3)     turn < 8 ? loop : done
 *
 * That costs a move a register and turn, so a queue of many registers moves on in steps of several groups, which go
 * through a shorter queue of their own.  Tiles that registers do not hold anyway pass through arrays in local
 * memory. */
#include "targets/nvptx/lower/lower.h"
#include "targets/nvptx/thread/memory.h"

enum {
    WRITTEN_OUT = 1024, /* operations; more go in a loop */
    IN_A_TURN = 512,    /* operations of a group */
    MOST_IN_GROUP = 8,
    ERROR_FUNCTION = 15,
    MOST_ERROR_FUNCTIONS = 16, /* by eights ptxas spills twice as much behind 128 sums */
    MOST_IN_QUEUES = 128 /* registers of 32 bits; ptxas keeps more in local memory, and what is used behind them too */
};

/* A tile of operands that becomes a tile of results; either may be missing (-1). */
struct queue {
    LLVMTypeRef type;
    int operand, result;
};

struct mapping {
    struct ir_operation *operation;
    int count, group; /* registers of a tile; of them in a turn; both of scalars: 1 */
    struct queue *queue;
    int queues;
    LLVMValueRef **in, **out; /* [operand][i], [result][i] of the group */
    LLVMValueRef turn;
};

static bool is_error_function(const struct ir_operation *op)
{
    return op->opcode == OP_MATH && ir_number(op, IR_ATTRIBUTE_FUNCTION, 0) == IR_MATH_ERF;
}

static bool holds_error_function(const struct ir_block *block)
{
    const struct ir_operation *op = block->first;
    while (op && !is_error_function(op))
        op = op->next;
    return op;
}

/* Operations of a region, nested ones included; an error function of the target (with few digits) is many. */
static int region_size(const struct ir_block *block)
{
    int count = 0;
    for (const struct ir_operation *op = block->first; op; op = op->next) {
        count += is_error_function(op) ? ERROR_FUNCTION : op->opcode != OP_CONSTANT;
        for (int r = 0; r < op->region_count; r++)
            count += region_size(op->regions[r]);
    }
    return count;
}

/* The region for each of a group. */
static void apply(struct lowering *l, struct mapping *m)
{
    const struct ir_operation *operation = m->operation;
    LLVMValueRef *arguments = value_array(l, operation->operand_count),
                 *results = value_array(l, operation->result_count);
    for (int i = 0; i < m->group; i++) {
        for (int o = 0; o < operation->operand_count; o++)
            arguments[o] = operation->operands[o]->type->rank ? m->in[o][i]
                                                              : value_register(l, operation->operands[o], 0);
        lower_region(l, operation->regions[0], arguments, results);
        for (int r = 0; r < operation->result_count; r++)
            m->out[r][i] = results[r];
    }
}

/* ---- through registers ---- */

static LLVMTypeRef register_type(const struct lowering *l, const struct ir_value *value)
{
    return lower_value_type(l, value->type->element);
}

static void plan_queues(struct lowering *l, struct mapping *m)
{
    const struct ir_operation *operation = m->operation;
    m->queue = ARENA_ARRAY(l->arena, struct queue, operation->operand_count + operation->result_count);
    for (int o = 0; o < operation->operand_count; o++)
        if (operation->operands[o]->type->rank)
            m->queue[m->queues++] = (struct queue){register_type(l, operation->operands[o]), o, -1};
    for (int r = 0; r < operation->result_count; r++) {
        LLVMTypeRef type = register_type(l, operation->results[r]);
        int at = 0;
        while (at < m->queues && (m->queue[at].type != type || m->queue[at].result >= 0))
            at++;
        if (at == m->queues)
            m->queue[m->queues++] = (struct queue){type, -1, r};
        else
            m->queue[at].result = r;
    }
}

static int words_of_queues(const struct lowering *l, const struct mapping *m)
{
    int words = 0;
    for (int q = 0; q < m->queues; q++)
        words += m->count *
                 (m->queue[q].type == l->f64 || m->queue[q].type == l->i64 || m->queue[q].type == l->pointer ? 2 : 1);
    return words;
}

/* The group at the front of the queues, computed: what goes to their ends. */
static LLVMValueRef **compute_group(struct lowering *l, struct mapping *m, LLVMValueRef **front)
{
    LLVMValueRef **made = ARENA_ARRAY(l->arena, LLVMValueRef *, m->queues);
    for (int i = 0; i < m->queues; i++)
        if (m->queue[i].operand >= 0)
            m->in[m->queue[i].operand] = front[i];
    apply(l, m);
    for (int i = 0; i < m->queues; i++) {
        made[i] = m->queue[i].result >= 0 ? m->out[m->queue[i].result] : value_array(l, m->group);
        for (int g = 0; g < m->group && m->queue[i].result < 0; g++)
            made[i][g] = LLVMGetPoison(m->queue[i].type);
    }
    return made;
}

/* The first `width` registers of each queue, moved on by `step` a turn until all are computed. */
static LLVMValueRef **turn_queues(struct lowering *l, struct mapping *m, LLVMValueRef **front, int width, int step)
{
    LLVMBuilderRef b = l->builder;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), loop = value_block(l, "map"), behind = value_block(l, "mapped");
    LLVMValueRef **phi = ARENA_ARRAY(l->arena, LLVMValueRef *, m->queues);
    LLVMValueRef **next = ARENA_ARRAY(l->arena, LLVMValueRef *, m->queues), zero = value_i32(l, 0);
    LLVMBuildBr(b, loop);
    LLVMPositionBuilderAtEnd(b, loop);
    LLVMValueRef turn = LLVMBuildPhi(b, l->i32, "");
    LLVMAddIncoming(turn, &zero, &before, 1);
    for (int i = 0; i < m->queues; i++) {
        phi[i] = value_array(l, width);
        next[i] = value_array(l, width);
        for (int reg = 0; reg < width; reg++) {
            phi[i][reg] = LLVMBuildPhi(b, m->queue[i].type, "");
            LLVMAddIncoming(phi[i][reg], &front[i][reg], &before, 1);
        }
    }
    LLVMValueRef **made = step > m->group ? turn_queues(l, m, phi, step, m->group) : compute_group(l, m, phi);
    LLVMValueRef counted = LLVMBuildAdd(b, turn, value_i32(l, 1), "");
    LLVMBasicBlockRef end = LLVMGetInsertBlock(b);
    LLVMAddIncoming(turn, &counted, &end, 1);
    for (int i = 0; i < m->queues; i++)
        for (int reg = 0; reg < width; reg++) {
            next[i][reg] = reg + step < width ? phi[i][reg + step] : made[i][reg + step - width];
            LLVMAddIncoming(phi[i][reg], &next[i][reg], &end, 1);
        }
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, counted, value_i32(l, width / step), ""), loop, behind);
    LLVMPositionBuilderAtEnd(b, behind);
    return next;
}

/* What the outer loop moves on by, so that both move the least: count / group * step + count / step * count. */
static int outer_step(const struct mapping *m)
{
    int best = m->group, least = m->count / m->group * m->count;
    for (int step = 2 * m->group; step < m->count; step += m->group) {
        int moves = m->count / m->group * step + m->count / step * m->count;
        if (m->count % step || moves >= least)
            continue;
        best = step;
        least = moves;
    }
    return best;
}

static void loop_through_registers(struct lowering *l, struct mapping *m)
{
    LLVMValueRef **front = ARENA_ARRAY(l->arena, LLVMValueRef *, m->queues);
    for (int i = 0; i < m->queues; i++) {
        int operand = m->queue[i].operand;
        front[i] = value_array(l, m->count);
        for (int reg = 0; reg < m->count; reg++)
            front[i][reg] = operand < 0 ? LLVMGetPoison(m->queue[i].type)
                                        : value_register(l, m->operation->operands[operand], reg);
    }
    LLVMValueRef **done = turn_queues(l, m, front, m->count, outer_step(m));
    for (int i = 0; i < m->queues; i++) {
        if (m->queue[i].result < 0)
            continue;
        LLVMValueRef *registers = value_define(l, m->operation->results[m->queue[i].result]);
        for (int reg = 0; reg < m->count; reg++)
            registers[reg] = done[i][reg];
    }
}

/* ---- through local memory ---- */

struct arrays {
    LLVMValueRef *in, *out;
}; /* of each operand and result; NULL: a scalar */

/* The address of element `index` of an array in local memory. */
static LLVMValueRef local_element(struct lowering *l, LLVMTypeRef type, LLVMValueRef array, LLVMValueRef index)
{
    return LLVMBuildInBoundsGEP2(l->builder, type, array, &index, 1, "");
}

static struct arrays fill_arrays(struct lowering *l, const struct mapping *m)
{
    const struct ir_operation *operation = m->operation;
    struct arrays arrays = {value_array(l, operation->operand_count), value_array(l, operation->result_count)};
    LLVMValueRef number = value_i32(l, m->count);
    for (int o = 0; o < operation->operand_count; o++) {
        LLVMTypeRef type = register_type(l, operation->operands[o]);
        if (operation->operands[o]->type->rank == 0)
            continue;
        arrays.in[o] = LLVMBuildArrayAlloca(l->top, type, number, "map.in");
        for (int i = 0; i < m->count; i++)
            LLVMBuildStore(l->builder, value_register(l, operation->operands[o], i),
                           local_element(l, type, arrays.in[o], value_i32(l, i)));
    }
    for (int r = 0; r < operation->result_count; r++)
        arrays.out[r] = LLVMBuildArrayAlloca(l->top, register_type(l, operation->results[r]), number, "map.out");
    return arrays;
}

static void loop_through_arrays(struct lowering *l, struct mapping *m, const struct arrays *arrays)
{
    LLVMBuilderRef b = l->builder;
    const struct ir_operation *operation = m->operation;
    LLVMValueRef *index = value_array(l, m->group), start = LLVMBuildMul(b, m->turn, value_i32(l, m->group), "");
    for (int i = 0; i < m->group; i++)
        index[i] = LLVMBuildAdd(b, start, value_i32(l, i), "");
    for (int o = 0; o < operation->operand_count; o++) {
        LLVMTypeRef type = register_type(l, operation->operands[o]);
        if (!arrays->in[o])
            continue;
        m->in[o] = value_array(l, m->group);
        for (int i = 0; i < m->group; i++)
            m->in[o][i] = LLVMBuildLoad2(b, type, local_element(l, type, arrays->in[o], index[i]), "");
    }
    apply(l, m);
    for (int r = 0; r < operation->result_count; r++) {
        LLVMTypeRef type = register_type(l, operation->results[r]);
        for (int i = 0; i < m->group; i++)
            LLVMBuildStore(b, m->out[r][i], local_element(l, type, arrays->out[r], index[i]));
    }
}

static void take_from_arrays(struct lowering *l, const struct mapping *m, const struct arrays *arrays)
{
    for (int r = 0; r < m->operation->result_count; r++) {
        LLVMTypeRef type = register_type(l, m->operation->results[r]);
        LLVMValueRef *registers = value_define(l, m->operation->results[r]);
        for (int i = 0; i < m->count; i++) {
            LLVMValueRef element = local_element(l, type, arrays->out[r], value_i32(l, i));
            registers[i] = LLVMBuildLoad2(l->builder, type, element, "");
        }
    }
}

/* ---- which ---- */

static void map_in_loop(struct lowering *l, struct mapping *m)
{
    LLVMBuilderRef b = l->builder;
    plan_queues(l, m);
    if (words_of_queues(l, m) <= MOST_IN_QUEUES) {
        loop_through_registers(l, m);
        return;
    }
    struct arrays arrays = fill_arrays(l, m);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), loop = value_block(l, "map"), behind = value_block(l, "mapped");
    LLVMValueRef zero = value_i32(l, 0);
    LLVMBuildBr(b, loop);
    LLVMPositionBuilderAtEnd(b, loop);
    m->turn = LLVMBuildPhi(b, l->i32, "");
    LLVMAddIncoming(m->turn, &zero, &before, 1);
    loop_through_arrays(l, m, &arrays);
    LLVMValueRef next = LLVMBuildAdd(b, m->turn, value_i32(l, 1), "");
    LLVMBasicBlockRef end = LLVMGetInsertBlock(b);
    LLVMAddIncoming(m->turn, &next, &end, 1);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, next, value_i32(l, m->count / m->group), ""), loop, behind);
    LLVMPositionBuilderAtEnd(b, behind);
    take_from_arrays(l, m, &arrays);
}

static void write_out(struct lowering *l, struct mapping *m)
{
    for (int o = 0; o < m->operation->operand_count; o++)
        m->in[o] = value_of(l, m->operation->operands[o])->registers;
    m->group = m->count;
    for (int r = 0; r < m->operation->result_count; r++)
        m->out[r] = value_define(l, m->operation->results[r]);
    apply(l, m);
}

void lower_map(struct lowering *l, struct ir_operation *operation)
{
    int size = region_size(operation->regions[0]);
    struct mapping m = {.operation = operation, .count = value_registers(operation->results[0]->type), .group = 1};
    m.in = ARENA_ARRAY(l->arena, LLVMValueRef *, operation->operand_count);
    m.out = ARENA_ARRAY(l->arena, LLVMValueRef *, operation->result_count);
    if (m.count == 1 || m.count * size <= WRITTEN_OUT) {
        write_out(l, &m);
        return;
    }
    int most = holds_error_function(operation->regions[0]) ? MOST_ERROR_FUNCTIONS : MOST_IN_GROUP;
    for (int group = 2; group <= most; group++)
        if (m.count % group == 0 && group * size <= IN_A_TURN)
            m.group = group;
    for (int r = 0; r < operation->result_count; r++)
        m.out[r] = value_array(l, m.group);
    map_in_loop(l, &m);
}
