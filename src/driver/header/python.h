/* A Python module that calls the kernels of a shared library by ctypes. */
#ifndef TILECC_PYTHON_H
#define TILECC_PYTHON_H
#include "base/base.h"
#include "ir/kernel.h"

/* Whether `import` takes it. */
bool python_is_module_name(const char *name, int size);

/* Depends on nothing but the module, the compiler's version and the library's name, which lies beside the file.  What all
 * modules share is runtime-stub/python/support.py. */
void python_print(const struct kernel_module *module, const char *version, const char *library, struct buffer *out);
#endif
