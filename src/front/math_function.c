/* front_math_function: the bodies of the IR's math functions, from the library written in the language itself. */
#include "front/open.h"
#include "front/walk/walk.h"

#include <string.h>

static struct global *find_function(struct file_scope *scope, const char *name)
{
    for (struct global *g = scope->first; g; g = g->next)
        if (strcmp(g->name, name) == 0 && g->declaration->kind == DECLARATION_FN)
            return g;
    return NULL;
}

static bool build_function(struct front *front, struct ir_function *function, struct global *global, enum ir_math math,
                           enum ir_element element)
{
    struct elaborator e;
    struct value arguments[2];
    const struct ast_declaration *d = global->declaration;
    const struct ir_type *type = ir_type_scalar(front->options->context, element);
    elaborator_init(&e, front, global->file);
    e.function = function;
    e.builder = (struct ir_builder){function->module, function->body, NULL, d->at};
    for (int i = 0; i < d->parameters.count && i < 2; i++)
        arguments[i] = value_run(ir_block_argument(function->body, type, d->parameters.data[i]->name.text), d->at);
    struct value result = call_with_values(&e, global, d->parameters.count, arguments, d->at);
    result = value_materialize(&e, result);
    if (e.errors || result.kind != VALUE_RUN)
        return false;
    (void)math;
    vector_push(front->arena, &function->results, result.run->type);
    ir_build(&e.builder, OP_RETURN, 1, &result.run, 0, NULL);
    return true;
}

/* The library's functions of mathematics, as `main`: without what the command line defines. */
static struct front *read_math(const struct front_options *options)
{
    struct front_options *own = ARENA_NEW(options->arena, struct front_options);
    *own = *options;
    own->define_count = 0;
    struct front *front = front_open(own);
    front->main = front_read_library(front, "std/math.tile");
    return front;
}

struct ir_function *front_math_function(const struct front_options *options, struct ir_module *module,
                                        enum ir_math math, enum ir_element element)
{
    static const char *const words[] = {
#define X(id, text) text,
        IR_MATHS(X)
#undef X
    };
    const char *name = arena_printf(options->arena, "std.%s.%s", words[math], ir_element_info[element].text);
    struct ir_function *known = ir_function_find(module, name);
    if (known)
        return known;
    struct front *front = options->library && *options->library ? *options->library : read_math(options);
    if (options->library)
        *options->library = front;
    struct global *global = find_function(
        front->main, arena_printf(options->arena, "%s_%s", words[math], ir_element_info[element].text));
    if (!global)
        return NULL;
    struct ir_function *function = ir_function_create(module, name, global->declaration->at);
    if (!build_function(front, function, global, math, element)) {
        diag_print(front->diagnostics, stderr, false);
        die("the library's %s does not compile", name);
    }
    return function;
}
