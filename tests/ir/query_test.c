/* Where values and operations stand to each other: in nests, in branches, as arguments and results. */
#include "ir/query.h"

#include <string.h>

#include "ir/text.h"

static int failures;

static const char text[] = "kernel @k(%x: view<i32, [?], [1], inout>, %n: index) grid(1) {\n"
                           "    %zero = constant value(0) : index\n"
                           "    %one = constant value(1) : index\n"
                           "    %first = constant value(1) : i32\n"
                           "    %outer = for %i: index = %zero to %n step %one iter(%a: i32 = %first) {\n"
                           "        %in_outer = add %a, %first : i32\n"
                           "        %inner = for %j: index = %zero to %i step %one iter(%b: i32 = %in_outer) {\n"
                           "            %in_inner = add %b, %a : i32\n"
                           "            yield %in_inner\n"
                           "        }\n"
                           "        yield %inner\n"
                           "    }\n"
                           "    %behind = add %outer, %first : i32\n"
                           "    store %x[%zero], %behind\n"
                           "    return\n"
                           "}\n";

static struct ir_value *find(const struct ir_block *block, const char *name)
{
    struct ir_value *found = NULL;
    for (int i = 0; i < block->arguments.count; i++)
        if (block->arguments.data[i]->name && !strcmp(block->arguments.data[i]->name, name))
            return block->arguments.data[i];
    for (const struct ir_operation *op = block->first; op && !found; op = op->next) {
        for (int i = 0; i < op->result_count; i++)
            if (op->results[i]->name && !strcmp(op->results[i]->name, name))
                return op->results[i];
        for (int r = 0; r < op->region_count && !found; r++)
            found = find(op->regions[r], name);
    }
    return found;
}

static void expect(bool is, bool wanted, const char *what, const char *name)
{
    if (is == wanted)
        return;
    failures++;
    printf("%%%s %s\n", name, what);
}

int main(void)
{
    static const struct {
        const char *name;
        bool in_outer, in_inner;
    } values[] = {{"n", 0, 0},        {"zero", 0, 0},  {"outer", 0, 0},    {"behind", 0, 0}, {"i", 1, 0}, {"a", 1, 0},
                  {"in_outer", 1, 0}, {"inner", 1, 0}, {"in_inner", 1, 1}, {"j", 1, 1},      {"b", 1, 1}};
    struct arena *arena = arena_create();
    struct diagnostics *diagnostics = diagnostics_create(arena);
    const struct source source = {"test", text, sizeof text - 1, NULL};
    struct ir_module *module = ir_parse_module(ir_context_create(arena), arena, diagnostics, &source);
    if (!module) {
        diag_print(diagnostics, stdout, false);
        return 1;
    }
    const struct ir_block *body = module->first->body;
    const struct ir_operation *outer = find(body, "outer")->definition, *inner = find(body, "inner")->definition;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        const char *name = values[i].name;
        const struct ir_value *value = find(body, name);
        expect(ir_is_inside(value, outer), values[i].in_outer, "inside the outer loop", name);
        expect(ir_is_inside(value, inner), values[i].in_inner, "inside the inner loop", name);
        expect(ir_block_holds(body, value->block), true, "held by the body", name);
        expect(ir_block_holds(outer->regions[0], value->block), values[i].in_outer, "held by the outer loop", name);
        expect(ir_block_holds(value->block, outer->regions[0]), !values[i].in_inner, "around the outer loop", name);
        if (!value->definition)
            continue;
        bool in_loop = values[i].in_outer;
        expect(ir_is_in_loop(value->definition), in_loop, "in a loop", name);
        expect(ir_ancestor_in(body, value->definition) == (in_loop ? outer : value->definition), true, "'s ancestor",
               name);
        expect(!ir_ancestor_in(inner->regions[0], value->definition), !values[i].in_inner, "'s ancestor inside", name);
    }
    arena_destroy(arena);
    return failures > 0;
}
