/* Programs worth keeping: tests/fuzz/kept/NAME.tir, in the form that the generator prints (support/program_text.c).  Each must be
 * the same behind every pass and on this processor, at every instruction set that it has.  What a search finds comes here when it
 * is reduced (reduce.c) and mended. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "support/differential.h"

static int compare(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static bool check(const char *path, struct arena *arena)
{
    struct buffer text = {0}, reason = {0};
    if (!file_read(path, 0, &text)) {
        printf("%s cannot be read\n", path);
        return false;
    }
    struct judge judge = {.kind = JUDGE_CPU, .isa = -1, .raw = true}; /* as it is; this also says when it cannot be read */
    fuzz_judge(&judge, text.data, text.size, &reason);
    bool bad = reason.size != 0 || fuzz_find_failure(text.data, text.size, arena, &judge);
    if (bad) {
        if (!reason.size)
            fuzz_judge(&judge, text.data, text.size, &reason);
        printf("%s: passes=%s target=%s%s: %s\n", path, judge.passes ? judge.passes : "", judge.target ? judge.target : "",
               judge.kind == JUDGE_CPU ? " on the processor" : "", reason.size ? reason.data : "not the second time");
    }
    buffer_free(&text);
    buffer_free(&reason);
    return !bad;
}

int main(int count, char **arguments)
{
    struct arena *arena = arena_create();
    const char *source = getenv("SRCDIR"), *folder = arena_printf(arena, "%s/tests/fuzz/kept", source ? source : ".");
    char *names[1024];
    int found = 0, failures = 0;
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && (entry = readdir(directory)) && found < 1024;)
        if (strstr(entry->d_name, ".tir"))
            names[found++] = arena_printf(arena, "%s/%s", folder, entry->d_name);
    if (directory)
        closedir(directory);
    qsort(names, (size_t)found, sizeof *names, compare);
    for (int i = 0; i < found; i++)
        if (count < 2 || strstr(names[i], arguments[1]))
            failures += !check(names[i], arena);
    printf("%d programs, %d failures\n", found, failures);
    arena_destroy(arena);
    return failures != 0 || found < 10;
}
