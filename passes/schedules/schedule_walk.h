/* What the files of the model share: what is known of an instance while it is walked, and accounts of it. */
#ifndef TILECC_SCHEDULES_SCHEDULE_WALK_H
#define TILECC_SCHEDULES_SCHEDULE_WALK_H
#include "ir/query.h"
#include "passes/schedules/expressions.h"
#include "passes/schedules/schedule_cost.h"

typedef const struct kernel_expression *expression;

enum {
    MOST_STEPS = 256,
    MOST_RESIDENT = 8,
    MOST_STRADDLE = 4, /* views that strides are asked of in each call */
    LANES = 128,
    MOST_CYCLES = 1 << 22,
    WARPGROUP_ROWS = 64,
    LINE_COLUMNS = 64,  /* of 16 bits, that boxes of whole lines have where columns are contiguous */
    LEAST_COLUMNS = 32, /* of wgmma: fewer take no less time, in which the rows are read from shared memory */
    LINE_BYTES = 128,
    SECTOR_BYTES = 32,
    MADE_SLOTS = 2,  /* of factors that are made (passes/roles/specialise_make.c) */
    LEAST_SLOTS = 2, /* for less than these sums are stored another way */
    LINE_PARTS = 4,  /* in which cycles of L2 are counted */
    COPY_BYTES = 16, /* of which pitches of tensor maps are multiples, and the least that cp.async moves */
    MOVE_BYTES = 4
};

/* What whole warpgroups ask of L2, and what it takes beyond that where rows of these views begin beside lines, and beside
 * sectors. */
struct lines {
    double all, straddling[MOST_STRADDLE], beside[MOST_STRADDLE];
};
/* Cycles of a multiprocessor, of what works at the same time; for how long answers are waited for; and the bytes that are
 * copied, those that no other program reads or writes (from memory) among them. */
struct effort {
    double tensor, copies, special, slots, answers, bytes, memory;
    /* Beside whole warpgroups: of shared memory; of what is written behind the loops, and where rows of these views begin beside
     * multiples of COPY_BYTES, so that threads write element by element. */
    double shared, stores, pieces[MOST_STRADDLE];
    struct lines lines;
};
struct term {
    expression turns;
    double busy, waits;
    struct lines lines;
};
struct account {
    struct effort effort; /* outside of the loops within */
    VECTOR(struct term) terms;
};
struct walk {
    struct arena *arena;
    const struct kernel_entry *entry;
    const struct kernel_variant *variant;
    const struct target_row *row;
    const struct target_costs *costs;
    int steps;    /* that a question about a value may still take: values may be made of each other over and over */
    bool unknown; /* turns that hang on data */
    bool products;
    int64_t least_rows, most_rows;        /* of wgmma's sums, 0: there is none */
    int straddling[MOST_STRADDLE], views; /* parameters */
    bool by_threads;                      /* a view of what is multiplied has no tensor map */
    bool anywhere;                        /* and threads cannot copy it but through registers */
    bool swapped;                         /* columns take the place of rows */
    bool uneven;                          /* columns are no multiple of LEAST_COLUMNS, or LINE_COLUMNS */
    bool makes;                           /* factors are split into two parts in shared memory (tf32x3) */
    bool waiting;                         /* in a loop tensor cores idle for most of the time */
    int64_t cluster;                      /* blocks, along ... */
    int cluster_dimension;
    bool upper;                                   /* of two programs in the middle the second is asked */
    bool asked;                                   /* which program it is was asked */
    double ring_bytes, carried_bytes, tile_bytes; /* the most of a turn; of a loop's variables; of a tile */
    double sums_bytes;                            /* of a loop's variables that are no lines: the most */
    double kept_bytes;                            /* of what is multiplied, brought outside of loops or made */
};

static inline double greater(double a, double b) { return a > b ? a : b; }

/* ---- schedule_turns.c ---- */

expression walk_number(const struct walk *walk, int64_t value);
expression walk_stride(const struct walk *walk, int parameter, int dimension);
int walk_parameter_of(const struct walk *walk, const struct ir_value *value); /* -1: it is none, as scratch */
int64_t walk_parts(const struct walk *walk);                                  /* of a split loop; 1: there is none */
/* Turns of a program are these times `share`. */
expression walk_turns(struct walk *walk, const struct ir_operation *loop, double *share);

/* ---- schedule_effort.c ---- */

double walk_warpgroups(const struct walk *walk);
/* Whether what the operation is made from is another for the next program of this dimension. */
bool walk_reads_own(struct walk *walk, const struct ir_operation *op, int dimension);
bool walk_takes_turns(const struct walk *walk);
void effort_add(struct walk *walk, const struct ir_operation *op, bool in_loop, struct effort *effort);
double effort_busy(const struct effort *effort);
double effort_chain(const struct walk *walk, const struct effort *effort);
#endif
