/* Registers of a tile.  See registers.h. */
#include "ir/facts/registers.h"

#include "ir/layout/layout.h"

int registers_of_tile(const struct ir_type *type, enum registers_packing packing)
{
    if (type->kind != IR_TILE || type->rank == 0 || !type->layout ||
        (type->element == IR_BOOL && packing == REGISTERS_PACKED))
        return 0;
    int64_t bits = int64_max(ir_element_info[type->element].bits, packing);
    return (int)((layout_registers(type->layout) * bits + 31) / 32);
}

bool registers_are_shared(const struct ir_operation *operation)
{
    switch (operation->opcode) {
    case OP_CONSTANT:
    case OP_SPLAT:
    case OP_BROADCAST:
    case OP_RESHAPE:
    case OP_PERMUTE:
    case OP_EXTRACT:
    case OP_UNDEFINED:
    case OP_IOTA: return true;
    default: return false;
    }
}

const struct ir_value *registers_origin(const struct ir_value *value)
{
    while (value->definition && value->definition->operand_count == 1 && registers_are_shared(value->definition))
        value = value->definition->operands[0];
    return value;
}
