/* Lines of the sources in PTX: .loc and .file. */
#ifndef TILECC_NVPTX_LINES_H
#define TILECC_NVPTX_LINES_H
#include "targets/nvptx/lower/lower.h"

struct line_text;
/* For a kernel that is printed without LLVM's back end; NULL, which all below take, too: no lines are wanted. */
struct line_text *line_text_open(struct lowering *l, struct arena *arena);
/* The place of the kernel itself, in front of its first instruction. */
void line_text_function(struct line_text *text, struct buffer *out);
/* That what is printed next stands at this place of LLVM's; nothing where what stands before did, or NULL. */
void line_text_place(struct line_text *text, LLVMMetadataRef at, struct buffer *out);
/* The files, and the names of the functions that were called: behind the code. */
void line_text_tables(struct line_text *text, struct buffer *out);

/* Rewrites what LLVM's back end printed. */
void lines_tell_calls(struct lowering *l, struct buffer *text);
#endif
