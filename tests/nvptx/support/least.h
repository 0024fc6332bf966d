/* The least cycles that ptxas leaves between instructions, over many cubins: what latencies.def was made from. */
#ifndef TILECC_TESTS_LEAST_H
#define TILECC_TESTS_LEAST_H
#include "targets/nvptx/native/native.h"

/* A line for each row: how many cycles, how often it was seen, and where.  False: a file cannot be read. */
bool least_print(int count, char **files);
#endif
