/* Elements in other places. */
#include "core.h"

static int64_t place(const struct judge_tensor *t, const int64_t *at)
{
    int64_t i = 0;
    for (int d = 0; d < t->rank; d++)
        i = i * t->extent[d] + at[d];
    return i;
}

/* The same elements in the same order. */
WANT(same) { return exactly(judge_exact(c, 0, place(&c->tensors[c->tensor_count - 1], at))); }
WANT(broadcast) { return exactly(operand(c, 0, at)); }
WANT(iota) { return exactly(at[0]); }
WANT(zeros) { return exactly(0); }

WANT(trans)
{
    int64_t from[JUDGE_RANK] = {0};
    int rank = c->tensors[0].rank;
    for (int d = 0; d < rank; d++)
        from[d] = at[d < rank - 2 ? d : 2 * rank - 3 - d];
    return exactly(at_index(c, 0, from));
}

/* Dimension d of the result is dimension p, q, s or u of the input. */
WANT(permute)
{
    static const char *const names[] = {"p", "q", "s", "u"};
    int64_t from[JUDGE_RANK] = {0};
    for (int d = 0; d < c->tensors[0].rank; d++)
        from[judge_size(c, names[d])] = at[d];
    return exactly(at_index(c, 0, from));
}

WANT(join) { return exactly(at_index(c, (int)at[c->tensors[0].rank], at)); }
WANT(split) { return exactly(AT(c, 0, at[0], 1)); }

WANT(interleave)
{
    int64_t from[JUDGE_RANK] = {0};
    int last = c->tensors[0].rank - 1;
    for (int d = 0; d <= last; d++)
        from[d] = d == last ? at[d] / 2 : at[d];
    return exactly(at_index(c, (int)(at[last] % 2), from));
}

/* Input t where the index along dimension a is `index`. */
static struct judge_value along(const struct judge_case *c, int t, const int64_t *at, int64_t index)
{
    int64_t from[JUDGE_RANK] = {0};
    for (int d = 0; d < c->tensors[t].rank; d++)
        from[d] = d == judge_size(c, "a") ? index : at[d];
    return exactly(at_index(c, t, from));
}

WANT(cat)
{
    int64_t axis = judge_size(c, "a"), first = c->tensors[0].extent[axis];
    return at[axis] < first ? along(c, 0, at, at[axis]) : along(c, 1, at, at[axis] - first);
}

WANT(flip)
{
    int64_t axis = judge_size(c, "a");
    return along(c, 0, at, c->tensors[0].extent[axis] - 1 - at[axis]);
}

WANT(gather) { return along(c, 0, at, (int64_t)at_index(c, 1, at)); }
WANT(element) { return exactly(AT(c, 0, judge_size(c, "i") + at[0])); }
WANT(part) { return exactly(AT(c, 0, judge_size(c, "i") + at[0])); }

#include "shapes_rows.h"
