/* The table of passes and their runner.  passes.def is the only list; a pass is one file with one exported function
 * pass_<name>. */
#ifndef TILECC_PASSES_RUN_H
#define TILECC_PASSES_RUN_H
#include "passes/base/pass.h"

/* Analyses.  What a pass needs the runner computes in front of it (pass_context.ranges); what it keeps is still right
 * behind it, which debug builds check (audit.h). */
enum analysis { ANALYSIS_NONE = 0, ANALYSIS_RANGE = 1, ANALYSIS_DIVISIBILITY = 2, ANALYSIS_ALL = 3 };

struct pass_info {
    const char *name;
    enum ir_level in, out; /* the first level at which it works; the level that it leads to, or the same */
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

/* The page (pipeline.c): rows in the order in which they run. */
struct pass_row {
    enum pass_id pass;
    enum ir_level level; /* of the function when the pass begins */
    unsigned pipelines;  /* bits: PASS_PIPELINE of the kind of target and the level of optimisation, 0 to 2 */
};
#define PASS_PIPELINE(kind, optimization) (1u << (3 * (unsigned)(kind) + (unsigned)(optimization)))
extern const struct pass_row pass_rows[];
extern const int pass_row_count;
/* The passes of one pipeline; target NULL: as for the CPU. */
const struct pass_info *const *pass_pipeline(struct arena *arena, const struct target_row *target, int optimization,
                                             int *count);
#endif
