/* The audit of kept analyses: what a pass says it keeps is computed before and behind it, in debug builds
 * (TILECC_DEBUG). */
#ifndef TILECC_PASSES_AUDIT_H
#define TILECC_PASSES_AUDIT_H
#include "passes/run.h"

struct pass_audit;
/* NULL when there is nothing to audit. */
struct pass_audit *pass_audit_begin(const struct pass_info *pass, const struct ir_function *function,
                                    struct arena *arena);
/* NULL, or a sentence that names what no longer holds.  `audit` may be NULL. */
const char *pass_audit_end(const struct pass_audit *audit, const struct ir_function *function);
#endif
