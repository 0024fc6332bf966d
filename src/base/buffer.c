/* Growing byte buffers.  The capacity always has room for the NUL that follows the content, so data may be used as
 * text. */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

static void reserve(struct buffer *buffer, size_t more)
{
    if (more >= SIZE_MAX / 2 - buffer->size)
        die("a buffer of %zu bytes cannot grow by %zu", buffer->size, more);
    size_t needed = buffer->size + more + 1;
    if (needed <= buffer->capacity)
        return;
    size_t capacity = buffer->capacity < 64 ? 64 : buffer->capacity;
    while (capacity < needed)
        capacity *= 2;
    char *data = realloc(buffer->data, capacity);
    if (!data)
        memory_exhausted();
    buffer->data = data;
    buffer->capacity = capacity;
}

void buffer_append(struct buffer *buffer, const void *data, size_t size)
{
    reserve(buffer, size);
    if (size)
        memcpy(buffer->data + buffer->size, data, size);
    buffer->size += size;
    buffer->data[buffer->size] = '\0';
}

void buffer_puts(struct buffer *buffer, const char *text) { buffer_append(buffer, text, strlen(text)); }

void buffer_putc(struct buffer *buffer, char character) { buffer_append(buffer, &character, 1); }

void buffer_put_number(struct buffer *buffer, int64_t number)
{
    char digits[24], *first = digits + sizeof digits;
    uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;
    do
        *--first = (char)('0' + rest % 10);
    while (rest /= 10);
    if (number < 0)
        *--first = '-';
    buffer_append(buffer, first, (size_t)(digits + sizeof digits - first));
}

void buffer_vprintf(struct buffer *buffer, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    reserve(buffer, 32); /* most of what is printed at a time is short */
    size_t room = buffer->capacity - buffer->size;
    int length = vsnprintf(buffer->data + buffer->size, room, format, again);
    va_end(again);
    if (length < 0)
        die("bad format '%s'", format);
    if ((size_t)length >= room) {
        reserve(buffer, (size_t)length);
        vsnprintf(buffer->data + buffer->size, (size_t)length + 1, format, arguments);
    }
    buffer->size += (size_t)length;
}

void buffer_printf(struct buffer *buffer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    buffer_vprintf(buffer, format, arguments);
    va_end(arguments);
}

void buffer_free(struct buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct buffer){0};
}
