/* What words mma.sync takes, made of the words of its factors' fragments.
 *
 * A fragment's words are as memory has them.  Most instructions take them so.  f32 is rounded to tf32, or split into a
 * higher and a lower part for three products of tf32:
 *     a * b = high(a) * high(b) + high(a) * low(b) + low(a) * high(b)        (low * low is less than half a bit of f32)
 * 8-bit floats become pairs of f16 where the tensor core has no such elements.  A word holds four neighbours of k: the
 * even ones are one word of f16, the odd ones another.  Both factors put them in this order, so that each still meets
 * its own. */
#ifndef TILECC_NVPTX_MMA_FORM_H
#define TILECC_NVPTX_MMA_FORM_H
#include "targets/nvptx/lower/lower.h"

/* FINITE: the higher part, of the largest number in place of an infinity and of NaN, which must not meet a lower part that is
 * 0.  All that these add to a sum has the sign of what HIGH adds to it, an infinity or NaN. */
enum mma_form { MMA_AS_IT_IS, MMA_NEAREST, MMA_HIGH, MMA_FINITE, MMA_LOW, MMA_EVEN, MMA_ODD, MMA_FORMS };

/* Words of A and of B that an instruction takes: `count` forms of those of the same place, one behind the other. */
struct mma_words {
    int count;
    enum mma_form form[2][2];
};
/* The instructions of one place: 16 x 8 sums and `reach` of k.  Types as PTX calls them.
 *
 * Tensor cores cut off what does not fit into a sum, instead of rounding, so that sums of many products drift towards 0:
 * over 4,096 positive ones by 8e-5 of the sum, where f32 has 1e-6.  `apart`: the products of a place are added up by
 * themselves, and then to the sum by an addition that rounds. */
struct mma_instruction {
    bool apart;
    bool quarters; /* f64 as four of 8 x 8 x 4 */
    int k, reach, count;
    const struct mma_words *words;
    const char *a, *b, *sum;
};
struct mma_instruction mma_form_choose(struct lowering *l, const struct ir_operation *operation);
LLVMValueRef mma_form_make(struct lowering *l, enum ir_element element, LLVMValueRef word, enum mma_form form);
#endif
