/* KernelBench level 2: transposed convolutions with what follows, of every third operator: 10 to 100. */
#include "fused.h"

#include "10_max_pool.h"
#include "13_softmax.h"
#include "16_mish.h"
#include "19_group_norm.h"
#include "34_layer_norm.h"
#include "49_softmax.h"
#include "58_log_sum_exp.h"
#include "61_group_norm.h"
#include "91_softmax.h"
#include "100_clamp.h"
#include "arrange.h"
#include "moments.h"

/* ---- calls ---- */

#define TURNED(number, y)                              \
    do {                                               \
        RUN(arrange_turned_2, V(w), V(to));            \
        RUN(turned_##number, V(x), V(to), V(b), V(y)); \
    } while (0)

CALL(10)
{
    TURNED(10, y);
    return judge_mean_10(c->stream, V(y), V(r));
}
CALL(13)
{
    TURNED(13, y);
    return judge_channels_13(c->stream, V(y), V(e), V(r));
}
CALL(16)
{
    TURNED(16, r);
    return 0;
}
CALL(19)
{
    TURNED(19, y);
    RUN(turned_moments, V(y), V(stat));
    return judge_groups_19(c->stream, V(y), V(stat), V(weight), V(shift), V(r));
}
CALL(34)
{
    TURNED(34, y);
    return judge_rows_34(c->stream, V(y), V(weight), V(shift), V(r));
}
CALL(49)
{
    TURNED(49, y);
    return judge_channels_49(c->stream, V(y), V(r));
}
CALL(58)
{
    TURNED(58, y);
    return judge_channels_58(c->stream, V(y), V(e), V(r));
}
CALL(61)
{
    RUN(arrange_turned_2, V(w), V(to));
    RUN(turned_61, V(x), V(to), NULL, V(y)); /* it has no bias */
    RUN(turned_moments, V(y), V(stat));
    return judge_groups_61(c->stream, V(y), V(stat), V(weight), V(shift), V(r));
}
CALL(91)
{
    TURNED(91, y);
    return judge_channels_91(c->stream, V(y), V(e), V(r));
}
CALL(100)
{
    TURNED(100, r);
    return 0;
}

/* ---- what is wanted ---- */

static struct judge_value base(const struct judge_case *c, int64_t n, int64_t o, const int64_t *to)
{
    return fused_sum(c, n, o, to, taps_from_turned, true);
}

WANT(10)
{
    int64_t height = judge_size(c, "oh") / 2, width = judge_size(c, "ow") / 2;
    struct judge_value sum = {0, 0};
    for (int64_t i = 0; i < height * width; i++) {
        double most = -INFINITY;
        for (int k = 0; k < 4; k++) {
            int64_t to[3] = {0, 2 * (i / width) + k / 2, 2 * (i % width) + k % 2};
            struct judge_value v = base(c, at[0], at[1], to);
            most = fmax(most, (double)v.value), sum.size = fmaxl(sum.size, v.size);
        }
        sum.value += clamp(most, -1, 1) / (double)(height * width);
    }
    return after(sum, tanh((double)sum.value), 1);
}

/* The mean over the depth, and the other bias. */
static struct judge_value flat(const struct judge_case *c, int64_t n, int64_t o, const int64_t *to)
{
    int64_t depth = judge_size(c, "od");
    struct judge_value sum = {number(c, "e", o), 0};
    for (int64_t d = 0; d < depth; d++) {
        struct judge_value v = base(c, n, o, (const int64_t[]){d, to[1], to[2]});
        sum.value += v.value / depth, sum.size = fmaxl(sum.size, v.size);
    }
    return sum;
}

static struct judge_value softmax(const struct judge_case *c, const int64_t *at, base_of *of)
{
    struct judge_value v = of(c, at[0], at[1], at + 2);
    double p = 1 / fused_softmax(c, at[0], at + 2, (double)v.value, of);
    return after(v, p, 0.5);
}

WANT(13)
{
    struct judge_value p = softmax(c, at, flat);
    return after(p, 2 * tanh((double)p.value), 2);
}

WANT(16)
{
    struct judge_value v = base(c, at[0], at[1], at + 2);
    return after(v, 2 * clamp(mish((double)v.value) + 0.5, -1, 1), 2.2);
}

static struct judge_value gelued(const struct judge_case *c, int64_t n, int64_t o, const int64_t *to)
{
    struct judge_value v = base(c, n, o, to);
    return after(v, gelu((double)v.value), 1.2);
}
WANT(19) { return fused_grouped(c, at[0], at[1], at + 2, gelued); }

static struct judge_value positive(const struct judge_case *c, int64_t n, int64_t o, const int64_t *to)
{
    struct judge_value v = base(c, n, o, to);
    return after(v, relu((double)v.value), 1);
}
WANT(61) { return fused_grouped(c, at[0], at[1], at + 2, positive); }

WANT(34)
{
    struct gathered g = {0};
    for (int64_t w = 0; w < judge_size(c, "ow"); w++)
        gather(&g, base(c, at[0], at[1], (const int64_t[]){at[2], at[3], w}));
    struct judge_value v = affine(normal(base(c, at[0], at[1], at + 2), moments_of(g)), number(c, "weight", at[4]),
                                  number(c, "shift", at[4]));
    return after(v, gelu((double)v.value), 1.2);
}

WANT(49)
{
    struct judge_value p = softmax(c, at, base);
    return after(p, sigmoid((double)p.value), 1);
}

WANT(58)
{
    struct judge_value s = fused_log_sum_exp(c, at[0], at + 2, base);
    double value = (double)s.value;
    return after(s, clamp(value * sigmoid(value + 3) / 6 - number(c, "e", 0), -1, 1), 1);
}

WANT(91)
{
    struct judge_value p = softmax(c, at, base);
    return after(p, sigmoid(2 * ((double)p.value + number(c, "e", at[1]))), 1);
}

WANT(100)
{
    struct judge_value v = base(c, at[0], at[1], at + 2);
    return after(v, fmax((double)v.value, -1) / 2, 1);
}

static void derive(struct judge_case *c) { taps_derive(c, taps_outer_turned); }

#define BIAS "b:f32[o]~-1,1 "
#define BETWEEN "y:f32[n,o,od,oh,ow]! "
#define AFFINE "weight:f32[o]~0.5,1.5 shift:f32[o]~-1,1 "
#define ALL " > r:f32[n,o,od,oh,ow]"
#define ROW(number, name, shape, full, small)                                             \
    {name,          "x:f32[n,c,d,h,w] w:f32[c,o,taps]~-0.3,0.3 to:f32[taps,o,c]! " shape, \
     full,          small,                                                                \
     call_##number, want_##number,                                                        \
     derive,        4e-6,                                                                 \
     NULL,          NULL}
static const struct judge_problem problems[] = {
    ROW(10, "10_ConvTranspose2d_MaxPool_Hardtanh_Mean_Tanh", BIAS BETWEEN "> r:f32[n,o,1,1]",
        "n=128 c=64 o=64 h=256 w=256 kh=3 kw=3 ph=1 pw=1", "n=2 c=10 o=20 h=9 w=27 kh=3 kw=3 ph=1 pw=1"),
    ROW(13, "13_ConvTranspose3d_Mean_Add_Softmax_Tanh_Scaling", BIAS BETWEEN "e:f32[o]~-1,1 > r:f32[n,o,1,oh,ow]",
        "n=16 c=16 o=64 d=32 h=128 w=128 kd=3 kh=3 kw=3 pd=1 ph=1 pw=1",
        "n=1 c=5 o=10 d=4 h=5 w=17 kd=3 kh=3 kw=3 pd=1 ph=1 pw=1"),
    ROW(16, "16_ConvTranspose2d_Mish_Add_Hardtanh_Scaling", BIAS ALL,
        "n=128 c=64 o=64 h=128 w=128 kh=3 kw=3 sh=2 sw=2 ph=1 pw=1 qh=1 qw=1",
        "n=2 c=10 o=6 h=5 w=17 kh=3 kw=3 sh=2 sw=2 ph=1 pw=1 qh=1 qw=1"),
    ROW(19, "19_ConvTranspose2d_GELU_GroupNorm", BIAS BETWEEN "stat:f32[n,g,2]! " AFFINE ALL,
        "n=128 c=64 o=64 h=256 w=256 kh=3 kw=3 g=8", "n=2 c=3 o=12 h=3 w=9 kh=3 kw=3 g=3"),
    ROW(34, "34_ConvTranspose3d_LayerNorm_GELU_Scaling", BIAS BETWEEN "weight:f32[ow]~0.5,1.5 shift:f32[ow]~-1,1 " ALL,
        "n=32 c=32 o=64 d=16 h=32 w=32 kd=4 kh=4 kw=4 sd=2 sh=2 sw=2 pd=1 ph=1 pw=1",
        "n=1 c=5 o=10 d=2 h=3 w=17 kd=4 kh=4 kw=4 sd=2 sh=2 sw=2 pd=1 ph=1 pw=1"),
    ROW(49, "49_ConvTranspose3d_Softmax_Sigmoid", BIAS BETWEEN ALL,
        "n=16 c=32 o=64 d=16 h=32 w=32 kd=3 kh=3 kw=3 sd=2 sh=2 sw=2 pd=1 ph=1 pw=1 qd=1 qh=1 qw=1",
        "n=1 c=5 o=10 d=2 h=3 w=17 kd=3 kh=3 kw=3 sd=2 sh=2 sw=2 pd=1 ph=1 pw=1 qd=1 qh=1 qw=1"),
    ROW(58, "58_ConvTranspose3d_LogSumExp_HardSwish_Subtract_Clamp",
        BIAS BETWEEN "e:f32[1]~-0.2,0.3 > r:f32[n,1,od,oh,ow]",
        "n=128 c=3 o=16 d=16 h=32 w=32 kd=3 kh=3 kw=3 sd=2 sh=2 sw=2 pd=1 ph=1 pw=1",
        "n=1 c=3 o=10 d=2 h=3 w=17 kd=3 kh=3 kw=3 sd=2 sh=2 sw=2 pd=1 ph=1 pw=1"),
    ROW(61, "61_ConvTranspose3d_ReLU_GroupNorm", BETWEEN "stat:f32[n,g,2]! " AFFINE ALL,
        "n=16 c=64 o=128 d=32 h=32 w=32 kd=3 kh=3 kw=3 g=8", "n=1 c=2 o=12 d=1 h=2 w=5 kd=3 kh=3 kw=3 g=3"),
    ROW(91, "91_ConvTranspose2d_Softmax_BiasAdd_Scaling_Sigmoid", BIAS BETWEEN "e:f32[o]~-1,1" ALL,
        "n=128 c=64 o=128 h=64 w=64 kh=4 kw=4 sh=2 sw=2 ph=1 pw=1 qh=1 qw=1",
        "n=1 c=5 o=20 h=5 w=17 kh=4 kw=4 sh=2 sw=2 ph=1 pw=1 qh=1 qw=1"),
    ROW(100, "100_ConvTranspose3d_Clamp_Min_Divide", BIAS ALL,
        "n=16 c=64 o=128 d=24 h=48 w=48 kd=3 kh=3 kw=3 sd=2 sh=2 sw=2 pd=1 ph=1 pw=1",
        "n=1 c=9 o=4 d=2 h=3 w=17 kd=3 kh=3 kw=3 sd=2 sh=2 sw=2 pd=1 ph=1 pw=1"),
};
const struct judge_family judge_turned = {problems, sizeof problems / sizeof *problems};
