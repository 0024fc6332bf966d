/* A folder for the files of one step, such as those that another program reads and writes. */
#ifndef TILECC_FOLDER_H
#define TILECC_FOLDER_H
#include "base/base.h"

#include <sys/types.h>

struct folder {
    const char *path;
    pid_t keeper; /* the process that removes it */
    int hold;     /* what it waits for: that nobody has this open any more */
};
/* Makes $TMPDIR/NAME-XXXXXX, or in /tmp where that is no absolute name.  It goes with all files in it by folder_remove, and
 * also where this process ends before, even by SIGKILL.  False: errno says why, and `path` what could not be made. */
bool folder_make(struct arena *arena, const char *name, struct folder *folder);
void folder_remove(struct folder *folder);
/* Leaves it for the user. */
void folder_leave(struct folder *folder);
#endif
