/* Places that end where a value of `tune` says, and which nothing moves on: `sum(x[m, 0 +: B])` sees B elements of a row, however
 * many there are, so that another schedule gives another result.  Told of a view's dimension where no access reaches further, and
 * nothing says that it ends there. */
#include <string.h>

#include "ir/facts/analysis.h"
#include "ir/query.h"
#include "passes/lint/form.h"
#include "passes/lint/lint.h"

struct tuned {
    const struct lint *lint;
    const struct ir_function *function;
    struct forms forms;
    const struct ir_value *argument; /* that is looked at, and which of its dimensions */
    int dimension;
    int64_t end;      /* behind the last element that is accessed */
    bool moves;       /* an access reaches elements that are not known here */
    int64_t greatest; /* extent of the dimension that is possible */
};

/* The argument that a view is part of, with the dimension of it; NULL: the part may begin anywhere. */
static const struct ir_value *argument_of(const struct ir_value *view, int *dimension)
{
    while (view->definition) {
        const struct ir_operation *op = view->definition;
        int64_t dropped = op->opcode == OP_SUBVIEW ? ir_number(op, IR_ATTRIBUTE_DROP, 0) : 0;
        uint64_t begin;
        if (op->opcode != OP_SUBVIEW)
            return NULL;
        int d = 0;
        for (int kept = 0; d < op->operands[0]->type->rank; d++)
            if (!(dropped >> d & 1) && kept++ == *dimension)
                break;
        if (!ir_constant_of(op->operands[1 + 2 * d], &begin) || begin != 0)
            return NULL;
        view = op->operands[0];
        *dimension = d;
    }
    return view->block->parent ? NULL : view;
}

/* What an access sees along a dimension of its view: one behind the last element; -1: others in other instances or turns. */
static int64_t end_of(struct tuned *t, const struct ir_access *access, int d)
{
    bool gathers = access->place[d] == IR_GATHER;
    struct form form = gathers ? form_of_tile(&t->forms, access->index[d]) : form_of(&t->forms, access->index[d]);
    if (!form.known || form.same || form.part_count)
        return -1;
    for (int g = 0; g < IR_MAX_RANK; g++)
        if (form.moves[g])
            return -1;
    int64_t width = access->place[d] > 0 ? access->place[d] : form.width;
    return form.width == FORM_ALL ? -1 : form.offset + (form.times - 1) * form.apart + width;
}

/* Whatever takes the argument: an access, or another use of which nothing is known. */
static void look_at(struct ir_operation *op, void *context)
{
    struct tuned *t = context;
    struct ir_access access;
    if (op->opcode == OP_EXTENT || op->opcode == OP_SUBVIEW || op->opcode == OP_PRESENT || op->opcode == OP_INSIDE)
        return;
    bool is_access = ir_access_of(op, &access) && access.view->type->kind == IR_VIEW;
    for (int i = 0; i < op->operand_count; i++) {
        const struct ir_value *view = op->operands[i];
        if (view->type->kind != IR_VIEW)
            continue;
        bool found = false;
        for (int d = 0; d < view->type->rank; d++) {
            int dimension = d;
            if (argument_of(view, &dimension) != t->argument || dimension != t->dimension)
                continue;
            int64_t end = is_access && access.view == view ? end_of(t, &access, d) : -1;
            found = true;
            t->moves = t->moves || end < 0;
            t->end = end > t->end ? end : t->end;
        }
        while (view->definition && view->definition->opcode == OP_SUBVIEW)
            view = view->definition->operands[0];
        t->moves = t->moves || (view == t->argument && !found);
    }
}

/* The least that is known of any extent of the same name. */
static void bound_extent(struct ir_operation *op, void *context)
{
    struct tuned *t = context;
    const struct ir_value *view = op->opcode == OP_EXTENT ? op->operands[0] : NULL;
    if (!view || view->definition || view->block->parent || view->index >= t->function->facts.count)
        return;
    int64_t d = ir_number(op, IR_ATTRIBUTE_DIMENSION, 0);
    int class = t->function->facts.data[view->index].extent_class[d];
    int wanted = t->function->facts.data[t->argument->index].extent_class[t->dimension];
    bool same = (view == t->argument && d == t->dimension) || (class && class == wanted);
    int64_t high = range_of(t->lint->ranges, op->results[0]).high;
    if (same && high < t->greatest)
        t->greatest = high;
}

static bool is_parameter(const struct tuned *t, const struct ir_value *argument)
{
    for (int i = 0; i < t->lint->entry->parameters.count; i++)
        if (argument->name && strcmp(t->lint->entry->parameters.data[i].name, argument->name) == 0)
            return true;
    return false;
}

/* False: nothing is wrong with it. */
static bool check_place(struct tuned *t, const struct kernel_tuned *place)
{
    const struct ir_operation *op = place->op;
    struct ir_access access;
    int dimension = place->dimension;
    if (!ir_access_of(op, &access))
        return false;
    t->argument = argument_of(access.view, &dimension);
    if (!t->argument || !is_parameter(t, t->argument))
        return false;
    t->dimension = dimension;
    t->end = 0;
    t->moves = false;
    int64_t extent = t->argument->type->extent[dimension];
    t->greatest = extent == IR_DYNAMIC ? INT64_MAX : extent;
    ir_walk(t->function->body, look_at, t);
    ir_walk(t->function->body, bound_extent, t);
    if (t->moves || t->greatest <= t->end)
        return false;
    bool stores = op->opcode == OP_STORE;
    struct diagnostic *d = diag_report(
        t->lint->diagnostics, DIAGNOSTIC_W1006, op->at,
        "no more than %lld elements of `%s` along dimension %d are %s, and `tune` chooses how many: `%s`",
        (long long)t->end, t->argument->name, dimension, stores ? "stored" : "read", place->text);
    diag_instance(t->lint->diagnostics, d, t->lint->instance);
    diag_note(
        t->lint->diagnostics, d, op->at,
        "go through them in a loop or a grid by steps of `%s`; or let the extent choose, `const(%s: {...} >= n)`; or say "
        "in `requires` how many there can be",
        place->text, place->text);
    return true;
}

void lint_tuned(const struct lint *lint, const struct ir_function *function)
{
    struct tuned *t = ARENA_NEW(lint->arena, struct tuned);
    *t = (struct tuned){.lint = lint, .function = function, .forms = forms_make(lint->arena, function)};
    for (int i = 0; i < lint->variant->tuned.count; i++)
        if (check_place(t, &lint->variant->tuned.data[i]))
            return; /* the others have the same cause */
}
