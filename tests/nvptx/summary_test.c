/* The line that says what an instance became: products once each, what stands in front of the semicolon and behind. */
#include <stdio.h>
#include <string.h>

#include "ir/text.h"
#include "ir/verify/verify.h"
#include "targets/nvptx/assemble/assemble.h"

struct product {
    int m, n, k;
    const char *instruction;
};

static const struct {
    struct product products[7];
    int warps;
    struct kernel_gpu_code code;
    const char *line;
} cases[] = {
    {{{0}}, 4, {.registers = 32}, "4 warps; 32 registers, no spills, no shared memory"},
    {{{0}},
     1,
     {.registers = 40, .spill_stores = 8, .spill_loads = 4, .local_bytes = 16, .shared_bytes = 2048},
     "1 warp; 40 registers, spills: 8 bytes stored, 4 loaded, 16 bytes local, 2 KiB shared"},
    {{{16, 8, 32, "fma"}, {16, 8, 32, "fma"}},
     2,
     {.registers = 40, .spill_loads = 4, .shared_bytes = 1000},
     "multiply-adds 16x8x32, 2 warps; 40 registers, spills: 0 bytes stored, 4 loaded, 1000 bytes shared"},
    {{{16, 8, 32, "fma"}, {16, 16, 32, "fma"}, {16, 8, 16, "fma"}, {32, 8, 32, "fma"}},
     2,
     {.registers = 40, .cluster = 2, .persistent = 1, .shared_bytes = 102401},
     "multiply-adds 16x8x32 and 16x16x32 and 16x8x16 and 32x8x32, 2 warps, clusters of 2, persistent; 40 registers, "
     "no spills, 101 KiB shared"},
    {{{16, 8, 32, "fma"},
      {16, 16, 32, "mma"},
      {16, 8, 16, "mma"},
      {32, 8, 32, "fma"},
      {64, 8, 32, "fma"},
      {64, 8, 64, "fma"}},
     2,
     {.registers = 40, .cluster = 1},
     "multiply-adds 16x8x32, mma.sync 16x16x32 and 16x8x16, multiply-adds 32x8x32 and more, 2 warps; 40 registers, "
     "no spills, no shared memory"}};

static const char *text_of(struct arena *arena, const struct product *products, int warps)
{
    const char *text = arena_printf(arena, "kernel @k() grid(1) warps(%d) {\n", warps);
    for (int i = 0; products[i].m; i++) {
        const struct product *p = &products[i];
        text = arena_printf(arena,
                            "%s    %%a%d = constant value(0.0) : f16[%d, %d]\n"
                            "    %%b%d = constant value(0.0) : f16[%d, %d]\n"
                            "    %%c%d = constant value(0.0) : f32[%d, %d]\n"
                            "    %%d%d = dot instruction(%s) %%a%d, %%b%d, %%c%d : f32[%d, %d]\n",
                            text, i, p->m, p->k, i, p->k, p->n, i, p->m, p->n, i, p->instruction, i, i, i, p->m, p->n);
    }
    return arena_printf(arena, "%s    return\n}\n", text);
}

int main(void)
{
    int failures = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *arena = arena_create();
        struct diagnostics *diagnostics = diagnostics_create(arena);
        struct source source = {.name = "kernel", .text = text_of(arena, cases[i].products, cases[i].warps)};
        source.size = strlen(source.text);
        struct ir_module *module = ir_parse_module(ir_context_create(arena), arena, diagnostics, &source);
        const char *line = module ? nvptx_summary(arena, module->first, &cases[i].code) : "no kernel";
        if (strcmp(line, cases[i].line)) {
            failures++;
            printf("%s\n    wanted: %s\n", line, cases[i].line);
            diag_print(diagnostics, stdout, false);
        }
        arena_destroy(arena);
    }
    return failures != 0;
}
