/* What an index is in the names of the grid: what store and load places of instances are compared by. */
#ifndef TILECC_LINT_FORM_H
#define TILECC_LINT_FORM_H
#include "ir/ir.h"

enum { FORM_PARTS = 4, FORM_MOST_RUNS = 1 << 16 };
#define FORM_ALL INT64_MAX /* the width of a whole dimension */

/* factor * (index of a grid name / by % modulo); modulo 0: without a remainder */
struct form_part {
    int grid;
    int64_t by, modulo, factor;
};
/* The elements  sum of moves[g] * index of g + the parts + offset + maybe a value that all instances have in common
 * + apart * t + w,  for t under times and w under width.  Runs do not touch: apart > width where times > 1. */
struct form {
    int64_t moves[IR_MAX_RANK];
    struct form_part parts[FORM_PARTS];
    int part_count;
    int64_t offset, width, times, apart;
    bool same, known; /* same: a common value is added; known: the form holds at all */
};
/* What is asked about the values of one function again and again. */
struct tile_form;
struct forms {
    struct arena *arena;
    signed char *varies;   /* by value id and dimension of the grid: 0 not asked, 1 no, 2 yes */
    struct form **scalars; /* by value id; NULL: not asked */
    struct tile_form **tiles;
};

struct forms forms_make(struct arena *arena, const struct ir_function *function);
/* Whether instances compute other values: along a dimension of the grid, or -1, along any or by what atomics give. */
bool forms_vary(struct forms *forms, const struct ir_value *value, int64_t dimension);

struct form form_number(int64_t number);
bool form_is_number(const struct form *form);
/* Wider by step * t, t under count; not known where that is no set of equal runs. */
struct form form_widen(struct form form, int64_t step, int64_t count);
struct form form_add(struct form a, struct form b, int64_t sign);
/* Of a scalar; of all elements of a tile of indexes or of offsets. */
struct form form_of(struct forms *forms, const struct ir_value *value);
struct form form_of_tile(struct forms *forms, const struct ir_value *tile);
/* How far a pointer, or the pointers of a tile, are behind *base: an argument that is a pointer, or a view. */
struct form form_of_pointer(struct forms *forms, const struct ir_value *pointer, const struct ir_value **base);

/* Whether a grid name is in it. */
bool form_has(const struct form *form, int grid);
/* Whether it depends on other names than `grid` alike. */
bool form_is_alike(const struct form *a, const struct form *b, int grid);
/* Its first element where the index along `grid` is `at` and all others are 0. */
int64_t form_at(const struct form *form, int grid, int64_t at);
/* Whether two sets of runs share an element, where the second one is `shift` further on. */
bool form_meets(const struct form *a, const struct form *b, int64_t shift);
/* Marks its elements modulo `step`. */
void form_mark(const struct form *form, int64_t step, bool *marked);
#endif
