/* Random kernels whose tiles have layouts already, written as text: what code for a GPU makes of layouts that passes
 * seldom or never choose.
 *
 * An instance, which is the only one, loads a tile in a random layout and converts, permutes, reshapes, cuts, reduces
 * and broadcasts it, flips, concatenates and gathers; what is permuted, reshaped or cut may lie in other threads than its source.
 * Extents have odd factors, which lie in registers or across groups of warps, and lanes, warps and groups hold copies.
 * Columns of layouts are single bits, as in all that passes make, or mixed; where tiles are reduced, single bits.
 * Numbers are small integers; sums of them are exact, and what is not exact in a narrow element is its greatest or
 * least.  Views are aligned, so that elements that lie together move as vectors; where rows begin anywhere, they must
 * not.  A tile begins in front of its view, at its first element or inside, at a number that code knows, or whose
 * divisor alone it knows; views go by columns as well, are turned round, parts of others, or one row of several.  Masks
 * are the tile's own elements compared. */
#include "generate_layout.h"

#include <string.h>

#include "ir/layout/layout.h"

enum { MOST_RANK = 3, MOST_REGISTERS = 64, MOST_VIEWS = 6, TRIES = 200 };

struct shape {
    int rank, extent[LAYOUT_RANK];
};
/* BY_COLUMNS: the last dimension but one lies together; TURNED: its argument has the last two swapped, too. */
enum view_order { BY_ROWS, BY_COLUMNS, TURNED };
struct view {
    struct shape shape; /* of what there is, in the tile's dimensions */
    enum view_order order;
    bool output, odd;    /* odd: rows begin anywhere */
    int from[MOST_RANK]; /* where the tile begins */
    int rows, row;       /* of a dimension in front, of which the tile has one row; 0: there is none */
    int64_t stride[MOST_RANK], row_stride;
};
struct layout_program {
    struct random random;
    struct arena *arena;
    struct layout_table *table;
    struct buffer body;
    const char *element;
    bool real, sums;       /* floating point; sums are exact */
    bool large;            /* a conversion needs more shared memory than it takes at once */
    bool aligned;          /* most places are multiples of vectors, and most statements are loads */
    int warp_bits, groups; /* groups of 1 << warp_bits warps: 1 or 3 */
    int next;              /* number for names */
    struct shape shape;    /* of the value that is there */
    const struct layout *layout;
    bool plain; /* each column of the layout is one bit, or none */
    int value;
    struct view views[MOST_VIEWS];
    int view_count;
};

static bool chance(struct layout_program *p, int percent) { return random_chance(&p->random, percent); }

/* ---- layouts ---- */

static int trailing_zeros(int extent) { return __builtin_ctz((unsigned)extent); }

/* Bits of the atom in random order, each the sum of some where they are mixed: still one-to-one. */
static int random_columns(struct layout_program *p, const struct shape *shape, bool plain, uint32_t *columns)
{
    int bits = 0;
    for (int d = 0; d < shape->rank; d++)
        bits += trailing_zeros(shape->extent[d]);
    for (int i = 0; i < bits; i++)
        columns[i] = UINT32_C(1) << i;
    for (int i = bits - 1; i > 0; i--) {
        int j = random_below(&p->random, i + 1);
        uint32_t swap = columns[i];
        columns[i] = columns[j];
        columns[j] = swap;
    }
    /* elements that lie together go to registers, which come last: vectors */
    if (bits > (p->aligned ? 6 : 8) && chance(p, p->aligned ? 90 : 40))
        for (int at = 0; at < bits - 2; at++)
            for (int low = 0; low < 2; low++)
                if (columns[at] == UINT32_C(1) << low) {
                    columns[at] = columns[bits - 2 + low];
                    columns[bits - 2 + low] = UINT32_C(1) << low;
                }
    for (int i = plain || bits < 2 ? 0 : random_below(&p->random, 5); i > 0; i--) {
        int to = random_below(&p->random, bits), from = random_below(&p->random, bits);
        if (to != from)
            columns[to] ^= columns[from];
    }
    return bits;
}

static void set_column(struct layout_spec *spec, const struct shape *shape, enum layout_input input, int bit,
                       uint32_t column)
{
    for (int d = shape->rank - 1; d >= 0; d--) {
        spec->column[input][bit][d] = (int)(column & ((uint32_t)spec->atom[d] - 1));
        column >>= trailing_zeros(spec->atom[d]);
    }
}

/* Without columns. */
static struct layout_spec begin_spec(struct layout_program *p, const struct shape *shape)
{
    struct layout_spec spec = {.rank = shape->rank, .repeat_in_warps = -1};
    for (int d = 0; d < shape->rank; d++) {
        spec.atom[d] = 1 << trailing_zeros(shape->extent[d]);
        spec.repeat[d] = shape->extent[d] / spec.atom[d];
    }
    int d = random_below(&p->random, shape->rank);
    if (p->groups > 1 && spec.repeat[d] == p->groups)
        spec.repeat_in_warps = d;
    else
        spec.warp_copies = p->groups;
    spec.bits[LAYOUT_LANE] = 5;
    spec.bits[LAYOUT_WARP] = p->warp_bits;
    return spec;
}

/* NULL: more registers than there should be, or no dimension for the groups of warps. */
static const struct layout *try_layout(struct layout_program *p, const struct shape *shape, bool plain)
{
    uint32_t columns[LAYOUT_BITS];
    int bits = random_columns(p, shape, plain, columns), next = 0;
    struct layout_spec spec = begin_spec(p, shape);
    for (int input = LAYOUT_LANE; input <= LAYOUT_WARP; input++)
        for (int bit = 0; bit < spec.bits[input]; bit++)
            if (next < bits && chance(p, 88))
                set_column(&spec, shape, (enum layout_input)input, bit, columns[next++]);
    while (next < bits)
        set_column(&spec, shape, LAYOUT_REGISTER, spec.bits[LAYOUT_REGISTER]++, columns[next++]);
    const struct layout *layout = layout_create(p->table, &spec);
    return layout && layout_registers(layout) <= MOST_REGISTERS ? layout : NULL;
}

static const struct layout *random_layout(struct layout_program *p, const struct shape *shape, bool plain)
{
    for (int i = 0; i < TRIES; i++) {
        const struct layout *layout = try_layout(p, shape, plain);
        if (layout)
            return layout;
    }
    return p->layout; /* of this shape */
}

static const char *type_text(struct layout_program *p, const char *element, const struct shape *shape,
                             const struct layout *layout)
{
    struct buffer text = {0};
    buffer_puts(&text, element);
    for (int d = 0; d < shape->rank; d++)
        buffer_printf(&text, "%s%d%s", d ? ", " : "[", shape->extent[d], d == shape->rank - 1 ? "]" : "");
    if (layout)
        buffer_printf(&text, " %s", layout_text(p->arena, layout));
    const char *kept = arena_substring(p->arena, text.data, text.size);
    buffer_free(&text);
    return kept;
}

/* ---- statements ---- */

static int contiguous_dimension(const struct view *view) { return view->shape.rank - (view->order == BY_ROWS ? 1 : 2); }

static int random_start(struct layout_program *p, int extent)
{
    static const int starts[] = {4, 8, 16, -8, 1, 2, 3, 6, 12, -1, -3};
    int start = chance(p, 50) ? 0 : starts[random_below(&p->random, p->aligned && chance(p, 85) ? 4 : 11)];
    return start > -extent ? start : 0;
}

/* May end before the tile does. */
static int add_view(struct layout_program *p, const struct shape *shape, bool output)
{
    struct view *view = &p->views[p->view_count];
    int64_t stride = 1;
    *view = (struct view){.shape = *shape, .output = output, .odd = chance(p, p->aligned ? 5 : 25)};
    if (shape->rank > 1 && chance(p, p->aligned ? 10 : 30))
        view->order = chance(p, 50) ? BY_COLUMNS : TURNED;
    view->rows = chance(p, 25) ? random_between(&p->random, 1, 3) : 0;
    view->row = chance(p, 15) ? chance(p, 50) ? -1 : view->rows : random_below(&p->random, view->rows + !view->rows);
    for (int d = 0; d < shape->rank; d++) {
        int end = chance(p, output ? 10 : 40) ? random_between(&p->random, 1, shape->extent[d]) : shape->extent[d];
        view->from[d] = random_start(p, shape->extent[d]);
        end += view->from[d];
        end = p->aligned && chance(p, 85) ? end / 8 * 8 : end;
        view->shape.extent[d] = end > 1 ? end : 1;
    }
    for (int i = 0; i < shape->rank; i++) { /* what lies together first */
        int contiguous = contiguous_dimension(view), d = shape->rank - 1 - i;
        if (view->order != BY_ROWS && i < 2)
            d = i == 0 ? contiguous : shape->rank - 1;
        view->stride[d] = stride;
        int64_t row = (view->shape.extent[d] + 7) / 8 * 8 + 8 * random_below(&p->random, 2);
        stride *= d != contiguous ? view->shape.extent[d] : view->odd ? row + random_below(&p->random, 8) : row;
    }
    view->row_stride = stride;
    return p->view_count++;
}

/* Name of an index of this value, of which code knows all, a divisor, or nothing but, at times, its sign. */
static const char *index_of(struct layout_program *p, int value)
{
    int n = p->next++, by = 1;
    if (value == 0 && chance(p, 40))
        return "%c";
    if (chance(p, 30)) {
        buffer_printf(&p->body, "%%s%d = constant value(%d) : index\n", n, value);
        return arena_printf(p->arena, "%%s%d", n);
    }
    while (by < 32 && value % (2 * by) == 0 && chance(p, 75))
        by *= 2;
    buffer_printf(&p->body,
                  "%%by%d = constant value(%d) : index\n%%units%d = constant value(%d) : index\n"
                  "%%some%d = add %%hidden, %%units%d : index\n%%s%d = mul %%some%d, %%by%d : index\n",
                  n, by, n, value / by, n, n, n, n, n);
    if (value < 0 || chance(p, 50))
        return arena_printf(p->arena, "%%s%d", n);
    buffer_printf(&p->body, "%%positive%d = max %%s%d, %%c : index\n", n, n);
    return arena_printf(p->arena, "%%positive%d", n);
}

static const char *view_type(struct layout_program *p, const struct view *view, bool has_rows, bool as_argument)
{
    struct buffer text = {0};
    int rank = view->shape.rank, together = contiguous_dimension(view) + (as_argument && view->order == TURNED);
    buffer_printf(&text, "view<%s, [%s", p->element, has_rows ? "?, " : "");
    for (int d = 0; d < rank; d++)
        buffer_printf(&text, "%s?", d ? ", " : "");
    buffer_printf(&text, "], [%s", has_rows ? "?, " : "");
    for (int d = 0; d < rank; d++)
        buffer_printf(&text, "%s%s", d ? ", " : "", d == together ? "1" : "?");
    buffer_printf(&text, "], %s>", view->output ? "inout" : "in");
    const char *kept = arena_substring(p->arena, text.data, text.size);
    buffer_free(&text);
    return kept;
}

/* A part of a view which begins no later than the tile, and its name; what it begins at is taken off `from`. */
static const char *part_of(struct layout_program *p, const struct view *view, const char *name, int *from,
                           bool *has_rows)
{
    bool drops = *has_rows && chance(p, 50);
    const char *bounds = "";
    int n = p->next++;
    if (*has_rows) {
        int first = drops ? view->row : 0, end = drops ? view->row + 1 : view->rows;
        const char *start = index_of(p, first);
        bounds = arena_printf(p->arena, "%s .. %s, ", start, index_of(p, end));
    }
    for (int d = 0; d < view->shape.rank; d++) {
        int first = from[d] > 0 && chance(p, 60) ? random_between(&p->random, 1, from[d]) : 0;
        first = chance(p, p->aligned ? 90 : 40) ? first / 4 * 4 : first;
        int most = first > view->shape.extent[d] ? first : view->shape.extent[d] + 2;
        int end = chance(p, 55) ? view->shape.extent[d] : random_between(&p->random, first, most);
        const char *start = index_of(p, first);
        bounds = arena_printf(p->arena, "%s%s%s .. %s", bounds, d ? ", " : "", start, index_of(p, end));
        from[d] -= first;
    }
    *has_rows = *has_rows && !drops;
    buffer_printf(&p->body, "%%part%d = subview drop(%d) %s[%s] : %s\n", n, drops, name, bounds,
                  view_type(p, view, *has_rows, false));
    return arena_printf(p->arena, "%%part%d", n);
}

/* A view and the place in it of a tile of this shape. */
static const char *place(struct layout_program *p, int index, const struct shape *shape)
{
    const struct view *view = &p->views[index];
    const char *name = arena_printf(p->arena, "%%x%d", index), *text = "";
    int from[MOST_RANK], rank = view->shape.rank, n = p->next++;
    bool has_rows = view->rows > 0;
    memcpy(from, view->from, sizeof from);
    if (view->order == TURNED) {
        for (int d = 0; d < rank + has_rows; d++) {
            int left = rank + has_rows - d;
            text = arena_printf(p->arena, "%s%s%d", text, d ? ", " : "", left == 2 ? d + 1 : left == 1 ? d - 1 : d);
        }
        buffer_printf(&p->body, "%%turned%d = view_permute permutation(%s) %s : %s\n", n, text, name,
                      view_type(p, view, has_rows, false));
        name = arena_printf(p->arena, "%%turned%d", n);
        text = "";
    }
    if (chance(p, 40))
        name = part_of(p, view, name, from, &has_rows);
    if (has_rows)
        text = arena_printf(p->arena, "%s, ", index_of(p, view->row));
    for (int d = 0; d < rank; d++) {
        const char *length = shape->rank ? arena_printf(p->arena, " +: %d", shape->extent[d]) : "";
        text = arena_printf(p->arena, "%s%s%s%s", text, d ? ", " : "", index_of(p, from[d]), length);
    }
    return arena_printf(p->arena, "%s[%s]", name, text);
}

/* mask: the elements alone that are greater in the value that there is */
static int load(struct layout_program *p, int view, bool mask)
{
    int n = p->next++;
    buffer_printf(&p->body, "%%o%d = constant value(%d%s) : %s\n", n, chance(p, 60) ? 0 : 3, p->real ? ".0" : "",
                  p->element);
    if (mask)
        buffer_printf(&p->body, "%%f%d = splat %%o%d : %s\n%%m%d = compare predicate(gt) %%v%d, %%f%d : %s\n", n, n,
                      type_text(p, p->element, &p->shape, p->layout), n, p->value, n,
                      type_text(p, "bool", &p->shape, p->layout));
    const char *type = type_text(p, p->element, &p->shape, p->layout), *where = place(p, view, &p->shape);
    buffer_printf(&p->body, "%%v%d = load %s, %%%s%d%s : %s\n", n, where, mask ? "f" : "o", n,
                  mask ? arena_printf(p->arena, ", %%m%d", n) : "", type);
    if (!chance(p, 20))
        return n;
    int chosen = p->next++;
    where = place(p, view, &p->shape);
    buffer_printf(&p->body,
                  "%%inside%d = inside %s : %s\n%%far%d = constant value(5%s) : %s\n"
                  "%%v%d = select %%inside%d, %%v%d, %%far%d : %s\n",
                  chosen, where, type_text(p, "bool", &p->shape, p->layout), chosen, p->real ? ".0" : "", type, chosen,
                  chosen, n, chosen, type);
    return chosen;
}

/* The shape of an output for a value: one element where it is none of a tile. */
static int add_output(struct layout_program *p, const struct shape *shape)
{
    return add_view(p, shape->rank ? shape : &(struct shape){1, {1}}, true);
}

static void store(struct layout_program *p, int value, const struct shape *shape)
{
    if (p->view_count == MOST_VIEWS)
        return;
    const char *where = place(p, add_output(p, shape), shape);
    buffer_printf(&p->body, "store %s, %%v%d\n", where, value);
}

/* What an atomic finds goes to a view of its own: all that hold copies of an element have it. */
static void change(struct layout_program *p)
{
    static const char *const actions[] = {"max", "min", "exchange", "add"};
    if (p->view_count + 3 > MOST_VIEWS)
        return;
    int n = p->next++;
    const char *where = place(p, add_output(p, &p->shape), &p->shape);
    buffer_printf(&p->body, "%%v%d = atomic action(%s) order(relaxed) scope(gpu) %s, %%v%d : %s\n", n,
                  actions[random_below(&p->random, 4)], where, p->value,
                  type_text(p, p->element, &p->shape, p->layout));
    store(p, n, &p->shape);
}

static void convert(struct layout_program *p, bool plain)
{
    int n = p->next++;
    const struct layout *old = p->layout;
    p->layout = random_layout(p, &p->shape, plain);
    p->plain = p->layout == old ? p->plain : plain;
    buffer_printf(&p->body, "%%v%d = convert_layout %%v%d : %s\n", n, p->value,
                  type_text(p, p->element, &p->shape, p->layout));
    p->value = n;
}

static void permute(struct layout_program *p)
{
    int order[MOST_RANK] = {0, 1, 2}, n = p->next++;
    struct shape turned = {.rank = p->shape.rank};
    for (int i = p->shape.rank - 1; i > 0; i--) {
        int j = random_below(&p->random, i + 1), swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
    buffer_printf(&p->body, "%%v%d = permute permutation(", n);
    for (int d = 0; d < turned.rank; d++) {
        turned.extent[d] = p->shape.extent[order[d]];
        buffer_printf(&p->body, "%s%d", d ? ", " : "", order[d]);
    }
    p->layout = layout_permute(p->table, p->layout, order);
    p->shape = turned;
    if (chance(p, 40)) /* other threads hold it */
        p->layout = random_layout(p, &p->shape, p->plain);
    buffer_printf(&p->body, ") %%v%d : %s\n", p->value, type_text(p, p->element, &p->shape, p->layout));
    p->value = n;
}

/* In one dimension, or with one more, or two swapped without a move: in row-major order the elements stay. */
static void reshape(struct layout_program *p)
{
    struct shape old = p->shape, made = {.rank = 1, .extent = {1}};
    const struct layout *before = p->layout;
    int n = p->next++;
    if (old.rank > 1 && chance(p, 50)) {
        for (int d = 0; d < old.rank; d++)
            made.extent[0] *= old.extent[d];
    } else if (old.rank > 1) {
        made = old;
        made.extent[0] = old.extent[1];
        made.extent[1] = old.extent[0];
    } else if (old.extent[0] % 4 == 0) {
        made = (struct shape){2, {old.extent[0] / 4, 4}};
    } else {
        return;
    }
    p->layout = NULL;
    const struct layout *layout = random_layout(p, &made, p->plain);
    if (!layout) {
        p->layout = before;
        return;
    }
    p->shape = made;
    p->layout = layout;
    buffer_printf(&p->body, "%%v%d = reshape %%v%d : %s\n", n, p->value, type_text(p, p->element, &made, layout));
    p->value = n;
}

/* Half of a dimension. */
static void extract(struct layout_program *p)
{
    int axis = random_below(&p->random, p->shape.rank), n = p->next;
    struct shape half = p->shape;
    const struct layout *before = p->layout;
    if (half.extent[axis] % 2)
        return;
    half.extent[axis] /= 2;
    p->layout = NULL;
    const struct layout *layout = random_layout(p, &half, p->plain);
    if (!layout) {
        p->layout = before;
        return;
    }
    p->next++;
    buffer_printf(&p->body, "%%v%d = extract start(", n);
    for (int d = 0; d < half.rank; d++)
        buffer_printf(&p->body, "%s%d", d ? ", " : "", d == axis && chance(p, 50) ? half.extent[d] : 0);
    p->shape = half;
    p->layout = layout;
    buffer_printf(&p->body, ") %%v%d : %s\n", p->value, type_text(p, p->element, &half, layout));
    p->value = n;
}

/* The tile in another layout of its shape. */
static int turned_over(struct layout_program *p, const struct layout *layout)
{
    int n = p->next++;
    buffer_printf(&p->body, "%%v%d = convert_layout %%v%d : %s\n", n, p->value,
                  type_text(p, p->element, &p->shape, layout));
    return n;
}

static void flip(struct layout_program *p)
{
    int axis = random_below(&p->random, p->shape.rank), n = p->next++;
    buffer_printf(&p->body, "%%v%d = flip axis(%d) %%v%d : %s\n", n, axis, p->value,
                  type_text(p, p->element, &p->shape, p->layout));
    p->value = n;
}

/* Two or three times, in one layout or in others; the whole where parts are registers of their own, or in another. */
static void concatenate(struct layout_program *p)
{
    int axis = random_below(&p->random, p->shape.rank), count = random_between(&p->random, 2, 3), parts[3], n;
    struct shape whole = p->shape;
    const struct layout *before = p->layout, *layout;
    whole.extent[axis] *= count;
    p->layout = NULL;
    layout = chance(p, 50) ? layout_extend(p->table, before, whole.extent) : random_layout(p, &whole, p->plain);
    p->layout = before;
    if (!layout || layout_registers(layout) > MOST_REGISTERS)
        return;
    for (int i = 0; i < count; i++)
        parts[i] = chance(p, 60) ? p->value : turned_over(p, random_layout(p, &p->shape, p->plain));
    n = p->next++;
    buffer_printf(&p->body, "%%v%d = concatenate axis(%d)", n, axis);
    for (int i = 0; i < count; i++)
        buffer_printf(&p->body, "%s %%v%d", i ? "," : "", parts[i]);
    p->shape = whole;
    p->layout = layout;
    buffer_printf(&p->body, " : %s\n", type_text(p, p->element, &p->shape, p->layout));
    p->value = n;
}

/* By its own numbers as an index, many of which are outside. */
static void gather(struct layout_program *p)
{
    static const char *const indexes[] = {"i32", "i8", "u16", "i64"};
    const char *index = indexes[random_below(&p->random, 4)];
    const struct layout *layout = chance(p, 50) ? p->layout : random_layout(p, &p->shape, p->plain);
    int axis = random_below(&p->random, p->shape.rank), other = turned_over(p, layout), n = p->next++, by = other;
    if (strcmp(p->element, index)) {
        by = p->next++;
        buffer_printf(&p->body, "%%v%d = cast %%v%d : %s\n", by, other, type_text(p, index, &p->shape, layout));
    }
    buffer_printf(&p->body, "%%v%d = gather axis(%d) %%v%d, %%v%d : %s\n", n, axis, p->value, by,
                  type_text(p, p->element, &p->shape, layout));
    p->layout = layout;
    p->value = n;
}

static void combine(struct layout_program *p, int other)
{
    int n = p->next++;
    buffer_printf(&p->body, "%%v%d = %s %%v%d, %%v%d : %s\n", n, chance(p, 50) ? "max" : "min", p->value, other,
                  type_text(p, p->element, &p->shape, p->layout));
    p->value = n;
}

/* ---- reductions ---- */

static int step_weight(const struct layout *layout, int axis, const struct layout_step *step)
{
    int coordinates[LAYOUT_RANK];
    struct layout_position position = {{0}};
    memcpy(position.part, step->part, sizeof position.part);
    layout_coordinates(layout, &position, coordinates);
    return coordinates[axis];
}

/* Whether a function that does not commute can be folded here: what lies within a thread and a warp comes first. */
static bool keeps_order(const struct layout *layout, int axis, const struct layout_reduction *reduction)
{
    int least = INT32_MAX;
    for (int i = 0; i < reduction->warp_steps; i++) {
        int weight = step_weight(layout, axis, &reduction->warp_step[i]);
        least = weight < least ? weight : least;
    }
    bool right = least > 0;
    for (int i = 0; i < reduction->register_steps; i++) {
        int weight = step_weight(layout, axis, &reduction->register_step[i]);
        right &= weight > 0 && weight < least;
    }
    for (int i = 0; i < reduction->lane_steps; i++) {
        int weight = step_weight(layout, axis, &reduction->lane_step[i]);
        right &= weight > 0 && weight < least;
    }
    return right;
}

static const char *reduction_text(struct layout_program *p, int axis, int value, bool ordered)
{
    static const char *const whole[] = {"add", "xor", "or", "max", "min"}, *const real[] = {"max", "min", "add"};
    if (ordered)
        return arena_printf(p->arena, "axis(%d) kind(region) %%v%d (%%l%d: %s, %%r%d: %s) {\n    yield %%%c%d\n}", axis,
                            value, p->next, p->element, p->next, p->element, chance(p, 50) ? 'l' : 'r', p->next);
    const char *kind = p->real ? real[random_below(&p->random, p->sums ? 3 : 2)] : whole[random_below(&p->random, 5)];
    return arena_printf(p->arena, "axis(%d) kind(%s)%s %%v%d", axis, kind, chance(p, 25) ? " fixed(1)" : "", value);
}

/* Bits along the axis ascend through registers, lanes and warps, so that neighbours are folded first; NULL: they do not
 * fit. */
static const struct layout *ordered_layout(struct layout_program *p, int axis)
{
    struct layout_spec spec = begin_spec(p, &p->shape);
    int registers = random_below(&p->random, 4), left[LAYOUT_INPUTS] = {registers, 5, p->warp_bits}, bit = 0;
    for (int input = LAYOUT_REGISTER; input <= LAYOUT_WARP; input++)
        for (int at = 0; left[input] && 1 << bit < spec.atom[axis]; left[input]--, at++)
            spec.column[input][at][axis] = 1 << bit++;
    spec.bits[LAYOUT_REGISTER] = registers - left[LAYOUT_REGISTER];
    if (1 << bit < spec.atom[axis])
        return NULL;
    for (int d = 0; d < p->shape.rank; d++)
        for (bit = 1; d != axis && bit < spec.atom[d]; bit *= 2) {
            int input = left[LAYOUT_LANE] && chance(p, 70)   ? LAYOUT_LANE
                        : left[LAYOUT_WARP] && chance(p, 70) ? LAYOUT_WARP
                                                             : 0;
            if (input == LAYOUT_REGISTER && spec.bits[input] == LAYOUT_BITS)
                return NULL;
            int at = input == LAYOUT_REGISTER ? spec.bits[input]++ : spec.bits[input] - left[input]--;
            spec.column[input][at][d] = bit;
        }
    const struct layout *layout = layout_create(p->table, &spec);
    return layout && layout_registers(layout) <= MOST_REGISTERS ? layout : NULL;
}

/* Differences, which tell apart every order but that of neighbours. */
static void reduce_in_order(struct layout_program *p)
{
    struct layout_reduction reduction;
    struct shape left = {.rank = 0};
    int axis = random_below(&p->random, p->shape.rank), turned = p->next++, n = p->next++;
    for (int d = 0; d < p->shape.rank; d++)
        if (p->shape.extent[d] % 5 == 0) /* repeats in registers: an order of their own */
            axis = d;
    const struct layout *layout = ordered_layout(p, axis);
    if (!layout)
        return;
    layout_reduction(layout, axis, &reduction);
    if (!reduction.plain || !reduction.ascending)
        return;
    for (int d = 0; d < p->shape.rank; d++)
        if (d != axis)
            left.extent[left.rank++] = p->shape.extent[d];
    buffer_printf(&p->body, "%%v%d = convert_layout %%v%d : %s\n", turned, p->value,
                  type_text(p, p->element, &p->shape, layout));
    buffer_printf(&p->body,
                  "%%v%d = reduce axis(%d) kind(region) fixed(1) %%v%d (%%l%d: %s, %%r%d: %s) {\n"
                  "    %%d%d = sub %%l%d, %%r%d : %s\n    yield %%d%d\n} : %s\n",
                  n, axis, turned, n, p->element, n, p->element, n, n, n, p->element, n,
                  type_text(p, p->element, &left, left.rank ? layout_remove_dimension(p->table, layout, axis) : NULL));
    store(p, n, &left);
}

/* Along an axis that the tile's layout has in order, or in one made for it. */
static void scan(struct layout_program *p)
{
    static const char *const whole[] = {"add", "xor", "or", "max", "min", "mul"}, *const real[] = {"max", "min", "add"};
    struct layout_reduction reduction;
    int axis = random_below(&p->random, p->shape.rank), from = p->value, n = p->next++, first = p->next++;
    layout_reduction(p->layout, axis, &reduction);
    if (!p->plain || !keeps_order(p->layout, axis, &reduction)) {
        const struct layout *layout = ordered_layout(p, axis);
        if (!layout)
            return;
        from = p->next++;
        buffer_printf(&p->body, "%%v%d = convert_layout %%v%d : %s\n", from, p->value,
                      type_text(p, p->element, &p->shape, layout));
        p->layout = layout;
        p->plain = true;
    }
    bool region = chance(p, 40), exclusive = chance(p, 40);
    if (exclusive)
        buffer_printf(&p->body, "%%v%d = constant value(1) : %s\n", first, p->element);
    const char *kind = region    ? "region"
                       : p->real ? real[random_below(&p->random, p->sums ? 3 : 2)]
                                 : whole[random_below(&p->random, 6)];
    buffer_printf(&p->body, "%%v%d = scan axis(%d) kind(%s)%s%s%s %%v%d", n, axis, kind,
                  region || chance(p, 25) ? " fixed(1)" : "", chance(p, 40) ? " reverse(1)" : "",
                  exclusive ? " exclusive(1)" : "", from);
    if (exclusive)
        buffer_printf(&p->body, ", %%v%d", first);
    if (region) /* differences, which tell apart every order but that of neighbours */
        buffer_printf(&p->body, " (%%l%d: %s, %%r%d: %s) {\n    %%d%d = sub %%l%d, %%r%d : %s\n    yield %%d%d\n}", n,
                      p->element, n, p->element, n, n, n, p->element, n);
    buffer_printf(&p->body, " : %s\n", type_text(p, p->element, &p->shape, p->layout));
    p->value = n;
}

/* Reduces, and brings the result back to the tile's shape. */
static void reduce(struct layout_program *p)
{
    struct layout_reduction reduction;
    int axis = random_below(&p->random, p->shape.rank), reduced = p->next++, n = p->next++;
    if (!p->plain)
        convert(p, true);
    if (!p->plain)
        return;
    layout_reduction(p->layout, axis, &reduction);
    bool ordered = keeps_order(p->layout, axis, &reduction) && chance(p, 60);
    struct shape left = {.rank = 0}, one = p->shape;
    for (int d = 0; d < p->shape.rank; d++)
        if (d != axis)
            left.extent[left.rank++] = p->shape.extent[d];
    one.extent[axis] = 1;
    const struct layout *row = p->shape.rank > 1 ? layout_remove_dimension(p->table, p->layout, axis) : NULL,
                        *thin = layout_broadcast_source(p->table, p->layout, one.extent);
    buffer_printf(&p->body, "%%v%d = reduce %s : %s\n", reduced, reduction_text(p, axis, p->value, ordered),
                  type_text(p, p->element, &left, row));
    p->next++;
    store(p, reduced, &left);
    if (!left.rank)
        return;
    buffer_printf(&p->body, "%%t%d = reshape %%v%d : %s\n%%v%d = broadcast %%t%d : %s\n", n, reduced,
                  type_text(p, p->element, &one, thin), n, n, type_text(p, p->element, &p->shape, p->layout));
    combine(p, n);
}

/* ---- programs ---- */

static void choose(struct layout_program *p)
{
    static const struct {
        const char *name;
        bool real, sums;
    } elements[] = {{"i32", false, true}, {"f32", true, true},   {"u8", false, true},  {"f16", true, false},
                    {"i64", false, true}, {"bf16", true, false}, {"i16", false, true}, {"f64", true, true}};
    int which = random_below(&p->random, 8), odd = 0;
    p->aligned = chance(p, 30);
    p->large = !p->aligned && chance(p, 8);
    which = p->large ? chance(p, 50) ? 4 : 7 : which;
    int bits = p->large ? 13 : random_between(&p->random, p->aligned ? 8 : 4, 9);
    p->element = elements[which].name;
    p->real = elements[which].real;
    p->sums = elements[which].sums;
    p->warp_bits = p->large || chance(p, 12) ? 3 : random_below(&p->random, 3);
    p->groups = chance(p, 50) ? 3 : 1;
    p->shape.rank = chance(p, 15) ? 1 : random_between(&p->random, 2, MOST_RANK);
    for (int d = 0; d < p->shape.rank; d++) {
        int mine = d == p->shape.rank - 1 ? bits : random_below(&p->random, p->aligned ? 3 : bits + 1);
        bits -= mine;
        p->shape.extent[d] = 1 << mine;
        if (odd < 2 && chance(p, p->groups > 1 ? 80 : 30) && ++odd)
            p->shape.extent[d] *= p->groups > 1 || chance(p, 60) ? 3 : 5;
    }
}

/* Multiples of the argument's extents that may be known, or strides. */
static void put_multiples(struct layout_program *p, struct buffer *parameters, const char *name, int rank,
                          const int64_t *number, int64_t most)
{
    for (int d = 0; d < rank; d++) {
        int64_t multiple = number[d] & -number[d];
        multiple = number[d] == 1 || chance(p, 30) ? 0 : multiple < most ? multiple : most;
        buffer_printf(parameters, "%s%lld", d ? ", " : arena_printf(p->arena, "%s(", name), (long long)multiple);
    }
    buffer_puts(parameters, "), ");
}

static void put_view(struct layout_program *p, struct buffer *out, int index, struct buffer *parameters)
{
    const struct view *view = &p->views[index];
    int64_t extent[MOST_RANK + 1], stride[MOST_RANK + 1], elements = 0;
    int rank = 0;
    if (view->rows) {
        extent[rank] = view->rows;
        stride[rank++] = view->row_stride;
    }
    for (int d = 0; d < view->shape.rank; d++) {
        int left = view->shape.rank - d, from = view->order == TURNED && left == 2   ? d + 1
                                                : view->order == TURNED && left == 1 ? d - 1
                                                                                     : d;
        extent[rank] = view->shape.extent[from];
        stride[rank++] = view->stride[from];
    }
    buffer_puts(out, "// view extent");
    for (int d = 0; d < rank; d++)
        buffer_printf(out, " %lld", (long long)extent[d]);
    buffer_puts(out, " stride");
    for (int d = 0; d < rank; d++) {
        buffer_printf(out, " %lld", (long long)stride[d]);
        elements += (extent[d] - 1) * stride[d];
    }
    buffer_printf(out, " elements %lld block %lld content %d fill %d%s\n", (long long)elements + 1,
                  (long long)extent[0], view->output ? 2 : 0, index + 1, view->output ? " output" : "");
    buffer_printf(parameters, "%s%%x%d: %s {", index ? ", " : "", index, view_type(p, view, view->rows > 0, true));
    if (index % 2 == 0) { /* vectors */
        buffer_puts(parameters, "align(16), ");
        put_multiples(p, parameters, "stride_multiple", rank, stride, 8);
        put_multiples(p, parameters, "extent_multiple", rank, extent, 64);
    }
    buffer_puts(parameters, "limit(2147483648), restrict}");
}

void fuzz_generate_layout(struct buffer *out, uint64_t seed)
{
    struct layout_program program = {.random = {seed}, .arena = arena_create()}, *p = &program;
    struct buffer parameters = {0};
    do {
        p->table = layout_table_create(p->arena);
        choose(p);
        p->layout = NULL;
        p->plain = chance(p, 50);
        p->layout = random_layout(p, &p->shape, p->plain);
    } while (!p->layout);
    const struct shape first = p->shape;
    int input = add_view(p, &p->shape, false);
    p->value = load(p, input, false);
    if (chance(p, 30))
        combine(p, load(p, input, true));
    if (p->large)
        convert(p, chance(p, 70));
    for (int i = p->large ? 0 : random_between(&p->random, 2, 6); i > 0; i--) {
        int dice = random_below(&p->random, 100);
        if (p->aligned && chance(p, 70) && memcmp(&first, &p->shape, sizeof first) == 0)
            combine(p, load(p, input, chance(p, 15)));
        else if (dice < 28)
            convert(p, chance(p, 40));
        else if (dice < 38)
            permute(p);
        else if (dice < 52)
            reduce(p);
        else if (dice < 58)
            reduce_in_order(p);
        else if (dice < 62)
            scan(p);
        else if (dice < 66)
            reshape(p);
        else if (dice < 70)
            extract(p);
        else if (dice < 75)
            flip(p);
        else if (dice < 81)
            concatenate(p);
        else if (dice < 87)
            gather(p);
        else if (dice < 94)
            change(p);
        else if (memcmp(&first, &p->shape, sizeof first) == 0)
            combine(p, load(p, input, chance(p, 50)));
    }
    store(p, p->value, &p->shape);
    buffer_printf(out, "// seed %llu\n// grid 1\n", (unsigned long long)seed);
    for (int i = 0; i < p->view_count; i++)
        put_view(p, out, i, &parameters);
    const struct view *view = &p->views[0];
    int length = view->rows ? view->rows : view->shape.extent[view->order == TURNED && view->shape.rank == 2];
    buffer_printf(out,
                  "kernel @fuzz(%s) grid(1) level(schedule) warps(%d) {\n%%c = constant value(0) : index\n"
                  "%%long = extent dimension(0) %%x0 : index\n%%known = constant value(%d) : index\n"
                  "%%hidden = sub %%long, %%known : index\n",
                  parameters.data, p->groups << p->warp_bits, length);
    buffer_append(out, p->body.data, p->body.size);
    buffer_puts(out, "return\n}\n");
    buffer_free(&parameters);
    buffer_free(&p->body);
    arena_destroy(p->arena);
}
