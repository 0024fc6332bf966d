/* Making the nodes of the tree, with the checks that belong to one node: literals, depth, what may be assigned to,
 * which clause takes what.  The shape of a list or a bracket is the grammar's matter. */
#include "front/syntax/parser.h"

#include <stdlib.h>
#include <string.h>

const char *ast_scalar_word(enum ast_scalar scalar)
{
    static const char *const words[] = {
#define AST_SCALAR(name, word) word,
        AST_SCALARS(AST_SCALAR)
#undef AST_SCALAR
    };
    return words[scalar];
}

const char *ast_operator_spelling(enum ast_operator operator)
{
    static const char *const spellings[] = {
#define AST_OPERATOR(name, spelling) spelling,
        AST_OPERATORS(AST_OPERATOR)
#undef AST_OPERATOR
            ""};
    return spellings[operator];
}

/* ---- expressions ---- */

static struct ast_expression *make(struct parser *parser, struct text_range at, enum ast_expression_kind kind)
{
    struct ast_expression *expression = ARENA_NEW(parser->context->arena, struct ast_expression);
    expression->kind = kind;
    expression->at = expression->operator_at = parser_place(parser, at);
    expression->depth = 1;
    expression->id = ++parser->context->last_id;
    return expression;
}

/* A parent is one deeper than its deepest child.  Over the limit the text is given up. */
static void deepen(struct parser *parser, struct text_range at, struct ast_expression *parent,
                   const struct ast_expression *child)
{
    if (!child || parent->depth > child->depth)
        return;
    parent->depth = child->depth + 1;
    if (parent->depth > AST_MAXIMUM_DEPTH)
        parser_stop_too_deep(parser, at);
}

struct ast_expression *make_name(struct parser *parser, struct text_range at, const char *name)
{
    struct ast_expression *expression = make(parser, at, EXPRESSION_NAME);
    expression->name = name;
    return expression;
}

struct ast_expression *make_scalar_type(struct parser *parser, struct text_range at, enum ast_scalar scalar)
{
    struct ast_expression *expression = make(parser, at, EXPRESSION_SCALAR_TYPE);
    expression->scalar = scalar;
    return expression;
}

struct ast_expression *make_integer(struct parser *parser, struct text_range at, const char *digits, size_t size)
{
    struct ast_expression *expression = make(parser, at, EXPRESSION_INTEGER);
    unsigned base = 10;
    size_t i = 0;
    if (size > 1 && digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X'))
        base = 16, i = 2;
    if (size > 1 && digits[0] == '0' && (digits[1] == 'b' || digits[1] == 'B'))
        base = 2, i = 2;
    uint64_t value = 0;
    bool too_big = false;
    for (; i < size; i++) {
        if (digits[i] == '_')
            continue;
        unsigned digit = (unsigned)(unsigned char)digits[i] - '0';
        if (digit > 9)
            digit = ((unsigned)(unsigned char)digits[i] | 0x20) - 'a' + 10;
        if (__builtin_mul_overflow(value, (uint64_t)base, &value) ||
            __builtin_add_overflow(value, (uint64_t)digit, &value))
            too_big = true;
    }
    expression->integer.value = too_big ? UINT64_MAX : value;
    expression->integer.too_big = too_big;
    expression->integer.base = (int)base;
    return expression;
}

struct ast_expression *make_real(struct parser *parser, struct text_range at, const char *digits, size_t size)
{
    struct ast_expression *expression = make(parser, at, EXPRESSION_REAL);
    char *text = arena_alloc(parser->context->arena, size + 1);
    size_t used = 0;
    for (size_t i = 0; i < size; i++)
        if (digits[i] != '_')
            text[used++] = digits[i];
    text[used] = 0;
    expression->real.text = text;
    expression->real.value = strtod(text, NULL); /* in C's form, and the driver keeps the locale "C" */
    return expression;
}

static int hexadecimal(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

struct ast_expression *make_string(struct parser *parser, struct text_range at, const char *text, size_t size)
{
    static const char escapes[] = "ntr0\\\"", meant[] = "\n\t\r\0\\\"";
    struct ast_expression *expression = make(parser, at, EXPRESSION_STRING);
    char *data = arena_alloc(parser->context->arena, size + 1);
    size_t used = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] != '\\' || i + 1 == size) {
            data[used++] = text[i];
            continue;
        }
        size_t start = i++;
        const char *known = text[i] ? strchr(escapes, text[i]) : NULL;
        if (known) {
            data[used++] = meant[known - escapes];
        } else if (text[i] == 'x' && i + 2 < size && hexadecimal(text[i + 1]) >= 0 && hexadecimal(text[i + 2]) >= 0) {
            data[used++] = (char)(hexadecimal(text[i + 1]) * 16 + hexadecimal(text[i + 2]));
            i += 2;
        } else {
            struct text_range place = at;
            place.column += (int)start + 1;
            place.end_column = place.column + 2;
            parser_report(parser, DIAGNOSTIC_E0106, place, "`\\%c` is no escape that strings know", text[i]);
        }
    }
    data[used] = 0;
    expression->string.data = data;
    expression->string.size = used;
    return expression;
}

struct ast_expression *make_elements(struct parser *parser, struct text_range at, enum ast_expression_kind kind,
                                     struct ast_expression_list elements)
{
    struct ast_expression *expression = make(parser, at, kind);
    expression->elements = elements;
    for (int i = 0; i < elements.count; i++)
        deepen(parser, at, expression, elements.data[i]);
    return expression;
}

struct ast_expression *make_unary(struct parser *parser, struct text_range at, struct text_range operator_at,
                                  enum ast_operator operation, struct ast_expression *operand)
{
    struct ast_expression *expression = make(parser, at, EXPRESSION_UNARY);
    expression->operation = operation;
    expression->operator_at = parser_place(parser, operator_at);
    expression->left = operand;
    deepen(parser, at, expression, operand);
    return expression;
}

struct ast_expression *make_binary(struct parser *parser, struct text_range at, struct text_range operator_at,
                                   enum ast_operator operation, struct ast_expression *left,
                                   struct ast_expression *right)
{
    struct ast_expression *expression = make(parser, at, EXPRESSION_BINARY);
    expression->operation = operation;
    expression->operator_at = parser_place(parser, operator_at);
    expression->left = left;
    expression->right = right;
    deepen(parser, at, expression, left);
    deepen(parser, at, expression, right);
    if (left->kind == EXPRESSION_SCALAR_TYPE && left->parenthesized && operation == OPERATOR_SUBTRACT) /* (f32)-x */
        parser_report(parser, DIAGNOSTIC_E0114, at, "a conversion is written `%s(x)`", ast_scalar_word(left->scalar));
    return expression;
}

struct ast_expression *make_conditional(struct parser *parser, struct text_range at, struct text_range operator_at,
                                        struct ast_expression *condition, struct ast_expression *left,
                                        struct ast_expression *right)
{
    struct ast_expression *expression = make(parser, at, EXPRESSION_CONDITIONAL);
    expression->operator_at = parser_place(parser, operator_at);
    expression->condition = condition;
    expression->left = left;
    expression->right = right;
    deepen(parser, at, expression, condition);
    deepen(parser, at, expression, left);
    deepen(parser, at, expression, right);
    return expression;
}

struct ast_expression *make_index_suffix(struct parser *parser, struct text_range at, struct ast_index_list indexes)
{
    struct ast_expression *expression = make(parser, at, EXPRESSION_INDEX);
    expression->indexes = indexes;
    for (int i = 0; i < indexes.count; i++) {
        deepen(parser, at, expression, indexes.data[i]->value);
        deepen(parser, at, expression, indexes.data[i]->size);
        deepen(parser, at, expression, indexes.data[i]->end);
    }
    return expression;
}

struct ast_expression *make_call_suffix(struct parser *parser, struct text_range at, struct ast_argument_list arguments)
{
    struct ast_expression *expression = make(parser, at, EXPRESSION_CALL);
    expression->arguments = arguments;
    for (int i = 0; i < arguments.count; i++)
        deepen(parser, at, expression, arguments.data[i]->value);
    return expression;
}

struct ast_expression *make_member_suffix(struct parser *parser, struct text_range at, const char *name)
{
    struct ast_expression *expression = make(parser, at, EXPRESSION_MEMBER);
    expression->name = name;
    return expression;
}

struct ast_expression *make_suffixed(struct parser *parser, struct text_range at, struct ast_expression *base,
                                     struct ast_expression *suffix)
{
    suffix->base = base;
    suffix->at = parser_place(parser, at);
    if (suffix->kind != EXPRESSION_MEMBER)
        suffix->operator_at.end_column = suffix->operator_at.column + 1; /* the bracket */
    deepen(parser, at, suffix, base);
    return suffix;
}

struct ast_index *make_index(struct parser *parser, struct text_range at, enum ast_index_kind kind,
                             struct ast_expression *value, struct ast_expression *second)
{
    struct ast_index *index = ARENA_NEW(parser->context->arena, struct ast_index);
    index->kind = kind;
    index->at = parser_place(parser, at);
    index->value = value;
    if (kind == INDEX_SLICE)
        index->size = second;
    else
        index->end = second;
    return index;
}

struct ast_argument *make_argument(struct parser *parser, struct text_range at, struct ast_name name,
                                   struct ast_expression *value)
{
    struct ast_argument *argument = ARENA_NEW(parser->context->arena, struct ast_argument);
    argument->at = parser_place(parser, at);
    argument->name = name;
    argument->value = value;
    return argument;
}

/* ---- domains and types ---- */

struct ast_range *make_range(struct parser *parser, struct text_range at, struct ast_expression *from,
                             struct ast_expression *to, struct ast_expression *step, bool inclusive,
                             bool step_multiplies)
{
    struct ast_range *range = ARENA_NEW(parser->context->arena, struct ast_range);
    *range = (struct ast_range){parser_place(parser, at), from, to, step, inclusive, step_multiplies};
    return range;
}

struct ast_domain *make_domain(struct parser *parser, struct text_range at, struct ast_range *range,
                               struct ast_expression *expression)
{
    struct ast_domain *domain = ARENA_NEW(parser->context->arena, struct ast_domain);
    domain->kind = range ? DOMAIN_RANGE : DOMAIN_EXPRESSION;
    domain->at = parser_place(parser, at);
    domain->range = range;
    domain->expression = expression;
    return domain;
}

struct ast_domain *make_domain_set(struct parser *parser, struct text_range at, struct ast_domain_list members)
{
    struct ast_domain *domain = ARENA_NEW(parser->context->arena, struct ast_domain);
    domain->kind = DOMAIN_SET;
    domain->at = parser_place(parser, at);
    domain->members = members;
    return domain;
}

struct ast_type *make_type(struct parser *parser, struct text_range at, enum ast_type_kind kind)
{
    struct ast_type *type = ARENA_NEW(parser->context->arena, struct ast_type);
    type->kind = kind;
    type->at = parser_place(parser, at);
    type->depth = 1;
    return type;
}

static void deepen_type(struct parser *parser, struct text_range at, struct ast_type *parent,
                        const struct ast_type *child)
{
    if (parent->depth > child->depth)
        return;
    parent->depth = child->depth + 1;
    if (parent->depth > AST_MAXIMUM_NESTING)
        parser_stop_too_deep(parser, at);
}

struct ast_type *make_type_pointer(struct parser *parser, struct text_range at, struct ast_type *target, bool is_const)
{
    struct ast_type *type = make_type(parser, at, TYPE_NODE_POINTER);
    type->target = target;
    type->is_const = is_const;
    deepen_type(parser, at, type, target);
    return type;
}

struct ast_type *make_type_tile(struct parser *parser, struct text_range at, struct ast_type *element,
                                struct ast_expression_list extents)
{
    struct ast_type *type = make_type(parser, at, TYPE_NODE_TILE);
    type->target = element;
    type->extents = extents;
    deepen_type(parser, at, type, element);
    return type;
}

struct ast_type *make_type_tuple(struct parser *parser, struct text_range at, struct ast_type_list members)
{
    struct ast_type *type = make_type(parser, at, TYPE_NODE_TUPLE);
    type->members = members;
    for (int i = 0; i < members.count; i++)
        deepen_type(parser, at, type, members.data[i]);
    return type;
}

/* ---- clauses ---- */

struct ast_item *make_item(struct parser *parser, struct text_range at, enum ast_item_kind kind)
{
    struct ast_item *item = ARENA_NEW(parser->context->arena, struct ast_item);
    item->kind = kind;
    item->at = parser_place(parser, at);
    return item;
}

static const struct clause_rule {
    const char *name;
    enum ast_clause_kind kind;
    bool expression, assign, domain, initial, least, qualifier;
    const char *takes;
} clause_rules[] = {
    {"grid", CLAUSE_GRID, .domain = true, .qualifier = true, .takes = "`name: count`, as in `grid(b: cdiv(N, B))`"},
    {"tune", CLAUSE_TUNE, .expression = true, .domain = true, .initial = true,
     .takes = "`name: set = default`, bare names and conditions"},
    {"const", CLAUSE_CONST, .domain = true, .initial = true, .least = true, .takes = "`name: set >= expression`"},
    {"requires", CLAUSE_REQUIRES, .expression = true, .takes = "conditions"},
    {"specialize", CLAUSE_SPECIALIZE, .expression = true, .takes = "conditions"},
    {"alias", CLAUSE_ALIAS, .expression = true, .takes = "names of views"},
    {"on", CLAUSE_ON, .expression = true, .assign = true, .takes = "a target and `name = value`"},
    {"scratch", CLAUSE_SCRATCH, .domain = true, .initial = true, .takes = "`name: type[extents] = value`"},
};

/* Whether one insertion, deletion, change or exchange of neighbours, or a common beginning of 3, leads from a to b. */
static bool is_near(const char *a, const char *b)
{
    size_t m = strlen(a), n = strlen(b), same = 0, tail = 0;
    while (same < m && same < n && a[same] == b[same])
        same++;
    while (tail < m - same && tail < n - same && a[m - 1 - tail] == b[n - 1 - tail])
        tail++;
    size_t left = m - same - tail, right = n - same - tail;
    if (left <= 1 && right <= 1)
        return true;
    if (left == 2 && right == 2 && a[same] == b[same + 1] && a[same + 1] == b[same])
        return true;
    return same >= 3;
}

static bool item_fits(const struct clause_rule *rule, const struct ast_item *item)
{
    if (item->kind == ITEM_EXPRESSION)
        return rule->expression;
    if (item->kind == ITEM_ASSIGN)
        return rule->assign;
    return rule->domain && (!item->value || rule->initial) && (!item->qualifier.text || rule->qualifier) &&
           (!item->least || rule->least);
}

struct ast_clause *make_clause(struct parser *parser, struct text_range name_at, const char *name,
                               struct ast_item_list items)
{
    const struct clause_rule *rule = NULL, *near = NULL;
    for (size_t i = 0; i < sizeof clause_rules / sizeof *clause_rules; i++) {
        if (strcmp(clause_rules[i].name, name) == 0)
            rule = &clause_rules[i];
        else if (!near && is_near(name, clause_rules[i].name))
            near = &clause_rules[i];
    }
    if (!rule) {
        parser->clause_missing = true;
        struct diagnostic *d = parser_report(parser, DIAGNOSTIC_E0125, name_at, "no clause is named `%.60s`", name);
        if (near)
            parser_fixit(parser, d, name_at, FIXIT_PROBABLE, near->name);
        else if (strcmp(name, "where") == 0)
            parser_fixit(parser, d, name_at, FIXIT_PROBABLE, "requires");
        return NULL;
    }
    for (int i = 0; i < items.count; i++) {
        if (item_fits(rule, items.data[i]))
            continue;
        parser->clause_missing = true;
        const struct ast_item *item = items.data[i];
        struct diagnostic *d = parser_report_at(parser, DIAGNOSTIC_E0126, item->at, "`%s` takes %s", name, rule->takes);
        if (rule->kind == CLAUSE_TUNE && item->kind == ITEM_ASSIGN && item->value->kind == EXPRESSION_INTEGER)
            diag_fixit(parser->context->diagnostics, d, item->at, FIXIT_PROBABLE,
                       arena_printf(parser->context->arena, "%s: {%lld}", item->name.text,
                                    (long long)item->value->integer.value));
        return NULL;
    }
    struct ast_clause *clause = ARENA_NEW(parser->context->arena, struct ast_clause);
    clause->kind = rule->kind;
    clause->at = parser_place(parser, name_at);
    clause->items = items;
    return clause;
}

/* ---- statements and declarations ---- */

struct ast_statement *make_statement(struct parser *parser, struct text_range at, enum ast_statement_kind kind)
{
    struct ast_statement *statement = ARENA_NEW(parser->context->arena, struct ast_statement);
    statement->kind = kind;
    statement->at = parser_place(parser, at);
    statement->depth = 1;
    statement->operation = OPERATOR_NONE;
    return statement;
}

static void deepen_statement(struct parser *parser, struct text_range at, struct ast_statement *parent,
                             const struct ast_statement *child)
{
    if (!child || parent->depth > child->depth)
        return;
    parent->depth = child->depth + 1;
    if (parent->depth > AST_MAXIMUM_NESTING)
        parser_stop_too_deep(parser, at);
}

struct ast_statement *set_inner(struct parser *parser, struct text_range at, struct ast_statement *statement,
                                struct ast_statement *then, struct ast_statement *otherwise)
{
    /* After a syntax error there is no part, and the whole statement will be replaced by a STATEMENT_MISSING. */
    statement->then = then ? then : make_block(parser, at, at, (struct ast_statement_list){0});
    statement->otherwise = otherwise;
    deepen_statement(parser, at, statement, then);
    deepen_statement(parser, at, statement, otherwise);
    return statement;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The end of the word, number, string, comment or sign that starts here. */
static size_t end_of_piece(const char *text, size_t at, size_t end)
{
    if (is_word(text[at])) {
        while (at < end && is_word(text[at]))
            at++;
        return at;
    }
    bool line = text[at] == '/' && at + 1 < end && text[at + 1] == '/';
    bool block = text[at] == '/' && at + 1 < end && text[at + 1] == '*';
    if (!line && !block && text[at] != '"')
        return at + 1;
    for (size_t i = at + (text[at] == '"' ? 1 : 2); i < end; i++)
        if (line    ? text[i] == '\n'
            : block ? text[i] == '/' && text[i - 1] == '*' && i > at + 2
                    : text[i] == '"' || text[i] == '\n')
            return i + 1;
    return end;
}

/* What a statement that could not be read would have declared, so that later ones are not blamed for using it: words
 * behind `let` and `var`, and those in front of a `=`.  Braces without partners: nobody knows where it ends. */
static void note_lost_names(struct parser *parser, struct text_range range, struct ast_statement *missing)
{
    const char *text = parser->source->text, *word = NULL;
    bool declares = false;
    int braces = 0;
    for (size_t at = range.offset, next; at < range.end_offset; at = next) {
        next = end_of_piece(text, at, range.end_offset);
        char sign = text[at];
        if (sign == ' ' || sign == '\t' || sign == '\n' || sign == '\r' || (sign == '/' && next > at + 1))
            continue;
        if (sign == '{' || sign == '}')
            missing->is_unbalanced |= (braces += sign == '{' ? 1 : -1) < 0;
        bool assigned = sign == '=' && !(next < range.end_offset && text[next] == '=');
        if (word && (declares || assigned)) {
            struct ast_name name = {word, parser_place(parser, range)};
            vector_push(parser->context->arena, &missing->names, name);
        }
        bool was_comma = sign == ',' && declares;
        bool is_name = is_word(sign) && !(sign >= '0' && sign <= '9');
        word = is_name ? intern_range(parser->context->names, text + at, next - at) : NULL;
        bool opens = word && next - at == 3 && (memcmp(text + at, "let", 3) == 0 || memcmp(text + at, "var", 3) == 0);
        declares = opens || was_comma || (declares && word);
        if (opens)
            word = NULL;
    }
    missing->is_unbalanced |= braces != 0;
}

void add_statement(struct parser *parser, struct text_range at, struct ast_statement_list *list,
                   struct ast_statement *statement)
{
    if (!statement || parser->errors != parser->errors_before_statement) {
        statement = make_statement(parser, at, STATEMENT_MISSING);
        note_lost_names(parser, at, statement);
    }
    parser->errors_before_statement = parser->errors;
    vector_push(parser->context->arena, list, statement);
}

struct ast_statement *make_block(struct parser *parser, struct text_range at, struct text_range closing,
                                 struct ast_statement_list body)
{
    struct ast_statement *block = make_statement(parser, at, STATEMENT_BLOCK);
    block->body = body;
    block->closing_at = parser_place(parser, closing);
    for (int i = 0; i < body.count; i++)
        deepen_statement(parser, at, block, body.data[i]);
    return block;
}

struct ast_statement *make_assignment(struct parser *parser, struct text_range at, struct text_range operator_at,
                                      struct ast_expression_list targets, enum ast_operator operation,
                                      struct ast_expression_list values)
{
    for (int i = 0; i < targets.count; i++) {
        const struct ast_expression *target = targets.data[i];
        if (target->kind == EXPRESSION_NAME || target->kind == EXPRESSION_INDEX ||
            (target->kind == EXPRESSION_MEMBER && target->base->kind == EXPRESSION_NAME))
            continue;
        parser_report_at(parser, DIAGNOSTIC_E0111, target->at,
                         target->kind == EXPRESSION_CALL
                             ? "a call gives a value, which cannot be assigned to"
                             : "only a member of a struct that a variable holds can be assigned to");
        return NULL;
    }
    struct ast_statement *statement = make_statement(parser, at, STATEMENT_ASSIGN);
    statement->targets = targets;
    statement->operation = operation;
    statement->operator_at = parser_place(parser, operator_at);
    statement->values = values;
    return statement;
}

struct ast_statement *make_effect(struct parser *parser, struct text_range at, struct ast_expression *call)
{
    if (call->kind != EXPRESSION_CALL) {
        parser_report(parser, DIAGNOSTIC_E0110, at, "this statement computes a value and drops it");
        return NULL;
    }
    struct ast_statement *statement = make_statement(parser, at, STATEMENT_EXPRESSION);
    statement->value = call;
    return statement;
}

struct ast_declaration *make_declaration(struct parser *parser, struct text_range at, struct text_range name_at,
                                         enum ast_declaration_kind kind, struct word name, struct word first)
{
    struct ast_declaration *declaration = ARENA_NEW(parser->context->arena, struct ast_declaration);
    declaration->kind = kind;
    declaration->at = parser_place(parser, name_at);
    at.end_line = at.line;
    at.end_column = at.column + (first.text ? (int)strlen(first.text) : 1);
    declaration->first_at = parser_place(parser, at);
    declaration->name = (struct ast_name){name.text, declaration->at};
    declaration->doc = first.doc;
    return declaration;
}

/* `fn f(...` with an error in its head: whoever calls f is not to blame. */
void note_lost_declaration(struct parser *parser, struct text_range range)
{
    static const char *const heads[] = {"noinline", "const", "fn", "enum", "struct", "kernel"};
    const char *text = parser->source->text;
    for (size_t at = range.offset, next; at < range.end_offset; at = next) {
        next = end_of_piece(text, at, range.end_offset);
        if (!is_word(text[at]))
            continue;
        const char *word = intern_range(parser->context->names, text + at, next - at);
        bool head = false;
        for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
            head = head || strcmp(word, heads[i]) == 0;
        if (head)
            continue;
        vector_push(parser->context->arena, &parser->file->lost, word);
        return;
    }
}

void add_declaration(struct parser *parser, struct ast_declaration *declaration)
{
    bool broken = parser->errors != parser->errors_before_declaration;
    parser->errors_before_declaration = parser->errors_before_statement = parser->errors;
    parser->clause_missing = false;
    if (!declaration)
        return;
    declaration->broken = broken;
    vector_push(parser->context->arena, &parser->file->declarations, declaration);
}

/* ---- sums of an extent ---- */

static bool is_small_literal(const struct ast_expression *x, int64_t *number)
{
    if (x->kind != EXPRESSION_INTEGER || x->integer.value > INT32_MAX)
        return false;
    *number = (int64_t)x->integer.value;
    return true;
}

const char *ast_split_sum(const struct ast_expression *x, int64_t *multiply, int64_t *add)
{
    int64_t c = 0;
    *multiply = 1;
    *add = 0;
    if (x->kind != EXPRESSION_BINARY)
        return NULL;
    bool left = x->left->kind == EXPRESSION_NAME && is_small_literal(x->right, &c);
    bool right = x->right->kind == EXPRESSION_NAME && is_small_literal(x->left, &c);
    if (!left && !right)
        return NULL;
    const char *name = left ? x->left->name : x->right->name;
    if (x->operation == OPERATOR_ADD)
        *add = c;
    else if (x->operation == OPERATOR_SUBTRACT && left)
        *add = -c;
    else if (x->operation == OPERATOR_MULTIPLY && c > 0)
        *multiply = c;
    else
        return NULL;
    return name;
}
