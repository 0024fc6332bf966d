/* KernelBench level 2: convolutions with what follows, of every third operator: 1 to 85. */
#include "fused.h"

#include "1_relu.h"
#include "4_mish.h"
#include "7_activations.h"
#include "25_min.h"
#include "31_min.h"
#include "43_log_sum_exp.h"
#include "46_average_pool.h"
#include "52_batch_norm.h"
#include "67_average.h"
#include "73_batch_norm.h"
#include "79_instance_norm.h"
#include "82_max_pool.h"
#include "85_group_norm.h"
#include "pieces.h"

/* ---- calls ---- */

#define ARRANGE RUN(arrange_2, V(w), V(to))
/* The convolution alone, or with another bias; behind it the result y, or r where it is the last kernel. */
#define CONV(number, y)                              \
    do {                                             \
        ARRANGE;                                     \
        RUN(conv_##number, V(x), V(to), V(b), V(y)); \
    } while (0)
#define CONV_BIAS(number, y)                               \
    do {                                                   \
        ARRANGE;                                           \
        RUN(conv_##number, V(x), V(to), V(b), V(e), V(y)); \
    } while (0)

CALL(1)
{
    CONV_BIAS(1, r);
    return 0;
}
CALL(4)
{
    CONV(4, r);
    return 0;
}
CALL(7)
{
    CONV_BIAS(7, r);
    return 0;
}
CALL(25)
{
    CONV(25, y);
    return judge_channels_25(c->stream, V(y), V(r));
}
CALL(31)
{
    CONV_BIAS(31, r);
    return 0;
}
CALL(43)
{
    CONV(43, y);
    return judge_channels_43(c->stream, V(y), V(r));
}
CALL(46)
{
    CONV(46, y);
    return judge_pooled_46(c->stream, V(y), V(r));
}
CALL(52)
{
    CONV(52, y);
    RUN(batch_moments, V(y), V(stat));
    return judge_normal_52(c->stream, V(y), V(stat), V(weight), V(shift), V(r));
}
CALL(67)
{
    CONV(67, y);
    return judge_mean_67(c->stream, V(y), V(r));
}
CALL(73)
{
    CONV(73, y);
    RUN(batch_moments, V(y), V(stat));
    return judge_normal_73(c->stream, V(y), V(stat), V(weight), V(shift), V(r));
}
CALL(79)
{
    CONV_BIAS(79, y);
    RUN(group_moments, V(y), V(stat));
    return judge_channels_79(c->stream, V(y), V(stat), V(e), V(r));
}
CALL(82)
{
    CONV_BIAS(82, y);
    return judge_pooled_82(c->stream, V(y), V(r));
}
CALL(85)
{
    CONV(85, y);
    RUN(group_moments, V(y), V(stat));
    return judge_pooled_85(c->stream, V(y), V(stat), V(weight), V(shift), V(scale), V(r));
}

/* ---- what is wanted ---- */

static struct judge_value base(const struct judge_case *c, int64_t n, int64_t o, const int64_t *to)
{
    return fused_sum(c, n, o, to, taps_from, false);
}

WANT(1)
{
    struct judge_value v = base(c, at[0], at[1], at + 2);
    return after(v, relu((double)v.value) + number(c, "e", at[1]), 1);
}

WANT(4)
{
    struct judge_value v = base(c, at[0], at[1], at + 2);
    return after(v, mish(mish((double)v.value)), 1.3);
}

WANT(7)
{
    struct judge_value v = base(c, at[0], at[1], at + 2);
    return after(v, sigmoid(gelu(leaky(relu((double)v.value)))) + number(c, "e", at[1]), 1);
}

WANT(25)
{
    struct judge_value least = {INFINITY, 0};
    for (int64_t o = 0; o < judge_size(c, "o"); o++) {
        struct judge_value v = base(c, at[0], o, at + 2);
        least = v.value < least.value ? v : least;
    }
    return after(least, tanh(tanh((double)least.value)), 1);
}

WANT(31)
{
    struct judge_value v = base(c, at[0], at[1], at + 2);
    return after(v, (fmin((double)v.value, 0.5) + number(c, "e", at[1])) * 2, 2);
}

/* The largest of 2 x 2 x 2. */
static struct judge_value largest(const struct judge_case *c, int64_t n, int64_t o, const int64_t *at)
{
    struct judge_value most = {-INFINITY, 0};
    for (int i = 0; i < 8; i++) {
        int64_t to[3] = {2 * at[0] + i / 4, 2 * at[1] + i / 2 % 2, 2 * at[2] + i % 2};
        struct judge_value v = base(c, n, o, to);
        most = v.value > most.value ? v : most;
    }
    return most;
}

WANT(43)
{
    struct judge_value s = fused_log_sum_exp(c, at[0], at + 2, largest);
    return after(s, relu((double)s.value), 1);
}

WANT(46)
{
    struct judge_value sum = {0, 0};
    for (int i = 0; i < 4; i++) {
        int64_t to[3] = {at[2], 2 * at[3] + i / 2, 2 * at[4] + i % 2};
        struct judge_value v = base(c, at[0], at[1], to);
        sum.value += (tanhl(v.value - 0.5L) - 0.2L) / 4, sum.size += v.size;
    }
    return sum;
}

static struct judge_value mished(const struct judge_case *c, int64_t n, int64_t o, const int64_t *to)
{
    struct judge_value v = base(c, n, o, to);
    return after(v, mish((double)v.value), 1.1);
}
WANT(52) { return fused_batch(c, at[0], at[1], at + 2, mished); }

WANT(67)
{
    int64_t height = judge_size(c, "oh"), width = judge_size(c, "ow");
    struct judge_value sum = {0, 0};
    for (int64_t i = 0; i < height * width; i++) {
        int64_t to[3] = {0, i / width, i % width};
        struct judge_value v = base(c, at[0], at[1], to);
        sum.value += gelu((double)v.value) / (double)(height * width), sum.size = fmaxl(sum.size, v.size);
    }
    return sum;
}

WANT(73) { return affine(fused_batch(c, at[0], at[1], at + 2, base), 2, 0); }

static struct judge_value scaled(const struct judge_case *c, int64_t n, int64_t o, const int64_t *to)
{
    return affine(base(c, n, o, to), number(c, "e", o), 0);
}

WANT(79)
{
    struct judge_value most = {-INFINITY, 0};
    for (int64_t o = 0; o < judge_size(c, "o"); o++) {
        struct judge_value v = normal(scaled(c, at[0], o, at + 2), fused_moments(c, at[0], 1, o, 1, scaled));
        double value = clamp((double)v.value, -1, 1) * number(c, "e", o);
        most.value = fmaxl(most.value, value), most.size = fmaxl(most.size, v.size);
    }
    return most;
}

WANT(82)
{
    struct judge_value most = {-INFINITY, 0};
    for (int i = 0; i < 16; i++) {
        int64_t to[3] = {at[2], 4 * at[3] + i / 4, 4 * at[4] + i % 4};
        struct judge_value v = base(c, at[0], at[1], to);
        most.value = fmaxl(most.value, tanhl(v.value) * 2 + number(c, "e", at[1]));
        most.size = fmaxl(most.size, 2 * v.size);
    }
    return most;
}

WANT(85)
{
    int64_t size = judge_size(c, "o") / judge_size(c, "g");
    struct moments m = fused_moments(c, at[0], 1, at[1] / size * size, size, base);
    struct judge_value most = {-INFINITY, 0};
    for (int i = 0; i < 16; i++) {
        int64_t to[3] = {at[2], 4 * at[3] + i / 4, 4 * at[4] + i % 4};
        struct judge_value v = affine(
            affine(normal(base(c, at[0], at[1], to), m), number(c, "weight", at[1]), number(c, "shift", at[1])),
            number(c, "scale", at[1]), 0);
        most.value = fmaxl(most.value, v.value), most.size = fmaxl(most.size, v.size);
    }
    return after(most, clamp((double)most.value, 0, 1), 1);
}

static void derive(struct judge_case *c) { taps_derive(c, taps_outer); }

#define CONVOLUTION "x:f32[n,c,d,h,w] w:f32[o,c,taps]~-0.3,0.3 b:f32[o]~-1,1 to:f32[taps,o,c]! "
#define BETWEEN "y:f32[n,o,od,oh,ow]! "
#define AFFINE "weight:f32[o]~0.5,1.5 shift:f32[o]~-1,1 "
#define ALL " > r:f32[n,o,od,oh,ow]"
#define ROW(number, name, shape, full, small) \
    {name, CONVOLUTION shape, full, small, call_##number, want_##number, derive, 4e-6, NULL, NULL}
static const struct judge_problem problems[] = {
    ROW(1, "1_Conv2D_ReLU_BiasAdd", "e:f32[o]~-1,1" ALL, "n=128 c=64 o=128 h=128 w=128 kh=3 kw=3",
        "n=2 c=10 o=6 h=6 w=37 kh=3 kw=3"),
    ROW(4, "4_Conv2d_Mish_Mish", ALL, "n=64 c=64 o=128 h=256 w=256 kh=3 kw=3", "n=2 c=10 o=6 h=6 w=37 kh=3 kw=3"),
    ROW(7, "7_Conv3d_ReLU_LeakyReLU_GELU_Sigmoid_BiasAdd", "e:f32[o]~-1,1" ALL,
        "n=64 c=8 o=32 d=32 h=64 w=64 kd=3 kh=3 kw=3", "n=1 c=8 o=10 d=4 h=7 w=23 kd=3 kh=3 kw=3"),
    ROW(25, "25_Conv2d_Min_Tanh_Tanh", BETWEEN "> r:f32[n,1,od,oh,ow]", "n=128 c=16 o=64 h=256 w=256 kh=3 kw=3",
        "n=2 c=16 o=20 h=7 w=37 kh=3 kw=3"),
    ROW(31, "31_Conv2d_Min_Add_Multiply", "e:f32[o]~-1,1" ALL, "n=128 c=64 o=128 h=128 w=128 kh=3 kw=3",
        "n=2 c=10 o=6 h=6 w=37 kh=3 kw=3"),
    ROW(43, "43_Conv3d_Max_LogSumExp_ReLU", BETWEEN "> r:f32[n,1,od/2,oh/2,ow/2]",
        "n=4 c=32 o=64 d=32 h=128 w=128 kd=3 kh=3 kw=3 pd=1 ph=1 pw=1",
        "n=1 c=10 o=10 d=5 h=6 w=23 kd=3 kh=3 kw=3 pd=1 ph=1 pw=1"),
    ROW(46, "46_Conv2d_Subtract_Tanh_Subtract_AvgPool", BETWEEN "> r:f32[n,o,od,oh/2,ow/2]",
        "n=128 c=64 o=128 h=128 w=128 kh=3 kw=3", "n=2 c=10 o=6 h=6 w=37 kh=3 kw=3"),
    ROW(52, "52_Conv2d_Activation_BatchNorm", BETWEEN "stat:f32[o,2]! " AFFINE ALL,
        "n=64 c=64 o=128 h=128 w=128 kh=3 kw=3", "n=2 c=6 o=10 h=6 w=17 kh=3 kw=3"),
    ROW(67, "67_Conv2d_GELU_GlobalAvgPool", BETWEEN "> r:f32[n,o]", "n=128 c=8 o=64 h=256 w=256 kh=3 kw=3",
        "n=2 c=8 o=20 h=7 w=37 kh=3 kw=3"),
    ROW(73, "73_Conv2d_BatchNorm_Scaling", BETWEEN "stat:f32[o,2]! " AFFINE ALL, "n=128 c=8 o=64 h=128 w=128 kh=3 kw=3",
        "n=2 c=6 o=10 h=6 w=17 kh=3 kw=3"),
    ROW(79, "79_Conv3d_Multiply_InstanceNorm_Clamp_Multiply_Max",
        "e:f32[o]~-1,1 " BETWEEN "stat:f32[n,o,2]! > r:f32[n,1,od,oh,ow]",
        "n=128 c=3 o=16 d=16 h=32 w=32 kd=3 kh=3 kw=3", "n=2 c=3 o=5 d=4 h=5 w=9 kd=3 kh=3 kw=3"),
    ROW(82, "82_Conv2d_Tanh_Scaling_BiasAdd_Max", "e:f32[o]~-1,1 " BETWEEN "> r:f32[n,o,od,oh/4,ow/4]",
        "n=128 c=8 o=64 h=256 w=256 kh=3 kw=3", "n=2 c=8 o=10 h=13 w=37 kh=3 kw=3"),
    ROW(85, "85_Conv2d_GroupNorm_Scale_MaxPool_Clamp",
        BETWEEN "stat:f32[n,g,2]! " AFFINE "scale:f32[o]~0.5,1.5 > r:f32[n,o,od,oh/4,ow/4]",
        "n=128 c=8 o=64 h=128 w=128 kh=3 kw=3 g=16", "n=2 c=3 o=6 h=13 w=27 kh=3 kw=3 g=3"),
};
const struct judge_family judge_windows = {problems, sizeof problems / sizeof *problems};
