/* Which memory operations may touch the same element, from the facts of the kernel's arguments. */
#ifndef TILECC_IR_ALIAS_H
#define TILECC_IR_ALIAS_H
#include "ir/ir.h"

/* The argument of the function that a view or pointer tile is derived from, or NULL: unknown. */
const struct ir_value *alias_root(const struct ir_value *value);
/* What an operation that reads or writes memory touches: a view or pointers; NULL: nobody knows. */
const struct ir_value *alias_memory(const struct ir_operation *operation);
/* Whether elements behind two views or pointers may be the same; NULL is any memory. */
bool alias_may(const struct ir_value *a, const struct ir_value *b);
/* Whether `write` (any operation, its regions included) may change what `load` reads, or orders memory so that a read
 * may not move across it. */
bool alias_clobbers(const struct ir_operation *write, const struct ir_operation *load);
/* Whether an operation alone orders other accesses: an atomic with acquire or release, a barrier, a call. */
bool alias_orders(const struct ir_operation *operation);
/* Whether an acquire (or a call, or a meeting, which is both) may come in front of the operation in one run of the
 * function, so that what it reads may be there only behind that: nothing may read it earlier. */
bool alias_follows_acquire(const struct ir_operation *operation);
/* Whether a release (or a call) may come behind it, which says that the operation is over. */
bool alias_precedes_release(const struct ir_operation *operation);
/* Whether a program waits for another in a loop: then it matters in which order programs start. */
bool alias_function_waits(const struct ir_function *function);
/* Whether the function may write these elements. */
bool alias_is_written(const struct ir_function *function, const struct ir_value *memory);
/* Whether the operation reads the same wherever earlier it reads: nothing writes these elements, no acquire comes first. */
bool alias_is_settled(const struct ir_operation *reader);
/* Whether a release (or a call) is in the operation: no read in front of it may come behind it. */
bool alias_tells(const struct ir_operation *operation);
/* Whether no element of the view has two places in it: an argument, which the wrapper has checked where it is written, or a
 * part of one.  What a program makes of a pointer may have any strides. */
bool alias_is_one_to_one(const struct ir_value *view);
/* Why nothing moves a read of `memory` across the block: "the loop" (`who`) "may write what it reads", with the clause
 * that lets it be the same memory where another name writes it, or orders memory.  NULL: neither. */
const char *alias_describe_write(const char *who, const struct ir_block *block, const struct ir_value *memory);
#endif
