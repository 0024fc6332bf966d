/* What takes a thread's registers, for the notes of W1202 and of what ptxas says of registers.
 *
 * A walk over the last IR, from its end to its start, keeps the tiles that are alive: a use makes a tile alive, and
 * its definition ends that.
 *
 *     %s, %t = for … iter(%x: f32[128, 256] = …, %y: f32[128, 256] = …) {
 *         %p = dot_async %A, %B, %x               %p and %y are alive: 2 x 128 registers of each of 256 threads
 *
 * The walk looks at the places where whole tiles must exist: products and their waits, reductions and barriers.  In
 * between, ptxas orders the work on elements as it likes, and only ptxas knows what it needs beside tiles (addresses,
 * fragments).  So the number is the least that a thread must hold, and a note that says "at least" is true.  The way
 * out that the note names is computed in the same way. */
#include <string.h>

#include "ir/facts/living.h"
#include "ir/facts/registers.h"
#include "ir/query.h"
#include "targets/nvptx/assemble/assemble.h"

enum {
    OTHER_REGISTERS = 32,       /* what a kernel takes beside its tiles, at the least */
    COMFORTABLE_REGISTERS = 48, /* and with which there were no spills */
    MOST_KINDS = 3,
    MOST_PARTS = 8,
    LEAST_EXTENT = 16
};

struct place {
    const struct ir_operation *op;
    const struct ir_value **live; /* by value id */
    int registers, limit, warps;
    bool in_role;
};
/* What a thread of the part that the walk is in has, and where most is missing so far. */
struct search {
    struct arena *arena;
    int limit, warps;
    bool in_role;
    int function_limit, function_warps; /* outside of roles */
    struct place worst;
};

static int64_t registers_of(const struct ir_value *value)
{
    bool is_shared = value->definition && registers_are_shared(value->definition);
    return is_shared ? 0 : registers_of_tile(value->type, REGISTERS_PACKED);
}

/* A product rather than the store behind it, where both are as bad. */
static void look(const struct living *living, const struct ir_operation *op, enum living_place place, void *data)
{
    struct search *s = data;
    bool is_product = op->opcode == OP_DOT || op->opcode == OP_DOT_ASYNC;
    bool is_whole = is_product || op->opcode == OP_DOT_WAIT || op->opcode == OP_REDUCE || op->opcode == OP_SCAN ||
                    op->opcode == OP_BARRIER;
    int registers = (int)living->weight;
    int more = s->worst.op ? (registers - s->limit) - (s->worst.registers - s->worst.limit) : 1;
    if (!is_whole || place == LIVING_BETWEEN || more < (is_product ? 0 : 1))
        return;
    const struct ir_value **copy = arena_copy(s->arena, living->alive, (size_t)living->count * sizeof *living->alive);
    s->worst = (struct place){op, copy, registers, s->limit, s->warps, s->in_role};
}

/* Each role has registers of its own. */
static void enter_role(const struct ir_operation *op, int role, void *data)
{
    struct search *s = data;
    const struct ir_attribute *warps = ir_attribute(op, IR_ATTRIBUTE_ROLE_WARPS);
    const struct ir_attribute *registers = ir_attribute(op, IR_ATTRIBUTE_ROLE_REGISTERS);
    s->in_role = role >= 0;
    s->limit = s->function_limit;
    s->warps = s->function_warps;
    if (role >= 0 && registers && role < registers->count && registers->list[role])
        s->limit = (int)registers->list[role];
    if (role >= 0 && warps && role < warps->count)
        s->warps = (int)warps->list[role];
}

static struct place find_worst(struct arena *arena, const struct ir_function *function, const struct target_row *row)
{
    int limit = target_thread_registers(row, ir_block_warps(function));
    if (function->max_registers > 0 && function->max_registers < limit)
        limit = function->max_registers;
    struct search s = {arena, limit, function->warps, false, limit, function->warps, {0}};
    struct living_question question = {registers_of, registers_origin, look, NULL, enter_role, &s};
    living_walk(arena, function, &question);
    return s.worst;
}

int nvptx_least_registers(struct arena *arena, const struct ir_function *function, const struct target_row *row,
                          int *limit, struct location *at)
{
    struct place place = find_worst(arena, function, row);
    *limit = place.op ? place.limit : TARGET_THREAD_REGISTERS;
    *at = place.op && place.op->at.line ? place.op->at : function->at;
    return place.op ? place.registers : 0;
}

/* ---- words ---- */

struct tile_kind {
    const struct ir_type *type;
    int count, registers;
};

static bool is_same(const struct ir_type *a, const struct ir_type *b)
{
    return a->element == b->element && a->rank == b->rank &&
           memcmp(a->extent, b->extent, (size_t)a->rank * sizeof *a->extent) == 0;
}

/* Live tiles of the same elements and extents together, those that take most in front. */
static int find_kinds(const struct place *place, int values, struct tile_kind kinds[MOST_KINDS])
{
    struct tile_kind all[64];
    int count = 0, best = 0;
    for (int i = 0; i < values; i++) {
        const struct ir_value *value = place->live[i];
        int registers = value ? (int)registers_of(value) : 0, g = 0;
        if (!registers)
            continue;
        while (g < count && !is_same(all[g].type, value->type))
            g++;
        if (g == count && count == (int)(sizeof all / sizeof *all))
            continue;
        if (g == count)
            all[count++] = (struct tile_kind){value->type, 0, 0};
        all[g].count++;
        all[g].registers += registers;
    }
    for (; best < MOST_KINDS && best < count; best++) {
        int most = best;
        for (int g = best; g < count; g++)
            if (all[g].registers > all[most].registers)
                most = g;
        struct tile_kind taken = all[most];
        all[most] = all[best];
        all[best] = kinds[best] = taken;
    }
    return best;
}

static void print_tile(struct buffer *out, const struct ir_type *type, int dimension, int64_t extent)
{
    buffer_printf(out, "%s[", ir_element_info[type->element].text);
    for (int d = 0; d < type->rank; d++)
        buffer_printf(out, "%s%lld", d ? ", " : "", (long long)(d == dimension ? extent : type->extent[d]));
    buffer_putc(out, ']');
}

/* The one knob that is this extent; NULL: none, or several. */
static const char *knob_of(const struct kernel_variant *variant, int64_t extent)
{
    const char *name = NULL;
    for (int i = 0; i < variant->knobs.count; i++) {
        if (variant->knobs.data[i].value != extent)
            continue;
        if (name)
            return NULL;
        name = variant->knobs.data[i].name;
    }
    return name;
}

/* Registers that are taken where everything as long as the longest dimension has a part of it alone; of a square the
 * sums alone, for then it is not known which of the two dimensions others have. */
static int taken_with(const struct place *place, int values, const struct tile_kind *kind, int dimension, int parts)
{
    int64_t extent = kind->type->extent[dimension];
    bool is_square = false;
    int sum = 0;
    for (int d = 0; d < kind->type->rank; d++)
        is_square |= d != dimension && kind->type->extent[d] == extent;
    for (int i = 0; i < values; i++) {
        const struct ir_type *type = place->live[i] ? place->live[i]->type : NULL;
        bool is_shorter = type && is_square && is_same(type, kind->type);
        for (int d = 0; type && !is_square && d < type->rank; d++)
            is_shorter |= type->extent[d] == extent;
        if (type)
            sum += (int)registers_of(place->live[i]) / (is_shorter ? parts : 1);
    }
    return sum;
}

/* What to write instead, computed for these tiles. */
static void print_ways(struct buffer *out, const struct kernel_variant *variant, const struct target_row *row,
                       const struct place *place, const struct tile_kind *kind)
{
    const struct ir_type *type = kind->type;
    int values = variant->function->next_value_id + 1, longest = type->rank - 1, parts = 2;
    int left = place->limit - COMFORTABLE_REGISTERS, others = place->registers - kind->registers;
    int each = kind->registers / kind->count, warps = 2 * place->warps;
    for (int d = 0; d < type->rank; d++)
        if (type->extent[d] > type->extent[longest])
            longest = d;
    int64_t extent = type->extent[longest];
    while (parts < MOST_PARTS && extent / parts > LEAST_EXTENT &&
           taken_with(place, values, kind, longest, parts) > left)
        parts *= 2;
    const char *knob = knob_of(variant, extent);
    buffer_puts(out, ": what helps is a smaller tile, such as ");
    print_tile(out, type, longest, extent / parts);
    if (knob)
        buffer_printf(out, " by %s = %lld", knob, (long long)(extent / parts));
    buffer_printf(out, " (then %d)", taken_with(place, values, kind, longest, parts));
    if (kind->count > 1 && others + each <= left)
        buffer_printf(out, ", or no more than %d of them at a time, as in one loop after the other",
                      (left - others) / each);
    if (!place->in_role && place->registers / 2 + COMFORTABLE_REGISTERS <= target_thread_registers(row, warps))
        buffer_printf(out, ", or warps = %d", warps);
}

static void print_held(struct buffer *out, const struct place *place, int count, const struct tile_kind *kinds)
{
    for (int g = 0; g < count; g++) {
        buffer_printf(out, "%s%d of ", g == 0 ? " (" : ", ", kinds[g].count);
        print_tile(out, kinds[g].type, -1, 0);
    }
    buffer_puts(out, count == 0 ? "" : count == MOST_KINDS ? ", ...)" : ")");
    buffer_printf(out, " and has %d", place->limit);
}

void nvptx_explain_registers(const struct target_options *options, struct diagnostic *diagnostic,
                             const struct kernel_variant *variant)
{
    const struct target_row *row = &target_rows[variant->target];
    const struct ir_function *function = variant->function;
    struct arena *arena = arena_create();
    struct buffer text = {0};
    struct tile_kind kinds[MOST_KINDS];
    struct place place = find_worst(arena, function, row);
    int count = place.op ? find_kinds(&place, function->next_value_id + 1, kinds) : 0;
    struct location at = place.op && place.op->at.line ? place.op->at : function->at;
    if (count) {
        buffer_printf(&text, "in %s a thread holds at least %d registers of tiles here",
                      variant->label ? variant->label : function->name, place.registers);
        print_held(&text, &place, count, kinds);
    }
    if (count && place.registers + OTHER_REGISTERS > place.limit && function->max_registers != place.limit)
        print_ways(&text, variant, row, &place, &kinds[0]);
    else
        buffer_printf(&text,
                      "%ssmaller tiles (a `tune` knob, -D or --spec), more `warps`, %sor fewer values alive at "
                      "a time help",
                      count ? ": " : "", function->max_registers > 0 ? "a larger `maxnreg`, " : "");
    if (!diagnostic->notes)
        diag_note(options->diagnostics, diagnostic, at, "%s", text.data);
    buffer_free(&text);
    arena_destroy(arena);
}
