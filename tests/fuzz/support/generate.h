/* Random well-typed programs of the tile IR, with arguments to run them on.
 *
 * What makes every comparison exact: floats hold small integers wherever order of evaluation or contraction could
 * show (`exact` values with a bound on their magnitude), everything else is rounded once by its own operation;
 * instances never race (each writes its own block of an output; shared places are touched by atomics that commute).
 * So two correct executions give the same bits, whatever the schedule. */
#ifndef TILECC_FUZZ_GENERATE_H
#define TILECC_FUZZ_GENERATE_H
#include "base/base.h"
#include "interp/interp.h"
#include "ir/ir.h"

/* ---- numbers from a seed ---- */
struct random {
    uint64_t state;
};
uint64_t random_next(struct random *random);
int random_below(struct random *random, int limit);           /* 0 … limit-1 */
int random_between(struct random *random, int low, int high); /* both ends included */
bool random_chance(struct random *random, int percent);

/* ---- a program ---- */
enum {
    FUZZ_MAX_ARGUMENTS = 16,
    FUZZ_ALIGNMENT = 256, /* of every view's first element, in bytes, but for those inside another's memory */
    FUZZ_MOST_WINDOWS = 8
};
enum fuzz_content {
    FUZZ_SMALL_INTEGERS,
    FUZZ_WILD, /* any bits: NaN, inf, -0, subnormals */
    FUZZ_POISON,
    FUZZ_REPORT, /* a pointer to a report with room for what is printed (ir/kernel.h) */
    FUZZ_SCRATCH /* every element is `bits`; what is left there is nobody's */
};
struct fuzz_argument {
    const struct ir_type *type;
    int alias;                   /* 1 + the earlier argument whose memory it is, too; 0: none */
    int64_t offset;              /* of its first element in there */
    bool absent, output, atomic; /* views; output: instance n owns rows [n*block, (n+1)*block) of dimension 0 */
    int64_t block;
    enum fuzz_content content;
    int64_t extent[IR_MAX_RANK], stride[IR_MAX_RANK];
    int64_t elements; /* that the allocation holds, from its first on */
    int windows;      /* pieces of a large allocation that hold content and are compared; the others
                                      * are 0 at first.  0: all of it is */
    int64_t window[FUZZ_MOST_WINDOWS], window_elements; /* where each starts */
    uint64_t fill;                                      /* seed of the first content */
    uint64_t bits;                                      /* scalars */
};
struct fuzz_program {
    struct ir_module *module;
    struct ir_function *function;
    int argument_count;
    struct fuzz_argument arguments[FUZZ_MAX_ARGUMENTS];
    int64_t grid[IR_MAX_RANK];
    bool ordered; /* its function holds the barriers that global memory needs (interp.h) */
    int helpers;  /* functions made so far, for their names */
    uint64_t seed;
};
/* Sizes and what may appear; zero is a good default for all. */
struct fuzz_limits {
    int statements, max_rank, most_extent /* of views */;
    int64_t max_elements;
    bool no_flow, no_memory_tricks;
    bool plain; /* what fits the C interface and a plan: one memory an argument, no views of indexes or pointers */
};
/* Mostly small ones, of which many run in the time of a large one, some of the default's size, some of wide tiles. */
struct fuzz_limits fuzz_limits_mixed(uint64_t seed);
struct fuzz_program *fuzz_generate(struct ir_context *context, struct arena *arena, uint64_t seed,
                                   struct fuzz_limits limits);

/* ---- inside the generator ---- */
/* A value that later operations may use.  Floats: |value| <= bound and integral when exact; other elements: always
 * exact. */
struct known {
    struct ir_value *value;
    double bound;
    bool exact;
};
/* A view that may be read (anywhere), or written in the instance's own rows. */
struct known_view {
    struct ir_value *value;
    int argument;
    bool own_rows, atomic, read_only;
    bool mine; /* a part that no other instance touches: written anywhere */
    double bound;
    bool exact;
    int64_t block;
};
/* Two factors and an output for loops over products. */
struct known_product {
    struct ir_value *a, *b, *c;
    int argument;
    bool transposed;
    enum ir_element element;
    int64_t m, n, k;
};
struct generator {
    struct random random;
    struct arena *arena;
    struct ir_context *context;
    struct fuzz_program *program;
    struct fuzz_limits limits;
    struct ir_builder builder;
    VECTOR(struct known) pool;
    VECTOR(struct known_view) views;
    struct ir_value *row_block; /* linear instance number, index scalar */
    struct ir_value *digest;    /* what nothing else uses is added up here; NULL: nowhere */
    int digest_slots;
    struct known_product product; /* a: NULL when there is none */
    int depth;                    /* of control flow */
    bool pure;                    /* inside functions, maps and combining regions: no memory, no grid */
    bool scalars_only;            /* inside map and combining regions */
};
double fuzz_limit(enum ir_element element);        /* largest bound that keeps integers exact with room to spare */
enum ir_element fuzz_element(struct generator *g); /* any element but pointers */
const struct ir_type *fuzz_type(struct generator *g, enum ir_element element); /* any shape */
void fuzz_know(struct generator *g, struct ir_value *value, double bound, bool exact);
struct ir_value *fuzz_constant(struct generator *g, const struct ir_type *type, double *bound);
/* A known value of exactly this type, made when there is none; never NULL. */
struct known fuzz_of_type(struct generator *g, const struct ir_type *type, bool exact);
/* Any known tile (rank 0 included) that the test accepts (NULL: all); false when a few tries found none. */
bool fuzz_any(struct generator *g, bool (*accept)(const struct ir_type *type), struct known *out);
struct ir_value *fuzz_index_scalar(struct generator *g, int low,
                                   int high);  /* an index near [low, high], often computed */
void fuzz_pure_statement(struct generator *g); /* one operation without memory */
void fuzz_memory_statement(struct generator *g);
void fuzz_flow_statement(struct generator *g);
void fuzz_statements(struct generator *g, int count);
void fuzz_final_stores(struct generator *g);
void fuzz_make_arguments(struct generator *g);
void fuzz_make_facts(struct generator *g);
void fuzz_reduce_region(struct generator *g);
void fuzz_product_loop(struct generator *g);
void fuzz_dot(struct generator *g);
void fuzz_atomic(struct generator *g, const struct known_view *view);
void fuzz_pointer_statement(struct generator *g, const struct known_view *view);
/* The element's scalar, its tile in the shape of `like`. */
const struct ir_type *fuzz_like(struct generator *g, enum ir_element element, const struct ir_type *like);
/* Values of the pool from `first` on that nothing uses go to the digest, each with this chance in percent. */
void fuzz_digest(struct generator *g, int first, int percent);
void fuzz_make_digest(struct generator *g);
void fuzz_make_product(struct generator *g);
struct ir_value *fuzz_index(struct generator *g, int64_t value);
/* What may be stored in the view without breaking its promise. */
struct ir_value *fuzz_storable(struct generator *g, const struct known_view *view, const struct ir_type *type);
/* A place into a view: its operands, PLACE entries and the shape that comes out. */
struct place {
    struct ir_value *operand[1 + IR_MAX_RANK];
    int64_t entry[IR_MAX_RANK], shape[IR_MAX_RANK];
    int rank, result_rank;
};
void fuzz_make_place(struct generator *g, const struct known_view *view, bool distinct, struct place *place);
struct ir_operation *fuzz_access(struct generator *g, enum ir_opcode opcode, const struct place *place, int count,
                                 struct ir_value *const *extra, const struct ir_type *result);
struct ir_value *fuzz_mask(struct generator *g, const struct place *place); /* or NULL */
/* max(min(value, bound), -bound) */
struct ir_value *fuzz_clamp(struct generator *g, struct ir_value *value, double bound);

/* ---- running ---- */
/* Memory of one run: a copy of the same first content every time. */
struct fuzz_memory {
    struct interp_argument arguments[FUZZ_MAX_ARGUMENTS];
    struct interp_memory memories[FUZZ_MAX_ARGUMENTS];
    size_t mapped[FUZZ_MAX_ARGUMENTS]; /* of each memory: bytes of a mapping; 0: it is malloc'd */
    int count;
};
/* The windows of an argument, one for all of a small one; their number. */
int fuzz_windows(const struct fuzz_argument *argument, int64_t *first, int64_t *elements);
/* Zeros, of which only those that are touched take room. */
void *fuzz_map(size_t size);
struct fuzz_memory *fuzz_memory_create(const struct fuzz_program *program); /* malloc'd */
void fuzz_memory_free(struct fuzz_memory *memory);
enum { FUZZ_MOST_SLOTS = 512 };
/* The slots of a call as ir/kernel.h lays them out, sizes of the grid and the first program behind; their number. */
int fuzz_fill_slots(const struct fuzz_program *program, const struct fuzz_memory *memory, uint64_t *slots,
                    int64_t *programs);
bool fuzz_interpret(const struct fuzz_program *program, const struct ir_function *function, struct fuzz_memory *memory,
                    bool reverse, struct interp_problem *problem);
/* The whole program as a text, and back (program_text.c).  NULL: what was read is no such text. */
void fuzz_print_program(struct buffer *out, const struct fuzz_program *program);
struct fuzz_program *fuzz_read_program(struct ir_context *context, struct arena *arena, struct diagnostics *diagnostics,
                                       const struct source *source);
/* FOLDER/SEED.tir, and the program in it; NULL: there is none. */
const char *fuzz_program_path(struct arena *arena, const char *folder, uint64_t seed);
struct fuzz_program *fuzz_load_program(struct ir_context *context, struct arena *arena, const char *folder,
                                       uint64_t seed);
/* As fuzz_same, but floats may differ by `tolerance` of the larger of 1 and themselves. */
bool fuzz_near(const struct fuzz_program *program, const struct fuzz_memory *a, const struct fuzz_memory *b,
               double tolerance, char *text, size_t size);
/* True when all memories agree, NaN equal to NaN; else writes argument, element and both values to text. */
bool fuzz_same(const struct fuzz_program *program, const struct fuzz_memory *a, const struct fuzz_memory *b, char *text,
               size_t size);
#endif
