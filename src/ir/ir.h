/* Tile IR: SSA values, operations with structured control flow, three levels (see ops.def).
 *
 * A module holds functions; a function is one block with arguments; an operation owns regions of one block each, which
 * end in a terminator.  Types are interned in the context: equal types are the same pointer.  Everything lives in the
 * module's arena. Text form, verifier, analyses: ir/text.h, ir/verify/verify.h, ir/facts/analysis.h. */
#ifndef TILECC_IR_H
#define TILECC_IR_H
#include "base/base.h"

enum { IR_MAX_RANK = 8 };
#define IR_DYNAMIC INT64_MIN /* an extent or stride known only when running */

/* ---- types ---------------------------------------------------------------------------------------------------- */

/* ELEMENT(id, text, bits, class): class B bool, S signed, U unsigned, F float, I index (64-bit, narrows to 32), P
 * pointer. */
#define IR_ELEMENTS(ELEMENT)        \
    ELEMENT(BOOL, "bool", 8, B)     \
    ELEMENT(I8, "i8", 8, S)         \
    ELEMENT(I16, "i16", 16, S)      \
    ELEMENT(I32, "i32", 32, S)      \
    ELEMENT(I64, "i64", 64, S)      \
    ELEMENT(U8, "u8", 8, U)         \
    ELEMENT(U16, "u16", 16, U)      \
    ELEMENT(U32, "u32", 32, U)      \
    ELEMENT(U64, "u64", 64, U)      \
    ELEMENT(F16, "f16", 16, F)      \
    ELEMENT(BF16, "bf16", 16, F)    \
    ELEMENT(F32, "f32", 32, F)      \
    ELEMENT(F64, "f64", 64, F)      \
    ELEMENT(F8E4M3, "f8e4m3", 8, F) \
    ELEMENT(F8E5M2, "f8e5m2", 8, F) \
    ELEMENT(INDEX, "index", 64, I)  \
    ELEMENT(POINTER, "pointer", 64, P)
enum ir_element {
#define ELEMENT(id, text, bits, class) IR_##id,
    IR_ELEMENTS(ELEMENT)
#undef ELEMENT
        IR_ELEMENT_COUNT
};
enum ir_element_class { IR_CLASS_B, IR_CLASS_S, IR_CLASS_U, IR_CLASS_F, IR_CLASS_I, IR_CLASS_P };
struct ir_element_info {
    const char *text;
    int bits;
    enum ir_element_class kind;
};
extern const struct ir_element_info ir_element_info[IR_ELEMENT_COUNT];
static inline bool ir_is_float(enum ir_element e) { return ir_element_info[e].kind == IR_CLASS_F; }
static inline bool ir_is_integer(enum ir_element e) /* not bool, not pointer */
{
    enum ir_element_class k = ir_element_info[e].kind;
    return k == IR_CLASS_S || k == IR_CLASS_U || k == IR_CLASS_I;
}
static inline bool ir_is_signed(enum ir_element e)
{
    return ir_element_info[e].kind == IR_CLASS_S || ir_element_info[e].kind == IR_CLASS_I;
}

/* BUFFER: a ring of `slots` tiles in shared memory, each laid out as `layout` says; what slot, buffer_permute and
 * buffer_part give refers to one slot and has slots 1.  MBARRIER: `slots` barriers that count arrivals and bytes.
 * TOKEN: stands for an asynchronous operation that somebody waits for. */
enum ir_type_kind { IR_TILE /* rank 0: a scalar */, IR_VIEW, IR_BUFFER, IR_MBARRIER, IR_TOKEN };
struct layout; /* ir/layout/layout.h */
struct ir_type {
    enum ir_type_kind kind;
    enum ir_element element;
    enum ir_element pointee; /* of IR_POINTER elements; itself never a pointer */
    bool pointee_const;
    int rank;
    int64_t extent[IR_MAX_RANK];       /* tiles: > 0.  Views: >= 0 or IR_DYNAMIC */
    int64_t stride[IR_MAX_RANK];       /* views, in elements: a number or IR_DYNAMIC */
    bool optional, writable, readable; /* views */
    const struct layout *layout;       /* tiles at SCHEDULE level and below, NULL before; buffers: a shared one */
    int slots;                         /* buffers, mbarriers */
    int id;                            /* order of creation in the context: stable, for tables */
};

struct ir_context; /* interned types and names, one a compilation */
struct ir_context *ir_context_create(struct arena *arena);
struct intern_table *ir_context_names(struct ir_context *context);
struct layout_table *ir_context_layouts(struct ir_context *context); /* where the layouts of its types are interned */
const struct ir_type *ir_type_scalar(struct ir_context *context, enum ir_element element);
const struct ir_type *ir_type_pointer(struct ir_context *context, enum ir_element pointee, bool pointee_const);
const struct ir_type *ir_type_tile(struct ir_context *context, enum ir_element element, int rank,
                                   const int64_t *extent);
/* the type `like` (pointee, view fields and all) with these changes */
const struct ir_type *ir_type_with_shape(struct ir_context *context, const struct ir_type *like, int rank,
                                         const int64_t *extent);
const struct ir_type *ir_type_with_element(struct ir_context *context, const struct ir_type *like,
                                           enum ir_element element);
const struct ir_type *ir_type_with_layout(struct ir_context *context, const struct ir_type *like,
                                          const struct layout *layout);
const struct ir_type *ir_type_intern(struct ir_context *context, const struct ir_type *type); /* any */
const struct ir_type *ir_type_buffer(struct ir_context *context, enum ir_element element, int rank,
                                     const int64_t *extent, const struct layout *layout, int slots);
const struct ir_type *ir_type_mbarrier(struct ir_context *context, int slots);
const struct ir_type *ir_type_token(struct ir_context *context);
bool ir_type_same_shape(const struct ir_type *a, const struct ir_type *b);
int64_t ir_type_elements(const struct ir_type *tile); /* product of extents, 1 for a scalar */
int64_t ir_type_bytes(const struct ir_type *tile);    /* of its elements in memory; of one slot of a buffer */

/* ---- attributes ----------------------------------------------------------------------------------------------- */

/* ATTRIBUTE(id, text, kind): INT one number or enum; LIST numbers; NUMBER bits of a constant; NAME interned text; PLAN a
 * plan */
#define IR_ATTRIBUTES(ATTRIBUTE)                      \
    ATTRIBUTE(VALUE, "value", NUMBER)                 \
    ATTRIBUTE(PERMUTATION, "permutation", LIST)       \
    ATTRIBUTE(START, "start", LIST)                   \
    ATTRIBUTE(NAN, "nan", INT)                        \
    ATTRIBUTE(PREDICATE, "predicate", INT)            \
    ATTRIBUTE(ROUND, "round", INT)                    \
    ATTRIBUTE(SATURATE, "saturate", INT)              \
    ATTRIBUTE(FUNCTION, "function", INT)              \
    ATTRIBUTE(AXIS, "axis", INT)                      \
    ATTRIBUTE(KIND, "kind", INT)                      \
    ATTRIBUTE(FIXED, "fixed", INT)                    \
    ATTRIBUTE(POSITIONS, "positions", INT)            \
    ATTRIBUTE(REVERSE, "reverse", INT)                \
    ATTRIBUTE(EXCLUSIVE, "exclusive", INT)            \
    ATTRIBUTE(PRECISION, "precision", INT)            \
    ATTRIBUTE(PROMOTE, "promote", INT)                \
    ATTRIBUTE(DIMENSION, "dimension", INT)            \
    ATTRIBUTE(DROP, "drop", INT)                      \
    ATTRIBUTE(PLACE, "place", LIST)                   \
    ATTRIBUTE(INSIDE, "inside", INT)                  \
    ATTRIBUTE(CACHE, "cache", INT)                    \
    ATTRIBUTE(ACTION, "action", INT)                  \
    ATTRIBUTE(ORDER, "order", INT)                    \
    ATTRIBUTE(SCOPE, "scope", INT)                    \
    ATTRIBUTE(MULTIPLY, "multiply", INT)              \
    ATTRIBUTE(UNROLL, "unroll", INT)                  \
    ATTRIBUTE(CALLEE, "callee", NAME)                 \
    ATTRIBUTE(TEXT, "text", NAME)                     \
    ATTRIBUTE(PACK, "pack", INT)                      \
    ATTRIBUTE(SHARED_OFFSET, "shared_offset", INT)    \
    ATTRIBUTE(SHARED_BYTES, "shared_bytes", INT)      \
    ATTRIBUTE(INSTRUCTION, "instruction", INT)        \
    ATTRIBUTE(ARRIVALS, "arrivals", INT)              \
    ATTRIBUTE(BYTES, "bytes", INT)                    \
    ATTRIBUTE(PENDING, "pending", INT)                \
    ATTRIBUTE(ROLE_WARPS, "role_warps", LIST)         \
    ATTRIBUTE(ROLE_REGISTERS, "role_registers", LIST) \
    ATTRIBUTE(BARRIER_ID, "id", INT)                  \
    ATTRIBUTE(BARRIER_WARPS, "warps", INT)            \
    ATTRIBUTE(FLUSH, "flush", INT)                    \
    ATTRIBUTE(CLUSTER, "cluster", INT)                \
    ATTRIBUTE(MULTICAST, "multicast", INT)            \
    ATTRIBUTE(APART, "apart", INT)                    \
    ATTRIBUTE(ROUNDED, "rounded", INT)                \
    ATTRIBUTE(NEAR, "near", INT)                      \
    ATTRIBUTE(DESCENDING, "descending", INT)          \
    ATTRIBUTE(FENCED, "fenced", INT)                  \
    ATTRIBUTE(HOLDS, "holds", INT)                    \
    ATTRIBUTE(PLAN, "plan", PLAN)                     \
    ATTRIBUTE(ASKED, "asked", PLAN)
enum ir_attribute_key {
#define ATTRIBUTE(id, text, kind) IR_ATTRIBUTE_##id,
    IR_ATTRIBUTES(ATTRIBUTE)
#undef ATTRIBUTE
        IR_ATTRIBUTE_COUNT
};
enum ir_attribute_kind { IR_KIND_INT, IR_KIND_LIST, IR_KIND_NUMBER, IR_KIND_NAME, IR_KIND_PLAN };
/* A constant: `bits` holds the value in its element's own encoding (low bits; floats as IEEE bits, bool 0 or 1,
 * integers two's complement sign- or zero-extended to 64 bits). */
struct ir_attribute {
    enum ir_attribute_key key;
    int64_t number; /* INT */
    uint64_t bits;  /* NUMBER */
    int count;      /* LIST */
    const int64_t *list;
    const char *name;     /* NAME */
    struct ir_plan *plan; /* PLAN, see plan.h */
    struct ir_attribute *next;
};
enum { IR_MOST_SORTED = 32768 /* elements along the axis of sort */ };
enum { IR_POINT = 0, IR_GATHER = -1 }; /* entries of PLACE that are not a length */

/* Values of INT attributes; printed by these words. */
#define IR_PREDICATES(X) \
    X(EQ, "eq")          \
    X(NE, "ne")          \
    X(LT, "lt")          \
    X(LE, "le")          \
    X(GT, "gt")          \
    X(GE, "ge")
#define IR_KINDS(X) \
    X(ADD, "add")   \
    X(MUL, "mul")   \
    X(MIN, "min")   \
    X(MAX, "max")   \
    X(AND, "and")   \
    X(OR, "or")     \
    X(XOR, "xor")   \
    X(REGION, "region")
#define IR_ROUNDS(X) \
    X(RTNE, "rtne")  \
    X(RTZ, "rtz")    \
    X(RTP, "rtp")    \
    X(RTN, "rtn")
#define IR_PRECISIONS(X) \
    X(IEEE, "ieee")      \
    X(TF32, "tf32")      \
    X(TF32X3, "tf32x3")
#define IR_CACHES(X) \
    X(ALL, "ca")     \
    X(GLOBAL, "cg")  \
    X(STREAMING, "cs")
#define IR_ACTIONS(X)       \
    X(ADD, "add")           \
    X(MIN, "min")           \
    X(MAX, "max")           \
    X(AND, "and")           \
    X(OR, "or")             \
    X(XOR, "xor")           \
    X(EXCHANGE, "exchange") \
    X(LOAD, "load")         \
    X(STORE, "store")
#define IR_ORDERS(X)      \
    X(RELAXED, "relaxed") \
    X(ACQUIRE, "acquire") \
    X(RELEASE, "release") \
    X(ACQ_REL, "acq_rel")
#define IR_SCOPES(X)    \
    X(GPU, "gpu")       \
    X(SYSTEM, "system") \
    X(BLOCK, "block")
#define IR_NANS(X)  \
    X(SKIP, "skip") \
    X(PROPAGATE, "propagate")
/* MATH(id, text, operands): the functions of OP_MATH */
#define IR_MATHS(X)       \
    X(EXP, "exp")         \
    X(EXP2, "exp2")       \
    X(EXPM1, "expm1")     \
    X(LOG, "log")         \
    X(LOG2, "log2")       \
    X(LOG1P, "log1p")     \
    X(SIN, "sin")         \
    X(COS, "cos")         \
    X(TAN, "tan")         \
    X(TANH, "tanh")       \
    X(ERF, "erf")         \
    X(SQRT, "sqrt")       \
    X(RSQRT, "rsqrt")     \
    X(RCP, "rcp")         \
    X(FLOOR, "floor")     \
    X(CEIL, "ceil")       \
    X(TRUNC, "trunc")     \
    X(ROUND, "round")     \
    X(POW, "pow")         \
    X(ATAN2, "atan2")     \
    X(ATAN, "atan")       \
    X(ASIN, "asin")       \
    X(ACOS, "acos")       \
    X(SINH, "sinh")       \
    X(COSH, "cosh")       \
    X(SIGMOID, "sigmoid") \
    X(ISNAN, "isnan")     \
    X(COPYSIGN, "copysign")
/* How a product is computed: multiply-adds, mma.sync of each warp, wgmma of each four warps. */
#define IR_INSTRUCTIONS(X) \
    X(FMA, "fma")          \
    X(MMA, "mma")          \
    X(WGMMA, "wgmma")
#define X(id, text) IR_PREDICATE_##id,
enum ir_predicate { IR_PREDICATES(X) IR_PREDICATE_COUNT };
#undef X
#define X(id, text) IR_REDUCE_##id,
enum ir_reduce_kind { IR_KINDS(X) IR_REDUCE_COUNT };
#undef X
#define X(id, text) IR_ROUND_##id,
enum ir_round { IR_ROUNDS(X) IR_ROUND_COUNT };
#undef X
#define X(id, text) IR_PRECISION_##id,
enum ir_precision { IR_PRECISIONS(X) IR_PRECISION_COUNT };
#undef X
#define X(id, text) IR_CACHE_##id,
enum ir_cache { IR_CACHES(X) IR_CACHE_COUNT };
#undef X
#define X(id, text) IR_ACTION_##id,
enum ir_action { IR_ACTIONS(X) IR_ACTION_COUNT };
#undef X
#define X(id, text) IR_ORDER_##id,
enum ir_order { IR_ORDERS(X) IR_ORDER_COUNT };
#undef X
#define X(id, text) IR_SCOPE_##id,
enum ir_scope { IR_SCOPES(X) IR_SCOPE_COUNT };
#undef X
#define X(id, text) IR_NAN_##id,
enum ir_nan { IR_NANS(X) IR_NAN_COUNT };
#undef X
#define X(id, text) IR_INSTRUCTION_##id,
enum ir_instruction { IR_INSTRUCTIONS(X) IR_INSTRUCTION_COUNT };
#undef X
#define X(id, text) IR_MATH_##id,
enum ir_math { IR_MATHS(X) IR_MATH_COUNT };
#undef X

/* ---- operations ----------------------------------------------------------------------------------------------- */

/* Of the 16 numbered barriers of a block, 0 is its own, and these are the first that roles, warpgroups and turns take. */
enum { IR_BARRIER_OF_ROLES = 1, IR_BARRIER_OF_GROUPS = 4, IR_BARRIER_OF_TURNS = 8 };
/* A warpgroup's rows of a tile: units of so many go round the warpgroups of a role. */
enum { IR_WARPGROUP = 4, IR_GROUP_ROWS = 64 };
enum ir_level { IR_LEVEL_VALUE, IR_LEVEL_SCHEDULE, IR_LEVEL_MACHINE };
enum ir_trait {
    IR_TRAIT_PURE = 1,
    IR_TRAIT_READ = 2,
    IR_TRAIT_WRITE = 4,
    IR_TRAIT_ATOMIC = 8,
    IR_TRAIT_ELEMENTWISE = 16,
    IR_TRAIT_COMMUTATIVE = 32,
    IR_TRAIT_TERMINATOR = 64,
    IR_TRAIT_LOOP = 128,
    IR_TRAIT_SYNC = 256,
    IR_TRAIT_SHARED_READ = 512,
    IR_TRAIT_SHARED_WRITE = 1024, /* of buffers */
    IR_TRAIT_BIT_COUNT = 2048
};
/* IR_TAKES(id, words, is it one): the elements of operands and result that a row of ops.def allows. */
#define IR_TAKES(X)                                                      \
    X(ANY, "anything", true)                                             \
    X(NUMBERS, "integers or floats", ir_is_integer(e) || ir_is_float(e)) \
    X(INTEGERS, "integers", ir_is_integer(e))                            \
    X(BITS, "integers or bool", ir_is_integer(e) || e == IR_BOOL)        \
    X(FLOATS, "floats", ir_is_float(e))
#define X(id, words, test) IR_TAKES_##id,
enum ir_takes { IR_TAKES(X) };
#undef X
enum ir_rule { /* columns of ops.def */
               IR_RULE_GIVEN,
               IR_RULE_SAME,
               IR_RULE_BOOL,
               IR_RULE_SELECT,
               IR_RULE_PERMUTE,
               IR_RULE_REDUCE,
               IR_RULE_ACCUMULATOR,
               IR_RULE_INDEX,
               IR_RULE_BOOL_SCALAR,
               IR_RULE_PHILOX,
               IR_RULE_FOR,
               IR_RULE_WHILE,
               IR_RULE_NONE
};
enum ir_opcode {
#define OP(id, text, level, least, most, results, regions, traits, rule, attributes) OP_##id,
#include "ir/ops.def"
    OP_COUNT
};
struct ir_op_info {
    const char *text;
    enum ir_level level;
    int least, most, results, regions;
    unsigned traits;
    enum ir_rule rule;
    uint64_t attributes; /* bit per enum ir_attribute_key */
    enum ir_takes takes;
    const char *name;      /* of the function of the language that it is, or NULL */
    const char *intrinsic; /* of LLVM, with ? for the sign of the element, or NULL */
    int false_arguments;   /* of the intrinsic, behind the operands */
};
extern const struct ir_op_info ir_op_info[OP_COUNT];
bool ir_takes(enum ir_opcode opcode, enum ir_element e);
const char *ir_takes_words(enum ir_opcode opcode);   /* "integers" */
const char *ir_takes_problem(enum ir_opcode opcode); /* "the elements must be integers" */

struct ir_operation;
struct ir_block;
/* One use of a value: operand `index` of `user`. */
struct ir_use {
    struct ir_operation *user;
    int index;
    struct ir_use *next, *previous;
};
struct ir_value {
    const struct ir_type *type;
    struct ir_operation *definition; /* NULL: argument `index` of `block` */
    struct ir_block *block;          /* where it is defined */
    int index;                       /* result or argument number */
    const char *name;                /* a hint for printing, or NULL */
    struct ir_use *uses;
    int id; /* unique in the function; for tables, never for order of output */
};
struct ir_operation {
    enum ir_opcode opcode;
    struct location at;
    struct ir_block *block;
    struct ir_operation *next, *previous;
    int operand_count, operand_capacity, result_count, region_count;
    struct ir_value **operands;
    struct ir_use **uses;      /* uses[i] is the use record of operand i */
    struct ir_value **results; /* pointers, so that results may be dropped or added by building anew */
    struct ir_block **regions;
    struct ir_attribute *attributes;
};
struct ir_block {
    struct ir_operation *parent; /* NULL: a function's body */
    struct ir_function *function;
    VECTOR(struct ir_value *) arguments;
    struct ir_operation *first, *last;
};

/* What is known of a function argument beyond its type; checked by the wrapper before launch. */
struct ir_argument_fact {
    int64_t base_alignment;               /* views and pointers: bytes, 0 unknown (element size) */
    int64_t stride_multiple[IR_MAX_RANK]; /* in elements; 0 unknown (1) */
    int64_t extent_multiple[IR_MAX_RANK];
    int64_t asked_alignment; /* views that are only stored to: whether bases, strides and what is stored are multiples
                                    * of so many bytes is asked when running, by stores that go wide then; 0: it is not */
    int64_t extent_limit;    /* every extent is < this; 2^31 unless huge; 0: none */
    bool restricted;         /* shares no element with any other argument */
    bool apart;              /* views: shares none with another view; pointers may point there */
    bool own;                /* memory of the launch: there behind the maps that the run time makes */
    int extent_class[IR_MAX_RANK]; /* extents of one class are equal; 0: none.  Views */
};
struct ir_function {
    const char *name;
    struct ir_module *module;
    struct location at;
    bool is_kernel, no_inline;
    struct ir_block *body; /* its arguments are the function's */
    VECTOR(const struct ir_type *) results;
    VECTOR(struct ir_argument_fact) facts; /* one an argument, kernels only */
    enum ir_level level;
    int grid_rank;                   /* kernels */
    int64_t grid_limit[IR_MAX_RANK]; /* the most a count of the grid can be; 0: not known */
    /* the count is ceil(extent of this class / grid_step): index * step < extent; 0: none */
    int grid_class[IR_MAX_RANK];
    int64_t grid_step[IR_MAX_RANK];
    int warps;                 /* knob; 0: the compiler chooses.  Set from SCHEDULE level on */
    int stages, max_registers; /* knobs; 0: the compiler chooses */
    /* knob: blocks a multiprocessor that walk over programs; 0: chosen, -1: none */
    int persistent;
    /* knobs: programs of dimension 0 side by side, blocks of a cluster; 0: chosen */
    int raster, cluster;
    int parts; /* above 1: the last dimension of the grid has so many, which are one cluster and meet (OP_MEET) */
    /* knobs: bit n of a set: the compiler may choose n; 0: anything */
    uint64_t warps_among, stages_among, raster_among;
    int together;         /* programs of a block, a warp each; 0: one, on all warps */
    int ordered;          /* 1 + the argument that counts programs: they start in their order; 0: in any */
    int64_t shared_bytes; /* after allocation */
    bool strict_fp;       /* no contraction of a*b+c */
    struct ir_plan *plan; /* of the body, which is a loop over programs: who does what; NULL: not planned */
    int next_value_id;
    struct ir_function *next;
};
struct ir_module {
    struct arena *arena;
    struct ir_context *context;
    struct ir_function *first, *last;
};

struct ir_module *ir_module_create(struct ir_context *context, struct arena *arena);
/* The member of a set (see struct ir_function) that is nearest to a number, the lesser of two; the number, of no set. */
int ir_choose_among(uint64_t set, int number);
struct ir_function *ir_function_create(struct ir_module *module, const char *name, struct location at);
struct ir_function *ir_function_find(const struct ir_module *module, const char *name);
void ir_function_remove(struct ir_function *function);
/* A deep copy into `module` (may be another one of the same context) under a new name. */
struct ir_function *ir_function_clone(struct ir_module *module, const struct ir_function *function, const char *name);

/* ---- building and editing ------------------------------------------------------------------------------------- */

/* Insertion point: before `before` in `block`, at the end when NULL.  `at` goes to every operation built. */
struct ir_builder {
    struct ir_module *module;
    struct ir_block *block;
    struct ir_operation *before;
    struct location at;
};

struct ir_block *ir_block_create(struct ir_function *function, struct ir_operation *parent);
struct ir_value *ir_block_argument(struct ir_block *block, const struct ir_type *type, const char *name);
/* Builds an operation with given result types and empty regions (each a new block); inserts it at the builder's point.
 */
struct ir_operation *ir_build(struct ir_builder *builder, enum ir_opcode opcode, int operand_count,
                              struct ir_value *const *operands, int result_count,
                              const struct ir_type *const *result_types);
/* roles: the same with a number of regions. */
struct ir_operation *ir_build_regions(struct ir_builder *builder, enum ir_opcode opcode, int region_count);
/* As ir_build, for one result (returned) of the given type. */
struct ir_value *ir_build_value(struct ir_builder *builder, enum ir_opcode opcode, const struct ir_type *type,
                                int operand_count, struct ir_value *const *operands);
void ir_set_number(struct ir_operation *operation, enum ir_attribute_key key, int64_t number);
void ir_set_bits(struct ir_operation *operation, enum ir_attribute_key key, uint64_t bits);
void ir_set_list(struct ir_operation *operation, enum ir_attribute_key key, int count, const int64_t *list);
void ir_set_name(struct ir_operation *operation, enum ir_attribute_key key, const char *name);
const struct ir_attribute *ir_attribute(const struct ir_operation *operation, enum ir_attribute_key key); /* or NULL */
int64_t ir_number(const struct ir_operation *operation, enum ir_attribute_key key, int64_t otherwise);
void ir_set_plan(struct ir_operation *operation, enum ir_attribute_key key, struct ir_plan *plan);
void ir_remove_attribute(struct ir_operation *operation, enum ir_attribute_key key);

/* Common shorthands; tile operands must agree in shape already. */
struct ir_value *ir_constant_bits(struct ir_builder *builder, const struct ir_type *type, uint64_t bits);
/* any element: converted */
struct ir_value *ir_constant_int(struct ir_builder *builder, const struct ir_type *type, int64_t value);
/* any element: rounded */
struct ir_value *ir_constant_float(struct ir_builder *builder, const struct ir_type *type, double value);
struct ir_value *ir_binary(struct ir_builder *builder, enum ir_opcode opcode, struct ir_value *a, struct ir_value *b);
struct ir_value *ir_unary(struct ir_builder *builder, enum ir_opcode opcode, struct ir_value *a);
struct ir_value *ir_compare(struct ir_builder *builder, enum ir_predicate predicate, struct ir_value *a,
                            struct ir_value *b);
struct ir_value *ir_select(struct ir_builder *builder, struct ir_value *condition, struct ir_value *a,
                           struct ir_value *b);
/* a itself when equal */
struct ir_value *ir_cast(struct ir_builder *builder, struct ir_value *a, enum ir_element element);
struct ir_value *ir_math(struct ir_builder *builder, enum ir_math function, struct ir_value *a,
                         struct ir_value *b /* or NULL */);
/* scalar: splat; smaller extents of 1: broadcast; same shape: a itself */
struct ir_value *ir_broadcast(struct ir_builder *builder, struct ir_value *a, int rank, const int64_t *extent);
bool ir_constant_of(const struct ir_value *value, uint64_t *bits); /* true when defined by constant */
/* integer, index or bool constant, sign as its element says */
bool ir_constant_integer(const struct ir_value *value, int64_t *number);

/* Number conversions between a constant's bits and C values, correctly rounded, every element but POINTER. */
double ir_bits_to_double(enum ir_element element, uint64_t bits);
/* nearest even; fp8 saturates; integers: truncate, saturate, NaN 0 */
uint64_t ir_double_to_bits(enum ir_element element, double value);
/* Of a float, which a number that is converted to 8 bits never becomes; the largest number where there is none. */
uint64_t ir_infinity_bits(enum ir_element element, bool negative);
int64_t ir_bits_to_int(enum ir_element element, uint64_t bits);
uint64_t ir_int_to_bits(enum ir_element element, int64_t value); /* integers wrap; floats round */

void ir_set_operand(struct ir_operation *operation, int index, struct ir_value *value);
void ir_add_operand(struct ir_operation *operation, struct ir_value *value);
void ir_remove_operand(struct ir_operation *operation, int index);
void ir_replace_uses(struct ir_value *value, struct ir_value *by);
/* Unlinks; results must be unused.  Regions go with it. */
void ir_remove(struct ir_operation *operation);
void ir_move_before(struct ir_operation *operation, struct ir_operation *before); /* may cross blocks */
void ir_move_to_end(struct ir_operation *operation, struct ir_block *block);
/* Copy of an operation, regions and all, at the builder's point.  `map[old id]` gives new values for operands (NULL:
 * keep) and receives those of results and region arguments; size it by function->next_value_id. */
struct ir_operation *ir_clone(struct ir_builder *builder, const struct ir_operation *operation, struct ir_value **map);
struct ir_operation *ir_terminator(const struct ir_block *block);
/* Walks block and nested regions in text order; `visit` may remove the operation it is given. */
void ir_walk(struct ir_block *block, void (*visit)(struct ir_operation *operation, void *context), void *context);
/* Views of memory operations: which operand is what. */
struct ir_access {
    struct ir_value *view; /* or the pointer tile */
    int rank;
    struct ir_value *const *index; /* views only */
    const int64_t *place;
    struct ir_value *other, *value, *expected, *mask; /* NULL when not there */
    struct ir_value *buffer; /* of asynchronous copies; tma_load has mbarrier and index behind it */
};
bool ir_access_of(const struct ir_operation *operation, struct ir_access *access);
/* Shape of a place's result: from PLACE entries and the shape of its gather tiles. */
int ir_place_shape(const struct ir_access *access, int64_t *extent);
bool ir_uses(const struct ir_operation *operation, const struct ir_value *value); /* itself or inside its regions */
bool ir_has_effect(const struct ir_operation *operation); /* itself or inside its regions: write, atomic, sync */
bool ir_may_read(const struct ir_operation *operation);
/* Whether a store keeps what is made, element by element, of a load from its own place: as y[i] += v does. */
bool ir_updates_place(const struct ir_operation *store);
/* A reduction whose operands may not change places: by a region, or with a fixed tree of neighbours. */
bool ir_reduce_is_ordered(const struct ir_operation *operation);
#endif
