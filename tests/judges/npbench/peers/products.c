/* Products of matrices in plain C. */
#include "peer.h"
#include <math.h>
#include <stdlib.h>

static void gemm(int m, int n, int k, double alpha, double beta, double c[restrict m][n], double a[restrict m][k],
                 double b[restrict k][n])
{
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++)
            c[i][j] *= beta;
        for (int l = 0; l < k; l++)
            for (int j = 0; j < n; j++)
                c[i][j] += alpha * a[i][l] * b[l][j];
    }
}

static void product(int m, int n, int k, double c[restrict m][n], double a[restrict m][k], double b[restrict k][n])
{
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++)
            c[i][j] = 0;
        for (int l = 0; l < k; l++)
            for (int j = 0; j < n; j++)
                c[i][j] += a[i][l] * b[l][j];
    }
}

void peer_gemm(const struct judge_case *c)
{
    gemm(SIZE("ni"), SIZE("nj"), SIZE("nk"), NUMBER("alpha"), NUMBER("beta"), ARRAY(0), ARRAY(1), ARRAY(2));
}

void peer_k2mm(const struct judge_case *c)
{
    int ni = SIZE("ni"), nj = SIZE("nj");
    product(ni, nj, SIZE("nk"), ARRAY(4), ARRAY(0), ARRAY(1));
    gemm(ni, SIZE("nl"), nj, NUMBER("alpha"), NUMBER("beta"), ARRAY(3), ARRAY(4), ARRAY(2));
}

void peer_k3mm(const struct judge_case *c)
{
    int ni = SIZE("ni"), nm = SIZE("nm"), nj = SIZE("nj");
    product(ni, nj, SIZE("nk"), ARRAY(4), ARRAY(0), ARRAY(1));
    product(ni, nm, nj, ARRAY(5), ARRAY(4), ARRAY(2));
    product(ni, SIZE("nl"), nm, ARRAY(6), ARRAY(5), ARRAY(3));
}

static void symm(int m, int n, double alpha, double beta, double c[restrict m][n], double a[restrict m][m],
                 double b[restrict m][n], double t[restrict n])
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            c[i][j] *= beta;
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++)
            t[j] = 0;
        for (int k = 0; k < i; k++)
            for (int j = 0; j < n; j++) {
                c[k][j] += alpha * b[i][j] * a[i][k];
                t[j] += b[k][j] * a[i][k];
            }
        for (int j = 0; j < n; j++)
            c[i][j] += alpha * b[i][j] * a[i][i] + alpha * t[j];
    }
}

void peer_symm(const struct judge_case *c)
{
    int n = SIZE("n");
    double *t = malloc((size_t)n * sizeof *t);
    symm(SIZE("m"), n, NUMBER("alpha"), NUMBER("beta"), ARRAY(0), ARRAY(1), ARRAY(2), t);
    free(t);
}

static void syrk(int n, int m, double alpha, double beta, double c[restrict n][n], double a[restrict n][m])
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++)
            c[i][j] *= beta;
        for (int k = 0; k < m; k++)
            for (int j = 0; j <= i; j++)
                c[i][j] += alpha * a[i][k] * a[j][k];
    }
}

void peer_syrk(const struct judge_case *c)
{
    syrk(SIZE("n"), SIZE("m"), NUMBER("alpha"), NUMBER("beta"), ARRAY(0), ARRAY(1));
}

static void syr2k(int n, int m, double alpha, double beta, double c[restrict n][n], double a[restrict n][m],
                  double b[restrict n][m])
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++)
            c[i][j] *= beta;
        for (int k = 0; k < m; k++)
            for (int j = 0; j <= i; j++)
                c[i][j] += a[j][k] * alpha * b[i][k] + b[j][k] * alpha * a[i][k];
    }
}

void peer_syr2k(const struct judge_case *c)
{
    syr2k(SIZE("n"), SIZE("m"), NUMBER("alpha"), NUMBER("beta"), ARRAY(0), ARRAY(1), ARRAY(2));
}

static void trmm(int m, int n, double alpha, double a[restrict m][m], double b[restrict m][n])
{
    for (int i = 0; i < m; i++) {
        for (int k = i + 1; k < m; k++)
            for (int j = 0; j < n; j++)
                b[i][j] += a[k][i] * b[k][j];
        for (int j = 0; j < n; j++)
            b[i][j] *= alpha;
    }
}

void peer_trmm(const struct judge_case *c) { trmm(SIZE("m"), SIZE("n"), NUMBER("alpha"), ARRAY(0), ARRAY(1)); }

static void doitgen(int rows, int p, double a[restrict rows][p], double c4[restrict p][p], double sum[restrict p])
{
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < p; j++)
            sum[j] = 0;
        for (int k = 0; k < p; k++)
            for (int j = 0; j < p; j++)
                sum[j] += a[i][k] * c4[k][j];
        for (int j = 0; j < p; j++)
            a[i][j] = sum[j];
    }
}

void peer_doitgen(const struct judge_case *c)
{
    int p = SIZE("np");
    double *sum = malloc((size_t)p * sizeof *sum);
    doitgen(SIZE("nr") * SIZE("nq"), p, ARRAY(0), ARRAY(1), sum);
    free(sum);
}

/* ---- covariance and correlation ---- */

static void center(int n, int m, double from[n][m], double to[n][m], double mean[restrict m])
{
    for (int j = 0; j < m; j++)
        mean[j] = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            mean[j] += from[i][j];
    for (int j = 0; j < m; j++)
        mean[j] /= n;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            to[i][j] = from[i][j] - mean[j];
}

/* The upper half row by row, which also is the lower one. */
static void covariance(int n, int m, double count, double data[restrict n][m], double cov[restrict m][m])
{
    for (int i = 0; i < m; i++) {
        for (int j = i; j < m; j++)
            cov[i][j] = 0;
        for (int k = 0; k < n; k++)
            for (int j = i; j < m; j++)
                cov[i][j] += data[k][i] * data[k][j];
        for (int j = i; j < m; j++) {
            cov[i][j] /= count;
            cov[j][i] = cov[i][j];
        }
    }
}

static void scale(int n, int m, double count, double data[restrict n][m], double deviation[restrict m])
{
    for (int j = 0; j < m; j++)
        deviation[j] = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            deviation[j] += data[i][j] * data[i][j];
    for (int j = 0; j < m; j++) {
        deviation[j] = sqrt(deviation[j] / n);
        deviation[j] = sqrt(count) * (deviation[j] <= 0.1 ? 1.0 : deviation[j]);
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            data[i][j] /= deviation[j];
}

void peer_covarian(const struct judge_case *c)
{
    int n = SIZE("n"), m = SIZE("m");
    double *mean = malloc((size_t)m * sizeof *mean);
    center(n, m, ARRAY(0), ARRAY(0), mean);
    covariance(n, m, NUMBER("floatn") - 1.0, ARRAY(0), ARRAY(1));
    free(mean);
}

void peer_covarian2(const struct judge_case *c)
{
    int n = SIZE("n"), m = SIZE("m");
    double *mean = malloc((size_t)m * sizeof *mean);
    center(n, m, ARRAY(0), ARRAY(1), mean);
    covariance(n, m, n - 1.0, ARRAY(1), ARRAY(2));
    free(mean);
}

void peer_correlat(const struct judge_case *c)
{
    int n = SIZE("n"), m = SIZE("m");
    double *mean = malloc((size_t)m * sizeof *mean), *corr = ARRAY(1);
    center(n, m, ARRAY(0), ARRAY(0), mean);
    scale(n, m, NUMBER("floatn"), ARRAY(0), mean);
    covariance(n, m, 1.0, ARRAY(0), ARRAY(1));
    for (int i = 0; i < m; i++)
        corr[(size_t)i * m + i] = 1;
    free(mean);
}
