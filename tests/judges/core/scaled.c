/* Products with scales: tensors are a, its scale s, b, t, and what is added; each is known by its name. */
#include "core.h"
#include <string.h>

static int named(const struct judge_case *c, const char *name)
{
    int t = c->tensor_count - 1;
    while (t >= 0 && strcmp(c->tensors[t].name, name))
        t--;
    return t;
}

/* Number k of row or column i, of a factor of which `k_first` says which dimension runs along k. */
static long double number(const struct judge_case *c, int t, int64_t i, int64_t k, bool k_first)
{
    static const double fours[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    const struct judge_tensor *tensor = &c->tensors[t];
    bool packed = tensor->extent[!k_first] != judge_size(c, "k");
    int64_t p = packed ? k / 2 : k;
    long double v = k_first ? AT(c, t, p, i) : AT(c, t, i, p);
    if (packed) {
        int bits = (int)v >> (k % 2 ? 4 : 0) & 15;
        return bits & 8 ? -fours[bits & 7] : fours[bits & 7];
    }
    return tensor->type == JUDGE_U8 ? element_decode(JUDGE_F8E4M3, (uint64_t)v) : v;
}

static long double scale(const struct judge_case *c, int t, int64_t i, int64_t k)
{
    if (t < 0)
        return 1;
    long double v = AT(c, t, i, k / (judge_size(c, "k") / c->tensors[t].extent[1]));
    return c->tensors[t].type == JUDGE_U8 ? ldexpl(1, (int)v - 127) : v;
}

static struct judge_value scaled(const struct judge_case *c, const int64_t *at)
{
    int a = named(c, "a"), b = named(c, "b"), s = named(c, "s"), t = named(c, "t"), d = named(c, "d");
    struct judge_value r = {0, 0};
    if (d >= 0)
        r.value = AT(c, d, at[0], at[1]), r.size = fabsl(r.value);
    for (int64_t k = 0; k < judge_size(c, "k"); k++) {
        long double x = number(c, a, at[0], k, false) * scale(c, s, at[0], k);
        long double y = number(c, b, at[1], k, true) * scale(c, t, at[1], k);
        r.value += x * y, r.size += fabsl(x * y);
    }
    return r;
}
WANT(fp8) { return scaled(c, at); }
WANT(fp4) { return scaled(c, at); }

#include "scaled_rows.h"
