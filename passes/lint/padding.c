/* Padding: a tile may reach outside of its view, and what it has there reads as 0.  Sums do not see it; a maximum of
 * negative numbers, a product, or a sum of exponentials does, and is wrong without a word.
 *
 * The walk knows two things of each axis of each tile: which places make the tile reach outside along that axis, and
 * what the elements are that lie there.  A place does not count where the author has said what to read outside, or where
 * ir/facts/inside.h proves that it lies inside.  A condition on the position, such as `col < N` or `inside(place)`, is
 * false outside; a tile selected by it has the other side's elements there, and no longer reaches outside.
 *
 *     %v = load %x[%m, 0 +: 1024], 0      along axis 0: outside of %x, 0
 *     %e = math function(exp) %v          along axis 0: outside of %x, 1
 *     %s = reduce kind(add) %e            1 is not neutral: a warning
 *
 * Loops are walked until nothing changes; then each reduction with a finding gets one warning.  The value that the
 * warning proposes to read there has been tried: the walk is done again with it. */
#include <string.h>

#include "ir/query.h"
#include "passes/lint/padding.h"

enum { STABLE_AFTER = 4, EXTREME_LOADS = 16, MOST_DEPTH = 8 };

/* ---- shades ---- */

static struct padding_shade plain(const struct ir_type *type, struct known whole)
{
    struct padding_shade shade = {.whole = known_as_value(whole, type->element)};
    for (int d = 0; d < IR_MAX_RANK; d++)
        shade.outside[d] = whole;
    return shade;
}

static struct padding_shade nothing(const struct ir_type *type) { return plain(type, known_nothing(type->element)); }

static struct padding_shade shade_of(const struct padding_walk *w, const struct ir_value *value)
{
    return w->of[value->id];
}

static void set(struct padding_walk *w, const struct ir_value *value, struct padding_shade shade)
{
    for (int d = value->type->rank; d < IR_MAX_RANK; d++) {
        shade.outside[d] = shade.whole;
        shade.pads[d] = 0;
    }
    w->of[value->id] = shade;
}

static struct padding_shade join(struct padding_shade a, struct padding_shade b)
{
    a.whole = known_join(a.whole, b.whole);
    a.turned |= b.turned;
    for (int d = 0; d < IR_MAX_RANK; d++) {
        a.outside[d] = known_join(a.outside[d], b.outside[d]);
        a.pads[d] |= b.pads[d];
    }
    return a;
}

static bool same(struct padding_shade a, struct padding_shade b)
{
    bool all = known_same(a.whole, b.whole) && a.turned == b.turned;
    for (int d = 0; d < IR_MAX_RANK; d++)
        all = all && known_same(a.outside[d], b.outside[d]) && a.pads[d] == b.pads[d];
    return all;
}

/* ---- operations ---- */

/* What an index tile says of axis `d` of what it reads: which places make it read an index that nobody meant, and whether
 * what is there names no element, as -1 does. */
static uint64_t index_pads(const struct padding_walk *w, const struct ir_value *index, int d, bool *names_none)
{
    struct padding_shade shade = shade_of(w, index);
    struct known at = known_as_value(shade.outside[d], index->type->element);
    *names_none = shade.outside[d].kind == KNOWN_POSITION || at.high < 0;
    return *names_none ? 0 : shade.pads[d];
}

/* The mask leaves out what lies outside along these axes, where it is known to be false. */
static void mask_out(struct padding_walk *w, const struct ir_operation *op, const struct ir_access *access, bool unsaid,
                     struct known other, struct padding_shade *shade)
{
    struct padding_shade mask = shade_of(w, access->mask);
    for (int d = 0; d < op->results[0]->type->rank; d++) {
        if (!known_is(mask.outside[d], 0))
            continue;
        uint64_t pad = unsaid && op->results[0]->type->element != IR_POINTER ? padding_bit(w, op, PADDING_MASK) : 0;
        shade->pads[d] |= padding_left(w, pad, op);
        shade->outside[d] = pad & w->tried ? known_number(w->instead) : other;
        shade->turned |= mask.turned & 1u << d;
    }
}

static void load(struct padding_walk *w, const struct ir_operation *op)
{
    struct ir_access access;
    const struct ir_type *type = op->results[0]->type;
    struct padding_shade shade = nothing(type);
    if (!ir_access_of(op, &access)) {
        set(w, op->results[0], shade);
        return;
    }
    bool unsaid = padding_is_unsaid(&access);
    struct known other = access.other ? shade_of(w, access.other).whole : known_nothing(type->element);
    int axis = 0;
    bool gathered = false;
    for (int d = 0; d < access.rank; d++) {
        const struct ir_type *index = access.index[d]->type;
        int first = axis, count = access.place[d] > 0 ? 1 : access.place[d] == IR_GATHER && !gathered ? index->rank : 0;
        gathered = gathered || access.place[d] == IR_GATHER;
        for (axis += count; first < axis; first++) {
            bool reaches = access.place[d] > 0;
            if (!reaches) {
                int of = first - (axis - count);
                shade.pads[first] |= index_pads(w, access.index[d], of, &reaches);
                shade.turned |= (shade_of(w, access.index[d]).turned >> of & 1) << first;
            }
            uint64_t pad = reaches && unsaid && type->element != IR_POINTER ? padding_bit(w, op, d) : 0;
            shade.pads[first] |= padding_left(w, pad, op);
            if (reaches)
                shade.outside[first] = pad & w->tried ? known_number(w->instead) : other;
        }
    }
    if (access.mask)
        mask_out(w, op, &access, unsaid, other, &shade);
    set(w, op->results[0], shade);
}

/* What exists is known to be false where the place is outside. */
static void inside(struct padding_walk *w, const struct ir_operation *op)
{
    struct padding_shade shade = nothing(op->results[0]->type);
    for (int d = 0; d < op->results[0]->type->rank; d++)
        shade.outside[d] = known_number(0);
    set(w, op->results[0], shade);
}

static void pointer_load(struct padding_walk *w, const struct ir_operation *op)
{
    struct ir_access access;
    struct padding_shade shade = nothing(op->results[0]->type);
    if (ir_access_of(op, &access) && access.mask && access.other)
        mask_out(w, op, &access, padding_is_unsaid(&access), shade_of(w, access.other).whole, &shade);
    set(w, op->results[0], shade);
}

static void iota(struct padding_walk *w, const struct ir_operation *op)
{
    struct padding_shade shade = plain(op->results[0]->type,
                                       known_between(0, (double)op->results[0]->type->extent[0] - 1));
    shade.outside[0] = (struct known){KNOWN_POSITION, 0, 1, 1};
    set(w, op->results[0], shade);
}

/* One value along the axis: a number that was stretched. */
static bool is_uniform(const struct ir_value *value, int d)
{
    const struct ir_operation *op = value->definition;
    if (value->type->rank == 0 || (op && (op->opcode == OP_SPLAT || op->opcode == OP_CONSTANT)))
        return true;
    return op && op->opcode == OP_BROADCAST && op->operands[0]->type->extent[d] == 1;
}

/* What is computed of copies of one element, and of numbers that are the same everywhere, is a copy of what is computed
 * of that element; with anything else it is not. */
static struct known keep_copies(const struct padding_walk *w, const struct ir_operation *op, int d, struct known result)
{
    bool copies = false, others = false;
    for (int i = 0; i < op->operand_count; i++) {
        bool copy = op->operands[i]->type->rank && shade_of(w, op->operands[i]).outside[d].kind == KNOWN_COPY;
        copies = copies || copy;
        others = others || (!copy && !is_uniform(op->operands[i], d));
    }
    if (copies && !others && result.kind == KNOWN_NOTHING)
        result.kind = KNOWN_COPY;
    if (others && result.kind == KNOWN_COPY)
        result.kind = KNOWN_NOTHING;
    return result;
}

/* The bit of the axis, where one of the operands has what lies outside in front. */
static unsigned turned_by(const struct padding_walk *w, const struct ir_operation *op, int d)
{
    unsigned turned = 0;
    for (int i = 0; i < op->operand_count; i++)
        turned |= op->operands[i]->type->rank ? shade_of(w, op->operands[i]).turned & 1u << d : 0;
    return turned;
}

/* What an operand is where the result lies outside.  Beside a tile that is turned around, one that is not has its other
 * end there: a condition on the position that is false at one end is true at the other. */
static struct known outside_of(const struct padding_walk *w, const struct ir_value *operand, int d, unsigned turned)
{
    struct padding_shade of = shade_of(w, operand);
    if (!operand->type->rank || (turned && !(of.turned & turned) && !of.pads[d] && operand->type->element != IR_BOOL))
        return of.whole;
    bool other_end = turned && !(of.turned & turned) && !of.pads[d] && of.outside[d].kind == KNOWN_NUMBER;
    return other_end ? known_number(of.outside[d].low == 0) : of.outside[d];
}

/* Scalars go with all axes. */
static void elementwise(struct padding_walk *w, const struct ir_operation *op)
{
    const struct ir_type *type = op->results[0]->type;
    struct known operand[3];
    struct padding_shade shade = nothing(type);
    if (op->operand_count > 3 || op->result_count != 1) {
        for (int i = 0; i < op->result_count; i++)
            set(w, op->results[i], nothing(op->results[i]->type));
        return;
    }
    for (int i = 0; i < op->operand_count; i++)
        operand[i] = shade_of(w, op->operands[i]).whole;
    shade.whole = known_as_value(known_compute(op, operand), type->element);
    for (int d = 0; d < type->rank; d++) {
        unsigned turned = turned_by(w, op, d);
        shade.turned |= turned;
        for (int i = 0; i < op->operand_count; i++) {
            operand[i] = outside_of(w, op->operands[i], d, turned);
            shade.pads[d] |= op->operands[i]->type->rank ? shade_of(w, op->operands[i]).pads[d] : 0;
        }
        shade.outside[d] = keep_copies(w, op, d, known_compute(op, operand));
        if (op->opcode == OP_SELECT && operand[0].kind == KNOWN_NUMBER) { /* the other side is not looked at there */
            const struct ir_value *dropped = op->operands[known_is(operand[0], 0) ? 1 : 2];
            uint64_t kept = 0;
            for (int i = 0; i < 3; i++)
                kept |= op->operands[i] != dropped && op->operands[i]->type->rank ? shade_of(w, op->operands[i]).pads[d]
                                                                                  : 0;
            shade.pads[d] = kept;
        }
    }
    set(w, op->results[0], shade);
}

static void map(struct padding_walk *w, const struct ir_operation *op)
{
    struct padding_shade shade[IR_MAX_RANK];
    struct known arguments[2 * IR_MAX_RANK], results[IR_MAX_RANK];
    bool fits = op->operand_count <= 2 * IR_MAX_RANK && op->result_count <= IR_MAX_RANK;
    for (int i = 0; i < op->result_count; i++)
        set(w, op->results[i], nothing(op->results[i]->type));
    if (!fits || op->result_count == 0)
        return;
    for (int i = 0; i < op->result_count; i++)
        shade[i] = nothing(op->results[i]->type);
    for (int d = -1; d < op->results[0]->type->rank; d++) {
        uint64_t pads = 0;
        unsigned turned = d >= 0 ? turned_by(w, op, d) : 0;
        for (int i = 0; i < op->operand_count; i++) {
            struct padding_shade of = shade_of(w, op->operands[i]);
            bool tile = d >= 0 && op->operands[i]->type->rank;
            arguments[i] = tile ? outside_of(w, op->operands[i], d, turned) : of.whole;
            pads |= tile ? of.pads[d] : 0;
        }
        bool good = known_compute_region(w->of_region, op->regions[0], arguments, results);
        for (int i = 0; i < op->result_count; i++) {
            struct known result = good ? results[i] : known_nothing(op->results[i]->type->element);
            if (d < 0)
                shade[i].whole = result;
            else {
                shade[i].outside[d] = keep_copies(w, op, d, result);
                shade[i].pads[d] = pads;
                shade[i].turned |= turned;
            }
        }
    }
    for (int i = 0; i < op->result_count; i++)
        set(w, op->results[i], shade[i]);
}

/* ---- shapes ---- */

static void permute(struct padding_walk *w, const struct ir_operation *op)
{
    struct padding_shade from = shade_of(w, op->operands[0]), to = from;
    const struct ir_attribute *permutation = ir_attribute(op, IR_ATTRIBUTE_PERMUTATION);
    to.turned = 0;
    for (int d = 0; d < permutation->count; d++) {
        to.turned |= (from.turned >> permutation->list[d] & 1) << d;
        to.outside[d] = from.outside[permutation->list[d]];
        to.pads[d] = from.pads[permutation->list[d]];
    }
    set(w, op->results[0], to);
}

/* An extent of 1 that is stretched says nothing of where along it one is. */
static void broadcast(struct padding_walk *w, const struct ir_operation *op)
{
    const struct ir_type *from = op->operands[0]->type, *to = op->results[0]->type;
    struct padding_shade shade = shade_of(w, op->operands[0]);
    for (int d = 0; d < to->rank; d++)
        if (from->rank == 0 || (from->extent[d] == 1 && to->extent[d] != 1)) {
            shade.outside[d] = shade.whole;
            shade.pads[d] = 0;
            shade.turned &= ~(1u << d);
        }
    set(w, op->results[0], shade);
}

static void flip(struct padding_walk *w, const struct ir_operation *op)
{
    struct padding_shade shade = shade_of(w, op->operands[0]);
    shade.turned ^= 1u << ir_number(op, IR_ATTRIBUTE_AXIS, 0);
    set(w, op->results[0], shade);
}

/* Dimensions from both sides form groups of equally many elements; all that is known of a group goes to each of its
 * dimensions. */
static void reshape(struct padding_walk *w, const struct ir_operation *op)
{
    const struct ir_type *from = op->operands[0]->type, *to = op->results[0]->type;
    struct padding_shade old = shade_of(w, op->operands[0]), new = plain(to, old.whole);
    int i = 0, k = 0;
    while (i < from->rank || k < to->rank) {
        int first = i, target = k;
        int64_t a = 1, b = 1;
        do {
            if (i < from->rank && (a <= b || k == to->rank))
                a *= from->extent[i++];
            else if (k < to->rank)
                b *= to->extent[k++];
        } while (a != b && (i < from->rank || k < to->rank));
        struct known outside = old.whole;
        uint64_t pads = 0;
        bool turned = false, any = false,
             reaches = false; /* outside: along one of the dimensions that something lies outside of */
        for (int d = first; d < i; d++)
            reaches |= from->extent[d] != 1 && old.pads[d];
        for (int d = first; d < i; d++) {
            if (from->extent[d] == 1 || (reaches && !old.pads[d]))
                continue;
            outside = any ? known_join(outside, old.outside[d]) : old.outside[d];
            pads |= old.pads[d];
            turned = turned || old.turned >> d & 1;
            any = true;
        }
        for (int d = target; d < k; d++)
            if (to->extent[d] != 1) {
                new.turned |= (unsigned)turned << d;
                new.outside[d] = outside;
                new.pads[d] = pads;
            }
    }
    set(w, op->results[0], new);
}

/* Of tiles one behind the other those count that reach outside. */
static void concatenate(struct padding_walk *w, const struct ir_operation *op)
{
    struct padding_shade all = nothing(op->results[0]->type);
    for (int i = 0; i < op->operand_count; i++) {
        struct padding_shade part = shade_of(w, op->operands[i]);
        all.whole = i ? known_join(all.whole, part.whole) : part.whole;
        all.turned |= part.turned;
        for (int d = 0; d < op->results[0]->type->rank; d++) {
            if (part.pads[d] || i == 0)
                all.outside[d] = all.pads[d] ? known_join(all.outside[d], part.outside[d]) : part.outside[d];
            all.pads[d] |= part.pads[d];
        }
    }
    set(w, op->results[0], all);
}

/* Whether a tile is made of positions and numbers alone: as an index it names elements whatever they are. */
static bool is_of_positions(const struct ir_value *value, int depth)
{
    const struct ir_operation *op = value->definition;
    if (!op || depth == 0)
        return false;
    if (op->opcode == OP_IOTA || op->opcode == OP_CONSTANT)
        return true;
    bool all = ir_has_trait(op, IR_TRAIT_ELEMENTWISE) || op->opcode == OP_SPLAT || op->opcode == OP_BROADCAST ||
               op->opcode == OP_RESHAPE;
    for (int i = 0; i < op->operand_count && all; i++)
        all = is_of_positions(op->operands[i], depth - 1);
    return all;
}

/* An index that lies outside names no element, or, read as 0, the first one.  One that is made of positions names what lies
 * outside of the tile that it is an index of, too. */
static void gather(struct padding_walk *w, const struct ir_operation *op)
{
    int axis = (int)ir_number(op, IR_ATTRIBUTE_AXIS, 0);
    struct padding_shade from = shade_of(w, op->operands[0]), index = shade_of(w, op->operands[1]);
    struct padding_shade shade = nothing(op->results[0]->type);
    shade.whole = known_join(from.whole, known_number(0));
    for (int d = 0; d < op->results[0]->type->rank; d++) {
        struct known at = known_as_value(index.outside[d], op->operands[1]->type->element);
        shade.turned |= (index.turned | (d == axis ? 0 : from.turned)) & 1u << d;
        bool names_none = at.high < 0 || at.low >= (double)op->operands[0]->type->extent[axis];
        shade.pads[d] = index.pads[d] | (d == axis ? 0 : from.pads[d]);
        shade.outside[d] = names_none ? known_number(0) : d == axis ? shade.whole : from.outside[d];
        if (d == axis && !index.pads[d] && from.pads[d] && is_of_positions(op->operands[1], MOST_DEPTH)) {
            shade.pads[d] = from.pads[d];
            shade.outside[d] = from.outside[d];
        }
    }
    set(w, op->results[0], shade);
}

/* ---- reductions ---- */

static void find(struct padding_walk *w, const struct ir_operation *op, uint64_t pads, struct known outside)
{
    pads = padding_left(w, pads, op);
    if (w->reports && pads)
        vector_push(w->lint->arena, &w->findings, ((struct padding_finding){op, pads, outside}));
}

static bool has_branches(const struct ir_block *block)
{
    for (const struct ir_operation *op = block->first; op; op = op->next)
        if (op->region_count)
            return true;
    return false;
}

/* What any number of such elements come to by the operation's function; false: there is more in it than scalars. */
static bool combine_outside(struct padding_walk *w, const struct ir_operation *op, int n, int axis, struct known *all)
{
    struct known arguments[2 * IR_MAX_RANK] = {0}, results[IR_MAX_RANK];
    for (int i = 0; i < n; i++)
        all[i] = known_as_value(shade_of(w, op->operands[i]).outside[axis], op->operands[i]->type->element);
    for (int round = 0; round <= STABLE_AFTER; round++) {
        bool stable = true;
        for (int i = 0; i < n; i++) {
            arguments[i] = all[i];
            arguments[n + i] = known_as_value(shade_of(w, op->operands[i]).outside[axis],
                                              op->operands[i]->type->element);
        }
        if (!known_compute_region(w->of_region, op->regions[0], arguments, results))
            return false;
        for (int i = 0; i < n; i++) {
            struct known joined = known_join(all[i], results[i]);
            stable = stable && known_same(joined, all[i]);
            all[i] = joined;
        }
        if (stable)
            return true;
    }
    for (int i = 0; i < n; i++)
        all[i] = known_nothing(op->operands[i]->type->element);
    return true;
}

/* The results that somebody uses, and those that these are computed from in the next step, a bit each.  A flat region. */
static uint64_t results_that_matter(struct padding_walk *w, const struct ir_operation *op, int n)
{
    const struct ir_block *body = op->regions[0];
    const struct ir_operation *end = ir_terminator(body);
    uint64_t matter = 0, before;
    for (int i = 0; i < body->arguments.count; i++)
        w->left_part[body->arguments.data[i]->id] = i < n ? UINT64_C(1) << i : 0;
    for (const struct ir_operation *inner = body->first; inner != end; inner = inner->next) {
        uint64_t *part = &w->left_part[inner->results[0]->id];
        *part = 0;
        for (int i = 0; i < inner->operand_count; i++)
            *part |= w->left_part[inner->operands[i]->id];
    }
    for (int i = 0; i < n; i++)
        if (op->results[i]->uses)
            matter |= UINT64_C(1) << i;
    do {
        before = matter;
        for (int i = 0; i < n; i++)
            if (matter >> i & 1)
                matter |= w->left_part[end->operands[i]->id];
    } while (matter != before);
    return matter;
}

/* Whether what lies outside, on the right, or where a scan goes from the end on the left, leaves the other side as it is. */
static bool region_keeps_inside(struct padding_walk *w, const struct ir_operation *op, int n, int axis,
                                bool outside_first)
{
    struct known arguments[2 * IR_MAX_RANK] = {0}, results[IR_MAX_RANK];
    bool copies = true;
    if (n > IR_MAX_RANK || has_branches(op->regions[0]))
        return true;
    struct known *within = arguments + (outside_first ? n : 0), *outside = arguments + (outside_first ? 0 : n);
    if (!combine_outside(w, op, n, axis, outside))
        return true; /* more than scalars: nothing is known */
    for (int i = 0; i < n; i++) {
        struct padding_shade shade = shade_of(w, op->operands[i]);
        enum known_kind kind = shade.outside[axis].kind;
        within[i] = (struct known){KNOWN_LEFT, i, shade.whole.low, shade.whole.high};
        copies = copies && (kind == KNOWN_COPY || kind == KNOWN_POSITION);
    }
    if (copies) /* such as the first position of a sum that has been reached */
        return true;
    if (!known_compute_region(w->of_region, op->regions[0], arguments, results))
        return true;
    uint64_t matter = results_that_matter(w, op, n);
    for (int i = 0; i < n; i++)
        if (matter >> i & 1 && (results[i].kind != KNOWN_LEFT || results[i].left != i))
            return false;
    return true;
}

static void reduce(struct padding_walk *w, const struct ir_operation *op)
{
    int axis = (int)ir_number(op, IR_ATTRIBUTE_AXIS, 0);
    enum ir_reduce_kind kind = (enum ir_reduce_kind)ir_number(op, IR_ATTRIBUTE_KIND, IR_REDUCE_ADD);
    uint64_t pads = 0;
    for (int i = 0; i < op->operand_count; i++)
        pads |= shade_of(w, op->operands[i]).pads[axis];
    struct padding_shade first = shade_of(w, op->operands[0]);
    struct known outside = known_as_value(first.outside[axis], op->operands[0]->type->element);
    bool neutral = kind == IR_REDUCE_REGION ? !pads || region_keeps_inside(w, op, op->operand_count, axis, false)
                                            : known_is_neutral(kind, outside, first.whole);
    if (!neutral)
        find(w, op, pads, outside);
    for (int i = 0; i < op->result_count; i++) {
        struct padding_shade old = shade_of(w, op->operands[i]), new = nothing(op->results[i]->type);
        if (kind != IR_REDUCE_REGION)
            new.whole = known_reduce(kind, old.whole);
        for (int d = 0, k = 0; d < op->operands[i]->type->rank; d++) {
            if (d == axis)
                continue;
            new.outside[k] = kind == IR_REDUCE_REGION
                                 ? new.whole
                                 : known_reduce(kind, known_as_value(old.outside[d], op->results[i]->type->element));
            new.turned |= (old.turned >> d & 1) << k;
            new.pads[k++] = old.pads[d];
        }
        set(w, op->results[i], new);
    }
}

/* What lies outside comes last, where nothing that is there looks at it; from the end it comes first.  Where it changes
 * nothing, what stands there is the last element once more, or from the end what nothing comes to. */
static void scan(struct padding_walk *w, const struct ir_operation *op)
{
    int axis = (int)ir_number(op, IR_ATTRIBUTE_AXIS, 0), n = op->result_count;
    enum ir_reduce_kind kind = (enum ir_reduce_kind)ir_number(op, IR_ATTRIBUTE_KIND, IR_REDUCE_ADD);
    bool reverse = ir_number(op, IR_ATTRIBUTE_REVERSE, 0), exclusive = ir_number(op, IR_ATTRIBUTE_EXCLUSIVE, 0);
    bool neutral = true;
    struct padding_shade first = shade_of(w, op->operands[0]);
    uint64_t pads = 0;
    for (int i = 0; i < n; i++)
        pads |= shade_of(w, op->operands[i]).pads[axis];
    bool outside_first = reverse != (turned_by(w, op, axis) != 0);
    if (pads)
        neutral = kind == IR_REDUCE_REGION
                      ? region_keeps_inside(w, op, n, axis, outside_first)
                      : known_is_neutral(kind, known_as_value(first.outside[axis], op->operands[0]->type->element),
                                         first.whole);
    if (outside_first && !neutral)
        find(w, op, pads, known_as_value(first.outside[axis], op->operands[0]->type->element));
    struct known along[IR_MAX_RANK][IR_MAX_RANK];
    for (int d = 0; d < op->operands[0]->type->rank; d++)
        if (n > IR_MAX_RANK || kind != IR_REDUCE_REGION || !combine_outside(w, op, n, d, along[d]))
            for (int i = 0; i < n && i < IR_MAX_RANK; i++)
                along[d][i] = kind == IR_REDUCE_REGION
                                  ? known_nothing(op->results[i]->type->element)
                                  : known_reduce(kind, known_as_value(shade_of(w, op->operands[i]).outside[d],
                                                                      op->results[i]->type->element));
    for (int i = 0; i < n; i++) {
        struct padding_shade old = shade_of(w, op->operands[i]), new = nothing(op->results[i]->type);
        struct known initial = exclusive ? shade_of(w, op->operands[n + i]).whole : new.whole;
        for (int d = 0; d < op->results[i]->type->rank && i < IR_MAX_RANK; d++) {
            new.pads[d] = old.pads[d];
            new.turned |= old.turned & 1u << d;
            if (d != axis || outside_first)
                new.outside[d] = exclusive ? known_join(along[d][i], initial) : along[d][i];
            else if (kind == IR_REDUCE_MUL && !exclusive && known_is(old.outside[d], 0))
                new.outside[d] = known_number(0); /* whatever stands in front */
            else if (neutral && !exclusive)
                new.outside[d].kind = KNOWN_COPY;
        }
        if (outside_first && !neutral)
            new.pads[axis] = 0;
        set(w, op->results[i], new);
    }
}

/* What lies outside must come last in the order, or it stands among the others, whose places are then no longer known. */
static void sort(struct padding_walk *w, const struct ir_operation *op)
{
    int axis = (int)ir_number(op, IR_ATTRIBUTE_AXIS, 0);
    bool descending = ir_number(op, IR_ATTRIBUTE_DESCENDING, 0);
    struct padding_shade key = shade_of(w, op->operands[0]);
    struct known outside = known_as_value(key.outside[axis], op->operands[0]->type->element);
    bool last = known_is_neutral(descending ? IR_REDUCE_MAX : IR_REDUCE_MIN, outside, key.whole);
    uint64_t pads = padding_left(w, key.pads[axis], op);
    if (pads && !last)
        find(w, op, pads, outside);
    for (int i = 0; i < op->result_count; i++) {
        struct padding_shade shade = nothing(op->results[i]->type);
        if (i < op->operand_count)
            shade = shade_of(w, op->operands[i]);
        else
            shade.outside[axis] = (struct known){KNOWN_POSITION, 0, 1, 1};
        shade.turned &= ~(1u << axis);
        if (!pads || !last) {
            shade.outside[axis] = shade.whole;
            shade.pads[axis] = 0;
        } else {
            shade.pads[axis] = pads;
        }
        set(w, op->results[i], shade);
    }
}

/* Each element that is a bin's number counts. */
static void histogram(struct padding_walk *w, const struct ir_operation *op)
{
    struct padding_shade shade = shade_of(w, op->operands[0]);
    double bins = (double)op->results[0]->type->extent[0];
    for (int d = 0; d < op->operands[0]->type->rank; d++) {
        struct known outside = known_as_value(shade.outside[d], op->operands[0]->type->element);
        if (outside.high >= 0 && outside.low < bins)
            find(w, op, shade.pads[d], outside);
    }
    set(w, op->results[0], nothing(op->results[0]->type));
}

/* a @ b + c sums along the last axis of a, the one before the last of b: 0 on one side is enough. */
static void dot(struct padding_walk *w, const struct ir_operation *op)
{
    int rank = op->operands[0]->type->rank;
    struct padding_shade a = shade_of(w, op->operands[0]), b = shade_of(w, op->operands[1]),
                         c = shade_of(w, op->operands[2]);
    struct padding_shade result = nothing(op->results[0]->type);
    if (!known_is(a.outside[rank - 1], 0) && !known_is(b.outside[rank - 2], 0))
        find(w, op, a.pads[rank - 1] | b.pads[rank - 2], a.outside[rank - 1]);
    result.pads[rank - 2] = a.pads[rank - 2] | c.pads[rank - 2];
    result.pads[rank - 1] = b.pads[rank - 1] | c.pads[rank - 1];
    if (known_is(a.outside[rank - 2], 0))
        result.outside[rank - 2] = c.outside[rank - 2];
    if (known_is(b.outside[rank - 1], 0))
        result.outside[rank - 1] = c.outside[rank - 1];
    set(w, op->results[0], result);
}

/* ---- index tiles of what writes, and min and max of neighbours ---- */

static bool changes_nothing(const struct padding_walk *w, const struct ir_operation *op, const struct ir_value *value,
                            int d)
{
    struct padding_shade shade = shade_of(w, value);
    bool adds = op->opcode == OP_ATOMIC && ir_number(op, IR_ATTRIBUTE_ACTION, 0) == IR_ACTION_ADD;
    return adds && known_is(value->type->rank ? shade.outside[d] : shade.whole, 0);
}

/* Of two parameters, by one name. */
static bool same_extent(const struct padding_walk *w, const struct ir_value *x, int d, const struct ir_value *y, int e)
{
    if (x->definition || y->definition || x->block->parent || y->block->parent ||
        int64_max(x->index, y->index) >= w->function->facts.count)
        return false;
    const struct ir_argument_fact *facts = w->function->facts.data;
    return facts[x->index].extent_class[d] && facts[x->index].extent_class[d] == facts[y->index].extent_class[e];
}

/* y[m, 0 +: B] = flip(x[m, 0 +: B]): what lies outside of x comes first, and the first elements behind the end of y. */
static void store_turned(struct padding_walk *w, const struct ir_operation *op, const struct ir_access *access)
{
    struct padding_shade shade = shade_of(w, access->value);
    for (int d = 0, axis = 0; d < access->rank; d++) {
        if (access->place[d] == IR_GATHER)
            return;
        if (access->place[d] == 0)
            continue;
        for (int i = 0; i < w->pad_count && shade.turned >> axis & 1; i++) {
            struct ir_access from;
            const struct padding_pad *pad = &w->pads[i];
            if (shade.pads[axis] >> i & 1 && pad->dimension != PADDING_MASK && ir_access_of(pad->load, &from) &&
                same_extent(w, from.view, pad->dimension, access->view, d) &&
                padding_same_index(from.index[pad->dimension], access->index[d]))
                find(w, op, UINT64_C(1) << i, shade.outside[axis]);
        }
        axis++;
    }
}

/* The tiles one behind the other that are stored, or that something is computed of which is; NULL: there are none. */
static const struct ir_operation *joined_by(const struct ir_value *value, int depth)
{
    const struct ir_operation *op = value->definition, *found = NULL;
    if (!op || depth == 0 || op->opcode == OP_CONCATENATE)
        return op && op->opcode == OP_CONCATENATE ? op : NULL;
    for (int i = 0; i < op->operand_count && !found; i++)
        if (op->opcode == OP_CAST || (op->operand_count == 2 && ir_has_trait(op, IR_TRAIT_ELEMENTWISE)))
            found = joined_by(op->operands[i], depth - 1);
    return found;
}

/* y[m, 0 +: 2*B] = cat(a[m, 0 +: B], b[m, 0 +: B]): what lies outside of a comes between the two. */
static void store_joined(struct padding_walk *w, const struct ir_operation *op, const struct ir_access *access)
{
    const struct ir_operation *parts = access->mask ? NULL : joined_by(access->value, MOST_DEPTH);
    int axis = parts ? (int)ir_number(parts, IR_ATTRIBUTE_AXIS, 0) : 0;
    for (int d = 0; d < access->rank; d++)
        if (access->place[d] == IR_GATHER)
            return;
    for (int i = 0; parts && i + 1 < parts->operand_count; i++) {
        struct padding_shade shade = shade_of(w, parts->operands[i]);
        if (shade.pads[axis]) {
            find(w, op, shade.pads[axis], shade.outside[axis]);
            return;
        }
    }
}

/* What an index tile has outside of its own view names an element, most often the first, and that is written, too. */
static void write_at_tiles(struct padding_walk *w, const struct ir_operation *op)
{
    struct ir_access access;
    for (int i = 0; i < op->result_count; i++)
        set(w, op->results[i], nothing(op->results[i]->type));
    if (!ir_access_of(op, &access) || !access.value)
        return;
    store_turned(w, op, &access);
    store_joined(w, op, &access);
    for (int k = 0, axis = 0; k < access.rank; k++) {
        if (access.place[k] != IR_GATHER) {
            axis += access.place[k] > 0;
            continue;
        }
        for (int d = 0; d < access.index[k]->type->rank; d++) {
            bool names_none;
            uint64_t pads = index_pads(w, access.index[k], d, &names_none);
            bool masked = access.mask && known_is(shade_of(w, access.mask).outside[axis + d], 0);
            if (!masked && pads && !changes_nothing(w, op, access.value, axis + d))
                find(w, op, pads,
                     known_as_value(shade_of(w, access.index[k]).outside[d], access.index[k]->type->element));
        }
        return; /* several stand side by side */
    }
}

/* The loads that a minimum or maximum of several is made of; and whether a value that a loop carries is among them. */
struct extreme {
    const struct ir_operation *loads[EXTREME_LOADS];
    const struct ir_value *carried;
    int count;
};

static void collect_extreme(const struct ir_value *value, enum ir_opcode opcode, struct extreme *all)
{
    const struct ir_operation *op = value->definition;
    if (op && (op->opcode == opcode || op->opcode == OP_CAST))
        for (int i = 0; i < op->operand_count; i++)
            collect_extreme(op->operands[i], opcode, all);
    else if (op && op->opcode == OP_LOAD && all->count < EXTREME_LOADS)
        all->loads[all->count++] = op;
    else if (!op && value->block->parent && value->block->parent->opcode == OP_FOR && value->index > 0)
        all->carried = value;
}

static bool is_computed_from(const struct ir_value *value, const struct ir_value *from, int depth)
{
    if (value == from)
        return true;
    for (int i = 0; value->definition && depth && i < value->definition->operand_count; i++)
        if (is_computed_from(value->definition->operands[i], from, depth - 1))
            return true;
    return false;
}

/* Whether two loads are of one view, and of places that differ in one dimension alone, by a number: the pads of both in
 * that dimension. */
static uint64_t neighbours(struct padding_walk *w, const struct ir_operation *one, const struct ir_operation *two)
{
    struct ir_access a, b;
    uint64_t pads = 0;
    if (!ir_access_of(one, &a) || !ir_access_of(two, &b) || a.view != b.view || a.mask || b.mask ||
        !padding_is_unsaid(&a) || !padding_is_unsaid(&b))
        return 0;
    for (int d = 0; d < a.rank; d++) {
        if (a.place[d] != b.place[d])
            return 0;
        if (a.index[d] == b.index[d] || (a.place[d] >= 0 && padding_same_index(a.index[d], b.index[d])))
            continue;
        if (a.place[d] < 0 || pads || !padding_same_index(padding_base_of(a.index[d]), padding_base_of(b.index[d])))
            return 0;
        pads = padding_bit(w, one, d) | padding_bit(w, two, d);
    }
    return pads;
}

/* Whether the place moves along with the loop by less than it is wide: turns meet at elements, and are no parts of a row. */
static bool is_window(const struct ir_access *access, int d, const struct ir_operation *loop)
{
    int64_t step;
    bool narrow = access->place[d] == 0 ||
                  (access->place[d] > 0 && ir_constant_integer(loop->operands[2], &step) && step < access->place[d]);
    return narrow && is_computed_from(access->index[d], loop->regions[0]->arguments.data[0], MOST_DEPTH);
}

/* Of a minimum of minima the outermost speaks for all. */
static bool is_outermost(const struct ir_operation *op)
{
    for (const struct ir_use *use = op->results[0]->uses; use; use = use->next)
        if (use->user->opcode == op->opcode)
            return false;
    return true;
}

/* A minimum or maximum over neighbours, written out or gone through by a loop: at the edge 0 is taken for one.
 *     max(x[i - 1 +: B], x[i +: B])        for d in -1..2 m = max(m, x[h + d, i +: B]); */
static void extreme(struct padding_walk *w, const struct ir_operation *op)
{
    struct extreme all = {0};
    enum ir_reduce_kind kind = op->opcode == OP_MIN ? IR_REDUCE_MIN : IR_REDUCE_MAX;
    struct known whole = shade_of(w, op->results[0]).whole, outside = known_number(0);
    if (!w->reports || !is_outermost(op))
        return;
    collect_extreme(op->operands[0], op->opcode, &all);
    collect_extreme(op->operands[1], op->opcode, &all);
    uint64_t pads = 0;
    for (int i = 0; i < all.count; i++) {
        struct ir_access access;
        for (int k = 0; k < i; k++)
            pads |= neighbours(w, all.loads[i], all.loads[k]);
        if (!all.carried || !ir_access_of(all.loads[i], &access) || access.mask || !padding_is_unsaid(&access))
            continue;
        for (int d = 0; d < access.rank; d++)
            if (is_window(&access, d, all.carried->block->parent))
                pads |= padding_bit(w, all.loads[i], d);
    }
    pads = padding_left(w, pads, op);
    if (pads && !(pads & ~w->tried))
        outside = known_number(w->instead);
    if (!known_is_neutral(kind, outside, whole))
        find(w, op, pads, outside);
}

/* ---- regions ---- */

static void walk_block(struct padding_walk *w, const struct ir_block *block);

static struct padding_shade filtered(const struct padding_walk *w, const struct ir_operation *terminator, int operand)
{
    struct padding_shade shade = shade_of(w, terminator->operands[operand]);
    for (int d = 0; d < terminator->operands[operand]->type->rank; d++)
        shade.pads[d] = padding_left(w, shade.pads[d], terminator);
    return shade;
}

/* Joins what comes round again; true: something changed.  After some rounds nothing but pads is kept. */
static bool feed_back(struct padding_walk *w, struct ir_value *const *arguments, int count,
                      const struct ir_operation *end, int first, int round)
{
    bool changed = false;
    for (int i = 0; i < count; i++) {
        struct padding_shade old = shade_of(w, arguments[i]), now = join(old, filtered(w, end, first + i));
        if (same(old, now))
            continue;
        if (round >= STABLE_AFTER) {
            struct padding_shade wide = nothing(arguments[i]->type);
            memcpy(wide.pads, now.pads, sizeof wide.pads);
            now = wide;
        }
        set(w, arguments[i], now);
        changed = changed || !same(old, shade_of(w, arguments[i]));
    }
    return changed;
}

static void walk_loop(struct padding_walk *w, const struct ir_operation *op)
{
    const struct ir_block *head = op->regions[0], *body = op->regions[op->region_count - 1];
    int skipped = op->opcode == OP_FOR ? 3 : 0, own = op->opcode == OP_FOR ? 1 : 0;
    int count = op->operand_count - skipped;
    bool reports = w->reports;
    if (own)
        set(w, head->arguments.data[0], nothing(head->arguments.data[0]->type));
    for (int i = 0; i < count; i++)
        set(w, head->arguments.data[own + i], shade_of(w, op->operands[skipped + i]));
    w->reports = false;
    for (int round = 0;; round++) {
        bool last = round > 0 && !feed_back(w, head->arguments.data + own, count, ir_terminator(body), 0, round);
        if (last && !reports)
            break;
        w->reports = last && reports;
        walk_block(w, head);
        if (op->opcode == OP_WHILE) {
            for (int i = 0; i < count; i++)
                set(w, body->arguments.data[i], filtered(w, ir_terminator(head), 1 + i));
            walk_block(w, body);
        }
        if (last)
            break;
    }
    w->reports = reports;
    for (int i = 0; i < op->result_count; i++)
        set(w, op->results[i],
            op->opcode == OP_FOR ? shade_of(w, head->arguments.data[own + i])
                                 : filtered(w, ir_terminator(head), 1 + i));
}

static void walk_if(struct padding_walk *w, const struct ir_operation *op)
{
    walk_block(w, op->regions[0]);
    walk_block(w, op->regions[1]);
    for (int i = 0; i < op->result_count; i++)
        set(w, op->results[i],
            join(filtered(w, ir_terminator(op->regions[0]), i), filtered(w, ir_terminator(op->regions[1]), i)));
}

static void walk_operation(struct padding_walk *w, const struct ir_operation *op)
{
    switch (op->opcode) {
    case OP_FOR:
    case OP_WHILE: walk_loop(w, op); return;
    case OP_IF: walk_if(w, op); return;
    case OP_LOAD: load(w, op); return;
    case OP_POINTER_LOAD: pointer_load(w, op); return;
    case OP_INSIDE: inside(w, op); return;
    case OP_IOTA: iota(w, op); return;
    case OP_MAP: map(w, op); return;
    case OP_REDUCE: reduce(w, op); return;
    case OP_SCAN: scan(w, op); return;
    case OP_SORT: sort(w, op); return;
    case OP_HISTOGRAM: histogram(w, op); return;
    case OP_CONCATENATE: concatenate(w, op); return;
    case OP_GATHER: gather(w, op); return;
    case OP_DOT: dot(w, op); return;
    case OP_SPLAT:
    case OP_BROADCAST: broadcast(w, op); return;
    case OP_RESHAPE: reshape(w, op); return;
    case OP_PERMUTE: permute(w, op); return;
    case OP_FLIP: flip(w, op); return;
    case OP_STORE:
    case OP_ATOMIC:
    case OP_ATOMIC_CAS: write_at_tiles(w, op); return;
    case OP_EXTRACT: set(w, op->results[0], shade_of(w, op->operands[0])); return;
    default: break;
    }
    if (op->opcode == OP_CONSTANT || ir_has_trait(op, IR_TRAIT_ELEMENTWISE)) {
        elementwise(w, op);
        if (op->opcode == OP_MIN || op->opcode == OP_MAX)
            extreme(w, op);
        return;
    }
    for (int i = 0; i < op->result_count; i++)
        set(w, op->results[i], nothing(op->results[i]->type));
}

static void walk_block(struct padding_walk *w, const struct ir_block *block)
{
    for (const struct ir_operation *op = block->first; op; op = op->next)
        walk_operation(w, op);
}

void padding_walk_function(struct padding_walk *w)
{
    w->findings.count = 0;
    for (int i = 0; i < w->function->body->arguments.count; i++)
        set(w, w->function->body->arguments.data[i], nothing(w->function->body->arguments.data[i]->type));
    w->reports = true;
    walk_block(w, w->function->body);
}

void lint_padding(const struct lint *lint, const struct ir_function *function)
{
    struct padding_walk w = {.lint = lint,
                             .function = function,
                             .of = ARENA_ARRAY(lint->arena, struct padding_shade, function->next_value_id),
                             .of_region = ARENA_ARRAY(lint->arena, struct known, function->next_value_id),
                             .left_part = ARENA_ARRAY(lint->arena, uint64_t, function->next_value_id)};
    padding_walk_function(&w);
    padding_report(&w);
}
