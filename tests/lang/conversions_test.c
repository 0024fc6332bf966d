/* Every conversion between two scalar types with each of its options, and what goes with what by itself, against plain
 * C: by the interpreter, as machine code of this processor and as the text for a GPU (support/ptx.h).  Of sources of at
 * most 16 bits all values, of wider ones random ones, those beside the ends of narrower types and halfway between two
 * of their numbers.  tile(7) has both tables; `conversions_test table` prints them.
 *     conversions_test [ELEMENT [TARGET]] */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "fuzz/support/judge.h"
#include "fuzz/support/text.h"
#include "targets/nvptx/assemble/assemble.h"

/* Rows of results: four roundings, they with saturation, and the type called as a function. */
enum { BLOCK = 128, SAMPLES = 8192, SATURATES = 4, PLAIN = 8, ROWS = 9 };
enum { NEAREST, TO_ZERO, UP, DOWN, ROUNDINGS };
static const char *const round_words[ROUNDINGS] = {"rtne", "rtz", "rtp", "rtn"};

/* ---- numbers: a long double holds all of every type ---- */

struct format {
    int digits, least; /* of the significand; exponent of the smallest number */
    double largest;
    bool stays; /* in range, whatever is said */
};

static struct format format_of(enum ir_element e)
{
    switch (e) {
    case IR_F8E4M3: return (struct format){4, -9, 448, true};
    case IR_F8E5M2: return (struct format){3, -16, 57344, true};
    case IR_F16: return (struct format){11, -24, 65504, false};
    case IR_BF16: return (struct format){8, -133, 0x1.fep127, false};
    case IR_F32: return (struct format){24, -149, 0x1.fffffep127, false};
    default: return (struct format){53, -1074, 0x1.fffffffffffffp1023, false};
    }
}

static int bits_of(enum ir_element e) { return e == IR_BOOL ? 8 : ir_element_info[e].bits; }

static long double decode(enum ir_element e, uint64_t bits)
{
    struct format f = format_of(e);
    int width = bits_of(e);
    if (!ir_is_float(e))
        return ir_is_signed(e) ? (long double)((int64_t)(bits << (64 - width)) >> (64 - width)) : (long double)bits;
    int fraction_bits = f.digits - 1, exponent_bits = width - f.digits;
    uint64_t fraction = bits & ((UINT64_C(1) << fraction_bits) - 1);
    int exponent = (int)(bits >> fraction_bits & ((UINT64_C(1) << exponent_bits) - 1));
    bool top = exponent == (1 << exponent_bits) - 1;
    long double size;
    if (e == IR_F8E4M3 ? top && fraction == 7 : top)
        size = e != IR_F8E4M3 && fraction == 0 ? (long double)INFINITY : (long double)NAN;
    else if (exponent == 0)
        size = ldexpl((long double)fraction, f.least);
    else
        size = ldexpl((long double)(fraction | UINT64_C(1) << fraction_bits), f.least + exponent - 1);
    return bits >> (width - 1) & 1 ? -size : size;
}

static long double whole(int round, long double x)
{
    return round == NEAREST ? nearbyintl(x) : round == UP ? ceill(x) : round == DOWN ? floorl(x) : truncl(x);
}

static long double to_float(enum ir_element e, int round, bool saturates, long double x)
{
    struct format f = format_of(e);
    int exponent;
    if (isnan(x) || x == 0)
        return x;
    if (isinf(x))
        return copysignl(f.stays || saturates ? (long double)f.largest : x, x);
    frexpl(x, &exponent);
    int unit = exponent - f.digits > f.least ? exponent - f.digits : f.least;
    long double near = copysignl(ldexpl(whole(round, ldexpl(x, -unit)), unit), x);
    if (fabsl(near) <= f.largest)
        return near;
    bool inward = round == TO_ZERO || round == (x > 0 ? DOWN : UP);
    return copysignl(f.stays || saturates || inward ? (long double)f.largest : (long double)INFINITY, x);
}

static long double convert(enum ir_element from, enum ir_element to, int round, bool saturates, uint64_t bits)
{
    long double x = decode(from, bits);
    int width = bits_of(to);
    if (to == IR_BOOL)
        return isnan(x) || x != 0;
    if (ir_is_float(to))
        return from == to && !saturates ? x : to_float(to, round, saturates, x);
    if (!ir_is_float(from) && !saturates) /* wraps */
        return decode(to, (x < 0 ? (uint64_t)(int64_t)x : (uint64_t)x) &
                              (width == 64 ? ~UINT64_C(0) : (UINT64_C(1) << width) - 1));
    long double least = ir_is_signed(to) ? -ldexpl(1, width - 1) : 0, limit = ldexpl(1, width - ir_is_signed(to));
    x = isnan(x) ? 0 : whole(round, x);
    return x < least ? least : x > limit - 1 ? limit - 1 : x + 0;
}

/* ---- sources and their values, the same text twice ---- */

static const char pattern_text[] =
    "fn pattern(i: u64, const real: bool, const w, const p, const bias) -> u64 {\n"
    "    let h = i * 0x9e3779b97f4a7c15;\n"
    "    let g = h >> 20;\n"
    "    let near = (i >> 2) % 3 - 1;\n"
    "    let high = ((g & 1) << u64(w - 1)) | ((u64(bias) - 40 + (g >> 10) % 110) << u64(p));\n"
    "    let drop = u64(p - 2) - (g >> 1) % 10;\n"
    "    let kept = high | ((h & ((u64(1) << u64(p)) - 1)) >> drop << drop);\n"
    "    let some = h >> u64(64 - w) >> (i >> 2) % u64(w);\n"
    "    let odd = real ? (kept | (u64(1) << (drop - 1))) + near : (u64(1) << g % u64(w)) + near;\n"
    "    return (i & 3) == 0 ? h >> u64(64 - w) : (i & 3) == 1 ? kept + near : (i & 3) == 2 ? some : odd;\n"
    "}\n";

static uint64_t pattern(uint64_t i, bool real, int w, int p, uint64_t bias)
{
    uint64_t h = i * UINT64_C(0x9e3779b97f4a7c15), g = h >> 20, near = (i >> 2) % 3 - 1, one = 1;
    uint64_t high = ((g & 1) << (w - 1)) | ((bias - 40 + (g >> 10) % 110) << p);
    uint64_t drop = (uint64_t)(p - 2) - (g >> 1) % 10;
    uint64_t kept = high | ((h & ((one << p) - 1)) >> drop << drop);
    uint64_t some = h >> (64 - w) >> (i >> 2) % (uint64_t)w;
    uint64_t odd = real ? (kept | (one << (drop - 1))) + near : (one << g % (uint64_t)w) + near;
    return (i & 3) == 0 ? h >> (64 - w) : (i & 3) == 1 ? kept + near : (i & 3) == 2 ? some : odd;
}

static int parameter_p(enum ir_element e) { return ir_is_float(e) ? format_of(e).digits - 1 : bits_of(e) / 2; }
static int parameter_bias(enum ir_element e) { return e == IR_F64 ? 1023 : 127; }
static int64_t values_of(enum ir_element e)
{
    return e == IR_BOOL ? BLOCK : bits_of(e) <= 16 ? int64_max(BLOCK, INT64_C(1) << bits_of(e)) : SAMPLES;
}

static uint64_t value_number(enum ir_element e, int64_t i)
{
    int bits = bits_of(e);
    uint64_t mask = bits == 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1;
    if (e == IR_BOOL)
        return (uint64_t)i & 1;
    return (bits <= 16 ? (uint64_t)i
                       : pattern((uint64_t)i, ir_is_float(e), bits, parameter_p(e), (uint64_t)parameter_bias(e))) &
           mask;
}

static void put_value(struct buffer *out, enum ir_element e)
{
    const char *name = ir_element_info[e].text;
    int bits = bits_of(e);
    if (e == IR_BOOL)
        buffer_puts(out, "(n & 1) != 0");
    else if (bits <= 16)
        ir_is_float(e) ? buffer_printf(out, "bitcast(u%d(n), %s)", bits, name) : buffer_printf(out, "%s(n)", name);
    else
        buffer_printf(out, "bitcast(u%d(pattern(n, %s, %d, %d, %d)), %s)", bits, ir_is_float(e) ? "true" : "false",
                      bits, parameter_p(e), parameter_bias(e), name);
}

static bool rounds(enum ir_element from, enum ir_element to)
{
    return to != IR_BOOL && (ir_is_float(from) || ir_is_float(to));
}
static bool has_row(enum ir_element from, enum ir_element to, int row) { return row % 4 == 0 || rounds(from, to); }
/* What is said without a rounding. */
static int usual(enum ir_element from, enum ir_element to)
{
    return ir_is_float(from) && !ir_is_float(to) ? TO_ZERO : NEAREST;
}

static void put_source(struct buffer *out, enum ir_element from)
{
    buffer_printf(out, "%skernel conversions(", bits_of(from) > 16 ? pattern_text : "");
    for (enum ir_element to = IR_BOOL; to < IR_INDEX; to++)
        buffer_printf(out, "%sy_%s: out %s[%d, %lld]", to ? ", " : "", ir_element_info[to].text,
                      ir_element_info[to].text, ROWS, (long long)values_of(from));
    buffer_printf(out, ")\n    grid(b: %lld)\n{\n    let n = u64(b*%d + iota(%d));\n    let x = ",
                  (long long)(values_of(from) / BLOCK), BLOCK, BLOCK);
    put_value(out, from);
    buffer_puts(out, ";\n");
    for (enum ir_element to = IR_BOOL; to < IR_INDEX; to++) {
        const char *name = ir_element_info[to].text;
        buffer_printf(out, "    y_%s[%d, b*%d +: %d] = %s(x);\n", name, PLAIN, BLOCK, BLOCK, name);
        for (int row = 0; row < PLAIN; row++) {
            if (!has_row(from, to, row))
                continue;
            buffer_printf(out, "    y_%s[%d, b*%d +: %d] = cast(x, %s", name, row, BLOCK, BLOCK, name);
            if (rounds(from, to))
                buffer_printf(out, ", round = %s", round_words[row % 4]);
            buffer_puts(out, row >= SATURATES ? ", saturate = true);\n" : ");\n");
        }
    }
    buffer_puts(out, "}\n");
}

/* ---- one source ---- */

static bool compare(enum ir_element from, enum ir_element to, int row, int64_t i, const unsigned char *data)
{
    uint64_t bits = 0, source = value_number(from, i);
    int round = row == PLAIN || !rounds(from, to) ? usual(from, to) : row % 4;
    memcpy(&bits, data, (size_t)bits_of(to) / 8);
    long double got = decode(to, bits), wanted = convert(from, to, round, row >= SATURATES && row < PLAIN, source);
    if (isnan(wanted) ? isnan(got)
                      : got == wanted && (wanted != 0 || !ir_is_float(to) || signbit(got) == signbit(wanted)))
        return true;
    printf("%s to %s, %s%s: 0x%llx gives %.21Lg, not %.21Lg\n", ir_element_info[from].text, ir_element_info[to].text,
           row == PLAIN ? "plain" : round_words[row % 4], row >= SATURATES && row < PLAIN ? " saturating" : "",
           (unsigned long long)source, got, wanted);
    return false;
}

static int check_memory(enum ir_element from, const struct fuzz_memory *memory)
{
    int failures = 0;
    int64_t count = values_of(from);
    for (enum ir_element to = IR_BOOL; to < IR_INDEX; to++)
        for (int row = 0; row < ROWS; row++)
            for (int64_t i = 0; i < count && failures < 12 && has_row(from, to, row); i++) {
                int64_t at = row * count + i;
                const unsigned char *data = memory->arguments[(int)to].data;
                failures += !compare(from, to, row, i, data + (size_t)at * (size_t)(bits_of(to) / 8));
            }
    return failures;
}

static struct fuzz_program *make(struct arena *arena, enum ir_element from, const char *target)
{
    struct buffer text = {0}, problem = {0};
    struct text_programs all = {0};
    put_source(&text, from);
    struct text_request request = {.text = text.data, .size = text.size, .seed = 1, .target = target};
    if (!fuzz_text_instances(&request, ir_context_create(arena), arena, &all, &problem) || all.programs.count < 1)
        printf("%s: %s\n", ir_element_info[from].text, problem.size ? problem.data : "no program");
    buffer_free(&text);
    buffer_free(&problem);
    return all.programs.count ? all.programs.data[0] : NULL;
}

static int check_source(enum ir_element from, const char *target)
{
    struct arena *arena = arena_create();
    struct interp_problem problem;
    struct buffer reason = {0};
    struct fuzz_program *program = make(arena, from, NULL);
    struct fuzz_memory *memory = program ? fuzz_memory_create(program) : NULL;
    int64_t runs = 0;
    int failures = 1;
    if (memory && !fuzz_interpret(program, program->function, memory, false, &problem))
        printf("%s: %s\n", ir_element_info[from].text, problem.text);
    else if (memory)
        failures = check_memory(from, memory);
    struct judge judge = {.kind = JUDGE_CPU, .isa = (int)from % fuzz_cpu_levels(), .code_level = 1};
    if (!failures)
        fuzz_judge_cpu(&judge, program, memory, &runs, &reason);
    judge = (struct judge){.kind = JUDGE_GPU, .target = target};
    if (!failures && !reason.size && (program = make(arena, from, target)))
        fuzz_judge_gpu(&judge, program, memory, &runs, &reason);
    if (reason.size) {
        printf("%s: %s\n", ir_element_info[from].text, reason.data);
        failures++;
    }
    buffer_free(&reason);
    if (memory)
        fuzz_memory_free(memory);
    arena_destroy(arena);
    return failures + (failures == 0 && runs < 2);
}

/* ---- the tables of the manual ---- */

/* Whether every number of `from` is one of `to`. */
static bool holds(enum ir_element to, enum ir_element from)
{
    if (to == IR_BOOL || from == IR_BOOL)
        return to == IR_BOOL ? from == IR_BOOL : true;
    if (ir_is_float(from))
        return ir_is_float(to) && format_of(to).digits >= format_of(from).digits &&
               format_of(to).least <= format_of(from).least && format_of(to).largest >= format_of(from).largest;
    int size = bits_of(from) - ir_is_signed(from);
    if (ir_is_float(to))
        return format_of(to).digits >= size;
    return bits_of(to) - ir_is_signed(to) >= size && (ir_is_signed(to) || !ir_is_signed(from));
}

static const char *conversion_word(enum ir_element from, enum ir_element to)
{
    return from == to            ? "="
           : to == IR_BOOL       ? "not0"
           : holds(to, from)     ? "all"
           : !ir_is_float(to)    ? ir_is_float(from) ? "cut" : "wrap"
           : format_of(to).stays ? "stay"
                                 : "near";
}

/* The element that two values together have; IR_ELEMENT_COUNT: they do not go together. */
static enum ir_element common(enum ir_element a, enum ir_element b)
{
    if (a == b)
        return a;
    if (!ir_is_integer(a) || !ir_is_integer(b) || ir_is_signed(a) != ir_is_signed(b))
        return IR_ELEMENT_COUNT;
    return bits_of(a) > bits_of(b) ? a : b;
}

static const char *short_name(enum ir_element e)
{
    const char *name = ir_element_info[e].text;
    return e == IR_F8E4M3 || e == IR_F8E5M2 ? name + 2 : name;
}

static const char *common_word(enum ir_element from, enum ir_element to)
{
    enum ir_element together = common(from, to);
    return together == IR_ELEMENT_COUNT ? "." : short_name(together);
}

static void put_table(struct buffer *out, const char *(*word)(enum ir_element, enum ir_element))
{
    buffer_puts(out, "      ");
    for (enum ir_element to = IR_BOOL; to < IR_INDEX; to++)
        buffer_printf(out, to + 1 < IR_INDEX ? "%-5s" : "%s\n", short_name(to));
    for (enum ir_element from = IR_BOOL; from < IR_INDEX; from++) {
        buffer_printf(out, "%-6s", short_name(from));
        for (enum ir_element to = IR_BOOL; to < IR_INDEX; to++)
            buffer_printf(out, to + 1 < IR_INDEX ? "%-5s" : "%s\n", word(from, to));
    }
}

/* Both stand in tile(7), each right behind the other's text. */
static int check_manual(void)
{
    struct buffer path = {0}, manual = {0};
    int failures = 0;
    buffer_printf(&path, "%s/man/tile.7", getenv("SRCDIR"));
    if (!file_read(path.data, SIZE_MAX, &manual)) {
        printf("cannot read %s\n", path.data);
        return 1;
    }
    for (int i = 0; i < 2; i++) {
        struct buffer table = {0};
        put_table(&table, i ? common_word : conversion_word);
        if (!strstr(manual.data, table.data)) {
            printf("man/tile.7 lacks this table:\n%s", table.data);
            failures++;
        }
        buffer_free(&table);
    }
    buffer_free(&manual);
    buffer_free(&path);
    return failures;
}

/* Two values chosen among have the type that the table says: nothing converts on its way to memory. */
static int check_pair(enum ir_element a, enum ir_element b, enum ir_element stored)
{
    const char *left = ir_element_info[a].text, *right = ir_element_info[b].text;
    enum ir_element together = common(a, b);
    struct arena *arena = arena_create();
    struct buffer text = {0}, problem = {0};
    struct text_programs all = {0};
    buffer_printf(&text,
                  "kernel k(c: in bool[4], x: in %s[4], y: in %s[4], r: out %s[4]) grid(i: 1) {\n"
                  "    r[:] = where(c[:], x[:], y[:]);\n}\n",
                  left, right, ir_element_info[stored].text);
    struct text_request request = {.text = text.data, .size = text.size, .seed = 1};
    bool taken = fuzz_text_instances(&request, ir_context_create(arena), arena, &all, &problem);
    bool good = together == IR_ELEMENT_COUNT ? !taken && strstr(problem.data, "do not go together")
                                             : taken == (stored == together);
    if (!good)
        printf("%s with %s, stored as %s: %s\n", left, right, ir_element_info[stored].text,
               taken ? "taken" : problem.data);
    buffer_free(&text);
    buffer_free(&problem);
    arena_destroy(arena);
    return !good;
}

static int check_pairs(void)
{
    int failures = 0;
    for (enum ir_element a = IR_BOOL; a < IR_INDEX; a++)
        for (enum ir_element b = IR_BOOL; b < IR_INDEX; b++) {
            enum ir_element together = common(a, b);
            failures += check_pair(a, b, together == IR_ELEMENT_COUNT ? a : together);
            if (together != IR_ELEMENT_COUNT && a != b)
                failures += check_pair(a, b, bits_of(a) < bits_of(b) ? a : b);
        }
    return failures;
}

int main(int count, char **arguments)
{
    static const char *const targets[] = {"sm_80", "sm_90a", "sm_75", "sm_89"};
    int failures = 0;
    if (count > 1 && strcmp(arguments[1], "table") == 0) {
        struct buffer out = {0};
        put_table(&out, conversion_word);
        buffer_puts(&out, "\n");
        put_table(&out, common_word);
        fputs(out.data, stdout);
        return 0;
    }
    nvptx_begin(NULL);
    if (count < 2)
        failures += check_manual() + check_pairs();
    for (enum ir_element from = IR_BOOL; from < IR_INDEX; from++)
        if (count < 2 || !strcmp(arguments[1], ir_element_info[from].text))
            failures += check_source(from, count > 2 ? arguments[2] : targets[from % 4]);
    return failures != 0;
}
