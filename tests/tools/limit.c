/* Runs a command and ends it where it, with all processes that it starts, has used too much time of processors.
 *     limit SECONDS WALL FILE COMMAND [ARGUMENT...]
 * A machine that many share makes a program late, which is no fault of the program: time on the clock counts only as
 * a last resort, WALL seconds, for one that waits for ever.  FILE gets the seconds that it used.  The status is the
 * command's own, 128 and the number of the signal that ended it, or 124 where the limit did. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_MILLISECONDS = 200, SECONDS_TO_END = 10, ENDED = 124, CANNOT_RUN = 126 };

struct process {
    pid_t id, parent;
    double seconds; /* its own and of children that it has waited for */
    bool ours;
};
static struct process *processes;
static size_t count, capacity;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* False: it is gone. */
static bool read_process(const char *name, struct process *process)
{
    char path[64], text[1024];
    unsigned long long times[4];
    int id;
    snprintf(path, sizeof path, "/proc/%.20s/stat", name);
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[size] = '\0';
    const char *behind = strrchr(text, ')'); /* the name before may hold anything */
    if (!behind || sscanf(behind, ") %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu", &id, &times[0],
                          &times[1], &times[2], &times[3]) != 5)
        return false;
    process->id = (pid_t)atoi(name);
    process->parent = (pid_t)id;
    process->seconds = (double)(times[0] + times[1] + times[2] + times[3]) / (double)sysconf(_SC_CLK_TCK);
    process->ours = false;
    return true;
}

static void list_processes(void)
{
    DIR *folder = opendir("/proc");
    count = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
            continue;
        if (count == capacity) {
            capacity = capacity * 2 + 64;
            processes = realloc(processes, capacity * sizeof *processes);
            if (!processes)
                exit(CANNOT_RUN);
        }
        count += read_process(entry->d_name, &processes[count]);
    }
    if (folder)
        closedir(folder);
}

/* Marks all that came from this process: who loses its parent becomes a child of this process.  Returns how many. */
static int mark_ours(void)
{
    int ours = 0;
    list_processes();
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < count; i++) {
            bool is_child = processes[i].parent == getpid();
            for (size_t k = 0; k < count && !is_child && !processes[i].ours; k++)
                is_child = processes[k].ours && processes[k].id == processes[i].parent;
            if (is_child && !processes[i].ours) {
                processes[i].ours = more = true;
                ours++;
            }
        }
    }
    return ours;
}

/* Time of those that are gone counts for who waited for them. */
static double used(void)
{
    struct rusage gone;
    getrusage(RUSAGE_CHILDREN, &gone);
    double seconds = (double)(gone.ru_utime.tv_sec + gone.ru_stime.tv_sec) +
                     (double)(gone.ru_utime.tv_usec + gone.ru_stime.tv_usec) * 1e-6;
    mark_ours();
    for (size_t i = 0; i < count; i++)
        seconds += processes[i].ours ? processes[i].seconds : 0;
    return seconds;
}

static void signal_all(int number)
{
    mark_ours();
    for (size_t i = 0; i < count; i++)
        if (processes[i].ours)
            kill(processes[i].id, number);
}

/* Waits for children that have ended.  True: the command is among them. */
static bool reap(pid_t command, int *status)
{
    bool ended = false;
    int one;
    for (pid_t id; (id = waitpid(-1, &one, WNOHANG)) > 0;)
        if (id == command) {
            *status = WIFEXITED(one) ? WEXITSTATUS(one) : 128 + WTERMSIG(one);
            ended = true;
        }
    return ended;
}

/* Asks all to end, and after a while does not ask. */
static void end_all(pid_t command)
{
    int status;
    double begin = now();
    signal_all(SIGTERM);
    signal_all(SIGCONT);
    while (reap(command, &status), mark_ours() > 0) {
        if (now() - begin > SECONDS_TO_END)
            signal_all(SIGKILL);
        usleep(LOOK_MILLISECONDS * 100);
    }
}

int main(int argument_count, char **arguments)
{
    sigset_t signals, before;
    if (argument_count < 5) {
        fputs("limit SECONDS WALL FILE COMMAND [ARGUMENT...]\n", stderr);
        return CANNOT_RUN;
    }
    double most = atof(arguments[1]), wall = atof(arguments[2]), begin = now(), seconds = 0;
    int status = ENDED, asked = 0;
    sigemptyset(&signals);
    for (const int *s = (const int[]){SIGCHLD, SIGTERM, SIGINT, SIGHUP, 0}; *s; s++)
        sigaddset(&signals, *s);
    sigprocmask(SIG_BLOCK, &signals, &before);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t command = fork();
    if (command == 0) {
        setpgid(0, 0);
        sigprocmask(SIG_SETMASK, &before, NULL);
        execvp(arguments[4], arguments + 4);
        perror(arguments[4]);
        _exit(CANNOT_RUN);
    }
    if (command < 0)
        return CANNOT_RUN;
    bool ended = false;
    while (!ended && !asked && seconds <= most && now() - begin <= wall) {
        struct timespec pause = {0, LOOK_MILLISECONDS * 1000000};
        int number = sigtimedwait(&signals, NULL, &pause);
        asked = number > 0 && number != SIGCHLD ? number : 0;
        ended = reap(command, &status);
        seconds = used();
    }
    if (!ended && !asked)
        printf("ended: %s\n", seconds > most ? "it used too much time of processors" : "it waits for ever");
    end_all(command);
    FILE *file = fopen(arguments[3], "w");
    if (!file || fprintf(file, "%.1f\n", seconds) < 0 || fclose(file) != 0)
        return CANNOT_RUN;
    return ended ? status : asked ? 128 + asked : ENDED;
}
