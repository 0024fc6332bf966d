/* Lanes that a branch parts must meet again before the warp does something as a whole.  ptxas (13.0) forgets that
 * behind some accesses under predicates (see ptx_end_arm), so its code is looked at: that of random kernels here, that
 * of files that are named.  A look that finds nothing once the places to meet are taken from the same code has looked
 * at nothing.
 *     joins_test [FILE.cubin …]         joins_test --seeds FIRST COUNT
 * Needs ptxas and nvdisasm; without them nothing is tested. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "fuzz/support/generate_product.h"
#include "fuzz/support/generate_row.h"
#include "ir/text.h"
#include "ir/verify/verify.h"
#include "passes/run.h"
#include "support/sass.h"
#include "targets/nvptx/assemble/assemble.h"

enum { KERNELS = 8, FIRST_SEED = 4000 };
static int failures, branches, found, found_without;

/* Standard output of a program, or NULL. */
static const char *output_of(struct arena *arena, const char *const *arguments)
{
    struct child_limits limits = {.seconds = 60, .output_bytes = 64u << 20};
    struct child_result result = {0};
    const char *text = NULL;
    if (child_run(arguments, ".", "", 0, limits, &result))
        text = arena_substring(arena, result.output.data, result.output.size);
    buffer_free(&result.output);
    buffer_free(&result.errors);
    return text;
}

/* The text less what makes lanes meet. */
static const char *without_places(struct arena *arena, const char *text)
{
    struct buffer out = {0};
    for (const char *line = text, *end; *line; line = end) {
        end = line + strcspn(line, "\n");
        end += *end == '\n';
        const char *alone = arena_substring(arena, line, (size_t)(end - line));
        if (!strstr(alone, "BSSY") && !strstr(alone, "BSYNC") && !strstr(alone, "WARPSYNC"))
            buffer_puts(&out, alone);
    }
    const char *kept = arena_substring(arena, out.data ? out.data : "", out.size);
    buffer_free(&out);
    return kept;
}

static void look(struct arena *arena, const char *name, const char *cubin)
{
    struct buffer told = {0};
    int unused = 0;
    const char *text = output_of(arena, (const char *[]){getenv("NVDISASM"), "-c", cubin, NULL});
    if (!text) {
        printf("%s: nvdisasm failed\n", name);
        failures++;
        return;
    }
    found_without += sass_find_parted(arena, without_places(arena, text), &told, &unused);
    told.size = 0;
    int here = sass_find_parted(arena, text, &told, &branches);
    if (here)
        printf("%s: %.*s", name, (int)told.size, told.data);
    found += here;
    buffer_free(&told);
}

/* The text of a random kernel for a row of targets; NULL: none. */
static char *make_ptx(struct arena *arena, uint64_t seed, const char *row, int optimization)
{
    struct diagnostics *diagnostics = diagnostics_create(arena);
    struct ir_context *context = ir_context_create(arena);
    const struct target_row *target = &target_rows[target_find(row)];
    struct target_options options = {
        .arena = arena, .context = context, .diagnostics = diagnostics, .optimization = optimization, .jobs = 1};
    struct pass_context passes = {.arena = arena, .diagnostics = diagnostics, .target = target, .name = "random"};
    struct pass_run run = {0};
    struct buffer text = {0}, ptx = {0};
    int64_t shared_bytes;
    char *kept = NULL;
    if (seed % 5 == 4)
        fuzz_generate_row(&text, seed);
    else
        fuzz_generate_product(&text, seed);
    struct source source = {"random", text.data, text.size, NULL};
    struct ir_module *module = ir_parse_module(context, arena, diagnostics, &source);
    run.passes = pass_pipeline(arena, target, optimization, &run.count);
    if (module && ir_verify_module(module, diagnostics) && pass_run_all(&run, module->first, &passes) &&
        nvptx_make_ptx(&options, target, module->first, false, &ptx, &shared_bytes))
        kept = arena_substring(arena, ptx.data, ptx.size);
    buffer_free(&ptx);
    buffer_free(&text);
    return kept;
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    if (!file || fputs(text, file) < 0 || fclose(file))
        die("%s: %s", path, strerror(errno));
}

/* False: ptxas does not take it. */
static bool check(uint64_t seed, const char *row)
{
    struct arena *arena = arena_create();
    char *ptx = make_ptx(arena, seed, row, seed % 2 ? 2 : 1), name[64], folder[512];
    bool looked = false;
    const char *where = getenv("TMPDIR");
    snprintf(name, sizeof name, "seed %llu for %s", (unsigned long long)seed, row);
    snprintf(folder, sizeof folder, "%s/tilecc-test-XXXXXX", where && *where ? where : "/tmp");
    if (!mkdtemp(folder))
        die("%s: %s", folder, strerror(errno));
    const char *text = arena_printf(arena, "%s/k.ptx", folder), *cubin = arena_printf(arena, "%s/k.cubin", folder);
    const char *arch = arena_printf(arena, "-arch=%s", strcmp(row, "sm_75") ? row : "sm_80");
    if (ptx) {
        write_text(text, ptx);
        looked = output_of(arena, (const char *[]){getenv("PTXAS"), arch, text, "-o", cubin, NULL}) != NULL;
        looked &= !access(cubin, R_OK);
        if (looked)
            look(arena, name, cubin);
    }
    unlink(text);
    unlink(cubin);
    rmdir(folder);
    arena_destroy(arena);
    return looked;
}

int main(int argc, char **argv)
{
    static const char *const rows[] = {"sm_80", "sm_90a", "sm_75"};
    bool given = argc == 4 && !strcmp(argv[1], "--seeds"), files = argc > 1 && !given;
    uint64_t first = given ? strtoull(argv[2], NULL, 0) : FIRST_SEED, looked = 0;
    uint64_t count = given ? strtoull(argv[3], NULL, 0) : KERNELS;
    if (!getenv("PTXAS") || !*getenv("PTXAS") || !getenv("NVDISASM") || !*getenv("NVDISASM")) {
        printf("no ptxas or no nvdisasm\n");
        return 0;
    }
    nvptx_begin(NULL);
    for (int i = 1; i < argc && files; i++, looked++) {
        struct arena *arena = arena_create();
        look(arena, argv[i], argv[i]);
        arena_destroy(arena);
    }
    for (uint64_t seed = first; seed < first + count && !files; seed++)
        looked += check(seed, rows[seed % 3]);
    printf("%d codes, %d branches of lanes, %d without a place to meet; %d were there none\n", (int)looked, branches,
           found, found_without);
    return failures || found || (!files && (looked < count / 2 || !found_without));
}
