/* A number for what a caller of an entry relies on when it is compiled: names, types and order of the parameters,
 * members of enums, the values that the header gives as #defines, and the version of the run time's structs.  Two
 * builds with the same number fit together, whatever else differs in the kernels. */
#ifndef TILECC_KERNEL_SIGNATURE_H
#define TILECC_KERNEL_SIGNATURE_H
#include "ir/kernel.h"

uint32_t kernel_signature(const struct kernel_entry *entry, uint32_t run_time_version);

/* Whether all variants of the entry have this knob with this value, so that callers may know it. */
bool kernel_knob_is_settled(const struct kernel_entry *entry, const struct kernel_knob *knob);
#endif
