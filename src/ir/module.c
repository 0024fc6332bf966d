/* Modules, functions and blocks. */
#include <string.h>

#include "ir/plan.h"

struct ir_module *ir_module_create(struct ir_context *context, struct arena *arena)
{
    struct ir_module *module = ARENA_NEW(arena, struct ir_module);
    module->arena = arena;
    module->context = context;
    return module;
}

struct ir_function *ir_function_create(struct ir_module *module, const char *name, struct location at)
{
    struct ir_function *function = ARENA_NEW(module->arena, struct ir_function);
    function->name = intern(ir_context_names(module->context), name);
    function->module = module;
    function->at = at;
    function->body = ir_block_create(function, NULL);
    if (module->last)
        module->last->next = function;
    else
        module->first = function;
    module->last = function;
    return function;
}

struct ir_function *ir_function_find(const struct ir_module *module, const char *name)
{
    for (struct ir_function *function = module->first; function; function = function->next)
        if (!strcmp(function->name, name))
            return function;
    return NULL;
}

void ir_function_remove(struct ir_function *function)
{
    struct ir_module *module = function->module;
    struct ir_function **link = &module->first, *previous = NULL;
    while (*link && *link != function) {
        previous = *link;
        link = &(*link)->next;
    }
    if (!*link)
        die("function '%s' is not in its module", function->name);
    *link = function->next;
    if (module->last == function)
        module->last = previous;
}

struct ir_block *ir_block_create(struct ir_function *function, struct ir_operation *parent)
{
    struct ir_block *block = ARENA_NEW(function->module->arena, struct ir_block);
    block->function = function;
    block->parent = parent;
    return block;
}

struct ir_value *ir_block_argument(struct ir_block *block, const struct ir_type *type, const char *name)
{
    struct ir_function *function = block->function;
    struct ir_value *value = ARENA_NEW(function->module->arena, struct ir_value);
    value->type = type;
    value->block = block;
    value->index = block->arguments.count;
    value->name = name;
    value->id = function->next_value_id++;
    vector_push(function->module->arena, &block->arguments, value);
    return value;
}

struct ir_operation *ir_terminator(const struct ir_block *block)
{
    struct ir_operation *last = block->last;
    return last && (ir_op_info[last->opcode].traits & IR_TRAIT_TERMINATOR) ? last : NULL;
}

int ir_choose_among(uint64_t set, int number)
{
    for (int distance = 0; set && distance < 64; distance++)
        for (int side = -1; side <= 1; side += 2) {
            int member = number + side * distance;
            if (member >= 0 && member < 64 && (set >> member & 1))
                return member;
        }
    for (int member = 63; set && member >= 0; member--) /* far above all of them */
        if (set >> member & 1)
            return member;
    return number;
}

struct ir_function *ir_function_clone(struct ir_module *module, const struct ir_function *function, const char *name)
{
    struct ir_function *copy = ir_function_create(module, name, function->at);
    struct ir_block *body = copy->body;
    struct ir_function *next = copy->next;
    struct ir_value **map = ARENA_ARRAY(module->arena, struct ir_value *, function->next_value_id);
    *copy = *function;
    copy->name = intern(ir_context_names(module->context), name);
    copy->module = module;
    copy->body = body;
    copy->next = next;
    copy->next_value_id = 0;
    copy->results.data = NULL;
    copy->results.count = copy->results.capacity = 0;
    copy->plan = function->plan ? ir_plan_copy(module->arena, function->plan) : NULL;
    copy->facts.data = NULL;
    copy->facts.count = copy->facts.capacity = 0;
    for (int i = 0; i < function->results.count; i++)
        vector_push(module->arena, &copy->results, function->results.data[i]);
    for (int i = 0; i < function->facts.count; i++)
        vector_push(module->arena, &copy->facts, function->facts.data[i]);
    for (int i = 0; i < function->body->arguments.count; i++) {
        const struct ir_value *argument = function->body->arguments.data[i];
        map[argument->id] = ir_block_argument(body, argument->type, argument->name);
    }
    struct ir_builder builder = {.module = module, .block = body};
    for (const struct ir_operation *operation = function->body->first; operation; operation = operation->next)
        ir_clone(&builder, operation, map);
    return copy;
}

void ir_walk(struct ir_block *block, void (*visit)(struct ir_operation *operation, void *context), void *context)
{
    for (struct ir_operation *operation = block->first, *next; operation; operation = next) {
        next = operation->next;
        int regions = operation->region_count;
        struct ir_block **region = operation->regions;
        visit(operation, context);
        if (operation->block) /* not removed by the visit */
            for (int i = 0; i < regions; i++)
                ir_walk(region[i], visit, context);
    }
}
