/* What compile.c and math_function.c begin with. */
#ifndef TILECC_FRONT_OPEN_H
#define TILECC_FRONT_OPEN_H
#include "front/values/elaborate.h"

/* A compilation that knows the library and the builtins, and no source yet. */
struct front *front_open(const struct front_options *options);
/* The names of a file of the library ("std/math.tile"). */
struct file_scope *front_read_library(struct front *front, const char *path);
#endif
