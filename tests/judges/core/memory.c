/* Loads and stores. */
#include "core.h"

WANT(copy) { return exactly(at_index(c, 0, at)); }
WANT(plane) { return exactly(at_index(c, 0, at)); }
WANT(across) { return exactly(AT(c, 0, at[1], at[0])); }
WANT(shifted) { return exactly(AT(c, 0, at[0] + judge_size(c, "o"))); }
WANT(before) { return exactly(AT(c, 0, at[0] - judge_size(c, "o"))); }
WANT(cached) { return exactly(AT(c, 0, at[0])); }
WANT(constant) { return exactly(5); }
WANT(column) { return exactly(AT(c, 0, at[0], judge_size(c, "k"))); }
WANT(row) { return exactly(AT(c, 0, judge_size(c, "k"), at[0])); }
WANT(strided) { return exactly(AT(c, 0, judge_size(c, "k") * at[0])); }
WANT(splitdim) { return exactly(AT(c, 0, 4 * at[0] + at[1])); }
WANT(mergedims) { return exactly(at[0] < 24 ? AT(c, 0, at[0] / 6, at[0] % 6) : 0); }

static bool is_inside(const struct judge_case *c, int64_t i) { return i >= 0 && i < c->tensors[0].extent[0]; }

WANT(other)
{
    int64_t i = at[0] + judge_size(c, "o");
    return exactly(is_inside(c, i) ? AT(c, 0, i) : 7);
}

WANT(masked)
{
    int64_t i = at[0] + judge_size(c, "o");
    return exactly(is_inside(c, i) && AT(c, 1, at[0]) != 0 ? AT(c, 0, i) : judge_size_or(c, "z", 3));
}

WANT(inside)
{
    int64_t o = judge_size(c, "o");
    return exactly(is_inside(c, at[0] + (judge_size_or(c, "k", 0) ? -o : o)));
}

WANT(kept) { return exactly(AT(c, 1, at[0]) != 0 ? AT(c, 0, at[0]) : AT(c, 2, at[0])); }

/* By an index tile or two, which stand for the first dimensions. */
WANT(indirect)
{
    int64_t from[JUDGE_RANK] = {(int64_t)AT(c, 1, at[0])};
    if (c->tensors[0].rank == 2)
        from[1] = c->tensor_count == 4 ? (int64_t)AT(c, 2, at[0]) : at[1];
    return exactly(at_index(c, 0, from));
}

WANT(scatter)
{
    int64_t from[JUDGE_RANK] = {c->tensors[0].extent[0] - 1 - at[0], at[1]};
    return exactly(at_index(c, 0, from));
}

WANT(sub)
{
    int64_t i = at[0] + judge_size(c, "a");
    return exactly(i < judge_size(c, "b") ? AT(c, 0, i) : 0);
}

WANT(nibbles)
{
    int64_t i = at[0] + judge_size_or(c, "o", 0);
    return exactly(AT(c, 0, c->tensor_count == 3 ? (int64_t)AT(c, 1, at[0]) : i));
}
WANT(halves) { return wrapped(c, bits_of(at_index(c, 0, at))); }

WANT(twice)
{
    long double x = AT(c, 1, at[0]);
    if (is_float(c, 1))
        return rounded(c, 2 * (double)rounded(c, (double)x + 1).value);
    return wrapped(c, 2 * (bits_of(x) + 1));
}

#include "memory_rows.h"
