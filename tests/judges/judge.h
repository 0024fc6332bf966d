/* Suites from outside as tests: each problem says in one row what an operator is given and gives, how our kernel is
 * called, and what one element of its result is, in f64.
 *
 * Inputs are a function of tensor and position (judge_element), so that nothing has to be kept on the host: a result of
 * six gigabytes is judged by elements chosen at random, a small one whole.  Memory is the CPU's, or with --gpu a GPU's.
 * An element is right where it is within tolerance * size of what is wanted; size is the sum of the absolute values
 * that are added up for it, which is what rounding errors are made of. */
#ifndef JUDGE_H
#define JUDGE_H
#include <stdbool.h>
#include <stdint.h>

enum { JUDGE_RANK = 5, JUDGE_TENSORS = 8, JUDGE_SIZES = 32, JUDGE_NAME = 12 };
enum judge_type { JUDGE_F32, JUDGE_I64, JUDGE_BOOL };

struct judge_tensor {
    enum judge_type type;
    int rank;
    int64_t extent[JUDGE_RANK], elements;
    double low, high; /* inputs are in [low, high) */
    int triangle;     /* a matrix of which what is below the diagonal is 0, or with -1 what is above; 0: neither */
    uint32_t seed;
    bool workspace, result;
    void *memory;                     /* where kernels see it */
    int64_t view[1 + 2 * JUDGE_RANK]; /* as headers have it: pointer, extents, strides */
};
struct judge_size {
    char name[JUDGE_NAME];
    int64_t value;
};
struct CUstream_st;
struct judge_case {
    const struct judge_problem *problem;
    struct CUstream_st *stream;
    struct judge_size sizes[JUDGE_SIZES];
    int size_count;
    struct judge_tensor tensors[JUDGE_TENSORS]; /* the result is the last */
    int tensor_count;
};
struct judge_value {
    double value, size;
};

struct judge_problem {
    const char *name; /* as the suite calls it */
    /* Tensors: "a:f32[m,k] b:f32[k,n]~-1,1 > c:f32[m,n]".  An extent is a size, a number, or one divided by another,
     * c/g; ~low,high, numbers or sizes, is the range of the input, 0 to 1 where it is missing; ~upper and ~lower are triangles;
     * one that ends with ! is a workspace, of which nobody gives or gets anything. */
    const char *shape;
    const char *full, *small; /* sizes: "m=4096 n=4096"; of the suite, and small and odd ones */
    int (*call)(struct judge_case *c);
    struct judge_value (*want)(const struct judge_case *c, const int64_t *at); /* element `at` of the result */
    void (*derive)(struct judge_case *c); /* adds sizes that follow from others; or NULL */
    double tolerance;
};
/* Problems in a file of each family; judge.c lists them. */
struct judge_family {
    const struct judge_problem *problems;
    int count;
};

/* A size by its name; of one that the problem does not have, `otherwise`. */
int64_t judge_size_or(const struct judge_case *c, const char *name, int64_t otherwise);
int64_t judge_size(const struct judge_case *c, const char *name);
void judge_set_size(struct judge_case *c, const char *name, int64_t value);

/* Input t at row-major position i. */
double judge_element(const struct judge_case *c, int t, int64_t i);
/* The view of tensor t for a call, whatever its type: all have the same form. */
static inline void *judge_view(struct judge_case *c, int t) { return c->tensors[t].view; }
#endif
