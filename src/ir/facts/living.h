/* Which values are alive where: a walk over a function from its end to its start.
 *
 *     %p = dot %a, %b, %zero           behind it %p is alive and %s, which is used below; in front of it %s, %a and %b
 *     %q = mul %p, %factor
 *     %t = add %s, %q
 *
 * A use makes a value alive, and its definition ends that.  What a loop takes from outside is alive all through it.  In
 * front of a branch is alive what any of its arms needs.  Roles run beside each other: each is walked by itself.
 *
 * Who asks says what a value weighs (words of all threads, registers of one), and looks at the sum at the operations of
 * his choice. */
#ifndef TILECC_IR_LIVING_H
#define TILECC_IR_LIVING_H
#include "ir/ir.h"

struct living {
    const struct ir_value **alive; /* by value id; NULL: not alive */
    int count;
    int64_t weight; /* of all that is alive */
};
/* Where the walk stands: behind an operation, where its results are alive; between its results and its operands; in
 * front of it, where its operands are alive. */
enum living_place { LIVING_BEHIND, LIVING_BETWEEN, LIVING_FRONT };

struct living_question {
    int64_t (*weight)(const struct ir_value *value);
    /* The value that is alive in the place of this one, or NULL: each stands for itself. */
    const struct ir_value *(*origin)(const struct ir_value *value);
    void (*look)(const struct living *living, const struct ir_operation *op, enum living_place place, void *data);
    /* NULL, or whether what the operation uses is alive in front of it: not if it only waits to be removed. */
    bool (*counts)(const struct ir_operation *op, void *data);
    /* NULL, or called in front of the walk over a role, and with role -1 behind all of them. */
    void (*enter_role)(const struct ir_operation *roles, int role, void *data);
    void *data;
};
void living_walk(struct arena *arena, const struct ir_function *function, const struct living_question *question);
/* The same of a block by itself, as a loop's body comes round: what it takes from outside is alive all through it, and
 * nothing else of what is around it. */
void living_walk_block(struct arena *arena, const struct ir_block *block, const struct living_question *question);
#endif
