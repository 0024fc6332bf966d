/* Which memory operations may touch the same element, from the facts of the kernel's arguments. */
#ifndef TILECC_IR_ALIAS_H
#define TILECC_IR_ALIAS_H
#include "ir/ir.h"

/* The argument of the function that a view or pointer tile is derived from, or NULL: unknown. */
const struct ir_value *alias_root(const struct ir_value *value);
/* Whether elements behind two views or pointers may be the same. */
bool alias_may(const struct ir_value *a, const struct ir_value *b);
/* Whether `write` (any operation, its regions included) may change what `load` reads, or orders memory so that a read
 * may not move across it. */
bool alias_clobbers(const struct ir_operation *write, const struct ir_operation *load);
/* Whether an operation alone orders other accesses: an atomic with acquire or release, a barrier, a call. */
bool alias_orders(const struct ir_operation *operation);
/* Whether any operation of the function may show it what other programs wrote, or show others what it wrote: a call, or an
 * atomic with acquire or release.  Asynchronous copies and roles of their own do not follow such an order. */
bool alias_function_orders(const struct ir_function *function);
/* Whether these elements read the same wherever in the function they are read: nothing writes them, nothing orders. */
bool alias_is_settled(const struct ir_function *function, const struct ir_value *memory);
#endif
