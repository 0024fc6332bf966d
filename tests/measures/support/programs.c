/* See programs.h. */
#include "programs.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "corners.h"
#include "driver/header.h"
#include "front/front.h"
#include "ir/text.h"
#include "ir/verify/verify.h"
#include "targets/target.h"
#include "tests/fuzz/support/facts.h"
#include "tests/fuzz/support/generate.h"
#include "tests/fuzz/support/generate_layout.h"
#include "tests/fuzz/support/generate_loop.h"
#include "tests/fuzz/support/generate_product.h"
#include "tests/fuzz/support/generate_row.h"
#include "tests/fuzz/support/generate_table.h"
#include "tests/fuzz/support/generate_touch.h"
#include "tests/fuzz/support/text.h"

enum { MOST_FILES = 200, MOST_VARIANTS = 3 };

/* ---- generators ---- */

static void print_random(struct buffer *out, uint64_t seed, struct fuzz_limits limits)
{
    struct arena *arena = arena_create();
    fuzz_print_program(out, fuzz_generate(ir_context_create(arena), arena, seed, limits));
    arena_destroy(arena);
}

static void generate_small(struct buffer *out, uint64_t seed)
{
    struct fuzz_limits limits = {
        .statements = 1 + (int)(seed % 7), .max_elements = INT64_C(4) << seed % 5, .most_extent = 9};
    print_random(out, seed, limits);
}

static void generate_mixed(struct buffer *out, uint64_t seed) { print_random(out, seed, fuzz_limits_mixed(seed)); }
static void generate_wide(struct buffer *out, uint64_t seed)
{
    struct fuzz_limits limits = {.statements = 2 + (int)(seed % 4), .max_elements = 4096, .max_rank = 2};
    print_random(out, seed, limits);
}
static void generate_facts(struct buffer *out, uint64_t seed) { facts_generate(out, seed, seed % 2); }

#define TILE_IR(folder) {folder, 0, NULL, false, false, false}
#define SOURCES(folder) {folder, 0, NULL, false, false, true}
const struct program_kind program_kinds[] = {
    {"small", 400, generate_small, true, false, false},
    {"mixed", 160, generate_mixed, true, false, false},
    {"corner", 440, corners_generate, true, false, false},
    {"corner_product", 100, corners_generate_product, true, false, false},
    {"corner_constants", 64, corners_generate_constants, true, false, false},
    {"wide", 120, generate_wide, true, false, false},
    {"facts", 100, generate_facts, true, false, false},
    {"table", 32, fuzz_generate_table, true, false, false},
    {"touch", 80, fuzz_generate_touch, true, false, false},
    {"layout", 240, fuzz_generate_layout, true, true, false},
    {"loop", 200, fuzz_generate_loop, true, false, false},
    {"row", 56, fuzz_generate_row, true, false, false},
    {"product", 64, fuzz_generate_product, false, false, false},
    {"bulk", 40, fuzz_generate_bulk_product, false, false, false},
    {"text", 60, fuzz_make_text, false, false, true},
    TILE_IR("tests/fuzz/findings"),
#define PASS(name, in, out, needs, keeps, help) TILE_IR("tests/passes/" #name),
#include "passes/passes.def"
#undef PASS
    SOURCES("examples"),
    SOURCES("tests/bench"),
    SOURCES("tests/exec"),
    SOURCES("tests/lang/run"),
    SOURCES("tests/measures"),
    SOURCES("tests/nvptx"),
    SOURCES("tests/runtime"),
};
const int program_kind_count = (int)(sizeof program_kinds / sizeof *program_kinds);

const struct program_kind *program_kind_find(const char *name)
{
    for (int i = 0; i < program_kind_count; i++)
        if (!strcmp(program_kinds[i].name, name))
            return &program_kinds[i];
    return NULL;
}

/* ---- files ---- */

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Names of the kind's files, malloc'd, in the order of bytes. */
static int list_files(const struct program_kind *kind, char *names[MOST_FILES])
{
    char path[4096];
    int count = 0;
    snprintf(path, sizeof path, "%s/%s", getenv("SRCDIR"), kind->name);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && count < MOST_FILES && (entry = readdir(folder));) {
        const char *end = strrchr(entry->d_name, '.');
        if (end && entry->d_name[0] != '.' && !strcmp(end, kind->is_source ? ".tile" : ".tir"))
            names[count++] = strdup(entry->d_name);
    }
    if (folder)
        closedir(folder);
    qsort(names, (size_t)count, sizeof *names, by_name);
    return count;
}

int program_count(const struct program_kind *kind)
{
    char *names[MOST_FILES];
    int count = kind->generate ? 0 : list_files(kind, names);
    for (int i = 0; i < count; i++)
        free(names[i]);
    return kind->generate ? kind->count : count;
}

/* False: there is none. */
static bool make_text(const struct program_kind *kind, int number, struct buffer *out)
{
    char *names[MOST_FILES], path[8192];
    if (kind->generate) {
        kind->generate(out, (uint64_t)number);
        return true;
    }
    int count = list_files(kind, names);
    bool good = number < count;
    if (good) {
        snprintf(path, sizeof path, "%s/%s/%s", getenv("SRCDIR"), kind->name, names[number]);
        buffer_printf(out, "// %s\n", names[number]);
        good = file_read(path, 0, out);
    }
    for (int i = 0; i < count; i++)
        free(names[i]);
    return good;
}

/* ---- what becomes of them ---- */

static const char *target_name(int target) { return target_rows[target].name; }

/* The header without what all have in common, which runtime-stub/tile_rt.h says. */
static void add_header(const struct kernel_module *module, struct buffer *out)
{
    static const char *const ends[] = {"#endif /* TILE_INLINE_FUNCTIONS */", "#endif /* TILE_FLOAT_TYPES */"};
    struct buffer header = {0};
    header_print(module, "0", &header);
    const char *own = header.data;
    for (int i = 0; i < (int)(sizeof ends / sizeof *ends); i++) {
        const char *end = strstr(own, ends[i]);
        own = end ? end + strlen(ends[i]) : own;
    }
    buffer_puts(out, own);
    buffer_free(&header);
}

/* The first instances of each kernel, and the header. */
static void add_source(struct change_maker *maker, const struct source *source, uint64_t seed, struct arena *arena,
                       struct change_texts *texts)
{
    static const char *const gpus[] = {"sm_80", "sm_90a", "sm_75", "sm_120a"};
    const int targets[] = {target_find("cpu"), target_find(gpus[seed % 4])};
    struct diagnostics *diagnostics = diagnostics_create(arena);
    struct front_options options = {.arena = arena,
                                    .context = change_maker_context(maker),
                                    .diagnostics = diagnostics,
                                    .target_count = 2,
                                    .targets = targets,
                                    .target_name = target_name,
                                    .strict_fp = seed % 2};
    const struct kernel_module *module = front_compile(&options, source, NULL, NULL);
    for (const struct diagnostic *d = diagnostics->first; d; d = d->next)
        buffer_printf(&texts->of[CHANGE_REMARKS], "%s %d:%d: %s\n", diagnostic_info[d->code].code, d->at.line,
                      d->at.column, d->text);
    if (!module)
        return;
    add_header(module, &texts->of[CHANGE_HEADER]);
    for (int e = 0; e < module->entries.count; e++) {
        const struct kernel_entry *entry = &module->entries.data[e];
        for (int v = 0, of[2] = {0}; v < entry->variants.count; v++) {
            const struct kernel_variant *variant = &entry->variants.data[v];
            if (of[variant->target != targets[0]]++ >= MOST_VARIANTS)
                continue;
            change_add(maker, variant->module,
                       (struct change_options){.seed = seed, .target = target_name(variant->target)}, texts);
        }
    }
}

/* What no target's code is made of: tiles as arguments, or what only some pass makes and writes by hand could make
 * otherwise. */
static bool fits_code(const struct ir_module *module)
{
    for (const struct ir_function *f = module->first; f; f = f->next) {
        if (f->level == IR_LEVEL_MACHINE)
            return false;
        for (int i = 0; f->is_kernel && i < f->body->arguments.count; i++)
            if (f->body->arguments.data[i]->type->kind == IR_TILE && f->body->arguments.data[i]->type->rank)
                return false;
    }
    return true;
}

/* A file may hold what is there on Hopper alone. */
static bool is_for_hopper(const struct ir_module *module, const struct buffer *text)
{
    bool late = strstr(text->data, " instruction(") != NULL;
    for (const struct ir_function *f = module->first; f; f = f->next)
        late |= f->level != IR_LEVEL_VALUE;
    return late;
}

void program_add(struct change_maker *maker, const struct program_kind *kind, int number, struct change_texts *texts)
{
    struct arena *arena = arena_create();
    struct buffer text = {0};
    struct diagnostics *diagnostics = diagnostics_create(arena);
    if (!make_text(kind, number, &text))
        die("%s has no program %d", kind->name, number);
    buffer_append(&texts->of[CHANGE_SOURCE], text.data, text.size);
    struct source source = {.name = "program", .text = text.data, .size = text.size};
    struct change_options options = {.seed = (uint64_t)number, .some = kind->some, .raw = kind->raw && number % 4};
    if (kind->is_source) {
        add_source(maker, &source, (uint64_t)number, arena, texts);
    } else {
        struct ir_module *module = ir_parse_module(change_maker_context(maker), arena, diagnostics, &source);
        if (module && ir_verify_module(module, diagnostics)) {
            if (!kind->generate && is_for_hopper(module, &text))
                options = (struct change_options){.seed = 0, .target = "sm_90a"};
            if (kind->generate || fits_code(module))
                change_add(maker, module, options, texts);
        } else
            buffer_printf(&texts->of[CHANGE_PROGRAM], "it cannot be read: %s\n",
                          diagnostics->first ? diagnostics->first->text : "");
    }
    buffer_free(&text);
    arena_destroy(arena);
}
