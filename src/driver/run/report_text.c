/* What a kernel reports in the interpreter, as text: ir/kernel.h says how a report is made up.  The run time has its own
 * reader of the same, in C99 and without the compiler (runtime-stub/tile_rt_report.c). */
#include "driver/run/report_text.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void put_value(struct buffer *out, const char *flags, char letter, uint64_t word)
{
    if (letter == 'b') {
        buffer_puts(out, word ? "true" : "false");
        return;
    }
    int width = atoi(flags), precision = strchr(flags, '.') ? atoi(strchr(flags, '.') + 1) : -1;
    bool zeros = flags[0] == '0';
    char text[400], form[8];
    if (strchr("efg", letter)) {
        double real = ir_bits_to_double(IR_F64, word);
        snprintf(form, sizeof form, zeros ? "%%0*.*%c" : "%%*.*%c", letter);
        snprintf(text, sizeof text, form, width, precision, isnan(real) ? (double)NAN : real);
    } else {
        snprintf(form, sizeof form, zeros ? "%%0*ll%c" : "%%*ll%c", letter);
        snprintf(text, sizeof text, form, width, (unsigned long long)word);
    }
    buffer_puts(out, text);
}

void report_put_text(struct buffer *out, const char *format, const uint64_t *const *value)
{
    for (; *format; format++) {
        if (*format != '%' || format[1] == '%') {
            buffer_putc(out, *format);
            format += *format == '%';
            continue;
        }
        char flags[8] = "";
        for (size_t i = 0; isdigit((unsigned char)format[1]) || format[1] == '.'; format++)
            if (i + 1 < sizeof flags)
                flags[i++] = format[1];
        put_value(out, flags, *++format, **value++);
    }
}

static void put_indexes(struct buffer *out, int count, const int64_t *index, const char *brackets)
{
    buffer_putc(out, brackets[0]);
    for (int d = 0; d < count; d++)
        buffer_printf(out, d ? ", %lld" : "%lld", (long long)index[d]);
    buffer_putc(out, brackets[1]);
}

static const uint64_t *put_record(struct buffer *out, const struct kernel_entry *entry,
                                  const struct kernel_print *print, const uint64_t *record)
{
    const uint64_t *value[KERNEL_REPORT_MOST_VALUES], *next = record + 1 + entry->grid_names.count;
    int64_t elements = 1, index[IR_MAX_RANK];
    for (int d = 0; d < print->rank; d++)
        elements *= print->extent[d];
    for (int i = 0; i < print->count; i++) {
        value[i] = next;
        next += print->tiles >> i & 1 ? elements : 1;
    }
    for (int64_t e = 0; e < elements; e++) {
        buffer_puts(out, entry->symbol);
        put_indexes(out, entry->grid_names.count, (const int64_t *)record + 1, "()");
        int64_t rest = e;
        for (int d = print->rank - 1; d >= 0; rest /= print->extent[d--])
            index[d] = rest % print->extent[d];
        if (print->rank)
            put_indexes(out, print->rank, index, "[]");
        buffer_puts(out, ": ");
        report_put_text(out, print->format, value);
        buffer_putc(out, '\n');
        for (int i = 0; i < print->count; i++)
            value[i] += print->tiles >> i & 1;
    }
    return next;
}

void report_put_prints(struct buffer *out, const struct kernel_entry *entry, const uint64_t *report)
{
    uint64_t used = report[KERNEL_REPORT_USED], room = report[KERNEL_REPORT_ROOM];
    const uint64_t *at = report + KERNEL_REPORT_RECORDS, *end = at + (used < room ? used : room);
    while (at < end && *at)
        at = put_record(out, entry, &entry->prints.data[*at - 1], at);
    if (used > room)
        buffer_printf(out, "%s: there was no room for all that it prints\n", entry->symbol);
}
