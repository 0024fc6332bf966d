/* What ptxas says of text that stands in the source: the line of the PTX leads to the operation and so to the source.
 *
 *     // begin inline asm
 *     { // asm 3                     the number of the operation in the function (nvptx/lower/asm.c)
 *         frobnicate.f32 %f7, %f3;   ptxas /dev/stdin, line 87; error   : Not a name of any known instruction
 *     }
 *     // end inline asm */
#include "targets/nvptx/assemble/ptxas.h"
#include "targets/nvptx/lower/lower.h"

#include <string.h>

struct search {
    int number;
    struct ir_operation *found;
};

static void look(struct ir_operation *operation, void *context)
{
    struct search *search = context;
    bool is_text = operation->opcode == OP_ASM || operation->opcode == OP_ASM_EFFECT;
    if (is_text && --search->number == 0)
        search->found = operation;
}

/* The number of the text that a line of the PTX, or the one in front of it, lies in; 0: none. */
static int number_at(const char *ptx, int line)
{
    int number = 0, inside = 0;
    for (int at = 1; ptx && at <= line; at++) {
        const char *end = strchr(ptx, '\n');
        int size = end ? (int)(end - ptx) : (int)strlen(ptx);
        number = inside ? number : 0;
        if (sscanf(ptx, " { // asm %d", &number) == 1)
            inside = 1;
        else if (size >= 17 && memcmp(ptx + size - 17, "// end inline asm", 17) == 0)
            inside = 0;
        ptx = end ? end + 1 : NULL;
    }
    return number;
}

/* Each element of a thread has its copy of the text, and each copy its complaint. */
static bool is_reported(const struct diagnostics *diagnostics, struct location at)
{
    for (const struct diagnostic *d = diagnostics->first; d; d = d->next)
        if (d->at.source == at.source && d->at.line == at.line && d->at.column == at.column)
            return true;
    return false;
}

bool ptxas_report_asm(struct diagnostics *diagnostics, const struct ir_function *function, const char *ptx,
                      const char *complaints)
{
    bool told = false;
    for (const char *at = complaints; (at = strstr(at, ", line ")) != NULL; at++) {
        int line = 0, used = 0;
        if (sscanf(at, ", line %d; %*[a-z] : %n", &line, &used) != 1 || !used)
            continue;
        struct search search = {.number = number_at(ptx, line)};
        if (search.number)
            ir_walk(function->body, look, &search);
        if (!search.found)
            continue;
        told = true;
        if (!is_reported(diagnostics, search.found->at))
            diag_report(diagnostics, DIAGNOSTIC_E1207, search.found->at, "ptxas does not take this text: %.*s",
                        (int)strcspn(at + used, "\r\n"), at + used);
    }
    return told;
}
