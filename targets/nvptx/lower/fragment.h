/* Factors of mma.sync: 32-bit words of fragments, from registers or out of shared memory.
 *
 * A factor is a tile in an operand layout or a buffer that is read in one.  Words are numbered as the layout's
 * registers, which stand in words of 4 bytes; word w holds registers w * (4 / bytes) and up.  An f64 is a word of its
 * own.  Words of a buffer are loaded when they are first asked for, four 8 x 8 matrices of 16-bit units at a time
 * (ldmatrix), or by themselves where rows of 16 bytes do not lie together. */
#ifndef TILECC_NVPTX_FRAGMENT_H
#define TILECC_NVPTX_FRAGMENT_H
#include "targets/nvptx/lower/lower.h"

struct fragment_address {
    uint32_t swizzle;
    LLVMValueRef address;
    struct fragment_address *next;
};

struct fragment {
    const struct ir_value *value;
    const struct layout *layout; /* of the operand */
    enum ir_element element;
    int word_bits; /* registers of a word: 1 << word_bits */
    int words;
    LLVMValueRef *word; /* i32 or f64; NULL: not loaded yet */
    /* a buffer: */
    const struct layout *rows; /* who gives which row's address; NULL: words are loaded alone */
    int matrix_bits, row_bits; /* matrices of an ldmatrix, elements of a row */
    bool transposed;
    LLVMValueRef start;            /* i32: byte address of the buffer */
    struct layout_formula formula; /* of `rows` (or `layout`) in the buffer */
    uint32_t thread_bits;          /* offset bits that the formula can set */
    struct fragment_address *addresses;
};
void fragment_open(struct lowering *l, const struct ir_value *value, const struct layout *layout,
                   struct fragment *fragment);
LLVMValueRef fragment_word(struct lowering *l, struct fragment *fragment, int word);
/* For a buffer with rows, in a text of the emitter's own: the ldmatrix of words group << matrix_bits and up, which
 * become registers that are called by a letter and their numbers.  Its address is an operand of the text and a
 * constant. */
LLVMValueRef fragment_address_of(struct lowering *l, struct fragment *fragment, int group, int64_t *constant);
const char *fragment_load_text(struct lowering *l, const struct fragment *fragment, int group, char letter, int address,
                               int64_t constant);
#endif
