/* An object and the run time to a shared library, by the C compiler that is there, as compilers link: it knows where the C
 * library is, and which linker fits.  It gets files in a folder of its own, since linkers write beside what they write and
 * rename it. */
#include "driver/driver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/folder.h"

static const char object_name[] = "kernels.o", run_time_name[] = "tile_rt.o";

static void run_linker(struct compilation *compilation, const char *compiler, const char *folder, const char *name,
                       struct buffer *out)
{
    const char *words[] = {compiler,    "-shared",     "-Xlinker", /* -Wl, divides at commas, which a name may have */
                           "-soname",   "-Xlinker",    name,       "-Wl,-z,defs,-z,relro,-z,now,-z,noexecstack",
                           object_name, run_time_name, "-o",       "library.so",
                           "-ldl",      "-lpthread",   NULL};
    if (compilation->options->verbose) {
        for (int i = 0; words[i]; i++)
            fprintf(stderr, "%s%s", i ? " " : "", words[i]);
        fputc('\n', stderr);
    }
    struct child_limits limits = {
        .seconds = compilation->options->tool_seconds, .output_bytes = 1 << 20, .path = secure_getenv("PATH")};
    struct child_result result;
    bool ok = child_run(words, folder, NULL, 0, limits, &result);
    if (ok)
        ok = file_read(arena_printf(compilation->arena, "%s/library.so", folder), 0, out);
    if (!ok) {
        driver_error(compilation->options, "%s cannot link a shared library: %s", compiler,
                     result.not_started   ? "it cannot be run"
                     : result.timed_out   ? "it took too long"
                     : result.errors.size ? result.errors.data
                                          : "no message");
        compilation->code = EXIT_TOOL;
    }
    buffer_free(&result.output);
    buffer_free(&result.errors);
}

bool link_library(struct compilation *compilation, const char *name, const struct buffer *object, struct buffer *out)
{
    struct arena *arena = compilation->arena;
    const struct embedded_file *run_time = emit_find_runtime(compilation->options, &compilation->code);
    const char *compiler = tool_find_compiler(compilation->options);
    if (!run_time)
        return false;
    if (!compiler) {
        driver_error(compilation->options,
                     "a shared library needs a C compiler that links for %s, and there is none in PATH",
                     compilation->options->host_triple);
        compilation->code = EXIT_ENVIRONMENT;
        return false;
    }
    struct folder folder;
    if (!folder_make(arena, "tilecc", &folder)) {
        driver_error(compilation->options, "cannot make the folder '%s': %s", folder.path, strerror(errno));
        compilation->code = EXIT_FILE;
        return false;
    }
    const char *object_path = arena_printf(arena, "%s/%s", folder.path, object_name),
               *run_time_path = arena_printf(arena, "%s/%s", folder.path, run_time_name);
    if (driver_write(compilation->options, object_path, object->data, object->size) &&
        driver_write(compilation->options, run_time_path, run_time->data, run_time->size))
        run_linker(compilation, compiler, folder.path, name, out);
    else
        compilation->code = EXIT_FILE;
    folder_remove(&folder);
    return compilation->code == EXIT_OK;
}
