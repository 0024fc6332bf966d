/* KernelBench level 1, norms and softmax: 23, 24, 33 to 40. */
#include "../judge.h"

#include <math.h>

#include "23_softmax.h"
#include "24_log_softmax.h"
#include "33_batch_norm.h"
#include "34_instance_norm.h"
#include "35_group_norm.h"
#include "36_rms_norm.h"
#include "37_frobenius_norm.h"
#include "38_l1_norm.h"
#include "39_l2_norm.h"
#include "40_layer_norm.h"
#include "moments.h"

static const float EPSILON = 1e-5f;

/* ---- calls ---- */

#define ROWS(kernel)                                                          \
    static int call_##kernel(struct judge_case *c)                            \
    {                                                                         \
        return judge_##kernel(c->stream, judge_view(c, 0), judge_view(c, 1)); \
    }
ROWS(softmax)
ROWS(log_softmax)
ROWS(l1_norm)
ROWS(l2_norm)

/* Tensors: x, mean, spread, weights and bias where there are some, y. */
static int call_batch_norm(struct judge_case *c)
{
    int status = judge_moments(c->stream, judge_view(c, 0), judge_view(c, 1), judge_view(c, 2));
    return status ? status
                  : judge_batch_norm(c->stream, judge_view(c, 0), judge_view(c, 1), judge_view(c, 2), judge_view(c, 3),
                                     judge_view(c, 4), EPSILON, judge_view(c, 5));
}

static int call_instance_norm(struct judge_case *c)
{
    int status = judge_moments(c->stream, judge_view(c, 0), judge_view(c, 1), judge_view(c, 2));
    return status ? status
                  : judge_instance_norm(c->stream, judge_view(c, 0), judge_view(c, 1), judge_view(c, 2), EPSILON,
                                        judge_view(c, 3));
}

static int call_group_norm(struct judge_case *c)
{
    int status = judge_moments(c->stream, judge_view(c, 0), judge_view(c, 1), judge_view(c, 2));
    int64_t group = judge_size(c, "c") / judge_size(c, "g");
    return status ? status
                  : judge_group_norm(c->stream, judge_view(c, 0), judge_view(c, 1), judge_view(c, 2), judge_view(c, 3),
                                     judge_view(c, 4), EPSILON, group, judge_view(c, 5));
}

static int call_layer_norm(struct judge_case *c)
{
    int status = judge_moments(c->stream, judge_view(c, 0), judge_view(c, 1), judge_view(c, 2));
    return status ? status
                  : judge_layer_norm(c->stream, judge_view(c, 0), judge_view(c, 1), judge_view(c, 2), judge_view(c, 3),
                                     judge_view(c, 4), EPSILON, judge_view(c, 5));
}

static int call_rms_norm(struct judge_case *c)
{
    return judge_rms_norm(c->stream, judge_view(c, 0), EPSILON, judge_view(c, 1));
}

static int call_frobenius_norm(struct judge_case *c)
{
    int status = judge_squares(c->stream, judge_view(c, 0), judge_view(c, 1));
    status = status ? status : judge_root(c->stream, judge_view(c, 1), judge_view(c, 2));
    return status ? status : judge_frobenius_norm(c->stream, judge_view(c, 0), judge_view(c, 2), judge_view(c, 3));
}

/* ---- what is wanted ---- */

/* Elements of x: `outer` times `inner` of them, steps apart. */
struct part {
    int64_t first, outer, outer_step, inner, inner_step;
};
struct sums {
    double count, sum, squares, absolutes;
};

static struct sums add_up(const struct judge_case *c, struct part part)
{
    struct sums s = {(double)part.outer * (double)part.inner, 0, 0, 0};
    for (int64_t i = 0; i < part.outer; i++)
        for (int64_t j = 0; j < part.inner; j++) {
            double x = judge_element(c, 0, part.first + i * part.outer_step + j * part.inner_step);
            s.sum += x, s.squares += x * x, s.absolutes += fabs(x);
        }
    return s;
}

/* (x - mean) / sqrt(var + eps) of x[n, c, s] among the elements of the part. */
static double normal(const struct judge_case *c, const int64_t *at, struct part part)
{
    const int64_t *extent = c->tensors[0].extent;
    struct sums s = add_up(c, part);
    double mean = s.sum / s.count, variance = s.squares / s.count - mean * mean;
    double x = judge_element(c, 0, (at[0] * extent[1] + at[1]) * extent[2] + at[2]);
    return (x - mean) / sqrt(variance + (double)EPSILON);
}

static struct judge_value scaled(double normal, double weight, double bias)
{
    return (struct judge_value){normal * weight + bias, (fabs(normal) + 1) * fabs(weight) + fabs(bias)};
}

static struct judge_value want_batch_norm(const struct judge_case *c, const int64_t *at)
{
    const int64_t *extent = c->tensors[0].extent;
    struct part part = {at[1] * extent[2], extent[0], extent[1] * extent[2], extent[2], 1};
    return scaled(normal(c, at, part), judge_element(c, 3, at[1]), judge_element(c, 4, at[1]));
}

static struct judge_value want_instance_norm(const struct judge_case *c, const int64_t *at)
{
    const int64_t *extent = c->tensors[0].extent;
    struct part part = {(at[0] * extent[1] + at[1]) * extent[2], 1, 0, extent[2], 1};
    return scaled(normal(c, at, part), 1, 0);
}

static struct judge_value want_group_norm(const struct judge_case *c, const int64_t *at)
{
    const int64_t *extent = c->tensors[0].extent;
    int64_t group = extent[1] / judge_size(c, "g");
    struct part part = {(at[0] * extent[1] + at[1] / group * group) * extent[2], group, extent[2], extent[2], 1};
    return scaled(normal(c, at, part), judge_element(c, 3, at[1]), judge_element(c, 4, at[1]));
}

static struct judge_value want_layer_norm(const struct judge_case *c, const int64_t *at)
{
    const int64_t *extent = c->tensors[0].extent;
    struct part part = {at[0] * extent[1] * extent[2], extent[1], extent[2], extent[2], 1};
    int64_t weight = at[1] * extent[2] + at[2];
    return scaled(normal(c, at, part), judge_element(c, 3, weight), judge_element(c, 4, weight));
}

static struct judge_value want_rms_norm(const struct judge_case *c, const int64_t *at)
{
    const int64_t *extent = c->tensors[0].extent;
    struct part part = {at[0] * extent[1] * extent[2] + at[2], extent[1], extent[2], 1, 0};
    double x = judge_element(c, 0, (at[0] * extent[1] + at[1]) * extent[2] + at[2]);
    double value = x / sqrt(add_up(c, part).squares / (double)extent[1] + (double)EPSILON);
    return (struct judge_value){value, fabs(value)};
}

static struct judge_value want_frobenius_norm(const struct judge_case *c, const int64_t *at)
{
    const int64_t *extent = c->tensors[0].extent;
    static const struct judge_case *known; /* the sum of all is the same for each element */
    static double norm;
    struct part part = {0, 1, 0, c->tensors[0].elements, 1};
    if (known != c || at[0] + at[1] + at[2] == 0)
        norm = sqrt(add_up(c, part).squares), known = c;
    double value = judge_element(c, 0, (at[0] * extent[1] + at[1]) * extent[2] + at[2]) / norm;
    return (struct judge_value){value, fabs(value)};
}

static struct sums row(const struct judge_case *c, const int64_t *at)
{
    int64_t columns = c->tensors[0].extent[1];
    return add_up(c, (struct part){at[0] * columns, 1, 0, columns, 1});
}

static double element(const struct judge_case *c, const int64_t *at)
{
    return judge_element(c, 0, at[0] * c->tensors[0].extent[1] + at[1]);
}

static struct judge_value want_l1_norm(const struct judge_case *c, const int64_t *at)
{
    struct sums s = row(c, at);
    double value = element(c, at) / (s.absolutes / s.count);
    return (struct judge_value){value, fabs(value)};
}

static struct judge_value want_l2_norm(const struct judge_case *c, const int64_t *at)
{
    double value = element(c, at) / sqrt(row(c, at).squares);
    return (struct judge_value){value, fabs(value)};
}

static double sum_of_exponentials(const struct judge_case *c, const int64_t *at)
{
    int64_t columns = c->tensors[0].extent[1];
    double sum = 0;
    for (int64_t n = 0; n < columns; n++)
        sum += exp(judge_element(c, 0, at[0] * columns + n));
    return sum;
}

static struct judge_value want_softmax(const struct judge_case *c, const int64_t *at)
{
    double value = exp(element(c, at)) / sum_of_exponentials(c, at);
    return (struct judge_value){value, value};
}

static struct judge_value want_log_softmax(const struct judge_case *c, const int64_t *at)
{
    double log_of_sum = log(sum_of_exponentials(c, at)), value = element(c, at) - log_of_sum;
    return (struct judge_value){value, fabs(value) + fabs(log_of_sum)};
}

/* ---- rows ---- */

#define PLANES "x:f32[n,c,s] mean:f32[n,c]! spread:f32[n,c]! "
#define MATRIX "x:f32[m,n]~-1,2 > y:f32[m,n]"
static const struct judge_problem problems[] = {
    {"23_Softmax", MATRIX, "m=4096 n=393216", "m=5 n=5003", call_softmax, want_softmax, NULL, 4e-6},
    {"24_LogSoftmax", MATRIX, "m=4096 n=393216", "m=5 n=5003", call_log_softmax, want_log_softmax, NULL, 1e-6},
    {"33_BatchNorm", PLANES "w:f32[c] b:f32[c] > y:f32[n,c,s]", "n=64 c=64 s=262144", "n=5 c=3 s=271", call_batch_norm,
     want_batch_norm, NULL, 2e-6},
    {"34_InstanceNorm", PLANES "> y:f32[n,c,s]", "n=112 c=64 s=262144", "n=3 c=5 s=271", call_instance_norm,
     want_instance_norm, NULL, 2e-6},
    {"35_GroupNorm_", PLANES "w:f32[c] b:f32[c] > y:f32[n,c,s]", "n=112 c=64 s=262144 g=8", "n=3 c=6 s=201 g=2",
     call_group_norm, want_group_norm, NULL, 2e-6},
    {"36_RMSNorm_", "x:f32[n,c,s] > y:f32[n,c,s]", "n=112 c=64 s=262144", "n=3 c=7 s=173", call_rms_norm, want_rms_norm,
     NULL, 1e-6},
    {"37_FrobeniusNorm_", "x:f32[n,c,s] part:f32[n,c]! norm:f32[1]! > y:f32[n,c,s]", "n=112 c=64 s=262144",
     "n=3 c=5 s=259", call_frobenius_norm, want_frobenius_norm, NULL, 4e-6},
    {"38_L1Norm_", MATRIX, "m=32768 n=65535", "m=3 n=1001", call_l1_norm, want_l1_norm, NULL, 2e-6},
    {"39_L2Norm_", MATRIX, "m=32768 n=65535", "m=3 n=1001", call_l2_norm, want_l2_norm, NULL, 2e-6},
    {"40_LayerNorm", PLANES "w:f32[c,s] b:f32[c,s] > y:f32[n,c,s]", "n=16 c=64 s=65536", "n=3 c=5 s=263",
     call_layer_norm, want_layer_norm, NULL, 2e-6},
};
const struct judge_family judge_norms = {problems, sizeof problems / sizeof *problems};
