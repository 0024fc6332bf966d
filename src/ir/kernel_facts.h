/* What the C entry of a kernel tells its IR: how large the grid can be, which extents are equal, and which extent a
 * grid dimension covers.  All of it is checked or computed by the wrapper before a launch. */
#ifndef TILECC_IR_KERNEL_FACTS_H
#define TILECC_IR_KERNEL_FACTS_H
#include "ir/kernel.h"

/* Fills grid_limit, grid_class, grid_step of the variant's function and extent_class of its arguments' facts. */
void kernel_note_facts(const struct kernel_entry *entry, const struct kernel_variant *variant);
#endif
