/* The token stream between scanner and grammar.  It keeps the open brackets (for messages, for the nesting limit and
 * to know what a `}` closes), turns C's `for (...)` into something that the grammar can go on with, and finds the
 * place where parsing resumes after a syntax error.
 *
 * Recovery.  Bison reports an error at the newest token, drops tokens until one fits `error SYNC`, and so asks for the
 * next one here.  That call skips, minding brackets, to the end of the statement or declaration and delivers SYNC,
 * then what follows:
 *     let a = (b c;  let d = 1;      error at c;  tokens: let a = ( b c SYNC let d = 1 ;
 *     let a = b  }                   error at };  tokens: let a = b } SYNC }              (the brace comes again)
 * Every way delivers at least one new token, or one that the grammar accepts after SYNC, so it ends. */
#include "front/syntax/parser.h"
#include "grammar-tile.tab.h"

#include <string.h>

int token_stream_next(union TILE_STYPE *value, struct text_range *at, struct parser *parser);

static bool starts_declaration(int kind)
{
    return kind == TOKEN_KERNEL || kind == TOKEN_FN || kind == TOKEN_CONST || kind == TOKEN_ENUM ||
           kind == TOKEN_STRUCT || kind == TOKEN_IMPORT || kind == TOKEN_NOINLINE || kind == TOKEN_TEST;
}

/* Reserved words that only a statement begins with. */
static bool starts_statement(int kind)
{
    return kind == TOKEN_LET || kind == TOKEN_VAR || kind == TOKEN_IF || kind == TOKEN_FOR || kind == TOKEN_WHILE ||
           kind == TOKEN_STATIC || kind == TOKEN_BREAK || kind == TOKEN_CONTINUE || kind == TOKEN_RETURN;
}

/* One token from the scanner, with the doc text above it. */
static struct token scan_one(struct parser *parser)
{
    struct token token = {0};
    token.kind = scan_token(&token.value, &token.at, parser);
    token.reported = parser->garbage;
    parser->garbage = false;
    if (parser->doc_end_line) {
        if (starts_declaration(token.kind) && token.at.line == parser->doc_end_line + 1)
            token.value.TOKEN_KERNEL.doc = arena_substring(parser->context->arena, parser->doc.data, parser->doc.size);
        parser->doc.size = 0;
        parser->doc_end_line = 0;
    }
    return token;
}

static void fill_ahead(struct parser *parser, int wanted)
{
    if (parser->ahead.first == parser->ahead.count)
        parser->ahead.first = parser->ahead.count = 0;
    while (parser->ahead.count - parser->ahead.first < wanted) {
        struct token token = scan_one(parser);
        vector_push(parser->context->arena, &parser->ahead, token);
    }
}

const struct token *token_stream_peek(struct parser *parser, int distance)
{
    fill_ahead(parser, distance + 1);
    return &parser->ahead.data[parser->ahead.first + distance];
}

static struct token take(struct parser *parser)
{
    if (parser->ahead.first == parser->ahead.count)
        return scan_one(parser);
    return parser->ahead.data[parser->ahead.first++];
}

/* Puts a token in front of what is ahead. */
static void put_back(struct parser *parser, struct token token)
{
    if (parser->ahead.first > 0) {
        parser->ahead.data[--parser->ahead.first] = token;
        return;
    }
    vector_push(parser->context->arena, &parser->ahead, token);
    struct token *data = parser->ahead.data;
    memmove(data + 1, data, sizeof *data * (size_t)(parser->ahead.count - 1));
    data[0] = token;
}

static struct token synthetic(int kind, struct text_range at)
{
    struct token token = {0};
    token.kind = kind;
    token.at = at;
    token.at.end_line = at.line;
    token.at.end_column = at.column;
    token.at.end_offset = at.offset;
    return token;
}

void token_stream_open(struct parser *parser)
{
    parser->history = ARENA_ARRAY(parser->context->arena, struct token, PARSER_HISTORY);
    parser->statement_first = ARENA_NEW(parser->context->arena, struct token);
    parser->starts_statement = true;
    put_back(parser, (struct token){.kind = parser->is_alone ? TOKEN_ALONE : TOKEN_WHOLE});
}

/* ---- brackets ---- */

static int closing_of(int kind) { return kind == '(' ? ')' : kind == '[' ? ']' : '}'; }
static bool opens(int kind) { return kind == '(' || kind == '[' || kind == '{'; }
static bool closes(int kind) { return kind == ')' || kind == ']' || kind == '}'; }

bool token_stream_in_body(const struct parser *parser)
{
    return parser->brackets_before > 0 && parser->brackets.data[0].is_body;
}

/* The first `{` of a declaration holds statements if it is no set (behind a colon) and no list of an enum or struct. */
static bool opens_body(const struct parser *parser, int kind)
{
    if (kind != '{')
        return false;
    if (parser->brackets.count)
        return parser->brackets.data[0].is_body;
    int first = parser->statement_first->kind;
    return first != TOKEN_ENUM && first != TOKEN_STRUCT && parser->history[0].kind != ':';
}

/* Of the line that holds the byte. */
static int indentation(const struct parser *parser, size_t offset)
{
    const char *text = parser->source->text;
    int spaces = 0;
    while (offset > 0 && text[offset - 1] != '\n')
        offset--;
    while (text[offset] == ' ' || text[offset] == '\t')
        spaces += text[offset++] == '\t' ? 4 : 1;
    return spaces;
}

static void note_bracket(struct parser *parser, const struct token *token)
{
    parser->mismatched.kind = 0;
    parser->brackets_before = parser->brackets.count;
    if (opens(token->kind)) {
        struct open_bracket bracket = {token->kind, opens_body(parser, token->kind), token->at};
        vector_push(parser->context->arena, &parser->brackets, bracket);
        if (parser->brackets.count > AST_MAXIMUM_NESTING)
            parser_stop_too_deep(parser, token->at);
        return;
    }
    if (!closes(token->kind) || !parser->brackets.count)
        return;
    int count = parser->brackets.count;
    struct open_bracket top = parser->brackets.data[count - 1];
    if (closing_of(top.kind) == token->kind) {
        parser->brackets.count--;
        bool is_block = token->kind == '}' && top.at.line != token->at.line && top.is_body;
        if (is_block && !parser->suspect.kind &&
            indentation(parser, top.at.offset) != indentation(parser, token->at.offset)) {
            parser->suspect = top;
            parser->suspect_line = token->at.line;
        }
        return;
    }
    /* It closes an outer one if there is one: the inner ones were forgotten.  Else it is the one too many. */
    parser->mismatched = top;
    if (token->kind != '}')
        return;
    while (count > 0 && parser->brackets.data[count - 1].kind != '{')
        count--;
    if (count > 0)
        parser->brackets.count = count - 1;
}

/* ---- delivery ---- */

static struct token deliver(struct parser *parser, struct token token)
{
    bool first = parser->starts_statement;
    if (first)
        *parser->statement_first = token;
    note_bracket(parser, &token);
    memmove(parser->history + 1, parser->history, sizeof *parser->history * (PARSER_HISTORY - 1));
    parser->history[0] = token;
    bool brace = token.kind == '{' || token.kind == '}';
    bool among_statements = parser->brackets.count == 0 || parser->brackets.data[parser->brackets.count - 1].is_body;
    bool begins = token.kind == ';' || token.kind == TOKEN_SYNC || token.kind == TOKEN_WHOLE;
    parser->starts_statement = among_statements && (begins || brace);
    if (parser->stopped)
        token = synthetic(TOKEN_END, token.at);
    return token;
}

/* ---- recovery ---- */

/* Forgets the newest token's effect on the brackets: it is going to be skipped or delivered again. */
static struct token undo_newest(struct parser *parser)
{
    parser->brackets.count = parser->brackets_before;
    parser->mismatched.kind = 0;
    return parser->history[0];
}

/* A word that begins a declaration, at the start of a line, ends all that is open: in bodies the braces are closed for
 * it. */
static bool leaves_body(const struct token *token)
{
    return starts_declaration(token->kind) && token->at.column == 1 && token->kind != TOKEN_TEST &&
           token->kind != TOKEN_NOINLINE;
}

static struct token close_body(struct parser *parser, struct token token)
{
    put_back(parser, token);
    for (int i = 0; i < parser->brackets.count; i++)
        if (parser->brackets.data[i].is_body)
            put_back(parser, synthetic('}', token.at));
    return synthetic(TOKEN_SYNC, token.at);
}

/* Skips the rest of a statement.  Ends behind a `;` or a balanced `{ ... }`, and before a `}` that closes the block or
 * a word that begins a statement on a new line. */
static struct token skip_statement(struct parser *parser, bool resume_here)
{
    int braces = 0;
    struct token token = undo_newest(parser);
    /* The brackets that the broken statement had opened no longer count. */
    while (parser->brackets.count && !parser->brackets.data[parser->brackets.count - 1].is_body)
        parser->brackets.count--;
    if (resume_here) {
        put_back(parser, token);
        return synthetic(TOKEN_SYNC, token.at);
    }
    for (int last_line = parser->history[1].at.end_line;; last_line = token.at.end_line, token = take(parser)) {
        int kind = token.kind;
        if (kind == TOKEN_END)
            return token;
        if (leaves_body(&token))
            return close_body(parser, token);
        if (braces == 0 && (kind == '}' || (starts_statement(kind) && token.at.line > last_line))) {
            put_back(parser, token);
            return synthetic(TOKEN_SYNC, token.at);
        }
        if (kind == '{')
            braces++;
        if (kind == '}' && --braces == 0) {
            const struct token *next = token_stream_peek(parser, 0);
            bool goes_on = next->kind == TOKEN_ELSE ||
                           (next->kind == TOKEN_WHILE && next->at.line == token.at.line); /* C's do */
            if (!goes_on)
                return synthetic(TOKEN_SYNC, token.at);
        }
        if (kind == ';' && braces == 0)
            return synthetic(TOKEN_SYNC, token.at);
    }
}

/* Skips the rest of a declaration: to a word that begins one at the start of a line, or behind its closing brace or
 * `;`. */
static struct token skip_declaration(struct parser *parser)
{
    int braces = 0, first = parser->statement_first->kind;
    struct token token = undo_newest(parser);
    for (int i = 0; i < parser->brackets.count; i++)
        braces += parser->brackets.data[i].kind == '{';
    parser->brackets.count = 0;
    /* Only these and functions written `= expression` end with a semicolon. */
    bool ends_with_semicolon = first != TOKEN_KERNEL && first != TOKEN_TEST && first != TOKEN_ENUM &&
                               first != TOKEN_STRUCT && first != TOKEN_FN && first != TOKEN_NOINLINE;
    bool is_first = token.at.offset == parser->statement_first->at.offset;
    for (int last_line = parser->history[1].at.end_line;;
         last_line = token.at.end_line, token = take(parser), is_first = false) {
        int kind = token.kind;
        if (kind == TOKEN_END)
            return token;
        bool begins = starts_declaration(kind) && token.at.line > last_line && (token.at.column == 1 || braces <= 0);
        if (begins && !is_first && (token.at.column == 1 || kind == TOKEN_KERNEL || kind == TOKEN_FN)) {
            put_back(parser, token);
            return synthetic(TOKEN_SYNC, token.at);
        }
        if (kind == '=' && braces <= 0 && first == TOKEN_FN)
            ends_with_semicolon = true;
        if (kind == '{')
            braces++;
        if (kind == ';' && braces <= 0 && ends_with_semicolon)
            return synthetic(TOKEN_SYNC, token.at);
        if (kind == '}' && --braces <= 0) {
            /* A set in the head closes too: what follows then goes on with the declaration. */
            int next = token_stream_peek(parser, 0)->kind;
            if (next != ',' && next != '>' && next != ')' && next != '=' && next != TOKEN_GE)
                return synthetic(TOKEN_SYNC, token.at);
        }
    }
}

/* ---- C's for ---- */

static const char *slice(struct parser *parser, int from, int behind)
{
    const struct token *first = &parser->ahead.data[parser->ahead.first + from];
    const struct token *last = &parser->ahead.data[parser->ahead.first + behind - 1];
    return arena_substring(parser->context->arena, parser->source->text + first->at.offset,
                           last->at.end_offset - first->at.offset);
}

/* `( [type] i = a ; i < b ; i++ )` as "i in a..b", NULL if the header is another one.  count tokens stand ahead. */
static const char *range_of_c_for(struct parser *parser, int count, const char **name)
{
    const struct token *t = parser->ahead.data + parser->ahead.first;
    int equals = t[1].kind == TOKEN_NAME && t[2].kind == '=' ? 2 : 3;
    if (count < 12 || t[equals].kind != '=' || t[equals - 1].kind != TOKEN_NAME)
        return NULL;
    *name = t[equals - 1].value.TOKEN_NAME.text;
    int first = equals + 1, semicolon = first, second;
    while (semicolon < count && t[semicolon].kind != ';')
        semicolon++;
    for (second = semicolon + 1; second < count && t[second].kind != ';';)
        second++;
    if (semicolon == first || second >= count || second < semicolon + 4 || t[semicolon + 1].kind != TOKEN_NAME ||
        t[semicolon + 1].value.TOKEN_NAME.text != *name ||
        (t[semicolon + 2].kind != '<' && t[semicolon + 2].kind != TOKEN_LE))
        return NULL;
    const char *from = slice(parser, first, semicolon), *to = slice(parser, semicolon + 3, second);
    if (t[semicolon + 2].kind == TOKEN_LE)
        to = arena_printf(parser->context->arena, "%s + 1", to);
    int left = count - second - 2; /* tokens of the third part */
    const char *step = NULL;
    if (left == 2 && (t[second + 1].kind == TOKEN_INCREMENT || t[second + 2].kind == TOKEN_INCREMENT))
        step = "";
    if (left >= 3 && t[second + 2].kind == TOKEN_ADD_A)
        step = arena_printf(parser->context->arena, " step %s", slice(parser, second + 3, count - 1));
    return step ? arena_printf(parser->context->arena, "%s in %s..%s%s", *name, from, to, step) : NULL;
}

/* `for` was just taken and `(` follows.  Reports; drops the header, and puts `i in 0..0` in its place so that the body
 * is read. */
static void replace_c_for(struct parser *parser, const struct token *keyword)
{
    int count = 0, depth = 0, semicolons = 0;
    do {
        int kind = token_stream_peek(parser, count++)->kind;
        if (kind == '(')
            depth++;
        if (kind == ')')
            depth--;
        if (kind == ';')
            semicolons++;
        if (kind == '{' || kind == '}' || kind == TOKEN_END || count > 200)
            return; /* not a header: an ordinary syntax error */
    } while (depth > 0);
    const struct token *t = parser->ahead.data + parser->ahead.first;
    struct text_range header = t[0].at;
    header.end_line = t[count - 1].at.end_line;
    header.end_column = t[count - 1].at.end_column;
    header.end_offset = t[count - 1].at.end_offset;
    if (semicolons == 0 && t[1].kind == TOKEN_NAME && t[2].kind == TOKEN_IN) { /* for (k in 0..n) */
        struct diagnostic *d = parser_report(parser, DIAGNOSTIC_E0116, header, "`for` takes no parentheses");
        parser_fixit(parser, d, t[0].at, FIXIT_CERTAIN, "");
        parser_fixit(parser, d, t[count - 1].at, FIXIT_CERTAIN, "");
        struct token *data = parser->ahead.data + parser->ahead.first;
        memmove(data + count - 1, data + count,
                sizeof *data * (size_t)(parser->ahead.count - parser->ahead.first - count));
        parser->ahead.count--;
        parser->ahead.first++;
        return;
    }
    if (semicolons != 2 && !(semicolons == 0 && count > 2))
        return;
    struct diagnostic *d = parser_report(parser, DIAGNOSTIC_E0116, header, "loops count with `for x in a..b`");
    const char *name = "_";
    const char *range = semicolons == 2 ? range_of_c_for(parser, count, &name) : NULL;
    if (range && header.line == header.end_line)
        parser_fixit(parser, d, header, FIXIT_CERTAIN, range);
    if (count == 4 && semicolons == 2) {
        header.column = keyword->at.column;
        header.offset = keyword->at.offset;
        if (keyword->at.line == header.end_line)
            parser_fixit(parser, d, header, FIXIT_CERTAIN, "while (true)");
    }
    parser->ahead.first += count;
    const char *end = "0";
    struct token tokens[] = {synthetic(TOKEN_NAME, header), synthetic(TOKEN_IN, header), synthetic(TOKEN_INT, header),
                             synthetic(TOKEN_DOTDOT, header), synthetic(TOKEN_INT, header)};
    tokens[0].value.TOKEN_NAME.text = intern(parser->context->names, name);
    tokens[2].value.TOKEN_INT = make_integer(parser, header, end, 1);
    tokens[4].value.TOKEN_INT = make_integer(parser, header, end, 1);
    for (int i = 4; i >= 0; i--)
        put_back(parser, tokens[i]);
}

int token_stream_next(union TILE_STYPE *value, struct text_range *at, struct parser *parser)
{
    struct token token;
    if (parser->stopped) {
        token = synthetic(TOKEN_END, parser->history[0].at);
    } else if (parser->recovery != RECOVERY_NONE) {
        enum recovery recovery = parser->recovery;
        parser->recovery = RECOVERY_NONE;
        token = recovery == RECOVERY_DECLARATION ? skip_declaration(parser)
                                                 : skip_statement(parser, recovery == RECOVERY_HERE);
        token = deliver(parser, token);
    } else {
        token = take(parser);
        if (token.kind == TOKEN_FOR && token_stream_peek(parser, 0)->kind == '(')
            replace_c_for(parser, &token);
        token = deliver(parser, token);
    }
    *value = token.value;
    *at = token.at;
    return token.kind;
}
