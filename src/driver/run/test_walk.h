/* A walk over a test block: shared by the files test_*.c. */
#ifndef TILECC_DRIVER_TEST_WALK_H
#define TILECC_DRIVER_TEST_WALK_H
#include "driver/run/test_tensor.h"
#include "front/walk/walk.h"

enum test_kind {
    TEST_NOTHING, /* also: reported */
    TEST_TENSOR,
    TEST_TYPE, /* element, and extents if it was indexed */
    TEST_TUPLE,
    TEST_STRUCT, /* a tuple with names */
    TEST_TEXT,
    TEST_NULL,
    TEST_GLOBAL /* a function, kernel, enum or struct of a file */
};
struct test_value {
    enum test_kind kind;
    struct location at;
    struct tensor *tensor;
    enum ir_element element; /* TYPE */
    int rank;                /* TYPE: -1: no extents */
    int64_t extent[IR_MAX_RANK];
    struct test_value *list; /* TUPLE, STRUCT */
    int count;
    const char *text;
    struct global *global; /* GLOBAL; STRUCT: its declaration */
};
struct test_name {
    const char *name;
    struct test_value value;
    struct test_name *before;
};
struct test_walk {
    struct front *front;
    const struct kernel_module *module;
    struct arena *arena;
    struct diagnostics *diagnostics;
    const char *name; /* of the test */
    struct file_scope *file;
    struct test_name *names;
    int expectations, failures, depth;
    int64_t steps;
    const char *reason; /* why it fails: the first one told; NULL: it does not */
    bool stopped;       /* an error was reported: the test ends */
    bool jumps;         /* break, continue or return is on its way */
    enum ast_statement_kind jump;
    struct test_value result;
    const char *refusal; /* of the last kernel call that its wrapper refused, in expect_error; else NULL */
    bool expects_refusal;
};

/* An expectation or call that does not hold. */
struct diagnostic *test_fail(struct test_walk *t, struct location at, const char *text);
struct test_value test_stop(struct test_walk *t, struct location at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
struct test_value test_of(struct tensor *tensor, struct location at);
struct test_value test_evaluate(struct test_walk *t, const struct ast_expression *x);
struct tensor *test_tensor(struct test_walk *t, const struct ast_expression *x); /* NULL: reported */
bool test_number(struct test_walk *t, const struct ast_expression *x, double *number);
struct test_value test_call_builtin(struct test_walk *t, const struct ast_expression *call);
bool test_is_builtin(const char *name);
struct test_value test_call_function(struct test_walk *t, struct global *function, const struct ast_expression *call);
struct test_value test_call_kernel(struct test_walk *t, struct global *kernel, const struct ast_expression *call);
struct test_value test_binary(struct test_walk *t, enum ast_operator operation, struct tensor *a, struct tensor *b,
                              struct location at);
void test_statements(struct test_walk *t, const struct ast_statement_list *list);
void test_bind(struct test_walk *t, const char *name, struct test_value value);
struct test_name *test_find(const struct test_walk *t, const char *name);
/* The argument that is called so or stands at the position; NULL: none. */
const struct ast_expression *test_argument(const struct ast_expression *call, const char *name, int position);
const char *test_describe(struct test_walk *t, struct test_value v);
/* The element that a type names, struct or generic not; false: none. */
bool test_type_element(struct test_walk *t, const struct ast_type *type, enum ir_element *element);
#endif
