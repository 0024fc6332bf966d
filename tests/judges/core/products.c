/* Products: of an error it counts how large what was added up is. */
#include "core.h"

static void add(struct judge_value *r, long double x, long double y) { r->value += x * y, r->size += fabsl(x * y); }

/* Element [m, n] of a product of inputs 0 and 1, which may be turned. */
static struct judge_value product(const struct judge_case *c, int64_t m, int64_t n, bool left, bool right)
{
    struct judge_value r = {0, 0};
    for (int64_t k = 0; k < c->tensors[0].extent[!left]; k++)
        add(&r, left ? AT(c, 0, k, m) : AT(c, 0, m, k), right ? AT(c, 1, n, k) : AT(c, 1, k, n));
    return r;
}

WANT(plain) { return product(c, at[0], at[1], false, false); }
WANT(left) { return product(c, at[0], at[1], true, false); }
WANT(right) { return product(c, at[0], at[1], false, true); }
WANT(both) { return product(c, at[0], at[1], true, true); }
WANT(turned) { return product(c, at[1], at[0], false, false); }

WANT(matrix)
{
    struct judge_value r = product(c, at[0], at[1], false, false);
    add(&r, operand(c, 2, at), 1);
    return r;
}

WANT(softmax)
{
    long double sum = 0, own = product(c, at[0], at[1], false, false).value;
    for (int64_t n = 0; n < c->tensors[1].extent[1]; n++)
        sum += expl(product(c, at[0], n, false, false).value - own);
    return (struct judge_value){1 / sum, 1 / sum};
}

WANT(chain)
{
    struct judge_value r = {0, 0};
    for (int64_t n = 0; n < c->tensors[2].extent[0]; n++)
        add(&r, product(c, at[0], n, false, false).value, AT(c, 2, n, at[1]));
    return r;
}

WANT(batch)
{
    struct judge_value r = {0, 0};
    for (int64_t k = 0; k < c->tensors[0].extent[2]; k++)
        add(&r, AT(c, 0, at[0], at[1], k), AT(c, 1, at[0], k, at[2]));
    return r;
}

#include "products_rows.h"
