/* Any bytes as tile IR: the reader must report and return; what it accepts must print to something that it accepts
 * again with the same print; the verifier must not fall over it; and what that accepts must go through every pass of
 * the Value level that needs no target.  Not part of make check;
 * `make fuzz` builds it with a clang that has libFuzzer and runs it (tests/fuzz/long-run). */
#include <stdlib.h>
#include <string.h>

#include "ir/text.h"
#include "ir/verify/verify.h"
#include "passes/run.h"

static struct ir_module *parse(struct arena *arena, const char *text, size_t size)
{
    struct diagnostics *diagnostics = diagnostics_create(arena);
    struct source *source = ARENA_NEW(arena, struct source);
    *source = (struct source){"fuzz.tir", text, size, NULL};
    struct ir_module *module = ir_parse_module(ir_context_create(arena), arena, diagnostics, source);
    if ((module == NULL) != (diagnostics->errors > 0))
        abort();
    return module;
}

/* The print is read back to the same print. */
static void check_print(struct arena *arena, const struct ir_module *module)
{
    struct buffer once = {0}, twice = {0};
    ir_print_module(&once, module, false);
    buffer_puts(&once, "");
    struct ir_module *again = parse(arena, once.data, once.size);
    if (!again)
        abort();
    ir_print_module(&twice, again, false);
    buffer_puts(&twice, "");
    if (once.size != twice.size || memcmp(once.data, twice.data, once.size))
        abort();
    buffer_free(&once);
    buffer_free(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_create();
    char *exact = malloc(size ? size : 1); /* no byte behind the end: reading one is found */
    memcpy(exact, data, size);
    struct ir_module *module = parse(arena, exact, size);
    struct diagnostics *diagnostics = diagnostics_create(arena);
    if (module && ir_verify_module(module, diagnostics)) {
        check_print(arena, module);
        struct pass_context context = {.arena = arena, .diagnostics = diagnostics, .remarks = true};
        for (int i = 0; i < pass_count; i++) {
            const struct pass_info *pass = &pass_table[i];
            struct pass_run run = {.passes = &pass, .count = 1};
            bool runs = pass->in == IR_LEVEL_VALUE && pass->out == IR_LEVEL_VALUE;
            for (struct ir_function *function = module->first; function && runs; function = function->next)
                if (function->level == IR_LEVEL_VALUE && !pass_run_all(&run, function, &context))
                    abort();
        }
        check_print(arena, module);
    }
    free(exact);
    arena_destroy(arena);
    return 0;
}
