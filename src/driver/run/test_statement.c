/* Statements of a test block, functions that it calls, and the run over all tests of a file. */
#include "driver/driver.h"
#include "driver/run/test_walk.h"

#include <string.h>

enum { DEEPEST_CALL = 100 };

static struct diagnostic *report(struct test_walk *t, enum diagnostic_code code, struct location at, const char *text)
{
    if (!t->reason)
        t->reason = arena_substring(t->arena, text, strlen(text));
    return diag_report(t->diagnostics, code, at, "test \"%s\": %s", t->name, text);
}

struct diagnostic *test_fail(struct test_walk *t, struct location at, const char *text)
{
    t->failures++;
    return report(t, DIAGNOSTIC_E1301, at, text);
}

struct test_value test_stop(struct test_walk *t, struct location at, const char *format, ...)
{
    struct buffer text = {0};
    va_list arguments;
    va_start(arguments, format);
    buffer_vprintf(&text, format, arguments);
    va_end(arguments);
    if (!t->stopped)
        report(t, DIAGNOSTIC_E1302, at, text.data);
    buffer_free(&text);
    t->stopped = true;
    return (struct test_value){.kind = TEST_NOTHING, .at = at};
}

void test_bind(struct test_walk *t, const char *name, struct test_value value)
{
    struct test_name *n = ARENA_NEW(t->arena, struct test_name);
    *n = (struct test_name){name, value, t->names};
    t->names = n;
}

/* ---- statements ---- */

static void statement(struct test_walk *t, const struct ast_statement *s);

/* One value a name: of the list on the right, or of the tuple that stands there. */
static bool values_of(struct test_walk *t, const struct ast_statement *s, int count, struct test_value *values)
{
    struct test_value all = {.kind = TEST_NOTHING};
    for (int i = 0; i < count && s->values.count == count; i++)
        values[i] = test_evaluate(t, s->values.data[i]);
    if (s->values.count == 1 && count != 1) {
        all = test_evaluate(t, s->values.data[0]);
        for (int i = 0; all.kind == TEST_TUPLE && all.count == count && i < count; i++)
            values[i] = all.list[i];
    }
    bool fits = s->values.count == count || (all.kind == TEST_TUPLE && all.count == count);
    if (!fits && !t->stopped)
        test_stop(t, s->at, "%d names need %d values", count, count);
    return !t->stopped;
}

static void declare(struct test_walk *t, const struct ast_statement *s)
{
    struct test_value *values = ARENA_ARRAY(t->arena, struct test_value, s->names.count);
    if (!values_of(t, s, s->names.count, values))
        return;
    for (int i = 0; i < s->names.count; i++) {
        if (values[i].kind == TEST_NOTHING) {
            test_stop(t, s->at, "there is no value for `%s`", s->names.data[i].text);
            return;
        }
        test_bind(t, s->names.data[i].text, values[i]);
    }
}

static void assign(struct test_walk *t, const struct ast_statement *s)
{
    struct test_value *values = ARENA_ARRAY(t->arena, struct test_value, s->targets.count);
    if (!values_of(t, s, s->targets.count, values))
        return;
    for (int i = 0; i < s->targets.count; i++) {
        const struct ast_expression *target = s->targets.data[i];
        struct test_name *name = target->kind == EXPRESSION_NAME ? test_find(t, target->name) : NULL;
        if (!name) {
            test_stop(t, target->at, "a test assigns to its variables as a whole");
            return;
        }
        if (s->operation != OPERATOR_NONE && (name->value.kind != TEST_TENSOR || values[i].kind != TEST_TENSOR)) {
            test_stop(t, s->at, "`%s=` is for tensors", ast_operator_spelling(s->operation));
            return;
        }
        name->value = s->operation == OPERATOR_NONE
                          ? values[i]
                          : test_binary(t, s->operation, name->value.tensor, values[i].tensor, s->at);
    }
}

/* True: the loop ends. */
static bool leaves_loop(struct test_walk *t)
{
    if (t->stopped || (t->jumps && t->jump == STATEMENT_RETURN))
        return true;
    bool ends = t->jumps && t->jump == STATEMENT_BREAK;
    t->jumps = false;
    return ends;
}

static bool is_variable(const char *name, enum ast_use use, void *context)
{
    return use == AST_USE_CALLED || test_find(context, name) != NULL;
}

/* Whether no variable of the test is in it, as if it were known when compiling. */
static bool is_fixed(struct test_walk *t, const struct ast_expression *x)
{
    return !x || !ast_find_name(x, is_variable, t);
}

/* Whether a range advances: one that a kernel could not have is an error here, too, and one whose step only running tells
 * is empty where that is not forward (front/walk/loop.c). */
static bool advances(struct test_walk *t, const struct ast_range *range, double from, double to, double step)
{
    bool multiplies = range->step_multiplies, is_step_fixed = is_fixed(t, range->step);
    const char *wrong = NULL;
    if (is_step_fixed && (step == 0 || (multiplies && step < 2)))
        wrong = multiplies ? "a factor of a range is 2 or more" : "the step of a range is not 0";
    else if (multiplies && from < 1 && is_fixed(t, range->from))
        wrong = "a range whose step multiplies starts at 1 or more";
    if (wrong) {
        diag_report(t->diagnostics, DIAGNOSTIC_E0507, range->at, "%s", wrong);
        t->stopped = true;
        return false;
    }
    if (!is_step_fixed && step < (multiplies ? 2 : 1))
        return false;
    return multiplies ? from >= 1 && from < to : step > 0 ? from < to : from > to;
}

static void run_for(struct test_walk *t, const struct ast_statement *s)
{
    double from, to, step = 1;
    if (!test_number(t, s->range->from, &from) || !test_number(t, s->range->to, &to) ||
        (s->range->step && !test_number(t, s->range->step, &step)) || !advances(t, s->range, from, to, step))
        return;
    bool multiplies = s->range->step_multiplies;
    for (double i = from; (step > 0 ? i < to : i > to) && !t->stopped; i = multiplies ? i * step : i + step) {
        struct test_name *outer = t->names;
        test_bind(t, s->names.data[0].text, test_of(tensor_scalar(t->arena, IR_I64, i), s->at));
        statement(t, s->then);
        t->names = outer;
        if (leaves_loop(t))
            break;
    }
}

static void run_while(struct test_walk *t, const struct ast_statement *s)
{
    double condition;
    while (test_number(t, s->condition, &condition) && condition != 0) {
        statement(t, s->then);
        if (leaves_loop(t))
            break;
    }
}

static void run_return(struct test_walk *t, const struct ast_statement *s)
{
    struct test_value all = {.kind = TEST_TUPLE, .at = s->at, .count = s->values.count};
    all.list = ARENA_ARRAY(t->arena, struct test_value, all.count);
    for (int i = 0; i < all.count; i++)
        all.list[i] = test_evaluate(t, s->values.data[i]);
    t->result = all.count == 1 ? all.list[0] : all;
}

static void statement(struct test_walk *t, const struct ast_statement *s)
{
    double condition;
    if (t->stopped || t->jumps)
        return;
    switch (s->kind) {
    case STATEMENT_BLOCK: test_statements(t, &s->body); break;
    case STATEMENT_LET:
    case STATEMENT_VAR: declare(t, s); break;
    case STATEMENT_ASSIGN: assign(t, s); break;
    case STATEMENT_EXPRESSION: test_evaluate(t, s->value); break;
    case STATEMENT_IF:
        if (test_number(t, s->condition, &condition) && (condition != 0 || s->otherwise))
            statement(t, condition != 0 ? s->then : s->otherwise);
        break;
    case STATEMENT_FOR: run_for(t, s); break;
    case STATEMENT_WHILE: run_while(t, s); break;
    case STATEMENT_RETURN: run_return(t, s); /* fall through */
    case STATEMENT_BREAK:
    case STATEMENT_CONTINUE:
        t->jumps = true;
        t->jump = s->kind;
        break;
    case STATEMENT_MISSING: t->stopped = true; break;
    }
}

void test_statements(struct test_walk *t, const struct ast_statement_list *list)
{
    struct test_name *outer = t->names;
    for (int i = 0; i < list->count; i++)
        statement(t, list->data[i]);
    t->names = outer;
}

/* ---- functions ---- */

/* Generics and extents are what the argument has. */
static void bind_head(struct test_walk *t, const struct ast_type *type, struct test_value v)
{
    const struct ast_type *element = type && type->kind == TYPE_NODE_TILE ? type->target : type;
    if (v.kind != TEST_TENSOR || !element)
        return;
    if (element->kind == TYPE_NODE_NAME)
        test_bind(t, element->name.text,
                  (struct test_value){.kind = TEST_TYPE, .element = v.tensor->element, .rank = -1});
    for (int d = 0; type->kind == TYPE_NODE_TILE && d < type->extents.count && d < v.tensor->rank; d++)
        if (type->extents.data[d]->kind == EXPRESSION_NAME)
            test_bind(t, type->extents.data[d]->name,
                      test_of(tensor_scalar(t->arena, IR_I64, (double)v.tensor->extent[d]), v.at));
}

struct test_value test_call_function(struct test_walk *t, struct global *function, const struct ast_expression *call)
{
    const struct ast_declaration *d = function->declaration;
    struct test_value *given = ARENA_ARRAY(t->arena, struct test_value, d->parameters.count);
    for (int i = 0; i < d->parameters.count; i++) {
        const struct ast_expression *x = test_argument(call, d->parameters.data[i]->name.text, i);
        if (!x)
            return test_stop(t, call->at, "`%s` needs a value for `%s`", function->name,
                             d->parameters.data[i]->name.text);
        given[i] = test_evaluate(t, x);
    }
    if (t->stopped || ++t->depth > DEEPEST_CALL)
        return t->stopped ? test_of(NULL, call->at) : test_stop(t, call->at, "calls go too deep");
    struct test_name *outer = t->names;
    struct file_scope *file = t->file;
    t->names = NULL;
    t->file = function->file;
    for (int i = 0; i < d->parameters.count; i++) {
        bind_head(t, d->parameters.data[i]->type, given[i]);
        test_bind(t, d->parameters.data[i]->name.text, given[i]);
    }
    t->result = (struct test_value){.kind = TEST_NOTHING, .at = call->at};
    struct test_value result = d->value ? test_evaluate(t, d->value) : t->result;
    if (d->body) {
        test_statements(t, &d->body->body);
        result = t->result;
    }
    t->jumps = false;
    t->depth--;
    t->names = outer;
    t->file = file;
    return result;
}

/* ---- the run ---- */

enum exit_code test_run_all(struct compilation *compilation)
{
    struct front *front = compilation->read;
    const struct ast_file *file = front->main->file;
    int passed = 0, failed = 0;
    for (int i = 0; i < file->declarations.count; i++) {
        const struct ast_declaration *d = file->declarations.data[i];
        if (d->kind != DECLARATION_TEST)
            continue;
        struct test_walk t = {.front = front,
                              .module = compilation->module,
                              .arena = compilation->arena,
                              .diagnostics = compilation->diagnostics,
                              .name = d->path,
                              .file = front->main};
        test_statements(&t, &d->body->body);
        bool good = !t.stopped && !t.failures;
        passed += good;
        failed += !good;
        printf("%s %s (%d expectation%s)%s%s\n", good ? "ok  " : "FAIL", d->path, t.expectations,
               t.expectations == 1 ? "" : "s", t.reason ? ": " : "", t.reason ? t.reason : "");
    }
    printf("%s: %d test%s passed, %d failed\n", compilation->source->name, passed, passed == 1 ? "" : "s", failed);
    if (front->leaves_asserts && passed + failed)
        printf("%s: what kernels assert was not checked; --checks does\n", compilation->source->name);
    return failed ? EXIT_SOURCE : EXIT_OK;
}
