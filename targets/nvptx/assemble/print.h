/* PTX from LLVM IR without LLVM's back end.  print.c chooses lines for instructions, print_*.c help:
 *
 *     %3 = fmul contract float %1, %2         dropped: its only user takes it
 *     %4 = fadd contract float %3, 1.0        fma.rn.f32 $0, $1, $2, 0f3F800000;      (4; 1, 2)
 *     %5 = extractvalue %2, 1                 no line: another name of a register
 *     %6 = call asm "max.f32 $0, $1, $2;"     max.f32 $0, $1, $2;                     (6; 4, 5)
 *
 * A line is a text whose $0, $1 … are its operands, those that it writes first.  Registers belong to variables: one
 * for each number that an LLVM value consists of (a struct or vector: several).  What LLVM's SelectionDAG does for
 * speed of the result beyond this, ptxas does again. */
#ifndef TILECC_NVPTX_PRINT_H
#define TILECC_NVPTX_PRINT_H
#include "targets/nvptx/assemble/lines.h"

#include <llvm-c/Target.h>

enum print_class { CLASS_PREDICATE, CLASS_16, CLASS_32, CLASS_64, CLASS_COUNT, CLASS_NONE };

/* A variable, or where that is -1 a constant of LLVM (to be put as `text`, which may be NULL yet). */
struct print_operand {
    int variable;
    LLVMValueRef constant;
    const char *text;
};

struct print_value {
    LLVMValueRef value;
    struct print_operand *parts;
    int count;
};

struct print_interval {
    int from, to;
};

struct print_variable {
    enum print_class class;
    int line; /* that writes it; -1: none yet */
    int uses;
    int leader;                         /* shares its register; itself: it leads */
    int number;                         /* of a leader's register, from 1; 0: none yet */
    bool candidate;                     /* may share */
    VECTOR(struct print_interval) live; /* of a leader: of all that share; sorted */
};

/* LINE_COPY: a mov that is left out where both share a register */
enum print_kind { LINE_TEXT, LINE_EFFECT, LINE_PHI, LINE_COPY, LINE_END };

struct print_line {
    enum print_kind kind;
    const char *text;
    struct print_operand *operands;
    int written, count; /* the first `written` of `count` are written */
    const int *ties;    /* by operand read: operand written that has the same register, or -1; NULL */
    const int *targets; /* LINE_PHI: the block that each operand read comes from;
                                        * LINE_END: where to go where operand i holds, and last: else (none: return) */
    int target_count;
    LLVMMetadataRef place; /* in the sources, or NULL */
    bool early;            /* writes before everything is read */
    bool dropped;
};

struct print_block {
    LLVMBasicBlockRef block;
    int first, last; /* lines; the last one is LINE_END */
    int *before;
    int before_count;
    bool labelled;
};

struct print_constant {
    LLVMValueRef value;
    int variable;
};

struct printer {
    struct lowering *l;
    struct arena *arena;
    LLVMTargetDataRef data;
    LLVMValueRef function;
    bool failed;               /* something is not known here: LLVM prints it */
    struct print_value *table; /* by LLVMValueRef: looked up, never walked */
    int table_size, table_count;
    VECTOR(struct print_variable) variables;
    VECTOR(struct print_line) lines;
    VECTOR(struct print_constant) constants; /* that the block has in registers */
    struct print_block *blocks;
    int block_count, block;
    int *line_block;         /* by line */
    int shared, shared_word; /* variables: start of shared memory in 64 and in 32 bits */
    int counts[CLASS_COUNT];
    struct line_text *line_text; /* or NULL */
    LLVMMetadataRef place;       /* of the instruction that lines are made for */
    struct buffer *out;
};

/* ---- print_values.c ---- */
enum print_class print_class_of(LLVMTypeRef type);
bool print_is_pair(LLVMTypeRef type); /* two halves in a register of 32 bits */
int print_parts_of(struct printer *p, LLVMTypeRef type, enum print_class *class);
int print_variable(struct printer *p, enum print_class class);
struct print_operand print_fresh(struct printer *p, enum print_class class);
struct print_operand print_text(const char *text);
struct print_operand print_number(struct printer *p, int64_t number);
const char *print_join(struct printer *p, const char *a, const char *b, const char *c, const char *d);
/* The registers of a value; what is only another name of registers has no lines. */
struct print_value *print_value(struct printer *p, LLVMValueRef value);
struct print_operand print_part(struct printer *p, LLVMValueRef value, int part);
/* As an operand of an instruction that takes constants of its type (i8 by its sign or not), or in a register. */
struct print_operand print_read(struct printer *p, LLVMValueRef value, bool is_signed);
struct print_operand print_register(struct printer *p, LLVMValueRef value, int part);
struct print_operand print_in_register(struct printer *p, struct print_operand operand);
/* A constant as text, for a mov of another block. */
struct print_operand print_constant_part(struct printer *p, struct print_operand operand);
void print_value_of_block(struct printer *p, LLVMBasicBlockRef block, int number);
int print_block_number(const struct printer *p, LLVMBasicBlockRef block);
bool print_constant_number(LLVMValueRef value, int64_t *number); /* an integer constant, with its sign */
/* start of shared memory plus a number of bytes */
bool print_shared_offset(LLVMValueRef value, int64_t *offset);

/* Adds a line. */
struct print_line *print_line(struct printer *p, enum print_kind kind, const char *text, int written,
                              const struct print_operand *operands, int count);
void print_pure(struct printer *p, const char *text, struct print_operand to, struct print_operand a,
                struct print_operand b);

/* ---- print_select.c ---- */
void print_instruction(struct printer *p, LLVMValueRef instruction);
/* ---- print_convert.c ---- */
void print_cast(struct printer *p, LLVMValueRef instruction);
/* i8 in all of its register's 16 bits */
struct print_operand print_widened(struct printer *p, LLVMValueRef value, bool is_signed);
/* The integer that a value was extended from where that has `bits`. */
LLVMValueRef print_narrow(LLVMValueRef value, unsigned bits, bool is_signed);
/* ---- print_memory.c ---- */
void print_load(struct printer *p, LLVMValueRef instruction);
void print_store(struct printer *p, LLVMValueRef instruction);
void print_element_pointer(struct printer *p, LLVMValueRef instruction);
/* ---- print_call.c ---- */
void print_call(struct printer *p, LLVMValueRef instruction);
/* ---- print_live.c ---- */
void print_drop_unused(struct printer *p);
void print_share_registers(struct printer *p);
int print_leader(struct printer *p, int variable);
bool print_same_register(struct printer *p, struct print_operand a, struct print_operand b);
bool print_live_at(struct printer *p, struct print_operand operand, int place);
extern const char *const print_moves[CLASS_COUNT];

/* ---- print.c ---- */
/* False: something in it is not known here. */
bool print_module(struct lowering *l, LLVMTargetDataRef data, struct buffer *out);

#endif
