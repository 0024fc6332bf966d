/* Errors of the command line. */
#include "driver/options.h"

#include <stdarg.h>

void driver_error(const struct options *options, const char *format, ...)
{
    struct buffer text = {0};
    va_list arguments;
    va_start(arguments, format);
    buffer_vprintf(&text, format, arguments);
    va_end(arguments);
    for (size_t i = 0; i < text.size; i++) /* names of files may hold what a terminal would obey */
        if ((unsigned char)text.data[i] < ' ' || text.data[i] == 0x7f)
            text.data[i] = '?';
    if (options && options->json) {
        struct arena *arena = arena_create();
        struct diagnostics *one = diagnostics_create(arena);
        diag_report(one, DIAGNOSTIC_E1007, (struct location){0}, "%s", text.data);
        diag_print_json(one, stderr);
        arena_destroy(arena);
    } else
        fprintf(stderr, "tilecc: error: %s\n", text.data);
    buffer_free(&text);
}
