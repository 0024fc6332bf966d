/* What the front end makes of control flow, functions and conversions, run in the interpreter: small kernels over one
 * view `y` of i64 or f32, whose result is written out by hand.  No pass and no code generator is involved. */
#include "front/front.h"
#include "interp/interp.h"
#include "ir/verify/verify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16 };
struct example {
    const char *name, *helpers, *body; /* body of: kernel k(x: in T[N], y: inout T[N], n: i64) grid(g: 1) */
    bool real;                         /* T is f32, else i64 */
    int64_t n;                         /* the argument; x holds 0, 1, 2 … and y -1 before */
    int count;                         /* elements of x and y */
    double wanted[MOST];
};

static const struct example examples[] = {
    {"a literal is rounded once",
     "",
     "y[0] = 1.00000017881393432617187499; y[1] = 1.00000017881393432617187501; y[2] = 0.1;",
     true,
     0,
     3,
     {0x1.000002p0, 0x1.000004p0, 0x1.99999ap-4}},
    {"break", "", "var s = 0; for i in 0..100 { if (i == n) break; s += i; } y[0] = s;", false, 5, 1, {10}},
    {"continue", "", "var s = 0; for i in 0..10 { if (i % 2 == 0) continue; s += i; } y[0] = s;", false, 0, 1, {25}},
    {"break and continue",
     "",
     "var s = 0; for i in 0..10 { if (i == 3) continue; if (i > n) break; s += i; } y[0] = s;",
     false,
     5,
     1,
     {12}},
    {"return early", "", "y[0] = 1; if (n > 2) return; y[0] = 2;", false, 3, 1, {1}},
    {"return late", "", "y[0] = 1; if (n > 2) return; y[0] = 2;", false, 2, 1, {2}},
    {"return in a loop", "", "for i in 0..8 { y[i] = i; if (i == n) return; } y[0] = 100;", false, 2, 4, {0, 1, 2, -1}},
    {"return from two loops",
     "",
     "for i in 0..4 { for j in 0..4 { if (i*j == n) { y[0] = 10*i + j; return; } } } y[0] = 99;",
     false,
     6,
     1,
     {23}},
    {"loops end without return",
     "",
     "for i in 0..4 { for j in 0..4 { if (i*j == n) { y[0] = 1; return; } } } y[0] = 99;",
     false,
     7,
     1,
     {99}},
    {"inner break",
     "",
     "var s = 0; for i in 0..4 { for j in 0..4 { if (j > i) break; s += 1; } s += 100; } y[0] = s;",
     false,
     0,
     1,
     {410}},
    {"while",
     "",
     "var a = n; var c = 0; while (a != 1) { a = a % 2 == 0 ? a/2 : 3*a + 1; c += 1; } y[0] = c;",
     false,
     6,
     1,
     {8}},
    {"while with break", "", "var a = 0; while (true) { a += 3; if (a > n) break; } y[0] = a;", false, 10, 1, {12}},
    {"count down", "", "var s = 0; for i in 5..0 step -2 { s = s*10 + i; } y[0] = s;", false, 0, 1, {531}},
    {"multiply", "", "var s = 0; for i in 1..n step *2 { s += i; } y[0] = s;", false, 17, 1, {31}},
    {"static for",
     "",
     "var s = 0; static for i in 0..4 { if (i == n) break; s += i + 1; } y[0] = s;",
     false,
     2,
     1,
     {3}},
    {"nested if",
     "",
     "var a = 1; if (n > 0) { if (n > 5) a = 2; else a = 3; } else { a = 4; } y[0] = a;",
     false,
     3,
     1,
     {3}},
    {"swap", "", "var a = 1; var b = 2; for i in 0..n { a, b = b, a + b; } y[0] = a; y[1] = b;", false, 5, 2, {13, 21}},
    {"function with returns",
     "fn f(a: i64) -> i64 { if (a > 5) return 1; if (a > 3) { return 2; } for i in 0..3 { if (a == i) return 10 + i; } "
     "return 9; }",
     "y[0] = f(n); y[1] = f(n + 2); y[2] = f(n + 4); y[3] = f(n + 1);",
     false,
     2,
     4,
     {12, 2, 1, 9}},
    {"const fn",
     "const fn f(a: i64) -> i64 { var s = 0; var k = a; while (k > 0) { s += k; k -= 1; } return s; } const F = f(10);",
     "y[0] = F + i64[1](f(3))[0];",
     false,
     0,
     1,
     {61}},
    {"map",
     "fn f(a: i64) -> i64 { var c = 0; var b = a; while (b > 1) { b = b / 2; c += 1; } return c; }",
     "y[0 +: 4] = f(x[0 +: 4] * 3);",
     false,
     0,
     4,
     {0, 1, 2, 3}},
    {"map with if",
     "fn f(a: i64, k: i64) -> i64 { if (a < k) return a; return 100 + a; }",
     "y[0 +: 4] = f(x[0 +: 4], n);",
     false,
     2,
     4,
     {0, 1, 102, 103}},
    {"uniform if in a scalar function",
     "fn f(a: i64, k: i64) -> i64 { if (k > 1) return a * 2; return a; }",
     "y[0 +: 4] = f(x[0 +: 4], n);",
     false,
     2,
     4,
     {0, 2, 4, 6}},
    {"several results",
     "fn f(a: i64) -> (i64, i64) { return a / 3, a % 3; }",
     "let q, r = f(n); y[0] = q; y[1] = r; y[2] = f(n)[1];",
     false,
     11,
     3,
     {3, 2, 2}},
    {"views to functions",
     "fn f(v: in i64[M], w: inout i64[M]) { for i in 0..M w[i] = v[M - 1 - i]; }",
     "f(x, y); f(x[1..3], y[1..3]);",
     false,
     0,
     4,
     {3, 2, 1, 0}},
    {"sub-view",
     "",
     "let v = x[1..n]; y[0] = v.extent[0]; y[1] = v[0]; y[2] = v[v.extent[0]]; y[3] = sum(v[0 +: 8]);",
     false,
     3,
     4,
     {2, 1, 0, 3}},
    {"sub-view clamps",
     "",
     "let v = x[-3..100]; y[0] = v.extent[0]; y[1] = v[1]; let w = x[2..1]; y[2] = w.extent[0];",
     false,
     0,
     3,
     {3, 1, 0}},
    {"gather", "", "y[0 +: 4] = x[3 - iota(4)];", false, 0, 4, {3, 2, 1, 0}},
    {"scatter", "", "y[(iota(4) + 1) % 4] = x[0 +: 4];", false, 0, 4, {3, 0, 1, 2}},
    {"outside",
     "",
     "y[-1] = 7; y[0] = load(x[-1], other = 5); y[1 +: 2] = x[3 +: 2]; y[3] = load(x[2], mask = n > 3, other = 8);",
     false,
     0,
     4,
     {5, 3, 0, 8}},
    {"inside", "", "let i = inside(x[2 +: 4]); y[0 +: 4] = where(i, 1, 2);", false, 0, 4, {1, 1, 2, 2}},
    {"sums widen", "", "y[0] = i64(sum(i8[300](1))); y[1] = i64(sum(x[0 +: 2] == x[0 +: 2]));", false, 0, 2, {300, 2}},
    {"argmax",
     "",
     "let t = (x[0 +: 4] + 2) % 4; y[0] = argmax(t); y[1] = argmin(t); y[2] = max(t); y[3] = argmax(i64[4](3));",
     false,
     0,
     4,
     {1, 2, 3, 0}},
    {"reduce by a function",
     "fn f(a: i64, p: i64, b: i64, q: i64) -> (i64, i64) { return a + b, p * q; }",
     "let t = x[0 +: 4]; let s, p = reduce((t, t + 1), f, axis = 0); y[0] = s; y[1] = p;",
     false,
     0,
     2,
     {1, 2}},
    {"integers",
     "",
     "y[0] = -7 / 2 + n; y[1] = (n - 7) / 2; y[2] = (n - 7) % 2; y[3] = n / (n - n) + 5 % (n - n);",
     false,
     0,
     4,
     {-3, -3, -1, 5}},
    {"shifts",
     "",
     "y[0] = (n + 1) << 70; y[1] = (-1 - n) >> 70; y[2] = (n + 5) << 2; y[3] = i64(u32(0xffff_ffff) >> 4);",
     false,
     0,
     4,
     {0, -1, 20, 268435455}},
    {"casts",
     "",
     "y[0] = i64(f32(n) * 1.5); y[1] = i64(i8(n + 200)); y[2] = i64(i8(300.0 + f32(n))); y[3] = i64(u8(f32(n) - 1.0));",
     false,
     1,
     4,
     {1, -55, 127, 0}},
    {"logic",
     "",
     "y[0] = n > 0 and 10 / n == 5 ? 1 : 2; y[1] = not (n > 1) or n == 2 ? 3 : 4; y[2] = true ? n : 0;",
     false,
     2,
     3,
     {1, 3, 2}},
    {"enum",
     "enum e { a, b = 5, c }",
     "let v = n > 1 ? e.b : e.c; y[0] = v == e.b ? 1 : 0; y[1] = i64(e.c);",
     false,
     2,
     2,
     {1, 6}},
    {"extents of 1",
     "",
     "let t = x[0 +: 2][:, None] * 10 + x[0 +: 2][None, :]; y[0 +: 4] = reshape(t, 4);",
     false,
     0,
     4,
     {0, 1, 10, 11}},
    {"permute", "", "let t = reshape(x[0 +: 4], 2, 2); y[0 +: 4] = reshape(trans(t), [4]);", false, 0, 4, {0, 2, 1, 3}},
    {"part of a tile",
     "",
     "let t = reshape(x[0 +: 4], 2, 2); y[0 +: 2] = t[1, :]; y[2 +: 2] = t[:, 0];",
     false,
     0,
     4,
     {2, 3, 0, 2}},
    {"product",
     "",
     "let t = reshape(x[0 +: 4], 2, 2); y[0 +: 4] = reshape(t @ trans(t), 4);",
     true,
     0,
     4,
     {1, 3, 3, 13}},
    {"activate",
     "",
     "y[0 +: 4] = activate(x[0 +: 4] - 1.5, act.relu); y[0] = activate(f32(n), act.none);",
     true,
     3,
     4,
     {3, 0, 0.5, 1.5}},
    {"minimum skips NaN",
     "",
     "y[0] = min(nan, x[2]); y[1] = isnan(min(nan, x[2], nan = propagate)) ? 1.0 : 0.0; y[2] = max(-inf, x[1]);",
     true,
     0,
     3,
     {2, 1, 1}},
    {"constants skip NaN, too",
     "",
     "y[0] = nan != nan and not (nan == nan) ? max(nan, 2.0) : 7.0; "
     "y[1] = isnan(max(2.0, nan, nan = propagate)) ? 1.0 : 0.0; "
     "y[2] = 1.0 / min(0.0, -0.0) < x[0] and max(f32(-0.0), 0.0) / 2.0 + x[1] == x[1] ? 1.0 : 0.0; "
     "y[3] = f32(abs(i8(-128))) + f32(where(true, i8(1), 7) << i8(7));",
     true,
     0,
     4,
     {2, 1, 1, -256}},
    {"integer constants round once",
     "",
     "y[0] = 9007199791611905; y[1] = 16777217; y[2] = f32(f16(2049)); y[3] = f32(9007199791611905) + 0.0*f32(n);",
     true,
     1,
     4,
     {9007200328482816.0, 16777216, 2048, 9007200328482816.0}},
    {"constants adapt",
     "const H = 1 << 3; const Q = 0.25;",
     "y[0] = x[3] / H; y[1] = Q * x[2]; y[2] = x[1] + 1;",
     true,
     0,
     4,
     {0.375, 0.5, 2, -1}},
    {"atomics",
     "",
     "let o = atomic_add(y[0], 5); y[1] = o; atomic_max(y[2 +: 2], x[2 +: 2]);",
     false,
     0,
     4,
     {4, -1, 2, 3}},
    {"compare and swap",
     "",
     "y[1] = atomic_cas(y[0], -1, 7, order = acquire); y[2] = atomic_xchg(y[0], 9, order = release); y[3] = "
     "atomic_load(y[0], order = acquire);",
     false,
     0,
     4,
     {9, -1, 7, 9}},
    {"only the taken branch",
     "",
     "if (3 < 2) { y[0] = f32(x); } else { y[0] = 1; } y[1] = 2 > 1 ? 4 : nonsense;",
     false,
     0,
     2,
     {1, 4}},
    {"what is true of all leaves a tile",
     "",
     "y[0 +: 4] = where((x[0 +: 4] > n) or true, x[0 +: 4], 0); y[0] += i64(sum((x[0 +: 4] > n) or true));",
     false,
     1,
     4,
     {4, 1, 2, 3}},
    {"constants of types keep them",
     "",
     "y[0] = i64(i8(1) << u8(9)); y[1] = i64(u64(3) << i8(-1)); y[2] = i64(cdiv(i8(3), i8(2)) << 7); "
     "y[3] = i64(ilog2(u8(4)) << u8(7));",
     false,
     1,
     4,
     {0, 0, 0, 0}},
    {"variable shadows nothing",
     "",
     "var a = 1; { let c = 5; a += c; } for i in 0..2 { let c = i; a += c; } y[0] = a;",
     false,
     0,
     1,
     {7}},
};

static const char *cpu_name(int target)
{
    (void)target;
    return "cpu";
}

static struct kernel_module *compile(struct arena *arena, const struct example *x, struct diagnostics *diagnostics)
{
    static const int targets[1] = {0};
    struct front_options *options = ARENA_NEW(arena, struct front_options);
    options->arena = arena;
    options->context = ir_context_create(arena);
    options->diagnostics = diagnostics;
    options->target_count = 1;
    options->targets = targets;
    options->target_name = cpu_name;
    const char *type = x->real ? "f32" : "i64";
    struct source *source = ARENA_NEW(arena, struct source);
    source->name = "k.tile";
    source->text = arena_printf(arena, "%s\nkernel k(x: in %s[N], y: inout %s[N], n: i64) grid(g: 1) {\n%s\n}\n",
                                x->helpers, type, type, x->body);
    source->size = strlen(source->text);
    return front_compile(options, source, NULL, NULL);
}

static bool run(const struct example *x, const struct kernel_module *module, double *got)
{
    int64_t integers[2][MOST];
    float reals[2][MOST];
    for (int i = 0; i < MOST; i++) {
        integers[0][i] = i;
        integers[1][i] = -1;
        reals[0][i] = (float)i;
        reals[1][i] = -1;
    }
    void *data[2] = {x->real ? (void *)reals[0] : integers[0], x->real ? (void *)reals[1] : integers[1]};
    size_t size = (size_t)x->count * (x->real ? sizeof(float) : sizeof(int64_t));
    struct interp_memory memories[2] = {{data[0], size, NULL, true, "x"}, {data[1], size, NULL, false, "y"}};
    struct interp_argument arguments[3] = {{.data = data[0]}, {.data = data[1]}, {.bits = (uint64_t)x->n}};
    struct interp_options options = {.memory_count = 2, .memories = memories, .grid = {1}, .step_limit = 1000000};
    struct interp_problem problem;
    for (int i = 0; i < 2; i++) {
        arguments[i].extent[0] = x->count;
        arguments[i].stride[0] = 1;
    }
    const struct kernel_entry *entry = &module->entries.data[0];
    const struct ir_function *function = entry->variants.data[entry->variants.count - 1].function;
    if (!interp_run(function, 3, arguments, &options, NULL, &problem)) {
        printf("%s: %s\n", x->name, problem.text);
        return false;
    }
    for (int i = 0; i < x->count; i++)
        got[i] = x->real ? (double)reals[1][i] : (double)integers[1][i];
    return true;
}

static bool check(const struct example *x)
{
    struct arena *arena = arena_create();
    struct diagnostics *diagnostics = diagnostics_create(arena);
    struct kernel_module *module = compile(arena, x, diagnostics);
    double got[MOST];
    bool good = module != NULL;
    if (!good)
        printf("%s: does not compile\n", x->name);
    for (int i = 0; good && i < module->entries.data[0].variants.count; i++)
        good = ir_verify_module(module->entries.data[0].variants.data[i].module, diagnostics);
    diag_print(diagnostics, stdout, false);
    good = good && run(x, module, got);
    for (int i = 0; good && i < x->count; i++)
        if (got[i] != x->wanted[i]) {
            printf("%s: y[%d] is %g, not %g\n", x->name, i, got[i], x->wanted[i]);
            good = false;
        }
    arena_destroy(arena);
    return good;
}

int main(void)
{
    int failures = 0;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        failures += !check(&examples[i]);
    if (failures)
        printf("%d of %d examples fail\n", failures, (int)(sizeof examples / sizeof *examples));
    return failures != 0;
}
