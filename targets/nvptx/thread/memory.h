/* Accesses to global memory: single ones (memory.c) and the plan by which the registers of a tile reach the elements of
 * a view (reach.c). */
#ifndef TILECC_NVPTX_MEMORY_H
#define TILECC_NVPTX_MEMORY_H
#include "targets/nvptx/thread/thread.h"

/* What an access moves: `words` of `unit` bytes, `each` elements in one, element 0 lowest. */
struct memory_shape {
    int unit, words, each;
};
struct memory_shape memory_shape(enum ir_element element, int count);
LLVMTypeRef memory_word_type(const struct lowering *l, struct memory_shape shape);
char memory_word_letter(struct memory_shape shape);      /* of its registers, in constraints */
const char *memory_word_name(struct memory_shape shape); /* b32 … */
void memory_pack(struct lowering *l, enum ir_element element, struct memory_shape shape, const LLVMValueRef *values,
                 LLVMValueRef *words);
void memory_unpack(struct lowering *l, enum ir_element element, struct memory_shape shape, const LLVMValueRef *words,
                   LLVMValueRef *values);

/* `count` consecutive elements at address + offset, aligned to their size together.  cache: "", ".cg", ".nc" …
 * predicate NULL: always; else `other` are the values where it is false.  A load leaves words, to be unpacked. */
void memory_load(struct lowering *l, enum ir_element element, const char *cache, LLVMValueRef address, int64_t offset,
                 int count, LLVMValueRef predicate, const LLVMValueRef *other, LLVMValueRef *words);
void memory_store(struct lowering *l, enum ir_element element, const char *cache, LLVMValueRef address, int64_t offset,
                  int count, LLVMValueRef predicate, const LLVMValueRef *values);

/* The address that was made last, from which the next one is made: its block and its register parts by dimension. */
struct reach_chain {
    LLVMBasicBlockRef block;
    LLVMValueRef address;
    int number[IR_MAX_RANK];
};

/* How a tile reaches a place of a view. */
struct reach {
    struct ir_access access;
    const struct view *view;
    const struct ir_type *type;      /* of the tile */
    enum ir_element element;         /* of the view: what lies in memory */
    int tile_dimension[IR_MAX_RANK]; /* by dimension of the view: where it stands in the tile; -1 for a point */
    int gather_first;                /* first tile dimension of the gathered shape */
    LLVMValueRef address;            /* of the thread, without its register parts */
    LLVMValueRef usable;             /* i1 or NULL: what no register changes (presence, points) */
    LLVMValueRef limit[IR_MAX_RANK]; /* i32, by dimension of the view: coordinates from low to below limit are inside;
                                        NULL: all */
    LLVMValueRef low[IR_MAX_RANK];   /* i32 or NULL: 0 */
    int contiguous;                  /* dimension of the view with stride 1 that the tile runs along, or -1 */
    struct layout_vector vector;     /* registers that may go together; size 1: none */
    LLVMValueRef whole;              /* i1: no vector straddles the limit; NULL: always so */
    struct reach_chain *chain;       /* NULL: every register's address is made from the thread's */
};
void reach_plan(struct lowering *l, const struct ir_operation *operation, struct reach *reach);
/* The same where the elements lie as in a tile of the given type, whose registers stand for what a thread moves. */
void reach_plan_as(struct lowering *l, const struct ir_operation *operation, const struct ir_type *type,
                   struct reach *reach);
/* Address of a register's element: address + *offset. */
LLVMValueRef reach_address(struct lowering *l, const struct reach *reach, int reg, int64_t *offset);
/* Whether the element (the vector that starts there, when none straddles) is inside; NULL: it is. */
LLVMValueRef reach_inside(struct lowering *l, const struct reach *reach, int reg);
/* What a register adds to the thread's coordinates, and to its address: the immediate offset that reach_address gives
 * and `step` times the stride, in elements.  false: not everything is such a sum. */
struct reach_parts {
    int coordinate[IR_MAX_RANK], step[IR_MAX_RANK];
    int64_t offset;
};
bool reach_parts_of(const struct reach *reach, int reg, struct reach_parts *parts);
/* a AND b, where NULL is true. */
LLVMValueRef reach_both(struct lowering *l, LLVMValueRef a, LLVMValueRef b);

/* ---- access_text.c: several single elements a text ---- */
bool access_text_applies(const struct reach *reach);
/* Reads all registers; words[] gets them as reads of the vectors `as` would leave them. */
void access_text_load(struct lowering *l, const struct reach *reach, const struct layout_vector *as, const char *cache,
                      LLVMValueRef *words);
/* Writes all registers, in the order of the vectors `as`, where `leader` (NULL: true) and the mask (or NULL) say so. */
void access_text_store(struct lowering *l, const struct reach *reach, const struct layout_vector *as, const char *cache,
                       LLVMValueRef leader, const struct ir_value *mask);
#endif
