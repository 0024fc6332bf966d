/* Complex numbers in plain C; products are the plain formula, which gcc's own are only without its care for infinities. */
#include "peer.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct number {
    double re, im;
};

static inline struct number times(struct number a, struct number b)
{
    return (struct number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static inline struct number polar(double r, double angle) { return (struct number){r * cos(angle), r * sin(angle)}; }

static inline struct number over(struct number a, struct number b)
{
    double size = b.re * b.re + b.im * b.im;
    return (struct number){(a.re * b.re + a.im * b.im) / size, (a.im * b.re - a.re * b.im) / size};
}

static void fft(int n, int radix, int steps, struct number x[restrict n], struct number y[restrict n],
                struct number t[restrict n])
{
    memcpy(y, x, (size_t)n * sizeof *y);
    for (int i = 0, before = 1; i < steps; i++, before *= radix) {
        int after = n / radix / before, each = n / radix;
        for (int r = 0; r < radix; r++)
            for (int a = 0; a < before; a++) {
                struct number w = polar(1, -2 * M_PI * r * a / (before * radix));
                for (int b = 0; b < after; b++)
                    t[(r * before + a) * after + b] = times(y[(a * radix + r) * after + b], w);
            }
        memset(y, 0, (size_t)n * sizeof *y);
        for (int s = 0; s < radix; s++)
            for (int r = 0; r < radix; r++) {
                struct number w = polar(1, -2 * M_PI * s * r / radix);
                for (int q = 0; q < each; q++) {
                    struct number more = times(t[r * each + q], w);
                    y[s * each + q].re += more.re;
                    y[s * each + q].im += more.im;
                }
            }
    }
}

void peer_sthamfft(const struct judge_case *c)
{
    static struct number *space;
    int n = SIZE("n");
    space = realloc(space, (size_t)n * sizeof *space);
    fft(n, SIZE("r"), SIZE("k"), ARRAY(0), ARRAY(5), space);
}

/* x with t @ x = y, the largest of a column made the pivot; t and x change. */
static void solve(int n, int m, struct number t[restrict n][n], struct number x[restrict n][m])
{
    for (int k = 0; k < n; k++) {
        int pivot = k;
        for (int i = k + 1; i < n; i++)
            if (fabs(t[i][k].re) + fabs(t[i][k].im) > fabs(t[pivot][k].re) + fabs(t[pivot][k].im))
                pivot = i;
        for (int j = k; j < n && pivot != k; j++) {
            struct number swap = t[k][j];
            t[k][j] = t[pivot][j], t[pivot][j] = swap;
        }
        for (int j = 0; j < m && pivot != k; j++) {
            struct number swap = x[k][j];
            x[k][j] = x[pivot][j], x[pivot][j] = swap;
        }
        for (int i = k + 1; i < n; i++) {
            struct number by = over(t[i][k], t[k][k]);
            for (int j = k + 1; j < n; j++) {
                struct number less = times(by, t[k][j]);
                t[i][j].re -= less.re, t[i][j].im -= less.im;
            }
            for (int j = 0; j < m; j++) {
                struct number less = times(by, x[k][j]);
                x[i][j].re -= less.re, x[i][j].im -= less.im;
            }
        }
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++)
            for (int j = 0; j < m; j++) {
                struct number less = times(t[i][k], x[k][j]);
                x[i][j].re -= less.re, x[i][j].im -= less.im;
            }
        struct number by = over((struct number){1, 0}, t[i][i]);
        for (int j = 0; j < m; j++)
            x[i][j] = times(x[i][j], by);
    }
}

static void integral(int n, int m, int slabs, int points, struct number ham[restrict slabs + 1][n][n],
                     struct number at[restrict points], struct number y[restrict n][m], struct number p0[restrict n][m],
                     struct number p1[restrict n][m], struct number t[restrict n][n], struct number x[restrict n][m])
{
    memset(p0, 0, sizeof(struct number[n][m]));
    memset(p1, 0, sizeof(struct number[n][m]));
    for (int p = 0; p < points; p++) {
        struct number z = at[p];
        memset(t, 0, sizeof(struct number[n][n]));
        memcpy(x, y, sizeof(struct number[n][m]));
        for (int s = 0; s <= slabs; s++) {
            double power = slabs / 2.0 - s;
            struct number w = polar(pow(hypot(z.re, z.im), power), power * atan2(z.im, z.re));
            for (int i = 0; i < n; i++)
                for (int j = 0; j < n; j++) {
                    struct number more = times(w, ham[s][i][j]);
                    t[i][j].re += more.re, t[i][j].im += more.im;
                }
        }
        solve(n, m, t, x);
        double sign = hypot(z.re, z.im) < 1.0 ? -1 : 1;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < m; j++) {
                struct number more = times(z, x[i][j]);
                p0[i][j].re += sign * x[i][j].re, p0[i][j].im += sign * x[i][j].im;
                p1[i][j].re += sign * more.re, p1[i][j].im += sign * more.im;
            }
    }
}

void peer_coninteg(const struct judge_case *c)
{
    int n = SIZE("nr"), m = SIZE("nm");
    struct number *t = malloc((size_t)n * (size_t)(n + m) * sizeof *t);
    integral(n, m, SIZE("slabperbc"), SIZE("numintpts"), ARRAY(0), ARRAY(1), ARRAY(2), ARRAY(6), ARRAY(7), (void *)t,
             (void *)(t + n * n));
    free(t);
}

static void product(int n, struct number a[restrict n][n], struct number b[restrict n][n],
                    struct number c[restrict n][n])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            struct number sum = {0, 0};
            for (int k = 0; k < n; k++) {
                struct number more = times(a[i][k], b[k][j]);
                sum.re += more.re, sum.im += more.im;
            }
            c[i][j] = sum;
        }
}

static void scatter(int nk, int ne, int nq, int nw, int nd, int na, int nb, int n, int32_t neighbours[restrict na][nb],
                    struct number dh[restrict na][nb][nd][n][n], struct number g[restrict nk][ne][na][n][n],
                    struct number d[restrict nq][nw][na][nb][nd][nd], struct number sigma[restrict nk][ne][na][n][n])
{
    struct number left[n][n], right[n][n], both[n][n];
    for (int k = 0; k < nk; k++)
        for (int e = 0; e < ne; e++)
            for (int q = 0; q < nq; q++)
                for (int w = 0; w < nw && w <= e; w++)
                    for (int i = 0; i < nd; i++)
                        for (int j = 0; j < nd; j++)
                            for (int a = 0; a < na; a++)
                                for (int b = 0; b < nb; b++) {
                                    product(n, g[k][e - w][neighbours[a][b]], dh[a][b][i], left);
                                    for (int r = 0; r < n; r++)
                                        for (int s = 0; s < n; s++)
                                            right[r][s] = times(dh[a][b][j][r][s], d[q][w][a][b][i][j]);
                                    product(n, left, right, both);
                                    for (int r = 0; r < n; r++)
                                        for (int s = 0; s < n; s++) {
                                            sigma[k][e][a][r][s].re += both[r][s].re;
                                            sigma[k][e][a][r][s].im += both[r][s].im;
                                        }
                                }
}

void peer_sselfeng(const struct judge_case *c)
{
    scatter(SIZE("nkz"), SIZE("ne"), SIZE("nqz"), SIZE("nw"), SIZE("n3d"), SIZE("na"), SIZE("nb"), SIZE("norb"),
            ARRAY(0), ARRAY(1), ARRAY(2), ARRAY(3), ARRAY(4));
}
