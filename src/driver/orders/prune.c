/* What an order is made of: rows of neighbours that changed, of which most came about on the way and bring nothing.  Each is
 * taken back alone; where the time stays, it stays back, so that what is written is short and each part of it is known to
 * matter. */
#include "driver/orders/orders.h"

#include <string.h>

static bool is_moved(const struct orders_search *search, const struct native_code *code, int at)
{
    const struct native_instruction *is = &code->instructions[at], *was = &search->original->instructions[at];
    return is->origin != was->origin || is->control.stall != was->control.stall ||
           is->control.yield != was->control.yield || is->control.waits != was->control.waits ||
           is->control.reuse != was->control.reuse;
}

/* The end of the part that begins at a place: it holds the instructions that stood there, and none of others. */
static int end_of(const struct orders_search *search, const struct native_code *code, int first)
{
    int end = first + 1, most = code->instructions[first].origin;
    for (; end < code->count; end++) {
        int origin = code->instructions[end].origin;
        if (most < end && !is_moved(search, code, end))
            break;
        most = origin > most ? origin : most;
    }
    return end;
}

/* Takes parts back.  False: what is left is not right. */
static bool take_back(const struct orders_search *search, struct native_code *code, const struct orders_part *parts,
                      int count)
{
    for (int i = 0; i < count; i++)
        memcpy(code->instructions + parts[i].first, search->original->instructions + parts[i].first,
               sizeof *code->instructions * (size_t)(parts[i].end - parts[i].first));
    return native_check_order(search->original, code, NULL) + native_check_times(code, NULL) == 0;
}

/* Of so many neighbours those that bring nothing go, most of them together. */
static void prune_parts(struct orders_search *search, struct orders_part *parts, int count)
{
    struct native_code *without = native_copy(search->best);
    struct orders_answer answer = {.failed = true};
    if (search->clock > search->options.seconds)
        return;
    if (take_back(search, without, parts, count))
        answer = orders_ask(search, search->best, without, ORDERS_MEASURE);
    if (!answer.failed && answer.ratio >= 0) {
        search->best = without;
        for (int i = 0; i < count; i++)
            parts[i].gone = true;
    } else if (count > 1) {
        prune_parts(search, parts, count / 2);
        prune_parts(search, parts + count / 2, count - count / 2);
    } else if (!answer.failed) {
        parts[0].ratio = answer.ratio;
        parts[0].error = answer.error;
    }
}

static void find_parts(struct orders_search *search)
{
    for (int first = 0, end; first < search->best->count; first = end) {
        end = first + 1;
        if (!is_moved(search, search->best, first))
            continue;
        end = end_of(search, search->best, first);
        vector_push(search->arena, &search->parts, ((struct orders_part){first, end, 0, 0, false}));
    }
}

/* Those that are gone, unless the whole stays. */
static void drop_parts(struct orders_search *search, bool whole)
{
    int kept = 0;
    for (int i = 0; i < search->parts.count; i++)
        if (whole || !search->parts.data[i].gone)
            search->parts.data[kept++] = search->parts.data[i];
    search->parts.count = kept;
}

void orders_prune(struct orders_search *search)
{
    struct native_code *whole = search->best;
    find_parts(search);
    if (search->parts.count)
        prune_parts(search, search->parts.data, search->parts.count);
    /* Each part that went may have brought what cannot be seen, and all of them something that can. */
    struct orders_answer lost = orders_ask(search, search->best, whole, ORDERS_JUDGE);
    bool stays = lost.failed || lost.ratio > lost.error;
    drop_parts(search, stays);
    if (stays)
        search->best = whole;
    struct orders_answer answer = orders_ask(search, search->best, NULL, ORDERS_JUDGE);
    search->best_ratio = answer.failed ? 0 : answer.ratio;
    search->best_error = answer.error;
}
