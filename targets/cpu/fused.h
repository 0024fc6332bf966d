/* The fused multiply-add of f64 as a function in an LLVM module: a*b + c rounded once, whatever the exponents, by
 * integers alone.  Knows nothing of the CPU target, so that other targets may have it too. */
#ifndef TILECC_FUSED_H
#define TILECC_FUSED_H
#include <llvm-c/Core.h>

/* double f(double, double, double), or of vectors of `lanes`; internal, made once a module.  *type is its type, for the
 * call. */
LLVMValueRef fused_function(LLVMModuleRef module, int lanes, LLVMTypeRef *type);
#endif
