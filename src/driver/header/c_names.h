/* Names that generated C may not take, or not everywhere: keywords of C and C++, macros and types that system headers
 * define, and functions of the C library and of POSIX, which a symbol of that name would replace in the whole
 * program. */
#ifndef TILECC_C_NAMES_H
#define TILECC_C_NAMES_H
#include <stdbool.h>

bool c_name_is_keyword(const char *name);
bool c_name_is_macro(const char *name);
bool c_name_is_type(const char *name);    /* of <stddef.h> and <stdint.h>, and of dlpack.h */
bool c_name_is_library(const char *name); /* `main` is among them */
#endif
