/* What the compiler makes of random programs, and of those of other tests: checksums of what analyses say, of the IR
 * that each target's pipeline leaves, of the remarks, and of the code that lowering makes before LLVM's passes.  A
 * mistake in a corner that no known program has shows here, also where all results stay right with the numbers that a
 * test happens to choose.
 *     random_test                        compares with random.txt
 *     random_test brief                  the same, and ends where it finds one change
 *     random_test table                  prints what random.txt should be; make measures writes it
 *     random_test print KIND FIRST [COUNT]    the programs and all texts that the checksums are of
 *     random_test time                   how long each kind takes */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <llvm-c/Core.h>

#include "support/changes.h"
#include "support/programs.h"
#include "targets/nvptx/assemble/assemble.h"

enum { HEAD = 28, MOST_TOLD = 12 };
struct line {
    uint32_t checksum[CHANGE_COUNT];
};

static uint32_t checksum(const struct buffer *text)
{
    uint64_t sum = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < text->size; i++)
        sum = (sum ^ (unsigned char)text->data[i]) * UINT64_C(1099511628211);
    return (uint32_t)(sum >> 44);
}

/* ---- what is worked on: a signal's handler says where it ended ---- */

static char working_on[128];

static void tell(int number)
{
    static const char text[] = "this ended while it worked on: ";
    ssize_t ignored = write(2, text, sizeof text - 1);
    ignored = write(2, working_on, strlen(working_on));
    (void)ignored;
    signal(number, SIG_DFL);
    raise(number);
}

static void add_programs(struct change_maker *maker, const struct program_kind *kind, int first, int count,
                         struct change_texts *texts)
{
    for (int i = first; i < first + count; i++) {
        snprintf(working_on, sizeof working_on, "random_test print %s %d 1\n", kind->name, i);
        program_add(maker, kind, i, texts);
    }
}

/* ---- lines ---- */

static void free_texts(struct change_texts *texts)
{
    for (int c = 0; c < CHANGE_COUNT; c++)
        buffer_free(&texts->of[c]);
}

static struct line count_line(struct change_maker *maker, const struct program_kind *kind, int first, int count)
{
    struct line line;
    struct change_texts texts = {0};
    add_programs(maker, kind, first, count, &texts);
    for (int c = 0; c < CHANGE_COUNT; c++)
        line.checksum[c] = checksum(&texts.of[c]);
    free_texts(&texts);
    return line;
}

/* The first line of the table.  In which order the arguments of a call are computed is for the compiler of C to choose:
 * programs that are made by chance, and the order of instructions, differ with it. */
#ifdef __clang__
static const char built_by[] = "built by clang, ";
#else
static const char built_by[] = "built by gcc, ";
#endif
struct version {
    char text[64];
};
static struct version version_now(void)
{
    struct version version;
    unsigned major, minor, patch;
    LLVMGetVersion(&major, &minor, &patch);
    snprintf(version.text, sizeof version.text, "%sLLVM %u.%u.%u\n", built_by, major, minor, patch);
    return version;
}

/* What a line begins with. */
static int print_head(char *out, size_t size, const struct program_kind *kind, int first, int count)
{
    return snprintf(out, size, "%s %d %d", kind->name, first, count);
}

/* All lines in their order, to `use` with the maker of their kind; false from it ends that. */
struct report {
    FILE *file;
    bool same_llvm;
    int most, changed, skipped, lines;
};
typedef bool use_line(struct report *report, struct change_maker *maker, const struct program_kind *kind, int first,
                      int count);

static void walk_lines(struct report *report, use_line *use)
{
    for (int k = 0; k < program_kind_count; k++) {
        struct change_maker *maker = change_maker_open(false);
        int all = program_count(&program_kinds[k]);
        bool more = true;
        for (int first = 0; first < all && more; first += PROGRAMS_A_LINE)
            more = use(report, maker, &program_kinds[k], first,
                       all - first < PROGRAMS_A_LINE ? all - first : PROGRAMS_A_LINE);
        change_maker_close(maker);
        if (!more)
            return;
    }
}

static bool print_line(struct report *report, struct change_maker *maker, const struct program_kind *kind, int first,
                       int count)
{
    char head[128];
    struct line line = count_line(maker, kind, first, count);
    int size = print_head(head, sizeof head, kind, first, count);
    printf("%s%*s", head, size < HEAD ? HEAD - size : 0, "");
    for (int c = 0; c < CHANGE_COUNT; c++)
        printf(" %05x", line.checksum[c]);
    putchar('\n');
    (void)report;
    return true;
}

static void print_table(void)
{
    struct report report = {0};
    printf("%s%-*s", version_now().text, HEAD, "kind, first, how many");
    for (int c = 0; c < CHANGE_COUNT; c++)
        printf(" %-5.5s", change_names[c]);
    putchar('\n');
    walk_lines(&report, print_line);
}

/* The table's line for these programs; false: it has none. */
static bool find_line(FILE *file, const char *head, struct line *line)
{
    char text[512];
    size_t size = strlen(head);
    rewind(file);
    while (fgets(text, sizeof text, file)) {
        if (strncmp(text, head, size) != 0 || text[size] != ' ')
            continue;
        const char *at = text + size;
        for (int c = 0; c < CHANGE_COUNT; c++) {
            int used = 0;
            if (sscanf(at, " %x%n", &line->checksum[c], &used) != 1)
                return false;
            at += used;
        }
        return true;
    }
    return false;
}

/* Other files than those that were counted are not compared; other programs of a generator have to be counted anew. */
static bool compare_line(struct report *report, struct change_maker *maker, const struct program_kind *kind, int first,
                         int count)
{
    char head[128];
    struct line known, now;
    bool differs = false;
    print_head(head, sizeof head, kind, first, count);
    report->lines++;
    bool found = find_line(report->file, head, &known);
    if (!found && kind->generate) {
        printf("%s: random.txt has no such line\n", head);
        report->changed++;
        return true;
    }
    if (found)
        now = count_line(maker, kind, first, count);
    if (!found || (now.checksum[CHANGE_SOURCE] != known.checksum[CHANGE_SOURCE] && !kind->generate)) {
        report->skipped++;
        return true;
    }
    if (now.checksum[CHANGE_SOURCE] != known.checksum[CHANGE_SOURCE]) {
        printf("%s: other programs than those that were counted are generated\n", head);
        report->changed++;
        return report->changed < report->most;
    }
    for (int c = 0; c < (report->same_llvm ? CHANGE_COUNT : CHANGE_OF_LLVM); c++)
        if (now.checksum[c] != known.checksum[c]) {
            printf("%s%s", differs ? ", " : head, differs ? "" : ": ");
            fputs(change_names[c], stdout);
            differs = true;
        }
    if (differs)
        putchar('\n');
    report->changed += differs;
    return report->changed < report->most;
}

static int compare_table(const char *path, int most)
{
    struct report report = {.file = fopen(path, "r"), .most = most};
    char version[64] = "";
    if (!report.file || !fgets(version, sizeof version, report.file))
        die("cannot read %s", path);
    if (strncmp(version, built_by, strlen(built_by)) != 0) {
        printf("not compared: this is not %.*s", (int)strcspn(version, ","), version);
        putchar('\n');
        fclose(report.file);
        return 0;
    }
    report.same_llvm = strcmp(version, version_now().text) == 0;
    walk_lines(&report, compare_line);
    fclose(report.file);
    printf("%d of %d lines changed%s, %d not compared: their files are others now%s\n", report.changed, report.lines,
           report.changed == report.most ? " at least" : "", report.skipped,
           report.same_llvm ? "" : "; LLVM's IR was counted with another LLVM");
    if (report.changed)
        printf("What the compiler makes of these programs, or what it knows of them, is not what it was: no proof that "
               "it is wrong.\nThis prints the texts, to be compared with those of a build from before:\n"
               "    SRCDIR=source obj/tests/measures/random_test print KIND FIRST COUNT\n"
               "If the change is meant: make measures, and commit what it writes.\n");
    return report.changed != 0;
}

static void print_programs(const struct program_kind *kind, int first, int count)
{
    struct change_maker *maker = change_maker_open(true);
    for (int i = first; i < first + count; i++) {
        struct change_texts texts = {0};
        add_programs(maker, kind, i, 1, &texts);
        for (int c = 0; c < CHANGE_COUNT; c++)
            printf("==== %s %d: %s\n%.*s\n", kind->name, i, change_names[c], (int)texts.of[c].size,
                   texts.of[c].size ? texts.of[c].data : "");
        free_texts(&texts);
    }
    change_maker_close(maker);
}

static void print_times(void)
{
    for (int k = 0; k < program_kind_count; k++) {
        struct change_maker *maker = change_maker_open(false);
        int count = program_count(&program_kinds[k]);
        clock_t begin = clock();
        for (int i = 0; i < count; i++)
            count_line(maker, &program_kinds[k], i, 1);
        double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
        printf("%-32s %4d programs, %6.2f s, %6.2f ms each\n", program_kinds[k].name, count, seconds,
               count ? 1000 * seconds / count : 0);
        fflush(stdout);
        change_maker_close(maker);
    }
}

int main(int count, char **arguments)
{
    if (!getenv("SRCDIR"))
        die("SRCDIR says where the programs are");
    nvptx_begin();
    signal(SIGABRT, tell);
    signal(SIGSEGV, tell);
    signal(SIGTERM, tell); /* it takes too long */
    if (count == 2 && !strcmp(arguments[1], "table")) {
        print_table();
    } else if (count == 2 && !strcmp(arguments[1], "time")) {
        print_times();
    } else if (count >= 4 && !strcmp(arguments[1], "print") && program_kind_find(arguments[2])) {
        print_programs(program_kind_find(arguments[2]), atoi(arguments[3]), count > 4 ? atoi(arguments[4]) : 1);
    } else if (count == 1 || (count == 2 && !strcmp(arguments[1], "brief"))) {
        char path[4096];
        snprintf(path, sizeof path, "%s/tests/measures/random.txt", getenv("SRCDIR"));
        return compare_table(path, count == 1 ? MOST_TOLD : 1);
    } else {
        fprintf(stderr, "random_test [brief | table | time | print KIND FIRST [COUNT]]\n");
        return 2;
    }
    return 0;
}
