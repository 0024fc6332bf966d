/* SPDX-License-Identifier: MIT
 *
 * What kernels report (TILE_RT_REPORT_check in tile_rt.h): lines that they print, which go to standard output once the
 * launch has ended, and the check that did not hold.  A line is
 *
 *     softmax_f16(3)[2, 5]: x 0.5        kernel, grid indexes, element of the tile if there is one, text */
#include "tile_rt_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEFAULT = 1 << 20, MOST_LINE = 2048 };

size_t tile_rt_report_words(const struct tile_rt_kernel *kernel)
{
    const char *asked = tile_rt_settings()->print_bytes;
    unsigned long long bytes = MOST_DEFAULT;
    if (kernel->print_count == 0)
        return TILE_RT_REPORT_records;
    if (asked != NULL && strtoull(asked, NULL, 10) > 0)
        bytes = strtoull(asked, NULL, 10);
    if (bytes > (unsigned long long)1 << 32)
        bytes = (unsigned long long)1 << 32;
    return TILE_RT_REPORT_records + (size_t)(bytes / 8);
}

void tile_rt_report_begin(uint64_t *report, size_t words)
{
    report[TILE_RT_REPORT_room] = words - TILE_RT_REPORT_records;
}

/* ---- texts ------------------------------------------------------------------------------------------------------ */

static size_t put_number(char *line, size_t used, const char *flags, char letter, uint64_t word)
{
    char form[24];
    int written;
    double real;
    memcpy(&real, &word, sizeof real);
    if (real != real) { /* of a NaN the sign means nothing */
        uint64_t positive = word & ~((uint64_t)1 << 63);
        memcpy(&real, &positive, sizeof real);
    }
    switch (letter) {
    case 'e':
    case 'f':
    case 'g':
        snprintf(form, sizeof form, "%%%s%c", flags, letter);
        written = snprintf(line + used, MOST_LINE - used, form, real);
        break;
    case 'b': return tile_rt_append(line, MOST_LINE, used, "%s", word ? "true" : "false");
    case 'd':
        snprintf(form, sizeof form, "%%%slld", flags);
        written = snprintf(line + used, MOST_LINE - used, form, (long long)(int64_t)word);
        break;
    default:
        snprintf(form, sizeof form, "%%%sll%c", flags, letter);
        written = snprintf(line + used, MOST_LINE - used, form, (unsigned long long)word);
    }
    return written < 0 ? used : (size_t)written < MOST_LINE - used ? used + (size_t)written : MOST_LINE - 1;
}

/* Value i is *value[i]. */
static size_t put_text(char *line, size_t used, const char *format, const uint64_t *const *value)
{
    while (*format) {
        size_t plain = strcspn(format, "%"), digits;
        char flags[8] = "";
        used = tile_rt_append(line, MOST_LINE, used, "%.*s", (int)plain, format);
        format += plain;
        if (*format == 0)
            break;
        if (format[1] == '%') {
            used = tile_rt_append(line, MOST_LINE, used, "%%");
            format += 2;
            continue;
        }
        digits = strspn(++format, "0123456789.");
        if (digits < sizeof flags)
            memcpy(flags, format, digits);
        used = put_number(line, used, flags, format[digits], **value++);
        format += digits + 1;
    }
    return used;
}

/* ---- prints ----------------------------------------------------------------------------------------------------- */

static int64_t elements_of(const struct tile_rt_print *print)
{
    int64_t elements = 1;
    uint32_t d;
    for (d = 0; d < print->rank; d++)
        elements *= print->extent[d];
    return elements;
}

static size_t put_indexes(char *line, size_t used, uint32_t count, const int64_t *index, const char *brackets)
{
    uint32_t d;
    used = tile_rt_append(line, MOST_LINE, used, "%c", brackets[0]);
    for (d = 0; d < count; d++)
        used = tile_rt_append(line, MOST_LINE, used, d ? ", %lld" : "%lld", (long long)index[d]);
    return tile_rt_append(line, MOST_LINE, used, "%c", brackets[1]);
}

static size_t put_place(char *line, size_t used, const struct tile_rt_print *print, int64_t element)
{
    int64_t index[8];
    uint32_t d;
    for (d = print->rank; d-- > 0; element /= print->extent[d])
        index[d] = element % print->extent[d];
    return put_indexes(line, used, print->rank, index, "[]");
}

/* Gives the words of the record. */
static size_t print_record(const struct tile_rt_kernel *kernel, const struct tile_rt_print *print,
                           const uint64_t *record)
{
    const uint64_t *value[32], *next = record + 1 + kernel->grid_rank;
    int64_t elements = elements_of(print), e;
    char line[MOST_LINE];
    uint32_t i;
    for (i = 0; i < print->value_count; i++) {
        value[i] = next;
        next += print->tiles >> i & 1 ? elements : 1;
    }
    for (e = 0; e < elements; e++) {
        size_t used = tile_rt_append(line, MOST_LINE, 0, "%s", kernel->name);
        used = put_indexes(line, used, kernel->grid_rank, (const int64_t *)(record + 1), "()");
        if (print->rank)
            used = put_place(line, used, print, e);
        used = tile_rt_append(line, MOST_LINE, used, ": ");
        used = put_text(line, used, print->format, value);
        tile_rt_append(line, MOST_LINE, used < MOST_LINE - 2 ? used : MOST_LINE - 2, "\n");
        fputs(line, stdout);
        for (i = 0; i < print->value_count; i++)
            value[i] += print->tiles >> i & 1;
    }
    return (size_t)(next - record);
}

static void print_all(const struct tile_rt_kernel *kernel, uint64_t *report)
{
    uint64_t used = report[TILE_RT_REPORT_used], room = report[TILE_RT_REPORT_room], at = 0;
    uint64_t *records = report + TILE_RT_REPORT_records, all = used < room ? used : room;
    char line[MOST_LINE];
    while (at < all && records[at] != 0 && records[at] <= kernel->print_count)
        at += print_record(kernel, &kernel->prints[records[at] - 1], records + at);
    if (used > room) {
        tile_rt_append(line, MOST_LINE, 0,
                       "%s: there was no room for all that it prints; TILE_PRINT_BYTES=%llu would do\n", kernel->name,
                       (unsigned long long)(8 * used));
        fputs(line, stdout);
    }
    memset(records, 0, (size_t)all * sizeof *records);
    report[TILE_RT_REPORT_used] = 0;
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

TILE_RT_COLD static int fail_check(const struct tile_rt_kernel *kernel, const uint64_t *report)
{
    uint64_t said = report[TILE_RT_REPORT_check], number = (said & 0xffff) - 1;
    const uint64_t *value[TILE_RT_REPORT_used];
    char text[MOST_LINE] = "a check";
    int i;
    for (i = 0; i < TILE_RT_REPORT_used; i++)
        value[i] = report + TILE_RT_REPORT_values + i;
    if (number < kernel->report_count)
        put_text(text, 0, kernel->report_texts[number], value);
    return tile_rt_fail(TILE_ERR_CHECK, "%s: %s does not hold in program %llu", kernel->name, text,
                        (unsigned long long)(said >> 16));
}

int tile_rt_report_end(const struct tile_rt_kernel *kernel, uint64_t *report)
{
    int status = TILE_OK;
    if (report[TILE_RT_REPORT_used])
        print_all(kernel, report);
    if (__atomic_load_n(&report[TILE_RT_REPORT_check], __ATOMIC_RELAXED) != 0)
        status = fail_check(kernel, report);
    report[TILE_RT_REPORT_check] = 0;
    return status;
}
