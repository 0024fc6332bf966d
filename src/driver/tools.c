/* Finding tools.  A name is only ever run by its absolute path; relative and empty entries of PATH are skipped, so that
 * what lies in the current directory is never run. */
#include "driver/tools.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"

static bool is_program(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

static const char *configured(const char *name)
{
#ifdef TILECC_PTXAS
    if (strcmp(name, "ptxas") == 0)
        return TILECC_PTXAS;
#endif
#ifdef TILECC_FATBINARY
    if (strcmp(name, "fatbinary") == 0)
        return TILECC_FATBINARY;
#endif
    return NULL;
}

/* Where `make install` puts tools that --bootstrap fetched: beside the folder of the compiler itself. */
static const char *installed(struct arena *arena, const char *name)
{
    char self[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    if (size <= 0)
        return NULL;
    self[size] = '\0';
    char *slash = strrchr(self, '/');
    if (!slash)
        return NULL;
    *slash = '\0';
    return arena_printf(arena, "%s/../libexec/tilecc/%s", self, name);
}

static const char *in_path(struct arena *arena, const char *name)
{
    const char *path = secure_getenv("PATH");
    for (const char *at = path ? path : ""; *at;) {
        size_t length = strcspn(at, ":");
        if (at[0] == '/') {
            const char *candidate = arena_printf(arena, "%.*s/%s", (int)length, at, name);
            if (is_program(candidate))
                return candidate;
        }
        at += length + (at[length] == ':');
    }
    return NULL;
}

static const char *absolute(struct arena *arena, const char *path)
{
    char full[PATH_MAX];
    return path[0] == '/' ? path : realpath(path, full) ? arena_string(arena, full) : path;
}

const char *tool_find(const struct options *options, const char *name)
{
    struct arena *arena = options->arena;
    if (options->cuda_path) {
        const char *asked = arena_printf(arena, "%s/bin/%s", options->cuda_path, name);
        return is_program(asked) ? absolute(arena, asked) : NULL;
    }
    const char *home = secure_getenv("CUDA_HOME");
    const char *candidates[] = {configured(name), installed(arena, name),
                                home && home[0] == '/' ? arena_printf(arena, "%s/bin/%s", home, name) : NULL};
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++)
        if (candidates[i] && is_program(candidates[i]))
            return candidates[i];
    return in_path(arena, name);
}

const char *tool_find_compiler(const struct options *options)
{
#if defined(__aarch64__)
    const char *own = "aarch64";
#else
    const char *own = "x86_64";
#endif
    const char *asked = secure_getenv("CC"), *found = NULL;
    size_t processor = strcspn(options->host_triple, "-");
    if (strncmp(options->host_triple, own, processor) != 0 || own[processor])
        return in_path(options->arena,
                       arena_printf(options->arena, "%.*s-linux-gnu-gcc", (int)processor, options->host_triple));
    if (asked && asked[0] == '/' && is_program(asked))
        return asked;
    const char *names[] = {asked && *asked && !strpbrk(asked, "/ \t") ? asked : "cc", "cc", "gcc", "clang"};
    for (size_t i = 0; !found && i < sizeof names / sizeof *names; i++)
        found = in_path(options->arena, names[i]);
    return found;
}
