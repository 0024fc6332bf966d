/* examples/rows.tile: row numbers inside and outside of the table. */
#include "rows.h"
#include "exec.h"
#include <string.h>

/* The first word of Philox4x32-10 with counter (lo, hi, 0, 0). */
static uint32_t philox(uint64_t seed, uint64_t counter)
{
    uint32_t c[4] = {(uint32_t)counter, (uint32_t)(counter >> 32), 0, 0};
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xd2511f53u * c[0], b = (uint64_t)0xcd9e8d57u * c[2];
        uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ k0, (uint32_t)b, (uint32_t)(a >> 32) ^ c[3] ^ k1, (uint32_t)a};
        memcpy(c, next, sizeof c);
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    return c[0];
}

static float random_float(uint64_t seed, int64_t counter)
{
    int32_t word = (int32_t)philox(seed, (uint64_t)counter);
    return (float)(word < 0 ? ~word : word) * 4.6566127342e-10f;
}

static void run_rows(struct exec_case *c)
{
    int64_t v = c->extent[0], n = c->extent[1], d = c->extent[2];
    const uint64_t seed = 1234567890123u;
    struct exec_tensor *table = exec_input(c, EXEC_F32, 2, (int64_t[]){v, d}),
                       *ids = exec_range(c, EXEC_I32, 1, &n, -2, v + 1),
                       *out = exec_inout(c, EXEC_F32, 2, (int64_t[]){n, d}),
                       *p = exec_packed(c, EXEC_F32, 2, (int64_t[]){n, d}, 1);
    struct tile_f32_2 vt, vo;
    struct tile_i32_1 vi;
    EXEC_BIND(vt, table);
    EXEC_BIND(vi, ids);
    EXEC_BIND(vo, out);
    exec_called(c, rows_f32(c->stream, &vt, &vi, &vo, exec_pointer(p), seed));
    for (int64_t i = 0; i < n * d; i++) {
        int64_t id = exec_before_int(ids, i / d);
        double t = id < 0 || id >= v ? 0.0 : exec_before(table, id * d + i % d);
        exec_expect(c, p, i, t, 0.0);
        exec_expect(c, out, i, exec_before(out, i) + (random_float(seed, i) < 0.1f ? 0.0 : t), 1e-6);
    }
}

static const struct exec_test tests[] = {{"rows", run_rows, 3, {20, 40, 300}, 0}};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
