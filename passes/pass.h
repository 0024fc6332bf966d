/* Passes over the tile IR.  passes.def is the only list; a pass is one file with one exported function pass_<name>. */
#ifndef TILECC_PASS_H
#define TILECC_PASS_H
#include "base/base.h"
#include "ir/ir.h"

struct target_row; /* targets/target.h: facts only */

/* Analyses a pass may need or keep. */
enum analysis {
    ANALYSIS_NONE = 0,
    ANALYSIS_RANGE = 1,
    ANALYSIS_DIVISIBILITY = 2,
    ANALYSIS_UNIFORMITY = 4,
    ANALYSIS_ALL = 7
};

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
    bool counts_consumers; /* the function's warps were told as `consumers`, groups of four */
};

struct pass_context {
    struct arena *arena;             /* emptied after the pass */
    struct diagnostics *diagnostics; /* remarks */
    const struct target_row *target; /* NULL: the Value level, no target */
    int64_t *fuel;                   /* rewrites left, or NULL: no limit */
    bool remarks;
    const char *name;        /* of the pass that runs */
    const char *instance;    /* what remarks and warnings call the function, or NULL */
    struct idle_knobs *idle; /* where pass_idle_knob notes what it is told, or NULL */
    /* the std library's body of a math function, or NULL: for expand_math (front_math_function behind it) */
    struct ir_function *(*math_function)(void *context, struct ir_module *module, enum ir_math function,
                                         enum ir_element element);
    void *math_context;
};
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

/* A knob that is set and does nothing to this function, `why`: a remark, and a note for who asked for it. */
void pass_idle_knob(struct pass_context *context, struct location at, const char *name, int value, const char *why, ...)
    __attribute__((format(printf, 5, 6)));

typedef bool pass_function(struct ir_function *function, struct pass_context *context); /* true: changed */
struct pass_info {
    const char *name;
    enum ir_level in, out;
    unsigned needs, keeps; /* bits of enum analysis */
    const char *help;
    pass_function *run;
};
extern const struct pass_info pass_table[];
extern const int pass_count;
const struct pass_info *pass_find(const char *name);
enum pass_id { /* indexes into pass_table */
#define PASS(name, in, out, needs, keeps, help) PASS_##name,
#include "passes/passes.def"
#undef PASS
               PASS_COUNT
};
/* "licm,dce" -> passes in that order, in the arena.  False: *unknown is the name that no pass has. */
bool pass_parse_list(struct arena *arena, const char *text, const struct pass_info *const **passes, int *count,
                     const char **unknown);

/* Runs passes in order on a function, verifying after each (always; it is cheap).  after(info, function) is called
 * behind each pass when not NULL (--print-after, --interpret after each).  False: the verifier failed, reported as our
 * bug. */
struct pass_run {
    const struct pass_info *const *passes;
    int count;
    void (*after)(const struct pass_info *pass, struct ir_function *function, bool changed, void *context);
    void *after_context;
    bool asked; /* by the user: that a pass does not fit is the command's mistake and not ours */
};
bool pass_run_all(const struct pass_run *run, struct ir_function *function, struct pass_context *context);
/* The pipelines, readable in one place (passes/pipeline.c). */
const struct pass_info *const *pass_pipeline(const struct target_row *target, int optimization, int *count);
#endif
