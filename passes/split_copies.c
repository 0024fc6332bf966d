/* split_copies: a loop that copies and multiplies is split where its copies meet the end of what they read.
 *
 *     for %k = 0 to %K step 64 iter(%acc = …) {
 *         … cp_async %a[%i +: 128, %k + 192 +: 64], …
 *     }
 * becomes, with E = extent of %a along dimension 1,
 *     %end = min(%K, E - 255)
 *     %next, %sum = for %k = 0 to %end step 64 iter(%acc = …, %from = 0) {
 *         … cp_async inside(2) %a[%i +: 128, %k + 192 +: 64], …     yield …, %k + 64
 *     }
 *     for %k = %next to %K step 64 iter(%acc = %sum) { … as it was … }
 *
 * so that all but the last few iterations do not ask how much of each row there is.  What the copies cost in
 * instructions, tensor cores wait for: one warp of each scheduler has nothing else to do.
 *
 * Right because the first loop runs while %k + 192 + 64 <= E, and the second goes on with the next %k of the same
 * sequence.  Done where the body holds nothing but products, copies and scalars: other bodies are long, and gain
 * less. */
#include "passes/pass.h"
#include "passes/rewrite.h"

struct reach { struct ir_operation *copy; int dimension; int64_t end; /* variable + end <= extent: inside */ };
struct splitting {
    struct pass_context *context;
    struct ir_function *function;
    struct ir_operation *loop;
    VECTOR(struct reach) reaches;
};
struct search { struct pass_context *context; VECTOR(struct ir_operation *) loops; };

static bool is_light(const struct ir_operation *op)
{
    switch (op->opcode) {
    case OP_DOT: case OP_DOT_ASYNC: case OP_DOT_WAIT: case OP_BUFFER_LOAD: case OP_CP_ASYNC: case OP_CP_COMMIT:
    case OP_CP_WAIT: case OP_BARRIER: case OP_CONSTANT: case OP_YIELD:
        return true;
    default:
        for (int i = 0; i < op->result_count; i++)
            if (op->results[i]->type->kind == IR_TILE && op->results[i]->type->rank > 0)
                return false;
        return rewrite_has_trait(op, IR_TRAIT_PURE) && !op->region_count;
    }
}

/* index = variable + *ahead, which is known */
static bool follows(const struct ir_value *index, const struct ir_value *variable, int64_t *ahead)
{
    const struct ir_operation *op = index->definition;
    *ahead = 0;
    if (index == variable)
        return true;
    return op && op->opcode == OP_ADD && op->operands[0] == variable && ir_constant_integer(op->operands[1], ahead) &&
           *ahead >= 0 && *ahead < INT32_MAX;
}

/* A view that may be absent has nothing inside, whatever its extents. */
static bool is_there(const struct ir_value *view)
{
    while (view->definition && view->definition->opcode == OP_VIEW_PERMUTE)
        view = view->definition->operands[0];
    return !view->definition && !view->block->parent && !view->type->optional && view->block->function->is_kernel;
}

static void find_reaches(struct splitting *s, struct ir_operation *copy)
{
    const struct ir_value *variable = s->loop->regions[0]->arguments.data[0];
    struct ir_access access;
    if (!ir_access_of(copy, &access) || !is_there(access.view))
        return;
    for (int d = 0; d < access.rank; d++) {
        struct reach reach = { copy, d, 0 };
        if (access.place[d] <= 0 || ir_number(copy, IR_ATTRIBUTE_INSIDE, 0) >> d & 1 ||
            !follows(access.index[d], variable, &reach.end) || access.view->block == variable->block)
            continue;
        reach.end += access.place[d];
        vector_push(s->context->arena, &s->reaches, reach);
    }
}

static bool counts_up(const struct ir_operation *loop)
{
    int64_t lower, step;
    return loop->operands[0]->type->element == IR_INDEX && !ir_number(loop, IR_ATTRIBUTE_MULTIPLY, 0) &&
           ir_constant_integer(loop->operands[0], &lower) && lower >= 0 &&
           ir_constant_integer(loop->operands[2], &step) && step > 0;
}

/* Some copy is not known to be inside its view. */
static bool asks(const struct ir_operation *loop)
{
    for (const struct ir_operation *op = loop->regions[0]->first; op; op = op->next) {
        struct ir_access access;
        if (op->opcode == OP_CP_ASYNC && ir_access_of(op, &access) &&
            ir_number(op, IR_ATTRIBUTE_INSIDE, 0) != (INT64_C(1) << access.rank) - 1)
            return true;
    }
    return false;
}

/* A variable that counts up from 0 or above in 64 bits, and a light body with copies that ask. */
static bool can_split(struct splitting *s)
{
    struct ir_operation *loop = s->loop;
    if (!counts_up(loop)) {
        if (asks(loop))
            pass_remark(s->context, loop->at, "copies ask for the end in every iteration: the loop does not count up "
                                              "from 0 or another number");
        return false;
    }
    for (struct ir_operation *op = loop->regions[0]->first; op; op = op->next) {
        if (!is_light(op))
            return false;
        if (op->opcode == OP_CP_ASYNC)
            find_reaches(s, op);
    }
    return s->reaches.count > 0;
}

/* The least upper bound under which all copies are inside. */
static struct ir_value *end_of_inside(const struct splitting *s, struct ir_builder *builder)
{
    struct ir_value *end = s->loop->operands[1];
    const struct ir_type *type = end->type;
    for (int i = 0; i < s->reaches.count; i++) {
        const struct reach *reach = &s->reaches.data[i];
        struct ir_access access;
        ir_access_of(reach->copy, &access);
        struct ir_value *extent =
            ir_build_value(builder, OP_EXTENT, type, 1, (struct ir_value *[]){ (struct ir_value *)access.view });
        ir_set_number(extent->definition, IR_ATTRIBUTE_DIMENSION, reach->dimension);
        struct ir_value *here = ir_binary(builder, OP_SUB, extent, ir_constant_int(builder, type, reach->end - 1));
        end = ir_binary(builder, OP_MIN, end, here);
    }
    return end;
}

static void mark_inside(const struct splitting *s, const struct ir_operation *copy, struct ir_operation *clone)
{
    int64_t inside = ir_number(copy, IR_ATTRIBUTE_INSIDE, 0);
    for (int i = 0; i < s->reaches.count; i++)
        if (s->reaches.data[i].copy == copy)
            inside |= (int64_t)1 << s->reaches.data[i].dimension;
    if (inside)
        ir_set_number(clone, IR_ATTRIBUTE_INSIDE, inside);
}

static void split(struct splitting *s)
{
    struct ir_operation *rest = s->loop;
    struct ir_builder builder = rewrite_before(rest);
    struct ir_value *end = end_of_inside(s, &builder);
    int carried = rest->result_count;
    struct ir_value **values = ARENA_ARRAY(s->context->arena, struct ir_value *, carried + 4);
    const struct ir_type **types = ARENA_ARRAY(s->context->arena, const struct ir_type *, carried + 1);
    for (int i = 0; i < carried + 3; i++)
        values[i] = rest->operands[i];
    for (int i = 0; i < carried; i++)
        types[i] = rest->results[i]->type;
    values[1] = end;
    values[carried + 3] = rest->operands[0];
    types[carried] = rest->operands[0]->type;
    struct ir_operation *first = ir_build(&builder, OP_FOR, carried + 4, values, carried + 1, types);
    if (ir_attribute(rest, IR_ATTRIBUTE_UNROLL))
        ir_set_number(first, IR_ATTRIBUTE_UNROLL, ir_number(rest, IR_ATTRIBUTE_UNROLL, 0));
    struct ir_block *from = rest->regions[0], *to = first->regions[0];
    struct ir_value **map = ARENA_ARRAY(s->context->arena, struct ir_value *, s->function->next_value_id);
    for (int i = 0; i <= carried; i++) {
        const struct ir_value *argument = from->arguments.data[i];
        map[argument->id] = ir_block_argument(to, argument->type, argument->name);
    }
    ir_block_argument(to, types[carried], "from");
    struct ir_builder inner = { .module = builder.module, .block = to, .at = rest->at };
    for (struct ir_operation *op = from->first; op; op = op->next) {
        bool last = op->opcode == OP_YIELD;
        struct ir_value *next = last ? ir_binary(&inner, OP_ADD, to->arguments.data[0], rest->operands[2]) : NULL;
        struct ir_operation *clone = ir_clone(&inner, op, map);
        if (op->opcode == OP_CP_ASYNC)
            mark_inside(s, op, clone);
        if (last)
            ir_add_operand(clone, next);
    }
    ir_set_operand(rest, 0, first->results[carried]);
    for (int i = 0; i < carried; i++)
        ir_set_operand(rest, 3 + i, first->results[i]);
}

static void collect(struct ir_operation *op, void *data)
{
    struct search *search = data;
    if (op->opcode == OP_FOR)
        vector_push(search->context->arena, &search->loops, op);
}

bool pass_split_copies(struct ir_function *function, struct pass_context *context)
{
    struct search search = { .context = context };
    bool changed = false;
    ir_walk(function->body, collect, &search);
    for (int i = 0; i < search.loops.count; i++) {
        struct splitting s = { .context = context, .function = function, .loop = search.loops.data[i] };
        if (!can_split(&s) || !pass_fuel(context))
            continue;
        pass_remark(context, s.loop->at, "copies of all but the last iterations do not ask for the end");
        split(&s);
        changed = true;
    }
    return changed;
}
