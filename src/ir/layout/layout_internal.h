/* Inside of layouts: positions packed into 64 bits and linear algebra over F2.  For src/ir/layout*.c alone. */
#ifndef TILECC_LAYOUT_INTERNAL_H
#define TILECC_LAYOUT_INTERNAL_H
#include "ir/layout/layout.h"

/* A packed position: the atom bits of each input at a fixed place. */
enum {
    PACKED_LANE = LAYOUT_BITS,
    PACKED_WARP = PACKED_LANE + 5,
    PACKED_BLOCK = PACKED_WARP + 6,
    PACKED_OFFSET = PACKED_BLOCK + 4,
    PACKED_END = PACKED_OFFSET + LAYOUT_BITS
};
_Static_assert(PACKED_END <= 64, "a position fits 64 bits");

static inline int packed_shift(int input)
{
    switch (input) {
    case LAYOUT_LANE: return PACKED_LANE;
    case LAYOUT_WARP: return PACKED_WARP;
    case LAYOUT_BLOCK: return PACKED_BLOCK;
    case LAYOUT_OFFSET: return PACKED_OFFSET;
    default: return 0;
    }
}
static inline int packed_width(int input)
{
    switch (input) {
    case LAYOUT_LANE: return 5;
    case LAYOUT_WARP: return 6;
    case LAYOUT_BLOCK: return 4;
    default: return LAYOUT_BITS;
    }
}
static inline uint64_t packed_bit(int input, int bit) { return UINT64_C(1) << (packed_shift(input) + bit); }
static inline uint32_t packed_part(uint64_t packed, int input)
{
    return (uint32_t)(packed >> packed_shift(input)) & ((UINT32_C(1) << packed_width(input)) - 1);
}

/* Independent vectors, each with the combination of inputs it came from.  Reduced by the highest bit. */
struct f2_basis {
    int count;
    uint32_t vector[32];
    uint64_t origin[32];
};
/* XORs basis vectors into *vector and their origins into *origin until no highest bit matches. */
void f2_reduce(const struct f2_basis *basis, uint32_t *vector, uint64_t *origin);
/* False when the vector already is in the span. */
bool f2_insert(struct f2_basis *basis, uint32_t vector, uint64_t origin);
/* origin of a vector of the span; false: it is not in it. */
bool f2_solve(const struct f2_basis *basis, uint32_t vector, uint64_t *origin);
/* A basis of span(a) intersected with span(b); returns its size. */
int f2_intersect(const uint32_t *a, int a_count, const uint32_t *b, int b_count, uint32_t *result);

/* The columns of register, lane, warp, block (in this order: who is asked first holds it) or of offset. */
void layout_basis(const struct layout *layout, struct f2_basis *basis);
/* XOR of the columns of a packed position. */
uint32_t layout_apply(const struct layout *layout, uint64_t packed);
static inline uint32_t layout_part_of(const struct layout *layout, uint32_t column, int dimension)
{
    return (column >> layout->shift[dimension]) & ((UINT32_C(1) << layout->atom_bits[dimension]) - 1);
}
/* Step of dimension's repeat index in the row-major order of those that live in registers (or panels); 0: it lives in
 * warps. */
int layout_repeat_stride(const struct layout *layout, int dimension);
/* Repeats lie in the order of their dimensions. */
bool layout_repeats_in_order(const struct layout *layout);
/* Product of the repeats that live in registers or panels. */
int layout_repeats(const struct layout *layout);
/* A spec that makes the layout again. */
void layout_to_spec(const struct layout *layout, struct layout_spec *spec);
/* Fields that add up the values of the bits of an input. */
void formula_add(struct layout_formula *formula, int input, const uint32_t *values, int count);
/* Sets the flags; register_values: the XOR columns of registers. */
void formula_finish(struct layout_formula *formula, const uint32_t *register_values, int count);
/* Shape of a conversion through shared memory into the plan; see layout_swizzle.c. */
void conversion_through_shared(struct arena *arena, const struct layout *from, const struct layout *to, int bytes,
                               int64_t scratch_limit, struct layout_conversion *plan);
#endif
