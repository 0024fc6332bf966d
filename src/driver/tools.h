/* Finding the CUDA tools and a C compiler, and how many processes to use. */
#ifndef TILECC_TOOLS_H
#define TILECC_TOOLS_H
#include "driver/options.h"

/* Absolute path of ptxas or fatbinary: --cuda-path, else what configure found, else the installed copy, $CUDA_HOME,
 * $PATH. NULL when there is none. */
const char *tool_find(const struct options *options, const char *name);

/* The C compiler that links for --host-target: $CC where it is one word, cc, gcc or clang of $PATH, or the cross compiler of
 * its name there.  NULL when there is none. */
const char *tool_find_compiler(const struct options *options);

/* -j, else make's jobserver, else the processors.  Tokens taken from a jobserver go back with jobs_release. */
struct jobs {
    int count;
    int tokens;
    int read_end, write_end;
    char taken[256];
};
void jobs_acquire(struct jobs *jobs, const struct options *options, int most);
void jobs_release(struct jobs *jobs);
#endif
