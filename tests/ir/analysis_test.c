/* The analyses on small functions: what they must know, and what they must not claim. */
#include <string.h>

#include "ir/facts/alias.h"
#include "ir/facts/analysis.h"
#include "ir/text.h"
#include "ir/verify/verify.h"

static int failures, checks;

static struct ir_module *parse(struct arena *arena, const char *text)
{
    struct diagnostics *diagnostics = diagnostics_create(arena);
    struct source *source = ARENA_NEW(arena, struct source);
    *source = (struct source){"test", text, strlen(text), NULL};
    struct ir_module *module = ir_parse_module(ir_context_create(arena), arena, diagnostics, source);
    if (!module || !ir_verify_module(module, diagnostics)) {
        diag_print(diagnostics, stdout, false);
        die("the test's own IR is wrong");
    }
    return module;
}

static const struct ir_value *find_in(const struct ir_block *block, const char *name)
{
    for (int i = 0; i < block->arguments.count; i++)
        if (block->arguments.data[i]->name && !strcmp(block->arguments.data[i]->name, name))
            return block->arguments.data[i];
    for (const struct ir_operation *op = block->first; op; op = op->next) {
        for (int i = 0; i < op->result_count; i++)
            if (op->results[i]->name && !strcmp(op->results[i]->name, name))
                return op->results[i];
        for (int r = 0; r < op->region_count; r++) {
            const struct ir_value *found = find_in(op->regions[r], name);
            if (found)
                return found;
        }
    }
    return NULL;
}

static const struct ir_value *find(const struct ir_module *module, const char *name)
{
    const struct ir_value *value = find_in(module->first->body, name);
    if (!value)
        die("no value %s", name);
    return value;
}

static void wrong(const char *what, const char *name)
{
    failures++;
    printf("%s of %%%s is wrong\n", what, name);
}

/* ---- ranges ---- */

static const char range_text[] = "kernel @k(%x: view<f32, [?, 64], [64, 1], in> {limit(2147483648)}, %h: view<f32, "
                                 "[?], [1], in>, %n: i32, %u: u8, %w: u64) grid(2) "
                                 "grid_limit(1000, 0) {\n"
                                 "    %c0 = constant value(0) : index\n"
                                 "    %c5 = constant value(5) : index\n"
                                 "    %c64 = constant value(64) : index\n"
                                 "    %b = grid_index dimension(0) : index\n"
                                 "    %i = mul %b, %c64 : index\n"
                                 "    %e = extent dimension(0) %x : index\n"
                                 "    %e1 = extent dimension(1) %x : index\n"
                                 "    %eh = extent dimension(0) %h : index\n"
                                 "    %sum = add %eh, %eh : index\n"
                                 "    %t = iota : index[16]\n"
                                 "    %q = div %e, %c64 : index\n"
                                 "    %m = rem %e, %c64 : index\n"
                                 "    %cu = constant value(200) : u8\n"
                                 "    %wrap = add %u, %cu : u8\n"
                                 "    %lo = constant value(10) : i32\n"
                                 "    %hi = constant value(20) : i32\n"
                                 "    %k1 = max %n, %lo : i32\n"
                                 "    %clamped = min %k1, %hi : i32\n"
                                 "    %neg = neg %clamped : i32\n"
                                 "    %c = compare predicate(gt) %clamped, %lo : bool\n"
                                 "    %never = compare predicate(lt) %clamped, %lo : bool\n"
                                 "    %narrow = cast %e : i32\n"
                                 "    %small = cast %e : i8\n"
                                 "    %p = popcount %n : i32\n"
                                 "    %one = constant value(1) : index\n"
                                 "    %r = for %k: index = %c0 to %e step %c64 iter(%acc: index = %c0) {\n"
                                 "        %a2 = add %acc, %one : index\n"
                                 "        yield %a2\n"
                                 "    }\n"
                                 "    %down = constant value(-1) : index\n"
                                 "    for %d: index = %c5 to %c0 step %down {\n"
                                 "        yield\n"
                                 "    }\n"
                                 "    %s = for %j: index = %c0 to %c64 step %c5 iter(%last: index = %c0) {\n"
                                 "        yield %j\n"
                                 "    }\n"
                                 "    %g = compare predicate(lt) %n, %lo : bool\n"
                                 "    if %g {\n"
                                 "        %inside = add %n, %n : i32\n"
                                 "        yield\n"
                                 "    } else {\n"
                                 "        %outside = add %n, %n : i32\n"
                                 "        yield\n"
                                 "    }\n"
                                 "    %cw = constant value(1) : u64\n"
                                 "    %w2 = add %w, %cw : u64\n"
                                 "    %masked = and %n, %hi : i32\n"
                                 "    %one32 = constant value(1) : i32\n"
                                 "    %shifted = shl %masked, %one32 : i32\n"
                                 "    %seven = constant value(7) : i32\n"
                                 "    %rest = rem %n, %seven : i32\n"
                                 "    %both1 = sub %clamped, %lo : i32\n"
                                 "    %both = sub %both1, %seven : i32\n"
                                 "    %product = mul %both, %neg : i32\n"
                                 "    for %i2: i32 = %lo to %hi step %one32 {\n"
                                 "        yield\n"
                                 "    }\n"
                                 "    return\n"
                                 "}\n";

static void expect_range(const struct ranges *ranges, const struct ir_module *module, const char *name, int64_t low,
                         int64_t high)
{
    struct range range = range_of(ranges, find(module, name));
    checks++;
    if (range.low == low && range.high == high)
        return;
    wrong("the range", name);
    printf("    [%lld, %lld], not [%lld, %lld]\n", (long long)range.low, (long long)range.high, (long long)low,
           (long long)high);
}

static void test_ranges(struct arena *arena)
{
    struct ir_module *module = parse(arena, range_text);
    const struct ranges *ranges = ranges_analyse(module->first, arena);
    static const struct {
        const char *name;
        int64_t low, high;
    } wanted[] = {{"b", 0, 999},
                  {"i", 0, 63936},
                  {"e", 0, INT32_MAX},
                  {"e1", 64, 64},
                  {"eh", 0, INT64_MAX},
                  {"sum", INT64_MIN, INT64_MAX},
                  {"t", 0, 15},
                  {"q", 0, 33554431},
                  {"m", 0, 63},
                  {"u", 0, 255},
                  {"wrap", 0, 255},
                  {"clamped", 10, 20},
                  {"neg", -20, -10},
                  {"c", 0, 1},
                  {"never", 0, 0},
                  {"narrow", 0, INT32_MAX},
                  {"small", -128, 127},
                  {"p", 0, 32},
                  {"k", 0, INT32_MAX - 63},
                  {"d", 1, 5},
                  {"j", 0, 60},
                  {"s", 0, 60},
                  {"w2", INT64_MIN, INT64_MAX},
                  {"masked", 0, 20},
                  {"shifted", 0, 40},
                  {"rest", -6, 6},
                  {"both", -7, 3},
                  {"product", -60, 140},
                  {"i2", 10, 19}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        expect_range(ranges, module, wanted[i].name, wanted[i].low, wanted[i].high);
    const struct ir_value *n = find(module, "n");
    struct range inside = range_at(ranges, n, find(module, "inside")->definition);
    struct range outside = range_at(ranges, n, find(module, "outside")->definition);
    checks += 2;
    if (inside.high != 9 || inside.low != INT32_MIN)
        wrong("the range inside the if", "n");
    if (outside.low != 10 || outside.high != INT32_MAX)
        wrong("the range in the else", "n");
}

/* Where both ends count: the greater magnitude, all bits below the highest, a divisor of 1, the last round. */
static void test_ends(struct arena *arena)
{
    struct ir_module *module = parse(arena, "kernel @k(%n: i32, %m: i32, %h: i64) grid(1) {\n"
                                            "    %least = constant value(-20) : i32\n"
                                            "    %most = constant value(5) : i32\n"
                                            "    %one = constant value(1) : i32\n"
                                            "    %up = max %n, %least : i32\n"
                                            "    %mixed = min %up, %most : i32\n"
                                            "    %size = abs %mixed : i32\n"
                                            "    %positive = max %m, %one : i32\n"
                                            "    %small = min %positive, %most : i32\n"
                                            "    %whole = div %positive, %small : i32\n"
                                            "    %both = or %small, %most : i32\n"
                                            "    %ten = constant value(10) : i32\n"
                                            "    %eight = constant value(8) : i32\n"
                                            "    %low = min %positive, %eight : i32\n"
                                            "    %joined = or %low, %most : i32\n"
                                            "    %far = constant value(2147483647) : i32\n"
                                            "    %near = constant value(2147483637) : i32\n"
                                            "    for %ends: i32 = %one to %near step %ten {\n"
                                            "        yield\n"
                                            "    }\n"
                                            "    for %wraps: i32 = %one to %far step %ten {\n"
                                            "        yield\n"
                                            "    }\n"
                                            "    return\n"
                                            "}\n");
    const struct ranges *ranges = ranges_analyse(module->first, arena);
    expect_range(ranges, module, "mixed", -20, 5);
    expect_range(ranges, module, "size", 0, 20);
    expect_range(ranges, module, "whole", 0, INT32_MAX);
    expect_range(ranges, module, "both", 5, 7);
    expect_range(ranges, module, "joined", 5, 15);
    checks += 2;
    if (!range_loop_ends(ranges, find(module, "ends")->block->parent))
        wrong("the end of the loop", "ends");
    if (range_loop_ends(ranges, find(module, "wraps")->block->parent))
        wrong("the end of the loop", "wraps");
}

static void test_assumptions(struct arena *arena)
{
    struct ir_module *module = parse(arena, "kernel @k(%n: index, %m: index) grid(1) {\n"
                                            "    %c = constant value(100) : index\n"
                                            "    %z = constant value(0) : index\n"
                                            "    %a = add %n, %c : index\n"
                                            "    %p = compare predicate(le) %n, %c : bool\n"
                                            "    %q = compare predicate(gt) %n, %z : bool\n"
                                            "    %r = and %p, %q : bool\n"
                                            "    assume %r\n"
                                            "    %s = compare predicate(lt) %m, %z : bool\n"
                                            "    if %s {\n"
                                            "        assume %s\n"
                                            "        yield\n"
                                            "    } else {\n"
                                            "        yield\n"
                                            "    }\n"
                                            "    return\n"
                                            "}\n");
    const struct ranges *ranges = ranges_analyse(module->first, arena);
    expect_range(ranges, module, "n", 1, 100);
    expect_range(ranges, module, "a", 101, 200); /* also where it was made before the assumption */
    expect_range(ranges, module, "m", INT64_MIN, INT64_MAX);
}

/* One of two values, and what a condition says where it holds. */
static void test_choices(struct arena *arena)
{
    struct ir_module *module = parse(arena, "kernel @k(%n: i32, %m: i32, %o: i32, %b: bool) grid(1) {\n"
                                            "    %c5 = constant value(5) : i32\n"
                                            "    %c10 = constant value(10) : i32\n"
                                            "    %chosen = select %b, %c10, %c5 : i32\n"
                                            "    %other = select %b, %c5, %c10 : i32\n"
                                            "    %arm = if %b {\n        yield %c10\n    } else {\n"
                                            "        yield %c5\n    } : i32\n"
                                            "    %second = if %b {\n        yield %c5\n    } else {\n"
                                            "        yield %c10\n    } : i32\n"
                                            "    %p = compare predicate(lt) %n, %c5 : bool\n"
                                            "    %q = compare predicate(gt) %c10, %m : bool\n"
                                            "    %either = or %p, %q : bool\n"
                                            "    %l = compare predicate(ge) %c10, %o : bool\n"
                                            "    %all = and %q, %l : bool\n"
                                            "    if %either {\n        %one = add %n, %c5 : i32\n        yield\n"
                                            "    } else {\n        %none = add %n, %c5 : i32\n        yield\n    }\n"
                                            "    if %all {\n        %both = add %m, %o : i32\n        yield\n"
                                            "    } else {\n        yield\n    }\n"
                                            "    return\n"
                                            "}\n");
    const struct ranges *ranges = ranges_analyse(module->first, arena);
    expect_range(ranges, module, "chosen", 5, 10);
    expect_range(ranges, module, "other", 5, 10);
    expect_range(ranges, module, "arm", 5, 10);
    expect_range(ranges, module, "second", 5, 10);
    static const struct {
        const char *value, *at;
        int64_t low, high;
    } wanted[] = {{"n", "one", INT32_MIN, INT32_MAX},
                  {"n", "none", 5, INT32_MAX},
                  {"m", "none", 10, INT32_MAX},
                  {"m", "both", INT32_MIN, 9},
                  {"o", "both", INT32_MIN, 10}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        struct range range = range_at(ranges, find(module, wanted[i].value), find(module, wanted[i].at)->definition);
        checks++;
        if (range.low != wanted[i].low || range.high != wanted[i].high)
            wrong("the range inside a condition", wanted[i].value);
    }
}

/* ---- divisibility ---- */

static const char divisibility_text[] = "kernel @k(%x: view<f32, [?, ?], [?, 1], in> {align(16), stride_multiple(8, "
                                        "0), extent_multiple(0, 32)}, %p: *f32 {align(16)}, "
                                        "%n: index, %i: i32) grid(1) {\n"
                                        "    %c0 = constant value(0) : index\n"
                                        "    %c24 = constant value(24) : index\n"
                                        "    %c64 = constant value(64) : index\n"
                                        "    %least = constant value(-9223372036854775808) : index\n"
                                        "    %b = grid_index dimension(0) : index\n"
                                        "    %o = mul %b, %c64 : index\n"
                                        "    %o2 = add %o, %c24 : index\n"
                                        "    %cut = cast %o : i8\n"
                                        "    %truth = cast %o : bool\n"
                                        "    %again = cast %truth : i32\n"
                                        "    %full = cast saturate(1) %o : i8\n"
                                        "    %st = stride dimension(0) %x : index\n"
                                        "    %ex = extent dimension(1) %x : index\n"
                                        "    %t = iota : index[128]\n"
                                        "    %t96 = iota : index[96]\n"
                                        "    %s = splat %o : index[128]\n"
                                        "    %j = add %s, %t : index[128]\n"
                                        "    %odd = splat %n : index[128]\n"
                                        "    %l = add %odd, %t : index[128]\n"
                                        "    %pp = splat %p : *f32[128]\n"
                                        "    %addr = pointer_add %pp, %j : *f32[128]\n"
                                        "    %back = sub %s, %t : index[128]\n"
                                        "    %c8 = constant value(8) : index[128]\n"
                                        "    %q = div %t, %c8 : index[128]\n"
                                        "    %r = rem %t, %c8 : index[128]\n"
                                        "    %nq = div %l, %c8 : index[128]\n"
                                        "    %m128 = constant value(-128) : index[128]\n"
                                        "    %around = add %t, %m128 : index[128]\n"
                                        "    %aq = div %around, %c8 : index[128]\n"
                                        "    %col = reshape %t : index[1, 128]\n"
                                        "    %row = reshape %t : index[128, 1]\n"
                                        "    %cb = broadcast %col : index[128, 128]\n"
                                        "    %rb = broadcast %row : index[128, 128]\n"
                                        "    %stt = splat %st : index[128, 128]\n"
                                        "    %rs = mul %rb, %stt : index[128, 128]\n"
                                        "    %off = add %rs, %cb : index[128, 128]\n"
                                        "    %c2 = constant value(2) : index[128]\n"
                                        "    %twice = mul %t, %c2 : index[128]\n"
                                        "    %far = splat %c64 : index[128]\n"
                                        "    %apart = mul %t, %far : index[128]\n"
                                        "    %mixed = add %t, %apart : index[128]\n"
                                        "    %lesser = min %o, %o2 : index\n"
                                        "    %greater = max %o2, %o : index\n"
                                        "    %which = compare predicate(lt) %r, %q : bool[128]\n"
                                        "    %either = select %which, %t, %j : index[128]\n"
                                        "    for %k: index = %c24 to %n step %c64 {\n"
                                        "        %kk = add %k, %c64 : index\n"
                                        "        yield\n"
                                        "    }\n"
                                        "    return\n"
                                        "}\n";

/* Asked backwards, without ranges, as much is known of multiples, and no more of groups. */
static void expect_asked(const struct divisibility *known, const struct ir_value *value, const char *name, int d)
{
    struct divisibility asked = divisibility_ask(value);
    bool is_more = asked.contiguity[d] > known->contiguity[d] || asked.constancy[d] > known->constancy[d];
    checks++;
    if (is_more || (value->type->rank == 0 && asked.multiple[d] < known->multiple[d]))
        wrong("the divisibility when asked for", name);
}

static void expect_divisibility(const struct divisibilities *table, const struct ir_module *module, const char *name,
                                int d, int64_t multiple, int64_t contiguity, int64_t constancy)
{
    struct divisibility known = divisibility_of(table, find(module, name));
    expect_asked(&known, find(module, name), name, d);
    checks++;
    if (known.multiple[d] == multiple && known.contiguity[d] == contiguity && known.constancy[d] == constancy)
        return;
    wrong("the divisibility", name);
    printf("    dimension %d: multiple %lld, contiguity %lld, constancy %lld\n", d, (long long)known.multiple[d],
           (long long)known.contiguity[d], (long long)known.constancy[d]);
}

/* The rest that an assumption compares was computed before it, and again behind it: as much is known of both, so that
 * one may take the other's place (cse, which keeps what is known). */
static void test_assumed_multiples(struct arena *arena)
{
    struct ir_module *module = parse(arena, "kernel @k(%n: i64) grid(1) {\n"
                                            "    %c = constant value(4) : i64\n"
                                            "    %z = constant value(0) : i64\n"
                                            "    %before = rem %n, %c : i64\n"
                                            "    %p = compare predicate(eq) %before, %z : bool\n"
                                            "    assume %p\n"
                                            "    %behind = rem %n, %c : i64\n"
                                            "    return\n"
                                            "}\n");
    const struct divisibilities *table = divisibility_analyse(module->first, arena);
    struct divisibility before = divisibility_of(table, find(module, "before"));
    struct divisibility behind = divisibility_of(table, find(module, "behind"));
    expect_divisibility(table, module, "n", 0, 4, 1, 1);
    for (int d = 0; d < IR_MAX_RANK; d++) {
        checks++;
        if (before.multiple[d] < behind.multiple[d])
            wrong("the multiple", "before");
    }
}

/* Numbers lead to no other question, so that a long chain of sums with them is asked to its end. */
static void test_long_chain(struct arena *arena)
{
    struct buffer text = {0};
    buffer_puts(&text, "kernel @k(%n: i64) grid(1) {\n    %c = constant value(8) : i64\n    %v0 = mul %n, %c : i64\n");
    for (int i = 1; i <= 300; i++)
        buffer_printf(&text, "    %%v%d = add %%v%d, %%c : i64\n", i, i - 1);
    buffer_puts(&text, "    return\n}\n");
    struct ir_module *module = parse(arena, text.data);
    checks++;
    if (divisibility_ask(find(module, "v300")).multiple[0] != 8)
        wrong("the multiple when asked for", "v300");
    buffer_free(&text);
}

/* What the condition ends the loop with is not there in the body; what it does not compare is. */
static void test_turns(struct arena *arena)
{
    struct ir_module *module = parse(arena, "kernel @k(%n: i32, %b: bool) grid(1) {\n"
                                            "    %zero = constant value(0) : i32\n"
                                            "    %step = constant value(8) : i32\n"
                                            "    %k0, %m0 = while %zero, %zero (%k1: i32, %m1: i32) {\n"
                                            "        %less = compare predicate(lt) %k1, %n : bool\n"
                                            "        %both = and %b, %less : bool\n"
                                            "        condition %both, %k1, %m1\n"
                                            "    } do (%k: i32, %m: i32) {\n"
                                            "        %sum = add %k, %step : i32\n"
                                            "        %wraps = compare predicate(lt) %sum, %k : bool\n"
                                            "        %next = select %wraps, %n, %sum : i32\n"
                                            "        %more = add %m, %step : i32\n"
                                            "        %other = select %wraps, %n, %more : i32\n"
                                            "        yield %next, %other\n"
                                            "    } : i32, i32\n"
                                            "    return\n"
                                            "}\n");
    const struct divisibilities *table = divisibility_analyse(module->first, arena);
    expect_divisibility(table, module, "k", 0, 8, 1, 1);
    expect_divisibility(table, module, "k1", 0, 1, 1, 1);
    expect_divisibility(table, module, "k0", 0, 1, 1, 1);
    expect_divisibility(table, module, "m", 0, 1, 1, 1);
}

static void test_divisibility(struct arena *arena)
{
    struct ir_module *module = parse(arena, divisibility_text);
    const struct divisibilities *table = divisibility_analyse(module->first, arena);
    int64_t most = INT64_C(1) << 30;
    expect_divisibility(table, module, "least", 0, most, 1, 1);
    expect_divisibility(table, module, "o", 0, 64, 1, 1);
    expect_divisibility(table, module, "o2", 0, 8, 1, 1);
    expect_divisibility(table, module, "cut", 0, 64, 1, 1);
    expect_divisibility(table, module, "truth", 0, 1, 1, 1); /* true is 1 */
    expect_divisibility(table, module, "again", 0, 1, 1, 1);
    expect_divisibility(table, module, "full", 0, 1, 1, 1); /* 127 is odd */
    expect_divisibility(table, module, "st", 0, 8, 1, 1);
    expect_divisibility(table, module, "ex", 0, 32, 1, 1);
    expect_divisibility(table, module, "t", 0, most, 128, 1);
    expect_divisibility(table, module, "t96", 0, 32, 32, 1);
    expect_divisibility(table, module, "s", 0, 64, 1, 128);
    expect_divisibility(table, module, "j", 0, 64, 128, 1);
    expect_divisibility(table, module, "l", 0, 1, 128, 1);
    expect_divisibility(table, module, "addr", 0, 16, 128, 1);
    expect_divisibility(table, module, "back", 0, 1, 1, 1);
    expect_divisibility(table, module, "q", 0, 1, 1, 8);
    expect_divisibility(table, module, "r", 0, 8, 8, 1);
    expect_divisibility(table, module, "nq", 0, 1, 1, 1); /* may be negative, and starts anywhere */
    expect_divisibility(table, module, "around", 0, 128, 128, 1);
    expect_divisibility(table, module, "aq", 0, 1, 1, 1); /* -128 and -127 have different quotients */
    expect_divisibility(table, module, "off", 1, 8, 128, 1);
    expect_divisibility(table, module, "off", 0, 1, 1, 1);
    expect_divisibility(table, module, "k", 0, 8, 1, 1);
    expect_divisibility(table, module, "twice", 0, 2, 1, 1); /* 0, 2, 4: each, not the first alone */
    expect_divisibility(table, module, "mixed", 0, 1, 1, 1); /* 0, 65, 130: no run, and the second is odd */
    expect_divisibility(table, module, "lesser", 0, 8, 1, 1);
    expect_divisibility(table, module, "greater", 0, 8, 1, 1);
    expect_divisibility(table, module, "either", 0, 1, 1, 1); /* each element from another run */
    expect_divisibility(table, module, "n", 0, 1, 1, 1);
}

/* ---- programs of the grid, aliasing ---- */

/* Programs are numbered over the whole grid; what comes from buffers is not known. */
static void test_machine(struct arena *arena)
{
    struct ir_module *module = parse(arena, "kernel @k() grid(2) grid_limit(1000, 50) level(machine) warps(1) {\n"
                                            "    %p = program : i32\n"
                                            "    %c = program_count : index\n"
                                            "    %b = block_count : i32\n"
                                            "    %buffer = buffer : buffer<i32, [64], slots(1), #(64; offset a0:5)>\n"
                                            "    %v = buffer_load %buffer : i32[64] #(64; register a0; lane a1:5)\n"
                                            "    %u = undefined : i32[64] #(64; register a0; lane a1:5)\n"
                                            "    return\n"
                                            "}\n");
    const struct ranges *ranges = ranges_analyse(module->first, arena);
    expect_range(ranges, module, "p", 0, 49999);
    expect_range(ranges, module, "c", 1, 50000);
    expect_range(ranges, module, "b", 1, 50000);
    expect_range(ranges, module, "v", INT32_MIN, INT32_MAX);
}

static void test_aliasing(struct arena *arena)
{
    struct ir_module *module = parse(arena,
                                     "kernel @k(%a: view<f32, [?], [1], inout>, %b: view<f32, [?], [1], inout>, "
                                     "%r: view<f32, [?], [1], inout> {restrict}, %p: *f32, %i: index) grid(1) {\n"
                                     "    %s = subview %r[%i .. %i] : view<f32, [?], [1], inout>\n"
                                     "    %q = view_pointer %r : *f32\n"
                                     "    %q2 = pointer_add %q, %i : *f32\n"
                                     "    %t = compare predicate(lt) %i, %i : bool\n"
                                     "    %qp = select %t, %q2, %p : *f32\n"
                                     "    %pq = select %t, %p, %q2 : *f32\n"
                                     "    return\n"
                                     "}\n");
    static const struct {
        const char *a, *b;
        bool may;
    } wanted[] = {{"a", "b", true},  {"a", "r", false}, {"a", "a", true},  {"s", "r", true},   {"s", "a", false},
                  {"p", "a", true},  {"p", "r", false}, {"q2", "r", true}, {"q2", "p", false}, {"qp", "r", true},
                  {"qp", "p", true}, {"qp", "a", true}, {"pq", "r", true}, {"pq", "p", true}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        checks++;
        if (alias_may(find(module, wanted[i].a), find(module, wanted[i].b)) != wanted[i].may ||
            alias_may(find(module, wanted[i].b), find(module, wanted[i].a)) != wanted[i].may)
            wrong("aliasing with another", wanted[i].a);
    }
}

/* What code asks before it reads memory earlier: all of a function counts where it writes, what may come in front of the
 * read where it acquires, also what is inside. */
static void test_settled(struct arena *arena)
{
    static const struct {
        const char *front, *behind;
        bool settled;
    } cases[] = {
        {"", "", true},
        {"store %y[%i], %v\n", "", true},
        {"store %x[%i], %v\n", "", false},
        {"", "store %x[%i], %v\n", false},
        {"if %b {\n    store %x[%i], %v\n    yield\n} else {\n    yield\n}\n", "", false},
        {"%o = atomic action(add) order(relaxed) scope(gpu) %y[%i], %v : f32\n", "", true},
        {"%o = atomic action(add) order(relaxed) scope(gpu) %x[%i], %v : f32\n", "", false},
        {"%o = atomic action(add) order(acquire) scope(gpu) %y[%i], %v : f32\n", "", false},
        {"%o = atomic action(add) order(acq_rel) scope(gpu) %y[%i], %v : f32\n", "", false},
        {"%o = atomic action(add) order(release) scope(gpu) %y[%i], %v : f32\n", "", true},
        {"", "%o = atomic action(add) order(acq_rel) scope(gpu) %y[%i], %v : f32\n", true},
        {"if %b {\n    yield\n} else {\n    %o = atomic action(add) order(acquire) scope(gpu) %y[%i], %v : f32\n"
         "    yield\n}\n",
         "", false},
        {"for %j: index = %i to %n step %i {\n",
         "%o = atomic action(add) order(acquire) scope(gpu) %y[%i], %v : f32\n    yield\n}\n", false},
        {"call callee(@other)\n", "", false},
        {"", "call callee(@other)\n", false},
        {"if %b {\n    call callee(@other)\n    yield\n} else {\n    yield\n}\n", "", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = arena_printf(
            arena,
            "kernel @k(%%x: view<f32, [?], [1], inout> {restrict}, %%y: view<f32, [?], [1], inout> {restrict}, "
            "%%i: index, %%n: index, %%v: f32, %%b: bool) grid(1) {\n%s    %%read = load %%x[%%i], %%v : f32\n%s"
            "    return\n}\nfunction @other() {\n    return\n}\n",
            cases[i].front, cases[i].behind);
        struct ir_module *module = parse(arena, text);
        checks++;
        if (alias_is_settled(find(module, "read")->definition) != cases[i].settled) {
            wrong("whether memory stays as it is", "read");
            printf("    between\n%s    and\n%s", cases[i].front, cases[i].behind);
        }
    }
}

/* Flags and what is known of them where nothing computes them; a step that may be 0. */
static void test_arguments(struct arena *arena)
{
    struct ir_module *module = parse(arena, "kernel @k(%flag: bool, %other: bool, %n: i32) grid(1) {\n"
                                            "    assume %flag\n"
                                            "    %both = and %flag, %other : bool\n"
                                            "    assume %both\n"
                                            "    %zero = constant value(0) : i32\n"
                                            "    %five = constant value(5) : i32\n"
                                            "    %ten = constant value(10) : i32\n"
                                            "    %far = constant value(64) : i32\n"
                                            "    %least = max %n, %zero : i32\n"
                                            "    %step = min %least, %ten : i32\n"
                                            "    for %k: i32 = %five to %far step %step {\n"
                                            "        yield\n"
                                            "    }\n"
                                            "    %run = iota : i32[64]\n"
                                            "    %sum = reduce axis(0) kind(region) %run (%l: i32, %r: i32) {\n"
                                            "        %both_sides = add %l, %r : i32\n"
                                            "        yield %both_sides\n"
                                            "    } : i32\n"
                                            "    return\n"
                                            "}\n");
    const struct ranges *ranges = ranges_analyse(module->first, arena);
    expect_range(ranges, module, "flag", 1, 1);
    expect_range(ranges, module, "other", 1, 1);
    expect_range(ranges, module, "k", 5, 63);
    expect_divisibility(divisibility_analyse(module->first, arena), module, "step", 0, 1, 1, 1);
    expect_divisibility(divisibility_analyse(module->first, arena), module, "both_sides", 0, 1, 1, 1);
}

/* What facts_test found: a run of numbers round a loop that started with equal ones, and what a narrow type cuts. */
static void test_found(struct arena *arena)
{
    struct ir_module *module = parse(arena, "kernel @k(%x: view<f32, [300], [1], in>) grid(1) grid_limit(1000) {\n"
                                            "    %equal = constant value(16) : i32[8]\n"
                                            "    %run = iota : i32[8]\n"
                                            "    %low = constant value(0) : index\n"
                                            "    %high = extent dimension(0) %x : index\n"
                                            "    %one = constant value(1) : index\n"
                                            "    %r = for %k: index = %low to %high step %one "
                                            "iter(%a: i32[8] = %equal) {\n"
                                            "        yield %run\n"
                                            "    }\n"
                                            "    %e = extent dimension(0) %x : u8\n"
                                            "    %t = iota : i8[256]\n"
                                            "    %b = grid_index dimension(0) : u8\n"
                                            "    return\n"
                                            "}\n");
    const struct ranges *ranges = ranges_analyse(module->first, arena);
    expect_divisibility(divisibility_analyse(module->first, arena), module, "r", 0, 1, 1, 1);
    expect_range(ranges, module, "e", 0, 255); /* it is 44 */
    expect_range(ranges, module, "t", -128, 127);
    expect_range(ranges, module, "b", 0, 255);
}

int main(void)
{
    static void (*const tests[])(struct arena *) = {
        test_ranges,     test_ends,    test_assumptions, test_choices, test_divisibility, test_assumed_multiples,
        test_turns,      test_machine, test_aliasing,    test_settled, test_arguments,    test_found,
        test_long_chain,
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        struct arena *arena = arena_create();
        tests[i](arena);
        arena_destroy(arena);
    }
    printf("%d checks, %d failures\n", checks, failures);
    return failures != 0;
}
