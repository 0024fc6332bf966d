/* Rows of 8 x 8 matrices that ldmatrix reads, as a layout.
 *
 * ldmatrix gives each lane a word of each of up to four matrices and takes the address of a row of 16 bytes from each
 * lane.  Both are layouts of the same tile.  With an operand layout whose positions are
 *     register: word bits, two matrix bits, rest      lane: two bits along k, three across
 * the rows lie in the layout
 *     register: word bits, the two lane bits along k, rest      lane: the three bits across, the two matrix bits
 * and with .trans, which hands a row's neighbours to different lanes, in
 *     register: the three lane bits across, rest                lane: word bit, two lane bits along k, matrix bits
 * so whether rows are 16 bytes that lie together, and what banks they touch, is the layout's own arithmetic. */
#ifndef TILECC_NVPTX_MATRIX_ROWS_H
#define TILECC_NVPTX_MATRIX_ROWS_H
#include "ir/layout/layout.h"

/* For an operand layout of elements of `bytes`: registers 0 and up of the result are a row of 16 bytes, then come the
 * instructions.  *matrix_bits: log2 of the matrices of one.  NULL: the layout's words are no 8 x 8 matrices. */
const struct layout *matrix_rows(struct layout_table *table, const struct layout *layout, int bytes, bool transposed,
                                 int *matrix_bits);
#endif
