/* What is said of an architecture that is not in the table: the name in its right form where the number is known, else
 * the row whose code runs there or is the nearest. */
#include "driver/options.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "targets/target.h"

/* 90 of "sm_90a", "sm90", "compute_90", "90" and "9.0"; 0: no such form. */
static int number_of(const char *word)
{
    static const char *const heads[] = {"sm_", "sm-", "sm", "compute_", "compute", "cc", ""};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        size_t length = strlen(heads[i]);
        if (strncmp(word, heads[i], length) != 0 || word[length] < '0' || word[length] > '9')
            continue;
        char *end;
        long number = strtol(word + length, &end, 10);
        if (*end == '.' && end[1] >= '0' && end[1] <= '9')
            number = number * 10 + strtol(end + 1, &end, 10);
        bool letter = *end >= 'a' && *end <= 'z' && !end[1];
        return (!*end || letter) && number > 0 && number < 10000 ? (int)number : 0;
    }
    return 0;
}

/* The rows with the number: that with this letter before others; -1: none. */
static int find_row(int number, char letter)
{
    int found = -1;
    for (int i = 0; number && i < target_row_count; i++) {
        const char *name = target_rows[i].name;
        if (target_rows[i].kind != TARGET_CPU && number_of(name) == number &&
            (found < 0 || name[strlen(name) - 1] == letter))
            found = i;
    }
    return found;
}

int architecture_find(int number) { return find_row(number, 'a'); }

bool options_name_gpu(const struct options *options)
{
    for (int i = 0; i < options->targets.count; i++)
        if (target_rows[options->targets.data[i]].kind != TARGET_CPU)
            return true;
    return false;
}

const char *architecture_nearest(const char *word)
{
    const char *nearest = NULL;
    for (int i = 0; i < target_row_count; i++) {
        const char *two[] = {nearest ? nearest : target_rows[i].name, target_rows[i].name};
        nearest = suggest_nearest(word, 2, two);
    }
    return nearest;
}

void architecture_explain(const struct options *options, const char *word)
{
    const char *oldest = NULL, *below = NULL, *newest = NULL;
    int number = number_of(word);
    if (strcmp(word, "native") == 0) {
        driver_error(options, "-arch: no machine is asked for its GPU; name it, as `nvidia-smi --query-gpu=compute_cap "
                              "--format=csv` tells it (9.0: sm_90a); `cpu` suits every processor");
        return;
    }
    if (!number) {
        const char *nearest = architecture_nearest(word);
        driver_error(options, "-arch: unknown architecture '%s'%s%s%s; see --print-targets", word,
                     nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
        return;
    }
    int same = find_row(number, word[strlen(word) - 1]);
    if (same >= 0) {
        driver_error(options, "-arch: unknown architecture '%s'; did you mean '%s'? See --print-targets", word,
                     target_rows[same].name);
        return;
    }
    for (int i = 0; i < target_row_count; i++) {
        if (target_rows[i].kind == TARGET_CPU)
            continue;
        if (!oldest)
            oldest = target_rows[i].name;
        newest = target_rows[i].name;
        if (number_of(newest) < number)
            below = newest;
    }
    if (!below)
        driver_error(options, "-arch: unknown architecture '%s'; the oldest is '%s'", word, oldest);
    else if (below == newest)
        driver_error(options, "-arch: unknown architecture '%s'; the newest is '%s'", word, newest);
    else
        driver_error(options, "-arch: unknown architecture '%s'; the nearest below is '%s', see --print-targets", word,
                     below);
}
