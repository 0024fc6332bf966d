/* The verifier: what every operation demands of its operands, attributes, regions and results, and what SSA with
 * structured control flow demands of all.  Reads only; every finding is a diagnostic E1004 at the operation's place. */
#ifndef TILECC_IR_VERIFY_H
#define TILECC_IR_VERIFY_H
#include "ir/ir.h"

/* By the function's own level.  True: nothing found. */
bool ir_verify_function(const struct ir_function *function, struct diagnostics *diagnostics);
bool ir_verify_module(const struct ir_module *module, struct diagnostics *diagnostics);
/* The rules of one operation apart from its surroundings (verify_rules.c): NULL, or a sentence that says what is wrong.
 * Counts of operands, results and regions must be right already. */
const char *ir_verify_rules(const struct ir_operation *operation);
/* Attributes that an operation cannot be without, a bit per key. */
uint64_t ir_required_attributes(enum ir_opcode opcode);
#endif
