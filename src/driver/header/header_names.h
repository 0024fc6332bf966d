/* The names that a header gives C: how they are made from those of the source, and whether they clash. */
#ifndef TILECC_HEADER_NAMES_H
#define TILECC_HEADER_NAMES_H
#include "base/base.h"
#include "ir/kernel.h"

void header_put_upper(struct buffer *out, const char *text);
void header_put_member(struct buffer *out, const struct kernel_enum *enumeration, int member);
void header_put_define(struct buffer *out, const struct kernel_entry *entry, const struct kernel_knob *knob);
/* With `_` behind it where C, the header or a system header has the name for something else. */
void header_put_parameter_name(struct buffer *out, const char *name);

/* Do the names that the module gives C differ from each other, from the run time's and from those of the C library?
 * False: reported. */
bool header_check(const struct kernel_module *module, struct arena *arena, struct diagnostics *diagnostics);
#endif
