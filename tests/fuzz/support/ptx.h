/* PTX read and run, thread by thread, as its manual defines it: what a GPU would compute, for tests where there is
 * none.
 *
 * Blocks (with clusters: clusters) run one after the other.  The threads of one run one at a time up to the next
 * operation that several must reach together or that waits, in an order that a seed chooses, and bulk copies land at
 * once or when nobody else can go on, so that what is not ordered by barriers shows.  Refused beside what the manual
 * forbids: accesses outside the memory given, reads of shared memory that nobody wrote or that a copy on its way will
 * write, memory touched twice without a barrier, an mbarrier or a wait between where one touch changes it,
 * ordinary writes that TMA or wgmma see without fence.proxy.async, registers of products on their way, products without
 * wgmma.fence, global memory that bulk copies and ordinary accesses share or that .nc reads behind a write, warps that
 * do not meet, waits without end.
 *
 * An instruction that is not known is refused.  Not here: local memory, atomics on shared memory. */
#ifndef TILECC_FUZZ_PTX_H
#define TILECC_FUZZ_PTX_H
#include "base/base.h"

/* kind: u s b f p as PTX has them; y bf16, t tf32, q e4m3, r e5m2; two of a kind in one register: F f16, Y bf16,
 * Q e4m3, R e5m2, U u16; 0: none */
struct ptx_type {
    char kind;
    int bits;
};
enum ptx_place { PTX_NOTHING, PTX_REGISTER, PTX_NUMBER, PTX_SPECIAL, PTX_LIST, PTX_ADDRESS, PTX_NAME };
struct ptx_operand {
    enum ptx_place place;
    int reg;          /* PTX_ADDRESS: -1: none */
    uint64_t number;  /* also the offset of an address; of a special register: which */
    const char *name; /* of what is no register: a parameter, a label, a function */
    int count;        /* of a list; of an address: coordinates behind it */
    struct ptx_operand *list;
};
enum { PTX_OPERANDS = 8, PTX_WORDS = 16, PTX_PARAMETERS = 24, PTX_MAP_RANK = 5 };
#define PTX_OPCODES(X) \
    X(abs)             \
    X(add)             \
    X(and)             \
    X(atom)            \
    X(bar)             \
    X(barrier)         \
    X(bfe)             \
    X(bfi)             \
    X(bra)             \
    X(brev)            \
    X(call)            \
    X(clz)             \
    X(cp)              \
    X(cvt)             \
    X(cvta)            \
    X(div)             \
    X(elect)           \
    X(ex2)             \
    X(exit)            \
    X(fence)           \
    X(fma)             \
    X(griddepcontrol)  \
    X(ld)              \
    X(ldmatrix)        \
    X(mad)             \
    X(mapa)            \
    X(max)             \
    X(mbarrier)        \
    X(membar)          \
    X(min)             \
    X(mma)             \
    X(mov)             \
    X(mul)             \
    X(neg)             \
    X(not)             \
    X(or)              \
    X(popc)            \
    X(prefetch)        \
    X(prmt)            \
    X(lop3)            \
    X(rcp)             \
    X(red)             \
    X(rem)             \
    X(ret)             \
    X(rsqrt)           \
    X(selp)            \
    X(setmaxnreg)      \
    X(setp)            \
    X(shf)             \
    X(shfl)            \
    X(shl)             \
    X(shr)             \
    X(sqrt)            \
    X(st)              \
    X(stmatrix)        \
    X(sub)             \
    X(wgmma)           \
    X(xor)
enum ptx_opcode {
#define X(name) PTX_##name,
    PTX_OPCODES(X)
#undef X
        PTX_OPCODE_COUNT
};
struct ptx_instruction {
    enum ptx_opcode opcode;
    int word_count, type_count, operand_count;
    const char *words[PTX_WORDS], *name, *text; /* words behind the opcode; opcode and words; the whole */
    struct ptx_type type, source; /* the last word that is a type, and the one before: cvt goes from type to
                                          * source, as they stand in its text */
    char round;                   /* n z m p; 0: none; `integral` for rni and the like */
    bool integral, saturates, flushes, keeps_nan, by_magnitude, wide, high;
    int vector;
    int guard; /* register, or -1 */
    bool unless;
    struct ptx_operand operands[PTX_OPERANDS];
    int target, line; /* target: of a branch: instruction; line: of the text, from 0 on */
};
struct ptx_function {
    const char *name;
    int threads, blocks /* that share a multiprocessor, at least */, register_count, parameter_count;
    int most;                               /* registers of a thread at the start; 0: not told */
    const char *parameters[PTX_PARAMETERS]; /* names, in order; in a kernel the second and later ones: tensor maps */
    VECTOR(struct ptx_instruction) code;
};
struct ptx_module {
    VECTOR(struct ptx_function) functions;
};

bool ptx_has(const struct ptx_instruction *instruction, const char *word);
/* NULL: `problem` says what was not understood. */
struct ptx_module *ptx_read(struct arena *arena, const char *text, struct buffer *problem);

/* What an instruction without memory and other threads makes of its operands, which are cut to their types. */
bool ptx_compute(const struct ptx_instruction *instruction, const uint64_t *in, uint64_t *out);
/* atom.OPERATION: the new value of memory. */
bool ptx_combine(const struct ptx_instruction *instruction, uint64_t old, uint64_t value, uint64_t second,
                 uint64_t *result);
double ptx_number(struct ptx_type type, uint64_t bits);

/* commutes: what atomics do to it may be done in any order. */
struct ptx_memory {
    unsigned char *data;
    size_t size;
    bool read_only, commutes;
};
/* What cuTensorMapEncodeTiled is told. */
struct ptx_map {
    uint64_t address;
    int rank, bytes /* of an element */, swizzle;
    bool rounds;                                        /* f32 to tf32 */
    int64_t extent[PTX_MAP_RANK], stride[PTX_MAP_RANK]; /* elements; bytes */
    int box[PTX_MAP_RANK];
};
struct ptx_launch {
    const uint64_t *slots;
    int slot_count, blocks, cluster; /* blocks of a cluster; 0: 1 */
    const struct ptx_map *maps;
    int map_count;
    int64_t shared_bytes, most_steps; /* most_steps: that all threads do; 0: many */
    struct ptx_memory *memories;
    int memory_count;
    bool byte_atomics;   /* atomics on words may be those of a byte in it */
    int commuting_loops; /* sizes of words, added up, whose loops around compare-and-swap may be those
                                          * of atomics that commute */
    bool *ran;           /* of each line of the text: something of it ran; may be NULL */
    uint64_t seed;       /* of the order of threads and copies */
};
/* Runs the module's kernel; false: `problem` says what went wrong. */
bool ptx_run(struct arena *arena, const struct ptx_module *module, const struct ptx_launch *launch,
             struct buffer *problem);
#endif
