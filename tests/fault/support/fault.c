/* Folders, outputs and processes of the fault tests. */
#include "fault.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_SECONDS = 60, MOST_SAID = 100000, MOST_SIZE = 4 << 20, MOST_SUBJECTS = 8 };

static const char kernel_text[] =
    "import \"part.tile\";\n"
    "enum act { none, twice }\n"
    "/// y[i] = f(a*x[i] + y[i]).\n"
    "kernel axpy<T: {f32, f16}, A: act>(a: f32, x: in T[N], y: inout T[N]) grid(b: cdiv(N, B)) tune(B: {64} = 64) {\n"
    "    let i = b*B;\n"
    "    var v = a * f32(x[i +: B]) + f32(y[i +: B]);\n"
    "    if (A == act.twice) { v = double(v); }\n"
    "    y[i +: B] = T(v);\n"
    "}\n";
static const char part_text[] = "fn double(x: f32) -> f32 { return x + x; }\n";
static const char wrong_text[] = "kernel wrong(x: in f32[N], y: out f32[M]) grid(b: cdiv(N, 64)) {\n"
                                 "    y[b*64 +: 64] = x[b*64 +: 32] + nothing;\n    x[0 +: 64] = 1.0\n}\n";

#define WORDS(...) \
    (const char *const[]) { __VA_ARGS__, NULL }
const struct fault_subject fault_subjects[] = {
    {"object", WORDS("tilecc", "-j1", "-arch=cpu", "-MD", "-O1", "k.tile"), WORDS("k.o", "k.h", "k.d"), 0, true, false},
    {"text", WORDS("tilecc", "-j1", "-arch=sm_80", "-S", "--spec=axpy<f32>[A=twice]", "k.tile"),
     WORDS("k_axpy_f32.0.sm_80.ptx", "k_axpy_f32.1.sm_80.ptx"), 0, false, false},
    {"cubin", WORDS("tilecc", "-j1", "-arch=sm_80", "--emit=cubin", "--spec=axpy<f32>[A=twice]", "k.tile"),
     WORDS("k_axpy_f32.0.sm_80.cubin", "k_axpy_f32.1.sm_80.cubin"), 0, true, true},
    {"header", WORDS("tilecc", "--emit=header", "-MD", "-arch=cpu", "k.tile"), WORDS("k.h", "k.d"), 0, false, false},
    {"errors", WORDS("tilecc", "-fdiagnostics-format=json", "-arch=cpu", "wrong.tile"), WORDS("wrong.o", "wrong.h"), 1,
     false, false},
    {"interpreter", WORDS("tilecc", "--interpret=k_axpy_f32(2, [70], [70], 1)", "k.tile"), (const char *const[]){NULL},
     0, false, false},
};
const int fault_subject_count = (int)(sizeof fault_subjects / sizeof *fault_subjects);

struct fault_page *fault_page;
static char folder[4096], said_path[4200];
static int screen = -1;

static void need(bool good, const char *what)
{
    if (good)
        return;
    perror(what);
    exit(2);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    need(file && fputs(text, file) >= 0 && fclose(file) == 0, path);
}

static void make_old(const struct fault_subject *subject)
{
    for (int i = 0; subject->outputs[i]; i++)
        write_file(subject->outputs[i], "old\n");
}

void fault_begin(void)
{
    const char *where = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/tilecc-fault-XXXXXX", where && *where ? where : "/tmp");
    need(mkdtemp(folder) != NULL, folder);
    snprintf(said_path, sizeof said_path, "%s.said", folder);
    need(chdir(folder) == 0, folder);
    write_file("k.tile", kernel_text);
    write_file("part.tile", part_text);
    write_file("wrong.tile", wrong_text);
    for (int i = 0; i < fault_subject_count; i++)
        make_old(&fault_subjects[i]);
    fault_page = mmap(NULL, sizeof *fault_page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    need(fault_page != MAP_FAILED, "mmap");
    screen = fcntl(1, F_DUPFD_CLOEXEC, 10);
    setenv("MAKEFLAGS", "", 1);
}

static void each_name(void (*visit)(const char *name, void *context), void *context)
{
    DIR *directory = opendir(".");
    need(directory != NULL, folder);
    for (struct dirent *entry; (entry = readdir(directory));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            visit(entry->d_name, context);
    closedir(directory);
}

static void remove_name(const char *name, void *context)
{
    (void)context;
    unlink(name);
}

int fault_end(void)
{
    each_name(remove_name, NULL);
    unlink(said_path);
    need(chdir("/") == 0 && rmdir(folder) == 0, folder);
    printf("%ld faults, %ld failures\n", fault_page->cases, fault_page->failures);
    return fault_page->failures != 0 || fault_page->cases == 0;
}

void fault_silence(void)
{
    int file = open(said_path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
    need(file >= 0 && dup2(file, 1) == 1 && dup2(file, 2) == 2, said_path);
    close(file);
    alarm(MOST_SECONDS);
}

static size_t read_file(const char *path, char *into, size_t size)
{
    int file = open(path, O_RDONLY);
    ssize_t got = 0;
    size_t at = 0;
    while (file >= 0 && at < size && (got = read(file, into + at, size - at)) > 0)
        at += (size_t)got;
    if (file >= 0)
        close(file);
    return at;
}

const char *fault_said(void)
{
    static char text[MOST_SAID + 1];
    text[read_file(said_path, text, MOST_SAID)] = '\0';
    return text;
}

void fault_report(const struct fault_subject *subject, const char *where, long number, int status, const char *problem)
{
    char text[400];
    int size = snprintf(text, sizeof text, "%s, %s %ld: %s; %s %d; said: %.200s\n", subject->name, where, number,
                        problem, WIFSIGNALED(status) ? "signal" : "code",
                        WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), fault_said());
    ssize_t ignored = write(screen, text, (size_t)size < sizeof text ? (size_t)size : sizeof text - 1);
    (void)ignored;
    fault_page->failures++;
}

static bool is_known(const char *name)
{
    static const char *const sources[] = {"k.tile", "part.tile", "wrong.tile"};
    for (int i = 0; i < 3; i++)
        if (strcmp(name, sources[i]) == 0)
            return true;
    for (int i = 0; i < fault_subject_count; i++)
        for (int k = 0; fault_subjects[i].outputs[k]; k++)
            if (strcmp(name, fault_subjects[i].outputs[k]) == 0)
                return true;
    return false;
}

static void find_strange(const char *name, void *context)
{
    if (is_known(name))
        return;
    *(const char **)context = "a file is left over";
    unlink(name);
}

const char *fault_check_untouched(const struct fault_subject *subject)
{
    const char *problem = NULL;
    each_name(find_strange, &problem);
    for (int i = 0; subject->outputs[i]; i++) {
        char text[8] = "";
        if (read_file(subject->outputs[i], text, sizeof text) != 4 || memcmp(text, "old\n", 4) != 0)
            problem = "an old output is gone or another";
    }
    make_old(subject);
    return problem;
}

const char *fault_check_complete(const struct fault_subject *subject)
{
    static char *first[MOST_SUBJECTS][4], *now;
    static size_t sizes[MOST_SUBJECTS][4];
    int which = (int)(subject - fault_subjects);
    const char *problem = NULL;
    each_name(find_strange, &problem);
    if (!now)
        now = malloc(MOST_SIZE);
    need(now != NULL, "malloc");
    for (int i = 0; subject->outputs[i]; i++) {
        size_t size = read_file(subject->outputs[i], now, MOST_SIZE);
        if (!first[which][i]) {
            first[which][i] = malloc(size + 1);
            need(first[which][i] != NULL, "malloc");
            memcpy(first[which][i], now, size);
            sizes[which][i] = size;
        }
        if (size == 4 && memcmp(now, "old\n", 4) == 0)
            problem = "an output was not written";
        else if (size != sizes[which][i] || memcmp(now, first[which][i], size) != 0)
            problem = "an output is another";
    }
    make_old(subject);
    return problem;
}

_Noreturn void fault_run(const struct fault_subject *subject)
{
    int count = 0;
    while (subject->arguments[count])
        count++;
    exit(tilecc_main(count, (char **)(uintptr_t)subject->arguments));
}

bool fault_can_run(const struct fault_subject *subject)
{
    const char *ptxas = getenv("PTXAS");
    return !subject->needs_ptxas || (ptxas && *ptxas);
}

int fault_wait(pid_t id)
{
    int status = 0;
    while (waitpid(id, &status, 0) < 0)
        if (errno != EINTR)
            need(false, "waitpid");
    return status;
}
