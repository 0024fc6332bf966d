/* KernelBench level 1, pooling: 41 to 46.  A dimension that a problem does not have has an extent of 1 in its sizes. */
#include "../judge.h"

#include <math.h>

#include "41_max_1d.h"
#include "42_max_2d.h"
#include "43_max_3d.h"
#include "44_average_1d.h"
#include "45_average_2d.h"
#include "46_average_3d.h"

#define POOL(kernel)                                                          \
    static int call_##kernel(struct judge_case *c)                            \
    {                                                                         \
        return judge_##kernel(c->stream, judge_view(c, 0), judge_view(c, 1)); \
    }
POOL(max_1d)
POOL(max_2d)
POOL(max_3d)
POOL(average_1d)
POOL(average_2d)
POOL(average_3d)

static int64_t outer(const struct judge_case *c, const char *name)
{
    int64_t length = judge_size(c, "k"), padding = judge_size_or(c, "p", 0), dilation = judge_size_or(c, "l", 1);
    return (judge_size_or(c, name, 1) + 2 * padding - dilation * (length - 1) - 1) / judge_size_or(c, "t", 1) + 1;
}

static void derive(struct judge_case *c)
{
    judge_set_size(c, "ow", outer(c, "w"));
    judge_set_size(c, "oh", outer(c, "h"));
    judge_set_size(c, "od", outer(c, "d"));
}

/* Sum and largest of the window of an element of the result. */
struct window {
    double sum, size, largest, count;
};

static struct window look_at(const struct judge_case *c, const int64_t *at)
{
    const struct judge_tensor *x = &c->tensors[0];
    int64_t length = judge_size(c, "k"), padding = judge_size_or(c, "p", 0), dilation = judge_size_or(c, "l", 1);
    int64_t stride = judge_size_or(c, "t", 1), windows = 1;
    struct window window = {.largest = -INFINITY};
    for (int d = 2; d < x->rank; d++)
        windows *= length;
    window.count = (double)windows;
    for (int64_t i = 0; i < windows; i++) {
        int64_t place = at[0] * x->extent[1] + at[1], rest = i;
        bool inside = true;
        for (int d = 2; d < x->rank; d++, rest /= length) {
            int64_t k = at[d] * stride - padding + rest % length * dilation;
            inside &= k >= 0 && k < x->extent[d];
            place = place * x->extent[d] + k;
        }
        double value = inside ? judge_element(c, 0, place) : 0;
        window.sum += value;
        window.size += fabs(value);
        if (inside && value > window.largest)
            window.largest = value;
    }
    return window;
}

static struct judge_value want_max(const struct judge_case *c, const int64_t *at)
{
    return (struct judge_value){look_at(c, at).largest, 0};
}

static struct judge_value want_average(const struct judge_case *c, const int64_t *at)
{
    struct window window = look_at(c, at);
    return (struct judge_value){window.sum / window.count, window.size / window.count};
}

#define LINES "x:f32[n,c,w]~-1,1 > y:f32[n,c,ow]"
#define PLANES "x:f32[n,c,h,w]~-1,1 > y:f32[n,c,oh,ow]"
#define SPACES "x:f32[n,c,d,h,w]~-1,1 > y:f32[n,c,od,oh,ow]"
static const struct judge_problem problems[] = {
    {"41_Max_Pooling_1D", LINES, "n=64 c=192 w=65536 k=8 p=4 l=3", "n=2 c=3 w=601 k=8 p=4 l=3", call_max_1d, want_max,
     derive, 1},
    {"42_Max_Pooling_2D", PLANES, "n=32 c=64 h=512 w=512 k=4 p=1", "n=2 c=2 h=29 w=37 k=4 p=1", call_max_2d, want_max,
     derive, 1},
    {"43_Max_Pooling_3D", SPACES, "n=16 c=32 d=128 h=128 w=128 k=3 t=2 p=1 l=3",
     "n=1 c=2 d=13 h=21 w=27 k=3 t=2 p=1 l=3", call_max_3d, want_max, derive, 1},
    {"44_Average_Pooling_1D", LINES, "n=64 c=128 w=65536 k=8 p=4", "n=2 c=3 w=601 k=8 p=4", call_average_1d,
     want_average, derive, 1e-6},
    {"45_Average_Pooling_2D", PLANES, "n=16 c=64 h=2048 w=2048 k=11 t=11", "n=2 c=3 h=71 w=93 k=11 t=11",
     call_average_2d, want_average, derive, 1e-6},
    {"46_Average_Pooling_3D", SPACES, "n=16 c=32 d=128 h=128 w=256 k=3 t=2 p=1", "n=1 c=2 d=13 h=21 w=27 k=3 t=2 p=1",
     call_average_3d, want_average, derive, 1e-6},
};
const struct judge_family judge_pooling = {problems, sizeof problems / sizeof *problems};
