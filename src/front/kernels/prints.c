/* Whether a kernel can come to a `print`: then its launch brings room for lines, whichever variant runs.  Looks at names
 * alone, so it may say so of a branch that no variant takes. */
#include "front/kernels/kernel_plan.h"

#include <string.h>

struct search {
    struct front *front;
    struct file_scope *file;
    VECTOR(const struct ast_declaration *) seen;
};

static bool prints(struct search *search, struct file_scope *file, const struct ast_declaration *declaration);

/* Functions of an imported file are called by `m.f(x)`, of which only `m` is a name here: any of them may be meant. */
static bool module_prints(struct search *search, struct file_scope *module)
{
    for (struct global *g = module->first; g; g = g->next)
        if (g->declaration->kind == DECLARATION_FN && prints(search, module, g->declaration))
            return true;
    return false;
}

static bool leads_to_print(const char *name, enum ast_use use, void *context)
{
    struct search *search = context;
    struct global *other = NULL, *global = declare_find(search->front, search->file, name, &other);
    if (global && global->declaration->kind == DECLARATION_FN)
        return prints(search, global->file, global->declaration);
    for (int i = 0; i < search->file->modules.count; i++)
        if (search->file->modules.data[i].name == name && module_prints(search, search->file->modules.data[i].scope))
            return true;
    return use == AST_USE_CALLED && strcmp(name, "print") == 0;
}

static bool prints(struct search *search, struct file_scope *file, const struct ast_declaration *declaration)
{
    for (int i = 0; i < search->seen.count; i++)
        if (search->seen.data[i] == declaration)
            return false;
    vector_push(search->front->arena, &search->seen, declaration);
    struct file_scope *outer = search->file;
    search->file = file;
    bool found = ast_find_name_in_body(declaration, leads_to_print, search) != NULL;
    search->file = outer;
    return found;
}

bool kernel_prints(const struct kernel_plan *plan)
{
    struct search search = {plan->front, plan->file, {0}};
    return prints(&search, plan->file, plan->declaration);
}
