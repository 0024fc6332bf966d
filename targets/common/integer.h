/* Operations on integers as LLVM IR, for both kinds of target: of scalars or vectors, with what ops.def says where LLVM
 * leaves a result undefined. */
#ifndef TILECC_COMMON_INTEGER_H
#define TILECC_COMMON_INTEGER_H
#include <llvm-c/Core.h>

#include "ir/ir.h"

/* add sub mul div rem min max and or xor shl shr mulhi of two values of a type; `element` says whether it has a sign. */
LLVMValueRef integer_binary(LLVMBuilderRef builder, enum ir_opcode opcode, enum ir_element element, LLVMValueRef a,
                            LLVMValueRef b);
LLVMValueRef integer_constant(LLVMTypeRef type, int64_t value); /* in each lane of a vector */
#endif
