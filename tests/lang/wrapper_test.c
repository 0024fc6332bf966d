/* Host expressions: what `grid`, `requires`, `const` and the facts of variants become for the wrapper, evaluated
 * against values by hand. */
#include "front/front.h"

#include <stdlib.h>
#include <string.h>

struct example {
    const char *helpers, *grid;
    int64_t rows, columns, n;
    int64_t wanted;
};

static const struct example examples[] = {
    {"", "cdiv(M, 16) * N", 17, 3, 0, 6},
    {"", "(M > N ? M : N)", 4, 9, 0, 9},
    {"", "max(M, n) - min(N, 2, M) + abs(n)", 4, 9, -6, 8},
    {"", "(M << 2 | 1) % 8 + ilog2(N)", 3, 9, 0, 8},
    {"", "clamp(M, 5, 8) * 10 + clamp(i64(N), 5, 8)", 3, 9, 0, 58},
    {"", "x.extent[1] + x.stride[0] * 100", 3, 7, 0, 707},
    {"", "(s ? 1 : n == 5 and not (M < 2) ? 2 : 3)", 3, 7, 5, 2},
    {"const fn pad(k: i64) -> i64 { if (k % 8 == 0) return k; return (k / 8 + 1) * 8; }", "pad(M) + pad(N)", 16, 9, 0,
     32},
    {"const fn f(k: i64) -> i64 { var a = 1; if (k > 3) a = 2; else { a += k; } return a * 10 + k; }",
     "f(M) * 1000 + f(N)", 2, 5, 0, 32025},
    {"const fn f(k: i64) -> i64 { var a = k; for i in 0..3 { if (a > 20) break; a *= 3; } return a; }", "f(M) + f(N)",
     1, 9, 0, 54},
    {"const K = 3; const fn f(k: i64) -> i64 = k <= 1 ? 1 : k * f(k - 1);", "f(K + 1) * N", 1, 2, 0, 48},
    {"enum e { a = 4, b }", "i64(e.b) + (k == e.b ? 10 : 20)", 1, 1, 5, 15},
};

static const char *target_name(int target) { return target ? "sm_90a" : "cpu"; }

static struct kernel_module *compile(struct arena *arena, const char *text, int target_count,
                                     struct diagnostics *diagnostics)
{
    static const int targets[2] = {0, 1};
    struct front_options *options = ARENA_NEW(arena, struct front_options);
    options->arena = arena;
    options->context = ir_context_create(arena);
    options->diagnostics = diagnostics;
    options->target_count = target_count;
    options->targets = targets + 2 - target_count;
    options->target_name = target_name;
    struct source *source = ARENA_NEW(arena, struct source);
    *source = (struct source){.name = "k.tile", .text = text, .size = strlen(text)};
    return front_compile(options, source, NULL, NULL);
}

/* Values as a caller would pass them: x is rows x columns with one element of padding a row when the variant allows it.
 */
static int64_t evaluate(const struct kernel_entry *entry, const struct kernel_expression *tree, const struct example *x)
{
    switch (tree->op) {
    case KERNEL_HOST_CONSTANT: return tree->number;
    case KERNEL_HOST_NAME: return strcmp(entry->names.data[tree->number].name, "M") == 0 ? x->rows : x->columns;
    case KERNEL_HOST_SCALAR: return x->n;
    case KERNEL_HOST_EXTENT: return tree->dimension ? x->columns : x->rows;
    case KERNEL_HOST_STRIDE: return tree->dimension ? 1 : x->columns;
    case KERNEL_HOST_PRESENT: return 0;
    case KERNEL_HOST_CELL:
        if (!tree->cells->condition)
            return evaluate(entry, tree->cells->start[tree->number], x);
        printf("a loop where its turns are written out\n");
        exit(1);
    default: break;
    }
    int64_t a = evaluate(entry, tree->operand[0], x);
    if (tree->op == KERNEL_HOST_SELECT)
        return evaluate(entry, tree->operand[a ? 1 : 2], x);
    if (tree->op == KERNEL_HOST_NOT)
        return !a;
    if (tree->op == KERNEL_HOST_NEG)
        return -a;
    if (tree->op == KERNEL_HOST_ABS)
        return a < 0 ? -a : a;
    if (tree->op == KERNEL_HOST_ILOG2)
        return log2_floor((uint64_t)a);
    if (tree->op == KERNEL_HOST_AND)
        return a && evaluate(entry, tree->operand[1], x);
    if (tree->op == KERNEL_HOST_OR)
        return a || evaluate(entry, tree->operand[1], x);
    int64_t b = evaluate(entry, tree->operand[1], x);
    switch (tree->op) {
    case KERNEL_HOST_ADD: return a + b;
    case KERNEL_HOST_SUB: return a - b;
    case KERNEL_HOST_MUL: return a * b;
    case KERNEL_HOST_DIV: return b ? a / b : 0;
    case KERNEL_HOST_REM: return b ? a % b : a;
    case KERNEL_HOST_CDIV: return ceiling_divide(a, b);
    case KERNEL_HOST_MIN: return int64_min(a, b);
    case KERNEL_HOST_MAX: return int64_max(a, b);
    case KERNEL_HOST_SHL: return a << b;
    case KERNEL_HOST_SHR: return a >> b;
    case KERNEL_HOST_BIT_AND: return a & b;
    case KERNEL_HOST_BIT_OR: return a | b;
    case KERNEL_HOST_BIT_XOR: return a ^ b;
    case KERNEL_HOST_EQ: return a == b;
    case KERNEL_HOST_NE: return a != b;
    case KERNEL_HOST_LT: return a < b;
    case KERNEL_HOST_LE: return a <= b;
    case KERNEL_HOST_GT: return a > b;
    case KERNEL_HOST_GE: return a >= b;
    default: break;
    }
    printf("unexpected operation %d in a host expression\n", (int)tree->op);
    exit(1);
}

static bool check_grid(const struct example *x)
{
    struct arena *arena = arena_create();
    struct diagnostics *diagnostics = diagnostics_create(arena);
    bool is_enum = strstr(x->helpers, "enum") != NULL;
    const char *text = arena_printf(arena, "%s\nkernel k(x: in f32[M, N], s: in? f32[M], n: i64%s) grid(g: %s) {}\n",
                                    x->helpers, is_enum ? ", k: e" : "", x->grid);
    struct kernel_module *module = compile(arena, text, 1, diagnostics);
    diag_print(diagnostics, stdout, false);
    bool good = module && module->entries.count == 1;
    if (good) {
        const struct kernel_entry *entry = &module->entries.data[0];
        int64_t got = evaluate(entry, entry->variants.data[0].grid[0], x);
        good = got == x->wanted;
        if (!good)
            printf("%s: %lld, not %lld\n", x->grid, (long long)got, (long long)x->wanted);
    }
    arena_destroy(arena);
    return good;
}

/* Numbers of variants, and that removed combinations are gone. */
static bool check_count(const char *text, int target_count, int entries, int variants)
{
    struct arena *arena = arena_create();
    struct diagnostics *diagnostics = diagnostics_create(arena);
    struct kernel_module *module = compile(arena, text, target_count, diagnostics);
    int found = 0;
    diag_print(diagnostics, stdout, false);
    for (int i = 0; module && i < module->entries.count; i++)
        found += module->entries.data[i].variants.count;
    bool good = module && module->entries.count == entries && found == variants;
    if (!good)
        printf("%d entries with %d variants, not %d with %d: %s\n", module ? module->entries.count : 0, found, entries,
               variants, text);
    for (int i = 0; good && i < entries; i++) {
        const struct kernel_entry *entry = &module->entries.data[i];
        good = entry->variants.data[entry->variants.count - 1].predicate == NULL;
        if (!good)
            printf("the last variant is not general: %s\n", text);
    }
    arena_destroy(arena);
    return good;
}

int main(void)
{
    int failures = 0;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        failures += !check_grid(&examples[i]);
    /* a GPU alone: aligned and general */
    failures += !check_count("kernel k(x: inout f32[N]) grid(g: 1) {}", 1, 1, 2);
    failures += !check_count("kernel k(x: i32) grid(g: 1) {}", 1, 1, 1);
    /* the CPU, too: one */
    failures += !check_count("kernel k(x: inout f32[N]) grid(g: 1) {}", 2, 1, 3);
    /* two strided views: four layouts, two where one is turned and not aligned, and the general one; on the CPU the rows and the general one */
    failures += !check_count("kernel k(x: in strided f32[M, N], y: out strided f32[M, N]) grid(g: 1) {}", 1, 1, 7);
    failures += !check_count("kernel k(x: in strided f32[M, N], y: out strided f32[M, N]) grid(g: 1) {}", 2, 1, 9);
    /* specialisations: one each, and none for layouts they fix */
    failures += !check_count("kernel k(x: in strided f32[M, N]) grid(g: 1) specialize(x.stride[1] == 1, N % 8 == 0) {}",
                             1, 1, 5);
    failures += !check_count(
        "kernel k(x: in f32[N], b: in? f32[N]) grid(g: 1) specialize(not b) specialize(N == 64) {}", 1, 1, 4);
    /* requirements over compile-time names remove entries and variants */
    failures += !check_count(
        "kernel k<T: {f16, f32}, O: {f16, f32}>(x: in T[N], y: out O[N]) requires((T, O) != (f32, f16)) grid(g: 1) {}",
        1, 3, 6);
    failures += !check_count("kernel k<A: {1, 2, 4}, B: bool>(x: inout f32[N]) requires(not B or A > 1) grid(g: 1) {}",
                             1, 1, 10);
    /* a key that stands as an extent is deduced; derived keys multiply */
    failures += !check_count("kernel k<D: {8, 16}>(x: inout f32[N, D]) const(B: 16..=64 step *2 >= N) grid(g: 1) {}", 1,
                             1, 12);
    if (failures)
        printf("%d failures\n", failures);
    return failures != 0;
}
