/* Child processes and workers: results in task order, limits, floods, hangs, descendants that hold pipes. */
#include "base/child.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int failures;
#define CHECK(condition) \
    ((condition) ? (void)0 : (void)(failures++, fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition)))

static void free_result(struct child_result *result)
{
    buffer_free(&result->output);
    buffer_free(&result->errors);
}

static int work(void *context, int task, struct buffer *out)
{
    (void)context;
    if (task == 3)
        raise(SIGKILL);
    if (task == 5)
        for (;;)
            sleep(1);
    for (int i = 0; i < 50000; i++)
        buffer_printf(out, "%d ", task);
    fprintf(stderr, "task %d", task);
    return task;
}

static void test_workers(int jobs)
{
    struct child_result done[9];
    workers_run(work, NULL, 9, jobs, (struct child_limits){.seconds = 1}, done);
    for (int i = 0; i < 9; i++) {
        char text[16];
        snprintf(text, sizeof text, "task %d", i);
        if (i == 3)
            CHECK(done[i].signal == SIGKILL && done[i].exit_code == -1 && !done[i].timed_out);
        else if (i == 5)
            CHECK(done[i].timed_out && done[i].signal == SIGKILL);
        else
            CHECK(done[i].exit_code == i && done[i].output.size == 100000 && done[i].output.data[0] == '0' + i &&
                  strcmp(done[i].errors.data, text) == 0);
        free_result(&done[i]);
    }
}

static int end_all(void *context, int task, struct buffer *out)
{
    (void)context;
    buffer_printf(out, "%d", task);
    if (task == 1) {
        sleep(2); /* task 0 is done by then */
        return 93;
    }
    for (int i = 0; task == 2 && i < 60; i++)
        sleep(1);
    return 0;
}

/* The task in front of the last one is done, the one beside it is ended, those behind it are not begun. */
static void test_last(void)
{
    struct child_result done[9];
    time_t begin = time(NULL);
    workers_run(end_all, NULL, 9, 2, (struct child_limits){.seconds = 50, .last_code = 93}, done);
    CHECK(time(NULL) - begin < 30);
    CHECK(done[0].exit_code == 0 && !done[0].not_started && done[1].exit_code == 93 && !done[1].not_started);
    for (int i = 3; i < 9; i++)
        CHECK(done[i].not_started && done[i].exit_code == -1);
    CHECK(done[2].not_started);
    for (int i = 0; i < 9; i++)
        free_result(&done[i]);
}

static bool run(const char *script, const void *input, size_t size, struct child_limits limits,
                struct child_result *result)
{
    const char *argv[] = {"/bin/sh", "-c", script, NULL};
    return child_run(argv, NULL, input, size, limits, result);
}

static void test_tools(void)
{
    struct child_result result;
    size_t size = 3000000;
    char *input = malloc(size);
    memset(input, 'x', size);
    const char *cat[] = {"/bin/cat", NULL};
    CHECK(child_run(cat, NULL, input, size, (struct child_limits){.seconds = 20}, &result));
    CHECK(result.output.size == size && memcmp(result.output.data, input, size) == 0);
    free_result(&result);
    CHECK(run("exec 0<&-; exit 0", input, size, (struct child_limits){.seconds = 20},
              &result)); /* never reads its input */
    free_result(&result);
    free(input);

    const char *missing[] = {"/no/such/tool", NULL};
    CHECK(!child_run(missing, NULL, NULL, 0, (struct child_limits){0}, &result) && result.not_started);
    free_result(&result);
    CHECK(!run("exit 7", NULL, 0, (struct child_limits){0}, &result) && result.exit_code == 7);
    free_result(&result);
    CHECK(!run("kill -9 $$", NULL, 0, (struct child_limits){0}, &result) && result.signal == SIGKILL &&
          !result.timed_out);
    free_result(&result);
    CHECK(!run("while :; do echo flood; done", NULL, 0, (struct child_limits){.output_bytes = 100000}, &result) &&
          result.output_too_large);
    free_result(&result);
    CHECK(run("i=0; while [ $i -lt 20000 ]; do echo errors-errors >&2; i=$((i+1)); done", NULL, 0,
              (struct child_limits){.seconds = 30}, &result));
    CHECK(result.errors.size == 64 * 1024);
    free_result(&result);
    CHECK(!run("while :; do :; done", NULL, 0, (struct child_limits){.seconds = 1}, &result) && result.timed_out);
    free_result(&result);
    CHECK(run("/usr/bin/env", NULL, 0, (struct child_limits){0}, &result) && !strstr(result.output.data, "SECRET") &&
          strstr(result.output.data, "LC_ALL=C"));
    free_result(&result);
}

/* A descendant that keeps the pipes open must neither block us nor outlive the tool. */
static void test_descendant(void)
{
    struct child_result result;
    time_t begin = time(NULL);
    CHECK(run("/bin/sleep 60 & echo done", NULL, 0, (struct child_limits){.seconds = 30}, &result));
    CHECK(strcmp(result.output.data, "done\n") == 0 && time(NULL) - begin < 10);
    free_result(&result);
}

int main(void)
{
    setenv("SECRET", "1", 1);
    test_workers(1);
    test_workers(4);
    test_last();
    test_tools();
    test_descendant();
    return failures != 0;
}
