/* share_blocks: programs that are a warp each, and short, share blocks.
 *
 *     kernel @k(…) grid(1) level(machine) warps(1) { … }   →   kernel @k(…) grid(1) level(machine) warps(1) together(4) { … }
 *
 * A multiprocessor holds 32 blocks and starts them one after the other: a row of 256 bf16 is done before enough others
 * have begun.  (Softmax of 65536 such rows on an H200: 44 us with a block each, 21 with four in a block, which is what a copy
 * takes.)  Programs with more registers are left alone: 32 of them fill the registers anyway, and a block's place is free
 * only when its last program has ended.  So are those with loops, and those that tell others, or learn, what is in memory.
 *
 * Right because a warp by itself meets nobody else: the programs that are changed have no shared memory, and their barriers
 * become those of the warp. */
#include "ir/facts/alias.h"
#include "ir/layout/layout.h"
#include "ir/query.h"
#include "passes/base/pass.h"
#include "passes/base/rewrite.h"

pass_function pass_share_blocks;

enum { TOGETHER = 4, MOST_REGISTERS = 16 /* of a thread, for one tile */ };

/* Registers of the widest tile, in units of 32 bits; whether the block must be the program's own. */
struct survey {
    int64_t registers;
    bool alone;
};

static void note(struct ir_operation *op, void *context)
{
    struct survey *survey = context;
    survey->alone |= op->opcode != OP_BARRIER && alias_orders(op);
    switch (op->opcode) {
    case OP_FOR: /* as long as it likes: few such programs had better go to many multiprocessors */
    case OP_WHILE:
    case OP_BLOCK_COUNT:
    case OP_BUFFER:
    case OP_MBARRIER:
    case OP_ROLES:
    case OP_ASM:
    case OP_ASM_EFFECT: survey->alone = true; break;
    case OP_BARRIER: survey->alone |= ir_number(op, IR_ATTRIBUTE_BARRIER_ID, 0) != 0; break;
    default: break;
    }
    for (int i = 0; i < op->result_count; i++) {
        const struct ir_type *type = op->results[i]->type;
        if (type->kind != IR_TILE || !type->layout)
            continue;
        int64_t bits = layout_registers(type->layout) * (int64_t)ir_element_info[type->element].bits;
        survey->registers = int64_max(survey->registers, (bits + 31) / 32);
    }
}

bool pass_share_blocks(struct ir_function *function, struct pass_context *context)
{
    struct survey survey = {0, false};
    if (!function->is_kernel || function->warps != 1 || function->grid_rank == 0 || function->together ||
        function->ordered || function->persistent > 0 || ir_cluster_blocks(function) > 1 || function->shared_bytes)
        return false;
    ir_walk(function->body, note, &survey);
    if (survey.alone || survey.registers > MOST_REGISTERS || !pass_fuel(context))
        return false;
    function->together = TOGETHER;
    pass_remark(context, function->at, "%d programs share a block, a warp each", TOGETHER);
    return true;
}
