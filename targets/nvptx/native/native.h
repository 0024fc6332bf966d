/* Machine code of a finished cubin as data: instructions with what they read, write and wait for, blocks, what depends on
 * what, and a proof that an order of them is right.  Stands on base alone and knows neither LLVM nor how a cubin came
 * about. */
#ifndef TILECC_NATIVE_H
#define TILECC_NATIVE_H
#include "base/base.h"

/* What an instruction may touch, a bit each: registers, uniform registers, predicates, and memories as wholes. */
enum native_place {
    NATIVE_REGISTER = 0,
    NATIVE_UNIFORM = 256,
    NATIVE_PREDICATE = 320,
    NATIVE_UNIFORM_PREDICATE = 328,
    NATIVE_SHARED = 336,
    NATIVE_GLOBAL = 337,
    NATIVE_LOCAL = 338,
    NATIVE_PLACES = 384
};
enum { NATIVE_WORDS = NATIVE_PLACES / 64, NATIVE_REGISTERS_END = NATIVE_SHARED };
struct native_set {
    uint64_t word[NATIVE_WORDS];
};
static inline void native_add(struct native_set *set, int place) { set->word[place / 64] |= 1ull << place % 64; }
static inline bool native_has(const struct native_set *set, int place)
{
    return set->word[place / 64] >> place % 64 & 1;
}
bool native_meet(const struct native_set *a, const struct native_set *b);
struct native_set native_both(const struct native_set *a, const struct native_set *b);
/* Without memories. */
struct native_set native_registers(const struct native_set *set);
/* "R12", "UP3", "shared memory". */
const char *native_place_name(struct arena *arena, int place);

/* Where instructions are carried out: those of one pipe answer after the same time (latencies.def). */
enum native_pipe {
    PIPE_ALU,      /* integers, logic, comparisons */
    PIPE_FMA,      /* products and sums of f32, products of integers */
    PIPE_WIDE,     /* products of integers of 64 bits */
    PIPE_HALF,     /* pairs of f16 */
    PIPE_HALF_FMA, /* products of them */
    PIPE_TO_UNIFORM,
    PIPE_CLEAR,        /* CS2R: zeros */
    PIPE_UNIFORM,      /* one value for a warp */
    PIPE_CONSTANT,     /* ULDC */
    PIPE_UNIFORM_MOVE, /* UMOV */
    PIPE_VOTE,         /* VOTEU */
    PIPE_TENSOR,       /* HMMA */
    PIPE_GROUP,        /* HGMMA, for which other instructions wait */
    PIPE_DOUBLE,       /* f64 */
    PIPE_SPECIAL,      /* MUFU and conversions */
    PIPE_MEMORY,
    PIPE_BARRIER, /* BAR */
    PIPE_CONTROL,
    PIPE_COUNT
};
extern const char *const native_pipe_names[PIPE_COUNT];

/* In one queue operations begin in their order: when one has read its registers, so have those before it; where it answers
 * in order, too, what came before has answered as well. */
enum native_queue {
    QUEUE_NONE, /* by itself */
    QUEUE_SPECIAL,
    QUEUE_MEMORY, /* all memories and shuffles */
    QUEUE_DOUBLE,
    QUEUE_CONSTANT,
    QUEUE_UNIFORM, /* values of a warp from those of its threads */
    QUEUE_TENSOR   /* copies by tensor maps */
};

enum native_trait {
    TRAIT_FIXED = 0,
    TRAIT_VARIABLE = 1,      /* answers when it likes: a scoreboard tells */
    TRAIT_ORDERED = 2,       /* answers in the order of its queue */
    TRAIT_WALL = 4,          /* stays where it is, and so does what is on each side of it */
    TRAIT_BRANCH = 8,        /* may go to the place that it names */
    TRAIT_END = 16,          /* what is behind it is not next: ends the kernel, or returns */
    TRAIT_UNIFORM = 32,      /* its guard is a uniform predicate */
    TRAIT_UNIFORM_LATE = 64, /* reads uniform registers when it gets to them; else as it begins */
    TRAIT_VARIABLE_80 = 128  /* TRAIT_VARIABLE, TRAIT_ORDERED before sm_90 */
};

/* A row of forms.def. */
struct native_form {
    unsigned short code; /* the low nine bits */
    const char *kinds;   /* the values of the three bits above, as digits */
    const char *name;
    enum native_pipe pipe;
    enum native_queue queue;
    unsigned traits;
    const char *operands; /* decode.c tells the letters */
};

enum { NATIVE_BYTES = 16, NATIVE_NO_BOARD = 7, NATIVE_BOARDS = 6, NATIVE_MOST_STALL = 15, NATIVE_YIELD_STALL = 11 };

/* The bits that say when an instruction may begin, which are ptxas' to choose. */
struct native_control {
    unsigned char stall;       /* cycles until the next one may begin */
    unsigned char yield;       /* 1: this warp goes on, where it can */
    unsigned char write_board; /* the scoreboard that is busy until the result is there; NATIVE_NO_BOARD: none */
    unsigned char read_board;  /* ... until what it reads was read */
    unsigned char waits;       /* for these scoreboards, a bit each */
    unsigned char reuse;       /* of the registers of its sources, a bit for each slot */
};

struct native_instruction {
    uint64_t low, high;             /* as in the cubin; without the control bits */
    const struct native_form *form; /* NULL: it is not in the table */
    struct native_control control;
    struct native_set reads, writes;
    struct native_set addends; /* of reads: what a product of 64 bits adds */
    short slots[3];            /* registers of the sources a, b and c, which may be kept for reuse; -1 */
    unsigned char widths[3];   /* how many each is */
    int guard;                 /* of NATIVE_PREDICATE on; -1: always carried out */
    bool variable, ordered;    /* TRAIT_VARIABLE, TRAIT_ORDERED on this architecture */
    bool pinned;               /* the cubin names it by its place: a wall */
    bool unless;               /* guarded by the predicate's opposite */
    int target;                /* of a branch: index of an instruction; -1 */
    int barrier;               /* of BSSY and BSYNC, else -1 */
    int origin;                /* where it stands in ptxas' order */
};

/* Instructions first … end - 1. */
struct native_block {
    int first, end;
    bool call;    /* ends with a call, whose function returns to the block behind it */
    bool returns; /* ends with the end of such a function */
    int next_count, *next;
};

/* The instructions that a branch by a table leads to. */
struct native_jump {
    int at, count, *targets;
};

struct native_code {
    struct arena *arena;
    int architecture; /* 80, 90 */
    int count;
    struct native_instruction *instructions;
    int block_count;
    struct native_block *blocks;
    int *block_of; /* of an instruction */
    int jump_count;
    struct native_jump *jumps;
    const char *problem; /* why no other order can be proved; NULL: it can */
};

/* Bytes of a cubin. */
struct native_bytes {
    const void *data;
    size_t size;
};
/* The instructions of one kernel, its text, with its part of .nv.info, which may be empty: what that names by its place stays
 * there.  Never NULL.  problem: an unknown form, a broken branch. */
struct native_code *native_decode(struct arena *arena, int architecture, struct native_bytes text,
                                  struct native_bytes info);
/* So does what is changed as the code is loaded: places of relocations, whose entries have `each` bytes. */
void native_pin_relocations(struct native_code *code, const void *relocations, size_t size, size_t each);
void native_encode(const struct native_code *code, void *text);
/* Decodes one instruction, without its branch. */
void native_decode_one(int architecture, uint64_t low, uint64_t high, struct native_instruction *out);
/* With other control bits or another order: the blocks stay. */
struct native_code *native_copy(const struct native_code *code);
/* Stays where it is, and so does what is on each side of it. */
bool native_is_wall(const struct native_instruction *instruction);
/* "IADD3 R4 P0 <- R5 R6; stall 4, waits 01" */
void native_print(struct arena *arena, const struct native_instruction *instruction, struct buffer *out);

/* ---- dependences -------------------------------------------------------------------------------------------- */

enum native_edge { EDGE_NONE, EDGE_TRUE /* reads what was written */, EDGE_ANTI, EDGE_OUTPUT, EDGE_MEMORY, EDGE_WALL };
extern const char *const native_edge_names[];
/* Why the second must stay behind the first, where it stands behind it now; *place: what they share, or -1. */
enum native_edge native_depends(const struct native_instruction *first, const struct native_instruction *second,
                                int *place);
/* Whether no thread carries out both, as long as the predicate is the same. */
bool native_exclude(const struct native_instruction *a, const struct native_instruction *b);

/* ---- proof -------------------------------------------------------------------------------------------------- */

struct native_fault {
    int at, other;    /* instructions; other: -1, or the one that it comes into conflict with */
    int missing;      /* cycles; 0: more of them would not help */
    const char *text; /* one line */
};
struct native_faults {
    struct arena *arena;
    VECTOR(struct native_fault) list;
    int limit; /* those behind it are counted alone */
};
/* Whether all times are kept, by the bits alone: fixed latencies, scoreboards, queues, reuse, ends of blocks.  Gives the
 * number of faults, and adds them where `faults` is not NULL. */
int native_check_times(const struct native_code *code, struct native_faults *faults);
/* Whether `code` is `original` with the instructions of each block in an order that keeps all that depends. */
int native_check_order(const struct native_code *original, const struct native_code *code,
                       struct native_faults *faults);
/* A proof of all times that is kept while blocks of the code change. */
struct native_proof;
struct native_proof *native_proof_create(const struct native_code *code); /* NULL: they are not kept */
void native_proof_destroy(struct native_proof *proof);
/* Whether `code`, which differs from what was proved in one block, is right; then the proof is of it, else it stays what it
 * was.  `faults`, which may be NULL, gets those in the block. */
bool native_proof_change(struct native_proof *proof, const struct native_code *code, int block,
                         struct native_faults *faults);
/* What a place is: a register, a predicate, of a thread or of a warp. */
enum native_kind {
    KIND_R,
    KIND_P,
    KIND_UR,
    KIND_UP,
    KIND_HIGH, /* the high half of a product of 64 bits */
    NATIVE_KINDS
};
enum native_kind native_kind_written(const struct native_instruction *instruction, int place);
enum native_kind native_kind(int place);
/* Consumers: pipes, the guard of any instruction, and what PIPE_WIDE adds, its low half and its high one. */
enum { NATIVE_PORT_GUARD = PIPE_COUNT, NATIVE_PORT_ADDEND, NATIVE_PORT_ADDEND_HIGH, NATIVE_PORTS };
/* By which of them an instruction reads a place. */
int native_port(const struct native_instruction *instruction, int place);
/* The least cycles from a producer to a consumer of the place it writes. */
void native_latencies(int architecture, short latencies[PIPE_COUNT][NATIVE_KINDS][NATIVE_PORTS]);

/* ---- as text ------------------------------------------------------------------------------------------------- */

enum { NATIVE_DIGEST_DIGITS = 32 };
/* What an order of the code is known by. */
const char *native_digest(struct arena *arena, const void *text, size_t size);
/* What differs from the original, which may be nothing. */
void native_write_order(const struct native_code *original, const struct native_code *code, struct buffer *out);
/* The order of the text, proved; NULL: *problem says what is wrong. */
struct native_code *native_read_order(const struct native_code *original, const char *text, const char **problem);

/* ---- moves --------------------------------------------------------------------------------------------------- */

enum native_move { MOVE_SWAP, MOVE_SLIDE, MOVE_SHIFT, MOVE_STALL, MOVE_YIELD, NATIVE_MOVES };
extern const char *const native_move_names[NATIVE_MOVES];
struct native_walk {
    struct native_code *code; /* the order so far, which is right */
    uint64_t seed;
    unsigned moves; /* a bit for each enum native_move; 0: all */
    /* How often a place is drawn: the sums of its share and of those before it; NULL: all alike. */
    const uint32_t *shares;
    int tried, taken;
    struct native_proof *proof; /* NULL at first */
    struct native_step *last;   /* what the last step changed */
};
void native_walk_end(struct native_walk *walk);
/* One random move, carried out if it is right; false: it was not, and nothing changed. */
bool native_walk_step(struct native_walk *walk);
/* Takes back the step that was carried out last. */
void native_walk_undo(struct native_walk *walk);
/* A step of splitmix64, below a number: the same numbers from the same seed everywhere. */
uint64_t native_draw(uint64_t *seed, uint64_t below);
/* Gives an instruction that is no wall another stall count, and the yield bit that goes with it. */
void native_set_stall(struct native_instruction *instruction, int stall);
#endif
