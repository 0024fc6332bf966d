/* Inside of the CPU target: Value IR to loop nests in LLVM IR.  Not seen outside targets/cpu.
 *
 * One walk over a function's blocks, in program order.  Scalars become LLVM values at once.  A tile is at any time
 * either virtual   nothing was emitted; whoever needs element p asks cpu_element(), which emits the code that computes
 * it there, or a buffer  its elements stand row-major in the thread's scratch. What must be a buffer (a cut): results
 * of reduce, scan, sort, dot, atomics and of reshapes that move elements, values carried by loops or yielded from `if`, loads that
 * a later write could change, and dear values with several consumers (plan.c decides).  Everything between two cuts is
 * evaluated inside one loop nest (nest.c), innermost dimension in vectors.
 *
 * Register forms of elements: bool i1, integers and index as they are, f32 and f64 as they are, f16, bf16 and fp8 as
 * integers of their width (arithmetic goes through f32), pointers as i64.  In memory bool is one byte. */
#ifndef TILECC_CPU_EMIT_H
#define TILECC_CPU_EMIT_H
#include "targets/common/integer.h"
#include "targets/cpu/cpu.h"

enum {
    CPU_PADDING = 128 /* bytes after each buffer that vector reads may touch */,
    CPU_DEAR = 8 /* cost worth a buffer */
};

enum cpu_state_kind { CPU_UNSET, CPU_SCALAR, CPU_VIEW, CPU_VIRTUAL, CPU_BUFFER };

/* A range of scratch while values live in it.  `last` counts operations of block `owner`. */
struct cpu_buffer {
    int64_t offset, size;
    const struct ir_block *owner;
    int last;
    bool borrowed; /* the bytes belong to a buffer of an outer block */
};
struct cpu_view {
    LLVMValueRef data, present; /* present NULL: always */
    LLVMValueRef extent[IR_MAX_RANK], stride[IR_MAX_RANK];
    int root; /* argument of the kernel it comes from, -1: unknown */
};
/* What is known of an IR value.  The plan's part is set when its block is entered. */
struct cpu_state {
    enum cpu_state_kind kind;
    LLVMValueRef scalar;
    struct cpu_view *view;
    struct cpu_buffer *buffer;
    int last; /* position in the defining block of the last operation that may still read it, through virtual users too
               */
    int cost; /* of one element, everything virtual */
    const void *consumer; /* the cut that evaluates it, when there is one only */
    bool shared;          /* several cuts evaluate it */
    bool keep, eager;     /* becomes a buffer: when first needed, or where it is defined */
    bool cut;             /* the operation emits its own nest */
    int mark;             /* of the last search that came by */
};
struct cpu_frame {
    const struct ir_function *function;
    struct cpu_state *states;
    struct cpu_frame *next;
};

struct cpu_emitter {
    const struct target_options *options;
    const struct kernel_entry *entry;
    const struct kernel_variant *variant;
    struct arena *arena;
    LLVMContextRef llvm;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    LLVMValueRef function, scratch, dummy; /* dummy: 64 bytes that a masked-off scalar access may use */
    LLVMBasicBlockRef allocas;
    LLVMTypeRef i1, i8, i16, i32, i64, f32, f64, pointer;
    enum cpu_isa isa;
    bool arm, has_fma, has_half, has_round, has_wide_mask, strict;
    bool rounded; /* the operation at hand is not to be fused */
    int vector_bytes;
    LLVMValueRef grid_index[IR_MAX_RANK], grid_size[IR_MAX_RANK];
    struct cpu_frame *frames;
    VECTOR(struct cpu_buffer *) live;      /* buffers that own bytes */
    VECTOR(struct cpu_buffer) free_ranges; /* holes below scratch_top */
    int64_t scratch_top;
    int marks;
    struct lines *lines; /* NULL: no debug information */
    bool failed;
    int call_depth;
    const struct ir_function *ranged; /* whose ranges these are */
    const struct ranges *ranges;
};

/* ---- build.c: LLVM values ---- */
struct cpu_loop {
    LLVMBasicBlockRef head, exit;
    LLVMValueRef index, step;
    int unroll;
};
LLVMTypeRef cpu_register_type(struct cpu_emitter *e, enum ir_element element);
LLVMTypeRef cpu_memory_type(struct cpu_emitter *e, enum ir_element element);
int cpu_bytes(enum ir_element element);
LLVMTypeRef cpu_vector_of(LLVMTypeRef scalar, int lanes);     /* lanes 1: scalar itself */
int cpu_lanes(LLVMValueRef value);                            /* 1 for scalars */
LLVMTypeRef cpu_like(LLVMTypeRef scalar, LLVMValueRef model); /* scalar, or a vector as wide as model's */
LLVMValueRef cpu_int(struct cpu_emitter *e, int64_t value);   /* i64 */
LLVMValueRef cpu_float_like(LLVMTypeRef type, double value);
LLVMValueRef cpu_constant(struct cpu_emitter *e, enum ir_element element, uint64_t bits);
LLVMValueRef cpu_splat(struct cpu_emitter *e, LLVMValueRef scalar, int lanes);
LLVMValueRef cpu_iota(struct cpu_emitter *e, LLVMTypeRef scalar, int lanes);
LLVMValueRef cpu_intrinsic(struct cpu_emitter *e, const char *name, int type_count, LLVMTypeRef *types, int count,
                           LLVMValueRef *arguments);
LLVMValueRef cpu_unary_intrinsic(struct cpu_emitter *e, const char *name, LLVMValueRef a);
LLVMValueRef cpu_binary_intrinsic(struct cpu_emitter *e, const char *name, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef cpu_address(struct cpu_emitter *e, enum ir_element element, LLVMValueRef base,
                         LLVMValueRef index); /* index scalar or vector */
LLVMValueRef cpu_alloca(struct cpu_emitter *e, LLVMTypeRef type);
LLVMBasicBlockRef cpu_block(struct cpu_emitter *e, const char *name);
LLVMValueRef cpu_both(struct cpu_emitter *e, LLVMValueRef a,
                      LLVMValueRef b); /* and of conditions; NULL is true; splats as needed */
LLVMValueRef cpu_select(struct cpu_emitter *e, LLVMValueRef condition, LLVMValueRef a,
                        LLVMValueRef b);                                         /* splats as needed */
LLVMValueRef cpu_minimum(struct cpu_emitter *e, LLVMValueRef a, LLVMValueRef b); /* i64 */
LLVMValueRef cpu_maximum(struct cpu_emitter *e, LLVMValueRef a, LLVMValueRef b);
void cpu_loop_begin(struct cpu_emitter *e, struct cpu_loop *loop, LLVMValueRef start, LLVMValueRef stop, int64_t step);
void cpu_loop_end(struct cpu_emitter *e, struct cpu_loop *loop);
void cpu_loop_hint(struct cpu_emitter *e, LLVMValueRef branch, int unroll); /* no vectorizer; unroll 1: none */
/* What is built between the two comes from `at`; the first gives what the second takes. */
LLVMMetadataRef cpu_enter_place(struct cpu_emitter *e, struct location at);
void cpu_leave_place(struct cpu_emitter *e, LLVMMetadataRef before);
bool cpu_report(struct cpu_emitter *e, struct location at,
                const char *what); /* "... is not there yet on the CPU"; false */

/* ---- convert.c, arithmetic.c: operands are scalars or vectors, all alike ---- */
LLVMValueRef cpu_widen(struct cpu_emitter *e, enum ir_element from,
                       LLVMValueRef value); /* f16 bf16 fp8 to f32; others as they are */
LLVMValueRef cpu_narrow(struct cpu_emitter *e, LLVMValueRef value, enum ir_element to, enum ir_round round,
                        bool saturate);
/* To an element that holds the number already, as what min and max choose: an infinity stays one. */
LLVMValueRef cpu_narrow_chosen(struct cpu_emitter *e, LLVMValueRef value, enum ir_element to);
LLVMValueRef cpu_grid(struct cpu_emitter *e, const struct ir_operation *operation);
LLVMValueRef cpu_cast(struct cpu_emitter *e, LLVMValueRef value, enum ir_element from, enum ir_element to,
                      enum ir_round round, bool saturate);
LLVMValueRef cpu_round_to_odd(struct cpu_emitter *e, LLVMValueRef f64);
/* The operation's results from its operands (lanes as the operands have); false: reported. */
bool cpu_arithmetic(struct cpu_emitter *e, const struct ir_operation *operation, LLVMValueRef *operands,
                    LLVMValueRef *results);
LLVMValueRef cpu_binary(struct cpu_emitter *e, enum ir_opcode opcode, enum ir_element element, LLVMValueRef a,
                        LLVMValueRef b, enum ir_nan nan);
LLVMValueRef cpu_multiply_add(struct cpu_emitter *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c,
                              bool is_float); /* may contract */
LLVMValueRef cpu_combine(struct cpu_emitter *e, enum ir_reduce_kind kind, enum ir_element element, LLVMValueRef a,
                         LLVMValueRef b, enum ir_nan nan);
LLVMValueRef cpu_reduce_kind_lanes(struct cpu_emitter *e, enum ir_reduce_kind kind, enum ir_element element,
                                   LLVMValueRef vector, enum ir_nan nan);
LLVMValueRef cpu_math(struct cpu_emitter *e, enum ir_math function, enum ir_element element, LLVMValueRef a,
                      LLVMValueRef b);
LLVMValueRef cpu_float_remainder(struct cpu_emitter *e, enum ir_element element, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef cpu_fused(struct cpu_emitter *e, enum ir_element element, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c);

/* ---- plan.c ---- */
struct cpu_plan {
    const struct ir_block *block;
    struct ir_operation **operations;
    int count;
};
struct cpu_plan *cpu_plan_block(struct cpu_emitter *e, const struct ir_block *block);
int cpu_plan_position(const struct cpu_plan *plan, const struct ir_operation *operation);
bool cpu_is_tile(const struct ir_value *value); /* rank 1 or more */
bool cpu_reshape_is_trivial(const struct ir_operation *reshape);
int cpu_root_of(struct cpu_emitter *e, const struct ir_value *view_or_pointer);

/* ---- nest.c, element.c ---- */
enum cpu_mode { CPU_INSIDE /* every clipped access is inside */, CPU_OUTSIDE, CPU_MIXED /* checks each lane */ };
/* Where an element is asked for: index[d] + offset[d].  Dimension lanes_dim (-1: none) runs over the nest's lanes
 * instead, from the body's lane base + offset; its index is NULL. */
struct cpu_point {
    int rank, lanes_dim;
    LLVMValueRef index[IR_MAX_RANK];
    int64_t offset[IR_MAX_RANK];
};
/* A place whose lanes are neighbours in one dimension of the view: inside for nest lanes low..high-1. */
struct cpu_access {
    const struct ir_operation *operation;
    struct cpu_point point;
    LLVMValueRef low, high; /* NULL: always inside */
    LLVMValueRef first;     /* element offset of nest lane 0 from the view's data */
    LLVMValueRef stride;    /* of lanes, in elements */
};
struct cpu_memo {
    const struct ir_value *value;
    struct cpu_point point;
    LLVMValueRef result;
};
struct cpu_side {
    struct ir_value *value;
    struct cpu_buffer *buffer;
};
struct cpu_nest {
    struct cpu_emitter *e;
    int rank, fixed; /* `fixed` leading dimensions have their index in `index` already */
    int64_t extent[IR_MAX_RANK];
    LLVMValueRef index[IR_MAX_RANK];
    VECTOR(struct ir_value *) roots;   /* what bodies evaluate, at the nest's own point */
    VECTOR(struct cpu_side) sides;     /* buffers filled by the way */
    const struct ir_operation *target; /* a store: the nest runs over what is inside; or NULL */
    bool partial;                      /* does not visit every element: no sides */
    bool in_order;                     /* indexes of the lanes ascending */
    unsigned descending;               /* bit d: the indexes of dimension d descend; of the lanes' one in order alone */
    bool aligned;                      /* vectors start at multiples of the lanes */
    bool narrow_memory;                /* moves elements under 32 bits: AVX2 has no masks for them */
    int lanes_dim, lanes, unroll;      /* lanes_dim -1 and lanes 0 before cpu_nest_emit: it chooses */
    void (*body)(struct cpu_nest *nest, const struct cpu_point *point, int copy);
    void (*row_begin)(struct cpu_nest *nest, const struct cpu_point *point);
    void (*row_end)(struct cpu_nest *nest, const struct cpu_point *point);
    void *context;
    /* while emitting */
    enum cpu_mode mode;
    LLVMValueRef lane_base, active; /* active: lanes that count, NULL all */
    VECTOR(struct cpu_access) accesses;
    VECTOR(struct cpu_memo) memo;
    int row_memo;
};
void cpu_nest_choose(struct cpu_nest *nest); /* lanes_dim, lanes, unroll */
void cpu_nest_emit(struct cpu_nest *nest);
LLVMValueRef cpu_element(struct cpu_nest *nest, struct ir_value *value, const struct cpu_point *point);
/* cpu_element, splatted to the nest's lanes */
LLVMValueRef cpu_element_full(struct cpu_nest *nest, struct ir_value *value, const struct cpu_point *point);
void cpu_point_operand(struct cpu_emitter *e, const struct ir_operation *operation, int operand,
                       const struct cpu_point *point, struct cpu_point *out);
bool cpu_point_same(const struct cpu_point *a, const struct cpu_point *b);
void cpu_nest_setup(struct cpu_nest *nest, struct ir_value *value, const struct cpu_point *point);
void cpu_nest_setup_memory(struct cpu_nest *nest, const struct ir_operation *operation, const struct cpu_point *point);
/* Where an index tile of a place is asked for; `from`: the first dimension of the place's shape that it makes. */
void cpu_gather_point(const struct ir_value *tile, const struct cpu_point *point, int from, struct cpu_point *at);
LLVMValueRef cpu_point_index(struct cpu_nest *nest, const struct cpu_point *point,
                             int dimension); /* of lane 0, offset included */
LLVMValueRef cpu_buffer_load(struct cpu_nest *nest, const struct cpu_buffer *buffer, const struct ir_type *type,
                             const struct cpu_point *point);
void cpu_buffer_store(struct cpu_nest *nest, const struct cpu_buffer *buffer, const struct ir_type *type,
                      const struct cpu_point *point, LLVMValueRef value);
/* The same with one dimension from its other end. */
void cpu_buffer_store_flipped(struct cpu_nest *nest, const struct cpu_buffer *buffer, const struct ir_type *type,
                              const struct cpu_point *point, int flipped, LLVMValueRef value);
/* A block over scalars applied to lanes: region arguments get `arguments`, `results` the operands of its terminator. */
bool cpu_region(struct cpu_emitter *e, struct ir_block *block, LLVMValueRef *arguments, LLVMValueRef *results);

/* ---- memory.c ---- */
const struct cpu_access *cpu_access_register(struct cpu_nest *nest, const struct ir_operation *operation,
                                             const struct cpu_point *point);
LLVMValueRef cpu_load_element(struct cpu_nest *nest, const struct ir_operation *operation,
                              const struct cpu_point *point);
LLVMValueRef cpu_inside_element(struct cpu_nest *nest, const struct ir_operation *operation,
                                const struct cpu_point *point);
void cpu_store_element(struct cpu_nest *nest, const struct ir_operation *operation, const struct cpu_point *point);
LLVMValueRef cpu_atomic_element(struct cpu_nest *nest, const struct ir_operation *operation,
                                const struct cpu_point *point);
LLVMValueRef cpu_read(struct cpu_emitter *e, enum ir_element element, LLVMValueRef address, int lanes);
void cpu_write(struct cpu_emitter *e, enum ir_element element, LLVMValueRef address, LLVMValueRef value);

/* ---- buffers (scratch.c) ---- */
struct cpu_buffer *cpu_buffer_create(struct cpu_emitter *e, int64_t bytes, const struct ir_block *owner, int last);
struct cpu_buffer *cpu_buffer_borrow(struct cpu_emitter *e, const struct cpu_buffer *buffer,
                                     const struct ir_block *owner, int last);
void cpu_buffer_release(struct cpu_emitter *e, struct cpu_buffer *buffer);
void cpu_buffer_release_dead(struct cpu_emitter *e, const struct ir_block *owner, int position);
LLVMValueRef cpu_buffer_address(struct cpu_emitter *e, const struct cpu_buffer *buffer);
int64_t cpu_tile_bytes(const struct ir_type *type);

/* ---- tile.c: values to buffers ---- */
struct cpu_state *cpu_state_of(struct cpu_emitter *e, const struct ir_value *value);
void cpu_set_scalar(struct cpu_emitter *e, const struct ir_value *value, LLVMValueRef scalar);
void cpu_set_buffer(struct cpu_emitter *e, const struct ir_value *value, struct cpu_buffer *buffer);
/* Fills `buffer` with the value (which may read the same bytes, element by element); does not bind the value to it. */
void cpu_fill(struct cpu_emitter *e, struct ir_value *value, struct cpu_buffer *buffer);
/* The value as a buffer of its own; binds it. */
struct cpu_buffer *cpu_materialise(struct cpu_emitter *e, struct ir_value *value, const struct ir_block *block,
                                   int position);
enum cpu_reads { CPU_READS_NOT, CPU_READS_SAME /* element by element */, CPU_READS_OTHER };
enum cpu_reads cpu_reads(struct cpu_emitter *e, struct ir_value *value, const struct cpu_buffer *buffer);
/* A buffer that dies at `position` of `block` and that filling with `value` may overwrite, or NULL. */
struct cpu_buffer *cpu_reusable(struct cpu_emitter *e, struct ir_value *value, const struct ir_block *block,
                                int position);
/* Before a nest: what it needs as buffers becomes so; dear shared values on its own points become sides. */
void cpu_prepare(struct cpu_nest *nest);
void cpu_finish(struct cpu_nest *nest); /* binds sides */

/* ---- block.c, control.c, move.c, reduce.c, scan.c, sort.c, dot.c ---- */
/* Everything but the terminator, whose operands the caller hands on; then cpu_block_end gives its buffers back. */
struct cpu_plan *cpu_emit_block(struct cpu_emitter *e, struct ir_block *block);
void cpu_block_end(struct cpu_emitter *e, const struct ir_block *block);
void cpu_emit_control(struct cpu_emitter *e, const struct cpu_plan *plan, struct ir_operation *operation, int position);
void cpu_emit_move(struct cpu_emitter *e, struct ir_operation *operation, int position); /* concatenate, flip, gather */
void cpu_emit_reduce(struct cpu_emitter *e, const struct cpu_plan *plan, struct ir_operation *operation, int position);
void cpu_emit_sort(struct cpu_emitter *e, struct ir_operation *operation, int position);
void cpu_emit_scan(struct cpu_emitter *e, struct ir_operation *operation);
void cpu_emit_histogram(struct cpu_emitter *e, struct ir_operation *operation);
void cpu_emit_dot(struct cpu_emitter *e, const struct cpu_plan *plan, struct ir_operation *operation, int position);
void cpu_emit_view(struct cpu_emitter *e, struct ir_operation *operation);
LLVMValueRef cpu_scalar(struct cpu_emitter *e, struct ir_value *value); /* register form */
#endif
