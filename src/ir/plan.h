/* A plan: how the work of a loop is done, by whom and when, as data on the loop.  A kernel has one, too, which says who does
 * what: its body is a loop over programs.
 *
 * A loop has *inputs*, places in memory that an iteration reads, and *products*.  The plan says of each input on which way
 * it comes (a copy engine, copies by all threads, registers), in how many slots of shared memory and how many iterations
 * ahead; of each product, in which stage of the loop it stands (in stage 1 it runs beside stage 0 of the next iteration)
 * and how many products are on their way when it is waited for; and of the loop, which warps do it, with how many
 * registers, whether groups of them take turns at the tensor cores, and whether each group stores its own rows of a tile by
 * itself.  Where something is not otherwise, it says why.
 *
 * What a plan leaves open is for passes to decide, which fill it in.  A `for` may have a second one, `asked`: what the user
 * asks for (--plan), which is an error where it is not done.  An input is known by its place in the
 * source, whatever becomes of the operation that reads it, and in text by the name of the view that is read there. */
#ifndef TILECC_IR_PLAN_H
#define TILECC_IR_PLAN_H
#include "ir/ir.h"

#define IR_WAYS(X)            \
    X(OPEN, "open")           \
    X(REGISTERS, "registers") \
    X(CP_ASYNC, "cp_async")   \
    X(TMA, "tma")
#define X(id, text) IR_WAY_##id,
enum ir_way { IR_WAYS(X) IR_WAY_COUNT };
#undef X

enum { IR_PLAN_OPEN = -1 }; /* a number that is not said */

struct ir_plan_input {
    const char *name;   /* "a"; "a.2": the second place that reads a */
    struct location at; /* the place; no line: not looked for yet */
    enum ir_way way;
    int slots;       /* of its ring */
    int bytes;       /* of a slot */
    int ahead;       /* iterations from the start of the read to its use */
    bool differs;    /* several reads at the place, with ways of their own */
    const char *why; /* not otherwise; or NULL */
};
struct ir_plan_product {
    struct location at;
    int stage;     /* 0 or 1 */
    int in_flight; /* products that are on their way when this one is waited for, behind it */
    const char *why;
};
struct ir_plan {
    struct arena *arena; /* the module's */
    VECTOR(struct ir_plan_input) inputs;
    VECTOR(struct ir_plan_product) products; /* in order of the text */
    int warps[2], registers[2];              /* that compute and that bring; 0 bring: all warps do everything */
    const char *why;                         /* the roles are not otherwise */
    int apart; /* 1: each group of warps that compute stores its own rows; 0: all together */
    const char *why_together;
    int programs; /* groups of warps that compute, which take whole programs in turn; 1: all work on one */
    const char *why_one;
    int turns;    /* 1: groups of warps take turns at issuing products; 0: they do not */
    int together; /* iterations that make their reads together */
    bool settled; /* the places of inputs and products are known, not their names alone */
};

/* The loop's plan, and what is asked for; NULL: it has none. */
struct ir_plan *ir_plan_of(const struct ir_operation *loop);
struct ir_plan *ir_plan_asked(const struct ir_operation *loop);
/* A plan without inputs and products, all open. */
struct ir_plan *ir_plan_make(struct arena *arena);
struct ir_plan_input *ir_plan_add_input(struct ir_plan *plan, const char *name, struct location at);
struct ir_plan_product *ir_plan_add_product(struct ir_plan *plan, struct location at);
struct ir_plan *ir_plan_copy(struct arena *arena, const struct ir_plan *plan);
/* A loop that takes another's place has its plans. */
void ir_plan_keep(struct ir_operation *loop, const struct ir_operation *from);

/* Sets a reason: a copy of the text. */
void ir_plan_explain(struct arena *arena, const char **why, const char *text);

const char *ir_way_text(enum ir_way way);
/* Text: `input a tma slots(4) bytes(16384); product 0 stage(1); roles(8, 4) registers(232, 40); apart(1); turns(1)`. */
void ir_plan_print(struct buffer *out, const struct ir_plan *plan);
/* NULL: *problem says what is wrong at *where. */
struct ir_plan *ir_plan_parse(struct arena *arena, const char *text, size_t size, const char **where,
                              const char **problem);
/* A rule that the plan breaks, or NULL. */
const char *ir_plan_problem(const struct ir_plan *plan);
#endif
