/* Host expressions as trees: which cells they need, parts of them, and whether two are the same.  A tree names cells, whose
 * own trees name others; the walk meets each once. */
#include "ir/kernel.h"

#include <stdlib.h>

static bool is_known(const struct kernel_cells_plan *plan, const struct kernel_cells *cells)
{
    for (int i = 0; i < plan->count; i++)
        if (plan->data[i].cells == cells)
            return true;
    return false;
}

static void collect(struct arena *arena, struct kernel_cells_plan *plan, const struct kernel_expression *tree)
{
    if (!tree)
        return;
    for (int i = 0; i < 3; i++)
        collect(arena, plan, tree->operand[i]);
    const struct kernel_cells *cells = tree->cells;
    if (tree->op != KERNEL_HOST_CELL || is_known(plan, cells))
        return;
    vector_push(arena, plan, ((struct kernel_cells_place){cells, 0}));
    collect(arena, plan, cells->guard);
    collect(arena, plan, cells->condition);
    for (int i = 0; i < cells->count; i++) {
        collect(arena, plan, cells->start[i]);
        if (cells->condition)
            collect(arena, plan, cells->next[i]);
    }
}

static int compare_places(const void *a, const void *b)
{
    const struct kernel_cells_place *x = a, *y = b;
    return x->cells->number < y->cells->number ? -1 : x->cells->number > y->cells->number;
}

void kernel_cells_collect(struct arena *arena, const struct kernel_expression *expression,
                          struct kernel_cells_plan *plan)
{
    *plan = (struct kernel_cells_plan){0};
    collect(arena, plan, expression);
    if (plan->count)
        qsort(plan->data, (size_t)plan->count, sizeof *plan->data, compare_places);
    for (int i = 0; i < plan->count; i++) {
        plan->data[i].first = plan->cells;
        plan->cells += plan->data[i].cells->count;
    }
}

int kernel_cells_first(const struct kernel_cells_plan *plan, const struct kernel_cells *cells)
{
    for (int i = 0; i < plan->count; i++)
        if (plan->data[i].cells == cells)
            return plan->data[i].first;
    die("cells that no plan has");
}

typedef bool part_test(const struct kernel_expression *part, void *context);

static const struct kernel_expression *find_in_tree(const struct kernel_expression *tree, part_test *is, void *context)
{
    if (!tree || is(tree, context))
        return tree;
    const struct kernel_expression *found = NULL;
    for (int i = 0; i < 3 && !found; i++)
        found = find_in_tree(tree->operand[i], is, context);
    return found;
}

const struct kernel_expression *kernel_expression_find(struct arena *arena, const struct kernel_expression *expression,
                                                       part_test *is, void *context)
{
    const struct kernel_expression *found = find_in_tree(expression, is, context);
    struct kernel_cells_plan plan;
    if (!found)
        kernel_cells_collect(arena, expression, &plan);
    for (int i = 0; !found && i < plan.count; i++) {
        const struct kernel_cells *cells = plan.data[i].cells;
        found = find_in_tree(cells->guard, is, context);
        if (!found)
            found = find_in_tree(cells->condition, is, context);
        for (int k = 0; k < cells->count && !found; k++) {
            found = find_in_tree(cells->start[k], is, context);
            if (!found && cells->condition)
                found = find_in_tree(cells->next[k], is, context);
        }
    }
    return found;
}

bool kernel_expression_same(const struct kernel_expression *a, const struct kernel_expression *b)
{
    if (a == b)
        return true;
    if (!a || !b || a->op != b->op || a->number != b->number || a->dimension != b->dimension || a->cells != b->cells)
        return false;
    for (int i = 0; i < 3; i++)
        if (!kernel_expression_same(a->operand[i], b->operand[i]))
            return false;
    return true;
}
