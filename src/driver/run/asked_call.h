/* A call that the command line asks for, as text, and what it passes.
 *
 *   CALL = symbol(argument, ...)      view: [extent, ...] or none    pointer: [elements] or none
 *                                     scalar: a number, true, false    enum: member or number
 *                                     struct: {member, ...}
 *
 * Views at the end whose extents the others tell may be left out, and `_` stands for one in front of others.  A .tir file
 * has no wrapper that computes the grid: there
 *
 *   CALL = function(argument, ...)[count, ...] */
#ifndef TILECC_ASKED_CALL_H
#define TILECC_ASKED_CALL_H
#include "driver/driver.h"
#include "driver/run/host_value.h"

enum {
    ASKED_MOST_PARAMETERS = 128, /* and scratch and a report behind them */
    ASKED_MOST_MEMORIES = ASKED_MOST_PARAMETERS + KERNEL_MOST_SCRATCH + 1,
};

struct asked_call {
    struct compilation *compilation;
    const char *option;    /* how messages begin: "--interpret" */
    const char *at;        /* where reading is */
    int64_t most_elements; /* of a view */
    struct kernel_entry *entry;
    struct host_argument arguments[ASKED_MOST_PARAMETERS];
    bool holds[ASKED_MOST_PARAMETERS];   /* there is memory behind it */
    bool deduced[ASKED_MOST_PARAMETERS]; /* a view whose extents the others tell */
    int memory_count, memory_of[ASKED_MOST_PARAMETERS];
    struct interp_memory memories[ASKED_MOST_MEMORIES];
    bool grid_follows; /* behind the arguments: a .tir file */
    int64_t grid[IR_MAX_RANK];
};

/* A word up to a comma or bracket, without space at its ends. */
const char *asked_take_word(struct asked_call *asked);
/* Both are false, and say what is wrong with the text, or what the wrapper would say of such arguments. */
bool asked_fail(const struct asked_call *asked, const char *what, const char *name);
bool asked_refuse(const struct asked_call *asked, const char *problem);
/* Reads the call; finds its entry if that is not known yet.  False: said. */
bool asked_read(struct asked_call *asked);
/* Memory for what the call passes: inputs hold a fixed pattern of small integers, which every element type represents,
 * so that results do not depend on the order of sums; outputs are unwritten. */
void asked_make_memories(struct asked_call *asked);
static inline bool asked_has_memory(const struct kernel_parameter *p)
{
    return p->kind == KERNEL_VIEW || p->kind == KERNEL_POINTER;
}
/* How many elements it passes there. */
int64_t asked_elements(const struct asked_call *asked, int index);
#endif
