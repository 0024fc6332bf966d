/* Conversion of a tile's layout through shared memory.  Threads store elements in one layout and load them in another;
 * the question is at which offset each element lies in between, so that both sides use the widest vectors and no two
 * lanes of an access meet in a bank.
 *
 * The method is the choice of swizzle in "Linear Layouts", Zhou et al.  2025.  The coordinates of the atom form a
 * space over F2.  It is given a basis of four parts,  vector | bank | line | round , and a coordinate's digits in this
 * basis are its offset:
 *
 *     vector   elements that lie next to each other; both sides hold them in registers
 *     bank     fills up 128 bytes, one row of all banks
 *     line     tells rows of 128 bytes apart
 *     round    not stored at the same time; both sides hold it in registers
 *
 * Lanes of one access conflict when they differ by a vector of `line`, because then they want the same bank of
 * different rows.  So `line` should hold nothing that tells lanes of one side apart.  Let A and B be the spans of
 * vector and lanes of the two sides, U their intersection, A = U + A' and B = U + B'.  Sums a' ^ b' lie in neither A
 * nor B, and neither do complements of A + B.  `line` is taken from those first.  If it needs more, conflicts remain;
 * they are counted, and the cost of the conversion tells them. */
#include <string.h>

#include "base/plant.h"
#include "ir/layout/layout_internal.h"

struct span {
    int count;
    uint32_t vector[128];
};

static void span_add(struct span *span, const uint32_t *vectors, int count)
{
    for (int i = 0; i < count; i++)
        if (vectors[i])
            span->vector[span->count++] = vectors[i];
}

static void span_add_input(struct span *span, const struct layout *layout, int input, int most)
{
    int count = layout->bits[input] < most ? layout->bits[input] : most;
    span_add(span, layout->column[input], count);
}

/* Those of `more` that are independent of `given` and of each other, in order. */
static void independent_of(const struct span *given, const struct span *more, struct span *result)
{
    struct f2_basis basis = {0};
    result->count = 0;
    for (int i = 0; i < given->count; i++)
        f2_insert(&basis, given->vector[i], 0);
    for (int i = 0; i < more->count; i++)
        if (f2_insert(&basis, more->vector[i], 0))
            result->vector[result->count++] = more->vector[i];
}

struct side {
    const struct layout *layout;
    int vector_bits, lanes;
};
struct scratch {
    int bits, offset_bits, round_bits; /* of the atom's space; what is stored at once; rounds */
    struct span vector, threads;       /* threads: lanes and warps of both sides */
    uint32_t column[32];               /* basis: offset bits, then round bits */
    struct side side[2];
    struct f2_basis digits; /* coordinate -> digits */
};

/* Lane bits that are served together for one access of width bytes. */
static int wavefront_lanes(int width)
{
    int lanes = 5;
    while (lanes > 3 && (width << lanes) > 128)
        lanes--;
    return lanes;
}

static void access_span(const struct scratch *scratch, int which, struct span *span)
{
    const struct side *side = &scratch->side[which];
    span->count = 0;
    span_add(span, scratch->vector.vector, side->vector_bits);
    span_add_input(span, side->layout, LAYOUT_LANE, side->lanes);
}

/* Chooses `count` vectors for lines out of the space, none with a part in `vector`. */
static void choose_lines(const struct scratch *scratch, const struct span *space, int count, struct span *lines)
{
    struct span a, b, both = {0}, only_a, only_b, sum, rest, lanes = {0};
    access_span(scratch, 0, &a);
    access_span(scratch, 1, &b);
    both.count = f2_intersect(a.vector, a.count, b.vector, b.count, both.vector);
    span_add(&both, scratch->vector.vector, scratch->vector.count);
    span_add_input(&lanes, scratch->side[0].layout, LAYOUT_LANE, scratch->side[0].lanes);
    independent_of(&both, &lanes, &only_a);
    lanes.count = 0;
    span_add_input(&lanes, scratch->side[1].layout, LAYOUT_LANE, scratch->side[1].lanes);
    independent_of(&both, &lanes, &only_b);
    sum = both;
    span_add(&sum, only_a.vector, only_a.count);
    span_add(&sum, only_b.vector, only_b.count);
    independent_of(&sum, space, &rest);
    int pairs = only_a.count < only_b.count ? only_a.count : only_b.count;
    struct span wanted = {0};
    span_add(&wanted, rest.vector, rest.count);
    for (int i = 0; i < pairs; i++) {
        uint32_t pair = only_a.vector[i] ^ only_b.vector[i];
        span_add(&wanted, &pair, 1);
    }
    span_add(&wanted, space->vector, space->count); /* with conflicts from here on */
    independent_of(&scratch->vector, &wanted, lines);
    if (lines->count > count)
        lines->count = count;
}

/* Builds the basis for the vector chosen; false: threads of a side would differ inside their vector. */
static bool choose_basis(struct scratch *scratch, const struct span *space, int line_bits)
{
    struct span lines, banks, taken;
    int bits = 0, line_count = scratch->offset_bits - line_bits;
    if (line_count < 0)
        line_count = 0;
    choose_lines(scratch, space, line_count, &lines);
    taken = scratch->vector;
    span_add(&taken, lines.vector, lines.count);
    independent_of(&taken, space, &banks);
    for (int i = 0; i < scratch->vector.count; i++)
        scratch->column[bits++] = scratch->vector.vector[i];
    for (int i = 0; i < banks.count; i++)
        scratch->column[bits++] = banks.vector[i];
    for (int i = 0; i < lines.count; i++)
        scratch->column[bits++] = lines.vector[i];
    if (bits != scratch->offset_bits)
        return false;
    memset(&scratch->digits, 0, sizeof scratch->digits);
    for (int i = 0; i < scratch->bits; i++) /* the round vectors are in place */
        if (!f2_insert(&scratch->digits, scratch->column[i], UINT64_C(1) << i))
            return false;
    for (int which = 0; which < 2; which++) {
        const struct side *side = &scratch->side[which];
        uint64_t forbidden = (UINT64_C(1) << side->vector_bits) - 1, digits;
        forbidden |= ~((UINT64_C(1) << scratch->offset_bits) - 1);
        for (int input = LAYOUT_LANE; input <= LAYOUT_WARP; input++)
            for (int bit = 0; bit < side->layout->bits[input]; bit++)
                if (!f2_solve(&scratch->digits, side->layout->column[input][bit], &digits) || (digits & forbidden))
                    return false;
    }
    return true;
}

static uint64_t digits_of(const struct scratch *scratch, uint32_t column)
{
    uint64_t digits;
    if (!f2_solve(&scratch->digits, column, &digits))
        die("a conversion's scratch does not hold every element");
    return digits;
}

/* Wavefronts of one access of one warp. */
static int access_wavefronts(const struct scratch *scratch, int which, int bytes)
{
    const struct side *side = &scratch->side[which];
    uint32_t width = (uint32_t)bytes << side->vector_bits;
    struct f2_basis words = {0}, banks = {0};
    for (int bit = 0; bit < side->lanes && bit < side->layout->bits[LAYOUT_LANE]; bit++) {
        uint32_t byte = (uint32_t)digits_of(scratch, side->layout->column[LAYOUT_LANE][bit]) * (uint32_t)bytes;
        uint32_t unit = width > 4 ? byte : byte & ~3u;
        f2_insert(&words, unit, 0);
        f2_insert(&banks, unit & 127u, 0);
    }
    return 1 << (5 - side->lanes + words.count - banks.count);
}

static int side_accesses(const struct side *side) { return layout_registers(side->layout) >> side->vector_bits; }

static double scratch_cost(const struct scratch *scratch, int bytes, int rounds)
{
    double cost = 40.0 * rounds;
    for (int which = 0; which < 2; which++)
        cost += side_accesses(&scratch->side[which]) * (1.0 + 2.0 * access_wavefronts(scratch, which, bytes));
    return cost;
}

/* Tries the common vectors, widened for one side (which) by registers of that side alone, or not (which < 0). */
static bool try_vectors(struct scratch *scratch, const struct span *common, int which, int limit, int bytes)
{
    struct span more = {0}, extra, space = {0}, columns = {0}, rounds = {0};
    int line_bits = log2_floor((uint64_t)(128 / bytes));
    scratch->vector = *common;
    scratch->side[0].vector_bits = scratch->side[1].vector_bits = common->count;
    if (which >= 0) {
        /* Widening must not leave the side's own threads inside the vector. */
        const struct layout *layout = scratch->side[which].layout;
        struct span given = *common;
        span_add(&given, &scratch->column[scratch->offset_bits], scratch->round_bits);
        span_add_input(&given, layout, LAYOUT_LANE, 5);
        span_add_input(&given, layout, LAYOUT_WARP, LAYOUT_BITS);
        span_add_input(&more, layout, LAYOUT_REGISTER, LAYOUT_BITS);
        independent_of(&given, &more, &extra);
        if (extra.count > limit - common->count)
            extra.count = limit - common->count;
        if (extra.count <= 0)
            return false;
        span_add(&scratch->vector, extra.vector, extra.count);
        scratch->side[which].vector_bits += extra.count;
    }
    for (int i = 0; i < 2; i++)
        scratch->side[i].lanes = wavefront_lanes(bytes << scratch->side[i].vector_bits);
    /* The space to choose from: threads first, then registers; nothing that needs the vector or the rounds. */
    struct span taken = scratch->vector;
    span_add(&rounds, &scratch->column[scratch->offset_bits], scratch->round_bits);
    span_add(&taken, rounds.vector, rounds.count);
    if (which >= 0)
        span_add_input(&columns, scratch->side[which].layout, LAYOUT_LANE, 5);
    if (which >= 0)
        span_add_input(&columns, scratch->side[which].layout, LAYOUT_WARP, LAYOUT_BITS);
    span_add(&columns, scratch->threads.vector, scratch->threads.count);
    for (int i = 0; i < 2 && columns.count < 40; i++)
        span_add_input(&columns, scratch->side[i].layout, LAYOUT_REGISTER, 40 - columns.count);
    independent_of(&taken, &columns, &space);
    return choose_basis(scratch, &space, line_bits);
}

/* ---- rounds ---- */

struct panels {
    bool in_rounds;
    int panels, rounds;
};

/* Vectors of rounds are registers of both sides: independent of all threads and of the common vector. */
static void choose_rounds(struct scratch *scratch, const struct layout *from, const struct layout *to,
                          const struct span *common, int bytes, int64_t limit, struct panels *panels)
{
    struct span given = scratch->threads, registers = {0}, free_registers;
    int repeats = (int)layout_repeats(from) * (from->warp_dimension >= 0 ? from->warp_groups : 1);
    bool alike = from->warp_dimension == to->warp_dimension;
    span_add(&given, common->vector, common->count);
    span_add_input(&registers, from, LAYOUT_REGISTER, LAYOUT_BITS);
    independent_of(&given, &registers, &free_registers);
    scratch->round_bits = 0;
    panels->in_rounds = false;
    panels->panels = repeats;
    panels->rounds = 1;
    int64_t size = ((int64_t)bytes << scratch->bits) * repeats;
    if (limit > 0 && size > limit && alike && layout_repeats(from) > 1) {
        panels->in_rounds = true;
        panels->rounds = layout_repeats(from);
        panels->panels = repeats / panels->rounds;
        size /= panels->rounds;
    }
    while (limit > 0 && size > limit && scratch->round_bits < free_registers.count) {
        scratch->round_bits++;
        panels->rounds *= 2;
        size /= 2;
    }
    scratch->offset_bits = scratch->bits - scratch->round_bits;
    for (int i = 0; i < scratch->round_bits; i++)
        scratch->column[scratch->offset_bits + i] = free_registers.vector[free_registers.count - 1 - i];
}

/* ---- the accesses of one side ---- */

struct writer {
    struct arena *arena;
    const struct scratch *scratch;
    const struct panels *panels;
};

static void write_formula(const struct scratch *scratch, const struct layout *layout, struct layout_formula *formula,
                          const struct panels *panels)
{
    uint32_t values[LAYOUT_BITS], low = (UINT32_C(1) << scratch->offset_bits) - 1;
    for (int input = LAYOUT_LANE; input <= LAYOUT_WARP; input++) {
        for (int bit = 0; bit < layout->bits[input]; bit++)
            values[bit] = (uint32_t)digits_of(scratch, layout->column[input][bit]) & low;
        formula_add(formula, input, values, layout->bits[input]);
    }
    for (int bit = 0; bit < layout->bits[LAYOUT_REGISTER]; bit++)
        values[bit] = (uint32_t)digits_of(scratch, layout->column[LAYOUT_REGISTER][bit]) & low;
    formula_finish(formula, values, layout->bits[LAYOUT_REGISTER]);
    if (layout->warp_dimension < 0)
        return;
    /* Panels are numbered by all repeats, row-major; when those in registers go by rounds, by the group alone. */
    int stride = 1;
    for (int d = layout->warp_dimension + 1; d < layout->rank; d++)
        stride *= layout->repeat[d];
    formula->group_warps = 1 << layout->bits[LAYOUT_WARP];
    formula->group_multiplier = (panels->in_rounds ? 1 : stride) << scratch->offset_bits;
}

/* Number of the panel that a register's repeat has, without the group's part. */
static int panel_of(const struct layout *layout, int repeat)
{
    int panel = 0, behind = 1;
    for (int d = layout->rank - 1; d >= 0; d--) {
        int stride = layout_repeat_stride(layout, d);
        if (stride)
            panel += repeat / stride % layout->repeat[d] * behind;
        behind *= layout->repeat[d];
    }
    return panel;
}

static void write_transfers(const struct writer *writer, int which, int bytes, struct layout_transfers *transfers)
{
    const struct scratch *scratch = writer->scratch;
    const struct side *side = &scratch->side[which];
    const struct layout *layout = side->layout;
    int atom = 1 << layout->bits[LAYOUT_REGISTER], vector = 1 << side->vector_bits, next = 0;
    uint64_t low = (UINT64_C(1) << scratch->offset_bits) - 1;
    int *member = ARENA_ARRAY(writer->arena, int, vector);
    struct f2_basis registers = {0};
    for (int bit = 0; bit < layout->bits[LAYOUT_REGISTER]; bit++)
        f2_insert(&registers, layout->column[LAYOUT_REGISTER][bit], packed_bit(LAYOUT_REGISTER, bit));
    for (int i = 0; i < vector; i++) {
        uint32_t column = 0;
        uint64_t origin;
        for (int k = 0; k < side->vector_bits; k++)
            if (i >> k & 1)
                column ^= scratch->vector.vector[k];
        if (!f2_solve(&registers, column, &origin))
            die("a vector of a conversion is not in registers");
        member[i] = (int)origin;
    }
    transfers->vector = vector;
    transfers->count = side_accesses(side);
    transfers->each = ARENA_ARRAY(writer->arena, struct layout_transfer, transfers->count);
    for (int round = 0; round < writer->panels->rounds; round++)
        for (int reg = 0; reg < layout_registers(layout); reg++) {
            uint64_t digits = digits_of(scratch, layout_apply(layout, (uint64_t)(reg % atom)));
            int repeat = reg / atom, of_round = (int)(digits >> scratch->offset_bits), offset = (int)(digits & low);
            if (writer->panels->in_rounds)
                of_round += repeat << scratch->round_bits;
            if (of_round != round || (offset & (vector - 1)))
                continue;
            struct layout_transfer *transfer = &transfers->each[next++];
            transfer->round = round;
            transfer->atom_part = offset;
            transfer->repeat_part = writer->panels->in_rounds ? 0 : panel_of(layout, repeat) << scratch->offset_bits;
            transfer->registers = ARENA_ARRAY(writer->arena, int, vector);
            for (int i = 0; i < vector; i++)
                transfer->registers[i] = reg ^ member[i];
        }
    if (next != transfers->count)
        die("accesses of a conversion were lost");
    write_formula(scratch, layout, &transfers->formula, writer->panels);
    transfers->redundant_lanes = layout_redundant_bits(layout, LAYOUT_LANE);
    transfers->redundant_warps = layout_redundant_bits(layout, LAYOUT_WARP);
    transfers->redundant_groups = layout->warp_groups > 1 && layout->warp_dimension < 0;
    transfers->ideal_wavefronts = transfers->count << (5 - side->lanes);
    transfers->wavefronts = transfers->count * access_wavefronts(scratch, which, bytes);
}

void conversion_through_shared(struct arena *arena, const struct layout *from, const struct layout *to, int bytes,
                               int64_t scratch_limit, struct layout_conversion *plan)
{
    struct scratch best = {0}, scratch = {0};
    struct span registers = {0}, common = {0}, independent;
    struct panels panels;
    int limit = bytes < 16 ? log2_floor((uint64_t)(16 / bytes)) : 0;
    bool found = false;
    if (from->bits[LAYOUT_BLOCK] || to->bits[LAYOUT_BLOCK])
        die("a conversion across the blocks of a cluster");
    scratch.bits = from->coordinate_bits;
    scratch.side[0].layout = from;
    scratch.side[1].layout = to;
    for (int which = 0; which < 2; which++)
        for (int input = LAYOUT_LANE; input <= LAYOUT_WARP; input++)
            span_add_input(&scratch.threads, scratch.side[which].layout, input, LAYOUT_BITS);
    struct span all = scratch.threads;
    independent_of(&(struct span){0}, &all, &scratch.threads);
    registers.count = f2_intersect(from->column[LAYOUT_REGISTER], from->bits[LAYOUT_REGISTER],
                                   to->column[LAYOUT_REGISTER], to->bits[LAYOUT_REGISTER], registers.vector);
    independent_of(&scratch.threads, &registers, &independent);
    span_add(&common, independent.vector, independent.count < limit ? independent.count : limit);
    choose_rounds(&scratch, from, to, &common, bytes, scratch_limit, &panels);
    for (int attempt = 0; attempt < 4; attempt++) {
        struct scratch tried = scratch;
        struct span none = {0};
        /* The last, without any vector, always works. */
        if (attempt == 3 && found)
            break;
        if (!try_vectors(&tried, attempt == 3 ? &none : &common,
                         attempt == 1   ? 0
                         : attempt == 2 ? 1
                                        : -1,
                         limit, bytes))
            continue;
        if (!found || scratch_cost(&tried, bytes, panels.rounds) < scratch_cost(&best, bytes, panels.rounds))
            best = tried;
        found = true;
    }
    if (!found)
        die("no way through shared memory was found");
    plan->kind = CONVERT_SHARED;
    plan->rounds = panels.rounds;
    plan->scratch_elements = (int64_t)(panels.panels - PLANTED(conversion_scratch_too_small)) << best.offset_bits;
    struct writer writer = {arena, &best, &panels};
    write_transfers(&writer, 0, bytes, &plan->store);
    write_transfers(&writer, 1, bytes, &plan->load);
    plan->cost = scratch_cost(&best, bytes, panels.rounds);
}
