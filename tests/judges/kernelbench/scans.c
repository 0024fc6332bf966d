/* KernelBench level 1, running sums and products along rows: 89 to 93. */
#include "../judge.h"

#include <math.h>

#include "89_cumsum.h"
#include "90_cumprod.h"
#include "91_cumsum_reverse.h"
#include "92_cumsum_exclusive.h"
#include "93_masked_cumsum.h"

#define ROWS(kernel)                                                          \
    static int call_##kernel(struct judge_case *c)                            \
    {                                                                         \
        return judge_##kernel(c->stream, judge_view(c, 0), judge_view(c, 1)); \
    }
ROWS(running_sum)
ROWS(running_product)
ROWS(reverse_sum)
ROWS(exclusive_sum)

static int call_masked_sum(struct judge_case *c)
{
    return judge_masked_sum(c->stream, judge_view(c, 0), judge_view(c, 1), judge_view(c, 2));
}

/* The sum of the row of `at` from `first` to `end`. */
static struct judge_value sum(const struct judge_case *c, const int64_t *at, int64_t first, int64_t end, bool masked)
{
    int64_t row = at[0] * c->tensors[0].extent[1];
    struct judge_value s = {0, 0.1};
    for (int64_t n = first; n < end; n++) {
        double x = masked && judge_element(c, 1, row + n) == 0 ? 0 : judge_element(c, 0, row + n);
        s.value += x;
        s.size += fabs(x);
    }
    return s;
}

static struct judge_value want_running_sum(const struct judge_case *c, const int64_t *at)
{
    return sum(c, at, 0, at[1] + 1, false);
}

static struct judge_value want_reverse_sum(const struct judge_case *c, const int64_t *at)
{
    return sum(c, at, at[1], c->tensors[0].extent[1], false);
}

static struct judge_value want_exclusive_sum(const struct judge_case *c, const int64_t *at)
{
    return sum(c, at, 0, at[1], false);
}

static struct judge_value want_masked_sum(const struct judge_case *c, const int64_t *at)
{
    return sum(c, at, 0, at[1] + 1, true);
}

/* Errors of products add up relatively; what is below f32's normal numbers is lost. */
static struct judge_value want_running_product(const struct judge_case *c, const int64_t *at)
{
    int64_t row = at[0] * c->tensors[0].extent[1];
    double value = 1;
    for (int64_t n = 0; n <= at[1]; n++)
        value *= judge_element(c, 0, row + n);
    return (struct judge_value){value, fabs(value) * (double)(at[1] + 1) + 0x1p-126};
}

#define MATRIX "x:f32[m,n] > y:f32[m,n]"
#define SIZES "m=32768 n=32768", "m=3 n=1361"
static const struct judge_problem problems[] = {
    {"89_cumsum", MATRIX, SIZES, call_running_sum, want_running_sum, NULL, 2e-6},
    {"90_cumprod", "x:f32[m,n]~0.9,1.1 > y:f32[m,n]", SIZES, call_running_product, want_running_product, NULL, 1e-7},
    {"91_cumsum_reverse", MATRIX, SIZES, call_reverse_sum, want_reverse_sum, NULL, 2e-6},
    {"92_cumsum_exclusive", MATRIX, SIZES, call_exclusive_sum, want_exclusive_sum, NULL, 2e-6},
    {"93_masked_cumsum", "x:f32[m,n] mask:bool[m,n] > y:f32[m,n]", SIZES, call_masked_sum, want_masked_sum, NULL, 2e-6},
};
const struct judge_family judge_scans = {problems, sizeof problems / sizeof *problems};
