/* KernelBench level 2, convolutions: tensors are x, w by channels and taps, b, w by taps, what lies between, r.
 * BASE is what one element of the convolution is: of image n, channel o, at `to`. */
#ifndef JUDGE_FUSED_H
#define JUDGE_FUSED_H
#include "../kernelbench/taps.h"
#include "level2.h"

typedef struct judge_value base_of(const struct judge_case *c, int64_t n, int64_t o, const int64_t *to);

/* The sum over taps and channels, where `from` says what a tap sees; weights are [o, c, tap], or turned [c, o, tap]. */
static inline struct judge_value fused_sum(const struct judge_case *c, int64_t n, int64_t o, const int64_t *to,
                                           int64_t (*from)(const struct judge_case *, const int64_t *, int64_t),
                                           bool turned)
{
    int64_t channels = judge_size(c, "c"), outputs = judge_size(c, "o"), taps = judge_size(c, "taps");
    int64_t size = judge_size(c, "d") * judge_size(c, "h") * judge_size(c, "w");
    struct judge_value sum = {tensor_named(c, "b") < 0 ? 0 : number(c, "b", o), 1e-3};
    for (int64_t k = 0; k < taps; k++) {
        int64_t place = from(c, to, k);
        for (int64_t i = 0; place >= 0 && i < channels; i++) {
            double term = judge_element(c, 0, (n * channels + i) * size + place) *
                          judge_element(c, 1, (turned ? i * outputs + o : o * channels + i) * taps + k);
            sum.value += term, sum.size += fabs(term);
        }
    }
    return sum;
}

/* Moments over all places of channels first to first + count of images n to n + images. */
static inline struct moments fused_moments(const struct judge_case *c, int64_t n, int64_t images, int64_t first,
                                           int64_t count, base_of *base)
{
    struct gathered g = {0};
    int64_t depth = judge_size(c, "od"), height = judge_size(c, "oh"), width = judge_size(c, "ow");
    for (int64_t i = 0; i < images * count * depth * height * width; i++) {
        int64_t to[3] = {i / width / height % depth, i / width % height, i % width}, rest = i / width / height / depth;
        gather(&g, base(c, n + rest / count, first + rest % count, to));
    }
    return moments_of(g);
}

/* An element normalized in its group of channels, or with images in its channel over all of them. */
static inline struct judge_value fused_grouped(const struct judge_case *c, int64_t n, int64_t o, const int64_t *to,
                                               base_of *base)
{
    int64_t size = judge_size(c, "o") / judge_size(c, "g");
    struct moments m = fused_moments(c, n, 1, o / size * size, size, base);
    return affine(normal(base(c, n, o, to), m), number(c, "weight", o), number(c, "shift", o));
}
static inline struct judge_value fused_batch(const struct judge_case *c, int64_t n, int64_t o, const int64_t *to,
                                             base_of *base)
{
    struct moments m = fused_moments(c, 0, judge_size(c, "n"), o, 1, base);
    return affine(normal(base(c, n, o, to), m), number(c, "weight", o), number(c, "shift", o));
}

/* Of softmax over the channels the denominator for channel o, and the logarithm of the sum of exponentials. */
static inline double fused_softmax(const struct judge_case *c, int64_t n, const int64_t *to, double own, base_of *base)
{
    double sum = 0;
    for (int64_t o = 0; o < judge_size(c, "o"); o++)
        sum += exp((double)base(c, n, o, to).value - own);
    return sum;
}
static inline struct judge_value fused_log_sum_exp(const struct judge_case *c, int64_t n, const int64_t *to,
                                                   base_of *base)
{
    struct judge_value first = base(c, n, 0, to);
    return (struct judge_value){first.value + log(fused_softmax(c, n, to, (double)first.value, base)),
                                2 * first.size + 8};
}
#endif
