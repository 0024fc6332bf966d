/* examples/saxpy.tile. */
#include "saxpy.h"
#include "exec.h"

static void run_saxpy(struct exec_case *c)
{
    int64_t n = c->extent[0];
    struct exec_tensor *x = exec_input(c, EXEC_F32, 1, &n), *y = exec_inout(c, EXEC_F32, 1, &n);
    struct tile_f32_1 vx, vy;
    EXEC_BIND(vx, x);
    EXEC_BIND(vy, y);
    exec_called(c, saxpy(c->stream, 0.75f, &vx, &vy));
    for (int64_t i = 0; i < n; i++)
        exec_expect(c, y, i, 0.75 * exec_before(x, i) + exec_before(y, i), 1e-6);
}

static const struct exec_test tests[] = {{"saxpy", run_saxpy, 1, {5000}, 0}};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
