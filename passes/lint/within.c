/* Elements of one tile that meet: a store by an index tile, or through pointers, that puts two of them in one place, as
 * `y[iota(64)/2] = x` does.  One of the values is kept then, whatever the instance, so it is told of stores under a condition,
 * too.  Nothing is said where the two values are the same, but of an update, `y[i] += 1.0`: it happens once then. */
#include "ir/query.h"
#include "passes/lint/lint.h"
#include "passes/lint/trial.h"

enum { MOST_ELEMENTS = 1 << 14, MOST_DEPTH = 24 };

struct within {
    const struct lint *lint;
    const struct ir_function *function;
    struct forms forms;
};

/* A store with its elements in their places: of a pointer one number, of a view one for each dimension with an index tile. */
struct scatter {
    const struct ir_operation *op;
    struct ir_access access;
    const struct ir_type *tile; /* of the indexes */
    const struct ir_value *by[IR_MAX_RANK];
    int64_t extent[IR_MAX_RANK]; /* of the view there */
    int rank;
    int64_t row; /* elements of the value from one of the indexes to the next */
};

/* False: the store has no index tile, or too large a one. */
static bool take_scatter(const struct ir_operation *op, struct scatter *scatter)
{
    *scatter = (struct scatter){.op = op, .row = 1};
    if ((op->opcode != OP_STORE && op->opcode != OP_POINTER_STORE) || !ir_access_of(op, &scatter->access))
        return false;
    const struct ir_access *access = &scatter->access;
    if (op->opcode == OP_POINTER_STORE)
        scatter->by[scatter->rank++] = access->view;
    for (int d = 0; d < access->rank; d++)
        if (access->place[d] == IR_GATHER)
            scatter->by[scatter->rank++] = access->index[d];
        else if (access->place[d] > 0 && scatter->rank)
            scatter->row *= access->place[d];
    if (!scatter->rank || scatter->by[0]->type->rank == 0)
        return false;
    scatter->tile = scatter->by[0]->type;
    return ir_type_elements(scatter->tile) <= MOST_ELEMENTS;
}

static void take_extents(const struct trial *trial, struct scatter *scatter)
{
    int rank = 0;
    for (int d = 0; d < scatter->access.rank; d++)
        if (scatter->access.place[d] == IR_GATHER)
            scatter->extent[rank++] = trial_extent(trial, scatter->access.view, d);
}

/* ---- what two elements have in common ---- */

static bool alike(struct trial *trial, const struct ir_value *value, int64_t a, int64_t b, int depth);

/* The dimension of the first index tile, where the shape of all of them stands in the place's; -1: there is none. */
static int gathered(const struct ir_access *access)
{
    for (int d = 0; d < access->rank; d++)
        if (access->place[d] == IR_GATHER)
            return d;
    return -1;
}

/* Elements a and b of what was loaded. */
static bool loads_alike(struct trial *trial, const struct ir_operation *op, int64_t a, int64_t b, int depth)
{
    struct ir_access access;
    if (!ir_access_of(op, &access))
        return true;
    for (int d = access.rank - 1, first = gathered(&access); d >= 0; d--) {
        int64_t count = access.place[d] > 0 ? access.place[d]
                        : d == first        ? ir_type_elements(access.index[d]->type)
                                            : 1;
        if (access.place[d] > 0 && a % count != b % count)
            return false;
        for (int i = first; d == first && i < access.rank; i++)
            if (access.place[i] == IR_GATHER && !alike(trial, access.index[i], a % count, b % count, depth))
                return false;
        a /= count;
        b /= count;
    }
    return access.rank || alike(trial, access.view, a, b, depth);
}

/* Whether two elements of a tile are the same, or may well be. */
static bool alike(struct trial *trial, const struct ir_value *value, int64_t a, int64_t b, int depth)
{
    const struct ir_operation *op = value->definition;
    int64_t first, second;
    if (a == b || value->type->rank == 0 || depth == 0 || --trial->steps < 0)
        return true;
    if (trial_number(trial, value, a, &first) && trial_number(trial, value, b, &second))
        return first == second;
    if (!op)
        return false;
    int64_t from = trial_source(op, a);
    if (from >= 0)
        return alike(trial, op->operands[0], from, trial_source(op, b), depth - 1);
    if (op->opcode == OP_LOAD || op->opcode == OP_POINTER_LOAD)
        return loads_alike(trial, op, a, b, depth - 1);
    if (op->opcode == OP_CONSTANT || op->opcode == OP_CALL || op->opcode == OP_ASM)
        return true;
    if (!ir_has_trait(op, IR_TRAIT_ELEMENTWISE))
        return false;
    for (int i = 0; i < op->operand_count; i++)
        if (!alike(trial, op->operands[i], a, b, depth - 1))
            return false;
    return true;
}

/* Whether the values that go to the places of elements a and b differ.  A tile without further dimensions has one for each;
 * of others the first of each row is looked at. */
static bool values_differ(struct trial *trial, const struct scatter *scatter, int64_t a, int64_t b)
{
    const struct ir_value *value = scatter->access.value;
    if (value->type->rank == 0)
        return false;
    return !alike(trial, value, a * scatter->row, b * scatter->row, MOST_DEPTH);
}

/* ---- places ---- */

/* false: the element is stored nowhere, or where is not known (*known) */
static bool place_of(struct trial *trial, const struct scatter *scatter, int64_t element, int64_t *place, bool *known)
{
    int64_t number;
    for (int i = 0; i < scatter->rank; i++) {
        *known = *known && trial_number(trial, scatter->by[i], element, &place[i]);
        if (!*known || (scatter->access.rank && (place[i] < 0 || place[i] >= scatter->extent[i])))
            return false;
    }
    const struct ir_value *mask = scatter->access.mask;
    return !mask || !trial_number(trial, mask, element * scatter->row, &number) || number;
}

static bool is_stored_like(struct trial *trial, const struct scatter *scatter, int64_t a, int64_t b)
{
    return !scatter->access.mask || alike(trial, scatter->access.mask, a * scatter->row, b * scatter->row, MOST_DEPTH);
}

static bool same_place(const struct scatter *scatter, const int64_t *a, const int64_t *b)
{
    for (int i = 0; i < scatter->rank; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

struct pair {
    int64_t first, second;
};

/* Two elements that meet with different values.  Elements are kept by their places, in a table of twice their number. */
static bool find_pair(struct trial *trial, const struct scatter *scatter, bool updates, struct pair *pair)
{
    int64_t count = ir_type_elements(scatter->tile), slots = 2 * count;
    int64_t *owner = ARENA_ARRAY(trial->lint->arena, int64_t, slots); /* element + 1 */
    int64_t *places = ARENA_ARRAY(trial->lint->arena, int64_t, count *IR_MAX_RANK);
    for (int64_t e = 0; e < count; e++) {
        int64_t *place = places + e * IR_MAX_RANK;
        bool known = true;
        uint64_t hash = 0;
        if (!place_of(trial, scatter, e, place, &known)) {
            if (!known)
                return false;
            continue;
        }
        for (int i = 0; i < scatter->rank; i++)
            hash = (hash ^ (uint64_t)place[i]) * UINT64_C(0x9e3779b97f4a7c15);
        int64_t slot = (int64_t)((hash >> 20) % (uint64_t)slots);
        while (owner[slot] && !same_place(scatter, places + (owner[slot] - 1) * IR_MAX_RANK, place))
            slot = (slot + 1) % slots;
        *pair = (struct pair){owner[slot] - 1, e};
        if (owner[slot] && is_stored_like(trial, scatter, pair->first, e) &&
            (updates || values_differ(trial, scatter, pair->first, e)))
            return true;
        owner[slot] = e + 1;
    }
    return false;
}

/* ---- what is said ---- */

static const char *name_element(const struct within *w, const struct ir_type *tile, int64_t element)
{
    const char *text = "";
    for (int d = tile->rank - 1; d >= 0; d--) {
        text = arena_printf(w->lint->arena, "%lld%s%s", (long long)(element % tile->extent[d]),
                            d < tile->rank - 1 ? ", " : "", text);
        element /= tile->extent[d];
    }
    return text;
}

static void report(const struct within *w, const struct scatter *scatter, const struct pair *pair, bool updates)
{
    const struct ir_value *view = scatter->access.view;
    struct diagnostics *diagnostics = w->lint->diagnostics;
    const char *where = view->type->kind == IR_VIEW && view->name ? arena_printf(w->lint->arena, " of `%s`", view->name)
                                                                  : "";
    struct diagnostic *d = diag_report(
        diagnostics, DIAGNOSTIC_W1012, scatter->op->at,
        updates ? "elements of one tile meet at an element%s, and only one of them updates it"
                : "elements of one tile are stored in the same element%s",
        where);
    diag_instance(diagnostics, d, w->lint->instance);
    diag_note(diagnostics, d, scatter->op->at,
              updates ? "[%s] and [%s] of the indexes are the same; `atomic_add` and its like update it for each"
                      : "[%s] and [%s] of the indexes are the same, and which of the two values is kept nobody knows",
              name_element(w, scatter->tile, pair->first), name_element(w, scatter->tile, pair->second));
}

static void look(struct ir_operation *op, void *context)
{
    struct within *w = context;
    struct scatter scatter;
    struct pair pair = {0}, found;
    int trials = 0;
    if (!take_scatter(op, &scatter))
        return;
    bool updates = ir_updates_place(op);
    for (int number = 0; number < TRIALS; number++) {
        struct trial trial;
        if (!trial_begin(&trial, w->lint, w->function, &w->forms, number, true))
            continue;
        take_extents(&trial, &scatter);
        if (!find_pair(&trial, &scatter, updates, &found))
            return;
        pair = trials++ ? pair : found;
    }
    if (trials)
        report(w, &scatter, &pair, updates);
}

void lint_within(const struct lint *lint, const struct ir_function *function)
{
    struct within w = {lint, function, forms_make(lint->arena, function)};
    ir_walk(function->body, look, &w);
}
