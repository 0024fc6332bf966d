/* A part of a tile, computed for itself: what passes that write tiles piece by piece share. */
#ifndef TILECC_PASSES_PANEL_H
#define TILECC_PASSES_PANEL_H
#include "ir/ir.h"
#include "ir/layout/layout.h"
#include "ir/facts/layout_rules.h"

/* What the maps hold of a value, and in how many branches deep. */
struct tile_part_scoped {
    int id, depth;
};

struct tile_part {
    struct layout_adapter adapter;
    int axis;                         /* the tile's dimension that is cut */
    int64_t start, length;            /* of the part */
    const struct layout *layout;      /* of the part */
    struct ir_value **map, **whole;   /* by id of values from before: their parts; scalars and tiles made again */
    bool *own;                        /* by id: only the value at hand needs it */
    const struct ir_operation *store; /* that stores the parts, or NULL */
    bool *overwritten;                /* by id: loaded from where `store` stores, which nothing writes in between */
    int map_count;
    VECTOR(struct tile_part_scoped) scoped;
};
/* For parts of `value`, a value of this function from before, or of its copy when the function is being copied:
 * copies[id], for ids below `count`, is the copy of a value.  What else needs a value is asked of the original, since
 * users may not have been copied yet. */
void tile_part_open(struct tile_part *panel, struct ir_function *function, const struct ir_value *value,
                    struct ir_value *const *copies, int count);
/* The part of `value` at the builder's point: elementwise operations, casts, broadcasts, loads and branches that
 * only the value needs are computed again for the part, everything else is cut out by extract. */
struct ir_value *tile_part_of(struct tile_part *panel, struct ir_builder *builder, struct ir_value *value);
/* Whether the part of a value is computed again, not cut out. */
bool tile_part_computes(const struct tile_part *panel, const struct ir_value *value);
#endif
