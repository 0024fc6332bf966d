/* KernelBench level 2: products with what follows, of every third operator: 22 to 97. */
#include "level2.h"

#include "22_log_sum_exp.h"
#include "28_instance_norm.h"
#include "37_group_norm.h"
#include "40_scaled.h"
#include "55_max_pool.h"
#include "64_log_sum_exp.h"
#include "70_sigmoid.h"
#include "76_relu.h"
#include "88_group_norm.h"
#include "94_group_norm.h"
#include "97_batch_norm.h"

/* ---- calls ---- */

static int64_t group_of(const struct judge_case *c) { return judge_size(c, "n") / judge_size(c, "g"); }

CALL(22)
{
    RUN(gemm_22, V(x), V(w), V(b), V(y));
    return judge_rows_22(c->stream, V(y), V(r));
}

CALL(28)
{
    RUN(gemm_28, V(x), V(w), V(b), V(y));
    return judge_rows_28(c->stream, V(y), V(z), V(r));
}

CALL(37)
{
    RUN(gemm_37, V(x), V(w), V(b), V(e), V(y));
    return judge_groups_37(c->stream, V(y), V(weight), V(shift), group_of(c), V(r));
}

CALL(40) { return judge_gemm_40(c->stream, V(x), V(w), V(b), V(r)); }

CALL(55)
{
    RUN(gemm_55, V(x), V(w), V(b), V(y));
    return judge_rows_55(c->stream, V(y), V(r));
}

CALL(64)
{
    RUN(gemm_64, V(x), V(w), V(b), V(y));
    return judge_rows_64(c->stream, V(y), V(r));
}

CALL(70) { return judge_gemm_70(c->stream, V(x), V(w), V(b), V(r)); }
CALL(76) { return judge_gemm_76(c->stream, V(x), V(w), V(e), V(r)); }

CALL(88)
{
    RUN(gemm_88, V(x), V(w), V(b), V(y));
    return judge_groups_88(c->stream, V(y), V(weight), V(shift), V(factor), group_of(c), V(r));
}

CALL(94)
{
    RUN(gemm_94, V(x), V(w), V(b), V(e), V(y));
    return judge_groups_94(c->stream, V(y), V(weight), V(shift), group_of(c), V(r));
}

CALL(97)
{
    RUN(gemm_97, V(x), V(w), V(b), V(y));
    return judge_columns_97(c->stream, V(y), V(weight), V(shift), V(e), V(r));
}

/* ---- what is wanted ---- */

/* Element [m, n] of the linear layer. */
static struct judge_value linear(const struct judge_case *c, int64_t m, int64_t n)
{
    int64_t k_count = judge_size(c, "k");
    struct judge_value sum = {tensor_named(c, "b") < 0 ? 0 : number(c, "b", n), 1e-3};
    for (int64_t k = 0; k < k_count; k++) {
        double term = judge_element(c, 0, m * k_count + k) * judge_element(c, 1, n * k_count + k);
        sum.value += term, sum.size += fabs(term);
    }
    return sum;
}

/* The logarithm of the sum of the exponentials of a row, of which f makes each element. */
static struct judge_value log_sum_exp(const struct judge_case *c, int64_t m, double (*f)(double))
{
    double sum = 0, size = 0, shift = f((double)linear(c, m, 0).value);
    for (int64_t n = 0; n < judge_size(c, "n"); n++) {
        struct judge_value v = linear(c, m, n);
        sum += exp(f((double)v.value) - shift), size = fmax(size, (double)v.size);
    }
    return (struct judge_value){shift + log(sum), 4 * size};
}

static double same(double x) { return x; }
static double clamped(double x) { return clamp(4 * x, -10, 10); }

WANT(22)
{
    struct judge_value s = log_sum_exp(c, at[0], clamped);
    return after(s, (double)s.value * mish((double)s.value), 2 * fabs((double)s.value) + 1);
}

WANT(28)
{
    struct gathered g = {0};
    int64_t n_count = judge_size(c, "n");
    double z = number(c, "z", at[0] * n_count + at[1]);
    for (int64_t n = 0; n < n_count; n++)
        gather(&g, linear(c, at[0], n));
    return affine(affine(normal(linear(c, at[0], at[1]), moments_of(g)), 1, z), z, 0);
}

/* An element normalized in its group, of which f makes each element that comes to it. */
static struct judge_value grouped(const struct judge_case *c, const int64_t *at,
                                  struct judge_value (*f)(const struct judge_case *, int64_t, int64_t))
{
    struct gathered g = {0};
    int64_t size = group_of(c), first = at[1] / size * size;
    for (int64_t n = first; n < first + size; n++)
        gather(&g, f(c, at[0], n));
    return affine(normal(f(c, at[0], at[1]), moments_of(g)), number(c, "weight", at[1]), number(c, "shift", at[1]));
}

static struct judge_value swished(const struct judge_case *c, int64_t m, int64_t n)
{
    struct judge_value v = linear(c, m, n);
    return affine(after(v, silu((double)v.value), 1.1), 1, number(c, "e", n));
}

static struct judge_value mished(const struct judge_case *c, int64_t m, int64_t n)
{
    struct judge_value v = affine(linear(c, m, n), 1, number(c, "e", n));
    return after(v, mish(clamp((double)v.value, -1, 1)), 1.1);
}

WANT(37) { return grouped(c, at, swished); }
WANT(94) { return grouped(c, at, mished); }
WANT(40) { return affine(linear(c, at[0], at[1]), 1.5, 0); }

WANT(55)
{
    struct judge_value sum = {0, 0};
    for (int64_t n = 0; n + 1 < judge_size(c, "n"); n += 2) {
        struct judge_value left = linear(c, at[0], n), right = linear(c, at[0], n + 1);
        sum.value += 0.5L * fmaxl(left.value, right.value), sum.size += left.size + right.size;
    }
    return sum;
}

WANT(64)
{
    struct judge_value s = log_sum_exp(c, at[0], same);
    return after(s, gelu(gelu(leaky(leaky((double)s.value)))), 1.3);
}

WANT(70)
{
    struct judge_value v = linear(c, at[0], at[1]);
    return after(v, (double)v.value + 2 * sigmoid((double)v.value), 1.5);
}

WANT(76)
{
    struct judge_value v = affine(linear(c, at[0], at[1]), 1, number(c, "e", at[1]));
    return after(v, relu((double)v.value), 1);
}

WANT(88)
{
    struct judge_value v = grouped(c, at, linear);
    double once = silu((double)v.value) * number(c, "factor", at[1]);
    return after(v, silu(once), 1.3);
}

WANT(97)
{
    struct gathered g = {0};
    for (int64_t m = 0; m < judge_size(c, "m"); m++)
        gather(&g, linear(c, m, at[1]));
    struct judge_value v = affine(normal(linear(c, at[0], at[1]), moments_of(g)), number(c, "weight", at[1]),
                                  number(c, "shift", at[1]) + number(c, "e", 0));
    return after(v, silu((double)v.value), 1.1);
}

#define LINEAR "x:f32[m,k] w:f32[n,k]~-0.1,0.1 b:f32[n]~-1,1 "
#define ROW(number, name, shape, full, small) \
    {name, LINEAR shape, full, small, call_##number, want_##number, NULL, 4e-6, NULL, NULL}
#define AFFINE "weight:f32[n]~0.5,1.5 shift:f32[n]~-1,1 "
static const struct judge_problem problems[] = {
    ROW(22, "22_Matmul_Scale_ResidualAdd_Clamp_LogSumExp_Mish", "y:f32[m,n]! > r:f32[m,1]", "m=1024 k=8192 n=8192",
        "m=5 k=37 n=43"),
    ROW(28, "28_BMM_InstanceNorm_Sum_ResidualAdd_Multiply", "z:f32[m,n] y:f32[m,n]! > r:f32[m,n]",
        "m=1024 k=8192 n=8192", "m=5 k=37 n=43"),
    ROW(37, "37_Matmul_Swish_Sum_GroupNorm", "e:f32[n]~-1,1 " AFFINE "y:f32[m,n]! > r:f32[m,n]",
        "m=32768 k=1024 n=4096 g=64", "m=5 k=37 n=45 g=5"),
    ROW(40, "40_Matmul_Scaling_ResidualAdd", "> r:f32[m,n]", "m=16384 k=4096 n=4096", "m=5 k=37 n=43"),
    ROW(55, "55_Matmul_MaxPool_Sum_Scale", "y:f32[m,n]! > r:f32[m]", "m=128 k=32768 n=32768", "m=5 k=37 n=43"),
    ROW(64, "64_Gemm_LogSumExp_LeakyReLU_LeakyReLU_GELU_GELU", "y:f32[m,n]! > r:f32[m,1]", "m=1024 k=8192 n=8192",
        "m=5 k=37 n=43"),
    ROW(70, "70_Gemm_Sigmoid_Scaling_ResidualAdd", "> r:f32[m,n]", "m=1024 k=8192 n=8192", "m=5 k=37 n=43"),
    {"76_Gemm_Add_ReLU", "x:f32[m,k] w:f32[n,k]~-0.1,0.1 e:f32[n]~-1,1 > r:f32[m,n]", "m=1024 k=8192 n=8192",
     "m=5 k=37 n=43", call_76, want_76, NULL, 4e-6, NULL, NULL},
    ROW(88, "88_Gemm_GroupNorm_Swish_Multiply_Swish", AFFINE "factor:f32[n]~-1,1 y:f32[m,n]! > r:f32[m,n]",
        "m=1024 k=8192 n=8192 g=256", "m=5 k=37 n=48 g=4"),
    ROW(94, "94_Gemm_BiasAdd_Hardtanh_Mish_GroupNorm", "e:f32[n]~-1,1 " AFFINE "y:f32[m,n]! > r:f32[m,n]",
        "m=1024 k=8192 n=8192 g=256", "m=5 k=37 n=45 g=5"),
    ROW(97, "97_Matmul_BatchNorm_BiasAdd_Divide_Swish", AFFINE "e:f32[1]~-1,1 y:f32[m,n]! > r:f32[m,n]",
        "m=1024 k=8192 n=8192", "m=35 k=17 n=43"),
};
const struct judge_family judge_gemms = {problems, sizeof problems / sizeof *problems};
