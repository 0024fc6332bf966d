/* KernelBench level 1, convolutions: 50, 54 to 56, 59, 60, 62, 63, 66, 67, 76, 80, 82 to 87.  Lines and planes are volumes
 * with extents of 1; sizes that are missing are 1, margins 0. */
#include "../judge.h"
#include "taps.h"

#include <math.h>

#include "50_convolution.h"
#include "54_convolution.h"
#include "55_convolution.h"
#include "56_convolution.h"
#include "59_convolution.h"
#include "60_convolution.h"
#include "62_convolution.h"
#include "63_convolution.h"
#include "66_convolution.h"
#include "67_convolution.h"
#include "76_convolution.h"
#include "80_convolution.h"
#include "82_depthwise.h"
#include "83_depthwise.h"
#include "84_depthwise.h"
#include "85_depthwise.h"
#include "86_separable.h"
#include "87_pointwise.h"
#include "window.h"

static const double SUMS = 4e-6;

/* ---- calls ---- */

/* A tensor as one of other extents, whose elements lie one behind the other. */
static void *seen_as(struct judge_case *c, int t, int rank, const int64_t *extent, int64_t *view)
{
    int64_t stride = 1;
    view[0] = c->tensors[t].view[0];
    for (int d = rank - 1; d >= 0; stride *= extent[d--]) {
        view[1 + d] = extent[d];
        view[1 + rank + d] = stride;
    }
    return view;
}

static int arrange(struct judge_case *c, int weights, int arranged)
{
    const int64_t *extent = c->tensors[weights].extent;
    int64_t view[7], as[3] = {extent[0], extent[1], extent[2] * extent[3] * extent[4]};
    return judge_arrange(c->stream, seen_as(c, weights, 3, as, view), judge_view(c, arranged));
}

/* Tensors: x, w, w by taps, y. */
#define MANY(kernel)                                                                                              \
    static int call_##kernel(struct judge_case *c)                                                                \
    {                                                                                                             \
        int status = arrange(c, 1, 2);                                                                            \
        return status ? status : judge_##kernel(c->stream, judge_view(c, 0), judge_view(c, 2), judge_view(c, 3)); \
    }
static void *as_matrix(struct judge_case *c, int t, int64_t *view)
{
    int64_t rows = c->tensors[t].extent[0];
    return seen_as(c, t, 2, (int64_t[]){rows, c->tensors[t].elements / rows}, view);
}
/* Tensors: x, w, y. */
#define FEW(kernel)                                                                                  \
    static int call_##kernel(struct judge_case *c)                                                   \
    {                                                                                                \
        int64_t view[5];                                                                             \
        return judge_##kernel(c->stream, judge_view(c, 0), as_matrix(c, 1, view), judge_view(c, 2)); \
    }
/* Tensors: x, w, bias, y. */
#define FEW_BIAS(kernel)                                                                                               \
    static int call_##kernel(struct judge_case *c)                                                                     \
    {                                                                                                                  \
        int64_t view[5];                                                                                               \
        return judge_##kernel(c->stream, judge_view(c, 0), as_matrix(c, 1, view), judge_view(c, 2), judge_view(c, 3)); \
    }
#define DEPTHWISE(kernel)                                                                       \
    static int call_##kernel(struct judge_case *c)                                              \
    {                                                                                           \
        return judge_##kernel(c->stream, judge_view(c, 0), judge_view(c, 1), judge_view(c, 2)); \
    }
FEW_BIAS(conv_50)
FEW(conv_54)
MANY(conv_55)
MANY(conv_56)
FEW(conv_59)
FEW(conv_60)
MANY(conv_62)
MANY(conv_63)
FEW(conv_66)
MANY(conv_67)
MANY(conv_76)
MANY(conv_80)
DEPTHWISE(depthwise_82)
DEPTHWISE(depthwise_83)
DEPTHWISE(depthwise_84)
DEPTHWISE(depthwise_85)
DEPTHWISE(pointwise)

/* Tensors: x, w of each channel, w of pixels, what lies between, y. */
static int call_separable(struct judge_case *c)
{
    const int64_t *extent = c->tensors[3].extent;
    int64_t from[7], to[7], in[3] = {extent[0], extent[1], extent[2] * extent[3]};
    int64_t out[3] = {extent[0], c->tensors[4].extent[1], in[2]};
    int status = judge_separable_depth(c->stream, judge_view(c, 0), judge_view(c, 1), judge_view(c, 3));
    return status ? status
                  : judge_pointwise(c->stream, seen_as(c, 3, 3, in, from), judge_view(c, 2), seen_as(c, 4, 3, out, to));
}

/* ---- what is wanted ---- */

static void derive(struct judge_case *c) { taps_derive(c, taps_outer); }

/* The sum over the taps of channel `channel` of x, of all images, at output place `to`, with the weights from `weight`
 * of tensor 1 on. */
static void add_taps(const struct judge_case *c, int64_t channel, const int64_t *to, int64_t weight,
                     struct judge_value *sum)
{
    int64_t taps = judge_size(c, "taps"), size = judge_size(c, "d") * judge_size(c, "h") * judge_size(c, "w");
    for (int64_t k = 0; k < taps; k++) {
        int64_t place = taps_from(c, to, k);
        double term = place >= 0 ? judge_element(c, 0, channel * size + place) * judge_element(c, 1, weight + k) : 0;
        sum->value += term;
        sum->size += fabs(term);
    }
}

static struct judge_value want_convolution(const struct judge_case *c, const int64_t *at)
{
    int64_t channels = judge_size(c, "c"), taps = judge_size(c, "taps");
    struct judge_value sum = {0, 1e-3};
    for (int64_t i = 0; i < channels; i++)
        add_taps(c, at[0] * channels + i, at + 2, (at[1] * channels + i) * taps, &sum);
    return sum;
}

static struct judge_value want_biased(const struct judge_case *c, const int64_t *at)
{
    struct judge_value sum = want_convolution(c, at);
    sum.value += judge_element(c, 2, at[1]);
    return sum;
}

static struct judge_value want_depthwise(const struct judge_case *c, const int64_t *at)
{
    struct judge_value sum = {0, 1e-3};
    int64_t to[3] = {0, at[2], at[3]};
    add_taps(c, at[0] * judge_size(c, "c") + at[1], to, at[1] * judge_size(c, "taps"), &sum);
    return sum;
}

static struct judge_value want_separable(const struct judge_case *c, const int64_t *at)
{
    int64_t channels = judge_size(c, "c"), to[3] = {0, at[2], at[3]};
    struct judge_value sum = {0, 1e-3};
    for (int64_t i = 0; i < channels; i++) {
        struct judge_value between = {0, 0};
        double weight = judge_element(c, 2, at[1] * channels + i);
        add_taps(c, at[0] * channels + i, to, i * judge_size(c, "taps"), &between);
        sum.value += weight * between.value;
        sum.size += fabs(weight) * between.size;
    }
    return sum;
}

static struct judge_value want_pointwise(const struct judge_case *c, const int64_t *at)
{
    int64_t channels = judge_size(c, "c"), pixels = c->tensors[0].extent[2];
    struct judge_value sum = {0, 1e-3};
    for (int64_t i = 0; i < channels; i++) {
        double term = judge_element(c, 0, (at[0] * channels + i) * pixels + at[2]) *
                      judge_element(c, 1, at[1] * channels + i);
        sum.value += term;
        sum.size += fabs(term);
    }
    return sum;
}

/* ---- rows ---- */

#define MANY_SHAPE "x:f32[n,c,d,h,w] w:f32[o,c,kd,kh,kw]~-1,1 arranged:f32[taps,o,c]! > y:f32[n,o,od,oh,ow]"
#define FEW_SHAPE "x:f32[n,c,d,h,w] w:f32[o,c,kd,kh,kw]~-1,1 > y:f32[n,o,od,oh,ow]"
#define FEW_BIAS_SHAPE "x:f32[n,c,d,h,w] w:f32[o,c,kd,kh,kw]~-1,1 bias:f32[o] > y:f32[n,o,od,oh,ow]"
#define DEPTHWISE_SHAPE "x:f32[n,c,h,w] w:f32[c,1,kh,kw]~-1,1 > y:f32[n,c,oh,ow]"
static const struct judge_problem problems[] = {
    {"50_conv_standard_2D__square_input__square_kernel", FEW_BIAS_SHAPE,
     "n=256 c=3 o=96 d=1 h=224 w=224 kh=11 kw=11 sh=4 sw=4 ph=2 pw=2",
     "n=2 c=3 o=40 d=1 h=14 w=37 kh=11 kw=11 sh=4 sw=4 ph=2 pw=2", call_conv_50, want_biased, derive, SUMS},
    {"54_conv_standard_3D__square_input__square_kernel", FEW_SHAPE, "n=16 c=3 o=64 d=64 h=64 w=64 kd=3 kh=3 kw=3",
     "n=2 c=3 o=40 d=6 h=9 w=37 kd=3 kh=3 kw=3", call_conv_54, want_convolution, derive, SUMS},
    {"55_conv_standard_2D__asymmetric_input__square_kernel", MANY_SHAPE, "n=8 c=64 o=128 d=1 h=512 w=1024 kh=3 kw=3",
     "n=2 c=20 o=40 d=1 h=9 w=37 kh=3 kw=3", call_conv_55, want_convolution, derive, SUMS},
    {"56_conv_standard_2D__asymmetric_input__asymmetric_kernel", MANY_SHAPE, "n=8 c=64 o=128 d=1 h=512 w=256 kh=5 kw=7",
     "n=2 c=20 o=40 d=1 h=9 w=37 kh=5 kw=7", call_conv_56, want_convolution, derive, SUMS},
    {"59_conv_standard_3D__asymmetric_input__square_kernel", FEW_SHAPE, "n=16 c=3 o=64 h=256 w=2560 kh=3 kw=3 lw=10",
     "n=2 c=3 o=40 h=6 w=70 kh=3 kw=3 lw=10", call_conv_59, want_convolution, derive, SUMS},
    {"60_conv_standard_3D__square_input__asymmetric_kernel", FEW_SHAPE, "n=16 c=3 o=64 d=64 h=64 w=64 kd=3 kh=5 kw=7",
     "n=2 c=3 o=40 d=6 h=9 w=37 kd=3 kh=5 kw=7", call_conv_60, want_convolution, derive, SUMS},
    {"62_conv_standard_2D__square_input__asymmetric_kernel", MANY_SHAPE, "n=8 c=32 o=64 d=1 h=512 w=512 kh=5 kw=9",
     "n=2 c=20 o=40 d=1 h=9 w=37 kh=5 kw=9", call_conv_62, want_convolution, derive, SUMS},
    {"63_conv_standard_2D__square_input__square_kernel", MANY_SHAPE, "n=16 c=16 o=128 d=1 h=1024 w=1024 kh=3 kw=3",
     "n=2 c=16 o=40 d=1 h=9 w=37 kh=3 kw=3", call_conv_63, want_convolution, derive, SUMS},
    {"66_conv_standard_3D__asymmetric_input__asymmetric_kernel", FEW_SHAPE,
     "n=8 c=3 o=64 d=16 h=128 w=128 kd=3 kh=5 kw=7", "n=2 c=3 o=40 d=6 h=9 w=37 kd=3 kh=5 kw=7", call_conv_66,
     want_convolution, derive, SUMS},
    {"67_conv_standard_1D", MANY_SHAPE, "n=32 c=64 o=128 d=1 h=1 w=131072 kw=3", "n=2 c=20 o=40 d=1 h=1 w=37 kw=3",
     call_conv_67, want_convolution, derive, SUMS},
    {"76_conv_standard_1D_dilated_strided__", MANY_SHAPE, "n=64 c=64 o=128 d=1 h=1 w=524280 kw=3 sw=3 lw=4",
     "n=2 c=20 o=40 d=1 h=1 w=37 kw=3 sw=3 lw=4", call_conv_76, want_convolution, derive, SUMS},
    {"80_conv_standard_2D_square_input_asymmetric_kernel___dilated____padded__", MANY_SHAPE,
     "n=8 c=32 o=64 d=1 h=512 w=512 kh=5 kw=9 ph=2 pw=4 lh=2 lw=3",
     "n=2 c=20 o=40 d=1 h=12 w=37 kh=5 kw=9 ph=2 pw=4 lh=2 lw=3", call_conv_80, want_convolution, derive, SUMS},
    {"82_conv_depthwise_2D_square_input_square_kernel", DEPTHWISE_SHAPE, "n=16 c=64 h=512 w=512 kh=3 kw=3",
     "n=2 c=3 h=21 w=37 kh=3 kw=3", call_depthwise_82, want_depthwise, derive, SUMS},
    {"83_conv_depthwise_2D_square_input_asymmetric_kernel", DEPTHWISE_SHAPE, "n=64 c=8 h=512 w=512 kh=3 kw=1",
     "n=2 c=3 h=21 w=37 kh=3 kw=1", call_depthwise_83, want_depthwise, derive, SUMS},
    {"84_conv_depthwise_2D_asymmetric_input_square_kernel", DEPTHWISE_SHAPE, "n=64 c=128 h=256 w=512 kh=3 kw=3",
     "n=2 c=3 h=21 w=37 kh=3 kw=3", call_depthwise_84, want_depthwise, derive, SUMS},
    {"85_conv_depthwise_2D_asymmetric_input_asymmetric_kernel", DEPTHWISE_SHAPE, "n=32 c=128 h=128 w=256 kh=3 kw=7",
     "n=2 c=3 h=21 w=37 kh=3 kw=7", call_depthwise_85, want_depthwise, derive, SUMS},
    {"86_conv_depthwise_separable_2D",
     "x:f32[n,c,h,w] w:f32[c,1,kh,kw]~-1,1 p:f32[o,c]~-1,1 between:f32[n,c,h,w]! > y:f32[n,o,h,w]",
     "n=16 c=64 o=128 h=512 w=512 kh=3 kw=3 ph=1 pw=1", "n=2 c=20 o=40 h=9 w=37 kh=3 kw=3 ph=1 pw=1", call_separable,
     want_separable, derive, SUMS},
    {"87_conv_pointwise_2D", "x:f32[n,c,s] w:f32[o,c]~-1,1 > y:f32[n,o,s]", "n=16 c=64 o=128 s=1048576",
     "n=2 c=20 o=40 s=333", call_pointwise, want_pointwise, NULL, SUMS},
};
const struct judge_family judge_convolutions = {problems, sizeof problems / sizeof *problems};
