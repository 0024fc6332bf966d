/* bounds: sets the `inside` bit of each dimension of a place that is proven to lie inside its view.  Code generators
 * neither compare nor mask there.  The pass changes nothing else.
 *
 *     for %k: index = %0 to %n step %64 {                 for %k: index = %0 to %n step %64 {
 *         %v = load %x[%k +: 64], %z : f32[64]     ->         %v = load inside(1) %x[%k +: 64], %z : f32[64]
 *     }                                                   }            (%n is x's extent, a multiple of 64)
 *
 * ir/facts/inside.h has the proof.  A view that may be absent has no elements, so nothing lies inside it.  The pass
 * therefore looks only at arguments that cannot be NULL, and at sub-views that drop no dimension. */
#include "ir/facts/inside.h"
#include "passes/base/pass.h"
#include "passes/base/rewrite.h"

struct bounds_proof {
    struct pass_context *context;
    const struct inside *inside;
    bool changed;
};

static void visit(struct ir_operation *op, void *data)
{
    struct bounds_proof *bounds = data;
    struct ir_access access;
    if (!(ir_op_info[op->opcode].attributes >> IR_ATTRIBUTE_INSIDE & 1) || !ir_access_of(op, &access) ||
        inside_may_be_absent(access.view))
        return;
    int64_t inside = ir_number(op, IR_ATTRIBUTE_INSIDE, 0);
    for (int d = 0; d < access.rank; d++) {
        int64_t length = access.place[d] > 0 ? access.place[d] : 1;
        if (inside >> d & 1 || !inside_is_proven(bounds->inside, op, access.view, d, access.index[d], length) ||
            !pass_fuel(bounds->context))
            continue;
        inside |= INT64_C(1) << d;
        ir_set_number(op, IR_ATTRIBUTE_INSIDE, inside);
        bounds->changed = true;
    }
    if (inside != (INT64_C(1) << access.rank) - 1)
        pass_remark(bounds->context, op->at,
                    "not every dimension is known to be inside the view: the access is checked");
}

bool pass_bounds(struct ir_function *function, struct pass_context *context)
{
    struct bounds_proof bounds = {context, inside_analyse(function, context->ranges, context->arena), false};
    ir_walk(function->body, visit, &bounds);
    return bounds.changed;
}
