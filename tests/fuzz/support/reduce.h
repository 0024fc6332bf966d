/* Shrinks a failing program: delta debugging over the structure of the IR. */
#ifndef TILECC_FUZZ_REDUCE_H
#define TILECC_FUZZ_REDUCE_H
#include "judge.h"

/* One way to make a program smaller; `which` numbers its places from 0.  EDIT_END: there is no such place. */
enum edit_result { EDIT_END, EDIT_NONE /* nothing to do here */, EDIT_DONE };
typedef enum edit_result edit_function(struct fuzz_program *program, int which, int size);
struct edit {
    const char *name;
    edit_function *apply;
    bool chunks; /* size counts from large to 1 */
};
extern const struct edit edit_table[];
extern const int edit_count;
enum edit_result edit_extents(struct fuzz_program *program, int which, int size);
enum edit_result edit_arguments(struct fuzz_program *program, int which, int size);
enum edit_result edit_constants(struct fuzz_program *program, int which, int size);
enum edit_result edit_merge_constants(struct fuzz_program *program, int which, int size);
/* Operation number `which` in text order, over all functions; NULL behind the last. */
struct ir_operation *edit_operation(const struct fuzz_program *program, int which);

struct reduction {
    int candidates, unsound, seconds;
};
/* Replaces `text` by the smallest that still fails for `reason` within `seconds` (0: 120).  `log` may be NULL. */
void fuzz_reduce(const struct judge *judge, const char *reason, int seconds, struct buffer *text, struct reduction *out,
                 FILE *log);
/* Lines of the module, comments not counted. */
int fuzz_count_lines(const struct buffer *text);
#endif
