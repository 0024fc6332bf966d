/* What is said about a syntax error.  Bison gives the tokens that could stand at the place; the tokens before it tell
 * what the author most likely meant: a habit of C, a missing `;`, a bracket that was never closed, or else the plain
 * "expected ...". */
#include "front/syntax/parser.h"
#include "grammar-tile.tab.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct location parser_place(const struct parser *parser, struct text_range range)
{
    struct location at = {
        .source = parser->source, .line = range.line, .column = range.column, .end_column = range.end_column};
    if (range.end_line > range.line) {
        const char *text = parser->source->text + range.offset,
                   *newline = memchr(text, '\n', range.end_offset - range.offset);
        at.end_column = range.column + (newline ? (int)(newline - text) : 1);
    }
    return at;
}

static struct diagnostic *count_error(struct parser *parser, struct diagnostic *diagnostic)
{
    if (diagnostic->severity != SEVERITY_error)
        return diagnostic;
    parser->file->has_errors = true;
    if (++parser->errors == PARSER_MOST_ERRORS) {
        diag_report(parser->context->diagnostics, DIAGNOSTIC_E0128, diagnostic->at, "too many errors in this file");
        parser->stopped = true;
    }
    return diagnostic;
}

struct diagnostic *parser_report_at(struct parser *parser, enum diagnostic_code code, struct location at,
                                    const char *format, ...)
{
    if (parser->stopped)
        return &parser->ignored;
    va_list arguments;
    va_start(arguments, format);
    struct diagnostic *diagnostic = diag_vreport(parser->context->diagnostics, code, at, format, arguments);
    va_end(arguments);
    return count_error(parser, diagnostic);
}

struct diagnostic *parser_report(struct parser *parser, enum diagnostic_code code, struct text_range at,
                                 const char *format, ...)
{
    if (parser->stopped)
        return &parser->ignored;
    va_list arguments;
    va_start(arguments, format);
    struct diagnostic *diagnostic = diag_vreport(parser->context->diagnostics, code, parser_place(parser, at), format,
                                                 arguments);
    va_end(arguments);
    return count_error(parser, diagnostic);
}

void parser_fixit(struct parser *parser, struct diagnostic *diagnostic, struct text_range at, enum fixit_grade grade,
                  const char *replacement)
{
    if (diagnostic == &parser->ignored)
        return;
    diag_fixit(parser->context->diagnostics, diagnostic, parser_place(parser, at), grade, replacement);
}

void parser_stop_too_deep(struct parser *parser, struct text_range at)
{
    if (parser->stopped)
        return;
    at.end_line = at.line;
    at.end_column = at.column + 1;
    parser_report(parser, DIAGNOSTIC_E0107, at,
                  "this is nested too deeply: 256 brackets, blocks and statements may stand in each other");
    parser->stopped = true;
}

/* ---- what was expected, in plain words ---- */

struct expected {
    const char *const *names;
    int count;
};

static bool expects(struct expected expected, const char *name)
{
    for (int i = 0; i < expected.count; i++)
        if (strcmp(expected.names[i], name) == 0)
            return true;
    return false;
}

static bool expects_operand(struct expected expected)
{
    return expects(expected, "an integer") && expects(expected, "'-'");
}
static bool expects_operator(struct expected expected) { return expects(expected, "'+'") && expects(expected, "'*'"); }
static bool expects_statement(struct expected expected) { return expects(expected, "let"); }
static bool expects_declaration(struct expected expected) { return expects(expected, "kernel"); }
static bool expects_name(struct expected expected) { return expects(expected, "a name") && !expects_operand(expected); }

static bool is_one_of(const char *name, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(name, *words) == 0)
            return true;
    return false;
}

/* "`;`, `,` or an operator": words that belong to a group named as a whole are left out. */
static void describe_expected(struct expected expected, struct buffer *out)
{
    static const char *const place_words[] = {"out",     "inout", "test",     "as",       "packed",
                                              "strided", "huge",  "restrict", "noinline", NULL};
    static const char *const operand_words[] = {"a name", "a scalar type", "an integer", "a number", "a string", "'-'",
                                                "'~'",    "'('",           "'['",        "not",      NULL};
    static const char *const operator_words[] = {"'+'", "'-'", "'*'", "'/'", "'%'", "'@'", "'|'", "'^'", "'&'",
                                                 "<<",  ">>",  "and", "or",  "'?'", "==",  "!=",  "'<'", "'>'",
                                                 "<=",  ">=",  "'('", "'['", "'.'", "->",  "+:",  NULL};
    static const char *const assign_words[] = {
        "'='", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", NULL};
    bool operand = expects_operand(expected), operator= expects_operator(expected), assign = expects(expected, "+=");
    bool name = expects(expected, "a name");
    const char *said[8];
    int count = 0;
    if (expects_declaration(expected))
        said[count++] = "a declaration";
    else if (expects_statement(expected))
        said[count++] = "a statement";
    else if (operand)
        said[count++] = "an expression";
    bool statement = count && !operand;
    for (int i = 0; i < expected.count && count < 7; i++) {
        const char *word = expected.names[i];
        if (name && is_one_of(word, place_words))
            continue;
        if (statement && word[0] != '\'')
            continue;
        if (statement && strcmp(word, "'}'") != 0)
            continue;
        if (operand && is_one_of(word, operand_words))
            continue;
        if (operator&& is_one_of(word, operator_words))
            continue;
        if (assign && is_one_of(word, assign_words)) {
            if (strcmp(word, "'='") == 0)
                said[count++] = "an assignment";
            continue;
        }
        if (strcmp(word, "++") == 0 || (operator&& strcmp(word, "->") == 0) || (name && strcmp(word, "->") == 0))
            continue;
        if (strcmp(word, "->") == 0 && expects(expected, "'.'"))
            continue;
        said[count++] = word;
    }
    if (operator&& count<3)
        said[count++] = "an operator";
    for (int i = 0; i < count; i++) {
        if (i)
            buffer_puts(out, i + 1 == count ? " or " : ", ");
        bool plain = strncmp(said[i], "a ", 2) == 0 || strncmp(said[i], "an ", 3) == 0 ||
                     strcmp(said[i], "end of file") == 0;
        if (plain)
            buffer_puts(out, said[i]);
        else if (said[i][0] == '\'')
            buffer_printf(out, "`%c`", said[i][1]);
        else
            buffer_printf(out, "`%s`", said[i]);
    }
}

static const char *describe_token(struct parser *parser, const struct token *token)
{
    if (token->kind == TOKEN_END)
        return parser->is_alone ? "the end of the line" : "the end of the file";
    if (token->kind == TOKEN_STRING)
        return "a string";
    size_t size = token->at.end_offset - token->at.offset;
    return arena_printf(parser->context->arena, "`%.*s`%s", (int)(size < 40 ? size : 40),
                        parser->source->text + token->at.offset, size > 40 ? "..." : "");
}

/* ---- what was meant ---- */

static bool is_word(const struct token *token, const char *const *words)
{
    return token->kind == TOKEN_NAME && is_one_of(token->value.TOKEN_NAME.text, words);
}

static bool is_comparison(int kind)
{
    return kind == '<' || kind == '>' || kind == TOKEN_EQ || kind == TOKEN_NE || kind == TOKEN_LE || kind == TOKEN_GE;
}

static bool is_order(int kind) { return kind == '<' || kind == '>' || kind == TOKEN_LE || kind == TOKEN_GE; }

static bool begins_operand(int kind)
{
    return kind == TOKEN_NAME || kind == TOKEN_INT || kind == TOKEN_REAL || kind == TOKEN_TYPE;
}

static bool begins_operator(int kind)
{
    return kind == '+' || kind == '-' || kind == '*' || kind == '/' || kind == '%' || kind == '@' || kind == '&' ||
           kind == '|' || kind == '^' || kind == TOKEN_SHL || kind == TOKEN_SHR;
}

static const char *const c_types[] = {"int",      "float",    "double",  "char",      "long",    "short",
                                      "unsigned", "signed",   "void",    "auto",      "half",    "size_t",
                                      "int8_t",   "int16_t",  "int32_t", "int64_t",   "uint8_t", "uint16_t",
                                      "uint32_t", "uint64_t", "__half",  "constexpr", NULL};

static const char *text_of(const struct parser *parser, const struct token *token)
{
    return arena_substring(parser->context->arena, parser->source->text + token->at.offset,
                           token->at.end_offset - token->at.offset);
}

static bool is_decimal(const struct parser *parser, const struct token *token)
{
    const char *text = token->kind == TOKEN_INT ? text_of(parser, token) : "";
    return *text && strspn(text, "0123456789") == strlen(text);
}

/* The innermost bracket around the newest token, 0 if none. */
static int inside(const struct parser *parser)
{
    int count = parser->brackets_before;
    return count ? parser->brackets.data[count - 1].kind : 0;
}

/* Where the operand that starts with the newest token ends: behind its suffixes, as in x[i].y(z). */
static size_t operand_end(struct parser *parser, const struct token *first, struct text_range *end)
{
    *end = first->at;
    for (int at = 0; at < 60;) {
        const struct token *token = token_stream_peek(parser, at);
        if (token->kind == '.' && token_stream_peek(parser, at + 1)->kind == TOKEN_NAME) {
            *end = token_stream_peek(parser, at + 1)->at;
            at += 2;
            continue;
        }
        if (token->kind != '[' && token->kind != '(')
            break;
        int depth = 0;
        for (; at < 60; at++) {
            token = token_stream_peek(parser, at);
            if (token->kind == '[' || token->kind == '(')
                depth++;
            if ((token->kind == ']' || token->kind == ')') && --depth == 0)
                break;
            if (token->kind == TOKEN_END || token->kind == ';')
                return 0;
        }
        *end = token->at;
        at++;
    }
    return end->line == first->at.line ? end->end_offset : 0;
}

/* What the word of C is called here; others are as they are. */
static const char *own_type(const char *type)
{
    static const struct {
        const char *c, *tile;
    } names[] = {{"int", "i32"},      {"unsigned", "u32"}, {"long", "i64"},  {"short", "i16"},   {"char", "i8"},
                 {"float", "f32"},    {"double", "f64"},   {"half", "f16"},  {"int32_t", "i32"}, {"int64_t", "i64"},
                 {"uint32_t", "u32"}, {"uint64_t", "u64"}, {"size_t", "u64"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(type, names[i].c) == 0)
            return names[i].tile;
    return type;
}

/* (int)x  (f32)x */
static bool is_cast(struct parser *parser, const struct token *t)
{
    if (!begins_operand(t[0].kind) || t[1].kind != ')' || t[3].kind != '(')
        return false;
    if (t[2].kind != TOKEN_TYPE && t[2].kind != TOKEN_NAME)
        return false;
    const char *type = own_type(text_of(parser, &t[2]));
    struct text_range whole = t[3].at, end;
    size_t end_offset = operand_end(parser, &t[0], &end);
    whole.end_line = end.end_line;
    whole.end_column = end.end_column;
    whole.end_offset = end.end_offset;
    struct diagnostic *d = parser_report(parser, DIAGNOSTIC_E0114, whole, "a conversion is written `%s(x)`", type);
    if (end_offset && whole.line == end.end_line)
        parser_fixit(parser, d, whole,
                     t[2].kind == TOKEN_TYPE || is_word(&t[2], c_types) ? FIXIT_CERTAIN : FIXIT_PROBABLE,
                     arena_printf(parser->context->arena, "%s(%.*s)", type, (int)(end_offset - t[0].at.offset),
                                  parser->source->text + t[0].at.offset));
    return true;
}

/* 1.0f  10UL: the scanner has reported the suffix, with a fix-it that takes it away. */
static bool has_suffix(const struct parser *parser, const struct token *number)
{
    const char *text = parser->source->text + number->at.offset;
    char last = parser->source->text[number->at.end_offset - 1];
    bool based = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    return strchr("uUlL", last) || (strchr("fFhH", last) && !based);
}

/* Puts the number into a conversion.  Its text stays as it is where the fix-it of a suffix changes it. */
static void propose_conversion(struct parser *parser, struct diagnostic *d, struct text_range value,
                               const struct token *number, const char *type)
{
    struct arena *arena = parser->context->arena;
    value.end_column = number->at.end_column;
    value.end_offset = number->at.end_offset;
    if (!has_suffix(parser, number)) {
        parser_fixit(parser, d, value, FIXIT_CERTAIN,
                     arena_printf(arena, "%s(%.*s)", type, (int)(value.end_offset - value.offset),
                                  parser->source->text + value.offset));
        return;
    }
    if (number->kind == TOKEN_REAL && strcmp(type, "f32") == 0)
        return; /* a real number by itself is f32 */
    struct text_range begin = value, end = value;
    begin.end_column = begin.column;
    begin.end_offset = begin.offset;
    end.column = end.end_column;
    end.offset = end.end_offset;
    parser_fixit(parser, d, begin, FIXIT_CERTAIN, arena_printf(arena, "%s(", type));
    parser_fixit(parser, d, end, FIXIT_CERTAIN, ")");
}

/* float s = 0;  becomes  var s = f32(0);  Where the value is more than a number it has the type that it has:
 * int i = b*64;  becomes  var i = b*64; */
static void propose_variable(struct parser *parser, struct diagnostic *d, const struct token *type,
                             const struct token *name, int behind)
{
    if (name->kind != TOKEN_NAME || token_stream_peek(parser, behind)->kind != '=')
        return;
    bool negative = token_stream_peek(parser, behind + 1)->kind == '-';
    const struct token *number = token_stream_peek(parser, behind + 1 + negative);
    struct text_range value = token_stream_peek(parser, behind + 1)->at;
    const char *own = own_type(text_of(parser, type));
    bool is_number = (number->kind == TOKEN_INT || (number->kind == TOKEN_REAL && own[0] == 'f')) &&
                     token_stream_peek(parser, behind + 2 + negative)->kind == ';' && number->at.line == value.line;
    bool is_scalar = type->kind == TOKEN_TYPE || strcmp(own, text_of(parser, type)) != 0;
    bool is_plain = !is_number || !is_scalar || (negative && own[0] == 'u');
    parser_fixit(parser, d, type->at, is_plain ? FIXIT_PROBABLE : FIXIT_CERTAIN, "var");
    if (!is_plain)
        propose_conversion(parser, d, value, number, own);
}

/* int i = 0;   f32 x;   float *p;   (float a) among parameters */
static bool is_c_declaration(struct parser *parser, struct expected expected, const struct token *t)
{
    const struct token *first = parser->statement_first;
    bool in_body = token_stream_in_body(parser);
    if (in_body && t[0].kind == TOKEN_TYPE && expects_statement(expected) &&
        token_stream_peek(parser, 0)->kind != '(') {
        struct diagnostic *d = parser_report(parser, DIAGNOSTIC_E0115, t[0].at,
                                             "a variable is declared with `let` or `var`, without its type in front");
        propose_variable(parser, d, &t[0], token_stream_peek(parser, 0), 1);
        return true;
    }
    if (in_body && t[0].kind == TOKEN_CONST && expects_statement(expected)) {
        struct diagnostic *d = parser_report(parser, DIAGNOSTIC_E0115, t[0].at,
                                             "inside a body a value that stays is declared with `let`");
        if (token_stream_peek(parser, 0)->kind == TOKEN_NAME && token_stream_peek(parser, 1)->kind == '=')
            parser_fixit(parser, d, t[0].at, FIXIT_CERTAIN, "let");
        return true;
    }
    bool second = in_body && first->at.offset == t[1].at.offset && first->kind == TOKEN_NAME;
    if (second &&
        (t[0].kind == TOKEN_NAME || (is_word(first, c_types) && (t[0].kind == '*' || t[0].kind == TOKEN_TYPE)))) {
        struct diagnostic *d = parser_report(parser, DIAGNOSTIC_E0115, t[1].at,
                                             "a variable is declared with `let` or `var`, without its type in front");
        propose_variable(parser, d, &t[1], &t[0], 0);
        return true;
    }
    if (in_body || inside(parser) != '(')
        return false;
    const struct token *type = t[0].kind == TOKEN_TYPE && (t[1].kind == '(' || t[1].kind == ',') ? &t[0] : NULL;
    if (t[1].kind == TOKEN_NAME && (t[2].kind == '(' || t[2].kind == ',') && is_word(&t[1], c_types) &&
        (t[0].kind == TOKEN_NAME || t[0].kind == '*' || t[0].kind == TOKEN_CONST))
        type = &t[1];
    if (!type)
        return false;
    parser_report(parser, DIAGNOSTIC_E0115, type->at, "a parameter is written `name: type`");
    return true;
}

static bool is_c_statement(struct parser *parser)
{
    static const struct {
        const char *word, *advice;
    } statements[] = {
        {"switch", "there is no `switch`: use `if` and `else`"},
        {"case", "there is no `switch`: use `if` and `else`"},
        {"default", "there is no `switch`: use `if` and `else`"},
        {"do", "there is no `do`: use `while (condition)`"},
        {"goto", "there is no `goto`: use `break`, `continue`, `return` or a function"},
        {"typedef", "there is no `typedef`: types are written out, or generic"},
        {"elif", "write `else if`"},
        {"__shared__", "shared memory belongs to the compiler: tiles are values"},
        {"def", "a function is `fn f(x: f32) -> f32 { ... }` and stands outside of kernels"},
    };
    const struct token *first = parser->statement_first;
    if (first->kind != TOKEN_NAME)
        return false;
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        if (strcmp(first->value.TOKEN_NAME.text, statements[i].word) != 0)
            continue;
        parser_report(parser, DIAGNOSTIC_E0127, first->at, "%s", statements[i].advice);
        return true;
    }
    return false;
}

/* @triton.jit   import triton.language as tl */
static bool is_line_of_triton(struct parser *parser, struct expected expected, const struct token *t)
{
    if (t[0].kind == '@' && expects_declaration(expected)) {
        parser_report(parser, DIAGNOSTIC_E0127, t[0].at,
                      "a kernel needs no decorator: `kernel f(x: in f32[N], y: out f32[N]) grid(i: N) { ... }`");
        return true;
    }
    if (t[0].kind == TOKEN_NAME && t[1].kind == TOKEN_IMPORT) {
        parser_report(parser, DIAGNOSTIC_E0127, t[0].at,
                      "what the language brings needs no import; another file is `import \"file.tile\"`");
        return true;
    }
    return false;
}

/* What begins a file of CUDA or Python. */
static bool is_foreign_declaration(struct parser *parser, struct expected expected, const struct token *t)
{
    static const char *const words[] = {
        "def",  "void",  "__global__", "__device__", "template", "inline", "extern",  "function", "func",     "class",
        "from", "using", "int",        "float",      "double",   "global", "typedef", "type",     "__host__", NULL};
    if (!expects_declaration(expected) || !is_word(&t[0], words))
        return false;
    parser_report(parser, DIAGNOSTIC_E0127, t[0].at,
                  "a kernel is declared `kernel f(x: in f32[N], y: out f32[N]) grid(i: N) { ... }`, a function "
                  "`fn f(x: f32) -> f32 { ... }`");
    return true;
}

/* x: const *f32 */
static bool is_const_in_front(struct parser *parser, const struct token *t)
{
    const struct token *star = token_stream_peek(parser, 0);
    if (t[0].kind != TOKEN_CONST || t[1].kind != ':' || star->kind != '*' || star->at.line != t[0].at.line)
        return false;
    struct text_range both = t[0].at;
    both.end_column = star->at.end_column;
    both.end_offset = star->at.end_offset;
    const struct token *type = token_stream_peek(parser, 1);
    struct diagnostic *d = parser_report(
        parser, DIAGNOSTIC_E0101, both, "a pointer to what is only read is written `*const %s`",
        type->kind == TOKEN_TYPE || type->kind == TOKEN_NAME ? text_of(parser, type) : "T");
    parser_fixit(parser, d, both, FIXIT_CERTAIN, type->at.offset == both.end_offset ? "*const " : "*const");
    return true;
}

static bool ends_line_in_colon(const struct parser *parser, const struct token *token)
{
    const char *line = parser->source->text + token->at.offset;
    size_t size = strcspn(line, "#\n");
    while (size && isspace((unsigned char)line[size - 1]))
        size--;
    return size && line[size - 1] == ':';
}

/* f(x, y): parameters without types.   kernel f(...) -> f32.   if i > 3:   x ** 2 */
static bool is_left_out(struct parser *parser, struct expected expected, const struct token *t)
{
    if (!token_stream_in_body(parser) && inside(parser) == '(' && t[1].kind == TOKEN_NAME && expects(expected, "':'") &&
        (t[0].kind == ',' || t[0].kind == ')') && (t[2].kind == '(' || t[2].kind == ',')) {
        parser_report(parser, DIAGNOSTIC_E0115, t[1].at,
                      "a parameter has a type: `%s: f32`, and of a view also its use, `%s: in f32[N]`",
                      text_of(parser, &t[1]), text_of(parser, &t[1]));
        return true;
    }
    if (t[0].kind == TOKEN_ARROW && t[1].kind == ')' && expects(expected, "'{'")) {
        parser_report(parser, DIAGNOSTIC_E0313, t[0].at, "a kernel gives no value: its results go into `out` views");
        return true;
    }
    if ((t[1].kind == TOKEN_IF || t[1].kind == TOKEN_WHILE) && t[0].kind != '(' && expects(expected, "'('")) {
        bool is_python = ends_line_in_colon(parser, &t[0]);
        parser_report(parser, DIAGNOSTIC_E0101, t[0].at,
                      is_python ? "the condition stands in brackets, what depends on it in braces: `%s (c) { ... }`"
                                : "the condition stands in brackets: `%s (c) ...`",
                      text_of(parser, &t[1]));
        return true;
    }
    if (t[0].kind == '*' && t[1].kind == '*' && t[0].at.offset == t[1].at.end_offset) {
        parser_report(parser, DIAGNOSTIC_E0101, t[0].at, "there is no `**`: write `pow(x, y)`, or `x * x`");
        return true;
    }
    if (t[0].kind == TOKEN_IF && expects_operator(expected)) { /* y = a if c else b; */
        parser_report(parser, DIAGNOSTIC_E0101, t[0].at,
                      "one of two values is written `c ? a : b`, element by element `where(c, a, b)`");
        return true;
    }
    bool is_type = t[1].kind == TOKEN_TYPE || (t[1].kind == TOKEN_NAME && t[2].kind == ':');
    if (t[0].kind == '*' && is_type && !token_stream_in_body(parser) && expects(expected, "'['")) {
        const char *type = own_type(text_of(parser, &t[1]));
        parser_report(parser, DIAGNOSTIC_E0101, t[0].at,
                      "a pointer is written `*%s`, a view `in %s[N]` with its extents", type, type);
        return true;
    }
    return false;
}

/* Text without spaces. */
static const char *squeezed(struct parser *parser, const char *text, size_t size)
{
    char *copy = arena_substring(parser->context->arena, text, size), *to = copy;
    for (const char *from = copy; *from; from++)
        if (*from != ' ' && *from != '\t')
            *to++ = *from;
    *to = '\0';
    return copy;
}

/* The width of a:b where the text shows it: i : i + n, and i*n : (i + 1)*n.  NULL: it does not. */
static const char *width_of_slice(struct parser *parser, const char *from, const char *to)
{
    size_t length = strlen(from), star = strcspn(from, "*");
    if (length && strncmp(to, from, length) == 0 && to[length] == '+' && strcspn(from, "&|^<>") == length)
        return strpbrk(to + length + 1, "+-&|^<>,") ? NULL : to + length + 1;
    const char *next = arena_printf(parser->context->arena, "(%.*s+1)%s", (int)star, from, from + star);
    bool is_plain = from[star] && strcspn(from, "+-/%&|^<>()") == length && !strchr(from + star + 1, '*');
    return is_plain && strcmp(to, next) == 0 ? from + star + 1 : NULL;
}

/* Both sides are text of the same line, between the bracket or a comma and the next one. */
static void propose_slice(struct parser *parser, struct diagnostic *d, const struct token *colon)
{
    const char *text = parser->source->text, *begin = text + colon->at.offset, *end = begin + 1;
    int depth = 0;
    while (begin > text && begin[-1] != '\n' && (depth || (begin[-1] != '[' && begin[-1] != ','))) {
        begin--;
        depth += *begin == ')' || *begin == ']' ? 1 : *begin == '(' || *begin == '[' ? -1 : 0;
    }
    for (depth = 0; *end && *end != '\n' && (depth || (*end != ']' && *end != ',')); end++)
        depth += *end == '(' || *end == '[' ? 1 : *end == ')' || *end == ']' ? -1 : 0;
    const char *from = squeezed(parser, begin, (size_t)(text + colon->at.offset - begin));
    const char *to = squeezed(parser, text + colon->at.end_offset, (size_t)(end - text) - colon->at.end_offset);
    const char *width = *end == ']' || *end == ',' ? width_of_slice(parser, from, to) : NULL;
    struct text_range rest = colon->at;
    if (!width) {
        parser_fixit(parser, d, colon->at, FIXIT_HINT, "..");
        return;
    }
    rest.end_offset = (size_t)(end - text);
    rest.end_column = colon->at.column + (int)(rest.end_offset - colon->at.offset);
    parser_fixit(parser, d, rest, FIXIT_PROBABLE, arena_printf(parser->context->arena, " +: %s", width));
}

/* x[a:b]  x[a:]  x[:b] */
static bool is_c_slice(struct parser *parser, const struct token *t)
{
    if (inside(parser) != '[' || !token_stream_in_body(parser))
        return false;
    const struct token *colon = t[0].kind == ':' ? &t[0] : t[1].kind == ':' ? &t[1] : NULL;
    if (!colon || (colon == &t[1] && t[2].kind != '[' && t[2].kind != ','))
        return false;
    struct diagnostic *d = parser_report(parser, DIAGNOSTIC_E0117, colon->at,
                                         "write `i +: n` for n elements from i, or `a..b` for a sub-view");
    const struct token *next = token_stream_peek(parser, 0);
    if (t[1].kind == ':' || next->kind == ':')
        return true;
    /* Between numbers the width is known: a tile, which is what Python's slice most often means. */
    bool numbers = is_decimal(parser, &t[1]) && is_decimal(parser, next) && (t[2].kind == '[' || t[2].kind == ',') &&
                   next->at.line == colon->at.line;
    const struct token *behind = numbers ? token_stream_peek(parser, 1) : NULL;
    if (behind && (behind->kind == ']' || behind->kind == ',')) {
        long long from = atoll(text_of(parser, &t[1])), to = atoll(text_of(parser, next));
        struct text_range both = colon->at;
        both.end_column = next->at.end_column;
        both.end_offset = next->at.end_offset;
        if (to > from)
            parser_fixit(parser, d, both, FIXIT_CERTAIN, arena_printf(parser->context->arena, " +: %lld", to - from));
        return true;
    }
    propose_slice(parser, d, colon);
    return true;
}

/* N // 2  The comment right behind an operand, on its line, without its slashes; NULL: none. */
static const char *comment_behind(const struct parser *parser, const struct token *token)
{
    int kind = token->kind;
    if (!begins_operand(kind) && kind != ')' && kind != ']')
        return NULL;
    const char *text = parser->source->text + token->at.end_offset;
    text += strspn(text, " \t");
    return strncmp(text, "//", 2) == 0 ? text + 2 : NULL;
}

/* N // 2;  The comment holds what would have ended the statement. */
static bool is_quotient_of_python(const struct parser *parser, const struct token *token)
{
    const char *text = comment_behind(parser, token);
    if (!text)
        return false;
    text += strspn(text, " \t");
    return isdigit((unsigned char)*text) || memchr(text, ';', strcspn(text, "\n"));
}

static void note_quotient(struct parser *parser, struct diagnostic *d, struct location at)
{
    diag_note(parser->context->diagnostics, d, at, "`//` begins a comment; integers are divided by `/`");
}

/* for k in 0..N // 64 {  Of the lines before one that closes nothing, the last whose comment swallowed a `{`. */
static void note_swallowed_brace(struct parser *parser, struct diagnostic *d, const struct token *closing)
{
    const char *text = parser->source->text, *line = text + closing->at.offset;
    for (int number = closing->at.line; number > 0; number--) {
        while (line > text && line[-1] != '\n')
            line--;
        size_t size = strcspn(line, "\n");
        const char *comment = memmem(line, size, "//", 2);
        size_t before = comment ? (size_t)(comment - line) : 0;
        while (before && isblank((unsigned char)line[before - 1]))
            before--;
        char last = before ? line[before - 1] : 0;
        if (size && line[size - 1] == '{' && (isalnum((unsigned char)last) || (last && strchr("_)]", last)))) {
            struct location at = {.source = parser->source, .line = number, .column = (int)(comment - line) + 1};
            at.end_column = at.column + 2;
            note_quotient(parser, d, at);
            return;
        }
        line -= line > text;
    }
}

static bool is_unclosed(struct parser *parser, const struct token *t)
{
    int count = parser->brackets_before;
    struct open_bracket open = parser->mismatched.kind ? parser->mismatched
                               : count                 ? parser->brackets.data[count - 1]
                                                       : (struct open_bracket){0};
    bool leaves = t[0].kind == TOKEN_END || t[0].kind == TOKEN_KERNEL || t[0].kind == TOKEN_FN ||
                  t[0].kind == TOKEN_IMPORT || t[0].kind == TOKEN_ENUM;
    if (open.kind != '{' && open.kind)
        leaves = leaves || t[0].kind == ';' || t[0].kind == '{' || t[0].kind == TOKEN_LET || t[0].kind == TOKEN_VAR ||
                 t[0].kind == TOKEN_RETURN || t[0].kind == TOKEN_WHILE;
    if (!open.kind || !(leaves || parser->mismatched.kind)) {
        if (count || (t[0].kind != ')' && t[0].kind != ']' && t[0].kind != '}'))
            return false;
        struct diagnostic *d = parser_report(parser, DIAGNOSTIC_E0108, t[0].at, "this `%c` closes nothing",
                                             (char)t[0].kind);
        if (t[0].kind == '}' && d != &parser->ignored)
            note_swallowed_brace(parser, d, &t[0]);
        return true;
    }
    struct diagnostic *d = parser_report(parser, DIAGNOSTIC_E0108, t[0].at, "`%c` is not closed before %s", open.kind,
                                         describe_token(parser, &t[0]));
    diag_note(parser->context->diagnostics, d, parser_place(parser, open.at), "opened here");
    if (open.kind == '{' && parser->suspect.kind && parser->suspect.at.offset > open.at.offset)
        diag_note(parser->context->diagnostics, d, parser_place(parser, parser->suspect.at),
                  "this `{` is closed by the `}` of line %d, which is indented otherwise: its own may be missing",
                  parser->suspect_line);
    const char *line = parser->source->text + open.at.offset;
    if (memmem(line, strcspn(line, "\n"), "//", 2))
        note_quotient(parser, d, parser_place(parser, open.at));
    return true;
}

/* A statement that ended without `;`: the next one, on a new line or before a brace, could stand here if it had one. */
static bool is_missing_semicolon(struct parser *parser, struct expected expected, const struct token *t)
{
    if (!expects(expected, "';'") || t[0].kind == TOKEN_END)
        return false;
    if (t[0].at.line == t[1].at.end_line && t[0].kind != '}')
        return false;
    struct text_range end = t[1].at;
    end.line = end.end_line;
    end.column = end.end_column;
    end.offset = end.end_offset;
    struct diagnostic *d = parser_report(parser, DIAGNOSTIC_E0109, end, "`;` is missing");
    if (is_quotient_of_python(parser, &t[1]))
        note_quotient(parser, d, parser_place(parser, end));
    else
        parser_fixit(parser, d, end, FIXIT_PROBABLE, ";");
    if (token_stream_in_body(parser))
        parser->recovery = RECOVERY_HERE;
    return true;
}

/* f<f32>(x)  f<64>(x): what is known when compiling is an ordinary argument, types are found from the others. */
static bool is_generic_call(struct parser *parser, const struct token *t)
{
    if (t[0].kind != '>' || t[2].kind != '<' || t[3].kind != TOKEN_NAME)
        return false;
    const struct token *open = token_stream_peek(parser, 0), *next = token_stream_peek(parser, 1);
    if (open->kind != '(')
        return false;
    struct text_range all = t[2].at;
    all.end_line = t[0].at.end_line;
    all.end_column = t[0].at.end_column;
    all.end_offset = t[0].at.end_offset;
    struct diagnostic *d = parser_report(
        parser, DIAGNOSTIC_E0120, all,
        "a call takes no `< >`: types are found from the arguments, what is known when compiling is one of them");
    if (all.line != all.end_line)
        return true;
    parser_fixit(parser, d, all, t[1].kind == TOKEN_TYPE ? FIXIT_CERTAIN : FIXIT_PROBABLE, "");
    if (t[1].kind == TOKEN_TYPE)
        return true;
    struct text_range behind = open->at;
    behind.column = behind.end_column;
    behind.offset = behind.end_offset;
    parser_fixit(parser, d, behind, FIXIT_PROBABLE,
                 arena_printf(parser->context->arena, next->kind == ')' ? "%s" : "%s, ", text_of(parser, &t[1])));
    return true;
}

/* {2..7}: a set includes its end and says so.  for k in 0..=7: a loop excludes it. */
static bool is_wrong_range(struct parser *parser, struct expected expected, const struct token *t)
{
    if (t[0].kind == TOKEN_DOTDOT && expects(expected, "..=")) {
        struct diagnostic *d = parser_report(parser, DIAGNOSTIC_E0101, t[0].at,
                                             "a range in a set is written `a..=b`: it includes its end");
        parser_fixit(parser, d, t[0].at, FIXIT_PROBABLE, "..=");
        return true;
    }
    if (t[0].kind != TOKEN_THROUGH || !expects(expected, "..") || parser->statement_first->kind != TOKEN_FOR)
        return false;
    const struct token *end = token_stream_peek(parser, 0), *behind = token_stream_peek(parser, 1);
    struct diagnostic *d = parser_report(parser, DIAGNOSTIC_E0116, t[0].at,
                                         "a loop excludes its end and is written `a..b`; `..=` belongs to sets");
    if (!is_decimal(parser, end) || end->at.line != t[0].at.line || begins_operator(behind->kind))
        return true;
    bool has_step = behind->kind == TOKEN_STEP;
    const struct token *step = has_step ? token_stream_peek(parser, 2) : NULL;
    bool falls = has_step && step->kind == '-';
    if (has_step && !falls && step->kind != '*' && !is_decimal(parser, step))
        return true; /* it may fall */
    struct text_range both = t[0].at;
    both.end_column = end->at.end_column;
    both.end_offset = end->at.end_offset;
    long long written = atoll(text_of(parser, end)), excluded = falls ? written - 1 : written + 1;
    parser_fixit(parser, d, both, FIXIT_CERTAIN, arena_printf(parser->context->arena, "..%lld", excluded));
    return true;
}

/* (a, b) = f(x);   let (a, b) = f(x); */
static bool is_bracketed_target(struct parser *parser, struct expected expected, const struct token *t)
{
    bool declares = t[1].kind == TOKEN_LET || t[1].kind == TOKEN_VAR;
    if (t[0].kind != '(' || !(declares || expects_statement(expected)))
        return false;
    int close = 1, names = 1;
    for (; token_stream_peek(parser, close)->kind == ','; close += 2, names++)
        if (token_stream_peek(parser, close + 1)->kind != TOKEN_NAME || names > 20)
            return false;
    const struct token *last = token_stream_peek(parser, close);
    if (token_stream_peek(parser, 0)->kind != TOKEN_NAME || last->kind != ')' ||
        token_stream_peek(parser, close + 1)->kind != '=')
        return false;
    struct diagnostic *d = parser_report(parser, DIAGNOSTIC_E0101, t[0].at,
                                         "several names stand without brackets: `%sa, b = f(x);`",
                                         t[1].kind == TOKEN_LET   ? "let "
                                         : t[1].kind == TOKEN_VAR ? "var "
                                                                  : "");
    parser_fixit(parser, d, t[0].at, FIXIT_CERTAIN, "");
    parser_fixit(parser, d, last->at, FIXIT_CERTAIN, "");
    return true;
}

/* {A == B, not F}: a member of a set is arithmetic, as the `>=` of `const` and the `>` of a head follow it. */
static bool is_condition_in_set(struct parser *parser, struct expected expected, const struct token *t)
{
    int kind = t[0].kind;
    bool joins = is_comparison(kind) || kind == '?' || kind == TOKEN_AND || kind == TOKEN_OR;
    bool begins = kind == TOKEN_NOT && (t[1].kind == '{' || t[1].kind == ',') && inside(parser) == '{' &&
                  !token_stream_in_body(parser);
    if (!begins && !(joins && expects(expected, "..=")))
        return false;
    parser_report(parser, DIAGNOSTIC_E0101, t[0].at, "a comparison or condition %s stands in parentheses: `%s`",
                  inside(parser) == '(' ? "as a count" : "in a set",
                  inside(parser) == '(' ? "grid(i: (c ? N : 1))" : "{(A == B), (not F), (F ? 16 : 32)}");
    return true;
}

/* Kernel, LET, For: a word of the language but for its capitals. */
static bool is_other_case(struct parser *parser, const struct token *t)
{
    static const char *const words[] = {"kernel", "fn",   "const", "enum",  "struct", "import", "let",   "var",
                                        "if",     "else", "for",   "while", "static", "return", "break", "continue"};
    for (int i = 1; i >= 0; i--)
        for (size_t k = 0; t[i].kind == TOKEN_NAME && k < sizeof words / sizeof *words; k++) {
            if (strcasecmp(t[i].value.TOKEN_NAME.text, words[k]) != 0)
                continue;
            struct diagnostic *d = parser_report(parser, DIAGNOSTIC_E0101, t[i].at, "`%s` is written `%s`",
                                                 t[i].value.TOKEN_NAME.text, words[k]);
            parser_fixit(parser, d, t[i].at, FIXIT_CERTAIN, words[k]);
            return true;
        }
    return false;
}

/* let a = x, b = y; */
static bool is_second_declaration(struct parser *parser, const struct token *t)
{
    int first = parser->statement_first->kind;
    if ((first != TOKEN_LET && first != TOKEN_VAR) || t[1].kind != TOKEN_NAME || t[2].kind != ',' ||
        inside(parser) == '(' || inside(parser) == '[')
        return false;
    const char *word = first == TOKEN_LET ? "let" : "var";
    struct diagnostic *d = parser_report(parser, DIAGNOSTIC_E0121, t[0].at,
                                         "a `%s` declares one name, or takes a tuple apart: `%s a, b = f(x);`", word,
                                         word);
    struct text_range both = t[2].at;
    both.end_column = t[1].at.end_column;
    both.end_offset = t[1].at.end_offset;
    if (t[1].at.line == t[2].at.line)
        parser_fixit(parser, d, both, FIXIT_CERTAIN,
                     arena_printf(parser->context->arena, "; %s %s", word, text_of(parser, &t[1])));
    return true;
}

static bool is_habit(struct parser *parser, struct expected expected, const struct token *t)
{
    int kind = t[0].kind;
    if (kind == TOKEN_INCREMENT) {
        parser_report(parser, DIAGNOSTIC_E0113, t[0].at, "there is no `%s`: write `x %.1s= 1;` as a statement",
                      text_of(parser, &t[0]), text_of(parser, &t[0]));
        return true;
    }
    if (is_line_of_triton(parser, expected, t) || is_other_case(parser, t))
        return true;
    if (is_foreign_declaration(parser, expected, t) || is_left_out(parser, expected, t) || is_const_in_front(parser, t))
        return true;
    if (is_cast(parser, t) || is_c_declaration(parser, expected, t) || is_c_slice(parser, t))
        return true;
    if (is_generic_call(parser, t) || is_wrong_range(parser, expected, t) || is_bracketed_target(parser, expected, t))
        return true;
    if (is_condition_in_set(parser, expected, t))
        return true;
    if (is_comparison(kind) && expects(expected, "and")) {
        struct diagnostic *d = parser_report(parser, DIAGNOSTIC_E0120, t[0].at,
                                             "comparisons do not chain: join two with `and`");
        if (is_comparison(t[2].kind) && t[1].kind == TOKEN_NAME) {
            struct text_range behind = t[1].at;
            behind.column = behind.end_column;
            behind.offset = behind.end_offset;
            parser_fixit(parser, d, behind, is_order(t[0].kind) && is_order(t[2].kind) ? FIXIT_CERTAIN : FIXIT_PROBABLE,
                         arena_printf(parser->context->arena, " and %s", text_of(parser, &t[1])));
        }
        return true;
    }
    if (kind == '=' && (expects(expected, "and") || expects_operator(expected)) && !expects(expected, "+=")) {
        if (is_second_declaration(parser, t))
            return true;
        struct diagnostic *d = parser_report(parser, DIAGNOSTIC_E0121, t[0].at,
                                             "`=` assigns and gives no value; to compare write `==`");
        if (inside(parser) == '(')
            parser_fixit(parser, d, t[0].at, FIXIT_PROBABLE, "==");
        return true;
    }
    if (expects(expected, "..") && parser->statement_first->kind == TOKEN_FOR && inside(parser) != '[') {
        parser_report(parser, DIAGNOSTIC_E0116, t[0].at,
                      "loops count with `for x in a..b`, b excluded; `step c` follows where it is not 1");
        return true;
    }
    if (kind == ';' && (expects_statement(expected) || expects_declaration(expected))) {
        struct diagnostic *d = parser_report(parser, DIAGNOSTIC_E0122, t[0].at, "a `;` without a statement");
        bool is_body = t[1].kind == ')' || t[1].kind == TOKEN_ELSE;
        parser_fixit(parser, d, t[0].at, is_body ? FIXIT_PROBABLE : FIXIT_CERTAIN, is_body ? " {}" : "");
        return true;
    }
    if ((kind == '*' || kind == '&') && (expects_operand(expected) || expects_statement(expected))) {
        struct diagnostic *d = parser_report(
            parser, DIAGNOSTIC_E0123, t[0].at,
            "there is no unary `%c`: memory is read with `load` and written with `store`", (char)kind);
        const struct token *name = token_stream_peek(parser, 0);
        if (kind == '*' && !expects_statement(expected) && name->kind == TOKEN_NAME && name->at.line == t[0].at.line) {
            struct text_range both = t[0].at;
            both.end_column = name->at.end_column;
            both.end_offset = name->at.end_offset;
            parser_fixit(parser, d, both, FIXIT_PROBABLE,
                         arena_printf(parser->context->arena, "load(%s)", text_of(parser, name)));
        }
        return true;
    }
    return false;
}

/* What a reserved word is reserved for, where that is not what its reader had in mind. */
static const char *purpose_of(int kind)
{
    switch (kind) {
    case TOKEN_KERNEL: return "`kernel` begins a kernel";
    case TOKEN_FN: return "`fn` begins a function";
    case TOKEN_CONST: return "`const` stands in front of what is known when compiling";
    case TOKEN_ENUM: return "`enum` begins an enum";
    case TOKEN_STRUCT: return "`struct` begins a struct";
    case TOKEN_IMPORT: return "`import` brings in another file";
    case TOKEN_IN: return "`in` stands in `for i in a..b`, and marks a view that is read";
    case TOKEN_LET:
    case TOKEN_VAR: return "`let` and `var` declare";
    case TOKEN_IF:
    case TOKEN_ELSE: return "`if (c) ... else ...` is a statement";
    case TOKEN_FOR:
    case TOKEN_STEP: return "`for i in a..b step c` is a loop";
    case TOKEN_WHILE: return "`while (c)` is a loop";
    case TOKEN_STATIC: return "`static for` is a loop that is repeated in the code";
    case TOKEN_BREAK:
    case TOKEN_CONTINUE: return "`break` and `continue` leave a loop or its turn";
    case TOKEN_RETURN: return "`return` ends a function";
    case TOKEN_NONE: return "`None` is an index that adds a dimension";
    case TOKEN_AND:
    case TOKEN_OR:
    case TOKEN_NOT: return "`and`, `or` and `not` are operators";
    default: return NULL;
    }
}

void syntax_error_report(struct parser *parser, const char *const *names, int count)
{
    struct expected expected = {names, count};
    const struct token *t = parser->history;
    parser->recovery = token_stream_in_body(parser) ? RECOVERY_STATEMENT : RECOVERY_DECLARATION;
    if (t[0].reported || t[1].reported) { /* the echo of an error in the scanner */
        parser->file->has_errors = true;
        parser->errors++;
        return;
    }
    if (is_c_statement(parser) || is_habit(parser, expected, t) || is_unclosed(parser, t) ||
        is_missing_semicolon(parser, expected, t))
        return;
    struct buffer text = {0};
    describe_expected(expected, &text);
    const char *found = describe_token(parser, &t[0]);
    bool is_reserved = t[0].kind >= TOKEN_KERNEL && t[0].kind <= TOKEN_NOT && expects_name(expected) &&
                       !expects_statement(expected);
    struct diagnostic *d = parser_report(parser, DIAGNOSTIC_E0101, t[0].at,
                                         is_reserved ? "%s is a reserved word; expected %s"
                                                     : "%s cannot stand here; expected %s",
                                         found, text.size ? text.data : "something else");
    const char *purpose = is_reserved ? purpose_of(t[0].kind) : NULL;
    if (purpose)
        diag_note(parser->context->diagnostics, d, parser_place(parser, t[0].at),
                  "%s, so nothing else can have that name", purpose);
    if (inside(parser) && inside(parser) != '{' && t[1].at.end_line < t[0].at.line && comment_behind(parser, &t[1]))
        note_quotient(parser, d, parser_place(parser, t[1].at));
    buffer_free(&text);
}
