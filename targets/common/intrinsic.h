/* Operations that LLVM has as an intrinsic: the rows INTRINSIC of ops.def, for both kinds of target. */
#ifndef TILECC_COMMON_INTRINSIC_H
#define TILECC_COMMON_INTRINSIC_H
#include <llvm-c/Core.h>

#include "ir/ir.h"

/* Of operands of one type, integers or f32 or f64, vectors or not; `element` says whether integers have a sign. */
LLVMValueRef intrinsic_call(LLVMModuleRef module, LLVMBuilderRef builder, enum ir_opcode opcode,
                            enum ir_element element, const LLVMValueRef *operands);
#endif
