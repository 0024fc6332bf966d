/* The C++17 header of a module, beside its C header: functions of one name for all instances of a kernel. */
#ifndef TILECC_CXX_H
#define TILECC_CXX_H
#include "base/base.h"
#include "ir/kernel.h"

/* c_header: what it includes, as C++ writes it; shared: a file of cxx_print_shared() that it includes, too, or NULL: it repeats
 * that.  space: the namespace of the kernels, such as "engine::kernels". */
void cxx_print(const struct kernel_module *module, const char *version, const char *c_header, const char *shared,
               const char *space, struct buffer *out);
void cxx_print_shared(const char *version, struct buffer *out);
bool cxx_is_namespace(const char *space);
#endif
