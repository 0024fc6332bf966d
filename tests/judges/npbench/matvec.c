/* NPBench: products of a matrix and vectors. */
#include "program.h"

#include "atax.h"
#include "bicg.h"
#include "gemver.h"
#include "gesummv.h"
#include "mvt.h"

PROGRAM(atax)
{
    int status = judge_atax_rows(c->stream, VIEW(0), VIEW(1), VIEW(2));
    return status ? status : judge_atax_columns(c->stream, VIEW(0), VIEW(2), VIEW(3));
}

PROGRAM(bicg)
{
    int status = judge_bicg_columns(c->stream, VIEW(0), VIEW(2), VIEW(3));
    return status ? status : judge_bicg_rows(c->stream, VIEW(0), VIEW(1), VIEW(4));
}

PROGRAM(mvt)
{
    int status = judge_mvt_rows(c->stream, VIEW(4), VIEW(2), VIEW(0));
    return status ? status : judge_mvt_columns(c->stream, VIEW(4), VIEW(3), VIEW(1));
}

PROGRAM(gesummv)
{
    return judge_gesummv(c->stream, NUMBER("alpha"), NUMBER("beta"), VIEW(0), VIEW(1), VIEW(2), VIEW(3));
}

PROGRAM(gemver)
{
    int status = judge_gemver_update(c->stream, VIEW(0), VIEW(1), VIEW(2), VIEW(3), VIEW(4));
    if (!status)
        status = judge_gemver_columns(c->stream, NUMBER("beta"), VIEW(0), VIEW(7), VIEW(8), VIEW(6));
    return status ? status : judge_gemver_rows(c->stream, NUMBER("alpha"), VIEW(0), VIEW(6), VIEW(5));
}

static const struct judge_problem problems[] = {
    ROW("atax", atax, "a:f64[m,n] x:f64[n] t:f64[m]! > y:f64[n]", "m=4000 n=5000", "m=130 n=77", F64),
    ROW("bicg", bicg, "a:f64[n,m] p:f64[m] r:f64[n] > s:f64[m] q:f64[n]", "m=4000 n=5000", "m=130 n=77", F64),
    ROW("mvt", mvt, "x1:f64[n]= x2:f64[n]= y_1:f64[n] y_2:f64[n] a:f64[n,n]", "n=5500", "n=131", F64),
    ROW("gesummv", gesummv, "a:f64[n,n] b:f64[n,n] x:f64[n] > y:f64[n]", "n=4000 alpha=1.5 beta=1.2",
        "n=131 alpha=1.5 beta=1.2", F64),
    ROW("gemver", gemver, "a:f64[n,n]= u1:f64[n] v1:f64[n] u2:f64[n] v2:f64[n] w:f64[n]= x:f64[n]= y:f64[n] z:f64[n]",
        "n=3000 alpha=1.5 beta=1.2", "n=131 alpha=1.5 beta=1.2", F64),
};
const struct judge_family judge_matvec = {problems, sizeof problems / sizeof *problems};
