/* Random programs through a whole target: object, run time, call, comparison with the interpreter.
 *
 *     object_test                               a fixed slice on the CPU, at each instruction set that this machine has
 *     object_test FIRST COUNT FOLDER TARGET,…   writes FOLDER/fuzz.o, .plan; runs nothing: for bundles */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/file.h"
#include "support/emit.h"

static const char *variable(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value && *value ? value : otherwise;
}

static bool write_file(const char *path, const struct buffer *data)
{
    FILE *file = fopen(path, "wb");
    bool good = file && fwrite(data->data, 1, data->size, file) == data->size;
    return file && fclose(file) == 0 && good;
}

static bool write_bundle(const struct fuzz_emit *job, const char *folder, struct arena *arena)
{
    struct buffer object = {0}, plan = {0}, report = {0};
    int skipped = 0;
    bool good = fuzz_emit(job, &object, &plan, &skipped, &report);
    if (report.size)
        fputs(report.data, stdout);
    printf("%d programs, %d refused\n", job->count, skipped);
    good = good && write_file(arena_printf(arena, "%s/fuzz.o", folder), &object) &&
           write_file(arena_printf(arena, "%s/fuzz.plan", folder), &plan);
    buffer_free(&object);
    buffer_free(&plan);
    buffer_free(&report);
    return good && !skipped;
}

static int shell(struct arena *arena, const char *format, const char *a, const char *b, const char *c)
{
    char *command = arena_printf(arena, "A='%s' B='%s' C='%s'; %s", a, b, c, format);
    return system(command);
}

static bool run_slice(struct arena *arena, const char *host_triple)
{
    static const char *const targets[] = {"cpu"};
    char *folder = arena_printf(arena, "%s/tilecc-fuzz-XXXXXX", variable("TMPDIR", "/tmp"));
    struct fuzz_emit job = {.first = 1,
                            .count = 40,
                            .limits = {.plain = true},
                            .target_count = 1,
                            .targets = targets,
                            .optimization = 2,
                            .host_triple = host_triple};
    if (!mkdtemp(folder))
        return false;
    const char *build = variable("BUILDDIR", "."), *source = variable("SRCDIR", "."), *compiler = variable("CC", "cc");
    bool good = write_bundle(&job, folder, arena);
    good = shell(arena,
                 arena_printf(arena,
                              "%s -shared -fPIC \"$A/fuzz.o\" \"$B/libtilert.a\" -o \"$A/fuzz.so\" -ldl -lpthread && "
                              "%s -O1 \"$C/tests/fuzz/runner.c\" -o \"$A/runner\" -ldl",
                              compiler, compiler),
                 folder, build, source) == 0 &&
           good;
    static const char *const levels[] = {"baseline", "avx2", "avx512"};
    for (int i = 0; i < 3; i++) {
        bool there = i == 0 || (i == 1 ? __builtin_cpu_supports("avx2") : __builtin_cpu_supports("avx512f"));
        if (!there) {
            printf("%s: not run, this processor has it not\n", levels[i]);
            continue;
        }
        printf("%s: ", levels[i]);
        fflush(stdout);
        good = shell(arena, "TILE_CPU_ISA=$B \"$A/runner\" \"$A/fuzz.so\" \"$A/fuzz.plan\" cpu", folder, levels[i],
                     "") == 0 &&
               good;
    }
    return shell(arena, "rm -rf \"$A\"", folder, "", "") == 0 && good;
}

int main(int count, char **arguments)
{
    struct arena *arena = arena_create();
    const char *triple = variable("FUZZ_TRIPLE", "x86_64-unknown-linux-gnu");
    bool good;
    if (count == 5) {
        const char *targets[16];
        struct fuzz_emit job = {.first = strtoull(arguments[1], NULL, 0),
                                .count = atoi(arguments[2]),
                                .limits = {.plain = true},
                                .targets = targets,
                                .optimization = atoi(variable("FUZZ_OPTIMIZATION", "2")),
                                .host_triple = triple,
                                .ptxas = variable("PTXAS", "/usr/local/cuda/bin/ptxas")};
        for (char *word = strtok(arguments[4], ","); word && job.target_count < 16; word = strtok(NULL, ","))
            targets[job.target_count++] = word;
        good = write_bundle(&job, arguments[3], arena);
    } else {
        good = run_slice(arena, triple);
    }
    arena_destroy(arena);
    return !good;
}
