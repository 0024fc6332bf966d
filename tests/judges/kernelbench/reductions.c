/* KernelBench level 1, reductions over the middle of three dimensions: 47 to 49, 51 to 53. */
#include "../judge.h"

#include <math.h>

#include "47_sum.h"
#include "48_mean.h"
#include "49_max.h"
#include "51_argmax.h"
#include "52_argmin.h"
#include "53_min.h"

#define COLUMNS(kernel)                                                       \
    static int call_##kernel(struct judge_case *c)                            \
    {                                                                         \
        return judge_##kernel(c->stream, judge_view(c, 0), judge_view(c, 1)); \
    }
COLUMNS(column_sum)
COLUMNS(column_mean)
COLUMNS(column_max)
COLUMNS(column_min)
COLUMNS(column_argmax)
COLUMNS(column_argmin)

struct column {
    double sum, size, largest, smallest;
    int64_t largest_at, smallest_at;
};

static struct column look_at(const struct judge_case *c, const int64_t *at)
{
    const int64_t *extent = c->tensors[0].extent;
    struct column column = {.largest = -INFINITY, .smallest = INFINITY};
    for (int64_t m = 0; m < extent[1]; m++) {
        double x = judge_element(c, 0, (at[0] * extent[1] + m) * extent[2] + at[1]);
        column.sum += x;
        column.size += fabs(x);
        if (x > column.largest)
            column.largest = x, column.largest_at = m;
        if (x < column.smallest)
            column.smallest = x, column.smallest_at = m;
    }
    return column;
}

static struct judge_value want_sum(const struct judge_case *c, const int64_t *at)
{
    struct column column = look_at(c, at);
    return (struct judge_value){column.sum, column.size};
}

static struct judge_value want_mean(const struct judge_case *c, const int64_t *at)
{
    struct column column = look_at(c, at);
    double rows = (double)c->tensors[0].extent[1];
    return (struct judge_value){column.sum / rows, column.size / rows};
}

static struct judge_value want_max(const struct judge_case *c, const int64_t *at)
{
    return (struct judge_value){look_at(c, at).largest, 0};
}

static struct judge_value want_min(const struct judge_case *c, const int64_t *at)
{
    return (struct judge_value){look_at(c, at).smallest, 0};
}

static struct judge_value want_argmax(const struct judge_case *c, const int64_t *at)
{
    return (struct judge_value){(double)look_at(c, at).largest_at, 0};
}

static struct judge_value want_argmin(const struct judge_case *c, const int64_t *at)
{
    return (struct judge_value){(double)look_at(c, at).smallest_at, 0};
}

#define FLOATS "x:f32[z,m,n]~-1,1 > y:f32[z,n]"
#define POSITIONS "x:f32[z,m,n]~-1,1 > y:i64[z,n]"
#define SIZES "z=128 m=4096 n=4095", "z=3 m=77 n=301"
static const struct judge_problem problems[] = {
    {"47_Sum_reduction_over_a_dimension", FLOATS, SIZES, call_column_sum, want_sum, NULL, 1e-6},
    {"48_Mean_reduction_over_a_dimension", FLOATS, SIZES, call_column_mean, want_mean, NULL, 1e-6},
    {"49_Max_reduction_over_a_dimension", FLOATS, SIZES, call_column_max, want_max, NULL, 1},
    {"51_Argmax_over_a_dimension", POSITIONS, SIZES, call_column_argmax, want_argmax, NULL, 1},
    {"52_Argmin_over_a_dimension", POSITIONS, SIZES, call_column_argmin, want_argmin, NULL, 1},
    {"53_Min_reduction_over_a_dimension", FLOATS, SIZES, call_column_min, want_min, NULL, 1},
};
const struct judge_family judge_reductions = {problems, sizeof problems / sizeof *problems};
