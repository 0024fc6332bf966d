/* The reducer's ways to make things smaller that stay: tiles, constants, arguments. */
#include "ir/query.h"
#include "reduce.h"

enum { WAYS = 3, MOST_EXTENTS = 64 };

/* ---- tiles ---- */

typedef void visit_type(const struct ir_type **type, void *context);

static void visit_block(const struct ir_block *block, visit_type *visit, void *context)
{
    for (int i = 0; i < block->arguments.count; i++)
        visit(&block->arguments.data[i]->type, context);
    for (const struct ir_operation *op = block->first; op; op = op->next) {
        for (int i = 0; i < op->result_count; i++)
            visit(&op->results[i]->type, context);
        for (int r = 0; r < op->region_count; r++)
            visit_block(op->regions[r], visit, context);
    }
}

struct extents {
    int count;
    int64_t value[MOST_EXTENTS];
};

static void collect(const struct ir_type **type, void *context)
{
    struct extents *extents = context;
    for (int d = 0; (*type)->kind == IR_TILE && d < (*type)->rank; d++) {
        bool known = (*type)->extent[d] == 1 || extents->count == MOST_EXTENTS;
        for (int i = 0; i < extents->count; i++)
            known |= extents->value[i] == (*type)->extent[d];
        if (!known)
            extents->value[extents->count++] = (*type)->extent[d];
    }
}

struct replacement {
    struct ir_context *context;
    int64_t from, to; /* from 0: all above 1 are halved */
};

static int64_t replaced(const struct replacement *r, int64_t extent)
{
    if (r->from == 0)
        return extent > 1 ? extent / 2 : extent;
    return extent == r->from ? r->to : extent;
}

static void retype(const struct ir_type **type, void *context)
{
    const struct replacement *r = context;
    int64_t extent[IR_MAX_RANK];
    if ((*type)->kind != IR_TILE)
        return;
    for (int d = 0; d < (*type)->rank; d++)
        extent[d] = replaced(r, (*type)->extent[d]);
    *type = ir_type_with_shape(r->context, *type, (*type)->rank, extent);
}

static void relist(struct ir_operation *op, void *context)
{
    const struct ir_attribute *place = ir_attribute(op, IR_ATTRIBUTE_PLACE),
                              *start = ir_attribute(op, IR_ATTRIBUTE_START);
    int64_t list[IR_MAX_RANK];
    if (place) {
        for (int i = 0; i < place->count; i++)
            list[i] = place->list[i] > 0 ? replaced(context, place->list[i]) : place->list[i];
        ir_set_list(op, IR_ATTRIBUTE_PLACE, place->count, list);
    }
    if (start) {
        for (int i = 0; i < start->count; i++)
            list[i] = 0;
        ir_set_list(op, IR_ATTRIBUTE_START, start->count, list);
    }
}

/* One extent becomes 1 or its half wherever it stands; the last place halves them all. */
enum edit_result edit_extents(struct fuzz_program *program, int which, int size)
{
    struct extents extents = {0};
    (void)size;
    for (const struct ir_function *f = program->module->first; f; f = f->next)
        visit_block(f->body, collect, &extents);
    if (which > 2 * extents.count)
        return EDIT_END;
    struct replacement r = {program->module->context, 0, 0};
    if (which) {
        r.from = extents.value[(which - 1) / 2];
        r.to = which % 2 ? 1 : r.from / 2;
    }
    if (!extents.count)
        return EDIT_NONE;
    for (struct ir_function *f = program->module->first; f; f = f->next) {
        visit_block(f->body, retype, &r);
        for (int i = 0; i < f->results.count; i++)
            retype(&f->results.data[i], &r);
        ir_walk(f->body, relist, &r);
    }
    return EDIT_DONE;
}

/* ---- constants ---- */

enum edit_result edit_constants(struct fuzz_program *program, int which, int size)
{
    struct ir_operation *op = edit_operation(program, which / WAYS);
    int64_t number;
    (void)size;
    if (!op)
        return EDIT_END;
    if (op->opcode != OP_CONSTANT)
        return EDIT_NONE;
    enum ir_element element = op->results[0]->type->element;
    uint64_t bits = ir_attribute(op, IR_ATTRIBUTE_VALUE)->bits;
    bool integer = ir_constant_integer(op->results[0], &number);
    int64_t tries[WAYS] = {0, 1, integer ? number / 2 : 2};
    uint64_t made = ir_int_to_bits(element, tries[which % WAYS]);
    if (bits == 0 || made == bits || (integer && which % WAYS == 1 && number >= 0 && number < 2))
        return EDIT_NONE;
    if (!integer && bits == ir_int_to_bits(element, 1))
        return EDIT_NONE;
    if (!integer && which % WAYS == 2 && bits == ir_int_to_bits(element, 2))
        return EDIT_NONE;
    ir_set_bits(op, IR_ATTRIBUTE_VALUE, made);
    return EDIT_DONE;
}

/* The block of the nearest map, combining region or function around. */
static struct ir_block *top_of(struct ir_operation *op)
{
    struct ir_block *block = op->block;
    while (block->parent && !ir_is_isolated(block->parent))
        block = block->parent->block;
    return block;
}

/* Equal constants become one, at the top of the function or isolated region. */
enum edit_result edit_merge_constants(struct fuzz_program *program, int which, int size)
{
    (void)size;
    if (which)
        return EDIT_END;
    bool any = false;
    for (int i = 0; edit_operation(program, i); i++) {
        struct ir_operation *op = edit_operation(program, i);
        if (op->opcode != OP_CONSTANT)
            continue;
        struct ir_operation *first = top_of(op)->first, *same = first;
        while (same && (same == op || same->opcode != OP_CONSTANT || same->results[0]->type != op->results[0]->type ||
                        ir_attribute(same, IR_ATTRIBUTE_VALUE)->bits != ir_attribute(op, IR_ATTRIBUTE_VALUE)->bits))
            same = same->opcode == OP_CONSTANT ? same->next : NULL;
        if (same) {
            ir_replace_uses(op->results[0], same->results[0]);
            ir_remove(op);
            any = true;
            i--;
        } else if (op->block != top_of(op) || (op->previous && op->previous->opcode != OP_CONSTANT)) {
            ir_move_before(op, first);
            any = true;
        }
    }
    return any ? EDIT_DONE : EDIT_NONE;
}

/* ---- arguments and grid ---- */

static void forget(struct fuzz_program *program, int index)
{
    struct ir_function *function = program->function;
    struct ir_block *body = function->body;
    for (int i = index + 1; i < program->argument_count; i++) {
        body->arguments.data[i - 1] = body->arguments.data[i];
        body->arguments.data[i - 1]->index = i - 1;
        program->arguments[i - 1] = program->arguments[i];
        if (function->facts.count)
            function->facts.data[i - 1] = function->facts.data[i];
    }
    for (int i = index; i < program->argument_count - 1; i++)
        program->arguments[i].alias -= program->arguments[i].alias > index + 1;
    body->arguments.count--;
    program->argument_count--;
    if (function->facts.count)
        function->facts.count--;
}

/* Another view lies in its memory. */
static bool is_shared(const struct fuzz_program *program, int index)
{
    for (int i = 0; i < program->argument_count; i++)
        if (program->arguments[i].alias == index + 1)
            return true;
    return false;
}

/* The whole view anew with one extent smaller and strides packed; those written in the type go with it. */
static bool shrink_view(struct fuzz_program *program, int index, int dimension, int64_t extent)
{
    struct fuzz_argument *argument = &program->arguments[index];
    struct ir_type type = *argument->type;
    int64_t stride = 1;
    if (argument->absent || dimension >= type.rank || argument->extent[dimension] <= extent || argument->alias ||
        argument->windows || is_shared(program, index))
        return false;
    argument->extent[dimension] = extent;
    if (type.extent[dimension] != IR_DYNAMIC)
        type.extent[dimension] = extent;
    for (int d = type.rank - 1; d >= 0; d--) {
        if (type.stride[d] != IR_DYNAMIC && type.stride[d] != 1)
            return false;
        argument->stride[d] = stride;
        stride *= int64_max(argument->extent[d], 1);
    }
    argument->elements = stride;
    argument->type = ir_type_intern(program->module->context, &type);
    program->function->body->arguments.data[index]->type = argument->type;
    return true;
}

enum edit_result edit_arguments(struct fuzz_program *program, int which, int size)
{
    int index = which / 16, way = which % 16;
    (void)size;
    if (index == program->argument_count) { /* the grid comes last */
        int d = way / 2;
        if (d >= program->function->grid_rank || program->grid[d] <= 1)
            return EDIT_NONE;
        program->grid[d] = way % 2 ? program->grid[d] / 2 : 1;
        return EDIT_DONE;
    }
    if (index > program->argument_count)
        return EDIT_END;
    const struct ir_value *value = program->function->body->arguments.data[index];
    if (way == 0) {
        if (value->uses || is_shared(program, index))
            return EDIT_NONE;
        forget(program, index);
        return EDIT_DONE;
    }
    struct fuzz_argument *argument = &program->arguments[index];
    if (argument->type->kind != IR_VIEW) {
        if (way != 1 || !argument->bits)
            return EDIT_NONE;
        argument->bits = 0;
        return EDIT_DONE;
    }
    if (way == 1 && argument->content == FUZZ_WILD) {
        argument->content = FUZZ_SMALL_INTEGERS;
        return EDIT_DONE;
    }
    int d = (way - 2) / 2;
    int64_t extent = way % 2 ? argument->extent[d] / 2 : 1;
    return way >= 2 && shrink_view(program, index, d, extent) ? EDIT_DONE : EDIT_NONE;
}
