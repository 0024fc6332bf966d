/* What the drivers of the gallery share.  Inputs are small whole multiples of 1/64, which 16-bit floats hold, so that all that a
 * comparison allows for is rounding on the way: a part of the size of all terms together. */
#ifndef GALLERY_H
#define GALLERY_H
#include "exec.h"
#include <math.h>
#include <stdlib.h>

#define ROW(n) \
    1, (int64_t[]) { n }
#define MATRIX(m, n) \
    2, (int64_t[]) { m, n }
#define CUBE(a, b, c) \
    3, (int64_t[]) { a, b, c }
#define FOUR(a, b, c, d) \
    4, (int64_t[]) { a, b, c, d }

static inline int64_t draw_whole(uint64_t *state, int64_t count)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int64_t)(*state >> 33) % count;
}

/* Numbers in -size … size. */
static inline struct exec_tensor *draw(struct exec_tensor *t, double size)
{
    uint64_t state = (uint64_t)t->elements * 77 + (uint64_t)t->rank;
    for (int64_t i = 0; i < t->elements; i++)
        exec_set(t, i, (double)(draw_whole(&state, 129) - 64) / 64 * size);
    return t;
}

/* `sizes`: of all terms; `part`: what of them may go lost. */
static inline void expect_sum(struct exec_case *c, const struct exec_tensor *t, int64_t i, double want, double sizes,
                              double part)
{
    double got = exec_value(t, i);
    if (!(fabs(got - want) <= fabs(want) * exec_epsilon(t->type) + sizes * part + 1e-6))
        exec_fail(c, "element %lld is %.9g, not %.9g", (long long)i, got, want);
}
#endif
