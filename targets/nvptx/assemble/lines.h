/* Lines of the sources in PTX: .loc and .file. */
#ifndef TILECC_NVPTX_LINES_H
#define TILECC_NVPTX_LINES_H
#include "targets/nvptx/lower/lower.h"

/* Rewrites what LLVM's back end printed. */
void lines_tell_calls(struct lowering *l, struct buffer *text);
#endif
