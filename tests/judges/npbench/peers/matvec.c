/* Products of a matrix and vectors in plain C. */
#include "peer.h"

static void rows(int m, int n, double a[restrict m][n], double x[restrict n], double y[restrict m])
{
    for (int i = 0; i < m; i++) {
        double sum = 0;
        for (int j = 0; j < n; j++)
            sum += a[i][j] * x[j];
        y[i] = sum;
    }
}

static void columns(int m, int n, double x[restrict m], double a[restrict m][n], double y[restrict n])
{
    for (int j = 0; j < n; j++)
        y[j] = 0;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            y[j] += x[i] * a[i][j];
}

void peer_atax(const struct judge_case *c)
{
    int m = SIZE("m"), n = SIZE("n");
    rows(m, n, ARRAY(0), ARRAY(1), ARRAY(2));
    columns(m, n, ARRAY(2), ARRAY(0), ARRAY(3));
}

void peer_bicg(const struct judge_case *c)
{
    int m = SIZE("m"), n = SIZE("n");
    columns(n, m, ARRAY(2), ARRAY(0), ARRAY(3));
    rows(n, m, ARRAY(0), ARRAY(1), ARRAY(4));
}

static void mvt(int n, double x1[restrict n], double x2[restrict n], double y1[restrict n], double y2[restrict n],
                double a[restrict n][n])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            x1[i] += a[i][j] * y1[j];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            x2[j] += y2[i] * a[i][j];
}

void peer_mvt(const struct judge_case *c)
{
    int n = SIZE("n");
    mvt(n, ARRAY(0), ARRAY(1), ARRAY(2), ARRAY(3), ARRAY(4));
}

static void gesummv(int n, double alpha, double beta, double a[restrict n][n], double b[restrict n][n],
                    double x[restrict n], double y[restrict n])
{
    for (int i = 0; i < n; i++) {
        double s = 0, t = 0;
        for (int j = 0; j < n; j++) {
            s += a[i][j] * x[j];
            t += b[i][j] * x[j];
        }
        y[i] = alpha * s + beta * t;
    }
}

void peer_gesummv(const struct judge_case *c)
{
    int n = SIZE("n");
    gesummv(n, NUMBER("alpha"), NUMBER("beta"), ARRAY(0), ARRAY(1), ARRAY(2), ARRAY(3));
}

static void gemver(int n, double alpha, double beta, double a[restrict n][n], double u1[restrict n],
                   double v1[restrict n], double u2[restrict n], double v2[restrict n], double w[restrict n],
                   double x[restrict n], double y[restrict n], double z[restrict n])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            a[i][j] += u1[i] * v1[j] + u2[i] * v2[j];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            x[j] += beta * y[i] * a[i][j];
    for (int j = 0; j < n; j++)
        x[j] += z[j];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            w[i] += alpha * a[i][j] * x[j];
}

void peer_gemver(const struct judge_case *c)
{
    int n = SIZE("n");
    gemver(n, NUMBER("alpha"), NUMBER("beta"), ARRAY(0), ARRAY(1), ARRAY(2), ARRAY(3), ARRAY(4), ARRAY(5), ARRAY(6),
           ARRAY(7), ARRAY(8));
}
