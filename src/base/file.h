/* Reading inputs and writing outputs.  Outputs appear whole or not at all: everything is staged under a sibling
 * temporary name and renamed together by output_set_commit; anything else removes what was begun. */
#ifndef TILECC_FILE_H
#define TILECC_FILE_H
#include "base/base.h"

/* Whole file ("-" is standard input).  False: errno says why.  Directories and files over `limit` bytes (0: none) fail
 * with EISDIR and EFBIG. */
bool file_read(const char *path, size_t limit, struct buffer *out);

/* What is there and is no file that something may stand beside: a device such as /dev/null, a pipe. */
bool file_is_device(const char *path);
bool file_is_folder(const char *path);
/* Do both name one place, where a file need not be yet?  Ways of other words and symbolic links may lead to its folder. */
bool file_is_one_place(const char *a, const char *b);

/* Opens a file to write into it, for us alone.  Who holds it has three seconds to end, as a process that was killed does.
 * -1: errno, EWOULDBLOCK where it is held still. */
int file_open_alone(const char *path);

struct output_set;
struct output_set *output_set_create(struct arena *arena);
/* Stage bytes for path ("-" is standard output, written at commit).  A path may be added once.  A device or FIFO is
 * written in place at commit. */
void output_set_add(struct output_set *set, const char *path, const void *data, size_t size);
/* The file stays as it is, with its time, where it holds these bytes already: what includes it is not made again. */
void output_set_add_settled(struct output_set *set, const char *path, const void *data, size_t size);
/* True when all are in place; else false with *failed the path and errno the reason, and no output touched. */
bool output_set_commit(struct output_set *set, const char **failed);
#endif
