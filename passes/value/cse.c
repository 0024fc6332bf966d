/* Common subexpressions: of two equal pure operations, the second takes the first's results when the first is on every
 * way to it.  Loads too, when nothing between them may write what they read.
 *
 *     %a = mul %x, %y : f32            %a = mul %x, %y : f32
 *     %b = mul %x, %y : f32     ->     %c = add %a, %a : f32
 *     %c = add %a, %b : f32
 *
 * The table of known operations is scoped by regions.  A write, an atomic or a call forgets the loads that it may
 * change (ir/facts/alias.h); all are forgotten by what orders memory.  A loop forgets before its first iteration what any
 * iteration may change.  Regions of map, reduce and scan start with an empty table: they see only their own values.  Equal
 * means: opcode, operands, attributes and types; commutative ones also with operands exchanged.
 *
 * Of scalars that go round a loop with equal values, as slots of rings do that turn together, one is used for all:
 *
 *     %r, %s = for … iter(%a = %x, %b = %x) {
 *         %c = add %a, %one   %d = add %b, %one   yield %c, %d     %b becomes %a, %d then %c, %s then %r
 *     }
 * They are equal if they start equal and, supposing that they are, are yielded equal. */
#include <string.h>

#include "base/plant.h"
#include "ir/facts/alias.h"
#include "passes/base/pass.h"
#include "passes/base/rewrite.h"

struct known {
    struct ir_operation *op;
    struct known *next;
    bool forgotten;
};
enum { BUCKETS = 512 };
struct cse {
    struct pass_context *context;
    struct known *bucket[BUCKETS];
    VECTOR(struct known *) loads; /* known loads, by time */
    bool changed;
};

static unsigned hash(const struct ir_operation *op)
{
    unsigned value = (unsigned)op->opcode * 31;
    unsigned operands = 0; /* a sum: commutative ones must meet */
    for (int i = 0; i < op->operand_count; i++)
        operands += (unsigned)op->operands[i]->id * 2654435761u;
    for (const struct ir_attribute *a = op->attributes; a; a = a->next)
        value = value * 33 + (unsigned)a->number + (unsigned)a->bits + (unsigned)(a->bits >> 32) + (unsigned)a->count;
    return (value ^ operands ^ operands >> 15) % BUCKETS;
}

static bool same_attributes(const struct ir_attribute *a, const struct ir_attribute *b)
{
    for (; a && b; a = a->next, b = b->next) {
        if (a->key != b->key || a->number != b->number || a->bits != b->bits || a->count != b->count ||
            a->name != b->name)
            return false;
        if (a->count && memcmp(a->list, b->list, sizeof *a->list * (size_t)a->count))
            return false;
    }
    return !a && !b;
}

static bool same_operation(const struct ir_operation *a, const struct ir_operation *b)
{
    if (a->opcode != b->opcode || a->operand_count != b->operand_count || a->result_count != b->result_count ||
        !same_attributes(a->attributes, b->attributes))
        return false;
    for (int i = 0; i < a->result_count; i++)
        if (a->results[i]->type != b->results[i]->type)
            return false;
    bool same = true;
    for (int i = 0; i < a->operand_count; i++)
        same = same && a->operands[i] == b->operands[i];
    return same || (ir_has_trait(a, IR_TRAIT_COMMUTATIVE) && a->operands[0] == b->operands[1] &&
                    a->operands[1] == b->operands[0]);
}

/* Pure without a region, or a read. */
static bool is_candidate(const struct ir_operation *op)
{
    return op->result_count > 0 && op->region_count == 0 && ir_has_trait(op, IR_TRAIT_PURE | IR_TRAIT_READ) &&
           !ir_has_trait(op, IR_TRAIT_WRITE | IR_TRAIT_ATOMIC | IR_TRAIT_SYNC | IR_TRAIT_SHARED_WRITE);
}

/* A reduction or scan without a region of its own code. */
static bool is_plain_reduce(const struct ir_operation *op)
{
    return (op->opcode == OP_REDUCE || op->opcode == OP_SCAN) &&
           ir_number(op, IR_ATTRIBUTE_KIND, IR_REDUCE_REGION) != IR_REDUCE_REGION;
}

static void forget_loads(struct cse *cse, const struct ir_operation *writer)
{
    for (int i = 0; i < cse->loads.count; i++)
        if (!cse->loads.data[i]->forgotten && alias_clobbers(writer, cse->loads.data[i]->op))
            cse->loads.data[i]->forgotten = true;
}

/* ---- what goes round loops ---- */

struct supposed {
    const struct ir_value *a, *b;
};
struct supposing {
    struct arena *arena;
    VECTOR(struct supposed) pairs;
};

static bool is_equal(struct supposing *s, const struct ir_value *a, const struct ir_value *b);

/* Carried values i and j; what was supposed on the way to a no is forgotten. */
static bool are_carried_equal(struct supposing *s, const struct ir_operation *loop, int i, int j)
{
    const struct ir_block *body = loop->regions[0];
    const struct ir_operation *yield = ir_terminator(body);
    int before = s->pairs.count;
    vector_push(s->arena, &s->pairs, ((struct supposed){body->arguments.data[1 + i], body->arguments.data[1 + j]}));
    bool equal = is_equal(s, loop->operands[3 + i], loop->operands[3 + j]) &&
                 is_equal(s, yield->operands[i], yield->operands[j]);
    if (!equal)
        s->pairs.count = before;
    return equal;
}

static bool is_equal(struct supposing *s, const struct ir_value *a, const struct ir_value *b)
{
    const struct ir_operation *op = a->definition, *other = b->definition;
    if (a == b)
        return true;
    if (a->type != b->type || !op != !other)
        return false;
    for (int i = 0; i < s->pairs.count; i++) {
        const struct supposed *pair = &s->pairs.data[i];
        if ((pair->a == a && pair->b == b) || (pair->a == b && pair->b == a))
            return true;
    }
    if (!op) {
        const struct ir_operation *loop = a->block == b->block ? a->block->parent : NULL;
        return loop && loop->opcode == OP_FOR && a->index > 0 && b->index > 0 &&
               are_carried_equal(s, loop, a->index - 1, b->index - 1);
    }
    if (op == other)
        return op->opcode == OP_FOR && are_carried_equal(s, op, a->index, b->index);
    bool same = op->opcode == other->opcode && op->operand_count == other->operand_count && a->index == b->index &&
                !op->region_count && op->result_count == 1 && ir_has_trait(op, IR_TRAIT_PURE) &&
                same_attributes(op->attributes, other->attributes);
    for (int i = 0; same && i < op->operand_count; i++)
        same = is_equal(s, op->operands[i], other->operands[i]);
    return same;
}

/* But for yielding itself. */
static bool is_used(const struct ir_value *argument, const struct ir_operation *yield)
{
    for (const struct ir_use *use = argument->uses; use; use = use->next)
        if (use->user != yield || use->index != argument->index - 1)
            return true;
    return false;
}

static void share_carried(struct cse *cse, struct ir_operation *loop)
{
    struct ir_block *body = loop->regions[0];
    struct ir_operation *yield = ir_terminator(body);
    for (int j = 1; j < loop->result_count; j++)
        for (int i = 0; i < j; i++) {
            struct ir_value *kept = body->arguments.data[1 + i], *gone = body->arguments.data[1 + j];
            struct supposing s = {.arena = cse->context->arena};
            bool scalars = gone->type == kept->type && gone->type->kind == IR_TILE && gone->type->rank == 0;
            bool stays = yield->operands[j] == gone;
            if (!scalars || !(is_used(gone, yield) || loop->results[j]->uses) || !are_carried_equal(&s, loop, i, j) ||
                !pass_fuel(cse->context))
                continue;
            ir_replace_uses(gone, kept);
            if (stays) /* it has no other use now, and what was known of it holds */
                ir_set_operand(yield, j, gone);
            ir_replace_uses(loop->results[j], loop->results[i]);
            cse->changed = true;
            break;
        }
}

static void walk(struct cse *cse, struct ir_block *block);

static void walk_regions(struct cse *cse, struct ir_operation *op)
{
    if (!ir_is_isolated(op)) {
        if (ir_has_trait(op, IR_TRAIT_LOOP) && !PLANTED(cse_into_writing_loop))
            forget_loads(cse, op);
        for (int i = 0; i < op->region_count; i++)
            walk(cse, op->regions[i]);
        return;
    }
    struct cse inner = {.context = cse->context};
    for (int i = 0; i < op->region_count; i++)
        walk(&inner, op->regions[i]);
    cse->changed = cse->changed || inner.changed;
}

static bool reuse(struct cse *cse, struct ir_operation *op, unsigned at)
{
    for (struct known *known = cse->bucket[at]; known; known = known->next) {
        if (known->forgotten || !same_operation(known->op, op))
            continue;
        if (!pass_fuel(cse->context))
            return false;
        for (int i = 0; i < op->result_count; i++)
            ir_replace_uses(op->results[i], known->op->results[i]);
        ir_remove(op);
        cse->changed = true;
        return true;
    }
    return false;
}

static void walk(struct cse *cse, struct ir_block *block)
{
    struct arena *arena = cse->context->arena;
    VECTOR(unsigned) added = {0};
    int loads = cse->loads.count;
    for (struct ir_operation *op = block->first, *next; op; op = next) {
        next = op->next;
        if (is_candidate(op) || is_plain_reduce(op)) {
            unsigned at = hash(op);
            if (reuse(cse, op, at))
                continue;
            struct known *known = ARENA_NEW(arena, struct known);
            *known = (struct known){.op = op, .next = cse->bucket[at]};
            cse->bucket[at] = known;
            vector_push(arena, &added, at);
            if (ir_has_trait(op, IR_TRAIT_READ))
                vector_push(arena, &cse->loads, known);
            continue;
        }
        if (op->opcode == OP_FOR)
            share_carried(cse, op);
        if (op->region_count)
            walk_regions(cse, op);
        else if (ir_has_trait(op, IR_TRAIT_WRITE | IR_TRAIT_ATOMIC | IR_TRAIT_SYNC) &&
                 !(PLANTED(cse_over_aliasing_store) && op->opcode == OP_STORE))
            forget_loads(cse, op);
    }
    for (int i = added.count - 1; i >= 0; i--)
        cse->bucket[added.data[i]] = cse->bucket[added.data[i]]->next;
    cse->loads.count = loads;
}

bool pass_cse(struct ir_function *function, struct pass_context *context)
{
    struct cse cse = {.context = context};
    walk(&cse, function->body);
    return cse.changed;
}
