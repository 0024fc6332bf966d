/* What moves elements along an axis, sorts, counts and scans, in random sources whose meaning is known (meaning.h): made,
 * printed and computed, each from the rules of man/tile-library.7. */
#include "meaning_make.h"
#include "meaning_run.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 32 /* numbers of four bits that share a scale */ };

static int below(struct maker *k, int limit) { return random_below(k->random, limit); }
static bool chance(struct maker *k, int percent) { return random_chance(k->random, percent); }

/* ---- made ---- */

static struct meaning_node *node_of(struct maker *k, enum meaning_kind kind, enum ir_element element,
                                    struct meaning_shape shape, struct meaning_node *a, struct meaning_node *b)
{
    struct meaning_node *node = meaning_make_node(k, kind, element, shape, a, b, NULL);
    node->constant = false;
    return node;
}

static enum ir_element any_integer_element(struct maker *k)
{
    enum ir_element element = meaning_make_element(k);
    return ir_is_float(element) ? IR_I32 : element;
}

static struct meaning_node *flip_or_cat(struct maker *k, enum ir_element element, struct meaning_shape shape, int depth)
{
    struct meaning_shape a = shape, b = shape;
    int axis = below(k, shape.rank), extent = shape.extent[axis];
    bool flips = extent < 2 || chance(k, 50);
    a.extent[axis] = flips ? extent : random_between(k->random, 1, extent - 1);
    b.extent[axis] = extent - a.extent[axis];
    struct meaning_node *left = meaning_make_expression(k, element, a, depth + 1);
    struct meaning_node *right = flips ? NULL : meaning_make_expression(k, element, b, depth + 1);
    struct meaning_node *node = node_of(k, flips ? MEANING_FLIP : MEANING_CAT, element, shape, left, right);
    node->axis = axis;
    return node;
}

/* Mostly an index that names an element. */
static struct meaning_node *gather(struct maker *k, enum ir_element element, struct meaning_shape shape, int depth)
{
    struct meaning_shape from = shape;
    int axis = below(k, shape.rank);
    enum ir_element of_index = any_integer_element(k);
    from.extent[axis] = random_between(k->random, 1, 5);
    if (meaning_elements(from) > MEANING_ELEMENTS)
        return NULL;
    struct meaning_node *index = meaning_make_expression(k, of_index, shape, depth + 1);
    if (chance(k, 80)) {
        struct meaning_node *most = meaning_make_number(k, from.extent[axis] + 1);
        most->element = of_index;
        most->bare = false;
        index = meaning_make_node(k, MEANING_BINARY, of_index, shape, index, most, NULL);
        strcpy(index->sign, "%");
    }
    struct meaning_node *node = node_of(k, MEANING_GATHER, element, shape,
                                        meaning_make_expression(k, element, from, depth + 1), index);
    node->axis = axis;
    return node;
}

static struct meaning_node *pairs(struct maker *k, enum ir_element element, struct meaning_shape shape, int depth)
{
    struct meaning_shape part = shape;
    int last = shape.rank - 1, dice = below(k, 3);
    if (dice == 0 && shape.rank < MEANING_RANK && 2 * meaning_elements(shape) <= MEANING_ELEMENTS) {
        part.extent[part.rank++] = 2;
        struct meaning_node *node = node_of(k, MEANING_SPLIT, element, shape,
                                            meaning_make_expression(k, element, part, depth + 1), NULL);
        node->which = below(k, 2);
        return node;
    }
    bool joins = dice == 1 && shape.rank > 1 && shape.extent[last] == 2;
    if (!joins && shape.extent[last] % 2)
        return NULL;
    if (joins)
        part.rank--;
    else
        part.extent[last] /= 2;
    struct meaning_node *a = meaning_make_expression(k, element, part, depth + 1);
    return node_of(k, joins ? MEANING_JOIN : MEANING_INTERLEAVE, element, shape, a,
                   meaning_make_expression(k, element, part, depth + 1));
}

static struct meaning_node *sorted(struct maker *k, enum ir_element element, struct meaning_shape shape, int depth)
{
    struct meaning_shape from = shape;
    int axis = below(k, shape.rank), dice = below(k, 4);
    enum ir_element key = meaning_make_element(k);
    enum meaning_kind kind = element == IR_I64 && dice < 2     ? MEANING_ARGSORT
                             : dice == 3 || element == IR_BOOL ? MEANING_SORT_BESIDE
                                                               : MEANING_SORT;
    bool best = element != IR_BOOL && chance(k, 40);
    if (best) {
        kind = MEANING_TOPK;
        from.extent[axis] += below(k, 4);
    }
    if (meaning_elements(from) > MEANING_ELEMENTS)
        return NULL;
    bool positions = element == IR_I64 && dice < 2;
    if (kind == MEANING_SORT || (kind == MEANING_TOPK && !positions))
        key = element;
    struct meaning_node *a = meaning_make_expression(k, key, from, depth + 1);
    struct meaning_node *node = node_of(
        k, kind, element, shape, a,
        kind == MEANING_SORT_BESIDE ? meaning_make_expression(k, element, from, depth + 1) : NULL);
    node->axis = axis;
    node->which = positions;
    node->backward = chance(k, 50);
    return node;
}

static struct meaning_node *scanned(struct maker *k, enum ir_element element, struct meaning_shape shape, int depth)
{
    static const char *const folds[] = {"l", "r", "^", "+", "*"};
    bool is_float = ir_is_float(element), own = !is_float && chance(k, 40);
    enum meaning_kind kind = own ? MEANING_SCAN : chance(k, 50) ? MEANING_CUMMIN : MEANING_CUMMAX;
    enum ir_element source = element;
    if (!own && !is_float && meaning_sum_element(element) == element && chance(k, 60)) {
        kind = below(k, 8) < 5 ? MEANING_CUMSUM : MEANING_CUMPROD;
        enum ir_element narrow = k->palette[below(k, 4)];
        source = meaning_sum_element(narrow) == element ? narrow : element;
    }
    struct meaning_node *node = node_of(k, kind, element, shape, meaning_make_expression(k, source, shape, depth + 1),
                                        NULL);
    node->axis = below(k, shape.rank);
    node->backward = chance(k, 40);
    node->exclusive = chance(k, 40);
    node->propagates = is_float && chance(k, 40);
    strcpy(node->sign, folds[below(k, 5)]);
    if (own && node->exclusive)
        node->operand[1] = meaning_make_literal(k, element);
    return node;
}

static struct meaning_node *histogram(struct maker *k, struct meaning_shape shape, int depth)
{
    struct meaning_shape from = meaning_make_shape(k);
    struct meaning_node *a = meaning_make_expression(k, any_integer_element(k), from, depth + 1);
    return node_of(k, MEANING_HISTOGRAM, IR_I32, shape, a,
                   chance(k, 40) ? meaning_make_expression(k, IR_BOOL, from, depth + 1) : NULL);
}

/* Bytes whose exponents are near those of 1, so that all sums are exact. */
static struct meaning_node *scales(struct maker *k, int rows, int depth)
{
    struct meaning_shape shape = {2, {rows, 1}};
    struct meaning_node *most = meaning_make_number(k, 7), *least = meaning_make_number(k, 124);
    most->element = least->element = IR_U8;
    most->bare = least->bare = false;
    struct meaning_node *node = meaning_make_node(k, MEANING_BINARY, IR_U8, shape,
                                                  meaning_make_expression(k, IR_U8, shape, depth + 1), most, NULL);
    strcpy(node->sign, "&");
    node = meaning_make_node(k, MEANING_BINARY, IR_U8, shape, node, least, NULL);
    strcpy(node->sign, "+");
    return node;
}

/* mxfp4: of f32, or made an integer, which is as exact. */
static struct meaning_node *scaled(struct maker *k, enum ir_element element, struct meaning_shape shape, int depth)
{
    if (shape.extent[0] > MEANING_ELEMENTS / (BLOCK / 2) || shape.extent[1] > MEANING_ELEMENTS / (BLOCK / 2))
        return NULL;
    struct meaning_shape a = {2, {shape.extent[0], BLOCK / 2}}, b = {2, {BLOCK / 2, shape.extent[1]}};
    struct meaning_node *node = node_of(k, MEANING_SCALED, IR_F32, shape,
                                        meaning_make_expression(k, IR_U8, a, depth + 1),
                                        scales(k, shape.extent[0], depth));
    node->operand[2] = meaning_make_expression(k, IR_U8, b, depth + 1);
    node->operand[3] = scales(k, shape.extent[1], depth);
    return element == IR_F32 ? node : node_of(k, MEANING_CONVERT, element, shape, node, NULL);
}

struct meaning_node *meaning_make_move(struct maker *k, enum ir_element element, struct meaning_shape shape, int depth)
{
    int dice = below(k, 20);
    if (shape.rank == 0)
        return NULL;
    if (element == IR_I32 && shape.rank == 1 && chance(k, 15))
        return histogram(k, shape, depth);
    if (dice < 4)
        return flip_or_cat(k, element, shape, depth);
    if (dice < 7)
        return gather(k, element, shape, depth);
    if (dice < 10)
        return pairs(k, element, shape, depth);
    if (dice < 14)
        return sorted(k, element, shape, depth);
    if (dice < 18)
        return element == IR_BOOL ? NULL : scanned(k, element, shape, depth);
    if ((element == IR_F32 || element == IR_I32) && shape.rank == 2)
        return scaled(k, element, shape, depth);
    return NULL;
}

/* ---- printed ---- */

static const char *const names[] = {
    [MEANING_FLIP] = "flip",           [MEANING_CAT] = "cat",          [MEANING_GATHER] = "gather",
    [MEANING_JOIN] = "join",           [MEANING_SPLIT] = "split",      [MEANING_INTERLEAVE] = "interleave",
    [MEANING_SORT] = "sort",           [MEANING_SORT_BESIDE] = "sort", [MEANING_ARGSORT] = "argsort",
    [MEANING_TOPK] = "topk",           [MEANING_CUMSUM] = "cumsum",    [MEANING_CUMPROD] = "cumprod",
    [MEANING_CUMMIN] = "cummin",       [MEANING_CUMMAX] = "cummax",    [MEANING_SCAN] = "scan",
    [MEANING_HISTOGRAM] = "histogram", [MEANING_SCALED] = "dot_scaled"};

static bool is_scan(enum meaning_kind kind) { return kind >= MEANING_CUMSUM && kind <= MEANING_SCAN; }

void meaning_print_move(struct buffer *out, const struct meaning_node *node,
                        void (*print)(void *context, const struct meaning_node *node), void *context)
{
    static const char *const behind[] = {", ", ", \"e2m1\", ", ", ", ", \"e2m1\""};
    bool beside = node->kind == MEANING_SORT_BESIDE, masked = node->kind == MEANING_HISTOGRAM && node->operand[1];
    buffer_printf(out, "%s(%s", names[node->kind], beside ? "(" : "");
    print(context, node->operand[0]);
    for (int i = 1; i < MEANING_OPERANDS && node->operand[i] && node->kind != MEANING_SCAN && !masked; i++) {
        buffer_puts(out, node->kind == MEANING_SCALED ? behind[i - 1] : ", ");
        print(context, node->operand[i]);
    }
    if (node->kind == MEANING_SCALED)
        buffer_puts(out, behind[3]);
    if (node->kind == MEANING_SCAN)
        buffer_printf(out, ", fold_%s",
                      node->sign[0] == 'l'   ? "left"
                      : node->sign[0] == 'r' ? "right"
                      : node->sign[0] == '^' ? "xor"
                      : node->sign[0] == '+' ? "add"
                                             : "mul");
    buffer_puts(out, beside ? ")" : "");
    if (node->kind == MEANING_TOPK || node->kind == MEANING_HISTOGRAM)
        buffer_printf(out, ", %d", node->shape.extent[node->kind == MEANING_TOPK ? node->axis : 0]);
    if (masked) {
        buffer_puts(out, ", mask = ");
        print(context, node->operand[1]);
    }
    if (node->axis >= 0)
        buffer_printf(out, ", axis = %d", node->axis);
    if (is_scan(node->kind) ? node->backward : node->kind == MEANING_TOPK ? !node->backward : false)
        buffer_puts(out, is_scan(node->kind) ? ", reverse = true" : ", descending = false");
    else if (node->backward && !is_scan(node->kind) && node->kind != MEANING_TOPK)
        buffer_puts(out, ", descending = true");
    if (node->exclusive)
        buffer_puts(out, ", exclusive = true");
    if (node->kind == MEANING_SCAN && node->operand[1]) {
        buffer_puts(out, ", initial = ");
        print(context, node->operand[1]);
    }
    buffer_puts(out, node->propagates ? ", nan = propagate)" : ")");
    if (beside || node->kind == MEANING_SPLIT || node->kind == MEANING_TOPK)
        buffer_printf(out, "[%d]", beside ? 1 : node->which);
}

/* ---- computed ---- */

/* A line along the axis: element n of it stands at first + n*step. */
struct line {
    int first, step, count;
};

static struct line line_of(struct meaning_shape shape, int axis, int number)
{
    struct line line = {0, 1, shape.extent[axis]};
    for (int d = axis + 1; d < shape.rank; d++)
        line.step *= shape.extent[d];
    line.first = number / line.step * line.step * line.count + number % line.step;
    return line;
}

/* Whether a stands in front of b, of elements that are not at one position. */
static bool stands_before(enum ir_element element, bool backward, union meaning_cell a, union meaning_cell b)
{
    int is = meaning_order(element, a, b);
    if (is == 2)
        return !isnan(a.real) && isnan(b.real);
    if (is == 0 && ir_is_float(element)) /* -0 is under 0 */
        is = (signbit(a.real) == 0) - (signbit(b.real) == 0);
    return backward ? is > 0 : is < 0;
}

static void sort_line(const struct meaning_node *node, const struct meaning_tile *operand, struct line from,
                      struct line to, struct meaning_tile *out)
{
    int at[MEANING_ELEMENTS];
    enum ir_element key = node->operand[0]->element;
    for (int n = 0; n < from.count; n++) { /* each goes behind all that it does not stand before */
        int i = n;
        while (i > 0 && stands_before(key, node->backward, operand[0].at[from.first + n * from.step],
                                      operand[0].at[from.first + at[i - 1] * from.step])) {
            at[i] = at[i - 1];
            i--;
        }
        at[i] = n;
    }
    bool positions = node->kind == MEANING_ARGSORT || (node->kind == MEANING_TOPK && node->which);
    for (int n = 0; n < to.count; n++)
        if (positions)
            out->at[to.first + n * to.step].integer = at[n];
        else
            out->at[to.first + n * to.step] =
                operand[node->kind == MEANING_SORT_BESIDE].at[from.first + at[n] * from.step];
}

static union meaning_cell first_of_scan(const struct meaning_node *node, const struct meaning_tile *operand)
{
    enum ir_element element = node->element;
    bool is_float = ir_is_float(element), high = node->kind == MEANING_CUMMIN;
    int bits = ir_element_info[element].bits;
    union meaning_cell value = {0};
    if (node->kind == MEANING_SCAN)
        return operand[1].at[0];
    if (node->kind == MEANING_CUMPROD)
        value.integer = 1;
    if (node->kind != MEANING_CUMMIN && node->kind != MEANING_CUMMAX)
        return value;
    if (is_float)
        value.real = high ? (double)INFINITY : -(double)INFINITY;
    else if (ir_is_signed(element))
        value.integer = high ? (int64_t)(UINT64_MAX >> (65 - bits)) : (int64_t)(UINT64_MAX << (bits - 1));
    else
        value.integer = high ? (int64_t)(UINT64_MAX >> (64 - bits)) : 0;
    return value;
}

static union meaning_cell put_together(struct runner *r, const struct meaning_node *node, union meaning_cell a,
                                       union meaning_cell b)
{
    switch (node->kind) {
    case MEANING_CUMSUM: return meaning_binary(r, node->element, "+", a, b);
    case MEANING_CUMPROD: return meaning_binary(r, node->element, "*", a, b);
    case MEANING_CUMMIN:
    case MEANING_CUMMAX: return meaning_least_or_most(node, node->kind == MEANING_CUMMAX, a, b);
    default:
        return node->sign[0] == 'l' ? a : node->sign[0] == 'r' ? b : meaning_binary(r, node->element, node->sign, a, b);
    }
}

static void scan_line(struct runner *r, const struct meaning_node *node, const struct meaning_tile *operand,
                      struct line line, struct meaning_tile *out)
{
    union meaning_cell value = {0};
    if (node->exclusive)
        value = first_of_scan(node, operand);
    for (int n = 0; n < line.count; n++) {
        int at = line.first + (node->backward ? line.count - 1 - n : n) * line.step;
        union meaning_cell next = operand[0].at[at];
        if (node->exclusive) {
            out->at[at] = value;
            value = put_together(r, node, value, next);
        } else {
            value = n == 0 ? next : put_together(r, node, value, next);
            out->at[at] = value;
        }
    }
}

static void move_line(struct runner *r, const struct meaning_node *node, const struct meaning_tile *operand, int number,
                      struct meaning_tile *out)
{
    struct line to = line_of(node->shape, node->axis, number),
                from = line_of(node->operand[0]->shape, node->axis, number);
    if (is_scan(node->kind)) {
        scan_line(r, node, operand, to, out);
        return;
    }
    if (node->kind >= MEANING_SORT && node->kind <= MEANING_TOPK) {
        sort_line(node, operand, from, to, out);
        return;
    }
    for (int n = 0; n < to.count; n++) {
        union meaning_cell *cell = &out->at[to.first + n * to.step];
        if (node->kind == MEANING_FLIP) {
            *cell = operand[0].at[from.first + (from.count - 1 - n) * from.step];
        } else if (node->kind == MEANING_CAT) {
            struct line second = line_of(node->operand[1]->shape, node->axis, number);
            *cell = n < from.count ? operand[0].at[from.first + n * from.step]
                                   : operand[1].at[second.first + (n - from.count) * second.step];
        } else {
            int64_t at = operand[1].at[to.first + n * to.step].integer;
            bool there = at >= 0 && at < from.count; /* of u64, too: large ones are negative here */
            *cell = there ? operand[0].at[from.first + (int)at * from.step] : (union meaning_cell){0};
        }
    }
}

static double four_bits(int64_t bytes, int half)
{
    static const double numbers[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    int bits = (int)(bytes >> (4 * half)) & 15;
    return bits & 8 ? -numbers[bits & 7] : numbers[bits];
}

static void multiply_scaled(const struct meaning_node *node, const struct meaning_tile *operand,
                            struct meaning_tile *out)
{
    int columns = node->shape.extent[1];
    for (int i = 0; i < meaning_elements(node->shape); i++) {
        int m = i / columns, n = i % columns;
        double sum = 0;
        for (int k = 0; k < BLOCK; k++)
            sum += four_bits(operand[0].at[m * (BLOCK / 2) + k / 2].integer, k % 2) *
                   four_bits(operand[2].at[k / 2 * columns + n].integer, k % 2);
        out->at[i].real = ldexp(sum, (int)(operand[1].at[m].integer + operand[3].at[n].integer) - 254);
    }
}

void meaning_run_move(struct runner *r, const struct meaning_node *node, const struct meaning_tile *operand,
                      struct meaning_tile *out)
{
    int elements = meaning_elements(node->shape),
        half = node->shape.rank ? node->shape.extent[node->shape.rank - 1] : 1;
    switch (node->kind) {
    case MEANING_SPLIT:
        for (int i = 0; i < elements; i++)
            out->at[i] = operand[0].at[2 * i + node->which];
        return;
    case MEANING_JOIN:
    case MEANING_INTERLEAVE:
        for (int i = 0; i < elements; i++)
            out->at[i] = operand[i % half % 2].at[i / 2];
        return;
    case MEANING_HISTOGRAM:
        memset(out->at, 0, sizeof out->at[0] * (size_t)elements);
        for (int i = 0; i < meaning_elements(node->operand[0]->shape); i++) {
            int64_t bin = operand[0].at[i].integer;
            if (bin >= 0 && bin < elements && (!node->operand[1] || operand[1].at[i].integer))
                out->at[bin].integer++;
        }
        return;
    case MEANING_SCALED: multiply_scaled(node, operand, out); return;
    default:
        for (int number = 0; number < elements / node->shape.extent[node->axis]; number++)
            move_line(r, node, operand, number, out);
        return;
    }
}
