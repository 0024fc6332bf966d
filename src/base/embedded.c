/* Looking up files that are built into the compiler; src/base/embed.sh writes the table. */
#include "base/embedded.h"

#include <string.h>

const struct embedded_file *embedded_find(const char *name) {
    for (const struct embedded_file *file = embedded_files; file->name; file++)
        if (strcmp(file->name, name) == 0) return file;
    return NULL;
}
