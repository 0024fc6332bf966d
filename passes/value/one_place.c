/* one_place: a load whose index tile is one number everywhere reads one place, and is spread over the tile afterwards.
 *
 *     %g = div (add (splat %k), iota), 128 : index[32]                  %p = div %k, 128
 *     %v = load %s[gather %g, %n +: 64] : bf16[32, 64]          ->      %r = load %s[%p, %n +: 64] : bf16[64]
 *                                                                       %v = broadcast (reshape %r) : bf16[32, 64]
 *
 * where %k is a multiple of 32, as the rows of scales that groups of weights share are asked for.  Right because all elements
 * are equal (ir/facts: constancy), so that the first one tells them all; it is computed by what the tile is made of.  The rest
 * is a plain load, which can be copied ahead, and reads a row once instead of for each element of the tile. */
#include "base/plant.h"
#include "ir/facts/analysis.h"
#include "passes/base/pass.h"
#include "passes/base/remake.h"
#include "passes/base/rewrite.h"

enum { MOST_DEEP = 12 /* operations between an index tile and what it starts from */ };

static bool is_plain(const struct ir_operation *op)
{
    return ir_has_trait(op, IR_TRAIT_ELEMENTWISE) && !op->region_count && op->result_count == 1;
}

/* Operations that give their operand's first element as their own. */
static bool keeps_first(enum ir_opcode opcode)
{
    return opcode == OP_RESHAPE || opcode == OP_BROADCAST || opcode == OP_PERMUTE || opcode == OP_SPLAT;
}

/* Whether first_element can make it. */
static bool has_first(const struct ir_value *value, int depth)
{
    const struct ir_operation *op = value->definition;
    if (value->type->rank == 0 || ir_is_constant(value))
        return true;
    if (!op || depth == 0)
        return false;
    if (op->opcode == OP_IOTA)
        return true;
    if (keeps_first(op->opcode))
        return has_first(op->operands[0], depth - 1);
    for (int i = 0; i < op->operand_count && is_plain(op); i++)
        if (!has_first(op->operands[i], depth - 1))
            return false;
    return is_plain(op);
}

static const struct ir_type *scalar_of(struct ir_context *context, const struct ir_type *type)
{
    return ir_type_scalar(context, type->element);
}

static struct ir_value *first_element(struct ir_builder *builder, struct ir_value *value)
{
    struct ir_context *context = builder->module->context;
    const struct ir_operation *op = value->definition;
    uint64_t bits;
    if (value->type->rank == 0)
        return value;
    if (ir_constant_of(value, &bits))
        return ir_constant_bits(builder, scalar_of(context, value->type), bits);
    if (op->opcode == OP_IOTA)
        return ir_constant_bits(builder, scalar_of(context, value->type), 0);
    if (keeps_first(op->opcode))
        return first_element(builder, op->operands[0]);
    struct ir_value **operands = ARENA_ARRAY(builder->module->arena, struct ir_value *, op->operand_count);
    for (int i = 0; i < op->operand_count; i++)
        operands[i] = first_element(builder, op->operands[i]);
    struct ir_value *first = ir_build_value(builder, op->opcode, scalar_of(context, op->results[0]->type),
                                            op->operand_count, operands);
    first->definition->attributes = op->attributes;
    return first;
}

struct places {
    struct pass_context *context;
    const struct divisibilities *known;
    bool changed;
};

/* The only index tile of the load, of one dimension, with the same number everywhere; -1: there is none. */
static int equal_dimension(const struct places *p, const struct ir_access *access)
{
    int found = -1;
    for (int d = 0; d < access->rank; d++) {
        if (access->place[d] != IR_GATHER)
            continue;
        const struct ir_value *index = access->index[d];
        if (found >= 0 || index->type->rank != 1 ||
            divisibility_of(p->known, index).constancy[0] <
                index->type->extent[0] / (PLANTED(one_place_of_two) ? 2 : 1) ||
            !has_first(index, MOST_DEEP))
            return -1;
        found = d;
    }
    return found;
}

/* `other` of a load is one number, or a tile of the load's shape. */
static bool other_is_one(const struct ir_access *access)
{
    return !access->other || access->other->type->rank == 0 || ir_is_constant(access->other);
}

static void read_row(const struct places *p, struct ir_operation *load, const struct ir_access *access, int dimension)
{
    struct ir_context *context = rewrite_context(load);
    struct ir_builder builder = rewrite_before(load);
    const struct ir_type *type = load->results[0]->type;
    int64_t place[IR_MAX_RANK], extent[IR_MAX_RANK], spread[IR_MAX_RANK];
    int rank = 0;
    struct remake again = remake_open(p->context->arena, load->block->function, NULL);
    struct ir_operation *row = remake_operation(&again, &builder, load);
    for (int d = 0; d < access->rank; d++)
        place[d] = d == dimension ? IR_POINT : access->place[d];
    ir_set_list(row, IR_ATTRIBUTE_PLACE, access->rank, place);
    ir_set_operand(
        row, 1 + dimension,
        first_element(
            &(struct ir_builder){.module = builder.module, .block = builder.block, .before = row, .at = load->at},
            access->index[dimension]));
    for (int d = 0, result = 0; d < access->rank; d++) {
        if (access->place[d] == IR_POINT)
            continue;
        spread[result] = d == dimension ? 1 : type->extent[result];
        if (d != dimension)
            extent[rank++] = type->extent[result];
        result++;
    }
    row->results[0]->type = rank ? ir_type_tile(context, type->element, rank, extent) : scalar_of(context, type);
    struct ir_access made;
    uint64_t bits;
    if (ir_access_of(row, &made) && made.other && made.other->type->rank && ir_constant_of(made.other, &bits)) {
        struct ir_builder before = rewrite_before(row);
        for (int i = 0; i < row->operand_count; i++)
            if (row->operands[i] == made.other)
                ir_set_operand(row, i, ir_constant_bits(&before, row->results[0]->type, bits));
    }
    struct ir_value *all = row->results[0];
    if (rank) {
        all = ir_build_value(&builder, OP_RESHAPE, ir_type_tile(context, type->element, type->rank, spread), 1, &all);
        all = ir_broadcast(&builder, all, type->rank, type->extent);
    } else {
        all = ir_build_value(&builder, OP_SPLAT, type, 1, &all);
    }
    ir_replace_uses(load->results[0], all);
    ir_remove(load);
}

static void visit(struct ir_operation *op, void *data)
{
    struct places *p = data;
    struct ir_access access;
    if (op->opcode != OP_LOAD || !ir_access_of(op, &access) || access.mask || !other_is_one(&access))
        return;
    int dimension = equal_dimension(p, &access);
    if (dimension < 0 || !pass_fuel(p->context))
        return;
    read_row(p, op, &access, dimension);
    p->changed = true;
}

bool pass_one_place(struct ir_function *function, struct pass_context *context)
{
    struct places p = {context, divisibility_analyse(function, context->arena), false};
    ir_walk(function->body, visit, &p);
    return p.changed;
}
