/* The end of a compiler that has found a bug in itself. */
#include "base/base.h"

#include <stdlib.h>

_Noreturn void die_at(const char *file, int line, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    fprintf(stderr, "tilecc: internal error at %s:%d: ", file, line);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    abort();
}
