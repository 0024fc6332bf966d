#include "state_space.h"
#include "gallery.h"

#define FIVE(a, b, c, d, e) \
    5, (int64_t[]) { a, b, c, d, e }

/* Each kernel by its own definition, the last from what the one before it gives. */

enum { P = 64, N = 64, Q = 64 };

static void run_decay(struct exec_case *c)
{
    int64_t l = c->extent[0], h = c->extent[1], chunks = (l + Q - 1) / Q;
    struct exec_tensor *dt = draw(exec_input(c, EXEC_F32, CUBE(1, l, h)), 1),
                       *a = draw(exec_input(c, EXEC_F32, ROW(h)), 1);
    struct exec_tensor *da = exec_output(c, EXEC_F32, FOUR(1, h, chunks, Q));
    struct tile_f32_3 vdt;
    struct tile_f32_1 va;
    struct tile_f32_4 vda;
    EXEC_BIND(vdt, dt), EXEC_BIND(va, a), EXEC_BIND(vda, da);
    exec_called(c, state_space_decay(c->stream, &vdt, &va, &vda));
    double sum = 0;
    for (int64_t i = 0; i < h * chunks * Q; i++) {
        int64_t head = i / (chunks * Q), t = i % (chunks * Q);
        sum = (t % Q ? sum : 0) + (t < l ? exec_before(dt, t * h + head) * exec_before(a, head) : 0);
        exec_expect(c, da, i, sum, 1e-5);
    }
}

static void run_state(struct exec_case *c)
{
    int64_t l = c->extent[0], h = c->extent[1], chunks = (l + Q - 1) / Q;
    struct exec_tensor *x = exec_input(c, EXEC_BF16, FOUR(1, l, h, P)), *b = exec_input(c, EXEC_BF16, FOUR(1, l, 1, N));
    struct exec_tensor *dt = exec_input(c, EXEC_F32, CUBE(1, l, h)),
                       *da = exec_input(c, EXEC_F32, FOUR(1, h, chunks, Q));
    struct exec_tensor *state = exec_output(c, EXEC_F32, FIVE(1, chunks, h, P, N));
    struct tile_bf16_4 vx, vb;
    struct tile_f32_3 vdt;
    struct tile_f32_4 vda;
    struct tile_f32_5 vstate;
    draw(x, 1), draw(b, 1), draw(dt, 1), draw(da, 1);
    EXEC_BIND(vx, x), EXEC_BIND(vb, b), EXEC_BIND(vdt, dt), EXEC_BIND(vda, da), EXEC_BIND(vstate, state);
    exec_called(c, state_space_chunk_state_bf16(c->stream, &vx, &vb, &vdt, &vda, &vstate));
    for (int64_t i = 0; i < chunks * h * P * N; i++) {
        int64_t n = i % N, p = i / N % P, head = i / (N * P) % h, chunk = i / (N * P * h);
        double sum = 0, sizes = 0;
        for (int64_t t = 0; t < Q && chunk * Q + t < l; t++) {
            int64_t row = chunk * Q + t, at = (head * chunks + chunk) * Q;
            double w = exp(exec_before(da, at + Q - 1) - exec_before(da, at + t)) * exec_before(dt, row * h + head);
            double term = exec_before(x, (row * h + head) * P + p) * exec_before(b, row * N + n) * w;
            sum += term;
            sizes += fabs(term);
        }
        expect_sum(c, state, i, sum, sizes, 0x1p-7);
    }
}

static void pass_state(struct exec_case *c, int in_place)
{
    int64_t chunks = c->extent[0], h = c->extent[1], each = h * P * N;
    struct exec_tensor *state = exec_inout(c, EXEC_F32, FIVE(1, chunks, h, P, N));
    struct exec_tensor *da = exec_input(c, EXEC_F32, FOUR(1, h, chunks, Q));
    struct exec_tensor *before = exec_output(c, EXEC_BF16, FIVE(1, chunks, h, P, N));
    struct tile_f32_5 vstate;
    struct tile_f32_4 vda;
    struct tile_bf16_5 vbefore;
    draw(state, 1), draw(da, 1);
    EXEC_BIND(vstate, state), EXEC_BIND(vda, da), EXEC_BIND(vbefore, before);
    exec_called(c, in_place ? state_space_state_passing_bf16(c->stream, &vstate, &vda, &vbefore)
                            : state_space_state_before_bf16(c->stream, &vstate, &vda, &vbefore));
    for (int64_t i = 0; i < each; i++) {
        double sum = 0, sizes = 0;
        for (int64_t chunk = 0; chunk < chunks; chunk++) {
            double keep = exp(exec_before(da, (i / (P * N) * chunks + chunk) * Q + Q - 1));
            exec_expect(c, state, chunk * each + i, in_place ? sum : exec_before(state, chunk * each + i),
                        1e-5 * (1 + sizes));
            expect_sum(c, before, chunk * each + i, sum, sizes, 0x1p-7);
            sum = keep * sum + exec_before(state, chunk * each + i);
            sizes = keep * sizes + fabs(exec_before(state, chunk * each + i));
        }
    }
}
static void run_passing(struct exec_case *c) { pass_state(c, 1); }
static void run_before(struct exec_case *c) { pass_state(c, 0); }

static void run_chunks(struct exec_case *c)
{
    int64_t l = c->extent[0], h = c->extent[1], chunks = (l + Q - 1) / Q;
    struct exec_tensor *x = exec_input(c, EXEC_BF16, FOUR(1, l, h, P)), *b = exec_input(c, EXEC_BF16, FOUR(1, l, 1, N));
    struct exec_tensor *e = exec_input(c, EXEC_BF16, FOUR(1, l, 1, N)), *dt = exec_input(c, EXEC_F32, CUBE(1, l, h));
    struct exec_tensor *da = exec_input(c, EXEC_F32, FOUR(1, h, chunks, Q)),
                       *y = exec_output(c, EXEC_BF16, FOUR(1, l, h, P));
    struct exec_tensor *before = exec_input(c, EXEC_BF16, FIVE(1, chunks, h, P, N)),
                       *own = exec_input(c, EXEC_F32, 1, &h);
    struct tile_bf16_4 vx, vb, ve, vy;
    struct tile_f32_3 vdt;
    struct tile_f32_4 vda;
    struct tile_bf16_5 vbefore;
    struct tile_f32_1 vown;
    draw(x, 1), draw(b, 1), draw(e, 1), draw(dt, 1), draw(da, 1), draw(before, 1), draw(own, 1);
    EXEC_BIND(vx, x), EXEC_BIND(vb, b), EXEC_BIND(ve, e), EXEC_BIND(vdt, dt), EXEC_BIND(vda, da), EXEC_BIND(vy, y);
    EXEC_BIND(vbefore, before), EXEC_BIND(vown, own);
    exec_called(c, state_space_chunk_scan_bf16(c->stream, &vx, &vb, &ve, &vdt, &vda, &vbefore, &vown, &vy));
    for (int64_t i = 0; i < l * h; i++) {
        int64_t row = i / h, head = i % h, chunk = row / Q, at = (head * chunks + chunk) * Q;
        double now = exec_before(da, at + row % Q), weight[Q];
        for (int64_t t = 0; t <= row % Q; t++) {
            double product = 0;
            for (int n = 0; n < N; n++)
                product += exec_before(e, row * N + n) * exec_before(b, (chunk * Q + t) * N + n);
            weight[t] = product * exp(now - exec_before(da, at + t)) * exec_before(dt, (chunk * Q + t) * h + head);
        }
        for (int p = 0; p < P; p++) {
            double sum = exec_before(x, i * P + p) * exec_before(own, head), sizes = fabs(sum);
            for (int n = 0; n < N; n++) {
                double term = exec_before(e, row * N + n) * exp(now) *
                              exec_before(before, ((chunk * h + head) * P + p) * N + n);
                sum += term, sizes += fabs(term);
            }
            for (int64_t t = 0; t <= row % Q; t++) {
                double term = weight[t] * exec_before(x, ((chunk * Q + t) * h + head) * P + p);
                sum += term, sizes += fabs(term);
            }
            expect_sum(c, y, i * P + p, sum, sizes, 0x1p-7);
        }
    }
}

/* Step by step, at an odd number of rows of the state; `whole`: with a state to begin with, D and the state behind it. */
static void scan_all(struct exec_case *c, int whole)
{
    int64_t l = c->extent[0], h = c->extent[1], p = c->extent[2];
    struct exec_tensor *x = exec_input(c, EXEC_BF16, FOUR(1, l, h, p)), *b = exec_input(c, EXEC_BF16, FOUR(1, l, 1, N));
    struct exec_tensor *e = exec_input(c, EXEC_BF16, FOUR(1, l, 1, N)), *dt = exec_input(c, EXEC_F32, CUBE(1, l, h));
    struct exec_tensor *a = exec_input(c, EXEC_F32, ROW(h)), *own = exec_input(c, EXEC_F32, ROW(h));
    struct exec_tensor *from = exec_input(c, EXEC_F32, FOUR(1, h, p, N));
    struct exec_tensor *y = exec_output(c, EXEC_BF16, FOUR(1, l, h, p)),
                       *to = exec_output(c, EXEC_F32, FOUR(1, h, p, N));
    struct tile_bf16_4 vx, vb, ve, vy;
    struct tile_f32_4 vfrom, vto;
    struct tile_f32_3 vdt;
    struct tile_f32_1 va, vown;
    draw(x, 1), draw(b, 1), draw(e, 1), draw(dt, 1), draw(a, 1), draw(own, 1), draw(from, 1);
    EXEC_BIND(vx, x), EXEC_BIND(vb, b), EXEC_BIND(ve, e), EXEC_BIND(vy, y), EXEC_BIND(vfrom, from), EXEC_BIND(vto, to);
    EXEC_BIND(vdt, dt), EXEC_BIND(va, a), EXEC_BIND(vown, own);
    exec_called(c, state_space_scan_bf16(c->stream, &vx, &vb, &ve, &vdt, &va, whole ? &vown : NULL,
                                         whole ? &vfrom : NULL, &vy, whole ? &vto : NULL));
    for (int64_t i = 0; i < h * p; i++) {
        int64_t head = i / p;
        double state[N], sizes[N];
        for (int n = 0; n < N; n++)
            sizes[n] = fabs(state[n] = whole ? exec_before(from, i * N + n) : 0);
        for (int64_t t = 0; t < l; t++) {
            double d = exec_before(dt, t * h + head), value = exec_before(x, t * h * p + i);
            double sum = whole ? exec_before(own, head) * value : 0, all = fabs(sum),
                   keep = exp(d * exec_before(a, head));
            for (int n = 0; n < N; n++) {
                double added = d * value * exec_before(b, t * N + n), factor = exec_before(e, t * N + n);
                state[n] = keep * state[n] + added, sizes[n] = keep * sizes[n] + fabs(added);
                sum += state[n] * factor, all += sizes[n] * fabs(factor);
            }
            expect_sum(c, y, t * h * p + i, sum, all, 0x1p-7);
        }
        for (int n = 0; n < N && whole; n++)
            expect_sum(c, to, i * N + n, state[n], sizes[n], 0x1p-7);
    }
}
static void run_scan(struct exec_case *c) { scan_all(c, 1); }
static void run_plain(struct exec_case *c) { scan_all(c, 0); }

static const struct exec_test tests[] = {{"decay", run_decay, 2, {70, 2}, 0},    {"state", run_state, 2, {70, 1}, 0},
                                         {"passing", run_passing, 2, {6, 1}, 0}, {"before", run_before, 2, {6, 1}, 0},
                                         {"chunks", run_chunks, 2, {70, 2}, 0},  {"scan", run_scan, 3, {150, 2, 72}, 0},
                                         {"plain", run_plain, 3, {64, 1, 64}, 0}};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
