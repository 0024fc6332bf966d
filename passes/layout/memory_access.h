/* How the elements of a tile lie in memory where an operation reads or writes them, and what a layout makes of it:
 * the question behind coalescing.  Used by assign_layouts and coalesce. */
#ifndef TILECC_MEMORY_ACCESS_H
#define TILECC_MEMORY_ACCESS_H
#include "ir/ir.h"
#include "ir/layout/layout.h"

struct memory_access {
    const struct ir_type *tile; /* what is read or written; its layout is not looked at */
    int bytes;                  /* of an element in memory */
    int dimension;              /* of the tile, along which neighbours are neighbours in memory; -1: none is known */
    int vector;                 /* elements along it that one instruction may take, by alignment: at most 16 bytes */
};
/* False: no memory operation, or one on a scalar. */
bool memory_access_of(const struct ir_operation *operation, struct memory_access *access);
/* Instructions and 32-byte sectors of a thread, in about instructions. */
double memory_access_cost(const struct memory_access *access, const struct layout *layout);
/* Layouts that suit the access best: lanes along its contiguous dimension, warps along it too, or else along the
 * others. Returns how many were put into choices (at most 2). */
int memory_access_layouts(struct layout_table *table, const struct memory_access *access, int warps,
                          const struct layout **choices);
/* A layout for a tile that nothing says anything about. */
const struct layout *memory_default_layout(struct layout_table *table, const struct ir_type *tile, int warps);
enum { MEMORY_MOST_DIVISOR = 1 << 20 };
/* The largest power of two that divides the number, at most MEMORY_MOST_DIVISOR. */
int64_t memory_low_bit(int64_t number);
/* A power of two that divides an integer scalar, at most MEMORY_MOST_DIVISOR. */
int64_t memory_divisor(const struct ir_value *value);
/* Bytes that cp.async moves at once when it brings what a load reads: 16, 8 or 4; 0: it cannot. */
int memory_copy_bytes(const struct ir_operation *load);
#endif
