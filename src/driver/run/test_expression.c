/* Expressions of a test block: on tensors of the host, in f64. */
#include "driver/run/test_walk.h"

#include <math.h>
#include <string.h>

struct test_value test_of(struct tensor *tensor, struct location at)
{
    return (struct test_value){.kind = tensor ? TEST_TENSOR : TEST_NOTHING, .at = at, .tensor = tensor};
}

const char *test_describe(struct test_walk *t, struct test_value v)
{
    struct buffer out = {0};
    switch (v.kind) {
    case TEST_NOTHING: buffer_puts(&out, "nothing"); break;
    case TEST_TENSOR:
        buffer_puts(&out, ir_element_info[v.tensor->element].text);
        if (v.tensor->rank)
            tensor_put_list(&out, v.tensor->rank, v.tensor->extent);
        break;
    case TEST_TYPE: buffer_printf(&out, "the type %s", ir_element_info[v.element].text); break;
    case TEST_TUPLE: buffer_printf(&out, "a tuple of %d", v.count); break;
    case TEST_STRUCT: buffer_printf(&out, "a struct `%s`", v.global->name); break;
    case TEST_TEXT: buffer_puts(&out, "a text"); break;
    case TEST_NULL: buffer_puts(&out, "null"); break;
    case TEST_GLOBAL: buffer_printf(&out, "`%s`", v.global->name); break;
    }
    const char *kept = arena_string(t->arena, out.data);
    buffer_free(&out);
    return kept;
}

struct tensor *test_tensor(struct test_walk *t, const struct ast_expression *x)
{
    struct test_value v = test_evaluate(t, x);
    if (v.kind == TEST_TENSOR || t->stopped)
        return v.tensor;
    test_stop(t, x->at, "a tensor or number is needed here, not %s", test_describe(t, v));
    return NULL;
}

bool test_number(struct test_walk *t, const struct ast_expression *x, double *number)
{
    struct tensor *v = test_tensor(t, x);
    if (v && v->rank)
        test_stop(t, x->at, "a number is needed here, not %s", test_describe(t, test_of(v, x->at)));
    if (v && !v->rank)
        *number = v->data[0];
    return v && !v->rank;
}

static bool extent_of(struct test_walk *t, const struct ast_expression *x, int64_t *extent)
{
    double number;
    if (!test_number(t, x, &number))
        return false;
    *extent = (int64_t)number;
    if (number >= 0 && number <= 1 << 26 && number == floor(number))
        return true;
    test_stop(t, x->at, "an extent is an integer from 0 to 2^26, not %g", number);
    return false;
}

/* ---- operators ---- */

static double integers(enum ast_operator operation, double a, double b)
{
    int64_t x = (int64_t)a, y = (int64_t)b;
    switch (operation) {
    case OPERATOR_DIVIDE: return y == 0 ? 0 : trunc(a / b);
    case OPERATOR_REMAINDER: return y == 0 ? a : fmod(a, b);
    case OPERATOR_BIT_AND: return (double)(x & y);
    case OPERATOR_BIT_OR: return (double)(x | y);
    case OPERATOR_BIT_XOR: return (double)(x ^ y);
    case OPERATOR_SHIFT_LEFT: return y < 0 || y > 62 ? 0 : (double)(int64_t)((uint64_t)x << y);
    case OPERATOR_SHIFT_RIGHT: return (double)(x >> (y < 0 || y > 63 ? 63 : y));
    default: return NAN;
    }
}

static double compute(enum ast_operator operation, bool whole, double a, double b)
{
    switch (operation) {
    case OPERATOR_ADD: return a + b;
    case OPERATOR_SUBTRACT: return a - b;
    case OPERATOR_MULTIPLY: return a * b;
    case OPERATOR_EQUAL: return a == b;
    case OPERATOR_NOT_EQUAL: return a != b;
    case OPERATOR_LESS: return a < b;
    case OPERATOR_GREATER: return a > b;
    case OPERATOR_LESS_EQUAL: return a <= b;
    case OPERATOR_GREATER_EQUAL: return a >= b;
    case OPERATOR_AND: return a != 0 && b != 0;
    case OPERATOR_OR: return a != 0 || b != 0;
    case OPERATOR_DIVIDE: return whole ? integers(operation, a, b) : a / b;
    case OPERATOR_REMAINDER: return whole ? integers(operation, a, b) : fmod(a, b);
    default: return integers(operation, a, b);
    }
}

/* How a tensor of fewer dimensions is made to go with one of more. */
static const char *shape_advice(const struct tensor *a, const struct tensor *b)
{
    const struct tensor *wide = a->rank > b->rank ? a : b, *flat = a->rank > b->rank ? b : a;
    if (wide->rank == flat->rank || !flat->rank)
        return "; extents are equal or 1";
    bool column = wide->rank == 2 && flat->rank == 1 && wide->extent[1] != flat->extent[0] &&
                  wide->extent[0] == flat->extent[0];
    return column ? "; ranks must be equal, so give the smaller one extents of 1 with `None`, as in `v[:, None]`"
                  : "; ranks must be equal, so give the smaller one extents of 1 with `None`, as in `v[None, :]`";
}

struct test_value test_binary(struct test_walk *t, enum ast_operator operation, struct tensor *a, struct tensor *b,
                              struct location at)
{
    int64_t extent[IR_MAX_RANK];
    int rank;
    if (!a || !b)
        return (struct test_value){.kind = TEST_NOTHING, .at = at};
    if (operation == OPERATOR_MATRIX_MULTIPLY) {
        struct tensor *c = tensor_product(t->arena, a, b);
        return c ? test_of(c, at)
                 : test_stop(t, at, "`@` does not take %s and %s", test_describe(t, test_of(a, at)),
                             test_describe(t, test_of(b, at)));
    }
    if (!tensor_meet(a, b, &rank, extent))
        return test_stop(t, at, "`%s`: the shapes of %s and %s do not go together%s", ast_operator_spelling(operation),
                         test_describe(t, test_of(a, at)), test_describe(t, test_of(b, at)), shape_advice(a, b));
    bool whole = !ir_is_float(a->element) && !ir_is_float(b->element);
    bool bits = operation >= OPERATOR_BIT_OR && operation <= OPERATOR_SHIFT_RIGHT;
    if (bits && !whole)
        return test_stop(t, at, "`%s` is for integers", ast_operator_spelling(operation));
    bool truth = operation == OPERATOR_AND || operation == OPERATOR_OR ||
                 (operation >= OPERATOR_EQUAL && operation <= OPERATOR_GREATER_EQUAL) ||
                 (bits && a->element == IR_BOOL && b->element == IR_BOOL);
    struct tensor *x = tensor_stretch(t->arena, a, rank, extent), *y = tensor_stretch(t->arena, b, rank, extent);
    struct tensor *z = tensor_make(t->arena, truth ? IR_BOOL : whole ? IR_I64 : IR_F64, rank, extent);
    for (int64_t i = 0; i < z->count; i++)
        z->data[i] = compute(operation, whole, x->data[i], y->data[i]);
    return test_of(z, at);
}

static struct test_value unary(struct test_walk *t, const struct ast_expression *x)
{
    struct tensor *a = test_tensor(t, x->left);
    if (!a)
        return (struct test_value){.kind = TEST_NOTHING, .at = x->at};
    bool is_not = x->operation == OPERATOR_NOT || (x->operation == OPERATOR_BIT_NOT && a->element == IR_BOOL);
    struct tensor *y = tensor_make(t->arena,
                                   is_not                    ? IR_BOOL
                                   : ir_is_float(a->element) ? IR_F64
                                                             : IR_I64,
                                   a->rank, a->extent);
    for (int64_t i = 0; i < y->count; i++)
        y->data[i] = is_not ? a->data[i] == 0 : x->operation == OPERATOR_NEGATE ? -a->data[i] : -a->data[i] - 1;
    return test_of(y, x->at);
}

static struct test_value logical(struct test_walk *t, const struct ast_expression *x)
{
    struct tensor *a = test_tensor(t, x->left);
    if (a && !a->rank && (a->data[0] != 0) == (x->operation == OPERATOR_OR))
        return test_of(tensor_scalar(t->arena, IR_BOOL, x->operation == OPERATOR_OR), x->at);
    return test_binary(t, x->operation, a, a ? test_tensor(t, x->right) : NULL, x->at);
}

/* ---- names ---- */

static struct test_value of_constant(struct test_walk *t, struct value v, struct location at)
{
    struct test_value result = {.kind = TEST_NOTHING, .at = at};
    switch (v.kind) {
    case VALUE_INTEGER:
    case VALUE_ENUMERATOR: return test_of(tensor_scalar(t->arena, IR_I64, (double)v.integer), at);
    case VALUE_REAL: return test_of(tensor_scalar(t->arena, IR_F64, v.real.number), at);
    case VALUE_BOOL: return test_of(tensor_scalar(t->arena, IR_BOOL, v.truth), at);
    case VALUE_ERROR: t->stopped = true; return result;
    default: return test_stop(t, at, "a test has no use for this constant");
    }
}

static struct test_value of_global(struct test_walk *t, struct global *global, struct location at)
{
    if (global->declaration->kind == DECLARATION_CONST)
        return of_constant(t, declare_value(t->front, global, at), at);
    return (struct test_value){.kind = TEST_GLOBAL, .at = at, .global = global};
}

struct test_name *test_find(const struct test_walk *t, const char *name)
{
    for (struct test_name *n = t->names; n; n = n->before)
        if (n->name == name)
            return n;
    return NULL;
}

static struct test_value name(struct test_walk *t, const struct ast_expression *x)
{
    static const struct {
        const char *name;
        enum ir_element element;
        double value;
    } words[] = {{"true", IR_BOOL, 1}, {"false", IR_BOOL, 0}, {"inf", IR_F64, INFINITY}, {"nan", IR_F64, (double)NAN}};
    struct global *other = NULL;
    struct test_name *own = test_find(t, x->name);
    if (own)
        return own->value;
    struct global *global = declare_find(t->front, t->file, x->name, &other);
    if (!global)
        global = declare_find_kernel(t->file, x->name);
    if (global)
        return of_global(t, global, x->at);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(x->name, words[i].name) == 0)
            return test_of(tensor_scalar(t->arena, words[i].element, words[i].value), x->at);
    if (strcmp(x->name, "null") == 0)
        return (struct test_value){.kind = TEST_NULL, .at = x->at};
    return test_stop(t, x->at, "`%s` is not known in this test", x->name);
}

static struct test_value member(struct test_walk *t, const struct ast_expression *x)
{
    struct test_value base = test_evaluate(t, x->base);
    if (t->stopped)
        return base;
    const struct ast_declaration *d = base.global ? base.global->declaration : NULL;
    if (base.kind == TEST_GLOBAL && d->kind == DECLARATION_ENUM) {
        struct value type = declare_value(t->front, base.global, x->at);
        const int64_t *number = type.kind == VALUE_TYPE ? name_table_find(&type.type->enumeration->places, x->name)
                                                        : NULL;
        if (number)
            return test_of(tensor_scalar(t->arena, IR_I64, (double)*number), x->at);
    }
    for (int i = 0; base.kind == TEST_STRUCT && i < base.count; i++)
        if (d->fields.data[i]->name.text == x->name)
            return base.list[i];
    if (base.kind == TEST_TENSOR && strcmp(x->name, "extent") == 0) {
        int64_t rank = base.tensor->rank;
        struct tensor *all = tensor_make(t->arena, IR_I64, 1, &rank);
        for (int64_t i = 0; i < rank; i++)
            all->data[i] = (double)base.tensor->extent[i];
        return test_of(all, x->at);
    }
    return test_stop(t, x->operator_at, "%s has no member `%s`", test_describe(t, base), x->name);
}

/* ---- indexes ---- */

/* Start, length and whether the dimension goes; false: reported. */
static bool read_index(struct test_walk *t, const struct ast_index *index, int64_t extent, int64_t *start,
                       int64_t *length)
{
    double from = 0, to = (double)extent;
    if (index->value && !test_number(t, index->value, &from))
        return false;
    if (index->kind == INDEX_SLICE && (!test_number(t, index->size, &to)))
        return false;
    if (index->kind == INDEX_RANGE && index->end && !test_number(t, index->end, &to))
        return false;
    *start = (int64_t)from;
    *length = index->kind == INDEX_EXPRESSION ? 1 : index->kind == INDEX_SLICE ? (int64_t)to : (int64_t)to - *start;
    if (*start >= 0 && *length >= 0 && *start + *length <= extent)
        return true;
    test_stop(t, index->at, "this reaches outside of an extent of %lld", (long long)extent);
    return false;
}

static struct test_value index_tensor(struct test_walk *t, const struct tensor *x, const struct ast_expression *e)
{
    int64_t start[IR_MAX_RANK], length[IR_MAX_RANK], extent[IR_MAX_RANK], index[IR_MAX_RANK], inner[IR_MAX_RANK];
    int rank = 0, from = 0;
    for (int i = 0; i < e->indexes.count; i++) {
        const struct ast_index *item = e->indexes.data[i];
        if (item->kind == INDEX_NEW && rank < IR_MAX_RANK) {
            extent[rank++] = 1;
            continue;
        }
        if (from == x->rank)
            return test_stop(t, e->at, "more indexes than the %d dimensions", x->rank);
        if (!read_index(t, item, x->extent[from], &start[from], &length[from]))
            return (struct test_value){.kind = TEST_NOTHING, .at = e->at};
        if (item->kind != INDEX_EXPRESSION)
            extent[rank++] = length[from];
        from++;
    }
    if (from < x->rank)
        return test_stop(t, e->at, "%d indexes for %d dimensions", from, x->rank);
    struct tensor *y = tensor_make(t->arena, x->element, rank, extent);
    y->typed = x->typed;
    for (int64_t k = 0; k < y->count; k++) {
        int at = 0, old = 0;
        tensor_place(y, k, index);
        for (int i = 0; i < e->indexes.count; i++) {
            if (e->indexes.data[i]->kind == INDEX_NEW) {
                at++;
                continue;
            }
            inner[old] = start[old] + (e->indexes.data[i]->kind == INDEX_EXPRESSION ? 0 : index[at++]);
            old++;
        }
        int64_t number = 0;
        for (int d = 0; d < x->rank; d++)
            number = number * x->extent[d] + inner[d];
        y->data[k] = x->data[number];
    }
    return test_of(y, e->at);
}

static struct test_value indexed(struct test_walk *t, const struct ast_expression *x)
{
    struct test_value base = test_evaluate(t, x->base);
    if (t->stopped)
        return base;
    if (base.kind == TEST_TENSOR)
        return index_tensor(t, base.tensor, x);
    if (base.kind != TEST_TYPE || base.rank >= 0 || x->indexes.count > IR_MAX_RANK)
        return test_stop(t, x->at, "%s is not indexed", test_describe(t, base));
    base.rank = x->indexes.count;
    for (int i = 0; i < base.rank; i++)
        if (x->indexes.data[i]->kind != INDEX_EXPRESSION || !extent_of(t, x->indexes.data[i]->value, &base.extent[i]))
            return t->stopped ? base : test_stop(t, x->at, "a type takes extents");
    base.at = x->at;
    return base;
}

/* ---- lists and calls ---- */

/* [a, b] of tensors of one shape: a new first dimension. */
static struct test_value list(struct test_walk *t, const struct ast_expression *x)
{
    struct tensor *all = NULL;
    for (int i = 0; i < x->elements.count; i++) {
        struct tensor *part = test_tensor(t, x->elements.data[i]);
        if (!part)
            return (struct test_value){.kind = TEST_NOTHING, .at = x->at};
        if (!all) {
            int64_t extent[IR_MAX_RANK] = {x->elements.count};
            if (part->rank + 1 >= IR_MAX_RANK)
                return test_stop(t, x->at, "a list nests too deep");
            memcpy(extent + 1, part->extent, sizeof *extent * (size_t)part->rank);
            all = tensor_make(t->arena, part->element, part->rank + 1, extent);
        }
        if (part->count * x->elements.count != all->count || part->rank + 1 != all->rank)
            return test_stop(t, x->elements.data[i]->at, "the members of a list have one shape");
        if (ir_is_float(part->element))
            all->element = IR_F64;
        memcpy(all->data + i * part->count, part->data, sizeof *part->data * (size_t)part->count);
    }
    return test_of(all, x->at);
}

static struct test_value tuple(struct test_walk *t, const struct ast_expression *x)
{
    struct test_value all = {.kind = TEST_TUPLE, .at = x->at, .count = x->elements.count};
    all.list = ARENA_ARRAY(t->arena, struct test_value, all.count);
    for (int i = 0; i < all.count && !t->stopped; i++)
        all.list[i] = test_evaluate(t, x->elements.data[i]);
    return all;
}

static struct test_value construct(struct test_walk *t, struct test_value type, const struct ast_expression *x)
{
    const struct ast_expression *given = test_argument(x, NULL, 0);
    struct tensor *from = given ? test_tensor(t, given) : NULL;
    if (t->stopped)
        return type;
    if (!from || x->arguments.count != 1)
        return test_stop(t, x->at, "a type takes one value");
    struct tensor *made = tensor_convert(t->arena, type.element, from);
    if (type.rank >= 0)
        made = tensor_stretch(t->arena, made, type.rank, type.extent);
    return made ? test_of(made, x->at)
                : test_stop(t, x->at, "%s does not stretch to these extents", test_describe(t, test_of(from, x->at)));
}

static struct test_value make_struct(struct test_walk *t, struct global *global, const struct ast_expression *x)
{
    const struct ast_declaration *d = global->declaration;
    struct test_value v = {.kind = TEST_STRUCT, .at = x->at, .global = global, .count = d->fields.count};
    v.list = ARENA_ARRAY(t->arena, struct test_value, v.count);
    for (int i = 0; i < v.count && !t->stopped; i++) {
        const struct ast_expression *given = test_argument(x, d->fields.data[i]->name.text, i);
        if (!given)
            return test_stop(t, x->at, "`%s` needs a value for its member `%s`", global->name,
                             d->fields.data[i]->name.text);
        v.list[i] = test_evaluate(t, given);
    }
    return v;
}

static struct test_value call(struct test_walk *t, const struct ast_expression *x)
{
    if (x->base->kind == EXPRESSION_NAME && !test_find(t, x->base->name) && test_is_builtin(x->base->name))
        return test_call_builtin(t, x);
    struct test_value callee = test_evaluate(t, x->base);
    if (t->stopped)
        return callee;
    if (callee.kind == TEST_TYPE)
        return construct(t, callee, x);
    if (callee.kind == TEST_GLOBAL)
        switch (callee.global->declaration->kind) {
        case DECLARATION_FN: return test_call_function(t, callee.global, x);
        case DECLARATION_KERNEL: return test_call_kernel(t, callee.global, x);
        case DECLARATION_STRUCT: return make_struct(t, callee.global, x);
        default: break;
        }
    return test_stop(t, x->at, "%s is not called", test_describe(t, callee));
}

/* A value takes a hundred bytes and stays until the test ends: more would take what the machine has before it is told. */
enum { MOST_STEPS = 20000000 };

struct test_value test_evaluate(struct test_walk *t, const struct ast_expression *x)
{
    double condition;
    struct test_value v = {.kind = TEST_NOTHING, .at = x->at};
    if (t->stopped)
        return v;
    if (++t->steps > MOST_STEPS)
        return test_stop(t, x->at, "this test does not end");
    switch (x->kind) {
    case EXPRESSION_NAME: return name(t, x);
    case EXPRESSION_SCALAR_TYPE:
        return (struct test_value){.kind = TEST_TYPE, .at = x->at, .element = (enum ir_element)x->scalar, .rank = -1};
    case EXPRESSION_INTEGER: return test_of(tensor_scalar(t->arena, IR_I64, (double)x->integer.value), x->at);
    case EXPRESSION_REAL: return test_of(tensor_scalar(t->arena, IR_F64, x->real.value), x->at);
    case EXPRESSION_STRING:
        v.kind = TEST_TEXT;
        v.text = x->string.data;
        return v;
    case EXPRESSION_TUPLE: return tuple(t, x);
    case EXPRESSION_LIST: return list(t, x);
    case EXPRESSION_UNARY: return unary(t, x);
    case EXPRESSION_BINARY:
        if (x->operation == OPERATOR_AND || x->operation == OPERATOR_OR)
            return logical(t, x);
        struct tensor *a = test_tensor(t, x->left);
        return test_binary(t, x->operation, a, a ? test_tensor(t, x->right) : NULL, x->at);
    case EXPRESSION_CONDITIONAL:
        return test_number(t, x->condition, &condition) ? test_evaluate(t, condition != 0 ? x->left : x->right) : v;
    case EXPRESSION_INDEX: return indexed(t, x);
    case EXPRESSION_CALL: return call(t, x);
    case EXPRESSION_MEMBER: return member(t, x);
    }
    return v;
}
