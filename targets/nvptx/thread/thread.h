/* What each thread does by itself, as LLVM IR: values, its place in a tile, arithmetic, accesses to views.  The files of
 * nvptx/lower build on it: what threads do together, and the kernel around it.
 *
 * A tile value is N LLVM values in every thread, N the registers of its layout; a scalar (rank 0) is one, the same in
 * all threads. bool is i1, bf16 and fp8 are their bits (i16, i8), pointers are `ptr addrspace(1)`, the rest are LLVM's
 * own types. A view is data, extents, strides and presence, with what is known of their divisibility. A buffer or
 * mbarrier is where it starts in dynamic shared memory, in bytes and in units of 16 bytes (i32 both). Arithmetic,
 * addresses and control flow are LLVM's; memory order, barriers, shuffles and everything LLVM 19 cannot say are rows of
 * ptx.def, emitted as inline assembly by ptx_emit.
 */
#ifndef TILECC_NVPTX_THREAD_H
#define TILECC_NVPTX_THREAD_H
#include "ir/facts/analysis.h"
#include "ir/ir.h"
#include "ir/layout/layout.h"
#include "ir/facts/shared_form.h"
#include "targets/common/lines.h"
#include "targets/target.h"

#include <llvm-c/Core.h>

struct view {
    LLVMValueRef data;                                     /* ptr addrspace(1) */
    LLVMValueRef extent[IR_MAX_RANK], stride[IR_MAX_RANK]; /* i64 */
    LLVMValueRef stop[IR_MAX_RANK];                        /* i64; of a sub-view: where it ends in the view behind it */
    LLVMValueRef present;                                  /* i1 */
    int64_t alignment;                                     /* of data, bytes */
    int64_t stride_multiple[IR_MAX_RANK], extent_multiple[IR_MAX_RANK];
    /* the argument of which alignment and stride_multiple hold where view_ask says so, which stores ask; NULL: they hold */
    const struct ir_value *asked;
    bool constant_memory; /* nobody writes what it shows while the kernel runs */
};
enum { PLACE_BYTES, PLACE_UNITS, PLACE_PARTS }; /* registers of a buffer or mbarrier */
/* What a value of the tile IR became. */
struct lowered {
    int count;
    LLVMValueRef *registers;
    struct view *view;
};

struct thread_coordinate {
    const struct layout *layout;
    int dimension;
    LLVMValueRef value;
    struct thread_coordinate *next;
};

struct lowering {
    struct arena *arena;
    const struct target_options *options;
    const struct target_row *row;
    struct ir_function *function;
    struct layout_table *layouts;
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    LLVMBuilderRef entry;               /* stands at the end of the prologue of the function or of the role, or in one
                                             behind a loop: it dominates all that is lowered until it moves on */
    LLVMBuilderRef top;                 /* the function's own prologue: what is on the stack */
    LLVMValueRef kernel, slots, shared; /* the parameter; start of dynamic shared memory */
    LLVMTypeRef i1, i8, i16, i32, i64, f16, f32, f64, pointer, shared_pointer, nothing;
    LLVMValueRef thread, lane, warp; /* i32; inside a role they count from its first warp */
    bool numbered_here;              /* they and `entry` were made anew in the block that is lowered */
    int warps;                       /* of the role, else of the block */
    int role;                        /* number of the role being lowered, -1: none */
    int64_t first_warp;              /* of the role in the block */
    bool one_thread;                 /* the role is run by one thread */
    bool warps_meet;                 /* threads of a warp read buffers by themselves: they meet before they tell */
    bool wgmma, products;            /* somewhere in the kernel */
    LLVMBasicBlockRef single;        /* code goes to a block that one thread runs; this is the block behind */
    bool single_of_group;            /* one of each warpgroup */
    LLVMValueRef shared_start;       /* i32: address of l->shared */
    const struct tensor_map *maps;   /* parameters 1 and up */
    int map_count;
    LLVMValueRef cluster_rank;           /* i32: of this block; NULL without clusters */
    LLVMValueRef program, block_count;   /* i64: linear number of this instance; blocks of the launch, or NULL */
    LLVMValueRef grid_size[IR_MAX_RANK]; /* i64 */
    struct lowered *values;              /* by ir_value.id */
    int value_count;
    struct thread_coordinate *coordinates;
    struct ir_operation *operation; /* the one being lowered, for messages */
    const struct ranges *ranges;
    const struct divisibilities *divisibilities;
    int64_t shared_need; /* bytes of dynamic shared memory with the lowering's own scratch */
    int per_element;     /* > 0 inside the region of map: scalars differ between threads */
    struct lines *lines; /* debug information, or NULL */
};

/* ---- values.c: types, constants, access to lowered values ---- */
LLVMTypeRef lower_value_type(const struct lowering *l, enum ir_element element); /* of one register */
int value_bytes(enum ir_element element);                                        /* in memory; bool 1 */
int value_registers(const struct ir_type *type);
LLVMValueRef *value_array(struct lowering *l, int count);
struct lowered *value_of(struct lowering *l, const struct ir_value *value);
/* Register `reg` of a tile, the one value of a scalar. */
LLVMValueRef value_register(struct lowering *l, const struct ir_value *value, int reg);
LLVMValueRef *value_define(struct lowering *l, const struct ir_value *value); /* registers to fill */
LLVMValueRef value_constant(const struct lowering *l, enum ir_element element, uint64_t bits);
LLVMValueRef value_i32(const struct lowering *l, int64_t number);
LLVMValueRef value_i64(const struct lowering *l, int64_t number);
LLVMValueRef value_i1(const struct lowering *l, bool truth);
/* To and from an integer of the element's width in memory (bool: i8). */
LLVMValueRef value_to_bits(struct lowering *l, enum ir_element element, LLVMValueRef value);
LLVMValueRef value_from_bits(struct lowering *l, enum ir_element element, LLVMValueRef bits);
/* a + b (a NULL: b), a * b, a - number: no instruction for what adds 0 or multiplies by 1. */
LLVMValueRef value_sum(struct lowering *l, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef value_product(struct lowering *l, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef value_without(struct lowering *l, LLVMValueRef a, int64_t number);
/* The word of 32 bits that two values of 16 were taken from as its halves; NULL: there is none. */
LLVMValueRef value_whole(struct lowering *l, LLVMValueRef low, LLVMValueRef high);
/* The same, or made by one or two instructions: of halves of two words, and of numbers of few bits, each masked out of one
 * word, the second 16 bits above the first, with bits set beside them.  (LLVM cuts each number out by itself where a shift
 * has the sign above it, and makes two instructions of a mask and bits that are set.) */
LLVMValueRef value_joined(struct lowering *l, LLVMValueRef low, LLVMValueRef high);
/* An integer scalar as i64 (sign by its element). */
LLVMValueRef value_wide(struct lowering *l, enum ir_element element, LLVMValueRef value);
LLVMValueRef value_intrinsic(struct lowering *l, const char *name, LLVMTypeRef overload, LLVMValueRef *arguments,
                             int count);
LLVMBasicBlockRef value_block(struct lowering *l, const char *name); /* appended; builder stays */
/* What is built from here to value_leave, which takes what this gives, is run where the condition holds (NULL: always). */
LLVMBasicBlockRef value_enter_if(struct lowering *l, LLVMValueRef condition);
void value_leave(struct lowering *l, LLVMBasicBlockRef kept);

/* ---- coordinates.c: where a thread stands in a tile ---- */
/* The part of the coordinate that lane and warp give (i32), made once a kernel. */
LLVMValueRef coordinate_thread(struct lowering *l, const struct layout *layout, int dimension);
/* Whether a register's part may be added to it; then *part is the number. */
bool coordinate_adds(const struct layout *layout, int dimension, int reg, int *part);
LLVMValueRef coordinate_register(struct lowering *l, const struct layout *layout, int dimension, int reg); /* i32 */
LLVMValueRef coordinate_formula(struct lowering *l, const struct layout_formula *formula);
/* i1: this thread is the first of those that hold the same elements; NULL: every thread is. */
LLVMValueRef coordinate_leader(struct lowering *l, const struct layout *layout);
/* i1: this thread's warp has such threads; NULL: every warp has. */
LLVMValueRef coordinate_leader_warp(struct lowering *l, const struct layout *layout);
LLVMValueRef coordinate_first_thread(struct lowering *l);
/* Register of `layout` that holds the coordinates in the thread in lane 0 of warp 0, or -1. */
int coordinate_find_register(const struct layout *layout, const int *coordinates);

/* ---- ptx.c: rows of ptx.def ---- */
enum ptx_row {
#define PTX(id, flags, constraints, text) PTX_##id,
#include "targets/nvptx/thread/ptx.def"
#undef PTX
    PTX_COUNT
};
/* Emits a row.  `result`: its type, l->nothing for none.  %s in the row's text and constraints are replaced by `words`
 * in order. */
LLVMValueRef ptx_emit(struct lowering *l, enum ptx_row row, LLVMTypeRef result, const LLVMValueRef *arguments,
                      int count, const char *const *words);
LLVMValueRef ptx_unary(struct lowering *l, enum ptx_row row, LLVMTypeRef result, LLVMValueRef argument);
const char *ptx_words(struct lowering *l, enum ptx_row row, const char *const *words); /* the row's text alone */
void ptx_barrier(struct lowering *l);                                                  /* of the block, or the role */
/* Ends what a warp does, or leaves out, as a whole.  ptxas (13.0) makes a jump of a last access's predicate and the
 * jump behind it; where it took the warp to be together, the lanes then go on apart, and each part counts in uniform
 * registers. */
void ptx_end_arm(struct lowering *l);
/* A row given as text, for forms whose number of operands varies (vector accesses).  effects: it touches memory. */
LLVMValueRef ptx_text(struct lowering *l, const char *text, const char *constraints, LLVMTypeRef result,
                      const LLVMValueRef *arguments, int count, bool effects);
/* The same for instructions that all threads of a warp run together. */
LLVMValueRef ptx_text_together(struct lowering *l, const char *text, const char *constraints, LLVMTypeRef result,
                               const LLVMValueRef *arguments, int count);
/* new = value of the lane with number (lane XOR mask); any register type. */
LLVMValueRef ptx_shuffle_xor(struct lowering *l, enum ir_element element, LLVMValueRef value, int mask);
LLVMValueRef ptx_shuffle_xor_by(struct lowering *l, enum ir_element element, LLVMValueRef value, LLVMValueRef mask);
LLVMValueRef ptx_shuffle_index(struct lowering *l, enum ir_element element, LLVMValueRef value, LLVMValueRef lane);

/* ---- the operations that each thread does by itself ---- */
void lower_arithmetic(struct lowering *l, struct ir_operation *operation);
LLVMValueRef lower_float_remainder(struct lowering *l, LLVMValueRef a, LLVMValueRef b); /* of f32 or f64 */
void lower_compare(struct lowering *l, struct ir_operation *operation);
/* Uniform random numbers with one bound: uniform.c.  False: they are not, or too few. */
bool lower_compare_uniform(struct lowering *l, const struct ir_operation *operation, enum ir_predicate predicate,
                           LLVMValueRef *out);
void lower_cast(struct lowering *l, struct ir_operation *operation);
void lower_math(struct lowering *l, struct ir_operation *operation);
void lower_philox(struct lowering *l, struct ir_operation *operation);
void lower_view_operation(struct lowering *l, struct ir_operation *operation);
void lower_access(struct lowering *l, struct ir_operation *operation);  /* load, store, inside */
void lower_pointer(struct lowering *l, struct ir_operation *operation); /* pointer_add, _load, _store */

/* One scalar operation on registers, for reductions and atomics: kind add, mul, min, max, and, or, xor. */
LLVMValueRef arithmetic_combine(struct lowering *l, enum ir_reduce_kind kind, enum ir_element element, bool nan,
                                LLVMValueRef a, LLVMValueRef b);
LLVMValueRef cast_value(struct lowering *l, enum ir_element from, enum ir_element to, LLVMValueRef value,
                        enum ir_round round, bool saturate);
/* Registers of a tile, to nearest even; two at a time where the target can. */
void cast_all(struct lowering *l, enum ir_element from, enum ir_element to, const LLVMValueRef *in, LLVMValueRef *out,
              int count);
/* bf16 and fp8 bits, f16 → f32 register; other floats as they are. */
LLVMValueRef cast_to_f32(struct lowering *l, enum ir_element from, LLVMValueRef value);

/* ---- views.c ---- */
void view_of_argument(struct lowering *l, const struct ir_value *argument, const struct ir_argument_fact *fact,
                      int first_slot);
/* Whether base and strides of an argument that has asked(n) are multiples of n bytes; with `rows` the extent of
 * neighbours, too. */
LLVMValueRef view_ask(struct lowering *l, const struct ir_value *argument, bool rows);
LLVMValueRef view_slot(struct lowering *l, int slot); /* i64 */

/* ---- facts.c: what is known of index values without running ---- */
void facts_open(struct lowering *l);
int64_t fact_divisor(const struct lowering *l,
                     const struct ir_value *value); /* a power of two (at most 2^20) that divides it */
bool fact_not_negative(const struct lowering *l, const struct ir_value *value);

#endif
