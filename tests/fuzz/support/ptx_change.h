/* Texts of PTX with one thing wrong, which a reader of PTX has to notice. */
#ifndef TILECC_FUZZ_PTX_CHANGE_H
#define TILECC_FUZZ_PTX_CHANGE_H
#include "base/base.h"

enum { PTX_CHANGES = 42 };
const char *ptx_change_name(int change);
/* Code may be right with it: somebody else waits, nobody wants the registers, a field is not looked at. */
bool ptx_change_is_spare(int change);
/* The next place behind `at` (NULL: the first one) where the change may be made; NULL: there is none. */
const char *ptx_change_next(const char *text, const char *at, int change);
/* Writes the text with the change there; false: it cannot be made. */
bool ptx_change_write(const char *text, const char *at, int change, struct buffer *out);
/* The line there, counted from 0. */
int ptx_change_line(const char *text, const char *at);
#endif
