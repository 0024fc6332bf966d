/* Which threads come to which numbered barrier of a block, in the checker.
 *
 * A block has 16 barriers, and each counts warps without asking whose they are.  Two groups that share a number let
 * each other go, and one that comes with fewer warps than it says waits for ever.  Number 0 is the whole block's, 1 + i
 * is that of role i, and turns take those from IR_BARRIER_OF_TURNS on; a `barrier` with an id takes any other:
 *
 *     role 0                              role 1                               role 2
 *     barrier id(4) warps(4)              barrier id(5) warps(4)               barrier id(4) warps(8)
 *
 * Here roles 0 and 2 are found: both say 4, with other counts, and 12 warps come to it. */
#include <string.h>

#include "ir/query.h"
#include "passes/check/check_machine.h"

enum { WARPGROUP = 4, BODY = 31 };

struct numbered {
    const struct ir_operation *op; /* the first that says so */
    int64_t warps, coming;         /* how many it counts, how many come */
    uint32_t groups;               /* roles, and BODY */
};
struct naming {
    struct check *check;
    struct numbered barriers[CHECK_BARRIERS];
    int group; /* whose operations are looked at, and its warps */
    int64_t warps;
};

static void come(struct naming *naming, const struct ir_operation *op, int64_t id, int64_t warps)
{
    if (id < 0 || id >= CHECK_BARRIERS)
        return;
    struct numbered *barrier = &naming->barriers[id];
    if (!barrier->op) {
        barrier->op = op;
        barrier->warps = warps;
    }
    if (barrier->warps != warps)
        check_report(naming->check, op, barrier->op,
                     "makes barrier %lld one of %lld warps, which is one of %lld elsewhere", (long long)id,
                     (long long)warps, (long long)barrier->warps);
    if (!(barrier->groups >> naming->group & 1))
        barrier->coming += naming->warps;
    barrier->groups |= UINT32_C(1) << naming->group;
}

static void look(struct ir_operation *op, void *data)
{
    struct naming *naming = data;
    int64_t groups = naming->warps / WARPGROUP;
    if (op->opcode == OP_BARRIER && ir_attribute(op, IR_ATTRIBUTE_BARRIER_ID))
        come(naming, op, ir_number(op, IR_ATTRIBUTE_BARRIER_ID, 0), ir_number(op, IR_ATTRIBUTE_BARRIER_WARPS, 0));
    else if (op->opcode == OP_TURN_TAKE && groups > 1) /* each warpgroup meets the one before it */
        for (int64_t i = 0; i < groups; i++)
            come(naming, op, IR_BARRIER_OF_TURNS + i, naming->warps);
}

static void look_at_roles(struct naming *naming, const struct ir_operation *roles)
{
    const struct ir_attribute *warps = ir_attribute(roles, IR_ATTRIBUTE_ROLE_WARPS);
    for (int r = 0; r < roles->region_count && r < BODY; r++) {
        naming->group = r;
        naming->warps = warps->list[r];
        if (check_has_tiles(roles->regions[r])) /* others are one thread, which meets nobody */
            come(naming, roles, IR_BARRIER_OF_ROLES + r, naming->warps);
        ir_walk(roles->regions[r], look, naming);
    }
}

void check_named_barriers(struct check *check)
{
    struct naming naming = {.check = check};
    const struct ir_function *function = check->function;
    for (struct ir_operation *op = function->body->first; op; op = op->next) {
        naming.group = BODY;
        naming.warps = function->warps;
        if (op->opcode == OP_ROLES)
            look_at_roles(&naming, op);
        else
            look(op, &naming);
        for (int r = 0; op->opcode != OP_ROLES && r < op->region_count; r++)
            ir_walk(op->regions[r], look, &naming);
    }
    for (int i = 0; i < CHECK_BARRIERS; i++) {
        const struct numbered *barrier = &naming.barriers[i];
        if (barrier->op && barrier->coming != barrier->warps)
            check_report(check, barrier->op, NULL,
                         "uses barrier %d for %lld warps, and groups of %lld in all come to it", i,
                         (long long)barrier->warps, (long long)barrier->coming);
    }
}
