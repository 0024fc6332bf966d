/* Lowering of Schedule-level tile IR to LLVM IR for one kernel: control flow, roles, and what threads do together.  What
 * each does by itself is in nvptx/thread, with the shape of lowered values.
 *
 * Scratch in shared memory (convert_layout, reductions across warps, results of atomics) is described in ir/facts/scratch.h.
 */
#ifndef TILECC_NVPTX_LOWER_H
#define TILECC_NVPTX_LOWER_H
#include "targets/nvptx/thread/thread.h"

/* ---- shared.c: scratch in shared memory ---- */
/* Byte offset of `bytes` of scratch for an operation: where allocate_shared put it, else at the end of what the
 * function has, behind a barrier. */
int64_t shared_scratch(struct lowering *l, const struct ir_operation *operation, int64_t bytes);
/* Registers of the first result that the leaders of its layout hold, told to the threads with copies (atomic.c). */
void shared_tell(struct lowering *l, const struct ir_operation *operation, LLVMValueRef leader, LLVMValueRef *out);
LLVMValueRef shared_address(struct lowering *l, int64_t offset, LLVMValueRef bytes /* i32 or NULL */);
void shared_store(struct lowering *l, enum ir_element element, LLVMValueRef value, LLVMValueRef address, int alignment);
LLVMValueRef shared_load(struct lowering *l, enum ir_element element, LLVMValueRef address, int alignment);
/* `count` neighbours, up to 16 bytes, aligned to their size together. */
void shared_store_vector(struct lowering *l, enum ir_element element, const LLVMValueRef *values, int count,
                         LLVMValueRef address);
void shared_load_vector(struct lowering *l, enum ir_element element, LLVMValueRef *values, int count,
                        LLVMValueRef address);

/* ---- roles.c ---- */
void roles_open(struct lowering *l); /* after the prologue has thread, lane, warp */
/* Registers a thread has when the block starts: what the multiprocessor has for each, in steps of 8. */
int roles_registers_at_start(const struct lowering *l);
void lower_turn(struct lowering *l, struct ir_operation *operation); /* barrier.c */
void lower_roles(struct lowering *l, struct ir_operation *operation);
void lower_barrier(struct lowering *l, struct ir_operation *operation);
/* Code from here on is run by the first thread of the role alone; adjacent operations share a block. */
void role_single_begin(struct lowering *l);
/* The builder stands behind a loop.  Where that was full of accumulators, what follows in the region asks who it is
 * again. */
void role_behind_loop(struct lowering *l, struct ir_operation *loop);
void role_in_loop(struct lowering *l, struct ir_block *body); /* at the top of its body; role_restore at the end */
void role_restore(struct lowering *l, const struct lowering *before); /* at the end of the region */
void role_single_end(struct lowering *l);
/* One that the first thread runs. */
bool role_is_single(const struct lowering *l, const struct ir_operation *operation);

/* ---- buffer.c: buffers, and tiles to and from them ---- */
void lower_buffer(struct lowering *l, struct ir_operation *operation);
LLVMValueRef buffer_place(struct lowering *l, const struct ir_value *buffer, int part); /* PLACE_BYTES, PLACE_UNITS */
LLVMValueRef buffer_start(struct lowering *l, const struct ir_value *buffer); /* i32: address of its element 0 */
LLVMValueRef buffer_index(struct lowering *l, const struct ir_value *index);  /* an integer scalar as i32 */
void buffer_define(struct lowering *l, const struct ir_value *value, LLVMValueRef bytes, LLVMValueRef units);

/* ---- reduce.c: lines of a tile folded along an axis, for reduce and scan ---- */
/* On the way `left`, one value an operand, came to stand right before what register `target` stands for, as seen from
 * what stands before `keep` and `left` both.  condition: in the threads where it is true; NULL: in all. */
struct fold_event {
    int keep, target;
    LLVMValueRef *left, condition;
};
struct fold {
    struct ir_operation *operation;
    const struct layout *layout;
    int axis, operands, registers;
    bool ordered, reverse; /* reverse: the left operand has the larger indexes */
    bool remembers;        /* a scan: set after fold_open */
    bool mixed;            /* what stands on the left may have the larger indexes: by positions */
    LLVMValueRef **value;  /* [operand][register] */
    bool *alive;           /* registers that still stand for themselves */
    int *head;             /* the alive register that a register was folded into */
    struct layout_reduction steps;
    VECTOR(struct fold_event) events;
    /* Of a scan: runs of registers that are neighbours along the axis are scanned by themselves first, each into the
     * register of its first element.  run[register]: up to there, one value an operand; in_front: the register in
     * front of it in its run, or -1. */
    LLVMValueRef **run;
    int *in_front;
};
void fold_open(struct lowering *l, struct fold *f, struct ir_operation *operation);
void fold_run(struct lowering *l, struct fold *f);
/* One value an operand. */
void fold_combine(struct lowering *l, const struct fold *f, const LLVMValueRef *left, const LLVMValueRef *right,
                  LLVMValueRef *out);

/* ---- the operations ---- */
void lower_mbarrier(struct lowering *l, struct ir_operation *operation); /* barrier.c: mbarrier_*, fence_async */
void lower_tma(struct lowering *l, struct ir_operation *operation);
void tma_declare(struct lowering *l); /* the tensor maps' parameters, annotated */
LLVMValueRef tma_map(struct lowering *l, int number);
void lower_wgmma(struct lowering *l, struct ir_operation *operation); /* dot_async */
void lower_wgmma_wait(struct lowering *l, struct ir_operation *operation);
void lower_atomic(struct lowering *l,
                  struct ir_operation *operation); /* atomic, atomic_cas, pointer_atomic, pointer_cas */
void lower_reduce(struct lowering *l, struct ir_operation *operation);
void lower_sort(struct lowering *l, struct ir_operation *operation);
void lower_scan(struct lowering *l, struct ir_operation *operation);
void lower_histogram(struct lowering *l, struct ir_operation *operation);
void lower_convert(struct lowering *l, struct ir_operation *operation);
void lower_shape(struct lowering *l,
                 struct ir_operation *operation); /* splat, broadcast, reshape, permute, extract, iota */
void lower_move(struct lowering *l, struct ir_operation *operation); /* concatenate, flip, gather */
void lower_dot(struct lowering *l, struct ir_operation *operation);
void lower_mma(struct lowering *l, struct ir_operation *operation); /* dot and dot_async by mma.sync */
/* cp_async, cp_commit, cp_wait, and copy_async and wait where no pass made others of them. */
void lower_copy(struct lowering *l, struct ir_operation *operation);
/* What a tma_store does, by the threads of the role: each stores elements of the buffer itself. */
void copy_to_view(struct lowering *l, const struct ir_operation *operation);
/* asm.c */
int asm_number(const struct ir_operation *operation); /* among those of the function, from 1; 0: it is none */
void lower_asm(struct lowering *l, struct ir_operation *operation);
void lower_asm_effect(struct lowering *l, struct ir_operation *operation);
void lower_control(struct lowering *l, struct ir_operation *operation); /* for, while, if, map */
void lower_map(struct lowering *l, struct ir_operation *operation);     /* map.c */
void lower_block(struct lowering *l, struct ir_block *block);           /* all operations but the terminator */
/* A region on scalars applied to given arguments; fills results from its yield. */
void lower_region(struct lowering *l, struct ir_block *block, const LLVMValueRef *arguments, LLVMValueRef *results);

/* ---- kernel.c ---- */
/* Builds the LLVM module of one kernel.  False: reported. */
bool nvptx_lower(struct lowering *l);
void kernel_annotate(struct lowering *l, const char *name, int64_t number);

#endif
