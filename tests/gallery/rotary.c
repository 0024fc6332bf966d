#include "rotary.h"
#include "gallery.h"

enum { D = 64, POSITIONS = 50 };

static void run_rotary(struct exec_case *c)
{
    int64_t l = c->extent[0], h = c->extent[1];
    struct exec_tensor *x = draw(exec_inout(c, EXEC_BF16, CUBE(l, h, D)), 1);
    struct exec_tensor *at = exec_range(c, EXEC_I32, ROW(l), 0, POSITIONS - 1);
    struct exec_tensor *cosine = exec_input(c, EXEC_F32, MATRIX(POSITIONS, D / 2));
    struct exec_tensor *sine = exec_input(c, EXEC_F32, MATRIX(POSITIONS, D / 2));
    struct tile_bf16_3 vx;
    struct tile_i32_1 vat;
    struct tile_f32_2 vcosine, vsine;
    for (int64_t i = 0; i < POSITIONS * (D / 2); i++) {
        double angle = (double)(i / (D / 2)) * pow(10000, -2.0 * (double)(i % (D / 2)) / D);
        exec_set(cosine, i, cos(angle)), exec_set(sine, i, sin(angle));
    }
    EXEC_BIND(vx, x), EXEC_BIND(vat, at), EXEC_BIND(vcosine, cosine), EXEC_BIND(vsine, sine);
    exec_called(c, rotary_bf16(c->stream, &vx, &vat, &vcosine, &vsine));
    for (int64_t i = 0; i < l * h * D; i++) {
        int64_t pair = i % D % (D / 2), low = i - i % D + pair, row = exec_before_int(at, i / D / h);
        double angle = (double)row * pow(10000, -2.0 * (double)pair / D);
        double u = exec_before(x, low), v = exec_before(x, low + D / 2);
        exec_expect(c, x, i, i == low ? u * cos(angle) - v * sin(angle) : v * cos(angle) + u * sin(angle), 0x1p-8);
    }
}

static const struct exec_test tests[] = {{"rotary", run_rotary, 2, {40, 3}, 0}};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
