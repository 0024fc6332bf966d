/* Random numbers that are the same in each instance: `y[m*64 +: 64] = where(rand(seed, iota(64)) > p, ...)` counts from 0
 * in every one.  Told where what is stored comes of them element by element, and lies elsewhere in other instances along
 * the same dimension; numbers that rows share, as signs of columns, are stored in the same columns. */
#include "ir/query.h"
#include "passes/lint/form.h"
#include "passes/lint/lint.h"

enum { MOST_STEPS = 2000 };

struct drawn {
    const struct lint *lint;
    struct forms forms;
    bool told;
};

/* The operation by whose numbers the elements of a tile are made, each by its own, where no operand of it differs along g. */
static const struct ir_operation *find_drawn(struct drawn *s, const struct ir_value *value, int g, int *steps)
{
    const struct ir_operation *op = value->definition, *found = NULL;
    if (!op || --*steps < 0)
        return NULL;
    if (op->opcode == OP_PHILOX) {
        for (int i = 0; i < op->operand_count; i++)
            if (forms_vary(&s->forms, op->operands[i], g))
                return NULL;
        return op;
    }
    if (!ir_has_trait(op, IR_TRAIT_ELEMENTWISE))
        return NULL;
    for (int i = 0; i < op->operand_count && !found; i++)
        if (op->operands[i]->type->rank == value->type->rank)
            found = find_drawn(s, op->operands[i], g, steps);
    return found;
}

static void report(struct drawn *s, const struct ir_operation *draw, const struct ir_operation *store, int g,
                   int64_t distance)
{
    struct diagnostics *diagnostics = s->lint->diagnostics;
    const char *name = s->lint->entry->grid_names.data[g];
    struct diagnostic *d = diag_report(diagnostics, DIAGNOSTIC_W1017, draw->at,
                                       "all instances along `%s` draw the same random numbers", name);
    diag_instance(diagnostics, d, s->lint->instance);
    diag_note(diagnostics, d, store->at,
              "they make elements that lie %lld further from one `%s` to the next: count the numbers as these, "
              "`rand(seed, %s*%lld + iota(n))`",
              (long long)distance, name, name, (long long)distance);
    s->told = true;
}

static void check_store(struct ir_operation *op, void *context)
{
    struct drawn *s = context;
    struct ir_access access;
    if (op->opcode != OP_STORE || !ir_access_of(op, &access) || access.value->type->rank != 1)
        return;
    for (int d = 0; d < access.rank; d++) {
        if (access.place[d] <= 1 && access.place[d] != IR_GATHER)
            continue;
        struct form form = access.place[d] == IR_GATHER ? form_of_tile(&s->forms, access.index[d])
                                                        : form_of(&s->forms, access.index[d]);
        for (int g = 0; g < s->lint->entry->grid_names.count && form.known && !s->told; g++) {
            int steps = MOST_STEPS;
            const struct ir_operation *draw = form.moves[g] ? find_drawn(s, access.value, g, &steps) : NULL;
            if (draw)
                report(s, draw, op, g, form.moves[g]);
        }
    }
}

void lint_random(const struct lint *lint, const struct ir_function *function)
{
    struct drawn *s = ARENA_NEW(lint->arena, struct drawn);
    *s = (struct drawn){.lint = lint, .forms = forms_make(lint->arena, function)};
    ir_walk(function->body, check_store, s);
}
