/* KernelBench level 3, networks and their blocks: 1, 8, 35, 39, 44, 50. */
#include "reference.h"

#include "35_lstm.h"
#include "39_gru.h"
#include "50_relu_attention.h"
#include "8_residual.h"
#include "layers.h"

enum { NOTHING, RELU, GELU }; /* as `then` of layers.tile */

/* A view of `rank` extents without gaps on what lies `first` elements behind the beginning of a tensor. */
struct seen {
    int64_t view[1 + 2 * JUDGE_RANK];
};
static void *seen_as(struct judge_case *c, const char *name, int64_t first, int rank, const int64_t *extent,
                     struct seen *seen)
{
    int64_t stride = 1;
    seen->view[0] = c->tensors[tensor_of(c, name)].view[0] + first * (int64_t)sizeof(float);
    for (int d = rank - 1; d >= 0; stride *= extent[d--])
        seen->view[1 + d] = extent[d], seen->view[1 + rank + d] = stride;
    return seen->view;
}
/* SEEN(x, first, extents ...): for one call. */
#define SEEN(name, first, ...)                                                                             \
    seen_as(c, #name, first, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__}, \
            &(struct seen){0})
#define SIZE(name) judge_size(c, #name)
#define CALL_OF(name) static int call_##name(struct judge_case *c)

/* ---- 1: a perceptron of three layers ---- */

CALL_OF(perceptron)
{
    RUN(dense, V(x), V(w1), V(b1), NULL, RELU, V(h1));
    RUN(dense, V(h1), V(w2), V(b2), NULL, RELU, V(h2));
    return judge_dense(c->stream, V(h2), V(w3), V(b3), NULL, NOTHING, V(r));
}

static double *positive(double *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        x[i] = relu(x[i]);
    return x;
}

static double *perceptron(const struct judge_case *c, int64_t m)
{
    int64_t k = SIZE(k), h = SIZE(h);
    double *x = reserve(k);
    for (int64_t i = 0; i < k; i++)
        x[i] = judge_element(c, 0, m * k + i);
    double *first = positive(dense_rows(c, x, 1, k, "w1", "b1"), h);
    double *second = positive(dense_rows(c, first, 1, h, "w2", "b2"), h);
    double *y = dense_rows(c, second, 1, h, "w3", "b3");
    free(x), free(first), free(second);
    return y;
}
static struct judge_value want_perceptron(const struct judge_case *c, const int64_t *at)
{
    return about(part_of(c, at[0], perceptron)[at[1]]);
}

/* ---- 35 and 39: recurrent layers ----
 *
 * Of layer l the input's part of all steps is one product, `from`; then each step is a kernel. */

static int64_t input_of(const struct judge_case *c, int64_t l) { return l ? SIZE(h) : SIZE(i); }

/* from = input @ wi^T + bi, where layer 0 sees x and the others what lies in `out`. */
static int from_input(struct judge_case *c, int64_t l, int64_t gates)
{
    int64_t rows = SIZE(m) * SIZE(t), h = SIZE(h), width = input_of(c, l);
    void *input = l ? SEEN(out, (l - 1) * rows * h, rows, h) : SEEN(x, 0, rows, width);
    void *weights = l ? SEEN(wi, (l - 1) * gates * h * h, gates * h, h) : SEEN(w0, 0, gates * h, width);
    return judge_dense(c->stream, input, weights, SEEN(bi, l * gates * h, gates * h), NULL, NOTHING,
                       SEEN(from, 0, rows, gates * h));
}

CALL_OF(gru)
{
    int64_t m = SIZE(m), h = SIZE(h), t_count = SIZE(t);
    for (int64_t l = 0; l < SIZE(l); l++) {
        int status = from_input(c, l, 3);
        for (int64_t t = 0; !status && t < t_count; t++) {
            bool last = l + 1 == SIZE(l);
            void *before = !t     ? SEEN(h0, l * m * h, m, h)
                           : last ? SEEN(r, (t - 1) * m * h, m, h)
                                  : SEEN(out, (l * t_count + t - 1) * m * h, m, h);
            void *after = last ? SEEN(r, t * m * h, m, h) : SEEN(out, (l * t_count + t) * m * h, m, h);
            status = judge_gru_step(c->stream, SEEN(from, t * m * 3 * h, m, 3, h), before,
                                    SEEN(wh, l * 3 * h * h, 3, h, h), SEEN(bh, l * 3 * h, 3, h), after);
        }
        if (status)
            return status;
    }
    return 0;
}

CALL_OF(lstm)
{
    int64_t m = SIZE(m), h = SIZE(h), t_count = SIZE(t), last = 0;
    for (int64_t l = 0; l < SIZE(l); l++) {
        int status = from_input(c, l, 4);
        for (int64_t t = 0; !status && t < t_count; t++) {
            /* x has the batch first, what comes out of a layer the steps. */
            struct seen from;
            int64_t extent[3] = {m, 4, h}, first = l ? t * m * 4 * h : t * 4 * h;
            seen_as(c, "from", first, 3, extent, &from);
            from.view[4] = l ? 4 * h : t_count * 4 * h;
            last = (l * t_count + t) * m * h;
            void *before = t ? SEEN(out, last - m * h, m, h) : SEEN(h0, l * m * h, m, h);
            status = judge_lstm_step(c->stream, (void *)from.view, before, SEEN(wh, l * 4 * h * h, 4, h, h),
                                     SEEN(bh, l * 4 * h, 4, h), SEEN(cell, l * m * h, m, h), SEEN(out, last, m, h));
        }
        if (status)
            return status;
    }
    return judge_dense(c->stream, SEEN(out, last, m, h), V(w), V(b), NULL, NOTHING, V(r));
}

/* State h, and cell, of one row of the batch after a step of layer l; `from` is what comes from the input. */
static void step(const struct judge_case *c, int64_t l, const double *from, int64_t gates, const struct values *wh,
                 const struct values *bh, double *h, double *cell)
{
    int64_t width = SIZE(h);
    double *own = reserve(gates * width);
    dense_row(h, width, wh, l * gates * width, bh, l * gates * width, own, gates * width);
    for (int64_t i = 0; i < width; i++) {
        const double *f = from + i, *o = own + i;
        if (gates == 3) {
            double r = sigmoid(f[0] + o[0]), z = sigmoid(f[width] + o[width]);
            h[i] = (1 - z) * tanh(f[2 * width] + r * o[2 * width]) + z * h[i];
        } else {
            double in = sigmoid(f[0] + o[0]), keep = sigmoid(f[width] + o[width]);
            cell[i] = keep * cell[i] + in * tanh(f[2 * width] + o[2 * width]);
            h[i] = sigmoid(f[3 * width] + o[3 * width]) * tanh(cell[i]);
        }
    }
    free(own);
}

/* What the last layer gives for row m of the batch at each step. */
static double *recurrent(const struct judge_case *c, int64_t m, int64_t gates, bool batch_first)
{
    int64_t h = SIZE(h), t_count = SIZE(t), m_count = SIZE(m), width = SIZE(i);
    struct values w0 = values_of(c, "w0"), wi = values_of(c, "wi"), bi = values_of(c, "bi");
    struct values wh = values_of(c, "wh"), bh = values_of(c, "bh");
    double *input = reserve(t_count * (width > h ? width : h)), *from = reserve(gates * h);
    double *state = reserve(h), *cell = reserve(h);
    for (int64_t i = 0; i < t_count * width; i++) {
        int64_t t = i / width;
        input[i] = number(c, "x", (batch_first ? m * t_count + t : t * m_count + m) * width + i % width);
    }
    for (int64_t l = 0; l < SIZE(l); l++) {
        int64_t length = input_of(c, l);
        for (int64_t i = 0; i < h; i++) {
            state[i] = number(c, "h0", (l * m_count + m) * h + i);
            cell[i] = gates == 4 ? number(c, "cell", (l * m_count + m) * h + i) : 0;
        }
        double *output = reserve(t_count * h);
        for (int64_t t = 0; t < t_count; t++) {
            dense_row(input + t * length, length, l ? &wi : &w0, l ? (l - 1) * gates * h : 0, &bi, l * gates * h, from,
                      gates * h);
            step(c, l, from, gates, &wh, &bh, state, cell);
            memcpy(output + t * h, state, (size_t)h * sizeof *state);
        }
        free(input);
        input = output;
    }
    free(from), free(state), free(cell);
    free(w0.kept), free(wi.kept), free(bi.kept), free(wh.kept), free(bh.kept);
    return input;
}

static double *gru(const struct judge_case *c, int64_t m) { return recurrent(c, m, 3, false); }
static struct judge_value want_gru(const struct judge_case *c, const int64_t *at)
{
    return about(part_of(c, at[1], gru)[at[0] * SIZE(h) + at[2]]);
}

static double *lstm(const struct judge_case *c, int64_t m)
{
    double *all = recurrent(c, m, 4, true), *y = dense_rows(c, all + (SIZE(t) - 1) * SIZE(h), 1, SIZE(h), "w", "b");
    free(all);
    return y;
}
static struct judge_value want_lstm(const struct judge_case *c, const int64_t *at)
{
    return about(part_of(c, at[0], lstm)[at[1]]);
}

/* ---- 44 and 50: attention ---- */

static float scale_of(const struct judge_case *c) { return (float)(1 / sqrt((double)SIZE(d))); }

CALL_OF(block)
{
    int64_t z = SIZE(z), t = SIZE(t), heads = SIZE(g), d = SIZE(d), n = SIZE(c), rows = z * t;
    RUN(layer_norm_3, SEEN(x, 0, rows, n), V(ln1), V(ls1), SEEN(normal, 0, rows, n));
    RUN(dense, SEEN(normal, 0, rows, n), V(wqkv), V(bqkv), NULL, NOTHING, SEEN(qkv, 0, rows, 3 * n));
    RUN(causal, SEEN(qkv, 0, z, t, 3, heads, d), SEEN(normal, 0, z, t, heads, d), scale_of(c));
    RUN(dense, SEEN(normal, 0, rows, n), V(wp), V(bp), SEEN(x, 0, rows, n), NOTHING, SEEN(seen, 0, rows, n));
    RUN(layer_norm_3, SEEN(seen, 0, rows, n), V(ln2), V(ls2), SEEN(normal, 0, rows, n));
    RUN(dense, SEEN(normal, 0, rows, n), V(wf), V(bf), NULL, GELU, SEEN(wide, 0, rows, 4 * n));
    return judge_dense(c->stream, SEEN(wide, 0, rows, 4 * n), V(wo), V(bo), SEEN(seen, 0, rows, n), NOTHING,
                       SEEN(r, 0, rows, n));
}

CALL_OF(relu_attention)
{
    int64_t z = SIZE(z), t = SIZE(t), heads = SIZE(g), d = SIZE(d), n = SIZE(c), rows = z * t;
    RUN(dense, SEEN(x, 0, rows, n), V(wqkv), V(bqkv), NULL, NOTHING, SEEN(qkv, 0, rows, 3 * n));
    return judge_relu_attention(c->stream, SEEN(qkv, 0, z, t, 3, heads, d), SEEN(r, 0, z, t, heads, d), scale_of(c));
}

/* Attention of all heads of one sequence whose rows are x. */
static double *attention(const struct judge_case *c, const double *x, bool by_relu)
{
    int64_t t_count = SIZE(t), heads = SIZE(g), d = SIZE(d), n = SIZE(c);
    double *qkv = dense_rows(c, x, t_count, n, "wqkv", "bqkv"), *y = reserve(t_count * n);
    for (int64_t t = 0; t < t_count; t++)
        for (int64_t head = 0; head < heads; head++)
            attend(qkv, t, heads, d, head, by_relu, y + t * n + head * d);
    free(qkv);
    return y;
}

static double *sequence(const struct judge_case *c, int64_t z)
{
    int64_t count = SIZE(t) * SIZE(c);
    double *x = reserve(count);
    for (int64_t i = 0; i < count; i++)
        x[i] = judge_element(c, 0, z * count + i);
    return x;
}

static void add_to(double *x, double *more, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        x[i] += more[i];
    free(more);
}

static double *block(const struct judge_case *c, int64_t z)
{
    int64_t t = SIZE(t), n = SIZE(c);
    double *x = sequence(c, z), *first = layer_norm(c, x, t, "ln1", "ls1"), *seen = attention(c, first, false);
    add_to(x, dense_rows(c, seen, t, n, "wp", "bp"), t * n);
    double *second = layer_norm(c, x, t, "ln2", "ls2"), *wide = dense_rows(c, second, t, n, "wf", "bf");
    for (int64_t i = 0; i < t * 4 * n; i++)
        wide[i] = 0.5 * wide[i] * (1 + tanh(sqrt(2 / M_PI) * (wide[i] + 0.044715 * pow(wide[i], 3))));
    add_to(x, dense_rows(c, wide, t, 4 * n, "wo", "bo"), t * n);
    free(first), free(seen), free(second), free(wide);
    return x;
}
static struct judge_value want_block(const struct judge_case *c, const int64_t *at)
{
    return about(part_of(c, at[0], block)[at[1] * SIZE(c) + at[2]]);
}

static double *relu_attention(const struct judge_case *c, int64_t z)
{
    double *x = sequence(c, z), *y = attention(c, x, true);
    free(x);
    return y;
}
static struct judge_value want_relu_attention(const struct judge_case *c, const int64_t *at)
{
    return about(part_of(c, at[0], relu_attention)[at[1] * SIZE(c) + at[2]]);
}

/* ---- 8: a residual block ---- */

/* y = the convolution of x by w, of which `to` holds the weights by taps; by = what normalizes it. */
#define CONVOLVED(x, w, to, around, y, weight, shift, by) \
    RUN(arrange_3, V(w), V(to));                          \
    RUN(plane, V(x), V(to), around, V(y));                \
    RUN(batch_factors, V(y), V(weight), V(shift), V(by))

CALL_OF(residual)
{
    CONVOLVED(x, w1, t1, true, y1, g1, s1, f1);
    RUN(joined, V(y1), V(f1), NULL, NULL, V(y1));
    CONVOLVED(y1, w2, t2, true, y2, g2, s2, f2);
    CONVOLVED(x, w3, t3, false, y3, g3, s3, f3);
    return judge_joined(c->stream, V(y2), V(f2), V(y3), V(f3), V(r));
}

/* All images of `channels` planes convolved, 3 x 3 or 1 x 1, and normalized by channels. */
static double *convolved(const struct judge_case *c, const double *x, int64_t channels, int taps, const char *weights,
                         const char *weight, const char *shift)
{
    int64_t n_count = SIZE(n), o_count = SIZE(o), height = SIZE(h), width = SIZE(w), size = height * width;
    struct values w = values_of(c, weights);
    double *y = reserve(n_count * o_count * size);
    for (int64_t i = 0; i < n_count * o_count * size; i++) {
        int64_t n = i / size / o_count, o = i / size % o_count, row = i / width % height, column = i % width;
        for (int64_t k = 0; k < channels * taps * taps; k++) {
            int64_t r = row + k / taps % taps - taps / 2, q = column + k % taps - taps / 2, ch = k / (taps * taps);
            if (r >= 0 && r < height && q >= 0 && q < width)
                y[i] += x[(n * channels + ch) * size + r * width + q] * w.kept[o * channels * taps * taps + k];
        }
    }
    for (int64_t o = 0; o < o_count; o++) {
        struct gathered g = {0};
        for (int64_t i = 0; i < n_count * size; i++)
            gather(&g, (struct judge_value){y[(i / size * o_count + o) * size + i % size], 0});
        struct moments of = moments_of(g);
        for (int64_t i = 0; i < n_count * size; i++) {
            double *v = &y[(i / size * o_count + o) * size + i % size];
            *v = (*v - of.mean) * of.by * number(c, weight, o) + number(c, shift, o);
        }
    }
    free(w.kept);
    return y;
}

static double *residual(const struct judge_case *c, int64_t all)
{
    (void)all;
    int64_t count = SIZE(n) * SIZE(o) * SIZE(h) * SIZE(w);
    struct values x = values_of(c, "x");
    double *first = positive(convolved(c, x.kept, SIZE(c), 3, "w1", "g1", "s1"), count);
    double *y = convolved(c, first, SIZE(o), 3, "w2", "g2", "s2");
    add_to(y, convolved(c, x.kept, SIZE(c), 1, "w3", "g3", "s3"), count);
    free(first), free(x.kept);
    return positive(y, count);
}
static struct judge_value want_residual(const struct judge_case *c, const int64_t *at)
{
    int64_t i = ((at[0] * SIZE(o) + at[1]) * SIZE(h) + at[3]) * SIZE(w) + at[4];
    return about(part_of(c, 0, residual)[i]);
}

#define RECURRENT(gates)                                                                                     \
    "w0:f32[" gates ",h,i]~-0.2,0.2 wi:f32[l1," gates ",h,h]~-0.2,0.2 bi:f32[l," gates ",h]~-0.2,0.2 "       \
    "wh:f32[l," gates ",h,h]~-0.2,0.2 bh:f32[l," gates ",h]~-0.2,0.2 h0:f32[l,m,h]~-1,1 from:f32[t,m," gates \
    ",h]! out:f32[l,t,m,h]! "
#define ATTENTION "x:f32[z,t,c] wqkv:f32[c3,c]~-0.2,0.2 bqkv:f32[c3]~-0.2,0.2 qkv:f32[z,t,c3]! "
#define CONVOLUTION(i, channels, taps)                                                                             \
    "w" i ":f32[o," channels "," taps "]~-0.3,0.3 t" i ":f32[" taps ",o," channels "]! y" i ":f32[n,o,1,h,w]! g" i \
    ":f32[o]~0.5,1.5 s" i ":f32[o]~-1,1 f" i ":f32[o,2]! "
static const struct judge_problem problems[] = {
    {"1_MLP",
     "x:f32[m,k] w1:f32[h,k]~-0.1,0.1 b1:f32[h]~-1,1 w2:f32[h,h]~-0.1,0.1 b2:f32[h]~-1,1 w3:f32[n,h]~-0.1,0.1 "
     "b3:f32[n]~-1,1 h1:f32[m,h]! h2:f32[m,h]! > r:f32[m,n]",
     "m=128 k=16384 h=16384 n=8192", "m=5 k=37 h=43 n=19", call_perceptron, want_perceptron, NULL, 3e-6, NULL, NULL},
    {"8_ResNetBasicBlock",
     "x:f32[n,c,1,h,w] " CONVOLUTION("1", "c", "9") CONVOLUTION("2", "o", "9")
         CONVOLUTION("3", "c", "1") "> r:f32[n,o,1,h,w]",
     "n=10 c=3 o=64 h=224 w=224", "n=2 c=3 o=7 h=9 w=13", call_residual, want_residual, NULL, 1e-5, NULL, NULL},
    {"35_LSTM", "x:f32[m,t,i] cell:f32[l,m,h]~-1,1= " RECURRENT("4") "w:f32[o,h]~-1,1 b:f32[o]~-1,1 > r:f32[m,o]",
     "m=10 t=512 i=128 h=256 l=6 l1=5 o=10", "m=3 t=7 i=5 h=21 l=3 l1=2 o=4", call_lstm, want_lstm, NULL, 1e-5, NULL,
     NULL},
    {"39_GRU", "x:f32[t,m,i] " RECURRENT("3") "> r:f32[t,m,h]", "m=10 t=512 i=128 h=256 l=6 l1=5",
     "m=3 t=7 i=5 h=21 l=3 l1=2", call_gru, want_gru, NULL, 1e-5, NULL, NULL},
    {"44_MiniGPTBlock",
     ATTENTION "ln1:f32[c]~0.5,1.5 ls1:f32[c]~-1,1 normal:f32[z,t,c]! wp:f32[c,c]~-0.2,0.2 bp:f32[c]~-0.2,0.2 "
               "seen:f32[z,t,c]! ln2:f32[c]~0.5,1.5 ls2:f32[c]~-1,1 wf:f32[c4,c]~-0.2,0.2 bf:f32[c4]~-0.2,0.2 "
               "wide:f32[z,t,c4]! wo:f32[c,c4]~-0.2,0.2 bo:f32[c]~-0.2,0.2 > r:f32[z,t,c]",
     "z=128 t=512 g=8 d=96 c=768 c3=2304 c4=3072", "z=2 t=37 g=3 d=8 c=24 c3=72 c4=96", call_block, want_block, NULL,
     1e-5, NULL, NULL},
    {"50_ReLUSelfAttention", ATTENTION "> r:f32[z,t,c]", "z=16 t=1024 g=12 d=64 c=768 c3=2304",
     "z=2 t=37 g=3 d=16 c=48 c3=144", call_relu_attention, want_relu_attention, NULL, 1e-5, NULL, NULL},
};
const struct judge_family judge_networks = {problems, sizeof problems / sizeof *problems};
