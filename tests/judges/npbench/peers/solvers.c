/* Systems of equations and factors of matrices in plain C. */
#include "peer.h"
#include <math.h>
#include <stdlib.h>

static void cholesky(int n, double a[restrict n][n])
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
            for (int k = 0; k < j; k++)
                a[i][j] -= a[i][k] * a[j][k];
            a[i][j] /= a[j][j];
        }
        for (int k = 0; k < i; k++)
            a[i][i] -= a[i][k] * a[i][k];
        a[i][i] = sqrt(a[i][i]);
    }
}

void peer_cholesky(const struct judge_case *c) { cholesky(SIZE("n"), ARRAY(0)); }

static void lu(int n, double a[restrict n][n])
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
            for (int k = 0; k < j; k++)
                a[i][j] -= a[i][k] * a[k][j];
            a[i][j] /= a[j][j];
        }
        for (int j = i; j < n; j++)
            for (int k = 0; k < i; k++)
                a[i][j] -= a[i][k] * a[k][j];
    }
}

void peer_lu(const struct judge_case *c) { lu(SIZE("n"), ARRAY(0)); }

static void solve(int n, double a[restrict n][n], double b[restrict n], double x[restrict n], double y[restrict n])
{
    for (int i = 0; i < n; i++) {
        double rest = b[i];
        for (int k = 0; k < i; k++)
            rest -= a[i][k] * y[k];
        y[i] = rest;
    }
    for (int i = n - 1; i >= 0; i--) {
        double rest = y[i];
        for (int k = i + 1; k < n; k++)
            rest -= a[i][k] * x[k];
        x[i] = rest / a[i][i];
    }
}

void peer_ludcmp(const struct judge_case *c)
{
    int n = SIZE("n");
    lu(n, ARRAY(0));
    solve(n, ARRAY(0), ARRAY(1), ARRAY(5), ARRAY(6));
}

static void trisolv(int n, double l[restrict n][n], double x[restrict n], double b[restrict n])
{
    for (int i = 0; i < n; i++) {
        double rest = b[i];
        for (int k = 0; k < i; k++)
            rest -= l[i][k] * x[k];
        x[i] = rest / l[i][i];
    }
}

void peer_trisolv(const struct judge_case *c) { trisolv(SIZE("n"), ARRAY(0), ARRAY(1), ARRAY(2)); }

static void durbin(int n, double r[restrict n], double z[restrict n], double y[restrict n])
{
    double alpha = -r[0], beta = 1.0;
    y[0] = -r[0];
    for (int k = 1; k < n; k++) {
        double sum = 0;
        beta *= 1.0 - alpha * alpha;
        for (int i = 0; i < k; i++)
            sum += r[k - 1 - i] * y[i];
        alpha = -(r[k] + sum) / beta;
        for (int i = 0; i < k; i++)
            z[i] = y[i] + alpha * y[k - 1 - i];
        for (int i = 0; i < k; i++)
            y[i] = z[i];
        y[k] = alpha;
    }
}

void peer_durbin(const struct judge_case *c) { durbin(SIZE("n"), ARRAY(0), ARRAY(1), ARRAY(2)); }

static void gramschm(int m, int n, double a[restrict m][n], double q[restrict m][n], double r[restrict n][n])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            r[i][j] = 0;
    for (int k = 0; k < n; k++) {
        double norm = 0;
        for (int i = 0; i < m; i++)
            norm += a[i][k] * a[i][k];
        r[k][k] = sqrt(norm);
        for (int i = 0; i < m; i++)
            q[i][k] = a[i][k] / r[k][k];
        for (int j = k + 1; j < n; j++) {
            for (int i = 0; i < m; i++)
                r[k][j] += q[i][k] * a[i][j];
            for (int i = 0; i < m; i++)
                a[i][j] -= q[i][k] * r[k][j];
        }
    }
}

void peer_gramschm(const struct judge_case *c) { gramschm(SIZE("m"), SIZE("n"), ARRAY(0), ARRAY(1), ARRAY(2)); }
