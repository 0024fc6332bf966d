/* Random loops over products, written as text.
 *
 * One loop along the depth adds one or two products of slices of views to what it carries; slices are loaded as they
 * lie, or transposed, or computed upon before they are factors; a product may feed another through registers, and
 * something may be loaded that feeds none.  One in four is of another form, that of attention: what stays is
 * multiplied by what passes, and the product, narrowed, by something else that passes.  One in eight has tiles neither
 * of whose extents is a power of two, of which most are transposed.  Extents divide nothing, rows have gaps.  Behind
 * the loop comes an epilogue of a random length.  One in seven has both in another loop, which carries the row, or in a
 * branch; others have views of three dimensions, or slices that begin in front of their views.  A few have rows of no
 * multiple of 16 bytes, have whole tiles, add to their output by atomics, count by a loop that multiplies, or read the
 * rows of the first factor where a tile says, which no producer can know.  Every number is a small integer and is
 * clamped before it is narrowed, so that all orders of sums give the same bits. */
#include "generate_product.h"

#include <string.h>

enum { LIMIT = 8 };

enum around { AROUND_NOTHING, AROUND_FOR, AROUND_WHILE, AROUND_IF };

struct product_program {
    struct random random;
    enum around around;       /* what loop and epilogue stand in */
    int turns;                /* of a loop around: tiles of rows that a program has */
    bool stacked, falls;      /* matrices lie behind others; products are taken from the sum */
    const char *lead, *place; /* the index of a matrix in its stack, with a comma; where in the depth a slice begins */
    struct buffer *out;
    const char *element; /* of the factors */
    int m, n, k;         /* of the tile */
    int64_t rows, columns, depth;
    bool a_by_columns, b_by_columns, c_is_narrow, biased, summed, two, chained, computed, odd_load, guarded;
    bool counts_down, by_step, narrow_count, free_start; /* counts_down by_step: the variable itself goes back */
    bool has_extra, attention, reduced, rescaled, in_place, read_back, by_while;
    bool wide, branched, has_second, a_turned;
    bool thin, counted, added; /* rows of 8 bytes; a loop that multiplies in the epilogue; c is added to by atomics */
    bool led;                  /* a tile says which rows of a are read */
    bool whole;                /* extents are multiples of the tile's, and known to be of powers of two */
    const char *again;         /* what c is read by: its own name, or that of a view of the same memory */
    int views, c_number;
    int64_t c_pitch;
    bool asked; /* c is written only, and its alignment asked for: rows begin anywhere */
    int c_gap;  /* elements from one of its rows to the next, then */
    int inner;  /* attention: depth of the first product */
    int next;   /* number for names */
};

/* The power of two, 256 at most, that divides an extent; 0: nothing is known. */
static int known_multiple(const struct product_program *p, int64_t extent)
{
    return p->whole && extent > 0 ? (int)int64_min(256, extent & -extent) : 0;
}

static void add_view(struct product_program *p, const char *name, const char *element, int64_t rows, int64_t columns,
                     bool by_columns, const char *direction, struct buffer *head, struct buffer *parameters)
{
    int64_t width = by_columns ? rows : columns, other = by_columns ? columns : rows;
    int chunk = p->thin ? 4 : 8;
    int64_t pitch = ceiling_divide(width, chunk) * chunk + chunk * random_below(&p->random, 2);
    bool is_c = !strcmp(name, "c"), asked = is_c && p->asked, shared = is_c && strcmp(p->again, "c") != 0;
    pitch = asked ? width + p->c_gap : pitch;
    bool stacked = p->stacked && strcmp(name, "e") != 0 && strcmp(name, "r") != 0 && strcmp(name, "t") != 0;
    buffer_puts(head, stacked ? "// view extent 2" : "// view extent");
    buffer_printf(head, " %lld %lld stride", (long long)rows, (long long)columns);
    if (stacked)
        buffer_printf(head, " %lld", (long long)(pitch * other));
    buffer_printf(head, " %lld %lld elements %lld block 1 content 0 fill %d%s\n", (long long)(by_columns ? 1 : pitch),
                  (long long)(by_columns ? pitch : 1), (long long)int64_max(1, pitch * other * (stacked ? 2 : 1)),
                  p->next++, strcmp(direction, "in") != 0 ? " output" : "");
    char multiples[64] = "";
    if (p->whole)
        snprintf(multiples, sizeof multiples, ", extent_multiple(%s%d, %d)", stacked ? "0, " : "",
                 known_multiple(p, rows), known_multiple(p, columns));
    p->views++;
    if (is_c) {
        p->c_number = p->views;
        p->c_pitch = pitch;
    }
    buffer_printf(parameters, "%s%%%s: view<%s, [%s?, ?], [%s%s], %s> {", parameters->size ? ", " : "", name, element,
                  stacked ? "?, " : "", stacked ? "?, " : "", by_columns ? "1, ?" : "?, 1", direction);
    if (asked) {
        buffer_printf(parameters, "asked(16), limit(2147483648)%s, restrict}", multiples);
        return;
    }
    buffer_printf(parameters, "align(16), stride_multiple(%s%s), limit(2147483648)%s%s}",
                  !stacked  ? ""
                  : p->thin ? "4, "
                            : "8, ",
                  by_columns ? p->thin ? "0, 4" : "0, 8"
                  : p->thin  ? "4, 0"
                             : "8, 0",
                  multiples, shared ? "" : ", restrict");
}

/* The memory of c once more, to be read. */
static void add_again(struct product_program *p, const char *element, struct buffer *head, struct buffer *parameters)
{
    buffer_puts(head, p->stacked ? "// view extent 2" : "// view extent");
    buffer_printf(head, " %lld %lld stride", (long long)p->rows, (long long)p->columns);
    if (p->stacked)
        buffer_printf(head, " %lld", (long long)(p->c_pitch * p->rows));
    buffer_printf(head, " %lld 1 elements %lld block 1 content 0 fill 0 alias %d offset 0\n", (long long)p->c_pitch,
                  (long long)int64_max(1, p->c_pitch * p->rows * (p->stacked ? 2 : 1)), p->c_number);
    buffer_printf(parameters,
                  ", %%%s: view<%s, [%s?, ?], [%s?, 1], in> {align(16), stride_multiple(%s8, 0), "
                  "limit(2147483648)}",
                  p->again, element, p->stacked ? "?, " : "", p->stacked ? "?, " : "", p->stacked ? "8, " : "");
}

/* -8 .. 8, whatever it was. */
static void clamp(struct product_program *p, const char *to, const char *from, const char *type)
{
    int n = p->next++;
    buffer_printf(p->out, "%%low%d = constant value(-8.0) : %s\n%%high%d = constant value(8.0) : %s\n", n, type, n,
                  type);
    buffer_printf(p->out, "%%above%d = max %%%s, %%low%d : %s\n%%%s = min %%above%d, %%high%d : %s\n", n, from, n, type,
                  to, n, n, type);
}

/* A factor of rows x columns from the view at these indexes: as it lies, or the transpose of the other order. */
static void factor(struct product_program *p, const char *name, const char *view, const char *row, int rows,
                   const char *column, int columns, bool transposed)
{
    int n = p->next++;
    buffer_printf(p->out, "%%zero%d = constant value(0.0) : %s\n", n, p->element);
    if (transposed) {
        buffer_printf(p->out, "%%flat%d = load %%%s[%s%%%s +: %d, %%%s +: %d], %%zero%d : %s[%d, %d]\n", n, view,
                      p->lead, column, columns, row, rows, n, p->element, columns, rows);
        buffer_printf(p->out, "%%%s = permute permutation(1, 0) %%flat%d : %s[%d, %d]\n", name, n, p->element, rows,
                      columns);
        return;
    }
    buffer_printf(p->out, "%%%s = load %%%s[%s%%%s +: %d, %%%s +: %d], %%zero%d : %s[%d, %d]\n", name, view, p->lead,
                  row, rows, column, columns, n, p->element, rows, columns);
}

static void compute_on(struct product_program *p, const char *to, const char *from, int rows, int columns)
{
    int n = p->next++;
    char type[40];
    snprintf(type, sizeof type, "%s[%d, %d]", p->element, rows, columns);
    if (random_chance(&p->random, 50)) {
        buffer_printf(p->out, "%%%s = neg %%%s : %s\n", to, from, type);
        return;
    }
    buffer_printf(p->out, "%%one%d = constant value(1.0) : %s\n%%more%d = add %%%s, %%one%d : %s\n", n, type, n, from,
                  n, type);
    buffer_printf(p->out, "%%%s = max %%more%d, %%one%d : %s\n", to, n, n, type);
}

/* `while` carries where it is, too. */
static void yield_sum(struct product_program *p, const char *sum)
{
    if (p->by_while)
        buffer_printf(p->out, "%%on = add %%at, %%step : index\nyield %%on, %%%s\n", sum);
    else
        buffer_printf(p->out, "yield %%%s\n", sum);
}

/* Factors of f32 are as tf32 keeps them: small whole numbers. */
static const char *dot_of(const struct product_program *p)
{
    return strcmp(p->element, "f32") ? "dot" : "dot precision(tf32)";
}

/* The body of the loop: what is added to %acc becomes %sum. */
static void body(struct product_program *p)
{
    char type[40], narrow[40];
    snprintf(type, sizeof type, "f32[%d, %d]", p->m, p->n);
    snprintf(narrow, sizeof narrow, "%s[%d, %d]", p->element, p->m, p->n);
    if (strcmp(p->place, "at") != 0) /* in front of the views at first */
        buffer_printf(p->out, "%%by_s = constant value(%d) : index\n%%%s = sub %%at, %%by_s : index\n",
                      4 << random_below(&p->random, 3), p->place);
    factor(p, "x", "a", p->led ? "row_x" : "row", p->m, p->place, p->k, p->a_turned);
    factor(p, "y", "b", p->place, p->k, "column", p->n, false);
    const char *x = "x", *y = "y", *sum = "acc";
    if (p->computed) {
        compute_on(p, "x2", "x", p->m, p->k);
        x = "x2";
        if (random_chance(&p->random, 30)) {
            compute_on(p, "y2", "y", p->k, p->n);
            y = "y2";
        }
    }
    if (p->free_start) {
        buffer_printf(p->out,
                      "%%fresh = constant value(0.0) : %s\n%%p1 = %s %%%s, %%%s, %%fresh : %s\n"
                      "%%s1 = %s %%acc, %%p1 : %s\n",
                      type, dot_of(p), x, y, type, p->falls ? "sub" : "add", type);
    } else {
        buffer_printf(p->out, "%%s1 = %s %%%s, %%%s, %%%s : %s\n", dot_of(p), x, y, sum, type);
    }
    sum = "s1";
    if (p->two) { /* with the transpose of the third view */
        factor(p, "z", "d", p->place, p->k, "column", p->n, true);
        buffer_printf(p->out, "%%s2 = %s %%%s, %%z, %%%s : %s\n", dot_of(p), x, sum, type);
        sum = "s2";
    }
    if (p->chained) { /* what was added, clamped and narrowed, times a square of the third view */
        clamp(p, "small", sum, type);
        buffer_printf(p->out, "%%thin = cast %%small : %s\n", narrow);
        factor(p, "w", "d", "column", p->n, "column", p->n, false);
        buffer_printf(p->out, "%%s3 = dot %%thin, %%w, %%%s : %s\n", sum, type);
        sum = "s3";
    }
    if (p->odd_load) {
        buffer_printf(p->out,
                      "%%none = constant value(0.0) : f32\n"
                      "%%line = load %%e[%%at, %%column +: %d], %%none : f32[%d]\n",
                      p->n, p->n);
        buffer_printf(p->out,
                      "%%lines = reshape %%line : f32[1, %d]\n%%wide = broadcast %%lines : %s\n"
                      "%%s4 = add %%%s, %%wide : %s\n",
                      p->n, type, sum, type);
        sum = "s4";
    }
    if (p->guarded) {
        buffer_printf(p->out,
                      "%%rest = sub %%depth, %%at : index\n%%last = compare predicate(lt) %%rest, %%step : bool\n"
                      "%%s5 = if %%last {\n%%two5 = constant value(2.0) : %s\n"
                      "%%twice = add %%%s, %%two5 : %s\nyield %%twice\n"
                      "} else {\nyield %%%s\n} : %s\n",
                      type, sum, type, sum, type);
        sum = "s5";
    }
    clamp(p, "kept", sum, type);
    yield_sum(p, p->chained ? "kept" : sum);
}

/* %s = x @ trans(y), narrowed, times w, is added to %acc. */
static void attention_body(struct product_program *p)
{
    char scores[40], type[40];
    const char *score = "s", *sum = "acc";
    snprintf(scores, sizeof scores, "f32[%d, %d]", p->m, p->k);
    snprintf(type, sizeof type, "f32[%d, %d]", p->m, p->n);
    factor(p, "y", "b", "nought", p->inner, "at", p->k, true);
    buffer_printf(p->out, "%%fresh = constant value(0.0) : %s\n%%s = dot %%x, %%y, %%fresh : %s\n", scores, scores);
    if (p->reduced) {
        buffer_printf(p->out,
                      "%%peak = reduce axis(1) kind(max) %%s : f32[%d]\n%%peaks = reshape %%peak : f32[%d, 1]\n"
                      "%%wide = broadcast %%peaks : %s\n%%below = sub %%s, %%wide : %s\n",
                      p->m, p->m, scores, scores);
        score = "below";
    }
    clamp(p, "small", score, scores);
    buffer_printf(p->out, "%%thin = cast %%small : %s[%d, %d]\n", p->element, p->m, p->k);
    if (p->rescaled) {
        buffer_printf(p->out, "%%naught = constant value(0.0) : %s\n%%turned = sub %%naught, %%acc : %s\n", type,
                      type); /* never -0 */
        sum = "turned";
    }
    factor(p, "w", "d", "at", p->k, "column", p->n, false);
    buffer_printf(p->out, "%%added = dot %%thin, %%w, %%%s : %s\n", sum, type);
    yield_sum(p, "added");
}

static void loop(struct product_program *p)
{
    if (p->attention)
        factor(p, "x", "a", p->led ? "row_x" : "row", p->m, "nought", p->inner, false);
    if (p->in_place) /* what the output holds is added to */
        buffer_printf(p->out,
                      "%%none_c = constant value(0.0) : f32\n"
                      "%%start = load %%%s[%s%%row +: %d, %%column +: %d], %%none_c : f32[%d, %d]\n",
                      p->again, p->lead, p->m, p->n, p->m, p->n);
    else
        buffer_printf(p->out, "%%start = constant value(%d.0) : f32[%d, %d]\n",
                      random_chance(&p->random, p->falls ? 25 : 70) ? 0 : 3, p->m, p->n);
    if (p->by_while) {
        buffer_printf(p->out,
                      "%%ended, %%total = while %%nought, %%start (%%here: index, %%so_far: f32[%d, %d]) {\n"
                      "%%more = compare predicate(lt) %%here, %%depth : bool\n"
                      "condition %%more, %%here, %%so_far\n"
                      "} do (%%at: index, %%acc: f32[%d, %d]) {\n",
                      p->m, p->n, p->m, p->n);
    } else if (!p->counts_down) {
        buffer_printf(p->out,
                      "%%total = for %%at: index = %%nought to %%depth step %%step "
                      "iter(%%acc: f32[%d, %d] = %%start) {\n",
                      p->m, p->n);
    } else if (p->by_step) {
        const char *type = p->narrow_count ? "i32" : "index";
        buffer_printf(p->out,
                      "%%round = constant value(%d) : index\n%%padded = add %%depth, %%round : index\n"
                      "%%steps = div %%padded, %%step : index\n%%minus = constant value(-1) : index\n"
                      "%%less = add %%steps, %%minus : index\n%%final = mul %%less, %%step : index\n"
                      "%%last_at = cast %%final : %s\n%%below_all = constant value(-1) : %s\n"
                      "%%step_back = constant value(%d) : %s\n"
                      "%%total = for %%%s: %s = %%last_at to %%below_all step %%step_back "
                      "iter(%%acc: f32[%d, %d] = %%start) {\n",
                      p->k - 1, type, type, -p->k, type, p->narrow_count ? "turn" : "at", type, p->m, p->n);
        if (p->narrow_count)
            buffer_puts(p->out, "%at = cast %turn : index\n");
    } else { /* counts steps, and goes through the depth from its end */
        buffer_printf(p->out,
                      "%%round = constant value(%d) : index\n%%padded = add %%depth, %%round : index\n"
                      "%%steps = div %%padded, %%step : index\n%%unit = constant value(1) : index\n"
                      "%%total = for %%turn: index = %%nought to %%steps step %%unit "
                      "iter(%%acc: f32[%d, %d] = %%start) {\n"
                      "%%left = sub %%steps, %%turn : index\n%%before = sub %%left, %%unit : index\n"
                      "%%at = mul %%before, %%step : index\n",
                      p->k - 1, p->m, p->n);
    }
    if (p->attention)
        attention_body(p);
    else
        body(p);
    if (p->by_while)
        buffer_printf(p->out, "} : index, f32[%d, %d]\n", p->m, p->n);
    else
        buffer_puts(p->out, "}\n");
}

/* A bias only where a scalar says so, at times in two branches, one in the other; what both need is made in front. */
static void branched_bias(struct product_program *p, const char *to, const char *from, const char *type)
{
    bool inner = random_chance(&p->random, 40), cheap = random_chance(&p->random, 50);
    buffer_printf(p->out,
                  "%%last_b = constant value(%d) : index\n"
                  "%%asked = compare predicate(lt) %%gn, %%last_b : bool\n"
                  "%%level = splat %%none_z0 : %s\n%%shared_b = %s %%%s, %%level : %s\n%%%s = if %%asked {\n",
                  random_below(&p->random, 3), type, cheap ? "max" : "add", from, type, to);
    buffer_printf(p->out,
                  "%%far = add %%column, %%nought : index\n"
                  "%%line_b = load %%e[%%nought, %%far +: %d], %%none_z0 : f32[%d]\n"
                  "%%lines_b = reshape %%line_b : f32[1, %d]\n%%wide_b = broadcast %%lines_b : %s\n"
                  "%%with_b = add %%shared_b, %%wide_b : %s\n",
                  p->n, p->n, p->n, type, type);
    if (inner)
        buffer_printf(p->out,
                      "%%none_m = constant value(0) : index\n"
                      "%%deeper = compare predicate(gt) %%gm, %%none_m : bool\n%%deep = if %%deeper {\n"
                      "%%again_b = add %%with_b, %%wide_b : %s\n%%lower_b = sub %%again_b, %%%s : %s\n"
                      "yield %%lower_b\n} else {\nyield %%with_b\n} : %s\n",
                      type, from, type, type);
    buffer_printf(p->out, "yield %%%s\n} else {\nyield %%shared_b\n} : %s\n", inner ? "deep" : "with_b", type);
}

/* A second output of the same sum, as f32 or narrowed, from the rounded one at times. */
static void second_output(struct product_program *p, const char *value, const char *type)
{
    clamp(p, "fits_o", value, type);
    buffer_printf(p->out, "%%neg_o = neg %%fits_o : %s\n", type);
    if (p->c_is_narrow)
        buffer_printf(p->out, "store %%o[%s%%row +: %d, %%column +: %d], %%neg_o\n", p->lead, p->m, p->n);
    else
        buffer_printf(p->out,
                      "%%thin_o = cast %%neg_o : %s[%d, %d]\n"
                      "store %%o[%s%%row +: %d, %%column +: %d], %%thin_o\n",
                      p->element, p->m, p->n, p->lead, p->m, p->n);
}

/* How often the depth can be halved, by a loop that multiplies. */
static void count_doublings(struct product_program *p, const char *to, const char *from, const char *type)
{
    buffer_printf(p->out,
                  "%%unit_d = constant value(1) : index\n%%two_d = constant value(%d) : index\n"
                  "%%none_d = constant value(0.0) : f32\n%%one_d = constant value(1.0) : f32\n"
                  "%%doublings = for multiply(1) %%power: index = %%unit_d to %%depth step %%two_d "
                  "iter(%%so_often: f32 = %%none_d) {\n%%once_more = add %%so_often, %%one_d : f32\n"
                  "yield %%once_more\n}\n%%level_d = splat %%doublings : %s\n"
                  "%%%s = add %%%s, %%level_d : %s\n",
                  random_between(&p->random, 2, 3), type, to, from, type);
}

static void epilogue(struct product_program *p)
{
    char type[40];
    const char *value = "total";
    snprintf(type, sizeof type, "f32[%d, %d]", p->m, p->n);
    if (p->counted) {
        count_doublings(p, "doubled_so", value, type);
        value = "doubled_so";
    }
    if (p->biased) {
        buffer_printf(p->out,
                      "%%none_b = constant value(0.0) : f32\n%%first = constant value(0) : index\n"
                      "%%bias = load %%e[%%first, %%column +: %d], %%none_b : f32[%d]\n"
                      "%%biases = reshape %%bias : f32[1, %d]\n"
                      "%%biased = broadcast %%biases : %s\n%%with = add %%%s, %%biased : %s\n",
                      p->n, p->n, p->n, type, value, type);
        value = "with";
    }
    if (p->branched) {
        buffer_puts(p->out, "%none_z0 = constant value(0.0) : f32\n");
        branched_bias(p, "branched", value, type);
        value = "branched";
    }
    if (p->has_second)
        second_output(p, value, type);
    if (p->summed) {
        clamp(p, "bounded", value, type);
        buffer_printf(p->out,
                      "%%sums = reduce axis(1) kind(add) %%bounded : f32[%d]\n"
                      "%%place = grid_index dimension(1) : index\n"
                      "store %%r[%%place, %%row +: %d], %%sums\n",
                      p->m, p->m);
    }
    if (p->c_is_narrow) {
        clamp(p, "fits", value, type);
        buffer_printf(p->out, "%%narrow = cast %%fits : %s[%d, %d]\n", p->element, p->m, p->n);
        value = "narrow";
    }
    if (p->added)
        buffer_printf(p->out, "%%was = atomic action(add) %%c[%s%%row +: %d, %%column +: %d], %%%s : %s\n", p->lead,
                      p->m, p->n, value, type);
    else
        buffer_printf(p->out, "store %%c[%s%%row +: %d, %%column +: %d], %%%s\n", p->lead, p->m, p->n, value);
    if (p->read_back) {
        const char *element = p->c_is_narrow ? p->element : "f32";
        buffer_printf(p->out,
                      "%%none_z = constant value(0.0) : %s\n"
                      "%%back = load %%%s[%s%%row +: %d, %%column +: %d], %%none_z : %s[%d, %d]\n"
                      "%%doubled = add %%back, %%back : %s[%d, %d]\n"
                      "store %%out[%s%%row +: %d, %%column +: %d], %%doubled\n",
                      element, p->again, p->lead, p->m, p->n, element, p->m, p->n, element, p->m, p->n, p->lead, p->m,
                      p->n);
    }
}

/* The tile of rows moves on from turn to turn.  How often a `while` goes round nobody can count. */
static void open_around(struct product_program *p)
{
    if (p->around == AROUND_IF)
        buffer_printf(p->out,
                      "%%behind = constant value(%d) : index\n"
                      "%%is_done = compare predicate(lt) %%gm, %%behind : bool\nif %%is_done {\n",
                      random_between(&p->random, 1, 2));
    if (p->around == AROUND_FOR)
        buffer_printf(p->out,
                      "%%tours = constant value(%d) : index\n%%each = constant value(1) : index\n"
                      "%%behind = for %%tour: index = %%nought to %%tours step %%each "
                      "iter(%%row: index = %%first_row) {\n",
                      p->turns);
    if (p->around == AROUND_WHILE)
        buffer_printf(p->out,
                      "%%tours = constant value(%d) : index\n%%two_a = constant value(2) : index\n"
                      "%%none_left, %%behind = while %%tours, %%first_row (%%left_a: index, %%at_a: index) {\n"
                      "%%go_on = compare predicate(gt) %%left_a, %%nought : bool\n"
                      "condition %%go_on, %%left_a, %%at_a\n} do (%%left_b: index, %%row: index) {\n",
                      (1 << p->turns) - 1);
}

static void close_around(struct product_program *p)
{
    if (p->around == AROUND_IF)
        buffer_puts(p->out, "yield\n} else {\nyield\n}\n");
    else if (p->around != AROUND_NOTHING)
        buffer_printf(p->out, "%%tile_a = constant value(%d) : index\n%%row_a = add %%row, %%tile_a : index\n", p->m);
    if (p->around == AROUND_FOR)
        buffer_puts(p->out, "yield %row_a\n}\n");
    if (p->around == AROUND_WHILE)
        buffer_puts(p->out, "%left_c = div %left_b, %two_a : index\nyield %left_c, %row_a\n} : index, index\n");
}

static void find_rows(struct product_program *p)
{
    buffer_printf(p->out,
                  "%%none_t = constant value(0) : i32\n"
                  "%%tile_t = load %%t[%%nought, %%gm +: 4], %%none_t : i32[4]\n"
                  "%%largest_t = reduce axis(0) kind(max) %%tile_t : i32\n"
                  "%%end_t = constant value(%d) : i32\n%%below_t = min %%largest_t, %%end_t : i32\n"
                  "%%above_t = max %%below_t, %%none_t : i32\n%%row_x = cast %%above_t : index\n",
                  p->m);
}

/* At times next to a multiple of the tile, where ends are met or missed by one. */
static int64_t near_multiple(struct random *random, int64_t extent, int64_t tile)
{
    if (!random_chance(random, 30) || extent < tile)
        return extent;
    return extent / tile * tile + random_between(random, -1, 1);
}

/* Tiles of odd multiples of powers of two, transposed: the first as it is loaded, the second by the third view. */
static void choose_uneven(struct product_program *p)
{
    struct random random = {p->random.state ^ UINT64_C(0x756e6576656e)};
    static const int m[] = {48, 64, 96, 192}, n[] = {24, 48, 48, 96}, k[] = {48, 48, 96, 80};
    if (p->wide || p->attention || !random_chance(&random, 12))
        return;
    p->m = m[random_below(&random, 4)];
    p->n = n[random_below(&random, 4)];
    p->k = k[random_below(&random, 4)];
    p->rows = random_between(&random, 1, p->m + 9);
    p->columns = random_between(&random, 1, p->n + 9);
    p->depth = random_between(&random, 1, 2 * p->k);
    p->a_turned = random_chance(&random, 50);
    p->two = !p->a_turned || random_chance(&random, 50);
    p->chained = false;
}

/* Views of three dimensions, slices that begin in front of their views, sums that products are taken from.  Some loops
 * do nothing beside: of those passes make the most. */
static void choose_places(struct product_program *p)
{
    struct random random = {p->random.state ^ UINT64_C(0x706c61636573)};
    bool bare = random_chance(&random, 30) && !p->wide && !p->attention;
    p->stacked = random_chance(&random, 12);
    p->lead = p->stacked ? "%lead, " : "";
    p->place = random_chance(&random, bare ? 50 : 8) && !p->attention ? "in_front" : "at";
    p->falls = random_chance(&random, bare ? 40 : 8);
    p->free_start |= p->falls;
    if (!bare)
        return;
    p->two = p->chained = p->computed = p->odd_load = p->guarded = p->in_place = p->by_while = false;
    p->free_start = p->falls;
    p->depth = random_between(&random, 2 * p->k, 7 * p->k);
}

static void choose_around(struct product_program *p)
{
    struct random random = {p->random.state ^ UINT64_C(0x61726f756e64)};
    p->turns = 1;
    if (!random_chance(&random, 15))
        return;
    p->around = (enum around)random_between(&random, AROUND_FOR, AROUND_IF);
    if (p->around != AROUND_IF)
        p->turns = random_between(&random, 1, 3);
}

static void choose_rare(struct product_program *p)
{
    struct random random = {p->random.state ^ UINT64_C(0x72617265)};
    p->thin = random_chance(&random, 8) && !p->stacked && !strcmp(p->again, "c");
    p->counted = random_chance(&random, 8);
    p->added = random_chance(&random, 10) && !p->in_place && !p->read_back;
    p->c_is_narrow &= !p->added;
    p->led = random_chance(&random, 8);
    p->whole = random_chance(&random, 12);
    if (p->whole) {
        p->rows = ceiling_divide(p->rows, p->m * p->turns) * p->m * p->turns;
        p->columns = ceiling_divide(p->columns, p->n) * p->n;
        p->depth = ceiling_divide(p->depth, p->k) * p->k;
    }
}

/* Factors of f32, rounded to tf32: mostly with k contiguous, as wgmma reads them. */
static void choose_element(struct product_program *p)
{
    struct random random = {p->random.state ^ UINT64_C(0x74663332)};
    if (p->attention || p->chained || !random_chance(&random, 12))
        return;
    p->element = "f32";
    p->c_is_narrow = p->has_second = false;
    p->b_by_columns = random_chance(&random, 70);
    p->a_by_columns = random_chance(&random, 40);
}

static void choose(struct product_program *p, uint64_t seed)
{
    struct random *random = &p->random;
    static const int m[] = {64, 64, 128, 32, 16}, n[] = {16, 32, 64, 24, 8}, k[] = {16, 32, 64, 32, 16};
    p->element = random_chance(random, 50) ? "bf16" : "f16";
    p->m = m[random_below(random, 5)];
    p->n = n[random_below(random, 5)];
    p->k = k[random_below(random, 5)];
    p->rows = near_multiple(random, random_between(random, 1, 2 * p->m + 9), p->m);
    p->columns = near_multiple(random, random_between(random, 1, 2 * p->n + 5), p->n);
    p->depth = random_chance(random, 10) ? 0 : random_between(random, 1, (random_chance(random, 30) ? 10 : 5) * p->k);
    p->depth = near_multiple(random, p->depth, p->k);
    p->a_by_columns = random_chance(random, 20);
    p->b_by_columns = random_chance(random, 30);
    p->c_is_narrow = random_chance(random, 60);
    p->biased = random_chance(random, 40);
    p->summed = random_chance(random, 20);
    p->two = random_chance(random, 25);
    p->chained = !p->two && random_chance(random, 25);
    p->computed = random_chance(random, 20);
    p->odd_load = random_chance(random, 15);
    p->guarded = random_chance(random, 15);
    p->counts_down = random_chance(random, 20);
    p->by_step = p->counts_down && random_chance(random, 60);
    p->narrow_count = p->by_step && random_chance(random, 50);
    p->free_start = random_chance(random, 20);
    p->attention = random_chance(random, 25);
    p->reduced = random_chance(random, 50);
    p->rescaled = random_chance(random, 40);
    p->in_place = !p->c_is_narrow && random_chance(random, 40);
    p->read_back = random_chance(random, 10);
    p->again = (p->in_place || p->read_back) && random_chance(random, 40) ? "c2" : "c";
    p->by_while = !p->counts_down && random_chance(random, 12);
    p->inner = 16 << random_below(random, 3);
    if (p->attention) {
        p->two = p->chained = p->a_by_columns = p->b_by_columns = p->counts_down = false;
        p->m = p->m < 64 && random_chance(random, 80) ? 64 : p->m;
    }
    p->branched = random_chance(random, 30);
    p->has_second = random_chance(random, 20);
    p->wide = random_chance(random, 10);
    if (p->wide) { /* outputs of several panels; little depth, so that they are interpreted soon */
        p->m = random_chance(random, 70) ? 64 : 128;
        p->n = random_chance(random, 70) ? 128 : 256;
        p->k = 16;
        p->rows = random_between(random, 1, p->m + 9);
        p->columns = random_between(random, p->n / 2, p->n + 9);
        p->depth = random_between(random, 1, 40);
        p->chained = p->attention = false;
    }
    choose_uneven(p);
    choose_around(p);
    choose_places(p);
    choose_rare(p);
    choose_element(p);
    p->has_extra = p->biased || p->odd_load || p->branched;
    p->asked = seed % 3 == 0 && !p->in_place && !p->read_back && !p->added;
    p->c_gap = (int)(seed / 3 % 9);
}

static void generate(struct buffer *out, uint64_t seed, int multiple)
{
    struct product_program program = {.random = {seed}, .out = out}, *p = &program;
    struct buffer parameters = {0};
    choose(p, seed);
    p->columns = ceiling_divide(p->columns, multiple) * multiple;
    int64_t across = ceiling_divide(p->rows, p->m * p->turns), down = ceiling_divide(p->columns, p->n);
    buffer_printf(out, "// seed %llu\n// grid %lld %lld\n", (unsigned long long)seed, (long long)across,
                  (long long)down);
    int64_t along_a = p->attention ? p->inner : p->depth;
    add_view(p, "a", p->element, p->a_turned ? along_a : p->rows, p->a_turned ? p->rows : along_a, p->a_by_columns,
             "in", out, &parameters);
    add_view(p, "b", p->element, p->depth, p->attention ? p->inner : p->columns, p->b_by_columns, "in", out,
             &parameters);
    if (p->attention)
        add_view(p, "d", p->element, p->depth, p->columns, false, "in", out, &parameters);
    if (p->two)
        add_view(p, "d", p->element, p->columns, p->depth, random_chance(&p->random, 50), "in", out, &parameters);
    if (p->chained)
        add_view(p, "d", p->element, p->columns, p->columns, false, "in", out, &parameters);
    if (p->has_extra)
        add_view(p, "e", "f32", int64_max(1, p->depth), p->columns, false, "in", out, &parameters);
    if (p->led)
        add_view(p, "t", "i32", 1, across + 3, false, "in", out, &parameters);
    if (p->summed)
        add_view(p, "r", "f32", down, p->rows, false, "inout", out, &parameters);
    add_view(p, "c", p->c_is_narrow ? p->element : "f32", p->rows, p->columns, false, p->asked ? "out" : "inout", out,
             &parameters);
    if (!strcmp(p->again, "c2"))
        add_again(p, p->c_is_narrow ? p->element : "f32", out, &parameters);
    if (p->has_second)
        add_view(p, "o", p->c_is_narrow ? "f32" : p->element, p->rows, p->columns, false, "inout", out, &parameters);
    if (p->read_back)
        add_view(p, "out", p->c_is_narrow ? p->element : "f32", p->rows, p->columns, false, "inout", out, &parameters);
    static const int warps[] = {0, 0, 4, 4, 8};
    int count = warps[random_below(&p->random, 5)], stages = random_below(&p->random, 5);
    buffer_printf(out, "kernel @fuzz(%s) grid(2) level(value)", parameters.data);
    if (count)
        buffer_printf(out, " warps(%d)", count);
    if (stages > 1)
        buffer_printf(out, " stages(%d)", stages);
    if (random_chance(&p->random, 60))
        buffer_puts(out, " persistent(-1)");
    if (random_chance(&p->random, p->added ? 60 : 30))
        buffer_printf(out, " cluster(%d)", random_chance(&p->random, 25) ? 4 : 2);
    buffer_printf(out,
                  " {\n%%nought = constant value(0) : index\n%%step = constant value(%d) : index\n"
                  "%%height = constant value(%d) : index\n"
                  "%%width = constant value(%d) : index\n%%gm = grid_index dimension(0) : index\n"
                  "%%gn = grid_index dimension(1) : index\n"
                  "%%%s = mul %%gm, %%height : index\n%%column = mul %%gn, %%width : index\n"
                  "%%depth = extent dimension(%d) %%%s : index\n%%lead = constant value(1) : index\n",
                  p->k, p->m * p->turns, p->n,
                  p->around == AROUND_FOR || p->around == AROUND_WHILE ? "first_row" : "row",
                  (p->attention || p->a_turned ? 0 : 1) + p->stacked, p->attention ? "b" : "a");
    if (p->led)
        find_rows(p);
    open_around(p);
    loop(p);
    epilogue(p);
    close_around(p);
    buffer_puts(out, "return\n}\n");
    buffer_free(&parameters);
}

void fuzz_generate_product(struct buffer *out, uint64_t seed) { generate(out, seed, 1); }

void fuzz_generate_bulk_product(struct buffer *out, uint64_t seed) { generate(out, seed, seed % 10 ? 8 : 1); }
