/* `tilecc tune`: measures the schedules that `tune` of a kernel allows, over calls of the user's, and writes a file by
 * which --tuning takes the better ones.
 *
 *   tune.c          (above, as compilations call what is here and it starts them) the command: what is measured in which
 *                   order
 *   tune_build.c    (above) programs of schedules made and run
 *   units.c         calls bound to the source; those of one instance are one unit
 *   search.c        which schedules are tried next
 *   results.c       whether a schedule gives what the default gives
 *   log.c           what was measured, as lines of JSON, and read again
 *   choose.c        few schedules of those that were measured, by what differs beyond the noise
 *   conditions.c    for which extents each is taken
 *   write.c         the tuning file, and a table
 *   trace.c         calls that a program has made (TILE_TRACE)
 *
 * The log tells everything that choosing needs, so that logs of several machines can be joined without the source. */
#ifndef TILECC_TUNE_H
#define TILECC_TUNE_H
#include "base/file.h"
#include "base/folder.h"
#include "base/progress.h"
#include "driver/bench/bench.h"

enum {
    TUNE_ROUNDS = 5,       /* in which a schedule that may be chosen is measured beside the default */
    TUNE_BATCH = 8,        /* schedules that are made at a time */
    TUNE_KEPT_SAMPLES = 50 /* of a round and call, in the log */
};

/* One call, as the log has it. */
struct tune_call {
    const char *text;
    const char *kernel; /* "softmax<f16>[B=1024]" */
    const char *facts;  /* "aligned", as labels end; empty: all */
    int name_count;
    const char **names; /* of extents, in the kernel's order */
    int64_t *extents;
    double weight;            /* how often it was called */
    struct bench_call *bench; /* NULL: it comes from a log */
};
/* What a schedule took at a call, beside the default in the same minute.  Round 0: once, to see whether it is worth more;
 * of that there are medians alone. */
struct tune_result {
    const char *kernel, *values; /* "BM=64, BN=64"; what is not named is the default's */
    const char *call;
    int round;
    struct bench_samples taken, standard;
};
struct tune_dropped {
    const char *kernel, *values, *reason;
};

/* What was measured. */
struct tune_log {
    const char *source, *content; /* content: a digest of all that results depend on */
    const char *target, *device, *driver;
    VECTOR(struct tune_call) calls;
    VECTOR(struct tune_result) results;
    VECTOR(struct tune_dropped) dropped;
};

/* The calls of one instance, whose schedules are its candidates. */
struct tune_unit {
    const char *kernel;
    VECTOR(int) calls; /* of the log */
    struct front_space space;
    struct bench bench;   /* those calls */
    bool ready;           /* the program's parts are made */
    const char **values;  /* of each candidate, as text */
    signed char *state;   /* of each: 0 new, 1 measured, -1 dropped */
    float *score;         /* [candidate][call]: logarithm of its time by the default's */
    int tried, remaining; /* candidates of our share */
};

struct tune {
    const struct options *options;
    struct arena *arena;
    struct bench bench; /* all calls */
    struct tune_log log;
    const char *output, *log_path;
    int log_file;        /* -1: nothing is written yet */
    bool log_begun;      /* its first lines are there */
    bool machine_failed; /* no file can be made or run: no schedule is to blame */
    int most;            /* schedules of an instance that are chosen, the default included */
    int chosen;          /* lines of the file */
    int target;          /* the row */
    VECTOR(struct bench_call) traced;
    const char *skipped; /* a call of a trace whose kernel the source does not have, or NULL */
    const char *unknown; /* a call of a trace with a pointer, behind which nobody knows how much there is, or NULL */
    int left_out;        /* calls of traces that there was no room for */
    VECTOR(struct tune_unit) units;
    struct tune_unit *asked; /* whose space the front end is to tell */
    struct folder folder;
    struct progress *progress;
    double end; /* of the budget, by tune_clock */
};

double tune_clock(void);

/* What compile.c calls with the module of the front end.  False: said. */
bool tune_take_module(struct tune *tune, struct compilation *compilation);
struct front_space *tune_space(struct tune *tune); /* where the front end tells it, or NULL */
/* Adds the calls of a file of TILE_TRACE.  False: said. */
bool tune_read_trace(struct tune *tune, const char *path);

/* Reads a file of lines; `bytes`: of whole lines.  False: `problem` says why. */
bool tune_log_read(struct arena *arena, const char *path, struct tune_log *log, size_t *bytes, const char **problem);
/* Is there room for one call more, and has it the names that others of its kernel have? */
bool tune_log_fits(const struct tune_log *log, const struct tune_call *call);
/* What there is of the same source and compiler at the path, else an empty one, which no other process may write until
 * we end.  False: said. */
bool tune_log_resume(struct tune *tune);
/* Writes lines behind the others.  False: said. */
bool tune_log_calls(struct tune *tune, const struct tune_unit *unit);
bool tune_log_results(struct tune *tune, int count, const struct tune_result *results);
bool tune_log_dropped(struct tune *tune, struct tune_dropped dropped);
/* The result of a schedule at a call in a round, or NULL. */
const struct tune_result *tune_log_find(const struct tune_log *log, const char *kernel, const char *values,
                                        const char *call, int round);

/* Reads what was tried before from the log. */
void search_begin(const struct tune *tune, struct tune_unit *unit);
/* The numbers of those to try next, at most `most`. */
int search_next(const struct tune *tune, struct tune_unit *unit, int most, int *numbers);
void search_note(struct tune_unit *unit, int number, const float *scores); /* NULL: it was dropped */
/* Those that may be chosen: together they take least. */
int search_best(const struct tune_unit *unit, int most, int *numbers);

/* The default's program, and what it gives.  False: said. */
bool build_begin(struct tune *tune, struct tune_unit *unit, enum exit_code *code);
/* Makes the programs of so many candidates; reasons[i]: NULL, or why there is none. */
void build_make(struct tune *tune, struct tune_unit *unit, int count, const int *numbers, const char **reasons);
/* Runs the program of a candidate (0: the default).  samples: one a call of the unit.  NULL, or why it is dropped. */
const char *build_run(struct tune *tune, struct tune_unit *unit, int number, double seconds, bool compares,
                      struct bench_samples *samples);
/* Makes the program of all that the tuning file says, under the number behind the candidates'.  NULL, or why not. */
const char *build_tuned(struct tune *tune, struct tune_unit *unit);
void build_remove(const struct tune_unit *unit, int number);
/* NULL, or how what a candidate wrote differs from the default's. */
const char *results_compare(const struct tune_unit *unit);

/* A schedule of a head beside its default, over the calls of the head. */
struct tune_member {
    const char *values;
    struct bench_ratio *ratio;
    bool *better, *worse; /* than the default, beyond the noise */
    double *cost;         /* logarithm of the ratio; 0 where it may be the noise that speaks for it */
};
struct tune_clause {
    int member;
    const char *condition; /* NULL: always, of a kernel without extents */
    bool *covers;          /* calls */
};
/* A head of the tuning file and what stands under it. */
struct tune_head {
    const char *kernel, *facts;
    int call_count, member_count, clause_count;
    const struct tune_call **calls;
    struct tune_member *members;
    struct tune_clause *clauses;
};
struct tune_heads {
    struct tune_head *data;
    int count, capacity;
};
void choose_all(struct arena *arena, const struct tune_log *log, int most, struct tune_heads *heads);
/* Fills the clauses: at most `most` schedules, the default included. */
void conditions_find(struct arena *arena, struct tune_head *head, int most);

void write_tuning(struct buffer *out, const struct tune_log *log, const struct tune_heads *heads);
void write_table(struct buffer *out, const struct tune_log *log, const struct tune_heads *heads);
#endif
