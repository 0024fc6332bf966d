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
#include <ctype.h>
#include <string.h>

#include "ir/facts/inside.h"
#include "ir/query.h"
#include "passes/lint/lint.h"
#include "passes/lint/padding_value.h"

enum { MOST_PADS = 64, STABLE_AFTER = 4 };

/* One dimension of a load that may reach outside. */
struct pad {
    const struct ir_operation *load;
    int dimension;
};
/* Of a value: all its elements, and those outside along each axis. */
struct shade {
    struct known whole, outside[IR_MAX_RANK];
    uint64_t pads[IR_MAX_RANK]; /* a bit a pad */
};
struct finding {
    const struct ir_operation *op; /* a reduction or a product */
    uint64_t pads;
    struct known outside;
};
struct walk {
    const struct lint *lint;
    const struct ir_function *function;
    struct shade *of;        /* by value id */
    struct known *of_region; /* room for the values of a region */
    uint64_t *left_part;     /* of these, the scalars of the left part that they are computed from, a bit each */
    struct pad pads[MOST_PADS];
    int pad_count;
    bool reports;
    VECTOR(struct finding) findings;
    uint64_t tried; /* loads of these pads read `instead` outside */
    double instead;
};

/* ---- pads ---- */

/* Nobody wrote what this load reads outside: the front end's own 0 has no place. */
static bool is_unsaid(const struct ir_operation *load, const struct ir_access *access)
{
    const struct ir_operation *other = access->other ? access->other->definition : NULL;
    return other && other->opcode == OP_CONSTANT && !other->at.source && !access->mask && load->opcode == OP_LOAD;
}

/* What is counted on: `j` of j + 64. */
static const struct ir_value *base_of(const struct ir_value *value)
{
    int64_t number;
    for (const struct ir_operation *op = value->definition; op; op = value->definition) {
        bool adds = op->opcode == OP_ADD || op->opcode == OP_SUB;
        if (op->opcode == OP_CAST)
            value = op->operands[0];
        else if (adds && ir_constant_integer(op->operands[1], &number))
            value = op->operands[0];
        else if (op->opcode == OP_ADD && ir_constant_integer(op->operands[0], &number))
            value = op->operands[1];
        else
            break;
    }
    return value;
}

/* Whether a condition that holds keeps the index under something, or with an index that is a number (base NULL) an
 * extent above something, whatever that is: whoever asks has thought of it. */
static bool is_bounded(const struct ir_value *condition, bool holds, const struct ir_value *base)
{
    const struct ir_operation *op = condition->definition;
    if (!op)
        return false;
    if (op->opcode == OP_NOT)
        return is_bounded(op->operands[0], !holds, base);
    if (op->opcode == (holds ? OP_AND : OP_OR))
        return is_bounded(op->operands[0], holds, base) || is_bounded(op->operands[1], holds, base);
    if (op->opcode == OP_SELECT) /* a or b, as a choice: c ? true : b */
        return !holds && (is_bounded(op->operands[0], false, base) || is_bounded(op->operands[2], false, base));
    if (op->opcode != OP_COMPARE)
        return false;
    int64_t predicate = ir_number(op, IR_ATTRIBUTE_PREDICATE, 0);
    bool less = predicate == IR_PREDICATE_LT || predicate == IR_PREDICATE_LE;
    bool greater = predicate == IR_PREDICATE_GT || predicate == IR_PREDICATE_GE;
    if (!less && !greater)
        return false;
    const struct ir_value *under = base_of(op->operands[less == holds ? 0 : 1]);
    const struct ir_value *above = base_of(op->operands[less == holds ? 1 : 0]);
    return base ? under == base : above->definition && above->definition->opcode == OP_EXTENT;
}

static bool is_guarded(const struct ir_operation *at, const struct ir_value *index)
{
    const struct ir_value *base = base_of(index);
    if (base->definition && base->definition->opcode == OP_CONSTANT)
        base = NULL;
    for (const struct ir_block *block = at->block; block && block->parent; block = block->parent->block)
        if (block->parent->opcode == OP_IF &&
            is_bounded(block->parent->operands[0], block == block->parent->regions[0], base))
            return true;
    return false;
}

static bool is_proven(const struct walk *w, const struct pad *pad, const struct ir_operation *at)
{
    struct ir_access access;
    if (!ir_access_of(pad->load, &access) || access.place[pad->dimension] < 0)
        return false;
    const struct ir_value *index = access.index[pad->dimension];
    return is_guarded(at, index) || inside_is_proven(w->lint->inside, at, access.view, pad->dimension, index,
                                                     access.place[pad->dimension] ? access.place[pad->dimension] : 1);
}

/* Without those that do not reach outside wherever `at` runs. */
static uint64_t pads_left(const struct walk *w, uint64_t pads, const struct ir_operation *at)
{
    for (int i = 0; i < w->pad_count; i++)
        if (pads >> i & 1 && is_proven(w, &w->pads[i], at))
            pads &= ~(UINT64_C(1) << i);
    return pads;
}

static uint64_t pad_bit(struct walk *w, const struct ir_operation *load, int dimension)
{
    for (int i = 0; i < w->pad_count; i++)
        if (w->pads[i].load == load && w->pads[i].dimension == dimension)
            return UINT64_C(1) << i;
    if (w->pad_count == MOST_PADS)
        return 0;
    w->pads[w->pad_count] = (struct pad){load, dimension};
    return UINT64_C(1) << w->pad_count++;
}

/* ---- shades ---- */

static struct shade plain(const struct ir_type *type, struct known whole)
{
    struct shade shade = {.whole = known_as_value(whole, type->element)};
    for (int d = 0; d < IR_MAX_RANK; d++)
        shade.outside[d] = whole;
    return shade;
}

static struct shade nothing(const struct ir_type *type) { return plain(type, known_nothing(type->element)); }

static struct shade shade_of(const struct walk *w, const struct ir_value *value) { return w->of[value->id]; }

static void set(struct walk *w, const struct ir_value *value, struct shade shade)
{
    for (int d = value->type->rank; d < IR_MAX_RANK; d++) {
        shade.outside[d] = shade.whole;
        shade.pads[d] = 0;
    }
    w->of[value->id] = shade;
}

static struct shade join(struct shade a, struct shade b)
{
    a.whole = known_join(a.whole, b.whole);
    for (int d = 0; d < IR_MAX_RANK; d++) {
        a.outside[d] = known_join(a.outside[d], b.outside[d]);
        a.pads[d] |= b.pads[d];
    }
    return a;
}

static bool same(struct shade a, struct shade b)
{
    bool all = known_same(a.whole, b.whole);
    for (int d = 0; d < IR_MAX_RANK; d++)
        all = all && known_same(a.outside[d], b.outside[d]) && a.pads[d] == b.pads[d];
    return all;
}

/* ---- operations ---- */

static void load(struct walk *w, const struct ir_operation *op)
{
    struct ir_access access;
    const struct ir_type *type = op->results[0]->type;
    struct shade shade = nothing(type);
    if (!ir_access_of(op, &access)) {
        set(w, op->results[0], shade);
        return;
    }
    bool unsaid = is_unsaid(op, &access);
    struct known other = access.other ? shade_of(w, access.other).whole : known_nothing(type->element);
    int axis = 0;
    bool gathered = false;
    for (int d = 0; d < access.rank; d++) {
        const struct ir_type *index = access.index[d]->type;
        int first = axis, count = access.place[d] > 0 ? 1 : access.place[d] == IR_GATHER && !gathered ? index->rank : 0;
        gathered = gathered || access.place[d] == IR_GATHER;
        for (axis += count; first < axis; first++) {
            bool reaches = access.place[d] > 0 ||
                           shade_of(w, access.index[d]).outside[first - (axis - count)].kind == KNOWN_POSITION;
            uint64_t pad = reaches && unsaid && type->element != IR_POINTER ? pad_bit(w, op, d) : 0;
            shade.pads[first] = pads_left(w, pad, op);
            if (reaches)
                shade.outside[first] = pad & w->tried ? known_number(w->instead) : other;
        }
    }
    set(w, op->results[0], shade);
}

/* What exists is known to be false where the place is outside. */
static void inside(struct walk *w, const struct ir_operation *op)
{
    struct shade shade = nothing(op->results[0]->type);
    for (int d = 0; d < op->results[0]->type->rank; d++)
        shade.outside[d] = known_number(0);
    set(w, op->results[0], shade);
}

static void pointer_load(struct walk *w, const struct ir_operation *op)
{
    struct ir_access access;
    struct shade shade = nothing(op->results[0]->type);
    if (ir_access_of(op, &access) && access.mask && access.other)
        for (int d = 0; d < op->results[0]->type->rank; d++)
            if (known_is(shade_of(w, access.mask).outside[d], 0))
                shade.outside[d] = shade_of(w, access.other).whole;
    set(w, op->results[0], shade);
}

static void iota(struct walk *w, const struct ir_operation *op)
{
    struct shade shade = plain(op->results[0]->type, known_between(0, (double)op->results[0]->type->extent[0] - 1));
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
static struct known keep_copies(const struct walk *w, const struct ir_operation *op, int d, struct known result)
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

/* Scalars go with all axes. */
static void elementwise(struct walk *w, const struct ir_operation *op)
{
    const struct ir_type *type = op->results[0]->type;
    struct known operand[3];
    struct shade shade = nothing(type);
    if (op->operand_count > 3 || op->result_count != 1) {
        for (int i = 0; i < op->result_count; i++)
            set(w, op->results[i], nothing(op->results[i]->type));
        return;
    }
    for (int i = 0; i < op->operand_count; i++)
        operand[i] = shade_of(w, op->operands[i]).whole;
    shade.whole = known_as_value(known_compute(op, operand), type->element);
    for (int d = 0; d < type->rank; d++) {
        for (int i = 0; i < op->operand_count; i++) {
            struct shade of = shade_of(w, op->operands[i]);
            operand[i] = op->operands[i]->type->rank ? of.outside[d] : of.whole;
            shade.pads[d] |= op->operands[i]->type->rank ? of.pads[d] : 0;
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

static void map(struct walk *w, const struct ir_operation *op)
{
    struct shade shade[IR_MAX_RANK];
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
        for (int i = 0; i < op->operand_count; i++) {
            struct shade of = shade_of(w, op->operands[i]);
            bool tile = d >= 0 && op->operands[i]->type->rank;
            arguments[i] = tile ? of.outside[d] : of.whole;
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
            }
        }
    }
    for (int i = 0; i < op->result_count; i++)
        set(w, op->results[i], shade[i]);
}

/* ---- shapes ---- */

static void permute(struct walk *w, const struct ir_operation *op)
{
    struct shade from = shade_of(w, op->operands[0]), to = from;
    const struct ir_attribute *permutation = ir_attribute(op, IR_ATTRIBUTE_PERMUTATION);
    for (int d = 0; d < permutation->count; d++) {
        to.outside[d] = from.outside[permutation->list[d]];
        to.pads[d] = from.pads[permutation->list[d]];
    }
    set(w, op->results[0], to);
}

/* An extent of 1 that is stretched says nothing of where along it one is. */
static void broadcast(struct walk *w, const struct ir_operation *op)
{
    const struct ir_type *from = op->operands[0]->type, *to = op->results[0]->type;
    struct shade shade = shade_of(w, op->operands[0]);
    for (int d = 0; d < to->rank; d++)
        if (from->rank == 0 || (from->extent[d] == 1 && to->extent[d] != 1)) {
            shade.outside[d] = shade.whole;
            shade.pads[d] = 0;
        }
    set(w, op->results[0], shade);
}

/* Dimensions from both sides form groups of equally many elements; all that is known of a group goes to each of its
 * dimensions. */
static void reshape(struct walk *w, const struct ir_operation *op)
{
    const struct ir_type *from = op->operands[0]->type, *to = op->results[0]->type;
    struct shade old = shade_of(w, op->operands[0]), new = plain(to, old.whole);
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
        bool any = false, reaches = false; /* outside: along one of the dimensions that something lies outside of */
        for (int d = first; d < i; d++)
            reaches |= from->extent[d] != 1 && old.pads[d];
        for (int d = first; d < i; d++) {
            if (from->extent[d] == 1 || (reaches && !old.pads[d]))
                continue;
            outside = any ? known_join(outside, old.outside[d]) : old.outside[d];
            pads |= old.pads[d];
            any = true;
        }
        for (int d = target; d < k; d++)
            if (to->extent[d] != 1) {
                new.outside[d] = outside;
                new.pads[d] = pads;
            }
    }
    set(w, op->results[0], new);
}

/* Of tiles one behind the other those count that reach outside. */
static void concatenate(struct walk *w, const struct ir_operation *op)
{
    struct shade all = nothing(op->results[0]->type);
    for (int i = 0; i < op->operand_count; i++) {
        struct shade part = shade_of(w, op->operands[i]);
        all.whole = i ? known_join(all.whole, part.whole) : part.whole;
        for (int d = 0; d < op->results[0]->type->rank; d++) {
            if (part.pads[d] || i == 0)
                all.outside[d] = all.pads[d] ? known_join(all.outside[d], part.outside[d]) : part.outside[d];
            all.pads[d] |= part.pads[d];
        }
    }
    set(w, op->results[0], all);
}

/* An index that lies outside names no element, or, read as 0, the first one. */
static void gather(struct walk *w, const struct ir_operation *op)
{
    int axis = (int)ir_number(op, IR_ATTRIBUTE_AXIS, 0);
    struct shade from = shade_of(w, op->operands[0]), index = shade_of(w, op->operands[1]);
    struct shade shade = nothing(op->results[0]->type);
    shade.whole = known_join(from.whole, known_number(0));
    for (int d = 0; d < op->results[0]->type->rank; d++) {
        struct known at = known_as_value(index.outside[d], op->operands[1]->type->element);
        bool names_none = at.high < 0 || at.low >= (double)op->operands[0]->type->extent[axis];
        shade.pads[d] = index.pads[d] | (d == axis ? 0 : from.pads[d]);
        shade.outside[d] = names_none ? known_number(0) : d == axis ? shade.whole : from.outside[d];
    }
    set(w, op->results[0], shade);
}

/* ---- reductions ---- */

static void find(struct walk *w, const struct ir_operation *op, uint64_t pads, struct known outside)
{
    pads = pads_left(w, pads, op);
    if (w->reports && pads)
        vector_push(w->lint->arena, &w->findings, ((struct finding){op, pads, outside}));
}

/* What any number of such elements come to by the operation's function; false: there is more in it than scalars. */
static bool combine_outside(struct walk *w, const struct ir_operation *op, int n, int axis, struct known *all)
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
static uint64_t results_that_matter(struct walk *w, const struct ir_operation *op, int n)
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
static bool region_keeps_inside(struct walk *w, const struct ir_operation *op, int n, int axis, bool outside_first)
{
    struct known arguments[2 * IR_MAX_RANK] = {0}, results[IR_MAX_RANK];
    bool copies = true;
    if (n > IR_MAX_RANK)
        return true;
    struct known *within = arguments + (outside_first ? n : 0), *outside = arguments + (outside_first ? 0 : n);
    if (!combine_outside(w, op, n, axis, outside))
        return true; /* more than scalars: nothing is known */
    for (int i = 0; i < n; i++) {
        struct shade shade = shade_of(w, op->operands[i]);
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

static void reduce(struct walk *w, const struct ir_operation *op)
{
    int axis = (int)ir_number(op, IR_ATTRIBUTE_AXIS, 0);
    enum ir_reduce_kind kind = (enum ir_reduce_kind)ir_number(op, IR_ATTRIBUTE_KIND, IR_REDUCE_ADD);
    uint64_t pads = 0;
    for (int i = 0; i < op->operand_count; i++)
        pads |= shade_of(w, op->operands[i]).pads[axis];
    struct shade first = shade_of(w, op->operands[0]);
    struct known outside = known_as_value(first.outside[axis], op->operands[0]->type->element);
    bool neutral = kind == IR_REDUCE_REGION ? !pads || region_keeps_inside(w, op, op->operand_count, axis, false)
                                            : known_is_neutral(kind, outside, first.whole);
    if (!neutral)
        find(w, op, pads, outside);
    for (int i = 0; i < op->result_count; i++) {
        struct shade old = shade_of(w, op->operands[i]), new = nothing(op->results[i]->type);
        if (kind != IR_REDUCE_REGION)
            new.whole = known_reduce(kind, old.whole);
        for (int d = 0, k = 0; d < op->operands[i]->type->rank; d++) {
            if (d == axis)
                continue;
            new.outside[k] = kind == IR_REDUCE_REGION
                                 ? new.whole
                                 : known_reduce(kind, known_as_value(old.outside[d], op->results[i]->type->element));
            new.pads[k++] = old.pads[d];
        }
        set(w, op->results[i], new);
    }
}

/* What lies outside comes last, where nothing that is there looks at it; from the end it comes first.  Where it changes
 * nothing, what stands there is the last element once more, or from the end what nothing comes to. */
static void scan(struct walk *w, const struct ir_operation *op)
{
    int axis = (int)ir_number(op, IR_ATTRIBUTE_AXIS, 0), n = op->result_count;
    enum ir_reduce_kind kind = (enum ir_reduce_kind)ir_number(op, IR_ATTRIBUTE_KIND, IR_REDUCE_ADD);
    bool reverse = ir_number(op, IR_ATTRIBUTE_REVERSE, 0), exclusive = ir_number(op, IR_ATTRIBUTE_EXCLUSIVE, 0);
    bool neutral = true;
    struct shade first = shade_of(w, op->operands[0]);
    uint64_t pads = 0;
    for (int i = 0; i < n; i++)
        pads |= shade_of(w, op->operands[i]).pads[axis];
    if (pads)
        neutral = kind == IR_REDUCE_REGION
                      ? region_keeps_inside(w, op, n, axis, reverse)
                      : known_is_neutral(kind, known_as_value(first.outside[axis], op->operands[0]->type->element),
                                         first.whole);
    if (reverse && !neutral)
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
        struct shade old = shade_of(w, op->operands[i]), new = nothing(op->results[i]->type);
        struct known initial = exclusive ? shade_of(w, op->operands[n + i]).whole : new.whole;
        for (int d = 0; d < op->results[i]->type->rank && i < IR_MAX_RANK; d++) {
            new.pads[d] = old.pads[d];
            if (d != axis || reverse)
                new.outside[d] = exclusive ? known_join(along[d][i], initial) : along[d][i];
            else if (neutral && !exclusive)
                new.outside[d].kind = KNOWN_COPY;
        }
        if (reverse && !neutral)
            new.pads[axis] = 0;
        set(w, op->results[i], new);
    }
}

/* What lies outside must come last in the order, or it stands among the others, whose places are then no longer known. */
static void sort(struct walk *w, const struct ir_operation *op)
{
    int axis = (int)ir_number(op, IR_ATTRIBUTE_AXIS, 0);
    bool descending = ir_number(op, IR_ATTRIBUTE_DESCENDING, 0);
    struct shade key = shade_of(w, op->operands[0]);
    struct known outside = known_as_value(key.outside[axis], op->operands[0]->type->element);
    bool last = known_is_neutral(descending ? IR_REDUCE_MAX : IR_REDUCE_MIN, outside, key.whole);
    uint64_t pads = pads_left(w, key.pads[axis], op);
    if (pads && !last)
        find(w, op, pads, outside);
    for (int i = 0; i < op->result_count; i++) {
        struct shade shade = nothing(op->results[i]->type);
        if (i < op->operand_count)
            shade = shade_of(w, op->operands[i]);
        else
            shade.outside[axis] = (struct known){KNOWN_POSITION, 0, 1, 1};
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
static void histogram(struct walk *w, const struct ir_operation *op)
{
    struct shade shade = shade_of(w, op->operands[0]);
    double bins = (double)op->results[0]->type->extent[0];
    for (int d = 0; d < op->operands[0]->type->rank; d++) {
        struct known outside = known_as_value(shade.outside[d], op->operands[0]->type->element);
        if (outside.high >= 0 && outside.low < bins)
            find(w, op, shade.pads[d], outside);
    }
    set(w, op->results[0], nothing(op->results[0]->type));
}

/* a @ b + c sums along the last axis of a, the one before the last of b: 0 on one side is enough. */
static void dot(struct walk *w, const struct ir_operation *op)
{
    int rank = op->operands[0]->type->rank;
    struct shade a = shade_of(w, op->operands[0]), b = shade_of(w, op->operands[1]), c = shade_of(w, op->operands[2]);
    struct shade result = nothing(op->results[0]->type);
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

/* ---- regions ---- */

static void walk_block(struct walk *w, const struct ir_block *block);

static struct shade filtered(const struct walk *w, const struct ir_operation *terminator, int operand)
{
    struct shade shade = shade_of(w, terminator->operands[operand]);
    for (int d = 0; d < terminator->operands[operand]->type->rank; d++)
        shade.pads[d] = pads_left(w, shade.pads[d], terminator);
    return shade;
}

/* Joins what comes round again; true: something changed.  After some rounds nothing but pads is kept. */
static bool feed_back(struct walk *w, struct ir_value *const *arguments, int count, const struct ir_operation *end,
                      int first, int round)
{
    bool changed = false;
    for (int i = 0; i < count; i++) {
        struct shade old = shade_of(w, arguments[i]), now = join(old, filtered(w, end, first + i));
        if (same(old, now))
            continue;
        if (round >= STABLE_AFTER) {
            struct shade wide = nothing(arguments[i]->type);
            memcpy(wide.pads, now.pads, sizeof wide.pads);
            now = wide;
        }
        set(w, arguments[i], now);
        changed = changed || !same(old, shade_of(w, arguments[i]));
    }
    return changed;
}

static void walk_loop(struct walk *w, const struct ir_operation *op)
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

static void walk_if(struct walk *w, const struct ir_operation *op)
{
    walk_block(w, op->regions[0]);
    walk_block(w, op->regions[1]);
    for (int i = 0; i < op->result_count; i++)
        set(w, op->results[i],
            join(filtered(w, ir_terminator(op->regions[0]), i), filtered(w, ir_terminator(op->regions[1]), i)));
}

static void walk_operation(struct walk *w, const struct ir_operation *op)
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
    case OP_FLIP:
    case OP_EXTRACT: set(w, op->results[0], shade_of(w, op->operands[0])); return;
    default: break;
    }
    if (op->opcode == OP_CONSTANT || ir_has_trait(op, IR_TRAIT_ELEMENTWISE)) {
        elementwise(w, op);
        return;
    }
    for (int i = 0; i < op->result_count; i++)
        set(w, op->results[i], nothing(op->results[i]->type));
}

static void walk_block(struct walk *w, const struct ir_block *block)
{
    for (const struct ir_operation *op = block->first; op; op = op->next)
        walk_operation(w, op);
}

static void walk_function(struct walk *w)
{
    w->findings.count = 0;
    for (int i = 0; i < w->function->body->arguments.count; i++)
        set(w, w->function->body->arguments.data[i], nothing(w->function->body->arguments.data[i]->type));
    w->reports = true;
    walk_block(w, w->function->body);
}

/* ---- reports ---- */

/* The function that the source calls there, or what the operation is. */
static const char *name_of(const struct walk *w, const struct ir_operation *op)
{
    static const char *const kinds[] = {"sum", "product", "min", "max", "all", "any", "xor_sum", "reduce"};
    size_t size, length = 0;
    const char *text = source_line(op->at, &size);
    if (op->opcode == OP_DOT)
        return "@";
    if (text && op->at.column >= 1 && (size_t)op->at.column <= size) {
        text += op->at.column - 1;
        size -= (size_t)op->at.column - 1;
        while (length < size && (isalnum((unsigned char)text[length]) || text[length] == '_'))
            length++;
        if (length && length < size && text[length] == '(')
            return arena_substring(w->lint->arena, text, length);
    }
    if (op->opcode == OP_SORT || op->opcode == OP_HISTOGRAM)
        return ir_op_info[op->opcode].text;
    return kinds[ir_number(op, IR_ATTRIBUTE_KIND, IR_REDUCE_ADD)];
}

static const char *neutral_words(const struct ir_operation *op)
{
    if (op->opcode == OP_DOT)
        return "0";
    if (op->opcode == OP_SORT)
        return ir_number(op, IR_ATTRIBUTE_DESCENDING, 0) ? "the least value" : "the greatest value";
    if (op->opcode == OP_HISTOGRAM)
        return "-1, which counts nowhere";
    switch (ir_number(op, IR_ATTRIBUTE_KIND, IR_REDUCE_ADD)) {
    case IR_REDUCE_MUL: return "1";
    case IR_REDUCE_AND: return "true";
    case IR_REDUCE_MIN: return "the greatest value";
    case IR_REDUCE_MAX: return "the least value";
    case IR_REDUCE_REGION: return "a value that leaves the result as it is";
    default: return "0";
    }
}

/* Numbers that a load may read outside so that the reduction is right, and nothing else becomes wrong by it. */
struct candidate {
    double number;
    const char *text;
};

static int list_candidates(struct arena *arena, enum ir_element element, struct candidate *list)
{
    struct known whole = known_nothing(element);
    int count = 0;
    if (element == IR_BOOL) {
        list[count++] = (struct candidate){1, "true"};
        return count;
    }
    if (ir_is_float(element) && ir_element_info[element].bits > 8) {
        list[count++] = (struct candidate){whole.low, "-inf"};
        list[count++] = (struct candidate){whole.high, "inf"};
        list[count++] = (struct candidate){1, "1.0"};
        return count;
    }
    const char *type = ir_element_info[element].text;
    if (whole.low < 0)
        list[count++] = (struct candidate){whole.low, arena_printf(arena, "lowest(%s)", type)};
    list[count++] = (struct candidate){whole.high, arena_printf(arena, "highest(%s)", type)};
    list[count++] = (struct candidate){1, ir_is_float(element) ? "1.0" : "1"};
    return count;
}

static enum ir_element element_of(const struct walk *w, uint64_t pads)
{
    enum ir_element element = IR_ELEMENT_COUNT;
    for (int i = 0; i < w->pad_count; i++) {
        enum ir_element own = w->pads[i].load->results[0]->type->element;
        if (!(pads >> i & 1))
            continue;
        if (element != IR_ELEMENT_COUNT && element != own)
            return IR_ELEMENT_COUNT;
        element = own;
    }
    return element;
}

/* All dimensions of the loads that the pads stand for: `other` is for the whole load. */
static uint64_t pads_of_loads(const struct walk *w, uint64_t pads)
{
    uint64_t all = pads;
    for (int i = 0; i < w->pad_count; i++)
        for (int k = 0; k < w->pad_count; k++)
            if (pads >> i & 1 && w->pads[k].load == w->pads[i].load)
                all |= UINT64_C(1) << k;
    return all;
}

/* What the loads should read instead; NULL: no number does. */
static const char *find_other(const struct walk *w, const struct finding *finding)
{
    struct candidate list[3];
    enum ir_element element = element_of(w, finding->pads);
    int count = element == IR_ELEMENT_COUNT ? 0 : list_candidates(w->lint->arena, element, list);
    for (int i = 0; i < count; i++) {
        struct walk trial = *w;
        trial.of = ARENA_ARRAY(w->lint->arena, struct shade, w->function->next_value_id);
        trial.findings.data = NULL;
        trial.findings.count = trial.findings.capacity = 0;
        trial.tried = pads_of_loads(w, finding->pads);
        trial.instead = list[i].number;
        walk_function(&trial);
        bool good = true;
        for (int k = 0; k < trial.findings.count; k++) {
            bool was = false;
            for (int j = 0; j < w->findings.count; j++)
                was = was || w->findings.data[j].op == trial.findings.data[k].op;
            good = good && was && trial.findings.data[k].op != finding->op;
        }
        if (good)
            return list[i].text;
    }
    return NULL;
}

static const char *view_name(const struct ir_operation *load)
{
    const struct ir_value *view = load->operands[0];
    while (!view->name && view->definition && view->definition->operand_count)
        view = view->definition->operands[0];
    return view->name ? view->name : "its view";
}

/* `x[m, 0 +: B]` becomes `load(x[m, 0 +: B], other = -inf)`, and a load gets the option. */
static void propose(const struct walk *w, struct diagnostic *d, const struct ir_operation *load, const char *other)
{
    size_t size;
    const char *text = source_line(load->at, &size);
    int from = load->at.column - 1, to = load->at.end_column - 1;
    if (!text || from < 0 || to <= from || (size_t)to > size)
        return;
    struct location begin = load->at, end = load->at;
    const char *option = arena_printf(w->lint->arena, ", other = %s%s", other, text[to - 1] == ']' ? ")" : "");
    begin.end_column = begin.column;
    end.column = end.end_column = load->at.end_column;
    if (text[to - 1] == ']')
        diag_fixit(w->lint->diagnostics, d, begin, FIXIT_PROBABLE, "load(");
    else if (text[to - 1] != ')' || strncmp(text + from, "load", 4) != 0)
        return;
    else
        end.column = end.end_column = load->at.end_column - 1;
    diag_fixit(w->lint->diagnostics, d, end, FIXIT_PROBABLE, option);
}

static const char *outside_words(const struct walk *w, const struct finding *finding)
{
    struct known outside = finding->outside;
    if (finding->op->operands[0]->type->element == IR_BOOL && outside.kind == KNOWN_NUMBER)
        return outside.low != 0 ? "true" : "false";
    if (outside.kind == KNOWN_NUMBER)
        return arena_printf(w->lint->arena, "%g", outside.low);
    return "computed from 0";
}

static void report(const struct walk *w, const struct finding *finding)
{
    const struct lint *lint = w->lint;
    const struct ir_operation *first = NULL;
    for (int i = w->pad_count - 1; i >= 0; i--)
        if (finding->pads >> i & 1)
            first = w->pads[i].load;
    struct diagnostic *d = diag_report(
        lint->diagnostics, DIAGNOSTIC_W1011, finding->op->at,
        "`%s` takes in what lies outside of `%s`: it is %s there, and neutral would be %s", name_of(w, finding->op),
        view_name(first), outside_words(w, finding), neutral_words(finding->op));
    if (lint->instance)
        diag_instance(lint->diagnostics, d, lint->instance);
    const char *other = find_other(w, finding);
    for (int i = 0; i < w->pad_count; i++) {
        const struct pad *pad = &w->pads[i];
        if (!(finding->pads >> i & 1))
            continue;
        diag_note(lint->diagnostics, d, pad->load->at,
                  "dimension %d of `%s` may end within this tile, and what is outside reads as 0", pad->dimension,
                  view_name(pad->load));
        if (other)
            propose(w, d, pad->load, other);
    }
    if (!other)
        diag_note(lint->diagnostics, d, finding->op->at,
                  "choose %s there: `where(inside(place), v, n)`, or `load(place, other = n)`",
                  neutral_words(finding->op));
}

void lint_padding(const struct lint *lint, const struct ir_function *function)
{
    struct walk w = {.lint = lint,
                     .function = function,
                     .of = ARENA_ARRAY(lint->arena, struct shade, function->next_value_id),
                     .of_region = ARENA_ARRAY(lint->arena, struct known, function->next_value_id),
                     .left_part = ARENA_ARRAY(lint->arena, uint64_t, function->next_value_id)};
    walk_function(&w);
    for (int i = 0; i < w.findings.count; i++)
        report(&w, &w.findings.data[i]);
}
