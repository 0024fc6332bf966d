/* What goes where data says, and one after the other, in plain C. */
#include "peer.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void histogram(int n, int npt, double data[restrict n], double radius[restrict n], double weight[restrict npt],
                      int64_t count[restrict npt], double mean[restrict npt])
{
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; i < n; i++) {
        low = radius[i] < low ? radius[i] : low;
        high = radius[i] > high ? radius[i] : high;
    }
    for (int p = 0; p < npt; p++) {
        weight[p] = 0;
        count[p] = 0;
    }
    for (int i = 0; i < n; i++) {
        int p = (int)((radius[i] - low) / (high - low) * npt);
        p = p < npt ? p : npt - 1;
        weight[p] += data[i];
        count[p]++;
    }
    for (int p = 0; p < npt; p++)
        mean[p] = weight[p] / (double)count[p];
}

void peer_azimhist(const struct judge_case *c)
{
    histogram(SIZE("n"), SIZE("npt"), ARRAY(0), ARRAY(1), ARRAY(4), ARRAY(5), ARRAY(6));
}

static void rings(int n, int npt, double data[restrict n], double radius[restrict n], double mean[restrict npt])
{
    double largest = -INFINITY;
    for (int i = 0; i < n; i++)
        largest = radius[i] > largest ? radius[i] : largest;
    for (int p = 0; p < npt; p++) {
        double from = largest * p / npt, to = largest * (p + 1) / npt, sum = 0;
        int count = 0;
        for (int i = 0; i < n; i++)
            if (from <= radius[i] && radius[i] < to) {
                sum += data[i];
                count++;
            }
        mean[p] = sum / count;
    }
}

void peer_azimnaiv(const struct judge_case *c) { rings(SIZE("n"), SIZE("npt"), ARRAY(0), ARRAY(1), ARRAY(3)); }

void peer_crc16(const struct judge_case *c)
{
    const uint8_t *data = ARRAY(0);
    unsigned crc = 0xffff;
    int n = SIZE("n");
    for (int i = 0; i < n; i++) {
        unsigned byte = data[i];
        for (int bit = 0; bit < 8; bit++) {
            if ((crc & 1) ^ (byte & 1))
                crc = crc >> 1 ^ 0x8408;
            else
                crc >>= 1;
            byte >>= 1;
        }
    }
    crc = ~crc & 0xffff;
    *(int64_t *)ARRAY(1) = (crc << 8 | (crc >> 8 & 0xff)) & 0xffff;
}

static void spmv(int m, int32_t rows[restrict m + 1], int32_t *restrict columns, double *restrict values,
                 double *restrict x, double y[restrict m])
{
    for (int i = 0; i < m; i++) {
        double sum = 0;
        for (int k = rows[i]; k < rows[i + 1]; k++)
            sum += values[k] * x[columns[k]];
        y[i] = sum;
    }
}

void peer_spmv(const struct judge_case *c) { spmv(SIZE("m"), ARRAY(0), ARRAY(1), ARRAY(2), ARRAY(3), ARRAY(4)); }

static void floyd_warshall(int n, int32_t path[restrict n][n])
{
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                int32_t other = path[i][k] + path[k][j];
                path[i][j] = path[i][j] < other ? path[i][j] : other;
            }
}

void peer_floydwar(const struct judge_case *c) { floyd_warshall(SIZE("n"), ARRAY(0)); }

#define RAISE(to, value) (to = to < (value) ? (value) : to)

static void nussinov(int n, int32_t seq[restrict n], int32_t table[restrict n][n])
{
    memset(table, 0, sizeof(int32_t[n][n]));
    for (int i = n - 1; i >= 0; i--)
        for (int j = i + 1; j < n; j++) {
            RAISE(table[i][j], table[i][j - 1]);
            RAISE(table[i][j], table[i + 1][j]);
            RAISE(table[i][j], table[i + 1][j - 1] + (i < j - 1 && seq[i] + seq[j] == 3));
            for (int k = i + 1; k < j; k++)
                RAISE(table[i][j], table[i][k] + table[k + 1][j]);
        }
}

void peer_nussinov(const struct judge_case *c) { nussinov(SIZE("n"), ARRAY(0), ARRAY(1)); }

/* ---- bodies that attract each other ---- */

static void pull(int n, double g, double softening, double mass[restrict n], double pos[restrict n][3],
                 double acc[restrict n][3])
{
    for (int i = 0; i < n; i++) {
        double ax = 0, ay = 0, az = 0;
        for (int j = 0; j < n; j++) {
            double dx = pos[j][0] - pos[i][0], dy = pos[j][1] - pos[i][1], dz = pos[j][2] - pos[i][2];
            double r = dx * dx + dy * dy + dz * dz + softening * softening;
            double w = mass[j] / (r * sqrt(r));
            ax += dx * w;
            ay += dy * w;
            az += dz * w;
        }
        acc[i][0] = g * ax;
        acc[i][1] = g * ay;
        acc[i][2] = g * az;
    }
}

static void energy(int n, double g, double mass[restrict n], double pos[restrict n][3], double vel[restrict n][3],
                   double *restrict ke, double *restrict pe)
{
    *ke = *pe = 0;
    for (int i = 0; i < n; i++) {
        *ke += 0.5 * mass[i] * (vel[i][0] * vel[i][0] + vel[i][1] * vel[i][1] + vel[i][2] * vel[i][2]);
        for (int j = i + 1; j < n; j++) {
            double dx = pos[j][0] - pos[i][0], dy = pos[j][1] - pos[i][1], dz = pos[j][2] - pos[i][2];
            double r = sqrt(dx * dx + dy * dy + dz * dz);
            *pe -= g * mass[i] * mass[j] * (r > 0 ? 1.0 / r : r);
        }
    }
}

static void nbody(int n, int steps, double dt, double g, double softening, double mass[restrict n],
                  double pos[restrict n][3], double vel[restrict n][3], double acc[restrict n][3],
                  double ke[restrict steps + 1], double pe[restrict steps + 1])
{
    double all = 0, mean[3] = {0};
    for (int i = 0; i < n; i++) {
        all += mass[i];
        for (int d = 0; d < 3; d++)
            mean[d] += mass[i] * vel[i][d];
    }
    for (int i = 0; i < n; i++)
        for (int d = 0; d < 3; d++)
            vel[i][d] -= mean[d] / all;
    pull(n, g, softening, mass, pos, acc);
    energy(n, g, mass, pos, vel, &ke[0], &pe[0]);
    for (int t = 0; t < steps; t++) {
        for (int i = 0; i < n; i++)
            for (int d = 0; d < 3; d++) {
                vel[i][d] += acc[i][d] * dt / 2.0;
                pos[i][d] += vel[i][d] * dt;
            }
        pull(n, g, softening, mass, pos, acc);
        for (int i = 0; i < n; i++)
            for (int d = 0; d < 3; d++)
                vel[i][d] += acc[i][d] * dt / 2.0;
        energy(n, g, mass, pos, vel, &ke[t + 1], &pe[t + 1]);
    }
}

void peer_nbody(const struct judge_case *c)
{
    int n = SIZE("n");
    size_t bytes = (size_t)n * sizeof(double[3]);
    double *pos = malloc(bytes), *vel = malloc(bytes); /* these are inputs alone */
    memcpy(pos, ARRAY(1), bytes);
    memcpy(vel, ARRAY(2), bytes);
    nbody(n, SIZE("nt"), NUMBER("dt"), NUMBER("g"), NUMBER("softening"), ARRAY(0), (void *)pos, (void *)vel, ARRAY(3),
          ARRAY(4), ARRAY(5));
    free(pos);
    free(vel);
}
