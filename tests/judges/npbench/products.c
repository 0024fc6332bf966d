/* NPBench: products of matrices, and what is made of them. */
#include "program.h"

#include "2mm.h"
#include "3mm.h"
#include "correlat.h"
#include "covarian.h"
#include "covarian2.h"
#include "doitgen.h"
#include "gemm.h"
#include "symm.h"
#include "syr2k.h"
#include "syrk.h"
#include "trmm.h"

#define ALPHA NUMBER("alpha")
#define BETA NUMBER("beta")
#define SCALARS " alpha=1.5 beta=1.2"

PROGRAM(gemm) { return judge_gemm(c->stream, ALPHA, BETA, VIEW(0), VIEW(1), VIEW(2)); }

PROGRAM(k2mm)
{
    int status = judge_two_products(c->stream, ALPHA, VIEW(0), VIEW(1), VIEW(4));
    return status ? status : judge_two_products_added(c->stream, BETA, VIEW(4), VIEW(2), VIEW(3));
}

PROGRAM(k3mm)
{
    int status = judge_three_products(c->stream, VIEW(0), VIEW(1), VIEW(4));
    if (!status)
        status = judge_three_products(c->stream, VIEW(4), VIEW(2), VIEW(5));
    return status ? status : judge_three_products(c->stream, VIEW(5), VIEW(3), VIEW(6));
}

PROGRAM(symm) { return judge_symm(c->stream, ALPHA, BETA, VIEW(0), VIEW(1), VIEW(2)); }
PROGRAM(syrk) { return judge_syrk(c->stream, ALPHA, BETA, VIEW(0), VIEW(1)); }
PROGRAM(syr2k) { return judge_syr2k(c->stream, ALPHA, BETA, VIEW(0), VIEW(1), VIEW(2)); }
PROGRAM(trmm) { return judge_trmm(c->stream, ALPHA, VIEW(0), VIEW(1)); }
PROGRAM(doitgen) { return judge_doitgen(c->stream, VIEW(0), VIEW(1)); }

PROGRAM(correlat)
{
    int status = judge_correlat_scale(c->stream, NUMBER("floatn"), VIEW(0));
    return status ? status : judge_correlat(c->stream, VIEW(0), VIEW(1));
}

PROGRAM(covarian)
{
    int status = judge_covarian_center(c->stream, VIEW(0));
    return status ? status : judge_covarian(c->stream, NUMBER("floatn"), VIEW(0), VIEW(1));
}

PROGRAM(covarian2)
{
    int status = judge_covarian2_center(c->stream, VIEW(0), VIEW(1));
    return status ? status : judge_covarian2(c->stream, VIEW(1), VIEW(2));
}

static const struct judge_problem problems[] = {
    ROW("gemm", gemm, "c:f64[ni,nj]= a:f64[ni,nk] b:f64[nk,nj]", "ni=1000 nj=1100 nk=1200" SCALARS,
        "ni=50 nj=61 nk=73" SCALARS, F64),
    ROW("2mm", k2mm, "a:f64[ni,nk] b:f64[nk,nj] c:f64[nj,nl] d:f64[ni,nl]= t:f64[ni,nj]!",
        "ni=800 nj=850 nk=900 nl=950" SCALARS, "ni=37 nj=53 nk=61 nl=140" SCALARS, F64),
    ROW("3mm", k3mm, "a:f64[ni,nk] b:f64[nk,nj] c:f64[nj,nm] d:f64[nm,nl] t:f64[ni,nj]! s:f64[ni,nm]! > r:f64[ni,nl]",
        "ni=800 nj=850 nk=900 nl=950 nm=1000", "ni=37 nj=53 nk=61 nl=140 nm=45", F64),
    ROW("symm", symm, "c:f64[m,n]= a:f64[m,m] b:f64[m,n]", "m=1000 n=1200" SCALARS, "m=105 n=70" SCALARS, F64),
    ROW("syrk", syrk, "c:f64[n,n]= a:f64[n,m]", "m=1000 n=1200" SCALARS, "m=50 n=107" SCALARS, F64),
    ROW("syr2k", syr2k, "c:f64[n,n]= a:f64[n,m] b:f64[n,m]", "m=1000 n=1200" SCALARS, "m=50 n=107" SCALARS, F64),
    ROW("trmm", trmm, "a:f64[m,m] b:f64[m,n]=", "m=1000 n=1200 alpha=1.5", "m=105 n=70 alpha=1.5", F64),
    ROW("doitgen", doitgen, "a:f64[nr,nq,np]= c4:f64[np,np]", "nr=110 nq=125 np=128", "nr=9 nq=11 np=43", F64),
    ROW("correlat", correlat, "data:f64[n,m]= > corr:f64[m,m]", "m=1200 n=1400 floatn=1400", "m=110 n=90 floatn=90",
        F64),
    ROW("covarian", covarian, "data:f64[n,m]= > cov:f64[m,m]", "m=1200 n=1400 floatn=1400", "m=110 n=90 floatn=90",
        F64),
    ROW("covarian2", covarian2, "data:f64[n,m] t:f64[n,m]! > cov:f64[m,m]", "m=1200 n=1400 floatn=1400",
        "m=110 n=90 floatn=90", F64),
};
const struct judge_family judge_products = {problems, sizeof problems / sizeof *problems};
