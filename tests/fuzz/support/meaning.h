/* Random sources whose meaning is known: a tree is made, printed as a source with no more parentheses than the manual
 * asks for, and computed by a walk over the tree that shares nothing with the compiler.  What the passes and targets
 * agree on among themselves can still be another program than the one that was written; this asks the front end (and
 * the interpreter) for the one that was written. */
#ifndef TILECC_FUZZ_MEANING_H
#define TILECC_FUZZ_MEANING_H
#include "generate.h"

enum {
    MEANING_ELEMENTS = 64, /* of a tile */
    MEANING_RANK = 3,
    MEANING_SLOTS = 400,
    MEANING_VIEWS = 24,
    MEANING_ARRAY = 64, /* elements of one argument */
    MEANING_INPUTS = 4, /* views; the output stands behind them */
    MEANING_OPERANDS = 4,
};

struct meaning_shape {
    int rank, extent[MEANING_RANK];
};
/* Integers of every type as i64 (u64: its bits), bool 0 or 1; floats as double. */
union meaning_cell {
    int64_t integer;
    double real;
};
struct meaning_tile {
    union meaning_cell at[MEANING_ELEMENTS];
};

enum meaning_kind {
    MEANING_LITERAL,
    MEANING_VARIABLE,
    MEANING_NEGATE,
    MEANING_TURN /* ~ */,
    MEANING_NOT,
    MEANING_BINARY,
    MEANING_COMPARE,
    MEANING_AND,
    MEANING_OR,
    MEANING_CHOOSE /* ?: */,
    MEANING_WHERE,
    MEANING_CONVERT,
    MEANING_SATURATE,
    MEANING_WIDEN /* by itself: nothing is written */,
    MEANING_MIN,
    MEANING_MAX,
    MEANING_CLAMP,
    MEANING_ABS,
    MEANING_CDIV,
    MEANING_ILOG2,
    MEANING_CALL,
    MEANING_READ,
    MEANING_LOAD,
    MEANING_INSIDE,
    MEANING_EXTENT,
    MEANING_STRIDE,
    MEANING_PRESENT,
    MEANING_IOTA,
    MEANING_STRETCH,
    MEANING_BROADCAST,
    MEANING_RESHAPE,
    MEANING_PERMUTE,
    MEANING_PART /* t[...] */,
    MEANING_SUM,
    MEANING_LEAST,
    MEANING_MOST,
    MEANING_ANY,
    MEANING_ALL,
    MEANING_ARGUMENT_OF_MOST,
    MEANING_ARGUMENT_OF_LEAST,
    MEANING_FOLD /* reduce(x, f) */,
    MEANING_PRODUCT /* @ */,
    MEANING_BITCAST,
    MEANING_FLIP, /* from here to MEANING_SCALED: meaning_move.c */
    MEANING_CAT,
    MEANING_GATHER,
    MEANING_JOIN,
    MEANING_SPLIT /* split(x)[0] */,
    MEANING_INTERLEAVE,
    MEANING_SORT,
    MEANING_SORT_BESIDE /* sort((x, y))[1] */,
    MEANING_ARGSORT,
    MEANING_TOPK /* topk(x, n)[0], or [1] */,
    MEANING_CUMSUM,
    MEANING_CUMPROD,
    MEANING_CUMMIN,
    MEANING_CUMMAX,
    MEANING_SCAN /* scan(x, f) */,
    MEANING_HISTOGRAM,
    MEANING_SCALED /* dot_scaled */,
    MEANING_SAME /* of two structs */
};
enum meaning_place_kind { PLACE_AT, PLACE_PART, PLACE_ALL, PLACE_GATHER };
struct meaning_node;
struct meaning_place {
    int view, rank; /* number of the view, of its dimensions */
    enum meaning_place_kind kind[2];
    struct meaning_node *index[2];
    int size[2];
};
enum { MEANING_MEMBERS = 3 };
struct meaning_struct {
    const char *name;
    int count;
    enum ir_element element[MEANING_MEMBERS];
};
struct meaning_node {
    enum meaning_kind kind;
    enum ir_element element;
    struct meaning_shape shape;
    char sign[4]; /* BINARY, COMPARE: as written */
    struct meaning_node *operand[MEANING_OPERANDS];
    union meaning_cell value; /* LITERAL */
    bool constant;            /* known when compiling */
    bool bare;                /* LITERAL: takes its type from what it meets */
    const char *name;         /* VARIABLE; LITERAL: of a const, or NULL */
    int slot;                 /* VARIABLE */
    int axis;                 /* -1: all; of extents and strides, too */
    bool propagates;          /* MIN and its kin: NaN */
    bool backward, exclusive; /* of sorts the largest first, of scans from the end; each without itself */
    int which;                /* of a tuple that a call gives */
    int order[MEANING_RANK];  /* PERMUTE; PART: -2 a new extent, -1 all, else which element */
    struct meaning_function *function;
    struct meaning_place *place;
    const struct meaning_struct *structure; /* SAME: of `name` in its slot and of another */
    const char *other_name;
    int second;
};

enum meaning_statement_kind {
    MEANING_LET,
    MEANING_VAR,
    MEANING_ASSIGN,
    MEANING_UPDATE /* a += e */,
    MEANING_SWAP /* a, b = e, f */,
    MEANING_STORE,
    MEANING_STORE_UPDATE,
    MEANING_STORE_MASKED,
    MEANING_ATOMIC,
    MEANING_IF,
    MEANING_FOR,
    MEANING_STATIC_FOR,
    MEANING_WHILE,
    MEANING_BREAK,
    MEANING_CONTINUE,
    MEANING_RETURN,
    MEANING_BLOCK,
    MEANING_TAKE_APART /* let a, b = f(x) */,
    MEANING_STRUCT /* var p = t(e, f), members in slots behind each other */,
    MEANING_STRUCT_COPY /* p = q; or p = c ? q : r; */,
    MEANING_PRINT,
    MEANING_ASSERT,
    MEANING_SUBVIEW,
    MEANING_TURN_VIEW
};
struct meaning_body {
    VECTOR(struct meaning_statement *) statements;
};
struct meaning_statement {
    enum meaning_statement_kind kind;
    int slot, second; /* what is declared or assigned; views: which */
    const char *name, *other_name;
    enum ir_element element; /* of what is declared, with its type written if `typed` */
    bool typed;
    char sign[4];
    struct meaning_node *value[3]; /* IF: the condition; FOR: from, to */
    struct meaning_place *place;
    int64_t step; /* FOR */
    bool multiplies;
    const struct meaning_struct *structure;
    const char *third_name; /* STRUCT_COPY: another that it may be */
    int third;
    bool passed;                           /* STRUCT_COPY: through a function */
    int parent;                            /* SUBVIEW: of which view */
    enum meaning_place_kind kinds[2];      /* and for each dimension AT with value[0], or PART */
    struct meaning_node *low[2], *high[2]; /* NULL: not written */
    struct meaning_body body, otherwise;
};
struct meaning_function {
    const char *name;
    int parameters, slot[MEANING_OPERANDS], results;
    enum ir_element element[MEANING_OPERANDS], result[2];
    bool constant[MEANING_OPERANDS]; /* const n */
    bool for_host;                   /* const fn of i64 alone */
    int view;                        /* number of its parameter that is a view, or -1 */
    enum ir_element view_element;
    int view_rank;
    struct meaning_body body;
};
struct meaning_view { /* one name */
    const char *name;
    enum ir_element element;
    int rank, array; /* of a parameter: which argument, else -1 */
    bool optional, strided, writable;
    int64_t fixed[2]; /* extents known when compiling, or 0 */
};
struct meaning_argument {
    int64_t extent[2], stride[2];
    bool absent;
    union meaning_cell cell[MEANING_ARRAY];
};
struct meaning_constant {
    const char *name;
    struct meaning_node *value;
    bool typed;
};

struct meaning {
    struct arena *arena;
    struct random random;
    VECTOR(struct meaning_constant) constants;
    VECTOR(struct meaning_struct *) structs;
    VECTOR(struct meaning_function *) functions;
    int view_count, slot_count, scalar_count;
    struct meaning_view views[MEANING_VIEWS];
    struct meaning_argument arguments[MEANING_INPUTS + 1];
    int inputs; /* views 0 ... are read, view `inputs` is written */
    int scalar_slot[4];
    enum ir_element scalar_element[4];
    const char *scalar_name[4];
    union meaning_cell scalar[4];
    struct meaning_node *grid[2], *
        requires, *
                specialize;
    struct meaning_body body;
    bool fails; /* `requires` is false of these arguments */
};

/* for_code: one instance, over integers alone, so that any two ways to run it agree bit for bit. */
void meaning_make(struct meaning *m, struct arena *arena, uint64_t seed, bool for_code);
void meaning_print(const struct meaning *m, struct buffer *out);

/* Computes the whole kernel: what it leaves in the arguments.  False: too many steps. */
bool meaning_run(struct meaning *m);
/* One expression over scalar parameters alone, as the wrapper computes it; false: it overflows. */
bool meaning_host_value(const struct meaning *m, const struct meaning_node *node, int64_t *value);
int meaning_elements(struct meaning_shape shape);
union meaning_cell meaning_fit(enum ir_element element, union meaning_cell value); /* wraps integers, rounds f32 */
void meaning_print_expression(const struct meaning *m, struct buffer *out, const struct meaning_node *node);
#endif
