/* Dependency files for make and ninja. */
#ifndef TILECC_DEPFILE_H
#define TILECC_DEPFILE_H
#include "base/base.h"

/* A target as make must read it: white space, '#', '$', ':', '%' and backslashes before them are escaped. */
const char *depfile_quote_target(struct arena *arena, const char *name);
/* False: the name has a line end, which nothing escapes. */
bool depfile_can_hold(const char *name);
struct depfile {
    int target_count;
    const char *const *targets; /* already quoted */
    int input_count;
    const char *const *inputs; /* as they are, all can be held; the first is the source */
    bool phony;                /* an empty rule for every input but the first */
};
void depfile_print(struct buffer *out, struct arena *arena, const struct depfile *depfile);
#endif
