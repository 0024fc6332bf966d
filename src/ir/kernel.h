/* What the outside of a kernel looks like: the C entry, what its wrapper checks and computes on the host, and the
 * instances behind it.  The front end fills it, targets add code, the header and object writers read it.
 *
 *   kernel_module
 *     kernel_entry          one C symbol: a kernel with its type parameters fixed, e.g. softmax_f16
 *       kernel_parameter…   as in C, in order, then the members of structs; dispatch keys that no view tells follow as
 *                           ints
 *       kernel_variant…     one a (target, keys, facts, schedule): predicate, when, grid, IR function, code
 *
 * Device ABI, the same for CPU and GPU: one flat array of 64-bit slots.  For each parameter in order: a view gives
 * 1 + 2*rank slots (data pointer, extents, strides); a pointer one; a scalar one (its bits, zero-extended).  Keys and
 * structs give none.  Then the views of its scratch, in order, and where the entry reports, the address of its report.
 * Then one slot a grid dimension (its count), then `program_base`.  Arguments of the IR function are the parameters that
 * have slots, the scratch and the report, in order.  The linear program number (GPU: blockIdx.x + program_base, and where
 * programs are ordered how many have started before) counts the first grid name fastest. */
#ifndef TILECC_KERNEL_H
#define TILECC_KERNEL_H
#include "base/base.h"
#include "ir/ir.h"

/* ---- host expressions: evaluated by the wrapper before a launch; i64 (overflow is an error) and bool; comparisons of
 * float scalars on f64 ---- */
#define KERNEL_HOST_OPS(X)                                                                                         \
    X(CONSTANT, 0)       /* number */                                                                              \
    X(NAME, 0)           /* value of extent name `number` (index into entry->names) */                             \
    X(SCALAR, 0)         /* value of integer, bool or enum scalar parameter `number` */                            \
    X(FLOAT_SCALAR, 0)   /* float scalar parameter `number`, only under FLOAT_ comparisons */                      \
    X(FLOAT_CONSTANT, 0) /* number holds the bits of an f64 */                                                     \
    X(EXTENT, 0)         /* extent `dimension` of view parameter `number` */                                       \
    X(STRIDE, 0)         /* stride `dimension`, in elements */                                                     \
    X(PRESENT, 0)        /* 1 when optional view parameter `number` is not NULL */                                 \
    X(ALIGNED, 0)  /* 1 when the base of view or pointer `number` is a multiple of `dimension` bytes, or absent */ \
    X(KEY, 0)      /* value of key `number` (index into entry->keys) */                                            \
    X(SM_COUNT, 0) /* multiprocessors of the device; worker threads on the CPU */                                  \
    X(ADD, 2)                                                                                                      \
    X(SUB, 2)                                                                                                      \
    X(MUL, 2)                                                                                                      \
    X(DIV, 2)                                                                                                      \
    X(REM, 2)                                                                                                      \
    X(MIN, 2)                                                                                                      \
    X(MAX, 2)                                                                                                      \
    X(CDIV, 2)                                                                                                     \
    X(NEG, 1)                                                                                                      \
    X(ABS, 1)                                                                                                      \
    X(SHL, 2)                                                                                                      \
    X(SHR, 2)                                                                                                      \
    X(BIT_AND, 2)                                                                                                  \
    X(BIT_OR, 2)                                                                                                   \
    X(BIT_XOR, 2)                                                                                                  \
    X(BIT_NOT, 1)                                                                                                  \
    X(ILOG2, 1)                                                                                                    \
    X(EQ, 2)                                                                                                       \
    X(NE, 2)                                                                                                       \
    X(LT, 2)                                                                                                       \
    X(LE, 2)                                                                                                       \
    X(GT, 2)                                                                                                       \
    X(GE, 2)                                                                                                       \
    X(FLOAT_EQ, 2)                                                                                                 \
    X(FLOAT_NE, 2)                                                                                                 \
    X(FLOAT_LT, 2)                                                                                                 \
    X(FLOAT_LE, 2)                                                                                                 \
    X(FLOAT_GT, 2)                                                                                                 \
    X(FLOAT_GE, 2)                                                                                                 \
    X(NOT, 1)                                                                                                      \
    X(AND, 2)                                                                                                      \
    X(OR, 2) /* short-circuit: the right side is not evaluated when the left decides */                            \
    X(SELECT, 3)                                                                                                   \
    X(CELL, 0) /* cell `number` of `cells` */
enum kernel_host_op {
#define X(id, operands) KERNEL_HOST_##id,
    KERNEL_HOST_OPS(X)
#undef X
        KERNEL_HOST_OP_COUNT
};
struct kernel_expression {
    enum kernel_host_op op;
    int64_t number;
    int dimension;
    const struct kernel_expression *operand[3];
    const struct kernel_cells *cells;
    const char *text; /* of the whole, as the source wrote it, for error messages; may be NULL inside */
    struct location at;
};

/* Values that an evaluation computes at one point and keeps: a single one, or those that a loop carries.  Cells stand
 * `within` the loop whose turns compute them, in the order of their numbers.  A loop
 *
 *   starts its cells; each turn: the cells within it under `body_from`; unless `condition`, end; the others within it;
 *   all `next` at once
 *
 * Where the guard is false nothing of this is done, and nobody asks for the cells. */
struct kernel_cells {
    int number;
    const struct kernel_cells *within;         /* NULL: outside all loops */
    const struct kernel_expression *guard;     /* NULL: true */
    const struct kernel_expression *condition; /* NULL: no loop */
    int body_from, count;
    const char **name;
    const struct kernel_expression **start, **next;
};
/* All cells that an expression needs, in order, each with its place in one array. */
struct kernel_cells_place {
    const struct kernel_cells *cells;
    int first;
};
struct kernel_cells_plan {
    struct kernel_cells_place *data;
    int count, capacity, cells;
};
enum { KERNEL_HOST_MOST_TURNS = 1000000 }; /* of all loops of an expression together, as in runtime-stub/tile_rt.h */
void kernel_cells_collect(struct arena *arena, const struct kernel_expression *expression,
                          struct kernel_cells_plan *plan);
int kernel_cells_first(const struct kernel_cells_plan *plan, const struct kernel_cells *cells);
/* The first part that `is` takes, those of cells included; NULL: none. */
const struct kernel_expression *kernel_expression_find(struct arena *arena, const struct kernel_expression *expression,
                                                       bool (*is)(const struct kernel_expression *part, void *context),
                                                       void *context);
/* Whether two are the same tree, from which places of the source and with which texts ever. */
bool kernel_expression_same(const struct kernel_expression *a, const struct kernel_expression *b);

/* ---- the C side ---- */
enum kernel_parameter_kind { KERNEL_VIEW, KERNEL_SCALAR, KERNEL_POINTER, KERNEL_ENUM, KERNEL_KEY, KERNEL_STRUCT };
enum kernel_direction { KERNEL_IN, KERNEL_OUT, KERNEL_INOUT };
struct kernel_enum {
    const char *name;
    const char *c_name; /* tile_NAME, or what --prefix makes of it */
    int count;
    const char *const *members;
    const int64_t *values;
    const char *doc;
    struct location at; /* its declaration */
};
struct kernel_struct {
    const char *name;
    const char *c_name; /* tile_NAME, or what --prefix makes of it */
    int count;
    const struct kernel_parameter *members; /* scalars, enums and pointers */
    const char *doc;
    struct location at; /* its declaration */
};
/* Where C puts the member `number`, and how large the struct is, in bytes: number = count. */
int64_t kernel_struct_offset(const struct kernel_struct *structure, int number);
struct kernel_parameter {
    const char *name;
    enum kernel_parameter_kind kind;
    enum ir_element element;              /* of a view, scalar, or what a pointer points to; keys: I32 or BOOL */
    bool pointer_elements, pointee_const; /* a view of pointers: element is what they point to */
    int rank;
    enum kernel_direction direction; /* views; pointers: KERNEL_IN for *const */
    bool optional, packed, strided, huge, restricted;
    /* Elements of 4 bits, two a byte, the even one low; for C a view of bytes, whose last extent is half of what is
     * declared and whose strides count bytes. */
    bool nibbles;
    const struct kernel_expression *extent[IR_MAX_RANK]; /* declared; see binds */
    /* index of the name this extent binds, or -1: it is checked against extent[d] */
    int binds[IR_MAX_RANK];
    int64_t static_extent[IR_MAX_RANK];    /* or IR_DYNAMIC */
    const struct kernel_enum *enumeration; /* KERNEL_ENUM, and keys over enums */
    const struct kernel_struct *structure; /* KERNEL_STRUCT: the members are parameters of their own, see member_of */
    /* A member of a struct, named "p.eps": 1 + the number of the struct's parameter.  C gives the struct alone. */
    int member_of;
    int member; /* its number in the struct */
    int key;    /* KERNEL_KEY: index into keys */
    int slot;   /* first slot of the device ABI, -1: none */
    struct location at;
};
/* What C's extent is in elements. */
static inline int64_t kernel_elements(const struct kernel_parameter *p, int dimension, int64_t extent)
{
    return p->nibbles && dimension == p->rank - 1 ? (int64_t)(2 * (uint64_t)extent) : extent;
}
/* an extent variable; bound from parameter's extent: (extent - add) / multiply */
struct kernel_name {
    const char *name;
    int parameter, dimension; /* -1: bound by nothing that is present, 0 */
    int64_t multiply, add;    /* extent = multiply*name + add; 1, 0 for a bare name */
};
/* What a key may be while `when`, over keys before it, holds (NULL: always); ascending for `const` keys. */
struct kernel_set {
    const struct kernel_expression *when;
    int count;
    const int64_t *values;
    const char *text; /* "{16, 128} where D is 2" */
};
struct kernel_key {
    const char *name;
    enum ir_element element; /* I64, BOOL, or I32 with an enumeration */
    const struct kernel_enum *enumeration;
    int set_count;
    const struct kernel_set *sets; /* one holds, whatever the keys before it are */
    int parameter;                 /* parameter that carries it, or -1 */
    /* deduced: the value of this extent name (it stands alone as an extent), or -1 */
    int name_index;
    /* derived: const(B: set >= at_least): the least member not under it; or NULL */
    const struct kernel_expression *at_least;
};
struct kernel_alias {
    int a, b;
}; /* parameters that may be the same view or disjoint */

/* Memory that a launch has for itself and no caller gives: scratch(state: u64[cdiv(N, B)] = 0).  A packed view, of which
 * each variant says the extents. */
struct kernel_scratch {
    const char *name;
    enum ir_element element;
    int rank;
    bool filled;   /* before each launch, with `fill`; else it holds anything */
    uint64_t fill; /* the bits of an element */
    int slot;      /* first slot of the device ABI */
    struct location at;
};
enum { KERNEL_MOST_SCRATCH = 17 }; /* views of an entry, those of an ordered one or of `split_k` included */

/* ---- instances ---- */
/* const and tune values, for query and #defines; asked: by -D or --spec */
struct kernel_knob {
    const char *name;
    int64_t value;
    bool asked;
};
/* A load or store whose place has, along this dimension of the view, an extent that a value of `tune` is in. */
struct kernel_tuned {
    const struct ir_operation *op;
    int dimension;
    const char *text; /* of the extent, as written */
};
enum { KERNEL_CPU_LEVELS = 3 }; /* of instructions */
struct kernel_cpu_level {
    const char *symbol; /* in the object; NULL: the host has no such level */
    int64_t scratch_bytes;
};
struct kernel_cpu_code {
    int64_t scratch_bytes; /* a thread's, of the level that asks for most */
    struct kernel_cpu_level level[KERNEL_CPU_LEVELS];
};
struct kernel_gpu_code {
    int image;          /* index into module->images */
    const char *symbol; /* in the cubin */
    int threads, registers, cluster;
    int64_t shared_bytes; /* dynamic */
    int64_t local_bytes;
    int64_t spill_stores, spill_loads; /* bytes, as ptxas says */
    const char *summary;               /* one line: instructions, stages, roles, registers, memory */
    /* blocks of a multiprocessor that walk over all programs; 0: a block a program, -n: n programs a block */
    int persistent;
    int map_count;                 /* tensor maps: parameters of the kernel behind the slots, in this order */
    const struct tensor_map *maps; /* ir/facts/shared_form.h */
};
struct kernel_variant {
    int target;                                /* index into the target table */
    const struct kernel_expression *predicate; /* NULL: always */
    bool special;                              /* of a clause `specialize`, in front of those of automatic facts */
    /* Its number among those of the same target, keys and facts, which differ in their schedules; and where it is taken
     * beyond its facts, with its text; its code knows nothing of it.  NULL: always, as the last of them is. */
    int schedule;
    const struct kernel_expression *when;
    /* Of one of a set that the compiler has chosen: the cycles that it is thought to take, with its name as text; of the
     * set all but the first may be left out.  NULL: it is in no such set. */
    const struct kernel_expression *modelled;
    bool fails; /* one of a set that the compiler has chosen, which cannot be compiled: told, and to be left out */
    int grid_rank;
    const struct kernel_expression *grid[IR_MAX_RANK];
    const struct kernel_expression **scratch_extents; /* of the entry's scratch, one view's behind the other's */
    const int64_t *key_values;                        /* one a key */
    VECTOR(struct kernel_knob) knobs;
    VECTOR(struct kernel_tuned) tuned; /* as the front end made them */
    bool counts_consumers;             /* the warps of its schedule are told as `consumers` */
    struct ir_module *module;          /* holds function and what it calls */
    struct ir_function *function;      /* Value level as lowered; passes work on it in place */
    const char *label;                 /* for reports and query: softmax<f16>[B=1024] sm_90a aligned */
    const char *facts;                 /* of the label: aligned; NULL: it comes from a .tir file */
    /* Variants of one kernel that share a number have the same code (targets/common/same_code.h); 0: nobody looked. */
    int code;
    struct kernel_cpu_code cpu;
    struct kernel_gpu_code gpu;
};
/* One of a set that the compiler has chosen, beside the default: nobody has written it, so that nothing warns of it. */
static inline bool kernel_is_extra(const struct kernel_variant *variant)
{
    return variant->modelled && variant->schedule;
}
/* What is chosen of several: those that an instance has, or tiles, of which other schedules are made, to choose from. */
enum kernel_choosing { KERNEL_CHOOSES_TILES, KERNEL_CHOOSES_SCHEDULES };
/* One of several schedules that could be compiled, and where the wrapper is to take it (as `when` and `modelled` above). */
struct kernel_choice {
    int candidate;
    const struct kernel_expression *when, *modelled;
};
/* Texts below have `%` in front of what stands for a value, [0][width][.precision] and one of d u x X (64 bits), e f g
 * (an f64) or b (a bool), and `%%` for a percent sign. */
struct kernel_check {
    const char *text; /* "assume(n > 0)", an assert's text */
    struct location at;
};
struct kernel_print {
    const char *format;
    int count;      /* of values */
    unsigned tiles; /* bit i: value i is a tile, of the shape that all tiles have */
    int rank;       /* of that shape, 0: there are only scalars */
    int64_t extent[IR_MAX_RANK];
};
/* The words of a report: a failing check writes program * 2^16 + its number + 1 to the first, if it has values where
 * that was 0, and then they follow.  A print takes room among the records: its number + 1, the grid indexes, then each
 * value, of a tile one word an element, row-major. */
enum {
    KERNEL_REPORT_CHECK,
    KERNEL_REPORT_VALUES,
    KERNEL_REPORT_MOST_VALUES = 16,
    KERNEL_REPORT_USED = KERNEL_REPORT_VALUES +
                         KERNEL_REPORT_MOST_VALUES, /* words of records, those without room too */
    KERNEL_REPORT_ROOM,
    KERNEL_REPORT_BOUNDS, /* two of each argument: bytes of its allocation in front of it, and from it on; 0, 0: not known; less than none: empty */
    KERNEL_REPORT_MOST_ARGUMENTS = 64,
    KERNEL_REPORT_RECORDS = KERNEL_REPORT_BOUNDS + 2 * KERNEL_REPORT_MOST_ARGUMENTS
};
struct kernel_entry {
    const char *kernel; /* name in the source */
    const char *symbol; /* C name, prefix included */
    const char *doc;    /* text of the /// lines, or NULL */
    struct location at;
    VECTOR(struct kernel_parameter) parameters;
    VECTOR(struct kernel_name) names;
    VECTOR(struct kernel_key) keys;
    VECTOR(const struct kernel_expression *) requirements;
    VECTOR(struct kernel_alias) aliases;
    VECTOR(const char *) grid_names;
    VECTOR(struct kernel_scratch) scratch;
    bool ordered; /* instances start in the order of their numbers; the last scratch counts those that have */
    bool
        splits; /* a variant has `split_k`: the last dimension of the grid, and two scratches behind those of the source */
    /* it prints, or --checks: behind the slots of parameters and scratch stands the address of a report */
    bool reports;
    VECTOR(struct kernel_check) checks; /* of all variants */
    VECTOR(struct kernel_print) prints;
    /* for each target and keys: most special facts first, general last; schedules of the same facts side by side */
    VECTOR(struct kernel_variant) variants;
    int slots;     /* of the device ABI, grid counts and program_base included */
    uint64_t body; /* a hash of the code of all variants, without places in the source; targets/common/same_code.h */
};
struct kernel_image { /* one cubin */
    int target;
    const char *name; /* of the section: entry symbol and architecture */
    const unsigned char *data;
    size_t size;
    const char *ptx; /* text, kept for --emit=ptx, or NULL */
    /* what an object holds instead of data, for the driver to unpack; NULL: data itself */
    const unsigned char *packed;
    size_t packed_size;
    bool with_ptx, without_cubin; /* what an object holds of it: compute_XX was asked for, and sm_XX was not */
};
/* Another order of machine code, as a file of --tuning has it: for what has the digest. */
struct kernel_order {
    struct location at;
    const char *target, *digest, *text;
    bool taken;
};
struct kernel_module {
    const char *source_name, *stem; /* stem: file name without directory and .tile */
    VECTOR(struct kernel_entry) entries;
    VECTOR(struct kernel_enum) enums; /* every enum of the source that an entry uses */
    VECTOR(struct kernel_struct) structs;
    VECTOR(struct kernel_image) images;
    VECTOR(struct kernel_order) orders;
};
#endif
