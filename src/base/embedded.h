/* Files that the build puts into the compiler: the library in .tile as "std/NAME.tile", the run time as "tile_rt.h",
 * "tile_rt.x86_64.o" and, where a cross compiler was there, "tile_rt.aarch64.o". */
#ifndef TILECC_EMBEDDED_H
#define TILECC_EMBEDDED_H
#include "base/base.h"

struct embedded_file {
    const char *name;
    const unsigned char *data;
    size_t size;
}; /* a NUL follows the data */
extern const struct embedded_file embedded_files[];          /* ends with a name of NULL */
const struct embedded_file *embedded_find(const char *name); /* or NULL */
#endif
