/* Grids beside places.  An index that is  c*g + ... + offset  in the names g of the grid moves by c from one instance to
 * the next; with the width of what is stored and the count of instances that says
 *   - that instances store the same elements: none of the indexes depends on g, or all move by less than is stored;
 *   - that elements lie between or behind all that is stored;
 *   - that most instances store nothing but what lies outside.
 * The lint looks only at views whose stores are all of this form and under no condition: an author who wrote an `if`, a
 * mask, an atomic or a sub-view knew more than can be seen here.  A store of one value by all instances is no mistake. */
#include "ir/facts/inside.h"
#include "ir/kernel_facts.h"
#include "ir/query.h"
#include "passes/lint/lint.h"

enum { MOST_STORES = 64, MOST_STEP = 4096 };

/* sum of moves[g] * index of g, + offset, + maybe a value that all instances have in common */
struct form {
    int64_t moves[IR_MAX_RANK];
    int64_t offset, width; /* of consecutive elements, those of loops included */
    bool same, known;      /* same: a common value is added; known: the form holds at all */
};
struct store {
    const struct ir_operation *op;
    struct form form[IR_MAX_RANK]; /* by dimension of the argument */
    const struct ir_value *value;
    /* Where an index is the variable of a loop and something else: the loop, and that with the width of the place. */
    const struct ir_operation *loop[IR_MAX_RANK];
    struct form beside[IR_MAX_RANK];
};
struct stores {
    const struct lint *lint;
    const struct ir_function *function;
    signed char *varies; /* by value id: 0 not asked, 1 no, 2 yes: whether instances compute other values */
    struct store list[MOST_STORES];
    int count;
    const struct ir_value *view; /* the argument */
    bool odd;                    /* a store of the view has a condition, or the like */
    bool unformed;               /* an index of one is not of the form */
};

/* ---- what instances have in common ---- */

static bool varies(struct stores *s, const struct ir_value *value, int64_t dimension);

/* An operand of the operation, or of one inside it. */
static bool operands_vary(struct stores *s, const struct ir_operation *op, int64_t dimension)
{
    if (op->opcode == OP_GRID_INDEX)
        return dimension < 0 || ir_number(op, IR_ATTRIBUTE_DIMENSION, 0) == dimension;
    if (ir_has_trait(op, IR_TRAIT_ATOMIC))
        return true;
    for (int i = 0; i < op->operand_count; i++)
        if (varies(s, op->operands[i], dimension))
            return true;
    for (int r = 0; r < op->region_count; r++)
        for (const struct ir_operation *inner = op->regions[r]->first; inner; inner = inner->next)
            if (operands_vary(s, inner, dimension))
                return true;
    return false;
}

/* Whether it is computed from the index along a dimension of the grid, or -1: any, or from what atomics give.  What is
 * being asked already is answered by whoever asked first. */
static bool varies(struct stores *s, const struct ir_value *value, int64_t dimension)
{
    const struct ir_operation *op = value->definition ? value->definition : value->block->parent;
    if (!op)
        return false;
    signed char *known = &s->varies[value->id * (IR_MAX_RANK + 1) + (int)dimension + 1];
    if (*known)
        return *known == 2;
    *known = 1;
    if (operands_vary(s, op, dimension))
        *known = 2;
    return *known == 2;
}

/* ---- forms ---- */

static struct form form_of(struct stores *s, const struct ir_value *value);

static struct form number(int64_t n) { return (struct form){.offset = n, .width = 1, .known = true}; }

static struct form add(struct form a, struct form b, int64_t sign)
{
    struct form sum = {.width = a.width + b.width - 1, .same = a.same || b.same, .known = a.known && b.known};
    bool wraps = b.width > 1 && sign < 0;
    for (int g = 0; g < IR_MAX_RANK; g++) {
        wraps = __builtin_mul_overflow(b.moves[g], sign, &sum.moves[g]) || wraps;
        wraps = __builtin_add_overflow(sum.moves[g], a.moves[g], &sum.moves[g]) || wraps;
    }
    wraps = __builtin_mul_overflow(b.offset, sign, &sum.offset) || wraps;
    wraps = __builtin_add_overflow(sum.offset, a.offset, &sum.offset) || wraps;
    sum.known = sum.known && !wraps;
    return sum;
}

static bool is_number(struct form f)
{
    for (int g = 0; g < IR_MAX_RANK; g++)
        if (f.moves[g])
            return false;
    return f.known && !f.same && f.width == 1;
}

static struct form multiply(struct form a, struct form b)
{
    struct form of = is_number(a) ? b : a, by = is_number(a) ? a : b, product = number(0);
    product.same = of.same;
    product.known = of.known && is_number(by) && (of.width == 1 || by.offset == 1);
    product.width = of.width;
    for (int g = 0; g < IR_MAX_RANK; g++)
        product.known = !__builtin_mul_overflow(of.moves[g], by.offset, &product.moves[g]) && product.known;
    product.known = !__builtin_mul_overflow(of.offset, by.offset, &product.offset) && product.known;
    return product;
}

/* The variable of a loop over numbers takes all of them in turn. */
static struct form variable_form(const struct ir_value *value)
{
    const struct ir_operation *loop = value->block->parent;
    int64_t from, to, step;
    struct form form = {0};
    if (!loop || loop->opcode != OP_FOR || value->index != 0 || ir_number(loop, IR_ATTRIBUTE_MULTIPLY, 0) ||
        !ir_constant_integer(loop->operands[0], &from) || !ir_constant_integer(loop->operands[1], &to) ||
        !ir_constant_integer(loop->operands[2], &step) || step != 1 || to <= from || to - from > INT32_MAX)
        return form;
    form = number(from);
    form.width = to - from;
    return form;
}

static struct form form_of(struct stores *s, const struct ir_value *value)
{
    const struct ir_operation *op = value->definition;
    int64_t n;
    if (ir_constant_integer(value, &n))
        return number(n);
    if (!op)
        return value->block->parent ? variable_form(value) : (struct form){.width = 1, .same = true, .known = true};
    switch (op->opcode) {
    case OP_GRID_INDEX: {
        struct form form = number(0);
        form.moves[ir_number(op, IR_ATTRIBUTE_DIMENSION, 0)] = 1;
        return form;
    }
    case OP_CAST: return form_of(s, op->operands[0]);
    case OP_ADD:
    case OP_SUB: {
        struct form sum = add(form_of(s, op->operands[0]), form_of(s, op->operands[1]), op->opcode == OP_ADD ? 1 : -1);
        if (sum.known)
            return sum;
        break;
    }
    case OP_MUL: {
        struct form product = multiply(form_of(s, op->operands[0]), form_of(s, op->operands[1]));
        if (product.known)
            return product;
        break;
    }
    default: break;
    }
    return (struct form){.width = 1, .same = true, .known = !varies(s, value, -1)};
}

/* variable + something, NULL: none such. */
static const struct ir_operation *loop_of(struct stores *s, const struct ir_value *index, struct form *beside)
{
    const struct ir_operation *op = index->definition;
    *beside = number(0);
    if (!op)
        return index->index == 0 && index->block->parent && index->block->parent->opcode == OP_FOR
                   ? index->block->parent
                   : NULL;
    for (int i = 0; op->opcode == OP_ADD && i < 2; i++) {
        const struct ir_operation *loop = loop_of(s, op->operands[i], beside);
        if (loop) {
            *beside = add(*beside, form_of(s, op->operands[1 - i]), 1);
            return loop;
        }
    }
    return NULL;
}

/* base + iota: consecutive elements. */
static bool gathered_form(struct stores *s, const struct ir_value *tile, struct form *form)
{
    const struct ir_operation *op = tile->definition;
    if (!op || tile->type->rank != 1)
        return false;
    if (op->opcode == OP_CAST)
        return gathered_form(s, op->operands[0], form);
    if (op->opcode == OP_IOTA) {
        *form = number(0);
        form->width = tile->type->extent[0];
        return true;
    }
    if (op->opcode != OP_ADD)
        return false;
    for (int i = 0; i < 2; i++) {
        const struct ir_operation *splat = op->operands[i]->definition;
        const struct ir_value *scalar = op->operands[i]->type->rank == 0     ? op->operands[i]
                                        : splat && splat->opcode == OP_SPLAT ? splat->operands[0]
                                                                             : NULL;
        struct form rest;
        if (!scalar || !gathered_form(s, op->operands[1 - i], &rest))
            continue;
        *form = add(form_of(s, scalar), rest, 1);
        return true;
    }
    return false;
}

/* ---- the stores of one view ---- */

static bool is_of_view(const struct ir_value *view, const struct ir_value *argument)
{
    while (view->definition && view->definition->operand_count && view->type->kind == IR_VIEW)
        view = view->definition->operands[0];
    return view == argument;
}

static bool is_unconditional(const struct ir_operation *op)
{
    for (const struct ir_block *block = op->block; block->parent; block = block->parent->block)
        if (block->parent->opcode != OP_FOR)
            return false;
    return true;
}

static void collect(struct ir_operation *op, void *context)
{
    struct stores *s = context;
    struct ir_access access;
    if (!ir_has_trait(op, IR_TRAIT_WRITE | IR_TRAIT_ATOMIC) || op->opcode == OP_ASSUME)
        return;
    if (op->opcode != OP_STORE && op->opcode != OP_ATOMIC && op->opcode != OP_ATOMIC_CAS) {
        s->odd = s->odd || op->opcode == OP_CALL;
        return;
    }
    if (!ir_access_of(op, &access) || !is_of_view(access.view, s->view))
        return;
    if (op->opcode != OP_STORE || access.mask || access.view != s->view || !is_unconditional(op) ||
        s->count == MOST_STORES) {
        s->odd = true;
        return;
    }
    struct store *store = &s->list[s->count++];
    *store = (struct store){.op = op, .value = access.value};
    for (int d = 0; d < access.rank; d++) {
        struct form *form = &store->form[d];
        if (access.place[d] == IR_GATHER && !gathered_form(s, access.index[d], form))
            form->known = false;
        else if (access.place[d] != IR_GATHER) {
            *form = form_of(s, access.index[d]);
            form->width += access.place[d] > 0 ? access.place[d] - 1 : 0;
            store->loop[d] = loop_of(s, access.index[d], &store->beside[d]);
            store->beside[d].width += access.place[d] > 0 ? access.place[d] - 1 : 0;
        }
        bool is_loop = !form->known && access.place[d] != IR_GATHER && access.index[d]->block->parent &&
                       !access.index[d]->definition && access.index[d]->index == 0;
        if (is_loop) { /* all of a dimension, by a loop that is the same for all */
            const struct ir_operation *loop = access.index[d]->block->parent;
            bool uniform = loop->opcode == OP_FOR && !varies(s, loop->operands[0], -1) &&
                           !varies(s, loop->operands[1], -1) && !varies(s, loop->operands[2], -1);
            *form = (struct form){.width = INT64_MAX, .same = true, .known = uniform};
        }
        s->unformed = s->unformed || !form->known;
    }
}

/* ---- mistakes ---- */

static const char *grid_name(const struct stores *s, int g) { return s->lint->entry->grid_names.data[g]; }

static struct diagnostic *report(const struct stores *s, enum diagnostic_code code, const struct ir_operation *op,
                                 const char *text)
{
    struct diagnostic *d = diag_report(s->lint->diagnostics, code, op->at, "%s", text);
    if (s->lint->instance)
        diag_instance(s->lint->diagnostics, d, s->lint->instance);
    return d;
}

/* Whether an element of `a`, `k` instances further along g, is one of `b`. */
static bool meet(const struct store *a, const struct store *b, int g, int64_t k, int rank)
{
    for (int d = 0; d < rank; d++) {
        const struct form *x = &a->form[d], *y = &b->form[d];
        if (x->width == INT64_MAX || y->width == INT64_MAX)
            continue;
        if (x->same != y->same || (a != b && x->same))
            return false; /* not compared */
        for (int h = 0; h < IR_MAX_RANK; h++)
            if (x->moves[h] != y->moves[h])
                return false;
        int64_t shift, from;
        if (__builtin_mul_overflow(k, x->moves[g], &shift) || __builtin_add_overflow(shift, x->offset, &from) ||
            __builtin_sub_overflow(from, y->offset, &from))
            return false;
        if (from >= y->width || from <= -x->width)
            return false;
    }
    return true;
}

static bool is_uniform(struct stores *s, const struct ir_value *value, int g)
{
    while (value->definition && (value->definition->opcode == OP_SPLAT || value->definition->opcode == OP_BROADCAST))
        value = value->definition->operands[0];
    return value->type->rank == 0 && !varies(s, value, g);
}

static bool moves_along(const struct stores *s, int g, int *dimension)
{
    for (int i = 0; i < s->count; i++)
        for (int d = 0; d < s->view->type->rank; d++)
            if (s->list[i].form[d].moves[g]) {
                *dimension = d;
                return true;
            }
    return false;
}

/* Instances that differ in g alone. */
static void check_overlap(struct stores *s, int g)
{
    int rank = s->view->type->rank, d = 0;
    if (s->function->grid_limit[g] == 1)
        return;
    if (!moves_along(s, g, &d)) {
        for (int i = 0; i < s->count; i++) {
            if (!varies(s, s->list[i].value, g))
                continue;
            struct diagnostic *diagnostic = report(
                s, DIAGNOSTIC_W1012, s->list[i].op,
                arena_printf(s->lint->arena, "all instances along `%s` store the same elements of `%s`",
                             grid_name(s, g), s->view->name));
            diag_note(s->lint->diagnostics, diagnostic, s->list[i].op->at,
                      "no index depends on `%s`; one of the values is kept: use `atomic_add`, a loop in one instance, "
                      "or an element for each `%s`",
                      grid_name(s, g), grid_name(s, g));
            return;
        }
        return;
    }
    for (int i = 0; i < s->count; i++)
        for (int j = 0; j <= i; j++)
            for (int64_t k = -2; k <= 2; k++) {
                const struct store *a = &s->list[i], *b = &s->list[j];
                if (k == 0 || !meet(a, b, g, k, rank) || (is_uniform(s, a->value, g) && is_uniform(s, b->value, g)))
                    continue;
                struct diagnostic *diagnostic = report(
                    s, DIAGNOSTIC_W1012, a->op,
                    arena_printf(s->lint->arena,
                                 "instances next to each other along `%s` store the same elements of `%s`",
                                 grid_name(s, g), s->view->name));
                diag_note(s->lint->diagnostics, diagnostic, b->op->at,
                          "dimension %d moves by %lld from one `%s` to the next, and %lld element%s stored", d,
                          (long long)a->form[d].moves[g], grid_name(s, g), (long long)b->form[d].width,
                          b->form[d].width == 1 ? " is" : "s are");
                if (a == b && a->form[d].moves[g] == 1)
                    diag_note(s->lint->diagnostics, diagnostic, a->op->at,
                              "for %lld elements an instance, write `%s*%lld +: %lld`", (long long)a->form[d].width,
                              grid_name(s, g), (long long)a->form[d].width, (long long)a->form[d].width);
                return;
            }
}

/* The one dimension of the view in which all stores move along g, and g alone, by the same step; -1: none. */
static int dimension_of(const struct stores *s, int g, int64_t *step)
{
    int dimension = -1;
    *step = 0;
    for (int i = 0; i < s->count; i++)
        for (int d = 0; d < s->view->type->rank; d++) {
            const struct form *form = &s->list[i].form[d];
            if (!form->moves[g])
                continue;
            if ((dimension >= 0 && (dimension != d || *step != form->moves[g])) || form->same ||
                form->width == INT64_MAX)
                return -1;
            for (int h = 0; h < IR_MAX_RANK; h++)
                if (h != g && form->moves[h])
                    return -1;
            dimension = d;
            *step = form->moves[g];
        }
    for (int i = 0; i < s->count && dimension >= 0; i++)
        if (s->list[i].form[dimension].moves[g] != *step)
            return -1;
    return dimension;
}

/* That two extents are the same, as those of one name are. */
static bool is_agreement(const struct ir_value *condition)
{
    const struct ir_operation *op = condition->definition;
    return op && op->opcode == OP_COMPARE && ir_number(op, IR_ATTRIBUTE_PREDICATE, 0) == IR_PREDICATE_EQ &&
           op->operands[0]->definition && op->operands[0]->definition->opcode == OP_EXTENT &&
           op->operands[1]->definition && op->operands[1]->definition->opcode == OP_EXTENT;
}

/* Whether a condition says more of an extent of that class than that it is another's. */
static bool asks_extent(const struct stores *s, const struct ir_value *value, int class)
{
    const struct ir_operation *op = value->definition;
    if (!op)
        return false;
    if (op->opcode == OP_EXTENT) {
        const struct ir_value *view = op->operands[0];
        bool is_argument = !view->definition && !view->block->parent && view->index < s->function->facts.count;
        return is_argument &&
               s->function->facts.data[view->index].extent_class[ir_number(op, IR_ATTRIBUTE_DIMENSION, 0)] == class;
    }
    for (int i = 0; i < op->operand_count; i++)
        if (asks_extent(s, op->operands[i], class))
            return true;
    return false;
}

/* A condition of the call, beyond the agreement of names. */
static bool is_asked(const struct stores *s, int class)
{
    for (const struct ir_operation *op = s->function->body->first; op; op = op->next)
        if (op->opcode == OP_ASSUME && !is_agreement(op->operands[0]) && asks_extent(s, op->operands[0], class))
            return true;
    return false;
}

/* n / by instances that each store `by` elements, where nobody says that `by` divides n. */
static bool leaves_rest(const struct stores *s, int g, int d, int64_t step)
{
    int64_t by;
    int class = kernel_rounded_down(s->lint->entry, s->lint->variant, g, &by);
    const struct ir_argument_fact *fact = &s->function->facts.data[s->view->index];
    return class && class == fact->extent_class[d] && by == step && !is_asked(s, class);
}

static void check_rest(struct stores *s, int g)
{
    int64_t step;
    int d = dimension_of(s, g, &step);
    if (d < 0 || !leaves_rest(s, g, d, step))
        return;
    const struct store *first = &s->list[0];
    struct diagnostic *diagnostic = report(
        s, DIAGNOSTIC_W1013, first->op,
        arena_printf(s->lint->arena, "no instance stores the last elements of `%s` along dimension %d", s->view->name,
                     d));
    diag_note(
        s->lint->diagnostics, diagnostic, first->op->at,
        "the grid counts n / %lld instances, rounded down: count `cdiv(n, %lld)`, or say `requires(n %% %lld == 0)`",
        (long long)step, (long long)step, (long long)step);
}

/* The grid counts parts of one dimension of the view, and the places go along another one by it: as a transpose does whose
 * result is indexed like its source. */
static void check_exchange(struct stores *s, int g)
{
    const struct ir_argument_fact *fact = &s->function->facts.data[s->view->index];
    int64_t step;
    int d = dimension_of(s, g, &step), counted = -1, class = s->function->grid_class[g];
    for (int e = 0; e < s->view->type->rank && class; e++)
        if (fact->extent_class[e] == class)
            counted = e;
    if (d < 0 || counted < 0 || fact->extent_class[d] == class || !fact->extent_class[d] ||
        is_asked(s, fact->extent_class[d]))
        return;
    const struct store *first = &s->list[0];
    const char *name = grid_name(s, g);
    struct diagnostic *diagnostic = report(
        s, DIAGNOSTIC_W1013, first->op,
        arena_printf(s->lint->arena, "`%s` counts parts of dimension %d of `%s`, and the places go along dimension %d",
                     name, counted, s->view->name, d));
    diag_note(
        s->lint->diagnostics, diagnostic, first->op->at,
        "where the two extents differ, elements are left out: use `%s` as index %d, or let the grid count dimension "
        "%d",
        name, counted, d);
}

/* n / by of an extent of that class, in a loop from 0. */
static bool counts_rounded(const struct stores *s, const struct ir_operation *loop, int class, int64_t by)
{
    int64_t from, step, parts;
    const struct ir_operation *to = loop->operands[1]->definition;
    while (to && to->opcode == OP_CAST)
        to = to->operands[0]->definition;
    return to && to->opcode == OP_DIV && ir_constant_integer(to->operands[1], &parts) && parts == by &&
           ir_constant_integer(loop->operands[0], &from) && from == 0 &&
           ir_constant_integer(loop->operands[2], &step) && step == 1 && asks_extent(s, to->operands[0], class);
}

/* for j in 0..N / B { y[j*B +: B] = … } leaves out what B does not divide. */
static void check_rounded_loop(struct stores *s)
{
    struct ir_access access;
    const struct store *first = &s->list[0];
    const struct ir_argument_fact *fact = &s->function->facts.data[s->view->index];
    if (s->count != 1 || !ir_access_of(first->op, &access))
        return;
    for (int d = 0; d < access.rank; d++) {
        const struct ir_operation *op = access.index[d]->definition;
        int64_t by;
        if (!op || op->opcode != OP_MUL || access.place[d] < 1 || !fact->extent_class[d])
            continue;
        int number = ir_constant_integer(op->operands[0], &by) ? 0 : 1;
        const struct ir_value *variable = op->operands[1 - number];
        const struct ir_operation *loop = variable->definition ? NULL : variable->block->parent;
        if (!loop || loop->opcode != OP_FOR || variable->index != 0 ||
            !ir_constant_integer(op->operands[number], &by) || by != access.place[d] ||
            !counts_rounded(s, loop, fact->extent_class[d], by) || is_asked(s, fact->extent_class[d]))
            continue;
        struct diagnostic *diagnostic = report(
            s, DIAGNOSTIC_W1013, first->op,
            arena_printf(s->lint->arena, "no turn of the loop stores the last elements of `%s` along dimension %d",
                         s->view->name, d));
        diag_note(
            s->lint->diagnostics, diagnostic, loop->at,
            "the loop has n / %lld turns, rounded down: count to `cdiv(n, %lld)`, or say `requires(n %% %lld == 0)`",
            (long long)by, (long long)by, (long long)by);
    }
}

/* The step of a loop along which all stores of the view move, in that dimension, from a start and by so much that the
 * elements between two of its turns are nobody else's; 0: there is none. */
static int64_t common_step(struct stores *s, int d)
{
    const struct ir_operation *loop = s->list[0].loop[d];
    int64_t step;
    if (!loop || ir_number(loop, IR_ATTRIBUTE_MULTIPLY, 0) || varies(s, loop->operands[0], -1) ||
        !ir_constant_integer(loop->operands[2], &step) || step < 2 || step > MOST_STEP)
        return 0;
    for (int i = 0; i < s->count; i++) {
        const struct form *beside = &s->list[i].beside[d];
        if (s->list[i].loop[d] != loop || !beside->known || (beside->same && s->count > 1))
            return 0;
        for (int g = 0; g < IR_MAX_RANK; g++)
            if (beside->moves[g] % step)
                return 0;
    }
    return step;
}

static void check_steps(struct stores *s)
{
    for (int d = 0; d < s->view->type->rank && !s->view->type->readable; d++) {
        int64_t step = common_step(s, d);
        bool *stored = ARENA_ARRAY(s->lint->arena, bool, step + 1);
        int64_t left = step;
        for (int i = 0; i < s->count && step; i++)
            for (int64_t t = 0; t < int64_min(s->list[i].beside[d].width, step); t++) {
                int64_t at = ((s->list[i].beside[d].offset + t) % step + step) % step;
                left -= !stored[at];
                stored[at] = true;
            }
        if (left == 0)
            continue;
        const struct store *first = &s->list[0];
        struct diagnostic *diagnostic = report(
            s, DIAGNOSTIC_W1013, first->op,
            arena_printf(s->lint->arena, "elements of `%s` along dimension %d lie between those that the loop stores",
                         s->view->name, d));
        diag_note(s->lint->diagnostics, diagnostic, first->loop[d]->at,
                  "the loop goes on by %lld, and of so many elements %lld %s stored", (long long)step,
                  (long long)(step - left), step - left == 1 ? "is" : "are");
    }
}

/* Whether the stores of one instance and of those beside it leave out an element, modulo the step. */
static bool has_gap(const struct stores *s, int d, int64_t step)
{
    bool *stored = ARENA_ARRAY(s->lint->arena, bool, step);
    for (int i = 0; i < s->count; i++)
        for (int64_t t = 0; t < int64_min(s->list[i].form[d].width, step); t++) {
            int64_t at = (s->list[i].form[d].offset + t) % step;
            stored[at < 0 ? at + step : at] = true;
        }
    for (int64_t t = 0; t < step; t++)
        if (!stored[t])
            return true;
    return false;
}

static void check_cover(struct stores *s, int g)
{
    int64_t step, counted = s->function->grid_step[g];
    int d = dimension_of(s, g, &step);
    const struct ir_argument_fact *fact = &s->function->facts.data[s->view->index];
    if (d < 0 || step < 1 || step > MOST_STEP || counted < 1 || !s->function->grid_class[g] ||
        s->function->grid_class[g] != fact->extent_class[d])
        return;
    const struct store *first = &s->list[0];
    const char *name = grid_name(s, g);
    const char *text = arena_printf(s->lint->arena, "the grid has an instance for each %lld element%s",
                                    (long long)counted, counted == 1 ? "" : "s");
    if (counted == 1)
        text = "the grid has an instance for each element";
    if (step < counted) {
        struct diagnostic *diagnostic = report(
            s, DIAGNOSTIC_W1013, first->op,
            arena_printf(s->lint->arena, "no instance stores the last elements of `%s` along dimension %d",
                         s->view->name, d));
        diag_note(s->lint->diagnostics, diagnostic, first->op->at,
                  "%s of dimension %d, and the place moves by %lld from one `%s` to the next", text, d, (long long)step,
                  name);
    } else if (!s->view->type->readable && has_gap(s, d, step)) {
        struct diagnostic *diagnostic = report(
            s, DIAGNOSTIC_W1013, first->op,
            arena_printf(s->lint->arena, "elements of `%s` along dimension %d lie between those that instances store",
                         s->view->name, d));
        diag_note(s->lint->diagnostics, diagnostic, first->op->at,
                  "the place moves by %lld from one `%s` to the next, and %lld element%s stored", (long long)step, name,
                  (long long)first->form[d].width, first->form[d].width == 1 ? " is" : "s are");
    } else if (step > counted && step % counted == 0) {
        struct diagnostic *diagnostic = report(
            s, DIAGNOSTIC_W1014, first->op,
            arena_printf(s->lint->arena, "of %lld instances along `%s`, %lld store only outside of `%s`",
                         (long long)(step / counted), name, (long long)(step / counted - 1), s->view->name));
        diag_note(s->lint->diagnostics, diagnostic, first->op->at,
                  "%s of dimension %d, and the place moves by %lld: count `cdiv(n, %lld)` instances", text, d,
                  (long long)step, (long long)step);
    }
}

/* Through pointers, or in an order that atomics make: what instances are for is not seen. */
static bool writes_otherwise(const struct ir_block *block)
{
    for (const struct ir_operation *op = block->first; op; op = op->next) {
        if (op->opcode == OP_POINTER_STORE || op->opcode == OP_POINTER_ATOMIC || op->opcode == OP_POINTER_CAS ||
            (ir_has_trait(op, IR_TRAIT_ATOMIC) &&
             ir_number(op, IR_ATTRIBUTE_ORDER, IR_ORDER_RELAXED) != IR_ORDER_RELAXED))
            return true;
        for (int r = 0; r < op->region_count; r++)
            if (writes_otherwise(op->regions[r]))
                return true;
    }
    return false;
}

void lint_stores(const struct lint *lint, const struct ir_function *function)
{
    struct stores *s = ARENA_NEW(lint->arena, struct stores);
    s->lint = lint;
    s->function = function;
    s->varies = ARENA_ARRAY(lint->arena, signed char, function->next_value_id *(IR_MAX_RANK + 1));
    if (writes_otherwise(function->body))
        return;
    for (int i = 0; i < function->body->arguments.count && i < function->facts.count; i++) {
        s->view = function->body->arguments.data[i];
        if (s->view->type->kind != IR_VIEW || !s->view->type->writable)
            continue;
        s->count = 0;
        s->odd = s->unformed = false;
        ir_walk(function->body, collect, s);
        if (s->count && !s->odd) {
            check_steps(s);
            check_rounded_loop(s);
        }
        for (int g = 0; g < function->grid_rank && s->count && !s->odd && !s->unformed; g++) {
            check_overlap(s, g);
            check_cover(s, g);
            check_rest(s, g);
            check_exchange(s, g);
        }
    }
}
