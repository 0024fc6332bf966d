/* A process of its own waits for the end of this one, whatever ends it, and removes the folder: the one way by which
 * it goes. */
#include "base/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/wait.h>

/* What is in it, and in folders in it; a link is no folder. */
static void remove_files(int folder)
{
    DIR *list = fdopendir(folder);
    for (struct dirent *entry; list && (entry = readdir(list));) {
        bool is_own = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
        if (is_own || unlinkat(folder, entry->d_name, 0) == 0)
            continue;
        int inner = openat(folder, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (inner >= 0)
            remove_files(inner);
        unlinkat(folder, entry->d_name, AT_REMOVEDIR);
    }
    if (list)
        closedir(list);
}

static void remove_all(const char *path)
{
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0)
        remove_files(folder);
    rmdir(path);
}

/* Signals that are meant for all of a terminal's processes pass it by.  It keeps no pipe of ours open. */
static _Noreturn void keep(const char *path, int end)
{
    sigset_t all;
    char none;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    setsid();
    for (int file = 0; file <= 2; file++)
        close(file);
    while (read(end, &none, 1) < 0 && errno == EINTR) {}
    remove_all(path);
    _exit(0);
}

bool folder_make(struct arena *arena, const char *name, struct folder *folder)
{
    const char *above = secure_getenv("TMPDIR");
    char *path = arena_printf(arena, "%s/%s-XXXXXX", above && above[0] == '/' ? above : "/tmp", name);
    int ends[2];
    *folder = (struct folder){.path = path, .hold = -1};
    if (!mkdtemp(path))
        return false;
    bool piped = pipe2(ends, O_CLOEXEC) == 0;
    folder->keeper = piped ? fork() : -1;
    if (folder->keeper == 0) {
        close(ends[1]);
        keep(path, ends[0]);
    }
    int reason = errno;
    if (piped)
        close(ends[0]);
    if (folder->keeper > 0) {
        folder->hold = ends[1];
        return true;
    }
    if (piped)
        close(ends[1]);
    rmdir(path);
    errno = reason;
    return false;
}

static void end_keeper(struct folder *folder)
{
    close(folder->hold);
    while (waitpid(folder->keeper, NULL, 0) < 0 && errno == EINTR) {}
}

void folder_remove(struct folder *folder)
{
    while (write(folder->hold, "", 1) < 0 && errno == EINTR) {} /* a child of ours may still have it open */
    end_keeper(folder);
}

void folder_leave(struct folder *folder)
{
    kill(folder->keeper, SIGKILL);
    end_keeper(folder);
}
