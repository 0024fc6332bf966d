/* Writing a tree as text in one canonical form: four spaces of indentation, one statement a line, brackets where the
 * author put them.  Parsing the result gives an equal tree; places, ids and comments other than `///` are not kept. */
#include "front/syntax/ast.h"

#include <string.h>

struct printer {
    struct buffer *out;
    int indent;
};

static void print_expression(struct printer *printer, const struct ast_expression *e);
static void print_statement(struct printer *printer, const struct ast_statement *s);

static void put(struct printer *printer, const char *text) { buffer_puts(printer->out, text); }

static void start_line(struct printer *printer)
{
    for (int i = 0; i < printer->indent; i++)
        put(printer, "    ");
}

static void print_string(struct printer *printer, const char *data, size_t size)
{
    buffer_putc(printer->out, '"');
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)data[i];
        if (c == '"' || c == '\\')
            buffer_printf(printer->out, "\\%c", c);
        else if (c == '\n')
            put(printer, "\\n");
        else if (c == '\t')
            put(printer, "\\t");
        else if (c < ' ' || c == 0x7f)
            buffer_printf(printer->out, "\\x%02x", c);
        else
            buffer_putc(printer->out, (char)c);
    }
    buffer_putc(printer->out, '"');
}

static void print_integer(struct printer *printer, const struct ast_expression *e)
{
    if (e->integer.too_big) {
        put(printer, "18446744073709551616");
    } else if (e->integer.base == 16) {
        buffer_printf(printer->out, "0x%llx", (unsigned long long)e->integer.value);
    } else if (e->integer.base == 2) {
        put(printer, "0b");
        for (int bit = log2_floor(e->integer.value | 1); bit >= 0; bit--)
            buffer_putc(printer->out, (e->integer.value >> bit & 1) ? '1' : '0');
    } else {
        buffer_printf(printer->out, "%llu", (unsigned long long)e->integer.value);
    }
}

static void print_expressions(struct printer *printer, const struct ast_expression_list *list)
{
    for (int i = 0; i < list->count; i++) {
        if (i)
            put(printer, ", ");
        print_expression(printer, list->data[i]);
    }
}

static void print_index(struct printer *printer, const struct ast_index *index)
{
    switch (index->kind) {
    case INDEX_EXPRESSION: print_expression(printer, index->value); break;
    case INDEX_SLICE:
        print_expression(printer, index->value);
        put(printer, " +: ");
        print_expression(printer, index->size);
        break;
    case INDEX_ALL: put(printer, ":"); break;
    case INDEX_NEW: put(printer, "None"); break;
    case INDEX_RANGE:
        if (index->value)
            print_expression(printer, index->value);
        put(printer, "..");
        if (index->end)
            print_expression(printer, index->end);
        break;
    }
}

static void print_arguments(struct printer *printer, const struct ast_argument_list *arguments)
{
    for (int i = 0; i < arguments->count; i++) {
        const struct ast_argument *argument = arguments->data[i];
        if (i)
            put(printer, ", ");
        if (argument->name.text)
            buffer_printf(printer->out, "%s = ", argument->name.text);
        print_expression(printer, argument->value);
    }
}

static void print_expression(struct printer *printer, const struct ast_expression *e)
{
    if (e->parenthesized)
        put(printer, "(");
    switch (e->kind) {
    case EXPRESSION_NAME: put(printer, e->name); break;
    case EXPRESSION_SCALAR_TYPE: put(printer, ast_scalar_word(e->scalar)); break;
    case EXPRESSION_INTEGER: print_integer(printer, e); break;
    case EXPRESSION_REAL: put(printer, e->real.text); break;
    case EXPRESSION_STRING: print_string(printer, e->string.data, e->string.size); break;
    case EXPRESSION_TUPLE:
        put(printer, "(");
        print_expressions(printer, &e->elements);
        put(printer, ")");
        break;
    case EXPRESSION_LIST:
        put(printer, "[");
        print_expressions(printer, &e->elements);
        put(printer, "]");
        break;
    case EXPRESSION_UNARY:
        put(printer, ast_operator_spelling(e->operation));
        /* `- -x`, because `--` is no operator */
        if (e->operation == OPERATOR_NOT || (e->left->kind == EXPRESSION_UNARY && !e->left->parenthesized))
            put(printer, " ");
        print_expression(printer, e->left);
        break;
    case EXPRESSION_BINARY:
        print_expression(printer, e->left);
        buffer_printf(printer->out, " %s ", ast_operator_spelling(e->operation));
        print_expression(printer, e->right);
        break;
    case EXPRESSION_CONDITIONAL:
        print_expression(printer, e->condition);
        put(printer, " ? ");
        print_expression(printer, e->left);
        put(printer, " : ");
        print_expression(printer, e->right);
        break;
    case EXPRESSION_INDEX:
        print_expression(printer, e->base);
        put(printer, "[");
        for (int i = 0; i < e->indexes.count; i++) {
            if (i)
                put(printer, ", ");
            print_index(printer, e->indexes.data[i]);
        }
        put(printer, "]");
        break;
    case EXPRESSION_CALL:
        print_expression(printer, e->base);
        put(printer, "(");
        print_arguments(printer, &e->arguments);
        put(printer, ")");
        break;
    case EXPRESSION_MEMBER:
        print_expression(printer, e->base);
        if (e->base->kind == EXPRESSION_INTEGER || e->base->kind == EXPRESSION_REAL)
            put(printer, " "); /* 1.x is no 1 */
        buffer_printf(printer->out, ".%s", e->name);
        break;
    }
    if (e->parenthesized)
        put(printer, ")");
}

/* ---- types and domains ---- */

static void print_type(struct printer *printer, const struct ast_type *type)
{
    switch (type->kind) {
    case TYPE_NODE_SCALAR: put(printer, ast_scalar_word(type->scalar)); break;
    case TYPE_NODE_NAME:
        if (type->module.text)
            buffer_printf(printer->out, "%s.", type->module.text);
        put(printer, type->name.text);
        break;
    case TYPE_NODE_POINTER:
        put(printer, type->is_const ? "*const " : "*");
        print_type(printer, type->target);
        break;
    case TYPE_NODE_TILE:
        print_type(printer, type->target);
        put(printer, "[");
        print_expressions(printer, &type->extents);
        put(printer, "]");
        break;
    case TYPE_NODE_TUPLE:
        put(printer, "(");
        for (int i = 0; i < type->members.count; i++) {
            if (i)
                put(printer, ", ");
            print_type(printer, type->members.data[i]);
        }
        put(printer, ")");
        break;
    }
}

static void print_range(struct printer *printer, const struct ast_range *range)
{
    print_expression(printer, range->from);
    put(printer, range->inclusive ? "..=" : "..");
    print_expression(printer, range->to);
    if (!range->step)
        return;
    put(printer, range->step_multiplies ? " step *" : " step ");
    print_expression(printer, range->step);
}

static void print_domain(struct printer *printer, const struct ast_domain *domain)
{
    switch (domain->kind) {
    case DOMAIN_SET:
        put(printer, "{");
        for (int i = 0; i < domain->members.count; i++) {
            if (i)
                put(printer, ", ");
            print_domain(printer, domain->members.data[i]);
        }
        put(printer, "}");
        break;
    case DOMAIN_RANGE: print_range(printer, domain->range); break;
    case DOMAIN_EXPRESSION: print_expression(printer, domain->expression); break;
    }
}

/* ---- statements ---- */

static void print_block(struct printer *printer, const struct ast_statement *block)
{
    put(printer, "{\n");
    printer->indent++;
    for (int i = 0; i < block->body.count; i++) {
        start_line(printer);
        print_statement(printer, block->body.data[i]);
    }
    printer->indent--;
    start_line(printer);
    put(printer, "}\n");
}

/* The statement that a head governs: a block on the same line, anything else on the next. */
static void print_governed(struct printer *printer, const struct ast_statement *s)
{
    if (s->kind == STATEMENT_BLOCK) {
        put(printer, " ");
        print_block(printer, s);
        return;
    }
    put(printer, "\n");
    printer->indent++;
    start_line(printer);
    print_statement(printer, s);
    printer->indent--;
}

static void print_definition(struct printer *printer, const struct ast_statement *s)
{
    put(printer, s->kind == STATEMENT_LET ? "let " : "var ");
    for (int i = 0; i < s->names.count; i++)
        buffer_printf(printer->out, "%s%s", i ? ", " : "", s->names.data[i].text);
    if (s->type) {
        put(printer, ": ");
        print_type(printer, s->type);
    }
    put(printer, " = ");
    print_expressions(printer, &s->values);
    put(printer, ";\n");
}

static void print_if(struct printer *printer, const struct ast_statement *s)
{
    put(printer, "if (");
    print_expression(printer, s->condition);
    put(printer, ")");
    print_governed(printer, s->then);
    if (!s->otherwise)
        return;
    start_line(printer);
    put(printer, "else");
    if (s->otherwise->kind == STATEMENT_IF) {
        put(printer, " ");
        print_statement(printer, s->otherwise);
    } else {
        print_governed(printer, s->otherwise);
    }
}

static void print_statement(struct printer *printer, const struct ast_statement *s)
{
    switch (s->kind) {
    case STATEMENT_BLOCK: print_block(printer, s); break;
    case STATEMENT_LET:
    case STATEMENT_VAR: print_definition(printer, s); break;
    case STATEMENT_ASSIGN:
        print_expressions(printer, &s->targets);
        buffer_printf(printer->out, " %s= ", s->operation == OPERATOR_NONE ? "" : ast_operator_spelling(s->operation));
        print_expressions(printer, &s->values);
        put(printer, ";\n");
        break;
    case STATEMENT_EXPRESSION:
        print_expression(printer, s->value);
        put(printer, ";\n");
        break;
    case STATEMENT_IF: print_if(printer, s); break;
    case STATEMENT_FOR:
        buffer_printf(printer->out, "%sfor %s in ", s->is_static ? "static " : "", s->names.data[0].text);
        print_range(printer, s->range);
        print_governed(printer, s->then);
        break;
    case STATEMENT_WHILE:
        put(printer, "while (");
        print_expression(printer, s->condition);
        put(printer, ")");
        print_governed(printer, s->then);
        break;
    case STATEMENT_BREAK: put(printer, "break;\n"); break;
    case STATEMENT_CONTINUE: put(printer, "continue;\n"); break;
    case STATEMENT_MISSING: put(printer, "\n"); break;
    case STATEMENT_RETURN:
        put(printer, s->values.count ? "return " : "return");
        print_expressions(printer, &s->values);
        put(printer, ";\n");
        break;
    }
}

/* ---- declarations ---- */

static void print_parameter(struct printer *printer, const struct ast_parameter *parameter)
{
    static const char *const directions[] = {"", "in", "out", "inout"};
    buffer_printf(printer->out, "%s%s", parameter->is_const ? "const " : "", parameter->name.text);
    if (parameter->is_const) {
        if (!parameter->domain)
            return;
        put(printer, ": ");
        print_domain(printer, parameter->domain);
        return;
    }
    buffer_printf(printer->out, ": %s%s", parameter->is_restrict ? "restrict " : "", directions[parameter->direction]);
    if (parameter->is_optional)
        put(printer, "?");
    if (parameter->direction != DIRECTION_NONE)
        put(printer, " ");
    if (parameter->is_packed)
        put(printer, "packed ");
    if (parameter->is_strided)
        put(printer, "strided ");
    if (parameter->is_huge)
        put(printer, "huge ");
    print_type(printer, parameter->type);
}

static void print_signature(struct printer *printer, const struct ast_declaration *declaration)
{
    put(printer, declaration->name.text);
    if (declaration->generics.count) {
        put(printer, "<");
        for (int i = 0; i < declaration->generics.count; i++) {
            const struct ast_generic *generic = declaration->generics.data[i];
            buffer_printf(printer->out, "%s%s", i ? ", " : "", generic->name.text);
            if (!generic->domain)
                continue;
            put(printer, ": ");
            print_domain(printer, generic->domain);
        }
        put(printer, ">");
    }
    put(printer, "(");
    for (int i = 0; i < declaration->parameters.count; i++) {
        if (i)
            put(printer, ", ");
        print_parameter(printer, declaration->parameters.data[i]);
    }
    put(printer, ")");
    if (declaration->result) {
        put(printer, " -> ");
        print_type(printer, declaration->result);
    }
}

static void print_clause(struct printer *printer, const struct ast_clause *clause)
{
    static const char *const names[] = {"grid", "tune", "const", "requires", "specialize", "alias", "on", "scratch"};
    buffer_printf(printer->out, "\n    %s(", names[clause->kind]);
    for (int i = 0; i < clause->items.count; i++) {
        const struct ast_item *item = clause->items.data[i];
        if (i)
            put(printer, ", ");
        if (item->qualifier.text)
            buffer_printf(printer->out, "%s ", item->qualifier.text);
        if (item->kind != ITEM_EXPRESSION)
            put(printer, item->name.text);
        if (item->kind == ITEM_DOMAIN) {
            put(printer, ": ");
            print_domain(printer, item->domain);
        }
        if (item->value && item->kind != ITEM_EXPRESSION)
            put(printer, " = ");
        if (item->value)
            print_expression(printer, item->value);
        if (item->least) {
            put(printer, " >= ");
            print_expression(printer, item->least);
        }
    }
    put(printer, ")");
}

static void print_list_body(struct printer *printer, const struct ast_declaration *declaration)
{
    for (int i = 0; i < declaration->enumerators.count; i++) {
        const struct ast_enumerator *enumerator = declaration->enumerators.data[i];
        buffer_printf(printer->out, "%s%s", i ? ", " : "", enumerator->name.text);
        if (!enumerator->value)
            continue;
        put(printer, enumerator->value->kind == EXPRESSION_UNARY ? " = -" : " = ");
        print_integer(printer,
                      enumerator->value->kind == EXPRESSION_UNARY ? enumerator->value->left : enumerator->value);
    }
    for (int i = 0; i < declaration->fields.count; i++) {
        buffer_printf(printer->out, "%s%s: ", i ? " " : "", declaration->fields.data[i]->name.text);
        print_type(printer, declaration->fields.data[i]->type);
        put(printer, ";");
    }
}

static void print_doc(struct printer *printer, const char *doc)
{
    for (bool more = doc && *doc; more;) { /* the last line may be empty, too */
        size_t length = strcspn(doc, "\n");
        put(printer, length ? "/// " : "///");
        buffer_append(printer->out, doc, length);
        put(printer, "\n");
        more = doc[length] == '\n';
        doc += length + more;
    }
}

static void print_declaration(struct printer *printer, const struct ast_declaration *declaration)
{
    print_doc(printer, declaration->doc);
    switch (declaration->kind) {
    case DECLARATION_IMPORT:
        put(printer, "import ");
        print_string(printer, declaration->path, strlen(declaration->path));
        if (declaration->name.text)
            buffer_printf(printer->out, " as %s", declaration->name.text);
        put(printer, ";\n");
        break;
    case DECLARATION_CONST:
        buffer_printf(printer->out, "const %s", declaration->name.text);
        if (declaration->type) {
            put(printer, ": ");
            print_type(printer, declaration->type);
        }
        put(printer, " = ");
        print_expression(printer, declaration->value);
        put(printer, ";\n");
        break;
    case DECLARATION_ENUM:
    case DECLARATION_STRUCT:
        buffer_printf(printer->out, "%s %s { ", declaration->kind == DECLARATION_ENUM ? "enum" : "struct",
                      declaration->name.text);
        print_list_body(printer, declaration);
        put(printer, " }\n");
        break;
    case DECLARATION_FN:
        put(printer, declaration->is_noinline ? "noinline fn " : declaration->is_const ? "const fn " : "fn ");
        print_signature(printer, declaration);
        if (declaration->body) {
            put(printer, " ");
            print_block(printer, declaration->body);
        } else {
            put(printer, " = ");
            print_expression(printer, declaration->value);
            put(printer, ";\n");
        }
        break;
    case DECLARATION_KERNEL:
        put(printer, "kernel ");
        print_signature(printer, declaration);
        for (int i = 0; i < declaration->clauses.count; i++)
            print_clause(printer, declaration->clauses.data[i]);
        put(printer, "\n");
        print_block(printer, declaration->body);
        break;
    case DECLARATION_TEST:
        put(printer, "test ");
        print_string(printer, declaration->path, strlen(declaration->path));
        put(printer, " ");
        print_block(printer, declaration->body);
        break;
    }
}

void ast_print(const struct ast_file *file, struct buffer *out)
{
    struct printer printer = {out, 0};
    for (int i = 0; i < file->declarations.count; i++) {
        if (i)
            buffer_putc(out, '\n');
        print_declaration(&printer, file->declarations.data[i]);
    }
}

void ast_print_expression(const struct ast_expression *expression, struct buffer *out)
{
    struct printer printer = {out, 0};
    print_expression(&printer, expression);
}

void ast_print_type(const struct ast_type *type, struct buffer *out)
{
    struct printer printer = {out, 0};
    print_type(&printer, type);
}
