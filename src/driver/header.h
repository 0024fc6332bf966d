/* The C header of a module: C99 and C++11, guarded so that any number of them fit into one program. */
#ifndef TILECC_HEADER_H
#define TILECC_HEADER_H
#include "base/base.h"
#include "ir/kernel.h"

/* header_check: do the names that the module gives C differ from each other and from the run time's?  False: reported.
 * header_print: depends on nothing but the module and the compiler's version.  What all headers share is copied from
 * runtime-stub/tile_rt.h. */
bool header_check(const struct kernel_module *module, struct arena *arena, struct diagnostics *diagnostics);
void header_print(const struct kernel_module *module, const char *version, struct buffer *out);
#endif
