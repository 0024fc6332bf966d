/* The nearest of some words: edit distance (insert, delete, replace, swap of neighbours), cut off where it helps
 * nobody. */
#include "driver/options.h"

#include <string.h>

enum { LONGEST_WORD = 63 };

static int least(int a, int b) { return a < b ? a : b; }

static int distance(const char *a, const char *b)
{
    size_t rows = strlen(a), columns = strlen(b);
    int cost[LONGEST_WORD + 1][LONGEST_WORD + 1];
    if (rows > LONGEST_WORD || columns > LONGEST_WORD)
        return LONGEST_WORD;
    for (size_t i = 0; i <= rows; i++) {
        for (size_t k = 0; k <= columns; k++) {
            if (i == 0 || k == 0) {
                cost[i][k] = (int)(i + k);
                continue;
            }
            int replaced = cost[i - 1][k - 1] + (a[i - 1] != b[k - 1]);
            cost[i][k] = least(replaced, least(cost[i - 1][k], cost[i][k - 1]) + 1);
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
                cost[i][k] = least(cost[i][k], cost[i - 2][k - 2] + 1);
        }
    }
    return cost[rows][columns];
}

const char *suggest_nearest(const char *word, int count, const char *const *candidates)
{
    const char *nearest = NULL;
    int best = 1 + (int)strlen(word) / 3;
    if (strlen(word) < 3)
        return NULL; /* -x is near to every option of one letter */
    for (int i = 0; i < count; i++) {
        int here = distance(word, candidates[i]);
        if (here <= best && (!nearest || here < best)) {
            nearest = candidates[i];
            best = here;
        }
    }
    return nearest;
}
