/* What the grammar, the scanner and the rooms around them share while one text is parsed.  Private to parsing:
 * everybody else includes front/syntax/ast.h.
 *
 *   tile.l (scan_token) -> token_stream.c (brackets, C's for, recovery) -> tile.y (tile_parse) -> ast.c (constructors)
 *                                                                             \-> syntax_error.c (what to say) */
#ifndef TILECC_PARSER_H
#define TILECC_PARSER_H
#include "front/syntax/ast.h"

/* From the first byte of a symbol to behind its last one.  Bison's location type; parser_place makes it a location. */
struct text_range {
    int line, column, end_line, end_column;
    size_t offset, end_offset;
};

/* Value of a word; doc is the `///` text right above a word that starts a declaration. */
struct word {
    const char *text, *doc;
};

/* One token with its value and place: defined by the grammar, whose union the value is. */
struct token;

/* A bracket that waits for its partner.  is_body: a `{` that holds statements, unlike that of a set, an enum or a
 * struct. */
struct open_bracket {
    int kind;
    bool is_body;
    struct text_range at;
};

/* Tokens of the past that messages look at, and errors in one file after which parsing gives up: that it did is then
 * the 20th, the last that the driver shows. */
enum { PARSER_HISTORY = 4, PARSER_MOST_ERRORS = 19 };
/* After a syntax error: skip the statement, skip the declaration, or go on with the newest token as a new statement. */
enum recovery { RECOVERY_NONE, RECOVERY_STATEMENT, RECOVERY_DECLARATION, RECOVERY_HERE };

struct parser {
    struct parse_context *context;
    const struct source *source;
    struct ast_file *file;
    void *scanner;

    /* Scanner: where the next byte stands and the text ends, and what comments said. */
    int line;
    size_t offset, line_start, end;
    struct buffer doc;
    int doc_end_line; /* of the last `///` line, 0: none waits */
    bool garbage;     /* text was dropped with an error since the last token: the next error is its echo */

    /* Token stream. */
    struct {
        struct token *data;
        int first, count, capacity;
    } ahead;                       /* read but not yet delivered */
    struct token *history;         /* the last PARSER_HISTORY delivered tokens, the newest first */
    struct token *statement_first; /* of the statement, or of the declaration outside of bodies */
    struct {
        struct open_bracket *data;
        int count, capacity;
    } brackets;
    int brackets_before;            /* count before the newest token */
    struct open_bracket mismatched; /* the one that the last closing bracket did not fit; kind 0: none */
    /* The first `{` that a `}` with another indentation closed: where one is missing, it is most likely this one's. */
    struct open_bracket suspect;
    int suspect_line;      /* of that `}` */
    bool starts_statement; /* the next token is the first of a statement or declaration */
    enum recovery recovery;

    /* Outcome. */
    bool is_alone;                /* the text is an expression by itself, which then is */
    struct ast_expression *alone; /* NULL: reported */
    int errors, errors_before_declaration, errors_before_statement;
    bool clause_missing;       /* a clause of the current kernel was reported and dropped */
    bool stopped;              /* a limit was met: the stream has ended, say nothing more */
    struct diagnostic ignored; /* what reports give then */
};

/* ---- places and messages (syntax_error.c) ---- */

struct location parser_place(const struct parser *parser, struct text_range range);
struct diagnostic *parser_report(struct parser *parser, enum diagnostic_code code, struct text_range at,
                                 const char *format, ...) __attribute__((format(printf, 4, 5)));
struct diagnostic *parser_report_at(struct parser *parser, enum diagnostic_code code, struct location at,
                                    const char *format, ...) __attribute__((format(printf, 4, 5)));
void parser_fixit(struct parser *parser, struct diagnostic *diagnostic, struct text_range at, enum fixit_grade grade,
                  const char *replacement);
/* Reports that a limit is exceeded and ends the stream. */
void parser_stop_too_deep(struct parser *parser, struct text_range at);

/* Called by the grammar on a syntax error at the newest token: names of all tokens that could stand there. */
void syntax_error_report(struct parser *parser, const char *const *expected, int expected_count);

/* ---- constructors (ast.c) ---- */

struct ast_expression *make_name(struct parser *parser, struct text_range at, const char *name);
struct ast_expression *make_scalar_type(struct parser *parser, struct text_range at, enum ast_scalar scalar);
/* The digits as written, underscores and prefix included. */
struct ast_expression *make_integer(struct parser *parser, struct text_range at, const char *digits, size_t size);
struct ast_expression *make_real(struct parser *parser, struct text_range at, const char *digits, size_t size);
/* The text between the quotes; reports bad escapes. */
struct ast_expression *make_string(struct parser *parser, struct text_range at, const char *text, size_t size);
/* kind is TUPLE or LIST. */
struct ast_expression *make_elements(struct parser *parser, struct text_range at, enum ast_expression_kind kind,
                                     struct ast_expression_list elements);
struct ast_expression *make_unary(struct parser *parser, struct text_range at, struct text_range operator_at,
                                  enum ast_operator operation, struct ast_expression *operand);
struct ast_expression *make_binary(struct parser *parser, struct text_range at, struct text_range operator_at,
                                   enum ast_operator operation, struct ast_expression *left,
                                   struct ast_expression *right);
struct ast_expression *make_conditional(struct parser *parser, struct text_range at, struct text_range operator_at,
                                        struct ast_expression *condition, struct ast_expression *left,
                                        struct ast_expression *right);
/* A suffix without its base; make_suffixed joins them. */
struct ast_expression *make_index_suffix(struct parser *parser, struct text_range at, struct ast_index_list indexes);
struct ast_expression *make_call_suffix(struct parser *parser, struct text_range at,
                                        struct ast_argument_list arguments);
struct ast_expression *make_member_suffix(struct parser *parser, struct text_range at, const char *name);
struct ast_expression *make_suffixed(struct parser *parser, struct text_range at, struct ast_expression *base,
                                     struct ast_expression *suffix);

struct ast_index *make_index(struct parser *parser, struct text_range at, enum ast_index_kind kind,
                             struct ast_expression *value, struct ast_expression *second);
struct ast_argument *make_argument(struct parser *parser, struct text_range at, struct ast_name name,
                                   struct ast_expression *value);
struct ast_range *make_range(struct parser *parser, struct text_range at, struct ast_expression *from,
                             struct ast_expression *to, struct ast_expression *step, bool inclusive,
                             bool step_multiplies);
struct ast_domain *make_domain(struct parser *parser, struct text_range at, struct ast_range *range,
                               struct ast_expression *expression);
struct ast_domain *make_domain_set(struct parser *parser, struct text_range at, struct ast_domain_list members);

struct ast_type *make_type(struct parser *parser, struct text_range at, enum ast_type_kind kind);
struct ast_type *make_type_pointer(struct parser *parser, struct text_range at, struct ast_type *target, bool is_const);
struct ast_type *make_type_tile(struct parser *parser, struct text_range at, struct ast_type *element,
                                struct ast_expression_list extents);
struct ast_type *make_type_tuple(struct parser *parser, struct text_range at, struct ast_type_list members);

struct ast_item *make_item(struct parser *parser, struct text_range at, enum ast_item_kind kind);
/* NULL (reported) when the name is not that of a clause or an item does not suit it. */
struct ast_clause *make_clause(struct parser *parser, struct text_range name_at, const char *name,
                               struct ast_item_list items);

struct ast_statement *make_statement(struct parser *parser, struct text_range at, enum ast_statement_kind kind);
/* Adds what was read since the last statement, or a STATEMENT_MISSING when there were errors in it. */
void add_statement(struct parser *parser, struct text_range at, struct ast_statement_list *list,
                   struct ast_statement *statement);
/* Sets what is inside and checks the nesting: `if`, `for` and `while` (then, otherwise), blocks (body). */
struct ast_statement *set_inner(struct parser *parser, struct text_range at, struct ast_statement *statement,
                                struct ast_statement *then, struct ast_statement *otherwise);
struct ast_statement *make_block(struct parser *parser, struct text_range at, struct text_range closing,
                                 struct ast_statement_list body);
/* Each NULL (reported) when the left side is no place, or the expression is no call. */
struct ast_statement *make_assignment(struct parser *parser, struct text_range at, struct text_range operator_at,
                                      struct ast_expression_list targets, enum ast_operator operation,
                                      struct ast_expression_list values);
struct ast_statement *make_effect(struct parser *parser, struct text_range at, struct ast_expression *call);

struct ast_declaration *make_declaration(struct parser *parser, struct text_range at, struct text_range name_at,
                                         enum ast_declaration_kind kind, struct word name, struct word first);
/* Adds it to the file; NULL when its head could not be read. */
void note_lost_declaration(struct parser *parser, struct text_range range);
void add_declaration(struct parser *parser, struct ast_declaration *declaration);

/* ---- scanner (tile.l) and grammar (tile.y) ---- */

void scanner_open(struct parser *parser);
void scanner_close(struct parser *parser);
/* Parses parser->source into parser->file. */
void grammar_run(struct parser *parser);
void token_stream_open(struct parser *parser);
/* The token `distance` places behind the newest delivered one (0: the next).  Valid until the next call. */
const struct token *token_stream_peek(struct parser *parser, int distance);
/* Whether the newest token stands among statements. */
bool token_stream_in_body(const struct parser *parser);

#endif
