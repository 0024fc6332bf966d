/* The walk over an instance: names of files, expressions, statements and calls become values and IR.  Reports what is
 * wrong and goes on. */
#ifndef TILECC_FRONT_WALK_H
#define TILECC_FRONT_WALK_H
#include "front/values/elaborate.h"

/* file scopes */
bool declare_files(struct front *front, const struct ast_file *files);
struct global *declare_find(struct front *front, struct file_scope *file, const char *name, struct global **other);
bool declare_by_author(const struct file_scope *file, const char *name);
bool declare_is_lost(const struct file_scope *file, const char *name);
/* The value of a const, a type for an enum or a struct; reports cycles. */
struct value declare_value(struct front *front, struct global *global, struct location at);
/* Spelling hint or NULL. */
const char *declare_nearest(struct front *front, struct file_scope *file, const char *name, bool only_types);
struct global *declare_find_kernel(const struct file_scope *file, const char *name);
int spelling_distance(const char *a, const char *b, int limit);
/* Of the members of one type, of which less must agree than of all names: the one most like `name`, or NULL. */
const char *spelling_nearest(const char *name, const char *const *names, int count);

/* structs (structure.c) */
struct value structure_declare(struct front *front, struct global *global); /* its type */
struct value structure_construct(struct elaborator *e, const struct structure *structure,
                                 const struct ast_expression *call);
struct value structure_member(struct elaborator *e, struct value base, const struct ast_expression *member);
/* The member that `p.name` names; -1: reported. */
int structure_find(struct elaborator *e, const struct structure *structure, const struct ast_expression *member);
struct value structure_copy(struct elaborator *e, struct value v);   /* with members of its own */
struct value structure_settle(struct elaborator *e, struct value v); /* as a variable holds it */

/* sets of compile-time values */
struct domain {
    struct value *data;
    int count, capacity;
};
bool domain_evaluate(struct elaborator *e, const struct ast_domain *domain, const char *what, struct domain *out);
bool domain_has(const struct domain *domain, struct value v);
bool domain_evaluate_class(struct elaborator *e, const struct ast_domain *domain, struct domain *out);

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
/* What to write for a call that touches memory, of a value instead: `v` is its first argument. */
void note_value_touch(struct elaborator *e, struct diagnostic *d, struct value v, const struct ast_expression *call);
bool elaborate_extent(struct elaborator *e, const struct ast_expression *expression, int64_t *extent);
/* origin_add of an extent of a tile, with whether a `tune` value is in it. */
void origin_add_extent(struct elaborator *e, struct origin **origin, int dimension,
                       const struct ast_expression *source);
const struct type *elaborate_type(struct elaborator *e, const struct ast_type *type); /* NULL: reported */
/* A run-time or compile-time condition: bool, presence, host; VALUE_ERROR when not. */
struct value elaborate_condition(struct elaborator *e, const struct ast_expression *expression, const char *what);
struct value elaborate_choice_condition(struct elaborator *e, const struct ast_expression *choice); /* of a `?:` */
struct value condition_not(struct elaborator *e, struct value v);

/* views */
struct value access_index(struct elaborator *e, struct value base, const struct ast_expression *expression);
struct value access_load(struct elaborator *e, const struct place_value *place, struct value *other, struct value *mask,
                         int cache, struct location at);
void access_store(struct elaborator *e, struct value place, struct value v, struct value *mask, int cache,
                  struct location at);
struct value access_inside(struct elaborator *e, const struct place_value *place, struct location at);
struct value access_view_member(struct elaborator *e, const struct view_value *view, bool stride, struct value index,
                                struct location at);
struct value tile_index(struct elaborator *e, struct value base, const struct ast_expression *expression);

/* views of 4-bit elements */
/* `i4` or `u4`, where the source declares nothing of that name, or a generic that is one: the element that a load of it
 * gives. */
bool nibbles_type(struct elaborator *e, const struct ast_type *node, enum ir_element *element);
/* A member of a set, or what a type is compared with: the value of the expression, which may be `i4` or `u4`. */
struct value nibbles_elaborate(struct elaborator *e, const struct ast_expression *expression);
bool nibbles_is_even(const struct elaborator *e, const struct ir_value *v);
/* Makes a place of elements one of bytes; false: reported. */
bool nibbles_place(struct elaborator *e, struct place_value *place, struct location at);
/* The same for the part that a sub-view takes of the last dimension. */
bool nibbles_bounds(struct elaborator *e, const struct view_value *view, const struct ast_index *item,
                    struct ir_value **start, struct ir_value **stop);
struct value nibbles_inside(struct elaborator *e, const struct place_value *place, struct location at);
struct value nibbles_load(struct elaborator *e, const struct place_value *place, struct value *other,
                          struct value *mask, int cache, struct location at);
void nibbles_store(struct elaborator *e, const struct value *target, struct value v, const struct value *mask,
                   int cache, struct location at);

/* calls */
struct value call_function(struct elaborator *e, struct global *function, const struct ast_expression *call);
struct value call_with_values(struct elaborator *e, struct global *function, int count, struct value *arguments,
                              struct location at);

/* checks when running */
/* Whether one can be made here: not inside a function that is applied element by element. */
bool check_is_possible(const struct elaborator *e);
/* Reports where the scalar condition does not hold.  `text` as kernel.h has it; `values`: what stores those in it, or
 * NULL. */
void check_demand(struct elaborator *e, struct ir_value *condition, const char *text, struct ir_block *values,
                  struct location at);
const char *check_text(struct elaborator *e, const char *text); /* plain text as such a one */
/* With --checks, of a condition that is known only when running: the same. */
void check_build(struct elaborator *e, struct value condition, const char *text, struct location at);

/* With --checks: whether the elements that pointers reach, where the mask (or NULL) lets them, lie in the allocation that
 * the host knows of the argument that they come from.  `text` names the access; gives the mask without those that do not. */
struct ir_value *check_pointers(struct elaborator *e, struct ir_value *pointers, struct ir_value *mask,
                                const char *text, struct location at);
/* The same of all that a view behind a pointer has, whose extents become 0 where it reaches further. */
void check_made_view(struct elaborator *e, struct ir_value *pointer, int rank, struct ir_value **extent,
                     struct ir_value *const *stride, const char *text, struct location at);

/* statements; run returns when the rest is dead */
void elaborate_block(struct elaborator *e, const struct ast_statement_list *list, int from);
void elaborate_statement(struct elaborator *e, const struct ast_statement *statement);
void assign_to_binding(struct elaborator *e, struct binding *binding, struct value value, struct location at);

/* regions built apart, then joined */
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
#endif
