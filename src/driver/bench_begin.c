/* What comes before calls are measured, for bench.c and tune.c: the device, the words of the command line, the files of the
 * program.  It stands beside the folder bench/, as it asks the files here that call the folder (compile.c, emit.c). */
#include "driver/bench/bench.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "base/embedded.h"
#include "base/file.h"

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
void bench_choose_target(struct bench *bench, struct options *options)
{
    if (!options->targets.count) {
        int row = architecture_find(number_of_gpu());
        vector_push(options->arena, &options->targets, row < 0 ? target_find("cpu") : row);
    }
    bench->on_gpu = options_name_gpu(options);
}

/* The words of the command line: one source, and calls and values behind it. */
bool bench_take_words(struct bench *bench, struct options *options)
{
    VECTOR(const char *) words = {0};
    for (int i = 0; i < options->files.count; i++) {
        const char *word = options->files.data[i];
        if (strpbrk(word, "(=") && access(word, F_OK) != 0)
            vector_push(bench->arena, &words, word);
        else if (!bench->source)
            bench->source = word;
        else {
            driver_error(options, "%s takes one source, and here are '%s' and '%s'", bench->command, bench->source,
                         word);
            return false;
        }
    }
    if (!bench->source || !(words.count || options->tune_traces.count) || strcmp(bench->source, "-") == 0 ||
        compile_is_tir(bench->source)) {
        driver_error(options, "%s needs a .tile file and a call: tilecc %s softmax.tile 'softmax_f16([4096, 1024])'",
                     bench->command, bench->command);
        return false;
    }
    if (!bench_expand(bench, words.count, words.data))
        return false;
    if (!bench->call_count && words.count)
        driver_error(options, "there are values but no call to measure");
    return bench->call_count > 0 || !words.count;
}

bool bench_has_output(const struct bench *bench, const struct options *options)
{
    const char *name = options->output;
    if (!name)
        return true;
    if (strcmp(name, "-") == 0 || file_is_device(name) || file_is_folder(name))
        driver_error(options, "'tilecc tune' writes a log beside its file, so -o names a file, which '%s' is not",
                     name);
    else if (file_is_one_place(name, bench->source))
        driver_error(options, "'%s' is the source, which the output would replace", name);
    else
        return true;
    return false;
}

static bool write_file(const struct bench *bench, const char *name, const void *data, size_t size)
{
    return driver_write(bench->options, arena_printf(bench->arena, "%s/%s", bench->folder, name), data, size);
}

bool bench_write_program(struct bench *bench, enum exit_code *code)
{
    const struct embedded_file *measure = embedded_find("measure.h"), *serve = embedded_find("serve.h"),
                               *header = embedded_find("tile_rt.h"),
                               *run_time = emit_find_runtime(bench->options, code);
    struct buffer text = {0}, calls = {0};
    if (!run_time)
        return false;
    bench_put_calls(&calls, bench);
    bench_put_program(&text, bench);
    bool good = write_file(bench, "calls.c", calls.data, calls.size) &&
                write_file(bench, "measure.c", text.data, text.size) &&
                write_file(bench, "tile_rt.h", header->data, header->size) &&
                write_file(bench, "measure.h", measure->data, measure->size) &&
                (!bench->serves || write_file(bench, "serve.h", serve->data, serve->size)) &&
                write_file(bench, "tile_rt.o", run_time->data, run_time->size);
    if (!good)
        *code = EXIT_FILE;
    buffer_free(&text);
    buffer_free(&calls);
    return good;
}
