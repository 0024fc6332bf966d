/* NPBench: what goes where data says, and one after the other. */
#include "program.h"

#include <string.h>

#include "azimhist.h"
#include "azimnaiv.h"
#include "crc16.h"
#include "floydwar.h"
#include "nbody.h"
#include "nussinov.h"
#include "spmv.h"

PROGRAM(azimhist)
{
    int status = judge_azimhist_range(c->stream, VIEW(1), VIEW(2));
    return status ? status : judge_azimhist(c->stream, VIEW(0), VIEW(1), VIEW(2), VIEW(3), VIEW(4), VIEW(5), VIEW(6));
}

PROGRAM(azimnaiv)
{
    int status = judge_azimnaiv_largest(c->stream, VIEW(1), VIEW(2));
    return status ? status : judge_azimnaiv(c->stream, VIEW(0), VIEW(1), VIEW(2), VIEW(3));
}

PROGRAM(crc16) { return judge_crc16(c->stream, VIEW(0), 0x8408, VIEW(1)); }
PROGRAM(spmv) { return judge_spmv(c->stream, VIEW(0), VIEW(1), VIEW(2), VIEW(3), VIEW(4)); }

/* Rows begin at their share of the elements, or one behind. */
static double spmv_input(const struct judge_case *c, int t, int64_t i)
{
    if (strcmp(c->tensors[t].name, "a_row"))
        return judge_element(c, t, i);
    int64_t rows = SIZE("m"), elements = SIZE("nnz");
    return (double)(i * elements / rows) + (i > 0 && i < rows ? judge_element(c, t, i) : 0);
}

PROGRAM(floydwar)
{
    int status = 0;
    for (int64_t k = 0; k < SIZE("n") && !status; k++)
        status = judge_floydwar(c->stream, VIEW(0), k);
    return status;
}

PROGRAM(nussinov) { return judge_nussinov(c->stream, VIEW(0), VIEW(1)); }

PROGRAM(nbody)
{
    return judge_nbody(c->stream, VIEW(0), VIEW(1), VIEW(2), VIEW(3), NUMBER("dt"), NUMBER("g"), NUMBER("softening"),
                       VIEW(4), VIEW(5));
}

#define RINGS "data:f64[n] radius:f64[n]"
static const struct judge_problem problems[] = {
    ROW("azimhist", azimhist, RINGS " range:f64[2]! bin:i64[1024]! weight:f64[npt]! count:i64[npt]! > mean:f64[npt]",
        "n=4000000 npt=1000", "n=5000 npt=20", F64),
    ROW("azimnaiv", azimnaiv, RINGS " largest:f64[1]! > mean:f64[npt]", "n=400000 npt=300", "n=5000 npt=20", F64),
    ROW("crc16", crc16, "data:u8[n]~0,256 > crc:i64[1]", "n=1000000", "n=1600", 0),
    {"spmv", "a_row:i32[m+1]~0,2 a_col:i32[nnz]~0,n a_val:f64[nnz] x:f64[n] > y:f64[m]", "m=131072 n=131072 nnz=262144",
     "m=407 n=300 nnz=1000", call_spmv, NULL, NULL, F64, peer_spmv, spmv_input},
    ROW("floydwar", floydwar, "path:i32[n,n]~1,1000=", "n=700", "n=70", 0),
    ROW("nussinov", nussinov, "seq:i32[n]~0,4 > table:i32[n,n]", "n=1000", "n=60", 0),
    ROW("nbody", nbody, "mass:f64[n,1] pos:f64[n,3] vel:f64[n,3] acc:f64[n,3]! > ke:f64[nt+1] pe:f64[nt+1]",
        "n=500 nt=30 dt=0.01 g=1 softening=0.1", "n=25 nt=40 dt=0.01 g=1 softening=0.1", 1e-9),
};
const struct judge_family judge_irregular = {problems, sizeof problems / sizeof *problems};
