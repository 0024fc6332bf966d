/* The remainder of a float division as a function in an LLVM module: what fmod computes, exactly, without a library.
 * Knows nothing of the CPU target, so that other targets may have it too. */
#ifndef TILECC_REMAINDER_H
#define TILECC_REMAINDER_H
#include <llvm-c/Core.h>
#include <stdbool.h>

/* float f(float, float), or of double when `wide`; internal, made once a module.  *type is its type, for the call. */
LLVMValueRef remainder_function(LLVMModuleRef module, bool wide, LLVMTypeRef *type);
#endif
