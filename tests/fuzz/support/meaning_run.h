/* What meaning_run.c, which walks the tree, and meaning_move.c, which knows what moves elements, share. */
#ifndef TILECC_FUZZ_MEANING_RUN_H
#define TILECC_FUZZ_MEANING_RUN_H
#include "meaning.h"

struct runner;
/* -1, 0, 1; 2: one of them is NaN. */
int meaning_order(enum ir_element element, union meaning_cell a, union meaning_cell b);
union meaning_cell meaning_least_or_most(const struct meaning_node *node, bool most, union meaning_cell a,
                                         union meaning_cell b);
union meaning_cell meaning_binary(struct runner *r, enum ir_element element, const char *sign, union meaning_cell a,
                                  union meaning_cell b);
/* From a node's operands, computed, to what it is. */
void meaning_run_move(struct runner *r, const struct meaning_node *node, const struct meaning_tile *operand,
                      struct meaning_tile *out);
/* `print` prints an operand; context is its own. */
void meaning_print_move(struct buffer *out, const struct meaning_node *node,
                        void (*print)(void *context, const struct meaning_node *node), void *context);
#endif
