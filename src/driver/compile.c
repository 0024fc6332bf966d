/* One source from its text to its outputs.  The order of everything that is written or said follows the source, never
 * the order in which workers end. */
#include "driver/driver.h"

#include "driver/bench/bench.h"
#include "driver/tune/tune.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "driver/depfile.h"
#include "passes/lint/lint.h"

static const char *target_name(int target) { return target_rows[target].name; }
static bool has_clusters(int target) { return target_rows[target].flags & TARGET_CLUSTER; }
static bool multiplies_shared(int target) { return target_rows[target].flags & TARGET_WGMMA; }

static void remember_import(const char *path, void *context)
{
    struct compilation *compilation = context;
    for (int i = 0; i < compilation->imports.count; i++)
        if (strcmp(compilation->imports.data[i], path) == 0)
            return;
    vector_push(compilation->arena, &compilation->imports, arena_string(compilation->arena, path));
}

/* What -arch says, else what the kind of output is usually for. */
static void choose_targets(struct compilation *compilation)
{
    const struct options *options = compilation->options;
    for (int i = 0; i < options->targets.count; i++)
        vector_push(compilation->arena, &compilation->targets, options->targets.data[i]);
    if (options->targets.count)
        return;
    bool only_cpu = options->interpret || options->emit == EMIT_TIR || options->emit == EMIT_LLVM;
    bool only_gpu = options->emit == EMIT_PTX || options->emit == EMIT_CUBIN || options->emit == EMIT_FATBIN;
    for (int i = 0; i < target_row_count; i++) {
        const struct target_row *row = &target_rows[i];
        if (!(row->flags & TARGET_DEFAULT) || (row->kind == TARGET_CPU ? only_gpu : only_cpu))
            continue;
        vector_push(compilation->arena, &compilation->targets, i);
    }
}

/* "dir/gemm.tile" gives "gemm"; standard input has its output's name. */
const char *compile_stem(const struct options *options, const char *path)
{
    if (strcmp(path, "-") == 0)
        path = options->output && strcmp(options->output, "-") != 0 ? options->output : "stdin";
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    return arena_substring(options->arena, name, dot && dot > name ? (size_t)(dot - name) : strlen(name));
}

bool compile_is_tir(const char *path)
{
    size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, ".tir") == 0;
}

static void set_warnings(struct compilation *compilation)
{
    const struct options *options = compilation->options;
    struct diagnostics *d = compilation->diagnostics;
    d->limit = options->error_limit;
    d->warnings_are_errors = options->warnings_are_errors;
    for (int i = 0; i < DIAGNOSTIC_COUNT; i++) {
        if (diagnostic_info[i].severity == SEVERITY_remark && options->remarks)
            d->enabled[i] = 1;
        if (diagnostic_info[i].severity != SEVERITY_warning)
            continue;
        for (int k = 0; k < options->warnings.count; k++) {
            const char *word = options->warnings.data[k], *name = diagnostic_info[i].name;
            if (strcmp(word, "all") == 0 || strcmp(word, name) == 0)
                d->enabled[i] = 1;
            else if (strncmp(word, "no-", 3) == 0 && (strcmp(word + 3, name) == 0 || strcmp(word + 3, "all") == 0))
                d->enabled[i] = -1;
            else if (strncmp(word, "error=", 6) == 0 && strcmp(word + 6, name) == 0)
                d->enabled[i] = 2;
        }
        if (options->no_warnings)
            d->enabled[i] = -1;
    }
    for (int k = 0; k < options->warnings.count; k++)
        if (strcmp(options->warnings.data[k], "no-error") == 0)
            d->warnings_are_errors = false;
}

static bool is_target(const char *name) { return target_find(name) >= 0; }

/* Not where other lines come between, of ours or of other commands of a parallel make. */
static bool shows_progress(const struct options *options)
{
    const char *make = getenv("MAKEFLAGS");
    return !options->json && !options->verbose && !options->resource_usage && !(make && strstr(make, "--jobserver-"));
}

static void set_up(struct compilation *compilation, const struct options *options, const char *path)
{
    *compilation = (struct compilation){
        .options = options, .arena = options->arena, .fuel = options->fuel, .processor_begin = times_clock()};
    plan_option_begin(compilation);
    compilation->diagnostics = diagnostics_create(options->arena);
    compilation->context = ir_context_create(options->arena);
    compilation->outputs = output_set_create(options->arena);
    compilation->stem = compile_stem(options, path);
    set_warnings(compilation);
    choose_targets(compilation);
    compilation->chooser = (struct schedule_chooser){options->arena, compilation->diagnostics, options->remarks};
    compilation->front = (struct front_options){.arena = options->arena,
                                                .context = compilation->context,
                                                .diagnostics = compilation->diagnostics,
                                                .include_count = options->includes.count,
                                                .includes = options->includes.data,
                                                .define_count = options->defines.count,
                                                .defines = options->defines.data,
                                                .spec_count = options->specs.count,
                                                .specs = options->specs.data,
                                                .tuning_count = options->tunings.count,
                                                .tunings = options->tunings.data,
                                                .with_callers = emit_is_called(options->emit),
                                                .prefix = options->prefix,
                                                .max_instances = options->max_instances,
                                                .schedules = options->schedules,
                                                .choose_schedules = schedules_choose,
                                                .choose_context = &compilation->chooser,
                                                .target_count = compilation->targets.count,
                                                .targets = compilation->targets.data,
                                                .target_name = target_name,
                                                .has_clusters = has_clusters,
                                                .multiplies_shared = multiplies_shared,
                                                .is_target = is_target,
                                                .nearest_target = architecture_nearest,
                                                .strict_fp = options->strict_fp,
                                                .reproducible = options->reproducible,
                                                .f32_dot = options->f32_dot,
                                                .check_asserts = options->checks || options->debug,
                                                .check_assumes = options->checks,
                                                .syntax_only = options->syntax_only && !options_name_gpu(options),
                                                .space = options->tune ? tune_space(options->tune) : NULL,
                                                .library = &compilation->library,
                                                .read = &compilation->read};
    compilation->target = (struct target_options){.arena = options->arena,
                                                  .context = compilation->context,
                                                  .diagnostics = compilation->diagnostics,
                                                  .ptxas = tool_find(options, "ptxas"),
                                                  .optimization = options->optimization,
                                                  .line_info = options->line_info,
                                                  .debug = options->debug,
                                                  .strict_fp = options->strict_fp,
                                                  .verbose = options->verbose,
                                                  .dry_run = options->dry_run,
                                                  .want_ptx = options->save_temps || options->ptx_targets.count > 0,
                                                  .share_code = emit_has_object(options->emit) && !options->save_temps,
                                                  .resource_usage = options->resource_usage,
                                                  .jobs = 1,
                                                  .tool_seconds = options->tool_seconds,
                                                  .xptxas_count = options->xptxas.count,
                                                  .xptxas = options->xptxas.data,
                                                  .visibility = options->visibility,
                                                  .cpu_isas = options->cpu_isas,
                                                  .host_triple = options->host_triple,
                                                  .log = stderr,
                                                  .progress = shows_progress(options) ? progress_open(options->arena)
                                                                                      : NULL,
                                                  .cache = cache_choose(options),
                                                  .times = options->time_report ? times_open() : NULL,
                                                  .prefix_map_count = options->prefix_map.count,
                                                  .prefix_map = options->prefix_map.data};
}

/* `tilecc infos k.o`: a word that names no file, and is near to a command. */
static void explain_unread(const struct options *options, const char *path)
{
    static const char *const commands[] = {"info", "explain", "test", "bench", "tune"};
    int reason = errno;
    const char *command = reason == ENOENT && path == options->files.data[0]
                              ? suggest_nearest(path, sizeof commands / sizeof *commands, commands)
                              : NULL;
    driver_error(options, "cannot read '%s': %s%s%s%s", path, strerror(reason),
                 command ? "; did you mean the command '" : "", command ? command : "", command ? "'?" : "");
}

static bool is_object(const struct buffer *text) { return text->size >= 4 && memcmp(text->data, "\177ELF", 4) == 0; }

static bool read_source(struct compilation *compilation, const char *path)
{
    struct buffer text = {0};
    if (!file_read(path, LARGEST_SOURCE, &text)) {
        if (errno == EFBIG)
            driver_error(compilation->options, "'%s' is larger than %d MiB", path, LARGEST_SOURCE >> 20);
        else
            explain_unread(compilation->options, path);
        buffer_free(&text);
        compilation->code = EXIT_FILE;
        return false;
    }
    if (is_object(&text)) {
        driver_error(compilation->options, "'%s' is an object, not a source; did you mean 'tilecc info %s'?", path,
                     path);
        buffer_free(&text);
        compilation->code = EXIT_FILE;
        return false;
    }
    struct source *source = ARENA_NEW(compilation->arena, struct source);
    source->name = strcmp(path, "-") == 0 ? "<stdin>" : path;
    source->text = arena_substring(compilation->arena, text.data, text.size);
    source->size = text.size;
    compilation->source = source;
    buffer_free(&text);
    return true;
}

/* An output must not be one of the files that were read, under whatever name. */
static bool spares_inputs(struct compilation *compilation, const char *path)
{
    struct stat output, input;
    if (strcmp(path, "-") == 0 || stat(path, &output) != 0 || !S_ISREG(output.st_mode))
        return true;
    for (int i = -1; i < compilation->imports.count; i++) {
        const char *name = i < 0 ? compilation->source->name : compilation->imports.data[i];
        if (stat(name, &input) != 0 || input.st_dev != output.st_dev || input.st_ino != output.st_ino)
            continue;
        driver_error(compilation->options, "the output '%s' is the input '%s'", path, name);
        compilation->code = EXIT_USAGE;
        return false;
    }
    return true;
}

/* A dependency that is left out is a build that is not made again: so it is an error. */
static void refuse_names(struct compilation *compilation, int count, const char *const *names)
{
    for (int i = 0; i < count && !compilation->code; i++)
        if (!depfile_can_hold(names[i])) {
            driver_error(compilation->options, "a dependency file cannot hold '%s', whose name has a line end",
                         names[i]);
            compilation->code = EXIT_USAGE;
        }
}

static void add_depfile(struct compilation *compilation)
{
    const struct options *options = compilation->options;
    VECTOR(const char *) targets = {0};
    VECTOR(const char *) inputs = {0};
    for (int i = 0; i < options->dependency_targets.count; i++)
        vector_push(compilation->arena, &targets, options->dependency_targets.data[i]);
    for (int i = 0; !options->dependency_targets.count && i < compilation->output_names.count; i++) {
        const char *name = compilation->output_names.data[i];
        if (strcmp(name, "-") == 0)
            name = arena_printf(compilation->arena, "%s%s", compilation->stem, emit_suffix(options->emit));
        vector_push(compilation->arena, &targets, depfile_quote_target(compilation->arena, name));
    }
    if (!targets.count) { /* -fsyntax-only makes nothing: what would be made otherwise */
        const char *output = options->output && !options->dependencies_only
                                 ? options->output
                                 : arena_printf(compilation->arena, "%s%s", compilation->stem,
                                                emit_suffix(options->emit));
        vector_push(compilation->arena, &targets, depfile_quote_target(compilation->arena, output));
    }
    vector_push(compilation->arena, &inputs,
                strcmp(compilation->source->name, "<stdin>") == 0 ? "/dev/stdin" : compilation->source->name);
    for (int i = 0; i < compilation->imports.count; i++)
        vector_push(compilation->arena, &inputs, compilation->imports.data[i]);
    refuse_names(compilation, inputs.count, inputs.data);
    if (!options->dependency_targets.count)
        refuse_names(compilation, targets.count, targets.data);
    struct depfile depfile = {targets.count, targets.data, inputs.count, inputs.data, options->dependency_phony};
    struct buffer text = {0};
    depfile_print(&text, compilation->arena, &depfile);
    const char *name = options->dependency_file      ? options->dependency_file
                       : !options->dependencies_only ? emit_name(compilation, ".d")
                       : options->output             ? options->output
                                                     : "-";
    emit_add(compilation, name, text.data, text.size);
    buffer_free(&text);
}

static bool write_outputs(struct compilation *compilation)
{
    const char *failed;
    if (compilation->options->dependencies)
        add_depfile(compilation);
    if (compilation->code)
        return false;
    for (int i = 0; i < compilation->output_names.count; i++)
        if (!spares_inputs(compilation, compilation->output_names.data[i]))
            return false;
    for (int i = 0; i < compilation->output_names.count; i++) /* before the files are there: no memory is needed then */
        vector_push(compilation->options->arena, compilation->written, compilation->output_names.data[i]);
    for (int i = 0; i < compilation->shared_names.count; i++) {
        if (!spares_inputs(compilation, compilation->shared_names.data[i]))
            return false;
        vector_push(compilation->options->arena, compilation->shared, compilation->shared_names.data[i]);
    }
    if (compilation->options->dry_run) {
        for (int i = 0; i < compilation->output_names.count; i++)
            fprintf(stderr, "tilecc: would write %s\n", compilation->output_names.data[i]);
        for (int i = 0; i < compilation->shared_names.count; i++)
            fprintf(stderr, "tilecc: would write %s\n", compilation->shared_names.data[i]);
        return true;
    }
    if (output_set_commit(compilation->outputs, &failed))
        return true;
    driver_error(compilation->options, "cannot write '%s': %s", failed, strerror(errno));
    compilation->code = EXIT_FILE;
    return false;
}

/* What is most likely a mistake, as the source says it: before any pass. */
static void lint_module(struct compilation *compilation)
{
    for (int i = 0; i < compilation->module->entries.count; i++) {
        const struct kernel_entry *entry = &compilation->module->entries.data[i];
        for (int k = 0; k < entry->variants.count; k++)
            lint_variant(entry, &entry->variants.data[k], compilation->diagnostics);
    }
}

/* Every step that leads to the outputs; false when one failed. */
static bool compile_steps(struct compilation *compilation)
{
    const struct options *options = compilation->options;
    int64_t begin = report_clock();
    compilation->module = front_compile(&compilation->front, compilation->source, remember_import, compilation);
    compilation->stage_time[STAGE_FRONT] = report_clock() - begin;
    if (compilation->diagnostics->errors)
        return false;
    lint_module(compilation);
    if (compilation->diagnostics->errors) /* -Werror */
        return false;
    if (options->tune)
        return tune_take_module(options->tune, compilation) || (compilation->code = EXIT_USAGE, false);
    if (options->bench && !bench_bind(options->bench, compilation))
        return compilation->code = EXIT_USAGE, false;
    if (options->syntax_only && !options->dependencies_only && options_name_gpu(options) &&
        (!lower_module(compilation) || compilation->diagnostics->errors))
        return false;
    if (options->syntax_only)
        return !options->dependencies || write_outputs(compilation);
    if (!compilation->module)
        die("the front end gave neither a module nor an error");
    begin = report_clock();
    bool runs_passes = options->passes || options->print_after ||
                       (options->emit != EMIT_TIR && options->emit != EMIT_HEADER && !options->interpret);
    if (options->run_tests) {
        report_diagnostics(compilation);
        return (compilation->code = test_run_all(compilation)) == EXIT_OK;
    }
    if (options->interpret && (compilation->code = interpret_begin(compilation)) != EXIT_OK)
        return false;
    if (runs_passes && !lower_module(compilation))
        return false;
    compilation->stage_time[STAGE_PASSES] = report_clock() - begin;
    if (options->interpret)
        return (compilation->code = interpret_finish(compilation)) == EXIT_OK;
    if (!compilation->diagnostics->errors) { /* what is to say of long compilations is said before them */
        report_filter_remarks(compilation);
        report_diagnostics(compilation);
    }
    if (!emit_outputs(compilation) || compilation->diagnostics->errors)
        return false;
    begin = report_clock();
    bool written = write_outputs(compilation);
    compilation->stage_time[STAGE_OUTPUT] = report_clock() - begin;
    return written;
}

enum exit_code compile_file(const struct options *options, const char *path, struct run *run)
{
    struct compilation compilation;
    set_up(&compilation, options, path);
    compilation.written = &run->written;
    compilation.shared = &run->shared;
    compilation.target.failures = &run->failures;
    if (!read_source(&compilation, path))
        return compilation.code;
    if (compile_is_tir(path))
        return compile_tir(&compilation);
    if (options->passes && options->emit != EMIT_TIR && !options->interpret && !options->syntax_only) {
        driver_error(options, "--passes replaces the pipeline, so it needs --emit=tir, --interpret or a .tir file");
        return EXIT_USAGE;
    }
    struct jobs jobs;
    jobs_acquire(&jobs, options, 64);
    compilation.target.jobs = jobs.count;
    if (options->verbose)
        fprintf(stderr, "tilecc: %d workers at a time\n", jobs.count);
    bool ok = compile_steps(&compilation);
    jobs_release(&jobs);
    report_cache(&compilation);
    cache_trim(compilation.target.cache);
    if (ok && options->remarks && emit_has_object(options->emit))
        report_cpu_instances(&compilation);
    report_filter_remarks(&compilation);
    report_diagnostics(&compilation);
    if (ok && options->resource_usage)
        report_resources(&compilation);
    if (options->time_report)
        report_times(&compilation);
    return ok ? EXIT_OK : report_exit_code(&compilation);
}
