/* What passes leave of known programs: operations of the last IR for two GPUs and for the CPU, and the remarks on the
 * way, by kind.  What instructions become of it, and are lost on the way, the other measures count.
 *     ir_test table            prints what ir.txt should be; make measures writes it
 * A program that ir.txt lacks is not compared.  With TILECC of another build the text itself can be looked at:
 *     tilecc -arch=sm_80,sm_90a --schedules=1 --dryrun -Rpass=. --print-after=check_machine FILE (cpu: =dce) */
#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

enum { MOST_WORDS = 200, WORD = 32 };
static const char *const folders[] = {
    "examples",       "examples/attention", "examples/losses", "examples/quantised",  "examples/sequence",
    "tests/bench",    "tests/exec",         "tests/fuzz",      "tests/fuzz/findings", "tests/interp/programs",
    "tests/lang/run", "tests/nvptx",        "tests/runtime"};
static const char *const targets[] = {"sm_80,sm_90a --print-after=check_machine", "cpu --print-after=dce"};

struct counts {
    struct {
        char word[WORD];
        int64_t count;
    } words[MOST_WORDS];
    int count;
};

static void count_word(struct counts *counts, const char *word, size_t size)
{
    int i = 0;
    while (i < counts->count && (strncmp(counts->words[i].word, word, size) || counts->words[i].word[size]))
        i++;
    if (i == counts->count) {
        if (size >= WORD || i == MOST_WORDS)
            die("'%.*s' is one word too many", (int)size, word);
        memcpy(counts->words[counts->count++].word, word, size);
    }
    counts->words[i].count++;
}

/* The operation of a line of IR, "remark" or "warning" of a line that says one. */
static void count_line(struct counts *counts, const char *line)
{
    const char *at = line + strspn(line, " "), *equals = strstr(at, " = ");
    if (strstr(line, ": remark: ") || strstr(line, ": warning: ")) {
        at = strstr(line, ": remark: ") ? "remark" : "warning";
        equals = NULL;
    }
    if (*at == '%' && equals)
        at = equals + 3;
    size_t size = strspn(at, "abcdefghijklmnopqrstuvwxyz_");
    if (size > 0 && !(line[0] >= '0' && line[0] <= '9'))
        count_word(counts, at, size);
}

/* False: the compiler does not take it; its programs for other tests may need what it is not given here. */
static bool count_file(const char *folder, const char *name, struct counts *counts)
{
    char command[8192], *line = NULL;
    size_t capacity = 0;
    memset(counts, 0, sizeof *counts);
    for (int t = 0; t < 2; t++) {
        snprintf(command, sizeof command,
                 "cd '%s/%s' && '%s' -j1 --schedules=1 -Wno-padding -Wno-overlap --dryrun -Rpass=. -arch=%s '%s' 2>&1",
                 getenv("SRCDIR"), folder, getenv("TILECC"), targets[t], name);
        FILE *pipe = popen(command, "r");
        if (!pipe)
            die("cannot run %s", command);
        while (getline(&line, &capacity, pipe) >= 0) {
            if (!strncmp(line, "tilecc: ", 8)) /* what would be written */
                continue;
            count_line(counts, line);
        }
        if (pclose(pipe) != 0) {
            free(line);
            return false;
        }
    }
    free(line);
    return true;
}

static int by_word(const void *a, const void *b) { return strcmp(a, b); }

static void print_counts(FILE *out, const char *folder, const char *name, struct counts *counts)
{
    int column = 0;
    qsort(counts->words, (size_t)counts->count, sizeof *counts->words, by_word);
    fprintf(out, "%s/%s\n", folder, name);
    for (int i = 0; i < counts->count; i++) {
        char item[64];
        int size = snprintf(item, sizeof item, "%s %lld", counts->words[i].word, (long long)counts->words[i].count);
        if (column && column + size > 112) {
            fputs(",\n", out);
            column = 0;
        }
        column += fprintf(out, "%s%s", column ? ", " : "    ", item);
    }
    fputc('\n', out);
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void print_table(void)
{
    struct counts counts;
    for (size_t f = 0; f < sizeof folders / sizeof *folders; f++) {
        char path[4096], *names[1000];
        int count = 0;
        snprintf(path, sizeof path, "%s/%s", getenv("SRCDIR"), folders[f]);
        DIR *folder = opendir(path);
        for (struct dirent *entry; folder && count < 1000 && (entry = readdir(folder));) {
            const char *end = strrchr(entry->d_name, '.');
            if (end && entry->d_name[0] != '.' && (!strcmp(end, ".tile") || !strcmp(end, ".tir")))
                names[count++] = strdup(entry->d_name);
        }
        if (folder)
            closedir(folder);
        qsort(names, (size_t)count, sizeof *names, by_name);
        for (int i = 0; i < count; i++) {
            if (count_file(folders[f], names[i], &counts))
                print_counts(stdout, folders[f], names[i], &counts);
            free(names[i]);
        }
    }
}

/* "    add 8, cast 10,": what a line of the table counts. */
static void read_counts(struct counts *counts, const char *line)
{
    int used = 0;
    for (int count = counts->count;
         sscanf(line, " %31[a-z_] %" SCNd64 "%n", counts->words[count].word, &counts->words[count].count, &used) == 2;
         line += used + (line[used] == ',')) {
        count = ++counts->count;
        if (count == MOST_WORDS)
            die("%s is one word too many", line);
    }
}

static int64_t count_of(const struct counts *counts, const char *word)
{
    for (int i = 0; i < counts->count; i++)
        if (!strcmp(counts->words[i].word, word))
            return counts->words[i].count;
    return 0;
}

/* How many operations there are more or fewer of; each is told. */
static int compare_program(const char *program, const struct counts *known)
{
    char folder[4096];
    struct counts now;
    int failures = 0;
    snprintf(folder, sizeof folder, "%s", program);
    char *name = strrchr(folder, '/');
    if (!name)
        die("'%s' is no program", program);
    *name++ = '\0';
    if (!count_file(folder, name, &now)) {
        printf("%s is not taken any more\n", program);
        return 1;
    }
    for (int i = 0; i < known->count + now.count; i++) {
        const char *word = i < known->count ? known->words[i].word : now.words[i - known->count].word;
        int64_t was = count_of(known, word), is = count_of(&now, word);
        if (was == is || (i >= known->count && was))
            continue;
        printf("%s: %lld of %s, there were %lld\n", program, (long long)is, word, (long long)was);
        failures++;
    }
    return failures;
}

static int compare_table(const char *path)
{
    char line[4096], program[4096] = "";
    struct counts known = {0};
    int failures = 0;
    FILE *file = fopen(path, "r");
    if (!file)
        die("cannot open %s", path);
    while (fgets(line, sizeof line, file)) {
        if (line[0] == ' ') {
            read_counts(&known, line);
            continue;
        }
        failures += *program ? compare_program(program, &known) : 0;
        snprintf(program, sizeof program, "%.*s", (int)strcspn(line, "\n"), line);
        memset(&known, 0, sizeof known);
    }
    fclose(file);
    if (!*program)
        die("%s counts nothing", path);
    failures += compare_program(program, &known);
    if (failures)
        printf("Passes make something else of these. If that is meant: make measures, and commit what changes.\n");
    return failures;
}

int main(int count, char **arguments)
{
    char path[4096];
    if (!getenv("SRCDIR") || !getenv("TILECC"))
        die("SRCDIR and TILECC say where the programs and the compiler are");
    if (count == 2 && !strcmp(arguments[1], "table")) {
        print_table();
        return 0;
    }
    snprintf(path, sizeof path, "%s/tests/measures/ir.txt", getenv("SRCDIR"));
    return compare_table(path) != 0;
}
