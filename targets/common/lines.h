/* Lines of the sources as LLVM's debug information: for code of both kinds of target. */
#ifndef TILECC_HOST_LINES_H
#define TILECC_HOST_LINES_H
#include "targets/target.h"
#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>

struct lines;
/* A source, and the call that brought what comes from it; NULL: it stands in the function itself. */
struct line_scope {
    const struct inlined_call *call;
    const struct source *source;
    LLVMMetadataRef scope, inlined_at;
};
/* Everything of `module`; `source` is what the unit is called after.  With `numbered`, for PTX of one function, the
 * directory of a file is the number of its scope in decimal. */
struct lines *lines_open(const struct target_options *options, LLVMModuleRef module, const struct source *source,
                         bool numbered);
/* From here on places belong to this function. */
void lines_function(struct lines *lines, LLVMValueRef code, const struct ir_function *function, const char *name);
/* What `builder` builds from here on comes from there; the place before stays where there is none. */
void lines_set(struct lines *lines, LLVMBuilderRef builder, struct location at);
const struct line_scope *lines_scope(const struct lines *lines, int number); /* NULL: there is none */
void lines_close(struct lines *lines);
#endif
