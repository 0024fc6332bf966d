/* Every architecture takes what we make of tile IR: kernels of the kinds that people write, each conversion, atomic and
 * product, and a slice of random programs.  ptxas must accept each without a word about spills or serialisation, the
 * cubin must read, and accesses must be 128 bits wide where alignment is known. assemble_test            the fixed
 * slice assemble_test FIRST N    N random programs from seed FIRST, architectures in turn */
#include <stdlib.h>
#include <string.h>

#include "../fuzz/support/generate.h"
#include "../fuzz/support/judge.h"
#include "ir/text.h"
#include "ir/verify/verify.h"
#include "passes/run.h"
#include "targets/target.h"

static int failures;

struct setting {
    struct arena *arena;
    struct diagnostics *diagnostics;
    struct ir_context *context;
    struct target_options options;
};

static struct setting open_setting(const char *ptxas)
{
    struct setting s = {.arena = arena_create()};
    s.diagnostics = diagnostics_create(s.arena);
    s.context = ir_context_create(s.arena);
    s.options = (struct target_options){.arena = s.arena,
                                        .context = s.context,
                                        .diagnostics = s.diagnostics,
                                        .ptxas = ptxas,
                                        .optimization = 2,
                                        .jobs = 2,
                                        .want_ptx = true,
                                        .line_info = true};
    return s;
}

static bool run_passes(struct setting *s, struct ir_function *function, int target)
{
    struct pass_context context = {
        .arena = s->arena,
        .diagnostics = s->diagnostics,
        .target = &target_rows[target],
        .name = "test",
        .math_function = fuzz_math_function,
        .math_context = fuzz_math_context(s->arena, function->module->context, s->diagnostics)};
    struct pass_run run = {.passes = NULL};
    run.passes = pass_pipeline(s->arena, &target_rows[target], 2, &run.count);
    return pass_run_all(&run, function, &context);
}

static void fail(struct setting *s, const char *what, int target)
{
    printf("%s, %s:\n", what, target_rows[target].name);
    diag_print(s->diagnostics, stdout, false);
    failures++;
}

static int count_text(const char *text, const char *part)
{
    int count = 0;
    for (; text && (text = strstr(text, part)) != NULL; text += strlen(part))
        count++;
    return count;
}

/* Compiles one text for one target.  wide: so many 128-bit loads and stores at least. */
static void check_text(const char *ptxas, const char *what, const char *text, int target, int wide)
{
    struct setting s = open_setting(ptxas);
    struct source source = {what, text, strlen(text), NULL};
    struct ir_module *module = ir_parse_module(s.context, s.arena, s.diagnostics, &source);
    struct kernel_module images = {.source_name = what};
    struct kernel_variant variant = {.target = target, .module = module, .function = module ? module->first : NULL};
    struct nvptx_task task = {NULL, &variant};
    bool good = module && ir_verify_module(module, s.diagnostics) && run_passes(&s, variant.function, target) &&
                nvptx_compile(&s.options, &images, 1, &task);
    if (!good) {
        fail(&s, what, target);
    } else {
        const char *ptx = images.images.data[0].ptx;
        if (variant.gpu.local_bytes)
            fail(&s, arena_printf(s.arena, "%s spills %lld bytes", what, (long long)variant.gpu.local_bytes), target);
        if (count_text(ptx, "v4.b32") < wide)
            fail(&s, arena_printf(s.arena, "%s has no 128-bit accesses", what), target);
        if (!count_text(ptx, ".loc"))
            fail(&s, arena_printf(s.arena, "%s has no lines", what), target);
    }
    arena_destroy(s.arena);
}

static void check_random(const char *ptxas, uint64_t seed, int target)
{
    struct setting s = open_setting(ptxas);
    struct fuzz_program *program = fuzz_generate(s.context, s.arena, seed, (struct fuzz_limits){0});
    struct kernel_module images = {.source_name = "random"};
    struct kernel_variant variant = {.target = target, .module = program->module, .function = program->function};
    struct nvptx_task task = {NULL, &variant};
    s.options.line_info = false;
    if (!run_passes(&s, program->function, target) || !nvptx_compile(&s.options, &images, 1, &task))
        fail(&s, arena_printf(s.arena, "random program %llu", (unsigned long long)seed), target);
    arena_destroy(s.arena);
}

static bool is_gpu(int target) { return target_rows[target].kind == TARGET_NVPTX; }

#define ROW_VIEW(type, way)               \
    "view<" type ", [?, ?], [?, 1], " way \
    "> {align(16), stride_multiple(8, 1), extent_multiple(1, 8), limit(2147483648)}"

static const char saxpy[] =
    "kernel @saxpy(%a: f32, %x: view<f32, [?], [1], in> {align(16), limit(2147483648)}, %y: view<f32, [?], [1], inout> "
    "{align(16), "
    "limit(2147483648)}) grid(1) {\n"
    "    %b = grid_index dimension(0) : index\n    %k = constant value(1024) : index\n    %i = mul %b, %k : index\n"
    "    %zero = constant value(0.0) : f32\n    %0 = load %x[%i +: 1024], %zero : f32[1024] @3:1\n    %1 = splat %a : "
    "f32[1024]\n"
    "    %2 = mul %0, %1 : f32[1024] @4:2\n    %3 = load %y[%i +: 1024], %zero : f32[1024] @4:5\n    %4 = add %2, %3 : "
    "f32[1024]\n"
    "    store %y[%i +: 1024], %4 @5:1\n    return\n}\n";

static const char softmax[] = "kernel @softmax(%x: " ROW_VIEW("bf16", "in") ", %y: " ROW_VIEW(
    "bf16", "out") ") grid(1) {\n"
                   "    %row = grid_index dimension(0) : index\n    %z = constant value(0) : index\n    %least = "
                   "constant value(-inf) : bf16\n"
                   "    %0 = load %x[%row, %z +: 4096], %least : bf16[4096] @2:1\n    %v = cast %0 : f32[4096] @2:2\n"
                   "    %m = reduce axis(0) kind(max) %v : f32 @3:1\n    %ms = splat %m : f32[4096]\n    %d = sub %v, "
                   "%ms : f32[4096]\n"
                   "    %l = constant value(1.442695) : f32[4096]\n    %dl = mul %d, %l : f32[4096]\n    %e = math "
                   "function(exp2) %dl : f32[4096] @4:3\n"
                   "    %s = reduce axis(0) kind(add) %e : f32\n    %ss = splat %s : f32[4096]\n    %q = div %e, %ss : "
                   "f32[4096]\n"
                   "    %r = cast %q : bf16[4096]\n    store %y[%row, %z +: 4096], %r @6:1\n    return\n}\n";

static const char layernorm[] = "kernel @layernorm(%x: " ROW_VIEW(
    "f16", "in") ", %w: view<f32, [?], [1], in> {align(16), extent_multiple(8), limit(2147483648)}, "
                 "%y: " ROW_VIEW(
                     "f16",
                     "out") ", %n: f32) grid(1) {\n"
                            "    %row = grid_index dimension(0) : index\n    %z = constant value(0) : index\n    %zero "
                            "= constant value(0.0) : f16\n"
                            "    %zf = constant value(0.0) : f32\n    %0 = load %x[%row, %z +: 2048], %zero : "
                            "f16[2048] @2:1\n    %v = cast %0 : f32[2048]\n"
                            "    %s = reduce axis(0) kind(add) %v : f32\n    %mean = div %s, %n : f32\n    %means = "
                            "splat %mean : f32[2048]\n"
                            "    %c = sub %v, %means : f32[2048]\n    %c2 = mul %c, %c : f32[2048]\n    %s2 = reduce "
                            "axis(0) kind(add) %c2 : f32\n"
                            "    %var = div %s2, %n : f32\n    %r = math function(rsqrt) %var : f32\n    %rs = splat "
                            "%r : f32[2048]\n"
                            "    %wt = load %w[%z +: 2048], %zf : f32[2048] @4:1\n    %o = mul %c, %rs : f32[2048]\n   "
                            " %ow = mul %o, %wt : f32[2048]\n"
                            "    %h = cast %ow : f16[2048]\n    store %y[%row, %z +: 2048], %h @5:1\n    return\n}\n";

/* a[i, k] @ b[k, j] in a loop over k, with operand and accumulator elements to fill in. */
static const char product[] = "kernel @product(%%a: view<%s, [?, ?], [?, ?], in> {limit(2147483648)}, %%b: view<%s, "
                              "[?, ?], [?, ?], in> {limit(2147483648)}, "
                              "%%c: view<%s, [?, ?], [?, 1], out> {limit(2147483648)}) grid(2) {\n"
                              "    %%i = grid_index dimension(0) : index\n    %%j = grid_index dimension(1) : index\n  "
                              "  %%t = constant value(32) : index\n"
                              "    %%m = mul %%i, %%t : index\n    %%n = mul %%j, %%t : index\n    %%z = constant "
                              "value(0) : index\n    %%K = extent dimension(1) %%a : index\n"
                              "    %%zero = constant value(0) : %s\n    %%acc0 = constant value(0) : %s[32, 32]\n"
                              "    %%acc = for %%k: index = %%z to %%K step %%t iter(%%s: %s[32, 32] = %%acc0) {\n"
                              "        %%ta = load %%a[%%m +: 32, %%k +: 32], %%zero : %s[32, 32] @3:1\n        %%tb = "
                              "load %%b[%%k +: 32, %%n +: 32], %%zero : %s[32, 32]\n"
                              "        %%d = dot %%ta, %%tb, %%s : %s[32, 32] @3:9\n        yield %%d\n    }\n"
                              "    store %%c[%%m +: 32, %%n +: 32], %%acc\n    return\n}\n";

static void check_products(const char *ptxas)
{
    static const char *const types[][2] = {{"f16", "f32"},    {"bf16", "f32"},   {"f32", "f32"}, {"f64", "f64"},
                                           {"f8e4m3", "f32"}, {"f8e5m2", "f32"}, {"i8", "i32"},  {"u8", "i32"}};
    for (int i = 0; i < (int)(sizeof types / sizeof *types); i++) {
        const char *e = types[i][0], *a = types[i][1];
        struct buffer text = {0};
        buffer_printf(&text, product, e, e, a, e, a, a, e, e, a);
        int target = 1 + i * 4 % (target_row_count - 1);
        char name[32];
        snprintf(name, sizeof name, "product of %s", e);
        check_text(ptxas, name, text.data, target, 0);
        check_text(ptxas, name, text.data, target_find("sm_75"), 0);
        buffer_free(&text);
    }
}

/* One kernel that converts tiles of an element to every other, with each rounding of floats. */
static void check_casts(const char *ptxas)
{
    static const char *const rows[] = {"sm_75", "sm_80", "sm_89", "sm_120a"};
    for (int from = 0; from < IR_POINTER; from++) {
        struct buffer text = {0};
        const char *f = ir_element_info[from].text;
        buffer_printf(&text, "kernel @casts(%%x: view<%s, [?], [1], in> {align(16)}", f);
        for (int to = 0; to < IR_POINTER; to++)
            buffer_printf(&text, ", %%y%d: view<%s, [?], [1], out> {align(16)}", to, ir_element_info[to].text);
        buffer_printf(&text, ") grid(1) {\n    %%z = constant value(0) : index\n    %%o = constant value(%s) : %s\n",
                      ir_is_float((enum ir_element)from) ? "0.0"
                      : from == IR_BOOL                  ? "false"
                                                         : "0",
                      f);
        buffer_printf(&text, "    %%v = load %%x[%%z +: 512], %%o : %s[512] @1:1\n", f);
        for (int to = 0; to < IR_POINTER; to++) {
            const char *t = ir_element_info[to].text;
            static const char *const extra[] = {"", "round(rtz) ", "round(rtp) ", "round(rtn) "};
            bool narrows = ir_is_float((enum ir_element)from) && ir_is_float((enum ir_element)to) &&
                           ir_element_info[to].bits < ir_element_info[from].bits;
            bool saturates = from != IR_BOOL && to != IR_BOOL && !ir_is_float((enum ir_element)from) &&
                             !ir_is_float((enum ir_element)to);
            if (from == to)
                continue;
            for (int r = 0; r < (narrows ? 4 : 1); r++) {
                buffer_printf(&text, "    %%c%d_%d = cast %s%%v : %s[512]\n", to, r, extra[r], t);
                buffer_printf(&text, "    store %%y%d[%%z +: 512], %%c%d_%d\n", to, to, r);
            }
            if (saturates) {
                buffer_printf(&text, "    %%s%d = cast saturate(1) %%v : %s[512]\n", to, t);
                buffer_printf(&text, "    store %%y%d[%%z +: 512], %%s%d\n", to, to);
            }
        }
        buffer_puts(&text, "    return\n}\n");
        for (int r = 0; r < 4; r++)
            if ((from + r) % 2 == 0)
                check_text(ptxas, f, text.data, target_find(rows[r]), 0);
        buffer_free(&text);
    }
}

/* Each action on each element, tile and scalar, each order and scope, old values used. */
static void check_atomics(const char *ptxas)
{
    static const char *const rows[] = {"sm_75", "sm_80", "sm_90a", "sm_103a"};
    static const char *const actions[] = {"add", "min", "max", "and", "or", "xor", "exchange", "load", "store"};
    static const char *const orders[] = {"relaxed", "acquire", "release", "acq_rel"};
    static const char *const scopes[] = {"gpu", "system", "block"};
    for (int element = 0; element < IR_POINTER; element++) {
        enum ir_element id = (enum ir_element)element;
        if (id == IR_BOOL || id == IR_F8E4M3 || id == IR_F8E5M2)
            continue;
        const char *e = ir_element_info[element].text, *one = ir_is_float(id) ? "1.0" : "1";
        struct buffer text = {0};
        buffer_printf(
            &text, "kernel @atomics(%%x: view<%s, [?], [1], inout>, %%y: view<%s, [?], [1], out>) grid(1) {\n", e, e);
        buffer_printf(&text,
                      "    %%z = constant value(0) : index\n    %%v = constant value(%s) : %s[64]\n    %%s = constant "
                      "value(%s) : %s\n",
                      one, e, one, e);
        for (int a = 0; a < 9; a++) {
            if (ir_is_float(id) && a >= 3 && a <= 5)
                continue;
            const char *order = a == 7   ? orders[element % 2]
                                : a == 8 ? orders[2 * (element % 2)]
                                         : orders[(a + element) % 4];
            buffer_printf(&text,
                          "    %%t%d = atomic action(%s) order(%s) scope(%s) %%x[%%z +: 64], %%v : %s[64] @1:1\n", a,
                          actions[a], order, scopes[(a + element) % 3], e);
            buffer_printf(&text, "    %%u%d = atomic action(%s) order(%s) %%x[%%z], %%s : %s\n", a, actions[a], order,
                          e);
            if (a == 8)
                continue;
            buffer_printf(&text, "    store %%y[%%z +: 64], %%t%d\n    store %%y[%%z], %%u%d\n", a, a);
        }
        buffer_printf(
            &text,
            "    %%c = atomic_cas order(acq_rel) %%x[%%z], %%s, %%s : %s\n    store %%y[%%z], %%c\n    return\n}\n", e);
        check_text(ptxas, e, text.data, target_find(rows[element % 4]), 0);
        if (element % 3 == 0)
            check_text(ptxas, e, text.data, target_find(rows[(element + 1) % 4]), 0);
        buffer_free(&text);
    }
}

int main(int count, char **arguments)
{
    const char *ptxas = getenv("PTXAS");
    if (!ptxas || !*ptxas) {
        printf("no ptxas: nothing to check\n");
        return 0;
    }
    uint64_t first = count > 1 ? strtoull(arguments[1], NULL, 0) : 9000,
             programs = count > 2 ? strtoull(arguments[2], NULL, 0) : 60;
    for (uint64_t i = 0, target = 1; i < programs && failures < 5;
         i++, target = target % (uint64_t)(target_row_count - 1) + 1)
        check_random(ptxas, first + i, (int)target);
    if (count > 1)
        return failures != 0;
    for (int t = 0; t < target_row_count; t++) {
        if (!is_gpu(t))
            continue;
        check_text(ptxas, "saxpy", saxpy, t, 6);
        check_text(ptxas, "softmax", softmax, t, 4);
        check_text(ptxas, "layernorm", layernorm, t, 4);
    }
    check_products(ptxas);
    check_casts(ptxas);
    check_atomics(ptxas);
    return failures != 0;
}
