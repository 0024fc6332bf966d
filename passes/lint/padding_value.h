/* What a scalar, or each element of a tile in one part of it, is known to be: a number, one scalar of a reduction's own
 * part, a position that grows along the axis, a copy of an element that is inside, or nothing but bounds.  Numbers are doubles: what they are asked is whether they
 * are neutral. */
#ifndef TILECC_PADDING_VALUE_H
#define TILECC_PADDING_VALUE_H
#include "ir/ir.h"

enum known_kind { KNOWN_NOTHING, KNOWN_NUMBER, KNOWN_LEFT, KNOWN_POSITION, KNOWN_COPY };
struct known {
    enum known_kind kind;
    int left; /* KNOWN_LEFT: which scalar of the part that lies inside: the left one, from the end the right one */
    double low,
        high; /* bounds of the value, NaN apart; of a number: the number.  A position: low is 1 or -1, its sign */
};

struct known known_number(double number);
struct known known_nothing(enum ir_element element); /* between the least and the greatest of its type */
struct known known_between(double low, double high);
bool known_same(struct known a, struct known b);
bool known_is(struct known known, double number);
struct known known_join(struct known a, struct known b);
/* An operation on scalars, of one result. */
struct known known_compute(const struct ir_operation *op, const struct known *operand);
/* A region on scalars: from its arguments to what it yields; `of`: room for all values of the function.  False: there is
 * more in it than scalars. */
bool known_compute_region(struct known *of, const struct ir_block *body, const struct known *arguments,
                          struct known *results);
/* What `kind` makes of any number of elements. */
struct known known_reduce(enum ir_reduce_kind kind, struct known element);
/* Whether an element like that changes nothing, where all others lie between `all`'s bounds. */
bool known_is_neutral(enum ir_reduce_kind kind, struct known element, struct known all);
/* What a position counts as, where it stands as a value and not in a comparison. */
struct known known_as_value(struct known known, enum ir_element element);
#endif
