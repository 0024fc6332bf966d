/* How many words of tiles are alive at the same time, over all threads.  The number of warps is chosen by it, because
 * these words are what the warps' registers have to hold.
 *
 * It is asked at the Value level, where the number of threads is still open.  It looks only at products and
 * reductions, where whole tiles must exist.  In between, work goes element by element, and a tile's elements are made
 * as needed. */
#ifndef TILECC_LIVE_TILES_H
#define TILECC_LIVE_TILES_H
#include "ir/ir.h"

/* Does nothing read it but products, which read what is loaded from shared memory. */
bool live_tiles_loaded_factor(const struct ir_value *value);
/* Words of 32 bits of the tiles of rank 2, at the place where they are most. */
int64_t live_tiles_most(const struct ir_function *function);
#endif
