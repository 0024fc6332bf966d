/* The tree of one `.tile` file, as written: names are not resolved, types not known, nothing folded.
 *
 * Made by grammar/tile.y through the constructors of ast.c, read by everybody else; nobody changes it after parse_file
 * returned.
 * What the reader may rely on:
 *  - Every node lives in the arena of the parse context, and is never shared between two parents.
 *  - Names are interned in the context's table: compare with ==.  A `struct ast_name` with text NULL is "not written".
 *  - `at` covers the node if it ends on the line it starts on, else it goes to the end of its first line.
 *    end_column is the column behind the last byte.
 *  - Lists are arrays of pointers with a count, in source order; an empty list has count 0.  No pointer in one is NULL.
 *  - Trees are at most AST_MAXIMUM_DEPTH deep, so a recursive walk needs no guard of its own.
 *  - A declaration with a syntax error inside has `broken` set, and a STATEMENT_MISSING stands where a statement of its
 *    body could not be read: what follows may use the names that it lists, of which nothing is known.  A declaration
 *    whose head could not be read is not
 *    in the file at all.
 *  - Calls, casts and tile constructors are one node (EXPRESSION_CALL); who is called decides: f32(x), T[BM, BN](0). */
#ifndef TILECC_AST_H
#define TILECC_AST_H
#include "base/base.h"

/* Nesting of brackets, blocks and types, and depth of an expression, that the parser accepts; deeper text is E0107. */
#define AST_MAXIMUM_NESTING 256
#define AST_MAXIMUM_DEPTH 1024

struct ast_name {
    const char *text;
    struct location at;
};

struct ast_expression_list {
    struct ast_expression **data;
    int count, capacity;
};
struct ast_statement_list {
    struct ast_statement **data;
    int count, capacity;
};
struct ast_index_list {
    struct ast_index **data;
    int count, capacity;
};
struct ast_argument_list {
    struct ast_argument **data;
    int count, capacity;
};
struct ast_type_list {
    struct ast_type **data;
    int count, capacity;
};
struct ast_domain_list {
    struct ast_domain **data;
    int count, capacity;
};
struct ast_name_list {
    struct ast_name *data;
    int count, capacity;
};
struct ast_generic_list {
    struct ast_generic **data;
    int count, capacity;
};
struct ast_parameter_list {
    struct ast_parameter **data;
    int count, capacity;
};
struct ast_clause_list {
    struct ast_clause **data;
    int count, capacity;
};
struct ast_item_list {
    struct ast_item **data;
    int count, capacity;
};
struct ast_enumerator_list {
    struct ast_enumerator **data;
    int count, capacity;
};
struct ast_field_list {
    struct ast_field **data;
    int count, capacity;
};
struct ast_declaration_list {
    struct ast_declaration **data;
    int count, capacity;
};

/* ---- expressions ---------------------------------------------------------------------------------------------- */

/* The scalar types, which are reserved words.  X(enumerator, word). */
#define AST_SCALARS(X)  \
    X(BOOL, "bool")     \
    X(I8, "i8")         \
    X(I16, "i16")       \
    X(I32, "i32")       \
    X(I64, "i64")       \
    X(U8, "u8")         \
    X(U16, "u16")       \
    X(U32, "u32")       \
    X(U64, "u64")       \
    X(F16, "f16")       \
    X(BF16, "bf16")     \
    X(F32, "f32")       \
    X(F64, "f64")       \
    X(F8E4M3, "f8e4m3") \
    X(F8E5M2, "f8e5m2")
enum ast_scalar {
#define AST_SCALAR(name, word) AST_SCALAR_##name,
    AST_SCALARS(AST_SCALAR)
#undef AST_SCALAR
        AST_SCALAR_COUNT
};
const char *ast_scalar_word(enum ast_scalar scalar);

/* Operators, with their spelling.  The arithmetic ones also stand in compound assignments (x += e is OPERATOR_ADD). */
#define AST_OPERATORS(X)    \
    X(OR, "or")             \
    X(AND, "and")           \
    X(NOT, "not")           \
    X(EQUAL, "==")          \
    X(NOT_EQUAL, "!=")      \
    X(LESS, "<")            \
    X(GREATER, ">")         \
    X(LESS_EQUAL, "<=")     \
    X(GREATER_EQUAL, ">=")  \
    X(BIT_OR, "|")          \
    X(BIT_XOR, "^")         \
    X(BIT_AND, "&")         \
    X(SHIFT_LEFT, "<<")     \
    X(SHIFT_RIGHT, ">>")    \
    X(ADD, "+")             \
    X(SUBTRACT, "-")        \
    X(MULTIPLY, "*")        \
    X(DIVIDE, "/")          \
    X(REMAINDER, "%")       \
    X(MATRIX_MULTIPLY, "@") \
    X(NEGATE, "-")          \
    X(BIT_NOT, "~")
enum ast_operator {
#define AST_OPERATOR(name, spelling) OPERATOR_##name,
    AST_OPERATORS(AST_OPERATOR)
#undef AST_OPERATOR
        OPERATOR_COUNT,
    OPERATOR_NONE = OPERATOR_COUNT /* plain `=` in an assignment */
};
const char *ast_operator_spelling(enum ast_operator operator);

enum ast_expression_kind {
    EXPRESSION_NAME,        /* x                         name */
    EXPRESSION_SCALAR_TYPE, /* f32                       scalar; a type as a value: callee, argument, member of a set */
    EXPRESSION_INTEGER,     /* 0xffff_ffff               integer */
    EXPRESSION_REAL,        /* 1.5e-3                    real */
    EXPRESSION_STRING,      /* "text"                    string */
    EXPRESSION_TUPLE,       /* (a, b)                    elements, 2 or more; (a) is no node but parenthesized */
    EXPRESSION_LIST,        /* [a, b]                    elements, 1 or more */
    EXPRESSION_UNARY,       /* -a  ~a  not a             operation, left */
    EXPRESSION_BINARY,      /* a + b  a < b  a and b     operation, left, right; comparisons do not chain */
    EXPRESSION_CONDITIONAL, /* c ? a : b                 condition, left, right */
    EXPRESSION_INDEX,       /* x[i, k +: B]  T[BM, BN]   base, indexes (1 or more) */
    EXPRESSION_CALL,        /* f(x, axis = 1)  f32(x)    base, arguments (0 or more) */
    EXPRESSION_MEMBER       /* x.extent  act.relu        base, name */
};

struct ast_expression {
    enum ast_expression_kind kind;
    struct location at;          /* the whole expression */
    struct location operator_at; /* the operator, `?`, opening bracket of the suffix, or member name; else as `at` */
    int depth;                   /* of this tree: 1 for a leaf */
    int id;                      /* unique within the parse context, from 1, in order of making: keys tables of facts */
    bool parenthesized;          /* stood in ( ): only the printer and style warnings care */
    union {
        const char *name; /* NAME, MEMBER: interned (the member's own name) */
        enum ast_scalar scalar;
        struct {
            uint64_t value;
            bool too_big; /* written value is 2^64 or more; value is then UINT64_MAX */
            int base;     /* 10, 16 or 2, for the printer */
        } integer;
        struct {
            const char *text; /* digits as written, underscores taken out: exact for any target type */
            double value;     /* nearest double; infinite if the text is beyond its range */
        } real;
        struct {
            const char *data;
            size_t size;
        } string; /* escapes resolved; may hold NUL bytes; data[size] is NUL */
    };
    enum ast_operator operation;         /* UNARY, BINARY */
    struct ast_expression *condition;    /* CONDITIONAL */
    struct ast_expression *left, *right; /* UNARY (left), BINARY, CONDITIONAL */
    struct ast_expression *base;         /* INDEX, CALL, MEMBER: what stands before the suffix */
    struct ast_expression_list elements; /* TUPLE, LIST */
    struct ast_index_list indexes;       /* INDEX */
    struct ast_argument_list arguments;  /* CALL */
};

enum ast_index_kind {
    INDEX_EXPRESSION, /* i        value: an integer drops the dimension, an integer tile gathers; a type's extent */
    INDEX_SLICE,      /* i +: B   value, size */
    INDEX_ALL,        /* :        a whole compile-time extent */
    INDEX_NEW,        /* None     a new extent of 1 */
    INDEX_RANGE       /* a..b     value, end; either may be NULL (a.., ..b, ..): sub-view */
};
struct ast_index {
    enum ast_index_kind kind;
    struct location at;
    struct ast_expression *value, *size, *end;
};

struct ast_argument { /* f(x, axis = 1): name.text is NULL when given by position */
    struct location at;
    struct ast_name name;
    struct ast_expression *value;
};

/* ---- types ---------------------------------------------------------------------------------------------------- */

enum ast_type_kind {
    TYPE_NODE_SCALAR,  /* f32          scalar */
    TYPE_NODE_NAME,    /* T, act, m.s  name: a generic, an enum or a struct; module.text is set for m.s */
    TYPE_NODE_POINTER, /* *T *const T  target (SCALAR, NAME or POINTER), is_const */
    TYPE_NODE_TILE,    /* T[BM, BN]    target (never TILE or TUPLE), extents; *T[N] is N pointers: TILE of POINTER */
    TYPE_NODE_TUPLE    /* (T, f32)     members, 2 or more */
};
struct ast_type {
    enum ast_type_kind kind;
    struct location at;
    int depth;
    enum ast_scalar scalar;
    struct ast_name module, name;
    bool is_const;
    struct ast_type *target;
    struct ast_expression_list extents;
    struct ast_type_list members;
};

/* ---- compile-time domains and ranges -------------------------------------------------------------------------- */

/* a..b in loops (b excluded), a..=b in domains (b included), with `step c` or `step *c`. */
struct ast_range {
    struct location at;
    struct ast_expression *from, *to, *step; /* step NULL: 1 */
    bool inclusive, step_multiplies;
};

enum ast_domain_kind {
    DOMAIN_SET,       /* {64, 128..=256, f16}   members: EXPRESSION or RANGE, 1 or more */
    DOMAIN_RANGE,     /* 2..=7 step 2           range */
    DOMAIN_EXPRESSION /* act, bool, N, u64[n]   expression: names a type, an enum or a class of types; in grid an
                       *                        extent, in scratch a type */
};
struct ast_domain {
    enum ast_domain_kind kind;
    struct location at;
    struct ast_domain_list members;
    struct ast_range *range;
    struct ast_expression *expression;
};

struct ast_generic { /* T   T: {f16, bf16}   CAUSAL: bool */
    struct location at;
    struct ast_name name;
    struct ast_domain *domain; /* NULL: not written */
};

/* ---- parameters ----------------------------------------------------------------------------------------------- */

enum ast_direction { DIRECTION_NONE, DIRECTION_IN, DIRECTION_OUT, DIRECTION_INOUT };
struct ast_parameter {
    struct location at;
    struct ast_name name;
    enum ast_direction direction; /* NONE: by value (scalar, pointer, tile of an fn) */
    bool is_const;                /* const A: act; then type is NULL */
    bool is_restrict, is_optional, is_packed, is_strided, is_huge;
    struct ast_type *type;
    struct ast_domain *domain; /* of a const parameter, may be NULL */
};

/* ---- clauses of a kernel -------------------------------------------------------------------------------------- */

enum ast_clause_kind {
    CLAUSE_GRID,
    CLAUSE_TUNE,
    CLAUSE_CONST,
    CLAUSE_REQUIRES,
    CLAUSE_SPECIALIZE,
    CLAUSE_ALIAS,
    CLAUSE_ON,
    CLAUSE_SCRATCH
};
enum ast_item_kind {
    ITEM_EXPRESSION, /* a condition, a bare knob, a target     value */
    ITEM_ASSIGN,     /* BN = 256                               name, value */
    ITEM_DOMAIN      /* [qualifier] name: domain [= value | >= least] */
};
struct ast_item {
    enum ast_item_kind kind;
    struct location at;
    struct ast_name qualifier, name;
    struct ast_domain *domain;
    struct ast_expression *value, *least;
};
struct ast_clause { /* an unknown clause name is reported by the parser and not in the tree */
    enum ast_clause_kind kind;
    struct location at; /* the clause name */
    struct ast_item_list items;
};

/* ---- statements ----------------------------------------------------------------------------------------------- */

enum ast_statement_kind {
    STATEMENT_BLOCK,      /* { … }                       body */
    STATEMENT_LET,        /* let a, b = e;  let a: T = e; names, type (or NULL), values */
    STATEMENT_VAR,        /* as LET */
    STATEMENT_ASSIGN,     /* a, b[i] = e;   x += e;      targets, operation, values (all of the right side first) */
    STATEMENT_EXPRESSION, /* f(x);                       value: always an EXPRESSION_CALL */
    STATEMENT_IF,         /* if (c) s else s             condition, then, otherwise (or NULL) */
    STATEMENT_FOR,        /* for i in r s                names.data[0], range, is_static, then */
    STATEMENT_WHILE,      /* while (c) s                 condition, then */
    STATEMENT_BREAK,
    STATEMENT_CONTINUE,
    STATEMENT_RETURN, /* return; return a, b;        values (0 or more) */
    STATEMENT_MISSING /* stands for one with a syntax error, which was reported: names that it may have declared */
};
struct ast_statement {
    enum ast_statement_kind kind;
    struct location at; /* its first token to its last, or to the end of its first line */
    int depth;
    struct ast_statement_list body;
    struct location closing_at; /* BLOCK: its `}` */
    struct ast_name_list names;
    struct ast_type *type;
    struct ast_expression_list targets, values;
    enum ast_operator operation; /* ASSIGN: OPERATOR_NONE for `=` */
    struct location operator_at; /* ASSIGN */
    struct ast_expression *value, *condition;
    struct ast_statement *then, *otherwise;
    struct ast_range *range;
    bool is_static;
    bool is_unbalanced; /* MISSING: its braces do not match, so that others may be its echo */
};

/* ---- declarations --------------------------------------------------------------------------------------------- */

struct ast_enumerator {
    struct ast_name name;
    struct ast_expression *value; /* an integer or minus one; NULL: one more than the one before, the first is 0 */
};
struct ast_field {
    struct ast_name name;
    struct ast_type *type;
};

enum ast_declaration_kind {
    DECLARATION_IMPORT, /* import "f.tile" as m;     path, name (text NULL without `as`), imported */
    DECLARATION_CONST,  /* const N: i32 = 4;         name, type (or NULL), value */
    DECLARATION_ENUM,   /* enum act { none, relu }   name, enumerators */
    DECLARATION_STRUCT, /* struct p { eps: f32; }    name, fields */
    DECLARATION_FN,     /* fn f<T>(x: T[N]) -> T …   name, generics, parameters, result, body or value */
    DECLARATION_KERNEL, /* kernel f<…>(…) clauses {} name, generics, parameters, clauses, body */
    DECLARATION_TEST    /* test "name" { … }         path (the test's name), body */
};
struct ast_declaration {
    enum ast_declaration_kind kind;
    struct location at;       /* its name; of import and test the string */
    struct location first_at; /* its first token */
    const char *doc;          /* text of the `///` lines right above, joined by '\n'; or NULL */
    bool broken;              /* a syntax error was reported inside */
    bool clause_missing;      /* kernel: a clause had an error and is not in the tree */
    struct ast_name name;
    struct ast_generic_list generics;
    struct ast_parameter_list parameters;
    struct ast_clause_list clauses;
    struct ast_type *type, *result; /* result NULL: returns nothing, or inferred for `= expr;` */
    struct ast_statement *body;     /* a STATEMENT_BLOCK */
    struct ast_expression *value;   /* of const; of an fn written `= expr;`: then body is NULL */
    bool is_noinline, is_const;
    struct ast_enumerator_list enumerators;
    struct ast_field_list fields;
    const char *path;          /* import, test: the string, escapes resolved */
    struct ast_file *imported; /* import: the file, set by parse_program; NULL where it could not be read */
};

struct ast_file {
    const struct source *source;
    struct ast_declaration_list declarations;
    bool has_errors;           /* some diagnostic of severity error was reported while parsing this file */
    VECTOR(const char *) lost; /* names of declarations that could not be read: nothing is known of them */
    struct ast_file *next;     /* all files that parse_program read, each once */
};

/* ---- entry points --------------------------------------------------------------------------------------------- */

/* What parsing needs and keeps between files.  Set the first three; the rest starts as zero. */
struct parse_context {
    struct arena *arena;
    struct intern_table *names;
    struct diagnostics *diagnostics;
    const char *const *import_folders; /* -I, in order, after the importing file's own folder */
    int import_folder_count;
    /* Text of a file of the compiler's own library ("std/act.tile"), or NULL: asked after the folders.  May be NULL. */
    const char *(*library_text)(const char *path, size_t *size);
    void (*imported)(const char *path, void *imported_context); /* told of each file read for an import; may be NULL */
    void *imported_context;
    int last_id;            /* of expressions made so far */
    struct ast_file *files; /* all files read, in order of reading */
    bool import_missing;    /* some import could not be read, which was reported */
};

/* Parses one text.  Never NULL; errors go to the diagnostics and into has_errors.  Does not follow imports. */
struct ast_file *parse_file(struct parse_context *context, const struct source *source);

/* Parses the source and everything it imports, each file once; sets `imported` of the imports and `next` of the files.
 * Never NULL.  Files that import each other are no error: names are resolved when all are read. */
struct ast_file *parse_program(struct parse_context *context, const struct source *source);

/* Whether a file that is no source is text; else reported. */
bool parse_is_text(struct parse_context *context, const struct source *source);
/* Parses an expression that begins at the place, which is the byte `offset` of its source, and ends in front of the byte
 * `end` on the same line.  NULL: reported. */
const struct ast_expression *parse_expression(struct parse_context *context, struct location at, size_t offset,
                                              size_t end);

/* Reads a file for parsing: bytes and name in the arena.  NULL: reported at `at` (E0801, E0802). */
const struct source *parse_open(struct parse_context *context, const char *path, struct location at);

/* What an expression does with a name: f of `f(x)` is called, x of `x.extent` is asked, x of `x[i] = v` is stored, and of
 * `x[i] += v` and `atomic_add(x[i], v)` changed. */
enum ast_use { AST_USE_VALUE, AST_USE_CALLED, AST_USE_ASKED, AST_USE_STORED, AST_USE_CHANGED };
/* The first name of an expression, as the source has them, that `is` takes; NULL: none.  "@" is the name of what multiplies. */
typedef bool ast_name_test(const char *name, enum ast_use use, void *context);
const struct ast_expression *ast_find_name(const struct ast_expression *expression, ast_name_test *is, void *context);
/* The same in the statements of a function or kernel, or in the expression that it is. */
const struct ast_expression *ast_find_name_in_body(const struct ast_declaration *declaration, ast_name_test *is,
                                                   void *context);
/* n + c, n - c, c*n, n*c, with c a literal: the name n and the numbers; NULL: the expression is none of these. */
const char *ast_split_sum(const struct ast_expression *expression, int64_t *multiply, int64_t *add);
/* Writes the file in canonical form: parsing that again gives an equal tree (comments other than `///` are dropped). */
void ast_print(const struct ast_file *file, struct buffer *out);
/* One expression or type in canonical form, for messages. */
void ast_print_expression(const struct ast_expression *expression, struct buffer *out);
void ast_print_type(const struct ast_type *type, struct buffer *out);

#endif
