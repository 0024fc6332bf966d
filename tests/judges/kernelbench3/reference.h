/* KernelBench level 3: layers in f64 and plain C.  A network is computed for one part of its batch at a time, and the
 * last part is kept, so that all of its elements can be asked for. */
#ifndef JUDGE_REFERENCE_H
#define JUDGE_REFERENCE_H
#include "../kernelbench2/level2.h"

enum { MOST_KEPT = 1 << 26 }; /* elements; of larger tensors each is made when it is asked for */

struct values {
    const struct judge_case *c;
    int t;
    double *kept;
};

static inline double *reserve(int64_t count)
{
    double *memory = calloc((size_t)count + 1, sizeof *memory);
    if (!memory) {
        fprintf(stderr, "no memory for %lld numbers\n", (long long)count);
        exit(2);
    }
    return memory;
}

static inline struct values values_of(const struct judge_case *c, const char *name)
{
    struct values v = {c, tensor_of(c, name), NULL};
    int64_t count = c->tensors[v.t].elements;
    if (count <= MOST_KEPT) {
        v.kept = reserve(count);
        for (int64_t i = 0; i < count; i++)
            v.kept[i] = judge_element(c, v.t, i);
    }
    return v;
}
static inline double value(const struct values *v, int64_t i)
{
    return v->kept ? v->kept[i] : judge_element(v->c, v->t, i);
}

/* y[n] = w[first + n] . x + b[shift + n], for rows of w as long as x. */
static inline void dense_row(const double *x, int64_t length, const struct values *w, int64_t first,
                             const struct values *b, int64_t shift, double *y, int64_t count)
{
    for (int64_t n = 0; n < count; n++) {
        double sum = value(b, shift + n);
        for (int64_t k = 0; k < length; k++)
            sum += x[k] * value(w, (first + n) * length + k);
        y[n] = sum;
    }
}

/* The same of `rows` rows by whole layers of their names. */
static inline double *dense_rows(const struct judge_case *c, const double *x, int64_t rows, int64_t length,
                                 const char *weights, const char *bias)
{
    struct values w = values_of(c, weights), b = values_of(c, bias);
    int64_t count = c->tensors[b.t].elements;
    double *y = reserve(rows * count);
    for (int64_t m = 0; m < rows; m++)
        dense_row(x + m * length, length, &w, 0, &b, 0, y + m * count, count);
    free(w.kept), free(b.kept);
    return y;
}

static inline double *layer_norm(const struct judge_case *c, const double *x, int64_t rows, const char *weights,
                                 const char *bias)
{
    struct values w = values_of(c, weights), b = values_of(c, bias);
    int64_t count = c->tensors[b.t].elements;
    double *y = reserve(rows * count);
    for (int64_t m = 0; m < rows; m++) {
        struct gathered g = {0};
        for (int64_t n = 0; n < count; n++)
            gather(&g, (struct judge_value){x[m * count + n], 0});
        struct moments of = moments_of(g);
        for (int64_t n = 0; n < count; n++)
            y[m * count + n] = (x[m * count + n] - of.mean) * of.by * value(&w, n) + value(&b, n);
    }
    free(w.kept), free(b.kept);
    return y;
}

/* Causal attention of one head's queries at step t; qkv has 3*heads*width numbers a step. */
static inline void attend(const double *qkv, int64_t t, int64_t heads, int64_t width, int64_t head, bool by_relu,
                          double *y)
{
    int64_t step = 3 * heads * width;
    const double *q = qkv + t * step + head * width;
    double total = 0, *score = reserve(t + 1), most = -INFINITY;
    for (int64_t j = 0; j <= t; j++) {
        const double *key = qkv + j * step + (heads + head) * width;
        for (int64_t d = 0; d < width; d++)
            score[j] += q[d] * key[d] / sqrt((double)width);
        most = fmax(most, score[j]);
    }
    for (int64_t j = 0; j <= t; j++)
        total += score[j] = by_relu ? relu(score[j]) : exp(score[j] - most);
    for (int64_t d = 0; d < width; d++) {
        y[d] = 0;
        for (int64_t j = 0; j <= t; j++)
            y[d] += score[j] * qkv[j * step + (2 * heads + head) * width + d] / (by_relu ? 1 : total);
    }
    free(score);
}

/* Part `part` of the network's result, as `compute` gives it, kept until another one is asked for. */
static inline const double *part_of(const struct judge_case *c, int64_t part,
                                    double *(*compute)(const struct judge_case *, int64_t))
{
    static const struct judge_problem *problem;
    static int64_t kept_part;
    static double *kept;
    if (problem != c->problem || kept_part != part) {
        free(kept);
        kept = compute(c, part);
        problem = c->problem, kept_part = part;
    }
    return kept;
}
static inline struct judge_value about(double value) { return (struct judge_value){value, 1 + fabs(value)}; }
#endif
