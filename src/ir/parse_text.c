/* Characters, words, numbers and names of tile IR text: what the parser (parse.c) reads by. */
#include <string.h>

#include "ir/parse_internal.h"

struct location parser_here(const struct parser *parser)
{
    int column = (int)(parser->at - parser->line_start) + 1;
    return (struct location){
        .source = parser->source, .line = parser->line, .column = column, .end_column = column + 1};
}

void parser_fail_at(struct parser *parser, struct location at, enum diagnostic_code code, const char *text)
{
    if (!parser->failed)
        diag_report(parser->diagnostics, code, at, "%s", text);
    parser->failed = true;
}

void parser_fail(struct parser *parser, const char *text)
{
    parser_fail_at(parser, parser_here(parser), DIAGNOSTIC_E1001, text);
}

int parser_peek(const struct parser *parser) { return parser->at < parser->end ? (unsigned char)*parser->at : -1; }

void parser_skip_space(struct parser *parser)
{
    for (; parser->at < parser->end; parser->at++) {
        char c = *parser->at;
        if (c == '\n') {
            parser->line++;
            parser->line_start = parser->at + 1;
        } else if (c == '/' && parser->end - parser->at > 1 && parser->at[1] == '/') {
            while (parser->at + 1 < parser->end && parser->at[1] != '\n')
                parser->at++;
        } else if (c != ' ' && c != '\t' && c != '\r') {
            return;
        }
    }
}

static bool is_name_start(int c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool parser_is_name(int c) { return is_name_start(c) || parser_is_digit(c); }

bool parser_accept(struct parser *parser, const char *text)
{
    parser_skip_space(parser);
    size_t size = strlen(text);
    if ((size_t)(parser->end - parser->at) < size || memcmp(parser->at, text, size))
        return false;
    if (is_name_start((unsigned char)text[0]) && parser->at + size < parser->end &&
        parser_is_name((unsigned char)parser->at[size]))
        return false;
    parser->at += size;
    return true;
}

bool parser_looking_at(struct parser *parser, const char *text)
{
    parser_skip_space(parser);
    const char *at = parser->at;
    bool found = parser_accept(parser, text);
    parser->at = at;
    return found;
}

void parser_expect(struct parser *parser, const char *text)
{
    if (!parser->failed && !parser_accept(parser, text))
        parser_fail(parser, arena_printf(parser->scratch, "'%s' is expected here", text));
}

const char *parser_word(struct parser *parser, size_t *size)
{
    parser_skip_space(parser);
    const char *start = parser->at;
    if (is_name_start(parser_peek(parser)))
        while (parser_is_name(parser_peek(parser)))
            parser->at++;
    *size = (size_t)(parser->at - start);
    return start;
}

int64_t parser_integer(struct parser *parser)
{
    parser_skip_space(parser);
    bool negative = parser_peek(parser) == '-';
    if (negative)
        parser->at++;
    if (!parser_is_digit(parser_peek(parser))) {
        parser_fail(parser, "a number is expected here");
        return 0;
    }
    uint64_t value = 0, most = negative ? UINT64_C(1) << 63 : INT64_MAX;
    for (; parser_is_digit(parser_peek(parser)); parser->at++) {
        uint64_t digit = (uint64_t)(parser_peek(parser) - '0');
        if (value > (most - digit) / 10) {
            parser_fail(parser, "the number does not fit 64 bits");
            return 0;
        }
        value = value * 10 + digit;
    }
    return (int64_t)(negative ? 0 - value : value);
}

int parser_small_integer(struct parser *parser, int least, int most)
{
    int64_t value = parser_integer(parser);
    if (!parser->failed && (value < least || value > most))
        parser_fail(parser, arena_printf(parser->scratch, "the number must lie between %d and %d", least, most));
    return parser->failed ? least : (int)value;
}

int parser_number_list(struct parser *parser, const char *close, bool unknown, int limit, int64_t *numbers)
{
    int count = 0;
    if (parser_accept(parser, close))
        return 0;
    do {
        if (count == limit) {
            parser_fail(parser, "the list is too long");
            return count;
        }
        numbers[count++] = unknown && parser_accept(parser, "?") ? IR_DYNAMIC : parser_integer(parser);
    } while (!parser->failed && parser_accept(parser, ","));
    parser_expect(parser, close);
    return count;
}

/* ---- names ---- */

static int hex_digit(int c) { return parser_is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

const char *parser_symbol(struct parser *parser)
{
    parser_expect(parser, "@");
    struct buffer text = {0};
    buffer_puts(&text, "");
    if (parser_peek(parser) == '"') {
        parser->at++;
        while (!parser->failed && parser_peek(parser) != '"') {
            int c = parser_peek(parser);
            if (c < 0x20 || c > 0x7e) {
                parser_fail(parser, "a name in quotes ends on its line");
            } else if (c == '\\') {
                int high = parser->end - parser->at > 2 ? hex_digit((unsigned char)parser->at[1]) : -1;
                int low = high >= 0 ? hex_digit((unsigned char)parser->at[2]) : -1;
                if (low < 0 || high * 16 + low == 0) {
                    parser_fail(parser, "a name's escape is \\ and two hexadecimal digits");
                    break;
                }
                buffer_putc(&text, (char)(high * 16 + low));
                parser->at += 3;
            } else {
                buffer_putc(&text, (char)c);
                parser->at++;
            }
        }
        if (!parser->failed)
            parser->at++;
    } else {
        while (parser_is_name(parser_peek(parser)) || parser_peek(parser) == '.' || parser_peek(parser) == '$')
            buffer_putc(&text, *parser->at++);
        if (!text.size)
            parser_fail(parser, "a name is expected behind '@'");
    }
    const char *name = intern_range(ir_context_names(parser->context), text.data, text.size);
    buffer_free(&text);
    return name;
}

const char *parser_value_name_end(const struct parser *parser, const char *at)
{
    for (; at < parser->end; at++)
        if (!parser_is_name((unsigned char)*at) &&
            (*at != '.' || parser->end - at < 2 || !is_name_start((unsigned char)at[1])))
            break;
    return at;
}

const char *parser_value_name(struct parser *parser)
{
    parser_expect(parser, "%");
    const char *start = parser->at;
    if (parser_is_name(parser_peek(parser)))
        parser->at = parser_value_name_end(parser, start);
    if (parser->at == start)
        parser_fail(parser, "the name of a value is expected behind '%'");
    return arena_substring(parser->scratch, start, (size_t)(parser->at - start));
}
