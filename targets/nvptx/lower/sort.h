/* Sorting, inside: words in the registers of threads, put in order by a network of comparisons. */
#ifndef TILECC_NVPTX_SORT_H
#define TILECC_NVPTX_SORT_H
#include "ir/facts/scratch.h"
#include "targets/nvptx/lower/lower.h"

enum { SORT_MOST_EACH = 1024 };
/* One word in `plan.parts` parts; words are in order when their first parts are, or those are equal and their second are. */
struct sort_word {
    LLVMValueRef part[2];
};
/* Teams of `team` threads, neighbours, sort one line each: thread `member` of a team has `each` words, which stand in order
 * behind those of the thread before it. */
struct sort_network {
    struct lowering *l;
    struct scratch_sort plan;
    int64_t start; /* of the words in shared memory */
    int each, team, teams;
    int list;            /* a power of two: so many of the line's first words are wanted, plan.padded: all */
    LLVMValueRef member; /* i32 */
    LLVMValueRef line;   /* i32: number of the line */
    LLVMValueRef valid;  /* i1: the team has one, and may write; NULL: every team */
    struct sort_word word[SORT_MOST_EACH];
};
/* Puts the words in order.  Of a list no longer than `each` every thread has all of it behind that, in its first registers; a
 * longer one is had by the first list / each threads, and others. */
void sort_network(struct sort_network *s);
/* Shared memory at word number `index` (i32) of the line. */
LLVMValueRef sort_word_address(const struct sort_network *s, int part, LLVMValueRef line, LLVMValueRef index);
void sort_word_store(const struct sort_network *s, const struct sort_word *word, LLVMValueRef line, LLVMValueRef index);
struct sort_word sort_word_load(const struct sort_network *s, LLVMValueRef line, LLVMValueRef index);
#endif
