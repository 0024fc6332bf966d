/* NPBench: systems of equations and factors of matrices. */
#include "program.h"

#include "cholesky.h"
#include "durbin.h"
#include "gramschm.h"
#include "lu.h"
#include "ludcmp.h"
#include "trisolv.h"

enum { BLOCK = 64 }; /* S of blocks.tile */

PROGRAM(cholesky)
{
    int status = 0;
    int64_t blocks = (SIZE("n") + BLOCK - 1) / BLOCK;
    for (int64_t k = 0; k < blocks && !status; k++) {
        status = judge_cholesky_diagonal(c->stream, VIEW(0), VIEW(1), VIEW(2), k);
        if (!status)
            status = judge_cholesky_below(c->stream, VIEW(0), VIEW(2), k);
    }
    return status;
}

/* With tensor `work` and the two behind it as workspaces. */
static int factor(struct judge_case *c, int work)
{
    int status = 0;
    int64_t blocks = (SIZE("n") + BLOCK - 1) / BLOCK;
    for (int64_t k = 0; k < blocks && !status; k++) {
        status = judge_lu_diagonal(c->stream, VIEW(0), VIEW(work), VIEW(work + 1), VIEW(work + 2), k);
        if (!status)
            status = judge_lu_below(c->stream, VIEW(0), VIEW(work + 2), k);
        if (!status)
            status = judge_lu_right(c->stream, VIEW(0), VIEW(work + 1), k);
    }
    return status;
}

PROGRAM(lu) { return factor(c, 1); }

PROGRAM(ludcmp)
{
    int status = factor(c, 2);
    return status ? status : judge_ludcmp_solve(c->stream, VIEW(0), VIEW(1), VIEW(5), VIEW(6));
}

PROGRAM(trisolv) { return judge_trisolv(c->stream, VIEW(0), VIEW(1), VIEW(2)); }
PROGRAM(durbin) { return judge_durbin(c->stream, VIEW(0), VIEW(1), VIEW(2)); }
PROGRAM(gramschm) { return judge_gramschm(c->stream, VIEW(0), VIEW(1), VIEW(2)); }

#define FACTORED "a:f64[n,n]~definite="
#define WORK "w:f64[64,64]! lower:f64[64,64]! upper:f64[64,64]!"
static const struct judge_problem problems[] = {
    ROW("cholesky", cholesky, FACTORED " w:f64[64,64]! inverse:f64[64,64]!", "n=1000", "n=150", F64),
    ROW("cholesky2", cholesky, FACTORED " w:f64[64,64]! inverse:f64[64,64]!", "n=1500", "n=131", F64),
    ROW("lu", lu, FACTORED " " WORK, "n=1000", "n=150", F64),
    ROW("ludcmp", ludcmp, FACTORED " b:f64[n] " WORK " > x:f64[n] y:f64[n]", "n=1000", "n=150", F64),
    ROW("trisolv", trisolv, "l:f64[n,n]~definite x:f64[n]= b:f64[n]", "n=6000", "n=150", F64),
    ROW("durbin", durbin, "r:f64[n]~-0.001,0.001 y:f64[2,n]! > result:f64[n]", "n=8000", "n=150", F64),
    ROW("gramschm", gramschm, "a:f64[m,n]= > q:f64[m,n] r:f64[n,n]", "m=600 n=500", "m=70 n=60", 1e-9),
};
const struct judge_family judge_solvers = {problems, sizeof problems / sizeof *problems};
