/* What the C entry of a kernel tells its IR: how large the grid can be, which extents are equal, and which extent a
 * grid dimension covers.  All of it is checked or computed by the wrapper before a launch. */
#ifndef TILECC_IR_KERNEL_FACTS_H
#define TILECC_IR_KERNEL_FACTS_H
#include "ir/kernel.h"

/* Fills grid_limit, grid_class, grid_step of the variant's function and extent_class of its arguments' facts. */
void kernel_note_facts(const struct kernel_entry *entry, const struct kernel_variant *variant);
/* The class of the extent n where a grid dimension is n / by, which leaves out the last elements of an n that is no multiple;
 * 0: the dimension is none such. */
int kernel_rounded_down(const struct kernel_entry *entry, const struct kernel_variant *variant, int dimension,
                        int64_t *by);
/* The count of a grid dimension where extents are these, by class; 0: it is none, or depends on more than extents. */
int64_t kernel_grid_count(const struct kernel_entry *entry, const struct kernel_variant *variant, int dimension,
                          const int64_t *extents);
#endif
