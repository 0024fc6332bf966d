/* How many words of tiles live at the same time, over all threads: what decides how many warps have to share them.
 *
 * Asked at the Value level, where threads could still be any number.  What is looked at are the places where whole tiles
 * have to be there: products and reductions.  In between, work goes element by element, and what a tile is made of is
 * made as it is needed. */
#ifndef TILECC_LIVE_TILES_H
#define TILECC_LIVE_TILES_H
#include "ir/ir.h"

/* Words of 32 bits of the tiles of rank 2, at the place where they are most. */
int64_t live_tiles_most(const struct ir_function *function);
#endif
