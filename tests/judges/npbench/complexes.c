/* NPBench: complex numbers. */
#include "program.h"

#include "coninteg.h"
#include "sselfeng.h"
#include "sthamfft.h"

enum { WIDE = 64 }; /* W of sthamfft.tile */

PROGRAM(sthamfft)
{
    int64_t radix = SIZE("r"), before = 1;
    int status = judge_fft_parts(c->stream, VIEW(0), VIEW(1), VIEW(2)), from = 1;
    for (int64_t i = 0; i < SIZE("k") && !status; i++, before *= radix, from = 4 - from) {
        int64_t after = SIZE("n") / radix / before;
        status = (after % WIDE ? judge_fft_narrow : judge_fft_wide)(c->stream, VIEW(from), VIEW(from + 1),
                                                                    VIEW(4 - from), VIEW(5 - from), before, (int)radix);
    }
    return status ? status : judge_fft_whole(c->stream, VIEW(from), VIEW(from + 1), VIEW(5));
}

PROGRAM(coninteg)
{
    int status = judge_coninteg_zero(c->stream, VIEW(6));
    if (!status)
        status = judge_coninteg_zero(c->stream, VIEW(7));
    for (int64_t p = 0; p < SIZE("numintpts") && !status; p++)
        status = judge_coninteg(c->stream, VIEW(0), VIEW(1), VIEW(2), p, VIEW(3), VIEW(4), VIEW(5), VIEW(6), VIEW(7));
    return status;
}

PROGRAM(sselfeng) { return judge_sselfeng(c->stream, VIEW(0), VIEW(1), VIEW(2), VIEW(3), VIEW(4)); }

#define PARTS "x:c128[n] re:f64[n]! im:f64[n]! re2:f64[n]! im2:f64[n]! > y:c128[n]"
#define INTEGRAL \
    "ham:c128[slabperbc+1,nr,nr] int_pts:c128[numintpts] y:c128[nr,nm] re:f64[nr,nr+nm]! im:f64[nr,nr+nm]! factors:f64[2,nr]! > p0:c128[nr,nm] p1:c128[nr,nm]"
#define SCATTERING                                                                                                     \
    "neigh_idx:i32[na,nb]~0,na dh:c128[na,nb,n3d,norb,norb] g:c128[nkz,ne,na,norb,norb] d:c128[nqz,nw,na,nb,n3d,n3d] " \
    "sigma:c128[nkz,ne,na,norb,norb]~0,0="
static const struct judge_problem problems[] = {
    ROW("sthamfft", sthamfft, PARTS, "n=262144 r=2 k=18", "n=1024 r=4 k=5", F64),
    ROW("coninteg", coninteg, INTEGRAL, "nr=100 nm=200 slabperbc=2 numintpts=32", "nr=20 nm=33 slabperbc=2 numintpts=5",
        1e-8),
    ROW("sselfeng", sselfeng, SCATTERING, "nkz=3 ne=5 nqz=3 nw=2 n3d=2 na=10 nb=3 norb=4",
        "nkz=2 ne=4 nqz=2 nw=2 n3d=2 na=6 nb=2 norb=3", F64),
};
const struct judge_family judge_complexes = {problems, sizeof problems / sizeof *problems};
