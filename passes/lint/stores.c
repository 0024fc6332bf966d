/* Grids beside places.  An index that is  c*g + ... + offset  in the names g of the grid moves by c from one instance to
 * the next; with the width of what is stored and the count of instances that says
 *   - that instances store the same elements: none of the indexes depends on g, or all move by less than is stored;
 *   - that elements lie between or behind all that is stored;
 *   - that most instances store nothing but what lies outside.
 * The lint looks only at views whose stores are all of this form and under no condition: an author who wrote an `if`, a
 * mask, an atomic or a sub-view knew more than can be seen here.  A store of one value by all instances is no mistake. */
#include <stdlib.h>
#include <string.h>

#include "ir/facts/inside.h"
#include "ir/kernel_facts.h"
#include "ir/query.h"
#include "passes/lint/form.h"
#include "passes/lint/lint.h"
#include "passes/lint/meetings.h"

enum { MOST_STORES = 64, MOST_STEP = 4096, MOST_TRIED = 256, MOST_DEPTH = 8, MOST_ASKED = 1000 };

/* A store to the view, or a load from it. */
struct store {
    const struct ir_operation *op;
    struct form form[IR_MAX_RANK]; /* by dimension of the argument; behind a pointer: how far */
    const struct ir_value *index[IR_MAX_RANK];
    const struct ir_value *value;
    /* Where an index is the variable of a loop times a number, and something else: the loop, the number, and that with the
     * width of the place. */
    const struct ir_operation *loop[IR_MAX_RANK];
    int64_t factor[IR_MAX_RANK];
    struct form beside[IR_MAX_RANK];
};
struct stores {
    const struct lint *lint;
    const struct ir_function *function;
    struct forms forms;
    struct store list[MOST_STORES], loads[MOST_STORES];
    int count, load_count, rank;
    const struct ir_value *view; /* the argument */
    bool is_pointer; /* what lies behind it is looked at: it is a pointer, or a view of which one was taken */
    bool odd;        /* a store of the view has a condition, or the like */
    bool unformed;   /* an index of one is not of the form */
};

/* factor * variable + something, in at most `depth` steps; NULL: none such. */
static const struct ir_operation *loop_of(struct stores *s, const struct ir_value *index, int depth, int64_t *factor,
                                          struct form *beside)
{
    const struct ir_operation *op = index->definition, *loop = NULL;
    *beside = form_number(0);
    *factor = 1;
    if (!op)
        return index->index == 0 && index->block->parent && index->block->parent->opcode == OP_FOR
                   ? index->block->parent
                   : NULL;
    for (int i = 0; depth > 0 && (op->opcode == OP_ADD || op->opcode == OP_MUL) && i < 2 && !loop; i++) {
        struct form other = form_of(&s->forms, op->operands[1 - i]);
        loop = loop_of(s, op->operands[i], depth - 1, factor, beside);
        if (!loop)
            continue;
        if (op->opcode == OP_ADD)
            *beside = form_add(*beside, other, 1);
        else if (form_is_number(&other) && form_is_number(beside) && other.offset > 0 && other.offset <= MOST_STEP &&
                 *factor <= MOST_STEP && llabs(beside->offset) <= INT32_MAX)
            *factor *= other.offset, *beside = form_number(beside->offset * other.offset);
        else
            return NULL;
    }
    return loop;
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

/* A loop over a dimension that is the same for all instances stands for all of it. */
static struct form index_form(struct stores *s, const struct ir_value *index)
{
    struct form form = form_of(&s->forms, index);
    const struct ir_operation *loop = index->definition || index->index ? NULL : index->block->parent;
    if (form.known || !loop || loop->opcode != OP_FOR)
        return form;
    form = form_number(0);
    form.width = FORM_ALL;
    form.same = true;
    for (int i = 0; i < 3; i++)
        form.known = form.known && !forms_vary(&s->forms, loop->operands[i], -1);
    return form;
}

/* Whether all indexes are of the form. */
static bool take_places(struct stores *s, struct store *store, const struct ir_access *access)
{
    bool known = true;
    for (int d = 0; d < access->rank; d++) {
        int64_t width = access->place[d] > 0 ? access->place[d] : 1;
        store->index[d] = access->index[d];
        if (access->place[d] == IR_GATHER) {
            store->form[d] = form_of_tile(&s->forms, access->index[d]);
        } else {
            store->form[d] = form_widen(index_form(s, access->index[d]), 1, width);
            store->loop[d] = loop_of(s, access->index[d], MOST_DEPTH, &store->factor[d], &store->beside[d]);
            store->beside[d] = form_widen(store->beside[d], 1, width);
        }
        known = known && store->form[d].known;
    }
    return known;
}

static void collect(struct ir_operation *op, void *context)
{
    struct stores *s = context;
    struct ir_access access;
    bool is_load = op->opcode == OP_LOAD;
    if (op->opcode == OP_ASSUME || (!is_load && !ir_has_trait(op, IR_TRAIT_WRITE | IR_TRAIT_ATOMIC)))
        return;
    if (!is_load && op->opcode != OP_STORE && op->opcode != OP_ATOMIC && op->opcode != OP_ATOMIC_CAS) {
        s->odd = s->odd || op->opcode == OP_CALL;
        return;
    }
    if (!ir_access_of(op, &access) || !is_of_view(access.view, s->view))
        return;
    bool plain = !access.mask && access.view == s->view && is_unconditional(op);
    if (is_load) {
        s->loads[s->load_count] = (struct store){.op = op};
        s->load_count += plain && s->load_count + 1 < MOST_STORES && take_places(s, &s->loads[s->load_count], &access);
        return;
    }
    if (op->opcode != OP_STORE || !plain || s->count == MOST_STORES) {
        s->odd = true;
        return;
    }
    struct store *store = &s->list[s->count++];
    *store = (struct store){.op = op, .value = access.value};
    s->unformed = !take_places(s, store, &access) || s->unformed;
}

/* A mask that only compares what instances have in common with where they store: it leaves out what lies behind an end. */
static bool is_end(struct stores *s, const struct ir_value *mask, const struct form *place)
{
    const struct ir_operation *op = mask->definition;
    if (!op || op->opcode != OP_COMPARE)
        return false;
    const struct ir_value *limit = op->operands[1];
    struct form compared = form_of_tile(&s->forms, op->operands[0]);
    bool alike = compared.known && place->known && form_is_alike(&compared, place, -1) &&
                 compared.offset == place->offset && compared.width == place->width && compared.times == place->times &&
                 compared.apart == place->apart;
    return alike && !forms_vary(&s->forms, limit, -1) && limit->definition && limit->definition->opcode == OP_SPLAT;
}

/* What is stored and loaded through pointers that are s->view and an offset; others may point anywhere else. */
static void collect_behind(struct ir_operation *op, void *context)
{
    struct stores *s = context;
    struct ir_access access;
    const struct ir_value *base;
    bool is_load = op->opcode == OP_POINTER_LOAD;
    if (op->opcode == OP_CALL || op->opcode == OP_ASM)
        s->odd = true;
    if ((!is_load && op->opcode != OP_POINTER_STORE && op->opcode != OP_POINTER_ATOMIC &&
         op->opcode != OP_POINTER_CAS) ||
        !ir_access_of(op, &access))
        return;
    struct store *store = is_load ? &s->loads[s->load_count] : &s->list[s->count];
    *store = (struct store){.op = op, .value = access.value, .index = {access.view}};
    store->form[0] = form_of_pointer(&s->forms, access.view, &base);
    bool plain = is_unconditional(op) && (!access.mask || is_end(s, access.mask, &store->form[0]));
    if (is_load) {
        s->load_count += base == s->view && plain && store->form[0].known && s->load_count + 1 < MOST_STORES;
        return;
    }
    if (base == s->view && op->opcode == OP_POINTER_STORE && plain && s->count + 1 < MOST_STORES) {
        s->count++;
        s->unformed = s->unformed || !store->form[0].known;
    } else if (!base || base == s->view) {
        s->odd = true;
    }
}

/* ---- mistakes ---- */

static const char *grid_name(const struct stores *s, int g) { return s->lint->entry->grid_names.data[g]; }

static struct diagnostic *report(const struct stores *s, enum diagnostic_code code, const struct ir_operation *op,
                                 const char *text)
{
    struct diagnostic *d = diag_report(s->lint->diagnostics, code, op->at, "%s", text);
    diag_instance(s->lint->diagnostics, d, s->lint->instance);
    return d;
}

/* Whether an element of `a` in the instance `at + k` along g is one of `b` in the instance `at`. */
static bool meet(const struct store *a, const struct store *b, int g, int64_t at, int64_t k, int rank)
{
    for (int d = 0; d < rank; d++) {
        const struct form *x = &a->form[d], *y = &b->form[d];
        int64_t shift;
        if (x->width == FORM_ALL || y->width == FORM_ALL)
            continue;
        if (x->same != y->same || (x->same && a->index[d] != b->index[d]) || !form_is_alike(x, y, g))
            return false; /* not compared */
        if (__builtin_sub_overflow(form_at(y, g, at), form_at(x, g, at + k), &shift) || !form_meets(x, y, shift))
            return false;
    }
    return true;
}

static bool is_uniform(struct stores *s, const struct ir_value *value, int g)
{
    while (value->definition && (value->definition->opcode == OP_SPLAT || value->definition->opcode == OP_BROADCAST))
        value = value->definition->operands[0];
    return value->type->rank == 0 && !forms_vary(&s->forms, value, g);
}

/* Whether the place of a store, or of which one *dimension, is another for other instances along g. */
static bool moves_along(struct stores *s, int g)
{
    for (int i = 0; i < s->count; i++)
        for (int d = 0; d < s->rank; d++) {
            const struct form *form = &s->list[i].form[d];
            if (form->known ? form_has(form, g) : forms_vary(&s->forms, s->list[i].index[d], g))
                return true;
        }
    return false;
}

/* The checks say whether they said something. */
static bool check_same_place(struct stores *s, int g)
{
    if (s->function->grid_limit[g] == 1 || moves_along(s, g))
        return false;
    for (int i = 0; i < s->count; i++) {
        if (!forms_vary(&s->forms, s->list[i].value, g))
            continue;
        struct diagnostic *diagnostic = report(s, DIAGNOSTIC_W1012, s->list[i].op,
                                               arena_printf(s->lint->arena,
                                                            "all instances along `%s` store the same elements of `%s`",
                                                            grid_name(s, g), s->view->name));
        diag_note(s->lint->diagnostics, diagnostic, s->list[i].op->at,
                  "no index depends on `%s`; one of the values is kept: use `atomic_add`, a loop in one instance, "
                  "or an element for each `%s`",
                  grid_name(s, g), grid_name(s, g));
        return true;
    }
    return false;
}

/* Instances along g that meet, `a` in the later one, at most so far from each other that all quotients and remainders have
 * changed; how far, or 0: none are found. */
static int64_t meeting(const struct stores *s, const struct store *a, const struct store *b, int g)
{
    int64_t by = 1, limit = s->function->grid_limit[g] > 0 ? s->function->grid_limit[g] : INT32_MAX;
    int64_t far[2 * (FORM_PARTS * IR_MAX_RANK + 1)] = {1, 2};
    int count = 2;
    for (int d = 0; d < s->rank; d++)
        for (int i = 0; i < a->form[d].part_count; i++) {
            const struct form_part *part = &a->form[d].parts[i];
            by = part->grid == g && part->by > by ? part->by : by;
            if (part->grid == g && part->modulo && part->by <= INT32_MAX)
                far[count++] = part->by * part->modulo;
        }
    for (int i = 0; i < count; i++)
        for (int64_t at = 0; at < int64_min(by + 2, MOST_TRIED) && far[i] < limit && at < limit - far[i]; at++)
            if (meet(a, b, g, at, far[i], s->rank))
                return far[i];
    return 0;
}

/* The view has elements of 4 bits: what instances share are bytes. */
static bool lies_in_halves(const struct stores *s)
{
    const struct kernel_entry *entry = s->lint->entry;
    for (int i = 0; i < entry->parameters.count; i++)
        if (entry->parameters.data[i].nibbles && s->view->name &&
            strcmp(entry->parameters.data[i].name, s->view->name) == 0)
            return true;
    return false;
}

/* What the first dimension that moves does, where that is a step. */
static void note_meeting(const struct stores *s, struct diagnostic *diagnostic, const struct store *a,
                         const struct store *b, int g)
{
    int d = 0;
    while (d + 1 < s->rank && !form_has(&a->form[d], g))
        d++;
    const struct form *form = &a->form[d];
    if (form->part_count && lies_in_halves(s) && d == s->rank - 1) {
        diag_note(
            s->lint->diagnostics, diagnostic, b->op->at,
            "elements of 4 bits lie two a byte, and one instance writes the half of another: let each write whole "
            "bytes");
        return;
    }
    if (form->part_count) {
        diag_note(s->lint->diagnostics, diagnostic, b->op->at,
                  "a quotient or remainder of `%s` is the same for several `%s`: store once for all of them, or use an "
                  "element for each",
                  grid_name(s, g), grid_name(s, g));
        return;
    }
    int64_t width = b->form[d].width * b->form[d].times;
    diag_note(s->lint->diagnostics, diagnostic, b->op->at,
              s->is_pointer ? "the pointer moves by %lld from one `%s` to the next, and %lld element%s stored"
                            : "the place moves by %lld from one `%s` to the next, and %lld element%s stored",
              (long long)form->moves[g], grid_name(s, g), (long long)width, width == 1 ? " is" : "s are");
    if (a == b && form->moves[g] == 1 && form->times == 1)
        diag_note(s->lint->diagnostics, diagnostic, a->op->at, "for %lld elements an instance, write `%s*%lld +: %lld`",
                  (long long)width, grid_name(s, g), (long long)width, (long long)width);
}

/* Instances that differ in g alone. */
static bool check_overlap(struct stores *s, int g)
{
    if (s->function->grid_limit[g] == 1 || !moves_along(s, g))
        return false;
    for (int i = 0; i < s->count; i++)
        for (int j = 0; j < s->count; j++) {
            const struct store *a = &s->list[i], *b = &s->list[j];
            int64_t far = meeting(s, a, b, g);
            if (!far || (is_uniform(s, a->value, g) && is_uniform(s, b->value, g)))
                continue;
            struct diagnostic *diagnostic = report(
                s, DIAGNOSTIC_W1012, a->op,
                arena_printf(s->lint->arena,
                             far <= 2 ? "instances next to each other along `%s` store the same %s of `%s`"
                                      : "instances along `%s` store the same %s of `%s`",
                             grid_name(s, g), lies_in_halves(s) ? "bytes" : "elements", s->view->name));
            note_meeting(s, diagnostic, a, b, g);
            return true;
        }
    return false;
}

/* One that stores what the other loads: which of them comes first nobody knows. */
static bool check_reads(struct stores *s, int g)
{
    for (int i = 0; i < s->count && s->function->grid_limit[g] != 1; i++)
        for (int j = 0; j < s->load_count; j++) {
            const struct store *a = &s->list[i], *b = &s->loads[j];
            if (!meeting(s, a, b, g) && !meeting(s, b, a, g))
                continue;
            struct diagnostic *diagnostic = report(
                s, DIAGNOSTIC_W1012, b->op,
                arena_printf(s->lint->arena, "an instance reads elements of `%s` that another one along `%s` stores",
                             s->view->name, grid_name(s, g)));
            diag_note(
                s->lint->diagnostics, diagnostic, a->op->at,
                "stored here; instances run in any order and at the same time: read what was there from another view");
            return true;
        }
    return false;
}

/* "m = 0, n = 1" */
static const char *name_instance(const struct stores *s, const int64_t *index)
{
    const char *text = "";
    for (int g = 0; g < s->function->grid_rank; g++)
        text = arena_printf(s->lint->arena, "%s%s%s = %lld", text, g ? ", " : "", grid_name(s, g), (long long)index[g]);
    return text;
}

/* Instances that differ in several names, or are as far from each other as an extent says, or store under conditions. */
static void check_calls(struct stores *s, bool loads)
{
    struct meeting found;
    if (!meetings_find(s->lint, s->function, &s->forms, s->view, s->is_pointer, loads, &found))
        return;
    const char *text = loads ? "an instance reads elements of `%s` that another one stores"
                             : "instances store the same elements of `%s`";
    struct diagnostic *diagnostic = report(s, DIAGNOSTIC_W1012, found.other,
                                           arena_printf(s->lint->arena, text, s->view->name));
    diag_note(s->lint->diagnostics, diagnostic, found.store->at,
              loads
                  ? "stored here, for instance where %s, and read where %s; instances run in any order: read what was "
                    "there from another view"
                  : "for instance where %s, and where %s; instances run in any order, and one of the values is kept",
              name_instance(s, found.first), name_instance(s, found.second));
}

/* The one dimension of the view in which all stores move along g, and g alone, by the same step; -1: none. */
static int dimension_of(const struct stores *s, int g, int64_t *step)
{
    int dimension = -1;
    *step = 0;
    for (int i = 0; i < s->count; i++)
        for (int d = 0; d < s->view->type->rank; d++) {
            const struct form *form = &s->list[i].form[d];
            if (!form_has(form, g))
                continue;
            if ((dimension >= 0 && (dimension != d || *step != form->moves[g])) || form->same ||
                form->width == FORM_ALL || form->part_count)
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

/* Whether a condition says more of an extent of that class than that it is another's.  One that is too long to be looked
 * through in *steps may. */
static bool asks_extent(const struct stores *s, const struct ir_value *value, int class, int *steps)
{
    const struct ir_operation *op = value->definition;
    if (--*steps < 0 || !op)
        return op;
    if (op->opcode == OP_EXTENT) {
        const struct ir_value *view = op->operands[0];
        bool is_argument = !view->definition && !view->block->parent && view->index < s->function->facts.count;
        return is_argument &&
               s->function->facts.data[view->index].extent_class[ir_number(op, IR_ATTRIBUTE_DIMENSION, 0)] == class;
    }
    for (int i = 0; i < op->operand_count; i++)
        if (asks_extent(s, op->operands[i], class, steps))
            return true;
    return false;
}

/* A condition of the call, beyond the agreement of names. */
static bool is_asked(const struct stores *s, int class)
{
    int steps = MOST_ASKED;
    for (const struct ir_operation *op = s->function->body->first; op; op = op->next)
        if (op->opcode == OP_ASSUME && !is_agreement(op->operands[0]) && asks_extent(s, op->operands[0], class, &steps))
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
    int steps = MOST_ASKED;
    const struct ir_operation *to = loop->operands[1]->definition;
    while (to && to->opcode == OP_CAST)
        to = to->operands[0]->definition;
    return to && to->opcode == OP_DIV && ir_constant_integer(to->operands[1], &parts) && parts == by &&
           ir_constant_integer(loop->operands[0], &from) && from == 0 &&
           ir_constant_integer(loop->operands[2], &step) && step == 1 &&
           asks_extent(s, to->operands[0], class, &steps) && steps >= 0;
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
    int64_t step, factor = s->list[0].factor[d];
    if (!loop || ir_number(loop, IR_ATTRIBUTE_MULTIPLY, 0) || forms_vary(&s->forms, loop->operands[0], -1) ||
        !ir_constant_integer(loop->operands[2], &step) || step < 1 || step > MOST_STEP || step * factor > MOST_STEP)
        return 0;
    step *= factor;
    for (int i = 0; i < s->count; i++) {
        const struct form *beside = &s->list[i].beside[d];
        if (s->list[i].loop[d] != loop || s->list[i].factor[d] != factor || !beside->known || beside->part_count ||
            (beside->same && s->count > 1))
            return 0;
        for (int g = 0; g < IR_MAX_RANK; g++)
            if (beside->moves[g] % step)
                return 0;
    }
    return step < 2 ? 0 : step;
}

static int64_t marks_of(const bool *marked, int64_t step)
{
    int64_t count = 0;
    for (int64_t t = 0; t < step; t++)
        count += marked[t];
    return count;
}

/* Whether the loop is said to leave out elements. */
static bool check_steps(struct stores *s)
{
    for (int d = 0; d < s->rank && !s->view->type->readable; d++) {
        int64_t step = common_step(s, d);
        if (!step)
            continue;
        bool *stored = ARENA_ARRAY(s->lint->arena, bool, step);
        for (int i = 0; i < s->count; i++)
            form_mark(&s->list[i].beside[d], step, stored);
        int64_t marks = marks_of(stored, step);
        if (marks == step)
            continue;
        const struct store *first = &s->list[0];
        struct diagnostic *diagnostic = report(
            s, DIAGNOSTIC_W1013, first->op,
            arena_printf(s->lint->arena, "elements of `%s` along dimension %d lie between those that the loop stores",
                         s->view->name, d));
        diag_note(s->lint->diagnostics, diagnostic, first->loop[d]->at,
                  "the place goes on by %lld from turn to turn, and of so many elements %lld %s stored",
                  (long long)step, (long long)marks, marks == 1 ? "is" : "are");
        return true;
    }
    return false;
}

/* Whether the stores of one instance and of those beside it leave out an element, modulo the step. */
static bool has_gap(const struct stores *s, int d, int64_t step)
{
    bool *stored = ARENA_ARRAY(s->lint->arena, bool, step);
    for (int i = 0; i < s->count; i++)
        form_mark(&s->list[i].form[d], step, stored);
    return marks_of(stored, step) < step;
}

static void check_cover(struct stores *s, int g, bool said)
{
    int64_t step, counted = s->function->grid_step[g];
    int d = dimension_of(s, g, &step);
    const struct ir_argument_fact *fact = &s->function->facts.data[s->view->index];
    if (d < 0 || step < 1 || step > MOST_STEP || counted < 1 || !s->function->grid_class[g] ||
        s->function->grid_class[g] != fact->extent_class[d])
        return;
    const struct store *first = &s->list[0];
    const char *name = grid_name(s, g);
    int64_t width = first->form[d].width * first->form[d].times;
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
    } else if (!said && !s->view->type->readable && has_gap(s, d, step)) {
        struct diagnostic *diagnostic = report(
            s, DIAGNOSTIC_W1013, first->op,
            arena_printf(s->lint->arena, "elements of `%s` along dimension %d lie between those that instances store",
                         s->view->name, d));
        diag_note(s->lint->diagnostics, diagnostic, first->op->at,
                  "the place moves by %lld from one `%s` to the next, and %lld element%s stored", (long long)step, name,
                  (long long)width, width == 1 ? " is" : "s are");
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

/* The last argument of a kernel that reports: what asserts and prints write there, one instance after the other or the first of
 * them alone, is no element of the user's. */
static const struct ir_value *report_argument(const struct stores *s)
{
    int last = s->function->body->arguments.count - 1;
    return s->lint->entry->reports ? s->function->body->arguments.data[last] : NULL;
}

static bool lies_in(const struct ir_value *argument, const struct ir_value *address)
{
    while (address->definition && address->definition->opcode == OP_POINTER_ADD)
        address = address->definition->operands[0];
    return address == argument;
}

/* In an order that atomics make: what instances are for is not seen.  Stores through pointers may be any view's. */
static bool writes_otherwise(const struct ir_block *block, const struct ir_value *hidden, bool *through_pointers)
{
    for (const struct ir_operation *op = block->first; op; op = op->next) {
        bool writes = op->opcode == OP_POINTER_STORE || op->opcode == OP_POINTER_ATOMIC || op->opcode == OP_POINTER_CAS;
        *through_pointers = *through_pointers || (writes && !lies_in(hidden, op->operands[0]));
        bool orders = ir_has_trait(op, IR_TRAIT_ATOMIC) &&
                      ir_number(op, IR_ATTRIBUTE_ORDER, IR_ORDER_RELAXED) != IR_ORDER_RELAXED;
        if (orders || (op->opcode == OP_ASM && ir_has_effect(op)))
            return true;
        for (int r = 0; r < op->region_count; r++)
            if (writes_otherwise(op->regions[r], hidden, through_pointers))
                return true;
    }
    return false;
}

static void start(struct stores *s, const struct ir_value *argument, bool is_pointer)
{
    s->view = argument;
    s->is_pointer = is_pointer;
    s->rank = is_pointer ? 1 : argument->type->rank;
    s->count = s->load_count = 0;
    s->odd = s->unformed = false;
    ir_walk(s->function->body, is_pointer ? collect_behind : collect, s);
}

static void check_meetings(struct stores *s)
{
    bool overlap = false, reads = false;
    for (int g = 0; g < s->function->grid_rank && s->count && !s->odd; g++) {
        overlap = check_same_place(s, g) || overlap;
        if (s->unformed)
            continue;
        overlap = check_overlap(s, g) || overlap;
        reads = check_reads(s, g) || reads;
    }
    if (!overlap)
        check_calls(s, false);
    if (!reads)
        check_calls(s, true);
}

static void check_places(struct stores *s)
{
    if (!s->count || s->odd)
        return;
    bool said = check_steps(s);
    check_rounded_loop(s);
    for (int g = 0; g < s->function->grid_rank && !s->unformed; g++) {
        check_cover(s, g, said);
        check_rest(s, g);
        check_exchange(s, g);
    }
}

void lint_stores(const struct lint *lint, const struct ir_function *function)
{
    struct stores *s = ARENA_NEW(lint->arena, struct stores);
    bool through_pointers = false;
    s->lint = lint;
    s->function = function;
    s->forms = forms_make(lint->arena, function);
    const struct ir_value *hidden = report_argument(s);
    if (writes_otherwise(function->body, hidden, &through_pointers))
        return;
    for (int i = 0; i < function->body->arguments.count && i < function->facts.count; i++) {
        const struct ir_value *argument = function->body->arguments.data[i];
        bool is_view = argument->type->kind == IR_VIEW;
        if (argument == hidden)
            continue;
        if (through_pointers && (is_view || argument->type->element == IR_POINTER)) {
            start(s, argument, true);
            check_meetings(s);
        }
        if (!is_view || !argument->type->writable)
            continue;
        start(s, argument, false);
        check_meetings(s);
        if (!through_pointers)
            check_places(s);
    }
}
