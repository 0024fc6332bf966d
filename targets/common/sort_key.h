/* Elements as unsigned integers that are in order when the elements are: what both code generators compare when they sort. */
#ifndef TILECC_SORT_KEY_H
#define TILECC_SORT_KEY_H
#include "ir/ir.h"

#include <llvm-c/Core.h>

/* `bits`: an integer of the element's width in memory (bool: 8), and so is the key.  All NaN have the key of all ones, and
 * nothing else that is a float has it. */
LLVMValueRef sort_key_of(LLVMBuilderRef builder, enum ir_element element, bool descending, LLVMValueRef bits);
/* The bits again; of NaN, those of one that is quiet. */
LLVMValueRef sort_key_bits(LLVMBuilderRef builder, enum ir_element element, bool descending, LLVMValueRef key);
#endif
