/* A table from interned names to what they stand for, so that long blocks, enums and files are read in time.  Nothing
 * walks through it: lists keep the order of the source. */
#ifndef TILECC_FRONT_NAME_TABLE_H
#define TILECC_FRONT_NAME_TABLE_H
#include "base/base.h"

struct name_slot {
    const char *name;
    void *value;
};
struct name_table {
    struct name_slot *slots;
    int count, capacity;
}; /* all zero: empty */

void *name_table_find(const struct name_table *table, const char *name); /* NULL: not in it */
/* In place of what the name stood for before. */
void name_table_set(struct arena *arena, struct name_table *table, const char *name, void *value);
#endif
