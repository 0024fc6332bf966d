/* settle_knobs: compares what is asked of a schedule with what the code does, notes what is not done, and removes the knobs
 * that no pass has acted on.
 *
 *     kernel @k(…) grid(2) level(schedule) warps(8) persistent(1) raster(8)   ->   kernel @k(…) … warps(8)
 *
 * The pass runs last, behind all passes that act on knobs: persistent blocks take their next program by block_count,
 * and a raster is arithmetic on the program's number.  A knob that is left would do harm, because a launch believes
 * what the function says: it would start fewer blocks than there are programs, and programs would be left out.  So
 * this pass does not ask for fuel. */
#include "ir/plan.h"
#include "ir/query.h"
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

/* How many iterations of a loop are on their way at once: in slots of shared memory, or in registers. */
struct stages {
    int slots, together, ahead;
};

static void count_stages(struct ir_operation *op, void *context)
{
    struct stages *stages = context;
    if (op->opcode == OP_BUFFER && op->results[0]->type->slots > stages->slots)
        stages->slots = op->results[0]->type->slots;
    const struct ir_plan *plan = op->opcode == OP_FOR || op->opcode == OP_WHILE ? ir_plan_of(op) : NULL;
    if (plan && plan->together > stages->together)
        stages->together = plan->together;
    for (int i = 0; plan && i < plan->inputs.count; i++)
        if (plan->inputs.data[i].ahead + 1 > stages->ahead)
            stages->ahead = plan->inputs.data[i].ahead + 1;
}

/* A row a knob: what is asked of it, what the code does, and why not otherwise.  `least` is the first number that asks
 * for something. */
struct knob {
    const char *name;
    struct asked_knob asked;
    int least, done;
    const char *why;
};

static bool is_done(const struct knob *knob)
{
    if (knob->asked.value)
        return knob->asked.value < knob->least || knob->asked.value <= knob->done;
    return !knob->asked.among || (knob->done < 64 && knob->asked.among >> knob->done & 1);
}

static struct knob stages_knob(const struct ir_function *function, struct arena *arena)
{
    struct stages stages = {1, 1, 1};
    ir_walk(function->body, count_stages, &stages);
    struct knob knob = {"stages", {function->stages, function->stages_among}, 2, stages.slots, NULL};
    knob.done = stages.together > knob.done ? stages.together : knob.done;
    knob.done = stages.ahead > knob.done ? stages.ahead : knob.done;
    knob.why = knob.done == 1              ? "no loop brings tiles ahead into shared memory"
               : knob.done == stages.slots ? arena_printf(arena, "%d fit into shared memory", stages.slots)
               : knob.done == stages.together
                   ? arena_printf(arena, "%d iterations make their loads together", stages.together)
                   : arena_printf(arena, "loads in registers run %d iterations ahead", stages.ahead - 1);
    return knob;
}

bool pass_settle_knobs(struct ir_function *function, struct pass_context *context)
{
    bool walks = has(function->body, OP_BLOCK_COUNT) || ir_walks_in_order(function);
    bool meets = has(function->body, OP_CLUSTER_BARRIER);
    const struct knob knobs[] = {
        {"persistent",
         {function->persistent, 0},
         1,
         walks ? function->persistent : 0,
         "only code with a producer and consumers walks over programs"},
        {"raster",
         {function->raster, function->raster_among},
         2,
         1,
         "only code with a producer and consumers orders its programs"},
        {"cluster",
         {function->cluster, 0},
         2,
         meets ? function->cluster : 1,
         "only code with a producer and consumers lets blocks work together"},
        stages_knob(function, context->arena),
    };
    for (size_t i = 0; i < sizeof knobs / sizeof *knobs; i++)
        if (!is_done(&knobs[i]))
            pass_idle_knob(context, function->at, knobs[i].name, knobs[i].asked, "%s", knobs[i].why);
    struct ir_function before = *function;
    function->persistent = walks ? function->persistent : 0;
    function->cluster = meets ? function->cluster : 0;
    function->raster = 0;
    function->stages_among = function->raster_among = 0; /* chosen, or nothing to choose for */
    return function->persistent != before.persistent || function->cluster != before.cluster || before.raster != 0 ||
           before.stages_among != 0 || before.raster_among != 0;
}
