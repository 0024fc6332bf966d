/* Elements from their neighbours, and recurrences along rows and columns, in plain C. */
#include "peer.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void smooth(int n, double a[restrict n], double b[restrict n])
{
    for (int i = 1; i < n - 1; i++)
        b[i] = 0.33333 * (a[i - 1] + a[i] + a[i + 1]);
}

void peer_jacobi1d(const struct judge_case *c)
{
    int n = SIZE("n"), steps = SIZE("tsteps");
    for (int t = 1; t < steps; t++) {
        smooth(n, ARRAY(0), ARRAY(1));
        smooth(n, ARRAY(1), ARRAY(0));
    }
}

static void jacobi2d(int n, double a[restrict n][n], double b[restrict n][n])
{
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            b[i][j] = 0.2 * (a[i][j] + a[i][j - 1] + a[i][j + 1] + a[i + 1][j] + a[i - 1][j]);
}

void peer_jacobi2d(const struct judge_case *c)
{
    int n = SIZE("n"), steps = SIZE("tsteps");
    for (int t = 1; t < steps; t++) {
        jacobi2d(n, ARRAY(0), ARRAY(1));
        jacobi2d(n, ARRAY(1), ARRAY(0));
    }
}

static void heat3d(int n, double a[restrict n][n][n], double b[restrict n][n][n])
{
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            for (int k = 1; k < n - 1; k++)
                b[i][j][k] = 0.125 * (a[i + 1][j][k] - 2.0 * a[i][j][k] + a[i - 1][j][k]) +
                             0.125 * (a[i][j + 1][k] - 2.0 * a[i][j][k] + a[i][j - 1][k]) +
                             0.125 * (a[i][j][k + 1] - 2.0 * a[i][j][k] + a[i][j][k - 1]) + a[i][j][k];
}

void peer_heat3d(const struct judge_case *c)
{
    int n = SIZE("n"), steps = SIZE("tsteps");
    for (int t = 1; t < steps; t++) {
        heat3d(n, ARRAY(0), ARRAY(1));
        heat3d(n, ARRAY(1), ARRAY(0));
    }
}

static void fdtd(int steps, int m, int n, double ex[restrict m][n], double ey[restrict m][n], double hz[restrict m][n],
                 double source[restrict steps])
{
    for (int t = 0; t < steps; t++) {
        for (int j = 0; j < n; j++)
            ey[0][j] = source[t];
        for (int i = 1; i < m; i++)
            for (int j = 0; j < n; j++)
                ey[i][j] -= 0.5 * (hz[i][j] - hz[i - 1][j]);
        for (int i = 0; i < m; i++)
            for (int j = 1; j < n; j++)
                ex[i][j] -= 0.5 * (hz[i][j] - hz[i][j - 1]);
        for (int i = 0; i < m - 1; i++)
            for (int j = 0; j < n - 1; j++)
                hz[i][j] -= 0.7 * (ex[i][j + 1] - ex[i][j] + ey[i + 1][j] - ey[i][j]);
    }
}

void peer_fdtd_2d(const struct judge_case *c)
{
    fdtd(SIZE("tmax"), SIZE("nx"), SIZE("ny"), ARRAY(0), ARRAY(1), ARRAY(2), ARRAY(3));
}

static void seidel2d(int steps, int n, double a[restrict n][n])
{
    for (int t = 0; t < steps - 1; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                a[i][j] = (a[i - 1][j - 1] + a[i - 1][j] + a[i - 1][j + 1] + a[i][j - 1] + a[i][j] + a[i][j + 1] +
                           a[i + 1][j - 1] + a[i + 1][j] + a[i + 1][j + 1]) /
                          9.0;
}

void peer_seidel2d(const struct judge_case *c) { seidel2d(SIZE("tsteps"), SIZE("n"), ARRAY(0)); }

static void adi(int steps, int n, double u[restrict n][n], double v[restrict n][n], double p[restrict n][n],
                double q[restrict n][n])
{
    double dx = 1.0 / n, dt = 1.0 / steps;
    double mul1 = 2.0 * dt / (dx * dx), mul2 = dt / (dx * dx);
    double a = -mul1 / 2.0, b = 1.0 + mul2, c = a, d = -mul2 / 2.0, e = 1.0 + mul2, f = d;
    for (int t = 1; t <= steps; t++) {
        for (int i = 1; i < n - 1; i++) {
            v[0][i] = 1.0;
            p[i][0] = 0.0;
            q[i][0] = v[0][i];
            for (int j = 1; j < n - 1; j++) {
                p[i][j] = -c / (a * p[i][j - 1] + b);
                q[i][j] = (-d * u[j][i - 1] + (1.0 + 2.0 * d) * u[j][i] - f * u[j][i + 1] - a * q[i][j - 1]) /
                          (a * p[i][j - 1] + b);
            }
            v[n - 1][i] = 1.0;
            for (int j = n - 2; j > 0; j--)
                v[j][i] = p[i][j] * v[j + 1][i] + q[i][j];
        }
        for (int i = 1; i < n - 1; i++) {
            u[i][0] = 1.0;
            p[i][0] = 0.0;
            q[i][0] = u[i][0];
            for (int j = 1; j < n - 1; j++) {
                p[i][j] = -f / (d * p[i][j - 1] + e);
                q[i][j] = (-a * v[i - 1][j] + (1.0 + 2.0 * a) * v[i][j] - c * v[i + 1][j] - d * q[i][j - 1]) /
                          (d * p[i][j - 1] + e);
            }
            u[i][n - 1] = 1.0;
            for (int j = n - 2; j > 0; j--)
                u[i][j] = p[i][j] * u[i][j + 1] + q[i][j];
        }
    }
}

void peer_adi(const struct judge_case *c) { adi(SIZE("tsteps"), SIZE("n"), ARRAY(0), ARRAY(1), ARRAY(2), ARRAY(3)); }

static void deriche(int w, int h, double alpha, double in[restrict w][h], double y1[restrict w][h],
                    double y2[restrict w][h], double out[restrict w][h])
{
    double k = (1.0 - exp(-alpha)) * (1.0 - exp(-alpha)) / (1.0 + alpha * exp(-alpha) - exp(2.0 * alpha));
    double a1 = k, a2 = k * exp(-alpha) * (alpha - 1.0), a3 = k * exp(-alpha) * (alpha + 1.0),
           a4 = -k * exp(-2.0 * alpha);
    double b1 = pow(2.0, -alpha), b2 = -exp(-2.0 * alpha);
    for (int i = 0; i < w; i++) {
        y1[i][0] = a1 * in[i][0];
        y1[i][1] = a1 * in[i][1] + a2 * in[i][0] + b1 * y1[i][0];
        for (int j = 2; j < h; j++)
            y1[i][j] = a1 * in[i][j] + a2 * in[i][j - 1] + b1 * y1[i][j - 1] + b2 * y1[i][j - 2];
        y2[i][h - 1] = 0.0;
        y2[i][h - 2] = a3 * in[i][h - 1];
        for (int j = h - 3; j >= 0; j--)
            y2[i][j] = a3 * in[i][j + 1] + a4 * in[i][j + 2] + b1 * y2[i][j + 1] + b2 * y2[i][j + 2];
        for (int j = 0; j < h; j++)
            out[i][j] = y1[i][j] + y2[i][j];
    }
    for (int j = 0; j < h; j++) {
        y1[0][j] = a1 * out[0][j];
        y1[1][j] = a1 * out[1][j] + a2 * out[0][j] + b1 * y1[0][j];
        y2[w - 1][j] = 0.0;
        y2[w - 2][j] = a3 * out[w - 1][j];
    }
    for (int i = 2; i < w; i++)
        for (int j = 0; j < h; j++)
            y1[i][j] = a1 * out[i][j] + a2 * out[i - 1][j] + b1 * y1[i - 1][j] + b2 * y1[i - 2][j];
    for (int i = w - 3; i >= 0; i--)
        for (int j = 0; j < h; j++)
            y2[i][j] = a3 * out[i + 1][j] + a4 * out[i + 2][j] + b1 * y2[i + 1][j] + b2 * y2[i + 2][j];
    for (int i = 0; i < w; i++)
        for (int j = 0; j < h; j++)
            out[i][j] = y1[i][j] + y2[i][j];
}

void peer_deriche(const struct judge_case *c)
{
    int w = SIZE("w"), h = SIZE("h");
    double *y2 = malloc((size_t)w * (size_t)h * sizeof *y2);
    deriche(w, h, NUMBER("alpha"), ARRAY(0), ARRAY(1), (void *)y2, ARRAY(2));
    free(y2);
}

/* ---- weather ---- */

static void hdiff(int ni, int nj, int nk, double in[restrict ni + 4][nj + 4][nk], double out[restrict ni][nj][nk],
                  double coeff[restrict ni][nj][nk], double lap[restrict ni + 2][nj + 2][nk],
                  double flx[restrict ni + 1][nj][nk], double fly[restrict ni][nj + 1][nk])
{
    for (int i = 0; i < ni + 2; i++)
        for (int j = 0; j < nj + 2; j++)
            for (int k = 0; k < nk; k++)
                lap[i][j][k] = 4.0 * in[i + 1][j + 1][k] -
                               (in[i + 2][j + 1][k] + in[i][j + 1][k] + in[i + 1][j + 2][k] + in[i + 1][j][k]);
    for (int i = 0; i < ni + 1; i++)
        for (int j = 0; j < nj; j++)
            for (int k = 0; k < nk; k++) {
                double res = lap[i + 1][j + 1][k] - lap[i][j + 1][k];
                flx[i][j][k] = res * (in[i + 2][j + 2][k] - in[i + 1][j + 2][k]) > 0 ? 0 : res;
            }
    for (int i = 0; i < ni; i++)
        for (int j = 0; j < nj + 1; j++)
            for (int k = 0; k < nk; k++) {
                double res = lap[i + 1][j + 1][k] - lap[i + 1][j][k];
                fly[i][j][k] = res * (in[i + 2][j + 2][k] - in[i + 2][j + 1][k]) > 0 ? 0 : res;
            }
    for (int i = 0; i < ni; i++)
        for (int j = 0; j < nj; j++)
            for (int k = 0; k < nk; k++)
                out[i][j][k] = in[i + 2][j + 2][k] -
                               coeff[i][j][k] * (flx[i + 1][j][k] - flx[i][j][k] + fly[i][j + 1][k] - fly[i][j][k]);
}

void peer_hdiff(const struct judge_case *c)
{
    static double *space; /* as NumPy keeps what it allocates */
    int i = SIZE("i"), j = SIZE("j"), k = SIZE("k");
    size_t part = (size_t)(i + 2) * (size_t)(j + 2) * (size_t)k;
    space = realloc(space, 3 * part * sizeof *space);
    hdiff(i, j, k, ARRAY(0), ARRAY(2), ARRAY(1), (void *)space, (void *)(space + part), (void *)(space + 2 * part));
}

static void vadv(int ni, int nj, int nk, double dtr, double utens_stage[restrict ni][nj][nk],
                 double u_stage[restrict ni][nj][nk], double wcon[restrict ni + 1][nj][nk],
                 double u_pos[restrict ni][nj][nk], double utens[restrict ni][nj][nk], double ccol[restrict nk],
                 double dcol[restrict nk])
{
    for (int i = 0; i < ni; i++)
        for (int j = 0; j < nj; j++) {
            for (int k = 0; k < nk; k++) {
                double gav = k > 0 ? -0.25 * (wcon[i + 1][j][k] + wcon[i][j][k]) : 0;
                double gcv = k < nk - 1 ? 0.25 * (wcon[i + 1][j][k + 1] + wcon[i][j][k + 1]) : 0;
                double as = gav * 0.5, cs = gcv * 0.5, correction = 0;
                if (k > 0)
                    correction -= as * (u_stage[i][j][k - 1] - u_stage[i][j][k]);
                if (k < nk - 1)
                    correction -= cs * (u_stage[i][j][k + 1] - u_stage[i][j][k]);
                double b = dtr - as - cs;
                double d = dtr * u_pos[i][j][k] + utens[i][j][k] + utens_stage[i][j][k] + correction;
                double divided = 1.0 / (k > 0 ? b - ccol[k - 1] * as : b);
                ccol[k] = cs * divided;
                dcol[k] = (k > 0 ? d - dcol[k - 1] * as : d) * divided;
            }
            double data = dcol[nk - 1];
            utens_stage[i][j][nk - 1] = dtr * (data - u_pos[i][j][nk - 1]);
            for (int k = nk - 2; k >= 0; k--) {
                data = dcol[k] - ccol[k] * data;
                utens_stage[i][j][k] = dtr * (data - u_pos[i][j][k]);
            }
        }
}

void peer_vadv(const struct judge_case *c)
{
    vadv(SIZE("i"), SIZE("j"), SIZE("k"), NUMBER("dtrstage"), ARRAY(0), ARRAY(1), ARRAY(2), ARRAY(3), ARRAY(4),
         ARRAY(5), ARRAY(6));
}

/* ---- flows ---- */

#include "flows.h"

static void cavity(int m, int n, int nt, int nit, double dx, double dy, double dt, double rho, double nu,
                   double u[restrict m][n], double v[restrict m][n], double p[restrict m][n], double un[restrict m][n],
                   double vn[restrict m][n], double pn[restrict m][n], double b[restrict m][n])
{
    size_t bytes = sizeof(double[m][n]);
    for (int t = 0; t < nt; t++) {
        memcpy(un, u, bytes);
        memcpy(vn, v, bytes);
        for (int i = 1; i < m - 1; i++)
            for (int j = 1; j < n - 1; j++)
                b[i][j] = SOURCE(i, j, j + 1, j - 1);
        for (int q = 0; q < nit; q++) {
            memcpy(pn, p, bytes);
            for (int i = 1; i < m - 1; i++)
                for (int j = 1; j < n - 1; j++)
                    p[i][j] = PRESSURE(i, j, j + 1, j - 1);
            for (int i = 0; i < m; i++)
                p[i][n - 1] = p[i][n - 2];
            for (int j = 0; j < n; j++)
                p[0][j] = p[1][j];
            for (int i = 0; i < m; i++)
                p[i][0] = p[i][1];
            for (int j = 0; j < n; j++)
                p[m - 1][j] = 0;
        }
        for (int i = 1; i < m - 1; i++)
            for (int j = 1; j < n - 1; j++) {
                u[i][j] = MOVED(un, i, j, j + 1, j - 1, PUSH_U(i, j + 1, j - 1));
                v[i][j] = MOVED(vn, i, j, j + 1, j - 1, PUSH_V(i, j));
            }
        for (int j = 0; j < n; j++)
            u[0][j] = v[0][j] = v[m - 1][j] = 0;
        for (int i = 0; i < m; i++)
            u[i][0] = u[i][n - 1] = v[i][0] = v[i][n - 1] = 0;
        for (int j = 0; j < n; j++)
            u[m - 1][j] = 1;
    }
}

void peer_cavtflow(const struct judge_case *c)
{
    cavity(SIZE("ny"), SIZE("nx"), SIZE("nt"), SIZE("nit"), NUMBER("dx"), NUMBER("dy"), NUMBER("dt"), NUMBER("rho"),
           NUMBER("nu"), ARRAY(0), ARRAY(1), ARRAY(2), ARRAY(3), ARRAY(4), ARRAY(5), ARRAY(6));
}

static int64_t channel(int m, int n, int nit, double dx, double dy, double dt, double rho, double nu, double force,
                       double u[restrict m][n], double v[restrict m][n], double p[restrict m][n],
                       double un[restrict m][n], double vn[restrict m][n], double pn[restrict m][n],
                       double b[restrict m][n])
{
    size_t bytes = sizeof(double[m][n]);
    int64_t steps = 0;
    for (double change = 1; change > 0.001; steps++) {
        double before = 0, after = 0;
        memcpy(un, u, bytes);
        memcpy(vn, v, bytes);
        for (int i = 1; i < m - 1; i++) {
            b[i][0] = SOURCE(i, 0, 1, n - 1);
            for (int j = 1; j < n - 1; j++)
                b[i][j] = SOURCE(i, j, j + 1, j - 1);
            b[i][n - 1] = SOURCE(i, n - 1, 0, n - 2);
        }
        for (int q = 0; q < nit; q++) {
            memcpy(pn, p, bytes);
            for (int i = 1; i < m - 1; i++) {
                p[i][0] = PRESSURE(i, 0, 1, n - 1);
                for (int j = 1; j < n - 1; j++)
                    p[i][j] = PRESSURE(i, j, j + 1, j - 1);
                p[i][n - 1] = PRESSURE(i, n - 1, 0, n - 2);
            }
            for (int j = 0; j < n; j++) {
                p[m - 1][j] = p[m - 2][j];
                p[0][j] = p[1][j];
            }
        }
        for (int i = 1; i < m - 1; i++) {
            u[i][0] = MOVED(un, i, 0, 1, n - 1, PUSH_U(i, 1, n - 1)) + force * dt;
            v[i][0] = MOVED(vn, i, 0, 1, n - 1, PUSH_V(i, 0));
            for (int j = 1; j < n - 1; j++) {
                u[i][j] = MOVED(un, i, j, j + 1, j - 1, PUSH_U(i, j + 1, j - 1)) + force * dt;
                v[i][j] = MOVED(vn, i, j, j + 1, j - 1, PUSH_V(i, j));
            }
            u[i][n - 1] = MOVED(un, i, n - 1, 0, n - 2, PUSH_U(i, 0, n - 2)) + force * dt;
            v[i][n - 1] = MOVED(vn, i, n - 1, 0, n - 2, PUSH_V(i, n - 1));
        }
        for (int j = 0; j < n; j++)
            u[0][j] = u[m - 1][j] = v[0][j] = v[m - 1][j] = 0;
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++) {
                before += un[i][j];
                after += u[i][j];
            }
        change = (after - before) / after;
    }
    return steps;
}

void peer_chanflow(const struct judge_case *c)
{
    *(int64_t *)ARRAY(7) = channel(SIZE("ny"), SIZE("nx"), SIZE("nit"), NUMBER("dx"), NUMBER("dy"), NUMBER("dt"),
                                   NUMBER("rho"), NUMBER("nu"), NUMBER("f"), ARRAY(0), ARRAY(1), ARRAY(2), ARRAY(3),
                                   ARRAY(4), ARRAY(5), ARRAY(6));
}
