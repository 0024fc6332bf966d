/* What a search found, in words. */
#include "driver/orders/orders.h"

#include <math.h>

/* Of a logarithm of times: by how much it is faster, in per cent. */
static double gain(double ratio) { return 100 * (exp(-ratio) - 1); }

static void put_gain(struct buffer *out, double ratio, double error)
{
    buffer_printf(out, "%+.2f %% (%+.2f to %+.2f)", gain(ratio), gain(ratio + error), gain(ratio - error));
}

/* The names of a part's instructions, each once. */
static void put_names(struct buffer *out, const struct native_code *code, int first, int end)
{
    enum { MOST_NAMES = 6 };
    int count = 0;
    for (int i = first; i < end && count < MOST_NAMES; i++) {
        bool new = true;
        for (int k = first; k < i && new; k++)
            new = code->instructions[k].form != code->instructions[i].form;
        if (new)
            buffer_printf(out, "%s%s", count++ ? " " : "", code->instructions[i].form->name);
    }
}

static int compare_effects(const struct orders_effect *a, const struct orders_effect *b)
{
    return (a->ratio < b->ratio) - (a->ratio > b->ratio);
}

static void put_effects(struct buffer *out, const struct orders_search *search)
{
    enum { MOST_EFFECTS = 5 };
    buffer_puts(out, "    the code beside itself, loaded twice: ");
    put_gain(out, search->noise.ratio, 2 * search->noise.error);
    buffer_puts(out, "\n");
    if (!search->all.end) {
        buffer_puts(out, "    with a cycle more at each instruction it fails\n");
        return;
    }
    buffer_printf(out, "    one cycle more at each instruction costs %.1f %%%s\n", 100 * (exp(search->all.ratio) - 1),
                  search->worth ? "" : ": no order can bring anything");
    double below = INFINITY;
    for (int n = 0; n < MOST_EFFECTS; n++) {
        const struct orders_effect *best = NULL;
        for (int i = 0; i < search->effects.count; i++) {
            const struct orders_effect *e = &search->effects.data[i];
            if (!e->split && e->ratio < below && (!best || compare_effects(best, e) > 0))
                best = e;
        }
        if (!best)
            return;
        below = best->ratio;
        buffer_printf(out, "        at %x to %x: %.2f %%, ", (unsigned)best->first * NATIVE_BYTES,
                      (unsigned)(best->end - 1) * NATIVE_BYTES, 100 * (exp(best->ratio) - 1));
        put_names(out, search->original, best->first, best->end);
        buffer_puts(out, "\n");
    }
}

static void put_failure(struct buffer *out, const char *failure)
{
    if (failure)
        buffer_printf(out, "    proved, and wrong nevertheless (please report it):\n%s", failure);
}

static void put_parts(struct buffer *out, const struct orders_search *search)
{
    for (int i = 0; i < search->parts.count; i++) {
        const struct orders_part *part = &search->parts.data[i];
        buffer_printf(out, "    %x to %x: ", (unsigned)part->first * NATIVE_BYTES,
                      (unsigned)(part->end - 1) * NATIVE_BYTES);
        if (part->error > 0)
            put_gain(out, part->ratio, 2 * part->error);
        else
            buffer_puts(out, "not weighed");
        buffer_puts(out, " by ");
        put_names(out, search->best, part->first, part->end);
        buffer_puts(out, "\n");
    }
}

void orders_tell(struct buffer *out, const struct orders_search *search, const struct orders_gates *gates,
                 const char *const *calls)
{
    put_effects(out, search);
    buffer_printf(out, "    %d orders tried, %d looks, %d measurements, %d steps taken, %d failed, in %.1f s\n",
                  search->tried, search->looked, search->measured, search->taken, search->failed, search->clock);
    put_failure(out, search->failure);
    put_parts(out, search);
    if (gates->launches)
        buffer_printf(out, "    proved; the same bits over %lld launches and %lld elements\n",
                      (long long)gates->launches, (long long)gates->elements);
    for (int i = 0; i < search->machine.call_count && gates->error > 0; i++) {
        const struct orders_shape *s = &gates->shapes[i];
        buffer_printf(out, "    %s: ", calls[i]);
        put_gain(out, s->warm, s->warm_error);
        buffer_puts(out, ", with empty caches ");
        put_gain(out, s->cold, s->cold_error);
        buffer_puts(out, "\n");
    }
    if (gates->error > 0) {
        buffer_puts(out, "    in the mean ");
        put_gain(out, gates->ratio, gates->error);
        buffer_puts(out, "\n");
    }
    if (gates->refused)
        buffer_printf(out, "    the order of ptxas stays: %s\n", gates->refused);
}

void orders_tell_trial(struct buffer *out, const struct orders_trial *trial)
{
    buffer_printf(out, "    %lld orders by %lld moves: ", (long long)trial->orders, (long long)trial->steps);
    if (trial->failed)
        buffer_printf(out, "%d failed\n", trial->failed);
    else
        buffer_printf(out, "the same bits over %lld launches and %lld elements\n", (long long)trial->launches,
                      (long long)trial->elements);
    put_failure(out, trial->failure);
}

const char *orders_text(struct arena *arena, const struct native_code *original, const struct native_code *code)
{
    struct buffer text = {0};
    native_write_order(original, code, &text);
    const char *kept = arena_string(arena, text.data ? text.data : "");
    buffer_free(&text);
    return kept;
}
