/* Host expressions with what they share: each part of all of them is computed once a point. */
#ifndef TILECC_SCHEDULES_EXPRESSION_LIST_H
#define TILECC_SCHEDULES_EXPRESSION_LIST_H
#include "passes/schedules/expressions.h"

struct expression_part {
    enum kernel_host_op op;
    int64_t number;
    int operand[3]; /* parts by their numbers; -1: none */
    int next;       /* of the same hash; -1: none */
};
struct expression_list {
    struct arena *arena;
    VECTOR(struct expression_part) parts;
    int *buckets; /* 1 + the last part of each hash; 0: none */
};

struct expression_list expression_list_create(struct arena *arena);
/* The number of its value. */
int expression_list_add(struct expression_list *list, const struct kernel_expression *e);
/* The values of all that was added, as expression_value gives them. */
void expression_list_compute(const struct expression_list *list, const struct expression_point *point, int64_t *values);
#endif
