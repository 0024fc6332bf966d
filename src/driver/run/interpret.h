/* Kernels in the interpreter, by a call as text. */
#ifndef TILECC_INTERPRET_H
#define TILECC_INTERPRET_H
#include "driver/run/asked_call.h"

/* Runs a call that is read, on its memories, and leaves there what the kernel wrote.  False: said. */
bool interpret_call(struct asked_call *asked);
#endif
