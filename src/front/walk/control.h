/* Control flow of the source, as three files build it together.  join.c fills a region and finds out what it has to
 * yield; control.c builds branches from such regions; loop.c builds loops. */
#ifndef TILECC_FRONT_CONTROL_H
#define TILECC_FRONT_CONTROL_H
#include "front/walk/walk.h"

void region_attach(struct ir_operation *operation, int index, struct ir_block *block);
bool region_is_speculable(const struct ir_block *block);
void carried_add_flags(struct elaborator *e, struct carried *carried);
struct value *carried_values(struct elaborator *e, const struct carried *carried);
void carried_restore(const struct carried *carried, const struct value *values);
/* Gives two values one type, each in its own block.  False: reported. */
bool join_pair(struct elaborator *e, struct value *a, struct ir_block *in_a, struct value *b, struct ir_block *in_b,
               const char *what, struct location at);
/* Joins `count` values of two filled blocks under a run-time or host condition: builds the `if` (or selects, when both
 * blocks are empty or `select` is set) at the current point.  False: reported, those values are VALUE_ERROR. */
bool join_branches(struct elaborator *e, struct value condition, struct ir_block *in_a, struct ir_block *in_b,
                   int count, struct value *a, struct value *b, struct value *joined, const char *what, bool select,
                   struct location at);
/* Runs body only where `keep` holds, that is where `flag` is not set; `carried` lists what the body may assign. */
void control_when(struct elaborator *e, struct value keep, struct binding *flag, struct carried *carried,
                  void (*body)(struct elaborator *e, void *context), void *context, struct location at);
/* A bool, presence of a view, or what elaborate_value gives. */
struct value condition_value(struct elaborator *e, const struct ast_expression *expression);
struct loop_bounds {
    struct value from, to, step;
    bool multiply;
};
/* One turn of the loop on top of the frame. */
void loop_take_turn(struct elaborator *e, const struct ast_statement *statement, struct value turn);
/* The turns of a loop that the wrapper takes; bounds: of a `for`, else NULL. */
void host_loop(struct elaborator *e, const struct ast_statement *statement, const struct loop_bounds *bounds);
bool statement_always_jumps(const struct ast_statement *statement);
/* Converts a function's result to its declared type. */
struct value call_check_result(struct elaborator *e, struct value result, struct location at);
#endif
