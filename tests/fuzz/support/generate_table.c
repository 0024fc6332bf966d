/* Programs that do everything which can be done with one element type, once each, on numbers at the edges of formats:
 * casts to every other type by every way of rounding, arithmetic, comparisons, shifts around the width, reductions of
 * NaN and zeros, atomics with all their actions.  The seed goes through types first; random programs meet most of these
 * cells only with small whole numbers.  Loops over the element run to its last numbers, too.
 *
 * Every operation is rounded once by itself, so that all that is right gives the same bits; a NaN's bits are free and
 * count as 0. */
#include "generate_table.h"
#include "operations.h"

enum { LENGTH = 64, SLOTS = 64, INPUTS = 3, LOOPS = 12 };
struct table_program {
    struct random random;
    struct buffer *out;
    enum ir_element element;
    int next, slot;
};

static const char *name_of(enum ir_element element) { return ir_element_info[element].text; }

/* A tile of i64: numbers that are counted from near a power of two, or anything. */
static void write_whole(struct table_program *p, int n)
{
    int power = random_below(&p->random, 64), from = random_between(&p->random, -LENGTH, 0);
    buffer_printf(p->out,
                  "%%base%d = constant value(%llu) : u64[%d]\n%%near%d = bitcast %%base%d : i64[%d]\n"
                  "%%off%d = constant value(%d) : i64[%d]\n%%at%d = add %%near%d, %%off%d : i64[%d]\n"
                  "%%whole%d = add %%at%d, %%count : i64[%d]\n",
                  n, 1ULL << power, LENGTH, n, n, LENGTH, n, from, LENGTH, n, n, n, LENGTH, n, n, LENGTH);
}

/* A tile of f64: whole numbers times a power of two, of both signs, at times a little more. */
static void write_real(struct table_program *p, int n)
{
    static const int bases[] = {0, 16, 64, 400, 512, 4096, 57000, 65500, 0x1000000};
    static const int powers[] = {0, 0, -3, 10, -9, -11, -14, -24, -26, -133, -135, -149, -151, 100};
    int base = bases[random_below(&p->random, 9)], power = powers[random_below(&p->random, 14)];
    double scale = __builtin_ldexp(random_chance(&p->random, 50) ? 1 : -1, power);
    double more = random_chance(&p->random, 30) ? __builtin_ldexp(1, power - 40) : 0;
    buffer_printf(p->out,
                  "%%from%d = constant value(%d) : i64[%d]\n%%sum%d = add %%count, %%from%d : i64[%d]\n"
                  "%%plain%d = cast %%sum%d : f64[%d]\n%%scale%d = constant value(bits(0x%llx)) : f64[%d]\n"
                  "%%scaled%d = mul %%plain%d, %%scale%d : f64[%d]\n"
                  "%%more%d = constant value(bits(0x%llx)) : f64[%d]\n"
                  "%%real%d = add %%scaled%d, %%more%d : f64[%d]\n",
                  n, base, LENGTH, n, n, LENGTH, n, n, LENGTH, n, (unsigned long long)ir_double_to_bits(IR_F64, scale),
                  LENGTH, n, n, n, LENGTH, n, (unsigned long long)ir_double_to_bits(IR_F64, more), LENGTH, n, n, n,
                  LENGTH);
}

/* Inputs %in0 … of the element: the view's wild bits, then edges. */
static void write_inputs(struct table_program *p)
{
    const char *name = name_of(p->element);
    buffer_printf(p->out,
                  "%%none = constant value(bits(0x0)) : %s\n"
                  "%%in0 = load %%x[%%nought +: %d], %%none : %s[%d]\n",
                  name, LENGTH, name, LENGTH);
    for (int i = 1; i < INPUTS; i++) {
        bool real = ir_is_float(p->element), same = p->element == (real ? IR_F64 : IR_I64);
        if (real)
            write_real(p, i);
        else
            write_whole(p, i);
        buffer_printf(p->out, same ? "%%in%d = add %%%s%d, %%zeros : %s[%d]\n" : "%%in%d = cast %%%s%d : %s[%d]\n", i,
                      real ? "real" : "whole", i, name, LENGTH);
    }
}

/* Stores a sum of the tile's bits, weighted by place; the highest ones stand in the middle as well, since a sum of an
 * even number of them says nothing. */
static void keep(struct table_program *p, const char *value, enum ir_element element)
{
    static const char *const bits[] = {[8] = "i8", [16] = "i16", [32] = "i32", [64] = "i64"};
    int n = p->next++;
    const char *name = name_of(element), *from = value;
    char plain[24];
    if (ir_is_float(element)) {
        buffer_printf(p->out,
                      "%%isnan%d = compare predicate(ne) %%%s, %%%s : bool[%d]\n"
                      "%%zero%d = constant value(0.0) : %s[%d]\n"
                      "%%number%d = select %%isnan%d, %%zero%d, %%%s : %s[%d]\n"
                      "%%raw%d = bitcast %%number%d : %s[%d]\n",
                      n, value, value, LENGTH, n, name, LENGTH, n, n, n, value, name, LENGTH, n, n,
                      bits[ir_element_info[element].bits], LENGTH);
        snprintf(plain, sizeof plain, "raw%d", n);
        from = plain;
    }
    buffer_printf(p->out,
                  element == IR_I64 || element == IR_F64 ? "%%bits%d = add %%%s, %%zeros_i64 : i64[%d]\n"
                                                         : "%%bits%d = cast %%%s : i64[%d]\n",
                  n, from, LENGTH);
    buffer_printf(p->out,
                  "%%upper%d = shr %%bits%d, %%half : i64[%d]\n"
                  "%%long%d = xor %%bits%d, %%upper%d : i64[%d]\n",
                  n, n, LENGTH, n, n, n, LENGTH);
    buffer_printf(p->out,
                  "%%weighed%d = mul %%long%d, %%weights : i64[%d]\n"
                  "%%kept%d = reduce axis(0) kind(add) %%weighed%d : i64\n"
                  "%%slot%d = constant value(%d) : index\nstore %%digest[%%nought, %%slot%d], %%kept%d\n",
                  n, n, LENGTH, n, n, n, p->slot++, n, n);
}

static void write_casts(struct table_program *p)
{
    static const char *const rounds[] = {"rtne", "rtz", "rtp", "rtn"};
    for (int to = IR_BOOL; to <= IR_INDEX; to++)
        for (int round = 0; round < 4; round++) {
            int n = p->next++, input = random_below(&p->random, INPUTS);
            bool real = ir_is_float(p->element), rounded = p->element != IR_BOOL && ir_is_float((enum ir_element)to);
            char value[24];
            if (to == (int)p->element || p->slot >= SLOTS || (!rounded && round > 0))
                continue;
            snprintf(value, sizeof value, "cast%d", n);
            if (rounded)
                buffer_printf(p->out, "%%%s = cast round(%s) %%in%d : %s[%d]\n", value, rounds[round], input,
                              name_of((enum ir_element)to), LENGTH);
            else
                buffer_printf(p->out, "%%%s = cast %s%%in%d : %s[%d]\n", value,
                              !real && random_chance(&p->random, 60) ? "saturate(1) " : "", input,
                              name_of((enum ir_element)to), LENGTH);
            keep(p, value, (enum ir_element)to);
        }
}

static void write_binary(struct table_program *p, const char *operation, int a, int b)
{
    char value[24];
    if (p->slot >= SLOTS)
        return;
    snprintf(value, sizeof value, "made%d", p->next++);
    buffer_printf(p->out, "%%%s = %s %%in%d, %%in%d : %s[%d]\n", value, operation, a, b, name_of(p->element), LENGTH);
    keep(p, value, p->element);
}

/* Of random inputs; behind the first one a NaN, whose sign is free, is 0. */
static void write_operation(struct table_program *p, const char *operation, int operands)
{
    const char *name = name_of(p->element);
    char value[24], of[3][24];
    if (p->slot >= SLOTS)
        return;
    int n = p->next++;
    for (int i = 0; i < operands; i++) {
        int input = random_below(&p->random, INPUTS);
        snprintf(of[i], sizeof of[i], "in%d", input);
        if (i && ir_is_float(p->element)) {
            snprintf(of[i], sizeof of[i], "real%d_%d", n, i);
            buffer_printf(p->out,
                          "%%is_%s = compare predicate(eq) %%in%d, %%in%d : bool[%d]\n"
                          "%%%s = select %%is_%s, %%in%d, %%zeros : %s[%d]\n",
                          of[i], input, input, LENGTH, of[i], of[i], input, name, LENGTH);
        }
    }
    snprintf(value, sizeof value, "made%d", n);
    buffer_printf(p->out, "%%%s = %s", value, operation);
    for (int i = 0; i < operands; i++)
        buffer_printf(p->out, "%s %%%s", i ? "," : "", of[i]);
    buffer_printf(p->out, " : %s[%d]\n", name, LENGTH);
    keep(p, value, p->element);
}

/* By 0 … 63, whatever the width. */
static void write_shift(struct table_program *p, const char *operation)
{
    int n = p->next++;
    char value[24];
    snprintf(value, sizeof value, "made%d", n);
    if (p->element == IR_I64)
        buffer_printf(p->out, "%%by%d = add %%count, %%zeros : i64[%d]\n", n, LENGTH);
    else
        buffer_printf(p->out, "%%by%d = cast %%count : %s[%d]\n", n, name_of(p->element), LENGTH);
    buffer_printf(p->out, "%%%s = %s %%in%d, %%by%d : %s[%d]\n", value, operation, random_below(&p->random, INPUTS), n,
                  name_of(p->element), LENGTH);
    keep(p, value, p->element);
}

static void write_compare(struct table_program *p, const char *predicate)
{
    char value[24];
    int n = p->next++;
    snprintf(value, sizeof value, "held%d", n);
    buffer_printf(p->out, "%%%s = compare predicate(%s) %%in0, %%in%d : bool[%d]\n", value, predicate,
                  random_below(&p->random, INPUTS), LENGTH);
    keep(p, value, IR_BOOL);
}

/* A number and its opposite, of which code knows that they lie between two others, and a sum compared: numbers so far
 * apart that their difference is none of the element. */
static void write_places(struct table_program *p)
{
    static const char *const predicates[] = {"lt", "le", "gt", "ge"};
    const char *name = name_of(p->element);
    int bits = ir_element_info[p->element].bits, n = p->next++;
    int64_t most = INT64_MAX >> (64 - bits), more = random_between(&p->random, 1, 20);
    char value[24];
    if (p->slot >= SLOTS)
        return;
    buffer_printf(p->out, "%%of%d_0 = add %%in0, %%zeros : %s[%d]\n%%of%d_1 = not %%in0 : %s[%d]\n", n, name, LENGTH, n,
                  name, LENGTH);
    for (int side = 0; side < 2; side++) {
        int64_t low = 1 - (most >> random_below(&p->random, 2));
        int64_t high = (most >> random_below(&p->random, 2)) - more - 1;
        buffer_printf(p->out,
                      "%%low%d_%d = constant value(%lld) : %s[%d]\n"
                      "%%high%d_%d = constant value(%lld) : %s[%d]\n"
                      "%%least%d_%d = max %%of%d_%d, %%low%d_%d : %s[%d]\n"
                      "%%place%d_%d = min %%least%d_%d, %%high%d_%d : %s[%d]\n",
                      n, side, (long long)low, name, LENGTH, n, side, (long long)high, name, LENGTH, n, side, n, side,
                      n, side, name, LENGTH, n, side, n, side, n, side, name, LENGTH);
    }
    snprintf(value, sizeof value, "apart%d", n);
    buffer_printf(p->out,
                  "%%more%d = constant value(%lld) : %s[%d]\n%%behind%d = add %%place%d_0, %%more%d : %s[%d]\n"
                  "%%%s = compare predicate(%s) %%behind%d, %%place%d_1 : bool[%d]\n",
                  n, (long long)more, name, LENGTH, n, n, n, name, LENGTH, value,
                  predicates[random_below(&p->random, 4)], n, n, LENGTH);
    keep(p, value, IR_BOOL);
}

/* What is reduced: all elements, or 64 times one, which must come out as it is wherever the operation picks or keeps
 * bits; and 64 times its opposite, so that each bit of a neutral element is asked for once. */
enum reduced { ALL, EQUAL, OPPOSITE, REDUCED_COUNT };

/* Seen as a tile again. */
static void write_reduction(struct table_program *p, const char *attributes, enum reduced reduced)
{
    char value[24], from[24];
    int n = p->next++;
    if (p->slot >= SLOTS)
        return;
    const char *name = name_of(p->element);
    snprintf(value, sizeof value, "spread%d", n);
    snprintf(from, sizeof from, "in%d", random_below(&p->random, INPUTS));
    if (reduced != ALL) {
        snprintf(from, sizeof from, "equal%d", n);
        buffer_printf(p->out,
                      "%%which%d = constant value(%d) : index\n%%any%d = load %%x[%%which%d], %%none : %s\n"
                      "%%not%d = %s %%any%d : %s\n%%equal%d = splat %%%s%d : %s[%d]\n",
                      n, random_below(&p->random, LENGTH), n, n, name, n, ir_is_float(p->element) ? "neg" : "not", n,
                      name, n, reduced == EQUAL ? "any" : "not", n, name, LENGTH);
    }
    buffer_printf(p->out, "%%one%d = reduce axis(0) %s %%%s : %s\n%%%s = splat %%one%d : %s[%d]\n", n, attributes, from,
                  name, value, n, name, LENGTH);
    keep(p, value, p->element);
}

static void write_arithmetic(struct table_program *p)
{
    static const char *const both[] = {"add", "sub", "mul", "div", "rem", "min", "max"};
    static const char *const whole[] = {"and", "or", "xor", "mulhi"}, *const real[] = {"min nan(propagate)",
                                                                                       "max nan(propagate)"};
    static const char *const predicates[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    bool is_real = ir_is_float(p->element);
    for (int i = 0; i < 7; i++)
        write_binary(p, both[i], random_below(&p->random, INPUTS), random_below(&p->random, INPUTS));
    for (int i = 0; i < (is_real ? 2 : 4); i++)
        write_binary(p, is_real ? real[i] : whole[i], 0, random_below(&p->random, INPUTS));
    for (int i = 0; i < 6; i++)
        write_compare(p, predicates[i]);
    for (int i = 0; i < 4 && ir_is_signed(p->element) && !is_real; i++)
        write_places(p);
    for (int operands = 1; operands <= 3; operands++) {
        struct operations all = operands == 1 ? operations_on(p->element, 1)
                                              : operations_intrinsic(p->element, operands);
        for (int i = 0; i < all.count; i++)
            write_operation(p, operations_text(&all, i), operands);
    }
    if (!is_real) {
        write_shift(p, "shl");
        write_shift(p, "shr");
    }
    static const char *const sums[] = {"kind(add)", "kind(and)", "kind(or)", "kind(xor)"};
    static const char *const picks[] = {"kind(min)", "kind(max)", "kind(min) nan(propagate)",
                                        "kind(max) nan(propagate)"};
    for (int i = 0; i < 4 && !is_real; i++)
        for (int of = ALL; of < (i == 1 || i == 2 ? REDUCED_COUNT : EQUAL); of++)
            write_reduction(p, sums[i], (enum reduced)of);
    for (int i = 0; i < (is_real ? 4 : 2); i++)
        for (int of = ALL; of < REDUCED_COUNT; of++)
            write_reduction(p, picks[i], (enum reduced)of);
}

static bool has_action(enum ir_element element, const char *action)
{
    return !ir_is_float(element) || (action[0] != 'o' && action[0] != 'x' && (action[0] != 'a' || action[1] == 'd'));
}

static void write_atomics(struct table_program *p)
{
    static const char *const actions[] = {"add", "min", "max", "and", "or", "xor", "exchange", "load", "store"};
    static const char *const orders[] = {"relaxed", "acquire", "release", "acq_rel"};
    static const char *const scopes[] = {"gpu", "system", "block"};
    const char *name = name_of(p->element);
    for (int i = 0; i < 9; i++) {
        int n = p->next++;
        char value[24];
        if (!has_action(p->element, actions[i]))
            continue;
        snprintf(value, sizeof value, "old%d", n);
        buffer_printf(p->out, "%%%s = atomic action(%s) order(%s) scope(%s) %%y[%%nought +: %d], %%in%d : %s[%d]\n",
                      value, actions[i], orders[random_below(&p->random, 4)], scopes[random_below(&p->random, 3)],
                      LENGTH, random_below(&p->random, INPUTS), name, LENGTH);
        keep(p, value, p->element);
    }
}

/* Numbers of the element that a loop ends at: its greatest and least ones among them. */
static void write_bound(struct table_program *p, const char *name, int n, int64_t value)
{
    const char *type = name_of(p->element);
    buffer_printf(p->out, "%%%s_known%d = constant value(%lld) : %s\n%%%s%d = add %%%s_known%d, %%%s : %s\n", name, n,
                  (long long)value, type, name, n, name, n, random_chance(&p->random, 50) ? "hidden" : "plain", type);
}

/* Counts a loop whose variable comes to the end of its element, or behind it: it does not start again. */
static void write_loop(struct table_program *p)
{
    int bits = ir_element_info[p->element].bits, n = p->next++, most = bits == 8 ? 40 : 1000;
    bool is_signed = ir_is_signed(p->element), multiplies = random_chance(&p->random, 25);
    bool down = is_signed && !multiplies && random_chance(&p->random, 40);
    int64_t high = bits == 64 ? INT64_MAX : ((int64_t)1 << (bits - is_signed)) - 1, low = is_signed ? -high - 1 : 0;
    int64_t way = random_between(&p->random, 0, most),
            near = random_chance(&p->random, 50) ? 0 : random_between(&p->random, 1, 9);
    int64_t step = random_chance(&p->random, 30) ? 1 + way / 3 : random_between(&p->random, 1 + most / 20, most);
    int64_t end = down ? low + near : high - near, start = down ? end + way : end - way;
    if (multiplies) {
        start = random_between(&p->random, 1, 9);
        step = random_between(&p->random, 2, most);
    }
    write_bound(p, "start", n, start);
    write_bound(p, "end", n, end);
    const char *type = name_of(p->element);
    buffer_printf(p->out, "%%step%d = constant value(%lld) : %s\n%%turns%d = for %s%%at%d: %s = ", n,
                  (long long)(down ? -step : step), type, n, multiplies ? "multiply(1) " : "", n, type);
    buffer_printf(p->out, "%%start%d to %%end%d step %%step%d iter(%%sum%d: i64 = %%no) {\n", n, n, n, n);
    bool same = p->element == IR_I64;
    buffer_printf(p->out, same ? "%%number%d = add %%at%d, %%no : i64\n" : "%%number%d = cast %%at%d : i64\n", n, n);
    buffer_printf(p->out,
                  "%%times%d = mul %%sum%d, %%weight : i64\n%%more%d = add %%times%d, %%number%d : i64\n"
                  "yield %%more%d\n}\n%%slot%d = constant value(%d) : index\n"
                  "store %%digest[%%nought, %%slot%d], %%turns%d\n",
                  n, n, n, n, n, n, n, p->slot++, n, n);
}

/* %hidden is 0, and known to nobody before it runs. */
static void write_loops(struct table_program *p)
{
    const char *type = name_of(p->element);
    buffer_printf(p->out,
                  "%%no = constant value(0) : i64\n%%weight = constant value(5) : i64\n"
                  "%%plain = constant value(0) : %s\n%%long = extent dimension(0) %%x : index\n"
                  "%%length = constant value(%d) : index\n%%rest = sub %%long, %%length : index\n"
                  "%%hidden = cast %%rest : %s\n",
                  type, LENGTH, type);
    for (int i = 0; i < LOOPS; i++)
        write_loop(p);
}

void fuzz_generate_table(struct buffer *out, uint64_t seed)
{
    static const enum ir_element elements[] = {IR_I8,  IR_U8,  IR_I16,  IR_U16, IR_I32, IR_U32,    IR_I64,
                                               IR_U64, IR_F16, IR_BF16, IR_F32, IR_F64, IR_F8E4M3, IR_F8E5M2};
    struct table_program program = {.random = {seed}, .out = out}, *p = &program;
    p->element = elements[seed % 14];
    const char *name = name_of(p->element);
    buffer_printf(out,
                  "// seed %llu\n// grid 1\n// view extent %d stride 1 elements %d block %d content 1 fill %llu\n"
                  "// view extent %d stride 1 elements %d block %d content 1 fill %llu output\n"
                  "// view extent 1 %d stride %d 1 elements %d block 1 content 0 fill 1 output\n",
                  (unsigned long long)seed, LENGTH, LENGTH, LENGTH, (unsigned long long)seed, LENGTH, LENGTH, LENGTH,
                  (unsigned long long)seed + 1, SLOTS, SLOTS, SLOTS);
    const char *facts = "{limit(2147483648), restrict}";
    buffer_printf(out,
                  "kernel @fuzz(%%x: view<%s, [?], [1], in> %s, %%y: view<%s, [?], [1], inout> %s, "
                  "%%digest: view<i64, [?, %d], [?, 1], inout> %s) grid(1) warps(%d) {\n",
                  name, facts, name, facts, SLOTS, facts, 1 << random_below(&p->random, 3));
    buffer_printf(out,
                  "%%nought = constant value(0) : index\n%%count = iota : i64[%d]\n"
                  "%%zeros_i64 = constant value(0) : i64[%d]\n%%three = constant value(3) : i64[%d]\n"
                  "%%weights = add %%count, %%three : i64[%d]\n%%half = constant value(31) : i64[%d]\n"
                  "%%zeros = constant value(%s) : %s[%d]\n",
                  LENGTH, LENGTH, LENGTH, LENGTH, LENGTH, ir_is_float(p->element) ? "-0.0" : "0", name, LENGTH);
    write_inputs(p);
    switch (seed / 14 % 4) {
    case 0:
    case 1: write_casts(p); break;
    case 2: write_arithmetic(p); break;
    default: write_atomics(p);
    }
    if (!ir_is_float(p->element) && seed / 14 % 4 != 2)
        write_loops(p);
    buffer_puts(out, "return\n}\n");
}
