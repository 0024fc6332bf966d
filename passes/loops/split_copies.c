/* split_copies: a loop that copies and multiplies is split where its copies reach the end of the view that they read.
 *
 *     for %k = 0 to %K step 64 iter(%acc = …) {
 *         … cp_async %a[%i +: 128, %k + 192 +: 64], …
 *     }
 * becomes, with E = extent of %a along dimension 1,
 *     %end = min(%K, 0 <= 192 && 192 + 64 <= E ? E - 255 : 0)
 *     %next, %sum = for %k = 0 to %end step 64 iter(%acc = …, %from = 0) {
 *         … cp_async inside(2) %a[%i +: 128, %k + 192 +: 64], …     yield …, %k + 64
 *     }
 *     for %k = %next to %K step 64 iter(%acc = %sum) { … as it was … }
 *
 * All but the last few iterations then need not ask how much of each row is left.  That matters because tensor cores
 * wait for the instructions that issue copies: each scheduler has one warp, with nothing else to do.
 *
 * Right because the index of a copy is scale * %k + something constant, and so moves by scale * step in each
 * iteration, up or down.  The first loop runs for as many iterations as the index, from its first value on, stays
 * within [0, E - 64]; the second loop goes on with the next %k of the same sequence.  An index computed in 32 bits may
 * wrap.  It equals the exact index modulo 2^32, and is therefore exact wherever the exact one lies in [0, 2^31).
 *
 * The pass does this only where the body holds nothing but products, copies and scalars.  Other bodies are long and
 * gain less. */
#include "base/plant.h"
#include "ir/plan.h"
#include "passes/base/pass.h"
#include "passes/base/remake.h"
#include "passes/base/rewrite.h"

/* A dimension of a copy: its index moves by `by` an iteration. */
struct reach {
    struct ir_operation *copy;
    int dimension;
    int64_t by, place;
    bool narrow; /* the index is exact modulo 2^32 alone */
};
struct splitting {
    struct pass_context *context;
    struct ir_function *function;
    struct ir_operation *loop;
    VECTOR(struct reach) reaches;
};
struct search {
    struct pass_context *context;
    VECTOR(struct ir_operation *) loops;
};

static bool is_light(const struct ir_operation *op)
{
    switch (op->opcode) {
    case OP_DOT:
    case OP_DOT_ASYNC:
    case OP_DOT_WAIT:
    case OP_BUFFER_LOAD:
    case OP_CP_ASYNC:
    case OP_CP_COMMIT:
    case OP_CP_WAIT:
    case OP_BARRIER:
    case OP_CONSTANT:
    case OP_YIELD: return true;
    default:
        for (int i = 0; i < op->result_count; i++)
            if (op->results[i]->type->kind == IR_TILE && op->results[i]->type->rank > 0)
                return false;
        return ir_has_trait(op, IR_TRAIT_PURE) && !op->region_count;
    }
}

/* What an index is made of: scale * variable + something that stays. */
struct affine {
    int64_t scale;
    bool extended; /* a sum of 32 bits was made wider: right modulo 2^32 alone */
};

enum { MOST_SCALE = 1 << 20, MOST_DEPTH = 8 };

static bool is_plain_integer(const struct ir_value *value)
{
    enum ir_element element = value->type->element;
    return value->type->kind == IR_TILE && value->type->rank == 0 &&
           (element == IR_I32 || element == IR_I64 || element == IR_INDEX);
}

static bool find_affine(const struct ir_value *variable, const struct ir_value *value, int depth, struct affine *out)
{
    const struct ir_operation *op = value->definition;
    struct affine a, b;
    int64_t factor;
    *out = (struct affine){0};
    if (!is_plain_integer(value))
        return false;
    if (value == variable) {
        out->scale = 1;
        return true;
    }
    if (value->block != variable->block || ir_constant_integer(value, &factor))
        return true;
    if (!op || depth == 0 || !find_affine(variable, op->operands[0], depth - 1, &a))
        return false;
    switch (op->opcode) {
    case OP_CAST:
        *out = a;
        out->extended |= a.scale && op->operands[0] != variable && op->operands[0]->type->element == IR_I32 &&
                         value->type->element != IR_I32;
        return true;
    case OP_MUL:
        if (!ir_constant_integer(op->operands[1], &factor) || factor < -MOST_SCALE || factor > MOST_SCALE)
            return false;
        *out = (struct affine){a.scale * factor, a.extended};
        break;
    case OP_ADD:
    case OP_SUB:
        if (!find_affine(variable, op->operands[1], depth - 1, &b))
            return false;
        *out = (struct affine){op->opcode == OP_ADD ? a.scale + b.scale : a.scale - b.scale, a.extended || b.extended};
        break;
    default: return false;
    }
    return out->scale >= -MOST_SCALE && out->scale <= MOST_SCALE;
}

/* The index moves by a number that is not 0. */
static bool moves(const struct splitting *s, const struct ir_value *index, struct reach *reach)
{
    const struct ir_operation *op = index->definition;
    struct affine affine;
    int64_t step;
    reach->narrow = index->type->element == IR_I32;
    if (op && op->opcode == OP_CAST && op->operands[0]->type->element == IR_I32 &&
        op->operands[0] != s->loop->regions[0]->arguments.data[0]) {
        reach->narrow = true;
        index = op->operands[0];
    }
    if (!find_affine(s->loop->regions[0]->arguments.data[0], index, MOST_DEPTH, &affine) ||
        (affine.extended && !reach->narrow) || !ir_constant_integer(s->loop->operands[2], &step) ||
        step < -MOST_SCALE || step > MOST_SCALE)
        return false;
    reach->by = affine.scale * step;
    return reach->by != 0;
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
        struct reach reach = {.copy = copy, .dimension = d, .place = access.place[d]};
        if (access.place[d] > 0 && !(ir_number(copy, IR_ATTRIBUTE_INSIDE, 0) >> d & 1) &&
            access.view->block != variable->block && moves(s, access.index[d], &reach))
            vector_push(s->context->arena, &s->reaches, reach);
    }
}

/* By a number other than 0, which tells the direction, and without unsigned wrapping. */
static bool counts(const struct ir_operation *loop)
{
    int64_t step;
    return is_plain_integer(loop->operands[0]) && !ir_number(loop, IR_ATTRIBUTE_MULTIPLY, 0) &&
           ir_constant_integer(loop->operands[2], &step) && step != 0;
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

/* A light body with copies that ask, at places that move with the variable. */
static bool can_split(struct splitting *s)
{
    struct ir_operation *loop = s->loop;
    const char *why = "the loop does not count by a number";
    if (counts(loop)) {
        for (struct ir_operation *op = loop->regions[0]->first; op; op = op->next) {
            if (!is_light(op))
                return false;
            if (op->opcode == OP_CP_ASYNC)
                find_reaches(s, op);
        }
        why = "their places are not multiples of the loop's variable and something that stays";
    }
    if (!s->reaches.count && asks(loop))
        pass_remark(s->context, loop->at, "copies ask for the end in every iteration: %s", why);
    return s->reaches.count > 0;
}

/* What the variable stays in front of while the reach is inside; what it starts with where the reach never is. */
static struct ir_value *end_of_reach(const struct splitting *s, struct ir_builder *builder, const struct reach *reach,
                                     const struct remake *first_iteration)
{
    struct ir_access access;
    ir_access_of(reach->copy, &access);
    struct ir_value *first = ir_cast(builder, remake_value(first_iteration, builder, access.index[reach->dimension]),
                                     IR_INDEX);
    const struct ir_type *wide = first->type;
    struct ir_value *extent = ir_build_value(builder, OP_EXTENT, wide, 1,
                                             (struct ir_value *[]){(struct ir_value *)access.view});
    ir_set_number(extent->definition, IR_ATTRIBUTE_DIMENSION, reach->dimension);
    if (reach->narrow)
        extent = ir_binary(builder, OP_MIN, extent, ir_constant_int(builder, wide, INT32_MAX));
    struct ir_value *last = ir_binary(builder, OP_SUB, extent, ir_constant_int(builder, wide, reach->place));
    struct ir_value *room = ir_binary(builder, OP_SUB, last, first), *zero = ir_constant_int(builder, wide, 0);
    struct ir_value *starts = ir_compare(
        builder, IR_PREDICATE_GE,
        PLANTED(split_copies_start_not_asked) ? room : ir_binary(builder, OP_MIN, first, room), zero);
    int64_t by = reach->by > 0 ? reach->by : -reach->by, step, size;
    ir_constant_integer(s->loop->operands[2], &step);
    size = step > 0 ? step : -step;
    struct ir_value *way = reach->by > 0 ? room : first, *start = ir_cast(builder, s->loop->operands[0], IR_INDEX);
    if (by == size) { /* the index goes as far as the variable */
        way = ir_binary(builder, OP_ADD, way, ir_constant_int(builder, wide, 1));
    } else {
        way = ir_binary(builder, OP_DIV, way, ir_constant_int(builder, wide, by));
        way = ir_binary(builder, OP_ADD, way, ir_constant_int(builder, wide, 1));
        way = ir_binary(builder, OP_MUL, way, ir_constant_int(builder, wide, size));
    }
    return ir_select(builder, starts, ir_binary(builder, step > 0 ? OP_ADD : OP_SUB, start, way), start);
}

/* Where the first loop ends: behind the iterations in which all copies are inside. */
static struct ir_value *end_of_inside(const struct splitting *s, struct ir_builder *builder)
{
    const struct ir_operation *loop = s->loop;
    struct remake first = remake_open(s->context->arena, s->function, loop); /* iteration, built in front of the loop */
    struct ir_value *end = ir_cast(builder, loop->operands[1], IR_INDEX);
    int64_t step;
    ir_constant_integer(loop->operands[2], &step);
    remake_set(&first, loop->regions[0]->arguments.data[0], loop->operands[0]);
    for (int i = 0; i < s->reaches.count; i++) {
        struct ir_value *one = end_of_reach(s, builder, &s->reaches.data[i], &first);
        end = ir_binary(builder, step > 0 ? OP_MIN : OP_MAX, end, one);
    }
    return ir_cast(builder, end, loop->operands[1]->type->element);
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
    ir_plan_keep(first, rest);
    struct ir_block *from = rest->regions[0], *to = first->regions[0];
    struct remake again = remake_open(s->context->arena, s->function, rest);
    for (int i = 0; i <= carried; i++) {
        const struct ir_value *argument = from->arguments.data[i];
        remake_set(&again, argument, ir_block_argument(to, argument->type, argument->name));
    }
    ir_block_argument(to, types[carried], "from");
    struct ir_builder inner = {.module = builder.module, .block = to, .at = rest->at};
    for (struct ir_operation *op = from->first; op; op = op->next) {
        bool last = op->opcode == OP_YIELD;
        struct ir_value *next = last ? ir_binary(&inner, OP_ADD, to->arguments.data[0], rest->operands[2]) : NULL;
        struct ir_operation *clone = remake_operation(&again, &inner, op);
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
    struct search search = {.context = context};
    bool changed = false;
    ir_walk(function->body, collect, &search);
    for (int i = 0; i < search.loops.count; i++) {
        struct splitting s = {.context = context, .function = function, .loop = search.loops.data[i]};
        if (!can_split(&s) || !pass_fuel(context))
            continue;
        pass_remark(context, s.loop->at, "copies of all but the last iterations do not ask for the end");
        split(&s);
        changed = true;
    }
    return changed;
}
