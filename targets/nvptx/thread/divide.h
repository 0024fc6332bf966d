/* Division of a tile by one number. */
#ifndef TILECC_NVPTX_DIVIDE_H
#define TILECC_NVPTX_DIVIDE_H
#include "targets/nvptx/thread/thread.h"

bool divide_has_one_divisor(const struct ir_operation *operation); /* f32, by a splat */
void divide_all(struct lowering *l, struct ir_operation *operation, LLVMValueRef *out, int count);
#endif
