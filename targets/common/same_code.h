/* Equal code is made and stored once.  Variants of one kernel are compared twice: by their IR behind all passes, so that
 * no code is made of the same IR again; and by the text that LLVM leaves (PTX, or bitcode for the host), so that what
 * comes behind it is not done again.  Which have the same code is told by kernel_variant.code.  Other kernels keep code
 * of their own, under their own names: a profiler shows those. */
#ifndef TILECC_COMMON_SAME_CODE_H
#define TILECC_COMMON_SAME_CODE_H
#include "ir/kernel.h"

/* Numbers all variants by their IR, and hashes that of each entry. */
void same_code_number(struct arena *arena, struct kernel_module *module);
/* Leaves one of those variants of an entry that have the same code, keys and grid. */
void same_code_merge(struct arena *arena, struct kernel_entry *entry);

/* Code in a form that has no names of its own. */
struct same_code_text {
    const struct kernel_entry *entry;
    const void *data; /* NULL: none; it is like no other */
    size_t size;
    uint64_t hash; /* set by same_code_find */
};
/* first[i]: the first text of the same kernel that says the same, i itself where it is the first. */
void same_code_find(int count, struct same_code_text *texts, int *first);
#endif
