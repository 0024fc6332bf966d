/* Each element by itself, in plain C. */
#include "peer.h"
#include <math.h>

static void adist(int n, double theta1[restrict n], double phi1[restrict n], double theta2[restrict n],
                  double phi2[restrict n], double d[restrict n])
{
    for (int i = 0; i < n; i++) {
        double s = sin((theta2[i] - theta1[i]) / 2), t = sin((phi2[i] - phi1[i]) / 2);
        double h = s * s + cos(theta1[i]) * cos(theta2[i]) * (t * t);
        d[i] = 2 * atan2(sqrt(h), sqrt(1 - h));
    }
}

void peer_adist(const struct judge_case *c) { adist(SIZE("n"), ARRAY(0), ARRAY(1), ARRAY(2), ARRAY(3), ARRAY(4)); }

static void clipping(int m, int n, int64_t a, int64_t b, int64_t c, int64_t x[restrict m][n], int64_t y[restrict m][n],
                     int64_t r[restrict m][n])
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            int64_t clipped = x[i][j] < 2 ? 2 : x[i][j] > 10 ? 10 : x[i][j];
            r[i][j] = clipped * a + y[i][j] * b + c;
        }
}

void peer_clipping(const struct judge_case *c)
{
    clipping(SIZE("m"), SIZE("n"), SIZE("a"), SIZE("b"), SIZE("c"), ARRAY(0), ARRAY(1), ARRAY(2));
}

static void go_fast(int n, double a[restrict n][n], double r[restrict n][n])
{
    double trace = 0;
    for (int i = 0; i < n; i++)
        trace += tanh(a[i][i]);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            r[i][j] = a[i][j] + trace;
}

void peer_npgofast(const struct judge_case *c) { go_fast(SIZE("n"), ARRAY(0), ARRAY(2)); }

/* ---- the Mandelbrot set; where roundings are is written down, as in mandelbrot.tile ---- */

struct complex_number {
    double a, b;
};

static struct complex_number next(struct complex_number z, double x, double y)
{
    return (struct complex_number){fma(z.a, z.a, fma(-z.b, z.b, x)), fma(2.0 * z.a, z.b, y)};
}

static double squared(struct complex_number z) { return fma(z.a, z.a, z.b * z.b); }

#define STEP(from, to, count) ((NUMBER(to) - NUMBER(from)) / (NUMBER(count) - 1))

static void mandel1(int w, int h, double left, double top, double dx, double dy, int most, double horizon,
                    struct complex_number out[restrict h][w], int64_t n[restrict h][w])
{
    for (int i = 0; i < h; i++)
        for (int j = 0; j < w; j++) {
            double x = left + j * dx, y = top + i * dy;
            struct complex_number z = {0, 0};
            int last = 0;
            for (int k = 0; k < most && squared(z) < horizon * horizon; k++) {
                last = k;
                z = next(z, x, y);
            }
            out[i][j] = z;
            n[i][j] = last == most - 1 ? 0 : last;
        }
}

void peer_mandel1(const struct judge_case *c)
{
    mandel1(SIZE("xn"), SIZE("yn"), NUMBER("xmin"), NUMBER("ymin"), STEP("xmin", "xmax", "xn"),
            STEP("ymin", "ymax", "yn"), SIZE("maxiter"), NUMBER("horizon"), ARRAY(0), ARRAY(1));
}

static void mandel2(int w, int h, double left, double top, double dx, double dy, int most, double horizon,
                    struct complex_number out[restrict h][w], int64_t n[restrict h][w])
{
    for (int i = 0; i < h; i++)
        for (int j = 0; j < w; j++) {
            double x = left + j * dx, y = top + i * dy;
            struct complex_number z = {0, 0};
            out[i][j] = z;
            n[i][j] = 0;
            for (int k = 0; k < most; k++) {
                z = next(z, x, y);
                if (squared(z) > horizon * horizon) {
                    out[i][j] = z;
                    n[i][j] = k + 1;
                    break;
                }
            }
        }
}

void peer_mandel2(const struct judge_case *c)
{
    mandel2(SIZE("xn"), SIZE("yn"), NUMBER("xmin"), NUMBER("ymin"), STEP("xmin", "xmax", "xn"),
            STEP("ymin", "ymax", "yn"), SIZE("maxiter"), NUMBER("horizon"), ARRAY(0), ARRAY(1));
}
