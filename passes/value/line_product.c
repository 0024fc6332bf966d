/* Products with one column or one row (line_product.h):
 *
 *     %y = dot %a, %x, %z : f32[16, 1]              of bf16[16, 512] and bf16[512, 1]
 * becomes
 *     %w = cast %a : f32[16, 512]
 *     %v = broadcast (reshape (cast %x) : f32[1, 512]) : f32[16, 512]
 *     %s = reduce axis(1) kind(add) (mul %w, %v) : f32[16]
 *     %y = add %z, (reshape %s : f32[16, 1])
 *
 * Right because a product's sums may be taken in any order; but where products are rounded by themselves, --strict-fp asks that
 * they are not.  Multiply-adds read each factor from shared memory for each column; the elements of a matrix that meets one
 * column are read once, and where memory has them side by side.  (H200, 8192 x 8192 of f32 by the multiply-adds 385 us, by the
 * sum 71, a copy of as many bytes 68; bf16, 16384 x 8192: 608, 72, 68.) */
#include "passes/value/line_product.h"

#include "passes/base/rewrite.h"

bool line_product_is(const struct ir_operation *dot)
{
    const struct ir_type *sum = dot->results[0]->type, *a = dot->operands[0]->type;
    bool line = sum->rank == 2 && (sum->extent[0] == 1 || sum->extent[1] == 1);
    return line && a->extent[1] > 1 && !(dot->block->function->strict_fp && sum->element != IR_I32);
}

static struct ir_value *reshape(struct ir_builder *builder, struct ir_value *value, int rank, const int64_t *extent)
{
    const struct ir_type *type = ir_type_tile(builder->module->context, value->type->element, rank, extent);
    return value->type == type ? value : ir_build_value(builder, OP_RESHAPE, type, 1, &value);
}

void line_product_expand(struct ir_operation *dot)
{
    struct ir_builder builder = rewrite_before(dot);
    const struct ir_type *sum = dot->results[0]->type;
    bool row = sum->extent[1] != 1; /* of sums: the second factor is the matrix, and its columns are summed */
    struct ir_value *matrix = dot->operands[row], *line = dot->operands[!row];
    int64_t k = matrix->type->extent[!row], length = sum->extent[row];
    int64_t thin[2] = {row ? k : 1, row ? 1 : k};
    matrix = ir_cast(&builder, matrix, sum->element);
    line = reshape(&builder, ir_cast(&builder, line, sum->element), 2, thin);
    line = ir_broadcast(&builder, line, 2, matrix->type->extent);
    struct ir_value *products = ir_binary(&builder, OP_MUL, matrix, line);
    const struct ir_type *reduced = ir_type_tile(builder.module->context, sum->element, 1, &length);
    struct ir_value *total = ir_build_value(&builder, OP_REDUCE, reduced, 1, &products);
    ir_set_number(total->definition, IR_ATTRIBUTE_AXIS, !row);
    ir_set_number(total->definition, IR_ATTRIBUTE_KIND, IR_REDUCE_ADD);
    total = ir_binary(&builder, OP_ADD, dot->operands[2], reshape(&builder, total, 2, sum->extent));
    ir_replace_uses(dot->results[0], total);
    ir_remove(dot);
}
