/* Any bytes as source for the whole front end: it must report or give a module, and not crash, hang or leave IR that
 * the verifier refuses.  Not part of make check;
 * `make fuzz` builds it with a clang that has libFuzzer and runs it (tests/fuzz/long-run). */
#include "front/front.h"
#include "ir/verify/verify.h"

#include <stdlib.h>
#include <string.h>

static const char *target_name(int target) { return target == 0 ? "cpu" : "sm_80"; }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int targets[] = {0};
    struct arena *arena = arena_create();
    char *text = malloc(size + 1);
    memcpy(text, data, size);
    text[size] = 0;
    struct source source = {.name = "fuzz.tile", .text = text, .size = size};
    struct front_options options = {
        .arena = arena,
        .context = ir_context_create(arena),
        .diagnostics = diagnostics_create(arena),
        .max_instances = 1,
        .target_count = 1,
        .targets = targets,
        .target_name = target_name,
    };
    options.diagnostics->limit = 20;
    struct kernel_module *module = front_compile(&options, &source, NULL, NULL);
    if (!module && options.diagnostics->errors == 0)
        abort();
    for (int i = 0; module && i < module->entries.count; i++) {
        const struct kernel_entry *entry = &module->entries.data[i];
        for (int k = 0; k < entry->variants.count; k++)
            if (!ir_verify_module(entry->variants.data[k].module, options.diagnostics)) {
                diag_print(options.diagnostics, stderr, false);
                abort();
            }
    }
    free(text);
    arena_destroy(arena);
    return 0;
}
