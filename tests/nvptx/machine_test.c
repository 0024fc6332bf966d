/* Products at the Machine level, assembled for sm_90a: whatever the extents, element and direction of the factors,
 * ptxas must keep wgmma asynchronous, spill nothing and find no local memory, and the loop over k must hold HGMMA and
 * move nothing into uniform registers.
 *   machine_test                 all cases
 *   machine_test --print N       the text of case N
 *   machine_test FILE NAME       a file of the Machine level to NAME.ptx, .cubin and .launch, the same questions */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "ir/facts/shared_form.h"
#include "ir/text.h"
#include "ir/verify/verify.h"
#include "support/machine_product.h"
#include "targets/target.h"

#define TYPES(factor, size, into, result, result_size) \
    .element = factor, .bytes = size, .sum = into, .out = result, .out_bytes = result_size
static const struct machine_product products[] = {
    {TYPES("bf16", 2, "f32", "bf16", 2), .m = 128, .n = 256, .k = 64, .stages = 4, .warps = 8, .panel = 64, .staged = 2,
     .registers = {232, 40}},
    {TYPES("bf16", 2, "f32", "bf16", 2), .m = 128, .n = 256, .k = 64, .stages = 4, .warps = 8, .b_across = true,
     .panel = 64, .staged = 2, .registers = {232, 40}},
    {TYPES("f16", 2, "f32", "f16", 2), .m = 128, .n = 128, .k = 64, .stages = 3, .warps = 8, .a_across = true,
     .b_across = true, .panel = 64, .staged = 1, .registers = {232, 40}},
    {TYPES("bf16", 2, "f32", "bf16", 2), .m = 192, .n = 192, .k = 64, .stages = 3, .warps = 12, .b_across = true,
     .panel = 64, .staged = 1, .registers = {160, 32}},
    {TYPES("bf16", 2, "f32", "bf16", 2), .m = 256, .n = 96, .k = 128, .stages = 2, .warps = 8, .panel = 32, .staged = 1,
     .registers = {232, 40}},
    {TYPES("bf16", 2, "f32", "f32", 4), .m = 64, .n = 192, .k = 32, .stages = 4, .warps = 4, .panel = 64, .staged = 0,
     .registers = {0, 0}},
    {TYPES("f32", 4, "f32", "f32", 4), .m = 128, .n = 128, .k = 32, .stages = 4, .warps = 8, .panel = 32, .staged = 2,
     .registers = {232, 40}},
    {TYPES("f8e4m3", 1, "f32", "bf16", 2), .m = 128, .n = 256, .k = 128, .stages = 4, .warps = 8, .panel = 64,
     .staged = 2, .registers = {232, 40}},
    {TYPES("i8", 1, "i32", "i32", 4), .m = 64, .n = 64, .k = 64, .stages = 2, .warps = 4, .panel = 64, .staged = 0,
     .registers = {0, 0}},
    {TYPES("bf16", 2, "f32", "bf16", 2), .m = 128, .n = 128, .k = 128, .stages = 2, .warps = 8, .b_across = true,
     .panel = 64, .staged = 1, .by_registers = true, .registers = {232, 40}},
    {TYPES("f16", 2, "f32", "f16", 2), .m = 64, .n = 256, .k = 64, .stages = 2, .warps = 4, .a_across = true,
     .panel = 64, .staged = 1, .by_registers = true, .registers = {0, 0}},
    {TYPES("f8e4m3", 1, "f32", "f16", 2), .m = 128, .n = 64, .k = 64, .stages = 2, .warps = 4, .panel = 64, .staged = 1,
     .by_registers = true, .registers = {0, 0}},
    {TYPES("f32", 4, "f32", "f32", 4), .m = 64, .n = 64, .k = 32, .stages = 2, .warps = 4, .panel = 32, .staged = 1,
     .by_registers = true, .registers = {0, 0}},
    {TYPES("bf16", 2, "f32", "bf16", 2), .m = 192, .n = 96, .k = 32, .stages = 3, .warps = 4, .a_across = true,
     .b_across = true, .panel = 32, .staged = 3, .registers = {0, 0}},
    {TYPES("bf16", 2, "f32", "bf16", 2), .m = 64, .n = 48, .k = 64, .stages = 3, .warps = 4, .b_across = true,
     .panel = 16, .staged = 3, .registers = {0, 0}},
};
enum { PRODUCTS = sizeof products / sizeof *products };

static int failures;

static void fail(const char *name, const char *what, const char *detail)
{
    printf("%s: %s%s%s\n", name, what, detail ? ": " : "", detail ? detail : "");
    failures++;
}

/* ---- machine code ---- */

/* The start of the line behind, or NULL. */
static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');
    return end && end[1] ? end + 1 : NULL;
}

static bool line_has(const char *line, const char *word)
{
    const char *at = strstr(line, word), *end = strchr(line, '\n');
    return at && (!end || at < end);
}

static int count_between(const char *from, const char *to, const char *word)
{
    int count = 0;
    for (const char *line = from; line && line < to; line = next_line(line))
        count += line_has(line, word);
    return count;
}

/* The label a branch goes to, when it stands above the branch: where the loop begins. */
static const char *loop_start(struct arena *arena, const char *text, const char *line)
{
    const char *at = strstr(line, "`(.L_x_"), *close = at ? strchr(at, ')') : NULL;
    if (!at || !close)
        return NULL;
    char *label = arena_printf(arena, "\n%.*s:", (int)(close - at - 2), at + 2);
    const char *found = strstr(text, label);
    return found && found < line ? found + 1 : NULL;
}

/* The loop over k is the shortest way back across products: longer ones are the loop over programs, and the way back of
 * a wait, whose code stands behind everything. */
static void check_code(struct arena *arena, const char *name, const char *code)
{
    const char *start = NULL, *end = NULL;
    for (const char *line = code; line; line = next_line(line)) {
        const char *from = line_has(line, "BRA") ? loop_start(arena, code, line) : NULL;
        if (!from || !count_between(from, line, "GMMA."))
            continue; /* HGMMA, IGMMA, QGMMA */
        if (start && line - from > end - start)
            continue;
        start = from;
        end = line;
    }
    if (!start) {
        fail(name, "no product in a loop", NULL);
        return;
    }
    int moves = count_between(start, end, "R2UR");
    if (moves)
        fail(name, "moves to uniform registers in the loop over k", arena_printf(arena, "%d", moves));
}

static void disassemble(struct arena *arena, const char *name, const struct kernel_image *image)
{
    const char *tool = getenv("NVDISASM");
    if (!tool || !*tool)
        return;
    const char *where = getenv("TMPDIR");
    char path[512];
    snprintf(path, sizeof path, "%s/tilecc-test-XXXXXX", where && *where ? where : "/tmp");
    int file = mkstemp(path);
    if (file < 0 || write(file, image->data, image->size) != (ssize_t)image->size)
        die("%s: %s", path, strerror(errno));
    close(file);
    const char *arguments[] = {tool, "-c", path, NULL};
    struct child_limits limits = {.seconds = 60, .output_bytes = 64u << 20};
    struct child_result result = {0};
    if (!child_run(arguments, ".", "", 0, limits, &result))
        fail(name, "nvdisasm failed", NULL);
    else
        check_code(arena, name, arena_substring(arena, result.output.data, result.output.size));
    unlink(path);
    buffer_free(&result.output);
    buffer_free(&result.errors);
}

/* ---- a case ---- */

static void check_texts(const char *name, const char *ptx, const char *notes, int64_t local)
{
    static const char *const bad[] = {"serialized", "(C75", "Warning", "warning"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (strstr(notes, bad[i]))
            fail(name, "ptxas complains", strstr(notes, bad[i]));
    if (!strstr(notes, " 0 bytes spill stores, 0 bytes spill loads"))
        fail(name, "ptxas spills", notes);
    if (local)
        fail(name, "there is local memory", NULL);
    if (strstr(ptx, "__local_depot"))
        fail(name, "a tensor map is copied to local memory", NULL);
    if (!strstr(ptx, "wgmma.mma_async"))
        fail(name, "there is no wgmma", NULL);
}

static void write_file(const char *name, const char *suffix, const void *data, size_t size)
{
    char path[4096];
    snprintf(path, sizeof path, "%s%s", name, suffix);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file))
        die("%s: %s", path, strerror(errno));
}

/* What a launch by hand needs: threads, bytes, then a line a tensor map: argument, element, swizzle, dimension:box … */
static void write_launch(const char *name, const struct kernel_gpu_code *code)
{
    struct buffer text = {0};
    buffer_printf(&text, "%d %lld\n", code->threads, (long long)code->shared_bytes);
    for (int i = 0; i < code->map_count; i++) {
        const struct tensor_map *map = &code->maps[i];
        buffer_printf(&text, "%d %s %d", map->argument, ir_element_info[map->element].text, map->swizzle);
        for (int d = 0; d < map->rank; d++)
            buffer_printf(&text, " %d:%d", map->dimension[d], map->box[d]);
        buffer_putc(&text, '\n');
    }
    write_file(name, ".launch", text.data, text.size);
    buffer_free(&text);
}

static void check_text(const char *name, const struct buffer *text, const char *ptxas, const char *keep)
{
    struct arena *arena = arena_create();
    struct diagnostics *diagnostics = diagnostics_create(arena);
    struct ir_context *context = ir_context_create(arena);
    char *notes = NULL;
    size_t notes_size = 0;
    FILE *log = open_memstream(&notes, &notes_size);
    struct target_options options = {.arena = arena,
                                     .context = context,
                                     .diagnostics = diagnostics,
                                     .ptxas = ptxas,
                                     .optimization = 2,
                                     .jobs = 1,
                                     .want_ptx = true,
                                     .resource_usage = true,
                                     .log = log};
    struct source source = {name, text->data, text->size, NULL};
    struct ir_module *module = ir_parse_module(context, arena, diagnostics, &source);
    struct kernel_module images = {.source_name = name};
    struct kernel_variant variant = {
        .target = target_find("sm_90a"), .module = module, .function = module ? module->first : NULL};
    struct nvptx_task task = {NULL, &variant};
    bool good = module && ir_verify_module(module, diagnostics) && nvptx_compile(&options, &images, 1, &task);
    fclose(log);
    if (!good) {
        fail(name, "not compiled", NULL);
        diag_print(diagnostics, stdout, false);
    } else {
        const struct kernel_image *image = &images.images.data[0];
        if (keep) {
            write_file(keep, ".ptx", image->ptx, strlen(image->ptx));
            write_file(keep, ".cubin", image->data, image->size);
            write_launch(keep, &variant.gpu);
            printf("%s", notes);
        }
        check_texts(name, image->ptx, notes, variant.gpu.local_bytes);
        disassemble(arena, name, image);
        if (variant.gpu.map_count < 2)
            fail(name, "tensor maps are missing", NULL);
        if (variant.gpu.persistent != 1)
            fail(name, "blocks are not persistent", NULL);
    }
    free(notes);
    arena_destroy(arena);
}

static void make_text(int number, struct buffer *out)
{
    struct arena *arena = arena_create();
    struct ir_context *context = ir_context_create(arena);
    machine_product_text(arena, ir_context_layouts(context), &products[number], out);
    arena_destroy(arena);
}

int main(int argc, char **argv)
{
    const char *ptxas = getenv("PTXAS");
    struct buffer text = {0};
    if (argc == 3 && strcmp(argv[1], "--print") == 0) {
        make_text((int)strtol(argv[2], NULL, 10) % PRODUCTS, &text);
        fwrite(text.data, 1, text.size, stdout);
        return 0;
    }
    if (!ptxas || !*ptxas) {
        printf("no ptxas\n");
        return 0;
    }
    if (argc == 3) {
        FILE *file = fopen(argv[1], "rb");
        if (!file)
            die("%s: %s", argv[1], strerror(errno));
        for (int c; (c = getc(file)) != EOF;)
            buffer_putc(&text, (char)c);
        fclose(file);
        check_text(argv[1], &text, ptxas, argv[2]);
        return failures != 0;
    }
    for (int i = 0; i < PRODUCTS; i++) {
        char name[64];
        snprintf(name, sizeof name, "product %d, %s %dx%dx%d", i, products[i].element, products[i].m, products[i].n,
                 products[i].k);
        text.size = 0;
        make_text(i, &text);
        check_text(name, &text, ptxas, NULL);
    }
    buffer_free(&text);
    printf("%d products, %d failures\n", PRODUCTS, failures);
    return failures != 0;
}
