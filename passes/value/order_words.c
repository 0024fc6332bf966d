/* order_words: where a factor of a product is taken out of words, several numbers of k each, its rows of k are multiplied in
 * the order in which a thread finds them.
 *
 *     %w = reshape (… shr (broadcast %q : i32[4, 1, 128]) …) : [32, 128]      row 8*r + i of k is number i of word r
 *     %p = dot %x, (… %w …)
 * becomes
 *     %w' = rows i, r, h of 8*r + 4*h + i: reshape [4, 2, 4, 128], permute (2, 0, 1, 3), reshape [32, 128]
 *     %x' = %x with its columns in the same order
 *     %p = dot %x', (… %w' …)
 *
 * Right because a product adds up over k in any order.  Tensor cores want two neighbours of k in a word of their own, and a
 * thread's next ones four neighbours on: in the order as written four threads read each word and take two numbers of it, which
 * do not lie 16 bits apart.  In the new one a thread takes all numbers of a word of its own, the two halves' at once.  What
 * it costs is that the other factor is taken apart, too, which pays where that has few rows. */
#include "base/plant.h"
#include "passes/base/pass.h"
#include "passes/base/rewrite.h"

#include <string.h>

enum { MOST_ROWS = 16, MOST_STEPS = 12, WORD_BITS = 32 };

/* Dimension k of a factor holds words of `numbers` each, `words` of them. */
struct packing {
    int64_t words, numbers;
};

/* Words that are shifted by each number's place: the dimension has one word, spread, and other shifts. */
static bool is_taken_out(const struct ir_operation *shift, int dimension)
{
    const struct ir_operation *words = shift->operands[0]->definition;
    return words && words->opcode == OP_BROADCAST && words->operands[0]->type->extent[dimension] == 1 &&
           ir_element_info[words->results[0]->type->element].bits == WORD_BITS;
}

/* The operation that makes dimension `dimension` of its operand's numbers of words, or one in front of it. */
static bool finds_shift(const struct ir_value *value, int dimension, int steps)
{
    const struct ir_operation *op = value->definition;
    if (!op || steps == 0)
        return false;
    if (op->opcode == OP_SHR && is_taken_out(op, dimension))
        return true;
    if (!ir_has_trait(op, IR_TRAIT_ELEMENTWISE) || op->region_count)
        return false;
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i]->type->rank == value->type->rank && finds_shift(op->operands[i], dimension, steps - 1))
            return true;
    return false;
}

/* A reshape that puts two dimensions together into `dimension`: words and the numbers of each. */
static bool joins_numbers(const struct ir_operation *op, int dimension, int steps, struct packing *found)
{
    const struct ir_type *from = op->operands[0]->type, *to = op->results[0]->type;
    int64_t before = 1, in_front = 1;
    for (int d = 0; d < dimension; d++)
        in_front *= to->extent[d];
    int d = 0;
    while (d < from->rank && before < in_front)
        before *= from->extent[d++];
    if (before != in_front || d + 1 >= from->rank || from->extent[d] * from->extent[d + 1] != to->extent[dimension])
        return false;
    *found = (struct packing){from->extent[d], from->extent[d + 1]};
    return found->numbers % 2 == 0 && found->words % 4 == 0 && finds_shift(op->operands[0], d + 1, steps);
}

static bool find_packing(const struct ir_value *value, int dimension, int steps, struct packing *found)
{
    const struct ir_operation *op = value->definition;
    if (!op || steps == 0)
        return false;
    if (op->opcode == OP_PERMUTE)
        return find_packing(op->operands[0], (int)ir_attribute(op, IR_ATTRIBUTE_PERMUTATION)->list[dimension],
                            steps - 1, found);
    if (op->opcode == OP_RESHAPE)
        return joins_numbers(op, dimension, steps - 1, found);
    if (!ir_has_trait(op, IR_TRAIT_ELEMENTWISE) || op->region_count)
        return false;
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i]->type->rank == value->type->rank &&
            find_packing(op->operands[i], dimension, steps - 1, found))
            return true;
    return false;
}

/* The factor with the rows of k, its dimension `dimension`, in the order of numbers. */
static struct ir_value *reorder(struct ir_operation *dot, struct ir_value *factor, int dimension,
                                const struct packing *packing)
{
    struct ir_builder builder = rewrite_before(dot);
    struct ir_context *context = rewrite_context(dot);
    const struct ir_type *type = factor->type;
    int64_t half = packing->numbers / 2, other = type->extent[1 - dimension];
    int64_t apart[4] = {packing->words, 2, half, other}, moved[4] = {half, packing->words, 2, other};
    int64_t order[4] = {2, 0, 1, 3}, behind[4] = {0, 3, 1, 2};
    if (dimension == 1) {
        memmove(apart + 1, apart, 3 * sizeof *apart), apart[0] = other;
        memmove(moved + 1, moved, 3 * sizeof *moved), moved[0] = other;
        memcpy(order, behind, sizeof order);
    }
    factor = ir_build_value(&builder, OP_RESHAPE, ir_type_tile(context, type->element, 4, apart), 1, &factor);
    factor = ir_build_value(&builder, OP_PERMUTE, ir_type_tile(context, type->element, 4, moved), 1, &factor);
    ir_set_list(factor->definition, IR_ATTRIBUTE_PERMUTATION, 4, order);
    return ir_build_value(&builder, OP_RESHAPE, type, 1, &factor);
}

struct ordering {
    struct pass_context *context;
    bool changed;
};

static void visit(struct ir_operation *op, void *data)
{
    struct ordering *ordering = data;
    struct packing packing;
    if (op->opcode != OP_DOT || op->results[0]->type->rank != 2)
        return;
    const struct ir_type *type = op->operands[0]->type, *sum = op->results[0]->type;
    for (int i = 0; i < 2; i++) {
        if (sum->extent[i] > MOST_ROWS || ir_element_info[type->element].bits != 16 ||
            !find_packing(op->operands[1 - i], i, MOST_STEPS, &packing) || !pass_fuel(ordering->context))
            continue;
        ir_set_operand(op, 1 - i, reorder(op, op->operands[1 - i], i, &packing));
        if (!PLANTED(order_words_one_factor))
            ir_set_operand(op, i, reorder(op, op->operands[i], 1 - i, &packing));
        pass_remark(ordering->context, op->at, "k is multiplied in the order of the %lld numbers in each word",
                    (long long)packing.numbers);
        ordering->changed = true;
        return;
    }
}

bool pass_order_words(struct ir_function *function, struct pass_context *context)
{
    struct ordering ordering = {context, false};
    ir_walk(function->body, visit, &ordering);
    return ordering.changed;
}
