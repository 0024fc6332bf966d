/* `tilecc bench`: times kernels of a source by calls that the command line gives.
 *
 *   bench.c      (above, as compilations call what is here and it starts them) the command: what is asked, in which order
 *   bench_begin.c  (above) the device, the words of the command line, the files of the program
 *   calls.c      calls read and bound to the source's entries; what each must move and compute
 *   formula.c    --operations: what a call computes, by the names of its extents
 *   program.c    the C program that makes the calls; measure.h is the rest of it
 *   run.c        the program compiled, run, and its words read
 *   check.c      inputs of small calls, and what the interpreter makes of them beside the program's outputs
 *   samples.c    medians, spread, whether two runs differ
 *   json.c       results as JSON, and read again for --against
 *   table.c      results as a table of text
 *   plot.c       results as SVG */
#ifndef TILECC_BENCH_H
#define TILECC_BENCH_H
#include "base/child.h"
#include "driver/run/asked_call.h"

enum { BENCH_MOST_NAMES = 8, BENCH_MOST_CALLS = 256, BENCH_CHECKED_ELEMENTS = 1 << 20, BENCH_MOST_SAMPLES = 400 };

/* A name of a sweep, and its value in one step. */
struct bench_name {
    const char *name;
    int64_t value;
};
/* Whether the program keeps what the call writes, and of which inputs: measure.h has the same numbers. */
enum bench_check { BENCH_UNCHECKED, BENCH_AGAINST_INTERPRETER, BENCH_OWN_INPUTS };
/* What so many runs took. */
struct bench_samples {
    int count;
    double *data; /* nanoseconds */
};
/* One call, as asked: its text with the values of one step of the sweep. */
struct bench_call {
    const char *text; /* as given, names replaced by their values */
    int name_count;
    struct bench_name names[BENCH_MOST_NAMES];
    struct asked_call *asked; /* bound to the source; NULL: not yet */
    double bytes;             /* that must move: `in` and `out` views once, `inout` twice */
    double operations;        /* of --operations; 0: not asked */
    double rate;              /* of them in a cycle of a multiprocessor, at most; 0: not known */
    enum bench_check check;
    double times; /* that a program called it, by a trace; 0: no trace says so */
    /* what came of it */
    const char *failed, *variant;
    struct bench_samples samples;
    double megahertz, watts; /* 0: not told */
    double error; /* the largest difference to the interpreter's results, relative to 1 or the value; -1: none */
};

struct bench {
    const struct options *options;
    struct arena *arena;
    const char *command;         /* "bench", for messages */
    const char *source, *folder; /* where the program is made */
    const char *compiler;        /* of C */
    bool on_gpu;
    bool serves; /* the program is told what to do (orders/serve.h), and runs code as ptxas made it */
    struct bench_call *calls;
    int call_count;
    /* what the program says of the device */
    const char *device, *driver;
    double copy; /* bytes a second, read and written ones counted */
    double megahertz, processors;
};

/* Without -arch: the GPU that is there, else the processor. */
void bench_choose_target(struct bench *bench, struct options *options);
/* The words of the command line: one source, and calls and values behind it.  False: said what is wrong. */
bool bench_take_words(struct bench *bench, struct options *options);
/* Whether -o, if it is given, names a file for `tilecc tune`: its log lies beside it.  False: said. */
bool bench_has_output(const struct bench *bench, const struct options *options);
/* What the program is made of, beside kernels.h and kernels.o.  False: said, and *code tells. */
bool bench_write_program(struct bench *bench, enum exit_code *code);
/* The calls and sweeps NAME=LIST among the words of the command line: every call with every step of the names in it.
 * False: said what is wrong. */
bool bench_expand(struct bench *bench, int count, const char *const *words);
/* Binds the calls to the module.  False: said. */
bool bench_bind_calls(struct bench *bench, struct compilation *compilation);
/* The same, leaves in the module what is called alone, and prepares checks. */
bool bench_bind(struct bench *bench, struct compilation *compilation);
/* The value of a formula over the call's extents: numbers, names, + - * / and brackets.  False: said what is wrong. */
bool bench_evaluate(const struct bench *bench, const struct host_call *call, const char *formula, double *value);
/* The C program, for kernels.h, kernels.o and tile_rt.h beside it: a file of calls and the rest. */
void bench_put_calls(struct buffer *out, const struct bench *bench);
void bench_put_program(struct buffer *out, const struct bench *bench);
/* Writes inputs for the checked calls, and keeps what the interpreter makes of them. */
bool bench_prepare_checks(struct bench *bench);
void bench_compare_checks(struct bench *bench);
/* Runs a program in the folder, at most so many seconds.  NULL, or why there is no result. */
const char *bench_start(const struct bench *bench, const char *const *words, int seconds, bool keeps_environment,
                        struct child_result *result);
/* What the program has written of calls goes to them. */
void bench_read_output(struct bench *bench, const char *text);
/* Makes the program of the object and runs it. */
enum exit_code bench_run(struct bench *bench);

/* As many of the others as there is room for: `to` has BENCH_MOST_SAMPLES. */
void bench_add_samples(struct bench_samples *to, const struct bench_samples *from);
double bench_median(const struct bench_samples *samples);
double bench_quantile(const struct bench_samples *samples, double part);
/* What two results differ by, relative to 1 or the value; NaN is NaN, and an infinity the same one. */
double bench_difference(enum ir_element element, uint64_t a, uint64_t b);
/* By how much the median is longer than the other's, as a factor, and between what it lies with 95 % of certainty (the
 * bootstrap: B. Efron, 1979, on medians). */
struct bench_ratio {
    double ratio, low, high;
};
struct bench_ratio bench_compare(const struct bench_samples *now, const struct bench_samples *before);
/* Whether two results differ, beyond what is between two runs of one program. */
bool bench_is_slower(struct bench_ratio ratio);
bool bench_is_faster(struct bench_ratio ratio);
/* The least time that copies and tensor cores allow, nanoseconds; 0: not known. */
double bench_bound(const struct bench *bench, const struct bench_call *call);

void bench_put_time(struct buffer *out, double nanoseconds); /* four digits with a unit: 61.23 us */
void bench_put_table(struct buffer *out, const struct bench *bench);
void bench_put_json(struct buffer *out, const struct bench *bench);
/* The results in a file of bench_put_json.  False: said. */
bool bench_read_json(const struct options *options, const char *path, struct bench *bench);
/* How each call stands to the one of the same text there; false: one is slower. */
bool bench_put_changes(struct buffer *out, const struct bench *bench, const struct bench *before);
void bench_put_plot(struct buffer *out, const struct bench *bench);
#endif
