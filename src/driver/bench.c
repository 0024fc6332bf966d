/* The command `tilecc bench`: a source compiled for what its calls need, a program made that times them (bench/), and what
 * comes of it told as text, JSON and a picture. */
#include "driver/bench/bench.h"

#include <errno.h>
#include <string.h>

#include "base/folder.h"

static bool may_bench(const struct options *options)
{
    bool good = !options->output && options->emit == EMIT_OBJECT && !options->syntax_only && !options->interpret &&
                !options->passes && !options->dependencies && !options->dry_run && !options->cxx_namespace &&
                !options->shared_header;
    if (!good)
        driver_error(options, "'tilecc bench' makes what it measures: it takes no -o, -S, --emit, -fsyntax-only, "
                              "--interpret, --passes, -MD, -fc++, --shared-header and --dryrun");
    return good;
}

static enum exit_code measure(struct bench *bench, const struct options *options)
{
    struct run together = {0};
    enum exit_code code = compile_file(options, bench->source, &together);
    if (code != EXIT_OK || !bench_write_program(bench, &code))
        return code;
    code = bench_run(bench);
    if (code == EXIT_OK)
        bench_compare_checks(bench);
    return code;
}

static bool failed_any(const struct bench *bench)
{
    for (int i = 0; i < bench->call_count; i++)
        if (bench->calls[i].failed)
            return true;
    return false;
}

static enum exit_code tell(const struct bench *bench, const struct bench *before)
{
    const struct options *options = bench->options;
    struct buffer text = {0};
    bool good = true;
    enum exit_code code = failed_any(bench) ? EXIT_SOURCE : EXIT_OK;
    bench_put_table(&text, bench);
    if (before && !bench_put_changes(&text, bench, before))
        code = EXIT_SOURCE;
    fwrite(text.data, 1, text.size, stdout);
    text.size = 0;
    if (options->bench_json) {
        bench_put_json(&text, bench);
        good = driver_write(options, options->bench_json, text.data, text.size);
    }
    text.size = 0;
    if (good && options->bench_plot) {
        bench_put_plot(&text, bench);
        good = driver_write(options, options->bench_plot, text.data, text.size);
    }
    buffer_free(&text);
    return good ? code : EXIT_FILE;
}

enum exit_code bench_main(const struct options *given)
{
    struct options options = *given;
    struct bench bench = {.options = &options, .arena = options.arena, .command = "bench"}, before;
    if (!may_bench(&options) || !bench_take_words(&bench, &options))
        return EXIT_USAGE;
    if (options.bench_against && !bench_read_json(&options, options.bench_against, &before))
        return EXIT_FILE;
    bench.compiler = tool_find_compiler(&options);
    if (!bench.compiler) {
        driver_error(&options, "bench needs a C compiler, and there is none in PATH");
        return EXIT_ENVIRONMENT;
    }
    bench_choose_target(&bench, &options);
    struct folder folder;
    if (!folder_make(bench.arena, "tilecc-bench", &folder)) {
        driver_error(&options, "cannot make the folder '%s': %s", folder.path, strerror(errno));
        return EXIT_FILE;
    }
    bench.folder = folder.path;
    options.bench = &bench;
    options.output = arena_printf(bench.arena, "%s/kernels.o", folder.path); /* whatever the source is called */
    enum exit_code code = measure(&bench, &options);
    if (options.save_temps) {
        fprintf(stderr, "tilecc: kept %s\n", folder.path);
        folder_leave(&folder);
    } else
        folder_remove(&folder);
    return code == EXIT_OK ? tell(&bench, options.bench_against ? &before : NULL) : code;
}
