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

static bool take_back(const struct orders_search *search, struct native_code *code, int first, int end)
{
    memcpy(code->instructions + first, search->original->instructions + first,
           sizeof *code->instructions * (size_t)(end - first));
    return native_check_order(search->original, code, NULL) + native_check_times(code, NULL) == 0;
}

void orders_prune(struct orders_search *search)
{
    search->parts.count = 0;
    for (int first = 0, end; first < search->best->count; first = end) {
        end = first + 1;
        if (!is_moved(search, search->best, first))
            continue;
        end = end_of(search, search->best, first);
        struct native_code *without = native_copy(search->best);
        struct orders_part part = {first, end, 0, 0};
        if (search->clock < search->options.seconds && take_back(search, without, first, end)) {
            struct orders_answer answer = orders_ask(search, search->best, without, ORDERS_MEASURE);
            part.ratio = answer.ratio;
            part.error = answer.error;
            if (!answer.failed && answer.ratio >= -answer.error) {
                search->best = without;
                continue;
            }
        }
        vector_push(search->arena, &search->parts, part);
    }
    struct orders_answer answer = orders_ask(search, search->best, NULL, ORDERS_JUDGE);
    search->best_ratio = answer.failed ? 0 : answer.ratio;
    search->best_error = answer.error;
}
