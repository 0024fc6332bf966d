/* What the files of the front end share: the compilation, file scopes, and the walk over one instance ("elaboration").
 *
 *   compile.c    front_compile: sources, kernels, the result        declare.c   file scopes, imports, consts, enums
 *   signature.c  parameters, extents, entries                       schedule.c  tune, on, -D, --spec
 *   instance.c   variants, facts, predicates                        domain.c    sets of compile-time values
 *   rows.c       compile-time names of a kernel's head
 *   statement.c, control.c   statements, structured control flow    expression.c, operator.c, constant.c, convert.c
 *   access.c     views, places, sub-views, parts of tiles           memory.c    load store inside atomics
 *   call.c       functions, inlined                                 builtins*.c what the language brings
 *   host.c       trees for the wrapper                              library.c   src/std, front_math_function */
#ifndef TILECC_FRONT_ELABORATE_H
#define TILECC_FRONT_ELABORATE_H
#include "front/front.h"
#include "front/values/name_table.h"
#include "front/values/value.h"

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
};
struct reported {
    enum diagnostic_code code;
    struct location at;
    struct reported *next;
};
enum { REPORTED_BUCKETS = 4096 };
struct front {
    const struct front_options *options;
    struct arena *arena;
    struct intern_table *names;
    struct diagnostics *diagnostics;
    struct parse_context parse;
    struct file_scope *files, *last_file, *standard, *main;
    VECTOR(struct unknown) unknown;              /* names that were reported */
    struct reported *reported[REPORTED_BUCKETS]; /* by place, so that instances report an error once */
    struct kernel_module *module;
    bool *used_defines;
    int host_cells; /* how many were made */
    VECTOR(const struct enumeration *) enumerations;
};

/* The text of -D or --spec as a constant: an integer, a real, true or false. */
bool define_read(const char *text, struct location at, struct value *value);
bool declare_files(struct front *front, const struct ast_file *files);
struct file_scope *declare_library(struct front *front, const char *path);
struct global *declare_find(struct front *front, struct file_scope *file, const char *name, struct global **other);
bool declare_by_author(const struct file_scope *file, const char *name);
bool declare_is_lost(const struct file_scope *file, const char *name);
/* The value of a const, a type for an enum; reports cycles. */
struct value declare_value(struct front *front, struct global *global, struct location at);
/* Spelling hint or NULL. */
const char *declare_nearest(struct front *front, struct file_scope *file, const char *name, bool only_enums);
struct global *declare_find_kernel(const struct file_scope *file, const char *name);
int spelling_distance(const char *a, const char *b, int limit);

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
    int muted, errors;    /* errors counts muted ones, too */
    bool in_map;          /* inside a region of map or reduce: no memory */
    int steps, depth;
    struct {
        const char *name;
        int dimension;
    } grid[IR_MAX_RANK];
    int grid_rank;
    struct kernel_entry *entry; /* of the kernel whose body this is, or NULL */
    struct ir_value *report;    /* where failing checks are written, or NULL */
    bool allow_sm_count;
    bool as_wrapper;                        /* of a fact: integers are i64, as where the wrapper has checked it */
    bool in_set;                            /* of a domain: names of the head have no value yet, and messages say so */
    const struct kernel_cells *host_within; /* the loop of the wrapper whose turn this is, or NULL */
    const struct kernel_expression *host_guard; /* what must hold for the wrapper to come here, or NULL */
    const struct ast_statement *assigned;       /* whose target is being looked at */
    const struct ended *ended;
};
void elaborator_init(struct elaborator *e, struct front *front, struct file_scope *file);
void elaborate_at(struct elaborator *e, struct location at); /* what is built from here on comes from there */

struct diagnostic *front_report(struct elaborator *e, enum diagnostic_code code, struct location at, const char *format,
                                ...) __attribute__((format(printf, 4, 5)));
/* E0413, of a name in an extent; false. */
bool front_report_untold(struct elaborator *e, const struct ast_expression *name);
void front_note(struct elaborator *e, struct diagnostic *diagnostic, struct location at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void front_fixit(struct elaborator *e, struct diagnostic *diagnostic, struct location at, const char *replacement);
const char *front_describe(struct elaborator *e, struct value v); /* "f32[128, 64]", "the integer 3", "a view" */
const char *front_type_text(struct elaborator *e, const struct ir_type *type);
const char *front_source(struct elaborator *e, const struct ast_expression *expression);
void front_note_shape(struct elaborator *e, struct diagnostic *diagnostic, struct value v, const char *what);
/* The notes on each extent alone; `whose`: "its" or "the expected". */
void front_note_extents(struct elaborator *e, struct diagnostic *diagnostic, const struct ir_type *type,
                        const struct origin *origin, const char *whose);
/* Fills one extent; the first makes the origin. */
void origin_add(struct elaborator *e, struct origin **origin, int dimension, const struct ast_expression *source);

/* scopes */
struct scope *scope_push(struct elaborator *e, bool is_function);
/* Names from other languages: reports what stands for an unknown name (false: none), adds to a message on a member
 * or an option. */
bool foreign_name(struct elaborator *e, const char *name, struct location at);
void foreign_member(struct elaborator *e, struct diagnostic *d, const char *name, struct location at);
void foreign_option(struct elaborator *e, struct diagnostic *d, const char *name, struct location at);
void scope_pop(struct elaborator *e);
struct binding *scope_bind(struct elaborator *e, enum binding_kind kind, struct ast_name name, struct value value);
struct binding *scope_find(struct elaborator *e, const char *name);

/* expressions */
struct value elaborate(struct elaborator *e, const struct ast_expression *expression); /* may be a place, a type, … */
struct value elaborate_value(struct elaborator *e, const struct ast_expression *expression); /* places are read */
struct value elaborate_name(struct elaborator *e, const char *name, struct location at);
struct value value_read(struct elaborator *e,
                        struct value v); /* a place is loaded; views, types and functions are errors */
/* Integer known while compiling; false: reported. */
bool elaborate_integer(struct elaborator *e, const struct ast_expression *expression, const char *what,
                       wide_integer *result);
/* `index`: one of those in `expression`, which indexes the tile `base`. */
bool elaborate_tile_index(struct elaborator *e, struct value base, const struct ast_expression *expression,
                          const struct ast_expression *index, wide_integer *result);
/* tile_note.c: how to write what `target` of the statement means to do, and what an index known only when running. */
void note_tile_assignment(struct elaborator *e, struct diagnostic *d, struct value base, const struct ast_statement *s,
                          const struct ast_expression *target);
void note_tile_element(struct elaborator *e, struct diagnostic *d, struct value base,
                       const struct ast_expression *expression, const struct ast_expression *index);
bool elaborate_extent(struct elaborator *e, const struct ast_expression *expression, int64_t *extent);

/* n + c, n - c, c*n, n*c, which bind n where it stands alone nowhere: the name and its numbers; NULL: another. */
const char *extent_split(const struct ast_expression *x, int64_t *multiply, int64_t *add);
const struct type *elaborate_type(struct elaborator *e, const struct ast_type *type); /* NULL: reported */
/* A run-time or compile-time condition: bool, presence, host; VALUE_ERROR when not. */
struct value elaborate_condition(struct elaborator *e, const struct ast_expression *expression, const char *what);
struct value elaborate_choice_condition(struct elaborator *e, const struct ast_expression *choice); /* of a `?:` */
struct value condition_not(struct elaborator *e, struct value v);

/* constants and conversions */
/* Two number constants get one kind and one type. */
bool constant_meet(struct elaborator *e, struct value *a, struct value *b);
struct value constant_binary(struct elaborator *e, enum ast_operator operation, struct value a, struct value b,
                             struct location at);
struct value constant_unary(struct elaborator *e, enum ast_operator operation, struct value a, struct location at);
bool constant_fits(wide_integer number, enum ir_element element);
void constant_warn_tuned(struct elaborator *e, struct value v); /* v becomes data */
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
/* Brings two or three values to one element and one shape.  False: reported. */
bool convert_unify(struct elaborator *e, int count, struct value *values, const char *what, struct location at);
bool convert_broadcast(struct elaborator *e, int count, struct value *values, const char *what, struct location at);
bool element_same_language(enum ir_element a, enum ir_element b); /* i64 and index are one type */
const struct ir_type *shape_like(struct elaborator *e, const struct ir_type *like, enum ir_element element);

/* operators */
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

/* views */
struct value access_index(struct elaborator *e, struct value base, const struct ast_expression *expression);
struct value access_load(struct elaborator *e, const struct place_value *place, struct value *other, struct value *mask,
                         int cache, struct location at);
void access_store(struct elaborator *e, struct value place, struct value v, struct value *mask, int cache,
                  struct location at);
struct value access_view_member(struct elaborator *e, const struct view_value *view, bool stride, struct value index,
                                struct location at);
struct value tile_index(struct elaborator *e, struct value base, const struct ast_expression *expression);

/* calls */
struct value call_function(struct elaborator *e, struct global *function, const struct ast_expression *call);
struct value call_with_values(struct elaborator *e, struct global *function, int count, struct value *arguments,
                              struct location at);
/* With --checks: reports where the condition, known only when running, does not hold. */
void check_build(struct elaborator *e, struct value condition, const char *text, struct location at);
struct value call_builtin(struct elaborator *e, const struct builtin *builtin, const struct ast_expression *call);
const struct builtin *builtin_find(const char *name);
const char *builtin_nearest(const char *name, int *distance);

/* statements; run returns when the rest is dead */
void elaborate_block(struct elaborator *e, const struct ast_statement_list *list, int from);
void elaborate_statement(struct elaborator *e, const struct ast_statement *statement);
void assign_to_binding(struct elaborator *e, struct binding *binding, struct value value, struct location at);

/* control.c: regions built apart, then joined */
struct carried {
    struct binding **data;
    int count, capacity;
};
struct ir_block *region_begin(struct elaborator *e, struct ir_block **saved);
/* When a function is complete: drops uses by blocks that were begun and not attached. */
void region_forget_abandoned(struct ir_function *function);
void region_end(struct elaborator *e, struct ir_block *saved);
void region_splice(struct elaborator *e, struct ir_block *block); /* moves its operations to the current point */
void carried_scan(struct elaborator *e, struct carried *carried, const struct ast_statement *statement);
void carried_scan_list(struct elaborator *e, struct carried *carried, const struct ast_statement_list *list, int from);
void carried_add(struct elaborator *e, struct carried *carried, struct binding *binding);
void control_if(struct elaborator *e, const struct ast_statement *statement, const struct ast_statement_list *rest,
                int from);
void control_guard(struct elaborator *e, struct value keep, const struct ast_statement_list *rest, int from);
void control_for(struct elaborator *e, const struct ast_statement *statement);
void control_while(struct elaborator *e, const struct ast_statement *statement);
struct value control_conditional(struct elaborator *e, const struct ast_expression *expression);
struct value control_logical(struct elaborator *e, const struct ast_expression *expression);
struct binding *control_guard_flag(struct elaborator *e);
void control_jump(struct elaborator *e, const struct ast_statement *statement);

/* ---- kernels ---- */

struct domain {
    struct value *data;
    int count, capacity;
};
bool domain_evaluate(struct elaborator *e, const struct ast_domain *domain, const char *what, struct domain *out);
bool domain_has(const struct domain *domain, struct value v);
bool domain_evaluate_class(struct elaborator *e, const struct ast_domain *domain, struct domain *out);

struct knob { /* of tune */
    const char *name;
    struct location at;
    const struct ast_item *item;
    bool known; /* warps, stages, …: not a tile extent */
};
struct tuning {
    struct knob *data;
    int count, capacity;
};
void schedule_declare(struct elaborator *e, const struct ast_declaration *kernel, struct tuning *tuning);
/* --spec 'softmax<f16>[B=1024, warps=4] aligned' */
struct spec_item {
    const char *name, *value;
};
struct spec {
    const char *text;
    const char *kernel;
    VECTOR(const char *) types;
    VECTOR(struct spec_item) items;
    const char *facts; /* "aligned", or "sm_80 aligned" as labels have it; empty: all */
    bool used;
    struct spec *next;
};
bool spec_parse(struct front *front, struct spec **specs);
/* What the spec, else -D, says a name is, as text (NULL: nothing) and as a number or bool (false: nothing such). */
const char *spec_text(struct front *front, const struct spec *spec, const char *name);
bool spec_value(struct front *front, const struct spec *spec, const char *name, struct value *value);
bool spec_has(const struct spec *spec, const char *name); /* by --spec, and not by -D */
/* To what -D gives this kernel in vain: where another has the name, too, how to ask for one alone. */
void spec_note_define(struct front *front, struct diagnostic *d, const struct ast_declaration *kernel,
                      const char *name);
bool spec_has_facts(const struct spec *spec, const char *label); /* the label ends with them, or none are asked for */
bool spec_means(const char *text, struct value member);          /* the member of a set that the text asks for */
/* Values for all knobs in order, bound in the current scope; false: reported.  among: of a name of the schedule that has
 * no value (0), the members that the compiler chooses from, a bit each, or 0: all. */
bool schedule_choose(struct elaborator *e, const struct ast_declaration *kernel, const struct tuning *tuning,
                     const char *target, const struct spec *spec, struct value *values, uint64_t *among);

struct front *front_open(const struct front_options *options);
const char *library_text(const char *path, size_t *size);
void kernel_compile(struct front *front, struct global *kernel, struct spec *specs);
#endif
