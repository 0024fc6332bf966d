/* KernelBench level 1, losses, 94 to 96 and 98 to 100, and attention, 97. */
#include "../judge.h"

#include <math.h>

#include "100_hinge.h"
#include "94_mse.h"
#include "95_cross_entropy.h"
#include "96_huber.h"
#include "97_attention.h"
#include "98_kl_div.h"
#include "99_triplet_margin.h"
#include "mean.h"

static const float MARGIN = 1;

/* ---- calls ---- */

static int total(struct judge_case *c, int part, double count)
{
    return judge_total(c->stream, judge_view(c, part), (float)(1 / count), judge_view(c, part + 1));
}

static double rows(const struct judge_case *c) { return (double)c->tensors[0].extent[0]; }
static double elements(const struct judge_case *c) { return (double)c->tensors[0].elements; }

/* Tensors: two that are compared, the sums of rows, the result. */
#define LOSS(kernel, count)                                                                           \
    static int call_##kernel(struct judge_case *c)                                                    \
    {                                                                                                 \
        int status = judge_##kernel(c->stream, judge_view(c, 0), judge_view(c, 1), judge_view(c, 2)); \
        return status ? status : total(c, 2, count(c));                                               \
    }
LOSS(squared_error, elements)
LOSS(huber, elements)
LOSS(hinge, elements)
LOSS(kl_div, rows)
LOSS(cross_entropy, rows)

static int call_triplet(struct judge_case *c)
{
    int status = judge_triplet(c->stream, judge_view(c, 0), judge_view(c, 1), judge_view(c, 2), MARGIN,
                               judge_view(c, 3));
    return status ? status : total(c, 3, rows(c));
}

/* Tensors: q, k, v, scores, o. */
static int call_attention(struct judge_case *c)
{
    float scale = (float)(1 / sqrt((double)judge_size(c, "d")));
    int status = judge_attention_scores(c->stream, judge_view(c, 0), judge_view(c, 1), scale, judge_view(c, 3));
    status = status ? status : judge_attention_weights(c->stream, judge_view(c, 3));
    return status ? status : judge_attention_sums(c->stream, judge_view(c, 3), judge_view(c, 2), judge_view(c, 4));
}

/* ---- what is wanted ---- */

static struct judge_value mean_of(const struct judge_case *c, double (*of)(double, double), double count)
{
    double sum = 0, size = 0;
    for (int64_t i = 0; i < c->tensors[0].elements; i++) {
        double term = of(judge_element(c, 0, i), judge_element(c, 1, i));
        sum += term;
        size += fabs(term);
    }
    return (struct judge_value){sum / count, size / count};
}

static double square(double x, double y) { return (x - y) * (x - y); }
static double smooth(double x, double y) { return fabs(x - y) < 1 ? 0.5 * (x - y) * (x - y) : fabs(x - y) - 0.5; }
static double divergence(double x, double y) { return y > 0 ? y * (log(y) - log(x)) : 0; }

static struct judge_value want_mse(const struct judge_case *c, const int64_t *at)
{
    (void)at;
    return mean_of(c, square, elements(c));
}

static struct judge_value want_huber(const struct judge_case *c, const int64_t *at)
{
    (void)at;
    return mean_of(c, smooth, elements(c));
}

static struct judge_value want_kl_div(const struct judge_case *c, const int64_t *at)
{
    (void)at;
    return mean_of(c, divergence, rows(c));
}

static struct judge_value want_hinge(const struct judge_case *c, const int64_t *at)
{
    int64_t columns = c->tensors[0].extent[1];
    double sum = 0;
    (void)at;
    for (int64_t i = 0; i < c->tensors[0].elements; i++)
        sum += fmax(1 - judge_element(c, 0, i) * judge_element(c, 1, i % columns), 0);
    return (struct judge_value){sum / elements(c), sum / elements(c)};
}

static struct judge_value want_cross_entropy(const struct judge_case *c, const int64_t *at)
{
    int64_t columns = c->tensors[0].extent[1];
    double sum = 0;
    (void)at;
    for (int64_t m = 0; m < c->tensors[0].extent[0]; m++) {
        double exponentials = 0;
        for (int64_t n = 0; n < columns; n++)
            exponentials += exp(judge_element(c, 0, m * columns + n));
        sum += log(exponentials) - judge_element(c, 0, m * columns + (int64_t)judge_element(c, 1, m));
    }
    return (struct judge_value){sum / rows(c), sum / rows(c)};
}

static struct judge_value want_triplet(const struct judge_case *c, const int64_t *at)
{
    int64_t columns = c->tensors[0].extent[1];
    double sum = 0, size = 0;
    (void)at;
    for (int64_t m = 0; m < c->tensors[0].extent[0]; m++) {
        double near = 0, far = 0;
        for (int64_t i = m * columns; i < (m + 1) * columns; i++) {
            near += square(judge_element(c, 0, i) + 1e-6, judge_element(c, 1, i));
            far += square(judge_element(c, 0, i) + 1e-6, judge_element(c, 2, i));
        }
        sum += fmax(sqrt(near) - sqrt(far) + (double)MARGIN, 0);
        size += sqrt(near) + sqrt(far) + (double)MARGIN;
    }
    return (struct judge_value){sum / rows(c), size / rows(c)};
}

static struct judge_value want_attention(const struct judge_case *c, const int64_t *at)
{
    int64_t lines = judge_size(c, "l"), length = judge_size(c, "s"), depth = judge_size(c, "d");
    int64_t width = judge_size(c, "e");
    double scale = 1 / sqrt((double)depth), total = 0;
    struct judge_value sum = {0, 0};
    for (int64_t j = 0; j < length; j++) {
        double score = 0;
        for (int64_t d = 0; d < depth; d++)
            score += judge_element(c, 0, (at[0] * lines + at[1]) * depth + d) *
                     judge_element(c, 1, (at[0] * length + j) * depth + d);
        double weight = exp(score * scale), term = weight * judge_element(c, 2, (at[0] * length + j) * width + at[2]);
        total += weight;
        sum.value += term;
        sum.size += fabs(term);
    }
    return (struct judge_value){sum.value / total, sum.size / total};
}

/* ---- rows ---- */

#define PAIRS "x:f32[m,n] y:f32[m,n] part:f32[m]! > r:f32[1]"
#define LARGE "m=32768 n=32768", "m=7 n=5003"
static const struct judge_problem problems[] = {
    {"94_MSELoss", PAIRS, LARGE, call_squared_error, want_mse, NULL, 2e-6},
    {"95_CrossEntropyLoss", "x:f32[m,n] t:i64[m]~0,n part:f32[m]! > r:f32[1]", "m=32768 n=4096", "m=31 n=1000",
     call_cross_entropy, want_cross_entropy, NULL, 2e-6},
    {"96_HuberLoss", "x:f32[m,n]~0,3 y:f32[m,n] part:f32[m]! > r:f32[1]", LARGE, call_huber, want_huber, NULL, 2e-6},
    {"97_ScaledDotProductAttention", "q:f32[z,l,d] k:f32[z,s,d] v:f32[z,s,e] scores:f32[z,l,s]! > o:f32[z,l,e]",
     "z=1024 l=512 s=512 d=1024 e=1024", "z=2 l=37 s=53 d=71 e=79", call_attention, want_attention, NULL, 4e-6},
    {"98_KLDivLoss", "x:f32[m,n]~0.001,1 y:f32[m,n] part:f32[m]! > r:f32[1]", "m=16384 n=16384", "m=7 n=5003",
     call_kl_div, want_kl_div, NULL, 2e-6},
    {"99_TripletMarginLoss", "x:f32[m,n] p:f32[m,n] n:f32[m,n] part:f32[m]! > r:f32[1]", "m=32768 n=8192", "m=7 n=5003",
     call_triplet, want_triplet, NULL, 2e-6},
    {"100_HingeLoss", "x:f32[m,n] y:f32[n]~-1,1 part:f32[m]! > r:f32[1]", LARGE, call_hinge, want_hinge, NULL, 2e-6},
};
const struct judge_family judge_losses = {problems, sizeof problems / sizeof *problems};
