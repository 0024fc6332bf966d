/* See corners.h: operations on constants of all elements, which are computed while compiling, and the same on what is
 * loaded, where one side is a constant. */
#include "corners.h"

#include "tests/fuzz/support/generate.h"
#include "tests/fuzz/support/operations.h"

enum { OPERATIONS = 40 };

static void put_constant(struct random *random, struct buffer *out, int number, enum ir_element element)
{
    static const double reals[] = {0.0, -0.0, 0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 3.0, 0.1, 1e10, -65504.0, 1e-40};
    static const int64_t integers[] = {0,
                                       1,
                                       -1,
                                       2,
                                       3,
                                       7,
                                       8,
                                       31,
                                       32,
                                       33,
                                       63,
                                       64,
                                       -8,
                                       127,
                                       128,
                                       255,
                                       INT32_MAX,
                                       INT32_MIN,
                                       INT64_MAX,
                                       INT64_MIN,
                                       0x20000000000001,
                                       0x4000004000000001};
    buffer_printf(out, "%%c%d = constant value(", number);
    if (element == IR_BOOL) {
        buffer_puts(out, random_chance(random, 50) ? "true" : "false");
    } else if (ir_is_float(element)) {
        int dice = random_below(random, random_chance(random, 40) ? 4 : 20);
        double infinity = dice == 17 ? -__builtin_inf() : __builtin_inf();
        double real = dice < 14 ? reals[dice] : dice < 17 ? __builtin_nan("") : infinity;
        buffer_printf(out, "bits(0x%llx)", (unsigned long long)ir_double_to_bits(element, real));
    } else {
        int which = random_below(random, 22);
        if (random_chance(random, 25)) /* those that floats round */
            which = 20 + which % 2;
        int64_t number_of = ir_bits_to_int(element, ir_int_to_bits(element, integers[which]));
        if (ir_is_signed(element))
            buffer_printf(out, "%lld", (long long)number_of);
        else
            buffer_printf(out, "%llu", (unsigned long long)number_of);
    }
    buffer_printf(out, ") : %s\n", ir_element_info[element].text);
}

static void put_operation(struct random *random, struct buffer *out, int n, enum ir_element element, int a, int b)
{
    static const char *const predicates[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    static const char *const rounds[] = {"", "", " round(rtz)", " round(rtp)", " round(rtn)"};
    struct operations alone = operations_on(element, 1), pairs = operations_on(element, 2);
    const char *name = ir_element_info[element].text;
    bool real = ir_is_float(element);
    int dice = random_below(random, 100);
    enum ir_element to = (enum ir_element)random_below(random, IR_POINTER);
    bool is_long = element == IR_I64 || element == IR_U64 || element == IR_INDEX;
    if (is_long && random_chance(random, 60)) /* more bits than any float keeps */
        to = (enum ir_element[]){IR_F32, IR_F16, IR_BF16, IR_F64}[random_below(random, 4)];
    if (dice < 30) {
        const char *round = rounds[random_below(random, 5)];
        buffer_printf(out, "%%b%d = cast%s%s %%c%d : %s\n%%r%d = cast %%b%d : f64\n", n, round,
                      random_chance(random, 40) ? " saturate(1)" : "", a, ir_element_info[to].text, n, n);
    } else if (dice < 45) {
        buffer_printf(out, "%%b%d = compare predicate(%s) %%c%d, %%c%d : bool\n%%r%d = cast %%b%d : f64\n", n,
                      predicates[random_below(random, element == IR_BOOL ? 2 : 6)], a, b, n, n);
    } else if (dice < 55) {
        const char *one = operations_text(&alone, random_below(random, alone.count));
        buffer_printf(out, "%%b%d = %s %%c%d : %s\n%%r%d = cast %%b%d : f64\n", n, one, a, name, n, n);
    } else {
        int which = random_below(random, pairs.count);
        bool picks = pairs.of[which] == OP_MIN || pairs.of[which] == OP_MAX;
        const char *nan = real && picks && random_chance(random, 50) ? " nan(propagate)" : "";
        buffer_printf(out, "%%b%d = %s%s %%c%d, %%c%d : %s\n%%r%d = cast %%b%d : f64\n", n,
                      operations_text(&pairs, which), nan, a, b, name, n, n);
    }
    buffer_printf(out, "%%i%d = constant value(%d) : index\nstore %%y[%%i%d], %%r%d\n", n, n, n, n);
}

void corners_generate_constants(struct buffer *out, uint64_t seed)
{
    struct random random = {seed ^ 0x636f6e7374616e74};
    enum ir_element element = (enum ir_element)(seed % IR_POINTER);
    const char *name = ir_element_info[element].text;
    buffer_printf(out,
                  "// seed %llu\n// grid 1\n// view extent %d stride 1 elements %d block 1 content 0 fill 1\n"
                  "// view extent %d stride 1 elements %d block %d content 0 fill 2 output\n"
                  "kernel @fuzz(%%x: view<%s, [?], [1], in> {limit(2147483648), restrict}, %%y: view<f64, [?], "
                  "[1], inout> {limit(2147483648), restrict}) grid(1) {\n",
                  (unsigned long long)seed, OPERATIONS, OPERATIONS, OPERATIONS, OPERATIONS, OPERATIONS, name);
    for (int n = 0; n < OPERATIONS; n++) {
        int a = 2 * n, b = 2 * n + 1;
        if (ir_is_float(element) && n % 5 == 0) { /* zeros of both signs, one as often in front as the other */
            bool first = random_chance(&random, 50);
            buffer_printf(out, "%%c%d = constant value(%s0.0) : %s\n%%c%d = constant value(%s0.0) : %s\n", a,
                          first ? "-" : "", name, b, first ? "" : "-", name);
        } else {
            put_constant(&random, out, a, element);
            put_constant(&random, out, b, element);
        }
        if (random_chance(&random, 25)) { /* one side is not known; at times both are the same */
            int loaded = 2 * OPERATIONS + n;
            buffer_printf(out, "%%j%d = constant value(%d) : index\n%%c%d = load %%x[%%j%d], %%c%d : %s\n", n, n,
                          loaded, n, a, name);
            b = random_chance(&random, 20) ? loaded : b;
            a = loaded;
        }
        put_operation(&random, out, n, element, random_chance(&random, 80) ? a : b, b);
    }
    buffer_puts(out, "return\n}\n");
}
