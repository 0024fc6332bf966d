/* SPDX-License-Identifier: MIT
 *
 * The run time that objects made by tilecc call.  C99; knows neither CUDA's headers nor LLVM.
 *
 * Every kernel entry of an object (one C symbol per kernel and type instance) is a thin typed function: it puts
 * pointers to its arguments into an array on its stack and calls tile_rt_launch with a read-only `struct
 * tile_rt_kernel`.  That descriptor says all that is known of the kernel; every check of a launch is done here, driven
 * by it, so that the checks exist once and a wrong argument is a status and a text on every target.
 *
 * A launch goes: look at the arguments -> bind names -> check extents, `requires`, alignment, overlap -> where (the
 * stream) -> target (architecture or instruction set) -> facts -> variant -> grid -> slots -> one driver call, or the
 * thread pool.
 *
 * Three parts below: what users of kernels see (also printed into every generated header, under the same guards), what
 * objects and the run time agree on (the descriptor), and the entry points that objects call. */
#ifndef TILE_RT_H
#define TILE_RT_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wold-style-cast" /* inline functions are those of C */
#endif
#endif

/* ---- what users see.  src/driver/header/header.c copies this block and the next two from here into each header. -------- */

#ifndef TILE_SHARED_DECLARATIONS
#define TILE_SHARED_DECLARATIONS 1
struct CUstream_st; /* what CUstream and cudaStream_t point to */

/* A kernel's functions carry, for the linker, a number made from what their caller was compiled with: a program whose
 * header and object are of builds that do not fit together does not link.  The plain names exist as well. */
#if defined(__GNUC__)
#define TILE_SIGNATURE(name) __asm__(name)
#else
#define TILE_SIGNATURE(name)
#endif

/* Pass this as the stream to run on the host's processor, on host pointers; the call returns when the work is done. */
#ifdef __cplusplus
#define TILE_CPU (reinterpret_cast<struct CUstream_st *>(static_cast<uintptr_t>(0x435055)))
#else
#define TILE_CPU ((struct CUstream_st *)(uintptr_t)0x435055)
#endif

enum tile_status {
    TILE_OK = 0,
    TILE_ERR_ARG = 1,        /* an argument breaks a rule of the kernel; the text names it */
    TILE_ERR_ALIAS = 2,      /* two views share elements and the kernel does not allow it */
    TILE_ERR_NO_DRIVER = 3,  /* no NVIDIA driver, or one that does not start; TILE_CPU still works */
    TILE_ERR_NO_CONTEXT = 4, /* no CUDA context is current and the stream has none */
    TILE_ERR_NO_IMAGE = 5,   /* the object holds no code for this processor or these keys; the text names both sides */
    TILE_ERR_BAD_IMAGE = 6,  /* the driver refuses the code in the object */
    TILE_ERR_DRIVER = 7,     /* any other failure of the driver: tile_last_cuda_error() */
    TILE_ERR_CAPTURE = 8,    /* first use inside a stream capture: call the kernel's _load() before */
    TILE_ERR_ABI = 9,        /* object and run time do not fit together */
    TILE_ERR_OOM = 10,       /* no memory, on the host or on the device */
    TILE_ERR_CONTEXT_LOST = 11, /* a kernel failed before: the context can only be destroyed */
    TILE_ERR_FORKED = 12,       /* CUDA was used before fork(): this process can not use it */
    TILE_ERR_CHECK = 14,        /* compiled with --checks: an assume() or assert() did not hold; the text names it */
    TILE_ERR_ENVIRONMENT = 13   /* a TILE_* environment variable asks for what is not there */
};

/* What a call would run.  Texts live as long as the object that holds the kernel. */
struct tile_kernel_info {
    const char *target;       /* "sm_90a", "cpu-avx2" */
    const char *variant_text; /* the facts that it relies on, then "when M <= 64" of a schedule; or "" */
    int variant;              /* its number for TILE_FORCE_VARIANT */
    int threads;              /* per block; on the CPU the threads of the pool */
    int registers;            /* per thread; 0 on the CPU */
    int shared_bytes;         /* per block, static and dynamic; on the CPU the scratch of a thread */
    int cluster;              /* blocks per cluster, 1 without */
    int persistent;           /* blocks per multiprocessor that walk over the programs; 0: a block a program */
    int maps;                 /* tensor maps that the call hands to the kernel */
    int value_count;          /* names of `const` and `tune`, with the values compiled in */
    const char *const *value_names;
    const int64_t *values;
    int64_t programs; /* the product of the grid */
};

/* How a kernel's _launch_ex() launches.  All zero: as the plain call does.  Who sets one of the others sets size too;
 * members that a later version has behind these are 0 where this one's caller does not know them. */
struct tile_launch_options {
    uint32_t size;    /* sizeof(struct tile_launch_options) */
    uint32_t flags;   /* enum tile_launch_flags */
    int32_t priority; /* as of cuStreamCreateWithPriority: less is sooner; 0: the stream's */
    int32_t variant;  /* the number of the instance, under TILE_LAUNCH_VARIANT; else 0 */
};
enum tile_launch_flags {
    /* It may begin before the kernel in front of it in the stream has ended, whose results it waits for: only the
     * launch itself overlaps. */
    TILE_LAUNCH_OVERLAP = 1,
    TILE_LAUNCH_VARIANT = 2, /* the instance of the number `variant` and no other, as _variant() runs it */
    /* With TILE_CPU: all of it on the calling thread. */
    TILE_LAUNCH_THIS_THREAD = 4
};

const char *tile_strerror(int status); /* one line for a status; never NULL */
const char *tile_last_error(void);     /* this thread's last failure, with kernel and argument; "" if none */
int tile_last_cuda_error(void);        /* the CUresult behind it, 0 if none */
/* Memory that launches on this stream use for `scratch`, at a multiple of 256; NULL and 0: none any more, and the run time
 * gives them some of its own.  It may hold anything, and belongs to them until it is taken back.  See f_workspace(). */
int tile_set_workspace(struct CUstream_st *stream, void *pointer, size_t bytes);
/* What is allocated there, for pointers that kernels compiled with --checks take; 0 bytes: nothing any more. */
int tile_set_allocation(const void *pointer, size_t bytes);
/* Threads of the program in place of the run time's: from now on launches with TILE_CPU call run(context, count, piece,
 * data), which calls piece(data, index) once for each index from 0 to count - 1, on any threads, in any order, and
 * returns when all of them have returned.  NULL and NULL: the run time's own threads again. */
typedef void tile_piece(void *data, int64_t index);
typedef void tile_parallel_for(void *context, int64_t count, tile_piece *piece, void *data);
void tile_set_parallel_for(tile_parallel_for *run, void *context);
#endif /* TILE_SHARED_DECLARATIONS */

/* ---- element types that C has not: their bits, and conversions.  Printed into headers of kernels that use them. - */

#ifndef TILE_INLINE_FUNCTIONS
#define TILE_INLINE_FUNCTIONS 1
#if defined(__GNUC__)
#define TILE_INLINE static inline __attribute__((unused))
#else
#define TILE_INLINE static inline
#endif
#endif /* TILE_INLINE_FUNCTIONS */

#ifndef TILE_FLOAT_TYPES
#define TILE_FLOAT_TYPES 1
typedef uint16_t tile_f16;   /* IEEE half: 5 bits of exponent, 10 of mantissa */
typedef uint16_t tile_bf16;  /* the upper half of a float */
typedef uint8_t tile_f8e4m3; /* no infinity, NaN is 0x7f and 0xff, largest 448 */
typedef uint8_t tile_f8e5m2; /* largest finite 57344 */

/* To nearest even.  finite: only the codes of all ones are NaN and there is no infinity.  saturate: what is beyond the
 * range becomes the largest finite value. */
TILE_INLINE uint32_t tile_round_float(float value, int exponent, int mantissa, int finite, int saturate)
{
    union {
        float value;
        uint32_t bits;
    } as;
    uint32_t sign, rest, infinity = ((UINT32_C(1) << exponent) - 1) << mantissa, result;
    uint32_t largest = finite ? infinity + (UINT32_C(1) << mantissa) - 2 : infinity - 1;
    int shift = 23 - mantissa, bias = (1 << (exponent - 1)) - 1, low;
    as.value = value;
    sign = (as.bits >> 31) << (exponent + mantissa);
    rest = as.bits & UINT32_C(0x7fffffff);
    if (rest > UINT32_C(0x7f800000))
        return sign | (finite ? largest + 1 : infinity | UINT32_C(1) << (mantissa - 1));
    if (rest == UINT32_C(0x7f800000))
        return sign | (finite || saturate ? largest : infinity);
    low = 127 - bias + 1 - (int)(rest >> 23); /* how far below the least normal number there */
    if (low > 0 && exponent < 8) {
        shift += low; /* the implicit bit becomes explicit and moves right; a float's own denormals are far below */
        if (shift > 24)
            return sign;
        rest = (rest & UINT32_C(0x7fffff)) | UINT32_C(0x800000);
    } else {
        rest -= (uint32_t)(127 - bias) << 23;
    }
    result = rest >> shift;
    if ((rest >> (shift - 1) & 1) != 0 && ((rest & ((UINT32_C(1) << (shift - 1)) - 1)) != 0 || (result & 1) != 0))
        result++;
    if (result > largest)
        result = finite || saturate ? largest : infinity;
    return sign | result;
}

TILE_INLINE float tile_expand_float(uint32_t bits, int exponent, int mantissa, int finite)
{
    union {
        float value;
        uint32_t bits;
    } as;
    uint32_t ones = (UINT32_C(1) << exponent) - 1, sign = (bits >> (exponent + mantissa) & 1) << 31;
    uint32_t field = bits >> mantissa & ones, fraction = bits & ((UINT32_C(1) << mantissa) - 1);
    uint32_t offset = 128 - (UINT32_C(1) << (exponent - 1)); /* between the biases */
    if (exponent == 8) {
        as.bits = bits << 16;
    } else if (field == ones && (!finite || fraction == (UINT32_C(1) << mantissa) - 1)) {
        as.bits = sign | UINT32_C(0x7f800000) | fraction << (23 - mantissa);
    } else if (field == 0 && fraction == 0) {
        as.bits = sign;
    } else {
        if (field == 0)
            for (field = 1; (fraction >> mantissa) == 0; field--)
                fraction <<= 1;
        as.bits = sign | (field + offset) << 23 | (fraction & ((UINT32_C(1) << mantissa) - 1)) << (23 - mantissa);
    }
    return as.value;
}

TILE_INLINE tile_f16 tile_f16_from_float(float value) { return (tile_f16)tile_round_float(value, 5, 10, 0, 0); }
TILE_INLINE float tile_f16_to_float(tile_f16 bits) { return tile_expand_float(bits, 5, 10, 0); }
TILE_INLINE tile_bf16 tile_bf16_from_float(float value) { return (tile_bf16)tile_round_float(value, 8, 7, 0, 0); }
TILE_INLINE float tile_bf16_to_float(tile_bf16 bits) { return tile_expand_float(bits, 8, 7, 0); }
TILE_INLINE tile_f8e4m3 tile_f8e4m3_from_float(float value) { return (tile_f8e4m3)tile_round_float(value, 4, 3, 1, 1); }
TILE_INLINE float tile_f8e4m3_to_float(tile_f8e4m3 bits) { return tile_expand_float(bits, 4, 3, 1); }
TILE_INLINE tile_f8e5m2 tile_f8e5m2_from_float(float value) { return (tile_f8e5m2)tile_round_float(value, 5, 2, 0, 1); }
TILE_INLINE float tile_f8e5m2_to_float(tile_f8e5m2 bits) { return tile_expand_float(bits, 5, 2, 0); }
#endif /* TILE_FLOAT_TYPES */

/* ---- the descriptor --------------------------------------------------------------------------------------------- */

/* Rises with every change to what is below but two: a new bit of tile_rt_kernel.needs, which an object without it does
 * not notice, and a new member behind all others that older run times need not read and that something else leads to.
 * Objects of one number run with every run time of it that knows what they need (tilert(7), Versions). */
#define TILE_RT_ABI 11
#define TILE_RT_NEEDS_ROUNDING 1u /* maps with TILE_RT_MAP_ROUNDS */
#define TILE_RT_NEEDS_ASKED 2u    /* maps with TILE_RT_MAP_ASKED */
#define TILE_RT_NEEDS_SLOTS 4u    /* choices that are given slots */

/* Limits of a kernel; the compiler refuses a kernel beyond them. */
#define TILE_RT_MAX_PARAMETERS 64
#define TILE_RT_MAX_RANK 8
#define TILE_RT_MAX_NAMES 64
#define TILE_RT_MAX_FACTS 64
#define TILE_RT_MAX_GRID 8
#define TILE_RT_MAX_SLOTS 500     /* 4000 bytes: within the 4 KiB of a kernel's parameters */
#define TILE_RT_MAX_STACK 32      /* of the byte code */
#define TILE_RT_MAX_CELLS 512     /* of the byte code */
#define TILE_RT_MAX_TURNS 1000000 /* of all loops of one evaluation together */
#define TILE_RT_MAX_MAPS 16       /* of a variant */
#define TILE_RT_MAP_RANK 5
#define TILE_RT_PARAMETER_BYTES 4096 /* of a kernel with maps: 8 a slot and 128 a map */

/* Element and scalar types: name in C symbols, size in memory in bytes, C type of an argument (narrow ones travel wide
 * and are checked or rounded here), C type of an element.  `pointer` is the element of a view of pointers. */
#define TILE_RT_TYPES(X)             \
    X(bool, 1, int, uint8_t)         \
    X(i8, 1, int32_t, int8_t)        \
    X(i16, 2, int32_t, int16_t)      \
    X(i32, 4, int32_t, int32_t)      \
    X(i64, 8, int64_t, int64_t)      \
    X(u8, 1, uint32_t, uint8_t)      \
    X(u16, 2, uint32_t, uint16_t)    \
    X(u32, 4, uint32_t, uint32_t)    \
    X(u64, 8, uint64_t, uint64_t)    \
    X(f16, 2, float, tile_f16)       \
    X(bf16, 2, float, tile_bf16)     \
    X(f32, 4, float, float)          \
    X(f64, 8, double, double)        \
    X(f8e4m3, 1, float, tile_f8e4m3) \
    X(f8e5m2, 1, float, tile_f8e5m2) \
    X(pointer, 8, void *, void *)

enum tile_rt_type {
#define X(name, size, argument, element) TILE_RT_TYPE_##name,
    TILE_RT_TYPES(X)
#undef X
        TILE_RT_TYPE_COUNT
};

/* Byte code of host expressions.  A word of code is an int32_t: opcode in the low 8 bits, a signed operand in the
 * high 24. It works on a stack of 64-bit cells that hold an i64, a bool (0 or 1) or an f64.  i64 arithmetic that
 * overflows ends the evaluation with TILE_ERR_ARG; x / 0 is 0 and x % 0 is x, as in the language; division truncates.
 * Jumps go forward but for `turn`, which an evaluation takes TILE_RT_MAX_TURNS times at most, or it ends with
 * TILE_ERR_ARG: every code ends.  Nothing is read from memory but the arguments.
 * Columns: name, cells taken, cells given, what it does. */
#define TILE_RT_OPCODES(X)                                                                                            \
    X(end, 1, 0, "ends; the cell on top is the value")                                                                \
    X(constant, 0, 1, "the operand")                                                                                  \
    X(wide, 0, 1, "the next two words, low first: an i64, or the bits of an f64")                                     \
    X(name, 0, 1, "value of name [operand]")                                                                          \
    X(extent, 0, 1, "extent of view operand / 16, dimension operand % 16; as declared if the view is absent")         \
    X(stride, 0, 1, "stride of view operand / 16, dimension operand % 16, in elements; 0 if absent")                  \
    X(present, 0, 1, "is optional view or pointer [operand] there")                                                   \
    X(scalar, 0, 1, "integer, bool or enum parameter [operand]; a u64 over 2^63 - 1 is an overflow")                  \
    X(real, 0, 1, "float parameter [operand] as f64")                                                                 \
    X(sm_count, 0, 1, "multiprocessors of the device; on the CPU the threads of the pool")                            \
    X(aligned, 0, 1, "base of view or pointer operand / 16 is a multiple of 2^(operand % 16) bytes, or it is absent") \
    X(add, 2, 1, "a + b")                                                                                             \
    X(subtract, 2, 1, "a - b")                                                                                        \
    X(multiply, 2, 1, "a * b")                                                                                        \
    X(divide, 2, 1, "a / b")                                                                                          \
    X(remainder, 2, 1, "a % b")                                                                                       \
    X(ceiling_divide, 2, 1, "cdiv(a, b): the least integer not under a / b")                                          \
    X(minimum, 2, 1, "min(a, b)")                                                                                     \
    X(maximum, 2, 1, "max(a, b)")                                                                                     \
    X(negate, 1, 1, "-a")                                                                                             \
    X(absolute, 1, 1, "abs(a)")                                                                                       \
    X(log2, 1, 1, "ilog2(a): position of the highest set bit; of a <= 0: -1")                                         \
    X(shift_left, 2, 1, "a << b; bits that leave are an overflow")                                                    \
    X(shift_right, 2, 1, "a >> b, with the sign; b < 0 or b >= 64 gives the sign")                                    \
    X(bit_and, 2, 1, "a & b")                                                                                         \
    X(bit_or, 2, 1, "a | b")                                                                                          \
    X(bit_xor, 2, 1, "a ^ b")                                                                                         \
    X(bit_not, 1, 1, "~a")                                                                                            \
    X(equal, 2, 1, "a == b")                                                                                          \
    X(less, 2, 1, "a < b")                                                                                            \
    X(less_equal, 2, 1, "a <= b")                                                                                     \
    X(real_equal, 2, 1, "a == b on f64")                                                                              \
    X(real_less, 2, 1, "a < b on f64")                                                                                \
    X(real_less_equal, 2, 1, "a <= b on f64")                                                                         \
    X(real_from_integer, 1, 1, "a, an i64, as f64")                                                                   \
    X(real_negate, 1, 1, "-a on f64")                                                                                 \
    X(not, 1, 1, "not a, on a bool")                                                                                  \
    X(jump, 0, 0, "skips [operand] words")                                                                            \
    X(jump_if_false, 1, 0, "takes a bool; skips [operand] words if it is false")                                      \
    X(drop, 1, 0, "forgets the top cell")                                                                             \
    X(copy, 1, 2, "the top cell twice")                                                                               \
    X(load, 0, 1, "value number [operand] of those kept")                                                             \
    X(keep, 1, 0, "keeps the top cell as value number [operand]")                                                     \
    X(turn, 0, 0, "back to the word [operand] words before this one: another turn of a loop")

enum tile_rt_opcode {
#define X(name, takes, gives, text) TILE_RT_OP_##name,
    TILE_RT_OPCODES(X)
#undef X
        TILE_RT_OP_COUNT
};
#define TILE_RT_CODE(opcode, operand) ((int32_t)((uint32_t)(opcode) | (uint32_t)(operand) << 8))

/* An expression and its text in the source, for messages.  code is an index into tile_rt_kernel.code; -1: none. */
struct tile_rt_expression {
    int32_t code;
    uint32_t choice; /* of a fact that is about speed alone: 1 + an index into tile_rt_kernel.choices, or
                        TILE_RT_CHOICE_CODE; else 0 */
    const char *text;
};
#define TILE_RT_CHOICE_CODE UINT32_MAX /* it has its code only */
/* What the code of such a fact gives, faster: of the values of names, multiprocessors and slots. */
typedef int32_t tile_rt_choice(const int64_t *names, int64_t sm_count, const uint64_t *slots);

enum tile_rt_parameter_kind {
    TILE_RT_PARAMETER_view,    /* argument: pointer to { data, extent[rank], stride[rank] }, NULL if absent */
    TILE_RT_PARAMETER_scalar,  /* argument: pointer to the value, as wide as TILE_RT_TYPES says */
    TILE_RT_PARAMETER_pointer, /* argument: pointer to the pointer */
    TILE_RT_PARAMETER_enum,    /* argument: pointer to an int that is one of its values; slot: its 32 bits */
    TILE_RT_PARAMETER_key,     /* argument: pointer to an int; it is the value of name `name_index`; no slot */
    TILE_RT_PARAMETER_struct /* argument: pointer to the struct, not NULL; its members are parameters behind it; no slot */
};
enum tile_rt_direction { TILE_RT_IN = 1, TILE_RT_OUT = 2, TILE_RT_INOUT = 3 };
enum tile_rt_parameter_flags {
    TILE_RT_OPTIONAL = 1,
    TILE_RT_PACKED = 2,  /* strides must be row-major without gaps (a dimension of extent 1 may have any) */
    TILE_RT_STRIDED = 4, /* every stride is free; without PACKED and STRIDED the last one must be 1 */
    TILE_RT_HUGE = 8,    /* extents may be 2^31 and more */
    TILE_RT_RESTRICT = 16,
    TILE_RT_NIBBLES = 32 /* two elements a byte: what is declared of the last extent is twice what the view has */
};

struct tile_rt_parameter {
    const char *name;
    uint8_t kind, type, rank, direction;
    uint8_t flags, reserved[3];
    int32_t name_index;                       /* key: the name that it gives */
    int32_t members;                          /* enum: how many */
    const struct tile_rt_expression *extents; /* view: [rank] declared extents */
    const int64_t *values;                    /* enum: [members], the value of each */
};

/* extent `dimension` of view `parameter`, in elements, is multiplier * n + addend: tells n, when the view is there. */
struct tile_rt_binder {
    uint16_t parameter, dimension;
    uint32_t reserved;
    int64_t multiplier, addend;
};

enum tile_rt_name_kind {
    TILE_RT_NAME_extent, /* bound by the first of its binders whose view is there; by none: 0 */
    TILE_RT_NAME_key,    /* dispatch key, deduced (has binders) or an argument (has none); must be a member */
    TILE_RT_NAME_derived /* const(B: set >= bound): the least member not under the bound */
};
/* Members of a key or a derived name while a condition on the keys before it holds. */
struct tile_rt_set {
    int32_t condition; /* code; -1: always */
    uint32_t count;
    const int64_t *members;
    const char *text; /* for messages */
};
struct tile_rt_name {
    const char *text;
    uint32_t kind;
    uint32_t binder_count;
    const struct tile_rt_binder *binders;
    uint64_t set_count; /* key, derived: the first set whose condition holds is the name's */
    const struct tile_rt_set *sets;
    struct tile_rt_expression bound; /* derived; may use names before this one */
};

/* Slots: what a kernel's code gets, on every target one flat array of 64-bit slots.  For each parameter in order: a
 * view gives 1 + 2*rank (data, extents, strides; absent: data 0, declared extents, strides 0); a pointer 1; a scalar or
 * enum 1 (its bits, zero-extended; narrow floats already rounded to their type); a key none.  Then the kernel's scratch,
 * each a packed view in the launch's workspace.  Then the count of each grid dimension in order.  Then `program_base`.  In a kernel that `reports` the last slot of the parameters is the
 * address of a report, see TILE_RT_REPORT_check.
 * GPU: the kernel's first parameter is a struct of these slots by value, then comes one of 128 bytes for each of its
 * tensor maps.  blockIdx.x + program_base is the linear program number, the first grid name fastest.  Launches beyond
 * 2^31 - 1 blocks are split and program_base advances.  Where programs are `ordered`, a block's number is instead how many
 * blocks of the call have started before, counted in the last scratch.  A persistent kernel's blocks take the programs blockIdx.x,
 * blockIdx.x + gridDim.x, ..., or, where they are `ordered`, the next number of that count: one launch, program_base 0.
 * CPU: a tile_rt_function runs the linear programs [begin, end) (program_base is 0
 * and already included); scratch is scratch_bytes of the variant, 64-byte aligned, one per thread, not cleared. */
typedef void tile_rt_function(const uint64_t *slots, int64_t begin, int64_t end, void *scratch);

/* Memory of a launch.  Its extents are the variant's. */
struct tile_rt_scratch {
    const char *name;
    uint8_t type, rank, filled, reserved; /* filled: each launch first writes `fill` to every element */
    uint32_t slot;                        /* the first of the view's */
    uint64_t fill;                        /* bits of an element */
};

/* Belongs to the run time; the object gives it zeroed, writable memory, one per variant. */
struct tile_rt_state {
    void *record;
};

/* What the launch tells the hardware of a view, so that it copies boxes of it by itself (a CUtensorMap, by
 * cuTensorMapEncodeTiled).  Address, extents and strides are the view's at the call.  An instance whose maps can not
 * say what the view is, such as one whose stride is 0, does not fit the call: a later one without maps is taken. */
#define TILE_RT_MAP_PART 1u   /* the last two dimensions are for a part of the view, see tile_rt_maps.c */
#define TILE_RT_MAP_ROUNDS 2u /* f32 becomes what tf32 keeps of it on its way */
/* Code asks whether there is a map: there is none, but 128 bytes of 0, where the base of the view, one of its strides but
 * that of dimension[0], or the extent along that is no multiple of 16 bytes. */
#define TILE_RT_MAP_ASKED 4u
struct tile_rt_map {
    uint16_t parameter;                  /* a view */
    uint16_t swizzle;                    /* bytes: 0, 32, 64, 128 */
    uint8_t type, rank;                  /* enum tile_rt_type; dimensions of the map */
    uint8_t dimension[TILE_RT_MAP_RANK]; /* of the view; the first is the one without gaps */
    uint8_t flags;                       /* TILE_RT_MAP_… */
    uint32_t box[TILE_RT_MAP_RANK];      /* elements */
};

/* One instance of the kernel for one target.  It fits a call when the kernel's keys (tile_rt_kernel.keys names them)
 * have these values, all facts in the mask hold and its maps can be made.  The first that fits is taken. */
struct tile_rt_variant {
    uint64_t facts;         /* bit i: kernel.facts[i] must hold */
    const int64_t *keys;    /* [kernel.key_count] */
    const int32_t *grid;    /* [kernel.grid_rank] codes of the counts; they may use value names as constants */
    const int32_t *scratch; /* codes of the extents of the kernel's scratch, one view's behind the other's */
    struct tile_rt_state *state;
    tile_rt_function *function; /* CPU */
    const void *image;          /* GPU: a cubin, one packed by fatbinary, or PTX */
    uint64_t image_size;
    const char *symbol;             /* GPU: the kernel in the cubin */
    const char *text;               /* for tile_kernel_info.variant_text */
    const char *const *value_names; /* [value_count] const and tune names */
    const int64_t *values;
    int64_t scratch_bytes; /* CPU: per thread */
    int64_t grain;         /* CPU: least programs worth a hand-over to another thread; 0: 1 */
    int32_t value_count;
    int32_t threads; /* GPU: per block */
    int32_t static_shared, dynamic_shared;
    int32_t cluster; /* blocks along x; 0 or 1: none */
    int32_t registers;
    /* GPU: blocks a multiprocessor that walk over all programs; 0: a block a program; -n: n programs a block, where more
     * blocks than that end at once */
    int32_t persistent;
    int32_t map_count;
    const struct tile_rt_map *maps; /* GPU: parameters of the kernel behind the slots, in this order */
    const char *summary;            /* what the instance became, for `tilecc info`; or NULL */
};

enum tile_rt_target_kind {
    TILE_RT_TARGET_cpu,
    TILE_RT_TARGET_cuda,
    TILE_RT_TARGET_ptx /* images are texts that end with NUL, which the driver compiles for the device */
};
/* CPU instruction sets by level: a higher one includes the lower ones of its processor family. */
enum tile_rt_isa { TILE_RT_ISA_baseline, TILE_RT_ISA_avx2, TILE_RT_ISA_avx512, TILE_RT_ISA_neon };
struct tile_rt_target {
    const char *name; /* "sm_90a", "compute_80", "cpu-avx2" */
    uint32_t kind;
    uint32_t architecture; /* GPU: 10 * major + minor; CPU: enum tile_rt_isa */
    uint32_t suffix; /* GPU: 'a' (this one only), 'f' (this family and later minors), 0 (this major, later minors; PTX:
                      * all later ones) */
    uint32_t variant_count;
    const struct tile_rt_variant *variants;
};

struct tile_rt_alias {
    uint16_t first, second; /* parameters that may be the same view, or disjoint */
};

/* A report in words of 64 bits, all 0 before but `room` and `bounds`.  An instance whose check fails writes its linear program << 16 |
 * number of the check + 1 to the first, and behind it the values in the check's text, if it has some.  A print adds the
 * words of its record to `used`; if that is `room` at most, the record stands there: number of the print + 1, the grid
 * indexes, then each value, of a tile a word an element.  In texts `%` stands in front of what is put in place of a
 * value: [0][width][.precision] and one of d u x X (64 bits), e f g (a double) and b (a bool); `%%` is a percent sign. */
enum {
    TILE_RT_REPORT_check,
    TILE_RT_REPORT_values,
    TILE_RT_REPORT_used = 17,
    TILE_RT_REPORT_room,
    /* of each argument of the code: bytes of its allocation in front of it, and from it on; 0, 0: not known, and what is
     * known to be empty has less than none */
    TILE_RT_REPORT_bounds,
    TILE_RT_REPORT_records = TILE_RT_REPORT_bounds + 2 * TILE_RT_MAX_PARAMETERS
};
struct tile_rt_print {
    const char *format;
    uint32_t value_count, tiles; /* bit i: value i is a tile, all of one shape */
    uint32_t rank, reserved;     /* of that shape, 0: there are only scalars */
    const int64_t *extent;
};

struct tile_rt_kernel {
    uint32_t abi; /* TILE_RT_ABI */
    uint32_t parameter_count, name_count, key_count, check_count, fact_count, alias_count, grid_rank, target_count;
    uint32_t slot_count; /* of parameters, scratch and report, without grid and program_base */
    uint32_t reports;    /* not 0: the last of them is for a report; the launch waits and reads it */
    uint32_t report_count, print_count, scratch_count;
    uint32_t ordered; /* not 0: programs start in the order of their numbers */
    uint32_t needs;   /* bits, TILE_RT_NEEDS_…: what it asks of its run time beyond the first of this number */
    const char *name; /* the C symbol */
    const struct tile_rt_parameter *parameters;
    const struct tile_rt_name *names;        /* in an order in which each uses only earlier ones */
    const uint32_t *keys;                    /* indices into names: keys and derived, as variants list their values */
    const struct tile_rt_expression *checks; /* `requires` */
    const struct tile_rt_expression *facts;  /* conditions that variants may rely on */
    const struct tile_rt_alias *aliases;
    const struct tile_rt_scratch *scratch;
    const struct tile_rt_target *targets;
    const int32_t *code;
    const char *const *report_texts;    /* [report_count] checks, with their places in the source */
    const struct tile_rt_print *prints; /* [print_count] */
    const char *load_name;              /* symbol of the load function, for messages */
    tile_rt_choice *const *choices; /* not there in objects of the first compilers of number 11: only facts lead here */
};

/* ---- what objects call ------------------------------------------------------------------------------------------ */

/* arguments[i] belongs to parameters[i]: for a view the caller's pointer itself, else a pointer to the value. */
int tile_rt_launch(const struct tile_rt_kernel *kernel, struct CUstream_st *stream, const void *const *arguments);
/* With variants[variant] of the target and no other: TILE_ERR_ARG when there is none or it does not fit. */
int tile_rt_launch_variant(const struct tile_rt_kernel *kernel, struct CUstream_st *stream,
                           const void *const *arguments, int variant);
/* With options, or NULL. */
int tile_rt_launch_ex(const struct tile_rt_kernel *kernel, struct CUstream_st *stream, const void *const *arguments,
                      const struct tile_launch_options *options);
/* All the checks of a launch, and what it would run; launches nothing. */
int tile_rt_query(const struct tile_rt_kernel *kernel, struct CUstream_st *stream, const void *const *arguments,
                  struct tile_kernel_info *info);
/* Loads every variant for the device of the current context, so that launches are safe inside a capture. */
int tile_rt_load(const struct tile_rt_kernel *kernel);
/* Takes every variant off all devices: its memory there is free again, and what had failed is tried again at the next
 * use.  The program sees to it that no other thread is in a call of the kernel, and that its launches have ended. */
int tile_rt_unload(const struct tile_rt_kernel *kernel);
/* Bytes of workspace that this call would like; (size_t)-1 on a wrong argument. */
size_t tile_rt_workspace(const struct tile_rt_kernel *kernel, struct CUstream_st *stream, const void *const *arguments);

#ifdef __cplusplus
#ifdef __clang__
#pragma clang diagnostic pop
#endif
}
#endif
#endif
