/* The C header of a module: C99 and C++11, guarded so that any number of them fit into one program. */
#ifndef TILECC_HEADER_H
#define TILECC_HEADER_H
#include "base/base.h"
#include "ir/kernel.h"

/* Depends on nothing but the module and the compiler's version.  What all headers share is copied from
 * runtime-stub/tile_rt.h. */
void header_print(const struct kernel_module *module, const char *version, struct buffer *out);

/* Texts about a parameter that other languages have, too: "[M, cdiv(N, 2)]"; and whether two views may be the same. */
void header_put_extents(struct buffer *out, const struct kernel_entry *entry, const struct kernel_parameter *parameter);
bool header_is_aliased(const struct kernel_entry *entry, int a, int b);
#endif
