/* The audit of analyses that a pass says it keeps (debug builds only, as it costs as much as the analyses).  The audit
 * computes each analysis before the pass and again behind it.  The old result is still right if the new one says at
 * least as much of every value that is still there. */
#include "passes/audit.h"

#include "ir/facts/analysis.h"

struct pass_audit {
    struct arena *arena;
    unsigned keeps;
    const struct ranges *ranges;
    const struct divisibilities *divisibilities;
};

#ifdef TILECC_DEBUG
enum { AUDIT = 1 };
#else
enum { AUDIT = 0 };
#endif

static void compute(struct pass_audit *audit, const struct ir_function *function)
{
    if (audit->keeps & ANALYSIS_RANGE)
        audit->ranges = ranges_analyse(function, audit->arena);
    if (audit->keeps & ANALYSIS_DIVISIBILITY)
        audit->divisibilities = divisibility_analyse(function, audit->arena);
}

struct pass_audit *pass_audit_begin(const struct pass_info *pass, const struct ir_function *function,
                                    struct arena *arena)
{
    if (!AUDIT || !pass->keeps)
        return NULL;
    struct pass_audit *audit = ARENA_NEW(arena, struct pass_audit);
    audit->arena = arena;
    audit->keeps = pass->keeps;
    compute(audit, function);
    return audit;
}

static bool implies(struct divisibility now, struct divisibility before)
{
    for (int d = 0; d < IR_MAX_RANK; d++)
        if (now.multiple[d] < before.multiple[d] || now.contiguity[d] < before.contiguity[d] ||
            now.constancy[d] < before.constancy[d])
            return false;
    return true;
}

/* The value must be as old as the audit: later ones were not known then. */
static const char *check_value(const struct pass_audit *before, const struct pass_audit *now,
                               const struct ir_value *value)
{
    if (before->ranges && value->id < before->ranges->count &&
        !range_within(range_of(now->ranges, value), range_of(before->ranges, value)))
        return "a range grew";
    if (before->divisibilities && value->id < before->divisibilities->count &&
        !implies(divisibility_of(now->divisibilities, value), divisibility_of(before->divisibilities, value)))
        return "a divisibility was lost";
    return NULL;
}

static const char *check_block(const struct pass_audit *before, const struct pass_audit *now,
                               const struct ir_block *block)
{
    const char *problem = NULL;
    for (int i = 0; i < block->arguments.count && !problem; i++)
        problem = check_value(before, now, block->arguments.data[i]);
    for (const struct ir_operation *op = block->first; op && !problem; op = op->next) {
        for (int i = 0; i < op->result_count && !problem; i++)
            problem = check_value(before, now, op->results[i]);
        for (int r = 0; r < op->region_count && !problem; r++)
            problem = check_block(before, now, op->regions[r]);
    }
    return problem;
}

const char *pass_audit_end(const struct pass_audit *audit, const struct ir_function *function)
{
    if (!audit)
        return NULL;
    struct pass_audit now = {.arena = audit->arena, .keeps = audit->keeps};
    compute(&now, function);
    return check_block(audit, &now, function->body);
}
