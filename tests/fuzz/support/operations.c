/* The lists of operations.h. */
#include "operations.h"

static struct operations collect(enum ir_element element, int operands, bool intrinsic)
{
    struct operations out = {0};
    for (int i = 0; i < OP_COUNT; i++) {
        const struct ir_op_info *info = &ir_op_info[i];
        if (info->takes != IR_TAKES_ANY && info->least == operands && ir_takes((enum ir_opcode)i, element) &&
            (!intrinsic || info->intrinsic))
            out.of[out.count++] = (enum ir_opcode)i;
    }
    return out;
}

struct operations operations_on(enum ir_element element, int operands) { return collect(element, operands, false); }

struct operations operations_intrinsic(enum ir_element element, int operands)
{
    return collect(element, operands, true);
}

const char *operations_text(const struct operations *operations, int number)
{
    return ir_op_info[operations->of[number]].text;
}
