#include "sample.h"
#include "gallery.h"

/* Tokens of equal rows come as often as the softmax says; of temperature 0 the greatest comes, the first of several. */
static void run_sample(struct exec_case *c)
{
    int64_t m = c->extent[0], v = c->extent[1] ? c->extent[1] : 1, *count = calloc((size_t)v, sizeof *count);
    double temperature = c->gaps ? 0 : 0.5, sum = 0;
    struct exec_tensor *logits = draw(exec_input(c, EXEC_F32, MATRIX(m, v)), 2),
                       *token = exec_output(c, EXEC_I32, ROW(m));
    struct tile_f32_2 vlogits;
    struct tile_i32_1 vtoken;
    for (int64_t i = v; i < m * v; i++)
        exec_set(logits, i, exec_before(logits, i % v));
    EXEC_BIND(vlogits, logits), EXEC_BIND(vtoken, token);
    exec_called(c, sample_f32(c->stream, &vlogits, &vtoken, (float)temperature, UINT64_C(5)));
    int64_t greatest = 0;
    for (int64_t k = 0; m && k < v; k++) {
        greatest = exec_before(logits, k) > exec_before(logits, greatest) ? k : greatest;
        sum += exp(exec_before(logits, k) / 0.5);
    }
    for (int64_t i = 0; i < m; i++) {
        int64_t got = exec_value_int(token, i);
        if (got < 0 || got >= v || (temperature == 0 && got != greatest))
            exec_fail(c, "row %lld has token %lld, not %lld", (long long)i, (long long)got, (long long)greatest);
        else
            count[got]++;
    }
    for (int64_t k = 0; temperature > 0 && m > 100 && k < v; k++) { /* five times the standard deviation */
        double p = exp(exec_before(logits, k) / 0.5) / sum, mean = p * (double)m;
        if (fabs((double)count[k] - mean) > 5 * sqrt(mean * (1 - p)) + 1)
            exec_fail(c, "token %lld came %lld times, not %g", (long long)k, (long long)count[k], mean);
    }
    free(count);
}

static const struct exec_test tests[] = {{"sample", run_sample, 2, {2000, 9}, 0},
                                         {"sample_long", run_sample, 2, {3, 5000}, 0}};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
