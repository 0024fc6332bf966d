/* Formulas of --operations: 2*M*N*K over the names of a call's extents, by recursive descent. */
#include "driver/bench/bench.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct formula {
    const struct bench *bench;
    const struct host_call *call;
    const char *text, *at;
    int depth; /* of brackets */
    bool failed;
};

enum { DEEPEST = 100 };

static double fail(struct formula *f, const char *what)
{
    if (!f->failed)
        driver_error(f->bench->options, "--operations: %s in '%s'; it takes numbers, names of extents, + - * / and ()",
                     what, f->text);
    f->failed = true;
    return 0;
}

static bool accept(struct formula *f, char c)
{
    while (*f->at == ' ')
        f->at++;
    if (*f->at != c)
        return false;
    f->at++;
    return true;
}

static double sum(struct formula *f);

static double name(struct formula *f)
{
    const struct kernel_entry *entry = f->call->entry;
    size_t length = 0;
    while (isalnum((unsigned char)f->at[length]) || f->at[length] == '_')
        length++;
    const char *word = arena_substring(f->bench->arena, f->at, length);
    f->at += length;
    for (int i = 0; i < entry->names.count; i++)
        if (strcmp(entry->names.data[i].name, word) == 0)
            return (double)f->call->names[i];
    return fail(f, length ? arena_printf(f->bench->arena, "%s has no extent '%s'", entry->symbol, word)
                          : "something is missing");
}

static double factor(struct formula *f)
{
    if (accept(f, '(')) {
        if (f->depth++ == DEEPEST)
            return fail(f, "there are too many brackets");
        double value = f->failed ? 0 : sum(f);
        f->depth--;
        return accept(f, ')') ? value : fail(f, "')' is missing");
    }
    if (!isdigit((unsigned char)*f->at))
        return name(f);
    char *end;
    double value = strtod(f->at, &end);
    f->at = end;
    return value;
}

static double product(struct formula *f)
{
    double value = factor(f);
    for (;;)
        if (accept(f, '*'))
            value *= factor(f);
        else if (accept(f, '/'))
            value /= factor(f);
        else
            return value;
}

static double sum(struct formula *f)
{
    double value = product(f);
    for (;;)
        if (accept(f, '+'))
            value += product(f);
        else if (accept(f, '-'))
            value -= product(f);
        else
            return value;
}

bool bench_evaluate(const struct bench *bench, const struct host_call *call, const char *formula, double *value)
{
    struct formula f = {.bench = bench, .call = call, .text = formula, .at = formula};
    *value = sum(&f);
    if (!f.failed && (accept(&f, ' ') || *f.at))
        fail(&f, "something follows");
    if (!f.failed && !(*value >= 0 && *value < 1e300))
        fail(&f, "the value is no count");
    return !f.failed;
}
