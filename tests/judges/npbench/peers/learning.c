/* Layers of networks in plain C, f32. */
#include "peer.h"
#include <math.h>

/* To a part of an image that is `height` x `width` with `margin` around. */
static void convolve(int n, int h, int w, int ci, int co, int k, int margin, float x[restrict n][h][w][ci],
                     float taps[restrict k][k][ci][co],
                     float y[restrict n][h - k + 1 + 2 * margin][w - k + 1 + 2 * margin][co])
{
    for (int b = 0; b < n; b++)
        for (int i = 0; i < h - k + 1; i++)
            for (int j = 0; j < w - k + 1; j++) {
                float *to = y[b][i + margin][j + margin];
                for (int o = 0; o < co; o++)
                    to[o] = 0;
                for (int p = 0; p < k; p++)
                    for (int q = 0; q < k; q++)
                        for (int c = 0; c < ci; c++)
                            for (int o = 0; o < co; o++)
                                to[o] += x[b][i + p][j + q][c] * taps[p][q][c][o];
            }
}

static void add_bias(int n, int co, float y[restrict n][co], float bias[restrict co], int cut)
{
    for (int i = 0; i < n; i++)
        for (int o = 0; o < co; o++) {
            float value = y[i][o] + bias[o];
            y[i][o] = cut && value < 0 ? 0 : value;
        }
}

void peer_conv2d(const struct judge_case *c)
{
    int n = SIZE("n"), co = SIZE("co");
    convolve(n, SIZE("h"), SIZE("w"), SIZE("ci"), co, SIZE("kk"), 0, ARRAY(0), ARRAY(1), ARRAY(3));
    add_bias(n * SIZE("ho") * SIZE("wo"), co, ARRAY(3), ARRAY(2), 0);
}

static void softmax(int m, int n, float x[m][n], float y[m][n])
{
    for (int i = 0; i < m; i++) {
        float largest = -INFINITY, sum = 0;
        for (int j = 0; j < n; j++)
            largest = x[i][j] > largest ? x[i][j] : largest;
        for (int j = 0; j < n; j++) {
            y[i][j] = expf(x[i][j] - largest);
            sum += y[i][j];
        }
        for (int j = 0; j < n; j++)
            y[i][j] /= sum;
    }
}

void peer_softmax(const struct judge_case *c)
{
    softmax(SIZE("n") * SIZE("h") * SIZE("sm"), SIZE("sm"), ARRAY(0), ARRAY(1));
}

static void dense(int m, int k, int n, float x[restrict m][k], float w[restrict k][n], float y[restrict m][n])
{
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++)
            y[i][j] = 0;
        for (int l = 0; l < k; l++)
            for (int j = 0; j < n; j++)
                y[i][j] += x[i][l] * w[l][j];
    }
}

void peer_mlp(const struct judge_case *c)
{
    int n = SIZE("n"), s0 = SIZE("s0"), s1 = SIZE("s1"), s2 = SIZE("s2");
    dense(n, SIZE("c"), s0, ARRAY(0), ARRAY(1), ARRAY(7));
    add_bias(n, s0, ARRAY(7), ARRAY(2), 1);
    dense(n, s0, s1, ARRAY(7), ARRAY(3), ARRAY(8));
    add_bias(n, s1, ARRAY(8), ARRAY(4), 1);
    dense(n, s1, s2, ARRAY(8), ARRAY(5), ARRAY(9));
    add_bias(n, s2, ARRAY(9), ARRAY(6), 0);
    softmax(n, s2, ARRAY(9), ARRAY(9));
}

static void pool(int n, int h, int w, int c, float x[restrict n][h][w][c], float y[restrict n][h / 2][w / 2][c])
{
    for (int b = 0; b < n; b++)
        for (int i = 0; i < h / 2; i++)
            for (int j = 0; j < w / 2; j++)
                for (int k = 0; k < c; k++) {
                    float top = x[b][2 * i][2 * j][k], right = x[b][2 * i][2 * j + 1][k];
                    float low = x[b][2 * i + 1][2 * j][k], last = x[b][2 * i + 1][2 * j + 1][k];
                    top = top > right ? top : right;
                    low = low > last ? low : last;
                    y[b][i][j][k] = top > low ? top : low;
                }
}

void peer_lenet(const struct judge_case *c)
{
    int n = SIZE("n"), hc = SIZE("hc"), wc = SIZE("wc"), hp = SIZE("hp"), wp = SIZE("wp"), hd = SIZE("hd"),
        wd = SIZE("wd");
    convolve(n, SIZE("h"), SIZE("w"), 1, 6, 5, 0, ARRAY(0), ARRAY(1), ARRAY(11));
    add_bias(n * hc * wc, 6, ARRAY(11), ARRAY(2), 1);
    pool(n, hc, wc, 6, ARRAY(11), ARRAY(12));
    convolve(n, hp, wp, 6, 16, 5, 0, ARRAY(12), ARRAY(3), ARRAY(13));
    add_bias(n * hd * wd, 16, ARRAY(13), ARRAY(4), 1);
    pool(n, hd, wd, 16, ARRAY(13), ARRAY(14));
    dense(n, SIZE("cbeforefc1"), 120, ARRAY(14), ARRAY(5), ARRAY(15));
    add_bias(n, 120, ARRAY(15), ARRAY(6), 1);
    dense(n, 120, 84, ARRAY(15), ARRAY(7), ARRAY(16));
    add_bias(n, 84, ARRAY(16), ARRAY(8), 1);
    dense(n, 84, 10, ARRAY(16), ARRAY(9), ARRAY(17));
    add_bias(n, 10, ARRAY(17), ARRAY(10), 0);
}

/* Over the batch, then what is negative cut off; `more`, where there is some, is added before that. */
static void normalize(int n, int m, float x[restrict n][m], float *restrict more)
{
    for (int i = 0; i < m; i++) {
        float mean = 0, square = 0;
        for (int b = 0; b < n; b++)
            mean += x[b][i] / (float)n;
        for (int b = 0; b < n; b++)
            square += (x[b][i] - mean) * (x[b][i] - mean) / (float)n;
        float scale = 1.0f / sqrtf(sqrtf(square) + 1e-5f);
        for (int b = 0; b < n; b++) {
            float value = (x[b][i] - mean) * scale + (more ? more[b * m + i] : 0);
            x[b][i] = value > 0 ? value : 0;
        }
    }
}

void peer_resnet(const struct judge_case *c)
{
    int n = SIZE("n"), h = SIZE("h"), w = SIZE("w"), c1 = SIZE("c1"), c2 = SIZE("c2");
    float *padded = ARRAY(4);
    for (int i = 0; i < n * (h + 2) * (w + 2) * c2; i++)
        padded[i] = 0;
    convolve(n, h, w, c1, c2, 1, 1, ARRAY(0), ARRAY(1), ARRAY(4));
    normalize(n, (h + 2) * (w + 2) * c2, ARRAY(4), NULL);
    convolve(n, h + 2, w + 2, c2, c2, 3, 0, ARRAY(4), ARRAY(2), ARRAY(5));
    normalize(n, h * w * c2, ARRAY(5), NULL);
    convolve(n, h, w, c2, c1, 1, 0, ARRAY(5), ARRAY(3), ARRAY(6));
    normalize(n, h * w * c1, ARRAY(6), ARRAY(0));
}
