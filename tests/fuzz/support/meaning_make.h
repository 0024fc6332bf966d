/* What meaning_make.c (expressions) and meaning_body.c (statements, declarations) share. */
#ifndef TILECC_FUZZ_MEANING_MAKE_H
#define TILECC_FUZZ_MEANING_MAKE_H
#include "meaning.h"

struct meaning_variable {
    const char *name;
    int slot;
    enum ir_element element;
    struct meaning_shape shape;
    bool assignable, constant, hidden;
    const struct meaning_struct *structure; /* it is a member of one, and this one is its number `member` */
    int member;
    const char *whole; /* name of that struct */
};
struct meaning_scope {
    int variable_count, view_count;
    struct meaning_variable variables[MEANING_SLOTS];
    int views[MEANING_VIEWS]; /* numbers of those that have a name here */
};
struct maker {
    struct meaning *m;
    struct random *random;
    struct arena *arena;
    struct meaning_scope scope;
    enum ir_element palette[4];
    bool host;                /* i64 and bool as the wrapper computes them */
    bool in_function, memory; /* memory: views may be read */
    const struct meaning_function *function;
    int depth, block; /* of statements; the first variable of the innermost block */
    bool in_loop;     /* `break` may stand here */
    int names;
    int reads; /* that the current one is an index of */
    bool for_code;
};
struct meaning_node *meaning_make_expression(struct maker *k, enum ir_element element, struct meaning_shape shape,
                                             int depth);
struct meaning_node *meaning_make_literal(struct maker *k, enum ir_element element);
struct meaning_node *meaning_make_number(struct maker *k, int64_t value); /* i64, as it stands */
struct meaning_node *meaning_make_node(struct maker *k, enum meaning_kind kind, enum ir_element element,
                                       struct meaning_shape shape, struct meaning_node *a, struct meaning_node *b,
                                       struct meaning_node *c);
struct meaning_node *meaning_make_variable(struct maker *k, const struct meaning_variable *variable);
struct meaning_node *meaning_make_small(struct maker *k, int low, int high); /* an i64 between these, often computed */
/* A place of this shape in some view, NULL where there is none; to be written: no element twice. */
struct meaning_place *meaning_make_place(struct maker *k, int view, struct meaning_shape shape, bool written);
struct meaning_node *meaning_make_extent(struct maker *k, int view, int dimension);
struct meaning_shape meaning_make_shape(struct maker *k);
enum ir_element meaning_make_element(struct maker *k); /* a number */
enum ir_element meaning_sum_element(enum ir_element element);
const char *meaning_make_name(struct maker *k, const char *prefix);
/* What can stand where it is stretched to this shape. */
struct meaning_shape meaning_make_part_shape(struct maker *k, struct meaning_shape shape);
/* What moves elements along an axis, sorts, counts and scans: meaning_move.c; NULL where nothing fits. */
struct meaning_node *meaning_make_move(struct maker *k, enum ir_element element, struct meaning_shape shape, int depth);
/* Structs, prints and assertions: meaning_struct.c; nothing where none fits. */
void meaning_make_structs(struct maker *k);
void meaning_declare_struct(struct maker *k, struct meaning_body *body);
void meaning_copy_struct(struct maker *k, struct meaning_body *body);
void meaning_say(struct maker *k, struct meaning_body *body);
struct meaning_node *meaning_make_same(struct maker *k);
struct meaning_statement *meaning_add(struct maker *k, struct meaning_body *body, enum meaning_statement_kind kind);
#endif
