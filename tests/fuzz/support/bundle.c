/* See bundle.h: making the libraries. */
#include "bundle.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/child.h"
#include "emit.h"
#include "generate_loop.h"
#include "generate_product.h"
#include "generate_row.h"
#include "ir/facts/shared_form.h"
#include "ir/query.h"
#include "judge.h"
#include "passes/run.h"
#include "targets/nvptx/assemble/assemble.h"

/* What a chunk becomes under one schedule. */
struct code {
    struct kernel_entry *entry;
    struct fuzz_program *program;
    int variant;
    struct buffer ptx;
    int64_t shared_bytes;
    bool dropped;
};
struct chunk {
    struct campaign *campaign;
    struct campaign_seat *seat;
    struct arena *arena;
    struct ir_context *context;
    struct diagnostics *diagnostics;
    struct fuzz_schedule schedule;
    struct target_options options;
    int number, row, assembled; /* schedule, target rows */
    uint64_t first;             /* seed */
    VECTOR(struct code) codes;
    struct buffer plan;
    int planned;
};

struct fuzz_schedule fuzz_schedule_of(uint64_t chunk, int number)
{
    static const struct fuzz_schedule always[] = {
        {"sm_90a", "sm_90a", 2, 0, 0, 0, 0},
        {"sm_90a", "sm_90a", 3, 8, 4, 2, 0},
        {"sm_80", "sm_90", 2, 2, 3, -1, 0},
    };
    static const struct fuzz_schedule in_turn[] = {
        {"sm_75", "sm_90", 2, 4, 1, 0, 0},   {"sm_89", "sm_90", 2, 1, 2, 0, 0},   {"sm_90", "sm_90", 2, 4, 2, 0, 2},
        {"sm_90a", "sm_90a", 1, 4, 2, 0, 2}, {"sm_90a", "sm_90a", 0, 2, 0, 0, 0}, {"sm_86", "sm_90", 2, 8, 2, 0, 0},
    };
    return number < 3 ? always[number] : in_turn[chunk % (sizeof in_turn / sizeof *in_turn)];
}

static const char *variable(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value && *value ? value : otherwise;
}

void *fuzz_bundle_open(struct campaign *campaign)
{
    char path[512];
    snprintf(path, sizeof path, "%s/bundle", campaign->folder);
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        die("cannot make %s: %s", path, strerror(errno));
    nvptx_begin(NULL);
    return NULL;
}

/* Every fourth one is a loop over products, every eighth another loop, every eighth wide rows. */
static bool is_written(uint64_t seed) { return seed % 2 == 0; }

/* From the folder that the campaign was given, else the generators. */
static struct fuzz_program *make_program(const struct campaign *campaign, struct ir_context *context,
                                         struct arena *arena, uint64_t seed)
{
    if (campaign->context)
        return fuzz_load_program(context, arena, campaign->context, seed);
    struct fuzz_limits limits = fuzz_limits_mixed(seed);
    limits.plain = true;
    if (!is_written(seed))
        return fuzz_generate(context, arena, seed, limits);
    struct buffer text = {0};
    if (seed % 4 == 0)
        fuzz_generate_product(&text, seed);
    else if (seed % 8 == 2)
        fuzz_generate_loop(&text, seed);
    else
        fuzz_generate_row(&text, seed);
    struct source *source = ARENA_NEW(arena, struct source);
    *source = (struct source){.name = "program", .text = arena_copy(arena, text.data, text.size), .size = text.size};
    buffer_free(&text);
    return fuzz_read_program(context, arena, diagnostics_create(arena), source);
}

/* Its schedule, as comments, and the program. */
static void put_program(struct buffer *out, const struct campaign *campaign, uint64_t seed, uint64_t unit)
{
    struct arena *arena = arena_create();
    struct fuzz_schedule s = fuzz_schedule_of(unit / FUZZ_SCHEDULES, (int)(unit % FUZZ_SCHEDULES));
    struct fuzz_program *program = make_program(campaign, ir_context_create(arena), arena, seed);
    buffer_printf(out, "\n// schedule %d: target=%s assembled=%s optimization=%d\n", (int)(unit % FUZZ_SCHEDULES),
                  s.target, s.assembled, s.optimization);
    buffer_printf(out, "// warps=%d stages=%d persistent=%d cluster=%d\n", s.warps, s.stages, s.persistent, s.cluster);
    if (program)
        fuzz_print_program(out, program);
    arena_destroy(arena);
}

static void report(struct chunk *c, uint64_t seed, const char *what)
{
    struct buffer text = {0};
    buffer_printf(&text, "seed %llu: %s", (unsigned long long)seed, what);
    put_program(&text, c->campaign, seed, c->first / FUZZ_CHUNK * FUZZ_SCHEDULES + (uint64_t)c->number);
    campaign_report(c->campaign, seed * 10 + (uint64_t)c->number, &text);
    buffer_free(&text);
}

static void refuse(struct chunk *c, uint64_t seed)
{
    char path[512];
    c->seat->refused++;
    snprintf(path, sizeof path, "%s/refused", c->campaign->folder);
    FILE *file = fopen(path, "a");
    if (!file)
        return;
    const struct diagnostic *d = c->diagnostics->last;
    fprintf(file, "seed %llu %s: %s\n", (unsigned long long)seed, c->schedule.target, d ? d->text : "no reason");
    fclose(file);
}

static void forget_facts(struct ir_function *function)
{
    for (int i = 0; i < function->facts.count; i++) {
        struct ir_argument_fact *fact = &function->facts.data[i];
        *fact = (struct ir_argument_fact){.extent_limit = fact->extent_limit, .restricted = fact->restricted};
    }
}

/* The last one knows nothing of alignment: it serves views that no tensor map describes. */
static bool make_variant(struct chunk *c, const struct fuzz_program *program, struct kernel_entry *entry, bool general)
{
    struct kernel_variant variant = {
        .target = c->assembled, .grid_rank = program->function->grid_rank, .label = entry->symbol};
    variant.module = ir_module_create(c->context, c->arena);
    for (const struct ir_function *each = program->module->first; each; each = each->next)
        ir_function_clone(variant.module, each, each->name);
    struct ir_function *function = variant.function = ir_function_find(variant.module, "fuzz");
    const struct fuzz_schedule *s = &c->schedule;
    function->name = general ? arena_printf(c->arena, "%s__general", entry->symbol) : entry->symbol;
    if (general)
        forget_facts(function);
    function->warps = s->warps ? s->warps : function->warps;
    function->stages = s->stages ? s->stages : function->stages;
    function->persistent = s->persistent ? s->persistent : function->persistent;
    function->cluster = s->cluster ? s->cluster : function->cluster;
    variant.key_values = ARENA_ARRAY(c->arena, int64_t, 1);
    for (int d = 0; d < variant.grid_rank; d++)
        variant.grid[d] = fuzz_constant_expression(c->arena, program->grid[d]);
    struct pass_run run = {0};
    run.passes = pass_pipeline(c->arena, &target_rows[c->row], s->optimization, &run.count);
    struct pass_context context = {.arena = c->arena,
                                   .diagnostics = c->diagnostics,
                                   .target = &target_rows[c->row],
                                   .name = "pipeline",
                                   .math_function = fuzz_math_function,
                                   .math_context = fuzz_math_context(c->arena, c->context, c->diagnostics)};
    if (!pass_run_all(&run, function, &context))
        return false;
    vector_push(c->arena, &entry->variants, variant);
    return true;
}

/* A variant, its text to what is assembled. */
static bool add_code(struct chunk *c, struct kernel_entry *entry, struct fuzz_program *program, bool general)
{
    struct code code = {.entry = entry, .program = program, .variant = entry->variants.count};
    if (!make_variant(c, program, entry, general) ||
        !nvptx_make_ptx(&c->options, &target_rows[c->row], entry->variants.data[code.variant].function, false,
                        &code.ptx, &code.shared_bytes))
        return false;
    if (code.shared_bytes > target_rows[c->row].shared_bytes) {
        diag_report(c->diagnostics, DIAGNOSTIC_E1201, (struct location){0}, "too much shared memory");
        return false;
    }
    vector_push(c->arena, &c->codes, code);
    return true;
}

/* A program whose own test fails is left out of the plan, so that all schedules leave it out. */
static void add_program(struct chunk *c, uint64_t seed)
{
    struct fuzz_memory *reference = NULL;
    struct buffer reason = {0};
    struct fuzz_program *program = make_program(c->campaign, c->context, c->arena, seed);
    struct kernel_entry *entry = ARENA_NEW(c->arena, struct kernel_entry);
    bool sound = program && fuzz_is_sound(program, c->arena, &reference, &reason);
    if (sound) {
        fuzz_describe(c->arena, program, entry);
        if (c->number == 0) {
            struct fuzz_memory *first = fuzz_memory_create(program);
            fuzz_plan_program(&c->plan, program, entry, first, reference);
            fuzz_memory_free(first);
            c->planned++;
        }
        int errors = c->diagnostics->errors;
        int codes = c->codes.count;
        if (add_code(c, entry, program, false) && (!is_written(seed) || add_code(c, entry, program, true))) {
            c->seat->programs++;
        } else {
            c->codes.count = codes;
            if (c->diagnostics->errors > errors && c->diagnostics->last->code == DIAGNOSTIC_E1005)
                report(c, seed, c->diagnostics->last->text);
            refuse(c, seed);
        }
    } else if (c->number == 0) {
        report(c, seed, reason.size ? reason.data : "program: it cannot be made");
    }
    if (reference)
        fuzz_memory_free(reference);
    buffer_free(&reason);
}

/* ---- many texts, one cubin ---- */

static bool begins(const char *line, const char *word) { return strncmp(line, word, strlen(word)) == 0; }

/* What the lowering calls tile_…, functions of the text's own, gets the number of the text in its name; but for the
 * shared memory. */
static void append_line(struct buffer *out, const char *line, size_t size, uint64_t number)
{
    for (size_t i = 0; i < size; i++) {
        bool inside = i && (isalnum((unsigned char)line[i - 1]) || line[i - 1] == '_' || line[i - 1] == '$');
        if (!inside && begins(line + i, "tile_") && !begins(line + i, "tile_shared")) {
            buffer_printf(out, "tile_%llu_", (unsigned long long)number);
            i += strlen("tile_") - 1;
        } else {
            buffer_putc(out, line[i]);
        }
    }
    buffer_putc(out, '\n');
}

/* Behind the first text, what stands once a module goes; the shared memory of all is aligned as the most demanding
 * one's. */
static void append_ptx(struct buffer *out, const char *text, uint64_t number)
{
    bool first = out->size == 0;
    for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
        end = line + strcspn(line, "\n");
        bool head = begins(line, ".version") || begins(line, ".target") || begins(line, ".address_size");
        if (begins(line, ".extern .shared")) {
            if (first)
                buffer_puts(out, ".extern .shared .align 1024 .b8 tile_shared[];\n");
        } else if (!head || first) {
            append_line(out, line, (size_t)(end - line), number);
        }
    }
    if (first && !strstr(out->data, "tile_shared[]"))
        buffer_puts(out, ".extern .shared .align 1024 .b8 tile_shared[];\n");
}

static bool assemble(const struct chunk *c, const struct buffer *ptx, struct child_result *result)
{
    char architecture[64];
    snprintf(architecture, sizeof architecture, "-arch=%s", c->schedule.assembled);
    const char *arguments[] = {
        c->options.ptxas, architecture, c->schedule.optimization ? "-O3" : "-O1", "/dev/stdin", "-o",
        "/dev/stdout",    NULL};
    return child_run(arguments, "/", ptx->data, ptx->size,
                     (struct child_limits){.seconds = 400, .output_bytes = 1u << 30}, result);
}

static void free_result(struct child_result *result)
{
    buffer_free(&result->output);
    buffer_free(&result->errors);
}

/* Each alone, to find those that ptxas refuses. */
static void drop_bad(struct chunk *c)
{
    for (int i = 0; i < c->codes.count; i++) {
        struct code *code = &c->codes.data[i];
        struct buffer alone = {0};
        struct child_result result = {0};
        append_ptx(&alone, code->ptx.data, code->program->seed * 2 + (uint64_t)code->variant);
        campaign_begin(c->seat, code->program->seed);
        code->dropped = !assemble(c, &alone, &result);
        if (code->dropped) {
            char what[600];
            snprintf(what, sizeof what, "ptxas: %s%.500s", result.timed_out ? "out of time " : "",
                     result.errors.size ? result.errors.data : "");
            report(c, code->program->seed, what);
        }
        buffer_free(&alone);
        free_result(&result);
    }
}

static bool assemble_all(struct chunk *c, struct child_result *result)
{
    struct buffer ptx = {0};
    for (int i = 0; i < c->codes.count; i++)
        if (!c->codes.data[i].dropped)
            append_ptx(&ptx, c->codes.data[i].ptx.data,
                       c->codes.data[i].program->seed * 2 + (uint64_t)c->codes.data[i].variant);
    bool good = ptx.size && assemble(c, &ptx, result);
    buffer_free(&ptx);
    return good;
}

static bool fill_gpu_code(struct chunk *c, struct code *code, const struct cubin_kernel *kernel)
{
    struct kernel_variant *variant = &code->entry->variants.data[code->variant];
    const struct ir_function *f = variant->function;
    struct tensor_map *maps = NULL;
    if (strcmp(kernel->symbol, f->name) != 0)
        return false;
    variant->gpu = (struct kernel_gpu_code){.image = 0,
                                            .symbol = f->name,
                                            .threads = 32 * ir_block_warps(f),
                                            .registers = kernel->registers,
                                            .cluster = ir_cluster_blocks(f),
                                            .shared_bytes = code->shared_bytes,
                                            .local_bytes = kernel->local_bytes,
                                            .persistent = f->together         ? -f->together
                                                          : f->persistent > 0 ? f->persistent
                                                                              : 0};
    variant->gpu.map_count = tensor_map_collect(c->arena, variant->function, &maps);
    variant->gpu.maps = maps;
    code->dropped = kernel->registers * 32 * ir_block_warps(f) >
                    target_rows[c->assembled].registers; /* as the compiler refuses it */
    return true;
}

/* The object with one image for all entries; one of which a variant was dropped is left out. */
static bool make_object(struct chunk *c, const struct child_result *assembled, struct buffer *object)
{
    struct kernel_module *kernels = ARENA_NEW(c->arena, struct kernel_module);
    struct cubin_kernel *found = NULL;
    int architecture, count = 0;
    const char *problem = NULL;
    kernels->source_name = kernels->stem = "fuzz";
    if (!cubin_read(c->arena, assembled->output.data, assembled->output.size, &architecture, &count, &found, &problem))
        return false;
    for (int i = 0; i < c->codes.count; i++)
        for (int k = 0; k < count && !c->codes.data[i].dropped && !fill_gpu_code(c, &c->codes.data[i], &found[k]);)
            k++;
    for (int i = 0; i < c->codes.count; i++) {
        const struct code *code = &c->codes.data[i], *next = i + 1 < c->codes.count ? code + 1 : code;
        if (code->variant == 0 && !code->dropped && !(next->entry == code->entry && next->dropped))
            vector_push(c->arena, &kernels->entries, *code->entry);
    }
    struct kernel_image image = {.target = c->assembled,
                                 .name = "fuzz.cubin",
                                 .data = (const unsigned char *)assembled->output.data,
                                 .size = assembled->output.size};
    vector_push(c->arena, &kernels->images, image);
    return host_object(&c->options, kernels, object);
}

static bool write_file(const char *path, const struct buffer *data)
{
    FILE *file = fopen(path, "wb");
    bool good = file && fwrite(data->data, 1, data->size, file) == data->size;
    return file && fclose(file) == 0 && good;
}

static bool link_library(struct chunk *c, uint64_t chunk, const struct buffer *object)
{
    char *stem = arena_printf(c->arena, "%s/bundle/%06llu-%d", c->campaign->folder, (unsigned long long)chunk,
                              c->number);
    char *path = arena_printf(c->arena, "%s.o", stem);
    if (!write_file(path, object))
        return false;
    int status = system(arena_printf(c->arena, "%s -shared -o '%s.so' '%s' '%s' -ldl -lpthread", variable("CC", "cc"),
                                     stem, path, variable("RUNTIME", "libtilert.a")));
    unlink(path);
    return status == 0;
}

static void fail_chunk(struct chunk *c, uint64_t unit, const char *what)
{
    struct buffer text = {0};
    const struct diagnostic *d = c->diagnostics->last;
    buffer_printf(&text, "chunk %llu schedule %d: %s: %s\n", (unsigned long long)(unit / FUZZ_SCHEDULES), c->number,
                  what, d ? d->text : "");
    campaign_report(c->campaign, unit, &text);
    buffer_free(&text);
}

static void finish(struct chunk *c, uint64_t unit)
{
    struct child_result assembled = {0};
    struct buffer object = {0};
    campaign_begin(c->seat, UINT64_MAX);
    if (!assemble_all(c, &assembled)) {
        free_result(&assembled);
        assembled = (struct child_result){0};
        drop_bad(c);
        if (!assemble_all(c, &assembled)) {
            char what[600];
            snprintf(what, sizeof what, "ptxas: %.500s", assembled.errors.size ? assembled.errors.data : "no message");
            fail_chunk(c, unit, what);
            free_result(&assembled);
            return;
        }
    }
    campaign_begin(c->seat, UINT64_MAX);
    if (!make_object(c, &assembled, &object) || !link_library(c, unit / FUZZ_SCHEDULES, &object))
        fail_chunk(c, unit, "no object");
    buffer_free(&object);
    free_result(&assembled);
}

void fuzz_bundle_compile(struct campaign *campaign, struct campaign_seat *seat, uint64_t unit, struct buffer *finding)
{
    struct chunk c = {
        .campaign = campaign, .seat = seat, .arena = arena_create(), .number = (int)(unit % FUZZ_SCHEDULES)};
    uint64_t chunk = unit / FUZZ_SCHEDULES;
    (void)finding;
    c.first = chunk * FUZZ_CHUNK;
    c.schedule = fuzz_schedule_of(chunk, c.number);
    c.row = target_find(c.schedule.target);
    c.assembled = target_find(c.schedule.assembled);
    c.context = ir_context_create(c.arena);
    c.diagnostics = diagnostics_create(c.arena);
    c.diagnostics->limit = 0;
    c.options = (struct target_options){.arena = c.arena,
                                        .context = c.context,
                                        .diagnostics = c.diagnostics,
                                        .jobs = 1,
                                        .ptxas = variable("PTXAS", "/usr/local/cuda/bin/ptxas"),
                                        .optimization = c.schedule.optimization,
                                        .host_triple = "x86_64-unknown-linux-gnu"};
    if (c.number == 0)
        fuzz_plan_begin(&c.plan);
    for (uint64_t seed = c.first; seed < c.first + FUZZ_CHUNK; seed++) {
        campaign_begin(seat, seed);
        if (!campaign_skips(campaign, seed) &&
            (!campaign->context || access(fuzz_program_path(c.arena, campaign->context, seed), R_OK) == 0))
            add_program(&c, seed);
    }
    if (c.number == 0) {
        fuzz_plan_end(&c.plan, c.planned);
        if (!write_file(arena_printf(c.arena, "%s/bundle/%06llu.plan", campaign->folder, (unsigned long long)chunk),
                        &c.plan))
            die("cannot write the plan of chunk %llu", (unsigned long long)chunk);
    }
    finish(&c, unit);
    for (int i = 0; i < c.codes.count; i++)
        buffer_free(&c.codes.data[i].ptx);
    buffer_free(&c.plan);
    arena_destroy(c.arena);
}

/* ---- running ---- */

static bool run_library(struct campaign *campaign, const char *stem, uint64_t chunk, uint64_t unit, int from,
                        struct child_result *result)
{
    char device[64], number[32], library[600], plan[600], libraries[1000];
    int devices = atoi(variable("GPUS", "1"));
    snprintf(device, sizeof device, "CUDA_VISIBLE_DEVICES=%d", (int)(unit % (uint64_t)(devices > 0 ? devices : 1)));
    snprintf(number, sizeof number, "%d", from);
    snprintf(library, sizeof library, "%s.so", stem);
    snprintf(plan, sizeof plan, "%s/bundle/%06llu.plan", campaign->folder, (unsigned long long)chunk);
    snprintf(libraries, sizeof libraries, "LD_LIBRARY_PATH=%s", variable("LD_LIBRARY_PATH", ""));
    const char *arguments[] = {
        "/usr/bin/env",           device, libraries, variable("RUNNER", "./runner"), library, plan,
        variable("WHERE", "gpu"), number, NULL};
    return child_run(arguments, "/", NULL, 0, (struct child_limits){.seconds = 100, .output_bytes = 1u << 26}, result);
}

/* What a runner says: "at N SYMBOL" before each program, a line for each failure, then "N programs, M failed, R
 * refused".  The program that it was at, -1: none yet; *ended: it said the last line. */
static int take_words(struct campaign *campaign, struct campaign_seat *seat, uint64_t unit, const char *text,
                      bool *ended)
{
    int at = -1, programs, failed, refused;
    *ended = false;
    for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        if (sscanf(line, "at %d ", &at) == 1)
            continue;
        if (sscanf(line, "%d programs, %d failed, %d refused", &programs, &failed, &refused) == 3) {
            seat->programs += programs - refused;
            seat->runs += programs - refused;
            seat->refused += refused;
            *ended = true;
        } else if (!strncmp(line, "fuzz_", 5)) {
            struct buffer finding = {0};
            buffer_append(&finding, line, strcspn(line, "\n"));
            put_program(&finding, campaign, strtoull(line + 5, NULL, 10), unit);
            campaign_report(campaign, strtoull(line + 5, NULL, 10) * 10 + unit % FUZZ_SCHEDULES, &finding);
            buffer_free(&finding);
        }
    }
    return at;
}

void fuzz_bundle_run(struct campaign *campaign, struct campaign_seat *seat, uint64_t unit, struct buffer *finding)
{
    uint64_t chunk = unit / FUZZ_SCHEDULES;
    char stem[512];
    snprintf(stem, sizeof stem, "%s/bundle/%06llu-%d", campaign->folder, (unsigned long long)chunk,
             (int)(unit % FUZZ_SCHEDULES));
    char *library = NULL;
    if (asprintf(&library, "%s.so", stem) < 0 || access(library, R_OK) != 0) {
        free(library);
        return;
    }
    free(library);
    for (int from = 0, tries = 0; from >= 0 && tries < FUZZ_CHUNK; tries++) {
        struct child_result result = {0};
        campaign_begin(seat, unit);
        run_library(campaign, stem, chunk, unit, from, &result);
        bool ended;
        int at = take_words(campaign, seat, unit, result.output.size ? result.output.data : "", &ended);
        from = -1;
        if (!ended) {
            buffer_printf(finding, "chunk %llu schedule %d program %d: the runner ended with %d, signal %d%s: %.500s\n",
                          (unsigned long long)chunk, (int)(unit % FUZZ_SCHEDULES), at, result.exit_code, result.signal,
                          result.timed_out ? ", out of time" : "", result.errors.size ? result.errors.data : "");
            from = at >= 0 ? at + 1 : -1;
        }
        free_result(&result);
    }
}
