/* Writes random sources: functions, generic or not, and kernels over them with views, optional views, schedules,
 * keys and control flow.  Every expression is written for a type that is known, so that a source the front end
 * refuses is a finding.  Floats are small integers, kept so by clamping; a sum that is not exact all the same is met
 * by the judge. */
#include "text.h"

#include <string.h>

enum shape { SCALAR, TILE, SHAPES };
enum { MOST_VARIABLES = 40, MOST_FUNCTIONS = 6, MOST_DEPTH = 4 };

struct variable {
    char name[12];
    enum ir_element element;
    enum shape shape;
    bool generic, assignable;
};
struct function {
    char name[12];
    enum ir_element element;
    bool generic;
    int parameters;
};
struct writer {
    struct random random;
    struct buffer *out;
    struct variable variables[MOST_VARIABLES];
    int count, next, indent, loops;
    struct function functions[MOST_FUNCTIONS];
    int function_count;
    bool in_function; /* no tiles, no views */
    char views[6][12];
    enum ir_element view_element[6];
    bool view_optional[6];
    int view_count;
    enum ir_element palette[4]; /* what most things of one source are made of */
    bool row;                   /* views have two dimensions, and tiles go along the second one */
};

static const enum ir_element numbers[] = {IR_I8,  IR_I16, IR_I32, IR_I64,  IR_U8,  IR_U16,
                                          IR_U32, IR_U64, IR_F16, IR_BF16, IR_F32, IR_F64};

static enum ir_element any_number(struct writer *w)
{
    return random_chance(&w->random, 88) ? w->palette[random_below(&w->random, 4)]
                                         : numbers[random_below(&w->random, 12)];
}
static const char *text_of(enum ir_element element) { return ir_element_info[element].text; }

static void line(struct writer *w)
{
    buffer_putc(w->out, '\n');
    for (int i = 0; i < w->indent; i++)
        buffer_puts(w->out, "    ");
}

/* ---- expressions ---- */

static void expression(struct writer *w, enum ir_element element, enum shape shape, int depth);

static void literal(struct writer *w, enum ir_element element, enum shape shape)
{
    int value = random_between(&w->random, ir_is_signed(element) || ir_is_float(element) ? -8 : 0, 8);
    if (element == IR_BOOL && shape == SCALAR)
        buffer_puts(w->out, value & 1 ? "true" : "false");
    else if (element == IR_BOOL)
        buffer_printf(w->out, "(iota(B) %% %d == %d)", random_between(&w->random, 2, 5), random_below(&w->random, 2));
    else
        buffer_printf(w->out, "%s%s(%d)", text_of(element), shape == TILE ? "[B]" : "", value);
}

static bool variable(struct writer *w, enum ir_element element, enum shape shape)
{
    for (int tries = 0; w->count && tries < 12; tries++) {
        const struct variable *v = &w->variables[random_below(&w->random, w->count)];
        if (v->generic || v->element != element || v->shape != shape)
            continue;
        buffer_puts(w->out, v->name);
        return true;
    }
    return false;
}

static void two(struct writer *w, const char *before, const char *between, const char *behind, enum ir_element element,
                enum shape left, enum shape right, int depth)
{
    buffer_puts(w->out, before);
    expression(w, element, left, depth + 1);
    buffer_puts(w->out, between);
    expression(w, element, right, depth + 1);
    buffer_puts(w->out, behind);
}

static void condition(struct writer *w, enum shape shape, int depth)
{
    static const char *const compare[] = {" == ", " != ", " < ", " <= ", " > ", " >= "};
    int dice = random_below(&w->random, 10);
    if (dice < 6 || depth >= MOST_DEPTH) {
        two(w, "(", compare[random_below(&w->random, 6)], ")", any_number(w), shape, shape, depth + 1);
    } else if (dice < 8) {
        two(w, "(", random_chance(&w->random, 50) ? " and " : " or ", ")", IR_BOOL, shape, shape, depth);
    } else {
        buffer_puts(w->out, "(not ");
        expression(w, IR_BOOL, shape, depth + 1);
        buffer_puts(w->out, ")");
    }
}

/* Never leaves -8 … 8 for floats. */
static void arithmetic(struct writer *w, enum ir_element element, enum shape shape, int depth)
{
    static const char *const integers[] = {" + ", " - ", " * ", " / ", " % ", " & ", " | ", " ^ "};
    static const char *const reals[] = {" + ", " - ", " * "};
    int which = random_below(&w->random, 10);
    if (!ir_is_float(element) && which >= 8) { /* a distance that is constant must be small */
        two(w, "(", which == 8 ? " << (" : " >> (", "", element, shape, shape, depth);
        buffer_printf(w->out, " & %s%s(%d)))", text_of(element), shape == TILE ? "[B]" : "",
                      random_chance(&w->random, 50) ? 7 : 63);
        return;
    }
    if (!ir_is_float(element)) {
        two(w, "(", integers[which], ")", element, shape, shape, depth);
        return;
    }
    const char *wrap = shape == TILE ? "[B]" : "";
    bool small = element == IR_BF16 || element == IR_F16;
    buffer_puts(w->out, "max(min(");
    two(w, "(", reals[random_below(&w->random, 3)], ")", element, shape, shape, depth);
    buffer_printf(w->out, ", %s%s(%d)), %s%s(%d))", text_of(element), wrap, small ? 4 : 8, text_of(element), wrap,
                  small ? -4 : -8);
}

static void access_view(struct writer *w, enum ir_element element, enum shape shape)
{
    for (int tries = 0; w->view_count && tries < 8; tries++) {
        int i = random_below(&w->random, w->view_count);
        if (w->view_element[i] != element)
            continue;
        char where[80];
        const char *row = w->row ? "r, " : "";
        if (shape == SCALAR)
            snprintf(where, sizeof where, "[%s%d]", row, random_below(&w->random, 12));
        else if (random_chance(&w->random, 30))
            snprintf(where, sizeof where, "[%s(b*B + iota(B)) * %d %% %d]", row, random_between(&w->random, 1, 5),
                     random_between(&w->random, 7, 50));
        else
            snprintf(where, sizeof where, "[%sb*B + %d +: B]", row, random_between(&w->random, -3, 3));
        if (random_chance(&w->random, 30))
            buffer_printf(w->out, "load(%s%s, other = %s(%d))", w->views[i], where, text_of(element),
                          random_below(&w->random, 5));
        else
            buffer_printf(w->out, "%s%s", w->views[i], where);
        return;
    }
    literal(w, element, shape);
}

static bool call(struct writer *w, enum ir_element element, enum shape shape, int depth)
{
    for (int tries = 0; w->function_count && tries < 8; tries++) {
        const struct function *f = &w->functions[random_below(&w->random, w->function_count)];
        if (!f->generic && f->element != element)
            continue;
        buffer_printf(w->out, "%s(", f->name);
        for (int i = 0; i < f->parameters; i++) {
            buffer_puts(w->out, i ? ", " : "");
            expression(w, element, shape, depth + 1);
        }
        buffer_puts(w->out, ")");
        return true;
    }
    return false;
}

static void choose(struct writer *w, enum ir_element element, enum shape shape, int depth)
{
    if (shape == TILE) {
        buffer_puts(w->out, "where(");
        condition(w, shape, depth + 1);
        two(w, ", ", ", ", ")", element, shape, shape, depth);
        return;
    }
    buffer_puts(w->out, "(");
    condition(w, shape, depth + 1);
    two(w, " ? ", " : ", ")", element, shape, shape, depth);
}

static void convert(struct writer *w, enum ir_element element, enum shape shape, int depth)
{
    enum ir_element from = any_number(w);
    if (ir_is_float(element) && !ir_is_float(from)) { /* any integer would be too large */
        buffer_printf(w->out, "%s(", text_of(element));
        two(w, "(", " & ", ")", from, shape, shape, MOST_DEPTH);
        buffer_puts(w->out, shape == TILE ? " % " : " % ");
        buffer_printf(w->out, "%s%s(5))", text_of(from), shape == TILE ? "[B]" : "");
        return;
    }
    buffer_printf(w->out, "%s(", text_of(element));
    expression(w, from, shape, depth + 1);
    buffer_puts(w->out, ")");
}

static void reduction(struct writer *w, enum ir_element element, int depth)
{
    bool wide = element == IR_I32 || element == IR_I64 || element == IR_U32 || element == IR_U64;
    buffer_puts(w->out, wide && random_chance(&w->random, 50) ? "sum("
                        : random_chance(&w->random, 50)       ? "max("
                                                              : "min(");
    expression(w, element, TILE, depth + 1);
    buffer_puts(w->out, ")");
}

static void expression(struct writer *w, enum ir_element element, enum shape shape, int depth)
{
    int dice = random_below(&w->random, 100);
    if (element == IR_BOOL) {
        if (depth >= MOST_DEPTH || dice < 15)
            literal(w, element, shape);
        else
            condition(w, shape, depth);
        return;
    }
    if (depth >= MOST_DEPTH || dice < 25) {
        if (variable(w, element, shape))
            return;
        if (!w->in_function && random_chance(&w->random, 60))
            access_view(w, element, shape);
        else
            literal(w, element, shape);
    } else if (dice < 55) {
        arithmetic(w, element, shape, depth);
    } else if (dice < 65) {
        choose(w, element, shape, depth);
    } else if (dice < 73) {
        convert(w, element, shape, depth);
    } else if (dice < 80) {
        two(w, random_chance(&w->random, 50) ? "min(" : "max(", ", ", ")", element, shape, shape, depth);
    } else if (dice < 87 && call(w, element, shape, depth)) {
        return;
    } else if (!w->in_function && dice < 94) {
        access_view(w, element, shape);
    } else if (!w->in_function && shape == SCALAR) {
        reduction(w, element, depth);
    } else {
        literal(w, element, shape);
    }
}

/* ---- statements ---- */

static struct variable *declare(struct writer *w, enum ir_element element, enum shape shape, bool assignable)
{
    struct variable *v = &w->variables[w->count < MOST_VARIABLES ? w->count : MOST_VARIABLES - 1];
    *v = (struct variable){.element = element, .shape = shape, .assignable = assignable};
    snprintf(v->name, sizeof v->name, "v%d", w->next++ % 1000000);
    if (w->count < MOST_VARIABLES)
        w->count++;
    return v;
}

static void let(struct writer *w)
{
    enum ir_element element = any_number(w);
    enum shape shape = w->in_function || random_chance(&w->random, 35) ? SCALAR : TILE;
    bool assignable = random_chance(&w->random, 50);
    struct buffer value = {0}, *out = w->out;
    w->out = &value;
    expression(w, element, shape, 0);
    w->out = out;
    struct variable *v = declare(w, element, shape, assignable);
    line(w);
    buffer_printf(w->out, "%s %s = %s;", assignable ? "var" : "let", v->name, value.data);
    buffer_free(&value);
}

static void assign(struct writer *w)
{
    for (int tries = 0; w->count && tries < 8; tries++) {
        struct variable v = w->variables[random_below(&w->random, w->count)];
        if (!v.assignable)
            continue;
        line(w);
        buffer_printf(w->out, "%s = ", v.name);
        expression(w, v.element, v.shape, 1);
        buffer_puts(w->out, ";");
        return;
    }
    let(w);
}

static void block(struct writer *w, int statements);

static void loop(struct writer *w)
{
    line(w);
    int dice = random_below(&w->random, 4), number = w->next++;
    if (dice == 0) {
        buffer_printf(w->out, "var n%d = i32(%d);", number, random_below(&w->random, 4));
        line(w);
        buffer_printf(w->out, "while (n%d > 0) {", number);
        block(w, random_between(&w->random, 1, 3));
        line(w);
        buffer_printf(w->out, "    n%d -= i32(1);", number);
    } else {
        int low = random_between(&w->random, -3, 4), trips = random_below(&w->random, 5),
            step = random_between(&w->random, 1, 3);
        if (dice == 1)
            buffer_printf(w->out, "for k%d in %d..%d step -%d {", number, low + trips * step, low, step);
        else
            buffer_printf(w->out, "%sfor k%d in %d..%d step %d {", dice == 2 && !w->loops ? "static " : "", number, low,
                          low + trips * step, step);
        block(w, random_between(&w->random, 1, 3));
        if (dice != 2 && random_chance(&w->random, 30)) {
            line(w);
            buffer_printf(w->out, "    if (k%d > %d) %s;", number, low + 2,
                          random_chance(&w->random, 50) ? "break" : "continue");
        }
    }
    line(w);
    buffer_puts(w->out, "}");
}

static void branch(struct writer *w)
{
    line(w);
    int optional = -1;
    for (int i = 0; i < w->view_count; i++)
        optional = w->view_optional[i] && !w->in_function ? i : optional;
    buffer_puts(w->out, "if (");
    if (optional >= 0 && random_chance(&w->random, 40))
        buffer_puts(w->out, w->views[optional]);
    else
        condition(w, SCALAR, 1);
    buffer_puts(w->out, ") {");
    block(w, random_between(&w->random, 1, 3));
    line(w);
    buffer_puts(w->out, "}");
    if (random_chance(&w->random, 60)) {
        buffer_puts(w->out, " else {");
        block(w, random_between(&w->random, 1, 2));
        line(w);
        buffer_puts(w->out, "}");
    }
}

/* What is declared inside is forgotten behind. */
static void block(struct writer *w, int statements)
{
    int count = w->count;
    w->indent++;
    w->loops++;
    for (int i = 0; i < statements; i++) {
        int dice = random_below(&w->random, 100);
        if (dice < 10 && w->loops < 4)
            loop(w);
        else if (dice < 25 && w->loops < 4)
            branch(w);
        else if (dice < 60)
            assign(w);
        else
            let(w);
    }
    w->loops--;
    w->indent--;
    w->count = count;
}

/* ---- declarations ---- */

static void write_function(struct writer *w)
{
    struct function *f = &w->functions[w->function_count];
    *f = (struct function){.element = any_number(w),
                           .generic = random_chance(&w->random, 25),
                           .parameters = random_between(&w->random, 1, 3)};
    snprintf(f->name, sizeof f->name, "f%d", w->function_count);
    w->count = 0;
    w->in_function = true;
    const char *type = f->generic ? "T" : text_of(f->element);
    buffer_printf(w->out, "%sfn %s%s(", random_chance(&w->random, 15) ? "noinline " : "", f->name,
                  f->generic ? "<T>" : "");
    for (int i = 0; i < f->parameters; i++) {
        struct variable *v = declare(w, f->element, SCALAR, false);
        v->generic = f->generic;
        buffer_printf(w->out, "%s%s: %s", i ? ", " : "", v->name, type);
    }
    if (f->generic) { /* what every number can do */
        const char *a = w->variables[0].name, *b = w->variables[f->parameters - 1].name;
        static const char *const bodies[] = {"min(%s, %s)", "max(%s, %s)", "%s > %s ? T(1) : T(0)",
                                             "min(max(%s, T(0)), max(%s, T(1)))"};
        buffer_printf(w->out, ") -> T = ");
        const char *body = bodies[random_below(&w->random, 4)];
        const char *first = strstr(body, "%s"), *second = strstr(first + 2, "%s");
        buffer_append(w->out, body, (size_t)(first - body));
        buffer_puts(w->out, a);
        buffer_append(w->out, first + 2, (size_t)(second - first - 2));
        buffer_puts(w->out, b);
        buffer_puts(w->out, second + 2);
        buffer_puts(w->out, ";\n\n");
    } else {
        buffer_printf(w->out, ") -> %s\n{", type);
        int count = w->count;
        block(w, random_between(&w->random, 0, 3));
        w->count = count;
        w->indent++;
        if (random_chance(&w->random, 50)) {
            line(w);
            buffer_puts(w->out, "if (");
            condition(w, SCALAR, 2);
            buffer_puts(w->out, ") return ");
            expression(w, f->element, SCALAR, 1);
            buffer_puts(w->out, ";");
        }
        line(w);
        buffer_puts(w->out, "return ");
        expression(w, f->element, SCALAR, 1);
        buffer_puts(w->out, ";");
        w->indent--;
        buffer_puts(w->out, "\n}\n\n");
    }
    w->function_count++;
    w->in_function = false;
}

static void write_schedule(struct writer *w)
{
    static const char *const sets[] = {"{16}", "{8, 32}", "{16, 64}", "{32, 64, 128}"};
    static const int chosen[] = {16, 8, 64, 32};
    int i = random_below(&w->random, 4);
    buffer_printf(w->out, "\n    tune(B: %s = %d%s)", sets[i], chosen[i],
                  random_chance(&w->random, 30) ? ", warps" : "");
    if (random_chance(&w->random, 40))
        buffer_printf(w->out, " on(cpu, B = %d)", chosen[i]);
}

/* All that is known at the end shows. */
static void show_all(struct writer *w, enum ir_element out)
{
    int last = w->count;
    line(w);
    buffer_printf(w->out, "var all = %s[B](0);", text_of(out));
    for (int i = 0; i < last; i++) {
        line(w);
        buffer_printf(w->out, "all = all * %s[B](3) + %s(%s);", text_of(out), text_of(out), w->variables[i].name);
    }
    struct variable *v = declare(w, out, TILE, true);
    snprintf(v->name, sizeof v->name, "all");
}

static void write_kernel(struct writer *w, int number)
{
    enum ir_element out = any_number(w);
    bool key = random_chance(&w->random, 30);
    w->count = w->view_count = 0;
    w->row = random_chance(&w->random, 30);
    const char *extents = w->row ? "[M, N]" : "[N]";
    buffer_printf(w->out, "/// Random.\nkernel k%d%s(", number, key ? "<FLAG: bool>" : "");
    int inputs = random_between(&w->random, 1, 4);
    for (int i = 0; i < inputs; i++) {
        snprintf(w->views[i], sizeof w->views[i], "x%d", i);
        w->view_element[i] = any_number(w);
        w->view_optional[i] = i && random_chance(&w->random, 25);
        buffer_printf(w->out, "x%d: in%s %s%s%s, ", i, w->view_optional[i] ? "?" : "",
                      random_chance(&w->random, 20) ? "strided " : "", text_of(w->view_element[i]), extents);
        w->view_count++;
    }
    for (int i = random_below(&w->random, 3); i > 0; i--) {
        struct variable *v = declare(w, any_number(w), SCALAR, false);
        buffer_printf(w->out, "%s: %s, ", v->name, text_of(v->element));
    }
    buffer_printf(w->out, "y: out %s%s)\n    grid(b: cdiv(N, B)%s)", text_of(out), extents, w->row ? ", r: M" : "");
    write_schedule(w);
    buffer_puts(w->out, "\n{");
    block(w, 0);
    w->indent = 1;
    int statements = random_between(&w->random, 2, 9);
    for (int i = 0; i < w->view_count; i++) {
        struct variable *v = declare(w, w->view_element[i], TILE, false);
        line(w);
        buffer_printf(w->out, "let %s = %s[%sb*B +: B];", v->name, w->views[i], w->row ? "r, " : "");
    }
    for (int i = 0; i < statements; i++) {
        int dice = random_below(&w->random, 100);
        if (dice < 14)
            loop(w);
        else if (dice < 28)
            branch(w);
        else if (dice < 45)
            assign(w);
        else
            let(w);
    }
    if (!ir_is_float(out))
        show_all(w, out);
    line(w);
    buffer_printf(w->out, "y[%sb*B +: B] = ", w->row ? "r, " : "");
    if (!ir_is_float(out))
        buffer_puts(w->out, "all + ");
    if (key) {
        two(w, "(FLAG ? ", " : ", ");", out, TILE, TILE, 0);
    } else {
        expression(w, out, TILE, 0);
        buffer_puts(w->out, ";");
    }
    w->indent = 0;
    buffer_puts(w->out, "\n}\n\n");
}

/* The struct of a kernel: its members stand among the scalars. */
static void declare_members(struct writer *w, const enum ir_element *member, int members)
{
    for (int i = 0; i < members; i++) {
        struct variable *v = declare(w, member[i], SCALAR, false);
        snprintf(v->name, sizeof v->name, "p.m%d", i);
    }
}

/* What is stored into halves of bytes: all of a tile, a part of it that starts at an odd place, or one. */
static void store_halves(struct writer *w, enum ir_element element)
{
    static const char *const places[] = {"h[b*B +: B] = ", "h[b*B + 1 +: 4] = ", "h[b*B + 3] = "};
    int which = random_below(&w->random, 3);
    line(w);
    buffer_printf(w->out, "%s%s%s", places[which], text_of(element), which == 0 ? "(" : which == 1 ? "[4](" : "(");
    if (which == 0)
        expression(w, element, TILE, 1);
    else
        expression(w, element, SCALAR, 1);
    buffer_puts(w->out, ");");
}

/* A kernel that takes a struct, reads and writes elements of 4 bits, and keeps tiles in scratch, each instance its own. */
static void write_packed(struct writer *w, int number)
{
    static const char *const turns[] = {"iota(B) ^ 1", "iota(B) | 3", "iota(B) / 2 * 2", "iota(B) - 8"};
    bool is_signed = random_chance(&w->random, 50);
    enum ir_element half = is_signed ? IR_I8 : IR_U8, other = is_signed ? IR_U8 : IR_I8, kept = any_number(w),
                    out = any_number(w), member[3];
    if (ir_is_float(out))
        out = IR_I32;
    int members = random_between(&w->random, 1, 3);
    w->count = w->view_count = 0;
    w->row = false;
    buffer_printf(w->out, "struct settings%d { ", number);
    for (int i = 0; i < members; i++) {
        member[i] = random_chance(&w->random, 20) ? IR_BOOL : any_number(w);
        buffer_printf(w->out, "m%d: %s; ", i, text_of(member[i]));
    }
    buffer_printf(w->out,
                  "}\nkernel q%d(p: settings%d, w: in%s %s[2 * H], h: inout %s[2 * H], y: out %s[2 * H])\n"
                  "    grid(b: cdiv(2 * H, B))\n    scratch(kept: %s[cdiv(2 * H, B), B] = %d)",
                  number, number, random_chance(&w->random, 20) ? "?" : "", is_signed ? "u4" : "i4",
                  is_signed ? "i4" : "u4", text_of(out), text_of(kept), random_below(&w->random, 4));
    write_schedule(w);
    buffer_puts(w->out, "\n{");
    w->indent = 1;
    declare_members(w, member, members);
    struct variable *read = declare(w, other, TILE, false);
    line(w);
    buffer_printf(w->out, "let %s = w[b*B%s +: B];", read->name, random_chance(&w->random, 50) ? "" : " + 1");
    struct variable *before = declare(w, half, TILE, false);
    line(w);
    buffer_printf(w->out, "let %s = h[b*B +: B];", before->name);
    for (int i = random_between(&w->random, 1, 5); i > 0; i--) {
        if (random_chance(&w->random, 35))
            store_halves(w, half);
        else if (random_chance(&w->random, 30))
            branch(w);
        else
            let(w);
    }
    if (random_chance(&w->random, 75)) { /* else it is filled */
        line(w);
        buffer_puts(w->out, "kept[b, 0 +: B] = ");
        expression(w, kept, TILE, 0);
        buffer_puts(w->out, ";");
    }
    struct variable *back = declare(w, kept, TILE, false);
    line(w);
    buffer_printf(w->out, "let %s = kept[b, %s];", back->name, turns[random_below(&w->random, 4)]);
    store_halves(w, half);
    show_all(w, out);
    line(w);
    buffer_puts(w->out, "y[b*B +: B] = all + ");
    expression(w, out, TILE, 0);
    buffer_puts(w->out, ";");
    w->indent = 0;
    buffer_puts(w->out, "\n}\n\n");
}

/* c = epilogue(a b), of one or several types, b as it lies or transposed. */
static void write_product(struct writer *w, int number)
{
    static const char *const types[] = {"f16", "bf16", "f32", "i8", "u8", "f64"}, *const sums[] = {"f32", "f32", "f32",
                                                                                                   "i32", "i32", "f64"};
    int type = random_below(&w->random, 6);
    bool turned = random_chance(&w->random, 40), several = type < 3 && random_chance(&w->random, 30),
         bias = random_chance(&w->random, 50);
    bool rows = random_chance(&w->random, 40), twice = random_chance(&w->random, 25),
         loop_down = random_chance(&w->random, 15);
    const char *t = several ? "T" : types[type], *sum = sums[type];
    buffer_printf(w->out, "kernel p%d%s(a: in %s%s[M, K], b: in %s%s, ", number, several ? "<T: {f16, bf16, f32}>" : "",
                  random_chance(&w->random, 30) ? "strided " : "", t, t, turned ? "[N, K]" : "[K, N]");
    if (bias)
        buffer_printf(w->out, "bias: in? %s[N], ", sum);
    buffer_printf(w->out, "%sc: out %s[M, N])\n    grid(m: cdiv(M, BM), n: cdiv(N, BN))",
                  rows ? "most: out i32[M, N], " : "", sum);
    buffer_printf(w->out, "\n    tune(BM: {8, 16} = %d, BN: {8, 16} = %d, BK: {8, 16, 32} = 16)\n{",
                  random_chance(&w->random, 50) ? 8 : 16, random_chance(&w->random, 50) ? 8 : 16);
    buffer_printf(w->out, "\n    var acc = %s[BM, BN](0);", sum);
    char right[80];
    snprintf(right, sizeof right, turned ? "trans(b[n*BN +: BN, k +: BK])" : "b[k +: BK, n*BN +: BN]");
    if (loop_down)
        buffer_puts(
            w->out,
            "\n    var left = cdiv(K, BK);\n    while (left > 0) {\n        left -= 1;\n        let k = left * BK;");
    else
        buffer_puts(w->out, "\n    for k in 0..K step BK {");
    const char *add = random_chance(&w->random, 70) ? "+=" : "= acc +";
    if (random_chance(&w->random, 30)) /* the last slice apart */
        buffer_printf(w->out, "\n        if (%s) acc %s (a[m*BM +: BM, k +: BK] @ %s) + %s[BM, BN](1);\n        else",
                      random_chance(&w->random, 50)   ? "k + BK > K"
                      : random_chance(&w->random, 50) ? "k < 2*BK"
                                                      : "k + BK >= K",
                      add, right, sum);
    buffer_printf(w->out, "\n        acc %s a[m*BM +: BM, k +: BK] @ %s;", add, right);
    if (twice)
        buffer_printf(w->out, "\n        acc = max(acc, %s[BM, BN](-4)) + a[m*BM +: BM, k +: BK] @ %s;", sum, right);
    buffer_puts(w->out, "\n    }");
    if (bias)
        buffer_puts(w->out, "\n    if (bias) acc += bias[n*BN +: BN][None, :];");
    buffer_printf(w->out, "\n    let small = min(max(acc, %s[BM, BN](-8)), %s[BM, BN](%d));", sum, sum,
                  random_between(&w->random, 8, 100));
    if (rows)
        buffer_puts(w->out, "\n    most[m*BM +: BM, n*BN +: BN] = where(small > max(small, axis = 1)[:, None] - "
                            "sum(small, axis = 0)[None, :], "
                            "i32[BM, BN](1), i32[BM, BN](0)) + i32(m*BM + iota(BM))[:, None] * i32[BM, BN](2);");
    buffer_puts(w->out, "\n    c[m*BM +: BM, n*BN +: BN] = small;\n}\n\n");
}

/* Whole rows at once: wider than registers hold, read again or written piece by piece. */
static void write_rows(struct writer *w, int number)
{
    static const char *const types[] = {"f32", "f16", "bf16", "i32", "i16", "f64"}, *const wide[] = {"f32", "f32",
                                                                                                     "f32", "i32",
                                                                                                     "i32", "f64"};
    static const char *const steps[] = {"let e = v - m;", "let e = where(v > m - %s(3), v, m);",
                                        "let e = max(v, %s[B](-2)) - min(v, m);"};
    int type = random_below(&w->random, 6), step = random_below(&w->random, 3), loops = random_below(&w->random, 3);
    const char *t = types[type], *f = wide[type];
    bool two = random_chance(&w->random, 40), gain = random_chance(&w->random, 40),
         generic = random_chance(&w->random, 20) && type < 3;
    buffer_printf(w->out, "kernel w%d%s(x: in %s[M, N], ", number, generic ? "<T: {f32, f16}>" : "", generic ? "T" : t);
    buffer_printf(w->out, "%s%s%sy: out %s[M, N], s: out %s[M])", gain ? "g: in " : "", gain ? f : "",
                  gain ? "[N], " : "", f, f);
    buffer_puts(w->out, "\n    const(B: {512, 2048, 4096, 8192} >= N)\n    grid(row: M)\n{");
    buffer_printf(w->out, "\n    let v = %s(load(x[row, 0 +: B], other = %s));", f,
                  random_chance(&w->random, 50) ? "-8" : "0");
    buffer_puts(w->out, "\n    let m = max(v);\n    ");
    const char *hole = strstr(steps[step], "%s");
    buffer_append(w->out, steps[step], hole ? (size_t)(hole - steps[step]) : strlen(steps[step]));
    if (hole)
        buffer_printf(w->out, "%s%s", f, hole + 2);
    buffer_printf(w->out, "\n    let total = %s(e);", random_chance(&w->random, 70) ? "sum" : "min");
    if (loops)
        buffer_printf(w->out, "\n    var q = e;\n    for i in 0..%d { q = min(q + e, %s[B](6)) - %s[B](1); }", loops, f,
                      f);
    buffer_printf(w->out, "\n    y[row, 0 +: B] = %s%s%s;", loops ? "q" : "e", gain ? " * g[0 +: B]" : "",
                  random_chance(&w->random, 50) ? " - min(v)" : "");
    if (two)
        buffer_printf(w->out, "\n    s[row] = total + %s(max(v * v));", f);
    else
        buffer_puts(w->out, "\n    s[row] = total;");
    buffer_puts(w->out, "\n}\n\n");
}

void fuzz_generate_text(struct buffer *out, uint64_t seed)
{
    struct writer w = {.random = {seed}, .out = out};
    int functions = random_below(&w.random, MOST_FUNCTIONS), kernels = random_between(&w.random, 1, 2);
    for (int i = 0; i < 4; i++)
        w.palette[i] = numbers[random_below(&w.random, 12)];
    for (int i = 0; i < functions; i++)
        write_function(&w);
    for (int i = 0; i < kernels; i++)
        write_kernel(&w, i);
    if (random_chance(&w.random, 25))
        write_product(&w, 0);
    if (random_chance(&w.random, 20))
        write_rows(&w, 0);
    if (random_chance(&w.random, 40))
        write_packed(&w, 0);
}
