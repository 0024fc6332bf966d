/* Random programs of a few variables that are assigned again and again, written as text in the form that the front end
 * gives them: what an `if` or a loop assigns comes out of it as a result, and what one arm leaves alone it hands on.
 *
 * Of the other random programs every value may still be read at the end; here most die at the next assignment, so that
 * whoever keeps tiles in places that are used again (buffers, shared memory, registers) meets every way in which values
 * change places: swaps and rotations at the ends of arms and iterations, one tile handed on as two results, arms that
 * are empty, loops that do not run, conditions that hand on their values in another order, loads of what was stored.
 * Functions on elements have long arms and short ones, which few elements take or all. */
#include "generate_variables.h"

#include <string.h>

enum {
    MOST_VARIABLES = 8,
    MOST_DEPTH = 3,
    SCALARS = 2 /* i32, behind the tiles */,
    FIRST_KEPT = 4,
    ROWS = FIRST_KEPT + MOST_VARIABLES
};
struct variables {
    int name[MOST_VARIABLES];
}; /* which value each holds: %v of this number */
struct variables_program {
    struct random random;
    struct buffer *out;
    const char *element[2];   /* of tiles */
    int kind[MOST_VARIABLES]; /* which element; -1: a scalar */
    int tiles, next, rank, extent, depth;
    char shape[24], line[24]; /* of tiles, and of tiles without their last dimension */
    struct variables now;
};

static bool chance(struct variables_program *p, int percent) { return random_chance(&p->random, percent); }
static int below(struct variables_program *p, int limit) { return random_below(&p->random, limit); }

static bool is_float(const struct variables_program *p, int kind) { return kind >= 0 && p->element[kind][0] == 'f'; }

static const char *type_of(const struct variables_program *p, int variable, char text[32])
{
    if (p->kind[variable] < 0)
        strcpy(text, "i32");
    else
        snprintf(text, 32, "%s%s", p->element[p->kind[variable]], p->shape);
    return text;
}

/* Another variable that may hold what this one holds; itself where there is none. */
static int fellow(struct variables_program *p, int variable)
{
    for (int tries = 0; tries < 12; tries++) {
        int other = below(p, p->tiles + SCALARS);
        if (other != variable && p->kind[other] == p->kind[variable])
            return other;
    }
    return variable;
}

/* ---- what one variable becomes ---- */

static void binary(struct variables_program *p, int to)
{
    static const char *const integers[] = {"add", "sub", "xor", "min", "max", "mul"}, *const reals[] = {"min", "max"};
    char type[32];
    const char *word = is_float(p, p->kind[to]) ? reals[below(p, 2)] : integers[below(p, 6)];
    int a = fellow(p, to), made = p->next++;
    bool plain = chance(p, 50), natural = p->kind[to] >= 0 && p->element[p->kind[to]][0] == 'u';
    if (plain)
        buffer_printf(p->out, "%%c%d = constant value(%d%s) : %s\n", made, below(p, 7) - (natural ? 0 : 3),
                      is_float(p, p->kind[to]) ? ".0" : "", type_of(p, to, type));
    buffer_printf(p->out, "%%v%d = %s %%v%d, %%%c%d : %s\n", made, word, p->now.name[plain && chance(p, 50) ? a : to],
                  plain ? 'c' : 'v', plain ? made : p->now.name[a], type_of(p, to, type));
    p->now.name[to] = made;
}

/* A sum or a largest one of all, spread over a tile or kept as a scalar. */
static void reduce(struct variables_program *p, int to)
{
    int from = below(p, p->tiles), n = p->next++;
    const char *element = p->element[p->kind[from]];
    const char *kind = chance(p, 50) && !is_float(p, p->kind[from]) ? "add" : "max";
    if (p->rank == 2)
        buffer_printf(p->out, "%%r%d = reduce axis(1) kind(%s) %%v%d : %s%s\n", n, kind, p->now.name[from], element,
                      p->line);
    buffer_printf(p->out, "%%v%d = reduce axis(0) kind(%s) %%%c%d : %s\n", n, kind, p->rank == 2 ? 'r' : 'v',
                  p->rank == 2 ? n : p->now.name[from], element);
    const char *wanted = p->kind[to] < 0 ? "i32" : p->element[p->kind[to]];
    int number = n;
    if (strcmp(wanted, element)) {
        number = p->next++;
        buffer_printf(p->out, "%%v%d = cast %%v%d : %s\n", number, n, wanted);
    }
    p->now.name[to] = number;
    if (p->kind[to] >= 0) {
        p->now.name[to] = p->next++;
        buffer_printf(p->out, "%%v%d = splat %%v%d : %s%s\n", p->now.name[to], number, wanted, p->shape);
    }
}

/* Each element from another place: rows for columns. */
static void move_elements(struct variables_program *p, int to)
{
    int from = p->now.name[fellow(p, to)], made = p->next++;
    const char *element = p->element[p->kind[to]];
    char type[32];
    type_of(p, to, type);
    if (p->rank == 2) {
        buffer_printf(p->out, "%%v%d = permute permutation(1, 0) %%v%d : %s\n", made, from, type);
    } else {
        int part = 2 << below(p, 2), rest = p->extent / part;
        buffer_printf(p->out,
                      "%%s%d = reshape %%v%d : %s[%d, %d]\n"
                      "%%t%d = permute permutation(1, 0) %%s%d : %s[%d, %d]\n%%v%d = reshape %%t%d : %s\n",
                      made, from, element, part, rest, made, made, element, rest, part, made, made, type);
    }
    p->now.name[to] = made;
}

/* ---- functions on elements ---- */

enum { MOST_SCALARS = 24 };
struct scalars {
    int value[MOST_SCALARS], count;
}; /* of one element: %v of these numbers */

static int any_scalar(struct variables_program *p, const struct scalars *known)
{
    int a = below(p, known->count), b = below(p, known->count);
    return known->value[a > b ? a : b]; /* long chains */
}

static void know_scalar(struct scalars *known, int number)
{
    known->value[known->count < MOST_SCALARS ? known->count++ : number % MOST_SCALARS] = number;
}

static void compute_scalar(struct variables_program *p, const char *element, struct scalars *known)
{
    static const char *const integers[] = {"add", "sub", "xor", "min", "max", "mul"};
    static const char *const reals[] = {"min", "max", "add", "sub"};
    const char *word = element[0] == 'f' ? reals[below(p, 4)] : integers[below(p, 6)];
    buffer_printf(p->out, "%%v%d = %s %%v%d, %%v%d : %s\n", p->next, word, any_scalar(p, known), any_scalar(p, known),
                  element);
    know_scalar(known, p->next++);
}

/* Short and long arms: who jumps over a long one that no element takes must not jump over another. */
static void element_code(struct variables_program *p, const char *element, struct scalars *known, int depth)
{
    static const char *const predicates[] = {"lt", "le", "gt", "eq", "ne"};
    for (int i = chance(p, 40) ? random_between(&p->random, 12, 18) : random_between(&p->random, 1, 4); i > 0; i--) {
        if (depth >= 2 || !chance(p, 25)) {
            compute_scalar(p, element, known);
            continue;
        }
        int n = p->next++, results = 1 + chance(p, 40), first = p->next, limit = below(p, 6);
        p->next += results;
        buffer_printf(p->out, "%%l%d = constant value(%d%s) : %s\n%%b%d = compare predicate(%s) %%v%d, %%l%d : bool\n",
                      n, limit, element[0] == 'f' ? ".0" : "", element, n, predicates[below(p, 5)],
                      any_scalar(p, known), n);
        buffer_printf(p->out, "%%v%d", first);
        if (results > 1)
            buffer_printf(p->out, ", %%v%d", first + 1);
        buffer_printf(p->out, " = if %%b%d {\n", n);
        for (int arm = 0; arm < 2; arm++) {
            struct scalars inside = *known;
            if (!arm || chance(p, 85))
                element_code(p, element, &inside, depth + 1);
            buffer_printf(p->out, "yield %%v%d", any_scalar(p, &inside));
            if (results > 1)
                buffer_printf(p->out, ", %%v%d", any_scalar(p, &inside));
            buffer_puts(p->out, arm ? "\n} : " : "\n} else {\n");
        }
        buffer_printf(p->out, "%s%s%s\n", element, results > 1 ? ", " : "", results > 1 ? element : "");
        for (int r = 0; r < results; r++)
            know_scalar(known, first + r);
    }
}

static void map_elements(struct variables_program *p, int to)
{
    const char *element = p->element[p->kind[to]];
    int other = fellow(p, to), made = p->next;
    struct scalars known = {{made + 1, made + 2}, 2};
    char type[32];
    p->next += 3;
    buffer_printf(p->out, "%%v%d = map %%v%d, %%v%d (%%v%d: %s, %%v%d: %s) {\n", made, p->now.name[to],
                  p->now.name[other], made + 1, element, made + 2, element);
    element_code(p, element, &known, 0);
    buffer_printf(p->out, "yield %%v%d\n} : %s\n", any_scalar(p, &known), type_of(p, to, type));
    p->now.name[to] = made;
}

static void convert(struct variables_program *p, int to)
{
    char type[32];
    for (int from = 0; from < p->tiles; from++)
        if (p->kind[from] != p->kind[to]) {
            buffer_printf(p->out, "%%v%d = cast %%v%d : %s\n", p->next, p->now.name[from], type_of(p, to, type));
            p->now.name[to] = p->next++;
            return;
        }
}

/* Of a view that is read, or of the one that stores go to. */
static void place(struct variables_program *p, int kind, int row, char *text, size_t size)
{
    char beside[40] = "";
    if (p->rank == 2)
        snprintf(beside, sizeof beside, "%%nought +: %d, ", p->extent);
    snprintf(text, size, "%%x%d[%%row%d, %s%%nought +: %d]", kind, row, beside, p->extent);
}

static void load(struct variables_program *p, int to, int row)
{
    char at[120], type[32];
    place(p, p->kind[to], row, at, sizeof at);
    buffer_printf(p->out, "%%v%d = load %s, %%none%d : %s\n", p->next, at, p->kind[to], type_of(p, to, type));
    p->now.name[to] = p->next++;
}

static void store(struct variables_program *p, int from)
{
    char at[120];
    place(p, p->kind[from], below(p, FIRST_KEPT), at, sizeof at);
    buffer_printf(p->out, "store %s, %%v%d\n", at, p->now.name[from]);
}

static void trade(struct variables_program *p, int a)
{
    int b = fellow(p, a), c = fellow(p, b), kept = p->now.name[a];
    if (chance(p, 50)) { /* one tile twice */
        p->now.name[a] = p->now.name[b];
        return;
    }
    p->now.name[a] = p->now.name[b];
    p->now.name[b] = kept;
    if (c != a && chance(p, 30)) {
        p->now.name[b] = p->now.name[c];
        p->now.name[c] = kept;
    }
}

/* ---- control flow ---- */

static void statements(struct variables_program *p, int count);

/* A bit of a number, or a comparison with a small one. */
static int condition(struct variables_program *p)
{
    static const char *const predicates[] = {"lt", "gt", "ne"};
    int n = p->next++, scalar = p->now.name[p->tiles + below(p, SCALARS)];
    bool bit = chance(p, 60);
    if (bit)
        buffer_printf(p->out, "%%j%d = constant value(%d) : i32\n%%q%d = and %%v%d, %%j%d : i32\n", n, 1 << below(p, 3),
                      n, scalar, n);
    buffer_printf(p->out, "%%k%d = constant value(%d) : i32\n%%b%d = compare predicate(%s) %%%c%d, %%k%d : bool\n", n,
                  bit ? 0 : below(p, 9) - 4, n, predicates[bit ? 2 : below(p, 3)], bit ? 'q' : 'v', bit ? n : scalar,
                  n);
    return n;
}

static void put_names(struct variables_program *p, const int *list, int count, const struct variables *names,
                      bool typed)
{
    char type[32];
    for (int i = 0; i < count; i++)
        buffer_printf(p->out, "%s%%v%d%s%s", i ? ", " : "", names->name[list[i]], typed ? ": " : "",
                      typed ? type_of(p, list[i], type) : "");
}

static void put_types(struct variables_program *p, const int *list, int count)
{
    char type[32];
    for (int i = 0; i < count; i++)
        buffer_printf(p->out, "%s%s", i ? ", " : "", type_of(p, list[i], type));
}

/* New names for these variables. */
static struct variables renamed(struct variables_program *p, const int *list, int count)
{
    struct variables names = p->now;
    for (int i = 0; i < count; i++)
        names.name[list[i]] = p->next++;
    return names;
}

/* Variables that come out: those given, and some others.  In any order: which is first matters to who copies them. */
static int choose_results(struct variables_program *p, const bool *assigned, int *list)
{
    int count = 0;
    for (int v = 0; v < p->tiles + SCALARS; v++)
        if ((assigned && assigned[v]) || (!assigned ? chance(p, 60) : chance(p, 10)))
            list[count++] = v;
    for (int i = count - 1; i > 0; i--) {
        int other = below(p, i + 1), kept = list[i];
        list[i] = list[other];
        list[other] = kept;
    }
    return count;
}

static void branch(struct variables_program *p)
{
    struct variables before = p->now, end[2];
    struct buffer *out = p->out, text[2] = {{0}, {0}};
    bool assigned[MOST_VARIABLES] = {false};
    int list[MOST_VARIABLES], asked = condition(p);
    for (int arm = 0; arm < 2; arm++) {
        p->out = &text[arm];
        p->now = before;
        statements(p, arm && chance(p, 50) ? 0 : random_between(&p->random, 1, 3));
        for (int i = below(p, 3); i > 0; i--)
            trade(p, below(p, p->tiles));
        end[arm] = p->now;
        for (int v = 0; v < p->tiles + SCALARS; v++)
            assigned[v] |= end[arm].name[v] != before.name[v];
    }
    p->out = out;
    p->now = before;
    int count = choose_results(p, assigned, list);
    struct variables results = renamed(p, list, count);
    bool turned = chance(p, 50);
    if (count) {
        put_names(p, list, count, &results, false);
        buffer_puts(out, " = ");
    }
    buffer_printf(out, "if %%b%d {\n", asked);
    for (int arm = 0; arm < 2; arm++) {
        buffer_append(out, text[arm != turned].data ? text[arm != turned].data : "", text[arm != turned].size);
        buffer_puts(out, count ? "yield " : "yield");
        put_names(p, list, count, &end[arm != turned], false);
        buffer_puts(out, arm ? "\n}" : "\n} else {\n");
        buffer_free(&text[arm != turned]);
    }
    buffer_puts(out, count ? " : " : "");
    put_types(p, list, count);
    buffer_puts(out, "\n");
    p->now = results;
}

static void counted_loop(struct variables_program *p)
{
    int list[MOST_VARIABLES], n = p->next++;
    int count = choose_results(p, NULL, list);
    struct variables before = p->now, inside = renamed(p, list, count), results = renamed(p, list, count);
    char type[32];
    buffer_printf(p->out, "%%e%d = constant value(%d) : index\n", n, below(p, 4));
    if (count) {
        put_names(p, list, count, &results, false);
        buffer_puts(p->out, " = ");
    }
    buffer_printf(p->out, "for %%i%d: index = %%nought to %%e%d step %%one", n, n);
    for (int i = 0; i < count; i++)
        buffer_printf(p->out, "%s%%v%d: %s = %%v%d", i ? ", " : " iter(", inside.name[list[i]],
                      type_of(p, list[i], type), before.name[list[i]]);
    buffer_puts(p->out, count ? ") {\n" : " {\n");
    p->now = inside;
    statements(p, random_between(&p->random, 1, 3));
    for (int i = below(p, 3); i > 0; i--)
        trade(p, below(p, p->tiles));
    buffer_puts(p->out, count ? "yield " : "yield");
    put_names(p, list, count, &p->now, false);
    buffer_puts(p->out, "\n}\n");
    p->now = results;
}

/* The count comes first; what the condition hands on may be in another order than it came. */
static void open_loop(struct variables_program *p)
{
    int list[MOST_VARIABLES], n = p->next++;
    int count = choose_results(p, NULL, list);
    struct variables before = p->now, asked = renamed(p, list, count), inside = renamed(p, list, count),
                     results = renamed(p, list, count);
    const char *more = count ? ", " : "";
    buffer_printf(p->out, "%%h%d = constant value(%d) : i32\n%%last%d%s", n, below(p, 4), n, more);
    put_names(p, list, count, &results, false);
    buffer_printf(p->out, " = while %%h%d%s", n, more);
    put_names(p, list, count, &before, false);
    buffer_printf(p->out, " (%%n%d: i32%s", n, more);
    put_names(p, list, count, &asked, true);
    p->now = asked;
    for (int i = chance(p, 40); i > 0 && count; i--)
        trade(p, list[below(p, count)]);
    buffer_printf(p->out, ") {\n%%g%d = compare predicate(gt) %%n%d, %%zero : bool\ncondition %%g%d, %%n%d%s", n, n, n,
                  n, more);
    put_names(p, list, count, &p->now, false);
    buffer_printf(p->out, "\n} do (%%m%d: i32%s", n, more);
    put_names(p, list, count, &inside, true);
    buffer_puts(p->out, ") {\n");
    p->now = inside;
    statements(p, random_between(&p->random, 1, 3));
    for (int i = below(p, 3); i > 0; i--)
        trade(p, below(p, p->tiles));
    buffer_printf(p->out, "%%less%d = sub %%m%d, %%unit : i32\nyield %%less%d%s", n, n, n, more);
    put_names(p, list, count, &p->now, false);
    buffer_printf(p->out, "\n} : i32%s", more);
    put_types(p, list, count);
    buffer_puts(p->out, "\n");
    p->now = results;
}

static void statements(struct variables_program *p, int count)
{
    p->depth++;
    for (int i = 0; i < count; i++) {
        int to = below(p, p->tiles), dice = below(p, 100);
        if (dice < 6)
            map_elements(p, to);
        else if (dice < 22)
            binary(p, to);
        else if (dice < 36)
            trade(p, to);
        else if (dice < 44)
            move_elements(p, to);
        else if (dice < 50)
            reduce(p, chance(p, 50) ? to : p->tiles + below(p, SCALARS));
        else if (dice < 54)
            convert(p, to);
        else if (dice < 60)
            load(p, to, below(p, FIRST_KEPT));
        else if (dice < 64)
            store(p, to);
        else if (dice < 68 || p->depth > MOST_DEPTH)
            binary(p, p->tiles + below(p, SCALARS));
        else if (dice < 88)
            branch(p);
        else if (dice < 95)
            counted_loop(p);
        else
            open_loop(p);
    }
    p->depth--;
}

/* ---- the whole ---- */

static void add_view(struct variables_program *p, int number, struct buffer *parameters)
{
    char extents[80], strides[80], types[40];
    int64_t row = p->extent, all = p->rank == 2 ? row * row : row;
    if (p->rank == 2) {
        snprintf(extents, sizeof extents, "%d %d %d", ROWS, p->extent, p->extent);
        snprintf(strides, sizeof strides, "%lld %lld 1", (long long)all, (long long)row);
        snprintf(types, sizeof types, "[?, ?, ?], [?, ?, 1]");
    } else {
        snprintf(extents, sizeof extents, "%d %d", ROWS, p->extent);
        snprintf(strides, sizeof strides, "%lld 1", (long long)all);
        snprintf(types, sizeof types, "[?, ?], [?, 1]");
    }
    buffer_printf(p->out, "// view extent %s stride %s elements %lld block %d content 0 fill %d output\n", extents,
                  strides, (long long)(ROWS * all), ROWS, 3 + number);
    buffer_printf(parameters, "%s%%x%d: view<%s, %s, inout> {align(16), stride_multiple(4, 0), limit(2147483648)}",
                  number ? ", " : "", number, p->element[number], types);
}

static void choose(struct variables_program *p)
{
    static const char *const elements[] = {"i32", "f32", "i64", "i16", "u8", "f64"};
    static const int long_rows[] = {4, 8, 16, 32, 64, 256}, squares[] = {2, 4, 8, 16};
    p->rank = chance(p, 30) ? 2 : 1;
    p->extent = p->rank == 2 ? squares[below(p, 4)] : long_rows[below(p, 6)];
    snprintf(p->shape, sizeof p->shape, p->rank == 2 ? "[%d, %d]" : "[%d]", p->extent, p->extent);
    snprintf(p->line, sizeof p->line, "[%d]", p->extent);
    p->element[0] = elements[below(p, 6)];
    do
        p->element[1] = elements[below(p, 6)];
    while (p->element[1] == p->element[0]);
    p->tiles = random_between(&p->random, 3, MOST_VARIABLES - SCALARS);
    for (int v = 0; v < p->tiles + SCALARS; v++)
        p->kind[v] = v >= p->tiles ? -1 : v > 1 && chance(p, 35);
}

/* What a variable holds at the end goes to a row of its own. */
static void keep(struct variables_program *p, int v)
{
    int kind = p->kind[v] < 0 ? 0 : p->kind[v], value = p->now.name[v];
    if (p->kind[v] < 0) {
        bool same = !strcmp(p->element[0], "i32");
        int n = p->next;
        p->next += 2;
        if (!same)
            buffer_printf(p->out, "%%v%d = cast %%v%d : %s\n", n, value, p->element[0]);
        buffer_printf(p->out, "%%v%d = splat %%v%d : %s%s\n", n + 1, same ? value : n, p->element[0], p->shape);
        value = n + 1;
    }
    buffer_printf(p->out, "store %%x%d[%%row%d, ", kind, FIRST_KEPT + v);
    if (p->rank == 2)
        buffer_printf(p->out, "%%nought +: %d, ", p->extent);
    buffer_printf(p->out, "%%nought +: %d], %%v%d\n", p->extent, value);
}

void fuzz_generate_variables(struct buffer *out, uint64_t seed)
{
    struct variables_program program = {.random = {seed}, .out = out}, *p = &program;
    struct buffer parameters = {0};
    choose(p);
    buffer_printf(out, "// seed %llu\n// grid 1\n", (unsigned long long)seed);
    for (int i = 0; i < 2; i++)
        add_view(p, i, &parameters);
    buffer_printf(out, "kernel @fuzz(%s) grid(1) warps(%d) {\n", parameters.data, 1 << below(p, 3));
    buffer_puts(out, "%nought = constant value(0) : index\n%one = constant value(1) : index\n"
                     "%zero = constant value(0) : i32\n%unit = constant value(1) : i32\n");
    for (int i = 0; i < ROWS; i++)
        buffer_printf(out, "%%row%d = constant value(%d) : index\n", i, i);
    for (int i = 0; i < 2; i++)
        buffer_printf(out, "%%none%d = constant value(0%s) : %s\n", i, is_float(p, i) ? ".0" : "", p->element[i]);
    for (int v = 0; v < p->tiles; v++)
        load(p, v, v);
    for (int v = p->tiles; v < p->tiles + SCALARS; v++)
        reduce(p, v);
    statements(p, random_between(&p->random, 4, 10));
    for (int v = 0; v < p->tiles + SCALARS; v++)
        keep(p, v);
    buffer_puts(out, "return\n}\n");
    buffer_free(&parameters);
}
