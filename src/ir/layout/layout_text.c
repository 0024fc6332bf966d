/* Layouts as text, #(64*3@warp, 16*11; register b0 a3; lane b1:2 a0:2; warp a4:5), and back.  See layout_print. */
#include <ctype.h>
#include <string.h>

#include "ir/layout/layout_internal.h"

/* One column as dimension and bit pairs; a single pair may start a run. */
static bool single_bit(const struct layout *layout, uint32_t column, int *dimension, int *bit)
{
    if (!is_power_of_two(column))
        return false;
    for (int d = 0; d < layout->rank; d++)
        if (layout_part_of(layout, column, d)) {
            *dimension = d;
            *bit = log2_floor(layout_part_of(layout, column, d));
        }
    return true;
}

static void print_columns(struct buffer *out, const struct layout *layout, int input)
{
    int count = layout->bits[input];
    buffer_puts(out, "; ");
    buffer_puts(out, layout_input_name[input]);
    for (int i = 0; i < count;) {
        uint32_t column = layout->column[input][i];
        int dimension = 0, bit = 0, run = 1;
        if (single_bit(layout, column, &dimension, &bit)) {
            while (i + run < count && layout->column[input][i + run] == column << run &&
                   bit + run < layout->atom_bits[dimension])
                run++;
            buffer_putc(out, ' ');
            buffer_putc(out, (char)('a' + dimension));
            buffer_put_number(out, bit);
            if (run > 1) {
                buffer_putc(out, ':');
                buffer_put_number(out, bit + run - 1);
            }
        } else if (!column) {
            while (i + run < count && !layout->column[input][i + run])
                run++;
            buffer_puts(out, " .");
            if (run > 1)
                buffer_printf(out, "%d", run);
        } else {
            char separator = ' ';
            for (int d = 0; d < layout->rank; d++)
                for (int k = 0; k < layout->atom_bits[d]; k++)
                    if (layout_part_of(layout, column, d) >> k & 1) {
                        buffer_printf(out, "%c%c%d", separator, 'a' + d, k);
                        separator = '^';
                    }
        }
        i += run;
    }
}

void layout_print(struct buffer *out, const struct layout *layout)
{
    buffer_puts(out, "#(");
    for (int d = 0; d < layout->rank; d++) {
        buffer_puts(out, d ? ", " : "");
        buffer_put_number(out, 1 << layout->atom_bits[d]);
        if (layout->repeat[d] > 1) {
            buffer_putc(out, '*');
            buffer_put_number(out, layout->repeat[d]);
            buffer_puts(out, d == layout->warp_dimension ? "@warp" : "");
        }
    }
    for (int input = 0; input < LAYOUT_INPUTS; input++)
        if (layout->bits[input] || (input == LAYOUT_OFFSET && layout->shared))
            print_columns(out, layout, input);
    if (layout->warp_groups > 1 && layout->warp_dimension < 0)
        buffer_printf(out, "; copies %d", layout->warp_groups);
    if (!layout_repeats_in_order(layout)) {
        buffer_puts(out, "; repeats");
        for (int place = 0; place < layout->rank; place++)
            for (int d = 0; d < layout->rank; d++)
                if (layout->repeat[d] > 1 && layout->repeat_place[d] == place)
                    buffer_printf(out, " %c", 'a' + d);
    }
    buffer_putc(out, ')');
}

const char *layout_text(struct arena *arena, const struct layout *layout)
{
    struct buffer buffer = {0};
    layout_print(&buffer, layout);
    const char *text = arena_substring(arena, buffer.data, buffer.size);
    buffer_free(&buffer);
    return text;
}

/* ---- reading ---- */

struct reader {
    const char *at;
    const char *error;
};

static void skip_space(struct reader *reader)
{
    while (*reader->at == ' ' || *reader->at == '\t' || *reader->at == '\n' || *reader->at == '\r')
        reader->at++;
}

static bool accept(struct reader *reader, const char *text)
{
    size_t length = strlen(text);
    skip_space(reader);
    if (strncmp(reader->at, text, length) != 0)
        return false;
    if (isalpha((unsigned char)text[length - 1]) && isalnum((unsigned char)reader->at[length]))
        return false; /* a word ends where it ends */
    reader->at += length;
    return true;
}

static int read_number(struct reader *reader)
{
    int64_t value = 0;
    if (!isdigit((unsigned char)*reader->at)) {
        reader->error = "a number is missing in a layout";
        return 0;
    }
    while (isdigit((unsigned char)*reader->at)) {
        value = value * 10 + (*reader->at++ - '0');
        if (value > INT32_MAX) {
            reader->error = "a number in a layout is too large";
            return 0;
        }
    }
    return (int)value;
}

static void read_extents(struct reader *reader, struct layout_spec *spec)
{
    skip_space(reader);
    while (isdigit((unsigned char)*reader->at) && !reader->error) {
        if (spec->rank == LAYOUT_RANK) {
            reader->error = "a layout has more than 8 dimensions";
            return;
        }
        int d = spec->rank++;
        spec->atom[d] = read_number(reader);
        spec->repeat[d] = 1;
        if (!reader->error && accept(reader, "*")) {
            skip_space(reader);
            spec->repeat[d] = read_number(reader);
            if (accept(reader, "@warp")) {
                if (spec->repeat_in_warps >= 0)
                    reader->error = "two dimensions of a layout repeat over warps";
                spec->repeat_in_warps = d;
            }
        }
        if (!accept(reader, ","))
            break;
        skip_space(reader);
    }
}

/* Adds one column; `values` are per dimension. */
static void push_column(struct reader *reader, struct layout_spec *spec, enum layout_input input, const int *values)
{
    if (spec->bits[input] >= packed_width((int)input)) {
        reader->error = "a layout has too many bits";
        return;
    }
    memcpy(spec->column[input][spec->bits[input]++], values, sizeof(int) * LAYOUT_RANK);
}

static void read_pair(struct reader *reader, const struct layout_spec *spec, int *dimension, int *bit)
{
    *dimension = *reader->at - 'a';
    if (*dimension < 0 || *dimension >= spec->rank) {
        reader->error = "a layout names a dimension that it does not have";
        return;
    }
    reader->at++;
    *bit = read_number(reader);
    if (!reader->error && (*bit >= 31 || (INT64_C(1) << *bit) >= spec->atom[*dimension]))
        reader->error = "a layout names a bit outside its atom";
}

static void read_columns(struct reader *reader, struct layout_spec *spec, enum layout_input input)
{
    for (;;) {
        int values[LAYOUT_RANK] = {0}, dimension = 0, bit = 0;
        skip_space(reader);
        if (*reader->at == '.') {
            reader->at++;
            int count = isdigit((unsigned char)*reader->at) ? read_number(reader) : 1;
            for (int i = 0; i < count && !reader->error; i++)
                push_column(reader, spec, input, values);
        } else if (*reader->at >= 'a' && *reader->at <= 'h' && isdigit((unsigned char)reader->at[1])) {
            read_pair(reader, spec, &dimension, &bit);
            if (reader->error)
                return;
            values[dimension] = 1 << bit;
            if (*reader->at == ':') {
                reader->at++;
                int last = read_number(reader);
                if (!reader->error && (last < bit || last >= 31 || (INT64_C(1) << last) >= spec->atom[dimension]))
                    reader->error = "a run of bits in a layout does not fit its atom";
                for (int k = bit; k <= last && !reader->error; k++) {
                    values[dimension] = 1 << k;
                    push_column(reader, spec, input, values);
                }
            } else {
                while (*reader->at == '^' && !reader->error) {
                    reader->at++;
                    read_pair(reader, spec, &dimension, &bit);
                    if (!reader->error)
                        values[dimension] ^= 1 << bit;
                }
                if (!reader->error)
                    push_column(reader, spec, input, values);
            }
        } else {
            return;
        }
        if (reader->error)
            return;
    }
}

/* Dimensions, the one whose repeats lie outermost first. */
static void read_repeats(struct reader *reader, struct layout_spec *spec)
{
    for (int place = 1; skip_space(reader), *reader->at >= 'a' && *reader->at <= 'h'; place++) {
        int d = *reader->at++ - 'a';
        if (d >= spec->rank || spec->repeat_place[d]) {
            reader->error = "the repeats of a layout name each of its dimensions once";
            return;
        }
        spec->repeat_place[d] = place;
    }
    if (!spec->shared)
        reader->error = "repeats have an order of their own in shared memory alone";
}

static void read_layout(struct reader *reader, struct layout_spec *spec)
{
    if (!accept(reader, "#(")) {
        reader->error = "a layout starts with #(";
        return;
    }
    read_extents(reader, spec);
    while (!reader->error && accept(reader, ";")) {
        bool known = false;
        for (int input = 0; input < LAYOUT_INPUTS && !known; input++)
            if (accept(reader, layout_input_name[input])) {
                known = true;
                if (spec->bits[input])
                    reader->error = "a layout gives one input twice";
                spec->shared |= input == LAYOUT_OFFSET;
                if (!reader->error)
                    read_columns(reader, spec, (enum layout_input)input);
            }
        if (!known && accept(reader, "copies")) {
            known = true;
            skip_space(reader);
            spec->warp_copies = read_number(reader);
        }
        if (!known && accept(reader, "repeats")) {
            known = true;
            read_repeats(reader, spec);
        }
        if (!known && !reader->error)
            reader->error = "a layout has register, lane, warp, block, offset, copies or repeats behind ;";
    }
    if (!reader->error && !accept(reader, ")"))
        reader->error = "a layout ends with )";
}

const struct layout *layout_parse(struct layout_table *table, const char **cursor, const char **error)
{
    struct reader reader = {*cursor, NULL};
    struct layout_spec spec = {.repeat_in_warps = -1};
    const struct layout *layout = NULL;
    read_layout(&reader, &spec);
    if (!reader.error) {
        layout = layout_create(table, &spec);
        if (!layout)
            reader.error = "this is not a layout: it does not hold every element, or holds one twice";
    }
    *cursor = reader.at;
    *error = reader.error;
    return layout;
}
