/* Reading whole files, and output sets: every output of one run appears, or none does.
 *
 * Commit goes in this order: devices and pipes are written first, as nothing can take that back; every other output is
 * written to a hidden sibling; then, with the signals of a user who loses patience held back, each sibling is renamed
 * into place.  Should a rename fail, files already replaced are put back from hard links that were made before.
 * Symbolic links are replaced, not followed. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static bool read_all(int file, size_t limit, struct buffer *out)
{
    char chunk[65536];
    for (;;) {
        ssize_t got = read(file, chunk, sizeof chunk);
        if (got == 0)
            return true;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return false;
        if (limit && (size_t)got > limit - out->size) {
            errno = EFBIG;
            return false;
        }
        buffer_append(out, chunk, (size_t)got);
    }
}

static void close_keeping_errno(int file)
{
    int reason = errno;
    close(file);
    errno = reason;
}

bool file_read(const char *path, size_t limit, struct buffer *out)
{
    buffer_append(out, "", 0);
    if (strcmp(path, "-") == 0)
        return read_all(0, limit, out);
    int file;
    do
        file = open(path, O_RDONLY | O_CLOEXEC);
    while (file < 0 && errno == EINTR);
    if (file < 0)
        return false;
    struct stat status;
    bool ok = fstat(file, &status) == 0;
    if (ok && S_ISDIR(status.st_mode)) {
        errno = EISDIR;
        ok = false;
    }
    ok = ok && read_all(file, limit, out);
    close_keeping_errno(file);
    return ok;
}

static bool starts_with(const char *text, const char *prefix) { return strncmp(text, prefix, strlen(prefix)) == 0; }

/* /dev/stdout is a symbolic link that must never be replaced, whatever it leads to. */
bool file_is_device(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISDIR(status.st_mode) &&
           (!S_ISREG(status.st_mode) || starts_with(path, "/dev/") || starts_with(path, "/proc/"));
}

bool file_is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool stat_folder(const char *path, size_t size, struct stat *status)
{
    char folder[PATH_MAX];
    if (size >= sizeof folder)
        return false;
    memcpy(folder, path, size);
    folder[size] = 0;
    return stat(size ? folder : ".", status) == 0;
}

int file_open_alone(const char *path)
{
    enum { TURNS = 60 };
    static const struct timespec turn = {.tv_nsec = 50000000};
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    for (int i = 0; file >= 0 && flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; i++) {
        if (i == TURNS) {
            close_keeping_errno(file);
            return -1;
        }
        nanosleep(&turn, NULL);
    }
    return file;
}

bool file_is_one_place(const char *a, const char *b)
{
    const char *slash_a = strrchr(a, '/'), *slash_b = strrchr(b, '/');
    struct stat of_a, of_b;
    if (strcmp(a, b) == 0)
        return true;
    return strcmp(slash_a ? slash_a + 1 : a, slash_b ? slash_b + 1 : b) == 0 &&
           stat_folder(a, slash_a ? (size_t)(slash_a - a) + 1 : 0, &of_a) &&
           stat_folder(b, slash_b ? (size_t)(slash_b - b) + 1 : 0, &of_b) && of_a.st_dev == of_b.st_dev &&
           of_a.st_ino == of_b.st_ino;
}

enum output_kind { OUTPUT_REPLACE, OUTPUT_IN_PLACE, OUTPUT_STANDARD };

struct output {
    const char *path;
    const void *data;
    size_t size;
    enum output_kind kind;
    char *staging, *keeping; /* names of hidden siblings; made early, so that a commit needs no memory half-way */
    bool settled;            /* it is left alone where it holds these bytes */
    bool staged;             /* the sibling `staging` holds the new bytes */
    bool kept;               /* the sibling `keeping` is a hard link to what was there before */
    bool replaced;           /* the rename happened */
    struct output *next;
};

struct output_set {
    struct arena *arena;
    struct output *first, *last;
};

enum { NUMBER_DIGITS = 16 };

/* Room for a name beside `path`.  It does not grow with the name, which may be as long as names can be. */
static char *sibling_name(struct arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    int directory = slash ? (int)(slash - path) + 1 : 0;
    return arena_printf(arena, "%.*s.tilecc-%0*d", directory, path, NUMBER_DIGITS, 0);
}

static int64_t clock_ticks(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Ends the name with a number that nobody can guess. */
static void make_unguessable(char *name)
{
    uint64_t number = 0;
    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        number = (uint64_t)getpid() << 32 ^ (uint64_t)clock_ticks();
    char *digits = name + strlen(name) - NUMBER_DIGITS;
    snprintf(digits, NUMBER_DIGITS + 1, "%0*llx", NUMBER_DIGITS, (unsigned long long)number);
}

struct output_set *output_set_create(struct arena *arena)
{
    struct output_set *set = ARENA_NEW(arena, struct output_set);
    set->arena = arena;
    return set;
}

void output_set_add(struct output_set *set, const char *path, const void *data, size_t size)
{
    for (struct output *output = set->first; output; output = output->next)
        if (strcmp(output->path, path) == 0)
            die("output '%s' was added twice", path);
    struct output *output = ARENA_NEW(set->arena, struct output);
    output->path = arena_string(set->arena, path);
    output->staging = sibling_name(set->arena, path);
    output->keeping = sibling_name(set->arena, path);
    output->data = arena_copy(set->arena, data, size);
    output->size = size;
    if (set->last)
        set->last->next = output;
    else
        set->first = output;
    set->last = output;
}

void output_set_add_settled(struct output_set *set, const char *path, const void *data, size_t size)
{
    output_set_add(set, path, data, size);
    set->last->settled = true;
}

/* A file of its own, not a link to one, holds the bytes. */
static bool holds_already(const struct output *output)
{
    struct stat status;
    struct buffer text = {0};
    bool same = lstat(output->path, &status) == 0 && S_ISREG(status.st_mode) &&
                (uint64_t)status.st_size == output->size && file_read(output->path, output->size + 1, &text) &&
                text.size == output->size && memcmp(text.data, output->data, output->size) == 0;
    buffer_free(&text);
    return same;
}

static bool write_all(int file, const char *data, size_t size)
{
    while (size) {
        ssize_t put = write(file, data, size);
        if (put < 0 && errno == EINTR)
            continue;
        if (put == 0)
            errno = EIO;
        if (put <= 0)
            return false;
        data += put;
        size -= (size_t)put;
    }
    return true;
}

/* Decides how an output is written; false when it cannot be. */
static bool classify(struct output *output)
{
    struct stat status;
    output->kind = OUTPUT_REPLACE;
    if (strcmp(output->path, "-") == 0)
        output->kind = OUTPUT_STANDARD;
    else if (stat(output->path, &status) == 0) {
        if (S_ISDIR(status.st_mode)) {
            errno = EISDIR;
            return false;
        }
        if (file_is_device(output->path))
            output->kind = OUTPUT_IN_PLACE;
    }
    return true;
}

static bool write_and_close(int file, const struct output *output)
{
    if (write_all(file, output->data, output->size))
        return close(file) == 0;
    close_keeping_errno(file);
    return false;
}

static bool write_in_place(const struct output *output)
{
    if (output->kind == OUTPUT_STANDARD)
        return fflush(stdout) == 0 && write_all(1, output->data, output->size);
    int file;
    do
        file = open(output->path, O_WRONLY | O_CLOEXEC);
    while (file < 0 && errno == EINTR);
    if (file < 0)
        return false;
    return write_and_close(file, output);
}

static bool stage(struct output *output)
{
    int file;
    do {
        make_unguessable(output->staging);
        file = open(output->staging, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    } while (file < 0 && (errno == EEXIST || errno == EINTR));
    if (file < 0)
        return false;
    output->staged = true;
    return write_and_close(file, output);
}

static bool replace(struct output *output)
{
    make_unguessable(output->keeping);
    output->kept = linkat(AT_FDCWD, output->path, AT_FDCWD, output->keeping, 0) == 0;
    if (rename(output->staging, output->path) != 0)
        return false;
    output->staged = false;
    output->replaced = true;
    return true;
}

/* Leaves nothing hidden behind; when the set failed, also puts back what was there. */
static void clean_up(struct output_set *set, bool failed)
{
    int reason = errno;
    for (struct output *output = set->first; output; output = output->next) {
        if (output->staged)
            unlink(output->staging);
        if (failed && output->replaced) {
            if (!output->kept)
                unlink(output->path);
            else if (rename(output->keeping, output->path) == 0)
                output->kept = false;
        }
        if (output->kept)
            unlink(output->keeping);
        output->staged = output->kept = false;
    }
    errno = reason;
}

static bool replace_all(struct output_set *set, const char **failed)
{
    for (struct output *output = set->first; output; output = output->next) {
        *failed = output->path;
        output->settled = output->settled && output->kind == OUTPUT_REPLACE && holds_already(output);
        if (output->kind == OUTPUT_REPLACE && !output->settled && !stage(output))
            return false;
    }
    for (struct output *output = set->first; output; output = output->next) {
        *failed = output->path;
        if (output->staged && !replace(output))
            return false;
    }
    return true;
}

bool output_set_commit(struct output_set *set, const char **failed)
{
    for (struct output *output = set->first; output; output = output->next) {
        *failed = output->path;
        if (!classify(output))
            return false;
    }
    for (struct output *output = set->first; output; output = output->next) {
        *failed = output->path;
        if (output->kind != OUTPUT_REPLACE && !write_in_place(output))
            return false;
    }
    sigset_t patience, before;
    sigemptyset(&patience);
    sigaddset(&patience, SIGINT);
    sigaddset(&patience, SIGTERM);
    sigaddset(&patience, SIGHUP);
    sigprocmask(SIG_BLOCK, &patience, &before);
    bool ok = replace_all(set, failed);
    clean_up(set, !ok);
    int reason = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = reason;
    if (ok)
        *failed = NULL;
    return ok;
}
