/* What tests of the model of schedules share: tables of times that were measured are read, and kernels of examples/ compiled
 * so that a test chooses their schedules. */
#ifndef TILECC_TESTS_MODELLED_H
#define TILECC_TESTS_MODELLED_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "front/front.h"
#include "targets/target.h"

static int failures;

static void fail(const char *what, double got)
{
    failures++;
    printf("wrong: %s: %g\n", what, got);
}

/* A file of the project. */
static char *read_text(struct arena *arena, const char *name)
{
    struct buffer text = {0};
    const char *path = arena_printf(arena, "%s/%s", getenv("SRCDIR"), name);
    if (!file_read(path, 1 << 20, &text)) {
        printf("cannot read %s\n", path);
        exit(1);
    }
    char *copy = arena_printf(arena, "%.*s", (int)text.size, text.data);
    buffer_free(&text);
    return copy;
}

static const char *name_target(int target) { return target_rows[target].name; }
static bool has_clusters(int target) { return target_rows[target].flags & TARGET_CLUSTER; }
static bool multiplies_shared(int target) { return target_rows[target].flags & TARGET_WGMMA; }

typedef int choose_schedules(void *context, const struct kernel_entry *entry, int count,
                             const struct kernel_variant *candidates, enum kernel_choosing what, int most,
                             struct kernel_choice *choices);
/* Instances of `spec` for sm_90a, with at most so many schedules each, which `choose` chooses. */
static struct kernel_module *compile_example(struct arena *arena, struct diagnostics *diagnostics, const char *file,
                                             const char *spec, int schedules, choose_schedules *choose, void *context)
{
    int target = target_find("sm_90a");
    struct front_options options = {.arena = arena,
                                    .context = ir_context_create(arena),
                                    .diagnostics = diagnostics,
                                    .spec_count = 1,
                                    .specs = &spec,
                                    .schedules = schedules,
                                    .choose_schedules = choose,
                                    .choose_context = context,
                                    .target_count = 1,
                                    .targets = &target,
                                    .target_name = name_target,
                                    .has_clusters = has_clusters,
                                    .multiplies_shared = multiplies_shared};
    const char *text = read_text(arena, arena_printf(arena, "examples/%s", file));
    struct source source = {.name = file, .text = text, .size = strlen(text)};
    struct kernel_module *module = front_compile(&options, &source, NULL, NULL);
    if (module)
        return module;
    diag_print(diagnostics, stdout, false);
    exit(1);
}
#endif
