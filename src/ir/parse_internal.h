/* The reader of characters under the parser of tile IR.  For src/ir/parse*.c alone. */
#ifndef TILECC_IR_PARSE_INTERNAL_H
#define TILECC_IR_PARSE_INTERNAL_H
#include "ir/text.h"

struct named_value;
struct parser {
    struct ir_context *context;
    struct arena *arena;   /* of the module */
    struct arena *scratch; /* of one function's parsing */
    struct diagnostics *diagnostics;
    const struct source *source;
    const char *at, *end, *line_start;
    int line;
    int depth;
    bool failed; /* in this function */
    struct ir_module *module;
    struct ir_function *function;
    struct named_value **names;
};

/* Reports the first error of a function, E1001 unless said. */
void parser_fail(struct parser *parser, const char *text);
void parser_fail_at(struct parser *parser, struct location at, enum diagnostic_code code, const char *text);
struct location parser_here(const struct parser *parser);

static inline bool parser_is_digit(int c) { return c >= '0' && c <= '9'; }
bool parser_is_name(int c);
int parser_peek(const struct parser *parser); /* the next byte; -1 at the end */
void parser_skip_space(struct parser *parser);
/* Takes `text` when it stands here; a word only whole. */
bool parser_accept(struct parser *parser, const char *text);
bool parser_looking_at(struct parser *parser, const char *text);
void parser_expect(struct parser *parser, const char *text);
/* A word; size 0 when there is none. */
const char *parser_word(struct parser *parser, size_t *size);
int64_t parser_integer(struct parser *parser);
int parser_small_integer(struct parser *parser, int least, int most);
/* 1, 2, 3 up to the bracket `close`; `?` is IR_DYNAMIC where allowed. */
int parser_number_list(struct parser *parser, const char *close, bool unknown, int limit, int64_t *numbers);
const char *parser_symbol(struct parser *parser);     /* @name or @"name" */
const char *parser_value_name(struct parser *parser); /* %name, %name.part or %12: what is behind the `%`, in scratch */
/* Where the name of a value ends that starts at `at`, behind the `%`. */
const char *parser_value_name_end(const struct parser *parser, const char *at);
#endif
