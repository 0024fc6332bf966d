/* Layouts: who holds which element of a tile.  One representation serves registers and shared memory, swizzles
 * included.
 *
 * A layout maps a position (bits of register, lane, warp, block; or of an offset in shared memory) to the coordinates
 * of a tile.  Each extent is split as  extent = atom * repeat,  atom the largest power of two that divides it, repeat
 * odd:
 *
 *     coordinate[d] = atom_part[d] + atom[d] * repeat_index[d]
 *
 * The atom part is F2-linear: the XOR of one column for each position bit that is set.  A column packs the coordinate
 * bits of all dimensions row-major: the last dimension has the lowest bits, so that it is also the linear index
 * inside the atom. Repeat indexes are integers and outermost.  They live in registers (register = atom register +
 * registers of the atom * row-major repeat index), in consecutive panels of shared memory (offset, in the same way,
 * but in any order of the dimensions)
 * or, for at most one dimension, across groups of warps (warp = atom warp + warps of the atom * repeat index).  As
 * atom and repeat are fixed by the extent, two layouts of one shape always share repeats: refining an atom is never
 * left to the caller.
 *
 * A zero column is a broadcast: both values of that bit hold the same element.  Columns that are not zero but depend on
 * others are allowed too (a slice of a swizzled layout) and mean the same.  Every layout is onto: each element is held.
 *
 * Layouts are immutable and interned: within one table, equal layouts are the same pointer.  Offsets count elements. */
#ifndef TILECC_LAYOUT_H
#define TILECC_LAYOUT_H
#include "base/base.h"

enum { LAYOUT_RANK = 8, LAYOUT_BITS = 24 };

/* The parts of a position.  Warps of a warpgroup are the two low bits of warp.  Block: rank in the cluster. */
enum layout_input { LAYOUT_REGISTER, LAYOUT_LANE, LAYOUT_WARP, LAYOUT_BLOCK, LAYOUT_OFFSET, LAYOUT_INPUTS };
extern const char *const layout_input_name[LAYOUT_INPUTS];

struct layout {
    int rank;
    int extent[LAYOUT_RANK], repeat[LAYOUT_RANK]; /* extent = repeat << atom_bits */
    uint8_t repeat_place[LAYOUT_RANK];            /* of repeats above 1: how many lie further out; else 0 */
    uint8_t atom_bits[LAYOUT_RANK];
    uint8_t shift[LAYOUT_RANK]; /* of the dimension's lowest bit in a column */
    uint8_t coordinate_bits;    /* of a column: the sum of atom_bits */
    int warp_groups;            /* groups of (1 << bits[LAYOUT_WARP]) warps; odd; 1 but for
                                                   * consumers */
    int warp_dimension;         /* whose repeats the groups hold; -1: groups hold the same */
    bool shared;                /* positions are offsets in shared memory */
    uint8_t bits[LAYOUT_INPUTS];
    uint32_t column[LAYOUT_INPUTS][LAYOUT_BITS];
    const struct layout *next; /* in its table */
    uint32_t hash;
};

struct layout_table;
struct layout_table *layout_table_create(struct arena *arena);

/* One position.  For shared memory only part[LAYOUT_OFFSET] is used. */
struct layout_position {
    int part[LAYOUT_INPUTS];
};

/* ---- making ---------------------------------------------------------------------------------------------------- */

/* What a layout is made from: an atom of any power-of-two extents and repeats of any size.  Columns are per
 * dimension.  Even factors of a repeat move into the atom as its top bits, so that register order is: atom bits, then
 * even factors (last dimension first), then odd repeats. */
struct layout_spec {
    int rank;
    int atom[LAYOUT_RANK]; /* powers of two */
    int repeat[LAYOUT_RANK];
    int repeat_place[LAYOUT_RANK]; /* shared: a lower one lies further out, equal ones by dimension */
    int repeat_in_warps;           /* the dimension whose repeat runs over groups of warps, or -1 */
    int warp_copies;               /* 0 or 1: none; n: n groups of warps hold the same (then repeat_in_warps is -1) */
    bool shared;                   /* offset bits and no others */
    int bits[LAYOUT_INPUTS];
    int column[LAYOUT_INPUTS][LAYOUT_BITS][LAYOUT_RANK]; /* [input][bit][dimension]: coordinate that the bit adds */
};
/* NULL when it is not a layout: not onto, columns outside the atom, too many bits, a register bit that only repeats
 * other registers, a shared layout that is not one-to-one.  At most 5 lane, 6 warp and 4 block bits. */
const struct layout *layout_create(struct layout_table *table, const struct layout_spec *spec);

/* Registers: a blocked layout for coalesced access.  order[0] is the fastest dimension.  `vector` elements along it
 * go to one lane (a power of two; made smaller until it divides the extent), then lanes along it, then along order[1]
 * …, then warps, and what is left goes to registers.  An odd factor of warps divides a repeat equal to it, else those
 * groups hold the same. */
const struct layout *layout_blocked(struct layout_table *table, int rank, const int *extent, const int *order,
                                    int vector, int warps);
/* The same with an order of its own for warps, and at most lanes[d] lanes along dimension d (a power of two; NULL: no
 * limit). */
const struct layout *layout_blocked_by(struct layout_table *table, int rank, const int *extent, const int *order,
                                       int vector, const int *lanes, const int *warp_order, int warps);
/* The vector for `bytes`-wide elements: 16 bytes along order[0], less when the tile gives a lane less than that. */
const struct layout *layout_blocked_default(struct layout_table *table, int rank, const int *extent, const int *order,
                                            int bytes, int warps);
/* Shared memory: row-major by order (order[0] fastest), no swizzle. */
const struct layout *layout_linear(struct layout_table *table, int rank, const int *extent, const int *order);
/* Shared memory of the form TMA and wgmma know: panels of `swizzle_bytes` (128, 64, 32) along the last dimension,
 * rows along the one before, and in each row the 16-byte chunk index XOR bits 7 and up of the offset in bytes.
 * Leading dimensions (batch) are outermost, repeats of rows innermost.  16: rows of one chunk, which nothing is XORed
 * into, and which ldmatrix reads eight at a time from 128 bytes that lie together.  NULL when the extents do not
 * allow it. */
const struct layout *layout_swizzled(struct layout_table *table, int rank, const int *extent, int bytes,
                                     int swizzle_bytes);
/* Shared memory of two dimensions, whole rows, in which the index of 16-byte chunks is XORed with the row's, `step` bits up, as
 * far as 128 bytes go: lanes that read 2^step neighbours of each of several rows meet in no bank.  NULL: not of powers of
 * two, or rows of less than 128 bytes. */
const struct layout *layout_turned(struct layout_table *table, const int *extent, int bytes, int step);
/* The accumulator of m64nNk* wgmma over `warps` warps on rows (4 or more, a multiple of 4; every 4 warps hold 64
 * rows, more rows repeat): rank 2, extent[0] % 64 == 0, extent[1] % 8 == 0.  NULL otherwise. */
const struct layout *layout_wgmma_accumulator(struct layout_table *table, const int *extent, int warps);
/* The rows that warps have of such a tile, with lanes side by side along them. */
const struct layout *layout_wgmma_rows(struct layout_table *table, const int *extent, int warps);
/* The accumulator of mma.sync m16n8 with a grid of warps_m * warps_n warps (powers of two). */
const struct layout *layout_mma_accumulator(struct layout_table *table, int rank, const int *extent, int warps_m,
                                            int warps_n);
/* The operand that goes with it, element of `bytes`: operand 0 is A (rows as the accumulator), 1 is B (columns). 
 * Also the A operand of wgmma from registers when made for its warps (warps_m = warps, warps_n = 1). */
const struct layout *layout_mma_operand(struct layout_table *table, int rank, const int *extent, int operand, int bytes,
                                        int warps_m, int warps_n);

/* ---- asking ---------------------------------------------------------------------------------------------------- */

bool layout_equal(const struct layout *a, const struct layout *b); /* the same map; also across tables; NULL allowed */
bool layout_is_shared(const struct layout *layout);                /* has an offset */
int layout_registers(const struct layout *layout);                 /* elements a thread holds */
int layout_warps(const struct layout *layout);
int64_t layout_size(const struct layout *layout); /* elements of the tile */

/* Compact text:  #(64*3@warp, 16*11; register b0 a3 b3; lane b1:2 a0:2; warp a4:5)
 * Extents (atom, *repeat when not 1, @warp where it lives in warps), then columns from bit 0: b2 is bit 2 of
 * dimension 1, b1:2 the two columns b1 and b2, a0^b3 an XOR, `.` a zero column and .5 five of them; `copies 3` when
 * groups of warps hold the same; `repeats b a` (outermost first) where they do not lie in the order of dimensions.
 * Inputs without bits are left out. */
void layout_print(struct buffer *out, const struct layout *layout);
const char *layout_text(struct arena *arena, const struct layout *layout);
/* Reads what layout_print wrote at *cursor and moves it behind.  NULL: *error is a sentence. */
const struct layout *layout_parse(struct layout_table *table, const char **cursor, const char **error);

/* The tile coordinates of a position. */
void layout_coordinates(const struct layout *layout, const struct layout_position *position, int *coordinates);
/* A position that holds the coordinates: the one whose redundant bits are 0. */
void layout_find(const struct layout *layout, const int *coordinates, struct layout_position *position);
/* Bits of `input` that only name other copies of an element: a store or atomic is done by the threads that have them
 * all 0. (Registers never are redundant in layouts made here; a pass may rely on it.) */
uint32_t layout_redundant_bits(const struct layout *layout, enum layout_input input);
/* No element is held by two threads. */
bool layout_is_held_once(const struct layout *layout);

/* ---- for code generators: coordinates as few instructions ------------------------------------------------------- */

/* (((part >> bit) & ((1 << count) - 1)) * multiplier); a multiplier that is no power of two has count 1. */
struct layout_field {
    enum layout_input input;
    int bit, count;
    uint32_t multiplier;
};
struct layout_formula {
    int fields;
    struct layout_field field[2 * LAYOUT_BITS];
    bool fields_disjoint;   /* no two fields set one bit: OR or add them; else XOR */
    bool register_disjoint; /* the fields share no bit with any register's part: add a constant; else XOR it in */
    /* Then add (warp / group_warps) * group_multiplier; 0: nothing. */
    int group_warps, group_multiplier;
};
/* coordinate[dimension] = (XOR of fields  XOR  atom part of the register) + repeat part of the register + group part.
 * */
void layout_thread_formula(const struct layout *layout, int dimension, struct layout_formula *formula);
/* The register's parts: XOR `atom_part` in, add `repeat_part`. */
void layout_register_parts(const struct layout *layout, int reg, int dimension, int *atom_part, int *repeat_part);

/* Offset in shared memory (elements) of what a thread's register holds: the same form. */
void layout_memory_formula(const struct layout *registers, const struct layout *shared, struct layout_formula *formula);
void layout_memory_parts(const struct layout *registers, const struct layout *shared, int reg, int *atom_part,
                         int *repeat_part);

/* Registers that hold `vector` consecutive coordinates along `dimension`, aligned to their number, are register
 * numbers that differ only in the bits of register_mask; vector = 1 << popcount(mask).  The i-th element of the
 * vector is the register whose mask bits spell i in the order of `bit`.  `limit`: the largest vector wanted. */
struct layout_vector {
    int size;
    int register_mask;
    int bit[LAYOUT_BITS];
};
struct layout_vector layout_vector(const struct layout *layout, int dimension, int limit);
/* Register number of element `index` of the vector that starts at register `base` (base has its mask bits 0). */
int layout_vector_register(const struct layout_vector *vector, int base, int index);
/* The same over consecutive offsets of shared memory. */
struct layout_vector layout_memory_vector(const struct layout *registers, const struct layout *shared, int limit);

/* ---- algebra --------------------------------------------------------------------------------------------------- */

/* The layout that a tile without `dimension` gets when it is reduced or is to be broadcast along it: lanes and warps
 * along it become copies, registers along it go away. */
const struct layout *layout_remove_dimension(struct layout_table *table, const struct layout *layout, int dimension);
/* Dimension i of the result is dimension order[i]. */
const struct layout *layout_permute(struct layout_table *table, const struct layout *layout, const int *order);
/* The same of shared memory where it stays as it is: repeats keep their order, too. */
const struct layout *layout_rename(struct layout_table *table, const struct layout *layout, const int *order);
/* The layout of larger extents (multiples of the layout's) whose further elements lie in registers.  NULL: a repeat
 * over warps is in the way. */
const struct layout *layout_extend(struct layout_table *table, const struct layout *layout, const int *extent);
/* Its inverse: the layout of a part, extent / factor along the dimension, at multiples of it.  NULL: the parts do not lie
 * in registers of their own, or repeats are in the way. */
const struct layout *layout_shrink(struct layout_table *table, const struct layout *layout, int dimension, int factor);
/* The same with such parts in registers of their own, for a power of two: bits of lanes and warps that tell them apart are
 * exchanged for what the highest registers hold.  NULL: registers do not suffice. */
const struct layout *layout_with_parts(struct layout_table *table, const struct layout *layout, int dimension,
                                       int factor);
/* Every thread holds every element. */
const struct layout *layout_replicated(struct layout_table *table, int rank, const int *extent, int warps);
/* The layout under which a row-major reshape moves nothing.  NULL: an odd factor is in the way. */
const struct layout *layout_reshape(struct layout_table *table, const struct layout *layout, int rank,
                                    const int *extent);
/* The register in which a thread (the lane, warp, block of `thread`) holds coordinates; -1: it does not. */
int layout_register_at(const struct layout *layout, const struct layout_position *thread, const int *coordinates);
/* The layout of extents in which some are 1 that makes the broadcast to `result` free. */
const struct layout *layout_broadcast_source(struct layout_table *table, const struct layout *result,
                                             const int *extent);

/* ---- reductions ------------------------------------------------------------------------------------------------ */

/* Folding an axis: each step combines a value with that of the position XORed with it.  Register steps first, then
 * lane steps (butterflies), then warp steps (through shared memory).  In ordinary (plain) layouts a step has
 * one part that is not 0, and passes convert the others first. */
struct layout_step {
    int part[LAYOUT_INPUTS];
};
struct layout_reduction {
    int register_steps, lane_steps, warp_steps;
    struct layout_step register_step[LAYOUT_BITS], lane_step[LAYOUT_BITS], warp_step[LAYOUT_BITS];
    bool plain;           /* every step has one part that is not 0 */
    bool ascending;       /* steps go from the lowest coordinate bit of the axis to the highest: the order of an
                            * operator that does not commute.  Repeats of the axis come after all steps. */
    int register_repeats; /* the odd repeat of the axis in registers, else 1 */
    int group_repeats;    /* the odd repeat of the axis over groups of warps, else 1 */
    int partials;         /* values to combine across warps: (1 << warp_steps) * group_repeats */
};
void layout_reduction(const struct layout *layout, int axis, struct layout_reduction *reduction);
/* A register of `layout` that holds an element of the row that register `reg` of layout_remove_dimension(layout,
 * axis) stands for. */
int layout_reduction_register(const struct layout *layout, const struct layout *result, int axis, int reg);

/* ---- conversions ----------------------------------------------------------------------------------------------- */

enum layout_conversion_kind { CONVERT_NOTHING, CONVERT_REGISTERS, CONVERT_SHUFFLES, CONVERT_SHARED };
/* Registers of a thread whose lane has odd parity with lane_mask are permuted: new[i] = old[i ^ register_xor]. */
struct layout_swap {
    uint32_t lane_mask;
    int register_xor;
};
/* new[i] = old[source_register] of lane (E * lane) ^ lane_xor, where E is lane_map (identity: a butterfly; and
 * lane_xor 0 too: no instruction). */
struct layout_shuffle {
    int source_register;
    uint32_t lane_xor;
};
/* One vector access to scratch memory: offset = (thread formula XOR atom_part) + repeat_part, in elements. */
struct layout_transfer {
    int round, atom_part, repeat_part;
    int *registers;
};
struct layout_transfers {
    int vector, count;            /* elements an instruction; instructions in all rounds together */
    struct layout_transfer *each; /* by round */
    struct layout_formula formula;
    uint32_t redundant_lanes, redundant_warps; /* stores: threads with one of these bits set need not store */
    bool redundant_groups;                     /* stores: so do all groups of warps but the first */
    int wavefronts, ideal_wavefronts;          /* of all instructions of one warp; equal: no bank conflict */
};
struct layout_conversion {
    enum layout_conversion_kind kind;
    int *source_register; /* CONVERT_REGISTERS: for each result register */
    /* CONVERT_SHUFFLES: the swaps before, the shuffles, the swaps after.  Swaps and shuffle numbers are within one
     * odd repeat; the repeats are done alike: register + repeat * atom_registers. */
    int before_count, after_count, from_atom_registers, to_atom_registers, repeats;
    struct layout_swap before[LAYOUT_BITS], after[LAYOUT_BITS];
    struct layout_shuffle *shuffle; /* to_atom_registers of them */
    uint32_t lane_map[5];           /* column of E for each lane bit */
    bool lane_map_identity;
    int shuffles, selects; /* instructions for all registers */
    /* CONVERT_SHARED: store all of a round, barrier, load all of it; a barrier between rounds. */
    int rounds;
    int64_t scratch_elements;
    struct layout_transfers store, load;
    double cost; /* in about instructions a thread; to choose between layouts */
};
/* How to get a tile of `bytes`-wide elements from one register layout to another, the cheapest way.  Scratch above
 * scratch_limit bytes (0: none) is cut into rounds where registers allow it.  Result is in the arena. */
const struct layout_conversion *layout_conversion_plan(struct layout_table *table, struct arena *arena,
                                                       const struct layout *from, const struct layout *to, int bytes,
                                                       int64_t scratch_limit);

/* Shared-memory wavefronts of all accesses of one warp (warp 0) in instructions of `vector` elements at the registers
 * that layout_memory_parts gives consecutive offsets; *ideal is what no conflict would need. */
int layout_bank_wavefronts(const struct layout *registers, const struct layout *shared, int bytes, int vector,
                           int *ideal);
#endif
