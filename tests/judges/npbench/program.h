/* What the families of NPBench's programs share: names of a program's tensors and numbers, and its two functions. */
#ifndef JUDGE_NPBENCH_PROGRAM_H
#define JUDGE_NPBENCH_PROGRAM_H
#include "../judge.h"

/* The plain C of a program, in peers/, and the calls of its kernels. */
#define PROGRAM(name)                             \
    void peer_##name(const struct judge_case *c); \
    static int call_##name(struct judge_case *c)
#define VIEW(t) judge_view(c, t)
#define SIZE(name) judge_size(c, name)
#define NUMBER(name) judge_number(c, name)

/* A row: sums in another order err by some times this much, of an element and of the mean of all together. */
#define F64 1e-11
#define F32 1e-5
#define ROW(title, name, shape, full, small, tolerance) \
    {title, shape, full, small, call_##name, NULL, NULL, tolerance, peer_##name, NULL}
/* With sizes that `derive` adds. */
#define ROW_DERIVED(title, name, shape, full, small, tolerance, derive) \
    {title, shape, full, small, call_##name, NULL, derive, tolerance, peer_##name, NULL}
#endif
