/* The members of an archive in memory, of which nothing is believed. */
#ifndef TILECC_ARCHIVE_H
#define TILECC_ARCHIVE_H
#include "base/base.h"

struct archive {
    const char *data;
    size_t size, at;   /* the next member */
    const char *names; /* long ones */
    size_t names_size;
};
struct archive_member {
    const char *name;
    const char *data;
    size_t size;
};
/* False: it is none. */
bool archive_open(const void *data, size_t size, struct archive *archive);
/* False: that was the last, or the file ends before. */
bool archive_next(struct archive *archive, struct arena *arena, struct archive_member *member);
#endif
