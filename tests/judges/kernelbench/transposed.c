/* KernelBench level 1, transposed convolutions: 57, 58, 61, 64, 65, 68 to 75, 77 to 79, 81.  Lines and planes are volumes
 * with extents of 1; sizes that are missing are 1, margins 0. */
#include "../judge.h"
#include "taps.h"

#include <math.h>

#include "57_transposed.h"
#include "58_transposed.h"
#include "61_transposed.h"
#include "64_transposed.h"
#include "65_transposed.h"
#include "68_transposed.h"
#include "69_transposed.h"
#include "70_transposed.h"
#include "71_transposed.h"
#include "72_transposed.h"
#include "73_transposed.h"
#include "74_transposed.h"
#include "75_transposed.h"
#include "77_transposed.h"
#include "78_transposed.h"
#include "79_transposed.h"
#include "81_transposed.h"
#include "spread.h"

static const double SUMS = 4e-6;

/* Tensors: x, w, w by taps, y. */
static int arrange(struct judge_case *c)
{
    const int64_t *extent = c->tensors[1].extent;
    int64_t taps = extent[2] * extent[3] * extent[4];
    int64_t view[7] = {c->tensors[1].view[0], extent[0], extent[1], taps, extent[1] * taps, taps, 1};
    return judge_arrange_turned(c->stream, (void *)view, judge_view(c, 2));
}

#define TRANSPOSED(kernel)                                                                                        \
    static int call_##kernel(struct judge_case *c)                                                                \
    {                                                                                                             \
        int status = arrange(c);                                                                                  \
        return status ? status : judge_##kernel(c->stream, judge_view(c, 0), judge_view(c, 2), judge_view(c, 3)); \
    }
TRANSPOSED(transposed_57)
TRANSPOSED(transposed_58)
TRANSPOSED(transposed_61)
TRANSPOSED(transposed_64)
TRANSPOSED(transposed_65)
TRANSPOSED(transposed_68)
TRANSPOSED(transposed_69)
TRANSPOSED(transposed_70)
TRANSPOSED(transposed_71)
TRANSPOSED(transposed_72)
TRANSPOSED(transposed_73)
TRANSPOSED(transposed_74)
TRANSPOSED(transposed_75)
TRANSPOSED(transposed_77)
TRANSPOSED(transposed_78)
TRANSPOSED(transposed_79)
TRANSPOSED(transposed_81)

static void derive(struct judge_case *c)
{
    if (judge_size_or(c, "g", -1) < 0)
        judge_set_size(c, "g", 1);
    taps_derive(c, taps_outer_turned);
}

static struct judge_value want(const struct judge_case *c, const int64_t *at)
{
    int64_t groups = judge_size(c, "g"), channels = judge_size(c, "c") / groups, outputs = judge_size(c, "o") / groups;
    int64_t first = at[1] / outputs * channels, taps = judge_size(c, "taps");
    int64_t size = judge_size(c, "d") * judge_size(c, "h") * judge_size(c, "w");
    struct judge_value sum = {0, 1e-3};
    for (int64_t k = 0; k < taps; k++) {
        int64_t place = taps_from_turned(c, at + 2, k);
        for (int64_t i = first; place >= 0 && i < first + channels; i++) {
            double term = judge_element(c, 0, (at[0] * channels * groups + i) * size + place) *
                          judge_element(c, 1, (i * outputs + at[1] % outputs) * taps + k);
            sum.value += term;
            sum.size += fabs(term);
        }
    }
    return sum;
}

#define SHAPE "x:f32[n,c,d,h,w] w:f32[c,o/g,kd,kh,kw]~-1,1 arranged:f32[taps,o/g,c]! > y:f32[n,o,od,oh,ow]"
static const struct judge_problem problems[] = {
    {"57_conv_transposed_2D__square_input__square_kernel", SHAPE, "n=8 c=64 o=64 d=1 h=1024 w=1024 kh=3 kw=3",
     "n=1 c=20 o=40 d=1 h=9 w=37 kh=3 kw=3", call_transposed_57, want, derive, SUMS},
    {"58_conv_transposed_3D__asymmetric_input__asymmetric_kernel", SHAPE,
     "n=16 c=32 o=16 d=16 h=32 w=64 kd=3 kh=5 kw=7", "n=1 c=20 o=16 d=5 h=9 w=37 kd=3 kh=5 kw=7", call_transposed_58,
     want, derive, SUMS},
    {"61_conv_transposed_3D__square_input__square_kernel", SHAPE, "n=8 c=48 o=48 d=64 h=64 w=64 kd=3 kh=3 kw=3",
     "n=1 c=20 o=40 d=5 h=9 w=37 kd=3 kh=3 kw=3", call_transposed_61, want, derive, SUMS},
    {"64_conv_transposed_1D", SHAPE, "n=64 c=128 o=128 d=1 h=1 w=65536 kw=3", "n=1 c=20 o=40 d=1 h=1 w=37 kw=3",
     call_transposed_64, want, derive, SUMS},
    {"65_conv_transposed_2D__square_input__asymmetric_kernel", SHAPE, "n=8 c=64 o=64 d=1 h=512 w=512 kh=3 kw=7",
     "n=1 c=20 o=40 d=1 h=9 w=37 kh=3 kw=7", call_transposed_65, want, derive, SUMS},
    {"68_conv_transposed_3D__square_input__asymmetric_kernel", SHAPE, "n=16 c=32 o=64 d=64 h=64 w=64 kd=3 kh=5 kw=5",
     "n=1 c=20 o=40 d=5 h=9 w=37 kd=3 kh=5 kw=5", call_transposed_68, want, derive, SUMS},
    {"69_conv_transposed_2D__asymmetric_input__asymmetric_kernel", SHAPE, "n=64 c=64 o=128 d=1 h=128 w=256 kh=3 kw=5",
     "n=1 c=20 o=40 d=1 h=9 w=37 kh=3 kw=5", call_transposed_69, want, derive, SUMS},
    {"70_conv_transposed_3D__asymmetric_input__square_kernel", SHAPE, "n=8 c=48 o=24 d=96 h=96 w=96 kd=3 kh=3 kw=3",
     "n=1 c=20 o=24 d=5 h=9 w=37 kd=3 kh=3 kw=3", call_transposed_70, want, derive, SUMS},
    {"71_conv_transposed_2D__asymmetric_input__square_kernel", SHAPE, "n=8 c=32 o=32 d=1 h=512 w=1024 kh=3 kw=3",
     "n=1 c=20 o=32 d=1 h=9 w=37 kh=3 kw=3", call_transposed_71, want, derive, SUMS},
    {"72_conv_transposed_3D_asymmetric_input_asymmetric_kernel___strided_padded_grouped_", SHAPE,
     "n=8 c=32 o=32 d=12 h=24 w=48 kd=3 kh=5 kw=7 sd=2 sh=2 sw=2 pd=1 ph=2 pw=3 qd=1 qh=1 qw=1 g=4",
     "n=1 c=32 o=32 d=5 h=9 w=37 kd=3 kh=5 kw=7 sd=2 sh=2 sw=2 pd=1 ph=2 pw=3 qd=1 qh=1 qw=1 g=4", call_transposed_72,
     want, derive, SUMS},
    {"73_conv_transposed_3D_asymmetric_input_square_kernel__strided_padded__grouped", SHAPE,
     "n=4 c=32 o=32 d=32 h=64 w=128 kd=3 kh=3 kw=3 sd=2 sh=2 sw=2 pd=1 ph=1 pw=1",
     "n=1 c=32 o=32 d=5 h=9 w=37 kd=3 kh=3 kw=3 sd=2 sh=2 sw=2 pd=1 ph=1 pw=1", call_transposed_73, want, derive, SUMS},
    {"74_conv_transposed_1D_dilated", SHAPE, "n=32 c=32 o=64 d=1 h=1 w=131072 kw=5 lw=3",
     "n=1 c=20 o=40 d=1 h=1 w=37 kw=5 lw=3", call_transposed_74, want, derive, SUMS},
    {"75_conv_transposed_2D_asymmetric_input_asymmetric_kernel_strided__grouped____padded____dilated__", SHAPE,
     "n=16 c=32 o=64 d=1 h=128 w=256 kh=3 kw=5 sh=2 sw=3 ph=1 pw=2 lh=2 g=4",
     "n=1 c=32 o=64 d=1 h=9 w=37 kh=3 kw=5 sh=2 sw=3 ph=1 pw=2 lh=2 g=4", call_transposed_75, want, derive, SUMS},
    {"77_conv_transposed_3D_square_input_square_kernel___padded____dilated____strided__", SHAPE,
     "n=16 c=32 o=64 d=16 h=32 w=32 kd=3 kh=3 kw=3 sd=2 sh=2 sw=2 pd=1 ph=1 pw=1 ld=2 lh=2 lw=2",
     "n=1 c=20 o=40 d=5 h=9 w=37 kd=3 kh=3 kw=3 sd=2 sh=2 sw=2 pd=1 ph=1 pw=1 ld=2 lh=2 lw=2", call_transposed_77, want,
     derive, SUMS},
    {"78_conv_transposed_2D_asymmetric_input_asymmetric_kernel___padded__", SHAPE,
     "n=8 c=32 o=32 d=1 h=512 w=1024 kh=3 kw=7 ph=1 pw=3", "n=1 c=20 o=32 d=1 h=9 w=37 kh=3 kw=7 ph=1 pw=3",
     call_transposed_78, want, derive, SUMS},
    {"79_conv_transposed_1D_asymmetric_input_square_kernel___padded____strided____dilated__", SHAPE,
     "n=16 c=32 o=64 d=1 h=1 w=131072 kw=3 sw=2 pw=1 lw=2", "n=1 c=20 o=40 d=1 h=1 w=37 kw=3 sw=2 pw=1 lw=2",
     call_transposed_79, want, derive, SUMS},
    {"81_conv_transposed_2D_asymmetric_input_square_kernel___dilated____padded____strided__", SHAPE,
     "n=16 c=32 o=64 d=1 h=64 w=128 kh=3 kw=3 sh=5 sw=5 ph=1 pw=1 lh=2 lw=2",
     "n=1 c=20 o=40 d=1 h=9 w=37 kh=3 kw=3 sh=5 sw=5 ph=1 pw=1 lh=2 lw=2", call_transposed_81, want, derive, SUMS},
};
const struct judge_family judge_transposed = {problems, sizeof problems / sizeof *problems};
