/* Functions of floats: errors are in units in the last place of what is wanted. */
#include "core.h"

/* A result that the type has no room for is infinite. */
static struct judge_value within(const struct judge_case *c, long double value, long double about)
{
    long double near = element_round(result_type(c), value, ELEMENT_NEAREST);
    return (struct judge_value){isinf(near) ? near : value, element_unit(result_type(c), about)};
}

#define FUNCTION(name, formula)            \
    WANT(name)                             \
    {                                      \
        long double x = operand(c, 0, at); \
        long double r = formula;           \
        return within(c, r, r);            \
    }
FUNCTION(exp, expl(x))
FUNCTION(exp2, exp2l(x))
FUNCTION(expm1, expm1l(x))
FUNCTION(log, logl(x))
FUNCTION(log2, log2l(x))
FUNCTION(log1p, log1pl(x))
FUNCTION(sin, sinl(x))
FUNCTION(cos, cosl(x))
FUNCTION(tan, tanl(x))
FUNCTION(asin, asinl(x))
FUNCTION(acos, acosl(x))
FUNCTION(atan, atanl(x))
FUNCTION(sinh, sinhl(x))
FUNCTION(cosh, coshl(x))
FUNCTION(tanh, tanhl(x))
FUNCTION(erf, erfl(x))
FUNCTION(sqrt, sqrtl(x))
FUNCTION(rsqrt, 1 / sqrtl(x))
FUNCTION(rcp, 1 / x)
FUNCTION(sigmoid, 1 / (1 + expl(-x)))

#define FUNCTION_OF_TWO(name, formula)                            \
    WANT(name)                                                    \
    {                                                             \
        long double x = operand(c, 0, at), y = operand(c, 1, at); \
        long double r = formula;                                  \
        return within(c, r, r);                                   \
    }
FUNCTION_OF_TWO(pow, powl(x, y))
FUNCTION_OF_TWO(atan2, atan2l(x, y))
FUNCTION_OF_TWO(fdiv, x / y)
FUNCTION_OF_TWO(magnitude, hypotl(x, y))

/* Those that subtract: units of the argument, where it is larger. */
#define ACTIVATION(name, formula)                       \
    WANT(name)                                          \
    {                                                   \
        long double x = operand(c, 0, at);              \
        long double r = formula;                        \
        return within(c, r, fmaxl(fabsl(r), fabsl(x))); \
    }
ACTIVATION(gelu, 0.5L * x * (1 + erfl(x * 0.70710678118654752440L)))
ACTIVATION(gelutanh, 0.5L * x * (1 + tanhl(0.79788456080286535588L * (x + 0.044715L * x * x * x))))
ACTIVATION(silu, x / (1 + expl(-x)))
ACTIVATION(softplus, log1pl(expl(x)))

#include "mathematics_rows.h"
