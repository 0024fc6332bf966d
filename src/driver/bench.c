/* The command `tilecc bench`: a source compiled for what its calls need, a program made that times them (bench/), and what
 * comes of it told as text, JSON and a picture. */
#include "driver/bench/bench.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/embedded.h"
#include "base/folder.h"

enum { CAPABILITY_MAJOR = 75, CAPABILITY_MINOR = 76 }; /* attributes of a device, by the driver's numbers */

/* 90 for a GPU of compute capability 9.0, as the driver tells of the first one; 0: there is none. */
static int number_of_gpu(void)
{
    int (*start)(unsigned), (*get)(int *, int), (*attribute)(int *, int, int);
    int device = 0, major = 0, minor = 0;
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library)
        return 0;
    *(void **)&start = dlsym(library, "cuInit");
    *(void **)&get = dlsym(library, "cuDeviceGet");
    *(void **)&attribute = dlsym(library, "cuDeviceGetAttribute");
    bool good = start && get && attribute && start(0) == 0 && get(&device, 0) == 0 &&
                attribute(&major, CAPABILITY_MAJOR, device) == 0 && attribute(&minor, CAPABILITY_MINOR, device) == 0;
    return good ? 10 * major + minor : 0;
}

/* Without -arch: the GPU that is there, else the processor. */
static void choose_target(struct bench *bench, struct options *options)
{
    if (!options->targets.count) {
        int row = architecture_find(number_of_gpu());
        vector_push(options->arena, &options->targets, row < 0 ? target_find("cpu") : row);
    }
    bench->on_gpu = options_name_gpu(options);
}

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

/* The words of the command line: one source, and calls and values behind it. */
static bool split_words(struct bench *bench, struct options *options)
{
    VECTOR(const char *) words = {0};
    for (int i = 0; i < options->files.count; i++) {
        const char *word = options->files.data[i];
        if (strpbrk(word, "(=") && access(word, F_OK) != 0)
            vector_push(bench->arena, &words, word);
        else if (!bench->source)
            bench->source = word;
        else {
            driver_error(options, "bench takes one source, and here are '%s' and '%s'", bench->source, word);
            return false;
        }
    }
    if (!bench->source || !words.count || strcmp(bench->source, "-") == 0 || compile_is_tir(bench->source)) {
        driver_error(options,
                     "bench needs a .tile file and a call: tilecc bench softmax.tile 'softmax_f16([4096, 1024])'");
        return false;
    }
    if (!bench_expand(bench, words.count, words.data))
        return false;
    if (!bench->call_count)
        driver_error(options, "there are values but no call to measure");
    return bench->call_count > 0;
}

static bool write_file(const struct bench *bench, const char *name, const void *data, size_t size)
{
    return driver_write(bench->options, arena_printf(bench->arena, "%s/%s", bench->folder, name), data, size);
}

static bool write_program(struct bench *bench, enum exit_code *code)
{
    const struct embedded_file *measure = embedded_find("measure.h"),
                               *run_time = emit_find_runtime(bench->options, code);
    struct buffer text = {0};
    if (!run_time)
        return false;
    bench_put_program(&text, bench);
    bool good = write_file(bench, "measure.c", text.data, text.size) &&
                write_file(bench, "measure.h", measure->data, measure->size) &&
                write_file(bench, "tile_rt.o", run_time->data, run_time->size);
    if (!good)
        *code = EXIT_FILE;
    buffer_free(&text);
    return good;
}

static enum exit_code measure(struct bench *bench, const struct options *options)
{
    struct run together = {0};
    enum exit_code code = compile_file(options, bench->source, &together);
    if (code != EXIT_OK || !write_program(bench, &code))
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
    struct bench bench = {.options = &options, .arena = options.arena}, before;
    if (!may_bench(&options) || !split_words(&bench, &options))
        return EXIT_USAGE;
    if (options.bench_against && !bench_read_json(&options, options.bench_against, &before))
        return EXIT_FILE;
    bench.compiler = tool_find_compiler(&options);
    if (!bench.compiler) {
        driver_error(&options, "bench needs a C compiler, and there is none in PATH");
        return EXIT_ENVIRONMENT;
    }
    choose_target(&bench, &options);
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
