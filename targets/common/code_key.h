/* What code of a variant is made of, as a key of base/cache.h. */
#ifndef TILECC_COMMON_CODE_KEY_H
#define TILECC_COMMON_CODE_KEY_H
#include "base/cache.h"
#include "targets/target.h"

/* `kind`, this program, the variant's target and IR, and the options that change what is made of them.  Places in
 * sources are part of it where the code tells lines: a comment moves them. */
void code_key_begin(const struct target_options *options, const struct kernel_variant *variant, const char *kind,
                    struct buffer *key);
#endif
