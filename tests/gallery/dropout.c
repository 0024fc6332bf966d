#include "dropout.h"
#include "gallery.h"

/* Word i % 4 of Philox4x32-10 with counter (i / 4, 0, 0, 0), to [0, 1) as rand4 does it. */
static float noise(uint64_t seed, uint64_t i)
{
    uint32_t c[4] = {(uint32_t)(i / 4), (uint32_t)(i >> 34), 0, 0}, k[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xd2511f53u * c[0], b = (uint64_t)0xcd9e8d57u * c[2];
        uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ k[0], (uint32_t)b, (uint32_t)(a >> 32) ^ c[3] ^ k[1],
                            (uint32_t)a};
        for (int w = 0; w < 4; w++)
            c[w] = next[w];
        k[0] += 0x9e3779b9u, k[1] += 0xbb67ae85u;
    }
    int32_t word = (int32_t)c[i % 4];
    return (float)(word < 0 ? ~word : word) * 4.6566127342e-10f;
}

static void run_dropout(struct exec_case *c)
{
    int64_t n = c->extent[0];
    const uint64_t seed = UINT64_C(0x123456789abcdef);
    const float p = 0.25f;
    struct exec_tensor *x = draw(exec_inout(c, EXEC_F32, ROW(n)), 4);
    struct tile_f32_1 vx;
    EXEC_BIND(vx, x);
    exec_called(c, dropout_f32(c->stream, &vx, &vx, p, seed));
    for (int64_t i = 0; i < n; i++)
        exec_expect(c, x, i, noise(seed, (uint64_t)i) >= p ? exec_before(x, i) / 0.75 : 0, 1e-6);
}

static const struct exec_test tests[] = {{"dropout", run_dropout, 1, {3000}, 0}, {"tails", run_dropout, 1, {8197}, 0}};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
