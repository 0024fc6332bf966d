/* Whether an asynchronous copy can bring what a load reads to shared memory. */
#ifndef TILECC_STAGE_COPY_H
#define TILECC_STAGE_COPY_H
#include "ir/ir.h"
#include "ir/facts/shared_form.h"
#include "targets/target.h"

/* The load itself: two dimensions, one of which index tiles may gather, without mask, and zero outside.  *contiguous: the tile's dimension whose
 * neighbours are neighbours in memory.  False: *reason is a sentence. */
bool buffer_copy_possible(const struct target_row *target, const struct ir_operation *load, int *contiguous,
                          const char **reason);
/* Whether index tiles say what it reads. */
bool buffer_copy_gathers(const struct ir_operation *load);
/* The copy into a buffer of this type for this product, by what its target uses: TMA where roles follow, else
 * cp.async. */
bool buffer_copy_fits(const struct target_row *target, const struct ir_operation *dot, const struct ir_operation *load,
                      const struct ir_type *buffer, const char **reason);
/* The copy of what the load reads, at the builder's point; returns its token. */
struct ir_value *buffer_copy_build(struct arena *arena, struct ir_builder *builder, const struct ir_operation *load,
                                   struct ir_value *buffer);
/* Targets whose products are fed by a role of their own (specialise). */
static inline bool buffer_has_roles(const struct target_row *target)
{
    return target && (target->flags & TARGET_TMA) && (target->flags & TARGET_WGMMA);
}
/* Why a producer that runs ahead of all that the kernel does may not bring what this load or copy reads by TMA into a buffer
 * of this type; NULL: it may. */
const char *buffer_bulk_problem(const struct ir_operation *reader, const struct ir_type *buffer);
/* Why TMA may not begin where the access does; NULL: it may.  Along the contiguous dimension a box begins at a multiple
 * of 16 bytes, in front of the view, too: at another place an H200 stops with "an illegal instruction". */
const char *buffer_start_problem(const struct ir_access *access, const struct tensor_map *map);
#endif
