/* The little of Unicode that showing a source line takes. */
#ifndef TILECC_UNICODE_H
#define TILECC_UNICODE_H
#include "base/base.h"

/* Decodes one character at text (size > 0 bytes left); *length is the bytes it takes.  An invalid byte: -1, length 1.
 */
int32_t unicode_decode(const char *text, size_t size, int *length);
/* Columns that a terminal gives it: 0, 1 or 2. */
int unicode_width(int32_t character);
/* Control and bidirectional characters, which must not reach a terminal as they are. */
bool unicode_is_hostile(int32_t character);
/* The text as a name of C: a letter of Europe's alphabets is the plain one under its marks, another character its
 * number (u65e5), what stands in no name `_`. */
void unicode_put_name(struct buffer *out, const char *text);
#endif
