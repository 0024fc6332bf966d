/* Regions built apart, then joined.  A region is filled in a block of its own before its operation exists, because only
 * then is it known which variables it changed, and so what the operation yields. */
#include "front/walk/control.h"

#include <string.h>

struct ir_block *region_begin(struct elaborator *e, struct ir_block **saved)
{
    *saved = e->builder.block;
    if (e->function)
        e->builder.block = ir_block_create(e->function, NULL);
    return e->builder.block;
}

void region_end(struct elaborator *e, struct ir_block *saved) { e->builder.block = saved; }

void region_splice(struct elaborator *e, struct ir_block *block)
{
    while (block && block->first)
        ir_move_to_end(block->first, e->builder.block);
}

static bool is_attached(const struct ir_operation *operation, const struct ir_function *function)
{
    const struct ir_block *block = operation->block;
    while (block && block->parent)
        block = block->parent->block;
    return block == function->body;
}

static void forget_abandoned(struct ir_value *value, const struct ir_function *function)
{
    for (struct ir_use *use = value->uses, *next; use; use = next) {
        next = use->next;
        struct ir_operation *user = use->user;
        if (is_attached(user, function))
            continue;
        while (user->operand_count)
            ir_remove_operand(user, user->operand_count - 1);
        next = value->uses; /* the user may have stood in the list more than once */
    }
}

static void settle_block(struct ir_block *block, const struct ir_function *function)
{
    for (int i = 0; i < block->arguments.count; i++)
        forget_abandoned(block->arguments.data[i], function);
    for (struct ir_operation *op = block->first; op; op = op->next) {
        for (int i = 0; i < op->result_count; i++)
            forget_abandoned(op->results[i], function);
        for (int i = 0; i < op->region_count; i++)
            settle_block(op->regions[i], function);
    }
}

/* Blocks that were tried and given up still use values of the function: those uses go. */
void region_forget_abandoned(struct ir_function *function) { settle_block(function->body, function); }

void region_attach(struct ir_operation *operation, int index, struct ir_block *block)
{
    operation->regions[index] = block;
    block->parent = operation;
}

/* Whether running it although it is not wanted is harmless and cheap. */
bool region_is_speculable(const struct ir_block *block)
{
    for (const struct ir_operation *op = block ? block->first : NULL; op; op = op->next)
        if (op->region_count || (!(ir_op_info[op->opcode].traits & IR_TRAIT_PURE) && op->opcode != OP_LOAD))
            return false;
    return true;
}

/* ---- which variables a statement assigns ---- */

void carried_add(struct elaborator *e, struct carried *carried, struct binding *binding)
{
    for (int i = 0; i < carried->count; i++)
        if (carried->data[i] == binding)
            return;
    vector_push(e->arena, carried, binding);
}

void carried_add_flags(struct elaborator *e, struct carried *carried)
{
    carried_add(e, carried, &e->frame->returned);
    carried_add(e, carried, &e->frame->result);
    for (struct loop *l = e->frame->loop; l; l = l->parent) {
        carried_add(e, carried, &l->skip);
        carried_add(e, carried, &l->broken);
    }
}

static void scan(struct elaborator *e, struct carried *carried, const struct ast_statement *s, int loops)
{
    if (!s)
        return;
    switch (s->kind) {
    case STATEMENT_ASSIGN:
        for (int i = 0; i < s->targets.count; i++) {
            const struct ast_expression *target = s->targets.data[i];
            if (target->kind == EXPRESSION_MEMBER)
                target = target->base;
            if (target->kind != EXPRESSION_NAME)
                continue;
            struct binding *binding = scope_find(e, target->name);
            if (binding && binding->kind == BINDING_VAR)
                carried_add(e, carried, binding);
        }
        break;
    case STATEMENT_BLOCK:
        for (int i = 0; i < s->body.count; i++)
            scan(e, carried, s->body.data[i], loops);
        break;
    case STATEMENT_IF:
        scan(e, carried, s->then, loops);
        scan(e, carried, s->otherwise, loops);
        break;
    case STATEMENT_FOR:
    case STATEMENT_WHILE: scan(e, carried, s->then, loops + 1); break;
    case STATEMENT_BREAK:
    case STATEMENT_CONTINUE:
        if (loops || !e->frame->loop)
            break;
        carried_add(e, carried, &e->frame->loop->skip);
        if (s->kind == STATEMENT_BREAK)
            carried_add(e, carried, &e->frame->loop->broken);
        break;
    case STATEMENT_RETURN: carried_add_flags(e, carried); break;
    default: break;
    }
}

void carried_scan(struct elaborator *e, struct carried *carried, const struct ast_statement *statement)
{
    scan(e, carried, statement, 0);
}

void carried_scan_list(struct elaborator *e, struct carried *carried, const struct ast_statement_list *list, int from)
{
    for (int i = from; i < list->count; i++)
        scan(e, carried, list->data[i], 0);
}

struct value *carried_values(struct elaborator *e, const struct carried *carried)
{
    struct value *values = ARENA_ARRAY(e->arena, struct value, carried->count);
    for (int i = 0; i < carried->count; i++)
        values[i] = carried->data[i]->value;
    return values;
}

void carried_restore(const struct carried *carried, const struct value *values)
{
    for (int i = 0; i < carried->count; i++)
        carried->data[i]->value = values[i];
}

/* ---- joining two values ---- */

static struct value zero_like(struct elaborator *e, struct value v)
{
    if (v.kind == VALUE_TUPLE) {
        struct value zero = v;
        zero.list.data = ARENA_ARRAY(e->arena, struct value, v.list.count);
        for (int i = 0; i < v.list.count; i++)
            zero.list.data[i] = zero_like(e, v.list.data[i]);
        return zero;
    }
    if (v.kind != VALUE_RUN || v.run->type->element == IR_POINTER)
        return v;
    struct value zero = v;
    zero.run = ir_constant_bits(&e->builder, v.run->type, 0);
    return zero;
}

static bool convert_pair_element(struct elaborator *e, struct value *value, struct ir_block *block,
                                 enum ir_element element, const char *what)
{
    struct ir_block *saved = e->builder.block;
    e->builder.block = block;
    struct ir_value *run = convert_to_element(e, *value, element, what);
    e->builder.block = saved;
    if (!run)
        return false;
    value->kind = VALUE_RUN;
    value->run = run;
    value->element = element;
    return true;
}

static void stretch_pair(struct elaborator *e, struct value *value, struct ir_block *block, int rank,
                         const int64_t *extent)
{
    struct ir_block *saved = e->builder.block;
    e->builder.block = block;
    value->run = ir_broadcast(&e->builder, value->run, rank, extent);
    e->builder.block = saved;
}

/* The shape that both go to; false: none. */
static bool common_shape(const struct ir_type *a, const struct ir_type *b, int *rank, int64_t *extent)
{
    const struct ir_type *large = a->rank ? a : b;
    *rank = large->rank;
    memcpy(extent, large->extent, sizeof large->extent);
    if (!a->rank || !b->rank)
        return true;
    if (a->rank != b->rank)
        return false;
    for (int d = 0; d < *rank; d++) {
        if (a->extent[d] != b->extent[d] && a->extent[d] != 1 && b->extent[d] != 1)
            return false;
        extent[d] = int64_max(a->extent[d], b->extent[d]);
    }
    return true;
}

static bool join_tuples(struct elaborator *e, struct value *a, struct ir_block *in_a, struct value *b,
                        struct ir_block *in_b, const char *what, struct location at)
{
    for (int i = 0; i < a->list.count; i++)
        if (!join_pair(e, &a->list.data[i], in_a, &b->list.data[i], in_b, what, at))
            return false;
    return true;
}

/* `null` takes the type of the other side. */
static bool join_pointers(struct elaborator *e, struct value *a, struct ir_block *in_a, struct value *b,
                          struct ir_block *in_b, const char *what, struct location at)
{
    struct value *empty = a->kind == VALUE_NULL ? a : b->kind == VALUE_NULL ? b : NULL;
    const struct value *other = empty == a ? b : a;
    if (empty && other->kind == VALUE_RUN) {
        struct ir_block *saved = e->builder.block;
        e->builder.block = empty == a ? in_a : in_b;
        *empty = value_run(convert_to_type(e, *empty, other->run->type, false, what), empty->at);
        e->builder.block = saved;
    }
    if (a->kind == VALUE_RUN && b->kind == VALUE_RUN && a->run->type == b->run->type)
        return true;
    front_report(e, DIAGNOSTIC_E0301, at, "%s: %s and %s are not one type", what, front_describe(e, *a),
                 front_describe(e, *b));
    return false;
}

bool join_pair(struct elaborator *e, struct value *a, struct ir_block *in_a, struct value *b, struct ir_block *in_b,
               const char *what, struct location at)
{
    if (value_is_error(*a) || value_is_error(*b))
        return false;
    if (value_same(*a, *b))
        return true;
    struct ir_block *saved = e->builder.block;
    if (a->kind == VALUE_VOID || b->kind == VALUE_VOID) { /* a result not reached on one side */
        e->builder.block = a->kind == VALUE_VOID ? in_a : in_b;
        if (a->kind == VALUE_VOID)
            *a = zero_like(e, *b);
        else
            *b = zero_like(e, *a);
        e->builder.block = saved;
        if (value_same(*a, *b))
            return true;
    }
    if (a->structure != b->structure) {
        front_report(e, DIAGNOSTIC_E0301, at, "%s: %s and %s do not go together", what, front_describe(e, *a),
                     front_describe(e, *b));
        return false;
    }
    if (a->kind == VALUE_TUPLE && b->kind == VALUE_TUPLE && a->list.count == b->list.count) {
        a->list.data = arena_copy(e->arena, a->list.data, sizeof(struct value) * (size_t)a->list.count);
        b->list.data = arena_copy(e->arena, b->list.data, sizeof(struct value) * (size_t)b->list.count);
        return join_tuples(e, a, in_a, b, in_b, what, at);
    }
    struct value pair[2] = {*a, *b};
    enum ir_element element;
    if (!convert_common_element(e, 2, pair, what, at, &element))
        return false;
    if (element == IR_POINTER)
        return join_pointers(e, a, in_a, b, in_b, what, at);
    if (!convert_pair_element(e, a, in_a, element, what) || !convert_pair_element(e, b, in_b, element, what))
        return false;
    int rank;
    int64_t extent[IR_MAX_RANK];
    if (!common_shape(a->run->type, b->run->type, &rank, extent)) {
        struct diagnostic *d = front_report(e, DIAGNOSTIC_E0302, at, "%s: the shapes %s and %s do not go together",
                                            what, front_describe(e, *a), front_describe(e, *b));
        front_note_shape(e, d, *a, "one");
        front_note_shape(e, d, *b, "the other");
        return false;
    }
    if (rank) {
        stretch_pair(e, a, in_a, rank, extent);
        stretch_pair(e, b, in_b, rank, extent);
    }
    return true;
}

/* ---- the operation `if` over two filled blocks ---- */

struct leaves {
    struct leaf {
        struct value *joined;
        struct ir_value *a, *b;
    } *data;
    int count, capacity;
};

/* Fills `joined` with what is the same on both sides, and lists what must be yielded. */
static void collect(struct elaborator *e, struct leaves *leaves, struct value condition, struct value a, struct value b,
                    struct value *joined)
{
    *joined = a;
    if (value_same(a, b))
        return;
    if (a.kind == VALUE_TUPLE) {
        joined->list.data = ARENA_ARRAY(e->arena, struct value, a.list.count);
        for (int i = 0; i < a.list.count; i++)
            collect(e, leaves, condition, a.list.data[i], b.list.data[i], &joined->list.data[i]);
        return;
    }
    joined->origin = a.origin ? a.origin : b.origin;
    vector_push(e->arena, leaves, ((struct leaf){joined, a.run, b.run}));
}

static struct value join_host(struct elaborator *e, struct value condition, struct value a, struct value b,
                              struct location at)
{
    if (value_same(a, b))
        return a;
    enum ir_element element = a.kind == VALUE_HOST   ? a.host.element
                              : b.kind == VALUE_HOST ? b.host.element
                              : a.kind == VALUE_BOOL ? IR_BOOL
                                                     : IR_I64;
    struct value three[3] = {condition, a, b};
    if (a.kind == VALUE_VOID || b.kind == VALUE_VOID)
        return a.kind == VALUE_VOID ? b : a;
    if (value_is_error(a) || value_is_error(b))
        return value_error(at);
    if (a.kind == VALUE_TUPLE && b.kind == VALUE_TUPLE && a.list.count == b.list.count) {
        struct value all = a;
        all.list.data = ARENA_ARRAY(e->arena, struct value, a.list.count);
        for (int i = 0; i < a.list.count; i++)
            all.list.data[i] = join_host(e, condition, a.list.data[i], b.list.data[i], at);
        return all;
    }
    struct value result = host_operate(e, KERNEL_HOST_SELECT, element, 3, three, at);
    result.enumeration = a.enumeration;
    return host_keep(e, result);
}

/* A flag that is true on one side and false on the other is the condition itself. */
static bool join_flag(struct elaborator *e, struct value condition, struct value a, struct value b,
                      struct value *joined)
{
    if (a.kind != VALUE_BOOL || b.kind != VALUE_BOOL || a.truth == b.truth)
        return false;
    *joined = a.truth ? condition : condition_not(e, condition);
    return true;
}

static void build_yield(struct elaborator *e, struct ir_block *block, const struct leaves *leaves, bool second)
{
    struct ir_value **values = ARENA_ARRAY(e->arena, struct ir_value *, leaves->count);
    for (int i = 0; i < leaves->count; i++)
        values[i] = second ? leaves->data[i].b : leaves->data[i].a;
    struct ir_builder builder = e->builder;
    builder.block = block;
    ir_build(&builder, OP_YIELD, leaves->count, values, 0, NULL);
}

bool join_branches(struct elaborator *e, struct value condition, struct ir_block *in_a, struct ir_block *in_b,
                   int count, struct value *a, struct value *b, struct value *joined, const char *what, bool select,
                   struct location at)
{
    if (condition.kind == VALUE_HOST) {
        bool good = true;
        for (int i = 0; i < count; i++) {
            joined[i] = join_host(e, condition, a[i], b[i], at);
            good = good && !value_is_error(joined[i]);
        }
        return good;
    }
    bool empty = select || (!in_a->first && !in_b->first);
    struct leaves leaves = {0};
    bool good = true;
    if (empty) {
        region_splice(e, in_a);
        region_splice(e, in_b);
        in_a = in_b = e->builder.block;
    }
    for (int i = 0; i < count; i++) {
        if (join_flag(e, condition, a[i], b[i], &joined[i]))
            continue;
        if (join_pair(e, &a[i], in_a, &b[i], in_b, what, at))
            collect(e, &leaves, condition, a[i], b[i], &joined[i]);
        else {
            joined[i] = value_error(at);
            good = false;
        }
    }
    if (empty) {
        for (int i = 0; i < leaves.count; i++)
            leaves.data[i].joined->run = ir_select(&e->builder, condition.run, leaves.data[i].a, leaves.data[i].b);
        return good;
    }
    const struct ir_type **types = ARENA_ARRAY(e->arena, const struct ir_type *, leaves.count);
    for (int i = 0; i < leaves.count; i++)
        types[i] = leaves.data[i].a->type;
    build_yield(e, in_a, &leaves, false);
    build_yield(e, in_b, &leaves, true);
    struct ir_operation *operation = ir_build(&e->builder, OP_IF, 1, &condition.run, leaves.count, types);
    region_attach(operation, 0, in_a);
    region_attach(operation, 1, in_b);
    for (int i = 0; i < leaves.count; i++)
        leaves.data[i].joined->run = operation->results[i];
    return good;
}
