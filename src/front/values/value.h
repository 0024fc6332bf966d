/* Values of the elaborator: what an expression of a .tile source can stand for while one instance is walked.
 *
 * Some values are known while compiling (types, integers, bools, members of enums), some are IR values, some belong to
 * the host (trees that the wrapper evaluates), and some are neither: a place is an indexed view that has not been read.
 */
#ifndef TILECC_FRONT_VALUE_H
#define TILECC_FRONT_VALUE_H
#include "base/base.h"
#include "front/syntax/ast.h"
#include "front/values/name_table.h"
#include "ir/arithmetic.h"
#include "ir/ir.h"
#include "ir/kernel.h"

struct enumeration {
    const char *name;
    const struct ast_declaration *declaration;
    int count;
    const char **members;
    int64_t *values;
    struct name_table places;      /* of members, into values */
    struct kernel_enum *described; /* as the header shows it */
};

/* Of scalars, members of enums and pointers. */
struct structure {
    const char *name;
    const struct ast_declaration *declaration;
    const struct type *type; /* the members' types are in it */
    const char **members;
    struct kernel_struct *described; /* as the header shows it */
};

enum type_kind { TYPE_PLAIN /* scalars, tiles, pointers */, TYPE_ENUM, TYPE_TUPLE, TYPE_STRUCT };
struct type {
    enum type_kind kind;
    const struct ir_type *plain;           /* PLAIN; ENUM: i32 */
    const struct enumeration *enumeration; /* ENUM */
    int count;                             /* TUPLE, STRUCT */
    const struct type **members;
    const struct structure *structure; /* STRUCT */
    const struct origin *origin;       /* PLAIN tile: as it was written */
    bool
        nibbles; /* PLAIN: i4 or u4, the elements of views; what is read of them, and what it is elsewhere, is `plain` */
};

/* Where each extent of a tile came from, for messages: text as written and its place; and whether a `tune` value is in it. */
struct origin {
    struct {
        struct location at;
        const char *text;
        bool tuned;
    } extent[IR_MAX_RANK];
};

struct view_value {
    struct ir_value *run; /* NULL in host expressions */
    int number, rank;     /* host: which parameter */
    const char *name;     /* of the parameter it comes from */
    const struct ast_parameter *parameter;
    bool declared_optional;
    bool absent;                 /* known while compiling: a fact of the instance */
    bool nibbles;                /* elements of 4 bits, two a byte: `run` is of bytes (walk/nibbles.c) */
    const struct origin *origin; /* of its dimensions, as the parameter declares them; or NULL */
};

struct place_value {
    const struct view_value *view;
    int rank;
    struct ir_value *index[IR_MAX_RANK];
    int64_t place[IR_MAX_RANK]; /* IR_POINT, a length, IR_GATHER */
    int result_rank;
    int64_t extent[IR_MAX_RANK]; /* of what a read gives */
    const struct origin *origin;
    /* Of 4-bit elements, where index and place of the last dimension are of bytes: the bit that was cut off; a slice:
     * the byte of its second element, and whether it is known that this is the first one's. */
    struct ir_value *odd, *next;
    bool starts_even;
};

enum value_kind {
    VALUE_ERROR, /* already reported; everything made of it is silent */
    VALUE_VOID,
    VALUE_TYPE,
    VALUE_INTEGER,
    VALUE_REAL,
    VALUE_BOOL,
    VALUE_ENUMERATOR,
    VALUE_STRING,
    VALUE_NULL,
    VALUE_RUN,  /* an IR scalar or tile */
    VALUE_HOST, /* a tree for the wrapper: i64, bool or a float scalar */
    VALUE_VIEW,
    VALUE_PLACE,
    VALUE_TUPLE,
    VALUE_LIST,
    VALUE_FUNCTION,
    VALUE_BUILTIN,
    VALUE_MODULE,
    VALUE_VIEW_MEMBER /* x.extent, x.stride: wants an index */
};

struct builtin;
struct global;
struct file_scope;
struct value {
    enum value_kind kind;
    struct location at;
    union {
        wide_integer integer; /* INTEGER, ENUMERATOR */
        struct {
            double number;
            const char *text;
        } real;
        bool truth;
        const struct type *type;
        struct ir_value *run;
        struct {
            const struct kernel_expression *tree;
            enum ir_element element; /* I64, BOOL, F64 */
        } host;
        const struct view_value *view;
        const struct place_value *place;
        struct {
            struct value *data;
            int count;
        } list; /* TUPLE, LIST */
        struct global *function;
        const struct builtin *builtin;
        struct file_scope *module;
        struct {
            const struct view_value *view;
            bool stride;
        } member;
        const char *string;
    };
    enum ir_element element;               /* INTEGER, REAL: its type, or IR_ELEMENT_COUNT while it adapts */
    bool tuned;                            /* INTEGER, REAL: made from a `tune` value; results may not depend on it */
    bool alone;                            /* REAL: of f32 for want of another type, and rounded to it */
    const struct enumeration *enumeration; /* ENUMERATOR; RUN and HOST of an enum */
    const struct structure *structure;     /* TUPLE: the values of its members */
    const struct origin *origin;           /* RUN tiles, may be NULL */
};

static inline struct value value_error(struct location at) { return (struct value){.kind = VALUE_ERROR, .at = at}; }
static inline bool value_is_error(struct value v) { return v.kind == VALUE_ERROR; }
struct value value_integer(wide_integer integer, struct location at);
struct value value_real(double number, struct location at);
struct value value_bool(bool truth, struct location at);
struct value value_run(struct ir_value *run, struct location at);
struct value value_type(const struct type *type, struct location at);
/* Known while compiling, and a number, bool or member of an enum (or a tuple of such and types). */
bool value_is_constant(struct value v);
static inline bool value_is_run(struct value v) { return v.kind == VALUE_RUN; }
static inline bool value_is_tile(struct value v) { return v.kind == VALUE_RUN && v.run->type->rank > 0; }
bool value_same(struct value a, struct value b); /* same constant, or the same IR value */
bool type_same(const struct type *a, const struct type *b);

void value_print_wide(struct buffer *out, wide_integer number);
void value_print_element(struct buffer *out, const struct ir_type *type); /* i64 for index, *f32 for pointers */
void value_print_ir_type(struct buffer *out, const struct ir_type *type);
void value_print_type(struct buffer *out, const struct type *type);
void value_print_constant(struct buffer *out, struct value v); /* 128, f16, true, relu: for labels */
#endif
