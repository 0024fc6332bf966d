/* The run time, for tests that run what the compiler makes for it. */
#include "runtime-stub/tile_rt_chosen.c"
