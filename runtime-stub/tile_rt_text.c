/* SPDX-License-Identifier: MIT
 *
 * The texts of the run time.  The C library's printf takes 1.5 KiB of the stack, and a call must do with 4 KiB, also one
 * that fails. */
#include "tile_rt_internal.h"

#include <stdarg.h>
#include <string.h>

struct text {
    char *data;
    size_t room, used;
};

static void put(struct text *text, const char *from, size_t size)
{
    for (; size && text->used + 1 < text->room; size--)
        text->data[text->used++] = *from++;
}

/* At least so many digits. */
static void put_number(struct text *text, const char *sign, unsigned long long number, unsigned base, int least)
{
    char digits[20];
    size_t at = sizeof digits;
    for (; at && (number || least > 0); number /= base, least--)
        digits[--at] = "0123456789abcdef"[number % base];
    put(text, sign, strlen(sign));
    put(text, digits + at, sizeof digits - at);
}

/* printf's %s %.*s %c %d %u %x %p %%, with l, ll and z, a + of %d, and a width that zeros fill: nothing else occurs. */
size_t tile_rt_append_list(char *data, size_t room, size_t used, const char *format, va_list list)
{
    struct text text = {data, room, used};
    if (used + 1 >= room)
        return used;
    for (;;) {
        size_t size = strcspn(format, "%");
        int plus, least = 1, wide = 0;
        char letter;
        put(&text, format, size);
        if (!format[size])
            break;
        format += size + 1;
        plus = *format == '+';
        format += plus;
        for (; *format >= '0' && *format <= '9'; format++)
            least = *format == '0' ? 0 : *format - '0';
        size = ~(size_t)0;
        if (*format == '.') {
            size = (size_t)va_arg(list, int);
            format += 2;
        }
        for (; *format == 'l' || *format == 'z'; format++)
            wide++;
        letter = *format++;
        if (letter == 's') {
            const char *string = va_arg(list, const char *);
            const char *end = memchr(string, 0, size);
            put(&text, string, end ? (size_t)(end - string) : size);
        } else if (letter == 'c') {
            char one = (char)va_arg(list, int);
            put(&text, &one, 1);
        } else if (letter == 'd') {
            long long number = wide == 0 ? va_arg(list, int) : wide == 1 ? va_arg(list, long) : va_arg(list, long long);
            put_number(&text,
                       number < 0 ? "-"
                       : plus     ? "+"
                                  : "",
                       number < 0 ? 0 - (unsigned long long)number : (unsigned long long)number, 10, least);
        } else if (letter == 'p') {
            put_number(&text, "0x", (uintptr_t)va_arg(list, const void *), 16, 1);
        } else if (letter == 'u' || letter == 'x') {
            unsigned long long number = wide == 0   ? va_arg(list, unsigned)
                                        : wide == 1 ? va_arg(list, unsigned long)
                                                    : va_arg(list, unsigned long long);
            put_number(&text, "", number, letter == 'x' ? 16 : 10, least);
        } else {
            put(&text, &letter, 1);
        }
    }
    data[text.used] = 0;
    return text.used;
}

size_t tile_rt_append(char *text, size_t room, size_t used, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    used = tile_rt_append_list(text, room, used, format, list);
    va_end(list);
    return used;
}
