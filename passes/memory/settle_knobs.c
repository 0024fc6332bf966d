/* settle_knobs: removes the knobs of a schedule that no pass has acted on, and notes that they did nothing.
 *
 *     kernel @k(…) grid(2) level(schedule) warps(8) persistent(1) raster(8)   ->   kernel @k(…) … warps(8)
 *
 * The pass runs last, behind all passes that act on knobs: persistent blocks take their next program by block_count,
 * and a raster is arithmetic on the program's number.  A knob that is left would do harm, because a launch believes
 * what the function says: it would start fewer blocks than there are programs, and programs would be left out.  So
 * this pass does not ask for fuel. */
#include "ir/ir.h"
#include "passes/base/pass.h"

static bool has(const struct ir_block *block, enum ir_opcode opcode)
{
    for (const struct ir_operation *op = block->first; op; op = op->next) {
        if (op->opcode == opcode)
            return true;
        for (int i = 0; i < op->region_count; i++)
            if (has(op->regions[i], opcode))
                return true;
    }
    return false;
}

static int most_slots(const struct ir_block *block)
{
    int most = 1;
    for (const struct ir_operation *op = block->first; op; op = op->next)
        if (op->opcode == OP_BUFFER && op->results[0]->type->slots > most)
            most = op->results[0]->type->slots;
    return most;
}

/* `least`: the first value that asks for something. */
static bool drop(struct ir_function *function, struct pass_context *context, int *knob, int least, const char *name,
                 const char *why)
{
    if (*knob == 0)
        return false;
    if (*knob >= least)
        pass_idle_knob(context, function->at, name, *knob, "%s", why);
    *knob = 0;
    return true;
}

bool pass_settle_knobs(struct ir_function *function, struct pass_context *context)
{
    bool changed = false;
    if (!has(function->body, OP_BLOCK_COUNT))
        changed |= drop(function, context, &function->persistent, 1, "persistent",
                        "only code with a producer and consumers walks over programs");
    changed |= drop(function, context, &function->raster, 2, "raster",
                    "only code with a producer and consumers orders its programs");
    if (!has(function->body, OP_CLUSTER_BARRIER))
        changed |= drop(function, context, &function->cluster, 2, "cluster",
                        "only code with a producer and consumers lets blocks work together");
    changed |= function->stages_among != 0 || function->raster_among != 0; /* chosen, or nothing to choose for */
    function->stages_among = function->raster_among = 0;
    int slots = most_slots(function->body);
    if (function->stages > 1 && slots == 1)
        pass_idle_knob(context, function->at, "stages", function->stages,
                       "no loop brings tiles ahead into shared memory");
    else if (function->stages > slots)
        pass_idle_knob(context, function->at, "stages", function->stages, "%d fit into shared memory", slots);
    return changed;
}
