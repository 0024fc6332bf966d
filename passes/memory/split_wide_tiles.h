/* What split_wide_tiles.c (which operation is split, and how) and split_wide_tiles_piece.c (how a piece of an operand
 * is made) share. */
#ifndef TILECC_STREAM_H
#define TILECC_STREAM_H
#include "ir/facts/layout_rules.h"
#include "passes/base/pass.h"

/* A tile that stays in shared memory from its load on; or its first quarters do, each in a buffer of its own, and the last
 * in registers, as it was read. */
enum { WIDE_QUARTERS = 4 };
struct wide_held {
    struct ir_operation *load;
    struct ir_value *buffer;                 /* NULL: by quarters */
    struct ir_value *quarter[WIDE_QUARTERS]; /* three buffers and a tile */
};
/* A piece that is made already: by a reduction, of a value that a store wants, too, or read ahead. */
struct wide_piece {
    struct ir_value *whole, *piece;
    int number;
};
struct wide_tile {
    struct layout_adapter adapter;
    struct pass_context *context;
    struct ir_function *function;
    int64_t scratch;                     /* bytes that one of its operations needs, at the most */
    bool pressed;                        /* registers do not hold what is kept: nothing is that can be had again */
    int blocks;                          /* of a multiprocessor that registers and shared memory are shared by */
    int most;                            /* elements of a piece that a thread holds; 0: a quarter of its own */
    struct ir_operation *at;             /* the store, or the reduce */
    struct ir_operation *last;           /* in front of it, before any piece was made */
    const struct layout *layout, *piece; /* of the stored or reduced tile, of one piece */
    int dimension, pieces;
    int64_t length;                   /* of a piece along the dimension */
    const struct ir_operation *front; /* what the first piece is read ahead of, or NULL */
    const struct ir_operation *whole; /* an `inside` that is true of all elements, or NULL */
    bool again;                       /* compute again what has other users */
    bool reload;                      /* and read again */
    VECTOR(struct ir_value *) kept;   /* values that pieces are extracted from */
    VECTOR(struct wide_piece) made;   /* for the piece at hand */
    VECTOR(struct wide_held) held;
    VECTOR(struct wide_piece) pieces_kept, pieces_read;
    int64_t bytes_kept; /* of those, in a thread */
    int64_t in_flight;  /* bytes that a thread reads at once for the reduction at hand */
    int sunk_loads;
    int waits;                         /* most reductions behind a sunk load */
    bool dear;                         /* what is computed again has a function like exp in it */
    bool crowded;                      /* what is read again does not come from shared memory, or fills registers */
    bool parted;                       /* some of it is held by quarters */
    bool roomy;                        /* not so: pieces of dear values may be kept */
    VECTOR(struct ir_operation *) ops; /* the function's stores and reductions, in order */
};

/* Whether the operation writes a tile and gives nothing, element by element in any order. */
bool wide_tile_is_written(const struct ir_operation *op);
/* The dimension of the view along which pieces lie, or -1. */
int wide_tile_view_dimension(const struct wide_tile *s, const struct ir_access *access);
/* Reductions between a load and the operation at hand. */
int wide_tile_waits(const struct wide_tile *s, const struct ir_operation *load);
/* Whether shared memory has room for a loaded tile that is wanted again behind a reduction. */
bool wide_tile_can_hold(const struct wide_tile *s, const struct ir_operation *load);
/* Holds a loaded tile by quarters, where shared memory has room for three of them, of so many blocks; false: it has not, or
 * the whole tile fits. */
bool wide_tile_hold_quarters(struct wide_tile *s, struct ir_operation *load, int blocks);
bool wide_tile_is_quartered(const struct wide_tile *s, const struct ir_operation *load);
/* Registers of a thread, 4 bytes each, and whether these bytes take more than half of them. */
int64_t wide_tile_registers(const struct wide_tile *s);
bool wide_tile_too_much(const struct wide_tile *s, int64_t bytes);
/* Whether a value's piece is computed (else it is extracted).  alone: nobody but the operation at hand needs what needs
 * it. */
bool wide_tile_is_computed(const struct wide_tile *s, const struct ir_value *value, int depth, bool alone);
static inline bool stream_used_once(const struct ir_value *value) { return value->uses && !value->uses->next; }
/* The most registers of a thread that tiles take where they have to be there whole (split_wide_tiles_living.c). */
int wide_tile_living(struct arena *arena, const struct ir_function *function);
/* The same where what is reduced is computed where it is reduced; and where elements that several operations work on are
 * not packed. */
int wide_tile_packed(struct arena *arena, const struct ir_function *function);
int wide_tile_elements(struct arena *arena, const struct ir_function *function);
/* The type of a piece of a tile. */
const struct ir_type *wide_tile_piece_type(const struct wide_tile *s, const struct ir_type *type);
/* Reads ahead, where the builder stands, what pieces of a value need from views. */
void wide_tile_read_piece(struct wide_tile *s, struct ir_builder *builder, struct ir_value *value, int number,
                          int depth, bool alone);
struct ir_value *wide_tile_make_piece(struct wide_tile *s, struct ir_builder *builder, struct ir_value *value,
                                      int number, int depth, bool alone);
/* Bytes that a thread reads at once for a reduction: all that nothing waits for, if no load went down; of several tiles
 * with what is made of a piece. */
int64_t wide_tile_in_flight(struct wide_tile *s, const struct ir_value *value);
/* A memory operation on one piece of its place. */
struct ir_operation *wide_tile_piece_of_access(struct wide_tile *s, struct ir_builder *builder, struct ir_operation *op,
                                               int number, int depth, bool alone);
#endif
