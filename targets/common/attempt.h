/* What fails of a schedule that the compiler has chosen itself is left out, with a warning, and the others go on. */
#ifndef TILECC_ATTEMPT_H
#define TILECC_ATTEMPT_H
#include "ir/kernel.h"
#include "targets/target.h"

struct attempt {
    struct diagnostics before;
    int told; /* failures of tools */
};
struct attempt attempt_begin(const struct target_options *options);
/* After an error that was reported since: true, and a warning in its place, for one of a chosen set beside its default. */
bool attempt_is_left_out(const struct target_options *options, const struct attempt *attempt,
                         struct kernel_variant *variant);
#endif
