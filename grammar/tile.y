/* The grammar of .tile: the only place that knows syntax.  LALR(1), no conflict, no %expect, no %glr-parser.
 *
 * To build (from the build folder, so that generated names and #line stay the same everywhere):
 *     bison -Wall -Werror -d -o grammar-tile.tab.c  $srcdir/grammar/tile.y      gives also grammar-tile.tab.h
 *     flex  -o grammar-tile.lex.c $srcdir/grammar/tile.l
 * and compile both with -I. (the build folder) and -I$srcdir/src; the generated C is not -Wconversion clean.
 * src/front/syntax/token_stream.c and syntax_error.c include grammar-tile.tab.h too.
 *
 * What keeps it free of conflicts, and must stay true:
 *  1. Generic brackets < > occur in declarations only.  A call passes compile-time values as ordinary
 *     arguments (`activate(acc, ACT)`), so '<' in an expression is always less-than.
 *  2. Cast, call and tile constructor are one production, suffix '(' args ')': f32(x), f(x), T[BM, BN](0).
 *     Names decide later; the scanner needs no symbol table.
 *  3. A statement begins with a name, a keyword or '{'.  So `for k in 0..K step BK acc += x;` needs no
 *     parentheses: no such token continues an expression.
 *  4. Bounds of ranges, slices and sets are `arith` (everything above comparison): the '>' that ends
 *     generics and the '>=' of a const clause are never swallowed.
 *  5. ".." is no operator, it joins two ariths in a range or an index; a float literal has digits on both
 *     sides of its dot, so 0..K is INT DOTDOT NAME.
 *  6. "+:" is one token.  ':' alone is an index item; inside ?: it follows an expression.
 *  7. Clause names (grid, tune, requires ...) are plain names, known by place.
 *
 * Errors.  On a syntax error the token stream (tile_lex) skips to where the statement or declaration ends, minding
 * brackets, and delivers SYNC there: the two productions with `error` wait for nothing else.  Tokens that only C has
 * (INCREMENT, and ARROW as a suffix) have productions that report and go on. */

%define api.pure full
%define api.prefix {tile_}
%define api.token.prefix {TOKEN_}
%define api.location.type {struct text_range}
%define api.value.type union
%define parse.error custom
%define parse.lac full
%locations
%param {struct parser *parser}

%code requires {
#include "front/syntax/parser.h"
}

%code provides {
struct token { int kind; union TILE_STYPE value; struct text_range at; bool reported; };
int scan_token(union TILE_STYPE *value, struct text_range *at, struct parser *parser);
}

%code {
#define YYLLOC_DEFAULT(current, right, count)                                                                         \
    do {                                                                                                              \
        const struct text_range *first = &YYRHSLOC(right, (count) ? 1 : 0), *last = &YYRHSLOC(right, count);          \
        if (count) (current) = *first;                                                                                \
        else {                                                                                                        \
            (current).line = first->end_line;                                                                         \
            (current).column = first->end_column;                                                                     \
            (current).offset = first->end_offset;                                                                     \
        }                                                                                                             \
        (current).end_line = last->end_line;                                                                          \
        (current).end_column = last->end_column;                                                                      \
        (current).end_offset = last->end_offset;                                                                      \
    } while (0)

static int tile_lex(union TILE_STYPE *value, struct text_range *at, struct parser *parser);
static void tile_error(const struct text_range *at, struct parser *parser, const char *text);

#define PUSH(list, value) vector_push(parser->context->arena, &(list), value)
#define NAME_AT(word, range) ((struct ast_name){(word).text, parser_place(parser, range)})
}

%token END 0 "end of file"
%token <struct word> NAME "a name"
%token <enum ast_scalar> TYPE "a scalar type"
%token <struct ast_expression *> INT "an integer" REAL "a number" STRING "a string"
%token <struct word> KERNEL "kernel" FN "fn" CONST "const" ENUM "enum" STRUCT "struct" IMPORT "import"
%token <struct word> AS "as" TEST "test"
%token <struct word> NOINLINE "noinline" RESTRICT "restrict" PACKED "packed" STRIDED "strided" HUGE_ "huge"
%token <struct word> OUT "out" INOUT "inout"
%token IN "in" LET "let" VAR "var" IF "if" ELSE "else" FOR "for" WHILE "while" STATIC "static" STEP "step"
%token BREAK "break" CONTINUE "continue" RETURN "return" NONE "None"
%token AND "and" OR "or" NOT "not"
%token ARROW "->" DOTDOT ".." THROUGH "..=" SLICE "+:"
%token EQ "==" NE "!=" LE "<=" GE ">=" SHL "<<" SHR ">>"
%token ADD_A "+=" SUB_A "-=" MUL_A "*=" DIV_A "/=" MOD_A "%=" AND_A "&=" OR_A "|=" XOR_A "^=" SHL_A "<<=" SHR_A ">>="
%token <enum ast_operator> INCREMENT "++"
%token SYNC "the next statement" WHOLE "a file" ALONE "an expression alone"

%type <struct word> name clause_name
%type <struct ast_name> name_at
%type <struct ast_expression *> expr or_expr and_expr not_expr comparison arith postfix named unnamed literal suffix whole
%type <struct ast_expression_list> expr_list extents extent_list places
%type <enum ast_operator> compare assign
%type <struct ast_index *> index
%type <struct ast_index_list> indexes
%type <struct ast_argument *> argument
%type <struct ast_argument_list> arguments argument_list
%type <struct ast_type *> type element result
%type <struct ast_type_list> types
%type <struct ast_range *> span range
%type <struct ast_domain *> domain set set_item
%type <struct ast_domain_list> set_items
%type <struct ast_generic *> generic
%type <struct ast_generic_list> generics generic_list
%type <struct ast_parameter *> parameter marks
%type <struct ast_parameter_list> parameters parameter_list
%type <enum ast_direction> direction
%type <bool> optional
%type <struct ast_item *> clause_item
%type <struct ast_item_list> clause_items
%type <struct ast_clause *> clause
%type <struct ast_clause_list> clauses
%type <struct ast_statement *> block statement
%type <struct ast_statement_list> statements
%type <struct ast_name_list> names
%type <struct ast_enumerator *> enumerator
%type <struct ast_enumerator_list> enumerators
%type <struct ast_field *> field
%type <struct ast_field_list> fields
%type <struct ast_declaration *> declaration signature function

/* lowest to highest; comparison does not associate and `?:`, or, and, not are written out below */
%precedence THEN
%precedence ELSE
%left '|'
%left '^'
%left '&'
%left SHL SHR
%left '+' '-'
%left '*' '/' '%' '@'
%precedence UNARY

%start text
%%
/* WHOLE and ALONE are no text: the token stream begins with one of them. */
text
    : WHOLE file
    | ALONE expr { parser->alone = $2; }
    ;
/* Words with a meaning by place only are names too. */
name: NAME | OUT | INOUT | TEST | AS | PACKED | STRIDED | HUGE_ | RESTRICT | NOINLINE ;
name_at: name { $$ = NAME_AT($1, @1); } ;

file
    : %empty
    | file declaration { add_declaration(parser, $2); }
    ;

declaration
    : IMPORT STRING ';'
        {
            $$ = make_declaration(parser, @$, @2, DECLARATION_IMPORT, (struct word){NULL, NULL}, $1);
            $$->path = $2->string.data;
        }
    | IMPORT STRING AS name ';'
        {
            $$ = make_declaration(parser, @$, @2, DECLARATION_IMPORT, $4, $1);
            $$->name.at = parser_place(parser, @4);
            $$->path = $2->string.data;
        }
    | CONST name '=' expr ';'
        { $$ = make_declaration(parser, @$, @2, DECLARATION_CONST, $2, $1); $$->value = $4; }
    | CONST name ':' type '=' expr ';'
        { $$ = make_declaration(parser, @$, @2, DECLARATION_CONST, $2, $1); $$->type = $4; $$->value = $6; }
    | ENUM name '{' enumerators comma '}'
        { $$ = make_declaration(parser, @$, @2, DECLARATION_ENUM, $2, $1); $$->enumerators = $4; }
    | STRUCT name '{' fields '}'
        { $$ = make_declaration(parser, @$, @2, DECLARATION_STRUCT, $2, $1); $$->fields = $4; }
    | FN function           { $$ = $2; $$->doc = $1.doc; $$->first_at = parser_place(parser, @1); }
    | NOINLINE FN function
        { $$ = $3; $$->doc = $1.doc; $$->first_at = parser_place(parser, @1); $$->is_noinline = true; }
    | CONST FN function     { $$ = $3; $$->doc = $1.doc; $$->first_at = parser_place(parser, @1); $$->is_const = true; }
    | KERNEL name generics '(' parameters ')' clauses block
        {
            $$ = make_declaration(parser, @$, @2, DECLARATION_KERNEL, $2, $1);
            $$->generics = $3;
            $$->parameters = $5;
            $$->clauses = $7;
            $$->clause_missing = parser->clause_missing;
            $$->body = $8;
        }
    | TEST STRING block
        {
            $$ = make_declaration(parser, @$, @2, DECLARATION_TEST, (struct word){NULL, NULL}, $1);
            $$->path = $2->string.data;
            $$->body = $3;
        }
    | error SYNC { $$ = NULL; note_lost_declaration(parser, @$); yyerrok; }
    ;
comma: %empty | ',' ;
enumerators
    : enumerator                { $$ = (struct ast_enumerator_list){0}; PUSH($$, $1); }
    | enumerators ',' enumerator { $$ = $1; PUSH($$, $3); }
    ;
enumerator
    : name_at          { $$ = ARENA_NEW(parser->context->arena, struct ast_enumerator); $$->name = $1; }
    | name_at '=' whole
        { $$ = ARENA_NEW(parser->context->arena, struct ast_enumerator); $$->name = $1; $$->value = $3; }
    ;
whole
    : INT
    | '-' INT { $$ = make_unary(parser, @$, @1, OPERATOR_NEGATE, $2); }
    ;
fields
    : field        { $$ = (struct ast_field_list){0}; PUSH($$, $1); }
    | fields field { $$ = $1; PUSH($$, $2); }
    ;
field
    : name_at ':' type ';'
        { $$ = ARENA_NEW(parser->context->arena, struct ast_field); $$->name = $1; $$->type = $3; }
    ;

function
    : signature block           { $$ = $1; $$->body = $2; }
    | signature '=' expr ';'    { $$ = $1; $$->value = $3; }
    ;
signature
    : name generics '(' parameters ')' result
        {
            $$ = make_declaration(parser, @$, @1, DECLARATION_FN, $1, (struct word){NULL, NULL});
            $$->generics = $2;
            $$->parameters = $4;
            $$->result = $6;
        }
    ;
result
    : %empty     { $$ = NULL; }
    | ARROW type { $$ = $2; }
    ;

generics
    : %empty                { $$ = (struct ast_generic_list){0}; }
    | '<' generic_list '>'  { $$ = $2; }
    ;
generic_list
    : generic                  { $$ = (struct ast_generic_list){0}; PUSH($$, $1); }
    | generic_list ',' generic { $$ = $1; PUSH($$, $3); }
    ;
generic
    : name_at
        { $$ = ARENA_NEW(parser->context->arena, struct ast_generic); $$->name = $1; $$->at = $1.at; }
    | name_at ':' domain
        {
            $$ = ARENA_NEW(parser->context->arena, struct ast_generic);
            $$->name = $1;
            $$->domain = $3;
            $$->at = parser_place(parser, @$);
        }
    ;

/* The values a compile-time name may take: a set, a range, or the name of a type, enum or class. */
domain
    : set
    | span  { $$ = make_domain(parser, @$, $1, NULL); }
    | arith { $$ = make_domain(parser, @$, NULL, $1); }
    ;
set: '{' set_items comma '}' { $$ = make_domain_set(parser, @$, $2); } ;
set_items
    : set_item               { $$ = (struct ast_domain_list){0}; PUSH($$, $1); }
    | set_items ',' set_item { $$ = $1; PUSH($$, $3); }
    ;
set_item
    : arith { $$ = make_domain(parser, @$, NULL, $1); }
    | span  { $$ = make_domain(parser, @$, $1, NULL); }
    ;
span
    : arith THROUGH arith                { $$ = make_range(parser, @$, $1, $3, NULL, true, false); }
    | arith THROUGH arith STEP arith     { $$ = make_range(parser, @$, $1, $3, $5, true, false); }
    | arith THROUGH arith STEP '*' arith { $$ = make_range(parser, @$, $1, $3, $6, true, true); }
    ;
range
    : arith DOTDOT arith                { $$ = make_range(parser, @$, $1, $3, NULL, false, false); }
    | arith DOTDOT arith STEP arith     { $$ = make_range(parser, @$, $1, $3, $5, false, false); }
    | arith DOTDOT arith STEP '*' arith { $$ = make_range(parser, @$, $1, $3, $6, false, true); }
    ;

parameters
    : %empty               { $$ = (struct ast_parameter_list){0}; }
    | parameter_list comma { $$ = $1; }
    ;
parameter_list
    : parameter                    { $$ = (struct ast_parameter_list){0}; PUSH($$, $1); }
    | parameter_list ',' parameter { $$ = $1; PUSH($$, $3); }
    ;
parameter
    : name_at ':' type
        {
            $$ = ARENA_NEW(parser->context->arena, struct ast_parameter);
            $$->name = $1;
            $$->type = $3;
            $$->at = parser_place(parser, @$);
        }
    | name_at ':' RESTRICT type
        {
            $$ = ARENA_NEW(parser->context->arena, struct ast_parameter);
            $$->name = $1;
            $$->is_restrict = true;
            $$->type = $4;
            $$->at = parser_place(parser, @$);
        }
    | name_at ':' direction optional marks type
        {
            $$ = $5;
            $$->name = $1;
            $$->direction = $3;
            $$->is_optional = $4;
            $$->type = $6;
            $$->at = parser_place(parser, @$);
        }
    | CONST name_at
        {
            $$ = ARENA_NEW(parser->context->arena, struct ast_parameter);
            $$->name = $2;
            $$->is_const = true;
            $$->at = parser_place(parser, @$);
        }
    | CONST name_at ':' domain
        {
            $$ = ARENA_NEW(parser->context->arena, struct ast_parameter);
            $$->name = $2;
            $$->is_const = true;
            $$->domain = $4;
            $$->at = parser_place(parser, @$);
        }
    ;
direction
    : IN    { $$ = DIRECTION_IN; }
    | OUT   { $$ = DIRECTION_OUT; }
    | INOUT { $$ = DIRECTION_INOUT; }
    ;
optional
    : %empty { $$ = false; }
    | '?'    { $$ = true; }
    ;
marks
    : %empty        { $$ = ARENA_NEW(parser->context->arena, struct ast_parameter); }
    | marks PACKED  { $$ = $1; $$->is_packed = true; }
    | marks STRIDED { $$ = $1; $$->is_strided = true; }
    | marks HUGE_   { $$ = $1; $$->is_huge = true; }
    ;

type
    : element extents          { $$ = $2.count ? make_type_tile(parser, @$, $1, $2) : $1; }
    | '(' type ',' types ')'
        {
            struct ast_type_list members = {0};
            PUSH(members, $2);
            for (int i = 0; i < $4.count; i++) PUSH(members, $4.data[i]);
            $$ = make_type_tuple(parser, @$, members);
        }
    ;
types
    : type           { $$ = (struct ast_type_list){0}; PUSH($$, $1); }
    | types ',' type { $$ = $1; PUSH($$, $3); }
    ;
element
    : TYPE              { $$ = make_type(parser, @$, TYPE_NODE_SCALAR); $$->scalar = $1; }
    | NAME              { $$ = make_type(parser, @$, TYPE_NODE_NAME); $$->name = NAME_AT($1, @1); }
    | NAME '.' name_at
        { $$ = make_type(parser, @$, TYPE_NODE_NAME); $$->module = NAME_AT($1, @1); $$->name = $3; }
    | '*' element       { $$ = make_type_pointer(parser, @$, $2, false); }
    | '*' CONST element { $$ = make_type_pointer(parser, @$, $3, true); }
    ;
extents
    : %empty              { $$ = (struct ast_expression_list){0}; }
    | '[' extent_list ']' { $$ = $2; }
    ;
extent_list
    : arith                 { $$ = (struct ast_expression_list){0}; PUSH($$, $1); }
    | extent_list ',' arith { $$ = $1; PUSH($$, $3); }
    ;

clauses
    : %empty         { $$ = (struct ast_clause_list){0}; }
    | clauses clause { $$ = $1; if ($2) PUSH($$, $2); }
    ;
clause: clause_name '(' clause_items comma ')' { $$ = make_clause(parser, @1, $1.text, $3); } ;
clause_name: name | CONST ;
clause_items
    : clause_item                  { $$ = (struct ast_item_list){0}; PUSH($$, $1); }
    | clause_items ',' clause_item { $$ = $1; PUSH($$, $3); }
    ;
clause_item
    : expr                      /* a condition, a bare knob, a target */
        { $$ = make_item(parser, @$, ITEM_EXPRESSION); $$->value = $1; }
    | name_at '=' expr          /* on(sm_90, BN = 256) */
        { $$ = make_item(parser, @$, ITEM_ASSIGN); $$->name = $1; $$->value = $3; }
    | name_at ':' domain        /* grid, tune, scratch */
        { $$ = make_item(parser, @$, ITEM_DOMAIN); $$->name = $1; $$->domain = $3; }
    | name_at ':' domain '=' expr   /* default, initial value */
        { $$ = make_item(parser, @$, ITEM_DOMAIN); $$->name = $1; $$->domain = $3; $$->value = $5; }
    | name_at ':' domain GE arith   /* const(B: set >= N): least member not under N */
        { $$ = make_item(parser, @$, ITEM_DOMAIN); $$->name = $1; $$->domain = $3; $$->least = $5; }
    | name_at name_at ':' domain    /* grid(ordered b: n) */
        { $$ = make_item(parser, @$, ITEM_DOMAIN); $$->qualifier = $1; $$->name = $2; $$->domain = $4; }
    ;

block: '{' statements '}' { $$ = make_block(parser, @$, @3, $2); } ;
statements
    : %empty               { $$ = (struct ast_statement_list){0}; }
    | statements statement { $$ = $1; add_statement(parser, @2, &$$, $2); }
    ;
statement
    : block
    | LET names '=' expr_list ';'
        { $$ = make_statement(parser, @$, STATEMENT_LET); $$->names = $2; $$->values = $4; }
    | LET name_at ':' type '=' expr ';'
        {
            $$ = make_statement(parser, @$, STATEMENT_LET);
            PUSH($$->names, $2);
            $$->type = $4;
            PUSH($$->values, $6);
        }
    | VAR names '=' expr_list ';'
        { $$ = make_statement(parser, @$, STATEMENT_VAR); $$->names = $2; $$->values = $4; }
    | VAR name_at ':' type '=' expr ';'
        {
            $$ = make_statement(parser, @$, STATEMENT_VAR);
            PUSH($$->names, $2);
            $$->type = $4;
            PUSH($$->values, $6);
        }
    | places assign expr_list ';'       /* all of the right side first: a, b = b, a swaps */
        { $$ = make_assignment(parser, @$, @2, $1, $2, $3); }
    | named ';'                         /* a call with an effect */
        { $$ = make_effect(parser, @$, $1); }
    | named INCREMENT ';'
        {
            struct diagnostic *d = parser_report(parser, DIAGNOSTIC_E0113, @2, "there is no `%s%s`",
                                                 ast_operator_spelling($2), ast_operator_spelling($2));
            parser_fixit(parser, d, @2, FIXIT_CERTAIN, $2 == OPERATOR_ADD ? " += 1" : " -= 1");
            (void)$1;
            $$ = NULL;
        }
    | INCREMENT named ';'
        {
            struct diagnostic *d = parser_report(parser, DIAGNOSTIC_E0113, @1, "there is no `%s%s`",
                                                 ast_operator_spelling($1), ast_operator_spelling($1));
            parser_fixit(parser, d, @1, FIXIT_CERTAIN, "");
            struct text_range end = @2;
            end.column = end.end_column;
            end.line = end.end_line;
            end.offset = end.end_offset;
            parser_fixit(parser, d, end, FIXIT_CERTAIN, $1 == OPERATOR_ADD ? " += 1" : " -= 1");
            (void)$2;
            $$ = NULL;
        }
    | IF '(' expr ')' statement %prec THEN
        {
            $$ = make_statement(parser, @$, STATEMENT_IF);
            $$->condition = $3;
            set_inner(parser, @$, $$, $5, NULL);
        }
    | IF '(' expr ')' statement ELSE statement
        {
            $$ = make_statement(parser, @$, STATEMENT_IF);
            $$->condition = $3;
            set_inner(parser, @$, $$, $5, $7);
        }
    | FOR name_at IN range statement
        {
            $$ = make_statement(parser, @$, STATEMENT_FOR);
            PUSH($$->names, $2);
            $$->range = $4;
            set_inner(parser, @$, $$, $5, NULL);
        }
    | STATIC FOR name_at IN range statement
        {
            $$ = make_statement(parser, @$, STATEMENT_FOR);
            $$->is_static = true;
            PUSH($$->names, $3);
            $$->range = $5;
            set_inner(parser, @$, $$, $6, NULL);
        }
    | WHILE '(' expr ')' statement
        {
            $$ = make_statement(parser, @$, STATEMENT_WHILE);
            $$->condition = $3;
            set_inner(parser, @$, $$, $5, NULL);
        }
    | BREAK ';'             { $$ = make_statement(parser, @$, STATEMENT_BREAK); }
    | CONTINUE ';'          { $$ = make_statement(parser, @$, STATEMENT_CONTINUE); }
    | RETURN ';'            { $$ = make_statement(parser, @$, STATEMENT_RETURN); }
    | RETURN expr_list ';'  { $$ = make_statement(parser, @$, STATEMENT_RETURN); $$->values = $2; }
    | error SYNC            { $$ = NULL; yyerrok; }
    ;
names
    : name_at           { $$ = (struct ast_name_list){0}; PUSH($$, $1); }
    | names ',' name_at { $$ = $1; PUSH($$, $3); }
    ;
places
    : named            { $$ = (struct ast_expression_list){0}; PUSH($$, $1); }
    | places ',' named { $$ = $1; PUSH($$, $3); }
    ;
assign
    : '='   { $$ = OPERATOR_NONE; }
    | ADD_A { $$ = OPERATOR_ADD; }
    | SUB_A { $$ = OPERATOR_SUBTRACT; }
    | MUL_A { $$ = OPERATOR_MULTIPLY; }
    | DIV_A { $$ = OPERATOR_DIVIDE; }
    | MOD_A { $$ = OPERATOR_REMAINDER; }
    | AND_A { $$ = OPERATOR_BIT_AND; }
    | OR_A  { $$ = OPERATOR_BIT_OR; }
    | XOR_A { $$ = OPERATOR_BIT_XOR; }
    | SHL_A { $$ = OPERATOR_SHIFT_LEFT; }
    | SHR_A { $$ = OPERATOR_SHIFT_RIGHT; }
    ;

expr
    : or_expr
    | or_expr '?' expr ':' expr { $$ = make_conditional(parser, @$, @2, $1, $3, $5); }
    ;
or_expr
    : and_expr
    | or_expr OR and_expr { $$ = make_binary(parser, @$, @2, OPERATOR_OR, $1, $3); }
    ;
and_expr
    : not_expr
    | and_expr AND not_expr { $$ = make_binary(parser, @$, @2, OPERATOR_AND, $1, $3); }
    ;
not_expr
    : comparison
    | NOT not_expr { $$ = make_unary(parser, @$, @1, OPERATOR_NOT, $2); }
    ;
comparison
    : arith
    | arith compare arith { $$ = make_binary(parser, @$, @2, $2, $1, $3); }
    ;
compare
    : EQ  { $$ = OPERATOR_EQUAL; }
    | NE  { $$ = OPERATOR_NOT_EQUAL; }
    | '<' { $$ = OPERATOR_LESS; }
    | '>' { $$ = OPERATOR_GREATER; }
    | LE  { $$ = OPERATOR_LESS_EQUAL; }
    | GE  { $$ = OPERATOR_GREATER_EQUAL; }
    ;
arith
    : postfix
    | arith '|' arith { $$ = make_binary(parser, @$, @2, OPERATOR_BIT_OR, $1, $3); }
    | arith '^' arith { $$ = make_binary(parser, @$, @2, OPERATOR_BIT_XOR, $1, $3); }
    | arith '&' arith { $$ = make_binary(parser, @$, @2, OPERATOR_BIT_AND, $1, $3); }
    | arith SHL arith { $$ = make_binary(parser, @$, @2, OPERATOR_SHIFT_LEFT, $1, $3); }
    | arith SHR arith { $$ = make_binary(parser, @$, @2, OPERATOR_SHIFT_RIGHT, $1, $3); }
    | arith '+' arith { $$ = make_binary(parser, @$, @2, OPERATOR_ADD, $1, $3); }
    | arith '-' arith { $$ = make_binary(parser, @$, @2, OPERATOR_SUBTRACT, $1, $3); }
    | arith '*' arith { $$ = make_binary(parser, @$, @2, OPERATOR_MULTIPLY, $1, $3); }
    | arith '/' arith { $$ = make_binary(parser, @$, @2, OPERATOR_DIVIDE, $1, $3); }
    | arith '%' arith { $$ = make_binary(parser, @$, @2, OPERATOR_REMAINDER, $1, $3); }
    | arith '@' arith { $$ = make_binary(parser, @$, @2, OPERATOR_MATRIX_MULTIPLY, $1, $3); }
    | '-' arith %prec UNARY { $$ = make_unary(parser, @$, @1, OPERATOR_NEGATE, $2); }
    | '~' arith %prec UNARY { $$ = make_unary(parser, @$, @1, OPERATOR_BIT_NOT, $2); }
    ;
postfix: named | unnamed ;
named
    : name          { $$ = make_name(parser, @$, $1.text); }
    | named suffix  { $$ = make_suffixed(parser, @$, $1, $2); }
    ;
unnamed
    : literal
    | TYPE          { $$ = make_scalar_type(parser, @$, $1); }
    | '(' expr ')'  { $$ = $2; $$->parenthesized = true; $$->at = parser_place(parser, @$); }
    | '(' expr ',' expr_list ')'
        {
            struct ast_expression_list elements = {0};
            PUSH(elements, $2);
            for (int i = 0; i < $4.count; i++) PUSH(elements, $4.data[i]);
            $$ = make_elements(parser, @$, EXPRESSION_TUPLE, elements);
        }
    | '[' expr_list ']' { $$ = make_elements(parser, @$, EXPRESSION_LIST, $2); }
    | unnamed suffix    { $$ = make_suffixed(parser, @$, $1, $2); }
    ;
literal: INT | REAL | STRING ;
suffix
    : '[' indexes ']'   { $$ = make_index_suffix(parser, @$, $2); }
    | '(' arguments ')' { $$ = make_call_suffix(parser, @$, $2); }
    | '.' name          { $$ = make_member_suffix(parser, @2, $2.text); }
    | ARROW name
        {
            struct diagnostic *d = parser_report(parser, DIAGNOSTIC_E0118, @1,
                                                 "members are selected with `.`, not `->`");
            parser_fixit(parser, d, @1, FIXIT_CERTAIN, ".");
            $$ = make_member_suffix(parser, @2, $2.text);
        }
    ;
indexes
    : index             { $$ = (struct ast_index_list){0}; PUSH($$, $1); }
    | indexes ',' index { $$ = $1; PUSH($$, $3); }
    ;
index
    : expr                                  /* an integer drops the dimension, an integer tile gathers */
        { $$ = make_index(parser, @$, INDEX_EXPRESSION, $1, NULL); }
    | arith SLICE arith                     /* B elements from i */
        { $$ = make_index(parser, @$, INDEX_SLICE, $1, $3); }
    | ':'           { $$ = make_index(parser, @$, INDEX_ALL, NULL, NULL); }     /* a whole compile-time extent */
    | NONE          { $$ = make_index(parser, @$, INDEX_NEW, NULL, NULL); }     /* a new extent of 1 */
    | arith DOTDOT arith { $$ = make_index(parser, @$, INDEX_RANGE, $1, $3); }  /* sub-view */
    | arith DOTDOT  { $$ = make_index(parser, @$, INDEX_RANGE, $1, NULL); }
    | DOTDOT arith  { $$ = make_index(parser, @$, INDEX_RANGE, NULL, $2); }
    | DOTDOT        { $$ = make_index(parser, @$, INDEX_RANGE, NULL, NULL); }
    ;
arguments
    : %empty              { $$ = (struct ast_argument_list){0}; }
    | argument_list comma { $$ = $1; }
    ;
argument_list
    : argument                   { $$ = (struct ast_argument_list){0}; PUSH($$, $1); }
    | argument_list ',' argument { $$ = $1; PUSH($$, $3); }
    ;
argument
    : expr              { $$ = make_argument(parser, @$, (struct ast_name){0}, $1); }
    | name_at '=' expr  { $$ = make_argument(parser, @$, $1, $3); }
    | ELSE '=' expr     /* asm: what stands for the text elsewhere */
        { $$ = make_argument(parser, @$, (struct ast_name){"else", parser_place(parser, @1)}, $3); }
    ;
expr_list
    : expr               { $$ = (struct ast_expression_list){0}; PUSH($$, $1); }
    | expr_list ',' expr { $$ = $1; PUSH($$, $3); }
    ;
%%
int token_stream_next(union TILE_STYPE *value, struct text_range *at, struct parser *parser);

static int tile_lex(union TILE_STYPE *value, struct text_range *at, struct parser *parser) {
    return token_stream_next(value, at, parser);
}

/* Bison calls it for one thing only here: its stack is at its limit (YYMAXDEPTH), or there is no memory to grow it. */
static void tile_error(const struct text_range *at, struct parser *parser, const char *text) {
    (void)text;
    parser_stop_too_deep(parser, *at);
}

static int yyreport_syntax_error(const yypcontext_t *context, struct parser *parser) {
    yysymbol_kind_t kinds[YYNTOKENS];
    const char *names[YYNTOKENS];
    if (parser->stopped) return 0;
    int count = yypcontext_expected_tokens(context, kinds, YYNTOKENS);
    if (count < 0) return count;
    for (int i = 0; i < count; i++) names[i] = yysymbol_name(kinds[i]);
    syntax_error_report(parser, names, count);
    return 0;
}

void grammar_run(struct parser *parser) {
    tile_parse(parser);
}
