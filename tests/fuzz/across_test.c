/* Kernels whose instances wait for each other, or of which the last goes on: random sources over ordered grids, scratch
 * and `split_k`, each run in the interpreter, after each pass, in code of this processor and in the text for GPUs, which
 * support/ptx.h runs.
 *     across_test [FIRST COUNT [print]] */
#include <stdlib.h>
#include <string.h>

#include "support/judge.h"
#include "support/text.h"
#include "targets/nvptx/assemble/assemble.h"

static const struct {
    const char *type, *of; /* of: the body of its function over a and b */
    const char *none, *fold;
} operations[] = {
    {"i32", "a + b", "0", "sum(v)"},
    {"u32", "a ^ b", "0", "reduce(v, f)"},
    {"i16", "b != 0 ? b : a", "0", "reduce(v, f)"},
    {"f32", "max(a, b)", "-inf", "max(v)"},
    {"f16", "min(a, b)", "inf", "min(v)"},
    {"f64", "a + b", "0.0", "sum(v)"},
    {"i64", "max(a, b)", "lowest(i64)", "max(v)"},
    {"bf16", "b != 0.0 ? b : a", "0.0", "reduce(v, f)"},
};

static bool is_wide(const char *type) { return strstr(type, "64") != NULL; }

/* A scan over all elements, or over those of each row.  Of large blocks a warp has the tile of two instances, which wait
 * in shared memory.  Returns the most elements that are worth it. */
static int make_scan(struct buffer *out, struct random *random)
{
    bool large = random_chance(random, 30);
    int which = random_below(random, (int)(sizeof operations / sizeof *operations)),
        block = large ? 256 << random_below(random, 2) : 1 << random_below(random, 7);
    const char *type = operations[which].type, *none = operations[which].none;
    bool rows = random_chance(random, 30), wide = is_wide(type) || random_chance(random, 25);
    const char *m = rows ? "m, " : "", *of_all = rows ? "[m, .., ..]" : "";
    const char *size = rows ? "M, " : "";
    buffer_printf(out, "fn f(a: %s, b: %s) -> %s = %s;\n", type, type, type, operations[which].of);
    buffer_printf(out, "kernel k(x: in %s[%sN], y: out %s[%sN])\n    grid(ordered b: cdiv(N, %d)%s)\n", type, size,
                  type, size, block, rows ? ", m: M" : "");
    if (large || random_chance(random, 50))
        buffer_printf(out, "    tune(warps: {%d})\n", 1 << random_below(random, large ? 1 : 3));
    if (wide)
        buffer_printf(out, "    scratch(state: u32[%scdiv(N, %d), 32] = 0, values: %s[%s2, cdiv(N, %d)])\n", size,
                      block, type, size, block);
    else
        buffer_printf(out, "    scratch(state: u64[%scdiv(N, %d), 16] = 0)\n", size, block);
    buffer_printf(out, "{\n    let v = load(x[%sb*%d +: %d], other = %s);\n    let s = scan(v, f);\n", m, block, block,
                  none);
    buffer_printf(out, "    let own = reduce(v, f);\n    let before = look_back%s(state%s, ", wide ? "_wide" : "",
                  of_all);
    if (wide)
        buffer_printf(out, "values%s, ", of_all);
    buffer_printf(out, "b, own, f, %s);\n    y[%sb*%d +: %d] = f(before, s);\n}\n", none, m, block, block);
    return large ? 6 * block : 300;
}

/* Instances that take turns, and the last one to arrive. */
static void make_turns(struct buffer *out, struct random *random)
{
    int block = 1 << random_below(random, 5), start = random_between(random, -3, 3);
    buffer_printf(
        out,
        "kernel k(x: in i32[N], y: out i32[N], last: out i32[1])\n"
        "    grid(ordered b: cdiv(N, %d), c: 2)\n    scratch(turn: i32[1] = %d, arrived: u32[1] = 0, part: i32[2])\n{\n"
        "    let number = i32(c*grid_size(b) + b);\n"
        "    while (atomic_load(turn[0], order = acquire) != number + %d) {}\n"
        "    if (number == 0) part[0 +: 2] = i32[2](0);\n"
        "    part[c] += sum(x[b*%d +: %d]);\n"
        "    if (c == 1) y[b*%d +: %d] = part[1] * x[b*%d +: %d];\n"
        "    atomic_store(turn[0], number + %d, order = release);\n"
        "    let before = atomic_add(arrived[0], 1, order = acq_rel);\n"
        "    if (i64(before) + 1 == 2*grid_size(b)) last[0] = part[0] - 3*part[1];\n}\n",
        block, start, start, block, block, block, block, block, block, start + 1);
}

/* Sums of one loop, which several instances share: element by element, so that their order is known to the last bit, and
 * a product of integers. */
static void make_split(struct buffer *out, struct random *random)
{
    static const char *const types[] = {"f32", "f16", "i32", "bf16", "i64", "f64", "i16", "u8"};
    const char *type = types[random_below(random, (int)(sizeof types / sizeof *types))];
    int block = 1 << random_below(random, 6), step = random_between(random, 1, 5), parts = random_between(random, 2, 9);
    bool product = random_chance(random, 40), counts = random_chance(random, 50), down = random_chance(random, 25);
    buffer_printf(out, "kernel k(x: in %s[N, M], y: inout %s[M], a: in i8[16, N], b: in i8[N, 8], c: out i32[16, 8]",
                  type, type);
    buffer_printf(out, ", t: out i64[M])\n    grid(m: cdiv(M, %d)%s)\n    tune(split_k: {1, %d} = %d%s)\n{\n", block,
                  random_chance(random, 30) ? ", z: 1" : "", parts, parts,
                  random_chance(random, 50) ? ", warps: {4}" : "");
    buffer_printf(out, "    var s = %s[%d](0);\n    var p = i32[16, 8](0);\n    var n: i64 = 0;\n", type, block);
    if (down)
        buffer_printf(out, "    for k in N - 1 .. -1 step -%d {\n", step);
    else
        buffer_printf(out, "    for k in %d .. N step %d {\n", random_below(random, 3), step);
    buffer_printf(out, "        %ss += x[k, m*%d +: %d];\n", random_chance(random, 30) ? "if (k % 3 != 1) " : "", block,
                  block);
    if (product)
        buffer_puts(out, "        p += dot(a[:, k +: 32], b[k +: 32, :]);\n");
    if (counts)
        buffer_puts(out, "        for i in 0 .. k & 3 n += k * i;\n");
    buffer_printf(out, "    }\n    y[m*%d +: %d] += s;\n    if (m == 0) { c[:, :] = p; t[0] = n; }\n}\n", block, block);
}

static int check(const struct buffer *text, const char *target, const char *given, uint64_t seed, int *programs)
{
    static const char passes[] = "inline,simplify,fold,cse,dce,licm,unroll,peel,simplify,cse,licm,dce,bounds,narrow";
    struct arena *arena = arena_create();
    struct buffer problem = {0};
    struct text_programs made = {0};
    int failures = 0;
    bool gpu = strcmp(target, "cpu") != 0;
    struct text_request request = {text->data, text->size, seed, target, NULL, given};
    fuzz_text_instances(&request, ir_context_create(arena), arena, &made, &problem);
    if (problem.size) {
        printf("seed %llu: %s\n", (unsigned long long)seed, problem.data);
        failures++;
    }
    for (int i = 0; i < made.programs.count; i++)
        for (int k = 0; k < (gpu ? 1 : 2); k++) {
            struct judge judge = {.kind = gpu ? JUDGE_GPU
                                          : k ? JUDGE_CPU
                                              : JUDGE_PASSES,
                                  .target = gpu ? target : NULL,
                                  .isa = -1,
                                  .passes = passes};
            struct buffer reason = {0};
            fuzz_judge_passes(&judge, made.programs.data[i], &(int64_t){0}, &reason);
            if (reason.size) {
                printf("seed %llu, %s, instance %d, %s: %s\n", (unsigned long long)seed, target, i, given, reason.data);
                failures++;
            }
            buffer_free(&reason);
            ++*programs;
        }
    buffer_free(&problem);
    arena_destroy(arena);
    return failures;
}

int main(int count, char **arguments)
{
    static const char *const targets[] = {"cpu", "sm_75", "sm_90a"};
    uint64_t first = count > 1 ? strtoull(arguments[1], NULL, 0) : 1;
    uint64_t sources = count > 2 ? strtoull(arguments[2], NULL, 0) : 36;
    int failures = 0, programs = 0;
    nvptx_begin(NULL);
    for (uint64_t seed = first; seed < first + sources && failures < 8; seed++) {
        struct random random = {seed};
        struct buffer text = {0};
        char given[64];
        int kind = random_below(&random, 100), most = 300;
        if (kind < 50)
            most = make_scan(&text, &random);
        else if (kind < 65)
            make_turns(&text, &random);
        else
            make_split(&text, &random);
        snprintf(given, sizeof given, "N=%d M=%d", random_between(&random, 1, most), random_between(&random, 1, 3));
        if (count > 3)
            fputs(text.data, stdout);
        for (size_t t = 0; t < sizeof targets / sizeof *targets; t++)
            failures += check(&text, targets[t], given, seed, &programs);
        buffer_free(&text);
    }
    printf("{\"tool\": \"across_test\", \"first\": %llu, \"programs\": %d, \"failures\": %d}\n",
           (unsigned long long)first, programs, failures);
    return failures != 0 || (count < 2 && programs < 150);
}
