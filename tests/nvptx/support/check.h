/* Conditions of unit tests: the text of each that does not hold is printed, and it is counted. */
#ifndef TESTS_NVPTX_CHECK_H
#define TESTS_NVPTX_CHECK_H
#include <stdio.h>

static int failures;
#define CHECK(condition, ...)                      \
    do {                                           \
        if (!(condition)) {                        \
            printf("%s:%d: ", __FILE__, __LINE__); \
            printf(__VA_ARGS__);                   \
            printf("\n");                          \
            failures++;                            \
        }                                          \
    } while (0)
#endif
