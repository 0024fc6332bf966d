/* What the plain C versions share: tensors as arrays. */
#ifndef JUDGE_NPBENCH_PEER_H
#define JUDGE_NPBENCH_PEER_H
#include "../../judge.h"

#define SIZE(name) (int)judge_size(c, name)
#define NUMBER(name) judge_number(c, name)
/* Tensor t, in place of a parameter that is an array. */
#define ARRAY(t) c->tensors[t].memory
#endif
