/* Programs that once showed a bug, reduced, or that a planted bug (src/base/plant.def) would show: each through
 * every pass, the pipelines, this processor and as PTX, as differential_test, cpu_test and gpu_test do.  Files in
 * findings/ are programs with their arguments; reduce -o FILE writes them.  One that begins with "// gpu alone" has
 * products of tf32, which processors compute in f32.
 *     findings_test [FILE…] */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "support/differential.h"
#include "targets/nvptx/assemble/assemble.h"

static bool check(const char *path)
{
    struct arena *arena = arena_create();
    struct buffer text = {0}, reason = {0};
    struct judge judge = {.kind = JUDGE_PASSES, .passes = "", .isa = -1};
    bool good = file_read(path, 0, &text);
    if (!good)
        printf("%s: cannot be read\n", path);
    else
        fuzz_judge(&judge, text.data, text.size, &reason); /* no pass: is it a sound program at all */
    bool gpu_alone = good && strncmp(text.data, "// gpu alone", strlen("// gpu alone")) == 0;
    if (good && !reason.size && !gpu_alone) { /* as it stands: passes may take away what the target gets wrong */
        for (int level = 0; level < 2 && !reason.size; level++) { /* of LLVM: 2, then 0 */
            judge = (struct judge){.kind = JUDGE_CPU, .isa = -1, .raw = true, .code_level = level};
            fuzz_judge(&judge, text.data, text.size, &reason);
        }
    }
    static const char *const targets[] = {"sm_80", "sm_90a"};
    for (int i = 0; i < 2 && good && !reason.size; i++) {
        judge = (struct judge){.kind = JUDGE_PASSES, .isa = -1, .target = targets[i]};
        judge.passes = fuzz_pipeline_text(arena, &target_rows[target_find(targets[i])], 2);
        fuzz_judge(&judge, text.data, text.size, &reason);
        if (!reason.size) {
            judge = (struct judge){.kind = JUDGE_GPU, .isa = -1, .target = targets[i]};
            fuzz_judge(&judge, text.data, text.size, &reason);
            if (reason.size && strstr(reason.data, "is not there yet")) /* bulk copies */
                reason.size = 0;
        }
    }
    if (reason.size) {
        printf("%s: %s\n", path, reason.data);
        good = false;
    } else if (good && !gpu_alone && fuzz_find_failure(text.data, text.size, arena, &judge)) {
        fuzz_judge(&judge, text.data, text.size, &reason);
        printf("%s: passes=%s: %s\n", path, judge.passes ? judge.passes : "cpu", reason.size ? reason.data : "");
        good = false;
    }
    buffer_free(&text);
    buffer_free(&reason);
    arena_destroy(arena);
    return good;
}

int main(int count, char **arguments)
{
    int failures = 0, files = 0;
    nvptx_begin(NULL);
    for (int i = 1; i < count; i++, files++)
        failures += !check(arguments[i]);
    if (count == 1) {
        struct arena *arena = arena_create();
        const char *source = getenv("SRCDIR");
        const char *folder = arena_printf(arena, "%s/tests/fuzz/findings", source ? source : ".");
        DIR *directory = opendir(folder);
        for (struct dirent *entry; directory && (entry = readdir(directory));)
            if (strstr(entry->d_name, ".tir")) {
                failures += !check(arena_printf(arena, "%s/%s", folder, entry->d_name));
                files++;
            }
        if (directory)
            closedir(directory);
        arena_destroy(arena);
    }
    printf("%d findings, %d failures\n", files, failures);
    return failures != 0 || files == 0;
}
