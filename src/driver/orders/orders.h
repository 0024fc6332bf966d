/* `tilecc tune --native`: looks for faster orders of finished machine code, for what calls of the user's launch, and writes
 * those that pass three gates into a file of --tuning.
 *
 *   tune_orders.c   (above, as it starts a compilation) the command: the program made, each kernel searched, the file
 *   serve.h         the other half of the program that runs kernels, which the command talks to
 *   machine.c       talks to it: loads codes, times and compares them
 *   journal.c       what was answered, kept in a file, so that a search goes on where it was interrupted
 *   anneal.c        the search: simulated annealing over moves that are proved
 *   weigh.c         where one cycle more matters, and so where moves are drawn
 *   prune.c         what an order brings by its parts; parts that bring nothing go
 *   gates.c         what an order must pass before it is written
 *   trial.c         orders drawn at random instead, compared: whether the rules of the proofs hold on a GPU
 *   tell.c, plot.c  the report, and the search as a picture
 *
 * anneal.c, weigh.c, prune.c, gates.c, trial.c and journal.c know no driver and no device: what they ask is answered by a struct
 * orders_machine, in tests a formula.  All they do follows from the seed and the answers. */
#ifndef TILECC_ORDERS_H
#define TILECC_ORDERS_H
#include "base/partner.h"
#include "targets/nvptx/native/native.h"
#include "targets/target.h"

enum { ORDERS_MOST_PAIRS = 64, ORDERS_SLOT_ORIGINAL = 3, ORDERS_SLOTS = 4 };

enum orders_verdict { ORDERS_SAME, ORDERS_DIFFERS, ORDERS_FAILED };

/* What runs kernels.  Slots 1 … 3 hold codes. */
struct orders_machine {
    void *context;
    int call_count;                 /* of the kernel */
    double (*clock)(void *context); /* seconds */
    /* Puts a code into a slot.  False: it cannot be loaded. */
    bool (*load)(void *context, int slot, const struct native_code *code);
    /* How long launches by two slots take in turn, in nanoseconds.  False: one of them failed. */
    bool (*time)(void *context, int call, const int slots[2], int pairs, bool cold, double (*taken)[2]);
    /* Whether launches by two slots give the same results, from inputs of these numbers on. */
    enum orders_verdict (*check)(void *context, int call, const int slots[2], int64_t first, int64_t count,
                                 int64_t *elements);
};

/* Logarithms of a code's time by another's, over the calls in the mean. */
struct orders_answer {
    bool failed;
    double ratio, error; /* error: its standard error */
    double seconds;      /* since the answer before it */
};

struct orders_kept {
    uint64_t question;
    struct orders_answer answer;
};
/* Answers in the order in which they were asked for. */
struct orders_journal {
    int file;        /* -1: none is kept */
    const char *run; /* what the lines of this search begin with */
    VECTOR(struct orders_kept) kept;
    int next;
};
/* Reads what lines of the run there are, and appends to the file from then on.  False, with errno. */
bool orders_journal_open(struct arena *arena, struct orders_journal *journal, const char *path, const char *run);
void orders_journal_close(struct orders_journal *journal);
/* The next answer that is kept, if it is one to the question. */
bool orders_journal_find(struct orders_journal *journal, uint64_t question, struct orders_answer *answer);
void orders_journal_add(struct orders_journal *journal, uint64_t question, const struct orders_answer *answer);

struct orders_options {
    unsigned moves; /* a bit for each enum native_move */
    double temperature, seconds;
    int restarts;
    uint64_t seed;
};

/* For the picture. */
struct orders_point {
    double seconds, ratio;
    enum { POINT_LOOKED, POINT_TAKEN, POINT_BEST } kind;
};
/* What so many places cost, each with a cycle more. */
struct orders_effect {
    int first, end;
    double ratio, error;
    bool split; /* its halves follow */
};
/* A part of an order, which can be taken back alone. */
struct orders_part {
    int first, end;
    double ratio, error; /* of the time with it by that without it; error 0: not known */
    bool gone;           /* it was taken back */
};

struct orders_search {
    struct arena *arena;
    struct orders_options options;
    struct orders_machine machine;
    struct orders_journal *journal; /* or NULL */
    void (*progress)(void *context, const struct orders_search *search);
    void *progress_context;
    const struct native_code *original;
    const struct native_code *start; /* an order that was found before, or NULL */
    /* what comes of it */
    struct native_code *best;      /* the original's, where nothing is better */
    double best_ratio, best_error; /* as it was measured last beside the original */
    struct orders_answer noise;    /* the original beside itself, loaded twice */
    bool worth;                    /* a cycle more everywhere costs something */
    struct orders_effect all;      /* that */
    VECTOR(struct orders_effect) effects;
    VECTOR(struct orders_part) parts;
    VECTOR(struct orders_point) points;
    int tried, looked, measured, taken, failed;
    const char *failure; /* the last one that failed */
    double clock;        /* seconds that answers took */
    /* while it goes on */
    uint64_t seed;
    uint32_t *shares;
    double last_clock;
    bool asked_machine;
    uint64_t loaded[ORDERS_SLOTS]; /* what each slot holds */
};

enum orders_effort { ORDERS_LOOK, ORDERS_MEASURE, ORDERS_JUDGE };
/* Asks how long a code takes beside another, NULL: the original. */
struct orders_answer orders_ask(struct orders_search *search, const struct native_code *code,
                                const struct native_code *beside, enum orders_effort effort);
/* The whole search: weighs, anneals, prunes. */
void orders_find(struct orders_search *search);
void orders_weigh(struct orders_search *search);
void orders_prune(struct orders_search *search);

/* ---- gates ---- */

struct orders_shape {
    double warm, warm_error, cold, cold_error; /* logarithms: half of an interval of 95 % */
};
struct orders_gates {
    const char *refused; /* why the order is not taken; NULL: it is */
    int64_t launches, elements;
    struct orders_shape *shapes; /* a call each */
    double ratio, error;         /* of all, as above */
};
/* NULL, or why no order of the code could be judged: its own results are not the same bits each time, or too few. */
const char *orders_refuse_code(const struct orders_machine *machine);
/* Whether the best order passes; `text`: as it will be written. */
void orders_pass_gates(struct orders_search *search, const char *text, struct orders_gates *gates);

/* ---- trials ---- */

struct orders_trial {
    struct arena *arena;
    struct orders_machine machine;
    void (*progress)(void *context, const struct orders_trial *trial);
    void *progress_context;
    const struct native_code *original;
    uint64_t seed;
    unsigned moves; /* as of the search */
    int64_t wanted;
    /* what comes of it */
    int64_t orders, steps, launches, elements; /* steps: moves that were carried out */
    int failed;
    const char *failure; /* the last order that failed, as text */
};
void orders_try(struct orders_trial *trial);

/* ---- the program ---- */

/* A program of serve.h, and what it said. */
struct orders_call {
    int kernel; /* that it launches */
    double nanoseconds;
};
struct orders_kernel {
    const char *symbol, *path; /* its cubin's file */
    struct cubin_part code;    /* in it; not known before it was read */
};
struct orders_program {
    struct arena *arena;
    const char *path, *folder;
    struct partner partner;
    struct arena *answers; /* the last one; NULL at first */
    const char *device, *driver;
    int call_count, kernel_count;
    struct orders_call *calls;
    struct orders_kernel *kernels;
    const char *problem; /* its last words */
};
/* Starts it and hears what there is.  False: `problem`. */
bool orders_program_start(struct orders_program *program);
void orders_program_end(struct orders_program *program);
/* What runs a kernel by it. */
struct orders_machine orders_program_machine(struct orders_program *program, int kernel);

/* ---- told ---- */

void orders_tell(struct buffer *out, const struct orders_search *search, const struct orders_gates *gates,
                 const char *const *calls);
void orders_tell_trial(struct buffer *out, const struct orders_trial *trial);
/* The order, as it is written. */
const char *orders_text(struct arena *arena, const struct native_code *original, const struct native_code *code);
void orders_plot(struct buffer *out, int count, const struct orders_search *const *searches, const char *const *names);
#endif
