/* KernelBench level 2: what its families share.  Tensors of a row are known by their names. */
#ifndef JUDGE_LEVEL2_H
#define JUDGE_LEVEL2_H
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../judge.h"

/* Number of the tensor of that name; -1: there is none. */
static inline int tensor_named(const struct judge_case *c, const char *name)
{
    int t = c->tensor_count - 1;
    while (t >= 0 && strcmp(c->tensors[t].name, name))
        t--;
    return t;
}

static inline int tensor_of(const struct judge_case *c, const char *name)
{
    int t = tensor_named(c, name);
    if (t < 0) {
        fprintf(stderr, "%s: no tensor %s\n", c->problem->name, name);
        exit(2);
    }
    return t;
}
#define V(name) judge_view(c, tensor_of(c, #name))
static inline double number(const struct judge_case *c, const char *name, int64_t i)
{
    return judge_element(c, tensor_of(c, name), i);
}

/* Ends a call of several kernels with the first that fails. */
#define RUN(kernel, ...)                                     \
    do {                                                     \
        int status = judge_##kernel(c->stream, __VA_ARGS__); \
        if (status)                                          \
            return status;                                   \
    } while (0)
#define CALL(number) static int call_##number(struct judge_case *c)
#define WANT(number) static struct judge_value want_##number(const struct judge_case *c, const int64_t *at)

/* ---- values with the size of what rounding errors are made of ---- */

static inline double mish(double x) { return x * tanh(log1p(exp(x))); }
static inline double gelu(double x) { return 0.5 * x * (1 + erf(x * M_SQRT1_2)); }
static inline double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static inline double silu(double x) { return x * sigmoid(x); }
static inline double relu(double x) { return x > 0 ? x : 0; }
static inline double leaky(double x) { return x > 0 ? x : 0.01 * x; }
static inline double clamp(double x, double low, double high) { return fmin(fmax(x, low), high); }

/* f(v), where f is no steeper than `steep`. */
static inline struct judge_value after(struct judge_value v, double value, double steep)
{
    return (struct judge_value){value, steep * v.size + fabs(value)};
}

/* Mean, 1/sqrt(variance + 1e-5) and the largest size of count values. */
struct moments {
    double mean, by, size;
};
struct gathered {
    double sum, squares, size;
    int64_t count;
};
static inline void gather(struct gathered *g, struct judge_value v)
{
    g->sum += (double)v.value, g->squares += (double)(v.value * v.value), g->count++;
    g->size = fmax(g->size, (double)v.size);
}
static inline struct moments moments_of(struct gathered g)
{
    double mean = g.sum / (double)g.count;
    return (struct moments){mean, 1 / sqrt(fmax(g.squares / (double)g.count - mean * mean, 0) + 1e-5), g.size};
}
static inline struct judge_value normal(struct judge_value v, struct moments m)
{
    double value = ((double)v.value - m.mean) * m.by;
    return (struct judge_value){value, m.size * m.by * (2 + fabs(value))};
}
static inline struct judge_value affine(struct judge_value v, double weight, double shift)
{
    return (struct judge_value){v.value * weight + shift, v.size * fabs(weight) + fabs(shift)};
}
#endif
