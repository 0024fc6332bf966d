/* The end of a compiler that has found a bug in itself, or no memory. */
#include "base/base.h"

#include <stdlib.h>
#include <unistd.h>

_Noreturn void die_at(const char *file, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    fprintf(stderr, "tilecc: internal error at %s:%d: ", file, line);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    abort();
}

_Noreturn void machine_too_small(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("tilecc: error: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    _exit(EXIT_MACHINE_TOO_SMALL);
}

/* No repair is possible and no caller could go on.  Printing a format might itself need memory. */
_Noreturn void memory_exhausted(void)
{
    static const char text[] = "tilecc: error: out of memory\n";
    ssize_t ignored = write(2, text, sizeof text - 1);
    (void)ignored;
    _exit(EXIT_MACHINE_TOO_SMALL);
}
