/* A list of cases, each run in a child process of its own: the run time keeps what it found for the life of a process,
 * and reads its environment once.  EXPECT prints what went wrong and goes on. */
#ifndef TEST_CASE_H
#define TEST_CASE_H
#include "tile_rt.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures;

#define EXPECT(condition)                                                                           \
    do {                                                                                            \
        if (!(condition)) {                                                                         \
            failures++;                                                                             \
            fprintf(stderr, "%s:%d: not so: %s (last error: %s)\n", __FILE__, __LINE__, #condition, \
                    tile_last_error());                                                             \
        }                                                                                           \
    } while (0)

/* The call gives this status, and on an error a text with this part. */
#define EXPECT_STATUS(call, wanted, part)                                                                           \
    do {                                                                                                            \
        int status_ = (call);                                                                                       \
        if (status_ != (wanted) || (status_ != TILE_OK && strstr(tile_last_error(), part) == NULL)) {               \
            failures++;                                                                                             \
            fprintf(stderr, "%s:%d: %s gives %d (%s), wanted %d with \"%s\"\n", __FILE__, __LINE__, #call, status_, \
                    tile_last_error(), (int)(wanted), part);                                                        \
        }                                                                                                           \
    } while (0)

struct test_case {
    const char *name;
    void (*run)(void);
};

#define CASE(name) {#name, name}

static inline int run_cases(const struct test_case *cases, int count, const char *only)
{
    int i, bad = 0;
    for (i = 0; i < count; i++) {
        pid_t child;
        int status = -1;
        if (only != NULL && strcmp(only, cases[i].name) != 0)
            continue;
        fflush(NULL);
        child = fork();
        if (child == 0) {
            alarm(60);
            cases[i].run();
            exit(failures != 0);
        }
        waitpid(child, &status, 0);
        if (status != 0) {
            bad++;
            fprintf(stderr, "FAILED %s (wait status %d)\n", cases[i].name, status);
        }
    }
    printf("%d cases, %d failed\n", count, bad);
    return bad != 0;
}
#endif
