/* What the numeric tests stand on.  A test is NAME.tile with kernels and NAME.c with a driver that compares every
 * element with f64. The driver states typical extents; this library runs it also with odd, empty and one-element
 * extents, with rows that have gaps between them and unaligned bases, and with NaN, infinities and -0 among the inputs.
 *
 * Memory is the CPU's, between pages that nobody may touch, or (TILE_TEST_STREAM=gpu) a GPU's, between red zones.
 * Outputs are poisoned first; after a call inputs, gaps and red zones must be as they were.  Nothing here is recognised
 * by a kernel's name. */
#ifndef EXEC_H
#define EXEC_H
#include <stddef.h>
#include <stdint.h>

enum exec_type {
    EXEC_BOOL,
    EXEC_I8,
    EXEC_I16,
    EXEC_I32,
    EXEC_I64,
    EXEC_U8,
    EXEC_U16,
    EXEC_U32,
    EXEC_U64,
    EXEC_F16,
    EXEC_BF16,
    EXEC_F32,
    EXEC_F64,
    EXEC_F8E4M3,
    EXEC_F8E5M2
};
enum { EXEC_MAX_RANK = 8 };
struct CUstream_st;

struct exec_tensor {
    enum exec_type type;
    int rank;
    int64_t extent[EXEC_MAX_RANK], stride[EXEC_MAX_RANK], elements;
    unsigned char *before, *after; /* the whole allocation, on the host, as it was and as it is */
    unsigned char *memory;         /* where the kernel sees it */
    uint64_t base;                 /* GPU: the whole allocation */
    size_t offset, size;           /* of element 0; of the allocation, in bytes */
    struct exec_values *values;    /* the elements as f64 */
    int dense;                     /* elements follow each other in row-major order */
    int written;
    struct exec_tensor *next;
};
struct exec_case {
    struct CUstream_st *stream;
    const char *name; /* of the test and case, for messages */
    int64_t extent[EXEC_MAX_RANK];
    int gaps;          /* rows have gaps, bases are odd */
    int columns_first; /* exec_strided: the first dimension is the dense one */
    int special;       /* NaN, inf, -0 among float inputs */
    int guard_behind;
    uint64_t random;
    struct exec_tensor *tensors;
    int failures, downloaded;
};
struct exec_test {
    const char *name;
    void (*run)(struct exec_case *c);
    int names; /* how many extents */
    int64_t typical[EXEC_MAX_RANK];
    int same_extents; /* extents depend on each other: only the typical case, with and without gaps */
};
/* Runs all; the exit status of main.  Arguments: names of tests, none for all. */
int exec_main(int count, char **arguments, const struct exec_test *tests, int test_count);

/* Tensors of a case, freed with it.  Inputs hold random values (floats: in -4 … 4, multiples of 1/64; integers: any
 * bits), those of exec_range whole numbers in [low, high]; outputs poison.  Last stride 1, except for exec_strided. */
struct exec_tensor *exec_input(struct exec_case *c, enum exec_type type, int rank, const int64_t *extent);
struct exec_tensor *exec_range(struct exec_case *c, enum exec_type type, int rank, const int64_t *extent, int64_t low,
                               int64_t high);
struct exec_tensor *exec_output(struct exec_case *c, enum exec_type type, int rank, const int64_t *extent);
struct exec_tensor *exec_inout(struct exec_case *c, enum exec_type type, int rank, const int64_t *extent);
struct exec_tensor *exec_strided(struct exec_case *c, enum exec_type type, int rank, const int64_t *extent,
                                 int written);
/* A packed one: no gaps ever. */
struct exec_tensor *exec_packed(struct exec_case *c, enum exec_type type, int rank, const int64_t *extent, int written);
void exec_set(struct exec_tensor *t, int64_t index, double value); /* before the call */
void exec_set_int(struct exec_tensor *t, int64_t index, int64_t value);
/* Room that only a few elements of are touched: reserved on the CPU, memory on a GPU. Zero at first on the CPU alone. */
struct exec_space {
    void *base; /* as the kernel sees it */
    int64_t size;
};
int exec_space_open(struct exec_case *c, struct exec_space *space, int64_t bytes); /* 0: not so much room */
void exec_space_close(struct exec_space *space);
void exec_space_put(const struct exec_space *space, int64_t offset, const void *from, size_t bytes);
void exec_space_get(const struct exec_space *space, int64_t offset, void *to, size_t bytes);
/* Fills a generated view struct: pointer, extents, strides. */
void exec_bind(struct exec_tensor *t, void *view, size_t size);
#define EXEC_BIND(view, tensor) exec_bind(tensor, &(view), sizeof(view))
void *exec_pointer(struct exec_tensor *t);

/* Checks the status of a call, waits, brings everything back, checks what may not have changed. */
void exec_called(struct exec_case *c, int status);
/* Elements by row-major number.  Drivers read one many times, in products: each is brought to f64 or i64 once, when the
 * first one is asked for. */
struct exec_values {
    double *before, *after;
    int64_t *integers; /* before */
};
double exec_read_before(const struct exec_tensor *t, int64_t index);
double exec_read_value(const struct exec_tensor *t, int64_t index);
static inline double exec_before(const struct exec_tensor *t, int64_t index)
{
    const double *values = t->values->before;
    return values && (uint64_t)index < (uint64_t)t->elements ? values[index] : exec_read_before(t, index);
}
static inline double exec_value(const struct exec_tensor *t, int64_t index)
{
    const double *values = t->values->after;
    return values && (uint64_t)index < (uint64_t)t->elements ? values[index] : exec_read_value(t, index);
}
/* The sum of the products of `count` elements of each, from their first on, as they were before the call. */
double exec_dot(const struct exec_tensor *a, int64_t first_a, int64_t step_a, const struct exec_tensor *b,
                int64_t first_b, int64_t step_b, int64_t count);
int64_t exec_read_before_int(const struct exec_tensor *t, int64_t index);
static inline int64_t exec_before_int(const struct exec_tensor *t, int64_t index)
{
    const int64_t *values = t->values->integers;
    return values && (uint64_t)index < (uint64_t)t->elements ? values[index] : exec_read_before_int(t, index);
}
int64_t exec_value_int(const struct exec_tensor *t, int64_t index);
/* |got - want| <= tolerance * (1 + |want|); NaN meets NaN, infinities and their signs agree. */
void exec_expect(struct exec_case *c, const struct exec_tensor *t, int64_t index, double want, double tolerance);
void exec_expect_int(struct exec_case *c, const struct exec_tensor *t, int64_t index, int64_t want);
/* The value's nearest in the type, as arithmetic in it would give; to the nearest, ties to even. */
double exec_round(enum exec_type type, double value);
/* The same to -1: the number below, 1: above, 2: towards zero. */
double exec_round_to(enum exec_type type, double value, int direction);
/* Difference that one rounding in the type may make, relative. */
double exec_epsilon(enum exec_type type);
void exec_fail(struct exec_case *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
int64_t exec_cdiv(int64_t a, int64_t b);
#endif
