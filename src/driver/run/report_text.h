/* What a kernel reports in the interpreter, as text. */
#ifndef TILECC_DRIVER_REPORT_TEXT_H
#define TILECC_DRIVER_REPORT_TEXT_H
#include "ir/kernel.h"

/* A text with values, of which number i is *value[i]. */
void report_put_text(struct buffer *out, const char *format, const uint64_t *const *value);
/* The lines that the instances print. */
void report_put_prints(struct buffer *out, const struct kernel_entry *entry, const uint64_t *report);
#endif
