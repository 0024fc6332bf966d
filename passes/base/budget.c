/* Budgets of registers and shared memory.  See budget.h. */
#include "passes/base/budget.h"

#include "ir/facts/scratch.h"

enum {
    SLACK = 2048,         /* mbarriers, and gaps in front of buffers, which start at multiples of 1024 bytes */
    SCRATCH_GAP = 2 * 128 /* scratch starts at multiples of 128 bytes */
};

/* ---- registers ---- */

/* The registers of a multiprocessor in steps of 8, for 1 to 3 warpgroups of consumers and one of producers.  Beside
 * fragments a consumer has maxima and sums of rows, places, and what its vector work has in flight. */
const struct role_budget *budget_of_roles(int warps)
{
    static const struct role_budget budgets[] = {{240, 40, 192}, {232, 40, 192}, {160, 32, 128}};
    int groups = warps / 4;
    return &budgets[groups < 1 ? 0 : groups > 3 ? 2 : groups - 1];
}

const struct role_budget *budget_of_crowded_roles(int warps)
{
    static const struct role_budget two = {240, 24, 192};
    return warps == 8 ? &two : budget_of_roles(warps);
}

int budget_role_registers(const struct ir_operation *operation)
{
    const struct ir_block *block = operation->block;
    while (block->parent && block->parent->opcode != OP_ROLES)
        block = block->parent->block;
    const struct ir_attribute *list = block->parent ? ir_attribute(block->parent, IR_ATTRIBUTE_ROLE_REGISTERS) : NULL;
    for (int i = 0; list && i < list->count; i++)
        if (block->parent->regions[i] == block)
            return (int)list->list[i];
    return 0;
}

/* ---- shared memory ---- */

struct measuring {
    struct arena *arena;
    int64_t most;
};

static void measure(struct ir_operation *op, void *data)
{
    struct measuring *m = data;
    struct layout_table *table = ir_context_layouts(op->block->function->module->context);
    m->most = int64_max(m->most, scratch_bytes(table, m->arena, op));
}

int64_t budget_scratch(const struct ir_function *function, struct arena *arena)
{
    struct measuring m = {arena, 0};
    ir_walk(function->body, measure, &m);
    return m.most;
}

int64_t budget_shared_beside(int64_t scratch)
{
    return SLACK + scratch + int64_min(scratch, SCRATCH_SMALL_BYTES + SCRATCH_GAP);
}
