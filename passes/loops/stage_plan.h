/* Stages of a loop's asynchronous products.  A product in stage 1 runs beside stage 0 of the next iteration, so that tensor
 * cores have it while warps do their vector work (overlap_products).  Of G products there are 2^G choices; all are looked
 * at, and the model of the loop judges. */
#ifndef TILECC_PASSES_STAGE_PLAN_H
#define TILECC_PASSES_STAGE_PLAN_H
#include "passes/loops/loop_model.h"

enum { STAGE_PRODUCTS = 8 /* more are not looked at */ };
struct stage_plan {
    int count, position[STAGE_PRODUCTS]; /* the products, in order of the text, and their places in the model */
    unsigned *needs;  /* by place in the model: the products that lead to it in its iteration, bits */
    double in_order;  /* cycles of an iteration without stages */
    unsigned later;   /* bit p: in the best choice product p stands in stage 1 */
    double iteration; /* cycles of that */
};
/* Cycles of an iteration when these products stand in stage 1, beside the vector work of stage 0. */
double stage_plan_iteration(const struct loop_model *model, const struct stage_plan *plan, unsigned later);
/* The best of all choices that values allow: nothing that stage 0 multiplies may come from stage 1, of this iteration or of
 * the one before, and warps do nothing with what stage 1 multiplies but carry it on. */
struct stage_plan stage_plan_make(struct arena *arena, const struct loop_model *model);
#endif
