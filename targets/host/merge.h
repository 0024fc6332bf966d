/* Several relocatable objects of this compiler's own making become one. */
#ifndef TILECC_HOST_MERGE_H
#define TILECC_HOST_MERGE_H
#include "base/base.h"

/* Sections of such names hold functions that several parts bring, each the same. */
#define HOST_HELP_SECTION ".text.tile_help."
/* An object.  What it calls `code` and `.text.tile.code` is called by these names; NULL: nothing is.  Or, where an alignment
 * is given, constant bytes: a section and a local symbol of their own. */
struct host_part {
    const char *data;
    size_t size;
    const char *symbol, *section;
    uint64_t alignment;
};
/* The first part is an object.  Sections of the same name, type and flags follow each other in the order of the parts.  A name that two parts share
 * is one symbol; what a part other than the first defines becomes local. */
void host_merge(struct arena *arena, int count, const struct host_part *parts, struct buffer *out);
#endif
