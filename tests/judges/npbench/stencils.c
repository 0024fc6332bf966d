/* NPBench: elements from their neighbours, and recurrences along rows and columns. */
#include "program.h"

#include <math.h>

#include "adi.h"
#include "cavtflow.h"
#include "chanflow.h"
#include "deriche.h"
#include "fdtd_2d.h"
#include "hdiff.h"
#include "heat3d.h"
#include "jacobi1d.h"
#include "jacobi2d.h"
#include "seidel2d.h"
#include "vadv.h"

PROGRAM(jacobi1d) { return judge_jacobi1d(c->stream, SIZE("tsteps"), VIEW(0), VIEW(1)); }
PROGRAM(seidel2d) { return judge_seidel2d(c->stream, SIZE("tsteps"), VIEW(0)); }

PROGRAM(jacobi2d)
{
    int status = 0;
    for (int64_t t = 1; t < SIZE("tsteps") && !status; t++) {
        status = judge_jacobi2d(c->stream, VIEW(0), VIEW(1));
        if (!status)
            status = judge_jacobi2d(c->stream, VIEW(1), VIEW(0));
    }
    return status;
}

PROGRAM(heat3d)
{
    int status = 0;
    for (int64_t t = 1; t < SIZE("tsteps") && !status; t++) {
        status = judge_heat3d(c->stream, VIEW(0), VIEW(1));
        if (!status)
            status = judge_heat3d(c->stream, VIEW(1), VIEW(0));
    }
    return status;
}

PROGRAM(fdtd_2d)
{
    int status = 0;
    for (int64_t t = 0; t < SIZE("tmax") && !status; t++) {
        status = judge_fdtd_electric(c->stream, VIEW(0), VIEW(1), VIEW(2), VIEW(3), t);
        if (!status)
            status = judge_fdtd_magnetic(c->stream, VIEW(0), VIEW(1), VIEW(2));
    }
    return status;
}

PROGRAM(adi)
{
    double n = NUMBER("n"), steps = NUMBER("tsteps");
    double x = 2.0 * n * n / steps, y = n * n / steps;
    double a = -x / 2.0, b = 1.0 + y, d = -y / 2.0, e = 1.0 + y;
    int status = 0;
    for (int64_t t = 0; t < SIZE("tsteps") && !status; t++) {
        status = judge_adi_columns(c->stream, a, b, d, VIEW(0), VIEW(1), VIEW(2), VIEW(3));
        if (!status)
            status = judge_adi_rows(c->stream, a, d, e, VIEW(1), VIEW(0), VIEW(2), VIEW(3));
    }
    return status;
}

PROGRAM(deriche)
{
    double alpha = NUMBER("alpha"), e = exp(-alpha);
    double k = (1.0 - e) * (1.0 - e) / (1.0 + alpha * e - exp(2.0 * alpha));
    double before = k * e * (alpha - 1.0), next = k * e * (alpha + 1.0), after = -k * exp(-2.0 * alpha);
    double b1 = pow(2.0, -alpha), b2 = -exp(-2.0 * alpha);
    int status = judge_deriche_rows(c->stream, k, before, next, after, b1, b2, VIEW(0), VIEW(1));
    return status ? status : judge_deriche_columns(c->stream, k, before, next, after, b1, b2, VIEW(1), VIEW(2));
}

PROGRAM(hdiff) { return judge_hdiff(c->stream, VIEW(0), VIEW(2), VIEW(1)); }

PROGRAM(vadv)
{
    return judge_vadv(c->stream, NUMBER("dtrstage"), VIEW(0), VIEW(1), VIEW(2), VIEW(3), VIEW(4), VIEW(5), VIEW(6));
}

static struct judge_fluid fluid(const struct judge_case *c)
{
    return (struct judge_fluid){NUMBER("dx"), NUMBER("dy"), NUMBER("dt"), NUMBER("rho"), NUMBER("nu")};
}

PROGRAM(cavtflow)
{
    struct judge_fluid f = fluid(c);
    return judge_cavtflow(c->stream, &f, SIZE("nt"), SIZE("nit"), VIEW(0), VIEW(1), VIEW(2), VIEW(3), VIEW(4), VIEW(5),
                          VIEW(6));
}

PROGRAM(chanflow)
{
    struct judge_fluid f = fluid(c);
    return judge_chanflow(c->stream, &f, NUMBER("f"), SIZE("nit"), VIEW(0), VIEW(1), VIEW(2), VIEW(3), VIEW(4), VIEW(5),
                          VIEW(6), VIEW(7));
}

static void derive_steps(struct judge_case *c)
{
    judge_set_size(c, "dx", 2.0 / (NUMBER("nx") - 1));
    judge_set_size(c, "dy", 2.0 / (NUMBER("ny") - 1));
    judge_set_size(c, "dt", .1 / ((NUMBER("nx") - 1) * (NUMBER("ny") - 1)));
}

#define GRIDS "a:f64[n,n]= b:f64[n,n]="
#define FLUID "u:f64[ny,nx]~0,0= v:f64[ny,nx]~0,0= p:f64[ny,nx]"
#define COPIES " un:f64[ny,nx]! vn:f64[ny,nx]! pn:f64[ny,nx]! b:f64[ny,nx]!"
static const struct judge_problem problems[] = {
    ROW("jacobi1d", jacobi1d, "a:f64[n]= b:f64[n]=", "n=12000 tsteps=10000", "n=1100 tsteps=20", F64),
    ROW("jacobi2d", jacobi2d, GRIDS, "n=700 tsteps=200", "n=61 tsteps=9", F64),
    ROW("heat3d", heat3d, "a:f64[n,n,n]= b:f64[n,n,n]=", "n=70 tsteps=100", "n=25 tsteps=7", F64),
    ROW("fdtd_2d", fdtd_2d, "ex:f64[nx,ny]= ey:f64[nx,ny]= hz:f64[nx,ny]= _fict_:f64[tmax]", "nx=600 ny=700 tmax=100",
        "nx=41 ny=67 tmax=9", F64),
    ROW("seidel2d", seidel2d, "a:f64[n,n]=", "n=400 tsteps=50", "n=70 tsteps=5", F64),
    ROW("adi", adi, "u:f64[n,n]= v:f64[n,n]! p:f64[n,n]! q:f64[n,n]!", "n=200 tsteps=100", "n=75 tsteps=4", F64),
    ROW("deriche", deriche, "imgin:f64[w,h] y:f64[w,h]! > imgout:f64[w,h]", "w=1600 h=1200 alpha=0.25",
        "w=75 h=61 alpha=0.25", F64),
    ROW("hdiff", hdiff, "in_field:f64[i+4,j+4,k] coeff:f64[i,j,k] > out_field:f64[i,j,k]", "i=128 j=128 k=160",
        "i=9 j=11 k=70", F64),
    ROW("vadv", vadv,
        "utens_stage:f64[i,j,k]= u_stage:f64[i,j,k] wcon:f64[i+1,j,k] u_pos:f64[i,j,k] utens:f64[i,j,k] c:f64[i,k,j]! d:f64[i,k,j]!",
        "i=112 j=112 k=80 dtrstage=0.15", "i=5 j=21 k=13 dtrstage=0.15", F64),
    ROW_DERIVED("cavtflow", cavtflow, FLUID "~0,0=" COPIES, "ny=101 nx=101 nt=200 nit=50 rho=1 nu=0.1",
                "ny=21 nx=31 nt=5 nit=5 rho=1 nu=0.1", F64, derive_steps),
    ROW_DERIVED("chanflow", chanflow, FLUID "~1,1=" COPIES " > stepcount:i64[1]", "ny=61 nx=61 nit=5 rho=1 nu=0.1 f=1",
                "ny=15 nx=21 nit=5 rho=1 nu=0.1 f=1", F64, derive_steps),
};
const struct judge_family judge_stencils = {problems, sizeof problems / sizeof *problems};
