/* KernelBench level 1, one element of the result for each of the input: 19 to 22, 25 to 32, 88. */
#include "../judge.h"

#include <math.h>

#include "19_relu.h"
#include "20_leaky_relu.h"
#include "21_sigmoid.h"
#include "22_tanh.h"
#include "25_swish.h"
#include "26_gelu.h"
#include "27_selu.h"
#include "28_hard_sigmoid.h"
#include "29_softplus.h"
#include "30_softsign.h"
#include "31_elu.h"
#include "32_hard_tanh.h"
#include "88_new_gelu.h"

/* A call, and what is wanted of x. */
#define ELEMENTWISE(kernel, formula)                                                              \
    static int call_##kernel(struct judge_case *c)                                                \
    {                                                                                             \
        return judge_##kernel(c->stream, judge_view(c, 0), judge_view(c, 1));                     \
    }                                                                                             \
    static struct judge_value want_##kernel(const struct judge_case *c, const int64_t *at)        \
    {                                                                                             \
        double x = judge_element(c, 0, at[0] * c->tensors[0].extent[1] + at[1]), value = formula; \
        return (struct judge_value){value, fabs(value) + 0.1 * fabs(x)};                          \
    }
ELEMENTWISE(relus, x > 0 ? x : 0)
ELEMENTWISE(leaky_relu, x > 0 ? x : 0.01 * x)
ELEMENTWISE(sigmoids, 1 / (1 + exp(-x)))
ELEMENTWISE(tanhs, tanh(x))
ELEMENTWISE(swish, x / (1 + exp(-x)))
ELEMENTWISE(gelus, 0.5 * x * (1 + erf(x * M_SQRT1_2)))
ELEMENTWISE(selus, 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * expm1(x)))
ELEMENTWISE(hard_sigmoid, fmin(fmax(x / 6 + 0.5, 0), 1))
ELEMENTWISE(softpluss, log1p(exp(x)))
ELEMENTWISE(softsign, x / (1 + fabs(x)))
ELEMENTWISE(elus, x > 0 ? x : expm1(x))
ELEMENTWISE(hard_tanh, fmin(fmax(x, -1), 1))
ELEMENTWISE(new_gelu, 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))))

#define ROW(name, kernel, full) \
    {name, "x:f32[m,n]~-4,4 > y:f32[m,n]", full, "m=5 n=819", call_##kernel, want_##kernel, NULL, 1e-6}
static const struct judge_problem problems[] = {
    ROW("19_ReLU", relus, "m=4096 n=393216"),
    ROW("20_LeakyReLU", leaky_relu, "m=4096 n=393216"),
    ROW("21_Sigmoid", sigmoids, "m=4096 n=393216"),
    ROW("22_Tanh", tanhs, "m=4096 n=393216"),
    ROW("25_Swish", swish, "m=4096 n=393216"),
    ROW("26_GELU_", gelus, "m=4096 n=393216"),
    ROW("27_SELU_", selus, "m=4096 n=393216"),
    ROW("28_HardSigmoid", hard_sigmoid, "m=4096 n=393216"),
    ROW("29_Softplus", softpluss, "m=4096 n=393216"),
    ROW("30_Softsign", softsign, "m=4096 n=393216"),
    ROW("31_ELU", elus, "m=4096 n=393216"),
    ROW("32_HardTanh", hard_tanh, "m=4096 n=393216"),
    ROW("88_MinGPTNewGelu", new_gelu, "m=8192 n=8192"),
};
const struct judge_family judge_elementwise = {problems, sizeof problems / sizeof *problems};
