/* PTX of tile IR where only a GPU could show that it is wrong.  No ptxas is needed. */
#include <stdio.h>
#include <string.h>

#include "ir/text.h"
#include "ir/verify/verify.h"
#include "passes/run.h"
#include "targets/nvptx/assemble/assemble.h"

static int failures;

static void fail(const char *name, const char *row, const char *what)
{
    printf("%s, %s: %s\n", name, row, what);
    failures++;
}

/* The text for a row of targets; what it costs lives in the arena. */
static const char *ptx_of(struct arena *arena, const char *name, const char *text, const char *row)
{
    struct diagnostics *diagnostics = diagnostics_create(arena);
    struct ir_context *context = ir_context_create(arena);
    struct source source = {name, text, strlen(text), NULL};
    const struct target_row *target = &target_rows[target_find(row)];
    struct target_options options = {
        .arena = arena, .context = context, .diagnostics = diagnostics, .optimization = 2, .jobs = 1};
    struct pass_context passes = {.arena = arena, .diagnostics = diagnostics, .target = target, .name = "test"};
    struct pass_run run = {0};
    struct buffer ptx = {0};
    int64_t shared_bytes;
    struct ir_module *module = ir_parse_module(context, arena, diagnostics, &source);
    run.passes = pass_pipeline(arena, target, 2, &run.count);
    if (!module || !ir_verify_module(module, diagnostics) || !pass_run_all(&run, module->first, &passes) ||
        !nvptx_make_ptx(&options, target, module->first, false, &ptx, &shared_bytes)) {
        diag_print(diagnostics, stdout, false);
        fail(name, row, "no text");
        return "";
    }
    const char *kept = arena_substring(arena, ptx.data, ptx.size);
    buffer_free(&ptx);
    return kept;
}

/* Infinity that min or max chose stays one: no cast, which saturates, makes the new bits. */
static void check_extremes(void)
{
    static const char *const rows[] = {"sm_75", "sm_80", "sm_90a", "sm_100a"}, *const actions[] = {"min", "max"};
    for (int i = 0; i < 8; i++) {
        struct arena *arena = arena_create();
        const char *text = arena_printf(
            arena,
            "kernel @extreme(%%x: view<f8e5m2, [?], [1], inout>) grid(1) {\n"
            "    %%z = constant value(0) : index\n    %%v = constant value(1.0) : f8e5m2[64]\n"
            "    %%o = atomic action(%s) %%x[%%z +: 64], %%v : f8e5m2[64]\n    return\n}\n",
            actions[i % 2]);
        const char *ptx = ptx_of(arena, "extreme", text, rows[i / 2]);
        if (strstr(ptx, "satfinite"))
            fail("extreme", rows[i / 2], "an infinity is saturated");
        if (!strstr(ptx, "cvt.rn.f16.f32"))
            fail("extreme", rows[i / 2], "the chosen bits come from elsewhere");
        arena_destroy(arena);
    }
}

static bool is_guarded_access(const char *line)
{
    const char *code = line[0] == '@' ? strchr(line, ' ') : NULL;
    return code && (!strncmp(code, " ld.global", 10) || !strncmp(code, " st.global", 10));
}

/* Where a warp goes on as a whole behind accesses under predicates, its lanes meet first: see ptx_end_arm. */
static void check_arms(const char *name, const char *text, const char *row, int least)
{
    struct arena *arena = arena_create();
    bool guarded = false;
    int met = 0;
    for (const char *line = ptx_of(arena, name, text, row), *end; *line; line = *end ? end + 1 : end) {
        line += strspn(line, " \t");
        end = line + strcspn(line, "\n");
        bool jumps = !strncmp(line, "bra", 3), label = line[0] == '$';
        if (!strncmp(line, "bar.", 4)) {
            met += guarded && !strncmp(line, "bar.warp.sync", 13);
            guarded = false;
        } else if (is_guarded_access(line)) {
            guarded = true;
        } else if (jumps || label) {
            if (guarded)
                fail(name, row, "an arm ends in an access under a predicate");
            guarded = false;
        }
    }
    if (met < least)
        fail(name, row, "lanes meet in fewer places than there are arms");
    arena_destroy(arena);
}

#define ROWS(type, way) "view<" type ", [?, ?], [?, 1], " way "> {align(16), stride_multiple(4, 0), limit(2147483648)}"
/* Vectors that may straddle the end of the row: by vectors or by elements. */
static const char ragged[] = "kernel @ragged(%x: " ROWS("f32", "in") ", %y: " ROWS(
    "f32",
    "out") ", %n: index) grid(1) warps(2) {\n"
           "    %row = grid_index dimension(0) : index\n    %z = constant value(0.0) : f32\n"
           "    %four = constant value(4) : index\n    %at = mul %n, %four : index\n"
           "    %v = load %x[%row, %at +: 512], %z : f32[512]\n    store %y[%row, %at +: 512], %v\n    return\n}\n";
static const char branch[] = "kernel @branch(%y: view<f32, [?], [1], inout>, %n: index) grid(1) warps(2) {\n"
                             "    %z = constant value(0) : index\n    %c = compare predicate(gt) %n, %z : bool\n"
                             "    %v = constant value(1.0) : f32[64]\n    %w = constant value(2.0) : f32[128]\n"
                             "    if %c {\n        store %y[%n +: 64], %v\n        yield\n    } else {\n"
                             "        store %y[%z +: 128], %w\n        yield\n    }\n    return\n}\n";

/* Lanes that leave a loop around compare-and-swap at different times meet before the warp does anything together. */
static void check_loops(const char *name, const char *text, const char *row, int least)
{
    struct arena *arena = arena_create();
    bool apart = false;
    int loops = 0;
    for (const char *line = ptx_of(arena, name, text, row), *end; *line; line = *end ? end + 1 : end) {
        line += strspn(line, " \t");
        end = line + strcspn(line, "\n");
        const char *swap = strstr(line, ".cas.");
        bool together = !strncmp(line, "shfl.sync", 9) || !strncmp(line, "bar.sync", 8) || !strncmp(line, "ret", 3);
        if (swap && swap < end) {
            loops += !apart;
            apart = true;
        } else if (!strncmp(line, "bar.warp.sync", 13)) {
            apart = false;
        } else if (together && apart) {
            fail(name, row, "lanes of a loop go on apart");
            break;
        }
    }
    if (loops < least)
        fail(name, row, "there is no loop");
    arena_destroy(arena);
}

/* One thread in a loop, then what shuffles of a constant are for, then a barrier. */
static const char alone[] =
    "kernel @alone(%t: view<f16, [?], [1], inout>, %y: view<i64, [?], [1], inout>) grid(1) warps(2) {\n"
    "    %z = constant value(0) : index\n    %v = constant value(3.0) : f16\n    %p = view_pointer %t : *f16\n"
    "    %o = pointer_atomic action(max) order(relaxed) %p, %v : f16\n    %i = iota : i64[64]\n"
    "    %s = reduce axis(0) kind(add) %i : i64\n    store %y[%z], %s\n    return\n}\n";
/* All threads, each in loops of its own. */
static const char many[] =
    "kernel @many(%t: view<f8e4m3, [?], [1], inout>, %y: view<i64, [?], [1], inout>) grid(1) warps(2) {\n"
    "    %z = constant value(0) : index\n    %v = constant value(3.0) : f8e4m3[256]\n"
    "    %o = atomic action(min) %t[%z +: 256], %v : f8e4m3[256]\n    %i = iota : i64[64]\n"
    "    %s = reduce axis(0) kind(add) %i : i64\n    store %y[%z], %s\n    return\n}\n";

/* Whether x is no NaN is not asked as |x| >= -100, which ptxas takes for true. */
static void check_bound(const char *row)
{
    static const char text[] = "kernel @bound(%x: f32, %y: view<i64, [?], [1], inout>) grid(1) {\n"
                               "    %c = constant value(1e+02) : f32\n    %a = abs %x : f32\n    %n = neg %a : f32\n"
                               "    %b = compare predicate(le) %n, %c : bool\n    %z = constant value(0) : index\n"
                               "    %i = cast %b : i64\n    store %y[%z], %i\n    return\n}\n";
    struct arena *arena = arena_create();
    const char *ptx = ptx_of(arena, "bound", text, row);
    if (strstr(ptx, "0fC2C80000") || !strstr(ptx, "setp.num.f32"))
        fail("bound", row, "|x| beside a negative number");
    arena_destroy(arena);
}

int main(void)
{
    static const char *const rows[] = {"sm_75", "sm_80", "sm_90a"};
    nvptx_begin(NULL);
    check_extremes();
    for (int i = 0; i < 3; i++) {
        check_arms("ragged", ragged, rows[i], 4);
        check_arms("branch", branch, rows[i], 2);
        check_loops("alone", alone, rows[i], 1);
        check_loops("many", many, rows[i], 1);
        check_bound(rows[i]);
    }
    return failures != 0;
}
