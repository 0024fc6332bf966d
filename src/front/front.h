/* The front end: from .tile text to a kernel_module whose variants hold Value-level IR.
 *
 *   parse (grammar/) -> AST -> declare (names, generics, domains) -> for each instance: elaborate, one walk that checks
 * types and shapes with everything compile-time known and builds Value IR.
 *
 * Checking an instance and lowering it are one walk (as templates are checked): that is what makes "only the branch
 * taken is checked" exact and keeps one copy of the rules of types.  The same error in several instances is reported
 * once. */
#ifndef TILECC_FRONT_H
#define TILECC_FRONT_H
#include "base/base.h"
#include "ir/ir.h"
#include "ir/kernel.h"

struct front_define {
    const char *name;
    const char *value;
}; /* -D NAME=VALUE: fixes a tune or const name, or a file-scope const */
/* The space of schedules that `tune` spans for an instance, for `tilecc tune`.  The first value of a name is its
 * default. */
struct front_space {
    int name_count, count;
    const char **names;
    int *value_counts;          /* one a name */
    const char ***values;       /* as --spec takes them; NULL: the compiler chooses */
    const unsigned char *taken; /* [count][name_count]: numbers of values; the first schedule is the default */
    bool more;                  /* there are more than it looked at */
};
struct front;
struct front_options {
    struct arena *arena;
    struct ir_context *context;
    struct diagnostics *diagnostics;
    int include_count;
    const char *const *includes; /* -I, for import */
    int define_count;
    const struct front_define *defines;
    int spec_count;
    const char *const *specs; /* --spec 'softmax<f16>[B=1024] aligned': only these instances */
    int tuning_count;
    const char *const *tunings; /* --tuning: files of schedules */
    bool with_callers;          /* what is made is called with all arguments: no --spec leaves facts out */
    const char *prefix;         /* --prefix=, NULL: the rule of interface.md */
    int max_instances;          /* --max-instances=: of a kernel for one architecture; 0: 256 */
    int schedules;              /* --schedules=: of the same keys and facts, at most; below 2: the default alone */
    /* Of several that `tune` offers, the first the default, those that are worth it; how many.  NULL: nobody chooses. */
    int (*choose_schedules)(void *context, const struct kernel_entry *entry, int count,
                            const struct kernel_variant *candidates, enum kernel_choosing what, int most,
                            struct kernel_choice *choices);
    void *choose_context;
    int target_count;
    const int *targets;                              /* rows of the target table, see targets/target.h */
    const char *(*target_name)(int target);          /* "cpu", "sm_90a" … for on(sm_90a, …) */
    bool (*has_clusters)(int target);                /* its blocks can meet; NULL: none can */
    bool (*multiplies_shared)(int target);           /* products take their factors from shared memory; NULL: none do */
    bool (*is_target)(const char *name);             /* whether `on` may name it; NULL: any */
    const char *(*nearest_target)(const char *name); /* to one that is none; NULL: none is near */
    bool strict_fp;
    bool reproducible;                 /* --reproducible: sums by the tree of pairs */
    enum ir_precision f32_dot;         /* --f32-dot: of products that do not say it */
    bool check_asserts, check_assumes; /* at run time; asserts else vanish, assumes are believed */
    bool syntax_only;                  /* check declarations and one instance each; keep no IR */
    struct front **library;            /* where front_math_function keeps what it has read; NULL: it reads each time */
    struct front_space *space;         /* receives that of the first instance; NULL: not asked for */
    struct front **read;               /* where front_compile leaves what it has read; NULL: nowhere */
};
/* NULL when there were errors (all reported).  `source` and what it imports stay alive with the arena.
 * `imports` (may be NULL) receives the names of files read, for the depfile. */
struct kernel_module *front_compile(const struct front_options *options, const struct source *source,
                                    void (*imported)(const char *path, void *context), void *context);
/* The std library's functions of OP_MATH as IR: adds to `module` (once) a function of scalars "std.<math>.<element>",
 * written in src/std/math.tile, and returns it; NULL where the library has none (then the target must do it natively).
 */
struct ir_function *front_math_function(const struct front_options *options, struct ir_module *module,
                                        enum ir_math function, enum ir_element element);
#endif
