/* The table of passes and their runner.  passes.def is the only list; a pass is one file with one exported function
 * pass_<name>. */
#ifndef TILECC_PASSES_RUN_H
#define TILECC_PASSES_RUN_H
#include "passes/base/pass.h"

/* Analyses a pass may need or keep. */
enum analysis {
    ANALYSIS_NONE = 0,
    ANALYSIS_RANGE = 1,
    ANALYSIS_DIVISIBILITY = 2,
    ANALYSIS_UNIFORMITY = 4,
    ANALYSIS_ALL = 7
};

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
