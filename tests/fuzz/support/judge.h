/* Says what is wrong with a program, in words that stay the same while the program shrinks: the pass or processor,
 * and the kind of the difference, without values and numbers.  Each judgement is made in a process of its own, so
 * that a crash or a loop is an answer like any other. */
#ifndef TILECC_FUZZ_JUDGE_H
#define TILECC_FUZZ_JUDGE_H
#include "generate.h"

enum judge_kind {
    JUDGE_PASSES, /* the interpreter after each pass of a list */
    JUDGE_CPU,    /* machine code of this processor */
    JUDGE_GPU,    /* the text for a GPU, run by support/ptx.h */
    JUDGE_COMMAND /* whatever a command of the user says */
};
struct fuzz_math;
struct judge {
    enum judge_kind kind;
    const char *passes; /* "simplify,licm", run in this order; NULL: every way that differential_test goes */
    /* A pass behind the list that may be wrong; for the reducer's own test. */
    bool (*planted)(struct ir_function *function);
    const char *target;     /* row of the target table that the passes work for; NULL: none */
    int64_t fuel;           /* rewrites that the last pass may do; 0: no limit */
    int isa;                /* JUDGE_CPU: -1 all that this machine has */
    bool raw;               /* JUDGE_CPU, JUDGE_GPU: through the pipeline of -O0 */
    int code_level;         /* JUDGE_CPU: of LLVM: 0: 2, as tilecc has it; else the level + 1 */
    bool trusted;           /* the program is taken to be sound; only when something fails it is asked */
    struct fuzz_math *math; /* of the program's context; NULL: each pass reads the library anew */
    const char *command;    /* gets the file as its last argument; 0 is good */
    bool announce;          /* names each pass on standard error before it runs, for blame when it crashes */
    int seconds;            /* for one judgement; 0: 60 */
};
/* Writes the reason; nothing when nothing is wrong.  Reasons that begin with "program:" say that the text itself is
 * no sound program: it cannot be read, breaks a rule, touches what it may not, or depends on the order of instances
 * or sums. */
void fuzz_judge(const struct judge *judge, const char *text, size_t size, struct buffer *reason);
/* The same, for a program in memory, without a process of its own; counts what was compared. */
void fuzz_judge_passes(const struct judge *judge, struct fuzz_program *program, int64_t *runs, struct buffer *reason);
/* Runs the judge's list of passes on the program's function; compares behind each that changed it, and counts that. */
void fuzz_run_passes(const struct judge *judge, struct fuzz_program *program, struct arena *arena,
                     const struct fuzz_memory *reference, int64_t *runs, struct buffer *reason);
/* A sound program by the rules above. */
bool fuzz_is_sound(struct fuzz_program *program, struct arena *arena, struct fuzz_memory **reference,
                   struct buffer *reason);
/* The same number at two moments: nothing of the module has changed in between. */
uint64_t fuzz_fingerprint(const struct ir_module *module);
/* Prints what failed, with the program. */
void fuzz_tell_failure(uint64_t seed, const struct judge *judge, const char *text, const char *reason);
/* Numbers, quoted parts and addresses out of a sentence. */
void fuzz_put_kind(struct buffer *out, const char *sentence);
/* Machine code of this processor: cpu_run.c. */
void fuzz_judge_cpu(const struct judge *judge, struct fuzz_program *program, const struct fuzz_memory *reference,
                    int64_t *runs, struct buffer *reason);
/* The text for judge->target, sm_80 without one: gpu_run.c.  Of text that ptx.h cannot run it says that it is not there
 * yet. */
void fuzz_judge_gpu(const struct judge *judge, struct fuzz_program *program, const struct fuzz_memory *reference,
                    int64_t *runs, struct buffer *reason);
struct fuzz_gpu_code {
    struct buffer text;
    int64_t shared_bytes;
    bool *ran;        /* room for a bool a line of the text, or NULL: whether something of it ran */
    double tolerance; /* of fuzz_near; 0: the same bits */
};
bool fuzz_gpu_make(const struct judge *judge, struct fuzz_program *program, struct arena *arena,
                   struct fuzz_gpu_code *code, struct buffer *reason);
/* Runs the text once, in an order that program->seed chooses; most_steps: of all threads of a block, 0: many.  False:
 * `problem` says what was wrong, `difference`, unless it is NULL, which element. */
bool fuzz_gpu_run(struct fuzz_program *program, const struct fuzz_gpu_code *code, const struct fuzz_memory *reference,
                  int64_t most_steps, struct buffer *problem, struct buffer *difference);
int fuzz_cpu_levels(void); /* instruction sets that this machine has */
/* The library's bodies for expand_math: a context that lives as long as the arena, and the function to give to
 * passes.  Of one that keeps them every function is compiled once and copied from then on. */
struct fuzz_math *fuzz_math_context(struct arena *arena, struct ir_context *context, struct diagnostics *diagnostics);
struct fuzz_math *fuzz_math_keep(struct arena *arena, struct ir_context *context, struct diagnostics *diagnostics);
struct ir_function *fuzz_math_function(void *context, struct ir_module *module, enum ir_math function,
                                       enum ir_element element);
#endif
