/* Whether synchronisation is there twice; see redundant.c. */
#ifndef TILECC_INTERP_REDUNDANT_H
#define TILECC_INTERP_REDUNDANT_H
#include "mutate.h"

bool redundant_barrier(const struct ir_operation *op);
bool redundant_wait(const struct ir_operation *op); /* cp_wait, tma_wait: never waits */
bool redundant_with_next_wait(const struct ir_operation *op);
bool redundant_commit(const struct ir_operation *op);
bool redundant_order(struct ir_operation *barrier, struct ir_operation *next);
bool redundant_in_straight_code(const struct ir_operation *op);
bool redundant_behind(const struct ir_operation *wait, const struct ir_operation *next);
/* rounds.c: numbers of loops that go round once or twice. */
const char *rounds_harmless(struct ir_function *function, struct ir_function *changed, const struct mutation *mutation);
const char *rounds_last_arrivals(const struct ir_operation *op);
const char *rounds_told_again(const struct ir_operation *wait);
bool rounds_end_by(const struct ir_operation *loop,
                   const struct ir_value *limit); /* no round begins at limit or later */
const char *rounds_same(const struct ir_operation *arrive, const struct ir_operation *wait);
/* harmless.c */
bool mutation_fold(const struct ir_value *value, int64_t *number); /* a constant, or one of constants */
bool mutation_distance(const struct ir_value *a, const struct ir_value *b, int64_t *distance); /* b - a is known */
bool mutation_contains(const struct ir_operation *op, enum ir_opcode opcode);       /* is one, or has one inside */
bool mutation_has_pending(const struct ir_function *function, enum ir_opcode wait); /* one that is not for all */
#endif
