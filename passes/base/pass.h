/* What a pass is given and may call.  The table of passes and their runner are in passes/run.h. */
#ifndef TILECC_PASS_H
#define TILECC_PASS_H
#include "base/base.h"
#include "base/cache.h"
#include "ir/ir.h"

struct target_row;  /* targets/target.h: facts only */
struct ranges;      /* ir/facts/analysis.h */
struct asked_plans; /* passes/base/planning.h */

/* A knob of a function's schedule that did nothing. */
struct idle_knob {
    struct location at;                 /* the kernel */
    const char *name, *text, *instance; /* "raster", "raster = 8 has no effect here: ...", as pass_context.instance */
    const struct target_row *target;
};
struct idle_knobs {
    struct arena *arena;
    struct idle_knob *data;
    int count, capacity;
    bool counts_consumers; /* the function's warps are told as `consumers`, groups of four */
};

struct pass_context {
    struct arena *arena;             /* emptied after the pass */
    struct diagnostics *diagnostics; /* remarks */
    const struct target_row *target; /* NULL: the Value level, no target */
    int64_t *fuel;                   /* rewrites left, or NULL: no limit */
    bool remarks;
    const char *name;            /* of the pass that runs */
    const char *instance;        /* what remarks and warnings call the function, or NULL */
    const struct ranges *ranges; /* of the function as the pass finds it, if passes.def says that it needs them */
    struct asked_plans *asked;   /* plans that the command asks for, or NULL */
    const struct ir_function *reference; /* the function in front of the passes that schedule it, or NULL */
    struct cache *cache;                 /* of what was computed before, or NULL */
    struct idle_knobs *idle;             /* where pass_idle_knob notes what it is told, or NULL */
    /* the std library's body of a math function, or NULL: for expand_math (front_math_function behind it) */
    struct ir_function *(*math_function)(void *context, struct ir_module *module, enum ir_math function,
                                         enum ir_element element);
    void *math_context;
};
typedef bool pass_function(struct ir_function *function, struct pass_context *context); /* true: changed */

/* Ask before each rewrite; false: leave it. */
static inline bool pass_fuel(struct pass_context *context)
{
    return !context->fuel || (*context->fuel > 0 && (*context->fuel)-- > 0);
}
void pass_remark(struct pass_context *context, struct location at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* What a user should know who did not ask for remarks: a warning, or where that is turned off the remark. */
void pass_warn(struct pass_context *context, enum diagnostic_code code, struct location at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* What is asked of a knob: a number, or where that is 0 a member of a set (as in ir_choose_among). */
struct asked_knob {
    int value;
    uint64_t among;
};
/* A knob of which something is asked that is not done to this function, `why`: a remark, and a note for who asked. */
void pass_idle_knob(struct pass_context *context, struct location at, const char *name, struct asked_knob asked,
                    const char *why, ...) __attribute__((format(printf, 5, 6)));

#endif
