/* The state that the files of the front end share: the compilation, and the walk over one instance ("elaboration"), with
 * the functions on values that the walk calls.  The rooms of the front end, each of which knows only those before it:
 *
 *   syntax/    from text to tree, with grammar/
 *   values/    elaborator.c  how a walk begins; scopes     value.c, constant.c, convert.c, operator.c   values
 *              host.c        trees for the wrapper         report.c, foreign.c                          errors
 *   walk/      declare.c     files, consts, enums          domain.c      sets of compile-time values
 *              expression.c, statement.c                   control.c, loop.c, join.c, host_loop.c       regions
 *              access.c      views, places, sub-views      call.c        functions, inlined
 *              check.c, check_pointer.c   checks when running
 *              tile_note.c   what is said of parts of tiles
 *   builtins/  the functions that the language brings; the walk reaches them through struct builtin_functions
 *   kernels/   kernel.c      entries and instances         signature.c   parameters, extents, keys
 *              rows.c        names of a kernel's head      instance.c    variants, facts, predicates
 *              knobs.c       tune, on                      spec.c        -D, --spec
 *              schedules.c   those of an instance          kernel_body.c the IR function of a variant
 *              tuning_file.c --tuning
 *              split_k.c     its rule                      split_body.c  what it makes of a body
 *   ./         compile.c     front_compile                 math_function.c  front_math_function
 *              open.c        src/std and the builtins, for both */
#ifndef TILECC_FRONT_ELABORATE_H
#define TILECC_FRONT_ELABORATE_H
#include "front/front.h"
#include "front/values/name_table.h"
#include "front/values/value.h"

struct elaborator;

/* ---- one compilation ---- */

enum global_state { GLOBAL_WAITING, GLOBAL_RESOLVING, GLOBAL_DONE };
struct global { /* a declaration with a name */
    const char *name;
    const struct ast_declaration *declaration;
    struct file_scope *file;
    enum global_state state;
    struct value value; /* CONST, ENUM */
    const struct enumeration *enumeration;
    struct global *next;
    bool broken_head; /* a name stands twice in it, or a view has no extents: reported */
};
struct file_scope {
    const struct ast_file *file;
    struct global *first, *last;
    struct name_table names;            /* of those */
    VECTOR(struct file_scope *) opened; /* imports without `as` */
    VECTOR(struct {
        const char *name;
        struct file_scope *scope;
    })
    modules;
    struct file_scope *next;
};
struct unknown {
    const char *name;
    const struct ast_declaration *within;
    int line, column;
    struct diagnostic *told; /* its fix-it is for the uses behind it, too */
};
struct reported {
    enum diagnostic_code code;
    struct location at;
    struct reported *next;
};
/* The functions that the language brings, as the walk asks for them: it calls them, and they call it. */
struct builtin_functions {
    const struct builtin *(*find)(const char *name); /* NULL: there is none of that name */
    /* one that is nearer than *distance and is not `but`, or NULL */
    const char *(*nearest)(const char *name, const char *but, int *distance);
    struct value (*call)(struct elaborator *e, const struct builtin *builtin, const struct ast_expression *call);
};
enum { REPORTED_BUCKETS = 4096 };
struct front {
    const struct front_options *options;
    const struct builtin_functions *builtins;
    struct arena *arena;
    struct intern_table *names;
    struct diagnostics *diagnostics;
    struct parse_context parse;
    struct file_scope *files, *last_file, *standard, *main;
    VECTOR(struct unknown) unknown;              /* names that were reported */
    struct reported *reported[REPORTED_BUCKETS]; /* by place, so that instances report an error once */
    struct kernel_module *module;
    bool *used_defines;
    int host_cells;      /* how many were made */
    bool leaves_asserts; /* there are some in kernels, and they are not checked */
    VECTOR(const struct enumeration *) enumerations;
};

/* ---- one walk ---- */

enum binding_kind {
    BINDING_LET,
    BINDING_VAR,
    BINDING_PARAMETER,
    BINDING_EXTENT,
    BINDING_GRID,
    BINDING_RANGE,
    BINDING_GENERIC,
    BINDING_TUNE
};
struct binding {
    const char *name;
    enum binding_kind kind;
    struct value value;
    struct location at;
    const struct ast_expression *number; /* a `var` whose type nothing but this number tells; NULL: others */
    bool refused;                        /* its type was wrong, and that is said */
    struct binding *next;
};
struct scope {
    struct scope *parent;
    struct binding *first;
    struct name_table names; /* of those: the last of each name */
    bool is_function;
};
struct ended {
    const struct scope *scope;
    const struct ended *before;
}; /* blocks that ended, the last one first */

/* Jumps become flags: `skip` ends this turn of the loop, `broken` the loop, `returned` the function.  Each is a bool
 * binding, constant while it is known. */
struct loop {
    struct loop *parent;
    struct binding skip, broken;
};
struct frame {
    struct frame *parent;
    const struct ast_declaration *declaration; /* NULL outside functions */
    struct file_scope *file;
    struct loop *loop;
    struct binding returned, result;
    const struct type *result_type; /* declared, or NULL */
    bool lifted;                    /* a function over scalars that is applied to tiles */
    struct location call_at;
    const struct inlined_call *call; /* what brings this frame's operations; NULL in a kernel's own body */
};
struct elaborator {
    struct front *front;
    struct arena *arena;
    struct ir_context *context;
    struct ir_function *function; /* NULL: nothing can be built (host, domains, consts) */
    struct ir_builder builder;
    struct scope *scope;
    struct frame *frame;
    struct file_scope *file;
    const char *instance; /* label for notes, or NULL */
    const char *target;   /* that the function is for: "cpu", "sm_90a"; NULL: none */
    int muted, errors;    /* errors counts muted ones, too */
    bool asks_shape;      /* what is elaborated is only asked for its type: functions of the source are not entered */
    bool in_map;          /* inside a region of map or reduce: no memory */
    int steps, depth;
    struct {
        const char *name;
        int dimension;
    } grid[IR_MAX_RANK];
    int grid_rank;
    struct kernel_entry *entry;     /* of the kernel whose body this is, or NULL */
    struct ir_value *report;        /* where failing checks are written, or NULL */
    struct kernel_variant *variant; /* that this is the body of, or NULL */
    bool allow_sm_count;
    bool as_wrapper;                        /* of a fact: integers are i64, as where the wrapper has checked it */
    bool in_set;                            /* of a domain: names of the head have no value yet, and messages say so */
    const struct kernel_cells *host_within; /* the loop of the wrapper whose turn this is, or NULL */
    const struct kernel_expression *host_guard; /* what must hold for the wrapper to come here, or NULL */
    const struct ast_statement *assigned;       /* whose target is being looked at */
    const struct ast_expression *touching;      /* the call of a built-in function whose argument is being looked at */
    const struct ended *ended;
    VECTOR(const struct ir_value *) even; /* variables of loops that are even numbers */
};
void elaborator_init(struct elaborator *e, struct front *front, struct file_scope *file);
void elaborate_at(struct elaborator *e, struct location at); /* what is built from here on comes from there */

struct diagnostic *front_report(struct elaborator *e, enum diagnostic_code code, struct location at, const char *format,
                                ...) __attribute__((format(printf, 4, 5)));
/* E0413, of a name in an extent; false. */
bool front_report_untold(struct elaborator *e, const struct ast_expression *name);
void front_note(struct elaborator *e, struct diagnostic *diagnostic, struct location at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void front_fixit(struct elaborator *e, struct diagnostic *diagnostic, struct location at, enum fixit_grade grade,
                 const char *replacement);
const char *front_describe(struct elaborator *e, struct value v); /* "f32[128, 64]", "the integer 3", "a view" */
const char *front_type_text(struct elaborator *e, const struct ir_type *type);
const char *front_source(struct elaborator *e, const struct ast_expression *expression);
void front_note_shape(struct elaborator *e, struct diagnostic *diagnostic, struct value v, const char *what);
/* Of two values whose shapes do not fit: where the extent comes from that is wrong; -1, or nobody knows: what it is. */
void front_note_side(struct elaborator *e, struct diagnostic *diagnostic, struct value v, const char *what,
                     int dimension);
/* The notes on each extent alone; `whose`: "its" or "the expected". */
void front_note_extents(struct elaborator *e, struct diagnostic *diagnostic, const struct ir_type *type,
                        const struct origin *origin, const char *whose);
/* Fills one extent; the first makes the origin. */
void origin_add(struct elaborator *e, struct origin **origin, int dimension, const struct ast_expression *source);

/* scopes */
struct scope *scope_push(struct elaborator *e, bool is_function);
/* Names from other languages: reports what stands for an unknown name (false: none), of which it is not certain where a
 * declared one is near; adds to a message on a member or an option. */
bool foreign_name(struct elaborator *e, const char *name, struct location at, bool is_near_another);
/* Whether `tl` of `tl.load` is a module of Python; what stands for a name of one (false: nothing is known of it), which
 * may be the language's own. */
bool foreign_is_module(const char *name);
bool foreign_of_module(struct elaborator *e, const char *module, const char *name, struct location at, bool is_own);
const char *foreign_type(const char *name); /* "f32" of float32, others as they are */
void foreign_member(struct elaborator *e, struct diagnostic *d, const char *name, struct location at);
void foreign_option(struct elaborator *e, struct diagnostic *d, const char *name, struct location at);
void scope_pop(struct elaborator *e);
struct binding *scope_bind(struct elaborator *e, enum binding_kind kind, struct ast_name name, struct value value);
struct binding *scope_find(struct elaborator *e, const char *name);

/* constants and conversions */
/* Two number constants get one kind and one type. */
bool constant_meet(struct elaborator *e, struct value *a, struct value *b);
struct value constant_binary(struct elaborator *e, enum ast_operator operation, struct value a, struct value b,
                             struct location at);
struct value constant_unary(struct elaborator *e, enum ast_operator operation, struct value a, struct location at);
void constant_warn_tuned(struct elaborator *e, struct value v); /* v becomes data */
/* The text of -D or --spec: an integer, a real, true or false. */
bool constant_read(const char *text, struct location at, struct value *value);
struct value constant_to_element(struct elaborator *e, struct value v, enum ir_element element, bool convert);
/* As an IR scalar: an adapting integer becomes index, a real f32, an enum i32. */
struct value value_materialize(struct elaborator *e, struct value v);
/* As a value of exactly this element (and rank-0 or its own shape) by the implicit rules; NULL: reported. */
struct ir_value *convert_to_element(struct elaborator *e, struct value v, enum ir_element element, const char *what);
/* As exactly this type: implicit conversion, then broadcast where allowed.  NULL: reported. */
struct ir_value *convert_to_type(struct elaborator *e, struct value v, const struct ir_type *type, bool stretch,
                                 const char *what);
/* `origin`: where the type's extents come from, for the message; or NULL. */
struct ir_value *convert_to_type_from(struct elaborator *e, struct value v, const struct ir_type *type,
                                      const struct origin *origin, bool stretch, const char *what);
/* For a store or an atomic: integers do not widen there. */
struct ir_value *convert_to_memory(struct elaborator *e, struct value v, const struct ir_type *type,
                                   const struct origin *origin, const char *what);
struct value convert_explicit(struct elaborator *e, struct value v, enum ir_element element, int round, int saturate,
                              struct location at);
struct value convert_construct(struct elaborator *e, const struct type *type, struct value v, struct location at);
struct ir_value *convert_to_index(struct elaborator *e, struct value v,
                                  const char *what); /* a scalar of element index */
/* Brings values to one element, and to one shape.  False: reported. */
bool convert_unify_elements(struct elaborator *e, int count, struct value *values, const char *what,
                            struct location at);
bool convert_unify(struct elaborator *e, int count, struct value *values, const char *what, struct location at);
bool convert_broadcast(struct elaborator *e, int count, struct value *values, const char *what, struct location at);
bool convert_common_element(struct elaborator *e, int count, struct value *values, const char *what, struct location at,
                            enum ir_element *element);
bool element_same_language(enum ir_element a, enum ir_element b); /* i64 and index are one type */
const struct ir_type *shape_like(struct elaborator *e, const struct ir_type *like, enum ir_element element);

/* operators */
enum ir_opcode operator_opcode(enum ast_operator operation); /* of arithmetic; OP_COUNT: none does it */
int operator_predicate(enum ast_operator operation);         /* of a comparison, else -1 */
struct value operate_binary(struct elaborator *e, enum ast_operator operation, struct value a, struct value b,
                            struct location at);
struct value operate_unary(struct elaborator *e, enum ast_operator operation, struct value a, struct location at);
struct value operate_dot(struct elaborator *e, struct value a, struct value b, struct value *accumulator, int precision,
                         int promote, struct location at);

/* host trees */
struct value host_make(struct elaborator *e, enum kernel_host_op op, int64_t number, int dimension,
                       enum ir_element element, struct location at);
struct value host_operate(struct elaborator *e, enum kernel_host_op op, enum ir_element element, int count,
                          struct value *operands, struct location at);
struct value host_binary(struct elaborator *e, enum ast_operator operation, struct value a, struct value b,
                         struct location at);
/* The element as the wrapper computes it: I64, BOOL, F64; COUNT: nothing that it knows. */
enum ir_element host_element(struct value v);
/* In a function: a large tree goes to a cell, so that a value used twice is computed once. */
struct value host_keep(struct elaborator *e, struct value v);
/* New cells that run where the elaboration stands, under its guard; the caller gives each its first value. */
struct kernel_cells *host_cells(struct elaborator *e, int count);
/* From here on the condition holds (or does not).  Gives what to restore. */
const struct kernel_expression *host_guard_enter(struct elaborator *e, struct value condition, bool holds);
/* Constant or host value as a tree of element I64 or BOOL; NULL: reported. */
const struct kernel_expression *host_tree(struct elaborator *e, struct value v, enum ir_element element,
                                          const struct ast_expression *source);

#endif
