/* What the walk over a function (padding.c) finds, and the report (padding_report.c) tells. */
#ifndef TILECC_PADDING_H
#define TILECC_PADDING_H
#include "passes/lint/lint.h"
#include "passes/lint/padding_value.h"

enum { PADDING_PADS = 64 };

/* One dimension of a load that may reach outside, or its mask, which leaves elements out as well. */
enum { PADDING_MASK = -1 };
struct padding_pad {
    const struct ir_operation *load;
    int dimension;
};
/* Of a value: all its elements, and those outside along each axis. */
struct padding_shade {
    struct known whole, outside[IR_MAX_RANK];
    uint64_t pads[IR_MAX_RANK]; /* a bit a pad */
    unsigned turned;            /* a bit an axis: what lies outside comes first, as flip has it */
};
struct padding_finding {
    const struct ir_operation *op; /* a reduction, a product, a min or max, or what is done at index tiles */
    uint64_t pads;
    struct known outside;
};
struct padding_walk {
    const struct lint *lint;
    const struct ir_function *function;
    struct padding_shade *of; /* by value id */
    struct known *of_region;  /* room for the values of a region */
    uint64_t *left_part;      /* of these, the scalars of the left part that they are computed from, a bit each */
    struct padding_pad pads[PADDING_PADS];
    int pad_count;
    bool reports;
    VECTOR(struct padding_finding) findings;
    uint64_t tried; /* loads of these pads read `instead` outside */
    double instead;
};

/* ---- pads: padding_pads.c ---- */

/* Nobody wrote what this load reads outside, or under a mask that is false. */
bool padding_is_unsaid(const struct ir_access *access);
/* What is counted on: `j` of j + 64. */
const struct ir_value *padding_base_of(const struct ir_value *value);
/* The same number, or computed alike from the same values. */
bool padding_same_index(const struct ir_value *a, const struct ir_value *b);
/* The bit of a dimension of a load, a new one where it has none. */
uint64_t padding_bit(struct padding_walk *walk, const struct ir_operation *load, int dimension);
/* Without those that do not reach outside wherever `at` runs. */
uint64_t padding_left(const struct padding_walk *walk, uint64_t pads, const struct ir_operation *at);

/* Walks the function anew; what it finds is in walk->findings. */
void padding_walk_function(struct padding_walk *walk);
/* One warning for each finding. */
void padding_report(const struct padding_walk *walk);
#endif
