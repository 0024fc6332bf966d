/* Suites from outside as tests: each problem says in one row what an operator is given and gives, how our kernel is
 * called, and what one element of its result is, in f64.
 *
 * Inputs are a function of tensor and position (judge_element), so that nothing has to be kept on the host: a result of
 * six gigabytes is judged by elements chosen at random, a small one whole.  Memory is the CPU's, or with --gpu a GPU's.
 * An element is right where it is within tolerance * size of what is wanted; size is the sum of the absolute values
 * that are added up for it, which is what rounding errors are made of. */
#ifndef JUDGE_H
#define JUDGE_H
#include "element.h"

enum { JUDGE_RANK = 7, JUDGE_TENSORS = 24, JUDGE_SIZES = 32, JUDGE_NAME = 12 };

struct judge_tensor {
    char name[JUDGE_NAME];
    enum judge_type type;
    bool complex; /* pairs of f64, a dimension of 2 behind the others */
    int rank;
    int64_t extent[JUDGE_RANK], elements;
    double low, high; /* inputs are in [low, high) */
    bool any;         /* or anything, with NaN, infinities, -0 and the ends of the type more often than else */
    int triangle;     /* a matrix of which what is below the diagonal is 0, or with -1 what is above; 0: neither */
    bool definite;    /* a symmetric matrix with its number of rows added on the diagonal, so that it can be factored */
    uint32_t seed;
    bool given, result;               /* both: it is changed in place; neither: a workspace */
    void *memory;                     /* where kernels see it */
    int64_t view[1 + 2 * JUDGE_RANK]; /* as headers have it: pointer, extents, strides */
};
struct judge_size {
    char name[JUDGE_NAME];
    double value;
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
    long double value, size;
};
struct judge_verdict {
    const char *status; /* "right", "wrong", or what failed */
    double error;       /* the largest, in tolerances */
    int64_t elements;
    double microseconds, peer_microseconds; /* 0: not timed */
};

struct judge_problem {
    const char *name; /* as the suite calls it */
    /* Tensors: "a:f32[m,k] b:f32[k,n]~-1,1 > c:f32[m,n]".  An extent is a size, a number, or two of them, c/g or n+1;
     * ~low,high, numbers or sizes, is the range of the input, 0 to 1 where it is missing; ~upper and ~lower are
     * triangles, ~definite is a symmetric matrix that can be factored, ~any is anything that the type has; one that
     * ends with ! is a workspace, of which nobody gives or gets anything, one that ends with = is changed in place and
     * a result.  c128 is a pair of f64. */
    const char *shape;
    const char *full, *small; /* sizes: "m=4096 n=4096"; of the suite, and small and odd ones */
    int (*call)(struct judge_case *c);
    struct judge_value (*want)(const struct judge_case *c, const int64_t *at); /* element `at` of the result */
    void (*derive)(struct judge_case *c); /* adds sizes that follow from others; or NULL */
    double tolerance;                     /* 0: the very element, the sign of 0 included */
    /* Where there is no `want`: the same in plain C on the same tensors, and what the suite itself gives is stored, for
     * small sizes; see stored.h. */
    void (*peer)(const struct judge_case *c);
    double (*input)(const struct judge_case *c, int t, int64_t i); /* in place of judge_element; or NULL */
};
/* Problems in a file of each family; judge.c lists them. */
struct judge_family {
    const struct judge_problem *problems;
    int count;
};

/* A size by its name; of one that the problem does not have, `otherwise`. */
int64_t judge_size_or(const struct judge_case *c, const char *name, int64_t otherwise);
int64_t judge_size(const struct judge_case *c, const char *name);
double judge_number(const struct judge_case *c, const char *name);
void judge_set_size(struct judge_case *c, const char *name, double value);

/* Input t at row-major position i. */
double judge_element(const struct judge_case *c, int t, int64_t i);
long double judge_exact(const struct judge_case *c, int t, int64_t i); /* integers of 64 bits, too */
/* Writes input t to its memory, which the processor sees. */
void judge_fill(struct judge_case *c, int t);
/* Element i of what the memory holds. */
double judge_value_at(const struct judge_tensor *t, int64_t i);
size_t judge_bytes(const struct judge_tensor *t);
void judge_set_memory(struct judge_tensor *t, void *memory);
/* The view of tensor t for a call, whatever its type: all have the same form. */
static inline void *judge_view(struct judge_case *c, int t) { return c->tensors[t].view; }
#endif
