/* Which layout each tile of a function gets: values that must agree form a class, and a class takes the cheapest of
 * the layouts that its memory operations, dots, reductions and decided neighbours ask for.  The thinking half of
 * assign_layouts. */
#ifndef TILECC_LAYOUT_CHOICE_H
#define TILECC_LAYOUT_CHOICE_H
#include "ir/ir.h"
#include "ir/layout/layout.h"

struct layout_choice;
struct layout_choice *layout_choose(struct ir_function *function, int warps, struct arena *arena);
/* NULL: the value is made again at each use (cheap), or has no tile. */
const struct layout *layout_chosen(const struct layout_choice *choice, const struct ir_value *value);
/* Of a memory operation whose value is cheap: the layout that suits it. */
const struct layout *layout_chosen_access(const struct layout_choice *choice, const struct ir_operation *operation);
/* How many warps work on one instance, from the sizes of its tiles; producer: beside a warpgroup that copies perhaps. */
int layout_choose_warps(struct ir_function *function, bool producer);
#endif
