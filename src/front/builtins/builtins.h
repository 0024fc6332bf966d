/* Functions that the language brings.  builtins.c holds the table and reads arguments; the others hold the functions by
 * kind. */
#ifndef TILECC_FRONT_BUILTINS_H
#define TILECC_FRONT_BUILTINS_H
#include "front/walk/control.h"

enum {
    MOST_EXTENTS = 1 + IR_MAX_RANK,                /* a tile and its extents */
    MOST_ARGUMENTS = 2 + KERNEL_REPORT_MOST_VALUES /* a condition, a text and values */
};
/* One call with its arguments by position, read or not as the builtin says, and its named ones as written. */
struct call {
    const struct ast_expression *expression;
    struct location at;
    int count;
    struct value argument[MOST_ARGUMENTS];
    const struct builtin *builtin;
};
struct builtin {
    const char *name;
    int least, most;     /* arguments by position */
    unsigned raw;        /* bit i: argument i is handed over unread */
    const char *options; /* names allowed, separated by spaces */
    struct value (*build)(struct elaborator *e, struct call *call, int detail);
    int detail;
};

const struct ast_expression *call_option(const struct call *call, const char *name); /* as written, or NULL */
bool call_option_value(struct elaborator *e, const struct call *call, const char *name,
                       struct value *value); /* false: not given */
/* The number of a word among `count` words; `otherwise` when not given; -2: reported. */
int call_option_word(struct elaborator *e, const struct call *call, const char *name, int count,
                     const char *const *words, int otherwise);
/* A compile-time integer option; false: reported. */
bool call_option_integer(struct elaborator *e, const struct call *call, const char *name, int64_t *number, bool *given);
/* The axis as written, -1 when it is not.  False: reported. */
bool call_option_axis(struct elaborator *e, const struct call *call, int rank, int64_t *axis, bool *given);
/* `v` or the parts of a tuple, tiles of one shape, MOST_EXTENTS / 2 at most.  False: reported. */
bool call_tiles(struct elaborator *e, struct call *call, struct value v, struct value *tiles, int *count);
/* A compile-time option that is true or false; *truth stays when it is not given.  False: reported. */
bool call_option_truth(struct elaborator *e, const struct call *call, const char *name, bool *truth);
/* What lowest() and highest() give. */
struct value value_limit(enum ir_element element, bool highest, struct location at);
struct value call_wrong(struct elaborator *e, const struct call *call, struct value v, const char *wanted);

/* NULL: the language brings none of that name. */
const struct builtin *builtin_find(const char *name);
extern const struct builtin_functions builtin_functions;

/* Texts with values, `"{} {:x}"` (builtins_print.c).  The arguments from `from` on as values to print; false: reported. */
bool text_values(struct elaborator *e, const struct call *call, int from, struct value *values);
/* The text as kernel.h has texts, and the conversion of each value; NULL: reported. */
const char *text_of_values(struct elaborator *e, const struct call *call, const char *text, int count,
                           const struct value *values, const char ***conversions);
struct ir_value *text_bits(struct elaborator *e, struct value v, const char *conversion); /* as u64 */
void report_store(struct elaborator *e, int64_t word, struct ir_value *bits);

struct value build_math(struct elaborator *e, struct call *call, int function);
struct value build_math2(struct elaborator *e, struct call *call, int function);
struct value build_min_max(struct elaborator *e, struct call *call, int maximum);
struct value build_abs(struct elaborator *e, struct call *call, int detail);
struct value build_fdiv(struct elaborator *e, struct call *call, int detail);
struct value build_clamp(struct elaborator *e, struct call *call, int detail);
struct value build_where(struct elaborator *e, struct call *call, int detail);
struct value build_cdiv(struct elaborator *e, struct call *call, int detail);
struct value build_ilog2(struct elaborator *e, struct call *call, int detail);
struct value build_operation(struct elaborator *e, struct call *call, int opcode);
struct value build_class(struct elaborator *e, struct call *call, int finite);

struct value build_reduce_kind(struct elaborator *e, struct call *call, int kind);
struct value build_reduce(struct elaborator *e, struct call *call, int detail);
struct value build_sort(struct elaborator *e, struct call *call, int kind); /* 0: sort, 1: argsort, 2: topk */
struct value build_histogram(struct elaborator *e, struct call *call, int detail);
struct value build_arg(struct elaborator *e, struct call *call, int maximum);
struct value build_scan_kind(struct elaborator *e, struct call *call, int kind);
struct value build_scan(struct elaborator *e, struct call *call, int detail);

struct value build_dot(struct elaborator *e, struct call *call, int detail);
struct value build_dot_scaled(struct elaborator *e, struct call *call, int detail);
struct value build_trans(struct elaborator *e, struct call *call, int detail);
struct value build_permute(struct elaborator *e, struct call *call, int detail);
struct value build_reshape(struct elaborator *e, struct call *call, int detail);
struct value build_broadcast(struct elaborator *e, struct call *call, int detail);
struct value build_cast(struct elaborator *e, struct call *call, int detail);
struct value build_bitcast(struct elaborator *e, struct call *call, int detail);
struct value build_iota(struct elaborator *e, struct call *call, int detail);
struct value build_zeros(struct elaborator *e, struct call *call, int detail);
/* Proposes the tile of zeros that a call in the manner of Python means. */
void zeros_note(struct elaborator *e, struct diagnostic *d, const struct ast_expression *call);
struct value build_limit(struct elaborator *e, struct call *call, int highest);
struct value build_join(struct elaborator *e, struct call *call, int interleaves);
struct value build_split(struct elaborator *e, struct call *call, int detail);
struct value build_cat(struct elaborator *e, struct call *call, int detail);
struct value build_flip(struct elaborator *e, struct call *call, int detail);
struct value build_gather(struct elaborator *e, struct call *call, int detail);
struct value build_split_dim(struct elaborator *e, struct call *call, int detail);
struct value build_merge_dims(struct elaborator *e, struct call *call, int detail);
struct value build_view(struct elaborator *e, struct call *call, int detail);
struct value build_random(struct elaborator *e, struct call *call, int kind);

struct value build_load(struct elaborator *e, struct call *call, int detail);
struct value build_store(struct elaborator *e, struct call *call, int detail);
struct value build_inside(struct elaborator *e, struct call *call, int detail);
struct value build_atomic(struct elaborator *e, struct call *call, int action);
struct value build_atomic_cas(struct elaborator *e, struct call *call, int detail);
struct value build_grid_size(struct elaborator *e, struct call *call, int detail);
struct value build_sm_count(struct elaborator *e, struct call *call, int detail);
struct value build_assert(struct elaborator *e, struct call *call, int detail);
struct value build_assume(struct elaborator *e, struct call *call, int detail);
struct value build_print(struct elaborator *e, struct call *call, int detail);
struct value build_asm(struct elaborator *e, struct call *call, int detail);
struct value build_static_assert(struct elaborator *e, struct call *call, int detail);
#endif
