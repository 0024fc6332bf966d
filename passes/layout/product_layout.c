/* Layouts of products.  wgmma fixes them: four warps hold 64 rows.  For mma.sync a grid of warps is chosen.  All warps lie
 * along the rows where rows are looked at as a whole, which then stays inside a warp: where columns are reduced as often
 * as the product runs, or where the result is a factor of another product.  Otherwise the grid is the one that reads the
 * fewest factors. */
#include "passes/layout/product_layout.h"

#include "ir/facts/layout_rules.h"
#include "ir/facts/live_tiles.h"
#include "passes/base/rewrite.h"

enum { MOST_MMA_WARPS = 8 };

static enum ir_instruction instruction_of(const struct ir_operation *dot)
{
    return (enum ir_instruction)ir_number(dot, IR_ATTRIBUTE_INSTRUCTION, IR_INSTRUCTION_FMA);
}

static bool same_extents(const struct ir_type *a, const struct ir_type *b)
{
    return a->rank == 2 && b->rank == 2 && a->extent[0] == b->extent[0] && a->extent[1] == b->extent[1];
}

/* Is there a factor that comes from memory as it is: it will be read from a buffer. */
static bool is_loaded(const struct ir_value *value)
{
    while (value->definition &&
           (value->definition->opcode == OP_PERMUTE || value->definition->opcode == OP_CONVERT_LAYOUT))
        value = value->definition->operands[0];
    return value->definition && value->definition->opcode == OP_LOAD;
}

struct looking {
    const struct ir_type *type;
    int depth;
    bool found;
};

/* Loops around an operation. */
static int depth_of(const struct ir_operation *op)
{
    int depth = 0;
    for (; op; op = op->block->parent)
        depth += op->block->parent && ir_has_trait(op->block->parent, IR_TRAIT_LOOP);
    return depth;
}

static void look(struct ir_operation *op, void *data)
{
    struct looking *l = data;
    if (op->opcode == OP_REDUCE && same_extents(op->operands[0]->type, l->type) && depth_of(op) >= l->depth)
        l->found |= ir_number(op, IR_ATTRIBUTE_AXIS, 0) == 1;
    if (op->opcode == OP_DOT || op->opcode == OP_DOT_ASYNC)
        l->found |= same_extents(op->operands[0]->type, l->type) && !is_loaded(op->operands[0]);
}

/* Every product of a chain has the grid of the one that needs it: rows alone when any does. */
static void look_at_products(struct ir_operation *op, void *data)
{
    struct looking *l = data;
    if (op->opcode != OP_DOT && op->opcode != OP_DOT_ASYNC)
        return;
    struct looking inner = {.type = op->results[0]->type, .depth = depth_of(op)};
    ir_walk(op->block->function->body, look, &inner);
    l->found |= inner.found;
}

static bool rows_matter(const struct ir_operation *dot)
{
    struct looking l = {0};
    ir_walk(dot->block->function->body, look_at_products, &l);
    return l.found;
}

/* Different factors of the products of the block whose sums have these extents: what all of them read is read once. */
static int count_factors(const struct ir_operation *dot, int factor)
{
    int count = 0;
    for (const struct ir_operation *op = dot->block->first; op; op = op->next) {
        if (op->opcode != OP_DOT || !same_extents(op->results[0]->type, dot->results[0]->type))
            continue;
        bool again = false;
        for (const struct ir_operation *before = dot->block->first; before != op; before = before->next)
            again |= before->opcode == OP_DOT && before->operands[factor] == op->operands[factor];
        count += !again;
    }
    return count;
}

static const struct layout *mma_accumulator(struct layout_table *table, const struct ir_operation *dot,
                                            const int *extent, int warps)
{
    const struct layout *best = NULL;
    bool rows = rows_matter(dot);
    int first = count_factors(dot, 0), second = count_factors(dot, 1);
    int least = INT32_MAX;
    for (int n = 1; n <= warps && !(rows && n > 1 && best); n *= 2) {
        int m = warps / n, cost = first * (extent[0] / m) + second * (extent[1] / n);
        if (warps % n || extent[0] % (16 * m) || extent[1] % (8 * n) || cost >= least)
            continue;
        const struct layout *layout = layout_mma_accumulator(table, 2, extent, m, n);
        if (layout) {
            best = layout;
            least = cost;
        }
    }
    return best;
}

const struct layout *product_accumulator(struct layout_table *table, const struct ir_operation *dot, int warps)
{
    const struct ir_type *type = dot->results[0]->type;
    if (type->rank != 2 || instruction_of(dot) == IR_INSTRUCTION_FMA)
        return NULL;
    int extent[2] = {(int)type->extent[0], (int)type->extent[1]};
    return instruction_of(dot) == IR_INSTRUCTION_WGMMA ? layout_wgmma_accumulator(table, extent, warps)
                                                       : mma_accumulator(table, dot, extent, warps);
}

bool product_takes(struct layout_table *table, const struct ir_operation *dot, const struct layout *layout, int warps)
{
    if (instruction_of(dot) != IR_INSTRUCTION_MMA)
        return layout && product_accumulator(table, dot, warps) == layout;
    const struct ir_type *type = dot->results[0]->type;
    int whole[2] = {(int)type->extent[0], (int)type->extent[1]};
    for (int n = 1; n <= warps && layout && type->rank == 2; n *= 2)
        if (warps % n == 0 && layout_mma_accumulator(table, 2, whole, warps / n, n) == layout)
            return true;
    return false;
}

const struct layout *product_factor(struct layout_table *table, const struct ir_operation *dot, int factor,
                                    const struct layout *accumulator)
{
    struct ir_type result = *dot->results[0]->type;
    result.layout = accumulator;
    return product_factor_of(table, dot->operands[factor]->type, &result, factor);
}

const struct layout *product_factor_of(struct layout_table *table, const struct ir_type *type,
                                       const struct ir_type *result, int factor)
{
    const struct layout *accumulator = result->layout;
    int extent[2] = {(int)type->extent[0], (int)type->extent[1]};
    int whole[2] = {(int)result->extent[0], (int)result->extent[1]};
    int bytes = ir_element_info[type->element].bits / 8, warps = layout_warps(accumulator);
    for (int n = 1; n <= warps; n *= 2)
        if (warps % n == 0 && layout_mma_accumulator(table, 2, whole, warps / n, n) == accumulator)
            return layout_mma_operand(table, 2, extent, factor, bytes, warps / n, n);
    return NULL;
}

/* ---- warps ---- */

struct counting {
    int64_t rows, most, products, grid;
    bool wgmma, mma, walks, changed, in_three;
};

static bool is_wanted_behind(const struct ir_value *value, const struct ir_operation *place)
{
    for (const struct ir_use *use = value->uses; use; use = use->next) {
        const struct ir_operation *user = ir_ancestor_in(place->block, use->user);
        for (const struct ir_operation *later = place->next; later; later = later->next)
            if (later == user)
                return true;
    }
    return false;
}

static int64_t words_through(const struct ir_value *value, const struct ir_operation *place)
{
    bool waits = value->type->kind == IR_TILE && value->type->rank == 2 && !layout_rule_cheap(value) &&
                 !live_tiles_loaded_factor(value) && is_wanted_behind(value, place);
    return waits ? ir_type_bytes(value->type) / 4 : 0;
}

/* Registers, of all threads, with what is there while the operation runs and is wanted only behind it, or behind the
 * loops around it: another loop's sums. */
static int64_t words_beside(const struct ir_operation *op)
{
    int64_t words = 0;
    for (const struct ir_operation *place = op->block->parent; place; place = place->block->parent) {
        const struct ir_block *block = place->block;
        for (int i = 0; i < block->arguments.count; i++)
            words += words_through(block->arguments.data[i], place);
        for (const struct ir_operation *before = block->first; before != place; before = before->next)
            for (int r = 0; r < before->result_count; r++)
                words += words_through(before->results[r], place);
    }
    return words;
}

/* Of registers that hold the sums. */
static int64_t words_of(const struct ir_type *type)
{
    return ir_type_elements(type) * (ir_element_info[type->element].bits / 32);
}

/* The largest power of two that divides it. */
static int64_t power_in(int64_t number) { return number & -number; }

/* In a loop: is the sum added to and looked at nowhere else. */
static bool only_goes_round(const struct ir_value *sum)
{
    for (const struct ir_use *use = sum->uses; use; use = use->next)
        if (!ir_has_trait(use->user, IR_TRAIT_TERMINATOR) &&
            !(use->user->opcode == OP_DOT && use->index == 2 && only_goes_round(use->user->results[0])))
            return false;
    return true;
}

static void count(struct ir_operation *op, void *data)
{
    struct counting *c = data;
    if (op->opcode != OP_DOT || instruction_of(op) == IR_INSTRUCTION_FMA)
        return;
    const struct ir_type *type = op->results[0]->type;
    int64_t elements = words_beside(op);
    for (const struct ir_operation *other = op->block->first; other; other = other->next)
        if (other->opcode == OP_DOT)
            elements += words_of(other->results[0]->type);
    c->walks |= depth_of(op) > 1;
    c->changed |= depth_of(op) > 0 && !only_goes_round(op->results[0]);
    c->wgmma |= instruction_of(op) == IR_INSTRUCTION_WGMMA;
    c->mma |= instruction_of(op) == IR_INSTRUCTION_MMA;
    if (instruction_of(op) == IR_INSTRUCTION_MMA && type->rank == 2) {
        int64_t grid = power_in(type->extent[0] / 16) * power_in(type->extent[1] / 8);
        c->in_three = (!c->grid || c->in_three) && type->extent[0] == 3 * power_in(type->extent[0]);
        c->grid = c->grid ? int64_min(c->grid, grid) : grid;
    }
    if (!c->rows || type->extent[0] < c->rows)
        c->rows = type->extent[0];
    c->most = int64_max(c->most, words_of(type));
    c->products = int64_max(c->products, elements);
}

/* wgmma: a warpgroup for each 64 rows, up to three.
 * mma: 128 accumulators a thread at most, so that a warp reads few factors for each product; and no more warps than
 * the smallest product has blocks of 16 x 8 for.  A program that walks over blocks of its own (a loop around the
 * product's) is likely to have its multiprocessor for itself, where four warps leave it idle: 64 accumulators then
 * (128 x 128 on an H200, text for sm_80: 267 TFLOP/s by 4 warps, 351 by 8).
 * Beside a producer, all tiles that live at once are held against the same 128, and against 96 where an iteration looks
 * at what it has multiplied, which takes registers beside it: a product of 128 x 128 of f8 that is scaled and then added
 * up takes 256 on four warps, which spilled 1008 bytes (4096 cubed on an H200: 1.11 ms by 4 warps, 0.42 by 8).  Without
 * one, fewer warps that spill a little are quicker than more that read factors again (the text for sm_80, by 4 and by 8
 * warps: f16, scaled 0.57 and 0.72 ms, two sums in a branch 0.64 and 1.13, attention backward 0.15 and 0.21).
 * Sixteen warps beside a producer have 96 registers each, too few for 96 accumulators; twelve have 160. */
int product_warps(struct ir_function *function, int given, bool producer)
{
    struct counting c = {0};
    ir_walk(function->body, count, &c);
    if (c.wgmma) {
        int64_t groups = c.rows / 64;
        if (given % 4 == 0 && given >= 4 && groups % (given / 4) == 0)
            return given;
        if (groups > 3)
            groups = groups % 2 ? 1 : 2;
        return (int)(4 * groups);
    }
    if (!c.mma)
        return 0;
    if (given > 0 && given <= c.grid && is_power_of_two(given) && c.rows % 16 == 0 &&
        c.most <= (int64_t)given * 32 * 128)
        return given;
    int warps = 4;
    int each = c.walks ? 64 : 128, each_live = !producer ? 256 : c.changed ? 96 : 128;
    int64_t live = live_tiles_most(function);
    while (warps < MOST_MMA_WARPS &&
           (c.products > (int64_t)warps * 32 * each || live > (int64_t)warps * 32 * each_live))
        warps *= 2;
    if (producer && c.in_three && c.most > (int64_t)warps * 32 * 128 && c.most <= 12 * 32 * 128)
        return 12;
    while (warps < 16 && c.most > (int64_t)warps * 32 * 128)
        warps *= 2;
    return (int)int64_min(warps, c.grid);
}
