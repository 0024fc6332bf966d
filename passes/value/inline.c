/* Inline: a call becomes the body of the function it names.
 *
 *     %r = call callee(@twice) %x : f32            %s = add %x, %x : f32
 *     use %r                                  ->   use %s
 *
 * Right because a function is one block that ends in its only return: its operations stand in the place of the call,
 * its parameters are the operands, its results what it returns.  Calls inside the body are inlined in turn.  A function
 * that asks not to be (noinline), or that reaches itself, stays. */
#include "passes/base/pass.h"
#include "passes/base/rewrite.h"

enum { CALL_LIMIT = 100000 };

struct search {
    const struct ir_function *wanted;
    struct ir_module *module;
    const struct ir_function **path;
    int depth;
    bool found;
};

static void search_calls(struct ir_block *block, struct search *search);

static void search_call(struct ir_operation *op, void *data)
{
    struct search *search = data;
    if (op->opcode != OP_CALL || search->found)
        return;
    struct ir_function *callee = ir_function_find(search->module, ir_attribute(op, IR_ATTRIBUTE_CALLEE)->name);
    if (callee == search->wanted)
        search->found = true;
    for (int i = 0; i < search->depth; i++)
        if (search->path[i] == callee)
            return;
    if (!callee || search->found)
        return;
    search->path[search->depth++] = callee; /* seen once is enough: never taken off again */
    search_calls(callee->body, search);
}

static void search_calls(struct ir_block *block, struct search *search) { ir_walk(block, search_call, search); }

static bool reaches_itself(struct ir_function *function, struct arena *arena)
{
    int count = 0;
    for (const struct ir_function *each = function->module->first; each; each = each->next)
        count++;
    struct search search = {.wanted = function,
                            .module = function->module,
                            .path = ARENA_ARRAY(arena, const struct ir_function *, count + 1)};
    search_calls(function->body, &search);
    return search.found;
}

static void inline_call(struct ir_operation *call, const struct ir_function *callee, struct arena *arena)
{
    struct ir_value **map = ARENA_ARRAY(arena, struct ir_value *, callee->next_value_id);
    struct ir_builder builder = rewrite_before(call);
    for (int i = 0; i < call->operand_count; i++)
        map[callee->body->arguments.data[i]->id] = call->operands[i];
    const struct ir_operation *end = ir_terminator(callee->body);
    for (const struct ir_operation *op = callee->body->first; op != end; op = op->next)
        ir_clone(&builder, op, map);
    for (int i = 0; i < call->result_count; i++) {
        struct ir_value *result = map[end->operands[i]->id];
        if (!result->name)
            result->name = call->results[i]->name;
        ir_replace_uses(call->results[i], result);
    }
    ir_remove(call);
}

static struct ir_operation *find_call(struct ir_block *block, struct pass_context *context,
                                      struct ir_function *function, struct ir_function **callee)
{
    for (struct ir_operation *op = block->first; op; op = op->next) {
        if (op->opcode == OP_CALL) {
            *callee = ir_function_find(function->module, ir_attribute(op, IR_ATTRIBUTE_CALLEE)->name);
            if (*callee && *callee != function && !(*callee)->no_inline && !reaches_itself(*callee, context->arena))
                return op;
        }
        for (int i = 0; i < op->region_count; i++) {
            struct ir_operation *found = find_call(op->regions[i], context, function, callee);
            if (found)
                return found;
        }
    }
    return NULL;
}

bool pass_inline(struct ir_function *function, struct pass_context *context)
{
    struct ir_function *callee;
    struct ir_operation *call;
    int done = 0;
    while (done < CALL_LIMIT && (call = find_call(function->body, context, function, &callee)) && pass_fuel(context)) {
        inline_call(call, callee, context->arena);
        done++;
    }
    return done > 0;
}
