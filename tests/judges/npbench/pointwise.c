/* NPBench: each element by itself. */
#include "program.h"

#include "adist.h"
#include "clipping.h"
#include "mandel1.h"
#include "mandel2.h"
#include "npgofast.h"

PROGRAM(adist) { return judge_adist(c->stream, VIEW(0), VIEW(1), VIEW(2), VIEW(3), VIEW(4)); }

PROGRAM(clipping) { return judge_clipping(c->stream, VIEW(0), VIEW(1), SIZE("a"), SIZE("b"), SIZE("c"), VIEW(2)); }

PROGRAM(npgofast)
{
    int status = judge_npgofast_trace(c->stream, VIEW(0), VIEW(1));
    return status ? status : judge_npgofast(c->stream, VIEW(0), VIEW(1), VIEW(2));
}

#define STEP(from, to, count) ((NUMBER(to) - NUMBER(from)) / (NUMBER(count) - 1))

PROGRAM(mandel1)
{
    return judge_mandel1(c->stream, NUMBER("xmin"), NUMBER("ymin"), STEP("xmin", "xmax", "xn"),
                         STEP("ymin", "ymax", "yn"), SIZE("maxiter"), NUMBER("horizon"), VIEW(0), VIEW(1));
}

PROGRAM(mandel2)
{
    return judge_mandel2(c->stream, NUMBER("xmin"), NUMBER("ymin"), STEP("xmin", "xmax", "xn"),
                         STEP("ymin", "ymax", "yn"), SIZE("maxiter"), NUMBER("horizon"), VIEW(0), VIEW(1));
}

/* Steps are powers of two, so that all compute the same places; errors double with each of few iterations. */
#define PLANE "> z:c128[yn,xn] n:i64[yn,xn]"
#define ANGLES "theta_1:f64[n] phi_1:f64[n] theta_2:f64[n] phi_2:f64[n] > d:f64[n]"
static const struct judge_problem problems[] = {
    ROW("adist", adist, ANGLES, "n=1000000", "n=1333", F64),
    ROW("clipping", clipping, "array_1:i64[m,n]~0,1000 array_2:i64[m,n]~0,1000 > r:i64[m,n]",
        "m=3000 n=3000 a=4 b=3 c=9", "m=41 n=67 a=4 b=3 c=9", 0),
    ROW("npgofast", npgofast, "a:f64[n,n] t:f64[1]! > r:f64[n,n]", "n=3000", "n=77", F64),
    ROW("mandel1", mandel1, PLANE, "xn=513 yn=513 xmin=-1.75 xmax=0.25 ymin=-1 ymax=1 maxiter=60 horizon=2",
        "xn=65 yn=33 xmin=-1.75 xmax=0.25 ymin=-1 ymax=1 maxiter=14 horizon=2", 1e-9),
    ROW("mandel2", mandel2, PLANE, "xn=513 yn=513 xmin=-2 xmax=0 ymin=-1 ymax=1 maxiter=60 horizon=2",
        "xn=65 yn=33 xmin=-2 xmax=0 ymin=-1 ymax=1 maxiter=14 horizon=2", 1e-9),
};
const struct judge_family judge_pointwise = {problems, sizeof problems / sizeof *problems};
