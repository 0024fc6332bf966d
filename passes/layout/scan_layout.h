/* Layouts in which scans go fast along an axis and memory is met in whole lines. */
#ifndef TILECC_SCAN_LAYOUT_H
#define TILECC_SCAN_LAYOUT_H
#include "ir/ir.h"
#include "ir/layout/layout.h"

/* Neighbours along `fast`, the dimension whose elements lie together in memory, go to vectors of 16 bytes and to lanes.
 * Of the axis the top bits go to warps, so that warps meet once for all that lies in a thread.  NULL: not for so many
 * warps. */
const struct layout *scan_layout(struct layout_table *table, const struct ir_type *type, int axis, int fast, int warps);
#endif
