/* Values in the checker: what each tile holds, as a number for each element.  See check_value.c. */
#ifndef TILECC_CHECK_VALUE_H
#define TILECC_CHECK_VALUE_H
#include "passes/check/check_machine.h"

/* A view as it is in one run: addresses count elements, and arguments lie far apart. */
struct check_view {
    uint64_t base;
    int64_t extent[IR_MAX_RANK], stride[IR_MAX_RANK];
    bool present;
};
/* What one execution of an operation gave: the operation and what its operands were. */
enum check_node_kind {
    CHECK_RESULT,
    CHECK_ARGUMENT, /* of the function */
    CHECK_HELD,     /* what a buffer holds when it is looked at */
    CHECK_WRITTEN   /* what an operation wrote into a slot, in front of what was there */
};
struct check_node {
    enum check_node_kind kind;
    const struct ir_operation *op;
    int result;                         /* or argument */
    const struct check_value *operands; /* by operand */
    const struct check_view *view;      /* of a view */
    const struct check_place *place;    /* CHECK_HELD, CHECK_WRITTEN: in the slot, */
    const int *dimension;               /* and in which order of dimensions */
    int content;                        /* a node: what the slot held */
};
/* A write to memory that others see. */
struct check_event {
    const struct ir_operation *op;
    const struct check_value *operands;
    int run; /* which program of the reference, which block of the machine */
};
struct check_content {
    const struct ir_operation *object;
    int64_t slot;
    int node;
};
struct check_known {
    uint64_t key; /* of node and element; 0: free */
    int64_t number;
};
/* An element of memory that a value was made of. */
struct check_leaf {
    uint64_t address;
    const struct ir_operation *op;
};
typedef VECTOR(struct check_event) check_events;

struct check_values {
    struct arena *arena;
    VECTOR(struct check_node) nodes; /* the first is none */
    check_events *events;            /* of the run */
    VECTOR(struct check_content) contents;
    struct check_known *known; /* a table of `room`, a power of two */
    uint64_t room, count;
    int64_t left; /* elements that may still be computed */
    int depth, run;
    struct check_value *map_values; /* by id, of regions of elements */
    int map_room;
    bool lost;    /* a number that steers the run could not be computed: nothing can be said */
    bool tracing; /* leaves are noted */
    VECTOR(struct check_leaf) leaves;
};

/* check_value.c: compares what a function of the machine level writes with what the reference does. */
void check_compare_values(struct check *check, const struct ir_function *reference);

/* check_value_make.c: what an operation gave, behind check_perform. */
void check_value_step(struct check *check, struct check_agent *agent, const struct ir_operation *op);
void check_value_arguments(struct check *check, struct check_agent *body);

/* check_value_element.c.  False: it is not computed. */
bool check_value_element(struct check *check, const struct ir_value *value, const struct check_value *held,
                         const int64_t *at, int64_t *number);
bool check_value_compute(struct check *check, const struct check_node *node, const struct ir_type *type,
                         const int64_t *at, int64_t *number);
/* Where element `at` of a place lies; *inside: whether it is accessed at all. */
bool check_value_address(struct check *check, const struct ir_operation *op, const struct check_value *operands,
                         const int64_t *at, uint64_t *address, bool *inside);
/* What is written there. */
bool check_value_written(struct check *check, const struct check_event *event, const int64_t *at, int64_t *number);
const struct check_value *check_value_operand(const struct ir_operation *op, const struct check_value *operands,
                                              const struct ir_value *value);

/* check_value_number.c */
uint64_t check_mix(uint64_t a, uint64_t b);
int64_t check_made(enum ir_element element, uint64_t hash); /* a number of that element */
int64_t check_constant(const struct ir_operation *op);
int64_t check_combine(enum ir_reduce_kind kind, enum ir_element element, int64_t a, int64_t b);
int64_t check_product(enum ir_element element, int64_t a, int64_t b, int64_t sum);
/* One element of an operation on elements. */
int64_t check_compute(const struct ir_operation *op, int result, const int64_t *operands);
#endif
