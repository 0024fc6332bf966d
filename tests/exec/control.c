#include "exec.h"
#include "control.h"
#include <math.h>

#define ONE(n) \
    1, (int64_t[]) { n }
#define TWO(m, n) \
    2, (int64_t[]) { m, n }

static void run_horner(struct exec_case *c)
{
    int64_t n = c->extent[0], k = c->extent[1];
    struct exec_tensor *x = exec_input(c, EXEC_F32, ONE(n)), *f = exec_input(c, EXEC_F32, ONE(k)),
                       *y = exec_output(c, EXEC_F32, ONE(n));
    struct tile_f32_1 vx, vf, vy;
    for (int64_t i = 0; i < n; i++)
        exec_set(x, i, exec_before(x, i) / 4.0);
    EXEC_BIND(vx, x);
    EXEC_BIND(vf, f);
    EXEC_BIND(vy, y);
    exec_called(c, control_horner(c->stream, &vx, &vf, &vy));
    for (int64_t i = 0; i < n; i++) {
        double sum = 0.0, power = 1.0;
        for (int64_t j = 0; j < k; j++, power *= exec_before(x, i))
            sum += power * exec_before(f, j);
        exec_expect(c, y, i, sum + (double)k, 1e-4);
    }
}

static void run_fibonacci(struct exec_case *c)
{
    int64_t n = c->extent[0], rounds = c->extent[1];
    struct exec_tensor *x = exec_range(c, EXEC_I64, ONE(n), -9, 9), *y = exec_output(c, EXEC_I64, ONE(n));
    struct tile_i64_1 vx, vy;
    EXEC_BIND(vx, x);
    EXEC_BIND(vy, y);
    exec_called(c, control_fibonacci(c->stream, &vx, rounds, &vy));
    for (int64_t i = 0; i < n; i++) {
        uint64_t p = (uint64_t)exec_before_int(x, i), q = p + 1;
        for (int64_t k = rounds; k > 0; k--) {
            uint64_t next = p + q;
            p = q;
            q = next;
        }
        exec_expect_int(c, y, i, (int64_t)p);
    }
}

static void run_online(struct exec_case *c)
{
    int64_t m = c->extent[0], n = c->extent[1];
    struct exec_tensor *x = exec_input(c, EXEC_F32, TWO(m, n)), *y = exec_output(c, EXEC_F32, ONE(m));
    struct tile_f32_2 vx;
    struct tile_f32_1 vy;
    if (c->special) /* a row that is fully masked among them, no NaN or +inf */
        for (int64_t i = 0; i < m * n; i++)
            exec_set(x, i, i / n == m / 2 || i % 3 == 0 ? -INFINITY : (double)(i % 5));
    EXEC_BIND(vx, x);
    EXEC_BIND(vy, y);
    exec_called(c, control_online(c->stream, &vx, &vy));
    for (int64_t r = 0; r < m; r++) {
        double high = -INFINITY, sum = 0.0;
        for (int64_t i = 0; i < n; i++)
            high = fmax(high, exec_before(x, r * n + i));
        for (int64_t i = 0; i < n; i++)
            sum += high == -INFINITY ? 0.0 : exp(exec_before(x, r * n + i) - high);
        exec_expect(c, y, r, sum, 1e-5);
    }
}

static void run_collatz(struct exec_case *c)
{
    int64_t n = c->extent[0];
    struct exec_tensor *x = exec_range(c, EXEC_I64, ONE(n), -2, 4000), *y = exec_output(c, EXEC_I64, ONE(n));
    struct tile_i64_1 vx, vy;
    EXEC_BIND(vx, x);
    EXEC_BIND(vy, y);
    exec_called(c, control_collatz(c->stream, &vx, &vy));
    for (int64_t i = 0; i < n; i++) {
        int64_t v = exec_before_int(x, i), steps = 0;
        while (v > 1 && steps < 500) {
            v = v % 2 == 0 ? v / 2 : 3 * v + 1;
            steps++;
        }
        exec_expect_int(c, y, i, steps);
    }
}

static void run_root(struct exec_case *c)
{
    int64_t n = c->extent[0];
    struct exec_tensor *x = exec_input(c, EXEC_F32, ONE(n)), *y = exec_output(c, EXEC_F32, ONE(n));
    struct tile_f32_1 vx, vy;
    for (int64_t i = 0; i < n && c->special; i++) /* inf would never end */
        exec_set(x, i, i % 2 ? NAN : 2.0);
    EXEC_BIND(vx, x);
    EXEC_BIND(vy, y);
    exec_called(c, control_root(c->stream, &vx, &vy));
    for (int64_t i = 0; i < n; i++) {
        double v = exec_before(x, i);
        exec_expect(c, y, i, v <= 0.0 ? 0.0 : sqrt(v), 1e-4);
    }
}

static void run_choices(struct exec_case *c)
{
    int64_t n = c->extent[0];
    struct exec_tensor *x = exec_input(c, EXEC_F32, ONE(n)), *y[3];
    struct tile_f32_1 vx, vy[3];
    int status = 0;
    EXEC_BIND(vx, x);
    for (int mode = 0; mode < 3; mode++) {
        y[mode] = exec_output(c, EXEC_F32, ONE(n));
        EXEC_BIND(vy[mode], y[mode]);
        status = status ? status : control_choices(c->stream, &vx, mode, &vy[mode]);
    }
    exec_called(c, status);
    for (int64_t i = 0; i < n; i++) {
        double v = exec_before(x, i), mean = 0.0;
        for (int64_t k = i / 64 * 64; k < n && k < i / 64 * 64 + 64; k++)
            mean += exec_before(x, k) / 64.0;
        exec_expect(c, y[0], i, v + 3.0, 1e-6);
        exec_expect(c, y[1], i, 2.0 * v + 2.0, 1e-6);
        exec_expect(c, y[2], i, 2.0 * v - mean + 2.0, 1e-5);
    }
}

static void run_mirror(struct exec_case *c)
{
    int64_t n = c->extent[0];
    struct exec_tensor *x = exec_input(c, EXEC_F32, ONE(n)), *y = exec_output(c, EXEC_F32, ONE(n));
    struct tile_f32_1 vx, vy;
    EXEC_BIND(vx, x);
    EXEC_BIND(vy, y);
    exec_called(c, control_mirror(c->stream, &vx, &vy));
    for (int64_t b = 0; b < n; b += 64) {
        double v[64], t[64];
        for (int i = 0; i < 64; i++)
            v[i] = b + i < n ? exec_before(x, b + i) : 0.0;
        for (int k = 0; k < 2; k++) {
            for (int i = 0; i < 64; i++)
                t[i] = v[i] + v[i % 8 * 8 + i / 8];
            for (int i = 0; i < 64; i++)
                v[i] = t[i];
        }
        for (int64_t i = b; i < n && i < b + 64; i++)
            exec_expect(c, y, i, v[i - b], 1e-6);
    }
}

static void run_doubling(struct exec_case *c)
{
    int64_t n = c->extent[0], count = 0;
    struct exec_tensor *y = exec_output(c, EXEC_I64, ONE(64));
    struct tile_i64_1 vy;
    EXEC_BIND(vy, y);
    exec_called(c, control_doubling(c->stream, n * n, &vy));
    for (int64_t k = 1; k < n * n; k *= 2)
        exec_expect_int(c, y, count++, k);
    for (; count < 64; count++)
        exec_expect_int(c, y, count, exec_before_int(y, count));
}

static const struct exec_test tests[] = {
    {"horner", run_horner, 2, {200, 6}, 0},  {"fibonacci", run_fibonacci, 2, {70, 13}, 0},
    {"online", run_online, 2, {10, 100}, 0}, {"collatz", run_collatz, 1, {60}, 0},
    {"root", run_root, 1, {200}, 0},         {"choices", run_choices, 1, {200}, 0},
    {"mirror", run_mirror, 1, {200}, 0},     {"doubling", run_doubling, 1, {1000}, 0},
};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
